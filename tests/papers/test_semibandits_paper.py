"""The semi-bandit reproduction finds its runs again, and its helpers choose as they say."""

import numpy as np
import pytest

from tightrope.papers.experiment import Run
from tightrope.papers.semibandits import fig2
from tightrope.papers.semibandits.clusters import clustered
from tightrope.papers.semibandits.settings import GRID, NAMES, best, grid, share_of


def test_grids_have_the_papers_sizes():
    sizes = {name: len(grid(name, GRID)) for name in NAMES}
    assert sizes == {"greedy": 5, "CombLinUCB": 125, "CombLinTS": 25, "C2UCB": 25, "PC2UCB": 25, "round-wise TS": 25, "arm-wise TS": 25}


def test_clusters_are_the_papers():
    problem = clustered(0.4 * np.pi / 2, seed=1)
    assert problem.features.shape == (2000, 11)
    np.testing.assert_allclose(np.linalg.norm(problem.features, axis=1), 1, rtol=1e-15)
    assert np.unique(problem.features, axis=0).shape == (10, 11)
    assert (problem.features[:, 1:] > 0).sum(axis=0).tolist() == [200] * 10
    assert np.linalg.norm(problem.theta) == pytest.approx(1)
    tiers = clustered(0.4, seed=1, tiers=True).features
    np.testing.assert_allclose(np.linalg.norm(tiers, axis=1)[::200], 1 - 0.001 * np.arange(10))


def test_the_best_setting_and_a_share():
    values = np.array([[1.0, 1.0, 5.0, 5.0], [4.0, 4.0, 0.0, 0.0]])
    assert best(values) == 0
    assert share_of(values[0], values[1]) == 0.5


def test_runs_are_found_again_whatever_the_number_of_workers(tmp_path):
    first = fig2.data(Run("smoke", tmp_path))

    def written():
        """Finished replications: they lie one folder deeper than the results, which are written anew."""
        return {path: path.stat().st_mtime_ns for path in (tmp_path / "runs").glob("*/*/*/*")}

    made = written()
    seen = []
    run = Run("smoke", tmp_path, workers=1, progress=lambda label: lambda done, total: seen.append((label, done, total)))
    again = fig2.data(run)
    assert made
    assert written() == made
    assert first.keys() == again.keys()
    for key, cell in first.items():
        np.testing.assert_array_equal(cell.grid, again[key].grid)
        np.testing.assert_array_equal(cell.fresh, again[key].fresh)
    assert {label for label, done, total in seen if done == total} == {label for label, _, _ in seen}
