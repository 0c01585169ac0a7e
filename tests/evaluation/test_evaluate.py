"""`evaluate` and `compare`: estimators by hand, the gate, what is refused."""

import math

import numpy as np
import pytest

import tightrope as tr
from evaluation.adaptive_logs import Arena, crossing
from tightrope.evaluation import estimators
from tightrope.evaluation.estimators import aipw_estimate
from tightrope.evaluation.scoring import EvaluationOptions, Pass

MEANS = [0.2, 0.35, 0.5, 0.58, 0.4]

# A tiny log, every number by hand -----------------------------------------------------------------

ARM, REWARD, H = (
    np.array([0, 1, 0, 2]),
    np.array([1.0, 0.0, 0.5, 1.0]),
    np.array([0.5, 0.25, 0.5, 0.25]),
)
TARGET = np.array([[0.25, 0.25, 0.5]] * 4)  # weights 1/2, 1, 1/2, 2
MODEL = np.array([[0.5, 0.2, 0.4]] * 4)  # sum_a pi(a) r(a) = 0.125 + 0.05 + 0.2 = 0.375


def tiny(**more):
    return tr.logs.from_frame({"arm": ARM, "reward": REWARD, "propensity": H}, **more)


def error(values):
    return np.std(values, ddof=1) / math.sqrt(len(values))


def test_weights_by_hand():
    e = tr.evaluate(tiny(), TARGET)
    assert e.ess == pytest.approx(16.0 / (0.25 + 1.0 + 0.25 + 4.0))
    assert e.max_weight == pytest.approx(2.0)
    assert e.support.target.tolist() == [0.25, 0.25, 0.5]
    assert (e.support.played.tolist(), e.support.unseen) == ([2.0, 1.0, 1.0], 0.0)
    assert e.weights[:, 1].sum() == 4.0
    assert e.verdict.startswith("not enough overlap: effective sample size 3 of 4; log more rounds")


def test_scores_of_the_sequence_by_hand():
    # with the logger's probabilities (.5, .25, .25): q_a = min(pi r, k h) and phi^L = w R - q_A / h
    # + sum of q
    chances = np.array([[0.5, 0.25, 0.25]] * 4)
    read = Pass(tiny(), [], None, None, EvaluationOptions("dr", 0.05, 1.0, 1.0, 10.0))
    assert read.times[-1] == 4
    out = np.empty((4, 4))
    k = 0.5
    estimators.score(
        ARM,
        REWARD,
        REWARD,
        H,
        TARGET,
        False,
        MODEL,
        MODEL,
        chances,
        True,
        np.ones(4, dtype=bool),
        1,
        k,
        10.0,
        (0.0, 1.0),
        np.zeros(estimators.SUMS),
        np.zeros((estimators.MOMENTS, 2)),
        np.zeros(3),
        np.zeros(3),
        *out,
    )
    q = np.minimum(TARGET * MODEL, k * chances)
    Q = np.minimum(TARGET * (1.0 - MODEL), k * chances)
    rows = np.arange(4)
    w = TARGET[rows, ARM] / H
    np.testing.assert_allclose(out[0], w * REWARD - q[rows, ARM] / H + q.sum(axis=1))
    np.testing.assert_allclose(out[1], w * (1.0 - REWARD) - Q[rows, ARM] / H + Q.sum(axis=1))
    assert out[:2].min() >= -k


def test_without_a_model_the_doubly_robust_estimate_is_that_of_weights():
    found = tr.evaluate(tiny(), TARGET, model=None).estimates
    assert found["dr"] == found["ips"]
    assert "dm" not in found
    assert tr.evaluate(tiny(), TARGET, estimator="SWITCH_DR").estimator == "switch-dr"


