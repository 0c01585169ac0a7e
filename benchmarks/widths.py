"""How wide the default intervals of linear policies are: regret by the number of standard errors, on linear worlds.

`python benchmarks/widths.py` plays the development worlds, by which the constants of LinUCB, LinTS and others were chosen;
`python benchmarks/widths.py --confirm` plays those that were tried once, after the choice. For every world: mean regret after 3,000 rounds
with its standard error, the largest, and in how many runs regret was above a quarter of what uniform play has. Every run has its own theta
and arms. "theorem" is told the noise. `--tails` plays the worlds and widths of the table on the page of SoftUCB.
"""

import argparse
import math
import time

import numpy as np

import tightrope as tr

HORIZON = 3000
DEVELOPMENT = {  # (K, d, noise, whether features are new every round, kind of rewards)
    "30 fixed, d=10, noise .5": (30, 10, 0.5, False, "gaussian"),
    "30 fixed, d=10, noise .1": (30, 10, 0.1, False, "gaussian"),
    "50 fixed, d=20, noise 1": (50, 20, 1.0, False, "gaussian"),
    "10 fixed, d=5, Bernoulli": (10, 5, 1.0, False, "bernoulli"),
    "20 new, d=10, noise .5": (20, 10, 0.5, True, "gaussian"),
    "20 fixed, d=10, noise .01": (20, 10, 0.01, False, "gaussian"),
    "100 fixed, d=20, noise .1": (100, 20, 0.1, False, "gaussian"),
    "10 fixed, d=30, noise .1": (10, 30, 0.1, False, "gaussian"),
    "20 new, d=20, noise .01": (20, 20, 0.01, True, "gaussian"),
}
CONFIRMATION = {
    f"{K} {'new' if new else 'fixed'}, d={d}, noise {noise:g}": (K, d, noise, new, "gaussian")
    for K, d in ((5, 5), (30, 20), (200, 5), (200, 50)) for noise in (0.01, 0.1, 1.0) for new in (False, True)
}  # fmt: skip


TAILS = {
    "30 fixed, d=10, noise .1": (30, 10, 0.1, False, "gaussian"), "30 fixed, d=50, noise .1": (30, 50, 0.1, False, "gaussian"),
    "30 fixed, d=10, noise .5": (30, 10, 0.5, False, "gaussian"), "10 fixed, d=5, Bernoulli": (10, 5, 1.0, False, "bernoulli"),
    "20 new, d=10, noise .5": (20, 10, 0.5, True, "gaussian"), "20 new, d=10, noise .1": (20, 10, 0.1, True, "gaussian"),
}  # fmt: skip


def world(K, d, noise, new, kind, seed):
    """One instance: arms and theta of norm 1, means in [0, 1] where rewards are 0 or 1."""
    rng = np.random.default_rng(seed)
    theta = rng.normal(size=d)
    theta /= np.linalg.norm(theta)
    if new:
        return tr.problems.ContextualLinear(theta, arms=K, noise=noise)
    X = rng.normal(size=(K, d))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    if kind == "bernoulli":
        X, theta = np.abs(X), np.abs(theta)
    return tr.problems.Linear(X, theta, noise=noise, rewards=kind)


def policies(noise):
    """What is compared."""
    told = {"theorem": tr.LinUCB(width="theorem", noise=noise)}
    widths = {f"width {c:g}": tr.LinUCB(width=c) for c in (2.0, 2.5, 3.0)}
    return told | widths | {"LinTS": tr.LinTS(), "LinTS, theorem": tr.LinTS(width="theorem", noise=noise), "epsilon": tr.LinEpsilonGreedy()}


def tails(noise):
    """Widths of SoftUCB and others, of which some follow a wrong arm for good."""
    fixed = {f"SoftUCB {c:g}": tr.SoftUCB(width=c) for c in (1.25, 2.0)}
    online = {f"online {c:g}": tr.SoftUCB(width=c, online=True, horizon=HORIZON) for c in (1.25, 2.0)}
    return fixed | online | {"LinTS": tr.LinTS(), "LinTS 1": tr.LinTS(width=1.0), "LinUCB": tr.LinUCB()}


def uniform(problem):
    """Regret of uniform play in all rounds."""
    if isinstance(problem, tr.problems.ContextualLinear):
        draws = np.random.default_rng(0).normal(size=(2000, problem.means.size, problem.theta.size))
        draws /= np.linalg.norm(draws, axis=2, keepdims=True)
        means = draws @ problem.theta
        return HORIZON * float((means.max(axis=1) - means.mean(axis=1)).mean())
    return HORIZON * float(problem.means.max() - problem.means.mean())


def play(spec, runs, choose=policies):
    """(runs,) regret by policy, and of uniform play."""
    found, coin = {}, []
    for seed in range(runs):
        problem = world(*spec, seed)
        coin.append(uniform(problem))
        result = tr.simulate(problem, choose(spec[2] if spec[4] == "gaussian" else 0.5), horizon=HORIZON, replications=1, seed=seed)
        for name, regret in result.regret.items():
            found.setdefault(name, []).append(float(regret[0, -1]))
    return {name: np.array(values) for name, values in found.items()}, np.array(coin)


def picture(path):
    """Regret over time of the default widths and of those with a proof, on the first development world."""
    K, d, noise, new, kind = next(iter(DEVELOPMENT.values()))
    chosen = {
        "LinUCB": tr.LinUCB(), "LinUCB, theorem": tr.LinUCB(width="theorem", noise=noise),
        "LinTS": tr.LinTS(), "LinTS, theorem": tr.LinTS(width="theorem", noise=noise),
    }  # fmt: skip
    worlds = [world(K, d, noise, new, kind, seed) for seed in range(20)]
    tr.simulate(worlds, chosen, horizon=HORIZON, replications=20, seed=0).plot(path)


def main():
    """A table."""
    given = argparse.ArgumentParser(description=__doc__)
    given.add_argument("--confirm", action="store_true")
    given.add_argument("--tails", action="store_true")
    given.add_argument("--runs", type=int, default=100)
    given.add_argument("--picture", help="a file for the picture of the pages of LinUCB and LinTS, instead of the table")
    options = given.parse_args()
    if options.picture:
        picture(options.picture)
        return
    for name, spec in (TAILS if options.tails else CONFIRMATION if options.confirm else DEVELOPMENT).items():
        began = time.perf_counter()
        found, coin = play(spec, options.runs, tails if options.tails else policies)
        print(f"\n{name} ({options.runs} runs, {time.perf_counter() - began:.0f} s; uniform play {coin.mean():.0f})")
        for policy, regret in found.items():
            error, lost = regret.std(ddof=1) / math.sqrt(regret.size), int((regret > coin / 4).sum())
            print(f"  {policy:15} {regret.mean():7.1f} ± {error:5.1f}   largest {regret.max():7.1f}   above a quarter {lost}", flush=True)


if __name__ == "__main__":
    main()
