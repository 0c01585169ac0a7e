"""The paper's algorithms with its grids, and how the best of a grid is chosen."""

import hashlib
import itertools
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ... import files, policies
from ..experiment import Run

GRID = (0.01, 0.1, 1.0, 10.0, 100.0)
ARM_WISE = ("PC2UCB", "arm-wise TS")
BASELINES = ("greedy", "CombLinUCB", "CombLinTS", "C2UCB", "round-wise TS")
NAMES = ("greedy", "CombLinUCB", "CombLinTS", "C2UCB", "PC2UCB", "round-wise TS", "arm-wise TS")


def grid(name: str, values: tuple[float, ...], ties: str = "index", c: tuple[float, ...] | None = None) -> list[Any]:
    """All settings of one algorithm. c: CombLinUCB's third grid, default the same values."""
    p: Any = policies
    pairs = list(itertools.product(values, values))
    made: dict[str, Callable[[], list[Any]]] = {
        "greedy": lambda: [p.CombGreedy(lam=a, ties=ties) for a in values],
        "CombLinUCB": lambda: [
            p.CombLinUCB(prior_scale=a**0.5, noise=b**0.5, c=width, ties=ties) for a, b in pairs for width in (values if c is None else c)
        ],
        "CombLinTS": lambda: [p.CombLinTS(prior_scale=a**0.5, noise=b**0.5, ties=ties) for a, b in pairs],
        "C2UCB": lambda: [p.C2UCB(lam=a, alpha=b, ties=ties) for a, b in pairs],
        "PC2UCB": lambda: [p.PC2UCB(lam=a, alpha=b, ties=ties) for a, b in pairs],
        "round-wise TS": lambda: [p.CombTS(lam=a, v=b, ties=ties) for a, b in pairs],
        "arm-wise TS": lambda: [p.CombTS(lam=a, v=b, randomization="arm", ties=ties) for a, b in pairs],
    }
    return made[name]()


def kept(run: Run, label: str, settings: dict[str, Any], make: Callable[[], dict[str, np.ndarray]]) -> dict[str, np.ndarray]:
    """Arrays of one cell of an experiment, found again if the same cell was finished before."""
    wanted = json.loads(json.dumps(settings | {"seed": run.seed}, default=str))
    key = hashlib.sha256(json.dumps(wanted, sort_keys=True).encode()).hexdigest()[:12]
    path = run.out / "cells" / f"{label}-{key}.npz"
    if path.exists():
        header, arrays = files.read_arrays(path)
        if header == wanted:
            return arrays
    arrays = make()
    files.write_arrays(path, wanted, arrays)
    return arrays


@dataclass(frozen=True)
class Gap:
    """A paired difference of two samples over the same trials."""

    mean: float
    se: float
    relative: float  # difference of the means as a share of the second

    @property
    def errors(self) -> float:
        """The difference in standard errors."""
        return self.mean / self.se if self.se > 0 else float(np.sign(self.mean)) * np.inf


def gap(first: np.ndarray, second: np.ndarray) -> Gap:
    """first - second, trial by trial."""
    difference = first - second
    se = float(difference.std(ddof=1) / np.sqrt(difference.size)) if difference.size > 1 else float("inf")
    return Gap(float(difference.mean()), se, float(difference.mean() / second.mean()))


def best(values: np.ndarray) -> int:
    """Row of (settings, trials) with the largest mean: the paper's choice."""
    return int(values.mean(axis=1).argmax())
