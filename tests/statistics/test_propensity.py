"""The propensity that a policy states is how often it makes the choice: chi-square tests over many
selections from one state."""

import numpy as np
import pytest
from scipy.stats import chi2

import tightrope as tr
from standard import problems
from tiers import thorough
from tightrope.compiled.kernels import jit
from tightrope.core.policy import accepts, label
from tightrope.core.streams import AUDIT, stream
from tightrope.core.verbs import Context, begin, explain, propensity, select, update
from tightrope.simulation.loops import AtOnce, World, fixed_horizon, new_log, prepare
from tightrope.simulation.monitors import NoMonitor

DRAWS = 100_000
MASK = np.array([True, False, True, True, True, False])
PROBLEMS = problems()
STOCHASTIC = [
    (tr.EpsilonGreedy(epsilon=0.2), "bernoulli"),
    (tr.BetaThompson(), "bernoulli"),
    (tr.BetaThompson(a=0.5, b=2), "bernoulli"),
    (tr.BetaThompson(a=0.5, b=2, forget=0.9), "bernoulli"),
    (tr.GaussianThompson(), "bernoulli"),
    (tr.LinEpsilonGreedy(epsilon=0.2), "linear"),
    (tr.LinTS(scale=0.5), "linear"),
    (tr.LinTS(width="theorem", noise=0.1), "linear"),
    (tr.SquareCB(gamma=20.0), "linear"),
    (tr.LogisticTS(), "clicks"),
    pytest.param(tr.LinTS(scale=0.5), "linear, K < d", marks=thorough),
    (tr.SoftUCB(beta=0.4), "linear"),
    (tr.SoftUCB(online=True), "linear"),
    (tr.Explore(tr.UCB(), floor=0.05), "bernoulli"),
    (tr.Explore(tr.LinTS(scale=0.3), floor=0.03), "linear"),
    (tr.Safe(tr.BetaThompson(), baseline=1, baseline_mean=0.3, alpha=0.6, sigma=0.2), "bernoulli"),
    pytest.param(
        tr.Safe(
            tr.Explore(tr.LinUCB(), floor=0.05), baseline=1, baseline_mean=0.3, alpha=0.6, sigma=0.2
        ),
        "linear",
        marks=thorough,
    ),
]


@jit
def count_choices(policy, state, context, rng, hits, draws):
    for _ in range(draws):
        hits[select(policy, state, context, rng)] += 1.0


def learned(policy, problem, rounds=60):
    run = prepare(policy, World(problem), 5, 0, rounds)
    log, tally = new_log(np.array([rounds]), run.arms.number), begin(NoMonitor(), run.arms, 1)
    state, _ = fixed_horizon(
        run.policy,
        run.state,
        run.problem,
        AtOnce(),
        NoMonitor(),
        tally,
        log,
        0,
        rounds,
        *run.streams,
        run.late,
    )
    return state, run.arms.number


def distance(hits, draws, chance, error):
    """Sum of squared standardised differences, with the error of an estimated propensity counted
    in."""
    share = hits / draws
    assert share[chance == 0.0].sum() == 0.0
    open_ = chance > 0.0
    variance = chance * (1.0 - chance) / draws + error**2
    return float(((share - chance)[open_] ** 2 / np.maximum(variance[open_], 1e-12)).sum()), int(
        open_.sum()
    )


@pytest.mark.parametrize("masked", [False, pytest.param(True, marks=thorough)])
@pytest.mark.parametrize(
    ("policy", "kind"), STOCHASTIC, ids=lambda item: item if isinstance(item, str) else label(item)
)
def test_choices_are_as_frequent_as_stated(policy, kind, masked):
    state, K = learned(policy, PROBLEMS[kind])
    context = Context(eligible=MASK[:K].copy() if masked else None)
    audit = stream(1, 0, AUDIT)
    stated = np.array([propensity(policy, state, context, k, audit) for k in range(K)])
    hits = np.zeros(K)
    count_choices(policy, state, context, np.random.default_rng(8), hits, DRAWS)
    value, cells = distance(hits, DRAWS, stated[:, 0], stated[:, 1])
    assert value < chi2.ppf(1 - 1e-5, cells), (stated, hits / DRAWS)
    told = explain(policy, state, context, stream(2, 0, AUDIT))
    error = np.sqrt(stated[:, 1] ** 2 + told.get("probability_se", np.zeros(K)) ** 2)
    assert (
        np.abs(told["probability"] - stated[:, 0]) <= 1e-6 + 5 * error + 1e-4 * (error > 0)
    ).all()
    wrong = np.roll(stated, 1, axis=0)  # shifted by one arm: the test must see it
    assert (hits[wrong[:, 0] == 0] > 0).any() or distance(hits, DRAWS, wrong[:, 0], wrong[:, 1])[
        0
    ] > 1e3


@pytest.mark.parametrize(
    "policy",
    [
        tr.PC2UCB(),
        tr.CombTS(),
        tr.CombTS(randomization="arm"),
        tr.CombTS(randomization="shared"),
        tr.CombTS(randomization="shared", ties="random"),
        tr.CombThompson(),
        tr.CombThompson(randomization="shared"),
        tr.C2UCB(ties="random"),
        tr.CombLinTS(),
        tr.SafeSets(tr.CombTS(v=0.3), baseline=[0, 1, 2], baseline_mean=0.0),
    ],
    ids=label,
)
def test_inclusion_of_sets_is_as_frequent_as_stated(policy, rng):
    problem = PROBLEMS["sets"]
    run = prepare(policy, World(problem), 5, 0, 10)
    state, context, draws = run.state, Context(), 3000
    for _ in range(8):
        chosen = select(policy, state, context, rng)
        state = update(policy, state, context, chosen, rng.normal(size=chosen.size))
    hits = np.zeros(run.arms.number)
    for _ in range(draws):
        hits[select(policy, state, context, rng)] += 1.0
    p, error = propensity(policy, state, context, np.arange(run.arms.number), stream(1, 0, AUDIT))
    assert np.abs(hits / draws - p).max() < 4.5 * np.sqrt(0.25 / draws + error.max() ** 2)
    assert p.sum() == pytest.approx(problem.oracle.k, abs=1e-6)


