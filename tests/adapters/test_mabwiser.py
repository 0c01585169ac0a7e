"""The disjoint LinUCB of MABWiser, its real package, plays the same arms on the same data."""

import time

import numpy as np
import pytest

import tightrope as tr

mab = pytest.importorskip("mabwiser.mab")
ROUNDS = 300


@pytest.mark.parametrize(
    ("K", "d", "alpha", "l2"), [(3, 2, 0.8, 1.0), (6, 5, 1.5, 0.3), (10, 10, 0.2, 5.0)]
)
def test_same_choices_round_by_round(K, d, alpha, l2):
    """Learning after every round, in both; MABWiser starts with one reward of 0 for each arm."""
    data = np.random.default_rng(K)
    thetas, first = data.normal(size=(K, d)), data.normal(size=(K, d))
    theirs = mab.MAB(list(range(K)), mab.LearningPolicy.LinUCB(alpha=alpha, l2_lambda=l2))
    theirs.fit(list(range(K)), [0.0] * K, first)
    ours = tr.Session(tr.LinUCB(shared=False, beta=alpha, lam=l2), arms=K, dimension=d)
    for k in range(K):
        ours.update(k, 0.0, context=first)
    played = set()
    for _ in range(ROUNDS):
        x = data.normal(size=d)
        arm = ours.select(x)
        assert arm == theirs.predict(x[None])
        reward = float(thetas[arm] @ x + 0.3 * data.standard_normal())
        ours.update(arm, reward)
        theirs.partial_fit([arm], [reward], x[None])
        played.add(arm)
    assert len(played) == K


def test_same_choices_after_a_log():
    """Trained on one log, asked about rows it has not seen."""
    K, d, n = 4, 6, 500
    data = np.random.default_rng(0)
    X, arms, rewards = data.normal(size=(n, d)), data.integers(K, size=n), data.normal(size=n)
    theirs = mab.MAB(list(range(K)), mab.LearningPolicy.LinUCB(alpha=0.5, l2_lambda=2.0))
    theirs.fit(arms, rewards, X)
    ours = tr.Session(tr.LinUCB(shared=False, beta=0.5, lam=2.0), arms=K, dimension=d)
    ours.learn({"arm": arms, "reward": rewards, "x": X}, features="x")
    new = data.normal(size=(200, d))
    assert [ours.select(x) for x in new] == list(theirs.predict(new))


def test_a_round_takes_a_hundredth_of_the_time():
    """In the loop of `simulate` against predict and partial_fit, both in CPU time on ten arms with
    ten features."""
    K = d = 10
    data, rounds = np.random.default_rng(1), 50
    X = data.normal(size=(rounds, d))
    theirs = mab.MAB(list(range(K)), mab.LearningPolicy.LinUCB(alpha=1.0))
    theirs.fit(list(range(K)), [0.0] * K, X[:K])
    begun = time.process_time()
    for x in X:
        theirs.partial_fit([theirs.predict(x[None])], [1.0], x[None])
    each = (time.process_time() - begun) / rounds
    problem, policy = (
        tr.problems.ContextualLinear(np.ones(d) / d, arms=K, noise=0.1),
        tr.LinUCB(shared=False, beta=1.0),
    )
    tr.simulate(problem, policy, horizon=10, workers=1)
    begun = time.process_time()
    tr.simulate(problem, policy, horizon=20_000, workers=1)
    assert (time.process_time() - begun) / 20_000 < each / 100
