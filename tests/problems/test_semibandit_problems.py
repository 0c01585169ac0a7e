"""Worlds of sets: regret of the best set is zero, rewards have their means, MovieLens features are
what they say."""

import numpy as np
import pytest

import tightrope as tr
from tightrope.core.streams import NOISE, PROBLEM, stream
from tightrope.core.verbs import observe, play, private, regret


def test_regret_is_the_best_set_s_value_minus_the_set_s(rng):
    X, theta = rng.normal(size=(8, 3)), rng.normal(size=3)
    problem = tr.problems.SemiBandit(
        X, theta, tr.oracles.Partition(categories=[0, 0, 0, 0, 1, 1, 1, 1], limit=1, k=2)
    )
    means = X @ theta
    best = [int(means[:4].argmax()), 4 + int(means[4:].argmax())]
    context = observe(problem, 0, None)
    assert regret(problem, context, np.array(best)) == pytest.approx(0, abs=1e-12)
    assert regret(problem, context, np.array([0, 5])) == pytest.approx(
        means[best].sum() - means[[0, 5]].sum()
    )


@pytest.mark.parametrize("rewards", ["gaussian", "bernoulli", "sign"])
def test_rewards_have_their_means(rewards):
    X = np.array([[0.2], [0.7]])
    problem = tr.problems.SemiBandit(X, [1.0], tr.oracles.TopK(2), noise=0.5, rewards=rewards)
    rng = stream(0, 0, NOISE)
    drawn = np.array([play(problem, None, np.array([0, 1]), rng) for _ in range(4000)])
    if rewards != "gaussian":
        assert set(np.unique(drawn)) == ({0.0, 1.0} if rewards == "bernoulli" else {-1.0, 1.0})
    assert (np.abs(drawn.mean(axis=0) - [0.2, 0.7]) < 4 * drawn.std(axis=0) / np.sqrt(4000)).all()


def test_promotions_draw_users_and_measure_against_the_best_assignment(rng):
    X, answers = rng.normal(size=(30, 4)), rng.integers(0, 6, size=(30, 2)).astype(float)
    problem = private(tr.problems.Promotions(X, answers, k=3, shown=12))
    context = observe(problem, 0, stream(0, 0, PROBLEM))
    assert context.features.shape == (12, 4)
    assert np.unique(problem.users).size == 12
    np.testing.assert_array_equal(context.features, X[problem.users])
    pairs = problem.oracle(answers[problem.users])
    arms = pairs[:, 0] * 2 + pairs[:, 1]
    assert regret(problem, context, arms) == 0
    np.testing.assert_array_equal(
        play(problem, context, arms, None), answers[problem.users[pairs[:, 0]], pairs[:, 1]]
    )


def greedy(scores, eligible=None):
    """The usual greedy loop, which overwrites what it is given."""
    if eligible is not None:
        scores[~eligible] = -np.inf
        eligible[:] = False
    chosen = []
    for _ in range(3):
        chosen.append(int(scores.argmax()))
        scores[chosen[-1]] = -np.inf
    return chosen


def on_copies(scores, eligible=None):
    return greedy(scores.copy(), None if eligible is None else eligible.copy())


def test_an_oracle_may_overwrite_the_scores():
    """It changed the problem's means: regret was NaN or 0, and propensities were those of other
    sets."""
    X = np.random.default_rng(0).normal(size=(9, 3))
    policies = [tr.C2UCB(), tr.CombTS(), tr.CombUCB1(), tr.ESCB()]
    for shown in (None, 7):
        in_place, ours = (
            tr.simulate(
                tr.problems.SemiBandit(X, [0.6, 0.3, 0.0], oracle, noise=0.1, shown=shown),
                policies[: 4 if shown is None else 2],
                horizon=60,
            )
            for oracle in (greedy, on_copies)
        )
        for name in ours.regret:
            np.testing.assert_allclose(in_place.regret[name], ours.regret[name], atol=1e-9)
            assert ours.regret[name][0, -1] > 0.1
    mask = np.arange(9) % 2 == 0
    for policy in policies:
        arms = 9 if policy == tr.ESCB() else X
        reports = [
            tr.Session(policy, arms=arms, oracle=oracle, seed=1).explain(
                context=tr.Context(eligible=mask)
            )
            for oracle in (greedy, on_copies)
        ]
        np.testing.assert_allclose(reports[0]["probability"], reports[1]["probability"])
        assert (reports[0]["probability"][~mask] == 0).all()
    assert mask.sum() == 5


