"""Ridge regression as linear policies need it: the mean and the width of every arm, kept by
rank-one updates.

V = lam I + sum x x', theta_hat = V^-1 sum r x, mean_k = x_k' theta_hat, square_k = x_k' V^-1 x_k.
Three forms with the same numbers, told apart by their class, one a file, and one with a V for each
arm:

- `ArmRidge` (fixed arms, few of them): M = X V^-1 X' alone, O(K^2) an update;
- `FeatureRidge` (fixed arms, many of them): V^-1, mean and square, O(K d + 2 d^2) an update;
- `ContextRidge` (new features every round): V^-1 and theta_hat, O(d^2) an update and O(K d^2) a
  prediction;
- `DisjointRidge` (an arm learns from its own rewards alone): K of those;
- `FadingRidge` (old rewards count less): two matrices, O(d^3) an update.

A rank-one update cancels as many digits as x'V^-1 x has before the point. So the rank-one path is
replaced by a fresh factorisation every REFRESH updates and after every update by more than LEAP;
the logarithm of det V grows by log LEAP then, which happens a few times for each of the d
dimensions at most. A factorisation that fails, or numbers that are not finite, raise.
"""

import math
from functools import singledispatch
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from ..compiled.kernels import jit, lean, returns_views
from ..core.fields import Count, Derived, Extended, Finite, RewardSum, Scratch, Squarable
from ..core.policy import verb
from ..core.verbs import Arms, Context, allowed, value_or
from .counts import argmax
from .linalg import (
    check_digits,
    cholesky,
    definite_cholesky,
    inner,
    log_det,
    require_finite,
    scaled_identity,
    solve_lower,
    solve_lower_transposed,
    update_factor,
)
from .logistic import ArmLogistic, SharedLogistic
from .posterior import best_of_normals

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
]

# Verbs that every form of the regression answers.


@verb
def learn(model, context, arm, reward, most):
    """Take in one reward. Returns an error e and a divisor c: with theta drawn to 0 the least
    penalised sum of squares grows by e^2 / c.

    Of rank-one forms these are sqrt(w) (r - x'theta_hat) and 1 + w x'V^-1 x. most: of w x'V^-1 x,
    the weight w is below 1 where it would be more; inf: all rewards weigh 1.
    """


class OneRegression:
    """The verbs of forms that have one regression for all arms, for those without an own answer."""

    @verb
    def predict(self, context):
        """Bring mean and square up to date for this round's arms. Where these stay, `learn` did."""

    @verb
    def untried(self, eligible):
        """How many eligible arms have a regression of their own and no reward yet. O(K)."""
        return 0

    @verb
    def best_arm(self, values, eligible, untried_first):
        """Lowest index of the largest value among the eligible arms. O(K).

        untried_first: among those alone of which nothing is known, because they have a regression
        of their own and no reward yet, if there are.
        """
        return argmax(values, eligible)

    @verb
    def penalty(self):
        """lam ||theta_hat||^2 for each of the directions that are known, d - lam tr V^-1 of them by
        parts: the mean square of a coefficient, in the units of a squared reward. O(d), for a
        regression each O(K d)."""
        unknown, d = 0.0, self.theta.shape[0]
        for i in range(d):
            unknown += self.inverse[i, i]
        return mean_square(self.lam, anchored_size(self), d - self.lam * unknown)

    @verb
    def regained(self):
        """How much less the least penalised sum of squares is with an intercept drawn to m / c than
        with one drawn to 0. O(1), or O(K)."""
        last = self.theta.shape[0] - 1
        return regained_by(self, anchor_of(self), self.theta[last], self.inverse[last, last])

    @verb
    def sample(self, scale, out, rng):
        """Fill out (K,) with x_k' theta, theta ~ N(theta_hat, scale^2 V^-1): one joint draw. Call
        `predict` first."""
        sample_theta(self, scale, self.features, out, rng)

    @verb
    def win_chances(self, scale, eligible, untried_first, out):
        """Fill out (K,) with the chance of each arm that `sample` makes it the `best_arm`, and say
        whether it did; False where the arms' draws depend on each other, or one is certain. Call
        `predict` first. O(K^2) evaluations of a normal distribution."""
        return False

    @verb
    def correlate(self, arm, out):
        """out[k] <- x_k' V^-1 x_arm. Call `predict` first. O(K d + d^2)."""
        multiply(self.inverse, self.features[arm], self.direction)
        for k in range(out.shape[0]):
            out[k] = inner(self.features[k], self.direction)

    @verb
    def add_features(self, context, total, arm, weight):
        """total += weight x_arm, for a sum of features: weights on the arms where the model lives
        in arm space, a vector elsewhere."""
        features = value_or(context.features, self.features)
        for i in range(total.shape[0]):
            total[i] += weight * features[arm, i]

    @verb
    def project(self, total, cross):
        """Mean and squared width <theta_hat, z>, z' V^-1 z of z = total; cross[k] <- x_k' V^-1 z.
        Call `predict` first. O(d^2 + K d)."""
        K, d = self.features.shape
        self.direction[:] = 0.0
        for j in range(d):
            for i in range(d):
                self.direction[i] += total[j] * self.inverse[j, i]
        for k in range(K):
            cross[k] = inner(self.features[k], self.direction)
        return inner(total, self.theta), max(inner(total, self.direction), 0.0)


predict, correlate = OneRegression.predict, OneRegression.correlate
add_features, project = OneRegression.add_features, OneRegression.project
untried, best_arm, penalty = OneRegression.untried, OneRegression.best_arm, OneRegression.penalty
regained, sample = OneRegression.regained, OneRegression.sample
win_chances = OneRegression.win_chances


@verb
def refresh(model):
    """Replace the rank-one path by a fresh factorisation."""


# Parts that the forms share: the factor of V from the pulls, its inverse, a prediction, one
# rank-one step, a draw of theta.


REFRESH = 4096  # updates between two factorisations
LEAP = (
    1e4  # 1 + x'V^-1 x above which an update costs four digits, and is followed by a factorisation
)
# relative difference of two ways to compute 1 + x'V^-1 x at which the rank-one path is given up
AGREEMENT = 1e-8

