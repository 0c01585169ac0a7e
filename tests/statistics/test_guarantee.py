"""The guarantee holds, exploration starts when the formulas say, and the regret is right, not
merely safe."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import tightrope as tr
from standard import unit_rows
from tiers import thorough
from tightrope.core.files import standard_error
from tightrope.core.verbs import Context, commit, explain, select, update

RUNS = 1000


def exploration_rounds(policy, K, features, reward, rounds):
    """Rounds in which another arm than the baseline is played when it always pays `reward`."""
    session = tr.Session(policy, arms=K if features is None else features)
    found = []
    for t in range(1, rounds + 1):
        arm = session.select()
        if arm != policy.baseline:
            found.append(t)
        session.update(arm, reward if arm != policy.baseline else policy.baseline_mean)
    return found


@settings(max_examples=25, deadline=None)
@given(
    q=st.integers(2, 12),
    p=st.integers(1, 3),
    delta=st.floats(0.01, 0.3),
    sigma=st.floats(0.05, 2.0),
    T=st.integers(1, 9),
    mu=st.floats(0.3, 0.9),
)
def test_first_exploration_is_where_the_closed_form_says(q, p, delta, sigma, T, mu):
    alpha = Fraction(p, q) if p < q else Fraction(1, q)
    given = {
        "baseline": 1,
        "baseline_mean": mu,
        "alpha": float(alpha),
        "delta": delta,
        "sigma": sigma,
        "martingale": "freedman",
    }
    # S is empty and every lower bound 0: alpha T ceil(t / T) >= 1; a tie in exact arithmetic counts
    # as safe.
    first = (math.ceil(1 / (alpha * T)) - 1) * T + 1
    for policy in (tr.CUCB(**given, checkpoint=T), tr.CUCB2T(**given, checkpoint=T, clip="both")):
        assert exploration_rounds(policy, 3, None, 0.5, first)[:1] == [first]
    # Literal Eq 7 charges psi(0) = (2/3) ln(3/delta) on the empty sum.
    charged = (1 + 2 / 3 * math.log(3 / delta) / mu) / float(alpha)
    if abs(charged - round(charged)) > 1e-6 and T > 1:
        assert exploration_rounds(tr.CUCB2(**given), 3, None, 0.5, math.ceil(charged))[:1] == [
            math.ceil(charged)
        ]


@settings(max_examples=10, deadline=None)
@given(
    alpha=st.floats(0.08, 0.5),
    delta=st.floats(0.01, 0.3),
    reward=st.floats(0.0, 1.0),
    mu=st.floats(0.3, 0.9),
)
def test_all_exploration_rounds_of_constant_rewards(alpha, delta, reward, mu):
    sigma, rounds = 3.0, 150  # widths so large that every lower bound stays 0
    policy = tr.CUCB2(
        baseline=0, baseline_mean=mu, alpha=alpha, delta=delta, sigma=sigma, martingale="freedman"
    )
    expected, t = [], 0
    for m in range(rounds):
        L = math.log(3 * max(m, 1) ** 2 / delta)
        psi = sigma * math.sqrt(2 * m * L) + 2 / 3 * L
        threshold = ((1 + m) * mu - m * reward + psi) / (alpha * mu)
        if abs(threshold - round(threshold)) < 1e-6:
            return
        t = max(t + 1, math.ceil(threshold))
        if t > rounds:
            break
        expected.append(t)
    assert exploration_rounds(policy, 4, None, reward, rounds) == expected


@thorough
@settings(max_examples=10, deadline=None)
@given(
    alpha=st.floats(0.2, 0.6),
    sigma=st.floats(0.01, 0.1),
    lam=st.floats(0.2, 2.0),
    B=st.floats(0.9, 1.5),
)
def test_first_exploration_of_the_literal_linear_bound(alpha, sigma, lam, B):
    d, mu, delta = 3, 0.8, 0.1
    X = np.eye(3)
    beta = sigma * math.sqrt(d * math.log((1 + 1 / lam) / delta)) + B * math.sqrt(lam)
    threshold = (1 + beta / math.sqrt(lam) / mu) / alpha
    if abs(threshold - round(threshold)) < 1e-6:
        return
    policy = tr.CLUCB(
        baseline=2,
        baseline_mean=mu,
        alpha=alpha,
        delta=delta,
        sigma=sigma,
        lam=lam,
        theta_bound=B,
        baseline_index="mean",
    )
    assert exploration_rounds(policy, 3, X, 0.5, math.ceil(threshold))[:1] == [math.ceil(threshold)]


def bernoulli_models(count, seed=0):
    rng = np.random.default_rng(seed)
    return [tr.problems.Bernoulli(rng.uniform(0.25, 0.75, 10)) for _ in range(count)]


def fourth_best(problem):
    b = int(np.argsort(problem.means)[-4])
    return {"baseline": b, "baseline_mean": float(problem.means[b]), "sigma": 0.5}


def test_no_violation_of_the_true_budget_in_a_thousand_runs():
    problems = bernoulli_models(50)
    policies = {
        "UCB": lambda p: tr.UCB(alpha=0.5),
        "unknown": lambda p: tr.CUCB2(baseline=fourth_best(p)["baseline"], sigma=0.5),
        "Safe KL-UCB": lambda p: tr.Safe(tr.KLUCB(), **fourth_best(p)),
        "Safe Thompson": lambda p: tr.Safe(tr.BetaThompson(), **fourth_best(p)),
    }
    for bound, selection in itertools.product(
        ("confidence", "martingale"), ("two-step", "largest-lower", "constrained")
    ):
        policies[f"{bound} {selection}"] = lambda p, b=bound, s=selection: tr.CUCB(
            bound=b, selection=s, **fourth_best(p)
        )
    monitor = lambda p: tr.Budget(baseline=fourth_best(p)["baseline"])  # noqa: E731
    result = tr.simulate(
        problems, policies, horizon=800, replications=RUNS, monitor=monitor, checkpoints=[800]
    )
    assert (result.watched["UCB"]["violations"] > 0).mean() > 0.5
    for name in policies:
        if name != "UCB":
            assert result.watched[name]["violations"].sum() == 0, name
            assert result.watched[name]["minimum"].min() >= -1e-6
            assert (result.pulls[name].max(axis=1) < 800).any()  # it does explore


def test_checkpoints_are_kept_though_the_rounds_between_are_not():
    problems = bernoulli_models(50)
    scheme = {"T": 250, "listed": [400, 1000, 1700, 2500]}
    policies = {
        name: (lambda p, c=c: tr.CUCB2T(checkpoint=c, **fourth_best(p)))
        for name, c in scheme.items()
    }
    monitors = {
        name: (lambda p, c=c: tr.Budget(baseline=fourth_best(p)["baseline"], checkpoint=c))
        for name, c in scheme.items()
    }
    result = tr.simulate(
        problems, policies, horizon=2500, replications=RUNS, monitor=monitors, checkpoints=[2500]
    )
    for name in scheme:
        assert result.watched[name]["violations"].sum() == 0
        assert result.watched[name]["minimum"].min() >= -1e-6
        assert (
            result.watched[name]["lowest"] < -0.5
        ).any()  # the leeway between checkpoints is used


def spread_models(count, K=12, d=20, seed=0):
    rng, found = np.random.default_rng(seed), []
    for _ in range(count):
        theta = unit_rows(rng, 1, d)[0]
        found.append(tr.problems.Linear(tr.problems.spread_arms(K, theta, rng), theta, noise=0.1))
    return found


def fourth_best_linear(problem):
    return fourth_best(problem) | {"sigma": 0.1, "lam": 0.5, "alpha": 0.2}


LINEAR = {
    "LinUCB": lambda p: tr.LinUCB(width="theorem", noise=0.1, lam=0.5),
    "CLUCB": lambda p: tr.CLUCB(**fourth_best_linear(p)),
    "CLUCB2": lambda p: tr.CLUCB2(**fourth_best_linear(p)),
    "CLUCB2T": lambda p: tr.CLUCB2T(checkpoint=50, **fourth_best_linear(p)),
    "CLUCB2, unknown": lambda p: tr.CLUCB2(**(fourth_best_linear(p) | {"baseline_mean": None})),
    "Safe LinTS": lambda p: tr.Safe(
        tr.LinTS(width="theorem", noise=0.1, lam=0.5), **fourth_best_linear(p)
    ),
    "Safe SoftUCB": lambda p: tr.Safe(tr.SoftUCB(beta=0.3, lam=0.5), **fourth_best_linear(p)),
}


@thorough
@pytest.mark.parametrize("variants", ["Conservative", "Safe"])
def test_linear_variants_are_safe_and_the_improved_one_is_better(variants):
    """Those of Conservative are one type, compiled once; every policy inside Safe is another."""
    problems = spread_models(20)
    wrapped = variants == "Safe"
    policies = {
        name: of
        for name, of in LINEAR.items()
        if name in ("LinUCB", "CLUCB", "CLUCB2") or name.startswith("Safe") == wrapped
    }
    monitors = {
        name: lambda p, T=50 if name == "CLUCB2T" else 1: tr.Budget(
            baseline=fourth_best(p)["baseline"], alpha=0.2, checkpoint=T
        )
        for name in policies
    }
    result = tr.simulate(
        problems, policies, horizon=500, replications=RUNS, monitor=monitors, checkpoints=[500]
    )
    assert (result.watched["LinUCB"]["violations"] > 0).mean() > 0.5
    for name in list(policies)[1:]:
        assert result.watched[name]["violations"].sum() == 0, name
        assert (result.pulls[name].max(axis=1) < 500).any()  # it does explore
    difference = result.regret["CLUCB2"][:, -1] - result.regret["CLUCB"][:, -1]
    assert difference.mean() < -4 * standard_error(difference)


@thorough
def test_contextual_guarantee_and_regret():
    problem = tr.problems.ContextualSpread(
        unit_rows(np.random.default_rng(1), 1, 4)[0], arms=8, noise=0.1
    )
    given = {"sigma": 0.1, "lam": 0.5, "alpha": 0.3}
    policies = {
        "CLUCB": tr.CLUCB(**given),
        "CLUCB2": tr.CLUCB2(**given),
        "sub-Gaussian": tr.CLUCB2(**given, martingale="subgaussian"),
        "literal": tr.CLUCB2(**given, clip="paper"),
    }
    result = tr.simulate(
        problem,
        policies,
        horizon=800,
        replications=RUNS,
        monitor=tr.Budget(alpha=0.3),
        checkpoints=[800],
    )
    for name in policies:
        assert result.watched[name]["violations"].sum() == 0, name
    final = {name: curve[:, -1] for name, curve in result.regret.items()}
    for better, worse in (("sub-Gaussian", "CLUCB"), ("CLUCB2", "literal")):
        difference = final[better] - final[worse]
        assert difference.mean() < -4 * standard_error(difference), (better, worse)


def test_martingale_bound_and_constrained_selection_lower_the_regret():
    problems = bernoulli_models(10)
    policies = {
        "CUCB": lambda p: tr.CUCB(**fourth_best(p)),
        "M": lambda p: tr.CUCB(bound="martingale", **fourth_best(p)),
        "CUCB2": lambda p: tr.CUCB2(**fourth_best(p)),
        "Or": lambda p: tr.CUCB(bound="oracle", true_means=p.means, **fourth_best(p)),
    }
    result = tr.simulate(
        problems,
        policies,
        horizon=20_000,
        replications=60,
        checkpoints=[20_000],
        monitor=tr.Budget(baseline=0),
    )
    final = {name: curve[:, -1] for name, curve in result.regret.items()}
    for better, worse in (("M", "CUCB"), ("CUCB2", "CUCB"), ("Or", "CUCB2")):
        difference = final[better] - final[worse]
        assert difference.mean() < -4 * standard_error(difference), (better, worse)


def test_budget_monitor_counts_what_happened():
    means = np.array([0.2, 0.8, 0.5])
    policy = tr.CUCB2(baseline=2, baseline_mean=0.5, sigma=0.5)
    every = np.arange(1, 401)
    for item in (policy, tr.UCB()):
        result = tr.simulate(
            tr.problems.Bernoulli(means),
            item,
            horizon=400,
            checkpoints=every,
            monitor=tr.Budget(baseline=2, alpha=0.1),
        )
        name = result.policies[0]
        record = {key: value[0] for key, value in result.watched[name].items()}
        played = means.max() - np.diff(
            np.r_[0.0, result.regret[name][0]]
        )  # the mean of every round's arm
        budget = np.cumsum(played - 0.9 * 0.5)
        np.testing.assert_allclose(record["budget"], budget, atol=1e-9)
        np.testing.assert_allclose(record["lowest"], budget.min(), atol=1e-9)
        assert record["violations"][0] == (budget < -1e-6).sum()
        assert record["events"][:, 2].tolist() == np.cumsum(np.isclose(played, 0.5)).tolist()
        assert record["events"].sum(axis=1).tolist() == every.tolist()


BAD = [
    (lambda: tr.CUCB(baseline=0, alpha=0.0), r"alpha = 0.0 .*\(0, 1\)"),
    (lambda: tr.CUCB2(baseline=0, alpha=1.0), r"alpha = 1.0 .*\(0, 1\)"),
    (lambda: tr.CUCB2(baseline=-1), "baseline = -1"),
    (
        lambda: tr.Session(tr.CUCB2(baseline=4), arms=4),
        "baseline = 4 is not an arm; the arms are 0 to 3",
    ),
    (lambda: tr.CUCB2(baseline=0, baseline_mean=1.2), r"baseline_mean = 1.2 .*\[0, 1\]"),
    (lambda: tr.CUCB2T(baseline=0, checkpoint=[3, 8, 8]), r"checkpoint\[2\] = 8 .*increase"),
    (lambda: tr.CUCB2T(baseline=0, checkpoint=0), "checkpoint = 0"),
    (lambda: tr.CUCB2T(baseline=0, checkpoint=[5, 8], min_gap=4), r"min_gap = 4"),
    (
        lambda: tr.Session(tr.CLUCB2(baseline=0), arms=[[2.0, 0.0], [0.0, 1.0]]),
        "arm 0 has norm 2.*arm_bound",
    ),
    (lambda: tr.Session(tr.CLUCB2(), arms=3).select(), "baseline is missing"),
    (lambda: tr.Session(tr.CUCB(baseline=0, bound="oracle"), arms=3), "true_means"),
    (lambda: tr.Session(tr.CLUCB2(), arms=2, dimension=2).select(np.eye(2)), "baseline is missing"),
    (
        lambda: tr.Session(tr.CLUCB2(), arms=2, dimension=2).select(
            Context(np.eye(2), None, 2, 0.5)
        ),
        "baseline = 2",
    ),
    (
        lambda: tr.Session(tr.CLUCB2(), arms=2, dimension=2).select(
            Context(np.eye(2), None, 0, 1.5)
        ),
        "baseline_mean = 1.5",
    ),
    (
        lambda: tr.Session(tr.CLUCB2(baseline=0), arms=2, dimension=2).select(3 * np.eye(2)),
        "arm 0 has norm 3",
    ),
    (lambda: tr.Budget(baseline=0, alpha=2), "alpha = 2"),
    (
        lambda: tr.Session(tr.Safe(tr.LinUCB(), baseline=0), arms=3),
        "Safe plays by features",
    ),
    (lambda: tr.Session(tr.Safe(tr.KLUCB(), baseline=0), arms=3).update(0, 2.0), "reward"),
    (
        lambda: tr.simulate(
            tr.problems.Bernoulli([0.5]), tr.UCB(), horizon=3, monitor=tr.Budget(baseline=1)
        ),
        "baseline = 1",
    ),
]


@pytest.mark.parametrize(("make", "message"), BAD)
def test_bad_input_is_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_safe_takes_its_policy_without_a_name():
    assert tr.Safe(tr.UCB(), baseline=0).inner == tr.Safe(inner=tr.UCB(), baseline=0).inner
    with pytest.raises(TypeError, match="without a name"):
        tr.Safe(tr.UCB(), 0)


def test_explanation_says_why():
    session = tr.Session(tr.CUCB2(baseline=1, baseline_mean=0.5, alpha=0.1, sigma=0.1), arms=3)
    report = session.explain()
    assert report["event"] == "baseline"
    assert "short of" in report["reason"]
    assert "arm 0" in report["reason"]
    assert report["safe"].tolist() == [False, False, False]
    while report["event"] == "baseline":
        assert session.select() == 1
        session.update(1, 1.0)
        report = session.explain()
    assert report["event"] == "ucb"
    assert report["safe"].any()
    assert report["budget_bound"] == pytest.approx(0.1 * 0.5 * session.rounds - report["psi"])


def test_safe_probability_is_how_often_select_plays_the_arm():
    policy = tr.Safe(
        tr.BetaThompson(),
        baseline=1,
        baseline_mean=0.5,
        alpha=0.5,
        sigma=0.1,
        selection="constrained",
    )
    session = tr.Session(policy, arms=4, seed=1)
    rng, draws, mixed = np.random.default_rng(0), 10_000, False
    while not mixed:  # until some arms are safe, others are not, and more than one may be played
        assert session.rounds < 300
        arm = session.select()
        session.update(arm, float(rng.random() < (0.2, 0.5, 0.7, 0.4)[arm]))
        report = session.explain()
        probability = report["probability"]
        mixed = (
            report["safe"].any() and not report["safe"].all() and (probability > 0.05).sum() >= 2
        )
    assert (
        np.abs(probability - report["inner"]["probability"]) > 0.02
    ).any()  # wishes for arms that are not safe went elsewhere
    chosen = [
        select(policy, session.state, tr.Context(), rng) for _ in range(draws)
    ]  # proposed only: no decision is opened
    played = np.bincount(chosen, minlength=4) / draws
    assert (
        np.abs(played - probability) <= 4 * np.sqrt(probability * (1 - probability) / draws)
    ).all()


def test_an_ineligible_baseline_leaves_the_least_risky_arm():
    policy = tr.CUCB2(baseline=1, baseline_mean=0.5, sigma=0.01)
    for item in (policy, tr.Safe(tr.UCB(), baseline=1, baseline_mean=0.5, sigma=0.01)):
        session = tr.Session(item, arms=3)
        mask = np.array([True, False, True])
        for _ in range(20):
            session.update(session.select(eligible=mask), 0.2)  # so far behind that nothing is safe
        report = session.explain(eligible=mask)
        arm = session.select(eligible=mask)
        assert report["probability"][arm] == 1.0
        assert arm == int(np.argmax(np.where(mask, report["total"], -np.inf)))
        assert not report["safe"].any()
        assert report["event"] == "unsafe"
        for words in (f"arm {arm}", "no arm is safe", "risks least", "promise does not hold"):
            assert words in report["reason"]


def test_events_of_constrained_selection():
    """Where every arm is safe, the arm of the largest upper bound is the learner's own choice,
    whatever the baseline's own bound."""
    means, X = [0.6, 0.76, 0.5], np.array([[1, 0], [0.6, 0.8], [0, 1.0]])
    session = tr.Session(tr.CLUCB2(baseline=0, baseline_mean=0.6, alpha=0.5, sigma=0.05), arms=X)
    counts = {"ucb": 0, "safe-other": 0, "baseline": 0}
    for _ in range(200):
        report, arm = session.explain(), session.select()
        counts[report["event"]] += 1
        others = [k for k in (1, 2) if report["safe"][k]]
        expected = max(others, key=lambda k: report["upper"][k]) if others else 0
        assert arm == (expected if others and report["upper"][expected] >= 0.6 else 0)
        if report["safe"].all() and arm != 0:
            assert report["event"] == "ucb"
        session.update(arm, means[arm])
    assert counts["ucb"] > 150


