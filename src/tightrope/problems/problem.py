"""How a problem declares itself: `@problem` turns an annotated class into a checked NamedTuple, as `@policy` does.

Its parameters are also what a spec may say of it. Most problems have a mean for every arm that stays as it is; a class with `means`
gets the kernels for that, and registers those of its own where it differs.
"""

from collections.abc import Callable
from typing import TypeVar, dataclass_transform

import numpy as np

from ..compiled.kernels import jit
from ..core import checks
from ..core.declaration import check_methods, declared, named_tuple, parameters_of
from ..core.fields import choice, derived, flag, integer, matrix, real, scratch, unchecked, vector
from ..core.names import PROBLEMS, RECIPES, ProblemRecipe, add
from ..core.problem import Problem
from ..core.types import Stored
from ..core.verbs import VERBS, Arms, Context
from .rewards import RANGES, draw_reward, reward_kind

T = TypeVar("T")
PROBLEM_VERBS = {name: VERBS[name] for name, method in vars(Problem).items() if name in VERBS}


@dataclass_transform(kw_only_default=False, field_specifiers=(
    real, integer, choice, flag, vector, matrix, unchecked, derived, scratch, reward_kind))  # fmt: skip
def problem(kind: str | None = None, *, compiled: bool = True) -> Callable[[type[T]], type[T]]:
    """Class decorator that makes and registers a problem. Parameters may be given by position, except those with kw_only=True.

    A function `complete` in the class turns the dict of parameters into that of everything stored: those with kept=True, and what is
    `derived()` or `scratch()`. A class with `means` (K,) is given `best`, their maximum, unless it declares one, and these kernels until it
    registers others: observe (nothing to see), mean (means[arm]), regret (best - means[action]), arms (K of them), play where there are
    `rewards` and `noise`; and private (copies of what is `scratch()`).

    Parameters
    ----------
    kind : str
        Its name in specs; None, the default: specs cannot ask for it.
    compiled : bool
        False where its kernels are plain Python, so that the loop runs interpreted. Default True.

    Returns
    -------
    function
        The decorator.

    Raises
    ------
    ValueError
        Where another problem has this name or kind.
    """

    def build(cls: type[T]) -> type[T]:
        fields, others = declared(cls)
        names = {name for name, field in fields.items() if field.kept} | set(others)
        complete = getattr(cls, "complete", dict)
        written = tuple(name for name, item in others.items() if item.scratch)
        static = "means" in names and "best" not in names

        def with_best(arguments: Stored) -> Stored:
            stored = complete(arguments)
            locked = {name: read_only(value) if name not in written else value for name, value in stored.items()}
            return locked | {"best": float(stored["means"].max())} if static else locked

        leading = [name for name, field in fields.items() if not field.named]
        problem_class = named_tuple(cls, Problem, leading, with_best, more=("best",) if static else ())
        problem_class.COMPILED = compiled
        kept = [name for name, field in fields.items() if field.kept]
        problem_class.__repr__ = lambda self: f"{cls.__name__}({', '.join(f'{name}={checks.show(getattr(self, name))}' for name in kept)})"
        problem_class.WRITTEN = written
        if "means" in names:
            _answers_by_means(problem_class, names, written)
        check_methods(cls, PROBLEM_VERBS, ())
        missing = [name for name in ("describe", "observe", "play", "mean", "regret") if VERBS[name].of(problem_class) is None]
        if missing:
            raise TypeError(f"{cls.__name__} needs the method{'s' if len(missing) > 1 else ''} {', '.join(missing)}.")
        add(PROBLEMS, cls.__name__, problem_class)
        if kind is not None:
            add(RECIPES, kind, ProblemRecipe(kind, problem_class, parameters_of(problem_class)))
        return problem_class

    return build


def read_only(value: T) -> T:
    """A value that a problem keeps; of an array a copy that cannot be written, so that no number changes behind what follows from it."""
    if not isinstance(value, np.ndarray):
        return value
    shown = value.copy(order="K").view()  # of an array that can be, which `private` hands to kernels: they are compiled for such arrays
    shown.flags.writeable = False
    return shown


def _answers_by_means(problem_class: type[Problem], names: set[str], written: tuple[str, ...]) -> None:
    answers: dict[str, Callable[..., object]] = {
        "observe": observe_nothing, "mean": mean_of_arm, "regret": regret_of_round if "best" in written else regret_of_arm,
        "describe": describe_ranged if "rewards" in names else describe_number,
    }  # fmt: skip
    if {"rewards", "noise"} <= names:
        answers["play"] = play_mean
    for name, method in answers.items():
        if VERBS[name].of(problem_class) is None:
            setattr(problem_class, name, method)


def describe_number(self):
    return Arms(self.means.size)


def describe_ranged(self):
    return Arms(self.means.size, rewards=RANGES[self.rewards])


@jit
def observe_nothing(self, t, rng):
    return Context(None, None, None, None)


@jit
def play_mean(self, context, action, rng):
    """A reward of the arm's mean, of the kind that `rewards` says."""
    return draw_reward(self.rewards, self.means[action], self.noise, rng)


@jit
def mean_of_arm(self, context, arm):
    return self.means[arm]


@jit
def regret_of_arm(self, context, action):
    return self.best - self.means[action]


@jit
def regret_of_round(self, context, action):
    """Regret where `observe` wrote the best mean of the round."""
    return self.best[0] - self.means[action]
