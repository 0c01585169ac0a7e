"""What an explanation of this family says: the numbers of the round's decision, and one sentence."""

import math
from typing import Any

import numpy as np

from ...numerics.checkpoints import remaining
from ...numerics.counts import intervals
from ._budget import TOLERANCE, martingale_radius
from .books import (
    BASELINE,
    EVENTS,
    EXPLORED,
    FREEDMAN,
    LOWER,
    MEAN,
    OWN,
    PLACE,
    PULLS,
    REFERENCE,
    ROUNDS,
    SLACK,
    TOTAL,
    UPPER,
    Linear,
    baseline_of,
    standing,
)  # fmt: skip


def account(policy: Any, state: Any, context: Any, first: int, arm: int, event: int) -> dict[str, Any]:
    """Report on a state whose `weigh` has just run: `first` is what the learner wanted, `arm` what is played, `event` why."""
    book = state.book
    baseline, mean = (number.item() if isinstance(number, np.generic) else number for number in baseline_of(policy, context))
    total, slack, reference = state.arms[TOTAL].copy(), float(book[SLACK]), float(book[REFERENCE])
    value = float(standing(state, policy, context, baseline, mean))
    if isinstance(state, Linear):
        estimate, width, beta = state.model.mean.copy(), state.arms[UPPER] - state.model.mean, float(state.beta[0])
    else:
        estimate, width, beta = (
            np.where(state.counts[PULLS] > 0, state.counts[MEAN], np.nan),
            state.arms[UPPER] - state.counts[MEAN],
            math.nan,
        )
    report = intervals(estimate, width)
    report["lower"], report["upper"] = state.arms[LOWER].copy(), state.arms[UPPER].copy()
    ahead = remaining(policy.checkpoint, policy.min_gap, int(book[PLACE]), int(book[ROUNDS]) + 1)
    return report | {
        "safe": total + slack >= -TOLERANCE,
        "slack": slack,
        "total": total,
        "budget_bound": value,
        "psi": float(martingale_radius(policy.sigma, policy.delta, book[EXPLORED], policy.martingale == FREEDMAN)),
        "beta": beta,
        "event": EVENTS[event],
        "checkpoint_in": int(ahead),
        "reason": sentence(first, arm, event, baseline, value, value - float(total[first]) - slack, report["upper"], reference),
    }


def sentence(first: int, arm: int, event: int, baseline: int, budget: float, needed: float, upper: np.ndarray, reference: float) -> str:
    """Why this arm, for a person."""
    short = f"budget {budget:.3g} short of {needed:.3g} needed for arm {first}"
    if event == OWN:
        return f"arm {arm}: the learner's first choice, and budget {budget:.3g} covers the {needed:.3g} it needs"
    if event == BASELINE:
        if first == baseline:
            return f"baseline: no arm promises more than its {reference:.3g}"
        if budget >= needed - TOLERANCE:
            return f"baseline: the safe arms promise at most {upper[first]:.3g}, less than its {reference:.3g}"
        return f"baseline: {short}"
    return f"arm {arm}: {short}, but arm {arm} is safe"