LATE = {
    "Fixed(10)": tr.delays.Fixed(10),
    "Fixed(200)": tr.delays.Fixed(200),
    "Geometric(60)": tr.delays.Geometric(60),
    "Batched(100)": tr.delays.Batched(100),
    "ByReward(10, 200)": tr.delays.ByReward(10, 200),
}


def late_policies():
    """Policies of the family by problem, and every how many rounds each is verified."""
    given = lambda p: fourth_best(p) | {"alpha": 0.1}  # noqa: E731
    return {
        "CUCB2": (lambda p: tr.CUCB2(**given(p)), 1),
        "CUCB": (lambda p: tr.CUCB(**given(p)), 1),
        "CUCB2T": (lambda p: tr.CUCB2T(**given(p), checkpoint=50), 50),
        "unknown": (lambda p: tr.CUCB2(**(given(p) | {"baseline_mean": None})), 1),
        "Safe Thompson": (lambda p: tr.Safe(tr.BetaThompson(), **given(p)), 1),
    }


def kept(result, runs, horizon):
    """No verified round broke the budget, and the learner did play."""
    for name, watched in result.watched.items():
        assert watched["violations"].sum() == 0, name
        assert watched["minimum"].min() >= -1e-6, name
        assert (result.pulls[name].max(axis=1) < horizon).sum() > runs / 2, name


