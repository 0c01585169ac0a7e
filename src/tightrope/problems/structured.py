"""Problems with structure: linear, Lipschitz, sets of arms, promotions, classification."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from ..compiled.kernels import jit
from ..core import checks
from ..core.fields import (
    Array,
    Given,
    Matrix,
    Stored,
    Vector,
    derived,
    flag,
    integer,
    matrix,
    opened,
    packed,
    real,
    scratch,
    unchecked,
    vector,
)
from ..core.policy import Problem
from ..core.registry import recipe
from ..core.types import Oracle
from ..core.verbs import Arms, Context
from ..solvers import oracles
from ..solvers.oracles import TopK, choose, set_size
from ..solvers.programs import lipschitz_lower_bound
from .arms import RANGES, REWARDS, TOLERANCE, Bernoulli, Gaussian, check_means, problem, reward_kind


@problem("linear")
class Linear(Problem):
    """K fixed arms with features; the mean of arm k is features[k] @ theta.

    Parameters
    ----------
    arms : (K, d) array
        Features.
    theta : (d,) array
        The unknown parameter.
    noise : float >= 0
        Standard deviation of Gaussian rewards.
    rewards : "gaussian", "bernoulli" or "sign"
        "bernoulli" is 0 or 1 and needs means in [0, 1], "sign" is -1 or 1 and needs means in [-1,
        1].
    """

    arms: ArrayLike = matrix(kept=False)
    theta: Array = vector()
    noise: float = real(default=1.0, least=0.0)
    rewards: Given[Literal["gaussian", "bernoulli", "sign"], int] = reward_kind(
        "gaussian", "bernoulli", "sign", default="gaussian"
    )
    features: np.ndarray = derived()  # (K, d)
    means: np.ndarray = derived()  # (K,)

    @staticmethod
    def complete(stored: Stored) -> Stored:
        features = stored.pop("arms")
        theta = checks.vector(
            "theta",
            stored["theta"],
            length=features.shape[1],
            source="the number of columns of arms",
        )
        means = features @ theta
        check_means(means, stored["rewards"])
        return stored | {"features": features, "means": means}

    def describe(self):
        return Arms(
            self.means.size,
            features=self.features,
            dimension=self.theta.size,
            rewards=RANGES[self.rewards],
        )


@problem()
class Metrics(Problem):
    """Several metrics of every decision, each with means of its own; the first is the objective,
    which regret is about.

    Parameters
    ----------
    metrics : dict of Bernoulli or Gaussian, or of Linear
        By name, all of as many arms, linear ones of the same features; `Metrics(revenue=
        Bernoulli(..), conversion=Bernoulli(..))` says the same.
    coupling : float in [-1, 1]
        How the noise of each metric follows that of the first, which must then be of the same kind:
        1 the same, 0 independent, -1 the opposite; default 0.
    """

    metrics: dict[str, Problem] = unchecked(kept=False, words="problems by name")
    coupling: float = real(default=0.0, least=-1.0, most=1.0)
    names: np.ndarray = derived()  # packed
    values: np.ndarray = derived()  # (M, K) means
    noises: np.ndarray = derived()  # (M,) standard deviations; NaN: 0 or 1
    means: np.ndarray = derived()  # (K,) the objective's
    features: np.ndarray = derived()  # (K, d); (K, 0): none
    reward: np.ndarray = scratch()  # (M,) of the last decision

    @staticmethod
    def made_instead(arguments: Stored) -> Callable[..., object] | None:
        if "metrics" in arguments:
            return None
        return lambda coupling=0.0, **metrics: Metrics(metrics, coupling=coupling)

    @staticmethod
    def complete(stored: Stored) -> Stored:
        metrics = stored.pop("metrics")
        named = metrics if isinstance(metrics, dict) else {"metrics": metrics}
        for name, item in named.items():
            linear = isinstance(item, Linear) and REWARDS[item.rewards] != "sign"
            if not linear and not isinstance(item, Bernoulli | Gaussian):
                raise ValueError(
                    f"{name} = {checks.show(item)} is no Bernoulli, Gaussian or Linear with such "
                    "rewards; give every metric as one, such as conversion=Bernoulli([0.05, 0.06])."
                )
        numbers = {name: item.means.size for name, item in metrics.items()}
        if len(set(numbers.values())) != 1:
            raise ValueError(f"metrics have {numbers} arms; all need as many, and at least one.")
        rows = [getattr(item, "features", np.zeros((0, 0))) for item in metrics.values()]
        if any(not np.array_equal(row, rows[0]) for row in rows):
            raise ValueError(
                "metrics have different features; give every one as Linear of the same arms, or "
                "none."
            )
        noises = np.array([noise_of(item) for item in metrics.values()])
        if stored["coupling"] and len(set(np.isnan(noises))) > 1:
            raise ValueError(
                "coupling ties the noise of metrics of one kind, and some here are Bernoulli and "
                "some Gaussian; leave it out."
            )
        values = np.array([item.means for item in metrics.values()])
        return stored | {
            "names": packed(list(metrics)),
            "values": values,
            "noises": noises,
            "means": values[0],
            "features": rows[0] if rows[0].size else np.zeros((values.shape[1], 0)),
            "reward": np.zeros(len(metrics)),
        }

    def describe(self):
        rewards = RANGES[1 if math.isnan(self.noises[0]) else 0]
        K, d = self.features.shape
        names = tuple(opened(self.names))
        rows = self.features if d else None
        return Arms(K, features=rows, dimension=d, rewards=rewards, metrics=names)

    @jit
    def play(self, context, action, rng):
        follows, first, side = abs(self.coupling), 0.0, math.copysign(1.0, self.coupling)
        for m in range(self.noises.shape[0]):
            mean = self.values[m, action]
            if math.isnan(self.noises[m]):
                drawn = rng.random()
                if m > 0 and self.coupling != 0.0 and rng.random() < follows:
                    drawn = first if side > 0.0 else 1.0 - first
                self.reward[m] = 1.0 if drawn < mean else 0.0
            else:
                drawn = rng.standard_normal()
                if m > 0 and self.coupling != 0.0:
                    drawn = self.coupling * first + math.sqrt(1.0 - follows * follows) * drawn
                self.reward[m] = mean + self.noises[m] * drawn
            if m == 0:
                first = drawn
        return self.reward

    @jit
    def metric_mean(self, context, arm, m):
        return self.values[m, arm]


def noise_of(metric: Problem) -> float:
    if isinstance(metric, Linear):
        return metric.noise if REWARDS[metric.rewards] == "gaussian" else math.nan
    return getattr(metric, "sd", math.nan)


@problem("contextual-linear")
class ContextualLinear(Problem):
    """K arms whose features are drawn anew every round, uniformly from the unit sphere.

    "bernoulli" is not offered: means on the whole sphere are negative half of the time.

    Parameters
    ----------
    theta : (d,) array
        The unknown parameter.
    arms : int >= 1
        K, how many.
    noise : float >= 0
        Standard deviation of Gaussian rewards.
    rewards : "gaussian" or "sign"
        "sign" is -1 or 1 and needs ||theta|| <= 1.
    """

    theta: Array = vector()
    arms: int = integer(default=10, least=1, kept=False)
    noise: float = real(default=1.0, least=0.0)
    rewards: Given[Literal["gaussian", "sign"], int] = reward_kind(
        "gaussian", "sign", default="gaussian"
    )
    features: np.ndarray = scratch()  # (K, d) this round's arms
    means: np.ndarray = scratch()  # (K,) this round's means
    best: np.ndarray = scratch()  # (1,) their maximum

    @staticmethod
    def complete(stored: Stored) -> Stored:
        theta, count = stored["theta"], stored.pop("arms")
        checks.fits_in_memory("arms", count, 8 * theta.size)
        norm = float(np.linalg.norm(theta))
        if stored["rewards"] and norm > 1.0 + TOLERANCE:
            raise ValueError(
                f"theta has norm {norm:g}, but rewards = 'sign' needs means in [-1, 1], that is a "
                "norm in [0, 1]."
            )
        return stored | {
            "features": np.zeros((count, theta.size)),
            "means": np.zeros(count),
            "best": np.zeros(1),
        }

    def describe(self):
        return Arms(self.means.size, dimension=self.theta.size, rewards=RANGES[self.rewards])

    @jit
    def observe(self, t, rng):
        self.best[0] = -math.inf
        for k in range(self.features.shape[0]):
            squared, inner = 0.0, 0.0
            for i in range(self.theta.shape[0]):
                value = rng.standard_normal()
                self.features[k, i] = value
                squared += value * value
                inner += value * self.theta[i]
            norm = math.sqrt(squared)
            for i in range(self.theta.shape[0]):
                self.features[k, i] /= norm
            self.means[k] = inner / norm
            self.best[0] = max(self.best[0], self.means[k])
        return Context(self.features, None, None, None)


# Arms in a metric space whose mean reward is Lipschitz, without and with contexts.


RANGE_OF_MEANS = ((None, None), (0.0, 1.0))  # by kind of reward
MOST_ARMS = 200  # for which a lower bound is worth its linear program


def check_similarity(
    means: np.ndarray, bounds: np.ndarray, lipschitz: tuple[float, float], K: int
) -> None:
    """Warn, naming the worst two (context, arm) pairs, where |means[i] - means[j]| > bounds[i,
    j]."""
    steepest = checks.steepness(means, bounds)
    if steepest is not None:
        i, j, factor = steepest
        rise, allowed = abs(means[i] - means[j]), bounds[i, j]
        least = f"; {checks.rounded_up(factor)} times these constants hold for all pairs"
        remedy = least if np.isfinite(factor) else "; no multiple of these constants holds"
        warnings.warn(
            f"means violate lipschitz = ({lipschitz[0]:g}, {lipschitz[1]:g}): context {i // K}, "
            f"arm {i % K} and context {j // K}, arm {j % K} differ by {rise:g} in mean, where "
            f"these allow {allowed:g}{remedy}.",
            stacklevel=5,
        )


@problem("lipschitz")
class Lipschitz(Problem):
    """K arms in a metric space; `|means[i] - means[j]| <= lipschitz D(i, j)`.

    Parameters
    ----------
    points : (K,) or (K, p) array
        Positions, increasing or distinct; or distances. All pairs' distances are kept: 8 K^2 bytes,
        and as many again by policies that pool evidence.
    distances : (K, K) array
        A metric.
    means : (K,) array
        Of the rewards, in [0, 1] for Bernoulli rewards.
    lipschitz : float > 0
        L, in units of reward per unit of distance; means that violate it raise a warning that names
        the least constant, because that is an experiment one may want.
    rewards : "bernoulli" or "gaussian"
        Their distribution.
    noise : float >= 0
        Standard deviation of "gaussian" rewards.
    best : float
        The value that regret is measured against, at least max(means); default max(means). Give the
        peak of the function where the arms are a grid on it, and regret counts what the grid loses.
    """

    # None: only distances are known
    points: Given[ArrayLike | None, np.ndarray | None] = unchecked(
        default=None, schema=Vector | Matrix | None, kept=True
    )
    means: Given[ArrayLike | None, np.ndarray] = unchecked(
        default=None, schema=Vector | None, kept=True
    )
    lipschitz: float = real(default=1.0, above=0.0)
    distances: Given[ArrayLike | None, np.ndarray] = unchecked(
        default=None, schema=Matrix | None, kept=True, kw_only=True
    )
    rewards: Given[Literal["bernoulli", "gaussian"], int] = reward_kind(
        "bernoulli", "gaussian", default="bernoulli", kw_only=True
    )
    noise: float = real(default=1.0, least=0.0, kw_only=True)
    best: Given[float | None, float] = unchecked(
        default=None, schema=float | None, kept=True, kw_only=True
    )

    @staticmethod
    def complete(stored: Stored) -> Stored:
        points, distances = checks.metric(stored["points"], stored["distances"])
        low, high = RANGE_OF_MEANS[stored["rewards"]]
        means = checks.vector(
            "means",
            stored["means"],
            length=distances.shape[0],
            least=low,
            most=high,
            source="the number of points",
        )
        broken = checks.broken_slope(means, distances, stored["lipschitz"])
        if broken is not None:
            warnings.warn(broken, stacklevel=4)
        top = float(means.max())
        best = (
            top
            if stored["best"] is None
            else checks.real("best", stored["best"], least=top, most=high)
        )
        return stored | {"points": points, "distances": distances, "means": means, "best": best}

    def describe(self):
        return Arms(
            self.means.size,
            points=self.points,
            distances=self.distances,
            rewards=RANGES[self.rewards],
        )

    def lower_bound(self):
        constant = regret_constant(self, self.lipschitz, None)
        return None if constant is None else (constant, self.best - float(self.means.max()))


def regret_constant(
    problem: Lipschitz | ContextualLipschitz, lipschitz: float, contexts: np.ndarray | None
) -> float | None:
    """C(theta) of Magureanu, Combes, Proutiere 2014, Theorem 3.1; None where the means violate the
    constant or arms are many."""
    certain = not problem.rewards and problem.noise == 0.0
    if (
        certain
        or problem.means.size > MOST_ARMS
        or checks.steepness(problem.means, problem.distances, lipschitz)
    ):
        return None
    kind, sigma = ("bernoulli", 1.0) if problem.rewards else ("gaussian", problem.noise)
    return lipschitz_lower_bound(
        problem.means,
        distances=problem.distances,
        lipschitz=lipschitz,
        divergence=kind,
        sigma=sigma,
        contexts=contexts,
    ).value


@problem("contextual-lipschitz")
class ContextualLipschitz(Problem):
    """Contexts with similarities: an arm is a (context, arm) pair, and a round offers the pairs of
    one context as eligible.

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
        L_x and L_y: `|mean(x, y) - mean(x', y')| <= L_x |x - x'| + L_y |y - y'|`. The metric that
        policies are told is that bound itself, so their constant is 1.
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
    frequencies: Given[ArrayLike | None, np.ndarray] = unchecked(
        default=None, schema=Vector | None, kept=True, kw_only=True
    )
    rewards: Given[Literal["bernoulli", "gaussian"], int] = reward_kind(
        "bernoulli", "gaussian", default="bernoulli", kw_only=True
    )
    noise: float = real(default=1.0, least=0.0, kw_only=True)
    distances: np.ndarray = derived()  # (C K, C K)
    best: np.ndarray = derived()  # (C,) best mean in a context
    eligible: np.ndarray = scratch()  # (C K,) this round's pairs
    current: np.ndarray = scratch()  # (1,) this round's context

    @staticmethod
    def complete(stored: Stored) -> Stored:
        x_metric, y_metric = (
            checks.metric(stored["contexts"], None)[1],
            checks.metric(stored.pop("points"), None)[1],
        )
        C, K = x_metric.shape[0], y_metric.shape[0]
        table = checks.matrix("means", stored["means"], shape=(C, K))
        low, high = RANGE_OF_MEANS[stored["rewards"]]
        means = checks.vector("means", table.reshape(-1), least=low, most=high)
        lipschitz = stored.pop("lipschitz")
        constants = checks.vector(
            "lipschitz", np.atleast_1d(checks.floats("lipschitz", lipschitz)), least=0.0
        )
        if constants.size not in (1, 2) or constants.max() <= 0.0:
            raise ValueError(
                f"lipschitz = {checks.show(lipschitz)} must be one number > 0, or the pair (L_x, "
                "L_y)."
            )
        # L_x |x - x'| + L_y |y - y'| bounds the difference of two pairs' means
        distances = (
            constants[0] * x_metric[:, None, :, None] + constants[-1] * y_metric[None, :, None, :]
        ).reshape(C * K, C * K)
        check_similarity(means, distances, (float(constants[0]), float(constants[-1])), K)
        return stored | {
            "contexts": np.repeat(np.arange(C), K),
            "means": means,
            "frequencies": cumulative(stored["frequencies"], C),
            "distances": distances,
            "best": table.max(axis=1),
            "eligible": np.zeros(C * K, dtype=np.bool_),
            "current": np.full(1, -1, dtype=np.int64),
        }

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
    weights = (
        np.ones(C)
        if frequencies is None
        else checks.vector("frequencies", frequencies, length=C, least=0.0)
    )
    if weights.sum() <= 0.0:
        raise ValueError("frequencies are all 0; at least one context must occur.")
    shares = np.asarray(np.cumsum(weights) / weights.sum())
    shares[np.flatnonzero(weights)[-1] :] = 1.0
    return shares


