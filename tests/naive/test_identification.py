"""Identification policies choose, stop and name exactly as their slow twins, on arms in general
position."""

import numpy as np
import pytest

import tightrope as tr
from naive.best_arm_policies import NaiveTopTwoThompson, NaiveTopTwoUCB, NaiveTrackAndStop
from naive.identification_policies import (
    Linear,
    NaiveFrankWolfe,
    NaiveLinGame,
    NaiveLinGapE,
    NaiveRAGE,
    NaiveUGapE,
    NaiveUniform,
    NaiveXYAdaptive,
    NaiveXYOracle,
    NaiveXYStatic,
    PreciseLinGapE,
    PreciseUniform,
    game_value,
)
from naive.side_by_side import until_they_stop
from standard import unit_rows
from tightrope.core.streams import POLICY, stream
from tightrope.policies.identification.game import new_matrix_game, solve_game
from tightrope.policies.identification.rage import ACCURACY
from tightrope.solvers.programs import optimal_design

rng = np.random.default_rng(11)
ARMS = unit_rows(rng, 7, 3)
THETA = 1.5 * ARMS[2]
NOISE = 0.3
GAPS = (ARMS @ THETA).max() - ARMS @ THETA
BEST = int(np.argmin(GAPS))
RIVALS = [(ARMS[BEST] - ARMS[k]) / GAPS[k] for k in range(7) if k != BEST]
ORACLE, FINE = optimal_design(ARMS, RIVALS).weights, optimal_design(ARMS, RIVALS, gap=1e-6).weights


def survivors_design(among, X=ARMS):
    found = optimal_design(X, [X[i] - X[j] for i in among for j in among if j < i], gap=ACCURACY)
    return found.weights, found.value


TWINS = {
    "LinGapE, greedy": (
        tr.LinGapE(epsilon=0.05, delta=0.1, lam=0.5, noise=NOISE),
        NaiveLinGapE(ARMS, 0.05, 0.1, 0.5, NOISE),
    ),
    "LinGapE, ratio": (
        tr.LinGapE(epsilon=0.05, delta=0.1, noise=NOISE, theta_bound=2, rule="ratio", union=False),
        NaiveLinGapE(ARMS, 0.05, 0.1, noise=NOISE, theta_bound=2, rule="ratio", union=False),
    ),
    "XYStatic": (tr.XYStatic(delta=0.1, noise=NOISE), NaiveXYStatic(ARMS, 0.1, NOISE)),
    "XYStatic, sqrt2": (
        tr.XYStatic(delta=0.1, noise=NOISE, constant=2**0.5),
        NaiveXYStatic(ARMS, 0.1, NOISE, 2**0.5),
    ),
    "XYAdaptive": (
        tr.XYAdaptive(delta=0.1, noise=NOISE, alpha=0.3),
        NaiveXYAdaptive(ARMS, 0.1, NOISE, 0.3),
    ),
    "XYAdaptive, first width": (
        tr.XYAdaptive(delta=0.1, noise=NOISE, alpha=0.3, first_width=0.4),
        NaiveXYAdaptive(ARMS, 0.1, NOISE, 0.3, first_width=0.4),
    ),
    "Uniform": (
        tr.Uniform(delta=0.1, noise=NOISE, theta_bound=1.5),
        NaiveUniform(ARMS, 0.0, 0.1, noise=NOISE, theta_bound=1.5),
    ),
    "XYOracle": (
        tr.XYOracle(theta=THETA, delta=0.1, noise=NOISE),
        NaiveXYOracle(ARMS, THETA, ORACLE, 0.1, NOISE),
    ),
    "XYOracle, best arm's pairs": (
        tr.XYOracle(theta=THETA, delta=0.1, noise=NOISE, pairs=False, accuracy=1e-6),
        NaiveXYOracle(ARMS, THETA, FINE, 0.1, NOISE, pairs=False),
    ),
    "RAGE": (tr.RAGE(delta=0.1, noise=NOISE), NaiveRAGE(ARMS, 0.1, NOISE, survivors_design)),
    "LinGame": (
        tr.LinGame(delta=0.1, noise=NOISE, theta_bound=1.5),
        NaiveLinGame(ARMS, 0.0, 0.1, noise=NOISE, theta_bound=1.5),
    ),
    "FrankWolfeSampling": (
        tr.FrankWolfeSampling(delta=0.1, noise=NOISE, theta_bound=1.5),
        NaiveFrankWolfe(ARMS, 0.0, 0.1, noise=NOISE, theta_bound=1.5),
    ),
    "UGapE": (tr.UGapE(epsilon=0.05, delta=0.1, noise=NOISE), NaiveUGapE(7, 0.05, 0.1, NOISE)),
    "TopTwoThompson": (
        tr.TopTwoThompson(epsilon=0.05, delta=0.1, rewards="gaussian", noise=NOISE),
        NaiveTopTwoThompson(
            7, 0.05, 0.1, rewards="gaussian", noise=NOISE, rng=stream(1, 0, POLICY)
        ),
    ),
    "TopTwoUCB": (
        tr.TopTwoUCB(epsilon=0.05, delta=0.1, rewards="gaussian", noise=NOISE, leader_share=0.4),
        NaiveTopTwoUCB(
            7,
            0.05,
            0.1,
            rewards="gaussian",
            noise=NOISE,
            leader_share=0.4,
            rng=stream(1, 0, POLICY),
        ),
    ),
    "TrackAndStop": (
        tr.TrackAndStop(delta=0.1, rewards="gaussian", noise=NOISE, plan_growth=0.1),
        NaiveTrackAndStop(7, 0.0, 0.1, rewards="gaussian", noise=NOISE, plan_growth=0.1),
    ),
}


