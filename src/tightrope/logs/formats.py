"""Logs as dsjson files of Vowpal Wabbit, both ways: one decision a line, actions from 1, costs,
which are rewards with the other sign."""

from __future__ import annotations

import datetime
import json
import os
import pathlib
import zlib
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from ..core import checks, files
from ..core.types import JsonObject
from .log import (
    TOLERANCE,
    ArmLabels,
    ArmsGiven,
    Label,
    Log,
    Rows,
    RowsInMemory,
    from_frame,
    in_order,
    new_log,
    whole,
)
from .tables import BadRows, Path, times

if TYPE_CHECKING:
    from .encoding import Encoder

OTHER_LOGS = {
    "_outcomes": "several slots a decision (CCB or slates, _outcomes)",
    "_slots": "several slots a decision (CCB or slates, _slots)",
    "_label_ca": "continuous actions (CATS, _label_ca)",
}


def from_dsjson(
    path: Path,
    *,
    arms: ArmsGiven = None,
    rewards: tuple[float, float] = (0.0, 1.0),
    encoder: Encoder | None = None,
) -> Log:
    """A log from a dsjson file of Vowpal Wabbit: one decision a line, actions from 1, costs, which
    become rewards -cost.

    Of an event that comes several times the last state counts; so does a reward that comes later in
    a line of its own. Decisions without a reward are left out and counted, and so are those that
    were never shown: marked _skipLearn, or _deferred and not activated by a line with ActionTaken.
    An arm is what its action is called, by _tag or an id, wherever it stands; without names it is
    its place.

    Parameters
    ----------
    path : path
        The file.
    arms : int or list
        K, or what all arms are called; by default those that occur, in the file's order where it
        never changes, else sorted.
    rewards : (float, float)
        Lowest and highest reward, as in `from_frame`.
    encoder : Encoder
        One that was fitted, for instance on what `dsjson_rows` returns; it makes the log's
        features, (n, d) of the shared namespaces, or (n, K, d) where it has columns that actions
        have for themselves. None: the log has no features.

    Returns
    -------
    Log

    Raises
    ------
    ValueError
        For files that are no such log, with the line, and for an encoder whose columns the file has
        not.

    Examples
    --------
    Features of a file that `dsjson_rows` shows, for a session whose callers send the same names:

    >>> import pathlib, tempfile
    >>> import tightrope as tr
    >>> path = pathlib.Path(tempfile.mkdtemp(), "news.dsjson")
    >>> line = '{"_label_cost": %d, "_label_probability": 0.5, "_label_Action": %d, '
    >>> line += '"c": {"user": {"age": %d}}}'
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
            raise ValueError(
                f"encoder = {checks.show(encoder)} is no Encoder; give "
                "tr.Encoder().fit(tr.logs.dsjson_rows(path))."
            )
    decisions, left = _decisions_with_rewards(path)
    return _log_of(decisions, left, arms, rewards, encoder, path)


def dsjson_rows(path: Path) -> list[JsonObject]:
    """The features of a dsjson file as rows by column name, "namespace.feature", for `Encoder.fit`.

    Parameters
    ----------
    path : path
        The file.

    Returns
    -------
    list of dict
        A row for each decision that `from_dsjson` reads; where actions have namespaces of their
        own, a row for each of its actions, which also has what they share. Truths are 1 and 0,
        lists a column for each entry; names that begin with an underscore, such as _tag, are left
        out, but for _text.

    Raises
    ------
    ValueError
        For files that are no such log, with the line.
    """
    decisions, _ = _decisions_with_rewards(path)
    return [row for event, _ in decisions for row in _rows_of(event["c"])]


def _decisions_with_rewards(path: Path) -> tuple[list[tuple[JsonObject, float]], dict[str, int]]:
    """The decisions of a file with their rewards, in their order, and how many are left out, in
    words."""
    events: dict[str, JsonObject | None] = {}  # None: never shown
    late: dict[str, float] = {}
    deferred, taken = set[str](), set[str]()
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
            if "_label_Action" not in item and not item.keys().isdisjoint(
                ("RewardValue", "ActionTaken")
            ):
                if item.get("RewardValue") is not None:
                    late[id] = checks.real(f"RewardValue in line {number}", item["RewardValue"])
                if item.get("ActionTaken"):
                    taken.add(id)
                continue
            # A dict keeps the place of an event's first state.
            events[id] = (
                None
                if item.get("_skipLearn")
                else _event(item, f"{os.fspath(path)}, line {number}")
            )
            (deferred.add if item.get("_deferred") else deferred.discard)(id)
    decisions, waiting, never = [], 0, 0
    for id, event in events.items():
        if event is None or (id in deferred and id not in taken):
            never += 1
            continue
        reward = late.get(id, None if event["cost"] is None else -event["cost"])
        if reward is None:
            waiting += 1
        else:
            decisions.append((event, reward))
    if not decisions:
        raise ValueError(
            f"{os.fspath(path)} has no decision with a "
            f"reward{f' that was shown ({never} were not)' if never else ''}."
        )
    left = {"decisions without a reward": waiting, "decisions that were never shown": never}
    return decisions, {words: count for words, count in left.items() if count}


def _rows_of(shown: JsonObject) -> list[JsonObject]:
    shared = _flat("", shown)
    own = [_flat("", one) for one in shown.get("_multi", ())]
    return [shared | one for one in own] if any(own) else [shared]


def _flat(name: str, value: object) -> JsonObject:
    if isinstance(value, Mapping):
        inside = [
            (f"{name}.{key}" if name else key, one)
            for key, one in value.items()
            if key == "_text" or not key.startswith("_")
        ]
        return {column: entry for key, one in inside for column, entry in _flat(key, one).items()}
    if isinstance(value, list):
        return {
            column: entry
            for k, one in enumerate(value)
            for column, entry in _flat(f"{name}[{k}]", one).items()
        }
    return {name: int(value) if isinstance(value, bool) else value}


def _lines(lines: Iterable[str], path: Path) -> Iterator[str]:
    try:
        yield from lines
    except UnicodeDecodeError:
        raise ValueError(
            f"{os.fspath(path)} holds no text, but dsjson is a file of JSON lines; for a saved "
            "session: tr.logs.from_session(tr.Session.load(path))."
        ) from None


def _event(item: JsonObject, where: str) -> JsonObject:
    other = next(
        (kind for key, kind in OTHER_LOGS.items() if key in item or key in (item.get("c") or ())),
        None,
    )
    if other is not None:
        raise ValueError(
            f"{where}: this is a log of {other}, which is not read; give one action a decision, "
            "or write the log as a table."
        )
    action, chance = item.get("_label_Action"), item.get("_label_probability")
    if not any(key.startswith("_label") for key in item):
        raise ValueError(
            f"{where}: no key begins with _label, so this is no decision of dsjson; it has "
            f"{', '.join(list(item)[:10])}. Write a table of JSON lines as CSV or Parquet, as by "
            "pandas.read_json(path, lines=True).to_parquet(other)."
        )
    if action is None or chance is None:
        raise ValueError(f"{where}: _label_Action and _label_probability must be there.")
    if item.get("pdrop"):
        raise ValueError(
            f"{where}: pdrop = {item['pdrop']} says that the log was thinned, which is not read; "
            "give a log with all events."
        )
    cost, shown = item.get("_label_cost"), item.get("c")
    shown = shown if isinstance(shown, Mapping) else {}
    multi = shown.get("_multi", [])
    if not isinstance(multi, list) or not all(isinstance(one, Mapping) for one in multi):
        raise ValueError(
            f"{where}: c._multi = {checks.show(multi)} must be a list of the actions, each a dict "
            "of its features."
        )
    most = len(multi) or None
    arm = checks.integer(f"_label_Action ({where})", action, least=1, most=most) - 1
    return {
        "arm": arm,
        "cost": None if cost is None else checks.real(f"_label_cost ({where})", cost),
        "chance": checks.real(
            f"_label_probability ({where})", chance, above=0, most=1.0 + TOLERANCE
        ),
        "time": item.get("Timestamp"),
        "c": shown,
        "names": [_name_of(one) for one in multi],
        "where": where,
        **_action_list(item, arm, most, where),
    }


def _action_list(item: JsonObject, arm: int, most: int | None, where: str) -> JsonObject:
    """The actions that could be played, from 0, with their probabilities, as far as a and p say."""
    listed, chances = item.get("a"), item.get("p")
    for name, values in (("a", listed), ("p", chances)):
        if values is not None and not isinstance(values, list):
            raise ValueError(
                f"{where}: {name} = {checks.show(values)} must be a list, an entry for each action."
            )
    if chances is not None and (listed is None or len(listed) != len(chances)):
        raise ValueError(f"{where}: a and p must be lists of the same length.")
    if listed is None:
        return {"a": None, "p": None}
    rule = (
        f"{where}: a = {checks.show(listed)} must be different actions, whole numbers from "
        f"1{f' to {most}' if most else ''}"
    )
    if not listed or not all(type(one) is int for one in listed) or len(set(listed)) < len(listed):
        raise ValueError(f"{rule}.")
    if min(listed) < 1 or max(listed) > (most or max(listed)) or arm + 1 not in listed:
        raise ValueError(
            f"{rule}, with _label_Action = {arm + 1} among them; if they count from 0, add 1 to "
            "each."
        )
    numbers = (
        None
        if chances is None
        else [checks.real(f"p ({where})", each, least=0, most=1.0 + TOLERANCE) for each in chances]
    )
    return {
        "a": [one - 1 for one in listed],
        "p": numbers,
        "from 0": listed[0] == arm and listed[0] != arm + 1,
    }


def _name_of(one: Mapping[str, object]) -> str | None:
    spaces = [one, *(space for space in one.values() if isinstance(space, Mapping))]
    name = next(
        (
            value
            for value in (one.get("_tag"), *(space.get("id") for space in spaces))
            if value not in (None, "")
        ),
        None,
    )
    return str(name) if isinstance(name, (str, int)) and not isinstance(name, bool) else None


def _by_name(
    events: list[JsonObject], arms: ArmsGiven
) -> tuple[ArmLabels, list[np.ndarray | None]]:
    """The arms, and for each decision the arms of its actions in their order; None where these are
    known by their place alone."""
    lists = [event["names"] for event in events]
    if any(None in names for names in lists) or not all(lists):
        places: dict[str, int] = {}
        for event in events:
            for place, name in enumerate(event["names"]):
                if name is not None and places.setdefault(name, place) != place:
                    raise ValueError(
                        f"{event['where']}: action {name!r} was at another place before; name "
                        "every action of every decision."
                    )
        most = max(
            max(event["arm"], len(event["names"]) - 1, *(event["a"] or [0])) for event in events
        )
        labels = ArmLabels(most + 1) if arms is None else ArmLabels.from_argument(arms)
        if labels.count <= most:
            raise ValueError(
                f"arms = {checks.show(arms)} must be at least {most + 1}, the largest action of "
                "the file."
            )
        return labels, [None] * len(events)
    twice = next(
        (event for event in events if len(set(event["names"])) < len(event["names"])), None
    )
    if twice is not None:
        raise ValueError(
            f"{twice['where']}: two actions have the same name, {checks.show(twice['names'])}; "
            "give each one of its own."
        )
    called: list[Label] = (
        sorted(set().union(*lists)) if any(names != lists[0] for names in lists) else list(lists[0])
    )
    if all(str(one).isdecimal() and str(int(one)) == one for one in called):
        called = (
            sorted(map(int, called))
            if any(names != lists[0] for names in lists)
            else list(map(int, called))
        )
    if arms is None:
        labels = ArmLabels(len(called), called)
    else:
        labels = ArmLabels.from_argument(arms)
        if isinstance(arms, int) and labels.count == len(called):
            labels = ArmLabels(labels.count, called)
    known = {str(one): k for k, one in enumerate(labels.labels or range(labels.count))}
    for event in events:
        lost = next((name for name in event["names"] if name not in known), None)
        if lost is not None:
            raise ValueError(
                f"{event['where']}: action {lost!r} is not among arms = {checks.show(arms)}; the "
                f"file has {len(called)} actions, so give their number or all their names."
            )
    return labels, [np.array([known[name] for name in names]) for names in lists]


def _log_of(
    decisions: list[tuple[JsonObject, float]],
    left: Mapping[str, int],
    arms: ArmsGiven,
    rewards: tuple[float, float],
    encoder: Encoder | None,
    path: Path,
) -> Log:
    events = [event for event, _ in decisions]
    shifted = [event for event in events if event.get("from 0")]
    if shifted and not any(
        event["a"] is not None and event["a"][0] == event["arm"] for event in events
    ):
        raise ValueError(
            f"{shifted[0]['where']}: a begins with _label_Action - 1, so it counts actions from "
            "0; add 1 to each."
        )
    labels, own = _by_name(events, arms)
    K, n = labels.count, len(events)
    H = (
        np.zeros((n, K)) if all(event["p"] is not None for event in events) else None
    )  # else only the played arm's is known
    mask = np.zeros((n, K), dtype=np.bool_)
    arm = np.empty(n, dtype=np.int64)
    for i, (event, places) in enumerate(zip(events, own, strict=True)):
        number = np.arange(K) if places is None else places
        arm[i] = number[event["arm"]]
        listed = number if event["a"] is None else number[event["a"]]
        mask[i, listed] = True
        if H is not None:
            H[i, listed] = event["p"]
    stamps = [event["time"] for event in events]
    time = None
    if all(isinstance(stamp, str) for stamp in stamps):
        bad = BadRows(n)
        try:
            time = times(np.array(stamps, dtype=object), "Timestamp", bad)
        except ValueError:
            raise ValueError(
                f"{os.fspath(path)}: Timestamp must hold times such as 2026-01-31T12:00:00Z."
            ) from None
    features = _features(decisions, K, encoder, path)
    if features is not None and features.ndim == 3:
        for i, places in enumerate(own):
            if places is not None:
                features[i, places] = features[i].copy()
    rows = Rows(
        arm,
        np.array([reward for _, reward in decisions], dtype=np.float64),
        np.array([event["chance"] for event in events], dtype=np.float64),
        features,
        None if mask.all() else mask,
        H,
        time,
    )
    return new_log(RowsInMemory(in_order(rows)), K, labels.labels, rewards=rewards, left_out=left)


def _features(
    decisions: list[tuple[JsonObject, float]], K: int, encoder: Encoder | None, path: Path
) -> np.ndarray | None:
    """(n, d) of what decisions showed, or (n, K, d) where every action has its own."""
    if encoder is None:
        return None
    shared, columns = (
        [_flat("", event["c"]) for event, _ in decisions],
        encoder.to_dict()["columns"].keys(),
    )
    if all(
        columns <= one.keys() for one in shared
    ):  # it looks at nothing that actions have for themselves
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
            f"{os.fspath(path)}: decision {few} shows the features of {numbers[few]} of {K} "
            "actions, but a log with features has those of all; give arms=, or encoder=None."
        )
    return encoded.reshape(len(rows), K, -1)


def to_dsjson(log: Log, path: Path) -> pathlib.Path:
    """Write the log as dsjson: actions from 1, costs -reward, the logger's probabilities where they
    are known, names and features.

    Names of arms stand as `_tag` of the actions, and as their feature `arm.id` where they have no
    others, so that Vowpal Wabbit tells them apart. Features are the numbers of `x`.

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
        For what has no form in dsjson: sets, slots, numbers as times that are no seconds since
        1970, and eligible arms without the logger's probabilities, unless all eligible ones had the
        same.
    """
    target = pathlib.Path(path)
    if log.size > 1:
        raise ValueError("a log of sets has no form in dsjson; write it as a table.")
    first = next(log.chunks())
    if first.slot is not None:
        raise ValueError("slots have no form in dsjson; write the log as a table.")
    if first.eligible is not None and first.probabilities is None and not log.uniform:
        raise ValueError(
            "eligible arms have a form in dsjson only beside the logger's probabilities of all "
            "arms; give them to from_frame."
        )
    with files.atomically(target) as file:
        for rows in map(_with_shares, log.chunks()):
            for i in range(rows.arm.size):
                file.write((json.dumps(_line(rows, i) | _context(log, rows, i)) + "\n").encode())
    return target


def _context(log: Log, rows: Rows, i: int) -> dict[str, object]:
    """The features and names that a decision showed, as `c`; nothing where the log has neither
    names nor features."""
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
    listed = (
        {} if rows.probabilities is not None else {"a": played_first(int(rows.arm[i]), log.arms)}
    )
    return listed | {
        "c": shared
        | {
            "_multi": [
                action(name, None if own is None else {"x": own[k].tolist()})
                for k, name in enumerate(names)
            ]
        }
    }


def played_first(arm: int, arms: int) -> list[int]:
    """Actions, from 1, as `a`, without which Vowpal Wabbit passes over a decision."""
    return [arm + 1, *(k + 1 for k in range(arms) if k != arm)]


def action(name: str, features: Mapping[str, object] | None) -> dict[str, object]:
    return {"_tag": name, **(features or {"arm": {"id": name}})}


def _with_shares(rows: Rows) -> Rows:
    if rows.probabilities is not None or rows.eligible is None:
        return rows
    return rows._replace(probabilities=rows.eligible / rows.eligible.sum(axis=1, keepdims=True))


def _line(rows: Rows, i: int) -> dict[str, object]:
    arm = int(rows.arm[i])
    others: list[int] = [arm]
    chances = [float(rows.propensity[i])]
    if rows.probabilities is not None:
        shown = (
            range(rows.probabilities.shape[1])
            if rows.eligible is None
            else np.flatnonzero(rows.eligible[i]).tolist()
        )
        others += [k for k in shown if k != arm]
        chances += [float(rows.probabilities[i, k]) for k in others[1:]]
    line = decision(str(rows.given[i]), arm, float(rows.reward[i]), chances[0])
    if rows.time is not None:
        line["Timestamp"] = _stamp(rows.time[i])
    if rows.probabilities is not None:
        line |= {"a": [k + 1 for k in others], "p": chances}
    return line


def decision(id: str, arm: int, reward: float, chance: float) -> dict[str, object]:
    return {
        "_label_cost": -reward,
        "_label_probability": chance,
        "_label_Action": arm + 1,
        "_labelIndex": arm,
        "EventId": id,
        "Version": "1",
    }


def _stamp(time: object) -> str:
    """A time as text: seconds since 1970 or a time of any kind; text stays."""
    if isinstance(time, (int, float, np.number)):
        seconds = float(time)
        try:
            time = datetime.datetime.fromtimestamp(seconds, datetime.UTC)
        except (ValueError, OverflowError, OSError):
            raise ValueError(
                f"time = {seconds:g} is no time in seconds since 1970, which dsjson needs; divide "
                "milliseconds by 1e3, nanoseconds by 1e9, or give times as dates."
            ) from None
    return str(time).replace(" ", "T").replace("+00:00", "Z")


# Logs as the dicts of the Open Bandit Pipeline, both ways. That library is not needed: a dict of
# arrays is all that is exchanged.


def from_obp(
    feedback: Mapping[str, ArrayLike],
    *,
    rewards: tuple[float, float] = (0.0, 1.0),
    floor: float | None = None,
) -> Log:
    """A log from the dict of the Open Bandit Pipeline.

    Parameters
    ----------
    feedback : dict
        n_actions, action (n,), reward (n,), pscore (n,), and where they are there position (n,),
        which becomes the slot, context (n, d), the features, pi_b (n, K, positions), of which
        pi_b[:, :, position] are the logger's probabilities, and eligible (n, K), which `to_obp`
        adds. Of slates (slate_id) pscore must be that of the arm in its slot, as
        pscore_item_position.
    rewards, floor
        As in `from_frame`.

    Returns
    -------
    Log

    Raises
    ------
    ValueError
        As `from_frame` does, and for what is no such dict.
    """
    if not isinstance(feedback, Mapping):
        raise ValueError(
            f"feedback = {checks.show(feedback)} is not a dict of arrays with action, reward and "
            "pscore, as obp makes it."
        )
    missing = [name for name in ("action", "reward", "pscore") if feedback.get(name) is None]
    if missing:
        raise ValueError(f"feedback has no {missing[0]!r}; it needs action, reward and pscore.")
    own = feedback.get("pscore_item_position")
    if feedback.get("slate_id") is not None and (
        own is None or not np.array_equal(np.asarray(feedback["pscore"]), np.asarray(own))
    ):
        remedy = (
            "feedback | {'pscore': feedback['pscore_item_position']}"
            if own is not None
            else "it as pscore_item_position and as pscore"
        )
        raise ValueError(
            "feedback has 'slate_id', so its pscore is the probability of a whole slate, but "
            f"every row needs that of its arm in its slot; give {remedy}."
        )
    position = feedback.get("position")
    table: dict[str, ArrayLike] = {
        "arm": feedback["action"],
        "reward": feedback["reward"],
        "propensity": feedback["pscore"],
    }
    if position is not None:
        table["slot"] = np.asarray(position)
    probabilities = (
        None
        if feedback.get("pi_b") is None
        else _of_positions(checks.floats("pi_b", feedback["pi_b"]), position)
    )
    context = feedback.get("context")
    K = feedback.get("n_actions", feedback.get("n_unique_action"))
    if (
        K is None and probabilities is None
    ):  # an action is a number from 0, also where some were never played
        K = int(np.max(checks.floats("action", table["arm"]), initial=0.0)) + 1
    eligible = feedback.get("eligible")
    return from_frame(
        table,
        features=None if context is None else checks.floats("context", context),
        probabilities=probabilities,
        eligible=None if eligible is None else checks.floats("eligible", eligible),
        slot=None if position is None else "slot",
        arms=None if K is None else checks.integer("n_actions", K, least=1),
        rewards=rewards,
        floor=floor,
    )


def _of_positions(pi: np.ndarray, position: ArrayLike | None) -> np.ndarray:
    """(n, K) probabilities, of each row's position where they are (n, K, positions)."""
    if pi.ndim != 3:
        return pi
    n = pi.shape[0]
    place = (
        np.zeros(n, dtype=np.int64)
        if position is None or pi.shape[2] == 1
        else np.asarray(position, dtype=np.int64)
    )
    if place.shape != (n,) or (place < 0).any() or (place >= pi.shape[2]).any():
        raise ValueError(
            f"position must hold one whole number from 0 to {pi.shape[2] - 1} for each of the {n} "
            "rows of pi_b."
        )
    return pi[np.arange(n), :, place]


