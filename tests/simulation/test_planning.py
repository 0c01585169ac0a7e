"""`plan`: textbook numbers that hold, and advice that follows from the numbers."""

import numpy as np
import pytest

import tightrope as tr
from tightrope.simulation.simulate import _advice, fixed_size


def test_tests_of_fixed_size_keep_their_error_at_the_hardest_means():
    means, epsilon, delta, runs = np.array([0.5, 0.4, 0.4]), 0.1, 0.1, 20_000
    fixed, textbook = fixed_size(means, epsilon, delta)
    assert textbook < fixed
    rng = np.random.default_rng(0)
    for size in (fixed, textbook):
        wrong = (rng.binomial(size // 3, means, (runs, 3)) + rng.random((runs, 3)) * 1e-6).argmax(
            axis=1
        ) != 0
        assert wrong.mean() <= delta + 4 * np.sqrt(delta * (1 - delta) / runs)
    small = (rng.binomial(textbook // 12, means, (runs, 3)) + rng.random((runs, 3)) * 1e-6).argmax(
        axis=1
    ) != 0
    assert small.mean() > delta  # a quarter of the samples would not do


def test_a_plan_is_what_identify_takes_and_its_advice_names_the_cheapest():
    planned = tr.plan([0.1, 0.9], epsilon=0.1, delta=0.1, replications=4)
    assert planned.samples["UGapE"] == planned.simulated.rounds["UGapE"].mean()
    assert planned.certified == {"UGapE": 1.0}
    assert planned._repr_html_().count("<tr>") == 4
    assert "choose A" in _advice({"A": 50.0}, {"A": 1.0}, 200, 100)
    assert "If that is enough" in _advice({"A": 150.0}, {"A": 1.0}, 200, 100)
    assert "It is the better choice" in _advice({"A": 250.0}, {"A": 1.0}, 200, 100)
    assert "not certified" in _advice({"A": 50.0}, {"A": 0.5}, 200, 100)


def test_rounds_of_the_baseline_pay_for_a_test_that_is_never_checked():
    means, delta, n = [0.3, 0.5, 0.4], 0.1, np.arange(1.0, 200_001.0)
    may_be_lost = 3 + 2 * np.sqrt(6 * n * np.log(3 * n**3 / delta))
    for alpha, horizon in ((0.05, 200_000), (0.2, 200_000), (0.05, 500)):
        planned = tr.plan(
            means, epsilon=0.3, delta=delta, alpha=alpha, replications=1, max_rounds=horizon
        )
        short = may_be_lost[:horizon] - alpha * 0.3 * (n[:horizon] + planned.baseline_first)
        assert -alpha * 0.3 < short.max() <= 1e-6  # one round less would not do
        assert f"{planned.baseline_first:,}" in repr(planned)
    assert tr.plan(means, epsilon=0.3, replications=1).baseline_first is None
    for wrong, words in (
        ({"alpha": 1.5}, "alpha = 1.5"),
        ({"alpha": 0.1, "baseline": 3}, "baseline = 3"),
    ):
        with pytest.raises(ValueError, match=words):
            tr.plan(means, epsilon=0.3, **wrong)
    with pytest.raises(ValueError, match=r"means\[0\] = 0 is the baseline's"):
        tr.plan([0.0, 0.5], epsilon=0.3, alpha=0.1)


def test_means_that_are_not_linear_in_the_features_are_refused():
    with pytest.raises(ValueError, match="not a linear function of arms"):
        tr.plan([0.1, 0.2, 0.9], epsilon=0.1, arms=[[1.0], [2.0], [3.0]])
    with pytest.raises(ValueError, match="two or more arms"):
        tr.plan([0.1], epsilon=0.1)


@pytest.mark.parametrize(
    "means", [[0.0, 0.0], [1e-4, 1e-4], [0.001, 0.0], [0.999, 1.0], [0.0, 0.0, 0.011], [0.5, 0.0]]
)
def test_rates_near_0_or_1_have_no_textbook_size(means):
    planned = tr.plan(means, epsilon=0.01, delta=0.05, replications=2, seed=0, max_rounds=2_000)
    assert planned.textbook is None
    assert f"{planned.fixed:,}" in planned.advice
    assert "n p (1 - p) is below 5" in planned.advice
    assert "none: n p (1 - p) is below 5" in repr(planned)


def test_a_textbook_size_stands_where_every_arm_has_enough_of_both_outcomes():
    fixed, textbook = fixed_size(np.array([0.02, 0.03]), 0.01, 0.05)
    assert textbook < fixed
    assert textbook / 2 * 0.02 * 0.98 >= 5.0
