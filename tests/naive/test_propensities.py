"""What stands behind a decision's propensity against the slow way: as many selections, and
integrals summed on a fine grid."""

import numpy as np
import pytest
from scipy.stats import norm

import tightrope as tr
from session import strangers
from tightrope.core.policy import label
from tightrope.core.streams import AUDIT, stream
from tightrope.core.verbs import Context, explain, init, propensity, select, update
from tightrope.numerics.batch_ridge import LANES, score_draws
from tightrope.numerics.posterior import best_of_draws, chance_of_best
from tightrope.numerics.ridge import deviations, predict
from tightrope.policies.semibandits import sets
from tightrope.policies.semibandits.sets import (
    count_partition,
    count_top,
    exact_inclusion,
    top_k_probability,
)
from tightrope.solvers.oracles import (
    TOO_SHORT,
    Partition,
    Promotions,
    TopK,
    assign,
    augment,
    choose,
    count_pairs,
    list_best,
    new_room,
)

N, D, SELECTIONS, ERRORS = (
    24,
    3,
    3000,
    4.5,
)  # 24 arms are compared at once, so a little more than four standard errors
KINDS = np.arange(N) % 5
MASK = np.arange(N) % 7 != 0


def first_five(scores, eligible=None):
    """An oracle of one's own."""
    return TopK(5)(scores, eligible)


ORACLES = {
    "pairs": Promotions(k=(2, 1, 1)),
    "top": TopK(5),
    "kinds": Partition(KINDS, {0: 1, 1: 2, 2: 0, 3: 4, 4: 1}, 4),
    "own": first_five,
}
POLICIES = [
    tr.PC2UCB(alpha=1.0),
    tr.CombTS(v=0.7),
    tr.CombTS(v=0.7, randomization="arm"),
    tr.CombTS(),
    tr.CombLinTS(),
    tr.C2UCB(ties="random"),
    tr.CombTS(v=0.7, ties="random"),
]


