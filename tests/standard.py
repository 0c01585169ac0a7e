"""Every policy on each kind of small problem that it accepts, and which of these pairs `make test`
compiles."""

from typing import Any

import pytest

from tiers import thorough
from tightrope.core.policy import accepts, label
from tightrope.numerics.posterior import unit_rows
from tightrope.policies import examples
from tightrope.testing import (
    fits,
    session_on as session_for,
    standard_problems as problems,
    stands_for,
)

__all__ = [
    "COSTLY",
    "KINDS",
    "all_pairs",
    "fits",
    "is_quick",
    "pairs",
    "problems",
    "quick_pairs",
    "session_for",
    "stands_for",
    "unit_rows",
]

# of problems by name; within a kind the first that a policy accepts is the one of its quick pairs
KINDS = {
    "bernoulli": "fixed",
    "linear": "fixed",
    "linear, K < d": "fixed",
    "lipschitz": "fixed",
    "contextual": "contexts",
    "lipschitz, contexts": "contexts",
    "clicks": "fixed",
    "clicks, contexts": "contexts",
    "sets": "sets",
    "cascade": "sets",
    "sets, contexts": "sets",
    "promotions": "sets",
}
COSTLY = {  # by kind of problems: 5 to 31 s to compile
    "contexts": {
        "Safe",
        "Conservative",
        "LinEpsilonGreedy",
        "LinMED",
        "SoftUCB",
        "SquareCB",
        "Explore",
        "OSLB",
        "TrackCKLUCB",
    },
    "fixed": {"FrankWolfeSampling", "LinGame", "P1RAGE"},
}
WITHOUT_CONTEXTS = (
    "model='independent'"  # plays contexts as if there were none, by the kernels of fixed arms
)


def all_pairs() -> dict[str, tuple[Any, Any, str]]:
    """(policy, problem, name of the problem) for every example and every kind of arms it accepts;
    independent arms where it offers no more."""
    found = {}
    for name, problem in problems().items():
        for policy in examples(problem).values():
            if stands_for(policy, name, problem) and (
                name == "bernoulli" or accepts(policy) != ("arms",)
            ):
                found[f"{label(policy)} on {name}"] = policy, problem, name
    return found


def quick_pairs(given: dict[str, tuple[Any, Any, str]]) -> set[str]:
    """Of every class of policies and every kind of problems that it accepts: its first example on
    the first of these problems.

    Not so the COSTLY: of their code what is peculiar to contexts is the prediction, which LinUCB
    and LinTS have as well, and CKLUCB; those on fixed arms are compiled for sessions by the tests
    of their twins.
    """
    order = list(KINDS)
    quick: dict[tuple[str, str], str] = {}
    for id, (policy, _, name) in sorted(given.items(), key=lambda item: order.index(item[1][2])):
        cls, kind = type(policy).__name__, KINDS[name]
        if cls not in COSTLY.get(kind, ()) and (kind == "fixed" or WITHOUT_CONTEXTS not in id):
            quick.setdefault((cls, kind), id)
    return set(quick.values())


def pairs() -> list[Any]:
    """All (policy, problem) as cases of a test; thorough but for `quick_pairs`."""
    given = all_pairs()
    quick = quick_pairs(given)
    return [
        pytest.param(policy, problem, id=id, marks=() if id in quick else thorough)
        for id, (policy, problem, _) in given.items()
    ]


def is_quick(case: Any) -> bool:
    """Whether `make test` runs a case of `pytest.param`."""
    return thorough.mark not in [getattr(mark, "mark", mark) for mark in case.marks]
