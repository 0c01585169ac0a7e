"""Robust UCB: optimism for rewards whose tails are so heavy that averages mislead, by means that
leave out what is too large to trust.

When to use it: orders, claims, waiting times: rewards without a range of which a few are huge, with
a bound on their variance, or on a smaller moment where there is no variance. For noise near normal,
or where no bound is known, GaussianThompson has far less regret.
Bound: regret O(sum_k (moment / gap_k)^(1 / epsilon) ln T), as for normal noise where epsilon = 1;
the page has the constants.
Source: Bubeck, Cesa-Bianchi, Lugosi 2013: the policy Robust UCB with the truncated empirical mean,
whose error is at most 4 u^(1 / (1 + epsilon)) (ln(1 / delta) / n)^(epsilon / (1 + epsilon)), delta
= t^-2.
Deviations: reward s of an arm counts if |x|^(1 + epsilon) <= u s / ln(1 / delta), so that a reward
may have to be left out as t grows. Instead of all rewards an arm keeps its sum for each of 49
levels of ln(1 / delta), a tenth apart; a round takes the least that is at least 2 ln t. Rewards are
kept less `centre`, 0 in the paper.
O(K) a round, O(49) a reward and an arm.
"""

import math
from typing import NamedTuple

import numpy as np

from ...compiled.kernels import jit, lean
from ...core.fields import Count, Finite, real
from ...core.policy import Policy, policy
from ...core.registry import LARGEST_REWARD
from ...core.verbs import allowed
from ...numerics.counts import argmax, intervals, next_in_line, one_hot
from ...numerics.states import pad_with_zeros

LEVELS, RATIO = 49, 1.1  # of ln(1 / delta): 1, 1.1, 1.21, .., 97; 2 ln t stays below 90


@policy(
    "arms",
    paper="Bubeck, Cesa-Bianchi, Lugosi 2013",
    examples=(
        {"moment": 1.0},
        {"moment": 0.5, "epsilon": 0.5, "centre": 0.5, "width": 1.0},
    ),
    rewards=(-LARGEST_REWARD, LARGEST_REWARD),
)
class RobustUCB(Policy):
    """Optimism by truncated means: mean + width (moment)^(1 / (1 + epsilon)) (2 ln t /
    pulls)^(epsilon / (1 + epsilon)).

    Parameters
    ----------
    moment : number in (0, 1e+200]
        A bound u on E |reward - centre|^(1 + epsilon) of every arm, in the unit of rewards to that
        power.
    epsilon : number in (0, 1], default 1.0
        1 where rewards have a variance; less for heavier tails.
    centre : number in [-1e+100, 1e+100], default 0.0
        What rewards are near; moment is least where it is close to their mean.
    width : number in (0, inf), default 4.0
        4 has the proof; less explores less and has none.
    """

    moment: float = real(above=0, most=LARGEST_REWARD**2)
    epsilon: float = real(default=1.0, above=0, most=1)
    centre: float = real(default=0.0, least=-LARGEST_REWARD, most=LARGEST_REWARD)
    width: float = real(default=4.0, above=0)

    class State(NamedTuple):
        pulls: Count  # (K,)
        sums: Finite  # (K, LEVELS) of rewards less the centre that are not too large at this level
        rounds: Count  # (1,) rewards so far

    def init(self, arms):
        return self.State(np.zeros(arms.number), np.zeros((arms.number, LEVELS)), np.zeros(1))

    @jit
    def select(self, state, context, rng):
        following = next_in_line(state, context.eligible)
        if following >= 0:
            return following
        level, logarithm = level_now(state.rounds[0] + 1.0)
        best, top = -1, -math.inf
        for k in range(state.pulls.shape[0]):
            if allowed(context.eligible, k):
                n = state.pulls[k]
                if n == 0.0:
                    return k
                index = state.sums[k, level] / n + half_width(self, logarithm, n)
                if best < 0 or index > top:
                    best, top = k, index
        return best

    @jit
    def update(self, state, context, action, reward):
        state.rounds[0] += 1.0
        state.pulls[action] += 1.0
        away, logarithm = reward - self.centre, 1.0
        size = abs(away) * math.pow(abs(away), self.epsilon)
        for level in range(LEVELS):
            if not size * logarithm <= self.moment * state.pulls[action]:
                break
            state.sums[action, level] += away
            logarithm *= RATIO
        return state

    def grow(self, state, arms):
        sums = np.zeros((arms.number, LEVELS))
        sums[: state.pulls.size] = state.sums
        return state._replace(pulls=pad_with_zeros(state.pulls, arms.number), sums=sums)

    def explain(self, state, context, rng):
        level, logarithm = level_now(state.rounds[0] + 1.0)
        with np.errstate(invalid="ignore"):
            mean = self.centre + state.sums[:, level] / np.where(
                state.pulls > 0, state.pulls, np.nan
            )
        width = np.array(
            [half_width(self, logarithm, n) if n > 0 else math.inf for n in state.pulls]
        )
        report = intervals(mean, width)
        return report | {
            "index": report["upper"],
            "probability": one_hot(argmax(report["upper"], context.eligible), width.size),
        }


@lean
def level_now(round):
    """Place and value of the least level of ln(1 / delta) that is at least 2 ln t."""
    wanted, level, logarithm = 2.0 * math.log(round), 0, 1.0
    while logarithm < wanted and level < LEVELS - 1:
        level += 1
        logarithm *= RATIO
    return level, logarithm


@lean
def half_width(policy, logarithm, pulls):
    power = 1.0 / (1.0 + policy.epsilon)
    return (
        policy.width
        * math.pow(policy.moment, power)
        * math.pow(logarithm / pulls, policy.epsilon * power)
    )
