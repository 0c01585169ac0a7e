"""FrankWolfeSampling: climb towards the optimal proportions of arms, one step a sample.

When to use it: as LinGame; where several rivals are about as hard to exclude, it looks at all of
them at once.
Guarantee: as LinGapE's, whose confidence bound (Xu, Honda, Sugiyama 2018, Eqs 3 and 8) holds for
any sampling rule and is a likelihood ratio, as the stop of the source. As delta falls, samples /
ln(1 / delta) approaches the least possible (Theorem 1 of the source), for epsilon = 0, a single
best arm and Gaussian noise.
Source: Wang, Tzeng, Proutiere 2021, "Fast pure exploration via Frank-Wolfe", Algorithm 1: the
proportions x move by 1 / t to the mixture that gains most against the worst of all rivals whose
rate is within t^(-9/10) / K of the least; uniformly where floor(t / K) is a square or estimates
tie; next is argmax_a x_a / pulls_a.
Deviations: LinGapE's ridge parameter and stop, so that both differ in what they sample only; with
epsilon a rival has to be better by it, where optimality is not claimed.
O(K d^2 + d^3) a round, and O(K J^2) for J > 1 rivals at once.
"""

import math
from typing import NamedTuple

import numpy as np

from ...compiled.kernels import jit, lean
from ...core.fields import Extended, Scratch
from ...core.policy import policy
from ...numerics.counts import one_hot
from .game import (
    Game,
    MatrixGame,
    answer,
    exclusion_rate,
    mix,
    new_game,
    new_matrix_game,
    solve_game,
)
from .models import GapRidge, checked_features, coordinates, learn, new_gap_ridge
from .sampling import furthest_behind
from .stopping import Answer, GapStop, decide_by_gaps, gap_report, new_answer

NEAR = 0.9  # exponent of what counts as near the least rate


@policy(
    "features",
    paper="Wang, Tzeng, Proutiere 2021",
    stops=True,
    examples=({"epsilon": 0.1, "delta": 0.1, "noise": 0.3},),
)
class FrankWolfeSampling(GapStop):
    """Move the proportions of arms, a step a sample, to where the hardest rivals are excluded
    fastest; stop as LinGapE.

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
    union : True or False, default True
        As for LinGapE.
    """

    class State(NamedTuple):
        model: GapRidge
        game: Game  # scratch
        payoffs: MatrixGame  # scratch
        rates: Scratch  # (K,) at which each rival is excluded
        step: Extended  # (K,) the mixture z of the last step
        shares: Extended  # (K,) proportions x
        answer: Answer  # (1,)

    def init(self, arms):
        start = coordinates(checked_features(arms, self.epsilon, "FrankWolfeSampling"), self.lam)
        K, d = start.features.shape
        return self.State(
            new_gap_ridge(start),
            new_game(K, d),
            new_matrix_game(K, K),
            np.zeros(K),
            np.zeros(K),
            np.full(K, 1.0 / K),
            new_answer(),
        )

    @jit
    def select(self, state, context, rng):
        return furthest_behind(state.model.pulls, state.shares, context.eligible)

    @jit
    def update(self, state, context, action, reward):
        learn(state.model, action, reward)
        if state.model.progress[0]["unpulled"] == 0.0:
            decide_by_gaps(self, state)
            if not state.answer[0]["broken"]:
                climb(self, state)
        return state

    def explain(self, state, context, rng):
        probability = one_hot(self.select(state, context, rng), state.shares.size)
        index = state.shares * state.model.progress[0]["rounds"] - state.model.pulls
        return gap_report(self, state, index, probability) | {"shares": state.shares.copy()}


@lean
def least_rate(policy, state, leader):
    """Fill rates with (gap + epsilon)^2 / (2 noise^2 y'W^-1 y) of every rival; the least of them, 0
    where a rival ties."""
    mean, least = state.model.mean, math.inf
    mix(state.game, state.model.features, state.shares)
    for b in range(mean.shape[0]):
        state.rates[b] = math.inf
        if b != leader:
            state.rates[b] = exclusion_rate(state.game, mean, leader, b, policy.epsilon) / (
                2.0 * policy.noise * policy.noise
            )
            least = min(least, state.rates[b])
    return least


@lean
def best_step(policy, state, leader, most):
    """Fill step with argmax_z min_b <z - x, gradient_b> over the rivals b of rates up to `most`."""
    table, K, J, highest = state.payoffs.table, state.step.shape[0], 0, 0.0
    for b in range(K):
        if state.rates[b] <= most:
            answer(state.game, state.model.mean, leader, b, policy.epsilon)
            for k in range(K):  # <x, gradient_b> is the rate itself, which is homogeneous
                gain = (
                    state.game.moves[k] * state.game.moves[k] / (2.0 * policy.noise * policy.noise)
                )
                table[k, J] = gain - state.rates[b]
                highest = max(highest, gain)
            J += 1
    best = 0
    for k in range(K):
        for j in range(J):
            table[k, j] = (table[k, j] + most) / highest + 1.0  # at least 1, and of moderate size
        if table[k, 0] > table[best, 0]:
            best = k
    if J > 1:
        solve_game(state.payoffs, J, state.step)
    else:
        for k in range(K):
            state.step[k] = 1.0 if k == best else 0.0


@lean
def climb(policy, state):
    model, leader = state.model, state.answer[0]["leader"]
    t, K = model.progress[0]["rounds"], state.step.shape[0]
    turn = math.floor(t / K)
    root = math.floor(math.sqrt(turn) + 0.5)
    least = least_rate(policy, state, leader)
    if root * root == turn or not 0.0 < least < math.inf:
        for k in range(K):
            state.step[k] = 1.0 / K
    else:
        best_step(policy, state, leader, least + math.exp(-NEAR * math.log(t)) / K)
    for k in range(K):
        state.shares[k] += (state.step[k] - state.shares[k]) / t
