"""`from_frame`: logs from tables, in memory or in files."""

from __future__ import annotations

import pathlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from ..core import checks
from .arm_labels import ArmLabels, ArmsGiven, check_order
from .log import CHANCE, CHUNK, Log, Rows, RowsInMemory, Source, in_order, new_log, of_arms
from .tables import (
    BadRows,
    Columns,
    Frame,
    InFiles,
    TableBatch,
    column_names,
    is_missing,
    matrix,
    number_of_columns,
    numbers,
    numbers_of_table,
    open_table,
    times,
    whole_numbers,
)
from .tables import (
    rewards as rewards_of,
)

IDS_AN_ARM = 10  # distinct values of a column, as a multiple of K, from which it may hold ids and not names of arms
NO_PROPENSITY = (
    "Without the probability of what was played no other policy can be judged: log it (Session.decide gives it), or give a number where "
    "it never changed, such as propensity=1/K for arms drawn uniformly."
)


def from_frame(
    frame: Frame, arm: str = "arm", reward: str = "reward", propensity: str | float | None = "propensity", *,
    features: Columns | None = None, arm_features: ArrayLike | None = None, probabilities: Columns | None = None,
    eligible: Columns | None = None, time: str | None = None, slot: str | None = None, round: str | None = None,
    arms: ArmsGiven = None, rewards: tuple[float, float] = (0.0, 1.0), floor: float | None = None,
) -> Log:  # fmt: skip
    """A log from a table with a row for each arm that was played.

    Parameters
    ----------
    frame : table, or path
        Of pandas, polars, pyarrow or DuckDB, a dict of arrays, a CSV file; or a Parquet file, a folder of them (in the order of their
        names) or a `pyarrow.dataset`, which are read in batches. Where a decision comes several times keep its last state, as with
        frame.drop_duplicates("id", keep="last").
    arm, reward : str
        Columns. Arms are called what they are called there: names, or whole numbers of any size. Rows without a reward (null or NaN:
        decisions that are still open) are left out and counted (`Log.left_out`), of a set the whole round.
    propensity : str, float or None
        Column of the probability with which the logger played this arm in this row (in its slot); a number where it never changed; None
        where `probabilities` are given.
    features : str, list of str, array or table
        Columns of the round's features, a column of arrays (d,) or (K, d), or an array (n, d) or (n, K, d); of a table of its own, such
        as standardised columns, the numbers are taken in its order.
    arm_features : (K, d) array
        Where arms have features that never change.
    probabilities, eligible : str, list of str or array
        The logger's probabilities of all arms, and which arms could be played: K columns in the order of arms, a column of arrays, or an
        array (n, K).
    time : str
        Column; rows are taken in its order, those of a round together where its first one belongs.
    slot : str
        Column of whole numbers: the position in which the arm was shown.
    round : str
        Column of whole numbers, the same for all arms of a set, whose rows follow each other (else they are refused) and whose
        propensities are chances to be in the set.
    arms : int or list
        K, for arms 0 .. K - 1, or what all arms are called. By default those that occur, in increasing or alphabetical order; whole
        numbers below the number of columns of `probabilities`, `eligible` or features of arms are the arms' own.
    rewards : (float, float)
        Lowest and highest reward there can be.
    floor : float
        A probability that every eligible arm had at least in every round.

    Returns
    -------
    Log

    Raises
    ------
    ValueError
        For tables that hold no log, with the first bad rows.

    Examples
    --------
    >>> import tightrope as tr
    >>> tr.logs.from_frame({"arm": ["b", "a"], "reward": [1.0, 0.0], "propensity": [0.5, 0.5]})
    Log(2 rows, 2 arms, rewards in [0, 1])
    """
    if propensity is None and probabilities is None:
        raise ValueError(f"propensity is missing. {NO_PROPENSITY}")
    if isinstance(propensity, (int, float, np.number)):
        propensity = checks.real("propensity", propensity, above=0, most=1)
    columns = LogColumns(
        arm, reward, propensity, _column_list("features", features), _column_list("probabilities", probabilities),
        _column_list("eligible", eligible), time, slot, round,
    )  # fmt: skip
    columns.check()
    table = open_table(frame, arm=arm)
    blocks = (columns.probabilities, columns.eligible)
    least = max(*map(number_of_columns, blocks), _arms_of(columns.features), _rows_of(arm_features))
    if isinstance(table, InFiles):
        if any(isinstance(item, np.ndarray) for item in (*blocks, columns.features)):
            raise ValueError("features, probabilities and eligible of a table in files must be names of its columns.")
        columns.check_known(table)
    if arms is not None:
        labels = ArmLabels.from_argument(arms)
    else:
        parts = ((batch.column(arm), is_missing(batch.column(reward)), batch.first) for batch in table.batches([arm, reward], CHUNK))
        labels = ArmLabels.from_columns(parts, arm, least)
    source: Source
    if isinstance(table, InFiles):
        source = RowsInFiles(table, columns, labels)
    else:
        (batch,) = table.batches(columns.names(narrow=False))
        rows = columns.rows(batch, labels, narrow=False)
        source = RowsInMemory(in_order(rows))
    log = new_log(source, labels.count, labels.labels, rewards=rewards, floor=floor, arm_features=arm_features)
    return replace(log, table=table, repeated="" if isinstance(table, InFiles) else _repeated_ids(batch, columns, rows))


