"""Arms in a metric space whose mean reward is Lipschitz, without and with contexts."""

import warnings
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from ..compiled.kernels import jit
from ..core import checks
from ..core.fields import Matrix, Vector, derived, real, scratch, unchecked
from ..core.types import Array, Given, Stored
from ..core.verbs import Arms, Context
from ..solvers.covering import lipschitz_lower_bound
from .problem import Problem, problem
from .rewards import RANGES, reward_kind

RANGE_OF_MEANS = ((None, None), (0.0, 1.0))  # by kind of reward
MOST_ARMS = 200  # for which a lower bound is worth its linear program


def check_slopes(means: np.ndarray, distances: np.ndarray, lipschitz: float) -> None:
    """Warn, naming the worst pair and the least constant for all, where |means[i] - means[j]| > lipschitz distances[i, j]."""
    broken = checks.broken_slope(means, distances, lipschitz)
    if broken is not None:
        warnings.warn(broken, stacklevel=5)


def check_similarity(means: np.ndarray, bounds: np.ndarray, lipschitz: tuple[float, float], K: int) -> None:
    """Warn, naming the worst two (context, arm) pairs, where |means[i] - means[j]| > bounds[i, j]."""
    steepest = checks.steepness(means, bounds)
    if steepest is not None:
        i, j, factor = steepest
        rise, allowed = abs(means[i] - means[j]), bounds[i, j]
        least = f"; {checks.rounded_up(factor)} times these constants hold for all pairs"
        remedy = least if np.isfinite(factor) else "; no multiple of these constants holds"
        warnings.warn(
            f"means violate lipschitz = ({lipschitz[0]:g}, {lipschitz[1]:g}): context {i // K}, arm {i % K} "
            f"and context {j // K}, arm {j % K} differ by {rise:g} in mean, where these allow {allowed:g}{remedy}.",
            stacklevel=5,
        )


@problem("lipschitz")
class Lipschitz(Problem):
    """K arms in a metric space; `|means[i] - means[j]| <= lipschitz D(i, j)`.

    Parameters
    ----------
    points : (K,) or (K, p) array
        Positions, increasing or distinct; or distances. All pairs' distances are kept: 8 K^2 bytes, and as many again by policies that pool
        evidence.
    distances : (K, K) array
        A metric.
    means : (K,) array
        Of the rewards, in [0, 1] for Bernoulli rewards.
    lipschitz : float > 0
        L, in units of reward per unit of distance; means that violate it raise a warning that names the least constant,
        because that is an experiment one may want.
    rewards : "bernoulli" or "gaussian"
        Their distribution.
    noise : float >= 0
        Standard deviation of "gaussian" rewards.
    best : float
        The value that regret is measured against, at least max(means); default max(means). Give the peak of the function where the arms
        are a grid on it, and regret counts what the grid loses.
    """

    # None: only distances are known
    points: Given[ArrayLike | None, np.ndarray | None] = unchecked(default=None, schema=Vector | Matrix | None, kept=True)
    means: Given[ArrayLike | None, np.ndarray] = unchecked(default=None, schema=Vector | None, kept=True)
    lipschitz: float = real(default=1.0, above=0.0)
    distances: Given[ArrayLike | None, np.ndarray] = unchecked(default=None, schema=Matrix | None, kept=True, kw_only=True)
    rewards: Given[Literal["bernoulli", "gaussian"], int] = reward_kind("bernoulli", "gaussian", default="bernoulli", kw_only=True)
    noise: float = real(default=1.0, least=0.0, kw_only=True)
    best: Given[float | None, float] = unchecked(default=None, schema=float | None, kept=True, kw_only=True)

    @staticmethod
    def complete(stored: Stored) -> Stored:
        points, distances = checks.metric(stored["points"], stored["distances"])
        low, high = RANGE_OF_MEANS[stored["rewards"]]
        means = checks.vector("means", stored["means"], length=distances.shape[0], least=low, most=high, source="the number of points")
        check_slopes(means, distances, stored["lipschitz"])
        top = float(means.max())
        best = top if stored["best"] is None else checks.real("best", stored["best"], least=top, most=high)
        return stored | {"points": points, "distances": distances, "means": means, "best": best}

    def describe(self):
        return Arms(self.means.size, points=self.points, distances=self.distances, rewards=RANGES[self.rewards])

    def lower_bound(self):
        constant = regret_constant(self, self.lipschitz, None)
        return None if constant is None else (constant, self.best - float(self.means.max()))


def regret_constant(problem: "Lipschitz | ContextualLipschitz", lipschitz: float, contexts: np.ndarray | None) -> float | None:
    """C(theta) of Magureanu, Combes, Proutiere 2014, Theorem 3.1; None where the means violate the constant or arms are many."""
    certain = not problem.rewards and problem.noise == 0.0
    if certain or problem.means.size > MOST_ARMS or checks.steepness(problem.means, problem.distances, lipschitz):
        return None
    kind, sigma = ("bernoulli", 1.0) if problem.rewards else ("gaussian", problem.noise)
    return lipschitz_lower_bound(
        problem.means, distances=problem.distances, lipschitz=lipschitz, divergence=kind, sigma=sigma, contexts=contexts
    ).value


