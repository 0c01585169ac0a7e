"""Policies and problems from outside the package, checked in every round.

Compiled kernels do not check indices: an arm that does not exist would be read and written beyond
the arrays. Kernels of this package are tested with index checks instead; others are wrapped here,
and the loops, which see only verbs, stay as they are.
"""

import math
from typing import NamedTuple

import numpy as np
from numba import types
from numba.extending import overload

from ..compiled.cache import PACKAGES
from ..compiled.kernels import OPTIONS, returns_views
from ..core.policy import Policy, Problem, is_policy
from ..core.verbs import (
    Arms,
    allowed,
    commit,
    event,
    mean,
    observe,
    play,
    regret,
    select,
    stopped,
    update,
)


class BrokenContract(Exception):
    """A policy or problem did something that no loop can go on from: its name, and up to two
    numbers."""


class CheckedPolicy(NamedTuple):
    """A policy whose choices are checked: arms of the problem, eligible, and distinct in a set."""

    policy: "Policy | CheckedPolicy"
    number: int  # K

    def select(self, state, context, rng):
        return check_action(select(self.policy, state, context, rng), context.eligible, self.number)

    def commit(self, state, context, action):
        return commit(self.policy, state, context, action)

    def update(self, state, context, action, reward):
        return update(self.policy, state, context, action, reward)

    def event(self, state, action):
        return event(self.policy, state, action)

    def stopped(self, state):
        return stopped(self.policy, state)


class CheckedProblem(NamedTuple):
    """A problem whose contexts, rewards and regrets are checked: shapes, ranges, finite numbers."""

    problem: Problem
    number: int  # K
    rows: int  # of features
    dimension: int  # d

    def observe(self, t, rng):
        context = observe(self.problem, t, rng)
        check_features(context.features, self.rows, self.dimension)
        check_mask(context.eligible, self.number)
        check_baseline(context.baseline, self.number)
        return context

    def play(self, context, action, rng):
        reward = play(self.problem, context, action, rng)
        check_reward(reward, action)
        return reward

    def mean(self, context, arm):
        return mean(self.problem, context, arm)

    def regret(self, context, action):
        value = regret(self.problem, context, action)
        check_regret(value, action)
        return value


def is_foreign(item: object) -> bool:
    """Whether a policy or problem is defined outside this package."""
    return type(item).__module__.partition(".")[0] not in PACKAGES


def foreign_within(policy: Policy) -> Policy | None:
    """The policy itself, or the first of those inside it, that is defined outside; None where all
    are ours."""
    if is_foreign(policy):
        return policy
    return next(
        (
            foreign
            for item in policy
            if is_policy(item) and (foreign := foreign_within(item)) is not None
        ),
        None,
    )


def checked(
    policy: Policy, problem: Problem, arms: Arms
) -> tuple[Policy | CheckedPolicy, Problem | CheckedProblem]:
    """The policy and problem that the loop should play: themselves, or wrapped where one is from
    outside.

    A problem with a wrong mask would make any policy choose an arm that is none, so its choices are
    checked too. A policy from outside is checked where it stands, inside another one as well, which
    reads arrays at its choice.
    """
    if is_foreign(problem):
        return CheckedPolicy(_checked_within(policy, arms.number), arms.number), CheckedProblem(
            problem, arms.number, arms.rows, arms.dimension
        )
    return _checked_within(policy, arms.number), problem


def _checked_within(policy: Policy, number: int) -> Policy | CheckedPolicy:
    if foreign_within(policy) is None:
        return policy
    wrapped = type(policy)._make(
        _checked_within(item, number) if is_policy(item) else item for item in policy
    )
    return CheckedPolicy(wrapped, number) if is_foreign(policy) else wrapped


def sentence(broken: BrokenContract, policy: Policy, problem: Problem, arms: Arms) -> str:
    what, first, second = broken.args
    mine, its = type(foreign_within(policy) or policy).__name__, type(problem).__name__
    span = f"0 to {arms.number - 1}"
    return {
        "arm": f"{mine}'s select returned arm {first}, but arms are {span} and must be eligible.",
        "kind": f"{mine}'s select must return an arm (int) or, for sets, an array of arms (int).",
        "twice": f"{mine}'s select returned a set that holds arm {first} twice, but the arms of a "
        "set must be distinct.",
        "features": f"{its}'s observe gave features of shape ({first}, {second}), but arms says "
        f"({arms.rows}, {arms.dimension}).",
        "eligible": f"{its}'s observe gave a mask of {first} entries of which {second} are "
        f"eligible, but it needs {arms.number} entries (bool) and at least one eligible arm.",
        "baseline": f"{its}'s observe named baseline {first}, but arms are {span}.",
        "reward": f"{its}'s play returned a reward that is not a finite number for arm {first}.",
        "rewards": f"{its}'s play returned {first} rewards for a set of {second} arms.",
        "regret": f"{its}'s regret is not a finite number for arm {first}.",
    }[what]


