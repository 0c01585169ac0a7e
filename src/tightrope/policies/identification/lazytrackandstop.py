"""LazyTrackAndStop: track the optimal proportions of arms, which are computed rarely.

When to use it: features and many arms (it starts from d of them, not from all), or no bound on
theta. With few arms it takes about as many samples as LinGapE.
Guarantee: mean of the named arm >= best mean - epsilon with probability >= 1 - delta, for
threshold="proven" and noise that is sub-Gaussian with scale `noise`: A >= c I throughout, so that
A + u c I <= (1 + u) A, and the self-normalised bound holds at all times for all arms together. As
delta falls, samples / ln(1 / delta) approaches the least possible (the source's abstract), for
epsilon = 0, a single best arm and Gaussian noise.
Source: Jedra, Proutiere 2020, "Optimal best-arm identification in linear bandits": forced pulls of
d spanning arms while lambda_min(A) < c_0 sqrt(t), the stop of Eq 9, and the authors' program:
Frank-Wolfe for the proportions, u = 0.1, laziness 2. threshold="heuristic" is that of their
appendix A.1.
Deviations: the spanning arms are chosen by their parts outside the span of those before, where the
program draws them, and are pulled with their rewards, where the program only adds their features
to A; every arm counts as a share of at least 1e-9 where a mixture is inverted; with epsilon a
rival has to be better by it, where optimality is not claimed.
O(K d + d^3) a round; new proportions at every doubling, at most 1,000 steps of O(K d^2).
"""

import math
from typing import Annotated, Literal, NamedTuple, TypeAlias

import numpy as np

from ...compiled.kernels import jit, lean
from ...core.fields import (
    ArmIndex,
    Count,
    Extended,
    Finite,
    Given,
    Record,
    Scratch,
    choice,
    real,
    scale_bound,
)
from ...core.policy import policy
from ...core.verbs import allowed
from ...numerics.counts import argmax, one_hot
from ...numerics.linalg import cholesky, inner, log_det
from .game import Game, hardest_answer, mix, new_game
from .models import (
    GapRidge,
    checked_features,
    coordinates,
    learn,
    learn_at_once,
    measure_from,
    new_gap_ridge,
)
from .sampling import fewest_pulls
from .stopping import (
    NO_ESTIMATES,
    Certifying,
    compare_with_leader,
    forecast,
    gap_report,
    new_answer,
    settle,
    support,
)

LEAST_SHARE = 1e-5  # smaller shares become 0
STILL = 0.01  # relative move at which Frank-Wolfe ends
MOST_STEPS = 1000
TIE = 1e-9  # relative: lambda_min(A) is c_0 sqrt(t) itself after the first d pulls
OwnAnswer: TypeAlias = Annotated[
    np.ndarray, Record(leader=ArmIndex, challenger=ArmIndex, forced_pulls=Count)
]


