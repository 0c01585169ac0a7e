"""Ridge regression as linear policies need it: the mean and the width of every arm, kept by rank-one updates.

V = lam I + sum x x', theta_hat = V^-1 sum r x, mean_k = x_k' theta_hat, square_k = x_k' V^-1 x_k. Three forms with the same
numbers, told apart by their class:

- `ArmRidge` (fixed arms, K < d): M = X V^-1 X' alone, O(K^2) an update;
- `FeatureRidge` (fixed arms, d <= K): V^-1, mean and square, O(K d + d^2) an update;
- `ContextRidge` (new features every round): V^-1 and theta_hat, O(d^2) an update and O(K d^2) a prediction.

Every REFRESH updates the rank-one path is replaced by a fresh Cholesky factorisation, which keeps the drift near 1e-10.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from .._jit import jit, lean
from ..verbs import Arms, verb
from .cholesky import cholesky, log_det, solve_lower, solve_lower_transposed, update_factor

REFRESH = 4096


class ArmRidge(NamedTuple):
    features: np.ndarray  # (K, d)
    lam: float
    mean: np.ndarray  # (K,)
    square: np.ndarray  # (K,) diagonal of product
    log_det: np.ndarray  # (1,) log det(V) - d log(lam)
    pulls: np.ndarray  # (K,)
    sums: np.ndarray  # (K,)
    updates: np.ndarray  # (1,) since the last factorisation
    product: np.ndarray  # (K, K) M = X V^-1 X'
    column: np.ndarray  # (K,) scratch
    design: np.ndarray  # (d, d) scratch
    factor: np.ndarray  # (d, d) scratch
    square_root: np.ndarray  # (K, K) scratch of sample


class FeatureRidge(NamedTuple):
    features: np.ndarray  # (K, d)
    lam: float
    mean: np.ndarray  # (K,)
    square: np.ndarray  # (K,)
    log_det: np.ndarray  # (1,) log det(V) - d log(lam)
    pulls: np.ndarray  # (K,)
    sums: np.ndarray  # (K,)
    updates: np.ndarray  # (1,) since the last factorisation
    theta: np.ndarray  # (d,)
    inverse: np.ndarray  # (d, d) V^-1
    direction: np.ndarray  # (d,) scratch
    design: np.ndarray  # (d, d) scratch
    factor: np.ndarray  # (d, d) Cholesky factor of V at the last factorisation, of V itself if keeps_factor
    keeps_factor: bool
    transposed: np.ndarray  # (d, K) features: sums over d run side by side for all arms, in vector registers and unchanged order
    projection: np.ndarray  # (K,) scratch


class ContextRidge(NamedTuple):
    features: np.ndarray  # (K, d) of the last prediction
    lam: float
    mean: np.ndarray  # (K,) at the last prediction
    square: np.ndarray  # (K,)
    log_det: np.ndarray  # (1,) log det(V) - d log(lam)
    updates: np.ndarray  # (1,) since the last factorisation
    theta: np.ndarray  # (d,)
    inverse: np.ndarray  # (d, d) V^-1
    direction: np.ndarray  # (d,) scratch
    design: np.ndarray  # (d, d) V
    response: np.ndarray  # (d,) sum r x
    factor: np.ndarray  # (d, d) as in FeatureRidge
    keeps_factor: bool


def new_ridge(arms: Arms, lam: float, *, sampling: bool = False, form: str | None = None) -> Any:
    """The model without data. sampling: keep a factor of V for `sample`. form: "arm" | "feature" overrides the choice by K < d."""
    K, d = arms.number, arms.dimension
    if arms.features is None:
        return ContextRidge(
            np.zeros((K, d)), lam, np.zeros(K), np.zeros(K), np.zeros(1), np.zeros(1), np.zeros(d), np.eye(d) / lam, np.zeros(d),
            lam * np.eye(d), np.zeros(d), math.sqrt(lam) * np.eye(d), sampling,
        )  # fmt: skip
    X = np.ascontiguousarray(arms.features, dtype=np.float64)
    shared = (X, lam, np.zeros(K), np.zeros(K), np.zeros(1), np.zeros(K), np.zeros(K), np.zeros(1))
    model: Any
    if form == "arm" or (form is None and d > K):
        model = ArmRidge(*shared, np.zeros((K, K)), np.zeros(K), np.zeros((d, d)), np.zeros((d, d)), np.zeros((K, K)))
    else:
        model = FeatureRidge(*shared, np.zeros(d), np.zeros((d, d)), np.zeros(d), np.zeros((d, d)), np.zeros((d, d)), sampling,
                             np.ascontiguousarray(X.T), np.zeros(K))  # fmt: skip
    refresh(model)
    return model


@verb()
def predict(model, context):
    """Bring mean and square up to date for this round's arms."""


