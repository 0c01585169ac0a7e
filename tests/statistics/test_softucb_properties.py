"""What the paper proves of SoftUCB, and what a user of its propensities relies on."""

import math

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import tightrope as tr
from standard import unit_rows
from tiers import thorough
from tightrope.numerics.counts import horizon_radius
from tightrope.simulation.training import _status


def trained_session(policy, X, rounds, seed=0, rewards=None):
    """A session after some rounds of its own choices."""
    session = tr.Session(policy, arms=X, horizon=max(rounds, 1), seed=seed)
    theta, noise = (
        unit_rows(np.random.default_rng(seed), 1, X.shape[1])[0],
        np.random.default_rng(seed + 1),
    )
    for _ in range(rounds):
        arm = session.select()
        session.update(
            arm,
            float(X[arm] @ theta + 0.3 * noise.standard_normal())
            if rewards is None
            else rewards(arm),
        )
    return session


CASES = {
    "seed": st.integers(0, 10_000),
    "K": st.integers(2, 12),
    "d": st.integers(1, 6),
    "rounds": st.integers(0, 60),
    "beta": st.floats(0.01, 3),
}


@thorough
@settings(max_examples=60, deadline=None)
@given(**CASES, mass=st.floats(0.5, 0.999))
def test_slack_softmax_and_mass_bound(seed, K, d, rounds, beta, mass):
    """S_i = UCB_i - max LCB = beta phi_i - (mu_* - mu_i); p sums to 1; Lemma 2: p(L) <= 1 - mass
    with gamma of this round."""
    X = unit_rows(np.random.default_rng(seed), K, d)
    report = trained_session(
        tr.SoftUCB(beta=beta, mass=mass, timing="fresh"), X, rounds, seed
    ).explain()
    S, p, w = report["slack"], report["probability"], report["width"] / beta
    np.testing.assert_allclose(S, report["upper"] - report["lower"].max(), atol=1e-12)
    star = report["leader"]
    np.testing.assert_allclose(
        S, beta * (w + w[star]) - (report["mean"][star] - report["mean"]), atol=1e-12
    )
    assert p.sum() == pytest.approx(1.0, abs=1e-12)
    assert (report["in_upper"] == (S >= 0)).all()
    assert S[star] >= 0
    assert p[~report["in_upper"]].sum() <= 1 - mass + 1e-12
    eliminated = int((S < 0).sum())
    expected = max(0.0, math.log(mass * eliminated / (1 - mass))) / S.max() if eliminated else 0.0
    assert report["gamma"] == pytest.approx(expected, rel=1e-9)


@settings(max_examples=25, deadline=None)
@given(**CASES)
def test_rotation_and_scale_change_nothing(seed, K, d, rounds, beta):
    """X Q with the same rewards; c X with c^2 lam; c times the rewards with c beta: the same
    probabilities."""
    rng = np.random.default_rng(seed)
    X, c = unit_rows(rng, K, d), 3.0
    Q = np.linalg.qr(rng.normal(size=(d, d)))[0]
    plan = [(int(rng.integers(K)), float(rng.normal())) for _ in range(rounds)]

    def probability(policy, features, scale=1.0):
        session = tr.Session(policy, arms=features)
        for arm, reward in plan:
            session.update(arm, scale * reward)
        return session.explain()["probability"]

    base = probability(tr.SoftUCB(beta=beta, lam=0.5), X)
    for other in (
        probability(tr.SoftUCB(beta=beta, lam=0.5), X @ Q),
        probability(tr.SoftUCB(beta=beta, lam=0.5 * c * c), c * X),
        probability(tr.SoftUCB(beta=c * beta, lam=0.5), X, scale=c),
    ):
        np.testing.assert_allclose(other, base, atol=1e-7)


def policy_value(mean, width, beta, gamma, mass):
    """sum_i p_i mu_i as a function of beta alone; gamma given, or from Eq 9 if None."""
    S = mean + beta * width - (mean - beta * width).max()
    if gamma is None:
        gamma = max(0.0, math.log(mass * (S < 0).sum() / (1 - mass))) / S.max()
    e = np.exp(gamma * (S - S.max()))
    return (e / e.sum()) @ mean


