"""Every figure of every reproduction runs at the smallest scale: the locked verdicts, claims,
pictures and a report."""

import json
import pathlib

import pytest

from papers.record import PATH, SEED, verdicts
from tiers import tiered
from tightrope.problems.data import DataNotFound, jester, open_bandit, ratings_file
from tightrope_papers import names
from tightrope_papers.experiment import (
    ROWS,
    FigureOutcome,
    Run,
    claim_standings,
    claims_of,
    figures,
    reproduce,
)
from tightrope_papers.scoring import KINDS, OURS, VERDICTS

FIGURES = [(paper, figure) for paper in names() for figure in figures(paper)]
QUICK = {
    "conservative-fig3-mab",
    "lingape-fig3",
    "lipschitz-theory",
    "semibandits-fig1",
    "softucb-table1",
    "openbandit-values",
    "successors-widths",
}  # of every paper
NAMES = {"-".join(item): item for item in FIGURES}
LOCKED = json.loads(PATH.read_text())
NEEDS = {  # figures that cannot run without data, and what raises DataNotFound where there are none
    ("conservative", "fig5"): jester,
    ("conservative", "fig8"): jester,
    ("conservative", "other-scalings"): jester,
    ("softucb", "fig2-jester"): jester,
    ("softucb", "fig2-movielens"): ratings_file,
    ("openbandit", "values"): lambda: open_bandit("men", "random"),
    ("openbandit", "pooled"): lambda: open_bandit("men", "random"),
    ("semibandits", "fig3"): ratings_file,
    ("semibandits", "fig4"): ratings_file,
    ("semibandits", "table1"): ratings_file,
}


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """A folder for each paper: figures that draw the same runs find them again."""
    return {paper: tmp_path_factory.mktemp(paper) for paper in names()}


def available(paper, figure):
    """Whether the figure's data are on this machine."""
    try:
        NEEDS.get((paper, figure), lambda: None)()
    except DataNotFound:
        return False
    return True


@pytest.mark.parametrize("name", tiered(NAMES, NAMES.keys() - QUICK))
def test_figure_runs_at_smoke_scale_with_the_locked_verdicts(name, folders):
    paper, figure = NAMES[name]
    out = folders[paper]
    outcome = reproduce(paper, [figure], Run("smoke", out, seed=SEED))[figure]
    saved = json.loads((out / figure / ROWS).read_text())["rows"]
    if not available(paper, figure):
        assert "TIGHTROPE_DATA" in outcome.missing
        assert saved == []
        pytest.skip(outcome.missing)
    assert outcome.missing == ""
    assert verdicts(outcome) == LOCKED[f"{paper} {figure}"]
    assert (
        len(saved) == len(outcome.rows) == len(verdicts(outcome))
    )  # no row has the words of another
    assert {row["figure"] for row in saved} == {figure}
    page = (out / "report.html").read_text()
    for row in outcome.rows:
        assert row.test
        assert (row.reason == "") == (row.verdict == "reproduced")
    assert {one.claim.key for one in claim_standings(paper, {figure: outcome}) if one.rows} == {
        row.key for row in outcome.rows
    } - {OURS}
    for name in outcome.plots:
        assert (out / figure / f"{name}.svg").stat().st_size > 2000
    for name, table in outcome.tables.items():
        assert len(table)
        assert (out / figure / f"{name}.csv").stat().st_size > 0
    assert page.count("<figure>") == len(
        list(out.glob("*/*.svg"))
    )  # of all figures that the folder holds
    assert page.count("<svg") >= page.count("<figure>")
    assert "<script" not in page


def test_every_paper_has_figures_in_make_test():
    assert {NAMES[name][0] for name in QUICK} == set(names())


def test_every_figure_has_the_same_functions_and_its_verdicts_are_locked():
    assert set(LOCKED) == {f"{paper} {figure}" for paper, figure in FIGURES}
    for paper in names():
        for name, module in figures(paper).items():
            assert callable(module.score), (paper, name)
            assert (
                hasattr(module, "plot")
                or hasattr(module, "tables")
                or (paper, name) == ("conservative", "e2")
            )
            assert module.__doc__, (paper, name)
    assert {verdict for found in LOCKED.values() for _, verdict in found.values()} == set(VERDICTS)


def test_claims_are_judged_or_say_why_not():
    """Every claim of a register has a row in some figure, or a reason why no program can show it;
    never both."""
    for paper in names():
        judged = {
            key
            for name, found in LOCKED.items()
            if name.startswith(f"{paper} ")
            for key, _ in found.values()
        }
        claims = claims_of(paper)
        assert {claim.kind for claim in claims.values()} <= set(KINDS)
        assert judged - {OURS} <= claims.keys()
        assert {key for key, claim in claims.items() if claim.not_shown} & judged == set()


@pytest.mark.parametrize(("paper", "figure"), NEEDS, ids=["-".join(item) for item in NEEDS])
@pytest.mark.usefixtures("no_data")
def test_missing_data_are_said_so_and_nothing_is_claimed(paper, figure, tmp_path):
    outcome = reproduce(paper, [figure], Run("smoke", tmp_path / "out", seed=SEED))[figure]
    assert outcome == FigureOutcome(notes=f"Not run: {outcome.missing}", missing=outcome.missing)
    assert "TIGHTROPE_DATA" in outcome.missing
    assert outcome.missing.split(";")[0] in (tmp_path / "out" / "report.html").read_text()


def test_readmes_name_every_figure():
    for paper in names():
        text = (pathlib.Path(figures(paper).popitem()[1].__file__).parent / "README.md").read_text()
        command = next(
            line for line in text.splitlines() if line.startswith("`tightrope reproduce")
        )
        assert set(command.split("--figure ")[1].split()[0].strip("]`").split("|")) == set(
            figures(paper)
        ), paper


@pytest.mark.parametrize(
    ("words", "paper", "figures", "scale"),
    [
        ("paper = 'lingap' is not one of", "lingap", None, "smoke"),
        ("scale = 'huge' is not one of", "lingape", None, "huge"),
        ("figure = 'fig99' is not one of", "lingape", ["fig99"], "smoke"),
    ],
)
def test_unknown_names_are_refused(tmp_path, words, paper, figures, scale):
    with pytest.raises(ValueError, match=words):
        reproduce(paper, figures, Run(scale, tmp_path))
