"""Policies and problems as such: verbs, fields, registry, checks, random streams."""
