"""Results by segment: counted, bounded for all of them at once, and told in the API, on the board
and in exports."""

import pathlib
import re

import numpy as np
import pyarrow.parquet as pq
import pytest
from running import (
    PRICES,
    Process,
    ask,
    crash,
    create,
    decide,
    error,
    history_of,
    patiently,
    place,
    refused,
    reward,
    service_at,
    standing_and_history,
    state,
    until,
)

from tightrope_service import commands, log
from tightrope_service.board_view import page_of
from tightrope_service.certificate import assumptions, certificate
from tightrope_service.history import promised_bounds, segment_report
from tightrope_service.spec import ExperimentSpec, check_spec
from tightrope_service.transfer import write_parquet

SEGMENTS = {"country": ["de", "fr"], "device": ["phone"]}
SPEC = PRICES | {
    "policy": {"policy": "EpsilonGreedy", "epsilon": 1.0},
    "segments": SEGMENTS,
    "baseline": "low",
}
MEANS = {"de": {"low": 0.3, "mid": 0.3, "high": 0.9}, "fr": {"low": 0.3, "mid": 0.8, "high": 0.1}}


def report(service, name="price"):
    return segment_report(standing_and_history(service, name)[1])


def rows_of(found, segment, value):
    return {
        row["arm"]: row
        for row in found["arms"]
        if (row["segment"], row["value"]) == (segment, value)
    }


def test_every_number_is_that_of_the_decisions(service, clock):
    create(service, SPEC)
    rng, seen = np.random.default_rng(1), []
    for n in range(300):
        given = {"country": str(rng.choice(["de", "fr", "it"]))} | (
            {"device": "phone"} if n % 3 else {}
        )
        made = decide(service, f"d{n}", segments=given)
        clock.now += 10**6
        if n % 10 == 0:
            ask(service, commands.cancel, f"d{n}")
            value = None
        elif n % 10 == 1:
            value = None  # still open
        else:
            value = float(rng.random() < 0.5)
            reward(service, f"d{n}", value)
        seen.append((given, made["arm"], value, n % 10))
    found = report(service)
    for name, values in SEGMENTS.items():
        for value in (*values, "other"):
            mine = [
                one
                for one in seen
                if (one[0].get(name) if one[0].get(name) in values else "other") == value
            ]
            (counts,) = [
                one for one in found["segments"] if (one["segment"], one["value"]) == (name, value)
            ]
            assert counts == {
                "segment": name,
                "value": value,
                "decisions": len(mine),
                "rewards": sum(one[2] is not None for one in mine),
                "open": sum(one[3] == 1 for one in mine),
                "cancelled": sum(one[3] == 0 for one in mine),
            }
            for arm, row in rows_of(found, name, value).items():
                rewards = [one[2] for one in mine if one[1] == arm and one[2] is not None]
                assert (row["decisions"], row["rewards"]) == (
                    sum(one[1] == arm for one in mine),
                    len(rewards),
                )
                assert (
                    row["mean"] == pytest.approx(np.mean(rewards))
                    and row["low"] <= row["mean"] <= row["high"]
                )
    assert sum(one["decisions"] for one in found["segments"] if one["segment"] == "country") == 300


def test_expired_decisions_count_with_the_default_reward(service, clock):
    create(service, SPEC)
    decide(service, "a", segments={"country": "de"})
    clock.now += 2 * 3600 * 10**6
    until(lambda: not ask(service, commands.describe)["open"])
    (counts,) = [one for one in report(service)["segments"] if one["value"] == "de"]
    assert (counts["rewards"], counts["open"]) == (1, 0)


def test_what_leads_in_one_segment_and_loses_in_another_is_found(service, clock):
    create(service, SPEC)
    rng = np.random.default_rng(2)
    for n in range(3000):
        country = ("de", "fr")[n % 2]
        made = decide(service, f"d{n}", segments={"country": country})
        reward(service, f"d{n}", float(rng.random() < MEANS[country][made["arm"]]))
    found = report(service)
    for country, better, worse in (("de", "high", None), ("fr", "mid", "high")):
        rows = rows_of(found, "country", country)
        assert all(row["low"] <= MEANS[country][arm] <= row["high"] for arm, row in rows.items())
        assert rows["low"]["lift"] is None and rows[better]["lift"]["low"] > 0
        assert worse is None or rows[worse]["lift"]["high"] < 0
        for arm in ("mid", "high"):
            lift = rows[arm]["lift"]
            assert lift["value"] == pytest.approx(rows[arm]["mean"] - rows["low"]["mean"])
            assert (
                lift["low"] == pytest.approx(rows[arm]["low"] - rows["low"]["high"])
                and lift["low"] < lift["value"] < lift["high"]
            )


