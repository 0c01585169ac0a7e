"""A run folder: plan.json says what is run and on what, plan/policy-DIGEST.json what a name stands
for, by digest of the name, chunks/DIGEST.parquet what came out.

A file appears under its name only when all of it is on disk, and its name says what is in it. So a
run that was killed goes on where it was, several drivers may share a folder, and policies in
another order or under other names find their chunks again. Files of the plan are never changed: of
two drivers that write the same one at once, the second finds the first one's.

Chunk files have a row per replication: policy (in words), replication, and a column per array, as a
list where it has several entries.
"""

import dataclasses
import dis
import functools
import hashlib
import importlib
import json
import os
import pathlib
import platform
import shlex
import struct
import sys
import types
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

import numpy as np

from ..compiled.cache import (
    HASHED,
    PACKAGE,
    PACKAGES,
    ROOT,
    SOURCE_HASH,
    closure,
    is_library,
    version_of,
)
from ..compiled.kernels import python_of
from ..core import checks, files
from ..core.types import JsonObject
from .loops import Slices

# Digests of experiments: equal digests mean equal numbers, so a finished chunk can be found again.


CODE = [
    SOURCE_HASH,
    *(f"{package} {version_of(package)}" for package in ("numpy", "numba", "scipy")),
]
LENGTH = 32  # hexadecimal digits kept of a SHA-256
# Members of classes that Python writes, ..
SKIPPED = {
    "__module__",
    "__qualname__",
    "__doc__",
    "__dict__",
    "__weakref__",
    "__slots__",
    "__annotations__",
    "__signature__",
    "__match_args__",
    "__orig_bases__",
    "__parameters__",
    "__dataclass_fields__",
    "__dataclass_params__",
    "__firstlineno__",
    "__static_attributes__",
    "_abc_impl",
}
# .. and that it writes for named tuples and `@policy` for its own.
OF_TUPLES = {
    "__new__",
    "__repr__",
    "__reduce__",
    "__getnewargs__",
    "__eq__",
    "__ne__",
    "__hash__",
    "_fields",
    "_field_defaults",
    "_make",
    "_replace",
    "_asdict",
    "FIELDS",
    "TRAITS",
    "STORED",
    "WRITTEN",
    "COMPILED",
}


class Undigestible(ValueError):
    """A value whose content cannot be read."""


def digest(value: object) -> str:
    """Hexadecimal digest of a value's content. Raises Undigestible, with a sentence, where it has
    none."""
    running = _Digest()
    running.add(value)
    return running.sha.hexdigest()[:LENGTH]


def is_outside(item: type | types.FunctionType | types.ModuleType) -> bool:
    """Whether a class, function or module is taken by content, because neither `CODE` nor the
    version of a package tells its own."""
    module = item.__name__ if isinstance(item, types.ModuleType) else item.__module__
    if not module:
        return False
    file = getattr(sys.modules.get(module), "__file__", None)
    if file is None:
        return module == "__main__" or module not in sys.modules
    path = os.path.realpath(file)
    return path not in HASHED and (
        module.partition(".")[0] in PACKAGES or not is_library(module, path)
    )


