"""The log: every change of it is found, a replay computes the same bits, erasing keeps the
chain."""

import json
import pathlib
import re
from contextlib import closing

import msgspec
import numpy as np
import pytest
import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from running import PRICES, ask, create, decide, refused, reward, service_at, state
from typer.testing import CliRunner

import tightrope as tr
from tightrope.cli.application import app
from tightrope_service import commands, log, recovery, transfer
from tightrope_service.database import Database
from tightrope_service.errors import Refused
from tightrope_service.events import Created
from tightrope_service.log import (
    START,
    LogEntry,
    events,
    experiments,
    metadata,
    rows_and_names,
    sealed,
    snapshots,
)
from tightrope_service.recovery import replay, verify
from tightrope_service.spec import ExperimentSpec

E = events.c
LINEAR = {
    "name": "p",
    "policy": "LinTS",
    "arms": [{"id": "a"}, {"id": "b"}],
    "dimension": 2,
    "window": "1h",
    "default_reward": 0.0,
}


def fill(service, spec=PRICES, rounds=12):
    create(service, spec)
    for n in range(rounds):
        decide(service, f"d{n}", spec["name"])
        if n % 3:
            reward(service, f"d{n}", n / rounds, spec["name"])


@pytest.fixture
def written(tmp_path, clock):
    """A database whose service has ended, and the state it had."""
    with service_at(tmp_path / "a.db", clock, snapshot_every=5) as service:
        fill(service)
        told = state(service)
    with closing(Database(str(tmp_path / "a.db"))) as database:
        yield database, told


def found(database):
    with database.read() as connection:
        ((row, name),) = rows_and_names(connection, "price")
        return verify(connection, row, name), replay(connection, row, name)


def run(command, database, *more, code=0):
    """What a command of logs says, which must end with this code."""
    done = CliRunner().invoke(app, ["log", command, *map(str, more), "--db", str(database)])
    assert done.exit_code == code, done.output
    return done.output + (str(done.exception) if isinstance(done.exception, ValueError) else "")


def test_a_log_that_nobody_touched(written):
    database, told = written
    verdict, replayed = found(database)
    assert (verdict.errors, verdict.events, verdict.digest) == ((), told["seq"], told["digest"])
    assert (
        replayed.errors == ()
        and replayed.compared >= 2
        and replayed.fingerprint == told["fingerprint"]
        and replayed.disagreements == 0
    )


def swap(connection):
    for one, other in ((4, -4), (6, 4), (-4, 6)):
        connection.execute(sa.update(events).where(E.seq == one).values(seq=other))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (
            lambda c: c.execute(sa.update(events).where(E.seq == 5).values(body=b'{"value":1.0}')),
            "event 5 has another body",
        ),
        (
            lambda c: c.execute(sa.update(events).where(E.seq == 5).values(time=E.time + 1)),
            "event 5 .* is not the one",
        ),
        (
            lambda c: c.execute(sa.update(events).where(E.seq == 4).values(key="other")),
            "event 4 .* is not the one",
        ),
        (
            lambda c: c.execute(sa.update(events).where(E.seq == 4).values(subject="user-9")),
            "event 4 has another subject",
        ),
        (
            lambda c: c.execute(sa.update(events).where(E.seq == 2).values(body=b"{}")),
            "no erasure explains it",
        ),
        (lambda c: c.execute(sa.delete(events).where(E.seq == 6)), "event 6 is missing"),
        (lambda c: c.execute(sa.delete(events).where(E.seq > 18)), "the end was cut off"),
        (swap, "event 4 .* is not the one"),
    ],
)
def test_every_change_of_the_log_is_found(written, change, words):
    database, _ = written
    with database.write() as connection:
        change(connection)
    with database.read() as connection:
        verdict = verify(connection, 1, "price")
    assert len(verdict.errors) == 1
    assert re.search(words, verdict.errors[0])
    assert "WRONG" in run("verify", database.url.database, code=1)


