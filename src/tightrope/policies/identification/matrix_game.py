"""The mixture that is best against the worst of a few columns: max_z min_j sum_k z_k M_kj over the simplex.

With all M_kj > 0 the opponent's program max sum_j q_j subject to sum_j M_kj q_j <= 1 starts at q = 0, so there is no first phase; its
dual, normalised, is z. The simplex method on the condensed tableau, in which a pivot exchanges a row with a column. Bland's rule
rules out cycles.
"""

from typing import Annotated, NamedTuple, TypeAlias

import numpy as np

from ...compiled.kernels import lean
from ...core.kinds import Kind, Scratch

TOLERANCE = 1e-12
MOST_PIVOTS = 10_000
Variable: TypeAlias = Annotated[np.ndarray, Kind(whole=True, least=0, most=lambda policy, arms: 2 * arms.number + 2)]


class MatrixGame(NamedTuple):
    """Scratch, and the table that callers fill."""

    table: Scratch  # (K + 1, J + 1): M; the last column holds the bounds, the last row the costs
    rows: Variable  # (K,) int64: the variable of each row, j < J for q_j, J + k for the slack of row k
    columns: Variable  # (J,) int64: the variable of each column


def new_matrix_game(K: int, J: int) -> MatrixGame:
    """Scratch for K rows and at most J columns."""
    return MatrixGame(np.zeros((K + 1, J + 1)), np.zeros(K, dtype=np.int64), np.zeros(J, dtype=np.int64))


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
    """Fill mixture (K,) with z for table[:K, :J] = M > 0; the other entries are set here. O(K J) a pivot, about J pivots."""
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
                slack = table[k, J] * table[row, column] - table[row, J] * table[k, column] if row >= 0 else -1.0
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
