"""Longer lists of arms: what was learned moves into states for more arms, the old arms first."""

from functools import singledispatch
from typing import Any, TypeVar

import numpy as np

from ..core.types import State
from ..core.verbs import Arms
from .counts import Counts, FadingCounts
from .ridge import ContextRidge, DisjointRidge, FadingRidge, Ridge, new_disjoint_ridge, new_fading_ridge, new_ridge, refresh

C = TypeVar("C", Counts, FadingCounts)


def longer(values: np.ndarray, count: int) -> np.ndarray:
    """A vector with zeros after its end."""
    return np.concatenate([values, np.zeros(count - values.size)])


def longer_counts(state: C, count: int) -> C:
    """Counts of more arms; the new ones were never pulled."""
    return state._replace(pulls=longer(state.pulls, count), sums=longer(state.sums, count), scores=np.zeros(count))


@singledispatch
def longer_ridge(model: Any, arms: Arms, lam: float, *, sampling: bool = False) -> Ridge:
    """A ridge regression with more arms: the same data, factorised afresh; with new features every round the same regression."""
    fresh: Any = new_ridge(arms, lam, sampling=sampling)
    if isinstance(fresh, ContextRidge):
        return carried(fresh, model)
    fresh.pulls[: model.pulls.size] = model.pulls
    fresh.sums[: model.sums.size] = model.sums
    refresh(fresh)
    return fresh


@longer_ridge.register
def _(model: DisjointRidge, arms: Arms, lam: float, *, sampling: bool = False) -> Ridge:
    fresh, K = new_disjoint_ridge(arms, lam), model.mean.size
    fresh.design[:K], fresh.response[:K], fresh.pulls[:K] = model.design, model.response, model.pulls
    refresh(fresh)
    return fresh


@longer_ridge.register
def _(model: FadingRidge, arms: Arms, lam: float, *, sampling: bool = False) -> Ridge:
    grown: FadingRidge = carried(new_fading_ridge(arms, lam, model.forget), model)
    return grown


def carried(fresh: State, state: State) -> State:
    """What a state has learned where its arms have no place of their own, in the scratch of a fresh one for another number of arms.

    Arrays of the same shape in both do not depend on that number: they are the state's, not copies. All else is the fresh one's.
    """
    values = []
    for new, value in zip(fresh, state, strict=True):
        if hasattr(new, "_fields"):
            values.append(carried(new, value))
        elif isinstance(new, np.ndarray):
            values.append(value if new.shape == value.shape else new)
        else:
            values.append(new)
    return type(fresh)(*values)
