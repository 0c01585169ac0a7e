"""The board in a real browser on live data: nothing on its console, no request off the host, axe
finds nothing; and its doors are shut."""

import httpx
import pytest
from browser import COMMAND, Browser
from running import Process

from tightrope_service.client import drive, price_shop


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    """A service with a shop that has had some traffic."""
    folder = tmp_path_factory.mktemp("board")
    with Process(folder / "a.db", folder) as process:
        with process.client("shop", timeout=120.0) as client:
            shop = price_shop()
            client.create(shop.spec("shop"))
            drive(client, shop, 700, delay=50, batch=100)
            client.create(
                {
                    "name": "offers",
                    "policy": "LinUCB",
                    "dimension": 2,
                    "window": "1h",
                    "default_reward": 0.0,
                }
            )
            for _ in range(3):
                client.decide(context={"<b>x": [1.0, 0.0], "y": [0.0, 1.0]})
            client.create(
                {
                    "name": "best",
                    "policy": {"policy": "UGapE", "epsilon": 0.2},
                    "arms": [{"id": "a"}, {"id": "b"}],
                }
            )
            for _ in range(6):
                client.reward(client.decide().id, 0.5)
        yield process


def signed(process, key=None):
    client = httpx.Client(base_url=process.url, timeout=30)
    answer = client.post(
        "/board/login", data={"key": key or process.key, "next": "/board/experiments/shop"}
    )
    return client, answer


def token_of(page):
    return page.split('name="token" value="')[1].split('"')[0]


def test_doors(served):
    bare = httpx.Client(base_url=served.url, timeout=30)
    for page in ("/board", "/board/experiments/shop", "/board/experiments/shop/certificate"):
        assert bare.get(page).headers["location"].startswith("/board/login")
    for page in ("/board/experiments/shop/parts", "/board/experiments/shop/certificate.json"):
        assert bare.get(page).status_code == 401
    client, answer = signed(served, "tr_wrong")
    assert (
        answer.status_code == 401
        and "set-cookie" not in answer.headers
        and "not known" in answer.text
    )
    client, answer = signed(served)
    cookie = answer.headers["set-cookie"]
    assert answer.status_code == 303 and {"HttpOnly", "SameSite=strict"} <= {
        part.strip() for part in cookie.split(";")
    }
    assert served.key not in cookie
    page = client.get("/board/experiments/shop")
    policy = page.headers["content-security-policy"]
    assert (
        "default-src 'none'" in policy
        and "unsafe" not in policy
        and "<script>" not in page.text
        and " style=" not in page.text
    )
    assert client.post("/board/experiments/shop/pause", data={"token": "0" * 64}).status_code == 403
    assert (
        client.post(
            "/board/experiments/shop/mode", data={"token": token_of(page.text), "mode": "fast"}
        ).status_code
        == 422
    )
    value = cookie.split("=", 1)[1].split(";")[0]
    forged = value[:-1] + (
        "1" if value.endswith("0") else "0"
    )  # the last digit of the signature, changed
    forged = httpx.Client(base_url=served.url, cookies={"tightrope_board": forged}, timeout=30)
    assert forged.get("/board").status_code == 303
    outside = bare.post("/board/login", data={"key": served.key, "next": "//elsewhere.example"})
    assert outside.headers["location"] == "/board"


def test_a_key_that_reads_changes_nothing(served):
    from tightrope_service import keys
    from tightrope_service.database import Database

    database = Database(served.db)
    with database.write() as connection:
        made = keys.create(connection, "read")
    database.close()
    client, _ = signed(served, made)
    page = client.get("/board/experiments/shop").text
    assert "Change the mode" not in page
    assert (
        client.post("/board/experiments/shop/pause", data={"token": token_of(page)}).status_code
        == 403
    )


def test_names_are_text(served):
    client, _ = signed(served)
    page = client.get("/board/experiments/offers").text
    assert "&lt;b&gt;x" in page and "<b>x" not in page and "depends on the round" in page
    best = client.get("/board/experiments/best").text
    assert "Samples left" in best and "stopping rule" in best
    assert client.get("/board/experiments/none").status_code == 404


@pytest.mark.skipif(COMMAND is None, reason="there is no Chromium here")
def test_in_a_browser(served, tmp_path):
    with Browser() as browser:
        browser.size(1280)
        browser.sign_in(f"{served.url}/board/experiments/shop", served.key)
        assert browser.run("document.querySelectorAll('svg').length") >= 6
        for width, dark in ((1280, False), (390, True)):
            for page in (
                "/board",
                "/board/experiments/shop",
                "/board/experiments/best",
                "/board/experiments/shop/certificate",
            ):
                browser.size(width, dark=dark)
                browser.open(served.url + page)
                assert browser.run("document.documentElement.scrollWidth") <= width, page
                assert browser.violations() == [], (page, dark)
        browser.size(1280)
        browser.open(f"{served.url}/board/experiments/shop")
        before = browser.run("document.getElementById('tiles').textContent")
        with served.client("shop") as client:
            client.decide_many(25)
        browser.listen(4)  # the page keeps itself up to date
        after = browser.run("document.getElementById('tiles').textContent")
        assert (
            "700" in before
            and "725" in after
            and browser.run("document.getElementById('live').textContent") == "live"
        )
        browser.picture(tmp_path / "board.png")
        assert browser.errors == []
        assert {
            address.split("/")[2] for address in browser.asked if address.startswith("http")
        } == {served.url.split("/")[2]}