def to_obp(log: Log) -> dict[str, object]:
    """The log as the dict that the Open Bandit Pipeline reads.

    Parameters
    ----------
    log : Log
        Of single arms. All its rows are held in memory.

    Returns
    -------
    dict
        n_rounds, n_actions, action, reward, pscore, position, context, action_context, pi_b; None
        for what the log does not have. Where not all arms could be played also eligible (n, K), of
        which that library takes no notice.

    Raises
    ------
    ValueError
        For logs of sets, whose rows it would take for rounds of one arm each.
    """
    if log.size > 1:
        raise ValueError(
            "a log of sets has no form in the dict of the Open Bandit Pipeline; write it as a "
            "table."
        )
    rows = whole(log)
    H = rows.probabilities
    return {
        "n_rounds": rows.arm.size,
        "n_actions": log.arms,
        "action": rows.arm,
        "reward": rows.reward,
        "pscore": rows.propensity,
        "position": rows.slot,
        "context": rows.features,
        "action_context": log.arm_features,
        "pi_b": None if H is None else H[:, :, None],
    } | ({} if rows.eligible is None else {"eligible": rows.eligible})


# The file of a session's journal, and `from_journal`: the log of the decisions in it.


FORMAT = 1
DIGITS = 8  # of a line's CRC-32


