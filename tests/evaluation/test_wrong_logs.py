"""Logs whose rows are out of order, whose propensities are wrong or tiny: what is said of them, and
that nothing else is."""

import json
import math
import signal
import time

import numpy as np
import pytest

import tightrope as tr
from evaluation.adaptive_logs import Arena
from interrupting import crowding
from tightrope.compiled.kernels import python_of
from tightrope.evaluation import estimators
from tightrope.logs.log import CHANCE, MOST_ODDS, STAKES, bet_on_order
from tightrope.numerics.counts import boundaries, constant, log_mixture
from tightrope.pages import write_comparison, write_evaluation

ALPHA, TESTS = 0.05, 200
MOST_VERDICTS = ALPHA + 2.0 * math.sqrt(ALPHA * (1.0 - ALPHA) / TESTS)


def ab_test(seed, order, n=3000, rates=(0.1, 0.1), share=None):
    """A test of two arms drawn evenly, or in the shares of the first and of the second half, as a
    table in an order."""
    rng = np.random.default_rng(seed)
    first, second = share or (0.5, 0.5)
    arm = (rng.random(n) < np.where(np.arange(n) < n // 2, first, second)).astype(int)
    day = np.sort(rng.integers(0, 20, n))
    reward = (rng.random(n) < np.where(arm == 1, rates[1], rates[0])) * 1.0
    sort = {
        "as drawn": np.arange(n),
        "A then B": np.argsort(arm, kind="stable"),
        "B then A": np.argsort(-arm, kind="stable"),
        "by day then arm": np.lexsort((arm, day)),
        "A then B, conversions first": np.lexsort((-reward, arm)),
    }[order]
    return {
        "arm": np.array(["A", "B"])[arm][sort],
        "reward": reward[sort],
        "propensity": np.full(n, 0.5),
    }


# Order --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "order", ["as drawn", "A then B", "B then A", "by day then arm", "A then B, conversions first"]
)
def test_equal_arms_get_a_verdict_in_at_most_alpha_of_tests_in_whatever_order_their_rows_are(order):
    logs = [tr.logs.from_frame(ab_test(seed, order)) for seed in range(TESTS)]
    verdicts = [tr.evaluate(log, "B", baseline="A").decided is not None for log in logs]
    assert np.mean(verdicts) <= MOST_VERDICTS
    unordered = np.mean([not log.as_drawn for log in logs])
    assert (
        unordered == 1.0
        if order != "as drawn"
        else unordered <= CHANCE + 2.0 * math.sqrt(CHANCE / TESTS)
    )


def test_rows_out_of_order_keep_their_value_and_a_fixed_interval():
    for order in ("A then B", "B then A"):
        table = ab_test(1, order, 6000, (0.10, 0.14))
        e = tr.evaluate(tr.logs.from_frame(table), "B", baseline="A")
        mean = table["reward"][table["arm"] == "B"].mean()
        assert abs(e.value - mean) < 2.0 * e.se
        assert e.interval == e.normal_interval
        assert e.interval[0] < 0.14 < e.interval[1]
        assert e.sequence is None
        assert math.isnan(e.difference.lower[-1])
        assert e.verdict == "no verdict: the rows are not in the order in which they were drawn"
        assert "the rows are sorted or joined by arm" in " ".join(e.notes)
        assert "no verdict" in str(e)
        assert math.isnan(
            tr.evaluate(tr.logs.from_frame(table), "B", estimator="clipped-ips", clip=1.5).interval[
                0
            ]
        )
    with pytest.raises(ValueError, match="'dm' is the model alone"):
        tr.evaluate(tr.logs.from_frame(table), "B", estimator="dm")
    with pytest.raises(ValueError, match="in the order in which their arms were drawn"):
        tr.evaluate_learner(tr.logs.from_frame(table), tr.UCB(), method="replay")


def test_the_order_of_time_is_an_order():
    table = ab_test(1, "as drawn")
    time = np.arange(table["reward"].size)
    sort = np.argsort(table["arm"], kind="stable")
    grouped = {name: column[sort] for name, column in (table | {"t": time}).items()}
    assert not tr.logs.from_frame(grouped).as_drawn
    assert tr.logs.from_frame(grouped, time="t").as_drawn


def test_shares_that_change_while_propensities_do_not_are_no_order():
    found = [
        tr.logs.from_frame(ab_test(seed, "as drawn", 6000, share=(0.6, 0.4))) for seed in range(20)
    ]
    assert not any(log.as_drawn for log in found)
    assert all(tr.evaluate(log, "B", baseline="A").decided is None for log in found)


def test_three_arms_sorted_have_no_winner(tmp_path):
    rng = np.random.default_rng(0)
    arm, reward = np.sort(rng.integers(0, 3, 6000)), (rng.random(6000) < 0.1) * 1.0
    found = tr.compare(
        tr.logs.from_frame({"arm": arm, "reward": reward, "propensity": 1 / 3}, propensity=1 / 3),
        {"a": 0, "b": 1, "c": 2},
    )
    assert found.alive == ("a", "b", "c")
    assert found.winner is None
    assert found.conclusion == "No winner yet: a, b, c may still be the best."
    assert "no verdict" in write_comparison(found, tmp_path / "page.html", {}).read_text()
    assert found.frame()["difference_lower"].isna().all()


def test_sorted_sets_are_no_order():
    rng = np.random.default_rng(0)
    pairs = np.array([(0, 1), (0, 2), (1, 2)])[np.sort(rng.integers(0, 3, 300))]
    table = {
        "arm": pairs.ravel(),
        "reward": np.ones(600),
        "propensity": np.full(600, 2 / 3),
        "round": np.repeat(np.arange(300), 2),
    }
    assert not tr.logs.from_frame(table, round="round").as_drawn
    mixed = table | {"arm": pairs[rng.permutation(300)].ravel()}
    assert tr.logs.from_frame(mixed, round="round").as_drawn


def test_draws_of_a_logger_that_learns_are_in_order():
    arena, doubted = Arena(2000, [0.2, 0.5, 0.8], floor=0.05, sharp=8.0), 0
    for seed in range(300):
        arena.play(seed)
        table = {"arm": arena.arm, "reward": arena.reward, "propensity": arena.propensity}
        doubted += not tr.logs.from_frame(table, arms=3).as_drawn
    assert doubted / 300 <= CHANCE + 2.0 * math.sqrt(CHANCE / 300)


def test_bets_on_the_order_are_products_compiled_or_not():
    rng = np.random.default_rng(3)
    n, K = 200, 3
    h = rng.dirichlet(np.ones(K), n)
    arm = np.array([rng.choice(K, p=row) for row in h])
    p, starts = h[np.arange(n), arm], np.ones(n, dtype=bool)
    found = []
    for run in (bet_on_order, python_of(bet_on_order)):
        most = np.zeros(2)
        run(
            arm,
            p,
            starts,
            STAKES,
            np.zeros(3),
            np.full(K, -1.0),
            np.zeros((K + 1, STAKES.size)),
            most,
        )
        found.append(most.tolist())
    assert found[0] == found[1]
    odds, stakes = np.minimum(1.0 / p, MOST_ODDS), STAKES[:, None]
    arms = [
        np.cumsum(np.log(1.0 + stakes * ((arm == a) * odds - 1.0)), axis=1).max() for a in range(K)
    ]
    repeated = (arm[1:] == arm[:-1]) * odds[1:]
    assert found[0] == pytest.approx(
        [
            max(0.0, *arms),
            max(0.0, np.cumsum(np.log(1.0 + stakes * (repeated - 1.0)), axis=1).max()),
        ]
    )


def test_nothing_is_decided_before_both_policies_were_played():
    n = 3000
    scores = np.full(n, 0.9)
    for weight in (np.zeros(n), np.full(n, math.nan)):
        state = np.zeros(9)
        estimators.first_crossing(
            scores,
            n,
            1.0,
            0.5,
            1.0,
            constant(1.0),
            math.log(40.0),
            state,
            100.0,
            0.01,
            np.ones(n),
            np.ones(n),
            weight,
            weight,
            estimators.NO_TIMES,
            0,
            estimators.NO_COPIES,
        )
        assert state[4] == 0.0


# Tiny propensities --------------------------------------------------------------------------------


@pytest.mark.parametrize("baseline", [None, 0, "logged"])
@pytest.mark.parametrize("tiny", [1e-12, 1e-100, 1e-155, 1e-170, 1e-300, 5e-324])
def test_a_tiny_propensity_is_too_little_overlap_at_once(tiny, baseline):
    rng = np.random.default_rng(0)
    arm, p = rng.integers(0, 2, 2000), np.full(2000, 0.5)
    arm[7], p[7] = 1, tiny
    reward = (rng.random(2000) < np.where(arm == 1, 0.6, 0.4)) * 1.0
    tr.evaluate(
        tr.logs.from_frame({"arm": arm[:4], "reward": reward[:4], "propensity": p[:4]}),
        1,
        baseline=0,
    )  # compiles
    began = time.perf_counter()
    e = tr.evaluate(
        tr.logs.from_frame({"arm": arm, "reward": reward, "propensity": p}), 1, baseline=baseline
    )
    assert time.perf_counter() - began < 2.0 * crowding()
    assert e.verdict.startswith("not enough overlap: effective sample size 1 of 2,000")
    assert e.decided is None
    assert 0.0 <= e.interval[0] <= e.interval[1] <= 1.0


@pytest.mark.parametrize("p", [1e-9, 1e-30, 1e-200])
def test_a_column_of_tiny_propensities_answers_at_once(p):
    rng = np.random.default_rng(0)
    arm = rng.integers(0, 2, 20_000)
    log = tr.logs.from_frame({"arm": arm, "reward": (rng.random(20_000) < 0.5) * 1.0}, propensity=p)
    began = time.perf_counter()
    e = tr.evaluate(log, 1, baseline=0)
    assert time.perf_counter() - began < 2.0 * crowding()
    assert e.decided is None
    assert e.verdict == "no verdict: weights do not average 1"


def test_the_mixture_keeps_its_digits_where_numbers_are_large():
    for V in (999.5, 1e3, 1e6, 1e12, 1e18, 1e40, 1e120):
        S = float(boundaries(V, 0.05))
        assert estimators.boundary(V, 1.0, constant(1.0), math.log(20.0)) == pytest.approx(
            S, rel=1e-8
        )
        assert float(log_mixture(S, V)) == pytest.approx(math.log(20.0), abs=1e-6)
        assert estimators.log_mixture(S, V, 1.0, constant(1.0)) == pytest.approx(
            math.log(20.0), abs=1e-6
        )
    near = [
        estimators.log_mixture(150.0, V, 1.0, constant(1.0)) for V in (999.0 - 1e-9, 999.0)
    ]  # the sum, and the closed form
    assert near[0] == pytest.approx(near[1], abs=1e-9)


class Bell(Exception):
    """A signal came."""


def wide_log(n=40_000, d=250):
    rng = np.random.default_rng(0)
    x, arm = rng.normal(size=(n, d)), rng.integers(0, 2, n)
    return tr.logs.from_frame(
        {"arm": arm, "reward": (rng.random(n) < 0.5) * 1.0}, propensity=0.5, features=x
    )


@pytest.mark.parametrize("method", ["evaluate", "replay", "session"])
def test_compiled_loops_of_evaluation_can_be_interrupted(method):
    log, small = wide_log(), wide_log(50)
    session = tr.Session(tr.LinUCB(shared=False), arms=2, dimension=250)

    def judge(log):
        if method == "session":
            return tr.evaluate(log, session, model=None)
        return (
            tr.evaluate(log, 1)
            if method == "evaluate"
            else tr.evaluate_learner(log, tr.LinUCB(), method=method)
        )

    judge(small)  # compiles
    rang = []

    def ring(signum, frame):
        raise Bell

    before = signal.signal(signal.SIGALRM, ring)
    try:
        signal.setitimer(signal.ITIMER_REAL, 1.0)
        rang.append(time.perf_counter() + 1.0)
        with pytest.raises(Bell):
            while True:
                judge(log)
        assert time.perf_counter() - rang[0] < crowding()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)


