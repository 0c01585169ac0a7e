"""Random streams: one generator per (replication, role), so that nothing depends on workers, order or the other policies."""

from typing import Any

import numpy as np

PROBLEM, NOISE, POLICY, AUDIT = range(4)


def stream(seed: int, replication: int, role: int) -> np.random.Generator:
    """The generator of one role in one replication.

    `PROBLEM` draws contexts and `NOISE` draws rewards: every policy meets the same ones, which pairs the comparison.
    `POLICY` is the policy's own randomness. `AUDIT` serves `explain`'s Monte Carlo and never touches a decision.
    """
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(replication, role)))


def pack(generator: np.random.Generator) -> dict[str, Any]:
    """State of a generator as JSON-ready data."""
    return dict(generator.bit_generator.state)


def unpack(state: dict[str, Any]) -> np.random.Generator:
    """The generator that `pack` described; it continues with the same numbers."""
    bits = getattr(np.random, state["bit_generator"])()
    bits.state = state
    return np.random.Generator(bits)
