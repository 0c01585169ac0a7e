"""LinGapE's reproduction: planted wrong results that its rows must not pass, and formulas against
closed forms."""

import numpy as np
import pandas as pd
import pytest

from tightrope_papers.lingape import fig1, fig2, fig3, theory
from tightrope_papers.lingape.settings import (
    ADAPTIVE,
    ADAPTIVE_ONE,
    ELIMINATION,
    HALF,
    ORACLE,
    ORACLE_K,
    RATIO,
    SQRT2,
    STATIC,
    UNIFORM,
    ZERO,
    at_least_times,
    canonical,
    near_parallel,
)
from tightrope_papers.scoring import Estimate

YES, PARTLY, NO, OPEN = "reproduced", "partly", "not reproduced", "undecided"
rng = np.random.default_rng(0)
USUAL = {
    ZERO: 0.8e6,
    HALF: 0.33e6,
    RATIO: 0.33e6,
    STATIC: 16e6,
    SQRT2: 3e6,
    UNIFORM: 8e6,
    ORACLE: 2.9e6,
    ORACLE_K: 2.74e6,
    ADAPTIVE: 130e6,
    ADAPTIVE_ONE: 110e6,
    ELIMINATION: 0.8e6,
}


def runs(spread=0.01, n=40, **changed):
    """Every method with about its usual number of samples; arm 0 named always."""
    means = USUAL | {globals()[name]: value for name, value in changed.items()}
    return {
        name: {
            "rounds": mean * (1 + spread * rng.standard_normal(n)),
            "arm": np.zeros(n, dtype=int),
            "fewest": np.full(n, 2),
            "last_survivors": np.full(n, 6),
            "last_rounds": 16e6 * (1 + spread * rng.standard_normal(n)),
        }
        for name, mean in means.items()
    }


def verdicts(rows, key):
    return [row.verdict for row in rows if row.key == key]


@pytest.mark.parametrize(
    ("value", "se", "verdict"),
    [(4.5, 0.05, NO), (5.5, 0.05, YES), (0.9, 0.01, NO), (5.5, 0.5, OPEN)],
)
def test_at_least_five_times_is_not_four_and_a_half(value, se, verdict):
    row = at_least_times("adaptive-worse", "x", "at least 5", Estimate(value, se), 5.0)
    assert row.verdict == verdict


def test_one_dimension_in_which_a_rival_is_better_decides_figure_1():
    longer = {"last_rounds": np.full(40, 90e6)}  # than all of XY-static
    good = {d: (found := runs()) | {ADAPTIVE_ONE: found[ADAPTIVE_ONE] | longer} for d in (2, 5, 10)}
    rows = fig1.score(good)
    for key in (
        "ten-times",
        "near-parallel-first",
        "adaptive-worse",
        "beats-oracle",
        "adaptive-forgets",
        "theorem-1",
    ):
        assert set(verdicts(rows, key)) == {YES}, key
    bad = fig1.score(good | {10: runs(STATIC=0.2e6, ORACLE_K=0.2e6, ADAPTIVE_ONE=0.9e6)})
    for key, verdict in (
        ("near-parallel-first", NO),
        ("beats-oracle", NO),
        ("adaptive-worse", NO),
    ):
        assert set(verdicts(bad, key)) == {verdict}


def test_xy_adaptive_that_forgets_nothing():
    found = runs()
    found[ADAPTIVE_ONE] |= {"fewest": np.full(40, 6), "last_survivors": np.full(40, 2)}
    found[ADAPTIVE_ONE]["last_rounds"] = 8e6 * (
        1 + 0.01 * rng.standard_normal(40)
    )  # half of XY-static's: fewer than "as many"
    assert [row.verdict for row in fig1.forgets(found)] == [NO, NO, NO]


def by_gap(leads):
    """Cases of figure 2 in which XY-static needs so many times LinGapE's 1000 / gap^2 samples; with
    pulls."""
    cases = {}
    for gap, lead in leads.items():
        base = 1000 / gap**2
        found = runs(
            0.005,
            200,
            ZERO=base,
            HALF=base,
            RATIO=base,
            STATIC=lead * base,
            ADAPTIVE_ONE=6 * lead * base,
        )
        found[ZERO]["pulls"] = np.tile([500.0, 300.0, 250.0, 200.0, 120.0], (200, 1))
        found[STATIC]["pulls"] = np.tile([500.0, 500.0, 500.0, 500.0, 499.0], (200, 1))
        cases[gap] = found
    return cases


