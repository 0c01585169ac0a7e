"""Noise that is learned == a twin that keeps all rewards, in every form of the regression; what changes units changes no decision."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tightrope as tr
from naive import semibandit_policies as sets
from naive.linear_policies import LearnedNoise
from standard import unit_rows
from tightrope.numerics.noise import merged_noise, new_noise, noise_scale, note

K, d, LAM, ROUNDS = 5, 3, 0.5, 120
FORMS = ("few arms", "fixed", "changing", "fading", "apart")


def session_in(form, seed=0, policy=None):
    """A session whose regression has that form, its fixed features, and the twin."""
    data = np.random.default_rng(4)
    size, rows = (6, 4) if form == "few arms" else (d, K)
    forget, apart = 0.95 if form == "fading" else 1.0, form == "apart"
    X = data.normal(size=(rows, size)) / 2
    policy = tr.LinUCB(lam=LAM, width=2.0, forget=forget, shared=not apart) if policy is None else policy
    new = form in ("changing", "apart")
    session = tr.Session(policy, arms=rows if new else X, dimension=size if new else None, seed=seed)
    return session, X, LearnedNoise(size, LAM, forget, rows if apart else 1)


@pytest.mark.parametrize("form", FORMS)
def test_the_noise_and_the_width_are_the_twins(form):
    session, X, twin = session_in(form)
    data, late = np.random.default_rng(1), []
    theta = unit_rows(data, 1, X.shape[1])[0]
    for t in range(ROUNDS):
        rows = data.normal(size=X.shape) / 2 if form in ("changing", "apart") else X
        decision = session.decide(rows if rows is not X else None, id=t)
        late.append((t, rows[decision.arm], decision.arm, float(rows[decision.arm] @ theta * 3 + 0.4 * data.standard_normal())))
        while len(late) > 3:  # rewards come late, and not in order
            number, x, arm, reward = late.pop(1)
            session.reward(number, reward)
            twin.feed(x, reward, arm if form == "apart" else 0)
            found = session.explain(rows if rows is not X else None)
            assert found["noise"] == pytest.approx(twin.sigma(), rel=1e-9)
            assert found["beta"] == pytest.approx(2.0 * twin.scale(), rel=1e-8)
    assert 0.3 < twin.sigma() < 0.7


@pytest.mark.parametrize("form", FORMS)
def test_linucb_plays_the_largest_upper_bound_untried_arms_of_their_own_first(form):
    session, X, _ = session_in(form)
    data, tried = np.random.default_rng(2), set()
    for _ in range(ROUNDS):
        rows = data.normal(size=X.shape) / 2 if form in ("changing", "apart") else X
        shown = rows if rows is not X else None
        arm, report = session.select(shown), session.explain(shown)
        upper = report["mean"] + report["width"]
        fresh = [k for k in range(len(X)) if k not in tried] if form == "apart" else []
        assert arm == (max(fresh, key=lambda k: upper[k]) if fresh else int(np.argmax(upper)))
        session.update(arm, float(data.normal() + arm))
        tried.add(arm)


def test_thompson_draws_with_the_learned_scale():
    session, X, twin = session_in("fixed", policy=tr.LinTS(lam=LAM))
    data = np.random.default_rng(3)
    for _ in range(40):
        arm, reward = int(data.integers(K)), float(data.normal())
        session.update(arm, reward)
        twin.feed(X[arm], reward)
    assert session.explain()["scale"] == pytest.approx(0.7 * twin.scale(), rel=1e-9)
    assert tr.Session(tr.LinTS(noise=0.2), arms=X).explain()["scale"] == pytest.approx(0.7 * 0.2)


@pytest.mark.parametrize("online", [False, True])
def test_softucb_measures_its_width_in_the_learned_scale(online):
    X = np.random.default_rng(0).normal(size=(K, d)) / 2
    session, twin = tr.Session(tr.SoftUCB(online=online), arms=X, horizon=ROUNDS, seed=1), LearnedNoise(d, 1.0)
    data = np.random.default_rng(3)
    for _ in range(ROUNDS):
        arm = session.select()
        reward = float(X[arm, 0] + 0.3 * data.standard_normal())
        session.update(arm, reward)
        twin.feed(X[arm], reward)
        assert session.explain()["beta"] == pytest.approx(session.state.beta[0] * twin.scale(), rel=1e-9)
    assert (session.state.beta[0] != 2.0) == online


def test_softucb_is_wider_among_arms_that_stay():
    def width(policy, **arms):
        return float(tr.Session(policy, **arms).state.beta[0])

    stay = {"arms": np.eye(3)}
    come = {"arms": 3, "dimension": 2}
    assert [width(tr.SoftUCB(), **arms) for arms in (stay, come)] == [2.0, 1.25]
    assert [width(tr.SoftUCB(width=1.0), **arms) for arms in (stay, come)] == [1.0, 1.0]
    assert [width(tr.SoftUCB(beta=0.5), **arms) for arms in (stay, come)] == [0.5, 0.5]


def test_squarecb_divides_gamma_by_the_learned_noise():
    X = np.random.default_rng(0).normal(size=(K, d)) / 2
    session, twin = tr.Session(tr.SquareCB(lam=LAM), arms=X, seed=1), LearnedNoise(d, LAM)
    data = np.random.default_rng(3)
    for t in range(40):
        assert session.explain()["gamma"] == pytest.approx(6.0 * np.sqrt(t + 1) / (twin.sigma() if t else 1.0), rel=1e-9)
        arm, reward = session.select(), float(data.normal())
        session.update(arm, reward)
        twin.feed(X[arm], reward)


class Sets(sets.Ridge):
    """C2UCB with width standard errors, by the twin of the noise."""

    def __init__(self, size, lam, width):
        super().__init__(size, lam)
        self.known, self.width = LearnedNoise(size, lam), width

    def scores(self, X, rng):
        mean, spread = self.estimates(X)
        return mean + self.width * self.known.scale() * spread

    def update(self, X, chosen, rewards):
        super().update(X, chosen, rewards)
        for i, r in zip(chosen, rewards, strict=True):
            self.known.feed(X[i], r)


@pytest.mark.parametrize("policy", [tr.C2UCB(lam=2.0), tr.CombTS(lam=2.0, randomization="arm"), tr.CombLinUCB(c=1.5, prior_scale=0.5**0.5)])
def test_sets_are_those_of_the_twin(policy):
    data, width = np.random.default_rng(5), 1.5 if isinstance(policy, tr.CombLinUCB) else 2.0
    X, theta = data.normal(size=(30, 4)), data.normal(size=4)
    session, twin = tr.Session(policy, arms=X, oracle=tr.oracles.TopK(4), seed=1), Sets(4, 2.0, width)
    for _ in range(15):
        report, chosen = session.explain(), session.select()
        if isinstance(policy, tr.CombTS):
            np.testing.assert_allclose(report["width"], 0.7 * twin.known.scale() * twin.estimates(X)[1], rtol=1e-9)
        else:
            assert chosen.tolist() == sets.top(twin.scores(X, None), 4)
        rewards = X[chosen] @ theta + 0.3 * data.normal(size=4)
        session.update(chosen, rewards)
        twin.update(X, chosen, rewards)


SINGLE = {
    "LinUCB": lambda lam: tr.LinUCB(lam=lam), "LinUCB, apart": lambda lam: tr.LinUCB(lam=lam, shared=False),
    "LinUCB, fading": lambda lam: tr.LinUCB(lam=lam, forget=0.9), "LinTS": lambda lam: tr.LinTS(lam=lam),
    "LinTS, apart": lambda lam: tr.LinTS(lam=lam, shared=False), "LinTS, fading": lambda lam: tr.LinTS(lam=lam, forget=0.9),
    "SoftUCB": lambda lam: tr.SoftUCB(lam=lam), "SoftUCB, apart": lambda lam: tr.SoftUCB(lam=lam, shared=False),
    "SquareCB": lambda lam: tr.SquareCB(lam=lam), "SquareCB, apart": lambda lam: tr.SquareCB(lam=lam, shared=False),
    "LinEpsilonGreedy": lambda lam: tr.LinEpsilonGreedy(lam=lam),
}  # fmt: skip
SETS = {
    "C2UCB": lambda lam: tr.C2UCB(lam=lam), "PC2UCB": lambda lam: tr.PC2UCB(lam=lam), "CombTS": lambda lam: tr.CombTS(lam=lam),
    "CombTS, arm": lambda lam: tr.CombTS(lam=lam, randomization="arm"), "CombLinTS": lambda lam: tr.CombLinTS(prior_scale=lam**-0.5),
    "CombLinUCB": lambda lam: tr.CombLinUCB(prior_scale=lam**-0.5),
}  # fmt: skip


def choices(make, units, length, fixed, seed, rounds):
    """What is chosen where rewards are multiplied by units and features by length."""
    data = np.random.default_rng(seed)
    X, theta = data.normal(size=(4, 2)), data.normal(size=2)
    many = make in SETS.values()
    oracle = tr.oracles.TopK(2) if many else None
    new = not (fixed or many)
    arms = 4 if new else X * length
    session = tr.Session(make(length**2), arms=arms, dimension=2 if new else None, oracle=oracle, horizon=rounds, seed=seed)
    found = []
    for t in range(rounds):
        rows = data.normal(size=(4, 2)) if new else X
        arm = session.select(rows * length if new else None)
        found.append(arm.tolist() if many else arm)
        means, error = rows @ theta, data.standard_normal(4)
        zero = t % 7 == 0  # rewards of 0 as well, also the first
        session.update(arm, (0.0 * means if zero else units * (means + 0.2 * error))[arm])
    return found


@pytest.mark.parametrize("name", [*SINGLE, *SETS])
@given(power=st.integers(-3, 3), fixed=st.booleans(), seed=st.integers(0, 10**6))
@settings(max_examples=8, deadline=None)
def test_units_of_rewards_and_features_change_no_decision(name, power, fixed, seed):
    """Rewards times 1,000 and features times 100, with lam accordingly; powers of two leave every bit of a number as it was."""
    make, rounds = {**SINGLE, **SETS}[name], 40 if name in SINGLE else 12
    if "apart" in name:
        fixed = False
    plain = choices(make, 1.0, 1.0, fixed, seed, rounds)
    assert choices(make, 1000.0, 1.0, fixed, seed, rounds) == plain
    assert choices(make, 1.0, 100.0, fixed, seed, rounds) == plain
    assert choices(make, 4.0**power, 2.0**power, fixed, seed, rounds) == plain


@pytest.mark.parametrize("form", [form for form in FORMS if form != "fading"])
def test_merged_sessions_have_learned_the_noise_of_both_logs(form):
    parts, data = [session_in(form)[0] for _ in range(3)], np.random.default_rng(8)
    X = session_in(form)[1]
    for t in range(90):
        rows, arm, reward = data.normal(size=X.shape) / 2, int(data.integers(len(X))), float(data.normal() + 2)
        for session in (parts[t % 2], parts[2]):
            session.update(arm, reward, context=rows if form in ("changing", "apart") else None)
    parts[0].merge(parts[1])
    merged, whole = parts[0].state.noise, parts[2].state.noise
    for name in merged.sums.dtype.names:
        np.testing.assert_allclose(merged.sums[name], whole.sums[name], rtol=1e-10)
    assert noise_scale(merged) == pytest.approx(noise_scale(whole), rel=1e-10)


@pytest.mark.parametrize("form", ["few arms", "fixed", "apart", "fading"])
def test_arms_that_are_added_leave_the_noise_as_it_was(form):
    session, X, _ = session_in(form)
    data = np.random.default_rng(8)
    for _ in range(60):
        session.update(int(data.integers(len(X))), float(data.normal()), context=X if form == "apart" else None)
    before = noise_scale(session.state.noise)
    session.add_arms(number=1) if form == "apart" else session.add_arms(features=X[:1] * 0.5)
    assert noise_scale(session.state.noise) == before > 0.5


def test_rewards_that_are_all_equal_or_nearly_so_keep_a_scale_above_zero():
    for reward in (0.0, 1.0, 1e9, 1e-9):
        session = tr.Session(tr.LinUCB(), arms=np.eye(3))
        for _ in range(200):
            session.update(session.select(), reward)
        found = session.explain()
        assert found["noise"] > 0.0
        assert np.isfinite(found["upper"]).all()
    precise = merged_noise(session.state.noise, session.state.noise, session.state.model)
    assert precise.sums[0].residual > 0.0


def test_a_wrong_residual_is_seen():
    """A noise that forgets nothing while the regression does is another number: the tests above would see it."""
    right, wrong = new_noise(0.9), new_noise(1.0)
    for reward in (1.0, 2.0, 0.5, 4.0):
        note(right, reward, 0.1)
        note(wrong, reward, 0.1)
    assert abs(noise_scale(right) - noise_scale(wrong)) > 1e-3


def test_parameters_of_the_theorem_are_refused_where_they_would_do_nothing():
    for make in (lambda: tr.LinUCB(delta=0.05), lambda: tr.LinUCB(radius="determinant"), lambda: tr.LinTS(delta=0.01)):
        with pytest.raises(ValueError, match=r'belongs to the width that has a proof.*add width="theorem"'):
            make()
    assert tr.LinUCB(width="theorem", delta=0.05).delta == 0.05
