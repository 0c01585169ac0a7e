"""Whole logs moved between databases, as lines of JSON."""

import base64
import hashlib
import json
import math
import pathlib
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import sqlalchemy as sa
from pydantic_core import to_json
from sqlalchemy.engine import Connection

from tightrope import logs
from tightrope.core import files
from tightrope.logs import formats

from . import JsonObject, log
from .database import Database
from .errors import timestamp
from .events import (
    Cancelled,
    Decided,
    Expired,
    Reward,
    Rewarded,
    is_one_row,
    lacks_baseline,
    longest_row,
)
from .experiment import Experiment
from .log import START, LogEntry, chained, events, experiments, secrets_table, snapshots
from .recovery import Snapshot, erased_rounds, rebuild, replay, restored, verify
from .requests import Shown
from .spec import Numbers, is_raw_row, numbers_of

S = snapshots.c


class ExportedEnd(NamedTuple):
    events: int
    digest: bytes


def write_log(connection: Connection, row: int, name: str, path: pathlib.Path) -> int:
    """Write every event with its digests as lines of JSON; `read_log` brings them into another
    database. Returns their number.

    Behind an erasure the first snapshot that goes on from there stands behind the events. The last
    line says that the file is whole.
    """
    count, digest = 0, START
    with files.atomically(path, private=True) as file:
        for entry in log.read(connection, row):
            file.write(
                json.dumps(
                    {
                        "experiment": name,
                        "seq": entry.seq,
                        "kind": entry.kind,
                        "time": entry.time,
                        "key": entry.decision,
                        "subject": entry.subject,
                        "body": entry.text.decode(),
                        "body_digest": entry.body_digest.hex(),
                        "digest": entry.digest.hex(),
                    }
                ).encode()
                + b"\n"
            )
            count, digest = count + 1, entry.digest
        erased = erased_rounds(connection, row)
        if erased:
            behind = connection.execute(
                sa.select(S.seq, S.fingerprint, S.rest, S.session)
                .where(S.experiment == row, S.seq > max(erased), S.seq <= count)
                .order_by(S.seq)
                .limit(1)
            ).one_or_none()
            if behind is None:
                raise ValueError(
                    f"event {max(erased)} of {name!r} was erased, and there is no snapshot behind "
                    "it; restore a backup."
                )
            file.write(
                json.dumps(
                    {
                        "experiment": name,
                        "snapshot": behind.seq,
                        "fingerprint": behind.fingerprint.hex(),
                        "rest": behind.rest,
                        "session": base64.b64encode(behind.session).decode(),
                    }
                ).encode()
                + b"\n"
            )
        file.write(
            json.dumps({"experiment": name, "end": count, "digest": digest.hex()}).encode() + b"\n"
        )
    return count


def read_lines(
    path: pathlib.Path,
) -> Iterator[tuple[str, LogEntry | Snapshot | ExportedEnd]]:
    """Experiment, and event, snapshot or end, of every line. Raises ValueError naming the first
    line that is neither."""
    with path.open("rb") as file:
        for number, text in enumerate(file, 1):
            try:
                line = json.loads(text)
                item: LogEntry | Snapshot | ExportedEnd
                if "end" in line:
                    item = ExportedEnd(int(line["end"]), bytes.fromhex(line["digest"]))
                elif "snapshot" in line:
                    item = Snapshot(
                        int(line["snapshot"]),
                        bytes.fromhex(line["fingerprint"]),
                        line["rest"],
                        base64.b64decode(line["session"], validate=True),
                    )
                else:
                    item = LogEntry(
                        line["seq"],
                        line["kind"],
                        line["time"],
                        line["key"],
                        line["subject"],
                        line["body"].encode(),
                        bytes.fromhex(line["body_digest"]),
                        bytes.fromhex(line["digest"]),
                    )
                yield str(line["experiment"]), item
            except (ValueError, KeyError, TypeError, AttributeError) as error:
                raise ValueError(
                    f"{path.name}, line {number}, is not an event of a log "
                    f"({type(error).__name__})."
                ) from None


