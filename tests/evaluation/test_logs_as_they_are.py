"""Logs as people have them: ids that are no indices, rewards that are still to come, cells that
hold something else."""

import datetime
import decimal
import json
import uuid

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import dataset

import tightrope as tr
from tightrope.cli import inputs

N = 300
RNG = np.random.default_rng(4)
IDS = np.array([10, 20, 30])
PLAYED = RNG.integers(0, 3, N)
REWARD = (RNG.random(N) < np.array([0.2, 0.5, 0.8])[PLAYED]) * 1.0
EVEN = {"reward": REWARD, "propensity": np.full(N, 1 / 3)}
GOOD = {"arm": [0, 1, 1, 0], "reward": [0.0, 1.0, 0.5, 1.0], "propensity": [0.5] * 4}


# Labels, masks and gaps ---------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["array", "pandas", "arrow", "dict"])
def test_features_of_a_table_of_their_own_are_its_numbers(kind):
    frame = pd.DataFrame(GOOD | {"x": [1000.0, 2000.0, 3000.0, 4000.0]})
    own = (frame[["x"]] - 2500.0) / 1000.0
    given = {"array": own.to_numpy(), "pandas": own, "arrow": pa.Table.from_pandas(own)}
    log = tr.logs.from_frame(frame, features=given.get(kind, {"x": own["x"].to_numpy()}))
    assert next(log.chunks()).features[:, 0].tolist() == [-1.5, -0.5, 0.5, 1.5]


def test_labels_in_another_order_are_refused():
    log = tr.logs.from_frame(GOOD | {"arm": ["b", "a", "a", "b"]})
    right = pd.DataFrame({"a": np.zeros(4), "b": np.ones(4)})
    wrong = right[["b", "a"]]
    for table in (
        wrong,
        wrong.iloc[0],
        pa.Table.from_pandas(wrong),
        lambda context, eligible: wrong.iloc[0],
    ):
        with pytest.raises(
            ValueError, match=r"policy is labelled \['b', 'a'\], but the arms are \['a', 'b'\]"
        ):
            tr.evaluate(log, table, model=None)
    for table in (right, right.iloc[0]):
        assert tr.evaluate(log, table, model=None).value == tr.evaluate(log, "b", model=None).value
    tr.evaluate(log, "b", model=right)
    with pytest.raises(ValueError, match="model is labelled"):
        tr.evaluate(log, "b", model=wrong)
    with pytest.raises(
        ValueError,
        match=r"policy = {'b': 1.0} is no dict of slot -> probabilities; .* "
        r"\['a', 'b'\] "
        r"in this "
        r"order",
    ):
        tr.evaluate(log, {"b": 1.0})
    with pytest.raises(ValueError, match="eligible is labelled"):
        tr.logs.from_frame(GOOD, eligible=pd.DataFrame({"b": np.ones(4), "a": np.ones(4)}))


@pytest.mark.parametrize("kind", [float, np.int64])
def test_masked_entries_are_missing_ones(kind):
    masked = np.ma.array([0, 1, 1, 1], mask=[1, 0, 0, 0], dtype=kind)
    log = tr.logs.from_frame(GOOD | {"reward": masked})
    assert (log.n, log.left_out) == (3, {"rows without a reward": 1})
    assert tr.Session(tr.UCB(), arms=2).learn(GOOD | {"reward": masked}) == 3
    with pytest.raises(ValueError, match=r"row 0: propensity = .* is not a finite number"):
        tr.logs.from_frame(GOOD | {"propensity": np.ma.array([0.5] * 4, mask=[1, 0, 0, 0])})


def test_a_missing_entry_of_eligible_is_refused():
    mask = np.array([[1.0, 1.0, 1.0], [1.0, 1.0, np.nan], [1.0, 1.0, 0.0], [1.0, 1.0, 0.0]])
    lists = [[None if np.isnan(value) else value for value in row] for row in mask.tolist()]
    for given in (GOOD, mask), (GOOD | {"e": lists}, "e"), (pd.DataFrame(GOOD | {"e": lists}), "e"):
        with pytest.raises(ValueError, match=r"1 bad row of 4: row 1: eligible = .* missing"):
            tr.logs.from_frame(given[0], arms=3, eligible=given[1])