def line_of(entry: JsonObject) -> bytes:
    text = json.dumps(entry, separators=(",", ":"), allow_nan=False).encode()
    return b"%08x %b\n" % (zlib.crc32(text), text)


def read_journal(path: pathlib.Path) -> Iterator[tuple[int, JsonObject]]:
    """(position of the line's end, entry) of every whole line. Raises ValueError where a line
    before the last one is damaged."""
    with open(path, "rb") as file:
        end, number, damaged = 0, 0, 0
        for line in file:
            number += 1
            if damaged:
                raise ValueError(
                    f"path = {str(path)!r}: line {damaged} is damaged; restore the file from a "
                    "copy."
                )
            entry = entry_of(line)
            if entry is None:
                damaged = number
                continue
            end += len(line)
            if number == 1 and entry.get("journal") != FORMAT:
                raise ValueError(
                    f"path = {str(path)!r} is not a journal that this version reads; pass a file "
                    "that tr.Journal wrote."
                )
            yield end, entry
    if end == 0:
        raise ValueError(
            f"path = {str(path)!r} is not a journal; pass a file that tr.Journal wrote."
        )


def text_of_mask(mask: np.ndarray) -> str:
    """A mask as a line has it: a 1 for every arm that may be played, a 0 for the others."""
    return "".join("1" if allowed else "0" for allowed in mask.tolist())


