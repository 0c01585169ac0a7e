"""Confidence sequences: two forms of the mixture, O(1) state, coverage under peeking, and the
variants that bias."""

import json
import math

import numpy as np
import pytest
from scipy.integrate import quad

from evaluation.adaptive_logs import Arena, crossing
from tightrope.evaluation import estimators
from tightrope.evaluation.estimators import (
    ConfidenceSequence,
    lower_bounds,
    shown_times,
)
from tightrope.numerics.counts import boundaries, constant, log_mixture

MEANS = [0.2, 0.35, 0.5, 0.58, 0.4]
ONES = np.ones(1)


@pytest.mark.parametrize("rho", [0.3, 1.0, 4.0])
def test_both_forms_of_the_mixture_agree(rho):
    fixed = constant(rho)
    for V in (0.0, 0.1, 1.0, 7.5, 19.0, 20.0, 300.0, 2e4, 1e6, 3e8):
        for S in (-0.2 * math.sqrt(V), 0.0, 0.5, 1.0 + math.sqrt(V), 1.0 + 4.0 * math.sqrt(V)):
            by_gamma = float(log_mixture(S, V, rho))
            assert abs(by_gamma - estimators.log_mixture(S, V, rho, fixed)) < 1e-8, (S, V)


def test_the_mixture_is_the_integral_it_stands_for():
    def weight(lam, rho):
        return (1.0 - lam) ** (rho - 1.0) * math.exp(lam * rho)

    for S, V, rho in ((2.0, 3.0, 1.0), (10.0, 8.0, 2.0), (-1.0, 5.0, 1.5)):
        top, bottom = (
            quad(lambda x: factor(x, S, V) * weight(x, rho), 0.0, 1.0)[0]  # noqa: B023
            for factor in (
                lambda x, S, V: math.exp(x * S + (x + math.log1p(-x)) * V),
                lambda *_: 1.0,
            )
        )
        assert math.log(top / bottom) == pytest.approx(float(log_mixture(S, V, rho)), abs=1e-7)


def test_boundaries_solve_their_equation_both_ways():
    V = np.array([0.0, 0.5, 3.0, 40.0, 1e3, 1e5])
    for alpha in (0.3, 0.05, 1e-4):
        S = boundaries(V, alpha)
        assert np.abs(log_mixture(S, V) - math.log(1.0 / alpha)).max() < 1e-8
        by_series = [estimators.boundary(v, 1.0, constant(1.0), math.log(1.0 / alpha)) for v in V]
        np.testing.assert_allclose(by_series, S, rtol=1e-8)


def test_state_fed_one_by_one_equals_all_at_once(rng):
    low, high = rng.exponential(size=(2, 500)) - 0.9
    one, many, again = ConfidenceSequence(0.1), ConfidenceSequence(0.1), ConfidenceSequence(0.1)
    for i, (x, y) in enumerate(zip(low.tolist(), high.tolist(), strict=True)):
        one.add(x, y)
        again.update(x, y)
        if i % 100 == 7:  # what is kept between rounds is JSON
            again = ConfidenceSequence(0.1, state=json.loads(json.dumps(again.state)))
    many.update(low, high)
    assert one.state == many.state == again.state
    assert one.bounds == many.bounds
    assert one.rounds == 500
    xi = low / 2.0
    guess = np.concatenate([[0.0], np.minimum(np.cumsum(xi)[:-1] / np.arange(1, 500), 0.5)])
    assert one.state[0] == pytest.approx([500, xi.sum(), ((xi - guess) ** 2).sum()])
    highest = xi.sum() * 2.0 / 500
    naive = min(
        nu
        for nu in np.linspace(0.0, highest, 20001)
        if log_mixture(xi.sum() - 500 * nu / 2.0, one.state[0][2]) < math.log(20.0)
    )
    assert one.bounds[0] == pytest.approx(naive, abs=1e-4)


def test_scores_that_break_the_bound_are_refused():
    with pytest.raises(ValueError, match="at least -k = -1"):
        ConfidenceSequence().update(-1.2, 0.5)
    for scores in ((0.5, -1.2), (math.nan, 0.5), (0.5, math.inf)):
        with pytest.raises(ValueError, match="at least -k = -1"):
            ConfidenceSequence().add(*scores)
    for state in (
        [[1.0, 0.5, 0.1]] * 3,
        [[1.0, 0.5, 0.1], [2.0, 0.5, 0.1]],
        [[1.0, 0.5, -0.1]] * 2,
    ):
        with pytest.raises(ValueError, match="state"):
            ConfidenceSequence(state=state)
    with pytest.raises(ValueError, match="one score for each round"):
        ConfidenceSequence().update([0.1, 0.2], 0.5)


