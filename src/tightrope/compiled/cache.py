"""Where compiled kernels are kept: on disk, in folders named by a hash of every source they were
compiled from.

Numba notices an edit only in the file a compiled function was written in, so a loop cached on disk
would keep running an old kernel after an edit of another file. The machine code of a loop comes
from its own file, from the files of its arguments' classes and of the kernels that answer for them,
and from what all these import from their own package. The contents of all of them name the folder,
inside this package and outside, so an edited report leaves every kernel where it is and an edited
policy only its own.

Kept in memory only: kernels and classes that no file holds (a notebook's cell) or that another
process could not find by name (a class made inside a function, or in a script that is run), and
whatever was changed on disk after this process had started.
"""

import ast
import contextlib
import functools
import hashlib
import importlib.metadata
import importlib.util
import logging
import os
import pathlib
import pickle
import re
import stat
import sys
import sysconfig
import threading
import time
import types as python_types
import uuid
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any, cast

import numba
import numba.core.caching as caching
import numba.core.config as _config
from numba import types
from numba.core import serialize

config: Any = _config
ROOT = pathlib.Path(__file__).resolve().parent.parent
PACKAGE = __name__.partition(".")[0]
PACKAGES = (
    PACKAGE,
    "tightrope_papers",
    "tightrope_service",
)  # of one distribution, whose version says nothing between releases
STARTED = time.time()
MAGIC = b"tightrope kernel 1\n"
DIGEST_BYTES = hashlib.sha256().digest_size
DAY_SECONDS = 24 * 3600.0
OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH
ANYBODY = (
    stat.S_IWOTH | stat.S_ISVTX
)  # everybody may write, and (sticky) only the owner of a file may replace it
log = logging.getLogger(__name__)
FOLDERS = (
    "core",
    "compiled",
    "numerics",
    "solvers",
    "problems",
    "policies",
    "results",
    "simulation",
)
PLAIN_TYPES = (
    types.Number,
    types.Boolean,
    types.NoneType,
    types.Array,
    types.UnicodeType,
    types.Literal,
    types.Omitted,
    types.NumPyRandomGeneratorType,
)
IMPORT = re.compile(
    r"(?:^|[;:])[ \t]*((?:from|import)[ \t]+[^\n;#(\\]*(?:\([^)]*\)|(?:\\\n[^\n\\]*)+)?)",
    re.MULTILINE,
)

_lock = threading.Lock()


def answering(cls: type) -> set[str | None]:
    """Modules of the methods by which a class answers verbs; None: one that no file holds. Whatever
    compiles with it depends on them."""
    modules = set[str | None]()
    for name in dir(cls):
        method = getattr(cls, name)
        plain = getattr(method, "py_func", method)
        if (
            not name.startswith("_")
            and isinstance(plain, python_types.FunctionType)
            and not getattr(plain, "required", False)
        ):
            modules.add(module_of(plain))
    return modules


def module_of(function: Callable[..., object]) -> str | None:
    """Name of the module whose file a function was written in; None where there is no such file."""
    path = file_of(function.__module__)
    return (
        function.__module__
        if path is not None and path == os.path.realpath(function.__code__.co_filename)
        else None
    )


def file_of(module: str) -> str | None:
    path = getattr(sys.modules.get(module), "__file__", None)
    return os.path.realpath(path) if path is not None and path.endswith(".py") else None


def _hashed() -> frozenset[str]:
    base = {
        path
        for path in ROOT.glob("*.py")
        if path.name not in ("__init__.py", "__main__.py", "extend.py", "notebook.py", "testing.py")
    }
    return frozenset(
        str(path) for path in base.union(*((ROOT / folder).rglob("*.py") for folder in FOLDERS))
    )


