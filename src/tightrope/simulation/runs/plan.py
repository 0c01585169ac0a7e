"""A plan: an experiment cut into chunks of replications, each named by all that its numbers depend on and by nothing else."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from ...core.types import JsonObject
from ..replication import Slices
from .digest import CODE, Undigestible, digest

MOST_CHUNKS = 40  # per policy: the grain of resuming and of sharing work

Rows = dict[str, np.ndarray]  # what replications leave behind, by name


class Replicable(Protocol):
    """Something to replicate under several names, usually policies. It is sent to workers whole."""

    kind: str

    @property
    def rounds(self) -> int: ...

    @property
    def period(self) -> int: ...

    def names(self) -> Sequence[str]: ...

    def common(self) -> JsonObject:
        """All that replications share and their numbers depend on: horizon, seed and the like."""
        ...

    def content(self, name: str, replication: int) -> dict[str, object]:
        """All else that the numbers of one replication depend on: problem, policy, monitor."""
        ...

    def label(self, name: str, replication: int) -> str:
        """The policy in words that its content decides and not the name it was given."""
        ...

    def replicate(self, name: str, replication: int, slices: Slices) -> Rows: ...


@dataclass(frozen=True)
class Chunk:
    """Replications first .. last - 1 of one name; digest: of all that their numbers depend on, None where nobody will ask."""

    name: str
    first: int
    last: int
    digest: str | None


@dataclass(frozen=True)
class ChunkPlan:
    """An experiment and its chunks; contents: a digest of what was given for each name, by part."""

    experiment: Replicable
    chunks: list[Chunk]
    contents: dict[str, dict[str, str]]


def plan_chunks(experiment: Replicable, replications: int, *, digested: bool, begin: int = 0) -> ChunkPlan:
    """The plan of replications from `begin` on. digested: name the chunks by content; raises ValueError where something has none."""
    size = 1
    while size * MOST_CHUNKS < replications:
        size *= 2  # so that asking for more replications later finds most chunks again
    digests = _DigestsByObject()
    common = digest((CODE, experiment.kind, experiment.common())) if digested else ""
    chunks = []
    for name in experiment.names():
        for first in range(begin, replications, size):
            last = min(first + size, replications)
            parts = digests.parts(experiment, name, range(first, min(last, first + experiment.period))) if digested else []
            chunks.append(Chunk(name, first, last, digest((common, first, last, parts)) if digested else None))
    contents = {}
    for name in experiment.names() if digested else ():
        parts = digests.parts(experiment, name, range(experiment.period))
        contents[name] = {part: digest([one[part] for one in parts]) for part in parts[0]}
    return ChunkPlan(experiment, chunks, contents)


class _DigestsByObject:
    """Digests by object, since replications share problems and policies."""

    def __init__(self) -> None:
        self.digests: dict[int, tuple[object, str]] = {}

    def parts(self, experiment: Replicable, name: str, replications: range) -> list[dict[str, str]]:
        return [{part: self.one(name, part, item) for part, item in experiment.content(name, r).items()} for r in replications]

    def one(self, name: str, part: str, item: object) -> str:
        if id(item) not in self.digests:
            try:
                self.digests[id(item)] = (item, digest(item))
            except Undigestible as reason:
                raise ValueError(
                    f"out cannot be used: the {part} of {name!r} holds something that has no digest ({reason}), so that a later call could "
                    "not tell its results from those of another; call without out, or pass functions, arrays and dataclasses."
                ) from None
        return self.digests[id(item)][1]
