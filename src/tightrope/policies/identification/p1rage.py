"""P1RAGE: the best arm after a fixed number of samples, also where the means change while they are
taken.

When to use it: features, a given end, and days that are not alike. The best arm is that of the
largest mean over all rounds. Arms are drawn at random from a known design, so that weighted rewards
estimate the average theta without bias, whatever order its changes come in.
Guarantee: half of every design is the G-optimal one, so x'A^-1 x <= 2 d for every arm, at most
twice the least worst case. It certifies nothing: `stopped` stays False, and gap_bound and error are
normal approximations for a number of samples that is fixed in advance.
Source: Xiong, Camilleri, Fazel, Jain, Jamieson 2023, "A/B testing and best-arm identification for
linear bandits with robustness to non-stationarity", arXiv 2307.15154, as its authors' published
program plays it: a new design for each of ceil(log2 rho) epochs, rho the value of the best design
for all differences.
Deviations: the first epoch draws from the G-optimal design alone (the program replans after its
first sample); without a budget epochs double. A design changes with a reward after which no
decision is open, so that every reward is weighted by the design that chose its arm; where some
decision always is, all arms come from the G-optimal one.
O(K d + d^2) a round; at the end of an epoch up to 15 designs, O(K^2 d^2) an iteration: some
hundred arms are what it is for (RAGE has times of one design).
"""

import math
from typing import Annotated, NamedTuple, TypeAlias

import numpy as np
import scipy

from ...compiled.kernels import jit, lean
from ...core.fields import ArmIndex, Count, Extended, Finite, Flag, Record, real
from ...core.policy import policy
from ...numerics.counts import argmax
from ...numerics.linalg import solve_lower_transposed
from ...numerics.posterior import categorical
from ...solvers.programs import (
    MOST_ITERATIONS,
    Workspace,
    design_kernel,
    g_design,
    new_workspace,
    pair_directions,
    whiten,
)
from .models import checked_features, coordinates
from .stopping import (
    NO_ESTIMATES,
    Certifying,
    error_estimate,
    new_answer,
    refuse_broken,
    report,
    settle,
)

ACCURACY = 0.01  # of the designs
MOST_PHASES = 15
OwnAnswer: TypeAlias = Annotated[
    np.ndarray, Record(leader=ArmIndex, challenger=ArmIndex, rounds=Count, open=Count)
]


class Designs(NamedTuple):
    """The design of this epoch, and what the next one is made with."""

    features: Finite  # (K, d)
    robust: Finite  # (K,) shares of the G-optimal design
    shares: Finite  # (K,) of this epoch's design
    weights: Finite  # (K, d) A^-1 x under it
    directions: Finite  # (M, d)
    wanted: Flag  # (M,) bool scratch: pairs of the phase
    work: Workspace


class P1RAGEState(NamedTuple):
    designs: Designs
    mean: Extended  # (K,) estimates
    total: Extended  # (d,) sum of the weighted rewards A^-1 x r
    second: Extended  # (d, d) sum of their outer products
    pulls: Count  # (K,)
    # (1,) with `rounds` (rewards), `open` decisions, `replan` (at which round), `epoch` (0:
    # doubling), `budget`
    answer: OwnAnswer