def test_a_snapshot_that_was_changed_is_found(written):
    database, _ = written
    with database.write() as connection:
        first = (
            connection.execute(sa.select(snapshots.c.seq).order_by(snapshots.c.seq))
            .scalars()
            .first()
        )
        connection.execute(
            sa.update(snapshots).where(snapshots.c.seq == first).values(fingerprint=bytes(32))
        )
    assert found(database)[1].errors == (
        f"the state after event {first} differs from its snapshot.",
    )
    assert f"snapshot of event {first} is damaged" in run("verify", database.url.database, code=1)


def test_arms_come_from_the_log_where_another_machine_drew_otherwise(written):
    database, _ = written
    with (
        database.write() as connection
    ):  # a log whose third decision took another arm than this machine draws, sealed anew
        connection.execute(sa.delete(snapshots))
        digest, changed = START, 0
        for entry in list(log.read(connection, 1)):
            event = entry.event
            if entry.kind == "decided" and entry.decision == "d2":
                arm = (event.arm + 1) % 3
                event = msgspec.structs.replace(event, arm=arm, name=["low", "mid", "high"][arm])
                changed = entry.seq
            new = sealed("price", digest, entry.seq, entry.time, event)
            digest = new.digest
            values = {"body": new.text, "body_digest": new.body_digest, "digest": digest}
            connection.execute(sa.update(events).where(E.seq == entry.seq).values(**values))
        connection.execute(sa.update(experiments).values(digest=digest))
    verdict, replayed = found(database)
    assert verdict.errors == () and changed and replayed.disagreements >= 1
    assert "arms come from the log" in run("replay", database.url.database)


def test_the_state_behind_any_past_decision(written):
    database, _ = written
    saved = database.url.database + ".npz"
    assert "event 7" in run("replay", database.url.database, "--until", "7", "--save", saved)
    session = tr.Session.load(saved)
    twin = tr.Session(tr.EpsilonGreedy(epsilon=0.5), arms=3, seed=3)
    with database.read() as connection:
        for event in log.read(connection, 1, 1, 7):
            if event.kind == "decided":
                assert twin.decide(id=event.decision).arm == event.body["arm"]
            else:
                twin.reward(event.decision, event.body["value"])
    np.testing.assert_array_equal(session.explain()["mean"], twin.explain()["mean"])
    assert session.decide(id="next").arm == twin.decide(id="next").arm


def test_erasing_a_subject_blanks_bodies_and_keeps_the_chain(tmp_path, clock):
    with service_at(tmp_path / "a.db", clock, snapshot_every=6) as service:
        create(service, LINEAR)
        for n in range(12):
            secret = [[0.125 + n, 0.5], [0.25, 77.0625]]
            decide(service, f"d{n}", "p", context=secret, subject=f"user-{n % 4}")
            if n < 9:
                reward(service, f"d{n}", 0.5, "p")
        assert ask(service, commands.Erasure("user-1"), name="p") == {"erased": 3, "event": 24}
        assert ask(service, commands.Erasure("user-1"), name="p") == {"erased": 0, "event": None}
        before = state(service, "p")
        assert before["open"] == 2  # the subject's open decision was closed: it held its features
        made = decide(service, "after", "p", context=[[1.0, 0.0], [0.0, 1.0]])
        after = state(service, "p")
        service.writer._shut_down = lambda: None
    with service_at(tmp_path / "a.db", clock) as service:
        assert state(service, "p") == after  # from the snapshot behind the erasure
        assert decide(service, "after", "p", context=[[1.0, 0.0], [0.0, 1.0]]) == made
        with service.database.read() as connection:
            verdict, replayed = verify(connection, 1, "p"), replay(connection, 1, "p")
            assert (
                verdict.errors == ()
                and verdict.blanked == 3
                and replayed.fingerprint == after["fingerprint"]
            )
            bodies = b"".join(connection.execute(sa.select(E.body)).scalars())
            assert b"user-1" not in bodies and b"[[1.125" not in bodies and b"user-2" in bodies
            assert replay(connection, 1, "p", 3).errors == ()  # before the first blanked event
            with pytest.raises(ValueError, match="was erased"):
                replay(connection, 1, "p", 10)
            held = [
                bytes(one) for one in connection.execute(sa.select(snapshots.c.session)).scalars()
            ]
        assert held and all(np.float64(1.125).tobytes() not in one for one in held)