# What arms are called -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("column", "names"),
    [
        (np.array([2**64 - 1, 5], dtype=np.uint64), (5, 2**64 - 1)),
        ([10**30, 5], (5, 10**30)),
        (pd.array([7, 9], dtype="Int64"), (7, 9)),
        (np.array([True, False]), ("False", "True")),
        (pd.array([True, False], dtype="boolean"), ("False", "True")),
        (pd.to_datetime(["2026-01-02", "2026-01-01"]), ("2026-01-01", "2026-01-02")),
        ([datetime.date(2026, 1, 2), datetime.date(2026, 1, 1)], ("2026-01-01", "2026-01-02")),
        ([decimal.Decimal("9.90"), decimal.Decimal("11")], ("11", "9.90")),
        ([uuid.UUID(int=1), uuid.UUID(int=2)], (str(uuid.UUID(int=1)), str(uuid.UUID(int=2)))),
        (["012", "12"], ("012", "12")),
        (["-1", "3"], ("-1", "3")),
        (["None", "nan"], ("None", "nan")),
    ],
)
def test_every_type_of_column_names_its_arms(column, names):
    frame = pd.DataFrame({"arm": column, "reward": [1.0, 0.0], "propensity": 0.5})
    log = tr.logs.from_frame(frame)
    assert log.names == names
    first = str(column[0]).removesuffix(" 00:00:00")
    assert tr.evaluate(log, first, estimator="snips", model=None).value == 1.0


def test_a_missing_time_is_no_arm():
    frame = pd.DataFrame(
        {"arm": pd.to_datetime(["2026-01-02", None]), "reward": [1.0, 0.0], "propensity": 0.5}
    )
    with pytest.raises(ValueError, match="row 1: arm = None is no arm"):
        tr.logs.from_frame(frame)


@pytest.mark.parametrize(
    "ids",
    [IDS, IDS * 30_000_000, np.array(["ten", "thirty", "twenty"]), IDS.astype(float)],
    ids=str,
)
@pytest.mark.parametrize("kind", ["dict", "pandas", "arrow", "parquet", "categories"])
def test_ids_are_labels_whatever_their_type(tmp_path, ids, kind):
    frame = pd.DataFrame(EVEN | {"arm": ids[PLAYED]})
    source = {
        "dict": EVEN | {"arm": ids[PLAYED]},
        "pandas": frame,
        "arrow": pa.Table.from_pandas(frame),
    }.get(kind)
    if kind == "categories":
        source = frame.astype({"arm": "category"})
    if kind == "parquet":
        frame.to_parquet(source := tmp_path / "log.parquet", row_group_size=70)
    log = tr.logs.from_frame(source)
    assert (log.arms, log.names) == (3, tuple(ids.tolist()))
    assert log.uniform
    assert log.plays.tolist() == np.bincount(PLAYED).tolist()
    same = tr.logs.from_frame(EVEN | {"arm": PLAYED})
    assert same.names is None
    assert tr.evaluate(log, log.names[2]).estimates == tr.evaluate(same, 2).estimates
    assert tr.evaluate(log, [1 / 3] * 3).estimates == tr.evaluate(same, [1 / 3] * 3).estimates
    assert (
        tr.evaluate_learner(log, tr.UCB(), method="replay").value
        == tr.evaluate_learner(same, tr.UCB(), method="replay").value
    )
    if ids.dtype.kind != "U":  # among words a number is a place
        with pytest.raises(ValueError, match=r"policy = 2 is not the name of an arm; arms are"):
            tr.evaluate(log, 2)
    record = json.loads(json.dumps(tr.evaluate(log, log.names[2]).record()))
    assert tr.Evaluation.from_record(record).support.names == log.names


