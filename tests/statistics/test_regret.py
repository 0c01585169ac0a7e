"""Regret against theory and against each other, with margins of four standard errors computed from
the run."""

import math

import numpy as np
import pytest
from scipy.optimize import brentq

import tightrope as tr
from tightrope.core.files import standard_error
from tightrope.numerics.counts import bernoulli_divergence

MEANS = np.array([0.1, 0.05, 0.05, 0.02])
HARD = tr.problems.Bernoulli(MEANS)


def paired(result, first, second):
    """Mean and standard error of final regret(first) - final regret(second)."""
    difference = result.regret[first][:, -1] - result.regret[second][:, -1]
    return difference.mean(), standard_error(difference)


def test_klucb_and_thompson_beat_ucb_where_means_are_small():
    result = tr.simulate(
        HARD,
        {"UCB": tr.UCB(), "KL": tr.KLUCB(), "TS": tr.BetaThompson()},
        horizon=20_000,
        replications=40,
        seed=1,
    )
    for better in ("KL", "TS"):
        difference, se = paired(result, better, "UCB")
        assert difference < -4 * se


def test_klucb_grows_at_the_rate_of_lai_and_robbins():
    """Between T = 10^4 and 10^5 the regret of KL-UCB grows by about C ln 10 (within 35 % and four
    standard errors)."""
    result = tr.simulate(
        HARD, tr.KLUCB(), horizon=100_000, replications=60, seed=2, checkpoints=[10_000, 100_000]
    )
    growth = np.diff(result.regret["KLUCB"], axis=1)[:, 0]
    rate = sum((0.1 - m) / bernoulli_divergence(m, 0.1) for m in MEANS[1:]) * math.log(10)
    assert abs(growth.mean() - rate) < 0.35 * rate + 4 * standard_error(growth)


def balanced_pulls(means, alpha, T):
    """The pulls N, adding up to T, at which all indices means + sqrt(alpha ln T / N) are equal."""

    def pulls(level):
        return alpha * math.log(T) / (level - means) ** 2

    level = brentq(lambda level: pulls(level).sum() - T, means.max() + 1e-6, means.max() + 100.0)
    return pulls(level)


def test_ucb_pulls_balance_the_indices():
    """The regret of UCB concentrates where the indices of all arms meet (Kalvit, Zeevi 2021); a
    wrong alpha would move it by as much."""
    problem = tr.problems.Bernoulli([0.3, 0.5, 0.7])
    result = tr.simulate(problem, tr.UCB(alpha=2.0), horizon=20_000, replications=200, seed=3)
    final = result.regret["UCB"][:, -1]
    expected = (problem.best - problem.means) @ balanced_pulls(problem.means, 2.0, 20_000)
    assert abs(final.mean() - expected) < 0.05 * expected + 4 * standard_error(final)


def test_features_pay_when_arms_are_many():
    X = np.random.default_rng(0).normal(size=(60, 4))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    problem = tr.problems.Linear(X, X[0], noise=0.3)
    policies = {
        "UCB": tr.UCB(alpha=2, sigma=0.3),
        "LinUCB": tr.LinUCB(width="theorem", noise=0.3),
        "LinTS": tr.LinTS(noise=0.3, scale=0.3),
    }
    result = tr.simulate(problem, policies, horizon=3000, replications=30, seed=4)
    for better in ("LinUCB", "LinTS"):
        difference, se = paired(result, better, "UCB")
        assert difference < -4 * se


def test_confidence_set_holds_the_truth_and_is_no_wider_than_it_must_be():
    """LinUCB's anytime radius at delta = 0.1 for one arm and theta = 0, where its inequality is
    nearly an equality.

    The widths depend on the number of rounds alone, so they come from one session and the rewards
    of 4,000 runs from NumPy.
    """
    lam, rounds, runs, delta = 30.0, 1500, 4000, 0.1
    policy = tr.LinUCB(
        width="theorem", noise=1.0, lam=lam, delta=delta, theta_bound=1e-9, radius="determinant"
    )
    session, rng = tr.Session(policy, arms=[[1.0]]), np.random.default_rng(1)
    noise, width = rng.standard_normal((runs, rounds)), np.zeros(rounds)
    for t in range(rounds):
        session.update(0, noise[0, t])
        width[t] = session.explain()["width"][0]
    mean = np.cumsum(noise, axis=1) / (lam + np.arange(1, rounds + 1))
    assert session.explain()["mean"][0] == pytest.approx(mean[0, -1], rel=1e-9)
    missed = (np.abs(mean) > width).any(axis=1)
    se = math.sqrt(delta * (1 - delta) / runs)
    assert 0.6 * delta < missed.mean() < delta + 4 * se
