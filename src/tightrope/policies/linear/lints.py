"""LinTS: play the best arm of a theta drawn around the estimate.

When to use it: where linear optimism explores too little in ties, or feedback arrives late. Nothing
has to be known: the posterior's scale is that of the noise, which is learned.
Bound: O(d^(3/2) sqrt(T) log T) pseudo-regret for width="theorem", with probability 1 - delta and a
bound on the noise. The default, 0.7 standard deviations of the posterior, explores far less, has
less regret on every problem that we tried (docs/results/bakeoff.md) and no such proof; width=1 is
Bayes' rule.
Source: Agrawal, Goyal 2013, Algorithm 1; v_t = noise sqrt(9 d ln(t / delta)), section 2.2, as in
the experiments of Yang & Toni 2020. The scale of the noise where it is learned: numerics/noise.py.
Deviations: the default width is no paper's. The ridge parameter is free (lam = 1 in the paper).
shared=False keeps a theta for each arm; v_t is that of d dimensions.
forget < 1: draws with the covariance of Russac, Vernade, Cappe 2019 (two matrices), as Kim, Tewari
2020 (arXiv 1912.05695) have it.
Per round: O(K d + d^2) with fixed arms and d <= K, O(K^3) when K < d, O(K d^2) with new features or
shared=False; forget < 1 adds O(d^3).
"""

import math
from typing import Literal, NamedTuple

import numpy as np

from ...compiled.kernels import jit, lean
from ...core.fields import Count, Given, Scratch, Stored, flag, real
from ...core.policy import policy
from ...core.types import Sampled
from ...core.verbs import Context
from ...numerics.counts import count_eligible, intervals
from ...numerics.noise import Noise, bounded, current_scale, new_noise, reported_noise, take_in
from ...numerics.posterior import best_of_draws, chance_of_best
from ...numerics.ridge import (
    Ridge,
    best_arm,
    deviations,
    new_model,
    predict,
    sample,
    untried,
    untried_first,
    win_chances,
)
from ..bases import (
    RidgePolicy,
    by_the_data,
    learns_noise,
    only_with_the_theorem,
    refuse_intercept,
    wants_intercept,
)

WIDTH = 0.7  # standard deviations of the posterior
# of explain's Monte Carlo where no number is asked for: standard errors of at most 0.0016
DRAWS = 100_000
AUDIT_DRAWS = 500  # of one propensity: standard errors of mostly less than 0.01


