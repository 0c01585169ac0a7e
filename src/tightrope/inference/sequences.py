"""Confidence sequences: bounds on a policy's mean value that hold at all times at once, however often they are looked at.

phi^L and phi^U are unbiased scores of the value and of 1 - value that are never below -k. With xi = phi / (1 + k),
xihat_t = min(mean of xi_1 .. xi_t, 1 / (1 + k)), xihat_0 = 0, V_t = sum (xi_i - xihat_(i-1))^2 and
S_t(nu) = sum xi_i - t nu / (1 + k), the mixture M_t(nu) of exponential supermartingales is one as well, so
L_t = inf{nu: ln M_t(nu) < ln(1 / alpha)} is below the running mean of the value at all t with probability 1 - alpha. The state is
(t, sum of xi, V). The bounds cover the running mean of the value, so the logging policy and the contexts may drift. Scores must not be
clipped to [0, 1], and a model must not be fitted on the round it scores: both bias.
Source: Waudby-Smith, Wu, Ramdas, Karampatziakis, Mineiro 2024, "Anytime-valid off-policy inference for contextual bandits".
The mixture is that of `numerics.mixture`.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from .. import checks
from ..numerics.mixture import boundaries
from .kernels import advance

SPACING = 1.05  # ratio of two times that are shown


class Sequence(NamedTuple):
    """Bounds over time. t: (c,) rounds. lower, upper: (c,) bounds on the mean value of rounds 1 .. t, in units of the reward."""

    t: np.ndarray
    lower: np.ndarray
    upper: np.ndarray


def shown_times(rounds: int) -> np.ndarray:
    """Rounds at which bounds are kept: 1, 2, 3, .., about SPACING^j, and the last. A longer log has the same ones and more."""
    count = 1 + math.floor(math.log(rounds) / math.log(SPACING))
    grid = np.ceil(SPACING ** np.arange(count + 1)).astype(np.int64)
    return np.unique(np.append(grid[grid < rounds], rounds))


def lower_bounds(states: np.ndarray, alpha: float, k: float = 1.0, rho: float = 1.0) -> np.ndarray:
    """L of states (c, 3), each (t, sum of xi, V), within [0, 1]; 0 before the first round."""
    t, total, V = states.T
    with np.errstate(divide="ignore", invalid="ignore"):
        found = (total - boundaries(V, alpha, rho)) * (1.0 + k) / t
    return np.clip(np.where(t > 0.0, found, 0.0), 0.0, 1.0)


def running(bounds: Sequence) -> Sequence:
    """Bounds that never widen: the intersection of all so far. Only where the value is the same in every round; with drift the
    bounds at a time speak of the rounds up to it, and earlier ones of something else."""
    return Sequence(bounds.t, np.maximum.accumulate(bounds.lower), np.minimum.accumulate(bounds.upper))


class ConfidenceSequence:
    """Bounds that are fed as decisions come in; the state is O(1).

    alpha: error, alpha / 2 on each side, in (0, 1). k: scores are never below -k, k >= 0. rho: of the mixture, > 0; a larger one
    tightens late bounds and widens early ones. `lower` and `upper` of `update` are phi^L and phi^U of rounds with rewards in [0, 1].
    Raises ValueError for a score below -k.
    """

    def __init__(self, alpha: float = 0.05, *, k: float = 1.0, rho: float = 1.0) -> None:
        self.alpha = checks.real("alpha", alpha, above=0, below=1)
        self.k, self.rho = checks.real("k", k, least=0), checks.real("rho", rho, above=0)
        self.state = np.zeros((2, 3))  # of phi^L and phi^U: (t, sum of xi, V)

    def update(self, lower: ArrayLike, upper: ArrayLike) -> None:
        """Take in the scores of one round, or of several."""
        pair = [np.atleast_1d(checks.floats(name, value)) for name, value in (("lower", lower), ("upper", upper))]
        if pair[0].shape != pair[1].shape or pair[0].ndim != 1:
            raise ValueError(f"lower and upper have shapes {pair[0].shape} and {pair[1].shape}, but must have one score for each round.")
        for name, scores in zip(("lower", "upper"), pair, strict=True):
            if not (scores >= -self.k * (1.0 + 1e-9)).all() or not np.isfinite(scores).all():
                raise ValueError(f"{name} = {checks.show(scores)} must be at least -k = {-self.k:g}; scores below it break the bound.")
        never = np.zeros(0)
        for state, scores in zip(self.state, pair, strict=True):
            advance(np.ascontiguousarray(scores), 0, scores.size, self.k, state, never, 0, np.zeros((0, 3)))

    @property
    def rounds(self) -> int:
        """Rounds taken in."""
        return int(self.state[0, 0])

    @property
    def bounds(self) -> tuple[float, float]:
        """(lower, upper) now, on the mean value of all rounds so far."""
        low, high = lower_bounds(self.state, self.alpha / 2.0, self.k, self.rho).tolist()
        return low, 1.0 - high
