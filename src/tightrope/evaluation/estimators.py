"""Values and standard errors from the sums of one pass over a log.

With w = pi(A) / h(A), R the reward and r the model: IPS mean of w R; clipped IPS mean of min(w, c) R, whose bias is downwards for
rewards >= 0; SNIPS sum w R / sum w; DM mean of sum_a pi(a) r(a); DR mean of w (R - r(A)) + sum_a pi(a) r(a); SWITCH-DR the same with
the correction only where w <= c; AIPW the scores of DR weighted so that their variance is even over time (below). Over the rows
of a set the sum is taken first: with rewards of every arm, its chance to be in the set is all that its own weight needs.
Sources: Swaminathan, Joachims 2015 (SNIPS); Dudík, Langford, Li 2011 (DR); Wang, Agarwal, Dudík 2017 (SWITCH).

AIPW is adaptively weighted: its normal interval at a fixed number of rounds holds although the logger learned while it logged.

The scores Gamma_t of DR have a conditional variance of about 1 / e_t, with 1 / e_t = sum_a pi(a)^2 / h_t(a): e_t is h_t(a) for a
target that always plays a. Weights h_t with h_t^2 / e_t = lam_t (1 - sum over s < t of h_s^2 / e_s) even it out; constant
allocation, lam_t = 1 / (1 + T - t), gives every round the share 1 / T, so h_t = sqrt(e_t / T) and no second pass is needed.
The value is sum h Gamma / sum h, its standard error sqrt(sum h^2 (Gamma - value)^2) / sum h.
Source: Hadad, Hirshberg, Zhan, Wager, Athey 2021, "Confidence intervals for policy evaluation in adaptive experiments"; for targets
that are no single arm, Zhan, Hadad, Hirshberg, Athey 2021, "Off-policy evaluation via adaptive weighting with data from contextual
bandits".
"""

import math
from typing import Literal, NamedTuple, TypeAlias, get_args

import numpy as np

from ..core import checks
from . import kernels

Estimator: TypeAlias = Literal["ips", "clipped-ips", "snips", "dm", "dr", "switch-dr", "aipw"]
ESTIMATORS: tuple[Estimator, ...] = get_args(Estimator)
PLACES = {"ips": kernels.IPS, "clipped-ips": kernels.CLIPPED, "dm": kernels.DM, "dr": kernels.DR, "switch-dr": kernels.SWITCH}


class ValueEstimate(NamedTuple):
    """A value and its standard error (NaN where a single round gives none, or where the estimator does not apply)."""

    value: float
    se: float


class Sums:
    """The running sums of one target. rewards: lowest and highest, between which those of SNIPS are scaled to [0, 1]."""

    def __init__(self, arms: int, rewards: tuple[float, float]) -> None:
        self.rewards = rewards
        self.sums = np.zeros(kernels.SUMS)
        self.moments = np.zeros((kernels.MOMENTS, 2))
        self.mass = np.zeros(arms)  # of the target by arm

    @property
    def rounds(self) -> int:
        return int(self.sums[kernels.ROUNDS])

    @property
    def ess(self) -> float:
        """Effective sample size (sum w)^2 / sum w^2 in rows."""
        squares = self.sums[kernels.WW]
        return float(self.sums[kernels.W] ** 2 / squares) if squares > 0.0 else 0.0

    @property
    def mean_weight(self) -> tuple[float, float]:
        n, total, squares = (float(self.sums[place]) for place in (kernels.ROWS, kernels.W, kernels.WW))
        mean = total / n
        return mean, math.sqrt(max(squares / n - mean * mean, 0.0) / n)

    @property
    def largest(self) -> float:
        return float(self.sums[kernels.LARGEST])

    @property
    def exceptions(self) -> int:
        """Rows with a weight whose reward is not the lowest, or not the highest, whichever are fewer."""
        return int(min(self.sums[kernels.ABOVE], self.sums[kernels.BELOW]))

    def estimate(self, name: str) -> ValueEstimate:
        s = self.sums
        if name == "snips":
            return self._snips()
        if name == "aipw":
            return ValueEstimate(*aipw_estimate(s[kernels.H], s[kernels.HH], s[kernels.HG], s[kernels.HHG], s[kernels.HHGG]))
        checks.choice("estimator", name, ESTIMATORS)
        n, (mean, squares) = self.rounds, self.moments[PLACES[name]].tolist()
        return ValueEstimate(mean, math.sqrt(squares / (n - 1) / n) if n > 1 else math.nan)

    def _snips(self) -> ValueEstimate:
        """Normalised by the weights; of a set, times the mean number of arms that the target plays."""
        s = self.sums
        if s[kernels.W] <= 0.0:
            return ValueEstimate(math.nan, math.nan)
        value = s[kernels.WR] / s[kernels.W]
        squares = s[kernels.WWRR] - 2.0 * value * s[kernels.WWR] + value * value * s[kernels.WW]
        arms, (low, high) = s[kernels.MASS] / s[kernels.ROUNDS], self.rewards
        se = arms * (high - low) * math.sqrt(max(squares, 0.0)) / s[kernels.W]
        return ValueEstimate(float(arms * (low + (high - low) * value)), float(se))


def aipw_weights(e: np.ndarray) -> np.ndarray:
    """h_t of AIPW with constant allocation by the recursion, for comparison. e: (T,) in (0, 1]."""
    T, spent = e.size, 0.0
    h = np.empty(T)
    for t in range(T):
        share = (1.0 - spent) / (T - t)
        h[t] = math.sqrt(e[t] * share)
        spent += share
    return h


def aipw_estimate(total: float, squares: float, scores: float, square_scores: float, squared_scores: float) -> tuple[float, float]:
    """(value, standard error) of AIPW from the sums of h, h^2, h Gamma, h^2 Gamma and h^2 Gamma^2; NaN without rounds."""
    if not total > 0.0:
        return math.nan, math.nan
    value = scores / total
    spread = squared_scores - 2.0 * value * square_scores + value * value * squares
    return float(value), math.sqrt(max(spread, 0.0)) / float(total)
