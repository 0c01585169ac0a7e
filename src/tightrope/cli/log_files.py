"""Files that the command line reads: logs in files of any format, and files that say which policy
is to be judged."""

import contextlib
import pathlib
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields

import numpy as np
import yaml

from ..core import checks
from ..core.policy import Policy, is_policy, label
from ..evaluation.targets import Judged, policy_to_judge
from ..logs import Log, from_dsjson, from_frame, from_journal, from_session
from ..logs.tables import (
    CSV,
    PARQUET,
    BadRows,
    InFiles,
    InMemory,
    Table,
    is_missing,
    matrix,
    open_table,
)
from ..session.session import Session
from ..simulation.spec import read_yaml

DSJSON, SESSION, JOURNAL = (".dsjson", ".jsonl", ".json"), (".safetensors",), (".journal",)
OPTIONS = (
    "rewards|time|slot|round|eligible|features|probabilities|arms|arm|floor|propensity|estimator|"
    "baseline|unit|per|method"
)
QUOTES = "'()[]."
SPECS = (".yaml", ".yml")


@dataclass(frozen=True)
class ColumnWords:
    """The columns of a table by role, as one writes it in a command.

    arm, reward, time, slot, round: names. propensity: a name, or the number that it always was;
    None: "propensity", or what `logger` says. features: names separated by commas, a * at the end
    of one stands for any ending. logger, eligible, probabilities: how the columns of the logger's
    probabilities, of the masks and of the judged policy's probabilities begin; an arm's number or
    name follows, or nothing where one column holds arrays.
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
    path: pathlib.Path,
    columns: ColumnWords,
    *,
    arms: str | None = None,
    rewards: tuple[float, float] = (0.0, 1.0),
    floor: float | None = None,
) -> tuple[Log, np.ndarray | None]:
    """A log by its file's ending, and the (n, K) probabilities of the policy to be judged where
    `columns` names them.

    arms: K, or names separated by commas. A Parquet file, or a folder of them, is read in batches,
    but for those probabilities; other files are held in memory. Raises ValueError in a sentence.
    """
    ending = path.suffix.lower()
    labels: int | list[str] | None = None
    if arms is not None:
        labels = int(arms) if arms.strip().isdigit() else [one.strip() for one in arms.split(",")]
    known = (*PARQUET, *CSV, *DSJSON, *SESSION, *JOURNAL)
    if not path.is_dir() and ending not in known:
        raise ValueError(f"LOG = {str(path)!r} has no ending among {', '.join(known)}.")
    if not path.exists():
        raise ValueError(
            f"LOG = {str(path)!r} does not exist; give a file that ends with {', '.join(known)}, "
            "or a folder of Parquet files."
        )
    if ending in (*DSJSON, *SESSION, *JOURNAL):
        changed = [
            each.name for each in fields(ColumnWords) if getattr(columns, each.name) != each.default
        ]
        number = labels if isinstance(labels, int) else None
        misplaced = changed + (["floor"] if floor is not None and ending in DSJSON else [])
        misplaced += (
            ["arms"] if arms is not None and (number is None or ending not in DSJSON) else []
        )
        if misplaced:
            kind = (
                "dsjson"
                if ending in DSJSON
                else "a saved session"
                if ending in SESSION
                else "a session's journal"
            )
            raise ValueError(
                f"{misplaced[0]} is of tables; {path.name} is read as {kind}, which has its own "
                "names."
            )
        if ending in SESSION:
            return from_session(Session.load(path), rewards=rewards, floor=floor), None
        if ending in JOURNAL:
            return from_journal(path, rewards=rewards, floor=floor), None
        return from_dsjson(path, arms=number, rewards=rewards), None
    table = open_table(path, "LOG", columns.arm)
    names, arrays = table.names, _columns_of_arrays(table)
    used = {
        columns.arm,
        columns.reward,
        columns.propensity,
        columns.time,
        columns.slot,
        columns.round,
    }
    blocks: dict[str, str | list[str] | None] = {}
    for option in ("logger", "eligible", "probabilities"):
        prefix, candidates = getattr(columns, option), [name for name in names if name not in used]
        labels, blocks[option] = _of_arms(option, prefix, candidates, labels, arrays)
    propensity: str | float | None = None
    if columns.propensity is not None:
        propensity = (
            columns.propensity if columns.propensity in names else _number(columns.propensity)
        )
    elif blocks["logger"] is None or "propensity" in names:
        propensity = "propensity"
    log = from_frame(
        table.dataset if isinstance(table, InFiles) else table.frame,
        columns.arm,
        columns.reward,
        propensity,
        features=_features(columns.features, names, arrays),
        probabilities=blocks["logger"],
        eligible=blocks["eligible"],
        time=columns.time,
        slot=columns.slot,
        round=columns.round,
        arms=labels,
        rewards=rewards,
        floor=floor,
    )
    return log, None if blocks["probabilities"] is None else _probabilities(
        table, blocks["probabilities"], columns.reward
    )


def _number(text: str) -> str | float:
    try:
        return float(text)
    except ValueError:
        return text


def _columns_of_arrays(table: Table) -> set[str]:
    """Columns that hold lists; a CSV file has none."""
    import pyarrow as pa

    if isinstance(table, InMemory):
        return set()
    return {
        each.name
        for each in table.dataset.schema
        if pa.types.is_list(each.type) or pa.types.is_fixed_size_list(each.type)
    }


def _of_arms(
    option: str,
    prefix: str | None,
    names: Sequence[str],
    labels: int | list[str] | None,
    arrays: set[str],
) -> tuple[int | list[str] | None, str | list[str] | None]:
    """The arms as far as they are known now, and the columns that begin with `prefix` in their
    order."""
    if prefix is None:
        return labels, None
    if prefix in arrays:
        return labels, prefix
    ends = [
        name.removeprefix(prefix) for name in names if name.startswith(prefix) and name != prefix
    ]
    if labels is None:
        numbers = sorted((end for end in ends if end.isdigit()), key=int)
        own = numbers == [
            str(k) for k in range(len(numbers))
        ]  # the arms are called by their numbers
        labels = (len(numbers) if own else numbers) if numbers else sorted(ends)
    wanted = [str(k) for k in range(labels)] if isinstance(labels, int) else labels
    missing = [f"{prefix}{end}" for end in wanted if end not in ends]
    if missing or not wanted:
        lacks = f"no column {missing[0]!r}" if missing else "no column that begins so"
        raise ValueError(
            f"{option} = {prefix!r}: the log has {lacks}; it has {', '.join(names[:10])}. Give a "
            "column for every arm."
        )
    return labels, [f"{prefix}{end}" for end in wanted]


def _features(text: str | None, names: Sequence[str], arrays: set[str]) -> str | list[str] | None:
    if text is None:
        return None
    columns: list[str] = []
    for word in (item.strip() for item in text.split(",")):
        if not word.endswith("*") or word in names:
            columns.append(word)
            continue
        several = [name for name in names if name.startswith(word[:-1])]
        if not several:
            raise ValueError(
                f"features = {text!r}: the log has no column that begins with {word[:-1]!r}; it "
                f"has {', '.join(names[:10])}."
            )
        columns += several
    return columns[0] if len(columns) == 1 and columns[0] in arrays else columns


def _probabilities(table: Table, columns: str | list[str], reward: str) -> np.ndarray:
    """(n, K) the judged policy's probabilities, a row for each row of the table; those of rows
    without a reward may be missing."""
    wanted = [columns] if isinstance(columns, str) else columns
    parts = []
    for batch in table.batches([*wanted, reward]):
        rows = batch.column(wanted[0]).shape[0]
        bad = BadRows(rows, is_missing(batch.column(reward)))
        parts.append(matrix(batch, "probabilities", columns, bad))
        bad.refuse(np.arange(batch.first, batch.first + rows))
    return np.concatenate(parts)


# Policies -----------------------------------------------------------------------------------------


def read_policy(path: pathlib.Path, log: Log) -> Judged | Policy:
    """The policy that a file describes: a saved session, or YAML as `policy_to_judge` reads it.
    Raises ValueError in a sentence."""
    if path.suffix.lower() not in SPECS:
        if not path.is_file():
            raise ValueError(
                f"policy = {str(path)!r} does not exist; give a YAML file ({', '.join(SPECS)}) or "
                "a saved session."
            )
        return Session.load(path)
    judged = policy_to_judge(read_yaml(path, "policy"), log, f"policy = {str(path)!r}")
    if is_policy(judged):
        return judged
    written = yaml.load(path.read_text(), yaml.BaseLoader)  # makes texts, dicts and lists only
    if "arm" not in written:
        return judged
    if not isinstance(written["arm"], str):
        raise ValueError(
            f"policy = {str(path)!r}: arm = {checks.show(written['arm'])} must be one arm, its "
            "number or its name."
        )
    return arm_of(
        written["arm"], log
    )  # as it is written, which YAML reads otherwise: NO, on, null, 012, 1e3


def read_policies(
    paths: Sequence[pathlib.Path],
    arms: Sequence[str],
    prefix: str | None,
    target: np.ndarray | None,
    log: Log,
) -> dict[str, Judged | Policy]:
    """All policies that a command names, by a short name: files by theirs, arms, and the columns
    that begin with `prefix`."""
    named: list[tuple[str, Judged | Policy]] = []
    for path in paths:
        judged = read_policy(path, log)
        named.append((label(judged) if is_policy(judged) else path.stem, judged))
    for text in arms:
        arm = arm_of(text, log)
        named.append((f"arm {arm}" if isinstance(arm, int) else arm, arm))
    if prefix is not None and target is not None:
        named.append((prefix, target))
    if not named:
        raise ValueError(
            "Give the policy to be judged: --policy, --arm or --probabilities; several are "
            "compared."
        )
    names = [name for name, _ in named]
    twice = [name for name in names if names.count(name) > 1]
    if twice:
        raise ValueError(
            f"two of the policies to be judged are called {twice[0]!r}; give their files other "
            "names."
        )
    return dict(named)


def arm_of(text: str, log: Log) -> int | str:
    """An arm by what it is called in the log, or by its number."""
    called = {str(name): name for name in log.names or ()}
    return called[text] if text in called else int(text) if text.isdigit() else text


@contextlib.contextmanager
def words_of_command() -> Iterator[Callable[[str], str]]:
    """Sentences of the library with options in place of arguments: those of errors, and of what the
    function yielded is called with."""

    def option(match: re.Match[str]) -> str:
        name = {"probabilities": "logger", "arm": "arm-column"}.get(match[1], match[1])
        return f"--{name} {match[2].strip(QUOTES).replace(', ', ',')}".rstrip()

    def translate(text: str) -> str:
        text = re.sub(r"from_frame\(\.\.\., (\w+=(?:\([^()]*\)|[^()]*))\)", r"\1", text)
        return re.sub(
            rf"\b({OPTIONS})=('[^']*'|\([^()]*\)|\[[^\]]*\]|\.{{2,3}}|[\w/]*)", option, text
        )

    try:
        yield translate
    except ValueError as error:
        raise ValueError(translate(str(error))) from None