LEAST_SHARE = 1e-9  # of a direction: below it nothing is known of the size of theta
WIDE_DIMENSION = 16  # dimensions from which vector registers pay


@lean
def factorise_pulls(model, row):
    """factor of V = lam I + sum_k pulls_k x_k x_k' by plane rotations, without V itself, and its
    log-determinant. O(K d^2).

    V would lose lam beside large features; its factor keeps half of those digits. row: (d,)
    scratch.
    """
    K, d = model.features.shape
    scaled_identity(model.factor, math.sqrt(model.lam))
    for k in range(K):
        if model.pulls[k] > 0.0:
            weight = math.sqrt(model.pulls[k])
            for i in range(d):
                row[i] = weight * model.features[k, i]
            update_factor(model.factor, row)
    model.log_det[0] = log_det(model.factor) - d * math.log(model.lam)
    model.updates[0] = 0.0


@lean
def anchor_of(model):
    """lam m / c, what an intercept adds to the last entry of sum r x: its coefficient is drawn to m
    / c and not to 0. 0 without one."""
    return (
        model.lam * model.centre[0] / model.column[0]
        if model.intercept and model.column[0] > 0.0
        else 0.0
    )


@lean
def column_of(model, shown):
    """The constant column: what it is since the first reward, and until then the root mean square
    of these rows' norms (1 for zeros)."""
    if model.column[0] > 0.0:
        return model.column[0]
    total, d = 0.0, model.features.shape[1] - 1
    for k in range(shown.shape[0]):
        for i in range(d):
            total += shown[k, i] * shown[k, i]
    return math.sqrt(total / shown.shape[0]) if total > 0.0 else 1.0


@lean
def fill_row(model, shown, arm):
    """row <- the features of an arm that a reward has come for, with the constant column.

    The first reward fixes the column where it is not known: the norm of its arm's row, which is all
    that a log tells of the round.
    """
    d = model.features.shape[1] - model.intercept
    for i in range(d):
        model.row[i] = shown[arm, i]
    if model.intercept:
        if model.column[0] == 0.0:
            total = inner(model.row[:d], model.row)
            model.column[0] = math.sqrt(total) if total > 0.0 else 1.0
        model.row[d] = model.column[0]


@lean
def mean_square(lam, size, known):
    """lam ||theta||^2 = lam size for each of the directions that are known, by parts; 0 where none
    is."""
    return lam * size / known if known > LEAST_SHARE else 0.0


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


@lean
def multiply(inverse, x, out):
    """out <- inverse x. O(d^2).

    A sum is one addition after another, and each waits for the one before, so four run side by
    side; from WIDE_DIMENSION on all of them do in vector registers, over the rows of the inverse,
    which is symmetric but for its last bits.
    """
    d = x.shape[0]
    if d < WIDE_DIMENSION:
        fours = d - d % 4
        for i in range(0, fours, 4):
            first, second, third, fourth = 0.0, 0.0, 0.0, 0.0
            for j in range(d):
                first += inverse[i, j] * x[j]
                second += inverse[i + 1, j] * x[j]
                third += inverse[i + 2, j] * x[j]
                fourth += inverse[i + 3, j] * x[j]
            out[i], out[i + 1], out[i + 2], out[i + 3] = first, second, third, fourth
        if d - fours == 3:
            first, second, third = 0.0, 0.0, 0.0
            for j in range(d):
                first += inverse[fours, j] * x[j]
                second += inverse[fours + 1, j] * x[j]
                third += inverse[fours + 2, j] * x[j]
            out[fours], out[fours + 1], out[fours + 2] = first, second, third
        elif d - fours == 2:
            first, second = 0.0, 0.0
            for j in range(d):
                first += inverse[fours, j] * x[j]
                second += inverse[fours + 1, j] * x[j]
            out[fours], out[fours + 1] = first, second
        elif fours < d:
            total = 0.0
            for j in range(d):
                total += inverse[fours, j] * x[j]
            out[fours] = total
        return
    for i in range(d):
        out[i] = 0.0
    eights = d - d % 8
    for j in range(
        0, eights, 8
    ):  # a sum that stays in its register for eight terms is read and written an eighth as often
        a, b, c, e, f, g, h, k = (
            x[j],
            x[j + 1],
            x[j + 2],
            x[j + 3],
            x[j + 4],
            x[j + 5],
            x[j + 6],
            x[j + 7],
        )
        for i in range(d):
            four = (
                ((out[i] + inverse[j, i] * a) + inverse[j + 1, i] * b) + inverse[j + 2, i] * c
            ) + inverse[j + 3, i] * e
            out[i] = (
                ((four + inverse[j + 4, i] * f) + inverse[j + 5, i] * g) + inverse[j + 6, i] * h
            ) + inverse[j + 7, i] * k
    for j in range(eights, d):
        entry = x[j]
        for i in range(d):
            out[i] += inverse[j, i] * entry


@lean
def predict_arm(model, arm, inverse, theta, shown, column, anchor):
    """mean and square of one arm with these features, which are kept, and the constant column.
    O(d^2).

    inverse: V^-1, whose last column times the anchor is what an intercept adds to theta.
    """
    direction, x, d = model.direction, model.features[arm], model.features.shape[1]
    if model.intercept:
        x[d - 1] = column
        for i in range(d - 1):
            x[i] = shown[arm, i]
    else:
        for i in range(d):
            x[i] = shown[arm, i]
    multiply(inverse, x, direction)
    mean, square = 0.0, 0.0
    for i in range(d):
        square += direction[i] * x[i]
        mean += theta[i] * x[i]
    if model.intercept:
        mean += anchor * direction[d - 1]
    model.mean[arm], model.square[arm] = mean, max(square, 0.0)


