"""Logs from tables, files and sessions: the same rows in every form, and sentences for damaged
ones."""

import itertools
import json

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import tightrope as tr
from tightrope.logs.log import Rows


def table(n=50, seed=0):
    rng = np.random.default_rng(seed)
    h = np.array([0.5, 0.3, 0.2])
    arm = rng.choice(3, n, p=h)
    return {
        "arm": arm,
        "reward": rng.random(n),
        "propensity": h[arm],
        "x": rng.normal(size=n),
        "y": rng.normal(size=n),
        "p0": np.full(n, 0.5),
        "p1": np.full(n, 0.3),
        "p2": np.full(n, 0.2),
        "when": np.arange(n) * 1.5,
        "slot": rng.integers(0, 2, n),
    }


OPTIONS = {
    "features": ["x", "y"],
    "probabilities": ["p0", "p1", "p2"],
    "time": "when",
    "slot": "slot",
}


def whole(log, size=None):
    parts = [part._replace(origin=part.given) for part in log.chunks(size)]
    return Rows(
        *(
            None if parts[0][i] is None else np.concatenate([p[i] for p in parts])
            for i in range(len(parts[0]) - 1)
        )
    )


def same(a, b):
    for name, x, y in zip(Rows._fields, a, b, strict=True):
        assert (x is None) == (y is None), name
        assert x is None or np.array_equal(x, y), name


@pytest.mark.parametrize("size", [None, 7])
def test_every_table_gives_the_same_rows(tmp_path, size):
    columns = table()
    wanted = whole(tr.logs.from_frame(columns, **OPTIONS))
    assert wanted.features.shape == (50, 2)
    assert wanted.probabilities.shape == (50, 3)
    frame = pd.DataFrame(columns)
    same(whole(tr.logs.from_frame(frame, **OPTIONS), size), wanted)
    same(whole(tr.logs.from_frame(pa.Table.from_pandas(frame), **OPTIONS), size), wanted)
    frame.to_parquet(tmp_path / "log.parquet", row_group_size=11)
    log = tr.logs.from_frame(tmp_path / "log.parquet", **OPTIONS)
    same(whole(log, size), wanted)
    assert (log.n, log.arms, log.known, log.uniform) == (50, 3, True, False)
    assert log.plays.tolist() == np.bincount(columns["arm"]).tolist()


def test_columns_of_arrays(tmp_path):
    columns = table()
    X = np.random.default_rng(1).normal(size=(50, 3, 2))
    by_array = tr.logs.from_frame(columns, features=X)
    frame = pa.table(columns | {"X": X.tolist(), "p": [[0.5, 0.3, 0.2]] * 50})
    pq.write_table(frame, tmp_path / "log.parquet")
    for source in (frame, tmp_path / "log.parquet"):
        log = tr.logs.from_frame(source, features="X", probabilities="p")
        same(
            whole(log),
            whole(tr.logs.from_frame(columns, features=X, probabilities=["p0", "p1", "p2"])),
        )
    assert whole(by_array).features.shape == (50, 3, 2)


def test_names_are_kept(tmp_path):
    frame = pd.DataFrame(
        {"arm": ["pear", "apple", "pear"], "reward": [1, 0, 1], "propensity": [0.5, 0.25, 0.5]}
    )
    log = tr.logs.from_frame(frame)
    assert log.names == ("apple", "pear")
    assert whole(log).arm.tolist() == [1, 0, 1]
    ordered = tr.logs.from_frame(frame, arms=["pear", "plum", "apple"])
    assert whole(ordered).arm.tolist() == [0, 2, 0]
    frame.to_parquet(tmp_path / "log.parquet")
    assert tr.logs.from_frame(tmp_path / "log.parquet").names == ("apple", "pear")
    with pytest.raises(ValueError, match="arm = 'apple' is not among arms"):
        tr.logs.from_frame(frame, arms=["pear", "plum"])


def test_rows_are_taken_in_the_order_of_time(tmp_path):
    frame = pd.DataFrame(table()).sample(frac=1.0, random_state=1)
    rows, sorted_rows = (
        whole(tr.logs.from_frame(frame, **OPTIONS)),
        whole(tr.logs.from_frame(table(), **OPTIONS)),
    )
    same(rows._replace(origin=None), sorted_rows._replace(origin=None))
    assert frame.index[rows.origin].tolist() == list(range(50))
    frame.to_parquet(tmp_path / "log.parquet")
    with pytest.raises(ValueError, match=r"when falls in .*log.parquet; sort the log"):
        list(tr.logs.from_frame(tmp_path / "log.parquet", **OPTIONS).chunks())