@thorough
@pytest.mark.parametrize("late", LATE)
def test_no_violation_with_open_decisions(late):
    """Whatever the delay, also one that depends on the reward: an open decision has earned nothing
    yet."""
    delay = LATE[late]
    chosen = late_policies()
    monitors = {
        n: lambda p, T=T: tr.Budget(fourth_best(p)["baseline"], alpha=0.1, checkpoint=T)
        for n, (_, T) in chosen.items()
    }
    policies = {name: policy for name, (policy, _) in chosen.items()}
    result = tr.simulate(
        bernoulli_models(50),
        policies,
        horizon=6000,
        replications=50,
        monitor=monitors,
        checkpoints=[6000],
        delay=delay,
    )
    kept(result, 50, 6000)


@thorough
def test_linear_policies_have_no_violation_with_open_decisions():
    def of(name, rule, problem):
        given = fourth_best_linear(problem) | {"open": rule}
        return (
            tr.Safe(tr.LinTS(width="theorem", noise=0.1, lam=0.5), **given)
            if name == "Safe"
            else getattr(tr, name)(**given)
        )

    cells = itertools.product(("CLUCB", "CLUCB2", "Safe"), ("nothing", "lower"))
    policies = {
        f"{name} {rule}": lambda p, name=name, rule=rule: of(name, rule, p) for name, rule in cells
    }
    monitor = lambda p: tr.Budget(baseline=fourth_best(p)["baseline"], alpha=0.2)  # noqa: E731
    given = {"horizon": 3000, "replications": 10, "checkpoints": [3000], "monitor": monitor}
    for delay in (LATE["Fixed(10)"], LATE["Fixed(200)"], LATE["Geometric(60)"]):
        kept(tr.simulate(spread_models(10), policies, delay=delay, **given), 10, 3000)
    nothing = {name: policy for name, policy in policies.items() if name.endswith("nothing")}
    kept(
        tr.simulate(
            spread_models(10), nothing, delay=LATE["ByReward(10, 200)"], apply="in order", **given
        ),
        10,
        3000,
    )


