"""The measures of the conservative reproduction on runs whose answers are known by hand."""

import math

import numpy as np
import pytest

from tightrope.engine.results import Result
from tightrope.papers.conservative.measures import (
    budgets,
    even_checkpoints,
    final,
    gains,
    lower,
    picked,
    reduction,
    relative,
    safety,
    summary,
)
from tightrope.papers.scoring import Estimate


@pytest.fixture
def result():
    """Two models, three runs each, in turn: "new" has half of "old"'s regret on model 0 and nine tenths on model 1."""
    old = np.array([100.0, 10.0, 110.0, 20.0, 120.0, 30.0])
    new = old * np.array([0.5, 0.9] * 3)
    regret = {"free": 0.3 * old, "old": old, "new": new}

    def watched(violations, budget):
        violations = np.array(violations, dtype=float)[:, None]
        events = np.broadcast_to([600.0, 300.0, 100.0], (6, 2, 3))
        return {
            "violations": violations, "budget": np.column_stack([np.zeros(6), budget]), "events": events,
            "minimum": -violations, "lowest": -violations,
        }  # fmt: skip

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
    assert picked(result, "new", "old", 2) == {"worst": 1, "best": 0}


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
    claim = reduction("less", 50, Estimate(left, se))
    assert claim.verdict == verdict
    assert (claim.ours, claim.se) == pytest.approx((100 * (1 - left), 100 * se))


def test_an_order_is_judged_by_the_paired_difference():
    rng = np.random.default_rng(0)
    common = rng.normal(100.0, 50.0, 40)  # hides a difference of 5 from unpaired means
    claim = lower("a below b", "lower", common, common + 5.0 + rng.normal(0.0, 1.0, 40))
    assert claim.verdict == "reproduced"
    assert claim.ours < 1
    shuffled = lower("a below b", "lower", common, rng.permutation(common + 5.0))
    assert shuffled.verdict != "reproduced"
    assert lower("a below b", "lower", common + 5.0, common).verdict == "not reproduced"


def test_one_violation_is_enough_to_break_the_promise(result):
    kept, breaks = safety(result, "free")
    assert (kept.verdict, kept.ours) == ("reproduced", "0 runs")
    assert "12 runs" in kept.claim
    assert (breaks.verdict, breaks.ours) == ("reproduced", "67% of runs")
    result.watched["new"]["violations"][4] = 1
    kept, _ = safety(result, "free")
    assert (kept.verdict, kept.ours, kept.reason) == ("not reproduced", "1 runs", "1 of 12.")
    result.watched["free"]["violations"][:3] = 0
    assert safety(result, "free")[1].verdict == "partly"


def test_the_higher_budget_is_found_by_the_paired_difference(result):
    first = budgets(result, "free", "old", "new")[0]
    assert first.verdict == "reproduced"
    assert first.ours == pytest.approx(2.25)
    assert budgets(result, "free", "new", "old")[0].verdict == "not reproduced"


def test_the_table_holds_ratios_events_and_violations(result):
    table = summary(result, 2, "old", {"worst": 1, "best": 0}).set_index("policy")
    assert table.loc["new", "ratio to old"] == pytest.approx((0.5 * 330 + 0.9 * 60) / 390)
    assert table.loc["new", ["worst model", "best model"]].tolist() == pytest.approx([0.9, 0.5])
    assert table.loc["free", "runs with violations"] == 4
    assert table.loc["free", "minimum budget"] == -5
    assert table.loc["old", ["own choice", "safe-other", "baseline"]].tolist() == pytest.approx([0.6, 0.3, 0.1])


def test_checkpoints_are_even_with_a_fine_beginning():
    rounds = even_checkpoints(10_000)
    assert rounds[0] == 1
    assert rounds[-1] == 10_000
    assert set(range(100, 10_001, 100)) <= set(rounds)
    assert sum(t < 100 for t in rounds) > 15
    assert even_checkpoints(1) == [1]
    assert all(math.isfinite(t) for t in rounds)
