"""Figure 4: average reward by round on MovieLens at the first k, with the settings of Table I."""

from typing import NamedTuple

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from tightrope.numerics.statistics import standard_error
from tightrope.plots import style

from ..experiment import Run, palette
from ..scoring import OURS, Row, above, everywhere_above, in_reading, paired_mean, row_of
from .settings import (
    ARM_WISE,
    BASELINES,
    NOTES,
    PAIRS,
    PAPERS_READING,
    ROUNDS,
    MovieLensRelease,
    all_tuned_rewards,
    readings,
    share_of,
    sizes,
    sources,
)

EARLY_ROUNDS = 5
FRESH_TRIALS = 200  # at paper scale, in the reading that claims are judged with: other films than those that settings were chosen on
LEAST_K = 50  # of the paper's figure; sets on a release with fewer users are another setting


class AverageRewards(NamedTuple):
    """k, and by algorithm the average reward of every trial up to each round: (trials, rounds)."""

    k: int
    average: dict[str, np.ndarray]


Data = dict[tuple[str, str], AverageRewards]  # by data set and reading


def data(run: Run) -> Data:
    rounds = np.arange(1, ROUNDS + 1)
    trials = run.at(smoke=0, laptop=0, paper=FRESH_TRIALS)

    def curves(source: MovieLensRelease, reading: str, k: int) -> AverageRewards:
        fresh = trials if reading == PAPERS_READING else 0
        return AverageRewards(k, {name: curve / rounds for name, curve in all_tuned_rewards(run, source, k, reading, fresh).items()})

    return {
        (source.name, reading): curves(source, reading, k)
        for source in sources(run)
        for reading in readings(run)
        for k in sizes(run, source, reading)[:1]
    }


def score(averages: Data) -> list[Row]:
    """The arm-wise algorithms above the others in the first rounds."""
    rows = []
    for (source, reading), (k, average) in averages.items():
        own = early_rows(source, reading, k, average)
        rows += own if k >= LEAST_K else in_reading(source, own)
    return rows


def early_rows(source: str, reading: str, k: int, average: dict[str, np.ndarray]) -> list[Row]:
    """Each arm-wise algorithm above its counterpart, and above every existing algorithm."""
    rows, key = [], "movielens-early" if reading == PAPERS_READING else OURS
    where = f"{source}, features {reading}, k = {k}"
    for name, rival in PAIRS.items():
        first, second = average[name][:, EARLY_ROUNDS - 1], average[rival][:, EARLY_ROUNDS - 1]
        difference = paired_mean(first, second)
        se, text = difference.se / float(second.mean()), f"{where}: {name} above {rival} in the first {EARLY_ROUNDS} rounds"
        rows.append(row_of(key, text, "above", f"{share_of(first, second):+.1%}", above(difference), se=se))
    gaps = {
        (name, rival): (average[name][:, EARLY_ROUNDS - 1], average[rival][:, EARLY_ROUNDS - 1]) for name in ARM_WISE for rival in BASELINES
    }
    name, rival = min(gaps, key=lambda pair: share_of(*gaps[pair]))
    ours = f"least {share_of(*gaps[name, rival]):+.1%}, {name} against {rival}"
    text = f"{where}: both arm-wise algorithms above all others in the first {EARLY_ROUNDS} rounds"
    return [*rows, row_of(key, text, "above", ours, everywhere_above([paired_mean(*pair) for pair in gaps.values()]))]


def tables(averages: Data) -> dict[str, pd.DataFrame]:
    rounds = np.arange(1, ROUNDS + 1)
    return {"average": pd.concat([
        pd.DataFrame({
            "data": source, "features": reading, "algorithm": name, "round": rounds, "reward": curve.mean(axis=0),
            "se": standard_error(curve),
        })
        for (source, reading), (_, average) in averages.items() for name, curve in average.items()
    ])}  # fmt: skip


def plot(averages: Data) -> dict[str, Figure]:
    names = dict.fromkeys(name for name, _ in averages)
    return {f"average {name}": panels({reading: one for (source, reading), one in averages.items() if source == name}) for name in names}


def panels(averages: dict[str, AverageRewards]) -> Figure:
    """Curves of one data set with bands of two standard errors, a panel for every reading."""
    rounds = np.arange(1, ROUNDS + 1)
    figure, axes = style.figure(len(averages))
    for axis, (reading, (k, average)) in zip(axes, averages.items(), strict=True):
        for number, (name, curve) in enumerate(average.items()):
            mean, se, colour = curve.mean(axis=0), standard_error(curve), palette("semibandits").colour(name)
            axis.plot(rounds, mean, label=name, color=colour, linestyle=style.LINES[number % len(style.LINES)], linewidth=1.4)
            axis.fill_between(rounds, mean - 2 * se, mean + 2 * se, color=colour, alpha=0.15, linewidth=0)
        axis.set_title(f"features: {reading}, k = {k}", fontsize=10, loc="left", color=style.INK)
        axis.set_xlabel("round", color=style.INK)
    axes[0].set_ylabel("average reward per round")
    style.legend(axes[-1])
    return figure


def notes(averages: Data) -> str:
    trials = {len(next(iter(one.average.values()))) for (_, reading), one in averages.items() if reading == PAPERS_READING}
    fresh = f" Features {PAPERS_READING}: that setting on {FRESH_TRIALS} other trials." if trials == {FRESH_TRIALS} else ""
    return NOTES + fresh
