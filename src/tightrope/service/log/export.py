"""The decisions of a log as a table: for evaluation, and for other tools."""

import pathlib
from typing import Any

import numpy as np
from sqlalchemy.engine import Connection

from ... import logs
from ...core import files
from ..domain.events import Cancelled, Decided, Expired, Rewarded
from ..domain.experiment import Experiment
from ..domain.features import numbers_of
from ..domain.rounds import is_one_row
from . import store
from .recovery import rebuild


def table(connection: Connection, row: int, experiment: Experiment) -> dict[str, Any]:
    """One row for each arm that was played and whose decision has ended: decision, round, time, arm, propensity, reward.

    Cancelled decisions are left out; a reward is null where the decision was closed without one or is still open. Features of rounds
    stand in `features`, (K, d) a row, where every decision brought its own.
    """
    columns: dict[str, list[Any]] = {name: [] for name in ("decision", "round", "time", "arm", "propensity", "reward")}
    rounds: dict[str, tuple[int, int, Decided]] = {}  # number, time
    rewards: dict[str, dict[str, float] | float | None] = {}
    default: dict[str, float | None] = {}
    for entry in store.read(connection, row):
        event = entry.event
        match event:
            case Decided():
                rounds[event.decision] = (len(rounds) + 1, entry.time, event)
            case Cancelled():
                rounds.pop(event.decision, None)
            case Rewarded():
                value, before = event.value, rewards.get(event.decision)
                rewards[event.decision] = {**before, **value} if isinstance(before, dict) and isinstance(value, dict) else value
            case Expired():
                default[event.decision] = event.reward
    features: list[Any] = []
    for id, (number, time, event) in rounds.items():
        given = rewards.get(id, default.get(id))
        several = isinstance(event.name, list)
        names, chances = (event.name, event.propensity) if several else ([event.name], [event.propensity])
        for name, chance in zip(names, chances, strict=True):
            reward = given.get(name, default.get(id)) if isinstance(given, dict) else given
            for column, value in zip(columns.values(), (id, number, time, name, chance, reward), strict=True):
                column.append(value)
            features.append(numbers_of(experiment.reader, event.asked.get("context"), experiment.name))
    if any(item is not None for item in features) and not experiment.session.catalogue:
        order = [arm["id"] for arm in experiment.arms()]
        columns["features"] = [as_matrix(item, order, experiment.session.arms.dimension) for item in features]
    return columns


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
    frame: dict[str, Any] = {
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


def write_table(connection: Connection, row: int, name: str, path: pathlib.Path, kind: str, rewards: tuple[float, float]) -> pathlib.Path:
    """Write the decisions as a table: "parquet" (all of them), "obp" (an npz of the Open Bandit Pipeline's dict) or "dsjson"."""
    if kind == "dsjson":
        return logs.to_dsjson(as_log(connection, row, name, rewards), path)
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
