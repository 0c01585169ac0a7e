"""The common parts of all commands: consoles, options, progress, tables."""

import json
import pathlib
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.table import Table

if TYPE_CHECKING:
    from .. import pages
    from ..results import Identification, Result

console = Console(
    highlight=False, width=None if sys.stdout.isatty() else 140
)  # tables in logs and pipes keep their columns
errors = Console(stderr=True, highlight=False)
# Of commands of other packages: each prints what a folder says and returns its page, or None where
# the folder is not of its commands.
folder_pages: list[
    Callable[[pathlib.Path, str | None, pathlib.Path | None], pathlib.Path | None]
] = []
INTERRUPTED_CODE = 130  # exit code of a command that Ctrl-C ended

Out = Annotated[pathlib.Path, typer.Option(help="Folder for results and the report.")]
Seed = Annotated[int, typer.Option(min=0, help="Seed of all random streams.")]
Workers = Annotated[
    int | None,
    typer.Option(
        min=1, help="Threads or processes; default all cores. Results do not depend on it."
    ),
]
Engine = Annotated[
    str,
    typer.Option(
        help="threads; processes where rounds are Python (sets of arms); dask or ray. Results do "
        "not depend on it."
    ),
]
Address = Annotated[
    str | None,
    typer.Option(
        help="Of a running Dask scheduler or Ray cluster; default: --workers processes here."
    ),
]
Data = Annotated[
    str | None,
    typer.Option(help="Folder of the data sets; then $TIGHTROPE_DATA, ./data, the user's cache."),
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress.")]
Json = Annotated[
    bool, typer.Option("--json", help="Print JSON instead of tables, and nothing else.")
]


def _import(modules: list[str] | None) -> list[str] | None:
    from ..core.registry import load_module

    for module in modules or ():
        load_module(module)
    return modules


Import = Annotated[
    list[str] | None,
    typer.Option(
        "--import",
        callback=_import,
        help="A module or .py file with policies and problems of your own; again for more.",
    ),
]


class Meter:
    """Progress bars on a terminal, plain lines elsewhere, nothing when quiet."""

    def __init__(self, quiet: bool) -> None:
        from ..simulation.bars import Bars

        self.quiet, self.bars = quiet, Bars(errors)

    def __enter__(self) -> "Meter":
        if not self.quiet:
            self.bars.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, *exc: object) -> None:
        self.bars.stop()
        if kind is not None and issubclass(kind, KeyboardInterrupt):
            errors.print("Finished chunks are kept: the same command goes on from there.")

    def __call__(self, label: str, known: bool = True) -> Callable[[int, int], None] | None:
        """A callback for one simulation. known: whether all of the rounds will be played, or at
        most so many."""
        if self.quiet:
            return None
        bar = self.bars.run(label, known)

        def advance(done: int, total: int) -> None:
            self.bars.advance_to(bar, done, total)
            if done == total and not self.bars.drawn:
                self.bars.end(bar)

        return advance


def print_json(data: object) -> None:
    """One JSON document on standard output; numbers that are not finite are null."""
    from ..core import files

    typer.echo(json.dumps(files.plain(data), indent=1, ensure_ascii=False))


def print_summary(result: "Result | Identification") -> None:
    from ..pages import TABLES

    summary = TABLES[result.kind](result)
    table = Table(*summary.headers, title=summary.caption, title_justify="left")
    for row in summary.rows:
        table.add_row(*row)
    console.print(table)


def print_table(table: "pages.Table") -> None:
    shown = Table(*table.headers)
    for row in table.rows:
        shown.add_row(*row)
    console.print(shown)


def numbers(name: str, text: str) -> list[float]:
    try:
        return [float(word) for word in text.split(",")]
    except ValueError:
        raise ValueError(
            f"{name} = {text!r} is not a list of numbers separated by commas, such as 0.3,0.5,0.4."
        ) from None
