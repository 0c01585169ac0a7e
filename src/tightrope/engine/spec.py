"""Experiments as YAML: problem, policies, horizon, replications, seed; checked before anything runs.

What a file may say of a problem is what its class or recipe declares: nothing here knows any of them.
"""

import functools
import operator
import pathlib
import re
import typing
from collections.abc import Sequence
from typing import Annotated, Any, Literal

import numpy as np
import pydantic
import yaml

from ..parameters import Matrix
from ..registry import RECIPES, Policy, Problem, Recipe, built, load_plugins
from .stopping import Ranking


class _Loader(yaml.SafeLoader):
    """YAML as people write it: 1e4 and 1.5e4 are numbers, although YAML 1.1 wants a point and a signed exponent."""


_Loader.add_implicit_resolver(
    "tag:yaml.org,2002:float", re.compile(r"^[-+]?[0-9][0-9_]*(\.[0-9_]*)?[eE][-+]?[0-9]+$"), list("-+0123456789")
)

STRICT = pydantic.ConfigDict(extra="forbid", arbitrary_types_allowed=True)


class Until(pydantic.BaseModel):
    """Replications until the order of the policies is certain: `stopping.Ranking`."""

    model_config = STRICT

    alpha: float = 0.05
    least: int = 10
    most: int = 1000
    largest_regret: float | None = None

    def rule(self) -> Ranking:
        """What `simulate` takes."""
        return Ranking(self.alpha, self.least, self.most, self.largest_regret)


class Spec(pydantic.BaseModel):
    """A whole experiment."""

    model_config = STRICT

    title: str = "tightrope run"
    problem: Any
    policies: dict[str, dict[str, object]] = pydantic.Field(min_length=1)
    horizon: int = pydantic.Field(ge=1)
    replications: int = pydantic.Field(default=20, ge=1)
    until: Until | None = None
    seed: int = pydantic.Field(default=0, ge=0)


def spec_model() -> type[Spec]:
    """`Spec` with every kind of problem that is registered now."""
    load_plugins()
    models = [_problem_model(recipe) for recipe in RECIPES.values()]
    union: Any = Annotated[functools.reduce(operator.or_, models), pydantic.Field(discriminator="kind")]
    return pydantic.create_model("Spec", __base__=Spec, problem=(union, ...))


def _problem_model(recipe: Recipe) -> type[pydantic.BaseModel]:
    fields: dict[str, Any] = {"kind": (Literal[recipe.kind], ...)} | dict(recipe.parameters)
    return pydantic.create_model(recipe.kind, __config__=STRICT, **fields)


def read_yaml(path: pathlib.Path, argument: str) -> Any:
    """What a YAML file holds. Raises ValueError in one line that begins with the argument."""
    try:
        return yaml.load(path.read_text(), _Loader)  # a SafeLoader
    except FileNotFoundError:
        raise ValueError(f"{argument} = {str(path)!r} does not exist; pass a YAML file.") from None
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise ValueError(f"{argument} = {str(path)!r} is not YAML: {' '.join(str(error).split())[:200]}") from None


def read_spec(path: pathlib.Path) -> tuple[Spec, Problem | Sequence[Problem], dict[str, Policy]]:
    """The checked spec, its problem and its policies. Raises ValueError with one line that names what is wrong."""
    data = read_yaml(path, "SPEC")
    try:
        spec = spec_model().model_validate(data)
    except pydantic.ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"]) or "the file"
        raise ValueError(f"{path.name}: {where} = {str(first['input'])[:80]!r}: {first['msg']}.") from None
    if spec.until is not None:
        if "replications" in spec.model_fields_set:
            raise ValueError(f"{path.name}: replications and until are both there; until finds their number, so leave one out.")
        try:
            spec.until.rule()
        except ValueError as error:
            raise ValueError(f"{path.name}: until: {error}") from None
    policies = {}
    for name, item in spec.policies.items():
        try:
            policies[name] = built(item)
        except ValueError as error:
            raise ValueError(f"{path.name}: policies.{name}: {error}") from None
    return spec, made_problem(spec.problem, path.parent), policies


def made_problem(checked: Any, folder: pathlib.Path) -> Problem | Sequence[Problem]:
    """The problem that a checked part of a spec asks for; names of files are looked for in `folder`."""
    recipe = RECIPES[checked.kind]
    given = {name: getattr(checked, name) for name in recipe.parameters}
    files = [name for name, (schema, _) in recipe.parameters.items() if isinstance(given[name], str) and _may_be_rows(schema)]
    return recipe.make(**given | {name: _rows(name, given[name], folder) for name in files})


def _may_be_rows(schema: object) -> bool:
    return schema == Matrix or Matrix in typing.get_args(schema)


def _rows(name: str, file: str, folder: pathlib.Path) -> np.ndarray:
    path = folder / file
    if not path.exists():
        raise ValueError(f"problem.{name} = {file!r} does not exist in {folder}; give a .npy or .csv file or the numbers themselves.")
    try:
        return np.load(path, allow_pickle=False) if path.suffix == ".npy" else np.loadtxt(path, delimiter=",", ndmin=2)
    except (ValueError, OSError, EOFError) as error:
        kind = type(error).__name__
        raise ValueError(f"problem.{name} = {file!r} is not a file of numbers ({kind}); give a .npy or .csv file.") from None
