"""Sets under a budget: the 0-1 knapsack, by branch and bound after arms that its relaxation decides are fixed, and by HiGHS where that
would take long.

Source: Horowitz, Sahni 1974, whose depth-first search takes arms by value per cost and is cut by the relaxation (Dantzig 1957).
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ...compiled.kernels import jit
from ...core import checks
from ...core.checks import in_one_line
from .top import eligible_scores

SCALE = 1e5  # HiGHS closes the gap to 1e-6; scores scaled to this maximum make that 1e-11 of the largest
TINY = 1e-300  # in place of a cost of 0, which would be divided by
STEPS = 200_000  # of the search, some tens of milliseconds, before HiGHS is asked
SLACK = 1e-12  # by how much rounding may carry an exact sum of costs over the budget


@dataclass(frozen=True, eq=False)
class Knapsack:
    """The set of largest total score whose costs stay within a budget; arms of negative score stay out.

    Exact to 1e-10 of the largest score. About 0.05 ms at N = 100, 0.2 ms at 1,000, 1.5 ms at 10,000; where nearly all arms have the same
    value per cost HiGHS is asked, in tenths of a second. Returns arms by index, possibly none.

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
        chosen[core] = self._solve_core(values[core], costs[core], self.budget - costs[sure].sum(), most - costs[sure].sum())
        return arms[chosen]

    def _solve_core(self, values: np.ndarray, costs: np.ndarray, budget: float, most: float) -> np.ndarray:
        """Which of the undecided arms to take."""
        if costs.sum() <= most:
            return np.ones(values.size, dtype=np.bool_)
        order = np.argsort(-values / np.maximum(costs, TINY), kind="stable")
        chosen = np.zeros(values.size, dtype=np.bool_)
        searched = search(values[order], costs[order], most, np.zeros(values.size, dtype=np.bool_), chosen, STEPS)
        if searched and costs[order][chosen].sum() <= most:
            return chosen[np.argsort(order)]
        from scipy.optimize import Bounds, LinearConstraint, milp  # here, because its import takes long and few need it

        rows = [LinearConstraint(costs[None, :] / self.budget, ub=budget / self.budget)]
        while True:
            solution = milp(-values * (SCALE / values.max()), constraints=rows, integrality=np.ones(values.size),
                         bounds=Bounds(0, 1), options={"mip_rel_gap": 0.0})  # fmt: skip
            if solution.x is None:
                raise RuntimeError(f"HiGHS could not solve the knapsack: {solution.message}")
            chosen = solution.x > 0.5
            if costs[chosen].sum() <= most:
                return chosen
            # HiGHS accepts a budget overrun by 1e-6: cut off this very set and ask again.
            rows.append(LinearConstraint(chosen[None, :].astype(np.float64), ub=float(chosen.sum()) - 1.0))


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
