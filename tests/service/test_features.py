"""Features by name: a spec says how columns become numbers, decisions bring raw values; all as a
session with the same encoder has it."""

import json

import numpy as np
import pytest
from pydantic import ValidationError
from running import ask, crash, create, decide, error, refused, reward, service_at, state

import tightrope as tr
from tightrope_service import commands, log, transfer
from tightrope_service.client import Client, features
from tightrope_service.events import Created
from tightrope_service.recovery import replay, verify
from tightrope_service.service import sample_requests, warm_up
from tightrope_service.spec import ExperimentSpec, FeatureReader

COLUMNS = {
    "country": {"kind": "category", "levels": ["de", "fr"]},
    "age": {"kind": "number", "range": [20, 60]},
    "city": {"kind": "hashed", "buckets": 4},
    "when": "time",
}
SPEC = {
    "name": "one",
    "policy": "LinUCB",
    "arms": [{"id": "a"}, {"id": "b"}],
    "features": COLUMNS,
    "seed": 4,
}
ROWS = [
    {
        "country": ["de", "fr", "it", None][n % 4],
        "age": None if n % 5 == 3 else 18 + 3 * (n % 11),
        "city": f"city {n % 6}",
        "when": f"2026-01-{1 + n % 28:02}T{n % 24:02}:30:00+02:00",
    }
    for n in range(30)
]
NAMES = (
    *(
        "country = de",
        "country = fr",
        "country is another",
        "country is missing",
        "age",
        "age is missing",
    ),
    *(f"city, hash {k}" for k in range(4)),
    *(
        f"when, {what}"
        for what in ("sine of day", "cosine of day", "sine of week", "cosine of week")
    ),
)


def encoder_of(spec):
    return tr.Encoder.from_dict(
        ExperimentSpec.model_validate(spec).features.model_dump(mode="json")
    )


def test_values_by_name_are_the_session_s_from_the_first_round_to_a_replay(tmp_path, clock):
    encoder = encoder_of(SPEC)
    assert encoder.names == NAMES
    np.testing.assert_array_equal(
        encoder.transform({"country": "it", "age": 50, "city": None, "when": None}),
        [0, 0, 1, 0, 0.5] + [0] * 9,
    )
    np.testing.assert_array_equal(
        encoder.transform({"country": None, "age": None, "city": None, "when": None}),
        [0, 0, 0, 1, 0, 1] + [0] * 8,
    )
    session = tr.Session(tr.LinUCB(), arms=["a", "b"], encoder=encoder, seed=4)
    with service_at(tmp_path / "a.db", clock, snapshot_every=11) as service:
        create(service, SPEC)
        for n, row in enumerate(ROWS):
            sent = {
                name: value for name, value in row.items() if value is not None
            }  # left out is missing too
            mine, made = (
                session.decide(row, id=str(n)),
                decide(service, str(n), "one", context=sent),
            )
            assert (made["arm"], made["propensity"]) == (mine.name, mine.propensity)
            for learner in (session.reward, lambda id, value: reward(service, id, value, "one")):
                learner(str(n), float((made["arm"] == "b") == (row["country"] == "de")))
        told = state(service, "one")
        crash(service)
    with service_at(tmp_path / "a.db", clock) as service:
        assert state(service, "one") == told and decide(service, "1", "one", context=ROWS[1])["arm"]
        refused(
            409,
            decide,
            service,
            "1",
            "one",
            context=ROWS[2],
            match="was decided for another request",
        )
        create(service, SPEC)  # the same spec again
        with service.database.read() as connection:
            found = replay(connection, 1, "one")
            assert found.errors == () and found.disagreements == 0
            first, second = [
                next(e for e in log.read(connection, 1) if e.seq == seq).event for seq in (1, 2)
            ]
            table = transfer.table(connection, 1, found.journal.experiment)
            transfer.as_log(connection, 1, "one", (0.0, 1.0))
    assert isinstance(first, Created) and first.spec["features"] == encoder.to_dict()
    assert second.asked == {
        "context": {name: value for name, value in ROWS[0].items() if value is not None}
    }
    np.testing.assert_array_equal(table["features"][1], [encoder.transform(ROWS[1])] * 2)


