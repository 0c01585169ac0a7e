"""Results of `simulate` and `identify`: arrays by policy, statistics, files, a picture."""

import pathlib
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from ..core import files, notebook
from ..core.types import JsonObject
from . import folder as folders
from . import paired_differences
from .paired_differences import PairedComparison
from .summary import SummaryRow, certified_runs, regret_summary, rounds_summary, summary_rows

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes


class ResultByPolicy:
    """A simulation or an identification, in which each policy has a cost in every replication."""

    settings: JsonObject

    @abstractmethod
    def _costs(self) -> tuple[dict[str, np.ndarray], str]:
        """(replications,) costs by policy, and their name."""

    def _certified(self) -> dict[str, str]:
        return {}

    @property
    def policies(self) -> list[str]:
        """Names of the policies, in the order they were given."""
        return list(self._costs()[0])

    @property
    def replications(self) -> int:
        """The number of replications."""
        return next(iter(self._costs()[0].values())).size

    def summary(self) -> list[SummaryRow]:
        """Final regret of every policy, lowest first, with paired differences against the lowest; in an identification its rounds.

        Returns
        -------
        list of SummaryRow
            One for each policy: policy, mean, se, median, worst, difference, difference_se, and certified, "19 of 20" where runs of
            `identify` gave up: their rounds are not all that an answer takes.
        """
        return summary_rows(self._costs()[0], self._certified())

    def compare(self, *, alpha: float = 0.05, draws: int = paired_differences.DRAWS, seed: int = 0) -> PairedComparison:
        """Compare the final regret of all policies, in an identification their rounds, within replications.

        By paired tests with Holm-corrected p-values, and interquartile means. p is never below 2^(1 - replications), so fewer than 6
        decide nothing at alpha = 0.05. With fewer than about 20 the intervals of interquartile means are too short.

        Parameters
        ----------
        alpha : float in (0, 1)
            Error of all decisions together, default 0.05. It holds from 2 replications on between policies that cost the same, however
            skewed their costs, and nearly so where only their means agree (`PairedComparison`).
        draws : int >= 100
            Of signs and of the bootstrap, default 10,000.
        seed : int >= 0
            Of the draws, default 0.

        Returns
        -------
        PairedComparison

        Raises
        ------
        ValueError
            For a single replication, and where an argument is out of its range.

        References
        ----------
        Holm 1979 (p-values); Efron, Tibshirani 1993, equation 12.22 (intervals); Agarwal, Schwarzer, Castro, Courville, Bellemare 2021
        (interquartile means); Dolan, Moré 2002 (profiles).
        """
        costs, name = self._costs()
        return paired_differences.compared_pairs(
            costs, name, problems=folders.problems(self.settings), alpha=alpha, draws=draws, seed=seed, certified=self._certified()
        )


