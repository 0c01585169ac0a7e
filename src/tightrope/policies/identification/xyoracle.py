"""XY-oracle allocation: the design of someone who knows theta and only has to prove which arm is best.

When to use it: never in service, since it needs theta; it shows how many samples the static bound asks for at the best.
Source: Soare, Lazaric, Munos 2014, section 3; Xu, Honda, Sugiyama 2018, Eq 18.
Every arm is pulled once; then the arm furthest behind the optimal design for the directions (x* - x_k) / gap_k is next. It stops
when Proposition 1's bound on every x* - x_k is below the true gap (plus epsilon). Rewards play no part.
O(K d + d^2) a round; the design is computed once.
"""

from typing import NamedTuple

import numpy as np

from ... import checks
from ..._jit import jit, lean
from ...numerics.radii import static_factor
from ...numerics.selection import first_unpulled, one_hot
from ...parameters import flag, policy, real, vector
from ...registry import Policy
from ...solvers.design import GAP, optimal_design
from ...verbs import evidence, explain, init, select, update
from ._coordinates import checked_features, coordinates
from ._forecast import forecast
from ._gap_ridge import GapRidge, new_gap_ridge
from ._ridge import learn
from ._sampling import furthest_behind
from ._stopping import NO_ESTIMATES, SQRT8, compare_with_leader, new_answer, report, settle, stops_by_answer, support


@policy("features", paper="Soare, Lazaric, Munos 2014", stops=True)
class XYOracle(Policy):
    """Follow the optimal design for the true gaps; stop when the bound on every gap is below it.

    theta: (d,), the true parameter; the best arm must be unique. epsilon, delta, noise, constant: as for XYStatic. pairs: the bound
    covers all K^2 pairs of arms, as in Proposition 1; False: only the K with the best arm, which the stop compares. accuracy:
    relative, of the design.
    """

    theta: np.ndarray = vector(default=None, words="numbers, one for each feature")
    epsilon: float = real(0.0, least=0)
    delta: float = real(0.05, above=0, below=1)
    noise: float = real(1.0, above=0)
    constant: float = real(SQRT8, above=0)
    pairs: bool = flag(True)
    accuracy: float = real(GAP, above=0)


class State(NamedTuple):
    model: GapRidge  # its leader is the best arm
    design: np.ndarray  # (K,) shares
    behind: np.ndarray  # (K,) true mean minus that of the best arm
    answer: np.ndarray  # (1,) ANSWER


@init.register(XYOracle)
def init_xyoracle(policy, arms):
    X = checked_features(arms, policy.epsilon, "XYOracle")
    means = X @ checks.vector("theta", policy.theta, length=X.shape[1], source="the number of columns of arms")
    best = int(np.argmax(means))
    gaps = means[best] - means
    ties = np.flatnonzero(gaps == 0.0)
    if len(ties) > 1:
        raise ValueError(f"theta makes arms {ties[0]} and {ties[1]} equally good, but the design needs one best arm.")
    start, others = coordinates(X, 0.0), gaps > 0
    directions = (start.features[best] - start.features[others]) / gaps[others, None]
    shares = optimal_design(start.features, directions, gap=policy.accuracy).weights if others.any() else np.ones(1)
    model = new_gap_ridge(start)
    model.progress["leader"] = best
    return State(model, shares, -gaps, new_answer(best))


@lean
def oracle_radius(policy, rounds, K):
    """The factor of Proposition 1, for all pairs of arms or for those with the best one."""
    return static_factor(policy.constant, policy.noise, rounds, K, policy.delta * (1 if policy.pairs else K))


@select.register(XYOracle)
@jit
def select_xyoracle(policy, state, context, rng):
    pulls = state.model.pulls
    arm = first_unpulled(pulls, context.eligible) if state.model.progress[0]["unpulled"] > 0.0 else -1
    return arm if arm >= 0 else furthest_behind(pulls, state.design, context.eligible)


@update.register(XYOracle)
@jit
def update_xyoracle(policy, state, context, action, reward):
    model, answer = state.model, state.answer[0]
    learn(model, action, reward)
    if model.progress[0]["unpulled"] == 0.0:
        C = oracle_radius(policy, model.progress[0]["rounds"], model.mean.shape[0])
        checksum = compare_with_leader(answer, state.behind, model.gap_square, model.progress[0]["leader"], C)
        settle(answer, checksum, answer["bound"] < policy.epsilon)
    return state


stops_by_answer(XYOracle)


@evidence.register(XYOracle)
def evidence_xyoracle(policy, state):
    model, behind = state.model, state.behind
    if model.progress[0]["unpulled"] > 0:
        return NO_ESTIMATES
    return support(
        policy, state, behind, model.gap_square,
        lambda: forecast(model, behind, int(state.answer[0]["leader"]), policy.epsilon,
                         lambda log_det, pulls: oracle_radius(policy, pulls.sum(), behind.size), shares=state.design),
    )  # fmt: skip


@explain.register(XYOracle)
def explain_xyoracle(policy, state, context, rng):
    model, answer, known = state.model, state.answer[0], state.model.progress[0]["unpulled"] == 0
    probability = one_hot(select(policy, state, context, rng), state.behind.size)
    return report(model.mean, answer["radius"], model.square, state.design, probability, known) | evidence(policy, state) | {
        "leader": int(answer["leader"]), "challenger": int(answer["challenger"]), "design": state.design.copy(),
    }  # fmt: skip


def example(problem=None):
    return [XYOracle(theta=problem.theta, epsilon=0.2)] if hasattr(problem, "theta") else []
