"""Experiments made on the board: templates, the spec that is typed, and what is refused."""

import json
from html import unescape

import httpx
import pytest
from running import Process

from tightrope_service import keys
from tightrope_service.board import TEMPLATES
from tightrope_service.database import Database

SHOP = {
    "name": "shop",
    "policy": "BetaThompson",
    "arms": [{"id": "9.90"}, {"id": "11.90"}],
    "window": "2d",
    "baseline": "9.90",
    "baseline_mean": 0.3,
    "alpha": 0.1,
    "default_reward": 0,
    "rewards": [0, 1],
    "rollout": {"mode": "shadow", "share": 0.25},
}


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


def spec_in(page):
    """The text in the field for the spec."""
    return unescape(page.split('name="spec"', 1)[1].split(">\n", 1)[1].split("</textarea>")[0])


def post(browser, spec, token=None):
    """What a browser sends of the form."""
    page = "" if token else browser.get("/board/new").text
    text = spec if isinstance(spec, str) else json.dumps(spec)
    return browser.post(
        "/board/new",
        data={"token": token or page.split('name="token" value="')[1].split('"')[0], "spec": text},
    )


def refusal(page):
    return unescape(page.split('id="refused" role="alert">')[1].split("</p>")[0])


@pytest.mark.parametrize("template", TEMPLATES)
def test_a_template_with_a_name_is_an_experiment(board, template):
    process, signed = board
    browser = signed()
    page = browser.get("/board/new", params={"template": template}).text
    assert (
        all(unescape(one["question"]) in page for one in TEMPLATES.values())
        and f'template={template}" aria-current="true"' in page
    )
    unnamed = spec_in(page)
    assert refusal(post(browser, unnamed).text).startswith("name")
    answer = post(browser, json.loads(unnamed) | {"name": f"by-{template}"})
    assert (answer.status_code, answer.headers["location"]) == (
        303,
        f"/board/experiments/by-{template}",
    ), refusal(answer.text)
    with process.client(f"by-{template}") as client:
        context = {"context": {"country": "de", "age": 30}} if template == "whom" else {}
        assert client.decide(**context).arm in [
            arm["id"] for arm in TEMPLATES[template]["spec"]["arms"]
        ]


def test_created_by_the_form(board):
    process, signed = board
    answer = post(signed(), SHOP)
    assert (answer.status_code, answer.headers["location"]) == (303, "/board/experiments/shop"), (
        refusal(answer.text)
    )
    with process.client("shop") as client:
        assert client.describe()["spec"]["rollout"] == {"mode": "shadow", "share": 0.25}
        assert client.create(SHOP) is not None  # the same spec: the API knows it as this experiment
    entry = httpx.get(
        f"{process.url}/v1/audit?experiment=shop",
        headers={"Authorization": f"Bearer {process.key}"},
    ).json()["entries"]
    assert [one["action"] for one in entry] == ["create"] and entry[0]["key"] is not None


def test_the_refusal_is_the_apis_and_everything_typed_is_still_there(board):
    process, signed = board
    browser = signed()
    wrong = SHOP | {"name": "wrong", "baseline": "8.90"}
    answer = post(browser, wrong)
    api = httpx.post(
        f"{process.url}/v1/experiments",
        json=wrong,
        headers={"Authorization": f"Bearer {process.key}"},
    )
    assert api.status_code == answer.status_code == 422
    assert (
        refusal(answer.text)
        == api.json()["error"]["message"]
        == "baseline = '8.90' is not the id of an arm."
    )
    assert (
        json.loads(spec_in(answer.text)) == wrong
        and 'aria-invalid="true" aria-describedby="refused"' in answer.text
    )
    answer = post(browser, wrong | {"alpha": "a tenth"})
    assert answer.status_code == 422 and refusal(answer.text).startswith("alpha: ")
    for broken, words in (
        ('{"name": "<b>"', "spec is not JSON: Expecting ',' delimiter at line 1, column 15"),
        ("[]", "spec must be a JSON object"),
        ('{"name": "a", "name": "b"}', "name"),
        ("[" * 5000, "spec is not JSON"),
    ):
        answer = post(browser, broken)
        assert answer.status_code == 422 and words in refusal(answer.text)
        assert spec_in(answer.text) == broken and "<b>" not in answer.text
    taken = post(browser, SHOP | {"alpha": 0.2})
    assert taken.status_code == 409 and "exists with another spec" in refusal(taken.text)
    assert browser.get("/board/new?template=none").status_code == 404


def test_only_keys_that_may_create(board):
    process, signed = board
    admin = signed()
    token = admin.get("/board/new").text.split('name="token" value="')[1].split('"')[0]
    reader = signed("decide")
    assert (
        reader.get("/board/new").status_code == 403
        and "New experiment" not in reader.get("/board").text
    )
    assert post(reader, SHOP, token).status_code == 403
    assert post(admin, SHOP, "0" * 64).status_code == 403
    assert (
        httpx.post(f"{process.url}/board/new", data={"token": token})
        .headers["location"]
        .startswith("/board/login")
    )
    scoped = signed(experiments=["offer-*"])
    assert "offer-*" in scoped.get("/board/new").text
    refused = post(scoped, SHOP | {"name": "shop-2"})
    assert (
        refused.status_code == 403
        and "not for 'shop-2'" in refusal(refused.text)
        and json.loads(spec_in(refused.text))["name"] == "shop-2"
    )
