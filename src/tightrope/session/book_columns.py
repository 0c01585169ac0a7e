"""The decisions of a session in its file: a column for each of their fields, since an object for each of 100,000 is slow to read.

Rounds that several decisions share, and reasons, are written once; a decision names their places.
"""

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from ..core import checks
from ..core.types import PLAIN
from ..core.verbs import Context
from .decisions import Answers, Batch, Book, Chance, Decision, Entry, Name, locked, reason
from .ids import Id
from .rounds import Rounds

if TYPE_CHECKING:
    from .header import BookData, ClosedColumns, RoundColumns

T = TypeVar("T")

OPTIONAL = ("name", "propensity", "propensity_se", "draws", "time", "answers", "shown", "waiting", "held", "ended")
Check = Callable[[str, object], float]  # of a reward
Size = tuple[int | None, int | None]  # rows of features, length of a mask


def pack_book(book: Book, last: Context, named: bool) -> tuple[dict[str, object], dict[str, np.ndarray]]:
    """All decisions as JSON-ready data, and the arrays of their rounds. named: whether arms have names of their own in every round."""
    rounds, reasons = PackedRounds(last), dict[str, int]()
    waiting = pack_entries([], rounds, reasons, named)
    for batch, part in book.open.runs():
        columns = pack_entries(part, rounds, reasons, named) if batch is None else pack_batch(batch, part, rounds, reasons)
        for name, values in columns.items():
            waiting[name] += values
    ended = list(book.closed.values())
    closed = pack_decisions([entry.decision for entry in ended], [entry.answers for entry in ended], reasons, named)
    closed |= {"how": [entry.ended for entry in ended]}
    tables = [{name: column(of) if name in OPTIONAL else of for name, of in table.items()} for table in (waiting, closed)]
    sizes, arrays = rounds.pack()
    return {
        "rounds": sizes,
        "reasons": list(reasons),
        "open": tables[0],
        "closed": tables[1],
        "selected": book.is_open(book.selected),
        "last": book.last.decision.id if book.last is not None and book.is_open(book.last) else None,
    }, arrays


class PackedRounds:
    """The rounds that decisions name: their columns, and their features and masks one after another. first: the last that was shown."""

    def __init__(self, first: Context) -> None:
        self.places: dict[int, int] = {}  # by the context's id
        self.columns: dict[str, list[Any]] = {"rows": [], "mask": [], "baseline": [], "baseline_mean": [], "segment": []}
        self.features: list[np.ndarray] = []
        self.masks: list[np.ndarray] = []
        self.place(first)

    def __len__(self) -> int:
        return len(self.columns["rows"])

    def place(self, context: Context) -> int:
        place = self.places.setdefault(id(context), len(self))
        if place == len(self):
            rows, mask = size_of(context)
            self.enter(1, rows, mask, *context)
        return place

    def enter(
        self, n: int, rows: int | None, mask: int | None, features: np.ndarray | None, masks: np.ndarray | None,
        baseline: int | None = None, mean: float | None = None, segment: int | None = None,
    ) -> None:  # fmt: skip
        """Enter n rounds of these sizes. features, masks: of all, one after another."""
        for column, value in zip(self.columns.values(), (rows, mask, baseline, mean, segment), strict=True):
            column.extend([value] * n)
        if features is not None:
            self.features.append(features)
        if masks is not None:
            self.masks.append(masks)

    def pack(self) -> tuple[dict[str, object], dict[str, np.ndarray]]:
        arrays = {"rounds.features": np.concatenate(self.features)} if self.features else {}
        if self.masks:
            arrays["rounds.eligible"] = np.concatenate(self.masks)
        return {"number": len(self)} | {name: column(values) for name, values in self.columns.items()}, arrays


def pack_entries(entries: Sequence[Entry], rounds: PackedRounds, reasons: dict[str, int], named: bool) -> dict[str, list[Any]]:
    return pack_decisions([entry.decision for entry in entries], [entry.answers for entry in entries], reasons, named) | {
        "context": [rounds.place(entry.context) for entry in entries],
        "shown": [smaller_size(entry) for entry in entries],
        "waiting": [None if entry.waiting is None else sorted(entry.waiting) for entry in entries],
        "held": [[np.atleast_1d(action).tolist() for action, _ in entry.held] or None for entry in entries],
        "ended": [entry.ended for entry in entries],
    }


