"""Safe: the conservative guarantee around any policy.

When to use it: Thompson sampling, KL-UCB or any other policy that plays single arms is to be rolled
out beside a known baseline.
Bound: the constraint of `Conservative` with the same probability, whatever the inner policy does.
Source: the conservative condition of Garcelon, Ghavamzadeh, Lazaric, Pirotta 2020 (Eq 4, 6, 7, 12)
applied to another policy's choice, as their Algorithm 1 applies it to the optimistic one.
Deviations: the inner policy learns from every round, also the baseline's, so that its index of the
baseline does not stay infinite; the guarantee's own estimates do not.
Rewards may come late, as in `Conservative`.
Per round: the inner policy's cost, plus O(K), or O(K^2) or O(K d + d^2) with features, O(K d^2) if
they change.
"""

import math
from collections.abc import Sequence
from typing import Annotated, Any, NamedTuple

import numpy as np

from ...compiled.kernels import jit, lean
from ...core.fields import Given, StateOf, Stored, derived, document, integer, opened
from ...core.policy import Policy, accepts, inner_policy, is_policy, label, policy
from ...core.registry import LARGEST_REWARD
from ...core.types import Arguments, Sampled, State
from ...core.verbs import (
    admit,
    commit,
    explain,
    grow,
    inform,
    init,
    metric_value,
    propensity,
    reward_range,
    select,
    update,
    withdraw,
)
from ..bases import Wrapper
from .guarantee import (
    TOLERANCE,
    Guaranteed,
    bound_round,
    check_means,
    check_premises,
    check_round,
    close_round,
    explanation,
    fall_back,
    is_safe,
    longer_state,
    new_state,
    open_round,
    why_instead,
    withdraw_round,
)
from .indices import Independent, LinearLedger, TrivialLedger
from .ledger import ANY_REWARD, BASELINE, MARTINGALE, OWN, bound_arms, learn_reward
from .promises import (
    ALL,
    BY_SEGMENT,
    COUNTS,
    METRIC,
    SCOPE,
    SENSE,
    Promise,
    Promises,
    asked,
    longer_promises,
    means_given,
    metrics_given,
    new_promises,
    promises_given,
    round_of,
    stored_promises,
    view,
)
from .safesets import SafeSets

PROMISED = ("budget_bound", "slack", "total", "safe", "psi", "open", "checkpoint_in")
DRAWS, LEAST_DRAWS, DRAWN_SCORES = (
    800,
    100,
    2_400_000,
)  # behind one propensity: fewer of them for many arms


class SafeState(NamedTuple):
    guarded: Independent | LinearLedger | TrivialLedger | Promises
    inner: Annotated[State, StateOf("inner")]


