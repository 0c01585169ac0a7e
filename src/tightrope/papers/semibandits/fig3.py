"""Figure 3: cosines between MovieLens users, without the constant."""

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from ...problems.data.movielens import movielens
from ...reports import style
from ..experiment import Run
from ..scoring import Row, at_least, judged
from .movielens import PROMOTIONS, sources

CLOSE = 0.2  # |cos| below it: almost orthogonal
Data = dict[str, np.ndarray]  # by data set the upper triangle of the cosine matrix


def data(run: Run) -> Data:
    """Cosines between some users of every data set."""
    most, found = run.at(smoke=500, laptop=4000, paper=10_000), {}
    for source in sources(run):
        vectors = movielens(source.path, promotions=PROMOTIONS, scaling="raw").features[:, :-1]
        chosen = np.random.default_rng(run.seed).permutation(vectors.shape[0])[:most]
        unit = vectors[chosen] / np.linalg.norm(vectors[chosen], axis=1)[:, None]
        found[source.name] = (unit @ unit.T)[np.triu_indices(chosen.size, 1)]
    return found


def near_zero(cosines: np.ndarray) -> float:
    """Share of almost orthogonal pairs."""
    return float((np.abs(cosines) < CLOSE).mean())


def score(found: Data) -> list[Row]:
    """Many pairs are almost orthogonal."""
    return [
        judged("orthogonal-users", f"{name}: many pairs of users are almost orthogonal", "many", f"{near_zero(cosines):.0%} of pairs have |cos| < {CLOSE:g}",
               at_least(near_zero(cosines), 0.5, partly=0.2), remark="Users of these data have the most popular films in common.")
        for name, cosines in found.items()
    ]  # fmt: skip


def tables(found: Data) -> dict[str, pd.DataFrame]:
    """Share and median."""
    rows = [
        {
            "data": name, "users": (1 + round((1 + 8 * cosines.size) ** 0.5)) // 2, "share below 0.2": near_zero(cosines),
            "median": float(np.median(cosines)),
        }
        for name, cosines in found.items()
    ]  # fmt: skip
    return {"cosines": pd.DataFrame(rows)}


def plot(found: Data) -> dict[str, Figure]:
    """Histograms."""
    figure, (axis,) = style.figure()
    for name, cosines in found.items():
        density, edges = np.histogram(cosines, bins=80, range=(-1, 1), density=True)
        axis.stairs(density, edges, label=name)
    axis.set(xlabel="cosine similarity", ylabel="density")
    style.legend(axis)
    return {"cosines": figure}


def notes(_: Data) -> str:
    """What is shown."""
    return "User features U S of rank 50 without the constant."
