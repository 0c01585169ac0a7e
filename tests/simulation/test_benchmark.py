"""`make bench-check`: what is checked, and that it can fail."""

import json
import os
import pathlib
import subprocess
import sys

import pytest

from tiers import thorough
from tightrope.core.matching import check_fit
from tightrope.core.verbs import describe
from tightrope.simulation.benchmark import CHECKED, Measurement, better, cases, checked_cases
from tightrope.simulation.runs.provenance import machine

BASELINE = pathlib.Path(__file__).parent.parent.parent / "benchmarks" / "baseline.json"
ONE = "EpsilonGreedy on Bernoulli K=10"


def test_twenty_kernels_of_every_family_are_checked_against_stored_speeds():
    keys = [key for key, *_ in checked_cases()]
    families = {type(policy).__module__.split(".")[2] for _, policy, _, _ in checked_cases()}
    assert len(set(keys)) == len(CHECKED) == 20
    assert {"classic", "linear", "softucb", "conservative", "identification", "semibandits", "lipschitz"} <= families
    stored = json.loads(BASELINE.read_text())["checked"]
    assert stored and all(set(keys) == ours["multiples"].keys() for ours in stored.values())


def test_two_measurements_are_the_best_of_both():
    both = better(Measurement(10.0, 1e5, 0.5, 20.0), Measurement(12.0, 1e6 / 12.0, 0.5, 24.0))
    assert (both.rounds_per_second, both.yardstick, both.relative) == (12.0, 24.0, 0.5)


def check(file):
    """`tightrope bench --check` of one kernel."""
    command = [sys.executable, "-m", "tightrope", "bench", "--check", "--only", "epsilongreedy on bern", "--baseline", str(file)]
    return subprocess.run(command, capture_output=True, text=True, env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}, check=False)


def stored_as(multiples, processor):
    return {"checked": {processor: {"multiples": multiples}}}


@thorough
@pytest.mark.parametrize(("share", "code"), [(4.0, 1), (0.25, 0)], ids=["slower", "faster"])  # kinds of processors differ by less
def test_a_kernel_that_became_slow_fails_the_check(tmp_path, share, code):
    file = tmp_path / "baseline.json"
    multiple = next(iter(json.loads(BASELINE.read_text())["checked"].values()))["multiples"][ONE]
    stored = stored_as({ONE: multiple * share}, machine()["cpu"])
    file.write_text(json.dumps(stored))
    done = check(file)
    assert done.returncode == code, done.stderr
    assert (ONE in done.stderr) == bool(code)
    assert json.loads(file.read_text()) == stored


@thorough
def test_a_kernel_without_a_stored_speed_fails_the_check_and_one_of_another_processor_is_not_compared(tmp_path):
    file = tmp_path / "baseline.json"
    file.write_text(json.dumps(stored_as({"another": 1.0}, machine()["cpu"])))
    done = check(file)
    assert done.returncode == 1
    assert "(new)" in done.stderr
    file.write_text(json.dumps(stored_as({ONE: 1000.0}, "a processor of the year 2090")))
    done = check(file)
    assert done.returncode == 0
    assert f"no multiples of this kind of processor ({machine()['cpu']})" in done.stderr.replace("\n", " ")


def test_every_pair_that_is_measured_or_warmed_can_be_played():
    for _, policy, _, problem in cases():
        check_fit(policy, describe(problem))
