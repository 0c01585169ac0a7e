"""First lines as people type them, from other libraries' habits: they work, or the error says what
to write."""

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest

import tightrope as tr


@pytest.mark.parametrize(
    "arms",
    [["red", "green"], ("red", "green"), np.array(["red", "green"])],
    ids=["list", "tuple", "array"],
)
def test_arms_may_be_their_names(arms):
    session = tr.Session(tr.UCB(), arms=arms)
    assert session.names == ("red", "green")
    session.update("green", 1)
    assert session.rounds == 1


def test_names_alone_say_how_many_arms_there_are():
    assert tr.Session(tr.UCB(), names=["red", "green", "blue"]).arms.number == 3
    session = tr.Session(tr.LinUCB(), names=["red", "green"], dimension=3)
    assert session.decide(np.ones(3)).name in ("red", "green")
    assert (session.arms.number, session.arms.dimension) == (2, 3)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"arms": ["a", "b"], "names": ["a", "b"]}, "leave one of them out"),
        ({"arms": ["a", "a"]}, "'a' twice"),
        ({"arms": ["a", 1]}, "no list of names"),
        ({"arms": "ab"}, "no list of names"),
        ({"names": [1, 2]}, "is not text"),
    ],
)
def test_names_that_cannot_be_are_refused(given, words):
    with pytest.raises(ValueError, match=words):
        tr.Session(tr.UCB(), **given)


def test_a_policy_of_features_says_where_these_go():
    with pytest.raises(
        ValueError, match=r"add dimension=d where features come with every decide\(context\)"
    ):
        tr.Session(tr.LinUCB(), arms=5)


@pytest.mark.parametrize("value", [True, np.bool_(True)])
def test_a_click_is_a_reward(value):
    session = tr.Session(tr.UCB(), arms=2)
    assert session.reward(session.decide().id, value)
    session.update(session.select(), value)
    assert session.rounds == 2
    assert float(np.max(session.explain()["mean"])) == 1.0


def test_policies_without_names_are_called_after_their_classes():
    problem = tr.problems.Bernoulli([0.4, 0.6])
    assert tr.simulate(problem, [tr.UCB(), tr.KLUCB()], horizon=20).policies == ["UCB", "KLUCB"]
    assert tr.simulate(problem, (tr.UCB(), tr.UCB(alpha=1.0)), horizon=20).policies == [
        "UCB",
        "UCB(alpha=1.0)",
    ]
    with pytest.raises(ValueError, match="UCB twice; give a dict"):
        tr.simulate(problem, [tr.UCB(), tr.UCB()], horizon=20)


def test_a_plot_without_a_path_is_one_that_a_notebook_shows():
    mpl.use("Agg")
    from matplotlib import pyplot

    result = tr.simulate(tr.problems.Bernoulli([0.4, 0.6]), tr.UCB(), horizon=20, replications=2)
    ax = result.plot()
    assert ax.figure.number in pyplot.get_fignums()
    assert len(ax.get_lines()) > 0
    pyplot.close("all")
    with pytest.raises(ValueError, match="both given"):
        result.plot("a.svg", ax=ax)


@pytest.mark.parametrize(
    ("name", "meant"),
    [("ThompsonSampling", "BetaThompson"), ("linucb", "'LinUCB'"), ("Sesion", "'Session'")],
)
def test_a_name_of_others_is_hinted_at(name, meant):
    with pytest.raises(AttributeError, match=f"Did you mean {meant}"):
        getattr(tr, name)


def test_rewards_of_a_log_may_be_true_or_false():
    frame = pd.DataFrame({"arm": ["a", "b"] * 4, "reward": [True, False] * 4, "propensity": 0.5})
    (chunk,) = tr.logs.from_frame(frame).chunks()
    assert chunk.reward.tolist() == [1.0, 0.0] * 4


def test_the_id_of_a_decision_in_place_of_an_arm_is_named():
    for arms in (3, ["a", "b"]):
        session = tr.Session(tr.UCB(), arms=arms)
        decision = session.decide()
        for _ in range(2):  # open, then closed
            with pytest.raises(
                ValueError,
                match=r"arm = '#1' is the id of a decision, not an arm; "
                r"tell its "
                r"reward by "
                r"reward\(id, value\)",
            ):
                session.update(decision.id, 0.5)
            session.reward(decision.id, 0.5)
    session = tr.Session(tr.UCB(), arms=["#1", "b"])  # an arm may have such a name
    session.decide()
    session.update("#1", 0.5)
    assert session.state.pulls[0] == 1


