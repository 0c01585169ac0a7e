"""Sets under a budget: the 0-1 knapsack, by branch and bound after arms that its relaxation decides are fixed, and where that would take
long by two lists of changes to the relaxation's set.

Source: Horowitz, Sahni 1974, whose depth-first search takes arms by value per cost and is cut by the relaxation (Dantzig 1957), and whose
lists of halves are Pareto optimal in cost and value.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ...compiled.kernels import jit
from ...core import checks
from ...core.checks import in_one_line
from .top import eligible_scores

TINY = 1e-300  # in place of a cost of 0, which would be divided by
STEPS = 1_000  # of the search, tens of microseconds, before lists of changes are made; 200 times as many after them
LONGEST, BITS = 16_384, 52  # rows of a list to which a change is still added; changes that a float can number
SLACK = 1e-12  # by how much rounding may carry an exact sum of costs over the budget; the search goes half as far, and so stays below


@dataclass(frozen=True, eq=False)
class Knapsack:
    """The set of largest total score whose costs stay within a budget; arms of negative score stay out.

    Exact to 1e-10 of the largest score up to 30 arms, and beyond where scores do not follow costs. About 0.05 ms at N = 100, 0.2 ms at
    1,000, 20 ms at 10,000. Where nearly all of more than 30 arms have the same value per cost, or score = cost + constant, the answer is
    the best of some million sets that differ little from the relaxation's: it lacks at most one arm's score, by proof, and less than 1e-5
    of the set's in tests of equal values per cost. Returns arms by index, possibly none. A call takes at most tens of milliseconds.

    Parameters
    ----------
    costs : (N,) array >= 0
        Of the arms.
    budget : float >= 0
        What a set may cost, in units of the costs.
    """

    costs: Any  # ArrayLike; kept as an array
    budget: float
    blocks = 1

    def __post_init__(self) -> None:
        object.__setattr__(self, "costs", checks.vector("costs", self.costs, least=0))
        object.__setattr__(self, "budget", checks.real("budget", self.budget, least=0))

    def __repr__(self) -> str:
        return in_one_line(self)

    @property
    def size(self) -> int:
        """The most arms a set can hold: the cheapest that fit."""
        return max(1, int((np.cumsum(np.sort(self.costs)) <= self.budget * (1 + SLACK)).sum()))

    def __call__(self, scores: ArrayLike, eligible: ArrayLike | None = None) -> np.ndarray:
        if np.shape(scores) != self.costs.shape:
            raise ValueError(f"scores has shape {np.shape(scores)}, but must be {self.costs.shape}, one for each entry of costs.")
        values, arms = eligible_scores(scores, eligible)
        if not np.isfinite(values).all():
            worst = int(np.argmax(~np.isfinite(values)))
            raise ValueError(f"scores[{arms[worst]}] = {values[worst]:g} is not a finite number.")
        most = self.budget * (1 + SLACK)
        useful = (values > 0) & (self.costs[arms] <= most)
        values, arms = values[useful], arms[useful]
        costs = self.costs[arms]
        if costs.sum() <= most:
            return arms
        sure, core = reduce_knapsack(values, costs, self.budget)
        chosen = sure.copy()
        chosen[core] = self._solve_core(values[core], costs[core], self.budget * (1 + SLACK / 2) - costs[sure].sum())
        return arms[chosen]

    def _search(self, values: np.ndarray, costs: np.ndarray, budget: float, steps: int) -> tuple[np.ndarray, bool]:
        taken, best = np.zeros((2, values.size), dtype=np.bool_)
        return best, bool(search(values, costs, budget, taken, best, steps))

    def _solve_core(self, values: np.ndarray, costs: np.ndarray, budget: float) -> np.ndarray:
        if costs.sum() <= budget:
            return np.ones(values.size, dtype=np.bool_)
        order = np.argsort(-values / np.maximum(costs, TINY), kind="stable")
        values, costs = values[order], costs[order]
        best, exact = self._search(values, costs, budget, STEPS)
        value = -1.0
        while not exact and values[best].sum() > value:  # a better set leaves fewer changes to try
            value = values[best].sum()
            best, exact = meet_in_the_middle(values, costs, budget, best)
        if not exact:
            longer, exact = self._search(values, costs, budget, 200 * STEPS)
            best = longer if exact or values[longer].sum() > value else best
        chosen = np.empty_like(best)
        chosen[order] = best
        return chosen


def reduce_knapsack(values: np.ndarray, costs: np.ndarray, budget: float) -> tuple[np.ndarray, np.ndarray]:
    """Masks of arms surely in an optimal set, and of those still open (Dembo and Hammer 1980).

    The relaxation fills the budget by value per cost at a price; an arm against its price by more than the gap between the
    relaxation and a greedy set cannot change sides.
    """
    order = np.argsort(-values / np.maximum(costs, TINY), kind="stable")
    spent = np.cumsum(costs[order])
    split = int(np.searchsorted(spent, budget, side="right"))  # the first arm that does not fit whole
    price = values[order[split]] / costs[order[split]]
    base = spent[split - 1] if split else 0.0
    value = values[order[:split]].sum()
    relaxed, left = value + (budget - base) * price, budget - base
    for arm in order[split:]:
        if costs[arm] <= left:
            left -= costs[arm]
            value += values[arm]
    gap = (relaxed - value) + 1e-9 * relaxed
    excess = values - price * costs
    return excess > gap, np.abs(excess) <= gap


@jit
def search(values, costs, most, taken, best, steps):
    """best <- the set of largest value whose costs are at most `most`; False where that takes more steps. Arms by falling value per cost.

    taken, best: (n,) bools, all False.
    """
    n, left, value, top, place = values.shape[0], most, 0.0, -1.0, 0
    for _ in range(steps):
        room, bound, k = left, value, place
        while k < n and costs[k] <= room:
            room -= costs[k]
            bound += values[k]
            k += 1
        if k < n:
            bound += room * values[k] / costs[k]
        if bound > top:
            for i in range(place, k):  # all that fit, and not the next one
                taken[i] = True
                left -= costs[i]
                value += values[i]
            place = k + 1
            if place < n:
                continue
            if value > top:
                top = value
                best[:] = taken
        last = min(place, n) - 1  # back to the last arm that was taken, and on without it
        while last >= 0 and not taken[last]:
            last -= 1
        if last < 0:
            return True
        taken[last] = False
        left += costs[last]
        value -= values[last]
        place = last + 1
    return False


def meet_in_the_middle(values: np.ndarray, costs: np.ndarray, budget: float, best: np.ndarray) -> tuple[np.ndarray, bool]:
    """The best set that differs from the relaxation's in the arms which lose least by a change, and whether no other can be better.

    They are as many as two lists of their changes have room for (Horowitz and Sahni 1974). best: a set to do better than; it is returned
    if that fails. Arms by falling value per cost.
    """
    base = np.cumsum(costs) <= budget
    split = int(base.sum())
    left, price = budget - costs[base].sum(), values[split] / costs[split]
    least = values[best].sum() - values[base].sum()
    gap = price * left - least  # what a change may lose against the price
    signs = np.where(base, -1.0, 1.0)
    loss = signs * (price * costs - values)
    changes = np.argsort(loss, kind="stable")[: 2 * BITS]
    lists, listed = [np.zeros((1, 3)), np.zeros((1, 3))], 0
    for place, arm in enumerate(changes[loss[changes] <= gap]):
        old = lists[place % 2]
        if len(old) > LONGEST:
            break
        listed += 1
        merged = np.empty((2 * len(old), 3))
        change = signs[arm] * costs[arm], signs[arm] * values[arm], 2.0 ** (place // 2)
        lists[place % 2] = merged[: merge_change(old, *change, price, gap * (1.0 + SLACK), merged)]
    exact = listed == int((loss <= gap).sum())
    first, second = best_pair(lists[0], lists[1], left, least)
    if first < 0:
        return best, exact
    bits = [int(rows[row, 2]) for rows, row in zip(lists, (first, second), strict=True)]
    for place, arm in enumerate(changes):
        base[arm] ^= bool(bits[place % 2] >> place // 2 & 1)
    return base, exact


@jit
def merge_change(rows, cost, value, bit, price, gap, out):
    """out <- the rows without and with one more change, how many. Rows (cost, value, bits of changes) by rising cost and value; those that
    lose more than `gap` against the price are left out."""
    n, i, j, size, top = rows.shape[0], 0, 0, 0, -math.inf
    while j < n:  # the rows with the change, if it saves costs, else those without it, are over first
        if i < n and rows[i, 0] <= rows[j, 0] + cost:
            a, b, c = rows[i, 0], rows[i, 1], rows[i, 2]
            i += 1
        else:
            a, b, c = rows[j, 0] + cost, rows[j, 1] + value, rows[j, 2] + bit
            j += 1
        if b > top and price * a - b <= gap:
            out[size, 0], out[size, 1], out[size, 2], top = a, b, c, b
            size += 1
    while i < n:
        if rows[i, 1] > top and price * rows[i, 0] - rows[i, 1] <= gap:
            out[size, 0], out[size, 1], out[size, 2], top = rows[i, 0], rows[i, 1], rows[i, 2], rows[i, 1]
            size += 1
        i += 1
    return size


@jit
def best_pair(first, second, left, least):
    """A row of each whose costs are at most `left` together and whose values are the largest and above `least`; -1, -1 without one."""
    a, b, i, j = -1, -1, 0, second.shape[0] - 1
    while i < first.shape[0] and j >= 0:
        if first[i, 0] + second[j, 0] > left:
            j -= 1
            continue
        if first[i, 1] + second[j, 1] > least:
            a, b, least = i, j, first[i, 1] + second[j, 1]
        i += 1
    return a, b
