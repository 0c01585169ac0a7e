"""SoftUCB's reproduction: the paper's main comparison at its size, and the rules behind the verdicts."""

import numpy as np

from tightrope.papers.experiment import Run
from tightrope.papers.scoring import MARGIN, paired
from tightrope.papers.softucb.comparison import OURS, RIVALS, compare, score, tables
from tightrope.papers.softucb.fig1 import drift, ragged
from tightrope.papers.softucb.settings import synthetic


def test_softucb_beats_the_papers_baselines(tmp_path):
    """d = 10, sigma = 0.5, T = 2048, 40 instances: each paired difference below 0 by 4 standard errors."""
    problems = [synthetic(0, i, 10, 0.5) for i in range(40)]
    found = compare(Run("laptop", tmp_path), "fig2", {"d = 10": problems}, 2048, 30)
    (case,) = found.cases
    for name in OURS:
        for rival in RIVALS:
            gap = paired(case.result.regret[name][:, -1], case.result.regret[rival][:, -1])
            assert gap.value < -MARGIN * gap.se, (name, rival)
    verdicts = [claim.verdict for claim in score(found)]
    assert verdicts[:-1] == ["reproduced"] * len(OURS) * len(RIVALS)
    assert set(tables(found)["d = 10"]["policy"]) == set(case.result.policies)
    assert case.diverged == 0


def test_synthetic_instances_are_the_papers():
    problem = synthetic(3, 1, 20, 0.5)
    assert problem.features.shape == (50, 20)
    np.testing.assert_allclose(np.linalg.norm(problem.features, axis=1), 1, rtol=1e-12)
    assert np.isclose(np.linalg.norm(problem.theta), 1)
    assert not np.array_equal(problem.features, synthetic(3, 2, 20, 0.5).features)


def test_settling_is_judged_by_the_drift_of_the_end():
    flat, rising = np.ones((5, 30)), np.tile(np.linspace(1, 3, 30), (5, 1))
    assert drift("x", flat, "rounds").verdict == "reproduced"
    assert drift("x", rising, "rounds").verdict == "not reproduced"
    assert ragged([np.array([1.0, 2.0]), np.array([1.0, 2.0, 3.0])]).tolist() == [[1, 2, 2], [1, 2, 3]]
