"""Decisions that wait for their rewards: what was decided in which round, and what became of it."""

import bisect
import itertools
import math
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Any, NamedTuple, NoReturn, TypeGuard, TypeVar

import numpy as np

from ..core import checks
from ..core.types import PLAIN, Action
from ..core.verbs import Context
from .rounds import Names, encodable

AUTOMATIC = "#"  # how the ids begin that a session makes itself
MOST_ID = 10**18

Id = str | int
LEAST_DRAWS, MOST_DRAWS = 10, 10**8  # behind a probability


def checked_id(value: object) -> Id:
    """Text, or a whole number, that a file can hold."""
    if isinstance(value, str) and value:
        id = str(value)
        if not encodable(id):
            raise ValueError(
                f"id = {checks.show(value)} has characters that are no text (lone surrogates), "
                "which no file can hold."
            )
        return id
    try:
        if isinstance(value, (str, float, np.floating)):
            raise ValueError
        number = checks.integer("id", value)
    except ValueError:
        remedy = "; pass its id, decision.id" if hasattr(value, "propensity") else ""
        raise ValueError(
            f"id = {checks.show(value)} is not text or a whole number{remedy}."
        ) from None
    if abs(number) >= MOST_ID:
        raise ValueError(
            f"id has {len(str(number)) if abs(number) < 10**4000 else 'thousands of'} digits; a "
            "number has at most 18, else give text."
        )
    return number


def refuse_automatic(id: Id) -> None:
    if isinstance(id, str) and id.startswith(AUTOMATIC):
        raise ValueError(
            f"id = {checks.show(id)} begins with {AUTOMATIC}, as the ids do that a session makes "
            "itself; choose another."
        )


# Decisions ----------------------------------------------------------------------------------------


# arms of closed decisions whose ids still answer; older ones are forgotten, so that memory does not
# grow
REMEMBERED = 10_000

FIRST, ROUND, TIME = map(attrgetter, ("first", "round", "time"))
A = TypeVar("A", np.ndarray, np.ndarray | None)
Chance = float | np.ndarray  # of an arm, or of each arm to be in a set
Reward = float | np.ndarray  # of an arm, or of some arms of a set
Held = tuple[tuple[Action, Reward], ...]  # answers that wait for earlier decisions


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

    __slots__ = ("answers", "context", "decision", "ended", "held", "waiting")

    def __init__(self, decision: Decision, context: Context, waiting: set[int] | None) -> None:
        self.decision = decision
        # the round's own, as long as it is open; `decision` shows read-only views of it
        self.context = context
        # arms of a set, or numbers of metrics, that were not answered; None: there is one reward
        self.waiting = waiting
        self.answers: Any = None if waiting is None else {}  # the reward, or those of the parts
        self.held: Held = ()
        # "rewarded", "expired" or "closed"; it stays open while its answers wait for earlier ones
        self.ended: str | None = None

    def with_answer(self, action: Action, value: Reward) -> tuple[Any, set[int] | None]:
        if self.waiting is None:
            return value, None
        arms = np.asarray(action).tolist()
        rewards = dict(zip(arms, np.asarray(value).tolist(), strict=True))
        return self.answers | rewards, self.waiting.difference(arms)

    def part_of_set(
        self, rewards: Mapping[int, float], how: str
    ) -> tuple[Action | None, Reward | None, str | None]:
        """(arms or metrics, their rewards, how the decision ends by them) of an answer to some of
        them."""
        assert self.waiting is not None
        ended = how if self.waiting <= rewards.keys() else None
        if not rewards:
            return None, None, ended
        return np.array(list(rewards), dtype=np.int64), np.array(list(rewards.values())), ended

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
        single = isinstance(self.decision.arm, int) and not self.answers
        return single and bool(self.decision.arm == action)


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
        context = self.context(i)
        return Entry(self._decision(i, read_only_context(context)), context, None)

    def rewarded(self, i: int, reward: float) -> Entry:
        seen = PLAIN if self.features is None and self.masks is None else None
        entry = Entry(self._decision(i, seen), PLAIN, None)
        entry.answers, entry.ended = reward, "rewarded"
        return entry

    def _decision(self, i: int, seen: Context | None) -> Decision:
        arm, p = int(self.arm[i]), float(self.propensity[i])
        name = self.names.of(arm)
        words = reason(int(self.event[i]), name, p)
        draws = None if self.draws is None or not self.draws[i] else int(self.draws[i])
        error, number = float(self.error[i]), self.first + i
        return Decision(self.ids[i], arm, name, p, error, words, number, seen, draws)


