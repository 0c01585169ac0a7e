"""What a certificate says under attack: late rewards, erasures, baselines that cannot be played,
cancellations, clocks, odd names."""

import math
from contextlib import closing

import numpy as np
import pytest
from running import (
    ask,
    check_replay,
    create,
    decide,
    history_of,
    place,
    refused,
    reward,
    service_at,
    until,
)

from tightrope_service import commands
from tightrope_service.board_view import page_of
from tightrope_service.certificate import bound_if_shown, certificate
from tightrope_service.database import Database
from tightrope_service.recovery import replay, verify
from tightrope_service.requests import ArmChange
from tightrope_service.service import Histories
from tightrope_service.writer import close_windows

THREE = [{"id": "base"}, {"id": "good"}, {"id": "bad"}]
GUARD = {"alpha": 0.1, "guarantee": {"sigma": 0.5}}
OWN = {"baseline": "base", "baseline_mean": 0.3}


def issued(service, name, fresh=True):
    """The certificate of an experiment, its history read anew or as far as it was kept."""
    standing = ask(service, commands.describe_standing, name=name)
    histories = Histories(service.database) if fresh else service.histories
    with histories.until(name, standing["seq"]) as history:
        return certificate(standing, history, b"k" * 32, 0)


def assumption(given, begin):
    (one,) = [one for one in given["assumptions"] if begin in one["says"]]
    return one["verdict"], one["why"]


def test_late_rewards_are_compared_with_the_reward_that_was_taken_for_them(service, clock):
    """Default reward 1; the baseline's rewards come in time, the others' are late and 0."""
    create(
        service,
        {
            "name": "f",
            "policy": "UCB",
            "arms": THREE,
            "window": 60.0,
            "default_reward": 1.0,
            "seed": 3,
        }
        | OWN
        | GUARD,
    )
    truth, n = 0.0, 0
    for _ in range(12):
        made = {str(n + k): decide(service, str(n + k), "f")["arm"] for k in range(30)}
        n += 30
        truth += sum((0.3 if arm == "base" else 0.0) - 0.27 for arm in made.values())
        for id, arm in made.items():
            if arm == "base":
                reward(service, id, float(int(id) % 10 < 3), "f")
        clock.now += 61 * 10**6
        ask(service, close_windows, name="f")
        for id, arm in made.items():
            if arm != "base":
                refused(410, reward, service, id, 0.0, "f", match="logged, not learned")
    told = issued(service, "f")
    assert told["budget"]["bound"] > truth  # what it rests on is wrong, and the certificate says so
    verdict, why = assumption(told, "when its window closes")
    assert (
        verdict == "contradicted"
        and "that came later are at most" in why
        and "do not rely on it" in told["promise"]
    )


def test_late_sales_where_nothing_was_taken_do_not_alarm(service, clock):
    """A default of 0 that is too little makes the bound lower, where the baseline's mean is
    stated."""
    create(
        service,
        {"name": "f", "policy": "UCB", "arms": THREE, "window": 60.0, "default_reward": 0.0}
        | OWN
        | GUARD,
    )
    for n in range(40):
        decide(service, str(n), "f")
    clock.now += 61 * 10**6
    ask(service, close_windows, name="f")
    for n in range(40):
        refused(410, reward, service, str(n), 1.0, "f", match="logged, not learned")
    assert assumption(issued(service, "f"), "when its window closes")[0] == "unseen"


@pytest.mark.parametrize("kept", ["eligible", "features"])
def test_an_erasure_does_not_clear_a_contradiction(kept, tmp_path, clock):
    path = tmp_path / "e.db"
    with service_at(path, clock) as service:
        if kept == "eligible":
            create(
                service,
                {
                    "name": "e",
                    "policy": {"policy": "EpsilonGreedy", "epsilon": 1.0},
                    "arms": THREE,
                    "default_reward": 0.0,
                }
                | OWN
                | GUARD,
            )
            asked, begin = {"eligible": ["bad"]}, "can be played"
        else:
            spec = {"name": "e", "policy": "LinUCB", "arms": THREE, "dimension": 2} | OWN | GUARD
            create(service, spec | {"guarantee": {"sigma": 0.5, "arm_bound": 3.0}})
            asked, begin = (
                {"context": [[1.5, 2.0], [0.5, 0.5], [0.25, 0.5]]},
                "norm of its coefficients",
            )
        for n in range(4):
            decide(service, str(n), "e", subject="u", **asked)
            reward(service, str(n), 0.0, "e")
        decide(
            service,
            "after",
            "e",
            **({"context": [[0.5, 0.25]] * 2 + [[0.25, 0.25]]} if kept == "features" else {}),
        )
        before = assumption(issued(service, "e", fresh=False), begin)
        ask(service, commands.Erasure("u"), name="e")
        assert assumption(issued(service, "e", fresh=False), begin) == before
    with service_at(path, clock) as service:
        assert assumption(issued(service, "e"), begin) == before
    assert before[0] == "contradicted" if kept == "eligible" else "norm 2.5" in before[1]
    with closing(Database(place(path))) as database, database.read() as connection:
        assert verify(connection, 1, "e").errors == () == replay(connection, 1, "e").errors


