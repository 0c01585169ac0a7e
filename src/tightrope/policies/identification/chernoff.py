"""Chernoff's stop for arms without features: how clearly the data tell two arms apart, and how clearly they must.

Z_ij = inf_x pulls_i d(mean_i, x) + pulls_j d(mean_j, x + epsilon), the transportation cost, is the generalised likelihood ratio against
"j is better than i by epsilon" (Garivier, Kaufmann 2016, Eq 7, is epsilon = 0). Where that is the truth mu, it is at most
S = pulls_i d(mean_i, mu_i) + pulls_j d(mean_j, mu_j), and mixtures bound S at all times and for any sampling rule. A wrong arm i is named
only if Z_ij with j the best arm is too large, so that K - 1 pairs share delta:

- Bernoulli: with the mixture of Krichevsky and Trofimov, off by a factor of at most 2 sqrt(n) (their Lemma 11), S exceeds
  ln(4 (K - 1) sqrt(pulls_i pulls_j) / delta) with probability at most delta / (K - 1). It is their Theorem 10 with sqrt(pulls_i pulls_j) in
  place of t / 2. The likelihood ratio is convex in a reward, so any rewards in [0, 1] are covered, and so is the log of the factor in
  their sum.
- Gaussian: with a normal mixture of the noise's own variance around each mean, S with n^2 / (n + 1) for each n = pulls
  exceeds ln((K - 1) / delta) + sum ln(n + 1) / 2 with probability at most delta / (K - 1), and S is at most 1 + 1 / min n times that. Any
  sub-Gaussian noise is covered.
"""

import math
from typing import Any, Literal, NamedTuple

import numpy as np

from ...compiled.kernels import lean
from ...core.fields import choice, real, scale_bound
from ...core.types import Given, Stored
from ...core.verbs import allowed
from ...numerics.kl import DIVERGENCES, bernoulli_divergence
from ...numerics.selection import argmax
from .stopping import Answering, new_answer, settle

ROOT_TOLERANCE = 1e-14
MOST_STEPS = 100


class Chernoff(Answering):
    """Parameters of these policies, and the rewards they take."""

    epsilon: float = real(default=0.0, least=0)
    delta: float = real(default=0.05, above=0, below=1)
    rewards: Given[Literal["bernoulli", "gaussian"], int] = choice(*DIVERGENCES, default="bernoulli")
    noise: float = scale_bound(default=1.0, above=0)
    threshold: Given[Literal["proven", "heuristic"], int] = choice("proven", "heuristic", default="proven")

    @staticmethod
    def complete(stored: Stored) -> Stored:
        """Means of Bernoulli arms are within 1 of each other, so that there is nothing to ask."""
        if stored["rewards"] == 0 and stored["epsilon"] >= 1.0:
            raise ValueError(
                f"epsilon = {stored['epsilon']:g} is no question to Bernoulli arms, whose means are in [0, 1]: any arm is within 1 of the "
                "best. Give epsilon in [0, 1), or rewards='gaussian' for rewards in another unit."
            )
        return stored

    def reward_range(self):
        return (0.0, 1.0) if self.rewards == 0 else (-math.inf, math.inf)


class ChernoffQuestion(NamedTuple):
    """The same without the policy's class, so that kernels which Python calls are compiled once for all of them."""

    epsilon: float
    delta: float
    rewards: int
    noise: float
    threshold: int


def question_of(policy: Chernoff) -> ChernoffQuestion:
    return ChernoffQuestion(policy.epsilon, policy.delta, policy.rewards, policy.noise, policy.threshold)


def answer_without_data(**more: Any) -> np.ndarray:
    """(1,) ANSWER with the evidence against the challenger (`information`) and what is `required` of it. more: numbers of one's own."""
    return new_answer(information=0.0, required=math.inf, **more)


