"""Monitors: what a run records besides regret and pulls. A monitor answers the verbs `begin` and
`watch`."""

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ..compiled.kernels import PART, lean, shared_overload
from ..core import checks
from ..core.fields import Given, Stored, checkpoints, real, unchecked
from ..core.policy import Monitor, monitor
from ..core.verbs import event, mean, value_or
from ..numerics.counts import is_checkpoint

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
    conservative or not.

    Rounds count when they are decided, whenever their rewards come; a set counts with the total
    mean of its arms. watched[name] holds budget (replications, n) at the checkpoints of the result,
    lowest (replications, 1) over all rounds, minimum and violations (replications, 1) over the
    rounds that are verified (violation: B < -1e-6), and events (replications, n, 4): how many
    rounds so far were the learner's first choice, another safe arm, the baseline, and an arm that
    was not safe because none was and the baseline could not be played.

    Parameters
    ----------
    baseline : int or int array
        Its arm, or the arms of a baseline set; None: every round names it in its Context.
    alpha : float in (0, 1)
        Level of the constraint.
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
        return BudgetTally(
            budget=np.zeros(n_checkpoints),
            events=np.zeros((n_checkpoints, EVENTS)),
            lowest=np.full(1, np.inf),
            minimum=np.full(1, np.inf),
            violations=np.zeros(1),
            current=np.zeros(1),
            counts=np.zeros(EVENTS),
            verified=np.zeros(1),
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
        gain = whole(mean(problem, context, action)) - (1.0 - self.alpha) * whole(
            mean(problem, context, baseline)
        )
        why = BASELINE if same_arms(action, baseline) else event(policy, state, action)
        record(self, tally, baseline, gain, why, t, checkpoint)


class BudgetTally(NamedTuple):
    budget: np.ndarray  # (n,)
    events: np.ndarray  # (n, EVENTS)
    lowest: np.ndarray  # (1,)
    minimum: np.ndarray  # (1,)
    violations: np.ndarray  # (1,)
    current: np.ndarray  # (1,) B so far
    counts: np.ndarray  # (EVENTS,) rounds so far by event
    verified: np.ndarray  # (1,) how many rounds were verified


@lean
def record(monitor, tally, baseline, gain, why, t, checkpoint):
    tally.current[0] += gain
    tally.counts[why] += 1.0
    budget = tally.current[0]
    if budget < tally.lowest[0]:
        tally.lowest[0] = budget
    if is_checkpoint(monitor.checkpoint, int(tally.verified[0]), t + 1):
        if budget < tally.minimum[0]:
            tally.minimum[0] = budget
        if budget < -TOLERANCE:
            tally.violations[0] += 1.0
        tally.verified[0] += 1.0
    if checkpoint >= 0:
        tally.budget[checkpoint] = budget
        for i in range(EVENTS):
            tally.events[checkpoint, i] = tally.counts[i]


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
