"""LinUCB: optimism when the mean is linear in the arm's features.

When to use it: many arms that share features, also with new features every round; or a few arms
that are all shown one context (a user, a request) and differ in what it means for them. Nothing has
to be known: the width comes from the data, in standard errors.
Bound: O(d sqrt(T) log T) pseudo-regret with probability 1 - delta for width="theorem", with a bound
on the noise and on ||theta||. The default width is an interval for one arm at one time, which is
three to ten times narrower: it has less regret on every problem that we tried
(docs/results/bakeoff.md) and no proof. width="losan" is LOSAN, which has one.
Source: Abbasi-Yadkori, Pal, Szepesvari 2011 (radius="determinant"); Yang & Toni 2020, Eq 5
(radius="horizon", here with lam and the norms of fixed arms; features that change must have norms
of at most 1); Li, Chu, Langford, Schapire 2010, Algorithm 1 (shared=False, with beta as its alpha);
Russac, Vernade, Cappe 2019, arXiv 1909.09146 (forget: theta may drift; two matrices).
The scale of the noise where it is learned: numerics/noise.py.
Deviations: the default width is no paper's. Where no horizon is known, as in a service,
radius="horizon" falls back to the anytime "determinant". With shared=False either radius holds for
all arms at once (delta / K each; the largest determinant).
Per round: O(min(K^2, K d + d^2)) with fixed arms, O(K d^2) with new features, shared=False or
forget < 1, which adds O(d^3).
"""

import math
from collections.abc import Callable
from typing import Literal, NamedTuple

import numpy as np

from ...compiled.kernels import jit, lean
from ...core.fields import Extended, Given, Scratch, Stored, choice, flag, real
from ...core.policy import Policy, policy, preset
from ...core.types import Arguments
from ...numerics.counts import argmax, determinant_radius, horizon_radius, intervals, one_hot
from ...numerics.noise import Noise, bounded, current_scale, new_noise, reported_noise, take_in
from ...numerics.ridge import (
    Ridge,
    best_arm,
    new_model,
    predict,
    regressions,
    remembered,
    untried_first,
)
from ..bases import (
    RidgePolicy,
    by_the_data,
    learns_noise,
    only_with_the_theorem,
    refuse_intercept,
    wants_intercept,
)
from .losan import LOSAN

WIDTH = 2.5  # standard errors
ROUNDING = 1e-9  # of a norm of 1: arms that somebody has normalised