@pytest.mark.parametrize(
    ("call", "argument"),
    [
        (lambda: tr.Session(tr.LinUCB(), arms=np.eye(3), names={"s", "m", "l"}), "names"),
        (lambda: tr.Session(tr.UCB(), names=frozenset("sml")), "names"),
        (lambda: tr.Session(tr.UCB(), arms={"s", "m"}), "arms"),
        (lambda: tr.Session(tr.UCB(), arms=["old"]).add_arms({"s", "m", "l"}), "names"),
        (lambda: tr.Session(tr.LinUCB(), dimension=2).decide(np.eye(2), names={"x", "y"}), "names"),
        (lambda: tr.Session(tr.UCB(), arms=["a", "b"]).decide_many(ids={"p", "q", "r"}), "ids"),
        (lambda: tr.Session(tr.UCB(), arms=2).reward_many({"p", "q"}, [1.0, 0.0]), "ids"),
        (lambda: tr.Session(tr.UCB(), arms=2).reward_many(["p", "q"], {1.0, 0.0}), "values"),
        (
            lambda: tr.Session(tr.UCB(), arms=2, window=5, default_reward=0.0).expire(
                ids={"p", "q"}
            ),
            "ids",
        ),
        (lambda: tr.Session(tr.LinUCB(), dimension=2).decide({1.0, 2.0}), "context"),
        (
            lambda: tr.Session(tr.LinUCB(), arms=2, dimension=2).learn(SHEET, features={"x", "y"}),
            "features",
        ),
        (lambda: tr.logs.from_frame(SHEET, features={"x", "y"}), "features"),
        (lambda: tr.logs.from_frame(SHEET, probabilities={"x", "y"}), "probabilities"),
        (lambda: tr.logs.from_frame(SHEET, eligible={"x", "y"}), "eligible"),
        (lambda: tr.logs.from_frame(SHEET, arms={"a", "b"}), "arms"),
        (lambda: tr.problems.Bernoulli({0.1, 0.5}), "means"),
        (lambda: tr.oracles.Partition(categories={"a", "b"}, limit=1, k=1), "categories"),
    ],
)
def test_a_set_has_no_order(call, argument):
    """Names, ids and columns given as a set landed on other arms from one process to the next."""
    with pytest.raises(
        ValueError, match=rf"{argument} = .* is a set, which has no order; give a list"
    ):
        call()


@pytest.mark.parametrize("names", [["1", "0"], ["2", "1", "0"], ["1", "2", "0"]])
def test_numbers_that_are_names_are_never_taken_for_two_things(names):
    """In a table a number was a name and in `update` a position: a session's own frame, learned
    back, was permuted."""
    session = tr.Session(tr.Explore(tr.UCB(), floor=0.9 / len(names)), arms=names, seed=0)
    frame = session.decide_many(number=60).frame()
    frame["reward"] = frame["name"].astype(float) / 2
    other, one = tr.Session(tr.UCB(), arms=names), tr.Session(tr.UCB(), arms=names)
    for call in (lambda: other.learn(frame), lambda: tr.logs.from_frame(frame, arms=names)):
        with pytest.raises(
            ValueError,
            match=r"may be the arm that is called .* or arm number .* write names as text",
        ):
            call()
    other.learn(frame, arm="name")
    for arm, reward in zip(frame["arm"], frame["reward"], strict=True):
        one.update(arm, reward)
    np.testing.assert_allclose(one.explain()["mean"], [float(name) / 2 for name in names])
    np.testing.assert_allclose(other.explain()["mean"], one.explain()["mean"])
    log = tr.logs.from_frame(frame, arm="name", arms=names)
    for name in names:
        assert tr.evaluate(log, name, estimator="snips", model=None).value == pytest.approx(
            float(name) / 2
        )
    with pytest.raises(ValueError, match="may be the arm that is called"):
        tr.evaluate(log, 0)
    numbered = tr.logs.from_frame(frame)
    with pytest.raises(ValueError, match="may be the log's numbers or not"):
        tr.evaluate(numbered, session)
    assert tr.evaluate(log, session, estimator="snips", model=None).value >= 0


def test_numbers_that_can_only_be_names_are_names():
    names, table = (
        ["1", "2", "3"],
        {"arm": [1, 2, 3] * 4, "reward": [0.1, 0.2, 0.3] * 4, "propensity": [1 / 3] * 12},
    )
    session = tr.Session(tr.UCB(), arms=names)
    session.learn(table)
    np.testing.assert_allclose(session.explain()["mean"], [0.1, 0.2, 0.3])
    log = tr.logs.from_frame(table, arms=names)
    assert tr.evaluate(log, "3", estimator="snips", model=None).value == pytest.approx(0.3)
    same = tr.Session(tr.UCB(), arms=["0", "1"])
    same.learn({"arm": [0, 1], "reward": [0.0, 1.0]})  # name and number agree
    assert same.explain()["mean"].tolist() == [0.0, 1.0]


def test_a_session_of_numbers_is_not_judged_on_a_log_of_names():
    words = {
        "arm": ["red", "green", "blue"] * 20,
        "reward": [0.0, 0.5, 1.0] * 20,
        "propensity": [1 / 3] * 60,
    }
    with pytest.raises(
        ValueError, match=r"numbers only, but those of the log are .* give the session names"
    ):
        tr.evaluate(tr.logs.from_frame(words), tr.Session(tr.UCB(), arms=3))
    named = tr.Session(tr.UCB(), arms=["blue", "green", "red"])
    assert tr.evaluate(tr.logs.from_frame(words), named).value is not None


