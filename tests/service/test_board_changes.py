"""Changes made on the board: every one asks first, in sentences that are true of the experiment,
and is done only then."""

from html import unescape

import httpx
import pytest
from running import Process

PLAIN = {"name": "plain", "policy": "UCB", "arms": [{"id": "a"}, {"id": "b c"}], "window": "1h"}
GUARDED = {
    "name": "guarded",
    "policy": "BetaThompson",
    "arms": [{"id": "a"}, {"id": "b"}, {"id": "c"}],
    "baseline": "a",
    "baseline_mean": 0.5,
    "alpha": 0.1,
    "window": "1h",
    "rollout": {
        "mode": "shadow",
        "share": 0.25,
        "promote": {"capped": {"after": 40, "better": True}},
    },
}


@pytest.fixture(scope="module")
def board(tmp_path_factory):
    """A service with two experiments, and somebody who has signed in with its admin key."""
    folder = tmp_path_factory.mktemp("board")
    with Process(folder / "a.db", folder) as process:
        with process.client("plain", timeout=120.0) as client:
            client.create(PLAIN)
            client.create(GUARDED)
            client.experiment = "guarded"
            client.decide_many(7)
        with httpx.Client(base_url=process.url, timeout=60, follow_redirects=True) as browser:
            browser.post("/board/login", data={"key": process.key})
            yield process, browser


def question(browser, name, **asked):
    """The page that asks, and the sentences on it."""
    page = browser.get(f"/board/experiments/{name}/confirm", params=asked)
    return page, [unescape(one.split("</li>")[0]) for one in page.text.split("<li>")[1:]]


def confirm(browser, page):
    """Press its button."""
    form = page.text.split('class="row" method="post" action="')[1]
    fields = {
        one.split('"')[0]: unescape(one.split('value="')[1].split('"')[0])
        for one in form.split('type="hidden" name="')[1:]
    }
    return browser.post(form.split('"')[0], data=fields)


def state(process, name):
    return [call(process, "GET", name, rest) for rest in ("", "/mode")]


def call(process, method, name, rest, **body):
    return httpx.request(
        method,
        f"{process.url}/v1/experiments/{name}{rest}",
        headers={"Authorization": f"Bearer {process.key}"},
        timeout=60,
        **body,
    ).json()


def test_a_mode_is_changed_after_the_page_that_says_what_will_happen(board):
    process, browser = board
    page, said = question(browser, "guarded", action="mode", mode="capped", why="<looks> good")
    assert (
        page.status_code == 200 and state(process, "guarded")[0]["mode"] == "shadow"
    )  # nothing happened
    text = " ".join(said)
    assert said[0] == "25 % of the decisions are the policy's, the others are production's."
    assert (
        said[1].startswith("7 decisions are open:")
        and "at least 0.9 times what the baseline alone would have earned" in text
    )
    assert (
        "falls below -1, shadow comes back by itself" in text
        and "40 rewards have come and the policy is surely better" in text
    )
    assert "go back to shadow at any time" in text and "<looks>" not in page.text
    assert confirm(browser, page).status_code == 200
    described, mode = state(process, "guarded")
    assert (described["mode"], mode["share"]) == ("capped", 0.25)
    with process.client("guarded") as client:
        assert [one["body"]["why"] for one in client.log() if one["kind"] == "mode changed"] == [
            "<looks> good"
        ]
    page = browser.get("/board/experiments/guarded").text
    back = page.split('href="')[1:]
    back = unescape(
        next(one for one in back if "Back to the baseline" in one.split("</a>")[0]).split('"')[0]
    )
    asked = browser.get(back)
    assert "Go to mode shadow?" in asked.text and "back to the baseline" in asked.text
    assert page.index('id="arms"') < page.index('id="pictures"')
    assert "Back to the baseline" not in browser.get("/board/experiments/plain").text
    again, _ = question(browser, "guarded", action="mode", mode="capped")
    assert "nothing would change" in again.text
    stale, _ = question(browser, "guarded", action="mode", mode="full")
    call(process, "POST", "guarded", "/mode", json={"mode": "apprentice"})
    refused = confirm(browser, stale)
    assert (
        refused.status_code == 409
        and "&#39;apprentice&#39; now" in refused.text
        and state(process, "guarded")[0]["mode"] == "apprentice"
    )


