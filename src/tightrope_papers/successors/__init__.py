"""Papers that came after those that the library began with, and what they claim."""

TITLE = "Successors: what later papers claim of the same problems"
