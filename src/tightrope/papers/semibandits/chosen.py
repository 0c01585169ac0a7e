"""A monitor of the clusters that sets are chosen from."""

from typing import NamedTuple

import numpy as np

from ...verbs import begin, watch


class Clusters(NamedTuple):
    """Records of each checkpoint's round from how many clusters of equal size its set is and how many of its arms are of the best one.

    watched[name] holds clusters and best, (replications, n).
    """

    size: int  # arms of a cluster


class Tally(NamedTuple):
    """What is recorded."""

    clusters: np.ndarray  # (n,)
    best: np.ndarray  # (n,)


@begin.register(Clusters)
def begin_clusters(monitor, arms, n_checkpoints):
    """Nothing seen yet."""
    return Tally(np.zeros(n_checkpoints), np.zeros(n_checkpoints))


@watch.register(Clusters)
def watch_clusters(monitor, tally, policy, state, problem, context, action, t, checkpoint):
    """Counts clusters and arms of the best one in the set of a checkpoint's round."""
    if checkpoint >= 0:
        best = int(np.argmax(problem.means)) // monitor.size
        tally.clusters[checkpoint] = np.unique(action // monitor.size).size
        tally.best[checkpoint] = (action // monitor.size == best).sum()
