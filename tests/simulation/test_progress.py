"""What runs show with `progress=True`, and where."""

import re
import sys
import types

import numpy as np
import pytest

import tightrope as tr
from tiers import thorough
from tightrope.simulation.runs import progress

PROBLEM = tr.problems.Bernoulli(np.linspace(0.25, 0.75, 10))


def run(**options):  # a replication is one slice, so there are four calls
    return tr.simulate(PROBLEM, tr.UCB(), horizon=50, replications=4, workers=1, **options)


class Notebook:
    """What a notebook's kernel offers: `display`, which gives a handle that shows something else in the same place."""

    def __init__(self, monkeypatch, kernel=True):
        self.cells = []
        shell = types.SimpleNamespace(kernel=object()) if kernel else types.SimpleNamespace()
        ipython, display = types.ModuleType("IPython"), types.ModuleType("IPython.display")
        ipython.get_ipython = lambda: shell
        display.display = self.display
        monkeypatch.setitem(sys.modules, "IPython", ipython)
        monkeypatch.setitem(sys.modules, "IPython.display", display)
        monkeypatch.setattr(progress.InNotebook, "every", 0.0)

    def display(self, bundle, *, raw, display_id):
        assert raw and display_id is True
        cell = [bundle]
        self.cells.append(cell)
        return types.SimpleNamespace(update=lambda bundle, *, raw: cell.append(bundle))


def shares(cell):
    return [float(found[1]) for bundle in cell if (found := re.search(r'value="([\d.]+)"', bundle["text/html"]))]


def test_a_notebook_has_one_bar_that_grows_and_tells_the_end(monkeypatch, capsys):
    book = Notebook(monkeypatch)
    result = run(progress=True)
    (cell,) = book.cells
    found = shares(cell)
    assert found == sorted(found) and found[0] == 0.0 and 0.0 < found[1] < 1.0 and found[-1] == 1.0
    assert re.fullmatch(r"simulate: 200 rounds in \d+\.\d s", cell[-1]["text/plain"])
    assert re.search(r"simulate: 50%, [\d,]+ rounds/s, \d+ s left</label>$", cell[2]["text/html"])
    assert capsys.readouterr().err == ""
    assert np.array_equal(result.regret["UCB"], run().regret["UCB"])
    assert len(book.cells) == 1  # without progress there is none


def test_an_identification_promises_no_end(monkeypatch):
    book = Notebook(monkeypatch)
    found = tr.identify(tr.problems.Bernoulli([0.1, 0.9]), tr.UGapE(epsilon=0.2, delta=0.1, noise=0.5), max_rounds=10**6, progress=True)
    (cell,) = book.cells
    assert shares(cell) == [0.0, 1.0]
    assert "of at most 1,000,000, " in cell[1]["text/plain"]
    assert cell[-1]["text/plain"].startswith(f"identify: {int(found.rounds['UGapE'][0]):,} rounds in ")


def test_a_bar_ends_where_its_run_was_stopped(monkeypatch):
    book = Notebook(monkeypatch)
    with pytest.raises(KeyboardInterrupt), progress.showing(True, "simulate") as advance:
        advance(30, 100)
        raise KeyboardInterrupt
    assert shares(book.cells[0])[-1] == 0.3
    assert book.cells[0][-1]["text/plain"].startswith("simulate: 30 rounds in ")


@thorough
def test_a_training_counts_all_of_its_trajectories():
    problem, calls = tr.problems.Linear(np.eye(3), [0.2, 0.5, 0.1], noise=0.3), []
    tr.train_softucb(problem, 64, trajectories=6, progress=lambda *now: calls.append(now))
    assert calls[-1] == (6 * 64, 6 * 64)
    assert calls == sorted(calls)


def test_without_notebook_and_terminal_there_are_lines_on_standard_error(monkeypatch, capsys):
    Notebook(monkeypatch, kernel=False)  # IPython on a terminal
    monkeypatch.setattr(progress.InLines, "every", 0.0)
    run(progress=True)
    out, err = capsys.readouterr()
    assert out == ""
    lines = err.splitlines()
    assert len(lines) == 4 + 1
    assert lines[0].startswith("simulate: 25%, ") and lines[-1].startswith("simulate: 200 rounds in ")
    run(progress=False)
    assert capsys.readouterr().err == ""


def test_a_terminal_has_a_bar(capsys):
    import io

    from rich.console import Console

    screen = io.StringIO()
    bar = progress.OnTerminal(Console(file=screen, force_terminal=True, width=100))
    bar.draw(0.5, "half of it")
    bar.end(1.0, "all of it")
    assert "half of it" in screen.getvalue()
    assert capsys.readouterr().err == "all of it\n"


def test_other_words_for_progress_are_refused():
    with pytest.raises(ValueError, match=r"progress = 'yes' is not True, False or a function of \(rounds done, rounds in all\)\."):
        run(progress="yes")