# Sets of arms with linear rewards: the learner sees the reward of every arm of the set it plays.


@problem(compiled=False)
class SemiBandit(Problem):
    """N arms with features, of which an oracle admits sets; the reward of arm i has mean arms[i] @
    theta.

    Parameters
    ----------
    arms : (N, d) array
        Features.
    theta : (d,) array
        The unknown parameter.
    oracle : oracle of tr.oracles, or callable
        One of `tightrope.oracles` without blocks, or a callable, which is given copies and must
        answer with the set of largest total.
    noise : float >= 0
        Standard deviation of Gaussian rewards.
    rewards : "gaussian", "bernoulli" or "sign"
        "bernoulli" is 0 or 1, "sign" -1 or 1; means must be possible.
    shown : int >= 1
        Draw this many of the arms anew each round, so that features change; default all, always.
    """

    arms: ArrayLike = matrix(kept=False)
    theta: Array = vector()
    oracle: Oracle = unchecked(kept=True)
    noise: float = real(default=1.0, least=0.0)
    rewards: Given[Literal["gaussian", "bernoulli", "sign"], int] = reward_kind(
        "gaussian", "bernoulli", "sign", default="gaussian"
    )
    shown: Given[int | None, int] = unchecked(
        default=None, kept=True
    )  # arms drawn anew each round; 0: all, always
    features: np.ndarray = derived()  # (N, d)
    most: int = derived()  # arms of the largest set
    means: np.ndarray = scratch()  # (shown or N,) of this round
    best: np.ndarray = scratch()  # (1,) value of this round's best set

    @staticmethod
    def complete(stored: Stored) -> Stored:
        features, oracle, shown = stored.pop("arms"), stored["oracle"], stored["shown"]
        theta = checks.vector(
            "theta",
            stored["theta"],
            length=features.shape[1],
            source="the number of columns of arms",
        )
        means = features @ theta
        check_means(means, stored["rewards"])
        if not callable(oracle) or getattr(oracle, "blocks", 1) != 1:
            raise ValueError(
                f"oracle = {checks.show(oracle)} does not choose sets of arms; pass one such as "
                "oracles.TopK(5)."
            )
        N = features.shape[0]
        count = 0 if shown is None else checks.integer("shown", shown, least=1, most=N)
        most = set_size(oracle, count or N)
        if most > (count or N):
            raise ValueError(
                f"oracle = {oracle!r} chooses more than the {count or N} arms of a round; lower k."
            )
        best = 0.0 if count else value(oracle, means)
        return stored | {
            "shown": count,
            "features": features,
            "most": most,
            "means": means[: count or N].copy(),
            "best": np.array([best]),
        }

    def describe(self):
        return Arms(
            self.means.size,
            features=None if self.shown else self.features,
            dimension=self.theta.size,
            oracle=self.oracle,
            rewards=RANGES[self.rewards],
        )

    def observe(self, t, rng):
        if not self.shown:
            return Context(None, None, None, None)
        rows = self.features[rng.choice(self.features.shape[0], self.shown, replace=False)]
        self.means[:] = rows @ self.theta
        self.best[0] = value(self.oracle, self.means)
        return Context(rows, None, None, None)

    def play(self, context, action, rng):
        expected = self.means[action]
        # As many draws whatever the set, so that policies stay in step.
        if self.rewards == 0:
            return expected + self.noise * rng.standard_normal(self.most)[: expected.size]
        draws = rng.random(self.most)[: expected.size]
        return (
            (draws < expected) * 1.0
            if self.rewards == 1
            else np.where(draws < 0.5 * (1.0 + expected), 1.0, -1.0)
        )

    def regret(self, context, action):
        return self.best[0] - self.means[action].sum()


