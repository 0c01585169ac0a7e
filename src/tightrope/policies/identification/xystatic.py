"""XY-static allocation: shrink the widest difference of arms, whatever the rewards say.

When to use it: as the baseline of Xu, Honda, Sugiyama 2018, or when the sampling plan has to be fixed in advance.
Guarantee: the named arm is the best with probability >= 1 - delta for noise bounded by `noise` (constant = 2 sqrt(2)); for
sub-Gaussian noise constant = sqrt(2) is enough.
Source: Soare, Lazaric, Munos 2014, Proposition 1 and section 4; Xu, Honda, Sugiyama 2018, Eqs 2 and 5.
Deviations: every arm is pulled once first instead of a ridge parameter; exact ties are broken at random. `epsilon` > 0 stops as
soon as the best is known up to epsilon.
O(K^3) a round at most, less where the search is cut short.
"""

from typing import NamedTuple

import numpy as np

from ..._jit import jit
from ...numerics.selection import argmax
from ...parameters import policy, real
from ...registry import Policy
from ...verbs import evidence, explain, init, propensity, select, update
from ._coordinates import checked_features, coordinates
from ._forecast import forecast
from ._pair_ridge import PairRidge, new_pair_ridge
from ._ridge import learn
from ._sampling import shrinking_probability, unpulled_or_shrinking
from ._stopping import NO_ESTIMATES, SQRT8, compare_with_leader, new_answer, report, settle, static_radius, stops_by_answer, support


@policy("features", paper="Soare, Lazaric, Munos 2014", stops=True)
class XYStatic(Policy):
    """Sample what most shrinks the widest of all differences; stop when the empirical best beats every other arm by more than the bound.

    epsilon, delta: as for LinGapE. noise: scale of the rewards. constant: of the bound, 2 sqrt(2) or sqrt(2).
    """

    epsilon: float = real(0.0, least=0)
    delta: float = real(0.05, above=0, below=1)
    noise: float = real(1.0, above=0)
    constant: float = real(SQRT8, above=0)


class State(NamedTuple):
    model: PairRidge
    everyone: np.ndarray  # (K,) bool, True
    answer: np.ndarray  # (1,) ANSWER


@init.register(XYStatic)
def init_xystatic(policy, arms):
    start = coordinates(checked_features(arms, policy.epsilon, "XYStatic"), 0.0)
    return State(new_pair_ridge(start), np.ones(len(start.features), dtype=np.bool_), new_answer())


@select.register(XYStatic)
@jit
def select_xystatic(policy, state, context, rng):
    return unpulled_or_shrinking(state.model, state.everyone, context.eligible, rng)


@update.register(XYStatic)
@jit
def update_xystatic(policy, state, context, action, reward):
    model, answer = state.model, state.answer[0]
    learn(model, action, reward)
    if model.progress[0]["unpulled"] == 0.0:
        i = argmax(model.mean, None)
        C = static_radius(policy, model.progress[0]["rounds"], model.mean.shape[0])
        checksum = compare_with_leader(answer, model.mean, model.pair_square[i], i, C)
        settle(answer, checksum, answer["bound"] < policy.epsilon)
    return state


stops_by_answer(XYStatic)


@evidence.register(XYStatic)
def evidence_xystatic(policy, state):
    model, i, K = state.model, int(state.answer[0]["leader"]), state.model.mean.size
    if model.progress[0]["unpulled"] > 0:
        return NO_ESTIMATES
    return support(
        policy, state, model.mean, model.pair_square[i],
        lambda: forecast(model, model.mean, i, policy.epsilon, lambda log_det, pulls: static_radius(policy, pulls.sum(), K),
                         shares=model.pulls / model.pulls.sum()),
    )  # fmt: skip


@propensity.register(XYStatic)
def propensity_xystatic(policy, state, context, action, rng):
    return float(shrinking_probability(state.model, state.everyone, context.eligible)[1][action]), 0.0


@explain.register(XYStatic)
def explain_xystatic(policy, state, context, rng):
    model, answer = state.model, state.answer[0]
    index, probability = shrinking_probability(model, state.everyone, context.eligible)
    known = model.progress[0]["unpulled"] == 0
    return report(model.mean, answer["radius"], np.diag(model.product), index, probability, known) | evidence(policy, state) | {
        "leader": int(answer["leader"]), "challenger": int(answer["challenger"]), "radius": float(answer["radius"]),
    }  # fmt: skip


def example():
    return [XYStatic(epsilon=0.1, delta=0.1, noise=0.3)]
