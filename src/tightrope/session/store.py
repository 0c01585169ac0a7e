"""Session files: a JSON header and plain arrays. One format: what an earlier one wrote is refused.

A file may come from a stranger. Its header must have exactly the known entries, of the known types; policies, oracles and bit
generators are looked up among those registered, and their constructors check every number; nothing else can be named.
"""

import functools
import gc
import importlib.metadata
import json
import pathlib
from collections.abc import Callable
from datetime import timedelta
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from ..compiled.handle import Stream
from ..core import checks, files, streams
from ..core.policy import Policy, accepts, is_policy
from ..core.registry import policy_from_spec, policy_to_spec
from ..core.types import JsonObject, Oracle, State
from ..core.verbs import Arms, init
from ..numerics.states import carried
from .agent import DECIDED, PLAYED, REWARDS, SELECTED, SELECTED_ARM, agent, new_tally
from .book_columns import pack_book, unpack_book
from .codec import build_oracle, describe_oracle, flatten, restore, same_oracle
from .encoders import Transformer, described_encoder, found_encoder
from .forks import Base, Past, note_written
from .parts import SessionParts
from .size import state_bytes

if TYPE_CHECKING:
    from .header import Header, PastData

T = TypeVar("T")
P = TypeVar("P", bound=SessionParts)

FORMAT = 5
MOST_NESTED = 3  # policies inside policies
MOST_PAIRS = 1024  # of arms, whose ratios LinGapE keeps


def save(session: SessionParts, target: pathlib.Path) -> pathlib.Path:
    files.write_arrays(target, *without_collector(packed_session, session))
    return target


def to_bytes(session: SessionParts) -> bytes:
    return files.arrays_to_bytes(*without_collector(packed_session, session))


def without_collector(call: Callable[..., T], *arguments: object) -> T:
    """The result of a call during which Python's collector of reference cycles waits.

    It would look through all objects again each time that some more of 100,000 decisions are made, which takes longer than making them.
    """
    running = gc.isenabled()
    try:  # both changes stand where an exception of a signal cannot leave the collector off
        gc.disable()
        return call(*arguments)
    finally:
        if running:
            gc.enable()


def packed_session(session: SessionParts) -> tuple[JsonObject, dict[str, np.ndarray]]:
    a = session.arms
    arrays = flatten(session.state)
    for name in ("features", "distances", "points"):
        value = getattr(a, name)
        if value is not None:
            arrays[f"arms.{name}"] = value
    rounds = session._rounds
    if rounds.retired is not None:
        arrays["retired"] = rounds.retired
    oracle, more = (None, {}) if a.oracle is None else describe_oracle(a.oracle)
    book, shown = pack_book(session._book, rounds.last, session.catalogue)
    arrays |= more | shown
    header = {
        "format": FORMAT,
        "version": version(),
        "policy": policy_to_spec(session.policy),
        "arms": {name: getattr(a, name) for name in ("number", "dimension", "horizon", "blocks", "common")},
        "oracle": oracle,
        "catalogue": session.catalogue,
        "changing": rounds.changing,
        "several": rounds.several,
        "equal": rounds.equal,
        "names": session.names,
        "window": f"{session.window.total_seconds()!r}s" if isinstance(session.window, timedelta) else session.window,
        "default_reward": session.default_reward,
        "apply": session.apply,
        "after_stop": session.after_stop,
        "rounds": session.rounds,
        "decided": session.decided,
        "played": session.played,
        "selected": session._agent.selected(),
        "seed": session.seed,
        "rng": streams.pack(session._agent.rng),
        "audit": streams.pack(session._audit),
        "book": book,
    }
    if not session.measured:
        header["measured"] = False  # all others have the same header as before there was a choice
    if session.draws is not None:
        header["draws"] = session.draws
    if session.encoder is not None:
        header["encoder"] = described_encoder(session.encoder)
    note_written(session)
    past = session._past
    if past != Past():
        base = None if past.base is None else {"known": sorted(past.base.known), "rounds": past.base.rounds}
        header["past"] = {"known": list(past.known), "branch": past.branch, "forks": past.forks, "base": base}
        if past.base is not None:
            arrays |= flatten(base_state(session, past.base.state), "base")
    return header, arrays


def base_state(session: SessionParts, state: State) -> State:
    return carried(init(session.policy, base_arms(session)), state) if session.catalogue else state


def base_arms(session: SessionParts) -> Arms:
    arms = session._rounds.policy_arms()
    return arms._replace(number=arms.blocks) if session.catalogue else arms