def changed(path, number, **values):
    """Another file, in which a line has other values."""
    lines = path.read_text().splitlines()
    lines[number] = json.dumps(json.loads(lines[number]) | values)
    other = path.with_name(f"changed-{number}-{'-'.join(values)}.jsonl")
    other.write_text("\n".join(lines))
    return other


def test_export_and_import(written, tmp_path):
    database, told = written
    path = tmp_path / "log.jsonl"
    run("export", database.url.database, path, "--experiment", "price")
    assert f"price: {told['seq']} events" in run("import", tmp_path / "b.db", path)
    with closing(Database(str(tmp_path / "b.db"))) as other:
        verdict, replayed = found(other)
    assert (verdict.digest, replayed.fingerprint) == (told["digest"], told["fingerprint"])
    assert "exists in this database" in run("import", tmp_path / "b.db", path, code=1)
    said = run("import", tmp_path / "c.db", changed(path, 4, time=5), code=1)
    assert "line 5: the chain of digests breaks" in said
    with closing(Database(str(tmp_path / "c.db"))) as fresh, fresh.read() as connection:
        assert list(rows_and_names(connection)) == []


def test_a_file_whose_bodies_were_changed_is_refused_as_a_whole(written, tmp_path):
    database, _ = written
    path = tmp_path / "log.jsonl"
    run("export", database.url.database, path, "--experiment", "price")
    line = next(
        n
        for n, text in enumerate(path.read_text().splitlines())
        if json.loads(text)["kind"] == "rewarded"
    )
    said = run("import", tmp_path / "b.db", changed(path, line, body='{"value":1.0}'), code=1)
    assert f"event {line + 1} has another body than was sealed" in said
    assert run("verify", tmp_path / "b.db") == ""  # it has no experiment


def test_a_log_with_an_erasure_goes_to_another_database_with_the_snapshot_behind_it(
    tmp_path, clock
):
    with service_at(tmp_path / "a.db", clock, snapshot_every=4) as service:
        create(service, LINEAR)
        for n in range(8):
            decide(
                service,
                f"d{n}",
                "p",
                context=[[0.125 + n, 0.5], [0.25, 77.0625]],
                subject=f"user-{n % 4}",
            )
        ask(service, commands.Erasure("user-1"), name="p")
        for n in range(8, 16):
            decide(service, f"d{n}", "p", context=[[0.125 + n, 0.5], [0.25, 77.0625]])
        told = state(service, "p")
    path = tmp_path / "log.jsonl"
    run("export", tmp_path / "a.db", path, "--experiment", "p")
    said = run("import", tmp_path / "b.db", path)
    assert f"p: {told['seq']} events" in said and "the snapshot of event 12 came with it" in said
    for command in ("verify", "replay"):
        run(command, tmp_path / "b.db")
    with service_at(tmp_path / "b.db", clock) as service:
        assert state(service, "p") == told
    last = len(path.read_text().splitlines()) - 2
    for value in (
        {"fingerprint": "00" * 32},
        {"rest": "{}"},
        {"session": "AAAA"},
        {"snapshot": 3},
        {"snapshot": None},
        {"experiment": "q"},
    ):
        said = run("import", tmp_path / "c.db", changed(path, last, **value), code=1)
        assert "snapshot" in said or "is not an event" in said, said
    assert run("verify", tmp_path / "c.db") == ""
    without = tmp_path / "without.jsonl"
    lines = path.read_text().splitlines()
    without.write_text("\n".join([*lines[:-2], lines[-1]]))
    said = run("import", tmp_path / "c.db", without, code=1)
    assert "event 7 was erased, and there is no snapshot behind it" in said


