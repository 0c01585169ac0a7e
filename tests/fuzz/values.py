"""What people and programs pass by mistake: values of every kind, many of them hostile."""

import datetime
import decimal
import fractions
import math
from collections.abc import Callable
from typing import Any

import numpy as np

import tightrope as tr


class Hostile:
    """Every conversion runs code that raises something unusual."""

    def __init__(self, error: type[Exception]) -> None:
        self.error = error

    def _fail(self, *given: Any) -> Any:
        raise self.error("not this way")

    __float__ = __int__ = __index__ = __repr__ = __str__ = __iter__ = __len__ = __bool__ = (
        __array__
    ) = __eq__ = __hash__ = _fail


class BadFloat:
    """A number to look at, but not for float()."""

    def __float__(self) -> float:
        raise RuntimeError("no")


def endless(branches: int) -> list[Any]:
    loop: list[Any] = []
    loop.extend([loop] * branches)
    return loop


def filled(value: Any) -> np.ndarray:
    array = np.empty(3, dtype=object)
    for place in range(3):
        array[place] = value
    return array


def deep(levels: int) -> Any:
    value: Any = 1.0
    for _ in range(levels):
        value = [value]
    return value


SCALARS: list[Callable[[], Any]] = [
    lambda value=value: value
    for value in (
        None,
        True,
        False,
        np.True_,
        0,
        1,
        2,
        3,
        -1,
        10**400,
        -(10**400),
        2**31,
        2**63,
        2**64,
        0.0,
        -0.0,
        0.1,
        0.5,
        0.999,
        1.0,
        1.5,
        2.0,
        math.nan,
        math.inf,
        -math.inf,
        1e-320,
        1e-12,
        5e-324,
        "",
        "UCB",
        "1",
        "1e4",
        "ucb",
        "theory",
        "x" * 100_000,
        "a\nb",
        b"1",
        1j,
        np.complex128(0.5),
        np.float32(0.5),
        np.float64(0.25),
        np.int8(1),
        np.uint64(2**64 - 1),
        np.str_("0.5"),
        fractions.Fraction(1, 3),
        decimal.Decimal("0.3"),
        decimal.Decimal("sNaN"),
        datetime.date(2020, 1, 1),
        np.datetime64("2020-01-01"),
        np.timedelta64(3),
        ...,
        NotImplemented,
        object(),
        object,
        int,
        float,
        len,
        slice(2),
        range(3),
        range(0),
        {},
        {0: 1.0},
        {"a": 1},
        set(),
        {0.1, 0.2},
        frozenset([1]),
        Hostile(RuntimeError),
        Hostile(OverflowError),
        Hostile(KeyError),
        Hostile(ZeroDivisionError),
        BadFloat(),
        tr.UCB,
        tr.CUCB2,
        tr.UCB(),
        tr.LinGapE(),
        tr.oracles.TopK(2),
        tr.Context(),
        tr.Budget(0),
        tr.problems.Bernoulli([0.2, 0.7]),
    )
]
COLLECTIONS: list[Callable[[], Any]] = [
    lambda: endless(1),
    lambda: endless(2),
    lambda: endless(3),
    lambda: [1.0, endless(2)],
    lambda: [[1.0], endless(2)],
    lambda: deep(40),
    lambda: deep(3000),
    list,
    lambda: (),
    lambda: [[]],
    lambda: [[], []],
    lambda: [[1, 2], [3]],
    lambda: [1, [2, 3]],
    lambda: [None, 1],
    lambda: [True, False, True],
    lambda: np.array([True, False, True]),
    lambda: np.array([False, False, False]),
    lambda: [1, 0, 1],
    lambda: np.array([True, True]),
    lambda: ["a", "b", "c"],
    lambda: ["0.1", "0.2", "0.3"],
    lambda: [b"1"],
    lambda: [0.1, "x", 0.2],
    lambda: [0.2, 0.5, 0.3],
    lambda: (0.2, 0.5, 0.3),
    lambda: np.array([0.2, 0.5, 0.3], dtype=np.float32),
    lambda: [0.2, math.nan, 0.3],
    lambda: [0.2, math.inf, 0.3],
    lambda: [-1.0, 0.5, 2.0],
    lambda: [1, 2, 3],
    lambda: [3, 2, 1],
    lambda: [10**400, 1, 2],
    lambda: [1 + 2j, 0, 0],
    lambda: np.array([1 + 2j, 0, 0]),
    lambda: np.array([[1], [2, 3]], dtype=object),
    lambda: np.array(None),
    lambda: filled(Hostile(RuntimeError)),
    lambda: [BadFloat()] * 3,
    lambda: np.array(0.5),
    lambda: np.array([0.5]),
    lambda: np.array("x"),
    lambda: np.zeros((0, 3)),
    lambda: np.zeros((3, 0)),
    lambda: np.zeros((2, 2, 2)),
    lambda: np.zeros(0),
    lambda: np.eye(3),
    lambda: np.eye(2),
    lambda: np.eye(3).tolist(),
    lambda: np.eye(3, dtype=np.int64),
    lambda: np.full((3, 3), math.nan),
    lambda: np.ones((3, 1)),
    lambda: np.asfortranarray(np.arange(9.0).reshape(3, 3)),
    lambda: np.arange(12.0)[::4],
    lambda: np.array(["2020-01-01"] * 3, dtype="datetime64[D]"),
    lambda: np.zeros(3, dtype=[("x", "f8")]),
    lambda: np.ma.masked_all(3),
    lambda: (item for item in (1, 2, 3)),
    lambda: iter([0.5]),
    lambda: {"policy": "UCB"},
    lambda: {"a": tr.UCB},
    lambda: {"a": tr.UCB()},
    lambda: {"a": None},
    lambda: {1: tr.UCB()},
    lambda: {"a": Hostile(RuntimeError)},
    lambda: memoryview(b"123"),
    lambda: bytearray(b"abc"),
    lambda: lambda problem: tr.UCB(),
    lambda: lambda: None,
    lambda: lambda *given: 7,
]
EVERYTHING = SCALARS + COLLECTIONS


def draw(rng: np.random.Generator) -> Any:
    """One value, made anew."""
    return EVERYTHING[int(rng.integers(len(EVERYTHING)))]()


def told(value: Any) -> str:
    """A value for the message of a failed case, however hostile."""
    try:
        return repr(value)[:200]
    except Exception:
        return f"<{type(value).__name__}>"


def is_a_sentence(error: ValueError) -> bool:
    """One line of our own: it starts with the argument, ends with a full stop, and is short enough
    to read."""
    text = str(error)
    return "\n" not in text and text.endswith(".") and 15 < len(text) < 700
