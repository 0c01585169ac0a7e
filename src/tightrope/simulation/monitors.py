"""Monitors: what a run records besides regret and pulls. A monitor answers the verbs `begin` and
`watch`. And what a run refuses to let a policy from outside do."""

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numba import types
from numba.extending import overload
from numpy.typing import ArrayLike

from ..compiled.cache import PACKAGES
from ..compiled.kernels import OPTIONS, PART, lean, shared_overload
from ..core import checks
from ..core.fields import Given, Stored, checkpoints, document, opened, real, unchecked
from ..core.policy import Monitor, Policy, Problem, is_policy, monitor
from ..core.verbs import (
    Arms,
    allowed,
    commit,
    event,
    mean,
    metric_mean,
    select,
    stopped,
    update,
    value_or,
)
from ..numerics.counts import is_checkpoint
from ..policies.conservative.promises import (
    Promise,
    line_of,
    metric_of,
    promises_given,
    sense_of,
)

# that the verb `event` tells apart: the learner's first choice, another safe arm, the baseline, no
# arm safe
EVENTS = 4
BASELINE = 2
TOLERANCE = 1e-6  # how far rounding may carry the budget below zero


@monitor
class NoMonitor(Monitor):
    """Records nothing and costs nothing."""

    def begin(self, arms, n_checkpoints):
        return NoTally(np.zeros(0))

    # plain Python: interpreted loops pass states that no compiled function takes
    def watch(self, tally, policy, state, problem, context, action, t, checkpoint):
        pass


class NoTally(NamedTuple):
    unused: np.ndarray  # (0,)


@monitor
class SetValue(Monitor):
    """Records the expected reward of the sets played, added up to each checkpoint:
    watched[name]["value"], (replications, n)."""

    def begin(self, arms, n_checkpoints):
        return SetTally(np.zeros(n_checkpoints), np.zeros(1))

    def watch(self, tally, policy, state, problem, context, action, t, checkpoint):
        tally.total[0] += np.sum(mean(problem, context, action))
        if checkpoint >= 0:
            tally.value[checkpoint] = tally.total[0]


class SetTally(NamedTuple):
    value: np.ndarray  # (n,) cumulative expected reward
    total: np.ndarray  # (1,) so far