SHEET = {
    "arm": [0, 1],
    "reward": [1.0, 0.0],
    "propensity": [0.5, 0.5],
    "x": [0.5, 0.5],
    "y": [0.5, 0.5],
}


def test_what_has_an_order_is_no_set():
    assert tr.Session(tr.UCB(), arms=["a", "b"]).decide_many(
        ids=dict.fromkeys("pq").keys()
    ).ids.tolist() == ["p", "q"]
    assert tr.Session(tr.UCB(), names=dict.fromkeys("ab").keys()).names == ("a", "b")
    assert (
        tr.Session(tr.UCB(), arms=["a", "b"]).decide(eligible={"b"}).name == "b"
    )  # where the order does not count


def test_errors_are_sentences_and_no_raw_ones():
    import datetime

    import pandas as pd
    import scipy.sparse as sp

    X = np.random.default_rng(0).normal(size=(20, 2))
    text = np.where(X[:, 0] > 0, "spam", "ham")
    for labels in (
        text,
        pd.Series(text),
        pd.Series(text, dtype="category"),
        pd.Series(text, dtype="string"),
        text.astype(object),
    ):
        problem = tr.problems.Classification(X, labels)
        np.testing.assert_array_equal(problem.classes, (text == "spam") * 1.0)
    for clock in (datetime.datetime.now, lambda: None, lambda: "noon", lambda: float("nan")):
        session = tr.Session(tr.UCB(), arms=2, window="1d", default_reward=0.0, clock=clock)
        for call in (session.decide, session.select):
            with pytest.raises(ValueError, match="is not a finite number of seconds since 1970"):
                call()
    session = tr.Session(tr.LinUCB(), arms=2, dimension=4)
    for x in (sp.csr_matrix(np.ones((2, 4))), 5.0):
        table = {"arm": [0, 1], "reward": [1.0, 0.0], "propensity": [0.5, 0.5], "x": x}
        for call in (
            lambda table=table: session.learn(table, features="x"),
            lambda table=table: tr.logs.from_frame(table, features="x"),
        ):
            with pytest.raises(
                ValueError,
                match="must be a column with a list of numbers in every row; of a sparse matrix "
                "put",
            ):
                call()
    log = tr.logs.from_frame(
        {"arm": [0, 1] * 5, "reward": [1.0, 0.0] * 5, "propensity": [0.5] * 10}
    )
    with pytest.raises(ValueError, match=r"which add up to 0\.98"):
        tr.evaluate(log, [0.49, 0.49])


def test_slips_of_the_first_hour_get_the_remedy():
    problem, session = tr.problems.Bernoulli([0.2, 0.5]), tr.Session(tr.UCB(), arms=2)
    made = session.decide()
    for call, words in (
        (
            lambda: tr.simulate(problem, [tr.KLUCB(), tr.UCB], horizon=5),
            r"policies\[1\] = UCB is a class; pass an instance: UCB\(\)",
        ),
        (
            lambda: tr.problems.SemiBandit(np.eye(3), np.ones(3), tr.oracles.TopK),
            "oracle = TopK is a class; pass an instance",
        ),
        (
            lambda: tr.Session(tr.CombTS(), arms=np.eye(3), oracle=tr.oracles.TopK),
            "oracle = TopK is a class; pass an instance",
        ),
        (
            lambda: session.reward(made, 1.0),
            r"is not text or a whole number; pass its id, decision\.id",
        ),
        (lambda: session.reward_many([made], [1.0]), r"pass its id, decision\.id"),
        (
            lambda: tr.simulate(problem, tr.UCB(), horizon=5, seed=None),
            "seed = None would make every run another one; leave it out for 0",
        ),
        (
            lambda: tr.Session(tr.UCB(), arms=2, seed=None),
            "seed = None would make every run another one",
        ),
        (lambda: tr.TrackAndStop(epsilon=1.0), "epsilon = 1 is no question to Bernoulli arms"),
        (lambda: tr.TopTwoThompson(epsilon=2.0), "epsilon = 2 is no question to Bernoulli arms"),
    ):
        with pytest.raises(ValueError, match=words):
            call()
    with pytest.raises(
        AttributeError, match=r"no attribute 'bernoulli'\. Did you mean 'Bernoulli'"
    ):
        tr.problems.bernoulli([0.1])
    assert tr.TopTwoUCB(epsilon=30.0, rewards="gaussian").epsilon == 30.0
    answer = tr.identify(
        tr.problems.Bernoulli([0.2, 0.9]), tr.UGapE(delta=1e-307), max_rounds=100_000
    )
    assert answer.stopped["UGapE"].all()  # ln(x / delta) overflowed
