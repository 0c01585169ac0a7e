"""SquareCB: play an arm the less likely the further its prediction falls short of the best one.

When to use it: contexts and any regression that predicts rewards well; every choice has an exact
propensity, and no arm's is ever 0, so the log can evaluate other policies.
Bound: with gamma from the horizon, O(sqrt(K T Reg) + sqrt(K T ln(1 / delta))) regret with
probability 1 - delta, Reg the square-loss regret of the regression, if some member of its class
predicts the mean rewards (Theorem 1). Reg = O(d ln(1 + T / d)) for ridge regression on rewards in
[0, 1].
Source: Foster, Rakhlin 2020, "Beyond UCB", arXiv 2002.04926, Algorithm 1 with mu = K;
growth="schedule" is Vowpal Wabbit's, and the default because the theorem's gamma explores far
longer than data ask for (docs/how-to/contexts-and-models.md has figures).
Deviations: among n eligible arms mu is n. Where no horizon is known, gamma is that of the rounds so
far. The schedule's gamma is divided by the scale of the noise, which is learned from the residuals,
so that rewards may have any unit; Vowpal Wabbit's is noise=1, scale=10.
Per round: that of LinUCB.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from ..compiled.kernels import jit, lean
from ..core import checks
from ..core.fields import Count, Given, Scratch, flag, real, unchecked
from ..core.policy import Policy, policy
from ..core.types import Arguments
from ..numerics.counts import fill_proportions, intervals
from ..numerics.noise import Noise, new_noise, noise_scale, take_in
from ..numerics.posterior import categorical
from ..numerics.ridge import Ridge, new_model, predict, regained, regressions
from .bases import KnowsChances, RidgePolicy
from .regressions import SCHEDULE, Gaps, SquareCB as AnySquareCB, current_gamma, fixed_gamma, weigh


@policy(
    "features",
    "contexts",
    paper="Foster, Rakhlin 2020",
    examples=(
        {},
        {"scale": 10.0, "noise": 1.0},
    ),
)
class SquareCB(Gaps, KnowsChances, RidgePolicy):
    """Inverse gap weighting: 1 / (K + gamma (best prediction - the arm's)), the rest for the best
    arm.

    Parameters
    ----------
    gamma : number in [0, inf), or None (from growth), default None
        How sharply the best arm is preferred; None: by `growth`.
    noise : number in (0, inf), or None (learned), default None
        Scale of the rewards' noise; None: learned, or 1 with growth="horizon".
    growth : 'schedule' or 'horizon', default 'schedule'
        gamma of round t where none is given: scale t^power / noise by "schedule", sqrt(K T / (Reg +
        ln(2 / delta))) / noise by "horizon".
    scale : number in [0, inf), default 6.0
        Of gamma by "schedule".
    power : number in [0, inf), default 0.5
        Of t in gamma by "schedule".
    delta : number in (0, 1), default 0.05
        Probability in gamma by "horizon".
    shared : True, False, or None (by what a round shows), default None
        One regression for all arms; False: one for each, learned from the arm's own rewards; None:
        one for each where a round shows all arms one context (d,), else one for all.
    lam : number in (0, inf), default 1.0
        Ridge parameter.
    model : a regression, or None (ridge), default None
        None for ridge regression, or a regression of your own, with which rounds are plain Python:
        an object with partial_fit(X, y) and predict(X), as scikit-learn's; with learn_one(x, y) and
        predict_one(x), as River's; or a function of (n, d) rows that returns n predictions and
        learns elsewhere.
    intercept : True, False, or None (where gamma is by the learned noise), default None
        Whether ridge regression has a constant column, drawn to the mean of the rewards so far, so
        that adding a number to all rewards changes no decision; None: where gamma is by the noise
        that is learned.
    """

    lam: float = real(default=1.0, above=0)
    model: Any = unchecked(None, kept=True, words="a regression, or None (ridge)")
    intercept: Given[bool | None, int] = flag(
        default=None, none="where gamma is by the learned noise"
    )

    class State(NamedTuple):
        model: Ridge
        noise: Noise
        gamma: float  # NaN: grows
        coefficients: int  # that are learned: d, or K d
        rounds: Count  # (1,) rewards so far
        weight: Scratch  # (K,) probabilities

    @staticmethod
    def made_instead(arguments: Arguments) -> type[Policy] | None:
        """With a regression of one's own it is another class, whose rounds are Python; refuses what
        is for ridge regression beside one."""
        if arguments.get("model") is None:
            return None
        for name in ("lam", "intercept"):
            if name in arguments:
                raise ValueError(
                    f"{name} = {checks.show(arguments[name])} is for ridge regression, and model "
                    f"is one of your own; leave {name} out."
                )
        return AnySquareCB

    def init(self, arms):
        intercept = bool(learns(self)) if self.intercept < 0 else bool(self.intercept)
        model = new_model(arms, self.lam, shared=self.shared, intercept=intercept)
        coefficients = (arms.dimension + intercept) * regressions(model)
        return self.State(
            model,
            new_noise(),
            fixed_gamma(self, arms, coefficients),
            coefficients,
            np.zeros(1),
            np.zeros(arms.number),
        )

    @jit
    def select(self, state, context, rng):
        fill_weights(self, state, context)
        return categorical(state.weight, 1.0, rng)

    @jit
    def update(self, state, context, action, reward):
        take_in(
            state.model, state.noise, context, action, reward, learns(self) or state.model.intercept
        )
        state.rounds[0] += 1.0
        return state

    @jit
    def chances(self, state, context, out):
        fill_weights(self, state, context)
        fill_proportions(state.weight, 1.0, out)
        return True

    def explain(self, state, context, rng):
        fill_weights(self, state, context)
        learned = noise_scale(state.noise, regained(state.model))
        sigma = learned if math.isnan(self.noise) else self.noise
        report = intervals(
            state.noise.sums[0].origin + state.model.mean, sigma * np.sqrt(state.model.square)
        )  # one standard deviation; the rule ignores it
        return report | {
            "index": report["mean"],
            "probability": state.weight,
            "gamma": float(current_gamma(self, state, learned)),
        }


@lean
def fill_weights(policy, state, context):
    predict(state.model, context)
    learned = noise_scale(state.noise, regained(state.model)) if learns(policy) else 1.0
    weigh(state.model.mean, context.eligible, current_gamma(policy, state, learned), state.weight)


@lean
def learns(policy):
    return math.isnan(policy.gamma) and math.isnan(policy.noise) and policy.growth == SCHEDULE
