"""The origin of a result: enough to make it again."""

import platform
import shlex
import sys
from collections.abc import Callable, Sequence
from importlib.metadata import PackageNotFoundError, version
from typing import TypeVar

from ...compiled.cache import SOURCE_HASH
from ...core.problem import Problem
from .digest import Undigestible, digest

T = TypeVar("T")


def versions() -> dict[str, str]:
    versions_of = {"python": platform.python_version()}
    for package in ("tightrope", "numpy", "numba", "scipy"):
        try:
            versions_of[package] = version(package)
        except PackageNotFoundError:
            versions_of[package] = "not installed"
    return versions_of | {"source": SOURCE_HASH, "machine": f"{platform.system()} {platform.machine()}"}


def command() -> str:
    words = ["tightrope" if sys.argv[0].endswith(("tightrope", "tightrope/__main__.py")) else sys.argv[0], *sys.argv[1:]]
    return shlex.join(words)


def machine() -> dict[str, str]:
    """All that last bits may depend on: the C library and the CPU's features."""
    import llvmlite.binding as llvm

    features = sorted(name for name, there in llvm.get_host_cpu_features().items() if there)
    return {"libc": " ".join(platform.libc_ver()).strip(), "cpu": llvm.get_host_cpu_name(), "cpu features": " ".join(features)}


def record(function: str | None, items: Sequence[T], show: Callable[[T], object]) -> object:
    """A policy or monitor as `show` puts it; those that a function of the problem made by its name and a digest of them all."""
    return show(items[0]) if function is None else {"chosen by": function, "digest": digest_or_none(items)}


def problem_record(problems: Sequence[Problem]) -> dict[str, object]:
    return {"kind": type(problems[0]).__name__, "count": len(problems), "digest": digest_or_none(problems)}


def digest_or_none(items: Sequence[object]) -> str | None:
    try:
        return digest(list(items))[:16]
    except Undigestible:
        return None
