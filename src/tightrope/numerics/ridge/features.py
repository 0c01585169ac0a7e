"""`FeatureRidge`: the regression in the space of the features, where these are fixed and fewer than the arms."""

from typing import NamedTuple

import numpy as np

from ..._jit import jit
from ..cholesky import require_finite, solve_lower, solve_lower_transposed
from .factors import AGREEMENT, LEAP, REFRESH, factorise_pulls, invert_from_factor, rank_one, sample_theta
from .verbs import learn, predict, refresh, sample


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
    factor: np.ndarray  # (d, d) Cholesky factor of V at the last factorisation, of V itself if keeps_factor
    keeps_factor: bool
    transposed: np.ndarray  # (d, K) features: sums over d run side by side for all arms, in vector registers and unchanged order
    projection: np.ndarray  # (K,) scratch


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
    recursive = 1.0 + model.square[arm]
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
    drifted = not abs(denominator - recursive) <= AGREEMENT * recursive  # x'V^-1 x is known twice; true also of NaN
    if drifted or model.updates[0] >= REFRESH or denominator >= LEAP:
        refresh(model)


@refresh.register(FeatureRidge)
@jit
def refresh_featureridge(model):
    K, d = model.features.shape
    theta, direction = model.theta, model.direction
    factorise_pulls(model, direction)
    for i in range(d):
        total = 0.0
        for k in range(K):
            total += model.sums[k] * model.features[k, i]
        theta[i] = total
    solve_lower(model.factor, theta)
    for k in range(K):
        for i in range(d):
            direction[i] = model.features[k, i]
        solve_lower(model.factor, direction)
        mean, square = 0.0, 0.0
        for i in range(d):
            mean += direction[i] * theta[i]
            square += direction[i] * direction[i]
        model.mean[k], model.square[k] = mean, square
    solve_lower_transposed(model.factor, theta)
    invert_from_factor(model.factor, model.inverse, direction)
    require_finite(model.mean)
    require_finite(model.square)


@sample.register(FeatureRidge)
@jit
def sample_featureridge(model, scale, out, rng):
    sample_theta(model, scale, model.features, out, rng)
