"""Sessions over sets: bad input changes nothing, feedback may be late, partial and out of order,
files continue."""

import numpy as np
import pytest

import tightrope as tr
from tightrope.core.verbs import play
from tightrope.session.codec import flatten

POLICIES = [
    tr.C2UCB(),
    tr.PC2UCB(),
    tr.CombTS(),
    tr.CombTS(randomization="arm"),
    tr.CombGreedy(),
    tr.C2UCB(ties="random"),
]


def users(n=12, d=3, seed=0):
    return np.random.default_rng(seed).normal(size=(n, d))


def frozen(session):
    return {key: value.copy() for key, value in flatten(session.state).items()} | {
        "rng": np.array([str(session._agent.rng.bit_generator.state)])
    }


def unchanged(session, before):
    after = frozen(session)
    return all(np.array_equal(value, after[key]) for key, value in before.items())


@pytest.mark.parametrize("policy", POLICIES, ids=repr)
def test_bad_input_is_refused_and_changes_nothing(policy):
    session = tr.Session(policy, arms=12, dimension=3, oracle=tr.oracles.TopK(4), seed=1)
    X = users()
    session.update(session.select(context=X), np.ones(4))
    before = frozen(session)
    broken = X.copy()
    broken[3, 1] = np.nan
    few = np.zeros(12, dtype=bool)
    few[:3] = True
    for call in (
        lambda: session.select(context=X, eligible=few),
        lambda: session.select(context=broken),
        lambda: session.select(context=X[:5]),
        lambda: session.update([1, 2], [1.0]),
        lambda: session.update([1, 2], [1.0, np.nan]),
        lambda: session.update([1, 12], [1.0, 1.0]),
        lambda: session.update([0.5], [1.0]),
        lambda: session.update([1], [1.0], context=broken),
    ):
        with pytest.raises(ValueError):
            call()
        assert unchanged(session, before)
    with pytest.raises(ValueError, match="k = 4 arms were asked for, but only 3 are eligible"):
        session.select(context=X, eligible=few)


def test_an_infeasible_assignment_is_refused_and_changes_nothing():
    session = tr.Session(
        tr.PC2UCB(), arms=users(), oracle=tr.oracles.Promotions(promotions=3, k=2), seed=1
    )
    before = frozen(session)
    mask = np.ones((12, 3), dtype=bool)
    mask[1:, 2] = False
    with pytest.raises(ValueError, match="promotion 2 cannot get k = 2 users"):
        session.select(eligible=mask)
    with pytest.raises(ValueError, match="need 6, but only 5"):
        session.select(eligible=np.arange(12) < 5)
    assert unchanged(session, before)


def test_a_single_promotion_is_a_set_of_users():
    oracle = tr.oracles.Promotions(promotions=1, k=2)
    made = tr.Session(tr.C2UCB(), arms=users(), oracle=oracle).decide(eligible=np.arange(12) >= 9)
    assert sorted(made.arm.tolist()) == [9, 10]


def test_promotions_are_pairs_and_users_can_be_masked():
    session = tr.Session(
        tr.CombTS(randomization="arm"),
        arms=users(),
        oracle=tr.oracles.Promotions(promotions=3, k=2),
        seed=1,
    )
    allowed = np.arange(12) >= 5
    user, promotion = np.divmod(session.select(eligible=allowed), 3)
    assert allowed[user].all()
    assert np.bincount(promotion).tolist() == [2, 2, 2]
    report = session.explain(eligible=allowed)
    probability = report["probability"].reshape(12, 3)
    assert probability.sum() == pytest.approx(6)
    assert (probability[:5] == 0).all()
    assert (probability.sum(axis=1) <= 1 + 1e-12).all()
    with pytest.raises(ValueError, match="eligible"):
        session.select(eligible=np.ones(7, dtype=bool))


