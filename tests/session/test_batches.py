"""`decide_many` and `reward_many` are `decide` and `reward` one after the other, to the bit, for
every kind of session."""

import numpy as np
import pytest

import tightrope as tr
from session import signalled
from tiers import tiered
from tightrope.session import batches

pytestmark = pytest.mark.filterwarnings(
    "ignore::pytest.PytestUnraisableExceptionWarning"
)  # what comes in the end of an object
LATER = (
    "CLUCB2",
    "CLUCB2T, lower",
    "CUCB, lower",
    "CUCB2, mean unknown",
    "Safe",
    "SafePromises",
    "SafeSets",
    "ESCB",
    "LinGapE",
    "Zooming",
    "C2UCB in order",
    "LinEpsilonGreedy",
    "LinMED",
    "LinTS, one context",
    "SoftUCB",
)  # thorough: most time to compile


def kinds():
    """Name -> (policy, arguments of Session, what its rounds show): those of the histories and
    signals, and more that are compiled."""
    shown = {"arms": 5, "dimension": 3}
    more = {
        "LinUCB, new features": (tr.LinUCB(), shown, "features"),
        "LinUCB, one regression": (tr.LinUCB(shared=True), shown, "features"),
        "LinUCB, one context": (tr.LinUCB(), shown, "features common"),
        "LinUCB, one context, each": (tr.LinUCB(shared=False), shown, "features common"),
        "LinTS, on arrival": (tr.LinTS(), shown | {"draws": 50}, "features"),
        "LinTS, one context": (tr.LinTS(), shown | {"measured": False}, "features common"),
        "LinMED": (tr.LinMED(), shown, "features"),
        "SquareCB": (tr.SquareCB(), shown, "features"),
        "LinEpsilonGreedy": (tr.LinEpsilonGreedy(), shown, "features"),
        "EpsilonGreedy, names": (tr.EpsilonGreedy(), {"arms": ["a", "b", "c"]}, ""),
        "BetaThompson": (tr.BetaThompson(), {"arms": 4}, ""),
        "UCB, retired": (tr.UCB(), {"arms": 4}, "retired"),
    }
    return signalled.kinds() | more


def rounds(rng, session, may, n):
    """(contexts, eligible) of n rounds."""
    K, contexts = session.arms.number, None
    if "catalogue" in may:
        return [rng.uniform(-0.5, 0.5, size=(int(rng.integers(2, 6)), 3)) for _ in range(n)], None
    if "segments" in may:
        contexts = [tr.Context(segment=int(rng.integers(2))) for _ in range(n)]
    elif "common" in may:
        contexts = rng.uniform(-0.5, 0.5, size=(n, 3))
    elif "features" in may:
        contexts = rng.uniform(-0.5, 0.5, size=(n, K, 3))
    eligible = None
    if rng.random() < 0.6:
        eligible = rng.random((n, K)) < 0.7
        eligible[:, :2] = True
        eligible = eligible if rng.random() < 0.6 else eligible[0]
    return contexts, eligible


def rewards(rng, decisions, sets):
    values = [rng.integers(0, 5, size=np.size(arm)) / 4 for arm in decisions.arm]
    return values if sets else np.array([float(value[0]) for value in values])


