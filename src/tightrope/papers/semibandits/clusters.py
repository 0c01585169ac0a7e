"""Figure 2's world: ten clusters of equal arms."""

import numpy as np

from ...problems import SemiBandit
from ...solvers.oracles import TopK
from ..worlds import generator, unit_vector

DIMENSION = 11
CLUSTERS = DIMENSION - 1


def clustered(angle: float, *, seed: int, arms: int = 2000, k: int = 100, jitter: float = 0.0, tiers: bool = False) -> SemiBandit:
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
