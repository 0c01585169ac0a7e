import os
import sys
import time

import numpy as np
import pytest

import tightrope as tr
from interrupting import crowding, interrupt, started
from tiers import thorough
from tightrope.core.streams import NOISE, PROBLEM, stream

PROBLEM_10 = tr.problems.Bernoulli(np.linspace(0.25, 0.75, 10))
TWO = {"UCB": tr.UCB(), "Thompson": tr.BetaThompson()}


def test_bits_do_not_depend_on_workers_or_company():
    one = tr.simulate(PROBLEM_10, TWO, horizon=300, replications=7, seed=4, workers=1)
    many = tr.simulate(PROBLEM_10, TWO, horizon=300, replications=7, seed=4, workers=5)
    alone = tr.simulate(
        PROBLEM_10, {"Thompson": TWO["Thompson"]}, horizon=300, replications=3, seed=4
    )
    for name in TWO:
        assert np.array_equal(one.regret[name], many.regret[name])
        assert np.array_equal(one.pulls[name], many.pulls[name])
    assert np.array_equal(alone.regret["Thompson"], one.regret["Thompson"][:3])
    other = tr.simulate(PROBLEM_10, TWO, horizon=300, replications=7, seed=5)
    assert not np.array_equal(one.pulls["Thompson"], other.pulls["Thompson"])


@pytest.mark.parametrize("seed, replication", [(0, 0), (3, 7), (2**32 - 1, 2**32 - 1), (2**40, 1)])
def test_streams_are_those_of_numpys_seed_sequence(seed, replication):
    for role in range(6):
        words = np.random.SeedSequence(seed, spawn_key=(replication, role))
        expected = np.random.default_rng(words).bit_generator.state
        assert stream(seed, replication, role).bit_generator.state == expected


def test_checkpoints_and_pulls_add_up():
    result = tr.simulate(PROBLEM_10, TWO, horizon=1000, replications=4)
    gaps = 0.75 - np.linspace(0.25, 0.75, 10)
    assert result.rounds[0] == 1
    assert result.rounds[-1] == 1000
    assert (np.diff(result.rounds) > 0).all()
    for name in TWO:
        assert result.pulls[name].sum(axis=1).tolist() == [1000.0] * 4
        assert result.regret[name][:, -1] == pytest.approx(result.pulls[name] @ gaps, rel=1e-12)
        assert (np.diff(result.regret[name], axis=1) >= 0).all()
    chosen = tr.simulate(PROBLEM_10, TWO, horizon=1000, replications=1, checkpoints=[10, 500])
    assert chosen.rounds.tolist() == [10, 500]


def test_a_list_of_problems_goes_round_and_policies_may_depend_on_it():
    problems = [tr.problems.Bernoulli([0.2, 0.8]), tr.problems.Bernoulli([0.9, 0.1])]
    seen = []

    def chosen(problem):
        seen.append(problem.best)
        return tr.UCB(alpha=1.0 if problem.best > 0.85 else 2.0)

    result = tr.simulate(problems, {"UCB": chosen}, horizon=400, replications=4)
    best = result.pulls["UCB"].argmax(axis=1)
    assert best.tolist() == [1, 0, 1, 0]
    assert set(seen) == {0.8, 0.9}


def test_saved_results_come_back_bit_for_bit(tmp_path):
    result = tr.simulate(PROBLEM_10, TWO, horizon=200, replications=3, seed=9)
    result.save(tmp_path / "a")
    again = tr.load(tmp_path / "a")
    assert again.policies == result.policies
    assert np.array_equal(again.rounds, result.rounds)
    for name in TWO:
        assert np.array_equal(again.regret[name], result.regret[name])
        assert np.array_equal(again.pulls[name], result.pulls[name])
    assert again.settings["seed"] == 9
    assert again.settings["policies"]["UCB"] == {
        "policy": "UCB",
        "alpha": 2.0,
        "sigma": 1.0,
        "forget": 1.0,
    }
    frame = again.frame()
    assert list(frame.columns) == ["policy", "replication", "round", "regret"]
    assert len(frame) == 2 * 3 * result.rounds.size
    for ending in ("svg", "png", "pdf"):
        assert result.plot(tmp_path / f"regret.{ending}").stat().st_size > 1000
    with pytest.raises(FileNotFoundError, match=r"result\.json"):
        tr.load(tmp_path)


def test_a_killed_run_goes_on_where_it_was(tmp_path):
    whole = tr.simulate(PROBLEM_10, TWO, horizon=100, replications=90, seed=2, out=tmp_path / "run")
    parts = sorted((tmp_path / "run" / "chunks").glob("*.parquet"))
    before = {path.name: path.stat().st_mtime_ns for path in parts}
    for path in parts[::2]:
        path.unlink()
    again = tr.simulate(PROBLEM_10, TWO, horizon=100, replications=90, seed=2, out=tmp_path / "run")
    for name in TWO:
        assert np.array_equal(whole.regret[name], again.regret[name])
    assert all(path.stat().st_mtime_ns == before[path.name] for path in parts[1::2])
    with pytest.raises(ValueError, match="other seed"):
        tr.simulate(PROBLEM_10, TWO, horizon=100, replications=90, seed=3, out=tmp_path / "run")


