"""Decisions that wait for their rewards: what was decided in which round, and what became of it."""

import bisect
import itertools
from collections import OrderedDict, deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Any, NamedTuple, TypeVar

import numpy as np

from ..core.types import PLAIN, Action
from ..core.verbs import Context
from .arms import Names
from .ids import AUTOMATIC, Id

# arms of closed decisions whose ids still answer; older ones are forgotten, so that memory does not
# grow
REMEMBERED = 10_000

FIRST = attrgetter("first")
A = TypeVar("A", np.ndarray, np.ndarray | None)
Name = str | int
Chance = float | np.ndarray  # of an arm, or of each arm to be in a set
Answers = float | dict[int, float] | None  # a reward, or those of a set by arm
Reward = float | np.ndarray  # of an arm, or of some arms of a set
Held = list[tuple[Action, Reward]]  # answers that wait for earlier decisions


@dataclass(frozen=True, slots=True)
class Decision:
    """One decision of a session.

    id: the caller's own, or made. arm: its number, or a read-only int array for a set of arms.
    name: that of the arm (a tuple for a set); without names its number. propensity: the chance with
    which the policy chose it (for a set an array, the chance of each arm to be in it),
    propensity_se its standard error; both NaN where `select` made the decision or the session
    measures none.
    reason: one sentence. round: 1 for the session's first decision. context: what the round showed
    (features, mask, baseline); None once a decision that showed something is closed. draws: how
    many random draws the propensity was sampled by; None: it is exact, or was not measured. time:
    when it was made, in seconds since 1970, where the session's window is a time.
    """

    id: Id
    arm: Any = field(compare=False)
    name: Any
    propensity: Chance = field(compare=False)
    propensity_se: Chance = field(compare=False)
    reason: str
    round: int
    context: Context | None = field(compare=False, repr=False, default=None)
    draws: int | None = field(compare=False, default=None)
    time: float | None = field(compare=False, default=None)


class Entry:
    """A decision with what its reward will need, and with its answers; of a closed one enough to
    answer its id once more."""

    __slots__ = ("action", "answers", "context", "decision", "ended", "held", "waiting")

    def __init__(
        self, decision: Decision, context: Context, action: Action, waiting: set[int] | None
    ) -> None:
        self.decision = decision
        # the round's own, as long as it is open; `decision` shows read-only views of it
        self.context = context
        self.action: Any = action  # an array where `waiting` is a set
        self.waiting = waiting  # arms of a set that were not answered; None: a single arm
        self.answers: Any = None if waiting is None else {}  # the reward, or those of a set by arm
        self.held: Held = []
        self.ended: str | None = (
            # "rewarded", "expired" or "closed"; it stays open while its answers wait for earlier
            # decisions
            None
        )

    def answer(self, action: Action, value: Reward) -> None:
        if self.waiting is None:
            self.answers = value
        else:
            arms = np.asarray(action).tolist()
            self.answers |= zip(arms, np.asarray(value).tolist(), strict=True)
            self.waiting.difference_update(arms)

    def plays(self, action: Action) -> bool:
        """Whether it waits for a reward of this arm, or of all these arms of a set."""
        if isinstance(action, np.ndarray):
            wanted = set(action.tolist())
            return (
                self.waiting is not None
                and len(wanted) == action.size
                and wanted <= self.waiting
                and bool(wanted) == bool(self.waiting)
            )
        return self.waiting is None and bool(self.action == action)


