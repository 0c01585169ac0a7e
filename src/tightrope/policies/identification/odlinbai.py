"""ODLinBAI: the best arm with features after a fixed number of samples, about half as many arms in
every phase.

When to use it: features, a number of samples that is given, and no need of a certificate.
Guarantee: for pool=False the exponent of the error depends on the d smallest gaps only, by H = max
i / gap_i^2, and no method has a better one but for constants (the source's abstract; its constants
were not seen). Nothing is certified.
Source: Yang, Tan 2022, "Minimax optimal fixed-budget best arm identification in linear bandits",
OD-LinBAI.
Deviations: pool=True estimates from the samples of all phases, which the theorem does not know and
which errs far less outside the source's own instance. A phase ends when all rewards that it needs
are in; samples that rounding leaves over are not taken.
O(K) a round; at the end of a phase a design, O(K d^2) an iteration, and O(K d^4) for its support.
"""

import math
from typing import Annotated, NamedTuple, TypeAlias

import numpy as np

from ...compiled.kernels import jit, lean
from ...core.fields import (
    ArmIndex,
    Count,
    Extended,
    Finite,
    Flag,
    Record,
    RewardSum,
    Scratch,
    flag,
    integer,
    scale_bound,
)
from ...core.policy import policy
from ...core.verbs import allowed
from ...numerics.counts import argmax, one_hot
from ...numerics.linalg import cholesky, inner, solve_lower, solve_lower_transposed
from ...solvers.programs import MOST_ITERATIONS, Workspace, design_kernel, new_workspace, thin
from .models import checked_features, coordinates
from .stopping import Planned, error_estimate, new_answer, report

ACCURACY = 0.001  # of the designs
LEAST_SHARE = 1e-6  # smaller shares of a design are dropped
ABSENT = 1e-9  # of the largest arm: a smaller part outside the span counts as none
OwnAnswer: TypeAlias = Annotated[
    np.ndarray, Record(leader=ArmIndex, challenger=ArmIndex, rounds=Count, phase=Count)
]


