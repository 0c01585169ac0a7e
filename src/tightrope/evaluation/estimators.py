"""Values and standard errors from the sums of one pass over a log.

With w = pi(A) / h(A), R the reward and r the model: IPS mean of w R; clipped IPS mean of min(w, c) R, whose bias is downwards for
rewards >= 0; SNIPS sum w R / sum w; DM mean of sum_a pi(a) r(a); DR mean of w (R - r(A)) + sum_a pi(a) r(a); SWITCH-DR the same with
the correction only where w <= c; AIPW the scores of DR weighted so that their variance is even over time (see `aipw`). Over the rows
of a set the sum is taken first: with rewards of every arm, its chance to be in the set is all that its own weight needs.
Sources: Swaminathan, Joachims 2015 (SNIPS); Dudík, Langford, Li 2011 (DR); Wang, Agarwal, Dudík 2017 (SWITCH).
"""

import math
from typing import Literal, NamedTuple, TypeAlias, get_args

import numpy as np

from ..core import checks
from . import aipw, kernels

Estimator: TypeAlias = Literal["ips", "clipped-ips", "snips", "dm", "dr", "switch-dr", "aipw"]
ESTIMATORS: tuple[Estimator, ...] = get_args(Estimator)
PLACES = {"ips": kernels.IPS, "clipped-ips": kernels.CLIPPED, "dm": kernels.DM, "dr": kernels.DR, "switch-dr": kernels.SWITCH}
WITHOUT_MODEL = ("ips", "clipped-ips", "snips")


class ValueEstimate(NamedTuple):
    """A value and its standard error (NaN where a single round gives none, or where the estimator does not apply)."""

    value: float
    se: float


class Sums:
    """The running sums of one target; rewards are scaled to [0, 1]."""

    def __init__(self, arms: int) -> None:
        self.sums = np.zeros(kernels.SUMS)
        self.moments = np.zeros((kernels.MOMENTS, 2))
        self.mass = np.zeros(arms)  # of the target by arm

    @property
    def rounds(self) -> int:
        """Rounds so far."""
        return int(self.sums[kernels.ROUNDS])

    @property
    def ess(self) -> float:
        """Effective sample size (sum w)^2 / sum w^2 in rows."""
        squares = self.sums[kernels.WW]
        return float(self.sums[kernels.W] ** 2 / squares) if squares > 0.0 else 0.0

    @property
    def mean_weight(self) -> tuple[float, float]:
        """Mean of the rows' weights and its standard error."""
        n, total, squares = (float(self.sums[place]) for place in (kernels.ROWS, kernels.W, kernels.WW))
        mean = total / n
        return mean, math.sqrt(max(squares / n - mean * mean, 0.0) / n)

    @property
    def largest(self) -> float:
        """The largest weight."""
        return float(self.sums[kernels.LARGEST])

    def estimate(self, name: str) -> ValueEstimate:
        """One of ESTIMATORS, in units of the scaled reward."""
        s = self.sums
        if name == "snips":
            return self._snips()
        if name == "aipw":
            return ValueEstimate(*aipw.estimate_from_sums(s[kernels.H], s[kernels.HH], s[kernels.HG], s[kernels.HHG], s[kernels.HHGG]))
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
        arms = s[kernels.MASS] / s[kernels.ROUNDS]
        return ValueEstimate(float(arms * value), float(arms * math.sqrt(max(squares, 0.0)) / s[kernels.W]))