def test_times_of_a_longer_log_contain_those_of_a_shorter():
    short, long = shown_times(1000), shown_times(1_000_000)
    assert set(short[:-1]) <= set(long)
    assert short[-1] == 1000
    assert long.size < 400


def test_the_round_of_the_crossing_is_the_first_at_which_the_mixture_says_so(rng):
    for _ in range(20):
        scores = rng.exponential(size=300) * 0.75 - 0.1
        state = np.zeros(9)
        ones = np.ones(300)
        for part in (slice(0, 70), slice(70, 300)):  # chunks change nothing
            x = np.ascontiguousarray(scores[part])
            estimators.first_crossing(
                x,
                x.size,
                1.0,
                0.5,
                1.0,
                constant(1.0),
                math.log(20.0),
                state,
                0.0,
                0.0,
                *[ones[part]] * 4,
                estimators.NO_TIMES,
                0,
                estimators.NO_COPIES,
            )
        seen = np.zeros((300, 3))
        estimators.advance(scores, 0, 300, 1.0, np.zeros(3), np.arange(1, 301), 0, seen)
        crossed = np.flatnonzero(
            log_mixture(seen[:, 1] - seen[:, 0] * 0.25, seen[:, 2]) >= math.log(20.0)
        )
        assert state[4] == (crossed[0] + 1 if crossed.size else 0)
        shown = np.flatnonzero(lower_bounds(seen, 0.05) > 0.5)
        assert state[4] == (
            shown[0] + 1 if shown.size else 0
        )  # what is shown is what is stopped on


def misses(arena, target, logs, alpha, change=None, in_sample=False):
    """How many logs exclude the true value at some round, looked at after every one, and each log's
    mean of phi^L."""
    truth, found, means = float(np.dot(target, arena.means)), 0, []
    for seed in range(logs):
        arena.play(seed, in_sample)
        (low, high, _, _), _, _ = arena.score(target)
        if change is not None:
            low, high = change(low, high)
        missed = False
        for scores, level in ((low, truth), (high, 1.0 - truth)):
            missed |= crossing(scores, level, math.log(2.0 / alpha)) > 0
        found += missed
        means.append(low.mean())
    return found, np.array(means)


def test_adaptive_logs_peeked_at_after_every_round_miss_at_most_alpha():
    logs, alpha = 2000, 0.1
    margin = 4.0 * math.sqrt(alpha * (1.0 - alpha) / logs)
    for target in ([0.2] * 5, [0.0, 0.0, 0.0, 1.0, 0.0]):
        found, means = misses(Arena(400, MEANS), target, logs, alpha)
        assert found / logs <= alpha + margin
        assert abs(means.mean() - np.dot(target, MEANS)) <= 4.0 * means.std() / math.sqrt(
            logs
        )  # phi^L is unbiased


def test_widths_of_the_reference_run():
    # K = 5, softmax logger with floor .02: widths .62, .26, .15, .07 after 100, 400, 1000, 4000
    # rounds
    arena, widths = Arena(4000, MEANS), []
    for seed in range(20):
        arena.play(seed)
        (low, high, _, _), _, _ = arena.score([0.2] * 5)
        seen = np.zeros((2, 4, 3))
        for scores, states in ((low, seen[0]), (high, seen[1])):
            estimators.advance(
                scores, 0, 4000, 1.0, np.zeros(3), np.array([100, 400, 1000, 4000]), 0, states
            )
        widths.append(1.0 - lower_bounds(seen[1], 0.025) - lower_bounds(seen[0], 0.025))
    np.testing.assert_allclose(np.mean(widths, axis=0), [0.62, 0.26, 0.15, 0.07], rtol=0.1)


def test_clipping_the_scores_to_the_unit_interval_biases():
    target, logs = [0.0, 0.0, 0.0, 1.0, 0.0], 50
    arena = Arena(10_000, MEANS, floor=0.1)
    honest, _ = misses(arena, target, logs, 0.1)

    def clipped(low, high):
        inside = np.clip(low, 0.0, 1.0)
        return inside, 1.0 - inside

    cut, biased = misses(arena, target, logs, 0.1, change=clipped)
    assert honest <= 0.1 * logs
    assert biased.mean() < 0.58 - 10.0 * biased.std() / math.sqrt(logs)
    assert biased.mean() < 0.58 - 0.05
    assert cut > 0.9 * logs


def test_a_model_that_saw_the_round_it_scores_biases():
    target, logs = [0.0, 0.0, 0.0, 1.0, 0.0], 20_000
    arena = Arena(50, MEANS, floor=0.2)
    _, honest = misses(arena, target, logs, 0.1)
    _, biased = misses(arena, target, logs, 0.1, in_sample=True)
    assert abs(honest.mean() - 0.58) <= 4.0 * honest.std() / math.sqrt(logs)
    assert biased.mean() < 0.58 - 8.0 * biased.std() / math.sqrt(logs)
