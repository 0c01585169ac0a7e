"""Files that appear at once or not at all, tables for notebooks, and the digits of numbers in
them."""

import contextlib
import html
import json
import math
import os
import pathlib
import tempfile
import time
import zlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, BinaryIO

import numpy as np
import safetensors.numpy

DOCUMENT, CHECKSUM = "document", "checksum"
DAY = 24 * 3600.0


@contextlib.contextmanager
def atomically(
    path: pathlib.Path, *, once: bool = False, private: bool = False
) -> Iterator[BinaryIO]:
    """A file that appears under its name only when all of it is on disk. once: a file that has this
    name by then stays as it is. private: nobody but its owner may read it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
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
    """Give a file its name if no other has it, also where several machines try at once on a shared
    folder."""
    try:
        os.link(temporary, path)
    except FileExistsError:
        pass
    except OSError:  # no hard links here: the last of those who write at the same moment stays
        os.replace(temporary, path)
        return
    os.unlink(temporary)


def remove_leftovers(folder: pathlib.Path) -> None:
    """Remove what writers that were killed left behind a day ago; a younger file may be one that is
    being written."""
    for path in folder.glob(".*.????????"):
        with contextlib.suppress(FileNotFoundError):  # another driver removes them too
            if time.time() - path.stat().st_mtime > DAY:
                path.unlink()


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
    write_bytes(path, (json.dumps(data, indent=1, default=plain) + "\n").encode(), once=once)


def arrays_to_bytes(document: bytes, arrays: Mapping[str, np.ndarray]) -> bytes:
    """A document and arrays of numbers as safetensors, with a checksum of them all; no pickle.

    The document is an array of bytes, since safetensors' own header ends at 100 MB.
    """
    # Arrays whose rows lie apart would be written as their memory lies.
    tensors = {name: np.asarray(array, order="C") for name, array in arrays.items()}
    tensors[DOCUMENT] = np.frombuffer(document, np.uint8)
    return safetensors.numpy.save(tensors | {CHECKSUM: _checksum(tensors)})


def read_arrays(data: bytes) -> tuple[bytes, dict[str, np.ndarray]]:
    """Document and arrays of what `arrays_to_bytes` wrote. What it raises for anything else is of
    many kinds."""
    arrays = safetensors.numpy.load(data)
    if arrays.pop(CHECKSUM).tobytes() != _checksum(arrays).tobytes():
        raise ValueError("the checksum is not that of the contents.")
    return arrays.pop(DOCUMENT).tobytes(), arrays


def _checksum(arrays: Mapping[str, np.ndarray]) -> np.ndarray:
    total = 0
    for name, array in sorted(arrays.items()):
        total = zlib.crc32(f"{name} {array.dtype} {array.shape}".encode(), total)
        total = zlib.crc32(array.tobytes(), total)
    return np.array(total, np.uint32)


def plain(item: object) -> Any:
    """Data as JSON has it: dicts, lists, numbers, text; None in place of numbers that are not
    finite."""
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


def table(
    title: str, headers: Sequence[str], rows: Sequence[Sequence[object]], note: str = ""
) -> str:
    """HTML of a table under its title, of which the first line is bold; without headers only the
    title. note: a sentence below. All text is escaped."""
    above = "<p><b>{}</b>{}{}</p>".format(*html.escape(title).partition("\n"))
    head = "".join(f"<th>{html.escape(text)}</th>" for text in headers)
    body = "".join(
        "<tr>" + "".join(f"<td>{html.escape(cell(value))}</td>" for value in row) + "</tr>"
        for row in rows
    )
    return (
        above.replace("\n", "<br>")
        + f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>" * bool(headers)
        + f"<p>{html.escape(note)}</p>" * bool(note)
    )


# How many digits a number deserves: two of its standard error, and the number to the same place.


def standard_error(values: np.ndarray) -> np.ndarray:
    """Standard error of the mean over the first axis; infinite for a single value."""
    n = values.shape[0]
    return (
        np.std(values, axis=0, ddof=1) / math.sqrt(n)
        if n > 1
        else np.full(values.shape[1:], np.inf)
    )


SIGNIFICANT_DIGITS = 5  # significant digits of a number whose error is 0 or not known


def place(error: float) -> int | None:
    """Decimal places of a number with this standard error, negative to the left of the point; None
    where the error says nothing."""
    if not math.isfinite(error) or error <= 0.0:
        return None
    decimals = 1 - math.floor(math.log10(error))
    return (
        decimals - 1 if round(error * 10.0**decimals) >= 100 else decimals
    )  # 0.0996 has the digits of 0.10


def rounded_number(value: float, error: float, *, sign: bool = False) -> str:
    """A number to the place that its standard error sets, thousands apart; sign: with + too."""
    plus = "+" if sign else ""
    if not math.isfinite(value):
        return f"{value:{plus}g}"
    decimals = place(error)
    if decimals is None:
        if float(value).is_integer() and abs(value) < 1e15:
            return f"{value:{plus},.0f}"
        if abs(value) < 1e-4:
            return f"{value:{plus}.3g}"
        shown = max(1, SIGNIFICANT_DIGITS - 1 - math.floor(math.log10(abs(value))))
        return f"{value:{plus},.{shown}f}".rstrip("0").rstrip(".")
    text = f"{round(value, decimals):{plus},.{max(decimals, 0)}f}"
    return (
        text.replace("-", "", 1)
        if text.startswith("-") and not any(c in "123456789" for c in text)
        else text
    )


def with_error(value: float, error: float, *, sign: bool = False) -> str:
    """A number and its standard error, such as 12.3 ± 1.4; the number alone where there is no
    error."""
    number = rounded_number(value, error, sign=sign)
    return f"{number} ± {rounded_number(error, error)}" if place(error) is not None else number


def interval(low: float, high: float) -> str:
    """Bounds to about three digits of their distance, such as [0.12, 0.34]; none where there are
    none."""
    if low != low or high != high:
        return "none"
    width = (high - low) / 30.0
    return f"[{rounded_number(low, width)}, {rounded_number(high, width)}]"