def learned(policy, oracle):
    """A policy after some rounds on clusters of equal arms, in which ties decide."""
    rng = np.random.default_rng(7)
    X = np.repeat(rng.normal(size=(N // 3, D)), 3, axis=0)[: N // getattr(oracle, "blocks", 1)]
    state = init(policy, tr.Session(policy, X, oracle=oracle).arms)
    for _ in range(6):
        chosen = select(policy, state, Context(), rng)
        state = update(
            policy,
            state,
            Context(),
            chosen,
            X[chosen // (N // len(X))] @ np.ones(D) + rng.normal(size=chosen.size),
        )
    return state


def distance(hits, p, error):
    """The largest difference between frequencies and stated chances, in standard errors of both."""
    share = hits / SELECTIONS
    mixed = np.clip((share + p) / 2.0, 1.0 / SELECTIONS, 1.0 - 1.0 / SELECTIONS)
    return (
        np.abs(share - p)
        / np.sqrt(mixed * (1.0 - mixed) * (1.0 / SELECTIONS + (1.0 / 100 if error.any() else 0.0)))
    ).max()


@pytest.mark.parametrize("eligible", [None, MASK], ids=["all", "masked"])
@pytest.mark.parametrize("oracle", ORACLES)
@pytest.mark.parametrize("policy", POLICIES, ids=label)
def test_chances_of_sets_are_the_frequencies_of_selections(policy, oracle, eligible):
    state, context, rng = (
        learned(policy, ORACLES[oracle]),
        Context(eligible=eligible),
        np.random.default_rng(3),
    )
    hits = np.zeros(N)
    for _ in range(SELECTIONS):
        hits[select(policy, state, context, rng)] += 1.0
    p, error = propensity(policy, state, context, np.arange(N), stream(1, 0, AUDIT))
    assert distance(hits, p, error) < ERRORS
    assert p.sum() == pytest.approx(hits.sum() / SELECTIONS, abs=1e-6)
    assert distance(hits, np.roll(p, 1), error) > ERRORS  # planted: the chances of the neighbours


@pytest.mark.parametrize("draws", [1, 50])
@pytest.mark.parametrize(
    "oracle",
    [
        TopK(1),
        TopK(5),
        TopK(20),
        TopK(N),
        ORACLES["kinds"],
        Partition(KINDS, 3, 12),
        Partition(KINDS, 9, 24),
    ],
)
def test_counting_over_draws_is_asking_the_oracle(oracle, draws):
    """Also where many scores are equal, to the arm."""
    rng = np.random.default_rng(draws)
    for distinct in (2, 6, 1000):
        scores = rng.integers(0, distinct, size=(draws, N)).astype(np.float64)
        wanted, counted = np.zeros(N), np.zeros(N)
        for row in scores:
            wanted[choose(oracle, row, None)] += 1.0
        if isinstance(oracle, TopK):
            count_top(scores, np.zeros(draws), oracle.k, counted)
        else:
            codes, limits = oracle.groups
            first = np.concatenate([[0], np.cumsum(np.bincount(codes))])
            count_partition(
                scores, np.argsort(codes, kind="stable"), first, limits, oracle.k, counted
            )
        assert counted.tolist() == wanted.tolist()


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("budgets", [(1,), (3, 3, 3), (1, 5, 2)])
def test_counting_pairs_over_draws_is_asking_for_promotions(budgets, masked):
    """Where promotions want different users, and where all want the same ones, so that the first
    lists of them are too short."""
    rng, M = np.random.default_rng(len(budgets)), len(budgets)
    oracle, users = Promotions(k=budgets), 40
    eligible = rng.random(users * M) < 0.8 if masked else None
    for alike in (0.0, 50.0):
        scores = (
            np.rint(
                10.0 * (rng.normal(size=(30, users, M)) + alike * rng.normal(size=(users, 1)))
            ).reshape(30, -1)
            / 10.0
        )
        wanted, counted = np.zeros(users * M), np.zeros(users * M)
        for row in scores:
            wanted[choose(oracle, row, eligible)] += 1.0
        count_pairs(oracle, scores, eligible, counted)
        assert counted.tolist() == wanted.tolist()
        assert counted.sum() == 30 * sum(budgets)
    room = new_room(oracle, users)
    room.columns[:] = np.arange(users)
    short, longest = 2 * max(budgets) + 1, sum(budgets) + 1
    if short < longest:  # the lists that are tried first
        for j in range(M):
            list_best(room.columns[j], room.ranks, room.spare, room.order[j, :short])
        assert augment(room, short) == TOO_SHORT
        assert assign(room) == -1
        assert (room.holder[-sum(budgets) :] >= 0).all()


def test_who_cannot_be_given_a_promotion_is_said_while_counting_too():
    eligible = np.array(
        [True, True, True, False, True, False]
    )  # three users, of whom one may get the second promotion
    with pytest.raises(ValueError, match="promotion 1 cannot get k = 2 users"):
        count_pairs(Promotions(k=(1, 2)), np.ones((2, 6)), eligible, np.zeros(6))


@pytest.mark.parametrize("k", [1, 5, 20, 23, N])
def test_scores_that_round_to_one_number_are_counted_as_the_oracle_takes_them(k):
    """Only those near the last place are rounded, and none of the others is missed."""
    rng, parted = np.random.default_rng(k), 0
    for spacing in (1e-9, 0.03, 0.3, 2.0, 50.0):
        scores = rng.normal(size=(40, N))
        scores[::2] = (
            np.rint(scores[::2] / spacing + 0.5) * spacing - 0.5 * spacing
        )  # on the edges between two multiples
        wanted, counted, unrounded = np.zeros(N), np.zeros(N), np.zeros(N)
        for row in scores:
            wanted[TopK(k)(np.rint(row / spacing))] += 1.0
        count_top(scores, np.full(40, spacing), k, counted)
        count_top(scores, np.zeros(40), k, unrounded)
        assert counted.tolist() == wanted.tolist()
        parted += unrounded.tolist() != wanted.tolist()
    assert parted > 0 or k == N  # planted: scores that are not rounded


def test_every_draw_has_the_score_of_its_theta(rng):
    """For rows, blocks and dimensions that do and do not fill the loop's lanes."""
    for rows, blocks, d in ((1, 1, 1), (64, 2, 4), (65, 3, 7), (150, 1, 9)):
        X, theta, out = (
            rng.normal(size=(rows, d)),
            rng.normal(size=(6, blocks, d)),
            np.empty((6, rows * blocks)),
        )
        X[-1] = X[0]
        score_draws(X, theta, np.zeros((d, LANES)), np.zeros((1, LANES)), out)
        np.testing.assert_allclose(
            out, np.einsum("id,nmd->nim", X, theta).reshape(6, -1), atol=1e-13
        )
        assert (out[:, :blocks] == out[:, -blocks:]).all()  # equal rows, equal bits


@pytest.mark.parametrize("law", ["normal", "uniform"])
def test_leaving_out_what_is_sure_changes_no_chance(law, rng):
    for k in (1, 3, 8):
        centre, spread = rng.normal(size=12) * 3.0, rng.uniform(0.05, 0.8, size=12)
        whole, part = (
            top_k_probability(centre, spread, k, law),
            exact_inclusion(centre, spread, k, law),
        )
        np.testing.assert_allclose(part, whole, atol=1e-9)
    assert exact_inclusion(np.zeros(300), np.ones(300), 5, "normal") is None  # draws are quicker
    alone = np.concatenate([[9.0, 8.0], np.zeros(300)])
    assert (
        exact_inclusion(alone, np.full(302, 0.1), 2, "normal").tolist() == [1.0, 1.0] + [0.0] * 300
    )


def integral(mean, deviation, eligible, arm):
    """P(arm is the largest) by the trapezoid rule."""
    x = np.linspace(mean[arm] - 10.0 * deviation[arm], mean[arm] + 10.0 * deviation[arm], 400_001)
    inside = norm.pdf(x, mean[arm], deviation[arm])
    for k in range(mean.size):
        if k != arm and (eligible is None or eligible[k]):
            inside = inside * norm.cdf(x, mean[k], deviation[k])
    return np.trapezoid(inside, x)


@pytest.mark.parametrize("masked", [False, True])
def test_the_chance_among_independent_arms_is_its_integral(masked, rng):
    for spread in (0.0, 1.0):
        mean, deviation = rng.normal(size=9), np.exp(spread * rng.normal(size=9))
        eligible = np.arange(9) % 3 != 1 if masked else None
        total, moved = 0.0, 0.0
        for arm in range(9):
            p, error = chance_of_best(mean, deviation, eligible, arm, rng, 800)
            total += p
            if masked and not eligible[arm]:
                assert (p, error) == (0.0, 0.0)
                continue
            assert error == 0.0
            assert p == pytest.approx(integral(mean, deviation, eligible, arm), abs=1e-8)
            moved = max(
                moved,
                abs(p - integral(mean + 0.01 * (np.arange(9) == arm), deviation, eligible, arm)),
            )
        assert total == pytest.approx(1.0, abs=1e-7)
        assert moved > 1e-3  # planted: a mean that is off by a hundredth


def test_where_the_integral_would_take_longer_the_arms_own_score_is_drawn(rng):
    mean, deviation = (
        0.1 * rng.standard_normal(60),
        np.exp(rng.uniform(-6.0, 0.0, size=60)),
    )  # many panels, narrow ones among wide ones
    widest = int(deviation.argmax())
    p, error = chance_of_best(mean, deviation, None, widest, rng, 800)
    assert 0.0 < error < 0.02
    assert abs(p - integral(mean, deviation, None, widest)) < 4 * error


def test_arms_without_a_deviation_are_what_they_are():
    mean, rng = np.array([1.0, 1.0, 0.0, 2.0]), np.random.default_rng(0)
    certain, one = np.zeros(4), np.array([0.0, 0.0, 0.0, 1.0])
    three = np.array([True, True, True, False])
    assert [chance_of_best(mean, certain, three, k, rng, 800)[0] for k in range(4)] == [
        1.0,
        0.0,
        0.0,
        0.0,
    ]  # ties by index
    assert chance_of_best(mean, one, None, 3, rng, 800)[0] == pytest.approx(
        norm.cdf(1.0), abs=1e-12
    )
    assert chance_of_best(mean, one, None, 0, rng, 800)[0] == pytest.approx(
        norm.cdf(-1.0), abs=1e-12
    )
    assert chance_of_best(mean, one, None, 1, rng, 800)[0] == 0.0


@pytest.mark.parametrize(
    "shape", [(6, 3), (3, 6), (5, None)], ids=["features", "few arms", "independent"]
)
def test_the_chance_of_one_arm_is_how_often_it_wins_the_draws(shape):
    """(K, r) roots, and (K,) of independent arms."""
    K, rank = shape
    rng = np.random.default_rng(K)
    mean, root = (
        0.5 * rng.normal(size=K),
        np.abs(rng.normal(size=K)) if rank is None else rng.normal(size=(K, rank)),
    )
    whole = np.diag(root) if rank is None else root
    draws = 200_000
    wins = (
        np.bincount(
            (mean + rng.standard_normal((draws, whole.shape[1])) @ whole.T).argmax(axis=1),
            minlength=K,
        )
        / draws
    )
    told = best_of_draws(mean, root, None, rng, draws)
    error = np.sqrt(wins * (1.0 - wins) / draws) + 1.0 / draws
    assert (np.abs(told - wins) < 4 * np.sqrt(2.0) * error).all()
    for arm in range(K):
        p, own = chance_of_best(mean, root, None, arm, rng, 800)
        assert abs(p - wins[arm]) < 4 * np.hypot(own, error[arm])


def test_standard_errors_of_one_arms_chance_are_those_of_its_repetitions(rng):
    for K, rank in ((3, 2), (6, 3), (30, 5)):
        mean, root = 0.2 * rng.normal(size=K), rng.normal(size=(K, rank))
        told = np.array(
            [chance_of_best(mean, root, None, int(mean.argmax()), rng, 200) for _ in range(400)]
        )
        assert told[:, 0].std() == pytest.approx(np.sqrt((told[:, 1] ** 2).mean()), rel=0.15)
        assert told[:, 1].max() < 0.5 / np.sqrt(100)  # 100 pairs at worst


def test_the_chance_between_two_arms_is_exact_and_far_rivals_need_no_draws():
    rng, root = np.random.default_rng(0), np.random.default_rng(1).normal(size=(2, 4))
    before, apart = rng.bit_generator.state, np.linalg.norm(root[0] - root[1])
    p, error = chance_of_best(np.array([0.3, 0.1]), root, None, 0, rng, 500)
    assert (p, error) == (pytest.approx(norm.cdf(0.2 / apart), rel=1e-14), 0.0)
    three = np.vstack([root, root[1] * 0.5])
    assert chance_of_best(np.array([0.3, 0.1, -90.0]), three, None, 0, rng, 500) == (p, 0.0)
    assert chance_of_best(np.array([90.0, 0.0, 0.0]), three, None, 0, rng, 500) == (1.0, 0.0)
    assert rng.bit_generator.state == before
    assert chance_of_best(np.array([0.3, 0.1, 0.0]), three, None, 0, rng, 500)[1] > 0.0


@pytest.mark.parametrize("kind", ["features", "few arms", "rounds", "apart"])
def test_deviations_are_a_root_of_the_covariance(kind, rng):
    K, d = (3, 5) if kind == "few arms" else (6, 4)
    X = rng.normal(size=(K, d))
    X[1] = X[0]  # a covariance that is singular
    fixed = kind in ("features", "few arms")
    policy = tr.LinTS(shared=kind != "apart", intercept=False)
    session = tr.Session(policy, X) if fixed else tr.Session(policy, K, dimension=d)
    for _ in range(30):
        made = session.decide(None if fixed else X)
        session.reward(made.id, rng.random())
    model = session.state.model
    predict(model, Context(None if fixed else X))
    root, square = deviations(model), model.square
    assert root.ndim == (1 if kind == "apart" else 2)
    np.testing.assert_allclose(
        root * root if root.ndim == 1 else (root * root).sum(axis=1), square, rtol=1e-7
    )
    if root.ndim == 2:
        np.testing.assert_allclose(root[0], root[1], atol=1e-7)


def test_six_thousand_arms_take_no_matrix_of_all_pairs():
    import tracemalloc

    session, rng = tr.Session(tr.LinTS(), 6000, dimension=2), np.random.default_rng(0)
    for _ in range(2):
        session.reward(session.decide(rng.random(2)).id, 0.5)
    tracemalloc.start()
    session.decide(rng.random(2))
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 20e6


def test_an_oracle_of_ones_own_is_asked_a_bounded_number_of_times():
    asked = []

    def oracle(scores):
        asked.append(scores.size)
        return np.argsort(-scores, kind="stable")[:2]

    session = tr.Session(tr.CombTS(v=0.5), np.eye(4), oracle=oracle)
    made = session.decide()
    assert len(asked) <= sets.ASKED + 5
    assert made.propensity_se.max() <= 0.5 / np.sqrt(sets.ASKED)
    told = explain(session.policy, session.state, Context(), stream(0, 0, AUDIT), 400)
    assert told["probability_se"].max() <= 0.5 / np.sqrt(400)


X = np.random.default_rng(0).normal(size=(12, 4))
X /= np.linalg.norm(X, axis=1, keepdims=True)
SAMPLED = [
    (tr.LinTS(), None),
    (tr.Explore(tr.LinTS(), floor=0.01), None),
    (tr.Safe(tr.LinTS(), baseline=0, baseline_mean=0.0, alpha=0.9), None),
    (tr.CombTS(), TopK(3)),
    (tr.CombTS(), first_five),
    (tr.C2UCB(ties="random"), TopK(3)),
    (tr.CombUCB1(ties="random"), TopK(3)),
]


@pytest.mark.parametrize(
    ("policy", "oracle"), SAMPLED, ids=lambda item: label(item) if hasattr(item, "FIELDS") else ""
)
def test_a_session_says_how_many_draws_stand_behind_a_propensity(policy, oracle):
    """Sixteen times as many: a quarter of the error, and the same choices."""
    told = {}
    for draws in (100, 1600):
        session, rng = tr.Session(policy, X, oracle=oracle, draws=draws), np.random.default_rng(1)
        made = []
        for _ in range(12):
            made.append(session.decide())
            values = rng.random(np.size(made[-1].arm)).tolist()
            session.reward(
                made[-1].id,
                values[0]
                if oracle is None
                else dict(zip(made[-1].arm.tolist(), values, strict=True)),
            )
        told[draws] = made
        again = tr.Session.from_bytes(
            session.to_bytes(), oracle=oracle if oracle is first_five else None
        )
        assert again.draws == draws
        assert np.array_equal(again.decide().propensity_se, session.decide().propensity_se)
        assert all(one.draws == (draws if np.any(one.propensity_se) else one.draws) for one in made)
        assert any(one.draws == draws for one in made)
    assert all(
        np.array_equal(one.arm, two.arm) for one, two in zip(told[100], told[1600], strict=True)
    )
    rough, fine = (
        np.concatenate([np.atleast_1d(one.propensity_se) for one in told[draws]])
        for draws in (100, 1600)
    )
    assert 0.15 < np.median(fine[rough > 0.0]) / np.median(rough[rough > 0.0]) < 0.4


OWN_NUMBERS = [
    (tr.LinTS(), None, 500),
    (tr.CombTS(), TopK(3), 500),
    (tr.CombTS(), first_five, 100),
    (tr.CombTS(), Promotions(k=(1, 2)), 100),
    (tr.LinUCB(), None, None),
    (tr.BetaThompson(), None, None),
    (tr.EpsilonGreedy(), None, None),
    (tr.C2UCB(), TopK(3), None),
    (tr.SafeSets(tr.CombTS(v=0.3), baseline=[0, 1, 2], alpha=0.5), TopK(3), 100),
    (tr.SafeSets(tr.C2UCB(alpha=1.0), baseline=[0, 1, 2], alpha=0.5), TopK(3), None),
]


@pytest.mark.parametrize(
    ("policy", "oracle", "draws"),
    OWN_NUMBERS,
    ids=lambda item: label(item) if hasattr(item, "FIELDS") else "",
)
def test_a_decision_says_how_its_propensity_was_found(policy, oracle, draws):
    """Open, closed, in a file and in a log that is followed."""
    arms = 12 if isinstance(policy, (tr.BetaThompson, tr.EpsilonGreedy)) else X
    session = tr.Session(policy, arms, oracle=oracle)
    made = [session.decide() for _ in range(3)]
    assert [one.draws for one in made] == [draws] * 3
    values = 1.0 if oracle is None else dict.fromkeys(made[0].arm.tolist(), 1.0)
    session.reward(made[0].id, values)
    followed = tr.Session(policy, arms, oracle=oracle)
    followed.follow(
        made[0].arm,
        "x",
        propensity=made[0].propensity,
        propensity_se=made[0].propensity_se,
        draws=draws,
    )
    assert followed.open["x"].draws == draws
    read = tr.Session.from_bytes(
        session.to_bytes(), oracle=oracle if oracle is first_five else None
    )
    assert [one.draws for one in read.open.values()] == [draws] * 2
    assert [one.draws for one, _ in read.answered()] == [draws]
    assert session.open[made[1].id].draws == draws
    assert tr.Session(policy, arms, oracle=oracle, measured=False).decide().draws is None


def test_only_its_draws_tell_a_frequency_of_one_from_a_chance_that_is_exact():
    session = tr.Session(tr.CombTS(v=0.01), np.eye(3), oracle=TopK(1))
    for _ in range(5):
        made = session.decide()
        session.reward(made.id, dict.fromkeys(made.arm.tolist(), 1.0))
    made = session.decide()
    assert (made.propensity.tolist(), made.propensity_se.tolist(), made.draws) == (
        [1.0],
        [0.0],
        500,
    )


def test_draws_of_a_followed_decision_are_a_number():
    with pytest.raises(ValueError, match="draws = 0"):
        tr.Session(tr.LinTS(), X).follow(0, "x", propensity=0.5, propensity_se=0.1, draws=0)


def test_draws_are_refused_where_they_mean_nothing():
    with pytest.raises(ValueError, match="measured=False"):
        tr.Session(tr.LinTS(), X, measured=False, draws=100)
    with pytest.raises(ValueError, match="draws = 3"):
        tr.Session(tr.LinTS(), X, draws=3)
    header, _ = strangers.opened(tr.Session(tr.LinTS(), X).to_bytes())
    assert "draws" not in header  # of the session; decisions have a column for theirs
