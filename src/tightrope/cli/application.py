"""All commands: those of the library, and of packages that are found by the entry points of
`tightrope.commands`."""

import inspect
import pathlib
from importlib.metadata import entry_points
from typing import Annotated, cast

import typer
from rich.table import Table

from .. import __version__
from ..core.extras import MissingExtra
from .options import INTERRUPTED_CODE, Import, console, errors, numbers
from .run import evaluate, report, run


def names_of_policies(incomplete: str) -> list[str]:
    from ..core.registry import named_policies

    return [
        name for name, _ in named_policies() if name.casefold().startswith(incomplete.casefold())
    ]


def policies(
    name: Annotated[
        str | None,
        typer.Argument(autocompletion=names_of_policies, help="One policy, with its parameters."),
    ] = None,
    modules: Import = None,
) -> None:
    """List the policies with one line each and their papers, or show one with its parameters."""
    from ..core.registry import find, named_policies

    if name is not None:
        item = find(name)
        console.print(
            f"{item.__name__}: {inspect.cleandoc(item.__doc__ or '')}", soft_wrap=True, markup=False
        )
        console.print(
            f"\nplays {', '.join(item.TRAITS.accepts)} · {item.TRAITS.paper}", soft_wrap=True
        )
        return
    table = Table("policy", "what it does", "plays", "paper")
    for label, item in named_policies():
        table.add_row(
            label,
            (item.__doc__ or "").strip().splitlines()[0],
            ", ".join(item.TRAITS.accepts),
            item.TRAITS.paper,
        )
    console.print(table)


def cite(
    policies: Annotated[
        list[str] | None,
        typer.Argument(autocompletion=names_of_policies, help="Policies; none: the library alone."),
    ] = None,
    modules: Import = None,
) -> None:
    """Print BibTeX for the papers of policies, and for the library itself."""
    from ..core.registry import entries, find, library

    sources, shown = entries(), dict[str, None]()
    for name in policies or ():
        item = find(name)
        if name not in sources:
            errors.print(
                f"{name} has no entry here; its source is: {item.TRAITS.paper}.", soft_wrap=True
            )
        shown |= dict.fromkeys(sources.get(name, ()))
    typer.echo("\n\n".join([*shown, library(__version__)]))


# `bound`: the least regret of a Lipschitz problem.


def bound(
    means: Annotated[str, typer.Argument(help="Means of the arms, separated by commas.")],
    lipschitz: Annotated[float, typer.Option(help="Lipschitz constant L > 0.")],
    points: Annotated[
        str | None,
        typer.Option(help="Positions, separated by commas; default evenly spaced on [0, 1]."),
    ] = None,
    horizon: Annotated[int, typer.Option(min=2, help="Rounds T to show the bound for.")] = 100_000,
    out: Annotated[
        pathlib.Path | None,
        typer.Option(help="Also draw means and rates to this SVG, PNG or PDF file."),
    ] = None,
) -> None:
    """The least regret C ln T that Lipschitz arms of these means allow, and how often each arm must
    be explored."""
    from ..plots.figures import bound_report, save_figure

    theta = numbers("means", means)
    positions = (
        numbers("points", points)
        if points is not None
        else [k / max(len(theta) - 1, 1) for k in range(len(theta))]
    )
    report = bound_report(theta, points=positions, lipschitz=lipschitz, horizon=horizon)
    console.print(report.text, markup=False, soft_wrap=True)
    if out is not None:
        console.print(f"figure: {save_figure(report.figure, out)}")


app = typer.Typer(
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    help="Structured bandits: simulate, reproduce, report.",
)
for _command in (
    run,
    report,
    policies,
    cite,
    evaluate,
    bound,
):  # in the order of `tightrope --help`
    app.command()(_command)
for _point in entry_points(group="tightrope.commands"):
    _point.load()(app)


def run_command() -> int | None:
    try:
        # typer returns the code of an exit or of Ctrl-C instead of raising
        return cast("int | None", app(standalone_mode=False))
    except (ValueError, OSError, MissingExtra) as error:
        errors.print(f"error: {error}", style="red", soft_wrap=True)
        return 2
    except typer.Exit as leave:
        return leave.exit_code
    except typer.Abort:
        return INTERRUPTED_CODE
    except Exception as error:
        show = getattr(error, "show", None)  # click's own usage errors
        if show is None:
            raise
        show()
        return int(getattr(error, "exit_code", 2))


def _version(wanted: bool) -> None:
    if wanted:
        console.print(__version__)
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Structured bandits: simulate, reproduce, report."""
