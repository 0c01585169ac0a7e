"""States that are sums, added up: what two of them have learned together, as if one had met both logs."""

from functools import singledispatch
from typing import Any

import numpy as np

from .batch_ridge import BatchRidge
from .counts import Counts, FadingCounts
from .ridge import ContextRidge, DisjointRidge, FadingRidge, Ridge, refresh
from .states import copied

ORDERED = (
    "forget = {:g} weighs rewards by their order, so it does not learn by sums that could be added up; feed it one log after the other, or "
    "take forget=1."
)


@singledispatch
def merged_counts(first: Any, second: Any) -> Counts:
    """Pulls, rewards and rounds of both."""
    return Counts(first.pulls + second.pulls, first.sums + second.sums, first.rounds + second.rounds, np.zeros(first.scores.size))


@merged_counts.register
def _(first: FadingCounts, second: FadingCounts) -> Counts:
    raise ValueError(ORDERED.format(first.forget))


@singledispatch
def merged_ridge(first: Any, second: Any) -> Ridge:
    """The regression on both data sets, factorised afresh: V = V1 + V2 - lam I, b = b1 + b2. O(d^3), with fixed arms O(K d^2)."""
    model = copied(first)
    if isinstance(model, ContextRidge):
        model.design[:] = first.design + (second.design - first.lam * np.eye(model.theta.size))
        model.response[:] += second.response
    else:
        model.pulls[:] += second.pulls
        model.sums[:] += second.sums
    refresh(model)
    return model


@merged_ridge.register
def _(first: DisjointRidge, second: DisjointRidge) -> Ridge:
    model: DisjointRidge = copied(first)
    model.pulls[:] += second.pulls
    model.design[:] += second.design - first.lam * np.eye(model.direction.size)
    model.response[:] += second.response
    refresh(model)
    return model


@merged_ridge.register
def _(first: FadingRidge, second: FadingRidge) -> Ridge:
    raise ValueError(ORDERED.format(first.forget))


def merged_batch_ridge(first: BatchRidge, second: BatchRidge) -> BatchRidge:
    """The regressions of all blocks on both data sets."""
    d = first.response.shape[1]
    design = first.design + (second.design - first.lam * np.eye(d))
    return BatchRidge(first.lam, design, first.response + second.response, first.seen + second.seen, first.squares + second.squares)
