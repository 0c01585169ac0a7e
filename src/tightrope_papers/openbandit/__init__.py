"""Saito, Aihara, Matsutani & Narita 2021: logged fashion recommendations of two policies, each
judged on the other's log, by every estimator, beside what it earned itself.

Uniform to Thompson sampling: the judged policy shows an item in a position as often as Thompson
sampling did on average (`shares`). Its own log is of the same days, and what it earned there is the
truth up to sampling error. Thompson sampling to uniform: the propensities are the published ones.
"""

import math
from typing import NamedTuple

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from tightrope import Evaluation, evaluate
from tightrope.evaluation.scoring import LEAST_ESS, LEAST_SHARE
from tightrope.logs import Log, from_frame
from tightrope.plots import style
from tightrope.problems.data import CAMPAIGNS, OpenBandit, open_bandit

from ..experiment import Run
from ..scoring import OURS, Estimate, Rows, agree, at_most, row_of

TITLE = "Open Bandit: each policy judged on the other's log (Saito et al. 2021)"
DIRECTIONS = {
    "uniform to Thompson": ("random", "bts"),
    "Thompson to uniform": ("bts", "random"),
}  # whose log, whose value
UNIT = 1000  # impressions, in pictures


class DirectionCase(NamedTuple):
    campaign: str
    direction: str
    evaluation: Evaluation
    own: Estimate

    @property
    def refused(self) -> bool:
        return self.evaluation.verdict.startswith("not enough overlap")


def values_data(run: Run) -> list[DirectionCase]:
    cases = []
    for campaign in CAMPAIGNS:
        both = {
            name: open_bandit(campaign, name, data=run.data)  # type: ignore[arg-type]
            for name in ("random", "bts")
        }
        for direction, (logged, wanted) in DIRECTIONS.items():
            target = (
                dict(enumerate(both["bts"].shares))
                if wanted == "bts"
                else np.full(both["random"].arms, 1.0 / both["random"].arms)
            )
            evaluation = evaluate(log_of(both[logged]), target, estimator="dr", baseline="logged")
            own = evaluate(log_of(both[wanted]), "logged", estimator="ips", anytime=False)
            cases.append(
                DirectionCase(campaign, direction, evaluation, Estimate(own.value, own.se))
            )
    return cases


def log_of(campaign: OpenBandit) -> Log:
    return from_frame(campaign.log, slot="slot", time="time", arms=campaign.arms)


def values_score(cases: list[DirectionCase]) -> Rows:
    """Where there is overlap, every estimator against the own mean, not counted (see `pooled`);
    where there is none, a refusal."""
    for case in cases:
        where = f"{case.campaign}, {case.direction}"
        own = f"{case.own.value:.4f} ± {case.own.se:.4f}"
        if case.refused:
            needed = max(LEAST_ESS, LEAST_SHARE * case.evaluation.n)
            words = f"effective sample size {case.evaluation.ess:,.0f} of {case.evaluation.n:,}"
            yield row_of(
                "support",
                f"refused for lack of overlap: {where}",
                f"at most {needed:g}",
                words,
                at_most(case.evaluation.ess, needed),
            )
            continue
        for name, (value, se) in case.evaluation.estimates.items():
            apart = Estimate(value - case.own.value, math.hypot(se, case.own.se))
            words = f"{name} agrees with the policy's own mean: {where}"
            yield row_of(
                OURS,
                words,
                own,
                Estimate(value, se),
                agree(apart, case.own.value),
                remark=remark_on(name),
            )


def remark_on(name: str) -> str:
    return (
        "Its standard error does not contain the error of the model."
        if name in ("dm", "switch-dr")
        else ""
    )


def values_tables(cases: list[DirectionCase]) -> dict[str, pd.DataFrame]:
    values, overlaps = [], []
    for case in cases:
        who = {"campaign": case.campaign, "direction": case.direction}
        for name, (value, se) in case.evaluation.estimates.items():
            apart = (value - case.own.value) / math.hypot(se, case.own.se)
            values.append(
                who
                | {
                    "estimator": name,
                    "value": value,
                    "se": se,
                    "own mean": case.own.value,
                    "own se": case.own.se,
                    "apart, in joint se": apart,
                    "refused": case.refused,
                }
            )
        e = case.evaluation
        overlaps.append(
            who
            | {
                "rows": e.n,
                "effective sample size": e.ess,
                "largest weight": e.max_weight,
                "lower": e.interval[0],
                "upper": e.interval[1],
                "own mean": case.own.value,
                "verdict": e.verdict,
            }
        )
    return {"values": pd.DataFrame(values), "overlap": pd.DataFrame(overlaps)}