def test_intervals_hold_for_all_segments_at_once(service, clock):
    """Where no arm is better anywhere, none is found better in any of 41 segments; and the
    intervals are wider than for one segment."""
    values = [f"v{k}" for k in range(40)]
    create(service, SPEC | {"segments": {"city": values}})
    create(service, SPEC | {"name": "one", "segments": {"city": ["v0"]}})
    rng = np.random.default_rng(3)
    for n in range(4000):
        made = decide(service, f"d{n}", segments={"city": values[n % 40]})
        value = float(rng.random() < 0.5)
        reward(service, f"d{n}", value)
        if n % 40 == 0:
            decide(service, f"d{n}", "one", segments={"city": "v0"})
            reward(service, f"d{n}", value, "one")
    found = report(service)
    assert all(row["low"] <= 0.5 <= row["high"] for row in found["arms"])
    assert not any(row["lift"] and row["lift"]["low"] > 0 for row in found["arms"])
    single = [
        row
        for row in report(service, "one")["arms"]
        if row["value"] == "v0" and row["rewards"] > 20
    ]
    assert made and single


def test_arms_without_one_mean_have_no_intervals(service):
    create(service, SPEC | {"policy": "LinUCB", "dimension": 2, "baseline": None})
    made = decide(service, "a", context=[0.5, 0.25], segments={"device": "phone"})
    reward(service, "a", 1.0)
    row = rows_of(report(service), "device", "phone")[made["arm"]]
    assert (row["mean"], row["low"], row["high"], row["lift"]) == (1.0, None, None, None)


def test_a_retry_is_the_same_decision_and_another_segment_is_another_request(service):
    create(service, SPEC)
    first = decide(service, "a", segments={"country": "it"})
    assert decide(service, "a", segments={"country": "at"}) == first  # both are other
    assert decide(service, "a") == first
    refused(
        409,
        decide,
        service,
        "a",
        segments={"country": "de"},
        match="was decided for another request",
    )
    with service.database.read() as connection:
        made = next(entry for entry in log.read(connection, 1) if entry.kind == "decided")
    assert made.event.asked == {
        "segments": {"country": "other", "device": "other"}
    }  # what nobody has listed is not kept


def test_what_segments_cannot_be(service):
    create(service, SPEC)
    refused(
        422,
        decide,
        service,
        "b",
        segments={"county": "de"},
        match="has 'county', which .* it has country, device",
        field="segments",
    )
    create(service, PRICES | {"name": "plain"})
    refused(
        422,
        decide,
        service,
        "b",
        "plain",
        segments={"country": "de"},
        match="has none in its spec",
        field="segments",
    )
    for wrong, match in (
        ({"country": ["de", "de"]}, "'de', twice"),
        ({"country": ["de", "other"]}, "leave 'other' out"),
        ({"country": []}, "at least 1"),
        ({"a b": ["de"]}, "pattern"),
        ({f"s{k}": ["a"] for k in range(6)}, "at most 5"),
        ({}, "at least 1"),
        (
            {"a": [str(k) for k in range(60)], "b": [str(k) for k in range(60)]},
            "segments has 120 values",
        ),
    ):
        with pytest.raises(ValueError, match=match):
            check_spec(ExperimentSpec.model_validate(SPEC | {"segments": wrong}))
    with pytest.raises(ValueError, match="brings its own candidates"):
        check_spec(
            ExperimentSpec.model_validate(
                {"name": "c", "policy": "LinUCB", "dimension": 2, "segments": SEGMENTS}
            )
        )


def test_segments_change_no_decision(service):
    create(service, SPEC)
    create(service, SPEC | {"name": "plain", "segments": None})
    for n in range(40):
        first, second = (
            decide(service, f"d{n}", segments={"country": "de"}),
            decide(service, f"d{n}", "plain"),
        )
        assert (first["arm"], first["propensity"]) == (second["arm"], second["propensity"])
        for name in ("price", "plain"):
            reward(service, f"d{n}", float(first["arm"] == "mid"), name)


def test_results_outlive_a_kill_and_an_erasure(path, clock):
    with service_at(path, clock, lease=0.1, snapshot_every=7) as service:
        create(service, SPEC)
        for n in range(30):
            decide(service, f"d{n}", segments={"country": ("de", "fr")[n % 2]}, subject=f"u{n % 3}")
            reward(service, f"d{n}", float(n % 2))
        before, then = report(service), state(service)
        crash(service)
    with service_at(path, clock, lease=0.1) as service:
        assert patiently(state, service) == then
        assert report(service) == before
        service.ask_now("price", commands.Erasure("u1"))
        assert report(service) == before
        with service.database.read() as connection:
            erased = [
                entry
                for entry in log.read(connection, 1)
                if entry.kind == "decided" and entry.subject is None
            ]
        assert len(erased) == 10
        crash(service)
    with service_at(path, clock, lease=0.1) as service:
        assert patiently(report, service) == before  # from a log whose bodies were blanked


