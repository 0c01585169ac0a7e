"""The first card and the numbers of the board: each computed again from the log alone, and no more
said than they allow."""

import collections
import datetime
import json
import math
import re

import numpy as np
import pytest
from running import ask, batch, create, decide, history_of, reward, standing_and_history

from tightrope_service import commands, events, history as lead, log as store
from tightrope_service.board_view import page_of, span, two_digits
from tightrope_service.history import BoundedDifference
from tightrope_service.requests import ArmChange
from tightrope_service.writer import close_windows

MINUTE = 60 * 10**6
SHOP = {
    "name": "price",
    "policy": {"policy": "EpsilonGreedy", "epsilon": 0.9},
    "arms": [{"id": "low"}, {"id": "mid"}, {"id": "high"}],
    "baseline": "low",
    "rewards": [0, 2],
    "window": "10m",
    "default_reward": 0.0,
    "seed": 3,
    "rollout": {"mode": "full"},
}


def shown(service, name="price"):
    return page_of(*standing_and_history(service, name))


def found_low(service, arm):
    return next(row for row in shown(service)["rows"] if row["id"] == arm)["lift"].low


def answer(service):
    return shown(service)["answer"]


def traffic(service, clock, decisions, means, seed=0, rewarded=1.0):
    """Decisions a minute apart, most with a reward of 0 or 2."""
    rng = np.random.default_rng(seed)
    for _ in range(decisions):
        clock.now += MINUTE
        made = decide(service)
        sold = 2.0 * (rng.random() < means[made["arm"]] / 2)
        if rng.random() < rewarded:
            reward(service, made["id"], sold)


def log_of(service, name="price"):
    with service.database.read() as connection:
        return [
            entry.event
            for entry in store.read(connection, store.row_of(connection, name), 0, 10**9)
        ]


def test_numbers_of_cards_charts_and_tables_are_those_of_the_log(service, clock):
    create(service, SHOP)
    traffic(service, clock, 150, {"low": 0.5, "mid": 0.9, "high": 0.7}, rewarded=0.7)
    ask(service, commands.cancel, decide(service)["id"])
    ask(
        service, close_windows
    )  # all that are due, so that none closes between the log and the page
    log = log_of(service)
    arms = {one.decision: one.name for one in log if isinstance(one, events.Decided)}
    came = [one for one in log if isinstance(one, events.Rewarded)]
    taken = [one for one in log if isinstance(one, events.Expired)]
    cancelled = [one for one in log if isinstance(one, events.Cancelled)]
    values = collections.defaultdict(list)
    for one in came:
        values[arms[one.decision]].append(one.value)
    for one in taken:
        values[arms[one.decision]].append(one.reward)
    open = len(arms) - len(came) - len(taken) - len(cancelled)
    total, learned = sum(map(sum, values.values())), len(came) + len(taken)
    assert min(len(came), len(taken), len(cancelled), open) > 0
    page = shown(service)
    tiles = {title: (value, words) for title, value, words in page["tiles"]}
    assert tiles["Decisions"] == (str(len(arms)), "1 cancelled, 0 ended without a reward")
    assert tiles["Rewarded"] == (
        str(learned),
        f"{len(came)} rewards came, {len(taken)} are the default",
    )
    assert tiles["Open"][0] == str(open)
    assert tiles["Mean reward"] == (f"{total / learned:.3g}", f"of {learned} rewards")
    standing = ask(service, commands.describe_standing)  # what the list of experiments shows
    assert (standing["decisions"], standing["rewards"], standing["open"]) == (
        len(arms),
        learned,
        open,
    )
    for row in page["rows"]:
        assert row["plays"] == sum(arm == row["id"] for arm in arms.values())
        assert row["rewards"] == len(values[row["id"]]) and row["mean"] == pytest.approx(
            np.mean(values[row["id"]])
        )
    pictures = page["pictures"]
    assert sum(count for _, count in pictures["delays"]["bars"]) == len(came)
    assert f"{total / learned:.3g}" in pictures["reward"]["words"]
    assert pictures["reward"]["curves"][1]["points"][-1][1] == pytest.approx(total / learned)
    for row, drawn in zip(page["rows"], pictures["intervals"]["rows"], strict=True):
        assert drawn["title"].endswith(f"from {row['rewards']} rewards")
        assert (drawn["low"], drawn["high"], drawn["mean"]) == (
            row["low"],
            row["high"],
            row["mean"],
        )
    best = max(page["rows"], key=lambda row: row["mean"])
    assert page["answer"].startswith(
        f"The {'baseline' if best['id'] == 'low' else 'arm'} {best['id']} leads with "
        f"{best['mean']:.3g} a decision"
    )
    gain = total - learned * np.mean(values["low"])
    assert (
        f"in {learned} decisions it has earned {abs(gain):.3g} {'more' if gain > 0 else 'less'} "
        "than the baseline" in page["answer"]
    )