@monitor
class Budget(Monitor):
    """Records the true budget B(t) = sum_{i <= t} mu_{a_i} - (1 - alpha) mu_{b_i} of any policy,
    conservative or not, or that of every one of several promises.

    Rounds count when they are decided, whenever their rewards come; a set counts with the total
    mean of its arms. watched[name] holds budget (replications, n) at the checkpoints of the result,
    lowest (replications, 1) over all rounds, minimum and violations (replications, 1) over the
    rounds that are verified (violation: B < -1e-6), and events (replications, n, 4): how many
    rounds so far were the learner's first choice, another safe arm, the baseline, and an arm that
    was not safe because none was and the baseline could not be played. Of P promises budget is
    (replications, n, P), and lowest, minimum and violations have an entry for each.

    Parameters
    ----------
    baseline : int or int array
        Its arm, or the arms of a baseline set; None: every round names it in its Context.
    alpha : float in (0, 1)
        Level of the constraint.
    promises : list of Promise or None
        In place of alpha: `policy.promises` of a `Safe`, or others.
    checkpoint : int >= 1 or increasing ints
        B must not be negative after every T-th round, or after these rounds.

    References
    ----------
    Garcelon, Ghavamzadeh, Lazaric, Pirotta 2020, Eq 2.
    """

    baseline: Given[ArrayLike | None, int | np.ndarray] = unchecked(
        default=None, kept=True
    )  # -1: every round names it
    alpha: float = real(default=0.05, above=0, below=1)
    checkpoint: Given[int | Iterable[int], np.ndarray] = checkpoints(default=1)
    promises: Given[object, np.ndarray] = document(
        None,
        "a list of promises",
        lambda name, value: None if value is None else promises_given(name, value),
        list | None,
    )

    @staticmethod
    def complete(stored: Stored) -> Stored:
        arms = stored["baseline"]
        if arms is None:
            return stored | {"baseline": -1}
        several = isinstance(arms, list | tuple | np.ndarray)
        return stored | {
            "baseline": checks.arm_set("baseline", arms)
            if several
            else checks.integer("baseline", arms, least=0)
        }

    def begin(self, arms, n_checkpoints):
        last = int(np.max(self.baseline))
        if last >= arms.number:
            raise ValueError(
                f"baseline = {last} is not an arm; the arms are 0 to {arms.number - 1}."
            )
        lines = lines_of(opened(self.promises) or [{"alpha": self.alpha}], arms.metrics)
        P = len(lines)
        return BudgetTally(
            budget=np.zeros(n_checkpoints if P == 1 else (n_checkpoints, P)),
            events=np.zeros((n_checkpoints, EVENTS)),
            lowest=np.full(P, np.inf),
            minimum=np.full(P, np.inf),
            violations=np.zeros(P),
            current=np.zeros(P),
            counts=np.zeros(EVENTS),
            verified=np.zeros(1),
            lines=lines,
        )

    def admit(self, tally, context):
        if np.min(self.baseline) < 0 and context.baseline is None:
            raise ValueError(
                "baseline is missing; give the Budget monitor an arm, or every round its baseline."
            )

    # the verbs here, where states that no compiled function takes are welcome; the arithmetic
    # compiled
    def watch(self, tally, policy, state, problem, context, action, t, checkpoint):
        baseline = value_or(context.baseline, self.baseline)
        for p in range(tally.lines.shape[0]):
            m, sense, kappa, omega, scope = tally.lines[p]
            if scope < 0.0 or scope == value_or(context.segment, 0):
                played = whole(metric_mean(problem, context, action, int(m)))
                usual = whole(metric_mean(problem, context, baseline, int(m)))
                tally.current[p] += sense * played - kappa * (sense * usual) - omega
        why = BASELINE if same_arms(action, baseline) else event(policy, state, action)
        record(self, tally, why, t, checkpoint)


class BudgetTally(NamedTuple):
    budget: np.ndarray  # (n,)
    events: np.ndarray  # (n, EVENTS)
    lowest: np.ndarray  # (1,)
    minimum: np.ndarray  # (1,)
    violations: np.ndarray  # (1,)
    current: np.ndarray  # (1,) B so far
    counts: np.ndarray  # (EVENTS,) rounds so far by event
    verified: np.ndarray  # (1,) how many rounds were verified
    lines: np.ndarray  # (P, 5) metric, sense, kappa, omega and segment, see `Promise`


def lines_of(promises: list[Stored], metrics: tuple[str, ...] | None) -> np.ndarray:
    lines = []
    for promise in (Promise(**item) for item in promises):
        m = metric_of(promise, list(metrics or [None]))
        segment = -1 if promise.segment is None else promise.segment
        if segment == "each":
            raise ValueError("segment = 'each' has no budget here; name each segment by itself.")
        lines.append([m, sense_of(promise), *line_of(promise)[:2], segment])
    return np.array(lines, dtype=np.float64)


@lean
def record(monitor, tally, why, t, checkpoint):
    tally.counts[why] += 1.0
    verified = is_checkpoint(monitor.checkpoint, int(tally.verified[0]), t + 1)
    for p in range(tally.current.shape[0]):
        budget = tally.current[p]
        if budget < tally.lowest[p]:
            tally.lowest[p] = budget
        if verified:
            if budget < tally.minimum[p]:
                tally.minimum[p] = budget
            if budget < -TOLERANCE:
                tally.violations[p] += 1.0
        if checkpoint >= 0:
            enter_budget(tally.budget, checkpoint, p, budget)
    if verified:
        tally.verified[0] += 1.0
    if checkpoint >= 0:
        for i in range(EVENTS):
            tally.events[checkpoint, i] = tally.counts[i]


def enter_budget(budgets, checkpoint, p, budget):
    budgets[checkpoint if budgets.ndim == 1 else (checkpoint, p)] = budget


