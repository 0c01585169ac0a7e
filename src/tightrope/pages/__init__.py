"""Curves, tables and self-contained HTML pages."""
