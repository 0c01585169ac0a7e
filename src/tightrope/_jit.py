"""The one decorator every kernel wears.

Numba notices an edit only in the file a compiled function was written in, so a loop cached on disk would keep running an old
kernel after an edit of another file. Kernels of this package therefore cache in a folder named by a hash of all its sources,
and nothing that involves a policy or problem defined elsewhere is ever read from or written to disk.
"""

import hashlib
import os
import pathlib
from collections.abc import Callable
from typing import Any, cast

import numba
import numba.core.caching as caching
import numba.core.config as _config
from numba import types

from . import _boxing  # noqa: F401  replaces Numba's boxers

config: Any = _config
ROOT = pathlib.Path(__file__).resolve().parent
OPTIONS: Any = {"nogil": True, "error_model": "numpy"}
INTERPRETED = bool(config.DISABLE_JIT)


def _source_hash() -> str:
    digest = hashlib.sha256(numba.__version__.encode())
    for path in sorted(ROOT.rglob("*.py")):
        digest.update(path.relative_to(ROOT).as_posix().encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


SOURCE_HASH = _source_hash()


def cache_directory() -> pathlib.Path:
    """Folder of the compiled kernels of exactly these sources (`$TIGHTROPE_CACHE`, or the user's cache)."""
    base = os.environ.get("TIGHTROPE_CACHE")
    if not base:
        base = os.path.join(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "tightrope")
    return pathlib.Path(base).expanduser() / SOURCE_HASH


def _is_ours(cls: type | None) -> bool:
    return cls is None or cls.__module__.partition(".")[0] in ("tightrope", "builtins", "numpy")


def _touches_foreign_code(numba_type: Any) -> bool:
    if isinstance(numba_type, types.BaseNamedTuple) and not _is_ours(getattr(numba_type, "instance_class", None)):
        return True
    if isinstance(numba_type, types.BaseTuple):
        return any(_touches_foreign_code(inner) for inner in iter(cast(Any, numba_type)))
    return False


def _only_numbers(numba_type: Any) -> bool:
    if isinstance(numba_type, types.BaseTuple):
        return all(_only_numbers(inner) for inner in iter(cast(Any, numba_type)))
    return isinstance(numba_type, types.Number | types.Boolean | types.NoneType)


class _SourceCache(caching.FunctionCache):
    """Numba's cache, closed to signatures whose types come from outside the package (their sources are not in the hash)."""

    lean = False

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        if any(_touches_foreign_code(argument) for argument in sig):
            return None
        return super().load_overload(sig, target_context)

    def save_overload(self, sig: Any, data: Any) -> None:
        if self.lean and not _only_numbers(data.signature.return_type):
            raise TypeError(
                f"{self._py_func.__name__} is lean but returns {data.signature.return_type}, which nobody would count; use jit."
            )
        if any(_touches_foreign_code(argument) for argument in data.signature.args):
            return
        super().save_overload(sig, data)


def lean(function: Callable[..., Any]) -> Any:
    """`jit` for kernels that return numbers or nothing and make no arrays: compiled without reference counts.

    Counting references to every array of a policy and its state at every call costs 5 ns each, which is most of a round of 0.2 us.
    An array that such a kernel returned would be freed too early, so that is refused.
    """
    return jit(function, _nrt=False)


def jit(function: Callable[..., Any], **more: Any) -> Any:
    """Compile `function` without the GIL, with C-like division, cached on disk if it belongs to this package."""
    kernel = numba.njit(**OPTIONS, **more)(function)
    if INTERPRETED or not pathlib.Path(function.__code__.co_filename).resolve().is_relative_to(ROOT):
        return kernel
    saved, config.CACHE_DIR = config.CACHE_DIR, str(cache_directory())  # read when the cache object is made
    try:
        kernel._cache = _SourceCache(function)
        kernel._cache.lean = not more.get("_nrt", True)
    except RuntimeError:
        pass  # no writable cache folder: compile in memory
    finally:
        config.CACHE_DIR = saved
    return kernel


def python_of(kernel: Any) -> Callable[..., Any]:
    """The plain Python function behind a kernel."""
    return getattr(kernel, "py_func", kernel)
