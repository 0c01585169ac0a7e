"""SoftUCB: a linear bandit whose choice is a softmax of how far each arm's upper bound clears the
best lower bound.

When to use it: linear rewards where exact propensities of every choice are needed, or where the
width is to be learned from past trajectories by `train_softucb`, or online.
The default width is in standard errors of the estimate, with the noise learned from the residuals:
1.25 where features are new in every round, 2 where arms stay. A slack has two widths in it, so that
1.25 does what LinUCB does with 2.5. Among arms that stay it follows a wrong one for good in 1 to 16
% of runs, which new features would end. beta = 1 is too wide by a factor of three to ten for
rewards in [0, 1]: while no arm is eliminated gamma is 0 and play is uniform, and the gradient of Eq
15 sees nothing but the widths, which push beta up; on ten classes of handwritten digits that is
half of 4,000 rounds.
Bound: with a fixed beta that covers the truth (Eq 3), timing="fresh", features no longer than 1 and
lam >= 1, E R_T <= 2 sqrt(2) (K + 1) beta sqrt(T d ln(1 + T / (lam d))) + (1 - mass) T max gap, also
for features that change every round. Theorem 1, 4 sqrt(2) beta delta sqrt(T d log(alpha + T / d))
for delta near 1 and gamma of Lemma 2, has no K and is false as printed: many poor arms that look
alike are played until the good one is found by chance, see docs/results/contradictions/theorem-1.md
for the counterexample and the proof. "lagged" is fresh for features that change every round, as the
slack of the round before is that of other arms. None is known for the online rule.
Source: Yang & Toni 2020, "Differentiable linear bandit algorithm", Algorithm 1, Eqs 6-9, Lemma 2
and Eqs 13-15.
Deviations: by default the width is in standard errors, with the noise learned and an intercept
(beta=1, say, is as printed); gamma = 0 where Eq 9 is negative or no arm is eliminated; beta is kept
>= beta_min, for beta = 0 leaves no slack to divide by; the paper's delta of Eq 9 is called mass.
Online, the scores of past rounds stay as they were at the beta of their round, where Eq 15 has them
at the present one; with beta=None the width moves by the derivative by beta, without the factor of
the noise. shared=False keeps a theta for each arm.
Per round: that of LinUCB, with new features twice, plus K exponentials (2 K when online).
"""

import math
from typing import Literal, NamedTuple

import numpy as np

from ..compiled.kernels import jit, lean
from ..core.fields import Extended, Finite, Given, Scratch, choice, flag, integer, real
from ..core.policy import policy
from ..core.verbs import allowed
from ..numerics.counts import argmax, fill_proportions, horizon_radius, intervals, largest
from ..numerics.noise import Noise, current_scale, new_noise, reported_noise, take_in
from ..numerics.posterior import categorical
from ..numerics.ridge import Ridge, new_model, predict
from ..numerics.states import grown
from .bases import KnowsChances, RegressionPolicy

WIDTH, WIDTH_OF_FIXED = (
    1.25,
    2.0,
    # standard errors; the slack of an arm has two of them. Where features are new in every round,
    # and not
)
LARGEST_GAMMA = (
    1e300  # gamma where no slack is left; its product with any difference of slacks is 0 or -inf
)


class SoftUCBState(NamedTuple):
    model: Ridge
    noise: Noise
    horizon: float  # T; 0: unknown
    beta: Extended  # (1,) where beta is given; else the width
    gamma: Extended  # (2,) of the last round, and its derivative by beta
    sums: Finite  # (3,) rounds, sum of scores A_t, sum of all widths: what the gradient is made of
    width: Scratch  # (K,) ||x||_{V^-1}
    slack: Scratch  # (K,) S
    weight: Scratch  # (K,) exp(gamma (S - max S)), 0 where not eligible
    # (2,) round, from 1 on, that width and slack were measured in for all arms as they stay, and
    # the most slack
    measured: Scratch