@pytest.mark.parametrize("full", [False, True])
@pytest.mark.parametrize("seed", range(6))
def test_score_equals_central_differences(full, seed):
    """A_t with gamma held fixed, and with gamma's own derivative; also with w in the place of
    phi."""
    X = unit_rows(np.random.default_rng(seed), 9, 3)
    session = trained_session(
        tr.SoftUCB(beta=0.5, timing="fresh", full_gradient=full), X, 25 + seed, seed
    )
    report = session.explain()
    mean, width, h = report["mean"], report["width"] / 0.5, 1e-5
    gamma = None if full else report["gamma"]
    assert report["gamma"] > 0
    slope = (
        policy_value(mean, width, 0.5 + h, gamma, 0.99)
        - policy_value(mean, width, 0.5 - h, gamma, 0.99)
    ) / (2 * h)
    assert report["score"] == pytest.approx(slope, rel=1e-6, abs=1e-9)
    p, phi = report["probability"], width + width[report["leader"]]
    if not full:
        for x in (phi, width):
            assert report["score"] == pytest.approx(
                report["gamma"] * (p @ (mean * x) - (p @ mean) * (p @ x)), abs=1e-12
            )


def test_lagged_full_gradient_uses_the_last_rounds_slope():
    """gamma of the round before moves with beta through that round's slack: a difference over both
    rounds."""
    X, h = unit_rows(np.random.default_rng(1), 9, 3), 1e-5
    plan = [
        (int(a), float(r))
        for a, r in zip(np.arange(30) % 9, np.random.default_rng(2).normal(size=30), strict=True)
    ]

    def value(beta, use):
        session = tr.Session(tr.SoftUCB(beta=beta, full_gradient=True), arms=X)
        for arm, reward in plan:
            session.update(arm, reward)
        report = session.explain()
        assert report["gamma"] > 0
        return report["probability"] @ report["mean"] if use == "value" else report["score"]

    assert value(0.4, "score") == pytest.approx(
        (value(0.4 + h, "value") - value(0.4 - h, "value")) / (2 * h), rel=1e-6
    )


def test_probabilities_of_eligible_arms_are_those_of_all_made_whole():
    X = unit_rows(np.random.default_rng(6), 8, 3)
    session = trained_session(tr.SoftUCB(beta=1.0), X, 15)
    p = session.explain()["probability"]
    mask = np.arange(8) % 2 == 0
    masked = session.explain(eligible=mask)["probability"]
    np.testing.assert_allclose(masked[mask], p[mask] / p[mask].sum(), atol=1e-12)
    assert {session.select(eligible=mask) for _ in range(200)} <= {0, 2, 4, 6}


@thorough
def test_importance_weighting_with_the_propensities_is_unbiased():
    """The value of always playing the median arm, from logs of SoftUCB: within 4 standard errors;
    the plain mean of the logs is not."""
    X = unit_rows(np.random.default_rng(3), 5, 2)
    theta = np.array([0.6, -0.8])
    target, rounds, logs = int(np.argsort(X @ theta)[2]), 12, 1500
    truth = float(X[target] @ theta)
    noise = np.random.default_rng(4)
    weighted, logged = [], []
    for seed in range(logs):
        session, total, mine = (
            tr.Session(tr.SoftUCB(beta=1.0, mass=0.8), arms=X, seed=seed),
            0.0,
            [],
        )
        for _ in range(rounds):
            p = session.explain()["probability"]
            arm = session.select()
            reward = float(X[arm] @ theta + 0.3 * noise.standard_normal())
            session.update(arm, reward)
            total += reward / p[arm] * (arm == target)
            mine.append(reward)
        weighted.append(total / rounds)
        logged.append(np.mean(mine))
    se = np.std(weighted, ddof=1) / math.sqrt(logs)
    assert abs(np.mean(weighted) - truth) < 4 * se
    assert se < 0.05
    assert abs(np.mean(logged) - truth) > 4 * np.std(logged, ddof=1) / math.sqrt(logs)


