"""Least squares for comparing arms: what the two models of this family share.

A = R + sum x x' with a diagonal ridge matrix R (lam I, or 0), theta_hat = A^-1 sum r x, mean_k =
x_k' theta_hat, and for y = x_i - x_k the width ||y||_{A^-1}. Two models, told apart by what they
keep:

- `GapRidge`: widths to one leader, O(K d + d^2) an update; a new leader costs O(K d^2);
- `PairRidge`: widths of all pairs and X A^-1 X', O(K^2 + K d) an update.

A width is never the difference of entries of X A^-1 X', which loses six digits for near-parallel
arms: it starts as
|L^-1 y|^2 from a Cholesky factor and then loses (y'A^-1 x_a)^2 / (1 + x_a'A^-1 x_a) with every pull
of a. Nothing is estimated before every arm has been pulled (or every arm that a policy waits for,
see `learn_at_once`); from then on the Cholesky factor is
computed anew after 1, 2, 4, .. times that many rounds and at least every REFRESH rounds. A factor
that kept too few digits makes all estimates NaN, which no stopping rule accepts. Loops run over
arms innermost, so that they vectorise without changing the order of any sum.
"""

import math
from typing import Annotated, NamedTuple, TypeAlias

import numpy as np

from ...compiled.kernels import lean
from ...core.fields import ArmIndex, Count, Extended, Finite, Record, RewardSum, Scratch
from ...core.policy import lean_verb
from ...core.registry import offers
from ...core.verbs import Arms
from ...numerics.linalg import cholesky, log_det, solve_lower, solve_lower_transposed
from ...numerics.ridge import REFRESH, invert_from_factor

LEAST_PIVOT = (
    1e-10  # of the diagonal entry it is left of: a smaller pivot has fewer than six digits
)

PROGRESS = np.dtype(
    [
        ("rounds", "f8"),  # rewards taken in so far
        ("unpulled", "f8"),  # arms without a reward
        ("next_factorisation", "f8"),  # the round when it is due
        (
            "log_det",
            "f8",
        ),  # log det(A) - log det(R); without the second term if there is no ridge parameter
        ("leader", "i8"),  # the arm that `GapRidge` measures gaps from
    ]
)
Progress: TypeAlias = Annotated[np.ndarray, Record(rounds=Count, log_det=Finite, leader=ArmIndex)]


def new_progress(K: int) -> np.ndarray:
    """(1,) record without data; one array, because compiled code pays for every array of a
    state."""
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
def learn_at_once(model, arm, reward):
    """`learn` where the estimates do not wait for this arm."""
    if model.pulls[arm] == 0.0:
        model.progress[0]["unpulled"] += 1.0
    learn(model, arm, reward)


@lean
def count_reward(model, arm, reward):
    """Count one reward; whether a rank-one update takes it in (before the first factorisation and
    when the next one is due: no)."""
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
        if (
            not model.factor[i, i] * model.factor[i, i] >= LEAST_PIVOT * model.design[i, i]
        ):  # also where it is not a number
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


# The arms' features as the linear policies of this family use them: checked once, in coordinates
# that keep enough digits.


MOST_CONDITION = 1e4  # of the features: up to it the normal equations keep eight digits
ABSENT = (
    1e-12  # of the largest singular value: below it a direction of the features counts as absent
)
PRESENT = (
    1e-10  # above it as present; in between rounding decides, so that such features are refused
)


class Coordinates(NamedTuple):
    features: np.ndarray  # (K, r)
    ridge: np.ndarray  # (r,) diagonal of the ridge matrix R; zeros without a ridge parameter
    ridge_log_det: float  # log det(R); 0 without a ridge parameter


def checked_features(arms: Arms, epsilon: float, name: str) -> np.ndarray:
    """The (K, d) features, or a ValueError where no number of samples can answer the question."""
    if arms.features is None:
        raise ValueError(
            f"{name} needs fixed (K, d) features, but these arms offer {' or '.join(offers(arms))}."
        )
    X = np.ascontiguousarray(arms.features, dtype=np.float64)
    empty = ~X.any(axis=1)
    if empty.any():
        raise ValueError(
            f"arms[{int(np.argmax(empty))}] is a zero vector, whose mean is 0 whatever theta; "
            "drop it or give it features."
        )
    if epsilon == 0.0:
        rows, first = np.unique(X, axis=0, return_index=True)
        if len(rows) < len(X):
            repeated = min(set(range(len(X))) - set(first.tolist()))
            twin = int(np.argmax((X[:repeated] == X[repeated]).all(axis=1)))
            raise ValueError(
                f"arms[{repeated}] repeats arms[{twin}], so with epsilon = 0 {name} could never "
                "stop; drop one of them or set epsilon > 0."
            )
    return X


