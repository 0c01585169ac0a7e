"""Safe: the conservative guarantee around any policy.

When to use it: Thompson sampling, KL-UCB or any other policy that plays single arms is to be rolled out beside a known baseline.
Bound: the constraint of `Conservative` with the same probability, whatever the inner policy does.
Source: the conservative condition of Garcelon, Ghavamzadeh, Lazaric, Pirotta 2020 (Eq 4, 6, 7, 12) applied to another policy's
choice, as their Algorithm 1 applies it to the optimistic one.
Deviations: the inner policy learns from every round, also the baseline's, so that its index of the baseline does not stay
infinite; the guarantee's own estimates do not.
Rewards may come late, as in `Conservative`.
Per round: the inner policy's cost, plus O(K), or O(K^2) or O(K d + d^2) with features, O(K d^2) if they change.
"""

from typing import Any, NamedTuple

import numpy as np

from ..._jit import jit, lean
from ...matching import accepts
from ...parameters import inner_policy, policy
from ...registry import find, is_policy
from ...verbs import admit, allowed, commit, event, explain, inform, init, propensity, reward_range, select, translate, update, withdraw
from ._explanation import explanation
from ._formats import translated
from ._guarantee import (
    Limits,
    bound_round,
    check_round,
    close_round,
    fall_back,
    is_safe,
    new_state,
    open_round,
    why_instead,
    withdraw_round,
)  # fmt: skip
from ._ledger import BASELINE, OWN, learn_reward
from .safesets import SafeSets


@policy("arms", "features", "contexts", "points", paper="Garcelon, Ghavamzadeh, Lazaric, Pirotta 2020")
class Safe(Limits):
    """An inner policy whose choice is played when it is safe; else `selection` falls back as in `Conservative`.

    inner: any policy that plays single arms (one that plays sets makes a `SafeSets`); the other parameters are those of
    `Conservative`. With selection = "constrained" an
    unsafe choice gives way to the safe arm of the largest upper bound, with "two-step" to the baseline.
    """

    inner: Any = inner_policy()


class State(NamedTuple):
    guarded: Any  # Independent or Linear
    inner: Any  # of the inner policy


@init.register(Safe)
def init_safe(policy, arms):
    return State(new_state(policy, arms), init(policy.inner, arms))


@lean
def admitted(policy, state, context, baseline, wanted):
    """The arm played where the inner policy wants another, and why."""
    guarded = state.guarded
    if wanted == baseline:
        return wanted, BASELINE
    if is_safe(guarded, wanted):
        return wanted, OWN
    arm = fall_back(policy, guarded, context, baseline)
    return arm, why_instead(guarded, arm, baseline)


@select.register(Safe)
@jit
def select_safe(policy, state, context, rng):
    baseline, _ = bound_round(policy, state.guarded, context)
    wanted = select(policy.inner, state.inner, context, rng)
    arm, why = admitted(policy, state, context, baseline, wanted)
    ledger = state.guarded.ledger[0]
    ledger.event, ledger.choice = why, arm
    return arm


@commit.register(Safe)
@jit
def commit_safe(policy, state, context, action):
    open_round(policy, state.guarded, context, action)
    return State(state.guarded, commit(policy.inner, state.inner, context, action))


@withdraw.register(Safe)
@jit
def withdraw_safe(policy, state, context, action):
    withdraw_round(policy, state.guarded, context, action)
    return State(state.guarded, withdraw(policy.inner, state.inner, context, action))


@update.register(Safe)
@jit
def update_safe(policy, state, context, action, reward):
    close_round(policy, state.guarded, context, action, reward)
    return State(state.guarded, update(policy.inner, state.inner, context, action, reward))


@inform.register(Safe)
@jit
def inform_safe(policy, state, context, action, reward):
    learn_reward(state.guarded, policy, context, action, reward)
    return State(state.guarded, inform(policy.inner, state.inner, context, action, reward))


@event.register(Safe)
@jit
def event_safe(policy, state, action):
    return int(state.guarded.ledger[0].event)


@admit.register(Safe)
def admit_safe(policy, state, context):
    check_round(policy, state.guarded, context)
    admit(policy.inner, state.inner, context)


@reward_range.register(Safe)
def reward_range_safe(policy):
    return reward_range(policy.inner)


@translate.register(Safe)
def translate_safe(policy, stored):
    inner = {path.replace("state.inner.", "state.", 1): array for path, array in stored.items() if path.startswith("state.inner.")}
    rest = {path: array for path, array in stored.items() if not path.startswith("state.inner.")}
    again = {path.replace("state.", "state.inner.", 1): array for path, array in translate(policy.inner, inner).items()}
    return translated(policy, rest, "state.guarded") | again


@propensity.register(Safe)
def propensity_safe(policy, state, context, action, rng):
    """The chances of all that the inner policy can want and that leads to this arm; their errors at worst add up."""
    baseline, _ = bound_round(policy, state.guarded, context)
    count = state.guarded.bounds.lower.size
    wishes = [k for k in range(count) if allowed(context.eligible, k) and admitted(policy, state, context, baseline, k)[0] == action]
    found = [propensity(policy.inner, state.inner, context, k, rng) for k in wishes]
    return min(sum(p for p, _ in found), 1.0), sum(error for _, error in found)


@explain.register(Safe)
def explain_safe(policy, state, context, rng, draws):
    baseline, _ = bound_round(policy, state.guarded, context)
    inner = explain(policy.inner, state.inner, context, rng, draws)
    probability = np.zeros_like(inner["probability"])
    error = np.zeros_like(probability)  # at worst errors add up
    for k, share in enumerate(inner["probability"]):
        if share > 0:
            leads_to = admitted(policy, state, context, baseline, k)[0]
            probability[leads_to] += share
            error[leads_to] += inner["probability_se"][k] if "probability_se" in inner else 0.0
    wanted = int(np.argmax(inner["probability"]))  # the likeliest wish stands for all in `event` and `reason`
    arm, why = admitted(policy, state, context, baseline, wanted)
    report = explanation(policy, state.guarded, context, wanted, int(arm), int(why))
    own = {"index": inner.get("index", report["upper"]), "probability": probability}
    if "probability_se" in inner:
        own["probability_se"] = error
    return report | own | {"inner": {key: inner[key] for key in ("mean", "width", "lower", "upper", "probability") if key in inner}}


def _for_sets_or_arms(cls: type, *unnamed: Any, **given: Any) -> Any:
    """The guarantee around a policy over sets is a policy over sets."""
    inner = unnamed[0] if unnamed else given.get("inner")
    if is_policy(inner) and accepts(inner) == ("sets",):
        return SafeSets(*unnamed, **given)
    return _for_arms(cls, *unnamed, **given)


_for_arms = Safe.__new__
Safe.__new__ = _for_sets_or_arms  # type: ignore[method-assign]


def example():
    inner = find("UCB")(), find("LinUCB")()
    return [Safe(policy, baseline=0, baseline_mean=0.4, alpha=0.2, selection="two-step") for policy in inner]
