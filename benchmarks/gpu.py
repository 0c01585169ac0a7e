"""Many replications on one GPU: `python benchmarks/gpu.py [POLICY ...]`, on a machine with a card
and the extra tightrope[cuda]. It takes less than 15 minutes and writes docs/results/gpu.md.

For every policy: how many of 64 replications play the same arms as on the processor, and rounds a
second beside one core and all cores, compilation apart. A policy that fails loses no other.

`--lanes 100 --here` tries the script without a card: lanes are played by this processor and nothing
is written. `compute-sanitizer python benchmarks/gpu.py LinTS --lanes 65536` looks for accesses
beyond the arrays.
"""

import argparse
import datetime
import pathlib
import re
import subprocess
import time
import traceback

import numpy as np

import tightrope as tr
from tightrope.compiled.lanes import Processor
from tightrope.simulation import executors, run

PAGE = pathlib.Path(__file__).parent.parent / "docs/results/gpu.md"
SAME, FEW = 64, 200
MEANS = np.linspace(0.1, 0.9, 10)
ARMS = tr.problems.Bernoulli(MEANS)
ROWS = np.random.default_rng(0).normal(size=(30, 5))
ROWS /= np.linalg.norm(ROWS, axis=1)[:, None]
THETA = np.full(5, 5**-0.5)
LINEAR = tr.problems.Linear(ROWS, THETA, noise=0.1)
POINTS = np.linspace(0.0, 1.0, 21)
CURVE = tr.problems.Lipschitz(points=POINTS, means=0.8 - 0.6 * abs(POINTS - 0.4), lipschitz=0.6)
GUARD = {"baseline": 3, "baseline_mean": float(MEANS[3]), "alpha": 0.1}
WORST = int(np.argsort(ROWS @ THETA)[-3])
LINEAR_GUARD = {"baseline": WORST, "baseline_mean": float((ROWS @ THETA)[WORST]), "alpha": 0.1}
CASES = {  # policy, problem, rounds, lanes
    "UCB": (tr.UCB(), ARMS, 4000, 2**18),
    "KLUCB": (tr.KLUCB(), ARMS, 2000, 2**17),
    "BetaThompson": (tr.BetaThompson(), ARMS, 1000, 2**17),
    "CUCB2": (tr.CUCB2(**GUARD), ARMS, 1000, 2**17),
    "Safe(KLUCB)": (tr.Safe(tr.KLUCB(), **GUARD), ARMS, 1000, 2**17),
    "LinUCB": (tr.LinUCB(), LINEAR, 1000, 2**16),
    "OFUL": (tr.OFUL(), LINEAR, 1000, 2**16),
    "LinTS": (tr.LinTS(), LINEAR, 1000, 2**16),
    "SoftUCB": (tr.SoftUCB(), LINEAR, 1000, 2**16),
    "CLUCB2": (tr.CLUCB2(**LINEAR_GUARD), LINEAR, 1000, 2**16),
    "LinGapE": (tr.LinGapE(epsilon=0.1, delta=0.05), LINEAR, 1000, 2**16),
    "HOO": (tr.HOO(nu=1.0, rho=0.5), CURVE, 1000, 2**16),
    "CKLUCB": (tr.CKLUCB(lipschitz=0.6), CURVE, 1000, 2**16),
    "OSLB": (tr.OSLB(lipschitz=0.6), CURVE, 200, 2**15),
}
WORDS = {ARMS: "10 Bernoulli arms", LINEAR: "K = 30, d = 5", CURVE: "21 points"}
HEAD = (
    "| policy, problem | same arms | rounds a second | one core | times one core | times all cores "
    "| lanes x rounds |\n| --- | ---: | ---: | ---: | ---: | ---: | ---: |"
)


class Clock:
    """Says of every step how long it took; in_kernels counts the seconds of launches."""

    def __init__(self, target):
        self.in_kernels, self.launch = 0.0, target.launch
        target.launch = self.timed

    def timed(self, *arguments):
        began = time.perf_counter()
        self.launch(*arguments)
        self.in_kernels += time.perf_counter() - began

    def play(self, step, case, rounds, replications, **where):
        """Seconds of the call, seconds in kernels, and the result."""
        began, before = time.perf_counter(), self.in_kernels
        policy, problem = case
        result = tr.simulate(problem, policy, horizon=rounds, replications=replications, **where)
        taken, kernels = time.perf_counter() - began, self.in_kernels - before
        print(
            f"  {step}: {taken:.1f} s", f"({kernels:.2f} s in kernels)" * (kernels > 0), flush=True
        )
        return taken, kernels, result


def short(rate):
    return f"{rate:.2e}".replace("e+0", "e").replace("e+", "e")


def measured(clock, name, most):
    """The row of a policy."""
    *case, rounds, lanes = CASES[name]
    lanes = min(lanes, most or lanes)
    _, _, gpu = clock.play("64 lanes, compilation included", case, rounds, SAME, engine="cuda")
    clock.play("compilation for the processor", case, 2, 2)
    here, _, cpu = clock.play("one core", case, rounds, SAME, workers=1)
    cores, _, _ = clock.play("all cores", case, rounds, FEW)
    _, kernels, _ = clock.play(f"{lanes:,} lanes", case, rounds, lanes, engine="cuda")
    (ours,), (theirs,) = cpu.pulls.values(), gpu.pulls.values()
    same = int((ours == theirs).all(axis=1).sum())
    rate, core, every = lanes * rounds / kernels, SAME * rounds / here, FEW * rounds / cores
    return (
        f"| {name}, {WORDS[case[1]]} | {same} of {SAME} | {short(rate)} | {short(core)} | "
        f"{rate / core:,.0f} | {rate / every:,.0f} | {lanes:,} x {rounds:,} |"
    )


def write(rows):
    """The section of figures, anew."""
    card = subprocess.run(
        ["nvidia-smi", "--query-gpu=name", "--format=csv,noheader"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.splitlines()[0]
    text = (
        f"## Figures\n\n{card}, {datetime.date.today()}, by `python benchmarks/gpu.py`, double "
        "precision. Cores are those of that machine.\n\n" + "\n".join([HEAD, *rows])
    )
    page = PAGE.read_text()
    PAGE.write_text(re.sub(r"## Figures\n.*?(?=\n\n## )", lambda found: text, page, flags=re.S))


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("policies", nargs="*", metavar="POLICY", help=", ".join(CASES))
    parser.add_argument("--lanes", type=int, help="at most so many")
    parser.add_argument("--here", action="store_true", help="lanes are played by this processor")
    parser.add_argument("--minutes", type=float, default=12, help="no policy begins after them")
    chosen = parser.parse_args()
    target = Processor() if chosen.here else executors.gpu()
    run.gpu = lambda: target
    clock, rows, began = Clock(target), [], time.monotonic()
    for name in chosen.policies or CASES:
        if time.monotonic() - began > 60 * chosen.minutes:
            print(f"{name} is left out: {chosen.minutes:g} minutes are over")
            continue
        print(name)
        try:
            rows.append(measured(clock, name, chosen.lanes))
        except Exception:
            traceback.print_exc()
            continue
        print(rows[-1], flush=True)
        if not (chosen.here or chosen.lanes or chosen.policies):
            write(rows)


if __name__ == "__main__":
    main()
