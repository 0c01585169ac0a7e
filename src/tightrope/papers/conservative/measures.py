"""Ratios with errors, the models the paper picks, and its pictures."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import wraps
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from ...numerics.statistics import standard_error
from ...reports import style
from ...reports.curves import draw_bands
from ..experiment import Claim, Outcome, Run


@dataclass(frozen=True)
class Ratio:
    """A ratio of means of paired values with its standard error (delta method)."""

    value: float
    se: float


def ratio(above: np.ndarray, below: np.ndarray) -> Ratio:
    """mean(above) / mean(below) of paired replications."""
    value = float(above.mean() / below.mean())
    residual = above - value * below
    return Ratio(value, float(standard_error(residual)) / abs(float(below.mean())))


def final(result: Any, name: str, model: int | None = None, models: int = 1) -> np.ndarray:
    """Regret at the horizon, of all replications or of one model's (replication r plays model r % models)."""
    values = result.regret[name][:, -1]
    return values if model is None else values[model::models]


def picked(result: Any, improved: str, plain: str, models: int) -> dict[str, int]:
    """Worst and best model: where 1 - R_improved / R_plain is smallest and largest (Eq 31)."""
    gain = [1 - ratio(final(result, improved, m, models), final(result, plain, m, models)).value for m in range(models)]
    return {"worst": int(np.argmin(gain)), "best": int(np.argmax(gain))}


def reduction(figure: str, claim: str, paper: float, ours: Ratio, *, reason: str = "", relative: float = 0.2) -> Claim:
    """A claimed reduction 1 - ratio in per cent; reproduced within `relative` of the paper's number, partly if its sign is right."""
    value, se = 100 * (1 - ours.value), 100 * ours.se
    close = abs(value - paper) <= max(relative * abs(paper), 4 * se)
    verdict = "reproduced" if close else ("partly" if value > 4 * se else "not reproduced")
    test = f"within {relative:.0%} of the paper's number or 4 s.e.; partly if above 0 by 4 s.e."
    return Claim(figure, claim, f"{paper:g} %", value, se, test, verdict, "" if verdict == "reproduced" else reason)


def lower(figure: str, claim: str, paper: str, better: np.ndarray, worse: np.ndarray, *, reason: str = "") -> Claim:
    """A claimed order of two regrets, by their paired difference."""
    ours = ratio(better, worse)
    difference, se = float((better - worse).mean()), float(standard_error(better - worse))
    verdict = "reproduced" if difference < -4 * se else ("partly" if difference < 0 else "not reproduced")
    test = "paired difference below 0 by 4 s.e.; partly if below 0"
    return Claim(figure, claim, paper, ours.value, ours.se, test, verdict, "" if verdict == "reproduced" else reason)


def summary(result: Any, models: int, plain: str, chosen: dict[str, int]) -> pd.DataFrame:
    """Regret at the horizon, ratio to the plain conservative algorithm, budgets and events of every policy."""
    rows = []
    for name in result.policies:
        share = ratio(final(result, name), final(result, plain))
        seen = result.watched[name]
        events = seen["events"][:, -1].mean(axis=0) / result.rounds[-1]
        row = {
            "policy": name,
            "regret": float(final(result, name).mean()),
            "s.e.": float(standard_error(final(result, name))),
            f"ratio to {plain}": share.value,
            "s.e. of ratio": share.se,
        }
        row |= {
            f"{label} model": ratio(final(result, name, m, models), final(result, plain, m, models)).value for label, m in chosen.items()
        }
        rows.append(
            row
            | {
                "runs with violations": int((seen["violations"] > 0).sum()),
                "runs": result.replications,
                "minimum budget": float(seen["minimum"].min()),
                "lowest budget": float(seen["lowest"].min()),
                "own choice": events[0],
                "safe-other": events[1],
                "baseline": events[2],
            }
        )
    return pd.DataFrame(rows)


def safety(figure: str, result: Any, free: tuple[str, ...]) -> list[Claim]:
    """No run of a conservative policy breaks the constraint where it is verified; unconstrained ones do."""
    kept = [name for name in result.policies if name not in free]
    broken = int(sum((result.watched[name]["violations"] > 0).sum() for name in kept))
    runs = sum(result.replications for _ in kept)
    share = float(np.mean([(result.watched[name]["violations"] > 0).mean() for name in free]))
    # With probability 1 - delta each: delta plus 4 standard errors is what chance allows.
    verdict = "reproduced" if broken == 0 else "not reproduced"
    found = [
        Claim(
            figure,
            f"conservative algorithms never violate the constraint ({runs} runs)",
            "0 runs",
            f"{broken} runs",
            None,
            "no run has B < -1e-6 where verified",
            verdict,
        )
    ]
    test = "more than half of the runs have B < -1e-6"
    found.append(
        Claim(
            figure,
            f"{' and '.join(free)} violates it",
            "yes",
            f"{share:.0%} of runs",
            None,
            test,
            "reproduced" if share > 0.5 else "partly" if share > 0 else "not reproduced",
        )
    )
    return found


def panels(result: Any, models: int, chosen: dict[str, int], key: str, *, title: str, zoom: int | None = None) -> Figure:
    """Regret or budget of the worst, average and best model side by side."""
    shown: dict[str, int | None] = {"worst": chosen["worst"], "average": None, "best": chosen["best"]}
    fig, axes = style.figure(3, height=3.8)
    columns = slice(None) if zoom is None else slice(0, max(2, int(np.searchsorted(result.rounds, zoom, side="right"))))
    for ax, (label, model) in zip(axes, shown.items(), strict=True):
        curves = {}
        for name in result.policies:
            values = result.regret[name] if key == "regret" else result.watched[name][key]
            curves[name] = (values if model is None else values[model::models])[:, columns]
        draw_bands(ax, result.rounds[columns], curves)
        ax.set_title(f"{label} model" if model is not None else "average over models", fontsize=10, loc="left", color=style.INK)
        ax.set_xlabel("round", color=style.INK)
        if key != "regret":
            ax.axhline(0.0, color=style.INK, linewidth=0.8)
    axes[0].set_ylabel(title, color=style.INK)
    style.legend(axes[-1])
    return fig


def even_checkpoints(horizon: int, count: int = 100) -> list[int]:
    """Rounds evenly spaced, and about as many on a log scale for the beginning."""
    even = np.linspace(horizon / count, horizon, count)
    early = np.geomspace(1, horizon, min(40, horizon))
    return sorted({math.ceil(t) for t in np.concatenate([even, early])})


def explained(figure: Callable[[Run], Outcome]) -> Callable[[Run], Outcome]:
    """A figure whose misses without a reason of their own say whether the scale or the result is to blame."""

    @wraps(figure)
    def run_figure(run: Run) -> Outcome:
        outcome = figure(run)
        general = "Too few rounds and runs at this scale." if run.scale == "smoke" else "Unexpected: no reason is known."
        outcome.claims = [c if c.verdict == "reproduced" or c.reason else replace(c, reason=general) for c in outcome.claims]
        return outcome

    return run_figure