def pack_batch(batch: Batch, places: Sequence[int], rounds: PackedRounds, reasons: dict[str, int]) -> dict[str, list[Any]]:
    n, rows, number = len(places), np.array(places), batch.number
    arm, chance, error = (values[rows].tolist() for values in (batch.arm, batch.propensity, batch.error))
    first = len(rounds)
    if batch.features is None and batch.masks is None:
        context = [rounds.place(PLAIN)] * n
    else:
        shown, masks = batch.features, batch.masks
        if shown is not None:
            shown = shown[rows] if shown.ndim == 3 else np.repeat(shown[rows], number, axis=0)
            shown = shown.reshape(-1, shown.shape[-1])
        if masks is not None:
            masks = masks[rows % len(masks)].ravel()
        rounds.enter(n, None if shown is None else number, None if masks is None else number, shown, masks)
        context = list(range(first, first + n))
    draws = [None] * n if batch.draws is None else [count or None for count in batch.draws[rows].tolist()]
    events = zip(batch.event[rows].tolist(), arm, chance, strict=True)
    nothing = [None] * n
    return {
        "id": [batch.ids[i] for i in places],
        "arm": arm,
        "name": nothing,
        "propensity": [plain_chance(p) for p in chance],
        "propensity_se": [plain_chance(p) for p in error],
        "draws": draws,
        "reason": [reasons.setdefault(reason(event, batch.names.of(k), p), len(reasons)) for event, k, p in events],
        "round": [batch.first + i for i in places],
        "context": context,
    } | dict.fromkeys(("time", "answers", "shown", "waiting", "held", "ended"), nothing)


def pack_decisions(decisions: Sequence[Decision], answers: Sequence[Answers], reasons: dict[str, int], named: bool) -> dict[str, list[Any]]:
    """Their columns. reasons: the place of each, new ones are added."""
    return {
        "id": [one.id for one in decisions],
        "arm": [one.arm if isinstance(one.arm, int) else one.arm.tolist() for one in decisions],
        "name": [list(one.name) if isinstance(one.name, tuple) else one.name for one in decisions] if named else [None] * len(decisions),
        "propensity": [plain_chance(one.propensity) for one in decisions],
        "propensity_se": [plain_chance(one.propensity_se) for one in decisions],
        "draws": [one.draws for one in decisions],
        "reason": [reasons.setdefault(one.reason, len(reasons)) for one in decisions],
        "round": [one.round for one in decisions],
        "time": [one.time for one in decisions],
        "answers": [[list(pair) for pair in value.items()] if isinstance(value, dict) else value for value in answers],
    }


def column(values: list[T | None]) -> list[T | None] | None:
    return None if values.count(None) == len(values) else values


def smaller_size(entry: Entry) -> Size | None:
    """Rows and length of the mask that a decision was shown where later arms were added to its round; None: all of the round."""
    visible, context = entry.decision.context, entry.context
    if visible is None or context is PLAIN:
        return None
    sizes = size_of(visible)
    return None if sizes == size_of(context) else sizes


def size_of(context: Context) -> Size:
    return None if context.features is None else len(context.features), None if context.eligible is None else len(context.eligible)


def plain_chance(value: Chance) -> float | list[float] | None:
    if isinstance(value, np.ndarray):
        return value.tolist()
    return None if math.isnan(value) else float(value)


# Reading -----------------------------------------------------------------------------------------------------------------