class Book:
    """The open decisions in order of their rounds, and the last closed ones.

    In place of an open decision of a batch stands its number, until somebody asks for its entry. A
    decision of `select` has no id that its caller knows: `update` answers it until the next
    decision is made. Where rounds show nothing of their own, it is not here: the agent counts it.
    """

    def __init__(self) -> None:
        # a plain dict finds its first in time that grows with those removed
        self._open: OrderedDict[Id, Entry | int] = OrderedDict()
        self.unlisted: tuple[Batch, ...] = ()  # batches whose ids do not stand there yet
        self.batches: list[Batch] = []  # of which decisions may be open, the oldest first
        self.left: dict[int, int] = {}  # how many are, by the number of the first
        self.closed: OrderedDict[Id, Entry] = OrderedDict()
        self.weight = 0  # arms in closed
        self.selected: Entry | None = None  # the open decision of `select`
        self.last: Entry | None = None  # the last decision, unless it was only counted

    @property
    def open(self) -> OrderedDict[Id, "Entry | int"]:
        """Open decisions by id, the oldest first. Ids of a batch are listed when the first of all
        is asked for, which takes half as long as deciding does."""
        if self.unlisted:
            for batch in self.unlisted:
                rounds = range(batch.first, batch.first + len(batch.ids))
                self._open.update(zip(batch.ids, rounds, strict=True))
            assert self.last is not None  # the last one of the last batch
            self._open[self.last.decision.id] = self.last
            self.unlisted = ()
        return self._open

    def get(self, id: Id) -> Entry | None:
        item = self.open.get(id)
        if isinstance(item, int):
            batch = self.batch_of(item)
            assert batch is not None
            item = self._open[id] = batch.entry(item - batch.first)
        return item

    def entries(self, keep: bool = True) -> Iterator[Entry]:
        """Those of all open decisions. keep: those that are made of a batch stay."""
        batch, after = None, 0
        for id, item in self.open.items():
            if isinstance(item, Entry):
                yield item
                continue
            if batch is None or item >= after:
                batch = self.batch_of(item)
                assert batch is not None
                after = batch.first + len(batch.ids)
            entry = batch.entry(item - batch.first)
            if keep:
                self._open[id] = entry
            yield entry

    def batch_of(self, number: int) -> Batch | None:
        if not self.batches:
            return None
        place = bisect.bisect_right(self.batches, number, key=FIRST) - 1
        batch = self.batches[place] if place >= 0 else None
        return batch if batch is not None and number < batch.first + len(batch.ids) else None

    def find(self, id: Id) -> Entry | None:
        return self.get(id) or self.closed.get(id)

    def decision_of(self, id: Id) -> Decision | None:
        entry = self.find(id)
        return None if entry is None else entry.decision

    def lacks(self, ids: Sequence[Id]) -> bool:
        """Whether none of these ids is known."""
        listed = self._open or self.unlisted
        return not (listed and any(map(self.open.__contains__, ids))) and (
            self.closed.keys().isdisjoint(ids)
        )

    @property
    def waiting(self) -> int:
        return sum(isinstance(item, int) or item.ended is None for item in self.open.values())

    def automatic(self, number: int, branch: str) -> Id:
        """An id for the decision of this number, as no caller may choose it, and no other branch of
        the session makes it."""
        id = f"{AUTOMATIC}{branch}.{number}" if branch else f"{AUTOMATIC}{number}"
        while id in self.open or id in self.closed:  # a log that is followed may have it
            id += "+"
        return id

    def forget(self) -> None:
        """Let go of closed decisions that are too many, and of batches none of which is open."""
        while self.weight > REMEMBERED and len(self.closed) > 1:
            oldest, entry = next(iter(self.closed.items()))
            weight = size_of(entry.decision)
            del self.closed[oldest]
            self.weight -= weight
        if self.batches and not all(self.left.values()):
            self.batches = [batch for batch in self.batches if self.left[batch.first]]
            self.left = {batch.first: self.left[batch.first] for batch in self.batches}

    def is_open(self, entry: Entry | None) -> TypeGuard[Entry]:
        return entry is not None and entry.ended is None and entry.decision.id in self.open

    def latest(self, number: int) -> Entry | None:
        """The decision of this number, the session's last, if it is here and waits for its
        answers."""
        last = self.last
        return last if self.is_open(last) and last.decision.round == number else None

    def older(self, than: float, by: Callable[[Decision], float]) -> list[Entry]:
        early = itertools.takewhile(lambda entry: by(entry.decision) < than, self.entries())
        return [entry for entry in early if entry.ended is None]

    def grown(self, before: int, number: int, rows: int) -> "Book":
        """The book with more arms: in rounds before they were not eligible and had no features."""
        contexts: dict[int, Context] = {}
        other = Book()
        for entry in self.entries():
            old = entry.context
            if id(old) not in contexts:
                mask, features = np.zeros(number, dtype=np.bool_), old.features
                mask[:before] = True if old.eligible is None else old.eligible
                if features is not None:
                    features = np.concatenate(
                        [features, np.zeros((rows - features.shape[0], features.shape[1]))]
                    )
                contexts[id(old)] = old._replace(features=features, eligible=mask)
            longer = Entry(entry.decision, contexts[id(old)], entry.waiting)
            longer.answers, longer.held, longer.ended = entry.answers, entry.held, entry.ended
            other.open[entry.decision.id] = longer
            if entry is self.last:
                other.last = longer
            if entry is self.selected:
                other.selected = longer
        other.closed, other.weight = self.closed, self.weight
        other.last = other.last or self.last
        return other