def test_sets_count_decisions_and_rewards_of_single_arms_apart(service):
    spec = {
        "name": "sets",
        "policy": "CombUCB1",
        "arms": [{"id": c} for c in "abcd"],
        "oracle": {"oracle": "TopK", "k": 2},
        "window": "1h",
        "rewards": [0, 1],
    }
    create(service, spec)
    for n in range(9):
        made = decide(service, name="sets")
        reward(service, made["id"], dict.fromkeys(made["arm"], n % 2), name="sets")
    page = shown(service, "sets")
    tiles = {title: (value, words) for title, value, words in page["tiles"]}
    assert tiles["Rewarded"][0] == "9" and tiles["Mean reward"][1] == "of 18 rewards of single arms"
    assert ask(service, commands.describe_standing, name="sets")["rewards"] == 9
    assert page["answer"] == "Decisions play sets of arms, so no single arm leads."


def test_nothing_is_said_before_it_is_known(service, clock):
    create(service, SHOP)
    assert answer(service) == "It cannot be said yet which arm leads: no reward has come."
    made = decide(service, eligible=["mid"])
    reward(service, made["id"], 2.0)
    assert "only mid has rewards" in answer(service)
    traffic(service, clock, 25, {"low": 0.5, "mid": 0.9, "high": 0.7})
    said = answer(service)
    assert (
        "is not sure yet at 95 %" in said
        and "when it will be known cannot be said yet" in said
        and "fewer than 30 rewards" in said
    )
    ask(service, commands.change_status, "pause")
    assert "more will not be known while the experiment is paused" in answer(service)


def test_an_arm_that_earns_less_than_the_known_baseline_does_not_lead(service, clock):
    create(service, SHOP | {"baseline_mean": 1.5})
    traffic(service, clock, 200, {"low": 0.3, "mid": 1.0, "high": 0.5}, seed=1)
    said = answer(service)
    assert (
        said.startswith(
            "No arm earns more than the baseline low: of those that are played mid earns most, "
        )
        and " leads with" not in said
    )
    assert (
        " less (between" in said
        and "cost nothing" not in said
        and "against the baseline it has cost" in said
    )


def test_a_lead_becomes_sure_and_open_decisions_can_take_that_back(service, clock):
    create(service, SHOP)
    traffic(service, clock, 420, {"low": 0.2, "mid": 1.9, "high": 0.2}, seed=1)
    said = answer(service)
    assert (
        said.startswith("The arm mid leads")
        and "that it is the best arm is sure at 95 %, and known now" in said
    )
    assert "against the baseline it has cost nothing so far" in said
    found = next(row for row in shown(service)["rows"] if row["id"] == "mid")
    assert f"between {found['lift'].low:.3g} and {found['lift'].high:.3g}" in said
    assert found["lift"].low == found["low"] - shown(service)["rows"][0]["high"]
    verdict = shown(service)["verdict"]
    assert (verdict["verdict"], verdict["date"], verdict["state"]) == (
        "Stop: mid is best",
        "known now",
        "none",
    )
    assert verdict["number"] == f"+{found['lift'].value:.3g} a decision"
    ask(service, batch(900, "open"))
    assert "sure at 95 % only if the 900 open decisions are like the others" in answer(service)


