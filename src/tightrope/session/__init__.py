"""A policy in production: sessions and their files."""
