"""Two tiers: `make test` runs every test that is not marked thorough, `make test-thorough` those
that are, and CI both.

Thorough are variants of what `make test` runs as well: other parameters, problems and scales of the
same class or kernel.
"""

from collections.abc import Collection, Iterable
from typing import Any

import pytest

thorough = pytest.mark.thorough


def tiered(names: Iterable[str], later: Collection[str]) -> list[Any]:
    """Cases of a parametrised test; those named in `later` are thorough. A name that is no case is
    refused, lest it stay unmarked."""
    names = list(names)
    unknown = sorted(set(later) - set(names))
    if unknown:
        raise ValueError(f"later = {unknown} are no cases; those are {names}.")
    return [pytest.param(name, id=name, marks=thorough if name in later else ()) for name in names]
