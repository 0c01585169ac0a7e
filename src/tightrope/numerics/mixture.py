"""The gamma-exponential mixture M(S, V) of exponential supermartingales, behind every bound that may be looked at at any time.

For xi >= -1 and 0 <= lambda < 1, exp(lambda xi - psi(lambda) xi^2) <= 1 + lambda xi with psi(lambda) = -ln(1 - lambda) - lambda. So with
predictions xihat that are known before x, x - xihat >= -1, S = sum (x - mean) and V = sum (x - xihat)^2, the product over rounds is a
supermartingale for every lambda, and so is its mixture over lambda.
Source: Howard, Ramdas, McAuliffe, Sekhon 2021, "Time-uniform, nonparametric, nonasymptotic confidence sequences".
"""

import math

import numpy as np
from numpy.typing import ArrayLike

from . import special

STEPS = 100  # of Newton's method at most
PRECISION = 1e-12  # relative, of a boundary
LARGE_VARIANCE = 1e10  # V + rho from which two terms of Temme's expansion (DLMF 8.12.3) have all digits


def constant(rho: float) -> float:
    """rho ln rho - rho - ln gamma(rho, rho), the part of ln M that depends on rho only."""
    return float(rho * math.log(rho) - rho - special.gammaln(rho) - math.log(special.gammainc(rho, rho)))


def _rest(a: np.ndarray) -> np.ndarray:
    """ln Gamma(a) + a - a ln a: by Stirling's series for large a, where the three would cancel."""
    b = np.maximum(a, 20.0)
    i = 1.0 / (b * b)
    series = 0.5 * np.log(2.0 * np.pi / b) + (1.0 / 12.0 - i * (1.0 / 360.0 - i * (1.0 / 1260.0 - i / 1680.0))) / b
    small = np.minimum(a, 20.0)
    return np.where(a >= 20.0, series, special.gammaln(small) + small - small * np.log(small))


def _excess(S: np.ndarray, a: np.ndarray) -> np.ndarray:
    """S - a ln(1 + S / a): by its series for small S / a, where the two would cancel."""
    u = S / a
    return np.where(np.abs(u) < 1e-3, S * u * (1 / 2 - u * (1 / 3 - u * (1 / 4 - u / 5))), S - a * np.log1p(u))


def _below(S: np.ndarray, a: np.ndarray, excess: np.ndarray) -> np.ndarray:
    """The regularised incomplete gamma function at (a, a + S), from S itself where a + S has lost its digits."""
    near = special.ndtr(np.copysign(np.sqrt(2.0 * excess), S)) + np.exp(-excess) / (3.0 * np.sqrt(2.0 * np.pi * a))
    return np.where(a > LARGE_VARIANCE, near, special.gammainc(a, a + S))


def log_mixture(S: ArrayLike, V: ArrayLike, rho: float = 1.0) -> np.ndarray:
    """ln M = S + V + rho ln rho - (V + rho) ln(S + V + rho) + ln gamma(V + rho, S + V + rho) - ln gamma(rho, rho), elementwise.

    gamma: the lower incomplete one. S > -V - rho, V >= 0, rho > 0. The sum is arranged so that large terms do not cancel. O(1).
    """
    S, a = np.asarray(S, dtype=np.float64), np.asarray(V, dtype=np.float64) + rho
    excess = _excess(S, a)
    with np.errstate(divide="ignore"):
        return excess + _rest(a) + np.log(_below(S, a, excess)) + constant(rho)


def boundaries(V: ArrayLike, alpha: float, rho: float = 1.0) -> np.ndarray:
    """S at which ln M = ln(1 / alpha), for every V: by Newton's method on a convex, rising function."""
    a = np.asarray(V, dtype=np.float64) + rho
    threshold, fixed, rest = math.log(1.0 / alpha), constant(rho), _rest(a)
    S = np.sqrt(2.0 * a * threshold) + threshold
    for _ in range(STEPS):
        x = a + S
        excess = _excess(S, a)
        base, inner = excess + rest, _below(S, a, excess)
        slope = S / x + np.exp(-base) / (x * inner)
        step = (base + np.log(inner) + fixed - threshold) / slope
        S = S - step
        if (np.abs(step) <= PRECISION * S).all():
            break
    return S
