"""Checks at the public edge. Every message names the argument, the value, the allowed range and,
where there is one, the remedy."""

import dataclasses
import difflib
import itertools
import math
import operator
import os
import re
from collections.abc import Iterable, MappingView, Sequence, Set as AbstractSet
from typing import TYPE_CHECKING, TypeVar

import numpy as np

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

T = TypeVar("T")

DEEPEST = 8  # lists inside lists that are still read: no argument has more than two axes
MOST_ROUNDS = 2**53  # beyond which a float cannot count
CELLS = 2**20  # of a part of a table of all pairs, 8 MiB
SLOPE_TOLERANCE = (
    1e-9  # by how much rounding may carry a difference of means past what a constant allows
)


def show(value: object) -> str:
    if isinstance(value, np.ndarray) and value.size > 6:
        return f"an array of shape {value.shape}"
    try:
        text = " ".join(repr(value.tolist() if isinstance(value, np.ndarray) else value).split())
    except (
        Exception
    ):  # repr is the caller's code too, and refuses whole numbers of more than 4,300 digits
        return (
            f"a whole number of {value.bit_length():,} bits"
            if type(value) is int
            else f"an object of class {type(value).__name__}"
        )
    return text if len(text) <= 60 else text[:57] + "..."


LONGEST_NAME = 100  # letters; comparing longer ones with all names takes seconds


def hint(value: object, options: Iterable[str]) -> str:
    """A sentence after a space, "Did you mean 'x'?", where a name is like one of the options in
    letters of any case; else ""."""
    if not isinstance(value, str) or len(value) > LONGEST_NAME:
        return ""
    by_letters = {option.casefold(): option for option in options}
    near = difflib.get_close_matches(value.casefold(), by_letters, n=1, cutoff=0.6)
    return f" Did you mean {by_letters[near[0]]!r}?" if near else ""


def real(
    name: str,
    value: object,
    *,
    above: float | None = None,
    least: float | None = None,
    below: float | None = None,
    most: float | None = None,
) -> float:
    """A finite float within bounds (`above`/`below` exclusive, `least`/`most` inclusive)."""
    low = above if above is not None else least
    high = below if below is not None else most
    number = _float(value)
    inside = (
        number is not None
        and math.isfinite(number)
        and (above is None or number > above)
        and (least is None or number >= least)
        and (below is None or number < below)
        and (most is None or number <= most)
    )
    if not inside or number is None:
        left = "(-inf" if low is None else f"{'(' if above is not None else '['}{low:g}"
        right = "inf)" if high is None else f"{high:g}{')' if below is not None else ']'}"
        raise ValueError(
            f"{name} = {show(value)} is not a number in {left}, {right}{_about_truth(value)}."
        )
    return number


def _float(value: object) -> float | None:
    if type(value) is float:
        return value
    if isinstance(value, (str, bytes, bool, np.bool_, complex, np.complexfloating)) or (
        isinstance(value, np.ndarray) and value.ndim
    ):
        return None
    try:
        return float(value)  # type: ignore[arg-type]
    except Exception:  # float() runs the caller's code, which may raise anything
        return None


def _about_truth(value: object) -> str:
    return "; write 1 for True and 0 for False" if isinstance(value, (bool, np.bool_)) else ""


def integer(name: str, value: object, *, least: int | None = None, most: int | None = None) -> int:
    number: int | None = value if type(value) is int else None
    if number is None and not isinstance(value, (bool, np.bool_)):
        try:
            number = operator.index(value)  # type: ignore[arg-type]
        except Exception:  # runs the caller's code, which may raise anything
            if isinstance(value, (float, np.floating)) and float(value).is_integer():
                number = int(value)
    if (
        number is None
        or (least is not None and number < least)
        or (most is not None and number > most)
    ):
        span = f"from {'-inf' if least is None else least} to {'inf' if most is None else most}"
        raise ValueError(
            f"{name} = {show(value)} is not a whole number {span}{_about_truth(value)}."
        )
    return number


def seed(value: object) -> int:
    if value is None:
        raise ValueError(
            "seed = None would make every run another one; leave it out for 0, or give a whole "
            "number from 0."
        )
    return integer("seed", value, least=0)


def fits_in_memory(name: str, number: int, each: int) -> None:
    """Refuse a size whose arrays this machine cannot hold. each: bytes that one of them needs at
    least."""
    memory = _memory()
    if number * each > memory:
        written = f"{number:,}" if number < 10**15 else _power(number)
        raise ValueError(
            f"{name} = {written} needs {_bytes(number * each)} of memory ({each:,} bytes each), "
            f"but this machine has {_bytes(memory)}; ask for at most {memory // max(each, 1):,}."
        )


