"""UGapE where the arms' variances are unknown and unequal by a factor of 100: it errs at most delta
of the time, and its intervals hold."""

import math

import numpy as np
import pytest
from scipy import stats

import tightrope as tr
from tiers import thorough
from tightrope.extend import Problem, jit, problem, vector
from tightrope.numerics.posterior import student_root, student_width


@problem("unequal-gaussian")
class Unequal(Problem):
    """Gaussian arms with a standard deviation each."""

    means: np.ndarray = vector()
    deviations: np.ndarray = vector(least=0.0)

    @jit
    def play(self, context, action, rng):
        return self.means[action] + self.deviations[action] * rng.standard_normal()


@pytest.mark.parametrize("freedom", [1, 2, 7, 40, 5000])
@pytest.mark.parametrize("level", [0.1, 0.01, 1e-7])
def test_the_root_is_a_quantile_or_a_little_more(freedom, level):
    exact = stats.t.isf(level / 2, freedom)
    assert exact * (1 - 1e-9) <= student_root(math.log(level), float(freedom)) <= exact * 1.07


@pytest.mark.parametrize("tests", [300, pytest.param(10_000, marks=thorough)])
def test_it_errs_at_most_delta_of_the_time(tests):
    """The best arm is the quiet one, the loudest is its rival; and told a noise that is too small
    it does err, so errors can be seen."""
    delta, world = 0.1, Unequal([1.0, 0.0, 0.4], [0.3, 3.0, 1.0])
    policies = {
        "unknown": tr.UGapE(delta=delta, noise=None),
        "told wrongly": tr.UGapE(delta=delta, noise=0.1),
    }
    found = tr.identify(world, policies, replications=tests, seed=1, max_rounds=10**6)
    assert found.stopped["unknown"].all()
    bound = delta + 4 * math.sqrt(delta * (1 - delta) / tests)
    assert 1 - found.correct["unknown"].mean() <= bound
    assert 1 - found.correct["told wrongly"].mean() > bound


def test_intervals_hold_at_all_times_and_would_not_with_a_normal_quantile():
    data, delta, runs, longest = np.random.default_rng(3), 0.2, 1000, 200
    rewards = data.normal(size=(runs, longest)) * 7.0
    n = np.arange(1, longest + 1)
    mean = rewards.cumsum(axis=1) / n
    spread = np.maximum((rewards**2).cumsum(axis=1) - n * mean**2, 0.0)

    def failures(width):
        return float((np.abs(mean[:, 1:]) > width[:, 1:]).any(axis=1).mean())

    student = np.array(
        [
            [student_width(float(k), float(s), delta) for k, s in zip(n, row, strict=True)]
            for row in spread
        ]
    )
    normal = stats.norm.isf(delta / 2) * np.sqrt(spread / np.maximum(n - 1, 1) / n)
    assert failures(student) <= delta + 4 * math.sqrt(delta * (1 - delta) / runs)
    assert failures(normal) > 0.5


def test_rewards_that_are_all_equal_certify_nothing_and_other_policies_refuse():
    session = tr.Session(tr.UGapE(noise=None), arms=2)
    for t in range(40):
        session.update(t % 2, float(t % 2))
    assert not session.stopped
    assert session.recommend()["gap_bound"] == math.inf
    for make in (tr.LinGapE, tr.TopTwoThompson, tr.TrackAndStop, tr.RAGE):
        with pytest.raises(
            ValueError,
            match="noise = None would be learned from the rewards, but the guarantee needs a bound",
        ):
            make(noise=None)
