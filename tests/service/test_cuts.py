"""The process that writes an experiment is struck at every statement of what it does, one after the
other, and another one takes over: see `cuts`."""

import contextlib

import pytest
import sqlalchemy as sa
from cuts import HOWS, Cuts
from running import ask, create, decide, patiently, reward, service_at

from tiers import tiered
from tightrope_service import commands, log
from tightrope_service.log import experiments
from tightrope_service.recovery import fingerprint, replay, verify
from tightrope_service.requests import ArmChange

STATEMENTS = 200  # more than a run of `Pair.work` sends
GUARDED = {
    "name": "price",
    "policy": "UCB",
    "arms": [{"id": arm} for arm in ("base", "a", "b")],
    "baseline": "base",
    "baseline_mean": 0.6,
    "alpha": 0.1,
    "guarantee": {"sigma": 0.5},
    "window": None,
    "seed": 5,
}


class Pair:
    """Two services, of which the one writes, and the other one where the first is asleep. arms,
    rewards: acknowledged."""

    def __init__(self, one, other):
        self.one, self.other, self.number, self.taken_over = one, other, 0, 0
        self.arms, self.rewards = {}, {}
        self.cuts = Cuts(one, self.sleep)

    def insist(self, work, *arguments, **more):
        """Ask until there is an answer, as clients do; meanwhile the leases run out."""
        return patiently(work, *arguments, seconds=30.0, meanwhile=self.expire, **more)

    def expire(self):
        """The leases have run out; False where a process holds the row."""
        with (
            contextlib.suppress(sa.exc.OperationalError),
            self.other.database.write() as connection,
        ):
            connection.exec_driver_sql("SET LOCAL lock_timeout = '20ms'")
            connection.execute(sa.update(experiments).values(lease_until=0.0))
            return True
        return False

    def decide(self, service, id):
        arm = self.insist(decide, service, id)["arm"]
        assert self.arms.setdefault(id, arm) == arm

    def reward(self, service, id, value):
        self.insist(reward, service, id, value)
        self.rewards[id] = value

    def sleep(self):
        """The lease of the one has run out meanwhile, and the other one decides."""
        if self.expire():
            self.taken_over += 1
            self.decide(self.other, f"{self.number}z")

    def work(self):
        """An append of each kind, two of them in one part."""
        k = self.number = self.number + 1
        self.decide(self.one, f"{k}a")
        self.decide(self.one, f"{k}b")
        self.reward(self.one, f"{k}a", 1.0)
        self.decide(self.one, f"{k}a")
        for status in ("masked", "active"):
            self.insist(ask, self.one, commands.change_arm, "b", ArmChange(status=status))
        self.reward(self.one, f"{k}b", 0.5)

    def check(self):
        """The database has all that was acknowledged, once, and its replay is the state of the one
        that writes."""
        self.decide(self.one, f"{self.number}y")
        seq, digest = self.insist(
            self.one.ask_now,
            "price",
            lambda at: (at.experiment.seq, fingerprint(at.owned.journal).hex()),
        )
        with self.one.database.read() as connection:
            row = log.row_of(connection, "price")
            entries = list(log.read(connection, row))
            assert [entry.seq for entry in entries] == list(range(1, seq + 1))
            assert verify(connection, row, "price").errors == ()
            replayed = replay(connection, row, "price")
        assert replayed.fingerprint == digest and not replayed.errors
        made = {entry.decision: entry.event.name for entry in entries if entry.kind == "decided"}
        ended = {entry.decision: entry.event.value for entry in entries if entry.kind == "rewarded"}
        assert made.items() >= self.arms.items() and ended.items() >= self.rewards.items()
        assert len(made) + len(ended) == sum(
            entry.kind in ("decided", "rewarded") for entry in entries
        )


@contextlib.contextmanager
def pair(url, clock):
    settings = {"tick": 1000.0, "lease": 1000.0, "snapshot_every": 100}
    with service_at(url, clock, **settings) as one, service_at(url, clock, **settings) as other:
        create(one, GUARDED)
        yield Pair(one, other)


@pytest.mark.parametrize("how", tiered(HOWS, later={"before"}))
def test_the_process_that_writes_may_be_struck_at_any_statement(postgres_database, clock, how):
    with pair(postgres_database, clock) as both:
        seen = []
        for n in range(1, STATEMENTS):
            both.cuts.arm(n, how, again=n % 7)
            both.work()
            struck = both.cuts.disarm()
            both.check()
            if not struck:
                break
            seen += struck
        assert n < STATEMENTS and {"COMMIT", "INSERT INTO events", "UPDATE experiments SET"} <= set(
            seen
        )
        assert bool(both.taken_over) == (how == "asleep")
