"""The R6A loader on a tiny file of the same format."""

import gzip

import numpy as np
import pytest

import tightrope as tr
from tightrope.problems.data import visits


def features(values):
    return " ".join(
        f"{place}:{value:.6f}" for place, value in [*enumerate(values[1:], start=2), (1, values[0])]
    )


@pytest.fixture(scope="module")
def log(tmp_path_factory):
    """400 visits; a click is likely when user and article share their second feature."""
    rng = np.random.default_rng(0)
    articles = {109498 + k: np.r_[1, rng.dirichlet(np.ones(5))] for k in range(5)}
    lines = []
    for n in range(400):
        user = np.r_[1, rng.dirichlet(np.ones(5))]
        shown = 109498 + n % 5
        click = int(rng.random() < 0.3 + 0.6 * user[1] * articles[shown][1])
        pool = " ".join(f"|{name} {features(vector)}" for name, vector in articles.items())
        lines.append(f"12411609{n:02d} {shown} {click} |user {features(user)} {pool}")
    lines.append(
        "1241160999 109499 1 |user 2:0.5 |109499 1:1.0"
    )  # incomplete, as some lines of the log are
    lines.append(
        "1241160999 110000 1 |user " + features(user)
    )  # the shown article is not described
    path = tmp_path_factory.mktemp("yahoo") / "r6a.gz"
    with gzip.open(path, "wt") as file:
        file.write("\n".join(lines) + "\n")
    return path, articles


def test_visits_are_kronecker_products_of_complete_lines(log):
    path, articles = log
    found = list(visits(path))
    assert len(found) == 400
    x, _ = found[3]
    block = x.reshape(6, 6)
    assert block[:, 0] == pytest.approx(articles[109501], abs=1e-6)
    assert block[0].sum() == pytest.approx(2, abs=1e-5)


def test_problem_follows_the_regression(log):
    path, _ = log
    problem = tr.problems.data.yahoo(arms=8, least_gap=0.02, data=path)
    X, targets = map(
        np.array, zip(*[(x, 1.0 if clicked else -1.0) for x, clicked in visits(path)], strict=True)
    )
    theta = np.linalg.solve(0.01 * np.eye(36) + X.T @ X, X.T @ targets)
    assert problem.theta == pytest.approx(theta, rel=1e-9, abs=1e-9)
    assert problem.features.shape == (8, 36)
    top = np.sort(problem.means)[::-1]
    assert top[0] - top[1] >= 0.02
    assert abs(problem.means).max() <= 1
    assert np.array_equal(
        problem.features, tr.problems.data.yahoo(arms=8, least_gap=0.02, data=path).features
    )


@pytest.mark.usefixtures("no_data")
def test_what_cannot_be_is_refused(log):
    path, _ = log
    with pytest.raises(ValueError, match="least_gap"):
        tr.problems.data.yahoo(arms=8, least_gap=1.9, data=path)
    with pytest.raises(ValueError, match="complete visits"):
        tr.problems.data.yahoo(arms=50, limit=20, data=path)
    with pytest.raises(tr.problems.data.DataNotFound, match="Webscope"):
        tr.problems.data.yahoo()
