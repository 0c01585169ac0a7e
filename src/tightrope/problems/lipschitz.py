"""Arms in a metric space whose mean reward is Lipschitz, without and with contexts."""

import warnings
from typing import Any, NamedTuple

import numpy as np

from .. import checks
from .._jit import jit
from ..solvers.covering import lipschitz_lower_bound
from ..verbs import Arms, Context, arms, lower_bound, mean, observe, play, private, regret
from .rewards import RANGES, REWARDS, draw_reward

KINDS = ("bernoulli", "gaussian")
MOST_ARMS = 200  # for which a lower bound is worth its linear program


def check_slopes(means: np.ndarray, distances: np.ndarray, lipschitz: float) -> None:
    """Warn, naming the worst pair and the least constant for all, where |means[i] - means[j]| > lipschitz distances[i, j]."""
    broken = checks.broken_slope(means, distances, lipschitz)
    if broken is not None:
        warnings.warn(broken, stacklevel=3)


def check_similarity(means: np.ndarray, bounds: np.ndarray, lipschitz: tuple[float, float], K: int) -> None:
    """Warn, naming the worst two (context, arm) pairs, where |means[i] - means[j]| > bounds[i, j]."""
    found = checks.steepness(means, bounds)
    if found is not None:
        i, j, factor = found
        rise, allowed = abs(means[i] - means[j]), bounds[i, j]
        least = f"; {checks.rounded_up(factor)} times these constants hold for all pairs"
        remedy = least if np.isfinite(factor) else "; no multiple of these constants holds"
        warnings.warn(
            f"means violate lipschitz = ({lipschitz[0]:g}, {lipschitz[1]:g}): context {i // K}, arm {i % K} "
            f"and context {j // K}, arm {j % K} differ by {rise:g} in mean, where these allow {allowed:g}{remedy}.",
            stacklevel=3,
        )


class _Lipschitz(NamedTuple):
    means: np.ndarray  # (K,)
    points: Any  # (K,) or (K, p); None: only distances are known
    distances: np.ndarray  # (K, K)
    lipschitz: float
    rewards: int
    noise: float
    best: float


class Lipschitz(_Lipschitz):
    """K arms in a metric space; |means[i] - means[j]| <= lipschitz D(i, j).

    points: (K,) increasing or (K, p) distinct, or distances: (K, K). means: (K,), in [0, 1] for Bernoulli rewards. lipschitz:
    L > 0; means that violate it raise a warning that names the least constant, because that is an experiment one may want.
    rewards: "bernoulli" or "gaussian" with standard deviation noise. best: the value that regret is measured against, at least
    max(means); default max(means). Give the peak of the function where the arms are a grid on it, and regret counts what the
    grid loses.
    """

    __slots__ = ()

    def __new__(
        cls, points: Any = None, means: Any = None, lipschitz: float = 1.0, *, distances: Any = None,
        rewards: str = "bernoulli", noise: float = 1.0, best: float | None = None,
    ) -> "Lipschitz":  # fmt: skip
        positions, metric = checks.metric(points, distances)
        code = REWARDS.index(KINDS[checks.choice("rewards", rewards, KINDS)])
        low, high = (0.0, 1.0) if code else (None, None)
        values = checks.vector("means", means, length=metric.shape[0], least=low, most=high, source="the number of points")
        L = checks.real("lipschitz", lipschitz, above=0.0)
        check_slopes(values, metric, L)
        top = float(values.max())
        peak = top if best is None else checks.real("best", best, least=top, most=high)
        return super().__new__(cls, values, positions, metric, L, code, checks.real("noise", noise, least=0.0), peak)

    def __reduce__(self) -> Any:
        return type(self)._make, (tuple(self),)


@arms.register(Lipschitz)
def arms_lipschitz(problem):
    return Arms(problem.means.size, points=problem.points, distances=problem.distances, rewards=RANGES[problem.rewards])


@observe.register(Lipschitz)
@jit
def observe_lipschitz(problem, t, rng):
    return Context(None, None, None, None)


@play.register(Lipschitz)
@jit
def play_lipschitz(problem, context, action, rng):
    return draw_reward(problem.rewards, problem.means[action], problem.noise, rng)


@mean.register(Lipschitz)
@jit
def mean_lipschitz(problem, context, arm):
    return problem.means[arm]


@regret.register(Lipschitz)
@jit
def regret_lipschitz(problem, context, action):
    return problem.best - problem.means[action]


@lower_bound.register(Lipschitz)
def lower_bound_lipschitz(problem):
    constant = regret_constant(problem, problem.lipschitz, None)
    return None if constant is None else (constant, problem.best - float(problem.means.max()))


def regret_constant(problem: Any, lipschitz: float, contexts: Any) -> float | None:
    """C(theta) of Magureanu, Combes, Proutiere 2014, Theorem 3.1; None where the means violate the constant or arms are many."""
    certain = not problem.rewards and problem.noise == 0.0
    if certain or problem.means.size > MOST_ARMS or checks.steepness(problem.means, lipschitz * problem.distances):
        return None
    kind, sigma = ("bernoulli", 1.0) if problem.rewards else ("gaussian", problem.noise)
    return lipschitz_lower_bound(
        problem.means, distances=problem.distances, lipschitz=lipschitz, divergence=kind, sigma=sigma, contexts=contexts
    ).value


