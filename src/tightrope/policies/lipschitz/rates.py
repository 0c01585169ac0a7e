"""The exploration rates of the regret lower bound (Magureanu, Combes, Proutiere 2014, Theorem 3.1) at the empirical means."""

from typing import NamedTuple

import numpy as np

from ...compiled.kernels import lean
from ...core.kinds import Count, Extended
from ...core.verbs import allowed
from ...numerics.kl import bernoulli_divergence_close
from ...solvers.covering import Work, cover, new_work
from .indices import logarithms, new_level

LEAST_DISTANCE = 1e-3  # below it the logarithms of a level leave too few digits


class Rates(NamedTuple):
    """The linear program of Theorem 3.1 and its answer."""

    c: Extended  # (K,) rates; 0 for the leader
    dual: Extended  # (K,)
    gaps: Extended  # (K,)
    need: Extended  # (K,)
    information: Extended  # (K, K)
    work: Work
    solves: Count  # (1,) programs solved so far


def new_rates(K: int) -> Rates:
    return Rates(np.zeros(K), np.zeros(K), np.zeros(K), np.zeros(K), np.zeros((K, K)), new_work(K), np.zeros(1))


@lean
def solve_rates(rates, pool, kind, sigma, leader, f, eligible):
    """Rates c_k of the eligible arms at the empirical means. About K pivots of O(K^2).

    Where only some arms are eligible, the others' rewards count as given: an arm k needs 1 - (their part of S_k) / f(n).
    """
    q = pool.mean[leader]
    new_level(pool)
    for k in range(pool.pulls.shape[0]):
        gap = q - pool.mean[k]
        rates.gaps[k] = gap if allowed(eligible, k) and gap > 0.0 and pool.pulls[k] > 0.0 else 0.0
    for k in range(pool.pulls.shape[0]):
        for i in range(pool.pulls.shape[0]):
            rates.information[k, i] = 0.0
        rates.need[k] = 0.0
        if rates.gaps[k] > 0.0:
            information = row_of_information(rates.information[k], pool, kind, sigma, k, q, eligible)
            rates.need[k] = max(0.0, 1.0 - information / f) if f > 0.0 else 1.0
    rates.solves[0] += 1.0
    return cover(rates.work, rates.information, rates.gaps, rates.need, rates.c, rates.dual)


@lean
def row_of_information(row, pool, kind, sigma, k, q, eligible):
    """Fill row[i] = I(mean_i, q - L D(k, i)) for eligible arms below it; return the others' part of S_k(q)."""
    information = 0.0
    for j in range(pool.near.shape[1]):
        y = q - pool.reach[pool.level[k, j]]
        if y <= pool.low[0]:
            break
        i = pool.near[k, j]
        if pool.pulls[i] > 0.0 and pool.mean[i] < y:
            value = information_of(pool, kind, sigma, i, pool.level[k, j], y)
            if allowed(eligible, i):
                row[i] = value
            else:
                information += pool.pulls[i] * value
    return information


@lean
def information_of(pool, kind, sigma, i, level, y):
    """I(mean_i, y), with the logarithms of this round's level unless they would cancel."""
    if kind == 0:
        if y - pool.mean[i] < LEAST_DISTANCE and y < 1.0:
            return bernoulli_divergence_close(pool.mean[i], y)
        log_y, log_rest = logarithms(pool, level, y)
        t, s = pool.pulls[i], pool.sums[i]
        return max(0.0, (pool.entropy[i] - s * log_y - (t - s) * log_rest) / t)
    return (y - pool.mean[i]) * (y - pool.mean[i]) / (2.0 * sigma * sigma)
