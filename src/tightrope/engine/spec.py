"""Experiments as YAML: problem, policies, horizon, replications, seed; checked before anything runs."""

import pathlib
import re
from typing import Annotated, Any, Literal

import pydantic
import yaml

from .. import problems
from ..parameters import built
from ..solvers import oracles


class _Loader(yaml.SafeLoader):
    """YAML as people write it: 1e4 and 1.5e4 are numbers, although YAML 1.1 wants a point and a signed exponent."""


_Loader.add_implicit_resolver(
    "tag:yaml.org,2002:float", re.compile(r"^[-+]?[0-9][0-9_]*(\.[0-9_]*)?[eE][-+]?[0-9]+$"), list("-+0123456789")
)


class _Part(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(extra="forbid", arbitrary_types_allowed=True)


class BernoulliSpec(_Part):
    """Independent 0/1 arms."""

    kind: Literal["bernoulli"]
    means: list[float]

    def build(self, folder: pathlib.Path) -> Any:
        """The problem."""
        return problems.Bernoulli(self.means)


class GaussianSpec(_Part):
    """Independent normal arms."""

    kind: Literal["gaussian"]
    means: list[float]
    sd: float = 1.0

    def build(self, folder: pathlib.Path) -> Any:
        """The problem."""
        return problems.Gaussian(self.means, self.sd)


class LinearSpec(_Part):
    """Fixed arms with features: lists, or the name of a .npy or .csv file beside the spec."""

    kind: Literal["linear"]
    arms: list[list[float]] | str
    theta: list[float]
    noise: float = 1.0
    rewards: Literal["gaussian", "bernoulli", "sign"] = "gaussian"

    def build(self, folder: pathlib.Path) -> Any:
        """The problem."""
        return problems.Linear(_features(self.arms, folder), self.theta, noise=self.noise, rewards=self.rewards)


class ContextualSpec(_Part):
    """Arms redrawn every round."""

    kind: Literal["contextual-linear"]
    theta: list[float]
    arms: int = 10
    noise: float = 1.0
    rewards: Literal["gaussian", "sign"] = "gaussian"

    def build(self, folder: pathlib.Path) -> Any:
        """The problem."""
        return problems.ContextualLinear(self.theta, arms=self.arms, noise=self.noise, rewards=self.rewards)


class LipschitzSpec(_Part):
    """Points with a metric and a mean of bounded slope."""

    kind: Literal["lipschitz"]
    points: list[float] | list[list[float]]
    means: list[float]
    lipschitz: float
    rewards: Literal["bernoulli", "gaussian"] = "bernoulli"
    noise: float = 1.0

    def build(self, folder: pathlib.Path) -> Any:
        """The problem."""
        return problems.Lipschitz(self.points, self.means, self.lipschitz, rewards=self.rewards, noise=self.noise)


class SemiBanditSpec(_Part):
    """Sets of k arms with features."""

    kind: Literal["semi-bandit"]
    arms: list[list[float]] | str
    theta: list[float]
    k: int
    noise: float = 1.0
    rewards: Literal["gaussian", "bernoulli", "sign"] = "gaussian"
    shown: int | None = None

    def build(self, folder: pathlib.Path) -> Any:
        """The problem."""
        arms, oracle = _features(self.arms, folder), oracles.TopK(self.k)
        return problems.SemiBandit(arms, self.theta, oracle, noise=self.noise, rewards=self.rewards, shown=self.shown)


class JesterSpec(_Part):
    """Cold start on real ratings, one user per replication."""

    kind: Literal["jester"]
    users: int = 100
    rank: int = 35
    noise: float = 0.1
    seed: int = 0
    data: str | None = None

    def build(self, folder: pathlib.Path) -> Any:
        """One problem per user."""
        return problems.data.jester(self.users, rank=self.rank, noise=self.noise, seed=self.seed, data=self.data)


ProblemSpec = Annotated[
    BernoulliSpec | GaussianSpec | LinearSpec | ContextualSpec | LipschitzSpec | SemiBanditSpec | JesterSpec,
    pydantic.Field(discriminator="kind"),
]


class Spec(_Part):
    """A whole experiment."""

    title: str = "tightrope run"
    problem: ProblemSpec
    policies: dict[str, dict[str, Any]] = pydantic.Field(min_length=1)
    horizon: int = pydantic.Field(ge=1)
    replications: int = pydantic.Field(default=20, ge=1)
    seed: int = pydantic.Field(default=0, ge=0)


def read_spec(path: pathlib.Path) -> tuple[Spec, Any, dict[str, Any]]:
    """The checked spec, its problem and its policies. Raises ValueError with one line that names what is wrong."""
    try:
        data = yaml.load(path.read_text(), _Loader)  # a SafeLoader
    except FileNotFoundError:
        raise ValueError(f"SPEC = {str(path)!r} does not exist; pass a YAML file.") from None
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise ValueError(f"SPEC = {str(path)!r} is not YAML: {' '.join(str(error).split())[:200]}") from None
    try:
        spec = Spec.model_validate(data)
    except pydantic.ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"]) or "the file"
        raise ValueError(f"{path.name}: {where} = {str(first['input'])[:80]!r}: {first['msg']}.") from None
    policies = {}
    for name, item in spec.policies.items():
        try:
            policies[name] = built(item)
        except ValueError as error:
            raise ValueError(f"{path.name}: policies.{name}: {error}") from None
    return spec, spec.problem.build(path.parent), policies


def _features(arms: list[list[float]] | str, folder: pathlib.Path) -> Any:
    import numpy as np

    if not isinstance(arms, str):
        return arms
    path = folder / arms
    if not path.exists():
        raise ValueError(f"problem.arms = {arms!r} does not exist in {folder}; give a .npy or .csv file or the numbers themselves.")
    try:
        return np.load(path, allow_pickle=False) if path.suffix == ".npy" else np.loadtxt(path, delimiter=",", ndmin=2)
    except (ValueError, OSError, EOFError) as error:
        raise ValueError(f"problem.arms = {arms!r} is not a file of numbers ({type(error).__name__}); give a .npy or .csv file.") from None
