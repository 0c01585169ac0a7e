"""The base of policies that choose sets by counts: the state, arms that were never seen, verbs that are the same for all.

Arms must be the same every round. An update brings the rewards of a set or of a part of it, such as the arms of a cascade that were
looked at.
"""

from typing import NamedTuple

import numpy as np

from ...core.policy import Policy
from ...numerics.counts import Counts, intervals, new_counts
from ...numerics.growth import longer_counts
from ...numerics.merging import merged_counts
from .sets import Setting, best_set, inclusion, new_setting, report


class CountState(NamedTuple):
    counts: Counts
    setting: Setting


def learn_counts(state: CountState, action: np.ndarray, reward: np.ndarray) -> CountState:
    """Take in the rewards of several arms. A log may hold an arm m times, which stands for at least m rounds. O(N)."""
    arms, counts = np.atleast_1d(action), state.counts
    times = np.bincount(arms, minlength=counts.pulls.size)
    counts.pulls[:] += times
    counts.sums[:] += np.bincount(arms, weights=np.atleast_1d(reward), minlength=counts.pulls.size)
    counts.rounds[0] += times.max()
    return state


def unseen_first(state: CountState, index: np.ndarray) -> np.ndarray:
    """Scores with which an oracle takes as many arms without a reward as a set can hold, and beside them the largest indices.

    index: (N,), read where an arm has been seen. One unseen arm more outweighs all that the other arms of two sets can differ by.
    """
    tried = state.counts.pulls > 0
    largest = np.abs(index[tried]).max(initial=0.0)
    return np.where(tried, index, 1.0 + 2.0 * state.setting.size * largest)


class CountingPolicy(Policy):
    """The base of all policies over sets with counts, however they choose."""

    def init(self, arms):
        """Nothing seen yet. Refuses an oracle that can never be satisfied."""
        return CountState(new_counts(arms.number), new_setting(arms))

    def update(self, state, context, action, reward):
        return learn_counts(state, action, reward)

    def grow(self, state, arms):
        return CountState(longer_counts(state.counts, arms.number), new_setting(arms))

    def merge(self, first, second):
        return CountState(merged_counts(first.counts, second.counts), first.setting)


class IndexPolicy(CountingPolicy):
    """A policy with a parameter `ties` whose set is the oracle's answer to one index for each arm, which `_scoring` gives."""

    def _scoring(self, state):
        raise TypeError(f"{type(self).__name__} needs the method _scoring.")

    def _lower(self, state):
        """(N,) lower bounds of the means; by default as far below the mean as the index is above."""
        return

    def select(self, state, context, rng):
        return best_set(state, context, self._scoring(state).score, self.ties, rng)

    def propensity(self, state, context, action, rng, draws=None):
        return inclusion(self, state, context, action, self._scoring(state), rng, draws)

    def explain(self, state, context, rng, draws=None):
        known, lower = self._scoring(state), self._lower(state)
        ranges = intervals(known.mean, known.width)
        if lower is not None:
            ranges["lower"] = lower
        return report(self, state, context, known, rng, draws) | ranges | {"index": ranges["upper"], "pulls": state.counts.pulls.copy()}
