"""What a conservative policy surely has in hand, for those who watch it: cheaper than an explanation, and nothing is changed."""

import math
from typing import Any

import numpy as np

from ._explanation import open_decisions
from ._guarantee import bound_round, check_round
from ._ledger import MARTINGALE, NOTHING, Independent, Linear, budget_bound


def ledger_of(state: Any) -> Any:
    """The part of a state that keeps a ledger: the state itself, or what `Safe` put around another policy; None where there is none."""
    found = getattr(state, "guarded", state)
    return found if isinstance(found, Independent | Linear) else None


def holdings(policy: Any, state: Any, context: Any) -> dict[str, Any] | None:
    """The lower bound of the budget (`budget_bound`), what is `open`, and the parameters it rests on; None where nothing keeps a ledger.

    context: the round's, as for `select`. O(K), with features O(K d + d^2).
    """
    kept = ledger_of(state)
    if kept is None:
        return None
    check_round(policy, kept, context)
    own = _copied(kept)
    baseline, mean = bound_round(policy, own, context)
    bound = float(budget_bound(own, policy, context, baseline, mean))
    if policy.bound == MARTINGALE and policy.open == NOTHING and not math.isnan(mean):  # what is known of open rounds of the baseline
        bound += float(own.ledger[0].baseline_open) * float(mean)
    return {"budget_bound": bound, "open": open_decisions(policy, own)} | {
        name: getattr(policy, name) for name in ("alpha", "delta", "sigma")
    }


def _copied(state: Any) -> Any:
    """A state that `bound_round` may write into."""
    values = [_copied(value) if hasattr(value, "_fields") else value.copy() if isinstance(value, np.ndarray) else value for value in state]
    return type(state)(*values)
