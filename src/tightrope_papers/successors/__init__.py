"""Successors of the five papers, each judged by the words of its own paper."""

TITLE = "Successors: what later papers say of the same problems"
