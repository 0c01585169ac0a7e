"""What a simulation found: regret, pulls, statistics, files, a picture."""

import json
import pathlib
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .. import files
from ..numerics.statistics import standard_error

FORMAT = 1


@dataclass(frozen=True)
class Row:
    """One policy's line of the summary."""

    policy: str
    mean: float
    se: float
    median: float
    worst: float
    difference: float  # mean paired difference to the best policy
    difference_se: float


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
        final = {name: curve[:, -1] for name, curve in self.regret.items()}
        best = min(final, key=lambda name: float(final[name].mean()))
        rows = [
            Row(name, float(x.mean()), float(standard_error(x)), float(np.median(x)), float(x.max()),
                float((x - final[best]).mean()), float(standard_error(x - final[best])) if name != best else 0.0)
            for name, x in final.items()
        ]  # fmt: skip
        return sorted(rows, key=lambda row: row.mean)

    def frame(self) -> Any:
        """A tidy pandas DataFrame: policy, replication, round, regret."""
        import pandas as pd

        n, shape = self.rounds.size, (self.replications, self.rounds.size)
        return pd.concat(
            [
                pd.DataFrame({
                    "policy": name,
                    "replication": np.repeat(np.arange(shape[0]), n),
                    "round": np.tile(self.rounds, shape[0]),
                    "regret": curve.reshape(-1),
                })
                for name, curve in self.regret.items()
            ],
            ignore_index=True,
        )  # fmt: skip

    def plot(self, path: str | pathlib.Path, **options: Any) -> pathlib.Path:
        """Draw the regret curves with bands of two standard errors to an SVG, PNG or PDF file; returns its path."""
        from ..reports.curves import save_regret

        return save_regret(self, pathlib.Path(path), **options)

    def save(self, path: str | pathlib.Path) -> pathlib.Path:
        """Write result.json and Parquet files to a folder; `load` reads them back bit for bit."""
        import pyarrow as pa

        folder = pathlib.Path(path)
        names = self.policies
        _write_table(folder / "regret.parquet", {
            "policy": _column(pa, names, [self.regret[name].size for name in names]),
            "replication": np.concatenate([np.repeat(np.arange(self.replications), self.rounds.size) for _ in names]),
            "round": np.concatenate([np.tile(self.rounds, self.replications) for _ in names]),
            "regret": np.concatenate([self.regret[name].reshape(-1) for name in names]),
        })  # fmt: skip
        _write_table(folder / "pulls.parquet", {
            "policy": _column(pa, names, [self.pulls[name].size for name in names]),
            "replication": np.concatenate([np.repeat(np.arange(self.replications), self.pulls[name].shape[1]) for name in names]),
            "arm": np.concatenate([np.tile(np.arange(self.pulls[name].shape[1]), self.replications) for name in names]),
            "pulls": np.concatenate([self.pulls[name].reshape(-1) for name in names]),
        })  # fmt: skip
        watched = {f"{i}.{key}": array for i, name in enumerate(names) for key, array in self.watched.get(name, {}).items()}
        if watched:
            files.write_arrays(folder / "watched.npz", {}, watched)
        else:
            (folder / "watched.npz").unlink(missing_ok=True)  # of a result saved here before
        header = {"format": FORMAT, "policies": names, "replications": self.replications, "rounds": self.rounds.tolist()}
        files.write_json(folder / "result.json", header | {"settings": self.settings})
        return folder

    @staticmethod
    def load(path: str | pathlib.Path) -> "Result":
        """Read what `save` wrote."""
        import pyarrow.parquet as pq

        folder = pathlib.Path(path)
        if not (folder / "result.json").exists():
            raise FileNotFoundError(f"path = {str(folder)!r} holds no result.json; pass a folder that Result.save wrote.")
        try:
            header = json.loads((folder / "result.json").read_text())
        except ValueError:
            raise ValueError(f"{folder / 'result.json'} is damaged; make the result again.") from None
        if header.get("format") != FORMAT:
            raise ValueError(f"{folder / 'result.json'} has format {header.get('format')}, but this version reads {FORMAT}.")
        names, replications = header["policies"], header["replications"]
        rounds = np.array(header["rounds"], dtype=np.int64)

        def split(file: str, column: str) -> dict[str, np.ndarray]:
            table = pq.read_table(folder / file)
            code = table["policy"].combine_chunks()
            indices = np.asarray(code.indices)
            labels = code.dictionary.to_pylist()
            values = table[column].to_numpy()
            return {name: values[indices == labels.index(name)].reshape(replications, -1) for name in names}

        watched: dict[str, dict[str, np.ndarray]] = {name: {} for name in names}
        if (folder / "watched.npz").exists():
            for key, array in files.read_arrays(folder / "watched.npz")[1].items():
                number, _, field_name = key.partition(".")
                watched[names[int(number)]][field_name] = array
        return Result(rounds, split("regret.parquet", "regret"), split("pulls.parquet", "pulls"), watched, header["settings"])


def load(path: str | pathlib.Path) -> Result:
    """Read a result that `Result.save` wrote."""
    return Result.load(path)


def _column(pa: Any, names: list[str], sizes: list[int]) -> Any:
    return pa.DictionaryArray.from_arrays(pa.array(np.repeat(np.arange(len(names), dtype=np.int32), sizes)), pa.array(names))


def _write_table(path: pathlib.Path, columns: dict[str, Any]) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    with files.atomically(path) as file:
        pq.write_table(pa.table(columns), file, compression="zstd")
