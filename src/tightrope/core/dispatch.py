"""Verbs: functions whose answer is a method of their first argument's class, in plain Python and in compiled code alike.

In plain Python `select(policy, state, context, rng)` is `policy.select(state, context, rng)`. In compiled code an overload finds the same
method by the class of the NamedTuple, so that one loop serves every policy and problem.
"""

import functools
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar, cast

from ..compiled.kernels import LEAN, PART, python_of
from ..compiled.parts import shared_overload

F = TypeVar("F", bound=Callable[..., object])


@dataclass(frozen=True)
class Verb:
    """A verb: its argument names, and the method that answers for classes without one of their own."""

    name: str
    signature: tuple[str, ...]  # after the object itself
    default: Callable[..., object] | None  # None: a class must answer
    compiled: bool  # loops call it; otherwise only Python does
    optional: tuple[str, ...] = ()  # arguments after those of the signature, which a method may leave out

    def of(self, cls: type) -> Callable[..., Any] | None:
        """The method that answers for a class; None where there is none."""
        method = getattr(cls, self.name, self.default)  # a bare NamedTuple may answer verbs, too
        return None if getattr(method, "required", False) else method

    def answers(self, instance: object) -> bool:
        method = self.of(type(instance))
        return method is not None and method is not self.default

    def check(self, owner: str, method: Callable[..., object]) -> None:
        arguments = tuple(inspect.signature(python_of(method)).parameters)[1:]
        if arguments not in (self.signature, self.signature + self.optional):
            raise TypeError(f"{owner}.{self.name} takes {list(arguments)} after self, but must take {list(self.signature)}.")


def required(method: F) -> F:
    """Decorator of a base class's method that every class must have itself."""

    @functools.wraps(method)
    def missing(self: object, *arguments: object, **named: object) -> object:
        raise TypeError(f"{type(self).__name__} does not answer the verb '{method.__name__}'.")

    missing.required = True  # type: ignore[attr-defined]
    return cast(F, missing)


def verb(method: Callable[..., object], *, compiled: bool = True, lean: bool = False) -> Any:
    """The verb of a base class's method, or of a bare signature with a docstring, which every class must answer.

    compiled: loops call it. lean: its kernels all are `lean` and so is every call.
    """
    parameters = list(inspect.signature(method).parameters.values())
    names = tuple(each.name for each in parameters[1:] if each.default is each.empty)
    optional = tuple(each.name for each in parameters[1:] if each.default is None)
    default = None if getattr(method, "required", False) or "." not in method.__qualname__ else method
    described = Verb(method.__name__, names, default, compiled, optional)
    whole = len(names) + len(optional)

    @functools.cache
    def leaves_out(kernel: Callable[..., object]) -> bool:
        return len(inspect.signature(python_of(kernel)).parameters) <= len(names) + 1

    @functools.wraps(method)
    def call(first: object, *rest: object) -> object:
        kernel = described.of(type(first))
        if kernel is None:
            raise TypeError(f"{type(first).__name__} does not answer the verb '{described.name}'.")
        if optional and len(rest) == whole and leaves_out(kernel):
            rest = rest[: len(names)]
        return kernel(first, *rest)

    def choose(first: object, *rest: object) -> Callable[..., object] | None:
        kernel = described.of(getattr(first, "instance_class", type(None)))
        return None if kernel is None else python_of(kernel)

    choose.__signature__ = inspect.Signature(parameters[: len(names) + 1])  # type: ignore[attr-defined]
    if compiled:
        shared_overload(call, PART | (LEAN if lean else {}), strict=False)(choose)
    call.__dict__.pop("required", None)
    call.verb, call.answers = described, described.answers  # type: ignore[attr-defined]
    return call


def lean_verb(method: Callable[..., object]) -> Any:
    return verb(method, lean=True)
