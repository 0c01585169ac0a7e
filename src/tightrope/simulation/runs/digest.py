"""Digests of experiments: equal digests mean equal numbers, so a finished chunk can be found again.

Everything that a number depends on is taken by content: arrays by their bytes, functions by their bytecode, constants, defaults,
closures and the globals they read, classes from outside by their methods, policies, problems and monitors from outside by their
kernels too, and modules from outside by their sources and those of what they import. The sources that every run may depend on stand
for themselves by their hash (`CODE`), installed packages by name and version; all else is outside, be it of this package.
What has no content to digest is refused: its results could not be told apart from those of another object.
"""

import dataclasses
import dis
import functools
import hashlib
import importlib
import os
import pathlib
import struct
import sys
import types
from collections.abc import Iterator
from importlib.metadata import version

import numpy as np

from ...compiled.cache import HASHED, PACKAGE, ROOT, SOURCE_HASH, closure, is_library, version_of
from ...compiled.kernels import python_of
from ...core import checks

CODE = [SOURCE_HASH] + [f"{package} {version(package)}" for package in ("numpy", "numba", "scipy")]
LENGTH = 32  # hexadecimal digits kept of a SHA-256
# Members of classes that Python writes, ..
SKIPPED = {
    "__module__", "__qualname__", "__doc__", "__dict__", "__weakref__", "__slots__", "__annotations__", "__signature__", "__match_args__",
    "__orig_bases__", "__parameters__", "__dataclass_fields__", "__dataclass_params__", "__firstlineno__", "__static_attributes__",
    "_abc_impl",
}  # fmt: skip
# .. and that it writes for named tuples and `@policy` for its own.
OF_TUPLES = {
    "__new__", "__repr__", "__reduce__", "__getnewargs__", "__eq__", "__ne__", "__hash__", "_fields", "_field_defaults", "_make",
    "_replace", "_asdict", "FIELDS", "TRAITS", "STORED", "WRITTEN", "COMPILED",
}  # fmt: skip


class Undigestible(ValueError):
    """A value whose content cannot be read."""


def digest(value: object) -> str:
    """Hexadecimal digest of a value's content. Raises Undigestible, with a sentence, where it has none."""
    running = _Digest()
    running.add(value)
    return running.sha.hexdigest()[:LENGTH]


def is_outside(item: type | types.FunctionType | types.ModuleType) -> bool:
    """Whether a class, function or module is taken by content, because neither `CODE` nor the version of a package tells its own."""
    module = item.__name__ if isinstance(item, types.ModuleType) else item.__module__
    if not module:
        return False
    file = getattr(sys.modules.get(module), "__file__", None)
    if file is None:
        return module == "__main__" or module not in sys.modules
    path = os.path.realpath(file)
    return path not in HASHED and (module.partition(".")[0] == PACKAGE or not is_library(module, path))