def test_arms_says_more_than_what_occurs():
    table = EVEN | {"arm": IDS[PLAYED]}
    for given, plays in (
        ([30, 20, 10, 40], [2, 1, 0]),
        (["10", "20", "30", "40"], [0, 1, 2]),
        (np.array([10.0, 20.0, 30.0]), [0, 1, 2]),
    ):
        log = tr.logs.from_frame(table, arms=given)
        assert log.arms == len(given)
        assert log.plays[:3].tolist() == np.bincount(PLAYED)[plays].tolist()
    assert tr.logs.from_frame(table, arms=31).arms == 31  # K: then a number is an index, as it says
    assert (
        tr.logs.from_frame(
            EVEN | {"arm": PLAYED}, probabilities=np.full((N, 4), 0.25), propensity=None
        ).arms
        == 4
    )
    for wrong, words in (
        ([], "arms is empty"),
        ([10, 20, 10], "arms has 10 twice"),
        ([10, "10"], "arms has '10' twice"),
        ([1.5, 2], r"arms\[0\] = 1.5 is neither"),
        ([None], r"arms\[0\] = None is neither"),
        ("ab", "arms = 'ab' is not a whole number"),
        (2.5, "arms = 2.5 is not a whole number"),
        ([10, 20], "row .*: arm = 30 is not among arms"),
        (3, "arm = .0 is no arm from 0 to 2"),
    ):
        with pytest.raises(ValueError, match=words):
            tr.logs.from_frame(table, arms=wrong)


def test_a_session_judges_a_log_whose_arms_have_its_names():
    session = tr.Session(tr.UCB(), arms=3, names=["10", "20", "30"])
    log = tr.logs.from_frame(EVEN | {"arm": IDS[PLAYED]})
    assert (
        tr.evaluate(log, session).value
        == tr.evaluate(log, np.eye(3)[int(session.propensities().argmax())]).value
    )
    assert session.learn(EVEN | {"arm": IDS[PLAYED]}) == N
    assert session.state.pulls.tolist() == np.bincount(PLAYED).tolist()


def test_ids_in_a_command(tmp_path):
    frame = pd.DataFrame(EVEN | {"arm": IDS[PLAYED]}).assign(h10=1 / 3, h20=1 / 3, h30=1 / 3)
    frame.to_csv(tmp_path / "log.csv", index=False)
    for options in ({}, {"logger": "h"}):
        log, _ = inputs.read(tmp_path / "log.csv", inputs.ColumnWords(**options))
        assert [str(name) for name in log.names] == ["10", "20", "30"]
        assert tr.evaluate(log, inputs.arm_of("20", log)).value == pytest.approx(
            tr.evaluate(log, 20).value
        )
    assert inputs.read(tmp_path / "log.csv", inputs.ColumnWords(), arms="10,20,30,40")[0].arms == 4