@pytest.mark.parametrize("name", TWINS)
def test_actions_and_stop_equal_those_of_the_twin(name):
    policy, twin = TWINS[name]
    session = tr.Session(policy, arms=ARMS if isinstance(twin, Linear) else 7, seed=1)
    noise = np.random.default_rng(5)

    def reward(arm):
        return float(ARMS[arm] @ THETA + NOISE * noise.standard_normal())

    until_they_stop(session, twin, 2500, reward)
    assert session.stopped
    assert session.recommend()["arm"] == int(np.argmax(ARMS @ THETA))
    assert (
        getattr(twin, "several", 1) > 0
    )  # FrankWolfeSampling met several rivals at once, so its matrix game was compared as well


# the same arms after a change of units or origin, which a model with an intercept does not see
RAW = {
    "1e-6": lambda a, b: [np.ones_like(a), 1e-6 * a, b],
    "1e3": lambda a, b: [np.ones_like(a), 1e3 * a, b],
    "income": lambda a, b: [np.ones_like(a), 5e7 + 3e7 * a, b],
    "1e9": lambda a, b: [np.ones_like(a), 1e9 * a, 1e-6 * b],
    "Unix time": lambda a, b: [np.ones_like(a), 1.7e9 + 86_400 * a, b],
}
PLAIN = np.column_stack([np.ones(7), np.random.default_rng(12).uniform(-1, 1, (7, 2))])
TRUTH = PLAIN @ [0.1, 0.6, 0.5]


def same_path(policy, arms, twin, rounds):
    """Play both on TRUTH with the same noise, and compare every choice and the stop."""
    session, noise = tr.Session(policy, arms=arms, seed=1), np.random.default_rng(5)

    def reward(arm):
        return float(TRUTH[arm] + NOISE * noise.standard_normal())

    until_they_stop(session, twin, rounds, reward)
    return session


@pytest.mark.parametrize("units", RAW)
@pytest.mark.parametrize("make", ["XYStatic", "XYAdaptive", "XYOracle", "RAGE"])
def test_units_of_the_features_do_not_matter_without_a_ridge_parameter(make, units):
    raw = np.column_stack(RAW[units](PLAIN[:, 1], PLAIN[:, 2]))
    own = {"delta": 0.1, "noise": NOISE}
    gaps, best = TRUTH.max() - TRUTH, int(np.argmax(TRUTH))
    shares = optimal_design(
        PLAIN, [(PLAIN[best] - PLAIN[k]) / gaps[k] for k in range(7) if k != best]
    ).weights
    policy, twin = {
        "XYStatic": lambda: (tr.XYStatic(**own), NaiveXYStatic(PLAIN, 0.1, NOISE)),
        "XYAdaptive": lambda: (
            tr.XYAdaptive(**own, alpha=0.3),
            NaiveXYAdaptive(PLAIN, 0.1, NOISE, 0.3),
        ),
        "XYOracle": lambda: (
            tr.XYOracle(
                **own, theta=np.linalg.lstsq(raw / raw.max(axis=0), TRUTH)[0] / raw.max(axis=0)
            ),
            NaiveXYOracle(PLAIN, [0.1, 0.6, 0.5], shares, 0.1, NOISE),
        ),
        "RAGE": lambda: (
            tr.RAGE(**own),
            NaiveRAGE(PLAIN, 0.1, NOISE, lambda among: survivors_design(among, PLAIN)),
        ),
    }[make]()
    session = same_path(policy, raw, twin, 2500)
    assert session.stopped
    assert session.recommend()["arm"] == best


@pytest.mark.parametrize("units", RAW)
@pytest.mark.parametrize(
    ("policy", "twin"), [(tr.LinGapE, PreciseLinGapE), (tr.Uniform, PreciseUniform)]
)
def test_choices_at_every_scale_are_those_of_fifty_digits(policy, twin, units):
    raw = np.column_stack(RAW[units](PLAIN[:, 1], PLAIN[:, 2]))
    own = {"epsilon": 0.05, "delta": 0.1, "noise": NOISE, "theta_bound": 0.5}
    same_path(policy(**own), raw, twin(raw, 0.05, 0.1, noise=NOISE, theta_bound=0.5), 150)


