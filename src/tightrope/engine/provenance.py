"""What made a result: enough to make it again."""

import dataclasses
import hashlib
import platform
import shlex
import sys
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np

from .._jit import SOURCE_HASH
from ..parameters import described, is_policy


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


def policy_record(policy: Any, problems: Any) -> Any:
    """A policy as data; a function of the problem by its name and a digest of the policies it makes."""
    if is_policy(policy):
        return described(policy)
    made = [described(policy(problem)) for problem in problems]
    return {"policy": f"chosen by {getattr(policy, '__qualname__', policy)}", "digest": _digest(repr(made))}


def monitor_record(monitors: dict[str, Any], problems: Any) -> dict[str, str]:
    """Monitors by policy, functions of the problem by their names and a digest of the monitors they make."""
    return {
        name: f"chosen by {item.__qualname__}, {_digest(repr([item(problem) for problem in problems]))}"
        if hasattr(item, "__qualname__")
        else repr(item)
        for name, item in monitors.items()
    }


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


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