# Cells that hold something else -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "columns", "options"),
    [
        ("row 1: arm = (None|nan) is no arm", {"arm": ["a", None, "b", "a"]}, {}),
        (
            "2 bad rows of 4: row 1: arm = nan is no arm.*row 3",
            {"arm": [0.0, np.nan, 1.0, np.nan]},
            {},
        ),
        (
            "row 1: arm = nan is no arm",
            {"arm": np.array(["a", np.nan, "b", "a"], dtype=object)},
            {},
        ),
        (
            "row 2: arm = 3 is a number, but the arms before it are names",
            {"arm": ["a", "b", 3, "a"]},
            {},
        ),
        (
            "row 2: arm = 'a' is text, but the arms before it are numbers",
            {"arm": [1, 2, "a", 1]},
            {},
        ),
        ("row 1: arm = inf is no arm", {"arm": [0, np.inf, 1, 0]}, {}),
        (r"row 1: arm = \[1\] is no arm", {"arm": [0, [1], 1, 0]}, {}),
        ("row 3: arm = '' is no arm", {"arm": ["a", "b", "a", ""]}, {}),
        ("row 0: arm = True is no arm", {"arm": np.array([True, 1, 2, 3], dtype=object)}, {}),
        (r"row 2: reward = \[1\] is not a finite number", {"reward": [0, 1, [1], 0]}, {}),
        ("row 2: reward = 'yes' is not a finite number", {"reward": [0, 1, "yes", 0]}, {}),
        (
            r"row 2: propensity = \[0.5\] is not a finite number",
            {"propensity": [0.5, 0.5, [0.5], 0.5]},
            {},
        ),
        (
            "row 3: propensity = (None|nan) is not a finite number",
            {"propensity": [0.5, 0.5, 0.5, None]},
            {},
        ),
        (
            "row 1: features x = 'red' is not a finite number",
            {"x": [1, "red", 2, 3]},
            {"features": ["x"]},
        ),
        (
            r"row 2: features is \[1.0\], but must be numbers of shape \(2,\)",
            {"x": [[1, 2], [1, 2], [1.0], [1, 2]]},
            {"features": "x"},
        ),
        (
            "row 1: features is None, but must be numbers",
            {"x": [[1, 2], None, [3, 4], [1, 2]]},
            {"features": "x"},
        ),
        ("row 1: r = (None|nan) is not a whole number", {"r": [0, None, 1, 1]}, {"round": "r"}),
        ("row 2: s = 'top' is not a whole number", {"s": [0, 1, "top", 1]}, {"slot": "s"}),
        (
            "time = 't' holds neither numbers nor times",
            {"t": ["mon", "tue", "wed", "thu"]},
            {"time": "t"},
        ),
        (
            "row 2: t = (None|nan) is no time",
            {"t": ["2026-01-01", "2026-01-02", None, "2026-01-03"]},
            {"time": "t"},
        ),
        ("round = 5 is not the name of a column", {}, {"round": 5}),
        ("arm = 5 is not the name of a column", {}, {"arm": 5}),
        ("reward = None is not the name of a column", {}, {"reward": None}),
        (
            "propensity = .* is neither the name of a column nor a number",
            {},
            {"propensity": [0.5] * 4},
        ),
        ("features = 5 is neither a column", {}, {"features": 5}),
    ],
)
@pytest.mark.parametrize("kind", ["dict", "pandas"])
def test_the_first_bad_row_is_named(kind, words, columns, options):
    table = GOOD | columns
    with pytest.raises(ValueError, match=words) as caught:
        tr.logs.from_frame(pd.DataFrame(table) if kind == "pandas" else table, **options)
    assert "\n" not in str(caught.value)


def test_what_is_no_log_is_said():
    for wrong in (5, None, [1, 2], np.zeros((3, 2)), object()):
        with pytest.raises(ValueError, match="is no table"):
            tr.logs.from_frame(wrong)
        with pytest.raises(ValueError, match="is not a dict of arrays"):
            tr.logs.from_obp(wrong)
    for wrong in (5, None, "session.npz"):
        with pytest.raises(
            ValueError, match=r"is not a session; a saved one is read by Session\.load"
        ):
            tr.logs.from_session(wrong)
    with pytest.raises(ValueError, match="position must hold one whole number from 0 to 2"):
        tr.logs.from_obp(
            {
                "action": [0],
                "reward": [1],
                "pscore": [0.5],
                "position": [3],
                "pi_b": np.full((1, 2, 3), 0.5),
            }
        )


def dsjson_line(i, arm, shown):
    """An event of three actions as Vowpal Wabbit's reinforcement-learning library writes it."""
    others = [k for k in range(3) if k != arm]
    return json.dumps(
        {
            "_label_cost": -float(i % 2),
            "_label_probability": 0.5,
            "_label_Action": arm + 1,
            "_labelIndex": arm,
            "EventId": f"e{i}",
            "a": [arm + 1, *(k + 1 for k in others)],
            "p": [0.5, 0.25, 0.25],
            "c": shown,
        }
    )


