"""UGapE: best-arm identification for independent arms.

When to use it: a few variants that share no features; LinGapE is its linear form.
Guarantee: mean of the named arm >= best mean - epsilon with probability >= 1 - delta, for noise
that is sub-Gaussian with scale `noise` (1/2 for rewards in [0, 1]); with noise=None for Gaussian
rewards whose standard deviations are unknown and may differ between arms.
Source: Gabillon, Ghavamzadeh, Lazaric 2012, UGapEc for one arm (m = 1): beta_k = b sqrt(c ln(4 K
N^3 / delta) / T_k) after N samples. Rewards in [0, b] with their c = 1/2 are the case noise = b / 2
of noise sqrt(2 ln(4 K N^3 / delta) / T_k).
noise=None: the half width of arm k after n pulls is s_k / sqrt(n) times a Student quantile at delta
/ (K n (n - 1)), s_k its empirical standard deviation: all intervals hold at once and for ever by a
union over arms and numbers of pulls, as the box of Jourdan, Degenne, Kaufmann 2023, "Dealing with
unknown variances in best-arm identification", has it; our thresholds are those of that union and
not theirs. Then the arm with the wider interval is sampled, every arm twice first; an arm whose
rewards are all equal is never certified.
O(K) a round.
"""

import math
from typing import NamedTuple

import numpy as np

from ...compiled.kernels import jit, lean
from ...core.fields import Extended, Given, NonNegative, real
from ...core.policy import policy
from ...core.verbs import allowed
from ...numerics.counts import (
    Counts,
    count_reward,
    first_unpulled,
    intervals,
    means,
    new_counts,
    next_untried,
    one_hot,
)
from ...numerics.posterior import student_width
from .stopping import NO_ESTIMATES, STEPS, Answer, Certifying, new_answer, settle, support


@policy(
    "arms",
    paper="Gabillon, Ghavamzadeh, Lazaric 2012",
    stops=True,
    examples=(
        {"epsilon": 0.1, "delta": 0.1, "noise": 0.5},
        {"epsilon": 0.1, "delta": 0.1, "noise": None},
    ),
)
class UGapE(Certifying):
    """Sample the less certain of the arm with the smallest gap bound and its rival; stop when that
    bound is at most epsilon.

    Parameters
    ----------
    epsilon : number in [0, inf), default 0.0
        How much worse than the best the named arm may be.
    delta : number in (0, 1), default 0.05
        Probability of a worse one.
    noise : number in (0, inf), or None (unknown), default 1.0
        Sub-Gaussian scale; None: Gaussian rewards with unknown variances.
    """

    noise: Given[float | None, float] = real(default=1.0, above=0, none="unknown")

    class State(NamedTuple):
        counts: Counts
        spread: NonNegative  # (K,) sums of squared deviations from an arm's mean
        width: Extended  # (K,) half widths where the noise is unknown
        # (1,) its leader is the arm with the smallest gap bound, its radius stays infinite
        answer: Answer

    def init(self, arms):
        return self.State(
            new_counts(arms.number),
            np.zeros(arms.number),
            np.full(arms.number, math.inf),
            new_answer(),
        )

    @jit
    def select(self, state, context, rng):
        arm = next_untried(state.counts, context.eligible)
        if arm < 0 and math.isnan(self.noise):
            arm = least_pulled_without_width(state, context.eligible)
        if (
            arm < 0
        ):  # the one with the wider interval, which with known noise is that with fewer pulls
            i, j = state.answer[0]["leader"], state.answer[0]["challenger"]
            pulls, width = state.counts.pulls, state.width
            arm = i if pulls[i] < pulls[j] or (pulls[i] == pulls[j] and i < j) else j
            if math.isnan(self.noise) and width[i] != width[j]:
                arm = i if width[i] > width[j] else j
            if not allowed(context.eligible, arm):
                arm = i + j - arm
            if not allowed(context.eligible, arm):
                for k in range(pulls.shape[0]):
                    if allowed(context.eligible, k) and (
                        not allowed(context.eligible, arm) or pulls[k] < pulls[arm]
                    ):
                        arm = k
        return arm

    @jit
    def update(self, state, context, action, reward):
        counts = state.counts
        before = (
            counts.sums[action] / counts.pulls[action] if counts.pulls[action] > 0.0 else reward
        )
        count_reward(counts, action, reward)
        pulls = counts.pulls[action]
        state.spread[action] += (reward - before) * (reward - counts.sums[action] / pulls)
        if math.isnan(self.noise):
            state.width[action] = student_width(
                pulls, state.spread[action], self.delta / counts.pulls.shape[0]
            )
            if least_pulled_without_width(state, None) < 0:
                decide(self, state)
        elif counts.rounds[0] >= counts.pulls.shape[0] and first_unpulled(counts.pulls, None) < 0:
            decide(self, state)
        return state

    def evidence(self, state):
        pulls, mean, i = state.counts.pulls, means(state.counts), int(state.answer[0]["leader"])
        if not (np.isfinite(state.width) if math.isnan(self.noise) else pulls > 0.0).all():
            return NO_ESTIMATES
        deviation = deviations(self, state)

        def left():  # pulls of each arm until two half widths fit into its gap, at the end's N
            K, N, lead = (
                pulls.size,
                state.counts.rounds[0],
                np.delete(mean[i] - mean, i) + self.epsilon,
            )
            if lead.min() <= 0:
                return math.inf
            lead, wanted = np.insert(lead, i, lead.min()), np.zeros(K)
            for _ in range(STEPS):
                wanted = np.maximum(
                    (2.0 * deviation * root(self, N + wanted.sum(), K) / lead) ** 2 - pulls, 0.0
                )
            return float(np.ceil(wanted).sum())

        squares = deviation**2 / pulls
        return support(self._replace(noise=1.0), state, mean, squares + squares[i], left)

    def explain(self, state, context, rng):
        pulls = state.counts.pulls
        K, N, known = pulls.size, state.counts.rounds[0], pulls > 0
        width = (
            state.width.copy()
            if math.isnan(self.noise)
            else np.array([half_width(self, N, K, n) if n else math.inf for n in pulls])
        )
        probability = one_hot(self.select(state, context, rng), K)
        arms = intervals(np.where(known, means(state.counts), math.nan), width) | {
            "index": width.copy(),
            "probability": probability,
        }
        return (
            arms
            | self.evidence(state)
            | {
                "leader": int(state.answer[0]["leader"]),
                "challenger": int(state.answer[0]["challenger"]),
            }
        )


