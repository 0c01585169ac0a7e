"""Confidence radii of linear models."""

import math

from ..compiled.kernels import lean


def horizon_radius(noise: float, delta: float, dimension: int, horizon: float, lam: float, theta_bound: float) -> float:
    """noise sqrt(2 ln(1/delta) + d ln(1 + T/d)) + sqrt(lam) theta_bound (Yang & Toni 2020, Eq 5)."""
    return noise * math.sqrt(2 * math.log(1 / delta) + dimension * math.log(1 + horizon / dimension)) + math.sqrt(lam) * theta_bound


@lean
def determinant_radius(noise, delta, log_det, lam, theta_bound):
    """noise sqrt(2 ln(1/delta) + ln det(V / lam)) + sqrt(lam) theta_bound (Abbasi-Yadkori, Pal, Szepesvari 2011, Theorem 2)."""
    return noise * math.sqrt(2.0 * math.log(1.0 / delta) + log_det) + math.sqrt(lam) * theta_bound


@lean
def static_factor(constant, noise, rounds, arms, delta):
    """What ||y||_{A^-1} is multiplied by for a sequence of arms fixed in advance: constant noise sqrt(ln(6 n^2 K^2 / (pi^2 delta)))

    (Soare, Lazaric, Munos 2014, Proposition 1, with constant = 2 sqrt(2); A without a ridge parameter).
    """
    return constant * noise * math.sqrt(math.log(6.0 * rounds * rounds * arms * arms / (math.pi * math.pi * delta)))
