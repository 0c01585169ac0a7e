"""A journal holds every call that returned: after kill -9, a torn line, a full disk, and as a
log."""

import json
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

import tightrope as tr
from session import histories
from session.test_histories import LATER
from tiers import tiered
from tightrope.cli import inputs
from tightrope.logs.formats import line_of, read_journal
from tightrope.session import codec


class Journaled:
    """A journal that is called as `histories.run` calls a session; `again` lets go of it and reads
    its file."""

    def __init__(self, session, folder):
        self.folder, self.changed = folder, False
        self.journal = tr.Journal(folder / f"{len(list(folder.iterdir()))}.journal", session)

    def __getattr__(self, name):
        self.changed |= name == "update"  # which the journal has not
        return getattr(
            self.journal
            if name in vars(tr.Journal) and name != "session"
            else self.journal.session,
            name,
        )

    def again(self):
        if self.changed:
            return Journaled(self.journal.session, self.folder)
        self.journal.close_file()
        self.journal = tr.Journal(self.journal.path)
        return self


@pytest.mark.parametrize("kind", tiered(sorted(histories.kinds()), LATER))
def test_a_journal_read_after_every_call_goes_on_as_the_session_would(kind, tmp_path):
    folder = tmp_path / "journals"
    folder.mkdir()

    def between(session):
        return session.again() if isinstance(session, Journaled) else Journaled(session, folder)

    for seed in range(2):
        one, _ = histories.run(kind, seed, tmp_path / "s.npz")
        other, _ = histories.run(kind, seed, tmp_path / "s.npz", between=between)
        told = [
            [
                (d.id, d.round, d.reason, d.name, np.array(d.propensity).tolist())
                for d in s.open.values()
            ]
            for s in (one, other)
        ]
        assert told[0] == told[1], seed
        states = [
            {name: value.tobytes() for name, value in codec.flatten(s.state).items()}
            for s in (one, other)
        ]
        assert states[0] == states[1], seed
        assert one._agent.rng.bit_generator.state == other._agent.rng.bit_generator.state, seed


WORKER = """
import sys, tightrope as tr
journal = tr.Journal(sys.argv[1], tr.Session(tr.BetaThompson(), arms=3, seed=1))
for i in range(10**6):
    decision = journal.decide(id=f"v{i}")
    print(decision.id, decision.arm, decision.propensity, flush=True)
    if i % 2:
        journal.reward(f"v{i - 1}", float(i % 3 == 0))
        print(f"v{i - 1}", "rewarded", flush=True)
"""


def test_kill_9_loses_nothing_that_a_caller_was_told(tmp_path):
    path = tmp_path / "v.journal"
    worker = subprocess.Popen(
        [sys.executable, "-c", WORKER, str(path)], stdout=subprocess.PIPE, text=True
    )
    first = worker.stdout.readline()
    time.sleep(0.3)
    worker.send_signal(signal.SIGKILL)
    lines = [first, *worker.stdout.readlines()]
    worker.wait()
    told = [line.split() for line in lines if line.endswith("\n")]
    assert len(told) > 20
    journal = tr.Journal(path)
    rewarded = {line[0] for line in told if line[1] == "rewarded"}
    for id, arm, *chance in told:
        decision = journal.session.known(id)
        if chance:
            assert (decision.arm, decision.propensity) == (int(arm), float(chance[0]))
            assert id not in rewarded or id not in journal.session.open
    with pytest.raises(ValueError, match="is written to by another journal"):
        tr.Journal(path)


def played(path, n=6):
    session = tr.Session(tr.LinTS(), arms=["a", "b", "c"], dimension=2, seed=3, draws=20)
    with tr.Journal(path, session) as journal:
        for i in range(n):
            decision = journal.decide([1.0, i / n])
            if i % 3:
                journal.reward(decision.id, i / n)
    return session


def test_a_torn_last_line_is_not_there_and_damage_before_it_is_said(tmp_path):
    path = tmp_path / "v.journal"
    whole = played(path)
    data = path.read_bytes()
    before = data[: data[:-1].rindex(b"\n") + 1]
    for cut in {
        len(before) + 1,
        len(before) + 9,
        len(data) - 1,
        *np.random.default_rng(0).integers(len(before) + 1, len(data), 3).tolist(),
    }:
        path.write_bytes(data[:cut])
        with tr.Journal(path) as journal:
            assert journal.session.rounds == whole.rounds - 1
            assert path.read_bytes() == before
            assert journal.reward("#6", 5 / 6)
            assert journal.session.to_bytes() == whole.to_bytes()
    flipped = bytearray(data)
    flipped[len(before) - 5] ^= 1
    path.write_bytes(flipped)
    with pytest.raises(ValueError, match=r"line 10 is damaged; restore the file from a copy"):
        tr.Journal(path)
    path.write_bytes(b"")
    with pytest.raises(ValueError, match="is not a journal; pass a file that"):
        tr.Journal(path)
    path.write_bytes(line_of({"journal": 99}))
    with pytest.raises(ValueError, match="is not a journal that this version reads"):
        tr.Journal(path)