# Wrong propensities -------------------------------------------------------------------------------


@pytest.mark.parametrize("p", [0.45, 0.4, 0.1, 0.9])
def test_wrong_propensities_give_no_verdict_and_no_interval(p, tmp_path):
    rng = np.random.default_rng(0)
    n = 10_000
    arm = rng.integers(0, 2, n)
    reward = (rng.random(n) < np.where(arm == 1, 0.12, 0.10)) * 1.0
    log = tr.logs.from_frame({"arm": arm, "reward": reward}, propensity=p)
    found = tr.compare(log, {"one": 1}, baseline=0)
    for e in (
        tr.evaluate(log, 1, baseline=0),
        tr.evaluate(log, 1),
        tr.evaluate(log, 1, anytime=False),
        found.evaluations["one"],
    ):
        assert e.verdict == "no verdict: weights do not average 1"
        assert e.notes[0].startswith("Weights average ")
        assert e.decided is e.sequence is None
        assert all(math.isnan(end) for end in (*e.interval, *e.normal_interval))
        assert e.frame()[["lower", "upper"]].isna().all(axis=None)
        text = json.dumps(e.record())
        assert json.loads(text)["interval"] == [None, None]
        assert "NaN" not in text
        again = type(e).from_record(json.loads(text))
        assert math.isnan(again.interval[0])
        assert again.verdict == e.verdict
        assert dict(e.summary())["0.95 interval for this number of rounds"] == "none"
        assert "nan" not in str(e) + repr(e) + str(e.summary())
    assert found.winner is None
    if p == 0.1:
        assert "there is no interval" in write_evaluation(e, tmp_path / "page.html", {}).read_text()
        assert e.plot(tmp_path / "a.svg").stat().st_size > 1000
    assert "nan" not in str(found)


