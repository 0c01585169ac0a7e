"""Ridge regression for many arms at once: one or several independent models over the same rows of features.

A block is one regression: V = lam I + sum x x', b = sum r x, theta = V^-1 b. M blocks of size d stand for the dM x dM model
whose features are zero outside one block; arm number row * M + block. A round adds its k rewards by one rank-k product and
factorises V afresh when it is next read: O(d^3 / 3) is less than the O(N d^2 / 2) of the widths as soon as N > d, and sums
do not drift as inverses do.

Widths of N rows cost O(N M d^2 / 2) by forward substitution on LANES rows side by side. Every row is computed by the same
operations wherever it stands, so equal rows get equal scores to the bit: ties are ties.
"""

import math
import os
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np

from ..compiled.kernels import lean
from ..core.kinds import Count, Finite, NonNegative
from .cholesky import OUT_OF_DIGITS, PIVOT_TOLERANCE
from .noise import DIGITS, scale_of
from .ridge import REFRESH
from .ridge.factors import mean_square
from .scaling import check_digits

LANES = 64  # rows solved together: d x LANES numbers stay in the first cache
THREAD_WORK = 2e8  # arms x d^2 that keep one thread busy for some 8 ms


class BatchRidge(NamedTuple):
    lam: float
    design: Finite  # (M, d, d) V
    response: Finite  # (M, d) b
    seen: Count  # (1,) rewards taken in
    squares: NonNegative  # (1,) sum of their squares


def new_batch_ridge(blocks: int, dimension: int, lam: float) -> BatchRidge:
    """The model without data."""
    design = np.tile(lam * np.eye(dimension), (blocks, 1, 1))
    return BatchRidge(lam, design, np.zeros((blocks, dimension)), np.zeros(1), np.zeros(1))


def check_features(name: str, features: np.ndarray, lam: float) -> None:
    """Refuse rows of features (N, d) that leave fewer than six digits after REFRESH of them; later ones are checked as V is factorised."""
    check_digits(name, features, lam, REFRESH, root=False)


def solve(model: BatchRidge) -> tuple[np.ndarray, np.ndarray]:
    """theta (M, d) and the lower Cholesky factors (M, d, d) of V; refuses V that rounding has made singular."""
    from scipy.linalg import cho_solve  # here, because its import takes long and few need it

    diagonal = np.diagonal(model.design, axis1=1, axis2=2)
    try:
        factor = np.linalg.cholesky(model.design)
        definite = bool((np.diagonal(factor, axis1=1, axis2=2) ** 2 > PIVOT_TOLERANCE * diagonal).all())
    except np.linalg.LinAlgError:
        definite = False
    if not definite:
        raise ValueError(OUT_OF_DIGITS)
    theta = np.stack([cho_solve((L, True), b) for L, b in zip(factor, model.response, strict=True)])
    return theta, factor


def learn_batch(model: BatchRidge, features: np.ndarray, arms: np.ndarray, rewards: np.ndarray) -> None:
    """Take in the rewards of several arms: V += X'X and b += X'r in every block they touch. O(k d^2)."""
    rows, blocks = np.divmod(arms, model.response.shape[0])
    for block in range(model.response.shape[0]):
        of_block = blocks == block
        if of_block.any():
            X = features[rows[of_block]]
            model.design[block] += X.T @ X
            model.response[block] += rewards[of_block] @ X
    model.seen[0] += arms.size
    model.squares[0] += float(rewards @ rewards)


def batch_scale(model: BatchRidge, theta: np.ndarray, factor: np.ndarray, noise: float) -> float:
    """What widths are multiples of, from what `solve` found: `noise.current_scale` for this form. noise: NaN where it is learned.

    O(M d), and O(M d^3 / 3) where what the penalty hides may be more than the noise.
    """
    if math.isnan(noise):
        squares = float(model.squares[0])
        residual = max(squares - float((theta * model.response).sum()), DIGITS * squares)
        noise = scale_of(float(model.seen[0]), squares, residual)
    size = float((theta * theta).sum())
    if model.lam * size <= noise * noise * least_known(model):
        return noise
    hidden = mean_square(model.lam, size, theta.size - model.lam * sum(inverse_trace(L) for L in factor))
    return math.sqrt(max(noise * noise, hidden))


def least_known(model: BatchRidge) -> float:
    """A bound from below on the known directions, sum 1 - lam / e over all eigenvalues e >= lam of V, from the traces of V alone.

    The summands are concave in e, so that with a given sum of them the least is where all that is above lam is in one. O(M d).
    """
    d = model.response.shape[1]
    above = np.maximum(np.trace(model.design, axis1=1, axis2=2) - d * model.lam, 0.0)
    return float((above / (above + model.lam)).sum())


