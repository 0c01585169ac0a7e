"""Identification policies choose, stop and name exactly as their slow twins, on arms in general position."""

import numpy as np
import pytest

import tightrope as tr
from naive.identification_policies import (
    NaiveLinGapE,
    NaiveRAGE,
    NaiveUGapE,
    NaiveUniform,
    NaiveXYAdaptive,
    NaiveXYOracle,
    NaiveXYStatic,
)
from standard import unit_rows
from tightrope.policies.identification.rage import ACCURACY
from tightrope.solvers.design import optimal_design

rng = np.random.default_rng(11)
ARMS = unit_rows(rng, 7, 3)
THETA = 1.5 * ARMS[2]
NOISE = 0.3
GAPS = (ARMS @ THETA).max() - ARMS @ THETA
BEST = int(np.argmin(GAPS))
ORACLE = optimal_design(ARMS, [(ARMS[BEST] - ARMS[k]) / GAPS[k] for k in range(7) if k != BEST]).weights


def survivors_design(among):
    found = optimal_design(ARMS, [ARMS[i] - ARMS[j] for i in among for j in among if j < i], gap=ACCURACY)
    return found.weights, found.value


TWINS = {
    "LinGapE, greedy": (tr.LinGapE(epsilon=0.05, delta=0.1, lam=0.5, noise=NOISE), NaiveLinGapE(ARMS, 0.05, 0.1, 0.5, NOISE)),
    "LinGapE, ratio": (
        tr.LinGapE(epsilon=0.05, delta=0.1, noise=NOISE, theta_bound=2, rule="ratio", union=False),
        NaiveLinGapE(ARMS, 0.05, 0.1, noise=NOISE, theta_bound=2, rule="ratio", union=False),
    ),
    "XYStatic": (tr.XYStatic(delta=0.1, noise=NOISE), NaiveXYStatic(ARMS, 0.1, NOISE)),
    "XYStatic, sqrt2": (tr.XYStatic(delta=0.1, noise=NOISE, constant=2**0.5), NaiveXYStatic(ARMS, 0.1, NOISE, 2**0.5)),
    "XYAdaptive": (tr.XYAdaptive(delta=0.1, noise=NOISE, alpha=0.3), NaiveXYAdaptive(ARMS, 0.1, NOISE, 0.3)),
    "Uniform": (tr.Uniform(delta=0.1, noise=NOISE, theta_bound=1.5), NaiveUniform(ARMS, 0.0, 0.1, noise=NOISE, theta_bound=1.5)),
    "XYOracle": (tr.XYOracle(theta=THETA, delta=0.1, noise=NOISE), NaiveXYOracle(ARMS, THETA, ORACLE, 0.1, NOISE)),
    "RAGE": (tr.RAGE(delta=0.1, noise=NOISE), NaiveRAGE(ARMS, 0.1, NOISE, survivors_design)),
    "UGapE": (tr.UGapE(epsilon=0.05, delta=0.1, noise=NOISE), NaiveUGapE(7, 0.05, 0.1, NOISE)),
}


@pytest.mark.parametrize("name", TWINS)
def test_actions_and_stop_equal_those_of_the_twin(name):
    policy, twin = TWINS[name]
    session = tr.Session(policy, arms=7 if name == "UGapE" else ARMS, seed=1)
    noise = np.random.default_rng(5)
    for n in range(2500):
        assert session.stopped == twin.stopped(), n
        if session.stopped:
            break
        arm = session.select()
        assert arm == twin.select(), n
        reward = float(ARMS[arm] @ THETA + NOISE * noise.standard_normal())
        session.update(arm, reward)
        twin.update(arm, reward)
    assert session.stopped
    assert session.recommend()["arm"] == int(np.argmax(ARMS @ THETA))


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
    found = tr.identify(problem, {"each": tr.LinGapE(**base), "batch": tr.LinGapE(**base, batch_growth=0.2)}, replications=40, seed=3)
    assert found.correct["batch"].all()
    ratio = found.rounds["batch"].mean() / found.rounds["each"].mean()
    assert 0.9 < ratio < 1.4
