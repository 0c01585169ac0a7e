"""Files that appear at once or not at all, and tables for notebooks."""

import contextlib
import html
import io
import json
import math
import os
import pathlib
import platform
import re
import struct
import tempfile
import time
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, BinaryIO

import numpy as np

from .types import JsonObject

JSON_KEY = "header"
DAY = 24 * 3600.0


@contextlib.contextmanager
def atomically(path: pathlib.Path, *, once: bool = False, private: bool = False) -> Iterator[BinaryIO]:
    """A file that appears under its name only when all of it is on disk. once: a file that has this name by then stays as it is. private:
    nobody but its owner may read it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.{_writer()}.")
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, 0o600 if private else 0o644)
        (_name_once if once else os.replace)(temporary, path)
        _keep_name(path.parent)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(temporary)
        raise


def _name_once(temporary: str, path: pathlib.Path) -> None:
    """Give a file its name if no other has it, also where several machines try at once on a shared folder."""
    try:
        os.link(temporary, path)
    except FileExistsError:
        pass
    except OSError:  # no hard links here: the last of those who write at the same moment stays
        os.replace(temporary, path)
        return
    os.unlink(temporary)


def remove_leftovers(folder: pathlib.Path) -> None:
    """Remove what writers that were killed left behind: of processes of this machine that are gone, and what is older than a day.

    A file of another machine that is younger may be one that is being written.
    """
    here = _writer().rpartition("-")[0]
    for path in folder.glob(".*.????????"):
        machine, _, process = path.name.rpartition(".")[0].rpartition(".")[2].rpartition("-")
        with contextlib.suppress(FileNotFoundError):  # another driver removes them too
            if (machine == here and process.isdigit() and not _lives(int(process))) or time.time() - path.stat().st_mtime > DAY:
                path.unlink()


def remove_older(folder: pathlib.Path, seconds: float) -> None:
    for path in folder.iterdir():
        with contextlib.suppress(FileNotFoundError):
            if time.time() - path.stat().st_mtime > seconds:
                path.unlink()


def _writer() -> str:
    return f"{re.sub(r'[^0-9A-Za-z]', '', platform.node())}-{os.getpid()}"


def _lives(process: int) -> bool:
    if os.name != "posix":  # a signal of number 0 would end it there
        return True
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


def _keep_name(folder: pathlib.Path) -> None:
    """Bring a folder's new entry to disk too, where the system lets folders be opened."""
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def write_bytes(path: pathlib.Path, data: bytes, *, once: bool = False) -> None:
    with atomically(path, once=once) as file:
        file.write(data)


def write_text(path: pathlib.Path, text: str) -> None:
    write_bytes(path, text.encode())


def write_json(path: pathlib.Path, data: object, *, once: bool = False) -> None:
    write_bytes(path, (json.dumps(data, indent=1, default=_plain) + "\n").encode(), once=once)


def write_arrays(path: pathlib.Path, header: Mapping[str, object], arrays: dict[str, np.ndarray]) -> None:
    """A JSON header and arrays in one npz file; no pickle."""
    with atomically(path) as file:
        _write_arrays(file, header, arrays)


def arrays_to_bytes(header: Mapping[str, object], arrays: dict[str, np.ndarray]) -> bytes:
    file = io.BytesIO()
    _write_arrays(file, header, arrays)
    return file.getvalue()


def _write_arrays(file: BinaryIO, header: Mapping[str, object], arrays: dict[str, np.ndarray]) -> None:
    text = np.frombuffer(json.dumps(header, default=_plain).encode(), dtype=np.uint8)
    np.savez(file, **{JSON_KEY: text}, **arrays)  # type: ignore[arg-type]


def read_arrays(source: pathlib.Path | bytes) -> tuple[JsonObject, dict[str, np.ndarray]]:
    """Header and arrays of what `write_arrays` wrote: a file, or its bytes. Raises ValueError for anything else.

    A file from a stranger takes no more memory than it has bytes.
    """
    size = len(source) if isinstance(source, bytes) else source.stat().st_size
    path = "data" if isinstance(source, bytes) else source
    try:
        with zipfile.ZipFile(io.BytesIO(source) if isinstance(source, bytes) else source) as archive:
            entries = archive.infolist()
            plain = all(entry.compress_type == zipfile.ZIP_STORED and entry.file_size == entry.compress_size for entry in entries)
            if not plain or sum(entry.file_size for entry in entries) > size or len({entry.filename for entry in entries}) < len(entries):
                raise ValueError("its parts are compressed, overlap or are there twice.")
            arrays = {entry.filename.removesuffix(".npy"): _read_array(archive.read(entry)) for entry in entries}
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError, EOFError, struct.error) as error:
        raise ValueError(f"{path} is not an archive of arrays: {error}") from None
    header = arrays.pop(JSON_KEY, None)
    if header is None or header.dtype != np.uint8 or header.ndim != 1:
        raise ValueError(f"{path} has no header.")
    return json.loads(header.tobytes()), arrays


def _read_array(data: bytes) -> np.ndarray:
    """An array of numbers, truth values or text in NumPy's own format; its shape must be that of the bytes that follow."""
    stream = io.BytesIO(data)
    version = np.lib.format.read_magic(stream)
    read = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}.get(version)
    if read is None:
        raise ValueError(f"arrays of version {version} are not read.")
    shape, by_columns, dtype = read(stream)
    count = math.prod(shape)
    if dtype.hasobject or dtype.itemsize == 0 or min(shape, default=0) < 0 or count * dtype.itemsize != len(data) - stream.tell():
        raise ValueError("an array is not as long as its header says, or holds objects.")
    flat = np.frombuffer(data, dtype=dtype, count=count, offset=stream.tell())
    return flat.reshape(shape, order="F" if by_columns else "C").copy(order="K")


def _plain(value: object) -> object:
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray):
        return value.tolist()
    return str(value)


def plain(item: object) -> Any:
    """Data as JSON has it: dicts, lists, numbers, text; None in place of numbers that are not finite."""
    if isinstance(item, Mapping):
        return {str(key): plain(value) for key, value in item.items()}
    if isinstance(item, np.ndarray | np.generic):
        item = item.tolist()
    if isinstance(item, list | tuple):
        return [plain(value) for value in item]
    if isinstance(item, float) and not math.isfinite(item):
        return None
    return item if isinstance(item, bool | int | float | str | None) else str(item)


# Objects in a notebook: a heading, a table, a note, as HTML.


def cell(value: object) -> str:
    """A number to four digits, anything else as text."""
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def table(title: str, headers: Sequence[str], rows: Sequence[Sequence[object]], note: str = "") -> str:
    """HTML of a table under its title; without headers only the title. note: a sentence below. All text is escaped."""
    parts = [f"<p><b>{html.escape(title)}</b></p>"]
    if headers:
        head = "".join(f"<th>{html.escape(text)}</th>" for text in headers)
        body = "".join("<tr>" + "".join(f"<td>{html.escape(cell(value))}</td>" for value in row) + "</tr>" for row in rows)
        parts.append(f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>")
    if note:
        parts.append(f"<p>{html.escape(note)}</p>")
    return "".join(parts)
