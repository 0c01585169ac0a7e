"""The scale of the noise, learned from the residuals of a ridge regression.

The posterior of a normal-inverse-gamma model: rewards r = x'theta + e with theta ~ N(0, sigma^2 / lam I) and e ~ N(0, sigma^2). Under it
the least penalised sum of squares, RSS = sum (r - x'theta_hat)^2 + lam ||theta_hat||^2 = sum r^2 - theta_hat' sum r x, is sigma^2 times a
chi-square variable with as many degrees of freedom as there are rewards, however few these are, so that

    sigma^2 = (PRIOR m + RSS) / (PRIOR + n) ,   m = sum r^2 / n .

The mean square m of the rewards stands in for the prior's scale: nothing has a unit, and rewards times 1,000 give sigma times 1,000. A new
reward adds (r - x'theta_hat)^2 / (1 + x'V^-1 x) >= 0 to RSS: nothing cancels. Where old rewards count less all sums have their weights.
"""

import math
from functools import singledispatch
from typing import Annotated, Any, NamedTuple, TypeAlias

import numpy as np

from ..compiled.kernels import lean
from ..core.kinds import Count, NonNegative, Record
from .ridge import ArmRidge, FeatureRidge, penalty

PRIOR = 2.0  # rewards that the prior counts for
DIGITS = 1e-12  # of the sum of squares: what is left of a difference of such sums


SUMS = np.dtype([
    ("number", np.float64),  # rewards, by their weights
    ("squares", np.float64),  # sum of r^2, by their weights
    ("residual", np.float64),  # RSS
])  # fmt: skip

Sums: TypeAlias = Annotated[np.ndarray, Record(number=Count, squares=NonNegative, residual=NonNegative)]


class Noise(NamedTuple):
    sums: Sums  # (1,) one record, because every array of a state is carried through every round
    forget: float  # what a weight is multiplied by with every reward; 1: all count the same


def new_noise(forget: float = 1.0) -> Noise:
    """No reward yet."""
    return Noise(np.zeros(1, dtype=SUMS).view(np.recarray), forget)


@lean
def note(noise, reward, growth):
    """Take in a reward, and by how much `learn` says that RSS grew."""
    sums, forget = noise.sums[0], noise.forget
    sums.number = forget * sums.number + 1.0
    sums.squares = forget * sums.squares + reward * reward
    sums.residual = forget * sums.residual + growth


@lean
def noise_scale(noise):
    """sigma. 1 while all rewards are 0: all estimates are 0 then, and every scale gives the same decisions."""
    sums = noise.sums[0]
    return scale_of(sums.number, sums.squares, sums.residual)


@lean
def scale_of(number, squares, residual):
    """sigma from the three sums."""
    if not squares > 0.0:
        return 1.0
    return math.sqrt((PRIOR * squares / number + residual) / (PRIOR + number))


def merged_noise(first: Noise, second: Noise, model: Any) -> Noise:
    """The sums of both, with the residuals of the merged regression."""
    merged = new_noise(first.forget)
    sums, one, other = merged.sums[0], first.sums[0], second.sums[0]
    sums.number, sums.squares = one.number + other.number, one.squares + other.squares
    sums.residual = max(sums.squares - explained(model), DIGITS * sums.squares)
    return merged


@singledispatch
def explained(model: Any) -> float:
    """theta_hat' sum r x: the part of sum r^2 that the regression explains. O(d), for a model each O(K d)."""
    return float((model.theta * model.response).sum())


@explained.register(ArmRidge)
@explained.register(FeatureRidge)
def _(model: ArmRidge | FeatureRidge) -> float:
    return float(model.mean @ model.sums)


@lean
def current_scale(given, noise, model):
    """What widths are multiples of: the larger of the noise, given or learned where it is NaN, and what the penalty may hide.

    The mean squared error of x'theta_hat is x'V^-1 (sigma^2 X'X + lam^2 tau^2 I) V^-1 x for coefficients of mean square tau^2, which is at
    most max(sigma^2, lam tau^2) x'V^-1 x. tau^2 is taken from theta_hat. Without it small noise would hide the bias of the ridge penalty.
    """
    sigma = noise_scale(noise) if math.isnan(given) else given
    return math.sqrt(max(sigma * sigma, penalty(model)))


@lean
def bounded(given):
    """The sub-Gaussian scale in a theorem: the one that was given, or 1, which covers rewards in [0, 1]; never a learned one."""
    return 1.0 if math.isnan(given) else given