@recipe("semi-bandit")
def semibandit_of_k(
    arms: Matrix,
    theta: Vector,
    k: int,
    noise: float = 1.0,
    rewards: Literal["gaussian", "bernoulli", "sign"] = "gaussian",
    shown: int | None = None,
) -> SemiBandit:
    """Sets of k arms: what a spec may ask for."""
    return SemiBandit(arms, theta, TopK(k), noise=noise, rewards=rewards, shown=shown)


def value(oracle: Oracle, means: np.ndarray) -> float:
    return float(means[choose(oracle, means, None)].sum())


# Sending promotions: each round some users appear, and every promotion goes to k of them, at most
# one promotion a user.


@problem("promotions", compiled=False)
class Promotions(Problem):
    """U users with features and a known answer to each of M promotions, such as a rating; the
    learner sees only those it sends.

    Arms are pairs: number user * M + promotion, user counted within the round. Rewards carry no
    noise of their own; regret is measured against the best assignment of the round's users.

    Parameters
    ----------
    features : (U, d) array
        Of the users.
    rewards : (U, M) array
        Of every user and promotion.
    k : int or ints >= 1
        Users per promotion and round, or M of them.
    shown : int >= 1
        Users drawn each round, without replacement; default all.
    """

    features: Array = matrix()
    rewards: Array = matrix()
    k: int | Sequence[int] = unchecked(schema=int | list[int])
    shown: Given[int | None, int] = unchecked(
        default=None, schema=int | None, kept=True
    )  # users of a round
    oracle: oracles.Promotions = derived()
    users: np.ndarray = scratch()  # (shown,) who they are
    best: np.ndarray = scratch()  # (1,) value of this round's best assignment

    @staticmethod
    def complete(stored: Stored) -> Stored:
        U, shown = stored["features"].shape[0], stored["shown"]
        rewards = checks.matrix("rewards", stored["rewards"], shape=(U, None))
        oracle = oracles.Promotions(promotions=rewards.shape[1], k=stored.pop("k"))
        count = U if shown is None else checks.integer("shown", shown, least=1, most=U)
        if oracle.size > count:
            raise ValueError(
                f"k = {checks.show(oracle.k)} users for each of {oracle.promotions} promotions "
                f"need {oracle.size}, but shown = {count}."
            )
        return stored | {
            "shown": count,
            "oracle": oracle,
            "users": np.arange(count),
            "best": np.zeros(1),
        }

    def describe(self):
        M = self.rewards.shape[1]
        return Arms(self.shown * M, dimension=self.features.shape[1], oracle=self.oracle, blocks=M)

    def observe(self, t, rng):
        self.users[:] = rng.choice(self.features.shape[0], self.shown, replace=False)
        rewards = self.rewards[self.users]
        pairs = self.oracle(rewards)
        self.best[0] = rewards[pairs[:, 0], pairs[:, 1]].sum()
        return Context(self.features[self.users], None, None, None)

    def play(self, context, action, rng):
        return answers(self, action)

    def mean(self, context, arm):
        return answers(self, arm)

    def regret(self, context, action):
        return self.best[0] - answers(self, action).sum()


