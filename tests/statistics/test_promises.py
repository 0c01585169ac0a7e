"""Guards on a second metric hold, and each error that one could make breaks a budget or a bound."""

import importlib.util
import pathlib

import numpy as np
import pytest

import tightrope as tr
from tightrope.core.verbs import Context
from tightrope.policies.conservative import promises as code

path = pathlib.Path(__file__).parents[2] / "benchmarks" / "promises.py"
spec = importlib.util.spec_from_file_location("guards", path)
guards = importlib.util.module_from_spec(spec)
spec.loader.exec_module(guards)

RUNS, ROUNDS = 60, 4000
LEAST = tr.Promise("guarded", alpha=0.05)
MOST = tr.Promise("guarded", alpha=0.05, at_most=True)


def played(promise, change=lambda policy: policy, form="negative", delay=None, **more):
    """(runs that break the guard, runs with a false bound, share of the learner's own rounds)."""
    worlds = [guards.world(run, form) for run in range(RUNS)]
    result = tr.simulate(
        worlds,
        {"safe": lambda problem: change(guards.guarded(problem, promise, **more))},
        horizon=ROUNDS,
        replications=RUNS,
        checkpoints=[ROUNDS],
        monitor=lambda problem: guards.truth_of(change(guards.guarded(problem, promise, **more))),
        delay=delay,
        progress=False,
    )
    watched = result.watched["safe"]
    own = 1.0 - (watched["events"][:, 1] / ROUNDS).mean()
    lowest = true_budgets(worlds, result, promise)
    return (lowest < -1e-6).mean(), (watched["false"].sum(axis=1) > 0).mean(), own


def true_budgets(worlds, result, promise):
    """Of the guard at the end, by what was played: it does not read the policy's own numbers."""
    budgets = []
    for problem, pulls in zip(worlds, result.pulls["safe"], strict=True):
        values, b = problem.values[1], guards.baseline_of(problem.means)
        sense = code.sense_of(promise)
        budgets.append(sense * (pulls @ values - (1 - sense * 0.05) * ROUNDS * values[b]))
    return np.array(budgets)


WORLDS = {
    "at least": (LEAST, {}),
    "at most": (MOST, {}),
    "freedman": (LEAST, {"martingale": "freedman"}),
    "constrained": (MOST, {"selection": "constrained"}),
    "revenue late": (LEAST, {"delay": {"revenue": tr.delays.Fixed(300)}}),
    "bad news last": (MOST, {"delay": {"guarded": tr.delays.ByReward(500, 20)}}),
}


@pytest.mark.parametrize("name", WORLDS)
def test_guards_hold_and_their_bounds_are_true(name):
    promise, more = WORLDS[name]
    broken, false, own = played(promise, **more)
    allowed = guards.DELTA + 4 * np.sqrt(guards.DELTA * (1 - guards.DELTA) / RUNS)
    assert broken == 0.0
    assert false <= allowed
    assert own > 0.01


def terms(policy, column, value):
    changed = policy.terms.copy()
    changed[1, column] = value(changed[1, column])
    return policy._replace(terms=changed)


def unchecked(policy):
    places = policy.places.copy()
    places[1, code.COUNTS] = 0
    return policy._replace(places=places)


PLANTED = {  # what is changed of the policy, and what shows it
    "only the objective is checked": (LEAST, unchecked, "broken", {}),
    "at most with kappa = 1 - alpha": (
        MOST,
        lambda policy: terms(policy, 1, lambda kappa: 2.0 - kappa),
        "own",
        {},
    ),
    "at least with kappa = 1 - 2 alpha": (
        LEAST,
        lambda policy: terms(policy, 1, lambda kappa: 2.0 * kappa - 1.0),
        "broken",
        {},
    ),
    "the baseline's mean 20 % too low": (
        LEAST,
        lambda policy: policy._replace(known=policy.known * [[1.0], [0.8]]),
        "broken",
        {},
    ),
}


@pytest.mark.parametrize("name", PLANTED)
def test_a_planted_error_of_the_promise_is_seen(name):
    promise, change, shows, more = PLANTED[name]
    broken, _, own = played(promise, change, **more)
    assert own == 0.0 if shows == "own" else broken > 0.05, (broken, own)


def without_noise(premises):
    return premises._replace(level=1e-9)


def without_width(premises):
    return premises._replace(arm_level=1e-9)


def free_while_open(premises):
    return premises._replace(low=0.0) if premises.low < 0.0 else premises


@pytest.mark.parametrize("change", [without_noise, without_width, free_while_open])
def test_a_planted_error_of_a_bound_is_seen(change, monkeypatch):
    true = code.premises_of
    monkeypatch.setattr(code, "premises_of", lambda *given: change(true(*given)))
    late = {"delay": {"guarded": tr.delays.Fixed(500)}} if change is free_while_open else {}
    broken, false, _ = played(MOST, **late)
    assert false > 0.2, (broken, false)


