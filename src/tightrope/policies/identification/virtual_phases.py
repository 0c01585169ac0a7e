"""Designs that follow estimated gaps without dropping an arm: the average over phases that are only
imagined, half of it G-optimal.

Xiong, Camilleri, Fazel, Jain, Jamieson 2023, arXiv 2307.15154. Phase p = 1, 2, .. has the arms
whose estimated gap is at most scale / 2^(p - 1), the first one all arms, and the design that is
best for the differences of its arms.
"""

import math
from typing import NamedTuple

import numpy as np

from ...compiled.kernels import lean
from ...core.fields import Finite, Flag
from ...numerics.counts import argmax
from ...numerics.linalg import solve_lower_transposed
from ...solvers.programs import (
    MOST_ITERATIONS,
    Workspace,
    design_kernel,
    g_design,
    new_workspace,
    pair_directions,
    whiten,
)

ACCURACY = 0.01  # of the designs
MOST_PHASES = 15


class Designs(NamedTuple):
    """The design of this epoch, and what the next one is made with."""

    features: Finite  # (K, d)
    robust: Finite  # (K,) shares of the G-optimal design
    shares: Finite  # (K,) of this epoch's design
    weights: Finite  # (K, d) A^-1 x under it
    directions: Finite  # (M, d)
    wanted: Flag  # (M,) bool scratch: pairs of the phase
    work: Workspace


def new_designs(X: np.ndarray) -> Designs:
    """The G-optimal design of arms (K, d) that span R^d."""
    (K, d), Y = X.shape, pair_directions(X)
    robust = g_design(X, gap=ACCURACY).weights
    designs = Designs(
        X,
        robust,
        robust.copy(),
        np.zeros((K, d)),
        Y,
        np.zeros(len(Y), dtype=np.bool_),
        new_workspace(K, len(Y), d),
    )
    weigh(designs)
    return designs


@lean
def weigh(designs):
    """A^-1 x of all arms for the current shares. O(K d^2 + d^3)."""
    work = designs.work
    whiten(designs.features, designs.shares, 0.0, work.matrix, work.factor, designs.weights)
    for a in range(designs.shares.shape[0]):
        solve_lower_transposed(work.factor, designs.weights[a])


@lean
def keep_within(designs, mean, most):
    """Want the pairs of arms that differ and whose estimated gaps are at most this; the number of
    such pairs. O(K^2 d)."""
    best, pair, pairs = argmax(mean, None), 0, 0
    for i in range(mean.shape[0]):
        for j in range(i):
            near = mean[best] - min(mean[i], mean[j]) <= most
            designs.wanted[pair] = near and designs.directions[pair].any()
            pairs += 1 if designs.wanted[pair] else 0
            pair += 1
    return pairs


@lean
def best_value(designs, mean):
    """max y'A^-1 y over all differences y, of the best design for them; 1 where there is no
    difference."""
    if keep_within(designs, mean, math.inf) == 0:
        return 1.0
    value, _ = design_kernel(
        designs.features,
        designs.directions,
        designs.wanted,
        designs.work,
        ACCURACY,
        MOST_ITERATIONS,
    )
    return value


@lean
def replan(designs, mean, scale):
    """The design of the next epoch. At most 15 designs, O(K^2 d^2) an iteration."""
    K, work = mean.shape[0], designs.work
    for a in range(K):
        designs.shares[a] = 0.0
    phases, known, pairs = 0, 0, keep_within(designs, mean, math.inf)
    while pairs > 0 and phases < MOST_PHASES:
        if pairs != known:  # as many pairs are the same pairs
            design_kernel(
                designs.features,
                designs.directions,
                designs.wanted,
                work,
                ACCURACY,
                MOST_ITERATIONS,
            )
            known = pairs
        phases += 1
        for a in range(K):
            designs.shares[a] += work.shares[a]
        pairs = keep_within(designs, mean, scale * 0.5**phases)
    for a in range(K):
        designs.shares[a] = (
            0.5 * (designs.shares[a] / phases + designs.robust[a])
            if phases > 0
            else designs.robust[a]
        )
    weigh(designs)
