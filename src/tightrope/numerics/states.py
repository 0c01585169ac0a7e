"""States of policies as data: copies, growth, merging, moments."""

import math
from functools import singledispatch
from typing import Any, NamedTuple, TypeVar

import numpy as np

from ..compiled.kernels import lean
from ..core.fields import Count, Finite, NonNegative
from ..core.types import Fields
from ..core.verbs import Arms
from .batch_ridge import BatchRidge
from .counts import Counts, FadingCounts
from .noise import DIGITS, Noise, change_unit, new_noise
from .ridge import (
    ArmRidge,
    ContextRidge,
    DisjointRidge,
    FadingRidge,
    FeatureRidge,
    Ridge,
    new_disjoint_ridge,
    new_fading_ridge,
    new_ridge,
    refresh,
)

S = TypeVar("S", bound=Fields)


def copied(state: S) -> S:
    """A state, or a model in one, whose arrays kernels may write into without changing the one that
    was given."""
    values = [
        copied(value)
        if hasattr(value, "_fields")
        else value.copy()
        if isinstance(value, np.ndarray)
        else value
        for value in state
    ]
    return type(state)(*values)


def same_form(one: Fields, other: Fields) -> bool:
    return type(one) is type(other) and (
        not hasattr(one, "_fields") or all(same_form(a, b) for a, b in zip(one, other, strict=True))
    )


# Number, mean and spread of every arm's rewards, for policies that learn each arm's noise.


class Moments(NamedTuple):
    pulls: Count  # (K,) rewards, by their weights
    mean: Finite  # (K,) less the origin
    spread: (
        NonNegative  # (K,) root of the sum of squared deviations from the mean, by their weights
    )
    taken: Count  # (K,) rewards, however old
    origin: Finite  # (1,) the first reward of all


def new_moments(count: int) -> Moments:
    return Moments(np.zeros(count), np.zeros(count), np.zeros(count), np.zeros(count), np.zeros(1))


@lean
def hypotenuse(a, b):
    """sqrt(a^2 + b^2) for a, b >= 0, without squares of large or small numbers, and the same in
    compiled code and outside."""
    longer, shorter = (a, b) if a > b else (b, a)
    if shorter == 0.0:
        return longer
    share = shorter / longer
    return longer * math.sqrt(1.0 + share * share)


@lean
def note_reward(moments, arm, reward, forget):
    """Count a reward of an arm; what all arms had so far counts `forget` times as much. O(1), or
    O(K) where it forgets."""
    pulls, spread, K = moments.pulls, moments.spread, moments.pulls.shape[0]
    first = True
    for k in range(K):
        if moments.taken[k] > 0.0:
            first = False
            break
    if first:
        moments.origin[0] = reward
    if forget < 1.0:
        root = math.sqrt(forget)
        for k in range(K):
            pulls[k] *= forget
            spread[k] *= root
    before = pulls[arm]
    pulls[arm] = before + 1.0
    moments.taken[arm] += 1.0
    away = reward - moments.origin[0] - moments.mean[arm]
    if before == 0.0:
        moments.mean[arm] += away
    else:
        moments.mean[arm] += away / pulls[arm]
        spread[arm] = hypotenuse(spread[arm], abs(away) * math.sqrt(before / pulls[arm]))


@lean
def common_deviation(moments):
    """The standard deviation of a reward of an arm at random; 1 while all are equal, since every
    scale gives the same decisions. O(K).

    Arms count the same, however often they are played, so that it does not fade while one of them
    is.
    """
    arms, centre, root = 0.0, 0.0, 0.0
    for k in range(moments.pulls.shape[0]):
        if moments.pulls[k] > 0.0:
            arms += 1.0
            centre += (moments.mean[k] - centre) / arms
    for k in range(moments.pulls.shape[0]):
        if moments.pulls[k] > 0.0:
            root = hypotenuse(root, moments.spread[k] / math.sqrt(moments.pulls[k]))
            root = hypotenuse(root, abs(moments.mean[k] - centre))
    return root / math.sqrt(arms) if root > 0.0 else 1.0