def test_rows_for_each_arm_in_order_by_id_and_of_candidates(service):
    columns = {
        "price": {"kind": "number", "mean": 10, "deviation": 2.5, "gaps": False},
        "kind": {"kind": "category", "levels": ["old"]},
    }
    create(
        service,
        {
            "name": "rows",
            "policy": "LinUCB",
            "arms": [{"id": "a"}, {"id": "b"}, {"id": "c"}],
            "features": columns,
            "baseline": "a",
        },
    )
    rows = [{"price": 10, "kind": "new"}, {"price": 12.5, "kind": "old"}, {"price": 5}]
    by_id = dict(zip("abc", rows, strict=True))
    want = [[0.0, 0.0, 1.0, 0.0], [1.0, 1.0, 0.0, 0.0], [-2.0, 0.0, 0.0, 1.0]]

    def shown(experiment, asked):
        return experiment.round(asked).context.features

    assert ask(service, lambda at: shown(at.experiment, {"context": rows}), name="rows") == want
    assert ask(service, lambda at: shown(at.experiment, {"context": by_id}), name="rows") == want
    two = {"context": {"c": rows[2], "b": rows[1]}}
    assert ask(service, lambda at: shown(at.experiment, two), name="rows") == [[0.0] * 4, *want[1:]]
    assert decide(service, "1", "rows", **two)["arm"] in "bc"
    assert decide(service, "2", "rows", context=by_id)["arm"] in "abc"
    assert decide(service, "3", "rows", context=rows)["arm"] in "abc"
    create(service, {"name": "bring", "policy": "LinUCB", "features": columns})
    assert decide(service, "4", "bring", context={"x": rows[0], "y": rows[1]})["arm"] in "xy"
    refused(422, decide, service, "5", "bring", context=rows[0], match="brings its own candidates")
    with service.database.read() as connection:
        rows_of_log = {
            entry.decision: entry.event
            for entry in log.read(connection, 1)
            if entry.kind == "decided"
        }
    assert [rows_of_log[id].without_baseline for id in "123"] == [True, False, False], (
        "a row of values leaves no arm out"
    )


def test_one_row_of_values_does_not_hide_the_baseline(service):
    create(service, SPEC | {"baseline": "a"})
    decide(service, "1", "one", context=ROWS[0])
    with service.database.read() as connection:
        (event,) = [entry.event for entry in log.read(connection, 1) if entry.kind == "decided"]
    assert not event.without_baseline


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        ({"a": "money"}, "Input should be 'number', 'category', 'hashed' or 'time'"),
        (
            {"a": {"kind": "money"}},
            'Input should be "number", "category", "hashed" or "time", or have it as kind',
        ),
        (
            {"a": {"kind": "number", "range": [2, 1]}},
            r"number with range = \[2.0, 1.0\]; give its usual lowest and highest value.",
        ),
        (
            {"a": {"kind": "number", "range": [0, 1], "mean": 2}},
            "with range and with mean or deviation; give one of both.",
        ),
        ({"a": {"kind": "number", "range": [-1.7e308, 1.7e308]}}, "whose width has no float"),
        (
            {"a": {"kind": "category", "levels": ["x", "x"]}},
            "level 'x' twice; say each level once.",
        ),
        (
            {"a": {"kind": "hashed", "buckets": 20_000}},
            "makes 20,000 numbers of a row, but at most 10,000 are taken",
        ),
        (
            {"format": 1, "columns": {}, "crossings": [], "intercept": False},
            "columns of the encoder are missing",
        ),
        ({"format": 1, "columns": {"a": {"kind": "time"}}}, "pass what Encoder.to_dict returned"),
        ({}, "at least 1"),
    ],
)
def test_a_spec_with_wrong_features_is_refused_with_a_sentence(columns, words):
    with pytest.raises(ValidationError, match=words):
        ExperimentSpec.model_validate(SPEC | {"features": columns})


