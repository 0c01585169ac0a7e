"""States and oracles as plain data and arrays, and back: what a session file holds, and what forks
of a session have in common."""

import dataclasses
import functools
import hashlib
import itertools
import json
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from ..core import checks, streams
from ..core.fields import Kind, Limit, Record, StateOf, kind_of
from ..core.policy import Policy, is_policy, label, metrics_of
from ..core.types import JsonObject, Oracle, State
from ..core.verbs import Arms, init, merge, reward_range
from ..numerics.states import copied, negative
from ..solvers import oracles

ANY = Kind()
ROUNDING = 1e-9  # relative, of sums of rewards


def policy_of(state: State, name: str, policy: Policy) -> Policy:
    """The policy whose state a field holds: the one inside that it declares, else the one
    around."""
    kind = kind_of(type(state), name)
    if not isinstance(kind, StateOf):
        return policy
    inner = getattr(policy, kind.parameter, None)
    if not is_policy(inner):
        raise ValueError(
            f"{name} is declared as the state of {label(policy)}'s {kind.parameter!r}, which is "
            "no policy inside it."
        )
    return inner


def check_array(
    state: State,
    name: str,
    path: str,
    value: np.ndarray,
    template: np.ndarray,
    policy: Policy,
    arms: Arms,
) -> None:
    kind = kind_of(type(state), name)
    if not value.dtype.names:
        if isinstance(kind, Record):
            raise ValueError(
                f"{path} is declared as a Record, but is {value.dtype} and has no parts."
            )
        _check(path, value, template, kind, policy, arms)
        return
    for part in value.dtype.names:
        own = kind.kinds.get(part) if isinstance(kind, Record) else kind
        _check(f"{path}.{part}", value[part], template[part], own, policy, arms)


def check_rewards(state: State, prefix: str, policy: Policy) -> None:
    """Refuse sums of rewards that so many rewards of the policy's range cannot have."""
    for name in state._fields:
        kind = kind_of(type(state), name)
        if not isinstance(kind, Kind) or not kind.rewards:
            continue
        sums: np.ndarray = getattr(state, name)
        pulls: Any = getattr(state, kind.rewards, None)
        if np.shape(pulls) != np.shape(sums):
            raise ValueError(
                f"{prefix}.{name} is declared as sums of rewards, but no field {kind.rewards} of "
                "its shape counts them."
            )
        low, high = reward_range(policy)
        if policy.METRICS:  # their values, and what "at most" counts
            ends = [end for each in (metrics_of(policy) or {}).values() for end in each[:2]]
            high = max(map(abs, (low, high, *ends)))
            low = -high
        slack = ROUNDING * (1.0 + pulls)
        least, most = (
            (low - high, high - low) if getattr(state, "intercept", False) else (low, high)
        )  # rewards are kept less the first
        with np.errstate(invalid="ignore"):
            below, above = (
                np.where(pulls > 0, least * pulls, 0.0),
                np.where(pulls > 0, most * pulls, 0.0),
            )
        if not ((sums >= below - slack) & (sums <= above + slack)).all():
            raise ValueError(
                f"{prefix}.{name} is outside what the policy's rewards, from {low:g} to {high:g}, "
                "can add up to."
            )


def _check(
    path: str, value: np.ndarray, template: np.ndarray, declared: object, policy: Policy, arms: Arms
) -> None:
    kind = declared if isinstance(declared, Kind) else ANY
    if (
        value.dtype.kind == "b"
        and value.size
        and np.ascontiguousarray(value).view(np.uint8).max() > 1
    ):
        raise ValueError(f"{path} holds a byte that is neither True nor False.")
    if kind.derived and not np.array_equal(value, template, equal_nan=value.dtype.kind == "f"):
        raise ValueError(f"{path} is not what these arms give.")
    if kind.finite and not np.isfinite(value).all():
        raise ValueError(f"{path} holds a number that is not finite.")
    low, high = _limit(path, kind.least, policy, arms), _limit(path, kind.most, policy, arms)
    if low == 0.0 and high == np.inf and (value < 0).any():
        raise ValueError(f"{path} holds a negative {kind.noun}.")
    if (low > -np.inf or high < np.inf) and not ((value >= low) & (value <= high)).all():
        raise ValueError(f"{path} holds a {kind.noun} outside [{low:g}, {high:g}].")
    if kind.whole and not (value == np.floor(value)).all():
        raise ValueError(f"{path} holds a {kind.noun} that is not whole.")
    if kind.once and not np.array_equal(np.sort(value, axis=None), np.arange(value.size)):
        raise ValueError(f"{path} does not hold every arm once.")


