"""The mean of the rewards and the scale of their noise, learned from the residuals of a ridge
regression.

The posterior of a normal-inverse-gamma model: rewards r = x'theta + e with theta ~ N(0, sigma^2 /
lam I) and e ~ N(0, sigma^2). Under it the least penalised sum of squares, RSS = sum (r -
x'theta_hat)^2 + lam ||theta_hat||^2 = sum r^2 - theta_hat' sum r x, is sigma^2 times a chi-square
variable with as many degrees of freedom as there are rewards, however few these are, so that

    sigma^2 = (PRIOR S + RSS) / (PRIOR + n) ,   S = sum r^2 / n .

The mean square S of the rewards stands in for the prior's scale: nothing has a unit, and rewards
times 1,000 give sigma times 1,000. A new reward adds (r - x'theta_hat)^2 / (1 + x'V^-1 x) >= 0 to
RSS: nothing cancels. Where old rewards count less all sums have their weights.

**With an intercept**, a constant column c, its coefficient is drawn to m / c in place of 0, m the
mean of the rewards so far; S is their variance. That is the regression of r - m, written so that
the sums need not change as m moves: theta_hat = V^-1 (sum r x + (lam m / c) e) with e the last unit
vector, and RSS = sum r^2 + lam m^2 / c^2 - theta_hat' (sum r x + (lam m / c) e), of which the part
that moves with m is `regained`. A constant added to all rewards changes neither; they are kept less
the first one, which leaves digits where their mean is large. So decisions depend neither on the
unit nor on the zero of rewards.

Sums of squares are in a unit of their own, a power of two near the first reward, so that they
neither overflow nor vanish.
"""

import math
from typing import Annotated, NamedTuple, TypeAlias

import numpy as np

from ..compiled.kernels import lean
from ..core.fields import Count, Finite, NonNegative, Record
from .ridge import Ridge, learn, penalty, regained

PRIOR = 2.0  # rewards that the prior counts for
DIGITS = 1e-12  # of the sum of squares: what is left of a difference of such sums
FAR = 1e100  # units that a reward may be off before the unit is changed
LEAST_EXPONENT = -1000  # of a unit, so that what is divided by it is a number


SUMS = np.dtype(
    [
        ("number", np.float64),  # rewards, by their weights
        (
            "origin",
            np.float64,
        ),  # what rewards are kept less of: the first one with an intercept, else 0
        ("centre", np.float64),  # m less the origin; 0 without an intercept
        ("unit", np.float64),  # of the squares; 0: none yet
        ("spread", np.float64),  # n S: sum of (r - m)^2, by their weights
        ("residual", np.float64),  # RSS with theta drawn to 0
    ]
)

Sums: TypeAlias = Annotated[
    np.ndarray,
    Record(
        number=Count,
        origin=Finite,
        centre=Finite,
        unit=NonNegative,
        spread=NonNegative,
        residual=NonNegative,
    ),
]


class Noise(NamedTuple):
    sums: Sums  # (1,) one record, because every array of a state is carried through every round
    forget: float  # what a weight is multiplied by with every reward; 1: all count the same


def new_noise(forget: float = 1.0) -> Noise:
    return Noise(np.zeros(1, dtype=SUMS).view(np.recarray), forget)


@lean
def take_in(model, noise, context, arm, reward, counted):
    """Teach the regression a reward, and the noise what it has to do with it. counted: whether
    anybody asks for the noise."""
    value = reward
    if counted:
        value = enter(noise, reward, model.intercept)
        model.centre[0] = noise.sums[0].centre
    error, divisor = learn(model, context, arm, value, math.inf)
    if counted:
        note(noise, error, divisor)


@lean
def enter(noise, reward, centred):
    """Count a reward; returns it less the origin. centred: whether the first one is the origin, and
    a mean is kept."""
    sums, forget = noise.sums[0], noise.forget
    if centred and sums.number == 0.0:
        sums.origin = reward
    value = reward - sums.origin
    if not abs(value) <= FAR * sums.unit:  # rarely: the first that is not 0
        change_unit(noise, value)
    before = forget * sums.number
    sums.number = before + 1.0
    sums.spread *= forget
    if sums.unit > 0.0:
        if centred:
            away = value - sums.centre
            sums.centre += away / sums.number
            away /= sums.unit
            sums.spread += away * away * (before / sums.number)
        else:
            away = value / sums.unit
            sums.spread += away * away
    return value


@lean
def enter_all(noise, rewards, centred, values):
    """Count several rewards, one after another; values: filled with them less the origin."""
    for i in range(rewards.shape[0]):
        values[i] = enter(noise, rewards[i], centred)


@lean
def change_unit(noise, value):
    sums = noise.sums[0]
    _, exponent = math.frexp(value)
    unit = math.ldexp(1.0, max(exponent, LEAST_EXPONENT))
    share = sums.unit / unit
    sums.spread *= share * share
    sums.residual *= share * share
    sums.unit = unit


@lean
def note(noise, error, divisor):
    """Add to RSS what `learn` says that it grew by. After `enter`."""
    sums = noise.sums[0]
    sums.residual *= noise.forget
    if sums.unit > 0.0:
        away = error / sums.unit
        sums.residual += away * (away / divisor)


@lean
def noise_scale(noise, gain):
    """sigma; gain: what `regained` says of the regression. 1 while all rewards are equal, since
    every scale gives the same decisions."""
    return math.sqrt(noise_variance(noise, gain)) * (
        noise.sums[0].unit if noise.sums[0].spread > 0.0 else 1.0
    )


@lean
def noise_variance(noise, gain):
    """sigma^2 in the unit of the squares; 1 while there are none."""
    sums = noise.sums[0]
    if not sums.spread > 0.0:
        return 1.0
    residual = max(sums.residual - gain / sums.unit / sums.unit, DIGITS * sums.spread)
    return (PRIOR * sums.spread / sums.number + residual) / (PRIOR + sums.number)


@lean
def current_scale(scale, noise, model):
    """The unit of widths: the larger of the noise, given or learned where it is NaN, and what the
    penalty may hide.

    The mean squared error of x'theta_hat is x'V^-1 (sigma^2 X'X + lam^2 tau^2 I) V^-1 x for
    coefficients of mean square tau^2, which is at most max(sigma^2, lam tau^2) x'V^-1 x. tau^2 is
    taken from theta_hat. Without it small noise would hide the bias of the ridge penalty.
    """
    hidden = penalty(model)
    if math.isnan(scale):
        sums = noise.sums[0]
        unit = sums.unit if sums.spread > 0.0 else 1.0
        return unit * math.sqrt(max(noise_variance(noise, regained(model)), hidden / unit / unit))
    return math.sqrt(max(scale * scale, hidden))


@lean
def bounded(scale):
    """The sub-Gaussian scale in a theorem: the one that was given, or 1, which covers rewards in
    [0, 1]; never a learned one."""
    return 1.0 if math.isnan(scale) else scale


def reported_noise(scale: float, learned: bool, noise: Noise, model: Ridge) -> float:
    return float(noise_scale(noise, regained(model)) if learned else bounded(scale))
