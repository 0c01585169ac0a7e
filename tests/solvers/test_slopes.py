"""The least Lipschitz constant of measured means, and budgets for each promotion."""

import itertools

import numpy as np
import pytest

import tightrope as tr


def test_the_least_constant_is_the_steepest_pair(rng):
    points, means = np.sort(rng.random(9)), rng.random(9)
    found = tr.least_lipschitz(points, means)
    slopes = {
        (i, j): abs(means[i] - means[j]) / abs(points[i] - points[j])
        for i, j in itertools.combinations(range(9), 2)
    }
    assert slopes[found.pair] == found.value == max(slopes.values()) == found.lower == found.upper
    with pytest.warns(UserWarning, match="least constant"):
        tr.lipschitz_lower_bound(means, points=points, lipschitz=0.99 * found.value)


def test_its_bounds_hold_as_often_as_they_say():
    rng, points = np.random.default_rng(1), np.linspace(0.0, 1.0, 6)
    means, errors = 0.5 * np.abs(points - 0.4), np.linspace(0.01, 0.05, 6)
    missed, steeper, runs = 0, 0, 2000
    for _ in range(runs):
        found = tr.least_lipschitz(points, means + errors * rng.normal(size=6), errors, alpha=0.1)
        missed += not found.lower <= 0.5 <= found.upper
        steeper += found.value > 0.5
    assert missed / runs <= 0.1 + 4 * np.sqrt(0.1 * 0.9 / runs)
    assert steeper / runs > 0.9  # which is why there are bounds


def test_each_promotion_has_its_budget_and_the_assignment_is_optimal(rng):
    scores = rng.normal(size=(6, 3))
    found = tr.oracles.Promotions(k=[1, 2, 1]).solve(scores)
    assert np.bincount(found.pairs[:, 1]).tolist() == [1, 2, 1]
    assert found.bound == pytest.approx(found.value)
    best = max(
        scores[[a, b, c, e], [0, 1, 1, 2]].sum()
        for a, b, c, e in itertools.permutations(range(6), 4)
        if b < c
    )
    assert found.value == pytest.approx(best)
    same = tr.oracles.Promotions(promotions=3, k=[2, 2, 2])
    assert same(scores).tolist() == tr.oracles.Promotions(promotions=3, k=2)(scores).tolist()


def test_arms_are_read_back_as_users_and_promotions(tmp_path):
    scores = np.arange(12.0).reshape(4, 3)
    oracle = tr.oracles.Promotions(k=[1, 1, 2])
    table = oracle.decode([5, 9], scores, users=list("wxyz"), names=["p", "q", "r"])
    assert table.to_dict("list") == {
        "user": ["x", "z"],
        "promotion": ["r", "p"],
        "score": [5.0, 9.0],
    }
    assert oracle.decode([[1, 2], [3, 0]])["user"].tolist() == [1, 3]
    for words, asked in (
        ("k has 2 budgets", {"promotions": 3, "k": [1, 1]}),
        ("promotions is missing", {"k": 2}),
        (r"k\[1\] = 0", {"k": [1, 0]}),
    ):
        with pytest.raises(ValueError, match=words):
            tr.oracles.Promotions(**asked)
    session = tr.Session(tr.CombGreedy(), arms=np.eye(5), oracle=oracle, seed=0)
    assert tr.Session.load(session.save(tmp_path / "s.npz")).arms.oracle == oracle


def test_slopes_of_many_pairs_are_looked_at_a_part_at_a_time(monkeypatch, rng):
    """The same worst pair and constant as over all pairs at once, in a fraction of the memory."""
    import tracemalloc

    from tightrope.core import checks

    points = np.sort(rng.random(300))
    means, distances = 0.5 + 0.4 * np.sin(9 * points), np.abs(points[:, None] - points)
    whole = checks.steepness(means, distances, 2.0)
    monkeypatch.setattr(checks, "CELLS", 1000)
    assert checks.steepness(means, distances, 2.0) == whole
    rises = np.abs(means[:, None] - means)
    assert whole[:2] == np.unravel_index(int(np.argmax(rises - 2.0 * distances)), rises.shape)
    assert whole[2] == pytest.approx(
        (rises / np.where(distances > 0, 2.0 * distances, np.inf)).max()
    )
    assert checks.steepness(means, distances, 100.0) is None
    monkeypatch.undo()
    K = 2000
    tracemalloc.start()
    tr.problems.Lipschitz(
        points=np.linspace(0, 1, K), means=0.3 + 0.4 * np.linspace(0, 1, K), lipschitz=1.0
    )
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 2.5 * 8 * K * K + 8e7
    with pytest.raises(ValueError, match=r"points: pairs = .* needs .* of memory"):
        tr.problems.Lipschitz(
            points=np.linspace(0, 1, 500_000), means=np.full(500_000, 0.5), lipschitz=1.0
        )
    with pytest.raises(ValueError, match=r"points: pairs = .* needs .* of memory"):
        tr.Session(tr.HOO(nu=1.0), points=np.linspace(0, 1, 500_000))


def test_the_order_of_a_promises_cost_is_what_the_deficit_needs():
    given = {"baseline_mean": 0.5, "gap": 0.1, "horizon": 10_000}
    found = tr.conservative_lower_bound("arms", 10, alpha=0.05, sigma=2.0, **given)
    a, n = 2 / 27 * np.sqrt(9), np.linspace(0, 5, 100_001)
    deficit = (a * np.sqrt(n) - n * (0.05 * 0.5 + 0.1)).max()
    assert found.rounds == pytest.approx(deficit / (0.05 * 0.5), rel=1e-6)
    assert found.without == pytest.approx(a * 100)
    assert found.regret == pytest.approx(found.without + 0.1 * found.rounds)
    few = tr.conservative_lower_bound("arms", 10, alpha=0.2, **given)
    many = tr.conservative_lower_bound("arms", 10, alpha=0.05, **given)
    assert 4 < many.rounds / few.rounds < 16
    with pytest.raises(ValueError, match="kind = 'sets'"):
        tr.conservative_lower_bound("sets", 10, alpha=0.2, **given)
