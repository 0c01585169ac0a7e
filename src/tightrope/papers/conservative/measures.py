"""What the figures share: regret at the horizon, the models the paper picks, its claims on safety and budgets, its pictures."""

import math

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from ...engine.results import Result
from ...numerics.statistics import standard_error
from ...reports import style
from ...reports.curves import draw_bands
from ..scoring import Row, Estimate, above, below, gain, judged, most, never, paired, ratio


def final(result: Result, name: str, model: int | None = None, models: int = 1) -> np.ndarray:
    """Regret at the horizon, of all replications or of one model's (replication r plays model r % models)."""
    values = result.regret[name][:, -1]
    return values if model is None else values[model::models]


def relative(result: Result, name: str, plain: str, model: int | None = None, models: int = 1) -> Estimate:
    """Regret at the horizon as a multiple of that of `plain`, over all replications or on one model."""
    return ratio(final(result, name, model, models), final(result, plain, model, models))


def gains(result: Result, improved: str, plain: str, models: int) -> list[float]:
    """1 - R_improved / R_plain on every model (Eq 31)."""
    return [1 - relative(result, improved, plain, m, models).value for m in range(models)]


def picked(result: Result, improved: str, plain: str, models: int) -> dict[str, int]:
    """Worst and best model: where the gain is smallest and largest."""
    found = gains(result, improved, plain, models)
    return {"worst": int(np.argmin(found)), "best": int(np.argmax(found))}


def reduction(claim: str, paper: float, ours: Estimate, *, remark: str = "", tolerance: float = 0.2) -> Row:
    """A claimed reduction of regret, 1 - ratio, in per cent; tolerance: as a share of the paper's number."""
    reduced = Estimate(100 * (1 - ours.value), 100 * ours.se)
    return judged(claim, f"{paper:g} %", reduced, gain(reduced, paper, tolerance * abs(paper)), remark=remark)


def lower(claim: str, paper: str, better: np.ndarray, worse: np.ndarray, *, remark: str = "") -> Row:
    """A claimed order of two regrets: judged by their paired difference, shown as a ratio."""
    return judged(claim, paper, ratio(better, worse), below(paired(better, worse)), remark=remark)


def safety(result: Result, free: str, where: str = "") -> list[Row]:
    """No run of a conservative policy breaks the constraint where it is verified; the unconstrained one, `free`, does."""
    broken = {name: result.watched[name]["violations"] > 0 for name in result.policies}
    violating = int(broken[free].sum())
    unsafe = int(sum(runs.sum() for name, runs in broken.items() if name != free))
    total = sum(runs.size for name, runs in broken.items() if name != free)
    kept = f"conservative algorithms never violate the constraint{where} ({total} runs)"
    return [
        judged(kept, "0 runs", f"{unsafe} runs", never(unsafe, total)),
        judged(f"{free} violates it{where}", "yes", f"{violating / broken[free].size:.0%} of runs", most(violating, broken[free].size)),
    ]


def budgets(result: Result, free: str, plain: str, improved: str) -> list[Row]:
    """The better the algorithm the higher its budget; the unconstrained one falls below 0."""
    difference = paired(result.watched[improved]["budget"][:, -1], result.watched[plain]["budget"][:, -1])
    return [judged(f"{improved} ends with a higher budget than {plain}", "higher", difference, above(difference)), *safety(result, free)]


def summary(result: Result, models: int, plain: str, chosen: dict[str, int]) -> pd.DataFrame:
    """Regret at the horizon, ratio to the plain conservative algorithm, budgets and events of every policy."""
    rows = []
    for name in result.policies:
        of_plain = relative(result, name, plain)
        seen = result.watched[name]
        events = seen["events"][:, -1].mean(axis=0) / result.rounds[-1]
        row = {
            "policy": name,
            "regret": float(final(result, name).mean()),
            "s.e.": float(standard_error(final(result, name))),
            f"ratio to {plain}": of_plain.value,
            "s.e. of ratio": of_plain.se,
        }
        row |= {f"{label} model": relative(result, name, plain, model, models).value for label, model in chosen.items()}
        row |= {
            "runs with violations": int((seen["violations"] > 0).sum()),
            "runs": result.replications,
            "minimum budget": float(seen["minimum"].min()),
            "lowest budget": float(seen["lowest"].min()),
            "own choice": events[0],
            "safe-other": events[1],
            "baseline": events[2],
        }
        rows.append(row)
    return pd.DataFrame(rows)


def panels(result: Result, models: int, chosen: dict[str, int], key: str, *, title: str, zoom: int | None = None) -> Figure:
    """Regret or budget of the worst, average and best model side by side; zoom: the last round shown."""
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


def budget_panels(result: Result, models: int, chosen: dict[str, int], zoom: int) -> dict[str, Figure]:
    """Budgets to the end, and up to the round `zoom`."""
    return {
        "budget": panels(result, models, chosen, "budget", title="true budget"),
        "beginning": panels(result, models, chosen, "budget", title="true budget", zoom=zoom),
    }


def even_checkpoints(horizon: int, count: int = 100) -> list[int]:
    """Rounds evenly spaced, and about as many on a log scale for the beginning."""
    even = np.linspace(horizon / count, horizon, count)
    early = np.geomspace(1, horizon, min(40, horizon))
    return sorted({math.ceil(t) for t in np.concatenate([even, early])})
