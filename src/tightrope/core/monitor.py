"""`Monitor`: what records a run besides regret and pulls, and `@monitor`, which makes one of a class."""

import inspect
from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar, TypeVar, dataclass_transform

from .declaration import check_methods, declared, named_tuple
from .dispatch import Verb, required, verb
from .fields import Field, checkpoints, integer, real, unchecked

T = TypeVar("T")


class Monitor:
    """The base of every monitor class, which `@monitor` makes a NamedTuple of its parameters with these verbs."""

    __slots__ = ()
    DECLARES: ClassVar[bool] = True  # annotations here are no parameters
    FIELDS: ClassVar[Mapping[str, Field]]

    @required
    def begin(self, arms, n_checkpoints):
        """Fresh arrays for one replication, as a NamedTuple."""

    @required
    def watch(self, tally, policy, state, problem, context, action, t, checkpoint):
        """Record round t; `checkpoint` is the row to write at its end, or -1."""

    def admit(self, tally, context):
        """Raise ValueError where a round breaks what the monitor relies on."""
        return

    if TYPE_CHECKING:

        def __init__(self, *unnamed: object, **parameters: object) -> None: ...


VERBS: dict[str, Verb] = {name: verb(method, compiled=False).verb for name, method in vars(Monitor).items() if inspect.isfunction(method)}


@dataclass_transform(field_specifiers=(real, integer, checkpoints, unchecked))
def monitor(cls: type[T]) -> type[T]:
    """Class decorator that makes a monitor.

    Parameters
    ----------
    cls : class
        Its annotated fields are the parameters; its methods answer the verbs of `Monitor`.

    Returns
    -------
    class
        A named tuple with checked parameters.

    Raises
    ------
    TypeError
        Where a method is misspelt, takes other arguments than its verb, or is missing.
    """
    check_methods(cls, VERBS, ("begin", "watch"))
    monitor_class: type[T] = named_tuple(cls, Monitor, list(declared(cls)[0]), getattr(cls, "complete", dict))
    return monitor_class