@pytest.mark.parametrize(
    "damage",
    [{"session": b"nothing"}, {"rest": "{}"}, {"rest": "nothing"}, {"fingerprint": bytes(32)}],
)
def test_a_snapshot_that_cannot_be_used_only_makes_the_start_longer(written, damage, clock, capsys):
    database, told = written
    with database.write() as connection:
        newest = connection.execute(sa.select(sa.func.max(snapshots.c.seq))).scalar_one()
        connection.execute(sa.update(snapshots).where(snapshots.c.seq == newest).values(**damage))
    said = run("verify", database.url.database, code=1)
    assert f"WRONG: the snapshot of event {newest} is damaged" in said
    with database.read() as connection:
        assert recovery.recover(connection, 1, "price")[1] < newest  # an older one
    with database.write() as connection:
        connection.execute(sa.update(snapshots).values(**damage))
    with service_at(database.url.database, clock) as service:
        assert state(service) == told
    assert "snapshot not used" in capsys.readouterr().out


def test_where_the_only_snapshot_behind_an_erasure_is_damaged_the_experiment_says_so(
    tmp_path, clock
):
    with service_at(tmp_path / "a.db", clock) as service:
        create(service, LINEAR)
        decide(service, "d", "p", context=[[0.125, 0.5], [0.25, 1.0]], subject="someone")
        ask(service, commands.Erasure("someone"), name="p")
    with closing(Database(str(tmp_path / "a.db"))) as database, database.write() as connection:
        connection.execute(sa.update(snapshots).values(session=b"nothing"))
    with (
        service_at(tmp_path / "a.db", clock) as service,
        pytest.raises(Refused, match="event 2 was erased"),
    ):
        state(service, "p")


def test_the_decisions_as_tables_for_other_tools(written, tmp_path):
    database, _ = written
    rows = {}
    with database.read() as connection:
        for event in log.read(connection, 1):
            if event.kind == "decided":
                rows[event.decision] = [event.body["name"], event.body["propensity"], None]
            elif event.kind == "rewarded":
                rows[event.decision][2] = event.body["value"]
    for ending in ("parquet", "dsjson"):
        run("export", database.url.database, tmp_path / f"d.{ending}", "--experiment", "price")
    import pyarrow.parquet as pq

    table = pq.read_table(tmp_path / "d.parquet").to_pydict()
    assert list(zip(table["arm"], table["propensity"], table["reward"], strict=True)) == [
        tuple(row) for row in rows.values()
    ]
    rewarded = [row for row in rows.values() if row[2] is not None]
    assert tr.logs.from_dsjson(tmp_path / "d.dsjson", arms=3).n == len(rewarded)
    value = tr.evaluate(tr.logs.from_frame(tmp_path / "d.parquet"), "mid", estimator="ips").value
    assert value == pytest.approx(
        np.mean([(row[0] == "mid") * row[2] / row[1] for row in rewarded])
    )


def test_migrations_make_the_tables_that_the_code_has(tmp_path):
    with closing(Database(str(tmp_path / "a.db"))) as database:
        database.migrate()
        database.migrate()
        with database.read() as connection:
            assert compare_metadata(MigrationContext.configure(connection), metadata) == []
            pragmas = ("journal_mode", "synchronous", "secure_delete")
            assert [
                connection.exec_driver_sql(f"PRAGMA {pragma}").scalar() for pragma in pragmas
            ] == ["wal", 2, 1]


@pytest.mark.parametrize("kept", [1, 5, -1])
def test_half_a_file_is_refused_as_a_whole(written, tmp_path, kept):
    database, _ = written
    path = tmp_path / "log.jsonl"
    run("export", database.url.database, path, "--experiment", "price")
    lines = path.read_text().splitlines()
    path.write_text("\n".join(lines[:kept]) + "\n")
    said = run("import", tmp_path / "b.db", path, code=1)
    assert "has no end: the file was cut off" in said
    assert run("verify", tmp_path / "b.db") == ""
    path.write_text(
        "\n".join([*lines[:kept], json.dumps(json.loads(lines[-1]) | {"end": 99}), *lines[kept:]])
    )
    said = run("import", tmp_path / "b.db", path, code=1)
    assert "its end says another number or digest" in said