def _memory() -> int:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):  # not a POSIX system
        return 2**40


def _power(number: int) -> str:
    return f"about 10^{int(math.log10(2) * (number.bit_length() - 1))}"


def _bytes(number: int) -> str:
    if number >= 10**18:
        return f"{_power(number)} bytes"
    power = min(max(number.bit_length() - 1, 0) // 10, 4)
    return f"{number / 2 ** (10 * power):.3g} {('bytes', 'KiB', 'MiB', 'GiB', 'TiB')[power]}"


def arm_set(name: str, value: object) -> np.ndarray:
    """Distinct arms, at least one, as an increasing int64 array."""
    if not isinstance(value, Sequence | np.ndarray) or isinstance(value, str):
        raise ValueError(
            f"{name} = {show(value)} is not a set of arms; give a list of arm numbers such as [0, "
            "3]."
        )
    arms = vector(name, value, least=0)
    if (arms != np.floor(arms)).any() or np.unique(arms).size < arms.size:
        raise ValueError(f"{name} = {show(arms)} must be distinct arms, whole numbers from 0.")
    return np.sort(arms).astype(np.int64)


def choice(name: str, value: object, options: tuple[str, ...]) -> int:
    if not isinstance(value, str) or value not in options:
        raise ValueError(
            f"{name} = {show(value)} is not one of "
            f"{', '.join(map(repr, options))}.{hint(value, options)}"
        )
    return options.index(value)


def flag(name: str, value: object) -> bool:
    if not isinstance(value, (bool, np.bool_)):
        raise ValueError(f"{name} = {show(value)} is not True or False.")
    return bool(value)


def vector(
    name: str,
    value: object,
    *,
    length: int | None = None,
    least: float | None = None,
    most: float | None = None,
    source: str = "",
) -> np.ndarray:
    """A finite float64 vector, not empty, optionally of a given length and within inclusive
    bounds."""
    array = _array(name, value, 1)
    if array.size == 0:
        raise ValueError(f"{name} is empty; it needs at least one entry.")
    if length is not None and array.size != length:
        raise ValueError(
            f"{name} has length {array.size}, but must have length "
            f"{length}{f' ({source})' if source else ''}."
        )
    bad = ~np.isfinite(array)
    if least is not None:
        bad |= array < least
    if most is not None:
        bad |= array > most
    if bad.any():
        k = int(np.argmax(bad))
        low, high = (
            "-inf" if least is None else f"{least:g}",
            "inf" if most is None else f"{most:g}",
        )
        raise ValueError(f"{name}[{k}] = {array[k]:g} is not a finite number in [{low}, {high}].")
    return array


def floats(name: str, value: object) -> np.ndarray:
    array = entries(name, value, "an array of numbers")
    if array.dtype.kind in "biuf":  # no text, dates or complex numbers, which NumPy would convert
        return array.astype(np.float64, copy=False)
    if array.dtype.kind == "O":
        try:
            return array.astype(np.float64)
        except Exception:  # its entries convert by the caller's code
            pass
    raise ValueError(f"{name} = {show(value)} is not an array of numbers.")


def ordered(name: str, value: T) -> T:
    """`value`, but no set where the order counts: that of a set differs from one process to the
    next."""
    if isinstance(value, AbstractSet) and not isinstance(value, MappingView):
        raise ValueError(f"{name} = {show(value)} is a set, which has no order; give a list.")
    return value


def entries(name: str, value: object, what: str) -> np.ndarray:
    """`value` as NumPy reads it; ragged, endless or unreadable ones are refused."""
    if type(value) is np.ndarray:
        return value
    ordered(name, value)
    if isinstance(value, np.ma.MaskedArray) and np.ma.is_masked(value):
        raise ValueError(
            f"{name} has masked entries, {show(value)}; fill them, or leave out what they stand "
            "for."
        )
    inner = value
    for _ in range(DEEPEST):
        if not isinstance(inner, list | tuple) or not inner:
            break
        inner = inner[0]
    else:  # a list that contains itself, on which NumPy would not come to an end
        raise ValueError(
            f"{name} = {show(value)} is not {what}: it holds lists inside lists more than "
            f"{DEEPEST} deep."
        )
    try:
        return np.asarray(value)
    except Exception:
        raise ValueError(
            f"{name} = {show(value)} is not {what}: its rows differ in length or cannot be read."
        ) from None


def matrix(
    name: str, value: object, *, shape: tuple[int | None, int | None] = (None, None)
) -> np.ndarray:
    """A finite, C-contiguous float64 matrix with at least one row and one column."""
    array = _array(name, value, 2)
    for axis, want in enumerate(shape):
        if want is not None and array.shape[axis] != want:
            raise ValueError(
                f"{name} has shape {array.shape}, but must have {want} {('rows', 'columns')[axis]}."
            )
    if array.size == 0:
        raise ValueError(
            f"{name} has shape {array.shape}; it needs at least one row and one column."
        )
    if not np.isfinite(array).all():
        row, column = np.argwhere(~np.isfinite(array))[0]
        raise ValueError(
            f"{name}[{row}, {column}] = {array[row, column]:g} is not a finite number."
        )
    return array


def rows(name: str, value: object, *, shape: tuple[int | None, int | None]) -> np.ndarray:
    """A `matrix`; where the number of its rows is known, a vector stands for rows that are all
    equal to it."""
    array, (number, _) = floats(name, value), shape
    return matrix(
        name,
        np.broadcast_to(array, (number, array.size)) if number and array.ndim == 1 else array,
        shape=shape,
    )


def _array(name: str, value: object, dimensions: int) -> np.ndarray:
    array = np.array(floats(name, value), order="C")
    if array.ndim != dimensions:
        kind = {1: "one-dimensional (K,)", 2: "two-dimensional (K, d)"}[dimensions]
        raise ValueError(f"{name} has shape {array.shape}, but must be {kind}.")
    return array


def mask(name: str, value: object, length: int) -> np.ndarray:
    """A bool vector of a given length with at least one True; a copy, which the caller's later
    writes do not reach."""
    array = entries(name, value, f"a bool array of shape ({length},)")
    if array.dtype != np.bool_ or array.shape != (length,):
        raise ValueError(
            f"{name} has type {array.dtype} and shape {array.shape}, but must be bool of shape "
            f"({length},)."
        )
    if not array.any():
        raise ValueError(f"{name} is False for all {length} arms; at least one must be eligible.")
    return np.array(array, order="C")


def steepness(
    means: np.ndarray, distances: np.ndarray, lipschitz: float = 1.0
) -> tuple[int, int, float] | None:
    """Where |means[i] - means[j]| exceeds lipschitz distances[i, j]: the pair that does so most,
    and the least factor c such that no pair exceeds c times that (inf where means differ at
    distance 0). None where all are within. O(K^2), a few rows at a time."""
    worst, pair, factor = SLOPE_TOLERANCE, None, 0.0
    step = max(1, CELLS // means.size)
    for first in range(0, means.size, step):
        rises, bounds = (
            np.abs(means[first : first + step, None] - means[None, :]),
            lipschitz * distances[first : first + step],
        )
        i, j = (int(k) for k in np.unravel_index(int(np.argmax(rises - bounds)), rises.shape))
        if rises[i, j] - bounds[i, j] > worst:
            worst, pair = rises[i, j] - bounds[i, j], (first + i, j)
        with np.errstate(divide="ignore", invalid="ignore"):
            factor = max(factor, float(np.where(rises > 0.0, rises / bounds, 0.0).max()))
    return None if pair is None else (*pair, factor)


def rounded_up(number: float) -> str:
    """Six digits, the last one rounded up, so that what is printed is enough."""
    text = f"{number:.6g}"
    return (
        text
        if float(text) >= number * (1.0 - 1e-14)
        else f"{number + 10.0 ** (math.floor(math.log10(number)) - 5):.6g}"
    )


def broken_slope(means: np.ndarray, distances: np.ndarray, lipschitz: float) -> str | None:
    """A sentence where |means[i] - means[j]| > lipschitz distances[i, j]: the worst pair and the
    least constant for all pairs."""
    steepest = steepness(means, distances, lipschitz)
    if steepest is None:
        return None
    i, j, factor = steepest
    rise, length = abs(means[i] - means[j]), distances[i, j]
    least = f"the least constant that holds for all pairs is {rounded_up(factor * lipschitz)}"
    remedy = (
        least
        if math.isfinite(factor)
        else "no constant holds, because arms at distance 0 differ in mean"
    )
    return (
        f"means violate lipschitz = {lipschitz:g}: arms {i} and {j} differ by {rise:g} in mean at "
        f"distance {length:g}; {remedy}."
    )


def metric(points: object, distances: object) -> tuple[np.ndarray | None, np.ndarray]:
    """Positions (None if not given) and the (K, K) metric of exactly one of points and distances.

    points: (K,) strictly increasing, or (K, p) distinct rows, with Euclidean distances. distances:
    (K, K) symmetric, zero on the diagonal, not negative; the triangle inequality is not checked.
    O(K^2).
    """
    if (points is None) == (distances is None):
        raise ValueError(
            f"give exactly one of points and distances; got {'none' if points is None else 'both'}."
        )
    if distances is not None:
        return None, _distances(distances)
    positions = floats("points", points)
    fits_in_memory(
        "points: pairs", len(np.atleast_1d(positions)) ** 2, 3 * 8
    )  # their distances, and copies while they are checked
    positions = vector("points", positions) if positions.ndim == 1 else matrix("points", positions)
    if positions.ndim == 1:
        falling = np.flatnonzero(np.diff(positions) <= 0)
        if falling.size:
            k = int(falling[0])
            raise ValueError(
                f"points[{k + 1}] = {positions[k + 1]:g} does not exceed points[{k}] = "
                f"{positions[k]:g}; points must increase, so sort them (and the means with them) "
                "and merge duplicates."
            )
        apart = positions[:, None] - positions[None, :]
        return positions, np.abs(apart, out=apart)
    squares = np.zeros((positions.shape[0],) * 2)
    for column in positions.T:
        squares += (column[:, None] - column[None, :]) ** 2
    spread = np.sqrt(squares)
    same = np.argwhere((spread == 0.0) & ~np.eye(spread.shape[0], dtype=bool))
    if same.size:
        raise ValueError(
            f"points[{same[0, 0]}] and points[{same[0, 1]}] are equal; merge duplicates."
        )
    return positions, spread


def _distances(value: object) -> np.ndarray:
    array = matrix("distances", value)
    K = array.shape[0]
    if array.shape[1] != K:
        raise ValueError(f"distances has shape {array.shape}, but must be square (K, K).")
    rules = (
        (array < 0, "is negative; distances are at least 0"),
        (np.eye(K, dtype=bool) & (array != 0), "is not 0; an arm has distance 0 to itself"),
        (
            np.abs(array - array.T) > 1e-12 * np.abs(array).max(),
            "differs from its mirror image; distances are symmetric",
        ),
    )
    for bad, words in rules:
        if bad.any():
            i, j = np.argwhere(bad)[0]
            raise ValueError(f"distances[{i}, {j}] = {array[i, j]:g} {words}.")
    return array


def checkpoints(name: str, value: object) -> np.ndarray:
    """Rounds at which something is verified: every T-th (stored as [-T]), or an iterable of
    increasing rounds (its first 10^6)."""
    ordered(name, value)
    try:
        items = itertools.islice(iter(value), 10**6)  # type: ignore[call-overload]
    except Exception:  # a number, or an object whose iterator fails
        return np.array([-integer(name, value, least=1, most=MOST_ROUNDS)], dtype=np.int64)
    rounds: list[int] = []
    for item in items:
        k = integer(f"{name}[{len(rounds)}]", item, least=1)
        if rounds and k <= rounds[-1]:
            raise ValueError(
                f"{name}[{len(rounds)}] = {k} comes after {rounds[-1]}; checkpoints must increase."
            )
        if k > MOST_ROUNDS:
            break
        rounds.append(k)
    if not rounds:
        raise ValueError(
            f"{name} = {show(value)} is empty; give a whole number from 1 or increasing rounds."
        )
    return np.array(rounds, dtype=np.int64)


def in_one_line(item: "DataclassInstance") -> str:
    """A dataclass whose fields may be large, its arrays by their shape; what `__repr__` of such a
    class returns."""
    fields = (
        f"{field.name}={show(getattr(item, field.name))}" for field in dataclasses.fields(item)
    )
    return f"{type(item).__name__}({', '.join(fields)})"


# Lengths of time as people write them: 90s, 15m, 12h, 7d, 2w.


SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}
LONGEST_TIME = 10 * 365 * 86_400  # seconds


def seconds_of(text: str) -> float:
    """Seconds of a length of time. Raises ValueError for other text."""
    match = re.fullmatch(r"(\d{1,9}(?:\.\d{1,9})?)\s*([smhdw])", text)
    if match is None:
        raise ValueError(
            f'{text[:40]!r} is not a time; write seconds or text such as "90s", "15m", "12h", "7d".'
        )
    return float(match.group(1)) * SECONDS[match.group(2)]
