"""P1RAGE: its twin, estimates without bias in a world that changes, and what it says of a fixed
number of samples."""

import numpy as np
import pytest
from scipy.special import ndtri

import tightrope as tr
from naive.identification_policies import NaiveP1RAGE
from naive.side_by_side import step
from standard import unit_rows
from tightrope.core.streams import POLICY, stream
from tightrope.policies.identification.p1rage import ACCURACY
from tightrope.solvers.programs import g_design, optimal_design

ARMS = unit_rows(np.random.default_rng(11), 7, 3)
THETA = 1.5 * ARMS[2]


def design(among):
    found = optimal_design(
        ARMS, [ARMS[i] - ARMS[j] for i in among for j in among if j < i], gap=ACCURACY
    )
    return found.weights, found.value


@pytest.mark.parametrize("scale", [1.0, 4.0])
def test_choices_and_estimates_equal_those_of_the_twin(scale):
    session = tr.Session(tr.P1RAGE(scale=scale), arms=ARMS, seed=1, horizon=300)
    twin = NaiveP1RAGE(
        ARMS, 300, design, g_design(ARMS, gap=ACCURACY).weights, stream(1, 0, POLICY), scale
    )
    noise = np.random.default_rng(5)
    for _ in range(300):
        step(session, twin, lambda arm: float(ARMS[arm] @ THETA + 0.3 * noise.standard_normal()))
        assert not session.stopped
    np.testing.assert_allclose(session.explain()["mean"], twin.means, rtol=1e-9)
    np.testing.assert_allclose(session.explain()["probability"], twin.shares, rtol=1e-9)
    assert twin.plans >= 2
    assert (session.recommend()["arm"], session.recommend()["status"]) == (2, "not certified yet")


def test_estimates_have_no_bias_where_the_world_changes_and_their_errors_are_the_ones_reported():
    """Theta turns around half way, after the designs have followed the first half."""
    rounds, runs = 100, 60
    mean, square = np.zeros((runs, 7)), np.zeros((runs, 7))
    for r in range(runs):
        session, noise = (
            tr.Session(tr.P1RAGE(), arms=ARMS, seed=r, horizon=rounds),
            np.random.default_rng(r),
        )
        for n in range(rounds):
            arm = session.select()
            session.update(
                arm,
                float(
                    ARMS[arm] @ (THETA if n < rounds // 2 else -0.5 * THETA)
                    + 0.3 * noise.standard_normal()
                ),
            )
        told = session.explain()
        mean[r], square[r] = told["mean"], told["width"] ** 2
    truth, seen = 0.25 * ARMS @ THETA, mean.std(axis=0, ddof=1)
    assert (np.abs(mean.mean(axis=0) - truth) <= 4 * seen / np.sqrt(runs)).all()
    reported = np.sqrt(square.mean(axis=0)) / ndtri(1 - 0.05 / 6)
    assert (
        seen <= reported * (1 + 4 / np.sqrt(2 * runs))
    ).all()  # changes of theta count as variance too


def test_half_of_every_design_is_the_robust_one():
    session, noise = (
        tr.Session(tr.P1RAGE(), arms=ARMS, seed=0, horizon=200),
        np.random.default_rng(0),
    )
    for _ in range(200):
        arm = session.select()
        session.update(arm, float(noise.standard_normal()))
        shares = session.explain()["probability"]
        A = ARMS.T @ (shares[:, None] * ARMS)
        assert np.einsum("kp,pq,kq->k", ARMS, np.linalg.inv(A), ARMS).max() <= 2 * 3 * (
            1 + ACCURACY
        )


def test_a_mask_is_refused():
    session = tr.Session(tr.P1RAGE(), arms=ARMS, horizon=100)
    with pytest.raises(ValueError, match="a mask would change"):
        session.select(eligible=[True] * 6 + [False])


def test_the_design_waits_until_no_decision_is_open():
    """Ten open decisions for two epochs: all arms come from the first design; when the last is in,
    and none is open, the next one is made."""
    session, noise = (
        tr.Session(tr.P1RAGE(), arms=ARMS, seed=3, horizon=400),
        np.random.default_rng(3),
    )
    first, tickets = session.explain()["probability"], []
    for _ in range(300):
        tickets.append(session.decide())
        if len(tickets) > 10:
            done = tickets.pop(0)
            session.reward(done.id, float(ARMS[done.arm] @ THETA + 0.3 * noise.standard_normal()))
        np.testing.assert_array_equal(session.explain()["probability"], first)
    session.cancel(tickets.pop().id)
    for done in tickets:
        np.testing.assert_array_equal(session.explain()["probability"], first)
        session.reward(done.id, float(ARMS[done.arm] @ THETA))
    assert np.abs(session.explain()["probability"] - first).max() > 0.01