@policy(
    "features",
    paper="Jedra, Proutiere 2020",
    stops=True,
    examples=(
        {"epsilon": 0.1, "delta": 0.1, "noise": 0.3},
        {"delta": 0.1, "noise": 0.3, "tracking": "last", "threshold": "heuristic"},
    ),
)
class LazyTrackAndStop(Certifying):
    """Track the proportions of samples that would be optimal if the estimates were the truth,
    computed anew each time that the samples have doubled; stop when the data exclude all rivals.

    Parameters
    ----------
    epsilon : number in [0, inf), default 0.0
        How much worse than the best the named arm may be.
    delta : number in (0, 1), default 0.05
        Probability of a worse one.
    noise : number in (0, inf), default 1.0
        Sub-Gaussian scale of the rewards.
    u : number in (0, inf), default 0.1
        What the proof adds to A, in units of its least eigenvalue; enlarges the threshold by 1 + u.
    laziness : number in [1, inf), default 2.0
        By what the samples grow between two computations of the proportions; 1: every round.
    tracking : 'sum' or 'last', default 'sum'
        Follow the sum of the proportions of all rounds, or those computed last.
    threshold : 'proven' or 'heuristic', default 'proven'
        Of the stop, proven, or the smaller heuristic of the source.
    """

    noise: float = scale_bound(default=1.0, above=0)
    u: float = real(default=0.1, above=0)
    laziness: float = real(default=2.0, least=1)
    tracking: Given[Literal["sum", "last"], int] = choice("sum", "last", default="sum")
    threshold: Given[Literal["proven", "heuristic"], int] = choice(
        "proven", "heuristic", default="proven"
    )

    class State(NamedTuple):
        model: GapRidge
        game: Game  # scratch
        start: ArmIndex  # (d,) the arms A_0 that span
        shares: Extended  # (K,) proportions w
        tracked: Extended  # (K,) W, the sum of all w
        matrix: Finite  # (d, d) A
        shifted: Scratch  # (d, d)
        factor: Scratch  # (d, d)
        # (1,) with `floor` c, `next_plan` (when new proportions are due), `forced` (whether the
        # next pull is) and `forced_pulls`
        answer: OwnAnswer

    def init(self, arms):
        start = coordinates(checked_features(arms, self.epsilon, "LazyTrackAndStop"), 0.0)
        (K, d), model = start.features.shape, new_gap_ridge(start)
        first = spanning_arms(start.features)
        model.progress["unpulled"] = d
        least = float(np.linalg.eigvalsh(start.features[first].T @ start.features[first])[0])
        return self.State(
            model,
            new_game(K, d),
            first,
            np.full(K, 1.0 / K),
            np.zeros(K),
            *np.zeros((3, d, d)),
            new_answer(certified=K == 1, floor=least, next_plan=0.0, forced=0.0, forced_pulls=0.0),
        )

    @jit
    def select(self, state, context, rng):
        model, answer, eligible = state.model, state.answer[0], context.eligible
        if model.progress[0]["unpulled"] > 0.0:
            for p in range(state.start.shape[0]):
                if model.pulls[state.start[p]] == 0.0 and allowed(eligible, state.start[p]):
                    return state.start[p]
            return fewest_pulls(model.pulls, eligible)
        if answer["forced"] > 0.0 and allowed(eligible, forced_arm(state)):
            return forced_arm(state)
        best = -1
        for a in range(state.shares.shape[0]):
            if (
                allowed(eligible, a)
                and wanted(self, state, a) > 0.0
                and (best < 0 or behind(self, state, a) > behind(self, state, best))
            ):
                best = a
        return best if best >= 0 else fewest_pulls(model.pulls, eligible)

    @jit
    def update(self, state, context, action, reward):
        take_in(state, action, reward)
        answer = state.answer[0]
        if state.model.progress[0]["unpulled"] == 0.0:
            if answer["forced"] > 0.0 and action == forced_arm(state):
                answer["forced_pulls"] += 1.0
            decide(self, state)
            if not answer["broken"]:
                plan_next(self, state)
        return state

    def evidence(self, state):
        model, answer = state.model, state.answer[0]
        if model.progress[0]["unpulled"] > 0:
            return NO_ESTIMATES

        def radius(_: float, pulls: np.ndarray) -> float:
            shifted = answer["floor"] * self.u * np.eye(len(state.matrix))
            shifted += model.features.T @ (pulls[:, None] * model.features)
            return level(self, answer["floor"], shifted, np.linalg.cholesky(shifted), pulls.sum())

        return support(
            self,
            state,
            model.mean,
            model.gap_square,
            lambda: forecast(
                model, model.mean, int(answer["leader"]), self.epsilon, radius, state.shares
            ),
        )

    def explain(self, state, context, rng):
        rounds, pulls = state.model.progress[0]["rounds"], state.model.pulls
        probability = one_hot(self.select(state, context, rng), pulls.size)
        index = (rounds * state.shares if self.tracking else state.tracked) - pulls
        return gap_report(self, state, index, probability) | {"shares": state.shares.copy()}


def spanning_arms(features: np.ndarray) -> np.ndarray:
    """(d,) arms, each with the largest part outside the span of those before it, of equals the
    first."""
    left, chosen = features.copy(), np.zeros(features.shape[1], dtype=np.int64)
    for p in range(chosen.size):
        sizes = np.linalg.norm(left, axis=1)
        chosen[p] = np.argmax(sizes >= (1.0 - TIE) * sizes.max())
        unit = left[chosen[p]] / sizes[chosen[p]]
        left -= np.outer(left @ unit, unit)
    return chosen


@lean
def forced_arm(state):
    return state.start[int(state.answer[0]["forced_pulls"]) % state.start.shape[0]]


