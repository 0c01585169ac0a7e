"""How a problem declares itself: `@problem` turns an annotated class into a checked NamedTuple, as `@policy` does.

Its parameters are also what a spec may say of it. Most problems have a mean for every arm that stays as it is; a class with `means`
gets the kernels for that, and registers those of its own where it differs.
"""

from collections.abc import Callable
from typing import TypeVar, dataclass_transform

import numpy as np

from .. import checks
from .._jit import jit
from ..parameters import (
    choice,
    declared,
    derived,
    flag,
    integer,
    matrix,
    named_tuple,
    optional_integer,
    optional_real,
    real,
    recipe_of,
    scratch,
    unchecked,
    vector,
)
from ..registry import PROBLEMS, RECIPES, Problem, add
from ..types import Stored
from ..verbs import Arms, Context, arms, mean, observe, play, private, regret
from .rewards import RANGES, draw_reward, reward_kind

T = TypeVar("T")


@dataclass_transform(kw_only_default=False, field_specifiers=(
    real, optional_real, integer, optional_integer, choice, flag, vector, matrix, unchecked, derived, scratch, reward_kind))  # fmt: skip
def problem(kind: str | None = None, *, compiled: bool = True) -> Callable[[type[T]], type[T]]:
    """Class decorator that makes and registers a problem.

    kind: its name in specs; None: specs cannot ask for it. compiled: False when its kernels are plain Python, so that the loop
    runs interpreted. Parameters may be given by position, except those with kw_only=True. A function `complete` in the class turns
    the dict of parameters into that of everything stored: those with kept=True, and what is `derived()` or `scratch()`.

    A class with `means` (K,) is given `best`, their maximum, unless it declares one, and these kernels until it registers others:
    observe (nothing to see), mean (means[arm]), regret (best - means[action]), arms (K of them), play where there are `rewards` and
    `noise`; and private (copies of what is `scratch()`). Raises ValueError where another problem has this name or kind.
    """

    def build(cls: type[T]) -> type[T]:
        fields, others = declared(cls)
        names = {name for name, field in fields.items() if field.kept} | set(others)
        complete = getattr(cls, "complete", dict)
        static = "means" in names and "best" not in names

        def with_best(given: Stored) -> Stored:
            stored = complete(given)
            return stored | {"best": float(stored["means"].max())} if static else stored

        leading = [name for name, field in fields.items() if not field.named]
        made = named_tuple(cls, Problem, leading, with_best, more=("best",) if static else ())
        made.COMPILED = compiled
        kept = [name for name, field in fields.items() if field.kept]
        made.__repr__ = lambda self: f"{cls.__name__}({', '.join(f'{name}={checks.show(getattr(self, name))}' for name in kept)})"
        written = tuple(name for name, item in others.items() if item.scratch)
        _register_defaults(made, names, written)
        add(PROBLEMS, cls.__name__, made)
        if kind is not None:
            add(RECIPES, kind, recipe_of(kind, made))
        return made

    return build


def _register_defaults(made: type[Problem], names: set[str], written: tuple[str, ...]) -> None:
    if "means" in names:
        ranged = "rewards" in names
        observe.register(made)(observe_nothing)
        mean.register(made)(mean_of_arm)
        regret.register(made)(regret_of_round if "best" in written else regret_of_arm)
        arms.register(made)(lambda problem: Arms(problem.means.size, rewards=RANGES[problem.rewards] if ranged else None))
        if {"rewards", "noise"} <= names:
            play.register(made)(play_mean)
    if written:
        private.register(made)(lambda problem: problem._replace(**{name: np.copy(getattr(problem, name)) for name in written}))


@jit
def observe_nothing(problem, t, rng):
    """Arms are the same every round."""
    return Context(None, None, None, None)


@jit
def play_mean(problem, context, action, rng):
    """A reward of the arm's mean, of the kind that `rewards` says."""
    return draw_reward(problem.rewards, problem.means[action], problem.noise, rng)


@jit
def mean_of_arm(problem, context, arm):
    """The arm's mean."""
    return problem.means[arm]


@jit
def regret_of_arm(problem, context, action):
    """Regret where one arm is the best for ever."""
    return problem.best - problem.means[action]


@jit
def regret_of_round(problem, context, action):
    """Regret where `observe` wrote the best mean of the round."""
    return problem.best[0] - problem.means[action]