def test_the_propensity_of_a_whole_slate_is_refused():
    rng = np.random.default_rng(0)
    n, K, slots = 2000, 4, 2
    shown = np.array([rng.permutation(K)[:slots] for _ in range(n)])
    feedback = {
        "n_rounds": n,
        "n_unique_action": K,
        "slate_id": np.repeat(np.arange(n), slots),
        "action": shown.ravel(),
        "position": np.tile(np.arange(slots), n),
        "reward": (rng.random(n * slots) < 0.3) * 1.0,
        "pscore": np.full(n * slots, 1 / (K * (K - 1))),
        "pscore_item_position": np.full(n * slots, 1 / K),
        "context": None,
    }
    with pytest.raises(ValueError, match=r"probability of a whole slate.*pscore_item_position"):
        tr.logs.from_obp(feedback)
    with pytest.raises(ValueError, match=r"probability of a whole slate.*pscore_item_position"):
        tr.logs.from_obp(
            {name: each for name, each in feedback.items() if name != "pscore_item_position"}
        )
    log = tr.logs.from_obp(feedback | {"pscore": feedback["pscore_item_position"]})
    assert log.arms == K
    assert abs(tr.evaluate(log, [1 / K] * K).value - 0.3) < 0.05


# Units --------------------------------------------------------------------------------------------