@lean
def anchored_size(model):
    """||theta - (m / c) e||^2 for the theta that an intercept's anchor moves, e the last unit
    vector. O(d)."""
    theta, inverse, d, size = model.theta, model.inverse, model.theta.shape[0], 0.0
    if not model.intercept:
        return inner(theta, theta)
    anchor = anchor_of(model)
    for i in range(d - 1):
        entry = theta[i] + anchor * inverse[i, d - 1]
        size += entry * entry
    entry = theta[d - 1] + anchor * inverse[d - 1, d - 1] - anchor / model.lam
    return size + entry * entry


@lean
def regained_by(model, anchor, last, corner):
    """`regained` of one regression: last, corner: the last entries of theta and of V^-1."""
    return anchor * (2.0 * last + anchor * corner - anchor / model.lam)


@lean
def weight_within(most, square):
    return 1.0 if square <= most else most / square


@lean
def rank_one(model, x, most):
    """V <- V + w x x' in inverse, log_det and factor; leaves V^-1 x (old V) in direction and
    returns w and 1 + w x'V^-1 x."""
    d = x.shape[0]
    inverse, direction = model.inverse, model.direction
    if model.keeps_factor:  # who draws theta gives all rewards the weight 1
        for i in range(d):
            direction[i] = x[i]
        update_factor(model.factor, direction)
    multiply(inverse, x, direction)
    denominator = 1.0
    for i in range(d):
        denominator += direction[i] * x[i]
    weight = weight_within(most, denominator - 1.0)
    if weight < 1.0:
        denominator = 1.0 + most
    for i in range(d):
        share = weight * direction[i] / denominator
        for j in range(d):
            inverse[i, j] -= share * direction[j]
    model.log_det[0] += math.log(
        max(denominator, 1.0)
    )  # below 1 digits are lost, and a factorisation follows
    model.updates[0] += 1.0
    return weight, denominator


@lean
def sample_theta(model, scale, features, out, rng):
    """out <- features @ theta for one theta ~ N(theta_hat, scale^2 V^-1), from the factor of V."""
    K, d = features.shape
    for i in range(d):
        model.direction[i] = rng.standard_normal()
    solve_lower_transposed(model.factor, model.direction)
    for i in range(d):
        model.direction[i] = model.theta[i] + scale * model.direction[i]
    if model.intercept:
        anchor = anchor_of(model)
        for i in range(d):
            model.direction[i] += anchor * model.inverse[i, d - 1]
    for k in range(K):
        out[k] = inner(features[k], model.direction)


# `ArmRidge`: the regression in the space of the arms, where features are fixed and few arms share
# many of them.


@verb
def model_in(model, row):
    """The model of a row, where every array has an axis of rows before its own: views of it."""


class ArmRidge(NamedTuple):
    features: Derived  # (K, d)
    lam: float
    mean: Finite  # (K,)
    square: Finite  # (K,) diagonal of product
    log_det: Finite  # (1,) log det(V) - d log(lam)
    pulls: Count  # (K,)
    sums: RewardSum  # (K,)
    updates: Count  # (1,) since the last factorisation
    product: Finite  # (K, K) M = X V^-1 X'
    column_of_product: Scratch  # (K,)
    row: Scratch  # (d,)
    solved: Extended  # (K, d) L^-1 x_k at the last factorisation
    factor: Finite  # (d, d) L at the last factorisation
    square_root: Scratch  # (K, K) of sample
    base: Finite  # (K,) mean with an intercept that is drawn to 0; not used without one
    side: Finite  # (K,) X V^-1 e, e the last unit vector
    # (6,) what `penalty` and `regained` are made of, see `measure`; kept by `learn`, where they
    # cost little
    parts: Finite
    column: Squarable  # (1,) c, the constant column
    centre: Finite  # (1,) m, what an intercept is drawn to
    intercept: bool  # whether the last column is constant

    def model_in(self, row):
        return ArmRidge(
            self.features[row],
            self.lam,
            self.mean[row],
            self.square[row],
            self.log_det[row],
            self.pulls[row],
            self.sums[row],
            self.updates[row],
            self.product[row],
            self.column_of_product[row],
            self.row[row],
            self.solved[row],
            self.factor[row],
            self.square_root[row],
            self.base[row],
            self.side[row],
            self.parts[row],
            self.column[row],
            self.centre[row],
            self.intercept,
        )

    @jit
    def learn(self, context, arm, reward, most):
        K = self.mean.shape[0]
        column, product, pulls, sums, side, parts = (
            self.column_of_product,
            self.product,
            self.pulls,
            self.sums,
            self.side,
            self.parts,
        )
        for k in range(K):
            column[k] = product[arm, k]
        weight = weight_within(most, column[arm])
        denominator = 1.0 + weight * column[arm]
        pulls[arm] += weight
        sums[arm] += weight * reward
        self.log_det[0] += math.log(max(denominator, 1.0))
        intercept = self.intercept
        surprise = reward - (self.base[arm] if intercept else self.mean[arm])
        error = weight * surprise / denominator
        for i in range(K):
            share = weight * column[i] / denominator
            for j in range(K):
                product[i, j] -= share * column[j]
        if intercept:  # a loop for each array, which runs in vector registers
            base, anchor, own = self.base, anchor_of(self), weight * side[arm] / denominator
            parts[4] += side[arm] * error
            parts[5] -= side[arm] * own
            for i in range(K):
                base[i] += column[i] * error
            for i in range(K):
                side[i] -= column[i] * own
            for i in range(K):
                self.mean[i] = base[i] + anchor * side[i]
        else:
            for i in range(K):
                self.mean[i] += column[i] * error
        for i in range(K):
            self.square[i] = max(product[i, i], 0.0)
        sum_parts(self)
        self.updates[0] += 1.0
        if self.updates[0] >= REFRESH or not denominator < LEAP:
            refresh(self)
        return math.sqrt(weight) * surprise, denominator

    @jit
    def penalty(self):
        size, parts = self.parts[0], self.parts
        if self.intercept:  # lam ||theta + anchor h - drawn e||^2
            anchor, lam = anchor_of(self), self.lam
            drawn = anchor / lam
            last = parts[4] + anchor * parts[5]
            size += anchor * (2.0 * parts[2] + anchor * parts[3]) + lam * drawn * (
                drawn - 2.0 * last
            )
        return mean_square(1.0, max(size, 0.0), parts[1])

    @jit
    def regained(self):
        return regained_by(self, anchor_of(self), self.parts[4], self.parts[5])

    @jit
    def refresh(self):
        K, d = self.features.shape
        factorise_pulls(self, self.row)
        for k in range(K):
            for i in range(d):
                self.solved[k, i] = self.features[k, i]
            solve_lower(self.factor, self.solved[k])
        for k in range(K):
            for j in range(k + 1):
                self.product[k, j] = inner(self.solved[k], self.solved[j])
                self.product[j, k] = self.product[k, j]
            self.square[k] = self.product[k, k]
        for i in range(K):
            self.base[i] = inner(self.product[i], self.sums)
        measure_arms(self)
        require_finite(self.mean)
        require_finite(self.square)

    @jit
    def sample(self, scale, out, rng):
        K = out.shape[0]
        cholesky(self.product, self.square_root)
        for k in range(K):
            self.column_of_product[k] = rng.standard_normal()
        for k in range(K):
            total = 0.0
            for j in range(k + 1):
                total += self.square_root[k, j] * self.column_of_product[j]
            out[k] = self.mean[k] + scale * total

    @jit
    def correlate(self, arm, out):
        for k in range(out.shape[0]):
            out[k] = self.product[arm, k]

    @jit
    def add_features(self, context, total, arm, weight):
        total[arm] += weight

    @jit
    def project(self, total, cross):
        K = total.shape[0]
        cross[:] = 0.0
        for j in range(K):
            if total[j] != 0.0:
                for k in range(K):
                    cross[k] += total[j] * self.product[j, k]
        return inner(total, self.mean), max(inner(total, cross), 0.0)


