"""Names: which policies and problems there are, inside the package and outside, and how data names them.

A class made by `@policy` or `@problem` registers itself when its module is imported. Installed packages are found by their entry
points in the group `tightrope.policies`, each of which names a module; `load_module` imports one that the command line names.
"""

import dataclasses
import functools
import importlib
import inspect
import pathlib
import pkgutil
import sys
import traceback
import typing
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeGuard, TypeVar

from . import checks, notebook

if TYPE_CHECKING:
    from .parameters import Field, Traits

T = TypeVar("T")
Maker = TypeVar("Maker", bound="Callable[..., Problem | Sequence[Problem]]")

GROUP = "tightrope.policies"


class Policy:
    """What every policy class is, once `@policy` has made it."""

    __slots__ = ()
    FIELDS: ClassVar[Mapping[str, "Field"]]  # its parameters, by name
    TRAITS: ClassVar["Traits"]  # what the engine, the service and the documentation know of it

    def _repr_html_(self) -> str:
        """The policy in a notebook: what it does, its parameters and their ranges, its source."""
        kind = type(self)
        what = (kind.__doc__ or "").strip().splitlines()[0]
        rows = [[name, repr(value), kind.FIELDS[name].words] for name, value in shown(self).items()]
        return notebook.table(f"{kind.__name__}: {what}", ["parameter", "value", "range"], rows, kind.TRAITS.paper)

    if TYPE_CHECKING:  # what a NamedTuple of its parameters has

        def __init__(self, *unnamed: object, **given: object) -> None: ...
        def __iter__(self) -> Iterator[object]: ...
        @classmethod
        def _make(cls, values: Iterable[object]) -> Self: ...
        def _replace(self, **changes: object) -> Self: ...


class Problem:
    """What every problem class is, once `@problem` has made it."""

    __slots__ = ()
    FIELDS: ClassVar[Mapping[str, "Field"]]
    COMPILED: ClassVar[bool]  # whether its kernels are

    if TYPE_CHECKING:

        def __init__(self, *unnamed: object, **given: object) -> None: ...
        def _replace(self, **changes: object) -> Self: ...


@dataclasses.dataclass(frozen=True)
class Recipe:
    """A problem that a YAML file can ask for: what makes it, and its parameters with their types and defaults (`...`: required)."""

    kind: str
    make: Callable[..., Problem | Sequence[Problem]]
    parameters: Mapping[str, tuple[object, object]]


REGISTRY: "dict[str, type[Policy] | Preset]" = {}  # policies and presets, by name
PROBLEMS: dict[str, type[Problem]] = {}  # problem classes, by name
RECIPES: dict[str, Recipe] = {}  # problems, by the kind that a spec names


def add(names: dict[str, T], name: str, item: T) -> None:
    """Register a policy or a recipe. Another item of the same name is refused; running the same definition again replaces it."""
    before = names.get(name)
    if before is not None and _place(before) != _place(item):
        where, what = _place(before)
        raise ValueError(f"the name {name!r} is taken by {what} in {where}; call {_place(item)[1]} in {_place(item)[0]} something else.")
    names[name] = item


def _place(item: object) -> tuple[str, str]:
    """File (or module) and name of a definition."""
    origin: Any = getattr(item, "make", item)
    file = getattr(sys.modules.get(origin.__module__), "__file__", None)
    return file or origin.__module__, getattr(origin, "__qualname__", origin.__name__)


def recipe(kind: str) -> Callable[[Maker], Maker]:
    """Decorator: specs may ask for `kind`, which this function makes. Its annotated parameters are what they may say."""

    def register(make: Maker) -> Maker:
        hints = typing.get_type_hints(make, include_extras=True)
        defaults = {name: parameter.default for name, parameter in inspect.signature(make).parameters.items()}
        parameters = {name: (hints[name], ... if item is inspect.Parameter.empty else item) for name, item in defaults.items()}
        add(RECIPES, kind, Recipe(kind, make, parameters))
        return make

    return register


def load_module(name: str, argument: str = "--import") -> None:
    """Import a module, or a .py file, so that its policies and problems are registered. Raises ValueError in one sentence.

    argument: how the user named it.
    """
    path = pathlib.Path(name)
    folder, module = (path.parent.resolve(), path.stem) if name.endswith(".py") else (pathlib.Path.cwd(), name)
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))
    try:
        found = importlib.import_module(module)
    except Exception as error:
        if isinstance(error, ModuleNotFoundError) and (error.name == module or module.startswith(f"{error.name}.")):
            raise ValueError(f"{argument} {name} was not found; give a module that is installed or in {folder}, or a .py file.") from None
        last = traceback.extract_tb(error.__traceback__)[-1]
        raise ValueError(
            f"{argument} {name} failed: {type(error).__name__}: {error} ({pathlib.Path(last.filename).name}, line {last.lineno})."
        ) from None
    if name.endswith(".py") and pathlib.Path(found.__file__ or "").resolve() != path.resolve():
        raise ValueError(
            f"{argument} {name} cannot be imported beside the module {module!r} of {found.__file__}; call the file something else."
        )


def import_all(path: Iterable[str], package: str, names: dict[str, T]) -> dict[str, T]:
    """Import every module of a package, and return the names that they registered."""
    for found in pkgutil.walk_packages(path, f"{package}."):
        importlib.import_module(found.name)
    return names


