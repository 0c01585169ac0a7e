"""The decorators that kernels wear."""

import functools
from collections.abc import Callable
from typing import Any, TypeVar

import numba
from numba.core.registry import CPUDispatcher

from . import boxing as boxing  # replaces Numba's boxers for the whole process
from .cache import KernelCache, config
from .parts import LeanPartCompiler, LeanWholeCompiler, PartCompiler, WholeCompiler, shared_overload

F = TypeVar("F", bound=Callable[..., Any])  # to type checkers a kernel is the function that it compiles

OPTIONS: Any = {"nogil": True, "error_model": "numpy", "no_cfunc_wrapper": True}  # nobody calls kernels from C
INTERPRETED = bool(config.DISABLE_JIT)


PART: Any = OPTIONS | {"forceinline": True, "pipeline_class": PartCompiler}  # of what is compiled for its callers only
LEAN: Any = {"_nrt": False, "pipeline_class": LeanPartCompiler}


class _LeanKernel(CPUDispatcher):
    """Other kernels call it without a wrapper, whose boxing and unboxing takes a third of the time to compile; Python calls `outside`."""

    outside: Any

    def __call__(self, *arguments: Any) -> Any:
        return self.outside(*arguments)


def lean(function: F) -> F:
    """`jit` for kernels that return numbers or nothing and make no arrays: compiled without reference counts, as a part of every caller.

    Counting references to every array of a policy and its state at every call costs 5 ns each, which is most of a round of 0.2 us.
    An array that such a kernel returned would be freed too early, so that is refused (TypeError when it is compiled).
    """
    if INTERPRETED:
        return function
    options = OPTIONS | {"nopython": True, "_nrt": False, "no_cpython_wrapper": True, "forceinline": True}
    kernel: Any = _LeanKernel(function, targetoptions=options, pipeline_class=LeanPartCompiler)
    kernel.outside = jit(function, _nrt=False, pipeline_class=LeanWholeCompiler)
    return kernel


def borrowed(function: F) -> F:
    """For kernels that return arrays of their arguments and are called by other kernels only, whether these count references or not.

    Each kind of caller gets code of its own. Python calls run uncompiled.
    """
    if not INTERPRETED:

        @functools.wraps(function)
        def choose(*arguments: Any) -> Callable[..., Any]:
            return function

        shared_overload(function, PART)(choose)
    return function


def jit(function: F, **more: Any) -> F:
    """Compile `function` without the GIL, with C-like division, cached on disk by the sources it is made of (see `_cache`)."""
    kernel: Any = numba.njit(**({"pipeline_class": WholeCompiler} | OPTIONS | more))(function)
    if not INTERPRETED:
        kernel._cache = KernelCache(function)
    return kernel


def python_of(kernel: Any) -> Callable[..., Any]:
    """The plain Python function behind a kernel."""
    return getattr(kernel, "py_func", kernel)


def is_kernel(item: object) -> bool:
    """Whether something is compiled when it is called."""
    return isinstance(item, CPUDispatcher)