def answers(problem, arm):
    users, promotions = np.divmod(arm, problem.rewards.shape[1])
    return problem.rewards[problem.users[users], promotions]


# Linear rewards whose means spread evenly over [0, 1], so that a baseline's cumulative reward is
# worth guarding.


def spread_arms(number: int, theta: ArrayLike, rng: np.random.Generator) -> np.ndarray:
    """Unit features whose means under theta are uniform on [0, 1].

    Parameters
    ----------
    number : int >= 1
        How many.
    theta : (d,) array
        Of norm 1, d >= 2.
    rng : numpy.random.Generator
        What draws them.

    Returns
    -------
    (number, d) array
    """
    number, theta = checks.integer("number", number, least=1), unit_vector(theta)
    checks.fits_in_memory("number", number, 8 * theta.size)
    if not isinstance(rng, np.random.Generator):
        raise ValueError(
            f"rng = {checks.show(rng)} is not a numpy Generator; pass "
            "numpy.random.default_rng(seed)."
        )
    means = rng.random(number)
    across = rng.standard_normal((number, theta.size))
    across -= np.outer(across @ theta, theta)
    across /= np.linalg.norm(across, axis=1, keepdims=True)
    return means[:, None] * theta + np.sqrt(1 - means**2)[:, None] * across


def unit_vector(theta: ArrayLike) -> np.ndarray:
    theta = checks.vector("theta", theta)
    norm = float(np.linalg.norm(theta))
    if theta.size < 2 or abs(norm - 1.0) > 1e-9:
        what = f"{checks.show(theta)} has length {theta.size} and norm {norm:.12g}"
        raise ValueError(
            f"theta = {what}, but needs length 2 or more and norm 1; divide it by its norm."
        )
    return theta


