"""`Journal`: a session whose every call is in a file before it returns, so that a process that is
killed loses nothing."""

import base64
import math
import os
import pathlib
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import timedelta
from typing import Any, NoReturn, ParamSpec, Self, SupportsIndex, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from ..core import checks
from ..core.policy import Policy
from ..core.types import JsonObject, Oracle
from ..core.verbs import Context
from ..logs.formats import FORMAT, checked_path, line_of, mask_of_text, read_journal, text_of_mask
from .decisions import Decision, Id, checked_id
from .rounds import Mask, Round, Transformer
from .session import Session
from .store import plain_chance, version

P = ParamSpec("P")
T = TypeVar("T")


class CallTime:
    """The clock of a journal's session: one time for all that a call does, which its line has too.
    It never goes back."""

    def __init__(self) -> None:
        self.moment = time.time()

    def __call__(self) -> float:
        return self.moment


class Journal:
    """A session with a file in which every decision and every reward stands before the call
    returns.

    `Journal(path, session)` begins a new file. `Journal(path)` reads one and goes on where it ends,
    also where its process was killed: what a caller was told is there, to the bit, open decisions
    and random streams included. `tr.logs.from_journal(path)` reads it as a log with features, to
    judge other policies by. One process writes to a file at a time. A call costs some 10 us more
    than that of the session; the file grows with every call, and reading it makes each of them
    again, from the last `checkpoint` on.

    Parameters
    ----------
    path : str or Path
        The file.
    session : Session, optional
        What it begins with, by itself from then on: change it by the journal's methods only. None:
        go on with a file that is there.
    sync : bool
        Whether a line is on disk, and not only with the operating system, before a call returns:
        then a power cut loses nothing either. That takes the disk's time, often some milliseconds.
    oracle, policy, encoder
        What the file cannot hold because it is of your own, as `Session.load` has it.

    Attributes
    ----------
    session : Session
        To look at: `explain`, `open`, `state`.
    path : Path
        The file.

    Raises
    ------
    ValueError
        Where a session is given and the file is there, or neither; where another process writes to
        it; where it is damaged in the middle, or was begun by a version whose session files this
        one does not read.
    OSError
        Where a line cannot be written: the call's effect is not in the file, so open it again.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import tightrope as tr
    >>> path = pathlib.Path(tempfile.mkdtemp(), "visits.journal")
    >>> journal = tr.Journal(path, tr.Session(tr.BetaThompson(), arms=["red", "green"], seed=0))
    >>> decision = journal.decide(id="visit 1")
    >>> journal.close_file()  # or kill -9
    >>> journal = tr.Journal(path)
    >>> journal.session.open["visit 1"].name == decision.name
    True
    >>> journal.reward("visit 1", 1.0)
    True
    """

    def __init__(
        self,
        path: str | pathlib.Path,
        session: Session | None = None,
        *,
        sync: bool = False,
        oracle: Oracle | None = None,
        policy: Policy | None = None,
        encoder: Transformer | None = None,
    ) -> None:
        self.path, self.sync = checked_path(path), checks.flag("sync", sync)
        self._broken: str | None = None
        self._clock = CallTime()
        if self.path.is_dir():
            raise ValueError(f"path = {str(self.path)!r} is a folder; pass the path of a file.")
        there = self.path.exists()
        if session is None and not there:
            raise ValueError(
                f"path = {str(self.path)!r} does not exist; to begin a journal pass the session "
                "too."
            )
        if session is not None and not isinstance(session, Session):
            raise ValueError(
                f"session = {checks.show(session)} is not a session; pass tr.Session(policy, "
                "arms=..)."
            )
        if session is not None and there:
            raise ValueError(
                f"path = {str(self.path)!r} is there already; to go on with it leave session out, "
                "or choose another path."
            )
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self._file = os.open(
            self.path,
            os.O_RDWR | os.O_APPEND | os.O_CREAT | (os.O_EXCL if session is not None else 0),
            0o644,
        )
        try:
            lock(self._file, self.path)
            if session is None:
                self.session, self._end = session_at_end(self.path, oracle, policy, encoder)
                os.ftruncate(self._file, self._end)  # what a killed process left of its last line
            else:
                self.session, self._end = session, 0
                self._write(beginning(session))
        except BaseException:
            os.close(self._file)
            self._file = -1
            if session is not None:
                self.path.unlink(missing_ok=True)
            raise
        self._seen = self._counts()
        self.session.clock = self._clock

    def decide(
        self,
        context: Round | None = None,
        eligible: Mask | None = None,
        id: Id | None = None,
        names: Sequence[str] | None = None,
    ) -> Decision:
        """As `Session.decide`."""
        before, labels = self.session.decided, candidates(self.session, context, names)

        def line(decision: Decision) -> JsonObject | None:
            return (
                decision_line(self.session, decision, labels)
                if self.session.decided > before
                else None
            )

        return self._call(line, self.session.decide, context, eligible, id, names)

    def reward(self, id: Id, value: ArrayLike | Mapping[int, float] | Mapping[str, float]) -> bool:
        """As `Session.reward`."""
        decision = self.session.known(id)

        def line(new: bool) -> JsonObject | None:
            return (
                {"call": "reward", "id": checked_id(id), "value": plain_reward(decision, value)}
                if new and decision
                else None
            )

        return self._call(line, self.session.reward, id, value)

    def cancel(self, id: Id) -> None:
        """As `Session.cancel`."""
        self._call(lambda _: {"call": "cancel", "id": checked_id(id)}, self.session.cancel, id)

    def close(self, id: Id) -> None:
        """As `Session.close`: of a decision. `close_file` lets go of the file."""
        self._call(lambda _: {"call": "close", "id": checked_id(id)}, self.session.close, id)

    def expire(self, older_than: int | None = None, *, ids: Iterable[Id] | None = None) -> list[Id]:
        """As `Session.expire`."""
        listed = None if ids is None else list(checks.ordered("ids", ids))
        return self._call(
            lambda gone: {"call": "expire", "ids": gone} if gone else None,
            self.session.expire,
            older_than,
            ids=listed,
        )

    def add_arms(
        self,
        names: Sequence[str] | None = None,
        features: ArrayLike | None = None,
        *,
        number: int | None = None,
    ) -> list[int]:
        """As `Session.add_arms`, but for oracles that know arms by number."""
        called = None if names is None else list(checks.ordered("names", names))
        rows = None if features is None else np.asarray(features, dtype=np.float64)

        def line(added: list[int]) -> JsonObject:
            return {
                "call": "add_arms",
                "names": called,
                "features": None if rows is None else rows.tolist(),
                "number": len(added),
            }

        return self._call(line, self.session.add_arms, called, rows, number=number)

    def retire(self, arm: str | int) -> None:
        """As `Session.retire`."""
        self._call(lambda _: {"call": "retire", "arm": plain_arm(arm)}, self.session.retire, arm)

    def restore(self, arm: str | int) -> None:
        """As `Session.restore`."""
        self._call(lambda _: {"call": "restore", "arm": plain_arm(arm)}, self.session.restore, arm)

    def checkpoint(self) -> None:
        """Write the whole session, so that reading the file makes only later calls again. As long
        as `Session.save` takes."""
        self._call(
            lambda _: {"call": "checkpoint", "session": session_text(self.session)}, lambda: None
        )

    def close_file(self) -> None:
        """Release the file, which another process may then write to. Calls after it raise
        ValueError. Once more changes nothing."""
        if self._file >= 0:
            self._broken = "was closed"
            file, self._file = self._file, -1
            os.close(file)

    def __getattr__(self, name: str) -> NoReturn:
        raise AttributeError(
            f"a journal has no {name}; it has decide and reward by id, cancel, close, expire, "
            "add_arms, retire, restore and checkpoint. What changes nothing, such as explain, is "
            "asked of journal.session."
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close_file()

    def __del__(self) -> None:
        if self.__dict__.get("_file", -1) >= 0:
            self.close_file()

    def __repr__(self) -> str:
        return f"Journal({str(self.path)!r}, {repr(self.session).splitlines()[0]}>)"

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            "a journal is the one writer of its file and cannot be copied or pickled; copy "
            "journal.session."
        )

    def _counts(self) -> tuple[int, int, int]:
        return self.session.decided, self.session.rounds, self.session.played

    def _call(
        self,
        line: Callable[[T], JsonObject | None],
        function: Callable[P, T],
        *args: P.args,
        **named: P.kwargs,
    ) -> T:
        """Call the session, and write the line of what it returned. line: None where nothing has
        changed."""
        if self._broken is not None:
            raise ValueError(
                f"the journal {str(self.path)!r} {self._broken}; open it again: tr.Journal(path)."
            )
        if self._counts() != self._seen:
            raise ValueError(
                f"the session of {str(self.path)!r} was changed past its journal; open it again: "
                "tr.Journal(path)."
            )
        self._broken = "was interrupted in a call, so that its session may be ahead of its file"
        self._clock.moment = max(time.time(), self._clock.moment)
        try:
            answer = function(*args, **named)
        except Exception:  # the session is as it was
            self._broken = None
            raise
        entry = line(answer)
        if entry is not None:
            self._write(entry)
        self._seen, self._broken = self._counts(), None
        return answer

    def _write(self, entry: JsonObject) -> None:
        """Append a line. What was written of one that cannot be written is taken back."""
        data = line_of({"t": self._clock.moment} | entry)
        try:
            done = 0
            while done < len(data):
                done += os.write(self._file, data[done:] if done else data)
            if self.sync:
                os.fsync(self._file)
        except OSError:
            self._broken = "could not be written to, so that its session is ahead of its file"
            os.ftruncate(self._file, self._end)
            raise
        self._end += len(data)


