"""Figure 2: cumulative reward in ten clusters of equal arms, by the angle between them, under several rules for ties."""

import math
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from ...engine.monitors import SetValue
from ...engine.simulate import simulate
from ...reports import style
from ..experiment import Claim, Outcome, Run
from .clusters import clustered
from .grids import GRID, NAMES, Gap, best, gap, grid, kept

ROUNDS = 10
FROM = 0.3  # the angle, in units of pi/2, from which the paper's figure shows the gaps
MARGIN = 4.0
RULES = {
    "index": "ties to the lowest index",
    "random": "random ties",
    "jitter": "jittered features",
    "tiers": "clusters of norm 1 - 0.001 j, random ties within",
}


def values(run: Run, angle: float, rule: str, name: str) -> tuple[np.ndarray, np.ndarray]:
    """Expected reward of ROUNDS rounds: of all settings (settings, trials), and of the best of them on fresh trials (fresh,)."""
    trials = run.at(smoke=4, laptop=40, paper=100)
    fresh = run.at(smoke=12, laptop=200, paper=500)
    arms, k = run.at(smoke=(400, 20), laptop=(2000, 100), paper=(2000, 100))
    c = run.at(smoke=(1.0,), laptop=(1.0,), paper=None)
    settings = grid(name, run.at(smoke=GRID[1:4], laptop=GRID, paper=GRID), "random" if rule in ("random", "tiers") else "index", c)

    def play(setting: Any, first: int, count: int) -> np.ndarray:
        jitter, tiers = 1e-3 if rule == "jitter" else 0.0, rule == "tiers"
        problems = [clustered(angle * math.pi / 2, seed=first + t, arms=arms, k=k, jitter=jitter, tiers=tiers) for t in range(count)]
        result = simulate(problems, {"it": setting}, horizon=ROUNDS, replications=count, seed=run.seed, checkpoints=[ROUNDS],
                          monitor=SetValue(), workers=run.workers or 1)  # fmt: skip
        return result.watched["it"]["value"][:, -1]

    def make() -> dict[str, np.ndarray]:
        every = np.stack([play(setting, 0, trials) for setting in settings])
        return {"grid": every, "fresh": play(settings[best(every)], trials, fresh)}

    about = {"angle": angle, "rule": rule, "name": name, "trials": [trials, fresh], "arms": arms, "k": k, "settings": repr(settings)}
    found = kept(run, f"fig2-{rule}-{angle:g}-{name.replace(' ', '-')}", about, make)
    return found["grid"], found["fresh"]


def fig2(run: Run) -> Outcome:
    """All algorithms at all angles, under every rule for ties."""
    angles = run.at(smoke=(0.6,), laptop=(0.1, 0.3, 0.5, 0.7, 1.0), paper=tuple(np.round(np.arange(0.1, 1.01, 0.1), 1).tolist()))
    rules = run.at(smoke=("index", "random"), laptop=tuple(RULES), paper=tuple(RULES))
    found: dict[tuple[str, float, str], np.ndarray] = {}
    rows = []
    for rule in rules:
        for angle in angles:
            for name in NAMES:
                progress = run.progress(f"ties {rule}, angle {angle:g}")
                if progress is not None:
                    progress(NAMES.index(name), len(NAMES))
                every, fresh = values(run, angle, rule, name)
                found[rule, angle, name] = fresh
                rows.append({"ties": rule, "angle": angle, "algorithm": name, "reward": fresh.mean(),
                             "se": fresh.std(ddof=1) / math.sqrt(fresh.size), "as in the paper": every.mean(axis=1).max()})  # fmt: skip
    table = pd.DataFrame(rows)
    return Outcome(_claims(found, rules, angles), {}, {"rewards": table}, {"rewards": _plot(table, rules)}, NOTES)


NOTES = (
    "Expected reward of 10 rounds (without the noise of the ±1 rewards). Every algorithm's setting is the best of its grid over some "
    "trials; reward is what it earns on fresh ones, paired between algorithms. The column 'as in the paper' is the best mean over "
    "the tuning trials themselves. Below paper scale CombLinUCB's c is 1. PC2UCB and arm-wise TS are the paper's own algorithms."
)


def _claims(found, rules, angles) -> list[Claim]:
    wide = [angle for angle in angles if angle >= FROM]
    claims = []

    def add(text: str, paper: str, rule: str, first: str, second: str, reason: str = "") -> None:
        gaps = [gap(found[rule, angle, first], found[rule, angle, second]) for angle in wide]
        weakest = min(gaps, key=lambda g: g.errors)
        ours = f"{min(g.relative for g in gaps):+.0%} to {max(g.relative for g in gaps):+.0%}, least {weakest.errors:.1f} se"
        test = f"paired difference above {MARGIN:g} standard errors at every angle >= {FROM:g} pi/2; partly: at some"
        claims.append(Claim("fig2", text, paper, ours, None, test, _verdict(gaps), reason))

    for rule in rules:
        add(f"arm-wise TS above round-wise TS, {RULES[rule]}", "clearly above", rule, "arm-wise TS", "round-wise TS")
        add(
            f"PC2UCB above C2UCB, {RULES[rule]}",
            "clearly above",
            rule,
            "PC2UCB",
            "C2UCB",
            "With random ties C2UCB too takes its sets from all tied clusters." if rule == "random" else "",
        )
    return claims


def _verdict(gaps: list[Gap]) -> str:
    if all(g.errors > MARGIN for g in gaps):
        return "reproduced"
    return "partly" if any(g.errors > MARGIN for g in gaps) else "not reproduced"


def _plot(table: pd.DataFrame, rules: tuple[str, ...]) -> Figure:
    figure, axes = style.figure(len(rules))
    for axis, rule in zip(axes, rules, strict=True):
        for number, name in enumerate(NAMES):
            part = table[(table["ties"] == rule) & (table["algorithm"] == name)]
            axis.errorbar(
                part["angle"],
                part["reward"],
                2 * part["se"],
                label=name,
                color=style.colour(number),
                marker="o",
                markersize=3,
                linewidth=1.2,
            )
        axis.set_title(f"ties: {rule}", fontsize=10, loc="left", color=style.INK)
        axis.set_xlabel("angle / (π/2)", color=style.INK)
        axis.sharey(axes[0])
    axes[0].set_ylabel("expected reward in 10 rounds")
    style.legend(axes[-1])
    return figure
