"""Contradicted claims, held against their counterexamples: every test would fail if the claim were
true."""

import math
import pathlib
import re

import make_contradictions
import make_results
import numpy as np
import pytest

import tightrope as tr
from tightrope.problems import Bernoulli
from tightrope.solvers.programs import lipschitz_lower_bound
from tightrope_papers import names
from tightrope_papers.conservative.fig4 import LOWER_QUANTILE, UPPER_QUANTILE
from tightrope_papers.conservative.measures import DELTA, guard, variant
from tightrope_papers.experiment import claim_standings
from tightrope_papers.lipschitz.theory import divergence, evidence, printed_level
from tightrope_papers.scoring import CONTRADICTED, IN_READING
from tightrope_papers.semibandits.theory import OPTIMISM_PROBABILITY
from tightrope_papers.softucb.theory import ALIKE, POOR_ARMS_PLAYER, poor_arms, regret_bound

DOCS = pathlib.Path(__file__).parents[2] / "docs"
PAGES = sorted((DOCS / "results" / "contradictions").glob("*.md"))
SCREEN = 55  # lines of a page


def test_every_contradicted_claim_has_a_page_and_no_other_has_but_a_slip():
    stood = {
        (paper, one.claim.key): one.verdict
        for paper in names()
        for one in claim_standings(
            paper, make_results.outcomes_of(paper, make_results.known(paper))
        )
    }
    pages = make_results.written_up()
    contradicted = {place for place, verdict in stood.items() if verdict == CONTRADICTED}
    slips = pages.keys() - contradicted
    assert contradicted <= pages.keys()
    assert {stood[place] for place in slips} == {IN_READING}
    for place in slips:
        text = (DOCS / "results" / "contradictions" / pages[place]).read_text()
        assert text.startswith("# A slip: ")


def test_pages_are_short_have_their_picture_and_stand_in_the_index():
    index = (DOCS / "results" / "contradictions" / "index.md").read_text()
    shown = set()
    for page in PAGES:
        if page.stem == "index":
            continue
        text = page.read_text()
        assert len(text.splitlines()) <= SCREEN, page.name
        assert f"]({page.name})" in index
        assert "**Repair.**" in text
        assert "`tightrope reproduce " in text
        shown |= set(re.findall(r"\(\.\./figures/contradictions/([\w-]+)\.svg\)", text))
    assert (
        shown
        == make_contradictions.PICTURES.keys()
        == {path.stem for path in make_contradictions.DRAWN.glob("*.svg")}
    )


def test_lemma_8_fails_from_three_equal_arms_on_and_holds_with_a_wider_draw():
    """Draws from the posterior itself: theta_hat on the edge of its ellipsoid, k arms with one
    feature."""
    rng, d, beta, runs = np.random.default_rng(1), 4, 1.3, 200_000
    x, V = rng.standard_normal(d), np.diag([1.0, 2.0, 5.0, 9.0])
    width = math.sqrt(x @ np.linalg.solve(V, x))
    theta = rng.standard_normal(d)
    estimate = theta - beta * np.linalg.solve(V, x) / width
    assert math.isclose((theta - estimate) @ V @ (theta - estimate), beta**2)
    for k in (1, 2, 3, 9):
        normal = rng.standard_normal((runs, k))
        for scale, claimed in ((1.0, k < 3), (math.sqrt(k), True)):
            drawn = k * (x @ estimate) + scale * beta * width * normal.sum(axis=1)
            share = float((drawn >= k * (x @ theta)).mean())
            assert abs(share - make_contradictions.optimism(k, scale)) < 5 * math.sqrt(0.25 / runs)
            assert (make_contradictions.optimism(k, scale) >= OPTIMISM_PROBABILITY) == claimed, (
                k,
                scale,
            )


def test_the_wider_draw_is_optimistic_for_unequal_arms_too(rng):
    for _ in range(50):
        k = int(rng.integers(1, 12))
        widths = rng.uniform(0.01, 2, k)
        short = widths.sum()  # theta_hat is too low by the width of each arm
        assert (
            0.5 * math.erfc(short / (math.sqrt(k) * np.linalg.norm(widths)) / math.sqrt(2))
            >= make_contradictions.optimism(1) - 1e-12
        )


def test_no_number_is_an_index_in_the_first_two_rounds():
    for K in (2, 17, 46):
        means, pulls = np.full(K, 0.5), np.ones(K)
        assert evidence(pulls, means, np.linspace(0.5, 1.0, K), np.full((K, K), 0.1)).min() >= 0.0
        assert all(printed_level(n, K) < 0.0 for n in (1, 2))
        assert all(printed_level(n, K) > 0.0 for n in range(3, 100))


def test_from_round_3_on_a_loss_beside_a_win_leaves_no_index_either():
    reach = np.array([[0.0, 0.05], [0.05, 0.0]])
    against = evidence(np.ones(2), np.array([0.0, 1.0]), np.array([1.0, 1.0]), reach)[1]
    assert math.isclose(against, -math.log(0.05))
    assert against > printed_level(3, 2) > 0.0


def test_arms_that_tie_leave_none_to_explore_with_f_in_both_places():
    means, pulls = np.array([0.5, 0.5, 0.25]), np.array([2.0, 2.0, 1000.0])
    reach = 1.0 - np.eye(3)
    n = int(pulls.sum()) + 1
    against = evidence(pulls, means, np.full(3, means[0]), reach)
    rates = lipschitz_lower_bound(means, distances=reach, lipschitz=1.0).rates
    assert against[1] == 0.0 < printed_level(n, 3)  # b_2 is above the leader's mean,
    assert pulls[2] > rates[2] * printed_level(n, 3)  # and the only worse arm is not in K_e


