"""Policies from outside the package, whose every choice is checked.

Compiled kernels do not check indices: an arm that does not exist would be read and written beyond
the arrays. Kernels of this package are tested with index checks instead; others are wrapped here,
and the loops, which see only verbs, stay as they are. What else may be wrong with a class of one's
own is found by `tightrope.testing`.
"""

from typing import NamedTuple

import numpy as np
from numba import types
from numba.extending import overload

from ..compiled.cache import PACKAGES
from ..compiled.kernels import OPTIONS
from ..core.policy import Policy, Problem, is_policy
from ..core.verbs import Arms, allowed, commit, event, select, stopped, update
from .monitors import whole


class WrongAction(Exception):
    """A policy chose what it may not, or a problem paid what it may not: what is wrong, and a
    number."""


class CheckedPolicy(NamedTuple):
    """A policy whose choices are checked: arms of the problem, eligible, and distinct in a set; and
    what it is paid for them: no more rewards than arms, finite numbers."""

    policy: "Policy | CheckedPolicy"
    number: int  # K

    def select(self, state, context, rng):
        return check_action(select(self.policy, state, context, rng), context.eligible, self.number)

    def commit(self, state, context, action):
        return commit(self.policy, state, context, action)

    def update(self, state, context, action, reward):
        if np.size(reward) > np.size(action) or not np.isfinite(whole(reward)):
            raise WrongAction("rewards", np.size(reward))
        return update(self.policy, state, context, action, reward)

    def event(self, state, action):
        return event(self.policy, state, action)

    def stopped(self, state):
        return stopped(self.policy, state)


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


def checked(policy: Policy, problem: Problem, number: int) -> Policy | CheckedPolicy:
    """The policy that the loop should play: itself, or wrapped where it, one inside it or the
    problem is from outside.

    A problem with a wrong mask would make any policy choose an arm that is none. A policy from
    outside is checked where it stands, inside another one as well, which reads arrays at its
    choice.
    """
    within = _checked_within(policy, number)
    return CheckedPolicy(within, number) if is_foreign(problem) else within


def _checked_within(policy: Policy, number: int) -> Policy | CheckedPolicy:
    wrapped = type(policy)._make(
        _checked_within(item, number) if is_policy(item) else item for item in policy
    )
    return CheckedPolicy(wrapped, number) if is_foreign(policy) else wrapped


def sentence(wrong: WrongAction, policy: Policy, problem: Problem, arms: Arms) -> str:
    what, arm = wrong.args
    returned = f"{type(foreign_within(policy) or policy).__name__}'s select"
    return {
        "arm": f"{returned} returned arm {arm}, but arms are 0 to {arms.number - 1} and must be "
        "eligible.",
        "kind": f"{returned} must return an arm (int) or, for sets, an array of arms (int).",
        "twice": f"{returned} returned a set that holds arm {arm} twice, but the arms of a set "
        "must be distinct.",
        "rewards": f"{type(problem).__name__}'s play returned {arm} rewards; they must be finite "
        "numbers, and no more than arms were played.",
    }[what]


# Written twice: for Python values, and for the types that compiled code knows beforehand.


def check_action(action, eligible, number):
    if isinstance(action, np.ndarray):
        if action.ndim != 1 or action.dtype.kind not in "iu":
            raise WrongAction("kind", 0)
        for arm in action:
            if arm < 0 or arm >= number or not allowed(eligible, arm):
                raise WrongAction("arm", int(arm))
        ordered = np.sort(action)
        for i in range(1, ordered.size):
            if ordered[i] == ordered[i - 1]:
                raise WrongAction("twice", int(ordered[i]))
    elif isinstance(action, bool) or not isinstance(action, int | np.integer):
        raise WrongAction("kind", 0)
    elif action < 0 or action >= number or not allowed(eligible, action):
        raise WrongAction("arm", int(action))
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
                    raise WrongAction("arm", arm)
            ordered = np.sort(action)
            for i in range(1, ordered.shape[0]):
                if ordered[i] == ordered[i - 1]:
                    raise WrongAction("twice", ordered[i])
            return action

        return many
    if isinstance(action, types.Integer):

        def one(action, eligible, number):
            if action < 0 or action >= number or not allowed(eligible, action):
                raise WrongAction("arm", action)
            return action

        return one

    def neither(action, eligible, number):
        if number > 0:  # always, but a function that only raises has no type
            raise WrongAction("kind", 0)
        return 0

    return neither
