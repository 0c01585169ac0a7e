"""The demo in small, without data: its sections, their sentences and colours, and its page made
again."""

import re

import numpy as np
import pytest
from typer.testing import CliRunner

from planted import measured_in_a_browser
from tiers import thorough
from tightrope.cli.application import app
from tightrope.extend import standard_error
from tightrope.pages import slug
from tightrope.results import Result
from tightrope_papers.conservative.measures import ranked_baseline
from tightrope_papers.demo import DemoSetting, guarantees, run_demo, structures

SIZE = 0.02


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    """All sections; nothing is found in the folders of data, nor can be downloaded."""
    out = tmp_path_factory.mktemp("demo")
    said: list[str] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TIGHTROPE_DATA", "")
        patch.setenv("XDG_CACHE_HOME", str(out / "cache"))
        patch.setattr(
            "pooch.retrieve", lambda *words, **options: (_ for _ in ()).throw(OSError("no network"))
        )
        patch.chdir(out)
        yield run_demo(out / "demo", size=SIZE, say=said.append), said


@thorough
def test_every_section_has_its_sentence_and_says_where_its_data_are_from(demo):
    made, said = demo
    assert [section.title.split(":")[0] for section in made.sections] == [
        "Safe",
        "Stop",
        "Learn the width",
        "Sets",
        "Price",
        "What would it have earned",
    ]
    html = made.page.read_text()
    for section in made.sections:
        assert section.summary.endswith(".") and len(section.summary.split()) <= 25
        assert section.figures
        assert html.index(f'id="{slug(section.title)}"') < html.index(
            "<svg", html.index(f'id="{slug(section.title)}"')
        )  # before the picture
        assert "ynthetic" in section.text
    missing = [
        name
        for name in ("Jester", "MovieLens", "Open Bandit")
        if any(name in words for words in said)
    ]
    assert missing == ["MovieLens", "Open Bandit"]
    assert html.count("Synthetic twin, because the data are not here") == 3


@thorough
def test_a_policy_has_one_colour_on_the_whole_page(demo):
    made, _ = demo
    shared = {
        "BetaThompson",
        "LinUCB",
        "SoftUCB",
        "CUCB2",
        "Safe(BetaThompson)",
        "CKL-UCB",
        "KL-UCB",
        "C2UCB",
        "CombTS",
        "greedy",
    }
    seen: dict[str, set[str]] = {}
    for section in made.sections:
        for picture in section.figures:
            for entry in picture.entries:
                seen.setdefault(entry.name, set()).add(entry.colour)
            named = {entry.name: entry.colour for entry in picture.entries if entry.name in shared}
            assert len({*named.values()}) == len(
                named
            )  # told apart where they meet; the page has more names than colours
    assert shared <= seen.keys()
    assert all(len(seen[name]) == 1 for name in shared)


@thorough
def test_report_makes_the_page_of_a_demo_again_without_playing(demo, monkeypatch):
    made, _ = demo
    folder = made.page.parent
    kept = {path: path.read_bytes() for path in DemoSetting(folder).runs.glob("*/regret.parquet")}
    assert len(kept) == 5
    made.page.unlink()

    def plays(*words):
        raise AssertionError("a chunk was played")

    monkeypatch.setattr("tightrope.simulation.executors.RunRecipe.compute", plays)
    done = CliRunner().invoke(app, ["report", str(folder)], terminal_width=400)
    assert done.exit_code == 0, done.output
    for section in made.sections:
        if not section.title.startswith("Sets"):  # whose sentence ends with a measured time
            assert section.summary in done.output.replace("\n", " ").replace("  ", " ")
    assert made.page.exists()
    assert {
        path: path.read_bytes() for path in DemoSetting(folder).runs.glob("*/regret.parquet")
    } == kept
    next((DemoSetting(folder).runs / "price" / "chunks").iterdir()).unlink()
    with pytest.raises(
        AssertionError, match="a chunk was played"
    ):  # or nothing above would have shown that none was
        CliRunner().invoke(app, ["report", str(folder)], catch_exceptions=False)


@thorough
@pytest.mark.parametrize("width", [1280, 390])
def test_the_page_fits(demo, width, tmp_path):
    made, _ = demo
    code = """{scroll: d.documentElement.scrollWidth, panels: [...d.querySelectorAll(".panels > svg")].map(box).map(r => [r.width, r.height])}"""
    seen = measured_in_a_browser(made.page, width, code, tmp_path)
    assert seen["scroll"] <= width
    assert len(seen["panels"]) == 4 + 1 + 2 + 1 + 2 + 2
    assert all(w > 250 and h > 100 for w, h in seen["panels"])


# Sentences of planted results ---------------------------------------------------------------------