@lean
def measure_arms(model):
    """mean, side and parts after a factorisation, whose factor and solved rows are L and L^-1 x_k.
    O(K d + d^2)."""
    K, d = model.features.shape
    last = 0.0
    for k in range(K):
        model.mean[k] = model.base[k]
    if model.intercept:
        anchor = anchor_of(model)
        for i in range(d):
            model.row[i] = 1.0 if i == d - 1 else 0.0
        solve_lower(model.factor, model.row)
        corner = inner(model.row, model.row)
        for k in range(K):
            side = inner(model.solved[k], model.row)
            model.side[k] = side
            model.mean[k] += anchor * side
            last += side * model.sums[k]
        model.parts[4], model.parts[5] = last, corner
    sum_parts(model)


@lean
def sum_parts(model):
    """The first four parts from sums over the arms. O(K).

    parts: lam ||theta||^2; the known directions; and with h = V^-1 e, e the last unit vector, lam
    theta'h, lam ||h||^2 (since lam h = e - sum_k pulls_k x_k x_k'h), and the last entries of theta
    and h. theta with an intercept that is drawn to 0.
    """
    pulls, sums, side, parts = model.pulls, model.sums, model.side, model.parts
    mean = model.base if model.intercept else model.mean
    size, known, cross, aside = 0.0, 0.0, 0.0, 0.0
    for k in range(pulls.shape[0]):
        known += pulls[k] * model.square[k]
        size += mean[k] * (sums[k] - pulls[k] * mean[k])
        if model.intercept:
            pulled = pulls[k] * side[k]
            cross += pulled * mean[k]
            aside += pulled * side[k]
    parts[0], parts[1], parts[2], parts[3] = (
        max(size, 0.0),
        known,
        parts[4] - cross,
        parts[5] - aside,
    )


# `ContextRidge`: the regression where the arms have new features every round.


class ContextRidge(NamedTuple):
    features: Finite  # (K, d) of the last prediction
    lam: float
    mean: Finite  # (K,) at the last prediction
    square: Finite  # (K,)
    log_det: Finite  # (1,) log det(V) - d log(lam)
    updates: Count  # (1,) since the last factorisation
    theta: Finite  # (d,)
    inverse: Finite  # (d, d) V^-1
    direction: Scratch  # (d,)
    design: Finite  # (d, d) V
    response: Finite  # (d,) sum r x
    factor: Finite  # (d, d) as in FeatureRidge
    keeps_factor: bool
    row: Scratch  # (d,) an arm's features, with the constant column
    column: Squarable  # (1,) c, the constant column; 0: not known before the first reward
    centre: Finite  # (1,) m, what an intercept is drawn to
    # whether the last column is constant; theta and response are those of an intercept that is
    # drawn to 0
    intercept: bool

    def model_in(self, row):
        return ContextRidge(
            self.features[row],
            self.lam,
            self.mean[row],
            self.square[row],
            self.log_det[row],
            self.updates[row],
            self.theta[row],
            self.inverse[row],
            self.direction[row],
            self.design[row],
            self.response[row],
            self.factor[row],
            self.keeps_factor,
            self.row[row],
            self.column[row],
            self.centre[row],
            self.intercept,
        )

    @jit
    def predict(self, context):
        column, anchor = (
            column_of(self, context.features) if self.intercept else 0.0,
            anchor_of(self),
        )
        for k in range(self.features.shape[0]):
            predict_arm(self, k, self.inverse, self.theta, context.features, column, anchor)

    @jit
    def learn(self, context, arm, reward, most):
        d = self.theta.shape[0]
        fill_row(self, context.features, arm)
        x, error = self.row, reward
        weight, denominator = rank_one(self, x, most)
        for i in range(d):
            error -= self.theta[i] * x[i]
            self.response[i] += weight * reward * x[i]
            for j in range(d):
                self.design[i, j] += weight * x[i] * x[j]
        for i in range(d):
            self.theta[i] += self.direction[i] * weight * error / denominator
        if self.updates[0] >= REFRESH or not 1.0 <= denominator < LEAP:
            refresh(self)
        return math.sqrt(weight) * error, max(denominator, 1.0)

    @jit
    def refresh(self):
        d = self.theta.shape[0]
        definite_cholesky(self.design, self.factor)
        self.log_det[0] = log_det(self.factor) - d * math.log(self.lam)
        self.updates[0] = 0.0
        for i in range(d):
            self.theta[i] = self.response[i]
        solve_lower(self.factor, self.theta)
        solve_lower_transposed(self.factor, self.theta)
        invert_from_factor(self.factor, self.inverse, self.direction)
        require_finite(self.theta)