@policy(
    "features",
    "contexts",
    paper="Abbasi-Yadkori, Pal, Szepesvari 2011; Yang & Toni 2020, Eq 5",
    examples=(
        {},
        {"shared": False},
        {"width": "theorem"},
        {"width": "theorem", "shared": False},
    ),
)
class LinUCB(RidgePolicy):
    """Optimism for linear rewards: x'theta_hat + beta ||x||_{V^-1}.

    Parameters
    ----------
    lam : number in (0, inf), default 1.0
        Ridge parameter.
    width : number in [0, inf), or 'theorem' or 'losan', default 2.5
        Of the interval in standard errors of the estimate, beta = width noise; "theorem": the width
        that has a proof, by `radius`; "losan": the policy LOSAN, whose parameters the others are
        then.
    noise : number in [0, inf), or None (learned), default None
        Scale of the rewards' noise; None: learned from the residuals, with width="theorem" 1.
    beta : number in [0, inf), or None (from width), default None
        A fixed width instead.
    delta : number in (0, 1), default 0.1
        Probability that the confidence set fails, with width="theorem" only.
    theta_bound : number in [0, inf), default 1.0
        Bound on ||theta||, with width="theorem" only.
    radius : 'horizon' or 'determinant', default 'horizon'
        Which of the two formulas, with width="theorem" only.
    shared : True, False, or None (by what a round shows), default None
        One theta for all arms; False: one for each, learned from the arm's own rewards, untried
        arms first; None: one for each where a round shows all arms one context (d,), else one for
        all.
    forget : number in (0, 1], default 1.0
        What a reward's weight is multiplied by each round, in (0, 1], where theta drifts; 1: all
        count the same for ever.
    intercept : True, False, or None (where the width is from the data), default None
        Whether a constant column is added, drawn to the mean of the rewards so far, so that adding
        a number to all rewards changes no decision; None: where the width is from the data.
    """

    lam: float = real(default=1.0, above=0)
    width: Given[float | Literal["theorem", "losan"], float] = real(
        default=WIDTH, words=("theorem", "losan"), least=0
    )
    noise: Given[float | None, float] = real(default=None, least=0, none="learned")
    beta: Given[float | None, float] = real(default=None, least=0, none="from width")
    delta: float = real(default=0.1, above=0, below=1)
    theta_bound: float = real(default=1.0, least=0)
    radius: Given[Literal["horizon", "determinant"], int] = choice(
        "horizon", "determinant", default="horizon"
    )
    shared: Given[bool | None, int] = flag(default=None, none="by what a round shows")
    forget: float = real(default=1.0, above=0, most=1)
    intercept: Given[bool | None, int] = flag(default=None, none="where the width is from the data")

    class State(NamedTuple):
        model: Ridge
        noise: Noise
        beta: Extended  # (1,) the same in all rounds; NaN: grows or is learned
        scores: Scratch  # (K,)

    @staticmethod
    def complete(stored: Stored) -> Stored:
        if by_the_data(stored["width"], stored["beta"]):
            only_with_the_theorem(LinUCB.FIELDS, stored, "delta", "theta_bound", "radius")
        elif math.isnan(stored["beta"]):
            refuse_intercept(stored)
        return stored

    @staticmethod
    def made_instead(arguments: Arguments) -> Callable[..., Policy] | None:
        width = arguments.get("width")
        if not isinstance(width, str) or width != "losan":
            return None
        return lambda *, width, **others: LOSAN(**others)

    def init(self, arms):
        intercept, beta = (
            wants_intercept(self.intercept, by_the_data(self.width, self.beta)),
            self.beta,
        )
        model = new_model(
            arms, self.lam, shared=self.shared, forget=self.forget, intercept=intercept
        )
        if math.isnan(beta) and self.width < 0.0 and self.radius == 0 and arms.horizon is not None:
            delta, rounds = self.delta / regressions(model), remembered(arms.horizon, self.forget)
            norm = largest_norm(arms.features)
            beta = horizon_radius(
                bounded(self.noise), delta, arms.dimension, rounds, self.lam, self.theta_bound, norm
            )
        return self.State(model, new_noise(self.forget), np.array([beta]), np.zeros(arms.number))

    @jit
    def select(self, state, context, rng):
        predict(state.model, context)
        beta = current_beta(self, state)
        for k in range(state.scores.shape[0]):
            state.scores[k] = state.model.mean[k] + beta * math.sqrt(state.model.square[k])
        return best_arm(
            state.model, state.scores, context.eligible, by_the_data(self.width, self.beta)
        )

    @jit
    def update(self, state, context, action, reward):
        counted = learns_noise(self.width, self.beta, self.noise) or state.model.intercept
        take_in(state.model, state.noise, context, action, reward, counted)
        return state

    def explain(self, state, context, rng):
        predict(state.model, context)
        beta = current_beta(self, state)
        report = intervals(
            state.noise.sums[0].origin + state.model.mean, beta * np.sqrt(state.model.square)
        )
        data = by_the_data(self.width, self.beta)
        first = untried_first(state.model, context.eligible) if data else context.eligible
        upper = (
            state.model.mean + report["width"]
        )  # as `select` has it, before the origin takes digits
        probability = one_hot(argmax(upper, first), state.scores.size)
        noise = reported_noise(
            self.noise, learns_noise(self.width, self.beta, self.noise), state.noise, state.model
        )
        return report | {
            "index": report["upper"],
            "probability": probability,
            "beta": beta,
            "noise": noise,
        }


@preset(width="theorem")
class OFUL(LinUCB):
    """LinUCB with the width that has a proof (Abbasi-Yadkori, Pal, Szepesvari 2011).

    Regret is O(d sqrt(T) log T) with probability 1 - delta, for noise that is sub-Gaussian with
    scale `noise` (1 where none is given) and
    ||theta|| at most theta_bound; `noise`, `delta`, `theta_bound` and `radius` are what to give.
    The paper's own radius, which holds at any time, is radius="determinant"; where the number of
    rounds is known the default is that of Yang & Toni 2020, Eq 5.
    LOSAN's width is proved as well, and shrinks with the noise that there is: told 1 where it is
    0.1, its regret is a third of this one's in five dimensions.
    """


def largest_norm(features: np.ndarray | None) -> float:
    """The largest norm of fixed arms; 1 where none is longer but by rounding, and where features
    come with every round."""
    longest = 1.0 if features is None else float(np.linalg.norm(features, axis=1).max())
    return longest if longest > 1.0 + ROUNDING else 1.0


@lean
def current_beta(policy, state):
    if not math.isnan(state.beta[0]):
        return state.beta[0]
    if policy.width >= 0.0:
        return policy.width * current_scale(policy.noise, state.noise, state.model)
    return determinant_radius(
        bounded(policy.noise), policy.delta, state.model.log_det[0], policy.lam, policy.theta_bound
    )
