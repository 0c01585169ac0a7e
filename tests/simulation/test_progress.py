"""What runs show with `progress=True`, and where."""

import io
import re
import sys
import time
import types

import numpy as np
import pytest
from rich.console import Console

import tightrope as tr
from tiers import thorough
from tightrope.simulation import bars, run as orchestrator, run as progress

PROBLEM = tr.problems.Bernoulli(np.linspace(0.25, 0.75, 10))


def run(**options):  # a replication is one slice, so there are four calls
    return tr.simulate(PROBLEM, tr.UCB(), horizon=50, replications=4, workers=1, **options)


@pytest.fixture
def lines(monkeypatch, capsys):
    """A function that gives the lines on standard error since it was last asked, where each call
    makes one."""
    monkeypatch.setattr(orchestrator, "WAITING_SECONDS", 1e9)  # no lines of a run that compiles
    make = bars.Bars.__init__
    monkeypatch.setattr(
        bars.Bars, "__init__", lambda self, console=None, every=0.0: make(self, console, every)
    )

    def take():
        out, err = capsys.readouterr()
        assert out == ""
        return err.splitlines()

    return take


def test_a_run_tells_its_share_and_its_end(lines):
    result = run(progress=True)
    said = lines()
    assert len(said) == 4 + 1
    for share, line in zip((25, 50, 75), said, strict=False):
        assert re.fullmatch(rf"simulate: {share}%, [\d,]+ rounds/s, \d+ s left", line)
    assert re.fullmatch(r"simulate: 200 rounds in \d+\.\d s", said[-1])
    assert np.array_equal(result.regret["UCB"], run(progress=False).regret["UCB"])
    assert lines() == []


def test_an_identification_promises_no_end(lines):
    answer = tr.identify(
        tr.problems.Bernoulli([0.1, 0.9]),
        tr.UGapE(epsilon=0.2, delta=0.1, noise=0.5),
        max_rounds=10**6,
        progress=True,
    )
    said = lines()
    assert "of at most 1,000,000, " in said[0]
    assert said[-1].startswith(f"identify: {int(answer.rounds['UGapE'][0]):,} rounds in ")


def test_a_run_that_was_stopped_tells_how_far_it_came(lines):
    with pytest.raises(KeyboardInterrupt), progress.showing(True, "simulate") as advance:
        advance(30, 100)
        raise KeyboardInterrupt
    assert lines()[-1].startswith("simulate: 30 rounds in ")


@thorough
def test_a_training_counts_all_of_its_trajectories():
    problem, calls = tr.problems.Linear(np.eye(3), [0.2, 0.5, 0.1], noise=0.3), []
    tr.train_softucb(problem, 64, trajectories=6, progress=lambda *now: calls.append(now))
    assert calls[-1] == (6 * 64, 6 * 64)
    assert calls == sorted(calls)


def test_lines_come_now_and_then(capsys):
    run(progress=True)
    assert len(capsys.readouterr().err.splitlines()) == 1  # ten seconds have not passed


def test_a_terminal_has_a_bar_for_each_run_and_keeps_their_last_lines():
    screen = io.StringIO()
    with bars.Bars(Console(file=screen, force_terminal=True, width=100)) as drawn:
        first, second = drawn.run("one"), drawn.run("two", known=False)
        drawn.advance_to(first, 50, 100)
        drawn.advance_to(second, 7, 100)
        drawn.refresh()
        assert (
            "one" in screen.getvalue()
            and "50%" in screen.getvalue()
            and "7 rounds of at most 100" in screen.getvalue()
        )
        assert "━" in screen.getvalue()
        drawn.end(first)
    assert "one: 50 rounds in " in screen.getvalue()


@pytest.mark.parametrize("widgets", [False, True])
def test_a_notebook_has_a_bar_where_rich_can_draw_one(widgets, monkeypatch):
    console = Console(file=io.StringIO(), force_jupyter=True)
    monkeypatch.setitem(
        sys.modules, "ipywidgets", types.SimpleNamespace(__spec__=object()) if widgets else None
    )
    if not widgets:
        monkeypatch.setattr(bars.importlib.util, "find_spec", lambda name: None)
    drawn = bars.Bars(console)
    assert drawn.drawn == widgets
    assert drawn.disable == (not widgets)


def test_other_words_for_progress_are_refused():
    with pytest.raises(
        ValueError,
        match=r"progress = 'yes' is not True, False or a function of "
        r"\(rounds done, "
        r"rounds in "
        r"all\)\.",
    ):
        run(progress="yes")


def test_progress_is_told_of_while_a_policy_begins(monkeypatch):
    """A design for many arms takes seconds, in which nothing was shown."""

    init, calls = tr.UGapE.init, []
    monkeypatch.setattr(
        tr.UGapE, "init", lambda policy, arms: time.sleep(0.6) or init(policy, arms)
    )
    monkeypatch.setattr(orchestrator, "WAITING_SECONDS", 0.15)
    tr.identify(
        tr.problems.Bernoulli([0.1, 0.9]),
        tr.UGapE(noise=0.5),
        max_rounds=50,
        progress=lambda *now: calls.append(now),
    )
    assert calls.count((0, 50)) >= 2
    assert calls[-1][0] > 0
