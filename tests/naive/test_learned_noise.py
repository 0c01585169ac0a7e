"""Noise and zero that are learned == a twin that keeps all rewards, in every form of the
regression; units and zero change no decision."""

import math

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import tightrope as tr
from naive import semibandit_policies as sets
from naive.linear_policies import LearnedNoise
from standard import unit_rows

K, d, LAM, ROUNDS = 5, 3, 0.5, 120
FORMS = ("few arms", "fixed", "changing", "fading", "apart")


def size_of(X):
    """The constant column that belongs to rows."""
    return float(np.sqrt((X**2).sum(axis=1).mean()))


def session_in(form, seed=0, policy=None, intercept=None):
    """A session whose regression has that form, its fixed features, and the twin, which in forms
    with new rows needs the first ones."""
    data = np.random.default_rng(4)
    size, rows = (6, 4) if form == "few arms" else (d, K)
    forget, apart = 0.95 if form == "fading" else 1.0, form == "apart"
    X = data.normal(size=(rows, size)) / 2
    policy = (
        tr.LinUCB(lam=LAM, width=2.0, forget=forget, shared=not apart, intercept=intercept)
        if policy is None
        else policy
    )
    new = form in ("changing", "apart")
    session = tr.Session(
        policy, arms=rows if new else X, dimension=size if new else None, seed=seed
    )
    column = None if intercept is False else size_of(X)
    return session, X, LearnedNoise(size, LAM, forget, rows if apart else 1, column)


@pytest.mark.parametrize("intercept", [None, False])
@pytest.mark.parametrize("form", FORMS)
def test_means_noise_and_widths_are_the_twins(form, intercept):
    session, X, twin = session_in(form, intercept=intercept)
    zero = 30.0 if intercept is None else 0.0
    data, late = np.random.default_rng(1), []
    theta = unit_rows(data, 1, X.shape[1])[0]
    for t in range(ROUNDS):
        rows = data.normal(size=X.shape) / 2 if form in ("changing", "apart") else X
        decision = session.decide(rows if rows is not X else None, id=t)
        late.append(
            (
                t,
                rows[decision.arm],
                decision.arm,
                zero + float(rows[decision.arm] @ theta * 3 + 0.4 * data.standard_normal()),
            )
        )
        while len(late) > 3:  # rewards come late, and not in order
            number, x, arm, reward = late.pop(1)
            session.reward(number, reward)
            if not twin.rows and form in ("changing", "apart") and twin.column is not None:
                twin.column = float(np.linalg.norm(x))  # of the first reward that is learned
            twin.feed(x, reward, arm if form == "apart" else 0)
            found = session.explain(rows if rows is not X else None)
            assert found["noise"] == pytest.approx(twin.sigma(), rel=1e-9)
            assert found["beta"] == pytest.approx(2.0 * twin.scale(), rel=1e-8)
            mean, width = twin.estimates(rows)
            np.testing.assert_allclose(found["mean"], mean, rtol=1e-9, atol=1e-9)
            np.testing.assert_allclose(found["width"], found["beta"] * width, rtol=1e-8)
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
    np.testing.assert_allclose(session.explain()["mean"], twin.estimates(X)[0], atol=1e-10)
    assert tr.Session(tr.LinTS(noise=0.2), arms=X).explain()["scale"] == pytest.approx(0.7 * 0.2)


@pytest.mark.parametrize("online", [False, True])
def test_softucb_measures_its_width_in_the_learned_scale(online):
    X = np.random.default_rng(0).normal(size=(K, d)) / 2
    session, twin = (
        tr.Session(tr.SoftUCB(online=online), arms=X, horizon=ROUNDS, seed=1),
        LearnedNoise(d, 1.0, column=size_of(X)),
    )
    data = np.random.default_rng(3)
    for _ in range(ROUNDS):
        arm = session.select()
        reward = float(X[arm, 0] + 0.3 * data.standard_normal())
        session.update(arm, reward)
        twin.feed(X[arm], reward)
        assert session.explain()["beta"] == pytest.approx(
            session.state.beta[0] * twin.scale(), rel=1e-9
        )
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
    session, twin = (
        tr.Session(tr.SquareCB(lam=LAM), arms=X, seed=1),
        LearnedNoise(d, LAM, column=size_of(X)),
    )
    data = np.random.default_rng(3)
    for t in range(40):
        assert session.explain()["gamma"] == pytest.approx(
            6.0 * np.sqrt(t + 1) / (twin.sigma() if t else 1.0), rel=1e-9
        )
        arm, reward = session.select(), float(data.normal())
        session.update(arm, reward)
        twin.feed(X[arm], reward)


