"""Verbs that every form of the regression answers."""

from ...core.dispatch import verb


@verb
def predict(model, context):
    """Bring mean and square up to date for this round's arms."""


@verb
def learn(model, context, arm, reward):
    """Take in one reward. Returns an error e and a divisor c: with theta drawn to 0 the least penalised sum of squares grows by e^2 / c.

    Of rank-one forms these are r - x'theta_hat and 1 + x'V^-1 x.
    """


@verb
def untried(model, eligible):
    """How many eligible arms have a regression of their own and no reward yet. O(K)."""


@verb
def best_arm(model, values, eligible, untried_first):
    """Lowest index of the largest value among the eligible arms. O(K).

    untried_first: among those alone of which nothing is known, because they have a regression of their own and no reward yet, if there are.
    """


@verb
def penalty(model):
    """lam ||theta_hat||^2 for each of the directions that are known, d - lam tr V^-1 of them by parts: the mean square of a coefficient, in
    the units of a squared reward. O(d), for a regression each O(K d)."""


@verb
def regained(model):
    """How much less the least penalised sum of squares is with an intercept drawn to m / c than with one drawn to 0. O(1), or O(K)."""


@verb
def refresh(model):
    """Replace the rank-one path by a fresh factorisation."""


@verb
def sample(model, scale, out, rng):
    """Fill out (K,) with x_k' theta, theta ~ N(theta_hat, scale^2 V^-1): one joint draw. Call `predict` first."""


@verb
def win_chances(model, scale, eligible, untried_first, out):
    """Fill out (K,) with the chance of each arm that `sample` makes it the `best_arm`, and say whether it did; False where the arms' draws
    depend on each other, or one is certain. Call `predict` first. O(K^2) evaluations of a normal distribution."""


@verb
def correlate(model, arm, out):
    """out[k] <- x_k' V^-1 x_arm. Call `predict` first."""


@verb
def add_features(model, context, total, arm, weight):
    """total += weight x_arm, for a sum of features: weights on the arms where the model lives in arm space, a vector elsewhere."""


@verb
def project(model, total, cross):
    """Mean and squared width <theta_hat, z>, z' V^-1 z of z = total; cross[k] <- x_k' V^-1 z. Call `predict` first."""
