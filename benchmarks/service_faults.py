"""Random faults against a running service: kill -9, duplicates, reordering, delay, malformed requests, clock jumps,
failing commits, masked arms; some decisions are deferred, then activated or cancelled.

python benchmarks/service_faults.py [--faults 10000] [--seed 0]

Stops at the first promise that is broken, with exit code 1; else prints what was done. See tests/service/faults.py for the checks.
"""

import argparse
import pathlib
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "tests" / "service"))

from faults import Broken, inflict, table


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--faults", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="tightrope-faults-") as folder:
        try:
            found = inflict(pathlib.Path(folder), arguments.faults, arguments.seed, say=lambda text: print(text, flush=True))
        except Broken as error:
            sys.exit(f"BROKEN: {error}")
    print(table(found))


if __name__ == "__main__":
    main()
