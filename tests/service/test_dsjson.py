"""Decisions as dsjson: names of arms and features as they were sent, for Vowpal Wabbit and to be
read back."""

import json

import numpy as np
import pytest
from running import PRICES, ask, create, decide, reward

import tightrope as tr
from tightrope_service import commands
from tightrope_service.transfer import write_dsjson

VISITORS = {
    "country": {"kind": "category", "levels": ["de", "fr"]},
    "age": {"kind": "number", "range": [18, 80]},
    "device": "category",
    "when": "time",
}
ONE = {
    "name": "price",
    "policy": "LinUCB",
    "arms": [{"id": "sale"}, {"id": "news"}],
    "features": VISITORS,
}
SENT = [
    {"country": "de", "age": 31, "device": "phone", "when": "2026-05-01T12:30:00Z"},
    {"country": "it", "age": 55.5, "when": "2026-05-02T08:00:00Z"},
    {"country": None, "age": 20, "device": "desk"},
    {"country": "fr"},
]


def exported(service, tmp_path):
    with service.database.read() as connection:
        path = write_dsjson(connection, 1, "price", tmp_path / "d.dsjson")
    return path, [json.loads(line) for line in path.read_text().splitlines()]


def played(service, contexts, **spec):
    create(service, spec)
    arms = []
    for n, context in enumerate(contexts):
        arms.append(decide(service, f"d{n}", context=context)["arm"])
        reward(service, f"d{n}", float(n % 2))
    return arms


def test_one_row_of_values_is_shared_and_encoded_as_the_service_did(service, tmp_path):
    arms = played(service, SENT * 3, **ONE)
    path, lines = exported(service, tmp_path)
    assert [line["c"]["_multi"][line["_labelIndex"]]["_tag"] for line in lines] == arms
    assert lines[0]["c"]["country"] == "de" and lines[0]["c"]["_multi"][1] == {
        "_tag": "news",
        "arm": {"id": "news"},
    }
    assert lines[2]["c"]["country"] is lines[1]["c"]["device"] is None and [
        line["_label_cost"] for line in lines[:2]
    ] == [0.0, -1.0]
    reader = service.writer.owned["price"].experiment.reader
    (chunk,) = tr.logs.from_dsjson(path, arms=2, encoder=reader.encoder).chunks()
    np.testing.assert_array_equal(chunk.features, [reader.numbers(row) for row in SENT * 3])
    assert chunk.arm.tolist() == [["sale", "news"].index(arm) for arm in arms]
    assert {"country", "age", "arm.id"} <= tr.logs.dsjson_rows(path)[0].keys()
    own = tr.Encoder().fit(tr.logs.dsjson_rows(path))
    (chunk,) = tr.logs.from_dsjson(path, encoder=own).chunks()
    assert chunk.features.shape[:2] == (12, 2) and not np.array_equal(
        chunk.features[:, 0], chunk.features[:, 1]
    )


def test_rows_of_arms_are_theirs(service, tmp_path):
    features = {"price": {"kind": "number", "range": [0, 20]}, "kind": "category"}
    sent = [{"sale": {"price": 9.9, "kind": "x"}, "news": {"price": n}} for n in range(4)]
    played(service, sent, **(ONE | {"features": features}))
    path, lines = exported(service, tmp_path)
    assert lines[3]["c"] == {
        "_multi": [
            {"_tag": "sale", "price": 9.9, "kind": "x"},
            {"_tag": "news", "price": 3, "kind": None},
        ]
    }
    reader = service.writer.owned["price"].experiment.reader
    (chunk,) = tr.logs.from_dsjson(path, encoder=reader.encoder).chunks()
    np.testing.assert_array_equal(chunk.features, [[*reader.numbers(one).values()] for one in sent])


