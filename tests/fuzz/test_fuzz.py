"""Random calls, right and wrong: 2,000 of each kind here, more by `pytest tests/fuzz
--fuzz-cases=100000 --fuzz-seed=1`."""

import os
import pathlib
import subprocess
import sys

import pytest

from fuzz.values import draw

CASES = pathlib.Path(__file__).parent / "cases.py"


@pytest.mark.parametrize("kind", ["constructors", "sessions", "runs"])
def test_every_call_succeeds_or_is_refused_with_a_sentence(kind, request):
    """In a process of its own, so that a crash of the interpreter is a failure too; interpreted
    unless --fuzz-compiled is given."""
    count, seed = request.config.getoption("--fuzz-cases"), request.config.getoption("--fuzz-seed")
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    if not request.config.getoption("--fuzz-compiled"):
        environment["NUMBA_DISABLE_JIT"] = "1"
    words = [sys.executable, "-X", "faulthandler", str(CASES), kind, str(count), str(seed)]
    done = subprocess.run(words, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"exit code {done.returncode}: {done.stderr[-3000:]}"


def test_the_values_are_of_every_kind(rng):
    """Each value that an issue was ever opened for is among those drawn."""
    kinds = {type(draw(rng)).__name__ for _ in range(5000)}
    assert {
        "Hostile",
        "BadFloat",
        "list",
        "ndarray",
        "bool",
        "complex128",
        "Decimal",
        "generator",
        "type",
        "NoneType",
    } <= kinds