def read_log(connection: Connection, path: pathlib.Path) -> tuple[str, int, int | None]:
    """Bring an exported log into a database that does not have its experiment. Returns its name,
    the number of its events, and the event whose snapshot came along, if one was needed. Raises
    ValueError where the chain does not hold, a body is not the one that was sealed, or the log
    cannot be replayed; the caller's transaction must then end without a commit."""
    name, digest, count, row = "", START, 0, 0
    page: list[LogEntry] = []
    snapshot: Snapshot | None = None
    end: ExportedEnd | None = None
    for experiment, item in read_lines(path):
        if end is not None:
            raise ValueError(
                f"{path.name} goes on behind its end; the file is not what was exported."
            )
        if isinstance(item, ExportedEnd):
            end = item
            if (experiment, end.events, end.digest) != (name, count, digest):
                raise ValueError(
                    f"{path.name} has {count} events of {name!r}, but its end says another number "
                    "or digest."
                )
            continue
        if isinstance(item, Snapshot) or snapshot is not None:
            if snapshot is not None or experiment != name:
                raise ValueError(
                    f"{path.name}, line {count + 1}: a snapshot stands behind all events and is "
                    "of the same experiment."
                )
            assert isinstance(item, Snapshot)
            snapshot = item
            continue
        if not count:
            name = experiment
            if item.kind != "created":
                raise ValueError(
                    f"{path.name} begins with {item.kind!r}; a log begins with 'created'."
                )
            if log.row_of(connection, name) is not None:
                raise ValueError(
                    f"experiment = {name!r} exists in this database; import into another one."
                )
            inserted = connection.execute(
                sa.insert(experiments).values(
                    name=name, spec=item.text.decode(), seq=0, digest=START, fence=0
                )
            )
            row = int(inserted.inserted_primary_key[0])  # type: ignore[index]
        count += 1
        digest = chained(
            name, digest, item.seq, item.kind, item.time, item.decision, item.body_digest
        )
        if (experiment, item.seq, item.digest) != (name, count, digest):
            raise ValueError(
                f"{path.name}, line {count}: the chain of digests breaks; the file is not what "
                "was exported."
            )
        page.append(item)
        if len(page) >= log.PAGE:
            log.append(connection, row, 0, page)
            page = []
    if page:
        log.append(connection, row, 0, page)
    if not count:
        raise ValueError(f"{path.name} has no events.")
    if end is None:
        raise ValueError(
            f"{path.name} has no end: the file was cut off behind event {count}; export it again."
        )
    if snapshot is not None:
        try:
            journal = restored(name, snapshot.session, snapshot.rest, snapshot.fingerprint)
            if log.digest_at(connection, name, snapshot.seq) != journal.digest.hex():
                raise ValueError("it is not of this log")
        except ValueError as error:
            raise ValueError(
                f"{path.name} is not what was exported: of the snapshot of event {snapshot.seq}, "
                f"{error}."
            ) from None
        connection.execute(sa.insert(snapshots).values(experiment=row, **snapshot._asdict()))
    errors = verify(connection, row, name).errors or replay(connection, row, name).errors
    if errors:
        raise ValueError(f"{path.name} is not what was exported: {errors[0]}")
    return (name, count, None if snapshot is None else snapshot.seq)


# The decisions of a log as a table: for evaluation, and for other tools.


def table(connection: Connection, row: int, experiment: Experiment) -> JsonObject:
    """One row for each arm that was played and whose decision has ended: decision, round, time,
    arm, propensity, reward, `metric_..` for each metric of the spec, of which the first is the
    reward, and `segment_..` for each segment.

    Cancelled decisions are left out; a reward is null where the decision was closed without one or
    is still open. Features of rounds stand in `features`, (K, d) a row, where every decision
    brought its own.
    """
    segments, metrics = [*(experiment.spec.segments or ())], [*(experiment.spec.metrics or ())]
    rows: list[tuple[object, ...]] = []
    features: list[Numbers | None] = []
    for number, time, event, outcome, default in decisions_of(connection, row):
        several = isinstance(event.name, list)
        names, chances = (
            (event.name, event.propensity) if several else ([event.name], [event.propensity])
        )
        own = [event.asked["segments"][segment] for segment in segments]
        context = numbers_of(experiment.reader, event.asked.get("context"), experiment.name)
        values = outcome if metrics and isinstance(outcome, dict) else {}
        own = [*map(values.get, metrics), *own]
        for name, chance in zip(names, chances, strict=True):
            reward = outcome.get(name, default) if isinstance(outcome, dict) else outcome
            if metrics:
                reward = values.get(metrics[0])
            rows.append((event.decision, number, time, name, chance, reward, *own))
            features.append(context)
    heads = ["decision", "round", "time", "arm", "propensity", "reward"]
    heads += [f"metric_{metric}" for metric in metrics]
    heads += [f"segment_{segment}" for segment in segments]
    columns: JsonObject = {head: [row[k] for row in rows] for k, head in enumerate(heads)}
    if any(item is not None for item in features) and not experiment.session.catalogue:
        order = [arm["id"] for arm in experiment.arms()]
        columns["features"] = [
            as_matrix(item, order, experiment.session.arms.dimension) for item in features
        ]
    return columns


