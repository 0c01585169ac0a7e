"""Widths learned offline from whole trajectories."""

from .softucb import TrainedBeta, train_softucb

__all__ = ["TrainedBeta", "train_softucb"]
