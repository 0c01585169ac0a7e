"""Does the promise hold through HTTP, with hundreds of decisions open? Many simulated shops, each
with and without the guarantee.

    python benchmarks/service_budget.py --runs 100

Starts a service of its own on a new SQLite file, or uses --url and --key. Prints each run's true
budget, which only the simulation knows, and exits with 1 where a guarded run broke the promise, or
no plain one did.
"""

import argparse
import contextlib
import pathlib
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator

from tightrope_service.client import Client, Truth, drive, price_shop

DECISIONS, DELAY = 1500, 150


@contextlib.contextmanager
def service(folder: pathlib.Path) -> Iterator[tuple[str, str]]:
    """Address and admin key of a new service."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [
        sys.executable,
        "-m",
        "tightrope",
        "serve",
        "--db",
        str(folder / "budget.db"),
        "--port",
        str(port),
    ]
    with (
        (folder / "log").open("w") as log,
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True) as process,
    ):
        assert process.stdout is not None
        key = ""
        for line in process.stdout:
            key = line.split()[-1] if "tr_" in line else key
            if line.startswith("Serving"):
                break
        url = f"http://127.0.0.1:{port}"
        for _ in range(200):
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
                break
            time.sleep(0.05)
        try:
            yield url, key
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(60)


def one(
    client: Client, name: str, guarded: bool, seed: int, decisions: int, rollout: bool
) -> Truth:
    """One shop."""
    shop = price_shop()
    client.create(shop.spec(name, guarded=guarded, rollout=rollout, seed=seed))
    truth = drive(client, shop, decisions, delay=DELAY, batch=50, seed=seed)
    client.archive()
    return truth


def main() -> None:
    """Run, print, judge."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--decisions", type=int, default=DECISIONS)
    parser.add_argument("--url")
    parser.add_argument("--key")
    options = parser.parse_args()
    began = time.perf_counter()
    with contextlib.ExitStack() as stack:
        if options.url is None:
            folder = stack.enter_context(tempfile.TemporaryDirectory())
            options.url, options.key = stack.enter_context(service(pathlib.Path(folder)))
        client = stack.enter_context(Client(options.url, options.key, timeout=120.0))
        broken = {True: 0, False: 0}
        mark = f"{time.time_ns():x}"
        for seed in range(options.runs):
            for guarded in (True, False):
                kind = "guarded" if guarded else "plain"
                truth = one(
                    client,
                    f"{kind}-{mark}-{seed}",
                    guarded,
                    seed,
                    options.decisions,
                    rollout=guarded and seed % 2 == 1,
                )
                broken[guarded] += truth.lowest < 0
                print(
                    f"{seed:3} {kind:8} lowest true budget {truth.lowest:8.3f}, at the end "
                    f"{truth.budget:8.2f}, baseline {truth.baseline_share:6.1%}, at most "
                    f"{truth.most_open} open",
                    flush=True,
                )
    print(
        f"guarded: {options.runs - broken[True]} of {options.runs} runs kept their true budget at "
        "0 or above in every round"
    )
    print(f"plain:   {options.runs - broken[False]} of {options.runs}")
    print(
        f"{options.runs * 2 * options.decisions} decisions over HTTP in "
        f"{time.perf_counter() - began:.0f} s"
    )
    sys.exit(1 if broken[True] or not broken[False] else 0)


if __name__ == "__main__":
    main()
