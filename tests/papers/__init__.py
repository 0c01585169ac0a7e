"""Tests of the reproductions."""