@thorough
def test_contextual_policies_have_no_violation_with_open_decisions():
    problem = tr.problems.ContextualSpread(
        unit_rows(np.random.default_rng(1), 1, 4)[0], arms=8, noise=0.1
    )
    policies = {
        f"{name} {rule}": getattr(tr, name)(sigma=0.1, lam=0.5, alpha=0.3, open=rule)
        for name, rule in itertools.product(("CLUCB", "CLUCB2"), ("nothing", "lower"))
    }
    for delay in (LATE["Fixed(10)"], LATE["Fixed(200)"], LATE["Batched(100)"]):
        result = tr.simulate(
            problem,
            policies,
            horizon=2000,
            replications=20,
            checkpoints=[2000],
            monitor=tr.Budget(alpha=0.3),
            delay=delay,
        )
        kept(result, 20, 2000)


def set_models(count, N=20, d=4, k=3, seed=0):
    found = []
    for number in range(count):
        rng = np.random.default_rng([seed, number])
        X, theta = np.abs(unit_rows(rng, N, d)), np.abs(unit_rows(rng, 1, d)[0])
        found.append(tr.problems.SemiBandit(X, theta, tr.oracles.TopK(k), noise=0.1))
    return found


def good_set(problem):
    """Close to the best: an unguarded learner falls behind it at first."""
    chosen = np.argsort(-problem.means)[[0, 2, 3]]
    return chosen, float(problem.means[chosen].sum())


