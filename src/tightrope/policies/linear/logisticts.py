"""LogisticTS: Thompson sampling for clicks, whose log odds are linear in the features.

When to use it: clicks, sales, answers: rewards of 0 or 1, or shares in between, with features. The
page compares it with LinTS and LinUCB, which take any rewards.
Bound: none is proved for a law that is normal by approximation and follows one reward at a time.
Source: Chapelle, Li 2011, Algorithm 3 and section 4: regularised logistic regression with Laplace's
approximation, and draws from it.
Deviations: the whole covariance instead of its diagonal; one reward at a time, each by an exact
search for the mode (numerics/logistic.py), instead of batches; an intercept; a model for each arm
where all arms are shown one context. The default width is no paper's: 1 is Bayes' rule and has 1.6
to 1.7 times the regret on the worlds of its page.
Per round: O(K d + d^2), with a model for each arm O(K d^2); O(d^2) a reward.
"""

from typing import NamedTuple

import numpy as np

from ...compiled.kernels import jit
from ...core.fields import Given, flag, real
from ...core.policy import Policy, policy
from ...core.types import Sampled
from ...core.verbs import value_or
from ...numerics.counts import argmax
from ...numerics.linalg import check_digits
from ...numerics.logistic import (
    Logistic,
    draw_scores,
    learn_reward,
    log_odds,
    longer_logistic,
    new_logistic,
    regression_of,
)
from ...numerics.posterior import best_of_draws, chance_of_best
from ...numerics.ridge import ALIKE, REFRESH

WIDTH = 0.3  # standard deviations of the posterior
# of explain's Monte Carlo where no number is asked for: standard errors of at most 0.0016
DRAWS = 100_000
AUDIT_DRAWS = 500  # of one propensity: standard errors of mostly less than 0.01


@policy(
    "features",
    "contexts",
    paper="Chapelle, Li 2011",
    examples=(
        {},
        {"shared": False, "width": 0.7},
    ),
    rewards=(0.0, 1.0),
)
class LogisticTS(Policy):
    """Thompson sampling for rewards in [0, 1] of mean 1 / (1 + exp(-x'theta)), theta from a normal
    approximation of its posterior.

    Parameters
    ----------
    lam : number in (0, inf), default 1.0
        The prior is theta ~ N(0, I / lam).
    width : number in [0, inf), default 0.3
        Of the draw in standard deviations of the posterior.
    shared : True, False, or None (by what a round shows), default None
        One theta for all arms; False: one for each, learned from the arm's own rewards and drawn
        independently of the others; None: one for each where a round shows all arms one context
        (d,), else one for all.
    intercept : True or False, default True
        Whether a column of ones is added, whose coefficient is drawn to the log odds of the mean of
        the rewards so far.
    """

    lam: float = real(default=1.0, above=0)
    width: float = real(default=WIDTH, least=0)
    shared: Given[bool | None, int] = flag(default=None, none="by what a round shows")
    intercept: bool = flag(default=True)

    class State(NamedTuple):
        model: Logistic

    def init(self, arms):
        common = arms.common and arms.number > 1
        if common and self.shared > 0:
            raise ValueError(ALIKE.format("shared = True keeps one regression for all arms"))
        each = self.shared == 0 or (self.shared < 0 and common)
        return self.State(new_logistic(arms, self.lam, each=each, intercept=self.intercept))

    @jit
    def select(self, state, context, rng):
        draw_scores(state.model, value_or(context.features, state.model.features), self.width, rng)
        return argmax(state.model.scores, context.eligible)

    @jit
    def update(self, state, context, action, reward):
        learn_reward(state.model, value_or(context.features, state.model.features), action, reward)
        return state

    def grow(self, state, arms):
        return self.State(longer_logistic(self.init(arms).model, state.model))

    def admit(self, state, context):
        if context.features is not None:
            check_digits("context", context.features, self.lam, REFRESH, root=True)

    def propensity(self, state, context, action, rng, draws=None):
        draws = AUDIT_DRAWS if draws is None else draws
        mean, _, root = law(self, state, context)
        p, error = chance_of_best(mean, root, context.eligible, action, rng, draws)
        return Sampled(p, error, draws) if error > 0.0 else (p, error)

    def explain(self, state, context, rng, draws=None):
        draws = DRAWS if draws is None else draws
        mean, deviation, root = law(self, state, context)
        rate, lower, upper = chance(mean), chance(mean - deviation), chance(mean + deviation)
        probability = best_of_draws(mean, root, context.eligible, rng, draws)
        error = np.sqrt(probability * (1.0 - probability) / draws)
        arms = {"mean": rate, "width": upper - rate, "lower": lower, "upper": upper, "index": rate}
        return arms | {"probability": probability, "probability_se": error}


def chance(log_odds: np.ndarray) -> np.ndarray:
    return np.asarray(0.5 + 0.5 * np.tanh(0.5 * log_odds))


def law(policy: LogisticTS, state, context) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Means and deviations (K,) of the log odds that are drawn, and a root of their covariance, (K,
    n), or (K,) where it is diagonal."""
    model = state.model
    shown = value_or(context.features, model.features)
    K, each = len(shown), regression_of(model, 1) == 1
    mean, root = np.empty(K), np.empty((K, model.row.size))
    for k in range(K):
        mean[k], _, _ = log_odds(model, shown, k)
        root[k] = policy.width * model.turned
    deviation = np.sqrt((root * root).sum(axis=1))
    return mean, deviation, deviation if each else root
