"""Cells and points of the unit interval, for policies that choose points and play the nearest arm."""

from __future__ import annotations

import math

import numpy as np

from ...compiled.kernels import lean
from ...core import checks
from ...core.verbs import Arms, allowed


def line_of(arms: Arms, name: str) -> np.ndarray:
    """The arms' points, refused unless they lie in [0, 1]."""
    points = arms.points
    if points is None or points.ndim != 1 or points.min() < 0.0 or points.max() > 1.0:
        shown = "none" if points is None else checks.show(points)
        raise ValueError(f"points = {shown} do not suit {name}, which needs points on the line in [0, 1]; rescale them, or use CKLUCB.")
    return points


MOST_POINTS = 10**6


def discretize(horizon: int, exponent: float = 1.0) -> np.ndarray:
    """Evenly spaced points in [0, 1] for a Lipschitz bandit of T rounds: K = ceil((ln T / sqrt T)^(-1/exponent)) + 1 of them.

    Parameters
    ----------
    horizon : int >= 2
        T, rounds.
    exponent : float > 0
        Where the mean falls from its peak like distance^exponent; 1 loses least in the worst case: the grid then costs at most about
        L sqrt(T) ln T in all.

    Returns
    -------
    (K,) array
        From 0 to 1.

    Raises
    ------
    ValueError
        Where an argument is out of its range, or too many points are asked for.

    References
    ----------
    Magureanu, Combes, Proutiere 2014.

    Examples
    --------
    >>> import tightrope as tr
    >>> tr.discretize(10_000).size
    12
    """
    T = checks.integer("horizon", horizon, least=2, most=checks.MOST_ROUNDS)
    alpha = checks.real("exponent", exponent, above=0.0)
    log_size = -math.log(math.log(T) / math.sqrt(T)) / alpha
    if log_size > math.log(MOST_POINTS):
        raise ValueError(f"exponent = {alpha:g} asks for more than {MOST_POINTS:,} points at horizon = {T}; give a larger one, usually 1.")
    return np.linspace(0.0, 1.0, math.ceil((math.log(T) / math.sqrt(T)) ** (-1.0 / alpha)) + 1)


def cells(points: np.ndarray, depths: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """First arm, one past the last arm and depth of every dyadic cell down to `depths` halvings, heap order. O(2^depths)."""
    first, last, depth = [], [], []
    for h in range(depths + 1):
        edges = np.searchsorted(points, np.arange(2**h + 1) / 2**h, side="left")
        edges[-1] = points.size
        first.append(edges[:-1])
        last.append(edges[1:])
        depth.append(np.full(2**h, h))
    return np.concatenate(first), np.concatenate(last), np.concatenate(depth)


@lean
def has_eligible(first, last, eligible):
    """Whether a range of arms holds an eligible one. O(1) without a mask."""
    k = first
    while k < last and not allowed(eligible, k):
        k += 1
    return k < last


@lean
def nearest(points, place, first, last, eligible):
    """Lowest eligible arm of a range that is nearest to a place, or -1. O(arms in the range)."""
    best, least = -1, math.inf
    for k in range(first, last):
        distance = math.fabs(points[k] - place)
        if distance < least and allowed(eligible, k):
            best, least = k, distance
    return best


@lean
def arm_in_cell(points, first, last, cell, eligible):
    depth_size = 1
    while cell >= 2 * depth_size - 1:
        depth_size *= 2
    middle = (cell - depth_size + 1 + 0.5) / depth_size
    return nearest(points, middle, first[cell], last[cell], eligible)
