"""SafeSegments: the conservative guarantee for each segment of the rounds by itself, around one
policy that learns from all of them.

When to use it: a policy is to be rolled out in several countries, on several devices, and none of
them may pay for another.
Bound: that of `Safe` in every segment s, its rounds counted by themselves: with probability 1 -
delta, at once for all segments and rounds, what the rounds of s earn is at least 1 - alpha times
what the baseline earns in them.
Source: the conservative condition of Garcelon, Ghavamzadeh, Lazaric, Pirotta 2020 (Eq 4, 6, 7, 12);
a ledger for each of n segments, and delta / n in each, by
docs/explanation/conservative-guarantee.md, "Segments".
Deviations: an arm's lower bound comes from its own rewards in the segment, also where arms have
features; where features come with the round it is 0, and the baseline's mean must be known. Each
segment pays for its own beginning, about (1 + psi / mu) / alpha rounds.
Per round: the inner policy's cost, plus O(K), whatever the number of segments.
"""

import math
from typing import Annotated, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ...compiled.kernels import jit, lean
from ...core.fields import Given, Kind, StateOf, Stored, derived, integer, vector
from ...core.policy import Policy, inner_policy, label, policy
from ...core.types import State
from ...core.verbs import (
    Arms,
    Context,
    admit,
    commit,
    explain,
    grow,
    inform,
    init,
    propensity,
    select,
    update,
    value_or,
    with_rewards,
    withdraw,
)
from ...numerics.states import pad_with_zeros
from ..bases import Wrapper
from .guarantee import check_means, check_round, longer_state, new_state
from .indices import Independent, TrivialLedger
from .ledger import MARTINGALE, Bounds, in_segment
from .safe import Safe, SafeState


class SegmentState(NamedTuple):
    ledgers: Annotated[
        Independent | TrivialLedger, StateOf("guard")
    ]  # of all segments: their axis comes before every array's own
    learner: Annotated[State, StateOf("learner")]
    last: Annotated[
        np.ndarray, Kind(whole=True, least=0, most=lambda policy, arms: policy.segments - 1)
    ]  # (1,) segment of the last select


@policy(
    "arms",
    "features",
    "contexts",
    "points",
    paper="Garcelon, Ghavamzadeh, Lazaric, Pirotta 2020",
    examples=(
        {
            "inner": {
                "policy": "Safe",
                "inner": {"policy": "UCB"},
                "baseline": 0,
                "baseline_mean": 0.4,
                "alpha": 0.2,
            },
            "segments": 1,
        },
        {
            "inner": {
                "policy": "Safe",
                "inner": {"policy": "LinUCB", "width": "theorem"},
                "baseline": 0,
                "alpha": 0.2,
            },
            "segments": 1,
            "baseline_means": [0.4],
        },
    ),
)
class SafeSegments(Wrapper):
    """A guarantee for each of several segments, around a policy that all of them share.

    Parameters
    ----------
    inner : a policy
        A `Safe`, whose parameters hold in every segment; its delta is shared by all of them.
    segments : whole number from 1 to 1000000
        How many there are; every round then names its own, `Context(segment=2)`, counted from 0.
    baseline_means : (n,) known means of the baseline, or None, default None
        What the baseline is known to earn in each, in place of Safe's baseline_mean.
    """

    inner: Safe = inner_policy(kw_only=False)
    segments: int = integer(least=1, most=10**6)
    baseline_means: Given[ArrayLike | None, np.ndarray] = vector(
        default=None, least=0, words="(n,) known means of the baseline"
    )
    guard: Safe = derived()

    @staticmethod
    def complete(stored: Stored) -> Stored:
        """Make the `Safe` that every segment plays: with its part of delta, and a mean that is
        known where all are."""
        inner, n, means = stored["inner"], stored["segments"], stored["baseline_means"]
        if not isinstance(inner, Safe):
            raise ValueError(
                f"inner = {label(inner)} is no Safe, which keeps the guarantee; give "
                f"Safe({label(inner)}, baseline=0, alpha=0.05)."
            )
        if inner.bound != MARTINGALE:
            raise ValueError(
                "inner has a bound other than 'martingale', which alone is kept by segment; take "
                "bound='martingale'."
            )
        if means.size and means.size != n:
            raise ValueError(
                f"baseline_means has {means.size} entries, but segments = {n}; give one for each."
            )
        if means.size and not math.isnan(inner.baseline_mean):
            raise ValueError(
                "baseline_means was given, and inner has a baseline_mean for all segments; leave "
                "one of them out."
            )
        check_means(inner.rewards, {"baseline_means": means})
        known = float(means.min()) if means.size else inner.baseline_mean
        return stored | {"guard": inner._replace(delta=inner.delta / n, baseline_mean=known)}

    @property
    def learner(self) -> Policy:
        return self.inner.inner

    def init(self, arms):
        ledgers = all_segments([new_segment(self.guard, arms)] * self.segments)
        return SegmentState(ledgers, init(self.learner, arms), np.zeros(1, dtype=np.int64))

    @jit
    def select(self, state, context, rng):
        state.last[0] = segment_of(self, context)
        return select(
            self.guard, segment_state(self, state, context), segment_context(self, context), rng
        )

    @jit
    def commit(self, state, context, action):
        done = commit(
            self.guard, segment_state(self, state, context), segment_context(self, context), action
        )
        return SegmentState(state.ledgers, done.inner, state.last)

    @jit
    def withdraw(self, state, context, action):
        done = withdraw(
            self.guard, segment_state(self, state, context), segment_context(self, context), action
        )
        return SegmentState(state.ledgers, done.inner, state.last)

    @jit
    def update(self, state, context, action, reward):
        done = update(
            self.guard,
            segment_state(self, state, context),
            segment_context(self, context),
            action,
            reward,
        )
        return SegmentState(state.ledgers, done.inner, state.last)

    @jit
    def inform(self, state, context, action, reward):
        done = inform(
            self.guard,
            segment_state(self, state, context),
            segment_context(self, context),
            action,
            reward,
        )
        return SegmentState(state.ledgers, done.inner, state.last)

    @jit
    def event(self, state, action):
        return int(state.ledgers.ledger[state.last[0]].event)

    def admit(self, state, context):
        n = self.segments
        if context.segment is None and n > 1:
            raise ValueError(
                "segment is missing; name the round's in Context(segment=...), a number from 0 to "
                f"{n - 1}."
            )
        if context.segment is not None and not 0 <= context.segment < n:
            raise ValueError(
                f"segment = {context.segment} is not a segment; they are 0 to {n - 1}."
            )
        one, its_round = shown_round(self, state, context)
        if isinstance(state.ledgers, TrivialLedger) and math.isnan(its_round.baseline_mean):
            raise ValueError(
                "baseline_mean is missing; where features come with every round the baseline's "
                "mean must be known: give baseline_means, or every round its own in "
                "Context(baseline_mean=...)."
            )
        check_round(self.guard, one.guarded, context)
        admit(self.learner, state.learner, context)

    def with_rewards(self, arms):
        return self._replace(
            inner=with_rewards(self.inner, arms), guard=with_rewards(self.guard, arms)
        )

    def grow(self, state, arms):
        longer = [
            longer_segment(self.guard, segment_ledger(state.ledgers, s), arms)
            for s in range(self.segments)
        ]
        return SegmentState(
            all_segments(longer), grow(self.learner, state.learner, arms), state.last
        )

    def propensity(self, state, context, action, rng, draws=None):
        return propensity(self.guard, *shown_round(self, state, context), action, rng, draws)

    def explain(self, state, context, rng, draws=None):
        return explain(self.guard, *shown_round(self, state, context), rng, draws)


