"""The decisions of a log as a table, for evaluation and for other tools; and whole logs moved between databases."""

import base64
import json
import pathlib
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import sqlalchemy as sa
from sqlalchemy.engine import Connection

from .. import files
from ..inference import logs
from .experiment import Experiment
from .log import START, Event, chained
from .recovery import rebuild
from .snapshots import restored
from .store import events as log
from .store.tables import experiments, snapshots
from .verify import erased_rounds, head_at, replay, verify

TABLES = ("parquet", "obp", "dsjson")
S = snapshots.c


def table(connection: Connection, row: int, live: Experiment) -> dict[str, Any]:
    """One row for each arm that was played and whose decision has ended: decision, round, time, arm, propensity, reward.

    Cancelled decisions are left out; a reward is null where the decision was closed without one or is still open. Features of rounds
    stand in `features`, (K, d) a row, where every decision brought its own.
    """
    columns: dict[str, list[Any]] = {name: [] for name in ("decision", "round", "time", "arm", "propensity", "reward")}
    rounds: dict[str, tuple[int, Event]] = {}
    rewards: dict[str, dict[str, float] | float | None] = {}
    default: dict[str, float | None] = {}
    for event in log.read(connection, row):
        key = str(event.key)
        if event.kind == "decided":
            rounds[key] = (len(rounds) + 1, event)
        elif event.kind == "cancelled":
            rounds.pop(key, None)
        elif event.kind == "rewarded":
            value, before = event.body["value"], rewards.get(key)
            rewards[key] = {**before, **value} if isinstance(before, dict) and isinstance(value, dict) else value
        elif event.kind == "expired":
            default[key] = event.body["reward"]
    features: list[Any] = []
    for key, (number, event) in rounds.items():
        body, given = event.body, rewards.get(key, default.get(key))
        names = body["name"] if isinstance(body["name"], list) else [body["name"]]
        chances = body["propensity"] if isinstance(body["propensity"], list) else [body["propensity"]]
        for name, chance in zip(names, chances, strict=True):
            reward = given.get(name, default.get(key)) if isinstance(given, dict) else given
            for column, value in zip(columns.values(), (key, number, event.time, name, chance, reward), strict=True):
                column.append(value)
            features.append(body.get("asked", {}).get("context"))
    if any(item is not None for item in features) and not live.session.catalogue:
        order = [arm["id"] for arm in live.arms()]
        columns["features"] = [as_matrix(item, order, live.session.arms.dimension) for item in features]
    return columns


def as_matrix(context: Any, arms: list[str], d: int) -> list[list[float]] | None:
    """A round's features in the order of arms; arms that were added later, or left out, have zeros."""
    if context is None:
        return None
    rows = [context.get(arm) for arm in arms] if isinstance(context, dict) else [*context, *[None] * (len(arms) - len(context))]
    return [[0.0] * d if one is None else one for one in rows]


def as_log(connection: Connection, row: int, name: str, rewards: tuple[float, float]) -> logs.Log:
    """The log for `tr.evaluate`. Raises ValueError where it has no decision with a reward, or where arms differ with every call."""
    live = rebuild(connection, row, name)
    if live.session.catalogue:
        raise ValueError(f"experiment = {name!r} brings new candidates with every call, so its log has no arms to compare.")
    data = table(connection, row, live)
    frame: dict[str, Any] = {
        "arm": np.array(data["arm"], dtype=object),
        "reward": np.array([np.nan if value is None else value for value in data["reward"]], dtype=np.float64),
        "propensity": np.array(data["propensity"], dtype=np.float64),
        "time": np.array(data["time"], dtype=np.int64) / 1e6,
    }
    sets = live.session.arms.oracle is not None
    if sets:
        frame["round"] = np.array(data["round"], dtype=np.int64)
    features = None
    if "features" in data and all(item is not None for item in data["features"]):
        features = np.array(data["features"], dtype=np.float64)
    arms = [arm["id"] for arm in live.arms()]
    floor = live.spec.floor or None
    return logs.from_frame(frame, features=features, arm_features=live.session.arms.features, time="time", arms=arms, rewards=rewards,
                           floor=floor, round="round" if sets else None)  # fmt: skip


def write_table(connection: Connection, row: int, name: str, path: pathlib.Path, kind: str, rewards: tuple[float, float]) -> pathlib.Path:
    """Write the decisions as a table: "parquet" (all of them), "obp" (an npz of the Open Bandit Pipeline's dict) or "dsjson"."""
    if kind == "dsjson":
        return logs.to_dsjson(as_log(connection, row, name, rewards), path)
    if kind == "obp":
        found = {key: np.asarray(value) for key, value in logs.to_obp(as_log(connection, row, name, rewards)).items() if value is not None}
        with files.atomically(path) as file:
            np.savez_compressed(file, **found)  # type: ignore[arg-type]
        return path
    import pyarrow as pa
    import pyarrow.parquet as pq

    data = table(connection, row, rebuild(connection, row, name))
    arrays = {key: pa.array(value) for key, value in data.items()}
    arrays["time"] = arrays["time"].cast(pa.timestamp("us", tz="UTC"))
    with files.atomically(path) as file:
        pq.write_table(pa.table(arrays), file)
    return path


