"""A policy's view of its world: the arms before the first round, and the context of each round."""

from typing import NamedTuple

import numpy as np

from .checks import show
from .types import Oracle


class Context(NamedTuple):
    """The part of a round that the policy sees. `None` fields cost nothing in compiled code.

    Parameters
    ----------
    features : (K, d) array
        Of this round's arms; None: the fixed ones.
    eligible : (K,) array of bool
        Arms that may be played; None: all.
    baseline : int
        This round's baseline arm; None: the policy's own.
    baseline_mean : float
        Its known mean this round, in units of reward.
    segment : int
        Which of a `SafeSegments`'s segments the round belongs to, counted from 0; None: of none.
    """

    features: np.ndarray | None = None
    eligible: np.ndarray | None = None
    baseline: int | None = None
    baseline_mean: float | None = None
    segment: int | None = None

    def __repr__(self) -> str:
        return f"Context({', '.join(f'{name}={show(value)}' for name, value in self._asdict().items() if value is not None)})"


PLAIN = Context()  # a round like any other, which shows nothing of its own


class Arms(NamedTuple):
    """The arms as a policy knows them before the first round.

    Attributes
    ----------
    number : int >= 1
        How many there are, K.
    features : (K / blocks, d) array or None
        A row for each arm, or for each block of arms. None: the arms have no features, or new ones every round.
    dimension : int >= 0
        Features of an arm, d; 0 where there are none.
    distances : (K, K) array or None
        The metric, for Lipschitz policies.
    points : (K,) or (K, p) array or None
        Positions of the arms on the line, or in p dimensions.
    oracle : oracle or None
        What chooses the best set for given scores. None: single arms are played.
    horizon : int >= 1 or None
        Number of rounds, T, where it is known.
    rewards : (float, float) or None
        Lowest and highest reward, where they are known.
    blocks : int >= 1
        Arms that share a row of features: arm = row * blocks + block, with a regression for each block.
    common : bool
        Whether a round shows all arms one row of features, (d,), so that only a model for each arm tells them apart.
    """

    number: int
    features: np.ndarray | None = None
    dimension: int = 0
    distances: np.ndarray | None = None
    points: np.ndarray | None = None
    oracle: Oracle | None = None
    horizon: int | None = None
    rewards: tuple[float, float] | None = None
    blocks: int = 1
    common: bool = False

    @property
    def rows(self) -> int:
        """Rows of features."""
        return self.number // self.blocks