def coordinates(features: np.ndarray, lam: float) -> Coordinates:
    """Coordinates of the arms for a least-squares model with this ridge parameter (lam = 0: none).

    features: (K, d). Directions that no arm has are left out: no gap depends on them.
    Raises ValueError for features that leave too few digits to tell their directions apart.
    """
    left, values, _ = np.linalg.svd(features, full_matrices=False)
    d = features.shape[1]
    if values.size == d and values[0] <= MOST_CONDITION * values[-1]:
        return _plain(features, lam)
    exponents = np.frexp(np.abs(features).max(axis=0))[1]
    basis, scaled, directions = np.linalg.svd(np.ldexp(features, -exponents), full_matrices=False)
    rank = int((scaled > ABSENT * scaled[0]).sum())
    if scaled[rank - 1] < PRESENT * scaled[0]:
        raise ValueError(
            "arms has features that are almost combinations of each other (to "
            f"{scaled[rank - 1] / scaled[0]:.0e} of their size), so rounding would decide between "
            "the arms; centre columns such as times by tightrope.scale(X).features, or drop what "
            "is repeated."
        )
    if values[0] <= MOST_CONDITION * values[rank - 1]:
        return _plain(np.ascontiguousarray(left[:, :rank] * values[:rank]), lam)
    if lam == 0.0:
        return _plain(np.ascontiguousarray(basis[:, :rank]), lam)
    return _with_ridge(basis[:, :rank], scaled[:rank], directions[:rank], exponents, lam)


def _plain(features: np.ndarray, lam: float) -> Coordinates:
    d = features.shape[1]
    return Coordinates(features, np.full(d, lam), d * math.log(lam) if lam > 0.0 else 0.0)


def _with_ridge(
    basis: np.ndarray, scaled: np.ndarray, directions: np.ndarray, exponents: np.ndarray, lam: float
) -> Coordinates:
    """X = basis C with C = diag(scaled) directions diag(2^exponents): turned so that (C C')^-1 is
    diagonal, its large entries scaled."""
    rank, d = directions.shape
    if rank == d:
        root = np.ldexp(directions.T, -exponents[:, None]) / scaled
        log_det = -2.0 * (np.log(scaled).sum() + math.log(2.0) * exponents.sum())
    else:
        triangle = np.linalg.qr(np.ldexp(directions.T, exponents[:, None]) * scaled, mode="r")
        root = np.linalg.inv(triangle).T
        log_det = -2.0 * np.log(np.abs(np.diag(triangle))).sum()
    _, sizes, turn = np.linalg.svd(root, full_matrices=False)
    sizes *= math.sqrt(lam)
    shrink = np.maximum(np.frexp(sizes)[1], 0)
    features = np.ascontiguousarray(np.ldexp(basis @ turn.T, -shrink))
    return Coordinates(
        features,
        np.ldexp(sizes, -shrink) ** 2,
        rank * math.log(lam) + float(log_det) - 2.0 * math.log(2.0) * shrink.sum(),
    )


# Least squares with the widths of all gaps to one leader.


class GapRidge(NamedTuple):
    features: Finite  # (K, d)
    columns: Finite  # (d, K) the same, transposed
    ridge: Finite  # (d,) diagonal of R
    ridge_log_det: float
    mean: Extended  # (K,)
    square: Extended  # (K,) x_k'A^-1 x_k
    gap_square: Extended  # (K,) squared widths of x_leader - x_k
    pulls: Count  # (K,)
    sums: RewardSum  # (K,)
    progress: Progress  # (1,)
    inverse: Extended  # (d, d) A^-1
    direction: Scratch  # (d,)
    projection: Scratch  # (K,)
    design: Scratch  # (d, d)
    factor: Extended  # (d, d) Cholesky factor of A at the last factorisation

    @lean
    def rank_one_update(self, arm, reward):
        """O(K d + d^2)."""
        K, d = self.features.shape
        columns, inverse, direction, projection = (
            self.columns,
            self.inverse,
            self.direction,
            self.projection,
        )
        progress = self.progress[0]
        multiply(inverse, self.features[arm], direction)
        multiply(columns, direction, projection)
        denominator = 1.0 + projection[arm]
        error = (reward - self.mean[arm]) / denominator
        of_leader = projection[progress["leader"]]
        for k in range(K):
            g = projection[k]
            self.mean[k] += g * error
            self.square[k] -= g * g / denominator
            self.gap_square[k] = max(
                self.gap_square[k] - (of_leader - g) * (of_leader - g) / denominator, 0.0
            )
        for p in range(d):
            share = direction[p] / denominator
            for q in range(d):
                inverse[p, q] -= share * direction[q]
        progress["log_det"] += math.log1p(projection[arm])

    @lean
    def refactorise(self):
        """O(K d^2 + d^3)."""
        K, d = self.features.shape
        factorise(self)
        invert_from_factor(self.factor, self.inverse, self.direction)
        leader = self.progress[0]["leader"]
        for k in range(K):
            for p in range(d):
                self.direction[p] = self.features[k, p]
            solve_lower(self.factor, self.direction)
            total = 0.0
            for p in range(d):
                total += self.direction[p] * self.direction[p]
            self.square[k] = total
            self.gap_square[k] = square_of_gap(self, leader, k)
        solve_means(self)