def _limit(path: str, limit: Limit, policy: Policy, arms: Arms) -> float:
    if not callable(limit):
        return limit
    try:
        return float(limit(policy, arms))
    except AttributeError as error:
        raise ValueError(
            f"{path} cannot be checked for {label(policy)}: {error}. The state of a policy inside "
            "another is declared as Annotated[Any, StateOf('inner')], with the name of the "
            "parameter that holds it."
        ) from None


# States and oracles -------------------------------------------------------------------------------


def is_data(value: object) -> bool:
    """Whether a field is an array or a number; anything else (None, what `init` was told) is made
    again, not stored."""
    return isinstance(value, np.ndarray | np.generic | int | float)


def flatten(state: State, prefix: str = "state") -> dict[str, np.ndarray]:
    flat: dict[str, np.ndarray] = {}
    for name, value in zip(state._fields, state, strict=True):
        path = f"{prefix}.{name}"
        if hasattr(value, "_fields"):
            flat |= flatten(value, path)
        elif is_data(value):
            flat[path] = np.asarray(value)
            if flat[path].dtype.hasobject:
                raise ValueError(
                    f"{path} holds {checks.show(value.flat[0])}, an object of your own, which no "
                    "session file can hold."
                )
    return flat


def restore(
    template: State,
    flat: dict[str, np.ndarray],
    policy: Policy,
    arms: Arms,
    *,
    prefix: str = "state",
) -> State:
    """A state of the template's classes with the stored numbers. Raises ValueError where the file
    does not fit or they cannot be right."""
    values: list[object] = []
    for name, value in zip(template._fields, template, strict=True):
        path = f"{prefix}.{name}"
        if hasattr(value, "_fields"):
            values.append(
                restore(value, flat, policy_of(template, name, policy), arms, prefix=path)
            )
        elif not is_data(value):
            values.append(value)
        elif path not in flat:
            raise ValueError(
                f"the file has no {path}; it was not written by this policy in this version."
            )
        elif isinstance(value, np.ndarray):
            stored = flat[path]
            if stored.dtype != value.dtype or stored.shape != value.shape:
                raise ValueError(
                    f"{path} in the file is {stored.dtype} of shape {stored.shape}, but must be "
                    f"{value.dtype} of shape {value.shape}."
                )
            check_array(template, name, path, stored, value, policy, arms)
            # of the template's memory layout, class and alignment, by which kernels were compiled
            array = value.copy()
            array[...] = stored
            values.append(array)
        else:
            stored, known = flat[path], np.asarray(value)
            if stored.dtype != known.dtype or not np.array_equal(
                stored, known, equal_nan=known.dtype.kind == "f"
            ):
                raise ValueError(
                    f"{path} = {checks.show(flat[path])} is not the {value!r} of this policy and "
                    "these arms."
                )
            values.append(value)
    state = type(template)(*values)
    check_rewards(state, prefix, policy)
    return state


