"""How an annotated class becomes a checked NamedTuple that keeps the class's methods.

A NamedTuple is what compiled code can take apart, and its class is by what compiled code finds the methods.
"""

import inspect
import math
from collections import namedtuple
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from ..compiled.kernels import is_kernel
from . import checks
from .dispatch import Verb
from .fields import Derived, Field
from .types import Arguments, Stored

HOOKS = ("complete", "variant")  # static methods that a class may have beside its verbs, see `named_tuple`


def declared(cls: type) -> tuple[dict[str, Field], dict[str, Derived]]:
    """Parameters and derived values of an annotated class and of the classes it stands on."""
    fields: dict[str, Field] = {}
    others: dict[str, Derived] = {}
    for parent in reversed(cls.__mro__):
        for name in inspect.get_annotations(parent) if "DECLARES" not in vars(parent) else ():
            item = parent.__dict__.get(name)
            if isinstance(item, Field):
                fields[name] = item
            elif isinstance(item, Derived):
                others[name] = item
            else:
                raise TypeError(f"{cls.__name__}.{name} needs a field such as real(default=1.0) as its value.")
    return fields, others


def check_methods(cls: type, verbs: dict[str, Verb], needed: Iterable[str]) -> None:
    """Refuse methods that answer no verb or take other arguments, and a class that lacks a verb it must answer."""
    for parent in cls.__mro__:
        if parent is object or "DECLARES" in vars(parent):
            continue
        for name, method in vars(parent).items():
            if name.startswith("_") or name in HOOKS or not (inspect.isfunction(method) or is_kernel(method)):
                continue
            if name not in verbs:
                raise TypeError(
                    f"{cls.__name__}.{name} is no verb of {', '.join(sorted(verbs))}.{checks.hint(name, verbs)} "
                    "Put helpers outside the class, or begin their names with an underscore."
                )
            verbs[name].check(cls.__name__, method)
    missing = [name for name in needed if verbs[name].of(cls) is None]
    if missing:
        raise TypeError(f"{cls.__name__} needs the method{'s' if len(missing) > 1 else ''} {', '.join(missing)}.")


def equal(one: Any, other: Any) -> bool:
    """Whether two stored values are the same; NaN, which stands for None, is itself."""
    if isinstance(one, np.ndarray) or isinstance(other, np.ndarray):
        return np.array_equal(one, other)
    return bool(one == other) or (isinstance(one, float) and isinstance(other, float) and math.isnan(one) and math.isnan(other))


def hashed(value: object) -> object:
    if isinstance(value, np.ndarray):
        return value.tobytes()
    return None if isinstance(value, float) and math.isnan(value) else value


def named_tuple(cls: type, marker: type, leading: list[str], complete: Callable[[Stored], Stored], more: Iterable[str] = ()) -> Any:
    """The class of checked NamedTuples that `cls` declares; it stands on the classes that `cls` stands on.

    marker: the base class, where `cls` names none. leading: parameters that may be given without a name. complete: turns the dict of
    checked parameters into the dict of stored values. more: derived values that have no annotation. A static method `variant` of `cls`
    may name another class that is made instead, by the parameters that were given (a dict, by name).
    """
    fields, others = declared(cls)
    hints = {name: hint for parent in reversed(cls.__mro__) for name, hint in inspect.get_annotations(parent).items()}
    stored_types = {name: hints[name] for name in [*(name for name, field in fields.items() if field.kept), *others]}
    base: Any = namedtuple(cls.__name__, [*(name for name, field in fields.items() if field.kept), *others, *more])  # type: ignore[misc]

    variant: Callable[[Arguments], Callable[..., object] | None] = getattr(cls, "variant", lambda arguments: None)

    def make(klass: type, *unnamed: object, **arguments: object) -> object:
        if len(unnamed) > len(leading) or any(name in arguments for name in leading[: len(unnamed)]):
            raise TypeError(f"{cls.__name__} takes {', '.join(leading) or 'nothing'} without a name; name the other parameters.")
        arguments |= zip(leading, unnamed, strict=False)
        other = variant(arguments)
        if other is not None:
            return other(**arguments)
        unknown = [name for name in arguments if name not in fields]
        if unknown:
            raise TypeError(
                f"{cls.__name__} has no parameter {unknown[0]!r}; it takes {', '.join(fields) or 'none'}.{checks.hint(unknown[0], fields)}"
            )
        missing = [name for name, field in fields.items() if field.required and name not in arguments]
        if missing:
            raise TypeError(f"{cls.__name__} needs {', '.join(missing)}.")
        stored = {name: field.encode(name, arguments.get(name, field.default)) for name, field in fields.items()}
        return base.__new__(klass, **complete(stored))

    def __reduce__(self: Any) -> tuple[object, ...]:
        return type(self)._make, (tuple(self),)

    def __eq__(self: tuple[object, ...], other: object) -> bool:
        return type(other) is type(self) and all(equal(one, another) for one, another in zip(self, other, strict=True))

    def __ne__(self: object, other: object) -> bool:  # a tuple has its own
        return not self == other

    def __hash__(self: tuple[object, ...]) -> int:
        return hash((type(self), *map(hashed, self)))

    hidden = {*fields, *others, *HOOKS, "__dict__", "__weakref__", "__annotations__", "__module__", "__doc__", "__slots__"}
    signature = inspect.Signature([
        inspect.Parameter(
            name,
            inspect.Parameter.POSITIONAL_OR_KEYWORD if name in leading else inspect.Parameter.KEYWORD_ONLY,
            default=inspect.Parameter.empty if field.required else field.default,
        )
        for name, field in sorted(fields.items(), key=lambda item: item[0] not in leading)
    ])  # fmt: skip
    members = {
        "__slots__": (), "__new__": make,
        "__reduce__": __reduce__, "__eq__": __eq__, "__ne__": __ne__, "__hash__": __hash__,
        "__signature__": signature, "FIELDS": fields, "STORED": stored_types,
        "__module__": cls.__module__, "__qualname__": cls.__qualname__, "__doc__": cls.__doc__,
    }  # fmt: skip
    members |= {name: value for name, value in vars(cls).items() if name not in hidden and name not in members}
    parents = [parent for parent in cls.__bases__ if parent is not object]
    if not any(issubclass(parent, marker) for parent in parents):
        parents.append(marker)
    return type(cls.__name__, (base, *parents), members)


def parameters_of(declared_class: Any) -> dict[str, tuple[object, object]]:
    """The parameters that a spec may give: types and defaults (`...`: required)."""
    return {name: (field.schema, ... if field.required else field.default) for name, field in declared_class.FIELDS.items()}
