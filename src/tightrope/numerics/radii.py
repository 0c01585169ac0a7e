"""Confidence radii of linear models."""

import math

from .._jit import jit


def horizon_radius(noise: float, delta: float, dimension: int, horizon: int, lam: float, theta_bound: float) -> float:
    """noise sqrt(2 ln(1/delta) + d ln(1 + T/d)) + sqrt(lam) theta_bound (Yang & Toni 2020, Eq 5)."""
    return noise * math.sqrt(2 * math.log(1 / delta) + dimension * math.log(1 + horizon / dimension)) + math.sqrt(lam) * theta_bound


@jit
def determinant_radius(noise, delta, log_det, lam, theta_bound):
    """noise sqrt(2 ln(1/delta) + ln det(V / lam)) + sqrt(lam) theta_bound (Abbasi-Yadkori, Pal, Szepesvari 2011, Theorem 2)."""
    return noise * math.sqrt(2.0 * math.log(1.0 / delta) + log_det) + math.sqrt(lam) * theta_bound