def lock(file: int, path: pathlib.Path) -> None:
    """Hold a file for this process alone, until it is closed. Raises ValueError where another has
    it."""
    try:
        import fcntl
    except ImportError:  # no such locks on Windows
        return
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise ValueError(
            f"path = {str(path)!r} is written to by another journal; give every process a file of "
            "its own."
        ) from None


def session_text(session: Session) -> str:
    return base64.b64encode(session.to_bytes()).decode()


def beginning(session: Session) -> JsonObject:
    """The first line: the session, and what a log needs to know of it."""
    X = session.arms.features
    return {
        "journal": FORMAT,
        "version": version(),
        "session": session_text(session),
        "arms": session.arms.number,
        "names": session.names,
        "catalogue": session.catalogue,
        "sets": session.arms.oracle is not None,
        "features": None if X is None else np.asarray(X).tolist(),
        "window": session.window.total_seconds()
        if isinstance(session.window, timedelta)
        else session.window,
        "timed": isinstance(session.window, timedelta),
        "default_reward": session.default_reward,
    }


def candidates(
    session: Session, context: Round | None, names: Sequence[str] | None
) -> list[str] | None:
    if names is not None or not session.catalogue or not isinstance(context, Mapping):
        return None if names is None else list(checks.ordered("names", names))
    alone = session.encoder is not None and not all(
        isinstance(row, Mapping) for row in context.values()
    )
    return None if alone else list(context)


