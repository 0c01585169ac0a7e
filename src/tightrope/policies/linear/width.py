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
    return by_the_data(width, instead) and math.isnan(noise)


def wants_intercept(intercept: int, data: bool) -> bool:
    """Whether a constant column is added: by default where the width is from the data, which knows no zero of rewards then."""
    return data if intercept < 0 else bool(intercept)


def refuse_intercept(stored: Stored) -> None:
    """Refuse an intercept beside the theorem's width, whose theta is drawn to 0 and not to what the data say."""
    if stored["intercept"] > 0:
        raise ValueError(
            'intercept = True draws a constant to the mean of the rewards, of which the proof of width = "theorem" knows nothing; leave '
            "intercept out, and add a column of ones to the features where rewards need one."
        )


def only_with_the_theorem(fields: Mapping[str, Field], stored: Stored, *names: str) -> None:
    """Refuse parameters that the theorem's width alone reads, where they are not their fields' defaults."""
    for name in names:
        if stored[name] != fields[name].encode(name, fields[name].default):
            raise ValueError(
                f'{name} belongs to the width that has a proof, and the one asked for comes from the data; add width="theorem", or leave '
                f"{name} out."
            )
