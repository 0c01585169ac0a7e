"""Two workers of one experiment, one of which is struck at every statement of what it does, one after the other: see `cuts`."""

import contextlib
import time

import pytest
import sqlalchemy as sa
from cuts import HOWS, Cuts
from running import decide, reward, service_at
from test_workers import GUARDED, NEVER, checked, create, wait_for

from tiers import tiered
from tightrope.service.domain.errors import Refused
from tightrope.service.log import store
from tightrope.service.log.snapshots import fingerprint
from tightrope.service.log.tables import claims, experiments
from tightrope.service.log.verification import verify

STATEMENTS = 200  # more than a run of `Pair.work` sends


def insist(work, *arguments):
    """Ask until there is an answer, as clients do."""
    end = time.monotonic() + 30
    while True:
        try:
            return work(*arguments)
        except Refused as error:
            assert error.status == 503 and time.monotonic() < end, error
            time.sleep(0.005)


class Pair:
    """Two services that tell each other something when the test says so. one: is struck. told: acknowledged decisions and rewards."""

    def __init__(self, one, other):
        self.one, self.other, self.number = one, other, 0
        self.arms, self.rewards = {}, {}
        self.cuts = Cuts(one, self.sleep)

    def decide(self, service, id):
        arm = insist(decide, service, id, "many")["arm"]
        assert self.arms.setdefault(id, arm) == arm

    def reward(self, service, id, value):
        insist(reward, service, id, value, "many")
        self.rewards[id] = value

    def exchange(self, service):
        """Have a worker exchange, whatever happens meanwhile."""

        def begin(at):
            at.owned.exchanged = -float("inf")

        insist(service.ask_now, "many", begin)
        insist(service.ask_now, "many", lambda at: None)  # behind the exchange

    def sleep(self):
        """The lease of the one has run out, and the other one looks for workers that are gone. What is held it leaves alone."""
        with self.other.database.write() as connection, contextlib.suppress(sa.exc.OperationalError):
            connection.exec_driver_sql("SET LOCAL lock_timeout = '20ms'")
            connection.execute(sa.update(experiments).where(experiments.c.owner == self.one.leases.owner).values(lease_until=0.0))
        self.other.writer.owned["many"].looked = -float("inf")
        self.exchange(self.other)

    def begin(self):
        """What the one finds: decisions that the other has told, and one that it has not."""
        k = self.number = self.number + 1
        self.decide(self.other, f"{k}a")
        self.exchange(self.other)
        self.exchange(self.one)
        self.decide(self.other, f"{k}b")

    def work(self):
        """What the one does: an append of each kind, and exchanges with decisions, with rewards alone, and with nothing to tell."""
        k = self.number
        self.decide(self.one, f"{k}c")
        self.exchange(self.one)
        self.reward(self.one, f"{k}a", 1.0)
        self.exchange(self.one)
        self.reward(self.one, f"{k}b", 0.0)
        self.decide(self.one, f"{k}d")
        self.exchange(self.one)
        self.exchange(self.one)
        self.reward(self.one, f"{k}c", 0.5)

    def check(self):
        """Both know the same, and the database has it all, once."""
        states = [None, None]

        def equal():
            for n, service in enumerate((self.one, self.other)):
                self.exchange(service)
                states[n] = insist(
                    service.ask_now, "many",
                    lambda at: (at.settled.experiment.seq, fingerprint(at.settled), len(at.owned.journal.pending)),
                )  # fmt: skip
            return states[0] == states[1] and not states[0][2]

        wait_for(equal, 10)
        with self.one.database.read() as connection:
            row = store.row_of(connection, "many")
            entries = list(store.read(connection, row))
            assert [entry.seq for entry in entries] == list(range(1, states[0][0] + 1))
            assert verify(connection, row, "many").errors == ()
            claimed = {(decision, ending) for decision, ending in connection.execute(sa.select(claims.c.decision, claims.c.ending))}
        made = {entry.decision: entry.event.name for entry in entries if entry.kind == "decided"}
        ended = {entry.decision: entry.event.value for entry in entries if entry.kind == "rewarded"}
        assert made.items() >= self.arms.items() and ended.items() >= self.rewards.items()
        assert claimed == {(id, False) for id in made} | {(id, True) for id in ended}  # or nobody could make, or end, such a decision
        assert len(made) + len(ended) == sum(entry.kind in ("decided", "rewarded") for entry in entries)


@contextlib.contextmanager
def pair(url, clock):
    settings = {"exchange": NEVER, "exchange_every": 10**9, "tick": 1000.0, "lease": 1000.0, "snapshot_every": 100}
    with service_at(url, clock, **settings) as one, service_at(url, clock, **settings) as other:
        create(one, GUARDED)
        insist(decide, other, "first", "many")
        found = Pair(one, other)
        found.exchange(other)
        found.exchange(one)
        yield found


@pytest.mark.parametrize("how", tiered(HOWS, later={"before"}))
def test_a_worker_may_be_struck_at_any_statement(postgres_database, clock, how):
    with pair(postgres_database, clock) as both:
        seen = []
        for n in range(1, STATEMENTS):
            both.begin()
            both.cuts.arm(n, how, again=n % 7)
            both.work()
            struck = both.cuts.disarm()
            both.check()
            if not struck:
                break
            seen += struck
        assert n < STATEMENTS and {"COMMIT", "INSERT INTO events", "INSERT INTO claims", "UPDATE experiments SET"} <= set(seen)
    checked(postgres_database)
