"""How the databases find what they are asked for: nothing that a client can ask of a long log reads
all of it."""

import re

import sqlalchemy as sa
from running import PRICES, ask, batch, create, decide, refused, reward, service_at

from tightrope_service import commands, log
from tightrope_service.recovery import before_decision, was_erased
from tightrope_service.writer import close_windows

LONG = 3000  # decisions: a log for which an index is worth its while


def work(service, clock):
    """Whatever clients ask for of a log, with ids of their own."""
    decide(service, "own", subject="u")
    decide(service, "own", subject="u")
    reward(service, "d1", 1.0)
    service.ask_now("price", batch(20, "b"))
    ask(service, commands.cancel, "b1")
    ask(service, commands.Erasure("u"))
    clock.now += 3601 * 10**6
    ask(service, close_windows)
    refused(410, reward, service, "b2", 1.0, match="logged, not learned")
    with service.database.read() as connection:
        row = log.row_of(connection, "price")
        assert before_decision(connection, row, "price", "d2") is not None
        assert log.digest_at(connection, "price", 3) is not None
        assert [entry.kind for entry in log.about(connection, row, ["d1", "b1"])] == [
            "decided",
            "rewarded",
            "decided",
            "cancelled",
        ]
        assert len(list(log.read(connection, row, 10, 20))) == 10
    with service.database.write() as connection:
        assert not was_erased(connection, row, log.LAST - 1)


def plan_of(connection, statement, parameters):
    """The lines of a plan that say how a table is read."""
    if connection.dialect.name == "sqlite":
        return [
            row[3]
            for row in connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {statement}", parameters)
        ]
    return [row[0] for row in connection.exec_driver_sql(f"EXPLAIN {statement}", parameters)]


def test_every_statement_on_events_takes_an_index_of_what_it_asks_for(path, clock):
    statements = {}

    def note(connection, cursor, statement, parameters, context, many):
        if re.search(r"\b(FROM|UPDATE) events\b", statement):
            statements[statement] = parameters[0] if many else parameters

    with service_at(path, clock) as service:
        create(service, PRICES | {"window": "1h"})
        for first in range(0, LONG, 1000):
            service.ask_now("price", batch(1000, f"{first // 1000}-"))
        for n in range(4):
            decide(service, f"d{n}", subject=f"v{n}")
        if not service.database.sqlite:
            with service.database.write() as connection:
                connection.exec_driver_sql("ANALYZE")
        for database in {service.database, service.writer.database}:
            sa.event.listen(database.engine, "before_cursor_execute", note)
        work(service, clock)
        with service.database.write() as connection:
            plans = {
                statement: plan_of(connection, statement, parameters)
                for statement, parameters in dict(statements).items()
            }
    assert any("subject =" in statement for statement in plans) and any(
        re.search('key"? IN', statement) for statement in plans
    )
    for statement, plan in plans.items():
        where = statement.split("WHERE", 1)[1]
        asked = next(
            (one for one in ("key", "subject") if re.search(rf"\b{one}\"? (=|IN)", where)), "seq"
        )
        reads = [line for line in plan if "events" in line or "Index Cond" in line]
        assert any(asked in re.sub(r"USING INDEX \w+", "", line) for line in reads), (
            statement,
            plan,
        )
        assert not any(re.search(r"SCAN events|Seq Scan on events", line) for line in reads), (
            statement,
            plan,
        )