class Batch(NamedTuple):
    """Decisions of single arms that were made together, as arrays: objects for each of a million
    would take longer than to decide.

    ids: of all. arm, event, propensity, error: (n,). draws: behind every propensity, (n,), 0 where
    it is exact; None: all are. first: the number of the first decision. features: (n, K, d), or (n,
    d) that all arms were shown, or None. masks: (n, K), (1, K) for all, or None. names, number: of
    the arms.
    """

    ids: Sequence[Id]
    arm: np.ndarray
    event: np.ndarray
    propensity: np.ndarray
    error: np.ndarray
    draws: np.ndarray | None
    first: int
    features: np.ndarray | None
    masks: np.ndarray | None
    names: Names
    number: int

    def context(self, i: int) -> Context:
        if self.features is None and self.masks is None:
            return PLAIN
        X = None if self.features is None else self.features[i]
        if X is not None and X.ndim == 1:
            x, X = X, np.empty((self.number, X.size))
            X[:] = x
        return Context(X, None if self.masks is None else self.masks[i % len(self.masks)].copy())

    def entry(self, i: int) -> Entry:
        arm, p, context = int(self.arm[i]), float(self.propensity[i]), self.context(i)
        name = self.names.of(arm)
        draws = None if self.draws is None or not self.draws[i] else int(self.draws[i])
        words = reason(int(self.event[i]), name, p)
        decision = Decision(
            self.ids[i],
            arm,
            name,
            p,
            float(self.error[i]),
            words,
            self.first + i,
            read_only_context(context),
            draws,
        )
        return Entry(decision, context, arm, None)


class Open:
    """Open decisions by id, the oldest first. In place of one of a batch stands its number, until
    somebody asks for the entry.

    The ids of a batch are listed when the first of all ids is asked for, which takes half as long
    as deciding does.
    """

    def __init__(self) -> None:
        self._entries: OrderedDict[Id, Entry | int] = (
            OrderedDict()
        )  # a plain dict finds its first in time that grows with those removed
        self._unlisted: list[Batch] = []  # batches whose ids do not stand there yet
        self._last: dict[Id, Entry] = {}  # entries that were made of these
        self.batches: list[Batch] = []  # of which decisions may be open, the oldest first
        self._left: dict[int, int] = {}  # how many are, by the number of the first

    @property
    def _listed(self) -> OrderedDict[Id, "Entry | int"]:
        """All of them. A signal's exception leaves what is listed once more, to the same effect."""
        for batch in self._unlisted:
            self._entries.update(
                zip(batch.ids, range(batch.first, batch.first + len(batch.ids)), strict=True)
            )
        if self._unlisted:
            self._entries.update(self._last)
            self._unlisted, self._last = [], {}
        return self._entries

    def add(self, id: Id, entry: Entry) -> None:
        self._listed[id] = entry

    def add_many(self, batch: Batch) -> Entry:
        last = batch.entry(len(batch.ids) - 1)
        self._left[batch.first] = len(batch.ids)
        self.batches.append(batch)
        self._last[last.decision.id] = last
        self._unlisted.append(batch)
        return last

    def batch_of(self, number: int) -> Batch | None:
        place = bisect.bisect_right(self.batches, number, key=FIRST) - 1
        batch = self.batches[place] if place >= 0 else None
        return batch if batch is not None and number < batch.first + len(batch.ids) else None

    def remove_many(self, ids: Iterable[Id], batch: Batch) -> None:
        """Take decisions of a batch out. Once more changes nothing."""
        entries = self._listed
        present = [id for id in ids if id in entries]
        deque(map(entries.__delitem__, present), maxlen=0)
        self._less(batch, len(present))

    def remove(self, id: Id) -> None:
        """Take a decision out. Once more changes nothing."""
        entries = self._listed
        item = entries.get(id)
        if item is not None:
            del entries[id]
            batch = (
                self.batch_of(item if isinstance(item, int) else item.decision.round)
                if self.batches
                else None
            )
            if batch is not None:
                self._less(batch, 1)

    def _less(self, batch: Batch, count: int) -> None:
        """Forget a batch when none of it is open. A signal's exception before this call keeps its
        arrays, and nothing else."""
        left = self._left.get(batch.first, 0) - count
        self._left[batch.first] = left
        if left <= 0:
            self._left.pop(batch.first)
            self.batches = [other for other in self.batches if other is not batch]

    def __len__(self) -> int:
        return len(self._listed)

    def __iter__(self) -> Iterator[Id]:
        return iter(self._listed)

    def __contains__(self, id: object) -> bool:
        return id in self._listed

    def __getitem__(self, id: Id) -> Entry:
        entries = self._listed
        item = entries[id]
        if not isinstance(item, int):
            return item
        batch = self.batch_of(item)
        assert batch is not None
        entry = entries[id] = batch.entry(item - batch.first)
        return entry

    def get(self, id: Id) -> Entry | None:
        return self[id] if id in self._listed else None

    def values(self, keep: bool = True) -> Iterator[Entry]:
        """Their entries. keep: those that are made of a batch stay."""
        entries, batch, after = self._listed, None, 0
        for id, item in entries.items():
            if not isinstance(item, int):
                yield item
                continue
            if batch is None or item >= after:
                batch = self.batch_of(item)
                assert batch is not None
                after = batch.first + len(batch.ids)
            entry = batch.entry(item - batch.first)
            if keep:
                entries[id] = entry
            yield entry

    def lacks(self, ids: Iterable[Id]) -> bool:
        return not (self._entries or self._unlisted) or self._listed.keys().isdisjoint(ids)

    def raw(self, ids: Iterable[Id]) -> "list[Entry | int | None]":
        """For every id its entry, the number of a decision of a batch, or None where it is not
        open."""
        return list(map(self._listed.get, ids))

    def count(self) -> int:
        return sum(isinstance(item, int) or item.ended is None for item in self._listed.values())


