"""The two loops, written once for every policy, problem and monitor. Compiled by default; `python_of` gives the interpreted twin."""

from typing import NamedTuple

import numpy as np

from ..compiled.kernels import PART, jit
from ..compiled.parts import shared_overload
from ..core.verbs import commit, observe, play, regret, select, stopped, update, watch
from .pending_rewards import deliver, send


class RunLog(NamedTuple):
    """The record of a replication."""

    rounds: np.ndarray  # (n,) checkpoints, increasing
    regret: np.ndarray  # (n,) cumulative pseudo-regret at each
    total: np.ndarray  # (1,) cumulative pseudo-regret so far
    row: np.ndarray  # (1,) next checkpoint
    pulls: np.ndarray  # (K,) how often each arm was played


def new_log(rounds: np.ndarray, n_arms: int) -> RunLog:
    """Empty log for the given checkpoints."""
    return RunLog(rounds, np.zeros(rounds.size), np.zeros(1), np.zeros(1, dtype=np.int64), np.zeros(n_arms))


def note(pulls, action):
    """Count the arm, or the arms of a set, that were played."""
    if np.ndim(action):
        for arm in action:
            pulls[arm] += 1.0
    else:
        pulls[action] += 1.0


@shared_overload(note, PART, inline="always")
def _note(pulls, action):
    if hasattr(action, "dtype"):

        def many(pulls, action):
            for i in range(action.shape[0]):
                pulls[action[i]] += 1.0

        return many

    def one(pulls, action):
        pulls[action] += 1.0

    return one


def rewarded_arms(action, reward):
    """The arms whose rewards are known: all that were played, or the first of a set whose others were not looked at."""
    return action[: len(reward)] if np.ndim(action) else action


@shared_overload(rewarded_arms, PART, inline="always")
def _rewarded_arms(action, reward):
    if hasattr(action, "dtype"):
        return lambda action, reward: action[: len(reward)]
    return lambda action, reward: action


@jit
def fixed_horizon(policy, state, problem, pending, monitor, tally, log, first, last, problem_rng, noise_rng, policy_rng, delay_rng):
    """Play rounds first .. last - 1 and return the state. Splitting a run into several calls changes nothing."""
    total, row = log.total[0], log.row[0]
    for t in range(first, last):
        state = deliver(pending, policy, state, t)
        context = observe(problem, t, problem_rng)
        action = select(policy, state, context, policy_rng)
        state = commit(policy, state, context, action)
        reward = play(problem, context, action, noise_rng)
        total += regret(problem, context, action)
        note(log.pulls, action)
        checkpoint = -1
        if row < log.rounds.shape[0] and t + 1 == log.rounds[row]:
            log.regret[row] = total
            checkpoint = row
            row += 1
        watch(monitor, tally, policy, state, problem, context, action, t, checkpoint)
        state = send(pending, policy, state, context, rewarded_arms(action, reward), reward, t, delay_rng)
    log.total[0], log.row[0] = total, row
    return state


@jit
def until_stop(policy, state, problem, log, first, last, may_stop, problem_rng, noise_rng, policy_rng):
    """Play rounds first .. last - 1, or fewer if the policy may stop and has its answer; return the state and the rounds played so far."""
    t = first
    while t < last and not (may_stop and stopped(policy, state)):
        context = observe(problem, t, problem_rng)
        action = select(policy, state, context, policy_rng)
        state = commit(policy, state, context, action)
        reward = play(problem, context, action, noise_rng)
        note(log.pulls, action)
        state = update(policy, state, context, rewarded_arms(action, reward), reward)
        t += 1
    return state, t
