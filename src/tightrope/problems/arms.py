"""How a problem declares itself, and problems of independent arms."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Literal, TypeVar, dataclass_transform

import numpy as np
from numpy.typing import ArrayLike

from ..compiled.kernels import jit, lean, python_of
from ..core import checks
from ..core.fields import (
    Array,
    Declared,
    Field,
    Given,
    Matrix,
    Stored,
    Vector,
    choice,
    derived,
    flag,
    integer,
    matrix,
    real,
    scratch,
    unchecked,
    vector,
)
from ..core.policy import (
    PROBLEMS,
    RECIPES,
    Problem,
    ProblemRecipe,
    add,
    check_methods,
    declared,
    named_tuple,
    parameters_of,
)
from ..core.registry import recipe
from ..core.streams import stream
from ..core.types import Oracle
from ..core.verbs import VERBS, Arms, Context
from ..solvers.oracles import Partition, TopK, choose

# Distributions of a reward with a given mean: Gaussian, 0 or 1, -1 or 1.


REWARDS = ("gaussian", "bernoulli", "sign")
RANGES = ((-math.inf, math.inf), (0.0, 1.0), (-1.0, 1.0))
TOLERANCE = 1e-12  # by how much rounding may carry a mean out of its range


def reward_kind(*kinds: str, default: str | None = None, kw_only: bool = False) -> Declared:
    """Field: one of these kinds of reward, the first where none is given (stored as its place in
    REWARDS)."""
    return Field(
        default or kinds[0],
        " or ".join(map(repr, kinds)),
        lambda name, value: REWARDS.index(kinds[checks.choice(name, value, kinds)]),
        lambda stored: REWARDS[stored],
        schema=Literal[kinds],
        named=kw_only,
    )


@lean
def draw_reward(rewards, expected, noise, rng):
    """One reward of a given mean: Gaussian (0), 0 or 1 (1), -1 or 1 (2)."""
    if rewards == 0:
        return expected + noise * rng.standard_normal()
    if rewards == 1:
        return 1.0 if rng.random() < expected else 0.0
    return 1.0 if rng.random() < 0.5 * (1.0 + expected) else -1.0


def check_means(means: np.ndarray, rewards: int) -> None:
    """Refuse means `arms @ theta` that a 0/1 or -1/1 reward cannot have."""
    if rewards == 0:
        return
    low = RANGES[rewards][0]
    bad = (means < low - TOLERANCE) | (means > 1.0 + TOLERANCE)
    if bad.any():
        k = int(np.argmax(bad))
        raise ValueError(
            f"arms @ theta gives arm {k} the mean {means[k]:g}, but rewards = "
            f"{REWARDS[rewards]!r} needs means in [{low:g}, 1]."
        )


T = TypeVar("T")
PROBLEM_VERBS = {name: VERBS[name] for name, method in vars(Problem).items() if name in VERBS}


@dataclass_transform(
    kw_only_default=False,
    field_specifiers=(
        real,
        integer,
        choice,
        flag,
        vector,
        matrix,
        unchecked,
        derived,
        scratch,
        reward_kind,
    ),
)
def problem(kind: str | None = None, *, compiled: bool = True) -> Callable[[type[T]], type[T]]:
    """Class decorator that makes and registers a problem. Parameters may be given by position,
    except those with kw_only=True.

    A function `complete` in the class turns the dict of parameters into that of everything stored:
    those with kept=True, and what is `derived()` or `scratch()`. A class with `means` (K,) is given
    `best`, their maximum, unless it declares one, and these kernels until it registers others:
    observe (nothing to see), mean (means[arm]), regret (best - means[action]), arms (K of them),
    play where there are `rewards` and `noise`; and private (copies of what is `scratch()`).

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
            locked = {
                name: read_only(value) if name not in written else value
                for name, value in stored.items()
            }
            return locked | {"best": float(stored["means"].max())} if static else locked

        problem_class = named_tuple(
            cls,
            Problem,
            [name for name, field in fields.items() if not field.named],
            with_best,
            more=("best",) if static else (),
        )
        problem_class.COMPILED = compiled
        kept = [name for name, field in fields.items() if field.kept]
        problem_class.__repr__ = lambda self: (
            f"{cls.__name__}"
            f"({', '.join(f'{name}={checks.show(getattr(self, name))}' for name in kept)})"
        )
        problem_class.WRITTEN = written
        if "means" in names:
            _answers_by_means(problem_class, names, written)
        check_methods(cls, PROBLEM_VERBS, ())
        missing = [
            name
            for name in ("describe", "observe", "play", "mean", "regret")
            if VERBS[name].of(problem_class) is None
        ]
        if missing:
            raise TypeError(
                f"{cls.__name__} needs the method{'s' if len(missing) > 1 else ''} "
                f"{', '.join(missing)}."
            )
        add(PROBLEMS, cls.__name__, problem_class)
        if kind is not None:
            add(RECIPES, kind, ProblemRecipe(kind, problem_class, parameters_of(problem_class)))
        return problem_class

    return build


