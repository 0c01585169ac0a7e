"""Small problems of every kind, and every policy on each kind that it accepts."""

import itertools
from typing import Any

import numpy as np

import tightrope as tr
from tightrope.matching import accepts, offers
from tightrope.registry import examples, label
from tightrope.verbs import arms


def unit_rows(rng: np.random.Generator, K: int, d: int) -> np.ndarray:
    rows = rng.normal(size=(K, d))
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def problems() -> dict[str, Any]:
    """Name -> problem; which policies fit is found by itself."""
    rng = np.random.default_rng(7)
    theta = unit_rows(rng, 1, 3)[0]
    return {
        "bernoulli": tr.problems.Bernoulli([0.3, 0.5, 0.45, 0.7, 0.2]),
        "linear": tr.problems.Linear(unit_rows(rng, 6, 3), theta, noise=0.3),
        "linear, K < d": tr.problems.Linear(unit_rows(rng, 3, 5), unit_rows(rng, 1, 5)[0], noise=0.3),
        "lipschitz": tr.problems.Lipschitz(np.array([0.0, 0.1, 0.35, 0.5, 0.8, 1.0]), [0.3, 0.4, 0.6, 0.75, 0.5, 0.35], lipschitz=1.0),
        "lipschitz, contexts": tr.problems.ContextualLipschitz([0.0, 0.5], [0.0, 0.4, 1.0], [[0.8, 0.6, 0.3], [0.6, 0.7, 0.5]], 0.5),
        "contextual": tr.problems.ContextualLinear(theta, arms=4, noise=0.3),
        "sets": tr.problems.SemiBandit(unit_rows(rng, 12, 3), theta, tr.oracles.TopK(3), noise=0.3),
        "sets, contexts": tr.problems.SemiBandit(unit_rows(rng, 12, 3), theta, tr.oracles.TopK(3), rewards="sign", shown=8),
        "promotions": tr.problems.Promotions(unit_rows(rng, 9, 3), rng.integers(0, 5, (9, 2)), k=2, shown=7),
    }


def fits(policy: Any, problem: Any) -> bool:
    return bool(set(offers(arms(problem))) & set(accepts(policy)))


def session_for(policy: Any, problem: Any, seed: int, horizon: int) -> tr.Session:
    """A session on the arms of a problem."""
    a = arms(problem)
    given = (
        {"points": a.points}
        if a.points is not None
        else {"distances": a.distances}
        if a.distances is not None
        else {"arms": a.rows if a.features is None else a.features}
    )
    if a.features is None and a.dimension:
        given["dimension"] = a.dimension
    return tr.Session(policy, **given, oracle=a.oracle, horizon=horizon, seed=seed)


def pairs() -> list[Any]:
    """(policy, problem) for every example and every kind of arms it accepts; independent arms where it offers no more."""
    import pytest

    found = []
    for policy, (name, problem) in itertools.product(examples().values(), problems().items()):
        if fits(policy, problem) and (name == "bernoulli" or accepts(policy) != ("arms",)):
            found.append(pytest.param(policy, problem, id=f"{label(policy)} on {name}"))
    return found
