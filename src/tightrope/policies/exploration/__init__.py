"""Policies that add exploration to another policy."""
