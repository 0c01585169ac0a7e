"""Who gets which promotion: exactly k users (or k_j) for each of M promotions, each user at most one, of largest total score.

A transportation problem with N sources and only M sinks. Kept are the M k best users of each promotion (exact: a user outside
them can be exchanged for one inside who is free). Then one user at a time enters along the best augmenting path over the
M promotions: a free user takes a place in j1, someone of j1 moves on to j2, .., until a promotion with room. Paths are found by
Dijkstra's algorithm on costs reduced by prices, which stay optimal throughout (Ahuja, Magnanti, Orlin 1993, section 9.7).
O(M k (M^2 + path (M + k))) after O(N M) selection: 100 to 1000 times as fast as SciPy's dense assignment at N = 20,000.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ...compiled.kernels import lean
from ...core import checks
from ...core.checks import in_one_line
from .top import value_of_rank

if TYPE_CHECKING:
    import pandas as pd

TOO_SHORT = -2  # a list of best users, for what is asked of it


@dataclass(frozen=True)
class Assignment:
    """An optimal assignment and its proof.

    Attributes
    ----------
    pairs : (n, 2) array
        Of (user, promotion), by promotion, then user.
    value : float
        Total score.
    prices : (M,) array
        Optimal dual prices.
    bound : float
        sum_u max(0, max_j score_uj - price_j) + sum_j k_j price_j, which no assignment exceeds: equal to `value`.
    """

    pairs: np.ndarray
    value: float
    prices: np.ndarray
    bound: float

    def __repr__(self) -> str:
        return in_one_line(self)


@dataclass(frozen=True)
class Promotions:
    """Exactly k users for each of M promotions, each user at most one promotion.

    Called with scores (N, M) and a mask of users (N,) or pairs (N, M); returns pairs (user, promotion), one for every unit of the
    budgets, by promotion. `solve` gives the proof of optimality too, `decode` reads a session's arms.

    Parameters
    ----------
    promotions : int >= 1
        M; may be left out where k is a list.
    k : int or ints >= 1
        Users per promotion, or M of them, one budget for each promotion.
    """

    promotions: int | None = None
    k: int | Sequence[int] = 1

    def __post_init__(self) -> None:
        k, M = checks.entries("k", self.k, "a whole number or a list of them"), self.promotions
        if M is None and k.ndim != 1:
            raise ValueError("promotions is missing; give their number, or k as a list with a budget for each.")
        if M is not None:
            object.__setattr__(self, "promotions", checks.integer("promotions", M, least=1, most=checks.MOST_ROUNDS))
        if k.ndim == 0:
            object.__setattr__(self, "k", checks.integer("k", self.k, least=1, most=checks.MOST_ROUNDS))
            return
        budgets = tuple(checks.integer(f"k[{j}]", item, least=1, most=checks.MOST_ROUNDS) for j, item in enumerate(k.tolist()))
        if not budgets or (M is not None and len(budgets) != M):
            raise ValueError(f"k has {len(budgets)} budgets, but must have one for each of {'at least 1' if M is None else M} promotions.")
        object.__setattr__(self, "promotions", len(budgets))
        object.__setattr__(self, "k", budgets)

    @property
    def blocks(self) -> int:
        """M, the arms that share the features of one user."""
        return self._number

    @property
    def size(self) -> int:
        """How many pairs are in a set."""
        return int(self.budgets.sum())

    @property
    def _number(self) -> int:
        assert self.promotions is not None  # the constructor has set it
        return self.promotions

    @property
    def budgets(self) -> np.ndarray:
        """(M,) numbers of users to whom each promotion goes."""
        return np.array(self.k if isinstance(self.k, tuple) else [self.k] * self._number, dtype=np.int64)

    def __call__(self, scores: ArrayLike, eligible: ArrayLike | None = None) -> np.ndarray:
        return self._assign(*self._checked(scores, eligible))[0]

    def solve(self, scores: ArrayLike, eligible: ArrayLike | None = None) -> Assignment:
        """The best assignment with its value, its dual prices and the bound that they prove.

        Parameters
        ----------
        scores : (N, M) array
            Of every user and promotion, in units of reward.
        eligible : (N,) or (N, M) array of bool
            Pairs that may be chosen, default all.

        Returns
        -------
        Assignment

        Raises
        ------
        ValueError
            Where scores or eligible have another shape, or the budgets cannot be met.
        """
        values, mask = self._checked(scores, eligible)
        pairs, prices = self._assign(values, mask)
        admitted = values if mask is None else np.where(mask, values, -np.inf)
        bound = np.maximum(0.0, (admitted - prices).max(axis=1)).sum() + self.budgets @ prices
        return Assignment(pairs, float(values[pairs[:, 0], pairs[:, 1]].sum()), prices, float(bound))

    def decode(
        self, arms: ArrayLike, scores: ArrayLike | None = None, *, users: Sequence[object] | None = None, names: Sequence[str] | None = None
    ) -> "pd.DataFrame":
        """A table of the users and promotions that arms stand for.

        Parameters
        ----------
        arms : (n,) or (n, 2) array of int
            Numbers user * M + promotion, as a session chooses and takes them, or pairs.
        scores : (N, M) array, or (N M,) by arm
            Such as the means of `Session.explain`.
        users, names : sequence of str
            What users and promotions are called, in place of their numbers.

        Returns
        -------
        pandas.DataFrame
            Columns user, promotion and, where scores are given, score.

        Raises
        ------
        ValueError
            For arms that there are not.
        """
        import pandas as pd

        M = self._number
        numbers = checks.entries("arms", arms, "an array of arms")
        if numbers.size and (
            numbers.dtype.kind not in "iu" or numbers.ndim > 2 or (numbers.ndim == 2 and numbers.shape[1] != 2) or numbers.min() < 0
        ):
            raise ValueError(f"arms = {checks.show(numbers)} must be whole numbers from 0, (n,) arms or (n, 2) pairs.")
        flat = np.atleast_1d(numbers).astype(np.int64)
        who, which = flat.T if flat.ndim == 2 else np.divmod(flat, M)
        if which.size and which.max() >= M:
            raise ValueError(f"arms has promotion {which.max()}, but there are {M}, from 0.")
        table: dict[str, object] = {"user": who, "promotion": which}
        for column, index, texts in (("user", who, users), ("promotion", which, names)):
            if texts is not None:
                listed = list(texts)
                if index.size and index.max() >= len(listed):
                    raise ValueError(f"{column}s has {len(listed)} entries, but arms has {column} {index.max()}.")
                table[column] = [listed[i] for i in index]
        if scores is not None:
            values = checks.floats("scores", scores)
            if values.size % M or (who.size and who.max() >= values.size // M):
                raise ValueError(f"scores has shape {values.shape}, but must be (N, {M}) for all users of arms.")
            table["score"] = values.reshape(-1, M)[who, which]
        return pd.DataFrame(table)

    @property
    def _asked(self) -> str:
        return f"k = {self.k} users" if not isinstance(self.k, tuple) else f"budgets k = {checks.show(list(self.k))}"

    def _checked(self, scores: ArrayLike, eligible: ArrayLike | None) -> tuple[np.ndarray, np.ndarray | None]:
        M = self._number
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
            need = f"{self._asked} for each of {M} promotions need {self.size}"
            raise ValueError(f"{need}, but only {users} are eligible; lower k or admit more users.")
        return values, mask

    def _assign(self, values: np.ndarray, mask: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
        room = new_room(self, values.shape[0])
        room.columns[:] = values.T if mask is None else np.where(mask, values, -np.inf).T
        self._check_filled(assign(room))
        pairs = np.flatnonzero(room.holder >= 0)
        pairs = pairs[np.argsort(room.holder[pairs], kind="stable")]
        return np.stack([pairs, room.holder[pairs]], axis=1), room.prices

    def _check_filled(self, short: int) -> None:
        if short >= 0:
            raise ValueError(
                f"promotion {short} cannot get k = {self.budgets[short]} users from the eligible pairs; lower k or admit more users."
            )


class Room(NamedTuple):
    """One assignment's scores, what is found and what is worked in, so that a loop over many of them allocates nothing."""

    columns: np.ndarray  # (M, N) scores of each promotion, -inf where not eligible
    budgets: np.ndarray  # (M,) users wanted
    holder: np.ndarray  # (N,) each user's promotion; -1: none
    prices: np.ndarray  # (M,)
    order: np.ndarray  # (M, longest) best users of each promotion by descending score, padded with -1
    spare: np.ndarray  # (longest,) to sort in
    ranks: np.ndarray  # (3, N) to select in
    members: np.ndarray  # (M, largest budget) users of each promotion so far
    position: np.ndarray  # (N,) of each user among them
    mover: np.ndarray  # (M, M) user of i who would gain most by moving to j; -1: none
    gain: np.ndarray  # (M, M) what it would gain
    counts: np.ndarray  # (3, M) members so far, place in order of the best free user, parent on the path
    distance: np.ndarray  # (M,) the best gain of a place
    done: np.ndarray  # (M,) whether it is final


