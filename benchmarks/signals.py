"""Interrupts calls of sessions: `python benchmarks/signals.py --calls 1000000`, and of functions:
`... --functions 10000`.

All public methods of all kinds of sessions are called at random, under a timer of 1 ms that raises
KeyboardInterrupt within a call. Each session must afterwards equal its twin, to the bit of its
file, as it was before the call or as it is after it. See tests/session/signalled.py. Ends with 1
where one is neither, and with what a crash brings where compiled code was hit.

Functions that cross into compiled code with tuples (simulations, `bench`, `learn`, `evaluate`,
`explain`) are interrupted at a random time of their work; each must go on giving the answer that it
gave before.
"""

import argparse
import faulthandler
import pathlib
import signal
import sys
import tempfile
import time
import warnings

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "tests"))

from speed import measure

import tightrope as tr
from session import signalled

A_SESSION = 1_000  # calls of one kind in a turn
ASKED_AGAIN = 10  # interruptions of a function between two comparisons of its answer


def functions(folder):
    """Name -> a call of it, which takes milliseconds, and what it answers, as something that can be
    compared."""
    rng = np.random.default_rng(0)
    world = tr.problems.Bernoulli([0.3, 0.5, 0.6])
    linear = tr.problems.Linear(rng.normal(size=(8, 3)), rng.normal(size=3), noise=0.3)
    several = {
        "UCB": tr.UCB(),
        "LinUCB": tr.LinUCB(),
        "CLUCB2": tr.CLUCB2(baseline=0, baseline_mean=0.1, sigma=0.3, arm_bound=4.0),
        "LinTS": tr.LinTS(),
    }
    rows = {
        "arm": rng.integers(0, 3, size=4000),
        "reward": rng.random(4000),
        "x": rng.random(4000),
        "y": rng.random(4000),
    }
    log = tr.logs.from_frame(
        rows | {"p": np.full(4000, 1 / 3)}, propensity="p", features=["x", "y"]
    )
    taught = tr.Session(tr.LinUCB(shared=False), arms=3, dimension=2)
    taught.learn(rows, features=["x", "y"])
    drawing = tr.Session(tr.LinTS(), arms=linear.features)
    drawing.update(0, 1.0)

    def simulated():
        result = tr.simulate(linear, several, horizon=2000, replications=4, workers=2)
        return {name: regret[:, -1].tolist() for name, regret in result.regret.items()}

    pq.write_table(pa.table(rows), folder / "rows.parquet")

    def learned():
        return tr.learn_from(
            folder / "rows.parquet",
            tr.LinUCB(shared=False),
            arms=3,
            features=["x", "y"],
            dimension=2,
            progress=False,
        ).to_bytes()

    def identified():
        return str(tr.identify(world, tr.UGapE(epsilon=0.1), replications=8))

    return {
        "simulate": simulated,
        "identify": identified,
        "bench": lambda: (
            type(
                measure(tr.CLUCB2(baseline=0, baseline_mean=0.1, arm_bound=4.0), linear, 3000)
            ).__name__
        ),
        "learn_from": learned,
        "learn": lambda: tr.Session(tr.SoftUCB(), arms=linear.features).learn(
            {"arm": rows["arm"], "reward": rows["reward"]}
        ),
        "evaluate a session": lambda: str(tr.evaluate(log, taught)),
        "evaluate a learner": lambda: str(
            tr.evaluate_learner(log, tr.LinUCB(shared=False), method="replay")
        ),
        "explain": lambda: repr(drawing.explain(draws=2000)),
    }


class CtrlC(signalled.Timer):
    """Sends the signal of Ctrl-C, so that functions with a handler of their own get what they
    handle."""

    def ring(self, number, frame):
        if self.armed:
            self.armed = False
            self.came += 1
            signal.raise_signal(signal.SIGINT)


def interrupt_functions(calls: int, seed: int, folder: pathlib.Path) -> int:
    """Interrupt each function so often; returns how many answered otherwise afterwards."""
    rng, wrong = np.random.default_rng(seed), 0
    for name, call in functions(folder).items():
        call()
        began = time.perf_counter()
        answer = call()
        seconds, came = time.perf_counter() - began, 0
        with CtrlC(None) as timer:
            for number in range(calls):
                timer.at(max(1e-5, float(rng.uniform(0.0, 1.1 * seconds))))
                came += timer.interrupts(call)
                timer.at(0.0)
                if number % ASKED_AGAIN == 0 and call() != answer:
                    wrong += 1
                    print(f"{name}: another answer after {came} interruptions", flush=True)
        print(
            f"{name}: {calls:,} calls of {1e3 * seconds:.1f} ms, {came:,} interrupted", flush=True
        )
    return wrong


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--calls", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--kinds", default="", help="Only those whose names hold this text.")
    parser.add_argument(
        "--functions",
        type=int,
        default=0,
        help="Interrupt each of the functions so often, and no sessions.",
    )
    options = parser.parse_args()
    faulthandler.enable()
    warnings.simplefilter("ignore")  # older decisions of select are closed without a reward
    signalled.settle_process()
    if options.functions:
        with tempfile.TemporaryDirectory(prefix="tightrope-signals-") as folder:
            return int(
                interrupt_functions(options.functions, options.seed, pathlib.Path(folder)) > 0
            )
    total, turn, began = signalled.Found(), 0, time.monotonic()
    names = [name for name in sorted(signalled.kinds()) if options.kinds in name]
    with tempfile.TemporaryDirectory(prefix="tightrope-signals-") as folder:
        place = pathlib.Path(folder)
        for name in names:  # compiled before the timer starts
            signalled.run(
                name,
                options.seed,
                A_SESSION,
                place,
                lambda call: signalled.quietly(lambda _: call(), None),
            )
            print(f"warm: {name} ({time.monotonic() - began:.0f} s)", flush=True)
        with signalled.Timer() as timer:
            while total.calls < options.calls:
                name = names[turn % len(names)]
                calls = min(A_SESSION, options.calls - total.calls)
                counts = signalled.run(name, options.seed + turn, calls, place, timer.interrupts)
                for key in counts.broken:
                    print(f"{key}: {counts.examples.get(key)}", flush=True)
                total.add(counts)
                turn += 1
                if turn % len(names) == 0:
                    print(f"{time.monotonic() - began:.0f} s: {total}", flush=True)
    print(f"{total}; no crash")
    return int(bool(total.broken))


if __name__ == "__main__":
    sys.exit(main())