def test_an_erasure_that_nothing_could_go_on_from_is_refused_and_nothing_is_blanked(
    tmp_path, clock, monkeypatch
):
    with service_at(tmp_path / "a.db", clock) as service:
        create(service, LINEAR)
        decide(service, "d", "p", context=[[1.0, 0.0], [0.0, 1.0]], subject="someone")
        before = state(service, "p")

        def infinite(transaction):
            transaction.experiment.session.state.model.response[0] = np.inf

        ask(service, infinite, name="p")
        refused(
            409,
            ask,
            service,
            commands.Erasure("someone"),
            name="p",
            match=r"cannot be saved.*Nothing was erased",
        )
        service.writer._shut_down = lambda: None
    with service_at(tmp_path / "a.db", clock) as service:
        assert state(service, "p") == before
        assert ask(service, commands.Erasure("someone"), name="p")["erased"] == 1


@pytest.mark.usefixtures("price")
@pytest.mark.parametrize("value", [1e308, -1e101, 5e-324, 1e-200])
def test_rewards_that_make_a_state_that_cannot_be_saved_are_refused(service, value):
    decide(service, "a")
    refused(422, reward, service, "a", value, match="sums of rewards cannot hold")
    for spec in (
        {"default_reward": value},
        {"rewards": [-abs(value) - 1.0, abs(value)], "default_reward": 0.0},
    ):
        refused(
            422,
            create,
            service,
            PRICES | {"name": "other"} | spec,
            match="sums of rewards cannot hold",
        )


@pytest.mark.parametrize("policy", ["UCB", "EpsilonGreedy", "LinUCB", "LinTS", "SquareCB", "UGapE"])
def test_the_greatest_rewards_leave_a_state_that_can_be_saved(service, policy):
    rows = [
        {"id": str(k), "features": row}
        for k, row in enumerate([[1.0, 0.0], [0.0, 1.0], [0.7, 0.7]])
    ]
    create(service, PRICES | {"policy": policy, "arms": rows})
    for n in range(9):
        decide(service, f"d{n}")
        reward(service, f"d{n}", [1e100, -1e100, 1e-100][n % 3])
    ask(service, lambda transaction: recovery.Snapshot.of(transaction.owned.journal).check("price"))


def test_no_file_has_what_was_erased(served):
    assert served("POST", "/v1/experiments", LINEAR).status_code == 201
    secret = 0.123456789012345
    for _ in range(40):
        asked = {"context": [[secret, 0.5], [0.25, 77.0625]], "subject": "someone-special"}
        assert served("POST", "/v1/experiments/p/decisions", asked, "decide").status_code == 200
    folder = pathlib.Path(served.service.database.url.database).parent
    texts = (b"someone-special", b"0.123456789012345", np.float64(secret).tobytes())

    def copies():
        return sum(file.read_bytes().count(text) for file in folder.iterdir() for text in texts)

    assert copies() > 40
    assert (
        served("POST", "/v1/experiments/p/erase", {"subject": "someone-special"}).json()["erased"]
        == 40
    )
    assert copies() == 0


REWRITTEN = {
    "erased": 0,
    "event": None,
    "rewritten": True,
    "owed": False,
}  # of what an earlier request blanked


def test_an_erasure_waits_for_whoever_reads_the_old_copies(served, monkeypatch):
    monkeypatch.setattr("tightrope_service.routes.SCRUBS", 2)
    served("POST", "/v1/experiments", LINEAR)
    served(
        "POST",
        "/v1/experiments/p/decisions",
        {"context": [[1.0, 0.0], [0.0, 1.0]], "subject": "x"},
        "decide",
    )
    with served.service.database.read() as connection:
        connection.execute(sa.select(E.seq)).all()
        answer = served("POST", "/v1/experiments/p/erase", {"subject": "x"})
        assert (
            answer.status_code == 503
            and "send the same request again" in answer.json()["error"]["message"]
        )
    assert served("POST", "/v1/experiments/p/erase", {"subject": "x"}).json() == REWRITTEN


