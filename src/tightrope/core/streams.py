"""Random streams: one generator per (replication, role), so that nothing depends on workers, order
or the other policies."""

from collections.abc import Mapping
from typing import Any, TypeGuard

import numpy as np

from .types import JsonObject

PROBLEM, NOISE, POLICY, AUDIT, DELAY, MODE = range(6)
WORD = 2**32 - 1
GENERATORS: dict[str, type[np.random.BitGenerator]] = {
    cls.__name__: cls
    for cls in (
        np.random.PCG64,
        np.random.PCG64DXSM,
        np.random.Philox,
        np.random.SFC64,
        np.random.MT19937,
    )
}  # those a file may name


def stream(seed: int, replication: int, role: int) -> np.random.Generator:
    """The generator of one role in one replication.

    `PROBLEM` draws contexts and `NOISE` draws rewards: every policy meets the same ones, which
    pairs the comparison.
    `POLICY` is the policy's own randomness. `AUDIT` serves `explain`'s Monte Carlo and never
    touches a decision. `DELAY` says how late rewards come, so that a delay changes no other draw.
    `MODE` is the coin of a rollout: the policy's choice or the baseline's.
    """
    if seed > WORD or replication > WORD:
        return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(replication, role)))
    words = np.array(
        [seed, 0, 0, 0, replication, role], dtype=np.uint32
    )  # what that makes of its arguments, in a third of its time
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence(words)))


def pack(generator: np.random.Generator) -> JsonObject:
    return dict(generator.bit_generator.state)


def same(first: Mapping[str, Any], second: Mapping[str, Any]) -> bool:
    """Whether two states of a generator are the same, so that nothing was drawn in between."""
    try:
        return bool(first == second)
    except ValueError:  # an array among them has no single answer
        pass
    for key, value in first.items():
        other = second[key]
        if isinstance(value, dict):
            if not same(value, other):
                return False
        elif isinstance(value, np.ndarray):
            if not np.array_equal(value, other):
                return False
        elif value != other:
            return False
    return True


def unpack(state: object) -> np.random.Generator:
    """The generator that `pack` described; it continues with the same numbers. ValueError for
    anything but one of GENERATORS."""
    name = state.get("bit_generator") if isinstance(state, dict) else None
    if not isinstance(name, str) or name not in GENERATORS:
        raise ValueError(f"bit_generator = {name!r} is not one of {', '.join(GENERATORS)}.")
    bits = GENERATORS[name](0)
    try:
        bits.state = _like(bits.state, state, name)
    except (ValueError, TypeError, OverflowError, KeyError) as error:
        raise ValueError(f"the state of {name} is not one that it can have ({error}).") from None
    return np.random.Generator(bits)


def _like(template: object, value: object, where: str) -> Any:
    """A value of a generator's state, of the template's keys, types and shapes."""
    if isinstance(template, dict):
        if not isinstance(value, dict) or value.keys() != template.keys():
            raise ValueError(f"{where} must have {', '.join(template)}")
        return {key: _like(template[key], value[key], f"{where}.{key}") for key in template}
    if isinstance(template, np.ndarray):
        if (
            not isinstance(value, (list, np.ndarray))
            or len(value) != template.size
            or not all(_whole(item) for item in value)
        ):
            raise ValueError(f"{where} must be {template.size} whole numbers")
        return np.array(value, dtype=template.dtype)
    if isinstance(template, str):
        if value != template:
            raise ValueError(f"{where} must be {template!r}")
        return template
    if not _whole(value):
        raise ValueError(f"{where} must be a whole number from 0")
    return int(value)


def _whole(value: object) -> TypeGuard[int]:
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool) and bool(value >= 0)
