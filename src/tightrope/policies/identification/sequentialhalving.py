"""SequentialHalving: the best of a few plain arms after a fixed number of samples, half of the arms
less in every round.

When to use it: a number of samples that is given, and no need of a certificate. plan="rejects"
drops one arm at a time and errs less where one arm is clearly ahead of many.
Guarantee: for rewards in [0, 1] and pool=False the named arm is wrong with probability at most
3 log2(K) exp(-T / (8 H2 log2 K)), T the budget and H2 = max_i i / gap_i^2 with gaps in increasing
order (Theorem 4.1); with plan="rejects" at most K (K - 1) / 2 exp(-(T - K) / (logbar K H2))
(Audibert, Bubeck, Munos 2010, Theorem 2). Nothing is certified.
Source: Karnin, Koren, Somekh 2013, Algorithm 1; Audibert, Bubeck, Munos 2010, Figure 3 (rejects).
Deviations: pool=True compares arms by all of their samples, which the theorem does not know and
which errs less; samples that rounding leaves over go to the last two arms. A round ends when all
rewards that it needs are in.
O(K) a round.
"""

import math
from typing import NamedTuple

import numpy as np

from ...compiled.kernels import jit, lean
from ...core.fields import Count, Derived, Finite, Flag, Given, RewardSum, choice, flag, integer
from ...core.policy import policy
from ...numerics.counts import one_hot
from .stopping import Answer, Planned, new_answer, refuse_broken, report


class HalvingState(NamedTuple):
    sums: RewardSum  # (K,) of all rewards
    pulls: Count  # (K,) rewards
    round_sums: Finite  # (K,) of the rewards of this round
    round_pulls: Count  # (K,)
    plays: Count  # (K,) decisions of this round, with those that wait for their reward
    survivors: Flag  # (K,) bool
    # (rounds,) samples of each arm by the end of a round: of the round's own, or (rejects) in all
    needed: Derived
    answer: Answer  # (1,) with `rounds`, rewards so far, and `round`


@policy(
    "arms",
    paper="Karnin, Koren, Somekh 2013; Audibert, Bubeck, Munos 2010",
    stops="plan",
    examples=({"budget": 200}, {"budget": 200, "plan": "rejects"}, {"budget": 200, "pool": False}),
)
class SequentialHalving(Planned):
    """Sample all arms that are left equally often, drop the worse half, and go on until the budget
    is used up.

    Parameters
    ----------
    budget : whole number from 1 to 9007199254740992
        T, samples of all arms together; at least K ceil(log2 K).
    plan : 'halving' or 'rejects', default 'halving'
        Drop the worse half at the end of a round, or one arm.
    pool : True or False, default True
        Whether halving compares arms by all of their samples, or by those of the round.
    """

    budget: int = integer(least=1, most=2**53)  # beyond it a float cannot count
    plan: Given[str, int] = choice("halving", "rejects", default="halving")
    pool: bool = flag(default=True)

    def init(self, arms):
        K, T = arms.number, self.budget
        least = K * max(math.ceil(math.log2(K)), 1)
        if least > T:
            raise ValueError(
                f"budget = {T} is too small for {K} arms; SequentialHalving needs at least {least} "
                "samples."
            )
        return HalvingState(
            *np.zeros((5, K)),
            np.ones(K, dtype=np.bool_),
            lengths(K, T, self.plan == 1),
            new_answer(rounds=0.0, round=0.0),
        )

    @jit
    def select(self, state, context, rng):
        arm = -1
        for k in range(state.plays.shape[0]):
            if state.survivors[k] and (arm < 0 or state.plays[k] < state.plays[arm]):
                arm = k
        return arm

    @jit
    def update(self, state, context, action, reward):
        take(self, state, action, reward)
        return state

    def admit(self, state, context):
        refuse_broken(state)
        if context.eligible is not None and not context.eligible.all():
            raise ValueError(
                "eligible leaves out arms, but SequentialHalving samples all that are left equally "
                "often."
            )

    def evidence(self, state):
        left = max(float(self.budget - state.answer[0]["rounds"]), 0.0)
        error = theorem(state, self.budget, self.plan == 1) if state.pulls.all() else 1.0
        return {"gap_bound": math.inf, "error": error, "samples_remaining": left}

    def explain(self, state, context, rng):
        known, pulls = bool(state.pulls.all()), np.maximum(state.pulls, 1.0)
        chance = one_hot(self.select(state, context, rng), pulls.size)
        own = report(
            state.sums / pulls, 1.0, 1.0 / pulls, state.survivors.astype(np.float64), chance, known
        )
        return own | self.evidence(state) | {"leader": int(state.answer[0]["leader"])}


