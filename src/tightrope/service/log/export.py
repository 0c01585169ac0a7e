"""The decisions of a log as a table: for evaluation, and for other tools."""

import pathlib
from collections.abc import Iterator
from typing import Any

import numpy as np
from pydantic_core import to_json
from sqlalchemy.engine import Connection

from ... import logs
from ...core import files
from ...core.types import JsonObject
from ...logs import formats
from ..domain.events import Cancelled, Decided, Expired, Rewarded
from ..domain.experiment import Experiment
from ..domain.features import Numbers, is_raw_row, numbers_of
from ..domain.requests import Shown
from ..domain.rounds import is_one_row
from ..domain.times import timestamp
from . import store
from .recovery import rebuild


def table(connection: Connection, row: int, experiment: Experiment) -> JsonObject:
    """One row for each arm that was played and whose decision has ended: decision, round, time, arm, propensity, reward, and `segment_..`
    for each segment of the spec.

    Cancelled decisions are left out; a reward is null where the decision was closed without one or is still open. Features of rounds
    stand in `features`, (K, d) a row, where every decision brought its own.
    """
    columns: dict[str, list[object]] = {name: [] for name in ("decision", "round", "time", "arm", "propensity", "reward")}
    segments: dict[str, list[object]] = {name: [] for name in experiment.spec.segments or ()}
    features: list[Numbers | None] = []
    for number, time, event, outcome, default in decisions_of(connection, row):
        several = isinstance(event.name, list)
        names, chances = (event.name, event.propensity) if several else ([event.name], [event.propensity])
        for name, chance in zip(names, chances, strict=True):
            reward = outcome.get(name, default) if isinstance(outcome, dict) else outcome
            for column, value in zip(columns.values(), (event.decision, number, time, name, chance, reward), strict=True):
                column.append(value)
            for segment, values in segments.items():
                values.append(event.asked["segments"][segment])
            features.append(numbers_of(experiment.reader, event.asked.get("context"), experiment.name))
    columns |= {f"segment_{segment}": values for segment, values in segments.items()}
    if any(item is not None for item in features) and not experiment.session.catalogue:
        order = [arm["id"] for arm in experiment.arms()]
        columns["features"] = [as_matrix(item, order, experiment.session.arms.dimension) for item in features]
    return columns


def decisions_of(connection: Connection, row: int) -> Iterator[tuple[int, int, Decided, dict[str, float] | float | None, float | None]]:
    """Number, time and event of every decision that was not cancelled, with its reward, None where there is none, and its default."""
    rounds: dict[str, tuple[int, int, Decided]] = {}  # number, time
    rewards: dict[str, dict[str, float] | float | None] = {}
    default: dict[str, float | None] = {}
    number = 0
    for entry in store.read(connection, row):
        event = entry.event
        match event:
            case Decided():
                number += 1
                rounds[event.decision] = (number, entry.time, event)
            case Cancelled():
                del rounds[event.decision]
            case Rewarded():
                value, before = event.value, rewards.get(event.decision)
                rewards[event.decision] = {**before, **value} if isinstance(before, dict) and isinstance(value, dict) else value
            case Expired():
                default[event.decision] = event.reward
    for id, (number, time, event) in rounds.items():
        yield number, time, event, rewards.get(id, default.get(id)), default.get(id)


def as_matrix(context: Any, arms: list[str], d: int) -> list[list[float]] | None:
    """A round's features in the order of arms; arms that were added later, or left out, have zeros."""
    if context is None:
        return None
    if is_one_row(context):
        return [context] * len(arms)
    rows = [context.get(arm) for arm in arms] if isinstance(context, dict) else [*context, *[None] * (len(arms) - len(context))]
    return [[0.0] * d if one is None else one for one in rows]