def by_user(seed, users=400, events=50):
    """An arm drawn for each user, no effect at all, rates that differ by user, events in any
    order."""
    rng = np.random.default_rng(seed)
    arms, rate = rng.integers(0, 2, users), rng.beta(1, 4, users)
    who = rng.permutation(np.repeat(np.arange(users), events))
    return {
        "arm": arms[who],
        "reward": (rng.random(who.size) < rate[who]) * 1.0,
        "propensity": np.full(who.size, 0.5),
        "user": who,
    }


def test_equal_arms_drawn_by_user_get_a_verdict_in_at_most_alpha_of_tests():
    verdicts = missed = 0
    for seed in range(TESTS):
        log = tr.logs.from_frame(by_user(seed))
        verdicts += tr.evaluate(log, 1, baseline=0, unit="user").decided is not None
        low, high = tr.evaluate(log, 1, unit="user", per=1.0).interval
        missed += not low <= 0.2 <= high
    assert verdicts / TESTS <= MOST_VERDICTS
    assert missed / TESTS <= MOST_VERDICTS


def test_a_unit_is_one_draw_with_the_sum_of_its_rewards():
    table = {
        "arm": ["a", "b", "a", "b"],
        "reward": [1.0, 2.0, 3.0, 0.5],
        "propensity": [0.5, 0.25, 0.5, 0.25],
        "who": ["u", "v", "u", "w"],
    }
    log = tr.logs.from_frame(table, rewards=(0.0, 4.0))
    sums = {"arm": ["a", "b", "b"], "reward": [4.0, 2.0, 0.5], "propensity": [0.5, 0.25, 0.25]}
    wanted = tr.evaluate(tr.logs.from_frame(sums, rewards=(0.0, 8.0)), "b", baseline="a")
    for unit in ("who", table["who"], np.array([7, 8, 7, 9])):
        found = tr.evaluate(log, "b", baseline="a", unit=unit)
        assert found.estimates == wanted.estimates
        assert (found.n, found.interval, found.ess) == (3, wanted.interval, wanted.ess)
        assert (
            tr.compare(log, {"b": "b"}, baseline="a", unit=unit).evaluations["b"].interval
            == wanted.interval
        )
    probabilities = np.array([[0.2, 0.8]] * 4)
    assert (
        tr.evaluate(log, probabilities, unit="who").value
        == tr.evaluate(log, [0.2, 0.8], unit="who").value
    )
    with pytest.raises(ValueError, match="unit 'u' has another arm or propensity in row 1"):
        tr.evaluate(log, "b", unit=["u", "u", "v", "v"])
    with pytest.raises(ValueError, match="no column 'whom'"):
        tr.evaluate(log, "b", unit="whom")
    with pytest.raises(ValueError, match="unit has no entry in row 2"):
        tr.evaluate(log, "b", unit=["u", "v", None, "w"])
    with pytest.raises(ValueError, match="one entry for each of the 4 rows"):
        tr.evaluate(log, "b", unit=[1, 2])


