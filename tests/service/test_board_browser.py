"""The task of the board in a real browser: an experiment from its creation to the winner, without
the API but for its traffic."""

import dataclasses
import datetime
import itertools
import json
import os
import pathlib

import pytest
from browser import COMMAND, Browser
from running import Process

from tightrope_service.client import drive, price_shop

pytestmark = pytest.mark.skipif(COMMAND is None, reason="there is no Chromium here")

SPEC = {
    "name": "checkout-price",
    "policy": {"policy": "EpsilonGreedy", "epsilon": 0.1},
    "arms": [{"id": "9.90"}, {"id": "11.90"}],
    "baseline": "8.90",
    "baseline_mean": 0.195,
    "alpha": 0.1,
    "rewards": [0, 1],
    "window": "1h",
    "default_reward": 0,
    "seed": 7,
    "rollout": {"mode": "shadow", "share": 0.5},
}
LONG = "a-very-long-id-of-an-arm-" * 4
PLACES = ((1280, False), (1280, True), (390, False), (390, True))


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    folder = tmp_path_factory.mktemp("task")
    with Process(folder / "a.db", folder) as process:
        yield process


def look(browser, name, folder):
    """The page that is shown, in both widths and both lights: nothing is wider than the window, and
    axe finds nothing."""
    for width, dark in PLACES:
        browser.size(width, dark=dark)
        browser.listen(0.2)
        browser.picture(folder / f"{name}-{width}-{'dark' if dark else 'light'}.png")
        assert browser.run("document.documentElement.scrollWidth") <= width, (name, width)
        assert browser.violations() == [], (name, width, dark)
    browser.size(1280)


def text_in(browser, id):
    return browser.run(f"document.getElementById('{id}').innerText")


def answer_in(browser):
    return browser.run("document.querySelector('.answer').textContent.replaceAll('\u00a0', ' ')")


def change_mode(browser, mode, why):
    """Ask for a mode, read what it will do, and mean it."""
    browser.run(f"document.querySelector('form[action$=confirm] [name=mode]').value = '{mode}'")
    browser.type("why", why)
    browser.press("form[action$=confirm] button")
    said = browser.run("document.querySelector('.confirm').innerText")
    assert f"Go to mode {mode}?" in said and "go back to" in said
    return said


def test_from_creation_to_the_winner(served, tmp_path):
    folder = pathlib.Path(os.environ.get("TIGHTROPE_TEST_PICTURES", tmp_path))
    shop = dataclasses.replace(price_shop(alpha=0.1), buyers={"9.90": 0.5, "11.90": 0.6})
    with Browser() as browser:
        browser.size(1280)
        browser.sign_in(f"{served.url}/board", served.key)
        browser.press("a[href$='/new']")
        look(browser, "new", folder)
        browser.press("a[href$='template=whom']")
        assert "LinTS" in browser.run("document.getElementById('spec').value")
        browser.type("spec", json.dumps(SPEC, indent=2))
        browser.press("main form button.main")  # there is no such arm
        assert text_in(browser, "refused") == "baseline = '8.90' is not the id of an arm."
        assert json.loads(browser.run("document.getElementById('spec').value")) == SPEC
        browser.errors.clear()  # the browser notes the 422
        look(browser, "refused", folder)
        browser.type("spec", json.dumps(SPEC | {"baseline": "9.90"}))
        browser.press("main form button.main")
        assert browser.run("location.pathname") == "/board/experiments/checkout-price"
        assert answer_in(browser) == "It cannot be said yet which arm leads: no reward has come."
        assert text_in(browser, "verdict") == "Keep going"
        assert (
            browser.run("document.querySelectorAll('#pictures svg').length") == 0
        )  # empty cards have left
        look(browser, "empty", folder)
        with served.client("checkout-price", timeout=120.0) as client:
            drive(client, shop, 400, delay=0, batch=100)
        browser.until("document.getElementById('tiles').textContent.includes('400')")
        assert answer_in(browser).startswith(
            "It cannot be said yet which arm leads: only 9.90 has rewards, and mode shadow serves"
        )
        browser.type("arms", f"8.90\n{LONG}")
        browser.press(".new-arms button")
        assert LONG in text_in(browser, "arms")
        browser.press(f"a[aria-label='Retire {LONG}']")
        assert "is not played any more" in browser.run(
            "document.querySelector('.confirm').innerText"
        )
        browser.press(".confirm button")
        browser.press("a[aria-label='Retire 8.90']")
        browser.press(".confirm button")
        said = change_mode(browser, "capped", "looks good in shadow")
        assert "50 % of the decisions are the policy's" in said and "at least 0.9 times" in said
        look(browser, "confirm", folder)
        browser.press(".confirm button")
        assert (
            browser.run("document.querySelector('li[aria-current]').textContent") == "capped 50 %"
        )
        with served.client("checkout-price", timeout=120.0) as client:
            drive(client, shop, 3000, delay=0, batch=100, seed=1)
        change_mode(browser, "full", "the winner is known")
        browser.press(".confirm button")
        with served.client("checkout-price", timeout=120.0) as client:
            drive(client, shop, 1500, delay=0, batch=100, seed=2)
        browser.open(f"{served.url}/board/experiments/checkout-price")
        answer = answer_in(browser)
        assert text_in(browser, "verdict") == "Stop: 11.90 is best"
        assert (
            answer.startswith("The arm 11.90 leads with")
            and "known now" in answer
            and "it has cost nothing" in answer
        ), answer
        assert "Against the baseline" in browser.run(
            "document.querySelector('#arms thead').textContent"
        )
        look(browser, "winner", folder)
        browser.press("a[href$='action=pause']")
        browser.press(".confirm button")
        browser.press("a[href$='action=archive']")
        look(browser, "archive", folder)
        browser.press(".confirm button")
        browser.press("header .brand")
        assert "1 archived" in browser.run("document.body.innerText")
        browser.press("a[href$='?archived']")
        assert "checkout-price" in browser.run("document.querySelector('table').innerText")
        assert browser.errors == []
        assert {
            address.split("/")[2] for address in browser.asked if address.startswith("http")
        } == {served.url.split("/")[2]}
    with served.client("checkout-price") as client:
        modes = [one["body"]["mode"] for one in client.log() if one["kind"] == "mode changed"]
        assert modes == ["capped", "full"] and client.describe()["status"] == "archived"


def test_a_time_axis_has_ticks_of_the_calendar(served):
    first = datetime.datetime(2026, 3, 1, 22, 10, 7, tzinfo=datetime.UTC).timestamp() * 1e6
    ends = [first + seconds * 1e6 for seconds in (3, 26, 100, 3000, 20_000, 200_000, 2e6, 2e7)]
    with Browser() as browser:
        browser.open(f"{served.url}/board/login")
        axes = browser.run(
            f"import('/board/static/charts.js').then(m => {ends}.map(e => m.calendar({first}, e)))"
        )
    for end, ticks in zip(ends, axes, strict=True):
        assert 2 <= len(ticks) <= 6 and all(first <= at <= end for at, _ in ticks)
        assert all(one != two for (_, one), (_, two) in itertools.pairwise(ticks))
        for at, text in ticks:
            when = datetime.datetime.fromtimestamp(at / 1e6, datetime.UTC)
            assert text in (f"{when:%H:%M:%S}", f"{when:%H:%M}", f"{when.day} {when:%b}")
