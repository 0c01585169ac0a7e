"""A proof that no arm can beat the leader, kept while only the leader is played, so that such rounds need O(1) evidence."""

import math

from ...compiled.kernels import lean
from ...numerics.kl import divergence
from .indices import evidence, index, new_level

PROOF_SPAN = 0.02  # by how much f may grow before a proof expires


@lean
def unrivalled(pool, kind, sigma, leader, f, at_mean):
    """Whether a proof shows that no arm's index exceeds the leader's index (at_mean: the leader's mean). O(1).

    The proof is a B that no other arm's index reaches without the leader's rewards at any f up to the proof's. The leader's
    index is at least B if and only if S_leader(B) <= f, and of that sum only the leader's own term has changed.
    """
    if pool.proved[0] != leader or f > pool.proof[1]:
        return False
    B, m = pool.proof[0], pool.mean[leader]
    if m >= B:
        return True
    return not at_mean and pool.pulls[leader] * divergence(kind, m, B, sigma) + pool.proof[2] <= f


@lean
def prove(pool, kind, sigma, leader, f):
    """Keep B, the largest index of the other arms at a slightly larger f without the leader's rewards. O(K^2)."""
    if pool.proved[0] == leader and f <= pool.proof[1]:
        return
    later, B, t = f + PROOF_SPAN, -math.inf, pool.pulls[leader]
    pool.pulls[leader] = 0.0
    new_level(pool)
    for k in range(pool.pulls.shape[0]):
        if k != leader and (-math.inf == B or evidence(pool, kind, sigma, k, B, later) < later):
            B = max(B, index(pool, kind, sigma, k, later))
            new_level(pool)
    others = evidence(pool, kind, sigma, leader, B, math.inf) if math.inf > B and (kind == 1 or B < 1.0) else math.inf
    pool.pulls[leader] = t
    pool.proved[0] = leader
    pool.proof[0], pool.proof[1], pool.proof[2] = B, later, others
