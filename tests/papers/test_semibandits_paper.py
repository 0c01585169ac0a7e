"""The semi-bandit reproduction finds its runs again, its helpers choose as they say, and planted
wrong results fail."""

import numpy as np
import pandas as pd
import pytest

import tightrope as tr
from tiers import thorough
from tightrope import CombLinUCB
from tightrope_papers.experiment import Run
from tightrope_papers.semibandits import fig1, fig2, movielens, theory
from tightrope_papers.semibandits.settings import (
    GRID,
    NAMES,
    PAPERS_READING,
    best,
    clustered_world,
    differing_settings,
    grid,
    share_of,
)

YES, PARTLY, NO, OPEN = "reproduced", "partly", "not reproduced", "undecided"


def verdicts(rows):
    return [row.verdict for row in rows]


def test_grids_have_the_papers_sizes_without_equal_settings():
    sizes = {name: len(grid(name, GRID)) for name in NAMES}
    assert sizes == {
        "greedy": 5,
        "CombLinUCB": 89,
        "CombLinTS": 25,
        "C2UCB": 25,
        "PC2UCB": 25,
        "round-wise TS": 25,
        "arm-wise TS": 25,
    }
    exponents = range(-2, 3)  # of prior_scale^2, noise^2 and c
    assert (
        len(
            {
                (noise - prior, c + noise / 2)
                for prior in exponents
                for noise in exponents
                for c in exponents
            }
        )
        == 89
    )


def test_settings_that_are_left_out_choose_as_one_that_is_kept():
    kept, left_out = (
        CombLinUCB(prior_scale=0.1, noise=0.1, c=1.0),
        CombLinUCB(prior_scale=1.0, noise=1.0, c=0.1),
    )
    assert differing_settings([kept, left_out]) == [kept]
    world = clustered_world(0.4, seed=1, arms=200, k=10, jitter=1e-3)
    found = tr.simulate(
        world, {"kept": kept, "left out": left_out}, horizon=20, replications=2, engine="threads"
    )
    assert np.array_equal(found.pulls["kept"], found.pulls["left out"])


def test_clusters_are_the_papers():
    problem = clustered_world(0.4 * np.pi / 2, seed=1)
    assert problem.features.shape == (2000, 11)
    np.testing.assert_allclose(np.linalg.norm(problem.features, axis=1), 1, rtol=1e-15)
    assert np.unique(problem.features, axis=0).shape == (10, 11)
    assert (problem.features[:, 1:] > 0).sum(axis=0).tolist() == [200] * 10
    assert np.linalg.norm(problem.theta) == pytest.approx(1)
    tiers = clustered_world(0.4, seed=1, tiers=True).features
    np.testing.assert_allclose(np.linalg.norm(tiers, axis=1)[::200], 1 - 0.001 * np.arange(10))


def test_the_best_setting_and_a_share():
    values = np.array([[1.0, 1.0, 5.0, 5.0], [4.0, 4.0, 0.0, 0.0]])
    assert (best(values), share_of(values[0], values[1])) == (0, 0.5)


@thorough
def test_runs_are_found_again_whatever_the_number_of_workers(tmp_path):
    first = fig2.data(Run("smoke", tmp_path)).cells

    def written():
        """Finished replications: they lie one folder deeper than the results, which are written
        anew."""
        return {path: path.stat().st_mtime_ns for path in (tmp_path / "runs").glob("*/*/*/*")}

    made = written()
    seen = []
    run = Run(
        "smoke",
        tmp_path,
        workers=1,
        progress=lambda label, known=True: lambda done, total: seen.append((label, done, total)),
    )
    again = fig2.data(run).cells
    assert made
    assert written() == made
    assert first.keys() == again.keys()
    for key, cell in first.items():
        np.testing.assert_array_equal(cell.grid, again[key].grid)
        np.testing.assert_array_equal(cell.fresh, again[key].fresh)
    assert {label for label, done, total in seen if done == total} == {
        label for label, _, _ in seen
    }


def test_a_set_from_one_cluster_is_not_from_many():
    one, many = np.ones((20, 10)), np.ones((20, 10))
    many[:, 0], many[:, 1] = 10, np.arange(20) % 3 + 2
    found = [fig1.from_one_cluster("C2UCB", pulls) for pulls in (one, many)]
    assert verdicts(found) == [YES, NO]
    assert fig1.from_many_clusters("PC2UCB", many).verdict == YES
    assert fig1.from_many_clusters("PC2UCB", one).verdict != YES
    certain = {"C2UCB": 0.0, "round-wise TS": 1e-15, "PC2UCB": 0.4, "arm-wise TS": 2.0}
    assert verdicts(fig1.score_rows(certain)) == [YES]
    assert verdicts(fig1.score_rows(certain | {"PC2UCB": 0.0})) == [PARTLY]


def test_when_the_best_cluster_is_found(rng):
    soon, late = np.zeros((40, 10)), np.zeros((40, 10))
    soon[:, 0] = 7
    late[np.arange(40), rng.integers(0, 10, 40)] = 100
    late[:3] = 0
    assert fig1.discovery_round(late[:3]).tolist() == [11] * 3
    assert fig1.discovery_round(np.array([[0, 0, 5, 0], [1, 0, 0, 0]])).tolist() == [3, 1]
    assert verdicts(
        fig1.earlier_row("PC2UCB", "C2UCB", one, other)
        for one, other in ((soon, late), (late, soon), (rng.permutation(late), late))
    ) == [YES, NO, OPEN]
    low, high = rng.normal(0.3, 0.05, 40), rng.normal(0.6, 0.05, 40)
    rows = fig1.slower_row("C2UCB", low, high), fig1.slower_row("C2UCB", high, low)
    assert verdicts(rows) == [YES, NO]