def test_late_partial_and_unordered_feedback_gives_the_same_model():
    """The model is a sum: its order and cut do not matter, but the round's own features do. With an
    intercept sums are less the first reward."""
    rng = np.random.default_rng(3)
    whole = tr.Session(tr.C2UCB(), arms=12, dimension=3, oracle=tr.oracles.TopK(4), seed=1)
    late = tr.Session(tr.C2UCB(), arms=12, dimension=3, oracle=tr.oracles.TopK(4), seed=1)
    rounds = []
    for t in range(3):
        X = users(seed=t)
        rounds.append(
            (X, late.select(context=X), rng.normal(size=4))
        )  # three rounds before any answer
    for X, chosen, rewards in rounds:
        whole.update(chosen, rewards, context=X)
    pieces = [
        (X, chosen[i : i + 2], rewards[i : i + 2]) for X, chosen, rewards in rounds for i in (0, 2)
    ]
    for i in (5, 0, 3, 1, 4, 2):
        X, chosen, rewards = pieces[i]
        late.update(chosen[::-1], rewards[::-1], context=X)
    for key in ("mean", "width"):
        np.testing.assert_allclose(
            late.explain(context=X)[key], whole.explain(context=X)[key], atol=1e-12
        )
    for name in ("design", "total", "pulls"):
        np.testing.assert_allclose(
            getattr(late.state.model, name), getattr(whole.state.model, name), atol=1e-12
        )
    # An answer without context belongs to the last selection, whatever was fed or asked in between.
    X, chosen, rewards = rounds[2]
    one = tr.Session(tr.C2UCB(), arms=12, dimension=3, oracle=tr.oracles.TopK(4), seed=1)
    one.select(context=X)
    one.update([0], [1.0], context=users(seed=9))
    one.explain(context=users(seed=8))
    one.update([5], [2.0])
    V = np.eye(3) + np.outer(users(seed=9)[0], users(seed=9)[0]) + np.outer(X[5], X[5])
    np.testing.assert_allclose(flatten(one.state)["state.model.design"][0], V, atol=1e-12)


def test_one_late_reward_at_a_time():
    session = tr.Session(tr.PC2UCB(), arms=users(), oracle=tr.oracles.TopK(4), seed=1)
    session.select()
    session.update(3, 1.0)
    session.update([5], [0.5])
    assert session.state.model.seen[0] == 2


def first_two(scores, eligible=None):
    """An oracle of one's own."""
    return np.argsort(-scores, kind="stable")[:2]