def split_records(flat: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Arrays of plain numbers: of records each field by itself, as `name.field`."""
    plain: dict[str, np.ndarray] = {}
    for path, value in flat.items():
        plain |= (
            {f"{path}.{part}": value[part] for part in value.dtype.names}
            if value.dtype.names
            else {path: value}
        )
    return plain


def with_records(
    plain: dict[str, np.ndarray], template: dict[str, np.ndarray]
) -> dict[str, np.ndarray]:
    """Such arrays with the records of a template; a field of another type or shape shows when it is
    written again."""
    flat = dict(plain)
    for path, value in template.items():
        if value.dtype.names:
            flat[path] = np.empty_like(value)
            for part in value.dtype.names:
                flat[path][part] = plain[f"{path}.{part}"]
    return flat


def describe_oracle(oracle: Any) -> tuple[dict[str, object] | str, dict[str, np.ndarray]]:
    name = type(oracle).__name__
    if ORACLES.get(name) is not type(oracle):
        return repr(oracle), {}
    plain: dict[str, object] = {"oracle": name}
    arrays = {}
    for field in dataclasses.fields(oracle):
        value = getattr(oracle, field.name)
        if isinstance(value, int | float) or (
            isinstance(value, tuple) and all(isinstance(item, int) for item in value)
        ):
            plain[field.name] = list(value) if isinstance(value, tuple) else value
        elif isinstance(value, dict):
            plain[field.name] = [list(pair) for pair in value.items()]
        elif isinstance(value, np.ndarray) and value.dtype.kind == "U":
            plain[field.name] = value.tolist()
        elif isinstance(value, np.ndarray) and value.dtype.kind in "biuf":
            arrays[f"oracle.{field.name}"] = value
        else:
            return repr(oracle), {}
    return plain, arrays


ORACLES: JsonObject = {
    cls.__name__: cls
    for cls in (
        oracles.TopK,
        oracles.Partition,
        oracles.Knapsack,
        oracles.Promotions,
        oracles.Path,
        oracles.SpanningTree,
        oracles.Matching,
    )
}


def build_oracle(plain: Mapping[str, Any], arrays: dict[str, np.ndarray]) -> Oracle:
    cls = ORACLES.get(plain["oracle"]) if isinstance(plain.get("oracle"), str) else None
    if cls is None:
        raise ValueError(f"oracle = {plain.get('oracle')!r} is not one of {', '.join(ORACLES)}.")
    parts = {
        name: dict(value)
        if isinstance(value, list) and all(isinstance(item, list) for item in value)
        else value
        for name, value in plain.items()
        if name != "oracle"
    }
    stored = {
        name.removeprefix("oracle."): value
        for name, value in arrays.items()
        if name.startswith("oracle.")
    }
    if {*parts, *stored} != {field.name for field in dataclasses.fields(cls)}:
        raise ValueError(
            f"{plain['oracle']} has {sorted({*parts, *stored})}, but takes "
            f"{[field.name for field in dataclasses.fields(cls)]}."
        )
    return cls(**parts, **stored)


def same_oracle(oracle: Oracle, plain: object, arrays: dict[str, np.ndarray]) -> bool:
    """Whether an oracle is the one that `describe_oracle` wrote down; code of one's own is taken at
    its word."""
    if not callable(oracle) or plain is None:
        return False
    if isinstance(plain, str):
        return type(oracle) not in ORACLES.values() or repr(oracle) == plain
    now, more = describe_oracle(oracle)
    stored = {name: value for name, value in arrays.items() if name.startswith("oracle.")}
    return (
        now == plain
        and more.keys() == stored.keys()
        and all(np.array_equal(more[name], stored[name]) for name in more)
    )


# Size ---------------------------------------------------------------------------------------------


ROWS, DIMENSIONS = (9, 11, 13), (2, 3, 4)  # of the small states that are made instead


def state_bytes(policy: Policy, arms: Arms) -> float | None:
    """Bytes of the arrays of a policy's state: a polynomial in K and d of degree 2 in each, which
    the states of few arms and features show. Exact where no array is cut off at a size of its own.
    None where the policy refuses such small problems.

    Costs nine small `init`, whatever the arms; their features are not looked at.
    """
    rows, d, sizes = arms.number // arms.blocks, float(arms.dimension), []
    for k, j in itertools.product(ROWS, DIMENSIONS):
        features = None if arms.features is None else _rows(k, j)
        few = arms._replace(number=k * arms.blocks, dimension=j, features=features)
        try:
            state = flatten(init(policy, few))
        except ValueError:
            return None
        sizes.append(float(sum(array.nbytes for array in state.values())))
    powers = [
        [float(k) ** i * float(j) ** m for i in range(3) for m in range(3)]
        for k, j in itertools.product(ROWS, DIMENSIONS)
    ]
    coefficients = (
        np.rint(np.linalg.solve(np.array(powers), np.array(sizes)) * 24.0) / 24.0
    )  # bytes come in whole numbers and halves
    return float(coefficients @ [float(rows) ** i * d**m for i in range(3) for m in range(3)])


@functools.cache
def _rows(rows: int, dimension: int) -> np.ndarray:
    """(rows, dimension) features in general position, shorter than 1."""
    drawn = np.random.default_rng(0).normal(size=(rows, dimension))
    return drawn / (2.0 * np.linalg.norm(drawn, axis=1, keepdims=True))


# Forks: what a worker went on from, so that merging adds what is new in it, and nothing twice.
#
# A session knows digests of states whose rewards it contains: those it was forked, read or merged
# at. Two sessions with a digest in common share rewards; a fork keeps the state that it began with,
# which is taken out once. Sessions without one in common are simply added.


Session = Any  # of `session`, which imports this module
LOADED = "s"  # how the part of a branch begins that stands for a seed
MOST_BRANCH = 200  # characters
DIGEST = r"[0-9a-f]{24}"  # of a state
BRANCH = rf"({LOADED}?[0-9]+(\.{LOADED}?[0-9]+)*)?"
MOST_WRITTEN = 1_000  # states of a session that it knows because it wrote or read them


class Base(NamedTuple):
    """What a fork began with. known: the digests that it knew then."""

    known: frozenset[str]
    rounds: int
    state: State


class Past(NamedTuple):
    known: tuple[str, ...] = ()  # digests at which it was forked or merged
    branch: str = ""  # which fork of which it is, as its automatic ids begin
    forks: int = 0  # that it has made
    base: Base | None = None

    def knowing(self, *digests: str | None) -> "Past":
        return self._replace(
            known=tuple(dict.fromkeys((*self.known, *(one for one in digests if one is not None))))
        )


def digest(session: Session) -> str | None:
    """Of what a session has learned and drawn; None: nothing that could be counted twice."""
    if not session.rounds:
        return None
    counts = [
        session.rounds,
        session.decided,
        session.played,
        session.seed,
        session._past.branch,
        str(streams.pack(session._agent.rng)),
    ]
    hash = hashlib.blake2b(json.dumps(counts).encode(), digest_size=12)
    for path, array in flatten(session.state).items():
        hash.update(f"{path}{array.dtype.str}{array.shape}".encode())
        for part in [array[name] for name in array.dtype.names] if array.dtype.names else [array]:
            hash.update(np.ascontiguousarray(part).tobytes())
    return hash.hexdigest()


def note_written(session: Session) -> None:
    """A session was written or read: workers may go on from there."""
    now = digest(session)
    if now is not None and now not in session._written:
        session._written = (*session._written, now)[-MOST_WRITTEN:]


def known_to(session: Session) -> frozenset[str]:
    return frozenset((*session._past.known, *session._written))


def shared(one: Session, other: Session) -> Base | None:
    """The base that both have learned from; None: they share nothing. ValueError where it is not
    known, or rewards would count twice."""
    if one is other:
        raise ValueError(
            "other is this session itself, whose rewards would count twice; merge what other "
            "sessions have learned."
        )
    common = known_to(one) & known_to(other)
    bases = [session._past.base for session in (other, one) if session._past.base is not None]
    if not common and not bases:
        return None
    twins = len(bases) == 2 and (one._past.branch, one.seed) == (other._past.branch, other.seed)
    for base in bases:
        if (
            common == base.known
            and not twins
            and (one.catalogue or same_sizes(base.state, one.state))
        ):
            return base
    if any(base.known <= common for base in bases):
        raise ValueError(
            "other has rewards that were merged into this session before, or it is one branch "
            "with the same seed; they would count twice. Merge every session once, then fork anew "
            "for what comes next; give workers that load one file different seeds."
        )
    raise ValueError(
        f"this session and the other share rewards ({one.rounds:,} and {other.rounds:,} in all), "
        "and what they had when they parted is not known, so that these would count twice. Merge "
        "into the session that was forked, or make workers by fork(n) or load(path, seed=...), "
        "which keep what they began with."
    )


def same_sizes(one: State, other: State) -> bool:
    first, second = flatten(one), flatten(other)
    return first.keys() == second.keys() and all(
        value.shape == second[name].shape for name, value in first.items()
    )


def sum_of_both(session: Session, other: Session, base: Base | None) -> tuple[State, int]:
    """The state that has learned what both have, what they share once, and how many rewards are new
    to the session."""
    state, rewards = merge(session.policy, session.state, other.state), other.rounds
    if base is None:
        return state, rewards
    return merge(session.policy, state, negative(base.state)), rewards - base.rounds


def went_on(session: Session, branch: str) -> Past:
    known = session._past.knowing(digest(session)).known
    sums = session.rounds and merge.answers(session.policy)
    return Past(
        known,
        branch,
        0,
        Base(frozenset(known), session.rounds, copied(session.state)) if sums else None,
    )


# Branches -----------------------------------------------------------------------------------------


def extended(branch: str, part: str) -> str:
    longer = f"{branch}.{part}" if branch else part
    if len(longer) > MOST_BRANCH:
        raise ValueError(
            "this session is a fork of a fork too many times over; merge into the first one and "
            "fork that."
        )
    return longer


class AuditStream:
    """A stream for the draws behind propensities: every decision has its own place in it, 2^64
    numbers after that of the decision before, so that a log can be followed to the bit without
    drawing them again."""

    def __init__(self, stream: np.random.Generator) -> None:
        bits: Any = stream.bit_generator
        self.stream, self._place = stream, bits.state
        self._rng = np.random.Generator(type(bits)(0))

    def at(self, number: int) -> np.random.Generator:
        bits: Any = self._rng.bit_generator
        bits.state = self._place
        bits.advance((number - 1) << 64)
        return self._rng


def generator(seed: int, branch: str, role: int) -> np.random.Generator:
    """The stream of a branch, independent of those of all other branches with this seed and of the
    session they come from."""
    since = branch[branch.rfind(LOADED) :] if LOADED in branch else branch
    key = [0 if part.startswith(LOADED) else int(part) + 1 for part in since.split(".")]
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(0, role, *key)))
