"""Results of evaluations: records of numbers and sentences, with tables of them."""

import math
import pathlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import scipy
from numpy.typing import ArrayLike

from ..core import files
from ..core.files import interval, with_error
from ..core.types import JsonObject
from .estimators import Sequence, ValueEstimate

if TYPE_CHECKING:
    import pandas as pd


def fixed_interval(
    estimate: ValueEstimate, alpha: float, ess: float, few: tuple[float, float] | None
) -> tuple[float, float]:
    """The normal interval for this number of rounds, which too few exceptions widen to that of
    Wilson for a share of `ess` rows.

    few: the two rewards of which the value is a mixture. Source: Wilson 1927, "Probable inference,
    the law of succession, and statistical inference".
    """
    z, (value, se) = float(scipy.special.ndtri(1.0 - alpha / 2.0)), estimate
    low, high = value - z * se, value + z * se
    if few is None or not ess > 0.0 or math.isnan(value):
        return low, high
    least, width = few[0], few[1] - few[0]
    share = min(max((value - least) / width, 0.0), 1.0)
    middle = (share + z * z / (2.0 * ess)) / (1.0 + z * z / ess)
    reach = (
        z / (1.0 + z * z / ess) * math.sqrt(share * (1.0 - share) / ess + z * z / (4.0 * ess * ess))
    )
    around = [low, high] if se > 0.0 else [value]
    return min(*around, least + width * (middle - reach)), max(
        *around, least + width * (middle + reach)
    )


BASELINE = "(baseline)"  # its name beside those of the policies


@dataclass(frozen=True, eq=False)
class Support:
    """The overlap of the log with the policy.

    Attributes
    ----------
    target : (K,) array
        The target's mean probability by arm.
    played : (K,) array
        Rows of the log by arm.
    unseen : float
        Share of the target's probability on arms that the log never played.
    names : tuple of str or int, or None
        What the arms are called; None where that is their number.
    """

    target: np.ndarray
    played: np.ndarray
    unseen: float
    names: tuple[str | int, ...] | None = None