ORACLES = [
    tr.oracles.Promotions(promotions=2, k=2),
    tr.oracles.Knapsack(costs=np.arange(12.0) + 1, budget=14.5),
    tr.oracles.Partition(categories=list("aabbbccccccc"), limit=1, k=3),
    tr.oracles.Partition(categories=list("aabbbccccccc"), limit={"a": 1, "b": 2, "c": 1}, k=3),
    tr.oracles.Path(np.arange(12) // 2, np.arange(12) // 2 + 1, source=0, target=6),
    tr.oracles.SpanningTree(u=np.arange(12) // 2, v=np.arange(12) // 2 + 1),
    tr.oracles.Matching(*np.divmod(np.arange(12), 3), perfect=False),
    first_two,
]


@pytest.mark.parametrize(
    "oracle",
    ORACLES,
    ids=["promotions", "knapsack", "partition", "limits", "path", "tree", "matching", "own"],
)
def test_a_saved_session_of_sets_continues_bit_for_bit(oracle, tmp_path):
    path = tmp_path / "session.npz"
    session = tr.Session(tr.PC2UCB(ties="random"), arms=users(), oracle=oracle, seed=1)
    chosen = session.select()
    session.update(chosen, np.arange(1.0 * len(chosen)))
    session.save(path)
    with pytest.raises(ValueError, match="pass the same again"):
        tr.Session.load(path, oracle=tr.oracles.Promotions(promotions=3, k=2))
    if oracle is first_two:
        with pytest.raises(ValueError, match="oracle is missing"):
            tr.Session.load(path)
        again = tr.Session.load(path, oracle=first_two)
    else:
        again = tr.Session.load(path)
    for _ in range(3):
        chosen = session.select()
        assert chosen.tolist() == again.select().tolist()
        session.update(chosen, np.ones(len(chosen)))
        again.update(chosen, np.ones(len(chosen)))


def test_what_a_session_of_sets_explains():
    labels = np.array(list("aabbbccccccc"))
    X = users()
    session = tr.Session(
        tr.C2UCB(alpha=0.5),
        arms=X,
        oracle=tr.oracles.Partition(categories=labels, limit=1, k=3),
        seed=1,
    )
    session.update(session.select(), [1.0, 0.0, 1.0])
    report = session.explain()
    chosen = session.select()
    np.testing.assert_allclose(report["score"], report["mean"] + report["width"])
    assert report["oracle_value"] == pytest.approx(report["score"][chosen].sum())
    assert report["cluster"].tolist() == labels.tolist()
    assert np.flatnonzero(report["probability"]).tolist() == sorted(chosen.tolist())
    with pytest.raises(ValueError, match="chooses 13 arms, but there are only 12"):
        tr.Session(tr.C2UCB(), arms=X, oracle=tr.oracles.TopK(13))
    with pytest.raises(ValueError, match="oracle = 3 is not callable"):
        tr.Session(tr.C2UCB(), arms=X, oracle=3)
    with pytest.raises(ValueError, match="without features"):
        tr.Session(tr.C2UCB(), arms=12, oracle=tr.oracles.TopK(3))
    with pytest.raises(ValueError, match="horizon"):
        tr.Session(tr.CombTS(v="theory"), arms=X, oracle=tr.oracles.TopK(3))


@pytest.mark.filterwarnings(
    "ignore:more than 1,000 decisions of select"
)  # none of them is ever answered
@pytest.mark.parametrize("policy", [*POLICIES[1:], tr.CombLinTS()], ids=repr)
def test_probability_is_how_often_select_plays_an_arm(policy):
    session = tr.Session(policy, arms=users(9), oracle=tr.oracles.TopK(3), seed=1)
    if policy is not POLICIES[4]:  # greedy is random in its first round only
        session.update([0, 1, 2], [0.4, 0.1, 0.2])
    report = session.explain()
    draws = 1500
    seen = (
        np.bincount(np.concatenate([session.select() for _ in range(draws)]), minlength=9) / draws
    )
    p = report["probability"]
    assert p.sum() == pytest.approx(3, abs=1e-7)
    se = np.sqrt(p * (1 - p) / draws + report["probability_se"] ** 2)
    assert (np.abs(seen - p) <= 4.5 * se + 2e-3).all()


def test_an_empty_set_is_answered_by_nothing():
    oracle = tr.oracles.Knapsack(costs=[1.0, 1.0, 1.0], budget=2)
    session = tr.Session(tr.C2UCB(alpha=0), arms=np.ones((3, 1)), oracle=oracle)
    session.update([0, 0, 0], [-1.0] * 3)
    chosen = session.select()
    assert chosen.size == 0
    before = frozen(session)
    session.update(chosen, [])
    assert unchanged(session, before)


def test_what_cannot_be_right_is_refused_early():
    with pytest.raises(ValueError, match="dimension = 7"):
        tr.Session(tr.C2UCB(), arms=users(), dimension=7, oracle=tr.oracles.TopK(2))
    with pytest.raises(ValueError, match="baseline = 0 is not a set of arms"):
        tr.Safe(tr.C2UCB(), baseline=0)
    with pytest.raises(ValueError, match="LinGapE"):
        tr.Safe(tr.LinGapE(), baseline=0)
    with pytest.raises(ValueError, match=r"reward = \['a'\]"):
        tr.Session(tr.C2UCB(), arms=users(), oracle=tr.oracles.TopK(2)).update([0], ["a"])
    with pytest.raises(ValueError, match=r"scores\[1\] = inf"):
        tr.oracles.Knapsack(costs=[1.0, 1.0], budget=1)([1.0, np.inf])


def test_policies_stay_in_step_where_sets_differ_in_size():
    """The second round's noise of an arm does not depend on how many arms were played in the
    first."""
    rewards = []
    for size in (1, 3):
        oracle = tr.oracles.Knapsack(costs=[0.0, 2.0, 2.0, 2.0], budget=4.0)
        problem = tr.problems.SemiBandit(np.eye(4), np.zeros(4), oracle)
        noise = np.random.default_rng(3)
        rewards.append([play(problem, None, np.arange(size), noise)[0] for _ in range(5)])
    assert rewards[0] == rewards[1]


@pytest.mark.parametrize(
    ("policy", "oracle", "draws"),
    [
        (tr.CombTS(), tr.oracles.TopK(3), 10),
        (tr.CombLinTS(noise=1.0), lambda scores: np.argsort(-scores)[:3], 10),
        (tr.CombTS(randomization="arm"), tr.oracles.Partition([0, 1] * 20, limit=2, k=3), 12),
    ],
)
def test_the_chance_of_what_was_played_is_never_zero(policy, oracle, draws):
    """No draw had met some arms that were played, and their log was refused as a whole."""
    rng = np.random.default_rng(0)
    session = tr.Session(policy, arms=rng.normal(size=(40, 6)), oracle=oracle, seed=0, draws=draws)
    stated = []
    for _ in range(60):
        made = session.decide()
        stated += zip(made.propensity.tolist(), made.propensity_se.tolist(), strict=True)
        session.reward(made.id, rng.random(3).tolist())
    p, error = np.array(stated).T
    assert p.min() == pytest.approx(1.0 / (draws + 1))  # it occurs
    assert (error[p == p.min()] > 0.0).all()
    assert str(tr.logs.from_session(session, rewards=(0, 1))).startswith("Log(180 rows")
