"""Results of `simulate` and `identify`: arrays by policy, statistics, files, a picture."""

import hashlib
import io
import itertools
import json
import math
import pathlib
from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self

import numpy as np
import scipy

from .core import checks, files
from .core.files import rounded_number, standard_error, with_error
from .core.types import JsonObject

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

# Folders of results: long tables as frames and Parquet files, and a header with their checksums.


FORMAT = 1
HEADER = "result.json"
TABLES = ("regret.parquet", "answers.parquet", "pulls.parquet", "watched.safetensors")
GROUP = 2**17  # rows of a table that are in memory together
Columns = Mapping[
    str, Mapping[str, np.ndarray]
]  # column -> policy -> array whose first axis is the replication


def problems(settings: JsonObject) -> int:
    return int((settings.get("problem") or {}).get("count", 1))


def long_table(
    columns: Columns, inner: tuple[str, np.ndarray | None] | None = None
) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Place of the policy of every row, and the columns: replication, the inner axis, values.

    inner: name and values of the second axis of the arrays, None: 0, 1, ..; without it they have
    one axis.
    """
    first = next(iter(columns.values()))
    sizes = [array.size for array in first.values()]
    codes = np.repeat(np.arange(len(sizes), dtype=np.int32), sizes)
    each = [(array.shape[0], array.size // array.shape[0]) for array in first.values()]
    table = {
        "replication": np.concatenate(
            [np.repeat(np.arange(replications), n) for replications, n in each]
        )
    }
    if inner is not None:
        table[inner[0]] = np.concatenate(
            [np.tile(np.arange(n) if inner[1] is None else inner[1], r) for r, n in each]
        )
    return codes, table | {
        key: np.concatenate([array.reshape(-1) for array in arrays.values()])
        for key, arrays in columns.items()
    }


def frame(columns: Columns, inner: tuple[str, np.ndarray | None] | None = None) -> "pd.DataFrame":
    import pandas as pd

    codes, table = long_table(columns, inner)
    names = np.array(list(next(iter(columns.values()))), dtype=object)
    return pd.DataFrame({"policy": names[codes]} | table)


def parquet_bytes(columns: Columns, inner: tuple[str, np.ndarray | None] | None = None) -> bytes:
    """The long table as a Parquet file has it, in row groups of some replications of a policy each,
    so that no more of it is in memory."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    first = next(iter(columns.values()))
    names, file, writer = list(first), io.BytesIO(), None
    for place, (name, whole) in enumerate(first.items()):
        step = max(1, GROUP * len(whole) // max(whole.size, 1))
        for begin in range(0, len(whole), step):
            part = {
                key: {name: arrays[name][begin : begin + step]} for key, arrays in columns.items()
            }
            codes, table = long_table(part, inner)
            policy = pa.DictionaryArray.from_arrays(
                pa.array(codes + np.int32(place)), pa.array(names)
            )
            rows = pa.table(
                {"policy": policy} | table | {"replication": table["replication"] + begin}
            )
            writer = writer or pq.ParquetWriter(file, rows.schema, compression="zstd")
            writer.write_table(rows)
    if writer is not None:
        writer.close()
    return file.getvalue()


def read_table(
    path: pathlib.Path, names: list[str], columns: list[str]
) -> dict[str, dict[str, np.ndarray]]:
    import pyarrow.parquet as pq

    parts: dict[str, dict[str, list[np.ndarray]]] = {
        key: {name: [] for name in names} for key in columns
    }
    with pq.ParquetFile(path) as file:
        for group in range(
            file.num_row_groups
        ):  # each of one policy, so that no more of the table is in memory
            rows = file.read_row_group(group, columns=["policy", *columns])
            name = rows["policy"][0].as_py()
            for key in columns:
                parts[key][name].append(rows[key].to_numpy())
    return {
        key: {name: np.concatenate(arrays) for name, arrays in each.items()}
        for key, each in parts.items()
    }


def write(
    folder: pathlib.Path, kind: str, header: dict[str, object], tables: Mapping[str, bytes]
) -> None:
    """The tables by file name in place of all that are there, and result.json with their checksums.

    result.json is written last and removed before a table changes, so a folder with it is whole;
    where two write at once the checksums tell.
    """
    sums = {name: hashlib.sha256(data).hexdigest() for name, data in tables.items()}
    if any(_checksum(folder / name) != sums.get(name) for name in TABLES):
        remove_header(folder)
        for name in TABLES:
            if name in tables:
                files.write_bytes(folder / name, tables[name])
            else:
                (folder / name).unlink(missing_ok=True)
    files.write_json(folder / HEADER, {"format": FORMAT, "kind": kind} | header | {"files": sums})


def remove_header(folder: pathlib.Path) -> None:
    (folder / HEADER).unlink(missing_ok=True)


def check(folder: pathlib.Path, header: JsonObject) -> None:
    """Raise ValueError where a table is not the one that result.json was written with."""
    wrong = [name for name in TABLES if _checksum(folder / name) != header["files"].get(name)]
    if wrong:
        raise ValueError(
            f"{folder / wrong[0]} is not the file that {HEADER} was written with: a save was cut "
            "short, two ran at once, or it was changed; run the same call again, which finds what "
            "has finished, or save the result again."
        )


def _checksum(path: pathlib.Path) -> str | None:
    try:
        with open(path, "rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except FileNotFoundError:
        return None


def read_header(folder: pathlib.Path) -> JsonObject:
    if not (folder / HEADER).exists():
        holds = f"path = {str(folder)!r} holds "
        if (folder / "plan.json").exists():
            raise FileNotFoundError(
                f"{holds}a run that has not finished; run the same call again, which goes on from "
                "its chunks."
            )
        raise FileNotFoundError(
            f"{holds}no {HEADER}; pass a folder that a result was saved to, or save it again "
            "where that was cut short."
        )
    try:
        header: JsonObject = json.loads((folder / HEADER).read_text())
    except ValueError:
        raise ValueError(f"{folder / HEADER} is damaged; make the result again.") from None
    if header.get("format") != FORMAT:
        raise ValueError(
            f"{folder / HEADER} has format {header.get('format')}, but this version reads {FORMAT}."
        )
    return header


# Results in rows: means with paired differences, and the tables that notebooks, pages and the
# command line show.


@dataclass(frozen=True)
class SummaryRow:
    """One policy's line of a summary of what its runs cost: regret, or rounds.

    certified: "19 of 20" where runs of `identify` gave up, which count as the rounds that they had:
    the mean is at least this. Else "".
    """

    policy: str
    mean: float
    se: float
    median: float
    worst: float
    difference: float  # mean paired difference to the best policy
    difference_se: float
    certified: str = ""


def summary_rows(cost: Mapping[str, np.ndarray], certified: Mapping[str, str]) -> list[SummaryRow]:
    """A row for every policy, lowest mean first, with paired differences against that one.
    cost[name]: (replications,)."""
    best = min(cost, key=lambda name: float(cost[name].mean()))
    rows = [
        SummaryRow(
            name,
            float(x.mean()),
            float(standard_error(x)),
            float(np.median(x)),
            float(x.max()),
            float((x - cost[best]).mean()),
            float(standard_error(x - cost[best])) if name != best else 0.0,
            certified.get(name, ""),
        )
        for name, x in cost.items()
    ]
    return sorted(rows, key=lambda row: row.mean)


class Summary(NamedTuple):
    headers: list[str]
    rows: list[list[str]]
    caption: str


def regret_summary(result: "Result") -> Summary:
    rounds, n = int(result.rounds[-1]), result.replications
    ranked = result.settings.get("until")
    order = f" {ranking_sentence(ranked)}" if ranked else ""
    errors = "± one standard error." if n > 1 else "one replication has no standard error."
    return Summary(
        ["policy", "final regret", "minus best, paired", "median", "largest"],
        [cost_cells(row) for row in result.summary()],
        f"After {rounds:,} rounds, {n} replication{'s' if n != 1 else ''}; {errors}{order}",
    )


def ending(result: "Identification", name: str) -> str:
    """What the answer of a policy that has stopped is called."""
    return "best by the plan" if name in result.settings.get("by plan", ()) else "certified"


def rounds_summary(result: "Identification") -> Summary:
    shares = {
        name: [
            _share(result.correct[name]),
            _share(result.stopped[name]) if ending(result, name) == "certified" else "by the plan",
        ]
        for name in result.policies
    }
    n = result.replications
    return Summary(
        ["policy", "rounds", "minus fewest, paired", "median", "largest", "right", "certified"],
        [cost_cells(row) + shares[row.policy] for row in result.summary()],
        f"{n} replication{'s' if n != 1 else ''}; ± one standard error."
        + gave_up_sentence({r.policy: r.certified for r in result.summary()}),
    )


def gave_up_sentence(certified: Mapping[str, str]) -> str:
    """A sentence after a space about policies of which runs gave up, "" where none did."""
    cut = ", ".join(f"{name} certified {runs}" for name, runs in certified.items() if runs)
    return (
        f" {cut}: runs that gave up count as the rounds they had, so that their mean is at least "
        "this."
        if cut
        else ""
    )


def ranking_sentence(ranked: JsonObject) -> str:
    """The sentence about what a rule of `stopping` decided, after how many replications.

    Parameters
    ----------
    ranked : dict
        A result's `settings["until"]`.

    Returns
    -------
    str
        One sentence.

    Raises
    ------
    KeyError
        Where the dict is not from a result that was run with `until`.

    Examples
    --------
    >>> import tightrope as tr
    >>> tr.stopping.sentence({"replications": 40, "alpha": 0.05, "certain": True, "undecided": []})
    'The order is certain (error 0.05) after 40 replications.'
    """
    n, error = ranked["replications"], f"error {ranked['alpha']:g}"
    if ranked["certain"]:
        return f"The order is certain ({error}) after {n} replications."
    undecided = "; ".join(f"{first} and {second}" for first, second in ranked["undecided"])
    return f"After {n} replications the order is undecided ({error}) for {undecided}."


def cost_cells(row: SummaryRow) -> list[str]:
    """Policy, mean, paired difference to the best, median and worst of a summary, to the digits
    that their standard errors set."""
    paired = (
        "best"
        if row.difference == 0 and row.difference_se == 0
        else with_error(row.difference, row.difference_se, sign=True)
    )
    return [
        row.policy,
        ("≥ " if row.certified else "") + with_error(row.mean, row.se),
        paired,
        rounded_number(row.median, row.se),
        rounded_number(row.worst, row.se),
    ]


def _share(happened: np.ndarray) -> str:
    """A share of the runs with its standard error, or the count where all runs agree and there is
    none."""
    if happened.all() or not happened.any() or happened.size < 2:
        return f"{happened.mean():.4g}"
    return with_error(float(happened.mean()), float(standard_error(happened)))


# `Result.compare` and `Identification.compare`: which policies differ, by how much, and how sure
# that is.


DRAWS = 10_000
MOST_DRAWS = 10**7
CELLS = 2**22  # numbers of a block of draws: 32 MiB
ROUNDING = 1e-12
LEAST_SPREAD = 0.3
# replications of which all lie on one side of the mean in one case of 128, so that an interval need
# not reach beyond them
INSIDE = 8


@dataclass(frozen=True)
class Pair:
    """Two policies. difference: mean cost of `first` minus that of `second`, paired; se: its
    standard error; lower, upper: its interval at level 1 - alpha, of the studentized bootstrap and
    no shorter than Student's, but within the observed differences (with 4 to 7 replications within
    as far again on either side, with fewer infinite); p: two-sided, corrected for all pairs;
    decided: p <= alpha.
    """

    first: str
    second: str
    difference: float
    se: float
    lower: float
    upper: float
    p: float
    decided: bool


@dataclass(frozen=True)
class Level:
    """One policy. mean and se: of its cost; iqm: mean of the middle half of its replications, with
    a bootstrap interval; certified: "19 of 20" where runs gave up, so that the cost is at least
    this, else ""."""

    policy: str
    mean: float
    se: float
    iqm: float
    lower: float
    upper: float
    certified: str = ""


@dataclass(frozen=True, eq=False)
class PairedComparison:
    """Policies compared on the same replications; lower cost is better.

    Attributes
    ----------
    cost : str
        What was compared, "final regret" or "rounds".
    replications, problems : int
        How many; replication r plays problem r % problems.
    alpha : float in (0, 1)
        Error of all decisions together, and of each interval by itself. Of policies that cost the
        same it holds from 2 replications on. Where only their means agree and differences are
        skewed it is reached as replications grow: at alpha = 0.05, of 1,000 comparisons with
        exponential differences 36 to 67 were wrong with 6 to 40 replications, with lognormal ones
        (skewness 6) 72 to 96 with 6 to 20, and 57 with 40. Intervals of such lognormal differences
        hold the truth in 89 to 94 of 100 runs, not in 95.
    levels : list of Level
        One for each policy, lowest mean first.
    pairs : list of Pair
        One for every two policies, in that order, so that differences are rarely positive.
    ratios : (n,) array
        Multiples of the lowest mean cost.
    profile : dict of name to (n,) array
        The share of problems on which the policy's mean cost is at most so many times the lowest
        one.
    """

    cost: str
    replications: int
    problems: int
    alpha: float
    levels: list[Level]
    pairs: list[Pair]
    ratios: np.ndarray
    profile: dict[str, np.ndarray]

    @property
    def undecided(self) -> list[tuple[str, str]]:
        """Pairs whose order these replications do not show."""
        return [(pair.first, pair.second) for pair in self.pairs if not pair.decided]

    @property
    def best(self) -> list[str]:
        """Policies that no other has certainly beaten."""
        beaten = {
            pair.second if pair.difference < 0.0 else pair.first
            for pair in self.pairs
            if pair.decided
        }
        return [level.policy for level in self.levels if level.policy not in beaten]

    def frame(self) -> "pd.DataFrame":
        """A table of all pairs.

        Returns
        -------
        pandas.DataFrame
            A row for each pair: first, second, difference, se, lower, upper, p and decided.
        """
        import pandas as pd

        return pd.DataFrame(
            [vars(pair) for pair in self.pairs], columns=list(Pair.__dataclass_fields__)
        )

    def plot(self, path: str | pathlib.Path, **options: str) -> pathlib.Path:
        """Draw the differences with their intervals, and the profile where there are several
        problems.

        Parameters
        ----------
        path : str or Path
            An SVG, PNG, PDF or PGF file.
        **options
            title: str, above the picture.

        Returns
        -------
        Path
        """
        from .plots.figures import save_comparison

        return save_comparison(self, pathlib.Path(path), **options)

    def __repr__(self) -> str:
        open_ = (
            f"{len(self.undecided)} of {len(self.pairs)} "
            f"pair{'s' if len(self.pairs) != 1 else ''} undecided"
        )
        return (
            f"<PairedComparison: {self.cost}, {self.replications} replications; best "
            f"{', '.join(self.best)}; {open_}>"
        )

    def __str__(self) -> str:
        return "\n".join(self._lines())

    def _repr_html_(self) -> str:
        rows = [
            (
                f"{pair.first} - {pair.second}",
                f"{pair.difference:+.5g} ± {pair.se:.2g}",
                f"[{pair.lower:.5g}, {pair.upper:.5g}]",
                f"{pair.p:.2g}",
            )
            for pair in self.pairs
        ]
        return files.table(
            repr(self).strip("<>"),
            ["pair", "difference ± se", f"{1.0 - self.alpha:.0%} interval", "p"],
            rows,
        )

    def _lines(self) -> Iterator[str]:
        several = f", {self.problems} problems" if self.problems > 1 else ""
        level = f"{100.0 * (1.0 - self.alpha):.4g} %"
        many = f"{len(self.pairs)} pair{'s' if len(self.pairs) != 1 else ''}"
        yield (
            f"{self.cost}, {self.replications} replications{several}; intervals at {level}, "
            f"p-values corrected for {many}"
        )
        wide = max(6, *(len(item.policy) for item in self.levels))
        yield f"{'policy':{wide}}  {'mean ± se':>20}  {'interquartile mean':>30}"
        for item in self.levels:
            middle = f"{item.iqm:.5g} [{item.lower:.5g}, {item.upper:.5g}]"
            least = ">= " if item.certified else ""
            yield (
                f"{item.policy:{wide}}  {f'{least}{item.mean:.5g} ± {item.se:.2g}':>20}  "
                f"{middle:>30}"
            )
        gave_up = gave_up_sentence({item.policy: item.certified for item in self.levels})
        if gave_up:
            yield gave_up.strip()
        if not self.pairs:
            return
        names = [f"{pair.first} - {pair.second}" for pair in self.pairs]
        wide = max(map(len, names))
        yield f"{'pair':{wide}}  {'difference ± se':>20}  {'interval':>26}  {'p':>8}"
        for name, pair in zip(names, self.pairs, strict=True):
            interval = f"[{pair.lower:.5g}, {pair.upper:.5g}]"
            open_ = "" if pair.decided else "  undecided"
            yield (
                f"{name:{wide}}  {f'{pair.difference:+.5g} ± {pair.se:.2g}':>20}  {interval:>26}  "
                f"{pair.p:8.2g}{open_}"
            )
        needed = 1 + math.ceil(math.log2(len(self.pairs) / self.alpha))
        if self.replications < needed:
            yield (
                f"{self.replications} replications cannot decide between {many} at alpha = "
                f"{self.alpha:g}; {needed} can."
            )


def compared_pairs(
    cost: Mapping[str, np.ndarray],
    what: str,
    *,
    problems: int = 1,
    alpha: float = 0.05,
    draws: int = DRAWS,
    seed: int = 0,
    certified: Mapping[str, str] = MappingProxyType({}),
) -> PairedComparison:
    """The comparison of cost[name] (replications,), in units of what, that `Result.compare` and
    `Identification.compare` return.

    certified: of policies of which runs gave up how many did not, in words.
    """
    alpha = checks.real("alpha", alpha, above=0, below=1)
    draws = checks.integer("draws", draws, least=100, most=MOST_DRAWS)
    seed = checks.seed(seed)
    names = sorted(cost, key=lambda name: float(cost[name].mean()))
    table = np.stack([np.asarray(cost[name], dtype=np.float64) for name in names])
    m, n = table.shape
    if n < 2:
        raise ValueError(
            f"replications = {n} show no differences between policies; compare needs at least 2, "
            "better 20."
        )
    pairs = list(itertools.combinations(range(m), 2))
    apart = np.array([table[i] - table[j] for i, j in pairs]).reshape(len(pairs), n)
    se = standard_error(apart.T)
    rng = np.random.default_rng(seed)
    middles, drawn, reach = _bootstrap(table, apart, draws, rng)
    chances = np.maximum(_of_signs(apart, draws, rng), _of_bootstrap(apart.mean(axis=1), se, drawn))
    tails = [100.0 * alpha / 2.0, 100.0 - 100.0 * alpha / 2.0]
    levels = []
    for j, name in enumerate(names):
        low, high = np.percentile(middles[j], tails).tolist()
        values = np.sort(table[j])
        levels.append(
            Level(
                name,
                float(values.mean()),
                float(standard_error(table[j])),
                float(interquartile_weights(np.ones(n)) @ values),
                low,
                high,
                certified.get(name, ""),
            )
        )
    least = float(
        scipy.special.stdtrit(n - 1, 1.0 - alpha / 2.0)
    )  # the bootstrap alone is too short for heavy tails on both sides
    low, high = np.percentile(reach, tails, axis=1, method="closest_observation")
    low, high = np.minimum(low, -least), np.maximum(high, least)
    room = (
        np.ptp(apart, axis=1) * (0.0 if n >= INSIDE else 1.0)
        if n >= 4
        else np.full(len(apart), np.inf)
    )
    comparisons = []
    for k, ((i, j), p) in enumerate(zip(pairs, holm(chances).tolist(), strict=True)):
        difference, error = float(apart[k].mean()), float(se[k])
        ends = (
            max(difference - float(high[k]) * error, float(apart[k].min() - room[k])),
            min(difference - float(low[k]) * error, float(apart[k].max() + room[k])),
        )
        comparisons.append(
            Pair(
                names[i],
                names[j],
                difference,
                error,
                *(ends if error > 0.0 else (difference, difference)),
                p,
                decided=p <= alpha,
            )
        )
    ratios, profile = _profile(table, problems)
    return PairedComparison(
        what,
        n,
        min(problems, n),
        alpha,
        levels,
        comparisons,
        ratios,
        dict(zip(names, profile, strict=True)),
    )


def _of_signs(apart: np.ndarray, draws: int, rng: np.random.Generator) -> np.ndarray:
    """Two-sided p-values (pairs,): the share of signs of the differences (pairs, n) under which
    their sum is at least as far from 0.

    Of all signs where these are at most `draws`, of drawn ones and the observed ones otherwise. The
    observed mean against its standard error would give the same order. O(pairs draws n).
    """
    n = apart.shape[1]
    least = np.abs(apart.sum(axis=1)) - ROUNDING * np.abs(apart).sum(axis=1)
    every = 2 ** (n - 1) <= draws  # the first sign may stay: all others turned is the same distance
    count, size = 2 ** (n - 1) if every else draws, max(1, CELLS // n)
    as_far = np.zeros(len(apart), dtype=np.int64)
    for first in range(0, count, size):
        last = min(first + size, count)
        turned = (
            np.arange(first, last)[:, None] >> np.arange(n) & 1
            if every
            else rng.integers(0, 2, size=(last - first, n))
        )
        as_far += (np.abs(apart @ (1.0 - 2.0 * turned).T) >= least[:, None]).sum(axis=1)
    return as_far / count if every else (as_far + 1) / (count + 1)


def _of_bootstrap(means: np.ndarray, se: np.ndarray, drawn: np.ndarray) -> np.ndarray:
    """Two-sided p-values (pairs,): twice the rarer side of the means over their standard errors
    among those that were drawn."""
    with np.errstate(divide="ignore", invalid="ignore"):
        statistic = np.where(
            se > 0.0, means / se, np.where(means == 0.0, 0.0, np.copysign(np.inf, means))
        )[:, None]
    above, below = (drawn >= statistic).sum(axis=1), (drawn <= statistic).sum(axis=1)
    return np.minimum(2.0 * (1 + np.minimum(above, below)) / (drawn.shape[1] + 1), 1.0)


def _bootstrap(
    table: np.ndarray, apart: np.ndarray, draws: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Replications drawn with replacement, the same for all policies: interquartile means of the
    costs (m, n), as (m, draws), and how many of its standard errors the mean of the differences
    (pairs, n) is from the observed mean, as (pairs, draws); and that of errors which are no less
    than LEAST_SPREAD times the observed one."""
    m, n = table.shape
    order = np.argsort(table, axis=1, kind="stable")
    rising = np.take_along_axis(table, order, axis=1)
    middles, distances, reach = (
        np.empty((m, draws)),
        np.empty((len(apart), draws)),
        np.empty((len(apart), draws)),
    )
    centred = apart - apart.mean(axis=1, keepdims=True)
    nothing = ROUNDING * np.square(centred).mean(
        axis=1, keepdims=True
    )  # a variance that is rounding: one replication was drawn n times
    size = max(1, CELLS // n)
    for first in range(0, draws, size):
        last = min(first + size, draws)
        drawn = rng.integers(0, n, size=(last - first, n)) + n * np.arange(last - first)[:, None]
        counts = np.bincount(drawn.reshape(-1), minlength=(last - first) * n).reshape(-1, n)
        for j in range(m):
            middles[j, first:last] = interquartile_weights(counts[:, order[j]]) @ rising[j]
        mean, square = centred @ (counts.T / n), np.square(centred) @ (counts.T / n)
        variance = square - mean**2
        variance[variance <= nothing] = 0.0
        with np.errstate(divide="ignore", invalid="ignore"):
            distances[:, first:last] = np.nan_to_num(
                mean / np.sqrt(variance / (n - 1)), nan=0.0, posinf=np.inf, neginf=-np.inf
            )
            spread = np.maximum(
                variance,
                LEAST_SPREAD**2 * np.square(centred).mean(axis=1, keepdims=True) if n >= 4 else 0.0,
            )
            reach[:, first:last] = np.nan_to_num(
                mean / np.sqrt(spread / (n - 1)), nan=0.0, posinf=np.inf, neginf=-np.inf
            )
    return middles, distances, reach


def _profile(table: np.ndarray, problems: int) -> tuple[np.ndarray, np.ndarray]:
    """Ratios of mean cost to the lowest on a problem at which shares change, and (m, ratios) shares
    of problems within them."""
    m, n = table.shape
    by_problem = np.stack(
        [table[:, place::problems].mean(axis=1) for place in range(min(problems, n))], axis=1
    )
    least = by_problem.min(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.where(by_problem == least, 1.0, by_problem / least)
    ratio[(by_problem > least) & (least <= 0.0)] = np.inf
    ratios = np.unique(np.append(ratio[np.isfinite(ratio)], 1.0))
    return ratios, (ratio[:, :, None] <= ratios).mean(axis=1).reshape(m, -1)


class ResultByPolicy:
    """A simulation or an identification, in which each policy has a cost in every replication."""

    settings: JsonObject
    pulls: dict[str, np.ndarray]
    kind: ClassVar[str]

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

    def _leader_and_next(self) -> str:
        first, *others = map(cost_cells, self.summary())
        then = f", then {others[0][0]} with {others[0][2]}" if others else ""
        return (
            f"leader: {first[0]}, {self._costs()[1]} {first[1]}{then}\n next: compare() tests the "
            "differences, plot() draws them"
        )

    def summary(self) -> list[SummaryRow]:
        """Final regret of every policy, lowest first, with paired differences against the lowest;
        in an identification its rounds.

        Returns
        -------
        list of SummaryRow
            One for each policy: policy, mean, se, median, worst, difference, difference_se, and
            certified, "19 of 20" where runs of `identify` gave up: their rounds are not all that an
            answer takes.
        """
        return summary_rows(self._costs()[0], self._certified())

    def compare(
        self, *, alpha: float = 0.05, draws: int = DRAWS, seed: int = 0
    ) -> PairedComparison:
        """Compare the final regret of all policies, in an identification their rounds, within
        replications.

        By paired tests with Holm-corrected p-values, and interquartile means. p is never below 2^(1
        - replications), so fewer than 6 decide nothing at alpha = 0.05. With fewer than about 20
        the intervals of interquartile means are too short.

        Parameters
        ----------
        alpha : float in (0, 1)
            Error of all decisions together, default 0.05. It holds from 2 replications on between
            policies that cost the same, however skewed their costs, and nearly so where only their
            means agree (`PairedComparison`).
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
        Holm 1979 (p-values); Efron, Tibshirani 1993, equation 12.22 (intervals); Agarwal,
        Schwarzer, Castro, Courville, Bellemare 2021 (interquartile means); Dolan, Moré 2002
        (profiles).
        """
        return compared_pairs(
            *self._costs(),
            problems=problems(self.settings),
            alpha=alpha,
            draws=draws,
            seed=seed,
            certified=self._certified(),
        )

    @abstractmethod
    def _saved(self) -> tuple[JsonObject, dict[str, bytes]]:
        """What the header says besides, and files by name besides that of the pulls."""

    @classmethod
    @abstractmethod
    def _fields(cls, folder: pathlib.Path, header: JsonObject) -> dict[str, Any]:
        """What `_saved` is about, by attribute."""

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
        folder, (more, tables) = pathlib.Path(path), self._saved()
        header = {"policies": self.policies, "replications": self.replications} | more
        pulls = {"pulls.parquet": parquet_bytes({"pulls": self.pulls}, ("arm", None))}
        write(folder, self.kind, header | {"settings": self.settings}, tables | pulls)
        return folder

    @classmethod
    def load(cls, path: str | pathlib.Path) -> Self:
        """Read what `save` wrote.

        Parameters
        ----------
        path : str or Path
            The folder.

        Returns
        -------
        Result or Identification

        Raises
        ------
        ValueError
            Where the folder holds something else, or a save was cut short.
        FileNotFoundError
            Where there is no result, or only an unfinished run.
        """
        folder = pathlib.Path(path)
        header = read_header(folder)
        if header["kind"] != cls.kind:
            raise ValueError(
                f"path = {str(folder)!r} holds a result of {header['kind']}, not of {cls.kind}; "
                "tr.load reads both."
            )
        check(folder, header)
        pulls = read_table(folder / "pulls.parquet", header["policies"], ["pulls"])["pulls"]
        return cls(  # type: ignore[call-arg]
            pulls={
                name: array.reshape(header["replications"], -1).astype(np.int64, copy=False)
                for name, array in pulls.items()
            },
            settings=header["settings"],
            **cls._fields(folder, header),
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
        return frame({"regret": self.regret}, ("round", self.rounds))

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
            An SVG, PNG, PDF or PGF file (fonts embedded as Type 42; PGF needs LaTeX). Without path
            and ax the axes are new ones of Matplotlib's pyplot, as a notebook shows them.
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
        from .plots.figures import plot_regret

        return plot_regret(
            self,
            path,
            ax,
            width,
            height,
            band=band,
            policies=policies,
            log_rounds=log_rounds,
            **options,
        )

    def __repr__(self) -> str:
        return (
            f"<Result: {', '.join(self.policies)}; {int(self.rounds[-1]):,} rounds, "
            f"{self.replications:,} replications\n {self._leader_and_next()}>"
        )

    def _repr_html_(self) -> str:
        from .plots.figures import regret_figure
        from .plots.style import figure_svg

        headers, rows, caption = regret_summary(self)
        return files.table(repr(self).strip("<>"), headers, rows, caption) + figure_svg(
            regret_figure(self)
        )

    def _saved(self) -> tuple[JsonObject, dict[str, bytes]]:
        tables = {"regret.parquet": parquet_bytes({"regret": self.regret}, ("round", self.rounds))}
        watched = {
            f"{i}.{key}": array
            for i, name in enumerate(self.policies)
            for key, array in self.watched.get(name, {}).items()
        }
        if watched:
            tables["watched.safetensors"] = files.arrays_to_bytes(b"", watched)
        return {"rounds": self.rounds.tolist()}, tables

    @classmethod
    def _fields(cls, folder: pathlib.Path, header: JsonObject) -> dict[str, Any]:
        names, stored = header["policies"], folder / "watched.safetensors"
        watched: dict[str, dict[str, np.ndarray]] = {name: {} for name in names}
        if stored.exists():
            for key, array in files.read_arrays(stored.read_bytes())[1].items():
                number, _, field_name = key.partition(".")
                watched[names[int(number)]][field_name] = array
        regret = read_table(folder / "regret.parquet", names, ["regret"])["regret"]
        return {
            "rounds": np.array(header["rounds"], dtype=np.int64),
            "regret": {
                name: array.reshape(header["replications"], -1) for name, array in regret.items()
            },
            "watched": watched,
        }


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
        False: max_rounds or the budget ran out, the arm is not certified. True for a policy that
        was given a number of samples (ODLinBAI, SequentialHalving): they are taken, and the arm is
        the best by its plan, which certifies nothing.
    gap_bound : dict of name to (replications,) array
        With probability 1 - delta the arm is at most that much worse than the best, in units of
        reward.
    error : dict of name to (replications,) array
        Estimated probability that it is worse by more than epsilon: what a fixed budget has to say
        about its best guess. At most delta where it is certified.
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
        if self.settings.get("budget") is not None:  # all runs have the same number of rounds
            return {}
        return {
            name: "" if stopped.all() else f"{int(stopped.sum())} of {stopped.size}"
            for name, stopped in self.stopped.items()
        }

    def frame(self) -> "pd.DataFrame":
        """A tidy table of all runs.

        Returns
        -------
        pandas.DataFrame
            A row for each policy and replication: arm, rounds, stopped, correct, gap_bound and
            error.
        """
        return frame({key: getattr(self, key) for key in ANSWERS})

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
            An SVG, PNG, PDF or PGF file (fonts embedded as Type 42; PGF needs LaTeX). Without path
            and ax the axes are new ones of Matplotlib's pyplot, as a notebook shows them.
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
        from .plots.figures import plot_rounds

        return plot_rounds(self, path, ax, width, height, band=band, policies=policies, **options)

    def __repr__(self) -> str:
        runs = ", ".join(
            f"{name} {int(self.stopped[name].sum())}/{self.replications} {ending(self, name)}"
            for name in self.policies
        )
        return f"<Identification: {runs}\n {self._leader_and_next()}>"

    def _repr_html_(self) -> str:
        from .plots.figures import rounds_figure
        from .plots.style import figure_svg

        headers, rows, caption = rounds_summary(self)
        return files.table(repr(self).strip("<>"), headers, rows, caption) + figure_svg(
            rounds_figure(self)
        )

    def _saved(self) -> tuple[JsonObject, dict[str, bytes]]:
        return {}, {"answers.parquet": parquet_bytes({key: getattr(self, key) for key in ANSWERS})}

    @classmethod
    def _fields(cls, folder: pathlib.Path, header: JsonObject) -> dict[str, Any]:
        return dict(read_table(folder / "answers.parquet", header["policies"], list(ANSWERS)))


KINDS: dict[str, type[Result] | type[Identification]] = {
    "simulation": Result,
    "identification": Identification,
}


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
    return KINDS[read_header(pathlib.Path(path))["kind"]].load(path)


def holm(p: np.ndarray) -> np.ndarray:
    """p-values (m,) corrected for all m tests together by Holm's steps; never smaller than given,
    never above 1."""
    order = np.argsort(p, kind="stable")
    corrected = np.empty(p.size)
    corrected[order] = np.minimum(
        np.maximum.accumulate((p.size - np.arange(p.size)) * p[order]), 1.0
    )
    return corrected


def interquartile_weights(counts: np.ndarray) -> np.ndarray:
    """Weights (.., n) of the interquartile mean of n values in rising order, each there counts (..,
    n) times; a row sums to 1.

    Values at the quartiles count in part, so that exactly half of all is kept.
    """
    upper = np.cumsum(counts, axis=-1, dtype=np.float64)
    total = upper[..., -1:]
    kept = np.minimum(upper, 0.75 * total) - np.maximum(upper - counts, 0.25 * total)
    return np.maximum(kept, 0.0) / (0.5 * total)
