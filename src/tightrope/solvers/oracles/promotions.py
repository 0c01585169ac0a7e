"""Who gets which promotion: exactly k users for each of M promotions, each user at most one, of largest total score.

A transportation problem with N sources and only M sinks. Kept are the M k best users of each promotion (exact: a user outside
them can be exchanged for one inside who is free). Then one user at a time enters along the best augmenting path over the
M promotions: a free user takes a place in j1, someone of j1 moves on to j2, .., until a promotion with room. Paths are found by
Dijkstra's algorithm on costs reduced by prices, which stay optimal throughout (Ahuja, Magnanti, Orlin 1993, section 9.7).
O(M k (M^2 + path (M + k))) after O(N M) selection: 100 to 1000 times as fast as SciPy's dense assignment at N = 20,000.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ... import checks
from ..._jit import jit


@dataclass(frozen=True)
class Assignment:
    """An optimal assignment and its proof.

    pairs: (M k, 2) of (user, promotion), by promotion, then user. value: total score. prices: (M,) optimal dual prices.
    bound: sum_u max(0, max_j score_uj - price_j) + k sum_j price_j, which no assignment exceeds: equal to `value`.
    """

    pairs: np.ndarray
    value: float
    prices: np.ndarray
    bound: float


@dataclass(frozen=True)
class Promotions:
    """Exactly k users for each of M promotions, each user at most one promotion.

    promotions: M >= 1. k: users per promotion, >= 1. Called with scores (N, M) and a mask of users (N,) or pairs (N, M);
    returns (M k, 2) pairs (user, promotion). `solve` gives the proof of optimality too.
    """

    promotions: int
    k: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "promotions", checks.integer("promotions", self.promotions, least=1, most=checks.MOST_ROUNDS))
        object.__setattr__(self, "k", checks.integer("k", self.k, least=1, most=checks.MOST_ROUNDS))

    @property
    def blocks(self) -> int:
        """Arms that share the features of one user."""
        return self.promotions

    @property
    def size(self) -> int:
        """Pairs in a set."""
        return self.promotions * self.k

    def __call__(self, scores: ArrayLike, eligible: ArrayLike | None = None) -> np.ndarray:
        return self._assign(*self._checked(scores, eligible))[0]

    def solve(self, scores: ArrayLike, eligible: ArrayLike | None = None) -> Assignment:
        """The assignment with its value, dual prices and the bound they prove."""
        values, mask = self._checked(scores, eligible)
        pairs, prices = self._assign(values, mask)
        admitted = values if mask is None else np.where(mask, values, -np.inf)
        bound = np.maximum(0.0, (admitted - prices).max(axis=1)).sum() + self.k * prices.sum()
        return Assignment(pairs, float(values[pairs[:, 0], pairs[:, 1]].sum()), prices, float(bound))

    def _checked(self, scores: ArrayLike, eligible: ArrayLike | None) -> tuple[np.ndarray, np.ndarray | None]:
        M = self.promotions
        values = checks.floats("scores", scores)
        if values.ndim == 1 and M == 1:
            values = values[:, None]
        if values.ndim != 2 or values.shape[1] != M:
            raise ValueError(f"scores has shape {values.shape}, but must be (N, {M}), one column per promotion.")
        if not np.isfinite(values).all():
            user, promotion = np.argwhere(~np.isfinite(values))[0]
            raise ValueError(f"scores[{user}, {promotion}] = {values[user, promotion]:g} is not a finite number.")
        mask = None
        if eligible is not None:
            mask = checks.entries("eligible", eligible, "a bool array")
            if mask.dtype != np.bool_ or mask.shape not in (values.shape, values.shape[:1]):
                wanted = f"{values.shape[:1]} or {values.shape}"
                raise ValueError(f"eligible has type {mask.dtype} and shape {mask.shape}, but must be bool of shape {wanted}.")
            mask = np.broadcast_to(mask.reshape(values.shape[0], -1), values.shape)
        users = values.shape[0] if mask is None else int(mask.any(axis=1).sum())
        if users < self.size:
            need = f"k = {self.k} users for each of {M} promotions need {self.size}"
            raise ValueError(f"{need}, but only {users} are eligible; lower k or admit more users.")
        return values, mask

    def _assign(self, values: np.ndarray, mask: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
        N, M = values.shape
        longest = min(N, self.size + 1)  # one more than needed, so that the last prices see a free user
        columns = np.ascontiguousarray(values.T)
        kept = np.zeros(N, dtype=np.bool_)
        best = []
        for j in range(M):
            users = np.arange(N) if mask is None else np.flatnonzero(mask[:, j])
            if users.size > longest:
                users = users[np.argpartition(columns[j, users], users.size - longest)[users.size - longest :]]
            kept[users] = True
            best.append(users)
        users = np.flatnonzero(kept)  # ascending, so that ties go to the lowest user
        place = np.cumsum(kept) - 1
        compact = np.full((M, users.size), -np.inf)
        order = np.full((M, longest), -1, dtype=np.int64)
        for j in range(M):
            column = columns[j, users]
            compact[j] = column if mask is None else np.where(mask[users, j], column, -np.inf)
            chosen = np.sort(place[best[j]])
            order[j, : chosen.size] = chosen[np.argsort(-column[chosen], kind="stable")]
        holder, prices = np.full(users.size, -1, dtype=np.int64), np.zeros(M)
        full = augment(compact, order, self.k, holder, prices)
        if full >= 0:
            raise ValueError(f"promotion {full} cannot get k = {self.k} users from the eligible pairs; lower k or admit more users.")
        held = np.flatnonzero(holder >= 0)
        held = held[np.argsort(holder[held], kind="stable")]
        return np.stack([users[held], holder[held]], axis=1), prices


@jit
def augment(scores, order, k, holder, prices):
    """Fill holder (n,) with each user's promotion (-1: none) and prices (M,); returns -1, or a promotion that cannot be filled.

    scores: (M, n), -inf where not eligible. order: (M, longest) users by descending score, padded with -1.
    """
    M, n = scores.shape
    members = np.zeros((M, k), dtype=np.int64)
    filled = np.zeros(M, dtype=np.int64)
    position = np.zeros(n, dtype=np.int64)
    mover = np.full((M, M), -1, dtype=np.int64)  # user of i who would gain most by moving to j
    gain = np.full((M, M), -math.inf)
    free = np.zeros(M, dtype=np.int64)  # place in order of the best free user
    distance, parent, done = np.zeros(M), np.zeros(M, dtype=np.int64), np.zeros(M, dtype=np.bool_)
    for unit in range(M * k + 1):
        # Best gain of a place in each promotion, by Dijkstra: entering j directly, or pushing someone from i to j.
        for j in range(M):
            while free[j] < order.shape[1] and order[j, free[j]] >= 0 and holder[order[j, free[j]]] >= 0:
                free[j] += 1
            open_ = free[j] < order.shape[1] and order[j, free[j]] >= 0
            distance[j] = scores[j, order[j, free[j]]] - prices[j] if open_ else -math.inf
            parent[j], done[j] = -1, False
        lowest = 0.0
        for _ in range(M):
            i, top = -1, -math.inf
            for j in range(M):
                if not done[j] and distance[j] > top:
                    i, top = j, distance[j]
            if i < 0:
                break
            done[i] = True
            lowest = top
            for j in range(M):
                if not done[j] and gain[i, j] > -math.inf:
                    step = min(gain[i, j] + prices[i] - prices[j], 0.0)  # never above 0 but for rounding
                    if top + step > distance[j]:
                        distance[j], parent[j] = top + step, i
        for j in range(M):  # a promotion nobody free can reach falls with the lowest: its members may still move out
            prices[j] += distance[j] if done[j] else lowest
        if unit == M * k:
            break
        target = -1
        for j in range(M):
            if filled[j] < k and done[j] and (target < 0 or prices[j] > prices[target]):
                target = j
        if target < 0:
            for j in range(M):
                if filled[j] < k:
                    return j
        # Move along the path, from its end.
        j = target
        while j >= 0:
            i = parent[j]
            user = mover[i, j] if i >= 0 else order[j, free[j]]
            if i >= 0:
                spot, last = position[user], members[i, filled[i] - 1]
                members[i, spot], position[last] = last, spot
                filled[i] -= 1
                for m in range(M):
                    if mover[i, m] == user:
                        mover[i, m], gain[i, m] = -1, -math.inf
                        for s in range(filled[i]):
                            other = members[i, s]
                            change = scores[m, other] - scores[i, other]
                            if m != i and change > gain[i, m]:
                                mover[i, m], gain[i, m] = other, change
            holder[user] = j
            members[j, filled[j]], position[user] = user, filled[j]
            filled[j] += 1
            for m in range(M):
                change = scores[m, user] - scores[j, user]
                if m != j and change > gain[j, m]:
                    mover[j, m], gain[j, m] = user, change
            j = i
    return -1
