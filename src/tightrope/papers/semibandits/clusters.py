"""Ten clusters of equal arms, and a monitor of the clusters that sets are chosen from."""

from typing import NamedTuple

import numpy as np

from ...core.fields import integer
from ...core.monitor import Monitor, monitor
from ...problems import SemiBandit
from ...solvers.oracles import TopK
from ..worlds import generator, unit_vector

DIMENSION = 11
CLUSTERS = DIMENSION - 1


def clustered_world(angle: float, *, seed: int, arms: int = 2000, k: int = 100, jitter: float = 0.0, tiers: bool = False) -> SemiBandit:
    """Clusters (cos a, 0, .., sin a at place i, .., 0), i = 2..11, of arms / 10 arms each; rewards -1 or 1 with mean theta'x.

    theta: uniform on the unit sphere, drawn from seed. jitter: standard deviation of noise on every feature, which leaves no
    ties. tiers: cluster j has norm 1 - 0.001 j, so that clusters are never tied. Norms stay at or below 1.
    """
    rng = generator(seed, 2)
    theta = unit_vector(rng, DIMENSION)
    cluster = np.arange(arms) // (arms // CLUSTERS)
    features = np.zeros((arms, DIMENSION))
    features[:, 0] = np.cos(angle)
    features[np.arange(arms), 1 + cluster] = np.sin(angle)
    if tiers:
        features *= (1 - 0.001 * cluster)[:, None]
    if jitter:
        features += jitter * rng.standard_normal(features.shape)
        features /= max(1.0, float(np.linalg.norm(features, axis=1).max()))
    return SemiBandit(features, theta, TopK(k), rewards="sign")


@monitor
class Clusters(Monitor):
    """Records of each checkpoint's round from how many clusters of equal size its set is and how many of its arms are of the best one.

    watched[name] holds clusters and best, (replications, n).
    """

    size: int = integer(least=1)  # arms of a cluster

    def begin(self, arms, n_checkpoints):
        return Tally(np.zeros(n_checkpoints), np.zeros(n_checkpoints))

    def watch(self, tally, policy, state, problem, context, action, t, checkpoint):
        """Counts clusters and arms of the best one in the set of a checkpoint's round."""
        if checkpoint >= 0:
            best = int(np.argmax(problem.means)) // self.size
            tally.clusters[checkpoint] = np.unique(action // self.size).size
            tally.best[checkpoint] = (action // self.size == best).sum()


class Tally(NamedTuple):
    """The records of a run."""

    clusters: np.ndarray  # (n,)
    best: np.ndarray  # (n,)