@thorough
@pytest.mark.parametrize("late", ["None", *LATE])
def test_sets_have_no_violation_with_and_without_open_decisions(late):
    """Known and learned baselines, optimistic and sampled sets; Gaussian noise of 0.1 around means
    of 0.3 and more is hardly negative."""
    delay = LATE.get(late)

    def guarded(inner, known):
        def of(problem):
            arms, v = good_set(problem)
            return tr.SafeSets(
                inner,
                baseline=arms,
                baseline_mean=v if known else None,
                alpha=0.1,
                sigma=0.1,
                lam=0.5,
            )

        return of

    inner = {"C2UCB": tr.C2UCB(alpha=2.0), "CombTS": tr.CombTS(v=0.5)}
    policies = (
        dict(inner) if delay is None else {}
    )  # unguarded: that the promise is worth something here is shown once
    policies |= {f"safe {name}": guarded(item, True) for name, item in inner.items()} | {
        "learned": guarded(inner["C2UCB"], False)
    }
    monitor = lambda p: tr.Budget(good_set(p)[0], alpha=0.1)  # noqa: E731
    given = {
        "horizon": 700,
        "replications": 8 if delay is None else 5,
        "checkpoints": [700],
        "monitor": monitor,
    }
    result = tr.simulate(set_models(8), policies, delay=delay, apply="in order", **given)
    if delay is None:
        assert (result.watched["C2UCB"]["violations"] > 0).mean() > 0.5
    for name in policies:
        if name not in inner:
            watched = result.watched[name]
            assert watched["violations"].sum() == 0, name
            assert (watched["events"][:, -1, :2].sum(axis=1) > 0).any(), (
                name
            )  # it does play its own


