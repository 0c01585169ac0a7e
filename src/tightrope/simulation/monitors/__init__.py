"""Monitors: what a run records besides regret and pulls, one a file. A monitor answers the verbs `begin` and `watch`."""

from .budget import Budget
from .none import NoMonitor
from .sets import SetValue

__all__ = ["Budget", "NoMonitor", "SetValue"]