@verb()
def learn(model, context, arm, reward):
    """Take in one reward."""


@verb()
def refresh(model):
    """Replace the rank-one path by a fresh factorisation."""


@verb()
def sample(model, scale, out, rng):
    """Fill out (K,) with x_k' theta, theta ~ N(theta_hat, scale^2 V^-1): one joint draw. Call `predict` first."""


@lean
def factorise_design(model):
    """factor <- Cholesky factor of V = lam I + sum_k pulls_k x_k x_k', and its log-determinant."""
    K, d = model.features.shape
    for i in range(d):
        for j in range(i + 1):
            total = model.lam if i == j else 0.0
            for k in range(K):
                if model.pulls[k] > 0.0:
                    total += model.pulls[k] * model.features[k, i] * model.features[k, j]
            model.design[i, j] = total
    cholesky(model.design, model.factor)
    model.log_det[0] = log_det(model.factor) - d * math.log(model.lam)
    model.updates[0] = 0.0


@lean
def invert_from_factor(factor, inverse, direction):
    """inverse <- (L L')^-1, symmetric to the bit."""
    d = direction.shape[0]
    for i in range(d):
        for j in range(d):
            direction[j] = 1.0 if i == j else 0.0
        solve_lower(factor, direction)
        solve_lower_transposed(factor, direction)
        for j in range(i + 1):
            inverse[i, j] = direction[j]
            inverse[j, i] = direction[j]


# Fixed arms, K < d ------------------------------------------------------------------------------------------------------


@predict.register(ArmRidge)
@jit
def predict_armridge(model, context):
    pass


@learn.register(ArmRidge)
@jit
def learn_armridge(model, context, arm, reward):
    K = model.mean.shape[0]
    column, product = model.column, model.product
    for k in range(K):
        column[k] = product[arm, k]
    denominator = 1.0 + column[arm]
    model.pulls[arm] += 1.0
    model.sums[arm] += reward
    model.log_det[0] += math.log(denominator)
    error = (reward - model.mean[arm]) / denominator
    for i in range(K):
        share = column[i] / denominator
        for j in range(K):
            product[i, j] -= share * column[j]
        model.mean[i] += column[i] * error
        model.square[i] = max(product[i, i], 0.0)
    model.updates[0] += 1.0
    if model.updates[0] >= REFRESH:
        refresh(model)


@refresh.register(ArmRidge)
@jit
def refresh_armridge(model):
    K, d = model.features.shape
    factorise_design(model)
    solution = model.design[0]  # V is no longer needed
    for k in range(K):
        for i in range(d):
            solution[i] = model.features[k, i]
        solve_lower(model.factor, solution)
        solve_lower_transposed(model.factor, solution)
        for j in range(k, K):
            total = 0.0
            for i in range(d):
                total += model.features[j, i] * solution[i]
            model.product[k, j] = total
    for i in range(K):
        for j in range(i):
            model.product[i, j] = model.product[j, i]
        model.square[i] = max(model.product[i, i], 0.0)
    for i in range(K):
        total = 0.0
        for j in range(K):
            total += model.product[i, j] * model.sums[j]
        model.mean[i] = total


@sample.register(ArmRidge)
@jit
def sample_armridge(model, scale, out, rng):
    K = out.shape[0]
    cholesky(model.product, model.square_root)
    for k in range(K):
        model.column[k] = rng.standard_normal()
    for k in range(K):
        total = 0.0
        for j in range(k + 1):
            total += model.square_root[k, j] * model.column[j]
        out[k] = model.mean[k] + scale * total


# Fixed arms, d <= K -----------------------------------------------------------------------------------------------------


@lean
def rank_one(model, x):
    """V <- V + x x' in inverse, log_det and factor; leaves V^-1 x (old V) in direction and returns 1 + x'V^-1 x."""
    d = x.shape[0]
    inverse, direction = model.inverse, model.direction
    if model.keeps_factor:
        for i in range(d):
            direction[i] = x[i]
        update_factor(model.factor, direction)
    denominator = 1.0
    for i in range(d):
        total = 0.0
        for j in range(d):
            total += inverse[i, j] * x[j]
        direction[i] = total
        denominator += total * x[i]
    for i in range(d):
        share = direction[i] / denominator
        for j in range(d):
            inverse[i, j] -= share * direction[j]
    model.log_det[0] += math.log(denominator)
    model.updates[0] += 1.0
    return denominator


@predict.register(FeatureRidge)
@jit
def predict_featureridge(model, context):
    pass


