"""What policies share that choose sets by counts: the state, arms that were never seen, verbs that are the same for all.

Arms must be the same every round. An update brings the rewards of a set or of a part of it, such as the arms of a cascade that were
looked at.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ...numerics.counts import Counts, intervals, new_counts
from ...numerics.growth import longer_counts
from ...numerics.merging import merged_counts
from ...verbs import Arms, explain, grow, merge, propensity, update
from ._sets import Scoring, Setting, inclusion, new_setting, report


class CountState(NamedTuple):
    counts: Counts
    setting: Setting


def new_count_state(arms: Arms) -> CountState:
    """Nothing seen yet. Refuses an oracle that can never be satisfied."""
    return CountState(new_counts(arms.number), new_setting(arms))


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
    seen = state.counts.pulls > 0
    largest = np.abs(index[seen]).max(initial=0.0)
    return np.where(seen, index, 1.0 + 2.0 * state.setting.size * largest)


def answer_by_counts(cls: type) -> None:
    """Register what all policies over sets with counts answer alike, however they choose: update, grow and merge."""

    @update.register(cls)
    def update_counts(policy, state, context, action, reward):
        return learn_counts(state, action, reward)

    @grow.register(cls)
    def grow_counts(policy, state, arms):
        return CountState(longer_counts(state.counts, arms.number), new_setting(arms))

    @merge.register(cls)
    def merge_counts(policy, first, second):
        return CountState(merged_counts(first.counts, second.counts), first.setting)


def explain_by_index(cls: type, scoring: Callable[..., Scoring], lower: Callable[..., np.ndarray] | None = None) -> None:
    """Register propensity and explain of a policy whose set is the oracle's answer to one index for each arm.

    lower: (N,) lower bounds of the means; None: as far below the mean as the index is above.
    """

    @propensity.register(cls)
    def propensity_index(policy, state, context, action, rng):
        return inclusion(policy, state, context, action, scoring(policy, state), rng)

    @explain.register(cls)
    def explain_index(policy, state, context, rng, draws):
        known = scoring(policy, state)
        ranges = intervals(known.mean, known.width)
        if lower is not None:
            ranges["lower"] = lower(policy, state)
        return report(policy, state, context, known, rng, draws) | ranges | {"index": ranges["upper"], "pulls": state.counts.pulls.copy()}
