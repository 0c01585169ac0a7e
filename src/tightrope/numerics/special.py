"""`scipy.special`, imported when the first of its functions is used: importing it takes as long as
NumPy, and most runs need none."""

from typing import Any


def __getattr__(name: str) -> Any:
    import scipy.special

    return getattr(scipy.special, name)