def test_features_of_dsjson_are_those_of_its_namespaces(tmp_path):
    path = tmp_path / "shared.dsjson"
    users = [
        {
            "age": 20 + i,
            "country": ("de", "fr")[i % 2],
            "new": i % 3 == 0,
            "taste": [i, -i],
            "_tag": "x",
        }
        for i in range(6)
    ]
    path.write_text(
        "\n".join(
            dsjson_line(i, i % 3, {"user": one, "_multi": [{"_tag": "a"}, {}, {}]})
            for i, one in enumerate(users)
        )
    )
    rows = tr.logs.dsjson_rows(path)
    assert rows[1] == {
        "user.age": 21,
        "user.country": "fr",
        "user.new": 0,
        "user.taste[0]": 1,
        "user.taste[1]": -1,
    }
    encoder = tr.Encoder().fit(rows)
    log = tr.logs.from_dsjson(path, encoder=encoder)
    (chunk,) = log.chunks()
    assert (chunk.features == encoder.transform(rows)).all()
    session = tr.Session(tr.LinTS(), arms=3, encoder=encoder, seed=0)
    assert tr.evaluate(log, session).rounds == 6
    assert next(tr.logs.from_dsjson(path).chunks()).features is None


def test_actions_of_dsjson_bring_features_of_their_own(tmp_path):
    path = tmp_path / "actions.dsjson"
    prices = [[10.0 * k + i for k in range(3)] for i in range(5)]
    shown = [
        {"user": {"age": i}, "_multi": [{"item": {"price": price}} for price in one]}
        for i, one in enumerate(prices)
    ]
    path.write_text("\n".join(dsjson_line(i, i % 3, one) for i, one in enumerate(shown)))
    rows = tr.logs.dsjson_rows(path)
    assert len(rows) == 15
    assert rows[4] == {"user.age": 1, "item.price": 11.0}
    encoder = tr.Encoder().fit(rows)
    (chunk,) = tr.logs.from_dsjson(path, encoder=encoder).chunks()
    assert chunk.features.shape == (5, 3, 2)
    assert np.allclose(chunk.features[:, :, 1] * np.std(prices) + np.mean(prices), prices)
    with pytest.raises(ValueError, match="decision 0 shows the features of 3 of 4 actions"):
        tr.logs.from_dsjson(path, encoder=encoder, arms=4)


def test_an_encoder_that_does_not_fit_a_dsjson_file_is_refused(tmp_path):
    path = tmp_path / "shared.dsjson"
    path.write_text(dsjson_line(0, 1, {"user": {"age": 3}}))
    for wrong, words in (
        (5, "is no Encoder"),
        (tr.Encoder(), "fit"),
        (tr.Encoder().fit({"other": [1.0, 2.0]}), "other"),
    ):
        with pytest.raises(ValueError, match=words):
            tr.logs.from_dsjson(path, encoder=wrong)


# Rewards that are still to come -------------------------------------------------------------------


@pytest.mark.parametrize("none", [None, np.nan, pd.NA], ids=repr)
def test_a_reward_that_is_missing_means_one_thing_everywhere(tmp_path, none):
    arrived = np.arange(N) % 3 != 1
    column = np.array(
        [value if there else none for value, there in zip(REWARD, arrived, strict=True)],
        dtype=object,
    )
    table = {"arm": PLAYED, "reward": column, "propensity": EVEN["propensity"]}
    log = tr.logs.from_frame(table)
    assert (log.n, log.left_out) == (200, {"rows without a reward": 100})
    session, some = tr.Session(tr.UCB(), arms=3), tr.Session(tr.UCB(), arms=3)
    assert session.learn(table) == 200
    some.learn({"arm": PLAYED[arrived], "reward": REWARD[arrived]})
    assert session.rounds == some.rounds == 200
    assert session.state.sums.tolist() == some.state.sums.tolist()
    pq.write_table(
        pa.table(
            {
                "arm": PLAYED,
                "reward": pa.array([None if value is none else value for value in column]),
            }
        ),
        tmp_path / "a.parquet",
    )
    learned = tr.learn_from(tmp_path, tr.UCB(), arms=3, workers=1)
    assert learned.rounds == 200
    np.testing.assert_allclose(learned.state.sums, some.state.sums)
    assert tr.Session(tr.UCB(), arms=3).learn({"arm": [0, 7], "reward": [none, none]}) == 0


