"""What made a result: enough to make it again."""

import dataclasses
import hashlib
import platform
import shlex
import sys
from collections.abc import Callable, Sequence
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np

from .._cache import SOURCE_HASH


def versions() -> dict[str, str]:
    """Versions of everything a number depends on."""
    found = {"python": platform.python_version()}
    for package in ("tightrope", "numpy", "numba", "scipy"):
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = "not installed"
    return found | {"source": SOURCE_HASH, "machine": f"{platform.system()} {platform.machine()}"}


def command() -> str:
    """The command line of this process, as one could type it again."""
    words = ["tightrope" if sys.argv[0].endswith(("tightrope", "tightrope/__main__.py")) else sys.argv[0], *sys.argv[1:]]
    return shlex.join(words)


def record(function: str | None, items: Sequence[Any], show: Callable[[Any], Any]) -> Any:
    """A policy or monitor as `show` puts it; those that a function of the problem made by its name and a digest of them all."""
    shown = [show(item) for item in items]
    if function is None:
        return shown[0]
    return {"chosen by": function, "digest": hashlib.sha256(repr(shown).encode()).hexdigest()[:16]}


def problem_record(problems: Any) -> dict[str, Any]:
    """Class, number and a digest of all the data of the problems."""
    digest = hashlib.sha256()

    def add(item: Any) -> None:
        if isinstance(item, np.ndarray):
            digest.update(str((item.shape, item.dtype.str)).encode())
            digest.update(np.ascontiguousarray(item).tobytes())
        elif isinstance(item, tuple | list):
            for inner in item:
                add(inner)
        elif dataclasses.is_dataclass(item):
            add([type(item).__name__, *vars(item).values()])
        elif item is None or isinstance(item, int | float | str):
            digest.update(repr(item).encode())

    add(problems)
    return {"kind": type(problems[0]).__name__, "count": len(problems), "digest": digest.hexdigest()[:16]}
