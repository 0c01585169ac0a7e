"""Forks: what a worker went on from, so that merging adds what is new in it, and nothing twice.

A session knows digests of states whose rewards it contains: those it was forked, read or merged at.
Two sessions with a digest in common share rewards; a fork keeps the state that it began with, which
is taken out once. Sessions without one in common are simply added.
"""

import hashlib
import json
from typing import Any, NamedTuple

import numpy as np

from ..core import streams
from ..core.types import State
from ..core.verbs import merge
from ..numerics.states import copied, negative
from .codec import flatten
from .decisions import LOADED, MOST_BRANCH

Session = Any  # of `session`, which imports this module
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
