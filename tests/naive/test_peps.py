"""PEPS draws, samples and stops as its twin; its exact draws have the law of those by rejection."""

import math

import numpy as np
import pytest
from scipy.special import log_ndtr

import tightrope as tr
from naive.identification_policies import NaiveLinGapE
from naive.side_by_side import until_they_stop
from standard import unit_rows
from tiers import thorough
from tightrope.core.streams import POLICY, stream
from tightrope.numerics.posterior import log_tail, normal_above
from tightrope_papers.scoring import rare

X = unit_rows(np.random.default_rng(11), 7, 3)
THETA = 1.5 * X[2]


def pick(weights, rng):
    """An index by its weight, with one uniform."""
    return int(np.searchsorted(np.cumsum(weights), rng.random() * weights.sum(), side="right"))


def tail(least, rng):
    """A normal above `least`, by exponential proposals."""
    rate = (least + math.sqrt(least**2 + 4)) / 2
    while True:
        x = least - math.log(1 - rng.random()) / rate
        if rng.random() <= math.exp(-((x - rate) ** 2) / 2):
            return x


class NaivePEPS(NaiveLinGapE):
    def __init__(self, X, epsilon, delta, *, noise, rng, draws=1, alternatives="exact", **named):
        super().__init__(X, epsilon, delta, noise=noise, union=False, **named)
        self.rng, self.draws, self.alternatives = rng, draws, alternatives
        self.losses, self.gap, self.w = np.zeros(len(X)), 0.0, np.full(len(X), 1 / len(X))

    @property
    def theta(self):
        played = self.X[self.arms]
        return np.linalg.solve(self.A, played.T @ np.array(self.rewards, dtype=float))

    def stopped(self):
        return self.n > 0 and self.direction()[2] <= self.epsilon

    def better(self, i, theta):
        """Rivals of i that are better by epsilon."""
        gaps = (self.X[i] - self.X) @ theta
        return [b for b in range(len(gaps)) if b != i and gaps[b] < -self.epsilon]

    def alternative(self, i):
        V, theta, rng = self.A, self.theta, self.rng
        rivals = [b for b in range(len(self.X)) if b != i]
        size = np.array(
            [self.noise * math.sqrt(self.square(self.X[i] - self.X[b])) for b in rivals]
        )
        depth = ((self.X[i] - self.X[rivals]) @ theta + self.epsilon) / size
        chance = np.exp(log_ndtr(-depth) - log_ndtr(-depth).max())
        root = np.linalg.inv(np.linalg.cholesky(V)).T
        for _ in range(10_000):
            if self.alternatives == "exact":
                k = pick(chance, rng)
                z = -tail(depth[k], rng)
            change = self.noise * root @ rng.standard_normal(len(theta))
            if self.alternatives == "rejection":
                if self.better(i, theta + change):
                    return change
                continue
            y = self.X[i] - self.X[rivals[k]]
            solved = np.linalg.solve(V, y)
            change = change + solved * (z * size[k] - y @ change) / (y @ solved)
            if rng.random() * len({*self.better(i, theta + change), rivals[k]}) < 1:
                return change
        return None

    def select(self):
        i = int(np.argmax(self.X @ self.theta))
        drawn = [self.alternative(i) for _ in range(self.draws)]
        drawn = [change for change in drawn if change is not None]
        self.loss = drawn and -np.mean([(self.X @ c) ** 2 for c in drawn], axis=0) / (
            2 * self.noise**2
        )
        return pick(self.w, self.rng)

    def update(self, arm, reward):
        super().update(arm, reward)
        if not len(self.loss):  # no draw names another arm
            return
        rate = math.log(len(self.X)) / self.gap if self.gap else math.inf
        least, played = self.loss[self.w > 0].min(), self.w[self.w > 0]
        mix = least
        if self.gap:
            mix -= math.log(played @ np.exp(-rate * (self.loss[self.w > 0] - least))) / rate
        self.gap += max(self.w @ self.loss - mix, 0)
        self.losses = self.losses + self.loss
        behind = self.losses - self.losses.min()
        self.w = np.exp(-math.log(len(self.X)) / self.gap * behind)
        self.w /= self.w.sum()


