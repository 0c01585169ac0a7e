"""Logs as dsjson files of Vowpal Wabbit, both ways: one decision a line, actions from 1, costs, which are rewards with the other sign."""

import datetime
import json
import os
import pathlib
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

import numpy as np

from ..core import checks, files
from ..core.types import JsonObject
from .log import Log, Rows, RowsInMemory, in_order, new_log
from .tables import BadRows, Path, times

if TYPE_CHECKING:
    from .encoding import Encoder


def from_dsjson(path: Path, *, arms: int | None = None, rewards: tuple[float, float] = (0.0, 1.0), encoder: "Encoder | None" = None) -> Log:
    """A log from a dsjson file of Vowpal Wabbit: one decision a line, actions from 1, costs, which become rewards -cost.

    Of an event that comes several times the last state counts; so does a reward that comes later in a line of its own. Decisions
    without a reward are left out and counted.

    Parameters
    ----------
    path : path
        The file.
    arms : int
        K; by default as many as occur.
    rewards : (float, float)
        Lowest and highest reward, as in `from_frame`.
    encoder : Encoder
        One that was fitted, for instance on what `dsjson_rows` returns; it makes the log's features, (n, d) of the shared namespaces, or
        (n, K, d) where it has columns that actions have for themselves. None: the log has no features.

    Returns
    -------
    Log

    Raises
    ------
    ValueError
        For files that are no such log, with the line, and for an encoder whose columns the file has not.

    Examples
    --------
    Features of a file that `dsjson_rows` shows, for a session whose callers send the same names:

    >>> import pathlib, tempfile
    >>> import tightrope as tr
    >>> path = pathlib.Path(tempfile.mkdtemp(), "news.dsjson")
    >>> line = '{"_label_cost": %d, "_label_probability": 0.5, "_label_Action": %d, "c": {"user": {"age": %d}}}'
    >>> _ = path.write_text("\\n".join(line % item for item in [(-1, 1, 30), (0, 2, 50)]))
    >>> tr.logs.dsjson_rows(path)
    [{'user.age': 30}, {'user.age': 50}]
    >>> encoder = tr.Encoder().fit(tr.logs.dsjson_rows(path))
    >>> log = tr.logs.from_dsjson(path, encoder=encoder)
    >>> session = tr.Session(tr.LinTS(), arms=2, encoder=encoder)
    """
    if encoder is not None:
        from .encoding import Encoder  # with pydantic, which no other log needs

        if not isinstance(encoder, Encoder):
            raise ValueError(f"encoder = {checks.show(encoder)} is no Encoder; give tr.Encoder().fit(tr.logs.dsjson_rows(path)).")
    decisions, waiting = _decisions_with_rewards(path)
    return _log_of(decisions, waiting, arms, rewards, encoder, path)


def dsjson_rows(path: Path) -> list[JsonObject]:
    """The features of a dsjson file as rows by column name, "namespace.feature", for `Encoder.fit`.

    Parameters
    ----------
    path : path
        The file.

    Returns
    -------
    list of dict
        A row for each decision that `from_dsjson` reads; where actions have namespaces of their own, a row for each of its actions, which
        also has what they share. Truths are 1 and 0, lists a column for each entry; names that begin with an underscore, such as _tag,
        are left out, but for _text.

    Raises
    ------
    ValueError
        For files that are no such log, with the line.
    """
    decisions, _ = _decisions_with_rewards(path)
    return [row for event, _ in decisions for row in _rows_of(event["c"])]


def _decisions_with_rewards(path: Path) -> tuple[list[tuple[JsonObject, float]], int]:
    """The decisions of a file with their rewards, in their order, and how many have none."""
    events: dict[str, JsonObject] = {}
    late: dict[str, float] = {}
    with open(path, encoding="utf-8") as lines:
        for number, line in enumerate(_lines(lines, path), start=1):
            if not line.strip():
                continue
            try:
                item = json.loads(line)
            except ValueError as error:
                raise ValueError(f"{os.fspath(path)}, line {number}: not JSON ({error}).") from None
            if not isinstance(item, dict):
                raise ValueError(f"{os.fspath(path)}, line {number}: not a JSON object.")
            id = str(item.get("EventId", f"line {number}"))
            if "RewardValue" in item and "_label_Action" not in item:
                late[id] = checks.real(f"RewardValue in line {number}", item["RewardValue"])
                continue
            events[id] = _event(item, f"{os.fspath(path)}, line {number}")  # a dict keeps the place of an event's first state
    decisions, waiting = [], 0
    for id, event in events.items():
        reward = late.get(id, None if event["cost"] is None else -event["cost"])
        if reward is None:
            waiting += 1
        else:
            decisions.append((event, reward))
    if not decisions:
        raise ValueError(f"{os.fspath(path)} has no decision with a reward.")
    return decisions, waiting


