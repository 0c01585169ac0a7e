"""Where a session's rewards come from, as marks, and what a branch of it is called.

A session is marked when it is written, read, copied or forked: the mark is a digest of what it had learned and drawn by then. Two
sessions whose marks have one in common share rewards. What they share is exactly what was learned at the newest common mark, if all
common marks belong to it; where its sums are known, as the base of a fork or of what was read, they are taken out once.

Marks stand in the file. The last one is made again from the file itself, so that what has learned nothing new writes equal bytes.
"""

import hashlib
import json
import re
from typing import NamedTuple

import numpy as np

from ..core.types import State

RECENT = 32  # newest marks that are remembered one by one
LOADED = "s"  # how the part of a branch begins that stands for a seed
MOST_BRANCH = 200  # characters
MARK = r"[0-9a-f]{24}"
BRANCH = rf"({LOADED}?[0-9]+(\.{LOADED}?[0-9]+)*)?"


class Base(NamedTuple):
    """The state of a session at a mark."""

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

    def join(self, other: "Past", mark: str) -> "Past":
        """With those of a session that was merged. mark: of the merging."""
        kept = tuple(dict.fromkeys((*self.kept, *other.kept, mark)))
        return self._replace(kept=kept, recent=tuple(dict.fromkeys((*self.recent, *other.recent)))[-RECENT:])


def digest(*parts: object) -> str:
    """Of numbers, text and arrays."""
    hash = hashlib.blake2b(digest_size=12)
    for part in parts:
        if isinstance(part, np.ndarray):
            hash.update(f"{part.dtype.str}{part.shape}".encode())
            for array in [part[name] for name in part.dtype.names] if part.dtype.names else [part]:
                hash.update(np.ascontiguousarray(array).tobytes())
        else:
            hash.update(json.dumps(part).encode() + b"\n")
    return hash.hexdigest()


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
