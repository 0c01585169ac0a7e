"""Whole logs moved between databases, as lines of JSON."""

import base64
import json
import pathlib
from collections.abc import Iterator
from typing import NamedTuple

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from ...core import files
from . import store
from .entries import START, LogEntry, chained
from .snapshots import restored
from .tables import experiments, snapshots
from .verification import erased_rounds, replay, verify

S = snapshots.c


class ExportedSnapshot(NamedTuple):
    """A snapshot in an exported log: the state behind an erasure, which no replay can compute again."""

    seq: int
    fingerprint: bytes
    rest: str
    session: bytes


class ExportedEnd(NamedTuple):
    """The last line of an exported log: how many events it has, and the digest of the last."""

    events: int
    digest: bytes


class Imported(NamedTuple):
    """The log that `read_log` imported. snapshot: the event whose snapshot came along; None: none was needed."""

    experiment: str
    events: int
    snapshot: int | None


def write_log(connection: Connection, row: int, name: str, path: pathlib.Path) -> int:
    """Write every event with its digests as lines of JSON; `read_log` brings them into another database. Returns their number.

    Behind an erasure the first snapshot that goes on from there stands behind the events. The last line says that the file is whole.
    """
    count, digest = 0, START
    with files.atomically(path, private=True) as file:
        for entry in store.read(connection, row):
            line = {
                "experiment": name, "seq": entry.seq, "kind": entry.kind, "time": entry.time, "key": entry.decision,
                "subject": entry.subject, "body": entry.text.decode(), "body_digest": entry.body_digest.hex(), "digest": entry.digest.hex(),
            }  # fmt: skip
            file.write(json.dumps(line).encode() + b"\n")
            count, digest = count + 1, entry.digest
        erased = erased_rounds(connection, row)
        if erased:
            behind = connection.execute(
                sa.select(S.seq, S.fingerprint, S.rest, S.session).where(S.experiment == row, S.seq > max(erased), S.seq <= count)
                .order_by(S.seq).limit(1)).one_or_none()  # fmt: skip
            if behind is None:
                raise ValueError(f"event {max(erased)} of {name!r} was erased, and there is no snapshot behind it; restore a backup.")
            snapshot = {"experiment": name, "snapshot": behind.seq, "fingerprint": behind.fingerprint.hex(), "rest": behind.rest,
                        "session": base64.b64encode(behind.session).decode()}  # fmt: skip
            file.write(json.dumps(snapshot).encode() + b"\n")
        file.write(json.dumps({"experiment": name, "end": count, "digest": digest.hex()}).encode() + b"\n")
    return count


def read_lines(path: pathlib.Path) -> Iterator[tuple[str, LogEntry | ExportedSnapshot | ExportedEnd]]:
    """Experiment, and event, snapshot or end, of every line. Raises ValueError naming the first line that is neither."""
    with path.open("rb") as file:
        for number, text in enumerate(file, 1):
            try:
                line = json.loads(text)
                if "end" in line:
                    yield str(line["experiment"]), ExportedEnd(int(line["end"]), bytes.fromhex(line["digest"]))
                    continue
                if "snapshot" in line:
                    session = base64.b64decode(line["session"], validate=True)
                    snapshot = ExportedSnapshot(int(line["snapshot"]), bytes.fromhex(line["fingerprint"]), line["rest"], session)
                    yield str(line["experiment"]), snapshot
                    continue
                digests = bytes.fromhex(line["body_digest"]), bytes.fromhex(line["digest"])
                entry = LogEntry(line["seq"], line["kind"], line["time"], line["key"], line["subject"], line["body"].encode(), *digests)
                yield str(line["experiment"]), entry
            except (ValueError, KeyError, TypeError, AttributeError) as error:
                raise ValueError(f"{path.name}, line {number}, is not an event of a log ({type(error).__name__}).") from None


def read_log(connection: Connection, path: pathlib.Path) -> Imported:
    """Bring an exported log into a database that does not have its experiment. Raises ValueError where the chain does not hold, a body is
    not the one that was sealed, or the log cannot be replayed; the caller's transaction must then end without a commit."""
    name, digest, count, row = "", START, 0, 0
    page: list[LogEntry] = []
    snapshot: ExportedSnapshot | None = None
    end: ExportedEnd | None = None
    for experiment, item in read_lines(path):
        if end is not None:
            raise ValueError(f"{path.name} goes on behind its end; the file is not what was exported.")
        if isinstance(item, ExportedEnd):
            end = item
            if (experiment, end.events, end.digest) != (name, count, digest):
                raise ValueError(f"{path.name} has {count} events of {name!r}, but its end says another number or digest.")
            continue
        if isinstance(item, ExportedSnapshot) or snapshot is not None:
            if snapshot is not None or experiment != name:
                raise ValueError(f"{path.name}, line {count + 1}: a snapshot stands behind all events and is of the same experiment.")
            assert isinstance(item, ExportedSnapshot)
            snapshot = item
            continue
        if not count:
            name = experiment
            if item.kind != "created":
                raise ValueError(f"{path.name} begins with {item.kind!r}; a log begins with 'created'.")
            if store.row_of(connection, name) is not None:
                raise ValueError(f"experiment = {name!r} exists in this database; import into another one.")
            inserted = connection.execute(sa.insert(experiments).values(name=name, spec=item.text.decode(), seq=0, digest=START, fence=0))
            row = int(inserted.inserted_primary_key[0])  # type: ignore[index]
        count += 1
        digest = chained(name, digest, item.seq, item.kind, item.time, item.decision, item.body_digest)
        if (experiment, item.seq, item.digest) != (name, count, digest):
            raise ValueError(f"{path.name}, line {count}: the chain of digests breaks; the file is not what was exported.")
        page.append(item)
        if len(page) >= store.PAGE:
            store.append(connection, row, 0, page)
            page = []
    if page:
        store.append(connection, row, 0, page)
    if not count:
        raise ValueError(f"{path.name} has no events.")
    if end is None:
        raise ValueError(f"{path.name} has no end: the file was cut off behind event {count}; export it again.")
    if snapshot is not None:
        try:
            journal = restored(name, snapshot.session, snapshot.rest, snapshot.fingerprint)
            if store.digest_at(connection, name, snapshot.seq) != journal.digest.hex():
                raise ValueError("it is not of this log")
        except ValueError as error:
            raise ValueError(f"{path.name} is not what was exported: of the snapshot of event {snapshot.seq}, {error}.") from None
        connection.execute(sa.insert(snapshots).values(experiment=row, **snapshot._asdict()))
    errors = verify(connection, row, name).errors or replay(connection, row, name).errors
    if errors:
        raise ValueError(f"{path.name} is not what was exported: {errors[0]}")
    return Imported(name, count, None if snapshot is None else snapshot.seq)
