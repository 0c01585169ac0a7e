"""Files that the command line reads: logs of any format, files that say which policy is to be
judged, and experiments as YAML."""

import contextlib
import functools
import operator
import pathlib
import re
import typing
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields
from typing import Annotated, Any, Literal

import numpy as np
import pydantic
import yaml

from ..core import checks
from ..core.fields import Matrix
from ..core.policy import RECIPES, Monitor, Policy, Problem, ProblemRecipe, is_policy, label
from ..core.registry import load_module, load_plugins, policy_from_spec
from ..core.types import Arguments
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
from ..simulation.monitors import Budget, SetValue
from ..simulation.stopping import Ranking

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


# Experiments as YAML: problem, policies, horizon or the end of an identification, replications,
# seed; checked before anything runs. What a file may say of a problem is what its class or recipe
# declares: nothing here knows any of them.


class _Loader(yaml.SafeLoader):
    """YAML as people write it: 1e4 and 1.5e4 are whole numbers, although YAML 1.1 wants a point and
    a signed exponent."""


def _yaml_number(loader: yaml.SafeLoader, node: yaml.ScalarNode) -> int | float:
    value: float = loader.construct_yaml_float(node)
    return (
        int(value)
        if "e" in node.value.lower() and value.is_integer() and abs(value) <= checks.MOST_ROUNDS
        else value
    )


_Loader.add_implicit_resolver(
    "tag:yaml.org,2002:float",
    re.compile(r"^[-+]?[0-9][0-9_]*(\.[0-9_]*)?[eE][-+]?[0-9]+$"),
    list("-+0123456789"),
)
_Loader.add_constructor("tag:yaml.org,2002:float", _yaml_number)

MONITORS: dict[str, Callable[..., Monitor]] = {"Budget": Budget, "SetValue": SetValue}
STRICT = pydantic.ConfigDict(extra="forbid", arbitrary_types_allowed=True)


class Spec(pydantic.BaseModel):
    model_config = STRICT

    title: str = "tightrope run"
    mode: Literal["simulate", "identify"] = "simulate"
    modules: list[str] = []
    problem: Any
    policies: dict[str, dict[str, object]] = pydantic.Field(min_length=1)
    horizon: int | None = pydantic.Field(default=None, ge=1)  # of simulate
    checkpoints: list[int] | None = None
    monitor: dict[str, object] | None = None
    max_rounds: int | None = pydantic.Field(default=None, ge=1)  # of identify
    budget: int | None = pydantic.Field(default=None, ge=1)
    replications: int = pydantic.Field(default=20, ge=1)
    until: Ranking | None = None
    seed: int = pydantic.Field(default=0, ge=0)

    @pydantic.field_validator("policies", mode="before")
    @classmethod
    def _written_short(cls, policies: object) -> object:
        """`[UCB, {policy: KLUCB}]` names policies after their classes; `a: UCB` is `a: {policy:
        UCB}`."""
        if isinstance(policies, list):
            names = [item.get("policy") if isinstance(item, dict) else item for item in policies]
            repeated = next((name for k, name in enumerate(names) if name in names[:k]), None)
            if repeated is not None:
                raise ValueError(
                    f"{repeated} is there twice; give names, as in {{one: {repeated}, two: "
                    f"{repeated}}}"
                )
            policies = dict(zip(names, policies, strict=True))
        if isinstance(policies, dict):
            return {
                name: {"policy": item} if isinstance(item, str) else item
                for name, item in policies.items()
            }
        return policies

    @pydantic.model_validator(mode="after")
    def _of_one_mode(self) -> "Spec":
        others = {
            "simulate": ("max_rounds", "budget"),
            "identify": ("horizon", "checkpoints", "monitor", "until"),
        }[self.mode]
        wrong = next((name for name in others if getattr(self, name) is not None), None)
        if wrong is not None:
            raise ValueError(
                f"{wrong} is not of mode: {self.mode}; leave it out, or write the other mode"
            )
        if self.mode == "simulate" and self.horizon is None:
            raise ValueError("horizon is missing; give a number of rounds, or mode: identify")
        return self

    def options(self) -> Arguments:
        """Arguments of `simulate` or `identify` besides problem, policies, seed and where to
        play."""
        if self.mode == "identify":
            limits = {"max_rounds": self.max_rounds, "budget": self.budget}
            return {"replications": self.replications} | {
                name: value for name, value in limits.items() if value is not None
            }
        many = {"replications": self.replications} if self.until is None else {"until": self.until}
        return many | {
            "horizon": self.horizon,
            "checkpoints": self.checkpoints,
            "monitor": made_monitor(self.monitor),
        }


def spec_model() -> type[Spec]:
    load_plugins()
    models = [_problem_model(recipe) for recipe in RECIPES.values()]
    union: Any = Annotated[
        functools.reduce(operator.or_, models), pydantic.Field(discriminator="kind")
    ]
    return pydantic.create_model("Spec", __base__=Spec, problem=(union, ...))