@pytest.mark.parametrize("kind", ["pandas", "nullable", "parquet", "dict"])
def test_rows_without_a_reward_are_left_out_and_counted(tmp_path, kind):
    columns = table() | {"reward": np.where(np.arange(50) % 5 == 2, np.nan, 0.5)}
    frame = pd.DataFrame(columns)
    if kind == "nullable":
        frame["reward"] = frame["reward"].astype("Float64")
    if kind == "parquet":
        frame.to_parquet(tmp_path / "log.parquet", row_group_size=7)
    given = {
        "parquet": tmp_path / "log.parquet",
        "dict": columns | {"reward": [None if r != r else r for r in columns["reward"]]},
    }
    log = tr.logs.from_frame(given.get(kind, frame), **OPTIONS)
    assert (log.n, log.given, log.left_out) == (40, 50, {"rows without a reward": 10})
    assert whole(log, 6).origin.tolist() == [i for i in range(50) if i % 5 != 2]
    assert "Left out: 10 rows without a reward." in tr.evaluate(log, 1).notes


def test_of_a_set_without_all_rewards_the_round_is_left_out():
    rounds = np.repeat(np.arange(20), 3)
    rewards = np.where(np.arange(60) == 31, np.nan, 0.5)
    columns = {
        "arm": np.tile([0, 1, 2], 20),
        "reward": rewards,
        "propensity": np.full(60, 0.7),
        "round": rounds,
    }
    log = tr.logs.from_frame(columns, round="round")
    assert (log.n, log.rounds, log.left_out) == (57, 19, {"rows without a reward": 3})
    assert 10 not in whole(log, 4).round


def test_a_folder_of_parquet_files_is_one_log(tmp_path):
    frame = pd.DataFrame(table())
    for i, part in enumerate((frame[:20], frame[20:21], frame[21:])):
        part.to_parquet(tmp_path / f"part-{i}.parquet")
    same(
        whole(tr.logs.from_frame(tmp_path, **OPTIONS), 8),
        whole(tr.logs.from_frame(frame, **OPTIONS)),
    )
    (tmp_path / "empty").mkdir()
    with pytest.raises(ValueError, match="is a folder without files that end with"):
        tr.logs.from_frame(tmp_path / "empty")


def test_rows_of_a_set_are_never_apart():
    rounds = np.repeat(np.arange(20), 3)
    columns = {
        "arm": np.tile([0, 1, 2], 20),
        "reward": np.zeros(60),
        "propensity": np.full(60, 0.7),
        "round": rounds,
    }
    log = tr.logs.from_frame(columns, round="round")
    assert (log.size, log.rounds, log.n) == (3, 20, 60)
    for size in (1, 2, 4, 7, 100):
        parts = list(log.chunks(size))
        assert all(part.round[0] != before.round[-1] for before, part in itertools.pairwise(parts))
        assert np.array_equal(np.concatenate([part.round for part in parts]), rounds)
        assert [part.first for part in parts] == np.concatenate(
            [[0], np.cumsum([p.arm.size for p in parts])[:-1]]
        ).tolist()


def test_a_floor_is_known_where_arms_were_drawn_evenly():
    assert (
        tr.logs.from_frame({"arm": [0, 1], "reward": [0, 1], "propensity": [0.5, 0.5]}).floor == 0.5
    )
    assert (
        tr.logs.from_frame({"arm": [0, 1], "reward": [0, 1], "propensity": [0.5, 0.4]}).floor
        is None
    )
    mask = np.array([[True, True, False], [True, True, True]])
    log = tr.logs.from_frame(
        {"arm": [0, 2], "reward": [0, 1], "propensity": [0.5, 1 / 3]}, eligible=mask
    )
    assert log.uniform


# Other formats ------------------------------------------------------------------------------------


def test_obp_there_and_back():
    log = tr.logs.from_frame(table(), **OPTIONS)
    feedback = tr.logs.to_obp(log)
    assert feedback["n_rounds"] == 50
    assert feedback["pi_b"].shape == (50, 3, 1)
    back = tr.logs.from_obp(feedback)
    same(whole(back)._replace(time=None), whole(log)._replace(time=None))
    with pytest.raises(ValueError, match="no 'pscore'"):
        tr.logs.from_obp({"action": [0], "reward": [1]})