def test_every_segment_keeps_its_promise_where_one_ledger_for_all_breaks_it():
    """An arm that is good in nine rounds of ten is bad in the rare segment: one ledger lets the
    common segment pay for it."""
    means, common, baseline, alpha, runs, rounds = (
        np.array([[0.5, 0.9], [0.5, 0.1]]),
        0.9,
        0.5,
        0.2,
        60,
        1500,
    )
    safe = tr.Safe(tr.UCB(), baseline=0, baseline_mean=baseline, alpha=alpha, sigma=0.5)
    lowest, explored = (
        {"one": np.zeros((runs, 2)), "each": np.zeros((runs, 2))},
        {"one": 0, "each": 0},
    )
    for name, policy in (("one", safe), ("each", tr.SafeSegments(safe, segments=2))):
        for run in range(runs):
            rng = np.random.default_rng([5, run])
            segments, draws = (rng.random(rounds) > common).astype(int), rng.random(rounds)
            session, budget = tr.Session(policy, arms=2), np.zeros(2)
            for s, u in zip(segments.tolist(), draws, strict=True):
                context = Context(segment=s)
                arm = session.select(context)
                session.update(arm, float(u < means[s, arm]))
                budget[s] += means[s, arm] - (1.0 - alpha) * baseline
                lowest[name][run] = np.minimum(lowest[name][run], budget)
                explored[name] += arm
    assert (lowest["one"][:, 1] < -1.0).mean() > 0.5
    assert lowest["each"].min() >= -1e-9
    assert explored["each"] > 0.2 * explored["one"]


