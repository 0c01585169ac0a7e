"""Entries of the log: events with their number and time, each sealed by a digest over the one before."""

import hashlib
from typing import NamedTuple

from pydantic_core import from_json, to_json

from ...core.types import JsonObject
from ..domain.events import TYPES, Decided, Event, decision_of

START = bytes(32)  # the digest before the first entry


class LogEntry(NamedTuple):
    """One line of the log. time: microseconds since 1970 (UTC). decision: the id of the one it is about, if any. subject: whose data it is.
    text: the event's body in JSON."""

    seq: int
    kind: str
    time: int
    decision: str | None
    subject: str | None
    text: bytes
    body_digest: bytes
    digest: bytes

    @property
    def body(self) -> JsonObject:
        body: JsonObject = from_json(self.text)
        return body

    @property
    def blanked(self) -> bool:
        return hashlib.sha256(self.text).digest() != self.body_digest

    @property
    def event(self) -> Event:
        """The event of this entry. Raises ValueError where another version wrote it that had other fields or kinds."""
        try:
            return TYPES[self.kind].read(from_json(self.text), self.decision)
        except (KeyError, TypeError):
            raise ValueError(f"event {self.seq} ({self.kind}) has not the fields that this version of tightrope reads.") from None


def sealed(experiment: str, before: bytes, seq: int, time: int, event: Event) -> LogEntry:
    text, decision = to_json(event.body), decision_of(event)
    subject = event.subject if isinstance(event, Decided) else None
    body_digest = hashlib.sha256(text).digest()
    digest = chained(experiment, before, seq, event.kind, time, decision, body_digest)
    return LogEntry(seq, event.kind, time, decision, subject, text, body_digest, digest)


def chained(experiment: str, before: bytes, seq: int, kind: str, time: int, decision: str | None, body_digest: bytes) -> bytes:
    """SHA-256 over the digest before and the entry. The body enters by its own digest, so that it can be blanked without a break."""
    return hashlib.sha256(before + body_digest + to_json([experiment, seq, kind, time, decision])).digest()
