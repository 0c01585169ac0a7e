"""Draws that the worlds of several papers are made of."""

import numpy as np


def generator(seed: int, *key: int) -> np.random.Generator:
    """Random numbers for the worlds of a figure; key: tells them apart from those of other figures with the same seed."""
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=key))


def unit_vector(rng: np.random.Generator, d: int) -> np.ndarray:
    """A vector spread evenly over the unit sphere."""
    vector = rng.standard_normal(d)
    return np.asarray(vector / np.linalg.norm(vector))
