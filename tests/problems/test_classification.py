"""Classification data as a bandit: what a round shows, pays and costs; what is refused."""

import numpy as np
import pytest

import tightrope as tr
from tiers import thorough
from tightrope.core.streams import stream
from tightrope.core.verbs import mean, observe, play, private, regret

X = np.array([[0.0, 5.0], [2.0, 5.0], [4.0, 5.0], [6.0, 5.0]])


def test_a_round_shows_a_row_to_every_arm_and_pays_for_its_class():
    problem = private(tr.problems.classification(X, ["b", "a", "b", "c"], scale=False))
    rng, met = stream(0, 0, 0), set()
    for t in range(40):
        seen = observe(problem, t, rng)
        row = seen.features[0, :3]
        assert seen.features.shape == (3, 9)
        assert np.array_equal(seen.features, np.kron(np.eye(3), row))
        k = int(row[0] / 2)
        met.add(k)
        paid = [play(problem, seen, arm, rng) for arm in range(3)]
        assert (
            paid
            == [mean(problem, seen, arm) for arm in range(3)]
            == np.eye(3)[[1, 0, 1, 2][k]].tolist()
        )
        assert [regret(problem, seen, arm) for arm in range(3)] == [1.0 - reward for reward in paid]
    assert met == {0, 1, 2, 3}
    scaled = tr.problems.classification(X, [0, 1, 1, 0], intercept=False)
    assert np.allclose(scaled.rows.mean(axis=0), 0)
    assert scaled.rows.std(axis=0) == pytest.approx([1.0, 0.0])


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (
            lambda: tr.problems.classification(X, [0, 1]),
            r"y has shape \(2,\), but must have one label for each of the 4 rows",
        ),
        (lambda: tr.problems.classification([["a"]], [0]), "X = .* is not an array of numbers"),
        (lambda: tr.problems.Classification(X, [0, 1, 3, 1]), "classes has no 2, but goes to 3"),
        (lambda: tr.problems.Classification(X, [0, 1, 0.5, 1]), "must be whole numbers from 0"),
        (
            lambda: tr.problems.Classification(X, [0, 1]),
            "classes has length 2, but must have length 4",
        ),
    ],
)
def test_bad_data_is_one_sentence(make, words):
    with pytest.raises(ValueError, match=words):
        make()


@thorough
def test_every_arm_is_shown_the_row_itself_for_models_of_their_own(rng):
    """Which play as one model on columns of the arms' own does, to rounding: the same arms."""
    data, labels = rng.normal(size=(60, 2)), rng.choice(["a", "b", "c"], 60)
    wide, narrow = (
        tr.problems.Classification(data, labels, expand=expand) for expand in (True, False)
    )
    assert observe(narrow, 0, stream(0, 0, 0)).features.shape == (3, 3)
    assert (np.ptp(observe(narrow, 0, stream(0, 0, 0)).features, axis=0) == 0).all()
    assert np.array_equal(wide.classes, np.unique(labels, return_inverse=True)[1])
    policy = tr.LinUCB(beta=0.5)
    first = tr.simulate(wide, policy, horizon=200)
    second = tr.simulate(narrow, policy._replace(shared=False), horizon=200)
    assert np.array_equal(first.pulls["LinUCB"], second.pulls["LinUCB"])
