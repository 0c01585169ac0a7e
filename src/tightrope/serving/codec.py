"""States and oracles as plain data and arrays, and back: what a session file holds."""

import dataclasses
from typing import Any

import numpy as np

from ..solvers import oracles


def is_data(value: Any) -> bool:
    """Whether a field is an array or a number; anything else (None, what `init` was told) is made again, not stored."""
    return isinstance(value, np.ndarray | np.generic | int | float)


def flatten(state: Any, prefix: str = "state") -> dict[str, np.ndarray]:
    """Every array and number of a nested NamedTuple, by its path."""
    flat: dict[str, np.ndarray] = {}
    for name, value in zip(state._fields, state, strict=True):
        path = f"{prefix}.{name}"
        if hasattr(value, "_fields"):
            flat |= flatten(value, path)
        elif is_data(value):
            flat[path] = np.asarray(value)
    return flat


def restore(template: Any, flat: dict[str, np.ndarray], prefix: str = "state") -> Any:
    """A state of the template's classes with the stored values. Raises ValueError where the file does not fit."""
    values = []
    for name, value in zip(template._fields, template, strict=True):
        path = f"{prefix}.{name}"
        if hasattr(value, "_fields"):
            values.append(restore(value, flat, path))
        elif not is_data(value):
            values.append(value)
        elif path not in flat:
            raise ValueError(f"the file has no {path}; it was not written by this policy.")
        elif isinstance(value, np.ndarray):
            stored = flat[path]
            if stored.dtype != value.dtype or stored.ndim != value.ndim:
                raise ValueError(
                    f"{path} in the file is {stored.dtype} with {stored.ndim} axes, but must be {value.dtype} with {value.ndim}."
                )
            values.append(stored.copy().view(type(value)))  # a record array is stored as the plain one it is made of
        else:
            values.append(type(value)(flat[path].item()))
    return type(template)(*values)


def describe_oracle(oracle: Any) -> tuple[Any, dict[str, np.ndarray]]:
    """One of `tightrope.oracles` as JSON-ready data and arrays; of any other callable only how it shows itself."""
    name = type(oracle).__name__
    if getattr(oracles, name, None) is not type(oracle):
        return repr(oracle), {}
    plain: dict[str, Any] = {"oracle": name}
    arrays = {}
    for field in dataclasses.fields(oracle):
        value = getattr(oracle, field.name)
        if isinstance(value, int | float):
            plain[field.name] = value
        elif isinstance(value, dict):
            plain[field.name] = [list(pair) for pair in value.items()]
        elif isinstance(value, np.ndarray) and value.dtype.kind != "O":
            arrays[f"oracle.{field.name}"] = value
        else:
            return repr(oracle), {}
    return plain, arrays


def build_oracle(plain: dict[str, Any], arrays: dict[str, np.ndarray]) -> Any:
    """The oracle that `describe_oracle` wrote down."""
    given = {name: dict(value) if isinstance(value, list) else value for name, value in plain.items() if name != "oracle"}
    stored = {name.removeprefix("oracle."): value for name, value in arrays.items() if name.startswith("oracle.")}
    return getattr(oracles, plain["oracle"])(**given, **stored)


def same_oracle(oracle: Any, plain: Any, arrays: dict[str, np.ndarray]) -> bool:
    """Whether an oracle is the one that `describe_oracle` wrote down; code of one's own is taken at its word."""
    if not callable(oracle) or plain is None:
        return False
    if isinstance(plain, str):
        return getattr(oracles, type(oracle).__name__, None) is not type(oracle) or repr(oracle) == plain
    now, more = describe_oracle(oracle)
    stored = {name: value for name, value in arrays.items() if name.startswith("oracle.")}
    return now == plain and more.keys() == stored.keys() and all(np.array_equal(more[name], stored[name]) for name in more)
