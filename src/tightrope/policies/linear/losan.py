"""LOSAN: optimism for linear rewards whose width is from the data and has a proof.

When to use it: as LinUCB, where its width has to be proved and the noise may be far smaller than
what is known about it. Of the noise a bound must be known: rewards in [0, 1] have noise=0.5.
Bound: O((sigma sqrt(d) + noise) sqrt(d T) polylog T) pseudo-regret with probability 1 - delta,
where sigma is the scale of the noise that there is.
Source: Jun, Kim 2024, arXiv 2402.07341, by the authors' code.
Deviations: with shared=False the width holds for all arms at once (delta / K each; the largest
loss). A reward of a round that is over counts in the order in which it comes.
Per round: O(min(K^2, K d + d^2)) with fixed arms, O(K d^2) with new features or shared=False.
"""

import math
from typing import NamedTuple

import numpy as np

from ...compiled.kernels import jit, lean
from ...core.fields import Extended, Given, Scratch, Stored, flag, real
from ...core.policy import policy
from ...numerics.counts import argmax, intervals, one_hot
from ...numerics.ridge import Ridge, learn, new_model, predict, regressions
from ...numerics.states import longer_ridge
from ..bases import RegressionPolicy


@policy(
    "features",
    "contexts",
    paper="Jun, Kim 2024",
    examples=({"noise": 0.5}, {"shared": False}),
)
class LOSAN(RegressionPolicy):
    """LinUCB with a width that is from the data and has a proof (Jun, Kim 2024); also
    LinUCB(width="losan").

    Parameters
    ----------
    noise : number in [0, inf), default 1.0
        What the scale of the rewards' noise is at most; the width shrinks with the noise that is
        seen.
    theta_bound : number in [0, inf), default 1.0
        Bound on ||theta||.
    delta : number in (0, 1), default 0.1
        Probability that the confidence set fails in any round.
    lam : number in (0, inf), or None (noise^2 / theta_bound^2), default None
        Ridge parameter.
    shared : True, False, or None (by what a round shows), default None
        One theta for all arms; False: one for each, learned from the arm's own rewards; None: one
        for each where a round shows all arms one context (d,), else one for all.
    """

    noise: float = real(default=1.0, least=0)
    theta_bound: float = real(default=1.0, least=0)
    delta: float = real(default=0.1, above=0, below=1)
    lam: Given[float | None, float] = real(default=None, above=0, none="noise^2 / theta_bound^2")
    shared: Given[bool | None, int] = flag(default=None, none="by what a round shows")

    class State(NamedTuple):
        model: Ridge
        losses: Extended  # twice those of each regression, see `update`
        scores: Scratch  # (K,)

    @staticmethod
    def complete(stored: Stored) -> Stored:
        if not math.isnan(stored["lam"]):
            return stored
        if stored["theta_bound"] * stored["noise"] == 0.0:
            raise ValueError(
                "lam = None is noise^2 / theta_bound^2, and one of them is 0; give lam, or a noise "
                "and a theta_bound above 0."
            )
        return stored | {"lam": (stored["noise"] / stored["theta_bound"]) ** 2}

    def init(self, arms):
        model = new_model(arms, self.lam, shared=self.shared)
        return self.State(model, np.zeros(regressions(model)), np.zeros(arms.number))

    @jit
    def select(self, state, context, rng):
        predict(state.model, context)
        beta = current_beta(self, state)
        for k in range(state.scores.shape[0]):
            state.scores[k] = state.model.mean[k] + beta * math.sqrt(state.model.square[k])
        return argmax(state.scores, context.eligible)

    @jit
    def update(self, state, context, action, reward):
        """Adds w^2 e^2 D^2 to twice the loss, with D^2 = w^2 x'V^-1 x after the reward."""
        error, divisor = learn(state.model, context, action, reward, 1.0)
        losses = state.losses
        losses[action % losses.shape[0]] += error * error * (divisor - 1.0) / divisor
        return state

    def grow(self, state, arms):
        longer = self.init(arms)
        longer.losses[: state.losses.size] = state.losses
        return longer._replace(model=longer_ridge(state.model, arms, self.lam))

    def merge(self, first, second):
        raise ValueError(
            "Two LOSAN policies cannot be merged: their width is proved for rewards that came one "
            "after the other. Let one policy learn all of them, or use OFUL."
        )

    def explain(self, state, context, rng):
        predict(state.model, context)
        beta = current_beta(self, state)
        report = intervals(state.model.mean, beta * np.sqrt(state.model.square))
        upper = report["upper"]
        probability = one_hot(argmax(upper, context.eligible), upper.size)
        return report | {"index": upper, "probability": probability, "beta": beta}


@lean
def current_beta(policy, state):
    losses = state.losses
    log_term = math.log(losses.shape[0] / policy.delta)
    known = policy.lam * policy.theta_bound**2 + 2.0 * policy.noise**2 * log_term
    return math.sqrt(known + losses[argmax(losses, None)])
