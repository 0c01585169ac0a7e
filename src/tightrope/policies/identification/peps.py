"""PEPS: a learner of arms plays against parameters that are drawn from the posterior where another
arm is best.

When to use it: as LinGapE, where choices should vary while rewards are out, with chances that are
known exactly. No design or program is solved, and no arm has to be pulled first.
Guarantee: as LinGapE's, whose confidence bound (Xu, Honda, Sugiyama 2018, Eqs 3 and 8) holds for
any sampling rule. The source proves that the posterior's mass on wrong answers falls at the best
exponential rate; it has no stop.
Source: Li, Jamieson, Jain 2023, "Optimal exploration is no harder than Thompson sampling", arXiv
2310.06069, and the authors' program: AdaHedge (de Rooij, van Erven, Grunwald, Koolen 2014) gains
((theta - theta')'x)^2 / (2 noise^2) of every arm x, averaged over `draws` of theta'.
Deviations: theta' is drawn from the same law without waiting for a draw of the posterior that
names another arm (`alternatives`); the stop; the learner's losses are divided by noise^2; the
G-optimal design that the proof mixes in is left out, as in the program. By rejection 10,000 tries
are used up some time before the stop, from where on the mixture stays. AdaHedge learns once for
every reward that follows a choice, from the draws of the latest choice.
O(K d + d^2) a round for each try of a draw: 1.0 to 1.3 tries on average in our problems.
"""

import math
from typing import Annotated, Literal, NamedTuple, TypeAlias

import numpy as np

from ...compiled.kernels import jit, lean
from ...core.fields import (
    ArmIndex,
    Count,
    Extended,
    Given,
    NonNegative,
    Record,
    Scratch,
    choice,
    flag,
    integer,
)
from ...core.policy import policy
from ...core.verbs import allowed
from ...numerics.counts import count_eligible
from ...numerics.linalg import inner, solve_lower_transposed, update_factor
from ...numerics.posterior import categorical, log_tail, normal_above
from .game import hedge, mixability_gap
from .models import (
    GapRidge,
    checked_features,
    coordinates,
    learn_at_once,
    multiply,
    new_gap_ridge,
    refactorise,
)
from .stopping import GapStop, decide_by_gaps, gap_report, new_answer

MOST_TRIES = 10_000  # of a draw, after which the learner keeps its weights
OwnAnswer: TypeAlias = Annotated[
    np.ndarray, Record(leader=ArmIndex, challenger=ArmIndex, drawn=Count, gap=NonNegative)
]


@policy(
    "features",
    paper="Li, Jamieson, Jain 2023",
    stops=True,
    examples=(
        {"epsilon": 0.1, "delta": 0.1, "noise": 0.3},
        {"delta": 0.1, "noise": 0.3, "draws": 3, "alternatives": "rejection"},
    ),
)
class PEPS(GapStop):
    """Draw a parameter under which another arm is best, and learn which arms tell it from the
    estimate; stop as LinGapE.

    Parameters
    ----------
    epsilon : number in [0, inf), default 0.0
        As for LinGapE.
    delta : number in (0, 1), default 0.05
        As for LinGapE.
    lam : number in (0, inf), default 1.0
        As for LinGapE.
    noise : number in (0, inf), default 1.0
        As for LinGapE.
    theta_bound : number in [0, inf), default 1.0
        As for LinGapE.
    union : True or False, default False
        As for LinGapE.
    draws : whole number from 1 to inf, default 1
        Of theta' a round.
    alternatives : 'exact' or 'rejection', default 'exact'
        How theta' is drawn: at once, or by drawing from the posterior until another arm is best, at
        most 10,000 times.
    """

    union: bool = flag(default=False)
    draws: int = integer(default=1, least=1)
    alternatives: Given[Literal["exact", "rejection"], int] = choice(
        "exact", "rejection", default="exact"
    )

    class State(NamedTuple):
        model: GapRidge
        root: Extended  # (d, d) Cholesky factor of A
        losses: Extended  # (K,) of AdaHedge, minus the gains of all rounds
        weights: NonNegative  # (K,) its mixture of arms
        loss: Extended  # (K,) minus what the latest draws gain
        moves: Scratch  # (K,) (theta' - theta)'x
        rivals: Scratch  # (K,) chance of each to be the one that is better under theta'
        chances: Scratch  # (K,) weights of the eligible arms
        change: Scratch  # (d,) theta' - theta
        difference: Scratch  # (d,)
        # (1,) with `drawn`, how many theta' the loss is of (0: learned), and AdaHedge's `gap`
        answer: OwnAnswer

    def init(self, arms):
        start = coordinates(checked_features(arms, self.epsilon, "PEPS"), self.lam)
        (K, d), model = start.features.shape, new_gap_ridge(start)
        model.progress["unpulled"] = 0.0
        refactorise(model)
        return self.State(
            model,
            np.diag(np.sqrt(start.ridge)),
            np.zeros(K),
            np.full(K, 1.0 / K),
            *np.zeros((4, K)),
            *np.zeros((2, d)),
            new_answer(certified=K == 1, drawn=0.0, gap=0.0),
        )

    @jit
    def select(self, state, context, rng):
        draw_alternatives(self, state, rng)
        total = fill_chances(state, context.eligible, state.chances)
        return categorical(state.chances, total, rng)

    @jit
    def update(self, state, context, action, reward):
        take_in(self, state, action, reward)
        if state.answer[0]["drawn"] > 0.0 and not state.answer[0]["broken"]:
            play_round(state)
        return state

    @jit
    def inform(self, state, context, action, reward):
        take_in(self, state, action, reward)
        return state

    def propensity(self, state, context, action, rng):
        return float(shown_chances(state, context.eligible)[action]), 0.0

    def explain(self, state, context, rng):
        chances = shown_chances(state, context.eligible)
        return gap_report(self, state, -state.losses, chances) | {"mixture": state.weights.copy()}