# States that are sums, added up: what two of them have learned together, as if one had met both
# logs.


FORGETS = (
    "forget = {:g} weighs rewards by their order, so it does not learn by sums that could be "
    "added up; feed it one log after the other, or take forget=1."
)


@singledispatch
def merged_counts(first: Counts | FadingCounts, second: Counts | FadingCounts) -> Counts:
    return Counts(
        first.pulls + second.pulls,
        first.sums + second.sums,
        first.rounds + second.rounds,
        np.zeros(first.scores.size),
    )


@merged_counts.register
def _(first: FadingCounts, second: FadingCounts) -> Counts:
    raise ValueError(FORGETS.format(first.forget))


def merged_arm_moments(first: Moments, second: Moments, forget: float) -> Moments:
    """Numbers, means and spreads of the rewards of both, arm by arm, less the first one's
    origin."""
    if forget < 1.0:
        raise ValueError(FORGETS.format(forget))
    taken = first.taken + second.taken
    if not second.taken.any():
        return copied(first)
    if not first.taken.any():
        return copied(second)
    shift = float(second.origin[0] - first.origin[0])
    pulls, share = first.pulls + second.pulls, np.zeros(taken.size)
    known = pulls > 0.0
    share[known] = second.pulls[known] / pulls[known]
    away = np.where(
        (first.pulls != 0.0) & (second.pulls != 0.0), second.mean + shift - first.mean, 0.0
    )
    mean = np.where(first.pulls != 0.0, first.mean + away * share, second.mean + shift)
    between = away * np.sqrt(np.abs(first.pulls * share))
    unit = np.maximum(np.maximum(first.spread, np.abs(second.spread)), np.abs(between))
    unit[unit == 0.0] = 1.0
    sign = np.where(second.pulls < 0.0, -1.0, 1.0)  # of what is taken out
    squares = (first.spread / unit) ** 2 + sign * (
        (second.spread / unit) ** 2 + (between / unit) ** 2
    )
    spread = unit * np.sqrt(
        np.maximum(squares, 0.0)
    )  # what is taken out may leave a rounding error
    return Moments(
        pulls, np.where(known, mean, 0.0), np.where(known, spread, 0.0), taken, first.origin.copy()
    )


@singledispatch
def merged_ridge(first: Any, second: Any, shift: float = 0.0, centre: float = 0.0) -> Ridge:
    """The regression on both data sets, factorised afresh: V = V1 + V2 - lam I, b = b1 + b2.
    O(d^3), with fixed arms O(K d^2).

    For regressions with an intercept, shift: by how much the second's rewards were kept less than
    the first's; centre: the mean of both.
    """
    model = copied(first)
    model.centre[0] = centre
    if isinstance(model, ContextRidge | DisjointRidge):
        design, response = added(model, second, shift)
        model.design[:] += design
        model.response[:] += response
    else:
        model.sums[:] += second.sums + shift * second.pulls
    if not isinstance(model, ContextRidge):
        model.pulls[:] += second.pulls
    if isinstance(model, DisjointRidge):
        model.log_det[0] = -math.inf  # the largest so far: what is taken out makes it less
    refresh(model)
    return model


def added(
    model: ContextRidge | DisjointRidge, second: ContextRidge | DisjointRidge, shift: float
) -> tuple[np.ndarray, np.ndarray]:
    """sum x x' and sum (r + shift) x of the second, whose sum of x is the constant column's row, in
    the first's constant column.

    Where the first has seen no reward it takes over the second's column.
    """
    design = second.design - second.lam * np.eye(second.design.shape[-1])
    response = second.response
    if model.intercept and second.column[0] > 0.0:
        response = response + shift / second.column[0] * design[..., -1]
        if model.column[0] == 0.0:
            model.column[0] = second.column[0]
        ratio = model.column[0] / second.column[0]
        design, response = design.copy(), response.copy()
        design[..., -1] *= ratio
        design[..., -1, :] *= ratio
        response[..., -1] *= ratio
    return design, response


