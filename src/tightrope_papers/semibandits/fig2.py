"""Figure 2: cumulative reward in ten clusters of equal arms, by the angle between them, under
several rules for ties."""

import math
from typing import Literal, NamedTuple

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from tightrope.extend import Policy, SetValue, standard_error
from tightrope.plots import style
from tightrope.problems import SemiBandit

from ..experiment import Run, palette
from ..scoring import (
    OURS,
    Row,
    Rows,
    above,
    estimate,
    everywhere_above,
    judged,
    paired_mean,
    row_of,
)
from .settings import ARM_WISE, BASELINES, GRID, NAMES, PAIRS, best, clustered_world, grid, share_of

ROUNDS = 10
LEAST_ANGLE = 0.3  # the angle, in units of pi/2, from which the paper's figure shows the gaps
RULES = {
    "index": "ties to the lowest index",
    "tiers": "clusters of norm 1 - 0.001 j, random ties within",
    "random": "random ties",
    "jitter": "jittered features",
}
AS_IN_THE_PAPER = (
    "index",
    "tiers",
)  # under which, as section IV-A has it, one cluster gives a whole set


class AngleCell(NamedTuple):
    grid: np.ndarray  # (settings, trials)
    fresh: np.ndarray  # (fresh trials,) of the best setting


class AngleRuns(NamedTuple):
    """By rule, angle and algorithm; and the largest expected reward of ROUNDS rounds by rule and
    angle, (fresh trials,)."""

    cells: dict[tuple[str, float, str], AngleCell]
    best: dict[tuple[str, float], np.ndarray]

    def rules(self) -> list[str]:
        return list(dict.fromkeys(rule for rule, _ in self.best))

    def angles(self, rule: str) -> list[float]:
        return [angle for one, angle in self.best if one == rule]


def data(run: Run) -> AngleRuns:
    angles = run.at(
        smoke=(0.3, 1.0),
        laptop=(0.1, 0.3, 0.6, 1.0),
        paper=tuple(np.round(np.arange(0.1, 1.01, 0.1), 1).tolist()),
    )
    fewer = run.at(
        smoke=(LEAST_ANGLE, 1.0), laptop=(LEAST_ANGLE, 1.0), paper=(0.1, LEAST_ANGLE, 0.6, 1.0)
    )
    rules = run.at(smoke=("index", "random"), laptop=tuple(RULES), paper=tuple(RULES))
    runs = AngleRuns({}, {})
    for rule in rules:
        for angle in angles if rule in AS_IN_THE_PAPER else fewer:
            cells, largest = play(run, rule, angle)
            runs.cells.update({(rule, angle, name): cell for name, cell in cells.items()})
            runs.best[rule, angle] = largest
    return runs


def play(run: Run, rule: str, angle: float) -> tuple[dict[str, AngleCell], np.ndarray]:
    """Every algorithm: its whole grid over some trials, then the best setting over fresh ones; and
    the best possible rewards there."""
    trials, fresh = run.at(smoke=(4, 8), laptop=(10, 60), paper=(100, 1000))
    arms, k = run.at(smoke=(400, 20), laptop=(2000, 100), paper=(2000, 100))
    ties: Literal["index", "random"]
    jitter, tiers, ties = (
        1e-3 if rule == "jitter" else 0.0,
        rule == "tiers",
        "random" if rule in ("random", "tiers") else "index",
    )
    values, c = (
        run.at(smoke=GRID[1:3], laptop=GRID, paper=GRID),
        run.at(smoke=(1.0,), laptop=(1.0,), paper=None),
    )
    worlds = [
        clustered_world(angle * math.pi / 2, seed=trial, arms=arms, k=k, jitter=jitter, tiers=tiers)
        for trial in range(trials + fresh)
    ]

    def reward(label: str, settings: list[Policy], problems: list[SemiBandit]) -> np.ndarray:
        result = run.simulate(
            f"fig2-{rule}-{angle:g}/{label.replace(' ', '-')}",
            problems,
            {str(i): policy for i, policy in enumerate(settings)},
            horizon=ROUNDS,
            replications=len(problems),
            checkpoints=[ROUNDS],
            monitor=SetValue(),
        )
        return np.stack([result.watched[name]["value"][:, -1] for name in result.policies])

    cells = {}
    for name in NAMES:
        settings = grid(name, values, ties, c)
        tried = reward(f"{name} grid", settings, worlds[:trials])
        cells[name] = AngleCell(
            tried, reward(f"{name} best", [settings[best(tried)]], worlds[trials:])[0]
        )
    return cells, ROUNDS * np.array([world.best[0] for world in worlds[trials:]])


