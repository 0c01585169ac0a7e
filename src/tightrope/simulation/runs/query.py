"""`query`: SQL over the results in a folder, in one schema for simulations, identifications and reproductions.

| view | a row for each | columns |
| --- | --- | --- |
| results | result | run, kind, finished |
| settings | setting of a result | run, key, value (JSON) |
| regret | policy, replication and checkpoint of a simulation | run, policy, replication, round, regret |
| runs | policy and replication of an identification | run, policy, replication, arm, rounds, stopped, correct, gap_bound, error |
| pulls | policy, replication and arm | run, policy, replication, arm, pulls |
| verdicts | judged row of a reproduction | run, figure, claim, text, paper, ours, se, verdict |
| estimates | policy that `evaluate` judged | run, policy, estimator, value, se, lower, upper, n, verdict |

run is the folder of the result below the folder that is asked, "." for that folder itself. Runs that have not finished are read from
their chunks, which are loaded; tables of finished ones are scanned where they lie.
"""

from __future__ import annotations

import functools
import json
import pathlib
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from ...core import checks
from ...core.extras import required
from ...core.types import JsonObject
from ...results import folder as results
from ...results.folder import Columns
from ...results.results import ANSWERS
from .plan import Chunk
from .store import Store, planned_chunks, read_plan

if TYPE_CHECKING:
    import duckdb
    import pandas as pd
    import pyarrow as pa
    from pyarrow import dataset as arrow

VERDICTS = "rows.json"  # what `reproduce` writes for each figure
EVALUATIONS = ("evaluation.json", "comparison.json")  # what `evaluate` writes, of one policy and of several
VIEWS: dict[str, dict[str, str]] = {
    "results": {"run": "VARCHAR", "kind": "VARCHAR", "finished": "BOOLEAN"},
    "settings": {"run": "VARCHAR", "key": "VARCHAR", "value": "VARCHAR"},
    "regret": {"run": "VARCHAR", "policy": "VARCHAR", "replication": "BIGINT", "round": "BIGINT", "regret": "DOUBLE"},
    "runs": {
        "run": "VARCHAR", "policy": "VARCHAR", "replication": "BIGINT", "arm": "BIGINT", "rounds": "BIGINT", "stopped": "BOOLEAN",
        "correct": "BOOLEAN", "gap_bound": "DOUBLE", "error": "DOUBLE",
    },
    "pulls": {"run": "VARCHAR", "policy": "VARCHAR", "replication": "BIGINT", "arm": "BIGINT", "pulls": "BIGINT"},
    "verdicts": {
        "run": "VARCHAR", "figure": "VARCHAR", "claim": "VARCHAR", "text": "VARCHAR", "paper": "VARCHAR", "ours": "VARCHAR",
        "se": "DOUBLE", "verdict": "VARCHAR",
    },
    "estimates": {
        "run": "VARCHAR", "policy": "VARCHAR", "estimator": "VARCHAR", "value": "DOUBLE", "se": "DOUBLE", "lower": "DOUBLE",
        "upper": "DOUBLE", "n": "BIGINT", "verdict": "VARCHAR",
    },
}  # fmt: skip
FILES = {"regret": "regret.parquet", "pulls": "pulls.parquet", "runs": "answers.parquet"}


def query(folder: str | pathlib.Path, sql: str) -> pd.DataFrame:
    """The answer to one SELECT over all results below a folder.

    Parameters
    ----------
    folder : path
        What `simulate(out=)`, `identify(out=)`, `save`, `reproduce` or `evaluate` wrote, or one that has such folders in it.
    sql : str
        In DuckDB's dialect over the views results, settings, regret, runs, pulls, verdicts and estimates; it can neither write nor read
        anything else.

    Returns
    -------
    pandas.DataFrame

    Raises
    ------
    ValueError
        For another statement, a mistake in it, or a folder without results.
    ImportError
        Without the extra `query`.
    """
    duckdb = required("duckdb", "query", "query")
    base = pathlib.Path(folder)
    if not isinstance(sql, str) or not sql.strip():
        raise ValueError(
            f"sql = {checks.show(sql)} is not a question; write one such as 'select policy, avg(regret) from regret group by 1'."
        )
    try:
        statements = duckdb.extract_statements(sql)
    except duckdb.Error as error:
        raise ValueError(f"sql = {checks.show(sql)} is not understood: {_line(error)}") from None
    if len(statements) != 1 or statements[0].type != duckdb.StatementType.SELECT:
        raise ValueError(f"sql = {checks.show(sql)} must be one SELECT; results are only read.")
    settings = {"enable_external_access": "false", "python_enable_replacements": "false", "autoinstall_known_extensions": "false"}
    with duckdb.connect(":memory:", config=settings) as connection:
        _define(connection, base)
        connection.execute("SET lock_configuration = true")
        try:
            return connection.sql(sql).to_arrow_table().to_pandas()
        except duckdb.Error as error:
            raise ValueError(f"sql = {checks.show(sql)} is not answered: {_line(error)}") from None


def _line(error: Exception) -> str:
    return " ".join(str(error).split())[:300]


