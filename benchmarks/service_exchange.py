"""CPU time of an exchange between two workers of one experiment, by what it is spent on: LinUCB with K = 50 arms and d = 20 features.

python benchmarks/service_exchange.py [--policy LinUCB] [--decisions 100] [--exchanges 20] [--rewards]

Both workers are in this process and decide in turn; the database is a PostgreSQL server of its own in a temporary folder. Times are those
of the writer's thread that exchanges, so that what else the machine does changes them little.
"""

import argparse
import collections
import functools
import os
import pathlib
import sys
import time

import numpy as np
from service_load import ARMS, DIMENSION

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "tests" / "service"))
os.environ["TIGHTROPE_TEST_POSTGRES"] = "1"

from running import batch, create, place, service_at

from tightrope.service.domain.requests import RewardRequest
from tightrope.service.log.journal import ExperimentJournal
from tightrope.service.runtime import commands
from tightrope.service.runtime.exchanges import SharedExperiment

NEVER = 1e9  # seconds, or events: exchanges take place when they are asked for
PARTS = {
    (ExperimentJournal, "exchange"): "folding own events",
    (ExperimentJournal, "follow"): "folding those of the other",
    (SharedExperiment, "go_on"): "copying the state",
    (SharedExperiment, "exchange"): "all",
}


def timed(spent: collections.Counter[str]) -> None:
    """Add up the CPU time of the calls that an exchange consists of."""
    for (owner, name), what in PARTS.items():

        def call(*arguments, _function=getattr(owner, name), _what=what, **more):
            began = time.thread_time()
            try:
                return _function(*arguments, **more)
            finally:
                spent[_what] += time.thread_time() - began

        setattr(owner, name, functools.wraps(getattr(owner, name))(call))


def decide(service, prefix: str, decisions: int, rewards: bool) -> None:
    """A worker decides, and rewards what it decided, in one command each."""
    service.ask_now("many", batch(decisions, prefix))
    if rewards:
        requests = [RewardRequest(decision_id=f"{prefix}{n}", value=float(n % 2)) for n in range(decisions)]
        service.ask_now("many", commands.Each([(one.decision_id, one) for one in requests], commands.reward, "ending"))


def exchange(service) -> None:
    service.ask_now("many", lambda at: setattr(at.owned, "exchanged", -NEVER))
    service.ask_now("many", lambda at: None)  # answered when the exchange has ended


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--policy", default="LinUCB")
    parser.add_argument("--decisions", type=int, default=100, help="of each worker between two exchanges")
    parser.add_argument("--exchanges", type=int, default=20, help="of each worker")
    parser.add_argument("--rewards", action="store_true", help="reward each decision")
    options = parser.parse_args()
    features = np.random.default_rng(0).normal(size=(ARMS, DIMENSION)) / np.sqrt(DIMENSION)
    arms = [{"id": f"arm-{k}", "features": (row / max(1.0, np.linalg.norm(row))).tolist()} for k, row in enumerate(features)]
    spec = {"name": "many", "policy": options.policy, "window": "1h", "default_reward": 0.0, "arms": arms, "workers": 2}
    settings = {"exchange": NEVER, "exchange_every": int(NEVER), "tick": NEVER, "lease": NEVER}
    spent: collections.Counter[str] = collections.Counter()
    url = place("exchange")
    with service_at(url, **settings) as one, service_at(url, **settings) as other:
        create(one, spec)
        for turn in range(-3, options.exchanges):  # the first ones compile
            if turn == 0:
                timed(spent)
            for number, service in enumerate((one, other)):
                decide(service, f"{number}-{turn}-", options.decisions, options.rewards)
            for service in (one, other):
                exchange(service)
    events = options.decisions * (2 if options.rewards else 1)
    each = {what: 1e3 * seconds / (2 * options.exchanges) for what, seconds in spent.items()}
    each["the database, and the rest"] = 2.0 * each["all"] - sum(each.values())
    print(f"{options.policy}, ms of CPU time in an exchange of {events} own events and {events} of the other worker:")
    for what in sorted(each, key=each.__getitem__):
        print(f"{what:28} {each[what]:6.2f}")


if __name__ == "__main__":
    main()