def planted(gain):
    """Rewards at three angles, those of the arm-wise algorithms and of greedy larger by
    gain(angle), under the rule "index"."""
    rng = np.random.default_rng(1)
    cells, possible = {}, {}
    for angle in (0.3, 0.6, 1.0):
        base = rng.normal(100.0, 10.0, 50)
        possible["index", angle] = base + 300
        for name in NAMES:
            extra = gain(angle) if name in (*fig2.ARM_WISE, "greedy") else 0.0
            cells["index", angle, name] = fig2.AngleCell(
                np.zeros((1, 1)), base + extra + rng.normal(0, 5, 50)
            )
    return fig2.AngleRuns(cells, possible)


def test_gains_that_shrink_with_the_angle_or_vanish_fail():
    wide = [0.3, 0.6, 1.0]
    growing, shrinking, none = (
        planted(lambda a: 100 * a),
        planted(lambda a: 100 * (1.1 - a)),
        planted(lambda a: 0.0),
    )
    assert verdicts(
        fig2.wider_is_worse(runs, "index", "PC2UCB", "C2UCB") for runs in (growing, shrinking, none)
    ) == [YES, NO, OPEN]
    assert (
        fig2.outperforms(
            "artificial-greedy", growing, "index", wide, ("greedy",), ("C2UCB", "round-wise TS")
        ).verdict
        == YES
    )
    assert (
        fig2.outperforms(
            "artificial-greedy", growing, "index", wide, ("C2UCB",), ("greedy",)
        ).verdict
        == NO
    )
    assert set(verdicts(fig2.score(none))) <= {NO, OPEN, PARTLY}
    np.testing.assert_allclose(
        fig2.trend(np.array([0.0, 1.0, 2.0]), np.array([[1.0, 0.0], [3.0, 0.0], [5.0, 3.0]])),
        [2.0, 1.5],
    )


def test_table_1_fails_when_the_columns_are_exchanged(rng):
    base = rng.normal(1000.0, 50.0, 30)
    rewards = dict(zip(NAMES, movielens.PRINTED_REWARDS[50], strict=True))
    final = {
        name: base + value + rng.normal(0, 5, 30)
        for name, value in rewards.items()
        if name != "PC2UCB"
    }
    final["PC2UCB"] = base + 2500 + rng.normal(0, 5, 30)
    right = list(movielens.rows_of(movielens.RewardCell("ML-1M", PAPERS_READING, 50, final)))
    assert set(verdicts(right)) == {YES} and {row.key for row in right} == {
        "movielens-ten-percent",
        "movielens-pc2ucb",
        "movielens-arm-wise",
        "pc2ucb-first",
        "movielens-greedy",
    }
    exchanged = dict(zip(NAMES, reversed([final[name] for name in NAMES]), strict=True))
    assert YES not in verdicts(
        movielens.rows_of(movielens.RewardCell("ML-1M", PAPERS_READING, 50, exchanged))
    )
    assert {
        row.key for row in movielens.rows_of(movielens.RewardCell("ML-1M", "U S", 50, final))
    } == {""}
    assert "movielens-rewards" in {
        row.key
        for row in movielens.rows_of(movielens.RewardCell("ml-20m", PAPERS_READING, 50, final))
    }


def test_figure_4_fails_when_the_curves_are_exchanged(rng):
    base = rng.normal(10.0, 0.5, (20, 20))
    average = {
        name: base + (3.0 if name in fig2.ARM_WISE else 0.0) + rng.normal(0, 0.1, (20, 20))
        for name in NAMES
    }
    assert verdicts(movielens.early_rows("ML-1M", PAPERS_READING, 50, average)) == [YES] * 3
    average["arm-wise TS"], average["round-wise TS"] = (
        average["round-wise TS"],
        average["arm-wise TS"],
    )
    assert verdicts(movielens.early_rows("ML-1M", PAPERS_READING, 50, average))[1:] == [NO, NO]


def test_bounds_on_runs_fail_where_regret_is_linear_or_a_lemma_is_broken(rng):
    start = rng.normal(50.0, 2.0, 20)
    bound = np.array([theory.regret_bound("PC2UCB", T, 30, 3, 3, 3.0) for T in (500, 2000)])
    assert verdicts(
        theory.bound_rows(
            "theorem-3",
            theory.BoundedRegret("PC2UCB", 3.0, np.column_stack([start, 1.3 * start]), bound),
        )
    ) == [
        YES,
        YES,
    ]
    linear = theory.BoundedRegret(
        "PC2UCB", 3.0, np.column_stack([start, 4 * start + rng.normal(0, 1, 20)]), bound
    )
    assert verdicts(theory.bound_rows("theorem-3", linear)) == [YES, NO]
    assert verdicts(theory.bound_rows("theorem-3", linear._replace(bound=bound / 1e4)))[0] == NO
    table = theory.widths(rng, 1, T=5)
    assert verdicts(theory.width_rows(table)) == [YES, YES]
    assert NO in verdicts(theory.width_rows(table.assign(share=1.2)))
    chances = pd.DataFrame(
        {
            "draws": ["round-wise", "arm-wise"],
            "k": 9,
            "N": 9,
            "probability": [0.159, 0.0013],
            "se": 0.001,
        }
    )
    assert verdicts(theory.optimism_rows(chances)) == [YES, NO]
