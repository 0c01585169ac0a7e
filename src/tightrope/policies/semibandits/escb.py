"""ESCB: optimism about the whole set, whose width grows as the root of a sum and not as a sum of
roots.

When to use it: as CombUCB1, where the rewards of a set are independent of each other: for the same
certainty its sets are up to sqrt(k) narrower.
Bound: O(N (ln k)^2 ln T / gap) where the set of the largest index is played. In every round the set
S that is played satisfies max index <= mean(S) + C width(S) with a factor C that is computed
(`explain`): 1 where S is that set, never above sqrt(k).
Source: Combes, Talebi, Proutiere, Lelarge 2015, ESCB-2; Cuvelier, Combes, Gourdin 2021 for sets
whose index is nearly the largest.
Deviations: the largest index is hard to find, and the search of 2021 needs an oracle that takes a
budget. Here any linear oracle serves: sqrt(v) <= slope v + 1 / (4 slope), so the best set for mean
+ slope spread bounds all indices, and cutting planes over the slope lead to the least such bound.
Of the sets met on the way, CombUCB1's the first, the one of the largest index is played, or that
first one where C would be above sqrt(k). Arms without a reward come first.
Per round: O(N) and 2 to 9 calls of the oracle.
"""

import math
from typing import NamedTuple

import numpy as np

from ...core.fields import real
from ...core.policy import policy
from ...core.verbs import Context
from ...numerics.counts import exploration, intervals, means, per_pull
from .sets import CountingPolicy, CountState, best_set, unseen_first

CALLS = 8  # of the oracle in search of the least bound
CLOSED = 1e-12  # relative difference of bound and best line at which no call can lower the bound


@policy(
    "sets of lasting arms",
    paper="Combes, Talebi, Proutiere, Lelarge 2015; Cuvelier, Combes, Gourdin 2021",
    compiled=False,
)
class ESCB(CountingPolicy):
    """Optimism for whole sets of arms without features: sum of means + sigma sqrt(f(t) / 2 sum of 1
    / pulls), f(t) = ln t + c k ln ln t.

    Parameters
    ----------
    c : number in [0, inf), default 4.0
        Weight of k ln ln t, >= 0; the proof needs 4.
    sigma : number in (0, inf), default 1.0
        Scale of the rewards, 1 for rewards in [0, 1], which are independent of each other within a
        set.
    """

    c: float = real(default=4.0, least=0)
    sigma: float = real(default=1.0, above=0)

    def select(self, state, context, rng):
        return choose_escb(self, state, context, rng).arms

    def propensity(self, state, context, action, rng):
        return np.isin(action, choose_escb(self, state, context, rng).arms) * 1.0, np.zeros(
            np.size(action)
        )

    def explain(self, state, context, rng):
        chosen = choose_escb(self, state, context, rng)
        report = intervals(chosen.mean, np.sqrt(chosen.spread))
        probability = np.zeros(chosen.mean.size)
        probability[chosen.arms] = 1.0
        return report | {
            "index": report["upper"],
            "probability": probability,
            "probability_se": np.zeros(probability.size),
            "pulls": state.counts.pulls.copy(),
            "set_index": chosen.total,
            "bound": chosen.bound,
            "factor": chosen.factor,
        }


class ESCBChoice(NamedTuple):
    arms: np.ndarray  # (k,)
    total: float  # mean + width of the set; infinite while it holds an arm without a reward
    bound: float  # no set has a larger index
    factor: float  # C with mean + C width = bound
    mean: np.ndarray  # (N,)
    spread: np.ndarray  # (N,) squared widths of the arms; a set's width is the root of their sum


def choose_escb(
    policy: ESCB, state: CountState, context: Context, rng: np.random.Generator
) -> ESCBChoice:
    counts, tried = state.counts, state.counts.pulls > 0
    f = exploration(counts.rounds[0] + 1.0, policy.c * state.setting.size)
    mean, spread = means(counts), per_pull(0.5 * policy.sigma**2 * f, counts)
    first = best_set(
        state, context, unseen_first(state, mean + np.sqrt(spread)), 0, rng
    )  # CombUCB1's
    if first.size == 0 or not tried[first].all():
        return ESCBChoice(first, math.inf, math.inf, math.nan, mean, spread)
    u, v = np.where(tried, mean, 0.0), np.where(tried, spread, 0.0)
    sets, lines = [first], np.array([[u[first].sum(), v[first].sum()]])
    bound = float(lines[0, 0] + np.sqrt(v[first]).sum())
    for _ in range(CALLS):
        slope = best_slope(lines)
        arms = best_set(state, context, u + slope * v, 0, rng)
        line = np.array([u[arms].sum(), v[arms].sum()])
        value, known = line[0] + slope * line[1], (lines[:, 0] + slope * lines[:, 1]).max()
        bound = min(bound, float(value + 0.25 / slope))
        if value <= known + CLOSED * abs(known):
            break
        sets.append(arms)
        lines = np.vstack([lines, line])
    width = np.sqrt(lines[:, 1])
    factors = np.divide(
        bound - lines[:, 0], width, out=np.full(width.size, np.inf), where=width > 0
    )
    best = int((lines[:, 0] + width).argmax())
    if factors[best] > math.sqrt(first.size):  # only CombUCB1's set is known to stay below
        best = 0
    return ESCBChoice(
        sets[best], float(lines[best, 0] + width[best]), bound, float(factors[best]), mean, spread
    )


def best_slope(lines: np.ndarray) -> float:
    """The slope > 0 at which the largest of the lines mean + slope spread, plus 1 / (4 slope), is
    least. lines: rows (mean, spread).

    That function is convex; its minimum is that of one line's term, or where two lines cross.
    """
    u, v = lines[:, 0], lines[:, 1]
    with np.errstate(divide="ignore", invalid="ignore"):
        tried = np.concatenate([0.5 / np.sqrt(v), ((u[:, None] - u) / (v - v[:, None])).ravel()])
    tried = tried[np.isfinite(tried) & (tried > 0)]
    return float(tried[np.argmin((u + tried[:, None] * v).max(axis=1) + 0.25 / tried)])
