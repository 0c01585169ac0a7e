"""Logs as training data: a table is read and checked as a whole, then fed to the policy's kernels in one compiled loop."""

import contextlib
from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

import numpy as np

from .. import checks
from .._jit import jit
from ..matching import compiled
from ..registry import Policy
from ..types import State
from ..verbs import Arms, Context, admit, inform
from .arms import Names

CHUNK = 100_000  # rows between two chances to interrupt
SHOWN = 3  # bad rows named in a refusal


class Table(Protocol):
    """A table with named columns: of pandas, polars or pyarrow, or a dict of arrays."""

    def __getitem__(self, name: str, /) -> object:
        """A column."""


class Log(NamedTuple):
    """Rewards of single arms, one a row."""

    arms: np.ndarray  # (n,)
    rewards: np.ndarray  # (n,)
    features: np.ndarray | None  # (n, d) of the row's arm, where they change
    baselines: np.ndarray | None  # (n,) the round's baseline arm, where it changes


def read_log(
    frame: Table, arm: str | None, reward: str, features: Sequence[str] | str | None, baseline: int | str | None, changing: bool,
    arms: Arms, names: Names, bounds: tuple[float | None, float | None],
) -> Log:  # fmt: skip
    """The checked rows of a table with named columns. Raises ValueError with the number of bad rows and the first of them."""
    if changing and features is None:
        raise ValueError(f"features is missing; name the {arms.dimension} columns of the played arm's features.")
    if not changing and features is not None:
        raise ValueError("features was given, but these arms do not change; leave it out.")
    bad: dict[int, str] = {}
    rewards = _numbers(column(frame, reward), "reward", reward, bad)
    n = rewards.size
    low, high = bounds
    outside = np.zeros(n, dtype=np.bool_)
    if low is not None:
        outside |= rewards < low
    if high is not None:
        outside |= rewards > high
    span = f"[{'-inf' if low is None else f'{low:g}'}, {'inf' if high is None else f'{high:g}'}]"
    _note(bad, outside, lambda i: f"{reward} = {rewards[i]:g} is outside {span}")
    played = np.zeros(n, dtype=np.int64) if arm is None else _arms(column(frame, arm), arm, names, arms.number, n, bad)
    matrix = None if features is None else _features(frame, features, arms.dimension, n, bad)
    baselines = None
    if isinstance(baseline, str) and (names.texts is None or baseline not in names.texts):
        baselines = _arms(column(frame, baseline), baseline, names, arms.number, n, bad)
    elif baseline is not None:
        baselines = np.full(n, names.number("baseline", baseline, arms.number))
    if bad:
        first = "; ".join(f"row {i}: {bad[i]}" for i in sorted(bad)[:SHOWN])
        more = f"; and {len(bad) - SHOWN} more" if len(bad) > SHOWN else ""
        raise ValueError(f"frame has {len(bad)} bad rows of {n}, so nothing of it was learned: {first}{more}.")
    return Log(played, rewards, matrix, baselines)


def column(frame: Table, name: str) -> np.ndarray:
    """A column of a table as an array."""
    try:
        values = frame[name]
    except Exception:
        known = getattr(frame, "column_names", None) or getattr(frame, "columns", None)
        listed = list(frame) if isinstance(frame, dict) else [str(item) for item in known] if known is not None else []
        has = f"; it has {', '.join(map(str, listed[:10]))}" if listed else "; give a table with named columns or a dict of arrays"
        raise ValueError(f"frame has no column {checks.show(name)}{has}.") from None
    if hasattr(values, "to_numpy"):
        return np.asarray(values.to_numpy())
    array = np.asarray(values)
    return array if array.dtype.kind not in "US" else np.asarray(values, dtype=object)  # a list's numbers beside text stay numbers


def _note(bad: dict[int, str], wrong: np.ndarray, words: Callable[[int], str]) -> None:
    for i in np.flatnonzero(wrong).tolist():
        bad.setdefault(i, words(i))


def _numbers(values: np.ndarray, argument: str, name: str, bad: dict[int, str]) -> np.ndarray:
    """A column as finite float64."""
    if values.ndim != 1 or values.size == 0:
        raise ValueError(f"{argument} = {checks.show(name)} has shape {values.shape}, but must be a column with at least one row.")
    if values.dtype.kind in "biuf":
        numbers = np.require(values, np.float64, ["C", "W"])  # tables of Arrow cannot be written, which is another type to compiled code
    else:
        numbers = np.full(values.size, np.nan)
        for i, value in enumerate(values.tolist()):
            with contextlib.suppress(Exception):  # whatever is no number stays NaN, which is named below
                numbers[i] = np.nan if isinstance(value, (str, bytes)) else float(value)
    _note(bad, ~np.isfinite(numbers), lambda i: f"{name} = {checks.show(values[i : i + 1].tolist()[0])} is not a finite number")
    return numbers


