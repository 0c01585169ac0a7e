"""How many digits a number deserves: two of its standard error, and the number to the same place."""

import math

SIGNIFICANT_DIGITS = 5  # significant digits of a number whose error is 0 or not known


def place(error: float) -> int | None:
    """Decimal places of a number with this standard error, negative to the left of the point; None where the error says nothing."""
    if not math.isfinite(error) or error <= 0.0:
        return None
    decimals = 1 - math.floor(math.log10(error))
    return decimals - 1 if round(error * 10.0**decimals) >= 100 else decimals  # 0.0996 has the digits of 0.10


def rounded_number(value: float, error: float, *, sign: bool = False) -> str:
    """A number to the place that its standard error sets, thousands apart; sign: with + too."""
    plus = "+" if sign else ""
    if not math.isfinite(value):
        return f"{value:{plus}g}"
    decimals = place(error)
    if decimals is None:
        if float(value).is_integer() and abs(value) < 1e15:
            return f"{value:{plus},.0f}"
        return f"{value:{plus},.{_decimals(value)}f}".rstrip("0").rstrip(".") if abs(value) >= 1e-4 else f"{value:{plus}.3g}"
    text = f"{round(value, decimals):{plus},.{max(decimals, 0)}f}"
    return text.replace("-", "", 1) if text.startswith("-") and not any(c in "123456789" for c in text) else text


def _decimals(value: float) -> int:
    return max(1, SIGNIFICANT_DIGITS - 1 - math.floor(math.log10(abs(value))))


def with_error(value: float, error: float, *, sign: bool = False) -> str:
    """A number and its standard error, such as 12.3 ± 1.4; the number alone where there is no error."""
    number = rounded_number(value, error, sign=sign)
    return f"{number} ± {rounded_number(error, error)}" if place(error) is not None else number


def interval(low: float, high: float) -> str:
    """Bounds to about three digits of their distance, such as [0.12, 0.34]; none where there are none."""
    if low != low or high != high:
        return "none"
    width = (high - low) / 30.0
    return f"[{rounded_number(low, width)}, {rounded_number(high, width)}]"
