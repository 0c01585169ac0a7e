"""Ridge regression as linear policies need it: the mean and the width of every arm, kept by rank-one updates.

V = lam I + sum x x', theta_hat = V^-1 sum r x, mean_k = x_k' theta_hat, square_k = x_k' V^-1 x_k. Three forms with the same
numbers, told apart by their class, one a file, and one with a V for each arm:

- `ArmRidge` (fixed arms, few of them): M = X V^-1 X' alone, O(K^2) an update;
- `FeatureRidge` (fixed arms, many of them): V^-1, mean and square, O(K d + 2 d^2) an update;
- `ContextRidge` (new features every round): V^-1 and theta_hat, O(d^2) an update and O(K d^2) a prediction;
- `DisjointRidge` (an arm learns from its own rewards alone): K of those;
- `FadingRidge` (old rewards count less): two matrices, O(d^3) an update.

A rank-one update cancels as many digits as x'V^-1 x has before the point. So the rank-one path is replaced by a fresh
factorisation every REFRESH updates and after every update by more than LEAP; the logarithm of det V grows by log LEAP then, which
happens a few times for each of the d dimensions at most. A factorisation that fails, or numbers that are not finite, raise.
"""

import math
from functools import singledispatch
from typing import Any, TypeAlias

import numpy as np

from ...compiled.kernels import lean
from ...core.verbs import Arms
from ..cholesky import cholesky, definite_cholesky
from ..logistic import ArmLogistic, SharedLogistic
from ..scaling import check_digits
from .arms import ArmRidge
from .contexts import ContextRidge, size_of
from .disjoint import DisjointRidge, new_disjoint_ridge
from .factors import LEAP, REFRESH, invert_from_factor
from .fading import FadingRidge, new_fading_ridge, remembered
from .features import FeatureRidge
from .verbs import add_features, best_arm, correlate, learn, penalty, predict, project, refresh, regained, sample, untried, win_chances

__all__ = [
    "ALIKE",
    "LEAP",
    "REFRESH",
    "ArmRidge",
    "ContextRidge",
    "DisjointRidge",
    "FadingRidge",
    "FeatureRidge",
    "Ridge",
    "add_features",
    "best_arm",
    "check_context",
    "correlate",
    "deviations",
    "invert_from_factor",
    "learn",
    "new_disjoint_ridge",
    "new_fading_ridge",
    "new_model",
    "new_ridge",
    "penalty",
    "predict",
    "project",
    "refresh",
    "regained",
    "regressions",
    "regressions_in",
    "remembered",
    "sample",
    "sum_size",
    "untried",
    "untried_first",
    "win_chances",
]  # fmt: skip

ALIKE = (
    "{}, but a round shows all of them the same row of features, so that nothing can tell them apart; take shared=False, a regression for "
    "each arm, or give a row of its own to every arm, (K, d)."
)

Ridge: TypeAlias = ArmRidge | FeatureRidge | ContextRidge | DisjointRidge | FadingRidge


def check_context(model: Ridge, features: np.ndarray | None) -> None:
    """Refuse a round's features (K, d) that leave fewer than six digits until the next factorisation, which checks what is left."""
    if features is not None:
        check_digits("context", features, model.lam, REFRESH, root=False)


def new_ridge(
    arms: Arms, lam: float, *, sampling: bool = False, form: str | None = None, intercept: bool = False, column: float = 0.0
) -> Ridge:  # fmt: skip
    """The model without data. Refuses features that leave fewer than six digits, see `scaling`.

    sampling: `sample` will be called. form: "arm" | "feature" overrides the choice by cost, which is K^2 against K d + 2 d^2 an
    update; a joint draw costs K^3 / 3 against d^2. intercept: whether a constant column is added; column: what it is, where that is known.
    """
    K, d = arms.number, arms.dimension + intercept
    if arms.features is None:
        return ContextRidge(
            np.zeros((K, d)), lam, np.zeros(K), np.zeros(K), np.zeros(1), np.zeros(1), np.zeros(d), np.eye(d) / lam, np.zeros(d),
            lam * np.eye(d), np.zeros(d), math.sqrt(lam) * np.eye(d), sampling, np.zeros(d), np.array([column]), np.zeros(1), intercept,
        )  # fmt: skip
    X = np.ascontiguousarray(arms.features, dtype=np.float64)
    check_digits("arms", X, lam, arms.horizon, root=True)
    column = (column or size_of(X)) if intercept else 0.0
    if intercept:
        X = np.hstack([X, np.full((K, 1), column)])
    shared = (X, lam, np.zeros(K), np.zeros(K), np.zeros(1), np.zeros(K), np.zeros(K), np.zeros(1))
    around = (np.array([column]), np.zeros(1), intercept)
    model: ArmRidge | FeatureRidge
    if form == "arm" or (form is None and arms.dimension * (1 if sampling else 2) > K):
        model = ArmRidge(*shared, np.zeros((K, K)), np.zeros(K), np.zeros(d), np.zeros((K, d)), np.zeros((d, d)), np.zeros((K, K)),
                         np.zeros(K), np.zeros(K), np.zeros(6), *around)  # fmt: skip
    else:
        model = FeatureRidge(*shared, np.zeros(d), np.zeros((d, d)), np.zeros(d), np.zeros((d, d)), sampling,
                             np.ascontiguousarray(X.T), np.zeros(K), np.zeros(K), np.zeros(K), *around)  # fmt: skip
    refresh(model)
    return model