class _Digest:
    """A running SHA-256 over a tree of values, each with its kind and length in front so that no
    two trees run together."""

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
            self.note(
                type(value).__name__, value if isinstance(value, bytes) else str(value).encode()
            )
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
            self.note(
                "array",
                str((value.shape, value.dtype.descr)).encode(),
                np.ascontiguousarray(value).tobytes(),
            )
        elif isinstance(value, np.ndarray):
            self.each("objects", value.shape, *value.ravel())
        elif isinstance(value, types.CodeType):
            self.each(
                "code",
                value.co_code,
                value.co_exceptiontable,
                value.co_names,
                value.co_varnames,
                *value.co_consts,
            )
        elif isinstance(value, types.ModuleType):
            self.module(value)
        elif isinstance(value, type):
            self.cls(value)
        elif isinstance(value, types.FunctionType):
            self.function(value)
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
        self.each(
            "function",
            value.__code__,
            value.__defaults__,
            value.__kwdefaults__,
            cells,
            names,
            vars(value),
        )
        reached = [*imported, *_submodules_read(value.__code__, [*values, *cells, *imported])]
        self.each("globals", *values, *reached)
        for module in (
            item
            for item in (*values, *cells, *reached)
            if isinstance(item, types.ModuleType) and is_outside(item)
        ):
            read = sorted(
                {name for code in _codes(value.__code__) for name in code.co_names}
                & vars(module).keys()
            )
            self.each("attributes", *((name, vars(module)[name]) for name in read))
        return None

    def ufunc(self, value: np.ufunc) -> None:
        """One of NumPy or SciPy, by its name: nothing tells what one does that is made of a
        function."""
        special = sys.modules.get("scipy.special")
        owner = next(
            (module for module in (np, special) if getattr(module, value.__name__, None) is value),
            None,
        )
        if owner is None:
            raise Undigestible(
                f"{checks.show(value)} does not tell the function it is made of; call that "
                "function, or use np.vectorize"
            )
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
            if name not in skipped
            and name not in getattr(value, "_fields", ())
            and not isinstance(member, types.MemberDescriptorType)
        }
        self.each(
            "class",
            *(base for base in value.__bases__ if base is not object),
            members,
            getattr(value, "TRAITS", None),
        )
        return None

    def instance(self, value: object) -> None:
        if dataclasses.is_dataclass(value) and hasattr(value, "__dict__"):
            return self.each("instance", type(value), vars(value))
        if isinstance(value, np.random.Generator | np.random.RandomState):
            raise Undigestible(f"{checks.show(value)} changes with every draw")
        try:
            taken = value.__reduce_ex__(4)
        except Exception:
            raise Undigestible(
                f"{checks.show(value)} has no content that could be compared"
            ) from None
        if isinstance(taken, str):
            return self.each("instance", type(value), taken)
        # What pickle would keep: how to make it, its state, and the items of lists and dicts (given
        # as iterators).
        self.each(
            "instance",
            type(value),
            *taken[:3],
            *(None if item is None else list(item) for item in taken[3:5]),
        )
        return None


def _globals_read(code: types.CodeType) -> set[str]:
    return {
        str(step.argval)
        for inner in _codes(code)
        for step in dis.get_instructions(inner)
        if step.opname in ("LOAD_GLOBAL", "LOAD_NAME")
    }


def _imported(function: types.FunctionType) -> list[types.ModuleType]:
    """Modules that a function and those inside it import when they are called. Undigestible where
    one cannot be imported now."""
    modules: dict[str, types.ModuleType] = {}
    for code in _codes(function.__code__):
        steps = list(dis.get_instructions(code))
        for k, step in enumerate(steps):
            if step.opname != "IMPORT_NAME":
                continue
            level = int(
                steps[k - 2].argval or 0
            )  # the two before it load the level and what is imported from there
            name = "." * level + str(step.argval)
            try:
                module = importlib.import_module(name, function.__globals__.get("__package__"))
            except Exception as error:
                raise Undigestible(
                    f"{checks.show(function)} imports {name}, which cannot be imported now "
                    f"({error})"
                ) from None
            modules[module.__name__] = module
            for inner in steps[k - 1].argval or ():  # from a package: its modules
                if (part := sys.modules.get(f"{module.__name__}.{inner}")) is not None:
                    modules[part.__name__] = part
    return [modules[name] for name in sorted(modules)]


def _submodules_read(code: types.CodeType, values: list[object]) -> list[types.ModuleType]:
    """Modules that a function may reach as attributes of packages from outside, whose own source
    need not import them."""
    names = sorted({name for inner in _codes(code) for name in inner.co_names})
    packages, reached = (
        [item for item in values if isinstance(item, types.ModuleType)],
        list[types.ModuleType](),
    )
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
    item: object = sys.modules.get(value.__module__)
    for part in value.__qualname__.split("."):
        item = getattr(item, part, None)
    return python_of(item) is value


