"""The linear program of the Lipschitz regret lower bound, solved by the simplex method on its dual.

min sum_k c_k gap_k over c >= 0 such that for every suboptimal arm k: sum_i c_i I(theta_i, lambda^k_i) >= need_k, where
lambda^k_i = max(theta_i, best - L D(k, i)) is the most confusing instance in which k is best.
Source: Magureanu, Combes, Proutiere 2014, Theorem 3.1 (Eqs 3 and 4).

In z_k = c_k gap_k the dual is max need'y subject to sum_k y_k I(theta_i, lambda^k_i) / gap_i <= 1: its origin is feasible, so
no first phase is needed. Each y is scaled by its largest coefficient, because near a tie coefficients are as small as the gap.
"""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from typing import Annotated, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from ..compiled.kernels import lean
from ..core import checks
from ..core.checks import in_one_line
from ..core.kinds import ArmIndex, Kind, Scratch
from ..numerics.kl import DIVERGENCES, bernoulli_divergence_close, divergence

TIE = 1e-12  # true means that differ by less are equal
OPTIMAL, UNFINISHED = 0, 1
ZERO = 1e-11  # relative to its column, a number that rounding may have made
GREEDY_PIVOTS, MOST_PIVOTS = 8, 60  # per arm: then the lowest-index rule, which cannot cycle; then give up
Variable: TypeAlias = Annotated[np.ndarray, Kind(whole=True, least=0, most=lambda policy, arms: 2 * arms.number + 2)]


class Work(NamedTuple):
    """Scratch of one size; `cover` allocates nothing."""

    table: Scratch  # (K + 1, K + 1) dictionary of the dual
    scale: Scratch  # (K,) of each y
    arms: ArmIndex  # (K,) suboptimal arms
    rows: Variable  # (K,) what a row holds: y_j as j, slack of row i as n + i
    columns: Variable  # (K,) likewise


def new_work(K: int) -> Work:
    return Work(np.zeros((K + 1, K + 1)), np.zeros(K), *(np.zeros(K, dtype=np.int64) for _ in range(3)))


@lean
def cover(work, information, gaps, need, rates, dual):
    """Fill rates c (K,) and dual y (K,); return OPTIMAL or UNFINISHED. About K pivots of O(K^2).

    information (K, K): [k, i] = I(theta_i, lambda^k_i). gaps (K,): of the suboptimal arms, 0 elsewhere. need (K,): right-hand
    sides; a constraint with need <= 0 asks for nothing.
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
            return OPTIMAL
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
        y_k of each arm's constraint: sum(dual) = value and sum_k dual_k I(theta_i, lambda^k_i) <= gap_i prove that value is the minimum.

    References
    ----------
    Magureanu, Combes, Proutiere 2014, Theorem 3.1.
    """

    value: float
    rates: np.ndarray
    dual: np.ndarray

    def __repr__(self) -> str:
        return in_one_line(self)


def confusing_information(means: np.ndarray, best: np.ndarray, reach: np.ndarray, kind: int, sigma: float) -> np.ndarray:
    """(K, K) matrix [k, i] = I(theta_i, max(theta_i, best_k - reach_ki))."""
    K = means.size
    information = np.zeros((K, K))
    for k in range(K):
        for i in range(K):
            y = best[k] - reach[k, i]
            if y > means[i]:
                close = kind == 0 and y < 1.0
                information[k, i] = bernoulli_divergence_close(means[i], y) if close else divergence(kind, means[i], y, sigma)
    return information


def lipschitz_lower_bound(
    means: ArrayLike, *, points: ArrayLike | None = None, distances: ArrayLike | None = None, lipschitz: float,
    divergence: str = "bernoulli", sigma: float = 1.0, contexts: ArrayLike | None = None,
) -> LowerBound:  # fmt: skip
    """C(theta) and the optimal rates of exploration of a Lipschitz bandit. About K pivots of O(K^2).

    Parameters
    ----------
    means : (K,) array
        In [0, 1] for "bernoulli". Means that break L warn with the least constant that holds: no bandit with that L has them.
    points : (K,) increasing or (K, p) array
        Positions of the arms; or distances.
    distances : (K, K) array
        A metric.
    lipschitz : float > 0
        L, in units of reward per unit of distance; a large one gives the bound of Lai and Robbins for unrelated arms.
    divergence : "bernoulli" or "gaussian"
        Of the rewards.
    sigma : float > 0
        Standard deviation of "gaussian" rewards.
    contexts : (K,) array
        Labels when arms are (context, arm) pairs; an arm then competes within its context, and the best pairs of other contexts inform for
        free.

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
    theta = checks.vector("means", means, length=metric.shape[0], least=low, most=high, source="the number of points")
    L = checks.real("lipschitz", lipschitz, above=0.0)
    broken = checks.broken_slope(theta, metric, L)
    if broken is not None:
        warnings.warn(f"{broken} The bound does not apply to them.", stacklevel=2)
    sigma = checks.real("sigma", sigma, above=0.0)
    labels = np.zeros(theta.size) if contexts is None else checks.vector("contexts", contexts, length=theta.size)
    best = np.array([theta[labels == label].max() for label in labels])
    gaps = np.where(best - theta > TIE, best - theta, 0.0)
    information = confusing_information(theta, best, L * metric, kind, sigma)
    free = (information[:, gaps == 0.0] > TIE).any(axis=1)
    need = np.where((gaps > 0.0) & ~free, 1.0, 0.0)
    rates, dual = np.zeros(theta.size), np.zeros(theta.size)
    if cover(new_work(theta.size), information, gaps, need, rates, dual) != OPTIMAL:
        raise RuntimeError("the simplex method did not finish; the means lie too close together to be told apart.")
    return LowerBound(float(rates @ gaps), rates, dual)