def new_model(
    arms: Arms, lam: float, *, shared: int, sampling: bool = False, forget: float = 1.0, intercept: bool = False
) -> Ridge:  # fmt: skip
    """The model without data: one regression that all arms share, or one for each arm; forget < 1: one that old rewards fade in.

    shared: 1 or 0; below 0 it is by what a round shows: one row of features that is common to all arms tells them apart by a regression
    for each only. intercept: whether a constant column is added, whose coefficient is drawn to the mean of all rewards. Refuses one
    regression for arms that all look the same.
    """
    common = arms.common and arms.number > 1
    if shared < 0 and common and forget < 1.0:
        raise ValueError(
            ALIKE.format(f"forget = {forget:g} keeps one regression for all arms").replace("shared=False, a", "forget=1, with a")
        )
    if shared == 0 or (shared < 0 and common):
        return new_disjoint_ridge(arms, lam, forget, intercept=intercept)
    if common:
        raise ValueError(ALIKE.format("shared = True keeps one regression for all arms"))
    if forget < 1.0:
        return new_fading_ridge(arms, lam, forget, intercept=intercept)
    return new_ridge(arms, lam, sampling=sampling, intercept=intercept)


def untried_first(model: Ridge, eligible: np.ndarray | None) -> np.ndarray | None:
    """The arms among which `best_arm` looks with untried_first, as a mask; None: all."""
    if not isinstance(model, DisjointRidge):
        return eligible
    fresh = model.pulls == 0.0
    if eligible is not None:
        fresh &= eligible
    return fresh if fresh.any() else eligible


def regressions(model: Ridge) -> int:
    return model.mean.size if isinstance(model, DisjointRidge) else 1


def regressions_in(state: Any) -> str | None:
    """In words, whether a state has a regression for each arm or one for all; None where it has none of these forms."""
    if isinstance(state, DisjointRidge | ArmLogistic):
        return "a regression for each arm"
    if isinstance(state, (ArmRidge, FeatureRidge, ContextRidge, FadingRidge, SharedLogistic)):
        return "one regression for all arms"
    forms = (regressions_in(field) for field in state if hasattr(field, "_fields")) if hasattr(state, "_fields") else ()
    return next((words for words in forms if words is not None), None)


@singledispatch
def deviations(model: Any) -> np.ndarray:
    """A (K, r) root of the arms' joint covariance X V^-1 X' at the last prediction, or the (K,) deviations of independent arms.

    For audits. By loops, because libraries share the products out among threads that wait for each other. O(K^3) or O(d^3 + K d^2).
    """
    root = np.empty(model.features.shape)
    _features_root(model.features, model.inverse, np.zeros_like(model.inverse), root)
    return root


@deviations.register
def _(model: ArmRidge) -> np.ndarray:
    root = np.zeros_like(model.product)
    cholesky(model.product, root)  # which equal arms make singular
    return root


@deviations.register
def _(model: DisjointRidge) -> np.ndarray:
    return np.sqrt(model.square)


@lean
def _features_root(features, inverse, factor, out):
    """out (K, d) <- X L, with L the lower factor of the inverse."""
    definite_cholesky(inverse, factor)
    K, d = features.shape
    for k in range(K):
        for j in range(d):
            out[k, j] = 0.0
        for i in range(d):
            x = features[k, i]
            for j in range(i + 1):
                out[k, j] += x * factor[i, j]


def sum_size(model: Ridge) -> int:
    """Length of a sum of features as the model's `add_features` has it."""
    return model.mean.size if isinstance(model, ArmRidge) else model.theta.size
