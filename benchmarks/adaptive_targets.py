"""How often `evaluate_learner(..., method="simulate")` covers what LinTS truly earns, from logs of
LinUCB with a floor: of 100 worlds.

python benchmarks/adaptive_targets.py [worlds] [bootstraps] [rounds]
"""

import sys

import numpy as np

import tightrope as tr
from tightrope.evaluation.world import LoggedWorld
from tightrope.simulation.loops import World, prepare, to_horizon
from tightrope.simulation.monitors import NoMonitor

K, D, RUNS = 5, 5, 50
POLICY = tr.LinTS(scale=0.3)


def world_of(seed, n):
    """0/1 rewards whose means are linear in features that are new every round."""
    rng = np.random.default_rng(seed)
    theta = rng.standard_normal(D)
    X = rng.standard_normal((n, K, D))
    X /= np.linalg.norm(X, axis=2, keepdims=True)
    means = np.ascontiguousarray(0.5 + 0.4 * X @ (theta / np.linalg.norm(theta)))
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


def log_of(world, seed):
    """The log of LinUCB with a floor of .02."""
    rng = np.random.default_rng([seed, 1])
    session = tr.Session(
        tr.Explore(tr.LinUCB(beta=0.5), floor=0.02), arms=K, dimension=D, seed=seed
    )
    rows = []
    for features, means in zip(world.features, world.means, strict=True):
        decision = session.decide(features)
        reward = float(rng.random() < means[decision.arm])
        session.reward(decision.id, reward)
        rows.append((decision.arm, reward, decision.propensity))
    arm, reward, propensity = zip(*rows, strict=True)
    return tr.logs.from_frame(
        {"arm": arm, "reward": reward, "propensity": propensity},
        features=world.features,
        floor=0.02,
    )


def truth(world, seed):
    """Mean reward of the policy in the true world."""
    n, means = world.best.size, []
    for run in range(RUNS):
        started = prepare(POLICY, World(world), seed, run, n)
        record, _, play = to_horizon(started, NoMonitor(), np.array([n]))
        play(0, n)
        means.append(world.best.mean() - record.regret[-1] / n)
    return float(np.mean(means))


def main(worlds=100, bootstraps=100, rounds=1000):
    covered, errors, widths = 0, [], []
    for seed in range(worlds):
        world = world_of(seed, rounds)
        e = tr.evaluate_learner(
            log_of(world, seed), POLICY, method="simulate", bootstraps=bootstraps, seed=seed
        )
        true = truth(world, seed + 1000)
        covered += e.interval[0] <= true <= e.interval[1]
        errors.append(e.value - true)
        widths.append(e.interval[1] - e.interval[0])
    bias = np.mean(errors), np.std(errors, ddof=1) / np.sqrt(worlds)
    print(
        f"covered in {covered} of {worlds} worlds; bias {bias[0]:.4f} +- {bias[1]:.4f}; width "
        f"{np.mean(widths):.3f}"
    )


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
