"""`Problem`: what every problem answers."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, ClassVar, Self

import numpy as np

from .dispatch import required
from .fields import Field


class Problem:
    """The base of every problem class, which `@problem` makes a NamedTuple of its parameters with these verbs.

    A problem must answer play; describe, observe, mean and regret have answers where it has `means`.
    """

    __slots__ = ()
    DECLARES: ClassVar[bool] = True  # annotations here are no parameters
    FIELDS: ClassVar[Mapping[str, Field]]
    COMPILED: ClassVar[bool]  # whether its kernels are
    WRITTEN: ClassVar[tuple[str, ...]] = ()  # arrays that `observe` writes into

    @required
    def describe(self):
        """The `Arms` description (without horizon) that policies are told."""

    def private(self):
        """A copy for one replication: of a problem that writes into its own arrays, with copies of those."""
        written, fields = getattr(self, "WRITTEN", ()), getattr(self, "_fields", ())
        changes = {name: np.copy(getattr(self, name)) for name in written}
        for name in fields:
            value = getattr(self, name)
            if name not in changes and isinstance(value, np.ndarray) and not value.flags.writeable and isinstance(value.base, np.ndarray):
                changes[name] = value.base  # kernels that only read it are compiled for arrays that can be written
        return self._replace(**changes) if changes else self

    @required
    def observe(self, t, rng):
        """Context of round t = 0, 1, ..; draws from the problem's stream."""

    @required
    def play(self, context, action, rng):
        """Reward of an action: a float, or an array with one entry per arm of a set; draws from the noise stream.

        Where a set is looked at in its order and not to its end, the array has the rewards of its first arms only; no other is learned
        from.
        """

    @required
    def mean(self, context, arm):
        """Expected reward of one arm in this round."""

    @required
    def regret(self, context, action):
        """Pseudo-regret of an action: the best value of the round minus the action's."""

    def lower_bound(self):
        """(C, a): no policy that is good on every such problem has regret below C ln T + a T as T grows; None where no bound is known."""
        return

    if TYPE_CHECKING:

        def __init__(self, *unnamed: object, **parameters: object) -> None: ...

        @property
        def _fields(self) -> tuple[str, ...]: ...
        def __iter__(self) -> Iterator[object]: ...
        def _replace(self, **changes: object) -> Self: ...
        def _asdict(self) -> dict[str, object]: ...
