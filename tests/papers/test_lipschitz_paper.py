"""The instances of the reproduction have the known constants, planted wrong results fail; the
report of the lower bound."""

import numpy as np
import pandas as pd
import pytest

import tightrope as tr
from tiers import thorough
from tightrope.core.verbs import lower_bound
from tightrope.plots.figures import bound_curve, bound_report, regret_figure
from tightrope.results import Result
from tightrope_papers.lipschitz import discrete, theory
from tightrope_papers.lipschitz.continuous import (
    APART_CONSTANT,
    L,
    bounds,
    constant as contextual_constant,
    targets,
)
from tightrope_papers.lipschitz.discrete import (
    LOGLOG,
    constant,
    growth_of_cklucb,
    instance,
    order,
    panels,
    shapes,
)
from tightrope_papers.scoring import Estimate


@pytest.mark.parametrize("K", [17, 46])
@pytest.mark.parametrize("name", list(shapes()))
def test_instances_are_lipschitz_and_structure_lowers_the_bound(name, K):
    problem = instance(name, K)
    excess = np.abs(problem.means[:, None] - problem.means) - problem.lipschitz * problem.distances
    assert excess.max() < 1e-12
    assert 0 < constant(problem) < constant(problem, 1e6)


def test_the_steep_instance_and_the_contexts_have_the_known_constants():
    assert constant(instance("steep", 17)) == pytest.approx(8.45, abs=0.005)
    assert 0.08 < 1 - contextual_constant(L) / contextual_constant(APART_CONSTANT) < 0.115


def test_continuous_shapes_stay_in_the_unit_interval_and_peak_off_the_grid():
    for shape in targets().values():
        peak, slope = bounds(shape)
        assert shape(np.linspace(0, 1, 10_001)).min() >= 0 and peak <= 1 and slope > 0
        assert peak > shape(np.linspace(0, 1, 29)).max()


@thorough
def test_every_regret_plot_carries_the_bound(tmp_path, monkeypatch):
    points = np.linspace(0, 1, 5)
    problem = tr.problems.Lipschitz(
        points, 0.8 - 0.5 * np.abs(points - 0.4), lipschitz=0.5, best=0.8
    )
    result = tr.simulate(
        problem, {"CKL-UCB": tr.CKLUCB(lipschitz=0.5)}, horizon=300, replications=2
    )
    result.save(tmp_path / "run")
    ((label, (rounds, values)),) = bound_curve(tr.load(tmp_path / "run")).items()
    C = tr.lipschitz_lower_bound(problem.means, points=points, lipschitz=0.5).value
    np.testing.assert_allclose(
        values, C * np.log(rounds) + (0.8 - problem.means.max()) * rounds, rtol=1e-12
    )
    assert "asymptotic" in label
    assert [line.get_label() for line in regret_figure(result).axes[0].get_lines()] == [
        "CKL-UCB"
    ]  # far above: left out
    monkeypatch.setattr("tightrope.plots.figures.FLAT_RATIO", np.inf)
    drawn = regret_figure(result).axes[0].get_lines()[-1]
    assert drawn.get_label() == label
    np.testing.assert_array_equal(drawn.get_ydata(), values)

    contexts = tr.problems.ContextualLipschitz(
        [0.0, 0.5], [0.0, 0.4, 1.0], [[0.8, 0.6, 0.3], [0.6, 0.7, 0.5]], 0.5
    )
    assert lower_bound(contexts)[0] > 0
    with pytest.warns(UserWarning, match="violate"):
        assert lower_bound(tr.problems.Lipschitz(points, problem.means, lipschitz=0.1)) is None
    assert bound_curve(tr.simulate(tr.problems.Bernoulli([0.2, 0.4]), tr.UCB(), horizon=20)) == {}