SETS = {
    "policy": "C2UCB",
    "arms": [{"id": f"a{k}", "features": [0.1 * k, 0.5, 0.2]} for k in range(6)],
    "oracle": {"oracle": "TopK", "k": 2},
    "baseline": ["a0", "a1"],
    "baseline_mean": 0.6,
}


@pytest.mark.parametrize(
    ("spec", "asked", "retired"),
    [
        (OWN, {"excluded": ["base"]}, None),
        ({}, OWN | {"excluded": ["base"]}, None),
        ({}, OWN, "base"),
        (SETS, {"excluded": ["a0"]}, None),
    ],
    ids=["of the spec", "of the round", "retired", "of a set"],
)
def test_a_baseline_that_could_not_be_played_is_counted_whosever_it_is(
    spec, asked, retired, service
):
    whole = (
        {
            "name": "e",
            "policy": {"policy": "EpsilonGreedy", "epsilon": 1.0},
            "arms": THREE,
            "default_reward": 0.0,
        }
        | GUARD
        | spec
    )
    create(service, whole)
    if retired:
        ask(service, commands.change_arm, retired, ArmChange(status="retired"), name="e")
    for n in range(3):
        decide(service, str(n), "e", **asked)
    assert assumption(issued(service, "e"), "can be played") == (
        "contradicted",
        "It was not eligible in 3 rounds.",
    )


def test_cancelled_decisions_are_charged_with_the_mean_of_their_own_round(service):
    spec = {
        "name": "c",
        "policy": {"policy": "EpsilonGreedy", "epsilon": 1.0},
        "arms": THREE,
        "baseline_mean": 0.01,
        "default_reward": 0.0,
    }
    create(service, spec | GUARD)
    shown = cancelled = 0
    for n in range(120):
        if (
            decide(service, str(n), "c", baseline="base", baseline_mean=0.9, subject="u")["arm"]
            == "base"
        ):
            shown += 1
            reward(service, str(n), 1.0, "c")
        else:
            cancelled += 1
            ask(service, commands.cancel, str(n), name="c")
    truth = shown * 0.9 * 0.1 - cancelled * 0.9 * 0.9
    said = issued(service, "c")["budget"]["bound_if_cancelled_were_shown"]
    assert cancelled > 5 and said <= truth + 1e-9
    ask(service, commands.Erasure("u"), name="c")
    assert issued(service, "c")["budget"]["bound_if_cancelled_were_shown"] == said
    told = {"budget_bound": 0.0, "sense": 1, "line": [0.9, 0.0, 0.1]}
    assert bound_if_shown(told, history_of(service, "c", 1)) == 0.0


@pytest.mark.parametrize("window", [None, 7200.0])
def test_what_was_decided_while_the_clock_was_ahead_cannot_be_cancelled_for_an_hour(
    service, clock, window
):
    spec = {"name": "e", "policy": "UCB", "arms": THREE, "window": window, "cancel_within": 1.0}
    create(service, spec)
    clock.now += 3600 * 10**6
    decide(service, "ahead", "e")
    decide(service, "old", "e")
    clock.now -= 3600 * 10**6
    decide(service, "after", "e")
    decide(service, "soon", "e")
    assert ask(service, commands.cancel, "soon", name="e")["cancelled"]
    clock.now += 3 * 10**6
    for id in ("ahead", "after"):
        refused(409, ask, service, commands.cancel, id, name="e", match="could be cancelled until")
    # real seconds pass
    until(lambda: ask(service, lambda at: at.owned.shown, name="e") >= 4)
    clock.now += 3597 * 10**6  # the wrong time comes once more
    refused(409, ask, service, commands.cancel, "old", name="e", match="could be cancelled until")


