"""Arms are added, retired, restored; a catalogue brings other candidates with every call."""

import numpy as np
import pytest

import tightrope as tr
from tiers import thorough, tiered
from tightrope.core.policy import accepts
from tightrope.core.verbs import grow
from tightrope.policies import examples
from tightrope.session.agent import DECIDED


def unit(n, d=3, seed=0):
    rows = np.random.default_rng(seed).normal(size=(n, d))
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


@thorough
def test_added_arms_leave_everything_learned_in_place():
    X = unit(6)
    for policy in (
        tr.LinUCB(),
        tr.LinTS(scale=0.2),
        tr.LinEpsilonGreedy(),
        tr.SoftUCB(),
        tr.Explore(tr.LinUCB(), floor=0.05),
    ):
        whole, grown = (
            tr.Session(policy, arms=X, seed=1),
            tr.Session(policy, arms=X[:4], seed=1, names=list("abcd")),
        )
        for arm, value in ((0, 0.5), (3, 0.25), (1, 1.0)):
            whole.update(arm, value, context=tr.Context(eligible=np.arange(6) < 4))
            grown.update("abcd"[arm], value)
        late = grown.decide(id="late")
        assert grown.add_arms(["e", "f"], X[4:]) == [4, 5]
        assert grown.reward("late", 0.75)
        whole.update(late.arm, 0.75, context=tr.Context(eligible=np.arange(6) < 4))
        here, there = grown.explain(), whole.explain()
        for key in ("mean", "width"):
            np.testing.assert_allclose(here[key], there[key], atol=1e-12, err_msg=f"{policy} {key}")
        assert grown.names == ("a", "b", "c", "d", "e", "f")


def test_new_arms_of_counting_policies_are_tried():
    for policy in (tr.UCB(), tr.KLUCB(), tr.BetaThompson(), tr.EpsilonGreedy()):
        session = tr.Session(policy, arms=2, seed=0)
        for _ in range(20):
            session.reward(session.decide().id, 0.5)
        assert session.add_arms(number=2) == [2, 3]
        chosen = [
            session.reward(d.id, 0.5) and d.arm for d in (session.decide() for _ in range(60))
        ]
        assert {2, 3} <= set(chosen)
        assert session.state.pulls.sum() == 80


def test_arms_of_sets_and_of_new_features_grow():
    X = unit(6)
    session = tr.Session(
        tr.C2UCB(),
        arms=X[:4],
        oracle=tr.oracles.Knapsack(costs=[1.0] * 4, budget=2),
        names=list("abcd"),
    )
    session.decide(id=1)
    with pytest.raises(ValueError, match="costs"):
        session.add_arms(["e", "f"], X[4:])
        session.decide()
    session = tr.Session(
        tr.C2UCB(),
        arms=X[:4],
        oracle=tr.oracles.Knapsack(costs=[1.0] * 4, budget=2),
        names=list("abcd"),
    )
    session.add_arms(["e", "f"], X[4:], oracle=tr.oracles.Knapsack(costs=[1.0] * 6, budget=3))
    assert len(session.select()) == 3
    session = tr.Session(tr.LinUCB(intercept=False), arms=4, dimension=3)
    made = session.decide(X[:4])
    session.add_arms(number=2)
    with pytest.raises(ValueError, match=r"context is missing; pass this round's \(6, 3\)"):
        session.select()
    session.decide(X)
    session.reward(made.id, 1.0)
    V = np.eye(3) + np.outer(X[made.arm], X[made.arm])
    np.testing.assert_allclose(
        session.explain(X)["mean"], X @ np.linalg.solve(V, X[made.arm]), atol=1e-12
    )


