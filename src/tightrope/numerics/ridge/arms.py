"""`ArmRidge`: the regression in the space of the arms, where features are fixed and few arms share many of them."""

import math
from typing import NamedTuple

from ...compiled.kernels import jit
from ...core.kinds import Count, Derived, Extended, Finite, NonNegative, RewardSum, Scratch
from ..cholesky import cholesky, require_finite, solve_lower
from ..selection import argmax
from .factors import LEAP, REFRESH, factorise_pulls, mean_square
from .verbs import refresh


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
    column: Scratch  # (K,)
    row: Scratch  # (d,)
    solved: Extended  # (K, d) L^-1 x_k at the last factorisation
    factor: Finite  # (d, d) L at the last factorisation
    square_root: Scratch  # (K, K) of sample
    hidden: NonNegative  # (1,) what `penalty` answers; kept by `learn`, where it costs nothing beside the product

    @jit
    def predict(self, context):
        pass

    @jit
    def learn(self, context, arm, reward):
        K = self.mean.shape[0]
        column, product = self.column, self.product
        for k in range(K):
            column[k] = product[arm, k]
        denominator = 1.0 + column[arm]
        self.pulls[arm] += 1.0
        self.sums[arm] += reward
        self.log_det[0] += math.log(max(denominator, 1.0))
        surprise = reward - self.mean[arm]
        error = surprise / denominator
        size, known = 0.0, 0.0  # size: lam ||theta_hat||^2, since theta_hat' V theta_hat = theta_hat' sum r x
        for i in range(K):
            share = column[i] / denominator
            for j in range(K):
                product[i, j] -= share * column[j]
            mean, square = self.mean[i] + column[i] * error, max(product[i, i], 0.0)
            self.mean[i], self.square[i] = mean, square
            size += mean * (self.sums[i] - self.pulls[i] * mean)
            known += self.pulls[i] * square
        self.hidden[0] = mean_square(1.0, max(size, 0.0), known)
        self.updates[0] += 1.0
        if self.updates[0] >= REFRESH or not denominator < LEAP:
            refresh(self)
        return surprise * error

    @jit
    def best_arm(self, values, eligible, untried_first):
        return argmax(values, eligible)

    @jit
    def penalty(self):
        return self.hidden[0]

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
                total = 0.0
                for i in range(d):
                    total += self.solved[k, i] * self.solved[j, i]
                self.product[k, j] = total
                self.product[j, k] = total
            self.square[k] = self.product[k, k]
        for i in range(K):
            total = 0.0
            for j in range(K):
                total += self.product[i, j] * self.sums[j]
            self.mean[i] = total
        size, known = 0.0, 0.0
        for k in range(K):
            size += self.mean[k] * (self.sums[k] - self.pulls[k] * self.mean[k])
            known += self.pulls[k] * self.square[k]
        self.hidden[0] = mean_square(1.0, max(size, 0.0), known)
        require_finite(self.mean)
        require_finite(self.square)

    @jit
    def sample(self, scale, out, rng):
        K = out.shape[0]
        cholesky(self.product, self.square_root)
        for k in range(K):
            self.column[k] = rng.standard_normal()
        for k in range(K):
            total = 0.0
            for j in range(k + 1):
                total += self.square_root[k, j] * self.column[j]
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
        for k in range(K):
            cross[k] = 0.0
        for j in range(K):
            if total[j] != 0.0:
                for k in range(K):
                    cross[k] += total[j] * self.product[j, k]
        inner, square = 0.0, 0.0
        for k in range(K):
            inner += total[k] * self.mean[k]
            square += total[k] * cross[k]
        return inner, max(square, 0.0)