@merged_ridge.register
def _(first: FadingRidge, second: FadingRidge, shift: float = 0.0, centre: float = 0.0) -> Ridge:
    raise ValueError(FORGETS.format(first.forget))


def merged(first: Any, second: Any) -> tuple[Any, Noise]:
    """The regression and the noise of two states on both logs: the sums of both, less the first
    one's origin."""
    noise, shift = merged_moments(first.noise, second.noise, first.model.intercept)
    model = merged_ridge(first.model, second.model, shift, float(noise.sums[0].centre))
    measure_residual(noise, model)
    return model, noise


def measure_residual(noise: Noise, model: Ridge) -> None:
    sums = noise.sums[0]
    if sums.unit > 0.0:
        squares = sums.spread + sums.number * (sums.centre / sums.unit) ** 2
        sums.residual = max(squares - explained(model, float(sums.unit)), DIGITS * sums.spread)


def merged_moments(first: Noise, second: Noise, centred: bool) -> tuple[Noise, float]:
    """Number, origin, mean and spread of the rewards of both, and by how much those of the second
    were kept less."""
    one, other, noise = first.sums[0], second.sums[0], new_noise(first.forget)
    if one.number == 0.0 or other.number == 0.0:
        noise.sums[0] = one if other.number == 0.0 else other
        return noise, 0.0
    sums, shift = noise.sums[0], float(other.origin - one.origin)
    away = float(other.centre + shift - one.centre) if centred else 0.0
    sums.number, sums.origin = one.number + other.number, one.origin
    sums.centre = one.centre + away * other.number / sums.number
    sums.unit = max(one.unit, other.unit)
    if sums.unit == 0.0 and away != 0.0:
        change_unit(noise, away)
    if sums.unit > 0.0:
        between = (away / sums.unit) ** 2 * one.number * other.number / sums.number
        spread = (
            one.spread * (one.unit / sums.unit) ** 2
            + other.spread * (other.unit / sums.unit) ** 2
            + between
        )
        sums.spread = max(spread, 0.0)  # what is taken out may leave a rounding error
    return noise, shift


@singledispatch
def explained(model: Any, unit: float) -> float:
    """theta_hat' sum r x with theta drawn to 0, the part of sum r^2 that it explains, in this unit.
    O(d), for a model each O(K d)."""
    return float(((model.theta / unit) * (model.response / unit)).sum())


@explained.register(ArmRidge)
@explained.register(FeatureRidge)
def _(model: ArmRidge | FeatureRidge, unit: float) -> float:
    return float((model.base / unit) @ (model.sums / unit))


def merged_batch_ridge(first: BatchRidge, second: BatchRidge) -> BatchRidge:
    noise, shift = merged_moments(first.noise, second.noise, first.intercept)
    design = first.design + (second.design - first.lam * np.eye(first.response.shape[1]))
    return BatchRidge(
        first.lam,
        design,
        first.response + second.response + shift * second.total,
        first.seen + second.seen,
        first.total + second.total,
        first.pulls + second.pulls,
        first.sums + second.sums + shift * second.pulls,
        noise,
        first.column.copy(),
        first.intercept,
    )


# Taking out ---------------------------------------------------------------------------------------


# by class, the fields that are sums; V, lam I and a sum, is turned besides
NEGATED: dict[type, tuple[str, ...]] = {
    Counts: ("pulls", "sums", "rounds"),
    Moments: ("pulls", "taken"),
    ArmRidge: ("pulls", "sums"),
    FeatureRidge: ("pulls", "sums"),
    ContextRidge: ("response",),
    DisjointRidge: ("response", "pulls"),
    BatchRidge: ("response", "seen", "total", "pulls", "sums"),
}