@problem("contextual-spread")
class ContextualSpread(Problem):
    """K unit features drawn anew every round with means uniform on [0, 1]; the round's baseline is
    its arm of a given rank.

    Parameters
    ----------
    theta : (d,) array
        Of norm 1, d >= 2.
    arms : int >= 1
        K, how many.
    noise : float >= 0
        Standard deviation of Gaussian rewards.
    baseline_rank : int >= 1
        Rank 1 is the best arm of the round; every Context names that arm and its mean.
    """

    theta: Array = vector()
    arms: int = integer(default=10, least=1, kept=False)
    noise: float = real(default=0.1, least=0.0)
    baseline_rank: int = integer(default=3, least=1)
    features: np.ndarray = scratch()  # (K, d) this round's arms
    means: np.ndarray = scratch()  # (K,) this round's means
    best: np.ndarray = scratch()  # (1,) their maximum

    @staticmethod
    def complete(stored: Stored) -> Stored:
        theta, count = unit_vector(stored["theta"]), stored.pop("arms")
        checks.fits_in_memory("arms", count, 8 * theta.size)
        checks.integer("baseline_rank", stored["baseline_rank"], least=1, most=count)
        return stored | {
            "features": np.zeros((count, theta.size)),
            "means": np.zeros(count),
            "best": np.zeros(1),
        }

    def describe(self):
        return Arms(self.means.size, dimension=self.theta.size)

    @jit
    def observe(self, t, rng):
        K, d = self.features.shape
        features, theta = self.features, self.theta
        self.best[0] = -math.inf
        for k in range(K):
            m, inner, squared = rng.random(), 0.0, 0.0
            for i in range(d):
                features[k, i] = rng.standard_normal()
                inner += features[k, i] * theta[i]
            for i in range(d):
                features[k, i] -= inner * theta[i]
                squared += features[k, i] * features[k, i]
            scale = math.sqrt((1.0 - m * m) / squared)
            for i in range(d):
                features[k, i] = m * theta[i] + scale * features[k, i]
            self.means[k] = m
            self.best[0] = max(self.best[0], m)
        baseline = arm_of_rank(self.means, self.baseline_rank)
        return Context(features, None, baseline, self.means[baseline])

    @jit
    def play(self, context, action, rng):
        return self.means[action] + self.noise * rng.standard_normal()


