"""Experiments made on the board, without its script: the form, the spec beside it, and what is refused."""

import json
from html import unescape

import httpx
import pytest
from running import Process

from tightrope.service.board import spec_form
from tightrope.service.domain.errors import Refused
from tightrope.service.domain.spec import ExperimentSpec
from tightrope.service.log.database import Database
from tightrope.service.runtime import keys

SHOP = {
    "name": "shop", "policy": "BetaThompson", "arms": "9.90\n11.90", "baseline": "9.90", "baseline_mean": "0.3", "alpha": "0.1",
    "lowest": "0", "highest": "1", "window": "2d", "default_reward": "0", "mode": "shadow", "share": "25",
}  # fmt: skip
SAID = {
    "name": "shop", "policy": "BetaThompson", "arms": [{"id": "9.90"}, {"id": "11.90"}], "window": "2d", "baseline": "9.90",
    "baseline_mean": 0.3, "alpha": 0.1, "default_reward": 0, "rewards": [0, 1], "rollout": {"mode": "shadow", "share": 0.25},
}  # fmt: skip


@pytest.fixture(scope="module")
def board(tmp_path_factory):
    """A service, and a function that signs in to its board with a key that may do so much."""
    folder = tmp_path_factory.mktemp("board")
    with Process(folder / "a.db", folder) as process:

        def signed(role="admin", experiments=None):
            database = Database(process.db)
            with database.write() as connection:
                key = keys.create(connection, role, experiments=experiments)
            database.close()
            client = httpx.Client(base_url=process.url, timeout=120)
            assert client.post("/board/login", data={"key": key}).status_code == 303
            return client

        yield process, signed


def part(page, name):
    """The text of a field of the form that a page shows."""
    if f'<textarea id="{name}"' in page or f'<textarea name="{name}"' in page:
        return unescape(page.split(f'name="{name}"', 1)[1].split(">\n", 1)[1].split("</textarea>")[0])
    if name == "mode":
        chosen = [one for one in page.split('<select id="mode"')[1].split("</select>")[0].split("<option ") if " selected" in one]
        return chosen[0].split('value="')[1].split('"')[0] if chosen else ""
    return unescape(page.split(f'name="{name}" type="text" value="')[1].split('"')[0])


def typed(page, **more):
    """What a browser would send of a page's form in which somebody has typed."""
    names = [*spec_form.FIELDS, "spec", "was"]
    return {"token": page.split('name="token" value="')[1].split('"')[0]} | {name: part(page, name) for name in names} | more


def refusal(page):
    return unescape(page.split('id="refused" role="alert">')[1].split("</p>")[0])


@pytest.mark.parametrize("spec", [
    {}, spec_form.BEGIN, SAID, *ExperimentSpec.model_config["json_schema_extra"]["examples"],
    {"name": "x", "policy": {"policy": "UCB", "alpha": 0.5}, "window": None, "rollout": {}, "rewards": [0.0, 5]},
    {"name": 3, "policy": 1, "arms": "a", "rewards": 7, "rollout": [1], "alpha": True},
    {"arms": [{"id": "{a"}, {"id": "b", "features": [1, 2]}, "c"], "baseline": ["a", "b"], "rollout": {"share": "half"}},
])  # fmt: skip
def test_the_fields_of_a_spec_change_nothing_of_it(spec):
    assert spec_form.with_fields(spec, spec_form.fields_of(spec)) == spec


def test_fields_make_a_spec():
    assert spec_form.with_fields({}, SHOP) == SAID
    assert spec_form.with_fields(SAID, SHOP | {"baseline_mean": "0.30", "alpha": ".1"}) == SAID
    changed = spec_form.with_fields(SAID, SHOP | {"alpha": "", "window": "for ever", "mode": "", "arms": '9.90\n{"id": "b", "point": 0.5}'})
    assert "alpha" not in changed and "rollout" not in changed and changed["window"] is None
    assert changed["arms"] == [{"id": "9.90"}, {"id": "b", "point": 0.5}]
    kept = spec_form.with_fields({"policy": {"policy": "UCB", "alpha": 0.5}}, spec_form.fields_of({"policy": "UCB"}) | {"alpha": "a tenth"})
    assert kept == {"policy": {"policy": "UCB", "alpha": 0.5}, "alpha": "a tenth"}
    with pytest.raises(Refused, match="alpha"):
        spec_form.checked(SAID | {"alpha": "a tenth"})