def test_who_cannot_grow_says_so_and_nothing_changes():
    for policy in examples().values():
        if grow.answers(policy) or "arms" not in accepts(policy):
            continue
        session = tr.Session(policy, arms=3)
        with pytest.raises(
            ValueError, match="cannot take in new arms; start a new session with all of them"
        ):
            session.add_arms(number=1)
        assert session.arms.number == 3
    for session, given, words in (
        (tr.Session(tr.CKLUCB(lipschitz=1.0), points=[0.0, 1.0]), {"number": 1}, "metric"),
        (tr.Session(tr.LinUCB(), arms=unit(3)), {"number": 1}, "features is missing"),
        (tr.Session(tr.LinUCB(), arms=unit(3)), {"features": unit(1, 2)}, "must have 3 columns"),
        (
            tr.Session(tr.UCB(), arms=3),
            {"names": ["x"]},
            "names was given, but these arms have numbers",
        ),
        (tr.Session(tr.UCB(), arms=3, names=list("abc")), {"number": 1}, "names is missing"),
        (tr.Session(tr.UCB(), arms=3, names=list("abc")), {"names": ["c"]}, "'c' twice"),
        (
            tr.Session(tr.UCB(), arms=3, names=list("abc")),
            {"names": ["d"], "number": 2},
            "the same number",
        ),
        (tr.Session(tr.UCB(), arms=3), {}, "at least 1"),
        (tr.Session(tr.LinUCB(), dimension=2), {"number": 1}, "nothing to add"),
    ):
        with pytest.raises(ValueError, match=words):
            session.add_arms(**given)


def test_retired_arms_are_not_played_and_still_learn():
    session = tr.Session(tr.UCB(), arms=3, names=["a", "b", "c"])
    made = session.decide(id="x")
    session.retire("a")
    assert {session.decide().name for _ in range(5)} == {"b"}
    assert session.retired == ["a"]
    assert session.reward("x", 1.0)
    assert made.name == "a"
    assert session.state.pulls[0] == 1
    assert session.explain()["probability"][0] == 0
    with pytest.raises(ValueError, match="every eligible arm is retired"):
        session.decide(eligible=["a"])
    session.retire("b")
    with pytest.raises(ValueError, match="'c' is the last one left"):
        session.retire("c")
    with pytest.raises(
        ValueError, match=r"'d' is not the name of an arm; the names are 'a', 'b', 'c'"
    ):
        session.retire("d")
    with pytest.raises(ValueError, match="is a name, but these arms have numbers"):
        tr.Session(tr.UCB(), arms=3).retire("a")
    session.restore("a")
    session.restore("b")
    assert session.retired == []
    assert session.decide().name == "b"


def test_a_catalogue_takes_any_number_of_candidates(tmp_path):
    """The same as ridge regression written out, for calls of 1 to 40 candidates."""
    rng = np.random.default_rng(4)
    session = tr.Session(tr.LinUCB(lam=0.5, beta=1.3), dimension=3, seed=0)
    V, b, made = 0.5 * np.eye(3), np.zeros(3), []
    for t in range(120):
        features = rng.normal(size=(int(rng.integers(1, 40)), 3))
        names = [f"item {rng.integers(10**9)}" for _ in features]
        scores = features @ np.linalg.solve(V, b) + 1.3 * np.sqrt(
            np.einsum("ki,ij,kj->k", features, np.linalg.inv(V), features)
        )
        if t % 2:
            d = session.decide(dict(zip(names, features, strict=True)))
        else:
            d = session.decide(features, names=names)
        assert d.arm == np.argmax(scores), t
        assert d.name == names[d.arm]
        made.append((d, features[d.arm]))
        if t % 3 == 0:
            d, x = made.pop(int(rng.integers(len(made))))
            value = float(x @ [0.3, -0.2, 0.1])
            session.reward(d.id, value)
            V += np.outer(x, x)
            b += value * x
        if t % 25 == 0:
            session = tr.Session.load(session.save(tmp_path / "catalogue.npz"))
    with pytest.raises(ValueError, match="is not the candidate of the last decision"):
        session.update(made[0][0].name, 0.0)
    last = session.decide({"a": features[0], "b": features[0]})
    session.update(last.name, 0.0)
    assert last.id not in session.open
    for wrong, words in (
        ({"context": rng.normal(size=(4, 2))}, "must have 3 columns"),
        (
            {"context": rng.normal(size=(2, 3)), "names": ["a"]},
            "names has 1 entries, but there are 2 arms",
        ),
        (
            {"context": rng.normal(size=(2, 3)), "eligible": ["a"]},
            "'a' is a name, but these arms have numbers",
        ),
    ):
        with pytest.raises(ValueError, match=words):
            session.decide(**wrong)
    with pytest.raises(ValueError, match="call"):
        session.retire(0)
    with pytest.raises(ValueError, match="UCB plays arms"):
        tr.Session(tr.UCB(), dimension=3)


