"""LinGapE's two sampling rules: which arm tells a leader i and a challenger j apart."""

from typing import NamedTuple

import numpy as np

from ..._jit import lean
from ...numerics.selection import argmax
from ...solvers.lp import Tableau, least_l1, new_tableau
from ...verbs import verb
from ._gap_ridge import greedy_scores
from ._sampling import furthest_behind

MOST_PAIRS = 1024  # optimal ratios kept; a pair that lost its place is solved again


class Greedy(NamedTuple):
    """Eq 9: pull what takes most off the squared width."""

    scores: np.ndarray  # (K,) what one more pull takes off it


class Ratio(NamedTuple):
    """Eq 12: pull what is furthest behind the optimal ratio of the pair."""

    scores: np.ndarray  # (K,) the optimal ratio p of the pair in question
    pairs: np.ndarray  # (slots,) which pair's ratio a slot holds, -1: none
    ratios: np.ndarray  # (slots, K)
    tableau: Tableau


def new_rule(features: np.ndarray, ratio: bool) -> Greedy | Ratio:
    """The rule for (K, d) features; until every arm was pulled the scores are 1 for those that were not."""
    K, d = features.shape
    if not ratio:
        return Greedy(np.ones(K))
    slots = max(min(K * (K - 1) // 2, MOST_PAIRS), 1)
    return Ratio(np.ones(K), np.full(slots, -1, dtype=np.int64), np.zeros((slots, K)), new_tableau(K, d))


@verb(lean=True)
def compare(rule, model, i, j):
    """Prepare to sample what tells arms i and j apart."""


@verb(lean=True)
def next_arm(rule, model, eligible):
    """The arm to pull now."""


@compare.register(Greedy)
@lean
def compare_greedy(rule, model, i, j):
    greedy_scores(model, i, j, rule.scores)


@next_arm.register(Greedy)
@lean
def next_arm_greedy(rule, model, eligible):
    return argmax(rule.scores, eligible)


@compare.register(Ratio)
@lean
def compare_ratio(rule, model, i, j):
    """p of Eq 10, the same for y and -y, from the LP of Eq 11."""
    low, high = min(i, j), max(i, j)
    pair = high * (high - 1) // 2 + low
    slot = pair % rule.pairs.shape[0]
    ratio = rule.ratios[slot]
    if i != j and rule.pairs[slot] != pair:
        y = model.direction
        for p in range(y.shape[0]):
            y[p] = model.features[low, p] - model.features[high, p]
        least_l1(model.features, y, rule.tableau, ratio)
        total = 0.0
        for a in range(ratio.shape[0]):
            total += abs(ratio[a])
        for a in range(ratio.shape[0]):
            ratio[a] = abs(ratio[a]) / total
        rule.pairs[slot] = pair
    for a in range(ratio.shape[0]):
        rule.scores[a] = ratio[a]


@next_arm.register(Ratio)
@lean
def next_arm_ratio(rule, model, eligible):
    return furthest_behind(model.pulls, rule.scores, eligible)