def shown_features(
    arms: Arms, lam: float, intercept: bool, column: float
) -> tuple[np.ndarray, float]:
    """The features (K, d) of arms that keep them, or zeros until the first round shows some, and
    the constant column.

    column: the constant column where it is known; 0: it is not, and of arms that keep their
    features it is `size_of` them. Refuses fewer than six digits.
    """
    features = np.zeros((arms.number, arms.dimension + intercept))
    if arms.features is not None:
        features[:, : arms.dimension] = arms.features
        check_digits("arms", features, lam, arms.horizon, root=False)
        column = (column or size_of(arms.features)) if intercept else 0.0
    if intercept:
        features[:, -1] = column
    return features, column


def size_of(features: np.ndarray) -> float:
    """The root mean square of the rows' norms; 1 for zeros."""
    return float(np.sqrt((features * features).sum() / len(features))) or 1.0


# `DisjointRidge`: a regression for each arm by itself, which learns from that arm's rewards alone.


class DisjointRidge(NamedTuple):
    features: Finite  # (K, d) fixed, or of the last prediction
    lam: float
    mean: Finite  # (K,) at the last prediction
    square: Finite  # (K,)
    # (1,) the largest of log_dets, plus 2 ln K: a set at level delta then holds for all arms at
    # once
    log_det: Finite
    log_dets: Finite  # (K,) log det(V_k) - d log(lam)
    pulls: Count  # (K,) rewards of each arm
    updates: Count  # (K,) since the arm's last factorisation
    theta: Finite  # (K, d)
    inverse: Finite  # (K, d, d) V_k^-1
    direction: Scratch  # (d,)
    design: Finite  # (K, d, d) V_k
    response: Finite  # (K, d) sum r x
    factor: Scratch  # (d, d)
    # (K, 6) what `penalty` and `regained` are sums of, see `measure`; a reward changes one arm's
    parts: Finite
    row: Scratch  # (d,) an arm's features, with the constant column
    column: Squarable  # (1,) c, the constant column; 0: not known before the first reward
    centre: Finite  # (1,) m, what the intercepts of all arms are drawn to
    # whether the last column is constant; theta and response are those of intercepts that are drawn
    # to 0
    intercept: bool

    @jit
    def predict(self, context):
        shown = value_or(context.features, self.features)
        column, anchor = column_of(self, shown) if self.intercept else 0.0, anchor_of(self)
        for k in range(self.features.shape[0]):
            predict_arm(self, k, self.inverse[k], self.theta[k], shown, column, anchor)

    @jit
    def learn(self, context, arm, reward, most):
        shown = value_or(context.features, self.features)
        learned = learn(
            regression_of(self, arm), Context(shown, None, None, None), arm, reward, most
        )
        measure_arm(self, arm)
        self.pulls[arm] += 1.0
        return learned

    @jit
    def untried(self, eligible):
        number = 0
        for k in range(self.pulls.shape[0]):
            number += 1 if allowed(eligible, k) and self.pulls[k] == 0.0 else 0
        return number

    @jit
    def best_arm(self, values, eligible, untried_first):
        best, top, alone = -1, -math.inf, False
        for k in range(values.shape[0]):
            if allowed(eligible, k):
                fresh = untried_first and self.pulls[k] == 0.0
                if best < 0 or (fresh and not alone) or (fresh == alone and values[k] > top):
                    best, top, alone = k, values[k], fresh
        return best

    @jit
    def penalty(self):
        K, size, unknown, anchor, parts = self.parts.shape[0], 0.0, 0.0, anchor_of(self), self.parts
        drawn = anchor / self.lam
        for k in range(K):
            size += parts[k, 0]
            unknown += parts[k, 1]
            if self.intercept:  # ||theta + anchor V^-1 e - drawn e||^2
                last = parts[k, 4] + anchor * parts[k, 5]
                size += anchor * (2.0 * parts[k, 2] + anchor * parts[k, 3]) + drawn * (
                    drawn - 2.0 * last
                )
        return mean_square(self.lam, max(size, 0.0), self.theta.size - self.lam * unknown)

    @jit
    def regained(self):
        total, anchor = 0.0, anchor_of(self)
        if self.intercept:
            for k in range(self.parts.shape[0]):
                total += regained_by(self, anchor, self.parts[k, 4], self.parts[k, 5])
        return total

    @jit
    def refresh(self):
        for k in range(self.log_dets.shape[0]):
            refresh(regression_of(self, k))
            measure_arm(self, k)

    @jit
    def sample(self, scale, out, rng):
        for k in range(
            out.shape[0]
        ):  # the arms' thetas are independent, so one normal an arm has the law of all of them
            out[k] = self.mean[k] + scale * math.sqrt(self.square[k]) * rng.standard_normal()

    @jit
    def win_chances(self, scale, eligible, untried_first, out):
        K, fresh = out.shape[0], False
        mean, deviation, arms, chance, count = (
            np.empty(K),
            np.empty(K),
            np.empty(K, dtype=np.int64),
            np.empty(K),
            0,
        )
        for k in range(K):
            fresh = fresh or (untried_first and allowed(eligible, k) and self.pulls[k] == 0.0)
        for k in range(K):
            out[k] = 0.0
            if allowed(eligible, k) and not (fresh and self.pulls[k] > 0.0):
                mean[count], deviation[count], arms[count] = (
                    self.mean[k],
                    scale * math.sqrt(self.square[k]),
                    k,
                )
                count += 1
        known = best_of_normals(mean[:count], deviation[:count], chance[:count])
        for i in range(count):
            out[arms[i]] = chance[i]
        return known


