"""`policies` and `cite`: what there is, and its papers."""

from typing import Annotated

import typer
from rich.table import Table

from .. import __version__
from .options import Import, console, errors


def names_of_policies(incomplete: str) -> list[str]:
    """The names that begin so, for completion."""
    from ..core.registry import named_policies

    return [name for name, _ in named_policies() if name.casefold().startswith(incomplete.casefold())]


def policies(
    name: Annotated[str | None, typer.Argument(autocompletion=names_of_policies, help="One policy, with its parameters.")] = None,
    modules: Import = None,
) -> None:
    """List the policies with one line each and their papers, or show one with its parameters."""
    from ..core.policy import parameter_lines
    from ..core.registry import find, named_policies

    if name is not None:
        item = find(name)
        console.print(f"{item.__name__}: {item.__doc__}\n", soft_wrap=True)
        for line in parameter_lines(item) if item.TRAITS.base is None else ():  # a preset's text has them
            console.print(f"  {line}", soft_wrap=True, markup=False)
        console.print(f"\nplays {', '.join(item.TRAITS.accepts)} · {item.TRAITS.paper}", soft_wrap=True)
        return
    table = Table("policy", "what it does", "plays", "paper")
    for label, item in named_policies():
        table.add_row(label, (item.__doc__ or "").strip().splitlines()[0], ", ".join(item.TRAITS.accepts), item.TRAITS.paper)
    console.print(table)


def cite(
    policies: Annotated[
        list[str] | None, typer.Argument(autocompletion=names_of_policies, help="Policies; none: the library alone.")
    ] = None,
    modules: Import = None,
) -> None:
    """Print BibTeX for the papers of policies, and for the library itself."""
    from ..core.references import entries, library
    from ..core.registry import find

    sources, shown = entries(), dict[str, None]()
    for name in policies or ():
        item = find(name)
        if name not in sources:
            errors.print(f"{name} has no entry here; its source is: {item.TRAITS.paper}.", soft_wrap=True)
        shown |= dict.fromkeys(sources.get(name, ()))
    typer.echo("\n\n".join([*shown, library(__version__)]))
