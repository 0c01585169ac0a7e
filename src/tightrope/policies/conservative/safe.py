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
from typing import Annotated, NamedTuple

import numpy as np

from ...compiled.kernels import jit, lean
from ...core.fields import StateOf
from ...core.policy import Policy, accepts, inner_policy, is_policy, policy
from ...core.types import Arguments, Sampled, State
from ...core.verbs import (
    admit,
    commit,
    explain,
    grow,
    inform,
    init,
    propensity,
    select,
    update,
    withdraw,
)
from ..bases import Wrapper
from .guarantee import (
    TOLERANCE,
    Guaranteed,
    bound_round,
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
from .ledger import BASELINE, OWN, learn_reward
from .safesets import SafeSets

DRAWS, LEAST_DRAWS, DRAWN_SCORES = (
    800,
    100,
    2_400_000,
)  # behind one propensity: fewer of them for many arms


class SafeState(NamedTuple):
    guarded: Independent | LinearLedger | TrivialLedger
    inner: Annotated[State, StateOf("inner")]


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
class Safe(Guaranteed, Wrapper):
    """An inner policy whose choice is played when it is safe; else `selection` falls back as in
    `Conservative`.

    Parameters
    ----------
    inner : a policy
        Any policy that plays single arms (one that plays sets makes a `SafeSets`); the other
        parameters are those of `Conservative`, `rewards` being those that the inner policy takes
        where it takes only some. With selection = "constrained" an unsafe choice gives way to the
        safe arm of the largest upper bound, with "two-step" to the baseline.
    """

    inner: Policy = inner_policy(kw_only=False)

    @staticmethod
    def variant(arguments: Arguments) -> type[Policy] | None:
        """The guarantee around a policy over sets is a policy over sets."""
        inner = arguments.get("inner")
        return SafeSets if is_policy(inner) and accepts(inner) == ("sets",) else None

    def init(self, arms):
        return SafeState(new_state(self, arms), init(self.inner, arms))

    @jit
    def select(self, state, context, rng):
        baseline, _ = bound_round(self, state.guarded, context)
        wanted = select(self.inner, state.inner, context, rng)
        arm, why = admitted(self, state, context, baseline, wanted)
        ledger = state.guarded.ledger[0]
        ledger.event, ledger.choice = why, arm
        return arm

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

    @jit
    def event(self, state, action):
        return int(state.guarded.ledger[0].event)

    def admit(self, state, context):
        check_round(self, state.guarded, context)
        admit(self.inner, state.inner, context)

    def grow(self, state, arms):
        return SafeState(
            longer_state(self, state.guarded, arms), grow(self.inner, state.inner, arms)
        )

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
        report = explanation(self, state.guarded, context, wanted, int(arm), int(why))
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


@lean
def admitted(policy, state, context, baseline, wanted):
    guarded = state.guarded
    if wanted == baseline:
        return wanted, BASELINE
    if is_safe(guarded, wanted):
        return wanted, OWN
    arm = fall_back(policy, guarded, context, baseline)
    return arm, why_instead(guarded, arm, baseline)
