"""A simulator in plain Python as a problem: one function that draws rewards, and whatever else is known."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..core import checks
from ..core.fields import integer, scratch, unchecked
from ..core.streams import stream
from ..core.types import Stored
from ..core.verbs import Arms, Context
from .problem import Problem, problem, read_only

DRAWS = 10_000  # of a reward, where its mean is not given
ESTIMATES = 2**31  # number of the replication whose streams estimate means: none that is ever played

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
        sample, K, context, mean = (stored[name] for name in ("sample", "number", "context", "expected"))
        for name, value in (("sample", sample), ("context", context), ("mean", mean)):
            if not callable(value) and (name == "sample" or value is not None):
                raise ValueError(f"{name} = {checks.show(value)} is not a function.")
        if context is not None and mean is None:
            raise ValueError("mean is missing; where every round has a context give mean(context, arm), by which regret is measured.")
        if context is None:
            features = read_only(stored["features"])
            rewards = [
                _estimated_mean(sample, features, arm) if mean is None else _number("mean", mean(features, arm), arm) for arm in range(K)
            ]
        else:
            rewards = [0.0] * K
        means = np.array(rewards)
        shown = np.zeros((K, stored["dimension"]))
        return stored | {"shown": shown, "means": means, "best": np.array([means.max()])}

    def describe(self):
        return Arms(self.number, features=self.features, dimension=self.dimension, rewards=self.rewards)

    def observe(self, t, rng):
        if self.context is None:
            return Context(None, None, None, None)
        self.shown[:] = checks.rows("context", self.context(t, rng), shape=self.shown.shape)
        shown = read_only(self.shown)
        self.means[:] = [_number("mean", self.expected(shown, arm), arm) for arm in range(self.number)]
        self.best[0] = self.means.max()
        return Context(self.shown, None, None, None)

    def play(self, context, action, rng):
        shown = self.features if context.features is None else context.features
        return _number("sample", self.sample(read_only(shown), int(action), rng), int(action))

    def mean(self, context, arm):
        return self.means[arm]

    def regret(self, context, action):
        return self.best[0] - self.means[action]


def _number(name: str, value: object, arm: int) -> float:
    return checks.real(f"{name} of arm {arm}", value)


def _estimated_mean(sample: Sample, features: np.ndarray | None, arm: int) -> float:
    rng = stream(0, ESTIMATES, arm)
    return float(np.mean([_number("sample", sample(features, arm, rng), arm) for _ in range(DRAWS)]))


def from_function(
    sample: Sample,
    arms: int | ArrayLike,
    *,
    context: Shown | None = None,
    dimension: int | None = None,
    mean: Mean | None = None,
    rewards: tuple[float, float] | None = None,
) -> FromFunction:
    """A problem from a simulator in plain Python. Its rounds run interpreted, some 10^5 a second and core.

    Engines that send work to other processes need functions that can be imported there. `testing.check_problem` checks what it returns.

    Parameters
    ----------
    sample : function of (context, arm, rng)
        Draws the reward of an arm; it must draw from rng alone and keep nothing between calls, for all
        policies and replications share it. context is read-only.
    arms : int >= 1 or (K, d) array
        Their number K, or fixed features (K, d).
    context : function of (t, rng)
        Draws what round t = 0, 1, .. shows, (K, d) features of the arms or (d,) that all arms are shown, where they
        change; sample and mean are given (K, d).
    dimension : int >= 1
        d, needed with context.
    mean : function of (context, arm)
        The expected reward, by which regret is measured; needed with context, otherwise estimated from 10,000
        samples of every arm.
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
    d = features.shape[1] if features is not None else 0 if dimension is None else checks.integer("dimension", dimension, least=1)
    bounds = None
    if rewards is not None:
        low, high = (checks.real(f"rewards[{i}]", value) for i, value in enumerate(checks.vector("rewards", rewards, length=2)))
        if low > high:
            raise ValueError(f"rewards = {checks.show(rewards)} must be the lowest and the highest reward.")
        bounds = low, high
    return FromFunction(sample, number, features, d, context, mean, bounds)
