"""Every policy on each kind of small problem that it accepts."""

from typing import Any

from tightrope.matching import accepts
from tightrope.policies import examples
from tightrope.registry import label
from tightrope.testing import fits, unit_rows
from tightrope.testing import session_on as session_for
from tightrope.testing import standard_problems as problems

__all__ = ["fits", "pairs", "problems", "session_for", "unit_rows"]


def pairs() -> list[Any]:
    """(policy, problem) for every example and every kind of arms it accepts; independent arms where it offers no more."""
    import pytest

    found = []
    for name, problem in problems().items():
        for policy in examples(problem).values():
            if fits(policy, problem) and (name == "bernoulli" or accepts(policy) != ("arms",)):
                found.append(pytest.param(policy, problem, id=f"{label(policy)} on {name}"))
    return found