def test_a_ratio_has_the_error_of_the_delta_method():
    rng = np.random.default_rng(0)
    n = 3000
    arm, sessions = rng.integers(0, 2, n), rng.integers(1, 9, n) * 1.0
    revenue = sessions * rng.exponential(2.0, n) * (1.0 + 0.3 * arm)
    table = {"arm": arm, "reward": revenue, "propensity": np.full(n, 0.5), "sessions": sessions}
    e = tr.evaluate(tr.logs.from_frame(table, rewards=(0.0, 500.0)), 1, per="sessions")
    w = (arm == 1) * 2.0
    ratio = (w * revenue).sum() / (w * sessions).sum()
    se = np.std(w * (revenue - ratio * sessions), ddof=1) / math.sqrt(n) / (w * sessions).mean()
    assert (e.value, e.se) == pytest.approx((ratio, se))
    assert e.interval == pytest.approx((ratio - 1.959964 * se, ratio + 1.959964 * se))
    assert list(e.estimates) == ["ratio"]
    with pytest.raises(ValueError, match="no verdict; leave baseline out"):
        tr.evaluate(tr.logs.from_frame(table, rewards=(0.0, 500.0)), 1, baseline=0, per="sessions")


def test_ids_that_repeat_with_one_arm_each_are_named():
    table = by_user(0)
    assert "give unit='user'" in " ".join(tr.evaluate(tr.logs.from_frame(table), 1).notes)
    assert "unit=" not in " ".join(tr.evaluate(tr.logs.from_frame(table), 1, unit="user").notes)
    own = table | {
        "arm": np.random.default_rng(1).integers(0, 2, table["arm"].size),
        "variant": table["arm"],
    }
    assert tr.logs.from_frame(own).repeated == ""
    text = table | {
        "user": [f"user {who}" for who in table["user"]],
        "variant": np.array(["A", "B"])[table["arm"]],
    }
    assert tr.logs.from_frame(text).repeated == "user"


