"""Regret against theory and against each other, with margins of four standard errors computed from the run."""

import math

import numpy as np

import tightrope as tr
from tightrope.numerics.kl import bernoulli_divergence
from tightrope.numerics.statistics import standard_error

MEANS = np.array([0.1, 0.05, 0.05, 0.02])
HARD = tr.problems.Bernoulli(MEANS)


def paired(result, first, second):
    """Mean and standard error of final regret(first) - final regret(second)."""
    difference = result.regret[first][:, -1] - result.regret[second][:, -1]
    return difference.mean(), standard_error(difference)


def test_klucb_and_thompson_beat_ucb_where_means_are_small():
    result = tr.simulate(HARD, {"UCB": tr.UCB(), "KL": tr.KLUCB(), "TS": tr.BetaThompson()}, horizon=20_000, replications=40, seed=1)
    for better in ("KL", "TS"):
        difference, se = paired(result, better, "UCB")
        assert difference < -4 * se


def test_klucb_grows_at_the_rate_of_lai_and_robbins():
    """Between T = 10^4 and 10^5 the regret of KL-UCB grows by about C ln 10 (within 35 % and four standard errors)."""
    result = tr.simulate(HARD, tr.KLUCB(), horizon=100_000, replications=60, seed=2, checkpoints=[10_000, 100_000])
    growth = np.diff(result.regret["KLUCB"], axis=1)[:, 0]
    rate = sum((0.1 - m) / bernoulli_divergence(m, 0.1) for m in MEANS[1:]) * math.log(10)
    assert abs(growth.mean() - rate) < 0.35 * rate + 4 * standard_error(growth)


def test_ucb_keeps_its_finite_time_bound():
    """Auer et al., Theorem 1."""
    problem = tr.problems.Bernoulli([0.3, 0.5, 0.7])
    result = tr.simulate(problem, tr.UCB(), horizon=5000, replications=50, seed=3)
    final = result.regret["UCB"][:, -1]
    bound = sum(8 * math.log(5000) / gap + (1 + math.pi**2 / 3) * gap for gap in (0.4, 0.2))
    assert final.mean() + 4 * standard_error(final) < bound


def test_features_pay_when_arms_are_many():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 4))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    problem = tr.problems.Linear(X, X[0], noise=0.3)
    policies = {"UCB": tr.UCB(alpha=2, sigma=0.3), "LinUCB": tr.LinUCB(noise=0.3), "LinTS": tr.LinTS(noise=0.3, scale=0.3)}
    result = tr.simulate(problem, policies, horizon=3000, replications=30, seed=4)
    for better in ("LinUCB", "LinTS"):
        difference, se = paired(result, better, "UCB")
        assert difference < -4 * se


def test_confidence_set_holds_the_truth():
    """LinUCB's anytime radius at delta = 0.1: misses in 200 runs stay within four standard errors of 10 %."""
    rng = np.random.default_rng(1)
    X, theta = rng.normal(size=(5, 3)), np.array([0.4, -0.2, 0.1])
    misses = 0
    for _ in range(200):
        session = tr.Session(tr.LinUCB(noise=0.5, theta_bound=0.5, radius="determinant"), arms=X)
        inside = True
        for _ in range(30):
            arm = session.select()
            session.update(arm, X[arm] @ theta + 0.5 * rng.normal())
            report = session.explain()
            inside &= bool((abs(report["mean"] - X @ theta) <= report["width"]).all())
        misses += not inside
    assert misses <= 200 * 0.1 + 4 * math.sqrt(200 * 0.1 * 0.9)
