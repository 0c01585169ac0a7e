"""How often what we print is wrong: null comparisons that decide, and intervals that miss the
truth. `python benchmarks/intervals.py`

Comparisons: policies whose costs have one distribution, by the number of replications; the share in
which `compare` calls any of them better, and that of intervals of a pair that miss 0. Evaluations:
logs of 400 rows whose truth is known; the share in which the interval of an estimator misses it,
for one look (`anytime=False`) and for all looks at once. Both at alpha = 0.05, each share with its
standard error.
"""

import argparse
import math
import warnings

import numpy as np

import tightrope as tr
from tightrope.results import compared_pairs

ALPHA, ROWS, K = 0.05, 400, 3
REPLICATIONS = (2, 4, 6, 8, 10, 20, 50)
# name -> (policies, costs of one replication); paired: a part of the cost is the replication's own
COSTS = {
    "two, normal": (2, lambda rng, size: rng.normal(size=size)),
    "three, normal": (3, lambda rng, size: rng.normal(size=size)),
    "two, exponential": (2, lambda rng, size: rng.exponential(size=size)),
    "two, lognormal": (2, lambda rng, size: rng.lognormal(0.0, 1.5, size=size)),
    "two, one rare failure": (
        2,
        lambda rng, size: 1.0 + 50.0 * (rng.random(size) < 0.05) + rng.random(size),
    ),
}
# of a single policy's differences, whose mean is 0 and whose distribution is not symmetric
SHIFTED = {
    "lognormal difference": lambda rng, n: rng.lognormal(0.0, 1.0, size=n) - math.exp(0.5),
    "one of 20 far away": lambda rng, n: 1e4 * ((rng.random(n) < 0.05) - 0.05) + rng.normal(size=n),
}
LOGGERS = {"even": np.full(K, 1 / 3), "uneven": np.array([0.6, 0.25, 0.15])}
REWARDS = {  # name -> (means, draw of a reward from its mean)
    "0 or 1": (np.array([0.3, 0.5, 0.6]), lambda rng, mean: float(rng.random() < mean)),
    "rare": (np.array([0.02, 0.04, 0.06]), lambda rng, mean: float(rng.random() < mean)),
    "skewed": (
        np.array([0.1, 0.2, 0.3]),
        lambda rng, mean: float(rng.beta(0.4 * mean, 0.4 * (1.0 - mean))),
    ),
}
CLIP = 20.0  # above all weights: where one is cut, there is no normal interval
TARGET = np.array([0.1, 0.2, 0.7])
ESTIMATORS = ("ips", "clipped-ips", "snips", "dr", "switch-dr", "aipw")


def share(wrong, number):
    """A share with its standard error, in per cent."""
    p = wrong / number
    return f"{100 * p:5.1f} ± {100 * math.sqrt(max(p * (1 - p), 1 / number) / number):.1f}"


def comparisons(number):
    """A line for each kind of cost: decided, and an interval that misses, by replications."""
    print(
        f"{'% decided / missed, of ' + format(number, ','):26}"
        + "".join(f"{f'{n} replications':>27}" for n in REPLICATIONS)
    )
    for name, (policies, draw) in COSTS.items():
        print(
            f"{name:26}" + "".join(f"{cell(number, n, policies, draw):>27}" for n in REPLICATIONS),
            flush=True,
        )
    for name, difference in SHIFTED.items():

        def draw(rng, size, difference=difference):
            common = rng.normal(size=size[1])
            return np.stack([common, common + difference(rng, size[1])])

        print(
            f"{name:26}" + "".join(f"{cell(number, n, 2, draw):>27}" for n in REPLICATIONS),
            flush=True,
        )


def cell(number, replications, policies, draw):
    """Both shares of one kind of cost."""
    decided = missed = 0
    for seed in range(number):
        rng = np.random.default_rng([replications, seed])
        costs = draw(rng, (policies, replications))
        comparison = compared_pairs(
            {str(k): costs[k] for k in range(policies)}, "cost", alpha=ALPHA, draws=1000, seed=seed
        )
        decided += any(pair.decided for pair in comparison.pairs)
        missed += sum(not pair.lower <= 0.0 <= pair.upper for pair in comparison.pairs) / len(
            comparison.pairs
        )
    return f"{share(decided, number)} / {share(missed, number)}"


def evaluations(number):
    """A line for each log and number of looks: intervals that miss the target's value, by
    estimator."""
    print(
        f"\n{'% missed, of ' + format(number, ',') + ' logs':34}"
        + "".join(f"{name:>14}" for name in ESTIMATORS)
    )
    for place, chances in LOGGERS.items():
        for kind, (means, draw) in REWARDS.items():
            truth, wrong = float(TARGET @ means), np.zeros((2, len(ESTIMATORS)), dtype=int)
            for seed in range(number):
                rng = np.random.default_rng(
                    [seed, list(LOGGERS).index(place), list(REWARDS).index(kind)]
                )
                arms = rng.choice(K, size=ROWS, p=chances)
                rows = {
                    "arm": arms,
                    "reward": np.array([draw(rng, means[k]) for k in arms.tolist()]),
                    "p": chances[arms],
                }
                all_arms = {f"p{k}": np.full(ROWS, chances[k]) for k in range(K)}
                log = tr.logs.from_frame(
                    rows | all_arms, propensity="p", probabilities=list(all_arms), arms=K
                )
                for i, anytime in enumerate((False, True)):
                    for j, estimator in enumerate(ESTIMATORS):
                        low, high = tr.evaluate(
                            log,
                            TARGET,
                            estimator=estimator,
                            anytime=anytime,
                            alpha=ALPHA,
                            clip=CLIP,
                        ).interval
                        wrong[i, j] += not low <= truth <= high
            for i, looks in enumerate(("one look", "all looks")):
                cells = "".join(f"{share(int(n), number):>14}" for n in wrong[i])
                print(f"{f'{place} logger, {kind}, {looks}':34}{cells}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--comparisons", type=int, default=1000)
    parser.add_argument("--logs", type=int, default=500)
    options = parser.parse_args()
    warnings.simplefilter("ignore")  # too few replications to decide
    if options.comparisons:
        comparisons(options.comparisons)
    if options.logs:
        evaluations(options.logs)


if __name__ == "__main__":
    main()