@pytest.mark.parametrize(
    "policy",
    [
        tr.LinTS(scale=0.3),
        tr.LinEpsilonGreedy(),
        pytest.param(tr.Explore(tr.LinUCB(), floor=0.01), marks=thorough),
        pytest.param(tr.CLUCB2(), marks=thorough),
        pytest.param(tr.Safe(tr.LinUCB()), marks=thorough),
    ],
    ids=repr,
)
def test_every_policy_for_new_features_serves_a_catalogue(policy):
    rng = np.random.default_rng(4)
    session, fixed = (
        tr.Session(policy, dimension=3, seed=0),
        tr.Session(policy, arms=7, dimension=3, seed=0),
    )
    safe = "baseline" in type(policy).FIELDS

    def round_of(n):
        features = rng.normal(size=(n, 3))
        features /= np.linalg.norm(features, axis=1, keepdims=True)
        return tr.Context(
            features, baseline=0 if safe else None, baseline_mean=0.5 if safe else None
        )

    for _ in range(30):
        seen = round_of(7)
        a, b = session.decide(seen), fixed.decide(seen)
        assert (a.arm, a.propensity) == (b.arm, b.propensity)
        session.reward(a.id, 0.5)
        fixed.reward(b.id, 0.5)
        before = session._agent.rng.bit_generator.state
        session.cancel(session.decide(round_of(int(rng.integers(2, 12)))).id)
        session._agent.rng.bit_generator.state = before
        session._agent.counts[DECIDED] = (
            fixed.decided
        )  # audit draws go by the number of the decision


def test_a_catalogue_of_sets():
    rng = np.random.default_rng(1)
    session = tr.Session(tr.C2UCB(), dimension=3, oracle=tr.oracles.TopK(2))
    for n in (5, 2, 9):
        made = session.decide({f"{n}-{k}": x for k, x in enumerate(rng.normal(size=(n, 3)))})
        assert session.reward(made.id, dict.fromkeys(made.name, 1.0))
    with pytest.raises(ValueError, match="only 1"):
        session.decide(rng.normal(size=(1, 3)))
    assert session.state.model.seen[0] == 6


GUARDS = {
    "CUCB2": (tr.CUCB2, {}, False),
    "CUCB2 learns the baseline": (tr.CUCB2, {"baseline_mean": None}, False),
    "Safe": (lambda **given: tr.Safe(tr.UCB(alpha=0.5), **given), {}, False),
    "Safe that falls back in two steps": (
        lambda **given: tr.Safe(tr.EpsilonGreedy(), **given),
        {"selection": "two-step"},
        False,
    ),
    "CLUCB2": (tr.CLUCB2, {}, True),
    "Safe LinUCB learns the baseline": (
        lambda **given: tr.Safe(tr.LinUCB(), **given),
        {"baseline_mean": None},
        True,
    ),
}