def test_delta_is_shared_by_all_promises():
    """Forty promises that each fail with the whole delta: a bound is false in many runs."""
    runs, delta = 300, 0.5
    names = {"revenue": (0, 1)} | {f"m{p}": (0, 1) for p in range(40)}
    problem = tr.problems.Metrics(**dict.fromkeys(names, tr.problems.Bernoulli([0.5, 0.5])))
    policy = tr.Safe(
        tr.BetaThompson(),
        baseline=0,
        delta=delta,
        metrics=names,
        baseline_mean=dict.fromkeys(names, 0.5),
        promises=[tr.Promise(name, alpha=0.9) for name in names],
    )
    whole = policy.terms.copy()
    whole[:, 0] = delta
    result = tr.simulate(
        problem,
        {"shared": policy, "whole": policy._replace(terms=whole)},
        horizon=1500,
        replications=runs,
        monitor=guards.truth_of(policy),
        progress=False,
    )
    share = {
        name: (watched["false"].sum(axis=1) > 0).mean() for name, watched in result.watched.items()
    }
    assert share["shared"] <= delta / 4
    assert share["whole"] > share["shared"] + 4 * np.sqrt(0.25 / runs)


def test_a_pooled_bound_beside_a_segment_is_false(monkeypatch):
    """An arm that is good in one segment and bad in the other, which only one of them may play."""
    means = np.array([[0.5, 0.95], [0.5, 0.02]])
    policy = tr.Safe(
        tr.BetaThompson(),
        baseline=0,
        delta=0.05,
        promises=[tr.Promise(alpha=0.3), tr.Promise(alpha=0.1, segment=1)],
        segments=2,
        baseline_mean=[0.5, 0.5],
    )
    places = policy.places.copy()
    places[0, code.BY_SEGMENT], places[1, code.ROW] = 0, 1
    false = {}
    for name, one in (("by segment", policy), ("pooled", policy._replace(places=places))):
        session, data, false[name] = tr.Session(one, arms=2), np.random.default_rng(12), False
        for _ in range(2000):
            s = int(data.integers(2))
            arm = session.select(Context(segment=s))
            lower = session.state.guarded.parts.bounds.lower
            row = 0 if name == "pooled" else s
            false[name] |= bool(lower[row, 1] > means[s, 1])
            session.update(arm, float(data.random() < means[s, arm]), Context(segment=s))
    assert false == {"by segment": False, "pooled": True}


@pytest.mark.thorough
def test_linear_guards_hold_and_their_bounds_are_true():
    worlds = [guards.linear_world(run) for run in range(40)]
    linear = {"inner": tr.LinTS(), "theta_bound": 2.0}
    _, _, share, broken, false, lowest, _, breaks = guards.judge(worlds, [LEAST], 2000, **linear)
    assert (broken, false) == (0, 0) and lowest >= -1e-6
    assert share < 0.9 and breaks > 0.9


def test_a_planted_error_of_a_linear_bound_is_seen(monkeypatch):
    true = code.premises_of
    monkeypatch.setattr(code, "premises_of", lambda *given: without_noise(true(*given)))
    worlds = [guards.linear_world(run) for run in range(20)]
    linear = {"inner": tr.LinTS(), "theta_bound": 2.0}
    false = guards.judge(worlds, [LEAST], 2000, **linear)[4]
    assert false > 4, false


def test_a_linear_guard_bounded_by_the_regression_of_the_objective_is_false():
    linear = {"inner": tr.LinTS(), "theta_bound": 2.0}

    def wrong(problem):
        policy = guards.guarded(problem, LEAST, **linear)
        places = policy.places.copy()
        places[1, code.METRIC] = 0
        return policy._replace(places=places)

    worlds = [guards.linear_world(run) for run in range(20)]
    result = tr.simulate(
        worlds,
        {"wrong": wrong},
        monitor=lambda problem: guards.truth_of(guards.guarded(problem, LEAST, **linear)),
        horizon=2000,
        replications=len(worlds),
        progress=False,
    )
    false = (result.watched["wrong"]["false"][:, 1] > 0).sum()
    assert false > 12, false


def test_guards_of_segments_hold():
    worlds = [guards.in_segments(run) for run in range(40)]
    each = [tr.Promise("guarded", alpha=0.05, segment=s) for s in range(len(guards.SHARES))]
    _, _, share, broken, false, lowest, _, breaks = guards.judge(worlds, [*each, LEAST], 4000)
    assert (broken, false) == (0, 0) and lowest >= -1e-6
    assert share < 0.95 and breaks > 0.5


def test_linear_metrics_are_of_the_same_rows():
    linear = tr.problems.Linear
    rows, theta = np.eye(3), [0.2, 0.5, 0.3]
    both = tr.problems.Metrics(
        revenue=linear(rows, theta, noise=0.1), conversion=linear(rows, theta, rewards="bernoulli")
    )
    assert both.values.tolist() == [theta, theta] and both.describe().dimension == 3
    for other, words in (
        (tr.problems.Bernoulli(theta), "different features"),
        (linear(2 * rows, theta), "different features"),
        (linear(rows, theta, rewards="sign"), "is no Bernoulli, Gaussian or Linear"),
        (3, "is no Bernoulli, Gaussian or Linear"),
    ):
        with pytest.raises(ValueError, match=words):
            tr.problems.Metrics(revenue=linear(rows, theta), other=other)
