"""Every figure of every reproduction runs at the smallest scale and leaves claims with verdicts, figures and a report."""

import json

import pytest

from tightrope.papers.experiment import VERDICTS, Run, below, near, papers, reproduce

FIGURES = [(paper, figure) for paper, package in papers().items() for figure in package.FIGURES]


@pytest.mark.parametrize(("paper", "figure"), FIGURES, ids=["-".join(item) for item in FIGURES])
def test_figure_runs_at_smoke_scale(paper, figure, tmp_path):
    outcome = reproduce(paper, [figure], Run("smoke", tmp_path, seed=1))[figure]
    saved = json.loads((tmp_path / figure / "claims.json").read_text())
    if outcome.notes.startswith("Not run"):
        assert "TIGHTROPE_DATA" in outcome.notes
        return
    assert saved["claims"]
    for claim in saved["claims"]:
        assert claim["verdict"] in VERDICTS
        assert claim["test"]
    for name in outcome.plots:
        assert (tmp_path / figure / f"{name}.svg").stat().st_size > 2000
    page = (tmp_path / "report.html").read_text()
    assert saved["claims"][0]["verdict"] in page
    assert "<script" not in page


def test_unknown_names_are_refused(tmp_path):
    with pytest.raises(ValueError, match="paper = 'lingap' is not one of"):
        reproduce("lingap", None, Run("smoke", tmp_path))
    with pytest.raises(ValueError, match="scale = 'huge' is not one of"):
        reproduce(FIGURES[0][0], None, Run("huge", tmp_path))
    with pytest.raises(ValueError, match="figure = 'fig99' is not one of"):
        reproduce(FIGURES[0][0], ["fig99"], Run("smoke", tmp_path))


def test_verdicts_follow_their_rule():
    assert below(-1.0, 0.2) == "reproduced"
    assert below(-0.5, 0.2) == "partly"
    assert below(0.1, 0.2) == "not reproduced"
    assert near(0.52, 0.01, 0.5, relative=0.1) == "reproduced"
    assert near(0.58, 0.01, 0.5, relative=0.1) == "partly"
    assert near(0.9, 0.01, 0.5, relative=0.1) == "not reproduced"
