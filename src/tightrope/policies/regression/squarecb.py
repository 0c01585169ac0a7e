"""SquareCB: play an arm the less likely the further its prediction falls short of the best one.

When to use it: contexts and any regression that predicts rewards well; every choice has an exact propensity, and no arm's is ever 0, so the
log can evaluate other policies.
Bound: with gamma from the horizon, O(sqrt(K T Reg) + sqrt(K T ln(1 / delta))) regret with probability 1 - delta, Reg the square-loss
regret of the regression, if some member of its class predicts the mean rewards (Theorem 1). Reg = O(d ln(1 + T / d)) for ridge regression
on rewards in [0, 1].
Source: Foster, Rakhlin 2020, "Beyond UCB", arXiv 2002.04926, Algorithm 1 with mu = K; growth="schedule" is Vowpal Wabbit's, and the
default because the theorem's gamma explores far longer than data ask for (docs/how-to/contexts-and-models.md has figures).
Deviations: among n eligible arms mu is n. Where no horizon is known, gamma is that of the rounds so far. The schedule's gamma is divided by
the scale of the noise, which is learned from the residuals, so that rewards may have any unit; Vowpal Wabbit's is noise=1, scale=10.
Per round: that of LinUCB.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from ...compiled.kernels import jit, lean
from ...core import checks
from ...core.fields import real, unchecked
from ...core.kinds import Count, Scratch
from ...core.policy import Policy, policy
from ...numerics.counts import intervals
from ...numerics.growth import longer_ridge
from ...numerics.merging import merged_ridge
from ...numerics.noise import Noise, merged_noise, new_noise, noise_scale, note
from ...numerics.ridge import Ridge, check_context, learn, new_model, predict, regressions
from ...numerics.sampling import categorical
from .anysquarecb import SquareCB as AnySquareCB
from .gaps import Gaps, current_gamma, fixed_gamma, weigh


@policy("features", "contexts", paper="Foster, Rakhlin 2020")
class SquareCB(Gaps, Policy):
    """Inverse gap weighting: 1 / (K + gamma (best prediction - the arm's)), the rest for the best arm.

    gamma: how sharply the best arm is preferred; None: by `growth`, which is the "schedule" scale t^power / noise, or from the "horizon"
    sqrt(K T / (Reg + ln(2 / delta))) / noise. noise: scale of the rewards' noise; None: learned, or 1 with growth="horizon".
    shared: one regression for all arms; False: one for each, learned from the arm's own rewards; None: one for each where a round shows
    all arms one context (d,), else one for all.
    lam: ridge parameter. model: None for ridge regression, or a regression of your own, with which rounds are plain Python: an object
    with partial_fit(X, y) and predict(X), as scikit-learn's; with learn_one(x, y) and predict_one(x), as River's; or a function of (n, d)
    rows that returns n predictions and learns elsewhere.
    """

    lam: float = real(default=1.0, above=0)
    model: Any = unchecked(None, kept=True, words="a regression, or None (ridge)")

    class State(NamedTuple):
        model: Ridge
        noise: Noise
        gamma: float  # NaN: grows
        coefficients: int  # that are learned: d, or K d
        rounds: Count  # (1,) rewards so far
        weight: Scratch  # (K,) probabilities

    def init(self, arms):
        model = new_model(arms, self.lam, shared=self.shared)
        coefficients = arms.dimension * regressions(model)
        return self.State(model, new_noise(), fixed_gamma(self, arms, coefficients), coefficients, np.zeros(1), np.zeros(arms.number))

    @jit
    def select(self, state, context, rng):
        fill_weights(self, state, context)
        return categorical(state.weight, 1.0, rng)

    @jit
    def update(self, state, context, action, reward):
        note(state.noise, reward, learn(state.model, context, action, reward))
        state.rounds[0] += 1.0
        return state

    def propensity(self, state, context, action, rng):
        return chance(self, state, context, action), 0.0

    def admit(self, state, context):
        check_context(state.model, context.features)

    def grow(self, state, arms):
        fresh = self.init(arms)
        return fresh._replace(model=longer_ridge(state.model, arms, self.lam), noise=state.noise, rounds=state.rounds)

    def merge(self, first, second):
        model = merged_ridge(first.model, second.model)
        return first._replace(model=model, noise=merged_noise(first.noise, second.noise, model), rounds=first.rounds + second.rounds)

    def explain(self, state, context, rng):
        fill_weights(self, state, context)
        sigma = noise_scale(state.noise) if math.isnan(self.noise) else self.noise
        report = intervals(state.model.mean.copy(), sigma * np.sqrt(state.model.square))  # one standard deviation; the rule ignores it
        return report | {"index": report["mean"], "probability": state.weight, "gamma": float(current_gamma(self, state))}


@lean
def fill_weights(policy, state, context):
    """Fill weight with every arm's probability."""
    predict(state.model, context)
    weigh(state.model.mean, context.eligible, current_gamma(policy, state), state.weight)


@lean
def chance(policy, state, context, arm):
    """The probability that this arm is played now."""
    fill_weights(policy, state, context)
    return state.weight[arm]


def _of_any_regression(cls: type, *unnamed: Any, **given: Any) -> Any:
    """With a regression of one's own it is another class, whose kernels are Python."""
    if given.get("model") is not None:
        if "lam" in given:
            raise ValueError(f"lam = {checks.show(given['lam'])} is for ridge regression, and model is one of your own; leave lam out.")
        return AnySquareCB(*unnamed, **given)
    return _of_ridge(cls, *unnamed, **given)


_of_ridge = SquareCB.__new__
SquareCB.__new__ = _of_any_regression  # type: ignore[method-assign]


def example():
    return [SquareCB(), SquareCB(scale=10.0, noise=1.0)]
