"""All papers in one command: the front page, resuming, what is refused. The papers themselves are
played by test_smoke."""

import json
import re
import time
import urllib.parse

import pytest
from typer.testing import CliRunner

import tightrope
from tightrope.cli.application import app
from tightrope.problems import Bernoulli
from tightrope_papers import experiment, names
from tightrope_papers.experiment import FigureOutcome, Run, claims_of, figures, reproduce
from tightrope_papers.scoring import Row, counts


def saves(paper, chosen, run):
    """In place of `reproduce`: the first figure of a paper with one row, another without data."""
    first, *others = figures(paper)
    claim = next(
        key
        for key, one in claims_of(paper).items()
        if not (one.not_shown or one.data or one.asymptotic)
    )
    row = Row(claim, "a row", 1.0, 2.0, 0.1, "by eye", "not reproduced", "too large", figure=first)
    outcomes = {first: FigureOutcome([row])} | {
        name: FigureOutcome(notes="Not run: no such data", missing="no such data")
        for name in others[:1]
    }
    for name, outcome in outcomes.items():
        experiment._save(name, outcome, run)
        experiment._keep_time(run.out / name, run, 100.0, 150.0)
    experiment._report(paper, run)
    return outcomes


def test_an_interrupted_run_of_all_keeps_the_pages_of_finished_papers_and_goes_on(
    tmp_path, monkeypatch
):
    begun = []

    def stops(paper, chosen, run):
        begun.append(paper)
        if len(begun) == 3:
            raise KeyboardInterrupt
        return saves(paper, chosen, run)

    monkeypatch.setattr(experiment, "reproduce", stops)
    said = []
    with pytest.raises(KeyboardInterrupt):
        experiment.reproduce_all(Run("laptop", tmp_path, workers=1), said.append)
    assert len(said) == len(set(begun)) == 3
    page = (tmp_path / "index.html").read_text()
    assert [f'href="{paper}/report.html"' in page for paper in names()] == [
        paper in begun[:2] for paper in names()
    ]
    assert "2 of " in page
    assert "figures are not there yet" in page
    with pytest.raises(ValueError, match="holds all papers at scale 'laptop' with seed 0"):
        experiment.reproduce_all(Run("smoke", tmp_path))
    monkeypatch.setattr(experiment, "reproduce", saves)
    page = experiment.reproduce_all(Run("laptop", tmp_path, workers=1)).read_text()
    assert all(f'href="{paper}/report.html"' in page for paper in names())
    assert f"{len(names())} of " in page
    assert f"{len(names())} contradicted" in page
    assert "Not run: no such data" in page
    assert CliRunner().invoke(app, ["report", str(tmp_path)]).exit_code == 0
    again = (tmp_path / "index.html").read_text()
    assert again.count("contradicted") == page.count("contradicted")

    elsewhere = tmp_path / "of a talk" / "claims.html"
    words = ["report", str(tmp_path), "--title", "Claims for a talk", "--out", str(elsewhere)]
    assert CliRunner().invoke(app, words).exit_code == 0
    page = elsewhere.read_text()
    assert "<title>Claims for a talk</title>" in page
    links = {
        urllib.parse.unquote(link) for link in re.findall(r'href="([^"#]*report\.html)"', page)
    }
    assert {(elsewhere.parent / link).resolve() for link in links} == {
        tmp_path.resolve() / paper / "report.html" for paper in names()
    }
    assert (tmp_path / "index.html").read_text() == again


def test_the_longest_call_is_the_time_of_a_figure(tmp_path):
    run = Run("laptop", tmp_path)
    for seconds, worked, kept in (
        (30.0, 31.0, [30.0, 31.0]),
        (1.0, 40.0, [30.0, 40.0]),
        (50.0, 3.0, [50.0, 40.0]),
    ):
        experiment._keep_time(tmp_path / "fig1", run, seconds, worked)
        took = experiment.time_taken(tmp_path / "fig1")
        assert [took["seconds"], took["core seconds"]] == kept
    experiment._keep_time(
        tmp_path / "fig1", Run("smoke", tmp_path, workers=3, engine="processes"), 2.0, 0.1
    )
    took = experiment.time_taken(tmp_path / "fig1")
    assert [took["seconds"], took["core seconds"]] == [2.0, 6.0]


