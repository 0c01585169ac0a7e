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

from ..compiled.kernels import python_of
from ..core import checks
from ..numerics.mixture import boundaries
from .kernels import advance

SPACING = 1.05  # ratio of two times that are shown
ROUNDED = -(1.0 + 1e-9)  # times k: the least score, with room for rounding
NO_TIMES, NO_COPIES = np.zeros(0), np.zeros((0, 3))  # no times at which a state is copied, and no place for copies
_advance_one = python_of(advance)  # for one round a call, plain Python is quicker than crossing into compiled code


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
        bound = (total - boundaries(V, alpha, rho)) * (1.0 + k) / t
    return np.clip(np.where(t > 0.0, bound, 0.0), 0.0, 1.0)


def running(bounds: Sequence) -> Sequence:
    """Bounds that never widen: the intersection of all so far. Only where the value is the same in every round; with drift the
    bounds at a time speak of the rounds up to it, and earlier ones of something else."""
    return Sequence(bounds.t, np.maximum.accumulate(bounds.lower), np.minimum.accumulate(bounds.upper))


class ConfidenceSequence:
    """Bounds on the mean of a value, fed one round at a time, that hold at all times at once. O(1) a round, and so is what is kept.

    Parameters
    ----------
    alpha : float in (0, 1)
        Error, alpha / 2 on each side.
    k : float >= 0
        Scores are never below -k.
    rho : float > 0
        Of the mixture: a larger one tightens late bounds and widens early ones.
    state : (2, 3) numbers, optional
        What `state` of an earlier sequence was; the new one goes on from there, to the bit.

    Attributes
    ----------
    state : list of two lists
        (t, sum of xi, V) of the lower and of the upper scores: plain numbers, as JSON takes them.

    Raises
    ------
    ValueError
        For a score below -k, which would break the bound.

    Examples
    --------
    >>> from tightrope.evaluation.sequences import ConfidenceSequence
    >>> sequence = ConfidenceSequence(alpha=0.05, k=0.0)
    >>> for reward in (1.0, 0.0, 1.0, 1.0):
    ...     sequence.add(reward, 1.0 - reward)
    >>> sequence.rounds
    4
    """

    def __init__(self, alpha: float = 0.05, *, k: float = 1.0, rho: float = 1.0, state: ArrayLike | None = None) -> None:
        self.alpha = checks.real("alpha", alpha, above=0, below=1)
        self.k, self.rho = checks.real("k", k, least=0), checks.real("rho", rho, above=0)
        start = np.zeros((2, 3)) if state is None else checks.matrix("state", state, shape=(2, 3))
        if (start[:, [0, 2]] < 0.0).any() or start[0, 0] != start[1, 0]:
            raise ValueError(f"state = {checks.show(start)} is not two rows (t, sum, V) of the same t >= 0 with V >= 0.")
        self.state: list[list[float]] = start.tolist()

    def add(self, lower: float, upper: float) -> None:
        """Take in one round: phi^L and phi^U, which a reward in [0, 1] and the weight of its arm give."""
        least = self.k * ROUNDED
        if not (least <= lower < math.inf and least <= upper < math.inf):
            raise self._too_low(lower, upper)
        _advance_one((lower,), 0, 1, self.k, self.state[0], NO_TIMES, 0, NO_COPIES)
        _advance_one((upper,), 0, 1, self.k, self.state[1], NO_TIMES, 0, NO_COPIES)

    def update(self, lower: ArrayLike, upper: ArrayLike) -> None:
        """Take in the scores of several rounds, (n,) each, by compiled code."""
        pair = [np.atleast_1d(checks.floats(name, value)) for name, value in (("lower", lower), ("upper", upper))]
        if pair[0].shape != pair[1].shape or pair[0].ndim != 1:
            raise ValueError(f"lower and upper have shapes {pair[0].shape} and {pair[1].shape}, but must have one score for each round.")
        for scores in pair:
            if not (scores >= self.k * ROUNDED).all() or not np.isfinite(scores).all():
                raise self._too_low(*pair)
        states = np.array(self.state)
        for state, scores in zip(states, pair, strict=True):
            advance(np.ascontiguousarray(scores), 0, scores.size, self.k, state, NO_TIMES, 0, NO_COPIES)
        self.state = states.tolist()

    def _too_low(self, lower: object, upper: object) -> ValueError:
        bounds = f"lower = {checks.show(lower)} and upper = {checks.show(upper)}"
        return ValueError(f"{bounds} must be finite and at least -k = {-self.k:g}; scores below it break the bound.")

    @property
    def rounds(self) -> int:
        return int(self.state[0][0])

    @property
    def bounds(self) -> tuple[float, float]:
        """(lower, upper) now, on the mean value of all rounds so far."""
        low, high = lower_bounds(np.array(self.state), self.alpha / 2.0, self.k, self.rho).tolist()
        return low, 1.0 - high


def bounds_of(sequences: list[ConfidenceSequence], alpha: float) -> list[tuple[float, float]]:
    """(lower, upper) of several sequences with the same k and rho, each with error alpha: computed together, which is quicker."""
    if not sequences:
        return []
    states = np.concatenate([each.state for each in sequences])
    pairs = lower_bounds(states, alpha / 2.0, sequences[0].k, sequences[0].rho).reshape(-1, 2).tolist()
    return [(low, 1.0 - high) for low, high in pairs]