@dataclass(frozen=True, repr=False)
class Result(ResultByPolicy):
    """Cumulative pseudo-regret and pulls of every policy.

    Attributes
    ----------
    rounds : (n,) array
        Checkpoints.
    regret : dict of name to (replications, n) array
        In units of reward.
    pulls : dict of name to (replications, K) array
        How often each arm was played.
    watched : dict of name to dict of arrays
        What a monitor recorded; the first axis is the replication.
    settings : dict
        All that made it.
    """

    rounds: np.ndarray
    regret: dict[str, np.ndarray]
    pulls: dict[str, np.ndarray]
    watched: dict[str, dict[str, np.ndarray]] = field(default_factory=dict)
    settings: JsonObject = field(default_factory=dict)
    kind = "simulation"

    def _costs(self) -> tuple[dict[str, np.ndarray], str]:
        return {name: curve[:, -1] for name, curve in self.regret.items()}, "final regret"

    def frame(self) -> "pd.DataFrame":
        """A tidy table of all regret curves.

        Returns
        -------
        pandas.DataFrame
            Columns policy, replication, round and regret.
        """
        return folders.frame({"regret": self.regret}, ("round", self.rounds))

    def plot(
        self,
        path: str | pathlib.Path | None = None,
        *,
        ax: "Axes | None" = None,
        width: float = 7.0,
        height: float = 4.2,
        band: float = 2.0,
        policies: Sequence[str] | None = None,
        log_rounds: bool = False,
        **options: Any,
    ) -> "pathlib.Path | Axes":
        """Draw the mean regret curves with their bands to a file or into axes.

        Parameters
        ----------
        path : str or Path
            An SVG, PNG, PDF or PGF file (fonts embedded as Type 42; PGF needs LaTeX). Without path and ax the axes are new ones of
            Matplotlib's pyplot, as a notebook shows them.
        ax : matplotlib.axes.Axes
            Axes of your own instead.
        width, height : float > 0
            Inches, default 7 and 4.2.
        band : float >= 0
            Half height of the bands in standard errors, default 2; 0 for none.
        policies : sequence of str
            Names to draw, in this order; default all.
        log_rounds : bool
            Whether the axis of rounds is logarithmic, default False.
        **options
            As for `plots.curves.regret_figure`.

        Returns
        -------
        Path or matplotlib.axes.Axes
            The file, or the axes that were drawn into.

        Raises
        ------
        ValueError
            For an unknown policy or ending, and where both path and ax are given.
        """
        from ..plots.curves import plot_regret

        return plot_regret(self, path, ax, width, height, band=band, policies=policies, log_rounds=log_rounds, **options)

    def __repr__(self) -> str:
        return f"<Result: {', '.join(self.policies)}; {int(self.rounds[-1]):,} rounds, {self.replications:,} replications>"

    def _repr_html_(self) -> str:
        from ..plots.curves import regret_figure
        from ..plots.pictures import figure_svg

        headers, rows, caption = regret_summary(self)
        return notebook.table(repr(self).strip("<>"), headers, rows, caption) + figure_svg(regret_figure(self))

    def save(self, path: str | pathlib.Path) -> pathlib.Path:
        """Write result.json and Parquet files to a folder; `load` reads them back bit for bit.

        Parameters
        ----------
        path : str or Path
            The folder, which is made where it is missing.

        Returns
        -------
        Path
        """
        folder = pathlib.Path(path)
        tables = {
            "regret.parquet": folders.parquet_bytes({"regret": self.regret}, ("round", self.rounds)),
            "pulls.parquet": folders.parquet_bytes({"pulls": self.pulls}, ("arm", None)),
        }
        watched = {f"{i}.{key}": array for i, name in enumerate(self.policies) for key, array in self.watched.get(name, {}).items()}
        if watched:
            tables["watched.npz"] = files.arrays_to_bytes({}, watched)
        folders.write(folder, self.kind, {
            "policies": self.policies, "replications": self.replications, "rounds": self.rounds.tolist(), "settings": self.settings,
        }, tables)  # fmt: skip
        return folder

    @staticmethod
    def load(path: str | pathlib.Path) -> "Result":
        """Read what `save` wrote.

        Parameters
        ----------
        path : str or Path
            The folder.

        Returns
        -------
        Result

        Raises
        ------
        ValueError
            Where the folder holds something else, or a save was cut short.
        FileNotFoundError
            Where there is no result, or only an unfinished run.
        """
        folder, header = _header(path, "simulation")
        names, replications = header["policies"], header["replications"]
        regret = folders.read_table(folder / "regret.parquet", names, ["regret"])["regret"]
        pulls = folders.read_table(folder / "pulls.parquet", names, ["pulls"])["pulls"]
        watched: dict[str, dict[str, np.ndarray]] = {name: {} for name in names}
        if (folder / "watched.npz").exists():
            for key, array in files.read_arrays(folder / "watched.npz")[1].items():
                number, _, field_name = key.partition(".")
                watched[names[int(number)]][field_name] = array
        return Result(
            np.array(header["rounds"], dtype=np.int64),
            {name: array.reshape(replications, -1) for name, array in regret.items()},
            {name: array.reshape(replications, -1).astype(np.int64, copy=False) for name, array in pulls.items()},
            watched,
            header["settings"],
        )


ANSWERS = ("arm", "rounds", "stopped", "correct", "gap_bound", "error")  # one number a replication


