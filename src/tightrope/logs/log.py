"""`Log`: decisions of a logger in one form, which estimators read in chunks, whatever table, file
or session they are from.

A row is one arm that was played: its number, its reward, the probability with which the logger
played it (its propensity, in its slot where there are slots), and what the logger saw. Rows of the
same round belong to one set of arms.
"""

from __future__ import annotations

import math
import pathlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, Protocol, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from ..compiled.kernels import jit
from ..core import checks
from .tables import (
    BadRows,
    Columns,
    Frame,
    InFiles,
    Table,
    TableBatch,
    column_names,
    column_of,
    entry,
    is_missing,
    label,
    labels,
    matrix,
    number_of_columns,
    numbers,
    numbers_of_table,
    open_table,
    rewards as rewards_of,
    times,
    whole_numbers,
)

# Labels of arms in a table, and their numbers: 0, 1, .., K - 1 everywhere else.


Label: TypeAlias = int | str
ArmsGiven: TypeAlias = (
    int | Sequence[object] | np.ndarray | None
)  # K, or what all arms are called; None: what occurs


class ArmLabels:
    """The arms of a log: their number, and what they are called where that is not their number.

    A whole number in a table is the arm that is called so, whether its label is a number or text.
    Where all labels are words it is the arm's own number. Where all numbers of a column could be
    either, and not of the same arms, nothing is guessed: it is refused.
    """

    def __init__(self, count: int, called: Sequence[Label] | None = None) -> None:
        plain = called is None or list(called) == list(range(count))
        self.count = count
        self.labels: tuple[Label, ...] | None = None if plain else tuple(called or ())
        self._places = (
            {} if self.labels is None else {each: k for k, each in enumerate(self.labels)}
        )
        self._by_text = {str(each): k for k, each in enumerate(self.labels or ())}
        self._words = self.labels is not None and not any(
            isinstance(each, int) or each.isdigit() for each in self.labels
        )

    @classmethod
    def from_argument(cls, arms: ArmsGiven) -> ArmLabels:
        if (
            isinstance(arms, (str, bytes, Mapping))
            or not isinstance(arms, Iterable)
            or (isinstance(arms, np.ndarray) and not arms.ndim)
        ):
            return cls(checks.integer("arms", arms, least=1))
        called: list[Label] = []
        for k, each in enumerate(checks.ordered("arms", arms)):
            one = label(each)
            if one is None:
                raise ValueError(
                    f"arms[{k}] = {checks.show(each)} is neither a whole number nor a name."
                )
            called.append(one)
        if not called:
            raise ValueError(
                "arms is empty; give all arms' names or numbers, or leave it out: then it is "
                "those of the log."
            )
        texts = list(map(str, called))
        if len(set(texts)) < len(texts):
            twice = next(each for k, each in enumerate(called) if str(each) in texts[:k])
            raise ValueError(
                f"arms has {checks.show(twice)} twice; every arm needs a name of its own."
            )
        return cls(len(called), called)

    @classmethod
    def from_columns(
        cls, columns: Iterable[tuple[np.ndarray, np.ndarray, int]], name: str, least: int = 0
    ) -> ArmLabels:
        """The arms that occur in a log: numbers in their order, or names in alphabetical order.

        columns: the column of arms in parts, each with which of its rows are left out because they
        have no reward, which need no arm, and with the number of its first row. least: K, where
        something else in the log has a place for each arm; numbers below it are then the arms' own.
        Raises ValueError naming the first rows without an arm.
        """
        occurring: set[Label] = set()
        for values, left_out, first in columns:
            bad = BadRows(
                values.size if values.ndim == 1 else 0,
                left_out if left_out.shape == values.shape else None,
            )
            places, distinct = labels(values, name, bad)
            if distinct and not bad.wrong.any():
                _note_mixed(values, places, distinct, occurring, name, bad)
                negative = np.array([isinstance(each, int) and each < 0 for each in distinct])
                bad.note(
                    negative[places],
                    lambda i: (
                        f"{name} = {entry(values, i)} is no arm: "  # noqa: B023
                        "a negative number mostly stands for a missing arm; where it is one, list "
                        "all arms in arms="
                    ),
                )
            bad.refuse(np.arange(first, first + values.size))
            occurring.update(distinct)
        if not occurring:
            raise ValueError("frame has no rows; give at least one.")
        called = sorted(occurring)
        numbers = [each for each in called if isinstance(each, int)]
        if numbers and least and numbers[0] >= 0 and numbers[-1] < least:
            return cls(least)
        return cls(len(called), called)

    def numbers(self, values: np.ndarray, name: str, bad: BadRows) -> np.ndarray:
        """A column of labels as (n,) arm numbers, int64; -1 where there is no such arm, which is a
        bad row."""
        if (
            self.labels is None
            and values.dtype.kind in "iu"
            and values.ndim == 1
            and values.size == bad.wrong.size
        ):
            arms = values.astype(
                np.int64
            )  # without looking for what is distinct: the arms are their numbers
        else:
            places, distinct = labels(values, name, bad)
            self._refuse_two_meanings(name, distinct)
            arms = np.array([*map(self._number, distinct), -1], dtype=np.int64)[places]
        arms = np.where((arms >= 0) & (arms < self.count), arms, -1)
        unknown = (
            f"no arm from 0 to {self.count - 1}"
            if self.labels is None
            else f"not among arms = {checks.show(list(self.labels))}"
        )
        bad.note(arms < 0, lambda i: f"{name} = {entry(values, i)} is {unknown}")
        return arms

    def number(self, argument: str, arm: object) -> int:
        one = label(arm)
        self._refuse_two_meanings(argument, [] if one is None else [one])
        place = -1 if one is None else self._number(one)
        if 0 <= place < self.count:
            return place
        if self.labels is None:
            if isinstance(arm, str):
                raise ValueError(
                    f"{argument} = {arm!r} is not the name of an arm; arms have numbers only, "
                    f"from 0 to {self.count - 1}."
                )
            return checks.integer(argument, arm, least=0, most=self.count - 1)
        raise ValueError(
            f"{argument} = {checks.show(arm)} is not the name of an arm; arms are "
            f"{checks.show(list(self.labels))}."
        )

    def of(self, arm: int) -> Label:
        return arm if self.labels is None else self.labels[arm]

    def _number(self, one: Label) -> int:
        if self.labels is None:
            return one if isinstance(one, int) else -1
        if one in self._places:
            return self._places[one]
        if self._words and isinstance(one, int):
            return one
        return self._by_text.get(str(one), -1)

    def _refuse_two_meanings(self, name: str, distinct: list[Label]) -> None:
        """Refuse whole numbers that each are the text of an arm's name and the number of an arm,
        where these are not the same arms."""
        numbers = [one for one in distinct if isinstance(one, int) and one not in self._places]
        pairs = [
            (one, self._by_text[str(one)])
            for one in numbers
            if 0 <= one < self.count and str(one) in self._by_text
        ]
        other = next((pair for pair in pairs if pair[0] != pair[1]), None)
        if other is not None and len(pairs) == len(distinct):
            one, place = other
            raise ValueError(
                f"{name} = {one} may be the arm that is called {str(one)!r}, number {place}, or "
                f"arm number {one}, which is called {checks.show(self.of(one))}; write names as "
                "text (in a frame of decisions they are the column 'name')."
            )