@pytest.mark.parametrize("estimator", ["dm", "clipped-ips", "switch-dr"])
def test_a_normal_interval_is_refused_where_the_estimator_has_a_bias(estimator):
    rows = {"arm": [0, 1, 0, 1], "reward": [0.0, 1.0, 1.0, 1.0], "p": [0.95, 0.05, 0.95, 0.05]}
    log = tr.logs.from_frame(rows, propensity="p")
    with pytest.raises(ValueError, match="no normal interval"):
        tr.evaluate(log, 1, estimator=estimator, anytime=False)
    low, high = tr.evaluate(log, 1, estimator=estimator).interval
    assert low < high
    if estimator != "dm":
        low, high = tr.evaluate(log, 1, estimator=estimator, anytime=False, clip=20.0).interval
        assert low < high


def test_what_vw_estimators_publishes_for_its_examples():
    one = tr.logs.from_frame({"arm": [0], "reward": [1.0], "propensity": [0.3]}, arms=2)
    found = tr.evaluate(one, [0.6, 0.4], model=None).estimates
    assert found["ips"].value == pytest.approx(2.0)
    assert found["snips"].value == pytest.approx(1.0)
    n = 10_000
    for scale in (1.0, 10.0):
        arm = np.arange(n) % 2
        log = tr.logs.from_frame(
            {"arm": arm, "reward": scale * (arm == 0), "propensity": np.full(n, 0.5)},
            rewards=(0.0, scale),
        )
        for k in (0.0, 1.0):
            e = tr.evaluate(log, [0.8, 0.2], model=None, k=k)
            assert e.estimates["ips"].value == pytest.approx(0.8 * scale)
            assert 0.75 * scale <= e.interval[0] <= e.interval[1] <= 0.85 * scale


def test_rewards_in_another_range_give_the_same_bounds_in_their_units():
    log = tr.logs.from_frame(
        {"arm": ARM, "reward": 10.0 * REWARD - 3.0, "propensity": H}, rewards=(-3.0, 7.0)
    )
    value, se = tr.evaluate(tiny(), TARGET).estimates["snips"]
    assert tr.evaluate(log, TARGET).estimates["snips"] == pytest.approx(
        (10.0 * value - 3.0, 10.0 * se)
    )
    a, b = tr.evaluate(tiny(), TARGET).sequence, tr.evaluate(log, TARGET).sequence
    np.testing.assert_allclose(10.0 * a.lower - 3.0, b.lower)
    np.testing.assert_allclose(10.0 * a.upper - 3.0, b.upper)


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("modelled", [True, False])
def test_all_seven_estimators_are_numpys_whatever_range_is_declared(seed, modelled):
    rng = np.random.default_rng(seed)
    n, K, clip, rows = 400, 4, 3.0, np.arange(400)
    low, high = [(-1.0, 1.0), (0.0, 1.0), (-3.0, 50.0)][seed % 3]
    h, pi = rng.dirichlet(np.ones(K), n) * 0.8 + 0.05, rng.dirichlet(np.ones(K), n)
    arm = np.array([rng.choice(K, p=row) for row in h])
    reward, model = rng.uniform(low, high, n), rng.uniform(1.2 * low, 1.2 * high, (n, K)) * modelled
    w, R, expected = (pi / h)[rows, arm], reward, (pi * model).sum(axis=1)
    left = w * (R - model[rows, arm])
    dr, even = expected + left, 1.0 / (pi**2 / h).sum(axis=1)
    g = np.sqrt(even)
    snips, aipw = (w * R).sum() / w.sum(), (g * dr).sum() / g.sum()
    by_hand = {
        "ips": ((w * R).mean(), error(w * R)),
        "clipped-ips": ((np.minimum(w, clip) * R).mean(), error(np.minimum(w, clip) * R)),
        "snips": (snips, math.sqrt((w**2 * (R - snips) ** 2).sum()) / w.sum()),
        "dm": (expected.mean(), error(expected)),
        "dr": (dr.mean(), error(dr)),
        "switch-dr": ((expected + left * (w <= clip)).mean(), error(expected + left * (w <= clip))),
        "aipw": (aipw, math.sqrt((g**2 * (dr - aipw) ** 2).sum()) / g.sum()),
    }
    for declared in ((low, high), (low - 1.0, high + 10.0), (-1000.0, 1000.0)):
        table = {"arm": arm, "reward": reward, "propensity": h[rows, arm]}
        log = tr.logs.from_frame(table, probabilities=h, rewards=declared)
        for name, each in by_hand.items():
            e = tr.evaluate(log, pi, estimator=name, model=model if modelled else None, clip=clip)
            assert (e.value, e.se) == pytest.approx(each, rel=1e-9, abs=1e-9), (name, declared)