@policy(
    "features",
    "contexts",
    paper="Agrawal, Goyal 2013",
    examples=(
        {},
        {"forget": 0.98},
        {"width": "theorem"},
        {"scale": 0.3},
        {"scale": 0.3, "forget": 0.98},
    ),
)
class LinTS(RidgePolicy):
    """Thompson sampling for linear rewards: theta ~ N(theta_hat, v^2 V^-1), one joint draw a round.

    Parameters
    ----------
    lam : number in (0, inf), default 1.0
        Ridge parameter.
    width : number in [0, inf), or 'theorem', default 0.7
        Of the draw in standard deviations of the posterior, v = width noise; "theorem": v = noise
        sqrt(9 d ln(t / delta)), which has a proof.
    noise : number in [0, inf), or None (learned), default None
        Scale of the rewards' noise; None: learned from the residuals, with width="theorem" 1.
    scale : number in [0, inf), or None (from width), default None
        A fixed v instead.
    delta : number in (0, 1), default 0.1
        With width="theorem" only.
    shared : True, False, or None (by what a round shows), default None
        One theta for all arms; False: one for each, learned from the arm's own rewards and drawn
        independently of the others, with one chance for each untried arm and one for all; None: one
        for each where a round shows all arms one context (d,), else one for all.
    forget : number in (0, 1], default 1.0
        What a reward's weight is multiplied by each round, in (0, 1], where theta drifts; 1: all
        count the same for ever.
    intercept : True, False, or None (where the width is from the data), default None
        Whether a constant column is added, drawn to the mean of the rewards so far, so that adding
        a number to all rewards changes no decision; None: where the width is from the data.
    """

    lam: float = real(default=1.0, above=0)
    width: Given[float | Literal["theorem"], float] = real(
        default=WIDTH, words=("theorem",), least=0
    )
    noise: Given[float | None, float] = real(default=None, least=0, none="learned")
    scale: Given[float | None, float] = real(default=None, least=0, none="from width")
    delta: float = real(default=0.1, above=0, below=1)
    shared: Given[bool | None, int] = flag(default=None, none="by what a round shows")
    forget: float = real(default=1.0, above=0, most=1)
    intercept: Given[bool | None, int] = flag(default=None, none="where the width is from the data")

    _sampling = True

    class State(NamedTuple):
        model: Ridge
        noise: Noise
        rounds: Count  # (1,) rewards so far
        scores: Scratch  # (K,)

    @staticmethod
    def complete(stored: Stored) -> Stored:
        if by_the_data(stored["width"], stored["scale"]):
            only_with_the_theorem(LinTS.FIELDS, stored, "delta")
        elif math.isnan(stored["scale"]):
            refuse_intercept(stored)
        return stored

    def init(self, arms):
        intercept = wants_intercept(self.intercept, by_the_data(self.width, self.scale))
        model = new_model(
            arms,
            self.lam,
            shared=self.shared,
            sampling=self._sampling,
            forget=self.forget,
            intercept=intercept,
        )
        return self.State(model, new_noise(self.forget), np.zeros(1), np.zeros(arms.number))

    @jit
    def select(self, state, context, rng):
        predict(state.model, context)
        sample(state.model, posterior_scale(self, state), state.scores, rng)
        share = share_of_untried(self, state, context.eligible)
        return best_arm(
            state.model, state.scores, context.eligible, share > 0.0 and rng.random() < share
        )

    @jit
    def update(self, state, context, action, reward):
        counted = learns_noise(self.width, self.scale, self.noise) or state.model.intercept
        take_in(state.model, state.noise, context, action, reward, counted)
        state.rounds[0] += 1.0
        return state

    def propensity(self, state, context, action, rng, draws=None):
        draws = AUDIT_DRAWS if draws is None else draws
        predict(state.model, context)
        root = posterior_scale(self, state) * deviations(state.model)
        p, error = 0.0, 0.0
        for share, mask in draws_among(self, state, context):
            part, spread = chance_of_best(state.model.mean, root, mask, action, rng, draws)
            p, error = p + share * part, math.hypot(error, share * spread)
        return Sampled(p, error, draws) if error > 0.0 else (p, error)

    @jit
    def chances(self, state, context, out):
        predict(state.model, context)
        scale, share = posterior_scale(self, state), share_of_untried(self, state, context.eligible)
        if share > 0.0:
            if not win_chances(state.model, scale, context.eligible, True, out):
                return False
            for k in range(out.shape[0]):
                state.scores[k] = out[k]
        known = win_chances(state.model, scale, context.eligible, False, out)
        if share > 0.0:
            for k in range(out.shape[0]):
                out[k] = share * state.scores[k] + (1.0 - share) * out[k]
        return known

    def explain(self, state, context, rng, draws=None):
        draws = DRAWS if draws is None else draws
        predict(state.model, context)
        scale, mean = posterior_scale(self, state), state.model.mean.copy()
        report = intervals(state.noise.sums[0].origin + mean, scale * np.sqrt(state.model.square))
        root = scale * deviations(state.model)
        probability = sum(
            share * best_of_draws(mean, root, mask, rng, draws)
            for share, mask in draws_among(self, state, context)
        )
        error = np.sqrt(probability * (1.0 - probability) / draws)
        learned = learns_noise(self.width, self.scale, self.noise)
        widths = {
            "scale": scale,
            "noise": reported_noise(self.noise, learned, state.noise, state.model),
        }
        return (
            report
            | {"index": report["mean"], "probability": probability, "probability_se": error}
            | widths
        )


@lean
def posterior_scale(policy, state):
    if not math.isnan(policy.scale):
        return policy.scale
    if policy.width >= 0.0:
        return policy.width * current_scale(policy.noise, state.noise, state.model)
    d = state.model.features.shape[1]
    return bounded(policy.noise) * math.sqrt(
        9.0 * d * (math.log(state.rounds[0] + 1.0) - math.log(policy.delta))
    )


@lean
def share_of_untried(policy, state, eligible):
    """The chance that the draw is among untried arms alone: each of them counts as much as all
    others together. 0 where all are alike."""
    if not by_the_data(policy.width, policy.scale):
        return 0.0
    number = untried(state.model, eligible)
    return (
        number / (number + 1.0)
        if 0 < number < count_eligible(state.scores.shape[0], eligible)
        else 0.0
    )


def draws_among(
    policy: LinTS, state: LinTS.State, context: Context
) -> list[tuple[float, np.ndarray | None]]:
    share = share_of_untried(policy, state, context.eligible)
    alone = [(share, untried_first(state.model, context.eligible))] if share > 0.0 else []
    return [(1.0 - share, context.eligible), *alone]