def test_certain_choices_have_propensity_one():
    problem = PROBLEMS["linear"]
    for policy in (tr.LinUCB(), tr.UCB(), tr.KLUCB(divergence="gaussian")):
        state, K = learned(policy, problem)
        chosen = select(policy, state, Context(), np.random.default_rng(0))
        stated = [propensity(policy, state, Context(), k, stream(1, 0, AUDIT)) for k in range(K)]
        assert stated == [(1.0 if k == chosen else 0.0, 0.0) for k in range(K)]


def test_floor_is_kept_and_checked():
    with pytest.raises(
        ValueError, match=r"floor = 0.3 is too much for 5 arms; give at most 1 / 5 = 0.2"
    ):
        tr.Session(tr.Explore(tr.UCB(), floor=0.3), arms=5)
    with pytest.raises(
        ValueError, match=r"keeps a guarantee that a floor would break; put it outside"
    ):
        tr.Session(tr.Explore(tr.CUCB2(baseline=0, baseline_mean=0.5)), arms=5)
    session = tr.Session(tr.Explore(tr.UCB(), floor=0.04), arms=5, seed=1)
    for _ in range(200):
        arm = session.select()
        session.update(arm, 0.1 * arm)
    assert session.explain()["probability"].min() == pytest.approx(0.04)
    eligible = np.array([True, True, False, False, False])
    assert sorted(session.explain(eligible=eligible)["probability"]) == pytest.approx(
        [0, 0, 0, 0.04, 0.96]
    )


SPREADING = [
    (tr.EpsilonGreedy(epsilon=0.3), 0.3),
    (tr.EpsilonGreedy(epsilon=1.0), 1.0),
    (tr.EpsilonGreedy(epsilon=0.0), 0.0),
    (tr.BetaThompson(), 0.0),
    (tr.GaussianThompson(), 0.0),
    (tr.GaussianThompson(alpha=0.5, forget=0.9), 0.0),
    (tr.Explore(tr.UCB(), floor=0.05), 0.15),
    (tr.Explore(tr.EpsilonGreedy(epsilon=0.0), floor=0.05), 0.15),
    (tr.LinEpsilonGreedy(epsilon=0.3), 0.3),
    (tr.LinEpsilonGreedy(epsilon=0.3, shared=False), 0.3),
    (tr.LinTS(), 0.0),
    (tr.LinTS(shared=False), 0.0),
    (tr.LinTS(scale=0.5, shared=False), 0.0),
    (tr.LinTS(forget=0.9), 0.0),
    (tr.LogisticTS(), 0.0),
    (tr.LogisticTS(shared=False), 0.0),
    (tr.LinMED(), 1e-9),
    (tr.SoftUCB(), 0.0),
    (tr.SoftUCB(shared=False), 0.0),
    (tr.SquareCB(), 1e-9),
    (tr.SquareCB(shared=False), 1e-9),
    (tr.Explore(tr.LinUCB(), floor=0.05), 0.15),
]


@pytest.mark.parametrize(
    ("policy", "uniform"),
    SPREADING,
    ids=lambda item: str(item) if isinstance(item, float) else label(item),
)
def test_decisions_that_wait_for_rewards_are_spread_and_keep_the_floor(policy, uniform, rng):
    """EpsilonGreedy played one arm with certainty until its first reward was in, and whatever was
    added to it or to Thompson sampling.

    uniform: the part of the choices that is spread evenly.
    """
    linear, apart = "arms" not in accepts(policy), getattr(policy, "shared", 1) == 0
    more = {"dimension": 2} if linear else {}

    def batch():
        K = session.arms.number
        rows = (
            {"contexts": rng.normal(size=(300, 2) if apart else (300, K, 2))}
            if linear
            else {"number": 300}
        )
        made = session.decide_many(**rows)
        share = np.bincount(made.arm, minlength=K) / 300
        assert (made.propensity >= uniform / K - 1e-12).all()
        assert (share >= uniform / K - 4 * np.sqrt(0.25 / 300)).all()
        assert share.max() < 0.98
        assert made.propensity.max() < 1.0
        return share

    session = tr.Session(policy, arms=["a", "b", "c"], seed=4, **more)
    share = batch()
    if not isinstance(
        policy, tr.Explore | tr.LinMED
    ):  # of those most is for one arm that is the best by its estimate
        assert (share > 0.15).all()  # nothing tells them apart
    session = tr.Session(policy, arms=["a", "b", "c"], seed=4, **more)
    for i in range(60):
        row = {"context": rng.normal(size=2 if apart else (3, 2))} if linear else {}
        session.update(i % 3, float(rng.random() < 0.3 + 0.3 * (i % 3)), **row)
    session.add_arms(["d"])
    batch()
    mask = np.array([True, False, True, True])
    rows = {"context": rng.normal(size=2 if apart else (4, 2))} if linear else {}
    told = session.explain(eligible=mask, **rows)["probability"]
    assert told[1] == 0.0
    assert told.sum() == pytest.approx(1.0)
    hits = (
        np.bincount([session.decide(eligible=mask, **rows).arm for _ in range(2000)], minlength=4)
        / 2000
    )
    np.testing.assert_allclose(hits, told, atol=4 * np.sqrt(0.25 / 2000) + 0.01)
