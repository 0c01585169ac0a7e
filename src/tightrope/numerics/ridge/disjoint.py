"""`DisjointRidge`: a regression for each arm by itself, which learns from that arm's rewards alone.

With a context x that all arms are shown it is the disjoint model of Li, Chu, Langford, Schapire 2010; with features of its own an arm
learns on these. It equals one regression on K d columns of which an arm uses its own d, at 1 / K^2 of the cost.
O(d^2) an update and O(K d^2) a prediction, also where the features are fixed.
"""

import math
from typing import NamedTuple

import numpy as np

from ...compiled.kernels import jit, returns_views
from ...core.kinds import Count, Finite, NonNegative, Scratch
from ...core.verbs import Arms, Context, allowed, value_or
from ..posterior import best_of_normals
from .contexts import ContextRidge, shown_features
from .factors import anchor_of, column_of, mean_square, predict_arm, regained_by
from .verbs import learn, refresh


class DisjointRidge(NamedTuple):
    features: Finite  # (K, d) fixed, or of the last prediction
    lam: float
    mean: Finite  # (K,) at the last prediction
    square: Finite  # (K,)
    log_det: Finite  # (1,) the largest of log_dets, plus 2 ln K: a set at level delta then holds for all arms at once
    log_dets: Finite  # (K,) log det(V_k) - d log(lam)
    pulls: Count  # (K,) rewards of each arm
    updates: Count  # (K,) since the arm's last factorisation
    theta: Finite  # (K, d)
    inverse: Finite  # (K, d, d) V_k^-1
    direction: Scratch  # (d,)
    design: Finite  # (K, d, d) V_k
    response: Finite  # (K, d) sum r x
    factor: Scratch  # (d, d)
    parts: Finite  # (K, 6) what `penalty` and `regained` are sums of, see `measure`; a reward changes one arm's
    row: Scratch  # (d,) an arm's features, with the constant column
    column: NonNegative  # (1,) c, the constant column; 0: not known before the first reward
    centre: Finite  # (1,) m, what the intercepts of all arms are drawn to
    intercept: bool  # whether the last column is constant; theta and response are those of intercepts that are drawn to 0

    @jit
    def predict(self, context):
        shown = value_or(context.features, self.features)
        column, anchor = column_of(self, shown) if self.intercept else 0.0, anchor_of(self)
        for k in range(self.features.shape[0]):
            predict_arm(self, k, self.inverse[k], self.theta[k], shown, column, anchor)

    @jit
    def learn(self, context, arm, reward):
        shown = value_or(context.features, self.features)
        learned = learn(regression_of(self, arm), Context(shown, None, None, None), arm, reward)
        measure(self, arm)
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
                size += anchor * (2.0 * parts[k, 2] + anchor * parts[k, 3]) + drawn * (drawn - 2.0 * last)
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
            measure(self, k)

    @jit
    def sample(self, scale, out, rng):
        for k in range(out.shape[0]):  # the arms' thetas are independent, so one normal an arm has the law of all of them
            out[k] = self.mean[k] + scale * math.sqrt(self.square[k]) * rng.standard_normal()

    @jit
    def win_chances(self, scale, eligible, untried_first, out):
        K, fresh = out.shape[0], False
        mean, deviation, arms, chance, count = np.empty(K), np.empty(K), np.empty(K, dtype=np.int64), np.empty(K), 0
        for k in range(K):
            fresh = fresh or (untried_first and allowed(eligible, k) and self.pulls[k] == 0.0)
        for k in range(K):
            out[k] = 0.0
            if allowed(eligible, k) and not (fresh and self.pulls[k] > 0.0):
                mean[count], deviation[count], arms[count] = self.mean[k], scale * math.sqrt(self.square[k]), k
                count += 1
        known = best_of_normals(mean[:count], deviation[:count], chance[:count])
        for i in range(count):
            out[arms[i]] = chance[i]
        return known


def new_disjoint_ridge(
    arms: Arms, lam: float, forget: float = 1.0, *, intercept: bool = False, column: float = 0.0
) -> DisjointRidge:  # fmt: skip
    """The models without data; column: the constant one, where it is known.

    Refuses a single arm, forgetting, and fixed features that leave fewer than six digits.
    """
    K, d = arms.number, arms.dimension
    if K < 2:
        raise ValueError(
            "shared = False keeps a regression for each arm, but there is one arm; give their number, arms=K with dimension=d, or let "
            "candidates that come anew with every call share one (shared=True)."
        )
    if forget < 1.0:
        raise ValueError(f"forget = {forget:g} is for one regression that all arms share; leave shared=True, or forget=1.")
    features, column = shown_features(arms, lam, intercept, column)
    d += intercept
    model = DisjointRidge(
        features, lam, np.zeros(K), np.zeros(K), np.array([2.0 * math.log(K)]), np.zeros(K), np.zeros(K), np.zeros(K),
        np.zeros((K, d)), np.tile(np.eye(d) / lam, (K, 1, 1)), np.zeros(d), np.tile(lam * np.eye(d), (K, 1, 1)), np.zeros((K, d)),
        np.zeros((d, d)), np.zeros((K, 6)), np.zeros(d), np.array([column]), np.zeros(1), intercept,
    )  # fmt: skip
    for k in range(K):
        measure(model, k)
    return model


@returns_views
def regression_of(model, arm):
    return ContextRidge(
        model.features, model.lam, model.mean, model.square, model.log_dets[arm : arm + 1], model.updates[arm : arm + 1],
        model.theta[arm], model.inverse[arm], model.direction, model.design[arm], model.response[arm], model.factor, False,
        model.row, model.column, model.centre, model.intercept,
    )  # fmt: skip


@jit
def measure(model, arm):
    """Bring log_det and parts up to date with one arm's regression: ||theta||^2, tr V^-1, and with h the last column of V^-1, theta'h,
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
    parts[0], parts[1], parts[2], parts[3], parts[4], parts[5] = size, trace, product, side, theta[d - 1], inverse[d - 1, d - 1]