def read_only(value: T) -> T:
    """A value that a problem keeps; of an array a copy that cannot be written, so that no number
    changes behind what follows from it."""
    if not isinstance(value, np.ndarray):
        return value
    shown = value.copy(
        order="K"
        # of an array that can be, which `private` hands to kernels: they are compiled for such
        # arrays
    ).view()
    shown.flags.writeable = False
    return shown


def _answers_by_means(
    problem_class: type[Problem], names: set[str], written: tuple[str, ...]
) -> None:
    answers: dict[str, Callable[..., object]] = {
        "observe": observe_nothing,
        "mean": mean_of_arm,
        "regret": regret_of_round if "best" in written else regret_of_arm,
        "describe": describe_by_means,
    }
    if {"rewards", "noise"} <= names:
        answers["play"] = play_mean
    for name, method in answers.items():
        if VERBS[name].of(problem_class) is None:
            setattr(problem_class, name, method if problem_class.COMPILED else python_of(method))


def describe_by_means(self):
    ranges = {"rewards": RANGES[self.rewards]} if hasattr(self, "rewards") else {}
    return Arms(self.means.size, **ranges)


@jit
def observe_nothing(self, t, rng):
    return Context(None, None, None, None)


@jit
def play_mean(self, context, action, rng):
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


# Independent arms that pay 0 or 1.


@problem("bernoulli")
class Bernoulli(Problem):
    """K independent arms with rewards 0 or 1.

    Parameters
    ----------
    means : (K,) array
        Probabilities of a reward, each in [0, 1].
    """

    means: Array = vector(least=0.0, most=1.0)

    def describe(self):
        return Arms(self.means.size, rewards=(0.0, 1.0))

    @jit
    def play(self, context, action, rng):
        return 1.0 if rng.random() < self.means[action] else 0.0


# Independent arms with Gaussian rewards.


@problem("gaussian")
class Gaussian(Problem):
    """K independent arms with normal rewards.

    Parameters
    ----------
    means : (K,) array
        Means of the rewards, finite.
    sd : float >= 0
        Standard deviation of every reward.
    """

    means: Array = vector()
    sd: float = real(default=1.0, least=0.0)

    def describe(self):
        return Arms(self.means.size, rewards=(-math.inf, math.inf))

    @jit
    def play(self, context, action, rng):
        return self.means[action] + self.sd * rng.standard_normal()


# Arms whose means change: in jumps, or along straight lines.


