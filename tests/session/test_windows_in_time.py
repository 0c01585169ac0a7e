"""A window in time closes what is older whenever something is decided or answered, in files and
journals too."""

import contextlib
import re
from datetime import timedelta

import numpy as np
import pytest

import tightrope as tr
from tightrope.logs.formats import read_journal

HOUR = 3600.0


class Watch:
    """A clock that is set by hand."""

    def __init__(self):
        self.now = 1e9

    def __call__(self):
        return self.now


def timed(watch, **given):
    return tr.Session(
        tr.UCB(), arms=2, seed=0, window="2h", default_reward=0.25, clock=watch, **given
    )


def test_every_call_closes_what_is_overdue_first():
    watch = Watch()
    session = timed(watch)
    first = session.decide(id="a")
    assert first.time == 1e9
    watch.now += 2 * HOUR
    second = session.decide(id="b")  # exactly two hours old is not older
    assert list(session.open) == ["a", "b"] and session.rounds == 0
    watch.now += 1
    with pytest.raises(ValueError, match="expired"):
        session.reward("a", 1.0)
    assert session.reward("b", 1.0)
    sums = np.zeros(2)
    sums[first.arm] += 0.25
    sums[second.arm] += 1.0
    assert session.state.sums.tolist() == sums.tolist() and session.rounds == 2

    for end in (
        lambda: session.cancel("c"),
        lambda: session.close("c"),
        lambda: session.update(0, 0.5),
    ):
        session.decide(id="c") if session.known("c") is None else session.decide()
        watch.now += 3 * HOUR
        before = session.rounds
        with contextlib.suppress(ValueError):
            end()
        assert session.rounds > before and not session.is_open("c")


@pytest.mark.parametrize("apply", ["on arrival", "in order"])
def test_a_twin_that_closes_them_by_hand_learns_the_same(apply):
    watch, rng, made = Watch(), np.random.default_rng(0), {}
    one, twin = (
        timed(watch, apply=apply),
        tr.Session(tr.UCB(), arms=2, seed=0, default_reward=0.25, apply=apply),
    )
    for i in range(200):
        watch.now += float(rng.exponential(HOUR / 2))
        twin.expire(ids=[id for id in twin.open if watch.now - made[id] > 2 * HOUR])
        if rng.random() < 0.6 or not twin.open:
            made[i] = watch.now
            assert one.decide(id=i) == twin.decide(id=i)
        else:
            late = int(rng.choice(list(twin.open)))
            assert one.reward(late, 1.0) and twin.reward(late, 1.0)
        assert list(one.open) == list(twin.open)
        np.testing.assert_array_equal(one.state.sums, twin.state.sums)
    assert 20 < sum(reward == 0.25 for _, reward in one.answered()) < 100


def test_files_copies_and_journals_keep_the_time(tmp_path):
    watch = Watch()
    session = timed(watch)
    session.decide(id="a")
    watch.now -= 500.0  # a clock that goes back does not make decisions older
    assert session.decide(id="b").time == 1e9
    again = tr.Session.from_bytes(session.to_bytes())
    assert again.window == timedelta(hours=2) and again.open["b"].time == 1e9
    again.clock = watch
    watch.now += 500.0 + 2 * HOUR + 1
    assert again.expire() == ["a", "b"] and session.__copy__().expire() == ["a", "b"]

    path = tmp_path / "v.journal"
    with tr.Journal(
        path, tr.Session(tr.UCB(), arms=2, seed=0, window="0.2s", default_reward=0.25)
    ) as journal:
        import time

        for i in range(8):
            journal.decide(id=i)
            if i % 3 == 0:
                journal.reward(i, 1.0)
            time.sleep(0.06)
    assert journal.session.rounds > 3
    closed = tr.Journal(path)
    assert closed.session.to_bytes() == journal.session.to_bytes()
    log = tr.logs.from_journal(path)
    (part,) = log.chunks()
    last = max(entry["t"] for _, entry in read_journal(path))
    assert (
        set(part.reward.tolist()) == {0.25, 1.0}
        and (part.time[part.reward == 0.25] < last - 0.2).all()
    )


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (
            {"window": "fortnight"},
            "window = 'fortnight' is not a time; write rounds as a whole number or text such as",
        ),
        ({"window": "0s"}, "window = 0:00:00 must be longer than 0 and at most ten years"),
        ({"window": timedelta(days=-1)}, "must be longer than 0"),
        ({"window": 1.5}, "window = 1.5"),
        (
            {"window": "14d", "default_reward": None},
            "window = 14 days, 0:00:00 closes decisions with default_reward, which is missing",
        ),
        ({"window": "14d", "clock": 5}, "clock = 5 is not a function that returns seconds"),
    ],
)
def test_other_windows_are_refused(given, words):
    with pytest.raises(ValueError, match=re.escape(words)):
        tr.Session(tr.UCB(), arms=2, **{"default_reward": 0.0} | given)


def test_expire_by_time_needs_the_time_of_decisions():
    session = tr.Session(tr.UCB(), arms=2, default_reward=0.0)
    with pytest.raises(
        ValueError,
        match="is a time, but decisions of this session carry none; give it a window in time",
    ):
        session.expire("1h")
    watch = Watch()
    session = timed(watch)
    session.decide(id="a")
    watch.now += 10.0
    session.decide(id="b")
    assert session.expire("5s") == ["a"] and session.expire(older_than=0) == []
    watch.now = float("nan")
    with pytest.raises(ValueError, match=r"clock\(\)"):
        session.decide()
