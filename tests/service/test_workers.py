"""One experiment on many workers: the fold of their logs, leases, what they must know of each other, and what the database shows of it."""

import contextlib
import threading
import time

import numpy as np
import pytest
import sqlalchemy as sa
from fleet import SPEC, Expired, Fleet, ledger_of, play
from hypothesis import given, settings
from hypothesis import strategies as st
from running import ask, batch, crash, decide, place, probed, reward, service_at
from running import create as create_cold

from tightrope.service.board.view import sentence_of
from tightrope.service.domain.accounts import Accounts
from tightrope.service.domain.certificate import certificate
from tightrope.service.domain.errors import Refused
from tightrope.service.domain.events import Cancelled, Decided, Exchanged, Rewarded
from tightrope.service.domain.experiment import apply, created
from tightrope.service.domain.requests import ArmChange, ArmsRequest, ModeChange
from tightrope.service.domain.segments import segment_report
from tightrope.service.domain.spec import ExperimentSpec
from tightrope.service.log import store, webhooks
from tightrope.service.log.claims import claim
from tightrope.service.log.database import Database
from tightrope.service.log.export import table
from tightrope.service.log.journal import ExperimentJournal
from tightrope.service.log.recovery import rebuild
from tightrope.service.log.snapshots import fingerprint, pack, restored
from tightrope.service.log.tables import claims, events, experiments
from tightrope.service.log.verification import check_snapshots, replay, verify
from tightrope.service.runtime import commands
from tightrope.service.runtime.exchanges import MUCH
from tightrope.service.runtime.histories import Histories
from tightrope.service.runtime.warm_up import warm_up
from tightrope.service.webhooks.watching import Watcher
from tightrope.session.codec import flatten

FREE = {name: SPEC[name] for name in ("name", "arms", "window", "seed", "workers")} | {"policy": "BetaThompson"}
NEVER = 1e9  # seconds between two exchanges


# The fold, without a database ----------------------------------------------------------------------------------------------


def drive(fleet, steps):
    """Do what (worker, what) says: 0 to 5 decide, 6 and 7 a reward of the oldest open decision, 8 its end without one, 9 an exchange."""
    open, made = [], 0
    for number, what in steps:
        number = list(fleet.alive)[number % len(fleet.alive)]
        if what <= 5:
            fleet.decide(number, f"d{made}")
            open.append(f"d{made}")
            made += 1
        elif what <= 8 and open:
            id = open.pop(0)
            fleet.end(number, Rewarded(id, (what + made) % 3 / 2) if what <= 7 else (Expired(id, None), Cancelled(id))[made % 2])
        elif what == 9:
            fleet.exchange(number, 4)
    for number in list(fleet.alive):
        fleet.exchange(number, 0)


def told_in_order(fleet):
    """(entries of a worker, the exchange that took them in) in the order of the ledger."""
    return sorted((pair for _, told in fleet.order for pair in told), key=lambda pair: pair[1].seq)


STEPS = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 9)), max_size=120)


@pytest.mark.parametrize("spec", [SPEC, FREE], ids=["guarded", "free"])
@given(steps=STEPS)
@settings(max_examples=25, deadline=None)
def test_whoever_reads_the_ledger_has_the_state_of_whoever_wrote_it(spec, steps):
    fleet, other = Fleet(3, spec), ledger_of(spec)
    drive(fleet, steps)
    for entries, made in told_in_order(fleet):
        for seq, entry in enumerate(entries, other.experiment.seq + 1):
            other.follow(entry._replace(seq=seq))
        other.follow(made)
    assert other.experiment.seq == fleet.ledger.experiment.seq
    assert fingerprint(other) == fingerprint(fleet.ledger)
    session, rest = pack(fleet.ledger)
    assert fingerprint(restored(spec["name"], session, rest, fingerprint(fleet.ledger))) == fingerprint(fleet.ledger)


