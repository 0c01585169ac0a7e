"""Rules for the best of a few plain arms: their twins, the proportions they track, their chances,
and when they may stop."""

import math

import numpy as np
import pytest
from scipy.special import gammaln, xlogy

import tightrope as tr
from naive.best_arm_policies import NaiveTopTwoThompson, NaiveTopTwoUCB, NaiveTrackAndStop
from naive.side_by_side import until_they_stop
from tiers import tiered
from tightrope.core.streams import POLICY, stream
from tightrope.policies.identification.sampling import fill_shares
from tightrope.policies.identification.stopping import question_of

MEANS = np.array([0.31, 0.52, 0.12, 0.78])
OWN = {"epsilon": 0.04, "delta": 0.1}
TWINS = {
    "TopTwoThompson": (
        tr.TopTwoThompson(**OWN),
        NaiveTopTwoThompson(4, **OWN, rng=stream(2, 0, POLICY)),
    ),
    "TopTwoThompson, T3C": (
        tr.TopTwoThompson(delta=0.1, redraws=0, leader_share=0.4, threshold="heuristic"),
        NaiveTopTwoThompson(
            4,
            0.0,
            0.1,
            rng=stream(2, 0, POLICY),
            redraws=0,
            leader_share=0.4,
            threshold="heuristic",
        ),
    ),
    "TopTwoUCB": (tr.TopTwoUCB(**OWN), NaiveTopTwoUCB(4, **OWN, rng=stream(2, 0, POLICY))),
    "TrackAndStop": (
        tr.TrackAndStop(**OWN, plan_growth=0.2),
        NaiveTrackAndStop(4, **OWN, plan_growth=0.2),
    ),
    "TrackAndStop, epsilon 0": (
        tr.TrackAndStop(delta=0.1, plan_growth=0.1, threshold="heuristic"),
        NaiveTrackAndStop(4, 0.0, 0.1, plan_growth=0.1, threshold="heuristic"),
    ),
}


@pytest.mark.parametrize("name", tiered(TWINS, ["TrackAndStop, epsilon 0"]))
def test_actions_and_stop_equal_those_of_the_twin_on_rewards_between_0_and_1(name):
    """Rewards are continuous, so that ties do not hide differences."""
    policy, twin = TWINS[name]
    session, noise = tr.Session(policy, arms=4, seed=2), np.random.default_rng(5)

    def reward(arm):
        return float(np.clip(MEANS[arm] + 0.25 * noise.standard_normal(), 0.0, 1.0))

    until_they_stop(session, twin, 1000, reward)
    assert session.stopped
    assert session.recommend()["arm"] == 3


def shares_of(policy, means, share=0.0):
    found = np.zeros(len(means))
    fill_shares(
        question_of(policy), np.array(means, dtype=float), int(np.argmax(means)), share, found
    )
    return found


@pytest.mark.parametrize(
    ("means", "printed"),
    [
        ([0.5, 0.45, 0.43, 0.4], [0.417, 0.390, 0.136, 0.057]),
        ([0.3, 0.21, 0.2, 0.19, 0.18], [0.336, 0.251, 0.177, 0.132, 0.104]),
    ],
)
def test_optimal_proportions_are_those_printed_in_the_paper(means, printed):
    """Garivier, Kaufmann 2016, section 6."""
    assert shares_of(tr.TrackAndStop(), means) == pytest.approx(printed, abs=6e-4)


@pytest.mark.parametrize("epsilon", [0.0, 0.05])
@pytest.mark.parametrize("rewards", ["bernoulli", "gaussian"])
@pytest.mark.parametrize("share", [0.0, 0.3])
def test_no_other_proportions_make_the_least_evidence_grow_faster(epsilon, rewards, share):
    policy, twin = (
        tr.TrackAndStop(epsilon=epsilon, rewards=rewards),
        NaiveTrackAndStop(4, epsilon, 0.1, rewards=rewards),
    )

    def growth(w):
        return min(twin.least(MEANS[3], w[3], MEANS[a], w[a])[0] for a in range(3))

    optimal = shares_of(policy, MEANS, share)
    assert optimal.sum() == pytest.approx(1.0)
    best, rng = growth(optimal), np.random.default_rng(3)
    for size in (1e-3, 0.1):
        for _ in range(30):
            other = optimal * np.exp(size * rng.normal(size=4))
            if share:
                other[:3] *= (1.0 - share) / other[:3].sum()
                other[3] = share
            assert growth(other / other.sum()) <= best * (1 + 1e-9)
    assert growth(np.full(4, 0.25)) < 0.95 * best


