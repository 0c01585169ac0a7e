"""Adaptively weighted AIPW: a normal interval at a fixed number of rounds that holds although the logger learned while it logged.

The scores Gamma_t of DR have a conditional variance of about 1 / e_t, with 1 / e_t = sum_a pi(a)^2 / h_t(a): e_t is h_t(a) for a
target that always plays a. Weights h_t with h_t^2 / e_t = lam_t (1 - sum over s < t of h_s^2 / e_s) even it out; constant
allocation, lam_t = 1 / (1 + T - t), gives every round the share 1 / T, so h_t = sqrt(e_t / T) and no second pass is needed.
The value is sum h Gamma / sum h, its standard error sqrt(sum h^2 (Gamma - value)^2) / sum h.
Source: Hadad, Hirshberg, Zhan, Wager, Athey 2021, "Confidence intervals for policy evaluation in adaptive experiments"; for targets
that are no single arm, Zhan, Hadad, Hirshberg, Athey 2021, "Off-policy evaluation via adaptive weighting with data from contextual
bandits".
"""

import math

import numpy as np


def weights(e: np.ndarray) -> np.ndarray:
    """h_t of constant allocation by the recursion, for comparison. e: (T,) in (0, 1]."""
    T, spent = e.size, 0.0
    h = np.empty(T)
    for t in range(T):
        share = (1.0 - spent) / (T - t)
        h[t] = math.sqrt(e[t] * share)
        spent += share
    return h


def estimate_from_sums(total: float, squares: float, scores: float, square_scores: float, squared_scores: float) -> tuple[float, float]:
    """(value, standard error) from the sums of h, h^2, h Gamma, h^2 Gamma and h^2 Gamma^2; NaN without rounds."""
    if not total > 0.0:
        return math.nan, math.nan
    value = scores / total
    spread = squared_scores - 2.0 * value * square_scores + value * value * squares
    return float(value), math.sqrt(max(spread, 0.0)) / float(total)