# Few exceptions, and arms played too often --------------------------------------------------------


@pytest.mark.parametrize("size", [2000, 200])
@pytest.mark.parametrize("name", ["ips", "snips", "dr", "aipw"])
@pytest.mark.parametrize(
    ("reward", "rewards"),
    [(0.0, (0, 1)), (1.0, (0, 1)), (0.0, (-1, 1)), (5.0, (0, 10)), (-1.0, (-1, 0))],
)
def test_rewards_that_are_all_equal_leave_an_interval(size, name, reward, rewards):
    arm = np.random.default_rng(0).integers(0, 2, size)
    log = tr.logs.from_frame(
        {"arm": arm, "reward": np.full(size, reward), "propensity": np.full(size, 0.5)},
        rewards=rewards,
    )
    e = tr.evaluate(log, 1, estimator=name, anytime=False)
    low, high = e.interval
    assert low <= reward - (reward > rewards[0]) * 1.9 / size * (reward - rewards[0])
    assert high >= reward + (reward < rewards[1]) * 1.9 / size * (rewards[1] - reward)
    assert e.frame().set_index("estimator").loc[name, "upper"] == high


@pytest.mark.parametrize("rate", [0.002, 0.01, 0.99])
@pytest.mark.parametrize("name", ["ips", "snips", "dr"])
def test_intervals_of_few_conversions_miss_as_often_as_promised(rate, name):
    rng, missed = np.random.default_rng(0), 0
    for _ in range(200):
        arm = rng.integers(0, 2, 1000)
        log = tr.logs.from_frame(
            {
                "arm": arm,
                "reward": (rng.random(1000) < rate) * 1.0,
                "propensity": np.full(1000, 0.5),
            }
        )
        e = tr.evaluate(log, 1, estimator=name, anytime=False)
        missed += not e.interval[0] <= rate <= e.interval[1]
    assert missed / 200 <= 0.05 + 2.0 * math.sqrt(0.05 * 0.95 / 200)


def test_few_purchases_widen_by_the_range_of_rewards():
    rng = np.random.default_rng(0)
    arm, revenue = rng.integers(0, 2, 1000), np.zeros(1000)
    revenue[[3, 30, 300]] = 20.0, 35.5, 12.0
    log = tr.logs.from_frame(
        {"arm": arm, "reward": revenue, "propensity": np.full(1000, 0.5)}, rewards=(0, 100)
    )
    e = tr.evaluate(log, 1, estimator="snips", anytime=False)
    assert e.interval[1] > e.value + 1.96 * e.se
    assert (
        type(e).from_record(json.loads(json.dumps(e.record()))).normal_interval == e.normal_interval
    )


def test_a_sample_ratio_mismatch_is_named_and_a_match_is_not():
    arm = np.repeat([0, 1], [5200, 4800])
    reward, doubted = np.zeros(10_000), 0
    reward[::7] = 1.0
    for seed in range(100):
        rng = np.random.default_rng(seed)
        log = tr.logs.from_frame({"arm": rng.permutation(arm), "reward": reward}, propensity=0.5)
        assert (
            "arms were played 5,200, 4,800 times where their propensities make 5,000, 5,000 "
            "(chi-square, p = 6.3e-05)" in str(tr.evaluate(log, 1))
        )
        fair = rng.choice(3, 3000, p=[0.6, 0.3, 0.1])
        table = {
            "arm": fair,
            "reward": reward[:3000],
            "propensity": np.array([0.6, 0.3, 0.1])[fair],
        }
        doubted += "mismatch" in str(tr.evaluate(tr.logs.from_frame(table), 1))
        doubted += "mismatch" in str(
            tr.evaluate(
                tr.logs.from_frame(table, probabilities=np.tile([0.6, 0.3, 0.1], (3000, 1))), 1
            )
        )
    assert doubted <= 2