def _rows_of(shown: JsonObject) -> list[JsonObject]:
    """One row of what a decision showed, or one for each action where those have features of their own."""
    shared = _flat("", shown)
    own = [_flat("", one) for one in shown.get("_multi", ()) if isinstance(one, Mapping)]
    return [shared | one for one in own] if any(own) else [shared]


def _flat(name: str, value: object) -> JsonObject:
    """Columns of a namespace: dicts and lists by the names and places in them."""
    if isinstance(value, Mapping):
        inside = [(f"{name}.{key}" if name else key, one) for key, one in value.items() if key == "_text" or not key.startswith("_")]
        return {column: entry for key, one in inside for column, entry in _flat(key, one).items()}
    if isinstance(value, list):
        return {column: entry for k, one in enumerate(value) for column, entry in _flat(f"{name}[{k}]", one).items()}
    return {name: int(value) if isinstance(value, bool) else value}


def _lines(lines: Iterable[str], path: Path) -> Iterator[str]:
    """The lines of a file. Raises ValueError where it holds no text."""
    try:
        yield from lines
    except UnicodeDecodeError:
        raise ValueError(
            f"{os.fspath(path)} holds no text, but dsjson is a file of JSON lines; for a saved session: "
            "tr.logs.from_session(tr.Session.load(path))."
        ) from None


def _event(item: JsonObject, where: str) -> JsonObject:
    action, chance = item.get("_label_Action"), item.get("_label_probability")
    if action is None or chance is None:
        raise ValueError(f"{where}: _label_Action and _label_probability must be there.")
    arm = checks.integer(f"_label_Action ({where})", action, least=1) - 1
    if item.get("pdrop"):
        raise ValueError(f"{where}: pdrop = {item['pdrop']} says that the log was thinned, which is not read; give a log with all events.")
    cost = item.get("_label_cost")
    listed, chances, shown = item.get("a"), item.get("p"), item.get("c")
    if chances is not None and (listed is None or len(listed) != len(chances)):
        raise ValueError(f"{where}: a and p must be lists of the same length.")
    return {
        "arm": arm, "cost": None if cost is None else checks.real(f"_label_cost ({where})", cost),
        "chance": checks.real(f"_label_probability ({where})", chance), "a": listed, "p": chances, "time": item.get("Timestamp"),
        "c": shown if isinstance(shown, Mapping) else {},
    }  # fmt: skip


def _log_of(
    decisions: list[tuple[JsonObject, float]],
    waiting: int,
    arms: int | None,
    rewards: tuple[float, float],
    encoder: "Encoder | None",
    path: Path,
) -> Log:
    K = max(max(event["arm"] + 1, *(event["a"] or [0])) for event, _ in decisions)
    K = K if arms is None else checks.integer("arms", arms, least=K)
    n = len(decisions)
    H = mask = None
    if all(event["p"] is not None for event, _ in decisions):  # without them only the played arm's is known
        H, mask = np.zeros((n, K)), np.zeros((n, K), dtype=np.bool_)
        for i, (event, _) in enumerate(decisions):
            places = np.asarray(event["a"], dtype=np.int64) - 1
            H[i, places], mask[i, places] = event["p"], True
    stamps = [event["time"] for event, _ in decisions]
    time = None
    if all(isinstance(stamp, str) for stamp in stamps):
        bad = BadRows(n)
        try:
            time = times(np.array(stamps, dtype=object), "Timestamp", bad)
        except ValueError:
            raise ValueError(f"{os.fspath(path)}: Timestamp must hold times such as 2026-01-31T12:00:00Z.") from None
    features = _features(decisions, K, encoder, path)
    rows = Rows(
        np.array([event["arm"] for event, _ in decisions], dtype=np.int64), np.array([reward for _, reward in decisions], dtype=np.float64),
        np.array([event["chance"] for event, _ in decisions], dtype=np.float64), features,
        mask if mask is not None and not mask.all() else None, H, time,
    )  # fmt: skip
    left = {"decisions without a reward": waiting} if waiting else {}
    return new_log(RowsInMemory(in_order(rows)), K, rewards=rewards, left_out=left)


def _features(decisions: list[tuple[JsonObject, float]], K: int, encoder: "Encoder | None", path: Path) -> np.ndarray | None:
    """(n, d) of what decisions showed, or (n, K, d) where every action has its own."""
    if encoder is None:
        return None
    shared, columns = [_flat("", event["c"]) for event, _ in decisions], encoder.to_dict()["columns"].keys()
    if all(columns <= one.keys() for one in shared):  # it looks at nothing that actions have for themselves
        rows = [[one] for one in shared]
    else:
        rows = [_rows_of(event["c"]) for event, _ in decisions]
    encoded = encoder.transform([row for one in rows for row in one])
    numbers = [len(one) for one in rows]
    if set(numbers) == {1}:
        return encoded
    few = next((i for i, number in enumerate(numbers) if number != K), None)
    if few is not None:
        raise ValueError(
            f"{os.fspath(path)}: decision {few} shows the features of {numbers[few]} of {K} actions, but a log with features has those of "
            "all; give arms=, or encoder=None."
        )
    return encoded.reshape(len(rows), K, -1)


