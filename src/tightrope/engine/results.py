"""What `simulate` and `identify` return: arrays by policy, statistics, files, a picture."""

import pathlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import files
from . import paired, saved
from .paired import PairedComparison
from .saved import Row

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Result:
    """Cumulative pseudo-regret and pulls of every policy.

    rounds: (n,) checkpoints. regret[name]: (replications, n). pulls[name]: (replications, K). watched[name]: what a monitor
    recorded, arrays whose first axis is the replication. settings: all that made it.
    """

    rounds: np.ndarray
    regret: dict[str, np.ndarray]
    pulls: dict[str, np.ndarray]
    watched: dict[str, dict[str, np.ndarray]] = field(default_factory=dict)
    settings: dict[str, Any] = field(default_factory=dict)
    kind = "simulation"

    @property
    def policies(self) -> list[str]:
        """Names, in the order they were given."""
        return list(self.regret)

    @property
    def replications(self) -> int:
        """How many there are."""
        return next(iter(self.regret.values())).shape[0]

    def summary(self) -> list[Row]:
        """Final regret of every policy, lowest first, with paired differences against the lowest."""
        return saved.compared({name: curve[:, -1] for name, curve in self.regret.items()})

    def compare(self, *, alpha: float = 0.05, draws: int = paired.DRAWS, seed: int = 0) -> PairedComparison:
        """Compare the final regret of all policies within replications: paired bootstrap, Holm-corrected p-values, interquartile means.

        alpha: error of all decisions together, in (0, 1). draws: of the bootstrap, from 100. seed: of its draws. With fewer than about
        20 replications the intervals are too short; p is never below 2^(1 - replications). Raises ValueError for a single replication.
        """
        return paired.compared_pairs(
            {name: curve[:, -1] for name, curve in self.regret.items()},
            "final regret",
            problems=saved.problems(self.settings),
            alpha=alpha,
            draws=draws,
            seed=seed,
        )

    def frame(self) -> "pd.DataFrame":
        """A tidy pandas DataFrame: policy, replication, round, regret."""
        return saved.frame({"regret": self.regret}, ("round", self.rounds))

    def plot(self, path: str | pathlib.Path, **options: object) -> pathlib.Path:
        """Draw the regret curves with bands of two standard errors to an SVG, PNG or PDF file; returns its path."""
        from ..reports.curves import save_regret

        return save_regret(self, pathlib.Path(path), **options)

    def save(self, path: str | pathlib.Path) -> pathlib.Path:
        """Write result.json and Parquet files to a folder; `load` reads them back bit for bit."""
        folder = pathlib.Path(path)
        saved.write_table(folder / "regret.parquet", {"regret": self.regret}, ("round", self.rounds))
        saved.write_table(folder / "pulls.parquet", {"pulls": self.pulls}, ("arm", None))
        watched = {f"{i}.{key}": array for i, name in enumerate(self.policies) for key, array in self.watched.get(name, {}).items()}
        if watched:
            files.write_arrays(folder / "watched.npz", {}, watched)
        else:
            (folder / "watched.npz").unlink(missing_ok=True)  # of a result saved here before
        saved.write_header(folder, self.kind, {
            "policies": self.policies, "replications": self.replications, "rounds": self.rounds.tolist(), "settings": self.settings,
        })  # fmt: skip
        return folder

    @staticmethod
    def load(path: str | pathlib.Path) -> "Result":
        """Read what `save` wrote."""
        folder, header = _header(path, "simulation")
        names, replications = header["policies"], header["replications"]
        regret = saved.read_table(folder / "regret.parquet", names, ["regret"])["regret"]
        pulls = saved.read_table(folder / "pulls.parquet", names, ["pulls"])["pulls"]
        watched: dict[str, dict[str, np.ndarray]] = {name: {} for name in names}
        if (folder / "watched.npz").exists():
            for key, array in files.read_arrays(folder / "watched.npz")[1].items():
                number, _, field_name = key.partition(".")
                watched[names[int(number)]][field_name] = array
        return Result(
            np.array(header["rounds"], dtype=np.int64),
            {name: array.reshape(replications, -1) for name, array in regret.items()},
            {name: array.reshape(replications, -1) for name, array in pulls.items()},
            watched,
            header["settings"],
        )