@functools.cache
def load_plugins() -> None:
    """Import the modules that installed packages name in the group `tightrope.policies`; one that fails is named in a warning."""
    for point in entry_points(group=GROUP):
        try:
            point.load()
        except Exception as error:
            warnings.warn(f"{point.value} of the entry-point group {GROUP} was not loaded ({type(error).__name__}: {error}).", stacklevel=2)


def is_policy(value: object) -> TypeGuard[Policy]:
    """Whether a value is an instance of a registered policy class."""
    return isinstance(value, Policy)


def is_policy_class(value: object) -> "TypeGuard[type[Policy] | Preset]":
    """Whether a value is a registered class or a preset, which makes policies when called."""
    return isinstance(value, Preset) or (isinstance(value, type) and issubclass(value, Policy))


def shown(value: Policy) -> dict[str, object]:
    """Parameters of a policy as the user wrote them."""
    return {name: field.decode(stored) for (name, field), stored in zip(type(value).FIELDS.items(), value, strict=True)}


def label(value: Policy) -> str:
    """A policy in short: its name and the parameters that differ from their defaults."""
    fields = type(value).FIELDS
    given = [
        label(item) if is_policy(item) else f"{name}={item!r}"
        for name, item in shown(value).items()
        if fields[name].required or item != fields[name].default
    ]
    return type(value).__name__ + (f"({', '.join(given)})" if given else "")


def described(value: Policy) -> dict[str, object]:
    """A policy as JSON-ready data that `built` turns back into it."""

    def plain(item: object) -> object:
        return described(item) if is_policy(item) else item

    return {"policy": type(value).__name__, **{name: plain(item) for name, item in shown(value).items()}}


def built(data: Mapping[str, object]) -> Policy:
    """The policy that `described` wrote down, or that a YAML file asks for: {"policy": name, parameter: value, ..}."""
    if not isinstance(data, dict) or "policy" not in data:
        raise ValueError(f"{checks.show(data)} does not name a policy; write it as {{policy: UCB, alpha: 2}}.")
    parameters = {
        name: built(item) if isinstance(item, dict) and "policy" in item else item for name, item in data.items() if name != "policy"
    }
    try:
        return find(data["policy"])(**parameters)
    except TypeError as error:
        raise ValueError(str(error)) from None


def find(name: object) -> "type[Policy] | Preset":
    """Registered policy class or preset of a name, from installed packages too; a misspelt one is refused with the nearest."""
    if not isinstance(name, str) or name not in REGISTRY:
        load_plugins()
    if isinstance(name, str) and name in REGISTRY:
        return REGISTRY[name]
    raise ValueError(f"policy = {checks.show(name)} is not one of {', '.join(sorted(REGISTRY))}.{checks.hint(name, REGISTRY)}")


def parameter_lines(item: "type[Policy] | Preset") -> list[str]:
    """A line for each parameter of a class or preset: its name, default and range."""
    given = item.defaults if isinstance(item, Preset) else {}
    lines = []
    for name, field in item.FIELDS.items():
        default = "required" if field.required and name not in given else repr(given.get(name, field.default))
        lines.append(f"{name} = {default}   {field.words}")
    return lines


class Preset:
    """A policy class under another name with other defaults; every parameter can still be given.

    plays: what it makes use of among what the class accepts; None: all.
    """

    def __init__(self, name: str, base: Any, doc: str, plays: tuple[str, ...] | None = None, **defaults: object) -> None:
        self.__name__, self.summary, self.defaults = name, doc, defaults
        self.base: type[Policy] = base  # type checkers do not know it as what `@policy` made of the class
        self.__module__ = base.__module__
        self.FIELDS = base.FIELDS
        self.TRAITS = dataclasses.replace(base.TRAITS, accepts=plays or base.TRAITS.accepts)
        self.__signature__ = inspect.Signature([
            parameter.replace(default=defaults.get(parameter.name, parameter.default))
            for parameter in inspect.signature(base).parameters.values()
        ])  # fmt: skip
        self.__doc__ = "\n".join([doc, "", f"{base.__name__} with other defaults.", *(f"    {line}" for line in parameter_lines(self))])
        add(REGISTRY, name, self)

    def __call__(self, *unnamed: object, **given: object) -> Policy:
        return self.base(*unnamed, **(self.defaults | given))

    def __repr__(self) -> str:
        return f"<preset {self.__name__} of {self.base.__name__}>"


def registered() -> Iterator[tuple[str, type[Policy] | Preset]]:
    """Names and classes (or presets), by name, with those of installed packages."""
    load_plugins()
    yield from sorted(REGISTRY.items())


def examples(package: str = "", problem: Problem | None = None) -> dict[str, Policy]:
    """Ready instances of every policy (of a package), by their repr: what its module's `example` returns, or else the class with
    its defaults. problem: for policies that know the truth, whose `example` takes a problem; they have none without it."""
    if not package:
        load_plugins()
    found: dict[str, Policy] = {}
    for module in dict.fromkeys(item.__module__ for item in REGISTRY.values() if item.__module__.startswith(package)):
        made = getattr(sys.modules[module], "example", None)
        if made is None:
            instances = _defaults(module)
        else:
            instances = made(problem) if "problem" in inspect.signature(made).parameters else made()
        found |= {repr(instance): instance for instance in instances}
    return found


def _defaults(module: str) -> list[Policy]:
    classes = [item for item in REGISTRY.values() if item.__module__ == module and not isinstance(item, Preset)]
    return [cls() for cls in classes if not any(field.required for field in cls.FIELDS.values())]