def test_theorem_1_of_softucb_is_broken_while_its_confidence_set_holds():
    """Every round of the counterexample anew, in NumPy: theta stays in the ellipsoid of Eq 3, and
    all runs have more regret than Eq 16; 50 arms, and the proved bound, have less."""
    rng, K = np.random.default_rng(2), ALIKE
    world = poor_arms(K)
    X, theta = np.asarray(world.features), np.asarray(world.theta)
    V, b, regret, gaps = np.eye(2), np.zeros(2), 0.0, (X @ theta).max() - X @ theta
    for _ in range(ALIKE):
        estimate = np.linalg.solve(V, b)
        off = estimate - theta
        assert off @ V @ off <= 1.0
        width = np.sqrt(np.einsum("kd,dk->k", X, np.linalg.solve(V, X.T)))
        slack = X @ estimate + width - (X @ estimate - width).max()
        inside, most = slack >= 0.0, slack.max()
        gamma = 0.0 if inside.all() else np.log(99.0 * (~inside).sum() / inside.sum()) / most
        p = np.exp(max(gamma, 0.0) * (slack - most))
        arm = rng.choice(K, p=p / p.sum())
        V += np.outer(X[arm], X[arm])
        b += X[arm] * (X[arm] @ theta + 0.02 * rng.standard_normal())
        regret += gaps[arm]
    bound = regret_bound(1.0, ALIKE, d=2, mass=1.0)
    assert regret > bound
    few = tr.simulate(poor_arms(50), POOR_ARMS_PLAYER, horizon=ALIKE, replications=8)
    assert next(iter(few.regret.values()))[:, -1].max() < bound
    assert regret < (K + 1) / 2 * bound + 0.01 * ALIKE * gaps.max()


def test_an_index_exceeds_the_leader_with_no_arm_to_explore():
    means, pulls, n = np.array([0.5, 0.25]), np.array([40.0, 60.0]), 100
    reach = np.array(
        [[0.0, 1.0], [1.0, 0.0]]
    )  # L times distances: the arms say nothing of each other
    against = evidence(pulls, means, np.full(2, means[0]), reach)[1]
    assert math.isclose(against, 60 * divergence(means[1:], means[:1])[0])
    rates = lipschitz_lower_bound(means, distances=reach, lipschitz=1.0).rates
    assert against < printed_level(n, 2)  # the index of arm 2 is above the leader's mean,
    assert pulls[1] > rates[1] * math.log(n)  # and K_e, as printed, is empty;
    assert pulls[1] <= rates[1] * printed_level(n, 2)  # with f(n) it is not


def test_eq_12_has_the_other_sign_than_the_slope_and_stops_elsewhere():
    assert make_contradictions.exact_slope(0.5) > 0.005
    assert make_contradictions.exact_softucb(0.5)[1] < -0.005
    grid = np.linspace(0.1, 1.0, 19)
    rewards = [make_contradictions.exact_softucb(beta)[0] for beta in grid]
    zero = next(beta for beta in grid if make_contradictions.exact_softucb(beta)[1] < 0)
    assert (zero, grid[int(np.argmax(rewards))]) == pytest.approx((0.4, 0.55))


def test_the_exact_reward_is_that_of_simulated_runs():
    rng, beta, runs = np.random.default_rng(3), 0.5, 40_000
    plays, wins, total = np.zeros((runs, 2)), np.zeros((runs, 2)), 0.0
    for _ in range(make_contradictions.EXACT_ROUNDS):
        gap = (wins[:, 0] - 0.0) / (1 + plays[:, 0]) - wins[:, 1] / (1 + plays[:, 1])
        gap += beta * (1 / np.sqrt(1 + plays[:, 0]) - 1 / np.sqrt(1 + plays[:, 1]))
        arm = (rng.random(runs) > 1 / (1 + np.exp(-make_contradictions.SHARPNESS * gap))).astype(
            int
        )
        won = rng.random(runs) < make_contradictions.TWO_ARMS[arm]
        plays[np.arange(runs), arm] += 1
        wins[np.arange(runs), arm] += won
        total += won.mean()
    assert total / make_contradictions.EXACT_ROUNDS == pytest.approx(
        make_contradictions.exact_softucb(beta)[0], abs=5 * 0.5 / math.sqrt(runs)
    )


@pytest.mark.parametrize(("told", "kept"), [(UPPER_QUANTILE, False), (LOWER_QUANTILE, True)])
def test_a_quantile_of_the_gap_keeps_the_promise_only_if_it_is_the_lower_one(told, kept):
    """CUCB2T on arms that earn nothing, looked at once after 500 rounds, which gaps from 100 to
    1,000 often are."""
    problem, look = Bernoulli([0.9] + [0.01] * 9), 500
    policy = variant("CUCB2T", 1, problem, sigma=1.0, checkpoint=range(told, look + 501))
    seen = tr.simulate(
        problem,
        {"told": policy},
        horizon=look,
        replications=200,
        seed=4,
        monitor=guard(1, 0.05, [look], problem),
    )
    broken = (seen.watched["told"]["violations"][:, 0] > 0).mean()
    assert (broken == 0.0) if kept else (broken > 10 * DELTA)
    assert (make_contradictions.budget_at(look, told) >= 0) == kept


def test_the_determinant_grows_with_the_square():
    assert make_contradictions.growth_of_determinant(10.0) < 1.0
    assert make_contradictions.growth_of_determinant(1e5) == pytest.approx(2.0, abs=0.01)


def test_xy_adaptive_is_less_than_five_times_worse_at_a_small_gap():
    value, se = make_contradictions.adaptive_over_static(0.2)
    assert value > 1 + 4 * se
    assert value < 5 - 4 * se