def test_a_fitted_model_does_not_depend_on_the_declared_range(rng):
    n = 2000
    x, arm = rng.normal(size=(n, 2)), rng.integers(0, 3, n)
    reward = np.clip(0.2 * arm + 0.3 * x[:, 0], -1.0, 1.0)
    table = {"arm": arm, "reward": reward, "propensity": np.full(n, 1 / 3)}
    estimates = [
        tr.evaluate(tr.logs.from_frame(table, features=x, rewards=(-b, b)), 2).estimates
        for b in (1.0, 30.0, 1000.0)
    ]
    for name, each in estimates[0].items():
        assert all(other[name] == pytest.approx(each, rel=1e-6) for other in estimates), name


def test_sets_by_their_chances_to_be_chosen():
    # two rounds, sets of two of three arms; chances to be in the set .8, .8, .4
    h = {0: 0.8, 1: 0.8, 2: 0.4}
    table = {
        "arm": [0, 1, 1, 2],
        "reward": [1.0, 0.0, 0.5, 1.0],
        "propensity": [h[0], h[1], h[1], h[2]],
        "round": [7, 7, 9, 9],
    }
    log = tr.logs.from_frame(table, round="round")
    assert (log.size, log.rounds, log.n) == (2, 2, 4)
    target = np.array([0.4, 0.8, 0.8])
    e = tr.evaluate(log, target, model=None)
    rounds = [0.5 * 1.0 + 1.0 * 0.0, 1.0 * 0.5 + 2.0 * 1.0]
    assert e.estimates["ips"] == pytest.approx((np.mean(rounds), error(rounds)))
    assert e.estimates["snips"].value == pytest.approx(2.0 * (0.5 + 0.5 + 2.0) / 4.5)
    model = np.array([[0.5, 0.25, 0.5]] * 4)
    base = 0.2 + 0.2 + 0.4
    dr = [base + 0.5 * 0.5 - 0.25, base + 1.0 * 0.25 + 2.0 * 0.5]
    assert tr.evaluate(log, target, model=model).estimates["dr"] == pytest.approx(
        (np.mean(dr), error(dr))
    )
    assert e.sequence.upper[0] == pytest.approx(2.0)  # a sum of two rewards in [0, 1]


# Passes -------------------------------------------------------------------------------------------


def drawn(n=3000, seed=0, features=False):
    rng = np.random.default_rng(seed)
    h = np.array([0.4, 0.3, 0.1, 0.1, 0.1])
    x = rng.normal(size=(n, 2))
    arm = rng.choice(5, n, p=h)
    mean = np.clip(np.array(MEANS)[arm] + 0.1 * x[:, 0], 0, 1)
    table = {"arm": arm, "reward": (rng.random(n) < mean) * 1.0, "propensity": h[arm]}
    return tr.logs.from_frame(
        table, probabilities=np.tile(h, (n, 1)), features=x if features else None
    )


def test_the_size_of_chunks_changes_nothing(monkeypatch):
    for features in (False, True):
        log = drawn(features=features)
        whole = tr.evaluate(log, 3, baseline="logged")
        monkeypatch.setattr("tightrope.logs.log.ENTRIES", 5)  # chunks of 256 rows
        parts = tr.evaluate(log, 3, baseline="logged")
        monkeypatch.undo()
        for name, each in whole.estimates.items():
            assert parts.estimates[name] == pytest.approx(each, rel=1e-12), name
        np.testing.assert_allclose(parts.sequence.lower, whole.sequence.lower, rtol=1e-12)
        np.testing.assert_allclose(parts.difference.upper, whole.difference.upper, rtol=1e-12)
        assert parts.decided == whole.decided