@policy(
    "features",
    "contexts",
    paper="Yang & Toni 2020",
    examples=(
        {},
        {"online": True},
        {"beta": 1.0},
        {"beta": 0.5, "online": True, "timing": "fresh", "full_gradient": True},
        {"beta": 1.0, "online": True},
    ),
)
class SoftUCB(KnowsChances, RegressionPolicy):
    """Softmax over the slack S_i = UCB_i - max_j LCB_j = beta (w_i + w_*) - (mu_* - mu_i), with
    gamma S as its exponent.

    Parameters
    ----------
    beta : number in [0, inf), or None (from width), default None
        Width; where online, its start. None: width times the noise.
    width : number in [0, inf), or None (by what changes), default None
        In standard errors of the estimate, where beta is None; where online, its start, and what is
        moved; None: 2 for arms that stay, 1.25 where features are new in every round.
    online : True or False, default False
        Move beta by the gradient of Eq 15 with weight eta on the widths and step length `step`; the
        horizon T is needed (here or in the run).
    eta : number in [0, inf), default 4.0
        Weight of the widths in Eq 15, where online.
    step : number in [0, inf), default 0.02
        Length of a step of beta, where online.
    horizon : whole number from 1, or None (from the run), default None
        T, needed where online; None: that of the run.
    mass : number in (0, 1), default 0.99
        Probability that arms with S >= 0 keep (Lemma 2), near 1.
    timing : 'lagged' or 'fresh', default 'lagged'
        gamma of the round before ("lagged", Algorithm 1; with new features every round it is fresh
        too) or of this one ("fresh", as Lemma 2 needs).
    lam : number in (0, inf), default 1.0
        Ridge parameter.
    full_gradient : True or False, default False
        With gamma's own dependence on beta.
    beta_min : number in (0, inf), default 0.001
        Least beta, a smaller one is raised to it.
    noise : number in [0, inf), or None (learned), default None
        Of the beta of Eq 5, twice which counts as diverged.
    delta : number in (0, 1), default 0.1
        Of the beta of Eq 5, twice which counts as diverged.
    theta_bound : number in [0, inf), default 1.0
        Of the beta of Eq 5, twice which counts as diverged.
    shared : True, False, or None (by what a round shows), default None
        One theta for all arms; False: one for each, learned from its own rewards; None: one for
        each where a round shows all arms one context (d,), else one for all.
    intercept : True, False, or None (where beta is), default None
        Whether a constant column is added, drawn to the mean of the rewards so far, so that adding
        a number to all rewards changes no decision; None: where beta is.
    """

    beta: Given[float | None, float] = real(default=None, least=0, none="from width")
    width: Given[float | None, float] = real(default=None, least=0, none="by what changes")
    online: bool = flag(default=False)
    eta: float = real(default=4.0, least=0)
    step: float = real(default=0.02, least=0)
    horizon: Given[int | None, int] = integer(default=None, least=1, none="from the run")
    mass: float = real(default=0.99, above=0, below=1)
    timing: Given[Literal["lagged", "fresh"], int] = choice("lagged", "fresh", default="lagged")
    lam: float = real(default=1.0, above=0)
    full_gradient: bool = flag(default=False)
    beta_min: float = real(default=1e-3, above=0)
    noise: Given[float | None, float] = real(default=None, least=0, none="learned")
    delta: float = real(default=0.1, above=0, below=1)
    theta_bound: float = real(default=1.0, least=0)
    shared: Given[bool | None, int] = flag(default=None, none="by what a round shows")
    intercept: Given[bool | None, int] = flag(default=None, none="where beta is")

    def init(self, arms):
        horizon = self.horizon if self.horizon > 0 else arms.horizon
        if self.online and horizon is None:
            raise ValueError(
                "horizon is missing, but online=True needs the number of rounds T; pass horizon=T "
                "to SoftUCB or to Session."
            )
        zeros = [np.zeros(arms.number) for _ in range(3)]
        usual = WIDTH if arms.features is None else WIDTH_OF_FIXED
        start = (
            self.beta
            if not math.isnan(self.beta)
            else usual
            if math.isnan(self.width)
            else self.width
        )
        beta = np.array([max(start, self.beta_min)])
        intercept = math.isnan(self.beta) if self.intercept < 0 else bool(self.intercept)
        model = new_model(arms, self.lam, shared=self.shared, intercept=intercept)
        return SoftUCBState(
            model,
            new_noise(),
            float(horizon or 0),
            beta,
            np.zeros(2),
            np.zeros(3),
            *zeros,
            np.zeros(2),
        )

    @jit
    def select(self, state, context, rng):
        return draw(self, state, context, rng)

    @jit
    def update(self, state, context, action, reward):
        learn_width_and_model(self, state, context, action, reward)
        return state

    @jit
    def chances(self, state, context, out):
        total = fill_weights(self, state, context)
        fill_proportions(state.weight, total, out)
        return True

    def grow(self, state, arms):
        width, slack, weight = (np.zeros(arms.number) for _ in range(3))
        return state._replace(
            **grown(state, arms, self.lam),
            width=width,
            slack=slack,
            weight=weight,
            measured=np.zeros(2),
        )

    def explain(self, state, context, rng):
        predict(state.model, context)
        peak = measure(self, state, context)
        leader, (gamma, slope) = argmax(state.weight, context.eligible), state.gamma
        if is_fresh(self, context):
            gamma = inverse_temperature(self, state, context, peak)
            slope = inverse_temperature_slope(state, context, gamma) if self.full_gradient else 0.0
        total = soften(state, context, gamma, peak)
        beta, slack = float(current_beta(self, state)), state.slack.copy()
        in_upper = (slack >= 0.0) & (
            np.ones(slack.size, dtype=np.bool_) if context.eligible is None else context.eligible
        )
        report = intervals(state.noise.sums[0].origin + state.model.mean, beta * state.width)
        return report | {
            "index": slack,
            "slack": slack,
            "probability": state.weight / total,
            "in_upper": in_upper,
            "leader": int(leader),
            "gamma": float(gamma),
            "beta": beta,
            "noise": reported_noise(self.noise, learns(self), state.noise, state.model),
            "score": float(score(state, gamma, slope, total)),
            "status": status(self, state, beta),
        }


