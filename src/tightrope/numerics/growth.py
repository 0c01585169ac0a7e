"""Longer lists of arms: what was learned moves into states for more arms, the old arms first."""

from functools import singledispatch
from typing import Any, TypeVar

import numpy as np

from ..core.types import Fields
from ..core.verbs import Arms
from .counts import Counts, FadingCounts
from .merging import measure_residual
from .moments import Moments
from .ridge import ContextRidge, DisjointRidge, FadingRidge, Ridge, new_disjoint_ridge, new_fading_ridge, new_ridge, refresh
from .states import copied

C = TypeVar("C", Counts, FadingCounts)
S = TypeVar("S", bound=Fields)


def pad_with_zeros(values: np.ndarray, count: int) -> np.ndarray:
    return np.concatenate([values, np.zeros(count - values.size)])


def longer_counts(state: C, count: int) -> C:
    """Counts of more arms; the new ones were never pulled."""
    return state._replace(pulls=pad_with_zeros(state.pulls, count), sums=pad_with_zeros(state.sums, count), scores=np.zeros(count))


def longer_moments(state: Moments, count: int) -> Moments:
    """Moments of more arms; the new ones were never pulled."""
    pulls, mean, spread, taken = (pad_with_zeros(vector, count) for vector in state[:4])
    return Moments(pulls, mean, spread, taken, state.origin)


def grown(state: Any, arms: Arms, lam: float, *, sampling: bool = False) -> dict[str, object]:
    """Model and noise of a state with more arms, for `_replace`.

    Of arms that keep their features the constant column is that of all of them, as if they had been there from the start.
    """
    model = longer_ridge(state.model, arms, lam, sampling=sampling)
    noise = state.noise
    if model.column[0] != state.model.column[0]:
        noise = copied(noise)
        measure_residual(noise, model)
    return {"model": model, "noise": noise}


@singledispatch
def longer_ridge(model: Any, arms: Arms, lam: float, *, sampling: bool = False) -> Ridge:
    """A ridge regression with more arms: the same data, factorised afresh; with new features every round the same regression."""
    fresh: Any = new_ridge(arms, lam, sampling=sampling, intercept=model.intercept)
    if isinstance(fresh, ContextRidge):
        return carried(fresh, model)
    fresh.pulls[: model.pulls.size] = model.pulls
    fresh.sums[: model.sums.size] = model.sums
    fresh.centre[:] = model.centre
    refresh(fresh)
    return fresh


@longer_ridge.register
def _(model: DisjointRidge, arms: Arms, lam: float, *, sampling: bool = False) -> Ridge:
    fresh, K = new_disjoint_ridge(arms, lam, intercept=model.intercept, column=column_for(model, arms)), model.mean.size
    fresh.design[:K], fresh.response[:K], fresh.pulls[:K] = model.design, model.response, model.pulls
    fresh.centre[:] = model.centre
    change_column(fresh, float(model.column[0]), (fresh.design[:K],), fresh.response[:K])
    refresh(fresh)
    return fresh


@longer_ridge.register
def _(model: FadingRidge, arms: Arms, lam: float, *, sampling: bool = False) -> Ridge:
    fresh = new_fading_ridge(arms, lam, model.forget, intercept=model.intercept, column=column_for(model, arms))
    column = fresh.column
    grown: FadingRidge = copied(carried(fresh, model))._replace(column=column)
    change_column(grown, float(model.column[0]), (grown.design, grown.squared), grown.response)
    refresh(grown)
    return grown


def column_for(model: Ridge, arms: Arms) -> float:
    """The constant column of more arms; 0: it is `size_of` their features, which they keep."""
    return float(model.column[0]) if arms.features is None else 0.0


def change_column(model: DisjointRidge | FadingRidge, before: float, designs: tuple[np.ndarray, ...], response: np.ndarray) -> None:
    """Bring V (.., d, d) and sum r x (.., d), which had another constant column, to the model's."""
    if model.column[0] == before:
        return
    ratio, d = model.column[0] / before, response.shape[-1]
    for design in designs:
        design -= model.lam * np.eye(d)
        design[..., -1] *= ratio
        design[..., -1, :] *= ratio
        design += model.lam * np.eye(d)
    response[..., -1] *= ratio


def carried(fresh: S, state: S) -> S:
    """The evidence of a state whose arms have no place of their own, in the scratch of a fresh one for another number of arms.

    Arrays of the same shape in both do not depend on that number: they are the state's, not copies. All else is the fresh one's.
    """
    values: list[object] = []
    for new, value in zip(fresh, state, strict=True):
        if hasattr(new, "_fields"):
            values.append(carried(new, value))
        elif isinstance(new, np.ndarray):
            values.append(value if new.shape == value.shape else new)
        else:
            values.append(new)
    return type(fresh)(*values)