ANSWERS = ("arm", "rounds", "stopped", "correct", "gap_bound", "error")  # one number a replication


@dataclass(frozen=True)
class Identification:
    """What every policy named, and at what cost; arrays have one entry per replication.

    arm[name], rounds[name], stopped[name] (False: max_rounds or the budget ran out, the arm is not certified),
    correct[name] (the arm's mean is within the policy's epsilon of the best), pulls[name] (replications, K), gap_bound[name] (with
    probability 1 - delta the arm is at most that much worse than the best), error[name] (estimated probability that it is worse by
    more than epsilon): what a fixed budget has to say about its best guess.
    """

    arm: dict[str, np.ndarray]
    rounds: dict[str, np.ndarray]
    pulls: dict[str, np.ndarray]
    correct: dict[str, np.ndarray]
    stopped: dict[str, np.ndarray]
    gap_bound: dict[str, np.ndarray]
    error: dict[str, np.ndarray]
    settings: dict[str, Any] = field(default_factory=dict)
    kind = "identification"

    @property
    def policies(self) -> list[str]:
        """Names, in the order they were given."""
        return list(self.arm)

    @property
    def replications(self) -> int:
        """How many there are."""
        return next(iter(self.arm.values())).size

    def summary(self) -> list[Row]:
        """Rounds that every policy took, fewest first, with paired differences against the fewest."""
        return saved.compared(self.rounds)

    def compare(self, *, alpha: float = 0.05, draws: int = paired.DRAWS, seed: int = 0) -> PairedComparison:
        """Compare the rounds of all policies within replications: paired bootstrap, Holm-corrected p-values, interquartile means.

        alpha: error of all decisions together, in (0, 1). draws: of the bootstrap, from 100. seed: of its draws. With fewer than about
        20 replications the intervals are too short; p is never below 2^(1 - replications). Raises ValueError for a single replication.
        """
        return paired.compared_pairs(self.rounds, "rounds", problems=saved.problems(self.settings), alpha=alpha, draws=draws, seed=seed)

    def frame(self) -> "pd.DataFrame":
        """A tidy pandas DataFrame, one row per policy and replication: arm, rounds, stopped, correct, gap_bound, error."""
        return saved.frame({key: getattr(self, key) for key in ANSWERS})

    def plot(self, path: str | pathlib.Path, **options: object) -> pathlib.Path:
        """Draw the rounds of every run, their means and two standard errors to an SVG, PNG or PDF file; returns its path."""
        from ..reports.identification import save_rounds

        return save_rounds(self, pathlib.Path(path), **options)

    def save(self, path: str | pathlib.Path) -> pathlib.Path:
        """Write result.json and Parquet files to a folder; `load` reads them back bit for bit."""
        folder = pathlib.Path(path)
        saved.write_table(folder / "answers.parquet", {key: getattr(self, key) for key in ANSWERS})
        saved.write_table(folder / "pulls.parquet", {"pulls": self.pulls}, ("arm", None))
        saved.write_header(folder, self.kind, {
            "policies": self.policies, "replications": self.replications, "settings": self.settings,
        })  # fmt: skip
        return folder

    @staticmethod
    def load(path: str | pathlib.Path) -> "Identification":
        """Read what `save` wrote."""
        folder, header = _header(path, "identification")
        names, replications = header["policies"], header["replications"]
        answers = saved.read_table(folder / "answers.parquet", names, list(ANSWERS))
        pulls = saved.read_table(folder / "pulls.parquet", names, ["pulls"])["pulls"]
        return Identification(
            **answers, pulls={name: array.reshape(replications, -1) for name, array in pulls.items()}, settings=header["settings"]
        )


KINDS: dict[str, type[Result] | type[Identification]] = {"simulation": Result, "identification": Identification}


def load(path: str | pathlib.Path) -> Any:
    """Read a `Result` or `Identification` from the folder it was saved to."""
    return KINDS[saved.read_header(pathlib.Path(path))["kind"]].load(path)


def _header(path: str | pathlib.Path, kind: str) -> tuple[pathlib.Path, dict[str, Any]]:
    folder = pathlib.Path(path)
    header = saved.read_header(folder)
    if header["kind"] != kind:
        raise ValueError(f"path = {str(folder)!r} holds a result of {header['kind']}, not of {kind}; tr.load reads both.")
    return folder, header
