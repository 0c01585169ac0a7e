"""The stop of policies that sample in phases: after each they drop the arms that are clearly beaten, until one is left."""

import math

import numpy as np

from ...compiled.kernels import lean
from ...numerics.selection import argmax
from .stopping import settle


@lean
def eliminate(model, answer, survivors, C, epsilon):
    """Drop every survivor that another beats by more than its width, or that cannot beat the best of them by more than epsilon.

    Widths are C ||x_i - x_j||_{A^-1}. Writes the best survivor, C and B, and certifies if it is the only one left. O(K^2)
    """
    K = model.mean.shape[0]
    best, bound, beaten, checksum = argmax(model.mean, survivors), -math.inf, model.projection, C
    for j in range(K):
        beaten[j] = -math.inf
        checksum += model.mean[j]
        for i in range(j):
            checksum += model.pair_square[i, j]
        if survivors[j] and j != best:
            lead = model.mean[best] - model.mean[j] - C * math.sqrt(model.pair_square[best, j])
            bound = max(bound, -lead)
            beaten[j] = lead + epsilon
            for i in range(K):
                if survivors[i] and i != j:
                    beaten[j] = max(beaten[j], model.mean[i] - model.mean[j] - C * math.sqrt(model.pair_square[i, j]))
    left = 0
    for j in range(K):
        survivors[j] = survivors[j] and not beaten[j] > 0.0
        if survivors[j]:
            left += 1
    answer["leader"], answer["radius"], answer["bound"] = best, C, bound
    settle(answer, checksum, left == 1)


def leads_over_survivors(model, survivors: np.ndarray, leader: int) -> np.ndarray:
    others = survivors.copy()
    others[leader] = False
    return np.asarray(model.mean[leader] - model.mean[others])
