"""The MovieLens cold start: from a small file of known rank, and its refusals."""

import numpy as np
import pytest

from tightrope.problems.data import movielens_stars


def write(path, ratings):
    """Full table of stars as u.data, one user and film a row."""
    lines = [
        f"{u + 1}\t{f + 1}\t{ratings[u, f]}\t0"
        for u in range(ratings.shape[0])
        for f in range(ratings.shape[1])
        if ratings[u, f] > 0
    ]
    path.write_text("\n".join(lines))
    return path


def test_a_full_table_of_low_rank_is_found_again(tmp_path):
    tastes = np.random.default_rng(0).integers(0, 2, size=(30, 1))
    ratings = np.where(tastes == 1, [[5, 4, 3, 2, 1]], [[2, 2, 3, 4, 4]])
    ratings = np.hstack([ratings, np.zeros((30, 1), dtype=int)])
    ratings[:3, 5] = 3  # a film that few have rated is no arm
    problems = movielens_stars(30, films=5, rank=2, data=write(tmp_path / "u.data", ratings))
    assert len(problems) == 30
    found = {tuple(np.round(1 + 4 * p.means, 9).tolist()) for p in problems}
    assert found == {(5, 4, 3, 2, 1), (2, 2, 3, 4, 4)}
    assert problems[0].features.shape == (5, 2)
    np.testing.assert_allclose(problems[0].features.T @ problems[0].features, np.eye(2), atol=1e-12)


def test_unrated_films_get_their_mean_and_rare_raters_are_left_out(tmp_path):
    ratings = np.tile([[4, 2, 3, 5]], (8, 1))
    ratings[0, 3] = 0
    ratings[1, 1:] = 0
    problems = movielens_stars(
        7, films=4, rank=1, least=0.75, data=write(tmp_path / "u.data", ratings)
    )
    for problem in problems:
        np.testing.assert_allclose(1 + 4 * problem.means, [4, 2, 3, 5], atol=1e-9)
    with pytest.raises(ValueError, match="users = 8"):
        movielens_stars(8, films=4, rank=1, least=0.75, data=tmp_path / "u.data")


def test_refusals(tmp_path):
    path = write(tmp_path / "u.data", np.full((4, 3), 1))
    with pytest.raises(ValueError, match="has no stars"):
        movielens_stars(1, films=3, rank=1, data=path)
    path = write(tmp_path / "u.data", np.arange(1, 5)[:, None] * np.ones((1, 3), dtype=int))
    with pytest.raises(ValueError, match="films = 9 is more than the 3"):
        movielens_stars(1, films=9, rank=1, data=path)
    with pytest.raises(ValueError, match="rank = 5"):
        movielens_stars(1, films=3, rank=5, data=path)
