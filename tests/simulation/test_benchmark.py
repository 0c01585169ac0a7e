"""`make bench-check`: what is checked, and that it can fail."""

import json
import os
import pathlib
import subprocess
import sys

import pytest

from tiers import thorough
from tightrope.simulation.benchmark import CHECKED, Measurement, better, checked_cases

BASELINE = pathlib.Path(__file__).parent.parent.parent / "benchmarks" / "baseline.json"
ONE = "EpsilonGreedy on Bernoulli K=10"


def test_twenty_kernels_of_every_family_are_checked_against_stored_speeds():
    keys = [key for key, *_ in checked_cases()]
    families = {type(policy).__module__.split(".")[2] for _, policy, _, _ in checked_cases()}
    assert len(set(keys)) == len(CHECKED) == 20
    assert {"classic", "linear", "softucb", "conservative", "identification", "semibandits", "lipschitz"} <= families
    assert set(keys) == json.loads(BASELINE.read_text())["checked"].keys()


def test_two_measurements_are_the_best_of_both():
    both = better(Measurement(10.0, 1e5, 0.5, 20.0), Measurement(12.0, 1e6 / 12.0, 0.5, 24.0))
    assert (both.rounds_per_second, both.yardstick, both.relative) == (12.0, 24.0, 0.5)


@thorough
@pytest.mark.parametrize(("share", "code"), [(4.0, 1), (0.25, 0)], ids=["slower", "faster"])  # kinds of processors differ by less
def test_a_kernel_that_became_slow_fails_the_check(tmp_path, share, code):
    file = tmp_path / "baseline.json"
    stored = json.loads(BASELINE.read_text())["checked"][ONE]
    file.write_text(json.dumps({"checked": {ONE: stored * share}}))
    command = [sys.executable, "-m", "tightrope", "bench", "--check", "--only", "epsilongreedy on bern", "--baseline", str(file)]
    done = subprocess.run(command, capture_output=True, text=True, env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}, check=False)
    assert done.returncode == code, done.stderr
    assert (ONE in done.stderr) == bool(code)
    assert json.loads(file.read_text()) == {"checked": {ONE: stored * share}}


@thorough
def test_a_kernel_without_a_stored_speed_fails_the_check(tmp_path):
    command = [
        sys.executable,
        "-m",
        "tightrope",
        "bench",
        "--check",
        "--only",
        "epsilongreedy on bern",
        "--baseline",
        str(tmp_path / "none.json"),
    ]
    done = subprocess.run(command, capture_output=True, text=True, env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}, check=False)
    assert done.returncode == 1
    assert "(new)" in done.stderr
