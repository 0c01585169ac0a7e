"""The base of policies that pool evidence: parameters, the level f(n), forced exploration, what they answer."""

import math
from typing import Literal, NamedTuple

import numpy as np

from ...compiled.kernels import jit, lean
from ...core.fields import choice, real
from ...core.policy import Policy
from ...core.types import Explanation, Given, State
from ...core.verbs import Context, select
from ...numerics.kl import DIVERGENCES, exploration
from ...numerics.selection import argmax, one_hot
from .indices import evidence, index, new_level
from .pool import Pool, first_below, learn, new_pool
from .rates import Rates, new_rates, solve_rates


class Pooled(Policy):
    """Parameters of every policy that pools evidence, and its range of rewards: [0, 1] for Bernoulli divergences, else any.

    lipschitz: L > 0, a bound on |mean difference| / distance. loglog: weight of ln ln n in f(n), or "theory" for 3K + 1.
    divergence: "bernoulli" (rewards in [0, 1]) or "gaussian" with standard deviation sigma.
    """

    lipschitz: float = real(above=0)
    loglog: Given[float | Literal["theory"], float] = real(default=0.0, words=("theory",), least=0)
    divergence: Given[Literal["bernoulli", "gaussian"], int] = choice(*DIVERGENCES, default="bernoulli")
    sigma: float = real(default=1.0, above=0)

    def reward_range(self):
        return (0.0, 1.0) if self.divergence == 0 else (-math.inf, math.inf)


class PoolAndRates(NamedTuple):
    """State of the policies that also solve the lower bound's program."""

    pool: Pool
    rates: Rates


class PooledWithRates(Pooled):
    """A policy that pools evidence and solves the lower bound's program."""

    def init(self, arms):
        """Nothing pulled, nothing solved. O(K^2 log K)."""
        return PoolAndRates(new_pool(arms.distances, self.lipschitz), new_rates(arms.number))

    @jit
    def update(self, state, context, action, reward):
        learn(state.pool, self.divergence, action, reward)
        return state

    def explain(self, state, context, rng):
        solved = int(state.rates.solves[0])  # before the select inside, which may solve one more
        return explanation(self, state, state.pool, context, rng) | {"programs_solved": solved}


@lean
def evidence_level(policy, pool):
    """f(n) = ln n + loglog ln ln n: how much evidence rules an arm out in round n."""
    weight = policy.loglog if policy.loglog >= 0.0 else 3.0 * pool.pulls.shape[0] + 1.0
    return exploration(pool.rounds[0] + 1.0, weight)


@lean
def must_play(pool, forced, eligible):
    """An eligible arm that was never pulled, or, if exploration is forced, has fewer than ln ln n pulls; or -1."""
    arm = first_below(pool, 1.0, eligible)
    n = pool.rounds[0] + 1.0
    if arm < 0 and forced and n > 2.0:
        arm = first_below(pool, math.log(math.log(n)), eligible)
    return arm


def explanation(policy: Pooled, state: State, pool: Pool, context: Context, rng: np.random.Generator) -> Explanation:
    bounds = report(pool, policy.divergence, policy.sigma, evidence_level(policy, pool), context.eligible)
    return bounds | {"probability": one_hot(select(policy, state, context, rng), pool.pulls.size)}


def report(pool: Pool, kind: int, sigma: float, f: float, eligible: np.ndarray | None) -> Explanation:
    """Means, indices and bounds per arm, the leader, and the lower bound at the empirical means."""
    K, pulled = pool.pulls.size, pool.pulls > 0
    upper = np.array([index(pool, kind, sigma, k, f) for k in range(K)])
    mirrored = pool._replace(sums=(pool.pulls if kind == 0 else 0.0) - pool.sums, warm=np.zeros(K))
    mirrored = mirrored._replace(mean=np.where(pulled, mirrored.sums / np.maximum(pool.pulls, 1.0), 0.0))
    mirrored = mirrored._replace(low=np.array([mirrored.mean[pulled].min(initial=np.inf)]))
    lower = (1.0 if kind == 0 else 0.0) - np.array([index(mirrored, kind, sigma, k, f) for k in range(K)])
    leader = argmax(pool.mean, eligible)
    new_level(pool)
    against = np.array([evidence(pool, kind, sigma, k, upper[leader], np.inf) for k in range(K)])
    rates = new_rates(K)
    solve_rates(rates, pool, kind, sigma, leader, f, eligible)
    mean = np.where(pulled, pool.mean, np.nan)
    return {
        "mean": mean, "width": upper - mean, "lower": lower, "upper": upper, "index": upper, "leader": int(leader),
        "divergence": against, "rates": rates.c, "lower_bound": float(rates.c @ rates.gaps),
    }  # fmt: skip