class Book:
    """The open decisions in order of their rounds, and the last closed ones.

    A decision of `select` has no id that its caller knows: `update` answers it until the next
    decision is made. Where rounds show nothing of their own, it is not here: the agent counts it.
    """

    def __init__(self) -> None:
        self.open = Open()
        self.closed: OrderedDict[Id, Entry] = OrderedDict()
        self.selected: Entry | None = None  # the open decision of `select`
        self.last: Entry | None = None  # the last decision, unless it was only counted
        self._weight = 0  # arms in closed

    @property
    def waiting(self) -> int:
        return self.open.count()

    def decision_of(self, id: Id) -> Decision | None:
        entry = self.open.get(id) or self.closed.get(id)
        return None if entry is None else entry.decision

    def add(self, entry: Entry, selected: bool = False) -> None:
        self.open.add(entry.decision.id, entry)
        self.last = entry
        if selected:
            self.selected = entry

    def add_many(self, batch: Batch) -> Entry:
        """Enter the decisions of a batch; returns the last one. `Open.remove_many` takes back what
        a signal's exception left of it."""
        self.last = self.open.add_many(batch)
        return self.last

    def close_many(self, ids: Sequence[Id], values: np.ndarray, batch: Batch) -> None:
        """Close decisions of a batch with their rewards; only those that are remembered become
        entries. Once more changes nothing."""
        early = max(0, len(ids) - REMEMBERED)
        places = [i for i, item in enumerate(self.open.raw(ids[:early])) if type(item) is int]
        self.open.remove_many([ids[i] for i in places], batch)
        for id, value in itertools.islice(
            zip(ids, values.tolist(), strict=True), early if len(places) == early else 0, None
        ):
            entry = self.open.get(id)
            if entry is not None:
                self.note(entry, entry.action, value, "rewarded", None)

    def automatic(self, number: int, branch: str) -> Id:
        """An id for the decision of this number, as no caller may choose it, and no other branch of
        the session makes it."""
        id = f"{AUTOMATIC}{branch}.{number}" if branch else f"{AUTOMATIC}{number}"
        while self.decision_of(id) is not None:  # a log that is followed may have it
            id += "+"
        return id

    def remove(self, id: Id) -> Entry | None:
        """Take an open decision out, as if it had never been made. A signal's exception between two
        lines leaves a book that works."""
        entry = self.open.get(id)
        if entry is not None and entry is self.selected:
            self.selected = None
        self.open.remove(id)
        return entry

    def close(self, id: Id, how: str) -> None:
        entry = self.open.get(id)
        if entry is not None:
            entry.ended = how
            self.remember(entry)
            self.remove(id)

    def note(
        self,
        entry: Entry,
        action: Action | None,
        value: Reward | None,
        ended: str | None,
        withheld: Held | None,
    ) -> None:
        """Keep an answer that was learned; ended: how the decision is closed by it. Once more
        changes nothing."""
        if action is not None and value is not None:
            entry.answer(action, value)
        if withheld is not None:
            entry.held = withheld
        if ended is not None:
            self.close(entry.decision.id, ended)

    def remember(self, ended: Entry) -> None:
        if ended.context is not PLAIN:
            d = ended.decision
            shorter = Decision(
                d.id,
                d.arm,
                d.name,
                d.propensity,
                d.propensity_se,
                d.reason,
                d.round,
                draws=d.draws,
                time=d.time,
            )
            ended.decision, ended.context = shorter, PLAIN
        id, weight = ended.decision.id, size_of(ended.decision)
        if (
            id not in self.closed
        ):  # no call stands between a change and its weight, where a signal's exception could come
            self.closed[id] = ended
            self._weight += weight
        while self._weight > REMEMBERED and len(self.closed) > 1:
            oldest, entry = next(iter(self.closed.items()))
            weight = size_of(entry.decision)
            del self.closed[oldest]
            self._weight -= weight

    def is_open(self, entry: Entry | None) -> bool:
        return entry is not None and entry.ended is None and entry.decision.id in self.open

    def first(self) -> Entry | None:
        return next(iter(self.open.values()), None)

    def latest(self, number: int) -> Entry | None:
        """The decision of this number, the session's last, if it is here and waits for its
        answers."""
        last = self.last
        return (
            last
            if last is not None and last.decision.round == number and self.is_open(last)
            else None
        )

    def before(self, round: int) -> list[Entry]:
        early = itertools.takewhile(lambda entry: entry.decision.round < round, self.open.values())
        return [entry for entry in early if entry.ended is None]

    def made_before(self, moment: float) -> list[Entry]:
        early = itertools.takewhile(
            lambda entry: (entry.decision.time or 0.0) < moment, self.open.values()
        )
        return [entry for entry in early if entry.ended is None]

    def grown(self, before: int, number: int, rows: int) -> "Book":
        """The book with more arms: in rounds before they were not eligible and had no features."""
        contexts: dict[int, Context] = {}
        other = Book()
        for entry in self.open.values():
            old = entry.context
            if id(old) not in contexts:
                mask, features = np.zeros(number, dtype=np.bool_), old.features
                mask[:before] = True if old.eligible is None else old.eligible
                if features is not None:
                    features = np.concatenate(
                        [features, np.zeros((rows - features.shape[0], features.shape[1]))]
                    )
                contexts[id(old)] = old._replace(features=features, eligible=mask)
            longer = Entry(entry.decision, contexts[id(old)], entry.action, entry.waiting)
            longer.answers, longer.held, longer.ended = entry.answers, entry.held, entry.ended
            other.add(longer)
        other.closed, other._weight = self.closed, self._weight
        other.selected = (
            None if self.selected is None else other.open.get(self.selected.decision.id)
        )
        other.last = (
            None if self.last is None else other.open.get(self.last.decision.id) or self.last
        )
        return other