def test_the_bound_report_names_the_constant_and_every_arm():
    report = bound_report([0.2, 0.7, 0.5], points=[0.0, 0.5, 1.0], lipschitz=1.0, horizon=1000)
    assert f"C(theta) = {report.bound.value:.6g}" in report.text
    assert len(report.text.splitlines()) == 5 + 3
    assert "the rest" in report.text.splitlines()[6]
    with pytest.raises(ValueError, match="horizon"):
        bound_report([0.2, 0.7], points=[0.0, 0.5], lipschitz=1.0, horizon=1)


YES, PARTLY, NO, OPEN = "reproduced", "partly", "not reproduced", "undecided"


def ended(**final):
    """A result of one checkpoint with these final regrets."""
    return Result(
        np.array([10, 100]),
        {name: np.column_stack([values, values]) for name, values in final.items()},
        {},
        {},
        {},
    )


def verdicts(rows):
    return [row.verdict for row in rows]


@pytest.mark.parametrize(
    ("growth", "less", "verdict"),
    [
        (Estimate(105.0, 2.0), Estimate(10.0, 2.0), NO),
        (Estimate(60.0, 1.0), Estimate(-10.0, 2.0), YES),
        (Estimate(60.0, 8.0), Estimate(-10.0, 8.0), OPEN),
    ],
)
def test_a_growth_of_105_is_not_like_63(growth, less, verdict):
    assert verdicts(growth_of_cklucb("quadratic", growth, less, 62.6)) == [verdict, verdict]


def test_growth_against_the_lower_bound_is_one_sided():
    noise = np.random.default_rng(6).normal(0.0, 1.0, 400)
    found = {
        "CKL-UCB": 8.8 + noise,
        "a policy that breaks the theorem": 5.0 + noise,
        "one that a single run saves": np.append(5.0 + noise, 1e6),
        "more noise": 8.8 + 40 * noise,
    }
    rows = [discrete.not_below(name, slopes, 8.45) for name, slopes in found.items()]
    assert verdicts(rows) == [YES, NO, NO, OPEN]
    seen = (Estimate(8.0, 0.5), Estimate(13.7, 5.2), Estimate(17.2, 0.5))
    rows = [discrete.optimal("oslb-optimal", "OSLB", slope, 8.45) for slope in seen]
    assert verdicts(rows) == [YES, OPEN, NO]


def test_plays_are_compared_with_the_rates(rng):
    rates = np.array([10.0, 0.2, 0.0])
    earlier = rng.integers(50, 60, (40, 3)).astype(float)
    right = earlier + rates * np.log(10) + rng.normal(0, 1, (40, 3))
    assert verdicts(discrete.plays(earlier, right, rates, 10.0)) == [
        YES
    ]  # one arm has a rate of at least 1
    assert verdicts(discrete.plays(earlier, earlier + 2 * (right - earlier), rates, 10.0)) == [NO]


def test_low_arms_first_fails_on_shuffled_arms(rng):
    gaps = np.array([0.5, 0.4, 0.3, 0.2, 0.1, 0.0])
    pulls = np.array([10.0, 20, 40, 80, 160, 9000]) + rng.integers(0, 5, (50, 6))
    early = np.minimum(pulls, 30)
    assert verdicts(discrete.low_arms_first("x", early, pulls, gaps)) == [YES, YES]
    mixed = rng.permuted(pulls, axis=1)
    assert NO in verdicts(discrete.low_arms_first("x", np.minimum(mixed, 30), mixed, gaps))
    assert verdicts(discrete.low_arms_first("x", early[:, ::-1], pulls[:, ::-1], gaps))[0] == NO


def test_forced_exploration_bad_runs_and_orders_are_judged_by_paired_differences(rng):
    forced = rng.normal(300.0, 20.0, 60)
    level, heavy = forced + rng.normal(0, 5, 60), forced + 300 + rng.normal(0, 50, 60)
    rows = [
        discrete.without_forcing("x", ended(**{"CKL-UCB": forced, "CKL-UCB, plain": plain}))
        for plain in (level, heavy)
    ]
    assert verdicts(rows) == [YES, NO]
    few, many, steady = (
        np.where(np.arange(60) < 2, 2000.0, 100.0),
        np.where(np.arange(60) < 40, 2000.0, 100.0),
        np.full(60, 200.0),
    )
    rows = [
        discrete.robustness("x", ended(**{"CKL-UCB": one, "OSLB": other}), steady.mean())
        for one, other in ((few, many), (many, few), (steady, steady))
    ]
    assert verdicts(rows) == [YES, NO, OPEN]  # among the last no run is bad
    rows = [
        order("continuous", "x", ended(a=one, b=other), "a", "b")
        for one, other in ((forced, heavy), (heavy, forced), (rng.permutation(forced), forced))
    ]
    assert verdicts(rows) == [YES, NO, OPEN]