INTERRUPTED = """
import sys, time
import numpy as np, tightrope as tr
problem = tr.problems.Bernoulli(np.linspace(0.25, 0.75, 10))
tr.simulate(problem, {"UCB": tr.UCB()}, horizon=100, replications=1)
print("ready", flush=True)
try:
    tr.simulate(problem, {"UCB": tr.UCB()}, horizon=int(sys.argv[1]), replications=60, workers=2)
except tr.Interrupted as stopped:
    result = stopped.result
    print("none" if result is None else result.replications, flush=True)
"""


@pytest.mark.parametrize(
    ("horizon", "finished"),
    [pytest.param(2_000_000_000, "none", marks=thorough), (3_000_000, "some")],
)
def test_ctrl_c_stops_within_a_second_and_keeps_what_is_done(horizon, finished):
    with started([sys.executable, "-c", INTERRUPTED, str(horizon)]) as process:
        assert process.stdout.readline().strip() == "ready"
        time.sleep(1.5 if finished == "none" else 2.5)
        interrupt(process)
        sent = time.monotonic()
        out, _ = process.communicate(timeout=30)
        took = time.monotonic() - sent
    alone = not (os.environ.get("CI") or os.environ.get("PYTEST_XDIST_WORKER"))
    assert took < (1.0 if alone else 2.0) * crowding()
    if finished == "none":
        assert out.strip() == "none"
    else:
        assert 1 <= int(out) < 60


def test_noise_is_the_same_for_every_policy():
    """Two policies that play the same arm in the same round see the same reward."""
    problem = tr.problems.Gaussian([0.0])
    sums = []
    for policy in (tr.UCB(), tr.EpsilonGreedy(epsilon=1.0)):
        session = tr.Session(policy, arms=1, seed=0)
        noise = stream(0, 0, NOISE)
        for _ in range(20):
            arm = session.select()
            session.update(
                arm,
                tr.core.verbs.play(
                    problem, tr.core.verbs.observe(problem, 0, stream(0, 0, PROBLEM)), arm, noise
                ),
            )
        sums.append(session.state.sums[0])
    assert sums[0] == sums[1]


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: tr.problems.Bernoulli([]), "means is empty"),
        (
            lambda: tr.problems.Bernoulli([0.2, np.nan]),
            r"means\[1\] = nan is not a finite number in \[0, 1\]",
        ),
        (lambda: tr.problems.Bernoulli([0.2, 1.2]), r"means\[1\] = 1.2 .* \[0, 1\]"),
        (
            lambda: tr.problems.Linear(np.eye(3), [1.0, 0.0]),
            r"theta has length 2, but must have length 3",
        ),
        (
            lambda: tr.problems.Linear(np.eye(2), [1.5, 0.0], rewards="bernoulli"),
            r"mean 1.5, but rewards = 'bernoulli' needs means in \[0, 1\]",
        ),
        (
            lambda: tr.problems.Linear(np.eye(2), [0.5, 0.0], rewards="poisson"),
            "rewards = 'poisson' is not one of",
        ),
        (lambda: tr.problems.Gaussian([0.0], sd=-1), r"sd = -1 is not a number in \[0, inf\)"),
        (lambda: tr.UCB(alpha=0), r"alpha = 0 is not a number in \(0, inf\)"),
        (
            lambda: tr.LinUCB(width="theorem", radius="wide"),
            "radius = 'wide' is not one of 'horizon', 'determinant'",
        ),
        (
            lambda: tr.simulate(PROBLEM_10, {}, horizon=10),
            "policies = {} is neither a policy, a list of policies",
        ),
        (
            lambda: tr.simulate(PROBLEM_10, TWO, horizon=0),
            "horizon = 0 is not a whole number from 1",
        ),
        (
            lambda: tr.simulate(PROBLEM_10, TWO, horizon=10, checkpoints=[5, 5]),
            "checkpoints = .* must be increasing",
        ),
        (
            lambda: tr.simulate(PROBLEM_10, tr.LinUCB(), horizon=10),
            "LinUCB plays features or contexts, but these arms offer arms",
        ),
        (lambda: tr.simulate([], TWO, horizon=10), "problem is an empty list"),
        (lambda: tr.simulate(3, TWO, horizon=10), "problem = 3 is not a problem"),
    ],
)
def test_bad_input_is_one_sentence(make, words):
    with pytest.raises(ValueError, match=words) as caught:
        make()
    assert "\n" not in str(caught.value)