class _ContextualLipschitz(NamedTuple):
    means: np.ndarray  # (C K,) pairs, context by context
    distances: np.ndarray  # (C K, C K)
    contexts: np.ndarray  # (C K,) context of a pair
    best: np.ndarray  # (C,) best mean in a context
    frequencies: np.ndarray  # (C,) cumulative
    rewards: int
    noise: float
    eligible: np.ndarray  # (C K,) this round's pairs
    current: np.ndarray  # (1,) this round's context


class ContextualLipschitz(_ContextualLipschitz):
    """Contexts with similarities: an arm is a (context, arm) pair, and a round offers the pairs of one context as eligible.

    contexts: (C,) increasing positions. points: (K,) increasing positions of the arms. means: (C, K). lipschitz: (L_x, L_y), or one
    number for both: |mean(x, y) - mean(x', y')| <= L_x |x - x'| + L_y |y - y'|. The metric that policies are told is that bound
    itself, so their constant is 1. frequencies: (C,) how likely each context is; default equal. rewards, noise: as in `Lipschitz`.

    Pair (c, k) has number c K + k. Source: Magureanu, Combes, Proutiere 2014, contextual bandits with similarities.
    """

    __slots__ = ()

    def __new__(
        cls, contexts: Any, points: Any, means: Any, lipschitz: Any, *, frequencies: Any = None,
        rewards: str = "bernoulli", noise: float = 1.0,
    ) -> "ContextualLipschitz":  # fmt: skip
        x_metric, y_metric = checks.metric(contexts, None)[1], checks.metric(points, None)[1]
        C, K = x_metric.shape[0], y_metric.shape[0]
        table = checks.matrix("means", means, shape=(C, K))
        code = REWARDS.index(KINDS[checks.choice("rewards", rewards, KINDS)])
        low, high = (0.0, 1.0) if code else (None, None)
        values = checks.vector("means", table.reshape(-1), least=low, most=high)
        given = checks.vector("lipschitz", np.atleast_1d(checks.floats("lipschitz", lipschitz)), least=0.0)
        if given.size not in (1, 2) or given.max() <= 0.0:
            raise ValueError(f"lipschitz = {checks.show(lipschitz)} must be one number > 0, or the pair (L_x, L_y).")
        metric = pair_distances(x_metric, y_metric, given[0], given[-1])
        check_similarity(values, metric, (float(given[0]), float(given[-1])), K)
        weights = np.ones(C) if frequencies is None else checks.vector("frequencies", frequencies, length=C, least=0.0)
        if weights.sum() <= 0.0:
            raise ValueError("frequencies are all 0; at least one context must occur.")
        cumulative = np.cumsum(weights) / weights.sum()
        cumulative[np.flatnonzero(weights)[-1] :] = 1.0
        return super().__new__(
            cls, values, metric, np.repeat(np.arange(C), K), table.max(axis=1), cumulative, code,
            checks.real("noise", noise, least=0.0), np.zeros(C * K, dtype=np.bool_), np.full(1, -1, dtype=np.int64),
        )  # fmt: skip

    def __reduce__(self) -> Any:
        return type(self)._make, (tuple(self),)


def pair_distances(x_metric: np.ndarray, y_metric: np.ndarray, L_x: float, L_y: float) -> np.ndarray:
    """(C K, C K) bound L_x |x - x'| + L_y |y - y'| on the difference of two pairs' means."""
    size = x_metric.shape[0] * y_metric.shape[0]
    return (L_x * x_metric[:, None, :, None] + L_y * y_metric[None, :, None, :]).reshape(size, size)


@private.register(ContextualLipschitz)
def private_contextuallipschitz(problem):
    return problem._replace(eligible=problem.eligible.copy(), current=problem.current.copy())


@arms.register(ContextualLipschitz)
def arms_contextuallipschitz(problem):
    return Arms(problem.means.size, distances=problem.distances, rewards=RANGES[problem.rewards])


@observe.register(ContextualLipschitz)
@jit
def observe_contextuallipschitz(problem, t, rng):
    draw_, chosen = rng.random(), 0
    while draw_ >= problem.frequencies[chosen]:
        chosen += 1
    if chosen != problem.current[0]:
        for pair in range(problem.means.shape[0]):
            problem.eligible[pair] = problem.contexts[pair] == chosen
        problem.current[0] = chosen
    return Context(None, problem.eligible, None, None)


@play.register(ContextualLipschitz)
@jit
def play_contextuallipschitz(problem, context, action, rng):
    return draw_reward(problem.rewards, problem.means[action], problem.noise, rng)


@mean.register(ContextualLipschitz)
@jit
def mean_contextuallipschitz(problem, context, arm):
    return problem.means[arm]


@regret.register(ContextualLipschitz)
@jit
def regret_contextuallipschitz(problem, context, action):
    return problem.best[problem.current[0]] - problem.means[action]


@lower_bound.register(ContextualLipschitz)
def lower_bound_contextuallipschitz(problem):
    constant = regret_constant(problem, 1.0, problem.contexts)
    return None if constant is None else (constant, 0.0)