@pytest.mark.parametrize(
    "policy",
    [
        tr.C2UCB(lam=2.0),
        tr.CombTS(lam=2.0, randomization="arm"),
        tr.CombLinUCB(c=1.5, prior_scale=0.5**0.5),
    ],
)
@pytest.mark.parametrize("blocks", [1, 3])
def test_sets_are_those_of_the_twin(policy, blocks):
    """One regression, and one for each promotion, whose users have the rows."""
    data, factor = (
        np.random.default_rng(5),
        1.5 if isinstance(policy, tr.CombLinUCB) else 0.7 if isinstance(policy, tr.CombTS) else 2.0,
    )
    X, theta = data.normal(size=(30, 4)), data.normal(size=(blocks, 4))
    oracle = tr.oracles.TopK(4) if blocks == 1 else tr.oracles.Promotions(promotions=3, k=4)
    session = tr.Session(policy, arms=X, oracle=oracle, seed=1)
    twin = LearnedNoise(4, 2.0, models=blocks, column=size_of(X))
    for _ in range(15):
        report, chosen = session.explain(), session.select()
        each = [one_of(twin, X, block) for block in range(blocks)]
        mean, width = (np.stack([pair[i] for pair in each], axis=1).reshape(-1) for i in range(2))
        np.testing.assert_allclose(report["mean"], mean, atol=1e-9)
        np.testing.assert_allclose(report["width"], factor * twin.scale() * width, rtol=1e-8)
        if blocks == 1 and not isinstance(policy, tr.CombTS):
            assert chosen.tolist() == sets.top(mean + factor * twin.scale() * width, 4)
        rewards = (
            50.0
            + np.array([X[arm // blocks] @ theta[arm % blocks] for arm in chosen])
            + 0.3 * data.normal(size=chosen.size)
        )
        session.update(chosen, rewards)
        for arm, reward in zip(chosen.tolist(), rewards.tolist(), strict=True):
            twin.feed(X[arm // blocks], reward, arm % blocks)


def one_of(twin, X, block):
    """Estimates of all rows by one of the twin's models."""
    theta, _, _, _, V = list(twin.fitted())[block]
    wide = twin.wide(X)
    return twin.centre() + wide @ theta, np.sqrt(
        np.einsum("ni,ni->n", wide, np.linalg.solve(V, wide.T).T)
    )


SINGLE = {
    "LinUCB": lambda lam: tr.LinUCB(lam=lam),
    "LinUCB, apart": lambda lam: tr.LinUCB(lam=lam, shared=False),
    "LinUCB, fading": lambda lam: tr.LinUCB(lam=lam, forget=0.9),
    "LinTS": lambda lam: tr.LinTS(lam=lam),
    "LinTS, apart": lambda lam: tr.LinTS(lam=lam, shared=False),
    "LinTS, fading": lambda lam: tr.LinTS(lam=lam, forget=0.9),
    "SoftUCB": lambda lam: tr.SoftUCB(lam=lam),
    "SoftUCB, apart": lambda lam: tr.SoftUCB(lam=lam, shared=False),
    "SquareCB": lambda lam: tr.SquareCB(lam=lam),
    "SquareCB, apart": lambda lam: tr.SquareCB(lam=lam, shared=False),
    "LinEpsilonGreedy": lambda lam: tr.LinEpsilonGreedy(lam=lam),
}
SETS = {
    "C2UCB": lambda lam: tr.C2UCB(lam=lam),
    "PC2UCB": lambda lam: tr.PC2UCB(lam=lam),
    "CombTS": lambda lam: tr.CombTS(lam=lam),
    "CombTS, arm": lambda lam: tr.CombTS(lam=lam, randomization="arm"),
    "CombLinTS": lambda lam: tr.CombLinTS(prior_scale=lam**-0.5),
    "CombLinUCB": lambda lam: tr.CombLinUCB(prior_scale=lam**-0.5),
}


HISTORIES = ("at once", "late", "merged", "grown")


def choices(name, units, length, fixed, seed, rounds, zero=0.0, history="at once"):
    """What is chosen where rewards are multiplied by units and zero is added, and features are
    multiplied by length.

    Rewards come three rounds late, or halfway a session that has learned elsewhere is merged in, or
    arms are added.
    """
    data, make, many = np.random.default_rng(seed), {**SINGLE, **SETS}[name], name in SETS
    X, theta = data.normal(size=(5, 2)), data.normal(size=2)
    new, number = not (fixed or many), 5

    def started(own):
        arms = 4 if new else X[:4] * length
        oracle = tr.oracles.TopK(2) if many else None
        return tr.Session(
            make(length**2),
            arms=arms,
            dimension=2 if new else None,
            oracle=oracle,
            horizon=rounds,
            seed=own,
        )

    session, found, waiting = started(seed), [], []
    number = 4
    for t in range(rounds):
        if t == rounds // 2 and history == "merged":
            other = started(seed)
            for _ in range(9):
                rows, arm = data.normal(size=(4, 2)) if new else X[:4], int(data.integers(4))
                told = zero + units * (
                    float(rows[arm] @ theta) + 0.2 * float(data.standard_normal())
                )
                other.update(
                    [arm] if many else arm,
                    [told] if many else told,
                    context=rows * length if new else None,
                )
            session.merge(other)
        if t == rounds // 2 and history == "grown":
            session.add_arms(number=1) if new else session.add_arms(features=X[4:] * length)
            number = 5
        rows = data.normal(size=(number, 2)) if new else X[:number]
        shown = rows * length if new else None
        arm = session.select(shown)
        found.append(arm.tolist() if many else arm)
        means, error = rows @ theta, data.standard_normal(number)
        equal = t % 7 == 0  # some rewards are equal, also the first
        waiting.append(
            (arm, (zero + (0.0 * means if equal else units * (means + 0.2 * error)))[arm], shown)
        )
        while len(waiting) > (3 if history == "late" else 0):
            arm, reward, then = waiting.pop(0)
            session.update(arm, reward, context=then)
    return found


def histories_of(name):
    """What can happen to a policy: those whose widths move with the rounds or whose old rewards
    fade are not merged."""
    once = ("SoftUCB" in name) or ("fading" in name)
    return tuple(history for history in HISTORIES if not (once and history == "merged"))


@pytest.mark.parametrize("name", [*SINGLE, *SETS])
@given(power=st.integers(-3, 3), fixed=st.booleans(), seed=st.integers(0, 10**6))
@settings(max_examples=3, deadline=None)
def test_units_of_rewards_and_features_change_no_decision(name, power, fixed, seed):
    """Rewards times 1,000 and features times 100, with lam accordingly; powers of two leave every
    bit of a number as it was."""
    rounds = 40 if name in SINGLE else 12
    if "apart" in name:
        fixed = False
    plain = choices(name, 1.0, 1.0, fixed, seed, rounds)
    assert choices(name, 4.0**power, 2.0**power, fixed, seed, rounds) == plain
    if (
        name != "LinEpsilonGreedy"
    ):  # whose estimates are all equal until two arms have been played: rounding decides
        assert choices(name, 1000.0, 1.0, fixed, seed, rounds) == plain
        assert choices(name, 1.0, 100.0, fixed, seed, rounds) == plain


@pytest.mark.parametrize("name", [name for name in [*SINGLE, *SETS] if name != "LinEpsilonGreedy"])
@given(
    units=st.floats(-6, 6),
    zero=st.floats(-1e6, 1e6),
    fixed=st.booleans(),
    seed=st.integers(0, 10**6),
    history=st.sampled_from(HISTORIES),
)
@settings(max_examples=5, deadline=None)
def test_neither_the_unit_nor_the_zero_of_rewards_changes_a_decision(
    name, units, zero, fixed, seed, history
):
    """Where a unit is so small beside the zero that rewards themselves lose digits, a smaller zero
    is taken."""
    rounds, units = 40 if name in SINGLE else 12, 10.0**units
    zero = zero if abs(zero) < 1e7 * units else 1e7 * units * math.copysign(1.0, zero)
    history = history if history in histories_of(name) else "late"
    if "apart" in name:
        fixed = False
    told = choices(name, units, 1.0, fixed, seed, rounds, zero, history)
    assert told == choices(name, 1.0, 1.0, fixed, seed, rounds, 0.0, history)


@pytest.mark.parametrize("shared", [True, False])
def test_greedy_estimates_move_with_the_rewards(shared):
    """What `LinEpsilonGreedy` plays are estimates; they are those of the rewards, in their unit and
    from their zero."""
    data = np.random.default_rng(1)
    one, other = (
        tr.Session(tr.LinEpsilonGreedy(shared=shared), arms=4, dimension=2) for _ in range(2)
    )
    for _ in range(60):
        rows, arm = data.normal(size=(4, 2)), int(data.integers(4))
        reward = float(rows[arm, 0] + arm + 0.2 * data.standard_normal())
        one.update(arm, reward, context=rows)
        other.update(arm, 1e6 - 50.0 * reward, context=rows)
    np.testing.assert_allclose(
        other.explain(rows)["mean"], 1e6 - 50.0 * one.explain(rows)["mean"], rtol=1e-13
    )


@pytest.mark.parametrize("form", ["few arms", "fixed", "changing", "apart"])
def test_greedy_estimates_are_the_twins(form):
    policy = tr.LinEpsilonGreedy(lam=LAM, shared=form != "apart")
    session, X, twin = session_in(form, policy=policy)
    data, new = np.random.default_rng(3), form in ("changing", "apart")
    for t in range(60):
        rows, arm, reward = (
            data.normal(size=X.shape) / 2 if new else X,
            int(data.integers(len(X))),
            float(20.0 + data.normal()),
        )
        session.update(arm, reward, context=rows if new else None)
        if new and t == 0:
            twin.column = float(np.linalg.norm(rows[arm]))
        twin.feed(rows[arm], reward, arm if form == "apart" else 0)
    np.testing.assert_allclose(
        session.explain(rows if new else None)["mean"], twin.estimates(rows)[0], rtol=1e-11
    )


def test_without_an_intercept_the_zero_of_rewards_changes_decisions():
    """So the tests above could fail."""
    seeds = range(8)
    SINGLE["through the origin"] = lambda lam: tr.LinUCB(lam=lam, intercept=False)
    plain, moved = (
        [choices("through the origin", 1.0, 1.0, False, seed, 40, zero) for seed in seeds]
        for zero in (0.0, 100.0)
    )
    del SINGLE["through the origin"]
    assert plain != moved


@pytest.mark.parametrize(
    "policy",
    [tr.LinUCB(), tr.LinTS(), tr.LinUCB(forget=0.9), tr.LinUCB(shared=False), tr.C2UCB()],
    ids=str,
)
def test_rewards_of_any_size_keep_a_finite_scale_and_larger_ones_are_refused(policy):
    """A reward of 1e99 is taken in; with rewards of 1e-170 the best arm is found."""
    many = isinstance(policy, tr.C2UCB)
    X = np.random.default_rng(0).normal(size=(5, 3)) / 2
    best = X @ np.ones(3)

    def started():
        return tr.Session(policy, arms=X, seed=1, oracle=tr.oracles.TopK(2) if many else None)

    def told(arm, values):
        return ([arm], [values]) if many else (arm, values)

    session, other = started(), started()
    with pytest.raises(
        ValueError,
        match=r"reward(\[.*\])? = -1e\+160 is not a (finite )?number in \[-1e\+100, 1e\+100\]",
    ):
        session.update(*told(0, -1e160))
    session.update(*told(0, -1e99))
    for _ in range(60):
        for one, size in ((session, 1.0), (other, 1e-170)):
            arm = one.select()
            one.update(arm, size * best[arm])
    assert np.isfinite(session.explain()["upper"]).all()
    again = tr.Session.from_bytes(session.to_bytes())
    np.testing.assert_array_equal(again.select(), session.select())
    assert np.argmax(best) in np.atleast_1d(other.select())


@pytest.mark.parametrize("form", [form for form in FORMS if form != "fading"])
def test_merged_sessions_have_learned_the_noise_of_both_logs(form):
    parts, data = [session_in(form)[0] for _ in range(3)], np.random.default_rng(8)
    X = session_in(form)[1]
    for t in range(90):
        rows, arm, reward = (
            data.normal(size=X.shape) / 2,
            int(data.integers(len(X))),
            float(data.normal() + 2),
        )
        for session in (parts[t % 2], parts[2]):
            session.update(arm, reward, context=rows if form in ("changing", "apart") else None)
    parts[0].merge(parts[1])
    merged, whole = parts[0].state.noise, parts[2].state.noise
    for name in ("number", "origin", "centre"):
        np.testing.assert_allclose(merged.sums[name], whole.sums[name], rtol=1e-9, err_msg=name)
    for name in ("spread", "residual"):
        found, wanted = (sums[name] * sums["unit"] ** 2 for sums in (merged.sums, whole.sums))
        np.testing.assert_allclose(found, wanted, rtol=1e-9, err_msg=name)
    x = X if form in ("changing", "apart") else None
    one, other = parts[0].explain(x), parts[2].explain(x)
    for name in ("mean", "width", "noise", "beta"):
        np.testing.assert_allclose(one[name], other[name], rtol=1e-8, atol=1e-12, err_msg=name)


@pytest.mark.parametrize("form", ["few arms", "fixed", "apart", "apart and fixed", "fading"])
def test_arms_that_are_added_are_as_if_they_had_been_there_from_the_start(form):
    """Also the constant column, which is by the norms of all arms; of candidates that are new in
    every round it stays."""
    session, X, twin = session_in(form.split(" and")[0])
    if form == "apart and fixed":
        session = tr.Session(tr.LinUCB(lam=LAM, width=2.0, shared=False), arms=X)
    apart, data = "apart" in form, np.random.default_rng(8)
    longer = np.r_[X, 2.5 * X[:1]]
    twin.models = len(longer) if apart else 1
    for _ in range(60):
        arm, reward = int(data.integers(len(X))), float(5.0 + data.normal())
        session.update(arm, reward, context=X if form == "apart" else None)
        twin.column = (
            size_of(longer)
            if form != "apart"
            else float(np.linalg.norm(X[arm]))
            if not twin.rows
            else twin.column
        )
        twin.feed(X[arm], reward, arm if apart else 0)
    session.add_arms(number=1) if form == "apart" else session.add_arms(features=longer[-1:])
    found = session.explain(longer if form == "apart" else None)
    mean, width = twin.estimates(longer)
    assert found["noise"] == pytest.approx(twin.sigma(), rel=1e-9)
    assert found["beta"] == pytest.approx(2.0 * twin.scale(), rel=1e-8)
    np.testing.assert_allclose(found["mean"], mean, rtol=1e-9)
    np.testing.assert_allclose(found["width"], found["beta"] * width, rtol=1e-8)


def test_rewards_that_are_all_equal_or_nearly_so_keep_a_scale_above_zero():
    for reward in (0.0, 1.0, 1e9, 1e-9):
        session = tr.Session(tr.LinUCB(), arms=np.eye(3))
        for _ in range(200):
            session.update(session.select(), reward)
        found = session.explain()
        assert found["noise"] > 0.0
        assert np.isfinite(found["upper"]).all()


def test_parameters_of_the_theorem_are_refused_where_they_would_do_nothing():
    for make in (
        lambda: tr.LinUCB(delta=0.05),
        lambda: tr.LinUCB(radius="determinant"),
        lambda: tr.LinTS(delta=0.01),
    ):
        with pytest.raises(
            ValueError, match=r'belongs to the width that has a proof.*add width="theorem"'
        ):
            make()
    assert tr.LinUCB(width="theorem", delta=0.05).delta == 0.05
