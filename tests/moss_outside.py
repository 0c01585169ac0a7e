"""A stranger's policy: MOSS, with nothing but the public interface."""

import math
from typing import NamedTuple

import numpy as np

from tightrope.extend import Arms, Context, Count, Policy, RewardSum, allowed, jit, policy, real


@policy("arms", paper="Audibert, Bubeck 2009")
class OutsideMOSS(Policy):
    """mean + sqrt(max(0, ln(T / (K pulls))) / pulls). horizon: T."""

    horizon: float = real(default=1000.0, above=0)

    class State(NamedTuple):
        pulls: Count  # (K,)
        sums: RewardSum  # (K,)

    def init(self, arms: Arms) -> State:
        return self.State(np.zeros(arms.number), np.zeros(arms.number))

    @jit
    def select(self, state: State, context: Context, rng: np.random.Generator) -> int:
        best, top, K = -1, -math.inf, state.pulls.shape[0]
        for k in range(K):
            n = max(state.pulls[k], 1e-9)
            index = state.sums[k] / n + math.sqrt(max(0.0, math.log(self.horizon / (K * n))) / n)
            if allowed(context.eligible, k) and index > top:
                best, top = k, index
        return best

    @jit
    def update(self, state: State, context: Context, action: int, reward: float) -> State:
        state.pulls[action] += 1.0
        state.sums[action] += reward
        return state