@policy(
    "features",
    paper="Yang, Tan 2022",
    stops="plan",
    examples=({"budget": 200}, {"budget": 200, "pool": False, "noise": 0.3}),
)
class ODLinBAI(Planned):
    """Sample by the G-optimal design for the arms that are left, keep half as many arms as there
    are dimensions, then a quarter, .., until one is left.

    Parameters
    ----------
    budget : whole number from 1 to 9007199254740992
        T, samples of all arms together.
    pool : True or False, default True
        Whether arms are compared by the samples of all phases, or by those of the phase.
    noise : number in (0, inf), default 1.0
        Scale of the rewards' noise, for the estimated error only.
    """

    budget: int = integer(least=1, most=2**53)  # beyond it a float cannot count
    pool: bool = flag(default=True)
    noise: float = scale_bound(default=1.0, above=0)

    class State(NamedTuple):
        features: Finite  # (K, d)
        sums: RewardSum  # (K,) of all rewards
        pulls: Count  # (K,) rewards
        phase_sums: Finite  # (K,) of the rewards of this phase
        phase_pulls: Count  # (K,)
        plays: Count  # (K,) decisions of this phase, with those that wait for their reward
        needed: Count  # (K,) samples of this phase
        mean: Extended  # (K,) estimates at the end of the last phase
        survivors: Flag  # (K,) bool
        # (K + d, d) survivors in coordinates of their span, 0 for others, and a unit vector for
        # every direction that no survivor has
        spanned: Finite
        wanted: Flag  # (K + d,) bool
        left: Scratch  # (K, d)
        work: Workspace  # of the design
        table: Scratch  # (d (d + 1) / 2, K + d)
        basis: Scratch  # (d (d + 1) / 2,)
        theta: Scratch  # (d,)
        answer: OwnAnswer  # (1,) with `rounds`, rewards so far, and `phase`, how many have ended

    def init(self, arms):
        features = coordinates(checked_features(arms, 1.0, "ODLinBAI"), 0.0).features
        (K, d), products = features.shape, features.shape[1] * (features.shape[1] + 1) // 2
        least = round(phases(d) * (1.0 - phase_size(0, K, d)))  # of which a phase has one
        if self.budget < least:
            raise ValueError(
                f"budget = {self.budget} is too small for {K} arms in {d} dimensions; ODLinBAI "
                f"needs at least {least} samples."
            )
        state = self.State(
            features,
            *np.zeros((7, K)),
            np.ones(K, dtype=np.bool_),
            np.zeros((K + d, d)),
            np.zeros(K + d, dtype=np.bool_),
            np.zeros((K, d)),
            new_workspace(K + d, K + d, d),
            np.zeros((products, K + d)),
            np.zeros(products),
            np.zeros(d),
            new_answer(rounds=0.0, phase=0.0),
        )
        if K == 1:
            state.answer["phase"] = phases(d)
        else:
            begin_phase(self, state)
        return state

    @jit
    def stopped(self, state):
        answer = state.answer[0]
        return answer["broken"] or answer["phase"] >= phases(state.theta.shape[0])

    @jit
    def select(self, state, context, rng):
        arm = -1
        for k in range(state.plays.shape[0]):
            if allowed(context.eligible, k) and (
                arm < 0 or state.needed[k] - state.plays[k] > state.needed[arm] - state.plays[arm]
            ):
                arm = k
        return arm

    @jit
    def update(self, state, context, action, reward):
        take(self, state, action, reward)
        return state

    def evidence(self, state):
        answer, X = state.answer[0], state.features
        left, leader = max(float(self.budget - answer["rounds"]), 0.0), int(answer["leader"])
        error = 1.0
        if answer["phase"] > 0:
            squares = squared_widths(state, X[leader] - X)
            error = error_estimate(state.mean, squares, leader, 0.0, self.noise)
        return {
            "gap_bound": math.inf,
            "error": error,
            "samples_remaining": 0.0 if self.stopped(state) else left,
        }

    def explain(self, state, context, rng):
        X, known = state.features, bool(state.answer[0]["phase"] > 0)
        square = squared_widths(state, X) if known else np.zeros(len(X))
        chance = one_hot(self.select(state, context, rng), len(X))
        own = report(state.mean, self.noise, square, state.needed - state.plays, chance, known)
        return (
            own
            | self.evidence(state)
            | {"leader": int(state.answer[0]["leader"]), "survivors": state.survivors.copy()}
        )


def squared_widths(state: ODLinBAI.State, rows: np.ndarray) -> np.ndarray:
    A = state.features.T @ (state.pulls[:, None] * state.features)
    return np.einsum("ij,ji->i", rows, np.linalg.solve(A, rows.T))


@lean
def phases(d):
    """R = ceil(log2 d), at least 1."""
    count = 1
    while 2**count < d:
        count += 1
    return count


@lean
def halved(d, r):
    """ceil(d / 2^r): arms that are left after r phases."""
    return (d + 2**r - 1) // 2**r


