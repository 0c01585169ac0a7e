"""Random streams: one generator per (replication, role), so that nothing depends on workers, order
or the other policies."""

from typing import Any

import numpy as np

from ..compiled.kernels import jit
from .types import JsonObject

PROBLEM, NOISE, POLICY, AUDIT, DELAY, MODE = range(6)
WORD = 2**32 - 1
# (source, target): four words fill the pool, each is mixed into the other three, the rest into all
STEPS = np.array(
    [(k, k) for k in range(4)]
    + [(k, j) for k in range(4) for j in range(4) if j != k]
    + [(k, j) for k in (4, 5) for j in range(4)]
)
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
    words = seed_words(seed, replication, role)
    return np.random.Generator(np.random.PCG64(_Seeded(words)))  # type: ignore[arg-type]


class _Seeded(np.random.bit_generator.ISeedSequence):
    def __init__(self, words: np.ndarray) -> None:
        self.words = words

    def generate_state(self, n_words: int, dtype: object = np.uint64) -> np.ndarray:
        return self.words


@jit
def seed_words(seed, replication, role):  # type: ignore[no-untyped-def]
    """What `SeedSequence(seed, spawn_key=(replication, role)).generate_state(4, np.uint64)` gives
    for numbers of 32 bits, in a fifth of its time."""
    entropy = (seed, 0, 0, 0, replication, role)
    pool = np.zeros(4, dtype=np.int64)
    factor = 0x43B0D7E5
    for step in range(24):
        source, target = STEPS[step]
        value = (int(pool[source]) if 4 <= step < 16 else entropy[source]) ^ factor
        factor = factor * 0x931E8875 & WORD
        value = value * factor & WORD
        value ^= value >> 16
        if step >= 4:
            value = 0xCA01F9DD * int(pool[target]) - 0x4973F715 * value & WORD
            value ^= value >> 16
        pool[target] = value
    words = np.zeros(4, dtype=np.uint64)
    factor = 0x8B51F9DD
    for k in range(8):
        value = int(pool[k % 4]) ^ factor
        factor = factor * 0x58F38DED & WORD
        value = value * factor & WORD
        value ^= value >> 16
        words[k // 2] |= np.uint64(value) << np.uint64(32 * (k % 2))
    return words


def pack(generator: np.random.Generator) -> JsonObject:
    return dict(generator.bit_generator.state)


def same(first: object, second: object) -> bool:
    """Whether two states of a generator are the same, so that nothing was drawn in between."""
    if isinstance(first, dict) and isinstance(second, dict):
        return first.keys() == second.keys() and all(same(first[key], second[key]) for key in first)
    if isinstance(first, np.ndarray):
        return np.array_equal(first, second)  # type: ignore[arg-type]
    return bool(first == second)


def unpack(state: Any) -> np.random.Generator:
    """The generator that `pack` described; it continues with the same numbers. ValueError for
    anything but one of GENERATORS."""
    name = state.get("bit_generator") if isinstance(state, dict) else None
    if not isinstance(name, str) or name not in GENERATORS:
        raise ValueError(f"bit_generator = {name!r} is not one of {', '.join(GENERATORS)}.")
    bits, fault = GENERATORS[name](0), "it would go on from another one"
    try:
        bits.state = state
        if (
            same(bits.state, state)
            # places in the arrays of Philox and MT19937, which NumPy does not check
            and 0 <= state.get("buffer_pos", 0) <= 4
            and 0 <= state["state"].get("pos", 0) <= 624
        ):
            return np.random.Generator(bits)
    except (ValueError, TypeError, OverflowError, LookupError) as error:
        fault = str(error)
    raise ValueError(f"the state of {name} is not one that it can have ({fault}).")
