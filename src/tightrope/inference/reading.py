"""What the command line reads: logs in files of any format, and files that say which policy is to be judged."""

import pathlib
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from .. import checks
from ..engine.spec import read_yaml
from ..registry import Policy, built, is_policy, label
from ..serving.session import Session
from . import logs
from .logs import PARQUET, Log, parquet_files
from .targets import Judged

CSV, DSJSON, SESSION = (".csv",), (".dsjson", ".jsonl", ".json"), (".npz",)
SPECS = (".yaml", ".yml")
KEYS = ("policy", "probabilities", "arm")
UNIFORM = "uniform"


@dataclass(frozen=True)
class Columns:
    """Which columns of a table hold what, as one writes it in a command.

    arm, reward, time, slot, round: names. propensity: a name, or the number that it always was; None: "propensity", or what `logger`
    says. features: names separated by commas, a * at the end of one stands for any ending. logger, eligible, probabilities: how the
    columns of the logger's probabilities, of the masks and of the judged policy's probabilities begin; an arm's number or name
    follows, or nothing where one column holds arrays.
    """

    arm: str = "arm"
    reward: str = "reward"
    propensity: str | None = None
    features: str | None = None
    logger: str | None = None
    eligible: str | None = None
    probabilities: str | None = None
    time: str | None = None
    slot: str | None = None
    round: str | None = None


def read(
    path: pathlib.Path, columns: Columns, *, arms: str | None = None, rewards: tuple[float, float] = (0.0, 1.0), floor: float | None = None
) -> tuple[Log, np.ndarray | None]:
    """A log by its file's ending, and the (n, K) probabilities of the policy to be judged where `columns` names them.

    arms: K, or names separated by commas. A Parquet file, or a folder of them, is read in batches, but for those probabilities; other
    files are held in memory. Raises ValueError in a sentence.
    """
    ending = path.suffix.lower()
    known = (*PARQUET, *CSV, *DSJSON, *SESSION)
    if not path.is_dir() and ending not in known:
        raise ValueError(f"LOG = {str(path)!r} has no ending among {', '.join(known)}.")
    if not path.exists():
        raise ValueError(
            f"LOG = {str(path)!r} does not exist; give a file that ends with {', '.join(known)}, or a folder of Parquet files."
        )
    number = int(arms) if arms is not None and arms.strip().isdigit() else None
    if ending in (*DSJSON, *SESSION):
        changed = [each.name for each in fields(Columns) if getattr(columns, each.name) != each.default]
        what = changed + (["floor"] if floor is not None and ending in DSJSON else [])
        what += ["arms"] if arms is not None and (number is None or ending in SESSION) else []
        if what:
            kind = "dsjson" if ending in DSJSON else "a saved session"
            raise ValueError(f"{what[0]} is of tables; {path.name} is read as {kind}, which has its own names.")
        if ending in SESSION:
            return logs.from_session(path, rewards=rewards, floor=floor), None
        return logs.from_dsjson(path, arms=number, rewards=rewards), None
    frame, names, arrays = _csv(path, columns.time) if ending in CSV else _parquet(path)
    labels: int | list[str] | None = number
    if arms is not None and number is None:
        labels = [word.strip() for word in arms.split(",")]
    used = {columns.arm, columns.reward, columns.propensity, columns.time, columns.slot, columns.round}
    found: dict[str, str | list[str] | None] = {}
    for option in ("logger", "eligible", "probabilities"):
        labels, found[option] = _of_arms(option, getattr(columns, option), [name for name in names if name not in used], labels, arrays)
    named, propensity = columns.propensity, None
    if named is not None:
        propensity = named if named in names else _number(named)
    elif found["logger"] is None or "propensity" in names:
        propensity = "propensity"
    log = logs.from_frame(
        frame, columns.arm, columns.reward, propensity, features=_features(columns.features, names, arrays),
        probabilities=found["logger"], eligible=found["eligible"], time=columns.time, slot=columns.slot, round=columns.round,
        arms=labels, rewards=rewards, floor=floor,
    )  # fmt: skip
    return log, None if found["probabilities"] is None else _target(frame, found["probabilities"], log.given)


def _number(text: str) -> str | float:
    """The number that a text is, or the text."""
    try:
        return float(text)
    except ValueError:
        return text


def _csv(path: pathlib.Path, time: str | None) -> tuple[Any, list[str], set[str]]:
    """The table in the order of time, the names of its columns, and no columns of arrays."""
    import pandas as pd

    try:
        frame = pd.read_csv(path)
    except ValueError as error:  # what pandas raises for damaged files is one
        raise ValueError(f"{path} is not a CSV file that can be read ({' '.join(str(error).split())}).") from None
    if time is not None and time in frame and not pd.api.types.is_numeric_dtype(frame[time]):
        try:
            frame[time] = pd.to_datetime(frame[time], utc=True, format="ISO8601").dt.tz_localize(None)
        except ValueError:
            raise ValueError(f"time = {time!r} holds neither numbers nor times such as 2026-01-31 12:00:00.") from None
    if time is not None and time in frame:
        frame = frame.sort_values(time, kind="stable", ignore_index=True)
    return frame, [str(name) for name in frame.columns], set()