def test_the_export_has_a_column_for_each(service, tmp_path):
    create(service, SPEC)
    for n, country in enumerate(("de", "it", "fr")):
        decide(service, f"d{n}", segments={"country": country})
        reward(service, f"d{n}", 1.0)
    with service.database.read() as connection:
        write_parquet(connection, 1, "price", tmp_path / "a.parquet")
    table = pq.read_table(tmp_path / "a.parquet").to_pydict()
    assert (
        table["segment_country"] == ["de", "other", "fr"]
        and table["segment_device"] == ["other"] * 3
    )


def test_the_api_and_the_board(served):
    assert served("POST", "/v1/experiments", SPEC).status_code == 201
    assert served("POST", "/v1/experiments", PRICES | {"name": "plain"}).status_code == 201
    for n in range(20):
        asked = {
            "id": f"d{n}",
            "segments": {"country": "<de>" if n % 2 else "de", "device": "phone"},
        }
        assert served("POST", "/v1/experiments/price/decisions", asked, "decide").status_code == 200
        assert (
            served(
                "POST",
                "/v1/experiments/price/rewards",
                {"decision_id": f"d{n}", "value": 1.0},
                "decide",
            ).status_code
            == 200
        )
    told = served("GET", "/v1/experiments/price/segments", None, "read")
    assert told.json()["event"] == 41 and "of many segments some always do" in told.json()["note"]
    assert (
        "has no segments" in error(served("GET", "/v1/experiments/plain/segments"), 409)["message"]
    )
    assert error(served("GET", "/v1/experiments/nobody/segments"), 404)
    signed = served("POST", "/board/login", f"key={served.keys['read']}".encode(), None)
    cookie = {"Cookie": signed.headers["set-cookie"].split(";")[0]}
    page = served("GET", "/board/experiments/price", None, None, **cookie).text
    assert ">Segments<" in page and "of many segments some always do" in page and "phone" in page
    assert ">Segments<" not in served("GET", "/board/experiments/plain", None, None, **cookie).text
    shown = page_of(*standing_and_history(served.service))
    assert shown["segments"] == ["country", "device"]


def test_the_how_to(tmp_path, monkeypatch):
    page = pathlib.Path(__file__).parents[2] / "docs" / "service" / "features.md"
    _, block = re.findall(r"```python\n(.*?)```", page.read_text(), re.DOTALL)
    with Process(place(tmp_path / "a.db"), tmp_path) as process:
        monkeypatch.setenv("TIGHTROPE_KEY", process.key)
        names = {}
        exec(block.replace("http://127.0.0.1:8080", process.url), names)
    assert [row["value"] for row in names["results"]["segments"]] == [
        "de",
        "fr",
        "other",
        "phone",
        "other",
    ]
    assert sum(row["decisions"] for row in names["results"]["segments"]) == 2 * 300


# A promise for each value of a segment ------------------------------------------------------------

PROMISED = SPEC | {
    "policy": "BetaThompson",
    "alpha": 0.2,
    "guarantee": {"sigma": 0.5, "delta": 0.06},
    "promise_by": "country",
    "baseline_means": {"de": 0.3, "fr": 0.3, "other": 0.3},
}


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"promise_by": "region"}, "promise_by = 'region' is not in segments"),
        ({"alpha": None, "guarantee": {}}, "promise_by keeps a promise by Safe; give alpha"),
        ({"baseline": None}, "one arm that is the baseline"),
        ({"baseline_mean": 0.3}, "baseline_mean = 0.3 was given beside baseline_means"),
        ({"baseline_means": {"de": 0.3, "fr": 0.3}}, "'other' is missing"),
        (
            {"baseline_means": {"de": 0.3, "fr": 0.3, "other": 0.3, "it": 0.3}},
            "'it' is missing or is none of them",
        ),
        ({"promise_by": None}, "baseline_means was given without promise_by"),
        (
            {"dimension": 2, "baseline_means": None, "policy": "LinTS"},
            "promise_by needs what the baseline earns",
        ),
    ],
)
def test_a_promise_that_cannot_be_kept_by_segment_is_refused(change, words):
    with pytest.raises(ValueError, match=re.escape(words)):
        check_spec(ExperimentSpec.model_validate(PROMISED | change))


