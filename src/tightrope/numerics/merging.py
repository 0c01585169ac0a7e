"""States that are sums, added up: what two of them have learned together, as if one had met both logs."""

import math
from functools import singledispatch
from typing import Any

import numpy as np

from .batch_ridge import BatchRidge
from .counts import Counts, FadingCounts
from .moments import Moments
from .noise import DIGITS, Noise, change_unit, new_noise
from .ridge import ArmRidge, ContextRidge, DisjointRidge, FadingRidge, FeatureRidge, Ridge, refresh
from .states import copied

FORGETS = (
    "forget = {:g} weighs rewards by their order, so it does not learn by sums that could be added up; feed it one log after the other, or "
    "take forget=1."
)


@singledispatch
def merged_counts(first: Counts | FadingCounts, second: Counts | FadingCounts) -> Counts:
    return Counts(first.pulls + second.pulls, first.sums + second.sums, first.rounds + second.rounds, np.zeros(first.scores.size))


@merged_counts.register
def _(first: FadingCounts, second: FadingCounts) -> Counts:
    raise ValueError(FORGETS.format(first.forget))


def merged_arm_moments(first: Moments, second: Moments, forget: float) -> Moments:
    """Numbers, means and spreads of the rewards of both, arm by arm, less the first one's origin."""
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
    away = np.where((first.pulls != 0.0) & (second.pulls != 0.0), second.mean + shift - first.mean, 0.0)
    mean = np.where(first.pulls != 0.0, first.mean + away * share, second.mean + shift)
    between = away * np.sqrt(np.abs(first.pulls * share))
    unit = np.maximum(np.maximum(first.spread, np.abs(second.spread)), np.abs(between))
    unit[unit == 0.0] = 1.0
    sign = np.where(second.pulls < 0.0, -1.0, 1.0)  # of what is taken out
    squares = (first.spread / unit) ** 2 + sign * ((second.spread / unit) ** 2 + (between / unit) ** 2)
    spread = unit * np.sqrt(np.maximum(squares, 0.0))  # what is taken out may leave a rounding error
    return Moments(pulls, np.where(known, mean, 0.0), np.where(known, spread, 0.0), taken, first.origin.copy())


@singledispatch
def merged_ridge(first: Any, second: Any, shift: float = 0.0, centre: float = 0.0) -> Ridge:
    """The regression on both data sets, factorised afresh: V = V1 + V2 - lam I, b = b1 + b2. O(d^3), with fixed arms O(K d^2).

    For regressions with an intercept, shift: by how much the second's rewards were kept less than the first's; centre: the mean of both.
    """
    model = copied(first)
    model.centre[0] = centre
    if isinstance(model, ContextRidge):
        design, response = added(model, second, shift)
        model.design[:], model.response[:] = first.design + design, first.response + response
    else:
        model.pulls[:] += second.pulls
        model.sums[:] += second.sums + shift * second.pulls
    refresh(model)
    return model


def added(model: ContextRidge | DisjointRidge, second: ContextRidge | DisjointRidge, shift: float) -> tuple[np.ndarray, np.ndarray]:
    """sum x x' and sum (r + shift) x of the second, whose sum of x is the constant column's row, in the first's constant column.

    Where the first has seen no reward it takes over the second's column.
    """
    d = second.design.shape[-1]
    design, response = second.design - second.lam * np.eye(d), second.response
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
def _(first: DisjointRidge, second: DisjointRidge, shift: float = 0.0, centre: float = 0.0) -> Ridge:
    model: DisjointRidge = copied(first)
    model.centre[0] = centre
    model.pulls[:] += second.pulls
    design, response = added(model, second, shift)
    model.design[:] += design
    model.response[:] += response
    model.log_det[0] = -math.inf  # the largest so far: what is taken out makes it less
    refresh(model)
    return model


@merged_ridge.register
def _(first: FadingRidge, second: FadingRidge, shift: float = 0.0, centre: float = 0.0) -> Ridge:
    raise ValueError(FORGETS.format(first.forget))


def merged(first: Any, second: Any) -> tuple[Any, Noise]:
    """The regression and the noise of two states on both logs: the sums of both, less the first one's origin."""
    noise, shift = merged_moments(first.noise, second.noise, first.model.intercept)
    sums = noise.sums[0]
    model = merged_ridge(first.model, second.model, shift, float(sums.centre))
    measure_residual(noise, model)
    return model, noise