def mask_of_text(text: str) -> np.ndarray:
    mask: np.ndarray = np.frombuffer(text.encode(), dtype=np.uint8) == ord("1")
    return mask


def entry_of(line: bytes) -> JsonObject | None:
    text = line[DIGITS + 1 : -1]
    if not line.endswith(b"\n") or line[:DIGITS] != b"%08x" % zlib.crc32(text):
        return None
    entry = json.loads(text)
    return entry if isinstance(entry, dict) else None


def from_journal(
    path: str | pathlib.Path,
    *,
    rewards: tuple[float, float] = (0.0, 1.0),
    floor: float | None = None,
) -> Log:
    """A log of the decisions in a session's journal with their rewards, features and masks, in the
    order in which they were made.

    Left out and counted (`Log.left_out`): decisions without a reward yet, those that were cancelled
    or closed without one, and those without a propensity. A decision that its session's window
    closed has the default reward. Rounds before arms were added have these as not eligible.

    Parameters
    ----------
    path : str or Path
        A file that `tr.Journal` writes; it may be written to meanwhile.
    rewards : (float, float)
        Lowest and highest reward, as in `from_frame`.
    floor : float
        That of Explore, as in `from_frame`.

    Returns
    -------
    Log

    Raises
    ------
    ValueError
        Where nothing is left, for a damaged file, and for a session whose rounds bring their own
        candidates.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import tightrope as tr
    >>> path = pathlib.Path(tempfile.mkdtemp(), "visits.journal")
    >>> with tr.Journal(path, tr.Session(tr.LinTS(), arms=2, dimension=3, seed=0)) as journal:
    ...     for age in (0.2, 0.5, 0.9):
    ...         _ = journal.reward(journal.decide([1.0, age, age**2]).id, 1.0)
    >>> tr.logs.from_journal(path)
    Log(3 rows, 2 arms, rewards in [0, 1])
    """
    path = checked_path(path)
    if not path.exists():
        raise ValueError(f"path = {str(path)!r} does not exist; pass a file that tr.Journal wrote.")
    head, decisions, added = decisions_of(path)
    if head["catalogue"]:
        raise ValueError(
            "this journal's arms are new candidates at every call, so its log has no arms to "
            "compare; keep a table."
        )
    kept = [one for one in decisions if complete(one)]
    others = [one for one in decisions if one["p"] is not None and not complete(one)]
    ended = sum(one["ended"] for one in others)
    left = {
        "open decisions": len(others) - ended,
        "cancelled, or closed without a reward": ended,
        "without a propensity": len(decisions) - len(kept) - len(others),
    }
    left = {words: count for words, count in left.items() if count}
    if not kept:
        there = ", ".join(f"{count} {words}" for words, count in left.items()) or "no decisions"
        raise ValueError(
            f"path = {str(path)!r} has no decision with a reward and a propensity ({there})."
        )
    K, names = len(added), None if head["names"] is None else tuple(added)
    X = None if head["features"] is None or head["arms"] != K else np.array(head["features"])
    return new_log(
        RowsInMemory(rows_of(kept, K, head["sets"])),
        K,
        names,
        rewards=rewards,
        floor=floor,
        arm_features=X,
        left_out=left,
    )