def test_the_model_never_sees_the_round_it_scores():
    log = drawn(400)
    rows = next(log.chunks())
    before = tr.evaluation.estimators.Ridge(log)
    out = np.empty((400, 5))
    before.score(rows, np.ones(400, dtype=bool), out)
    changed = rows.reward.copy()
    changed[250:] = 1.0 - changed[250:]
    again = np.empty((400, 5))
    tr.evaluation.estimators.Ridge(log).score(
        rows._replace(reward=changed), np.ones(400, dtype=bool), again
    )
    assert np.array_equal(out[:251], again[:251])
    assert not np.array_equal(out[260:], again[260:])
    assert out[0].tolist() == [0.0] * 5  # nothing was learned before the first round


def test_the_model_learns_what_is_linear(rng):
    n = 20_000
    theta = np.array([0.2, -0.1])
    x = rng.uniform(-1, 1, size=(n, 3, 2))
    arm = rng.integers(0, 3, n)
    mean = 0.5 + x @ theta
    reward = (rng.random(n) < mean[np.arange(n), arm]) * 1.0
    log = tr.logs.from_frame(
        {"arm": arm, "reward": reward, "propensity": np.full(n, 1 / 3)}, features=x
    )
    e = tr.evaluate(log, np.full(3, 1 / 3))
    assert np.abs(e.calibration[:, 1] - e.calibration[:, 2]).max() < 4.0 * 0.5 / math.sqrt(n / 10)
    model = tr.evaluation.estimators.Ridge(log)
    out = np.empty((n, 3))
    model.score(next(log.chunks(n)), np.ones(n, dtype=bool), out)
    assert np.abs(out[-1] - mean[-1]).max() < 0.05


@pytest.mark.parametrize("target", [[0.0, 0.0, 0.0, 1.0, 0.0], [0.2] * 5])
def test_adaptively_weighted_intervals_cover_at_a_fixed_number_of_rounds(target):
    arena, missed, logs = Arena(500, MEANS, sharp=8.0), 0, 1000
    truth = float(np.dot(target, MEANS))
    for seed in range(logs):
        arena.play(seed)
        _, sums, _ = arena.score(target)
        value, se = aipw_estimate(
            *sums[[estimators.H, estimators.HH, estimators.HG, estimators.HHG, estimators.HHGG]]
        )
        missed += abs(value - truth) > 1.96 * se
    assert missed / logs <= 0.05 + 4.0 * math.sqrt(0.05 * 0.95 / logs)


def test_adaptive_weights_of_constant_allocation_need_one_pass():
    arena = Arena(300, MEANS)
    arena.play(5)
    target = np.array([0.1, 0.2, 0.3, 0.4, 0.0])
    _, sums, _ = arena.score(target)
    e = 1.0 / (target**2 / arena.chances).sum(axis=1)
    h, spent = np.empty(300), 0.0
    for t in range(300):  # by the recursion of constant allocation
        share = (1.0 - spent) / (300 - t)
        h[t] = math.sqrt(e[t] * share)
        spent += share
    rows = np.arange(300)
    w = target[arena.arm] / arena.propensity
    gamma = arena.model @ target + w * (arena.reward - arena.model[rows, arena.arm])
    value = (h * gamma).sum() / h.sum()
    se = math.sqrt((h**2 * (gamma - value) ** 2).sum()) / h.sum()
    assert aipw_estimate(
        *sums[[estimators.H, estimators.HH, estimators.HG, estimators.HHG, estimators.HHGG]]
    ) == pytest.approx((value, se))
    assert ((h**2 / e).sum()) == pytest.approx(1.0)


# The gate -----------------------------------------------------------------------------------------


def gate(arena, first, second, alpha):
    """(round of promotion, round of rolling back) of one log, looked at after every round, without
    the rule on overlap."""
    (low, high, *_), _, _ = arena.score(first)
    (below, above, *_), _, _ = arena.score(second)
    return [
        crossing(scores, 0.5, math.log(2.0 / alpha))
        for scores in (0.5 * (low + above), 0.5 * (below + high))
    ]


