"""Bases of policies in several families: those that learn by counts, by ridge regression, or play
another policy's choices."""

import math
from collections.abc import Mapping

import numpy as np

from ..compiled.kernels import jit, lean
from ..core.fields import Field, Stored
from ..core.policy import Policy
from ..core.registry import LARGEST_REWARD
from ..core.verbs import admit, chances, reward_range
from ..numerics.counts import count_reward
from ..numerics.ridge import check_context
from ..numerics.states import copied, grown, longer_counts, merged, merged_counts


class CountPolicy(Policy):
    """A policy whose state is `Counts`, or `FadingCounts`: pulls and rewards of every arm."""

    @jit
    def update(self, state, context, action, reward):
        return count_reward(state, action, reward)

    def grow(self, state, arms):
        return longer_counts(state, arms.number)

    def merge(self, first, second):
        return merged_counts(first, second)


class KnowsChances(Policy):
    """A policy whose `chances` always say the probability of every arm."""

    def propensity(self, state, context, action, rng):
        out = np.empty(state.model.mean.size)
        chances(self, state, context, out)
        return float(out[action]), 0.0


class RegressionPolicy(Policy):
    def reward_range(self):
        return -LARGEST_REWARD, LARGEST_REWARD

    def admit(self, state, context):
        check_context(state.model, context.features)


class RidgePolicy(RegressionPolicy):
    """A policy with a parameter `lam` that learns by a ridge regression, `model`, by the moments of
    its rewards, `noise`, and perhaps by how many there were, `rounds`. All other arrays of its
    state are scratch, or the same in all rounds."""

    _sampling = False  # whether theta is drawn, for which some regressions keep a root of V^-1

    def grow(self, state, arms):
        """O(K) or that of a new factorisation; arrays whose size depends on the number of arms are
        those of a fresh state."""
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
    """A policy around another one, `inner`, whose state has the other's as `inner`. It refuses what
    the other refuses."""

    def reward_range(self):
        return reward_range(self.inner)

    def admit(self, state, context):
        admit(self.inner, state.inner, context)


# Which width a linear policy plays: a number of standard errors, with the scale from the data; the
# theorem's; or a fixed one.


@lean
def by_the_data(width, instead):
    """Whether the width is neither the theorem's, which is stored below 0, nor fixed by the
    parameter that stands `instead` of it."""
    return width >= 0.0 and math.isnan(instead)


@lean
def learns_noise(width, instead, noise):
    return by_the_data(width, instead) and math.isnan(noise)


def wants_intercept(intercept: int, data: bool) -> bool:
    """Whether a constant column is added: by default where the width is from the data, which knows
    no zero of rewards then."""
    return data if intercept < 0 else bool(intercept)


def refuse_intercept(stored: Stored) -> None:
    if stored["intercept"] > 0:
        raise ValueError(
            "intercept = True draws a constant to the mean of the rewards, of which the proof of "
            'width = "theorem" knows nothing; leave intercept out, and add a column of ones to the '
            "features where rewards need one."
        )


def only_with_the_theorem(fields: Mapping[str, Field], stored: Stored, *names: str) -> None:
    for name in names:
        if stored[name] != fields[name].encode(name, fields[name].default):
            raise ValueError(
                f"{name} belongs to the width that has a proof, and the one asked for comes from "
                f'the data; add width="theorem", or leave {name} out.'
            )
