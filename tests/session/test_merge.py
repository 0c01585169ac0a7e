"""`merge` and `learn_from`: two halves are the whole, in any cut, on threads and processes; what is
no sum says so."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import dataset

import tightrope as tr
from tightrope.core.registry import examples
from tightrope.core.verbs import merge
from tightrope.session import learning
from tightrope.session.codec import flatten

RNG = np.random.default_rng(0)
N = 6000
X = RNG.normal(size=(5, 3)) / 3
WIDE = RNG.normal(size=(3, 5)) / 3
TABLE = {"arm": RNG.integers(0, 5, N), "reward": RNG.random(N)}
ROWS = RNG.normal(size=(N, 3)) / 3
SCRATCH = (
    "direction",
    "column_of_product",
    "anchored",
    "row",
    "projection",
    "scores",
    "solved",
    "factor",
    "features",
    "mean",
    "square",
    "updates",
    "square_root",
)


def fields(value):
    """An array, or those of a record of what is learned of the noise, squares in the unit of
    rewards."""
    if value.dtype.names is None:
        return [value]
    squares = [value[name] * value["unit"] ** 2 for name in ("spread", "residual")]
    return [value["number"], value["origin"], value["centre"], *squares]


def agree(one, other, arms_change=False):
    """States within 1e-9 but for scratch and, where features change, what was predicted last."""
    a, b = flatten(one.state), flatten(other.state)
    assert a.keys() == b.keys()
    compared = 0
    for key, value in a.items():
        name = key.rpartition(".")[2]
        if name not in SCRATCH or (name in ("mean", "square") and not arms_change):
            for mine, its in zip(fields(value), fields(b[key]), strict=True):
                np.testing.assert_allclose(mine, its, rtol=1e-9, atol=1e-12, err_msg=key)
            compared += 1
    assert compared >= 3
    assert one.rounds == other.rounds


@pytest.mark.parametrize(
    ("policy", "given", "features"),
    [
        (tr.UCB(), {"arms": 5}, False),
        (tr.LinUCB(), {"arms": X}, False),  # fewer dimensions than arms
        (tr.LinTS(), {"arms": RNG.normal(size=(5, 8)) / 3}, False),
        (tr.LinUCB(), {"arms": 5, "dimension": 3}, True),
        (tr.LinUCB(), {"dimension": 3}, True),
        (tr.C2UCB(), {"arms": X, "oracle": tr.oracles.TopK(2)}, False),
    ],
    ids=lambda item: repr(item) if isinstance(item, tuple) else "",
)
def test_two_halves_are_the_whole(policy, given, features):
    table = TABLE | ({"x": ROWS} if features else {})
    parts = [
        {key: value[part] for key, value in table.items()}
        for part in (slice(0, 2500), slice(2500, N))
    ]
    whole, first, second = (tr.Session(policy, **given) for _ in range(3))
    for session, rows in ((whole, table), (first, parts[0]), (second, parts[1])):
        session.learn(rows, features="x" if features else None)
    kept = {key: value.copy() for key, value in flatten(second.state).items()}
    first.merge(second)
    agree(first, whole, arms_change=features)
    assert all(
        value.tobytes() == kept[key].tobytes() for key, value in flatten(second.state).items()
    )
    shown = first.explain(context=X if features else None)
    np.testing.assert_allclose(
        shown["mean"], whole.explain(context=X if features else None)["mean"], rtol=1e-9
    )
    assert first.select(context=X if features else None) is not None


def test_what_is_no_sum_says_so():
    for policy in (
        tr.SoftUCB(),
        tr.CUCB2(baseline=0, baseline_mean=0.5),
        tr.LinGapE(),
        tr.Explore(tr.SoftUCB()),
    ):
        session = (
            tr.Session(policy, arms=np.eye(5))
            if not isinstance(policy, tr.Conservative)
            else tr.Session(policy, arms=5)
        )
        with pytest.raises(ValueError, match="does not learn by sums"):
            session.merge(
                tr.Session(policy, arms=np.eye(5) if not isinstance(policy, tr.Conservative) else 5)
            )
    with pytest.raises(ValueError, match="does not learn by sums"):
        tr.learn_from("nowhere", tr.SoftUCB(), arms=X)
    adds = {type(policy).__name__ for policy in examples().values() if merge.answers(policy)}
    inner = [tr.Session(tr.Explore(tr.UCB()), arms=5) for _ in range(2)]
    inner[1].update(2, 0.5)
    inner[0].merge(inner[1])
    assert inner[0].state.inner.sums.tolist() == [0, 0, 0.5, 0, 0]
    assert {
        "UCB",
        "KLUCB",
        "BetaThompson",
        "EpsilonGreedy",
        "LinUCB",
        "LinTS",
        "LinEpsilonGreedy",
        "C2UCB",
        "Explore",
    } <= adds
    session, open_ = tr.Session(tr.UCB(), arms=5), tr.Session(tr.UCB(), arms=5)
    open_.decide()
    for other, words in (
        (tr.Session(tr.UCB(alpha=1), arms=5), r"policy UCB\(alpha=1.0\), but this session has UCB"),
        (tr.Session(tr.UCB(), arms=4), "other arms"),
        (tr.Session(tr.UCB(), arms=5, names=list("abcde")), "names"),
        (open_, "1 open decisions"),
        (3, "not a session"),
    ):
        with pytest.raises(ValueError, match=words):
            session.merge(other)
    with pytest.raises(ValueError, match="other arms, features"):
        tr.Session(tr.LinUCB(), arms=X).merge(tr.Session(tr.LinUCB(), arms=2 * X))


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setattr(learning, "LEAST_PART", 700)
    monkeypatch.setattr(learning, "MOST_BATCH", 300)
    names = np.array([f"arm {k}" for k in range(5)])
    table = pa.table(
        TABLE
        | {
            "which": names[TABLE["arm"]],
            "x": ROWS[:, 0],
            "y": ROWS[:, 1],
            "z": ROWS[:, 2],
            "all": ROWS.tolist(),
        }
    )
    pq.write_table(table.slice(0, 4000), tmp_path / "a.parquet", row_group_size=500)
    pq.write_table(table.slice(4000), tmp_path / "b.parquet", row_group_size=10_000)
    return tmp_path


def test_a_log_in_files_is_one_session_fed_in_order(folder):
    whole = tr.Session(tr.LinUCB(), arms=5, dimension=3, seed=3)
    whole.learn(TABLE | {"x": ROWS}, features="x")
    progress = []
    for workers, features in ((1, ["x", "y", "z"]), (2, "all")):
        found = tr.learn_from(
            folder,
            tr.LinUCB(),
            arms=5,
            dimension=3,
            features=features,
            workers=workers,
            seed=3,
            progress=lambda *x: progress.append(x),
        )
        agree(found, whole, arms_change=True)
    assert found.select(X) == whole.select(X)
    assert progress[-1] == (N, N)
    counts = tr.Session(tr.UCB(), arms=5, names=[f"arm {k}" for k in range(5)])
    counts.learn(
        TABLE | {"which": np.array([f"arm {k}" for k in range(5)])[TABLE["arm"]]}, arm="which"
    )
    both = [
        tr.learn_from(
            source, tr.UCB(), arms=5, names=counts.names, action="which", engine=engine, workers=2
        )
        for source, engine in ((folder, "processes"), (dataset.dataset(folder), "threads"))
    ]
    for found in both:
        agree(found, counts)
    assert all(
        np.array_equal(value, flatten(both[1].state)[key])
        for key, value in flatten(both[0].state).items()
    )


def test_bad_rows_and_arguments_are_named(folder):
    with pytest.raises(
        ValueError,
        match=r"a.parquet, rows counted from 1200: frame has 2 bad rows of 300.*row 7: arm = 9",
    ):
        broken = {key: value.copy() for key, value in TABLE.items()}
        broken["arm"][[1207, 1300]] = 9
        pq.write_table(pa.table(broken), folder / "a.parquet")
        tr.learn_from(folder / "a.parquet", tr.UCB(), arms=5, workers=1)
    with pytest.raises(ValueError, match="no column 'clicks'; it has arm, reward"):
        tr.learn_from(folder / "b.parquet", tr.UCB(), arms=5, reward="clicks")
    with pytest.raises(ValueError, match="does not exist"):
        tr.learn_from(folder / "c", tr.UCB(), arms=5)
    with pytest.raises(ValueError, match=r"use Session\.learn"):
        tr.learn_from(TABLE, tr.UCB(), arms=5)