@pytest.mark.parametrize(
    "policy", [tr.LinGapE(noise=NOISE), tr.Uniform(noise=NOISE), tr.XYStatic(noise=NOISE)]
)
def test_an_intercept_beside_an_income_does_not_certify_the_worst_arm(policy):
    """The bound was -inf after four samples and the worst arm certified, in every run."""
    X = np.column_stack([np.ones(4), [2e7, 4e7, 6e7, 8e7]])
    found = tr.identify(
        tr.problems.Linear(X, [0.2, 1e-8], noise=NOISE), {"it": policy}, replications=100, seed=0
    )
    assert found.stopped["it"].all()
    assert (found.rounds["it"] > 20).all()
    assert np.isfinite(found.gap_bound["it"]).all()
    assert (1 - found.correct["it"].mean()) <= 0.05 + 4 * np.sqrt(0.05 * 0.95 / 100)


PLAIN_ARMS = [
    tr.UGapE(),
    *(kind(rewards="gaussian") for kind in (tr.TopTwoThompson, tr.TopTwoUCB, tr.TrackAndStop)),
]
LINEAR = [
    tr.LinGapE(),
    tr.LinGapE(rule="ratio"),
    tr.LinGame(),
    tr.FrankWolfeSampling(),
    tr.Uniform(),
    tr.XYStatic(),
    tr.XYAdaptive(),
    tr.RAGE(),
    tr.P1RAGE(),
]


@pytest.mark.parametrize(
    ("policy", "arms"),
    [(policy, np.eye(3)) for policy in LINEAR] + [(policy, 3) for policy in PLAIN_ARMS],
    ids=repr,
)
def test_estimates_that_are_not_finite_end_the_run_with_a_sentence_and_certify_nothing(
    policy, arms
):
    session = tr.Session(policy, arms=arms)
    with pytest.raises(ValueError, match=r"not a finite number of six digits.*tightrope.scale"):
        for _ in range(20_000):
            session.update(session.select(), 1.7e308)
    with pytest.raises(ValueError, match="no arm can be named"):
        session.recommend()
    with pytest.raises(ValueError, match="no arm can be named"):
        _ = session.stopped


def test_identify_reports_the_sentence_too():
    problem = tr.problems.Linear(np.eye(2), [1e308, -1e308], noise=1e308)
    with pytest.raises(ValueError, match="no arm can be named"):
        tr.identify(problem, {"it": tr.LinGapE()}, max_rounds=1000, workers=1)


def test_lingape_reports_the_bound_and_radius_of_the_formulas():
    policy, _ = TWINS["LinGapE, greedy"]
    twin = NaiveLinGapE(ARMS, 0.05, 0.1, 0.5, NOISE)
    session = tr.Session(policy, arms=ARMS)
    noise = np.random.default_rng(6)
    for _ in range(25):
        arm = session.select()
        reward = float(noise.standard_normal())
        session.update(arm, reward)
        twin.update(arm, reward)
    told, (i, j, bound) = session.explain(), twin.direction()
    assert (told["leader"], told["challenger"]) == (i, j)
    assert told["gap_bound"] == pytest.approx(bound, rel=1e-12)
    assert told["radius"] == pytest.approx(twin.radius(), rel=1e-12)
    assert told["mean"] == pytest.approx(twin.means, rel=1e-10, abs=1e-12)
    y = ARMS[i] - ARMS[j]
    drop = [twin.square(y) - twin.square(y, twin.A + np.outer(x, x)) for x in ARMS]
    assert told["direction_scores"] == pytest.approx(drop, rel=1e-9, abs=1e-13)


def test_batch_growth_decides_rarely_and_costs_few_samples():
    problem = tr.problems.Linear(ARMS, THETA, noise=NOISE)
    base = {"epsilon": 0.0, "delta": 0.1, "noise": 0.3}
    found = tr.identify(
        problem,
        {"each": tr.LinGapE(**base), "batch": tr.LinGapE(**base, batch_growth=0.2)},
        replications=40,
        seed=3,
    )
    assert found.correct["batch"].all()
    assert 0.9 < (found.rounds["batch"].mean() / found.rounds["each"].mean()) < 1.4


@pytest.mark.parametrize("J", [2, 3, 5])
def test_mixtures_of_a_matrix_game_reach_the_value_of_its_program(J):
    rng = np.random.default_rng(J)
    for _ in range(20):
        payoffs, game, z = 1.0 + rng.random((6, J)), new_matrix_game(6, 6), np.zeros(6)
        if rng.random() < 0.3:
            payoffs[1] = payoffs[0]  # a tie
        game.table[:6, :J] = payoffs
        solve_game(game, J, z)
        assert z.min() >= 0.0
        assert z.sum() == pytest.approx(1.0)
        assert (z @ payoffs).min() == pytest.approx(game_value(payoffs)[0], rel=1e-9)
