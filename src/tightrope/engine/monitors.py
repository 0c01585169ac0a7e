"""Monitors look over the loop's shoulder: what to record besides regret and pulls."""

from typing import NamedTuple

import numpy as np

from .._jit import jit
from ..verbs import begin, watch


class NoMonitor(NamedTuple):
    """Records nothing and costs nothing."""

    unused: int = 0


class NoTally(NamedTuple):
    unused: np.ndarray  # (0,)


@begin.register(NoMonitor)
def _(monitor, arms, n_checkpoints):
    return NoTally(np.zeros(0))


@watch.register(NoMonitor)
@jit
def _(monitor, tally, policy, state, problem, context, action, t, checkpoint):
    pass