def test_the_side_that_was_edited_holds():
    draft = spec_form.draft_of(SAID)
    fields = draft.fields | {"alpha": "0.2"}
    assert spec_form.agreed(draft) == SAID
    assert spec_form.agreed(draft._replace(fields=fields)) == SAID | {"alpha": 0.2}
    assert spec_form.agreed(draft._replace(spec=json.dumps(SAID | {"seed": 4, "alpha": 0.3}))) == SAID | {"seed": 4, "alpha": 0.3}
    assert spec_form.agreed(draft._replace(fields=fields, spec=json.dumps(SAID | {"alpha": 0.2}))) == SAID | {"alpha": 0.2}
    with pytest.raises(Refused, match="alpha is one thing in the form and another in the spec"):
        spec_form.agreed(draft._replace(fields=fields, spec=json.dumps(SAID | {"seed": 4})))


def test_created_by_the_form(board):
    process, signed = board
    browser = signed()
    page = browser.get("/board/new").text
    answer = browser.post("/board/new", data=typed(page, step="create", **SHOP))
    assert (answer.status_code, answer.headers["location"]) == (303, "/board/experiments/shop"), refusal(answer.text)
    with process.client("shop") as client:
        assert client.describe()["spec"]["rollout"] == {"mode": "shadow", "share": 0.25}
        assert client.create(SAID) is not None  # the same spec: the API knows it as this experiment
    entry = httpx.get(f"{process.url}/v1/audit?experiment=shop", headers={"Authorization": f"Bearer {process.key}"}).json()["entries"]
    assert [one["action"] for one in entry] == ["create"] and entry[0]["key"] is not None


def test_the_refusal_is_the_apis_and_everything_typed_is_still_there(board):
    process, signed = board
    browser = signed()
    wrong = SHOP | {"name": "wrong", "baseline": "8.90"}
    page = browser.get("/board/new").text
    answer = browser.post("/board/new", data=typed(page, step="create", **wrong))
    spec = spec_form.with_fields(spec_form.BEGIN, wrong)
    said = httpx.post(f"{process.url}/v1/experiments", json=spec, headers={"Authorization": f"Bearer {process.key}"})
    assert said.status_code == answer.status_code == 422
    assert refusal(answer.text) == said.json()["error"]["message"] == "baseline = '8.90' is not the id of an arm."
    assert {name: part(answer.text, name) for name in wrong} == wrong
    assert 'name="baseline" type="text" value="8.90" autocomplete="off" spellcheck="false" aria-invalid="true"' in answer.text
    answer = browser.post("/board/new", data=typed(answer.text, step="create", alpha="a tenth", baseline="9.90"))
    assert answer.status_code == 422 and refusal(answer.text).startswith("alpha: ") and part(answer.text, "alpha") == "a tenth"
    broken = '{"name": "<b>"'
    answer = browser.post("/board/new", data=typed(page, step="create", spec=broken))
    assert "spec is not JSON" in refusal(answer.text) and part(answer.text, "spec") == broken and "<b>" not in answer.text
    taken = browser.post("/board/new", data=typed(page, step="create", **(SHOP | {"alpha": "0.2"})))
    assert taken.status_code == 409 and "exists with another spec" in refusal(taken.text)


def test_buttons_make_both_sides_agree(board):
    _, signed = board
    browser = signed()
    page = browser.get("/board/new").text
    page = browser.post("/board/new", data=typed(page, step="form", **SHOP)).text
    assert json.loads(part(page, "spec")) == SAID and part(page, "was") == part(page, "spec")
    page = browser.post("/board/new", data=typed(page, step="spec", spec=json.dumps(SAID | {"seed": 9, "alpha": 0.3}))).text
    assert part(page, "alpha") == "0.3" and json.loads(part(page, "spec"))["seed"] == 9
    both = browser.post("/board/new", data=typed(page, step="create", alpha="0.4", spec=json.dumps(SAID))).text
    assert "press one of the two buttons" in refusal(both) and part(both, "alpha") == "0.4"
    told = browser.post("/board/new", data=typed(page, step="form", name="two"), headers={"accept": "application/json"}).json()
    assert json.loads(told["spec"])["name"] == "two" and told["refused"] is None


def test_only_keys_that_may_create(board):
    process, signed = board
    admin = signed()
    token = typed(admin.get("/board/new").text)["token"]
    reader = signed("decide")
    assert reader.get("/board/new").status_code == 403 and "New experiment" not in reader.get("/board").text
    assert reader.post("/board/new", data={"token": token, "step": "create"}).status_code == 403
    assert admin.post("/board/new", data={"token": "0" * 64, "step": "create"}).status_code == 403
    assert httpx.post(f"{process.url}/board/new", data={"token": token}).headers["location"].startswith("/board/login")
    scoped = signed(experiments=["offer-*"])
    page = scoped.get("/board/new").text
    assert "offer-*" in page
    refused = scoped.post("/board/new", data=typed(page, step="create", **(SHOP | {"name": "shop-2"})))
    assert refused.status_code == 403 and "not for 'shop-2'" in refusal(refused.text) and part(refused.text, "name") == "shop-2"