def values_plot(cases: list[DirectionCase]) -> dict[str, Figure]:
    figures: dict[str, Figure] = {}
    for direction in DIRECTIONS:
        chosen = [case for case in cases if case.direction == direction]
        fig, axes = style.figure(len(chosen), width=5.0)
        for ax, case in zip(axes, chosen, strict=True):
            names = list(case.evaluation.estimates)
            values = UNIT * np.array([case.evaluation.estimates[name] for name in names])
            own, se = UNIT * case.own.value, UNIT * case.own.se
            ax.axvspan(own - 2 * se, own + 2 * se, color=style.colour(2), alpha=0.2, linewidth=0)
            ax.axvline(own, color=style.colour(2), linewidth=1.4)
            colour = style.colour(5 if case.refused else 0)
            ax.errorbar(
                values[:, 0],
                range(len(names)),
                xerr=2 * values[:, 1],
                fmt="o",
                color=colour,
                capsize=3,
                markersize=5,
            )
            ax.set_yticks(range(len(names)), names)
            ax.invert_yaxis()
            words = "refused" if case.refused else f"{case.evaluation.ess:,.0f} effective rows"
            ax.set_title(f"{case.campaign}: {words}", color=style.INK, fontsize=11, loc="left")
            ax.set_xlabel(f"clicks per {UNIT:,} impressions")
        figures[direction.replace(" ", "-").lower()] = fig
    return figures


values_notes = (
    "All three positions. Points: estimates ± 2 standard errors on the other policy's log; band: "
    "the policy's own mean ± 2. A case is refused where the effective sample size is below "
    f"{LEAST_ESS:g} or {LEAST_SHARE:.0%} of the rows; its estimates are shown in grey and not "
    "judged. One campaign decides little, as joint standard errors are a large share of the own "
    "mean: the figure pooled judges."
)


# Each estimator's mean over the campaigns, against the mean of what the judged policy earned itself
# there.


pooled_data = values_data


def pooled_score(cases: list[DirectionCase]) -> Rows:
    """A row for every estimator and direction. The two directions share logs, so that their errors
    are no independent ones."""
    for direction in DIRECTIONS:
        yield from rows_of(
            [case for case in cases if case.direction == direction and not case.refused], direction
        )


def rows_of(cases: list[DirectionCase], direction: str) -> Rows:
    """The rows of one direction; campaigns are logs of their own, so their errors add up as
    independent ones."""
    for name in dict.fromkeys(name for case in cases for name in case.evaluation.estimates):
        judged = [
            case for case in cases if name in case.evaluation.estimates
        ]  # one that learns in order needs rows as they were drawn
        own = mean_of([case.own for case in judged])
        mean = mean_of([Estimate(*case.evaluation.estimates[name]) for case in judged])
        apart = Estimate(mean.value - own.value, math.hypot(mean.se, own.se))
        yield row_of(
            name,
            f"{name} agrees with the policy's own mean, mean of {len(judged)} campaigns: "
            f"{direction}",
            f"{own.value:.4f} ± {own.se:.4f}",
            mean,
            agree(apart, own.value),
            remark=remark_on(name),
        )


def mean_of(estimates: list[Estimate]) -> Estimate:
    return Estimate(
        sum(one.value for one in estimates) / len(estimates),
        math.hypot(*(one.se for one in estimates)) / len(estimates),
    )


def pooled_tables(cases: list[DirectionCase]) -> dict[str, pd.DataFrame]:
    return {
        "pooled": pd.DataFrame(
            [
                {"what": row.text, "own mean": row.paper, "value": row.ours, "se": row.se}
                for row in pooled_score(cases)
            ]
        )
    }


pooled_notes = (
    "The cases of a direction that are not refused are pooled with equal weights. Pooling was "
    "chosen after single campaigns had decided nothing, and agreement within four joint standard "
    "errors is still a weak test."
)