def to_dsjson(log: Log, path: Path) -> pathlib.Path:
    """Write the log as dsjson: actions from 1, costs -reward, the logger's probabilities where they are known, names and features.

    Names of arms stand as `_tag` of the actions, and as their feature `arm.id` where they have no others, so that Vowpal Wabbit tells
    them apart. Features are the numbers of `x`.

    Parameters
    ----------
    log : Log
        Of single arms, without slots.
    path : path
        Of the file, which is written whole or not at all.

    Returns
    -------
    pathlib.Path
        The file.

    Raises
    ------
    ValueError
        For what has no form in dsjson: sets, slots, numbers as times that are no seconds since 1970, and eligible arms without the
        logger's probabilities, unless all eligible ones had the same.
    """
    target = pathlib.Path(path)
    if log.size > 1:
        raise ValueError("a log of sets has no form in dsjson; write it as a table.")
    first = next(log.chunks())
    if first.slot is not None:
        raise ValueError("slots have no form in dsjson; write the log as a table.")
    if first.eligible is not None and first.probabilities is None and not log.uniform:
        raise ValueError("eligible arms have a form in dsjson only beside the logger's probabilities of all arms; give them to from_frame.")
    with files.atomically(target) as file:
        for rows in map(_with_shares, log.chunks()):
            for i in range(rows.arm.size):
                file.write((json.dumps(_line(rows, i) | _context(log, rows, i)) + "\n").encode())
    return target


def _context(log: Log, rows: Rows, i: int) -> dict[str, object]:
    """The features and names that a decision showed, as `c`; nothing where the log has neither names nor features."""
    own = log.arm_features
    shared: dict[str, object] = {}
    if rows.features is not None:
        if rows.features.ndim == 3:
            own = rows.features[i]
        else:
            shared = {"x": rows.features[i].tolist()}
    if log.names is None and own is None and not shared:
        return {}
    names = [str(name) for name in (log.names or range(log.arms))]
    listed = {} if rows.probabilities is not None else {"a": played_first(int(rows.arm[i]), log.arms)}
    return listed | {
        "c": shared | {"_multi": [action(name, None if own is None else {"x": own[k].tolist()}) for k, name in enumerate(names)]}
    }


def played_first(arm: int, arms: int) -> list[int]:
    """Actions, from 1, as `a`, without which Vowpal Wabbit passes over a decision."""
    return [arm + 1, *(k + 1 for k in range(arms) if k != arm)]


def action(name: str, features: Mapping[str, object] | None) -> dict[str, object]:
    """An action with its name. features: its own, if it has any; without them its name is one, so that actions can be told apart."""
    return {"_tag": name, **(features or {"arm": {"id": name}})}


def _with_shares(rows: Rows) -> Rows:
    """The probabilities of a uniform logger where not all arms could be played."""
    if rows.probabilities is not None or rows.eligible is None:
        return rows
    return rows._replace(probabilities=rows.eligible / rows.eligible.sum(axis=1, keepdims=True))


def _line(rows: Rows, i: int) -> dict[str, object]:
    arm = int(rows.arm[i])
    others: list[int] = [arm]
    chances = [float(rows.propensity[i])]
    if rows.probabilities is not None:
        shown = range(rows.probabilities.shape[1]) if rows.eligible is None else np.flatnonzero(rows.eligible[i]).tolist()
        others += [k for k in shown if k != arm]
        chances += [float(rows.probabilities[i, k]) for k in others[1:]]
    line = decision(str(rows.given[i]), arm, float(rows.reward[i]), chances[0])
    if rows.time is not None:
        stamp = rows.time[i]
        line["Timestamp"] = _stamp(stamp)
    if rows.probabilities is not None:
        line |= {"a": [k + 1 for k in others], "p": chances}
    return line


def decision(id: str, arm: int, reward: float, chance: float) -> dict[str, object]:
    """A decision with its reward. arm: from 0. chance: the logger's, of this arm."""
    return {
        "_label_cost": -reward, "_label_probability": chance, "_label_Action": arm + 1, "_labelIndex": arm, "EventId": id, "Version": "1",
    }  # fmt: skip


def _stamp(time: object) -> str:
    """A time as text: seconds since 1970 or a time of any kind; text stays."""
    if isinstance(time, (int, float, np.number)):
        seconds = float(time)
        try:
            time = datetime.datetime.fromtimestamp(seconds, datetime.UTC)
        except (ValueError, OverflowError, OSError):
            raise ValueError(
                f"time = {seconds:g} is no time in seconds since 1970, which dsjson needs; divide milliseconds by 1e3, nanoseconds by "
                "1e9, or give times as dates."
            ) from None
    return str(time).replace(" ", "T").replace("+00:00", "Z")