def _name_and_version(module: str) -> tuple[str, str]:
    """A module of an installed package or of the hashed sources: its name and version; `CODE`
    speaks for the latter."""
    top = module.partition(".")[0]
    return module, "" if top == PACKAGE else version_of(top)


def _source(module: types.ModuleType) -> list[bytes]:
    """The content of a module's files; of this package as a whole all its sources, since it leads
    to every part."""
    file = getattr(module, "__file__", None)
    files = (
        sorted(ROOT.rglob("*.py"))
        if module.__name__ == PACKAGE
        else []
        if file is None
        else [pathlib.Path(file)]
    )
    return [path.read_bytes() for path in files]


# A plan: an experiment cut into chunks of replications, each named by all that its numbers depend
# on and by nothing else.


MOST_CHUNKS = 40  # per policy: the grain of resuming and of sharing work

Rows = dict[str, np.ndarray]  # what replications leave behind, by name


def stacked(each: Sequence[Rows]) -> Rows:
    return {key: np.stack([one[key] for one in each]) for key in each[0]}


class Replicable(Protocol):
    """Something to replicate under several names, usually policies. It is sent to workers whole."""

    kind: str

    @property
    def rounds(self) -> int: ...

    @property
    def period(self) -> int: ...

    def names(self) -> Sequence[str]: ...

    def common(self) -> JsonObject:
        """All that replications share and their numbers depend on: horizon, seed and the like."""
        ...

    def content(self, name: str, replication: int) -> dict[str, object]:
        """All else that the numbers of one replication depend on: problem, policy, monitor."""
        ...

    def label(self, name: str, replication: int) -> str:
        """The policy in words that its content decides and not the name it was given."""
        ...

    def replicate(self, name: str, replication: int, slices: Slices) -> Rows: ...


@dataclass(frozen=True)
class Chunk:
    """Replications first .. last - 1 of one name; digest: of all that their numbers depend on, None
    where nobody will ask."""

    name: str
    first: int
    last: int
    digest: str | None


@dataclass(frozen=True)
class ChunkPlan:
    """An experiment and its chunks; contents: a digest of what was given for each name, by part."""

    experiment: Replicable
    chunks: list[Chunk]
    contents: dict[str, dict[str, str]]


def plan_chunks(
    experiment: Replicable, replications: int, *, digested: bool, begin: int = 0, least: int = 1
) -> ChunkPlan:
    """The plan of replications from `begin` on. digested: name the chunks by content; raises
    ValueError where something has none."""
    size = least
    while size * MOST_CHUNKS < replications:
        size *= 2  # so that asking for more replications later finds most chunks again
    digests = _DigestsByObject()
    how = ("lanes",) if least > 1 else ()  # whose numbers may differ in their last digit
    common = digest((CODE, experiment.kind, experiment.common(), *how)) if digested else ""
    chunks = []
    for name in experiment.names():
        for first in range(begin, replications, size):
            last = min(first + size, replications)
            parts = (
                digests.parts(experiment, name, range(first, min(last, first + experiment.period)))
                if digested
                else []
            )
            chunks.append(
                Chunk(name, first, last, digest((common, first, last, parts)) if digested else None)
            )
    contents = {}
    for name in experiment.names() if digested else ():
        parts = digests.parts(experiment, name, range(experiment.period))
        contents[name] = {part: digest([one[part] for one in parts]) for part in parts[0]}
    return ChunkPlan(experiment, chunks, contents)


class _DigestsByObject:
    def __init__(self) -> None:
        self.digests: dict[int, tuple[object, str]] = {}

    def parts(self, experiment: Replicable, name: str, replications: range) -> list[dict[str, str]]:
        return [
            {part: self.one(name, part, item) for part, item in experiment.content(name, r).items()}
            for r in replications
        ]

    def one(self, name: str, part: str, item: object) -> str:
        if id(item) not in self.digests:
            try:
                self.digests[id(item)] = (item, digest(item))
            except Undigestible as reason:
                raise ValueError(
                    f"out cannot be used: the {part} of {name!r} holds something that has no "
                    f"digest ({reason}), so that a later call could not tell its results from "
                    "those of another; call without out, or pass functions, arrays and "
                    "dataclasses."
                ) from None
        return self.digests[id(item)][1]


