"""The measures of the conservative reproduction on runs whose answers are known by hand."""

import dataclasses
import math

import numpy as np
import pytest

from tightrope.results import Result
from tightrope_papers.conservative import measures
from tightrope_papers.conservative.measures import (
    even_checkpoints,
    extreme_models,
    final,
    gains,
    lower,
    lower_in_draws,
    most_often,
    parallel,
    reduced_by_more,
    reduction,
    relative,
    safety,
    summary,
    worst_models_of_draws,
    worst_of_draws,
)
from tightrope_papers.scoring import Estimate


@pytest.fixture
def result():
    """Two models, three runs each, in turn: "new" has half of "old"'s regret on model 0 and nine
    tenths on model 1."""
    old = np.array([100.0, 10.0, 110.0, 20.0, 120.0, 30.0])
    regret = {"free": 0.3 * old, "old": old, "new": (old * np.array([0.5, 0.9] * 3))}

    def watched(violations, budget):
        violations = np.array(violations, dtype=float)[:, None]
        events = np.broadcast_to([600.0, 300.0, 100.0], (6, 2, 3))
        return {
            "violations": violations,
            "budget": np.column_stack([np.zeros(6), budget]),
            "events": events,
            "minimum": -violations,
            "lowest": -violations,
        }

    return Result(
        rounds=np.array([100, 1000]),
        regret={name: np.column_stack([0.1 * curve, curve]) for name, curve in regret.items()},
        pulls={},
        watched={
            "free": watched([3, 2, 1, 5, 0, 0], np.full(6, -5.0)),
            "old": watched([0] * 6, np.full(6, 5.0)),
            "new": watched([0] * 6, np.full(6, 7.0) + 0.1 * np.arange(6)),
        },
    )


def test_replications_go_round_the_models(result):
    np.testing.assert_array_equal(final(result, "old"), [100, 10, 110, 20, 120, 30])
    np.testing.assert_array_equal(final(result, "old", 1, 2), [10, 20, 30])
    assert relative(result, "new", "old", 0, 2) == pytest.approx((0.5, 0.0))
    assert relative(result, "new", "old").value == pytest.approx((0.5 * 330 + 0.9 * 60) / 390)


def test_the_worst_model_is_where_the_gain_is_smallest(result):
    assert gains(result, "new", "old", 2) == pytest.approx([0.5, 0.1])
    assert extreme_models(result, "new", "old", 2) == {"worst": 1, "best": 0}


@pytest.mark.parametrize(
    ("left", "se", "verdict"),
    [
        (0.49, 0.01, "reproduced"),
        (0.59, 0.02, "reproduced"),  # 41 % is within a fifth of 50 %
        (0.70, 0.02, "partly"),
        (0.99, 0.01, "not reproduced"),
        (1.50, 0.01, "not reproduced"),
    ],
)
def test_a_reduction_is_judged_in_per_cent_of_the_plain_regret(left, se, verdict):
    row = reduction("key", "less", 50, Estimate(left, se))
    assert row.verdict == verdict
    assert (row.ours, row.se) == pytest.approx((100 * (1 - left), 100 * se))


@pytest.mark.parametrize(
    ("left", "verdict"),
    [(0.45, "reproduced"), (0.49, "undecided"), (0.536, "partly"), (1.1, "not reproduced")],
)
def test_a_reduction_by_more_than_half_is_one_sided(left, verdict):
    """Jester's 46.4 % and the MAB's 47.5 % are no halves."""
    assert reduced_by_more("key", "less than half", 50, Estimate(left, 0.005)).verdict == verdict


def test_an_order_is_judged_by_the_paired_difference(rng):
    common = rng.normal(100.0, 50.0, 40)  # hides a difference of 5 from unpaired means
    row = lower("key", "a below b", common, common + 5.0 + rng.normal(0.0, 1.0, 40))
    assert row.verdict == "reproduced"
    assert row.ours < 1
    shuffled = lower("key", "a below b", common, rng.permutation(common + 5.0))
    assert shuffled.verdict != "reproduced"
    assert lower("key", "a below b", common + 5.0, common).verdict == "not reproduced"


def test_one_violation_is_enough_to_break_the_promise(result):
    kept, breaks, depth, early = safety(result, "free")
    assert (kept.verdict, kept.ours) == ("reproduced", "0 runs")
    assert "12 runs" in kept.text
    assert (breaks.verdict, breaks.ours) == ("reproduced", "67% of runs")
    assert depth.ours == pytest.approx(-11 / 6)
    assert depth.verdict == "undecided"  # -1.8 +- 0.8
    assert (early.ours, early.verdict) == (1.0, "not reproduced")
    result.watched["new"]["violations"][4] = 1
    kept = safety(result, "free")[0]
    assert (kept.verdict, kept.ours, kept.reason) == ("not reproduced", "1 runs", "1 of 12.")
    result.watched["new, of ours"] = result.watched.pop(
        "new"
    )  # a form of ours does not count for the paper's promise
    result.regret["new, of ours"] = result.regret.pop("new")
    kept, ours, *_ = safety(result, "free")
    assert (kept.verdict, kept.ours, ours.key, ours.verdict) == (
        "reproduced",
        "0 runs",
        "",
        "not reproduced",
    )
    result.watched["free"]["violations"][:3] = 0
    assert safety(result, "free")[2].verdict == "partly"