def new_gap_ridge(start: Coordinates) -> GapRidge:
    K, d = start.features.shape
    return GapRidge(
        start.features,
        np.ascontiguousarray(start.features.T),
        start.ridge,
        start.ridge_log_det,
        np.zeros(K),
        np.zeros(K),
        np.zeros(K),
        np.zeros(K),
        np.zeros(K),
        new_progress(K),
        np.zeros((d, d)),
        np.zeros(d),
        np.zeros(K),
        np.zeros((d, d)),
        np.zeros((d, d)),
    )


@lean
def multiply(matrix, vector, out):
    """out <- matrix' vector, rows outermost, in fours, so that `out` is read and written a quarter
    as often. O(size of matrix)."""
    n, rows = out.shape[0], vector.shape[0]
    fours = rows - rows % 4
    for k in range(n):
        out[k] = 0.0
    for p in range(0, fours, 4):
        first, second, third, fourth = vector[p], vector[p + 1], vector[p + 2], vector[p + 3]
        for k in range(n):
            sum_of_two = out[k] + first * matrix[p, k] + second * matrix[p + 1, k]
            out[k] = sum_of_two + third * matrix[p + 2, k] + fourth * matrix[p + 3, k]
    for p in range(fours, rows):
        entry = vector[p]
        for k in range(n):
            out[k] += entry * matrix[p, k]


@lean
def measure_from(model, leader):
    """Measure gaps from this arm: gap_square <- y'A^-1 y for y = x_leader - x_k. O(K d^2) if it is
    a new one."""
    if model.progress[0]["leader"] == leader:
        return
    model.progress[0]["leader"] = leader
    K, d = model.features.shape
    columns, total = model.columns, model.gap_square
    for k in range(K):
        total[k] = 0.0
    for p in range(d):
        for q in range(p + 1):
            entry = model.inverse[p, q] if p == q else 2.0 * model.inverse[p, q]
            for k in range(K):
                total[k] += (
                    entry
                    * (columns[p, leader] - columns[p, k])
                    * (columns[q, leader] - columns[q, k])
                )
    for k in range(K):
        total[k] = max(total[k], 0.0)


@lean
def greedy_scores(model, i, j, scores):
    """(x_a'A^-1 y)^2 / (1 + x_a'A^-1 x_a) for y = x_i - x_j: what a pull of a takes off y'A^-1 y.
    O(K d + d^2)."""
    d = model.direction.shape[0]
    y, solution = model.design[0], model.direction  # the design matrix is scratch
    for p in range(d):
        y[p] = model.features[i, p] - model.features[j, p]
    multiply(model.inverse, y, solution)
    multiply(model.columns, solution, scores)
    for k in range(scores.shape[0]):
        scores[k] = scores[k] * scores[k] / (1.0 + model.square[k])


# Least squares with the widths of all pairs of arms, for sampling rules that compare every arm with
# every other.


class PairRidge(NamedTuple):
    features: Finite  # (K, d)
    ridge: Finite  # (d,) diagonal of R
    ridge_log_det: float
    mean: Extended  # (K,)
    product: Extended  # (K, K) X A^-1 X'
    pair_square: Extended  # (K, K) squared widths of x_i - x_j
    pulls: Count  # (K,)
    sums: RewardSum  # (K,)
    progress: Progress  # (1,)
    direction: Scratch  # (d,)
    projection: Scratch  # (K,)
    design: Scratch  # (d, d)
    factor: Extended  # (d, d) Cholesky factor of A at the last factorisation

    @lean
    def rank_one_update(self, arm, reward):
        K = self.mean.shape[0]
        product, squares, projection = self.product, self.pair_square, self.projection
        for k in range(K):
            projection[k] = product[arm, k]
        denominator = 1.0 + projection[arm]
        error = (reward - self.mean[arm]) / denominator
        for i in range(K):
            g = projection[i]
            self.mean[i] += g * error
            for j in range(K):
                product[i, j] -= g * projection[j] / denominator
                squares[i, j] = max(
                    squares[i, j] - (g - projection[j]) * (g - projection[j]) / denominator, 0.0
                )
        self.progress[0]["log_det"] += math.log1p(projection[arm])

    @lean
    def refactorise(self):
        """O(K^2 d^2 + d^3)."""
        K, d = self.features.shape
        factorise(self)
        for i in range(K):
            for p in range(d):
                self.direction[p] = self.features[i, p]
            solve_lower(self.factor, self.direction)
            solve_lower_transposed(self.factor, self.direction)
            for j in range(i, K):
                total = 0.0
                for p in range(d):
                    total += self.features[j, p] * self.direction[p]
                self.product[i, j] = total
                self.product[j, i] = total
        for i in range(K):
            for j in range(i):
                self.pair_square[i, j] = square_of_gap(self, i, j)
                self.pair_square[j, i] = self.pair_square[i, j]
        solve_means(self)


def new_pair_ridge(start: Coordinates) -> PairRidge:
    K, d = start.features.shape
    return PairRidge(
        *start,
        np.zeros(K),
        np.zeros((K, K)),
        np.zeros((K, K)),
        np.zeros(K),
        np.zeros(K),
        new_progress(K),
        np.zeros(d),
        np.zeros(K),
        np.zeros((d, d)),
        np.zeros((d, d)),
    )
