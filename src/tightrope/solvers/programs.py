"""Linear programs, designs, coverings and slopes."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from statistics import NormalDist
from typing import Annotated, Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from ..compiled.kernels import jit, lean
from ..core import checks
from ..core.fields import ArmIndex, Kind, Scratch
from ..numerics.counts import DIVERGENCES, bernoulli_divergence_close, divergence
from ..numerics.linalg import cholesky, inner, solve_lower

TOLERANCE = 1e-10
OPTIMAL, OUTSIDE_SPAN, ITERATION_LIMIT = 0, 1, 2
RowOrNone: TypeAlias = Annotated[
    np.ndarray, Kind(whole=True, least=-1, most=lambda policy, arms: arms.number + arms.dimension)
]


class Combination(NamedTuple):
    weights: np.ndarray  # (K,) w
    dual: np.ndarray  # (d,) z
    value: float  # |w|_1
    dual_value: float  # y'z, equal to value up to rounding at an optimum
    status: int  # OPTIMAL, OUTSIDE_SPAN (y is no combination of the arms) or ITERATION_LIMIT


class Tableau(NamedTuple):
    """Scratch of the simplex method, so that kernels do not allocate."""

    table: Scratch  # (d, K + d + 1) B^-1 (X', I, y)
    basis: RowOrNone  # (d,) int64: arm of each row, -1 for a row without one
    signs: Scratch  # (d,) sign of its weight
    costs: Scratch  # (K,) x_a'z


def new_tableau(K: int, d: int) -> Tableau:
    return Tableau(np.zeros((d, K + d + 1)), np.zeros(d, dtype=np.int64), np.zeros(d), np.zeros(K))


@lean
def _pivot(table, row, column):
    n, m = table.shape
    scale = table[row, column]
    for c in range(m):
        table[row, c] /= scale
    for r in range(n):
        if r != row:
            factor = table[r, column]
            if factor != 0.0:
                for c in range(m):
                    table[r, c] -= factor * table[row, c]


@jit
def least_l1(features, y, tableau, weights):
    """Fill weights (K,) with the solution; return the status. O(K d) a pivot, about 2 d pivots."""
    K, d = features.shape
    table, basis, signs, costs = tableau.table, tableau.basis, tableau.signs, tableau.costs
    largest, size = 0.0, 0.0
    for r in range(d):
        for a in range(K):
            table[r, a] = features[a, r]
            largest = max(largest, abs(features[a, r]))
        for c in range(d):
            table[r, K + c] = 1.0 if r == c else 0.0
        table[r, K + d] = y[r]
        size = max(size, abs(y[r]))
        basis[r] = -1
    weights[:] = 0.0
    for _ in range(d):  # Gauss-Jordan with complete pivoting chooses the first basis
        row, column, best = -1, -1, TOLERANCE * largest
        for r in range(d):
            if basis[r] < 0:
                for a in range(K):
                    if abs(table[r, a]) > best:
                        row, column, best = r, a, abs(table[r, a])
        if row < 0:
            break
        _pivot(table, row, column)
        basis[row] = column
    for r in range(d):
        if basis[r] < 0 and abs(table[r, K + d]) > 1e-8 * size:
            return OUTSIDE_SPAN
        signs[r] = 0.0 if basis[r] < 0 else (1.0 if table[r, K + d] >= 0.0 else -1.0)
    status = ITERATION_LIMIT
    for _ in range(100 * (K + d)):
        costs[:] = 0.0
        for r in range(d):
            if basis[r] >= 0:
                for a in range(K):
                    costs[a] += signs[r] * table[r, a]
        entering = -1
        for a in range(K):
            if abs(costs[a]) > 1.0 + TOLERANCE:
                entering = a
                break
        if entering < 0:
            status = OPTIMAL
            break
        sign = 1.0 if costs[entering] > 0.0 else -1.0
        leaving, least = -1, np.inf
        for r in range(d):
            if basis[r] >= 0:
                rate = signs[r] * sign * table[r, entering]
                if rate > TOLERANCE:  # some rate is: they add up to more than 1
                    ratio = max(signs[r] * table[r, K + d], 0.0) / rate
                    if ratio < least or (ratio == least and basis[r] < basis[leaving]):
                        leaving, least = r, ratio
        _pivot(table, leaving, entering)
        basis[leaving], signs[leaving] = entering, sign
    for r in range(d):
        if basis[r] >= 0:
            weights[basis[r]] = table[r, K + d]
    return status


def minimal_combination(features, y) -> Combination:
    """Solve min |w|_1 subject to features' w = y, with its certificate.

    features: (K, d). y: (d,). Raises ValueError if they do not fit.
    """
    X = checks.matrix("features", features)
    target = checks.vector("y", y, length=X.shape[1], source="the number of columns of features")
    K, d = X.shape
    tableau, weights = new_tableau(K, d), np.zeros(K)
    status = int(least_l1(X, target, tableau, weights))
    dual = np.where(tableau.basis >= 0, tableau.signs, 0.0) @ tableau.table[:, K : K + d]
    if status == OUTSIDE_SPAN:
        return Combination(np.full(K, np.nan), np.full(d, np.nan), np.inf, np.inf, status)
    return Combination(weights, dual, float(np.abs(weights).sum()), float(target @ dual), status)


# Optimal designs: shares p over the arms that minimise max_y y'A(p)^-1 y, with A(p) = sum_a p_a x_a
# x_a'.


GAP = 1e-3  # relative distance of value and bound at which the iteration ends
MOST_ITERATIONS = 20_000
THIN = 1e-9  # entries of the table that count as zero
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
    return Workspace(
        np.zeros(K),
        np.zeros(K),
        np.zeros(M),
        np.zeros((d, d)),
        np.zeros((d, d)),
        np.zeros((K, d)),
        np.zeros((M, d)),
        np.zeros(M),
    )


@lean
def whiten(features, weights, least, matrix, factor, lines):
    """A = sum_a max(w_a, least) x_a x_a' = L L' and all L^-1 x_a, into matrix (its lower half),
    factor and lines. O(K d^2 + d^3)."""
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


@lean
def design_kernel(features, directions, wanted, work, gap, most):
    """Leave the best design found in work.shares; return its value and the bound. O((K + M) d^2) an
    iteration.

    wanted: (M,) bool, which directions count; the features must span R^d.
    """
    K, d = features.shape
    M, count = directions.shape[0], wanted.sum()
    for m in range(M):
        work.stakes[m] = 1.0 / count if wanted[m] else 0.0
    work.current[:] = 1.0 / K
    value, bound = np.inf, 0.0
    for _ in range(most):
        whiten(features, work.current, 0.0, work.matrix, work.factor, work.arms)
        top, f = 0.0, 0.0
        for m in range(M):
            if wanted[m]:
                for p in range(d):
                    work.lines[m, p] = directions[m, p]
                solve_lower(work.factor, work.lines[m])
                work.squares[m] = inner(work.lines[m], work.lines[m])
                top = max(top, work.squares[m])
                f += work.stakes[m] * work.squares[m]
        if top < value:
            value = top
            for a in range(K):
                work.shares[a] = work.current[a]
        work.matrix[:] = 0.0
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
                g += work.arms[a, p] * inner(work.matrix[p], work.arms[a])
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


@lean
def thin(features, shares, table, basis):
    """Move shares of the arms without changing sum_a shares_a x_a x_a', until at most d (d + 1) / 2
    of them are above 0 (Caratheodory). O(K d^4).

    table: (d (d + 1) / 2, K) scratch. basis: (d (d + 1) / 2,) scratch.
    """
    K, d = features.shape
    row = 0
    for p in range(d):
        for q in range(p + 1):
            for a in range(K):
                table[row, a] = features[a, p] * features[a, q]
            basis[row] = -1.0
            row += 1
    for a in range(K):
        if shares[a] <= 0.0:
            continue
        row, largest = -1, THIN
        for r in range(basis.shape[0]):
            if basis[r] < 0.0 and abs(table[r, a]) > largest:
                row, largest = r, abs(table[r, a])
        if row < 0:  # a combination of those of the basis: pass its share on to them
            step = shares[a]
            for r in range(basis.shape[0]):
                if basis[r] >= 0.0 and table[r, a] < -THIN:
                    most = -shares[int(basis[r])] / table[r, a]
                    if most < step:
                        row, step = r, most
            for r in range(basis.shape[0]):
                if basis[r] >= 0.0:
                    arm = int(basis[r])
                    shares[arm] = max(shares[arm] + step * table[r, a], 0.0)
            shares[a] -= step
            if row < 0:
                shares[a] = 0.0
                continue
            shares[int(basis[row])] = 0.0
        _pivot(table, row, a)
        basis[row] = a


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
        raise ValueError(
            f"features has rank below {X.shape[1]}, so no design is finite in all directions; use "
            "coordinates of their span."
        )
    wanted = (Y != 0).any(axis=1)
    if not wanted.any():
        raise ValueError(
            "directions is zero in every row; it needs at least one vector to estimate."
        )
    work = new_workspace(X.shape[0], Y.shape[0], X.shape[1])
    value, bound = design_kernel(X, Y, wanted, work, gap, MOST_ITERATIONS)
    return Design(work.shares.copy(), float(value), float(bound), bool(value <= (1 + gap) * bound))


def g_design(features, *, gap: float = GAP) -> Design:
    """The G-optimal design; its value is the rank of the features (Kiefer and Wolfowitz 1960)."""
    return optimal_design(features, features, gap=gap)


# The linear program of the Lipschitz regret lower bound, solved by the simplex method on its dual.


TIE = 1e-12  # true means that differ by less are equal
COVERED_AT_LEAST_COST, UNFINISHED = 0, 1
ZERO = 1e-11  # relative to its column, a number that rounding may have made
GREEDY_PIVOTS, MOST_PIVOTS = (
    8,
    60,
)  # per arm: then the lowest-index rule, which cannot cycle; then give up
Variable: TypeAlias = Annotated[
    np.ndarray, Kind(whole=True, least=0, most=lambda policy, arms: 2 * arms.number + 2)
]


class Work(NamedTuple):
    """Scratch of one size; `cover` allocates nothing."""

    table: Scratch  # (K + 1, K + 1) dictionary of the dual
    scale: Scratch  # (K,) of each y
    arms: ArmIndex  # (K,) suboptimal arms
    rows: Variable  # (K,) what a row holds: y_j as j, slack of row i as n + i
    columns: Variable  # (K,) likewise


def new_work(K: int) -> Work:
    return Work(
        np.zeros((K + 1, K + 1)), np.zeros(K), *(np.zeros(K, dtype=np.int64) for _ in range(3))
    )


@lean
def cover(work, information, gaps, need, rates, dual):
    """Fill rates c (K,) and dual y (K,); return OPTIMAL or UNFINISHED. About K pivots of O(K^2).

    information (K, K): [k, i] = I(theta_i, lambda^k_i). gaps (K,): of the suboptimal arms, 0
    elsewhere. need (K,): right-hand sides; a constraint with need <= 0 asks for nothing.
    """
    table, arms, rows, columns = work.table, work.arms, work.rows, work.columns
    n = 0
    for k in range(gaps.shape[0]):
        rates[k], dual[k] = 0.0, 0.0
        if gaps[k] > 0.0:
            arms[n] = k
            n += 1
    for j in range(n):
        k, largest = arms[j], 0.0
        for i in range(n):
            table[i, j] = information[k, arms[i]] / gaps[arms[i]]
            largest = max(largest, table[i, j])
        asked = need[k] > 0.0 and 0.0 < largest < math.inf
        work.scale[j] = largest if asked else 1.0
        for i in range(n):
            table[i, j] = table[i, j] / largest if asked else 0.0
        table[n, j] = -need[k] / largest if asked else 0.0
        columns[j], rows[j], table[j, n] = j, n + j, 1.0
    table[n, n] = 0.0
    status = _pivot_until_optimal(work, need, n)
    for j in range(n):
        if columns[j] >= n:
            i = arms[columns[j] - n]
            rates[i] = max(table[n, j], 0.0) / gaps[i]
        if rows[j] < n:
            dual[arms[rows[j]]] = table[j, n] / work.scale[rows[j]]
    return status


@lean
def _pivot_until_optimal(work, need, n):
    table, rows, columns = work.table, work.rows, work.columns
    for pivot in range(MOST_PIVOTS * n + 1):
        greedy = pivot < GREEDY_PIVOTS * n
        q, most = -1, 0.0
        for j in range(n):
            column = columns[j]
            unit = need[work.arms[column]] / work.scale[column] if column < n else 1.0
            if table[n, j] < -ZERO * unit:
                lead = -table[n, j] / unit if greedy else 1.0 / (1.0 + column)
                if lead > most:
                    q, most = j, lead
        if q < 0:
            return COVERED_AT_LEAST_COST
        p, least = -1, math.inf
        for i in range(n):
            if table[i, q] > ZERO:
                ratio = table[i, n] / table[i, q]
                if ratio < least or (ratio == least and rows[i] < rows[p]):
                    p, least = i, ratio
        if p < 0:
            return UNFINISHED
        _exchange(table, p, q, n)
        rows[p], columns[q] = columns[q], rows[p]
    return UNFINISHED


@lean
def _exchange(table, p, q, n):
    inverse = 1.0 / table[p, q]
    for j in range(n + 1):
        table[p, j] *= inverse
    table[p, q] = inverse
    for i in range(n + 1):
        factor = table[i, q]
        if i != p and factor != 0.0:
            for j in range(n + 1):
                table[i, j] -= factor * table[p, j]
            table[i, q] = -factor * inverse


@dataclass(frozen=True)
class LowerBound:
    """No uniformly good algorithm has regret below value ln T as T grows.

    Attributes
    ----------
    value : float
        C(theta), in units of regret.
    rates : (K,) array
        c_k, pulls per unit of ln T; 0 for the best arms.
    dual : (K,) array
        y_k of each arm's constraint: sum(dual) = value and sum_k dual_k I(theta_i, lambda^k_i) <=
        gap_i prove that value is the minimum.

    References
    ----------
    Magureanu, Combes, Proutiere 2014, Theorem 3.1.
    """

    value: float
    rates: np.ndarray
    dual: np.ndarray

    __repr__ = checks.in_one_line


def confusing_information(
    means: np.ndarray, best: np.ndarray, reach: np.ndarray, kind: int, sigma: float
) -> np.ndarray:
    """(K, K) matrix [k, i] = I(theta_i, max(theta_i, best_k - reach_ki))."""
    K = means.size
    information = np.zeros((K, K))
    for k in range(K):
        for i in range(K):
            y = best[k] - reach[k, i]
            if y > means[i]:
                close = kind == 0 and y < 1.0
                information[k, i] = (
                    bernoulli_divergence_close(means[i], y)
                    if close
                    else divergence(kind, means[i], y, sigma)
                )
    return information


def lipschitz_lower_bound(
    means: ArrayLike,
    *,
    points: ArrayLike | None = None,
    distances: ArrayLike | None = None,
    lipschitz: float,
    divergence: str = "bernoulli",
    sigma: float = 1.0,
    contexts: ArrayLike | None = None,
) -> LowerBound:
    """C(theta) and the optimal rates of exploration of a Lipschitz bandit. About K pivots of
    O(K^2).

    Parameters
    ----------
    means : (K,) array
        In [0, 1] for "bernoulli". Means that break L warn with the least constant that holds: no
        bandit with that L has them.
    points : (K,) increasing or (K, p) array
        Positions of the arms; or distances.
    distances : (K, K) array
        A metric.
    lipschitz : float > 0
        L, in units of reward per unit of distance; a large one gives the bound of Lai and Robbins
        for unrelated arms.
    divergence : "bernoulli" or "gaussian"
        Of the rewards.
    sigma : float > 0
        Standard deviation of "gaussian" rewards.
    contexts : (K,) array
        Labels when arms are (context, arm) pairs; an arm then competes within its context, and the
        best pairs of other contexts inform for free.

    Returns
    -------
    LowerBound
        Its rates need not be unique, its value is.

    Raises
    ------
    ValueError
        Where an argument is out of its range.

    References
    ----------
    Magureanu, Combes, Proutiere 2014, Theorem 3.1.

    Examples
    --------
    >>> import tightrope as tr
    >>> round(tr.lipschitz_lower_bound([0.25, 0.75], points=[0.0, 1.0], lipschitz=10.0).value, 3)
    0.91
    """
    metric = checks.metric(points, distances)[1]
    kind = checks.choice("divergence", divergence, DIVERGENCES)
    low, high = (0.0, 1.0) if kind == 0 else (None, None)
    theta = checks.vector(
        "means", means, length=metric.shape[0], least=low, most=high, source="the number of points"
    )
    L = checks.real("lipschitz", lipschitz, above=0.0)
    broken = checks.broken_slope(theta, metric, L)
    if broken is not None:
        warnings.warn(f"{broken} The bound does not apply to them.", stacklevel=2)
    sigma = checks.real("sigma", sigma, above=0.0)
    labels = (
        np.zeros(theta.size)
        if contexts is None
        else checks.vector("contexts", contexts, length=theta.size)
    )
    best = np.array([theta[labels == label].max() for label in labels])
    gaps = np.where(best - theta > TIE, best - theta, 0.0)
    information = confusing_information(theta, best, L * metric, kind, sigma)
    free = (information[:, gaps == 0.0] > TIE).any(axis=1)
    need = np.where((gaps > 0.0) & ~free, 1.0, 0.0)
    rates, dual = np.zeros(theta.size), np.zeros(theta.size)
    if cover(new_work(theta.size), information, gaps, need, rates, dual) != COVERED_AT_LEAST_COST:
        raise RuntimeError(
            "the simplex method did not finish; the means lie too close together to be told apart."
        )
    return LowerBound(float(rates @ gaps), rates, dual)


# What a conservative promise costs at least: an order.


LEAST_ARMS, LEAST_LINEAR = 1 / 27, math.exp(-2) / 8  # Lattimore, Szepesvari 2020, 15.2 and 24.1


class ConservativeLowerBound(NamedTuple):
    """The answer of `conservative_lower_bound`: orders of magnitude in the worst case.

    Attributes
    ----------
    without : float
        Regret a sqrt(T) that exploring costs without a promise.
    rounds : float
        Rounds of the baseline that must pay for exploring.
    regret : float
        Their sum, rounds at the baseline's gap.
    """

    without: float
    rounds: float
    regret: float


def conservative_lower_bound(
    kind: Literal["arms", "linear"],
    size: int,
    *,
    alpha: float,
    baseline_mean: float,
    gap: float,
    horizon: int,
    sigma: float = 1.0,
) -> ConservativeLowerBound:
    """The order of what a promise never to fall more than a share alpha behind a baseline costs in
    the worst case: compare such numbers with each other, not with a policy's regret.

    A policy that loses a sqrt(n) to the best arm in n rounds of its own falls short of the promise
    by a sqrt(n) - n (alpha baseline_mean + gap), at most a^2 / (4 (alpha baseline_mean + gap)).
    Rounds of the baseline must have earned that before, each alpha baseline_mean. For arms a =
    sigma sqrt(K - 1) / 27, for linear ones a = sigma d / (8 e^2).

    Parameters
    ----------
    kind : 'arms' or 'linear'
        Unrelated arms, or arms with features.
    size : int >= 2
        K, or d.
    alpha : float in (0, 1)
        Share of the baseline's reward that may be lost.
    baseline_mean : float > 0
        Of a round.
    gap : float >= 0
        The best mean less the baseline's.
    horizon : int >= 1
        T, rounds.
    sigma : float > 0
        Scale of the noise.

    Returns
    -------
    ConservativeLowerBound

    Raises
    ------
    ValueError
        Where an argument is out of its range.

    References
    ----------
    The reduction of Yang et al. 2022 (arXiv:2106.11692), whose constants were not at hand; those of
    a are of Lattimore, Szepesvari 2020, sections 15.2 and 24.1.

    Examples
    --------
    >>> import tightrope as tr
    >>> bound = tr.conservative_lower_bound(
    ...     "linear", 100, alpha=0.05, baseline_mean=0.5, gap=0.1, horizon=10_000
    ... )
    >>> round(bound.rounds)
    229
    """
    linear = checks.choice("kind", kind, ("arms", "linear")) == 1
    K = checks.integer("size", size, least=2)
    spare = checks.real("alpha", alpha, above=0.0, below=1.0) * checks.real(
        "baseline_mean", baseline_mean, above=0.0
    )
    loss = checks.real("gap", gap, least=0.0)
    T = checks.integer("horizon", horizon, least=1, most=checks.MOST_ROUNDS)
    a = checks.real("sigma", sigma, above=0.0) * (
        LEAST_LINEAR * K if linear else LEAST_ARMS * math.sqrt(K - 1)
    )
    without, rounds = a * math.sqrt(T), a * a / (4.0 * spare * (spare + loss))
    return ConservativeLowerBound(without, rounds, without + rounds * loss)


# How steep measured means are: the least Lipschitz constant that they allow, and what their noise
# leaves open.


class LeastLipschitz(NamedTuple):
    """The answer of `least_lipschitz`.

    Attributes
    ----------
    value : float
        The least constant that holds for the means as given, in units of reward per unit of
        distance.
    lower, upper : float
        With probability 1 - alpha the least constant of the true means is between them; both are
        `value` without standard errors.
    pair : (int, int)
        The arms between which the means are steepest.
    """

    value: float
    lower: float
    upper: float
    pair: tuple[int, int]


def least_lipschitz(
    points: ArrayLike,
    means: ArrayLike,
    standard_errors: ArrayLike | None = None,
    *,
    alpha: float = 0.05,
) -> LeastLipschitz:
    """The least L with `|means[i] - means[j]| <= L |points[i] - points[j]|` for all arms, from a
    past test. O(K^2).

    Arms between the points may be steeper; only knowledge of the market says so.

    Parameters
    ----------
    points : (K,) increasing or (K, p) array
        Positions of the arms, K >= 2.
    means : (K,) array
        Their measured means.
    standard_errors : (K,) array >= 0
        Of the means: noise makes measured means steeper than they are, so that `value` is too large
        on average. Default 0.
    alpha : float in (0, 1)
        Error of the bounds, shared by all pairs (Bonferroni); they take the means as independent
        and normal.

    Returns
    -------
    LeastLipschitz

    Raises
    ------
    ValueError
        Where an argument is out of its range, two arms are at one place, or there are fewer than
        two.

    Examples
    --------
    >>> import tightrope as tr
    >>> tr.least_lipschitz([0.0, 0.5, 1.0], [0.25, 0.5, 0.375]).value
    0.5
    """
    metric = checks.metric(points, None)[1]
    K = metric.shape[0]
    theta = checks.vector("means", means, length=K, source="the number of points")
    if K < 2:
        raise ValueError("points has one entry; a slope needs two or more arms.")
    errors = (
        np.zeros(K)
        if standard_errors is None
        else checks.vector("standard_errors", standard_errors, length=K, least=0.0)
    )
    level = checks.real("alpha", alpha, above=0.0, below=1.0)
    i, j = np.triu_indices(K, 1)
    rise, length = np.abs(theta[i] - theta[j]), metric[i, j]
    if (length == 0.0).any():
        raise ValueError("points has the same place twice; give every arm its own, or merge them.")
    wide = NormalDist().inv_cdf(1.0 - level / (2 * i.size)) * np.hypot(errors[i], errors[j])
    steepest = int(np.argmax(rise / length))
    lower, upper = (
        float((np.maximum(rise - wide, 0.0) / length).max()),
        float(((rise + wide) / length).max()),
    )
    value = float(rise[steepest] / length[steepest])
    return LeastLipschitz(value, lower, upper, (int(i[steepest]), int(j[steepest])))
