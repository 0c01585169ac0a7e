"""SequentialHalving samples and drops as its twin, and errs as often as its source says."""

import math

import numpy as np
import pytest

import tightrope as tr


class NaiveSequentialHalving:
    """Algorithm 1 of Karnin, Koren, Somekh 2013, and Successive Rejects (Audibert et al. 2010,
    Figure 3), with the order of samples by round robin."""

    def __init__(self, K, budget, plan, pool):
        self.K, self.budget, self.plan, self.pool = K, budget, plan, pool
        self.rewards = [[] for _ in range(K)]

    def play(self):
        """The arms to sample; rewards come in by `rewards`."""
        left, last = list(range(self.K)), [0] * self.K
        harmonic = 0.5 + sum(1 / i for i in range(2, self.K + 1))
        rounds = self.K - 1 if self.plan == "rejects" else math.ceil(math.log2(self.K))
        for r in range(rounds):
            if self.plan == "rejects":
                goal = math.ceil((self.budget - self.K) / (harmonic * (self.K - r)))
            else:
                goal = self.budget // (len(left) * rounds)
            begun = [0 if self.plan == "rejects" else len(one) for one in self.rewards]
            final = r == rounds - 1
            while self.spent < self.budget and (
                final or any(len(self.rewards[k]) - begun[k] < goal for k in left)
            ):
                yield min(left, key=lambda k, last=last: (len(self.rewards[k]) - last[k], k))
            since = [0] * self.K if self.pool or self.plan == "rejects" else begun
            drops = 0 if final else 1 if self.plan == "rejects" else len(left) // 2
            for _ in range(drops):
                worst = min(
                    left, key=lambda k, since=since: (np.mean(self.rewards[k][since[k] :]), -k)
                )
                left.remove(worst)
            last = [len(one) for one in self.rewards]

    @property
    def spent(self):
        return sum(map(len, self.rewards))


@pytest.mark.parametrize("plan, pool", [("halving", True), ("halving", False), ("rejects", True)])
@pytest.mark.parametrize("K", [2, 7, 8])
def test_samples_are_those_of_the_twin(K, plan, pool):
    twin, noise = NaiveSequentialHalving(K, 150, plan, pool), np.random.default_rng(3)
    session = tr.Session(tr.SequentialHalving(budget=150, plan=plan, pool=pool), arms=K)
    for arm in twin.play():
        assert session.select() == arm, twin.spent
        reward = noise.normal(0.1 * arm, 1.0)
        twin.rewards[arm].append(reward)
        session.update(arm, reward)
    assert twin.spent == 150 and session.stopped


@pytest.mark.parametrize(
    "plan, pool, wrong",
    [("halving", False, 0.165), ("halving", True, 0.135), ("rejects", True, 0.038)],
)
def test_it_errs_as_often_as_measured(plan, pool, wrong):
    """One arm of 20 better by .2, noise 1, 4,000 samples: shares of 2,000 runs measured with
    another program, s.e. .01."""
    policy = tr.SequentialHalving(budget=4000, plan=plan, pool=pool)
    problem = tr.problems.Linear(np.eye(20), [0.2] + [0.0] * 19, noise=1.0)
    found = tr.identify(problem, policy, budget=4000, replications=1000, seed=1)
    share = 1.0 - found.correct["SequentialHalving"].mean()
    error = math.sqrt(wrong * (1 - wrong) * (1 / 1000 + 1 / 2000))
    assert abs(share - wrong) < 4 * error


def test_too_few_samples_and_missing_arms_are_refused():
    with pytest.raises(ValueError, match=r"budget = 9 is too small for 5 arms; .* at least 15"):
        tr.Session(tr.SequentialHalving(budget=9), arms=5)
    session = tr.Session(tr.SequentialHalving(budget=30), arms=3)
    with pytest.raises(ValueError, match="eligible leaves out arms"):
        session.select(eligible=[True, True, False])