def _repeated_ids(batch: TableBatch, columns: LogColumns, rows: Rows) -> str:
    import pandas as pd

    use = np.flatnonzero(~np.isnan(rows.reward))
    arm, surprise = rows.arm[use], -np.log(rows.propensity[use])
    for name in column_names(batch.frame):
        if name in columns.names(narrow=False):
            continue
        values = batch.column(name)
        if values.shape != rows.arm.shape or values.dtype.kind not in "iuOST":
            continue
        try:
            places, distinct = pd.factorize(values[use])
        except TypeError:  # of lists and dicts
            continue
        if len(distinct) < IDS_AN_ARM * (int(arm.max()) + 1) or (places < 0).any():
            continue
        _, first = np.unique(places, return_index=True)
        if (arm == arm[first][places]).all() and surprise.sum() - surprise[first].sum() > -np.log(CHANCE):
            return name
    return ""


@dataclass(frozen=True)
class LogColumns:
    """The columns of a table by role."""

    arm: str
    reward: str
    propensity: str | float | None
    features: Columns | None
    probabilities: Columns | None
    eligible: Columns | None
    time: str | None
    slot: str | None
    round: str | None

    def check(self) -> None:
        for argument in ("arm", "reward", "time", "slot", "round"):
            name = getattr(self, argument)
            if not isinstance(name, str) and (name is not None or argument in ("arm", "reward")):
                raise ValueError(f"{argument} = {checks.show(name)} is not the name of a column; give text.")
        if not isinstance(self.propensity, (str, float)) and self.propensity is not None:
            raise ValueError(f"propensity = {checks.show(self.propensity)} is neither the name of a column nor a number.")

    def check_known(self, table: InFiles) -> None:
        try:
            table.check(self.names(narrow=False))
        except ValueError as error:
            lacking = isinstance(self.propensity, str) and f"no column {self.propensity!r}" in str(error)
            raise ValueError(f"{error} {NO_PROPENSITY}" if lacking else str(error)) from None

    def names(self, narrow: bool) -> list[str]:
        listed: list[str] = []
        columns = (self.arm, self.reward, self.propensity, self.probabilities, self.eligible, self.time, self.slot, self.round)
        for item in (*columns, None if narrow else self.features):
            listed += [item] if isinstance(item, str) else item if isinstance(item, list) else []
        return list(dict.fromkeys(listed))

    def rows(self, batch: TableBatch, labels: ArmLabels, narrow: bool) -> Rows:
        """The rows of a table or of a part of one. Raises ValueError with the first bad rows."""
        reward, bad = rewards_of(batch.column(self.reward), self.reward)
        n = reward.size
        arm = labels.numbers(batch.column(self.arm), self.arm, bad)

        def block(argument: str, columns: Columns | None) -> np.ndarray | None:
            return None if columns is None else matrix(batch, argument, columns, bad)

        H, mask = block("probabilities", self.probabilities), block("eligible", self.eligible)
        features = None if narrow else block("features", self.features)
        if isinstance(self.propensity, str):
            try:
                values = batch.column(self.propensity)
            except ValueError as error:
                raise ValueError(f"{error} {NO_PROPENSITY}") from None
            h = numbers(values, self.propensity, bad)
        elif self.propensity is not None:
            h = np.full(n, self.propensity)
        else:
            assert H is not None
            h = of_arms("probabilities", H, n, labels.count)[np.arange(n), np.clip(arm, 0, labels.count - 1)]

        def column(read: Callable[[np.ndarray, str, BadRows], np.ndarray], name: str | None) -> np.ndarray | None:
            return None if name is None else read(batch.column(name), name, bad)

        time, slot, round = column(times, self.time), column(whole_numbers, self.slot), column(whole_numbers, self.round)
        if mask is not None:
            known = np.isfinite(mask).reshape(n, -1).all(axis=1)
            bad.note(~known, lambda i: f"eligible = {checks.show(mask[i].tolist())} has an entry that is missing; write 1 or 0")
        bad.refuse(np.arange(batch.first, batch.first + n))
        return Rows(arm, reward, h, features, None if mask is None else mask != 0.0, H, time, slot, round, first=batch.first)


@dataclass(frozen=True)
class RowsInFiles:
    """Rows of a table in files, read a batch at a time."""

    table: InFiles
    columns: LogColumns
    labels: ArmLabels

    def read(self, size: int, narrow: bool) -> Iterator[Rows]:
        """Batches. Raises ValueError where time falls."""
        latest = None
        for batch in self.table.batches(self.columns.names(narrow), size):
            rows = self.columns.rows(batch, self.labels, narrow)
            if rows.time is not None:
                if (latest is not None and rows.time[0] < latest) or (rows.time[1:] < rows.time[:-1]).any():
                    where = batch.source or self.table.name
                    raise ValueError(f"{self.columns.time} falls in {where}; sort the log by it, or give a frame, which is sorted here.")
                latest = rows.time[-1]
            yield rows


def _column_list(argument: str, columns: Columns | None) -> Columns | None:
    if columns is None or isinstance(columns, (str, np.ndarray)):
        return columns
    if isinstance(columns, Mapping) or column_names(columns):
        if argument != "features":
            check_order(argument, columns, range(len(column_names(columns))))
        return numbers_of_table(columns)
    if isinstance(columns, pathlib.PurePath) or not hasattr(columns, "__iter__"):
        raise ValueError(f"{argument} = {checks.show(columns)} is neither a column, a list of columns nor an array.")
    listed = list(checks.ordered(argument, columns))
    if listed and not all(isinstance(name, str) for name in listed):
        return checks.floats(argument, columns)
    return listed


def _arms_of(features: Columns | None) -> int:
    return int(features.shape[1]) if isinstance(features, np.ndarray) and features.ndim == 3 else 0


def _rows_of(features: ArrayLike | None) -> int:
    return 0 if features is None else len(np.atleast_1d(np.asarray(features)))
