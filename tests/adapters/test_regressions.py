"""SquareCB on top of regressions of scikit-learn and River: it learns what a linear policy cannot,
and prefers the better arm."""

import numpy as np
import pytest

import tightrope as tr


def boosted():
    tree = pytest.importorskip("river.tree")
    return tree.HoeffdingAdaptiveTreeRegressor(grace_period=20, seed=1)


def gradient():
    linear = pytest.importorskip("sklearn.linear_model")
    return linear.SGDRegressor(learning_rate="constant", eta0=0.05, random_state=0)


@pytest.mark.parametrize(
    ("make", "truth"),
    [(gradient, lambda x: x[0]), (boosted, lambda x: float(x[0] > 0) * float(x[1] > 0))],
)
def test_the_arm_whose_reward_is_predicted_higher_is_played_more(make, truth):
    """Arm 0 pays the truth of the context, arm 1 always 1/4."""
    data, rounds = np.random.default_rng(0), 500
    session = tr.Session(
        tr.SquareCB(model=make(), shared=False, scale=30), arms=2, dimension=2, seed=0
    )
    gains = []
    for _ in range(rounds):
        x = data.normal(size=2)
        decision = session.decide(x)
        paid = truth(x), 0.25
        session.reward(decision.id, paid[decision.arm])
        gains.append(paid[decision.arm] - sum(paid) / 2)  # over a fair coin, in the same round
    late = np.array(gains[-300:])
    assert late.mean() > 4 * late.std(ddof=1) / np.sqrt(300)
    assert (late >= 0).mean() > 0.8  # and the better arm is played in most rounds
