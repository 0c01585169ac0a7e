"""LinGame: an online learner mixes arms against the parameter that is hardest to exclude.

When to use it: as LinGapE, where few samples in the limit of small delta matter more than the cost
of a round.
Guarantee: as LinGapE's, whose confidence bound (Xu, Honda, Sugiyama 2018, Eqs 3 and 8) holds for
any sampling rule and is a likelihood ratio, as the stop of the source. As delta falls, samples /
ln(1 / delta) approaches the least possible (Theorem 2 of the source), for epsilon = 0, a single
best arm and Gaussian noise.
Source: Degenne, Menard, Shang, Valko 2020, "Gamification of pure exploration for linear bandits",
arXiv 2007.00953, Algorithm 1 (LinGame): AdaHedge (de Rooij, van Erven, Grunwald, Koolen 2014) for
every possible answer, C-tracking, optimistic gains min((|move| / noise + sqrt(2 ln t)
||x||_{A^-1})^2 / 2, ln t).
Deviations: LinGapE's ridge parameter and stop, so that both differ in what they sample only; every
arm counts as a share of at least 1e-9 where a mixture is inverted; with epsilon a rival has to be
better by it, where optimality is not claimed.
O(K d^2 + d^3) a round.
"""

import math
from typing import NamedTuple

import numpy as np

from ...compiled.kernels import jit, lean
from ...core.fields import Extended, Scratch
from ...core.policy import policy
from ...core.verbs import allowed
from ...numerics.counts import one_hot
from .game import Game, hardest_answer, hedge, mix, mixability_gap, new_game
from .models import GapRidge, checked_features, coordinates, learn, new_gap_ridge
from .stopping import Answer, GapStop, decide_by_gaps, gap_report, new_answer


@policy(
    "features",
    paper="Degenne, Menard, Shang, Valko 2020",
    stops=True,
    examples=({"epsilon": 0.1, "delta": 0.1, "noise": 0.3},),
)
class LinGame(GapStop):
    """Learn the mixture of arms that excludes every rival fastest, as a game against the hardest
    parameter; stop as LinGapE.

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
        losses: Extended  # (K, K) of each answer's learner: minus the gains of the arms
        gaps: Extended  # (K,) mixability gap of each answer's learner
        weights: Extended  # (K,) this round's mixture
        loss: Scratch  # (K,) minus what each arm gains this round
        tracked: Extended  # (K,) sum of all mixtures, and the first pull of every arm
        answer: Answer  # (1,)

    def init(self, arms):
        start = coordinates(checked_features(arms, self.epsilon, "LinGame"), self.lam)
        K, d = start.features.shape
        return self.State(
            new_gap_ridge(start),
            new_game(K, d),
            np.zeros((K, K)),
            np.zeros(K),
            np.zeros(K),
            np.zeros(K),
            np.ones(K),
            new_answer(),
        )

    @jit
    def select(self, state, context, rng):
        best = -1
        for k in range(state.tracked.shape[0]):
            if allowed(context.eligible, k) and (
                best < 0
                or state.tracked[k] - state.model.pulls[k]
                > state.tracked[best] - state.model.pulls[best]
            ):
                best = k
        return best

    @jit
    def update(self, state, context, action, reward):
        learn(state.model, action, reward)
        if state.model.progress[0]["unpulled"] == 0.0:
            decide_by_gaps(self, state)
            if not state.answer[0]["broken"]:
                play_round(self, state)
        return state

    def explain(self, state, context, rng):
        probability = one_hot(self.select(state, context, rng), state.weights.size)
        return gap_report(self, state, state.tracked - state.model.pulls, probability) | {
            "mixture": state.weights.copy()
        }


@lean
def play_round(policy, state):
    """The mixture of the leader's learner, the parameter that answers it, and what the learner
    loses."""
    model, i = state.model, state.answer[0]["leader"]
    hedge(state.losses[i], state.gaps[i], state.weights)
    mix(state.game, model.features, state.weights)
    hardest_answer(state.game, model.mean, i, policy.epsilon)
    log_t = math.log(model.progress[0]["rounds"])
    for a in range(state.weights.shape[0]):
        optimistic = abs(state.game.moves[a]) / policy.noise + math.sqrt(
            2.0 * log_t * max(model.square[a], 0.0)
        )
        state.loss[a] = -min(0.5 * optimistic * optimistic, log_t)
        state.tracked[a] += state.weights[a]
    state.gaps[i] += mixability_gap(state.weights, state.loss, state.gaps[i])
    for a in range(state.weights.shape[0]):
        state.losses[i, a] += state.loss[a]