def unpack_book(
    data: "BookData", arrays: dict[str, np.ndarray], rounds: Rounds, decided: int, in_order: bool, timed: bool, check: Check
) -> tuple[Book, Context]:  # fmt: skip
    """The decisions of a file, each checked against its round, and what the last round showed.

    decided: decisions of the session. in_order: whether rewards wait for those of earlier decisions. timed: whether decisions carry a
    time. check: of a reward.
    """
    contexts = unpack_rounds(data.rounds, arrays, rounds)
    if all(item is None for item in contexts[0]):
        contexts[0] = PLAIN  # the one object that all such rounds share, also in the next file
    book, reader = Book(), Reader(rounds, data.reasons, timed, check)
    before, used = 0, 1
    columns = data.open
    rest = map(columns.of, (columns.context, columns.shown, columns.waiting, columns.held, columns.ended))
    for row, place, shown, waiting, withheld, ended in zip(columns.entries(), *rest, strict=True):
        id, arm, round = row[0], row[1], row[7]
        if place > used or place >= len(contexts):
            raise ValueError(f"decision {id!r} names round {place}, but the file's next is {used} of {len(contexts)}.")
        used = max(used, place + 1)
        context = contexts[place]
        if not before < round <= decided or id in book.open:
            raise ValueError(f"decision {id!r} of round {round} is out of order or there twice.")
        before = round
        if (ended is not None or withheld) and not in_order:
            raise ValueError(f"decision {id!r} waits for others, but rewards are applied on arrival.")
        decision, answers = reader.decision(row, rounds.count(context), visible_part(context, shown))
        single = isinstance(arm, int)
        if single != (waiting is None) or (waiting is not None and sorted([*answers, *waiting]) != sorted(arm)):
            raise ValueError(f"decision {id!r} does not wait for the rest of its arms.")
        entry = Entry(decision, context, arm if single else np.array(arm, dtype=np.int64), None if waiting is None else set(waiting))
        entry.answers, entry.ended = answers, ended
        for arms in withheld or ():
            if (single and (arms != [arm] or answers is None)) or (not single and not set(arms) <= {*answers}):
                raise ValueError(f"decision {id!r} holds rewards that it was not given.")
            entry.held.append((arm, answers) if single else (np.array(arms, dtype=np.int64), np.array([answers[k] for k in arms])))
        book.add(entry)
    if used != len(contexts):
        raise ValueError(f"the file has {len(contexts)} rounds, but its decisions name {used}.")
    unpack_closed(book, data.closed, reader, decided)
    if reader.used != len(data.reasons) or len(set(data.reasons)) < reader.used:
        raise ValueError(f"the file has {len(data.reasons)} reasons, some of which its decisions do not name, or which are there twice.")
    if data.last is not None and data.last not in book.open:
        raise ValueError(f"last = {checks.show(data.last)} is not an open decision.")
    if data.selected and data.last is None:
        raise ValueError("the last decision was selected, but none is open.")
    book.last = None if data.last is None else book.open[data.last]
    book.selected = book.last if data.selected else None
    return book, contexts[0]


def unpack_closed(book: Book, columns: "ClosedColumns", reader: "Reader", decided: int) -> None:
    for row, how in zip(columns.entries(), columns.how, strict=True):
        id, arm, round = row[0], row[1], row[7]
        if id in book.open or id in book.closed or round > decided:
            raise ValueError(f"decision {id!r} is there twice, or later than the last.")
        count = max(np.max(arm, initial=0) + 1, 1) if reader.rounds.catalogue else reader.rounds.arms.number
        decision, answers = reader.decision(row, int(count), None)
        entry = Entry(decision, PLAIN, arm, None if isinstance(arm, int) else set())
        entry.answers, entry.ended = answers, how
        book.remember(entry)