def test_an_arm_called_none_is_an_arm(service):
    create(
        service,
        {
            "name": "n",
            "policy": {"policy": "EpsilonGreedy", "epsilon": 1.0},
            "arms": [{"id": a} for a in ("None", "x", "y")],
            "baseline_mean": 0.3,
        }
        | GUARD,
    )
    for n in range(120):
        arm = decide(service, str(n), "n", baseline="x", baseline_mean=0.3)["arm"]
        reward(service, str(n), {"None": 1.0, "x": float(n % 10 < 3), "y": 0.0}[arm], "n")
    verdict, why = assumption(issued(service, "n"), "The baseline earns")
    assert verdict == "unseen" and "not one arm with one mean" in why


def test_one_open_decision_of_a_period_does_not_silence_a_comparison(service):
    create(
        service,
        {
            "name": "o",
            "policy": {"policy": "EpsilonGreedy", "epsilon": 0.5},
            "arms": THREE,
            "baseline": "base",
            "baseline_mean": 0.9,
            "window": None,
        }
        | GUARD,
    )
    for n in range(600):
        decide(service, str(n), "o")
        if n not in (5, 70, 140, 300):
            reward(service, str(n), float(n % 10 < 3), "o")
    assert assumption(issued(service, "o"), "The baseline earns")[0] == "contradicted"
    assert assumption(issued(service, "o"), "does not change during")[0] == "agrees"


def test_a_request_whose_subject_was_erased_is_told_so(service):
    create(service, {"name": "o", "policy": "UCB", "arms": THREE})
    for asked in ({"subject": "u"}, {"subject": "u", "excluded": ["bad"]}):
        id = str(len(asked))
        decide(service, id, "o", **asked)
        ask(service, commands.Erasure("u"), name="o")
        refused(410, decide, service, id, "o", **asked, match="was erased")


BY_COUNTRY = {
    "name": "b",
    "policy": {"policy": "EpsilonGreedy", "epsilon": 0.3},
    "arms": [{"id": "base"}, {"id": "x"}],
    "baseline": "base",
    "alpha": 0.1,
    "guarantee": {"sigma": 0.2, "martingale": "freedman", "open": "lower"},
    "segments": {"country": ["de", "fr"]},
    "promise_by": "country",
}


def visits(
    service, clock, number, means, noise=0.1, seed=1, seconds=0, cancels=lambda country, arm: 0.0
):
    """Visits from two countries, each with its mean; rewards of the second come later, and a share
    of visits is cancelled."""
    rng = np.random.default_rng(seed)
    for n in range(number):
        country = int(rng.random() < 0.5)
        id = f"{seed}-{n}"
        arm = decide(service, id, "b", segments={"country": ("de", "fr")[country]})["arm"]
        if rng.random() < cancels(country, arm):
            ask(service, commands.cancel, id, name="b")
        else:
            clock.now += 10**6 * seconds * country
            reward(
                service,
                id,
                min(max(means[country] + noise * rng.choice([-1.0, 1.0]), 0.0), 1.0),
                "b",
            )


@pytest.mark.parametrize(
    ("noise", "means", "verdict"), [(0.1, (0.1, 0.9), "agrees"), (0.4, (0.5, 0.5), "contradicted")]
)
def test_noise_is_judged_within_each_segment_that_has_a_promise(
    service, clock, noise, means, verdict
):
    """Means that differ by country by eight standard deviations of the noise are no noise; noise
    beyond sigma is, wherever it is."""
    create(service, BY_COUNTRY | {"baseline_means": {"de": means[0], "fr": means[1], "other": 0.5}})
    visits(service, clock, 800, means, noise)
    assert assumption(issued(service, "b"), "Rewards are at least")[0] == verdict


def test_countries_that_differ_contradict_nothing_that_is_promised_by_country(service, clock):
    """Where more is earned rewards come later and more visits are cancelled, at the end of the log
    most visits are from there."""
    create(service, BY_COUNTRY | {"baseline_means": {"de": 0.1, "fr": 0.9, "other": 0.5}})
    visits(service, clock, 500, (0.1, 0.9), seconds=100, cancels=lambda country, arm: 0.5 * country)
    told = issued(service, "b")
    assert {one["verdict"] for one in told["assumptions"]} <= {"holds", "agrees", "unseen"}, told[
        "assumptions"
    ]


def test_what_is_wrong_in_one_country_is_told(service, clock):
    create(service, BY_COUNTRY | {"baseline_means": {"de": 0.5, "fr": 0.5, "other": 0.5}})
    wrong = {"cancels": lambda country, arm: 0.5 * country * (arm == "x")}
    visits(service, clock, 400, (0.5, 0.1), **wrong)
    visits(service, clock, 400, (0.5, 0.9), seconds=100, seed=2, **wrong)
    told = issued(service, "b")
    for says in (
        "When a reward arrives",
        "What an arm earns on average in a country",
        "cancelled decisions count",
    ):
        verdict, why = assumption(told, says)
        assert verdict == "contradicted" and "in country fr" in why


