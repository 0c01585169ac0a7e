"""Interrupts calls of sessions: `python benchmarks/signals.py --calls 1000000`.

All public methods of all kinds of sessions are called at random, under a timer of 1 ms that raises KeyboardInterrupt within a call. Each
session must afterwards equal its twin, to the bit of its file, as it was before the call or as it is after it. See
tests/session/signalled.py. Ends with 1 where one is neither, and with what a crash brings where compiled code was hit.
"""

import argparse
import faulthandler
import pathlib
import sys
import tempfile
import time
import warnings

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "tests"))

from session import signalled

A_SESSION = 1_000  # calls of one kind in a turn


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--calls", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--kinds", default="", help="Only those whose names hold this text.")
    options = parser.parse_args()
    faulthandler.enable()
    warnings.simplefilter("ignore")  # older decisions of select are closed without a reward
    signalled.settle_process()
    total, turn, began = signalled.Found(), 0, time.monotonic()
    names = [name for name in sorted(signalled.kinds()) if options.kinds in name]
    with tempfile.TemporaryDirectory(prefix="tightrope-signals-") as folder:
        place = pathlib.Path(folder)
        for name in names:  # compiled before the timer starts
            signalled.run(name, options.seed, A_SESSION, place, lambda call: signalled.quietly(lambda _: call(), None))
            print(f"warm: {name} ({time.monotonic() - began:.0f} s)", flush=True)
        with signalled.Timer() as timer:
            while total.calls < options.calls:
                name = names[turn % len(names)]
                calls = min(A_SESSION, options.calls - total.calls)
                found = signalled.run(name, options.seed + turn, calls, place, timer.interrupts)
                for key in found.broken:
                    print(f"{key}: {found.examples.get(key)}", flush=True)
                total.add(found)
                turn += 1
                if turn % len(names) == 0:
                    print(f"{time.monotonic() - began:.0f} s: {total}", flush=True)
    print(f"{total}; no crash")
    return int(bool(total.broken))


if __name__ == "__main__":
    sys.exit(main())
