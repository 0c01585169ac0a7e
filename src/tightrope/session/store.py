"""Session files: a document of declared types and plain arrays, as safetensors. One format: what an
earlier one wrote is refused.

A file may come from a stranger. Its document must have exactly the known entries, of the known
types, and its session must write the same again; policies, oracles and bit generators are looked up
among those registered, and their constructors check every number; nothing else can be named.
"""

import gc
import math
from collections.abc import Callable
from datetime import timedelta
from typing import Annotated, Any, Literal, TypeVar, cast

import msgspec
import numpy as np
from msgspec import Meta

from ..compiled.cache import version_of
from ..compiled.handle import Stream
from ..core import checks, files, streams
from ..core.policy import Policy, accepts, is_policy
from ..core.registry import policy_from_spec, policy_to_spec
from ..core.types import PLAIN, JsonObject, Oracle, State
from ..core.verbs import Arms, Context, init
from ..numerics.states import carried
from .agent import DECIDED, PLAYED, REWARDS, SELECTED, SELECTED_ARM, agent, new_tally
from .codec import (
    BRANCH,
    DIGEST,
    MOST_BRANCH,
    AuditStream,
    Base,
    Past,
    build_oracle,
    describe_oracle,
    flatten,
    note_written,
    restore,
    same_oracle,
    split_records,
    state_bytes,
    with_records,
)
from .decisions import Book, Chance, Decision, Entry, locked, rewards_by_metric, size_of
from .rounds import Rounds, Transformer, described_encoder, found_encoder

Session = Any  # of `session`, which imports this module
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


