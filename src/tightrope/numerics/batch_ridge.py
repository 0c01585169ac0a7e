"""Ridge regression for many arms at once: one or several independent models over the same rows of
features.

A block is one regression: V = lam I + sum x x', b = sum r x, theta = V^-1 b. M blocks of size d
stand for the dM x dM model whose features are zero outside one block; arm number row * M + block. A
round adds its k rewards by one rank-k product and factorises V afresh when it is next read: O(d^3 /
3) is less than the O(N d^2 / 2) of the widths as soon as N > d, and sums do not drift as inverses
do.

Widths of N rows cost O(N M d^2 / 2) by forward substitution on LANES rows side by side. Every row
is computed by the same operations wherever it stands, so equal rows get equal scores to the bit:
ties are ties.
"""

import math
import os
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np

from ..compiled.kernels import lean
from ..core.fields import Count, Finite, Squarable
from .linalg import OUT_OF_DIGITS, PIVOT_TOLERANCE, check_digits
from .noise import DIGITS, PRIOR, Noise, enter_all, new_noise
from .ridge import REFRESH, mean_square, size_of

LANES = 64  # rows solved together: d x LANES numbers stay in the first cache
THREAD_WORK = 2e8  # arms x d^2 that keep one thread busy for some 8 ms


class BatchRidge(NamedTuple):
    lam: float
    design: Finite  # (M, d, d) V, without the constant column
    response: Finite  # (M, d) b: sum r x, rewards less the origin
    seen: Count  # (1,) rewards taken in
    total: Finite  # (M, d) sum x
    pulls: Count  # (M,) rewards of each block
    sums: Finite  # (M,) their sums, less the origin
    noise: Noise  # its residual is not kept: `settle` has it from the sums
    # (1,) c, the constant column; 0: of rows that are new in every round, see `column_of`
    column: Squarable
    # whether every block has a constant column, whose coefficient is drawn to the mean of all
    # rewards
    intercept: bool


class RidgeSolution(NamedTuple):
    """The solved regressions. The constant column is eliminated: theta is about x - middle."""

    theta: np.ndarray  # (M, d)
    factor: np.ndarray  # (M, d, d) lower Cholesky factors of V, less the part of the column
    middle: np.ndarray  # (M, d) where the column alone decides; 0 without one
    level: np.ndarray  # (M,) the mean there, less zero
    own: np.ndarray  # (M,) the squared width there
    zero: float  # what means are less of: the mean of all rewards; 0 without an intercept


def new_batch_ridge(
    blocks: int, dimension: int, lam: float, intercept: bool = False, column: float = 0.0
) -> BatchRidge:
    """The model without data; column: the constant one, where it is known."""
    design = np.tile(lam * np.eye(dimension), (blocks, 1, 1))
    return BatchRidge(
        lam,
        design,
        np.zeros((blocks, dimension)),
        np.zeros(1),
        np.zeros((blocks, dimension)),
        np.zeros(blocks),
        np.zeros(blocks),
        new_noise(),
        np.array([column]),
        intercept,
    )


def check_features(name: str, features: np.ndarray, lam: float) -> None:
    """Refuse rows of features (N, d) that leave fewer than six digits after REFRESH of them; later
    ones are checked as V is factorised."""
    check_digits(name, features, lam, REFRESH, root=False)


def solve(model: BatchRidge) -> tuple[np.ndarray, np.ndarray]:
    """theta (M, d) and the lower Cholesky factors (M, d, d) of V, without an intercept; refuses V
    that rounding has made singular."""
    return factorise(model.design, model.response)