def _define(connection: duckdb.DuckDBPyConnection, base: pathlib.Path) -> None:
    """The views of a folder's results."""
    parts: dict[str, list[str]] = {view: [] for view in VIEWS}
    number = 0

    def add(run: str, view: str, table: Tabular) -> None:
        nonlocal number
        connection.register(f"part_{number}", table)
        chosen = ", ".join(f'"{column}"::{kind} AS "{column}"' for column, kind in VIEWS[view].items() if column != "run")
        parts[view].append(f"SELECT {_text(run)} AS run, {chosen} FROM part_{number}")
        number += 1

    runs = {path.parent for name in (results.HEADER, "plan.json") for path in base.rglob(name)}
    judged = sorted(base.rglob(VERDICTS))
    estimated = sorted(path for name in EVALUATIONS for path in base.rglob(name))
    if not runs and not judged and not estimated:
        raise ValueError(f"folder = {str(base)!r} holds no results; pass a folder that simulate, identify, reproduce or evaluate wrote.")
    for path in judged:
        add(path.parent.relative_to(base).as_posix(), "verdicts", _verdicts(path))
    for path in estimated:
        add(path.parent.relative_to(base).as_posix(), "estimates", _estimates(path))
    for run in sorted(runs):
        read = _add_result if (run / results.HEADER).exists() else _add_unfinished
        read(functools.partial(add, run.relative_to(base).as_posix()), run)
    for view, columns in VIEWS.items():
        nothing = "SELECT " + ", ".join(f'NULL::{kind} AS "{column}"' for column, kind in columns.items()) + " WHERE false"
        connection.execute(f'CREATE VIEW "{view}" AS ' + " UNION ALL ".join(parts[view] or [nothing]))


Tabular: TypeAlias = "pa.Table | arrow.Dataset"
Add: TypeAlias = Callable[[str, Tabular], None]


def _add_result(add: Add, folder: pathlib.Path) -> None:
    from pyarrow import dataset

    header = results.read_header(folder)
    results.check(folder, header)
    _add_facts(add, header["kind"], True, header["settings"])
    for view, name in FILES.items():
        if (folder / name).exists():
            add(view, dataset.dataset(folder / name, format="parquet"))


def _add_facts(add: Add, kind: str, finished: bool, settings: JsonObject) -> None:
    add("results", _table({"kind": [kind], "finished": [finished]}))
    add("settings", _table({"key": list(settings), "value": [json.dumps(value) for value in settings.values()]}))


def _add_unfinished(add: Add, folder: pathlib.Path) -> None:
    """The rows in the chunks of a run so far."""
    experiment = read_plan(folder / "plan.json")["experiment"]
    if experiment["kind"] not in ("simulation", "identification"):
        return
    _add_facts(add, experiment["kind"], False, experiment)
    rows: dict[str, dict[int, dict[str, np.ndarray]]] = {}
    for chunk, table in _chunks(folder):
        for i, replication in enumerate(range(chunk.first, chunk.last)):
            rows.setdefault(chunk.name, {})[replication] = {key: array[i] for key, array in table.items()}
    if not rows:
        return

    def columns(keys: Sequence[str]) -> Columns:
        return {key: {name: np.stack([done[r][key] for r in sorted(done)]) for name, done in rows.items()} for key in keys}

    def long(keys: Sequence[str], inner: tuple[str, np.ndarray | None] | None = None) -> Tabular:
        codes, table = results.long_table(columns(keys), inner)
        by_policy = [np.array(sorted(done)) for done in rows.values()]
        numbers = _numbers(codes, table["replication"], by_policy)
        return _table({"policy": np.array(list(rows), dtype=object)[codes]} | table | {"replication": numbers})

    add("pulls", long(["pulls"], ("arm", None)))
    if experiment["kind"] == "simulation":
        add("regret", long(["regret"], ("round", np.array(experiment["checkpoints"]))))
    else:
        add("runs", long(ANSWERS))


def _numbers(codes: np.ndarray, places: np.ndarray, by_policy: Sequence[np.ndarray]) -> np.ndarray:
    """Replications by their places among those that each policy has finished."""
    replications = np.empty(places.size, dtype=np.int64)
    for code, finished in enumerate(by_policy):
        replications[codes == code] = finished[places[codes == code]]
    return replications


def _chunks(folder: pathlib.Path) -> Iterator[tuple[Chunk, dict[str, np.ndarray]]]:
    """Chunks that are there and whole; damaged ones will be made again by their run."""
    store = Store(folder)
    for chunk in planned_chunks(folder):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)
            table = store.read(chunk)
        if table is not None:
            yield chunk, table


def _verdicts(path: pathlib.Path) -> Tabular:
    rows = json.loads(path.read_text())["rows"]
    keys = {"figure": "figure", "claim": "key", "text": "text", "paper": "paper", "ours": "ours", "verdict": "verdict"}
    columns = {column: [str(row[key]) for row in rows] for column, key in keys.items()}
    return _table(columns | {"se": np.array([np.nan if row["se"] is None else row["se"] for row in rows], dtype=np.float64)})


def _estimates(path: pathlib.Path) -> Tabular:
    record = json.loads(path.read_text())
    rows = [*record["policies"].values()] if "policies" in record else [record]
    columns: dict[str, Sequence[object] | np.ndarray] = {key: [str(row[key]) for row in rows] for key in ("policy", "estimator", "verdict")}
    numbers = {"value": "value", "se": "se", "lower": ("interval", 0), "upper": ("interval", 1), "n": "n"}
    for column, key in numbers.items():
        cells = [row[key] if isinstance(key, str) else row[key[0]][key[1]] for row in rows]
        columns[column] = np.array([np.nan if one is None else one for one in cells], dtype=np.float64)
    return _table(columns)


def _table(columns: Mapping[str, Sequence[object] | np.ndarray]) -> Tabular:
    import pyarrow as pa

    return pa.table({key: pa.array(values) for key, values in columns.items()})


def _text(value: str) -> str:
    """A text as SQL writes it."""
    return "'" + value.replace("'", "''") + "'"