def decisions_of(
    connection: Connection, row: int
) -> Iterator[tuple[int, int, Decided, Reward | None, Reward | None]]:
    """Number, time and event of every decision that was not cancelled, with its reward, None where
    there is none, and its default."""
    rounds: dict[str, tuple[int, int, Decided]] = {}  # number, time
    rewards: dict[str, Reward | None] = {}
    default: dict[str, Reward | None] = {}
    number = 0
    for entry in log.read(connection, row):
        event = entry.event
        match event:
            case Decided():
                number += 1
                rounds[event.decision] = (number, entry.time, event)
            case Cancelled():
                del rounds[event.decision]
            case Rewarded():
                value, before = event.value, rewards.get(event.decision)
                rewards[event.decision] = (
                    {**before, **value}
                    if isinstance(before, dict) and isinstance(value, dict)
                    else value
                )
            case Expired():
                default[event.decision] = event.reward
    for id, (number, time, event) in rounds.items():
        taken = default.get(id)
        reward = rewards.get(id, taken)
        if isinstance(reward, dict) and isinstance(taken, dict):
            reward = taken | reward
        yield number, time, event, reward, taken


def as_matrix(context: Any, arms: list[str], d: int) -> list[list[float]] | None:
    """A round's features in the order of arms; arms that were added later, or left out, have
    zeros."""
    if context is None:
        return None
    if is_one_row(context):
        return [context] * len(arms)
    return [
        [0.0] * d if one is None else one
        for one in (
            [context.get(arm) for arm in arms]
            if isinstance(context, dict)
            else [*context, *[None] * (len(arms) - len(context))]
        )
    ]


def as_log(connection: Connection, row: int, name: str, rewards: tuple[float, float]) -> logs.Log:
    """The log for `tr.evaluate`. Raises ValueError where it has no decision with a reward, or where
    arms differ with every call."""
    experiment = rebuild(connection, row, name).experiment
    session = experiment.session
    if session.catalogue:
        raise ValueError(
            f"experiment = {name!r} brings new candidates with every call, so its log has no arms "
            "to compare."
        )
    data = table(connection, row, experiment)
    frame: JsonObject = {
        "arm": np.array(data["arm"], dtype=object),
        "reward": np.array(
            [np.nan if value is None else value for value in data["reward"]], dtype=np.float64
        ),
        "propensity": np.array(data["propensity"], dtype=np.float64),
        "time": np.array(data["time"], dtype=np.int64) / 1e6,
    }
    sets = session.arms.oracle is not None
    if sets:
        frame["round"] = np.array(data["round"], dtype=np.int64)
    features = None
    if "features" in data and all(item is not None for item in data["features"]):
        features = np.array(data["features"], dtype=np.float64)
    return logs.from_frame(
        frame,
        features=features,
        arm_features=session.arms.features,
        time="time",
        arms=[arm["id"] for arm in experiment.arms()],
        rewards=rewards,
        floor=experiment.spec.floor or None,
        round="round" if sets else None,
    )


def write_dsjson(connection: Connection, row: int, name: str, path: pathlib.Path) -> pathlib.Path:
    """Write the decisions with a reward for Vowpal Wabbit: actions are the arms, or the candidates
    of the decision, by name and with the features that callers sent. Erased decisions are left out:
    their features are gone. Raises ValueError for sets of arms."""
    experiment = rebuild(connection, row, name).experiment
    session = experiment.session
    if session.arms.oracle is not None:
        raise ValueError(
            f"experiment = {name!r} plays sets of arms, which have no form in dsjson; export it "
            "as .parquet."
        )
    arms = None if session.catalogue else [arm["id"] for arm in experiment.arms()]
    columns = [] if experiment.reader is None else [*experiment.reader.kinds]
    fixed = (
        {}
        if arms is None or session.arms.features is None
        else dict(zip(arms, session.arms.features.tolist(), strict=True))
    )
    with files.atomically(path) as file:
        for _, time, event, reward, _ in decisions_of(connection, row):
            reward = reward.get(experiment.objective) if isinstance(reward, dict) else reward
            if not isinstance(reward, float) or event.asked.get("erased"):
                continue
            shared, own = split(event.asked.get("context"), arms, columns)
            names = list(own) if arms is None else arms
            actions = [
                formats.action(one, own.get(one) or ({"x": fixed[one]} if one in fixed else None))
                for one in names
            ]
            played = names.index(str(event.name))
            line = formats.decision(event.decision, played, reward, float(event.propensity))
            line |= {
                "a": formats.played_first(played, len(names)),
                "Timestamp": timestamp(time),
                "c": shared | {"_multi": actions},
            }
            file.write(to_json(line) + b"\n")
    return path