def test_the_gate_promotes_an_equal_policy_in_at_most_alpha_of_logs():
    logs, alpha = 1000, 0.1
    arena = Arena(500, [0.5, 0.5, 0.5])
    found = []
    for seed in range(logs):
        arena.play(seed)
        found.append(gate(arena, [1.0, 0.0, 0.0], [0.0, 0.5, 0.5], alpha))
    promoted, rolled = (np.array(found) > 0).mean(axis=0)
    margin = 4.0 * math.sqrt(alpha * (1.0 - alpha) / logs)
    assert promoted <= alpha + margin
    assert promoted + rolled <= alpha + margin


def test_the_gate_promotes_what_is_better_and_rolls_back_what_is_worse():
    arena, better = Arena(2000, [0.2, 0.8]), 0
    for seed in range(50):
        arena.play(seed)
        promoted, rolled = gate(arena, [0.0, 1.0], [1.0, 0.0], 0.05)
        assert rolled == 0
        better += promoted > 0
        assert gate(arena, [1.0, 0.0], [0.0, 1.0], 0.05) == [rolled, promoted]
    assert better == 50


def test_a_promotion_stays_when_the_log_goes_on(rng):
    n = 4000
    arm = rng.integers(0, 2, n)
    good = rng.random(n) < np.where(arm == 1, 0.8, 0.2)
    bad = rng.random(n) < np.where(arm == 1, 0.1, 0.9)
    reward = np.where(np.arange(n) < 1500, good, bad) * 1.0  # the world turns round
    table = {"arm": arm, "reward": reward, "propensity": np.full(n, 0.5)}
    first = tr.evaluate(
        tr.logs.from_frame({name: x[:1500] for name, x in table.items()}), 1, baseline=0
    )
    later = tr.evaluate(tr.logs.from_frame(table), 1, baseline=0)
    assert first.verdict == later.verdict == "promote"
    assert first.decided == later.decided
    assert (
        first.difference.lower[-1] > 0.0 > later.difference.upper[-1]
    )  # the mean over all rounds has changed its sign


def test_what_is_shown_is_what_is_stopped_on():
    e = tr.evaluate(drawn(), 3, baseline="logged")
    assert e.verdict == "promote"
    ahead = e.sequence.t[e.difference.lower > 0.0]
    assert e.sequence.t[e.sequence.t < ahead[0]][-1] < e.decided <= ahead[0]
    assert e.ess >= 100


def test_candidates_are_eliminated_and_one_wins():
    found = tr.compare(drawn(20_000), {"best": 3, "worst": 0, "middle": 1})
    assert (found.alive, found.winner) == (("best",), "best")
    assert found.evaluations["worst"].verdict == "roll back"
    assert found.evaluations["best"].alpha == pytest.approx(0.05 / 3)
    assert list(found.frame()["policy"]) == ["best", "worst", "middle", "(baseline)"]
    assert "cannot be the best" in str(found)
    assert str(found).endswith("The winner is best.")
    assert found.record()["policies"]["best"]["verdict"] == "promote"
    even = tr.compare(drawn(300), {"a": [0.2] * 5, "b": [0.2] * 5})
    assert str(even).endswith("No winner yet: a, b may still be the best.")
    alone = tr.evaluate(drawn(20_000), 3)
    assert found.evaluations["best"].value == alone.value
    assert found.evaluations["best"].interval[0] < alone.interval[0]


# Targets ------------------------------------------------------------------------------------------


def test_the_same_policy_in_every_form():
    log = drawn(500)
    even = np.full(5, 0.2)
    wanted = tr.evaluate(log, even).estimates
    assert tr.evaluate(log, np.tile(even, (500, 1))).estimates == wanted
    assert tr.evaluate(log, lambda context, eligible: even).estimates == wanted
    session = tr.Session(tr.EpsilonGreedy(epsilon=1.0), arms=5)
    for arm in range(5):  # before, it plays every arm once
        session.update(arm, 0.5)
    by_session = tr.evaluate(log, session).estimates
    for name, (value, se) in wanted.items():
        assert by_session[name] == pytest.approx((value, se)), name
    one = tr.evaluate(log, 3).estimates
    assert tr.evaluate(log, np.eye(5)[3]).estimates == one
    named = tr.logs.from_frame(
        {"arm": ["b", "a", "b"], "reward": [1, 0, 1], "propensity": [0.5, 0.5, 0.5]}
    )
    assert named.names == ("a", "b")
    assert tr.evaluate(named, "b").value == tr.evaluate(named, 1).value


