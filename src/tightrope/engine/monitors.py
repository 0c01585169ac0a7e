"""Monitors look over the loop's shoulder: what to record besides regret and pulls."""

from typing import Any, NamedTuple

import numpy as np

from .. import checks
from .._jit import lean
from ..numerics.checkpoints import is_checkpoint
from ..verbs import begin, either, event, mean, watch


class NoMonitor(NamedTuple):
    """Records nothing and costs nothing."""

    unused: int = 0


class NoTally(NamedTuple):
    unused: np.ndarray  # (0,)


@begin.register(NoMonitor)
def begin_nomonitor(monitor, arms, n_checkpoints):
    return NoTally(np.zeros(0))


@watch.register(NoMonitor)  # plain Python: interpreted loops pass states that no compiled function takes
def watch_nomonitor(monitor, tally, policy, state, problem, context, action, t, checkpoint):
    pass


class SetValue(NamedTuple):
    """Records the expected reward of the sets played, added up to each checkpoint: watched[name]["value"], (replications, n)."""

    unused: int = 0


class SetTally(NamedTuple):
    value: np.ndarray  # (n,) cumulative expected reward
    total: np.ndarray  # (1,) so far


@begin.register(SetValue)
def begin_setvalue(monitor, arms, n_checkpoints):
    return SetTally(np.zeros(n_checkpoints), np.zeros(1))


@watch.register(SetValue)
def watch_setvalue(monitor, tally, policy, state, problem, context, action, t, checkpoint):
    tally.total[0] += np.sum(mean(problem, context, action))
    if checkpoint >= 0:
        tally.value[checkpoint] = tally.total[0]


EVENTS = 4  # that the verb `event` tells apart


class _Budget(NamedTuple):
    baseline: int
    alpha: float
    checkpoint: np.ndarray  # as checks.checkpoints encodes it


class Budget(_Budget):
    """Records the true budget B(t) = sum_{i <= t} mu_{a_i} - (1 - alpha) mu_{b_i} of any policy, conservative or not.

    baseline: its arm; None: every round names it in its Context. alpha: level of the constraint, in (0, 1). checkpoint: B must
    not be negative after every T-th round, or after these increasing rounds.

    watched[name] holds budget (replications, n) at the checkpoints of the result, lowest (replications, 1) over all rounds,
    minimum and violations (replications, 1) over the rounds that are verified (violation: B < -1e-6), and events
    (replications, n, 4): how many rounds so far were the learner's first choice, another safe arm, the baseline, and an arm that was
    not safe because none was and the baseline could not be played.
    """

    __slots__ = ()

    def __new__(cls, baseline: int | None = None, alpha: float = 0.05, checkpoint: Any = 1) -> "Budget":
        arm = -1 if baseline is None else checks.integer("baseline", baseline, least=0)
        return super().__new__(cls, arm, checks.real("alpha", alpha, above=0, below=1), checks.checkpoints("checkpoint", checkpoint))

    def __reduce__(self) -> Any:
        return type(self)._make, (tuple(self),)


class BudgetTally(NamedTuple):
    budget: np.ndarray  # (n,)
    events: np.ndarray  # (n, EVENTS)
    lowest: np.ndarray  # (1,)
    minimum: np.ndarray  # (1,)
    violations: np.ndarray  # (1,)
    so_far: np.ndarray  # (2 + EVENTS,) B, next listed checkpoint, rounds by event


@begin.register(Budget)
def begin_budget(monitor, arms, n_checkpoints):
    if monitor.baseline >= arms.number:
        raise ValueError(f"baseline = {monitor.baseline} is not an arm; the arms are 0 to {arms.number - 1}.")
    return BudgetTally(
        np.zeros(n_checkpoints), np.zeros((n_checkpoints, EVENTS)), np.full(1, np.inf), np.full(1, np.inf), np.zeros(1),
        np.zeros(2 + EVENTS),
    )  # fmt: skip


@lean
def enter(monitor, tally, baseline, gain, why, t, checkpoint):
    """Add round t's gain to the budget."""
    if baseline < 0:
        raise ValueError("baseline is missing; give the Budget monitor an arm, or every round its baseline.")
    so_far = tally.so_far
    so_far[0] += gain
    so_far[2 + why] += 1.0
    if so_far[0] < tally.lowest[0]:
        tally.lowest[0] = so_far[0]
    if is_checkpoint(monitor.checkpoint, int(so_far[1]), t + 1):
        if so_far[0] < tally.minimum[0]:
            tally.minimum[0] = so_far[0]
        if so_far[0] < -1e-6:
            tally.violations[0] += 1.0
        so_far[1] += 1.0
    if checkpoint >= 0:
        tally.budget[checkpoint] = so_far[0]
        for i in range(EVENTS):
            tally.events[checkpoint, i] = so_far[2 + i]


@watch.register(Budget)  # the verbs here, where states that no compiled function takes are welcome; the arithmetic compiled
def watch_budget(monitor, tally, policy, state, problem, context, action, t, checkpoint):
    baseline = either(context.baseline, monitor.baseline)
    gain = mean(problem, context, action) - (1.0 - monitor.alpha) * mean(problem, context, baseline)
    why = 2 if action == baseline else event(policy, state, action)
    enter(monitor, tally, baseline, gain, why, t, checkpoint)
