"""The pages of results say what the stored rows say: every claim a cell, every chip a link that
leads somewhere, no folder of a machine."""

import json
import pathlib
import re

import dark_pictures
import make_results
import pytest

from tightrope_papers import names
from tightrope_papers.experiment import claim_standings, claims_of
from tightrope_papers.scoring import CONTRADICTED, UNDECIDED

DOCS = pathlib.Path(__file__).parents[1] / "docs"
RESULTS = DOCS / "results"


@pytest.fixture(scope="module")
def pages():
    return make_results.pages()


@pytest.fixture(scope="module")
def standing():
    return {
        paper: claim_standings(paper, make_results.outcomes_of(paper, make_results.known(paper)))
        for paper in names()
    }


def test_the_picture_has_a_cell_for_every_claim_and_is_of_the_stored_rows(standing):
    drawing = make_results.overview(standing)
    assert drawing == (make_results.DRAWN / make_results.OVERVIEW).read_text()
    assert drawing.count("<title>") == sum(len(claims_of(paper)) for paper in names())
    verdicts = [one.verdict for claims in standing.values() for one in claims]
    assert drawing.count("<path") == verdicts.count(CONTRADICTED) + 1  # and one in the legend
    paper = next(iter(standing))
    other = standing | {paper: [one._replace(verdict=CONTRADICTED) for one in standing[paper]]}
    assert make_results.overview(other).count("<path") > drawing.count("<path")


@pytest.mark.parametrize("paper", names())
def test_every_link_of_a_page_leads_to_a_place_on_it_and_every_picture_is_there(paper, pages):
    text = pages[f"results/claims-{paper}.md"]
    places = re.findall(r'<a id="([^"]+)"', text)
    assert len(places) == len(set(places))
    links = re.findall(r'<a href="#([^"]+)"', text)
    assert len(links) >= len(claims_of(paper))
    assert set(links) <= set(places)
    pictures = re.findall(r"\]\((figures/[^)]+)\)", text)
    assert [name for name in pictures if not (RESULTS / name).exists()] == []
    stored = {
        path.relative_to(RESULTS).as_posix() for path in (RESULTS / "figures" / paper).glob("*.svg")
    }
    assert stored == set(pictures)


def test_the_page_that_the_readme_shows_is_of_the_stored_rows(pages):
    assert (RESULTS / "claims.md").read_text() == pages["results/claims.md"]


@pytest.mark.parametrize("paper", names())
def test_chips_say_where_claims_stand(paper, standing, pages):
    text = pages[f"results/claims-{paper}.md"]
    for one in standing[paper]:
        said = set(
            re.findall(
                rf'<a href="#[^"]+--{re.escape(one.claim.key)}"><b class="[^"]+">([^<]+)</b>', text
            )
        )
        assert said == {one.verdict}, one.claim.key


def test_every_open_claim_has_its_price(standing, pages):
    open_ = [
        one.claim for claims in standing.values() for one in claims if one.verdict == UNDECIDED
    ]
    assert [claim.key for claim in open_ if not claim.core_hours or not claim.price] == []
    text = pages["results/explorer.md"].partition("## What the open claims would cost")[2]
    assert [
        claim.key
        for claim in open_
        if f"| `{claim.key}` | {claim.core_hours:g} h | {claim.price} |" not in text
    ] == []


def test_stored_rows_name_no_folder():
    assert {
        "/" in json.loads(path.read_text())["command"] for path in RESULTS.glob("rows/*/*.json")
    } == {False}


def test_pictures_have_twins_for_dark_paper():
    drawing = (make_results.DRAWN / make_results.OVERVIEW).read_text()
    light, dark = (
        set(re.findall(r"#[0-9a-f]{6}", text))
        for text in (drawing, dark_pictures.darkened(drawing))
    )
    assert len(dark) == len(light)
    assert not dark & {"#22303c", "#2a9d6f"}
