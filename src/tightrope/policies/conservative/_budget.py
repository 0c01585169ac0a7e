"""What a guarantee on cumulative reward is computed from: radii, exact sums, checkpoints, and minima over an ellipsoid.

Equation numbers: Garcelon, Ghavamzadeh, Lazaric, Pirotta 2020.
"""

import math
from typing import Any

from ..._jit import jit, lean
from ...numerics.ridge import ArmRidge, ContextRidge, FeatureRidge
from ...verbs import verb

TOLERANCE = 1e-9  # an arm is safe down to -TOLERANCE: at t = 1/alpha the two sides are equal in exact arithmetic


@lean
def martingale_radius(sigma, delta, m, freedman):
    """psi(m) = sigma sqrt(2 m L) + (2/3) L with L = ln(3 max(m, 1)^2 / delta) (Eq 5); freedman = False drops (2/3) L."""
    n = max(m, 1.0)
    L = math.log(3.0 * n * n / delta)
    radius = sigma * math.sqrt(2.0 * m * L)
    return radius + 2.0 / 3.0 * L if freedman else radius


@lean
def pull_radius(sigma, delta, n_arms, pulls):
    """sigma sqrt(2 ln(K s^3 / delta) / s) for s >= 1 pulls (Wu, Shariff, Lattimore, Szepesvari 2016)."""
    return sigma * math.sqrt(2.0 * math.log(n_arms * pulls * pulls * pulls / delta) / pulls)


@lean
def ellipsoid_radius(sigma, delta, dimension, m, lam, arm_bound, theta_bound):
    """beta = sigma sqrt(d ln((1 + D^2 (1 + m) / lam) / delta)) + B sqrt(lam) (Eq 3)."""
    inside = (1.0 + arm_bound * arm_bound * (1.0 + m) / lam) / delta
    return sigma * math.sqrt(dimension * math.log(inside)) + theta_bound * math.sqrt(lam)


@lean
def add(book, place, value):
    """Add a number to the compensated sum (Neumaier) in book[place], book[place + 1]: exact to an ulp over millions of rounds."""
    old = book[place]
    new = old + value
    if abs(old) >= abs(value):
        book[place + 1] += (old - new) + value
    else:
        book[place + 1] += (value - new) + old
    book[place] = new


@lean
def amount(book, place):
    """Value of a compensated sum."""
    return book[place] + book[place + 1]


# Sums of features: weights on the arms where the model lives in arm space, vectors elsewhere -----------------------------


@verb()
def collect(model, context, total, arm, weight):
    """total += weight x_arm."""


@verb()
def project(model, total, cross):
    """Mean and squared width <theta_hat, z>, z' V^-1 z of z = total; cross[k] <- x_k' V^-1 z. Call `predict` first."""


def sum_size(model: Any) -> int:
    """Length of a sum of features."""
    return model.mean.size if isinstance(model, ArmRidge) else model.theta.size


@collect.register(ArmRidge)
@jit
def collect_armridge(model, context, total, arm, weight):
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


@collect.register(FeatureRidge)
@jit
def collect_featureridge(model, context, total, arm, weight):
    for i in range(total.shape[0]):
        total[i] += weight * model.features[arm, i]


@project.register(FeatureRidge)
@jit
def project_featureridge(model, total, cross):
    return project_vector(model, total, cross)


@collect.register(ContextRidge)
@jit
def collect_contextridge(model, context, total, arm, weight):
    for i in range(total.shape[0]):
        total[i] += weight * context.features[arm, i]


@project.register(ContextRidge)
@jit
def project_contextridge(model, total, cross):
    return project_vector(model, total, cross)
