"""`ArmRidge`: the regression in the space of the arms, where features are fixed and few arms share many of them."""

import math
from typing import NamedTuple

import numpy as np

from ..._jit import jit
from ..cholesky import cholesky, require_finite, solve_lower
from .factors import LEAP, REFRESH, factorise_pulls
from .verbs import learn, predict, refresh, sample


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
    row: np.ndarray  # (d,) scratch
    solved: np.ndarray  # (K, d) L^-1 x_k at the last factorisation
    factor: np.ndarray  # (d, d) L at the last factorisation
    square_root: np.ndarray  # (K, K) scratch of sample


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
    model.log_det[0] += math.log(max(denominator, 1.0))
    error = (reward - model.mean[arm]) / denominator
    for i in range(K):
        share = column[i] / denominator
        for j in range(K):
            product[i, j] -= share * column[j]
        model.mean[i] += column[i] * error
        model.square[i] = max(product[i, i], 0.0)
    model.updates[0] += 1.0
    if model.updates[0] >= REFRESH or not denominator < LEAP:
        refresh(model)


@refresh.register(ArmRidge)
@jit
def refresh_armridge(model):
    K, d = model.features.shape
    factorise_pulls(model, model.row)
    for k in range(K):
        for i in range(d):
            model.solved[k, i] = model.features[k, i]
        solve_lower(model.factor, model.solved[k])
    for k in range(K):
        for j in range(k + 1):
            total = 0.0
            for i in range(d):
                total += model.solved[k, i] * model.solved[j, i]
            model.product[k, j] = total
            model.product[j, k] = total
        model.square[k] = model.product[k, k]
    for i in range(K):
        total = 0.0
        for j in range(K):
            total += model.product[i, j] * model.sums[j]
        model.mean[i] = total
    require_finite(model.mean)
    require_finite(model.square)


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