def new_room(oracle: Promotions, users: int) -> Room:
    budgets = oracle.budgets
    M, longest = budgets.size, min(users, oracle.size + 1)  # one more than needed, so that the last prices see a free user
    return Room(
        np.empty((M, users)), budgets, np.empty(users, dtype=np.int64), np.empty(M), np.empty((M, longest), dtype=np.int64),
        np.empty(longest, dtype=np.int64), np.empty((3, users)), np.empty((M, int(budgets.max())), dtype=np.int64),
        np.empty(users, dtype=np.int64), np.empty((M, M), dtype=np.int64), np.empty((M, M)), np.empty((3, M), dtype=np.int64), np.empty(M),
        np.empty(M, dtype=np.bool_),
    )  # fmt: skip


def count_pairs(oracle: Promotions, scores: np.ndarray, eligible: np.ndarray | None, hits: np.ndarray) -> None:
    """hits[i] += how many rows of scores (draws, N M) have arm i = user * M + promotion in the oracle's answer.

    The rows are finite and as many users eligible as are wanted, as a first call of the oracle has checked.
    """
    M = oracle.budgets.size
    open_ = np.ones(scores.shape[1], dtype=np.bool_) if eligible is None else eligible
    oracle._check_filled(count_assignments(scores, open_, new_room(oracle, scores.shape[1] // M), hits))


@lean
def count_assignments(scores, eligible, room, hits):
    """`count_pairs`; returns -1, or a promotion that cannot be filled."""
    M, N = room.columns.shape
    for draw in range(scores.shape[0]):
        for j in range(M):
            for user in range(N):
                arm = user * M + j
                room.columns[j, user] = scores[draw, arm] if eligible[arm] else -math.inf
        short = assign(room)
        if short >= 0:
            return short
        for user in range(N):
            if room.holder[user] >= 0:
                hits[user * M + room.holder[user]] += 1.0
    return -1


@lean
def assign(room):
    """The assignment of the scores in room.columns; returns -1, or a promotion that cannot be filled.

    First among twice as many users as a promotion takes, which is mostly enough and a fraction to sort; as many as may be needed where
    one of these lists comes to its end.
    """
    longest = room.order.shape[1]
    length = min(2 * room.members.shape[1] + 1, longest)
    while True:
        for j in range(room.columns.shape[0]):
            list_best(room.columns[j], room.ranks, room.spare, room.order[j, :length])
        short = augment(room, length)
        if short != TOO_SHORT:
            return short
        length = longest


@lean
def list_best(values, ranks, spare, order):
    """Fill order with the places of the largest values, descending, equal values by place, then with -1. Values of -inf are left out."""
    count, longest, filled, threshold = 0, order.shape[0], 0, -math.inf
    for i in range(values.shape[0]):
        ranks[0, count] = values[i]
        count += values[i] > -math.inf
    if count > longest:
        threshold = value_of_rank(ranks[0], ranks[1], ranks[2], count, longest)
    for i in range(values.shape[0]):
        if values[i] > threshold:
            order[filled] = i
            filled += 1
    if count > longest:
        for i in range(values.shape[0]):
            if filled < longest and values[i] == threshold:
                order[filled] = i
                filled += 1
    sort_descending(values, order, filled, spare)
    for place in range(filled, longest):
        order[place] = -1


@lean
def sort_descending(values, order, count, spare):
    """Sort order[:count] by descending value, stably: runs of 1, 2, 4, .. places are merged. spare: as long, to work in."""
    run = 1
    while run < count:
        for first in range(0, count, 2 * run):
            middle, end = min(first + run, count), min(first + 2 * run, count)
            i, j = first, middle
            for place in range(first, end):
                if j >= end or (i < middle and values[order[i]] >= values[order[j]]):
                    spare[place] = order[i]
                    i += 1
                else:
                    spare[place] = order[j]
                    j += 1
        for place in range(count):
            order[place] = spare[place]
        run *= 2


@lean
def augment(room, length):
    """Fill room.holder and room.prices from room.columns and room.order[:, :length]; returns -1, a promotion that cannot be filled, or
    TOO_SHORT where a list that is longer than `length` came to its end."""
    scores, order, k, holder, prices = room.columns, room.order, room.budgets, room.holder, room.prices
    members, position, mover, gain, distance, done = room.members, room.position, room.mover, room.gain, room.distance, room.done
    filled, free, parent = room.counts[0], room.counts[1], room.counts[2]
    M, total = scores.shape[0], 0
    for user in range(holder.shape[0]):
        holder[user] = -1
    for i in range(M):
        total += k[i]
        filled[i], free[i], prices[i] = 0, 0, 0.0
        for j in range(M):
            mover[i, j], gain[i, j] = -1, -math.inf
    for unit in range(total + 1):
        # Best gain of a place in each promotion, by Dijkstra: entering j directly, or pushing someone from i to j.
        for j in range(M):
            while free[j] < length and order[j, free[j]] >= 0 and holder[order[j, free[j]]] >= 0:
                free[j] += 1
            if free[j] == length < order.shape[1]:
                return TOO_SHORT
            open_ = free[j] < length and order[j, free[j]] >= 0
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
        if unit == total:
            break
        target = -1
        for j in range(M):
            if filled[j] < k[j] and done[j] and (target < 0 or prices[j] > prices[target]):
                target = j
        if target < 0:
            for j in range(M):
                if filled[j] < k[j]:
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