def test_core_seconds_are_of_the_processes_of_the_figure_too(tmp_path, monkeypatch):
    def work(name, module, run):
        before = time.process_time()
        tightrope.simulate(
            Bernoulli([0.3, 0.5]),
            {"UCB": tightrope.UCB()},
            horizon=1000,
            replications=2,
            engine="processes",
            workers=1,
        )
        own.append(time.process_time() - before)
        return FigureOutcome()

    own = []
    monkeypatch.setattr(experiment, "run_figure", work)
    reproduce("softucb", ["theory"], Run("smoke", tmp_path))
    # A new process imports the library, which takes longer than asking for a run in it.
    assert experiment.time_taken(tmp_path / "theory")["core seconds"] > own[0] + 0.3


def test_paper_scale_says_the_hours_of_every_figure_of_a_paper_before_it_starts(
    tmp_path, monkeypatch
):
    said = []
    monkeypatch.setattr(experiment, "reproduce", lambda *given: said.append(given[0]))
    experiment.reproduce_all(Run("paper", tmp_path), said.append)
    said_before = {
        paper: {line.split(":")[0].strip() for line in said[: said.index(paper)]}
        for paper in names()
    }
    assert all(
        said_before[paper] >= {f"{paper} {figure}" for figure in figures(paper)}
        for paper in names()
    )


def test_one_paper_at_paper_scale_says_the_hours_of_the_figures_that_were_asked_for(
    tmp_path, monkeypatch
):
    monkeypatch.setattr(experiment, "reproduce", lambda *given: {})
    call = [
        "reproduce",
        "lipschitz",
        "--figure",
        "slope",
        "--figure",
        "theory",
        "--scale",
        "paper",
        "--out",
        str(tmp_path),
    ]
    said = CliRunner().invoke(app, call).output
    assert [
        line.split(":")[0].strip()
        for line in said.splitlines()
        if " h" in line and line.startswith("  ")
    ] == [
        "lipschitz slope",
        "lipschitz theory",
    ]


def test_all_with_a_figure_is_refused(tmp_path):
    done = CliRunner().invoke(
        app, ["reproduce", "all", "--figure", "fig1", "--out", str(tmp_path / "out")]
    )
    assert "figure = 'fig1' is of one paper, but paper = 'all'" in str(done.exception)
    assert not (tmp_path / "out").exists()


def test_a_figure_in_the_folder_of_a_whole_run_leaves_the_whole_report(tmp_path):
    run = Run("laptop", tmp_path)
    paper = names()[0]
    saves(paper, None, run)
    first, second, third = list(figures(paper))[:3]
    claim = list(claims_of(paper))[1]
    experiment._save(
        third,
        FigureOutcome(
            [Row(claim, "another row", 1.0, 1.0, 0.1, "by eye", "reproduced", figure=third)]
        ),
        run,
    )
    experiment._report(paper, run)
    page = (tmp_path / "report.html").read_text()
    assert page.index("a row<") < page.index("Not run: no such data") < page.index("another row<")
    assert "2 of " in page
    other = Run("laptop", tmp_path, seed=5)  # rows of another seed would be mixed with this one's
    experiment._save(third, FigureOutcome(), other)
    experiment._report(paper, other)
    assert "a row<" not in (tmp_path / "report.html").read_text()
    assert json.loads((tmp_path / first / "rows.json").read_text())["seed"] == 0
    assert second in experiment.figure_records(tmp_path)


def test_the_smallest_scale_shows_no_verdicts():
    row = Row(
        next(iter(experiment.claims_of("lipschitz"))),
        "words",
        1.0,
        1.0,
        None,
        "test",
        "not reproduced",
        "reason",
    )
    outcomes = {"fig1": experiment.FigureOutcome([row], notes="kept")}
    found = experiment.as_shown(outcomes, "smoke")
    assert [(one.verdict, one.reason) for one in found["fig1"].rows] == [("not judged", "")]
    assert experiment.sentence(counts(experiment.claim_standings("lipschitz", found))).startswith(
        "0 of "
    )
    assert "not reproduced" not in str(experiment.rows_table(found["fig1"].rows).rows)
    assert experiment.as_shown(outcomes, "laptop") == outcomes
    assert outcomes["fig1"].rows == [row]