BY_VISITOR = {
    "name": "m",
    "policy": {"policy": "EpsilonGreedy", "epsilon": 1.0},
    "arms": [{"id": "base"}, {"id": "x"}],
    "baseline": "base",
    "alpha": 0.05,
    "guarantee": {"sigma": 0.5},
    "rewards": [0, 1],
    "default_reward": 0.0,
    "segments": {"country": ["de"]},
}


@pytest.mark.parametrize(
    "more",
    [{"baseline_mean": 0.5}, {}, {"promise_by": "country"}],
    ids=["stated", "learned", "by segment"],
)
@pytest.mark.parametrize(
    "means",
    [{"base": (0.9, 0.1), "x": (0.5, 0.5)}, {"base": (0.5, 0.5), "x": (0.5, 0.5)}],
    ids=["told", "untold"],
)
def test_masks_that_depend_on_the_visitor(service, more, means):
    """Arm x is offered to four of ten visitors of one kind, with whom the baseline earns most, and
    to none of the other kind."""
    create(service, BY_VISITOR | more)
    draws, truth, lowest = np.random.default_rng(5), 0.0, math.inf
    for n in range(600):
        kind = int(draws.random() < 0.5)
        offered = kind == 0 and draws.random() < 0.4
        where = {"segments": {"country": "de"}}
        arm = decide(service, f"d{n}", "m", **where, **({} if offered else {"excluded": ["x"]}))[
            "arm"
        ]
        reward(service, f"d{n}", float(draws.random() < means[arm][kind]), "m")
        truth += means[arm][kind] - 0.95 * means["base"][kind]
        lowest = min(lowest, truth)
        if n % 50 == 49:
            told = issued(service, "m", fresh=False)
            assert told["budget"]["bound"] <= truth and told["budget"]["lowest_bound"] <= lowest
            assert all(one["bound"] <= truth for one in told["budget"].get("segments", [])[:1])
    assert lowest >= -1e-9  # and so the promise is kept
    told = issued(service, "m")
    verdict, why = assumption(told, "Which arms may be played")
    leads = page_of(
        ask(service, commands.describe_standing, name="m"),
        history_of(service, "m", told["log"]["events"]),
    )
    if means["base"][0] > 0.5:
        assert (
            verdict == "contradicted"
            and "where x may not be played" in why
            and "do not rely on it" in told["promise"]
        )
        assert "arms are not compared" in leads["answer"] and not leads["lifts"]
    else:
        assert (
            verdict == "unseen"
            and "decisions arms were left out" in why
            and "do not rely on it" not in told["promise"]
        )
        assert (
            "if which arms may be played does not depend on what they would earn" in leads["answer"]
        )
    check_replay(service, "m")


def test_a_mask_that_is_always_the_same_changes_nothing(service):
    bounds = []
    for name, asked in (("a", {}), ("b", {"excluded": ["y"]})):
        create(
            service,
            BY_VISITOR
            | {
                "name": name,
                "arms": [{"id": "base"}, {"id": "x"}, {"id": "y"}][: 2 + bool(asked)],
                "seed": 3,
            },
        )
        for n in range(200):
            made = decide(service, f"{name}{n}", name, **asked)["arm"]
            reward(service, f"{name}{n}", float((n * 7) % 10 < 5), name)
        bounds.append(issued(service, name)["budget"]["failure"])
    assert made and bounds[0] == bounds[1]


def test_many_masks_are_bounded_too_and_survive_a_restart(tmp_path):
    """More masks than have a mean of their own, with a bound of which a restart changes no bit."""
    ids = [f"a{k}" for k in range(10)]
    spec = BY_VISITOR | {"arms": [{"id": "base"}, *({"id": id} for id in ids)]}
    path, draws, truth = tmp_path / "m.db", np.random.default_rng(0), 0.0
    with service_at(path) as service:
        create(service, spec)
        for n in range(400):
            arm = decide(
                service, f"d{n}", "m", excluded=[id for id in ids if draws.random() < 0.5]
            )["arm"]
            reward(service, f"d{n}", float(draws.random() < 0.5), "m")
            truth += 0.5 - 0.95 * 0.5 if arm else 0.0
        before = issued(service, "m")["budget"]
        assert before["bound"] <= truth
    with service_at(path) as service:
        assert issued(service, "m")["budget"] == before
