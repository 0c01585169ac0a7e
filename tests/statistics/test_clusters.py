"""What the paper is about, at a size that a test can afford: sets from clusters of equal arms."""

import numpy as np
import pytest

import tightrope as tr
from tiers import thorough
from tightrope.simulation.monitors import SetValue

TRIALS = 40


@pytest.fixture(scope="module")
def gains():
    """Value of every policy at an angle of 0.6 pi/2, by trial, under every tie rule."""
    from tightrope_papers.semibandits.settings import clustered_world

    found = {}
    for rule in ("index", "random", "tiers"):
        problems = [
            clustered_world(0.6 * np.pi / 2, seed=trial, arms=1000, k=50, tiers=rule == "tiers")
            for trial in range(TRIALS)
        ]
        ties = "index" if rule == "index" else "random"
        policies = {
            "C2UCB": tr.C2UCB(ties=ties),
            "PC2UCB": tr.PC2UCB(ties=ties),
            "round": tr.CombTS(ties=ties),
            "arm": tr.CombTS(randomization="arm", ties=ties),
        }
        result = tr.simulate(
            problems,
            policies,
            horizon=10,
            replications=TRIALS,
            checkpoints=[10],
            monitor=SetValue(),
            workers=1,
        )
        found[rule] = {name: result.watched[name]["value"][:, -1] for name in policies}
    return found


def ahead(first, second):
    difference = first - second
    return difference.mean() / (difference.std(ddof=1) / np.sqrt(difference.size))


@thorough
@pytest.mark.parametrize("ties", ["index", "random", "tiers"])
def test_arm_wise_thompson_beats_round_wise_under_every_tie_rule(gains, ties):
    assert ahead(gains[ties]["arm"], gains[ties]["round"]) > 4


@thorough
def test_perturbed_optimism_wins_by_its_tie_breaking(gains):
    assert ahead(gains["index"]["PC2UCB"], gains["index"]["C2UCB"]) > 4
    assert abs(ahead(gains["random"]["PC2UCB"], gains["random"]["C2UCB"])) < 4
    # Where clusters never tie, only the perturbation can mix them.
    assert ahead(gains["tiers"]["PC2UCB"], gains["tiers"]["C2UCB"]) > 4


def test_random_ties_spread_over_clusters_and_index_ties_do_not():
    from tightrope_papers.semibandits.settings import clustered_world

    problem = clustered_world(0.5, seed=0, arms=1000, k=50)
    labels = np.arange(1000) // 100
    for ties, clusters in (("index", 1), ("random", 10)):
        session = tr.Session(
            tr.C2UCB(ties=ties), arms=problem.features, oracle=problem.oracle, seed=0
        )
        assert np.unique(labels[session.select()]).size == clusters
