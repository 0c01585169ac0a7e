"""How wide the default intervals of linear policies are: regret by the number of standard errors,
on linear worlds.

`python benchmarks/widths.py` plays the development worlds, by which the constants of LinUCB, LinTS
and others were chosen; `python benchmarks/widths.py --confirm` plays those that were tried once,
after the choice. For every world: mean regret after 3,000 rounds with its standard error, the
largest, and in how many runs regret was above a quarter of what uniform play has. Every run has its
own theta and arms. "theorem" is told the noise. `--tails` plays the worlds and widths of the table
on the page of SoftUCB. `--zero` plays linear rewards through the origin and the same with 100 added
to each, with and without the constant column.
"""

import argparse
import math
import time

import numpy as np

import tightrope as tr
from tightrope.extend import (
    Arms,
    Context,
    Problem,
    derived,
    jit,
    matrix,
    problem,
    real,
    scratch,
    vector,
)

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
    for K, d in ((5, 5), (30, 20), (200, 5), (200, 50))
    for noise in (0.01, 0.1, 1.0)
    for new in (False, True)
}


TAILS = {
    "30 fixed, d=10, noise .1": (30, 10, 0.1, False, "gaussian"),
    "30 fixed, d=50, noise .1": (30, 50, 0.1, False, "gaussian"),
    "30 fixed, d=10, noise .5": (30, 10, 0.5, False, "gaussian"),
    "10 fixed, d=5, Bernoulli": (10, 5, 1.0, False, "bernoulli"),
    "20 new, d=10, noise .5": (20, 10, 0.5, True, "gaussian"),
    "20 new, d=10, noise .1": (20, 10, 0.1, True, "gaussian"),
}


ZEROS = {
    f"{K} {'new' if new else 'fixed'}, d={d}, noise {noise:g}": (K, d, noise, new)
    for K, d, noise, new in (
        (30, 10, 0.1, False),
        (30, 10, 0.5, False),
        (10, 5, 0.5, False),
        (50, 20, 1.0, False),
        (30, 100, 0.1, False),
        (5, 5, 0.01, False),
        (20, 10, 0.5, True),
        (20, 10, 0.1, True),
        (20, 50, 0.1, True),
    )
}


@problem("fixed-from-a-zero")
class FixedFromZero(Problem):
    """Rewards zero + x'theta + noise of fixed arms."""

    arms: np.ndarray = matrix()
    theta: np.ndarray = vector()
    noise: float = real(default=1.0, least=0.0)
    zero: float = real(default=0.0)
    means: np.ndarray = derived()  # (K,) less zero

    @staticmethod
    def complete(stored):
        return stored | {"means": stored["arms"] @ stored["theta"]}

    def describe(self):
        K, d = self.arms.shape
        return Arms(K, dimension=d, features=self.arms)

    @jit
    def observe(self, t, rng):
        return Context(None, None, None, None)

    @jit
    def play(self, context, action, rng):
        return self.zero + self.means[action] + self.noise * rng.standard_normal()

    @jit
    def mean(self, context, arm):
        return self.zero + self.means[arm]

    @jit
    def regret(self, context, action):
        return self.means.max() - self.means[action]


@problem("new-from-a-zero")
class NewFromZero(Problem):
    """The same where arms are drawn from the unit sphere in every round; `arms` says how many there
    are."""

    arms: np.ndarray = matrix()
    theta: np.ndarray = vector()
    noise: float = real(default=1.0, least=0.0)
    zero: float = real(default=0.0)
    features: np.ndarray = scratch()  # (K, d) of this round
    means: np.ndarray = scratch()  # (K,) less zero

    @staticmethod
    def complete(stored):
        return stored | {
            "features": stored["arms"].copy(),
            "means": stored["arms"] @ stored["theta"],
        }

    def describe(self):
        K, d = self.features.shape
        return Arms(K, dimension=d)

    @jit
    def observe(self, t, rng):
        K, d = self.features.shape
        for k in range(K):
            square, inner = 0.0, 0.0
            for i in range(d):
                self.features[k, i] = rng.standard_normal()
                square += self.features[k, i] ** 2
                inner += self.features[k, i] * self.theta[i]
            for i in range(d):
                self.features[k, i] /= math.sqrt(square)
            self.means[k] = inner / math.sqrt(square)
        return Context(self.features, None, None, None)

    play, mean, regret = FixedFromZero.play, FixedFromZero.mean, FixedFromZero.regret