def _problem_model(recipe: ProblemRecipe) -> type[pydantic.BaseModel]:
    fields: Arguments = {"kind": (Literal[recipe.kind], ...)} | dict(recipe.parameters)
    return pydantic.create_model(recipe.kind, __config__=STRICT, **fields)


def read_yaml(path: pathlib.Path, argument: str) -> Any:
    """The content of a YAML file. Raises ValueError in one line that begins with the argument."""
    try:
        return yaml.load(path.read_text(), _Loader)  # a SafeLoader
    except FileNotFoundError:
        raise ValueError(f"{argument} = {str(path)!r} does not exist; pass a YAML file.") from None
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise ValueError(
            f"{argument} = {str(path)!r} is not YAML: {' '.join(str(error).split())[:200]}"
        ) from None


def read_spec(path: pathlib.Path) -> tuple[Spec, Problem | Sequence[Problem], dict[str, Policy]]:
    """The checked spec, its problem and its policies. Raises ValueError with one line that names
    what is wrong."""
    data = read_yaml(path, "SPEC")
    _load_modules(data, path.parent)
    model = spec_model()
    try:
        spec = model.model_validate(data)
    except pydantic.ValidationError as error:
        raise ValueError(f"{path.name}: {_sentence(error, model)}") from None
    if spec.until is not None and "replications" in spec.model_fields_set:
        raise ValueError(
            f"{path.name}: replications and until are both there; until finds their number, "
            "so leave one out."
        )
    try:
        made_monitor(spec.monitor)
    except ValueError as error:
        raise ValueError(f"{path.name}: monitor: {error}") from None
    policies = {}
    for name, item in spec.policies.items():
        try:
            policies[name] = policy_from_spec(item)
        except ValueError as error:
            raise ValueError(f"{path.name}: policies.{name}: {error}") from None
    return spec, made_problem(spec.problem, path.parent), policies


def _load_modules(data: object, folder: pathlib.Path) -> None:
    """Import what the spec lists as modules; files are looked for beside it."""
    listed = data.get("modules") if isinstance(data, dict) else None
    for name in listed if isinstance(listed, list) else ():
        if isinstance(name, str):
            load_module(str(folder / name) if name.endswith(".py") else name, "modules:")


def _sentence(error: pydantic.ValidationError, model: type[Spec]) -> str:
    unknown = "extra_forbidden", "unexpected_keyword_argument"
    first = min(
        error.errors(), key=lambda one: one["type"] not in unknown
    )  # a misspelt name is why another one is missing
    where, message = first["loc"], first["msg"].removeprefix("Value error, ").rstrip(".")
    hint = ""
    if first["type"] in unknown:
        kinds = RECIPES.get(str(where[1])) if where[0] == "problem" and len(where) > 2 else None
        known: Sequence[str] = (
            list(kinds.parameters)
            if kinds
            else list(Ranking.__dataclass_fields__ if where[0] == "until" else model.model_fields)
        )
        message, hint = (
            f"there is no such entry; they are {', '.join(known)}",
            checks.hint(where[-1], known),
        )
    elif first["type"] == "union_tag_invalid":
        hint = checks.hint(first["ctx"]["tag"], RECIPES)
    place = ".".join(str(part) for part in where)
    return f"{place} = {str(first['input'])[:80]!r}: {message}.{hint}" if place else f"{message}."


def made_monitor(data: dict[str, object] | None) -> Monitor | None:
    """The monitor that a spec asks for: {monitor: Budget, baseline: 0, ..}."""
    if data is None:
        return None
    name = data.get("monitor")
    checks.choice("monitor", name, tuple(MONITORS))
    try:
        return MONITORS[str(name)](
            **{key: value for key, value in data.items() if key != "monitor"}
        )
    except TypeError as error:
        raise ValueError(str(error)) from None


def made_problem(checked: Any, folder: pathlib.Path) -> Problem | Sequence[Problem]:
    """The problem that a checked part of a spec asks for; names of files are looked for in
    `folder`."""
    recipe = RECIPES[checked.kind]
    arguments = {name: getattr(checked, name) for name in recipe.parameters}
    files = [
        name
        for name, (schema, _) in recipe.parameters.items()
        if isinstance(arguments[name], str)
        and (schema == Matrix or Matrix in typing.get_args(schema))
    ]
    return recipe.make(**arguments | {name: _rows(name, arguments[name], folder) for name in files})


def _rows(name: str, file: str, folder: pathlib.Path) -> np.ndarray:
    path = folder / file
    if not path.exists():
        raise ValueError(
            f"problem.{name} = {file!r} does not exist in {folder}; give a .npy or .csv file or "
            "the numbers themselves."
        )
    try:
        return (
            np.load(path, allow_pickle=False)
            if path.suffix == ".npy"
            else np.loadtxt(path, delimiter=",", ndmin=2)
        )
    except (ValueError, OSError, EOFError) as error:
        kind = type(error).__name__
        raise ValueError(
            f"problem.{name} = {file!r} is not a file of numbers ({kind}); give a .npy or .csv "
            "file."
        ) from None