# Checks of actions and rewards are written twice: for Python values, and for the types that
# compiled code knows beforehand. --


def check_action(action, eligible, number):
    if isinstance(action, np.ndarray):
        if action.ndim != 1 or action.dtype.kind not in "iu":
            raise BrokenContract("kind", 0, 0)
        for arm in action:
            if arm < 0 or arm >= number or not allowed(eligible, arm):
                raise BrokenContract("arm", int(arm), 0)
        ordered = np.sort(action)
        for i in range(1, ordered.size):
            if ordered[i] == ordered[i - 1]:
                raise BrokenContract("twice", int(ordered[i]), 0)
    elif isinstance(action, bool) or not isinstance(action, int | np.integer):
        raise BrokenContract("kind", 0, 0)
    elif action < 0 or action >= number or not allowed(eligible, action):
        raise BrokenContract("arm", int(action), 0)
    return action


@overload(check_action, jit_options=OPTIONS)
def _check_action(action, eligible, number):
    if (
        isinstance(action, types.Array)
        and action.ndim == 1
        and isinstance(action.dtype, types.Integer)
    ):

        def many(action, eligible, number):
            for i in range(action.shape[0]):
                arm = action[i]
                if arm < 0 or arm >= number or not allowed(eligible, arm):
                    raise BrokenContract("arm", arm, 0)
            ordered = np.sort(action)
            for i in range(1, ordered.shape[0]):
                if ordered[i] == ordered[i - 1]:
                    raise BrokenContract("twice", ordered[i], 0)
            return action

        return many
    if isinstance(action, types.Integer):

        def one(action, eligible, number):
            if action < 0 or action >= number or not allowed(eligible, action):
                raise BrokenContract("arm", action, 0)
            return action

        return one

    def neither(action, eligible, number):
        if number > 0:  # always, but a function that only raises has no type
            raise BrokenContract("kind", 0, 0)
        return 0

    return neither


@returns_views
def check_features(features, rows, dimension):
    if features is None:
        return
    if features.shape != (rows, dimension):
        sizes = (*features.shape, 0, 0)
        raise BrokenContract("features", sizes[0], sizes[1])


@returns_views
def check_mask(eligible, number):
    if eligible is None:
        return
    if eligible.shape != (number,) or not eligible.any():
        raise BrokenContract("eligible", eligible.size, np.count_nonzero(eligible))


@returns_views
def check_baseline(baseline, number):
    if baseline is None:
        return
    if baseline < 0 or baseline >= number:
        raise BrokenContract("baseline", int(baseline), 0)


def check_reward(reward, action):
    if np.ndim(action):
        if (
            np.ndim(reward) != 1 or np.size(reward) > action.size
        ):  # fewer: the others were not looked at
            raise BrokenContract("rewards", np.size(reward), action.size)
        for i in range(np.size(reward)):
            if not math.isfinite(reward[i]):
                raise BrokenContract("reward", int(action[i]), 0)
    elif not math.isfinite(reward):
        raise BrokenContract("reward", int(action), 0)


@overload(check_reward, jit_options=OPTIONS)
def _check_reward(reward, action):
    if isinstance(action, types.Array):

        def many(reward, action):
            if reward.shape[0] > action.shape[0]:
                raise BrokenContract("rewards", reward.shape[0], action.shape[0])
            for i in range(reward.shape[0]):
                if not math.isfinite(reward[i]):
                    raise BrokenContract("reward", action[i], 0)

        return many

    def one(reward, action):
        if not math.isfinite(reward):
            raise BrokenContract("reward", action, 0)

    return one


def check_regret(value, action):
    if not math.isfinite(value):
        raise BrokenContract("regret", int(np.ravel(action)[0]) if np.size(action) else 0, 0)


@overload(check_regret, jit_options=OPTIONS)
def _check_regret(value, action):
    if isinstance(action, types.Array):

        def many(value, action):
            if not math.isfinite(value):
                raise BrokenContract("regret", action[0] if action.shape[0] else 0, 0)

        return many

    def one(value, action):
        if not math.isfinite(value):
            raise BrokenContract("regret", action, 0)

    return one
