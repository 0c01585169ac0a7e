"""Coverage of LinGapE's bound, its sample numbers on the paper's arms, and shortcuts against runs
round by round."""

import numpy as np
import pytest

import tightrope as tr
from standard import unit_rows
from tiers import thorough
from tightrope_papers.lingape.fig2 import audit
from tightrope_papers.lingape.settings import (
    GAP,
    SETTINGS,
    THETA_BOUND,
    adaptive_by_phase,
    canonical,
    fixed_sequence,
    gap_stop,
    near_parallel,
    rage_by_phase,
    static_pulls,
    static_stop,
    uniform_pulls,
)


def test_errors_stay_below_the_bound_and_a_radius_too_small_would_be_seen():
    policy = tr.LinGapE(epsilon=GAP / 2, theta_bound=THETA_BOUND, **SETTINGS)
    held = audit(near_parallel(5), policy, runs=100, most=5_000, seed=0).ratios
    assert held.max() < 1
    assert held.mean() > 0.2  # neither is it empty
    too_small = policy._replace(noise=0.25, theta_bound=0.5)
    assert (
        audit(near_parallel(5), too_small, runs=20, most=5_000, seed=0).ratios >= 1
    ).mean() > 0.5


def test_lingape_needs_what_table_1_needs():
    """d = 5, epsilon = half the gap: 0.32 M samples, nearly all of arm 1."""
    policy = tr.LinGapE(epsilon=GAP / 2, theta_bound=THETA_BOUND, **SETTINGS)
    found = tr.identify(near_parallel(5), {"it": policy}, replications=6, seed=0)
    mean, se = found.rounds["it"].mean(), found.rounds["it"].std(ddof=1) / np.sqrt(6)
    assert abs(mean - 0.32e6) < max(4 * se, 0.05e6)
    assert (found.pulls["it"][:, 1] > 0.99 * found.rounds["it"]).all()
    assert found.correct["it"].all()


def test_no_wrong_answer_in_two_hundred_runs():
    found = tr.identify(
        canonical(0.5), {"it": tr.LinGapE(theta_bound=0.5, **SETTINGS)}, replications=200, seed=1
    )
    assert found.correct["it"].all()
    assert found.stopped["it"].all()


def agree(first, second):
    difference = first.mean() - second.mean()
    return (
        abs(difference)
        < 4
        * np.hypot(
            first.std(ddof=1) / np.sqrt(first.size), second.std(ddof=1) / np.sqrt(second.size)
        )
        + 1
    )


@thorough
def test_shortcuts_agree_with_runs_round_by_round():
    X = unit_rows(np.random.default_rng(4), 6, 3)
    problem = tr.problems.Linear(X, 1.5 * X[1], noise=0.5)
    own = {"delta": 0.1, "noise": 0.5}
    policies = {
        "static": tr.XYStatic(**own),
        "uniform": tr.Uniform(theta_bound=1.5, **own),
        "rage": tr.RAGE(**own),
    }
    found = tr.identify(problem, policies, replications=60, seed=1)
    static = fixed_sequence(
        problem, static_pulls(X, 10**9, 0), {"it": static_stop(0.5, 0.1)}, 60, 2
    )["it"]
    uniform = fixed_sequence(
        problem, uniform_pulls(6), {"it": gap_stop(0.5, 0.1, 1.0, 1.5)}, 60, 2
    )["it"]
    assert agree(found.rounds["static"], static["rounds"])
    assert agree(found.rounds["uniform"], uniform["rounds"])
    assert agree(found.rounds["rage"], rage_by_phase(problem, policies["rage"], 60, 2)["rounds"])
    assert (static["arm"] == 1).all()
    assert found.correct["static"].all()


def test_phases_of_xy_adaptive_agree_with_runs_round_by_round():
    """With a constant below the proven one, so that runs end after one phase, two or more, or
    forget an arm they had dropped."""
    problem = canonical(1.0)
    policy = tr.XYAdaptive(delta=0.1, alpha=0.3, constant=1.0)
    rounds = tr.identify(problem, {"it": policy}, replications=200, seed=1).rounds["it"]
    short = adaptive_by_phase(problem, policy, 200, 2)["rounds"]
    assert agree(rounds, short)
    for edge in (500, 2_000):  # shares near 0.7 and 0.2
        shares = np.array([(short > edge).mean(), (rounds > edge).mean()])
        margin = 4 * np.sqrt(shares.mean() * (1 - shares.mean()) * 2 / 200)
        assert margin < shares.min()  # able to fail: a share of zero would
        assert abs(shares[0] - shares[1]) < margin


def test_the_first_phase_of_xy_adaptive_has_the_length_of_the_shortcut():
    problem = canonical(1.0)
    policy = tr.XYAdaptive(delta=0.1, alpha=0.3)
    found, short = (
        tr.identify(problem, {"it": policy}, replications=40, seed=1),
        adaptive_by_phase(problem, policy, 40, 2),
    )
    assert np.median(short["rounds"]) == pytest.approx(
        np.median(found.rounds["it"]), rel=0.01
    )  # up to ties
    assert (short["arm"] == 0).all()
