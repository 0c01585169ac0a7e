"""`ContextRidge`: the regression where the arms have new features every round."""

import math
from typing import NamedTuple

import numpy as np

from ..._jit import jit
from ...verbs import Arms
from ..cholesky import definite_cholesky, log_det, require_finite, solve_lower, solve_lower_transposed
from ..scaling import check_digits
from .factors import LEAP, REFRESH, invert_from_factor, predict_arm, rank_one, sample_theta
from .verbs import learn, predict, refresh, sample


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


def check_context(model: ContextRidge, features: np.ndarray | None) -> None:
    """Refuse a round's features (K, d) that leave fewer than six digits until the next factorisation, which checks what is left."""
    if features is not None:
        check_digits("context", features, model.lam, REFRESH, root=False)


def shown_features(arms: Arms, lam: float) -> np.ndarray:
    """The features (K, d) of arms that keep them, or zeros until the first round shows some. Refuses fewer than six digits."""
    features = np.zeros((arms.number, arms.dimension))
    if arms.features is not None:
        features[:] = arms.features
        check_digits("arms", features, lam, arms.horizon, root=False)
    return features


@predict.register(ContextRidge)
@jit
def predict_contextridge(model, context):
    for k in range(model.features.shape[0]):
        predict_arm(model, k, model.inverse, model.theta, context.features[k])


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
    if model.updates[0] >= REFRESH or not 1.0 <= denominator < LEAP:
        refresh(model)


@refresh.register(ContextRidge)
@jit
def refresh_contextridge(model):
    d = model.theta.shape[0]
    definite_cholesky(model.design, model.factor)
    model.log_det[0] = log_det(model.factor) - d * math.log(model.lam)
    model.updates[0] = 0.0
    for i in range(d):
        model.theta[i] = model.response[i]
    solve_lower(model.factor, model.theta)
    solve_lower_transposed(model.factor, model.theta)
    invert_from_factor(model.factor, model.inverse, model.direction)
    require_finite(model.theta)


@sample.register(ContextRidge)
@jit
def sample_contextridge(model, scale, out, rng):
    sample_theta(model, scale, model.features, out, rng)
