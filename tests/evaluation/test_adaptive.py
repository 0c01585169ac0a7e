"""Policies that learn: replay against a run by hand, simulation against the truth."""

import numpy as np
import pytest

import tightrope as tr
from tiers import thorough
from tightrope.evaluation.world import LoggedWorld
from tightrope.simulation.loops import World, prepare, to_horizon
from tightrope.simulation.monitors import NoMonitor


def uniform_log(n=400, K=3, seed=0, features=None, rewards=None):
    rng = np.random.default_rng(seed)
    arm = rng.integers(0, K, n)
    reward = (
        (rng.random(n) < np.linspace(0.2, 0.7, K)[arm]) * 1.0
        if rewards is None
        else rewards(rng, arm)
    )
    return tr.logs.from_frame(
        {"arm": arm, "reward": reward, "propensity": np.full(n, 1.0 / K)}, features=features, arms=K
    )


def rows_of(log):
    return next(log.chunks(10**6))


def test_replay_keeps_the_rounds_in_which_the_policy_plays_what_was_played():
    X = np.random.default_rng(1).normal(size=(400, 3, 2))
    log = uniform_log(features=X)
    rows, session, kept = rows_of(log), tr.Session(tr.LinUCB(beta=1.0), arms=3, dimension=2), []
    for arm, reward, x in zip(rows.arm.tolist(), rows.reward.tolist(), X, strict=True):
        if session.select(x) == arm:
            session.update(arm, reward)
            kept.append(reward)
        else:
            session.cancel(next(iter(session.open)))
    e = tr.evaluate_learner(log, tr.LinUCB(beta=1.0), method="replay")
    assert e.rounds == len(kept)
    assert e.value == pytest.approx(np.mean(kept))
    assert e.se == pytest.approx(np.std(kept, ddof=1) / np.sqrt(len(kept)))
    assert e.sequence.lower[-1] < e.value < e.sequence.upper[-1]
    assert f"Replay kept {len(kept)} of 400 rows" in e.notes[0]


def test_replay_with_features_is_the_same_in_chunks(monkeypatch):
    log = uniform_log(600, features=np.random.default_rng(1).normal(size=(600, 3, 2)))
    whole = tr.evaluate_learner(log, tr.LinUCB(beta=1.0), method="replay")
    monkeypatch.setattr("tightrope.logs.log.ENTRIES", 5)
    parts = tr.evaluate_learner(log, tr.LinUCB(beta=1.0), method="replay")
    assert (parts.value, parts.rounds) == (whole.value, whole.rounds)
    assert whole.rounds > 100


@pytest.mark.parametrize(
    ("kind", "words", "policy", "asked"),
    [
        (
            ValueError,
            r"needs a log whose arms were drawn uniformly.*method='simulate'",
            tr.UCB(),
            {"method": "replay"},
        ),
        # there is no baseline: learners are judged one by one
        (TypeError, "baseline", tr.UCB(), {"method": "simulate", "baseline": "logged"}),
        (ValueError, "bootstraps = 3", tr.UCB(), {"method": "simulate", "bootstraps": 3}),
        (
            ValueError,
            "plays features or contexts, but these arms offer arms",
            tr.LinTS(),
            {"method": "simulate"},
        ),
    ],
)
def test_what_does_not_fit_a_learner_is_refused(kind, words, policy, asked):
    log = tr.logs.from_frame({"arm": [0, 1], "reward": [1, 0], "propensity": [0.7, 0.3]})
    with pytest.raises(kind, match=words):
        tr.evaluate_learner(log, policy, **asked)


def value_in(world, policy, runs, seed):
    """Mean reward of the policy in a world, and its standard error."""
    n = world.best.size
    found = []
    for b in range(runs):
        run = prepare(policy, World(world), seed, b, n)
        record, _, play = to_horizon(run, NoMonitor(), np.array([n]))
        play(0, n)
        found.append(world.best.mean() - record.regret[-1] / n)
    return np.mean(found), np.std(found) / np.sqrt(runs)


def linear_world(seed, n, K=5, d=5):
    rng = np.random.default_rng(seed)
    theta = rng.standard_normal(d)
    theta /= np.linalg.norm(theta)
    X = rng.standard_normal((n, K, d))
    X /= np.linalg.norm(X, axis=2, keepdims=True)
    means = np.ascontiguousarray(0.5 + 0.4 * X @ theta)
    return LoggedWorld(
        means,
        means.max(axis=1),
        np.zeros(0),
        0.0,
        1.0,
        np.zeros(1, dtype=np.int64),
        X,
        None,
        None,
        None,
        None,
    )