def test_the_worst_of_draws_is_the_worst_of_resampled_models(result):
    """Of two models, the worse is the worst of a draw of two in three draws of four."""
    worst = worst_models_of_draws(result, "new", "old", 2, 2, draws=4000)
    found = worst_of_draws(result, "new", "old", 2, worst)
    assert most_often(worst) == 1
    assert set(np.round(found, 9)) == {10.0, 50.0}
    assert np.mean(found < 30) == pytest.approx(0.75, abs=4 * math.sqrt(0.75 * 0.25 / 4000))


def test_draws_may_be_smaller_than_the_pool(result):
    """Where the worse model is one of four and not of two, fewer draws of two have it: 7 in 16."""
    better = {"new": 0.5 * result.regret["old"], "old": result.regret["old"]}
    # Replication r plays model r % models: rounds of the two models, then of the two better ones.
    pooled = {
        name: np.stack([own.reshape(-1, 2, 2), best.reshape(-1, 2, 2)], axis=1).reshape(-1, 2)
        for name, own, best in ((name, result.regret[name], better[name]) for name in better)
    }
    pool = dataclasses.replace(result, regret=pooled)
    drawn = worst_of_draws(
        pool, "new", "old", 4, worst_models_of_draws(pool, "new", "old", 4, 2, draws=4000)
    )
    assert np.mean(drawn < 30) == pytest.approx(7 / 16, abs=4 * math.sqrt(7 / 16 * 9 / 16 / 4000))


def test_an_order_on_the_worst_model_is_judged_over_draws(result):
    """ "free" has .3 and "new" .5 or .9 of the regret of "old"; on the worst of a draw "half", at
    .6 on both, is below "new" in three of four."""
    result.regret["half"] = 0.6 * result.regret["old"]
    worst = worst_models_of_draws(result, "new", "old", 2, 2)
    for one, other, verdict in (
        ("half", "new", "partly"),
        ("free", "new", "reproduced"),
        ("new", "free", "not reproduced"),
    ):
        row = lower_in_draws("key", "one below other", result, one, other, 2, worst)
        assert row.verdict == verdict


def budget_result(regret, budget):
    """Three policies by name, 50 runs each, final regrets and budgets at (750, 1000)."""
    noise = np.random.default_rng(0).normal(0.0, 1.0, (50, 1))
    return Result(
        rounds=np.array([750, 1000]),
        regret={name: np.full((50, 2), value) + noise for name, value in regret.items()},
        pulls={},
        watched={name: {"budget": np.array(values) + noise} for name, values in budget.items()},
    )


def test_parallel_budgets_have_the_same_slope():
    regret = {"a": 10.0, "b": 20.0, "c": 30.0}
    for last, verdict in ((98, "reproduced"), (50, "not reproduced")):
        budgets = {"a": [50, 150], "b": [40, 139], "c": [0, last]}
        assert parallel(budget_result(regret, budgets)).verdict == verdict


def test_the_bounds_of_the_theorems_are_those_of_the_proofs():
    """At d = 1, lam = B = sigma = D = 1, alpha mu_l = 1/4, delta = 1/2, computed by hand from Eq 17
    and Lemma 3."""
    world = measures.BoundConstants(1, 0.5, 0.5, 1.0, 1.0, 0.5)
    G = 12 + math.sqrt(2)
    inside = 36 * 4 * math.sqrt(6) * G
    L = math.log(
        math.sqrt(24) + 12 * math.sqrt(6) * (4 * G) ** 2 * math.log(inside) ** 2
    ) * math.log(inside)
    assert measures.clucb2_plays(world) == pytest.approx(
        8 + 16 / 3 * L + 32 / math.sqrt(3) * G * L + 32 * G**2 * L
    )
    growth = math.log(101)
    linucb = 4 * math.sqrt(100 * growth) * (1 + math.sqrt(2 * math.log(2) + growth))
    assert measures.linucb_regret(world, 100) == pytest.approx(linucb)
    assert measures.clucb2_regret(world, 100) == pytest.approx(
        linucb + measures.clucb2_plays(world)
    )
    assert measures.granted_rounds(world, 30) == pytest.approx(0.25 / (0.5 + 0.25) * 30)
    scale = 2 / 3 + 3
    assert measures.rounds_from_which_longer_periods_help(world) == pytest.approx(
        28 * (scale * 4) ** 2 * math.log(696 * 3 / 0.5 * 16 * scale**2) ** 2
    )
    late = 57 * 4 * scale**2 * math.log(44 * math.sqrt(3) * math.sqrt(2) * 4 * scale**2) ** 2
    assert measures.clucb2t_plays(world, 30) == pytest.approx(8 * late)
    assert measures.clucb2t_plays(world, 1e12) == 0.0
    assert measures.clucb2t_regret(world, 100, 1e12) == measures.linucb_regret(world, 100)


def test_the_table_holds_ratios_events_and_violations(result):
    table = summary(result, 2, "old", {"worst": 1, "best": 0}).set_index("policy")
    assert table.loc["new", "ratio to old"] == pytest.approx((0.5 * 330 + 0.9 * 60) / 390)
    assert table.loc["new", ["worst model", "best model"]].tolist() == pytest.approx([0.9, 0.5])
    assert table.loc["free", "runs with violations"] == 4
    assert table.loc["free", "minimum budget"] == -5
    assert table.loc["old", ["own choice", "safe-other", "baseline"]].tolist() == pytest.approx(
        [0.6, 0.3, 0.1]
    )


def test_checkpoints_are_even_with_a_fine_beginning():
    rounds = even_checkpoints(10_000)
    assert (rounds[0], rounds[-1]) == (1, 10_000)
    assert set(range(100, 10_001, 100)) <= set(rounds)
    assert sum(t < 100 for t in rounds) > 15
    assert even_checkpoints(1) == [1]
    assert all(math.isfinite(t) for t in rounds)
