"""Random faults against a running service: kill -9, duplicates, reordering, delay, malformed requests, clock jumps,
failing commits, arms that are masked, added and retired, erasures; some decisions are deferred, then activated or cancelled.

python benchmarks/service_faults.py [--faults 10000] [--seed 0] [--workers]

With `--workers` two processes decide in one experiment with a promise, on a PostgreSQL server in a temporary folder: kill -9 of one and of
both, connections that the database ends, exchanges that are held up, duplicates, rewards before their decisions are known, malformed
requests, and workers that are stopped for longer than they may be silent. See tests/service/worker_faults.py.

Stops at the first promise that is broken, with exit code 1; else prints what was done. See tests/service/faults.py for the checks.
"""

import argparse
import pathlib
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "tests" / "service"))

import faults
import worker_faults
from postgres import server


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--faults", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--workers", action="store_true", help="two workers of one experiment")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="tightrope-faults-") as name:
        folder = pathlib.Path(name)
        options = {"faults": arguments.faults, "seed": arguments.seed, "say": lambda text: print(text, flush=True)}
        try:
            if arguments.workers:
                with server(durable=False) as url:
                    print(worker_faults.table(worker_faults.inflict(url, folder, **options)))
            else:
                print(faults.table(faults.inflict(folder, **options)))
        except faults.Broken as error:
            sys.exit(f"BROKEN: {error}")


if __name__ == "__main__":
    main()