def new_disjoint_ridge(
    arms: Arms, lam: float, forget: float = 1.0, *, intercept: bool = False, column: float = 0.0
) -> DisjointRidge:
    """The models without data; column: the constant one, where it is known.

    Refuses a single arm, forgetting, and fixed features that leave fewer than six digits.
    """
    K, d = arms.number, arms.dimension
    if K < 2:
        raise ValueError(
            "shared = False keeps a regression for each arm, but there is one arm; give their "
            "number, arms=K with dimension=d, or let candidates that come anew with every call "
            "share one (shared=True)."
        )
    if forget < 1.0:
        raise ValueError(
            f"forget = {forget:g} is for one regression that all arms share; leave shared=True, "
            "or forget=1."
        )
    features, column = shown_features(arms, lam, intercept, column)
    d += intercept
    model = DisjointRidge(
        features,
        lam,
        np.zeros(K),
        np.zeros(K),
        np.array([2.0 * math.log(K)]),
        np.zeros(K),
        np.zeros(K),
        np.zeros(K),
        np.zeros((K, d)),
        np.tile(np.eye(d) / lam, (K, 1, 1)),
        np.zeros(d),
        np.tile(lam * np.eye(d), (K, 1, 1)),
        np.zeros((K, d)),
        np.zeros((d, d)),
        np.zeros((K, 6)),
        np.zeros(d),
        np.array([column]),
        np.zeros(1),
        intercept,
    )
    for k in range(K):
        measure_arm(model, k)
    return model


@returns_views
def regression_of(model, arm):
    return ContextRidge(
        model.features,
        model.lam,
        model.mean,
        model.square,
        model.log_dets[arm : arm + 1],
        model.updates[arm : arm + 1],
        model.theta[arm],
        model.inverse[arm],
        model.direction,
        model.design[arm],
        model.response[arm],
        model.factor,
        False,
        model.row,
        model.column,
        model.centre,
        model.intercept,
    )


@jit
def measure_arm(model, arm):
    """Bring log_det and parts up to date with one arm's regression: ||theta||^2, tr V^-1, and with
    h the last column of V^-1, theta'h,
    ||h||^2, and the last entries of theta and h."""
    K, d = model.theta.shape
    model.log_det[0] = max(model.log_det[0], model.log_dets[arm] + 2.0 * math.log(K))
    theta, inverse, parts = model.theta[arm], model.inverse[arm], model.parts[arm]
    size, trace, product, side = 0.0, 0.0, 0.0, 0.0
    for i in range(d):
        size += theta[i] * theta[i]
        trace += inverse[i, i]
    if model.intercept:
        for i in range(d):
            product += theta[i] * inverse[d - 1, i]
            side += inverse[d - 1, i] * inverse[d - 1, i]
    parts[0], parts[1], parts[2], parts[3], parts[4], parts[5] = (
        size,
        trace,
        product,
        side,
        theta[d - 1],
        inverse[d - 1, d - 1],
    )


# `FadingRidge`: the regression where old rewards count less, for a theta that drifts.


class FadingRidge(NamedTuple):
    features: Finite  # (K, d) fixed, or of the last prediction
    lam: float
    forget: float
    mean: Finite  # (K,) at the last prediction
    square: Finite  # (K,) x' V^-1 W V^-1 x
    log_det: Finite  # (1,) log det(W) - d log(lam), by which the confidence radius grows
    theta: Finite  # (d,)
    inverse: Finite  # (d, d) V^-1 W V^-1
    root: Finite  # (d, d) its lower Cholesky factor
    design: Finite  # (d, d) V
    squared: Finite  # (d, d) W
    response: Finite  # (d,) sum w r x
    factor: Scratch  # (d, d)
    product: Scratch  # (d, d)
    direction: Scratch  # (d,)
    side: Finite  # (d,) last column of V^-1
    anchored: Scratch  # (d,) theta with an intercept that is drawn to m / c
    row: Scratch  # (d,) an arm's features, with the constant column
    column: Squarable  # (1,) c, the constant column; 0: not known before the first reward
    centre: Finite  # (1,) m, what an intercept is drawn to
    # whether the last column is constant; theta and response are those of an intercept that is
    # drawn to 0
    intercept: bool

    @jit
    def predict(self, context):
        shown, anchor = value_or(context.features, self.features), anchor_of(self)
        column = column_of(self, shown) if self.intercept else 0.0
        for i in range(self.theta.shape[0]):
            self.anchored[i] = self.theta[i] + anchor * self.side[i]
        for k in range(self.features.shape[0]):
            predict_arm(self, k, self.inverse, self.anchored, shown, column, 0.0)

    @jit
    def learn(self, context, arm, reward, most):
        fill_row(self, value_or(context.features, self.features), arm)
        x, d, growth = self.row, self.theta.shape[0], reward * reward
        for i in range(d):  # the least sum is sum w r^2 - theta_hat' sum w r x, before and after
            growth += self.forget * self.theta[i] * self.response[i]
        fade(self.design, self.forget, self.lam)
        fade(self.squared, self.forget * self.forget, self.lam)
        for i in range(d):
            self.response[i] = self.forget * self.response[i] + reward * x[i]
            for j in range(d):
                self.design[i, j] += x[i] * x[j]
                self.squared[i, j] += x[i] * x[j]
        refresh(self)
        for i in range(d):
            growth -= self.theta[i] * self.response[i]
        return math.sqrt(max(growth, 0.0)), 1.0

    @jit
    def penalty(self):
        size, unknown, d, anchor = 0.0, 0.0, self.theta.shape[0], anchor_of(self)
        for i in range(d):
            entry = (
                self.theta[i] + anchor * self.side[i] - (anchor / self.lam if i == d - 1 else 0.0)
            )
            size += entry * entry
            unknown += self.inverse[i, i]
        return mean_square(self.lam, size, d - self.lam * unknown)

    @jit
    def regained(self):
        last = self.theta.shape[0] - 1
        return regained_by(self, anchor_of(self), self.theta[last], self.side[last])

    @jit
    def refresh(self):
        d, inverse, factor = self.theta.shape[0], self.inverse, self.factor
        definite_cholesky(self.squared, factor)
        self.log_det[0] = log_det(factor) - d * math.log(self.lam)
        definite_cholesky(self.design, factor)
        for i in range(d):
            self.theta[i] = self.response[i]
            self.side[i] = 1.0 if i == d - 1 else 0.0
        solve_lower(factor, self.theta)
        solve_lower_transposed(factor, self.theta)
        solve_lower(factor, self.side)
        solve_lower_transposed(factor, self.side)
        require_finite(self.theta)
        invert_from_factor(factor, inverse, self.direction)
        sandwich(inverse, self.squared, self.product, factor)
        definite_cholesky(inverse, self.root)

    @jit
    def sample(self, scale, out, rng):
        d, direction = self.theta.shape[0], self.direction
        for i in range(d):
            direction[i] = rng.standard_normal()
        for i in range(d - 1, -1, -1):  # in place: row i needs the entries up to i only
            total = 0.0
            for j in range(i + 1):
                total += self.root[i, j] * direction[j]
            direction[i] = self.anchored[i] + scale * total
        for k in range(out.shape[0]):
            total = 0.0
            for i in range(d):
                total += self.features[k, i] * direction[i]
            out[k] = total


