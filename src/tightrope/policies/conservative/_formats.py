"""States of session files of format 1, which counted rounds when their reward came in, under today's names.

They knew no open decisions: every decision of theirs is closed.
"""

import math
from typing import Any

import numpy as np

from ._ledger import LEDGER

# Places in the array `book` of format 1; the compensated sums took two.
PLAIN = {
    "rounds": 0,
    "explored": 1,
    "closed": 1,
    "conserved": 2,
    "place": 11,
    "event": 12,
    "choice": 13,
    "slack": 14,
    "bound": 15,
    "reference": 16,
}
SUMS = {"rewards": 3, "earned": 5, "promised": 7, "truth": 9}


def translated(policy: Any, stored: dict[str, np.ndarray], prefix: str = "state") -> dict[str, np.ndarray]:
    """Arrays of a state by path; those of other prefixes as they are."""
    own = {path.removeprefix(f"{prefix}."): array for path, array in stored.items() if path.startswith(f"{prefix}.")}
    if "book" not in own:
        return stored
    book, arms, kept = (
        own.pop("book"),
        own.pop("arms"),
        {path: array for path, array in stored.items() if not path.startswith(f"{prefix}.")},
    )
    K, ledger = arms.shape[1], np.zeros(1, dtype=LEDGER)
    for name, place in PLAIN.items():
        ledger[name] = book[place]
    for name, place in SUMS.items():
        ledger[name] = book[place : place + 2]
    ledger["stale"], ledger["beta"] = -1, own.pop("beta", np.zeros(1))
    own |= {"ledger": ledger, "bounds.offer": np.zeros(K), "open": np.zeros(K)}
    own |= dict(zip(("bounds.lower", "bounds.upper", "bounds.total", "bounds.index"), arms.copy(), strict=True))
    if "counts" in own:
        pulls, sums, mean = own.pop("counts").copy()
        decided = pulls.copy()
        if math.isnan(policy.baseline_mean) and policy.baseline >= 0:  # rewards of the baseline's rounds were learned from, too
            decided[policy.baseline] -= book[PLAIN["conserved"]]
        own |= {"pulls": pulls, "sums": sums, "mean": mean, "own": decided}
        ledger["learned"] = pulls.sum()
    else:
        played, owed, point = own.pop("sums").copy()
        own |= {"played": played, "awaited": np.zeros(played.size), "owed": owed, "point": point}
        ledger["learned"] = book[PLAIN["explored"]] + (book[PLAIN["conserved"]] if math.isnan(policy.baseline_mean) else 0.0)
    return kept | {f"{prefix}.{path}": array for path, array in own.items()}