@lean
def half_width(policy, rounds, K, pulls):
    return policy.noise * math.sqrt(union_logarithm(policy, rounds, K) / pulls)


@lean
def union_logarithm(policy, rounds, K):
    """2 ln(4 K N^3 / delta) after N rounds, the same for all arms."""
    return 2.0 * (
        math.log(4.0 * K * rounds**3) - math.log(policy.delta)
    )  # their quotient may overflow


@lean
def least_pulled_without_width(state, eligible):
    """Of the eligible arms without two different rewards the one with the fewest pulls, or -1.
    O(K)."""
    best, pulls = -1, state.counts.pulls
    for k in range(pulls.shape[0]):
        if (
            state.width[k] == math.inf
            and allowed(eligible, k)
            and (best < 0 or pulls[k] < pulls[best])
        ):
            best = k
    return best


def root(policy: UGapE, rounds: float, K: int) -> float:
    """beta_k for one pull and noise 1: also a forecast of Student's quantile after many pulls."""
    return math.sqrt(union_logarithm(policy, rounds, K))


def deviations(policy: UGapE, state: UGapE.State) -> np.ndarray:
    """(K,) standard deviation of each arm's rewards, given or estimated."""
    if math.isnan(policy.noise):
        return np.asarray(np.sqrt(state.spread / np.maximum(state.counts.pulls - 1.0, 1.0)))
    return np.full(state.spread.size, policy.noise)


@lean
def decide(policy, state):
    """J = argmin_k B_k with B_k = max_{j != k} U_j - L_k, and its rival argmax_{j != J} U_j."""
    counts, answer = state.counts, state.answer[0]
    K = counts.pulls.shape[0]
    logarithm = union_logarithm(policy, counts.rounds[0], K)
    upper, checksum = counts.scores, 0.0
    first, second = -1, -1
    for k in range(K):
        width = (
            state.width[k]
            if math.isnan(policy.noise)
            else policy.noise * math.sqrt(logarithm / counts.pulls[k])
        )
        upper[k] = counts.sums[k] / counts.pulls[k] + width
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
            value = (
                upper[rival] - 2.0 * counts.sums[k] / counts.pulls[k] + upper[k]
            )  # L = 2 mean - U
        if value < bound:
            best, bound = k, value
    answer["bound"], answer["leader"], answer["challenger"] = (
        bound,
        best,
        max(second if best == first else first, 0),
    )
    settle(answer, checksum, bound <= policy.epsilon)
