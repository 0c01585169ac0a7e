"""`cite`: BibTeX of the papers behind a policy."""

from typing import Annotated

import typer

from .. import __version__
from .catalogue import names_of_policies
from .options import Import, errors


def cite(
    policies: Annotated[
        list[str] | None, typer.Argument(autocompletion=names_of_policies, help="Policies; none: the library alone.")
    ] = None,
    modules: Import = None,
) -> None:
    """Print BibTeX for the papers of policies, and for the library itself."""
    from ..core.references import entries, library
    from ..core.registry import find

    known, shown = entries(), dict[str, None]()
    for name in policies or ():
        item = find(name)
        if name not in known:
            errors.print(f"{name} has no entry here; its source is: {item.TRAITS.paper}.", soft_wrap=True)
        shown |= dict.fromkeys(known.get(name, ()))
    typer.echo("\n\n".join([*shown, library(__version__)]))