def decision_line(session: Session, decision: Decision, names: Sequence[str] | None) -> JsonObject:
    """The line of a decision. x: features, one row where all arms were shown it; mask: a 1 for
    every arm that could be played."""
    context = decision.context
    assert context is not None  # that of a new decision
    X, mask = context.features, context.eligible
    if X is not None and session.arms.common and (X[0] == X).all():
        X = X[0]
    line: JsonObject = {
        "call": "decide",
        "id": decision.id,
        "round": decision.round,
        "arm": decision.arm if isinstance(decision.arm, int) else decision.arm.tolist(),
        "p": plain_chance(decision.propensity),
        "se": plain_chance(decision.propensity_se),
    }
    shown = {
        "x": None if X is None else X.tolist(),
        "mask": None if mask is None else text_of_mask(mask),
        "baseline": context.baseline,
        "baseline_mean": context.baseline_mean,
        "segment": context.segment,
        "names": names,
        "draws": decision.draws,
    }
    return line | {name: value for name, value in shown.items() if value is not None}


def plain_arm(arm: SupportsIndex | str) -> str | int:
    return arm if isinstance(arm, str) else int(arm)


def plain_reward(decision: Decision, value: Any) -> float | dict[str, float] | list[list[float]]:
    """A reward as JSON has it; of a set pairs of an arm's number and its reward."""
    if isinstance(decision.arm, int):
        return (
            {name: float(one) for name, one in value.items()}
            if isinstance(value, Mapping)
            else float(value)
        )
    arms = decision.arm.tolist()
    if isinstance(value, Mapping):
        number = dict(zip(decision.name, arms, strict=True)) | {arm: arm for arm in arms}
        return [[number[arm], float(reward)] for arm, reward in value.items()]
    return [[arm, float(reward)] for arm, reward in zip(arms, value, strict=True)]


