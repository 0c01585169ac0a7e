"""States and oracles as plain data and arrays, and back: what a session file holds."""

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np

from ..core import checks
from ..core.policy import Policy
from ..core.types import JsonObject, Oracle, State
from ..core.verbs import Arms
from ..solvers import oracles
from .soundness import check_array, check_rewards, policy_of


def is_data(value: object) -> bool:
    """Whether a field is an array or a number; anything else (None, what `init` was told) is made
    again, not stored."""
    return isinstance(value, np.ndarray | np.generic | int | float)


def flatten(state: State, prefix: str = "state") -> dict[str, np.ndarray]:
    flat: dict[str, np.ndarray] = {}
    for name, value in zip(state._fields, state, strict=True):
        path = f"{prefix}.{name}"
        if hasattr(value, "_fields"):
            flat |= flatten(value, path)
        elif is_data(value):
            flat[path] = np.asarray(value)
            if flat[path].dtype.hasobject:
                raise ValueError(
                    f"{path} holds {checks.show(value.flat[0])}, an object of your own, which no "
                    "session file can hold."
                )
    return flat


def restore(
    template: State,
    flat: dict[str, np.ndarray],
    policy: Policy,
    arms: Arms,
    *,
    prefix: str = "state",
) -> State:
    """A state of the template's classes with the stored numbers. Raises ValueError where the file
    does not fit or they cannot be right."""
    values: list[object] = []
    for name, value in zip(template._fields, template, strict=True):
        path = f"{prefix}.{name}"
        if hasattr(value, "_fields"):
            values.append(
                restore(value, flat, policy_of(template, name, policy), arms, prefix=path)
            )
        elif not is_data(value):
            values.append(value)
        elif path not in flat:
            raise ValueError(
                f"the file has no {path}; it was not written by this policy in this version."
            )
        elif isinstance(value, np.ndarray):
            stored = flat[path]
            if stored.dtype != value.dtype or stored.shape != value.shape:
                raise ValueError(
                    f"{path} in the file is {stored.dtype} of shape {stored.shape}, but must be "
                    f"{value.dtype} of shape {value.shape}."
                )
            check_array(template, name, path, stored, value, policy, arms)
            # of the template's memory layout, class and alignment, by which kernels were compiled
            array = value.copy()
            array[...] = stored
            values.append(array)
        else:
            if not same_number(flat[path], np.asarray(value)):
                raise ValueError(
                    f"{path} = {checks.show(flat[path])} is not the {value!r} of this policy and "
                    "these arms."
                )
            values.append(value)
    state = type(template)(*values)
    check_rewards(state, prefix, policy)
    return state


def split_records(flat: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Arrays of plain numbers: of records each field by itself, as `name.field`."""
    plain: dict[str, np.ndarray] = {}
    for path, value in flat.items():
        plain |= (
            {f"{path}.{part}": value[part] for part in value.dtype.names}
            if value.dtype.names
            else {path: value}
        )
    return plain


def with_records(
    plain: dict[str, np.ndarray], template: dict[str, np.ndarray]
) -> dict[str, np.ndarray]:
    """Such arrays with the records of a template; a field of another type or shape shows when it is
    written again."""
    flat = dict(plain)
    for path, value in template.items():
        if value.dtype.names:
            flat[path] = np.empty_like(value)
            for part in value.dtype.names:
                flat[path][part] = plain[f"{path}.{part}"]
    return flat


def same_number(stored: np.ndarray, known: np.ndarray) -> bool:
    if stored.dtype != known.dtype or stored.shape != known.shape:
        return False
    return stored.tobytes() == known.tobytes() or (
        known.dtype.kind == "f" and bool(np.isnan(stored) & np.isnan(known))
    )


def describe_oracle(oracle: Any) -> tuple[dict[str, object] | str, dict[str, np.ndarray]]:
    """One of `tightrope.oracles` as JSON-ready data and arrays; of any other callable only how it
    shows itself."""
    name = type(oracle).__name__
    if ORACLES.get(name) is not type(oracle):
        return repr(oracle), {}
    plain: dict[str, object] = {"oracle": name}
    arrays = {}
    for field in dataclasses.fields(oracle):
        value = getattr(oracle, field.name)
        if isinstance(value, int | float) or (
            isinstance(value, tuple) and all(isinstance(item, int) for item in value)
        ):
            plain[field.name] = list(value) if isinstance(value, tuple) else value
        elif isinstance(value, dict):
            plain[field.name] = [list(pair) for pair in value.items()]
        elif isinstance(value, np.ndarray) and value.dtype.kind == "U":
            plain[field.name] = value.tolist()
        elif isinstance(value, np.ndarray) and value.dtype.kind in "biuf":
            arrays[f"oracle.{field.name}"] = value
        else:
            return repr(oracle), {}
    return plain, arrays


ORACLES: JsonObject = {
    cls.__name__: cls
    for cls in (oracles.TopK, oracles.Partition, oracles.Knapsack, oracles.Promotions)
}


def build_oracle(plain: Mapping[str, Any], arrays: dict[str, np.ndarray]) -> Oracle:
    cls = ORACLES.get(plain["oracle"]) if isinstance(plain.get("oracle"), str) else None
    if cls is None:
        raise ValueError(f"oracle = {plain.get('oracle')!r} is not one of {', '.join(ORACLES)}.")
    parts = {
        name: dict(value)
        if isinstance(value, list) and all(isinstance(item, list) for item in value)
        else value
        for name, value in plain.items()
        if name != "oracle"
    }
    stored = {
        name.removeprefix("oracle."): value
        for name, value in arrays.items()
        if name.startswith("oracle.")
    }
    if {*parts, *stored} != {field.name for field in dataclasses.fields(cls)}:
        raise ValueError(
            f"{plain['oracle']} has {sorted({*parts, *stored})}, but takes "
            f"{[field.name for field in dataclasses.fields(cls)]}."
        )
    return cls(**parts, **stored)


def same_oracle(oracle: Oracle, plain: object, arrays: dict[str, np.ndarray]) -> bool:
    """Whether an oracle is the one that `describe_oracle` wrote down; code of one's own is taken at
    its word."""
    if not callable(oracle) or plain is None:
        return False
    if isinstance(plain, str):
        return type(oracle) not in ORACLES.values() or repr(oracle) == plain
    now, more = describe_oracle(oracle)
    stored = {name: value for name, value in arrays.items() if name.startswith("oracle.")}
    return (
        now == plain
        and more.keys() == stored.keys()
        and all(np.array_equal(more[name], stored[name]) for name in more)
    )