@policy(
    "features",
    paper="Xiong, Camilleri, Fazel, Jain, Jamieson 2023",
    stops=True,
    examples=({"epsilon": 0.1, "delta": 0.1},),
)
class P1RAGE(Certifying):
    """Draw arms at random, half of the time by the design for gaps as estimated and half by the
    G-optimal one, until a budget is used up.

    Parameters
    ----------
    epsilon : number in [0, inf), default 0.0
        How much worse than the best the named arm may be.
    delta : number in (0, 1), default 0.05
        Error of gap_bound.
    scale : number in (0, inf), default 1.0
        Size of the means; phases look at gaps of a half, a quarter, .. of it.
    """

    scale: float = real(default=1.0, above=0)

    def init(self, arms):
        X = coordinates(checked_features(arms, self.epsilon, "P1RAGE"), 0.0).features
        (K, d), designs = X.shape, new_designs(X)
        answer = new_answer(
            rounds=0.0,
            open=0.0,
            replan=2.0 * K,
            epoch=0.0,
            budget=math.inf if arms.horizon is None else arms.horizon,
        )
        if arms.horizon is not None:
            epochs = max(math.ceil(math.log2(best_value(designs, np.zeros(K)))), 1)
            answer["epoch"] = answer["replan"] = max(arms.horizon // epochs, 1)
        return P1RAGEState(designs, np.zeros(K), np.zeros(d), np.zeros((d, d)), np.zeros(K), answer)

    @jit
    def select(self, state, context, rng):
        return categorical(state.designs.shares, 1.0, rng)

    @jit
    def commit(self, state, context, action):
        state.answer[0]["open"] += 1.0
        return state

    @jit
    def withdraw(self, state, context, action):
        state.answer[0]["open"] -= 1.0
        return state

    @jit
    def update(self, state, context, action, reward):
        state.answer[0]["open"] -= 1.0
        learn(state, action, reward)
        change_design(self, state)
        return state

    @jit
    def inform(self, state, context, action, reward):
        learn(state, action, reward)
        return state

    def admit(self, state, context):
        refuse_broken(state)
        if context.eligible is not None and not context.eligible.all():
            raise ValueError(
                "eligible leaves out arms, but P1RAGE weighs rewards by the chances of its "
                "design, which a mask would change."
            )

    def propensity(self, state, context, action, rng):
        return float(state.designs.shares[action]), 0.0

    def evidence(self, state):
        answer, X = state.answer[0], state.designs.features
        leader, left = int(answer["leader"]), max(float(answer["budget"] - answer["rounds"]), 0.0)
        if answer["rounds"] < 2.0:
            return NO_ESTIMATES | {"samples_remaining": left}
        squares = variances(state, X[leader] - X)
        behind = np.delete(
            state.mean - state.mean[leader] + quantile(self, state) * np.sqrt(squares), leader
        )
        error = error_estimate(state.mean, squares, leader, self.epsilon, 1.0)
        return {
            "gap_bound": float(behind.max(initial=-math.inf)),
            "error": error,
            "samples_remaining": left,
        }

    def explain(self, state, context, rng):
        shares, known = state.designs.shares, bool(state.answer[0]["rounds"] >= 2.0)
        square = variances(state, state.designs.features) if known else np.zeros(shares.size)
        own = report(state.mean, quantile(self, state), square, shares, shares.copy(), known)
        return own | self.evidence(state) | {"leader": int(state.answer[0]["leader"])}


@lean
def learn(state, action, reward):
    answer, weight, checksum = state.answer[0], state.designs.weights[action], 0.0
    answer["rounds"] += 1.0
    state.pulls[action] += 1.0
    for p in range(weight.shape[0]):
        state.total[p] += reward * weight[p]
        for q in range(weight.shape[0]):
            state.second[p, q] += reward * weight[p] * reward * weight[q]
            checksum += state.second[p, q]
    for k in range(state.mean.shape[0]):
        inner = 0.0
        for p in range(weight.shape[0]):
            inner += state.designs.features[k, p] * state.total[p]
        state.mean[k] = inner / answer["rounds"]
        checksum += state.mean[k]
    answer["leader"] = argmax(state.mean, None)
    settle(answer, checksum, False)


@lean
def change_design(policy, state):
    answer = state.answer[0]
    if (
        answer["rounds"] < answer["replan"]
        or answer["rounds"] >= answer["budget"]
        or answer["open"] > 0.0
        or answer["broken"]
    ):
        return
    while answer["replan"] <= answer["rounds"]:
        answer["replan"] += answer["epoch"] if answer["epoch"] > 0.0 else answer["replan"]
    replan(state.designs, state.mean, policy.scale)


def variances(state: P1RAGEState, directions: np.ndarray) -> np.ndarray:
    """Estimated variances of the estimates along (M, d) directions."""
    rounds = float(state.answer[0]["rounds"])
    theta = state.total / rounds
    covariance = (state.second / rounds - np.outer(theta, theta)) / rounds
    return np.asarray(np.maximum(np.einsum("kp,pq,kq->k", directions, covariance, directions), 0.0))


def quantile(policy: P1RAGE, state: P1RAGEState) -> float:
    return float(scipy.special.ndtri(1.0 - policy.delta / max(state.mean.size - 1, 1)))


# Designs that follow estimated gaps without dropping an arm: the average over phases that are only
# imagined, half of it G-optimal. Phase p = 1, 2, .. has the arms whose estimated gap is at most
# scale / 2^(p - 1), the first one all arms, and the design that is best for the differences of its
# arms.


def new_designs(X: np.ndarray) -> Designs:
    (K, d), Y = X.shape, pair_directions(X)
    robust = g_design(X, gap=ACCURACY).weights
    designs = Designs(
        X,
        robust,
        robust.copy(),
        np.zeros((K, d)),
        Y,
        np.zeros(len(Y), dtype=np.bool_),
        new_workspace(K, len(Y), d),
    )
    weigh(designs)
    return designs


@lean
def weigh(designs):
    """A^-1 x of all arms for the current shares. O(K d^2 + d^3)."""
    work = designs.work
    whiten(designs.features, designs.shares, 0.0, work.matrix, work.factor, designs.weights)
    for a in range(designs.shares.shape[0]):
        solve_lower_transposed(work.factor, designs.weights[a])


@lean
def keep_within(designs, mean, most):
    """Want the pairs of arms that differ and whose estimated gaps are at most this; the number of
    such pairs. O(K^2 d)."""
    best, pair, pairs = argmax(mean, None), 0, 0
    for i in range(mean.shape[0]):
        for j in range(i):
            near = mean[best] - min(mean[i], mean[j]) <= most
            designs.wanted[pair] = near and designs.directions[pair].any()
            pairs += 1 if designs.wanted[pair] else 0
            pair += 1
    return pairs


@lean
def best_value(designs, mean):
    """max y'A^-1 y over all differences y, of the best design for them; 1 where there is no
    difference."""
    if keep_within(designs, mean, math.inf) == 0:
        return 1.0
    value, _ = design_kernel(
        designs.features,
        designs.directions,
        designs.wanted,
        designs.work,
        ACCURACY,
        MOST_ITERATIONS,
    )
    return value


@lean
def replan(designs, mean, scale):
    """The design of the next epoch. At most 15 designs, O(K^2 d^2) an iteration."""
    K, work = mean.shape[0], designs.work
    for a in range(K):
        designs.shares[a] = 0.0
    phases, known, pairs = 0, 0, keep_within(designs, mean, math.inf)
    while pairs > 0 and phases < MOST_PHASES:
        if pairs != known:  # as many pairs are the same pairs
            design_kernel(
                designs.features,
                designs.directions,
                designs.wanted,
                work,
                ACCURACY,
                MOST_ITERATIONS,
            )
            known = pairs
        phases += 1
        for a in range(K):
            designs.shares[a] += work.shares[a]
        pairs = keep_within(designs, mean, scale * 0.5**phases)
    for a in range(K):
        designs.shares[a] = (
            0.5 * (designs.shares[a] / phases + designs.robust[a])
            if phases > 0
            else designs.robust[a]
        )
    weigh(designs)
