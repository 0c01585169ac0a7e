"""GLRRestart: a policy that forgets an arm when its rewards say that its mean has changed.

When to use it: means that stay for long and then jump, in rewards in [0, 1]. Where they move all
the time `forget` of another policy is simpler; where they never do this costs the forced rounds.
Bound: O(K sqrt(changes T ln T)) regret where their number is known, O(changes sqrt(T ln T)) with
the defaults, which know none.
Source: Besson, Kaufmann, Maillard, Seznec 2022, "Efficient change-point detection for tackling
piecewise-stationary bandits" (GLR-klUCB); Besson's thesis, chapter 6, and its code.
Deviations: at most 64 places an arm are looked at; when they are full every second one is left
out, which only lowers the statistic. The inner policy counts all rounds since the last restart of
all arms, where the paper's index counts those since the arm's own.
Per round: the inner policy's cost, and O(64 / test_every).
"""

import math
from typing import Annotated, Literal, NamedTuple

import numpy as np

from ...compiled.kernels import jit, lean
from ...core import types
from ...core.fields import Count, Finite, Given, NonNegative, StateOf, choice, integer, real
from ...core.policy import Policy, inner_policy, label, policy
from ...core.verbs import allowed, explain, grow, init, propensity, select, update
from ...numerics.counts import Counts, bernoulli_divergence, one_hot
from ..bases import Wrapper
from .klucb import KLUCB

CUTS = 64  # places an arm at which its rewards are split in two
UNKNOWN_HORIZON = 10**5


class GLRState(NamedTuple):
    inner: Annotated[types.State, StateOf("inner")]
    rounds: Count  # (1,) rewards
    pulls: Count  # (K, CUTS) of the arm since its restart, at every cut
    sums: NonNegative  # (K, CUTS) of these rewards
    used: Count  # (K,) cuts
    stride: Count  # (K,) rewards from one cut to the next
    restarts: Count  # (K,) of the arm
    limits: Finite  # (2,) delta, and the rounds from one forced play of an arm to the next