def test_probabilities_and_models_keep_to_the_rows_of_their_table():
    table, rng = (
        {"arm": ARM, "reward": REWARD, "propensity": H, "time": [3, 1, 2, 0]},
        np.random.default_rng(0),
    )
    target, model = rng.dirichlet(np.ones(3), size=4), rng.random((4, 3))
    wanted = tr.evaluate(tiny(), target, model=model).estimates
    log = tr.logs.from_frame(table, time="time")  # in another order
    for name, each in tr.evaluate(log, target, model=model).estimates.items():
        assert each == pytest.approx(wanted[name]), name
    some = tr.logs.from_frame(
        table | {"reward": [1.0, np.nan, 0.5, 1.0]}, time="time"
    )  # a reward is still to come
    kept = [0, 2, 3]
    few = tr.logs.from_frame(
        {name: np.asarray(column)[kept] for name, column in table.items()}, arms=3
    )
    wanted = tr.evaluate(few, target[kept], model=model[kept]).estimates
    for name, each in tr.evaluate(some, target, model=model).estimates.items():
        assert each == pytest.approx(wanted[name]), name
    with pytest.raises(ValueError, match=r"= \(4, 3\), a row for each row of the table"):
        tr.evaluate(some, target[kept])


def test_weights_that_do_not_average_one_are_named(rng):
    arm = rng.choice(2, 1000, p=[0.8, 0.2])
    wrong = tr.logs.from_frame(
        {"arm": arm, "reward": np.ones(1000), "propensity": np.full(1000, 0.5)}
    )
    assert "Weights average 0.4" in " ".join(tr.evaluate(wrong, 1).notes)
    right = tr.logs.from_frame(
        {"arm": arm, "reward": np.ones(1000), "propensity": np.array([0.8, 0.2])[arm]}
    )
    assert "Weights average" not in " ".join(tr.evaluate(right, 1).notes)


def test_the_logger_itself_has_weights_of_one():
    log = drawn(500)
    e = tr.evaluate(log, "logged")
    rewards = np.concatenate([rows.reward for rows in log.chunks()])
    assert e.estimates["ips"] == pytest.approx((rewards.mean(), error(rewards)))
    assert (e.ess, e.max_weight) == (500, 1.0)


def test_a_session_is_judged_at_its_present_state_and_stays_as_it_was(rng):
    X = rng.normal(size=(300, 3, 2))
    session = tr.Session(tr.LinUCB(), arms=3, dimension=2)
    for t in range(30):
        d = session.decide(X[t])
        session.reward(d.id, float(rng.random() < 0.5))
    before = session.explain(X[40])["index"].tolist()
    arm = rng.integers(0, 3, 300)
    log = tr.logs.from_frame(
        {"arm": arm, "reward": rng.random(300), "propensity": np.full(300, 1 / 3)}, features=X
    )
    e = tr.evaluate(log, session)
    chosen = np.array([np.argmax(session.explain(x)["index"]) for x in X])
    table = np.eye(3)[chosen]
    assert e.estimates == tr.evaluate(log, table).estimates
    assert session.explain(X[40])["index"].tolist() == before
    assert session.decided == 30


def test_probabilities_by_slot():
    table = {
        "arm": [0, 1, 1],
        "reward": [1, 0, 1],
        "propensity": [0.5, 0.5, 0.25],
        "slot": [0, 0, 2],
    }
    log = tr.logs.from_frame(table, slot="slot")
    e = tr.evaluate(log, {0: [1.0, 0.0], 2: [0.5, 0.5]}, model=None)
    assert e.value == pytest.approx((2.0 + 0.0 + 2.0) / 3)
    with pytest.raises(ValueError, match="no probabilities for slot 2"):
        tr.evaluate(log, {0: [1.0, 0.0]})