def test_theorem_5_1_fails_where_a_share_exceeds_its_bound():
    fine = pd.DataFrame(
        {
            "rule": "in turn",
            "K": 1,
            "delta": [9.0, 10.0],
            "share": [1e-3, 5e-4],
            "se": 1e-4,
            "bound": [0.5, 0.2],
            "one run": 5e-5,
        }
    )
    for share, verdict in (([1e-3, 5e-4], YES), ([0.6, 5e-4], PARTLY), ([0.6, 0.4], NO)):
        assert verdicts(theory.concentration_rows(fine.assign(share=share))) == [verdict]
    bound = theory.concentration(50, 20, np.random.default_rng(3)).set_index(
        ["rule", "K", "delta"]
    )["bound"]
    assert bound["in turn", 1, 9.0] == pytest.approx(np.exp(-9 + 2) * np.ceil(9 * np.log(20)) * 9)


def test_the_program_has_one_solution_or_several(rng):
    assert theory.one_cover(np.array([[1.0, 0.2], [0.1, 1.0]]), np.array([0.3, 0.4]), rng)
    assert not theory.one_cover(
        np.ones((2, 2)), np.array([0.3, 0.3]), rng
    )  # either arm informs on both


def test_what_is_defined_as_printed():
    assert theory.printed_level(1, 17) == -np.inf and theory.printed_level(
        2, 17
    ) < 0 < theory.printed_level(3, 17)
    assert verdicts(theory.index_rows({"n >= 3": (0, 10), "n = 1": (3, 3)})) == [YES, NO]
    assert verdicts(
        theory.exploration_rows(
            {theory.PRINTED_READING: (2, 10), theory.CONSISTENT_READING: (0, 10)}
        )
    ) == [NO, YES]
    assert theory.confusions(instance("steep", 17), 3, np.random.default_rng(5)) == (0, 16 * 4)


def test_a_curve_that_leaves_its_picture_is_named():
    result = ended(
        **{"CKL-UCB": np.full(3, 10.0), "KL-UCB": np.full(3, 20.0), "OSLB": np.full(3, 500.0)}
    )
    ax = panels({"steep": result}).axes[0]
    assert [text.get_text() for text in ax.texts] == ["▲ OSLB: 500 at the end"]
    assert ax.get_ylim()[1] == pytest.approx(1.3 * 20)
    assert len({line.get_linestyle() for line in ax.get_lines()[:3]}) == 3


@pytest.mark.parametrize("weight", [0.0, LOGLOG, 52.0])
def test_every_index_of_a_line_up_has_the_same_level(weight):
    chosen = discrete.line_up(0.5, weight)
    weights = {
        name: policy.c if name == "KL-UCB" else policy.loglog
        for name, policy in chosen.items()
        if not name.startswith("UCB")
    }
    assert len(weights) == 6
    assert set(weights.values()) == {weight}


def test_other_levels_are_shown_and_not_counted(monkeypatch):
    row = order("ckl-exploits", "here", ended(a=[1.0, 2.0], b=[3.0, 5.0]), "a", "b")
    monkeypatch.setattr(discrete, "score", lambda found: [row])
    monkeypatch.setattr(discrete, "slope_score", lambda found: [row])
    rows = [*discrete.lowest_level_score((None, None)), *discrete.printed_level_score(None)]
    assert [one.reading for one in rows] == [discrete.READING_LOWEST_LEVEL] * 2 + [
        discrete.READING_PRINTED_LEVEL
    ]