@policy("arms", paper="Besson, Kaufmann, Maillard, Seznec 2022", rewards=(0.0, 1.0))
class GLRRestart(Wrapper):
    """A policy that learns by counts, restarted where a likelihood ratio test finds a change.

    Parameters
    ----------
    inner : a policy, default KLUCB(c=0.0, divergence='bernoulli', sigma=1.0)
        Any that learns by the counts and sums of its arms alone.
    delta : number in (0, 1), or None (1 / sqrt(horizon)), default None
        Probability of a false alarm of one arm.
    omega : number in [0, 1], or None (sqrt(ln horizon / horizon)), default None
        Share of rounds in which arms are played in turn, so that changes of all are seen; without
        a horizon that of 100,000 rounds.
    scope : 'arm' or 'all', default 'arm'
        What is restarted: the arm whose mean has changed, or all.
    test_every : whole number from 1 to inf, default 10
        Rewards of an arm from one test to the next.
    split_every : whole number from 1 to inf, default 5
        Rewards of an arm from one place at which a change is looked for to the next.
    """

    inner: Policy = inner_policy(KLUCB())
    delta: Given[float | None, float] = real(
        default=None, above=0, below=1, none="1 / sqrt(horizon)"
    )
    omega: Given[float | None, float] = real(
        default=None, least=0, most=1, none="sqrt(ln horizon / horizon)"
    )
    scope: Given[Literal["arm", "all"], int] = choice("arm", "all", default="arm")
    test_every: int = integer(default=10, least=1)
    split_every: int = integer(default=5, least=1)

    def init(self, arms):
        K, inner = arms.number, init(self.inner, arms)
        if not isinstance(inner, Counts):
            raise ValueError(
                f"inner = {label(self.inner)} learns by more than the counts of its arms, of which "
                "one cannot be restarted; give KLUCB(), UCB() or BetaThompson()."
            )
        T = max(arms.horizon or UNKNOWN_HORIZON, 2)
        delta = 1.0 / math.sqrt(T) if math.isnan(self.delta) else self.delta
        omega = math.sqrt(math.log(T) / T) if math.isnan(self.omega) else self.omega
        between = max(math.floor(K / omega), K) if omega > 0.0 else 0  # 0: none is forced
        return GLRState(
            inner,
            np.zeros(1),
            np.zeros((K, CUTS)),
            np.zeros((K, CUTS)),
            np.zeros(K),
            np.full(K, float(self.split_every)),
            np.zeros(K),
            np.array([delta, between]),
        )

    def reward_range(self):
        return 0.0, 1.0

    @jit
    def select(self, state, context, rng):
        arm = forced_arm(state, context.eligible)
        return arm if arm >= 0 else select(self.inner, state.inner, context, rng)

    @jit
    def update(self, state, context, action, reward):
        inner = update(self.inner, state.inner, context, action, reward)
        state.rounds[0] += 1.0
        n = inner.pulls[action]
        if n % self.test_every == 0.0 and has_changed(state, inner, action):
            for k in range(inner.pulls.shape[0]):
                if k == action or self.scope == 1:
                    inner.pulls[k] = inner.sums[k] = state.used[k] = 0.0
                    state.stride[k] = self.split_every
            state.restarts[action] += 1.0
            if self.scope == 1:
                inner.rounds[0] = 0.0
        elif n % state.stride[action] == 0.0:
            cut(state, inner, action)
        return state

    def propensity(self, state, context, action, rng):
        arm = forced_arm(state, context.eligible)
        if arm >= 0:
            return float(arm == action), 0.0
        return propensity(self.inner, state.inner, context, action, rng)

    def explain(self, state, context, rng):
        report = explain(self.inner, state.inner, context, rng)
        arm = forced_arm(state, context.eligible)
        if arm >= 0:
            report["probability"] = one_hot(arm, state.used.size)
        return report | {"restarts": state.restarts.copy()}

    def grow(self, state, arms):
        fresh, old = self.init(arms), state.used.size
        for name in ("pulls", "sums", "used", "stride", "restarts"):
            getattr(fresh, name)[:old] = getattr(state, name)
        return fresh._replace(inner=grow(self.inner, state.inner, arms), rounds=state.rounds)

    def merge(self, first, second):
        raise ValueError(
            "Two GLRRestart cannot be merged: each looks for changes in the order of its own "
            "rewards. Let one policy learn all of them."
        )


@lean
def forced_arm(state, eligible):
    """The arm whose turn it is in this round, or -1."""
    between = state.limits[1]
    place = int((state.rounds[0] + 1.0) % between) - 1 if between > 0.0 else -1
    K = state.used.shape[0]
    return place if 0 <= place < K and allowed(eligible, place) else -1


@lean
def has_changed(state, inner, arm):
    """Whether the likelihood ratio of one mean for all rewards since the restart, and one before
    and another one after a cut, is above the threshold at some cut."""
    n, total, greatest = inner.pulls[arm], inner.sums[arm], 0.0
    mean = min(total / n, 1.0)
    for i in range(int(state.used[arm])):
        before, part = state.pulls[arm, i], state.sums[arm, i]
        first = min(part / before, 1.0)
        second = min(max((total - part) / (n - before), 0.0), 1.0)
        ratio = before * bernoulli_divergence(first, mean)
        ratio += (n - before) * bernoulli_divergence(second, mean)
        greatest = max(greatest, ratio)
    return greatest >= math.log(3.0 * n * math.sqrt(n) / state.limits[0])


@lean
def cut(state, inner, arm):
    """Note what the arm has had so far; where there is no place left every second cut goes."""
    i = int(state.used[arm])
    if i == CUTS:
        i = CUTS // 2
        for j in range(i):
            state.pulls[arm, j] = state.pulls[arm, 2 * j + 1]
            state.sums[arm, j] = state.sums[arm, 2 * j + 1]
        state.stride[arm] *= 2.0
    if inner.pulls[arm] % state.stride[arm] == 0.0:
        state.pulls[arm, i], state.sums[arm, i] = inner.pulls[arm], inner.sums[arm]
        i += 1
    state.used[arm] = i