def _arms(values: np.ndarray, name: str, names: Names, count: int, n: int, bad: dict[int, str]) -> np.ndarray:
    """A column of arm numbers or names as numbers."""
    if values.shape != (n,):
        raise ValueError(f"column {checks.show(name)} has shape {values.shape}, but must have one entry for each of the {n} rows.")
    if values.dtype.kind in "iu":
        numbers = values.astype(np.int64)
    elif values.dtype.kind == "f":
        whole = np.where(np.isfinite(values) & (np.abs(values) < 2**53), values, -1.0)
        numbers = np.where(whole == np.floor(whole), whole, -1.0).astype(np.int64)
    elif values.dtype.kind in "OUT":
        import pandas

        try:
            codes, texts = pandas.factorize(np.asarray(values, dtype=object))
        except TypeError:
            raise ValueError(f"column {checks.show(name)} holds objects that are neither arm numbers nor names.") from None
        found = [_number(text, names, count) for text in texts]
        numbers = np.array([*found, -1], dtype=np.int64)[codes]  # a missing value has code -1
    else:
        raise ValueError(f"column {checks.show(name)} has type {values.dtype}, but must hold arm numbers or names.")
    allowed = f"from 0 to {count - 1}" if names.texts is None else "nor the name of an arm"
    wrong = (numbers < 0) | (numbers >= count)
    _note(bad, wrong, lambda i: f"{name} = {checks.show(values[i : i + 1].tolist()[0])} is no arm {allowed}")
    return numbers


def _number(value: object, names: Names, count: int) -> int:
    try:
        return names.number("arm", value, count)
    except ValueError:
        return -1


def _features(frame: Table, features: Sequence[str] | str, dimension: int, n: int, bad: dict[int, str]) -> np.ndarray:
    """The (n, d) features of the played arms."""
    if isinstance(features, str):
        values = column(frame, features)
        if values.dtype == object and values.size:
            values = np.stack([np.asarray(value, dtype=np.float64) for value in values])
        matrix = np.ascontiguousarray(checks.floats("features", values))
    else:
        matrix = np.stack([checks.floats(f"features {checks.show(name)}", column(frame, name)) for name in features], axis=1)
    if matrix.shape != (n, dimension):
        raise ValueError(f"features has shape {matrix.shape}, but must be ({n}, {dimension}), one row for each of the frame.")
    _note(bad, ~np.isfinite(matrix).all(axis=1), lambda i: f"features are {checks.show(matrix[i])}, not all finite")
    return np.require(matrix, np.float64, ["C", "W"])


@jit
def feed_rows(policy, state, arms, rewards, features, shown, baselines):
    """`inform` for every row; shown (K, d) is scratch for a round's features, None where arms do not change."""
    for i in range(arms.shape[0]):
        arm = arms[i]
        if features is not None:
            for j in range(features.shape[1]):
                shown[arm, j] = features[i, j]
        if baselines is None:
            state = inform(policy, state, Context(shown, None, None, None), arm, rewards[i])
        else:
            state = inform(policy, state, Context(shown, None, baselines[i], None), arm, rewards[i])
    return state


def feed(policy: Policy, state: State, arms: Arms, log: Log) -> State:
    """The state that has learned the log; the argument is updated in place. O(update) a row."""
    first = None if log.baselines is None else int(log.baselines[0])
    admit(policy, state, Context(features=log.features, baseline=first))
    blocks, chunks = arms.blocks, range(0, log.arms.size, CHUNK)
    if arms.oracle is not None:  # kernels of sets take many arms at once
        for begin in chunks:
            part = slice(begin, begin + CHUNK)
            action, seen = log.arms[part], Context()
            if log.features is not None:
                seen = Context(features=log.features[part])
                action = np.arange(action.size) * blocks + action % blocks
            state = inform(policy, state, seen, action, log.rewards[part])
        return state
    shown = None if log.features is None else np.zeros((arms.rows, arms.dimension))
    run = feed_rows if compiled(policy) else feed_rows.py_func if hasattr(feed_rows, "py_func") else feed_rows
    for begin in chunks:
        part = slice(begin, begin + CHUNK)
        features = None if log.features is None else log.features[part]
        baselines = None if log.baselines is None else log.baselines[part]
        state = run(policy, state, log.arms[part], log.rewards[part], features, shown, baselines)
    return state