@problem("contextual-lipschitz")
class ContextualLipschitz(Problem):
    """Contexts with similarities: an arm is a (context, arm) pair, and a round offers the pairs of one context as eligible.

    Pair (c, k) has number c K + k.

    Parameters
    ----------
    contexts : (C,) array
        Increasing positions.
    points : (K,) array
        Increasing positions of the arms.
    means : (C, K) array
        Of every pair, in [0, 1] for Bernoulli rewards.
    lipschitz : (float, float) > 0, or one for both
        L_x and L_y: `|mean(x, y) - mean(x', y')| <= L_x |x - x'| + L_y |y - y'|`. The metric that policies are told is that
        bound itself, so their constant is 1.
    frequencies : (C,) array
        How likely each context is; default equal.
    rewards, noise
        As in `Lipschitz`.

    References
    ----------
    Magureanu, Combes, Proutiere 2014, contextual bandits with similarities.
    """

    contexts: Array = unchecked(schema=Vector, kept=True)  # stored as the context of every pair
    points: ArrayLike = unchecked(schema=Vector)
    means: Array = unchecked(schema=Matrix, kept=True)
    lipschitz: ArrayLike = unchecked(schema=float | Vector)
    frequencies: Given[ArrayLike | None, np.ndarray] = unchecked(default=None, schema=Vector | None, kept=True, kw_only=True)
    rewards: Given[Literal["bernoulli", "gaussian"], int] = reward_kind("bernoulli", "gaussian", default="bernoulli", kw_only=True)
    noise: float = real(default=1.0, least=0.0, kw_only=True)
    distances: np.ndarray = derived()  # (C K, C K)
    best: np.ndarray = derived()  # (C,) best mean in a context
    eligible: np.ndarray = scratch()  # (C K,) this round's pairs
    current: np.ndarray = scratch()  # (1,) this round's context

    @staticmethod
    def complete(stored: Stored) -> Stored:
        x_metric, y_metric = checks.metric(stored["contexts"], None)[1], checks.metric(stored.pop("points"), None)[1]
        C, K = x_metric.shape[0], y_metric.shape[0]
        table = checks.matrix("means", stored["means"], shape=(C, K))
        low, high = RANGE_OF_MEANS[stored["rewards"]]
        means = checks.vector("means", table.reshape(-1), least=low, most=high)
        lipschitz = stored.pop("lipschitz")
        constants = checks.vector("lipschitz", np.atleast_1d(checks.floats("lipschitz", lipschitz)), least=0.0)
        if constants.size not in (1, 2) or constants.max() <= 0.0:
            raise ValueError(f"lipschitz = {checks.show(lipschitz)} must be one number > 0, or the pair (L_x, L_y).")
        distances = pair_distances(x_metric, y_metric, constants[0], constants[-1])
        check_similarity(means, distances, (float(constants[0]), float(constants[-1])), K)
        return stored | {
            "contexts": np.repeat(np.arange(C), K), "means": means, "frequencies": cumulative(stored["frequencies"], C),
            "distances": distances, "best": table.max(axis=1),
            "eligible": np.zeros(C * K, dtype=np.bool_), "current": np.full(1, -1, dtype=np.int64),
        }  # fmt: skip

    def describe(self):
        return Arms(self.means.size, distances=self.distances, rewards=RANGES[self.rewards])

    @jit
    def observe(self, t, rng):
        draw_, chosen = rng.random(), 0
        while draw_ >= self.frequencies[chosen]:
            chosen += 1
        if chosen != self.current[0]:
            for pair in range(self.means.shape[0]):
                self.eligible[pair] = self.contexts[pair] == chosen
            self.current[0] = chosen
        return Context(None, self.eligible, None, None)

    @jit
    def regret(self, context, action):
        return self.best[self.current[0]] - self.means[action]

    def lower_bound(self):
        constant = regret_constant(self, 1.0, self.contexts)
        return None if constant is None else (constant, 0.0)


def cumulative(frequencies: ArrayLike | None, C: int) -> np.ndarray:
    """Cumulative shares of C contexts; equal ones where none are given."""
    weights = np.ones(C) if frequencies is None else checks.vector("frequencies", frequencies, length=C, least=0.0)
    if weights.sum() <= 0.0:
        raise ValueError("frequencies are all 0; at least one context must occur.")
    shares = np.asarray(np.cumsum(weights) / weights.sum())
    shares[np.flatnonzero(weights)[-1] :] = 1.0
    return shares


def pair_distances(x_metric: np.ndarray, y_metric: np.ndarray, L_x: float, L_y: float) -> np.ndarray:
    """(C K, C K) bound L_x |x - x'| + L_y |y - y'| on the difference of two pairs' means."""
    size = x_metric.shape[0] * y_metric.shape[0]
    return (L_x * x_metric[:, None, :, None] + L_y * y_metric[None, :, None, :]).reshape(size, size)