@dataclass(frozen=True, repr=False)
class Identification(ResultByPolicy):
    """The arm that every policy named, and its cost; arrays have one entry per replication.

    Attributes
    ----------
    arm : dict of name to (replications,) array
        The arm that was named.
    rounds : dict of name to (replications,) array
        How many it took.
    pulls : dict of name to (replications, K) array
        How often each arm was played.
    correct : dict of name to (replications,) array of bool
        Whether the arm's mean is within the policy's epsilon of the best.
    stopped : dict of name to (replications,) array of bool
        False: max_rounds or the budget ran out, the arm is not certified.
    gap_bound : dict of name to (replications,) array
        With probability 1 - delta the arm is at most that much worse than the best, in units of reward.
    error : dict of name to (replications,) array
        Estimated probability that it is worse by more than epsilon: what a fixed budget has to say about its best guess. At most delta
        where it is certified.
    settings : dict
        All that made it.
    """

    arm: dict[str, np.ndarray]
    rounds: dict[str, np.ndarray]
    pulls: dict[str, np.ndarray]
    correct: dict[str, np.ndarray]
    stopped: dict[str, np.ndarray]
    gap_bound: dict[str, np.ndarray]
    error: dict[str, np.ndarray]
    settings: JsonObject = field(default_factory=dict)
    kind = "identification"

    def _costs(self) -> tuple[dict[str, np.ndarray], str]:
        return self.rounds, "rounds"

    def _certified(self) -> dict[str, str]:
        budget = self.settings.get("budget") is not None  # all runs have the same number of rounds then
        return {} if budget else {name: certified_runs(stopped) for name, stopped in self.stopped.items()}

    def frame(self) -> "pd.DataFrame":
        """A tidy table of all runs.

        Returns
        -------
        pandas.DataFrame
            A row for each policy and replication: arm, rounds, stopped, correct, gap_bound and error.
        """
        return folders.frame({key: getattr(self, key) for key in ANSWERS})

    def plot(
        self,
        path: str | pathlib.Path | None = None,
        *,
        ax: "Axes | None" = None,
        width: float = 7.0,
        height: float | None = None,
        band: float = 2.0,
        policies: Sequence[str] | None = None,
        **options: str,
    ) -> "pathlib.Path | Axes":
        """Draw the rounds of every run and their means to a file or into axes.

        Parameters
        ----------
        path : str or Path
            An SVG, PNG, PDF or PGF file (fonts embedded as Type 42; PGF needs LaTeX). Without path and ax the axes are new ones of
            Matplotlib's pyplot, as a notebook shows them.
        ax : matplotlib.axes.Axes
            Axes of your own instead.
        width, height : float > 0
            Inches, default 7 and half an inch a policy.
        band : float >= 0
            Half length of the bars in standard errors, default 2; 0 for none.
        policies : sequence of str
            Names to draw, in this order; default all.
        **options
            title.

        Returns
        -------
        Path or matplotlib.axes.Axes
            The file, or the axes that were drawn into.

        Raises
        ------
        ValueError
            For an unknown policy or ending, and where both path and ax are given.
        """
        from ..plots.rounds import plot_rounds

        return plot_rounds(self, path, ax, width, height, band=band, policies=policies, **options)

    def __repr__(self) -> str:
        runs = ", ".join(f"{name} {int(self.stopped[name].sum())}/{self.replications} certified" for name in self.policies)
        return f"<Identification: {runs}>"

    def _repr_html_(self) -> str:
        from ..plots.pictures import figure_svg
        from ..plots.rounds import rounds_figure

        headers, rows, caption = rounds_summary(self)
        return notebook.table(repr(self).strip("<>"), headers, rows, caption) + figure_svg(rounds_figure(self))

    def save(self, path: str | pathlib.Path) -> pathlib.Path:
        """Write result.json and Parquet files to a folder; `load` reads them back bit for bit.

        Parameters
        ----------
        path : str or Path
            The folder, which is made where it is missing.

        Returns
        -------
        Path
        """
        folder = pathlib.Path(path)
        folders.write(folder, self.kind, {
            "policies": self.policies, "replications": self.replications, "settings": self.settings,
        }, {
            "answers.parquet": folders.parquet_bytes({key: getattr(self, key) for key in ANSWERS}),
            "pulls.parquet": folders.parquet_bytes({"pulls": self.pulls}, ("arm", None)),
        })  # fmt: skip
        return folder

    @staticmethod
    def load(path: str | pathlib.Path) -> "Identification":
        """Read what `save` wrote.

        Parameters
        ----------
        path : str or Path
            The folder.

        Returns
        -------
        Identification

        Raises
        ------
        ValueError
            Where the folder holds something else, or a save was cut short.
        FileNotFoundError
            Where there is no result, or only an unfinished run.
        """
        folder, header = _header(path, "identification")
        names, replications = header["policies"], header["replications"]
        answers = folders.read_table(folder / "answers.parquet", names, list(ANSWERS))
        pulls = folders.read_table(folder / "pulls.parquet", names, ["pulls"])["pulls"]
        return Identification(
            **answers,
            pulls={name: array.reshape(replications, -1).astype(np.int64, copy=False) for name, array in pulls.items()},
            settings=header["settings"],
        )


KINDS: dict[str, type[Result] | type[Identification]] = {"simulation": Result, "identification": Identification}


def load(path: str | pathlib.Path) -> Result | Identification:
    """Read a `Result` or `Identification`.

    Parameters
    ----------
    path : path
        The folder it was saved to.

    Returns
    -------
    Result or Identification

    Raises
    ------
    ValueError
        Where the folder holds neither, or a file is damaged.
    """
    return KINDS[folders.read_header(pathlib.Path(path))["kind"]].load(path)


def _header(path: str | pathlib.Path, kind: str) -> tuple[pathlib.Path, JsonObject]:
    folder = pathlib.Path(path)
    header = folders.read_header(folder)
    if header["kind"] != kind:
        raise ValueError(f"path = {str(folder)!r} holds a result of {header['kind']}, not of {kind}; tr.load reads both.")
    folders.check(folder, header)
    return folder, header
