"""The value of the sets that are played."""

from typing import NamedTuple

import numpy as np

from ...verbs import begin, mean, watch


class SetValue(NamedTuple):
    """Records the expected reward of the sets played, added up to each checkpoint: watched[name]["value"], (replications, n)."""

    unused: int = 0


class SetTally(NamedTuple):
    value: np.ndarray  # (n,) cumulative expected reward
    total: np.ndarray  # (1,) so far


@begin.register(SetValue)
def begin_setvalue(monitor, arms, n_checkpoints):
    return SetTally(np.zeros(n_checkpoints), np.zeros(1))


@watch.register(SetValue)
def watch_setvalue(monitor, tally, policy, state, problem, context, action, t, checkpoint):
    tally.total[0] += np.sum(mean(problem, context, action))
    if checkpoint >= 0:
        tally.value[checkpoint] = tally.total[0]