@problem("drifting")
class Drifting(Problem):
    """K arms whose means go through a list of stages; regret is against the best arm of the round.

    Parameters
    ----------
    path : (n, K) or (n, d) array
        Means of every stage; with arms, thetas.
    every : int >= 1
        Rounds from one stage to the next; the last one lasts.
    change : "jumps" or "lines"
        Means jump where a stage begins, or go in lines from one stage to the next.
    arms : (K, d) array
        Features, for linear policies; default none.
    noise : float >= 0
        Standard deviation of Gaussian rewards.
    rewards : "bernoulli", "gaussian" or "sign"
        "bernoulli" is 0 or 1 and needs means in [0, 1], "sign" is -1 or 1.
    """

    path: Array = matrix()
    every: int = integer(least=1)
    change: Given[Literal["jumps", "lines"], int] = choice("jumps", "lines", default="jumps")
    arms: ArrayLike | None = unchecked(
        default=None, schema=Matrix | None, words="rows of numbers, or None"
    )
    noise: float = real(default=1.0, least=0.0)
    rewards: Given[Literal["bernoulli", "gaussian", "sign"], int] = reward_kind(
        "bernoulli", "gaussian", "sign", default="bernoulli"
    )
    features: np.ndarray = derived()  # (K, d); (K, 0): none
    stages: np.ndarray = derived()  # (n, K) means
    means: np.ndarray = scratch()  # (K,) of this round
    best: np.ndarray = scratch()  # (1,) their maximum

    @staticmethod
    def complete(stored: Stored) -> Stored:
        features: ArrayLike = stored.pop("arms")
        stages = stored["path"]
        if features is None:
            features = np.zeros((stages.shape[1], 0))
        else:
            features = checks.matrix("arms", features, shape=(None, stages.shape[1]))
            stages = np.ascontiguousarray(stages @ features.T)
        low, high = RANGES[stored["rewards"]]
        bad = np.argwhere((stages < low - TOLERANCE) | (stages > high + TOLERANCE))
        if bad.size:
            n, k = bad[0]
            kind = REWARDS[stored["rewards"]]
            raise ValueError(
                f"path gives arm {k} the mean {stages[n, k]:g} in stage {n}, but rewards = "
                f"{kind!r} needs means in [{low:g}, {high:g}]."
            )
        return stored | {
            "features": features,
            "stages": stages,
            "means": stages[0].copy(),
            "best": np.array([stages[0].max()]),
        }

    def describe(self):
        K, d = self.features.shape
        return Arms(
            K, features=self.features if d else None, dimension=d, rewards=RANGES[self.rewards]
        )

    @jit
    def observe(self, t, rng):
        last = self.stages.shape[0] - 1
        stage = min(t // self.every, last)
        following = min(stage + 1, last)
        share = (t - stage * self.every) / self.every if self.change == 1 else 0.0
        best = -math.inf
        for k in range(self.means.shape[0]):
            here = self.stages[stage, k]
            self.means[k] = here + share * (self.stages[following, k] - here)
            best = max(best, self.means[k])
        self.best[0] = best
        return Context(None, None, None, None)


# A list that is looked at from the top until something in it succeeds: the first click, the first
# answer, the first part that fits.


@problem(compiled=False)
class Cascade(Problem):
    """N arms of which an ordered set is played; rewards are 0 up to the first success, which is 1,
    and what stands behind it is not seen.

    Regret is against the set with the best chance, 1 - product of (1 - mean). SafeSets promises
    sums of rewards, which are not what is paid here.

    Parameters
    ----------
    means : (N,) array
        Chance of each arm to succeed when it is looked at, in [0, 1], independent of the others.
    oracle : oracle of tr.oracles, or callable
        `oracles.TopK` or `oracles.Partition`, whose best sets for sums have the best chance of a
        success too; they list arms by descending score.
    arms : (N, d) array
        Features for policies that use some; default none.

    References
    ----------
    Kveton, Szepesvári, Wen, Ashkan 2015, "Cascading bandits: learning to rank in the cascade
    model".
    """

    means: Array = vector(least=0.0, most=1.0)
    oracle: Oracle = unchecked(kept=True)
    arms: ArrayLike | None = unchecked(
        default=None, schema=Matrix | None, words="rows of numbers, or None"
    )
    features: np.ndarray = derived()  # (N, d); (N, 0): none
    best: float = derived()  # the best chance of a success

    @staticmethod
    def complete(stored: Stored) -> Stored:
        means, oracle, features = stored["means"], stored["oracle"], stored.pop("arms")
        N = means.size
        if not isinstance(oracle, TopK | Partition):
            raise ValueError(
                f"oracle = {checks.show(oracle)} does not choose sets for a cascade; pass "
                "oracles.TopK(k) or oracles.Partition."
            )
        if oracle.size > N:
            raise ValueError(f"oracle = {oracle!r} chooses more than the {N} arms; lower k.")
        features = (
            np.zeros((N, 0))
            if features is None
            else checks.matrix("arms", features, shape=(N, None))
        )
        return stored | {"features": features, "best": chance(means[choose(oracle, means, None)])}

    def describe(self):
        N, d = self.features.shape
        return Arms(
            N,
            features=self.features if d else None,
            dimension=d,
            oracle=self.oracle,
            rewards=(0.0, 1.0),
        )

    def play(self, context, action, rng):
        # As many draws wherever it ends, so that policies stay in step.
        succeeds = rng.random(self.oracle.size)[: action.size] < self.means[action]
        return succeeds[np.cumsum(succeeds) - succeeds == 0] * 1.0  # up to the first success

    def regret(self, context, action):
        return self.best - chance(self.means[action])


@recipe("cascade")
def cascade_of_k(means: Vector, k: int, arms: Matrix | None = None) -> Cascade:
    """Lists of k arms: what a spec may ask for."""
    features: ArrayLike | None = arms
    return Cascade(means, TopK(k), features)


def chance(means: np.ndarray) -> float:
    return 1.0 - float(np.prod(1.0 - means))


# A simulator in plain Python as a problem: one function that draws rewards, and whatever else is
# known.


DRAWS = 10_000  # of a reward, where its mean is not given
ESTIMATES = (
    2**31
)  # number of the replication whose streams estimate means: none that is ever played

Sample = Callable[[Any, int, np.random.Generator], float]
Shown = Callable[[int, np.random.Generator], ArrayLike]
Mean = Callable[[Any, int], float]


@problem(compiled=False)
class FromFunction(Problem):
    """Rounds that Python functions play, see `problems.from_function`, which makes it.

    Parameters
    ----------
    sample, dimension, context, rewards
        As for `from_function`.
    number : int >= 1
        Of the arms.
    features : (K, d) array
        Its `arms`, where they have features.
    expected : function of (context, arm)
        Its `mean`.
    """

    sample: Sample = unchecked(kept=True)
    number: int = integer(least=1)
    features: np.ndarray | None = unchecked(default=None, kept=True)  # (K, d) fixed ones, or None
    dimension: int = integer(default=0, least=0)
    context: Shown | None = unchecked(default=None, kept=True)
    expected: Mean | None = unchecked(default=None, kept=True)
    rewards: tuple[float, float] | None = unchecked(default=None, kept=True)
    shown: np.ndarray = scratch()  # (K, d) of this round
    means: np.ndarray = scratch()  # (K,) of this round
    best: np.ndarray = scratch()  # (1,) their maximum

    @staticmethod
    def complete(stored: Stored) -> Stored:
        sample, K, context, mean = (
            stored[name] for name in ("sample", "number", "context", "expected")
        )
        for name, value in (("sample", sample), ("context", context), ("mean", mean)):
            if not callable(value) and (name == "sample" or value is not None):
                raise ValueError(f"{name} = {checks.show(value)} is not a function.")
        if context is not None and mean is None:
            raise ValueError(
                "mean is missing; where every round has a context give mean(context, arm), by "
                "which regret is measured."
            )
        means = np.zeros(K)
        if context is None:
            features = read_only(stored["features"])
            means[:] = [
                _estimated_mean(sample, features, arm)
                if mean is None
                else _number("mean", mean(features, arm), arm)
                for arm in range(K)
            ]
        shown = np.zeros((K, stored["dimension"]))
        return stored | {"shown": shown, "means": means, "best": np.array([means.max()])}

    def describe(self):
        return Arms(
            self.number, features=self.features, dimension=self.dimension, rewards=self.rewards
        )

    def observe(self, t, rng):
        if self.context is None:
            return Context(None, None, None, None)
        self.shown[:] = checks.rows("context", self.context(t, rng), shape=self.shown.shape)
        shown = read_only(self.shown)
        self.means[:] = [
            _number("mean", self.expected(shown, arm), arm) for arm in range(self.number)
        ]
        self.best[0] = self.means.max()
        return Context(self.shown, None, None, None)

    def play(self, context, action, rng):
        shown = self.features if context.features is None else context.features
        return _number("sample", self.sample(read_only(shown), int(action), rng), int(action))


def _number(name: str, value: object, arm: int) -> float:
    return checks.real(f"{name} of arm {arm}", value)


def _estimated_mean(sample: Sample, features: np.ndarray | None, arm: int) -> float:
    rng = stream(0, ESTIMATES, arm)
    return float(
        np.mean([_number("sample", sample(features, arm, rng), arm) for _ in range(DRAWS)])
    )


def from_function(
    sample: Sample,
    arms: int | ArrayLike,
    *,
    context: Shown | None = None,
    dimension: int | None = None,
    mean: Mean | None = None,
    rewards: tuple[float, float] | None = None,
) -> FromFunction:
    """A problem from a simulator in plain Python. Its rounds run interpreted, some 10^5 a second
    and core.

    Engines that send work to other processes need functions that can be imported there.
    `testing.check_problem` checks what it returns.

    Parameters
    ----------
    sample : function of (context, arm, rng)
        Draws the reward of an arm; it must draw from rng alone and keep nothing between calls, for
        all policies and replications share it. context is read-only.
    arms : int >= 1 or (K, d) array
        Their number K, or fixed features (K, d).
    context : function of (t, rng)
        Draws what round t = 0, 1, .. shows, (K, d) features of the arms or (d,) that all arms are
        shown, where they change; sample and mean are given (K, d).
    dimension : int >= 1
        d, needed with context.
    mean : function of (context, arm)
        The expected reward, by which regret is measured; needed with context, otherwise estimated
        from 10,000 samples of every arm.
    rewards : (float, float)
        Lowest and highest reward, for policies that need to know.

    Returns
    -------
    FromFunction

    Raises
    ------
    ValueError
        On what is no function, and where one returns what is no finite number.
    """
    features = None if np.ndim(checks.floats("arms", arms)) == 0 else checks.matrix("arms", arms)
    if features is not None and context is not None:
        raise ValueError("context was given, but arms has fixed features; give the number of arms.")
    if context is not None and dimension is None:
        raise ValueError("dimension is missing; give the number d of features that context shows.")
    if context is None and dimension is not None:
        raise ValueError("dimension was given, but no context; leave it out.")
    number = checks.integer("arms", arms, least=1) if features is None else features.shape[0]
    d = (
        features.shape[1]
        if features is not None
        else 0
        if dimension is None
        else checks.integer("dimension", dimension, least=1)
    )
    bounds = None
    if rewards is not None:
        low, high = (
            checks.real(f"rewards[{i}]", value)
            for i, value in enumerate(checks.vector("rewards", rewards, length=2))
        )
        if low > high:
            raise ValueError(
                f"rewards = {checks.show(rewards)} must be the lowest and the highest reward."
            )
        bounds = low, high
    return FromFunction(sample, number, features, d, context, mean, bounds)
