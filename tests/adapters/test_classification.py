"""Classification data of scikit-learn as a bandit."""

import numpy as np
import pytest

import tightrope as tr

datasets = pytest.importorskip("sklearn.datasets")


def test_a_linear_policy_learns_the_classes_of_real_data():
    from sklearn.linear_model import LogisticRegression

    X, y = datasets.load_iris(return_X_y=True, as_frame=True)
    problem = tr.problems.classification(X, np.array(["setosa", "versicolor", "virginica"])[y])
    result = tr.simulate(
        problem,
        {
            "LinUCB": tr.LinUCB(width="theorem", noise=0.3, delta=0.5),
            "dice": tr.Explore(tr.LinUCB(), floor=1 / 3),
        },
        horizon=1500,
        checkpoints=[1000, 1500],
        replications=4,
    )
    wrong = np.diff(result.regret["LinUCB"], axis=1).mean() / 500
    blind = np.diff(result.regret["dice"], axis=1).mean() / 500
    assert abs(blind - 2 / 3) < 4 * np.sqrt(2 / 9 / 2000)
    assert wrong < 0.25
    best = 1 - LogisticRegression(max_iter=1000).fit(X, y).score(X, y)
    assert wrong > best  # full labels, on the rows it is judged by