@lean
def meeting_point(p, n, q, m, epsilon):
    """argmin_x n d(p, x) + m d(q, x + epsilon) of Bernoulli arms, p + epsilon > q: the root of a cubic, by Newton's steps kept between
    the ends at which it changes sign."""
    if epsilon == 0.0:
        return (n * p + m * q) / (n + m)
    low, high = max(q - epsilon, 0.0), min(p, 1.0 - epsilon)
    x = min(max((n * p + m * (q - epsilon)) / (n + m), low), high)
    for _ in range(MOST_STEPS):
        y = x + epsilon
        value = n * (x - p) * y * (1.0 - y) + m * (y - q) * x * (1.0 - x)
        slope = n * (y * (1.0 - y) + (x - p) * (1.0 - 2.0 * y)) + m * (x * (1.0 - x) + (y - q) * (1.0 - 2.0 * x))
        if value > 0.0:
            high = x
        else:
            low = x
        new = x - value / slope if slope > 0.0 else -1.0
        if abs(new - x) <= ROOT_TOLERANCE:
            break
        x = new if low < new < high else 0.5 * (low + high)
    return x


@lean
def transportation_cost(policy, p, n, q, m, epsilon):
    """Z for an arm of mean p after n pulls and a rival of mean q after m; 0 where the rival looks better by epsilon."""
    gap = p - q + epsilon
    if gap <= 0.0:
        return 0.0
    if policy.rewards == 0:
        x = meeting_point(p, n, q, m, epsilon)
        return n * bernoulli_divergence(p, x) + m * bernoulli_divergence(q, x + epsilon)
    return gap * gap * (n / (n + m)) * m / (2.0 * policy.noise * policy.noise)


@lean
def required(policy, n, m, rounds, K):
    """The least Z after n and m pulls of `rounds`. Proven as above; the heuristic is that of Garivier, Kaufmann 2016, section 6."""
    if policy.threshold == 1:
        return math.log(1.0 + math.log(rounds)) - math.log(policy.delta)
    error = math.log(K - 1) - math.log(policy.delta)
    if policy.rewards == 0:
        return error + 0.5 * math.log(16.0 * n * m)
    return (1.0 + 1.0 / min(n, m)) * (error + 0.5 * math.log((1.0 + n) * (1.0 + m)))


@lean
def decide(policy, state):
    """Name the arm of the largest mean; certified once Z exceeds what is required of it for every rival. O(K)."""
    counts, answer = state.counts, state.answer[0]
    K, mean = counts.pulls.shape[0], counts.scores
    for k in range(K):
        mean[k] = counts.sums[k] / counts.pulls[k]
    i = argmax(mean, None)
    challenger, least, checksum = i, math.inf, mean[i]
    answer["information"], answer["required"] = math.inf, 0.0
    for j in range(K):
        if j != i:
            cost = transportation_cost(policy, mean[i], counts.pulls[i], mean[j], counts.pulls[j], policy.epsilon)
            wanted = required(policy, counts.pulls[i], counts.pulls[j], counts.rounds[0], K)
            checksum += mean[j] + cost
            if cost - wanted < least:
                challenger, least = j, cost - wanted
                answer["information"], answer["required"] = cost, wanted
    answer["leader"], answer["challenger"] = i, challenger
    settle(answer, checksum, least > 0.0)


@lean
def hardest_rival(policy, counts, leader, eligible):
    """argmin_j Z_leader,j, the eligible rival that is hardest to tell from an arm; -1 if there is none. O(K).

    Rivals that look better by epsilon all have Z = 0: of them the one that looks best.
    """
    best, least = -1, math.inf
    p, n = counts.sums[leader] / counts.pulls[leader], counts.pulls[leader]
    for j in range(counts.pulls.shape[0]):
        if j != leader and allowed(eligible, j):
            q = counts.sums[j] / counts.pulls[j]
            cost = p - q + policy.epsilon
            if cost > 0.0:
                cost = transportation_cost(policy, p, n, q, counts.pulls[j], policy.epsilon)
            if cost < least or best < 0:
                best, least = j, cost
    return best