def read_past(session: SessionParts, data: "PastData | None", arrays: dict[str, np.ndarray]) -> None:
    if data is not None:
        base, arms = None, base_arms(session)
        if data.base is not None:
            if not 0 < data.base.rounds <= session.rounds:
                raise ValueError(f"the file's base has {data.base.rounds} rewards, but the session has {session.rounds}.")
            state = restore(init(session.policy, arms), arrays, session.policy, arms, prefix="base")
            base = Base(frozenset(data.base.known), data.base.rounds, state)
        session._past = Past(tuple(data.known), data.branch, data.forks, base)
    note_written(session)


def load(cls: type[P], source: pathlib.Path, oracle: Oracle | None, policy: Policy | None, encoder: Transformer | None = None) -> P:
    return read(cls, source, f"path = {str(source)!r}", oracle, policy, encoder)


def from_bytes(cls: type[P], data: bytes, oracle: Oracle | None, policy: Policy | None, encoder: Transformer | None = None) -> P:
    return read(cls, data, "data", oracle, policy, encoder)


def read(
    cls: type[P], source: pathlib.Path | bytes, called: str, oracle: Oracle | None, policy: Policy | None, encoder: Transformer | None
) -> P:  # fmt: skip
    """The session of a file or of its bytes; `called` begins the sentences about it."""
    try:
        header, arrays = without_collector(files.read_arrays, source)
        size = len(source) if isinstance(source, bytes) else source.stat().st_size
    except FileNotFoundError:
        raise FileNotFoundError(f"{called} does not exist; pass a file that Session.save wrote.") from None
    except Exception as error:  # whatever a damaged archive, number or text raises
        kind = type(error).__name__
        raise ValueError(f"{called} is not a session file ({kind}); pass one that Session.save wrote.") from None
    try:
        return without_collector(build, cls, called, size, header, arrays, oracle, policy, encoder)
    except ValueError as error:
        raise ValueError(f"{error}{written_by(header)}") from error
    except Exception as error:
        raise ValueError(f"{called} holds what no session has ({type(error).__name__}: {error}).{written_by(header)}") from error


@functools.cache
def version() -> str:
    try:
        return importlib.metadata.version("tightrope")
    except importlib.metadata.PackageNotFoundError:
        return "unknown"


def written_by(header: object) -> str:
    """A sentence after a space that names the version which wrote a file, where it says so."""
    written = header.get("version") if isinstance(header, dict) else None
    return f" The file was written by tightrope {written[:40]}; this is {version()}." if isinstance(written, str) else ""


def build(
    cls: type[P], called: str, size: int, header: object, arrays: dict[str, np.ndarray], oracle: Oracle | None, policy: Policy | None,
    encoder: Transformer | None,
) -> P:  # fmt: skip
    version = header.get("format") if isinstance(header, dict) else None
    if version != FORMAT or isinstance(version, bool):
        raise ValueError(f"{called} has format {checks.show(version)}, but this version reads {FORMAT}.")
    from .header import checked_header

    parts = checked_header(json.dumps(header))
    if oracle is None and isinstance(parts.oracle, dict):
        oracle = build_oracle(parts.oracle, arrays)
    if oracle is not None and not same_oracle(oracle, parts.oracle, arrays):
        raise ValueError(f"oracle = {checks.show(oracle)}, but this session was saved with {parts.oracle}; pass the same again.")
    if oracle is None and parts.oracle is not None:
        raise ValueError(f"oracle is missing; this session was saved with {parts.oracle}, a function of your own, so pass it again.")
    if policy is not None and not is_policy(policy):
        raise ValueError(f"policy = {checks.show(policy)} is not a policy; pass an instance such as UCB().")
    if policy is None:
        policy = policy_from_spec(within(parts.policy, MOST_NESTED))
    check_sizes(policy, parts, arrays, size)
    session = cls(
        policy,
        **described_arms(parts, arrays),
        oracle=oracle, horizon=parts.arms.horizon, seed=parts.seed, names=parts.names, window=parts.window,
        default_reward=parts.default_reward, apply=parts.apply, after_stop=parts.after_stop, measured=parts.measured,
        draws=parts.draws, encoder=found_encoder(parts.encoder, encoder),
    )  # fmt: skip
    a = session.arms._replace(number=parts.arms.number) if session.catalogue else session.arms
    if (a.number, a.dimension, a.blocks) != (parts.arms.number, parts.arms.dimension, parts.arms.blocks):
        raise ValueError(f"the header's arms, {parts.arms}, are not those that the file's arrays describe.")
    if a.distances is not None and a.distances.tobytes() != arrays["arms.distances"].tobytes():
        raise ValueError("arms.distances are not those of arms.points.")
    rounds = session._rounds.changed(
        arms=a._replace(common=parts.arms.common), changing=parts.changing, several=parts.several, equal=parts.equal,
        retired=read_mask(arrays, "retired", a.number),
    )  # fmt: skip
    rng = streams.unpack(parts.rng)
    if not isinstance(rng.bit_generator, np.random.PCG64):
        raise ValueError(f"rng is {parts.rng['bit_generator']}, but sessions draw from PCG64.")
    tally = new_tally()
    tally[DECIDED], tally[REWARDS], tally[PLAYED] = parts.decided, parts.rounds, parts.played
    if parts.selected is not None:
        if parts.selected >= a.number or not (session._counts and parts.played):
            raise ValueError(f"selected = {parts.selected} is not an arm of a decision that is only counted.")
        tally[SELECTED], tally[SELECTED_ARM] = parts.decided, parts.selected
    state = restore(init(session.policy, rounds.policy_arms()), arrays, session.policy, a)
    session._stand(agent(session.policy, state, Stream(rng), rounds.arms, tally), rounds)
    read_past(session, parts.past, arrays)
    base = session._past.base
    known = {*flatten(session.state), "retired", "rounds.features", "rounds.eligible"}
    known |= set() if base is None else {*flatten(base.state, "base")}
    unknown = [name for name in arrays if name not in known and not name.startswith(("arms.", "oracle."))]
    if unknown:
        raise ValueError(f"the file holds {unknown[0]!r}, which this session does not have.")
    session._audit = streams.unpack(parts.audit)
    if not hasattr(session._audit.bit_generator, "advance"):
        raise ValueError(f"audit is {parts.audit['bit_generator']}, which cannot jump ahead; sessions write PCG64.")
    session._book, last = unpack_book(
        parts.book, arrays, session._rounds, session.decided, session.apply == "in order", session._timed, session._checked_value
    )
    session._stand(session._agent, session._rounds.changed(last=last))
    return session


