"""The monitor of a run without one."""

from typing import NamedTuple

import numpy as np

from ...verbs import begin, watch


class NoMonitor(NamedTuple):
    """Records nothing and costs nothing."""

    unused: int = 0


class NoTally(NamedTuple):
    unused: np.ndarray  # (0,)


@begin.register(NoMonitor)
def begin_nomonitor(monitor, arms, n_checkpoints):
    return NoTally(np.zeros(0))


@watch.register(NoMonitor)  # plain Python: interpreted loops pass states that no compiled function takes
def watch_nomonitor(monitor, tally, policy, state, problem, context, action, t, checkpoint):
    pass