def shown_chances(state: PEPS.State, eligible: np.ndarray | None) -> np.ndarray:
    chances = np.zeros_like(state.weights)
    total = fill_chances(state, eligible, chances)
    return chances / total


@lean
def fill_chances(state, eligible, chances):
    """Weights of the eligible arms, equal where all of them are 0; returns their sum."""
    total, K = 0.0, chances.shape[0]
    for a in range(K):
        chances[a] = state.weights[a] if allowed(eligible, a) else 0.0
        total += chances[a]
    if total == 0.0:
        for a in range(K):
            chances[a] = 1.0 if allowed(eligible, a) else 0.0
        total = float(count_eligible(K, eligible))
    return total


@lean
def draw_alternatives(policy, state, rng):
    """Leave minus the mean gain of every arm over the draws in state.loss, and their number."""
    loss, drawn = state.loss, 0.0
    loss[:] = 0.0
    total = weigh_rivals(policy, state) if policy.alternatives == 0 else 1.0
    for _ in range(policy.draws):
        if total > 0.0 and draw_one(policy, state, total, rng):
            drawn += 1.0
            for a in range(loss.shape[0]):
                loss[a] -= state.moves[a] * state.moves[a]
    loss /= 2.0 * policy.noise * policy.noise * max(drawn, 1.0)
    state.answer[0]["drawn"] = drawn


@lean
def depth(policy, state, b):
    """How many standard deviations of the posterior rival b is from being better by epsilon."""
    model = state.model
    lead = model.mean[state.answer[0]["leader"]] - model.mean[b] + policy.epsilon
    return lead / (policy.noise * math.sqrt(model.gap_square[b]))


@lean
def weigh_rivals(policy, state):
    """Fill rivals with P(rival b is better by epsilon), over the largest of them; returns their
    sum, 0 where no rival has other features. O(K)."""
    model, rivals, leader = state.model, state.rivals, state.answer[0]["leader"]
    largest, total = -math.inf, 0.0
    for b in range(rivals.shape[0]):
        rivals[b] = -math.inf
        if b != leader and model.gap_square[b] > 0.0:
            rivals[b] = log_tail(depth(policy, state, b))
            largest = max(largest, rivals[b])
    for b in range(rivals.shape[0]):
        rivals[b] = math.exp(rivals[b] - largest) if rivals[b] > -math.inf else 0.0
        total += rivals[b]
    return total


@lean
def draw_one(policy, state, total, rng):
    """Leave (theta' - theta)'x of all arms in state.moves; whether theta' was found.

    Exact: theta' is better for some rival b, drawn by its chance; its part along x_leader - x_b is
    drawn beyond that border, the rest as in the posterior; taken with one over the number of rivals
    that are better under it, so that every theta' counts once. O(K d + d^2) a try.
    """
    model, change, leader = state.model, state.change, state.answer[0]["leader"]
    d, rival, along = change.shape[0], -1, 0.0
    for _ in range(MOST_TRIES):
        if policy.alternatives == 0:
            rival = categorical(state.rivals, total, rng)
            along = -normal_above(depth(policy, state, rival), rng)
        for p in range(d):
            change[p] = policy.noise * rng.standard_normal()
        solve_lower_transposed(state.root, change)
        if rival >= 0:
            square, y = model.gap_square[rival], state.difference
            for p in range(d):
                y[p] = model.features[leader, p] - model.features[rival, p]
            multiply(model.inverse, y, model.direction)
            lacks = along * policy.noise * math.sqrt(square) - inner(y, change)
            for p in range(d):
                change[p] += lacks / square * model.direction[p]
        multiply(model.columns, change, state.moves)
        better = 0
        for b in range(state.moves.shape[0]):
            lead = model.mean[leader] - model.mean[b] + state.moves[leader] - state.moves[b]
            if b == rival or (b != leader and lead < -policy.epsilon):
                better += 1
        if better > 0 and (rival < 0 or rng.random() * better < 1.0):
            return True
    return False


@lean
def take_in(policy, state, arm, reward):
    learn_at_once(state.model, arm, reward)
    for p in range(state.difference.shape[0]):
        state.difference[p] = state.model.features[arm, p]
    update_factor(state.root, state.difference)
    decide_by_gaps(policy, state)


@lean
def play_round(state):
    """What AdaHedge learns of the latest draws, and its next mixture. O(K)."""
    answer = state.answer[0]
    answer["gap"] += mixability_gap(state.weights, state.loss, answer["gap"])
    for a in range(state.losses.shape[0]):
        state.losses[a] += state.loss[a]
    hedge(state.losses, answer["gap"], state.weights)
    answer["drawn"] = 0.0