def factorise(design: np.ndarray, response: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """V^-1 b and the lower Cholesky factor of V in every block; refuses V that rounding has made
    singular."""
    from scipy.linalg.lapack import dpotrs  # here, because its import takes long and few need it

    diagonal = np.diagonal(design, axis1=1, axis2=2)
    try:
        factor = np.linalg.cholesky(design)
        definite = bool(
            (np.diagonal(factor, axis1=1, axis2=2) ** 2 > PIVOT_TOLERANCE * diagonal).all()
        )
    except np.linalg.LinAlgError:
        definite = False
    if not definite:
        raise ValueError(OUT_OF_DIGITS)
    theta = np.empty_like(response)
    for m in range(theta.shape[0]):
        theta[m], _ = dpotrs(factor[m], response[m], lower=1)
    return theta, factor


def column_of(model: BatchRidge) -> float:
    """The constant column: of rows that are new in every round the root mean square of their norms
    so far; 0 before the first."""
    if model.column[0] > 0.0 or model.seen[0] == 0.0:
        return float(model.column[0])
    d = model.response.shape[1]
    squares = float((np.trace(model.design, axis1=1, axis2=2) - d * model.lam).sum())
    return math.sqrt(squares / float(model.seen[0])) if squares > 0.0 else 1.0


def settle(model: BatchRidge, features: np.ndarray) -> RidgeSolution:
    """The solved regressions, with an intercept if the model has one; features: those of the round,
    for a column before the first reward.

    With n' = n + lam / c^2 rewards in a block, lam / c^2 of which are the column's prior at the
    mean m of all rewards, s = sum x and rho = sum (r - m): middle = s / n', level = rho / n', own =
    1 / n', V less s s' / n', and b = sum (r - m) x less middle rho.
    """
    M, d = model.response.shape
    if not model.intercept:
        return RidgeSolution(*solve(model), np.zeros((M, d)), np.zeros(M), np.zeros(M), 0.0)
    sums, column = model.noise.sums[0], column_of(model) or size_of(features)
    own = 1.0 / (model.pulls + model.lam / column**2)
    middle, rho = model.total * own[:, None], model.sums - sums.centre * model.pulls
    design = model.design - middle[:, :, None] * model.total[:, None, :]
    theta, factor = factorise(
        design, model.response - sums.centre * model.total - middle * rho[:, None]
    )
    return RidgeSolution(theta, factor, middle, rho * own, own, float(sums.origin + sums.centre))


def learn_batch(
    model: BatchRidge, features: np.ndarray, arms: np.ndarray, rewards: np.ndarray
) -> None:
    """Take in the rewards of several arms: V += X'X and b += X'r in every block they touch. O(k
    d^2)."""
    rows, blocks = np.divmod(arms, model.response.shape[0])
    values = np.empty(rewards.size)
    enter_all(model.noise, np.ascontiguousarray(rewards, dtype=np.float64), model.intercept, values)
    for block in range(model.response.shape[0]):
        of_block = blocks == block
        if of_block.any():
            X = features[rows[of_block]]
            model.design[block] += X.T @ X
            model.response[block] += values[of_block] @ X
            model.total[block] += X.sum(axis=0)
            model.pulls[block] += X.shape[0]
            model.sums[block] += values[of_block].sum()
    model.seen[0] += arms.size


def batch_scale(model: BatchRidge, solved: RidgeSolution, noise: float) -> float:
    """The unit of widths, from the numbers that `settle` found: `noise.current_scale` for this
    form. noise: NaN where it is learned.

    O(M d), and O(M d^3 / 3) where what the penalty hides may be more than the noise.
    """
    sums, theta = model.noise.sums[0], solved.theta
    known, unit = (
        model.design.shape[0] * (model.design.shape[1] + model.intercept),
        float(sums.unit) or 1.0,
    )
    column = column_of(model) if model.intercept else 0.0
    off = (
        (solved.level - (solved.middle * theta).sum(axis=1)) / column
        if column > 0.0
        else np.zeros(0)
    )  # the column's coefficients
    if math.isnan(noise):
        noise = 1.0
        if sums.spread > 0.0:
            rho = model.sums - sums.centre * model.pulls
            response = model.response - sums.centre * model.total
            parts = (theta / unit * (response / unit)).sum() + (
                (off * column / unit) @ (rho / unit) if off.size else 0.0
            )
            residual = max(sums.spread - float(parts), DIGITS * sums.spread)
            noise = unit * math.sqrt(
                (PRIOR * sums.spread / sums.number + residual) / (PRIOR + sums.number)
            )
    size = float((theta * theta).sum() + (off * off).sum())
    if model.lam * size <= noise * noise * least_known(model):
        return noise
    unknown = sum(inverse_trace(L) for L in solved.factor)
    if model.intercept:
        unknown += (
            column_trace(solved, column) if column > 0.0 else model.response.shape[0] / model.lam
        )
    hidden = mean_square(model.lam, size, known - model.lam * unknown)
    return math.sqrt(max(noise * noise, hidden))


def least_known(model: BatchRidge) -> float:
    """A bound from below on the known directions, sum 1 - lam / e over all eigenvalues e >= lam of
    V, from the traces of V alone.

    The summands are concave in e, so that with a given sum of them the least is where all that is
    above lam is in one. O(M d).
    """
    d = model.response.shape[1]
    above = np.maximum(np.trace(model.design, axis1=1, axis2=2) - d * model.lam, 0.0)
    if model.intercept:
        above += column_of(model) ** 2 * model.pulls
    return float((above / (above + model.lam)).sum())


def column_trace(solved: RidgeSolution, column: float) -> float:
    """The constant column's part of tr V^-1: (own + middle' V^-1 middle) / c^2 in every block."""
    from scipy.linalg.lapack import dtrtrs

    rows = [dtrtrs(L.T, x, trans=1)[0] for L, x in zip(solved.factor, solved.middle, strict=True)]
    return float((solved.own.sum() + sum((row * row).sum() for row in rows)) / column**2)


def inverse_trace(factor: np.ndarray) -> float:
    """tr (L L')^-1 = ||L^-1||^2."""
    from scipy.linalg.lapack import dtrtri

    inverse, _ = dtrtri(factor, lower=1)
    return float((inverse * inverse).sum())


def predict_solved(
    theta: np.ndarray, factor: np.ndarray, features: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    M, d = theta.shape
    return predict_settled(
        RidgeSolution(theta, factor, np.zeros((M, d)), np.zeros(M), np.zeros(M), 0.0), features
    )


def predict_settled(solved: RidgeSolution, features: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Means less `zero` and widths of every arm, both (N M,)."""
    means = settled_scores(solved, solved.theta, features)
    squares = np.empty_like(means)
    N, d = features.shape
    by_row, rows = squares.reshape(N, -1), solved.factor.reshape(-1, d)

    def part(first: int, last: int) -> None:
        work = np.zeros((2 * d + 2, LANES))
        squared_norms(
            features[first:last],
            rows,
            solved.middle,
            work[:d],
            work[d : 2 * d],
            work[2 * d :],
            by_row[first:last],
        )

    wanted = int(squares.size * d * d / THREAD_WORK)
    threads = (
        min(wanted, os.cpu_count() or 1) if wanted > 1 else 1
    )  # asking for the count takes as long as a small model's widths
    if threads < 2:
        part(0, N)
    else:  # rows do not depend on each other: the cut changes no bit
        edges = np.linspace(0, N, threads + 1).astype(np.int64).tolist()
        with ThreadPoolExecutor(threads) as pool:
            list(pool.map(part, edges[:-1], edges[1:]))
    if solved.own.any():
        by_row += solved.own
    return means, np.sqrt(squares, out=squares)


def settled_scores(solved: RidgeSolution, theta: np.ndarray, features: np.ndarray) -> np.ndarray:
    """level + theta'(x - middle) of every arm, (N M,), for theta (M, d): the estimate, or one drawn
    around it. O(N M d)."""
    scores = linear_scores(features, theta)
    if solved.own.any():
        by_row = scores.reshape(features.shape[0], -1)
        by_row += solved.level - (solved.middle * theta).sum(axis=1)
    return scores


def drawn_scores(
    solved: RidgeSolution, features: np.ndarray, scale: float, rng: np.random.Generator, draws: int
) -> np.ndarray:
    """(draws, N M) scores of every arm by as many theta ~ N(theta_hat, scale^2 V^-1), in every
    block by itself. O(draws N M d).

    The law of `settled_scores` of one drawn theta. Equal rows get equal scores in every draw.
    """
    M, d = solved.theta.shape
    theta = rng.standard_normal((draws, M, d))
    draw_around(solved.theta, solved.factor, scale, theta)
    out = np.empty((draws, features.shape[0] * M))
    score_draws(features, theta, np.zeros((d, LANES)), np.zeros((1, LANES)), out)
    if solved.own.any():
        level = solved.level - (solved.middle * theta).sum(axis=2)
        level += scale * np.sqrt(solved.own) * rng.standard_normal((draws, M))
        by_row = out.reshape(draws, -1, M)
        by_row += level[:, None, :]
    return out


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

    Four at a time, each taken by itself as if it were alone: reading and writing the sums is what
    takes time.
    """
    fours = count - count % 4
    for j in range(0, fours, 4):
        a, b, c, d = weights[row, j], weights[row, j + 1], weights[row, j + 2], weights[row, j + 3]
        for n in range(LANES):
            sums[0, n] = (
                sums[0, n] - a * z[j, n] - b * z[j + 1, n] - c * z[j + 2, n] - d * z[j + 3, n]
            )
    for j in range(fours, count):
        weight = weights[row, j]
        for n in range(LANES):
            sums[0, n] -= weight * z[j, n]


@lean
def inner_products(features, theta, x, sums, out):
    """out[n, m] <- features[n] @ theta[m], summed in the order of the dimensions. x: (d, LANES),
    sums: (1, LANES), to work in."""
    N, d = features.shape
    for first in range(0, N, LANES):
        width = min(LANES, N - first)
        side_by_side(features, first, width, x)
        for m in range(theta.shape[0]):
            for n in range(LANES):
                sums[0, n] = 0.0
            take_products(sums, theta, m, d, x)
            for n in range(width):
                out[first + n, m] = (
                    0.0 - sums[0, n]
                )  # take_products takes away, as substitution needs it


@lean
def draw_around(centre, factor, scale, theta):
    """theta[n, m], standard normals, <- centre[m] + scale L_m'^-1 theta[n, m]. O(draws M d^2 /
    2)."""
    draws, M, d = theta.shape
    for n in range(draws):
        for m in range(M):
            for i in range(d - 1, -1, -1):
                entry = theta[n, m, i] / factor[m, i, i]
                theta[n, m, i] = entry
                for j in range(i):
                    theta[n, m, j] -= entry * factor[m, i, j]
            for i in range(d):
                theta[n, m, i] = centre[m, i] + scale * theta[n, m, i]


@lean
def score_draws(features, theta, x, sums, out):
    """out[n, row * M + m] <- features[row] @ theta[n, m]. x: (d, LANES), sums: (1, LANES), to work
    in.

    A few rows stay in the first cache while all draws pass over them. Every row is summed in the
    order of the dimensions wherever it stands, so equal rows get equal scores.
    """
    N, d = features.shape
    draws, M = theta.shape[0], theta.shape[1]
    for first in range(0, N, LANES):
        width = min(LANES, N - first)
        side_by_side(features, first, width, x)
        for n in range(draws):
            for m in range(M):
                for row in range(LANES):
                    sums[0, row] = 0.0
                take_products(sums, theta[n], m, d, x)
                for row in range(width):
                    out[n, (first + row) * M + m] = 0.0 - sums[0, row]  # take_products takes away


@lean
def squared_norms(features, factor, middle, x, z, sums, out):
    """out[n, m] <- ||L_m^-1 (features[n] - middle[m])||^2.

    factor: (M d, d), the L_m stacked. x, z: (d, LANES), sums: (2, LANES), to work in.
    """
    N, d = features.shape
    for first in range(0, N, LANES):
        width = min(LANES, N - first)
        side_by_side(features, first, width, x)
        for m in range(out.shape[1]):
            for n in range(LANES):
                sums[1, n] = 0.0
            for i in range(d):
                for n in range(LANES):
                    sums[0, n] = x[i, n] - middle[m, i]
                take_products(sums, factor, m * d + i, i, z)
                pivot = factor[m * d + i, i]
                for n in range(LANES):
                    entry = sums[0, n] / pivot
                    z[i, n] = entry
                    sums[1, n] += entry * entry
            for n in range(width):
                out[first + n, m] = sums[1, n]
