"""`query`: SQL over saved results."""

import pathlib
from typing import Annotated

import typer
from rich.table import Table

from .options import Json, console, print_json


def query(
    folder: Annotated[pathlib.Path, typer.Argument(help="A folder that run, simulate, identify, reproduce or evaluate wrote.")],
    sql: Annotated[str, typer.Argument(help="One SELECT over results, settings, regret, runs, pulls, verdicts and estimates.")],
    out: Annotated[pathlib.Path | None, typer.Option(help="Write all rows to this .csv or .parquet file instead of printing.")] = None,
    rows: Annotated[int, typer.Option(min=1, help="The most rows that are printed.")] = 50,
    as_json: Json = False,
) -> None:
    """Ask saved results, finished or not, in SQL (needs the extra `query`)."""
    from ..core import files
    from ..simulation.runs.query import query as ask

    if out is not None and out.suffix not in (".csv", ".parquet"):
        raise ValueError(f"out = {str(out)!r} has no ending among .csv, .parquet.")
    frame = ask(folder, sql)
    if out is not None:
        with files.atomically(out) as file:
            frame.to_csv(file, index=False) if out.suffix == ".csv" else frame.to_parquet(file)
        console.print(f"{len(frame):,} rows: {out}", soft_wrap=True)
        return
    if as_json:
        print_json(frame.head(rows).to_dict("records"))
        return
    table = Table(*map(str, frame.columns))
    for row in frame.head(rows).itertuples(index=False):
        table.add_row(*(f"{value:.6g}" if isinstance(value, float) else str(value) for value in row))
    console.print(table)
    if len(frame) > rows:
        console.print(f"{rows:,} of {len(frame):,} rows; --rows shows more, --out writes all of them.")