def pack_book(session: Session) -> tuple[BookData, dict[str, np.ndarray]]:
    book, reasons, named = session._book, dict[str, int](), session.catalogue
    rounds: dict[int, tuple[int, Context]] = {}  # that decisions name, each once

    def place(context: Context) -> int:
        return rounds.setdefault(id(context), (len(rounds), context))[0]

    place(session._rounds.last)
    waiting = [
        pack_decision(entry, place(entry.context), reasons, named)
        for entry in book.entries(keep=False)
    ]
    contexts = [context for _, context in rounds.values()]
    closed = [pack_decision(entry, None, reasons, named) for entry in book.closed.values()]
    features = [context.features for context in contexts if context.features is not None]
    masks = [context.eligible for context in contexts if context.eligible is not None]
    arrays = {"rounds.features": np.concatenate(features)} if features else {}
    if masks:
        arrays["rounds.eligible"] = np.concatenate(masks)
    last = book.last.decision.id if book.is_open(book.last) else None
    shown = [
        RoundData(*sizes_of(context), context.baseline, context.baseline_mean, context.segment)
        for context in contexts
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
    session: Session, data: BookData, arrays: dict[str, np.ndarray]
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
        book.open[one.id] = entry
    for one in data.closed:
        entry = unpack_decision(session, one, None, data.reasons)
        if one.id in book.open or entry.ended is None or one.round > session.decided:
            raise ValueError(f"closed decision {one.id!r} is open, or later than the last.")
        book.closed[one.id] = entry
        book.weight += size_of(entry.decision)
    book.last = None if data.last is None else cast("Entry", book.open[data.last])
    book.selected = book.last if data.selected else None
    return book, contexts[0]


def unpack_decision(
    session: Session, one: DecisionData, context: Context | None, reasons: list[str]
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
    whole, names = single and not session.metrics, tuple(session.metrics or ())
    parts = range(len(names)) if session.metrics else arms
    if whole:
        answers: Any = None if rewards is None else session._checked_value("reward", rewards)
    elif session.metrics:
        given = {names[m]: value for m, value in rewards or ()}
        answers = rewards_by_metric(session.metrics, "reward", given)
    else:
        answers = {arm: session._checked_value("reward", value) for arm, value in rewards or ()}
    waits = [] if whole else [*answers, *(waiting or ())]
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
        None if whole else set(waiting or ()),
    )
    entry.answers, entry.ended = answers, ended
    if not (
        waiting is None
        if whole
        else set(waits) <= set(parts)
        if context is None
        else sorted(waits) == sorted(parts)
    ):
        raise ValueError(f"decision {one.id!r} does not wait for the rest of its arms or metrics.")
    if held and whole and answers is None:
        raise ValueError(f"decision {one.id!r} holds rewards that it was not given.")
    entry.held = tuple(
        (action, answers)
        if whole
        else (np.array(some, dtype=np.int64), np.array([answers[k] for k in some]))
        for some in held or ()
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


# Files --------------------------------------------------------------------------------------------


T = TypeVar("T")
P = TypeVar("P", bound=Any)  # a class of sessions

OPTIONS = ("names", "default_reward", "apply", "after_stop", "measured", "draws", "seed")
GIVEN = ("version", "policy", "oracle", "encoder")  # parts of a header that are compared otherwise
MOST_NESTED = 3  # policies inside policies
MOST_PAIRS = 1024  # of arms, whose ratios LinGapE keeps


def to_bytes(session: Session) -> bytes:
    header, arrays = without_collector(packed_session, session)
    return files.arrays_to_bytes(encode(header), arrays)


def without_collector(call: Callable[..., T], *arguments: object) -> T:
    """The result of a call during which Python's collector of reference cycles waits.

    It would look through all objects again each time that some more of 100,000 decisions are made,
    which takes longer than making them.
    """
    running = gc.isenabled()
    try:  # both changes stand where an exception of a signal cannot leave the collector off
        gc.disable()
        return call(*arguments)
    finally:
        if running:
            gc.enable()


def packed_session(session: Session) -> tuple[Header, dict[str, np.ndarray]]:
    """Header and arrays of a session; of records each field by itself."""
    note_written(session)
    a, rounds, past, base = session.arms, session._rounds, session._past, session._past.base
    book, arrays = pack_book(session)
    oracle, more = (None, {}) if a.oracle is None else describe_oracle(a.oracle)
    arrays |= more
    shown = {
        "arms.features": a.features,
        "arms.distances": a.distances,
        "arms.points": a.points,
        "retired": rounds.retired,
    }
    arrays |= {name: value for name, value in shown.items() if value is not None}
    arrays |= split_records(flatten(session.state))
    if base is not None:
        began = base.state
        if session.catalogue:  # in the size of one row
            began = carried(init(session.policy, base_arms(session)), began)
        arrays |= split_records(flatten(began, "base"))
    window = (
        f"{session.window.total_seconds()!r}s"
        if isinstance(session.window, timedelta)
        else session.window
    )
    header = Header(
        format=FORMAT,
        version=version(),
        policy=policy_to_spec(session.policy),
        arms=ArmsData(a.number, a.dimension, a.blocks, a.common),
        oracle=oracle,
        catalogue=session.catalogue,
        changing=rounds.changing,
        several=rounds.several,
        equal=rounds.equal,
        options={name: getattr(session, name) for name in OPTIONS}
        | {"horizon": a.horizon, "window": window},
        rounds=session.rounds,
        decided=session.decided,
        played=session.played,
        selected=session._agent.selected(),
        rng=streams.pack(session._agent.rng),
        audit=streams.pack(session._audit.stream),
        book=book,
        encoder=described_encoder(session.encoder),
    )
    if past != Past():
        known = None if base is None else BaseData(sorted(base.known), base.rounds)
        header.past = PastData(list(past.known), past.branch, past.forks, known)
    return header, arrays


def base_arms(session: Session) -> Arms:
    arms = session._rounds.policy_arms()
    return arms._replace(number=arms.blocks) if session.catalogue else arms


def read_past(session: Session, data: PastData | None, arrays: dict[str, np.ndarray]) -> None:
    if data is not None:
        base, arms = None, base_arms(session)
        if data.base is not None:
            if not 0 < data.base.rounds <= session.rounds:
                raise ValueError(
                    f"the file's base has {data.base.rounds} rewards, but the session has "
                    f"{session.rounds}."
                )
            state = restored(session.policy, arms, arrays, arms, "base")
            base = Base(frozenset(data.base.known), data.base.rounds, state)
        session._past = Past(tuple(data.known), data.branch, data.forks, base)
    note_written(session)


def restored(
    policy: Policy, own: Arms, arrays: dict[str, np.ndarray], arms: Arms, prefix: str
) -> State:
    """The state of a file; own: the arms that it is made for, which of a catalogue are those of one
    row."""
    template = init(policy, own)
    return restore(
        template, with_records(arrays, flatten(template, prefix)), policy, arms, prefix=prefix
    )


def from_bytes(
    cls: type[P],
    data: bytes,
    oracle: Oracle | None,
    policy: Policy | None,
    encoder: Transformer | None = None,
    called: str = "data",
) -> P:
    """The session of a file's bytes; `called` begins the sentences about it."""
    if data.startswith(b"PK"):
        raise ValueError(
            f"{called} is not a session file of format {FORMAT}; it may have an earlier format, "
            "which this version does not read."
        )
    try:
        document, arrays = files.read_arrays(data)
        origin = msgspec.json.decode(document, type=Origin)
    except Exception as error:  # whatever a damaged archive, number or text raises
        kind = type(error).__name__
        raise ValueError(
            f"{called} is not a session file ({kind}); pass one that Session.save wrote."
        ) from None
    by = (
        f" The file was written by tightrope {origin.version[:40]}; this is {version()}."
        if isinstance(origin.version, str)
        else ""
    )
    if origin.format != FORMAT or isinstance(origin.format, bool):
        raise ValueError(
            f"{called} has format {checks.show(origin.format)}, but this version reads "
            f"{FORMAT}.{by}"
        )
    try:
        return without_collector(build, cls, len(data), document, arrays, oracle, policy, encoder)
    except ValueError as error:
        raise ValueError(f"{error}{by}") from error
    except Exception as error:
        raise ValueError(
            f"{called} holds what no session has ({type(error).__name__}: {error}).{by}"
        ) from error


def version() -> str:
    return version_of("tightrope") or "unknown"


def build(
    cls: type[P],
    size: int,
    document: bytes,
    arrays: dict[str, np.ndarray],
    oracle: Oracle | None,
    policy: Policy | None,
    encoder: Transformer | None,
) -> P:
    """The session of a document and arrays, if it would write the same again: then nothing in them
    is unknown, missing or left over."""
    parts = decode(document)
    if oracle is None and isinstance(parts.oracle, dict):
        oracle = build_oracle(parts.oracle, arrays)
    if oracle is not None and not same_oracle(oracle, parts.oracle, arrays):
        raise ValueError(
            f"oracle = {checks.show(oracle)}, but this session was saved with {parts.oracle}; "
            "pass the same again."
        )
    if oracle is None and parts.oracle is not None:
        raise ValueError(
            f"oracle is missing; this session was saved with {parts.oracle}, a function of your "
            "own, so pass it again."
        )
    if policy is not None and not is_policy(policy):
        raise ValueError(
            f"policy = {checks.show(policy)} is not a policy; pass an instance such as UCB()."
        )
    if policy is None:
        policy = policy_from_spec(within(parts.policy, MOST_NESTED))
    check_sizes(policy, parts, arrays, size)
    encoder = found_encoder(parts.encoder, encoder)
    session = cls(
        policy, **described_arms(parts, arrays), **parts.options, oracle=oracle, encoder=encoder
    )
    a = session.arms._replace(number=parts.arms.number) if session.catalogue else session.arms
    rounds = session._rounds.changed(
        arms=a._replace(common=parts.arms.common),
        changing=parts.changing,
        several=parts.several,
        equal=parts.equal,
        retired=checks.mask("retired", arrays["retired"], a.number)
        if "retired" in arrays
        else None,
    )
    rng = streams.unpack(parts.rng)
    if not isinstance(rng.bit_generator, np.random.PCG64):
        raise ValueError(f"rng is {parts.rng['bit_generator']}, but sessions draw from PCG64.")
    tally = new_tally()
    tally[DECIDED], tally[REWARDS], tally[PLAYED] = parts.decided, parts.rounds, parts.played
    if parts.selected is not None:
        if parts.selected >= a.number or not (session._counts and parts.played):
            raise ValueError(
                f"selected = {parts.selected} is not an arm of a decision that is only counted."
            )
        tally[SELECTED], tally[SELECTED_ARM] = parts.decided, parts.selected
    state = restored(session.policy, rounds.policy_arms(), arrays, a, "state")
    session._commit(agent(session.policy, state, Stream(rng), rounds.arms, tally), rounds)
    read_past(session, parts.past, arrays)
    audit = streams.unpack(parts.audit)
    if not hasattr(audit.bit_generator, "advance"):
        raise ValueError(
            f"audit is {parts.audit['bit_generator']}, which cannot jump ahead; sessions write "
            "PCG64."
        )
    session._audit = AuditStream(audit)
    session._book, last = unpack_book(session, parts.book, arrays)
    session._commit(session._agent, session._rounds.changed(last=last))
    check_written(session, parts, arrays)
    return session


def check_written(session: Session, parts: Header, arrays: dict[str, np.ndarray]) -> None:
    header, written = packed_session(session)
    for name in sorted({**arrays, **written}):
        if (
            name not in written
            or name not in arrays
            or arrays[name].tobytes() != np.asarray(written[name]).tobytes()
        ):
            raise ValueError(f"the file's {name} is not what its session has.")
    for field in Header.__struct_fields__:
        one, other = getattr(parts, field), getattr(header, field)
        if field not in GIVEN and msgspec.json.encode(one) != msgspec.json.encode(other):
            raise ValueError(f"the file's {field} is not what its session has.")


def within(data: dict[str, object], depth: int) -> dict[str, object]:
    """A described policy with at most so many policies inside each other: each level is compiled
    into the one around it."""
    for item in data.values():
        if isinstance(item, dict):
            if depth == 0:
                raise ValueError(
                    f"the file's policy holds policies inside policies more than {MOST_NESTED} "
                    "deep."
                )
            within(item, depth - 1)
    return data


def check_sizes(policy: Policy, parts: Header, arrays: dict[str, np.ndarray], size: int) -> None:
    """Refuse a header that asks for more memory than the arrays of a file of so many bytes can
    fill, before any is taken.

    Every state stores an array of K numbers, with features one of d x d, and some policies arrays
    over all pairs of arms.
    """
    horizon: Any = parts.options.get("horizon")
    a, features, kinds = parts.arms, arrays.get("arms.features"), accepts(policy)
    for name in ("arms.features", "arms.distances", "arms.points", "rounds.features", "features"):
        if name in arrays and arrays[name].dtype != np.float64:
            raise ValueError(f"{name} in the file is {arrays[name].dtype}, but must be float64.")
    K, d = a.number, a.dimension
    if K % a.blocks or (parts.oracle is None and a.blocks > 1):
        raise ValueError(f"the header's {K} arms are not {a.blocks} for every row of features.")
    shapes = {"features": (K // a.blocks, d), "distances": (K, K)}
    for name, shape in shapes.items():
        if f"arms.{name}" in arrays and arrays[f"arms.{name}"].shape != shape:
            raise ValueError(
                f"arms.{name} has shape {arrays[f'arms.{name}'].shape}, but the header asks for "
                f"{shape}."
            )
    if "arms.points" in arrays and (
        "arms.distances" not in arrays or len(arrays["arms.points"]) != K
    ):
        raise ValueError(f"arms.points is not {K} points with their distances.")
    most = size // 8
    counted = parts.oracle is None or "sets of lasting arms" in kinds
    if (counted and most < K) or (
        {"features", "contexts", "sets"} & set(kinds) and d * d * a.blocks > most
    ):
        raise ValueError(
            f"the header asks for {K} arms of dimension {d}, which a file of {size} bytes does "
            "not hold."
        )
    if (
        d and not type(policy).TRAITS.stops and 3 * K * d * d > most and parts.oracle is None
    ):  # some keep a regression for every arm
        needed = state_bytes(
            policy, Arms(K, features=features, dimension=d, horizon=horizon, common=a.common)
        )
        if needed is not None and needed > size:
            raise ValueError(
                f"the header asks for {K} arms of dimension {d}, whose state a file of {size} "
                "bytes does not hold."
            )
    few = d + 7
    if type(policy).TRAITS.stops and features is not None and few < K:
        probe = flatten(
            init(policy, Arms(few, features=features[:few], dimension=d, horizon=horizon))
        )
        pairs = {few: K, few * (few - 1) // 2: K * (K - 1) // 2}
        for path, value in probe.items():
            wanted = tuple(pairs.get(n, 0) for n in value.shape)
            if path.startswith("state.rule."):  # keeps no more than so many pairs
                wanted = tuple(min(n, max(K, MOST_PAIRS)) for n in wanted)
            if (
                value.ndim
                and (value.shape[0] != few or value.shape == (few, few))
                and path in arrays
            ):
                actual = arrays[path].shape
                if len(actual) != len(wanted) or any(
                    n and n != m for n, m in zip(wanted, actual, strict=True)
                ):
                    raise ValueError(
                        f"{path} has shape {actual}, but the header asks for {K} arms."
                    )


def described_arms(parts: Header, arrays: dict[str, np.ndarray]) -> JsonObject:
    # a metric of points is made of them again
    given = {"points": "points", "distances": "distances", "features": "arms"}
    for name, argument in given.items():
        if f"arms.{name}" in arrays:
            return {argument: arrays[f"arms.{name}"]}
    rows, d = parts.arms.number // parts.arms.blocks, parts.arms.dimension or None
    return {"dimension": d} if parts.catalogue else {"arms": rows, "dimension": d}