def decisions_of(path: pathlib.Path) -> tuple[JsonObject, list[JsonObject], list[str | int]]:
    """The first entry of a journal, its decisions with their answers and the number of arms of
    their time, and the arms at its end."""
    head: JsonObject = {}
    decisions: dict[str | int, JsonObject] = {}
    arms: list[str | int] = []
    last, moment = 0, 0.0
    for _, entry in read_journal(path):
        moment = entry["t"]
        match entry.get("call"):
            case None:
                head = entry
                arms += head["names"] or range(head["arms"])
            case "decide":
                decisions[entry["id"]] = entry | {"answers": {}, "ended": False, "arms": len(arms)}
                last = entry["round"]
            case "reward" if entry["id"] in decisions:  # others were made before the journal began
                answer(decisions[entry["id"]], entry["value"])
            case "expire":
                for id in decisions.keys() & entry["ids"]:
                    expire(decisions[id], head["default_reward"])
            case "cancel" | "close" if entry["id"] in decisions:
                decisions[entry["id"]]["ended"] = True
            case "add_arms":
                arms += entry["names"] or range(len(arms), len(arms) + entry["number"])
    if head["window"] is not None:
        for one in decisions.values():
            if (
                (moment - one["t"] > head["window"])
                if head["timed"]
                else (one["round"] < last - head["window"])
            ):
                expire(one, head["default_reward"])
    return head, list(decisions.values()), arms