def test_a_forecast_is_about_right(service, clock):
    create(service, SHOP)
    means = {"low": 0.8, "mid": 1.4, "high": 0.9}
    traffic(service, clock, 200, means, seed=2)
    history = standing_and_history(service)[1]
    bounds = dict(zip(history.arms, history.intervals(), strict=True))
    found = lead.forecast(history, bounds, "mid")
    assert not lead.lead_of(history, bounds).best and 0 < found.low <= found.decisions <= found.high
    day = datetime.datetime.fromtimestamp(clock.now / 1e6 + found.seconds, datetime.UTC)
    verdict = shown(service)["verdict"]
    assert verdict["date"] == f"known about {day.day} {day:%b %Y}, if the lead stays"
    assert verdict["verdict"] == ("mid is ahead" if found_low(service, "mid") > 0 else "Keep going")
    assert found.seconds == pytest.approx(60 * found.decisions, rel=0.02)
    made = 200
    while "known now" not in answer(service):
        traffic(service, clock, 50, means, seed=made)
        made += 50
        assert made < 5000
    assert found.low / 1.5 <= made - 200 <= 3 * found.decisions
    ask(service, commands.change_arm, "high", ArmChange(status="retired"))
    assert "high" not in lead.played_arms(standing_and_history(service)[1])


def test_an_arm_that_is_not_played_any_more_is_never_known(service, clock):
    create(service, SHOP)
    traffic(service, clock, 200, {"low": 0.8, "mid": 0.9, "high": 0.85})
    history = standing_and_history(service)[1]
    bounds = dict(zip(history.arms, history.intervals(), strict=True))
    leader = lead.lead_of(history, bounds)
    assert math.isinf(
        lead.needed(history, bounds, leader.arm, leader.next, dict.fromkeys(history.arms, 0.0))[0]
    )
    assert lead.first_below(lambda n: 1 / math.sqrt(1 + n), 0.1) == pytest.approx(99, abs=1.5)


def test_costs_against_a_known_baseline_and_without_one(service, clock):
    create(service, SHOP | {"baseline_mean": 0.5})
    traffic(service, clock, 60, {"low": 0.5, "mid": 0.9, "high": 0.7})
    page = shown(service)
    total = sum(row["mean"] * row["rewards"] for row in page["rows"])
    assert re.search(
        rf"in 60 decisions it has earned {total - 30:.3g} more than the "
        rf"baseline's "
        rf"known mean "
        rf"brings",
        page["answer"],
    )
    plain = {name: value for name, value in SHOP.items() if name not in ("baseline", "rollout")} | {
        "name": "plain"
    }
    create(service, plain)
    for n in range(40):
        reward(service, decide(service, name="plain")["id"], 2.0 * (n % 3 == 0), name="plain")
    regret = history_of(
        service, "plain", ask(service, commands.describe_standing, name="plain")["seq"]
    ).regret()
    said = shown(service, "plain")["answer"]
    assert (
        f"against the best arm it has cost at most {regret:.3g}:" in said
        and "with probability 90 %" in said
    )


def test_where_arms_depend_on_the_round_no_arm_leads(service):
    create(
        service,
        {
            "name": "rows",
            "policy": "LinUCB",
            "arms": [{"id": "a"}, {"id": "b"}],
            "dimension": 2,
            "window": "1h",
        },
    )
    reward(
        service,
        decide(service, name="rows", context=[[1.0, 0.0], [0.0, 1.0]])["id"],
        1.0,
        name="rows",
    )
    assert (
        shown(service, "rows")["answer"]
        == "What an arm earns depends on the round, so no single arm leads."
    )


