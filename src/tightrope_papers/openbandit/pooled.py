"""Each estimator's mean over the campaigns, against the mean of what the judged policy earned itself there."""

import math

import pandas as pd

from ..experiment import Run
from ..scoring import Estimate, Row, agree, row_of
from . import values
from .values import DIRECTIONS, DirectionCase, remark_on


def data(run: Run) -> list[DirectionCase]:
    return values.data(run)


def score(cases: list[DirectionCase]) -> list[Row]:
    """A row for every estimator and direction. The two directions share logs, so that their errors are no independent ones."""
    rows = []
    for direction in DIRECTIONS:
        rows += rows_of([case for case in cases if case.direction == direction and not case.refused], direction)
    return rows


def rows_of(cases: list[DirectionCase], direction: str) -> list[Row]:
    """The rows of one direction; campaigns are logs of their own, so their errors add up as independent ones."""
    rows = []
    for name in dict.fromkeys(name for case in cases for name in case.evaluation.estimates):
        judged = [case for case in cases if name in case.evaluation.estimates]  # one that learns in order needs rows as they were drawn
        own = mean_of([case.own for case in judged])
        mean = mean_of([Estimate(*case.evaluation.estimates[name]) for case in judged])
        apart = Estimate(mean.value - own.value, math.hypot(mean.se, own.se))
        words = f"{name} agrees with the policy's own mean, mean of {len(judged)} campaigns: {direction}"
        rows.append(row_of(name, words, f"{own.value:.4f} ± {own.se:.4f}", mean, agree(apart, own.value), remark=remark_on(name)))
    return rows


def mean_of(estimates: list[Estimate]) -> Estimate:
    return Estimate(sum(one.value for one in estimates) / len(estimates), math.hypot(*(one.se for one in estimates)) / len(estimates))


def tables(cases: list[DirectionCase]) -> dict[str, pd.DataFrame]:
    return {"pooled": pd.DataFrame([{"what": row.text, "own mean": row.paper, "value": row.ours, "se": row.se} for row in score(cases)])}


def notes(cases: list[DirectionCase]) -> str:
    judged = [case for case in cases if not case.refused]
    return (
        f"{len(judged)} of {len(cases)} cases are not refused; a direction's are pooled with equal weights. Pooling was chosen after "
        "single campaigns had decided nothing, and agreement within four joint standard errors is still a weak test."
    )
