"""TsallisINF and GLRRestart == their naive twins, which keep the whole history."""

import math
from typing import NamedTuple

import numpy as np
import pytest
from scipy.optimize import brentq

import tightrope as tr
from naive.classic_policies import NaiveKLUCB, entropy_distance
from naive.side_by_side import step
from tightrope.core.streams import POLICY, stream
from tightrope.extend import Monitor, jit, monitor
from tightrope.policies.classic.glrrestart import CUTS


class RestartTally(NamedTuple):
    restarts: np.ndarray  # (1,)


@monitor
class Restarts(Monitor):
    def begin(self, arms, n_checkpoints):
        return RestartTally(np.zeros(1))

    @jit
    def watch(self, tally, policy, state, problem, context, action, t, checkpoint):
        tally.restarts[0] = state.restarts[0] + state.restarts[1]


class NaiveTsallis:
    """x by a root finder, estimates as the paper has them."""

    def __init__(self, K, variant):
        self.L, self.n, self.reduced = np.zeros(K), 1, variant == "rv"

    def weights(self):
        eta = (4 if self.reduced else 2) / math.sqrt(self.n)

        def w(x):
            return 4 / (eta * (self.L - x)) ** 2

        high = self.L.min() - 2 / eta
        low = self.L.min() - 2 * math.sqrt(self.L.size) / eta - 1
        x = brentq(lambda x: w(x).sum() - 1, low, high, xtol=1e-13, rtol=1e-15)
        return w(x), eta

    def select(self, rng):
        w, _ = self.weights()
        return int(np.searchsorted(np.cumsum(w), rng.random() * w.sum(), side="right"))

    def update(self, arm, reward):
        w, eta = self.weights()
        B = np.where(w >= eta**2, 0.5, 0.0) if self.reduced else np.zeros(w.size)
        played = np.arange(w.size) == arm
        self.L += np.where(played, (1 - reward - B) / w, 0.0) + B
        self.n += 1


class NaiveGLR(NaiveKLUCB):
    """Every arm's rewards since its restart, and after how many of them they are split."""

    def __init__(self, K, horizon, everything):
        super().__init__(K)
        self.everything, self.t, self.counted, self.restarts = everything, 0, 0, 0
        self.delta = 1 / math.sqrt(horizon)
        self.between = math.floor(K / math.sqrt(math.log(horizon) / horizon))
        self.cuts, self.stride = [[] for _ in range(K)], [5] * K

    @property
    def n(self):
        return self.counted + 1

    def select(self):
        place = (self.t + 1) % self.between - 1
        return place if 0 <= place < len(self.rewards) else super().select()

    def update(self, arm, reward):
        self.rewards[arm].append(reward)
        self.t, self.counted, kept = self.t + 1, self.counted + 1, self.rewards[arm]
        if len(kept) % 10 == 0 and self.changed(arm):
            self.restarts += 1
            for k in range(len(self.rewards)) if self.everything else [arm]:
                self.rewards[k], self.cuts[k], self.stride[k] = [], [], 5
            self.counted = 0 if self.everything else self.counted
        elif len(kept) % self.stride[arm] == 0:
            if len(self.cuts[arm]) == CUTS:
                self.cuts[arm], self.stride[arm] = self.cuts[arm][1::2], 2 * self.stride[arm]
            if len(kept) % self.stride[arm] == 0:
                self.cuts[arm].append(len(kept))

    def changed(self, arm):
        x = np.array(self.rewards[arm])
        ratios = [
            s * entropy_distance(x[:s].mean(), x.mean())
            + (len(x) - s) * entropy_distance(x[s:].mean(), x.mean())
            for s in self.cuts[arm]
        ]
        return max(ratios, default=0.0) >= math.log(3 * len(x) ** 1.5 / self.delta)


@pytest.mark.parametrize("variant", ["rv", "iw"])
def test_tsallis_plays_as_its_twin(variant):
    data, rng, twin = np.random.default_rng(3), stream(4, 0, POLICY), NaiveTsallis(5, variant)
    session = tr.Session(tr.TsallisINF(variant=variant), arms=5, seed=4)
    for n in range(600):
        means = np.roll([0.9, 0.6, 0.5, 0.2, 0.1], n // 200)
        step(session, twin, lambda arm: float(data.random() < means[arm]), rng)  # noqa: B023
    w, _ = twin.weights()
    np.testing.assert_allclose(session.explain()["probability"], w, rtol=1e-8)


def test_tsallis_counts_late_rewards_by_the_chances_of_their_decisions():
    """Ten decisions whose rewards all come at the end, beside the same estimates by hand."""
    session, inverse = tr.Session(tr.TsallisINF(variant="iw"), arms=3, seed=0), np.zeros(3)
    for id in range(10):
        if id == 5:  # taken as one of the arm's open decisions
            inverse[1] += 1 / session.explain()["probability"][1]
            session.update(1, 0.5)
        decision = session.decide(id=id)
        inverse[decision.arm] += 1 / decision.propensity
    for id in range(10):
        session.reward(id, 0.5)
    np.testing.assert_allclose(session.state.losses, 0.5 * inverse, rtol=1e-9)
    assert session.state.inverse.max() < 1e-9 and session.state.open.tolist() == [0, 0, 0]
    session.decide(id="gone")
    session.cancel("gone")
    assert session.state.inverse.max() < 1e-9 and session.state.open.tolist() == [0, 0, 0]


@pytest.mark.parametrize("scope", ["arm", "all"])
def test_restarts_as_the_twin(scope):
    data, twin = np.random.default_rng(7), NaiveGLR(3, 3000, scope == "all")
    session = tr.Session(tr.GLRRestart(scope=scope), arms=3, horizon=3000, seed=1)
    stages = [[0.9, 0.5, 0.3], [0.2, 0.6, 0.3], [0.2, 0.1, 0.7]]
    for n in range(3000):
        mean = stages[n // 1000]
        # without ties
        step(session, twin, lambda arm: float(data.beta(4 * mean[arm], 4 * (1 - mean[arm]))))  # noqa: B023
    assert twin.restarts == session.explain()["restarts"].sum() >= 2
    assert max(map(len, twin.cuts)) <= CUTS


def test_an_arm_that_never_changes_is_rarely_restarted_and_constant_rewards_never():
    result = tr.simulate(
        tr.problems.Bernoulli([0.5, 0.5]),
        {"glr": tr.GLRRestart(delta=0.05, omega=0.0)},
        horizon=2000,
        replications=100,
        seed=2,
        progress=False,
        monitor=Restarts(),
    )
    assert (result.watched["glr"]["restarts"] > 0).sum() <= 10  # 2 arms of .05 each
    for value in (0.0, 1.0, 0.3):
        session = tr.Session(tr.GLRRestart(), arms=2)
        for _ in range(200):
            session.update(0, value)
        assert session.explain()["restarts"].sum() == 0


def test_what_cannot_be_restarted_or_merged_is_refused():
    with pytest.raises(ValueError, match="learns by more than the counts"):
        tr.Session(tr.GLRRestart(tr.BetaThompson(forget=0.9)), arms=2)
    first, second = (tr.Session(tr.GLRRestart(), arms=2) for _ in range(2))
    with pytest.raises(ValueError, match="order of its own rewards"):
        first.merge(second)
