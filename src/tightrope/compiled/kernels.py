"""The decorators that kernels wear."""

import functools
import inspect
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
from numba import _dispatcher, types
from numba.core.registry import CPUDispatcher

from . import boxing as boxing  # replaces Numba's boxers for the whole process
from .cache import KernelCache, config
from .parts import LeanPartCompiler, LeanWholeCompiler, PartCompiler, WholeCompiler, shared_overload

F = TypeVar("F", bound=Callable[..., object])  # to type checkers a kernel is the function that it compiles

OPTIONS: Any = {"nogil": True, "error_model": "numpy", "no_cfunc_wrapper": True}  # nobody calls kernels from C
INTERPRETED = bool(config.DISABLE_JIT)


PART: Any = OPTIONS | {"forceinline": True, "pipeline_class": PartCompiler}  # of what is compiled for its callers only
LEAN: Any = {"_nrt": False, "pipeline_class": LeanPartCompiler}


def fingerprint(value: Any) -> object:
    """The type of an argument, told apart: Numba's own fingerprint, with the classes of all tuples in it. None: ask `typeof` every time."""
    if isinstance(value, np.random.Generator):
        return np.random.Generator
    try:
        return _dispatcher.compute_fingerprint(value), *classes(value)
    except NotImplementedError:
        return None


def classes(value: object) -> list[type]:
    types: list[type] = []
    if isinstance(value, tuple):
        types.append(type(value))
        for item in value:
            if isinstance(item, tuple):
                types += classes(item)
    return types


class Kernel(CPUDispatcher):
    """A compiled function that knows the classes of tuples by what they are.

    Numba's C code knows the class of a NamedTuple by its name alone: two policy classes of one name, or one that was edited in a notebook,
    would be the first of them.
    """

    def __call__(self, *arguments: object, **named: object) -> object:
        if named or len(arguments) < self.py_func.__code__.co_argcount:
            bound = inspect.signature(self.py_func).bind(*arguments, **named)
            bound.apply_defaults()
            arguments = bound.args
        if not any(isinstance(item, tuple) for item in arguments):
            return super().__call__(*arguments)
        prints = [fingerprint(item) for item in arguments]
        key = None if None in prints else tuple(prints)
        known = vars(self).setdefault("entries", {})
        entry = known.get(key)
        if entry is None:
            entry = compiled_for(self, tuple(map(self.typeof_pyval, arguments))).entry_point
            if key is not None:
                known[key] = entry
        return entry(*arguments)


def compiled_for(kernel: Any, kinds: tuple[types.Type, ...]) -> Any:
    """The machine code of a kernel for these types, compiled or read from disk at the first call; `entry_point` calls it unchecked."""
    if kinds not in kernel.overloads:
        kernel.compile(kinds)
    return kernel.overloads[kinds]


class _LeanKernel(CPUDispatcher):
    """Other kernels call it without a wrapper, whose boxing and unboxing takes a third of the time to compile; Python calls `outside`."""

    outside: Callable[..., object]

    def __call__(self, *arguments: object) -> object:
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


def returns_views(function: F) -> F:
    """For kernels that return arrays of their arguments and are called by other kernels only, whether these count references or not.

    Each kind of caller gets code of its own. Python calls run uncompiled.
    """
    if not INTERPRETED:

        @functools.wraps(function)
        def choose(*arguments: types.Type) -> F:
            return function

        shared_overload(function, PART)(choose)
    return function


def jit(function: F, **more: object) -> F:
    """Compile `function` without the GIL, with C-like division, cached on disk by the sources it is made of (see `_cache`)."""
    if INTERPRETED:
        return function
    options = OPTIONS | {"nopython": True} | more
    kernel: Any = Kernel(function, targetoptions=options, pipeline_class=options.pop("pipeline_class", WholeCompiler))
    kernel._cache = KernelCache(function)
    return kernel


def python_of(kernel: Any) -> Callable[..., Any]:
    """The plain Python function behind a kernel."""
    return getattr(kernel, "py_func", kernel)


def is_kernel(item: object) -> bool:
    """Whether something is compiled when it is called."""
    return isinstance(item, CPUDispatcher)
