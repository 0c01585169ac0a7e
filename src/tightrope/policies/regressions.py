"""Inverse gap weighting, and the policy that plays it by a regression from outside: scikit-learn's,
River's, or a function."""

import copy
import math
from collections.abc import Callable
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ..compiled.kernels import lean
from ..core import checks
from ..core.fields import Count, Finite, Given, Scratch, Stored, choice, flag, real, unchecked
from ..core.policy import Policy, policy
from ..core.verbs import Arms, allowed, value_or
from ..numerics.counts import argmax, count_eligible
from ..numerics.noise import Noise, bounded, enter, new_noise, noise_scale, note
from ..numerics.posterior import categorical
from ..numerics.ridge import ALIKE, learn, predict

ACCEPTED = (
    "an object with partial_fit and predict (scikit-learn), one with learn_one and predict_one "
    "(River), or a function of rows (n, d) that returns n predictions"
)


# A regression answers `scores` of rows (n, d), its predicted rewards, and `take_in` of one reward.


class BatchRegression:
    """A regressor of scikit-learn; it cannot predict before it has seen a row, and is 0 until
    then."""

    def __init__(self, model: Any) -> None:
        self.model, self.seen = copy.deepcopy(model), False

    def scores(self, rows: np.ndarray) -> ArrayLike:
        return self.model.predict(rows) if self.seen else np.zeros(len(rows))

    def take_in(self, row: np.ndarray, reward: float) -> None:
        self.model.partial_fit(row[None], np.array([reward]))
        self.seen = True


class Online:
    """A regressor of River, which knows columns by name: 0, 1, ..; None, where it has no answer
    yet, counts as 0."""

    def __init__(self, model: Any) -> None:
        self.model = copy.deepcopy(model)

    def scores(self, rows: np.ndarray) -> ArrayLike:
        return [self.model.predict_one(dict(enumerate(row))) or 0.0 for row in rows.tolist()]

    def take_in(self, row: np.ndarray, reward: float) -> None:
        self.model.learn_one(dict(enumerate(row.tolist())), reward)


class FunctionRegression:
    """A function that somebody else fits."""

    def __init__(self, model: Any) -> None:
        self.scores = model

    def take_in(self, row: np.ndarray, reward: float) -> None:
        """Nothing: the function learns elsewhere."""


KINDS: tuple[tuple[tuple[str, ...], Callable[[object], Any]], ...] = (
    (("partial_fit", "predict"), BatchRegression),
    (("learn_one", "predict_one"), Online),
    (("__call__",), FunctionRegression),
)


def kind_of(name: str, model: object) -> Callable[[object], Any]:
    for methods, kind in KINDS:
        if not isinstance(model, type) and all(
            callable(getattr(model, method, None)) for method in methods
        ):
            return kind
    raise ValueError(f"{name} = {checks.show(model)} is no regression; give {ACCEPTED}.")


class Outside(NamedTuple):
    """One regression, or one for each arm, in the place of a ridge regression."""

    features: Finite  # (K, d) fixed, or of the last prediction
    mean: Finite  # (K,) at the last prediction
    regressions: np.ndarray  # (1,) or (K,) of objects

    def predict(self, context):
        self.features[:] = value_or(context.features, self.features)
        parts = np.array_split(self.features, self.regressions.size)
        predictions = [
            checks.floats("model's predictions", one.scores(rows.copy())).reshape(-1)
            for one, rows in zip(self.regressions, parts, strict=True)
        ]
        scores = np.concatenate(predictions)
        if scores.shape != self.mean.shape or not np.isfinite(scores).all():
            raise ValueError(
                f"model predicts {checks.show(scores)}, but must give a finite number for each of "
                f"{self.mean.size} rows."
            )
        self.mean[:] = scores

    def learn(self, context, arm, reward, most):
        row = np.array(value_or(context.features, self.features)[arm])
        one = self.regressions[arm % self.regressions.size]
        error = float(reward) - float(
            np.asarray(one.scores(row[None].copy()), dtype=np.float64).reshape(-1)[0]
        )
        one.take_in(row, float(reward))
        return error, 1.0


def new_outside(model: object, arms: Arms, shared: int) -> Outside:
    K, kind = arms.number, kind_of("model", model)
    common = arms.common and K > 1
    if shared > 0 and common:
        raise ValueError(ALIKE.format("shared = True keeps one regression for all arms"))
    shared = not common if shared < 0 else shared > 0
    if not shared and K < 2:
        raise ValueError(
            "shared = False keeps a regression for each arm, but there is one arm; give their "
            "number, arms=K, or shared=True."
        )
    features = np.zeros((K, arms.dimension)) if arms.features is None else np.array(arms.features)
    models = np.empty(1 if shared else K, dtype=object)
    models[:] = [kind(model) for _ in models]
    return Outside(features, np.zeros(K), models)


# Inverse gap weighting: the parameters, the probabilities and the factor gamma that every policy of
# this family shares.


SCALE = 6.0  # times sqrt(t) / noise
SCHEDULE, HORIZON = range(2)  # places of `growth`