def test_regret_against_what_is_not_the_best_is_refused():
    X = np.eye(4)
    with pytest.raises(
        ValueError,
        match=r"regret of 'CombGreedy' is -.* An oracle must answer with "
        r"the set of "
        r"largest total "
        r"score",
    ):
        tr.simulate(
            tr.problems.SemiBandit(X, [0.1, 0.2, 0.3, 0.4], Lazy(), noise=0.0),
            tr.CombGreedy(),
            horizon=60,
        )


class Lazy:
    """Two best arms, but the worst where somebody asks it first."""

    asked = 0

    def __call__(self, scores):
        Lazy.asked += 1
        return np.argsort(scores)[:2] if Lazy.asked == 1 else np.argsort(-scores)[:2]


@pytest.mark.parametrize(
    ("words", "make"),
    [
        (
            "chooses more than the 3 arms",
            lambda: tr.problems.SemiBandit(np.eye(3), np.ones(3), tr.oracles.TopK(4)),
        ),
        (
            "arm 0 the mean 2",
            lambda: tr.problems.SemiBandit(
                np.eye(3), [2.0, 0, 0], tr.oracles.TopK(1), rewards="sign"
            ),
        ),
        (
            r"arms\[1, 0\] = nan",
            lambda: tr.problems.SemiBandit([[1.0], [np.nan]], [1.0], tr.oracles.TopK(1)),
        ),
        ("need 4, but shown = 3", lambda: tr.problems.Promotions(np.eye(3), np.ones((3, 2)), k=2)),
    ],
)
def test_refusals(words, make):
    with pytest.raises(ValueError, match=words):
        make()


def test_movielens_features_from_the_users_own_file(tmp_path, rng):
    """A small file in ML-100k's format: rank-2 ratings come back exactly, the held-out films do not
    leak into the features."""
    lines = []
    for user in range(1, 41):
        for film in range(1, 13):
            if rng.random() < 0.6:
                lines.append(f"{user}\t{film}\t{rng.integers(1, 6)}\t0\n")
    (tmp_path / "ml-100k").mkdir()
    path = tmp_path / "ml-100k" / "u.data"
    path.write_text("".join(lines))
    from tightrope.problems.data import movielens

    data = movielens(path, promotions=2, rank=3, scaling="raw", raters=(1, 40), seed=3)
    table = np.zeros((41, 13))
    for line in lines:
        user, film, rating, _ = line.split("\t")
        table[int(user), int(film)] = float(rating)
    table = table[np.unique([int(line.split("\t")[0]) for line in lines])]
    np.testing.assert_array_equal(data.rewards, table[:, data.films])
    rest = np.delete(table, [0, *data.films], axis=1)
    left, singular, _ = np.linalg.svd(rest, full_matrices=False)
    np.testing.assert_allclose(
        np.abs(data.features[:, :3]), np.abs(left[:, :3] * singular[:3]), atol=1e-8
    )
    assert (data.features[:, 3] == 1).all()
    assert np.linalg.norm(
        movielens(path, promotions=2, rank=3, raters=(1, 40)).features, axis=1
    ).max() == pytest.approx(1)
    unit = movielens(path, promotions=2, rank=3, raters=(1, 40), scaling="unit").features
    np.testing.assert_allclose(np.linalg.norm(unit, axis=1), 1)
    rooted = movielens(
        path, promotions=2, rank=3, scaling="raw", power=0.5, raters=(1, 40), seed=3
    ).features
    weighted = left[:, :3] * np.sqrt(singular[:3])
    np.testing.assert_allclose(
        np.abs(rooted[:, :3]),
        np.abs(weighted) / np.sqrt((weighted**2).sum(axis=1).mean()),
        atol=1e-8,
    )
    assert (rooted[:, 3] == 1).all()
    with pytest.raises(ValueError, match="power"):
        movielens(path, promotions=2, rank=3, power=2.0)
    with pytest.raises(ValueError, match="widen it"):
        movielens(path, promotions=2, rank=3, raters=(39, 40))