@lean
def phase_size(T, K, d):
    """m, the samples of a phase before shares are rounded up."""
    R, least = phases(d), T - min(K, d * (d + 1) // 2)
    for r in range(1, R):
        least -= halved(d, r)
    return least / R


@lean
def begin_phase(policy, state):
    """The G-optimal design of the arms that are left, in the coordinates of their span, and how
    many samples of each it asks for."""
    work, K, d = state.work, state.survivors.shape[0], state.theta.shape[0]
    span(state)
    design_kernel(state.spanned, state.spanned, state.wanted, work, ACCURACY, MOST_ITERATIONS)
    keep_survivors(state)
    thin(state.spanned, work.shares, state.table, state.basis)
    keep_survivors(state)
    m = phase_size(policy.budget, K, d)
    for a in range(K):
        state.needed[a] = math.ceil(work.shares[a] * m * (1.0 - 1e-12))
        state.phase_sums[a], state.phase_pulls[a], state.plays[a] = 0.0, 0.0, 0.0


@lean
def span(state):
    """Coordinates of the survivors in the span that they have: at each step the one with the
    largest part outside of it gives a direction, in which it has 1. O(K d^2)."""
    K, d = state.features.shape
    left, spanned = state.left, state.spanned
    for a in range(K + d):
        state.wanted[a] = a >= K or state.survivors[a]
        for p in range(d):
            spanned[a, p] = 1.0 if a == K + p else 0.0
            if a < K:
                left[a, p] = state.features[a, p] if state.survivors[a] else 0.0
    first = 0.0
    for p in range(d):
        pivot, largest = -1, ABSENT * ABSENT * first
        for a in range(K):
            size = inner(left[a], left[a])
            if size > largest * (1.0 + ABSENT):
                pivot, largest = a, size
        if pivot < 0:
            return
        first = max(first, largest)
        state.wanted[K + p] = False
        spanned[K + p, p] = 0.0
        for q in range(d):
            state.theta[q] = left[pivot, q]
        for a in range(K):
            spanned[a, p] = inner(left[a], state.theta) / largest
            for q in range(d):
                left[a, q] -= spanned[a, p] * state.theta[q]


@lean
def keep_survivors(state):
    """Drop the shares of unit vectors and those that are next to nothing; the others sum to 1."""
    shares, K = state.work.shares, state.survivors.shape[0]
    for a in range(shares.shape[0]):
        if a >= K or not state.survivors[a] or shares[a] < LEAST_SHARE:
            shares[a] = 0.0
    shares /= shares.sum()


@lean
def take(policy, state, action, reward):
    """One reward, and the end of the phase where it is the last that is needed."""
    answer, K, d = state.answer[0], state.survivors.shape[0], state.theta.shape[0]
    state.sums[action] += reward
    state.pulls[action] += 1.0
    state.phase_sums[action] += reward
    state.phase_pulls[action] += 1.0
    answer["rounds"] += 1.0
    answer["broken"] = answer["broken"] or not math.isfinite(state.sums[action])
    if answer["broken"] or answer["phase"] >= phases(d):
        return
    for k in range(K):
        if state.phase_pulls[k] < state.needed[k]:
            return
    estimate(policy, state)
    answer["phase"] += 1.0
    drop_worst(state, halved(d, int(answer["phase"])))
    answer["leader"] = argmax(state.mean, state.survivors)
    if answer["phase"] < phases(d):
        begin_phase(policy, state)


@lean
def estimate(policy, state):
    """Least squares of all samples, or in the span of the survivors of those of the phase."""
    work, K, d = state.work, state.survivors.shape[0], state.theta.shape[0]
    X = state.features if policy.pool else state.spanned
    pulls = state.pulls if policy.pool else state.phase_pulls
    sums = state.sums if policy.pool else state.phase_sums
    for p in range(d):
        state.theta[p] = 0.0
        for a in range(K):
            state.theta[p] += sums[a] * X[a, p]
        for q in range(p + 1):
            work.matrix[p, q] = 0.0
            for a in range(K):
                work.matrix[p, q] += pulls[a] * X[a, p] * X[a, q]
            if not policy.pool and p == q and state.wanted[K + p]:
                work.matrix[p, q] += 1.0
    kept = cholesky(work.matrix, work.factor)
    solve_lower(work.factor, state.theta)
    solve_lower_transposed(work.factor, state.theta)
    checksum = 0.0
    for a in range(K):
        state.mean[a] = inner(X[a], state.theta)
        checksum += state.mean[a]
    state.answer[0]["broken"] = not (kept > 0.0 and math.isfinite(checksum))


@lean
def drop_worst(state, most):
    """Keep this many survivors of the largest estimates, of equals the first."""
    for _ in range(state.survivors.sum() - most):
        worst = -1
        for k in range(state.survivors.shape[0]):
            if state.survivors[k] and (worst < 0 or state.mean[k] <= state.mean[worst]):
                worst = k
        state.survivors[worst] = False