def log_of_linucb(world, seed):
    """A log of LinUCB with a floor."""
    rng = np.random.default_rng([seed, 1])
    n, K, d = world.features.shape
    session = tr.Session(
        tr.Explore(tr.LinUCB(beta=0.5), floor=0.02), arms=K, dimension=d, seed=seed
    )
    columns = {"arm": np.empty(n, dtype=int), "reward": np.empty(n), "propensity": np.empty(n)}
    for t in range(n):
        made = session.decide(world.features[t])
        reward = float(rng.random() < world.means[t, made.arm])
        session.reward(made.id, reward)
        columns["arm"][t], columns["reward"][t], columns["propensity"][t] = (
            made.arm,
            reward,
            made.propensity,
        )
    return tr.logs.from_frame(columns, features=world.features, floor=0.02)


@thorough
def test_simulation_predicts_what_thompson_sampling_earns():
    # 100 worlds of 1,000 rounds with 100 bootstrap fits: 100 of 100 covered. Here fewer, smaller
    # ones.
    policy, covered, worlds = tr.LinTS(scale=0.3), 0, 10
    for seed in range(worlds):
        world = linear_world(seed, 400)
        e = tr.evaluate_learner(
            log_of_linucb(world, seed), policy, method="simulate", bootstraps=40, seed=seed
        )
        truth, _ = value_in(world, policy, 30, seed + 1000)
        covered += e.interval[0] <= truth <= e.interval[1]
        assert (e.sequence, e.verdict) == (None, "simulated: as good as its model")
        assert e.calibration.shape == (10, 3)
        assert (
            "one ridge regression for all arms, rewards of two values, 40 bootstrap fits"
            in e.notes[0]
        )
        assert not any("does not fit" in note for note in e.notes)
    assert covered >= 9


def test_simulation_with_features_of_the_round_and_other_rewards(rng):
    n, K = 2000, 3
    x = rng.normal(size=(n, 2))
    mean = 0.5 + x @ np.array([[0.1, 0.0], [0.0, 0.1], [-0.1, 0.0]]).T
    log = uniform_log(
        n,
        K,
        features=x,
        rewards=lambda rng, arm: np.clip(mean[np.arange(n), arm] + 0.1 * rng.normal(size=n), 0, 1),
    )
    e = tr.evaluate_learner(log, tr.LinTS(scale=0.1), method="simulate", bootstraps=30)
    blocks = np.zeros((K, K * 2))
    clipped = np.ascontiguousarray(np.clip(mean, 0, 1))
    noise = 0.1 * rng.normal(size=1000)
    world = LoggedWorld(
        clipped,
        clipped.max(axis=1),
        noise,
        0.0,
        1.0,
        np.zeros(1, dtype=np.int64),
        None,
        x.astype(float),
        blocks,
        None,
        None,
    )
    truth, _ = value_in(world, tr.LinTS(scale=0.1), 20, 5)
    assert e.interval[0] <= truth <= e.interval[1]
    assert "a ridge regression for each of 3 arms, resampled residuals as noise" in e.notes[0]
    again = tr.evaluate_learner(log, tr.LinTS(scale=0.1), method="simulate", bootstraps=30)
    assert (again.value, again.interval) == (e.value, e.interval)


def test_simulation_of_arms_that_the_log_never_played_is_not_trusted():
    columns = {"arm": [0, 1] * 100, "reward": [0.0, 0.1] * 100, "propensity": [0.5] * 200}
    log = tr.logs.from_frame(columns, eligible=np.ones((200, 4), dtype=bool), arms=4)
    e = tr.evaluate_learner(log, tr.UCB(), method="simulate", bootstraps=20)
    assert e.verdict.startswith("not enough overlap")
    assert e.support.unseen > 0.05


def test_a_model_that_does_not_fit_is_named():
    x = np.random.default_rng(4).uniform(-1, 1, size=(2000, 1))
    log = uniform_log(
        2000, 3, features=x, rewards=lambda rng, arm: (rng.random(2000) < np.abs(x[:, 0])) * 1.0
    )
    e = tr.evaluate_learner(log, tr.LinTS(scale=0.1), method="simulate", bootstraps=20)
    assert "the model does not fit this log" in " ".join(e.notes)


def test_simulation_respects_who_was_eligible(rng):
    mask = np.zeros((200, 3), dtype=bool)
    mask[:, 0] = mask[::2, 1] = mask[1::2, 2] = True
    arm = np.where(rng.random(200) < 0.5, 0, np.where(np.arange(200) % 2 == 0, 1, 2))
    log = tr.logs.from_frame(
        {"arm": arm, "reward": (arm > 0) * 1.0, "propensity": np.full(200, 0.5)}, eligible=mask
    )
    e = tr.evaluate_learner(log, tr.UCB(), method="simulate", bootstraps=20)
    assert e.support.target.sum() == pytest.approx(1.0)
    assert 0.5 < e.value < 1.0
    assert tr.evaluate_learner(log, tr.UCB(), method="replay").rounds > 50
