"""Bases of policies in several families: those that learn by counts, by ridge regression, or play another policy's choices."""

import numpy as np

from ..compiled.kernels import jit
from ..core.matching import LARGEST_REWARD
from ..core.policy import Policy
from ..core.verbs import admit, reward_range
from ..numerics.counts import count_reward
from ..numerics.growth import grown, longer_counts
from ..numerics.merging import merged, merged_counts
from ..numerics.ridge import check_context
from ..numerics.states import copied


class CountPolicy(Policy):
    """A policy whose state is `Counts`, or `FadingCounts`: pulls and rewards of every arm."""

    @jit
    def update(self, state, context, action, reward):
        return count_reward(state, action, reward)

    def grow(self, state, arms):
        return longer_counts(state, arms.number)

    def merge(self, first, second):
        return merged_counts(first, second)


class RegressionPolicy(Policy):
    """A policy whose state has a ridge regression, `model`."""

    def reward_range(self):
        return -LARGEST_REWARD, LARGEST_REWARD

    def admit(self, state, context):
        check_context(state.model, context.features)


class RidgePolicy(RegressionPolicy):
    """A policy with a parameter `lam` that learns by a ridge regression, `model`, by the moments of its rewards, `noise`, and perhaps by
    how many there were, `rounds`. All other arrays of its state are scratch, or the same in all rounds."""

    _sampling = False  # whether theta is drawn, for which some regressions keep a root of V^-1

    def grow(self, state, arms):
        """O(K) or that of a new factorisation; arrays whose size depends on the number of arms are those of a fresh state."""
        fresh = self.init(arms)
        kept = {
            name: old
            for name, old, new in zip(state._fields, state, fresh, strict=True)
            if isinstance(old, np.ndarray) and old.shape == new.shape
        }
        return fresh._replace(**kept | grown(state, arms, self.lam, sampling=self._sampling))

    def merge(self, first, second):
        model, noise = merged(first, second)
        rounds = {"rounds": first.rounds + second.rounds} if "rounds" in first._fields else {}
        return copied(first._replace(model=model, noise=noise, **rounds))


class Wrapper(Policy):
    """A policy around another one, `inner`, whose state has the other's as `inner`. It refuses what the other refuses."""

    def reward_range(self):
        return reward_range(self.inner)

    def admit(self, state, context):
        admit(self.inner, state.inner, context)