def test_a_session_with_a_model_for_each_arm_is_judged_on_contexts_of_the_round(rng):
    n, d, truth = 400, 3, rng.normal(size=(4, 3))
    x = rng.normal(size=(n, d))
    arm = rng.integers(0, 4, n)
    reward = (rng.random(n) < 1.0 / (1.0 + np.exp(-(truth[arm] * x).sum(axis=1)))) * 1.0
    session = tr.Session(tr.LinUCB(shared=False), arms=4, dimension=d)
    for i in range(200):
        made = session.decide(x[i])
        session.reward(
            made.id, float(rng.random() < 1.0 / (1.0 + np.exp(-(truth[made.arm] @ x[i]))))
        )
    log = tr.logs.from_frame(
        {"arm": arm, "reward": reward, "propensity": np.full(n, 0.25)}, features=x
    )
    e = tr.evaluate(log, session)
    assert (
        e.estimates
        == tr.evaluate(log, np.array([session.propensities(row) for row in x])).estimates
    )
    assert e.value > reward.mean() + 3.0 * e.se
    with pytest.raises(ValueError, match=r"must have features: .n, K, d. of every arm, or .n, d."):
        tr.evaluate(
            tr.logs.from_frame({"arm": arm, "reward": reward, "propensity": np.full(n, 0.25)}),
            session,
        )


# What is refused ----------------------------------------------------------------------------------


def test_a_target_outside_the_support_of_the_logger_is_refused_with_its_share():
    h = np.array([[0.5, 0.5, 0.0]] * 200)
    log = tr.logs.from_frame(
        {"arm": [0, 1] * 100, "reward": [0.5] * 200, "propensity": [0.5] * 200}, probabilities=h
    )
    with pytest.raises(
        ValueError,
        match=r"policy puts 25.00% of its probability on arms that the "
        r"logger could "
        r"not play "
        r"\(arms 2\)",
    ):
        tr.evaluate(log, [0.25, 0.5, 0.25])
    with pytest.raises(ValueError, match=r"baseline puts 100.00%"):
        tr.evaluate(log, 0, baseline=2)
    tr.evaluate(log, [0.5, 0.5, 0.0])


def test_little_overlap_is_said(rng):
    n = 10_000
    arm = (rng.random(n) < 2e-4) * 1
    h = np.where(arm == 1, 2e-4, 1 - 2e-4)
    log = tr.logs.from_frame({"arm": arm, "reward": np.ones(n), "propensity": h})
    e = tr.evaluate(log, 1)
    few = int(arm.sum())
    assert (
        e.verdict == f"not enough overlap: effective sample size {few} of 10,000; "
        f"log with a "
        f"propensity "
        f"floor (Explore)"
    )
    assert tr.evaluate(log, 1, baseline="logged").verdict == e.verdict
    unseen = tr.logs.from_frame(
        {"arm": arm * 0, "reward": np.ones(n), "propensity": np.full(n, 0.9)}, arms=2
    )
    e = tr.evaluate(unseen, [0.8, 0.2])
    assert e.support.unseen == pytest.approx(0.2)
    assert e.verdict.startswith(
        "not enough overlap: 20.0% of the policy's probability is on arms that the log never played"
    )


def test_deterministic_logs_judge_only_what_was_logged():
    log = tr.logs.from_frame(
        {"arm": [0, 1, 0], "reward": [1, 0, 1], "propensity": 1.0}, propensity=1.0
    )
    assert tr.evaluate(log, "logged").value == pytest.approx(2 / 3)
    assert tr.evaluate(log, np.eye(2)[[0, 1, 0]]).value == pytest.approx(2 / 3)
    with pytest.raises(ValueError, match=r"all propensities are 1.*Explore"):
        tr.evaluate(log, 0)