class Gaps:
    """Parameters of inverse gap weighting (see `SquareCB`)."""

    gamma: Given[float | None, float] = real(default=None, least=0, none="from growth")
    noise: Given[float | None, float] = real(default=None, above=0, none="learned")
    growth: Given[Literal["schedule", "horizon"], int] = choice(
        "schedule", "horizon", default="schedule"
    )
    scale: float = real(default=SCALE, least=0)
    power: float = real(default=0.5, least=0)
    delta: float = real(default=0.05, above=0, below=1)
    shared: Given[bool | None, int] = flag(default=None, none="by what a round shows")


@lean
def horizon_gamma(arms, coefficients, rounds, delta):
    """sqrt(K T / (Reg + ln(2 / delta))), Reg = p ln(1 + T / p) for p coefficients (Foster, Rakhlin
    2020, Theorem 1; their mu is K)."""
    learned = coefficients * math.log(1.0 + rounds / coefficients)
    return math.sqrt(arms * rounds / (learned + math.log(2.0 / delta)))


@lean
def current_gamma(policy, state, learned):
    """Gamma of this round: fixed since the start, or grown with the rewards taken in. learned: the
    scale of the noise by the residuals."""
    if not math.isnan(state.gamma):
        return state.gamma
    t = state.rounds[0] + 1.0
    if policy.growth == SCHEDULE:
        sigma = learned if math.isnan(policy.noise) else policy.noise
        return policy.scale * math.exp(policy.power * math.log(t)) / sigma
    return horizon_gamma(state.weight.shape[0], state.coefficients, t, policy.delta) / bounded(
        policy.noise
    )


def fixed_gamma(policy: Gaps, arms: Arms, coefficients: int) -> float:
    if math.isnan(policy.gamma) and policy.growth == HORIZON and arms.horizon is not None:
        return float(
            horizon_gamma(arms.number, coefficients, arms.horizon, policy.delta)
            / bounded(policy.noise)
        )
    return float(policy.gamma)


@lean
def weigh(mean, eligible, gamma, weight):
    """Fill weight with every arm's probability: 1 / (n + gamma (best mean - mean)), n eligible
    arms; the best arm has the rest. O(K)."""
    best, number, rest = argmax(mean, eligible), count_eligible(mean.shape[0], eligible), 1.0
    for k in range(mean.shape[0]):
        weight[k] = 0.0
        if k != best and allowed(eligible, k):
            weight[k] = 1.0 / (number + gamma * (mean[best] - mean[k]))
            rest -= weight[k]
    weight[best] = rest


# The policy. When to use it: trees, networks or any other regression that learns row by row
# predicts rewards better than a linear one. Bound, source: as `SquareCB` of ridge regression, with
# Reg the square-loss regret of that regression; gamma from the horizon supposes that of a linear
# one.
# Deviation: a regression that has seen nothing predicts 0. Its rounds are Python, each with K
# predictions of that regression. A session with it cannot be saved: files hold no objects. It has
# the name of the compiled class, which makes it again from its parameters.


@policy("features", "contexts", paper="Foster, Rakhlin 2020", compiled=False, public=False)
class SquareCB(Gaps, Policy):
    """Inverse gap weighting of the predictions of any regression.

    model: an object with partial_fit and predict, one with learn_one and predict_one, or a function
    of rows. It is copied: every session and every replication trains its own, with shared=False one
    for each arm. The other parameters are those of `SquareCB`.
    """

    model: Any = unchecked(kept=True, words=ACCEPTED)

    class State(NamedTuple):
        model: Outside
        noise: Noise
        gamma: float  # NaN: grows
        coefficients: int  # that a linear regression would learn
        rounds: Count  # (1,) rewards so far
        weight: Scratch  # (K,) probabilities

    @staticmethod
    def complete(stored: Stored) -> Stored:
        kind_of("model", stored["model"])
        return stored

    def init(self, arms):
        model = new_outside(self.model, arms, self.shared)
        coefficients = arms.dimension * model.regressions.size
        return self.State(
            model,
            new_noise(),
            fixed_gamma(self, arms, coefficients),
            coefficients,
            np.zeros(1),
            np.zeros(arms.number),
        )

    def select(self, state, context, rng):
        return int(categorical(probabilities(self, state, context), 1.0, rng))

    def update(self, state, context, action, reward):
        enter(state.noise, reward, True)
        note(state.noise, *learn(state.model, context, action, reward, math.inf))
        state.rounds[0] += 1.0
        return state

    def propensity(self, state, context, action, rng):
        return float(probabilities(self, state, context)[action]), 0.0

    def explain(self, state, context, rng):
        probability = probabilities(self, state, context)
        mean = state.model.mean.copy()
        return {
            "mean": mean,
            "index": mean,
            "probability": probability,
            "gamma": gamma_of(self, state),
        }


def probabilities(policy, state, context):
    predict(state.model, context)
    weigh(state.model.mean, context.eligible, gamma_of(policy, state), state.weight)
    return state.weight


def gamma_of(policy: SquareCB, state: Any) -> float:
    """Gamma of this round. The compiled rule takes the policy without its model, which no compiled
    code can."""
    return float(
        current_gamma(
            policy._replace(model=None), state._replace(model=None), noise_scale(state.noise, 0.0)
        )
    )