def split(
    context: Shown | None, arms: list[str] | None, columns: list[str]
) -> tuple[JsonObject, dict[str, JsonObject]]:
    """The features of a request that all actions share, and those of each action by its name.
    Values stay as sent; numbers stand in `x`.
    columns: names of values; those that a request left out are null."""
    if context is None:
        return {}, {}
    if is_raw_row(context) or is_one_row(context):
        return by_name(context, columns), {}
    return {}, {
        arm: by_name(one, columns)
        for arm, one in (
            context
            if isinstance(context, dict)
            else dict(zip(arms or [str(k) for k in range(len(context))], context, strict=False))
        ).items()
    }


def by_name(features: object, columns: list[str]) -> JsonObject:
    return (
        {name: features.get(name) for name in columns}
        if isinstance(features, dict)
        else {"x": features}
    )


def write_parquet(connection: Connection, row: int, name: str, path: pathlib.Path) -> pathlib.Path:
    import pyarrow as pa
    import pyarrow.parquet as pq

    data = table(connection, row, rebuild(connection, row, name).experiment)
    arrays = {key: pa.array(value) for key, value in data.items()}
    arrays["time"] = arrays["time"].cast(pa.timestamp("us", tz="UTC"))
    with files.atomically(path) as file:
        pq.write_table(pa.table(arrays), file)
    return path


# Erasing a person's data from the log: bodies are blanked, digests stay, and the chain still holds.


# a row of the table of secrets: since when SQLite's file has unused bytes with what was erased
OWED = "rewriting owed"
FORGET = sa.delete(secrets_table).where(secrets_table.c.name == OWED)
# of what was asked: what replays, certificates and results by segment need and no data of a person
KEPT_FIELDS = ("deferred", "baseline", "baseline_mean", "segments")


class Blanked(NamedTuple):
    """A decision without what is a subject's. text: of its body. round: whether its round is gone.
    longest: norm of its features."""

    seq: int
    text: bytes
    round: bool
    longest: float

    @property
    def digest(self) -> str:
        return hashlib.sha256(self.text).hexdigest()


def decisions_of_subject(connection: Connection, row: int, subject: str, after: int) -> list[int]:
    """Numbers of the decisions of a subject behind an event that were not erased yet."""
    return sorted(
        seq
        for seq in connection.execute(
            sa.select(log.C.seq).where(log.C.experiment == row, log.C.subject == subject)
        ).scalars()
        if seq > after
    )  # here, as in `store.about`


def entries_at(connection: Connection, row: int, seqs: Sequence[int]) -> list[LogEntry]:
    return [
        LogEntry(*item)
        for item in connection.execute(
            sa.select(*log.COLUMNS)
            .where(log.C.experiment == row, log.C.seq.in_(seqs))
            .order_by(log.C.seq)
        )
    ]


def without_subject(entry: LogEntry, experiment: Experiment) -> Blanked:
    """A decision of an experiment without features, marks and the subject itself."""
    body = entry.body
    question = body.pop("asked")
    body["asked"] = {name: question[name] for name in KEPT_FIELDS if name in question}
    gone = bool(question.keys() - {"subject", *KEPT_FIELDS})
    if gone:
        body["asked"]["erased"] = True
        if lacks_baseline(
            question, experiment.spec.baseline, ()
        ):  # what a certificate counts outlives the body
            body["without_baseline"] = True
    return Blanked(
        entry.seq,
        to_json(body),
        gone,
        longest_row(numbers_of(experiment.reader, question.get("context"), experiment.name) or ()),
    )


def blank(connection: Connection, row: int, blanked: Sequence[Blanked]) -> None:
    connection.execute(
        sa.update(events)
        .where(log.C.experiment == row, log.C.seq == sa.bindparam("which"))
        .values(body=sa.bindparam("text"), subject=None),
        [{"which": one.seq, "text": one.text} for one in blanked],
    )


def owe(connection: Connection, now: int) -> None:
    """Note that SQLite's file is to be written anew: something was blanked in it."""
    connection.execute(FORGET)
    connection.execute(sa.insert(secrets_table).values(name=OWED, value=str(now).encode()))


def rewrite_owed(
    database: Database, most: float, before: float = math.inf
) -> tuple[bool, bool] | None:
    """Write the file anew if that is owed since before a time (see `Database.rewrite`). Whether
    that was done, and whether it is still owed; None where a failure or a reader is in the way, and
    it can be tried again."""
    with database.read() as connection:
        value = connection.execute(
            sa.select(secrets_table.c.value).where(secrets_table.c.name == OWED)
        ).scalar_one_or_none()
    if value is None or int(value) >= before:
        return False, value is not None
    done = database.rewrite(most)
    if done is None or not database.scrub():  # the write-ahead log has copies too
        return None
    if done:
        with database.write() as connection:  # what is owed since then stays
            connection.execute(FORGET.where(secrets_table.c.value == value))
    return done, not done
