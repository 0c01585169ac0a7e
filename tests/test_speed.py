"""`make bench-check`: what is checked, and that it can fail."""

import json
import os
import pathlib
import subprocess
import sys

import pytest

from tiers import thorough
from tightrope.core.matching import check_fit
from tightrope.core.verbs import describe, init
from tightrope.policies import examples
from tightrope.simulation.runs.provenance import machine

BENCHMARKS = pathlib.Path(__file__).parent.parent / "benchmarks"
sys.path.insert(0, str(BENCHMARKS))
from speed import CHECKED, Measurement, better, cases, checked_cases  # noqa: E402

BASELINE = BENCHMARKS / "baseline.json"
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
    """The check of one kernel."""
    return run("--check", "--only", "epsilongreedy on bern", "--baseline", str(file))


def run(*options):
    command = [sys.executable, str(BENCHMARKS / "speed.py"), *options]
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


def test_every_policy_is_measured_and_every_measurement_can_begin():
    measured = set()
    for _, policy, _, problem in cases():
        check_fit(policy, describe(problem))
        if type(policy).__module__.startswith("tightrope."):  # other tests have policies of their own
            measured.add(type(policy))
            init(policy, describe(problem)._replace(horizon=1000))
    assert measured == {type(policy) for policy in examples().values()}


@thorough
def test_a_baseline_is_kept_and_compared_with(tmp_path):
    file = tmp_path / "baseline.json"
    first = run("--only", "hoo", "--baseline", file, "--save")
    assert first.returncode == 0, first.stderr
    (kept,) = json.loads(file.read_text())["relative"].values()
    assert kept["multiples"]
    assert all(value > 0 for value in kept["multiples"].values())
    assert " new " not in run("--only", "hoo", "--baseline", file).stdout


def test_a_name_of_nothing_is_refused():
    done = run("--only", "KLUBC")
    assert done.returncode == 1
    assert "is in the name of nothing that is measured" in done.stderr and "Did you mean 'KLUCB'?" in done.stderr