def inverse_trace(factor: np.ndarray) -> float:
    """tr (L L')^-1 = ||L^-1||^2."""
    from scipy.linalg.lapack import dtrtri

    inverse, _ = dtrtri(factor, lower=1)
    return float((inverse * inverse).sum())


def predict_batch(model: BatchRidge, features: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """theta'x and ||x||_{V^-1} of every arm, both (N M,). O(N M d^2 / 2) time, O(N M) memory besides the features."""
    return predict_solved(*solve(model), features)


def predict_solved(theta: np.ndarray, factor: np.ndarray, features: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """`predict_batch` where `solve` has been asked already."""
    means = linear_scores(features, theta)
    squares = np.empty_like(means)
    N, d = features.shape
    by_row, rows = squares.reshape(N, -1), factor.reshape(-1, d)

    def part(first: int, last: int) -> None:
        work = np.zeros((2 * d + 2, LANES))
        squared_norms(features[first:last], rows, work[:d], work[d : 2 * d], work[2 * d :], by_row[first:last])

    wanted = int(squares.size * d * d / THREAD_WORK)
    threads = min(wanted, os.cpu_count() or 1) if wanted > 1 else 1  # asking for the count takes as long as a small model's widths
    if threads < 2:
        part(0, N)
    else:  # rows do not depend on each other: the cut changes no bit
        edges = np.linspace(0, N, threads + 1).astype(np.int64).tolist()
        with ThreadPoolExecutor(threads) as pool:
            list(pool.map(part, edges[:-1], edges[1:]))
    return means, np.sqrt(squares, out=squares)


def linear_scores(features: np.ndarray, theta: np.ndarray) -> np.ndarray:
    """theta_block'x of every arm, (N M,), for theta (M, d). O(N M d)."""
    out = np.empty((features.shape[0], theta.shape[0]))
    inner_products(features, theta, np.zeros((features.shape[1], LANES)), np.zeros((1, LANES)), out)
    return out.reshape(-1)


@lean
def side_by_side(features, first, width, x):
    """x[:, n] <- features[first + n] for n < width."""
    for n in range(width):
        for i in range(x.shape[0]):
            x[i, n] = features[first + n, i]


@lean
def take_products(sums, weights, row, count, z):
    """sums[0] -= weights[row, 0] z[0], then weights[row, 1] z[1], .., `count` of them.

    Four at a time, each taken by itself as if it were alone: reading and writing the sums is what takes time.
    """
    fours = count - count % 4
    for j in range(0, fours, 4):
        a, b, c, d = weights[row, j], weights[row, j + 1], weights[row, j + 2], weights[row, j + 3]
        for n in range(LANES):
            sums[0, n] = sums[0, n] - a * z[j, n] - b * z[j + 1, n] - c * z[j + 2, n] - d * z[j + 3, n]
    for j in range(fours, count):
        weight = weights[row, j]
        for n in range(LANES):
            sums[0, n] -= weight * z[j, n]


@lean
def inner_products(features, theta, x, sums, out):
    """out[n, m] <- features[n] @ theta[m], summed in the order of the dimensions. x: (d, LANES), sums: (1, LANES), to work in."""
    N, d = features.shape
    for first in range(0, N, LANES):
        width = min(LANES, N - first)
        side_by_side(features, first, width, x)
        for m in range(theta.shape[0]):
            for n in range(LANES):
                sums[0, n] = 0.0
            take_products(sums, theta, m, d, x)
            for n in range(width):
                out[first + n, m] = 0.0 - sums[0, n]  # take_products takes away, as substitution needs it


@lean
def squared_norms(features, factor, x, z, sums, out):
    """out[n, m] <- ||L_m^-1 features[n]||^2. factor: (M d, d), the L_m stacked. x, z: (d, LANES), sums: (2, LANES), to work in."""
    N, d = features.shape
    for first in range(0, N, LANES):
        width = min(LANES, N - first)
        side_by_side(features, first, width, x)
        for m in range(out.shape[1]):
            for n in range(LANES):
                sums[1, n] = 0.0
            for i in range(d):
                for n in range(LANES):
                    sums[0, n] = x[i, n]
                take_products(sums, factor, m * d + i, i, z)
                pivot = factor[m * d + i, i]
                for n in range(LANES):
                    entry = sums[0, n] / pivot
                    z[i, n] = entry
                    sums[1, n] += entry * entry
            for n in range(width):
                out[first + n, m] = sums[1, n]
