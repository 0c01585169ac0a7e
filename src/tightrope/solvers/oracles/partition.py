"""At most so many arms of each category: a partition matroid, on which greedy is exact."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ...core import checks
from ...core.checks import in_one_line
from .top import eligible_scores, largest


@dataclass(frozen=True, eq=False)
class Partition:
    """Exactly k arms, at most `limit` of each category. O(N log N) a call.

    Returns (k,) arms by descending score, equal scores by index.

    Parameters
    ----------
    categories : (N,) array
        The category of each arm, any labels.
    limit : int >= 0 or dict of label to int
        One number for all categories, or one for each label, none left out.
    k : int >= 1
        Arms of a set.
    """

    categories: Any  # ArrayLike; kept as an array
    limit: int | Mapping[Any, int]
    k: int
    blocks = 1

    def __post_init__(self) -> None:
        labels = checks.entries("categories", self.categories, "an array of labels").copy()
        if labels.ndim != 1 or labels.size == 0:
            raise ValueError(f"categories has shape {labels.shape}, but must be one-dimensional (N,) with at least one entry.")
        try:
            names, codes = np.unique(labels, return_inverse=True)
        except Exception:  # objects compare by the caller's code
            raise ValueError(f"categories = {checks.show(labels)} cannot be compared; give text or whole numbers.") from None
        if isinstance(self.limit, dict):
            missing = [name for name in names.tolist() if name not in self.limit]
            if missing:
                raise ValueError(f"limit names no number for category {missing[0]!r}; give one for every category.")
            limits = [checks.integer(f"limit[{name!r}]", self.limit[name], least=0, most=checks.MOST_ROUNDS) for name in names.tolist()]
        else:
            limits = [checks.integer("limit", self.limit, least=0, most=checks.MOST_ROUNDS)] * names.size
        k = checks.integer("k", self.k, least=1, most=checks.MOST_ROUNDS)
        for name, value in (("categories", labels), ("k", k), ("_codes", codes), ("_limits", np.array(limits))):
            object.__setattr__(self, name, value)
        self._check_feasible(np.bincount(codes))

    def __repr__(self) -> str:
        return in_one_line(self)

    def _check_feasible(self, counts: np.ndarray) -> None:
        most = int(np.minimum(counts, self._limits).sum())  # type: ignore[attr-defined]
        if most < self.k:
            raise ValueError(f"k = {self.k} arms were asked for, but the limits admit only {most} eligible ones; lower k or raise limit.")

    @property
    def size(self) -> int:
        """Arms in a set."""
        return self.k

    @property
    def groups(self) -> tuple[np.ndarray, np.ndarray]:
        """Each arm's category by number, (N,), and how many arms of each category a set may hold."""
        return self._codes, self._limits  # type: ignore[attr-defined]

    def __call__(self, scores: ArrayLike, eligible: ArrayLike | None = None) -> np.ndarray:
        codes, limits = self.groups
        if np.shape(scores) != codes.shape:
            raise ValueError(f"scores has shape {np.shape(scores)}, but must be {codes.shape}, one for each entry of categories.")
        values, arms = eligible_scores(scores, eligible)
        codes = codes[arms]
        counts = np.bincount(codes, minlength=limits.size)
        self._check_feasible(counts)
        order = np.lexsort((arms, -values, codes))  # category by category, best first
        rank = np.arange(arms.size) - (np.cumsum(counts) - counts)[codes[order]]
        kept = np.sort(order[rank < limits[codes[order]]])
        return arms[kept[largest(values[kept], self.k)]]
