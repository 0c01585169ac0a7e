"""The paper's algorithms with its grids, and how the best of a grid is chosen."""

import itertools
import math
from collections.abc import Callable
from typing import Literal

import numpy as np

from ... import policies
from ...core.policy import Policy

GRID = (0.01, 0.1, 1.0, 10.0, 100.0)
ARM_WISE = ("PC2UCB", "arm-wise TS")
BASELINES = ("greedy", "CombLinUCB", "CombLinTS", "C2UCB", "round-wise TS")
PAIRS = {"PC2UCB": "C2UCB", "arm-wise TS": "round-wise TS"}  # what each arm-wise algorithm is without the technique
NAMES = ("greedy", "CombLinUCB", "CombLinTS", "C2UCB", "PC2UCB", "round-wise TS", "arm-wise TS")


def grid(
    name: str, values: tuple[float, ...], ties: Literal["index", "random"] = "index", c: tuple[float, ...] | None = None
) -> list[Policy]:
    """All settings of one algorithm that differ. c: CombLinUCB's third grid, default the same values."""
    p = policies
    pairs = list(itertools.product(values, values))
    grids: dict[str, Callable[[], list[Policy]]] = {
        "greedy": lambda: [p.CombGreedy(lam=a, ties=ties) for a in values],
        "CombLinUCB": lambda: differing_settings(
            [p.CombLinUCB(prior_scale=a**0.5, noise=b**0.5, c=width, ties=ties) for a, b in pairs for width in (values if c is None else c)]
        ),
        "CombLinTS": lambda: [p.CombLinTS(prior_scale=a**0.5, noise=b**0.5, ties=ties) for a, b in pairs],
        "C2UCB": lambda: [p.C2UCB(lam=a, alpha=b, ties=ties) for a, b in pairs],
        "PC2UCB": lambda: [p.PC2UCB(lam=a, alpha=b, ties=ties) for a, b in pairs],
        "round-wise TS": lambda: [p.CombTS(lam=a, v=b, ties=ties) for a, b in pairs],
        "arm-wise TS": lambda: [p.CombTS(lam=a, v=b, randomization="arm", ties=ties) for a, b in pairs],
    }
    return grids[name]()


def differing_settings(settings: list[policies.CombLinUCB]) -> list[Policy]:
    """Those without the ones that choose as an earlier one does: they are C2UCB with lam = noise^2 / prior_scale^2 and alpha = c noise."""
    distinct: dict[tuple[float, float], Policy] = {}
    for setting in settings:
        decades = math.log10(setting.noise / setting.prior_scale), math.log10(setting.c * setting.noise)
        distinct.setdefault((round(decades[0], 6), round(decades[1], 6)), setting)
    return list(distinct.values())


def best(values: np.ndarray) -> int:
    """Row of (settings, trials) with the largest mean: the paper's choice."""
    return int(values.mean(axis=1).argmax())


def share_of(first: np.ndarray, second: np.ndarray) -> float:
    return float((first - second).mean() / second.mean())
