"""A monitor of the clusters that sets are chosen from."""

from typing import NamedTuple

import numpy as np

from ...core.fields import integer
from ...core.monitor import Monitor, monitor


@monitor
class Clusters(Monitor):
    """Records of each checkpoint's round from how many clusters of equal size its set is and how many of its arms are of the best one.

    watched[name] holds clusters and best, (replications, n).
    """

    size: int = integer(least=1)  # arms of a cluster

    def begin(self, arms, n_checkpoints):
        """Nothing seen yet."""
        return Tally(np.zeros(n_checkpoints), np.zeros(n_checkpoints))

    def watch(self, tally, policy, state, problem, context, action, t, checkpoint):
        """Counts clusters and arms of the best one in the set of a checkpoint's round."""
        if checkpoint >= 0:
            best = int(np.argmax(problem.means)) // self.size
            tally.clusters[checkpoint] = np.unique(action // self.size).size
            tally.best[checkpoint] = (action // self.size == best).sum()


class Tally(NamedTuple):
    """What is recorded."""

    clusters: np.ndarray  # (n,)
    best: np.ndarray  # (n,)
