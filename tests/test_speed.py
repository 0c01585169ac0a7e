"""`make bench-check`: what is checked, and that it can fail."""

import json
import os
import pathlib
import subprocess
import sys

import pytest

from tiers import thorough
from tightrope.core.registry import check_fit
from tightrope.core.verbs import describe, init
from tightrope.policies import examples
from tightrope.simulation.store import machine

BENCHMARKS = pathlib.Path(__file__).parent.parent / "benchmarks"
sys.path.insert(0, str(BENCHMARKS))
from speed import CHECKED, cases, checked_cases  # noqa: E402

BASELINE = BENCHMARKS / "baseline.json"
ONE = "EpsilonGreedy on Bernoulli K=10"


def test_twenty_kernels_of_every_family_are_checked_against_stored_speeds():
    keys = [key for key, *_ in checked_cases()]
    families = {type(policy).__module__.split(".")[2] for _, policy, _, _ in checked_cases()}
    assert len(set(keys)) == len(CHECKED) == 20
    assert {
        "classic",
        "linear",
        "softucb",
        "conservative",
        "identification",
        "semibandits",
        "lipschitz",
    } <= families
    stored = json.loads(BASELINE.read_text())["checked"]
    assert stored and all(set(keys) == ours["multiples"].keys() for ours in stored.values())


def check(file):
    """The check of one kernel."""
    command = [
        sys.executable,
        str(BENCHMARKS / "speed.py"),
        "--check",
        "--only",
        "epsilongreedy on bern",
        "--baseline",
        str(file),
    ]
    return subprocess.run(
        command,
        capture_output=True,
        text=True,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
        check=False,
    )


def stored_as(multiples, processor):
    return {"checked": {processor: {"multiples": multiples}}}


@thorough
@pytest.mark.parametrize(
    ("share", "code"), [(4.0, 1), (0.25, 0)], ids=["slower", "faster"]
)  # kinds of processors differ by less
def test_a_kernel_that_became_slow_fails_the_check(tmp_path, share, code):
    file = tmp_path / "baseline.json"
    multiple = next(iter(json.loads(BASELINE.read_text())["checked"].values()))["multiples"][ONE]
    stored = stored_as({ONE: multiple * share}, machine()["cpu"])
    file.write_text(json.dumps(stored))
    done = check(file)
    assert done.returncode == code, done.stderr
    assert (ONE in done.stderr) == bool(code)
    assert json.loads(file.read_text()) == stored


def test_every_policy_is_measured_and_every_measurement_can_begin():
    measured = set()
    for _, policy, _, problem in cases():
        check_fit(policy, describe(problem))
        if type(policy).__module__.startswith(
            "tightrope."
        ):  # other tests have policies of their own
            measured.add(type(policy))
            init(policy, describe(problem)._replace(horizon=1000))
    assert measured == {type(policy) for policy in examples().values()}