@lean
def wanted(policy, state, a):
    return state.shares[a] if policy.tracking == 1 else state.tracked[a]


@lean
def behind(policy, state, a):
    """How many samples arm a lacks of what is tracked."""
    goal = wanted(policy, state, a)
    if policy.tracking == 1:
        goal *= state.model.progress[0]["rounds"]
    return goal - state.model.pulls[a]


@lean
def take_in(state, arm, reward):
    model, spans = state.model, False
    for p in range(state.start.shape[0]):
        spans = spans or state.start[p] == arm
    if spans:
        learn(model, arm, reward)
    else:
        learn_at_once(model, arm, reward)
    for p in range(state.matrix.shape[0]):
        for q in range(state.matrix.shape[0]):
            state.matrix[p, q] += model.features[arm, p] * model.features[arm, q]


@lean
def shift(state, size):
    """Factorise A + size I; the least share of its diagonal entry that a pivot keeps, 0 where it
    is not positive definite. O(d^3)."""
    for p in range(state.matrix.shape[0]):
        for q in range(state.matrix.shape[0]):
            state.shifted[p, q] = state.matrix[p, q] + (size if p == q else 0.0)
    return cholesky(state.shifted, state.factor)


@jit
def level(policy, floor, shifted, factor, rounds):
    """What gaps are compared with, in units of their widths: the root of twice beta."""
    d = shifted.shape[0]
    if policy.threshold == 1:
        ratio = math.log(rounds) + d * math.log(1.0 / policy.u + 1.0)
    else:
        ratio = log_det(factor) - d * math.log(policy.u * floor)
    beta = (1.0 + policy.u) * policy.noise**2 * (0.5 * ratio - math.log(policy.delta))
    return math.sqrt(2.0 * beta)


@lean
def decide(policy, state):
    """Leader i and the least evidence against a rival (Eq 9): Z > beta where all gaps exceed
    their widths."""
    model, answer = state.model, state.answer[0]
    i = argmax(model.mean, None)
    measure_from(model, i)
    shift(state, policy.u * answer["floor"])
    C = level(policy, answer["floor"], state.shifted, state.factor, model.progress[0]["rounds"])
    checksum = compare_with_leader(answer, model.mean, model.gap_square, i, C)
    settle(answer, checksum, answer["bound"] < policy.epsilon)


@lean
def plan_next(policy, state):
    """New proportions where they are due; then either the next pull is forced, or they count."""
    answer, rounds = state.answer[0], state.model.progress[0]["rounds"]
    if rounds >= answer["next_plan"]:
        answer["next_plan"] = max(math.ceil(policy.laziness * rounds), rounds + 1.0)
        climb(policy, state)
    d = state.start.shape[0]
    needed = answer["floor"] / math.sqrt(d) * math.sqrt(rounds)  # c_0 sqrt(t)
    answer["forced"] = 0.0 if shift(state, -(1.0 - TIE) * needed) > 0.0 else 1.0
    if answer["forced"] == 0.0:
        for a in range(state.shares.shape[0]):
            state.tracked[a] += state.shares[a]


@lean
def climb(policy, state):
    """Frank-Wolfe from equal shares towards the w that excludes the hardest rival fastest; the
    shares stay where a rival ties with the leader. O(K d^2) a step."""
    mean, shares, leader = state.model.mean, state.shares, state.answer[0]["leader"]
    K = shares.shape[0]
    for b in range(K):
        if b != leader and mean[leader] - mean[b] + policy.epsilon <= 0.0:
            return
    shares[:] = 1.0 / K
    for step in range(1, MOST_STEPS):
        mix(state.game, state.model.features, shares)
        hardest_answer(state.game, mean, leader, policy.epsilon)
        best, length, square = 0, 2.0 / (step + 2.0), inner(shares, shares)
        for a in range(K):
            if abs(state.game.moves[a]) > abs(state.game.moves[best]):
                best = a
        moved = square - 2.0 * shares[best] + 1.0  # |e_best - w|^2
        for a in range(K):
            shares[a] *= 1.0 - length
        shares[best] += length
        if length * math.sqrt(moved) < STILL * math.sqrt(square):
            break
    for a in range(K):
        if shares[a] < LEAST_SHARE:
            shares[a] = 0.0
    shares /= shares.sum()