@singledispatch
def negative(state: Any) -> Any:
    """The state that takes out, where it is merged, what this one has learned: its sums with the
    other sign. Not to play with."""
    if not hasattr(state, "_fields") or not type(state).__module__.startswith(
        f"{__name__.partition('.')[0]}."
    ):
        raise ValueError(
            f"{type(state).__qualname__} is a state of your own, out of which rewards that both "
            "sessions have cannot be taken; start workers as new sessions and merge those."
        )
    sums = NEGATED.get(type(state), ("rounds",) if "rounds" in state._fields else ())
    changes = {name: -getattr(state, name) for name in sums}
    for name, value in zip(state._fields, state, strict=True):
        if hasattr(value, "_fields"):
            changes[name] = negative(value)
        elif name == "design" and type(state) in NEGATED:
            changes[name] = 2.0 * state.lam * np.eye(value.shape[-1]) - value
    return state._replace(**changes)


@negative.register
def _(state: Noise) -> Noise:
    other = copied(state)
    sums = other.sums[0]
    sums.number, sums.spread, sums.residual = -sums.number, -sums.spread, -sums.residual
    return other


# Longer lists of arms: what was learned moves into states for more arms, the old arms first.


C = TypeVar("C", Counts, FadingCounts)


def pad_with_zeros(values: np.ndarray, count: int) -> np.ndarray:
    return np.concatenate([values, np.zeros(count - values.size)])


def longer_counts(state: C, count: int) -> C:
    return state._replace(
        pulls=pad_with_zeros(state.pulls, count),
        sums=pad_with_zeros(state.sums, count),
        scores=np.zeros(count),
    )


def longer_moments(state: Moments, count: int) -> Moments:
    longer = (pad_with_zeros(vector, count) for vector in state[:4])
    return Moments(*longer, state.origin)  # type: ignore[call-arg]


def grown(state: Any, arms: Arms, lam: float, *, sampling: bool = False) -> dict[str, object]:
    """Model and noise of a state with more arms, for `_replace`.

    Of arms that keep their features the constant column is that of all of them, as if they had been
    there from the start.
    """
    model = longer_ridge(state.model, arms, lam, sampling=sampling)
    noise = state.noise
    if model.column[0] != state.model.column[0]:
        noise = copied(noise)
        measure_residual(noise, model)
    return {"model": model, "noise": noise}


@singledispatch
def longer_ridge(model: Any, arms: Arms, lam: float, *, sampling: bool = False) -> Ridge:
    """A ridge regression with more arms: the same data, factorised afresh; with new features every
    round the same regression."""
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
    fresh, K = (
        new_disjoint_ridge(arms, lam, intercept=model.intercept, column=column_for(model, arms)),
        model.mean.size,
    )
    fresh.design[:K], fresh.response[:K], fresh.pulls[:K] = (
        model.design,
        model.response,
        model.pulls,
    )
    fresh.centre[:] = model.centre
    change_column(fresh, float(model.column[0]), (fresh.design[:K],), fresh.response[:K])
    refresh(fresh)
    return fresh


@longer_ridge.register
def _(model: FadingRidge, arms: Arms, lam: float, *, sampling: bool = False) -> Ridge:
    fresh = new_fading_ridge(
        arms, lam, model.forget, intercept=model.intercept, column=column_for(model, arms)
    )
    column = fresh.column
    grown: FadingRidge = copied(carried(fresh, model))._replace(column=column)
    change_column(grown, float(model.column[0]), (grown.design, grown.squared), grown.response)
    refresh(grown)
    return grown


def column_for(model: Ridge, arms: Arms) -> float:
    """The constant column of more arms; 0: it is `size_of` their features, which they keep."""
    return float(model.column[0]) if arms.features is None else 0.0


def change_column(
    model: DisjointRidge | FadingRidge,
    before: float,
    designs: tuple[np.ndarray, ...],
    response: np.ndarray,
) -> None:
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
    """The evidence of a state whose arms have no place of their own, in the scratch of a fresh one
    for another number of arms.

    Arrays of the same shape in both do not depend on that number: they are the state's, not copies.
    All else is the fresh one's.
    """
    if isinstance(fresh, np.ndarray):
        return state if fresh.shape == state.shape else fresh
    if not hasattr(fresh, "_fields"):
        return fresh
    return type(fresh)(*(carried(a, b) for a, b in zip(fresh, state, strict=True)))