@lean
def current_beta(policy, state):
    if math.isnan(policy.beta):
        return state.beta[0] * current_scale(policy.noise, state.noise, state.model)
    return state.beta[0]


@lean
def measure(policy, state, context):
    """Fill width, slack (Eqs 6, 7, as UCB_i - max_j LCB_j) and weight (LCB) and return the most
    slack."""
    beta, mean, square, width, slack, lower = (
        current_beta(policy, state),
        state.model.mean,
        state.model.square,
        state.width,
        state.slack,
        state.weight,
    )
    for k in range(width.shape[0]):
        width[k] = math.sqrt(square[k])
        slack[k] = mean[k] + beta * width[k]
        lower[k] = mean[k] - beta * width[k]
    best = largest(lower, context.eligible)
    for k in range(width.shape[0]):
        slack[k] -= best
    peak = largest(slack, context.eligible)
    state.measured[0] = (
        state.sums[0] + 1.0 if context.features is None and context.eligible is None else 0.0
    )
    state.measured[1] = peak
    return peak


@lean
def measure_again(policy, state, context):
    """The most slack of the round that a reward is of, with its widths and slacks, which may be
    those of the last choice.

    Only where the arms stay and nothing was learned since; weight holds the lower bounds if they
    were measured, and else the softmax.
    """
    if (
        context.features is None
        and context.eligible is None
        and state.measured[0] == state.sums[0] + 1.0
        and not policy.full_gradient
    ):
        return state.measured[1]
    predict(state.model, context)
    return measure(policy, state, context)


@lean
def is_fresh(policy, context):
    """Whether gamma comes from this round's slack: also where the arms of the round before were
    others."""
    return policy.timing == 1 or context.features is not None


@lean
def inverse_temperature(policy, state, context, peak):
    """Gamma of Eq 9: the larger, the more the softmax favours the arm with the most slack."""
    eliminated = 0
    for k in range(state.slack.shape[0]):
        if state.slack[k] < 0.0 and allowed(context.eligible, k):
            eliminated += 1
    if eliminated == 0:
        return 0.0
    target = math.log(policy.mass * eliminated / (1.0 - policy.mass))
    if target <= 0.0:
        return 0.0
    return target / peak if peak * LARGEST_GAMMA > target else LARGEST_GAMMA


