"""Standard errors, corrections for many tests, and the digits that a number deserves."""

import math

import numpy as np


def standard_error(values: np.ndarray) -> np.ndarray:
    """Standard error of the mean over the first axis; infinite for a single value."""
    n = values.shape[0]
    return (
        np.std(values, axis=0, ddof=1) / math.sqrt(n)
        if n > 1
        else np.full(values.shape[1:], np.inf)
    )


def holm(p: np.ndarray) -> np.ndarray:
    """p-values (m,) corrected for all m tests together by Holm's steps; never smaller than given,
    never above 1."""
    order = np.argsort(p, kind="stable")
    corrected = np.empty(p.size)
    corrected[order] = np.minimum(
        np.maximum.accumulate((p.size - np.arange(p.size)) * p[order]), 1.0
    )
    return corrected


def interquartile_weights(counts: np.ndarray) -> np.ndarray:
    """Weights (.., n) of the interquartile mean of n values in rising order, each there counts (..,
    n) times; a row sums to 1.

    Values at the quartiles count in part, so that exactly half of all is kept.
    """
    upper = np.cumsum(counts, axis=-1, dtype=np.float64)
    total = upper[..., -1:]
    kept = np.minimum(upper, 0.75 * total) - np.maximum(upper - counts, 0.25 * total)
    return np.maximum(kept, 0.0) / (0.5 * total)


# How many digits a number deserves: two of its standard error, and the number to the same place.


SIGNIFICANT_DIGITS = 5  # significant digits of a number whose error is 0 or not known


def place(error: float) -> int | None:
    """Decimal places of a number with this standard error, negative to the left of the point; None
    where the error says nothing."""
    if not math.isfinite(error) or error <= 0.0:
        return None
    decimals = 1 - math.floor(math.log10(error))
    return (
        decimals - 1 if round(error * 10.0**decimals) >= 100 else decimals
    )  # 0.0996 has the digits of 0.10


def rounded_number(value: float, error: float, *, sign: bool = False) -> str:
    """A number to the place that its standard error sets, thousands apart; sign: with + too."""
    plus = "+" if sign else ""
    if not math.isfinite(value):
        return f"{value:{plus}g}"
    decimals = place(error)
    if decimals is None:
        if float(value).is_integer() and abs(value) < 1e15:
            return f"{value:{plus},.0f}"
        if abs(value) < 1e-4:
            return f"{value:{plus}.3g}"
        shown = max(1, SIGNIFICANT_DIGITS - 1 - math.floor(math.log10(abs(value))))
        return f"{value:{plus},.{shown}f}".rstrip("0").rstrip(".")
    text = f"{round(value, decimals):{plus},.{max(decimals, 0)}f}"
    return (
        text.replace("-", "", 1)
        if text.startswith("-") and not any(c in "123456789" for c in text)
        else text
    )


def with_error(value: float, error: float, *, sign: bool = False) -> str:
    """A number and its standard error, such as 12.3 ± 1.4; the number alone where there is no
    error."""
    number = rounded_number(value, error, sign=sign)
    return f"{number} ± {rounded_number(error, error)}" if place(error) is not None else number


def interval(low: float, high: float) -> str:
    """Bounds to about three digits of their distance, such as [0.12, 0.34]; none where there are
    none."""
    if low != low or high != high:
        return "none"
    width = (high - low) / 30.0
    return f"[{rounded_number(low, width)}, {rounded_number(high, width)}]"