@pytest.mark.parametrize(
    ("spec", "context", "shown"),
    [
        (
            PRICES,
            None,
            {"_multi": [{"_tag": arm, "arm": {"id": arm}} for arm in ("low", "mid", "high")]},
        ),
        (
            ONE | {"features": None, "dimension": 2},
            [0.5, 1.0],
            {
                "x": [0.5, 1.0],
                "_multi": [{"_tag": arm, "arm": {"id": arm}} for arm in ("sale", "news")],
            },
        ),
        (
            ONE | {"features": None, "dimension": 2},
            [[0.5, 1.0], [0.25, 0.0]],
            {"_multi": [{"_tag": "sale", "x": [0.5, 1.0]}, {"_tag": "news", "x": [0.25, 0.0]}]},
        ),
        (
            {
                "name": "price",
                "policy": "LinUCB",
                "arms": [{"id": "a", "features": [1.0, 0.0]}, {"id": "b", "features": [0.0, 1.0]}],
            },
            None,
            {"_multi": [{"_tag": "a", "x": [1.0, 0.0]}, {"_tag": "b", "x": [0.0, 1.0]}]},
        ),
        (
            {"name": "price", "policy": "LinUCB", "dimension": 2},
            {"p": [0.5, 1.0], "q": [0.25, 0.0]},
            {"_multi": [{"_tag": "p", "x": [0.5, 1.0]}, {"_tag": "q", "x": [0.25, 0.0]}]},
        ),
    ],
    ids=["no features", "one row", "rows", "of the arms", "candidates"],
)
def test_numbers_stand_in_x(service, tmp_path, spec, context, shown):
    (arm,) = played(
        service, [context], **{name: value for name, value in spec.items() if value is not None}
    )
    _, (line,) = exported(service, tmp_path)
    assert line["c"] == shown and line["c"]["_multi"][line["_label_Action"] - 1]["_tag"] == arm
    assert line["a"][0] == line["_label_Action"] and sorted(line["a"]) == [
        k + 1 for k in range(len(shown["_multi"]))
    ]
    assert 0 < line["_label_probability"] <= 1 and line["EventId"] == "d0"


def test_what_is_left_out(service, tmp_path):
    create(service, ONE)
    for id in ("erased", "open", "cancelled", "kept"):
        decide(service, id, context=SENT[0], subject=id)
    ask(service, commands.cancel, "cancelled")
    for id in ("erased", "kept"):
        reward(service, id, 1.0)
    ask(service, commands.Erasure("erased"))
    assert [line["EventId"] for line in exported(service, tmp_path)[1]] == ["kept"]
    arms = [{"id": f"f{k}", "features": [1.0 * k, 1.0]} for k in range(3)]
    create(
        service,
        {"name": "set", "policy": "C2UCB", "arms": arms, "oracle": {"oracle": "TopK", "k": 2}},
    )
    with service.database.read() as connection, pytest.raises(ValueError, match="sets of arms"):
        write_dsjson(connection, 2, "set", tmp_path / "e.dsjson")


@pytest.mark.parametrize("shape", ["shared", "own", "fixed"])
def test_a_log_of_the_library_keeps_names_and_features(tmp_path, shape, rng):
    frame = {
        "arm": np.array(["a", "b", "a"]),
        "reward": np.array([0.0, 1.0, 1.0]),
        "propensity": np.full(3, 0.5),
    }
    X = rng.normal(size={"shared": (3, 2), "own": (3, 2, 2), "fixed": (2, 2)}[shape])
    more = {"arm_features": X} if shape == "fixed" else {"features": X}
    path = tr.logs.to_dsjson(
        tr.logs.from_frame(frame, arms=["a", "b"], **more), tmp_path / "log.dsjson"
    )
    assert next(tr.logs.from_dsjson(path).chunks()).probabilities is None
    line = json.loads(path.read_text().splitlines()[1])["c"]
    assert [one["_tag"] for one in line["_multi"]] == ["a", "b"]
    rows = tr.logs.dsjson_rows(path)
    numbers = np.array([[row["x[0]"], row["x[1]"]] for row in rows]).reshape(3, 2, 2)
    np.testing.assert_array_equal(
        numbers, {"shared": X[:, None].repeat(2, 1), "own": X, "fixed": X[None].repeat(3, 0)}[shape]
    )
