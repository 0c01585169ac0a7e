"""Best-arm identification as a game: one player mixes arms, the other answers with the parameter
that is hardest to exclude.

For the leader i, means estimated from A, and a mixture w of arms with W = sum_a w_a x_a x_a', the
closest parameter under which rival b is better by epsilon moves along W^-1 y for y = x_i - x_b, by
(gap_b + epsilon) / y'W^-1 y, and is excluded by w at the rate (gap_b + epsilon)^2 / (2 noise^2
y'W^-1 y) per sample (Degenne, Menard, Shang, Valko 2020, section 2). The answer is the rival of the
lowest rate. Under it the mean of arm a moves by (gap_b + epsilon) x_a'W^-1 y / y'W^-1 y, half the
square of which is what a pull of a gains.
"""

import math
from typing import Annotated, NamedTuple, TypeAlias

import numpy as np

from ...compiled.kernels import lean
from ...core.fields import Kind, Scratch
from ...solvers.programs import whiten

LEAST_WEIGHT = 1e-9  # of an arm in W, which keeps it regular where a mixture gives up on arms


class Game(NamedTuple):
    moves: Scratch  # (K,) by how much the answer moves each arm's mean
    matrix: Scratch  # (d, d)
    factor: Scratch  # (d, d)
    lines: Scratch  # (K, d) L^-1 x_a of W = L L'
    line: Scratch  # (d,) L^-1 y


def new_game(K: int, d: int) -> Game:
    return Game(np.zeros(K), np.zeros((d, d)), np.zeros((d, d)), np.zeros((K, d)), np.zeros(d))


@lean
def mix(game, features, weights):
    """Factorise W and solve for all arms. O(K d^2 + d^3)."""
    whiten(features, weights, LEAST_WEIGHT, game.matrix, game.factor, game.lines)


@lean
def exclusion_rate(game, mean, leader, rival, epsilon):
    """(gap + epsilon)^2 / y'W^-1 y; infinite for arms with the same features. O(d)."""
    square = 0.0
    for p in range(game.line.shape[0]):
        difference = game.lines[leader, p] - game.lines[rival, p]
        square += difference * difference
    lead = mean[leader] - mean[rival] + epsilon
    return lead * lead / square if square > 0.0 else math.inf


@lean
def answer(game, mean, leader, rival, epsilon):
    """Fill game.moves with what the nearest parameter under which this rival is better by epsilon
    moves. O(K d)."""
    K, d = game.lines.shape
    square = 0.0
    for p in range(d):
        game.line[p] = game.lines[leader, p] - game.lines[rival, p]
        square += game.line[p] * game.line[p]
    scale = (mean[leader] - mean[rival] + epsilon) / square
    for a in range(K):
        inner = 0.0
        for p in range(d):
            inner += game.lines[a, p] * game.line[p]
        game.moves[a] = scale * inner


@lean
def hardest_answer(game, mean, leader, epsilon):
    """`answer` of the rival that the mixture excludes slowest. O(K d)."""
    rival, least = -1, math.inf
    for b in range(mean.shape[0]):
        if b != leader:
            rate = exclusion_rate(game, mean, leader, b, epsilon)
            if rate < least:
                rival, least = b, rate
    for a in range(mean.shape[0]):
        game.moves[a] = 0.0
    if rival >= 0:  # some arm has other features than the leader
        answer(game, mean, leader, rival, epsilon)


# AdaHedge -----------------------------------------------------------------------------------------


@lean
def hedge(losses, gap, weights):
    """Weights of AdaHedge: exp(-losses ln K / gap), normalised; equal weights for the least losses
    where gap is 0. O(K).

    losses: (K,) in all so far. gap: the mixability gap in all so far. de Rooij, van Erven,
    Grunwald, Koolen 2014.
    """
    K = losses.shape[0]
    least, total = losses[0], 0.0
    for a in range(K):
        least = min(least, losses[a])
    for a in range(K):
        if gap > 0.0:
            weights[a] = math.exp(-(losses[a] - least) * math.log(K) / gap)
        else:
            weights[a] = 1.0 if losses[a] == least else 0.0
        total += weights[a]
    for a in range(K):
        weights[a] /= total


@lean
def mixability_gap(weights, losses, gap):
    """The part of this round in the gap: the mean loss under the weights, less the mix loss at the
    rate ln K / gap. O(K)."""
    K = losses.shape[0]
    least, mean = math.inf, 0.0
    for a in range(K):
        if weights[a] > 0.0:
            least = min(least, losses[a])
        mean += weights[a] * losses[a]
    mix = least
    if gap > 0.0:
        rate, total = math.log(K) / gap, 0.0
        for a in range(K):
            total += weights[a] * math.exp(-rate * (losses[a] - least))
        mix = least - math.log(total) / rate
    return max(mean - mix, 0.0)


# The mixture that is best against the worst of a few columns: max_z min_j sum_k z_k M_kj over the
# simplex.


TOLERANCE = 1e-12
MOST_PIVOTS = 10_000
Variable: TypeAlias = Annotated[
    np.ndarray, Kind(whole=True, least=0, most=lambda policy, arms: 2 * arms.number + 2)
]


class MatrixGame(NamedTuple):
    table: Scratch  # (K + 1, J + 1): M; the last column holds the bounds, the last row the costs
    # (K,) int64: the variable of each row, j < J for q_j, J + k for the slack of row k
    rows: Variable
    columns: Variable  # (J,) int64: the variable of each column


def new_matrix_game(K: int, J: int) -> MatrixGame:
    return MatrixGame(
        np.zeros((K + 1, J + 1)), np.zeros(K, dtype=np.int64), np.zeros(J, dtype=np.int64)
    )


@lean
def exchange(table, K, J, row, column):
    """Swap the variables of a row and a column; the last column and row are J and K. O(K J)."""
    pivot = table[row, column]
    for j in range(J + 1):
        if j != column:
            table[row, j] /= pivot
    for k in range(K + 1):
        if k != row:
            factor = table[k, column]
            for j in range(J + 1):
                if j != column:
                    table[k, j] -= factor * table[row, j]
            table[k, column] = -factor / pivot
    table[row, column] = 1.0 / pivot


@lean
def solve_game(game, J, mixture):
    """Fill mixture (K,) with z for table[:K, :J] = M > 0; the other entries are set here. O(K J) a
    pivot, about J pivots."""
    table, rows, columns = game.table, game.rows, game.columns
    K = rows.shape[0]
    for k in range(K):
        table[k, J] = 1.0
        rows[k] = J + k
        mixture[k] = 0.0
    for j in range(J):
        table[K, j] = -1.0
        columns[j] = j
    table[K, J] = 0.0
    for _ in range(MOST_PIVOTS):
        column = -1
        for j in range(J):
            if table[K, j] < -TOLERANCE and (column < 0 or columns[j] < columns[column]):
                column = j
        if column < 0:
            break
        row = -1
        for k in range(K):
            if table[k, column] > TOLERANCE:
                slack = (
                    table[k, J] * table[row, column] - table[row, J] * table[k, column]
                    if row >= 0
                    else -1.0
                )
                if slack < 0.0 or (slack == 0.0 and rows[k] < rows[row]):
                    row = k
        if row < 0:  # rounding: every direction is bounded where M > 0
            break
        exchange(table, K, J, row, column)
        rows[row], columns[column] = columns[column], rows[row]
    total = 0.0
    for j in range(J):
        if columns[j] >= J:
            mixture[columns[j] - J] = max(table[K, j], 0.0)
            total += mixture[columns[j] - J]
    for k in range(K):
        mixture[k] /= total
