"""Confidence radii of linear models."""

import math

from ..compiled.kernels import lean


def horizon_radius(noise: float, delta: float, dimension: int, horizon: float, lam: float, theta_bound: float, norm: float = 1.0) -> float:
    """noise sqrt(2 ln(1/delta) + d ln(1 + T L^2 / (lam d))) + sqrt(lam) theta_bound, with L = norm the largest ||x||.

    By det V <= (lam + T L^2 / d)^d (Abbasi-Yadkori, Pal, Szepesvari 2011, Lemma 10). Yang & Toni 2020, Eq 5, is the case L^2 = lam = 1.
    """
    growth = dimension * math.log(1 + horizon * norm**2 / (lam * dimension))
    return noise * math.sqrt(2 * math.log(1 / delta) + growth) + math.sqrt(lam) * theta_bound


@lean
def determinant_radius(noise, delta, log_det, lam, theta_bound):
    """noise sqrt(2 ln(1/delta) + ln det(V / lam)) + sqrt(lam) theta_bound (Abbasi-Yadkori, Pal, Szepesvari 2011, Theorem 2)."""
    return noise * math.sqrt(2.0 * math.log(1.0 / delta) + log_det) + math.sqrt(lam) * theta_bound


@lean
def static_factor(constant, noise, rounds, arms, delta):
    """The factor of ||y||_{A^-1} for a sequence of arms fixed in advance: constant noise sqrt(ln(6 n^2 K^2 / (pi^2 delta)))

    (Soare, Lazaric, Munos 2014, Proposition 1, with constant = 2 sqrt(2); A without a ridge parameter).
    """
    return constant * noise * math.sqrt(math.log(6.0 * rounds * rounds * arms * arms / (math.pi * math.pi)) - math.log(delta))