def test_features_are_said_once(service):
    for more, words in (
        ({"dimension": 14}, "dimension = 14 was given beside features"),
        ({"arms": [{"id": "a", "features": [1.0]}]}, "arms has numbers for 'a' that stay"),
    ):
        with pytest.raises(ValueError, match=words):
            warm_up(ExperimentSpec.model_validate(SPEC | more))


def test_words_alone_are_enough_and_a_fitted_encoder_is_taken_as_it_is():
    plain = ExperimentSpec.model_validate(
        SPEC | {"features": {"country": "category", "age": "number"}}
    )
    assert plain.row_length == 32 + 2 and encoder_of(plain.plain()).transform(
        {"country": None, "age": 31.0}
    )[-2:].tolist() == [31.0, 0.0]
    fitted = tr.Encoder(cross=[("country", "device")], intercept=True).fit(
        {"country": ["de", "fr"], "device": ["a", "b"], "age": [1, 3]}
    )
    spec = ExperimentSpec.model_validate(SPEC | {"features": fitted.to_dict()})
    assert encoder_of(
        spec.plain()
    ).to_dict() == fitted.to_dict() and spec.row_length == fitted.dimension == len(fitted.names)
    event = Created(
        json.loads(json.dumps(spec.plain())), json.loads(json.dumps(spec.defaults())), {}
    )
    assert event.completed == spec
    levels = ExperimentSpec.model_validate(
        SPEC | {"features": {"paid": {"kind": "category", "levels": [True, 3]}}}
    )
    assert levels.reader().numbers([{"paid": True}, {"paid": 3}, {"paid": 1}]) == [
        [1, 0, 0, 0],
        [0, 1, 0, 0],
        [0, 0, 1, 0],
    ]


def test_over_http_and_by_the_client(served, monkeypatch):
    assert served("POST", "/v1/experiments", SPEC).status_code == 201
    ask = {"id": "v", "context": {"country": "de", "age": 31, "when": "2026-05-01"}}
    made = served("POST", "/v1/experiments/one/decisions", ask, key="decide")
    assert (
        made.status_code == 200
        and served("POST", "/v1/experiments/one/decisions", ask, key="decide").json() == made.json()
    )
    assert served("GET", "/v1/experiments/one/explain?decision=v").status_code == 200
    for context, field, words in (
        (
            {"age": "secret"},
            "context.age",
            "context.age must be a number, or null where it is missing, in experiment 'one'.",
        ),
        (
            {"a": {"age": 1}, "b": {"age": "secret"}},
            "context.b.age",
            "context.b.age must be a number",
        ),
        (
            {"when": "secret"},
            "context.when",
            "must be a time as text, such as 2026-01-31T12:00:00Z, or null",
        ),
        ({"when": 17}, "context.when", "must be a time as text"),
        (
            {"contry": "de"},
            "context",
            "context has 'contry', which is no feature of 'one'; it has country, age, city, when.",
        ),
        ([{"age": 1}, {"agee": 1}], "context", "context.1 has 'agee'"),
        ([0.5, 1.0], "context", "context holds numbers, but experiment 'one' has features by name"),
        ({"a": [0.5], "b": [0.25]}, "context", "send values by name."),
        ({"age": [1]}, "context", "send values by name."),
        (
            {"age": 1, "city": ["secret"]},
            None,
            "context has a list or an object where one value belongs",
        ),
        ({"city": 2**64}, None, "more than 64 bits"),
        ({"age": 1e400}, None, ""),
    ):
        told = error(
            served("POST", "/v1/experiments/one/decisions", {"context": context}, key="decide"), 422
        )
        assert words in told["message"] and "secret" not in told["message"], told
        assert field is None or told["field"] == field
    batch = served(
        "POST",
        "/v1/experiments/one/decisions:batch",
        {"decisions": [{"context": ROWS[0]}, {"context": {"x": 1}}]},
        key="decide",
    )
    assert [one["status"] for one in batch.json()["results"]] == [200, 422]
    assert (
        served(
            "POST", "/v1/experiments", {"name": "none", "policy": "UCB", "arms": SPEC["arms"]}
        ).status_code
        == 201
    )
    told = error(
        served("POST", "/v1/experiments/none/decisions", {"context": {"age": 31}}, key="decide"),
        422,
    )
    assert "has values by name, but experiment 'none' has no features" in told["message"]
    assert served("GET", "/board/experiments/one", key="read").status_code in (200, 303)

    client, sent = Client("http://t", "tr_x", "one"), []
    monkeypatch.setattr(
        client, "_send", lambda *given, **more: sent.append(given[2]) or made.json()
    )
    client.decide(
        {"country": np.str_("de"), "age": np.int64(31), "when": np.datetime64("2026-05-01").item()},
        id="v",
    )
    assert sent[0]["context"] == ask["context"] and type(sent[0]["context"]["age"]) is int
    assert features({"a": {"age": np.nan}, "b": {"age": None}}) == {
        "a": {"age": None},
        "b": {"age": None},
    }
    assert features([{"age": 1}, {"age": 2}]) == [{"age": 1}, {"age": 2}]
    assert features({"a": np.array([1.0, 2.0])}) == {"a": [1.0, 2.0]}


