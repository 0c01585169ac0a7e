"""Where a session's rewards come from, so that merging never counts one twice.

A session is marked when it is written, read, copied or forked: the mark is a digest of what it had learned and drawn by then. Two
sessions whose marks have one in common share rewards. What they share is exactly what was learned at the newest common mark, if all
common marks belong to it; where its sums are known, as the base of a fork or of what was read, they are taken out once.

Marks stand in the file. The last one is made again from the file itself, so that what has learned nothing new writes equal bytes.
"""

import hashlib
import json
import re
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from ..core import streams
from ..core.types import State
from ..core.verbs import merge
from ..numerics.merging import negative
from ..numerics.states import copied
from .codec import flatten

Session: TypeAlias = Any  # of session.py, which asks here

RECENT = 32  # newest marks that are remembered one by one
LOADED = "s"  # how the part of a branch begins that stands for a seed
MOST_BRANCH = 200  # characters
MARK = r"[0-9a-f]{24}"
BRANCH = rf"({LOADED}?[0-9]+(\.{LOADED}?[0-9]+)*)?"


class Base(NamedTuple):
    """What a session had learned at a mark."""

    mark: str
    marks: frozenset[str]  # that it had by then, this one among them
    rounds: int
    state: State


class Past(NamedTuple):
    """Which rewards a session has that others may have too.

    kept: marks that stay for ever: of its first file, of its branch, and of what was merged. recent: its last ones, the oldest first.
    branch: which fork of which it is, as its automatic ids begin. forks: how many it has made. base: what a fork began with.
    """

    kept: tuple[str, ...] = ()
    recent: tuple[str, ...] = ()
    branch: str = ""
    forks: int = 0
    base: Base | None = None

    @property
    def marks(self) -> frozenset[str]:
        """All that are remembered."""
        return frozenset(self.kept).union(self.recent)

    def marked(self, mark: str | None) -> "Past":
        """With one more. The first stays for ever: whoever shares anything with this session shares it."""
        if mark is None or mark in self.recent:
            return self
        return self._replace(kept=self.kept or (mark,), recent=(*self.recent, mark)[-RECENT:])

    def joined(self, other: "Past", mark: str) -> "Past":
        """With those of a session that was merged. mark: of the merging."""
        kept = tuple(dict.fromkeys((*self.kept, *other.kept, mark)))
        return self._replace(kept=kept, recent=tuple(dict.fromkeys((*self.recent, *other.recent)))[-RECENT:])


def digest(*parts: object) -> str:
    """Of numbers, text and arrays."""
    made = hashlib.blake2b(digest_size=12)
    for part in parts:
        if isinstance(part, np.ndarray):
            made.update(f"{part.dtype.str}{part.shape}".encode())
            for array in [part[name] for name in part.dtype.names] if part.dtype.names else [part]:
                made.update(np.ascontiguousarray(array).tobytes())
        else:
            made.update(json.dumps(part).encode() + b"\n")
    return made.hexdigest()


def mark_of(session: Session) -> str | None:
    """The mark of a session as it is now; None: it has learned nothing that could be counted twice."""
    if not session.rounds:
        return None
    counts = [session.rounds, session.decided, session.played, session.seed, session._past.branch]
    drawn = str(streams.pack(session._agent.rng))
    return digest(counts, drawn, *(item for pair in flatten(session.state).items() for item in pair))


def noted(session: Session) -> Past:
    """The past of a session with the mark that it was written or read with last."""
    return session._past.marked(session._mark)


def written(session: Session) -> Past:
    """What a file says of the past. The mark of what is written joins it when something was decided or learned since."""
    mark = mark_of(session)
    if mark != session._mark:
        session._past, session._mark = noted(session), mark
    return session._past


def held(session: Session) -> Base | None:
    """What a session that was just marked has learned, as the base of its copies; None where nothing was, or not by sums."""
    if session._mark is None or not merge.answers(session.policy):
        return None
    return Base(session._mark, noted(session).marks, session.rounds, copied(session.state))


# Merging -----------------------------------------------------------------------------------------------------------------


def shared(one: Session, other: Session) -> Base | None:
    """What both have learned together; None: nothing. ValueError where it cannot be known exactly, or is all that `other` has."""
    if one is other:
        raise ValueError("other is this session itself, whose rewards would count twice; merge what other sessions have learned.")
    mine, its = noted(one), noted(other)
    common = mine.marks & its.marks
    if not common:
        return None
    bases = [base for base in (mine.base, its.base, one._held, other._held) if base is not None]
    mark = mark_of(one)
    if mark is not None and mark in common:  # it has learned nothing since the other parted from it
        bases.append(Base(mark, mine.marks, one.rounds, copied(one.state)))
    latest = [base for base in bases if base.mark in mine.recent and base.mark in its.recent]
    for base in latest:
        if common <= base.marks and (one.catalogue or same_sizes(base.state, one.state)):
            return base
    if latest:
        raise ValueError(
            "other has rewards that were merged into this session before, or it is one branch with the same seed; they would count twice. "
            "Merge every session once, then fork anew for what comes next; give workers that load one file different seeds."
        )
    raise ValueError(
        f"this session and the other share rewards ({one.rounds:,} and {other.rounds:,} in all), and what they had when they parted is "
        "not known, so that these would count twice. Merge into the session that was forked, or make workers by fork(n) or "
        "load(path, seed=...), which keep what they began with."
    )


def same_sizes(one: State, other: State) -> bool:
    """Whether two states have arrays of the same names and shapes."""
    first, second = flatten(one), flatten(other)
    return first.keys() == second.keys() and all(value.shape == second[name].shape for name, value in first.items())


def together(session: Session, other: Session, base: Base | None) -> tuple[State, int]:
    """The state that has learned what both have, what they share once, and how many rewards are new to the session."""
    state, rewards = merge(session.policy, session.state, other.state), other.rounds
    if base is None:
        return state, rewards
    return merge(session.policy, state, negative(base.state)), rewards - base.rounds


# Branches ----------------------------------------------------------------------------------------------------------------


def extended(branch: str, part: str) -> str:
    """The branch of a branch."""
    longer = f"{branch}.{part}" if branch else part
    if len(longer) > MOST_BRANCH:
        raise ValueError("this session is a fork of a fork too many times over; merge into the first one and fork that.")
    return longer


def generator(seed: int, branch: str, role: int) -> np.random.Generator:
    """The stream of a branch, independent of those of all other branches with this seed and of the session they come from."""
    since = branch[branch.rfind(LOADED) :] if LOADED in branch else branch
    key = [0 if part.startswith(LOADED) else int(part) + 1 for part in since.split(".")]
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(0, role, *key)))


def is_branch(text: str) -> bool:
    """Whether a text names a branch."""
    return len(text) <= MOST_BRANCH and re.fullmatch(BRANCH, text) is not None