def within(data: dict[str, object], depth: int) -> dict[str, object]:
    """A described policy with at most so many policies inside each other: each level is compiled into the one around it."""
    for item in data.values():
        if isinstance(item, dict):
            if depth == 0:
                raise ValueError(f"the file's policy holds policies inside policies more than {MOST_NESTED} deep.")
            within(item, depth - 1)
    return data


def check_sizes(policy: Policy, parts: "Header", arrays: dict[str, np.ndarray], size: int) -> None:
    """Refuse a header that asks for more memory than the arrays of a file of so many bytes can fill, before any is taken.

    Every state stores an array of K numbers, with features one of d x d, and some policies arrays over all pairs of arms.
    """
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
            raise ValueError(f"arms.{name} has shape {arrays[f'arms.{name}'].shape}, but the header asks for {shape}.")
    if "arms.points" in arrays and ("arms.distances" not in arrays or len(arrays["arms.points"]) != K):
        raise ValueError(f"arms.points is not {K} points with their distances.")
    most = size // 8
    counted = parts.oracle is None or "sets of lasting arms" in kinds
    if (counted and most < K) or ({"features", "contexts", "sets"} & set(kinds) and d * d * a.blocks > most):
        raise ValueError(f"the header asks for {K} arms of dimension {d}, which a file of {size} bytes does not hold.")
    if d and not type(policy).TRAITS.stops and 3 * K * d * d > most and parts.oracle is None:  # some keep a regression for every arm
        needed = state_bytes(policy, Arms(K, features=features, dimension=d, horizon=a.horizon, common=a.common))
        if needed is not None and needed > size:
            raise ValueError(f"the header asks for {K} arms of dimension {d}, whose state a file of {size} bytes does not hold.")
    few = d + 7
    if type(policy).TRAITS.stops and features is not None and few < K:
        probe = flatten(init(policy, Arms(few, features=features[:few], dimension=d, horizon=a.horizon)))
        pairs = {few: K, few * (few - 1) // 2: K * (K - 1) // 2}
        for path, value in probe.items():
            wanted = tuple(pairs.get(n, 0) for n in value.shape)
            if path.startswith("state.rule."):  # keeps no more than so many pairs
                wanted = tuple(min(n, max(K, MOST_PAIRS)) for n in wanted)
            if value.ndim and (value.shape[0] != few or value.shape == (few, few)) and path in arrays:
                actual = arrays[path].shape
                if len(actual) != len(wanted) or any(n and n != m for n, m in zip(wanted, actual, strict=True)):
                    raise ValueError(f"{path} has shape {actual}, but the header asks for {K} arms.")


def described_arms(parts: "Header", arrays: dict[str, np.ndarray]) -> JsonObject:
    shown = {name: arrays[f"arms.{name}"] for name in ("features", "points", "distances") if f"arms.{name}" in arrays}
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
