"""The longest wait of one experiment while another one asks for much: `python
benchmarks/service_waits.py [--postgres]`.

A service in this process, without HTTP, with the garbage collector's settings that `tightrope
serve` has. Meanwhile a second experiment is asked for decisions, one after the other. Each act is
done twice, since the first time compiles what a service rehearses; the second one counts. Ends with
1 where a wait was longer than 250 ms.
"""

import argparse
import contextlib
import gc
import pathlib
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "tests" / "service"))

import numpy as np
from postgres import server
from running import Clock, ask, batch, create, decide, probed, reward, service_at

from tightrope_service import commands
from tightrope_service.app import RARE_COLLECTIONS
from tightrope_service.errors import Refused
from tightrope_service.requests import ArmsRequest
from tightrope_service.writer import close_windows

MOST = 0.25  # seconds that anybody may wait
TWO = [{"id": "a"}, {"id": "b"}]
GUARD = {"baseline": "a0", "baseline_mean": 0.3, "alpha": 0.1, "guarantee": {"sigma": 0.5}}


def featured(number, dimension):
    """Arms with features."""
    rows = np.random.default_rng(0).normal(size=(number, dimension)) / (2.0 * dimension)
    return [{"id": f"a{k}", "features": row.tolist()} for k, row in enumerate(rows)]


def slow_batch(service, clock):
    """500 decisions that are long in compiled code."""
    create(service, {"name": "e", "policy": "LinTS", "arms": featured(5_000, 10)})
    return lambda: ask(service, batch(500), name="e")


def cheap_batch(service, clock):
    """10,000 decisions that bring candidates of their own."""
    create(service, {"name": "e", "policy": "LinUCB", "dimension": 3})
    candidates = {"a": [0.1, 0.2, 0.3], "b": [0.3, 0.2, 0.1]}
    return lambda: ask(service, batch(10_000, context=candidates), name="e")


def backlog(service, clock):
    """A late reward behind 20,000 windows that are due."""
    create(
        service, {"name": "e", "policy": "UCB", "arms": TWO, "window": 60.0, "default_reward": 0.0}
    )
    for part in range(4):
        ask(service, batch(5_000, f"{part}-"), name="e")
    clock.now += 61 * 10**6

    def act():
        with contextlib.suppress(Refused):
            reward(service, "3-4999", 1.0, "e")
        ask(service, close_windows, name="e")

    return act


def erasure(service, clock):
    """Somebody with 20,000 open decisions is forgotten."""
    create(service, {"name": "e", "policy": "UCB", "arms": TWO, "default_reward": 0.0})
    for part in range(4):
        ask(service, batch(5_000, f"{part}-", subject="u"), name="e")
    return lambda: ask(service, commands.Erasure("u"), name="e")


def costly_later(service, clock):
    """Decisions under a guarantee, whose cost was measured while the baseline was played."""
    create(
        service,
        {"name": "e", "policy": "LinUCB", "arms": featured(3_000, 10)}
        | GUARD
        | {"guarantee": {"sigma": 0.5, "arm_bound": 3.0}},
    )

    def act():
        for n in range(200):
            decide(service, str(n), "e")
            reward(service, str(n), 0.6, "e")

    return act


def many_arms(service, clock):
    """100,000 arms are added."""
    create(service, {"name": "e", "policy": "UCB", "arms": TWO})
    return lambda: [
        ask(
            service,
            commands.add_arms,
            ArmsRequest(arms=[{"id": f"n{part}-{k}"} for k in range(10_000)]),
            name="e",
        )
        for part in range(10)
    ]


ACTS = {
    act.__name__: act
    for act in (slow_batch, cheap_batch, backlog, erasure, costly_later, many_arms)
}


def waits_of(place, act):
    """(longest, 99th percentile, how many waits, seconds, what was refused) of the second
    experiment meanwhile."""
    clock, said = Clock(), ""
    with service_at(place, clock) as service:
        create(service, {"name": "other", "policy": "UCB", "arms": TWO})
        decide(service, None, "other")
        todo = act(service, clock)
        with probed(service) as waits:
            time.sleep(0.5)
            waits.clear()
            began = time.monotonic()
            try:
                todo()
            except Refused as refused:
                said = refused.message
            seconds = time.monotonic() - began
    return (
        max(waits, default=0.0),
        float(np.quantile(waits or [0.0], 0.99)),
        len(waits),
        seconds,
        said,
    )


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--postgres",
        action="store_true",
        help="On a PostgreSQL server in a temporary folder, else on SQLite.",
    )
    parser.add_argument("--only", default="", help="Names of acts, with commas.")
    options = parser.parse_args()
    slow = []
    gc.set_threshold(*RARE_COLLECTIONS)
    print(f"{'':>14} longest ms    99 %  waits  seconds")
    for name in options.only.split(",") if options.only else ACTS:
        for _ in range(2):
            gc.collect()
            gc.freeze()
            folder = tempfile.TemporaryDirectory()
            with (
                folder,
                server()
                if options.postgres
                else contextlib.nullcontext(f"{folder.name}/a.db") as place,
            ):
                longest, most, count, seconds, said = waits_of(place, ACTS[name])
        print(
            f"{name:>14} {1000 * longest:10.0f} {1000 * most:7.0f} {count:6} {seconds:8.1f}  "
            f"{said}",
            flush=True,
        )
        slow += [name] if longest > MOST else []
    return int(bool(slow))


if __name__ == "__main__":
    sys.exit(main())