@pytest.mark.parametrize(
    "more", [{"features": COLUMNS}, {"baseline": "a", "rollout": {"mode": "shadow"}}]
)
def test_a_name_that_is_taken_is_refused_where_the_first_spec_had_nothing_there(service, more):
    plain = {"name": "one", "policy": "LinUCB", "arms": SPEC["arms"], "dimension": 2}
    create(service, plain)
    refused(
        409,
        create,
        service,
        {name: value for name, value in plain.items() if name != "dimension"} | more,
        match="exists with another spec",
    )


def test_a_number_that_no_float_holds_once_scaled_changes_nothing(service):
    create(service, SPEC | {"features": {"x": {"kind": "number", "mean": 0, "deviation": 1e-9}}})
    before = state(service, "one")
    refused(422, decide, service, "1", "one", context={"x": 1e305})
    assert state(service, "one") == before


def test_an_erasure_takes_the_values_and_leaves_the_longest_norm(tmp_path, clock):
    with service_at(tmp_path / "a.db", clock) as service:
        create(service, SPEC | {"arms": [{"id": "a"}, {"id": "b"}]})
        for n, row in enumerate(ROWS[:6]):
            decide(service, str(n), "one", context=row, subject="me" if n == 2 else None)
            reward(service, str(n), 0.5, "one")
        assert service.ask_now("one", commands.Erasure("me"))["erased"] == 1
        with service.database.read() as connection:
            entries = list(log.read(connection, 1))
            assert verify(connection, 1, "one").errors == ()
        decided = {entry.decision: entry for entry in entries if entry.kind == "decided"}
        assert b"city 2" not in decided["2"].text and b"city 3" in decided["3"].text
        erased = next(entry.event for entry in entries if entry.kind == "erased")
        assert erased.longest == pytest.approx(
            float(np.linalg.norm(encoder_of(SPEC).transform(ROWS[2]))), rel=1e-15
        )
    with service_at(tmp_path / "a.db", clock) as service:
        assert decide(service, "9", "one", context=ROWS[9])["arm"]


def test_kernels_are_compiled_ahead_as_for_numbers():
    spec = ExperimentSpec.model_validate(SPEC)
    assert [len(row) for row in next(sample_requests(spec.in_numbers())).context.values()] == [
        14,
        14,
    ]


def test_fourier_features_stand_in_a_spec_as_the_encoder_has_them():
    table = {"country": ["de", "fr"] * 10, "age": np.arange(20.0)}
    encoder = tr.Encoder(fourier=8, seed=2).fit(table)
    spec = ExperimentSpec.model_validate(SPEC | {"features": encoder.to_dict()})
    assert encoder_of(spec.model_dump(mode="json")).to_dict() == encoder.to_dict()
    rows = FeatureReader(spec.encoder, "one").numbers([{"country": "de", "age": 3.5}] * 2)
    np.testing.assert_array_equal(rows, [encoder.transform({"country": "de", "age": 3.5})] * 2)
    assert "fourier" not in ExperimentSpec.model_validate(SPEC).model_dump(mode="json")["features"]
