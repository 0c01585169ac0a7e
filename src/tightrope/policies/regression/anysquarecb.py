"""`SquareCB(model=...)`: the same rule on top of a regression of one's own, in plain Python.

When to use it: trees, networks or any other regression that learns row by row predicts rewards
better than a linear one. Bound, source: as `SquareCB`, with Reg the square-loss regret of that
regression; gamma from the horizon supposes that of a linear one.
Deviation: a regression that has seen nothing predicts 0.
Its rounds are Python, each with K predictions of that regression. A session with it cannot be
saved: files hold no objects. It has the name of the compiled class, which makes it again from its
parameters.
"""

from typing import Any, NamedTuple

import numpy as np

from ...core.fields import Count, Scratch, unchecked
from ...core.policy import Policy, policy
from ...core.types import Stored
from ...numerics.noise import Noise, enter, new_noise, noise_scale, note
from ...numerics.posterior import categorical
from ...numerics.ridge import learn, predict
from .regressions import (
    ACCEPTED,
    Gaps,
    Outside,
    current_gamma,
    fixed_gamma,
    kind_of,
    new_outside,
    weigh,
)


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
        note(state.noise, *learn(state.model, context, action, reward))
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
    """(K,) every arm's probability."""
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