def test_a_file_that_is_written_anew_keeps_no_copy_of_what_was_moved_in_it(tmp_path):
    """SQLite moves entries of an index when its pages are split; what stays behind in unused bytes
    of a page, no deletion overwrites."""
    rng, file = np.random.default_rng(0), tmp_path / "a.db"
    database = Database(str(file))
    database.migrate()
    who, gone, seq, left = 0, [], 0, []
    with database.write() as connection:
        connection.execute(
            sa.insert(experiments).values(id=1, name="p", spec="{}", seq=0, digest=b"", fence=0)
        )
    for _ in range(600):
        rows = [
            {"seq": seq + k, "subject": f"person {who}." if rng.random() < 0.3 else None}
            for k in range(12)
        ]
        same = {"experiment": 1, "kind": "decided", "time": 0, "body_digest": b"", "digest": b""}
        with database.write() as connection:
            connection.execute(
                sa.insert(events),
                [same | row | {"key": str(row["seq"]), "body": b"x" * 200} for row in rows],
            )
        seq += 12
        if rng.random() < 0.15:
            who += 1
        if rng.random() < 0.1 and who > len(gone):
            subject = f"person {who - len(gone) % 5 - 1}."
            with database.write() as connection:
                connection.execute(
                    sa.update(events)
                    .where(E.subject == subject)
                    .values(subject=None, body=b"y" * 60)
                )
            gone.append(subject)
            assert database.scrub()
            left = [
                one
                for one in gone
                if f"{one}".encode() in file.read_bytes() and not named(database, one)
            ]
            if left:
                break
    assert left  # else SQLite clears its pages by now, and need not write them anew
    assert database.rewrite() and database.scrub()
    assert not any(one.encode() in file.read_bytes() for one in left)
    database.close()


def named(database, subject):
    """Whether the table still has a subject."""
    with database.read() as connection:
        return connection.execute(sa.select(E.seq).where(E.subject == subject)).first() is not None


def test_a_file_is_written_anew_where_something_was_blanked_and_it_is_quick(served, monkeypatch):
    database, done = served.service.database, []
    rewrite = database.rewrite
    monkeypatch.setattr(database, "rewrite", lambda most: done.append(most) or rewrite(most))

    def erase(subject):
        return served("POST", "/v1/experiments/price/erase", {"subject": subject}).json()

    served("POST", "/v1/experiments", PRICES)
    for n in range(4):
        served("POST", "/v1/experiments/price/decisions", {"id": f"d{n}", "subject": f"s{n}"})
    assert (
        erase("nobody") == {"erased": 0, "event": None, "rewritten": False, "owed": False}
        and not done
    )
    quick = erase("s0")
    if not database.sqlite:
        assert not (quick["rewritten"] or quick["owed"])
        return
    assert (quick["erased"], quick["rewritten"], quick["owed"]) == (1, True, False) and len(
        done
    ) == 1
    monkeypatch.setattr("tightrope_service.routes.AT_ONCE", 1000)
    large = erase("s1")
    assert (large["erased"], large["rewritten"], large["owed"]) == (1, False, True)
    assert erase("s1")["owed"]
    now = served.service.settings.clock()
    assert transfer.rewrite_owed(database, 1e9, before=now - 1000 * 10**6) == (
        False,
        True,
    )  # it is not a day ago
    assert "Nothing is owed" in run("rewrite", database.file)
    assert erase("s1") == {"erased": 0, "event": None, "rewritten": False, "owed": False}
    monkeypatch.setattr(database, "rewrite", lambda most: None)
    monkeypatch.setattr("tightrope_service.routes.SCRUB_PAUSE", 0.0)
    for subject in ("s2", "s2"):
        answer = served("POST", "/v1/experiments/price/erase", {"subject": subject})
        assert (
            answer.status_code == 503
            and "could not be written anew" in answer.json()["error"]["message"]
        )
    monkeypatch.setattr(database, "rewrite", rewrite)
    assert erase("s2")["owed"]  # the same request goes on


def test_the_log_says_by_how_many_draws_a_propensity_was_sampled(tmp_path, clock):
    arms = [{"id": str(k), "features": row} for k, row in enumerate(np.eye(3).tolist())]
    with service_at(tmp_path / "a.db", clock) as service:
        for name, policy, draws in (("price", "LinTS", 500), ("certain", "LinUCB", None)):
            create(service, {"name": name, "policy": policy, "arms": arms})
            assert decide(service, "first", name)["draws"] == draws
            assert decide(service, "first", name)["draws"] == draws  # once more, from the log
        with service.database.read() as connection:
            bodies = [
                event.body
                for row in (1, 2)
                for event in log.read(connection, row)
                if event.kind == "decided"
            ]
        told = state(service)
    assert [body.get("draws", "left out") for body in bodies] == [500, "left out"]
    with closing(Database(str(tmp_path / "a.db"))) as database:
        assert found(database)[1].fingerprint == told["fingerprint"]


