"""Policies as River's, in River's own evaluation and by its protocol."""

import numpy as np
import pandas as pd
import pytest

import tightrope as tr

bandit = pytest.importorskip("river.bandit")


def test_river_evaluates_them_beside_its_own():
    from river import stats

    env = tr.adapters.gym.env(tr.problems.Bernoulli([0.2, 0.4, 0.9]), horizon=300)
    ours = tr.adapters.river.RiverPolicy(tr.KLUCB(), arm_ids=[0, 1, 2])
    dice = bandit.RandomPolicy(seed=1)
    last = {}
    for row in bandit.evaluate(
        policies=[ours, dice], env=env, reward_stat=stats.Sum(), n_episodes=1, seed=3
    ):
        last[row["policy_idx"]] = row["reward_stat"]
    assert last[0] > 1.3 * last[1]


def test_the_protocol():
    policy = tr.adapters.river.RiverPolicy(tr.UCB(), arm_ids=["a", "b", "c"], burn_in=1)
    assert isinstance(policy, bandit.base.Policy)
    session = tr.Session(tr.UCB(), arms=3)
    pays = {"a": 0.1, "b": 0.9, "c": 0.3}
    for _ in range(30):
        arm = policy.pull(["a", "b", "c"])
        assert arm == "abc"[session.select()]
        policy.update(arm, pays[arm])
        session.update("abc".index(arm), pays[arm])
    assert (policy.ranking, policy.pull(["c"])) == (["b", "c", "a"], "c")
    assert {policy.pull(["a", "c"]) for _ in range(5)} <= {"a", "c"}
    fresh = policy.clone()
    assert (fresh.session.rounds, fresh.pull(["a", "b", "c"])) == (0, "a")
    assert repr(policy) == "RiverPolicy(UCB, 3 arms)"
    with pytest.raises(ValueError, match="arm_id = 'd' is not one of the arms, which are a, b, c"):
        policy.update("d", 1.0)
    with pytest.raises(ValueError, match="must be ids that differ"):
        tr.adapters.river.RiverPolicy(tr.UCB(), arm_ids=["a", "a"])


def test_contexts(rng):
    policy = tr.adapters.river.RiverContextualPolicy(
        tr.LinUCB(width="theorem", noise=0.2), ["left", "right"], features=["x", "one"]
    )
    assert isinstance(policy, bandit.base.ContextualPolicy)
    right = []
    for _ in range(200):
        x = rng.uniform(-1, 1)
        context = {"x": x, "one": 1.0, "more": 7.0}
        arm = policy.pull(["left", "right"], context=context)
        right.append(arm == ("right" if x > 0 else "left"))
        policy.update(arm, context, float(right[-1]))
    assert np.mean(right[100:]) > 0.85
    with pytest.raises(ValueError, match="must have the numbers x, one"):
        policy.pull(["left", "right"], context={"x": 1.0})


def test_a_pipeline_makes_the_features_of_a_session_in_an_order_that_stays():
    from river import compose, preprocessing

    rows = [{"age": 20 + i % 30, "country": "df"[i % 2]} for i in range(60)]
    pipeline = (compose.Select("age") | preprocessing.StandardScaler()) + (
        compose.Select("country") | preprocessing.OneHotEncoder()
    )
    for row in rows:
        pipeline.learn_one(row)
    with pytest.raises(
        ValueError, match=r"wrap it with example rows: tr\.adapters\.river\.RiverEncoder"
    ):
        tr.Session(tr.LinUCB(), arms=3, encoder=pipeline)
    encoder = tr.adapters.river.RiverEncoder(pipeline, rows)
    np.testing.assert_array_equal(encoder.transform(dict(rows[0])), encoder.transform(rows)[0])
    assert encoder.names == ("age", "country_d", "country_f")
    session = tr.Session(tr.LinTS(), arms=2, encoder=encoder, seed=1)
    other = tr.Session(tr.LinTS(), arms=2, dimension=3, seed=1)
    scaled = [pipeline.transform_one(row)["age"] for row in rows]
    for row, age in zip(rows, scaled, strict=True):
        ours, twin = (
            session.decide(row),
            other.decide([age, row["country"] == "d", row["country"] == "f"]),
        )
        assert ours.arm == twin.arm
        session.reward(ours.id, 1.0 * ours.arm)
        other.reward(twin.id, 1.0 * twin.arm)
    assert (
        encoder.transform([{"age": 25, "country": "new"}])[0, 1:] == 0.0
    ).all()  # a level of later adds no column
    assert (
        session.decide_many(pd.DataFrame(rows)).arm
        == other.decide_many(encoder.transform(rows)).arm
    ).all()
    with pytest.raises(ValueError, match="dimension = 5, but the encoder makes 3 features"):
        tr.Session(tr.LinTS(), arms=2, dimension=5, encoder=encoder)
    with pytest.raises(ValueError, match="feature 'country' of row 0 is 'd', which is no number"):
        tr.adapters.river.RiverEncoder(compose.Select("country"), rows)
    for wrong in (5, preprocessing.StandardScaler):
        with pytest.raises(ValueError, match=r"transform_one|rows"):
            tr.adapters.river.RiverEncoder(wrong, [])