def as_log(connection: Connection, row: int, name: str, rewards: tuple[float, float]) -> logs.Log:
    """The log for `tr.evaluate`. Raises ValueError where it has no decision with a reward, or where arms differ with every call."""
    experiment = rebuild(connection, row, name).experiment
    session = experiment.session
    if session.catalogue:
        raise ValueError(f"experiment = {name!r} brings new candidates with every call, so its log has no arms to compare.")
    data = table(connection, row, experiment)
    frame: JsonObject = {
        "arm": np.array(data["arm"], dtype=object),
        "reward": np.array([np.nan if value is None else value for value in data["reward"]], dtype=np.float64),
        "propensity": np.array(data["propensity"], dtype=np.float64),
        "time": np.array(data["time"], dtype=np.int64) / 1e6,
    }
    sets = session.arms.oracle is not None
    if sets:
        frame["round"] = np.array(data["round"], dtype=np.int64)
    features = None
    if "features" in data and all(item is not None for item in data["features"]):
        features = np.array(data["features"], dtype=np.float64)
    arms = [arm["id"] for arm in experiment.arms()]
    floor = experiment.spec.floor or None
    return logs.from_frame(frame, features=features, arm_features=session.arms.features, time="time", arms=arms, rewards=rewards,
                           floor=floor, round="round" if sets else None)  # fmt: skip


def write_dsjson(connection: Connection, row: int, name: str, path: pathlib.Path) -> pathlib.Path:
    """Write the decisions with a reward for Vowpal Wabbit: actions are the arms, or the candidates of the decision, by name and with the
    features that callers sent. Erased decisions are left out: their features are gone. Raises ValueError for sets of arms."""
    experiment = rebuild(connection, row, name).experiment
    session = experiment.session
    if session.arms.oracle is not None:
        raise ValueError(f"experiment = {name!r} plays sets of arms, which have no form in dsjson; export it as .parquet.")
    arms = None if session.catalogue else [arm["id"] for arm in experiment.arms()]
    columns = [] if experiment.reader is None else [*experiment.reader.kinds]
    fixed = {} if arms is None or session.arms.features is None else dict(zip(arms, session.arms.features.tolist(), strict=True))
    with files.atomically(path) as file:
        for _, time, event, reward, _ in decisions_of(connection, row):
            if not isinstance(reward, float) or event.asked.get("erased"):
                continue
            context = event.asked.get("context")
            shared, own = split(context, arms, columns)
            names = list(own) if arms is None else arms
            actions = [formats.action(one, own.get(one) or ({"x": fixed[one]} if one in fixed else None)) for one in names]
            played = names.index(str(event.name))
            line = formats.decision(event.decision, played, reward, float(event.propensity))
            line |= {"a": formats.played_first(played, len(names)), "Timestamp": timestamp(time), "c": shared | {"_multi": actions}}
            file.write(to_json(line) + b"\n")
    return path


def split(context: Shown | None, arms: list[str] | None, columns: list[str]) -> tuple[JsonObject, dict[str, JsonObject]]:
    """The features of a request that all actions share, and those of each action by its name. Values stay as sent; numbers stand in `x`.
    columns: names of values; those that a request left out are null."""
    if context is None:
        return {}, {}
    if is_raw_row(context) or is_one_row(context):
        return by_name(context, columns), {}
    rows = context if isinstance(context, dict) else dict(zip(arms or [str(k) for k in range(len(context))], context, strict=False))
    return {}, {arm: by_name(one, columns) for arm, one in rows.items()}


def by_name(features: object, columns: list[str]) -> JsonObject:
    return {name: features.get(name) for name in columns} if isinstance(features, dict) else {"x": features}


def write_table(connection: Connection, row: int, name: str, path: pathlib.Path, kind: str, rewards: tuple[float, float]) -> pathlib.Path:
    """Write the decisions as a table: "parquet" (all of them), "obp" (an npz of the Open Bandit Pipeline's dict) or "dsjson"."""
    if kind == "dsjson":
        return write_dsjson(connection, row, name, path)
    if kind == "obp":
        columns = {
            key: np.asarray(value) for key, value in logs.to_obp(as_log(connection, row, name, rewards)).items() if value is not None
        }
        with files.atomically(path) as file:
            np.savez_compressed(file, **columns)  # type: ignore[arg-type]
        return path
    import pyarrow as pa
    import pyarrow.parquet as pq

    data = table(connection, row, rebuild(connection, row, name).experiment)
    arrays = {key: pa.array(value) for key, value in data.items()}
    arrays["time"] = arrays["time"].cast(pa.timestamp("us", tz="UTC"))
    with files.atomically(path) as file:
        pq.write_table(pa.table(arrays), file)
    return path
