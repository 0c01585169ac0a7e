"""Random faults against a running service: kill -9, duplicates, reordering, delay, malformed
requests, clock jumps, failing commits, arms that are masked, added and retired, erasures; some
decisions are deferred, then activated or cancelled.

python benchmarks/service_faults.py [--faults 10000] [--seed 0]

Stops at the first promise that is broken, with exit code 1; else prints what was done. See
tests/service/faults.py for the checks.
"""

import argparse
import pathlib
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "tests" / "service"))

import faults


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--faults", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="tightrope-faults-") as name:
        folder = pathlib.Path(name)
        options = {
            "faults": arguments.faults,
            "seed": arguments.seed,
            "say": lambda text: print(text, flush=True),
        }
        try:
            print(faults.table(faults.inflict(folder, **options)))
        except faults.Broken as error:
            sys.exit(f"BROKEN: {error}")


if __name__ == "__main__":
    main()
