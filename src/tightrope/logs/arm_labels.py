"""Labels of arms in a table, and their numbers: 0, 1, .., K - 1 everywhere else."""

from collections.abc import Iterable, Mapping, Sequence
from typing import TypeAlias

import numpy as np

from ..core import checks
from .tables import BadRows, entry, label, labels

Label: TypeAlias = int | str
ArmsGiven: TypeAlias = int | Sequence[object] | np.ndarray | None  # K, or what all arms are called; None: what occurs


class ArmLabels:
    """The arms of a log: their number, and what they are called where that is not their number.

    A whole number in a table is the arm that is called so, whether its label is a number or text. Where all labels are words it is the
    arm's own number. Where all numbers of a column could be either, and not of the same arms, nothing is guessed: it is refused.
    """

    def __init__(self, count: int, called: Sequence[Label] | None = None) -> None:
        plain = called is None or list(called) == list(range(count))
        self.count = count
        self.labels: tuple[Label, ...] | None = None if plain else tuple(called or ())
        self._places = {} if self.labels is None else {each: k for k, each in enumerate(self.labels)}
        self._by_text = {str(each): k for k, each in enumerate(self.labels or ())}
        self._words = self.labels is not None and not any(_reads_as_number(each) for each in self.labels)

    @classmethod
    def from_argument(cls, arms: ArmsGiven) -> "ArmLabels":
        if isinstance(arms, (str, bytes, Mapping)) or not isinstance(arms, Iterable) or (isinstance(arms, np.ndarray) and not arms.ndim):
            return cls(checks.integer("arms", arms, least=1))
        called: list[Label] = []
        for k, each in enumerate(checks.ordered("arms", arms)):
            one = label(each)
            if one is None:
                raise ValueError(f"arms[{k}] = {checks.show(each)} is neither a whole number nor a name.")
            called.append(one)
        if not called:
            raise ValueError("arms is empty; give all arms' names or numbers, or leave it out: then it is those of the log.")
        texts = list(map(str, called))
        if len(set(texts)) < len(texts):
            twice = next(each for k, each in enumerate(called) if str(each) in texts[:k])
            raise ValueError(f"arms has {checks.show(twice)} twice; every arm needs a name of its own.")
        return cls(len(called), called)

    @classmethod
    def from_columns(cls, columns: Iterable[tuple[np.ndarray, np.ndarray, int]], name: str, least: int = 0) -> "ArmLabels":
        """The arms that occur in a log: numbers in their order, or names in alphabetical order.

        columns: the column of arms in parts, each with which of its rows are left out because they have no reward, which need no arm, and
        with the number of its first row. least: K, where something else in the log has a place
        for each arm; numbers below it are then the arms' own. Raises ValueError naming the first rows without an arm.
        """
        occurring: set[Label] = set()
        for values, left_out, first in columns:
            bad = BadRows(values.size if values.ndim == 1 else 0, left_out if left_out.shape == values.shape else None)
            places, distinct = labels(values, name, bad)
            if distinct and not bad.wrong.any():
                _note_mixed(values, places, distinct, occurring, name, bad)
                _note_negative(values, places, distinct, name, bad)
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
        """A column of labels as (n,) arm numbers, int64; -1 where there is no such arm, which is a bad row."""
        if self.labels is None and values.dtype.kind in "iu" and values.ndim == 1 and values.size == bad.wrong.size:
            arms = values.astype(np.int64)  # without looking for what is distinct: the arms are their numbers
        else:
            places, distinct = labels(values, name, bad)
            self._refuse_two_meanings(name, distinct)
            arms = np.array([*map(self._number, distinct), -1], dtype=np.int64)[places]
        arms = np.where((arms >= 0) & (arms < self.count), arms, -1)
        bad.note(arms < 0, lambda i: f"{name} = {entry(values, i)} is {self._unknown()}")
        return arms

    def number(self, argument: str, arm: object) -> int:
        one = label(arm)
        self._refuse_two_meanings(argument, [] if one is None else [one])
        place = -1 if one is None else self._number(one)
        if 0 <= place < self.count:
            return place
        if self.labels is None:
            if isinstance(arm, str):
                raise ValueError(f"{argument} = {arm!r} is not the name of an arm; arms have numbers only, from 0 to {self.count - 1}.")
            return checks.integer(argument, arm, least=0, most=self.count - 1)
        raise ValueError(f"{argument} = {checks.show(arm)} is not the name of an arm; arms are {checks.show(list(self.labels))}.")

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
        """Refuse whole numbers that each are the text of an arm's name and the number of an arm, where these are not the same arms."""
        numbers = [one for one in distinct if isinstance(one, int) and one not in self._places]
        pairs = [(one, self._by_text[str(one)]) for one in numbers if 0 <= one < self.count and str(one) in self._by_text]
        other = next((pair for pair in pairs if pair[0] != pair[1]), None)
        if other is not None and len(pairs) == len(distinct):
            one, place = other
            raise ValueError(
                f"{name} = {one} may be the arm that is called {str(one)!r}, number {place}, or arm number {one}, which is called "
                f"{checks.show(self.of(one))}; write names as text (in a frame of decisions they are the column 'name')."
            )

    def _unknown(self) -> str:
        return f"no arm from 0 to {self.count - 1}" if self.labels is None else f"not among arms = {checks.show(list(self.labels))}"


def check_order(argument: str, values: object, arms: Sequence[Label]) -> None:
    """Refuse a table, a Series or a dict that calls the arms otherwise, or in another order, than they are numbered here.

    Its numbers would be taken by their place. arms: what they are called, in the order of their numbers.
    """
    if isinstance(values, Mapping):
        called = list(values)
    elif (columns := getattr(values, "column_names", None)) is not None or (columns := getattr(values, "columns", None)) is not None:
        called = list(columns)
    elif (index := getattr(values, "index", None)) is not None and not callable(index):  # of a Series
        called = list(index)
    else:
        return
    if list(map(str, called)) not in (list(map(str, arms)), list(map(str, range(len(arms))))):
        raise ValueError(
            f"{argument} is labelled {checks.show(called)}, but the arms are {checks.show(list(arms))}, in this order; put it "
            "in their order, or give its numbers as an array that is."
        )


def _reads_as_number(one: Label) -> bool:
    return isinstance(one, int) or one.isdigit()


def _note_mixed(values: np.ndarray, places: np.ndarray, distinct: list[Label], before: set[Label], name: str, bad: BadRows) -> None:
    """Numbers among names: one of them is probably a mistake, and which is not for us to say."""
    kinds = {type(each) for each in (*before, *distinct)}
    if len(kinds) < 2:
        return
    first = type(next(iter(before))) if before else type(distinct[places[0]])
    other = np.array([type(each) is not first for each in distinct])[places]
    usual, another = ("numbers", "text") if first is int else ("names", "a number")
    bad.note(other, lambda i: f"{name} = {entry(values, i)} is {another}, but the arms before it are {usual}; write all of them alike")


def _note_negative(values: np.ndarray, places: np.ndarray, distinct: list[Label], name: str, bad: BadRows) -> None:
    negative = np.array([isinstance(each, int) and each < 0 for each in distinct])[places]
    words = "a negative number mostly stands for a missing arm; where it is one, list all arms in arms="
    bad.note(negative, lambda i: f"{name} = {entry(values, i)} is no arm: {words}")