class _Digest:
    """A running SHA-256 over a tree of values, each with its kind and length in front so that no two trees run together."""

    def __init__(self) -> None:
        self.sha = hashlib.sha256()
        self.places: dict[int, int] = {}
        self.alive: list[object] = []  # an id may be used again once its object is gone

    def note(self, kind: str, *parts: bytes) -> None:
        for part in (kind.encode(), *parts):
            self.sha.update(struct.pack("<q", len(part)))
            self.sha.update(part)

    def each(self, kind: str, *values: object) -> None:
        self.note(kind, struct.pack("<q", len(values)))
        for value in values:
            self.add(value)

    def add(self, value: object) -> None:
        if value is None or isinstance(value, bool | int | str | bytes | types.EllipsisType):
            self.note(type(value).__name__, value if isinstance(value, bytes) else str(value).encode())
        elif isinstance(value, float | complex):
            self.note(type(value).__name__, repr(value).encode())
        elif id(value) in self.places:
            self.note("again", struct.pack("<q", self.places[id(value)]))
        else:
            self.places[id(value)] = len(self.places)
            self.alive.append(value)
            self.structured(value)

    def structured(self, value: object) -> None:
        value = python_of(value)
        if isinstance(value, np.ndarray) and not value.dtype.hasobject:
            self.note("array", str((value.shape, value.dtype.descr)).encode(), np.ascontiguousarray(value).tobytes())
        elif isinstance(value, np.ndarray):
            self.each("objects", value.shape, *value.ravel())
        elif isinstance(value, np.generic):
            self.note("number", value.dtype.str.encode(), value.tobytes())
        elif isinstance(value, types.CodeType):
            self.each("code", value.co_code, value.co_exceptiontable, value.co_names, value.co_varnames, *value.co_consts)
        elif isinstance(value, types.ModuleType):
            self.module(value)
        elif isinstance(value, type):
            self.cls(value)
        elif isinstance(value, types.FunctionType):
            self.function(value)
        elif isinstance(value, types.MethodType):
            self.each("method", value.__func__, value.__self__)
        elif isinstance(value, functools.partial):
            self.each("partial", value.func, value.args, value.keywords)
        elif isinstance(value, staticmethod | classmethod):
            self.each(type(value).__name__, value.__func__)
        elif isinstance(value, property):
            self.each("property", value.fget, value.fset)
        elif isinstance(value, types.UnionType):
            self.each("union", *value.__args__)
        elif isinstance(value, np.ufunc):
            self.ufunc(value)
        elif isinstance(value, types.BuiltinFunctionType):
            self.each("builtin", value.__name__, getattr(value, "__self__", None))
        elif isinstance(value, functools._lru_cache_wrapper):
            self.each("cached", value.__wrapped__)
        elif isinstance(value, pathlib.PurePath):
            self.note("path", str(value).encode())
        elif isinstance(value, tuple | list):
            self.each("sequence", type(value), *value)
        elif isinstance(value, dict):
            self.each("dict", type(value), *value.items())
        elif isinstance(value, set | frozenset):
            self.each("set", type(value), *sorted(digest(item) for item in value))
        else:
            self.instance(value)

    def module(self, value: types.ModuleType) -> None:
        if not is_outside(value):
            return self.each("module", *_name_and_version(value.__name__))
        sources, libraries = closure(frozenset({value.__name__}), HASHED)
        files = [(name, _source(sys.modules.get(name, value))) for name in sorted(sources)]
        return self.each("module", files, [_name_and_version(name) for name in sorted(libraries)])

    def function(self, value: types.FunctionType) -> None:
        if not is_outside(value) and _found_by_name(value):
            return self.each("function", *_name_and_version(value.__module__), value.__qualname__)
        cells = []
        for cell in value.__closure__ or ():
            try:
                cells.append(cell.cell_contents)
            except ValueError:  # filled in later, if ever
                cells.append("empty")
        names = sorted(_globals_read(value.__code__) & value.__globals__.keys())
        values = [value.__globals__[name] for name in names]
        imported = _imported(value)
        self.each("function", value.__code__, value.__defaults__, value.__kwdefaults__, cells, names, vars(value))
        reached = [*imported, *_submodules_read(value.__code__, [*values, *cells, *imported])]
        self.each("globals", *values, *reached)
        for module in (item for item in (*values, *cells, *reached) if isinstance(item, types.ModuleType) and is_outside(item)):
            read = sorted({name for code in _codes(value.__code__) for name in code.co_names} & vars(module).keys())
            self.each("attributes", *((name, vars(module)[name]) for name in read))
        return None

    def ufunc(self, value: np.ufunc) -> None:
        """One of NumPy or SciPy, by its name: nothing tells what one does that is made of a function."""
        special = sys.modules.get("scipy.special")
        owner = next((module for module in (np, special) if getattr(module, value.__name__, None) is value), None)
        if owner is None:
            raise Undigestible(f"{checks.show(value)} does not tell the function it is made of; call that function, or use np.vectorize")
        self.each("ufunc", owner.__name__, value.__name__)

    def cls(self, value: type) -> None:
        if not is_outside(value):
            return self.each("class", *_name_and_version(value.__module__), value.__qualname__)
        skipped = SKIPPED | (OF_TUPLES if hasattr(value, "_fields") else set())
        if dataclasses.is_dataclass(value):
            skipped |= {"__eq__", "__repr__", "__hash__"}
        members = {
            name: member
            for name, member in sorted(vars(value).items())
            if name not in skipped and name not in getattr(value, "_fields", ()) and not isinstance(member, types.MemberDescriptorType)
        }
        self.each("class", *(base for base in value.__bases__ if base is not object), members, getattr(value, "TRAITS", None))
        return None

    def instance(self, value: object) -> None:
        if dataclasses.is_dataclass(value) and hasattr(value, "__dict__"):
            return self.each("instance", type(value), vars(value))
        if isinstance(value, np.random.Generator | np.random.RandomState):
            raise Undigestible(f"{checks.show(value)} changes with every draw")
        try:
            taken = value.__reduce_ex__(4)
        except Exception:
            raise Undigestible(f"{checks.show(value)} has no content that could be compared") from None
        if isinstance(taken, str):
            return self.each("instance", type(value), taken)
        # What pickle would keep: how to make it, its state, and the items of lists and dicts (given as iterators).
        self.each("instance", type(value), *taken[:3], *(None if item is None else list(item) for item in taken[3:5]))
        return None


