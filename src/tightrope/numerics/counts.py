"""Pulls and reward sums per arm: the state of most policies without features."""

from typing import NamedTuple

import numpy as np

from .._jit import jit
from ..verbs import verb


class Counts(NamedTuple):
    pulls: np.ndarray  # (K,) rounds in which the arm was fed
    sums: np.ndarray  # (K,) its rewards
    rounds: np.ndarray  # (1,) all rounds so far
    scores: np.ndarray  # (K,) scratch of select


class FadingCounts(NamedTuple):
    """Counts in which a reward that is s rounds old has the weight forget^s, whatever arm was played since."""

    pulls: np.ndarray  # (K,) sums of weights
    sums: np.ndarray  # (K,) weighted rewards
    rounds: np.ndarray  # (1,) sum of all weights
    scores: np.ndarray  # (K,) scratch of select
    forget: float


def new_counts(count: int) -> Counts:
    """Nothing pulled yet."""
    return Counts(np.zeros(count), np.zeros(count), np.zeros(1), np.zeros(count))


def counts_that_may_fade(count: int, forget: float) -> Counts | FadingCounts:
    """Nothing pulled yet; forget < 1: old rewards fade."""
    fresh = new_counts(count)
    return fresh if forget == 1.0 else FadingCounts(*fresh, forget)


@verb()
def count(state, arm, reward):
    """Take in one reward."""


@count.register(Counts)
@jit
def count_counts(state, arm, reward):
    state.pulls[arm] += 1.0
    state.sums[arm] += reward
    state.rounds[0] += 1.0
    return state


@count.register(FadingCounts)
@jit
def count_fadingcounts(state, arm, reward):
    for k in range(state.pulls.shape[0]):
        state.pulls[k] *= state.forget
        state.sums[k] *= state.forget
    state.pulls[arm] += 1.0
    state.sums[arm] += reward
    state.rounds[0] = state.forget * state.rounds[0] + 1.0
    return state


def means(state: Counts) -> np.ndarray:
    """Mean reward per arm; NaN where never pulled."""
    with np.errstate(invalid="ignore"):
        return np.where(state.pulls > 0, state.sums / np.where(state.pulls > 0, state.pulls, 1.0), np.nan)


def per_pull(numerator: float, state: Counts) -> np.ndarray:
    """numerator / pulls; infinite where never pulled."""
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
