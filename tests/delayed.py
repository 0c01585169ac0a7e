"""A loop in which rewards come late: what the guarantee with open decisions is tested by."""

from typing import NamedTuple

import numba
import numpy as np
from numba import types
from numba.extending import overload

from tightrope.rng import NOISE, POLICY, PROBLEM, stream
from tightrope.verbs import Context, arms, commit, init, mean, observe, play, private, regret, select, update

AT_ONCE, FIXED, GEOMETRIC, BATCHED, BY_REWARD = range(5)
ROLE = 9  # of the delays' own random stream


class Delay(NamedTuple):
    """Rounds between a decision and its reward: first, or by reward above 1/2 first and else second."""

    kind: int = AT_ONCE
    first: int = 0
    second: int = 0


class Outcome(NamedTuple):
    regret: float
    lowest: float  # true budget over the rounds that are verified
    broken: int  # verified rounds with a negative budget
    awaited: int  # open decisions at the end
    explored: int  # rounds of another arm than the baseline


@numba.njit(nogil=True, error_model="numpy")
def rounds_late(delay, t, reward, rng):
    if delay.kind == FIXED:
        return delay.first
    if delay.kind == GEOMETRIC:
        return rng.geometric(1.0 / (1.0 + delay.first)) - 1
    if delay.kind == BATCHED:
        return delay.first - 1 - t % delay.first
    if delay.kind == BY_REWARD:
        return delay.first if reward > 0.5 else delay.second
    return 0


def keep(shown, baseline, known, t, context):
    """Remember what a round showed, where that is written over by the next."""


def kept(shown, baseline, known, t, context):
    """The context of round t."""


def shows_nothing(context):
    return isinstance(context.types[0], types.NoneType)


@overload(keep)
def _keep(shown, baseline, known, t, context):
    if shows_nothing(context):
        return lambda shown, baseline, known, t, context: None

    def all_of_it(shown, baseline, known, t, context):
        shown[t], baseline[t], known[t] = context.features, context.baseline, context.baseline_mean

    return all_of_it


@overload(kept)
def _kept(shown, baseline, known, t, context):
    if shows_nothing(context):
        return lambda shown, baseline, known, t, context: context
    return lambda shown, baseline, known, t, context: Context(shown[t], None, baseline[t], known[t])


@numba.njit(nogil=True, error_model="numpy")
def play_late(policy, state, problem, shown, named, delay, horizon, alpha, period, rngs):
    """Rounds 0 .. horizon - 1; a reward of round t that is d rounds late is taken in before the choice of round t + 1 + d."""
    arm, rewards, following = np.zeros(horizon, dtype=np.int64), np.zeros(horizon), np.full(horizon, -1)
    baseline, known = np.full(horizon, named), np.zeros(horizon)
    first, last = np.full(horizon + 1, -1), np.full(horizon + 1, -1)  # per round: decisions whose reward is due, in their order
    total, budget, lowest, broken, awaited, explored = 0.0, 0.0, np.inf, 0, 0, 0
    for t in range(horizon):
        context = observe(problem, t, rngs[0])
        due = first[t]
        while due >= 0:
            state = update(policy, state, kept(shown, baseline, known, due, context), arm[due], rewards[due])
            awaited -= 1
            due = following[due]
        keep(shown, baseline, known, t, context)
        action = select(policy, state, context, rngs[2])
        state = commit(policy, state, context, action)
        arm[t], awaited = action, awaited + 1
        rewards[t] = play(problem, context, action, rngs[1])
        total += regret(problem, context, action)
        explored += action != baseline[t]
        budget += mean(problem, context, action) - (1.0 - alpha) * mean(problem, context, baseline[t])
        if (t + 1) % period == 0:
            lowest = min(lowest, budget)
            broken += budget < -1e-6
        when = t + 1 + rounds_late(delay, t, rewards[t], rngs[3])
        if when < horizon:
            if first[when] < 0:
                first[when] = t
            else:
                following[last[when]] = t
            last[when] = t
    return total, lowest, broken, awaited, explored


def run_late(policy, problem, delay, *, horizon, alpha, baseline=-1, period=1, seed=0, replication=0):
    """One run; baseline: the arm the budget is held against, -1: every round's own; period: it is verified every so many rounds."""
    described = arms(problem)._replace(horizon=horizon)
    changes = described.dimension > 0 and described.features is None
    shown = np.zeros((horizon, described.number, described.dimension) if changes else (0, 0, 0))
    rngs = tuple(stream(seed, replication, role) for role in (PROBLEM, NOISE, POLICY, ROLE))
    return Outcome(*play_late(policy, init(policy, described), private(problem), shown, baseline, delay, horizon, alpha, period, rngs))
