"""Figure 4: average reward by round on MovieLens, from the runs of Table I at the first k."""

from typing import NamedTuple

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from ...numerics.statistics import standard_error
from ...reports import style
from ..experiment import Run
from ..scoring import Row, above, judged, paired
from .movielens import NOTES, ROUNDS, all_tuned, scalings, sources
from .settings import share_of

EARLY = 5


class Data(NamedTuple):
    """Where, and by scaling and algorithm the average reward of every trial up to each round: (trials, rounds)."""

    source: str
    k: int
    average: dict[str, dict[str, np.ndarray]]


def data(run: Run) -> Data:
    """All algorithms for every scaling."""
    source, rounds = sources(run)[0], np.arange(1, ROUNDS + 1)
    return Data(source.name, source.ks[0], {
        scaling: {name: curve / rounds for name, curve in all_tuned(run, source, source.ks[0], scaling).items()}
        for scaling in scalings(run)
    })  # fmt: skip


def score(found: Data) -> list[Row]:
    """Arm-wise above round-wise in the first rounds."""
    rows = []
    for scaling, average in found.average.items():
        for name, rival in (("PC2UCB", "C2UCB"), ("arm-wise TS", "round-wise TS")):
            first, second = average[name][:, EARLY - 1], average[rival][:, EARLY - 1]
            difference = paired(first, second)
            text = f"{found.source}, features {scaling}, k = {found.k}: {name} above {rival} in the first {EARLY} rounds"
            se = difference.se / float(second.mean())
            rows.append(judged("movielens-early", text, "above", f"{share_of(first, second):+.1%}", above(difference), se=se))
    return rows


def tables(found: Data) -> dict[str, pd.DataFrame]:
    """Mean and standard error by round."""
    rounds = np.arange(1, ROUNDS + 1)
    return {"average": pd.concat([
        pd.DataFrame({
            "scaling": scaling, "algorithm": name, "round": rounds, "reward": curve.mean(axis=0), "se": standard_error(curve),
        })
        for scaling, average in found.average.items() for name, curve in average.items()
    ])}  # fmt: skip


def plot(found: Data) -> dict[str, Figure]:
    """Curves with bands of two standard errors, a panel for every scaling."""
    rounds = np.arange(1, ROUNDS + 1)
    figure, axes = style.figure(len(found.average))
    for axis, (scaling, average) in zip(axes, found.average.items(), strict=True):
        for number, (name, curve) in enumerate(average.items()):
            mean, se = curve.mean(axis=0), standard_error(curve)
            axis.plot(rounds, mean, label=name, color=style.colour(number), linewidth=1.4)
            axis.fill_between(rounds, mean - 2 * se, mean + 2 * se, color=style.colour(number), alpha=0.15, linewidth=0)
        axis.set_title(f"features: {scaling}", fontsize=10, loc="left", color=style.INK)
        axis.set_xlabel("round", color=style.INK)
    axes[0].set_ylabel("average reward per round")
    style.legend(axes[-1])
    return {"average": figure}


def notes(_: Data) -> str:
    """What is shown."""
    return NOTES