def zeros(runs):
    """A line a world: regret of LinUCB with and without the constant column, where rewards begin at
    0 and where 100 is added."""
    chosen = {
        "no column": tr.LinUCB(intercept=False),
        "default": tr.LinUCB(),
        "default, LinTS": tr.LinTS(),
    }
    print(
        f"{'regret, ' + str(runs) + ' runs':28}"
        + "".join(f"{name + extra:>26}" for extra in ("", ", + 100") for name in chosen)
    )
    for name, (K, d, noise, new) in ZEROS.items():
        regrets = {}
        for seed in range(runs):
            theta, X = theta_and_arms(K, d, seed)
            for zero in (0.0, 100.0):
                moved = (NewFromZero if new else FixedFromZero)(X, theta, noise=noise, zero=zero)
                result = tr.simulate(moved, chosen, horizon=HORIZON, replications=1, seed=seed)
                for policy in chosen:
                    regrets.setdefault((policy, zero), []).append(
                        float(result.regret[policy][0, -1])
                    )
        cells = [
            np.array(values)
            for zero in (0.0, 100.0)
            for policy in chosen
            for values in [regrets[policy, zero]]
        ]
        line = "".join(
            f"{f'{c.mean():.1f} ± {c.std(ddof=1) / math.sqrt(c.size):.1f}':>26}" for c in cells
        )
        print(f"{name:28}{line}", flush=True)


def theta_and_arms(K, d, seed):
    """(d,) and (K, d), of norm 1."""
    rng = np.random.default_rng(seed)
    theta, X = rng.normal(size=d), rng.normal(size=(K, d))
    return theta / np.linalg.norm(theta), X / np.linalg.norm(X, axis=1, keepdims=True)


def world(K, d, noise, new, kind, seed):
    """One instance: arms and theta of norm 1, means in [0, 1] where rewards are 0 or 1."""
    theta, X = theta_and_arms(K, d, seed)
    if new:
        return tr.problems.ContextualLinear(theta, arms=K, noise=noise)
    if kind == "bernoulli":
        X, theta = np.abs(X), np.abs(theta)
    return tr.problems.Linear(X, theta, noise=noise, rewards=kind)


def policies(noise):
    """The policies that are compared."""
    theorem = {"theorem": tr.LinUCB(width="theorem", noise=noise)}
    widths = {f"width {c:g}": tr.LinUCB(width=c) for c in (2.0, 2.5, 3.0)}
    columns = {
        "2.5, no column": tr.LinUCB(intercept=False),
        "LinTS": tr.LinTS(),
        "LinTS, no column": tr.LinTS(intercept=False),
    }
    return (
        theorem
        | widths
        | columns
        | {
            "LinTS, theorem": tr.LinTS(width="theorem", noise=noise),
            "epsilon": tr.LinEpsilonGreedy(),
        }
    )


def tails(noise):
    """Widths of SoftUCB and others, of which some follow a wrong arm for good."""
    fixed = {f"SoftUCB {c:g}": tr.SoftUCB(width=c) for c in (1.25, 2.0)}
    online = {
        f"online {c:g}": tr.SoftUCB(width=c, online=True, horizon=HORIZON) for c in (1.25, 2.0)
    }
    return (
        fixed
        | online
        | {"LinTS": tr.LinTS(), "LinTS 1": tr.LinTS(width=1.0), "LinUCB": tr.LinUCB()}
    )


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
    regrets, coin = {}, []
    for seed in range(runs):
        problem = world(*spec, seed)
        coin.append(uniform(problem))
        result = tr.simulate(
            problem,
            choose(spec[2] if spec[4] == "gaussian" else 0.5),
            horizon=HORIZON,
            replications=1,
            seed=seed,
        )
        for name, regret in result.regret.items():
            regrets.setdefault(name, []).append(float(regret[0, -1]))
    return {name: np.array(values) for name, values in regrets.items()}, np.array(coin)


def picture(path):
    """Regret over time of the default widths and of those with a proof, on the first development
    world."""
    K, d, noise, new, kind = next(iter(DEVELOPMENT.values()))
    chosen = {
        "LinUCB": tr.LinUCB(),
        "LinUCB, theorem": tr.LinUCB(width="theorem", noise=noise),
        "LinTS": tr.LinTS(),
        "LinTS, theorem": tr.LinTS(width="theorem", noise=noise),
    }
    worlds = [world(K, d, noise, new, kind, seed) for seed in range(20)]
    tr.simulate(worlds, chosen, horizon=HORIZON, replications=20, seed=0).plot(path)


def main():
    """A table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--confirm", action="store_true")
    parser.add_argument("--tails", action="store_true")
    parser.add_argument("--zero", action="store_true")
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument(
        "--picture",
        help="a file for the picture of the pages of LinUCB and LinTS, instead of the table",
    )
    options = parser.parse_args()
    if options.picture:
        picture(options.picture)
        return
    if options.zero:
        zeros(options.runs)
        return
    for name, spec in (
        TAILS if options.tails else CONFIRMATION if options.confirm else DEVELOPMENT
    ).items():
        began = time.perf_counter()
        regrets, coin = play(spec, options.runs, tails if options.tails else policies)
        print(
            f"\n{name} ({options.runs} runs, "
            f"{time.perf_counter() - began:.0f} s; "
            f"uniform play "
            f"{coin.mean():.0f})"
        )
        for policy, regret in regrets.items():
            error, lost = (
                regret.std(ddof=1) / math.sqrt(regret.size),
                int((regret > coin / 4).sum()),
            )
            print(
                f"  {policy:16} {regret.mean():7.1f} ± {error:5.1f}   largest {regret.max():7.1f} "
                f"  above a quarter {lost}",
                flush=True,
            )


if __name__ == "__main__":
    main()