class Reader:
    """Makes decisions of rows. rounds: with their arms. reasons: by their places. timed: whether they have a time. check: of a reward."""

    def __init__(self, rounds: Rounds, reasons: Sequence[str], timed: bool, check: Check) -> None:
        self.rounds, self.reasons, self.timed, self.check = rounds, reasons, timed, check
        self.sets, self.used = rounds.arms.oracle is not None, 0

    def decision(self, row: tuple[Any, ...], count: int, context: Context | None) -> tuple[Decision, Any]:
        id, arm, name, chance, error, draws, reason, round, moment, answers = row
        single = isinstance(arm, int)
        if single == self.sets or (name is None) == self.rounds.catalogue:
            raise ValueError(f"decision {id!r} has arms {checks.show(arm)}, names {checks.show(name)}, which this session's have not.")
        if (moment is None) == self.timed:
            raise ValueError(f"decision {id!r} has time {moment}, which does not belong to this session's window.")
        if reason > self.used or reason >= len(self.reasons):
            raise ValueError(f"decision {id!r} has reason {reason}, but the file's next is {self.used} of {len(self.reasons)}.")
        self.used = max(self.used, reason + 1)
        if not single:
            arm, name = self.arms_of_set(id, arm, name, count)
        elif arm >= count or isinstance(name, list):
            raise ValueError(f"decision {id!r} has arm {arm}, names {checks.show(name)}, but its round has {count}.")
        elif name is None:
            name = self.rounds.names.of(arm)
        if not (single and type(chance) is float and type(error) is float):
            chance, error = chance_of(chance, arm), chance_of(error, arm)
        decision = Decision(id, arm, name, chance, error, self.reasons[reason], round, context, draws, moment)
        return decision, None if single and answers is None else self.answers(id, arm, answers)

    def arms_of_set(self, id: Id, arms: list[int], names: object, count: int) -> tuple[np.ndarray, tuple[Name, ...]]:
        if any(arm >= count for arm in arms) or len(set(arms)) < len(arms):
            raise ValueError(f"decision {id!r} has arms {checks.show(arms)}, but they are distinct numbers from 0 to {count - 1}.")
        if names is None:
            names = [self.rounds.names.of(arm) for arm in arms]
        if not isinstance(names, list) or len(names) != len(arms):
            raise ValueError(f"decision {id!r} has arms {checks.show(arms)}, but names {checks.show(names)}.")
        return locked(np.array(arms, dtype=np.int64)), tuple(names)

    def answers(self, id: Id, arm: int | np.ndarray, answers: float | list[tuple[int, float]] | None) -> Answers:
        if isinstance(arm, int):
            if isinstance(answers, list):
                raise ValueError(f"decision {id!r} of one arm has several rewards.")
            return self.check("reward", answers)
        if not isinstance(answers, list) or any(k not in arm for k, _ in answers):
            raise ValueError(f"decision {id!r} has rewards of arms that it has not.")
        if len({k for k, _ in answers}) < len(answers):
            raise ValueError(f"decision {id!r} has two rewards of an arm.")
        return {k: self.check("reward", value) for k, value in answers}


def chance_of(value: float | list[float] | None, arm: Any) -> Chance:
    if value is None:
        return math.nan
    if isinstance(value, list) == isinstance(arm, int) or (isinstance(value, list) and len(value) != len(arm)):
        raise ValueError(f"propensity = {checks.show(value)} does not belong to {checks.show(arm)}.")
    return locked(np.array(value)) if isinstance(value, list) else value


def visible_part(context: Context, sizes: Size | None) -> Context:
    """The part of a round that a decision was shown, read-only. sizes: rows and length of the mask, where later arms were added."""
    X, mask = context.features, context.eligible
    if X is None and mask is None and sizes is None:
        return context
    if sizes is not None:
        rows, marks = sizes
        if sizes == size_of(context):
            raise ValueError("a decision was shown less than its round, which has no more.")
        most_rows, most_marks = 0 if X is None else len(X), 0 if mask is None else len(mask)
        if (X is None) != (rows is None) or (rows or 0) > most_rows or (marks is not None and (mask is None or marks > most_marks)):
            raise ValueError(f"a decision was shown {rows} rows and a mask of {marks}, which its round does not have.")
        X, mask = None if X is None else X[:rows], None if marks is None or mask is None else mask[:marks]
    return context._replace(features=locked(X), eligible=locked(mask))


def unpack_rounds(columns: "RoundColumns", arrays: dict[str, np.ndarray], rounds: Rounds) -> list[Context]:
    features, masks = arrays.get("rounds.features"), arrays.get("rounds.eligible")
    row, mark, contexts, arms = 0, 0, [], rounds.arms
    if features is not None:
        features = checks.matrix("features of rounds", features, shape=(None, arms.dimension))
    for rows, marks, baseline, mean, segment in columns.entries():
        X, mask, count = None, None, arms.number
        if rows is not None:
            number = max(rows, 1) if rounds.catalogue else arms.rows
            if features is None or row + rows > len(features) or not rounds.changing or rows != number:
                raise ValueError("the file lacks features of a round.")
            X = features[row : row + rows].copy()  # a part would keep the features of all rounds
            row += rows
            count = rows * arms.blocks
        if marks is not None:
            if masks is None or mark + marks > len(masks):
                raise ValueError("the file lacks masks of a round.")
            mask = checks.mask("mask of a round", masks[mark : mark + marks], count)
            mark += marks
        if baseline is not None and baseline >= count:
            raise ValueError(f"baseline = {baseline} is not a whole number from 0 to {count - 1}.")
        contexts.append(Context(X, mask, baseline, mean, segment))
    if row != (0 if features is None else len(features)) or mark != (0 if masks is None else len(masks)) or not contexts:
        raise ValueError("the file's features and masks are not those of its rounds.")
    return contexts