def new_fading_ridge(
    arms: Arms, lam: float, forget: float, *, intercept: bool = False, column: float = 0.0
) -> FadingRidge:
    """The model without data; column: the constant one, where it is known. Refuses fixed features
    that leave fewer than six digits."""
    K, d = arms.number, arms.dimension + intercept
    eye = np.eye(d)
    features, column = shown_features(arms, lam, intercept, column)
    return FadingRidge(
        features,
        lam,
        forget,
        np.zeros(K),
        np.zeros(K),
        np.zeros(1),
        np.zeros(d),
        eye / lam,
        eye / math.sqrt(lam),
        lam * eye,
        lam * eye,
        np.zeros(d),
        np.zeros((d, d)),
        np.zeros((d, d)),
        np.zeros(d),
        eye[d - 1] / lam,
        np.zeros(d),
        np.zeros(d),
        np.array([column]),
        np.zeros(1),
        intercept,
    )


def remembered(rounds: int, forget: float) -> float:
    """sum of forget^(2 s) over s = 0 .. rounds - 1: how many rewards of full weight bound the
    determinant of W."""
    return (
        float(rounds) if forget == 1.0 else (1.0 - forget ** (2 * rounds)) / (1.0 - forget * forget)
    )


@lean
def fade(matrix, keep, lam):
    d = matrix.shape[0]
    for i in range(d):
        for j in range(d):
            matrix[i, j] *= keep
        matrix[i, i] += (1.0 - keep) * lam


@lean
def sandwich(inverse, squared, product, result):
    """inverse <- inverse squared inverse, symmetric to the bit; product and result are (d, d)
    scratch. O(d^3)."""
    d = inverse.shape[0]
    for i in range(d):
        for j in range(d):
            product[i, j] = inner(inverse[i], squared[:, j])
    for i in range(d):
        for j in range(i + 1):
            result[i, j] = inner(product[i], inverse[:, j])
    for i in range(d):
        for j in range(i + 1):
            inverse[i, j] = result[i, j]
            inverse[j, i] = result[i, j]


# `FeatureRidge`: the regression in the space of the features, where these are fixed and fewer than
# the arms.


class FeatureRidge(NamedTuple):
    features: Derived  # (K, d)
    lam: float
    mean: Finite  # (K,)
    square: Finite  # (K,)
    log_det: Finite  # (1,) log det(V) - d log(lam)
    pulls: Count  # (K,)
    sums: RewardSum  # (K,)
    updates: Count  # (1,) since the last factorisation
    theta: Finite  # (d,)
    inverse: Finite  # (d, d) V^-1
    direction: Scratch  # (d,)
    factor: (
        Finite  # (d, d) Cholesky factor of V at the last factorisation, of V itself if keeps_factor
    )
    keeps_factor: bool
    # (d, K) features: sums over d run side by side for all arms, in vector registers and unchanged
    # order
    transposed: Derived
    projection: Scratch  # (K,)
    base: Finite  # (K,) mean with an intercept that is drawn to 0; not used without one
    side: Finite  # (K,) X V^-1 e, e the last unit vector
    column: Squarable  # (1,) c, the constant column
    centre: Finite  # (1,) m, what an intercept is drawn to
    # whether the last column is constant; theta is that of an intercept that is drawn to 0
    intercept: bool

    def model_in(self, row):
        return FeatureRidge(
            self.features[row],
            self.lam,
            self.mean[row],
            self.square[row],
            self.log_det[row],
            self.pulls[row],
            self.sums[row],
            self.updates[row],
            self.theta[row],
            self.inverse[row],
            self.direction[row],
            self.factor[row],
            self.keeps_factor,
            self.transposed[row],
            self.projection[row],
            self.base[row],
            self.side[row],
            self.column[row],
            self.centre[row],
            self.intercept,
        )

    @jit
    def learn(self, context, arm, reward, most):
        K, d = self.features.shape
        weight, denominator = rank_one(self, self.features[arm], most)
        recursive = 1.0 + weight * self.square[arm]
        self.pulls[arm] += weight
        self.sums[arm] += weight * reward
        intercept = self.intercept
        surprise = reward - (self.base[arm] if intercept else self.mean[arm])
        error = weight * surprise / denominator
        for i in range(d):
            self.theta[i] += self.direction[i] * error
        projection = self.projection
        for k in range(K):
            projection[k] = 0.0
        for i in range(d):
            factor = self.direction[i]
            for k in range(K):
                projection[k] += self.transposed[i, k] * factor
        scale = weight / denominator
        if intercept:
            share, anchor = self.direction[self.theta.shape[0] - 1] * scale, anchor_of(self)
            for k in range(K):
                base, side = (
                    self.base[k] + projection[k] * error,
                    self.side[k] - projection[k] * share,
                )
                self.base[k], self.side[k], self.mean[k] = base, side, base + anchor * side
                self.square[k] = max(self.square[k] - projection[k] * projection[k] * scale, 0.0)
        else:
            for k in range(K):
                self.mean[k] += projection[k] * error
                self.square[k] = max(self.square[k] - projection[k] * projection[k] * scale, 0.0)
        drifted = (
            not abs(denominator - recursive) <= AGREEMENT * recursive
        )  # x'V^-1 x is known twice; true also of NaN
        if drifted or self.updates[0] >= REFRESH or denominator >= LEAP:
            refresh(self)
        return math.sqrt(weight) * surprise, denominator

    @jit
    def refresh(self):
        K, d = self.features.shape
        theta, direction = self.theta, self.direction
        factorise_pulls(self, direction)
        for i in range(d):
            theta[i] = inner(self.sums, self.features[:, i])
        solve_lower(self.factor, theta)
        for k in range(K):
            for i in range(d):
                direction[i] = self.features[k, i]
            solve_lower(self.factor, direction)
            self.base[k], self.square[k] = inner(direction, theta), inner(direction, direction)
        solve_lower_transposed(self.factor, theta)
        invert_from_factor(self.factor, self.inverse, direction)
        anchor = anchor_of(self)
        for k in range(K):
            if self.intercept:
                self.side[k] = inner(self.features[k], self.inverse[:, d - 1])
            self.mean[k] = self.base[k] + anchor * self.side[k]
        require_finite(self.mean)
        require_finite(self.square)


