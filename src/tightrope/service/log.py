"""Events: what happened in an experiment, each sealed by a digest over the one before."""

import hashlib
from typing import Any, Literal, NamedTuple, get_args

from pydantic_core import from_json, to_json

Kind = Literal[
    "created", "arms added", "arm changed", "paused", "resumed", "archived", "decided", "activated", "cancelled", "rewarded", "expired",
    "closed", "late", "erased", "mode changed",
]  # fmt: skip
KINDS: tuple[str, ...] = get_args(Kind)
START = bytes(32)  # the digest before the first event


class Event(NamedTuple):
    """One line of the log. time: microseconds since 1970 (UTC). key: the decision it is about, if any. text: its body in JSON."""

    seq: int
    kind: str
    time: int
    key: str | None
    subject: str | None
    text: bytes
    body_digest: bytes
    digest: bytes

    @property
    def body(self) -> dict[str, Any]:
        """What happened."""
        found: dict[str, Any] = from_json(self.text)
        return found


def sealed(
    experiment: str, before: bytes, seq: int, kind: str, time: int, key: str | None, subject: str | None, body: dict[str, Any]
) -> Event:
    """A new event after the one whose digest is `before`."""
    text = to_json(body)
    body_digest = hashlib.sha256(text).digest()
    return Event(seq, kind, time, key, subject, text, body_digest, chained(experiment, before, seq, kind, time, key, body_digest))


def chained(experiment: str, before: bytes, seq: int, kind: str, time: int, key: str | None, body_digest: bytes) -> bytes:
    """SHA-256 over the digest before and the event. The body enters by its own digest, so that it can be blanked without a break."""
    return hashlib.sha256(before + body_digest + to_json([experiment, seq, kind, time, key])).digest()
