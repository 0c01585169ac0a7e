"""Parts that the forms share: the factor of V from the pulls, its inverse, a prediction, one rank-one step, a draw of theta."""

import math

from ...compiled.kernels import lean
from ..cholesky import log_det, scaled_identity, solve_lower, solve_lower_transposed, update_factor

REFRESH = 4096  # updates between two factorisations
LEAP = 1e4  # 1 + x'V^-1 x above which an update costs four digits, and is followed by a factorisation
AGREEMENT = 1e-8  # relative difference of two ways to compute 1 + x'V^-1 x at which the rank-one path is given up

LEAST_SHARE = 1e-9  # of a direction: below it nothing is known of the size of theta
WIDE_DIMENSION = 16  # dimensions from which vector registers pay


@lean
def factorise_pulls(model, row):
    """factor of V = lam I + sum_k pulls_k x_k x_k' by plane rotations, without V itself, and its log-determinant. O(K d^2).

    V would lose lam beside large features; its factor keeps half of those digits. row: (d,) scratch.
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
    """lam m / c, what an intercept adds to the last entry of sum r x: its coefficient is drawn to m / c and not to 0. 0 without one."""
    return model.lam * model.centre[0] / model.column[0] if model.intercept and model.column[0] > 0.0 else 0.0


@lean
def column_of(model, shown):
    """The constant column: what it is since the first reward, and until then the root mean square of these rows' norms (1 for zeros)."""
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

    The first reward fixes the column where it is not known: the norm of its arm's row, which is all that a log tells of the round.
    """
    d, total = model.features.shape[1] - model.intercept, 0.0
    for i in range(d):
        model.row[i] = shown[arm, i]
    if model.intercept:
        if model.column[0] == 0.0:
            for i in range(d):
                total += shown[arm, i] * shown[arm, i]
            model.column[0] = math.sqrt(total) if total > 0.0 else 1.0
        model.row[d] = model.column[0]


@lean
def mean_square(lam, size, known):
    """lam ||theta||^2 = lam size for each of the directions that are known, by parts; 0 where none is."""
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

    A sum is one addition after another, and each waits for the one before, so four run side by side; from WIDE_DIMENSION on all of them
    do in vector registers, over the rows of the inverse, which is symmetric but for its last bits.
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
    for j in range(0, eights, 8):  # a sum that stays in its register for eight terms is read and written an eighth as often
        a, b, c, e, f, g, h, k = x[j], x[j + 1], x[j + 2], x[j + 3], x[j + 4], x[j + 5], x[j + 6], x[j + 7]
        for i in range(d):
            four = (((out[i] + inverse[j, i] * a) + inverse[j + 1, i] * b) + inverse[j + 2, i] * c) + inverse[j + 3, i] * e
            out[i] = (((four + inverse[j + 4, i] * f) + inverse[j + 5, i] * g) + inverse[j + 6, i] * h) + inverse[j + 7, i] * k
    for j in range(eights, d):
        entry = x[j]
        for i in range(d):
            out[i] += inverse[j, i] * entry


@lean
def predict_arm(model, arm, inverse, theta, shown, column, anchor):
    """mean and square of one arm with these features, which are kept, and the constant column. O(d^2).

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
    """||theta - (m / c) e||^2 for the theta that an intercept's anchor moves, e the last unit vector. O(d)."""
    theta, inverse, d, size = model.theta, model.inverse, model.theta.shape[0], 0.0
    if not model.intercept:
        for i in range(d):
            size += theta[i] * theta[i]
        return size
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
def rank_one(model, x):
    """V <- V + x x' in inverse, log_det and factor; leaves V^-1 x (old V) in direction and returns 1 + x'V^-1 x."""
    d = x.shape[0]
    inverse, direction = model.inverse, model.direction
    if model.keeps_factor:
        for i in range(d):
            direction[i] = x[i]
        update_factor(model.factor, direction)
    multiply(inverse, x, direction)
    denominator = 1.0
    for i in range(d):
        denominator += direction[i] * x[i]
    for i in range(d):
        share = direction[i] / denominator
        for j in range(d):
            inverse[i, j] -= share * direction[j]
    model.log_det[0] += math.log(max(denominator, 1.0))  # below 1 digits are lost, and a factorisation follows
    model.updates[0] += 1.0
    return denominator


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
        total = 0.0
        for i in range(d):
            total += features[k, i] * model.direction[i]
        out[k] = total


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


@lean
def correlate_features(model, arm, out):
    """`correlate` where the model keeps V^-1. O(K d + d^2)."""
    multiply(model.inverse, model.features[arm], model.direction)
    for k in range(out.shape[0]):
        total = 0.0
        for i in range(model.direction.shape[0]):
            total += model.features[k, i] * model.direction[i]
        out[k] = total
