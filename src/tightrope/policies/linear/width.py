"""Which width a linear policy plays: a number of standard errors, with the scale from the data; the theorem's; or a fixed one."""

import math
from collections.abc import Mapping

from ...compiled.kernels import lean
from ...core.fields import Field
from ...core.types import Stored


@lean
def by_the_data(width, instead):
    """Whether the width is neither the theorem's, which is stored below 0, nor fixed by the parameter that stands `instead` of it."""
    return width >= 0.0 and math.isnan(instead)


@lean
def learns_noise(width, instead, noise):
    """Whether the width is a multiple of a noise that is learned from the residuals."""
    return by_the_data(width, instead) and math.isnan(noise)


def only_with_the_theorem(fields: Mapping[str, Field], stored: Stored, *names: str) -> None:
    """Refuse parameters that the theorem's width alone reads, where they are not their fields' defaults."""
    for name in names:
        if stored[name] != fields[name].encode(name, fields[name].default):
            raise ValueError(
                f'{name} belongs to the width that has a proof, and the one asked for comes from the data; add width="theorem", or leave '
                f"{name} out."
            )