class Guarding(Guaranteed, Wrapper):
    """A policy that plays what its inner policy wants where that is safe."""

    inner: Policy = inner_policy(kw_only=False)

    @jit
    def select(self, state, context, rng):
        baseline, _ = bound_round(self, state.guarded, context)
        wanted = select(self.inner, state.inner, context, rng)
        arm, why = admitted(self, state, context, baseline, wanted)
        ledger = state.guarded.ledger[0]
        ledger.event, ledger.choice = why, arm
        return arm

    @jit
    def event(self, state, action):
        return int(state.guarded.ledger[0].event)

    def propensity(self, state, context, action, rng, draws=None):
        """The chance that the inner policy wants something that leads to this arm: the arm itself
        where that is safe, and whatever is not safe where this arm is played instead. O(K), and one
        Monte Carlo for all wishes where the inner policy's chances are drawn."""
        baseline, _ = bound_round(self, state.guarded, context)
        guarded = state.guarded
        eligible = (
            np.ones(guarded.bounds.total.size, dtype=np.bool_)
            if context.eligible is None
            else context.eligible
        )
        own = guarded.bounds.total + guarded.ledger[0].slack >= -TOLERANCE
        own[baseline] = True
        unsafe = eligible & ~own
        wishes = np.zeros_like(own)
        wishes[action] = own[action]
        if unsafe.any() and fall_back(self, guarded, context, baseline) == action:
            wishes |= unsafe
        if (wishes == eligible).all():
            return 1.0, 0.0
        listed = np.flatnonzero(wishes)
        most = int(min(DRAWS, max(LEAST_DRAWS, DRAWN_SCORES // own.size)))
        if not listed.size or (listed.size == 1 and most == DRAWS):
            return (
                propensity(self.inner, state.inner, context, int(listed[0]), rng, draws)
                if listed.size
                else (0.0, 0.0)
            )
        most = most if draws is None else draws
        report = explain(self.inner, state.inner, context, rng, most)
        chance = min(float(report["probability"][listed].sum()), 1.0)
        errors = report["probability_se"][listed] if "probability_se" in report else np.zeros(1)
        error = math.sqrt(
            float((errors * errors).sum())
        )  # counts of different arms in the same draws are negatively correlated
        return Sampled(chance, error, most) if "probability_se" in report else (chance, error)

    def _report(self, guarded, context, wanted, arm, why):
        return explanation(self, guarded, context, wanted, arm, why)

    def explain(self, state, context, rng, draws=None):
        baseline, _ = bound_round(self, state.guarded, context)
        inner = explain(self.inner, state.inner, context, rng, draws)
        probability = np.zeros_like(inner["probability"])
        error = np.zeros_like(probability)  # at worst errors add up
        for k, share in enumerate(inner["probability"]):
            if share > 0:
                leads_to = admitted(self, state, context, baseline, k)[0]
                probability[leads_to] += share
                error[leads_to] += inner["probability_se"][k] if "probability_se" in inner else 0.0
        wanted = int(
            np.argmax(inner["probability"])
        )  # the likeliest wish stands for all in `event` and `reason`
        arm, why = admitted(self, state, context, baseline, wanted)
        report = self._report(state.guarded, context, wanted, int(arm), int(why))
        own = {"index": inner.get("index", report["upper"]), "probability": probability}
        if "probability_se" in inner:
            own["probability_se"] = error
        return (
            report
            | own
            | {
                "inner": {
                    key: inner[key]
                    for key in ("mean", "width", "lower", "upper", "probability")
                    if key in inner
                }
            }
        )


@policy(
    "arms",
    "features",
    "contexts",
    "points",
    paper="Garcelon, Ghavamzadeh, Lazaric, Pirotta 2020",
    examples=(
        {
            "inner": {"policy": "UCB"},
            "baseline": 0,
            "baseline_mean": 0.4,
            "alpha": 0.2,
            "selection": "two-step",
        },
        {
            "inner": {"policy": "LinUCB", "width": "theorem"},
            "baseline": 0,
            "baseline_mean": 0.4,
            "alpha": 0.2,
            "selection": "two-step",
        },
    ),
)
class Safe(Guarding):
    """An inner policy whose choice is played when it is safe; else `selection` falls back as in
    `Conservative`.

    Parameters
    ----------
    inner : a policy
        Any policy that plays single arms (one that plays sets makes a `SafeSets`, and `promises` in
        place of alpha a `SafePromises`); the other parameters are those of `Conservative`,
        `rewards` being those that the inner policy takes where it takes only some. With selection =
        "constrained" an unsafe choice gives way to the safe arm of the largest upper bound, with
        "two-step" to the baseline.
    """

    @staticmethod
    def made_instead(arguments: Arguments) -> type[Policy] | None:
        """The guarantee around a policy over sets is a policy over sets; several promises have
        ledgers of their own."""
        inner = arguments.get("inner")
        if is_policy(inner) and accepts(inner) == ("sets",):
            return SafeSets
        if arguments.get("promises") is None:
            return None
        if "alpha" in arguments:
            raise ValueError(
                "alpha was given beside promises, which say what is promised; give one of them, as "
                "promises=[Promise(alpha=0.05), ..]."
            )
        return SafePromises

    def init(self, arms):
        return SafeState(new_state(self, arms), init(self.inner, arms))

    @jit
    def commit(self, state, context, action):
        open_round(self, state.guarded, context, action)
        return SafeState(state.guarded, commit(self.inner, state.inner, context, action))

    @jit
    def withdraw(self, state, context, action):
        withdraw_round(self, state.guarded, context, action)
        return SafeState(state.guarded, withdraw(self.inner, state.inner, context, action))

    @jit
    def update(self, state, context, action, reward):
        close_round(self, state.guarded, context, action, reward)
        return SafeState(state.guarded, update(self.inner, state.inner, context, action, reward))

    @jit
    def inform(self, state, context, action, reward):
        learn_reward(state.guarded, self, context, action, reward)
        return SafeState(state.guarded, inform(self.inner, state.inner, context, action, reward))

    def admit(self, state, context):
        check_round(self, state.guarded, context)
        admit(self.inner, state.inner, context)

    def grow(self, state, arms):
        longer = longer_state(self, state.guarded, new_state(self, arms), arms)
        return SafeState(longer, grow(self.inner, state.inner, arms))


@policy(
    "arms",
    "features",
    "contexts",
    "points",
    paper="Garcelon, Ghavamzadeh, Lazaric, Pirotta 2020",
    examples=(
        {
            "inner": {"policy": "UCB"},
            "baseline": 0,
            "baseline_mean": 0.4,
            "promises": [{"alpha": 0.2, "segment": "each"}],
        },
        {
            "inner": {"policy": "LinUCB", "width": "theorem"},
            "baseline": 0,
            "baseline_mean": 0.4,
            "promises": [{"alpha": 0.2, "segment": "each"}],
        },
        {
            "inner": {"policy": "LinUCB", "width": "theorem"},
            "baseline": 0,
            "baseline_mean": 0.4,
            "promises": [{"alpha": 0.2}, {"floor": 0.3}],
        },
    ),
)
class SafePromises(Guarding):
    """`Safe` with several promises at once, about any metric, over all rounds or those of a
    segment; `Safe(.., promises=[..])` makes it.

    Parameters
    ----------
    inner : a policy
        Any policy that plays single arms; it learns the objective. The parameters that are not here
        are those of `Conservative`.
    promises : list of Promise
        What is promised, all of it at once with probability 1 - delta.
    metrics : dict of (lowest, highest) or (lowest, highest, sigma), or None (one), default None
        The values that each metric of a decision may have; the first is the objective. None: the
        reward is the only one.
    segments : whole number from 1 to 1000000, default 1
        How many there are; where there are several every round names its own,
        `Context(segment=2)`, counted from 0.
    baseline_mean : number, numbers by segment, or a dict of these by metric, or None, default None
        What the baseline is known to have on average; what is not said is learned, which is not
        possible for ceilings and floors, and over all rounds beside a promise about a segment.
    """

    METRICS = True  # takes several in one reward
    WITHOUT = ("alpha",)  # which each promise has
    promises: Given[Any, np.ndarray] = document(..., "list of Promise", promises_given, list)
    metrics: Given[Any, np.ndarray] = document(
        None,
        "dict of (lowest, highest) or (lowest, highest, sigma), or None (one)",
        metrics_given,
        dict | None,
    )
    segments: int = integer(default=1, least=1, most=10**6)
    baseline_mean: Given[Any, np.ndarray] = document(  # type: ignore[assignment]
        None, "number, numbers by segment, or a dict of these by metric, or None", means_given, Any
    )
    places: np.ndarray = derived()
    terms: np.ndarray = derived()
    known: np.ndarray = derived()

    @staticmethod
    def complete(stored: Stored) -> Stored:
        metrics = opened(stored["metrics"])
        if metrics:
            low, high, *sigma = next(iter(metrics.values()))
            if stored["rewards"] not in (ANY_REWARD, (low, high)):
                raise ValueError(
                    "rewards was given beside metrics, whose first says which rewards there are; "
                    "leave it out."
                )
            least, most = reward_range(stored["inner"])
            if max(low, -LARGEST_REWARD) < least or min(high, LARGEST_REWARD) > most:
                raise ValueError(
                    f"metrics[{next(iter(metrics))!r}] is in [{low:g}, {high:g}], but "
                    f"{label(stored['inner'])} takes rewards in [{least:g}, {most:g}]; give it in "
                    "another unit, or a policy that takes any, such as GaussianThompson."
                )
            stored["rewards"] = low, high
            stored["sigma"] = sigma[0] if sigma else stored["sigma"]
        if stored["bound"] != MARTINGALE:
            raise ValueError(
                "bound has another value than 'martingale', which alone is kept for promises; "
                "leave it out."
            )
        check_premises(stored)
        stored = stored_promises(stored)
        check_means(
            stored["rewards"],
            {
                "baseline_mean": stored["known"][0][~np.isnan(stored["known"][0])],
                "baseline_floor": stored["baseline_floor"],
            },
        )
        return stored

    def init(self, arms):
        return SafeState(new_promises(self, arms), init(self.inner, arms))

    @jit
    def commit(self, state, context, action):
        open_promises(self, state.guarded, context, action)
        return SafeState(state.guarded, commit(self.inner, state.inner, context, action))

    @jit
    def withdraw(self, state, context, action):
        withdraw_promises(self, state.guarded, context, action)
        return SafeState(state.guarded, withdraw(self.inner, state.inner, context, action))

    @jit
    def update(self, state, context, action, reward):
        close_promises(self, state.guarded, context, action, reward)
        value, inner = metric_value(reward, 0), state.inner
        if not math.isnan(value):
            inner = update(self.inner, state.inner, context, action, value)
        return SafeState(state.guarded, inner)

    @jit
    def inform(self, state, context, action, reward):
        learn_promises(self, state.guarded, context, action, reward)
        value, inner = metric_value(reward, 0), state.inner
        if not math.isnan(value):
            inner = inform(self.inner, state.inner, context, action, value)
        return SafeState(state.guarded, inner)

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
        if context.baseline_mean is not None and (
            len(self.known) > 1 or not np.isnan(self.known).all()
        ):
            raise ValueError(
                "baseline_mean was given for the round, and the policy knows the baseline's; leave "
                "one of them out."
            )
        one = view(state.guarded, self, context, 0)
        if isinstance(one, TrivialLedger) and math.isnan(round_of(self, context, 0).baseline_mean):
            raise ValueError(
                "baseline_mean is missing; where features come with every round the baseline's "
                "mean must be known: give it to the policy, or every round its own in "
                "Context(baseline_mean=...)."
            )
        check_round(self, one, context)
        admit(self.inner, state.inner, context)

    def grow(self, state, arms):
        longer = longer_promises(self, state.guarded, arms)
        return SafeState(longer, grow(self.inner, state.inner, arms))

    def _report(self, guarded, context, wanted, arm, why):
        """That of the promise which leaves least to the likeliest wish, with all of them in
        `promises`; `safe` is what every one allows."""
        promised, each, objective = opened(self.promises), [], None
        for p, place in enumerate(self.places):
            if asked(place, context):
                one, its_round = view(guarded, self, context, p), round_of(self, context, p)
                told = explanation(self, one, its_round, wanted, arm, why)
                if objective is None and place[METRIC] == 0 and place[SENSE] > 0:
                    objective = told
                if place[COUNTS]:
                    each.append((str(Promise(**promised[p])), told))
        assert objective is not None
        name, least = min(each, key=lambda item: item[1]["total"][wanted] + item[1]["slack"])
        told = {key: least[key] for key in PROMISED}
        if arm != wanted and len(each) > 1:
            told["reason"] = f"{least['reason']}; the promise: {name}"
        told["safe"] = np.logical_and.reduce([one["safe"] for _, one in each])
        told["promises"] = [
            {"promise": name} | {key: one[key] for key in PROMISED} for name, one in each
        ]
        return objective | told


def SafeSegments(
    inner: Safe, *, segments: int, baseline_means: Sequence[float] | None = None
) -> SafePromises:
    """The promise of a `Safe` for each of several segments by itself.

    Parameters
    ----------
    inner : Safe
        Its parameters hold in every segment; its delta is shared by all of them.
    segments : int >= 1
        How many there are; every round then names its own, `Context(segment=2)`.
    baseline_means : list of n floats or None
        What the baseline is known to earn in each, in place of Safe's baseline_mean.

    Returns
    -------
    SafePromises
        With `Promise(alpha=.., segment="each")`.

    Raises
    ------
    ValueError
        Where inner is no `Safe`, or the baseline's means are given twice.
    """
    if type(inner) is not Safe:
        raise ValueError(
            f"inner = {label(inner)} is no Safe, which keeps the guarantee; give "
            f"Safe({label(inner)}, baseline=0, alpha=0.05)."
        )
    if baseline_means is not None and not math.isnan(inner.baseline_mean):
        raise ValueError(
            "baseline_means was given, and inner has a baseline_mean for all segments; leave one "
            "of them out."
        )
    given: Arguments = {
        name: field.decode(getattr(inner, name))
        for name, field in Safe.FIELDS.items()
        if name not in ("alpha", "baseline_mean")
    }
    mean = None if math.isnan(inner.baseline_mean) else inner.baseline_mean
    return SafePromises(
        **given,
        promises=[Promise(alpha=inner.alpha, segment="each")],
        segments=segments,
        baseline_mean=mean if baseline_means is None else baseline_means,
    )


@lean
def open_promises(policy, state, context, arm):
    for p in range(policy.places.shape[0]):
        if asked(policy.places[p], context):
            one, its_round = view(state, policy, context, p), round_of(policy, context, p)
            ledger = one.ledger[0]
            ledger.event, ledger.choice = state.ledger[0].event, state.ledger[0].choice
            open_round(policy, one, its_round, arm)
            if policy.places[p, BY_SEGMENT] and policy.places[p, SCOPE] == ALL:
                bound_arms(one, policy, its_round)  # the next round may be of another segment


@lean
def withdraw_promises(policy, state, context, arm):
    for p in range(policy.places.shape[0]):
        if asked(policy.places[p], context):
            one, its_round = view(state, policy, context, p), round_of(policy, context, p)
            withdraw_round(policy, one, its_round, arm)
            if policy.places[p, BY_SEGMENT] and policy.places[p, SCOPE] == ALL:
                bound_arms(one, policy, its_round)


@lean
def close_promises(policy, state, context, arm, reward):
    for p in range(policy.places.shape[0]):
        place = policy.places[p]
        value = metric_value(reward, place[METRIC])
        if asked(place, context) and not math.isnan(value):
            one, its_round = view(state, policy, context, p), round_of(policy, context, p)
            close_round(policy, one, its_round, arm, place[SENSE] * value)


@lean
def learn_promises(policy, state, context, arm, reward):
    for p in range(policy.places.shape[0]):
        place = policy.places[p]
        value = metric_value(reward, place[METRIC])
        if asked(place, context) and not math.isnan(value):
            one, its_round = view(state, policy, context, p), round_of(policy, context, p)
            learn_reward(one, policy, its_round, arm, place[SENSE] * value)


@lean
def admitted(policy, state, context, baseline, wanted):
    guarded = state.guarded
    if wanted == baseline:
        return wanted, BASELINE
    if is_safe(guarded, wanted):
        return wanted, OWN
    arm = fall_back(policy, guarded, context, baseline)
    return arm, why_instead(guarded, arm, baseline)
