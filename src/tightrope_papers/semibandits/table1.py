"""Table I: cumulative rewards of all algorithms on MovieLens, for every k, reading of the features and data set."""

from typing import NamedTuple

import numpy as np
import pandas as pd

from ..experiment import Run
from ..scoring import OURS, Row, above, ahead, estimate, everywhere_above, near, paired_mean, row_of
from .settings import (
    ARM_WISE,
    BASELINES,
    NAMES,
    NOTES,
    PAIRS,
    PAPERS_DATA,
    PAPERS_READING,
    all_tuned_rewards,
    readings,
    share_of,
    sizes,
    sources,
)

PRINTED_REWARDS = {  # k -> rewards in the order of NAMES
    50: (1588.6, 2090.5, 1749.2, 2183.0, 2304.5, 2121.9, 2304.3),
    100: (3765.1, 5032.0, 3850.3, 4879.5, 5359.8, 4744.4, 5298.0),
    150: (5471.6, 7653.0, 6212.0, 7276.0, 8210.6, 7243.8, 7945.0),
    200: (7939.6, 10092.5, 8918.4, 9708.5, 11147.2, 9724.1, 10928.2),
}
KEYS = {"PC2UCB": "movielens-pc2ucb", "arm-wise TS": "movielens-arm-wise"}
ALMOST_TEN_SHARE = 0.05  # a gain from which "almost 10 %" counts: half of it


class RewardCell(NamedTuple):
    """Data, reading and k of a cell, and the reward of every trial after the last round by algorithm."""

    source: str
    reading: str
    k: int
    final: dict[str, np.ndarray]


def data(run: Run) -> list[RewardCell]:
    return [
        RewardCell(source.name, reading, k, {name: curve[:, -1] for name, curve in all_tuned_rewards(run, source, k, reading).items()})
        for source in sources(run)
        for reading in readings(run)
        for k in sizes(run, source, reading)
    ]


def score(cells: list[RewardCell]) -> list[Row]:
    """The paper's claims for every k, in every cell; its claims are judged with the reading that its Figure 3 speaks for."""
    return [row for cell in cells for row in rows_of(cell)]


def printed_gain(k: int, ours: tuple[str, ...], rivals: tuple[str, ...]) -> str:
    """The paper's own gain of the best of some algorithms over the best of others."""
    if k not in PRINTED_REWARDS:
        return "above"
    rewards = dict(zip(NAMES, PRINTED_REWARDS[k], strict=True))
    return f"{max(rewards[name] for name in ours) / max(rewards[name] for name in rivals) - 1:+.1%}"


def rows_of(cell: RewardCell) -> list[Row]:
    source, reading, k, final = cell
    where = f"{source}, features {reading}, k = {k}"

    def key(claim: str) -> str:
        return claim if reading == PAPERS_READING else OURS

    def gap(claim: str, text: str, name: str, rival: str, paper: str, least: float | None = None) -> Row:
        difference, relative = paired_mean(final[name], final[rival]), share_of(final[name], final[rival])
        verdict = above(difference) if least is None else ahead(difference, relative, least)
        return row_of(key(claim), f"{where}: {text}", paper, f"{relative:+.1%}", verdict, se=difference.se / float(final[rival].mean()))

    ours, rival = (max(names, key=lambda name: final[name].mean()) for names in (ARM_WISE, BASELINES))
    best = f"best arm-wise above best baseline ({ours} against {rival})"
    rows = [gap("movielens-ten-percent", best, ours, rival, printed_gain(k, ARM_WISE, BASELINES), ALMOST_TEN_SHARE)]
    for name, other in PAIRS.items():
        rows.append(gap(KEYS[name], f"{name} above {other}", name, other, printed_gain(k, (name,), (other,))))
    for claim, text, above_others in (
        ("pc2ucb-first", "PC2UCB has the largest reward of all", [("PC2UCB", name) for name in NAMES if name != "PC2UCB"]),
        ("movielens-greedy", "greedy has the least reward of all", [(name, "greedy") for name in NAMES if name != "greedy"]),
    ):
        gaps = [paired_mean(final[better], final[worse]) for better, worse in above_others]
        ahead_of = f"{sum(one.value > 0 for one in gaps)} of {len(gaps)} differences"
        rows.append(row_of(key(claim), f"{where}: {text}", "all", ahead_of, everywhere_above(gaps)))
    if source in PAPERS_DATA and reading == PAPERS_READING and k in PRINTED_REWARDS:
        for name, number in zip(NAMES, PRINTED_REWARDS[k], strict=True):
            reward = estimate(final[name])
            rows.append(row_of("movielens-rewards", f"{where}: {name}", number, reward, near(reward, number, 0.1)))
    return rows


def tables(cells: list[RewardCell]) -> dict[str, pd.DataFrame]:
    rows = []
    for source, reading, k, final in cells:
        for name, values in final.items():
            mean, se = estimate(values)
            paper = PRINTED_REWARDS[k][NAMES.index(name)] if k in PRINTED_REWARDS else np.nan
            rows.append({
                "data": source, "features": reading, "k": k, "algorithm": name, "trials": values.size, "reward": mean, "se": se,
                "paper": paper,
            })  # fmt: skip
    return {"rewards": pd.DataFrame(rows)}


def notes(_: list[RewardCell]) -> str:
    return NOTES