def score(runs: AngleRuns) -> Rows:
    for rule in runs.rules():
        wide = [angle for angle in runs.angles(rule) if angle >= LEAST_ANGLE]
        papers = rule in AS_IN_THE_PAPER
        for name, rival in PAIRS.items():
            spread = (
                "With random ties C2UCB too takes its sets from all tied clusters."
                if rule == "random" and rival == "C2UCB"
                else ""
            )
            yield outperforms(
                "artificial-arm-wise" if papers else OURS,
                runs,
                rule,
                wide,
                (name,),
                (rival,),
                spread,
            )
        if papers:
            others = tuple(name for name in BASELINES if name != "greedy")
            yield outperforms("artificial-arm-wise", runs, rule, wide, ARM_WISE, others)
            yield outperforms("artificial-greedy", runs, rule, wide, ("greedy",), others)
            yield from [wider_is_worse(runs, rule, name, rival) for name, rival in PAIRS.items()]


def outperforms(
    key: str,
    runs: AngleRuns,
    rule: str,
    angles: list[float],
    ours: tuple[str, ...],
    others: tuple[str, ...],
    remark: str = "",
) -> Row:
    pairs = [
        (runs.cells[rule, angle, a].fresh, runs.cells[rule, angle, b].fresh)
        for angle in angles
        for a in ours
        for b in others
    ]
    gaps, shares = [paired_mean(*pair) for pair in pairs], [share_of(*pair) for pair in pairs]
    least = min(
        gap.value / gap.se if gap.se > 0 else math.copysign(math.inf, gap.value) for gap in gaps
    )
    rivals = others[0] if len(others) == 1 else "all baselines but greedy"
    return row_of(
        key,
        f"{' and '.join(ours)} above {rivals}, {RULES[rule]} (paired, every angle >= "
        f"{LEAST_ANGLE:g} pi/2)",
        "clearly above",
        f"{min(shares):+.0%} to {max(shares):+.0%}, least {least:.1f} se",
        everywhere_above(gaps),
        remark=remark,
    )


def wider_is_worse(runs: AngleRuns, rule: str, name: str, rival: str) -> Row:
    """Whether what an arm-wise algorithm gains over its counterpart, as a share of the best
    possible reward, rises with the angle."""
    angles = np.array(runs.angles(rule))
    gains = np.stack(
        [
            (runs.cells[rule, angle, name].fresh - runs.cells[rule, angle, rival].fresh)
            / runs.best[rule, angle].mean()
            for angle in angles
        ]
    )
    return judged(
        "artificial-angle",
        f"{name} less {rival}, {RULES[rule]}: rise per right angle, in shares of the best "
        "possible reward (line through all angles)",
        "above 0",
        estimate(trend(angles, gains)),
        above,
    )


def trend(places: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Slope of the least-squares line of every column of values (places, trials)."""
    centred = places - places.mean()
    return np.asarray(centred @ values / (centred**2).sum())


def tables(runs: AngleRuns) -> dict[str, pd.DataFrame]:
    rows = []
    for (rule, angle, name), cell in runs.cells.items():
        mean, se = estimate(cell.fresh)
        rows.append(
            {
                "ties": rule,
                "angle": angle,
                "algorithm": name,
                "reward": mean,
                "se": se,
                "as in the paper": cell.grid.mean(axis=1).max(),
                "best possible": runs.best[rule, angle].mean(),
            }
        )
    return {"rewards": pd.DataFrame(rows)}


def plot(runs: AngleRuns) -> dict[str, Figure]:
    figure, axes = style.figure(len(runs.rules()))
    looks = palette("semibandits")
    for axis, rule in zip(axes, runs.rules(), strict=True):
        angles = runs.angles(rule)
        for number, name in enumerate(NAMES):
            cells = [runs.cells[rule, angle, name].fresh for angle in angles]
            mean, error, colour = (
                [one.mean() for one in cells],
                [2 * float(standard_error(one)) for one in cells],
                looks.colour(name),
            )
            line = style.LINES[number % len(style.LINES)]
            axis.errorbar(
                angles,
                mean,
                error,
                label=name,
                color=colour,
                linestyle=line,
                marker="o",
                markersize=3,
                linewidth=1.2,
            )
        axis.plot(
            angles,
            [runs.best[rule, angle].mean() for angle in angles],
            color=style.SOFT,
            linewidth=1.0,
            label="best possible",
        )
        axis.set_title(f"ties: {rule}", fontsize=10, loc="left", color=style.INK)
        axis.set_xlabel("angle / (π/2)")
        axis.sharey(axes[0])
    axes[0].set_ylabel("expected reward in 10 rounds")
    style.legend(axes[-1])
    return {"rewards": figure}


notes = (
    "Expected reward of 10 rounds (without the noise of the ±1 rewards). Every algorithm's "
    "setting is the best of its grid over some trials; reward is what it earns on fresh ones, "
    "paired between algorithms. The column 'as in the paper' is the best mean over the tuning "
    "trials themselves. Below paper scale CombLinUCB's c is 1. PC2UCB and arm-wise TS are the "
    "paper's own algorithms."
)