def test_each_value_has_a_budget_of_its_own_that_the_certificate_and_the_board_show(service, clock):
    create(service, PROMISED)
    rng, true, plays = (
        np.random.default_rng(3),
        dict.fromkeys(("de", "fr", "other"), 0.0),
        {"de": {}, "fr": {}, "other": {}},
    )
    means = MEANS | {"other": {"low": 0.3, "mid": 0.0, "high": 0.0}}
    for n in range(1500):
        country = str(rng.choice(["de", "fr", "it"]))
        place = country if country != "it" else "other"
        made = decide(service, f"d{n}", segments={"country": country})
        clock.now += 10**6
        reward(service, f"d{n}", float(rng.random() < means[place][made["arm"]]))
        true[place] += means[place][made["arm"]] - 0.8 * 0.3
        plays[place][made["arm"]] = plays[place].get(made["arm"], 0) + 1
    standing = ask(service, commands.describe_standing)
    bounds = dict(
        zip(("de", "fr", "other"), standing["holdings"]["promises"][0]["segments"], strict=True)
    )
    for place, bound in bounds.items():
        assert -1.0 <= bound <= true[place] + 1e-9
    assert standing["holdings"]["budget_bound"] == min(bounds.values())
    assert all(
        sum(plays[place].values()) - plays[place]["low"] > 20 for place in plays
    )  # and each explores
    history = history_of(service, "price", standing["seq"])
    made = certificate(standing, history, b"k" * 32, 0)
    assert [(one["value"], one["bound"]) for one in made["budget"]["segments"]] == [*bounds.items()]
    assert [(one["value"], one["bound"]) for one in promised_bounds(standing, history)] == [
        *bounds.items()
    ]
    assert "in every country by itself" in made["promise"] and made["budget"][
        "lowest_bound"
    ] <= min(bounds.values())
    (means_are,) = [
        one
        for one in made["assumptions"]
        if one["says"].startswith("The baseline earns on average, by country")
    ]
    assert means_are["verdict"] == "agrees"
    page = page_of(standing, history)
    assert [one["value"] for one in page["promises"]] == ["de", "fr", "other"]
    assert "It keeps a promise in every country by itself" in page["segments_note"]
    assert page["promise_by"] == "country"
    assert any(
        why.startswith("rewards in hand in the country with the least")
        for _, _, why in page["tiles"]
    )


def test_what_is_asked_of_an_experiment_with_promises_is_answered_in_words_of_the_api(served):
    assert served("POST", "/v1/experiments", PROMISED).status_code == 201
    asked = {"decisions": [{"id": "a", "segments": {"country": "fr"}}, {"id": "b"}]}
    assert (
        served("POST", "/v1/experiments/price/decisions:batch", asked, "decide").status_code == 200
    )
    refusal = error(served("GET", "/v1/experiments/price/explain", None, "read"), 422)
    assert (
        refusal["message"] == "decision is missing; every country has a promise of its own, so "
        "name the "
        "decision to "
        "explain."
    )
    assert (
        served("GET", "/v1/experiments/price/explain?decision=a", None, "read").json()[
            "explanation"
        ]["event"]
        == "baseline"
    )
    assert served("DELETE", "/v1/experiments/price/decisions/a", None, "decide").status_code == 200
    told = served("GET", "/v1/experiments/price/segments", None, "read").json()["promises"]
    assert [(one["segment"], one["value"]) for one in told] == [
        ("country", "de"),
        ("country", "fr"),
        ("country", "other"),
    ]
    assert (
        served("POST", "/v1/experiments/price/arms", {"arms": [{"id": "more"}]}).status_code == 201
    )
    assert (
        served(
            "POST", "/v1/experiments/price/decisions", {"segments": {"country": "de"}}, "decide"
        ).status_code
        == 200
    )


def test_a_wrong_mean_of_one_value_is_contradicted(service, clock):
    create(service, PROMISED | {"baseline_means": {"de": 0.3, "fr": 0.9, "other": 0.3}})
    rng = np.random.default_rng(4)
    for n in range(900):
        decide(
            service, f"d{n}", segments={"country": str(rng.choice(["de", "fr"]))}, eligible=["low"]
        )
        clock.now += 10**6
        reward(service, f"d{n}", float(rng.random() < 0.3))
    standing, history = standing_and_history(service)
    found = assumptions(standing["holdings"], history, standing["rollout"])
    (broken,) = [one for one in found if one.verdict == "contradicted"]
    assert broken.why.endswith("in country fr.")


def test_a_restart_and_a_replay_keep_every_ledger(tmp_path, clock):
    path = place(tmp_path / "a.db")
    with service_at(path, clock) as first:
        create(first, PROMISED)
        for n in range(60):
            decide(first, f"d{n}", segments={"country": ("de", "fr", "it")[n % 3]})
            if n % 4:
                reward(first, f"d{n}", float(n % 2))
        ask(first, commands.cancel, "d0")
        before = (
            ask(first, commands.describe_standing)["holdings"]["promises"][0]["segments"],
            state(first),
        )
        crash(first)
    with service_at(path, clock) as second:
        assert (
            ask(second, commands.describe_standing)["holdings"]["promises"][0]["segments"],
            state(second),
        ) == before