def test_an_identification_policy_answers_by_its_own_rule(service):
    create(
        service,
        {
            "name": "best",
            "policy": {"policy": "UGapE", "epsilon": 0.2},
            "arms": [{"id": "a"}, {"id": "b"}],
        },
    )
    for _ in range(8):
        made = decide(service, name="best")
        reward(service, made["id"], 1.0 if made["arm"] == "a" else 0.0, name="best")
    said = shown(service, "best")["answer"]
    identified = ask(service, commands.describe_standing, name="best")["identified"]
    assert json.dumps(identified) and said.startswith(
        f"The arm {identified['arm']} is the policy's choice so far"
    )
    assert "not sure yet" in said and (
        "more rewards are needed" in said or "cannot be said yet" in said
    )


def test_rewards_are_shown_in_their_unit(service, clock):
    for name, more in (("plain", {}), ("euros", {"unit": {"name": "EUR", "factor": 100}})):
        create(service, SHOP | {"name": name, "baseline_mean": 0.5} | more)
        for n in range(40):
            reward(service, decide(service, name=name)["id"], 2.0 * (n % 3 == 0), name=name)
    plain, euros = shown(service, "plain"), shown(service, "euros")
    for one, other in zip(plain["rows"], euros["rows"], strict=True):
        assert (other["mean"], other["high"]) == pytest.approx(
            (100 * one["mean"], 100 * one["high"])
        )
        assert other["lift"] is None or other["lift"].low == pytest.approx(100 * one["lift"].low)
    assert euros["pictures"]["intervals"]["level"] == 50
    assert euros["pictures"]["reward"]["curves"][1]["points"][-1][1] == pytest.approx(
        100 * plain["pictures"]["reward"]["curves"][1]["points"][-1][1]
    )
    assert euros["verdict"]["number"].endswith(" EUR a decision") and " EUR" in euros["answer"]


def test_words():
    assert (
        two_digits(1234),
        two_digits(0.0),
        span(59),
        span(7200),
        span(3 * 86_400),
        span(90),
    ) == (
        "1,200",
        "0",
        "about 59 seconds",
        "about 2 hours",
        "about 3 days",
        "about 90 seconds",
    )


def test_open_decisions_count_at_their_worst_wherever_an_interval_is_shown(service, clock):
    """Both arms sell to one of ten; of one a sale is told at once and its absence when the window
    closes, of the other both at once."""
    spec = SHOP | {
        "rewards": [0, 1],
        "segments": {"country": ["de", "fr"]},
        "policy": {"policy": "EpsilonGreedy", "epsilon": 1.0},
    }
    create(
        service,
        spec | {"arms": [{"id": "sale"}, {"id": "news"}], "baseline": "news", "window": "1d"},
    )
    rng = np.random.default_rng(4)
    for n in range(600):
        made = decide(service, f"d{n}", segments={"country": ("de", "fr")[n % 2]})
        sold = float(rng.random() < 0.1)
        if sold or made["arm"] == "news":
            reward(service, f"d{n}", sold)
        elif n % 9 == 0:
            ask(service, commands.cancel, f"d{n}")
    page = shown(service)
    segments = page["segment_rows"]
    assert {row["id"] for row in page["rows"]} == {"sale", "news"} and len(segments) == 4
    for row in (*page["rows"], *segments):
        assert row["low"] <= 0.1 <= row["high"], row
    lifts = [row["lift"] for row in page["rows"] if row["lift"]] + [
        BoundedDifference(**row["lift"]) for row in segments if row["lift"]
    ]
    assert len(lifts) == 3 and all(lift.low <= 0.0 <= lift.high for lift in lifts)
    assert (
        "only if the" in page["answer"]
        and "whether it has cost anything cannot be said yet" in page["answer"]
    )
    history = standing_and_history(service)[1]
    assert (
        history.arms["sale"].open
        == sum(line.arms == ("sale",) for line in history.open.values())
        > 200
    )
    assert history.arms["news"].open == 0 and history.regret() >= 0.0
    clock.now += 25 * 60 * MINUTE
    while history.open:
        ask(service, close_windows)
        history = standing_and_history(service)[1]
    assert [arm.open for arm in history.arms.values()] == [0, 0]
    assert (
        sum(
            arm.open
            for values in history.segments.values()
            for one in values.values()
            for arm in one.arms.values()
        )
        == 0
    )
