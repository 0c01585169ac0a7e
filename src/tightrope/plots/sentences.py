"""Sentences on numbers that are true whatever these are: a difference counts where chance would hardly make it."""

import math
from collections.abc import Mapping, Sequence

import numpy as np
from scipy import special

from ..numerics.statistics import standard_error
from .digits import rounded_number, with_error

ERROR = 0.01  # chance of any wrong order in one sentence, shared among its comparisons


def margin(replications: int, comparisons: int = 1) -> float:
    """How many standard errors a mean difference must have: Student's t, the error shared among the comparisons."""
    if replications < 2:
        return math.inf
    return float(special.stdtrit(replications - 1, 1.0 - 0.5 * ERROR / max(comparisons, 1)))


def differ(first: np.ndarray, second: np.ndarray, comparisons: int = 1) -> bool:
    """Whether paired replications show a difference of their means."""
    gap = np.asarray(first, dtype=np.float64) - np.asarray(second, dtype=np.float64)
    if gap.size < 2:
        return False
    return bool(abs(float(gap.mean())) > margin(gap.size, comparisons) * float(standard_error(gap)))


def mean(values: np.ndarray, *, sign: bool = False) -> str:
    return with_error(float(np.mean(values)), float(standard_error(np.asarray(values, dtype=np.float64))), sign=sign)


def listed_words(words: Sequence[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


def lowest(cost: Mapping[str, np.ndarray], what: str, *, least: str = "lowest", below: str = "below") -> str:
    """Who has the lowest mean of what, and by how much; or that no difference is shown. cost[name]: (replications,), paired.

    least, below: the words for it, such as "highest" and "above" where the costs are gains with a minus.
    """
    sign = 1.0 if below == "below" else -1.0
    names = sorted(cost, key=lambda name: float(cost[name].mean()))
    best, n = names[0], cost[names[0]].size
    shown = {name: mean(sign * cost[name]) for name in names}
    if len(names) == 1:
        return f"{best} has a {what} of {shown[best]}."
    if n < 2:
        return f"In a single replication {best} has the {least} {what}, {shown[best]}; one replication shows no difference."
    level = [name for name in names[1:] if not differ(cost[name], cost[best], len(names) - 1)]
    if level:
        alike = listed_words([f"{name} ({shown[name]})" for name in [best, *level]])
        if len(level) == len(names) - 1:
            return f"No difference in {what} is shown among {alike}."
        others = "others have more" if below == "below" else "others have less"
        return f"No difference is shown among {alike}, which have the {least} {what}; all {others}."
    second = names[1]
    gap = cost[second] - cost[best]
    by = with_error(float(gap.mean()), float(standard_error(gap)))
    return f"{best} has the {least} {what}, {shown[best]}: {by} {below} {second}, the next ({n} paired replications)."


def share(count: int, total: int) -> str:
    return f"{count:,} of {total:,} ({rounded_number(100.0 * count / total, 1.0 if total < 1000 else 0.1)}%)"
