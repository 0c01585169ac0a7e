"""The base of top-two policies: learning, answers, and the chances of their choices."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import scipy

from ...compiled.kernels import jit, lean
from ...core.fields import real
from ...numerics.counts import Counts, count_reward, first_unpulled, means, new_counts, one_hot
from ...numerics.posterior import NODES, WEIGHTS, best_of_betas
from .sampling import chernoff_evidence, chernoff_report, fill_shares
from .stopping import (
    Answer,
    Chernoff,
    answer_without_data,
    decide_by_chernoff,
    hardest_rival,
    question_of,
)

REACH = 8.5  # standard deviations beyond which a normal density is left out
NEGLIGIBLE_CHANCE = 1e-18  # chances that add nothing to a chance of 1 / K
PANELS = np.linspace(-REACH, REACH, 18)


class TopTwo(Chernoff):
    """Parameters, learning and answers of policies that give `_chances` of every arm and the
    `_index` that the leader is chosen by."""

    leader_share: float = real(default=0.5, above=0, below=1)

    class State(NamedTuple):
        counts: Counts
        answer: Answer  # (1,) with information, required

    def init(self, arms):
        return self.State(new_counts(arms.number), answer_without_data())

    @jit
    def update(self, state, context, action, reward):
        count_reward(state.counts, action, reward)
        if (
            state.counts.rounds[0] >= state.counts.pulls.shape[0]
            and first_unpulled(state.counts.pulls, None) < 0
        ):
            decide_by_chernoff(self, state)
        return state

    def propensity(self, state, context, action, rng):
        return float(self._chances(state.counts, context.eligible)[action]), 0.0

    def evidence(self, state):
        """The leader has its share, and rivals theirs in the proportions that this share makes
        optimal."""
        counts, leader = state.counts, int(state.answer[0]["leader"])
        shares = np.zeros(counts.pulls.size)
        if counts.pulls.all():
            fill_shares(question_of(self), means(counts), leader, self.leader_share, shares)
        return chernoff_evidence(self, state, shares)

    def explain(self, state, context, rng):
        probability = self._chances(state.counts, context.eligible)
        return chernoff_report(self, state, self._index(state.counts), probability) | self.evidence(
            state
        )


def best_of_normals(
    mean: np.ndarray, deviation: np.ndarray, eligible: np.ndarray | None
) -> np.ndarray:
    """(K,) P(arm k has the largest of independent normal draws) among the eligible, by
    Gauss-Legendre panels. O(K^2) evaluations."""
    chosen = np.arange(mean.size) if eligible is None else np.flatnonzero(eligible)
    floor = (mean - REACH * deviation)[chosen].max()
    chosen = chosen[(mean + REACH * deviation)[chosen] >= floor]
    m, s = mean[chosen, None], deviation[chosen, None]
    edges = np.unique(np.maximum(m + s * PANELS, floor))
    half, middle = np.diff(edges) / 2.0, (edges[1:] + edges[:-1]) / 2.0
    x, weight = (
        (middle[:, None] + half[:, None] * NODES).reshape(-1),
        (half[:, None] * WEIGHTS).reshape(-1),
    )
    z = (x - m) / s
    below = scipy.special.ndtr(z)
    ones = np.ones((1, x.size))
    before, after = (
        np.cumprod(np.vstack([ones, below[:-1]]), axis=0),
        np.cumprod(np.vstack([ones, below[:0:-1]]), axis=0)[::-1],
    )
    probability = np.zeros(mean.size)
    probability[chosen] = (np.exp(-0.5 * z * z) / s * before * after) @ weight
    return probability / probability.sum()


def chance_to_lead(policy: Chernoff, counts: Counts, eligible: np.ndarray | None) -> np.ndarray:
    """(K,) posterior probability of each arm to be the best of the eligible, once all were
    pulled."""
    if policy.rewards == 0:
        return best_of_betas(1.0 + counts.sums, 1.0 + (counts.pulls - counts.sums), eligible)
    return best_of_normals(means(counts), policy.noise / np.sqrt(counts.pulls), eligible)


def chances(
    policy: TopTwo,
    counts: Counts,
    eligible: np.ndarray | None,
    leading: Callable[[], np.ndarray],
    redraws: int,
) -> np.ndarray:
    """(K,) probability of every arm to be played.

    leading: the probability of each to lead, once all eligible arms were pulled. redraws: how often
    a challenger is drawn from it before the hardest rival of the leader is taken.
    """
    unpulled = np.flatnonzero(
        counts.pulls == 0.0 if eligible is None else (counts.pulls == 0.0) & eligible
    )
    if unpulled.size:
        return one_hot(int(unpulled[0]), counts.pulls.size)
    leaders = leading()
    probability = policy.leader_share * leaders
    add_challengers(
        question_of(policy), counts, eligible, leaders, policy.leader_share, redraws, probability
    )
    return probability


@lean
def add_challengers(question, counts, eligible, leaders, leader_share, redraws, probability):
    """probability[k] += the chance that arm k challenges one of the leaders, who have these chances
    to lead."""
    K = leaders.shape[0]
    for i in range(K):
        if leaders[i] == 0.0:
            continue
        second, left = (1.0 - leader_share) * leaders[i], 0.0
        for k in range(K):
            left += 0.0 if k == i else leaders[k]
        stays = leaders[i] ** redraws if left > 0.0 else 1.0  # all draws name the leader again
        if stays > NEGLIGIBLE_CHANCE:
            rival = hardest_rival(question, counts, i, eligible)
            probability[rival if rival >= 0 else i] += second * stays
        if left > 0.0:
            for k in range(K):
                if k != i:
                    probability[k] += second * (1.0 - stays) * leaders[k] / left