def test_a_full_disk_leaves_the_file_as_it_was_and_stops_the_journal(tmp_path, monkeypatch):
    path = tmp_path / "v.journal"
    played(path)
    data, journal, write = path.read_bytes(), tr.Journal(path), os.write

    def full(file, line):
        if len(line) > 20:
            return write(file, line[:20])
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "write", lambda file, line: full(file, line[:21]))
    with pytest.raises(OSError, match="No space"):
        journal.decide([1.0, 0.5])
    monkeypatch.setattr(os, "write", write)
    assert path.read_bytes() == data
    with pytest.raises(
        ValueError,
        match="could not be written to, so that its session is ahead of its file; open it again",
    ):
        journal.decide([1.0, 0.5])
    journal.close_file()
    with tr.Journal(path) as again:
        assert again.session.decided == 6
        with pytest.raises(ValueError, match="shape"):
            again.decide([1.0, 0.5, 2.0])  # bad input changes nothing
        again.decide([1.0, 0.5])


def test_what_a_journal_does_not_know_is_refused(tmp_path):
    path = tmp_path / "v.journal"
    session = tr.Session(tr.UCB(), arms=2, seed=0)
    with pytest.raises(ValueError, match="does not exist; to begin a journal pass the session too"):
        tr.Journal(path)
    with pytest.raises(ValueError, match=r"is not a session; pass tr\.Session"):
        tr.Journal(path, tr.UCB())
    journal = tr.Journal(path, session)
    with pytest.raises(ValueError, match="is there already; to go on with it leave session out"):
        tr.Journal(path, session)
    session.decide()
    with pytest.raises(ValueError, match="was changed past its journal"):
        journal.decide()
    with pytest.raises(
        AttributeError, match="a journal has no select; it has decide and reward by id"
    ):
        journal.select()
    with pytest.raises(ValueError, match="is a folder; pass the path of a file"):
        tr.Journal(tmp_path, session)
    with tr.Journal(tmp_path / "a new folder" / "v.journal", tr.Session(tr.UCB(), arms=2)) as other:
        assert other.path.exists()
    journal.close_file()
    with pytest.raises(ValueError, match="was closed; open it again"):
        journal.decide()
    with pytest.raises(TypeError, match="cannot be copied or pickled"):
        import copy

        copy.copy(journal)


def test_an_interrupted_call_asks_to_open_the_file_again(tmp_path, monkeypatch):
    journal = tr.Journal(tmp_path / "v.journal", tr.Session(tr.UCB(), arms=2, seed=0))

    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(journal, "_write", interrupted)
    with pytest.raises(KeyboardInterrupt):
        journal.decide()
    monkeypatch.undo()
    with pytest.raises(ValueError, match="may be ahead of its file; open it again"):
        journal.decide()


def test_repeated_messages_write_nothing_and_a_checkpoint_shortens_reading(tmp_path):
    path = tmp_path / "v.journal"
    journal = tr.Journal(path, tr.Session(tr.UCB(), arms=2, seed=0))
    decision = journal.decide(id="a")
    journal.reward("a", True)
    size = path.stat().st_size
    assert journal.decide(id="a").arm == decision.arm
    assert not journal.reward("a", 1.0)
    assert path.stat().st_size == size
    journal.checkpoint()
    journal.decide(id=7)
    journal.close_file()
    again = tr.Journal(path)
    assert again.session.to_bytes() == journal.session.to_bytes()
    assert [entry.get("call") for _, entry in read_journal(path)] == [
        None,
        "decide",
        "reward",
        "checkpoint",
        "decide",
    ]


