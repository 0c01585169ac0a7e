"""The value of the sets that are played."""

from typing import NamedTuple

import numpy as np

from ...core.monitor import Monitor, monitor
from ...core.verbs import mean


@monitor
class SetValue(Monitor):
    """Records the expected reward of the sets played, added up to each checkpoint: watched[name]["value"], (replications, n)."""

    def begin(self, arms, n_checkpoints):
        return SetTally(np.zeros(n_checkpoints), np.zeros(1))

    def watch(self, tally, policy, state, problem, context, action, t, checkpoint):
        tally.total[0] += np.sum(mean(problem, context, action))
        if checkpoint >= 0:
            tally.value[checkpoint] = tally.total[0]


class SetTally(NamedTuple):
    value: np.ndarray  # (n,) cumulative expected reward
    total: np.ndarray  # (1,) so far
