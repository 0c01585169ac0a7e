"""The budget that a conservative policy surely has, for those who watch it: cheaper than an
explanation."""

import math
from typing import Any

import numpy as np

from ...core.fields import opened
from ...core.types import Explanation, State
from ...core.verbs import Context
from ...numerics.batch_ridge import solve
from .guarantee import ArmLedger, Guaranteed, bound_round, open_decisions
from .indices import Independent, LinearLedger, TrivialLedger, martingale_and_open
from .ledger import (
    CONFIDENCE,
    COUNT_NOTHING,
    LOWER,
    MARTINGALE,
    SUBGAUSSIAN,
    UNSAID,
    baseline_of,
    budget_bound,
    known_mean,
    part,
    value_of,
)
from .promises import EACH, LEDGER_OF, ROW, SCOPE, SENSE, Promise, Promises, line_of
from .safesets import SafeSets, SetState, norm, set_beta, sets_bound


def ledger_of(state: State) -> ArmLedger | SetState | Promises | None:
    """The part of a state that keeps a ledger: the state itself, or what `Safe` puts around another
    policy; None where there is none."""
    ledger = getattr(state, "guarded", state)
    kept = Independent | LinearLedger | TrivialLedger | SetState | Promises
    return ledger if isinstance(ledger, kept) else None


def holdings(policy: Any, state: State) -> Explanation | None:
    """The lower bound of the budget (`budget_bound`), what is `open`, and what the promise rests
    on; None where nothing keeps a ledger.

    The bound is about the rounds so far, so nothing is asked of the round to come. state: one of
    the caller's own, which is written into.
    `line` is kappa, omega and 1 - kappa of the promise, `sense` -1 for "at most".
    O(K), with features O(K d + d^2), for sets O(M d^3). Of several promises the bound is the least
    of all, and `promises` has that of each, with `segments` for one about each segment.
    """
    kept = ledger_of(state)
    if kept is None:
        return None
    if isinstance(kept, Promises):
        return holdings_of_promises(policy, kept)
    return holdings_of(policy, kept, policy.alpha)


def holdings_of(policy: Any, kept: ArmLedger | SetState, alpha: float | None) -> Explanation:
    sets = isinstance(kept, SetState)
    bound, opened = (
        bound_of_sets(policy, kept) if isinstance(kept, SetState) else bound_of_arms(policy, kept)
    )
    ledger = kept.ledger[0]
    bernoulli = bool(ledger.level > 0.0)
    return {
        "budget_bound": bound,
        "open": opened,
        "alpha": alpha,
        "sense": 1,
        "line": None if alpha is None else [1.0 - alpha, 0.0, alpha],
        "delta": policy.delta,
        "failure": float(ledger.failure),
        "sigma": float(ledger.sigma),
        "rewards": [float(ledger.low), float(ledger.low + ledger.span)],
        "bernoulli": bernoulli,
        "checkpoint": policy.checkpoint.tolist(),
        "min_gap": policy.min_gap,
        "sets": sets,
        "norms": [policy.theta_bound, policy.arm_bound]
        if isinstance(kept, LinearLedger | SetState)
        else None,
        "estimates": not isinstance(kept, TrivialLedger),
        "freedman": not bernoulli
        and policy.martingale != SUBGAUSSIAN
        and (sets or policy.bound == MARTINGALE),
        "lower": not sets and policy.open == LOWER,
        "baseline_mean": None if math.isnan(mean := mean_of(policy, kept)) else mean,
        "learned": math.isnan(mean)
        and (isinstance(kept, SetState) or not means_are_known(policy, kept)),
    }


def mean_of(policy: Any, kept: ArmLedger | SetState) -> float:
    return policy.baseline_mean if isinstance(kept, SetState) else float(known_mean(kept.ledger[0]))


def holdings_of_promises(policy: Any, state: Promises) -> Explanation:
    told = []
    for place, item in zip(policy.places, opened(policy.promises), strict=False):
        promise, number = Promise(**item), policy.segments if place[SCOPE] == EACH else 1
        each = [
            holdings_of(
                policy, part(state.parts, place[LEDGER_OF] + s, place[ROW] + s), promise.alpha
            )
            for s in range(number)
        ]
        least = min(each, key=lambda one: one["budget_bound"])
        opened_by = {name: sum(one["open"][name] for one in each) for name in least["open"]}
        failure = sum(one["failure"] for one in each)
        told.append(least | {"promise": str(promise), "open": opened_by, "failure": failure})
        told[-1] |= {"sense": int(place[SENSE]), "line": [*line_of(promise)]}
        if place[SENSE] < 0:  # its ledger is about minus the metric
            low, high = told[-1]["rewards"]
            mean = told[-1]["baseline_mean"]
            told[-1] |= {"rewards": [0.0 - high, 0.0 - low], "baseline_mean": mean and 0.0 - mean}
        if number > 1:
            told[-1]["segments"] = [one["budget_bound"] for one in each]
    least = min(told, key=lambda one: one["budget_bound"])
    failure = sum(one["failure"] for one in told)
    return least | {"failure": failure, "open": told[0]["open"], "promises": told}


def means_are_known(policy: Guaranteed, kept: ArmLedger) -> bool:
    """Whether rounds bring the known means of their baselines."""
    return bool(value_of(kept.ledger[0].promised)) or (
        not isinstance(kept, LinearLedger) and policy.baseline < 0
    )


def bound_of_arms(policy: Guaranteed, kept: ArmLedger) -> tuple[float, Explanation]:
    features = (
        np.zeros((kept.bounds.lower.size, kept.model.features.shape[1]))
        if isinstance(kept, LinearLedger) and not kept.fixed
        else None
    )
    mean_is_read = kept.ledger[0].known == UNSAID and means_are_known(policy, kept)
    # a round of zeros stands for the next one, which the bound does not look at
    context = Context(
        features, None, 0 if policy.baseline < 0 else None, 0.0 if mean_is_read else None
    )
    bound_round(policy, kept, context)
    bound = float(
        budget_bound(kept, policy, context, *baseline_of(policy, context, kept.ledger[0]))
    )
    ledger = kept.ledger[0]
    bound += max(float(ledger.low * ledger.explored) - own_bound(policy, kept, context), 0.0)
    if policy.bound == MARTINGALE and policy.open == COUNT_NOTHING and ledger.known > UNSAID:
        bound += float(
            ledger.baseline_open * (ledger.known - ledger.low)
        )  # what is known of open rounds of the baseline
    return bound, open_decisions(policy, kept)


def own_bound(policy: Guaranteed, kept: ArmLedger, context: Context) -> float:
    """The part of the bound that is about the learner's own arms. They earn at least the lowest
    reward, also where the policy decides by a bound below (clip = "paper": psi is charged before
    anything was explored)."""
    if isinstance(kept, LinearLedger) and math.isnan(
        baseline_of(policy, context, kept.ledger[0])[1]
    ):
        return 0.0 if policy.bound == CONFIDENCE else float(martingale_and_open(kept, policy))
    return float(kept.ledger[0].bound)


def bound_of_sets(policy: SafeSets, kept: SetState) -> tuple[float, Explanation]:
    ledger = kept.ledger[0]
    bound = sets_bound(policy, kept)
    if math.isnan(policy.baseline_mean):
        theta, factor = solve(kept.model)
        bound += float((theta * kept.owed).sum()) - set_beta(policy, kept) * norm(factor, kept.owed)
    else:
        bound += float(value_of(ledger.earned) - (1.0 - policy.alpha) * value_of(ledger.promised))
    return bound, {"arms": int(ledger.awaited), "charged": 0.0}
