"""Regret of policies over sets without features, against each other and against what no learning
costs."""

import numpy as np

import tightrope as tr
from tiers import thorough
from tightrope.core.files import standard_error


def behind(result, first, second):
    """Mean and standard error of final regret(first) - final regret(second)."""
    difference = result.regret[first][:, -1] - result.regret[second][:, -1]
    return difference.mean(), standard_error(difference)


@thorough
def test_divergences_pay_on_a_cascade_of_rare_clicks():
    means = np.r_[np.full(2, 0.2), np.full(6, 0.05)]
    problem = tr.problems.Cascade(means, tr.oracles.TopK(2))
    result = tr.simulate(
        problem, {"KL": tr.CombKLUCB(), "UCB": tr.CombUCB1()}, horizon=1500, replications=8, seed=1
    )
    difference, se = behind(result, "KL", "UCB")
    assert difference < -4 * se
    blind = 1500 * np.mean(
        [
            problem.best - (1 - (1 - a) * (1 - b))
            for i, a in enumerate(means)
            for b in means[i + 1 :]
        ]
    )
    for name in ("KL", "UCB"):
        final = result.regret[name][:, -1]
        assert final.mean() + 4 * standard_error(final) < blind


def test_sets_without_features_are_learned():
    """Of 70 sets only one has no regret; the second half of the rounds costs less than the
    first."""
    means = np.r_[np.full(4, 0.7), np.full(4, 0.3)]
    problem = tr.problems.SemiBandit(np.eye(8), means, tr.oracles.TopK(4), rewards="bernoulli")
    policies = {"ESCB": tr.ESCB(c=0.0), "UCB": tr.CombUCB1(alpha=0.5)}
    result = tr.simulate(
        problem, policies, horizon=600, replications=4, seed=2, checkpoints=[300, 600]
    )
    for name in policies:
        first, both = result.regret[name].T
        assert (both - 2 * first).mean() < -4 * standard_error(both - 2 * first)