def _parquet(path: pathlib.Path) -> tuple[pathlib.Path, list[str], set[str]]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        schema = pq.read_schema(parquet_files(path)[0])
    except pa.ArrowInvalid as error:
        raise ValueError(f"{path} is not a Parquet file that can be read ({error}).") from None
    arrays = {each.name for each in schema if pa.types.is_list(each.type) or pa.types.is_fixed_size_list(each.type)}
    return path, list(schema.names), arrays


def _of_arms(
    option: str, prefix: str | None, names: Sequence[str], labels: int | list[str] | None, arrays: set[str]
) -> tuple[int | list[str] | None, str | list[str] | None]:
    """The arms as far as they are known now, and the columns that begin with `prefix` in their order."""
    if prefix is None:
        return labels, None
    if prefix in arrays:
        return labels, prefix
    ends = [name.removeprefix(prefix) for name in names if name.startswith(prefix) and name != prefix]
    if labels is None:
        numbers = [end for end in ends if end.isdigit()]
        labels = len(numbers) if numbers else sorted(ends)
    wanted = [str(k) for k in range(labels)] if isinstance(labels, int) else labels
    missing = [f"{prefix}{end}" for end in wanted if end not in ends]
    if missing or not wanted:
        lacks = f"no column {missing[0]!r}" if missing else "no column that begins so"
        raise ValueError(f"{option} = {prefix!r}: the log has {lacks}; it has {', '.join(names[:10])}. Give a column for every arm.")
    return labels, [f"{prefix}{end}" for end in wanted]


def _features(text: str | None, names: Sequence[str], arrays: set[str]) -> str | list[str] | None:
    if text is None:
        return None
    found: list[str] = []
    for word in (item.strip() for item in text.split(",")):
        if not word.endswith("*") or word in names:
            found.append(word)
            continue
        several = [name for name in names if name.startswith(word[:-1])]
        if not several:
            raise ValueError(f"features = {text!r}: the log has no column that begins with {word[:-1]!r}; it has {', '.join(names[:10])}.")
        found += several
    return found[0] if len(found) == 1 and found[0] in arrays else found


def _target(frame: Any, columns: str | list[str], n: int) -> np.ndarray:
    if isinstance(frame, pathlib.Path):
        import pyarrow.parquet as pq

        frame = pq.read_table(frame, columns=[columns] if isinstance(columns, str) else columns)
    block = logs.block(frame, "probabilities", columns, n)
    assert block is not None
    return block


# Policies ----------------------------------------------------------------------------------------------------------------


def read_policy(path: pathlib.Path, log: Log) -> Judged:
    """The policy that a file describes: a saved session, or YAML with one of

        policy: LinTS            a policy that learns, with its parameters
        probabilities: [..]      of every arm; by slot {0: [..], 1: [..]}; or uniform
        arm: 3                   a number or a name

    Raises ValueError in a sentence.
    """
    if path.suffix.lower() not in SPECS:
        if not path.is_file():
            raise ValueError(f"policy = {str(path)!r} does not exist; give a YAML file ({', '.join(SPECS)}) or a saved session.")
        return Session.load(path)
    data = read_yaml(path, "policy")
    given = [key for key in KEYS if isinstance(data, dict) and key in data]
    if len(given) != 1 or (given[0] != "policy" and len(data) > 1):
        raise ValueError(f"policy = {str(path)!r} must hold exactly one of policy, probabilities and arm; got {checks.show(data)}.")
    if given == ["policy"]:
        made: Policy = built(data)
        return made
    value = data[given[0]]
    return np.full(log.arms, 1.0 / log.arms) if value == UNIFORM and given == ["probabilities"] else value


def read_policies(
    paths: Sequence[pathlib.Path], arms: Sequence[str], prefix: str | None, target: np.ndarray | None, log: Log
) -> dict[str, Judged]:
    """All policies that a command names, by a short name: files by theirs, arms, and the columns that begin with `prefix`."""
    found: list[tuple[str, Judged]] = []
    for path in paths:
        judged = read_policy(path, log)
        found.append((label(judged) if is_policy(judged) else path.stem, judged))
    for text in arms:
        arm = arm_of(text, log)
        found.append((f"arm {arm}" if isinstance(arm, int) else arm, arm))
    if prefix is not None and target is not None:
        found.append((prefix, target))
    if not found:
        raise ValueError("Give the policy to be judged: --policy, --arm or --probabilities; several are compared.")
    names = [name for name, _ in found]
    twice = [name for name in names if names.count(name) > 1]
    if twice:
        raise ValueError(f"two of the policies to be judged are called {twice[0]!r}; give their files other names.")
    return dict(found)


def arm_of(text: str, log: Log) -> int | str:
    """An arm by its name in the log, or by its number."""
    return int(text) if text.isdigit() and (log.names is None or text not in log.names) else text