def test_an_event_of_another_version_is_named_as_that():
    for kind, text in (
        ("created", b'{"spec": {}}'),
        ("decided", b'{"arm": 0}'),
        ("exchanged", b"{}"),
    ):
        entry = LogEntry(7, kind, 0, "d", None, text, b"", b"")
        with pytest.raises(ValueError, match=rf"event 7 \({kind}\) has not the fields"):
            _ = entry.event


def test_an_experiment_records_every_parameter_and_plays_by_it_when_defaults_change(
    tmp_path, clock, monkeypatch
):
    spec = {
        "name": "e",
        "policy": "LinTS",
        "arms": [{"id": "a"}, {"id": "b"}],
        "dimension": 2,
        "rollout": {},
        "baseline": "a",
        "alpha": 0.2,
    }
    rows = {"context": [[0.75, 0.5], [0.5, 0.25]]}
    with service_at(tmp_path / "a.db", clock) as service:
        create(service, spec)
        decide(service, "1", "e", **rows)
        reward(service, "1", 0.5, "e")
        with service.database.read() as connection:
            event = next(iter(log.read(connection, 1))).event
    assert isinstance(event, Created)
    assert event.policy["inner"] == {"policy": "LinTS"} | {
        name: tr.LinTS.FIELDS[name].default for name in tr.LinTS.FIELDS
    }, "every parameter of the policy"
    assert set(event.policy) == {"policy", *tr.Safe.FIELDS}
    whole = ExperimentSpec.model_validate(spec).model_dump(mode="json")
    shown_only = {"unit"}  # of the board
    assert {*event.spec, *event.defaults} == whole.keys() - shown_only
    assert event.defaults["rollout"]["least_budget"] == whole["rollout"]["least_budget"]
    for name, default in (("cancel_within", 1.0), ("seed", 5)):
        monkeypatch.setattr(ExperimentSpec.model_fields[name], "default", default)
    ExperimentSpec.model_rebuild(force=True)
    try:
        assert event.completed.cancel_within == 60.0 and event.completed.seed == 0
        with service_at(tmp_path / "a.db", clock) as service:
            create(service, spec)  # the same words
            create(service, spec | {"cancel_within": 60.0, "seed": 0})  # the same meaning
            refused(409, create, service, spec | {"seed": 5}, match="exists with another spec")
    finally:
        monkeypatch.undo()
        ExperimentSpec.model_rebuild(force=True)


def test_a_snapshot_of_another_version_is_named_as_that_and_not_as_damaged(tmp_path, clock):
    path = tmp_path / "a.db"
    with service_at(path, clock, snapshot_every=2) as service:
        create(service, {"name": "e", "policy": "UCB", "arms": [{"id": "a"}, {"id": "b"}]})
        for n in range(6):
            decide(service, str(n), "e")
            reward(service, str(n), 1.0, "e")
    assert "another version" not in run("verify", path)
    with closing(Database(str(path))) as database, database.write() as connection:
        for seq, text in connection.execute(sa.select(snapshots.c.seq, snapshots.c.rest)).all():
            other = {key: item for key, item in json.loads(text).items() if key != "created"} | {
                "written": "tightrope 0.9.9 (form 7)"
            }
            values = {"rest": json.dumps(other), "fingerprint": bytes(32)}
            connection.execute(sa.update(snapshots).where(snapshots.c.seq == seq).values(**values))
    for said in (run("verify", path), run("replay", path)):
        assert "it was written by tightrope 0.9.9 (form 7), and tightrope" in said
        assert "WRONG" not in said and "damaged" not in said
    with service_at(path, clock) as service:
        assert decide(service, "7", "e")["arm"] in ("a", "b")
