"""`identify` and sessions that stop: what is certified, what is not, fixed budgets, resuming, bad
input."""

import numpy as np
import pytest

import tightrope as tr
from standard import unit_rows
from tiers import thorough
from tightrope.simulation.loops import Interrupted

ARMS = unit_rows(np.random.default_rng(2), 5, 3)
THETA = 1.2 * ARMS[3]
PROBLEM = tr.problems.Linear(ARMS, THETA, noise=0.3)
POLICY = tr.LinGapE(epsilon=0.05, delta=0.1, noise=0.3, theta_bound=1.2)
LINEAR = [tr.LinGapE, tr.Uniform, tr.XYStatic, tr.XYAdaptive, tr.RAGE]


def test_session_and_identify_make_the_same_run():
    found = tr.identify(PROBLEM, {"it": POLICY}, seed=4)
    session, noise = (
        tr.Session(POLICY, arms=ARMS, seed=4),
        tr.core.streams.stream(4, 0, tr.core.streams.NOISE),
    )
    while not session.stopped:
        arm = session.select()
        session.update(arm, float(PROBLEM.means[arm] + 0.3 * noise.standard_normal()))
    assert session.rounds == found.rounds["it"][0]
    told = session.recommend()
    assert told["arm"] == found.arm["it"][0] == 3
    assert told["status"] == "certified"
    assert told["samples_remaining"] == 0
    assert told["gap_bound"] == found.gap_bound["it"][0] <= 0.05
    assert found.pulls["it"].sum() == session.rounds


def test_a_run_cut_short_is_not_certified():
    found = tr.identify(PROBLEM, {"it": POLICY}, replications=3, max_rounds=8)
    assert not found.stopped["it"].any()
    assert (found.rounds["it"] == 8).all()
    assert (found.gap_bound["it"] > 0.05).all()
    session = tr.Session(POLICY, arms=ARMS)
    assert session.recommend()["status"] == "not certified yet"
    for arm in range(5):
        session.update(arm, PROBLEM.means[arm])
    told = session.recommend()
    assert told["status"] == "not certified yet"
    assert told["arm"] == 3
    assert 0 < told["samples_remaining"] < np.inf
    assert 0 < told["error"] < 1


@thorough
def test_a_fixed_budget_is_used_up_and_its_error_estimate_is_honest():
    """Wrong guesses happen about as often as estimated (4 s.e.), and the estimate falls with the
    budget."""
    problem = tr.problems.Linear(np.eye(4), [0.3, 0.0, 0.1, -0.2], noise=1.0)
    policy = tr.Uniform(delta=0.1, theta_bound=1.0)
    small, large = (
        tr.identify(problem, {"it": policy}, replications=400, seed=1, budget=n) for n in (80, 400)
    )
    assert (small.rounds["it"] == 80).all()
    wrong = 1.0 - small.correct["it"]
    estimate = small.error["it"]
    assert wrong.mean() <= estimate.mean() + 4 * np.std(wrong - estimate) / 20
    assert wrong.mean() >= 0.3 * estimate.mean()
    assert large.error["it"].mean() < 0.5 * estimate.mean()


def test_the_forecast_is_of_the_right_size():
    """From a pilot, within a factor of two of what it then takes (median of runs)."""
    ratios = []
    for seed in range(12):
        session, noise = (
            tr.Session(POLICY._replace(epsilon=0.0), arms=ARMS, seed=seed),
            np.random.default_rng(seed),
        )
        forecast = None
        while not session.stopped:
            if session.rounds == 20:
                forecast = session.recommend()["samples_remaining"]
            arm = session.select()
            session.update(arm, float(PROBLEM.means[arm] + 0.3 * noise.standard_normal()))
        if forecast is not None:
            ratios.append(forecast / (session.rounds - 20))
    assert len(ratios) >= 10
    assert 0.5 < np.median(ratios) < 2


def test_an_interrupted_run_is_taken_up(tmp_path):
    plain = tr.identify(PROBLEM, {"it": POLICY}, replications=6, seed=2, workers=1)
    calls = []

    def stop_after_three(done, total):
        calls.append(done)
        if len(list((tmp_path / "chunks").glob("*.parquet"))) >= 3 and not stop_after_three.stopped:
            stop_after_three.stopped = True
            raise KeyboardInterrupt

    stop_after_three.stopped = False
    with pytest.raises(Interrupted):
        tr.identify(
            PROBLEM,
            {"it": POLICY},
            replications=6,
            seed=2,
            workers=1,
            out=tmp_path,
            progress=stop_after_three,
        )
    assert 3 <= len(list((tmp_path / "chunks").glob("*.parquet"))) < 6
    resumed = tr.identify(PROBLEM, {"it": POLICY}, replications=6, seed=2, workers=1, out=tmp_path)
    assert resumed.frame().drop(columns=[]).equals(plain.frame())
    with pytest.raises(ValueError, match="seed"):
        tr.identify(PROBLEM, {"it": POLICY}, replications=6, seed=3, out=tmp_path)