def check_order(argument: str, values: object, arms: Sequence[Label]) -> None:
    """Refuse a table, a Series or a dict that calls the arms otherwise, or in another order, than
    they are numbered here.

    Its numbers would be taken by their place. arms: what they are called, in the order of their
    numbers.
    """
    if isinstance(values, Mapping):
        called = list(values)
    elif (columns := getattr(values, "column_names", None)) is not None or (
        columns := getattr(values, "columns", None)
    ) is not None:
        called = list(columns)
    elif (index := getattr(values, "index", None)) is not None and not callable(
        index
    ):  # of a Series
        called = list(index)
    else:
        return
    if list(map(str, called)) not in (list(map(str, arms)), list(map(str, range(len(arms))))):
        raise ValueError(
            f"{argument} is labelled {checks.show(called)}, but the arms are "
            f"{checks.show(list(arms))}, in this order; put it in their order, or give its "
            "numbers as an array that is."
        )


def _note_mixed(
    values: np.ndarray,
    places: np.ndarray,
    distinct: list[Label],
    before: set[Label],
    name: str,
    bad: BadRows,
) -> None:
    """Numbers among names: one of them is probably a mistake, and which is not for us to say."""
    kinds = {type(each) for each in (*before, *distinct)}
    if len(kinds) < 2:
        return
    first = type(next(iter(before))) if before else type(distinct[places[0]])
    other = np.array([type(each) is not first for each in distinct])[places]
    usual, another = ("numbers", "text") if first is int else ("names", "a number")
    bad.note(
        other,
        lambda i: (
            f"{name} = {entry(values, i)} is {another}, but the arms before it are {usual}; write "
            "all of them alike"
        ),
    )


CHUNK = 65_536  # rows of a chunk at most
ENTRIES = 2**21  # numbers of a chunk's largest array at most
CHANCE = 1e-3  # with which rows that are in the order of their draws are taken for others
STAKES = np.array([0.02, 0.05, 0.1, 0.2, 0.4, 0.7])  # of the bets against their order
MOST_ODDS = 20.0  # at which a bet is paid, so that a single tiny propensity wins none
TOLERANCE = 1e-6  # by how much probabilities may miss what they must add up to


class Rows(NamedTuple):
    arm: np.ndarray  # (m,) int64
    reward: np.ndarray  # (m,)
    propensity: np.ndarray  # (m,) of the played arm, in its slot
    features: np.ndarray | None = None  # (m, d) of the round, or (m, K, d) of its arms
    eligible: np.ndarray | None = None  # (m, K) bool
    probabilities: np.ndarray | None = None  # (m, K) the logger's, of all arms
    time: np.ndarray | None = None  # (m,) as it was given
    slot: np.ndarray | None = None  # (m,) int64
    round: np.ndarray | None = None  # (m,) int64; rows of a set have the same
    origin: np.ndarray | None = (
        None  # (m,) int64, rows of the table they were given in; None: first, first + 1, ..
    )
    first: int = 0  # row of the source at which the chunk begins

    def part(self, begin: int, end: int) -> Rows:
        return self.map_arrays(lambda item: item[begin:end], self.first + begin)

    def map_arrays(self, change: Callable[[np.ndarray], np.ndarray], first: int = 0) -> Rows:
        return Rows(  # type: ignore[call-arg]
            *(one if one is None else change(one) for one in self[:-1]),  # type: ignore[arg-type]
            first,
        )

    @property
    def given(self) -> np.ndarray:
        return (
            np.arange(self.first, self.first + self.arm.size)
            if self.origin is None
            else self.origin
        )

    def of(self, table: np.ndarray) -> np.ndarray:
        return (
            table[self.first : self.first + self.arm.size]
            if self.origin is None
            else table[self.origin]
        )