def session_at_end(
    path: pathlib.Path, oracle: Oracle | None, policy: Policy | None, encoder: Transformer | None
) -> tuple[Session, int]:
    end, lines = 0, []
    for end, entry in read_journal(path):  # noqa: B007  the last one's end is returned
        if entry.get("session") is not None:
            lines = [entry]
        else:
            lines.append(entry)
    session = Session.from_bytes(
        base64.b64decode(lines[0]["session"]), oracle=oracle, policy=policy, encoder=encoder
    )
    for number, entry in enumerate(lines[1:], start=1):
        try:
            replay(session, entry)
        except ValueError as error:
            raise ValueError(
                f"path = {str(path)!r}, entry {number} since the last checkpoint, cannot be made "
                f"again ({error}) by tightrope {version()}; the journal was begun by "
                f"{lines[0].get('version', 'another')}."
            ) from error
    return session, end


def replay(session: Session, entry: JsonObject) -> None:
    session.clock = lambda: entry["t"]
    match entry["call"]:
        case "decide":
            decide_again(session, entry)
        case "reward":
            value = entry["value"]
            session.reward(
                entry["id"],
                {int(arm): reward for arm, reward in value} if isinstance(value, list) else value,
            )
        case "cancel" | "close" as call:
            getattr(session, call)(entry["id"])
        case "expire":
            session.expire(
                ids=[id for id in entry["ids"] if session.is_open(id)]
            )  # the clock may have closed some
        case "add_arms":
            session.add_arms(entry["names"], entry["features"], number=entry["number"])
        case "retire" | "restore" as call:
            getattr(session, call)(entry["arm"])
        case other:
            raise ValueError(f"{checks.show(other)} is no call of a journal")


def decide_again(session: Session, entry: JsonObject) -> None:
    """Take the arm of the file, after the policy has drawn as it did then."""
    mask, parts = (
        entry.get("mask"),
        [entry.get(name) for name in ("x", "baseline", "baseline_mean", "segment")],
    )
    X, baseline, mean, segment = parts
    eligible = None if mask is None else mask_of_text(mask)
    context = (
        None
        if parts == [None] * 4
        else Context(None if X is None else np.array(X), None, baseline, mean, segment)
    )
    p, error = (math.nan if entry[name] is None else entry[name] for name in ("p", "se"))
    rows, draws, names = session.encoder is not None, entry.get("draws"), entry.get("names")
    session.follow(
        entry["arm"], entry["id"], context, eligible, names, p, error, draws=draws, encoded=rows
    )