@dataclass(frozen=True, repr=False, eq=False)
class Evaluation:
    """The estimated value of a policy per round, in units of the reward (of a set: of its sum).

    Attributes
    ----------
    value, se : float
        By `estimator`, with its standard error.
    estimator : str
        Which one.
    alpha : float in (0, 1)
        Error of the interval and of the verdict.
    interval : (float, float)
        At level 1 - alpha: the end of `sequence`, or value -+ z se where anytime was False or the
        rows are not in the order in which they were drawn; NaN where the log contradicts itself and
        a note says how.
    sequence : Sequence or None
        Bounds over time that all hold at once, on the mean value of rounds 1 .. t; None where there
        are none.
    ess, max_weight : float
        Effective sample size in rows, and the largest weight.
    support : Support
        Where the target's probability and the log's rows are.
    verdict : str
        "enough overlap", "not enough overlap: ..", "no verdict: ..", or with a baseline "promote",
        "roll back", "undecided".
    decided : int or None
        The round in which that was decided, which later rounds do not undo; None before.
    difference : Sequence or None
        Of value - baseline; None without one; a single NaN where there are no bounds.
    estimates : dict
        All estimators, by name.
    calibration : (c, 3) array
        Rows, mean prediction, mean reward by tenths of the model's predictions.
    weights : (bins, 2) array
        Lower edges and numbers of rows, a histogram of weights.
    notes : tuple of str
        Sentences to be read with the numbers.
    n, rounds : int
        Rows of the log, and rounds.
    policy : str
        What was judged.
    rewards : (float, float)
        Lowest and highest that a reward can be.
    few : (float, float) or None
        Where fewer than 10 rows are exceptions: the two rewards between which normal intervals are
        widened to Wilson's.
    """

    value: float
    se: float
    interval: tuple[float, float]
    sequence: Sequence | None
    ess: float
    max_weight: float
    support: Support
    verdict: str
    estimator: str
    alpha: float
    n: int
    rounds: int
    estimates: dict[str, ValueEstimate] = field(default_factory=dict)
    decided: int | None = None
    difference: Sequence | None = None
    calibration: np.ndarray = field(default_factory=lambda: np.zeros((0, 3)))
    weights: np.ndarray = field(default_factory=lambda: np.zeros((0, 2)))
    notes: tuple[str, ...] = ()
    policy: str = ""
    rewards: tuple[float, float] = (0.0, 1.0)
    few: tuple[float, float] | None = None

    def __str__(self) -> str:
        low, high = self.interval
        ends = "none" if math.isnan(low) else f"[{low:.4g}, {high:.4g}]"
        lines = [
            f"{self.policy or 'policy'}: {self.value:.4g} ± {self.se:.2g} ({self.estimator}), "
            f"{1.0 - self.alpha:.0%} interval "
            f"{ends}{' at all times' if self.sequence is not None else ''}",
            (
                ""
                if math.isnan(self.ess)
                else f"effective sample size {self.ess:,.0f} of {self.n:,}, largest weight "
                f"{self.max_weight:.4g}, "
            )
            + f"{self.support.unseen:.1%} of its probability on arms never played",
            self.verdict + ("" if self.decided is None else f" (since round {self.decided:,})"),
        ]
        return "\n".join([*lines, *self.notes])

    @property
    def normal_interval(self) -> tuple[float, float]:
        """The normal interval `value -+ z se`, which holds for this number of rounds only; NaN
        where `interval` is."""
        return self._fixed_interval(ValueEstimate(self.value, self.se))

    def _fixed_interval(self, estimate: ValueEstimate) -> tuple[float, float]:
        if math.isnan(self.interval[0]):
            return math.nan, math.nan
        return fixed_interval(estimate, self.alpha, self.ess, self.few)

    def __repr__(self) -> str:
        low, high = self.interval
        ends = "" if math.isnan(low) else f" in [{low:.4g}, {high:.4g}]"
        return (
            f"<Evaluation: {self.policy or 'policy'} {self.value:.4g}{ends} by {self.estimator}; "
            f"{self.verdict}>"
        )

    def _repr_html_(self) -> str:
        return files.table(
            repr(self).strip("<>"),
            [self.policy or "policy", "on this log"],
            self.summary(),
            " ".join(self.notes),
        )

    def record(self) -> JsonObject:
        """All of it as numbers, text, lists and dicts, ready for JSON.

        Returns
        -------
        dict
            With None where there is no finite number.
        """
        bounds = {"sequence": self.sequence, "difference": self.difference}
        plain: JsonObject = files.plain(
            vars(self)
            | {"normal_interval": self.normal_interval, "support": vars(self.support)}
            | {"estimates": {name: each._asdict() for name, each in self.estimates.items()}}
            | {name: None if each is None else each._asdict() for name, each in bounds.items()}
        )
        return plain

    @classmethod
    def from_record(cls, record: JsonObject) -> "Evaluation":
        """The evaluation whose `record` this is, as it comes from JSON.

        Parameters
        ----------
        record : dict
            What `record` returned.

        Returns
        -------
        Evaluation
        """

        def number(value: float | None) -> float:
            return math.nan if value is None else float(value)

        def bounds(name: str) -> Sequence | None:
            sides = record[name]
            return (
                None
                if sides is None
                else Sequence(
                    np.array(sides["t"]), *(_floats(sides[side]) for side in ("lower", "upper"))
                )
            )

        support = record["support"]
        low, high = record["interval"]
        return cls(
            value=number(record["value"]),
            se=number(record["se"]),
            ess=number(record["ess"]),
            max_weight=number(record["max_weight"]),
            alpha=number(record["alpha"]),
            verdict=record["verdict"],
            estimator=record["estimator"],
            n=record["n"],
            rounds=record["rounds"],
            decided=record["decided"],
            policy=record["policy"],
            interval=(number(low), number(high)),
            sequence=bounds("sequence"),
            difference=bounds("difference"),
            notes=tuple(record["notes"]),
            support=Support(
                _floats(support["target"]),
                _floats(support["played"]),
                number(support["unseen"]),
                None if support["names"] is None else tuple(support["names"]),
            ),
            estimates={
                name: ValueEstimate(number(each["value"]), number(each["se"]))
                for name, each in record["estimates"].items()
            },
            calibration=_floats(record["calibration"]).reshape(-1, 3),
            weights=_floats(record["weights"]).reshape(-1, 2),
            rewards=(float(record["rewards"][0]), float(record["rewards"][1])),
            few=None
            if record.get("few") is None
            else (float(record["few"][0]), float(record["few"][1])),
        )

    def summary(self) -> list[list[str]]:
        """Value, intervals, overlap and verdict in words.

        Returns
        -------
        list of [str, str]
            A name and a text each.
        """
        level = f"{1.0 - self.alpha:.4g}"
        rows = [["value", f"{with_error(self.value, self.se)} ({self.estimator})"]]
        if self.estimator == "simulate":
            rows.append(
                [f"{level} interval of worlds fitted to resampled logs", interval(*self.interval)]
            )
        else:
            rows.append(
                [f"{level} interval for this number of rounds", interval(*self.normal_interval)]
            )
        if self.sequence is not None:
            rows.append([f"{level} interval at all times", interval(*self.interval)])
        if not np.isnan(self.ess):
            rows.append(["effective sample size", f"{self.ess:,.0f} of {self.n:,}"])
            rows.append(["largest weight", f"{self.max_weight:.4g}"])
        reached = int(np.count_nonzero((self.support.target > 0.0) & (self.support.played > 0.0)))
        rows.append(
            [
                "support",
                f"{1.0 - self.support.unseen:.1%} of its probability is on arms that the log "
                f"played ({reached} of {self.support.played.size})",
            ]
        )
        if self.difference is not None:
            rows.append(
                [
                    "less the baseline, at all times",
                    interval(float(self.difference.lower[-1]), float(self.difference.upper[-1])),
                ]
            )
        rows.append(
            [
                "verdict",
                self.verdict + ("" if self.decided is None else f" (since round {self.decided:,})"),
            ]
        )
        return rows

    def frame(self) -> "pd.DataFrame":
        """A table of the estimators.

        Returns
        -------
        pandas.DataFrame
            A row for each estimator: value, se, and lower and upper of its normal interval.
        """
        import pandas as pd

        rows = [(name, *e, *self._fixed_interval(e)) for name, e in self.estimates.items()]
        return pd.DataFrame(rows, columns=["estimator", "value", "se", "lower", "upper"])

    def plot(
        self, path: str | pathlib.Path, *, title: str = "", log_rounds: bool = True
    ) -> pathlib.Path:
        """Draw the sequence over time with the estimate.

        Parameters
        ----------
        path : path
            Of an SVG, PNG or PDF file.
        title : str
            Above the figure.
        log_rounds : bool
            Whether the axis of rounds is logarithmic.

        Returns
        -------
        pathlib.Path
            The file.
        """
        from ..plots.figures import save_figure, sequence_figure

        return save_figure(
            sequence_figure(self, title=title, log_rounds=log_rounds), pathlib.Path(path)
        )