def measure_residual(noise: Noise, model: Ridge) -> None:
    sums = noise.sums[0]
    if sums.unit > 0.0:
        squares = sums.spread + sums.number * (sums.centre / sums.unit) ** 2
        sums.residual = max(squares - explained(model, float(sums.unit)), DIGITS * sums.spread)


def merged_moments(first: Noise, second: Noise, centred: bool) -> tuple[Noise, float]:
    """Number, origin, mean and spread of the rewards of both, and by how much those of the second were kept less."""
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
        spread = one.spread * (one.unit / sums.unit) ** 2 + other.spread * (other.unit / sums.unit) ** 2 + between
        sums.spread = max(spread, 0.0)  # what is taken out may leave a rounding error
    return noise, shift


@singledispatch
def explained(model: Any, unit: float) -> float:
    """theta_hat' sum r x with theta drawn to 0, the part of sum r^2 that it explains, in this unit. O(d), for a model each O(K d)."""
    return float(((model.theta / unit) * (model.response / unit)).sum())


@explained.register(ArmRidge)
@explained.register(FeatureRidge)
def _(model: ArmRidge | FeatureRidge, unit: float) -> float:
    return float((model.base / unit) @ (model.sums / unit))


def merged_batch_ridge(first: BatchRidge, second: BatchRidge) -> BatchRidge:
    noise, shift = merged_moments(first.noise, second.noise, first.intercept)
    design = first.design + (second.design - first.lam * np.eye(first.response.shape[1]))
    return BatchRidge(
        first.lam, design, first.response + second.response + shift * second.total, first.seen + second.seen, first.total + second.total,
        first.pulls + second.pulls, first.sums + second.sums + shift * second.pulls, noise,
        first.column.copy(), first.intercept,
    )  # fmt: skip


# Taking out --------------------------------------------------------------------------------------------------------------


@singledispatch
def negative(state: Any) -> Any:
    """The state that takes out, where it is merged, what this one has learned: its sums with the other sign. Not to play with."""
    if not hasattr(state, "_fields") or not type(state).__module__.startswith(f"{__name__.partition('.')[0]}."):
        raise ValueError(
            f"{type(state).__qualname__} is a state of your own, out of which rewards that both sessions have cannot be taken; start "
            "workers as new sessions and merge those."
        )
    changes = {}
    for name, value in zip(state._fields, state, strict=True):
        if hasattr(value, "_fields"):
            changes[name] = negative(value)
        elif name == "rounds":
            changes[name] = -value
    return state._replace(**changes)


@negative.register
def _(state: Counts) -> Counts:
    return state._replace(pulls=-state.pulls, sums=-state.sums, rounds=-state.rounds)


@negative.register
def _(state: Moments) -> Moments:
    return state._replace(pulls=-state.pulls, taken=-state.taken)


@negative.register
def _(state: Noise) -> Noise:
    other = copied(state)
    sums = other.sums[0]
    sums.number, sums.spread, sums.residual = -sums.number, -sums.spread, -sums.residual
    return other


@negative.register(ArmRidge)
@negative.register(FeatureRidge)
def _(state: ArmRidge | FeatureRidge) -> ArmRidge | FeatureRidge:
    return state._replace(pulls=-state.pulls, sums=-state.sums)


def less_data(state: ContextRidge | DisjointRidge | BatchRidge) -> np.ndarray:
    """V of data with the other sign: lam I - sum x x'."""
    return 2.0 * state.lam * np.eye(state.design.shape[-1]) - state.design


@negative.register
def _(state: ContextRidge) -> ContextRidge:
    return state._replace(design=less_data(state), response=-state.response)


@negative.register
def _(state: DisjointRidge) -> DisjointRidge:
    return state._replace(design=less_data(state), response=-state.response, pulls=-state.pulls)


@negative.register
def _(state: BatchRidge) -> BatchRidge:
    return state._replace(
        design=less_data(state), response=-state.response, seen=-state.seen, total=-state.total, pulls=-state.pulls, sums=-state.sums,
        noise=negative(state.noise),
    )  # fmt: skip