@lean
def inverse_temperature_slope(state, context, gamma):
    """Derivative of gamma by beta, from phi = w + w_* of the arm with the most slack. Call after
    `measure`, before `soften`."""
    if gamma == 0.0 or gamma == LARGEST_GAMMA:
        return 0.0
    top, leader = argmax(state.slack, context.eligible), argmax(state.weight, context.eligible)
    return -gamma * (state.width[top] + state.width[leader]) / state.slack[top]


@lean
def soften(state, context, gamma, peak):
    """Fill weight with the softmax before normalisation (Eq 8) and return its sum."""
    total = 0.0
    for k in range(state.slack.shape[0]):
        state.weight[k] = 0.0
        if allowed(context.eligible, k):
            state.weight[k] = math.exp(gamma * (state.slack[k] - peak)) if gamma > 0.0 else 1.0
            total += state.weight[k]
    return total


@lean
def score(state, gamma, slope, total):
    """A_t of Eq 13: the derivative of sum_i p_i mu_i by beta, = Cov_p(mu, gamma w + slope S). The
    common part of phi drops out."""
    mean_mu, mean_exponent, product = 0.0, 0.0, 0.0
    for k in range(state.weight.shape[0]):
        if state.weight[k] > 0.0:
            p, mu = state.weight[k] / total, state.model.mean[k]
            exponent = gamma * state.width[k] + slope * state.slack[k]
            mean_mu += p * mu
            mean_exponent += p * exponent
            product += p * mu * exponent
    return product - mean_mu * mean_exponent


@lean
def fill_weights(policy, state, context):
    """Fill weight with this round's softmax before normalisation and return its sum."""
    predict(state.model, context)
    peak = measure(policy, state, context)
    gamma = (
        inverse_temperature(policy, state, context, peak)
        if is_fresh(policy, context)
        else state.gamma[0]
    )
    return soften(state, context, gamma, peak)


@lean
def draw(policy, state, context, rng):
    return categorical(state.weight, fill_weights(policy, state, context), rng)


@lean
def learn_width_and_model(policy, state, context, action, reward):
    """The gradient step where online, gamma for the next round, and the ridge regression."""
    peak = measure_again(policy, state, context)
    fresh = inverse_temperature(policy, state, context, peak)
    slope = inverse_temperature_slope(state, context, fresh) if policy.full_gradient else 0.0
    state.sums[0] += 1.0
    if policy.online:
        if is_fresh(policy, context):
            current = score(state, fresh, slope, soften(state, context, fresh, peak))
        else:
            current = score(
                state, state.gamma[0], state.gamma[1], soften(state, context, state.gamma[0], peak)
            )
        widths = 0.0
        for k in range(state.width.shape[0]):
            widths += state.width[k]
        state.sums[1] += current
        state.sums[2] += widths
        left = max(state.horizon - state.sums[0], 0.0)
        gradient = (state.sums[1] + left * current + policy.eta * widths) / state.horizon
        state.beta[0] = max(policy.beta_min, state.beta[0] + policy.step * gradient)
    state.gamma[0], state.gamma[1] = fresh, slope
    counted = learns(policy) or state.model.intercept
    take_in(state.model, state.noise, context, action, reward, counted)


@lean
def learns(policy):
    return math.isnan(policy.beta) and math.isnan(policy.noise)


def status(policy: SoftUCB, state: SoftUCBState, beta: float) -> str:
    if not policy.online:
        return "fixed"
    d = state.model.features.shape[1]
    noise = reported_noise(policy.noise, learns(policy), state.noise, state.model)
    theory = horizon_radius(
        noise, policy.delta, d, int(state.horizon), policy.lam, policy.theta_bound
    )
    return diverged(beta, theory, policy.eta) if beta > 2.0 * theory else "learning"


def diverged(beta: float, theory: float, eta: float) -> str:
    """The message where beta left the range that any theory asks for."""
    return (
        f"diverged: beta = {beta:.3g} is above {2 * theory:.3g}, twice the beta of Eq 5; lower "
        f"eta (now {eta:g}) or step."
    )
