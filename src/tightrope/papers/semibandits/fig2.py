"""Figure 2: cumulative reward in ten clusters of equal arms, by the angle between them, under several rules for ties."""

import math
from typing import Literal, NamedTuple

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from ...engine.monitors import SetValue
from ...problems import SemiBandit
from ...registry import Policy
from ...reports import style
from ..experiment import Run
from ..scoring import OURS, Row, estimate, everywhere_above, judged, paired
from .clusters import clustered
from .settings import GRID, NAMES, best, grid, share_of

ROUNDS = 10
FROM = 0.3  # the angle, in units of pi/2, from which the paper's figure shows the gaps
RULES = {
    "index": "ties to the lowest index",
    "random": "random ties",
    "jitter": "jittered features",
    "tiers": "clusters of norm 1 - 0.001 j, random ties within",
}


class Cell(NamedTuple):
    """Expected reward of ROUNDS rounds by one algorithm at one angle under one rule."""

    grid: np.ndarray  # (settings, trials)
    fresh: np.ndarray  # (fresh trials,) of the best setting


Data = dict[tuple[str, float, str], Cell]  # by rule, angle and algorithm


def data(run: Run) -> Data:
    """All algorithms at all angles, under every rule for ties."""
    angles = run.at(smoke=(0.6,), laptop=(0.1, 0.3, 0.5, 0.7, 1.0), paper=tuple(np.round(np.arange(0.1, 1.01, 0.1), 1).tolist()))
    rules = run.at(smoke=("index", "random"), laptop=tuple(RULES), paper=tuple(RULES))
    found: Data = {}
    for rule in rules:
        for angle in angles:
            found |= {(rule, angle, name): cell for name, cell in play(run, rule, angle).items()}
    return found


def play(run: Run, rule: str, angle: float) -> dict[str, Cell]:
    """Every algorithm: its whole grid over some trials, then the best setting over fresh ones."""
    trials, fresh = run.at(smoke=(4, 12), laptop=(40, 200), paper=(100, 500))
    arms, k = run.at(smoke=(400, 20), laptop=(2000, 100), paper=(2000, 100))
    ties: Literal["index", "random"]
    jitter, tiers, ties = 1e-3 if rule == "jitter" else 0.0, rule == "tiers", "random" if rule in ("random", "tiers") else "index"
    values, c = run.at(smoke=GRID[1:4], laptop=GRID, paper=GRID), run.at(smoke=(1.0,), laptop=(1.0,), paper=None)
    worlds = [clustered(angle * math.pi / 2, seed=trial, arms=arms, k=k, jitter=jitter, tiers=tiers) for trial in range(trials + fresh)]

    def reward(label: str, chosen: list[Policy], problems: list[SemiBandit]) -> np.ndarray:
        result = run.simulate(
            f"fig2-{rule}-{angle:g}/{label.replace(' ', '-')}", problems, {str(i): policy for i, policy in enumerate(chosen)},
            horizon=ROUNDS, replications=len(problems), checkpoints=[ROUNDS], monitor=SetValue(),
        )  # fmt: skip
        return np.stack([result.watched[name]["value"][:, -1] for name in result.policies])

    cells = {}
    for name in NAMES:
        settings = grid(name, values, ties, c)
        tried = reward(f"{name} grid", settings, worlds[:trials])
        cells[name] = Cell(tried, reward(f"{name} best", [settings[best(tried)]], worlds[trials:])[0])
    return cells


def score(found: Data) -> list[Row]:
    """Arm-wise above round-wise at every angle that the paper shows to be wide enough."""
    wide = [angle for angle in dict.fromkeys(angle for _, angle, _ in found) if angle >= FROM]

    def above(key: str, rule: str, first: str, second: str, remark: str = "") -> Row:
        pairs = [(found[rule, angle, first].fresh, found[rule, angle, second].fresh) for angle in wide]
        gaps, shares = [paired(*pair) for pair in pairs], [share_of(*pair) for pair in pairs]
        least = min(gap.value / gap.se if gap.se > 0 else math.copysign(math.inf, gap.value) for gap in gaps)
        ours = f"{min(shares):+.0%} to {max(shares):+.0%}, least {least:.1f} se"
        text = f"{first} above {second}, {RULES[rule]} (paired, every angle >= {FROM:g} pi/2)"
        return judged(key, text, "clearly above", ours, everywhere_above(gaps), remark=remark)

    rows = []
    for rule in dict.fromkeys(rule for rule, _, _ in found):
        rows.append(above("artificial-arm-wise" if rule != "jitter" else OURS, rule, "arm-wise TS", "round-wise TS"))
        spread = "With random ties C2UCB too takes its sets from all tied clusters." if rule == "random" else ""
        rows.append(above("artificial-arm-wise" if rule != "jitter" else OURS, rule, "PC2UCB", "C2UCB", spread))
    return rows


def tables(found: Data) -> dict[str, pd.DataFrame]:
    """Rewards on fresh trials, and the best mean over the tuning trials themselves."""
    rows = []
    for (rule, angle, name), cell in found.items():
        mean, se = estimate(cell.fresh)
        rows.append({
            "ties": rule, "angle": angle, "algorithm": name, "reward": mean, "se": se, "as in the paper": cell.grid.mean(axis=1).max(),
        })  # fmt: skip
    return {"rewards": pd.DataFrame(rows)}


def plot(found: Data) -> dict[str, Figure]:
    """Rewards against the angle, a panel for every rule."""
    table = tables(found)["rewards"]
    rules = list(table["ties"].unique())
    figure, axes = style.figure(len(rules))
    for axis, rule in zip(axes, rules, strict=True):
        for number, name in enumerate(NAMES):
            part = table[(table["ties"] == rule) & (table["algorithm"] == name)]
            colour = style.colour(number)
            axis.errorbar(part["angle"], part["reward"], 2 * part["se"], label=name, color=colour, marker="o", markersize=3, linewidth=1.2)
        axis.set_title(f"ties: {rule}", fontsize=10, loc="left", color=style.INK)
        axis.set_xlabel("angle / (π/2)", color=style.INK)
        axis.sharey(axes[0])
    axes[0].set_ylabel("expected reward in 10 rounds")
    style.legend(axes[-1])
    return {"rewards": figure}


def notes(_: Data) -> str:
    """What is shown."""
    return (
        "Expected reward of 10 rounds (without the noise of the ±1 rewards). Every algorithm's setting is the best of its grid over some "
        "trials; reward is what it earns on fresh ones, paired between algorithms. The column 'as in the paper' is the best mean over "
        "the tuning trials themselves. Below paper scale CombLinUCB's c is 1. PC2UCB and arm-wise TS are the paper's own algorithms."
    )