def without_context(decision: Decision) -> Decision:
    d = decision
    return Decision(
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


def size_of(decision: Decision) -> int:
    return 1 if isinstance(decision.arm, int) else max(1, np.size(decision.arm))


def agrees(context: Context, other: Context) -> bool:
    """Whether a round showed all that another one shows."""
    return all(
        value is None or had is value or (had is not None and np.array_equal(had, value))
        for had, value in zip(context, other, strict=True)
    )


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


WORDS = {  # by the event, where the guarantee had a say
    1: "the policy's first choice was not safe, this one is",
    2: "the baseline is played",
    3: "no arm is safe, this one risks least; the guarantee does not hold in this round",
}


def reason(event: int, name: object, propensity: Chance) -> str:
    if isinstance(name, tuple):
        name = ", ".join(map(str, name[:10])) + (", .." if len(name) > 10 else "")
    if event in WORDS:
        return f"{name}: {WORDS[event]}"
    if isinstance(propensity, np.ndarray):
        return f"{name}: " + (
            "drawn by the policy" if (propensity < 1.0).any() else "the policy's choice"
        )
    if propensity < 1.0:
        return f"{name}: drawn by the policy with probability {propensity:.3g}"
    return f"{name}: the policy's choice"


# Rewards ------------------------------------------------------------------------------------------


def rewards_by_arm(
    decision: Decision, value: object, checked: Callable[[str, object], float]
) -> dict[int, float]:
    arms = decision.arm.tolist()
    if not isinstance(value, Mapping):
        values = checks.floats("reward", value).reshape(-1)
        if values.size != len(arms):
            raise ValueError(
                f"reward has {values.size} entries, but decision {decision.id!r} has {len(arms)} "
                "arms; for a part of them give {arm: reward}."
            )
        value = dict(zip(arms, values.tolist(), strict=True))
    by_name = dict(zip(decision.name, arms, strict=True))
    rewards: dict[int, float] = {}
    for key, number in value.items():
        arm = by_name.get(key) if isinstance(key, str) else checks.integer("arm", key)
        if arm is None or arm not in arms:
            raise ValueError(
                f"arm = {checks.show(key)} is not in decision {decision.id!r}, which has "
                f"{checks.show(decision.name)}."
            )
        rewards[arm] = checked(
            f"reward[{key}]" if type(key) is int else f"reward[{checks.show(key)}]", number
        )  # most are numbers
    return rewards


def rewards_by_metric(
    metrics: Mapping[str, Sequence[float]], argument: str, value: object
) -> dict[int, float]:
    """What was given of metrics, by their numbers."""
    if not isinstance(value, Mapping):
        raise ValueError(
            f"{argument} = {checks.show(value)} is no dict by metric; the metrics are "
            f"{', '.join(metrics)}, so give {{{next(iter(metrics))!r}: ...}}."
        )
    numbers, rewards = {name: m for m, name in enumerate(metrics)}, {}
    for name, number in value.items():
        if name not in numbers:
            raise ValueError(
                f"{argument} has {checks.show(name)}, which is not a metric; they are "
                f"{', '.join(metrics)}.{checks.hint(name, metrics)}"
            )
        low, high = (end if math.isfinite(end) else None for end in metrics[name][:2])
        number = float(number) if isinstance(number, bool | np.bool_) else number
        what = f"{argument}[{name!r}]"
        rewards[numbers[name]] = checks.real(what, number, least=low, most=high)
    return rewards


def check_equal(
    decision: Decision, answers: dict[int, float], rewards: dict[int, float], how: str
) -> None:
    """Refuse another reward for an arm, or a metric, that has one, and any for one of a decision
    that was closed without it."""
    for part, value in rewards.items():
        if part in answers and answers[part] != value:
            what = "metric" if isinstance(decision.arm, int) else "arm"
            raise ValueError(
                f"decision {decision.id!r} was {how} with {answers[part]:g} for {what} {part}; a "
                "reward is given once."
            )
        if part not in answers and how == "closed":
            refuse(decision, None, how)


def refuse(decision: Decision, answer: float | None, how: str) -> NoReturn:
    answer_text = "without a reward" if answer is None else f"with {answer:g}"
    raise ValueError(
        f"decision {decision.id!r} was {how} {answer_text}; a reward is given once, while the "
        "decision is open."
    )
