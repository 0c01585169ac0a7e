"""Figure 2: cumulative reward in ten clusters of equal arms, by the angle between them, under three rules for ties."""

import math

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from ...engine.monitors import SetValue
from ...engine.simulate import simulate
from ..experiment import Claim, Outcome, Run
from .clusters import clustered
from .grids import GRID, NAMES, Gap, best, gap, grid, held_out, kept

ROUNDS = 10
FROM = 0.3  # the angle, in units of pi/2, from which the paper's figure shows the gaps
MARGIN = 4.0


def values(run: Run, angle: float, rule: str, name: str) -> np.ndarray:
    """(settings, trials) expected reward of ROUNDS rounds."""
    trials = run.at(smoke=6, laptop=40, paper=100)
    arms, k = run.at(smoke=(400, 20), laptop=(2000, 100), paper=(2000, 100))
    grid_values = run.at(smoke=GRID[1:4:2], laptop=GRID, paper=GRID)
    c = run.at(smoke=(1.0,), laptop=(1.0,), paper=None)
    settings = grid(name, grid_values, "random" if rule == "random" else "index", c)

    def make() -> dict[str, np.ndarray]:
        problems = [clustered(angle * math.pi / 2, seed=t, arms=arms, k=k, jitter=1e-3 if rule == "jitter" else 0.0) for t in range(trials)]
        rows = []
        for setting in settings:
            result = simulate(problems, {"it": setting}, horizon=ROUNDS, replications=trials, seed=run.seed, checkpoints=[ROUNDS],
                              monitor=SetValue(), workers=run.workers or 1)  # fmt: skip
            rows.append(result.watched["it"]["value"][:, -1])
        return {"values": np.stack(rows)}

    about = {"angle": angle, "rule": rule, "name": name, "trials": trials, "arms": arms, "k": k, "settings": repr(settings)}
    return kept(run, f"fig2-{rule}-{angle:g}-{name.replace(' ', '-')}", about, make)["values"]


def fig2(run: Run) -> Outcome:
    """All algorithms at all angles, with index ties, random ties and jittered features."""
    angles = run.at(smoke=(0.6,), laptop=(0.1, 0.3, 0.5, 0.7, 1.0), paper=tuple(np.round(np.arange(0.1, 1.01, 0.1), 1).tolist()))
    rules = run.at(smoke=("index", "random"), laptop=("index", "random", "jitter"), paper=("index", "random", "jitter"))
    found: dict[tuple[str, float, str], np.ndarray] = {}
    rows = []
    for rule in rules:
        for angle in angles:
            for name in NAMES:
                progress = run.progress(f"ties {rule}, angle {angle:g}")
                if progress is not None:
                    progress(NAMES.index(name), len(NAMES))
                every = values(run, angle, rule, name)
                found[rule, angle, name] = every
                chosen = every[best(every)]
                apart = held_out(every)
                rows.append({"ties": rule, "angle": angle, "algorithm": name, "reward": chosen.mean(),
                             "se": chosen.std(ddof=1) / math.sqrt(chosen.size), "held_out": apart.mean()})  # fmt: skip
    table = pd.DataFrame(rows)
    return Outcome(_claims(found, rules, angles), {}, {"rewards": table}, {"rewards": _plot(table, rules)}, NOTES)


NOTES = (
    "Expected reward of 10 rounds (without the noise of the ±1 rewards). Every algorithm plays its best setting over all trials, as in "
    "the paper; the column held_out tunes on the other half of the trials. At laptop scale CombLinUCB's c is 1."
)


def _claims(found, rules, angles) -> list[Claim]:
    wide = [angle for angle in angles if angle >= FROM]
    claims = []

    def add(text: str, paper: str, rule: str, first: str, second: str, reason: str = "") -> None:
        gaps = [gap(found[rule, a, first][best(found[rule, a, first])], found[rule, a, second][best(found[rule, a, second])]) for a in wide]
        weakest = min(gaps, key=lambda g: g.errors)
        ours = f"{min(g.relative for g in gaps):+.0%} to {max(g.relative for g in gaps):+.0%}, least {weakest.errors:.1f} se"
        test = f"paired difference above {MARGIN:g} standard errors at every angle >= {FROM:g} pi/2; partly: at some"
        claims.append(Claim("fig2", text, paper, ours, None, test, _verdict(gaps), reason))

    for rule in rules:
        label = {"index": "ties to the lowest index", "random": "random ties", "jitter": "jittered features"}[rule]
        add(f"arm-wise TS above round-wise TS, {label}", "clearly above", rule, "arm-wise TS", "round-wise TS")
        add(f"PC2UCB above C2UCB, {label}", "clearly above", rule, "PC2UCB", "C2UCB",
            "" if rule == "index" else "C2UCB with random ties already takes its sets from all tied clusters." if rule == "random"
            else "Without ties only the perturbation itself can spread the sets.")  # fmt: skip
    return claims


def _verdict(gaps: list[Gap]) -> str:
    if all(g.errors > MARGIN for g in gaps):
        return "reproduced"
    return "partly" if any(g.errors > MARGIN for g in gaps) else "not reproduced"


def _plot(table: pd.DataFrame, rules: tuple[str, ...]) -> Figure:
    figure = Figure(figsize=(4.2 * len(rules), 3.6), layout="constrained")
    axes = figure.subplots(1, len(rules), sharey=True, squeeze=False)[0]
    for axis, rule in zip(axes, rules, strict=True):
        for name in NAMES:
            part = table[(table["ties"] == rule) & (table["algorithm"] == name)]
            axis.errorbar(part["angle"], part["reward"], 2 * part["se"], label=name, marker="o", markersize=3, linewidth=1.2)
        axis.set(title=f"ties: {rule}", xlabel="angle / (π/2)")
    axes[0].set_ylabel("expected reward in 10 rounds")
    axes[-1].legend(fontsize=7)
    return figure