def test_obp_takes_the_probabilities_of_the_position():
    pi = np.zeros((2, 2, 3))
    pi[:, :, 0], pi[:, :, 1], pi[:, :, 2] = [0.5, 0.5], [0.9, 0.1], [0.2, 0.8]
    feedback = {
        "n_actions": 2,
        "action": [0, 1],
        "reward": [1, 0],
        "pscore": [0.9, 0.8],
        "position": [1, 2],
        "pi_b": pi,
        "context": None,
    }
    assert whole(tr.logs.from_obp(feedback)).probabilities.tolist() == [[0.9, 0.1], [0.2, 0.8]]


def test_dsjson_there_and_back(tmp_path):
    log = tr.logs.from_frame(table(), probabilities=["p0", "p1", "p2"])
    path = tr.logs.to_dsjson(log, tmp_path / "log.dsjson")
    stamped = pd.DataFrame(table(3)).assign(when=pd.date_range("2026-01-31", periods=3, tz="UTC"))
    again = tr.logs.to_dsjson(tr.logs.from_frame(stamped, time="when"), tmp_path / "stamped.dsjson")
    assert whole(tr.logs.from_dsjson(again)).time[1] == np.datetime64("2026-02-01")
    first = json.loads(path.read_text().splitlines()[0])
    rows = whole(log)
    assert first["_label_Action"] == rows.arm[0] + 1
    assert first["_label_cost"] == -rows.reward[0]
    assert first["a"][0] == rows.arm[0] + 1
    same(whole(tr.logs.from_dsjson(path)), rows)


def test_of_a_repeated_event_the_last_state_counts(tmp_path):
    def line(id, action, cost, **more):
        return {
            "_label_cost": cost,
            "_label_probability": 0.5,
            "_label_Action": action,
            "EventId": id,
        } | more

    lines = [
        line("a", 1, 0.0),
        line("b", 2, -1.0),
        line("a", 1, -0.5),
        line("c", 2, None),
        line("d", 1, 0.0),
        {"EventId": "d", "RewardValue": 0.25},
    ]
    path = tmp_path / "log.dsjson"
    path.write_text("\n".join(map(json.dumps, lines)))
    log = tr.logs.from_dsjson(path)
    assert whole(log).reward.tolist() == [0.5, 1.0, 0.25]
    assert whole(log).arm.tolist() == [0, 1, 0]
    assert log.left_out == {"decisions without a reward": 1}
    assert "Left out: 1 decisions without a reward." in tr.evaluate(log, 0).notes


def test_dsjson_with_other_candidates_in_every_round(tmp_path):
    lines = [
        {
            "_label_cost": 0.0,
            "_label_probability": 0.6,
            "_label_Action": 2,
            "EventId": "1",
            "a": [2, 1],
            "p": [0.6, 0.4],
        },
        {
            "_label_cost": -1.0,
            "_label_probability": 0.5,
            "_label_Action": 3,
            "EventId": "2",
            "a": [3, 1, 2],
            "p": [0.5, 0.25, 0.25],
        },
    ]
    path = tmp_path / "log.dsjson"
    path.write_text("\n".join(map(json.dumps, lines)))
    rows = whole(tr.logs.from_dsjson(path))
    assert rows.probabilities.tolist() == [[0.4, 0.6, 0.0], [0.25, 0.25, 0.5]]
    assert rows.eligible.tolist() == [[True, True, False], [True, True, True]]


@pytest.mark.parametrize(
    ("words", "text"),
    [
        ("line 1: not JSON", "{"),
        ("line 1: not a JSON object", "[1]"),
        ("_label_Action and _label_probability", '{"_label_cost": 1}'),
        (
            "_label_Action .* = 0 is not",
            '{"_label_cost": 0, "_label_probability": 0.5, "_label_Action": 0}',
        ),
        (
            "pdrop = 0.5",
            '{"_label_cost": 0, "_label_probability": 0.5, "_label_Action": 1, "pdrop": 0.5}',
        ),
        (
            "a and p must be",
            '{"_label_cost": 0, "_label_probability": 0.5, "_label_Action": '
            '1, "a": '
            '[1], "p": '
            "[0.5, 0.5]}",
        ),
        ("no decision with a reward", ""),
    ],
)
def test_damaged_dsjson(tmp_path, words, text):
    path = tmp_path / "log.dsjson"
    path.write_text(text)
    with pytest.raises(ValueError, match=words):
        tr.logs.from_dsjson(path)


# Sessions -----------------------------------------------------------------------------------------