# The origin of a result: enough to make it again.


T = TypeVar("T")


def versions() -> dict[str, str]:
    packages = ("tightrope", "numpy", "numba", "scipy")
    return {
        "python": platform.python_version(),
        **{package: version_of(package) or "not installed" for package in packages},
        "source": SOURCE_HASH,
        "machine": f"{platform.system()} {platform.machine()}",
    }


def command() -> str:
    ours = sys.argv[0].endswith(("tightrope", "tightrope/__main__.py"))
    return shlex.join(["tightrope" if ours else sys.argv[0], *sys.argv[1:]])


def machine() -> dict[str, str]:
    """All that last bits may depend on: the C library and the CPU's features."""
    import llvmlite.binding as llvm

    features = sorted(name for name, there in llvm.get_host_cpu_features().items() if there)
    return {
        "libc": " ".join(platform.libc_ver()).strip(),
        "cpu": llvm.get_host_cpu_name(),
        "cpu features": " ".join(features),
    }


def record(function: str | None, items: Sequence[T], show: Callable[[T], object]) -> object:
    """A policy or monitor as `show` puts it; those that a function of the problem made by its name
    and a digest of them all."""
    return (
        show(items[0])
        if function is None
        else {"chosen by": function, "digest": digest_or_none(items)}
    )


def digest_or_none(items: Sequence[object]) -> str | None:
    try:
        return digest(list(items))[:16]
    except Undigestible:
        return None


FORMAT = 1
KEY = b"tightrope"  # of our metadata in a Parquet file


