"""Standard errors."""

import math

import numpy as np


def standard_error(values: np.ndarray) -> np.ndarray:
    """Standard error of the mean over the first axis; infinite for a single value."""
    n = values.shape[0]
    return np.std(values, axis=0, ddof=1) / math.sqrt(n) if n > 1 else np.full(values.shape[1:], np.inf)


def holm(p: np.ndarray) -> np.ndarray:
    """p-values (m,) corrected for all m tests together by Holm's steps; never smaller than given, never above 1."""
    order = np.argsort(p, kind="stable")
    corrected = np.empty(p.size)
    corrected[order] = np.minimum(np.maximum.accumulate((p.size - np.arange(p.size)) * p[order]), 1.0)
    return corrected


def interquartile_weights(counts: np.ndarray) -> np.ndarray:
    """Weights (.., n) of the interquartile mean of n values in rising order, each there counts (.., n) times; a row sums to 1.

    Values at the quartiles count in part, so that exactly half of all is kept.
    """
    upper = np.cumsum(counts, axis=-1, dtype=np.float64)
    total = upper[..., -1:]
    kept = np.minimum(upper, 0.75 * total) - np.maximum(upper - counts, 0.25 * total)
    return np.maximum(kept, 0.0) / (0.5 * total)