@pytest.mark.parametrize(
    "means",
    [
        [1.0, 0.0, 0.5],
        [1.0, 1.0, 0.2],
        [0.0, 0.0, 0.0],
        [0.5, 0.5, 0.5 - 1e-13],
        [1.0, 1.0 - 1e-13, 0.0],
    ],
)
@pytest.mark.parametrize("epsilon", [0.0, 0.1])
def test_proportions_at_the_ends_and_at_ties_are_proportions(means, epsilon):
    for share in (0.0, 0.5):
        found = shares_of(tr.TrackAndStop(epsilon=epsilon), means, share)
        assert (found >= 0).all()
        assert found.sum() == pytest.approx(1.0)
    assert shares_of(tr.TrackAndStop(), [0.5, 0.5, 0.2]).tolist() == [0.5, 0.5, 0.0]


def test_the_mixture_of_krichevsky_and_trofimov_loses_no_more_than_the_proof_says():
    """ln of likelihood at the mean over mixture <= ln(2 sqrt(n)) for every sum of rewards in [0,
    1], not of 0 and 1 alone."""
    for n in (1, 2, 3, 10, 100, 1000):
        s = np.linspace(0.0, n, 401)
        mixture = gammaln(s + 0.5) + gammaln(n - s + 0.5) - math.log(math.pi) - gammaln(n + 1)
        excess = xlogy(s, s / n) + xlogy(n - s, 1 - s / n) - mixture - math.log(2 * math.sqrt(n))
        assert excess.max() <= 1e-9
        assert excess.max() > -0.2  # so that a smaller factor would fail


def data(policy, seed=4, rounds=40):
    """A session that was fed some rewards."""
    session, noise = tr.Session(policy, arms=4, seed=seed), np.random.default_rng(seed)
    for n in range(rounds):
        session.update(n % 4, float(noise.random() < MEANS[n % 4]))
    return session


CHOOSING = {
    "TopTwoThompson": tr.TopTwoThompson(redraws=2),
    "TopTwoUCB": tr.TopTwoUCB(),
    "TopTwoThompson, gaussian": tr.TopTwoThompson(rewards="gaussian", noise=0.5, leader_share=0.3),
    "TopTwoUCB, gaussian": tr.TopTwoUCB(rewards="gaussian", noise=0.5, leader_share=0.3),
}
OFFERED = {"all": None, "three": [True, True, True, False], "one": [False, True, False, False]}


@pytest.mark.filterwarnings("ignore:more than 1,000 decisions of select")
@pytest.mark.parametrize(
    "name", tiered(CHOOSING, ["TopTwoThompson, gaussian", "TopTwoUCB, gaussian"])
)
@pytest.mark.parametrize("offered", tiered(OFFERED, ["all", "one"]))
def test_choices_follow_their_propensities(name, offered):
    session, n = data(CHOOSING[name], rounds=12), 4000
    eligible = None if OFFERED[offered] is None else np.array(OFFERED[offered])
    probability = session.explain(eligible=eligible)["probability"]
    drawn = np.bincount([session.select(eligible=eligible) for _ in range(n)], minlength=4)
    assert probability.sum() == pytest.approx(1.0)
    assert (
        np.abs(drawn / n - probability) <= 4 * np.sqrt(probability * (1 - probability) / n) + 1e-7
    ).all()
    decision = session.decide(eligible=eligible)
    assert decision.propensity == pytest.approx(probability[decision.arm], abs=1e-12)


STOPPING = [
    tr.TrackAndStop(),
    tr.TrackAndStop(rewards="gaussian", noise=0.5),
    tr.TopTwoUCB(threshold="heuristic"),
]


@pytest.mark.parametrize("policy", STOPPING, ids=repr)
def test_the_gap_bound_is_the_least_epsilon_that_would_be_certified(policy):
    bound = data(policy).recommend()["gap_bound"]
    assert 0.0 < bound < 1.0
    assert data(policy._replace(epsilon=bound + 1e-9)).stopped
    assert not data(policy._replace(epsilon=bound - 1e-9)).stopped


@pytest.mark.parametrize("policy", STOPPING, ids=repr)
def test_the_forecast_is_what_it_takes_if_the_estimates_are_the_truth(policy):
    session = data(policy)
    left, mean, taken = session.recommend()["samples_remaining"], session.explain()["mean"], 0
    while not session.stopped:
        arm = session.select()
        session.update(arm, mean[arm])  # what the estimates promise, without noise
        taken += 1
    assert left > 20
    assert 0.9 * left - 5 <= taken <= 1.1 * left + 5


@pytest.mark.parametrize("policy", [tr.TopTwoThompson, tr.TopTwoUCB, tr.TrackAndStop])
@pytest.mark.parametrize("rewards", ["bernoulli", "gaussian"])
def test_wrong_answers_are_rarer_than_delta_where_they_are_likeliest(policy, rewards):
    """The second arm is just too bad to be named."""
    own = {"epsilon": 0.1, "delta": 0.2, "rewards": rewards, "noise": 0.5}
    found = tr.identify(
        tr.problems.Bernoulli([0.5, 0.395]),
        {"it": policy(**own)},
        replications=400,
        seed=1,
        max_rounds=20_000,
    )
    assert found.stopped["it"].all()
    assert (1 - found.correct["it"].mean()) <= 0.2 + 4 * math.sqrt(0.2 * 0.8 / 400)
