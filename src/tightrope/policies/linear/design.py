"""What LinMED needs beyond means and widths: widths of differences, and a design that sees every arm's direction."""

import math

from ...compiled.kernels import lean
from ...numerics.cholesky import cholesky, solve_lower

ENOUGH = 2.0  # times d: the largest ||x||^2 that a design may leave in its own information
STEPS = 8  # times d, at most
FLOOR = 1e-6  # of the information, along directions that hardly any weight is on


@lean
def fill_design(features, share, design, information, factor, row):
    """Fill design (K,) with weights in whose information every sqrt(share_k) x_k has a squared norm of at most ENOUGH d.

    From weights in proportion to the shares, by steps of Frank and Wolfe towards the arm that is seen least; information and factor are
    (d, d) scratch, row (d,). O(K d^2) a step. With K <= ENOUGH d the uniform design does it, whatever the arms are: the part
    q_k x_k x_k' of the information alone leaves at most 1 / q_k = K.
    """
    K, d = features.shape
    total = 0.0
    for k in range(K):
        total += share[k]
    for k in range(K):
        design[k] = 1.0 / K if ENOUGH * d >= K else share[k] / total
    if ENOUGH * d >= K:
        return
    for _ in range(STEPS * d):
        fill_information(features, share, design, information)
        cholesky(information, factor)
        worst, most = 0, -math.inf
        for k in range(K):
            square = 0.0
            if share[k] > 0.0:
                for i in range(d):
                    row[i] = features[k, i]
                solve_lower(factor, row)
                for i in range(d):
                    square += row[i] * row[i]
            if share[k] * square > most:
                worst, most = k, share[k] * square
        if most <= ENOUGH * d:
            return
        length = (most / d - 1.0) / (most - 1.0)
        for k in range(K):
            design[k] *= 1.0 - length
        design[worst] += length


@lean
def fill_information(features, share, design, information):
    """sum_k design_k share_k x_k x_k', and a floor under every direction that keeps it definite. O(K d^2 / 2)."""
    K, d = features.shape
    for i in range(d):
        for j in range(i + 1):
            information[i, j] = 0.0
    longest = 0.0
    for k in range(K):
        weight, square = design[k] * share[k], 0.0
        for i in range(d):
            square += features[k, i] * features[k, i]
        longest = max(longest, share[k] * square)
        if weight > 0.0:
            for i in range(d):
                for j in range(i + 1):
                    information[i, j] += weight * features[k, i] * features[k, j]
    for i in range(d):
        information[i, i] += FLOOR * longest if longest > 0.0 else 1.0
        for j in range(i):
            information[j, i] = information[i, j]