def test_what_cannot_be_is_said_before_it_is_asked(board):
    _, browser = board
    assert (
        question(browser, "plain", action="mode", mode="shadow")[0].status_code == 409
    )  # it has no baseline
    assert (
        question(browser, "guarded", action="arm", arm="a", status="retired")[0].status_code == 409
    )  # the baseline
    assert (
        question(browser, "guarded", action="arm", arm="x", status="retired")[0].status_code == 404
    )
    assert question(browser, "guarded", action="arm", arm="b", status="gone")[0].status_code == 422
    assert question(browser, "guarded", action="explode")[0].status_code == 404
    assert "nothing would change" in question(browser, "plain", action="resume")[0].text


def test_arms_are_added_retired_and_restored(board):
    process, browser = board
    page = browser.get("/board/experiments/plain").text
    token = page.split('name="token" value="')[1].split('"')[0]
    answer = browser.post(
        "/board/experiments/plain/arms", data={"token": token, "arms": "d\n b c "}
    )
    assert (
        answer.status_code == 409
        and "there already" in answer.text
        and ">\nd\n b c </textarea>" in answer.text
    )
    assert (
        browser.post(
            "/board/experiments/plain/arms", data={"token": token, "arms": "d\r\ne"}
        ).status_code
        == 200
    )
    assert (
        browser.post(
            "/board/experiments/plain/arms", data={"token": "0" * 64, "arms": "f"}
        ).status_code
        == 403
    )
    assert [one["id"] for one in state(process, "plain")[0]["arms"]] == ["a", "b c", "d", "e"]
    for arm in ("a", "a", "b c", "a"):
        call(process, "POST", "plain", "/decisions", json={"eligible": [arm]})
    asked, said = question(browser, "plain", action="arm", arm="b c", status="retired")
    assert said[0].startswith(
        "b c is not played any more, from the next decision on; 3 other arms are played"
    )
    assert said[1].startswith("1 decision is open that played it")
    confirm(browser, asked)
    assert state(process, "plain")[0]["arms"][1] == {"id": "b c", "status": "retired"}
    page = browser.get("/board/experiments/plain").text
    assert "arm=b%20c&amp;status=active" in page and "arm=b%20c&amp;status=masked" not in page
    confirm(browser, question(browser, "plain", action="arm", arm="b c", status="active")[0])
    assert state(process, "plain")[0]["arms"][1]["status"] == "active"


def test_paused_resumed_and_archived(board):
    process, browser = board
    with process.client("short") as client:  # one of its own, since archiving cannot be undone
        client.create(PLAIN | {"name": "short"})
        client.decide_many(4)
    page, said = question(browser, "short", action="pause")
    assert "409" in said[0] and said[1].startswith("4 decisions are open")
    confirm(browser, page)
    assert state(process, "short")[0]["status"] == "paused"
    confirm(browser, question(browser, "short", action="resume")[0])
    assert state(process, "short")[0]["status"] == "running"
    page, said = question(browser, "short", action="archive")
    assert (
        said[0].startswith("This cannot be undone")
        and said[1] == "4 decisions are open: the rewards are refused from then on."
    )
    shown = confirm(browser, page)
    assert (
        shown.status_code == 200
        and "archived" in shown.text
        and "confirm?action" not in shown.text
        and "Add arms" not in shown.text
    )
    listed = browser.get("/board").text
    assert (
        "/experiments/short" not in listed
        and "1 archived" in listed
        and "/experiments/guarded" in listed
    )
    asked = browser.get("/board?archived").text
    assert "/experiments/short" in asked and "/experiments/guarded" not in asked
    assert question(browser, "short", action="mode", mode="full")[0].status_code == 409
