"""Executors, which compute chunks. The numbers are the same everywhere."""

from .pools import ENGINES, Engine, shared_workers

__all__ = ["ENGINES", "Engine", "shared_workers"]