def answer(one: JsonObject, value: float | list[list[float]]) -> None:
    one["answers"] |= (
        {int(arm): reward for arm, reward in value}
        if isinstance(value, list)
        else {one["arm"]: value}
    )


def expire(one: JsonObject, default: float) -> None:
    if not one["ended"]:
        one["answers"] = dict.fromkeys(arms_of(one), default) | one["answers"]


def arms_of(one: JsonObject) -> list[int]:
    arm = one["arm"]
    return arm if isinstance(arm, list) else [arm]


def complete(one: JsonObject) -> bool:
    return one["p"] is not None and len(one["answers"]) == len(arms_of(one))


def rows_of(decisions: list[JsonObject], K: int, sets: bool) -> Rows:
    repeats = np.array([len(arms_of(one)) for one in decisions])
    arm = np.array([k for one in decisions for k in arms_of(one)], dtype=np.int64)
    reward = np.array([one["answers"][k] for one in decisions for k in arms_of(one)])
    chance = np.array(
        [p for one in decisions for p in (one["p"] if isinstance(one["p"], list) else [one["p"]])]
    )
    features = features_of(decisions, K)
    masks = None
    if any(one.get("mask") is not None or one["arms"] < K for one in decisions):
        masks = np.zeros((len(decisions), K), dtype=np.bool_)
        for i, one in enumerate(decisions):
            shown = one.get("mask")
            masks[i, : one["arms"]] = True if shown is None else mask_of_text(shown)
    time = np.array([one["t"] for one in decisions])
    return Rows(
        arm,
        reward,
        chance,
        features=None if features is None else np.repeat(features, repeats, axis=0),
        eligible=None if masks is None else np.repeat(masks, repeats, axis=0),
        time=np.repeat(time, repeats),
        round=np.repeat(np.array([one["round"] for one in decisions], dtype=np.int64), repeats)
        if sets
        else None,
    )


