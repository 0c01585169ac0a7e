"""Clocks that are set: the log's time never goes back, windows close by the clock, and somebody is
told."""

import pytest
from running import (
    HOUR,
    PRICES,
    ask,
    check_replay,
    create,
    decide,
    refused,
    reward,
    service_at,
    standing_and_history,
)

from tightrope_service import commands, log
from tightrope_service.board_view import page_of
from tightrope_service.errors import timestamp
from tightrope_service.events import OpenDecision, OpenDecisions
from tightrope_service.settings import metrics
from tightrope_service.writer import close_windows

YEAR = 8766 * HOUR


def written(service):
    with service.database.read() as connection:
        return list(log.read(connection, 1))


@pytest.fixture
def jumped(tmp_path, clock):
    """A service whose clock was a year ahead for one decision; decisions before, meanwhile and
    behind it."""
    with service_at(tmp_path / "a.db", clock, tick=30.0) as service:
        create(service, PRICES | {"window": "3h"})
        decide(service, "before")
        clock.now += YEAR
        decide(service, "ahead")
        clock.now -= YEAR
        clock.now += HOUR
        yield service


def test_windows_close_by_the_clock_also_after_it_was_set_back(jumped, clock):
    assert decide(jumped, "behind")["expires_at"] == timestamp(clock.now + 3 * HOUR)
    clock.now += HOUR
    reward(jumped, "behind", 1.0)
    decide(jumped, "later")
    clock.now += 3 * HOUR - 1
    ask(jumped, close_windows)
    assert [e.decision for e in written(jumped) if e.kind == "expired"] == ["before"]
    clock.now += 1
    ask(jumped, close_windows)  # the one from the future began before the one that is over
    assert [e.decision for e in written(jumped) if e.kind == "expired"] == [
        "before",
        "ahead",
        "later",
    ]
    times = [e.time for e in written(jumped)]
    assert times == sorted(times)
    check_replay(jumped)


def test_the_time_to_cancel_ends_by_the_clock_too(jumped, clock):
    decide(jumped, "behind")
    clock.now += 61 * 10**6
    refused(409, ask, jumped, commands.cancel, "behind", match="could be cancelled until")


def test_the_board_and_the_metrics_say_that_the_clock_is_behind(jumped):
    assert page_of(*standing_and_history(jumped))["clock_behind"] == pytest.approx(8765 * 3600)
    jumped.writer._tick()
    assert metrics().behind._value.get() == pytest.approx(8765 * 3600)


def test_deadlines_of_ended_decisions_are_let_go():
    waiting = OpenDecisions()
    for n in range(10_000):
        waiting.begin(str(n), OpenDecision(10**9 + n, False, n, None))
        if n >= 10:
            del waiting[str(n - 10)]
    assert len(waiting) == 10 and len(waiting._deadlines) < 2500
    assert waiting.first_due(10**9 + 9989) is None and waiting.first_due(10**9 + 9991) == "9990"
