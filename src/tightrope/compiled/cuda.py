"""Kernels on an NVIDIA GPU: all that knows numba-cuda, which comes with the extra tightrope[cuda].

A kernel's code is copied with other globals, in which every compiled helper is its version for the
device, and what `shared_overload` registered is registered once more, so that a verb finds the
method of a policy's class there too.
"""

import contextlib
import functools
import math
from collections.abc import Callable, Sequence
from types import CellType, CodeType, FunctionType, ModuleType
from typing import Any, cast

import numpy as np
from numba.core.caching import NullCache
from numba.core.registry import CPUDispatcher
from numba.np.random import generator_core

from .cache import (
    SignatureFiles,
    cache_directory,
    module_of,
    modules_of,
    private,
    sources_key,
    version_of,
)
from .kernels import OVERLOADS
from .lanes import Backend

vars(np).setdefault("row_stack", np.vstack)  # numba-cuda 0.30 imports it, NumPy 2.5 has it no more
from numba import cuda  # noqa: E402
from numba.cuda import cgutils, compiler, dispatcher, extending, types  # noqa: E402
from numba.cuda.descriptor import cuda_target  # noqa: E402

NUMPY = ModuleType("numpy")  # as kernels see it: functions of numbers that numba-cuda has in `math`
vars(NUMPY).update(vars(np))
IN_MATH = ("ceil", "exp", "expm1", "floor", "log", "log1p", "sqrt")
vars(NUMPY).update({name: getattr(math, name) for name in IN_MATH})
THREADS = 128  # of a block
STUBS = (generator_core.next_uint64, generator_core.next_uint32, generator_core.next_double)
OURS = ("tightrope.", "numba.np.random.")  # modules whose plain functions are kernels' helpers


def names_of(code: CodeType) -> set[str]:
    inner = (names_of(item) for item in code.co_consts if isinstance(item, CodeType))
    return set(code.co_names).union(*inner)


class Device(Backend):
    """A GPU, a lane in every thread."""

    loop = "range(grid(1), words.shape[2], gridsize(1))"

    def __init__(self, needed: bool = True) -> None:
        """needed: whether a card must be there; kernels can be translated without one."""
        if needed and not cuda.is_available():
            raise ValueError(
                "engine = 'cuda' needs an NVIDIA GPU with its driver, and none is found here; use "
                "engine = 'threads'."
            )
        self.versions: dict[Callable[..., Any], Any] = {}
        self.registered = 0
        super().__init__(extending, extending.core_models, cgutils, self.version, self.compiled)
        cuda_target.typing_context.refresh()
        methods = cuda_target.typing_context._attributes
        methods[types.BaseTuple] = [  # else a named tuple's field `index` is the method of tuples
            each for each in methods[types.BaseTuple] if each._attr != "index"
        ]
        self.names |= {"grid": cuda.grid, "gridsize": cuda.gridsize}

    def version(self, function: Callable[..., Any]) -> Any:
        """The device function of a Python function."""
        if function not in self.versions:
            self.versions[function] = cuda.jit(device=True)(self.translated(function))
        return self.versions[function]

    def translated(self, function: Any) -> Any:
        """The same code with device functions in place of compiled ones."""
        scope = dict(function.__globals__)
        for name in names_of(function.__code__) & scope.keys():
            scope[name] = self.value(scope[name], function)
        cells = tuple(
            CellType(self.value(cell.cell_contents, function))
            for cell in function.__closure__ or ()
        )
        made = FunctionType(
            function.__code__, scope, function.__name__, function.__defaults__, cells or None
        )
        made.__qualname__, made.__module__ = function.__qualname__, function.__module__
        return made

    def value(self, value: Any, caller: Any) -> Any:
        if isinstance(value, CPUDispatcher):
            return self.version(value.py_func)
        if value is np:
            return NUMPY
        helper = (
            isinstance(value, FunctionType)
            and value.__module__.startswith(OURS)
            and value is not caller
            and value not in STUBS
            and all(value is not function for function, *_ in OVERLOADS)
        )
        return self.version(value) if helper else value

    def register(self) -> None:
        """Register what was registered since for this processor."""
        for function, choose, _, strict in OVERLOADS[self.registered :]:
            extending.overload(function, strict=strict, inline="never")(self._chosen(choose))
        self.registered = len(OVERLOADS)

    def _chosen(self, choose: Any) -> Any:
        @functools.wraps(choose)
        def choose_here(*arguments: Any, **named: Any) -> Any:
            chosen = choose(*arguments, **named)
            if isinstance(chosen, CPUDispatcher):
                chosen = chosen.py_func
            return None if chosen is None else self.translated(chosen)

        return choose_here

    def compiled(self, function: Callable[..., Any], source: str, loop: Any) -> Any:
        self.register()
        kernel = cuda.jit(self.translated(function))
        kernel._cache = DeviceCache(source, loop.py_func)
        return kernel

    def send(self, value: Any) -> Any:
        if isinstance(value, np.ndarray):
            return cuda.to_device(np.require(value, requirements="W"))
        if isinstance(value, list | tuple):
            made = [self.send(item) for item in value]
            return value._make(made) if hasattr(value, "_make") else type(value)(made)
        return value

    def fetch(self, array: Any) -> np.ndarray:
        return np.asarray(array.copy_to_host())

    def launch(self, kernel: Any, lanes: int, *arguments: Any) -> None:
        kernel[-(-lanes // THREADS), THREADS](*arguments)
        cuda.synchronize()

    def room(self) -> int:
        return int(cuda.current_context().get_memory_info().free)

    def assembly(
        self, kernel: Any, kinds: Any, capabilities: Sequence[tuple[int, int]]
    ) -> list[str]:
        """PTX of a kernel for arguments of these types, for each capability."""
        library, _ = compiler._compile_pyfunc_with_fixup(
            kernel.py_func, kinds, device=False, abi="numba", cc=capabilities[0]
        )
        return ["\n".join(library.get_asm_strs(cc=each)) for each in capabilities]


class DeviceCache(NullCache):
    """A kernel on disk, beside those of processors: found by its source, the types of its
    arguments, the generation of the card, and all sources and versions that it is made of."""

    def __init__(self, source: str, loop: Callable[..., Any]) -> None:
        self.source, self.loop = source, loop

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        files, key = self._place(sig)
        kept: Any = None if files is None else files.load(key)
        return None if kept is None else dispatcher._Kernel._rebuild(**kept)

    def save_overload(self, sig: Any, kernel: Any) -> None:
        """A full disk, or a kernel that is linked with other code, costs the next process time."""
        files, key = self._place(sig)
        if files is not None:
            with contextlib.suppress(OSError, RuntimeError):
                files.save(key, kernel._reduce_states())

    def _place(self, kinds: Sequence[Any]) -> tuple[SignatureFiles | None, object]:
        modules = {__name__, module_of(self.loop)}.union(*map(modules_of, kinds))
        sources = None if None in modules else sources_key(frozenset(cast("set[str]", modules)))
        generation = dispatcher.get_current_device().compute_capability
        key = self.source, tuple(map(str, kinds)), tuple(generation), version_of("numba-cuda")
        folder = cache_directory() / str(sources) / "cuda"
        if sources is None or not (private(folder.parent.parent) and private(folder.parent)):
            return None, key
        return (SignatureFiles(folder, "lanes"), key) if private(folder) else (None, key)
