"""Snapshots: a whole live experiment as bytes, which only shorten a replay; and the fingerprint of its state."""

import hashlib

import numpy as np
from pydantic_core import from_json, to_json

from ...core import streams
from ...core.types import JsonObject
from ...session.codec import flatten
from ...session.session import Session
from ...session.store import version
from ..domain.events import Created
from .journal import ExperimentJournal

FORM = 1  # of snapshots and of the states in them: raised where either changes, so that older ones are known as such


def rest_of(journal: ExperimentJournal) -> JsonObject:
    """The state outside the session, as JSON-ready data."""
    experiment = journal.experiment
    sticky = {} if experiment.spec.sticky is None else {"assignments": experiment.assignments.pack()}
    masks = {} if experiment.masked_budget is None else {"masks": experiment.masked_budget.pack()}
    return (
        sticky
        | masks
        | {
            "created": experiment.began.body,
            "status": experiment.status,
            "masked": sorted(experiment.masked),
            "open": [[id, *waiting] for id, waiting in experiment.open.items()],
            "seq": experiment.seq,
            "digest": journal.digest.hex(),
            "time": experiment.time,
            "rollout": experiment.rollout.pack(),
        }
    )


def pack(journal: ExperimentJournal) -> tuple[bytes, str]:
    """A live experiment as the bytes of its session and the rest in JSON."""
    return journal.experiment.session.to_bytes(), to_json(rest_of(journal) | {"written": written()}).decode()


def written() -> str:
    return f"tightrope {version()} (form {FORM})"


class OtherVersion(ValueError):
    """A snapshot that another version wrote, which this one does not read: its states have other numbers. The log says it all anyway."""


def check_version(rest: str) -> None:
    """Raise OtherVersion for a snapshot, known by its rest, that this version did not write."""
    try:
        packed = from_json(rest)
    except ValueError:
        return
    by = packed.get("written") if isinstance(packed, dict) else None
    if by not in (None, written()):
        raise OtherVersion(f"it was written by {str(by)[:60]}, and {written()} does not use it")


def unpack(name: str, session: bytes, rest: str) -> ExperimentJournal:
    packed = from_json(rest)
    journal = ExperimentJournal(name)
    experiment = journal.experiment
    experiment.adopt(Created.read(packed["created"], None), Session.from_bytes(session))
    experiment.rollout.unpack(packed["rollout"])
    experiment.status, experiment.masked = packed["status"], set(packed["masked"])
    experiment.open.begin_all(packed["open"])
    if experiment.spec.sticky is not None:
        experiment.assignments.unpack(packed["assignments"])
    if experiment.masked_budget is not None:
        experiment.masked_budget.unpack(packed["masks"])
    experiment.seq, experiment.time = packed["seq"], packed["time"]
    journal.digest = bytes.fromhex(packed["digest"])
    return journal


def restored(name: str, session: bytes, rest: str, stored: bytes) -> ExperimentJournal:
    """The experiment of a stored snapshot; stored: its fingerprint. Raises ValueError where it is damaged, OtherVersion where it is of
    another version and cannot be read by this one."""
    try:
        journal = unpack(name, session, rest)
        computed = fingerprint(journal)
    except Exception as error:  # whatever damaged bytes lead to
        check_version(rest)
        raise ValueError(f"it cannot be read ({type(error).__name__})") from error
    if computed != bytes(stored):
        check_version(rest)
        raise ValueError("its state has another fingerprint")
    return journal


def fingerprint(journal: ExperimentJournal) -> bytes:
    """SHA-256 over every bit that decides what the experiment does next: state, streams, open and remembered decisions."""
    session = journal.experiment.session
    digest = hashlib.sha256()
    for path, array in sorted(flatten(session.state).items()):
        digest.update(f"{path} {array.dtype} {array.shape} ".encode() + np.ascontiguousarray(array).tobytes())
    book = session._book
    decisions = [
        [
            (entry.decision.id, np.asarray(entry.action).tolist(), _plain(entry.answers), entry.ended, len(entry.held))
            for entry in book.open.values()
        ],
        [(id, np.asarray(ended.decision.arm).tolist(), _plain(ended.answers), ended.ended) for id, ended in book.closed.items()],
    ]
    parts = [
        streams.pack(session._agent.rng),
        streams.pack(session._audit),
        session.rounds,
        session.decided,
        session.retired,
        decisions,
        rest_of(journal),
    ]
    digest.update(to_json(parts))
    return digest.digest()


def _plain(answers: object) -> object:
    return sorted(answers.items()) if isinstance(answers, dict) else answers