def test_theory_of_table_1():
    """beta-tilde of Table 1 is Eq 5 with noise = sqrt(0.1), theta_bound = lam = 1, delta = 0.1, cut
    after two decimals."""
    cells = [(5, 2**8), (5, 2**9), (5, 2**10), (10, 2**10), (15, 2**10)]
    ours = [
        math.floor(100 * horizon_radius(math.sqrt(0.1), 0.1, d, T, 1.0, 1.0)) / 100
        for d, T in cells
    ]
    assert ours == [2.56, 2.66, 2.76, 3.25, 3.61]


def instance(seed, d, noise):
    rng = np.random.default_rng(seed)
    return tr.problems.Linear(unit_rows(rng, 50, d), unit_rows(rng, 1, d)[0], noise=noise)


def test_divergence_is_said_with_its_remedy():
    with pytest.warns(RuntimeWarning, match="diverged: beta = .* lower eta"):
        found = tr.train_softucb(instance(0, 10, 0.5), 256, eta=1.0)
    assert found.status.startswith("diverged")
    assert found.beta > 2 * found.theory
    assert found.path.size == found.regret.size + 1 < 31
    session = trained_session(
        tr.SoftUCB(online=True, eta=5000.0, step=1.0), unit_rows(np.random.default_rng(0), 6, 2), 30
    )
    assert session.explain()["status"].startswith("diverged")
    assert "lower eta (now 5000)" in session.explain()["status"]


def test_training_settles_far_below_the_theory():
    found = tr.train_softucb(instance(1, 5, 0.5), 512, trajectories=40, eta=0.003)
    assert found.status.startswith("converged")
    assert 0.2 < found.beta < found.theory / 2
    assert (found.path.shape, found.regret.shape) == ((41,), (40,))


def test_a_flat_path_is_not_a_convergence():
    """Steps of 0 leave beta anywhere; tiny ones look settled wherever they begin; beta_min with the
    gradient below 0 is an end."""
    problem = instance(1, 5, 0.5)
    assert tr.train_softucb(problem, 128, trajectories=12, step=0.0).status.startswith(
        "unmoved: beta is 1 as at the start"
    )
    slow = tr.train_softucb(problem, 128, trajectories=12, step=1e-4, beta0=3.0)
    assert slow.status.startswith("moving")
    assert "never changed its sign" in slow.status
    assert _status(np.full(13, 1e-3), -np.ones(12), 4.0, tr.SoftUCB()).startswith("converged")
    assert _status(np.full(13, 1e-3), np.ones(12), 4.0, tr.SoftUCB()).startswith("unmoved")


@pytest.mark.parametrize(
    ("words", "make"),
    [
        (
            r"horizon is missing.*horizon=T",
            lambda: tr.Session(tr.SoftUCB(online=True), arms=np.eye(3)),
        ),
        (r"mass = 1\.0? ", lambda: tr.SoftUCB(mass=1.0)),
        ("eta = -1", lambda: tr.train_softucb(instance(0, 3, 0.1), 10, eta=-1)),
        ("SoftUCB plays features", lambda: tr.train_softucb(tr.problems.Bernoulli([0.1, 0.2]), 10)),
        ("is not a SoftUCB", lambda: tr.train_softucb(instance(0, 3, 0.1), 10, policy=tr.LinUCB())),
        ("step = -1", lambda: tr.train_softucb(instance(0, 3, 0.1), 10, step=lambda n: -1)),
    ],
)
def test_errors_name_the_argument_and_the_remedy(words, make):
    with pytest.raises(ValueError, match=words):
        make()


def test_beta_below_its_least_value_is_raised_to_it_and_arms_without_width_are_playable():
    X = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    session = tr.Session(tr.SoftUCB(beta=0.0, timing="fresh"), arms=X)
    for _ in range(3):
        for arm in (1, 2, 3):
            session.update(
                arm, -100.0
            )  # the arm without features keeps mean 0 and width 0: no slack is left at all
    report = session.explain()
    assert report["beta"] == 1e-3
    np.testing.assert_array_equal(report["probability"], [1.0, 0.0, 0.0, 0.0])
    assert session.select() == 0
