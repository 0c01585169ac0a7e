"""Gaussian Thompson sampling: play each arm as often as it is likely to be the best, its noise
learned from its own rewards.

When to use it: rewards in euros, seconds or any other unit, without a range or a noise to know;
arms may differ in their noise. Feedback may be delayed or batched. For very heavy tails see
RobustUCB, for rewards in [0, 1] BetaThompson.
Bound: regret / ln T -> sum_k gap_k / (ln(1 + gap_k^2 / sigma_k^2) / 2) for Gaussian rewards and
alpha < 0, the lower bound of Burnetas and Katehakis; from alpha = 0 on, which includes Jeffreys'
prior, the regret grows as a power of T.
Source: Honda, Takemura 2014, the prior (sigma^2)^(-1 - alpha), its posterior (Student's
distribution) and the first max(2, 3 - ceil(2 alpha)) rewards of each arm, as in their algorithm.
Deviations: the first rewards are collected in random order, by lot among the arms that lack some
and the arm that the others' draws choose, so that decisions which are made before rewards come are
spread. While all rewards of an arm are equal, its standard deviation is taken to be that of a
reward of an arm at random: at 0 it would never be played again after an unlucky start. forget is no
part of the paper: where weights have faded below the first rewards' number n0, draws are those of
n0 rewards, wider by sqrt(n0 / n).
O(K) a round: one Student draw per arm.
"""

import math

import numpy as np

from ...compiled.kernels import jit, lean
from ...core.fields import real
from ...core.policy import Policy, policy
from ...core.registry import LARGEST_REWARD
from ...core.verbs import allowed
from ...numerics.counts import intervals
from ...numerics.posterior import best_of_students, student_draw
from ...numerics.states import (
    common_deviation,
    longer_moments,
    merged_arm_moments,
    new_moments,
    note_reward,
)


@policy(
    "arms",
    paper="Honda, Takemura 2014",
    examples=(
        {},
        {"alpha": -0.3, "forget": 0.98},
    ),
    rewards=(-LARGEST_REWARD, LARGEST_REWARD),
)
class GaussianThompson(Policy):
    """Thompson sampling for Gaussian rewards of unknown means and variances, in any unit.

    Parameters
    ----------
    alpha : number in [-100, 100], default -1.0
        Of the prior (sigma^2)^(-1 - alpha), < 0 for the bound; -1 is uniform in the variance, 0 the
        reference prior, 1/2 Jeffreys'.
    forget : number in (0, 1], default 1.0
        What a reward's weight is multiplied by each round, in (0, 1], where means drift; 1: all
        count the same for ever.
    """

    alpha: float = real(default=-1.0, least=-100, most=100)
    forget: float = real(default=1.0, above=0, most=1)

    def init(self, arms):
        return new_moments(arms.number)

    @jit
    def select(self, state, context, rng):
        wanted = first_rewards(self)
        arm = random_fresh_arm(state, wanted, context.eligible, rng)
        if arm >= 0:
            return arm
        best, top, common = -1, -math.inf, -1.0
        for k in range(state.pulls.shape[0]):
            if allowed(context.eligible, k) and not is_fresh(state, wanted, None, k):
                if state.spread[k] == 0.0 and common < 0.0:
                    common = common_deviation(state)
                draw = state.mean[k] + posterior_scale(self, state, k, common) * student_draw(
                    freedom(self, state, k), rng
                )
                if best < 0 or draw > top:
                    best, top = k, draw
        return best

    @jit
    def update(self, state, context, action, reward):
        note_reward(state, action, reward, self.forget)
        return state

    def grow(self, state, arms):
        return longer_moments(state, arms.number)

    def merge(self, first, second):
        return merged_arm_moments(first, second, self.forget)

    def propensity(self, state, context, action, rng):
        return float(chances(self, state, context.eligible)[action]), 0.0

    def explain(self, state, context, rng):
        from scipy.stats import t

        known, shape, scale = posterior(self, state)
        mean = np.where(state.taken > 0, state.origin[0] + state.mean, np.nan)
        half = np.where(known, scale * t.ppf(0.975, shape), np.inf)
        index, probability = np.where(known, mean, np.inf), chances(self, state, context.eligible)
        return intervals(mean, half) | {"index": index, "probability": probability}


@lean
def first_rewards(policy):
    """n0, the rewards of an arm before its posterior is drawn from."""
    return max(2.0, 3.0 - math.ceil(2.0 * policy.alpha))


@lean
def is_fresh(state, wanted, eligible, arm):
    return allowed(eligible, arm) and (state.taken[arm] < wanted or state.pulls[arm] == 0.0)


@lean
def random_fresh_arm(state, wanted, eligible, rng):
    """One of the eligible arms that lack rewards, each as likely as the others, or -1: none does,
    or the lot fell on the others. O(K)."""
    number, others = 0, 0
    for k in range(state.pulls.shape[0]):
        if is_fresh(state, wanted, eligible, k):
            number += 1
        elif allowed(eligible, k):
            others = 1
    if number == 0:
        return -1
    skip = int(rng.random() * (number + others)) if number + others > 1 else 0
    for k in range(state.pulls.shape[0]):
        if is_fresh(state, wanted, eligible, k):
            if skip == 0:
                return k
            skip -= 1
    return -1


@lean
def freedom(policy, state, arm):
    """Degrees of freedom of an arm's posterior, n + 2 alpha - 1."""
    return max(state.pulls[arm], first_rewards(policy)) + 2.0 * policy.alpha - 1.0


@lean
def posterior_scale(policy, state, arm, common):
    """sqrt(S / (n (n + 2 alpha - 1))), S the sum of squared deviations. common: deviation of an arm
    whose rewards are all equal."""
    n, spread = state.pulls[arm], state.spread[arm]
    deviation = spread / math.sqrt(n) if spread > 0.0 else common
    wanted = max(n, first_rewards(policy))
    return deviation * math.sqrt(wanted / n) / math.sqrt(freedom(policy, state, arm))


def posterior(policy: GaussianThompson, state):
    """(K,) whether there is one, its degrees of freedom and its scale."""
    wanted, common, K = first_rewards(policy), common_deviation(state), state.pulls.size
    known = np.array([not is_fresh(state, wanted, None, k) for k in range(K)])
    shape = np.array([freedom(policy, state, k) for k in range(K)])
    scale = np.array(
        [posterior_scale(policy, state, k, common) if known[k] else math.inf for k in range(K)]
    )
    return known, shape, scale


def chances(policy: GaussianThompson, state, eligible: np.ndarray | None) -> np.ndarray:
    known, shape, scale = posterior(policy, state)
    open_ = np.ones(known.size, dtype=np.bool_) if eligible is None else eligible
    fresh, others = open_ & ~known, open_ & known
    drawn = (
        best_of_students(state.mean, scale, shape, others) if others.any() else np.zeros(known.size)
    )
    return (fresh + drawn) / (fresh.sum() + others.any())
