"""An explanation in this family: the numbers of the round's decision, and one sentence."""

import math
from typing import TypeAlias

import numpy as np

from ...core.types import Explanation
from ...core.verbs import Context
from ...numerics.checkpoints import remaining
from ...numerics.counts import intervals
from .guarantee import TOLERANCE, Guaranteed
from .independent import Independent
from .ledger import BASELINE, EVENTS, LOWER, MARTINGALE, OWN, UNSAFE, baseline_of, bound_open, budget_bound, charged_noise
from .linear import LinearLedger
from .trivial import TrivialLedger

ArmLedger: TypeAlias = Independent | LinearLedger | TrivialLedger


def explanation(policy: Guaranteed, state: ArmLedger, context: Context, first: int, arm: int, event: int) -> Explanation:
    """Report on a state whose `bound_round` has just run: `first` is what the learner wanted, `arm` what is played, `event` why."""
    ledger, bounds = state.ledger[0], state.bounds
    baseline, mean = (number.item() if isinstance(number, np.generic) else number for number in baseline_of(policy, context))
    total, slack, reference = bounds.total.copy(), float(ledger.slack), float(ledger.reference)
    budget = float(budget_bound(state, policy, context, baseline, mean))
    if isinstance(state, LinearLedger):
        estimate, width, beta = state.model.mean.copy(), bounds.upper - state.model.mean, float(ledger.beta)
    elif isinstance(state, Independent):
        estimate, width, beta = np.where(state.pulls > 0, state.mean, np.nan), bounds.upper - state.mean, math.nan
    else:
        estimate, width, beta = np.full(total.size, np.nan), bounds.upper.copy(), math.nan
    report = intervals(estimate, width)
    report["lower"], report["upper"] = bounds.lower.copy(), bounds.upper.copy()
    ahead = remaining(policy.checkpoint, policy.min_gap, int(ledger.place), int(ledger.rounds) + 1)
    needed = budget - total - slack  # what playing each arm would take off the bound at worst
    return report | {
        "safe": total + slack >= -TOLERANCE,
        "slack": slack,
        "total": total,
        "budget_bound": budget,
        "psi": float(charged_noise(policy, ledger)),
        "beta": beta,
        "event": EVENTS[event],
        "checkpoint_in": int(ahead),
        "open": open_decisions(policy, state),
        "reason": sentence(first, arm, event, baseline, budget, needed, report["upper"], reference),
    }


def open_decisions(policy: Guaranteed, state: ArmLedger) -> Explanation:
    """How many rounds await their reward, and what they count for.

    `decisions` of the learner, rounds of the `baseline`; what the learner's are `charged` at is their part of the lower bound of what was
    earned, NaN where they are bounded together with all others.
    """
    ledger, charged = state.ledger[0], math.nan
    if policy.bound == MARTINGALE:
        charged = float(bound_open(state)) if policy.open == LOWER else 0.0
    return {"decisions": int(ledger.explored - ledger.closed), "baseline": int(ledger.conserved_open), "charged": charged}


def sentence(
    first: int, arm: int, event: int, baseline: int, budget: float, needed: np.ndarray, upper: np.ndarray, reference: float
) -> str:
    short = f"budget {budget:.3g} short of {needed[first]:.3g} needed for arm {first}"
    if event == UNSAFE:
        return (
            f"arm {arm}: no arm is safe and baseline {baseline} is not eligible; of the eligible arms this one risks least, but budget "
            f"{budget:.3g} does not cover the {needed[arm]:.3g} it needs: the promise does not hold in this round"
        )
    if event == OWN:
        return f"arm {arm}: the learner's first choice, and budget {budget:.3g} covers the {needed[arm]:.3g} it needs"
    if event == BASELINE:
        if first == baseline:
            return f"baseline: no arm promises more than its {reference:.3g}"
        if budget >= needed[first] - TOLERANCE:
            return f"baseline: the safe arms promise at most {upper[first]:.3g}, less than its {reference:.3g}"
        return f"baseline: {short}"
    return f"arm {arm}: {short}, but arm {arm} is safe"
