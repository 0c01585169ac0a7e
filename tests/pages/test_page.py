"""Pages: what they say, in which colours, and how they look on a telephone and in the dark."""

import re

import numpy as np
import pytest

from planted import identification, measured_in_a_browser, simulation
from tightrope import pages as page
from tightrope.core import files
from tightrope.pages import join_runs, join_same_questions, simulation_section, write_report
from tightrope.plots import figures, style, style as pictures, style as sentences
from tightrope.plots.style import shares, shares_figure

RNG = np.random.default_rng(0)
NOISE = RNG.normal(size=30)


# Sentences ----------------------------------------------------------------------------------------


def test_a_sentence_names_the_best_only_where_chance_would_hardly_make_it():
    sure = sentences.lowest({"A": 50 + NOISE, "B": 60 + NOISE}, "regret")
    assert sure.startswith("A has the lowest regret, ") and "10 below B" in sure
    assert sentences.lowest({"A": 60 + NOISE, "B": 50 + NOISE}, "regret").startswith("B has")
    shuffled = RNG.permutation(NOISE)
    level = sentences.lowest({"A": 50 + NOISE, "B": 50.05 + shuffled, "C": 90 + NOISE}, "regret")
    assert (
        level.startswith("No difference is shown among A (")
        and "; all others have more" in level
        and "C (" not in level
    )
    alone = sentences.lowest({"A": 50 + NOISE, "B": 50.05 + shuffled}, "regret")
    assert alone.startswith("No difference in regret is shown among A (")
    assert "one replication shows no difference" in sentences.lowest(
        {"A": np.array([1.0]), "B": np.array([9.0])}, "regret"
    )
    gained = sentences.lowest(
        {"A": -(50 + NOISE), "B": -(60 + NOISE)}, "gain", least="highest", below="above"
    )
    assert gained.startswith("B has the highest gain, 59.88 ± 0.15: 10 above A")


def test_sentences_are_wrong_about_equal_policies_in_no_more_cases_than_they_may():
    """2,000 pairs without a difference: at most 1% of sentences claim one, and 4 standard errors of
    that."""
    rng, runs = np.random.default_rng(1), 2000
    wrong = sum(sentences.differ(rng.normal(size=8), rng.normal(size=8)) for _ in range(runs))
    assert wrong <= runs * sentences.ERROR + 4 * (runs * sentences.ERROR) ** 0.5
    assert wrong > 0  # or the margin would be too wide to ever show anything


@pytest.mark.parametrize(
    ("value", "error", "text"),
    [
        (123.456, 1.234, "123.5 ± 1.2"),
        (12345.6, 120.0, "12,350 ± 120"),
        (0.0123456, 0.00078, "0.01235 ± 0.00078"),
        (5.0, 0.0996, "5.00 ± 0.10"),
        (-0.001, 0.2, "0.00 ± 0.20"),
        (7.25, 0.0, "7.25"),
        (120.04, np.nan, "120.04"),
        (7.0, np.inf, "7"),
    ],
)
def test_the_standard_error_sets_the_digits(value, error, text):
    assert files.with_error(value, error) == text


# Colours ------------------------------------------------------------------------------------------


def test_a_policy_has_one_colour_in_all_sections(tmp_path):
    first = simulation({"A": 50 + NOISE, "B": 60 + NOISE})
    second = simulation({"C": 40 + NOISE, "B": 70 + NOISE, "A": 80 + NOISE})
    third = identification({"B": 100 + NOISE, "A": 120 + NOISE})
    html = write_report(
        {"one": first, "two": second, "three": third}, tmp_path / "r.html"
    ).read_text()
    seen: dict[str, set[str]] = {}
    for colour, name in re.findall(r'style="stroke: (var[^;]*);[^>]*/></svg>([^<]*)</li>', html):
        seen.setdefault(name, set()).add(colour)
    assert {name: len(colours) for name, colours in seen.items()} == {"A": 1, "B": 1, "C": 1}
    assert len(set.union(*seen.values())) == 3
    # The strips of the second section are in the same colours, in the order of its policies.
    palette = style.Palette(["A", "B", "C"])
    strips = [
        patch.get_facecolor()[:3] for patch in shares_figure(second, palette).axes[0].patches[::3]
    ]
    assert strips == [
        tuple(int(palette.colour(name)[i : i + 2], 16) / 255 for i in (1, 3, 5))
        for name in ("C", "B", "A")
    ]


def test_more_names_than_colours_differ_by_their_lines():
    palette = style.Palette(str(i) for i in range(25))
    assert len({(palette.colour(str(i)), palette.line(str(i))) for i in range(25)}) == 25


def luminance(colour):
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    return sum(
        w * (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4)
        for w, c in zip((0.2126, 0.7152, 0.0722), parts, strict=True)
    )


