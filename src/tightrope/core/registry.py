"""Names: which policies and problems there are, inside the package and outside, and how data names
them.

A class made by `@policy` or `@problem` registers itself when its module is imported. Installed
packages are found by their entry points in the group `tightrope.policies`, each of which names a
module; `load_module` imports one that the command line names.
"""

import functools
import importlib
import inspect
import pathlib
import re
import sys
import traceback
import typing
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib import resources
from importlib.metadata import entry_points

from . import checks
from .policy import (
    RECIPES,
    REGISTRY,
    Policy,
    Problem,
    ProblemRecipe,
    accepts,
    add,
    is_policy,
    parameters,
)
from .types import Arms
from .verbs import reward_range

Maker = typing.TypeVar("Maker", bound="Callable[..., Problem | Sequence[Problem]]")

GROUP = "tightrope.policies"


def recipe(kind: str) -> Callable[[Maker], Maker]:
    """Decorator of a function that makes a problem, so that specs may ask for it.

    Parameters
    ----------
    kind : str
        Its name in specs. The annotated parameters of the function are what they may say.

    Returns
    -------
    function
        The decorator.
    """

    def register(make: Maker) -> Maker:
        hints = typing.get_type_hints(make, include_extras=True)
        defaults = {
            name: parameter.default
            for name, parameter in inspect.signature(make).parameters.items()
        }
        parameters = {
            name: (hints[name], ... if item is inspect.Parameter.empty else item)
            for name, item in defaults.items()
        }
        add(RECIPES, kind, ProblemRecipe(kind, make, parameters))
        return make

    return register


def load_module(name: str, argument: str = "--import") -> None:
    """Import a module, or a .py file, so that its policies and problems are registered. Raises
    ValueError in one sentence.

    argument: how the user named it.
    """
    load_own()  # whose names are taken
    path = pathlib.Path(name)
    folder, module = (
        (path.parent.resolve(), path.stem) if name.endswith(".py") else (pathlib.Path.cwd(), name)
    )
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))
    try:
        loaded = importlib.import_module(module)
    except Exception as error:
        if isinstance(error, ModuleNotFoundError) and (
            error.name == module or module.startswith(f"{error.name}.")
        ):
            raise ValueError(
                f"{argument} {name} was not found; give a module that is installed or in "
                f"{folder}, or a .py file."
            ) from None
        last = traceback.extract_tb(error.__traceback__)[-1]
        raise ValueError(
            f"{argument} {name} failed: {type(error).__name__}: {error} "
            f"({pathlib.Path(last.filename).name}, line {last.lineno})."
        ) from None
    if name.endswith(".py") and pathlib.Path(loaded.__file__ or "").resolve() != path.resolve():
        raise ValueError(
            f"{argument} {name} cannot be imported beside the module {module!r} of "
            f"{loaded.__file__}; call the file something else."
        )


@functools.cache
def load_own() -> None:
    """Import what the package offers, which happens when the first of its names is asked for."""
    package = importlib.import_module(__name__.partition(".")[0])
    for name in package.__all__:
        getattr(package, name)


@functools.cache
def load_plugins() -> None:
    """Import this package's own policies and problems, and the modules that installed packages name
    in the group `tightrope.policies`.

    One that fails is named in a warning.
    """
    load_own()
    for point in entry_points(group=GROUP):
        try:
            point.load()
        except Exception as error:
            warnings.warn(
                f"{point.value} of the entry-point group {GROUP} was not loaded "
                f"({type(error).__name__}: {error}).",
                stacklevel=2,
            )


def policy_to_spec(value: Policy) -> dict[str, object]:
    """A policy as JSON-ready data that `policy_from_spec` turns back into it."""

    def plain(item: object) -> object:
        return policy_to_spec(item) if is_policy(item) else item

    return {
        "policy": type(value).__name__,
        **{name: plain(item) for name, item in parameters(value).items()},
    }


def policy_from_spec(data: Mapping[str, object]) -> Policy:
    """The policy that `policy_to_spec` wrote down, or that a YAML file asks for: {"policy": name,
    parameter: value, ..}."""
    if not isinstance(data, dict) or "policy" not in data:
        raise ValueError(
            f"{checks.show(data)} does not name a policy; write it as {{policy: UCB, alpha: 2}}."
        )
    parameters = {
        name: policy_from_spec(item) if isinstance(item, dict) and "policy" in item else item
        for name, item in data.items()
        if name != "policy"
    }
    try:
        return find(data["policy"])(**parameters)
    except TypeError as error:
        raise ValueError(str(error)) from None


