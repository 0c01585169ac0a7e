"""What a session file says beside its arrays, as types: what is missing, unknown or out of range is
refused by their declarations.

Rounds that several decisions share, and reasons, are written once; a decision names their places.
"""

import math
from typing import Annotated, Any, Literal

import msgspec
import numpy as np
from msgspec import Meta

from ..core import checks, files
from ..core.types import PLAIN
from ..core.verbs import Context
from .decisions import Book, Chance, Decision, Entry, locked
from .ids import BRANCH, DIGEST, MOST_BRANCH
from .rounds import Rounds

SessionParts = Any  # of `parts`
FORMAT = 6
Count = Annotated[int, Meta(ge=0, le=2**62)]
Positive = Annotated[int, Meta(ge=1, le=2**62)]
Share = Annotated[float, Meta(ge=0, le=1)]
Error = Annotated[float, Meta(ge=0)]
Digest = Annotated[str, Meta(pattern=f"^{DIGEST}$")]


NOTHING = (None,) * 8


class DocumentPart(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    pass


class ArmsData(DocumentPart):
    number: Annotated[int, Meta(ge=1, le=2**48)]
    dimension: Annotated[int, Meta(ge=0, le=2**32)]
    blocks: Annotated[int, Meta(ge=1, le=2**32)]
    common: bool


class RoundData(DocumentPart, array_like=True):
    """A round's context. rows, mask: how many rows of the file's `rounds.features` and places of
    its `rounds.eligible` are its own."""

    rows: Count | None
    mask: Count | None
    baseline: Count | None
    baseline_mean: float | None
    segment: Count | None


class MoreData(DocumentPart, array_like=True):
    """What few open decisions of single arms have.

    shown: rows and length of the mask that were shown, where arms were added later. held: arms, by
    answer.
    """

    name: str | Count | list[str | Count] | None
    draws: Positive | None
    time: float | None
    answers: float | list[tuple[Count, float]] | None
    ended: Literal["rewarded", "expired", "closed"] | None
    waiting: list[Count] | None
    shown: tuple[Count | None, Count | None] | None
    held: list[list[Count]] | None


class DecisionData(DocumentPart, array_like=True):
    """A decision and its rewards. context, reason: places among the file's; a closed decision has
    no context."""

    id: str | int
    arm: Count | list[Count]
    propensity: Share | list[Share] | None
    propensity_se: Error | list[Error] | None
    reason: Count
    round: Positive
    context: Count | None
    more: MoreData | None


class BookData(DocumentPart):
    """All decisions of a session. last: the id of the last one, if it is open. selected: whether
    `select` made it."""

    rounds: list[RoundData]
    reasons: list[str]
    open: list[DecisionData]
    closed: list[DecisionData]
    last: str | int | None
    selected: bool


class BaseData(DocumentPart):
    """The state that a fork began with; its arrays begin with `base.`."""

    known: list[Digest]
    rounds: Positive


class PastData(DocumentPart):
    known: list[Digest]
    branch: Annotated[str, Meta(max_length=MOST_BRANCH, pattern=f"^{BRANCH}$")]
    forks: Count
    base: BaseData | None


class Header(DocumentPart):
    format: int
    version: str  # of the package that wrote the file
    policy: dict[str, object]
    arms: ArmsData
    oracle: dict[str, object] | str | None
    catalogue: bool
    changing: bool
    several: bool
    equal: Annotated[int, Meta(ge=-1, le=2**62)]
    options: dict[str, Any]  # that the session was made with, which `Session` checks
    rounds: Count
    decided: Count
    played: Count
    selected: Count | None  # the arm of the last decision, where it is open and only counted
    rng: dict[str, object]
    audit: dict[str, object]
    book: BookData
    encoder: dict[str, object] | str | None = None
    past: PastData | None = None


class Origin(msgspec.Struct):  # what every format says of itself
    format: object = None
    version: object = None


def encode(header: Header) -> bytes:
    return msgspec.json.encode(header, enc_hook=files.plain)


def decode(document: bytes) -> Header:
    try:
        return msgspec.json.decode(document, type=Header)
    except msgspec.ValidationError as error:
        what, _, where = str(error).partition(" - at `$.")
        raise ValueError(
            f"the file's {where.strip('`') or 'header'} cannot be read: {what}."
        ) from None


# Writing decisions --------------------------------------------------------------------------------


class PackedRounds:
    """The rounds that decisions name, each once."""

    def __init__(self) -> None:
        self.places: dict[int, int] = {}  # by the context's id
        self.contexts: list[Context] = []

    def place(self, context: Context) -> int:
        place = self.places.setdefault(id(context), len(self.contexts))
        if place == len(self.contexts):
            self.contexts.append(context)
        return place


def pack_book(session: SessionParts) -> tuple[BookData, dict[str, np.ndarray]]:
    """All decisions, and the arrays of their rounds."""
    book, rounds, reasons, named = (
        session._book,
        PackedRounds(),
        dict[str, int](),
        session.catalogue,
    )
    rounds.place(session._rounds.last)
    waiting = [
        pack_decision(entry, rounds.place(entry.context), reasons, named)
        for entry in book.open.values(keep=False)
    ]
    closed = [pack_decision(entry, None, reasons, named) for entry in book.closed.values()]
    features = [context.features for context in rounds.contexts if context.features is not None]
    masks = [context.eligible for context in rounds.contexts if context.eligible is not None]
    arrays = {"rounds.features": np.concatenate(features)} if features else {}
    if masks:
        arrays["rounds.eligible"] = np.concatenate(masks)
    last = book.last.decision.id if book.is_open(book.last) else None
    shown = [
        RoundData(*sizes_of(context), context.baseline, context.baseline_mean, context.segment)
        for context in rounds.contexts
    ]
    return BookData(
        shown, list(reasons), waiting, closed, last, book.is_open(book.selected)
    ), arrays


def pack_decision(
    entry: Entry, place: int | None, reasons: dict[str, int], named: bool
) -> DecisionData:
    one, answers = entry.decision, entry.answers
    name = (list(one.name) if isinstance(one.name, tuple) else one.name) if named else None
    waiting = shown = held = None
    if place is not None:
        waiting = None if entry.waiting is None else sorted(entry.waiting)
        held = [np.atleast_1d(action).tolist() for action, _ in entry.held] or None
        if entry.context is not PLAIN and one.context is not None:
            sizes = sizes_of(one.context)
            shown = None if sizes == sizes_of(entry.context) else sizes
    rewards = list(answers.items()) or None if isinstance(answers, dict) else answers
    more: tuple[Any, ...] = name, one.draws, one.time, rewards, entry.ended, waiting, shown, held
    return DecisionData(
        one.id,
        one.arm if isinstance(one.arm, int) else one.arm.tolist(),
        plain_chance(one.propensity),
        plain_chance(one.propensity_se),
        reasons.setdefault(one.reason, len(reasons)),
        one.round,
        place,
        None if more == NOTHING else MoreData(*more),
    )


def sizes_of(context: Context) -> tuple[int | None, int | None]:
    return None if context.features is None else len(
        context.features
    ), None if context.eligible is None else len(context.eligible)


def plain_chance(value: Chance) -> float | list[float] | None:
    if isinstance(value, np.ndarray):
        return value.tolist()
    return None if math.isnan(value) else float(value)


# Reading them -------------------------------------------------------------------------------------


def unpack_book(
    session: SessionParts, data: BookData, arrays: dict[str, np.ndarray]
) -> tuple[Book, Context]:
    """The decisions of a file, each checked against its round, and what the last round showed."""
    rounds: Rounds = session._rounds
    contexts = unpack_rounds(data.rounds, arrays, rounds)
    if all(item is None for item in contexts[0]):
        contexts[0] = PLAIN  # the one object that all such rounds share, also in the next file
    book, before = Book(), 0
    for one in data.open:
        if one.context is None or not before < one.round <= session.decided:
            raise ValueError(f"decision {one.id!r} of round {one.round} is out of order.")
        entry = unpack_decision(session, one, contexts[one.context], data.reasons)
        if session.apply != "in order" and (entry.ended is not None or entry.held):
            raise ValueError(
                f"decision {one.id!r} waits for others, but rewards are applied on arrival."
            )
        before = one.round
        book.add(entry)
    for one in data.closed:
        entry = unpack_decision(session, one, None, data.reasons)
        if one.id in book.open or entry.ended is None or one.round > session.decided:
            raise ValueError(f"closed decision {one.id!r} is open, or later than the last.")
        book.remember(entry)
    book.last = None if data.last is None else book.open[data.last]
    book.selected = book.last if data.selected else None
    return book, contexts[0]


def unpack_decision(
    session: SessionParts, one: DecisionData, context: Context | None, reasons: list[str]
) -> Entry:
    """An entry of a file; context: None for a closed one."""
    rounds: Rounds = session._rounds
    name, draws, moment, rewards, ended, waiting, shown, held = (
        NOTHING if one.more is None else msgspec.structs.astuple(one.more)
    )
    single = isinstance(one.arm, int)
    arms: list[int] = [one.arm] if isinstance(one.arm, int) else one.arm
    count = (
        rounds.count(context)
        if context is not None
        else math.inf
        if rounds.catalogue
        else rounds.arms.number
    )
    if (
        single == (session.arms.oracle is not None)
        or max(arms, default=0) >= count
        or len(set(arms)) < len(arms)
    ):
        raise ValueError(
            f"decision {one.id!r} has arms {checks.show(one.arm)}, which its round has not."
        )
    if name is None:
        name = rounds.names.of(arms[0]) if single else [rounds.names.of(arm) for arm in arms]
    value: Any
    for value in (name, one.propensity, one.propensity_se):
        if value is not None and (
            isinstance(value, list) == single or (not single and len(value) != len(arms))
        ):
            raise ValueError(
                f"decision {one.id!r} has names or a propensity {checks.show(value)}, which are "
                "not one for each arm."
            )
    if (moment is None) == session._timed:
        raise ValueError(
            f"decision {one.id!r} has time {moment}, which does not belong to this session's "
            "window."
        )
    answers: Any = (
        None
        if rewards is None
        else session._checked_value("reward", rewards)
        if single
        else dict(rewards)
    )
    waits: list[int] = []
    if not single:
        answers = {
            arm: session._checked_value("reward", value) for arm, value in (answers or {}).items()
        }
        waits = [*answers, *(waiting or ())]
    action: Any = arms[0] if single else np.array(arms, dtype=np.int64)
    seen = None if context is None else visible_part(context, shown)
    decision = Decision(
        one.id,
        action if single else locked(action),
        name if single else tuple(name),
        chance(one.propensity),
        chance(one.propensity_se),
        reasons[one.reason],
        one.round,
        seen,
        draws,
        moment,
    )
    entry = Entry(
        decision,
        PLAIN if context is None else context,
        action,
        None if single else set(waiting or ()),
    )
    entry.answers, entry.ended = answers, ended
    if not (
        waiting is None
        if single
        else set(waits) <= set(arms)
        if context is None
        else sorted(waits) == sorted(arms)
    ):
        raise ValueError(f"decision {one.id!r} does not wait for the rest of its arms.")
    if held and single and answers is None:
        raise ValueError(f"decision {one.id!r} holds rewards that it was not given.")
    for some in held or ():
        entry.held.append(
            (action, answers)
            if single
            else (np.array(some, dtype=np.int64), np.array([answers[k] for k in some]))
        )
    return entry


def chance(value: float | list[float] | None) -> Chance:
    return (
        math.nan if value is None else locked(np.array(value)) if isinstance(value, list) else value
    )


def visible_part(context: Context, sizes: tuple[int | None, int | None] | None) -> Context:
    """The part of a round that a decision was shown, read-only. sizes: rows and length of the mask,
    where later arms were added."""
    X, mask = context.features, context.eligible
    if sizes is not None:
        X = None if X is None else X[: sizes[0]]
        mask = None if mask is None or sizes[1] is None else mask[: sizes[1]]
    return (
        context
        if X is None and mask is None and sizes is None
        else context._replace(features=locked(X), eligible=locked(mask))
    )


def unpack_rounds(
    data: list[RoundData], arrays: dict[str, np.ndarray], rounds: Rounds
) -> list[Context]:
    """Contexts; that no feature and no mask is missing or left over shows when the session is
    written again."""
    features, masks = (
        arrays.get("rounds.features"),
        arrays.get("rounds.eligible", np.zeros(0, dtype=np.bool_)),
    )
    arms, row, mark, contexts = rounds.arms, 0, 0, []
    if features is not None:
        features = checks.matrix("features of rounds", features, shape=(None, arms.dimension))
    for one in data:
        X, mask, count = None, None, arms.number
        if one.rows is not None:
            X = (
                np.zeros((0, 0)) if features is None else features[row : row + one.rows].copy()
            )  # a part would keep the features of all
            if not rounds.changing or len(X) != (
                max(one.rows, 1) if rounds.catalogue else arms.rows
            ):
                raise ValueError("the file lacks features of a round.")
            row, count = row + one.rows, one.rows * arms.blocks
        if one.mask is not None:
            mask = checks.mask("mask of a round", masks[mark : mark + one.mask], count)
            mark += one.mask
        if one.baseline is not None and one.baseline >= count:
            raise ValueError(
                f"baseline = {one.baseline} is not a whole number from 0 to {count - 1}."
            )
        contexts.append(Context(X, mask, one.baseline, one.baseline_mean, one.segment))
    return contexts
