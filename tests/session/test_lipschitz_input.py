"""Bad points, metrics, constants, means and rewards are refused in one sentence, and nothing
changes."""

import numpy as np
import pytest

import tightrope as tr


@pytest.mark.parametrize(
    ("arms", "match"),
    [
        ({"points": [0.0, 0.5, 0.4]}, r"points\[2\] = 0.4 does not exceed points\[1\] = 0.5"),
        ({"points": [0.0, 0.5, 0.5]}, r"points\[2\] = 0.5 does not exceed"),
        (
            {"points": [[0.0, 1.0], [0.5, 1.0], [0.0, 1.0]]},
            r"points\[0\] and points\[2\] are equal",
        ),
        ({"points": [0.0, np.nan]}, "finite"),
        ({"distances": [[0.0, 1.0], [2.0, 0.0]]}, "mirror image"),
        ({"distances": [[0.0, -1.0], [-1.0, 0.0]]}, "is negative"),
        ({"distances": [[0.1, 1.0], [1.0, 0.0]]}, "distance 0 to itself"),
        ({"distances": [[0.0, 1.0]]}, "square"),
        ({"points": [0.0, 1.0], "distances": [[0.0, 1.0], [1.0, 0.0]]}, "exactly one"),
    ],
)
def test_bad_metrics_are_refused_everywhere(arms, match):
    K = len(arms.get("points", arms.get("distances")))
    with pytest.raises(ValueError, match=match):
        tr.Session(tr.CKLUCB(lipschitz=1.0), **arms)
    with pytest.raises(ValueError, match=match):
        tr.problems.Lipschitz(means=[0.5] * K, lipschitz=1.0, **arms)
    with pytest.raises(ValueError, match=match):
        tr.lipschitz_lower_bound([0.5] * K, lipschitz=1.0, **arms)


@pytest.mark.parametrize("L", [0.0, -1.0, np.nan, np.inf])
def test_the_constant_must_be_positive(L):
    for make in (
        lambda: tr.CKLUCB(lipschitz=L),
        lambda: tr.OSLB(lipschitz=L),
        lambda: tr.Zooming(lipschitz=L),
        lambda: tr.problems.Lipschitz([0.0, 1.0], [0.5, 0.5], lipschitz=L),
        lambda: tr.lipschitz_lower_bound([0.5, 0.5], points=[0.0, 1.0], lipschitz=L),
    ):
        with pytest.raises(ValueError, match="lipschitz"):
            make()


def test_means_that_violate_the_constant_warn_with_the_pair():
    with pytest.warns(
        UserWarning,
        match=r"arms 1 and 2 differ by 0.5 in mean at distance 0.1; .* all pairs is 5\.",
    ) as caught:
        tr.problems.Lipschitz([0.0, 0.5, 0.6, 1.0], [0.2, 0.3, 0.8, 0.9], lipschitz=1.0)
    assert caught[0].filename == __file__
    with pytest.warns(
        UserWarning, match=r"arms 0 and 2 differ by 0\.7 .* all pairs is 10\."
    ):  # another pair needs the most
        tr.problems.Lipschitz([0.0, 0.1, 0.11], [0.2, 0.8, 0.9], lipschitz=1.0)


@pytest.mark.parametrize("reward", [-0.01, 1.01, np.nan, "high"])
def test_rewards_outside_the_unit_interval_are_refused_for_the_bernoulli_divergence(reward):
    for policy in (tr.CKLUCB(lipschitz=1.0), tr.OSLB(lipschitz=1.0), tr.TrackCKLUCB(lipschitz=1.0)):
        session = tr.Session(policy, points=[0.0, 1.0])
        with pytest.raises(ValueError, match="reward"):
            session.update(0, reward)
        assert session.rounds == 0
        assert session.explain()["mean"][0] != session.explain()["mean"][0]


def test_gaussian_rewards_have_no_range():
    session = tr.Session(tr.CKLUCB(lipschitz=1.0, divergence="gaussian"), points=[0.0, 1.0])
    session.update(0, -17.5)
    assert session.explain()["mean"][0] == -17.5


def test_line_policies_need_points_in_the_unit_interval():
    with pytest.raises(ValueError, match=r"needs points on the line in \[0, 1\]"):
        tr.Session(tr.HOO(nu=1.0), points=[0.0, 2.0])
    with pytest.raises(ValueError, match="Zooming plays line"):
        tr.Session(tr.Zooming(lipschitz=1.0), distances=[[0.0, 1.0], [1.0, 0.0]])
    with pytest.raises(ValueError, match="best"):
        tr.problems.Lipschitz([0.0, 1.0], [0.5, 0.7], lipschitz=1.0, best=0.6)


def test_grids_that_cannot_be_built_and_rewards_out_of_range():
    for horizon, exponent in ((7, 0.01), (100, 1e-3)):
        with pytest.raises(ValueError, match="exponent = "):
            tr.discretize(horizon, exponent)
    for policy in (tr.Zooming(lipschitz=1), tr.HOO(nu=1)):
        with pytest.raises(ValueError, match=r"reward = 1\.5"):
            tr.Session(policy, points=np.linspace(0, 1, 5)).update(1, 1.5)
    for value in ("x", -1):
        with pytest.raises(ValueError, match=r"loglog = .* number in \[0, inf\), or 'theory'"):
            tr.CKLUCB(lipschitz=1, loglog=value)


def test_the_warning_of_contexts_names_contexts_and_arms():
    with pytest.warns(
        UserWarning,
        match=r"lipschitz = \(0.1, 0.3\): context 0, arm 0 and context 0, arm "
        r"1 differ "
        r"by 0.8 .* "
        r"allow 0.15; 5.33334 "
        r"times .* all pairs",
    ):
        tr.problems.ContextualLipschitz(
            [0, 1.0], [0, 0.5, 1], [[0.1, 0.9, 0.1], [0.1, 0.9, 0.1]], (0.1, 0.3)
        )