@pytest.mark.parametrize("policy", LINEAR)
def test_questions_without_an_answer_are_refused_at_once(policy):
    with pytest.raises(ValueError, match="at least 2"):
        tr.Session(policy(), arms=[[1.0, 0.0]])
    with pytest.raises(ValueError, match=r"arms\[2\] repeats arms\[0\].*epsilon"):
        tr.Session(policy(), arms=[[1.0, 0.0], [0.0, 1.0], [1.0, 0.0]])
    with pytest.raises(ValueError, match=r"arms\[1\] is a zero vector"):
        tr.Session(policy(epsilon=0.1), arms=[[1.0, 0.0], [0.0, 0.0]])
    with pytest.raises(ValueError, match="delta"):
        policy(delta=1.0)
    with pytest.raises(ValueError, match="delta"):
        policy(delta=0)


def test_what_cannot_be_identified_is_refused():
    with pytest.raises(ValueError, match="at least 2"):
        tr.identify(tr.problems.Bernoulli([0.4]), {"it": tr.UGapE()})
    with pytest.raises(ValueError, match="equally good"):
        tr.Session(tr.XYOracle(theta=[1.0, 1.0]), arms=np.eye(2))
    with pytest.raises(ValueError, match="theta has length"):
        tr.Session(tr.XYOracle(theta=[1.0]), arms=np.eye(2))
    with pytest.raises(ValueError, match="never stops"):
        tr.identify(PROBLEM, {"it": tr.LinUCB()})
    with pytest.raises(ValueError, match="max_rounds"):
        tr.identify(PROBLEM, {"it": POLICY}, max_rounds=0)


def test_duplicate_arms_with_epsilon_stop():
    X = [[1.0, 0.0], [0.0, 1.0], [1.0, 0.0]]
    found = tr.identify(
        tr.problems.Linear(X, [1.0, 0.0], noise=0.2),
        {"it": tr.LinGapE(epsilon=0.3, noise=0.2)},
        max_rounds=10**5,
    )
    assert found.stopped["it"].all()
    assert found.correct["it"].all()


@pytest.mark.parametrize("policy", [tr.XYStatic(), tr.XYAdaptive()], ids=["static", "adaptive"])
def test_probability_where_the_arms_still_to_be_pulled_are_masked(policy):
    X, mask = (
        np.random.default_rng(0).normal(size=(6, 3)),
        np.array([True, True, True, False, False, False]),
    )
    session = tr.Session(policy, arms=X, seed=1)
    for arm in range(3):
        session.update(arm, 0.1 * arm)
    assert session.explain(eligible=mask)["probability"].tolist() == pytest.approx(
        [1 / 3, 1 / 3, 1 / 3, 0, 0, 0]
    )
    played = np.bincount([session.select(eligible=mask) for _ in range(600)], minlength=6) / 600
    assert np.abs(played - mask / 3).max() < 4 * np.sqrt(2 / 9 / 600)


def test_max_rounds_is_checked_beside_a_budget():
    with pytest.raises(ValueError, match="max_rounds = -3"):
        tr.identify(
            tr.problems.Linear(np.eye(2), [1.0, 0.0]), tr.LinGapE(), budget=5, max_rounds=-3
        )


def test_runs_that_gave_up_are_marked():
    """They count as max_rounds; the row, the table and the comparison said nothing of it."""
    answer = tr.identify(
        tr.problems.Bernoulli([0.2, 0.5, 0.6]),
        {"UGapE": tr.UGapE(epsilon=0.01), "wide": tr.TrackAndStop(epsilon=0.9)},
        replications=8,
        max_rounds=400,
    )
    rows = {row.policy: row for row in answer.summary()}
    assert (rows["UGapE"].certified, rows["wide"].certified) == ("0 of 8", "")
    printed = str(answer.compare())
    assert ">= 400" in printed
    assert "UGapE certified 0 of 8: runs that gave up count as the rounds they had" in printed
    assert "wide certified" not in printed
    assert "UGapE certified 0 of 8" in answer._repr_html_()
    assert "≥ 400" in answer._repr_html_()
    fixed = tr.identify(
        tr.problems.Bernoulli([0.2, 0.6]), tr.UGapE(epsilon=0.01), replications=2, budget=50
    )
    assert fixed.summary()[0].certified == ""  # nobody gave up: a budget is used up


@pytest.mark.parametrize("name", ["TrackAndStop", "TopTwoUCB", "TopTwoThompson"])
def test_the_error_of_a_certified_answer_is_at_most_delta(name):
    answer = tr.identify(
        tr.problems.Bernoulli([1.0, 1.0, 1.0]),
        getattr(tr, name)(delta=0.01, epsilon=0.1),
        replications=2,
        max_rounds=50_000,
    )
    assert answer.stopped[name].all()
    assert (answer.error[name] <= 0.01).all()
