"""Results in rows: means with paired differences, and the tables that notebooks, pages and the command line show."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np

from ..core.types import JsonObject
from ..numerics.statistics import standard_error
from ..plots.digits import rounded_number, with_error


@dataclass(frozen=True)
class SummaryRow:
    """One policy's line of a summary of what its runs cost: regret, or rounds.

    certified: "19 of 20" where runs of `identify` gave up, which count as the rounds that they had: the mean is at least this. Else "".
    """

    policy: str
    mean: float
    se: float
    median: float
    worst: float
    difference: float  # mean paired difference to the best policy
    difference_se: float
    certified: str = ""


def certified_runs(complete: np.ndarray) -> str:
    return "" if complete.all() else f"{int(complete.sum())} of {complete.size}"


def summary_rows(cost: Mapping[str, np.ndarray], certified: Mapping[str, str]) -> list[SummaryRow]:
    """A row for every policy, lowest mean first, with paired differences against that one. cost[name]: (replications,)."""
    best = min(cost, key=lambda name: float(cost[name].mean()))
    rows = [
        SummaryRow(name, float(x.mean()), float(standard_error(x)), float(np.median(x)), float(x.max()),
            float((x - cost[best]).mean()), float(standard_error(x - cost[best])) if name != best else 0.0,
            certified.get(name, ""))
        for name, x in cost.items()
    ]  # fmt: skip
    return sorted(rows, key=lambda row: row.mean)


class Summary(NamedTuple):
    """A table of ready strings."""

    headers: list[str]
    rows: list[list[str]]
    caption: str


class Simulated(Protocol):
    """The attributes of a simulation that its table shows."""

    def summary(self) -> list[SummaryRow]: ...
    @property
    def rounds(self) -> np.ndarray: ...
    @property
    def replications(self) -> int: ...
    @property
    def settings(self) -> JsonObject: ...


class Identified(Protocol):
    """The attributes of an identification that its table shows."""

    def summary(self) -> list[SummaryRow]: ...
    @property
    def correct(self) -> Mapping[str, np.ndarray]: ...
    @property
    def stopped(self) -> Mapping[str, np.ndarray]: ...
    @property
    def policies(self) -> Sequence[str]: ...
    @property
    def replications(self) -> int: ...


def regret_summary(result: Simulated) -> Summary:
    """Final regret ± standard error and the paired difference to the best policy."""
    rounds, n = int(result.rounds[-1]), result.replications
    ranked = result.settings.get("until")
    order = f" {ranking_sentence(ranked)}" if ranked else ""
    errors = "± one standard error." if n > 1 else "one replication has no standard error."
    return Summary(
        ["policy", "final regret", "minus best, paired", "median", "largest"],
        [cost_cells(row) for row in result.summary()],
        f"After {rounds:,} rounds, {n} replication{'s' if n != 1 else ''}; {errors}{order}",
    )


def rounds_summary(result: Identified) -> Summary:
    """Rounds ± standard error, the paired difference to the fewest, and shares of runs that were right and certified."""
    shares = {name: [_share(result.correct[name]), _share(result.stopped[name])] for name in result.policies}
    n = result.replications
    return Summary(
        ["policy", "rounds", "minus fewest, paired", "median", "largest", "right", "certified"],
        [cost_cells(row) + shares[row.policy] for row in result.summary()],
        f"{n} replication{'s' if n != 1 else ''}; ± one standard error."
        + gave_up_sentence({r.policy: r.certified for r in result.summary()}),
    )


def gave_up_sentence(certified: Mapping[str, str]) -> str:
    """A sentence after a space about policies of which runs gave up, "" where none did."""
    cut = ", ".join(f"{name} certified {runs}" for name, runs in certified.items() if runs)
    return f" {cut}: runs that gave up count as the rounds they had, so that their mean is at least this." if cut else ""


def ranking_sentence(ranked: JsonObject) -> str:
    """The sentence about what a rule of `stopping` decided, after how many replications.

    Parameters
    ----------
    ranked : dict
        A result's `settings["until"]`.

    Returns
    -------
    str
        One sentence.

    Raises
    ------
    KeyError
        Where the dict is not from a result that was run with `until`.

    Examples
    --------
    >>> import tightrope as tr
    >>> tr.stopping.sentence({"replications": 40, "alpha": 0.05, "certain": True, "undecided": []})
    'The order is certain (error 0.05) after 40 replications.'
    """
    n, error = ranked["replications"], f"error {ranked['alpha']:g}"
    if ranked["certain"]:
        return f"The order is certain ({error}) after {n} replications."
    undecided = "; ".join(f"{first} and {second}" for first, second in ranked["undecided"])
    return f"After {n} replications the order is undecided ({error}) for {undecided}."


def cost_cells(row: SummaryRow) -> list[str]:
    """Policy, mean, paired difference to the best, median and worst of a summary, to the digits that their standard errors set."""
    paired = "best" if row.difference == 0 and row.difference_se == 0 else with_error(row.difference, row.difference_se, sign=True)
    return [
        row.policy,
        ("≥ " if row.certified else "") + with_error(row.mean, row.se),
        paired,
        rounded_number(row.median, row.se),
        rounded_number(row.worst, row.se),
    ]


def _share(happened: np.ndarray) -> str:
    """A share of the runs with its standard error, or the count where all runs agree and there is none."""
    if happened.all() or not happened.any() or happened.size < 2:
        return f"{happened.mean():.4g}"
    return with_error(float(happened.mean()), float(standard_error(happened)))
