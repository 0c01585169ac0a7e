"""What beside a mean."""

import math

import numpy as np


def standard_error(values: np.ndarray) -> np.ndarray:
    """Standard error of the mean over the first axis; infinite for a single value."""
    n = values.shape[0]
    return np.std(values, axis=0, ddof=1) / math.sqrt(n) if n > 1 else np.full(values.shape[1:], np.inf)
