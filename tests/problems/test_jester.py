import os
import zipfile

import numpy as np
import pytest

import tightrope as tr
from tightrope.problems.data import DataNotFound, dense_ratings, find


@pytest.fixture(scope="module")
def ratings():
    """300 users, 100 jokes in the original coding; the first 50 jokes are rated by almost
    everybody."""
    rng = np.random.default_rng(0)
    taste = rng.normal(size=(300, 3)) @ rng.normal(size=(3, 100))
    table = np.clip(np.round(1.5 * taste + rng.normal(size=taste.shape), 2), -10, 10)
    missing = rng.random(table.shape) < np.where(np.arange(100) < 40, 0.002, 0.6)
    return np.where(missing, np.nan, table)


@pytest.fixture(scope="module")
def folder(ratings, tmp_path_factory):
    """The same ratings as npz and as the original zip of a comma-separated table."""
    root = tmp_path_factory.mktemp("data")
    (root / "jester").mkdir()
    np.savez(root / "jester" / "jester1.npz", ratings=ratings.astype(np.float32))
    rows = np.column_stack(
        [np.isfinite(ratings).sum(axis=1), np.where(np.isnan(ratings), 99, ratings)]
    )
    np.savetxt(root / "table.csv", rows, delimiter=",", fmt="%.2f")
    with zipfile.ZipFile(root / "jester-data-1.zip", "w") as archive:
        archive.write(root / "table.csv", "jester-data-1.csv")
    return root


def test_npz_and_original_table_give_the_same_problem(folder, ratings):
    block = dense_ratings(folder / "jester" / "jester1.npz")
    assert block.shape == (np.isfinite(ratings[:, :40]).all(axis=1).sum(), 40)
    assert np.array_equal(block, dense_ratings(folder / "jester-data-1.zip"))
    assert np.array_equal(block, dense_ratings(folder / "table.csv"))


def test_users_are_linear_problems_in_range(folder):
    users = tr.problems.data.jester(20, rank=30, seed=3, data=folder)
    again = tr.problems.data.jester(20, rank=30, seed=3, data=folder)
    other = tr.problems.data.jester(20, rank=30, seed=4, data=folder)
    assert len(users) == 20
    for user, twin in zip(users, again, strict=True):
        assert user.features.shape == (40, 30)
        assert user.means == pytest.approx(user.features @ user.theta)
        assert user.means.min() >= 0
        assert user.means.max() <= 1
        assert np.array_equal(user.theta, twin.theta)
    assert not all(np.array_equal(a.theta, b.theta) for a, b in zip(users, other, strict=True))
    assert len({user.theta.tobytes() for user in users}) == 20


def test_means_that_fill_the_unit_interval_are_every_users_own(folder):
    users = tr.problems.data.jester(20, rank=30, seed=3, data=folder, means="filled")
    for user in users:
        assert (user.means.min(), user.means.max()) == pytest.approx((0.0, 1.0), abs=1e-12)
        assert np.linalg.norm(user.theta) <= 1
        assert not user.features[user.means.argmin()].any()
    block = (dense_ratings(folder / "jester" / "jester1.npz") + 10) / 20
    low, high = block.min(axis=1, keepdims=True), block.max(axis=1, keepdims=True)
    for user in tr.problems.data.jester(
        5, rank=40, data=folder, means="filled"
    ):  # of full rank: the ratings moved and scaled
        assert np.abs((block - low) / (high - low) - user.means).max(axis=1).min() < 1e-9
    with pytest.raises(ValueError, match="means = 'wide' is not one of"):
        tr.problems.data.jester(5, data=folder, means="wide")


def test_full_rank_gives_the_ratings_themselves(folder):
    block = dense_ratings(folder / "jester" / "jester1.npz")
    users = tr.problems.data.jester(5, rank=40, data=folder)
    scaled = (block + 10) / 20
    for user in users:
        assert np.abs(scaled - user.means).max(axis=1).min() < 1e-9


@pytest.mark.usefixtures("no_data")
def test_missing_data_are_one_sentence_with_the_remedy(tmp_path):
    with pytest.raises(
        DataNotFound,
        match=rf"Jester \(file 1\) is not in .*{tmp_path.name}.* could not be downloaded .*TIGHTROPE_DATA",
    ) as caught:
        tr.problems.data.jester(3)
    assert "\n" not in str(caught.value)


def test_order_of_the_search(folder, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "jester1.npz").write_bytes(b"x")
    monkeypatch.delenv("TIGHTROPE_DATA", raising=False)
    names = ["jester/jester1.npz"]
    assert find(names).resolve() == tmp_path / "data" / "jester1.npz"
    monkeypatch.setenv("TIGHTROPE_DATA", str(folder))
    assert find(names) == folder / "jester" / "jester1.npz"
    assert find(names, tmp_path / "data" / "jester1.npz") == tmp_path / "data" / "jester1.npz"


@pytest.mark.skipif(
    find(["jester/jester1.npz"]) is None, reason="the Jester ratings are not on this machine"
)
def test_the_real_ratings_have_the_papers_size():
    assert dense_ratings(find(["jester/jester1.npz"])).shape == (19_181, 40)
    users = tr.problems.data.jester(100)
    assert users[0].features.shape == (40, 35)
    assert all(user.means.min() >= 0 and user.means.max() <= 1 for user in users)


def test_ci_has_the_real_ratings():
    """Where CI names a data folder, the test above must have run."""
    if os.environ.get("CI") and os.environ.get("TIGHTROPE_DATA"):
        assert find(["jester/jester1.npz"]) is not None