@jit
def arm_of_rank(means, rank):
    """Arm with exactly rank - 1 arms before it, in the order of falling means and rising
    indices."""
    for k in range(means.shape[0]):
        before = 1
        for j in range(means.shape[0]):
            if means[j] > means[k] or (means[j] == means[k] and j < k):
                before += 1
        if before == rank:
            return k
    return 0


# Classification data as a bandit: a row is shown, an arm is a class, and only whether that was the
# right one is learned.


@problem("classification")
class Classification(Problem):
    """Rows drawn uniformly at random, one a round; the reward of an arm is 1 if the row is of that
    class and else 0.

    Parameters
    ----------
    rows : (n, p) array
        Features.
    classes : (n,) array
        Whole numbers 0 .. K - 1, each of which must occur, or texts, which are numbered as they
        sort; of pandas too.
    intercept : bool
        Add a column of ones.
    expand : bool
        Every arm sees the row in columns of its own, so features are (K, K d), and a linear policy
        learns a regression for each class;
        False: every arm sees the same d columns, for policies with a model for each arm
        (shared=False), which learn the same at 1 / K^2 of the cost.

    References
    ----------
    Dudík, Langford, Li 2011, section 5, make labelled data a test of policies so; Bietti, Agarwal,
    Langford 2021 do it at scale.
    """

    rows: Array = matrix()
    classes: Array = unchecked(
        schema=Vector | list[str], words="whole numbers from 0, or texts", kept=True
    )
    intercept: bool = flag(True)
    expand: bool = flag(True)
    features: np.ndarray = scratch()  # (K, K d) or (K, d) of this round
    shown: np.ndarray = scratch()  # (1,) the class of this round's row
    number: int = derived()  # K
    step: int = derived()  # columns between what two arms see: d or 0

    @staticmethod
    def complete(stored: Stored) -> Stored:
        rows, labels = (
            stored["rows"],
            checks.entries("classes", stored["classes"], "a list of classes"),
        )
        if labels.dtype.kind in "UT" or (
            labels.dtype.kind == "O" and all(isinstance(one, str) for one in labels.flat)
        ):
            labels = np.unique(labels.astype(str), return_inverse=True)[1]
        classes = checks.vector(
            "classes", labels, length=rows.shape[0], least=0.0, source="one for each of rows"
        )
        if (classes != np.floor(classes)).any():
            raise ValueError(
                f"classes = {checks.show(classes)} must be whole numbers from 0; "
                "problems.classification takes other labels."
            )
        number = int(classes.max()) + 1
        absent = np.setdiff1d(np.arange(number), classes)
        if absent.size:
            raise ValueError(
                f"classes has no {absent[0]}, but goes to {number - 1}; number the classes that "
                "occur from 0."
            )
        if stored["intercept"]:
            rows = np.ascontiguousarray(np.column_stack([rows, np.ones(len(rows))]))
        size = rows.shape[1]
        step = size if stored["expand"] else 0
        width = size + (number - 1) * step
        checks.fits_in_memory("classes", number, 8 * width)
        more = {
            "features": np.zeros((number, width)),
            "shown": np.zeros(1),
            "number": number,
            "step": step,
        }
        return stored | {"rows": rows, "classes": classes} | more

    def describe(self):
        return Arms(
            self.number, dimension=self.features.shape[1], rewards=(0.0, 1.0), common=self.step == 0
        )

    @jit
    def observe(self, t, rng):
        i = rng.integers(0, self.rows.shape[0])
        d = self.rows.shape[1]
        self.shown[0] = self.classes[i]
        for k in range(self.features.shape[0]):
            for j in range(d):
                self.features[k, k * self.step + j] = self.rows[i, j]
        return Context(self.features, None, None, None)

    @jit
    def play(self, context, action, rng):
        return 1.0 if action == self.shown[0] else 0.0

    @jit
    def mean(self, context, arm):
        return 1.0 if arm == self.shown[0] else 0.0

    @jit
    def regret(self, context, action):
        return 0.0 if action == self.shown[0] else 1.0