@given(steps=STEPS)
@settings(max_examples=25, deadline=None)
def test_the_fold_is_what_one_process_would_have_learned_from_the_same_events(steps):
    """The twin is an ordinary experiment: it is told of each decision and then of its end, in the order of the ledger."""
    fleet, twin = Fleet(3), ExperimentJournal("many")
    drive(fleet, steps)
    alone = {name: value for name, value in SPEC.items() if name != "workers"}
    alone["guarantee"] = SPEC["guarantee"] | {"martingale": "freedman"}  # what leases are derived for
    twin.record(created(ExperimentSpec.model_validate(alone)), 1)
    flat = [entry.event for entries, _ in told_in_order(fleet) for entry in entries]
    early, known = {}, set()
    for event in flat:
        if isinstance(event, Decided):
            known.add(event.decision)
            apply(twin.experiment, event, twin.experiment.seq + 1, 1)
            event = early.pop(event.decision, None)
        elif event.decision not in known:
            early[event.decision], event = event, None
        if event is not None:
            apply(twin.experiment, event, twin.experiment.seq + 1, 1)
    assert not early
    one, other = (flatten(journal.experiment.session.state) for journal in (fleet.ledger, twin))
    assert {name: value.tobytes() for name, value in one.items()} == {name: value.tobytes() for name, value in other.items()}


@given(steps=STEPS)
@settings(max_examples=25, deadline=None)
def test_leases_are_never_overdrawn_and_the_bound_never_below_zero(steps):
    steps = [one for one in steps if one[1] != 8]  # a cancelled round of the baseline takes back what it has earned
    fleet, granted = Fleet(3), {}
    drive(fleet, steps)
    for entries, made in told_in_order(fleet):
        event = made.event
        explored = sum(isinstance(entry.event, Decided) and entry.event.name != "base" for entry in entries)
        assert explored <= granted.get(event.worker, 0)
        granted[event.worker] = event.lease
        assert event.out == sum(granted.values()) and event.bound >= -1e-9


def test_workers_that_know_the_same_draw_from_streams_of_their_own():
    fleet = Fleet(4, FREE)
    arms = {number: [fleet.decide(number, f"{number} {n}").arm for n in range(60)] for number in fleet.alive}
    assert len(set(map(tuple, arms.values()))) == 4
    again = Fleet(4, FREE)
    assert arms == {number: [again.decide(number, f"{number} {n}").arm for n in range(60)] for number in again.alive}


def test_a_worker_without_a_lease_plays_the_baseline_and_says_so():
    fleet = Fleet(2)
    first = [fleet.decide(1, f"d{n}") for n in range(40)]
    assert {(one.name, one.propensity, one.lease, one.known) for one in first} == {("base", 1.0, 0, 1)}
    for one in first:
        fleet.end(1, Rewarded(one.decision, 0.5))
    granted = fleet.exchange(1, 30)
    assert granted.lease == 4 and granted.out == 4  # alpha n_b >= (1 - alpha) G
    second = [fleet.decide(1, f"e{n}") for n in range(10)]
    assert [one.lease for one in second] == [4, 3, 2, 1, *[0] * 6] and all(one.name != "base" for one in second[:4])
    assert all(one.name == "base" and one.known == granted_place(fleet) for one in second[4:])


def granted_place(fleet):
    return fleet.ledger.experiment.seq


def test_the_true_budget_stays_whoever_dies_and_not_where_leases_are_free(monkeypatch):
    assert min(play(seed) for seed in range(5)) >= -1e-9
    monkeypatch.setattr(Accounts, "out", property(lambda accounts: 0))  # planted: leases that are out are not charged
    assert min(play(seed) for seed in range(2)) < -1.0


# The database --------------------------------------------------------------------------------------------------------------


GUARDED = SPEC | {"window": "1h", "default_reward": 0.0, "workers": 2}
MEANS = {"base": 0.6, "a0": 0.9, "a1": 0.1, "a2": 0.2, "a3": 0.3, "a4": 0.4}