@pytest.mark.parametrize(
    "name",
    tiered(
        GUARDS,
        [
            "CUCB2 learns the baseline",
            "Safe LinUCB learns the baseline",
            "Safe that falls back in two steps",
        ],
    ),
)
def test_a_promise_holds_while_arms_are_added(name):
    """Five runs of 1200 rounds, each with arms that come twice, most of them worse than the
    baseline: the true budget never falls below 0 (delta = 0.01, so one run in a hundred might), and
    the good newcomer is found where the budget lets it."""
    make, more, linear = GUARDS[name]
    X = np.array(
        [
            [0.8, 0.0, 0.0],
            [0.2, 0.5, 0.0],
            [0.0, 0.1, 0.6],
            [0.05, 0.0, 0.0],
            [0.0, 0.9, 0.1],
            [0.1, 0.0, 0.1],
        ]
    )
    means = X @ [0.5, 0.75, 0.1]  # 0.4 (the baseline), 0.475, 0.135, 0.025, 0.685, 0.06
    given = {"baseline": 0, "baseline_mean": means[0], "alpha": 0.2, "sigma": 0.5} | more
    played = np.zeros(6)
    for seed in range(5):
        rng, budget = np.random.default_rng(seed), 0.0
        session = tr.Session(make(**given), arms=X[:3] if linear else 3, seed=seed)
        waiting = []
        for n in range(1200):
            if n in (200, 500):
                k = session.arms.number
                session.add_arms(
                    features=X[k : k + (1 if n == 200 else 2)]
                ) if linear else session.add_arms(number=1 if n == 200 else 2)
            made = session.decide()
            budget += means[made.arm] - 0.8 * means[0]
            assert budget >= -1e-9, (name, seed, n)
            played[made.arm] += 1
            waiting.append(made)
            if len(waiting) > 20:
                done = waiting.pop(int(rng.integers(len(waiting))))
                session.reward(done.id, float(rng.random() < means[done.arm]))
        twin = tr.Session.from_bytes(session.to_bytes())
        assert twin.decide().arm == session.decide().arm
    assert played[3:].sum() > 0 and played[4] > 20


@pytest.mark.parametrize(
    ("martingale", "least", "most"), [("freedman", 0.5, (1.0, 1.1)), (None, 0.4, (0.999, 1.001))]
)
def test_delta_is_not_shared_out_anew_when_arms_are_added(martingale, least, most):
    """Widths of the first arms stay as they are, and a newcomer's lower bound stays 0 whatever it
    earns."""
    policy = tr.CUCB2(baseline=0, baseline_mean=0.5, alpha=0.9, sigma=0.1, martingale=martingale)
    session, fixed = (tr.Session(policy, arms=2, seed=0) for _ in range(2))
    for one in (session, fixed):
        for _ in range(50):
            one.update(1, 0.75)
    session.add_arms(number=3)
    for _ in range(300):
        session.update(3, 1.0)
    session.select(), fixed.select()
    here, there = session.explain(), fixed.explain()
    for side in ("lower", "upper"):
        assert here[side][1] == there[side][1]
    assert (
        here["lower"][1] > least
        and here["lower"][3] == 0.0
        and most[0] < here["upper"][3] < most[1]
    )
    with pytest.raises(ValueError, match="bound = 'confidence' adds up lower bounds"):
        tr.Session(tr.CUCB(baseline=0, baseline_mean=0.5, alpha=0.1, sigma=0.1), arms=2).add_arms(
            number=1
        )


def test_linear_bounds_with_added_arms_are_those_of_all_arms_from_the_start():
    """Also where the regression moves from the space of arms to that of features."""
    X = unit(12, 4) / 2
    for policy in (
        tr.CLUCB2(baseline=0, alpha=0.3, sigma=0.1),
        tr.Safe(tr.LinUCB(), baseline=0, baseline_mean=0.2, alpha=0.3, sigma=0.1),
    ):
        whole, grown = tr.Session(policy, arms=X, seed=1), tr.Session(policy, arms=X[:3], seed=1)
        rng, few = np.random.default_rng(0), np.arange(12) < 3
        for _ in range(60):
            first, second = whole.decide(eligible=few), grown.decide()
            assert first.arm == second.arm
            value = float(rng.random() < 0.3)
            whole.reward(first.id, value), grown.reward(second.id, value)
        open_, same = whole.decide(eligible=few), grown.decide()
        grown.add_arms(features=X[3:])
        whole.reward(open_.id, 1.0), grown.reward(same.id, 1.0)
        here, there = grown.explain(), whole.explain()
        for key in ("lower", "upper", "total", "slack", "budget_bound"):
            np.testing.assert_allclose(here[key], there[key], atol=1e-9, err_msg=f"{policy} {key}")
