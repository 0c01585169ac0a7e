"""Pulls and reward sums per arm: the state of most policies without features."""

from typing import NamedTuple

import numpy as np

from ..compiled.kernels import jit
from ..core.dispatch import verb
from ..core.kinds import Count, RewardSum, Scratch


class Counts(NamedTuple):
    pulls: Count  # (K,) rounds in which the arm was fed
    sums: RewardSum  # (K,) its rewards
    rounds: Count  # (1,) all rounds so far
    scores: Scratch  # (K,)

    @jit
    def count_reward(self, arm, reward):
        self.pulls[arm] += 1.0
        self.sums[arm] += reward
        self.rounds[0] += 1.0
        return self


class FadingCounts(NamedTuple):
    """Counts in which a reward that is s rounds old has the weight forget^s, whatever arm was played since."""

    pulls: Count  # (K,) sums of weights
    sums: RewardSum  # (K,) weighted rewards
    rounds: Count  # (1,) sum of all weights
    scores: Scratch  # (K,)
    forget: float

    @jit
    def count_reward(self, arm, reward):
        for k in range(self.pulls.shape[0]):
            self.pulls[k] *= self.forget
            self.sums[k] *= self.forget
        self.pulls[arm] += 1.0
        self.sums[arm] += reward
        self.rounds[0] = self.forget * self.rounds[0] + 1.0
        return self


def new_counts(count: int) -> Counts:
    return Counts(np.zeros(count), np.zeros(count), np.zeros(1), np.zeros(count))


def counts_that_may_fade(count: int, forget: float) -> Counts | FadingCounts:
    """Nothing pulled yet; forget < 1: old rewards fade."""
    fresh = new_counts(count)
    return fresh if forget == 1.0 else FadingCounts(*fresh, forget)


@verb
def count_reward(state, arm, reward):
    """Take in one reward."""


def means(state: Counts) -> np.ndarray:
    """Mean reward per arm; NaN where never pulled."""
    with np.errstate(invalid="ignore"):
        return np.where(state.pulls > 0, state.sums / np.where(state.pulls > 0, state.pulls, 1.0), np.nan)


def per_pull(numerator: float, state: Counts) -> np.ndarray:
    return np.divide(numerator, state.pulls, out=np.full(state.pulls.size, np.inf), where=state.pulls > 0)


def intervals(mean: np.ndarray, width: np.ndarray) -> dict[str, np.ndarray]:
    """The part of every explanation that is the same: mean, width, lower, upper; without data -inf and inf."""
    known = np.isfinite(mean)
    return {
        "mean": mean,
        "width": width,
        "lower": np.where(known, mean - width, -np.inf),
        "upper": np.where(known, mean + width, np.inf),
    }
