"""Least squares for comparing arms: what the two models of this family share.

A = R + sum x x' with a diagonal ridge matrix R (lam I, or 0), theta_hat = A^-1 sum r x, mean_k = x_k' theta_hat, and for y = x_i - x_k
the width ||y||_{A^-1}. Two models, told apart by what they keep:

- `GapRidge`: widths to one leader, O(K d + d^2) an update; a new leader costs O(K d^2);
- `PairRidge`: widths of all pairs and X A^-1 X', O(K^2 + K d) an update.

A width is never the difference of entries of X A^-1 X', which loses six digits for near-parallel arms: it starts as
|L^-1 y|^2 from a Cholesky factor and then loses (y'A^-1 x_a)^2 / (1 + x_a'A^-1 x_a) with every pull of a. Nothing is estimated
before every arm has been pulled; from then on the Cholesky factor is computed anew after 1, 2, 4, .. times that many rounds and
at least every REFRESH rounds. A factor that kept too few digits makes all estimates NaN, which no stopping rule accepts. Loops run
over arms innermost, so that they vectorise without changing the order of any sum.
"""

import math
from typing import Annotated, TypeAlias

import numpy as np

from ...compiled.kernels import lean
from ...core.dispatch import lean_verb
from ...core.kinds import ArmIndex, Count, Finite, Record
from ...numerics.cholesky import cholesky, log_det, solve_lower, solve_lower_transposed
from ...numerics.ridge import REFRESH

LEAST_PIVOT = 1e-10  # of the diagonal entry it is left of: a smaller pivot has fewer than six digits

PROGRESS = np.dtype([
    ("rounds", "f8"),  # rewards taken in so far
    ("unpulled", "f8"),  # arms without a reward
    ("next_factorisation", "f8"),  # the round when it is due
    ("log_det", "f8"),  # log det(A) - log det(R); without the second term if there is no ridge parameter
    ("leader", "i8"),  # the arm that `GapRidge` measures gaps from
])  # fmt: skip
Progress: TypeAlias = Annotated[np.ndarray, Record(rounds=Count, log_det=Finite, leader=ArmIndex)]


def new_progress(K: int) -> np.ndarray:
    """(1,) record without data; one array, because compiled code pays for every array of a state."""
    progress = np.zeros(1, dtype=PROGRESS)
    progress["unpulled"] = K
    return progress


@lean_verb
def rank_one_update(model, arm, reward):
    """Take one reward into all estimates, from the last factorisation on."""


@lean_verb
def refactorise(model):
    """Compute all estimates anew from the pulls and sums."""


@lean
def learn(model, arm, reward):
    if count_reward(model, arm, reward):
        rank_one_update(model, arm, reward)
    elif model.progress[0]["unpulled"] == 0.0:
        refactorise(model)


@lean
def count_reward(model, arm, reward):
    """Count one reward; whether a rank-one update takes it in (before the first factorisation and when the next one is due: no)."""
    progress = model.progress[0]
    if model.pulls[arm] == 0.0:
        progress["unpulled"] -= 1.0
    model.pulls[arm] += 1.0
    model.sums[arm] += reward
    progress["rounds"] += 1.0
    return progress["rounds"] < progress["next_factorisation"]


@lean
def drop_data(model):
    """Forget all rewards; the last estimates stay until every arm has been pulled again."""
    K = model.pulls.shape[0]
    for k in range(K):
        model.pulls[k] = 0.0
        model.sums[k] = 0.0
    progress = model.progress[0]
    progress["rounds"] = 0.0
    progress["next_factorisation"] = 0.0
    progress["unpulled"] = float(K)


@lean
def factorise(model):
    """factor and log_det of A from the pull counts. O(K d^2 + d^3)."""
    K, d = model.features.shape
    for i in range(d):
        for j in range(i + 1):
            total = model.ridge[i] if i == j else 0.0
            for k in range(K):
                if model.pulls[k] > 0.0:
                    total += model.pulls[k] * model.features[k, i] * model.features[k, j]
            model.design[i, j] = total
    cholesky(model.design, model.factor)
    for i in range(d):
        if not model.factor[i, i] * model.factor[i, i] >= LEAST_PIVOT * model.design[i, i]:  # also where it is not a number
            model.factor[0, 0] = math.nan  # and with it every estimate
    progress = model.progress[0]
    progress["log_det"] = log_det(model.factor) - model.ridge_log_det
    progress["next_factorisation"] = progress["rounds"] + min(progress["rounds"], float(REFRESH))


@lean
def square_of_gap(model, i, j):
    """|L^-1 (x_i - x_j)|^2 from the Cholesky factor. O(d^2)."""
    d = model.direction.shape[0]
    for p in range(d):
        model.direction[p] = model.features[i, p] - model.features[j, p]
    solve_lower(model.factor, model.direction)
    total = 0.0
    for p in range(d):
        total += model.direction[p] * model.direction[p]
    return total


@lean
def solve_means(model):
    """mean_k = x_k'A^-1 sum r x from the Cholesky factor. O(K d + d^2)."""
    K, d = model.features.shape
    for p in range(d):
        total = 0.0
        for k in range(K):
            total += model.sums[k] * model.features[k, p]
        model.direction[p] = total
    solve_lower(model.factor, model.direction)
    solve_lower_transposed(model.factor, model.direction)
    for k in range(K):
        total = 0.0
        for p in range(d):
            total += model.features[k, p] * model.direction[p]
        model.mean[k] = total