def _globals_read(code: types.CodeType) -> set[str]:
    return {
        str(step.argval) for inner in _codes(code) for step in dis.get_instructions(inner) if step.opname in ("LOAD_GLOBAL", "LOAD_NAME")
    }


def _imported(function: types.FunctionType) -> list[types.ModuleType]:
    """Modules that a function and those inside it import when they are called. Undigestible where one cannot be imported now."""
    modules: dict[str, types.ModuleType] = {}
    for code in _codes(function.__code__):
        steps = list(dis.get_instructions(code))
        for k, step in enumerate(steps):
            if step.opname != "IMPORT_NAME":
                continue
            level = int(steps[k - 2].argval or 0)  # the two before it load the level and what is imported from there
            name = "." * level + str(step.argval)
            try:
                module = importlib.import_module(name, function.__globals__.get("__package__"))
            except Exception as error:
                raise Undigestible(f"{checks.show(function)} imports {name}, which cannot be imported now ({error})") from None
            modules[module.__name__] = module
            for inner in steps[k - 1].argval or ():  # from a package: its modules
                if (part := sys.modules.get(f"{module.__name__}.{inner}")) is not None:
                    modules[part.__name__] = part
    return [modules[name] for name in sorted(modules)]


def _submodules_read(code: types.CodeType, values: list[object]) -> list[types.ModuleType]:
    """Modules that a function may reach as attributes of packages from outside, whose own source need not import them."""
    names = sorted({name for inner in _codes(code) for name in inner.co_names})
    packages, reached = [item for item in values if isinstance(item, types.ModuleType)], list[types.ModuleType]()
    for package in packages:
        inner = [sys.modules.get(f"{package.__name__}.{name}") for name in names]
        reached += (new := [item for item in inner if item is not None and is_outside(item)])
        packages += new
    return reached


def _codes(code: types.CodeType) -> Iterator[types.CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _codes(constant)


def _found_by_name(value: types.FunctionType) -> bool:
    """Whether a function stands under its name in its module, so that the name says what it does."""
    item: object = sys.modules.get(value.__module__)
    for part in value.__qualname__.split("."):
        item = getattr(item, part, None)
    return python_of(item) is value


def _name_and_version(module: str) -> tuple[str, str]:
    """A module of an installed package or of the hashed sources: its name and version; `CODE` speaks for the latter."""
    top = module.partition(".")[0]
    return module, "" if top == PACKAGE else version_of(top)


def _source(module: types.ModuleType) -> list[bytes]:
    """The content of a module's files; of this package as a whole all its sources, since it leads to every part."""
    file = getattr(module, "__file__", None)
    files = sorted(ROOT.rglob("*.py")) if module.__name__ == PACKAGE else [] if file is None else [pathlib.Path(file)]
    return [path.read_bytes() for path in files]
