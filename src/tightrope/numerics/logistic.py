"""Logistic regression, one reward at a time: a normal law of the coefficients that follows the
posterior by Laplace's method.

Before a reward r of features x the coefficients are N(theta, R R'). Then comes the mode of that
density times the likelihood, p^r (1 - p)^(1 - r) with p = 1 / (1 + exp(-x'theta)), and the
curvature there, p (1 - p) x x' more than before. The mode lies on the line theta + a R R'x with a =
r - p, one unknown. R keeps being a root of the covariance: with f = R'x, w = p (1 - p) and A = 1 +
w f'f,

    R R' - w R f f'R' / A = S S' ,   S = R - w / (A + sqrt A) R f f' ,

so that nothing is subtracted that could leave a negative variance. O(d^2).

**With an intercept**, a last column of ones, its coefficient is drawn to the log odds b of the mean
of all rewards so far, one half added on either side. A normal law whose prior moves by b e, e the
last unit vector, moves by lam b R R'e. `theta` is that of a prior at 0; what b adds to an arm's log
odds is lam b f'R'e, so that nothing has to be done to other arms when b moves.
"""

import math
from typing import NamedTuple, TypeAlias

import numpy as np

from ..compiled.kernels import lean
from ..core.fields import Count, Derived, Finite, Scratch
from ..core.verbs import Arms
from .linalg import check_digits, inner

STEPS = 100  # of a search for the mode: more than bisection needs
LEAST_STEP = 1e-13  # of log odds: steps of that search which change nothing


class SharedLogistic(NamedTuple):
    features: Derived  # (K, d) of fixed arms, else zeros
    lam: float
    rewards: Count  # (2,) their number and their sum
    theta: Finite  # (1, n), n = d, or d + 1 with an intercept
    root: Finite  # (1, n, n) R
    row: Scratch  # (n,) an arm's features
    turned: Scratch  # (n,) R'x
    direction: Scratch  # (n,)
    scores: Scratch  # (K,)


class ArmLogistic(SharedLogistic):
    """A regression for each arm: theta is (K, n) and root (K, n, n)."""


Logistic: TypeAlias = SharedLogistic | ArmLogistic


def new_logistic(arms: Arms, lam: float, *, each: bool, intercept: bool) -> Logistic:
    """The prior N(0, I / lam). each: a regression for each arm; intercept: a column of ones is
    added. Refuses features too unlike."""
    K, d = arms.number, arms.dimension
    n, features = d + intercept, np.zeros((K, d))
    if arms.features is not None:
        features[:] = arms.features
        check_digits("arms", features, lam, arms.horizon, root=True)
    form, number = (ArmLogistic, K) if each else (SharedLogistic, 1)
    root = np.tile(np.eye(n) / math.sqrt(lam), (number, 1, 1))
    return form(
        features,
        lam,
        np.zeros(2),
        np.zeros((number, n)),
        root,
        np.zeros(n),
        np.zeros(n),
        np.zeros(n),
        np.zeros(K),
    )


def longer_logistic(fresh: Logistic, model: Logistic) -> Logistic:
    fresh.rewards[:] = model.rewards
    fresh.theta[: len(model.theta)], fresh.root[: len(model.root)] = model.theta, model.root
    return fresh


@lean
def sigmoid(x):
    """1 / (1 + exp(-x)), without overflow."""
    small = math.exp(-abs(x))
    return 1.0 / (1.0 + small) if x >= 0.0 else small / (1.0 + small)


@lean
def regression_of(model, arm):
    return arm if model.theta.shape[0] > 1 else 0


@lean
def show_row(model, shown, arm):
    """row <- the features of an arm, with the constant column."""
    d = shown.shape[1]
    for i in range(d):
        model.row[i] = shown[arm, i]
    if model.row.shape[0] > d:
        model.row[d] = 1.0


@lean
def drawn_to(model, shown):
    """lam b, of the log odds b that an intercept is drawn to; 0 without one."""
    if model.row.shape[0] == shown.shape[1]:
        return 0.0
    number, total = model.rewards[0], model.rewards[1]
    return model.lam * math.log((total + 0.5) / (number - total + 0.5))


@lean
def log_odds(model, shown, arm):
    """Mean and variance of an arm's log odds, and f'R'e; leaves x in `row` and f = R'x in `turned`.
    O(d^2)."""
    show_row(model, shown, arm)
    m, n = regression_of(model, arm), model.row.shape[0]
    root, row, turned = model.root, model.row, model.turned
    turned[:] = 0.0
    for i in range(n):
        for j in range(n):
            turned[j] += root[m, i, j] * row[i]
    mean, side = inner(model.theta[m], row), inner(turned, root[m, n - 1])
    return mean + drawn_to(model, shown) * side, inner(turned, turned), side


@lean
def step_to_mode(reward, mean, square):
    """The a = r - p for which p = sigmoid(mean + a square): Newton's method inside an interval that
    bisection keeps shrinking."""
    low, high, before, closest = reward - 1.0, reward, 1.0, LEAST_STEP / max(1.0, square)
    step = reward - sigmoid(mean)
    for _ in range(STEPS):
        p = sigmoid(mean + step * square)
        above = step - reward + p
        if above > 0.0:
            high = step
        else:
            low = step
        following = step - above / (1.0 + square * p * (1.0 - p))
        if not low < following < high or abs(following - step) > 0.5 * before:
            following = 0.5 * (low + high)
        before = abs(following - step)
        step = following
        if before <= closest:
            break
    return step


@lean
def learn_reward(model, shown, arm, reward):
    """Take in one reward in [0, 1]. O(d^2)."""
    mean, square, side = log_odds(model, shown, arm)
    step = step_to_mode(reward, mean, square)
    p = sigmoid(mean + step * square)
    weight = p * (1.0 - p)
    grown = 1.0 + weight * square
    share = weight / (grown + math.sqrt(grown))
    m, n = regression_of(model, arm), model.row.shape[0]
    root, turned = model.root, model.turned
    step += drawn_to(model, shown) * side * weight / grown  # of a theta with a prior at 0
    for i in range(n):
        total = inner(root[m, i], turned)
        model.theta[m, i] += step * total
        for j in range(n):
            root[m, i, j] -= share * total * turned[j]
    model.rewards[0] += 1.0
    model.rewards[1] += reward


@lean
def draw_scores(model, shown, width, rng):
    """scores <- log odds of all arms in one draw of the coefficients, `width` times as far from
    theta as the law has them.

    O(K d + d^2) with one regression for all, else O(K d^2): an arm's log odds are normal, and
    independent of the others'.
    """
    K, n, direction = shown.shape[0], model.row.shape[0], model.direction
    if model.theta.shape[0] > 1:
        for k in range(K):
            mean, square, _ = log_odds(model, shown, k)
            model.scores[k] = mean + width * math.sqrt(square) * rng.standard_normal()
        return
    anchor = drawn_to(model, shown)
    for j in range(n):
        model.turned[j] = width * rng.standard_normal() + anchor * model.root[0, n - 1, j]
    for i in range(n):
        direction[i] = model.theta[0, i] + inner(model.root[0, i], model.turned)
    for k in range(K):
        show_row(model, shown, k)
        model.scores[k] = inner(model.row, direction)
