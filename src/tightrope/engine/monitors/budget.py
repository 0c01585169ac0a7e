"""The true budget of a conservative run."""

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from ... import checks
from ..._jit import lean
from ...numerics.checkpoints import is_checkpoint
from ...verbs import admit, begin, either, event, mean, watch

EVENTS = 4  # that the verb `event` tells apart: the learner's first choice, another safe arm, the baseline, no arm safe
BASELINE = 2
TOLERANCE = 1e-6  # how far rounding may carry the budget below zero


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

    def __new__(cls, baseline: int | None = None, alpha: float = 0.05, checkpoint: int | Iterable[int] = 1) -> "Budget":
        arm = -1 if baseline is None else checks.integer("baseline", baseline, least=0)
        return super().__new__(cls, arm, checks.real("alpha", alpha, above=0, below=1), checks.checkpoints("checkpoint", checkpoint))

    def __reduce__(self) -> tuple[object, ...]:
        return type(self)._make, (tuple(self),)


class BudgetTally(NamedTuple):
    budget: np.ndarray  # (n,)
    events: np.ndarray  # (n, EVENTS)
    lowest: np.ndarray  # (1,)
    minimum: np.ndarray  # (1,)
    violations: np.ndarray  # (1,)
    current: np.ndarray  # (1,) B so far
    counts: np.ndarray  # (EVENTS,) rounds so far by event
    verified: np.ndarray  # (1,) how many rounds were verified


@begin.register(Budget)
def begin_budget(monitor, arms, n_checkpoints):
    if monitor.baseline >= arms.number:
        raise ValueError(f"baseline = {monitor.baseline} is not an arm; the arms are 0 to {arms.number - 1}.")
    return BudgetTally(
        budget=np.zeros(n_checkpoints), events=np.zeros((n_checkpoints, EVENTS)), lowest=np.full(1, np.inf), minimum=np.full(1, np.inf),
        violations=np.zeros(1), current=np.zeros(1), counts=np.zeros(EVENTS), verified=np.zeros(1),
    )  # fmt: skip


@admit.register(Budget)
def admit_budget(policy, state, context):
    if policy.baseline < 0 and context.baseline is None:
        raise ValueError("baseline is missing; give the Budget monitor an arm, or every round its baseline.")


@lean
def record(monitor, tally, baseline, gain, why, t, checkpoint):
    """Add round t's gain to the budget."""
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


@watch.register(Budget)  # the verbs here, where states that no compiled function takes are welcome; the arithmetic compiled
def watch_budget(monitor, tally, policy, state, problem, context, action, t, checkpoint):
    baseline = either(context.baseline, monitor.baseline)
    gain = mean(problem, context, action) - (1.0 - monitor.alpha) * mean(problem, context, baseline)
    why = BASELINE if action == baseline else event(policy, state, action)
    record(monitor, tally, baseline, gain, why, t, checkpoint)