# Other tables -------------------------------------------------------------------------------------


def test_arrow_readers_and_filtered_data_sets(tmp_path):
    table = pa.table({"arm": IDS[PLAYED]} | EVEN)
    wanted = tr.evaluate(tr.logs.from_frame(table), 30).estimates
    assert tr.evaluate(tr.logs.from_frame(table.to_reader()), 30).estimates == wanted
    pq.write_table(table, tmp_path / "log.parquet", row_group_size=50)
    whole = dataset.dataset(tmp_path)
    assert tr.evaluate(tr.logs.from_frame(whole), 30).estimates == wanted
    some = whole.filter(dataset.field("arm") != 10)
    log = tr.logs.from_frame(some)
    assert (log.names, log.n) == ((20, 30), int((PLAYED > 0).sum()))
    learned = tr.learn_from(some, tr.UCB(), arms=3, names=["10", "20", "30"], workers=1)
    assert learned.state.pulls.tolist() == [0, *np.bincount(PLAYED)[1:].tolist()]


def test_files_of_a_folder_may_write_numbers_in_different_types(tmp_path):
    pq.write_table(
        pa.table({"arm": [0, 1], "reward": [0, 1], "propensity": [1, 1]}), tmp_path / "a.parquet"
    )
    pq.write_table(
        pa.table({"arm": [1, 0], "reward": [0.5, 0.25], "propensity": [0.5, 0.5]}),
        tmp_path / "b.parquet",
    )
    log = tr.logs.from_frame(tmp_path)
    assert log.n == 4
    assert np.concatenate([part.reward for part in log.chunks()]).tolist() == [0.0, 1.0, 0.5, 0.25]
    pq.write_table(pa.table({"arm": [1], "propensity": [0.5]}), tmp_path / "c.parquet")
    with pytest.raises(
        ValueError, match=r"c\.parquet has no column 'reward', which other files have"
    ):
        tr.logs.from_frame(tmp_path)


@pytest.mark.lab("polars")
def test_lazy_frames_of_polars():
    import polars

    frame = polars.DataFrame({"arm": IDS[PLAYED]} | EVEN)
    assert (
        tr.evaluate(tr.logs.from_frame(frame.lazy()), 30).estimates
        == tr.evaluate(tr.logs.from_frame(frame), 30).estimates
    )
    assert tr.Session(tr.UCB(), arms=3, names=["10", "20", "30"]).learn(frame.lazy()) == N


@pytest.mark.lab("duckdb")
def test_relations_of_duckdb():
    import duckdb

    table = pa.table({"arm": IDS[PLAYED]} | EVEN)
    relation = duckdb.from_arrow(table)
    assert (
        tr.evaluate(tr.logs.from_frame(relation), 30).estimates
        == tr.evaluate(tr.logs.from_frame(table), 30).estimates
    )


def test_the_module_lists_what_is_public():
    assert set(dir(tr.logs)) == {
        "Log",
        "dsjson_rows",
        "from_dsjson",
        "from_frame",
        "from_journal",
        "from_obp",
        "from_session",
        "to_dsjson",
        "to_obp",
    }


PAIRS = {
    "arm": [0, 1] * 50,
    "reward": [1.0, 0.0] * 50,
    "propensity": [0.6] * 100,
    "round": np.repeat(np.arange(50), 2),
}


def test_rows_of_a_set_stay_together_or_are_refused():
    """Failed before: they became rounds of one arm each, without a word."""
    clicked = np.arange(100) + np.where(np.arange(100) % 2, 2.5, 0.0)
    log = tr.logs.from_frame(PAIRS | {"t": clicked}, arms=3, round="round", time="t")
    assert (log.rounds, log.size) == (50, 2)
    assert tr.evaluate(log, [1.0, 0.0, 0.0], model=None).value == pytest.approx(1 / 0.6)
    apart = {name: np.asarray(column)[np.r_[0, 2:100, 1]] for name, column in PAIRS.items()}
    with pytest.raises(ValueError, match="row 99: round 0 was there before, from row 0 on"):
        tr.logs.from_frame(apart, arms=3, round="round")
    with pytest.raises(ValueError, match="row 1: arm 0 is twice in round 0"):
        tr.logs.from_frame(PAIRS | {"arm": [0] * 100}, arms=3, round="round")
    with pytest.raises(ValueError, match="a log of sets has no form in the dict"):
        tr.logs.to_obp(tr.logs.from_frame(PAIRS, arms=3, round="round"))