def new_segment(guard: Safe, arms: Arms) -> Independent | TrivialLedger:
    one = new_state(guard, Arms(arms.number, rewards=arms.rewards))
    assert isinstance(one, Independent)  # of arms without features
    if arms.dimension and arms.features is None:
        return TrivialLedger(one.ledger, one.bounds, one.open)
    return one


def longer_segment(
    guard: Safe, one: Independent | TrivialLedger, arms: Arms
) -> Independent | TrivialLedger:
    if isinstance(one, Independent):
        longer = longer_state(guard, one, Arms(arms.number, rewards=arms.rewards))
        assert isinstance(longer, Independent)
        return longer
    fresh, K = new_segment(guard, arms), one.open.size
    bounds = Bounds(
        *(np.concatenate([old, new[K:]]) for old, new in zip(one.bounds, fresh.bounds, strict=True))
    )
    return TrivialLedger(one.ledger, bounds, pad_with_zeros(one.open, arms.number))


def all_segments(ledgers: list[Independent | TrivialLedger]) -> Independent | TrivialLedger:
    first = ledgers[0]
    arrays = {
        name: np.stack([getattr(one, name) for one in ledgers])
        for name in first._fields
        if name not in ("ledger", "bounds")
    }
    bounds = Bounds(*map(np.stack, zip(*(one.bounds for one in ledgers), strict=True)))
    ledger = np.concatenate([one.ledger for one in ledgers]).view(np.recarray)
    return first._replace(ledger=ledger, bounds=bounds, **arrays)


def segment_ledger(ledgers: Independent | TrivialLedger, s: int) -> Independent | TrivialLedger:
    bounds = Bounds(*(array[s] for array in ledgers.bounds))
    return type(ledgers)(ledgers.ledger[s : s + 1], bounds, *(array[s] for array in ledgers[2:]))


def shown_round(
    policy: SafeSegments, state: SegmentState, context: Context
) -> tuple[SafeState, Context]:
    s = context.segment or 0
    mean = context.baseline_mean
    if mean is None:
        mean = (
            float(policy.baseline_means[s])
            if policy.baseline_means.size
            else policy.guard.baseline_mean
        )
    return SafeState(segment_ledger(state.ledgers, s), state.learner), context._replace(
        baseline_mean=mean
    )


@lean
def segment_of(policy, context):
    s = value_or(context.segment, 0)
    if s < 0 or s >= policy.segments:
        raise ValueError("segment is not one of the policy's segments, which are numbered from 0.")
    return s


@jit
def segment_state(policy, state, context):
    """A state of `Safe` for the round: its segment's ledger, and the policy that all share."""
    return SafeState(in_segment(state.ledgers, segment_of(policy, context)), state.learner)


@jit
def segment_context(policy, context):
    """The round with the known mean of its segment's baseline; NaN: it is learned."""
    mean = policy.guard.baseline_mean
    if policy.baseline_means.shape[0] > 0:
        mean = policy.baseline_means[segment_of(policy, context)]
    return Context(
        context.features,
        context.eligible,
        context.baseline,
        value_or(context.baseline_mean, mean),
        context.segment,
    )
