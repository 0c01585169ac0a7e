"""The vocabulary: generic functions dispatched on the class of their first argument.

In plain Python a verb calls the class's method; in compiled code an overload finds the same method,
so one loop serves every policy and problem, and the kernels it compiles to are the ones a service
calls one decision at a time. `Policy`, `Problem` and `Monitor` say what each verb means and what
answers where a class does not.

| who answers | must | may |
| --- | --- | --- |
| a policy | init, select, update | the other methods of `Policy` but those of the next line |
| a policy that stops | and stopped, recommend, evidence | tolerance |
| a problem | play; without `means` describe, observe, mean, regret | private, lower_bound |
| a monitor | begin, watch | admit |

One round is select (propose), commit (the action is taken), play, update (its reward is learned
from).
"""

import numpy as np
from numba import types

from ..compiled.kernels import PART, shared_overload
from .policy import DRAWS, Monitor, Policy, Problem, Verb, mean, update, verb
from .types import Arms, Context

__all__ = [
    "DRAWS",
    "VERBS",
    "Arms",
    "Context",
    "Verb",
    "admit",
    "allowed",
    "begin",
    "chances",
    "commit",
    "describe",
    "entry_or_none",
    "event",
    "evidence",
    "explain",
    "grow",
    "inform",
    "init",
    "lower_bound",
    "mean",
    "merge",
    "metric_mean",
    "metric_value",
    "observe",
    "play",
    "private",
    "propensity",
    "recommend",
    "regret",
    "reward_range",
    "select",
    "stopped",
    "tolerance",
    "update",
    "value_or",
    "verb",
    "watch",
    "with_rewards",
    "withdraw",
]

# What a policy answers ----------------------------------------------------------------------------

init = verb(Policy.init, compiled=False)
select = verb(Policy.select)
commit = verb(Policy.commit)
withdraw = verb(Policy.withdraw)
inform = verb(Policy.inform)
event = verb(Policy.event)
explain = verb(Policy.explain, compiled=False)
propensity = verb(Policy.propensity, compiled=False)
chances = verb(Policy.chances)
grow = verb(Policy.grow, compiled=False)
merge = verb(Policy.merge, compiled=False)
reward_range = verb(Policy.reward_range, compiled=False)
with_rewards = verb(Policy.with_rewards, compiled=False)
admit = verb(Policy.admit, compiled=False)
stopped = verb(Policy.stopped)
recommend = verb(Policy.recommend)
evidence = verb(Policy.evidence, compiled=False)
tolerance = verb(Policy.tolerance, compiled=False)

# What a problem answers ---------------------------------------------------------------------------

describe = verb(Problem.describe, compiled=False)
private = verb(Problem.private, compiled=False)
_observed = verb(Problem.observe)


def observe(problem: Problem, t: int, rng: np.random.Generator) -> Context:
    """Context of round t, with all of its fields: compiled code, which knows no defaults, leaves
    out those that a problem does not give."""
    return Context(*_observed(problem, t, rng))


@shared_overload(observe, PART)
def _observe(problem, t, rng):
    return lambda problem, t, rng: whole(_observed(problem, t, rng))


def whole(context):
    return Context(*context)


@shared_overload(whole, PART, inline="always")
def _whole(context):
    completions = (
        lambda context: Context(None, None, None, None, None),
        lambda context: Context(context[0], None, None, None, None),
        lambda context: Context(context[0], context[1], None, None, None),
        lambda context: Context(context[0], context[1], context[2], None, None),
        lambda context: Context(context[0], context[1], context[2], context[3], None),
        lambda context: context,
    )
    return completions[len(context)]


play = verb(Problem.play)
metric_mean = verb(Problem.metric_mean)
regret = verb(Problem.regret)
lower_bound = verb(Problem.lower_bound, compiled=False)

# What a monitor answers ---------------------------------------------------------------------------

begin = verb(Monitor.begin, compiled=False)
watch = verb(Monitor.watch)

VERBS: dict[str, Verb] = {
    item.verb.name: item.verb
    for item in (
        init,
        select,
        commit,
        withdraw,
        update,
        inform,
        event,
        explain,
        propensity,
        chances,
        grow,
        merge,
        reward_range,
        with_rewards,
        admit,
        stopped,
        recommend,
        evidence,
        tolerance,
        describe,
        private,
        _observed,
        play,
        mean,
        metric_mean,
        regret,
        lower_bound,
        begin,
        watch,
    )
}

# Helpers of kernels -------------------------------------------------------------------------------


def allowed(eligible, arm):
    """Whether a mask admits an arm; no mask admits all."""
    return eligible is None or bool(eligible[arm])


@shared_overload(allowed, PART, inline="always")
def _allowed(eligible, arm):
    if isinstance(eligible, types.Optional):  # a mask in some rounds only, decided in compiled code
        return lambda eligible, arm: eligible is None or eligible[arm]
    if isinstance(eligible, np.ndarray) or hasattr(eligible, "dtype"):
        return lambda eligible, arm: eligible[arm]
    return lambda eligible, arm: True


def value_or(value, otherwise):
    """`given`, or `otherwise` where a round gives nothing."""
    return otherwise if value is None else value


@shared_overload(value_or, PART, inline="always")
def _value_or(value, otherwise):
    if isinstance(value, types.NoneType):
        return lambda value, otherwise: otherwise
    return lambda value, otherwise: value


def metric_value(reward, m):
    """The value of metric m; where there is one, the reward itself is its value."""
    return reward[m] if np.ndim(reward) else reward


@shared_overload(metric_value, PART, inline="always")
def _metric_value(reward, m):
    if hasattr(reward, "dtype"):
        return lambda reward, m: reward[m]
    return lambda reward, m: reward


def entry_or_none(values, i):
    return None if values is None else values[i]


@shared_overload(entry_or_none, PART, inline="always")
def _entry_or_none(values, i):
    if isinstance(values, types.NoneType):
        return lambda values, i: None
    return lambda values, i: values[
        i
    ]  # a function with both would return a number that may be None, which is another type
