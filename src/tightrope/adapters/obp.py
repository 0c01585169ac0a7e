"""Logs as the dicts of the Open Bandit Pipeline, both ways. Works without that library: a dict of
arrays is all that is exchanged."""

from ..logs import from_obp, to_obp

__all__ = ["from_obp", "to_obp"]