@pytest.mark.parametrize(
    ("words", "arguments"),
    [
        ("estimator = 'best' is not one of", {"estimator": "best"}),
        ("alpha = 0 is not a number", {"alpha": 0}),
        ("model = 'forest' is not one of 'ridge'", {"model": "forest"}),
        ("model has shape", {"model": np.zeros((3, 2))}),
        (
            "baseline: probabilities for row 0 must be at least 0 and add up to 1",
            {"baseline": [1.0, 1.0, 0, 0, 0]},
        ),
        ("clip = -1", {"clip": -1}),
    ],
)
def test_bad_arguments(words, arguments):
    with pytest.raises(ValueError, match=words):
        tr.evaluate(drawn(100), 3, **arguments)


@pytest.mark.parametrize(
    ("words", "policy", "arguments"),
    [
        ("method = 'guess' is not one of", tr.UCB(), {"method": "guess"}),
        ("policy = 3 does not learn; judge it by tr.evaluate", 3, {"method": "replay"}),
        ("alpha = 0 is not a number", tr.UCB(), {"method": "replay", "alpha": 0}),
        ("this log has sets", tr.UCB(), {"method": "simulate", "log": "sets"}),
        ("log = 3 is not a log", tr.UCB(), {"method": "simulate", "log": 3}),
    ],
)
def test_bad_arguments_of_learners(words, policy, arguments):
    with pytest.raises(ValueError, match=words):
        log = arguments.pop("log", drawn(100))
        if log == "sets":
            log = tr.logs.from_frame(
                {"arm": [0, 1], "reward": [1, 0], "propensity": [0.7, 0.7], "round": [0, 0]},
                round="round",
            )
        tr.evaluate_learner(log, policy, **arguments)


@pytest.mark.parametrize(
    ("words", "policy"),
    [
        ("has learned nothing yet", tr.UCB()),
        ("is not the name of an arm", "x"),
        ("is not a whole number from 0 to 4", 7),
        ("must be .n, K. = .100, 5., a row for each row of the table, or .K,.", np.zeros((3, 5))),
        ("returned shape ..,. for row 0", lambda context, eligible: [1.0]),
        ("session with 3 arms, but the log has 5", tr.Session(tr.UCB(), arms=3)),
        ("add up to 1; got", [0.5, 0.1, 0.1, 0.1, 0.1]),
        ("must map every slot to 5 probabilities", {0: [1.0]}),
    ],
)
def test_bad_policies(words, policy):
    with pytest.raises(ValueError, match=words):
        tr.evaluate(drawn(100), policy)


def test_probability_on_arms_that_were_not_eligible_is_refused():
    table = {"arm": [0, 1], "reward": [1, 0], "propensity": [1.0, 0.5]}
    log = tr.logs.from_frame(table, eligible=np.array([[True, False], [True, True]]))
    assert log.uniform
    with pytest.raises(ValueError, match="on arms that were not eligible, most in row 0"):
        tr.evaluate(log, 1)
    tr.evaluate(log, lambda context, eligible: eligible / eligible.sum())


def test_notes_name_what_to_be_careful_of():
    e = tr.evaluate(drawn(300), 3, anytime=False)
    assert e.sequence is None
    assert "not valid if the logger learned" in " ".join(e.notes)
    assert e.interval == pytest.approx((e.value - 1.959964 * e.se, e.value + 1.959964 * e.se))
    assert tr.evaluate(drawn(300), 3, anytime=False, estimator="aipw").notes == ()
    blind = tr.logs.from_frame(
        {"arm": [0, 1] * 100, "reward": [0.5] * 200, "propensity": [0.5, 0.4] * 100}
    )
    assert "give the logger's probabilities of all arms, or a floor" in " ".join(
        tr.evaluate(blind, 1).notes
    )
    with pytest.raises(ValueError, match=r"aipw.*probabilities"):
        tr.evaluate(blind, 1, estimator="aipw")


def test_a_result_can_be_shown(tmp_path):
    e = tr.evaluate(drawn(300), 3, baseline="logged")
    assert "effective sample size" in str(e)
    assert list(e.frame()["estimator"]) == list(e.estimates)
    assert e.plot(tmp_path / "a.svg").stat().st_size > 1000
    assert tr.compare(drawn(300), {"a": 3}).plot(tmp_path / "b.png").stat().st_size > 1000