def harmed(violations, regret):
    """A result with these violations and final regrets by policy."""
    rounds = np.array([1, 10])
    watched = {
        name: {
            "violations": np.array(v, dtype=float)[:, None],
            "budget": np.array([[-1.0, -1.0 if n > 2 else 1.0] for n in v]),
        }
        for name, v in violations.items()
    }
    curves = {
        name: np.stack([np.zeros(len(values)), values], axis=1) for name, values in regret.items()
    }
    return Result(
        rounds, curves, {name: np.ones((len(v), 2)) for name, v in regret.items()}, watched
    )


@thorough
def test_data_that_come_later_are_played_beside_the_twin(demo, monkeypatch):
    made, _ = demo
    folder = made.page.parent
    monkeypatch.setattr(
        "tightrope.problems.data.movielens_stars",
        lambda count, **given: structures.width_twin(count, 5),
    )
    assert "ynthetic" not in structures.width_section(DemoSetting(folder, size=SIZE)).text
    runs = DemoSetting(folder).runs
    assert {"width", "width, twin"} <= {path.name for path in runs.glob("width*")}


def test_another_version_plays_in_a_folder_of_its_own_and_is_not_refused(tmp_path, monkeypatch):
    before = DemoSetting(tmp_path)
    folder = before.runs
    assert before.play("price")["out"] == folder / "price"
    monkeypatch.setattr("tightrope_papers.demo.structures.CODE", ["other sources"])
    assert DemoSetting(tmp_path).runs != folder == before.out / "runs" / folder.name


def test_the_sentence_on_safety_counts_shops_and_says_what_safety_costs():
    noise = np.random.default_rng(0).normal(size=20)
    violations = {
        "BetaThompson": [3] * 15 + [0] * 5,
        "CUCB2": [0] * 20,
        "Safe(BetaThompson)": [1] + [0] * 19,
    }
    one = harmed(
        violations,
        {
            "BetaThompson": 10 + noise,
            "CUCB2": 30 + noise[::-1],
            "Safe(BetaThompson)": 10.01 + noise[::-1],
        },
    )
    said = guarantees.safe_sentence({"at once": one}, {"at once": guarantees.shops_behind(one)})
    assert "Of 20 shops" in said
    assert (
        "with at once BetaThompson 15 (of which 15 still are at the end), CUCB2 0 and "
        "Safe(BetaThompson) 1;" in said.replace(". After", "; After")
    )
    assert re.search(r"CUCB2's by \+(20|19)\.\d", said) and "Safe(BetaThompson)'s" not in said
    level = harmed(
        violations,
        {
            "BetaThompson": 10 + noise,
            "CUCB2": 10.01 + noise[::-1],
            "Safe(BetaThompson)": 10.02 + noise[::-1],
        },
    )
    assert "no difference in regret is shown" in guarantees.safe_sentence(
        {"at once": level}, {"at once": guarantees.shops_behind(level)}
    )


def test_a_fixed_test_that_is_shorter_is_said_to_be():
    rounds = 1000.0 + np.arange(20)
    assert guarantees.against(rounds, 5000) == "5.0 times as many"
    assert guarantees.against(rounds, 400) == "fewer: 0.40 times as many"
    assert guarantees.against(rounds, 1010) == "no difference shown"


def test_the_demo_plays_what_its_words_say(tmp_path):
    assert guarantees.FEATURES.shape == (12, 5)
    assert np.linalg.matrix_rank(guarantees.FEATURES) == 5
    revenue = structures.PRICES * structures.demand(structures.PRICES) / structures.PRICES[-1]
    assert np.abs(np.diff(revenue) / np.diff(structures.PRICES)).max() < structures.SLOPE
    for shop in guarantees.new_shops(5, seed=3):
        assert (
            shop.means.min() >= guarantees.LEAST_RATE and shop.means.max() <= guarantees.MOST_RATE
        )
        assert (
            shop.means > shop.means[ranked_baseline(shop, guarantees.RANK)["baseline"]]
        ).sum() == guarantees.RANK - 1
    assert "proved to be the best" in structures.timed_assignment(0)
    rates = guarantees.FEATURES @ guarantees.EFFECTS
    assert (
        rates >= rates.max() - guarantees.EPSILON
    ).sum() == 1  # one variant is good enough, or "good enough" would say little
    case = guarantees.log_twin(DemoSetting(tmp_path), "")
    (rows,) = case.log.chunks(guarantees.ROWS)
    gained = rows.reward * case.policy[rows.arm] * guarantees.ITEMS
    assert abs(gained.mean() - case.known[0]) < 4 * standard_error(
        gained
    )  # "the truth of this twin"
    assert case.known[0] - rows.reward.mean() > 4 * standard_error(
        rows.reward
    )  # and "prefers good items"
