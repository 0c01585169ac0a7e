"""HOO: optimism in a binary tree of cells over [0, 1].

When to use it: as the known alternative on a continuous interval, when no grid can be chosen in
advance.
Bound: O(T^((d+1)/(d+2)) (ln T)^(1/(d+2))) for near-optimality dimension d (Bubeck, Munos, Stoltz,
Szepesvari 2011, Theorem 6).
Source: Bubeck, Munos, Stoltz, Szepesvari 2011, "X-armed bandits", Algorithm 1.
Deviations: the arms are a grid of points in [0, 1]; a cell is played at the arm nearest to its
middle and is not split once it holds one arm or has depth ceil(log2 K) (a truncated tree).
A round recomputes U and B of all cells: O(K), at most 4 K cells.
"""

import math
from typing import NamedTuple

import numpy as np

from ...compiled.kernels import jit, lean
from ...core.fields import Count, Derived, Finite, Flag, RewardSum, Scratch, real
from ...core.policy import Policy, policy
from ...numerics.counts import intervals, one_hot
from .pooled import arm_in_cell, cells, has_eligible, line_of


@policy(
    "line",
    paper="Bubeck, Munos, Stoltz, Szepesvari 2011",
    examples=({"nu": 1.0},),
    rewards=(0.0, 1.0),
)
class HOO(Policy):
    """Hierarchical optimistic optimisation on points in [0, 1].

    Parameters
    ----------
    nu : number in (0, inf)
        A cell at depth h has means within nu rho^h of each other; for an L-Lipschitz mean nu = L
        and rho = 1/2.
    rho : number in (0, 1), default 0.5
        A cell at depth h has means within nu rho^h of each other; for an L-Lipschitz mean nu = L
        and rho = 1/2.
    """

    nu: float = real(above=0)
    rho: float = real(default=0.5, above=0, below=1)

    class State(NamedTuple):
        points: Derived  # (K,)
        first: Derived  # (cells,) lowest arm of a cell; cell c has the halves 2c + 1 and 2c + 2
        last: Derived  # (cells,) one past its highest arm
        pulls: Count  # (cells,)
        sums: RewardSum  # (cells,)
        bound: Scratch  # (cells,) B
        depth: Derived  # (cells,)
        opened: Flag  # (cells,) whether the cell is in the tree
        rounds: Count  # (1,)
        arm_pulls: Count  # (K,) for the explanation
        arm_sums: Finite  # (K,)

    def init(self, arms):
        points = line_of(arms, "HOO")
        first, last, depth = cells(points, max(1, math.ceil(math.log2(points.size))))
        n, K = first.size, points.size
        opened, per_arm = np.zeros(n, dtype=np.bool_), (np.zeros(K), np.zeros(K))
        return self.State(
            points,
            first,
            last,
            np.zeros(n),
            np.zeros(n),
            np.zeros(n),
            depth,
            opened,
            np.zeros(1),
            *per_arm,
        )

    @jit
    def select(self, state, context, rng):
        bounds(self, state)
        c, inner = 0, state.pulls.shape[0] // 2
        while state.opened[c] and c < inner and state.last[c] - state.first[c] > 1:
            best, top = -1, -math.inf
            for half in range(2 * c + 1, 2 * c + 3):
                if has_eligible(state.first[half], state.last[half], context.eligible) and (
                    best < 0 or state.bound[half] > top
                ):
                    best, top = half, state.bound[half]
            c = best
        return arm_in_cell(state.points, state.first, state.last, c, context.eligible)

    @jit
    def update(self, state, context, action, reward):
        """The reward counts for every cell in the tree that holds the arm, and for the first one
        that is not, which enters."""
        state.rounds[0] += 1.0
        state.arm_pulls[action] += 1.0
        state.arm_sums[action] += reward
        c, inner, fresh = 0, state.pulls.shape[0] // 2, False
        while not fresh:
            fresh = not state.opened[c]
            state.opened[c] = True
            state.pulls[c] += 1.0
            state.sums[c] += reward
            if c >= inner or state.last[c] - state.first[c] <= 1:
                break
            c = 2 * c + 1 if action < state.last[2 * c + 1] else 2 * c + 2
        return state

    def explain(self, state, context, rng):
        chosen = self.select(state, context, rng)
        K = state.points.size
        upper = np.full(K, np.inf)
        for c in np.flatnonzero(
            state.opened
        ):  # from the root down: an arm's bound is that of the smallest cell in the tree
            upper[state.first[c] : state.last[c]] = state.bound[c]
        with np.errstate(invalid="ignore"):
            mean = np.where(
                state.arm_pulls > 0, state.arm_sums / np.maximum(state.arm_pulls, 1.0), np.nan
            )
        return intervals(mean, upper - mean) | {
            "upper": upper,
            "index": upper,
            "probability": one_hot(chosen, K),
            "cells": int(state.opened.sum()),
        }


@lean
def bounds(policy, state):
    """B of every cell: min(U, the larger B of its halves), from the leaves up; infinite where not
    in the tree."""
    log_n = math.log(state.rounds[0] + 1.0)
    cells, inner = state.pulls.shape[0], state.pulls.shape[0] // 2
    for c in range(cells - 1, -1, -1):
        state.bound[c] = math.inf
        N = state.pulls[c]
        if N > 0.0:
            U = (
                state.sums[c] / N
                + math.sqrt(2.0 * log_n / N)
                + policy.nu * policy.rho ** state.depth[c]
            )
            state.bound[c] = U
            if c < inner and state.last[c] - state.first[c] > 1:
                halves = -math.inf
                for half in range(2 * c + 1, 2 * c + 3):
                    if state.last[half] > state.first[half]:
                        halves = max(halves, state.bound[half])
                state.bound[c] = min(U, halves)
