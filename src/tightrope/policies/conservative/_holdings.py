"""What a conservative policy surely has in hand, for those who watch it: cheaper than an explanation."""

import math
from typing import Any

from ._explanation import open_decisions
from ._guarantee import bound_round, check_round
from ._ledger import MARTINGALE, NOTHING, Independent, Linear, budget_bound


def ledger_of(state: Any) -> Any:
    """The part of a state that keeps a ledger: the state itself, or what `Safe` put around another policy; None where there is none."""
    found = getattr(state, "guarded", state)
    return found if isinstance(found, Independent | Linear) else None


def holdings(policy: Any, state: Any, context: Any) -> dict[str, Any] | None:
    """The lower bound of the budget (`budget_bound`), what is `open`, and the parameters it rests on; None where nothing keeps a ledger.

    state: one of the caller's own, which is written into. context: the round's, as for `select`. O(K), with features O(K d + d^2).
    """
    kept = ledger_of(state)
    if kept is None:
        return None
    check_round(policy, kept, context)
    baseline, mean = bound_round(policy, kept, context)
    bound = float(budget_bound(kept, policy, context, baseline, mean))
    if policy.bound == MARTINGALE and policy.open == NOTHING and not math.isnan(mean):  # what is known of open rounds of the baseline
        bound += float(kept.ledger[0].baseline_open) * float(mean)
    return {"budget_bound": bound, "open": open_decisions(policy, kept)} | {
        name: getattr(policy, name) for name in ("alpha", "delta", "sigma")
    }
