"""The propensity that a policy states is how often it makes the choice: chi-square tests over many selections from one state."""

import numpy as np
import pytest
from scipy.stats import chi2

import tightrope as tr
from standard import problems
from tiers import thorough
from tightrope.compiled.kernels import jit
from tightrope.core.policy import label
from tightrope.core.streams import AUDIT, stream
from tightrope.core.verbs import Context, begin, explain, propensity, select, update
from tightrope.simulation.loops import fixed_horizon, new_log
from tightrope.simulation.monitors import NoMonitor
from tightrope.simulation.pending_rewards import AtOnce
from tightrope.simulation.replication import prepare

DRAWS = 100_000
MASK = np.array([True, False, True, True, True, False])
PROBLEMS = problems()
STOCHASTIC = [
    (tr.EpsilonGreedy(epsilon=0.2), "bernoulli"),
    (tr.BetaThompson(), "bernoulli"),
    (tr.GaussianThompson(), "bernoulli"),
    (tr.LinEpsilonGreedy(epsilon=0.2), "linear"),
    (tr.LinTS(scale=0.5), "linear"),
    (tr.LogisticTS(), "clicks"),
    pytest.param(tr.LinTS(scale=0.5), "linear, K < d", marks=thorough),
    (tr.SoftUCB(beta=0.4), "linear"),
    (tr.SoftUCB(online=True), "linear"),
    (tr.Explore(tr.UCB(), floor=0.05), "bernoulli"),
    (tr.Explore(tr.LinTS(scale=0.3), floor=0.03), "linear"),
    (tr.Safe(tr.BetaThompson(), baseline=1, baseline_mean=0.3, alpha=0.6, sigma=0.2), "bernoulli"),
    pytest.param(
        tr.Safe(tr.Explore(tr.LinUCB(), floor=0.05), baseline=1, baseline_mean=0.3, alpha=0.6, sigma=0.2), "linear", marks=thorough
    ),
]


@jit
def count_choices(policy, state, context, rng, hits, draws):
    for _ in range(draws):
        hits[select(policy, state, context, rng)] += 1.0


def learned(policy, problem, rounds=60):
    run = prepare(policy, problem, 5, 0, rounds)
    log, tally = new_log(np.array([rounds]), run.arms.number), begin(NoMonitor(), run.arms, 1)
    state = fixed_horizon(run.policy, run.state, run.problem, AtOnce(), NoMonitor(), tally, log, 0, rounds, *run.streams, run.late)
    return state, run.arms.number


def distance(hits, draws, chance, error):
    """Sum of squared standardised differences, with the error of an estimated propensity counted in."""
    share = hits / draws
    assert share[chance == 0.0].sum() == 0.0
    open_ = chance > 0.0
    variance = chance * (1.0 - chance) / draws + error**2
    return float(((share - chance)[open_] ** 2 / np.maximum(variance[open_], 1e-12)).sum()), int(open_.sum())


@pytest.mark.parametrize("masked", [False, pytest.param(True, marks=thorough)])
@pytest.mark.parametrize(("policy", "kind"), STOCHASTIC, ids=lambda item: item if isinstance(item, str) else label(item))
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
    assert (np.abs(told["probability"] - stated[:, 0]) <= 1e-6 + 5 * error + 1e-4 * (error > 0)).all()
    wrong = np.roll(stated, 1, axis=0)  # shifted by one arm: the test must see it
    assert (hits[wrong[:, 0] == 0] > 0).any() or distance(hits, DRAWS, wrong[:, 0], wrong[:, 1])[0] > 1e3


@pytest.mark.parametrize(
    "policy",
    [
        tr.PC2UCB(),
        tr.CombTS(),
        tr.CombTS(randomization="arm"),
        tr.C2UCB(ties="random"),
        tr.CombLinTS(),
        tr.SafeSets(tr.CombTS(v=0.3), baseline=[0, 1, 2], baseline_mean=0.0),
    ],
    ids=label,
)
def test_inclusion_of_sets_is_as_frequent_as_stated(policy):
    problem = PROBLEMS["sets"]
    run = prepare(policy, problem, 5, 0, 10)
    state, context, draws = run.state, Context(), 3000
    rng = np.random.default_rng(3)
    for _ in range(8):
        chosen = select(policy, state, context, rng)
        state = update(policy, state, context, chosen, rng.normal(size=chosen.size))
    hits = np.zeros(run.arms.number)
    for _ in range(draws):
        hits[select(policy, state, context, rng)] += 1.0
    everything = np.arange(run.arms.number)
    p, error = propensity(policy, state, context, everything, stream(1, 0, AUDIT))
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
    with pytest.raises(ValueError, match=r"floor = 0.3 is too much for 5 arms; give at most 1 / 5 = 0.2"):
        tr.Session(tr.Explore(tr.UCB(), floor=0.3), arms=5)
    with pytest.raises(ValueError, match=r"keeps a guarantee that a floor would break; put it outside"):
        tr.Session(tr.Explore(tr.CUCB2(baseline=0, baseline_mean=0.5)), arms=5)
    session = tr.Session(tr.Explore(tr.UCB(), floor=0.04), arms=5, seed=1)
    for _ in range(200):
        arm = session.select()
        session.update(arm, 0.1 * arm)
    assert session.explain()["probability"].min() == pytest.approx(0.04)
    eligible = np.array([True, True, False, False, False])
    assert sorted(session.explain(eligible=eligible)["probability"]) == pytest.approx([0, 0, 0, 0.04, 0.96])