def size_of(decision: Decision) -> int:
    return 1 if isinstance(decision.arm, int) else max(1, np.size(decision.arm))


def agrees(context: Context, other: Context) -> bool:
    for had, value in zip(context, other, strict=True):
        if (
            value is not None
            and had is not value
            and (had is None or not np.array_equal(had, value))
        ):
            return False
    return True


def read_only_context(context: Context) -> Context:
    if context.features is None and context.eligible is None:
        return context
    return context._replace(features=locked(context.features), eligible=locked(context.eligible))


def locked(array: A) -> A:
    if array is None:
        return None
    view = array.view()
    view.flags.writeable = False
    return view


def reason(event: int, name: object, propensity: Chance) -> str:
    if isinstance(name, tuple):
        name = ", ".join(map(str, name[:10])) + (", .." if len(name) > 10 else "")
    if event == 3:
        return (
            f"{name}: no arm is safe, this one risks least; the guarantee does not hold in this "
            "round"
        )
    if event == 2:
        return f"{name}: the baseline is played"
    if event == 1:
        return f"{name}: the policy's first choice was not safe, this one is"
    if isinstance(propensity, np.ndarray):
        return f"{name}: " + (
            "drawn by the policy" if (propensity < 1.0).any() else "the policy's choice"
        )
    if propensity < 1.0:
        return f"{name}: drawn by the policy with probability {propensity:.3g}"
    return f"{name}: the policy's choice"
