"""Processor time of the service's inner work, without sockets: LinUCB with K = 50 arms and d = 20
features.

python benchmarks/service_cpu.py [--decisions 20000] [--batch 1000] [--profile replay | batch]

Batches of decisions and of rewards pass through everything but HTTP (reading JSON, deciding, the
log on SQLite, writing JSON); then the log is replayed from its first event. Times are processor
time of this process, the least and the median of blocks of `batch` items: other processes take
caches and make any time longer, so the least says most about the code.
"""

import argparse
import contextlib
import cProfile
import json
import pathlib
import pstats
import tempfile
import time

import numpy as np

from tightrope_service import log
from tightrope_service.commands import create
from tightrope_service.log import ExperimentJournal
from tightrope_service.recovery import fingerprint
from tightrope_service.requests import DecisionBatch, RewardBatch
from tightrope_service.routes import decide_batch, reward_batch
from tightrope_service.service import Service
from tightrope_service.settings import Settings
from tightrope_service.spec import ExperimentSpec

ARMS, DIMENSION = 50, 20


def spec() -> ExperimentSpec:
    features = np.random.default_rng(0).normal(size=(ARMS, DIMENSION)) / np.sqrt(DIMENSION)
    arms = [{"id": f"arm-{k}", "features": row.tolist()} for k, row in enumerate(features)]
    return ExperimentSpec.model_validate(
        {"name": "load", "policy": "LinUCB", "window": "1h", "default_reward": 0.0, "arms": arms}
    )


class Here:
    """The service as the routes see it, for a program without an event loop."""

    def __init__(self, service: Service) -> None:
        self.service = service

    async def ask(self, *arguments):
        return self.service.ask_now(*arguments)


def run(endpoint, *arguments) -> bytes:
    """The body of a route's answer."""
    coroutine = endpoint(*arguments)
    try:
        coroutine.send(None)
    except StopIteration as done:
        return done.value.body
    raise AssertionError("a route waited")


class Blocks:
    """Processor time of blocks of the same work."""

    def __init__(self, size: int) -> None:
        self.size, self.times, self.at = size, [], time.process_time()

    def end(self) -> None:
        now = time.process_time()
        self.times.append(1e6 * (now - self.at) / self.size)
        self.at = now

    def say(self, what: str) -> None:
        print(
            f"{what}: {min(self.times):.1f} µs each, median {np.median(self.times):.1f} µs",
            flush=True,
        )


@contextlib.contextmanager
def profiled(wanted: bool, there=lambda act: act()):
    """A profile of the time, if that was asked for. there: calls a function in the thread that
    works; default this one."""
    profile = cProfile.Profile(time.thread_time)
    if wanted:
        there(profile.enable)
    yield
    if wanted:
        there(profile.disable)
        pstats.Stats(profile).sort_stats("tottime").print_stats(32)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--decisions", type=int, default=20_000)
    parser.add_argument("--batch", type=int, default=1000)
    parser.add_argument("--profile", choices=("replay", "batch"))
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        service = Service(Settings(db=str(pathlib.Path(folder) / "a.db")))
        service.open()
        experiment = spec()
        service.ask_now(
            experiment.name, lambda transaction: create(transaction, experiment), spec=experiment
        )
        served = Here(service)

        def in_writer(act) -> None:
            service.ask_now(experiment.name, lambda transaction: act())

        question = json.dumps({"decisions": [{}] * arguments.batch}).encode()
        rng = np.random.default_rng(1)

        def answered(body: bytes) -> bytes:
            """Rewards for a batch of decisions."""
            ids = [each["answer"]["id"] for each in json.loads(body)["results"]]
            items = [
                {"decision_id": id, "value": value}
                for id, value in zip(ids, rng.normal(size=len(ids)).tolist(), strict=True)
            ]
            return json.dumps({"rewards": items}).encode()

        first = run(
            decide_batch, experiment.name, DecisionBatch.model_validate_json(question), served
        )
        run(reward_batch, experiment.name, RewardBatch.model_validate_json(answered(first)), served)
        bodies = []
        rounds, size = max(1, arguments.decisions // arguments.batch), arguments.batch
        with profiled(arguments.profile == "batch", in_writer):
            blocks = Blocks(size)
            for _ in range(rounds):
                bodies.append(
                    run(
                        decide_batch,
                        experiment.name,
                        DecisionBatch.model_validate_json(question),
                        served,
                    )
                )
                blocks.end()
            blocks.say("decisions in batches")
        rewards = [answered(body) for body in bodies]
        with profiled(arguments.profile == "batch", in_writer):
            blocks = Blocks(size)
            for body in rewards:
                run(reward_batch, experiment.name, RewardBatch.model_validate_json(body), served)
                blocks.end()
            blocks.say("rewards in batches")
        expected = service.ask_now(
            experiment.name,
            lambda transaction: (
                fingerprint(transaction.owned.journal),
                transaction.experiment.seq,
            ),
        )
        with service.database.read() as connection, profiled(arguments.profile == "replay"):
            journal, kinds = (
                ExperimentJournal(experiment.name),
                {"decided": Blocks(size), "rewarded": Blocks(size)},
            )
            for event in log.read(connection, 1):
                journal.follow(event)
                if event.seq % size == 0:  # batches have one kind of events
                    kinds[event.kind].end()
                    for other in kinds.values():
                        other.at = kinds[event.kind].at
            for kind, blocks in kinds.items():
                blocks.say(f"events replayed, {kind}")
        assert (fingerprint(journal), journal.experiment.seq) == expected
        print(f"fingerprint {expected[0].hex()[:16]}")
        service.close()


if __name__ == "__main__":
    main()