def features_of(decisions: list[JsonObject], K: int) -> np.ndarray | None:
    """(n, d) of rounds that showed all arms one row, or (n, K, d), with zeros for arms that were
    added later; None without features."""
    if any("x" not in one for one in decisions):
        return None
    rows = [np.array(one["x"]) for one in decisions]
    if all(x.ndim == 1 for x in rows):
        return np.array(rows)
    X = np.zeros((len(rows), K, rows[0].shape[-1]))
    for i, x in enumerate(rows):
        X[i, : x.shape[0] if x.ndim == 2 else K] = x
    return X


def checked_path(path: object) -> pathlib.Path:
    if not isinstance(path, str | pathlib.PurePath):
        raise ValueError(f"path = {checks.show(path)} is not a path; pass text or a pathlib.Path.")
    return pathlib.Path(path)


# `from_session`: logs from what a session remembers of its decisions.


def from_session(
    session: Any, *, rewards: tuple[float, float] = (0.0, 1.0), floor: float | None = None
) -> Log:
    """A log of the decisions that a session remembers with their rewards, in the order of its
    rounds.

    Left out and counted (`Log.left_out`): open decisions, those closed without a reward, those
    without a propensity, which `select` and a session with measured=False ask for none, and those
    of long ago: a session remembers the last 10,000 closed decisions, and lets their features and
    masks go. A `Journal` keeps all of them, for `from_journal`.

    Parameters
    ----------
    session : Session
        A saved one is read by `Session.load(path)`.
    rewards : (float, float)
        Lowest and highest reward, as in `from_frame`.
    floor : float
        That of Explore, as in `from_frame`.

    Returns
    -------
    Log

    Raises
    ------
    ValueError
        Where nothing is left, and for what is no session.

    Examples
    --------
    >>> import tightrope as tr
    >>> session = tr.Session(tr.EpsilonGreedy(epsilon=0.2), arms=2, seed=0)
    >>> for _ in range(3):
    ...     _ = session.reward(session.decide().id, 1.0)
    >>> tr.logs.from_session(session)
    Log(3 rows, 2 arms, rewards in [0, 1])
    """
    if not hasattr(session, "answered"):
        raise ValueError(
            f"session = {checks.show(session)} is not a session; a saved one is read by "
            "Session.load(path)."
        )
    if session.catalogue:
        raise ValueError(
            "this session's arms are new candidates at every call, so its log has no arms to "
            "compare; keep a table."
        )
    kept: list[tuple[int, float, float, int]] = []
    unnamed = (
        "made by select, without a propensity"
        if session.measured
        else "without a propensity, by a session with measured=False"
    )
    waiting = session.waiting
    left = {
        "open decisions": waiting,
        "closed without a reward": 0,
        unnamed: session.played - (waiting - len(session.open)),
    }
    remembered = 0
    for decision, answers in sorted(session.answered(), key=lambda item: item[0].round):
        remembered += 1
        if np.isnan(decision.propensity).any():
            left[unnamed] += 1
        elif answers is None or (
            isinstance(answers, dict) and len(answers) < np.size(decision.arm)
        ):
            left["closed without a reward"] += 1
        else:
            arms = np.atleast_1d(decision.arm).tolist()
            chances = np.atleast_1d(decision.propensity).tolist()
            paid = [answers[k] for k in arms] if isinstance(answers, dict) else [answers]
            kept += zip(arms, paid, chances, [decision.round] * len(arms), strict=True)
    left["cancelled, or closed too long ago to be known"] = (
        session.decided - session.played - remembered - len(session.open)
    )
    left = {words: count for words, count in left.items() if count}
    if not kept:
        there = ", ".join(f"{count} {words}" for words, count in left.items()) or "no decisions"
        raise ValueError(
            f"this session has no decision with a reward and a propensity ({there}); make them "
            "with Session.decide."
        )
    arm, reward, chance, rounds = map(np.array, zip(*kept, strict=True))
    rows = Rows(
        arm,
        reward,
        chance,
        time=rounds.astype(np.float64),
        round=None if session.arms.oracle is None else rounds,
    )
    return new_log(
        RowsInMemory(rows),
        session.arms.number,
        session.names,
        rewards=rewards,
        floor=floor,
        arm_features=session.arms.features,
        left_out=left,
    )
