"""Tests that stop beside tests of fixed size on variants without features: samples and wrong
answers, `python benchmarks/ab_tests.py`.

Five click rates, epsilon = 0.03, delta = 0.05, seed 0; 100 runs of every rule that stops and
100,000 of every test of fixed size. A wrong answer is an arm that is worse than the best by more
than epsilon.
"""

import argparse

import numpy as np

import tightrope as tr

EPSILON, DELTA, TESTS = 0.03, 0.05, 100_000
CASES = {
    "one clear winner": [0.04, 0.05, 0.06, 0.16, 0.07],
    "one winner by a little more than epsilon": [0.10, 0.065, 0.065, 0.065, 0.065],
    "all alike": [0.065, 0.065, 0.065, 0.065, 0.065],
}


def rules():
    """The rules that stop, with the same promise but for the heuristic."""
    own = {"epsilon": EPSILON, "delta": DELTA}
    return {
        "UGapE": tr.UGapE(**own, noise=0.5),
        "TopTwoThompson": tr.TopTwoThompson(**own),
        "TopTwoUCB": tr.TopTwoUCB(**own),
        "TrackAndStop": tr.TrackAndStop(**own),
        "TrackAndStop, heuristic": tr.TrackAndStop(**own, threshold="heuristic"),
    }


def fixed_size(rates, size):
    """Share of tests with so many samples in all whose highest sample mean belongs to an arm that
    is too bad; ties at random."""
    rng = np.random.default_rng(0)
    clicks = rng.binomial(size // rates.size, rates, size=(TESTS, rates.size)) + rng.random(
        (TESTS, rates.size)
    )
    return (rates[clicks.argmax(axis=1)] < rates.max() - EPSILON).astype(float)


def line(name, samples, wrong):
    """A row of a Markdown table: mean and standard error of samples, and of wrong answers in per
    cent."""
    taken = f"{samples.mean():,.0f}" + (
        f" ± {samples.std(ddof=1) / np.sqrt(samples.size):,.0f}" if samples.size > 1 else ""
    )
    print(
        f"| {name} | {taken} | {100 * wrong.mean():.2f} ± "
        f"{100 * wrong.std(ddof=1) / np.sqrt(wrong.size):.2f} |",
        flush=True,
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--replications", type=int, default=100)
    parser.add_argument("--workers", type=int)
    options = parser.parse_args()
    for case, means in CASES.items():
        print(f"\n{case}: {means}\n\n| test | samples | wrong, % |\n| --- | ---: | ---: |")
        rates = np.array(means)
        for name, rule in rules().items():
            planned = tr.plan(
                means,
                epsilon=EPSILON,
                delta=DELTA,
                policies={name: rule},
                replications=options.replications,
                workers=options.workers,
            )
            assert planned.certified[name] == 1.0
            line(name, planned.simulated.rounds[name], 1.0 - planned.simulated.correct[name])
        line("fixed size, any means", np.array([planned.fixed]), fixed_size(rates, planned.fixed))
        line(
            "fixed size, textbook",
            np.array([planned.textbook]),
            fixed_size(rates, planned.textbook),
        )


if __name__ == "__main__":
    main()
