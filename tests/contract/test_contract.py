"""What every policy promises, on every kind of arms it accepts. A new policy file is found by itself."""

import itertools
import json
import os
import subprocess
import sys

import numpy as np
import pytest

import tightrope as tr
from standard import pairs, session_for
from tightrope._jit import python_of
from tightrope.engine.loops import fixed_horizon, new_log
from tightrope.engine.monitors import NoMonitor
from tightrope.engine.runner import prepare
from tightrope.matching import accepts
from tightrope.rng import NOISE, PROBLEM, stream
from tightrope.serving.codec import flatten
from tightrope.verbs import begin, observe, play, private

HORIZON = 60
PAIRS = pairs()


def run_loop(policy, problem, seed, loop, cuts=()):
    run = prepare(policy, problem, seed, 0, HORIZON)
    log = new_log(np.arange(1, HORIZON + 1), run.arms.number)
    tally = begin(NoMonitor(), run.arms, HORIZON)
    edges = [0, *cuts, HORIZON]
    for first, last in itertools.pairwise(edges):
        run.state = loop(run.policy, run.state, run.problem, NoMonitor(), tally, log, first, last, *run.streams)
    return log, flatten(run.state)


def run_steps(policy, problem, seed, reload=None):
    """The same rounds by a Session; `reload` saves and loads in the middle."""
    session = session_for(policy, problem, seed, HORIZON)
    problem = private(problem)
    problem_rng, noise_rng = stream(seed, 0, PROBLEM), stream(seed, 0, NOISE)
    actions = []
    for t in range(HORIZON):
        if reload is not None and t == HORIZON // 2:
            session.save(reload)
            session = tr.Session.load(reload)
        context = observe(problem, t, problem_rng)
        seen = None if all(item is None for item in context) else context
        action = session.select(context=seen)
        session.update(action, play(problem, context, action, noise_rng), context=seen)
        actions.append(np.atleast_1d(action))
    return np.concatenate(actions), flatten(session.state), session


def same(first, second):
    """Equal to the bit, except in scratch that no decision reads."""
    assert first.keys() == second.keys()
    for key, value in first.items():
        assert np.array_equal(value, second[key], equal_nan=value.dtype.kind == "f"), key


def loop_of(policy):
    return fixed_horizon if type(policy).TRAITS.compiled else python_of(fixed_horizon)


@pytest.mark.parametrize(("policy", "problem"), PAIRS)
def test_loop_equals_steps_equals_reloaded_steps(policy, problem, tmp_path):
    log, state = run_loop(policy, problem, 3, loop_of(policy), cuts=(1, 17))
    actions, stepped, session = run_steps(policy, problem, 3)
    again, reloaded, _ = run_steps(policy, problem, 3, reload=tmp_path / "session.npz")
    same(state, stepped)
    assert np.array_equal(np.bincount(actions, minlength=log.pulls.size), log.pulls)
    assert np.array_equal(actions, again)
    same(stepped, reloaded)

    before = flatten(session.state)
    frozen = {key: value.copy() for key, value in before.items()}
    report = session.explain()
    same(frozen, flatten(session.state))
    assert {"mean", "probability"} <= report.keys()
    probability = report["probability"]
    assert probability.shape == (log.pulls.size,)
    assert (probability >= 0).all()
    assert probability.sum() == pytest.approx(np.atleast_1d(session.select()).size, abs=1e-6)


@pytest.mark.parametrize("mode", ["NUMBA_DISABLE_JIT", "NUMBA_BOUNDSCHECK"])
def test_loops_without_compilation_and_with_index_checks(mode, tmp_path):
    """Digests of all runs agree between compiled, interpreted and bounds-checked kernels."""
    environment = os.environ | {mode: "1", "TIGHTROPE_CACHE": str(tmp_path), "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([sys.executable, __file__], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    there = json.loads(done.stdout)
    here = digests()
    assert there.keys() == here.keys()
    assert [key for key in here if here[key] != there[key]] == []


def digests():
    found = {}
    for pair in PAIRS:
        policy, problem = pair.values
        log, state = run_loop(policy, problem, 5, loop_of(policy))
        numbers = [
            log.regret.sum(),
            *log.pulls.tolist(),
            *(float(np.nansum(value)) for value in state.values() if value.dtype.kind in "fi"),
        ]
        found[pair.id] = [float(number).hex() for number in numbers]
    return found


def test_one_arm_and_one_round_are_no_special_case():
    problem = tr.problems.Bernoulli([0.4])
    result = tr.simulate(problem, single_arm_policies(), horizon=1)
    for name in result.policies:
        assert result.pulls[name].sum() == 1
        assert result.regret[name][0, -1] == 0.0


def single_arm_policies():
    from tightrope.policies import examples

    return {label: policy for label, policy in examples().items() if "arms" in accepts(policy)}


if __name__ == "__main__":
    print(json.dumps(digests()))