def _source_hash() -> str:
    digest = hashlib.sha256(numba.__version__.encode())
    for path in sorted(pathlib.Path(name) for name in HASHED):
        digest.update(path.relative_to(ROOT).as_posix().encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


# the sources that most results can depend on; what else of this package a result uses is digested
# with it
HASHED = _hashed()
SOURCE_HASH = _source_hash()  # of these, as this process found them: what results are stamped with


def cache_directory() -> pathlib.Path:
    """Folder of all compiled kernels (`$TIGHTROPE_CACHE`, or the user's cache)."""
    base = os.environ.get("TIGHTROPE_CACHE")
    if not base:
        base = os.path.join(
            os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "tightrope"
        )
    return pathlib.Path(base).expanduser()


class KernelCache(caching.NullCache):
    """The cache of one kernel: for every signature the folder of exactly the sources it is compiled
    from."""

    def __init__(self, function: Callable[..., object]) -> None:
        self.function = function
        self.folders: dict[str, caching.FunctionCache | None] = {}

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        folder = self._folder(getattr(sig, "args", sig))
        return None if folder is None else folder.load_overload(sig, target_context)

    def save_overload(self, sig: Any, data: Any) -> None:
        """Write machine code where a folder can be had; a full disk costs the next process time,
        not this one its run."""
        folder = self._folder(data.signature.args)
        if folder is not None and None not in modules_of(data.signature.return_type):
            with contextlib.suppress(OSError):
                folder.save_overload(sig, data)

    def _folder(self, arguments: Sequence[types.Type]) -> caching.FunctionCache | None:
        modules = {module_of(self.function)}.union(*(modules_of(item) for item in arguments))
        key = None if None in modules else sources_key(frozenset(cast("set[str]", modules)))
        if key is None:
            return None
        if key not in self.folders:
            self.folders[key] = _numba_cache(self.function, cache_directory() / key)
        return self.folders[key]


def _numba_cache(
    function: Callable[..., object], folder: pathlib.Path
) -> caching.FunctionCache | None:
    if not private(folder.parent) or not private(folder):
        return None
    with _lock:
        before, config.CACHE_DIR = (
            config.CACHE_DIR,
            str(folder),
        )  # read when the cache object is made
        try:
            cache = caching.FunctionCache(function)
        except RuntimeError:
            return None  # no writable cache folder
        finally:
            config.CACHE_DIR = before
    path = pathlib.Path(cache._cache_path)
    if folder not in path.parents or not private(
        path
    ):  # Numba takes another folder where it cannot write to ours
        return None
    cache._cache_file = SignatureFiles(path, cache._impl.filename_base)
    return cache


@functools.cache
def private(folder: pathlib.Path) -> bool:
    """Whether nobody else can put files into a folder: what lies there is executed. A new or empty
    one of ours is made so.

    A folder that others can write to is not used, with a warning.
    """
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        folder.mkdir(mode=0o700, exist_ok=True)
        if not hasattr(os, "getuid"):
            return True
        status = folder.stat()
        ours = status.st_uid == os.getuid()
        if ours and status.st_mode & OTHERS_WRITE and not any(folder.iterdir()):
            folder.chmod(0o700)
            status = folder.stat()
        replaceable = [
            parent
            for parent in folder.resolve().parents
            if parent.stat().st_mode & ANYBODY == stat.S_IWOTH
        ]
    except OSError:
        return False
    if status.st_uid in (os.getuid(), 0) and not status.st_mode & OTHERS_WRITE and not replaceable:
        return True
    where = replaceable[0] if replaceable else folder
    warnings.warn(
        f"Compiled kernels are not kept in {str(folder)!r}: what lies there is executed, and "
        f"{str(where)!r} (owner {where.stat().st_uid}, mode "
        f"{stat.S_IMODE(where.stat().st_mode):o}) can be written to by others. Take their right "
        "away (chmod go-w), or set TIGHTROPE_CACHE to a folder of your own; until then every "
        "process compiles anew.",
        RuntimeWarning,
        stacklevel=2,
    )
    return False


class SignatureFiles:
    """Machine code on disk, a file for each signature, in place of Numba's numbered files and their
    index.

    Where two processes save two signatures of one function at the same time, Numba's index may lead
    to the other one's code, and a call of that reads arguments of types that they are not. A file
    that is named by its signature, and says it, cannot be mistaken.

    A file begins with a digest of its bytes and of what it is for: sources (the name of the folder
    that `sources_key` gives), function, signature, version of Numba. It is checked before anything
    else is done with the bytes, since one flipped bit in machine code crashes the process or
    changes numbers. A file that fails is as none: the kernel is compiled and saved anew.
    """

    def __init__(self, folder: pathlib.Path, function: str) -> None:
        self.folder, self.function = folder, function

    def _path(self, key: object) -> pathlib.Path:
        return (
            self.folder
            / f"{self.function}.{hashlib.sha256(repr(key).encode()).hexdigest()[:24]}.nbc"
        )

    def _digest(self, key: object, code: bytes) -> bytes:
        """Of the code of a signature, and of what it is for. The folder's last two names are those
        of the sources and of the file."""
        about = (numba.__version__, self.folder.parts[-2:], self.function, repr(key))
        return hashlib.sha256(repr(about).encode() + b"\0" + code).digest()

    def save(self, key: object, data: object) -> None:
        path, code = self._path(key), serialize.dumps((key, data))
        unfinished = path.with_suffix(f".{uuid.uuid4().hex[:16]}")
        try:
            unfinished.write_bytes(MAGIC + self._digest(key, code) + code)
            unfinished.replace(path)
        finally:
            unfinished.unlink(missing_ok=True)
        self._sweep()

    def _sweep(self) -> None:
        """Remove what processes that were killed while they wrote left behind a day ago."""
        for path in self.folder.glob(f"{self.function}.*"):
            with contextlib.suppress(OSError):
                if path.suffix != ".nbc" and time.time() - path.stat().st_mtime > DAY_SECONDS:
                    path.unlink()

    def load(self, key: object) -> object:
        """The code that was saved for a signature; None where there is none, or a file that is not
        what was saved."""
        path = self._path(key)
        try:
            content = path.read_bytes()
        except OSError:
            return None
        digest, code = (
            content[len(MAGIC) : len(MAGIC) + DIGEST_BYTES],
            content[len(MAGIC) + DIGEST_BYTES :],
        )
        if not content.startswith(MAGIC) or digest != self._digest(key, code):
            log.debug("%s is not what was saved and is compiled anew", path)
            return None
        saved_key, data = pickle.loads(code)
        return data if saved_key == key else None


def modules_of(numba_type: types.Type) -> set[str | None]:
    """Modules whose source decides what code with arguments of this type does; None among them:
    never kept on disk."""
    if isinstance(numba_type, types.BaseTuple):
        cls = getattr(numba_type, "instance_class", None)
        modules = (
            set() if cls is None else answering(cls) | {cls.__module__ if findable(cls) else None}
        )
        return modules.union(*(modules_of(inner) for inner in iter(cast(Any, numba_type))))
    if isinstance(numba_type, types.StructRef):
        return set[str | None]().union(
            *(modules_of(inner) for inner in numba_type.field_dict.values())
        )
    if isinstance(numba_type, types.Dispatcher):
        return {module_of(cast(Any, numba_type).dispatcher.py_func)}
    return set() if isinstance(numba_type, PLAIN_TYPES) else {None}


def findable(cls: type | python_types.FunctionType) -> bool:
    """Whether another process finds the class by its module and name."""
    holder: object = None if cls.__module__ == "__main__" else sys.modules.get(cls.__module__)
    for name in cls.__qualname__.split("."):
        holder = getattr(holder, name, None)
    return holder is cls


def sources_key(modules: frozenset[str]) -> str | None:
    """Hash of the sources of these modules and of all they import from their own package; None
    where one cannot be trusted."""
    digest = hashlib.sha256(f"{numba.__version__} {config.BOUNDSCHECK} {config.OPT}\n".encode())
    sources, libraries = closure(modules)
    for name in sorted(sources):
        content = package_content() if name == PACKAGE else _content(file_of(name))
        if content is None:
            return None
        digest.update(f"{name} {content}\n".encode())
    for name in sorted(libraries):
        digest.update(f"{name} {version_of(name)}\n".encode())
    return digest.hexdigest()[:16]


def closure(
    modules: frozenset[str], known: frozenset[str] = frozenset()
) -> tuple[set[str], set[str]]:
    """These modules with all that they import of their own package, of this one and of files that
    are no library; and the libraries.

    known: files that are left out, with what only they import.
    """
    own = {*PACKAGES, *(name.partition(".")[0] for name in modules)}
    sources, libraries, waiting = set[str](), set[str](), list(modules)
    while waiting:
        name = waiting.pop()
        top, path = name.partition(".")[0], file_of(name)
        if top not in own and (path is None or is_library(name, path)):
            libraries.add(top)
        elif name not in sources and path not in known:
            sources.add(name)
            if (
                path is not None and name != PACKAGE
            ):  # the whole of this package, if anyone imports that
                waiting += _imported(name, path)
    return sources, libraries


@functools.cache
def _libraries() -> tuple[str, ...]:
    paths = sysconfig.get_paths()
    return tuple(
        {
            os.path.realpath(paths[key]) + os.sep
            for key in ("stdlib", "platstdlib", "purelib", "platlib")
        }
    )


def is_library(module: str, path: str) -> bool:
    """Whether its name and version say what a module does: it is a part of Python, or of an
    installed package that has a version.

    Not all that is below sys.prefix is installed: that may be the folder of a project.
    """
    top = module.partition(".")[0]
    installed = (
        path.startswith(_libraries())
        or f"{os.sep}site-packages{os.sep}" in path
        or f"{os.sep}dist-packages{os.sep}" in path
    )
    return installed and (top in sys.stdlib_module_names or version_of(top) != "")


@functools.cache
def version_of(library: str) -> str:
    """The installed version of a library, whether or not it is loaded yet: kernels must not be
    compiled anew because of a later import.

    Empty for Python's own, and for packages that have no version.
    """
    if library in sys.stdlib_module_names:
        return ""
    try:
        return importlib.metadata.version(library)
    except importlib.metadata.PackageNotFoundError:  # named otherwise than its module
        return (
            str(vars(sys.modules[library]).get("__version__", "")) if library in sys.modules else ""
        )


@functools.cache
def _imported(name: str, path: str) -> tuple[str, ...]:
    """Modules that a module imports, as far as they are loaded; of libraries also those that are
    imported later."""
    own, names = name.partition(".")[0], list[str]()
    package = getattr(sys.modules[name], "__package__", None) or ""
    for node in _import_statements(pathlib.Path(path).read_text(encoding="utf-8")):
        if isinstance(node, ast.Import):
            for alias in node.names:
                top = alias.name.partition(".")[0]
                names += [alias.name, top]
                if (
                    top == own != PACKAGE
                ):  # `import package` reaches everything in it that is loaded
                    names += [item for item in list(sys.modules) if item.startswith(f"{top}.")]
        else:
            try:
                base = importlib.util.resolve_name("." * node.level + (node.module or ""), package)
            except ImportError:
                continue  # a line of a docstring
            inner = [f"{base}.{alias.name}" for alias in node.names]
            names += inner if all(item in sys.modules for item in inner) else [*inner, base]
    inside = {PACKAGE, own, ""}
    return tuple(
        dict.fromkeys(
            item if item in sys.modules else top
            for item in names
            if item in sys.modules or (top := item.partition(".")[0]) not in inside
        )
    )


def _import_statements(source: str) -> Iterator[ast.Import | ast.ImportFrom]:
    """All import statements. Lines that only look like one do no harm; parsing a whole file takes
    fifty times as long."""
    for text in IMPORT.findall(source):
        try:
            tree = ast.parse(text.strip())
        except SyntaxError:
            if "(" not in text and "\\" not in text:
                continue  # a sentence of a docstring
            tree = ast.parse(source)
        for node in ast.walk(tree):
            if isinstance(node, ast.Import | ast.ImportFrom):
                yield node


def package_content() -> str | None:
    contents = [
        (path.relative_to(ROOT).as_posix(), _content(str(path)))
        for path in sorted(ROOT.rglob("*.py"))
    ]
    return (
        None
        if any(content is None for _, content in contents)
        else hashlib.sha256(repr(contents).encode()).hexdigest()
    )


def _content(path: str | None) -> str | None:
    """Hash of a file; None where there is none, or where it was changed since, so that this process
    may run an older one."""
    if path is None:
        return None
    status = os.stat(path)
    changed = max(status.st_mtime, status.st_ctime) > STARTED
    return None if changed else _hash(path, status.st_mtime_ns, status.st_size)


@functools.cache
def _hash(path: str, modified: int, size: int) -> str:
    return hashlib.sha256(pathlib.Path(path).read_bytes()).hexdigest()
