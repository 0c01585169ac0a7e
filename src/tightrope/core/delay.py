"""`Delay`: when the reward of a decision is learned, and `@delay`, which makes a delay of a class."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar, TypeVar, dataclass_transform

from .declaration import check_methods, declared, named_tuple
from .dispatch import Verb, required, verb
from .fields import Field, integer, real

T = TypeVar("T")


class Delay:
    """The base of every delay class, which `@delay` makes a NamedTuple of its parameters with these verbs.

    A reward that is d rounds late is learned before the choice of the round that is d after the next.
    """

    __slots__ = ()
    DECLARES: ClassVar[bool] = True  # annotations here are no parameters
    FIELDS: ClassVar[Mapping[str, Field]]

    @required
    def lateness(self, t, reward, rng):
        """How many rounds late, 0 at least, the reward of round t = 0, 1, .. is. reward: of a set its sum. rng: the delay's own stream."""

    @required
    def longest(self, horizon, in_order):
        """The most rounds that a reward is open, which says for how many room is made; a run that needs more ends with an error."""

    if TYPE_CHECKING:

        def __init__(self, *unnamed: object, **parameters: object) -> None: ...


lateness = verb(Delay.lateness)
longest = verb(Delay.longest, compiled=False)
VERBS: dict[str, Verb] = {"lateness": lateness.verb, "longest": longest.verb}


@dataclass_transform(field_specifiers=(real, integer))
def delay(cls: type[T]) -> type[T]:
    """Class decorator that makes a delay.

    Parameters
    ----------
    cls : class
        Its annotated fields are the parameters; its methods answer the verbs of `Delay`.

    Returns
    -------
    class
        A named tuple with checked parameters.

    Raises
    ------
    TypeError
        Where a method is misspelt, takes other arguments than its verb, or is missing.
    """
    check_methods(cls, VERBS, VERBS)
    delay_class: type[T] = named_tuple(cls, Delay, list(declared(cls)[0]), getattr(cls, "complete", dict))
    return delay_class
