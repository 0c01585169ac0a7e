"""Snapshots: a whole live experiment as bytes, which only shorten a replay; and the fingerprint of its state."""

import hashlib
from typing import Any

import numpy as np
from pydantic_core import from_json, to_json

from .. import rng
from ..serving.codec import flatten
from ..serving.session import Session
from .experiment import Experiment, Waiting
from .rollout import Rollout
from .spec import ExperimentSpec


def rest_of(live: Experiment) -> dict[str, Any]:
    """What the session does not hold, as JSON-ready data."""
    return {
        "spec": live.spec.plain(),
        "status": live.status,
        "masked": sorted(live.masked),
        "open": [[id, *waiting] for id, waiting in live.open.items()],
        "seq": live.seq,
        "digest": live.digest.hex(),
        "time": live.time,
        "rollout": live.rollout.pack(),
    }


def pack(live: Experiment) -> tuple[bytes, str]:
    """A live experiment as the bytes of its session and the rest in JSON."""
    return live.session.to_bytes(), to_json(rest_of(live)).decode()


def unpack(name: str, session: bytes, rest: str) -> Experiment:
    """The experiment that `pack` wrote."""
    told = from_json(rest)
    live = Experiment(name)
    live.spec = ExperimentSpec.model_validate(told["spec"])
    live.session = Session.from_bytes(session)
    live.rollout = Rollout(live.spec)
    if "rollout" in told:
        live.rollout.unpack(told["rollout"])
    live.status, live.masked = told["status"], set(told["masked"])
    live.open.update((id, Waiting(*waiting)) for id, *waiting in told["open"])
    live.seq, live.digest, live.time = told["seq"], bytes.fromhex(told["digest"]), told["time"]
    live.renumber()
    return live


def restored(name: str, session: bytes, rest: str, stored: bytes) -> Experiment:
    """The experiment of a stored snapshot. Raises ValueError where it is damaged, or of a layout that this version does not read."""
    try:
        live = unpack(name, session, rest)
        found = fingerprint(live)
    except Exception as error:  # whatever damaged bytes lead to
        raise ValueError(f"it cannot be read ({type(error).__name__})") from error
    if found != bytes(stored):
        raise ValueError("its state has another fingerprint")
    return live


def fingerprint(live: Experiment) -> bytes:
    """SHA-256 over every bit that decides what the experiment does next: state, streams, open and remembered decisions."""
    session = live.session
    digest = hashlib.sha256()
    for path, array in sorted(flatten(session.state).items()):
        digest.update(f"{path} {array.dtype} {array.shape} ".encode() + np.ascontiguousarray(array).tobytes())
    book = session._book
    decisions = [
        [(id, np.asarray(entry.action).tolist(), _plain(entry.answers), entry.ended, len(entry.held)) for id, entry in book.open.items()],
        [(id, np.asarray(ended.decision.arm).tolist(), _plain(ended.answers), ended.how) for id, ended in book.closed.items()],
    ]
    parts = [rng.pack(session._rng), rng.pack(session._audit), session.rounds, session.decided, session.retired, decisions, rest_of(live)]
    digest.update(to_json(parts))
    return digest.digest()


def _plain(answers: Any) -> Any:
    return sorted(answers.items()) if isinstance(answers, dict) else answers