def contrast(one, other):
    low, high = sorted([luminance(one), luminance(other)])
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize(("theme", "paper"), [(page.LIGHT, "#ffffff"), (page.DARK, "#1b242b")])
def test_letters_and_lines_can_be_read_in_both_themes(theme, paper):
    colours = dict(re.findall(r"--(\w+): (#\w+);", theme))
    assert contrast(colours["ink"], paper) > 7
    assert contrast(colours["soft"], paper) > 4.5
    assert min(contrast(colours[f"c{i}"], paper) for i in range(len(style.COLOURS))) > (
        2.2 if theme is page.LIGHT else 4.5
    )
    assert f"--paper: {paper}" in write_theme()


def write_theme():
    return page.render_page("t", "", [], {})


def test_figures_take_all_their_colours_from_the_theme():
    """No letter, line or background of a figure keeps a colour of its own, which would not be seen
    in the dark."""
    section = simulation_section(
        "one", simulation({"A": 50 + NOISE, "B": 60 + NOISE}, lower_bound=[2.0, 0.0])
    )
    for each in section.figures:
        for panel in each.panels:
            bare = re.sub(r"var\(--\w+, #[0-9a-f]{6}\)", "", panel)
            assert (
                re.findall(
                    r"#[0-9a-f]{6}\b(?!-)", re.sub(r'(?:href|id|clip-path)="[^"]*"', "", bare)
                )
                == []
            )
            assert ("var(--ink, " in panel and "opacity: 0.15" in panel) or "var(--c0" in panel


# Pictures -----------------------------------------------------------------------------------------


def test_a_panel_holds_its_curve():
    fig, (left, right) = style.figure(2)
    for ax in (left, right):
        ax.plot([0.0, 1.0, 2.0], [5.0, 1.0, 3.0], color=style.colour(0), label="A")
    style.legend(right)
    drawn = pictures.picture(fig)
    assert len(drawn.panels) == 2
    for panel in drawn.panels:
        (path,) = re.findall(
            r'<path d="M ([\d.]+) ([\d.]+) \nL ([\d.]+) ([\d.]+) \nL '
            r"([\d.]+) "
            r"([\d.]+) "
            r'\n"[^>]*var\(--c0',
            panel,
        )
        line = np.array(path, dtype=float).reshape(3, 2)
        x, y, w, h = map(float, re.search(r'viewBox="([^"]*)"', panel)[1].split())
        assert (
            (line[:, 0] > x).all()
            and (line[:, 0] < x + w).all()
            and (line[:, 1] > y).all()
            and (line[:, 1] < y + h).all()
        )
    assert drawn.entries == [pictures.LegendEntry("A", style.colour(0), "-")]


def test_a_legend_shows_the_line_of_a_curve_with_error_bars():
    fig, (ax,) = style.figure()
    x, y = [0.0, 1.0, 2.0], [1.0, 2.0, 4.0]
    ax.errorbar(
        x, y, [0.1] * 3, color=style.colour(0), linestyle="-.", capsize=3, label="dashes and dots"
    )
    ax.errorbar(x, y, [0.1] * 3, color=style.colour(1), linestyle="-", label="whole")
    ax.errorbar(x, y, [0.1] * 3, color=style.colour(2), fmt="D", capsize=3, label="points")
    ax.bar(x, y, color=style.colour(3), label="bars")
    style.legend(ax)
    lines = {entry.name: (entry.line, entry.colour) for entry in pictures.picture(fig).entries}
    assert lines == {
        "dashes and dots": ("-.", style.colour(0)),
        "whole": ("-", style.colour(1)),
        "points": ("", style.colour(2)),
        "bars": ("", style.colour(3)),
    }


def test_a_legend_never_squeezes_its_plot():
    """Axes with many curves are as large as with few; the figure grows instead."""
    sizes = []
    for count in (2, 14):
        fig = figures.regret_figure(
            simulation({f"a policy of a long name {i}": 50 + i + NOISE for i in range(count)})
        )
        fig.draw_without_rendering()
        box = fig.axes[0].get_window_extent()
        sizes.append((box.width, box.height))
    assert sizes[1][0] > 0.95 * sizes[0][0]
    assert sizes[1][1] > 0.95 * sizes[0][1]


def test_arms_have_whole_numbers():
    ax = shares_figure(simulation({"A": 50 + NOISE}, arms=2)).axes[0]
    ticks = [tick for tick in ax.get_xticks() if ax.get_xlim()[0] <= tick <= ax.get_xlim()[1]]
    assert ticks == [0, 1]


def test_shares_of_sets_are_of_rounds():
    result = simulation({"A": 50 + NOISE}, arms=10, of_a_set=4)
    np.testing.assert_allclose(shares(result, "A"), 0.4)
    section = simulation_section("sets", result)
    assert (
        "The fullest colour is 40% of the rounds. A round plays a set of up to 4 arms."
        in section.figures[1].caption
    )
    assert "set" not in simulation_section("arms", simulation({"A": 50 + NOISE})).figures[1].caption
    np.testing.assert_allclose(shares(identification({"A": np.array([40.0, 80.0])}), "A"), 0.25)