@contextlib.contextmanager
def two(url, clock, **given):
    with service_at(url, clock, **({"exchange": 0.02} | given)) as one, service_at(url, clock, **({"exchange": 0.02} | given)) as other:
        yield one, other


def create(service, spec):
    """As the API does it: what compiles, compiles before there is a ledger that somebody could lock meanwhile."""
    warm_up(ExperimentSpec.model_validate(spec), service.settings)
    return create_cold(service, spec)


def joined(*services, name="many"):
    """Wait until all of them are workers of the experiment."""
    wait_for(lambda: all(name in service.writer.owned for service in services))


def wait_for(condition, seconds=30):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


def settled(service, name="many"):
    """The state of the ledger when a worker has told all that it did."""
    wait_for(lambda: service.ask_now(name, lambda at: not at.owned.journal.pending and not at.experiment.lease))
    return service.ask_now(name, lambda at: (at.settled.experiment.seq, fingerprint(at.settled).hex()))


def checked(url, name="many"):
    """What the database has, verified and replayed."""
    database = Database(place(url))
    with database.read() as connection:
        ((row, _),) = store.rows_and_names(connection, name)
        verified, replayed = verify(connection, row, name), replay(connection, row, name)
        assert verified.errors == () and replayed.errors == () and replayed.disagreements == 0
        assert check_snapshots(connection, row, name) == ([], [])
    database.close()
    return verified, replayed


def test_two_workers_decide_learn_and_replay_to_the_bit(postgres_database, clock):
    rng = np.random.default_rng(0)
    with two(postgres_database, clock, snapshot_every=100) as services:
        create(services[0], GUARDED)
        joined(*services)
        arms = []
        for n in range(300):
            made = decide(services[n % 2], f"d{n}", "many")
            arms.append(made["arm"])
            reward(services[int(rng.integers(2))], f"d{n}", float(rng.random() < MEANS[made["arm"]]), "many")
        wait_for(lambda: settled(services[0]) == settled(services[1]))
        seq, told = settled(services[0])
        assert ask(services[0], commands.describe, name="many")["rewards"] == 300 and len(set(arms)) > 2
        standing = ask(services[1], commands.describe_standing, name="many")
        signed = certificate(standing, Histories(services[1].database).exactly("many", standing["seq"]), b"k" * 32, 0)
        assert signed["workers"] == {"most": 2, "logs": 2, "leases": {"1": 0, "2": 0}, "out": 0} and signed["decisions"] == 300
        assert signed["budget"]["bound"] >= 0.0 and signed["budget"]["lowest_bound"] >= -1e-9
    verified, replayed = checked(postgres_database)
    assert replayed.fingerprint == told and replayed.compared >= 2
    assert verified.events == replayed.journal.experiment.seq == seq
    with service_at(postgres_database, clock) as again:  # from a snapshot
        joined(again)
        assert ask(again, commands.describe, name="many")["rewards"] == 300