ALIKE = (
    "{}, but a round shows all of them the same row of features, so that nothing can tell them "
    "apart; take shared=False, a regression for each arm, or give a row of its own to every arm, "
    "(K, d)."
)

Ridge: TypeAlias = ArmRidge | FeatureRidge | ContextRidge | DisjointRidge | FadingRidge


def check_context(model: Ridge, features: np.ndarray | None) -> None:
    """Refuse a round's features (K, d) that leave fewer than six digits until the next
    factorisation, which checks what is left."""
    if features is not None:
        check_digits("context", features, model.lam, REFRESH, root=False)


def new_ridge(
    arms: Arms,
    lam: float,
    *,
    sampling: bool = False,
    form: str | None = None,
    intercept: bool = False,
    column: float = 0.0,
) -> Ridge:
    """The model without data. Refuses features that leave fewer than six digits, see `scaling`.

    sampling: `sample` will be called. form: "arm" | "feature" overrides the choice by cost, which
    is K^2 against K d + 2 d^2 an update; a joint draw costs K^3 / 3 against d^2. intercept: whether
    a constant column is added; column: what it is, where that is known.
    """
    K, d = arms.number, arms.dimension + intercept
    if arms.features is None:
        return ContextRidge(
            np.zeros((K, d)),
            lam,
            np.zeros(K),
            np.zeros(K),
            np.zeros(1),
            np.zeros(1),
            np.zeros(d),
            np.eye(d) / lam,
            np.zeros(d),
            lam * np.eye(d),
            np.zeros(d),
            math.sqrt(lam) * np.eye(d),
            sampling,
            np.zeros(d),
            np.array([column]),
            np.zeros(1),
            intercept,
        )
    X = np.ascontiguousarray(arms.features, dtype=np.float64)
    check_digits("arms", X, lam, arms.horizon, root=True)
    column = (column or size_of(X)) if intercept else 0.0
    if intercept:
        X = np.hstack([X, np.full((K, 1), column)])
    shared = (X, lam, np.zeros(K), np.zeros(K), np.zeros(1), np.zeros(K), np.zeros(K), np.zeros(1))
    around = (np.array([column]), np.zeros(1), intercept)
    model: ArmRidge | FeatureRidge
    if form == "arm" or (form is None and arms.dimension * (1 if sampling else 2) > K):
        model = ArmRidge(
            *shared,
            np.zeros((K, K)),
            np.zeros(K),
            np.zeros(d),
            np.zeros((K, d)),
            np.zeros((d, d)),
            np.zeros((K, K)),
            np.zeros(K),
            np.zeros(K),
            np.zeros(6),
            *around,
        )
    else:
        model = FeatureRidge(
            *shared,
            np.zeros(d),
            np.zeros((d, d)),
            np.zeros(d),
            np.zeros((d, d)),
            sampling,
            np.ascontiguousarray(X.T),
            np.zeros(K),
            np.zeros(K),
            np.zeros(K),
            *around,
        )
    refresh(model)
    return model


def new_model(
    arms: Arms,
    lam: float,
    *,
    shared: int,
    sampling: bool = False,
    forget: float = 1.0,
    intercept: bool = False,
) -> Ridge:
    """The model without data: one regression that all arms share, or one for each arm; forget < 1:
    one that old rewards fade in.

    shared: 1 or 0; below 0 it is by what a round shows: one row of features that is common to all
    arms tells them apart by a regression for each only. intercept: whether a constant column is
    added, whose coefficient is drawn to the mean of all rewards. Refuses one regression for arms
    that all look the same.
    """
    common = arms.common and arms.number > 1
    if shared < 0 and common and forget < 1.0:
        raise ValueError(
            ALIKE.format(f"forget = {forget:g} keeps one regression for all arms").replace(
                "shared=False, a", "forget=1, with a"
            )
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
    """In words, whether a state has a regression for each arm or one for all; None where it has
    none of these forms."""
    if isinstance(state, DisjointRidge | ArmLogistic):
        return "a regression for each arm"
    if isinstance(state, (ArmRidge, FeatureRidge, ContextRidge, FadingRidge, SharedLogistic)):
        return "one regression for all arms"
    forms = (
        (regressions_in(field) for field in state if hasattr(field, "_fields"))
        if hasattr(state, "_fields")
        else ()
    )
    return next((words for words in forms if words is not None), None)


@singledispatch
def deviations(model: Any) -> np.ndarray:
    """A (K, r) root of the arms' joint covariance X V^-1 X' at the last prediction, or the (K,)
    deviations of independent arms.

    For audits. By loops, because libraries share the products out among threads that wait for each
    other. O(K^3) or O(d^3 + K d^2).
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
