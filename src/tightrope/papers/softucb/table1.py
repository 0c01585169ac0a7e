"""Table 1: the learned beta beside the theoretical one, by horizon and dimension."""

from typing import NamedTuple

import numpy as np
import pandas as pd

from ... import policies as p
from ...engine.results import Result
from ...numerics.radii import horizon_radius
from ..experiment import Run
from ..scoring import Row, above, below, estimate, judged, near, paired
from .settings import SIGMAS, synthetic, train

Cell = tuple[int, int]  # d, T
PRINTED: dict[Cell, tuple[float, float]] = {  # beta-hat, beta-tilde
    (5, 2**8): (0.5, 2.56), (5, 2**9): (0.6, 2.66), (5, 2**10): (0.9, 2.76), (10, 2**10): (1.1, 3.25), (15, 2**10): (1.2, 3.61),
}  # fmt: skip
NOISE = SIGMAS["sqrt(0.1)"]  # the one that gives the paper's beta-tilde
CLOSE = 0.25


class Data(NamedTuple):
    """By cell: the learned betas and the runs with them; and the number of trajectories."""

    learned: dict[Cell, np.ndarray]
    results: dict[Cell, Result]
    trajectories: int


def theory(cell: Cell) -> float:
    """Beta-tilde of Eq 5."""
    d, T = cell
    return horizon_radius(NOISE, 0.1, d, T, 1.0, 1.0)


def data(run: Run) -> Data:
    """Beta-hat of offline training in every cell, with the regret of SoftUCB and of LinUCB at that same beta."""
    instances, trajectories = run.at(smoke=(3, 6), laptop=(40, 30), paper=(100, 60))
    found, policies = Data({}, {}, trajectories), p.REGISTRY
    for d, T in PRINTED:
        problems = [synthetic(run.seed, i, d, NOISE) for i in range(instances)]
        betas = {q.theta.tobytes(): train(q, T, trajectories, i).beta for i, q in enumerate(problems)}
        found.learned[d, T] = np.array(list(betas.values()))
        found.results[d, T] = run.simulate(
            f"table1-{d}-{T}", problems,
            {"SoftUCB": lambda q, b=betas: policies["SoftUCB"](beta=b[q.theta.tobytes()]),
             "LinUCB, same beta": lambda q, b=betas: policies["LinUCB"](beta=b[q.theta.tobytes()]),
             "LinUCB, Eq 5": policies["LinUCB"](noise=NOISE)},
            horizon=T, replications=instances,
        )  # fmt: skip
    return found


def score(found: Data) -> list[Row]:
    """Every cell against theory and against the print; growth with T and d."""
    claims = []
    for cell, hats in found.learned.items():
        where, mean, tilde = f"d = {cell[0]}, T = {cell[1]}", estimate(hats), theory(cell)
        paper, printed = PRINTED[cell]
        claims.append(judged(f"beta-hat < beta-tilde, {where}", f"{paper} < {printed}", f"{mean.value:.2f} < {tilde:.2f}",
                             below(mean, tilde), se=mean.se))  # fmt: skip
        remark = "Depends on eta and on the instance; neither is given."
        claims.append(judged(f"beta-hat, {where}", paper, mean, near(mean, paper, CLOSE), remark=remark))
    for text, low, high, remark in (
        ("beta-hat grows with T (d = 5)", (5, 2**8), (5, 2**10), "Few trajectories leave beta near its start."),
        ("beta-hat grows with d (T = 1024)", (5, 2**10), (15, 2**10),
         "At one eta the widths weigh less against the reward in higher dimensions; the paper's etas are not given."),
    ):  # fmt: skip
        growth = paired(found.learned[high], found.learned[low])
        ours = f"{found.learned[low].mean():.2f} to {found.learned[high].mean():.2f}"
        claims.append(judged(text, f"{PRINTED[low][0]} to {PRINTED[high][0]}", ours, above(growth), se=growth.se, remark=remark))
    return claims


def tables(found: Data) -> dict[str, pd.DataFrame]:
    """Betas and regrets by cell."""
    rows = []
    for (d, T), hats in found.learned.items():
        mean, (paper, printed) = estimate(hats), PRINTED[d, T]
        row = {"d": d, "T": T, "beta-hat": mean.value, "se": mean.se, "median": float(np.median(hats)), "paper": paper,
               "beta-tilde": theory((d, T)), "paper's tilde": printed}  # fmt: skip
        rows.append(row | {f"regret {name}": float(curve[:, -1].mean()) for name, curve in found.results[d, T].regret.items()})
    return {"beta": pd.DataFrame(rows)}


def notes(found: Data) -> str:
    """Sizes and settings."""
    instances = next(iter(found.learned.values())).size
    return (
        f"Means over {instances} instances, sigma = sqrt(0.1), eta = 0.003 in every cell, {found.trajectories} trajectories, "
        "step 4 / (1 + n / 20). Table 1 is of one instance whose noise and eta are not given."
    )