def test_a_bound_above_all_curves_is_called_asymptotic_or_left_out():
    def names(constant):
        result = simulation({"A": 50 + NOISE, "B": 60 + NOISE}, lower_bound=[constant, 0.0])
        return [
            line.get_label() for line in figures.regret_figure(result).axes[0].get_lines()
        ], simulation_section("x", result)

    inside, section = names(30.0 / np.log(1000))
    assert "C(θ) ln T" in inside and "Not drawn" not in section.figures[0].caption
    above, section = names(70.0 / np.log(1000))
    assert "C(θ) ln T, asymptotic: it holds in the long run only" in above
    far, section = names(700.0 / np.log(1000))
    assert far == ["A", "B"]
    assert (
        "Not drawn" in section.figures[0].caption
        and "asymptotic" in section.figures[0].caption
        and "700" in section.figures[0].caption
    )


# Screens ------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def two_panels(tmp_path_factory):
    """A page with a figure of two panels, one of one, and a table of many columns."""
    fig, axes = style.figure(2)
    for ax in axes:
        ax.plot([0.0, 1.0], [0.0, 1.0], color=style.colour(0), label="A")
    style.legend(axes[-1])
    words = (
        "A caption that is much longer than a telephone is wide, and that must be read whole "
        "nevertheless. " * 2
    )
    wide = page.Table(
        [f"column {i}" for i in range(12)], [["a value"] * 12], "A table.", aligned=False
    )
    sections = [
        page.Section(
            "Panels", "Text.", [pictures.picture(fig, words)], [wide], summary="Found this."
        ),
        simulation_section(
            "Curves", simulation({f"policy {i}": 50 + 10 * i + NOISE for i in range(9)})
        ),
    ]
    return page.write_page(
        tmp_path_factory.mktemp("page") / "r.html", "Title", "Lead.", sections, {"seed": 0}
    )


SEEN = """{scroll: d.documentElement.scrollWidth,
panels: [...d.querySelectorAll("#panels .panels > svg")].map(box).map(r => [r.left, r.top, r.width, r.height]),
figures: [...d.querySelectorAll("figure .panels > svg")].map(box).map(r => [r.width, r.height]),
captions: [...d.querySelectorAll("figcaption, .caption, .names, .summary")].map(e => [e.scrollWidth - e.clientWidth, box(e).right]),
hint: getComputedStyle(d.querySelector(".hint")).display, table: d.querySelector(".scroll").scrollWidth > d.querySelector(".scroll").clientWidth,
ink: getComputedStyle(d.querySelector("figure svg")).fill, paper: getComputedStyle(d.querySelector("section")).backgroundColor,
found: [...d.querySelectorAll("ol.found li")].length}"""


@pytest.mark.parametrize("width", [1280, 390])
def test_page_fits_the_screen_in_a_real_browser(two_panels, width, tmp_path):
    """Rendered by a browser: nothing is wider than the window, panels stack, captions are whole,
    wide tables say that they scroll."""
    seen = measured_in_a_browser(two_panels, width, SEEN, tmp_path)
    assert seen["scroll"] <= width
    (left, top, w, h), (left2, top2, w2, _) = seen["panels"]
    if width == 390:
        assert left == left2 and top2 >= top + h
        assert min(w, w2) > 0.75 * width
        assert seen["table"] and seen["hint"] != "none"
    else:
        assert top == top2 and left2 >= left + w
    assert all(over <= 0 and right <= width for over, right in seen["captions"])
    assert all(w > 0.75 * width or w >= 300 for w, _ in seen["figures"]) and all(
        h > 50 for _, h in seen["figures"]
    )
    assert seen["found"] == 2


def test_a_dark_page_has_light_letters_in_its_figures(two_panels, tmp_path):
    seen = measured_in_a_browser(
        two_panels, 1280, SEEN, tmp_path, "--blink-settings=preferredColorScheme=0"
    )
    assert (seen["ink"], seen["paper"]) == ("rgb(227, 233, 238)", "rgb(27, 36, 43)")


def test_page_fetches_nothing(two_panels):
    html = two_panels.read_text()
    assert "<script" not in html
    for attribute in ('src="', "@import", "url(http", "<link"):
        assert attribute not in html


# Several results ----------------------------------------------------------------------------------


def test_results_of_one_question_are_compared_and_others_are_not():
    asked = {
        "problem": {"digest": "x"},
        "rounds": [1],
        "policies": {"A": {"policy": "UCB", "alpha": 1.0}},
    }
    one = simulation({"A": 50 + NOISE}, **asked)
    same = simulation({"A": 60 + NOISE[:20]}, **asked)
    other = simulation(
        {"A": 70 + NOISE}, **(asked | {"policies": {"A": {"policy": "UCB", "alpha": 2.0}}})
    )
    elsewhere = simulation({"A": 80 + NOISE}, **(asked | {"seed": 5}))
    assert join_same_questions({"a": one, "b": elsewhere}) == {}
    (name,) = join_same_questions({"a": one, "b": other, "c": elsewhere})
    assert name == "Compared: a, b"
    assert join_runs({"a": one, "b": other}).policies == ["A (a)", "A (b)"]
    assert join_runs({"a": one, "b": same}).policies == ["A"]
    assert join_runs({"a": one, "b": other}).replications == 30
