"""TopTwoUCB: sample an optimistic leader and the rival that is hardest to tell from it.

When to use it: as TopTwoThompson, with no posterior and every propensity known at once: one of two numbers.
Guarantee: mean of the named arm >= best mean - epsilon with probability >= 1 - delta, for threshold="proven" and rewards in [0, 1]
("bernoulli") or noise that is sub-Gaussian with scale `noise` ("gaussian"). As delta falls, samples approach the fewest possible among
all rules that give the best arm the share leader_share (for epsilon = 0, a best arm and no ties; Jourdan et al. 2022).
Source: Jourdan, Degenne, Baudry, de Heide, Kaufmann 2022, "Top two algorithms revisited": UCB leader, transportation-cost challenger;
stopping: Garivier, Kaufmann 2016.
Deviations: written from the idea of the paper with no copy of it at hand: the leader's index is sup{q : pulls d(mean, q) <= ln n}, as
KLUCB's with c = 0; of several rivals that cost nothing, because they look better than the leader, the best is the challenger; Z with
epsilon.
O(K) a round.
"""

import math
from typing import NamedTuple

import numpy as np

from ..._jit import jit, lean
from ...numerics.counts import Counts, count, new_counts
from ...numerics.kl import upper_root
from ...numerics.selection import first_unpulled, one_hot
from ...parameters import policy
from ...verbs import allowed, evidence, explain, init, propensity, select, update
from ._chernoff import answer_without_data, decide, hardest_rival, stops_by_chernoff
from ._support import chernoff_report
from ._top_two import TopTwo, chances, top_two_evidence


@policy("arms", paper="Jourdan, Degenne, Baudry, de Heide, Kaufmann 2022", stops=True)
class TopTwoUCB(TopTwo):
    """Play the arm of the highest upper bound, and half of the time its hardest rival instead; stop when the data exclude all rivals.

    epsilon: how much worse than the best the named arm may be. delta: probability of a worse one. rewards: their family. noise: standard
    deviation of Gaussian rewards. threshold: of the stop, proven, or the smaller heuristic of the literature. leader_share: how often the
    first of the two is played.
    """


class State(NamedTuple):
    counts: Counts
    answer: np.ndarray  # (1,) ANSWER, information, required


@init.register(TopTwoUCB)
def init_toptwoucb(policy, arms):
    return State(new_counts(arms.number), answer_without_data())


@lean
def upper_bound(policy, counts, k):
    """sup{q : pulls d(mean, q) <= ln n} of one arm."""
    n = counts.pulls[k]
    return upper_root(policy.rewards, counts.sums[k] / n, math.log(counts.rounds[0]) / n, policy.noise)


@lean
def optimistic(policy, counts, eligible):
    """The eligible arm of the highest upper bound."""
    best, top = -1, -math.inf
    for k in range(counts.pulls.shape[0]):
        if allowed(eligible, k):
            index = upper_bound(policy, counts, k)
            if index > top or best < 0:
                best, top = k, index
    return best


@select.register(TopTwoUCB)
@jit
def select_toptwoucb(policy, state, context, rng):
    counts, eligible = state.counts, context.eligible
    arm = first_unpulled(counts.pulls, eligible)
    if arm < 0:
        arm = optimistic(policy, counts, eligible)
        if rng.random() >= policy.leader_share:
            rival = hardest_rival(policy, counts, arm, eligible)
            arm = rival if rival >= 0 else arm
    return arm


@update.register(TopTwoUCB)
@jit
def update_toptwoucb(policy, state, context, action, reward):
    count(state.counts, action, reward)
    if first_unpulled(state.counts.pulls, None) < 0:
        decide(policy, state)
    return state


stops_by_chernoff(TopTwoUCB)


def indices(policy: TopTwoUCB, counts: Counts) -> np.ndarray:
    """(K,) upper bounds; infinite where never pulled."""
    return np.array([upper_bound(policy, counts, k) if counts.pulls[k] else math.inf for k in range(counts.pulls.size)])


def chances_now(policy: TopTwoUCB, counts: Counts, eligible: np.ndarray | None) -> np.ndarray:
    """(K,) probability of every arm to be played now."""

    def leading() -> np.ndarray:
        open_arms = np.where(True if eligible is None else eligible, indices(policy, counts), -math.inf)
        return one_hot(int(np.argmax(open_arms)), open_arms.size)

    return chances(policy, counts, eligible, leading, 0)


@propensity.register(TopTwoUCB)
def propensity_toptwoucb(policy, state, context, action, rng):
    return float(chances_now(policy, state.counts, context.eligible)[action]), 0.0


@evidence.register(TopTwoUCB)
def evidence_toptwoucb(policy, state):
    return top_two_evidence(policy, state)


@explain.register(TopTwoUCB)
def explain_toptwoucb(policy, state, context, rng):
    probability = chances_now(policy, state.counts, context.eligible)
    return chernoff_report(policy, state, indices(policy, state.counts), probability) | evidence(policy, state)


def example():
    return [TopTwoUCB(epsilon=0.1, delta=0.1), TopTwoUCB(delta=0.1, rewards="gaussian", noise=0.5, threshold="heuristic")]