def test_a_lead_that_grows_is_not_a_lead():
    growing, flat, shuffled = (
        {0.1: a, 0.2: b, 0.3: c} for a, b, c in ((8, 6, 4), (5, 5, 5), (1.01, 6, 60))
    )
    judged = [
        [row.verdict for row in fig2.grows("2", by_gap(leads))]
        for leads in (growing, flat, shuffled)
    ]
    assert [samples for samples, _ in judged] == [YES, YES, NO]
    assert [factor == YES for _, factor in judged] == [True, False, False]
    assert fig2.first("2", by_gap(flat)).verdict == YES
    assert fig2.first("2", by_gap({0.1: 5, 0.2: 0.9})).verdict == NO


def test_uniform_pulls_quit_nothing_and_a_rule_that_saves_a_quarter_is_not_alike():
    cases = by_gap({0.1: 5, 0.5: 5})
    assert [row.verdict for row in fig2.quits("2", cases)] == [YES, YES]
    assert fig2.rules_alike("2", cases).verdict == YES
    cases[0.5][ZERO]["pulls"] = cases[0.5][STATIC]["pulls"]
    for found in cases.values():
        found[RATIO]["rounds"] = 0.75 * found[HALF]["rounds"]
    cases[0.5][STATIC]["pulls"] = np.tile([500.0, 500.0, 500.0, 500.0, 300.0], (200, 1))
    assert [row.verdict for row in fig2.quits("2", cases)] == [NO, NO]
    assert fig2.rules_alike("2", cases).verdict == NO


def test_growth_with_the_number_of_arms_is_a_slope():
    rising = {
        K: mean + 0.3 * rng.standard_normal(8)
        for K, mean in ((10, 5.0), (20, 6.0), (30, 7.5), (40, 9.0))
    }
    flat = {K: 5.0 + 0.3 * rng.standard_normal(8) for K in rising}
    falling = dict(zip(rising, reversed(rising.values()), strict=True))
    assert [fig3.growth(seen).verdict for seen in (rising, flat, falling)] == [YES, OPEN, NO]


def test_figure_3_counts_draws_and_not_runs():
    cases = {(K, draw): runs(n=4, STATIC=0.8e6 * 5) for K in (10, 20) for draw in range(8)}
    rows = fig3.score(fig3.UserArticleRuns(cases, dict.fromkeys(cases, 0), "nowhere"))
    assert verdicts(rows, "yahoo-five-times") == [YES]
    assert verdicts(rows, "adaptive-worse") == [YES]
    few = {key: runs(n=4, STATIC=0.8e6 * (2 if key[1] else 26)) for key in cases}
    assert verdicts(
        fig3.score(fig3.UserArticleRuns(few, dict.fromkeys(cases, 0), "nowhere")),
        "yahoo-five-times",
    ) == [OPEN]


def pulled():
    return {
        name: {
            "rounds": np.full(5, sum(counts)),
            "pulls": np.tile(np.array(counts, dtype=float), (5, 1)),
        }
        for name, counts in (fig1.PRINTED_PULLS | {ORACLE: fig1.PRINTED_PULLS[ORACLE_K]}).items()
    }


def test_table_1_is_the_print_and_nothing_else():
    found = fig1.PullCounts(pulled(), np.array(fig1.PRINTED_PULLS[STATIC], dtype=float))
    assert {row.verdict for row in fig1.table1_score(found)} == {YES}
    turned = {
        name: {
            key: values[..., ::-1] if values.ndim > 1 else values for key, values in item.items()
        }
        for name, item in pulled().items()
    }
    turned[STATIC]["pulls"] = np.tile([9e6, 1e6, 1e6, 1e6, 1e6, 1e6], (5, 1))
    rows = list(
        fig1.table1_score(
            fig1.PullCounts(
                turned, np.array(fig1.PRINTED_PULLS[STATIC], dtype=float)[[1, 0, 2, 3, 4, 5]]
            )
        )
    )
    assert set(verdicts(rows, "table-focus")) == {NO}
    assert verdicts(rows, "table-static")[-1] == NO
    assert verdicts(rows, "table-oracle")[-1] == NO


