"""Uniform sampling with LinGapE's stop: what adaptive sampling has to beat.

When to use it: as the yardstick, or when traffic has to be split evenly anyway and only the end is adaptive.
Guarantee: as LinGapE's, whose confidence bound (Xu, Honda, Sugiyama 2018, Eqs 3 and 8) holds for any sampling rule.
The arm pulled least is next, ties to the lowest index. O(K d + d^2) a round.
"""

from typing import NamedTuple

import numpy as np

from ..._jit import jit
from ...numerics.selection import one_hot
from ...parameters import policy
from ...verbs import evidence, explain, init, select, update
from ._coordinates import checked_features, coordinates
from ._gap_bound import GapStop, decide, gap_evidence, gap_report
from ._gap_ridge import GapRidge, new_gap_ridge
from ._ridge import learn
from ._sampling import fewest_pulls
from ._stopping import new_answer, stops_by_answer


@policy("features", paper="Xu, Honda, Sugiyama 2018, Eqs 3 and 8", stops=True)
class Uniform(GapStop):
    """Round robin until LinGapE's bound closes.

    epsilon, delta, lam, noise, theta_bound, union: as for LinGapE.
    """


class State(NamedTuple):
    model: GapRidge
    answer: np.ndarray  # (1,) ANSWER


@init.register(Uniform)
def init_uniform(policy, arms):
    return State(new_gap_ridge(coordinates(checked_features(arms, policy.epsilon, "Uniform"), policy.lam)), new_answer())


@select.register(Uniform)
@jit
def select_uniform(policy, state, context, rng):
    return fewest_pulls(state.model.pulls, context.eligible)


@update.register(Uniform)
@jit
def update_uniform(policy, state, context, action, reward):
    learn(state.model, action, reward)
    if state.model.progress[0]["unpulled"] == 0.0:
        decide(policy, state)
    return state


stops_by_answer(Uniform)


@evidence.register(Uniform)
def evidence_uniform(policy, state):
    K = state.model.mean.size
    return gap_evidence(policy, state, shares=np.full(K, 1.0 / K))


@explain.register(Uniform)
def explain_uniform(policy, state, context, rng):
    pulls = state.model.pulls
    return gap_report(policy, state, -pulls, one_hot(select(policy, state, context, rng), pulls.size))


def example():
    return [Uniform(epsilon=0.1, delta=0.1, noise=0.3)]