class Store:
    def __init__(self, out: pathlib.Path) -> None:
        self.out, self.folder = out, out / "chunks"

    def path(self, chunk: Chunk) -> pathlib.Path:
        return self.folder / f"{chunk.digest}.parquet"

    def read(self, chunk: Chunk, *, warn: bool = True) -> Rows | None:
        """A finished chunk; None where there is none, or where its file is damaged, with a
        RuntimeWarning that names it unless told."""
        try:
            data = self.path(chunk).read_bytes()
        except FileNotFoundError:
            return None
        try:
            return _unpacked(data, chunk)
        except Exception as error:
            reason = str(error) if isinstance(error, _Damaged) else type(error).__name__
            if warn:
                warnings.warn(
                    f"{self.path(chunk)} is damaged ({reason}) and is computed again.",
                    RuntimeWarning,
                    stacklevel=2,
                )
            return None

    def write(self, chunk: Chunk, rows: Rows, labels: list[str]) -> None:
        """Keep a finished chunk. labels: what was played, per replication."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        columns: dict[str, object] = {
            "policy": labels,
            "replication": np.arange(chunk.first, chunk.last),
        }
        for key, array in rows.items():
            flat = pa.array(np.ascontiguousarray(array).reshape(-1))
            columns[key] = (
                pa.FixedSizeListArray.from_arrays(flat, array[0].size) if array.ndim > 1 else flat
            )
        about = {
            "format": FORMAT,
            "chunk": chunk.digest,
            "checksum": _checksum(chunk, rows),
            "arrays": {key: [array.dtype.str, list(array.shape)] for key, array in rows.items()},
        }
        table = pa.table(columns).replace_schema_metadata({KEY: json.dumps(about)})
        with files.atomically(self.path(chunk)) as file:
            pq.write_table(table, file, compression="zstd")


class _Damaged(Exception):
    """A file is not what was written; its words say how."""


def _unpacked(data: bytes, chunk: Chunk) -> Rows:
    import pyarrow as pa
    import pyarrow.parquet as pq

    table = pq.read_table(pa.BufferReader(data))
    about = json.loads((table.schema.metadata or {})[KEY])
    if about["chunk"] != chunk.digest or about["format"] != FORMAT:
        raise _Damaged("it is another chunk")
    rows = {}
    for key, (dtype, shape) in about["arrays"].items():
        column = table[key].combine_chunks()
        flat = column if pa.types.is_primitive(column.type) else column.flatten()
        rows[key] = (
            flat.to_numpy(zero_copy_only=False).astype(np.dtype(dtype), copy=False).reshape(shape)
        )
    if _checksum(chunk, rows) != about["checksum"]:
        raise _Damaged("its checksum is wrong")
    return rows


def _checksum(chunk: Chunk, rows: Rows) -> str:
    checksum = hashlib.sha256(str(chunk.digest).encode())
    for key in sorted(rows):
        checksum.update(f"{key} {rows[key].dtype.str} {rows[key].shape}".encode())
        checksum.update(np.ascontiguousarray(rows[key]).tobytes())
    return checksum.hexdigest()


def open_store(out: pathlib.Path, plan: ChunkPlan) -> Store:
    """The store of a run folder that is new, or holds this experiment; policies may have been
    added, named anew or moved.

    Raises ValueError where it holds another experiment: other seed, horizon or problem, or another
    policy of the same name.
    """
    if out.exists() and not out.is_dir():
        raise ValueError(
            f"out = {str(out)!r} is a file; give the folder of a run, or one that is not there yet."
        )
    record = out / "plan.json"
    experiment = json.loads(
        json.dumps(
            {"kind": plan.experiment.kind} | plan.experiment.common() | {"code": CODE},
            default=files.plain,
        )
    )
    if not record.exists():
        origin = versions() | machine() | {"command": command()}
        files.write_json(
            record, {"format": FORMAT, "experiment": experiment, "made": origin}, once=True
        )
    recorded = read_plan(record)
    changed = [key for key in experiment if recorded["experiment"].get(key) != experiment[key]]
    stored = _stored_contents(out, plan)
    _refuse(out, changed + _differences(plan, stored))
    for name in [name for name in plan.contents if name not in stored]:
        files.write_json(
            _policy(out, name),
            {"format": FORMAT, "name": name, "contents": plan.contents[name]},
            once=True,
        )
        stored[name] = _read(_policy(out, name), "contents")["contents"]
    _refuse(out, _differences(plan, stored))  # of another driver's that began at the same time
    store = Store(out)
    for folder in (out, store.folder, out / "plan"):
        files.remove_leftovers(folder)
    return store


def _policy(out: pathlib.Path, name: str) -> pathlib.Path:
    return out / "plan" / f"policy-{digest(name)}.json"


def _stored_contents(out: pathlib.Path, plan: ChunkPlan) -> dict[str, dict[str, str]]:
    """The content behind the plan's names in the folder so far."""
    paths = {name: _policy(out, name) for name in plan.contents}
    return {
        name: _read(path, "contents")["contents"] for name, path in paths.items() if path.exists()
    }


def _differences(plan: ChunkPlan, stored: dict[str, dict[str, str]]) -> list[str]:
    both = [(parts, stored[name]) for name, parts in plan.contents.items() if name in stored]
    return [
        _PLURAL.get(part, part)
        for parts, before in both
        for part in parts
        if before.get(part) != parts[part]
    ]


_PLURAL = {"policy": "policies"}


def _refuse(out: pathlib.Path, changed: list[str]) -> None:
    if changed:
        raise ValueError(
            f"out = {str(out)!r} holds a run with other {', '.join(dict.fromkeys(changed))}; "
            "choose another folder or remove it."
        )


def read_plan(path: pathlib.Path) -> JsonObject:
    return _read(path, "experiment")


def _read(path: pathlib.Path, key: str) -> JsonObject:
    try:
        content = json.loads(path.read_text())
        if content["format"] == FORMAT and isinstance(content[key], dict):
            return dict(content)
    except (ValueError, KeyError, TypeError):
        pass
    raise ValueError(
        f"{path} is damaged or of another version; choose another folder or remove it."
    )
