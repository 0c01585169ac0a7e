"""`policies`: what there is."""

from typing import Annotated

import typer
from rich.table import Table

from .options import Import, console


def names_of_policies(incomplete: str) -> list[str]:
    """Those that begin so, for completion."""
    from ..core.registry import registered

    return [name for name, _ in registered() if name.casefold().startswith(incomplete.casefold())]


def policies(
    name: Annotated[str | None, typer.Argument(autocompletion=names_of_policies, help="One policy, with its parameters.")] = None,
    modules: Import = None,
) -> None:
    """List the policies with one line each and their papers, or show one with its parameters."""
    from ..core.policy import parameter_lines
    from ..core.registry import find, registered

    if name is not None:
        item = find(name)
        console.print(f"{item.__name__}: {item.__doc__}\n", soft_wrap=True)
        for line in parameter_lines(item) if item.TRAITS.base is None else ():  # a preset's text has them
            console.print(f"  {line}", soft_wrap=True, markup=False)
        console.print(f"\nplays {', '.join(item.TRAITS.accepts)} · {item.TRAITS.paper}", soft_wrap=True)
        return
    table = Table("policy", "what it does", "plays", "paper")
    for label, item in registered():
        table.add_row(label, (item.__doc__ or "").strip().splitlines()[0], ", ".join(item.TRAITS.accepts), item.TRAITS.paper)
    console.print(table)
