"""The monitor of a run without one."""

from typing import NamedTuple

import numpy as np

from ...core.monitor import Monitor, monitor


@monitor
class NoMonitor(Monitor):
    """Records nothing and costs nothing."""

    def begin(self, arms, n_checkpoints):
        return NoTally(np.zeros(0))

    # plain Python: interpreted loops pass states that no compiled function takes
    def watch(self, tally, policy, state, problem, context, action, t, checkpoint):
        pass


class NoTally(NamedTuple):
    unused: np.ndarray  # (0,)