CASES = {
    "exact": {},
    "three draws, epsilon": {"draws": 3, "epsilon": 0.05, "lam": 0.1},
    "rejection": {"alternatives": "rejection", "lam": 0.5, "noise": 1.0},
}


@pytest.mark.parametrize("name", CASES)
def test_draws_samples_and_stop_equal_those_of_the_twin(name):
    given = {"epsilon": 0.0, "delta": 0.1, "noise": 0.3} | CASES[name]
    for seed in range(2):
        noise = np.random.default_rng(seed)

        def reward(k, noise=noise):
            return float(X[k] @ THETA + given["noise"] * noise.standard_normal())

        session = tr.Session(tr.PEPS(theta_bound=1.5, **given), arms=X, seed=seed)
        twin = NaivePEPS(X, theta_bound=1.5, rng=stream(seed, 0, POLICY), **given)
        until_they_stop(session, twin, 70 if name == "rejection" else 400, reward)
        assert session.recommend()["arm"] == int(np.argmax(X @ twin.theta))
        np.testing.assert_allclose(session.explain()["mixture"], twin.w, rtol=1e-6, atol=1e-12)


def test_both_ways_to_draw_alternatives_have_one_law():
    """Moments of all arms in 4,000 draws each, at an estimate with several near rivals."""
    given = {"epsilon": 0.0, "delta": 0.1, "noise": 0.3}
    twins = [
        NaivePEPS(X, rng=np.random.default_rng(k), alternatives=how, **given)
        for k, how in enumerate(("exact", "rejection"))
    ]
    for twin in twins:
        twin.arms, twin.rewards = [0, 1, 2, 3], [0.3, 0.5, 0.6, 0.4]
        i = int(np.argmax(X @ twin.theta))
        drawn = np.array([X @ twin.alternative(i) for _ in range(4000)])
        twin.moments = np.hstack([drawn, drawn**2])
    one, other = (twin.moments for twin in twins)
    error = np.sqrt((one.var(axis=0) + other.var(axis=0)) / 4000)
    assert (np.abs(one.mean(axis=0) - other.mean(axis=0)) < 4 * error).all()


def test_the_tail_of_the_normal():
    x = np.linspace(0, 60, 121)
    np.testing.assert_allclose([log_tail(v) for v in x], log_ndtr(-x), rtol=1e-9)
    rng = np.random.default_rng(0)
    drawn = np.array([normal_above(2.0, rng) for _ in range(4000)])
    expected = math.exp(-2.0) / math.sqrt(2 * math.pi) / math.exp(log_ndtr(-2.0))
    assert drawn.min() > 2 and abs(drawn.mean() - expected) < 4 * drawn.std() / 4000**0.5


def test_a_reward_without_a_choice_teaches_the_estimates_only():
    session = tr.Session(tr.PEPS(noise=0.3), arms=X, seed=0)
    before = session.explain()["mixture"]
    session.update(3, 0.5)
    assert session.explain()["mean"][3] > 0
    np.testing.assert_array_equal(session.explain()["mixture"], before)


def test_the_mixture_stays_where_no_draw_of_the_posterior_names_another_arm():
    session = tr.Session(tr.PEPS(noise=1e-3, alternatives="rejection"), arms=X, seed=0)
    for _ in range(20):
        arm = session.select()
        session.update(arm, float(X[arm] @ THETA))
    before = session.explain()["mixture"]
    arm = session.select()
    session.update(arm, float(X[arm] @ THETA))
    np.testing.assert_array_equal(session.explain()["mixture"], before)


@thorough
def test_errors_are_at_most_delta():
    """2,000 runs, delta .1, by the upper 99 % limit (Clopper, Pearson)."""
    problem = tr.problems.Linear(X, THETA, noise=1.0)
    found = tr.identify(problem, tr.PEPS(delta=0.1, theta_bound=1.5), replications=2000, seed=0)
    wrong = int((~found.correct["PEPS"]).sum())
    assert rare(wrong, 2000, 0.1).verdict == "reproduced", wrong