def find(name: object) -> type[Policy]:
    """Registered policy class or preset of a name, from installed packages too; a misspelt one is
    refused with the nearest."""
    if not isinstance(name, str) or name not in REGISTRY:
        load_plugins()
    if isinstance(name, str) and name in REGISTRY:
        policy_class: type[Policy] = REGISTRY[name]
        return policy_class
    raise ValueError(
        f"policy = {checks.show(name)} is not one of "
        f"{', '.join(sorted(REGISTRY))}.{checks.hint(name, REGISTRY)}"
    )


def named_policies() -> Iterator[tuple[str, type[Policy]]]:
    """Names and classes (or presets), by name, with those of installed packages."""
    load_plugins()
    yield from sorted(REGISTRY.items())


def examples(package: str = "", problem: Problem | None = None) -> dict[str, Policy]:
    """Ready instances of every policy (of a package), by their repr: its `examples`, or else the
    class with its defaults. problem: for policies that know the truth, which have none without
    it."""
    if package:
        load_own()
    else:
        load_plugins()
    instances: list[Policy] = []
    for name, item in REGISTRY.items():
        if item.__module__.startswith(package) and item.TRAITS.base is None:
            specs = item.TRAITS.examples
            if callable(specs):
                specs = specs(problem)
            elif not specs and not any(field.required for field in item.FIELDS.values()):
                specs = ({},)
            instances += [policy_from_spec({"policy": name} | spec) for spec in specs]
    return {repr(instance): instance for instance in instances}


# Who is to be cited: the papers of the policies and the library itself, as BibTeX.


POLICIES = re.compile(
    r"^% Policies: (?P<names>[^\n]+)\n(?P<entry>@\w+\{.+?^\}$)", flags=re.MULTILINE | re.DOTALL
)


@functools.cache
def entries() -> dict[str, tuple[str, ...]]:
    """BibTeX entries of every policy of the package, its own source first."""
    references: dict[str, tuple[str, ...]] = {}
    for match in POLICIES.finditer(
        resources.files(__package__).joinpath("references.bib").read_text()
    ):
        for name in match["names"].split(", "):
            references[name] = (*references.get(name, ()), match["entry"])
    return references


YEAR = 2026  # of this version: BibTeX styles warn of an entry without one


def library(version: str) -> str:
    return (
        "@software{tightrope,\n  author = {{the tightrope authors}},\n  title = {tightrope: "
        f"structured bandits for Python}},\n  year = {{{YEAR}}},\n  version = {{{version}}}\n}}"
    )


# Which policy fits which arms.


# that a regression takes in, so that squares of sums are numbers; rewards without bounds are no
# larger
LARGEST_REWARD = 1e100
ORDERS = ("on arrival", "in order")  # of decisions: when rewards are learned that come late


def offers(arms: Arms) -> tuple[str, ...]:
    if arms.oracle is not None:
        return (
            ("sets",)
            if arms.dimension and arms.features is None
            else ("sets", "sets of lasting arms")
        )
    if arms.distances is not None:
        return (
            ("points", "line", "arms")
            if arms.points is not None and arms.points.ndim == 1
            else ("points", "arms")
        )
    if arms.features is not None:
        return ("features", "arms")
    return ("contexts",) if arms.dimension else ("arms",)


def check_fit(policy: Policy, arms: Arms) -> None:
    low, high = reward_range(policy)
    if arms.rewards is not None and (
        max(arms.rewards[0], -LARGEST_REWARD) < low or min(arms.rewards[1], LARGEST_REWARD) > high
    ):
        raise ValueError(
            f"{policy!r} takes rewards in [{low:g}, {high:g}], but this problem pays rewards in "
            f"{arms.rewards}."
        )
    fits, kinds = offers(arms), accepts(policy)
    if not set(fits) & set(kinds):
        raise ValueError(
            f"{type(policy).__name__} plays {' or '.join(kinds)}, but these arms offer "
            f"{' or '.join(fits)}."
        )


def check_question(policy: Policy, arms: Arms) -> None:
    if arms.number < 2:
        name = type(policy).__name__
        raise ValueError(
            f"arms has {arms.number} row, but {name} needs at least 2 to choose from; a single "
            "arm is the best without a sample."
        )
