"""Monitors look over the loop's shoulder: what to record besides regret and pulls."""

from typing import NamedTuple

import numpy as np

from ..verbs import begin, mean, watch


class NoMonitor(NamedTuple):
    """Records nothing and costs nothing."""

    unused: int = 0


class NoTally(NamedTuple):
    unused: np.ndarray  # (0,)


@begin.register(NoMonitor)
def _(monitor, arms, n_checkpoints):
    return NoTally(np.zeros(0))


@watch.register(NoMonitor)  # plain Python: interpreted loops pass states that no compiled function takes
def _(monitor, tally, policy, state, problem, context, action, t, checkpoint):
    pass


class SetValue(NamedTuple):
    """Records the expected reward of the sets played, added up to each checkpoint: watched[name]["value"], (replications, n)."""

    unused: int = 0


class SetTally(NamedTuple):
    value: np.ndarray  # (n,) cumulative expected reward
    total: np.ndarray  # (1,) so far


@begin.register(SetValue)
def _(monitor, arms, n_checkpoints):
    return SetTally(np.zeros(n_checkpoints), np.zeros(1))


@watch.register(SetValue)
def _(monitor, tally, policy, state, problem, context, action, t, checkpoint):
    tally.total[0] += np.sum(mean(problem, context, action))
    if checkpoint >= 0:
        tally.value[checkpoint] = tally.total[0]
