"""Regret of the Lipschitz policies: who is below whom, by 4 standard errors of paired
differences."""

import numpy as np

import tightrope as tr
from tiers import thorough
from tightrope.core.files import standard_error
from tightrope_papers.lipschitz.discrete import difference, instance


@thorough
def test_cklucb_is_below_klucb_and_ucb1_and_the_extension_below_oslb():
    problem = instance("steep", 17)
    L = problem.lipschitz
    chosen = {
        "CKL": tr.CKLUCB(lipschitz=L),
        "KL": tr.KLUCB(),
        "UCB1": tr.UCB(),
        "track": tr.TrackCKLUCB(lipschitz=L),
        "OSLB": tr.OSLB(lipschitz=L),
    }
    result = tr.simulate(problem, chosen, horizon=10_000, replications=72, seed=2)
    for better, worse in (("CKL", "KL"), ("CKL", "UCB1"), ("track", "KL"), ("track", "OSLB")):
        gap, se = difference(result, better, worse)
        assert gap < -4 * se, (better, worse)


def test_a_constant_far_too_small_makes_regret_linear_in_many_runs():
    """A run is linear if its second half costs nearly as much as the first: the best arm was
    refuted through its neighbours."""
    problem, linear, second_half = instance("triangle", 17), {}, {}
    for factor in (0.25, 2.0):
        policy = tr.CKLUCB(lipschitz=factor * problem.lipschitz)
        curve = tr.simulate(
            problem, policy, horizon=10_000, replications=48, seed=3, checkpoints=[5000, 10_000]
        ).regret["CKLUCB"]
        linear[factor], second_half[factor] = (
            (curve[:, 1] > 1.9 * curve[:, 0]) * 1.0,
            curve[:, 1] - curve[:, 0],
        )
    for found in (
        linear,
        second_half,
    ):  # the same noise under both constants, so the differences are paired
        gained = found[0.25] - found[2.0]
        assert gained.mean() > 4 * standard_error(gained)


def test_contextual_pairs_share_their_rewards():
    contexts, arms = np.linspace(0, 1, 3), np.linspace(0, 1, 5)
    problem = tr.problems.ContextualLipschitz(
        contexts, arms, 0.85 - 0.6 * np.abs(contexts[:, None] - arms), 0.6
    )
    result = tr.simulate(
        problem,
        {"pooled": tr.CKLUCB(lipschitz=1.0), "KL": tr.KLUCB()},
        horizon=10_000,
        replications=24,
        seed=4,
    )
    gap, se = difference(result, "pooled", "KL")
    assert gap < -4 * se
