"""A session's chances in many rounds at once are those of one round after the other."""

import itertools

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm

import tightrope as tr
from tightrope.numerics.posterior import best_of_normals
from tightrope.session import batches
from tightrope.session.batches import answered_at_once, propensities_of_rounds

POLICIES = {  # and whether kernels answer for all rounds
    "LinUCB": (tr.LinUCB(), True),
    "LinUCB, a model per arm": (tr.LinUCB(shared=False), True),
    "LinUCB, fading": (tr.LinUCB(forget=0.9), True),
    "LinEpsilonGreedy": (tr.LinEpsilonGreedy(), True),
    "SoftUCB": (tr.SoftUCB(), True),
    "SquareCB": (tr.SquareCB(), True),
    "LinMED": (tr.LinMED(), True),
    "LinTS, a model per arm": (tr.LinTS(shared=False), True),
    "LinTS, one model": (tr.LinTS(shared=True), False),  # the arms' draws depend on each other
    "UCB in Explore": (tr.Explore(tr.LinUCB(), floor=0.1), False),
}
NO_COMMON = ("LinUCB, fading", "LinMED", "LinTS, one model")


@pytest.mark.parametrize("name", POLICIES)
@pytest.mark.parametrize("common", [False, True])
@pytest.mark.parametrize("masked", [False, True])
def test_many_rounds_at_once_are_one_after_another(name, common, masked, rng):
    policy, together = POLICIES[name]
    if common and name in NO_COMMON:
        pytest.skip("refused")
    session = tr.Session(policy, arms=3, dimension=2, seed=4)
    shape = (2,) if common else (3, 2)
    for _ in range(30):
        context = rng.normal(size=shape)
        decision = session.decide(context)
        session.reward(decision.id, float(rng.normal() + np.sum(context)))
    features = rng.normal(size=(40, *shape))
    eligible = None
    if masked:
        eligible = rng.random((40, 3)) < 0.6
        eligible[~eligible.any(axis=1), 1] = True
    before = session.to_bytes()
    found = propensities_of_rounds(session, features, eligible)
    each = np.stack(
        [
            session.propensities(features[i], None if eligible is None else eligible[i])
            for i in range(40)
        ]
    )
    np.testing.assert_allclose(
        found, each, rtol=0.0, atol=1e-8 if name.startswith("LinTS") else 1e-15
    )
    assert (found.max(axis=0) > 0.0).sum() > 1, "one arm in all rounds would not show a wrong one"
    assert session.to_bytes() == before
    assert known_at_once(session, features, eligible).tolist() == [together] * 40


def test_a_round_that_the_policy_refuses_is_named_by_it():
    session = tr.Session(tr.LinUCB(), arms=2, dimension=2)
    features = np.ones((3, 2, 2))
    features[2, 1] = 1e160
    with pytest.raises(ValueError, match="too large"):
        propensities_of_rounds(session, features, None)


def test_many_entries_are_not_checked_together(monkeypatch):
    monkeypatch.setattr(batches, "MOST_ENTRIES", 5)
    session = tr.Session(tr.LinUCB(), arms=2, dimension=2)
    assert not known_at_once(session, np.ones((3, 2, 2)), None).any()


@pytest.mark.parametrize("learned", [0, 1, 200])
def test_thompson_chances_at_once_with_many_arms_and_few_rewards(learned):
    """Untried arms come first; arms far behind have next to no chance; twenty panels or
    hundreds."""
    rng = np.random.default_rng(learned)
    session = tr.Session(tr.LinTS(), arms=8, dimension=3, seed=1)
    theta = rng.normal(size=(8, 3))
    for _ in range(learned):
        context = rng.normal(size=3)
        decision = session.decide(context)
        session.reward(decision.id, float(theta[decision.arm] @ context + 0.1 * rng.normal()))
    features = rng.normal(size=(30, 3)) * np.repeat([1e-3, 1.0, 30.0], 10)[:, None]
    eligible = rng.random((30, 8)) < 0.7
    eligible[:, 0] = True
    found = propensities_of_rounds(session, features, eligible)
    each = np.stack([session.propensities(features[i], eligible[i]) for i in range(30)])
    np.testing.assert_allclose(found, each, rtol=0.0, atol=1e-8)
    assert known_at_once(session, features, eligible).sum() > 20


def test_chances_of_normals_against_their_integral():
    """`best_of_normals` beside scipy's quadrature, also where one deviation is a thousand times
    another; not where an entry is certain."""
    for seed in range(20):
        rng = np.random.default_rng(seed)
        mean, deviation, chance = (
            rng.normal(size=4),
            np.exp(rng.uniform(-3.0, 3.0, 4)),
            np.full(4, np.nan),
        )
        assert best_of_normals(mean, deviation, chance)
        for k in range(4):
            others = [j for j in range(4) if j != k]

            def integrand(z, k=k, others=others, mean=mean, deviation=deviation):
                return (
                    norm.pdf(z)
                    * norm.cdf(
                        (mean[k] + z * deviation[k] - mean[others]) / deviation[others]
                    ).prod()
                )

            edges = [
                (mean[j] + c * deviation[j] - mean[k]) / deviation[k]
                for j in range(4)
                for c in (-6, -3, -1, 0, 1, 3, 6)
            ]
            edges = np.unique(np.clip([-8.5, *edges, 8.5], -8.5, 8.5))
            truth = sum(
                quad(integrand, low, high, epsabs=1e-13)[0]
                for low, high in itertools.pairwise(edges)
            )
            assert abs(chance[k] - truth) < 1e-8, (seed, k)
    assert not best_of_normals(np.zeros(2), np.array([1.0, 0.0]), np.empty(2))
    assert not best_of_normals(np.zeros(100), np.geomspace(1e-5, 1.0, 100), np.empty(100)), (
        "too many panels"
    )


def known_at_once(session, features, eligible):
    """Which rounds kernels answer for."""
    out, known = np.zeros((len(features), session.arms.number)), np.zeros(len(features), dtype=bool)
    answered_at_once(session, features, eligible, out, known)
    return known
