"""LinGapE's two sampling rules: which arm tells a leader i and a challenger j apart."""

from typing import Annotated, NamedTuple, TypeAlias

import numpy as np

from ...compiled.kernels import lean
from ...core.dispatch import lean_verb
from ...core.kinds import Extended, Kind
from ...numerics.selection import argmax
from ...solvers.lp import Tableau, least_l1, new_tableau
from .gap_ridge import greedy_scores
from .sampling import furthest_behind

MOST_PAIRS = 1024  # optimal ratios kept; a pair that lost its place is solved again


PairOrNone: TypeAlias = Annotated[np.ndarray, Kind(whole=True, least=-1, most=lambda policy, arms: arms.number * (arms.number - 1) // 2)]


class Greedy(NamedTuple):
    """Eq 9: pull what takes most off the squared width."""

    scores: Extended  # (K,) what one more pull takes off it

    @lean
    def compare(self, model, i, j):
        greedy_scores(model, i, j, self.scores)

    @lean
    def next_arm(self, model, eligible):
        return argmax(self.scores, eligible)


class Ratio(NamedTuple):
    """Eq 12: pull what is furthest behind the optimal ratio of the pair."""

    scores: Extended  # (K,) the optimal ratio p of the pair in question
    pairs: PairOrNone  # (slots,) which pair's ratio a slot holds, -1: none
    ratios: Extended  # (slots, K)
    tableau: Tableau

    @lean
    def compare(self, model, i, j):
        """p of Eq 10, the same for y and -y, from the LP of Eq 11."""
        low, high = min(i, j), max(i, j)
        pair = high * (high - 1) // 2 + low
        slot = pair % self.pairs.shape[0]
        ratio = self.ratios[slot]
        if i != j and self.pairs[slot] != pair:
            y = model.direction
            for p in range(y.shape[0]):
                y[p] = model.features[low, p] - model.features[high, p]
            least_l1(model.features, y, self.tableau, ratio)
            total = 0.0
            for a in range(ratio.shape[0]):
                total += abs(ratio[a])
            for a in range(ratio.shape[0]):
                ratio[a] = abs(ratio[a]) / total
            self.pairs[slot] = pair
        for a in range(ratio.shape[0]):
            self.scores[a] = ratio[a]

    @lean
    def next_arm(self, model, eligible):
        return furthest_behind(model.pulls, self.scores, eligible)


def new_rule(features: np.ndarray, ratio: bool) -> Greedy | Ratio:
    """The rule for (K, d) features; until every arm was pulled the scores are 1 for those that were not."""
    K, d = features.shape
    if not ratio:
        return Greedy(np.ones(K))
    slots = max(min(K * (K - 1) // 2, MOST_PAIRS), 1)
    return Ratio(np.ones(K), np.full(slots, -1, dtype=np.int64), np.zeros((slots, K)), new_tableau(K, d))


@lean_verb
def compare(rule, model, i, j):
    """Prepare to sample what tells arms i and j apart."""


@lean_verb
def next_arm(rule, model, eligible):
    """The arm to pull now."""
