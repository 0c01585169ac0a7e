"""UGapE: best-arm identification for independent arms.

When to use it: a few variants that share no features; LinGapE is its linear form.
Guarantee: mean of the named arm >= best mean - epsilon with probability >= 1 - delta, for noise that is sub-Gaussian with scale
`noise` (1/2 for rewards in [0, 1]).
Source: Gabillon, Ghavamzadeh, Lazaric 2012, UGapEc for one arm (m = 1): beta_k = b sqrt(c ln(4 K N^3 / delta) / T_k) after N
samples. Rewards in [0, b] with their c = 1/2 are the case noise = b / 2 of noise sqrt(2 ln(4 K N^3 / delta) / T_k).
O(K) a round.
"""

import math
from typing import NamedTuple

import numpy as np

from ...compiled.kernels import jit, lean
from ...core.fields import real
from ...core.policy import policy
from ...core.verbs import allowed, evidence, select
from ...numerics.counts import Counts, count_reward, intervals, means, new_counts
from ...numerics.selection import first_unpulled, one_hot
from .forecast import STEPS
from .stopping import NO_ESTIMATES, Answer, Answering, new_answer, settle, support


@policy("arms", paper="Gabillon, Ghavamzadeh, Lazaric 2012", stops=True)
class UGapE(Answering):
    """Sample the less certain of the arm with the smallest gap bound and its rival; stop when that bound is at most epsilon.

    epsilon: how much worse than the best the named arm may be. delta: probability of a worse one. noise: sub-Gaussian scale.
    """

    epsilon: float = real(default=0.0, least=0)
    delta: float = real(default=0.05, above=0, below=1)
    noise: float = real(default=1.0, above=0)

    class State(NamedTuple):
        counts: Counts
        answer: Answer  # (1,) its leader is the arm with the smallest gap bound, its radius stays infinite

    def init(self, arms):
        return self.State(new_counts(arms.number), new_answer())

    @jit
    def select(self, state, context, rng):
        arm = first_unpulled(state.counts.pulls, context.eligible)
        if arm < 0:  # the one with the wider interval, that is with fewer pulls
            i, j = state.answer[0]["leader"], state.answer[0]["challenger"]
            pulls = state.counts.pulls
            arm = i if pulls[i] < pulls[j] or (pulls[i] == pulls[j] and i < j) else j
            if not allowed(context.eligible, arm):
                arm = i + j - arm
            if not allowed(context.eligible, arm):
                for k in range(pulls.shape[0]):
                    if allowed(context.eligible, k) and (not allowed(context.eligible, arm) or pulls[k] < pulls[arm]):
                        arm = k
        return arm

    @jit
    def update(self, state, context, action, reward):
        count_reward(state.counts, action, reward)
        if first_unpulled(state.counts.pulls, None) < 0:
            decide(self, state)
        return state

    def evidence(self, state):
        pulls, mean, i = state.counts.pulls, means(state.counts), int(state.answer[0]["leader"])
        if not pulls.all():
            return NO_ESTIMATES

        def left():  # pulls of each arm until two half widths fit into its gap, at the end's N
            K, N, lead = pulls.size, state.counts.rounds[0], np.delete(mean[i] - mean, i) + self.epsilon
            if lead.min() <= 0:
                return math.inf
            lead, wanted = np.insert(lead, i, lead.min()), np.zeros(K)
            for _ in range(STEPS):
                wanted = np.maximum((2.0 * half_width(self, N + wanted.sum(), K, 1.0) / lead) ** 2 - pulls, 0.0)
            return float(np.ceil(wanted).sum())

        return support(self, state, mean, 1.0 / pulls + 1.0 / pulls[i], left)

    def explain(self, state, context, rng):
        pulls = state.counts.pulls
        K, N, known = pulls.size, state.counts.rounds[0], pulls > 0
        width = np.array([half_width(self, N, K, n) if n else math.inf for n in pulls])
        probability = one_hot(select(self, state, context, rng), K)
        arms = intervals(np.where(known, means(state.counts), math.nan), width) | {"index": width.copy(), "probability": probability}
        return (
            arms
            | evidence(self, state)
            | {
                "leader": int(state.answer[0]["leader"]),
                "challenger": int(state.answer[0]["challenger"]),
            }
        )


@lean
def half_width(policy, rounds, K, pulls):
    """beta_k after `rounds` samples."""
    return policy.noise * math.sqrt(2.0 * math.log(4.0 * K * rounds**3 / policy.delta) / pulls)


@lean
def decide(policy, state):
    """J = argmin_k B_k with B_k = max_{j != k} U_j - L_k, and its rival argmax_{j != J} U_j."""
    counts, answer = state.counts, state.answer[0]
    K = counts.pulls.shape[0]
    upper, checksum = counts.scores, 0.0
    first, second = -1, -1
    for k in range(K):
        upper[k] = counts.sums[k] / counts.pulls[k] + half_width(policy, counts.rounds[0], K, counts.pulls[k])
        checksum += upper[k]
        if first < 0 or upper[k] > upper[first]:
            first, second = k, first
        elif second < 0 or upper[k] > upper[second]:
            second = k
    best, bound = 0, math.inf
    for k in range(K):
        rival = second if k == first else first
        value = -math.inf
        if rival >= 0:
            value = upper[rival] - 2.0 * counts.sums[k] / counts.pulls[k] + upper[k]  # L = 2 mean - U
        if value < bound:
            best, bound = k, value
    answer["bound"], answer["leader"], answer["challenger"] = bound, best, max(second if best == first else first, 0)
    settle(answer, checksum, bound <= policy.epsilon)


def example():
    return [UGapE(epsilon=0.1, delta=0.1, noise=0.5)]