@dataclass(frozen=True, eq=False)
class Comparison:
    """Policies on one log, all judged in one pass.

    Attributes
    ----------
    evaluations : dict
        By name, each at level 1 - alpha / m, so that all m hold together.
    baseline : Evaluation
        Of the baseline, at level 1 - alpha.
    alive : tuple of str
        Names of the policies that may still be the best: those whose upper bound was never below
        another's lower bound, looked at in rounds 1, 2, 3, .., about 1.05^j, which a longer log has
        as well, so that no policy comes back.
    winner : str or None
        The policy that is left alone and was promoted; None while there is none.
    alpha : float
        The error of all statements together.
    """

    evaluations: dict[str, Evaluation]
    baseline: Evaluation
    alive: tuple[str, ...]
    winner: str | None
    alpha: float

    def __repr__(self) -> str:
        return (
            f"<Comparison: {', '.join(self.evaluations)} on {self.baseline.n:,} rounds. "
            f"{self.conclusion}>"
        )

    def __str__(self) -> str:
        lines = [
            f"{'policy':20s} {'value':>10s} {'se':>9s} {'lower':>10s} {'upper':>10s} {'ess':>9s}  "
            "verdict"
        ]
        for name, e in {**self.evaluations, BASELINE: self.baseline}.items():
            low, high = e.interval
            ends = (
                f"{'none':>10s} {'none':>10s}" if math.isnan(low) else f"{low:10.4g} {high:10.4g}"
            )
            gone = "" if name in self.alive or e is self.baseline else ", cannot be the best"
            lines.append(
                f"{name:20s} {e.value:10.4g} {e.se:9.2g} {ends} {e.ess:9,.0f}  {e.verdict}{gone}"
            )
        return "\n".join([*lines, self.conclusion])

    @property
    def conclusion(self) -> str:
        """The winner, or the policies that may still win, in a sentence."""
        if not self.alive:
            return (
                "Each of them was certainly worse than another at some time: the world has "
                "changed, and none is the best throughout."
            )
        if self.winner is not None:
            return f"The winner is {self.winner}."
        if len(self.alive) == 1:
            return (
                f"Only {self.alive[0]} can be the best of these; against the baseline: "
                f"{self.evaluations[self.alive[0]].verdict}."
            )
        return f"No winner yet: {', '.join(self.alive)} may still be the best."

    def record(self) -> JsonObject:
        """All of it as numbers, text, lists and dicts, ready for JSON.

        Returns
        -------
        dict
        """
        policies = {name: each.record() for name, each in self.evaluations.items()}
        facts = {"winner": self.winner, "alive": list(self.alive), "alpha": self.alpha}
        return facts | {"policies": policies, "baseline": self.baseline.record()}

    def frame(self) -> "pd.DataFrame":
        """A table of the policies.

        Returns
        -------
        pandas.DataFrame
            A row for each policy and one for the baseline: value, se, lower, upper, ess,
            difference, verdict and alive.
        """
        import pandas as pd

        rows = []
        for name, e in {**self.evaluations, BASELINE: self.baseline}.items():
            gap = (
                (np.nan, np.nan)
                if e.difference is None
                else (float(e.difference.lower[-1]), float(e.difference.upper[-1]))
            )
            rows.append(
                (
                    name,
                    e.value,
                    e.se,
                    *e.interval,
                    e.ess,
                    *gap,
                    e.verdict,
                    e.decided,
                    e is self.baseline or name in self.alive,
                )
            )
        return pd.DataFrame(
            rows,
            columns=[
                "policy",
                "value",
                "se",
                "lower",
                "upper",
                "ess",
                "difference_lower",
                "difference_upper",
                "verdict",
                "decided",
                "alive",
            ],
        )

    @classmethod
    def from_record(cls, record: JsonObject) -> "Comparison":
        """The comparison whose `record` this is, as it comes from JSON.

        Parameters
        ----------
        record : dict
            What `record` returned.

        Returns
        -------
        Comparison
        """
        evaluations = {
            name: Evaluation.from_record(each) for name, each in record["policies"].items()
        }
        return cls(
            evaluations,
            Evaluation.from_record(record["baseline"]),
            tuple(record["alive"]),
            record["winner"],
            float(record["alpha"]),
        )

    def plot(
        self, path: str | pathlib.Path, *, title: str = "", log_rounds: bool = True
    ) -> pathlib.Path:
        """Draw every policy's confidence sequence over time.

        Parameters
        ----------
        path : str or Path
            An SVG, PNG, PDF or PGF file.
        title : str
            Above the picture; default none.
        log_rounds : bool
            Whether the axis of rounds is logarithmic, default True.

        Returns
        -------
        Path
        """
        from ..plots.figures import comparison_figure, save_figure

        figure = comparison_figure(
            {**self.evaluations, BASELINE: self.baseline}, title=title, log_rounds=log_rounds
        )
        return save_figure(figure, pathlib.Path(path))


def _floats(values: ArrayLike) -> np.ndarray:
    return np.array(values, dtype=np.float64)  # None becomes NaN
