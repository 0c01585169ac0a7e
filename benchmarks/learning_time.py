"""How long a guaranteed policy takes until it learns, by conversion rate and alpha: a table of the
guarantee's explanation.

`python benchmarks/learning_time.py` plays ten offers whose conversion rates are spread evenly over
.6 to 1.4 times their middle, with the fourth best as the baseline. A run has learned where less
than half of the visitors since the checkpoint before saw the baseline.
"""

import argparse
import math

import numpy as np

import tightrope as tr

RATES, ALPHAS, RANK, ARMS = (0.01, 0.05, 0.2), (0.02, 0.05, 0.1), 4, 10
A_DAY = (1_000, 10_000, 100_000)
BASELINE = 2  # position among the events of `Budget`


def learned(result: tr.Result, name: str) -> np.ndarray:
    """(runs,) visitors until a run has learned; inf where it has not."""
    seen = result.watched[name]["events"][:, :, BASELINE]
    rounds = np.asarray(result.rounds, dtype=float)
    share = np.diff(seen, prepend=0.0, axis=1) / np.diff(rounds, prepend=0.0)
    reached = share < 0.5
    return np.where(reached.any(axis=1), rounds[reached.argmax(axis=1)], math.inf)


def days(visitors: float, a_day: int) -> str:
    """So many days, rounded up."""
    return "never" if math.isinf(visitors) else f"{math.ceil(visitors / a_day):,}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--visitors", type=int, default=1_000_000)
    options = parser.parse_args()
    checkpoints = np.unique(np.geomspace(100, options.visitors, 160).round().astype(int))
    print(
        "| conversion | alpha | visitors until it learns | days at "
        f"{', '.join(f'{n:,}' for n in A_DAY)} a day | regret | baseline alone |"
    )
    print("| --- | --- | --- | --- | --- | --- |")
    for rate in RATES:
        problem = tr.problems.Bernoulli(rate * np.linspace(0.6, 1.4, ARMS))
        arm = ARMS - RANK
        for alpha in ALPHAS:
            policy = tr.Safe(
                tr.BetaThompson(),
                baseline=arm,
                baseline_mean=float(problem.means[arm]),
                alpha=alpha,
                delta=0.05,
            )
            result = tr.simulate(
                problem,
                {"safe": policy},
                horizon=options.visitors,
                replications=options.runs,
                seed=0,
                checkpoints=checkpoints,
                monitor=tr.Budget(baseline=arm, alpha=alpha),
            )
            assert (result.watched["safe"]["violations"] == 0).all()
            middle, lost = float(np.median(learned(result, "safe"))), result.regret["safe"][:, -1]
            alone = (problem.means.max() - problem.means[arm]) * options.visitors
            print(
                f"| {rate:.0%} | {alpha:g} | {middle:,.0f} | "
                f"{', '.join(days(middle, n) for n in A_DAY)} | {lost.mean():,.0f} ± "
                f"{lost.std(ddof=1) / math.sqrt(lost.size):,.0f} | {alone:,.0f} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
