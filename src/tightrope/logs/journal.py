"""The file of a session's journal, and `from_journal`: the log of the decisions in it.

A line is the CRC-32 of a JSON object in eight hexadecimal digits, a blank, and the object. The first one says what the session was. A
line is whole when it ends; what a killed process left of its last one is not read.
"""

import json
import pathlib
import zlib
from collections.abc import Iterator

import numpy as np

from ..core import checks
from ..core.types import JsonObject
from .log import Log, Rows, RowsInMemory, new_log

FORMAT = 1
DIGITS = 8  # of a line's CRC-32


def line_of(entry: JsonObject) -> bytes:
    text = json.dumps(entry, separators=(",", ":"), allow_nan=False).encode()
    return b"%08x %b\n" % (zlib.crc32(text), text)


def read_journal(path: pathlib.Path) -> Iterator[tuple[int, JsonObject]]:
    """(position of the line's end, entry) of every whole line. Raises ValueError where a line before the last one is damaged."""
    with open(path, "rb") as file:
        end, number, damaged = 0, 0, 0
        for line in file:
            number += 1
            if damaged:
                raise ValueError(f"path = {str(path)!r}: line {damaged} is damaged; restore the file from a copy.")
            entry = entry_of(line)
            if entry is None:
                damaged = number
                continue
            end += len(line)
            if number == 1 and entry.get("journal") != FORMAT:
                raise ValueError(f"path = {str(path)!r} is not a journal that this version reads; pass a file that tr.Journal wrote.")
            yield end, entry
    if end == 0:
        raise ValueError(f"path = {str(path)!r} is not a journal; pass a file that tr.Journal wrote.")


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


def from_journal(path: str | pathlib.Path, *, rewards: tuple[float, float] = (0.0, 1.0), floor: float | None = None) -> Log:
    """A log of the decisions in a session's journal with their rewards, features and masks, in the order in which they were made.

    Left out and counted (`Log.left_out`): decisions without a reward yet, those that were cancelled or closed without one, and those
    without a propensity. A decision that its session's window closed has the default reward. Rounds before arms were added have these
    as not eligible.

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
        Where nothing is left, for a damaged file, and for a session whose rounds bring their own candidates.

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
        raise ValueError("this journal's arms are new candidates at every call, so its log has no arms to compare; keep a table.")
    kept = [one for one in decisions if complete(one)]
    others = [one for one in decisions if has_propensity(one) and not complete(one)]
    ended = sum(one["ended"] for one in others)
    left = {
        "open decisions": len(others) - ended,
        "cancelled, or closed without a reward": ended,
        "without a propensity": len(decisions) - len(kept) - len(others),
    }
    left = {words: count for words, count in left.items() if count}
    if not kept:
        there = ", ".join(f"{count} {words}" for words, count in left.items()) or "no decisions"
        raise ValueError(f"path = {str(path)!r} has no decision with a reward and a propensity ({there}).")
    K, names = len(added), None if head["names"] is None else tuple(added)
    X = None if head["features"] is None or head["arms"] != K else np.array(head["features"])
    rows = RowsInMemory(rows_of(kept, K, head["sets"]))
    return new_log(rows, K, names, rewards=rewards, floor=floor, arm_features=X, left_out=left)


def decisions_of(path: pathlib.Path) -> tuple[JsonObject, list[JsonObject], list[str | int]]:
    """The first entry of a journal, its decisions with their answers and the number of arms of their time, and the arms at its end."""
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
            if (moment - one["t"] > head["window"]) if head["timed"] else (one["round"] < last - head["window"]):
                expire(one, head["default_reward"])
    return head, list(decisions.values()), arms


def answer(one: JsonObject, value: float | list[list[float]]) -> None:
    one["answers"] |= {int(arm): reward for arm, reward in value} if isinstance(value, list) else {one["arm"]: value}


def expire(one: JsonObject, default: float) -> None:
    if not one["ended"]:
        one["answers"] = dict.fromkeys(arms_of(one), default) | one["answers"]


def arms_of(one: JsonObject) -> list[int]:
    arm = one["arm"]
    return arm if isinstance(arm, list) else [arm]


def has_propensity(one: JsonObject) -> bool:
    return one["p"] is not None


def complete(one: JsonObject) -> bool:
    return has_propensity(one) and len(one["answers"]) == len(arms_of(one))


def rows_of(decisions: list[JsonObject], K: int, sets: bool) -> Rows:
    repeats = np.array([len(arms_of(one)) for one in decisions])
    arm = np.array([k for one in decisions for k in arms_of(one)], dtype=np.int64)
    reward = np.array([one["answers"][k] for one in decisions for k in arms_of(one)])
    chance = np.array([p for one in decisions for p in (one["p"] if isinstance(one["p"], list) else [one["p"]])])
    features = features_of(decisions, K)
    masks = None
    if any(one.get("mask") is not None or one["arms"] < K for one in decisions):
        masks = np.zeros((len(decisions), K), dtype=np.bool_)
        for i, one in enumerate(decisions):
            shown = one.get("mask")
            masks[i, : one["arms"]] = True if shown is None else mask_of_text(shown)
    time = np.array([one["t"] for one in decisions])
    return Rows(
        arm, reward, chance,
        features=None if features is None else np.repeat(features, repeats, axis=0),
        eligible=None if masks is None else np.repeat(masks, repeats, axis=0),
        time=np.repeat(time, repeats),
        round=np.repeat(np.array([one["round"] for one in decisions], dtype=np.int64), repeats) if sets else None,
    )  # fmt: skip


def features_of(decisions: list[JsonObject], K: int) -> np.ndarray | None:
    """(n, d) of rounds that showed all arms one row, or (n, K, d), with zeros for arms that were added later; None without features."""
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
    if not isinstance(path, str | pathlib.Path):
        raise ValueError(f"path = {checks.show(path)} is not a path; pass text or a pathlib.Path.")
    return pathlib.Path(path)