def test_eligible_arms_come_back_and_slots_and_odd_times_are_refused(tmp_path):
    eligible = np.ones((40, 3), dtype=bool)
    eligible[::2, 2] = False
    table = {
        "arm": np.arange(40) % 2,
        "reward": np.arange(40) % 2 * 1.0,
        "propensity": 1.0 / eligible.sum(axis=1),
    }
    log = tr.logs.from_frame(table, arms=3, eligible=eligible)
    for back in (
        tr.logs.from_obp(tr.logs.to_obp(log)),
        tr.logs.from_dsjson(tr.logs.to_dsjson(log, tmp_path / "a.dsjson"), arms=3),
    ):
        assert back.uniform
        assert (next(back.chunks()).eligible == eligible).all()
    partial = tr.logs.from_frame(
        table | {"propensity": np.full(40, 0.3)}, arms=3, eligible=eligible
    )
    with pytest.raises(ValueError, match="eligible arms have a form in dsjson only beside"):
        tr.logs.to_dsjson(partial, tmp_path / "b.dsjson")
    slots = tr.logs.from_frame(table | {"slot": np.arange(40) % 2}, arms=3, slot="slot")
    with pytest.raises(ValueError, match="slots have no form in dsjson"):
        tr.logs.to_dsjson(slots, tmp_path / "b.dsjson")
    for unit in (1_700_000_000_000, 1_700_000_000_000_000_000):
        timed = tr.logs.from_frame(table | {"t": unit + np.arange(40)}, arms=3, time="t")
        with pytest.raises(ValueError, match="is no time in seconds since 1970"):
            tr.logs.to_dsjson(timed, tmp_path / "b.dsjson")
    assert not (tmp_path / "b.dsjson").exists()


def test_small_things_of_tables(tmp_path):
    (tmp_path / "short.csv").write_text("arm,reward\n" + "1,0,1\n0,1,0\n" * 50)
    with pytest.raises(ValueError, match="more fields in a row than names in its first line"):
        tr.logs.from_frame(tmp_path / "short.csv", propensity=0.5)
    (tmp_path / "zeros.csv").write_text("arm,reward,propensity\n001,1,.5\n1,0,.5\n2,1,.5\n")
    assert tr.logs.from_frame(tmp_path / "zeros.csv").names == ("001", "1", "2")
    base = {"arm": [0, 1, 0, 1], "reward": [1.0, 0.0, 1.0, 1.0], "propensity": [0.5] * 4}
    timed = tr.logs.from_frame(base | {"t": np.array([4, 3, 2, 1], dtype=object)}, arms=2, time="t")
    assert next(timed.chunks()).arm.tolist() == [1, 0, 1, 0]
    opened = {"arm": [0, 1, None, 1], "reward": [1.0, 0.0, None, 1.0], "propensity": [0.5] * 4}
    assert (len(tr.logs.from_frame(opened)), tr.logs.from_frame(opened).arms) == (3, 2)
    assert len(tr.logs.from_frame(base, propensity=np.float32(0.5))) == 4
    (tmp_path / "file").write_bytes(b"\x84\x00")
    with pytest.raises(ValueError, match=r"out = .* is a file"):
        tr.simulate(tr.problems.Bernoulli([0.3, 0.5]), tr.UCB(), horizon=10, out=tmp_path / "file")
    with pytest.raises(ValueError, match="holds no text, but dsjson is a file of JSON lines"):
        tr.logs.from_dsjson(tmp_path / "file")