def test_a_session_gives_what_its_book_remembers(tmp_path):
    session, made = (
        tr.Session(tr.EpsilonGreedy(epsilon=0.3), arms=3, names=["a", "b", "c"], seed=1),
        [],
    )
    for _ in range(250):
        made.append(session.decide())
        session.reward(made[-1].id, 1.0 if made[-1].arm == 1 else 0.0)
    made += [session.decide() for _ in range(50)]
    session.close(made[250].id)
    session.cancel(made[251].id)
    session.select()
    log = tr.logs.from_session(session)
    rows = whole(log)
    same(whole(tr.logs.from_session(tr.Session.load(session.save(tmp_path / "session.npz")))), rows)
    assert rows.arm.tolist() == [d.arm for d in made[:250]]
    assert rows.propensity.tolist() == [d.propensity for d in made[:250]]
    assert log.names == ("a", "b", "c")
    assert log.left_out == {
        "open decisions": 49,
        "closed without a reward": 1,
        "cancelled, or closed too long ago to be known": 1,
    }
    e = tr.evaluate(log, "b")
    assert e.n == 250
    assert e.value == pytest.approx(1.0, abs=0.05)
    assert "Left out: 49 open decisions" in e.notes[0]


def test_decisions_without_a_propensity_are_counted():
    session = tr.Session(tr.EpsilonGreedy(epsilon=0.3), arms=3)
    for _ in range(4):
        session.update(session.select(), 0.5)
    d = session.decide()
    session.reward(d.id, 1.0)
    log = tr.logs.from_session(session)
    assert (log.n, log.left_out) == (1, {"made by select, without a propensity": 4})


def test_expired_decisions_count_with_the_reward_they_were_given():
    session = tr.Session(tr.EpsilonGreedy(epsilon=0.3), arms=2, window=2, default_reward=0.0)
    for _ in range(5):
        session.decide()
    log = tr.logs.from_session(session)
    assert (log.n, log.left_out) == (2, {"open decisions": 3})
    assert whole(log).reward.tolist() == [0.0, 0.0]


def test_a_session_of_sets():
    session = tr.Session(tr.CombTS(), arms=np.eye(4), oracle=tr.oracles.TopK(2), seed=0)
    for i in range(6):
        d = session.decide()
        if i < 4:
            session.reward(d.id, [1.0, 0.0])
    log = tr.logs.from_session(session)
    assert (log.size, log.rounds, log.n) == (2, 4, 8)
    assert log.left_out == {"open decisions": 2}


def test_chances_of_all_arms_are_those_of_decisions():
    X = np.random.default_rng(0).normal(size=(4, 3))
    session = tr.Session(tr.Explore(tr.LinTS(scale=0.3), floor=0.05), arms=X, seed=3)
    for _ in range(20):
        d = session.decide()
        session.reward(d.id, float(d.arm == 2))
    before = session.state
    chances = session.propensities(eligible=[True, False, True, True])
    assert chances.sum() == pytest.approx(1.0)
    assert chances[1] == 0.0
    assert (chances[[0, 2, 3]] >= 0.05 * (1.0 - 1e-3)).all()
    assert session.state is before
    d = session.decide(eligible=[True, False, True, True])
    assert d.propensity == pytest.approx(chances[d.arm], abs=4.0 * d.propensity_se + 0.02)
    with pytest.raises(ValueError, match="chooses sets"):
        tr.Session(tr.CombTS(), arms=np.eye(4), oracle=tr.oracles.TopK(2)).propensities()


def test_sessions_without_a_log_are_refused():
    with pytest.raises(
        ValueError, match=r"no decision with a reward and a propensity .no decisions"
    ):
        tr.logs.from_session(tr.Session(tr.UCB(), arms=2))
    with pytest.raises(ValueError, match="new candidates at every call"):
        tr.logs.from_session(tr.Session(tr.LinUCB(), dimension=2))


# Damaged tables -----------------------------------------------------------------------------------


GOOD = {"arm": [0, 1, 1], "reward": [0.0, 1.0, 0.5], "propensity": [0.5, 0.25, 0.25]}