# Whole logs ------------------------------------------------------------------------------------------------------------------


class Kept(NamedTuple):
    """A snapshot in an exported log: the state behind an erasure, which no replay can compute again."""

    seq: int
    fingerprint: bytes
    rest: str
    session: bytes


def write_log(connection: Connection, row: int, name: str, path: pathlib.Path) -> int:
    """Write every event with its digests as lines of JSON; `read_log` brings them into another database. Returns their number.

    Behind an erasure the last line is the first snapshot that goes on from there.
    """
    count = 0
    with files.atomically(path) as file:
        for event in log.read(connection, row):
            line = {
                "experiment": name, "seq": event.seq, "kind": event.kind, "time": event.time, "key": event.key, "subject": event.subject,
                "body": event.text.decode(), "body_digest": event.body_digest.hex(), "digest": event.digest.hex(),
            }  # fmt: skip
            file.write(json.dumps(line).encode() + b"\n")
            count += 1
        gone = erased_rounds(connection, row)
        if gone:
            found = connection.execute(
                sa.select(S.seq, S.fingerprint, S.rest, S.session).where(S.experiment == row, S.seq > max(gone), S.seq <= count)
                .order_by(S.seq).limit(1)).one_or_none()  # fmt: skip
            if found is None:
                raise ValueError(f"event {max(gone)} of {name!r} was erased, and there is no snapshot behind it; restore a backup.")
            kept = {"experiment": name, "snapshot": found.seq, "fingerprint": found.fingerprint.hex(), "rest": found.rest,
                    "session": base64.b64encode(found.session).decode()}  # fmt: skip
            file.write(json.dumps(kept).encode() + b"\n")
    return count


def read_lines(path: pathlib.Path) -> Iterator[tuple[str, Event | Kept]]:
    """Experiment, and event or snapshot, of every line. Raises ValueError naming the first line that is neither."""
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            try:
                told = json.loads(line)
                if "snapshot" in told:
                    session = base64.b64decode(told["session"], validate=True)
                    yield str(told["experiment"]), Kept(int(told["snapshot"]), bytes.fromhex(told["fingerprint"]), told["rest"], session)
                    continue
                digests = bytes.fromhex(told["body_digest"]), bytes.fromhex(told["digest"])
                event = Event(told["seq"], told["kind"], told["time"], told["key"], told["subject"], told["body"].encode(), *digests)
                yield str(told["experiment"]), event
            except (ValueError, KeyError, TypeError, AttributeError) as error:
                raise ValueError(f"{path.name}, line {number}, is not an event of a log ({type(error).__name__}).") from None


def read_log(connection: Connection, path: pathlib.Path) -> tuple[str, int, int | None]:
    """Bring an exported log into a database that does not have its experiment. Raises ValueError where the chain does not hold, a body is
    not the one that was sealed, or the log cannot be replayed; the caller's transaction must then end without a commit. Returns the
    experiment, the number of events, and of which of them a snapshot came along."""
    name, digest, count, row = "", START, 0, 0
    page: list[Event] = []
    kept: Kept | None = None
    for experiment, item in read_lines(path):
        if isinstance(item, Kept) or kept is not None:
            if kept is not None or experiment != name:
                raise ValueError(f"{path.name}, line {count + 1}: a snapshot is the last line and of the same experiment.")
            assert isinstance(item, Kept)
            kept = item
            continue
        if not count:
            name = experiment
            if item.kind != "created":
                raise ValueError(f"{path.name} begins with {item.kind!r}; a log begins with 'created'.")
            if connection.execute(sa.select(experiments.c.id).where(experiments.c.name == name)).first() is not None:
                raise ValueError(f"experiment = {name!r} exists in this database; import into another one.")
            made = connection.execute(sa.insert(experiments).values(name=name, spec=item.text.decode(), seq=0, digest=START, fence=0))
            row = int(made.inserted_primary_key[0])  # type: ignore[index]
        count += 1
        digest = chained(name, digest, item.seq, item.kind, item.time, item.key, item.body_digest)
        if (experiment, item.seq, item.digest) != (name, count, digest):
            raise ValueError(f"{path.name}, line {count}: the chain of digests breaks; the file is not what was exported.")
        page.append(item)
        if len(page) >= log.PAGE:
            log.append(connection, row, 0, page)
            page = []
    if page:
        log.append(connection, row, 0, page)
    if not count:
        raise ValueError(f"{path.name} has no events.")
    if kept is not None:
        try:
            if head_at(connection, name, kept.seq) != restored(name, kept.session, kept.rest, kept.fingerprint).digest.hex():
                raise ValueError("it is not of this log")
        except ValueError as error:
            raise ValueError(f"{path.name} is not what was exported: of the snapshot of event {kept.seq}, {error}.") from None
        connection.execute(sa.insert(snapshots).values(experiment=row, **kept._asdict()))
    wrong = verify(connection, row, name).wrong or replay(connection, row, name).wrong
    if wrong:
        raise ValueError(f"{path.name} is not what was exported: {wrong[0]}")
    return name, count, None if kept is None else kept.seq