def classification(
    X: ArrayLike, y: ArrayLike, *, intercept: bool = True, scale: bool = True, expand: bool = True
) -> Classification:
    """Classification data, as scikit-learn has them, as a problem.

    Parameters
    ----------
    X : (n, p) array or data frame
        Numbers.
    y : (n,) array or series
        Labels of any kind; sorted, they are arms 0 .. K - 1.
    intercept : bool
        Add a column of ones.
    scale : bool
        Bring every column to mean 0 and standard deviation 1 (columns that never change to 0).
    expand : bool
        Every arm sees the row in columns of its own; False: all see the same, for policies with a
        model for each arm (shared=False).

    Returns
    -------
    Classification

    Raises
    ------
    ValueError
        On bad data.
    """
    rows = checks.matrix("X", X.to_numpy() if hasattr(X, "to_numpy") else X)
    labels = checks.entries("y", y.to_numpy() if hasattr(y, "to_numpy") else y, "a list of labels")
    if labels.ndim != 1 or labels.size != rows.shape[0]:
        raise ValueError(
            f"y has shape {labels.shape}, but must have one label for each of the {rows.shape[0]} "
            "rows of X."
        )
    _, classes = np.unique(labels, return_inverse=True)
    if checks.flag("scale", scale):
        spread = rows.std(axis=0)
        rows = (rows - rows.mean(axis=0)) / np.where(spread > 0.0, spread, 1.0)
    return Classification(rows, classes.astype(np.float64), intercept, expand)