@pytest.mark.parametrize("kind", tiered(sorted(kinds()), LATER))
def test_many_are_one_after_the_other_to_the_bit(kind):
    policy, given, may = kinds()[kind]
    rng = np.random.default_rng(7)
    one, many = (tr.Session(policy, **given, seed=3, default_reward=0.25) for _ in range(2))
    if "retired" in may:
        one.retire(1), many.retire(1)
    sets, waiting = one.arms.oracle is not None, []
    for wave in range(5):
        n = int(rng.integers(1, 8))
        contexts, eligible = rounds(rng, one, may, n)
        ids = [f"w{wave}.{i}" for i in range(n)] if wave % 2 else None
        each = eligible is not None and np.ndim(eligible) == 2
        made = many.decide_many(contexts, ids, eligible, number=n)
        singles = [
            one.decide(
                None if contexts is None else contexts[i],
                eligible[i] if each else eligible,
                None if ids is None else ids[i],
            )
            for i in range(n)
        ]
        assert made.ids.tolist() == [d.id for d in singles]
        for name in ("arm", "name", "propensity", "propensity_se"):
            told = [np.array(value).tolist() for value in getattr(made, name)]
            assert repr(told) == repr([np.array(getattr(d, name)).tolist() for d in singles]), (
                wave,
                name,
            )
        assert signalled.seen(many) == signalled.seen(one), wave
        waiting += list(zip(made.ids.tolist(), rewards(rng, made, sets), strict=True))
        waiting = [item for item in waiting if one.is_open(item[0])]  # a window closes some
        rng.shuffle(waiting)
        now, waiting = waiting[: len(waiting) // 2 + 1], waiting[len(waiting) // 2 + 1 :]
        now += now[:1]  # the same once more
        took = many.reward_many([id for id, _ in now], [value for _, value in now])
        assert took == sum(one.reward(id, value) for id, value in now) == len(now) - 1
        assert signalled.seen(many) == signalled.seen(one), wave
    assert list(many.open) == list(one.open)
    assert repr(many.open) == repr(one.open)
    assert repr(list(many.answered())) == repr(list(one.answered()))


@pytest.mark.parametrize("form", ["n", "n d", "n K d"])
def test_a_compiled_policy_decides_in_one_call(form, monkeypatch):
    policy = tr.UCB() if form == "n" else tr.LinUCB()
    session = tr.Session(policy, arms=4) if form == "n" else tr.Session(policy, arms=4, dimension=3)
    monkeypatch.setattr(batches, "one_by_one", None)
    monkeypatch.setattr(tr.Session, "reward", None)
    contexts = {
        "n": None,
        "n d": np.eye(3),
        "n K d": np.random.default_rng(0).normal(size=(3, 4, 3)),
    }[form]
    made = session.decide_many(contexts, ["a", "b", "c"])
    assert (
        session.reward_many(made.ids, [0.0, 0.5, 1.0]) == 3
        and session.rounds == 3
        and not session.open
    )


def begun(**more):
    session = tr.Session(tr.LinUCB(), arms=["a", "b", "c"], dimension=2, **more)
    session.decide_many(np.eye(2), ["x", "y"])
    return session


REFUSED = {
    "nothing": ({}, "contexts, ids and number are missing"),
    "another number": ({"contexts": np.eye(2), "ids": ["p"]}, "contexts says 2, ids says 1"),
    "no rounds": ({"contexts": np.zeros((0, 2))}, "at least one round"),
    "twice": ({"contexts": np.eye(2), "ids": ["p", "p"]}, "row 1 of ids: 'p' is there twice"),
    "known": ({"contexts": np.eye(2), "ids": ["p", "x"]}, "row 1 of ids: 'x' was decided already"),
    "automatic": (
        {"contexts": np.eye(2), "ids": ["p", "#9"]},
        "row 1 of ids: id = '#9' begins with #",
    ),
    "no id": ({"contexts": np.eye(2), "ids": ["p", 1.5]}, "row 1 of ids: id = 1.5 is not text"),
    "one text": ({"contexts": np.eye(2), "ids": "pq"}, "is not a list of ids"),
    "shape": ({"contexts": np.ones((2, 3))}, "contexts has shape (2, 3), but must be (n, 2)"),
    "vector": ({"contexts": np.ones(2)}, "contexts has shape (2,)"),
    "NaN": (
        {"contexts": np.array([[0.0, 1.0], [np.nan, 0.0]])},
        "row 1 of contexts: contexts[1, 0] = nan",
    ),
    "no arm": (
        {"contexts": np.eye(2), "eligible": np.array([[True] * 3, [False] * 3])},
        "row 1 of eligible",
    ),
    "masks": (
        {"contexts": np.eye(2), "eligible": np.ones((3, 3), dtype=bool)},
        "eligible has 3 rows, but there are 2 rounds",
    ),
    "unknown name": ({"contexts": np.eye(2), "eligible": ["d"]}, "'d'"),
    "too large": ({"contexts": np.array([[0.0, 1.0], [1e200, 0.0]])}, "row 1 of contexts"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_refused_changes_nothing(case):
    session = begun()
    before = signalled.seen(session)
    arguments, words = REFUSED[case]
    with pytest.raises(ValueError) as told:
        session.decide_many(**arguments)
    assert words in str(told.value)
    assert signalled.seen(session) == before


@pytest.mark.parametrize(
    ("ids", "values", "words"),
    [
        (["x", "z"], [0.5, 0.5], "row 1 of ids: id = 'z' is not a decision"),
        (["x", "y"], [0.5, np.nan], "row 1 of values: reward = nan"),
        (["x", "y"], [0.5, 1e200], "row 1 of values: reward = 1e+200"),
        (["x", "y"], [0.5], "values has shape (1,), but must be (2,)"),
        (["x", "y", "x"], [0.5, 0.5, 0.75], "row 2 of ids: 'x' is there twice, with 0.5 and 0.75"),
        (["y", "done"], [0.5, 0.5], "row 1 of ids: decision 'done' was rewarded with 1"),
        (["x", "y"], [0.5, "much"], "is not an array of numbers"),
    ],
)
def test_one_bad_reward_keeps_all_from_being_learned(ids, values, words):
    session = begun()
    session.reward(session.decide([1.0, 1.0], id="done").id, 1.0)
    before = signalled.seen(session)
    with pytest.raises(ValueError) as told:
        session.reward_many(ids, values)
    assert words in str(told.value)
    assert signalled.seen(session) == before
    assert session.reward_many(["y", "done", "x", "y"], [0.5, 1.0, 0.25, 0.5]) == 2


def test_rewards_of_sets_are_checked_before_the_first_is_learned():
    session = tr.Session(tr.C2UCB(), arms=np.eye(4), oracle=tr.oracles.TopK(2))
    made = session.decide_many(number=3)
    assert made.arm[1].tolist() == [0, 1] and made.frame().shape == (3, 5)
    before = signalled.seen(session)
    with pytest.raises(ValueError, match=r"row 2 of values: arm = 3 is not in decision"):
        session.reward_many(made.ids, [[0.5, 0.5], {0: 1.0}, {3: 1.0}])
    with pytest.raises(
        ValueError, match=r"row 1 of values: decision '#1' was rewarded with 0.5 for arm 0"
    ):
        session.reward_many(made.ids[[0, 0]], [{0: 0.5}, {0: 1.0}])
    assert signalled.seen(session) == before
    assert session.reward_many(made.ids[[0, 1, 1]], [[0.5, 0.5], {0: 1.0}, {1: 0.0}]) == 3


def test_the_callers_array_may_change_afterwards_unless_it_cannot_be_written():
    contexts = np.eye(2)
    session = tr.Session(tr.LinUCB(), arms=3, dimension=2)
    session.decide_many(contexts, ["x", "y"])
    contexts[:] = 9.0
    assert session.open["x"].context.features.tolist() == [[1.0, 0.0]] * 3


def test_arrays_of_a_batch_are_let_go_with_its_last_open_decision():
    session = begun()
    made = session.decide_many(np.eye(2))
    assert len(session._book.batches) == 2
    session.reward_many(made.ids, [0.0, 1.0])
    session.cancel("x")
    assert len(session._book.batches) == 1
    session.close("y")
    assert not session._book.batches and not session._book.left


def test_ids_are_listed_when_one_is_asked_for():
    """Listing a million takes half as long as deciding them; the entry made for `last` is the one
    that the list has."""
    session = tr.Session(tr.UCB(), arms=3, seed=0)
    first, second = session.decide_many(number=3), session.decide_many(number=2)
    book = session._book
    assert book.unlisted and not book.lacks(second.ids.tolist())
    assert not book.unlisted
    assert list(book.open) == [*first.ids, *second.ids]
    assert book.get(second.ids[-1]) is book.last
    assert session.reward_many(second.ids, [1.0, 0.0]) == 2
    assert list(session.open) == list(first.ids)


def test_only_the_last_ones_are_remembered_as_when_they_are_closed_one_by_one():
    n = 10_050
    one, many = (tr.Session(tr.UCB(), arms=3) for _ in range(2))
    made = many.decide_many(number=n)
    order = np.random.default_rng(0).permutation(n)
    for _ in range(n):
        one.decide()
    many.reward_many(made.ids[order], np.full(n, 0.5))
    for i in order.tolist():
        one.reward(f"#{i + 1}", 0.5)
    assert signalled.seen(one) == signalled.seen(many)


def test_update_answers_the_last_decision():
    one, many = (tr.Session(tr.LinUCB(), arms=3, dimension=2) for _ in range(2))
    contexts = np.random.default_rng(0).uniform(size=(6, 2))
    many.decide_many(contexts)
    for row in contexts:
        one.decide(row)
    for session in (one, many):
        session.reward("#1", 0.5)
        session.update(
            session.open["#4"].arm, 0.25, context=contexts[3]
        )  # data: another was made since
        session.update(session.open["#6"].arm, 0.25)
        assert list(session.open) == ["#2", "#3", "#4", "#5"]
    assert signalled.seen(one) == signalled.seen(many)


@pytest.mark.parametrize("kind", ["LinUCB, one context", "UCB, window", "UCB in order", "C2UCB"])
def test_an_interrupted_call_leaves_what_calls_one_by_one_could_leave(kind):
    policy, given, may = kinds()[kind]
    contexts, eligible = rounds(
        np.random.default_rng(5), tr.Session(policy, **given, default_reward=0.25), may, 4
    )

    def begin():
        """A session with an open batch, which a copy would have as single decisions."""
        session = tr.Session(policy, **given, default_reward=0.25)
        session.decide_many(contexts, ["p", "q", "r", "s"], eligible)
        session.reward("p", [0.5, 0.5] if "C2UCB" in kind else 0.5)
        return session

    ids, values = (
        ["s", "q", "r"],
        [[0.5, 0.25], [0.75, 0.0], [1.0, 1.0]] if "C2UCB" in kind else [0.25, 0.75, 1.0],
    )

    def prefixes(steps):
        """Sessions as they are before, and after every step, and what is seen of them."""
        for k in range(len(steps) + 1):
            one = begin()
            for step in steps[:k]:
                step(one)
            yield one, signalled.seen(one)

    decided = lambda s: s.decide_many(contexts, ["1", "2", "3", "4"], eligible)  # noqa: E731
    rewarded = lambda s: s.reward_many(ids, values)  # noqa: E731
    singly = [lambda s, i=i: s.reward(ids[i], values[i]) for i in range(3)]
    for call, allowed in ((decided, list(prefixes([decided]))), (rewarded, list(prefixes(singly)))):
        found, left, came = set(), 0, True
        while came:
            left += 1
            session = begin()
            came = signalled.Everywhere(lambda: left).interrupts(lambda: call(session))  # noqa: B023
            now = signalled.seen(session)
            state = [
                k
                for k, (twin, then) in enumerate(allowed)
                if signalled.alike(session, now, twin, then)
            ]
            assert state, left
            found.add(state[0])
        assert {0, len(allowed) - 1} <= found and left > 10