def lengths(K: int, T: int, rejects: bool) -> np.ndarray:
    """(rounds,) samples of every arm that is left: in the round, or in all rounds up to its end
    where arms are rejected one by one."""
    if rejects:
        harmonic = 0.5 + sum(1.0 / i for i in range(2, K + 1))  # logbar K
        return np.array(
            [math.ceil((T - K) / (harmonic * (K + 1 - k))) for k in range(1, K)], dtype=np.float64
        )
    rounds = math.ceil(math.log2(K))
    return np.array([float(T // (math.ceil(K / 2**r) * rounds)) for r in range(rounds)])


def theorem(state: HalvingState, T: int, rejects: bool) -> float:
    """The bound on the probability that the named arm is wrong, at the gaps as they are estimated;
    at most 1."""
    means = state.sums / state.pulls
    gaps = np.sort(means.max() - means)[1:]
    K, hardness = (
        means.size,
        float((np.arange(2, means.size + 1) / np.maximum(gaps, 1e-12) ** 2).max()),
    )
    if rejects:
        harmonic = 0.5 + sum(1.0 / i for i in range(2, K + 1))
        return min(K * (K - 1) / 2 * math.exp(-(T - K) / (harmonic * hardness)), 1.0)
    return min(3.0 * math.log2(K) * math.exp(-T / (8.0 * hardness * math.log2(K))), 1.0)


@lean
def take(policy, state, action, reward):
    """One reward, and the end of the round or of the budget where it is the last."""
    answer = state.answer[0]
    state.sums[action] += reward
    state.pulls[action] += 1.0
    state.round_sums[action] += reward
    state.round_pulls[action] += 1.0
    answer["rounds"] += 1.0
    pooled = policy.pool or policy.plan == 1
    answer["leader"] = extreme(state, pooled, True)
    answer["certified"] = answer["rounds"] >= policy.budget
    while int(answer["round"]) < state.needed.shape[0] - 1 and full(state, policy.plan == 1):
        left = int(state.survivors.sum())
        for _ in range(1 if policy.plan == 1 else left // 2):
            state.survivors[extreme(state, pooled, False)] = False
        answer["round"] += 1.0
        for k in range(state.plays.shape[0]):
            state.round_sums[k], state.round_pulls[k], state.plays[k] = 0.0, 0.0, 0.0
    answer["broken"] = not math.isfinite(state.sums[action])


@lean
def full(state, rejects):
    needed = state.needed[int(state.answer[0]["round"])]
    for k in range(state.survivors.shape[0]):
        if state.survivors[k] and (state.pulls[k] if rejects else state.round_pulls[k]) < needed:
            return False
    return True


@lean
def extreme(state, pooled, best):
    """The best or the worst arm that is left, by its mean: of equals the first or the last. The
    leader where no arm has a mean yet."""
    found, value = -1, 0.0
    for k in range(state.survivors.shape[0]):
        pulls = state.pulls[k] if pooled else state.round_pulls[k]
        if state.survivors[k] and pulls > 0.0:
            mean = (state.sums[k] if pooled else state.round_sums[k]) / pulls
            if found < 0 or (mean > value if best else mean <= value):
                found, value = k, mean
    return found if found >= 0 else state.answer[0]["leader"]