@thorough
def test_the_lower_bound_of_open_decisions_costs_less_and_breaks_where_the_delay_depends_on_the_reward():
    """Purchases reported at once and the others much later: what is in looks better than it is."""
    policies = {
        rule: lambda p, rule=rule: tr.CUCB2(open=rule, **fourth_best(p))
        for rule in ("nothing", "lower")
    }
    given = {
        "horizon": 20_000,
        "replications": 50,
        "monitor": lambda p: tr.Budget(fourth_best(p)["baseline"]),
        "checkpoints": [20_000],
    }
    on_time = tr.simulate(bernoulli_models(50), policies, delay=LATE["Fixed(200)"], **given)
    kept(on_time, 50, 20_000)
    difference = on_time.regret["lower"][:, -1] - on_time.regret["nothing"][:, -1]
    assert difference.mean() < -4 * standard_error(difference)
    biased = tr.simulate(
        bernoulli_models(50), policies, delay=tr.delays.ByReward(50, 1000), **given
    )
    assert biased.watched["nothing"]["violations"].sum() == 0
    assert (biased.watched["lower"]["violations"] > 0).mean() > 0.5


def test_an_explanation_says_what_is_open():
    given = {"baseline": 0, "baseline_mean": 0.5, "alpha": 0.5, "sigma": 0.05}
    for rule in ("nothing", "lower"):
        session = tr.Session(tr.CUCB2(open=rule, **given), arms=3)
        policy, state, played = session.policy, session.state, []
        for t in range(60):
            arm = select(policy, state, Context(), None)
            state = commit(policy, state, Context(), arm)
            if t < 50:
                state = update(policy, state, Context(), arm, (0.5, 0.8, 0.4)[arm])
            else:
                played.append(arm)
        report = explain(policy, state, Context(), None)
        own = [arm for arm in played if arm != 0]
        assert own
        assert report["open"]["decisions"] == len(own)
        assert report["open"]["baseline"] == len(played) - len(own)
        charged = 0.0 if rule == "nothing" else report["lower"][own].sum()
        assert report["open"]["charged"] == pytest.approx(charged)


def test_a_long_silence_lowers_the_bound():
    """psi grows with every decision, and an open one has earned nothing: the bound of the budget
    falls until rewards come in."""
    policy = tr.CUCB2(baseline=0, baseline_mean=0.5, alpha=0.3, sigma=0.05)
    state, bounds = tr.Session(policy, arms=2).state, []
    for _ in range(200):
        arm = select(policy, state, Context(), None)
        state = update(
            policy, commit(policy, state, Context(), arm), Context(), arm, 0.5 + 0.2 * arm
        )
    while (arm := select(policy, state, Context(), None)) == 1:
        state = commit(policy, state, Context(), arm)
        bounds.append(explain(policy, state, Context(), None)["budget_bound"])
    assert len(bounds) > 3
    assert (np.diff(bounds) < 0).all()