@shared_overload(enter_budget, PART, inline="always")
def _enter_budget(budgets, checkpoint, p, budget):
    if budgets.ndim == 1:

        def one(budgets, checkpoint, p, budget):
            budgets[checkpoint] = budget

        return one

    def several(budgets, checkpoint, p, budget):
        budgets[checkpoint, p] = budget

    return several


def whole(value):
    """A set's total; of one arm the number itself."""
    return float(np.sum(value))


@shared_overload(whole, PART, inline="always")
def _whole(value):
    return None if hasattr(value, "dtype") else lambda value: value


def same_arms(action, baseline):
    return np.array_equal(np.sort(np.atleast_1d(action)), np.atleast_1d(baseline))


@shared_overload(same_arms, PART, inline="always")
def _same_arms(action, baseline):
    return None if hasattr(action, "dtype") else lambda action, baseline: action == baseline


# Policies from outside the package, whose every choice is checked. Compiled kernels do not check
# indices: an arm that does not exist would be read and written beyond the arrays. Kernels of this
# package are tested with index checks instead; others are wrapped here, and the loops, which see
# only verbs, stay as they are. What else may be wrong with a class of one's own is found by
# `tightrope.testing`.


class WrongAction(Exception):
    """A policy chose what it may not, or a problem paid what it may not: what is wrong, and a
    number."""


class CheckedPolicy(NamedTuple):
    """A policy whose choices are checked: arms of the problem, eligible, and distinct in a set; and
    what it is paid for them."""

    policy: "Policy | CheckedPolicy"
    number: int  # K
    metrics: int  # M, 0 where rewards are about none

    def select(self, state, context, rng):
        return check_action(select(self.policy, state, context, rng), context.eligible, self.number)

    def commit(self, state, context, action):
        return commit(self.policy, state, context, action)

    def update(self, state, context, action, reward):
        if not is_reward(action, reward, self.metrics):
            raise WrongAction("rewards", np.size(reward))
        return update(self.policy, state, context, action, reward)

    def event(self, state, action):
        return event(self.policy, state, action)

    def stopped(self, state):
        return stopped(self.policy, state)


# Finite numbers: no more than arms, or one for each metric, NaN where it is not in yet.
def is_reward(action, reward, metrics):
    if np.ndim(action) or not np.ndim(reward) or not metrics:
        return bool(np.size(reward) <= np.size(action) and np.isfinite(np.sum(reward)))
    return bool(
        np.size(reward) == metrics
        and np.isfinite(np.fmin.reduce(reward))
        and np.isfinite(np.fmax.reduce(reward))
    )


@shared_overload(is_reward, PART, inline="always")
def _is_reward(action, reward, metrics):
    if not hasattr(reward, "dtype"):
        return lambda action, reward, metrics: np.isfinite(reward)
    if hasattr(action, "dtype"):
        return lambda action, reward, metrics: (
            reward.size <= action.size and np.isfinite(reward.sum())
        )
    return lambda action, reward, metrics: (
        reward.size == metrics and np.isfinite(np.nanmin(reward)) and np.isfinite(np.nanmax(reward))
    )


def is_foreign(item: object) -> bool:
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


def checked(policy: Policy, problem: Problem, arms: Arms) -> Policy | CheckedPolicy:
    """The policy that the loop should play: itself, or wrapped where it, one inside it or the
    problem is from outside.

    A problem with a wrong mask would make any policy choose an arm that is none. A policy from
    outside is checked where it stands, inside another one as well, which reads arrays at its
    choice.
    """
    sizes = arms.number, len(arms.metrics or ())
    within = _checked_within(policy, sizes)
    return CheckedPolicy(within, *sizes) if is_foreign(problem) else within


def _checked_within(policy: Policy, sizes: tuple[int, int]) -> Policy | CheckedPolicy:
    wrapped = type(policy)._make(
        _checked_within(item, sizes) if is_policy(item) else item for item in policy
    )
    return CheckedPolicy(wrapped, *sizes) if is_foreign(policy) else wrapped


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
        "numbers, no more than arms were played, or one for each metric.",
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
