"""Experiments as YAML: problem, policies, horizon or the end of an identification, replications,
seed; checked before anything runs.

What a file may say of a problem is what its class or recipe declares: nothing here knows any of
them.
"""

import functools
import operator
import pathlib
import re
import typing
from collections.abc import Callable, Sequence
from typing import Annotated, Any, Literal

import numpy as np
import pydantic
import yaml

from ..core import checks
from ..core.fields import Matrix
from ..core.policy import RECIPES, Monitor, Policy, Problem, ProblemRecipe
from ..core.registry import load_module, load_plugins, policy_from_spec
from ..core.types import Arguments
from .monitors import Budget, SetValue
from .stopping import Ranking


class _Loader(yaml.SafeLoader):
    """YAML as people write it: 1e4 and 1.5e4 are whole numbers, although YAML 1.1 wants a point and
    a signed exponent."""


def _number(loader: yaml.SafeLoader, node: yaml.ScalarNode) -> int | float:
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
_Loader.add_constructor("tag:yaml.org,2002:float", _number)

MONITORS: dict[str, Callable[..., Monitor]] = {"Budget": Budget, "SetValue": SetValue}
STRICT = pydantic.ConfigDict(extra="forbid", arbitrary_types_allowed=True)


class Spec(pydantic.BaseModel):
    """A whole experiment."""

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
