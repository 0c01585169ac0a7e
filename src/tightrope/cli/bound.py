"""`bound`: the least regret of a Lipschitz problem."""

import pathlib
from typing import Annotated

import typer

from .options import console, numbers


def bound(
    means: Annotated[str, typer.Argument(help="Means of the arms, separated by commas.")],
    lipschitz: Annotated[float, typer.Option(help="Lipschitz constant L > 0.")],
    points: Annotated[str | None, typer.Option(help="Positions, separated by commas; default evenly spaced on [0, 1].")] = None,
    horizon: Annotated[int, typer.Option(min=2, help="Rounds T to show the bound for.")] = 100_000,
    out: Annotated[pathlib.Path | None, typer.Option(help="Also draw means and rates to this SVG, PNG or PDF file.")] = None,
) -> None:
    """The least regret C ln T that Lipschitz arms of these means allow, and how often each arm must be explored."""
    from ..plots.bound import bound_report
    from ..plots.curves import save_figure

    theta = numbers("means", means)
    positions = numbers("points", points) if points is not None else [k / max(len(theta) - 1, 1) for k in range(len(theta))]
    report = bound_report(theta, points=positions, lipschitz=lipschitz, horizon=horizon)
    console.print(report.text, markup=False, soft_wrap=True)
    if out is not None:
        console.print(f"figure: {save_figure(report.figure, out)}")
