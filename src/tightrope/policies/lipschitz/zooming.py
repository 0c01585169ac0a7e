"""Zooming: activate arms only where the active ones' confidence balls leave a gap.

When to use it: as the known alternative on a continuous interval, when no grid can be chosen in
advance.
Bound: O(T^((d+1)/(d+2)) (ln T)^(1/(d+2))) for zooming dimension d (Kleinberg, Slivkins, Upfal 2008,
Theorem 1.3).
Source: Kleinberg, Slivkins, Upfal 2008, "Multi-armed bandits in metric spaces", Section 1.3.
Deviations: the arms are a grid of points in [0, 1]; the middle of the widest gap is rounded to the
nearest arm, and a gap too narrow to hold one counts as covered; an arm is played when it is
activated (its index is the largest for T >= 5); without a horizon, as in a service, ln n takes the
place of ln T. O(K) a round.
"""

import math
from typing import NamedTuple

import numpy as np

from ...compiled.kernels import jit, lean
from ...core.fields import Derived, Extended, Scratch, real
from ...core.policy import Policy, policy
from ...core.verbs import allowed
from ...numerics.counts import Counts, argmax, count_reward, intervals, means, new_counts, one_hot
from .pooled import line_of, nearest


@policy(
    "line",
    paper="Kleinberg, Slivkins, Upfal 2008",
    examples=({"lipschitz": 1.0},),
    rewards=(0.0, 1.0),
)
class Zooming(Policy):
    """Zooming algorithm on points in [0, 1], rewards in [0, 1].

    Parameters
    ----------
    lipschitz : number in (0, inf)
        L > 0, a bound on |mean difference| / distance.
    """

    lipschitz: float = real(above=0)

    class State(NamedTuple):
        counts: Counts  # an arm is active once it was pulled
        points: Derived  # (K,)
        start: Scratch  # (K,) where the balls of this arm and those to its right begin
        log_horizon: Extended  # (1,) ln T; NaN: unknown

    def init(self, arms):
        points = line_of(arms, "Zooming")
        log_horizon = math.nan if arms.horizon is None else math.log(max(arms.horizon, 2))
        return self.State(
            new_counts(points.size), points, np.zeros(points.size), np.array([log_horizon])
        )

    @jit
    def select(self, state, context, rng):
        arm = arm_to_activate(self, state, context.eligible)
        if arm >= 0:
            return arm
        scores, active = state.counts.scores, False
        for k in range(scores.shape[0]):
            scores[k] = -math.inf
            N = state.counts.pulls[k]
            if N > 0.0:
                scores[k] = state.counts.sums[k] / N + 2.0 * radius(state, k)
                active = active or allowed(context.eligible, k)
        return (
            argmax(scores, context.eligible)
            if active
            else nearest(state.points, 0.5, 0, scores.shape[0], context.eligible)
        )

    @jit
    def update(self, state, context, action, reward):
        count_reward(state.counts, action, reward)
        return state

    def explain(self, state, context, rng):
        chosen = self.select(state, context, rng)
        active = state.counts.pulls > 0
        radii = np.array([radius(state, k) for k in range(active.size)])
        report = intervals(means(state.counts), radii)
        index = np.where(active, report["mean"] + 2 * radii, -np.inf)
        return report | {
            "index": index,
            "active": active,
            "probability": one_hot(chosen, active.size),
        }


@lean
def radius(state, k):
    """sqrt(2 ln T / (N + 1))."""
    log_T = state.log_horizon[0]
    if math.isnan(log_T):
        log_T = math.log(max(2.0, state.counts.rounds[0] + 1.0))
    return math.sqrt(2.0 * log_T / (state.counts.pulls[k] + 1.0))


@lean
def arm_to_activate(policy, state, eligible):
    """The eligible arm nearest to the middle of the widest part of [0, 1] that no ball covers, or
    -1."""
    K, begins = state.points.shape[0], 1.0
    for k in range(K - 1, -1, -1):
        if state.counts.pulls[k] > 0.0:
            begins = min(begins, state.points[k] - radius(state, k) / policy.lipschitz)
        state.start[k] = begins
    reach, widest, middle = 0.0, 0.0, 0.5
    for k in range(K + 1):
        if k == K or state.counts.pulls[k] > 0.0:
            end = 1.0 if k == K else state.start[k]
            if end - reach > widest:
                widest, middle = end - reach, 0.5 * (reach + end)
            if k < K:
                reach = max(reach, state.points[k] + radius(state, k) / policy.lipschitz)
    if widest <= 0.0:
        return -1
    k = nearest(state.points, middle, 0, K, eligible)
    return k if state.counts.pulls[k] == 0.0 else -1