def test_a_repeated_id_has_one_answer_whichever_worker_is_asked(postgres_database, clock):
    with two(postgres_database, clock, exchange=NEVER) as services:
        create(services[0], FREE | {"workers": 2})
        joined(*services)
        answers = [[], []]

        def work(k):
            for n in range(80):
                with contextlib.suppress(Refused):
                    answers[k].append((n, decide(services[k], f"d{n}", "many")["arm"]))

        threads = [threading.Thread(target=work, args=(k,)) for k in (0, 1)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        first, second = map(dict, answers)
        assert len(first) > 70 < len(second) and all(first[n] == second[n] for n in first.keys() & second.keys())
        with pytest.raises(Refused, match="decided for another request"):
            decide(services[1], "d0", "many", excluded=["base"])
        with services[0].database.read() as connection:
            made = connection.execute(sa.select(events.c.key).where(events.c.kind == "decided")).scalars().all()
            assert len(made) == len(set(made)) == 80
    checked(postgres_database)


def test_a_worker_that_sleeps_in_a_transaction_holds_nobody_up_for_long(postgres_database, clock, monkeypatch):
    monkeypatch.setattr("tightrope.service.log.claims.PATIENCE", 300)
    with two(postgres_database, clock, exchange=NEVER) as (one, other):
        create(one, FREE | {"workers": 2})
        joined(one, other)
        with one.database.read() as connection:
            root = store.row_of(connection, "many")
        with one.database.engine.connect() as sleeping:
            sleeping.begin()
            assert claim(sleeping, root, ["a"], False) == {"a"}
            began = time.monotonic()
            wait_for(lambda: insisted(other, "a"))
            assert 0.2 < time.monotonic() - began < 5.0
            with pytest.raises(sa.exc.DBAPIError):
                sleeping.execute(sa.select(claims.c.decision))
            sleeping.invalidate()
    checked(postgres_database)


def test_where_others_told_much_decisions_have_their_turn_before_the_exchange_goes_on(postgres_database, clock):
    def twice(at):
        found = []
        for _ in range(2):
            done = at.owned.exchange(at.connection, at.now, busy=True)
            found.append((done, at.owned.ledger.experiment.seq > at.owned.experiment.known))
        return found

    with two(postgres_database, clock, exchange=NEVER) as (one, other):
        create(one, FREE | {"workers": 2})
        joined(one, other)
        for number, much in ((MUCH + 1, True), (MUCH - 1, False)):
            one.ask_now("many", batch(number, f"{number}-"))
            one.ask_now("many", lambda at: at.owned.exchange(at.connection, at.now))
            expected = [(False, True), (True, False)] if much else [(True, False), (True, False)]
            assert other.ask_now("many", twice) == expected
        settled(one)
    checked(postgres_database)


def test_a_reward_may_come_to_any_worker_before_it_knows_the_decision(postgres_database, clock):
    with two(postgres_database, clock, exchange=NEVER) as (one, other):
        create(one, FREE | {"workers": 2, "window": "1h", "default_reward": 0.25})
        joined(one, other)
        for n in range(6):
            decide(one, f"d{n}", "many")
        assert reward(other, "d0", 1.0, "many")["learned"]
        assert not reward(one, "d0", 1.0, "many")["learned"] and not reward(other, "d0", 1.0, "many")["learned"]
        with pytest.raises(Refused, match="rewarded otherwise"):
            reward(one, "d0", 0.0, "many")
        with pytest.raises(Refused) as refused:
            reward(other, "nobody", 1.0, "many")
        assert refused.value.status == 404
        with pytest.raises(Refused, match="reward"):  # checked also where the decision is another worker's
            reward(other, "d1", 1e200, "many")
        assert ask(other, commands.cancel, "d2", name="many")["cancelled"] and ask(one, commands.cancel, "d2", name="many")["cancelled"]
        with pytest.raises(Refused, match="was cancelled"):
            reward(one, "d2", 1.0, "many")
        with other.database.read() as connection:
            endings = connection.execute(sa.select(claims.c.decision).where(claims.c.ending)).scalars().all()
        assert sorted(endings) == ["d0", "d2"]  # what came to nothing claims nothing
        clock.now += 3601 * 10**6
        with pytest.raises(Refused, match="waited for its reward until"):
            reward(other, "d3", 1.0, "many")
        wait_for(lambda: one.ask_now("many", lambda at: len(at.experiment.open)) == 0 or not one.writer.owned["many"].mine)
    _, replayed = checked(postgres_database)
    experiment = replayed.journal.experiment
    assert experiment.session.decided == 6 and not experiment.open and not experiment.accounts.early
    ended = {id: entry.ended for id, entry in experiment.session._book.closed.items()}
    assert ended == {"d0": "rewarded", "d1": "expired", "d3": "expired", "d4": "expired", "d5": "expired"}


def test_a_worker_that_is_gone_is_told_of_by_another_and_its_lease_is_charged_until_then(postgres_database, clock):
    with service_at(postgres_database, clock, exchange=0.02, lease=0.6) as one:
        create(one, GUARDED)
        with service_at(postgres_database, clock, exchange=NEVER, exchange_every=10**9, lease=0.6) as other:
            joined(one, other)
            for n in range(50):
                decide(one, f"d{n}", "many")
            wait_for(lambda: not one.writer.owned["many"].journal.pending)
            owned = other.writer.owned["many"]
            for n in range(40):
                decide(other, f"e{n}", "many")
            owned.exchanged = -float("inf")
            decide(other, "e", "many")
            wait_for(lambda: owned.experiment.lease)
            lease = owned.experiment.lease
            for n in range(5):
                decide(other, f"f{n}", "many")
            crash(other)
        began, decided = time.monotonic(), 0
        while "its process is gone" not in str(exchanges(one)):
            if decided < 20:  # without a pause; then nobody asks it for anything
                decide(one, None, "many")
                decided += 1
            out = one.writer.owned["many"].ledger.experiment.accounts
            assert out.leases[2] in (lease, 0)
            assert time.monotonic() < began + 60  # beside busy processes
            time.sleep(0.01)
        last = next(event for event in reversed(exchanges(one)) if event.ended)
        assert last.worker == 2 and last.count == 5 and last.lease == 0
        kept = {entry.decision for entry in entries_of(one) if entry.kind == "decided"}
        assert {f"f{n}" for n in range(5)} <= kept
        assert owned.fence < fence_of(one, "many#2")
    checked(postgres_database)


def exchanges(service):
    return [entry.event for entry in entries_of(service) if entry.kind == Exchanged.kind]


def entries_of(service):
    with service.database.read() as connection:
        return list(store.read(connection, store.row_of(connection, "many")))


def fence_of(service, name):
    with service.database.read() as connection:
        return connection.execute(sa.select(experiments.c.fence).where(experiments.c.name == name)).scalar_one()


def test_a_worker_that_slept_writes_nothing_more(postgres_database, clock):
    with two(postgres_database, clock, tick=30.0, exchange=NEVER, lease=1.0) as (one, other):
        create(one, FREE | {"workers": 2})
        other.writer._tick()
        other.leases.stop()
        decide(other, "a", "many")
        with one.database.write() as connection:
            connection.execute(sa.update(experiments).where(experiments.c.name == "many#2").values(lease_until=0.0))
        owned = one.writer.owned["many"]
        owned.looked = owned.exchanged = -float("inf")
        decide(one, "b", "many")
        wait_for(lambda: exchanges(one) and exchanges(one)[-2].ended)
        with pytest.raises(Refused) as refused:
            decide(other, "c", "many")
        assert refused.value.status == 503
        assert decide(one, "a", "many")["id"] == "a" and decide(other, "c", "many")["id"] == "c"  # it has joined again
    checked(postgres_database)


def test_what_changes_the_experiment_goes_through_an_exchange(postgres_database, clock):
    with two(postgres_database, clock, exchange=0.05) as (one, other):
        create(one, FREE | {"workers": 2})
        joined(one, other)
        decide(one, "a", "many")
        assert len(ask(other, commands.add_arms, ArmsRequest(arms=[{"id": "new"}]), name="many")["arms"]) == 7
        assert ask(one, commands.change_arm, "a1", ArmChange(status="masked"), name="many")["status"] == "masked"
        assert ask(other, commands.change_status, "pause", name="many")["status"] == "paused"
        wait_for(lambda: one.ask_now("many", lambda at: at.experiment.status) == "paused")
        with pytest.raises(Refused, match="is paused"):
            decide(one, "b", "many")
        ask(one, commands.change_status, "resume", name="many")
        wait_for(lambda: other.ask_now("many", lambda at: at.experiment.status) == "running")
        arms = {decide((one, other)[n % 2], f"c{n}", "many")["arm"] for n in range(60)}
        assert "new" in arms and "a1" not in arms
        ask(other, commands.change_status, "archive", name="many")
        wait_for(lambda: one.ask_now("many", lambda at: at.experiment.status) == "archived")
    checked(postgres_database)


def test_webhooks_and_segments_read_the_logs_of_all_workers(postgres_database, clock):
    segmented = FREE | {"workers": 2, "segments": {"country": ["de"]}}
    with two(postgres_database, clock, exchange=0.05, webhook_networks=("127.0.0.0/8",)) as services:
        one, other = services
        with one.database.write() as connection:
            hook = webhooks.create(connection, 1, "http://127.0.0.1:9/", ("mode.changed", "experiment.stopped"), None, "").id
        create(one, segmented)
        joined(one, other)
        for n in range(30):
            decide(services[n % 2], f"d{n}", "many", segments={"country": "de" if n % 3 else "fr"})
            reward(services[n // 2 % 2], f"d{n}", float(n % 2), "many")
        decide(one, "taken back", "many", segments={"country": "de"})
        ask(other, commands.cancel, "taken back", name="many")  # which may tell it before the other has told the decision
        ask(other, commands.change_status, "pause", name="many")
        wait_for(lambda: one.ask_now("many", lambda at: at.experiment.status) == "paused")
        settled(one), settled(other)
        watchers = [Watcher(service, sentence_of, look_period=0.0) for service in services]
        for watcher in (*watchers, *watchers):
            watcher.look()
        with one.database.read() as connection:
            assert [delivery.event for delivery in webhooks.last_deliveries(connection, hook, 10)] == ["experiment.stopped"]
        standing = ask(one, commands.describe_standing, name="many")
        found = segment_report(one.histories.until("many", standing["seq"])[1])
        counted = {row["value"]: (row["decisions"], row["rewards"]) for row in found["segments"]}
        assert counted["de"] == (21, 20) and counted["other"] == (10, 10)
        with one.database.read() as connection:
            row = store.row_of(connection, "many")
            exported = table(connection, row, rebuild(connection, row, "many").experiment)
        assert sorted(exported["decision"]) == sorted(f"d{n}" for n in range(30)) and None not in exported["reward"]
    checked(postgres_database)


def test_features_have_one_form_for_all_workers(postgres_database, clock):
    spec = {
        "name": "many",
        "policy": "LinUCB",
        "arms": [{"id": "a"}, {"id": "b"}],
        "dimension": 2,
        "workers": 2,
    }
    with two(postgres_database, clock, exchange=NEVER) as (one, other):
        create(one, spec)
        joined(one, other)
        decide(one, "d0", "many", context=[[0.5, 0.25], [0.25, 0.5]])
        with pytest.raises(Refused, match=r"one row|regression"):
            decide(other, "d1", "many", context=[0.5, 0.25])
        decide(other, "d2", "many", context=[[0.5, 0.5], [0.25, 0.5]])
        with pytest.raises(Refused, match="context is missing"):
            decide(other, "d3", "many")
        reward(other, "d0", 1.0, "many")
    checked(postgres_database)


@pytest.mark.parametrize(
    "change",
    [
        ("events", "UPDATE events SET body = replace(convert_from(body, 'utf8'), '\"lease\":4', '\"lease\":9')::bytea WHERE kind = 'exchanged'"),
        ("events", "UPDATE events SET time = time + 1 WHERE kind = 'decided' AND key = 'd3'"),
        ("events", "UPDATE events SET body = replace(convert_from(body, 'utf8'), 'base', 'a1')::bytea WHERE key = 'd3'"),
        ("events", "DELETE FROM events WHERE key = 'd5'"),
        ("events", "DELETE FROM events WHERE kind = 'exchanged' AND seq = (SELECT max(seq) FROM events WHERE kind = 'exchanged')"),
        ("experiments", "UPDATE experiments SET seq = seq - 1 WHERE name = 'many#1'"),
    ],
)  # fmt: skip
def test_what_was_changed_is_noticed(postgres_database, clock, change):
    with service_at(postgres_database, clock, exchange=NEVER) as one:
        create(one, GUARDED)
        for n in range(40):
            decide(one, f"d{n}", "many")
            if n == 36:
                one.writer.owned["many"].exchanged = -float("inf")
        database = Database(place(postgres_database))
        with database.write() as connection:
            row = store.row_of(connection, "many")
            assert verify(connection, row, "many").errors == ()
            connection.exec_driver_sql(change[1])
            assert verify(connection, row, "many").errors != ()
        database.close()


def test_a_log_is_verified_while_it_grows(postgres_database, clock):
    with two(postgres_database, clock) as services:
        create(services[0], GUARDED)
        joined(*services)
        ended = threading.Event()

        def work(service):
            while not ended.is_set():
                decide(service, None, "many")

        threads = [threading.Thread(target=work, args=(service,)) for service in services]
        for thread in threads:
            thread.start()
        try:
            for _ in range(20):
                with services[0].database.read() as connection:
                    assert verify(connection, store.row_of(connection, "many"), "many").errors == ()
        finally:
            ended.set()
            for thread in threads:
                thread.join()


def test_a_third_process_is_told_where_to_go(postgres_database, clock):
    with contextlib.ExitStack() as stack:
        one, other = stack.enter_context(two(postgres_database, clock, address="http://one:1"))
        create(one, FREE | {"workers": 2})
        joined(one, other)
        third = stack.enter_context(service_at(postgres_database, clock))
        with pytest.raises(Refused, match="served by another process") as refused:
            decide(third, "a", "many")
        assert refused.value.status == 503 and refused.value.address == "http://one:1"
        create(third, {"name": "alone", "policy": "UCB", "arms": [{"id": "a"}, {"id": "b"}]})
        decide(third, "a", "alone")
        with third.database.read() as connection:
            assert [name for _, name in store.rows_and_names(connection)] == ["alone", "many"]


@contextlib.contextmanager
def held(url):
    """Somebody has locked the ledger."""
    database = Database(place(url))
    with database.write() as connection:
        connection.exec_driver_sql("SELECT 1 FROM experiments WHERE name = 'many' FOR UPDATE")
        yield
    database.close()


def test_who_cannot_join_says_so_and_its_other_experiments_go_on(postgres_database, clock):
    with service_at(postgres_database, clock, exchange=0.02) as one, service_at(postgres_database, clock, tick=1000.0) as other:
        create(one, FREE | {"workers": 2})
        create(other, {"name": "other", "policy": "UCB", "arms": [{"id": "a"}, {"id": "b"}]})
        with held(postgres_database), probed(other) as waits:
            end = time.monotonic() + 2.0
            while time.monotonic() < end:
                with pytest.raises(Refused, match="telling each other just now") as refused:
                    decide(other, "a", "many")
                assert (refused.value.status, refused.value.retry_after) == (503, 1)
                decide(one, None, "many")
        assert len(waits) > 20 and sorted(waits)[len(waits) // 2] < 0.05  # an attempt to join takes that long, but there are two a second
        wait_for(lambda: insisted(other, "a"))
    checked(postgres_database)


def insisted(service, id):
    with contextlib.suppress(Refused):
        return decide(service, id, "many")["id"] == id


def test_who_has_read_a_log_and_cannot_tell_the_others_yet_does_not_read_it_again(postgres_database, clock, monkeypatch):
    reads, holding = [], contextlib.ExitStack()
    with holding, service_at(postgres_database, clock, exchange=0.02) as one, service_at(postgres_database, clock, tick=1000.0) as other:
        create(one, FREE | {"workers": 2})
        read = other.writer._read

        def and_somebody_locks(*arguments):
            reads.append(read(*arguments))
            holding.enter_context(held(postgres_database))
            return reads[-1]

        monkeypatch.setattr(other.writer, "_read", and_somebody_locks)
        for _ in range(3):
            with pytest.raises(Refused, match="telling each other just now"):
                decide(other, "a", "many")
            decide(one, None, "many")
            time.sleep(0.55)
        holding.close()
        wait_for(lambda: insisted(other, "a"))
        assert len(reads) == 1
    checked(postgres_database)


def test_a_log_that_is_whole_again_is_read_again(postgres_database, clock, monkeypatch):
    monkeypatch.setattr("tightrope.service.runtime.writer.READ_AGAIN", 0.2)
    with service_at(postgres_database, clock, exchange=0.02) as one:
        create(one, GUARDED)
        decide(one, "a", "many")
        wait_for(lambda: not one.writer.owned["many"].journal.pending)
    database = Database(place(postgres_database))
    with database.write() as connection:
        connection.exec_driver_sql("UPDATE events SET seq = 77 WHERE key = 'a'")
    with service_at(postgres_database, clock, exchange=0.02) as one:
        with pytest.raises(Refused, match="event 2 of 'many' is missing"):
            decide(one, "b", "many")
        with database.write() as connection:
            connection.exec_driver_sql("UPDATE events SET seq = 1 WHERE key = 'a'")
        wait_for(lambda: insisted(one, "b"))
    database.close()
    checked(postgres_database)


REFUSED = {
    "candidates": ({"arms": None, "dimension": 2, "policy": "LinUCB", "workers": 2}, "does not go with arms"),
    "sets": ({"oracle": {"oracle": "TopK", "k": 2}, "policy": "CombUCB1"}, "does not go with oracle"),
    "rollout": ({"baseline": "base", "rollout": {"mode": "shadow"}}, "does not go with rollout"),
    "sticky": ({"sticky": {"lasts": "1d"}}, "does not go with sticky"),
    "in order": ({"apply": "in order"}, "does not go with apply"),
    "long name": ({"name": "n" * 95}, "does not go with name"),
    "learned baseline": ({"baseline": "base", "alpha": 0.1}, "one baseline arm whose mean is told"),
    "baselines of rounds": ({"alpha": 0.1}, "one baseline arm whose mean is told"),
    "negative rewards": ({"baseline": "base", "baseline_mean": 0.5, "alpha": 0.1, "rewards": [-1, 1]}, "need rewards of at least 0"),
    "checkpoints": ({"baseline": "base", "baseline_mean": 0.5, "alpha": 0.1, "guarantee": {"checkpoint": 10}}, "known for this checkpoint"),
    "lower bounds": ({"baseline": "base", "baseline_mean": 0.5, "alpha": 0.1, "guarantee": {"open": "lower"}}, "known for this open"),
    "confidence": ({"baseline": "base", "baseline_mean": 0.5, "alpha": 0.1, "guarantee": {"bound": "confidence"}}, "known for this bound"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_many_workers_cannot_keep_is_refused_with_a_remedy(case):
    change, words = REFUSED[case]
    with pytest.raises(ValueError, match=words) as refused:
        created(ExperimentSpec.model_validate(FREE | change))
    assert str(refused.value).endswith(".") and ("workers = 1" in str(refused.value) or "give" in str(refused.value))


def test_what_one_of_many_workers_does_not_do_is_refused(postgres_database, clock):
    with service_at(postgres_database, clock, exchange=0.02) as one:
        create(one, GUARDED)
        for asked, words in (
            ({"subject": "u"}, "could not be erased"),
            ({"deferred": True}, "activated"),
            ({"excluded": ["base"]}, "leaves out the baseline"),
        ):
            with pytest.raises(Refused, match=words) as refused:
                decide(one, None, "many", **asked)
            assert refused.value.status == 422
        for act in (commands.Erasure("u"), lambda at: commands.change_mode(at, ModeChange(mode="capped"))):
            with pytest.raises(Refused, match="has many workers") as refused:
                one.ask_now("many", act)
            assert refused.value.status == 409
        decide(one, "a", "many")


def test_a_file_has_one_process_that_decides(tmp_path, clock, monkeypatch):
    monkeypatch.delenv("TIGHTROPE_TEST_POSTGRES", raising=False)
    with service_at(tmp_path / "a.db", clock) as service:
        with pytest.raises(Refused, match="start it with --db postgresql") as refused:
            create(service, GUARDED)
        assert refused.value.status == 422 and refused.value.field == "workers"
