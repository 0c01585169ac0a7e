"""Table I: cumulative rewards of all algorithms on MovieLens, for every k, scaling of the features and data set."""

from typing import NamedTuple

import numpy as np
import pandas as pd

from ..experiment import Run
from ..scoring import Row, ahead, estimate, judged, paired
from .movielens import NOTES, all_tuned, scalings, sources
from .settings import ARM_WISE, BASELINES, NAMES, share_of

PRINTED = {  # k -> rewards in the order of NAMES
    50: (1588.6, 2090.5, 1749.2, 2183.0, 2304.5, 2121.9, 2304.3),
    100: (3765.1, 5032.0, 3850.3, 4879.5, 5359.8, 4744.4, 5298.0),
    150: (5471.6, 7653.0, 6212.0, 7276.0, 8210.6, 7243.8, 7945.0),
    200: (7939.6, 10092.5, 8918.4, 9708.5, 11147.2, 9724.1, 10928.2),
}


class Cell(NamedTuple):
    """Where, and the reward of every trial after the last round by algorithm."""

    source: str
    scaling: str
    k: int
    final: dict[str, np.ndarray]


def data(run: Run) -> list[Cell]:
    """All algorithms in every cell."""
    return [
        Cell(source.name, scaling, k, {name: curve[:, -1] for name, curve in all_tuned(run, source, k, scaling).items()})
        for source in sources(run)
        for scaling in scalings(run)
        for k in source.ks
    ]


def score(found: list[Cell]) -> list[Row]:
    """The best arm-wise algorithm against the best other one."""
    rows = []
    for source, scaling, k, final in found:
        ours, rival = (max(names, key=lambda name, final=final: final[name].mean()) for names in (ARM_WISE, BASELINES))
        difference, relative = paired(final[ours], final[rival]), share_of(final[ours], final[rival])
        paper = "almost 10 %"
        if k in PRINTED:
            printed = dict(zip(NAMES, PRINTED[k], strict=True))
            paper = f"{max(printed[n] for n in ARM_WISE) / max(printed[n] for n in BASELINES) - 1:+.1%}"
        text = f"{source}, features {scaling}, k = {k}: best arm-wise above best baseline ({ours} against {rival})"
        se = difference.se / float(final[rival].mean())
        remark = "These data are not the paper's ML-20M."
        rows.append(judged("movielens-ten-percent", text, paper, f"{relative:+.1%}", ahead(difference, relative, 0.05), se=se, remark=remark))
    return rows


def tables(found: list[Cell]) -> dict[str, pd.DataFrame]:
    """All rewards."""
    rows = []
    for source, scaling, k, final in found:
        for name, values in final.items():
            mean, se = estimate(values)
            paper = PRINTED[k][NAMES.index(name)] if k in PRINTED else np.nan
            rows.append({"data": source, "scaling": scaling, "k": k, "algorithm": name, "reward": mean, "se": se, "paper": paper})
    return {"rewards": pd.DataFrame(rows)}


def notes(_: list[Cell]) -> str:
    """What is shown."""
    return NOTES
