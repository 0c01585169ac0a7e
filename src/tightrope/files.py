"""Writing files so that a crash, a full disk or a second writer never leaves half of one."""

import contextlib
import json
import os
import pathlib
import tempfile
from collections.abc import Iterator
from typing import Any, BinaryIO

import numpy as np

JSON_KEY = "header"


@contextlib.contextmanager
def atomically(path: pathlib.Path) -> Iterator[BinaryIO]:
    """A file that appears under its name only when all of it is on disk."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, 0o644)
        os.replace(temporary, path)
        _keep_name(path.parent)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(temporary)
        raise


def _keep_name(folder: pathlib.Path) -> None:
    """Bring a folder's new entry to disk too, where the system lets folders be opened."""
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def write_text(path: pathlib.Path, text: str) -> None:
    """Write a text file whole or not at all."""
    with atomically(path) as file:
        file.write(text.encode())


def write_json(path: pathlib.Path, data: Any) -> None:
    """Write a JSON file whole or not at all."""
    write_text(path, json.dumps(data, indent=1, default=_plain) + "\n")


def write_arrays(path: pathlib.Path, header: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
    """A JSON header and arrays in one npz file; no pickle."""
    text = np.frombuffer(json.dumps(header, default=_plain).encode(), dtype=np.uint8)
    with atomically(path) as file:
        np.savez(file, **{JSON_KEY: text}, **arrays)  # type: ignore[arg-type]


def read_arrays(path: pathlib.Path) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """What `write_arrays` wrote."""
    with np.load(path, allow_pickle=False) as data:
        header = json.loads(data[JSON_KEY].tobytes())
        return header, {name: data[name] for name in data.files if name != JSON_KEY}


def _plain(value: Any) -> Any:
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray):
        return value.tolist()
    return str(value)