@learn.register(FeatureRidge)
@jit
def learn_featureridge(model, context, arm, reward):
    K, d = model.features.shape
    model.pulls[arm] += 1.0
    model.sums[arm] += reward
    denominator = rank_one(model, model.features[arm])
    error = (reward - model.mean[arm]) / denominator
    for i in range(d):
        model.theta[i] += model.direction[i] * error
    projection = model.projection
    for k in range(K):
        projection[k] = 0.0
    for i in range(d):
        factor = model.direction[i]
        for k in range(K):
            projection[k] += model.transposed[i, k] * factor
    scale = 1.0 / denominator
    for k in range(K):
        model.mean[k] += projection[k] * error
        model.square[k] = max(model.square[k] - projection[k] * projection[k] * scale, 0.0)
    if model.updates[0] >= REFRESH:
        refresh(model)


@refresh.register(FeatureRidge)
@jit
def refresh_featureridge(model):
    K, d = model.features.shape
    factorise_design(model)
    for i in range(d):
        total = 0.0
        for k in range(K):
            total += model.sums[k] * model.features[k, i]
        model.theta[i] = total
    solve_lower(model.factor, model.theta)
    solve_lower_transposed(model.factor, model.theta)
    invert_from_factor(model.factor, model.inverse, model.direction)
    for k in range(K):
        total = 0.0
        for i in range(d):
            model.direction[i] = model.features[k, i]
            total += model.features[k, i] * model.theta[i]
        model.mean[k] = total
        solve_lower(model.factor, model.direction)
        total = 0.0
        for i in range(d):
            total += model.direction[i] * model.direction[i]
        model.square[k] = total


@lean
def sample_theta(model, scale, features, out, rng):
    """out <- features @ theta for one theta ~ N(theta_hat, scale^2 V^-1), from the factor of V."""
    K, d = features.shape
    for i in range(d):
        model.direction[i] = rng.standard_normal()
    solve_lower_transposed(model.factor, model.direction)
    for i in range(d):
        model.direction[i] = model.theta[i] + scale * model.direction[i]
    for k in range(K):
        total = 0.0
        for i in range(d):
            total += features[k, i] * model.direction[i]
        out[k] = total


@sample.register(FeatureRidge)
@jit
def sample_featureridge(model, scale, out, rng):
    sample_theta(model, scale, model.features, out, rng)


# New features every round -----------------------------------------------------------------------------------------------


@predict.register(ContextRidge)
@jit
def predict_contextridge(model, context):
    K, d = model.features.shape
    for k in range(K):
        mean, square = 0.0, 0.0
        for i in range(d):
            total = 0.0
            for j in range(d):
                total += model.inverse[i, j] * context.features[k, j]
            square += total * context.features[k, i]
            mean += model.theta[i] * context.features[k, i]
            model.features[k, i] = context.features[k, i]
        model.mean[k], model.square[k] = mean, max(square, 0.0)


@learn.register(ContextRidge)
@jit
def learn_contextridge(model, context, arm, reward):
    d = model.theta.shape[0]
    x = context.features[arm]
    error = reward
    for i in range(d):
        error -= model.theta[i] * x[i]
        model.response[i] += reward * x[i]
        for j in range(d):
            model.design[i, j] += x[i] * x[j]
    denominator = rank_one(model, x)
    for i in range(d):
        model.theta[i] += model.direction[i] * error / denominator
    if model.updates[0] >= REFRESH:
        refresh(model)


@refresh.register(ContextRidge)
@jit
def refresh_contextridge(model):
    d = model.theta.shape[0]
    cholesky(model.design, model.factor)
    model.log_det[0] = log_det(model.factor) - d * math.log(model.lam)
    model.updates[0] = 0.0
    for i in range(d):
        model.theta[i] = model.response[i]
    solve_lower(model.factor, model.theta)
    solve_lower_transposed(model.factor, model.theta)
    invert_from_factor(model.factor, model.inverse, model.direction)


@sample.register(ContextRidge)
@jit
def sample_contextridge(model, scale, out, rng):
    sample_theta(model, scale, model.features, out, rng)


# For audits, outside of compiled code ------------------------------------------------------------------------------------


def deviations(model: Any) -> np.ndarray:
    """A (K, r) root of the arms' joint covariance X V^-1 X' at the last prediction. O(K^3) or O(d^3 + K d^2)."""
    if isinstance(model, ArmRidge):
        values, vectors = np.linalg.eigh(model.product)
        return np.asarray(vectors * np.sqrt(np.maximum(values, 0.0)))
    return np.asarray(model.features @ np.linalg.cholesky(model.inverse))
