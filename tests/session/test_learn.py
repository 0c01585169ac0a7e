"""Logs as training data: as rewards one by one, from any kind of table; a bad frame teaches
nothing."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import tightrope as tr
from session.histories import same_state
from tightrope.core.verbs import Context

RNG = np.random.default_rng(0)
N = 200
X = RNG.normal(size=(5, 3)) / 3
ARM, REWARD = RNG.integers(0, 5, N), RNG.random(N)
ROWS = RNG.normal(size=(N, 3)) / 3
COLUMNS = ["x", "y", "z"]


class Polars:
    """The part of a polars frame that is used: columns by name, each with to_numpy."""

    def __init__(self, frame):
        self.columns, self._frame = list(frame), frame

    def __getitem__(self, name):
        return self._frame[name]


def one_by_one(session, features=None):
    for i in range(N):
        if features is None:
            session.update(int(ARM[i]), float(REWARD[i]))
        else:
            shown = np.zeros((5, 3))
            shown[ARM[i]] = features[i]
            session.update(int(ARM[i]), float(REWARD[i]), shown)
    return session


@pytest.mark.parametrize(
    "policy", [tr.UCB(), tr.LinUCB(), tr.LinTS(), tr.CUCB2(baseline=0, baseline_mean=0.5)], ids=repr
)
def test_a_log_is_what_its_rows_are(policy):
    arms = 5 if isinstance(policy, tr.UCB) else X
    expected = one_by_one(tr.Session(policy, arms=arms, seed=0))
    names = [f"arm {k}" for k in range(5)]
    table = pd.DataFrame({"arm": ARM, "reward": REWARD})
    named = pd.DataFrame({"which": np.array(names)[ARM], "clicks": REWARD})
    for frame, given, kind in (
        (table, {}, {}),
        (table.to_dict("list"), {}, {}),
        (Polars(table), {}, {}),
        (pa.Table.from_pandas(table), {}, {}),
        (table.astype({"arm": float}), {}, {}),
        (named, {"arm": "which", "reward": "clicks"}, {"names": names}),
        (
            named.astype({"which": "category"}),
            {"arm": "which", "reward": "clicks"},
            {"names": names},
        ),
        (pa.Table.from_pandas(named), {"arm": "which", "reward": "clicks"}, {"names": names}),
    ):
        session = tr.Session(policy, arms=arms, seed=0, **kind)
        assert session.learn(frame, **given) == N
        assert session.rounds == N
        assert same_state(session, expected)


def test_logs_with_features():
    expected = one_by_one(tr.Session(tr.LinUCB(), arms=5, dimension=3), ROWS)
    table = pd.DataFrame(ROWS, columns=COLUMNS).assign(arm=ARM, reward=REWARD)
    for frame, features in (
        (table, COLUMNS),
        ({"arm": ARM, "reward": REWARD, "features": ROWS}, "features"),
        ({"arm": ARM, "reward": REWARD, "features": list(ROWS)}, "features"),
        (pa.table({"arm": ARM, "reward": REWARD, "features": ROWS.tolist()}), "features"),
    ):
        session = tr.Session(tr.LinUCB(), arms=5, dimension=3)
        assert session.learn(frame, features=features) == N
        assert same_state(session, expected)
    catalogue = tr.Session(tr.LinUCB(), dimension=3)
    assert catalogue.learn(table, features=COLUMNS) == N
    np.testing.assert_array_equal(catalogue.state.model.theta, expected.state.model.theta)
    assert catalogue.decide(X).arm == expected.decide(X).arm


def test_logs_of_sets():
    session, expected = (
        tr.Session(tr.C2UCB(), arms=X, oracle=tr.oracles.TopK(2)) for _ in range(2)
    )
    session.learn({"arm": ARM, "reward": REWARD})
    for arm, value in zip(ARM, REWARD, strict=True):
        expected.update([arm], [value])
    np.testing.assert_allclose(session.state.model.design, expected.state.model.design, rtol=1e-12)
    np.testing.assert_allclose(
        session.state.model.response, expected.state.model.response, rtol=1e-12
    )


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (
            {"arm": [0, 7, 1, -1]},
            r"frame has 2 bad rows of 4, so nothing of it was learned: row 1: "
            r"arm = 7 "
            r"is no arm "
            r"from 0 to 4; row 3: ",
        ),
        ({"arm": [0, 1.5, 1, 2]}, r"row 1: arm = 1.5 is no arm"),
        ({"arm": ["a", "q", None, "b"]}, r"2 bad rows of 4.*row 1: arm = 'q'.*row 2: arm = None"),
        (
            {"reward": [0.5, np.inf, 0.5, 2.0]},
            r"row 1: reward = inf is not a finite number; row 3: reward = 2 is outside \[0, 1\]",
        ),
        (
            {"reward": [0.5, "x", [1], 0.5]},
            r"row 1: reward = 'x' is not a finite number; row 2: reward = \[1\]",
        ),
        ({"reward": ["1", "0", "1", "0"]}, r"4 bad rows of 4.* and 1 more"),
        ({"reward": [0.5]}, r"column 'arm' has shape \(4,\)"),
        ({"reward": []}, r"reward = 'reward' has shape \(0,\)"),
        ({"wrong": 1, "reward": None}, "must be a column with at least one row"),
    ],
)
def test_nothing_of_a_bad_frame_is_learned(change, words):
    session = tr.Session(
        tr.KLUCB(), arms=5, names=list("abcde") if "a" in change.get("arm", []) else None
    )
    session.learn({"arm": [0, 1], "reward": [0.0, 1.0]})
    before = {
        key: value.copy() for key, value in zip(session.state._fields, session.state, strict=True)
    }
    with pytest.raises(ValueError, match=words) as caught:
        session.learn({"arm": [0, 1, 2, 3], "reward": [0.0, 1.0, 1.0, 0.0]} | change)
    assert "\n" not in str(caught.value)
    assert all(np.array_equal(value, getattr(session.state, key)) for key, value in before.items())
    assert session.rounds == 2


def test_columns_that_are_missing_or_too_many():
    session = tr.Session(tr.UCB(), arms=5)
    with pytest.raises(ValueError, match="frame has no column 'reward'; it has arm, value"):
        session.learn(pd.DataFrame({"arm": [1], "value": [1.0]}))
    with pytest.raises(ValueError, match="is no table: it has no column by name"):
        session.learn(np.zeros((3, 2)))
    with pytest.raises(ValueError, match="features was given, but these arms do not change"):
        session.learn({"arm": [1], "reward": [1.0], "x": [1.0]}, features=["x"])
    changing = tr.Session(tr.LinUCB(), arms=5, dimension=3)
    with pytest.raises(ValueError, match="features is missing; name the 3 columns"):
        changing.learn({"arm": [1], "reward": [1.0]})
    with pytest.raises(ValueError, match=r"features has shape \(1, 2\), but must be \(1, 3\)"):
        changing.learn({"arm": [1], "reward": [1.0], "x": [1.0], "y": [1.0]}, features=["x", "y"])
    with pytest.raises(ValueError, match=r"row 0: features are \[1.0, nan, 0.0\], not all finite"):
        changing.learn({"arm": [1], "reward": [1.0], "f": [[1.0, np.nan, 0.0]]}, features="f")


def test_a_baseline_of_each_round():
    policy = tr.CLUCB2(baseline_mean=0.5)
    one, other = (tr.Session(policy, arms=X * 0.9, seed=0) for _ in range(2))
    one.learn({"arm": ARM, "reward": REWARD, "base": np.where(ARM == 2, 2, 0)}, baseline="base")
    for arm, value in zip(ARM.tolist(), REWARD.tolist(), strict=True):
        other.update(arm, value, Context(baseline=2 if arm == 2 else 0))
    assert same_state(one, other)
    with pytest.raises(ValueError, match="baseline is missing"):
        one.learn({"arm": ARM, "reward": REWARD})