def test_unknown_parameters_are_named():
    with pytest.raises(
        TypeError, match=r"UCB has no parameter 'sgima'; it takes alpha, sigma, forget\."
    ):
        tr.UCB(sgima=1)


def test_a_function_that_makes_another_policy_is_another_run(tmp_path):
    problem = tr.problems.Bernoulli([0.2, 0.8])

    def with_alpha(alpha):
        return lambda problem: tr.UCB(alpha=alpha)

    tr.simulate(problem, {"it": with_alpha(0.1)}, horizon=20, out=tmp_path)
    with pytest.raises(ValueError, match="other policies"):
        tr.simulate(problem, {"it": with_alpha(9.0)}, horizon=20, out=tmp_path)


def test_a_result_saved_over_another_forgets_what_that_had_watched(tmp_path):
    problem, both = tr.problems.Bernoulli([0.2, 0.8]), {"a": tr.UCB(), "b": tr.UCB(alpha=1)}
    tr.simulate(problem, both, horizon=20, monitor=tr.Budget(baseline=0)).save(tmp_path)
    tr.simulate(problem, tr.UCB(), horizon=20).save(tmp_path)
    assert tr.load(tmp_path).watched == {"UCB": {}}


@pytest.mark.parametrize(
    ("problem", "policies", "match"),
    [
        (tr.problems.Bernoulli([0.5]), {1: tr.UCB()}, "name 1"),
        (tr.problems.Bernoulli([0.5]), {"f": lambda problem: 3}, "makes 3"),
        (
            [tr.problems.Bernoulli([0.1, 0.2]), tr.problems.Bernoulli([0.1, 0.2, 0.3])],
            tr.UCB(),
            "2 to 3 arms",
        ),
    ],
)
def test_what_cannot_be_compared_is_refused(problem, policies, match):
    with pytest.raises(ValueError, match=match):
        tr.simulate(problem, policies, horizon=5)


def test_linear_algebra_of_the_default_engine_takes_one_thread_each(monkeypatch):
    """Beside a neighbour the threads of one product waited for each other: 115 times the processor
    time."""
    import scipy.linalg  # noqa: F401 - it brings a library of its own, which must be loaded to be limited
    import threadpoolctl

    from tightrope.simulation.executors import THREADS_OF_ALGEBRA

    def threads():
        return {
            item["num_threads"]
            for item in threadpoolctl.threadpool_info()
            if item["user_api"] == "blas"
        }

    def oracle(scores):
        during.append(threads())
        return np.argsort(-scores)[:2]

    for name in THREADS_OF_ALGEBRA:
        monkeypatch.delenv(name, raising=False)
    during = []
    with threadpoolctl.threadpool_limits(3, user_api="blas"):
        problem = tr.problems.SemiBandit(np.eye(4), [0.1, 0.2, 0.3, 0.4], oracle)
        during.clear()
        tr.simulate(problem, tr.C2UCB(), horizon=3)
        assert {1} in during
        assert {1} == set().union(
            *during[1:]
        )  # the first is the policy's check before anything is played
        assert threads() == {3}
        monkeypatch.setenv(THREADS_OF_ALGEBRA[0], "2")
        during.clear()
        tr.simulate(problem, tr.C2UCB(), horizon=3)
        assert set().union(*during) == {3}  # what the user has set stays


def test_ctrl_c_leaves_behind_a_thread_that_looks_up_at_nothing():
    """A design of 600 arms held Ctrl-C up for more than a minute, in the driver's own thread
    too."""
    import signal
    import threading

    release, inside = threading.Event(), threading.Event()

    def oracle(scores):
        if threading.current_thread() is not threading.main_thread():
            inside.set()
            release.wait(60)
        return np.argsort(-scores)[:2]

    problem = tr.problems.SemiBandit(np.eye(4), [0.1, 0.2, 0.3, 0.4], oracle)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # also where it is ignored
    threading.Thread(
        target=lambda: (inside.wait(30), os.kill(os.getpid(), signal.SIGINT)), daemon=True
    ).start()
    began = time.monotonic()
    try:
        with pytest.raises(tr.Interrupted):
            tr.simulate(problem, tr.C2UCB(), horizon=50, replications=2, workers=1)
        assert time.monotonic() - began < 20
    finally:
        release.set()
        signal.signal(signal.SIGINT, before)


def test_designs_are_not_made_in_the_driver_s_thread(monkeypatch):
    import threading

    from tightrope.simulation import loops

    threads, init = [], loops.init
    monkeypatch.setattr(
        loops, "init", lambda *given: threads.append(threading.current_thread()) or init(*given)
    )
    tr.identify(
        tr.problems.Linear(np.eye(3), [0.6, 0.2, 0.0], noise=0.1),
        tr.RAGE(epsilon=0.1, noise=0.1),
        max_rounds=50,
    )
    assert threads
    assert threading.main_thread() not in threads
