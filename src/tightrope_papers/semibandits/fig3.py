"""Figure 3: cosines between MovieLens users, without the constant, for every reading of the features."""

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from tightrope.plots import style
from tightrope.problems.data import movielens

from ..experiment import Run
from ..scoring import OURS, Row, at_least, row_of
from .settings import PAPERS_READING, PROMOTIONS, READINGS, sources

ORTHOGONAL_COSINE = 0.2  # |cos| below it: almost orthogonal
Data = dict[tuple[str, str], np.ndarray]  # by data set and reading the upper triangle of the cosine matrix


def data(run: Run) -> Data:
    most, cosines = run.at(smoke=500, laptop=4000, paper=10_000), {}
    for source in sources(run):
        for reading, power in READINGS.items():
            vectors = movielens(source.path, promotions=PROMOTIONS, power=power, scaling="raw").features[:, :-1]
            users = np.random.default_rng(run.seed).permutation(vectors.shape[0])[:most]
            unit = vectors[users] / np.linalg.norm(vectors[users], axis=1)[:, None]
            cosines[source.name, reading] = (unit @ unit.T)[np.triu_indices(users.size, 1)]
    return cosines


def near_zero(cosines: np.ndarray) -> float:
    return float((np.abs(cosines) < ORTHOGONAL_COSINE).mean())


def score(cosines: Data) -> list[Row]:
    rows = []
    for (name, reading), pairs in cosines.items():
        close = near_zero(pairs)
        text = f"{name}, features {reading}: many pairs of users are almost orthogonal"
        ours = f"{close:.0%} of pairs have |cos| < {ORTHOGONAL_COSINE:g}"
        rows.append(row_of("orthogonal-users" if reading == PAPERS_READING else OURS, text, "many", ours, at_least(close, 0.5, partly=0.2)))
    return rows


def tables(cosines: Data) -> dict[str, pd.DataFrame]:
    rows = [
        {
            "data": name, "features": reading, "users": (1 + round((1 + 8 * pairs.size) ** 0.5)) // 2,
            "share below 0.2": near_zero(pairs), "median": float(np.median(pairs)),
        }
        for (name, reading), pairs in cosines.items()
    ]  # fmt: skip
    return {"cosines": pd.DataFrame(rows)}


def plot(cosines: Data) -> dict[str, Figure]:
    names = list(dict.fromkeys(name for name, _ in cosines))
    figure, axes = style.figure(len(names))
    for axis, name in zip(axes, names, strict=True):
        for number, reading in enumerate(READINGS):
            density, edges = np.histogram(cosines[name, reading], bins=80, range=(-1, 1), density=True)
            axis.stairs(density, edges, label=reading, color=style.colour(number), linestyle=style.LINES[number], linewidth=1.6)
        axis.set_title(name, fontsize=10, loc="left", color=style.INK)
        axis.set(xlabel="cosine similarity", ylabel="density")
    style.legend(axes[-1])
    return {"cosines": figure}


def notes(_: Data) -> str:
    reading = f"The paper's is read as {PAPERS_READING}."
    return f"User features of rank 50 without the constant, U S V' being the decomposition of the ratings. {reading}"