class Source(Protocol):
    def read(self, size: int, narrow: bool) -> Iterator[Rows]:
        """Chunks of about `size` rows, in order. narrow: without features."""


@dataclass(frozen=True, eq=False)
class Log:
    """A log of decisions, read in chunks as often as it is needed. Functions of `tr.logs` make it.

    Attributes
    ----------
    source : Source
        What it is read from.
    arms : int
        K.
    names : tuple of str or int, or None
        What arms are called in the table; None where that is their number, 0 .. K - 1.
    rewards : (float, float)
        Lowest and highest reward there can be.
    floor : float or None
        A probability that every eligible arm had in every round; None: unknown.
    arm_features : (K, d) array or None
        Where arms have features that never change.
    left_out : dict
        What of the table the log does not hold, in words, with counts.
    n, rounds, given : int
        Rows, rounds, and rows of the table it was made from, with those left out.
    size : int
        Arms of the largest set, 1 without sets.
    plays : (K,) array
        Rows of every arm.
    uniform, deterministic, constant : bool
        Whether every eligible arm had the same probability, all propensities are 1, all are the
        same.
    known : bool
        Whether it has the logger's probabilities of all arms.
    as_drawn : bool
        Whether arms follow each other as draws with their propensities do. False for rows that are
        sorted or joined by arm.
    observed : (float, float)
        The lowest and the highest reward that occurs.
    two_valued : bool
        Whether no other reward occurs.
    expected : (K,) array or None
        Rows of every arm that its propensities make, where they are known.
    table : Table or None
        What it was made from, where that has more columns.
    repeated : str
        A column whose values come in many rows with one arm each, as those of an arm drawn by user;
        empty where there is none.
    """

    source: Source
    arms: int
    names: tuple[Label, ...] | None = None
    rewards: tuple[float, float] = (0.0, 1.0)
    floor: float | None = None
    arm_features: np.ndarray | None = None
    left_out: Mapping[str, int] = field(default_factory=dict)
    n: int = 0
    given: int = 0
    rounds: int = 0
    size: int = 1
    plays: np.ndarray = field(default_factory=lambda: np.zeros(0))
    uniform: bool = False
    deterministic: bool = False
    constant: bool = False
    known: bool = False
    as_drawn: bool = True
    observed: tuple[float, float] = (0.0, 1.0)
    two_valued: bool = False
    expected: np.ndarray | None = None
    table: Table | None = None
    repeated: str = ""

    def __len__(self) -> int:
        return self.n

    def __repr__(self) -> str:
        sets = f", sets of up to {self.size}" if self.size > 1 else ""
        return (
            f"Log({self.n:,} rows, {self.arms} arms{sets}, rewards in [{self.rewards[0]:g}, "
            f"{self.rewards[1]:g}])"
        )

    def chunks(self, size: int | None = None) -> Iterator[Rows]:
        """The rows in order, checked, a chunk at a time. The rows of a set are never apart.

        Parameters
        ----------
        size : int >= 1
            Rows of a chunk; default by the number of arms.

        Yields
        ------
        Rows
        """
        for part in self._parts(size, narrow=False):
            rows = _rewarded_rows(part)
            if rows.arm.size:
                yield self._checked(rows)

    def _parts(self, size: int | None, narrow: bool) -> Iterator[Rows]:
        wide = 1 if self.arm_features is None else self.arm_features.shape[1]
        rows = (
            max(256, min(CHUNK, ENTRIES // (self.arms * wide)))
            if size is None
            else checks.integer("size", size, least=1)
        )
        for part in _whole_sets(self.source.read(rows, narrow)):
            yield part.map_arrays(
                lambda item: np.require(item, requirements=["C", "W"]), part.first
            )

    def number(self, argument: str, arm: object) -> int:
        """The number of an arm by what it is called.

        Parameters
        ----------
        argument : str
            The name of the caller's argument, for the message of an error.
        arm : int or str
            Its number or name.

        Returns
        -------
        int

        Raises
        ------
        ValueError
            For what is no arm of this log.
        """
        return ArmLabels(self.arms, self.names).number(argument, arm)

    def _checked(self, rows: Rows) -> Rows:
        """A chunk whose every row can be used. Raises ValueError with the first bad rows."""
        arm, reward, h, K, m = rows.arm, rows.reward, rows.propensity, self.arms, rows.arm.size
        low, high = self.rewards
        bad = BadRows(m)
        bad.note((arm < 0) | (arm >= K), lambda i: f"arm = {arm[i]} is no arm from 0 to {K - 1}")
        bad.note(~np.isfinite(reward), lambda i: f"reward = {reward[i]:g} is not a finite number")
        bad.note(
            (reward < low) | (reward > high),
            lambda i: (
                f"reward = {reward[i]:g} is outside the declared range [{low:g}, {high:g}]; give "
                "from_frame(..., rewards=(lowest, highest))"
            ),
        )
        bad.note(
            ~((h > 0.0) & (h <= 1.0 + TOLERANCE)),
            lambda i: (
                f"propensity = {h[i]:g}, but it must be in (0, 1]: the probability with which the "
                "logger played this arm"
            ),
        )
        if self.floor is not None:
            floor = self.floor
            bad.note(
                h < floor * (1.0 - TOLERANCE),
                lambda i: f"propensity = {h[i]:g} is below floor = {floor:g}; give the true floor",
            )
            if (
                rows.round is None
            ):  # of one arm, beside which all others that could be played have the floor
                others = (
                    K
                    if rows.eligible is None
                    else of_arms("eligible", rows.eligible, m, K).sum(axis=1)
                ) - 1
                left = np.broadcast_to(1.0 - others * floor, m)
                bad.note(
                    h > left + TOLERANCE,
                    lambda i: (
                        f"propensity = {h[i]:g}, but the others' floor = {floor:g} leaves at most "
                        f"{left[i]:g}; give the true floor"
                    ),
                )
        features = rows.features
        if features is not None:
            if (
                features.ndim not in (2, 3)
                or features.shape[0] != m
                or (features.ndim == 3 and features.shape[1] != K)
            ):
                raise ValueError(
                    f"features has shape {features.shape}, but must be (n, d), or (n, {K}, d) for "
                    "features of every arm."
                )
            bad.note(
                ~np.isfinite(features).reshape(m, -1).all(axis=1),
                lambda i: "features are not all finite",
            )
        played = np.arange(m), np.clip(arm, 0, K - 1)
        if rows.eligible is not None:
            able = of_arms("eligible", rows.eligible, m, K)[played]
            bad.note(np.asarray(~able), lambda i: f"arm {arm[i]} was played, but is not eligible")
        if rows.probabilities is not None:
            H = of_arms("probabilities", rows.probabilities, m, K)
            possible = ((H >= 0.0) & (H <= 1.0 + TOLERANCE)).all(axis=1)  # NaN is not
            bad.note(np.asarray(~possible), lambda i: "probabilities must all be in [0, 1]")
            if rows.round is None:
                bad.note(
                    np.abs(H.sum(axis=1) - 1.0) > TOLERANCE,
                    lambda i: f"probabilities add up to {H[i].sum():g}, not to 1",
                )
            bad.note(
                np.abs(H[played] - h) > TOLERANCE,
                lambda i: (
                    f"propensity = {h[i]:g} differs from the probability {H[i, arm[i]]:g} of the "
                    "played arm"
                ),
            )
        if rows.round is not None:
            numbers = rows.round
            order = np.lexsort((arm, numbers))
            twice = np.zeros(arm.size, dtype=np.bool_)
            twice[order[1:]] = (np.diff(numbers[order]) == 0) & (np.diff(arm[order]) == 0)
            bad.note(
                twice,
                lambda i: (
                    f"arm {arm[i]} is twice in round {numbers[i]}, but a set has every arm once"
                ),
            )
        bad.refuse(rows.given)
        return rows


def of_arms(name: str, values: np.ndarray, m: int, K: int) -> np.ndarray:
    """An array with a column for each arm. Raises ValueError where it has others."""
    if values.shape != (m, K):
        raise ValueError(
            f"{name} has shape {values.shape}, but must have a column for each of the {K} arms."
        )
    return values


def _refuse_parted(begins: list[tuple[np.ndarray, np.ndarray]]) -> None:
    """Refuse rounds whose rows do not follow each other. begins: numbers of rounds and the rows at
    which they begin, in parts."""
    rounds, rows = (np.concatenate(items) for items in zip(*begins, strict=True))
    if (np.diff(rounds) > 0).all():
        return
    order = np.argsort(rounds, kind="stable")
    repeats = np.flatnonzero(np.diff(rounds[order]) == 0)
    if repeats.size:
        here = repeats[np.argmin(rows[order[repeats + 1]])]
        raise ValueError(
            f"row {rows[order[here + 1]]}: round {rounds[order[here]]} was there before, from row "
            f"{rows[order[here]]} on, with others between; rows of a round must follow each "
            "other, so sort the table by round, or number the rounds anew."
        )


def _rewarded_rows(rows: Rows) -> Rows:
    missing = np.isnan(rows.reward)
    if not missing.any():
        return rows
    if rows.round is not None:
        missing = np.isin(rows.round, rows.round[missing])
    kept = np.flatnonzero(~missing)
    return rows._replace(origin=rows.given).map_arrays(lambda item: item[kept], rows.first)


def _whole_sets(parts: Iterable[Rows]) -> Iterator[Rows]:
    """Chunks cut between two rounds: the last round of a chunk, which may go on, waits for the
    next."""
    last_round: Rows | None = None
    for part in parts:
        if part.round is None:
            yield part
            continue
        joined = part if last_round is None else joined_rows([last_round, part], last_round.first)
        assert joined.round is not None
        last = int(np.argmax(joined.round == joined.round[-1]))  # rows of a round are consecutive
        if last:
            yield joined.part(0, last)
        last_round = joined.part(last, joined.arm.size)
    if last_round is not None:
        yield last_round


def joined_rows(parts: Sequence[Rows], first: int = 0) -> Rows:
    joined: list[Any] = [
        None if one[0] is None else np.concatenate(one)
        for one in zip(*(part[:-1] for part in parts), strict=True)
    ]
    return Rows(*joined, first)  # type: ignore[call-arg]


@dataclass(frozen=True)
class RowsInMemory:
    rows: Rows

    def read(self, size: int, narrow: bool) -> Iterator[Rows]:
        rows = self.rows._replace(features=None) if narrow else self.rows
        for begin in range(0, rows.arm.size, size):
            yield rows.part(begin, min(begin + size, rows.arm.size))


def in_order(rows: Rows) -> Rows:
    """Rows sorted by time, those of one time as they were, those of a round together where its
    first one belongs."""
    if rows.time is None or rows.time.size < 2 or not (rows.time[1:] < rows.time[:-1]).any():
        return rows
    order = np.argsort(rows.time, kind="stable")
    if rows.round is not None:
        _, first, places = np.unique(rows.round[order], return_index=True, return_inverse=True)
        order = order[np.argsort(first[places], kind="stable")]
    rows = rows._replace(origin=rows.given)
    return rows.map_arrays(lambda item: item[order])


def new_log(
    source: Source,
    arms: int,
    names: tuple[Label, ...] | None = None,
    *,
    rewards: tuple[float, float] = (0.0, 1.0),
    floor: float | None = None,
    arm_features: ArrayLike | None = None,
    left_out: Mapping[str, int] | None = None,
) -> Log:
    """A log of these rows, read once: every row is checked and counted."""
    try:
        low, high = (checks.real("rewards", item) for item in rewards)
    except TypeError:
        raise ValueError(
            f"rewards = {checks.show(rewards)} is not a pair (lowest, highest)."
        ) from None
    if not low < high:
        raise ValueError(
            f"rewards = ({low:g}, {high:g}) must be a pair (lowest, highest) of different numbers."
        )
    least = (
        None if floor is None else checks.real("floor", floor, above=0, most=1.0 / arms + TOLERANCE)
    )
    X = (
        None
        if arm_features is None
        else checks.matrix("arm_features", arm_features, shape=(arms, None))
    )
    log = Log(source, arms, names, (low, high), least, X)
    n = total = rounds = 0
    size, smallest, largest = 1, 1.0, 0.0
    observed, distinct = (math.inf, -math.inf), set[float]()
    sums, ends = (
        np.zeros(arms),
        np.stack([np.ones(arms), np.zeros(arms)]),
    )  # of the logger's probabilities; of propensities, by arm
    plays, all_equal, known = np.zeros(arms), True, False
    begins: list[tuple[np.ndarray, np.ndarray]] = []
    bets, most = (np.zeros(3), np.full(arms, -1.0), np.zeros((arms + 1, STAKES.size))), np.zeros(2)
    for part in log._parts(None, narrow=True):
        total += part.arm.size
        if part.round is not None:
            at = np.flatnonzero(np.concatenate([[True], part.round[1:] != part.round[:-1]]))
            begins.append((part.round[at], part.given[at]))
        rows = _rewarded_rows(part)
        if not rows.arm.size:
            continue
        log._checked(rows)
        n += rows.arm.size
        plays += np.bincount(rows.arm, minlength=arms)
        smallest, largest = (
            min(smallest, float(rows.propensity.min())),
            max(largest, float(rows.propensity.max())),
        )
        first = np.ones(rows.arm.size, dtype=np.bool_)
        if rows.round is None:
            rounds += rows.arm.size
        else:
            first[1:] = rows.round[1:] != rows.round[:-1]
            starts = np.flatnonzero(first)
            rounds += starts.size
            size = max(size, int(np.diff(np.append(starts, rows.arm.size)).max()))
            all_equal = False
        count = arms if rows.eligible is None else rows.eligible.sum(axis=1)
        all_equal = all_equal and bool((np.abs(rows.propensity * count - 1.0) <= TOLERANCE).all())
        known = rows.probabilities is not None
        observed = (
            min(observed[0], float(rows.reward.min())),
            max(observed[1], float(rows.reward.max())),
        )
        if len(distinct) < 3:
            distinct.update(np.unique(rows.reward)[:3].tolist())
        if rows.probabilities is not None:
            sums += rows.probabilities.sum(axis=0)
        elif all_equal:
            even = rows.propensity[:, None]
            sums += (
                np.broadcast_to(even, (even.size, arms))
                if rows.eligible is None
                else even * rows.eligible
            ).sum(axis=0)
        np.minimum.at(ends[0], rows.arm, rows.propensity)
        np.maximum.at(ends[1], rows.arm, rows.propensity)
        bet_on_order(rows.arm, rows.propensity, first, STAKES, *bets, most)
    if begins:
        _refuse_parted(begins)
    left = dict(left_out or {}) | ({"rows without a reward": total - n} if total > n else {})
    if n == 0:
        raise ValueError(
            f"none of the log's {total} rows has a reward; give at least one."
            if total
            else "the log has no rows."
        )
    if least is None and all_equal and not known:
        # every arm has its equal share, so none has less than the one with most rivals
        least = smallest
    always = bool(
        (plays > 0).all()
        and (ends[1] - ends[0] <= TOLERANCE).all()
        and abs(ends[0].sum() - 1.0) <= TOLERANCE
    )
    expected = n * ends[0] if always else None
    return replace(
        log,
        floor=least,
        left_out=left,
        n=n,
        given=total,
        rounds=rounds,
        size=size,
        plays=plays,
        uniform=all_equal,
        known=known,
        deterministic=smallest >= 1.0 - TOLERANCE and arms > 1,
        constant=largest - smallest <= TOLERANCE,
        expected=None if size > 1 else sums if known or all_equal else expected,
        observed=observed,
        two_valued=len(distinct) < 3,
        as_drawn=bool((most < np.log(2.0 * STAKES.size / CHANCE * np.array([arms, 1.0]))).all()),
    )


@jit
def bet_on_order(
    arm: np.ndarray,
    propensity: np.ndarray,
    first: np.ndarray,
    stakes: np.ndarray,
    clock: np.ndarray,
    last: np.ndarray,
    gains: np.ndarray,
    most: np.ndarray,
) -> None:
    """Bet on every arm, and on the arms of the round before, and note the largest gains.

    A round pays 1 / h - 1 times the stake where the arm was drawn and takes it elsewhere: on
    average nothing, whatever the logger knew, if arms are drawn with their propensities h. So the
    gains of a bet ever reach g with probability 1 / g at most (Ville), and those on one arm of rows
    that come in blocks grow without end. A set pays the mean of its arms.

    first: (m,) whether a row begins a round. stakes: (L,) shares of what one owns. clock: the
    round, the size of the one before, and of how many of its arms, over h, this one has. last: (K,)
    rounds in which arms were drawn last. gains: (K + 1, L) logarithms, those of arms but for what
    rounds without them take. most: (2,) the largest of arms, and of repetition.
    """
    K, m = last.shape[0], arm.shape[0]
    i = 0
    while i < m:
        clock[0] += 1.0
        clock[2] = 0.0
        j = i
        while j < m and (j == i or not first[j]):
            a, odds = arm[j], min(1.0 / propensity[j], MOST_ODDS)
            if last[a] == clock[0] - 1.0:
                clock[2] += odds
            last[a] = clock[0]
            for s in range(stakes.shape[0]):
                gains[a, s] += math.log1p(stakes[s] * odds / (1.0 - stakes[s]))
                most[0] = max(most[0], gains[a, s] + clock[0] * math.log1p(-stakes[s]))
            j += 1
        if clock[1] > 0.0:
            for s in range(stakes.shape[0]):
                gains[K, s] += math.log1p(stakes[s] * (clock[2] / clock[1] - 1.0))
                most[1] = max(most[1], gains[K, s])
        clock[1] = j - i
        i = j


def by_unit(log: Log, unit: object, per: object = None) -> tuple[Log, np.ndarray]:
    """A log with a row for each unit, whose one draw its rows repeat, its reward their sum; and
    (units,) the sums of `per`.

    unit, per: a column of the log's table, or an entry for each of its rows; unit None: every row
    is one; per: also a number. Held in memory. Raises ValueError where a unit has two arms or
    propensities.
    """
    if log.size > 1:
        raise ValueError("a log of sets has no units; every round of it is a draw.")
    rows = whole(log)
    ids = np.arange(log.given) if unit is None else _column_of_table(log, "unit", unit)
    if (lost := is_missing(ids)).any():
        raise ValueError(
            f"unit has no entry in row {np.argmax(lost)}, but every row is of a unit; give the id "
            "of what the arm was drawn for."
        )
    _, places = np.unique(
        ids[rows.given].astype(str) if ids.dtype.kind == "O" else ids[rows.given],
        return_inverse=True,
    )
    _, first = np.unique(places, return_index=True)
    differs = (rows.arm != rows.arm[first][places]) | (
        np.abs(rows.propensity - rows.propensity[first][places]) > TOLERANCE
    )
    if differs.any():
        i = int(np.argmax(differs))
        raise ValueError(
            f"unit {entry(ids, rows.given[i])} has another arm or propensity in row "
            f"{rows.given[i]} than before, so its rows are several draws; give the id of what the "
            "arm was drawn for, or leave unit out."
        )
    order = np.sort(first)
    most = float(np.bincount(places).max())
    low, high = ((end, end * most) for end in log.rewards)
    amounts = np.ones(log.given) if per is None else _column_of_table(log, "per", per)
    totals = np.bincount(places, weights=rows.reward)[places[order]]
    one = rows._replace(origin=rows.given).map_arrays(lambda item: item[order])
    summed = new_log(
        RowsInMemory(one._replace(reward=totals)),
        log.arms,
        log.names,
        rewards=(min(low), max(high)),
        floor=log.floor,
        arm_features=log.arm_features,
        left_out=log.left_out,
    )
    return replace(summed, given=log.given), np.bincount(
        places, weights=checks.floats("per", amounts)[rows.given]
    )[places[order]]


def _column_of_table(log: Log, argument: str, values: object) -> np.ndarray:
    if isinstance(values, str):
        if log.table is None:
            raise ValueError(
                f"{argument} = {values!r}, but this log is from no table; give an array with an "
                "entry for each row."
            )
        values = np.concatenate([batch.column(values) for batch in log.table.batches([values])])
    elif isinstance(values, (int, float)):
        values = np.full(log.given, float(values))
    return column_of(np.asarray(values), argument, log.given)


def whole(log: Log) -> Rows:
    return joined_rows([part._replace(origin=part.given) for part in log.chunks()])


# `from_frame`: logs from tables, in memory or in files.


# distinct values of a column, as a multiple of K, from which it may hold ids and not names of arms
IDS_AN_ARM = 10
NO_PROPENSITY = (
    "Without the probability of what was played no other policy can be judged: log it "
    "(Session.decide gives it), or give a number where it never changed, such as propensity=1/K "
    "for arms drawn uniformly."
)


def from_frame(
    frame: Frame,
    arm: str = "arm",
    reward: str = "reward",
    propensity: str | float | None = "propensity",
    *,
    features: Columns | None = None,
    arm_features: ArrayLike | None = None,
    probabilities: Columns | None = None,
    eligible: Columns | None = None,
    time: str | None = None,
    slot: str | None = None,
    round: str | None = None,
    arms: ArmsGiven = None,
    rewards: tuple[float, float] = (0.0, 1.0),
    floor: float | None = None,
) -> Log:
    """A log from a table with a row for each arm that was played.

    Parameters
    ----------
    frame : table, or path
        Of pandas, polars, pyarrow or DuckDB, a dict of arrays, a CSV file; or a Parquet file, a
        folder of them (in the order of their names) or a `pyarrow.dataset`, which are read in
        batches. Where a decision comes several times keep its last state, as with
        frame.drop_duplicates("id", keep="last").
    arm, reward : str
        Columns. Arms are called what they are called there: names, or whole numbers of any size.
        Rows without a reward (null or NaN: decisions that are still open) are left out and counted
        (`Log.left_out`), of a set the whole round.
    propensity : str, float or None
        Column of the probability with which the logger played this arm in this row (in its slot); a
        number where it never changed; None where `probabilities` are given.
    features : str, list of str, array or table
        Columns of the round's features, a column of arrays (d,) or (K, d), or an array (n, d) or
        (n, K, d); of a table of its own, such as standardised columns, the numbers are taken in its
        order.
    arm_features : (K, d) array
        Where arms have features that never change.
    probabilities, eligible : str, list of str or array
        The logger's probabilities of all arms, and which arms could be played: K columns in the
        order of arms, a column of arrays, or an array (n, K).
    time : str
        Column; rows are taken in its order, those of a round together where its first one belongs.
    slot : str
        Column of whole numbers: the position in which the arm was shown.
    round : str
        Column of whole numbers, the same for all arms of a set, whose rows follow each other (else
        they are refused) and whose propensities are chances to be in the set.
    arms : int or list
        K, for arms 0 .. K - 1, or what all arms are called. By default those that occur, in
        increasing or alphabetical order; whole numbers below the number of columns of
        `probabilities`, `eligible` or features of arms are the arms' own.
    rewards : (float, float)
        Lowest and highest reward there can be.
    floor : float
        A probability that every eligible arm had at least in every round.

    Returns
    -------
    Log

    Raises
    ------
    ValueError
        For tables that hold no log, with the first bad rows.

    Examples
    --------
    >>> import tightrope as tr
    >>> tr.logs.from_frame({"arm": ["b", "a"], "reward": [1.0, 0.0], "propensity": [0.5, 0.5]})
    Log(2 rows, 2 arms, rewards in [0, 1])
    """
    if propensity is None and probabilities is None:
        raise ValueError(f"propensity is missing. {NO_PROPENSITY}")
    if isinstance(propensity, (int, float, np.number)):
        propensity = checks.real("propensity", propensity, above=0, most=1)
    columns = LogColumns(
        arm,
        reward,
        propensity,
        _column_list("features", features),
        _column_list("probabilities", probabilities),
        _column_list("eligible", eligible),
        time,
        slot,
        round,
    )
    columns.check()
    table = open_table(frame, arm=arm)
    blocks = (columns.probabilities, columns.eligible)
    least = max(
        *map(number_of_columns, blocks),
        columns.features.shape[1]
        if isinstance(columns.features, np.ndarray) and columns.features.ndim == 3
        else 0,
        0 if arm_features is None else len(np.atleast_1d(np.asarray(arm_features))),
    )
    if isinstance(table, InFiles):
        if any(isinstance(item, np.ndarray) for item in (*blocks, columns.features)):
            raise ValueError(
                "features, probabilities and eligible of a table in files must be names of its "
                "columns."
            )
        try:
            table.check(columns.names(narrow=False))
        except ValueError as error:
            lacking = f"no column {propensity!r}" in str(error)
            raise ValueError(f"{error} {NO_PROPENSITY}" if lacking else str(error)) from None
    if arms is not None:
        labels = ArmLabels.from_argument(arms)
    else:
        parts = (
            (batch.column(arm), is_missing(batch.column(reward)), batch.first)
            for batch in table.batches([arm, reward], CHUNK)
        )
        labels = ArmLabels.from_columns(parts, arm, least)
    source: Source
    if isinstance(table, InFiles):
        source = RowsInFiles(table, columns, labels)
    else:
        (batch,) = table.batches(columns.names(narrow=False))
        rows = columns.rows(batch, labels, narrow=False)
        source = RowsInMemory(in_order(rows))
    log = new_log(
        source, labels.count, labels.labels, rewards=rewards, floor=floor, arm_features=arm_features
    )
    return replace(
        log,
        table=table,
        repeated="" if isinstance(table, InFiles) else _repeated_ids(batch, columns, rows),
    )


def _repeated_ids(batch: TableBatch, columns: LogColumns, rows: Rows) -> str:
    import pandas as pd

    use = np.flatnonzero(~np.isnan(rows.reward))
    arm, surprise = rows.arm[use], -np.log(rows.propensity[use])
    for name in column_names(batch.frame):
        if name in columns.names(narrow=False):
            continue
        values = batch.column(name)
        if values.shape != rows.arm.shape or values.dtype.kind not in "iuOST":
            continue
        try:
            places, distinct = pd.factorize(values[use])
        except TypeError:  # of lists and dicts
            continue
        if len(distinct) < IDS_AN_ARM * (int(arm.max()) + 1) or (places < 0).any():
            continue
        _, first = np.unique(places, return_index=True)
        if (arm == arm[first][places]).all() and surprise.sum() - surprise[first].sum() > -np.log(
            CHANCE
        ):
            return name
    return ""


@dataclass(frozen=True)
class LogColumns:
    arm: str
    reward: str
    propensity: str | float | None
    features: Columns | None
    probabilities: Columns | None
    eligible: Columns | None
    time: str | None
    slot: str | None
    round: str | None

    def check(self) -> None:
        for argument in ("arm", "reward", "time", "slot", "round"):
            name = getattr(self, argument)
            if not isinstance(name, str) and (name is not None or argument in ("arm", "reward")):
                raise ValueError(
                    f"{argument} = {checks.show(name)} is not the name of a column; give text."
                )
        if not isinstance(self.propensity, (str, float)) and self.propensity is not None:
            raise ValueError(
                f"propensity = {checks.show(self.propensity)} is neither the name of a column nor "
                "a number."
            )

    def names(self, narrow: bool) -> list[str]:
        listed: list[str] = []
        for item in (
            self.arm,
            self.reward,
            self.propensity,
            self.probabilities,
            self.eligible,
            self.time,
            self.slot,
            self.round,
            None if narrow else self.features,
        ):
            listed += [item] if isinstance(item, str) else item if isinstance(item, list) else []
        return list(dict.fromkeys(listed))

    def rows(self, batch: TableBatch, labels: ArmLabels, narrow: bool) -> Rows:
        """The rows of a table or of a part of one. Raises ValueError with the first bad rows."""
        reward, bad = rewards_of(batch.column(self.reward), self.reward)
        n = reward.size
        arm = labels.numbers(batch.column(self.arm), self.arm, bad)

        def block(argument: str, columns: Columns | None) -> np.ndarray | None:
            return None if columns is None else matrix(batch, argument, columns, bad)

        H, mask = block("probabilities", self.probabilities), block("eligible", self.eligible)
        features = None if narrow else block("features", self.features)
        if isinstance(self.propensity, str):
            try:
                values = batch.column(self.propensity)
            except ValueError as error:
                raise ValueError(f"{error} {NO_PROPENSITY}") from None
            h = numbers(values, self.propensity, bad)
        elif self.propensity is not None:
            h = np.full(n, self.propensity)
        else:
            assert H is not None
            h = of_arms("probabilities", H, n, labels.count)[
                np.arange(n), np.clip(arm, 0, labels.count - 1)
            ]

        def column(
            read: Callable[[np.ndarray, str, BadRows], np.ndarray], name: str | None
        ) -> np.ndarray | None:
            return None if name is None else read(batch.column(name), name, bad)

        time, slot, round = (
            column(times, self.time),
            column(whole_numbers, self.slot),
            column(whole_numbers, self.round),
        )
        if mask is not None:
            known = np.isfinite(mask).reshape(n, -1).all(axis=1)
            bad.note(
                ~known,
                lambda i: (
                    f"eligible = {checks.show(mask[i].tolist())} has an entry that is missing; "
                    "write 1 or 0"
                ),
            )
        bad.refuse(np.arange(batch.first, batch.first + n))
        return Rows(
            arm,
            reward,
            h,
            features,
            None if mask is None else mask != 0.0,
            H,
            time,
            slot,
            round,
            first=batch.first,
        )


@dataclass(frozen=True)
class RowsInFiles:
    table: InFiles
    columns: LogColumns
    labels: ArmLabels

    def read(self, size: int, narrow: bool) -> Iterator[Rows]:
        """Batches. Raises ValueError where time falls."""
        latest = None
        for batch in self.table.batches(self.columns.names(narrow), size):
            rows = self.columns.rows(batch, self.labels, narrow)
            if rows.time is not None:
                if (latest is not None and rows.time[0] < latest) or (
                    rows.time[1:] < rows.time[:-1]
                ).any():
                    where = batch.source or self.table.name
                    raise ValueError(
                        f"{self.columns.time} falls in {where}; sort the log by it, or give a "
                        "frame, which is sorted here."
                    )
                latest = rows.time[-1]
            yield rows


def _column_list(argument: str, columns: Columns | None) -> Columns | None:
    if columns is None or isinstance(columns, (str, np.ndarray)):
        return columns
    if isinstance(columns, Mapping) or column_names(columns):
        if argument != "features":
            check_order(argument, columns, range(len(column_names(columns))))
        return numbers_of_table(columns)
    if isinstance(columns, pathlib.PurePath) or not hasattr(columns, "__iter__"):
        raise ValueError(
            f"{argument} = {checks.show(columns)} is neither a column, a list of columns nor an "
            "array."
        )
    listed = list(checks.ordered(argument, columns))
    if listed and not all(isinstance(name, str) for name in listed):
        return checks.floats(argument, columns)
    return listed