def test_its_log_is_that_of_the_table_one_would_have_kept(tmp_path):
    """Contexts, a mask, an arm that comes later, a window, a cancelled and an open decision."""
    rng, rows = np.random.default_rng(1), []
    path = tmp_path / "v.journal"
    session = tr.Session(
        tr.LinTS(), arms=2, dimension=2, seed=0, draws=20, window=20, default_reward=0.125
    )
    with tr.Journal(path, session) as journal:
        for i in range(40):
            if i == 15:
                journal.add_arms(number=1)
            x = [1.0, rng.normal()]
            K = journal.session.arms.number
            mask = [True] * K if i % 4 else [False, *[True] * (K - 1)]
            decision = journal.decide(x, mask)
            row = [decision.arm, 0.125, decision.propensity, x, [*mask, *[False] * (3 - K)]]
            if i % 10 == 3:
                journal.cancel(decision.id)
            elif i % 10 != 7:
                row[1] = float(rng.integers(0, 2))
                journal.reward(decision.id, row[1])
                rows.append(row)
            elif i < 19:
                rows.append(row)  # the window closes it
    log = tr.logs.from_journal(path)
    assert dict(log.left_out) == {"open decisions": 2, "cancelled, or closed without a reward": 4}
    (part,) = log.chunks()
    arm, reward, chance, features, eligible = (
        np.array(column) for column in zip(*rows, strict=True)
    )
    for name, column in (
        ("arm", arm),
        ("reward", reward),
        ("propensity", chance),
        ("features", features),
        ("eligible", eligible),
    ):
        np.testing.assert_array_equal(getattr(part, name), column, err_msg=name)
    assert (np.diff(part.time) >= 0).all() and abs(part.time[0] - time.time()) < 600
    table = {"arm": arm, "reward": reward, "propensity": chance}
    other = tr.logs.from_frame(table, arms=3, features=features, eligible=eligible)
    assert inputs.read(path, inputs.ColumnWords())[0].n == log.n
    first, second = (tr.evaluate(each, session) for each in (log, other))
    assert first.value == second.value and first.rounds == second.rounds == len(rows)


def test_a_log_of_sets_and_of_features_by_arm(tmp_path):
    path = tmp_path / "sets.journal"
    session = tr.Session(
        tr.CombTS(),
        arms=4,
        dimension=2,
        oracle=tr.oracles.TopK(2),
        names=list("abcd"),
        seed=0,
        draws=20,
    )
    rng = np.random.default_rng(0)
    with tr.Journal(path, session) as journal:
        for i in range(4):
            decision = journal.decide(rng.normal(size=(4, 2)))
            journal.reward(decision.id, {decision.name[1]: 1.0})
            if i:
                journal.reward(decision.id, {int(decision.arm[0]): np.float32(0.5)})
    log = tr.logs.from_journal(path)
    parts = list(log.chunks())
    assert (
        log.rounds == 3
        and log.size == 2
        and log.names == ("a", "b", "c", "d")
        and parts[0].features.shape[1:] == (4, 2)
    )
    assert np.concatenate([part.reward for part in parts]).tolist() == [0.5, 1.0] * 3 and dict(
        log.left_out
    ) == {"open decisions": 1}
    again = tr.Journal(path).session
    assert again.to_bytes() == session.to_bytes()


def test_rows_of_an_encoder_and_candidates_by_name(tmp_path):
    table = {"country": ["de", "fr", "de", "us"], "age": [20.0, 30.0, 40.0, 50.0]}
    encoder = tr.Encoder().fit(table)
    path = tmp_path / "people.journal"
    with tr.Journal(path, tr.Session(tr.LinUCB(), arms=2, encoder=encoder, seed=0)) as journal:
        for country, age in zip(table["country"], table["age"], strict=True):
            journal.reward(journal.decide({"country": country, "age": age}).id, age / 50)
    assert tr.Journal(path).session.to_bytes() == journal.session.to_bytes()
    (part,) = tr.logs.from_journal(path).chunks()
    np.testing.assert_array_equal(part.features, encoder.transform(table))

    path = tmp_path / "items.journal"
    with tr.Journal(path, tr.Session(tr.LinUCB(), dimension=2, seed=0)) as journal:
        for i in range(3):
            decision = journal.decide({"shoe": [1.0, i], f"hat {i}": [0.5, 1.0]})
            journal.reward(decision.id, 0.5)
        journal.decide([[1.0, 2.0], [0.0, 1.0]], names=["x", "y"])
    again = tr.Journal(path).session
    assert again.to_bytes() == journal.session.to_bytes() and next(
        iter(again.open.values())
    ).name in ("x", "y")
    with pytest.raises(ValueError, match="new candidates at every call"):
        tr.logs.from_journal(path)


def test_a_journal_begins_with_whatever_a_session_is(tmp_path):
    session = tr.Session(tr.EpsilonGreedy(epsilon=0.5), arms=2, seed=0, default_reward=0.0)
    for id in "abc":
        session.decide(id=id)
    path = tmp_path / "v.journal"
    with tr.Journal(path, session) as journal:
        journal.reward("a", 1.0)
        journal.close("b")
        assert journal.expire(ids=["c"]) == ["c"]
        journal.reward(journal.decide(id="d").id, 0.5)
    (part,) = tr.logs.from_journal(path).chunks()
    assert part.reward.tolist() == [0.5]
    assert tr.Journal(path).session.to_bytes() == session.to_bytes()


def test_lines_are_json_that_other_tools_read(tmp_path):
    path = tmp_path / "v.journal"
    played(path, 2)
    entries = [json.loads(line[9:]) for line in path.read_text().splitlines()]
    assert entries[0]["names"] == ["a", "b", "c"]
    assert (
        entries[1]["call"] == "decide"
        and entries[1]["x"] == [1.0, 0.0]
        and 0 < entries[1]["p"] <= 1
    )
