"""Reproductions: settings, claims and verdicts of the five papers."""
