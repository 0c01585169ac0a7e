"""Many workers of one experiment without a database: logs and ledger in memory, what a test wants to happen in between.

A world pays rewards and knows the true budget. `python tests/service/fleet.py 100` plays so many runs in which workers die with leases.
"""

import pathlib
import sys

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).parent))

from tightrope.service.domain.deciding import decide
from tightrope.service.domain.events import Expired, Rewarded
from tightrope.service.domain.experiment import created
from tightrope.service.domain.requests import DecisionRequest
from tightrope.service.domain.spec import ExperimentSpec
from tightrope.service.log.journal import ExperimentJournal, WorkerJournal

ALPHA, MEAN = 0.1, 0.6
SPEC = {
    "name": "many", "policy": "UCB", "arms": [{"id": "base"}, *({"id": f"a{k}"} for k in range(5))], "baseline": "base",
    "baseline_mean": MEAN, "alpha": ALPHA, "guarantee": {"sigma": 0.5}, "window": None, "seed": 5, "workers": 100,
}  # fmt: skip


def ledger_of(spec=SPEC):
    """A new experiment's ledger."""
    ledger = ExperimentJournal(spec["name"])
    ledger.record(created(ExperimentSpec.model_validate(spec)), 1)
    return ledger


class Fleet:
    """Workers, the ledger, and entries of all logs in the order in which the ledger has taken them in."""

    def __init__(self, workers, spec=SPEC):
        self.spec, self.ledger = spec, ledger_of(spec)
        self.order = []  # (known, lease, entries, exchange) of each exchange
        self.alive = {}
        for _ in range(workers):
            self.begin()

    def begin(self):
        """A worker joins, and takes nothing with it."""
        number = len(self.order) + 1
        self.alive[number] = WorkerJournal(self.ledger, number, 0, b"")
        self.order.append((number, []))
        return number

    def decide(self, number, id, now=1, **asked):
        worker = self.alive[number]
        return worker.record(decide(worker.experiment, id, DecisionRequest(**asked), now), now).event

    def end(self, number, event):
        """What came of a decision, whoever made it, is told to a worker."""
        worker = self.alive[number]
        worker.borrow(event.decision)
        worker.record(event, 1)

    def exchange(self, number, asked, dead=False):
        worker = self.alive[number]
        made = self.ledger.exchange(number, worker.pending, worker.digest, worker.experiment.known, asked, 1, happened=worker.happened)
        self.order[number - 1][1].append((worker.pending, made))
        if dead:
            del self.alive[number]
        else:
            worker.go_on(worker.experiment)
        return made.event


def play(seed, rounds=800, workers=6, deaths=0.02, every=25):
    """The lowest true budget of a run. Each worker exchanges after so many decisions of its own; some die and are told of much later."""
    rng = np.random.default_rng(seed)
    means = {"base": MEAN} | {f"a{k}": float(m) for k, m in enumerate(rng.uniform(0.0, 0.2, 5))}
    fleet, dead, waiting = Fleet(workers), [], []
    budget = lowest = 0.0
    for t in range(rounds):
        alive = [number for number in fleet.alive if number not in dict(dead)]
        number = alive[int(rng.integers(len(alive)))]
        arm = fleet.decide(number, f"d{t}").name
        budget += means[arm] - (1.0 - ALPHA) * MEAN
        lowest = min(lowest, budget)
        waiting.append((f"d{t}", float(rng.random() < means[arm])))
        if len(waiting) > 5:
            id, value = waiting.pop(int(rng.integers(len(waiting))))
            fleet.end(alive[int(rng.integers(len(alive)))], Rewarded(id, value))
        if len(fleet.alive[number].pending) >= every:
            if rng.random() < deaths:
                dead.append((number, t + 300))
                fleet.begin()
            else:
                fleet.exchange(number, 20)
        while dead and dead[0][1] <= t:
            fleet.exchange(dead.pop(0)[0], 0, dead=True)
    return lowest


__all__ = ["SPEC", "Expired", "Fleet", "ledger_of", "play"]

if __name__ == "__main__":
    wanted = int(sys.argv[1])
    found = [play(seed) for seed in range(wanted)]
    print(f"{wanted} runs, {sum(one < -1e-9 for one in found)} with a negative budget; lowest {min(found):.3f}")
