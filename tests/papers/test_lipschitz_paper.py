"""The instances of the reproduction have the known constants; the report of the lower bound."""

import numpy as np
import pytest

import tightrope as tr
from tightrope.papers.lipschitz.contextual import APART, L
from tightrope.papers.lipschitz.contextual import constant as contextual_constant
from tightrope.papers.lipschitz.continuous import bounds, targets
from tightrope.papers.lipschitz.settings import constant, instance, shapes
from tightrope.reports.bound import bound_report
from tightrope.reports.curves import bound_curve, regret_figure
from tightrope.verbs import lower_bound


@pytest.mark.parametrize("K", [17, 46])
@pytest.mark.parametrize("name", list(shapes()))
def test_instances_are_lipschitz_and_structure_lowers_the_bound(name, K):
    problem = instance(name, K)
    excess = np.abs(problem.means[:, None] - problem.means) - problem.lipschitz * problem.distances
    assert excess.max() < 1e-12
    assert 0 < constant(problem) < constant(problem, 1e6)


def test_the_steep_instance_and_the_contexts_have_the_known_constants():
    assert constant(instance("steep", 17)) == pytest.approx(8.45, abs=0.005)
    assert 0.08 < 1 - contextual_constant(L) / contextual_constant(APART) < 0.115


def test_continuous_shapes_stay_in_the_unit_interval_and_peak_off_the_grid():
    for shape in targets().values():
        peak, slope = bounds(shape)
        values = shape(np.linspace(0, 1, 10_001))
        assert values.min() >= 0 and peak <= 1 and slope > 0
        assert peak > shape(np.linspace(0, 1, 29)).max()


def test_every_regret_plot_carries_the_bound(tmp_path):
    points = np.linspace(0, 1, 5)
    problem = tr.problems.Lipschitz(points, 0.8 - 0.5 * np.abs(points - 0.4), lipschitz=0.5, best=0.8)
    result = tr.simulate(problem, {"CKL-UCB": tr.CKLUCB(lipschitz=0.5)}, horizon=300, replications=2)
    result.save(tmp_path / "run")
    ((label, (rounds, values)),) = bound_curve(tr.load(tmp_path / "run")).items()
    C = tr.lipschitz_lower_bound(problem.means, points=points, lipschitz=0.5).value
    np.testing.assert_allclose(values, C * np.log(rounds) + (0.8 - problem.means.max()) * rounds, rtol=1e-12)
    drawn = regret_figure(result).axes[0].get_lines()[-1]
    assert drawn.get_label() == label
    np.testing.assert_array_equal(drawn.get_ydata(), values)

    contexts = tr.problems.ContextualLipschitz([0.0, 0.5], [0.0, 0.4, 1.0], [[0.8, 0.6, 0.3], [0.6, 0.7, 0.5]], 0.5)
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