@pytest.mark.parametrize(
    ("words", "columns", "options"),
    [
        ("propensity is missing. .*Session.decide", {}, {"propensity": None}),
        ("frame has no column 'click'; it has arm, reward, propensity", {}, {"reward": "click"}),
        (
            "row 1: reward = 3 is outside the declared range .0, 1.; give from_frame",
            {"reward": [0, 3, 1]},
            {},
        ),
        ("row 2: reward = inf is not a finite number", {"reward": [0, 1, np.inf]}, {}),
        ("none of the log's 3 rows has a reward", {"reward": [np.nan] * 3}, {}),
        (
            "frame has no column 'h'; it has arm, reward, propensity. Without the probability of "
            "what was played",
            {},
            {"propensity": "h"},
        ),
        (
            r"frame has 2 bad rows of 3: row 0: propensity = 0, but it must be "
            r"in \(0, "
            r"1\].*; row "
            r"2: propensity = 0",
            {"propensity": [0, 0.5, 0]},
            {},
        ),
        ("row 2: propensity = 1.5", {"propensity": [0.5, 0.5, 1.5]}, {}),
        ("row 0: propensity = nan", {"propensity": [np.nan, 0.5, 1]}, {}),
        ("row 0: arm = -1 is no arm: a negative number", {"arm": [-1, 1, 1]}, {}),
        ("row 0: arm = -1 is no arm from 0 to 1", {"arm": [-1, 1, 1]}, {"arms": 2}),
        ("row 2: arm = 5 is no arm from 0 to 1", {"arm": [0, 1, 5]}, {"arms": 2}),
        ("row 1: arm = 0.5 is no arm", {"arm": [0, 0.5, 1]}, {}),
        (
            r"column 'propensity' has shape .2,., but must have one entry for each of the 3 rows",
            {"propensity": [0.5, 0.5]},
            {},
        ),
        (
            "row 1: features x = inf is not a finite number",
            {"x": [0, np.inf, 1]},
            {"features": ["x"]},
        ),
        (
            "row 0: probabilities add up to 0.9",
            {"a": [0.5] * 3, "b": [0.4] * 3},
            {"probabilities": ["a", "b"]},
        ),
        (
            "row 1: propensity = 0.25 differs from the probability 0.5",
            {"a": [0.5] * 3, "b": [0.5] * 3},
            {"probabilities": ["a", "b"]},
        ),
        (
            "row 1: arm 1 was played, but is not eligible",
            {"a": [1, 1, 1], "b": [1, 0, 1]},
            {"eligible": ["a", "b"]},
        ),
        ("row 1: propensity = 0.25 is below floor = 0.3", {}, {"floor": 0.3}),
        ("rewards = .1, 0. must be a pair", {}, {"rewards": (1, 0)}),
        (
            "probabilities has shape .3, 2., but must have a column for each of the 4 arms",
            {},
            {"probabilities": np.ones((3, 2)), "arms": 4},
        ),
        ("features has shape .2, 2., but must have 3 rows", {}, {"features": np.ones((2, 2))}),
        ("row 0: slot = 0.5 is not a whole number", {"slot": [0.5, 1, 2]}, {"slot": "slot"}),
        ("floor = 0.9 is not a number in", {}, {"floor": 0.9}),
    ],
)
def test_damaged_tables(words, columns, options):
    with pytest.raises(ValueError, match=words):
        list(tr.logs.from_frame(GOOD | columns, **options).chunks())


def test_damaged_files(tmp_path):
    with pytest.raises(ValueError, match="does not exist"):
        tr.logs.from_frame(tmp_path / "none.parquet")
    (tmp_path / "bad.parquet").write_bytes(b"not parquet at all")
    with pytest.raises(ValueError, match="is not a Parquet file that can be read"):
        tr.logs.from_frame(tmp_path / "bad.parquet")
    pd.DataFrame(GOOD).to_parquet(tmp_path / "good.parquet")
    with pytest.raises(ValueError, match="has no column 'click'; it has arm, reward, propensity"):
        tr.logs.from_frame(tmp_path / "good.parquet", reward="click")
    pd.DataFrame(GOOD | {"reward": [0, 1, 2]}).to_parquet(tmp_path / "range.parquet")
    with pytest.raises(ValueError, match="row 2: reward = 2 is outside"):
        tr.logs.from_frame(tmp_path / "range.parquet")


def test_a_floor_that_a_propensity_contradicts_is_refused():
    """One arm was played with certainty, and the floor of the others was believed."""
    rows = {"arm": [0, 1, 2], "reward": [1.0, 0.0, 1.0], "propensity": [0.8, 0.1, 0.1]}
    assert tr.logs.from_frame(rows, floor=0.1).floor == 0.1
    with pytest.raises(
        ValueError,
        match=r"propensity = 1, but the others' floor = 0\.1 leaves at most "
        r"0\.8; give "
        r"the true "
        r"floor",
    ):
        tr.logs.from_frame(rows | {"propensity": [1.0, 0.1, 0.1]}, floor=0.1)
    mask = np.array([[True, False, False], [True, True, True], [True, True, True]])
    alone = tr.logs.from_frame(
        rows | {"propensity": [1.0, 0.1, 0.1]}, eligible=mask, floor=0.1
    )  # no other could be played
    assert alone.floor == 0.1
