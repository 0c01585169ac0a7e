"""Session files: a document of declared types and plain arrays, as safetensors. One format: what an
earlier one wrote is refused.

A file may come from a stranger. Its document must have exactly the known entries, of the known
types, and its session must write the same again; policies, oracles and bit generators are looked up
among those registered, and their constructors check every number; nothing else can be named.
"""

import functools
import gc
import importlib.metadata
import pathlib
from collections.abc import Callable
from datetime import timedelta
from typing import Any, TypeVar

import msgspec
import numpy as np

from ..compiled.handle import Stream
from ..core import checks, files, streams
from ..core.policy import Policy, accepts, is_policy
from ..core.registry import policy_from_spec, policy_to_spec
from ..core.types import JsonObject, Oracle, State
from ..core.verbs import Arms, init
from ..numerics.states import carried
from .agent import DECIDED, PLAYED, REWARDS, SELECTED, SELECTED_ARM, agent, new_tally
from .codec import (
    build_oracle,
    describe_oracle,
    flatten,
    restore,
    same_oracle,
    split_records,
    with_records,
)
from .document import (
    FORMAT,
    ArmsData,
    BaseData,
    Header,
    Origin,
    PastData,
    decode,
    encode,
    pack_book,
    unpack_book,
)
from .encoders import Transformer, described_encoder, found_encoder
from .forks import Base, Past, note_written
from .parts import SessionParts
from .size import state_bytes

T = TypeVar("T")
P = TypeVar("P", bound=SessionParts)

OPTIONS = ("names", "default_reward", "apply", "after_stop", "measured", "draws", "seed")
GIVEN = ("version", "policy", "oracle", "encoder")  # parts of a header that are compared otherwise
MOST_NESTED = 3  # policies inside policies
MOST_PAIRS = 1024  # of arms, whose ratios LinGapE keeps


def save(session: SessionParts, target: pathlib.Path) -> pathlib.Path:
    files.write_bytes(target, to_bytes(session))
    return target


def to_bytes(session: SessionParts) -> bytes:
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


def packed_session(session: SessionParts) -> tuple[Header, dict[str, np.ndarray]]:
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
        arrays |= split_records(flatten(base_state(session, base.state), "base"))
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
        audit=streams.pack(session._audit),
        book=book,
        encoder=described_encoder(session.encoder),
    )
    if past != Past():
        began = None if base is None else BaseData(sorted(base.known), base.rounds)
        header.past = PastData(list(past.known), past.branch, past.forks, began)
    return header, arrays


def base_state(session: SessionParts, state: State) -> State:
    return carried(init(session.policy, base_arms(session)), state) if session.catalogue else state


def base_arms(session: SessionParts) -> Arms:
    arms = session._rounds.policy_arms()
    return arms._replace(number=arms.blocks) if session.catalogue else arms


def read_past(session: SessionParts, data: PastData | None, arrays: dict[str, np.ndarray]) -> None:
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


def load(
    cls: type[P],
    source: pathlib.Path,
    oracle: Oracle | None,
    policy: Policy | None,
    encoder: Transformer | None = None,
) -> P:
    called = f"path = {str(source)!r}"
    try:
        data = source.read_bytes()
    except FileNotFoundError:
        raise FileNotFoundError(
            f"{called} does not exist; pass a file that Session.save wrote."
        ) from None
    return from_bytes(cls, data, oracle, policy, encoder, called)


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


@functools.cache
def version() -> str:
    try:
        return importlib.metadata.version("tightrope")
    except importlib.metadata.PackageNotFoundError:
        return "unknown"


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
        retired=read_mask(arrays, "retired", a.number),
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
    session._stand(agent(session.policy, state, Stream(rng), rounds.arms, tally), rounds)
    read_past(session, parts.past, arrays)
    session._audit = streams.unpack(parts.audit)
    if not hasattr(session._audit.bit_generator, "advance"):
        raise ValueError(
            f"audit is {parts.audit['bit_generator']}, which cannot jump ahead; sessions write "
            "PCG64."
        )
    session._book, last = unpack_book(session, parts.book, arrays)
    session._stand(session._agent, session._rounds.changed(last=last))
    check_written(session, parts, arrays)
    return session


def check_written(session: SessionParts, parts: Header, arrays: dict[str, np.ndarray]) -> None:
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
    shown = {
        name: arrays[f"arms.{name}"]
        for name in ("features", "points", "distances")
        if f"arms.{name}" in arrays
    }
    if "points" in shown:
        return {"points": shown["points"]}
    if "distances" in shown:
        return {"distances": shown["distances"]}
    if "features" in shown:
        return {"arms": shown["features"]}
    rows, d = parts.arms.number // parts.arms.blocks, parts.arms.dimension or None
    return {"dimension": d} if parts.catalogue else {"arms": rows, "dimension": d}


def read_mask(arrays: dict[str, np.ndarray], name: str, length: int) -> np.ndarray | None:
    return checks.mask(name, arrays[name], length) if name in arrays else None
