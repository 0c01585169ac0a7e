"""The reproduction runs at smoke scale, finds its cells again, and its helpers choose as they say."""

import numpy as np
import pytest

from tightrope.papers.experiment import Run
from tightrope.papers.semibandits import FIGURES
from tightrope.papers.semibandits.clusters import clustered
from tightrope.papers.semibandits.grids import GRID, NAMES, best, gap, grid
from tightrope.problems.data import DataNotFound


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


def test_the_best_setting_and_a_paired_gap():
    values = np.array([[1.0, 1.0, 5.0, 5.0], [4.0, 4.0, 0.0, 0.0]])
    assert best(values) == 0
    assert gap(values[0], values[1]).mean == 1.0


def test_smoke_runs_and_resumes(tmp_path):
    run = Run("smoke", tmp_path)
    first = FIGURES["fig2"](run)
    made = {path.name: path.stat().st_mtime_ns for path in (tmp_path / "cells").iterdir()}
    again = FIGURES["fig2"](run)
    assert {path.name: path.stat().st_mtime_ns for path in (tmp_path / "cells").iterdir()} == made
    assert first.tables["rewards"].equals(again.tables["rewards"])
    assert len(first.claims) == 4


def test_missing_data_are_said_so(tmp_path, monkeypatch):
    monkeypatch.setenv("TIGHTROPE_DATA", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    with pytest.raises(DataNotFound):
        FIGURES["table1"](Run("smoke", tmp_path))
