"""Optimal designs: shares p over the arms that minimise max_y y'A(p)^-1 y, with A(p) = sum_a p_a x_a x_a'.

Directions y = x_i - x_j give the XY design, y = x_k the G design (Kiefer and Wolfowitz 1960: its value is the rank of X).
Certificate: for any weights mu on the directions, f = sum_m mu_m y_m'A^-1 y_m is convex and homogeneous of degree -1 in p, so no
design beats f^2 / max_a g_a with g_a = sum_m mu_m (x_a'A^-1 y_m)^2; at the optimum both sides meet (the general equivalence
theorem). Method: p and mu are multiplied by sqrt(g_a / f) and y_m'A^-1 y_m / max, which tends to the saddle point.
"""

import math
from typing import NamedTuple

import numpy as np

from ..compiled.kernels import jit, lean
from ..core import checks
from ..core.kinds import Scratch
from ..numerics.cholesky import cholesky, solve_lower

GAP = 1e-3  # relative distance of value and bound at which the iteration ends
MOST_ITERATIONS = 20_000
LEAST_SHARE = 1e-9  # keeps A regular where no direction needs an arm


class Design(NamedTuple):
    """A design and what proves it: no design has a value below `bound`."""

    weights: np.ndarray  # (K,) shares, summing to 1
    value: float  # max_y y'A^-1 y
    bound: float
    converged: bool  # value <= (1 + gap) bound


class Workspace(NamedTuple):
    """Scratch of the iteration, so that kernels do not allocate."""

    shares: Scratch  # (K,) the design; holds the result
    current: Scratch  # (K,) the iterate
    stakes: Scratch  # (M,) mu
    matrix: Scratch  # (d, d)
    factor: Scratch  # (d, d)
    arms: Scratch  # (K, d) L^-1 x_a
    lines: Scratch  # (M, d) L^-1 y_m
    squares: Scratch  # (M,)


def new_workspace(K: int, M: int, d: int) -> Workspace:
    """Scratch for K arms and M directions in R^d."""
    return Workspace(
        np.zeros(K), np.zeros(K), np.zeros(M), np.zeros((d, d)), np.zeros((d, d)), np.zeros((K, d)), np.zeros((M, d)), np.zeros(M)
    )


@lean
def whiten(features, weights, least, matrix, factor, lines):
    """A = sum_a max(w_a, least) x_a x_a' = L L' and all L^-1 x_a, into matrix (its lower half), factor and lines. O(K d^2 + d^3)."""
    K, d = features.shape
    for p in range(d):
        for q in range(p + 1):
            total = 0.0
            for a in range(K):
                total += max(weights[a], least) * features[a, p] * features[a, q]
            matrix[p, q] = total
    cholesky(matrix, factor)
    for a in range(K):
        for p in range(d):
            lines[a, p] = features[a, p]
        solve_lower(factor, lines[a])


@jit
def design_kernel(features, directions, wanted, work, gap, most):
    """Leave the best design found in work.shares; return its value and the bound. O((K + M) d^2) an iteration.

    wanted: (M,) bool, which directions count; the features must span R^d.
    """
    K, d = features.shape
    M = directions.shape[0]
    count = 0
    for m in range(M):
        if wanted[m]:
            count += 1
    for m in range(M):
        work.stakes[m] = 1.0 / count if wanted[m] else 0.0
    for a in range(K):
        work.current[a] = 1.0 / K
    value, bound = np.inf, 0.0
    for _ in range(most):
        whiten(features, work.current, 0.0, work.matrix, work.factor, work.arms)
        top, f = 0.0, 0.0
        for m in range(M):
            if wanted[m]:
                for p in range(d):
                    work.lines[m, p] = directions[m, p]
                solve_lower(work.factor, work.lines[m])
                total = 0.0
                for p in range(d):
                    total += work.lines[m, p] * work.lines[m, p]
                work.squares[m] = total
                top = max(top, total)
                f += work.stakes[m] * total
        if top < value:
            value = top
            for a in range(K):
                work.shares[a] = work.current[a]
        for p in range(d):
            for q in range(d):
                work.matrix[p, q] = 0.0
        for m in range(M):
            if wanted[m]:
                for p in range(d):
                    share = work.stakes[m] * work.lines[m, p]
                    for q in range(d):
                        work.matrix[p, q] += share * work.lines[m, q]
        steepest, total = 0.0, 0.0
        for a in range(K):
            g = 0.0
            for p in range(d):
                inner = 0.0
                for q in range(d):
                    inner += work.matrix[p, q] * work.arms[a, q]
                g += work.arms[a, p] * inner
            steepest = max(steepest, g)
            work.current[a] = max(work.current[a] * math.sqrt(max(g, 0.0) / f), LEAST_SHARE)
            total += work.current[a]
        bound = max(bound, f * f / steepest)
        if value <= (1.0 + gap) * bound:
            break
        for a in range(K):
            work.current[a] /= total
        total = 0.0
        for m in range(M):
            if wanted[m]:
                work.stakes[m] *= work.squares[m] / top
                total += work.stakes[m]
        for m in range(M):
            work.stakes[m] /= total
    return value, bound


def pair_directions(features: np.ndarray) -> np.ndarray:
    """x_i - x_j for all i > j, in the order (1, 0), (2, 0), (2, 1), ..: (K (K - 1) / 2, d)."""
    rows, columns = np.tril_indices(features.shape[0], -1)
    return np.ascontiguousarray(features[rows] - features[columns])


def optimal_design(features, directions, *, gap: float = GAP) -> Design:
    """The design that minimises the largest y'A(p)^-1 y, with its certificate.

    features: (K, d), spanning R^d. directions: (M, d), not all zero. gap: relative accuracy.
    """
    X = checks.matrix("features", features)
    Y = checks.matrix("directions", directions, shape=(None, X.shape[1]))
    gap = checks.real("gap", gap, above=0)
    if np.linalg.matrix_rank(X) < X.shape[1]:
        raise ValueError(f"features has rank below {X.shape[1]}, so no design is finite in all directions; use coordinates of their span.")
    wanted = (Y != 0).any(axis=1)
    if not wanted.any():
        raise ValueError("directions is zero in every row; it needs at least one vector to estimate.")
    work = new_workspace(X.shape[0], Y.shape[0], X.shape[1])
    value, bound = design_kernel(X, Y, wanted, work, gap, MOST_ITERATIONS)
    return Design(work.shares.copy(), float(value), float(bound), bool(value <= (1 + gap) * bound))


def xy_design(features, *, gap: float = GAP) -> Design:
    """The design for all differences of arms (transductive design of Yu, Bi, Tresp 2006; Eq 5 of Xu, Honda, Sugiyama 2018)."""
    return optimal_design(features, pair_directions(checks.matrix("features", features)), gap=gap)


def g_design(features, *, gap: float = GAP) -> Design:
    """The G-optimal design; its value is the rank of the features (Kiefer and Wolfowitz 1960)."""
    return optimal_design(features, features, gap=gap)
