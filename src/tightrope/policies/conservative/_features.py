"""Sums of features: weights on the arms where the model lives in arm space, vectors elsewhere."""

from typing import Any

from ..._jit import jit, lean
from ...numerics.ridge import ArmRidge, ContextRidge, FeatureRidge
from ...verbs import verb


@verb()
def add_features(model, context, total, arm, weight):
    """total += weight x_arm."""


@verb()
def project(model, total, cross):
    """Mean and squared width <theta_hat, z>, z' V^-1 z of z = total; cross[k] <- x_k' V^-1 z. Call `predict` first."""


def sum_size(model: Any) -> int:
    """Length of a sum of features."""
    return model.mean.size if isinstance(model, ArmRidge) else model.theta.size


@add_features.register(ArmRidge)
@jit
def add_features_armridge(model, context, total, arm, weight):
    total[arm] += weight


@project.register(ArmRidge)
@jit
def project_armridge(model, total, cross):
    K = total.shape[0]
    for k in range(K):
        cross[k] = 0.0
    for j in range(K):
        if total[j] != 0.0:
            for k in range(K):
                cross[k] += total[j] * model.product[j, k]
    inner, square = 0.0, 0.0
    for k in range(K):
        inner += total[k] * model.mean[k]
        square += total[k] * cross[k]
    return inner, max(square, 0.0)


@lean
def project_vector(model, total, cross):
    """`project` where the model keeps V^-1 and sums are vectors. O(d^2 + K d)."""
    K, d = model.features.shape
    inner, square = 0.0, 0.0
    for i in range(d):
        model.direction[i] = 0.0
    for j in range(d):
        for i in range(d):
            model.direction[i] += total[j] * model.inverse[j, i]
    for i in range(d):
        inner += total[i] * model.theta[i]
        square += total[i] * model.direction[i]
    for k in range(K):
        cross[k] = 0.0
        for i in range(d):
            cross[k] += model.features[k, i] * model.direction[i]
    return inner, max(square, 0.0)


@add_features.register(FeatureRidge)
@jit
def add_features_featureridge(model, context, total, arm, weight):
    for i in range(total.shape[0]):
        total[i] += weight * model.features[arm, i]


@project.register(FeatureRidge)
@jit
def project_featureridge(model, total, cross):
    return project_vector(model, total, cross)


@add_features.register(ContextRidge)
@jit
def add_features_contextridge(model, context, total, arm, weight):
    for i in range(total.shape[0]):
        total[i] += weight * context.features[arm, i]


@project.register(ContextRidge)
@jit
def project_contextridge(model, total, cross):
    return project_vector(model, total, cross)