def audits(rounds):
    seen = {
        rule: fig2.Audit(
            np.full(200, 0.6), mean + 1e3 * rng.standard_normal(200), np.zeros(200, dtype=bool)
        )
        for rule, mean in rounds.items()
    }
    return fig2.CoverageAudits(seen, 10**8)


def test_coverage_sees_a_bound_that_is_left_and_rules_that_differ():
    good = audits({"greedy": 3.278e5, "ratio": 3.256e5})
    assert {row.verdict for row in fig2.coverage_score(good)} == {YES}
    bad = audits({"greedy": 3.278e5, "ratio": 2.5e5})
    bad.audits["ratio"].ratios[:40] = 1.2
    bad.audits["greedy"].wrong[:40] = True
    assert [row.verdict for row in fig2.coverage_score(bad)] == [YES, NO, NO, YES, NO]


def test_complexities_have_their_closed_forms():
    """Canonical arms: rho = 4, p = 1/2 twice; XY-oracle's design weighs the best arm like the
    square root of the number of others."""
    gap, K = 0.5, 5
    problem = canonical(gap)
    assert theory.complexity(problem.features, problem.means, 0.0) == pytest.approx(18 * K / gap**2)
    assert theory.oracle_complexity(problem.features, problem.means) == pytest.approx(
        (1 + np.sqrt(K - 1)) ** 2 / gap**2, rel=2e-3
    )
    X, means = near_parallel(3).features, near_parallel(3).means
    p, rho, gap = theory.program(X, X[0] - X[3])
    np.testing.assert_allclose(np.sqrt(rho) * p @ np.ones(4), np.sqrt(rho))
    assert gap < 1e-12
    assert theory.gaps_of(means)[0] == theory.gaps_of(means)[3] == means[0] - means[3]


def test_theorems_fail_where_runs_or_problems_break_them():
    assert theory.theorem_2({"x": (np.array([10, 20, 30]), 50.0)})[0].verdict == YES
    assert theory.theorem_2({"x": (np.array([10, 20, 300]), 50.0)})[0].verdict == NO
    table = pd.DataFrame(
        {
            "problem": ["random", "near-parallel, d = 2", "near-parallel, d = 10"],
            "K": [5, 3, 11],
            "H": [100.0, 9.0, 9.0],
            "H of XY-oracle": [10.0, 1.0, 1.0],
        }
    )
    assert [row.verdict for row in theory.theorem_3(table)] == [YES, YES, YES]
    assert [row.verdict for row in theory.theorem_3(table.assign(H=[2000.0, 9.0, 99.0]))] == [
        NO,
        NO,
        NO,
    ]


def test_programs_radius_and_closed_forms_fail_on_wrong_numbers():
    good = pd.DataFrame(
        {
            "rho": [4.0],
            "duality gap": [0.0],
            "best design": [4.0],
            "n times squared width": [4.001],
            "Lemma 1": [0.9],
        }
    )
    assert [row.verdict for row in theory.programs(good)] == [YES, YES, YES]
    wrong = good.assign(**{"best design": 3.0, "n times squared width": 5.0, "Lemma 1": 1.1})
    assert [row.verdict for row in theory.programs(wrong)] == [NO, NO, NO]
    rounds = np.tile([1e4, 3e5], (10, 1)) * (1 + 0.01 * rng.standard_normal((10, 2)))
    radius = {
        factor: [row.verdict for row in theory.radius(rounds, factor * np.log(rounds), 6)]
        for factor in (1, 2, 5, 50)
    }
    assert (radius[1], radius[2][1], radius[5][1], radius[50][0]) == ([YES, YES], NO, NO, NO)
    closed = pd.DataFrame(
        {
            "epsilon": [0.0, 0.0, 0.1],
            "K": 3,
            "H": [9.0, 18.0, 9.0],
            "closed form": [9.0, 18.0, 9.0],
            "UGapE": [2.0, 4.0, 2.0],
        }
    )
    assert {row.verdict for row in theory.closed_form(closed)} == {YES}
    assert [row.verdict for row in theory.closed_form(closed.assign(H=[9.0, 19.0, 9.0]))][:2] == [
        NO,
        NO,
    ]
    assert theory.example().verdict == YES
