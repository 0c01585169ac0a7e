"""MovieLens ratings in every published format."""

import zipfile

import numpy as np
import pytest

from tightrope.problems.data import DataNotFound, movielens_ratings

USERS, MOVIES, RATINGS = [1, 1, 2], [10, 20, 10], [3.5, 5.0, 0.5]
TEXTS = {
    "ratings.csv": "userId,movieId,rating,timestamp\n1,10,3.5,7\n1,20,5.0,8\n2,10,0.5,9\n",
    "ratings.dat": "1::10::3.5::7\n1::20::5.0::8\n2::10::0.5::9\n",
    "u.data": "1\t10\t3.5\t7\n1\t20\t5.0\t8\n2\t10\t0.5\t9\n",
}


def same(found):
    return all(
        np.array_equal(got, want) for got, want in zip(found, (USERS, MOVIES, RATINGS), strict=True)
    )


@pytest.mark.parametrize("name", TEXTS)
def test_text_files_and_zips(name, tmp_path):
    (tmp_path / name).write_text(TEXTS[name])
    assert same(movielens_ratings(tmp_path / name))
    with zipfile.ZipFile(tmp_path / "release.zip", "w") as archive:
        archive.writestr("ml/README.txt", "text")
        archive.writestr(f"ml/{name}", TEXTS[name])
    assert same(movielens_ratings(tmp_path / "release.zip"))


def test_arrays_and_folders(tmp_path):
    (tmp_path / "movielens").mkdir()
    np.savez(tmp_path / "movielens" / "ml100k_stars.npz", user=USERS, movie=MOVIES, rating=RATINGS)
    assert same(movielens_ratings(tmp_path))
    (tmp_path / "ml-20m").mkdir()
    (tmp_path / "ml-20m" / "ratings.csv").write_text(TEXTS["ratings.csv"].replace("0.5,9", "4.5,9"))
    assert movielens_ratings(tmp_path)[2].tolist() == [3.5, 5.0, 4.5]  # the larger release


@pytest.mark.usefixtures("no_data")
def test_refusals(tmp_path):
    with pytest.raises(DataNotFound, match="TIGHTROPE_DATA"):
        movielens_ratings()
    with pytest.raises(DataNotFound):
        movielens_ratings(tmp_path / "no-such-file.csv")
    (tmp_path / "ratings.csv").write_text("not,a\n")
    with pytest.raises(ValueError, match="does not hold MovieLens ratings"):
        movielens_ratings(tmp_path / "ratings.csv")
    (tmp_path / "u.data").write_text("1\t2\tnan\t3\n")
    with pytest.raises(ValueError, match="not a finite number"):
        movielens_ratings(tmp_path / "u.data")
