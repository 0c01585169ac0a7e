"""Takes the rows and pictures of `tightrope reproduce` into docs/results: `make_results.py
[FOLDER...]`; `pages` makes the pages of them, which the site's build writes.

One page for each paper, with its story (docs/results/stories), figures, every claim and every row,
one with their counts, one with all claims to be filtered, and a picture of all claims. A figure's
rows are replaced by those of the same or a larger scale, so that a run at laptop scale leaves what
is known at paper scale. Numbers and curves only; nothing of the data sets.
"""

import html
import json
import math
import pathlib
import re
import sys
import textwrap
from collections.abc import Iterable, Mapping
from typing import Any

from fresh_seeds import FRESH_NUMBERS, FreshNumbers

from tightrope.core.files import with_error
from tightrope.plots import style
from tightrope.plots.style import theme_colour
from tightrope_papers import names
from tightrope_papers.experiment import (
    COSTS_FILE,
    HOW_CLAIMS_STAND,
    PICTURES,
    ROWS,
    SCALES,
    FigureOutcome,
    claim_standings,
    figure_records,
    figures,
    find_paper,
    in_words,
    paper_of,
    register_of,
    rows_table,
    sentence,
    shortened,
)
from tightrope_papers.scoring import (
    ASYMPTOTIC,
    CONTRADICTED,
    DEPENDS,
    IN_READING,
    JUDGED,
    NO_DATA,
    NOT_JUDGED,
    NOT_SHOWN,
    REPRODUCED,
    STANDINGS,
    UNDECIDED,
    ClaimStanding,
    Row,
    counts,
    what_passes,
)

PAGES = pathlib.Path(__file__).parent / "results"
KEPT = PAGES / "rows"  # PAPER/FIGURE.json, as `tightrope reproduce` wrote it
COLUMNS = ("judged", *STANDINGS)
DRAWN = (
    PAGES / "figures"
)  # PAPER/FIGURE-NUMBER.svg, a panel each, and PAPER/FIGURE.json, which names their curves
OVERVIEW = "claims.svg"  # in DRAWN: all claims as cells
COLOUR_OF = {
    REPRODUCED: style.COLOURS[2],
    IN_READING: style.COLOURS[8],
    DEPENDS: style.COLOURS[3],
    UNDECIDED: style.AXIS,
    CONTRADICTED: style.COLOURS[1],
    NO_DATA: style.COLOURS[9],
    ASYMPTOTIC: style.COLOURS[0],
    NOT_JUDGED: style.SOFT,
    NOT_SHOWN: style.COLOURS[4],
}
CELLS, CELL, STEP = 24, 13, 16  # of the overview: claims in a line, their size and distance
ALT = "All claims as cells by paper and verdict; the numbers are in the table of the page on claims"
STORIES = PAGES / "stories"  # PAPER.md: what held, what failed, why; written by hand
CONTRADICTIONS = (
    "contradictions"  # below PAGES: a page for every claim that is contradicted, written by hand
)
FRESH = "fresh-seeds"  # below KEPT: PAPER/FIGURE-SEED.json on seeds other than 0
# in KEPT: how claims stood at the second reading, when "partly" contradicted
BEFORE = "before.json"
PAIRED = "bands: two standard errors of the difference from the mean of all curves in the same run"
BANDS = "bands: two standard errors"
LEAVES = "A triangle marks where a curve leaves the panel."
BY_MODEL = "Worst and best model: means of {one} runs; middle: of {all}, on 70 models"
MAB, LINEAR = BY_MODEL.format(one=14, all=980), BY_MODEL.format(one=120, all="8,400")
# What the pictures of a figure show: means of how many runs, what bands are. At the scale drawn.
CAPTIONS = {
    ("conservative", "fig1"): f"Means of 980 runs, on 70 models; {PAIRED}.",
    ("conservative", "fig3-mab"): f"{MAB}; {PAIRED}.",
    ("conservative", "fig3-linear"): f"{LINEAR}; {PAIRED}.",
    ("conservative", "fig5"): f"Means of 1,000 runs, 10 of each user; {PAIRED}.",
    ("conservative", "fig6"): f"{MAB}; {PAIRED}.",
    ("conservative", "fig7"): f"{LINEAR}; {PAIRED}.",
    ("conservative", "fig8"): "Means of 1,000 runs, 10 of each user, their beginning on the left; "
    f"{PAIRED}.",
    ("lingape", "fig2"): "Means of 100 runs; bars: one standard error, where it is longer than a "
    "dot. LinGapE by ratio lies on LinGapE, ε = gap/2.",
    ("lipschitz", "contextual"): f"Means of 200 runs; {BANDS}. {LEAVES}",
    ("lipschitz", "continuous"): f"Means of 50 runs; {BANDS}. {LEAVES}",
    ("lipschitz", "discrete"): "Means of 800 runs with 17 arms, of 400 with 46, of 150 for OSLB "
    f"and TrackCKLUCB; {BANDS}. {LEAVES}",
    ("lipschitz", "slope"): f"Means of 400 runs; {BANDS}. {LEAVES}",
    ("openbandit", "values"): "Dots: estimates of 10,000 impressions, grey where refused, with "
    "bars of two standard errors; line and band: what the policy itself earned, with its own.",
    ("semibandits", "fig2"): "Means of 1,000 trials; bars: two standard errors.",
    ("semibandits", "fig4"): "Means of 200 trials with features U, of 20 (ML-1M) or 40 (ML-100k) "
    f"with the others; {BANDS}.",
    ("successors", "best-arms"): "Dots: means; bars: two standard errors.",
    ("successors", "changing"): f"Means of 100 runs; {PAIRED}.",
    ("successors", "clusters"): "Means of 40 worlds; bars: two standard errors.",
    ("successors", "sets"): f"Means of 40 runs; {BANDS}.",
    ("successors", "unknown-l"): f"Means of 100 runs; {PAIRED}.",
    ("successors", "widths"): f"Means of 40 worlds; {PAIRED}.",
    ("softucb", "table1"): f"Means of 300 instances; {BANDS}.",
}


def line(cells: Any) -> str:
    """A row of a Markdown table."""
    return (
        "| " + " | ".join(str(cell).replace("|", "\\|").replace("\n", " ") for cell in cells) + " |"
    )


def paragraph(words: str) -> list[str]:
    """A paragraph as lines, and an empty one."""
    return [*textwrap.wrap(words, 120, break_long_words=False, break_on_hyphens=False), ""]


def table(columns: Any, rows: Any) -> list[str]:
    """A Markdown table."""
    return [line(columns), line("---" for _ in columns), *map(line, rows), ""]


def taken_in(folders: list[pathlib.Path]) -> None:
    """Keep the rows of the folders' figures."""
    for folder in sorted({path.parent.parent for given in folders for path in given.rglob(ROWS)}):
        found = figure_records(folder)
        paper = paper_of(folder, found)
        for name, saved in found.items():
            kept = KEPT / paper / f"{name}.json"
            if saved["seed"] != 0:
                kept = KEPT / FRESH / paper / f"{name}-{saved['seed']}.json"
            if kept.exists() and SCALES.index(json.loads(kept.read_text())["scale"]) > SCALES.index(
                saved["scale"]
            ):
                continue
            kept.parent.mkdir(parents=True, exist_ok=True)
            plain = re.sub(
                r" --out [^\s\"\\]+", "", (folder / name / ROWS).read_text()
            )  # folders of one machine tell nobody anything
            kept.write_text(plain)
            if saved["seed"] == 0:
                keep_pictures(folder / name, paper, saved["scale"])


def keep_pictures(folder: pathlib.Path, paper: str, scale: str) -> None:
    """Keep the panels of a figure's pictures, each as a file, and what names their curves."""
    name, place = folder.name, DRAWN / paper
    if not (folder / PICTURES).exists() or not (
        pictures := json.loads((folder / PICTURES).read_text())
    ):
        return
    place.mkdir(parents=True, exist_ok=True)
    for old in [*place.glob(f"{name}-[0-9]*.svg"), *place.glob(f"{name}.json")]:
        old.unlink()
    shown: list[dict[str, Any]] = []
    number = 0
    for label, one in pictures.items():
        files = []
        for panel in one["panels"]:
            number += 1
            files.append(f"{name}-{number}.svg")
            (place / files[-1]).write_text(plain_panel(panel))
        shown.append(
            {"label": label, "panels": files, "entries": one["entries"], "note": one["note"]}
        )
    (place / f"{name}.json").write_text(
        json.dumps({"scale": scale, "pictures": shown}, indent=1, ensure_ascii=False) + "\n"
    )


def plain_panel(svg: str) -> str:
    """A panel as a file of its own: its own colours, one decimal, nothing to point at."""
    svg = re.sub(r"<metadata>.*?</metadata>|<g class=\"points\">.*?</g>", "", svg, flags=re.DOTALL)
    svg = re.sub(r"var\(--[\w-]+, (#[0-9a-f]{6})\)", r"\1", svg)
    svg = re.sub(
        r"-?\d+\.\d{2,}(?!\d*[eE])",
        lambda match: (
            f"{float(match[0]):.3g}" if abs(float(match[0])) < 1 else f"{float(match[0]):.1f}"
        ),
        svg,
    )
    return re.sub(r"\s*\n\s*", "\n", svg).strip() + "\n"


def known(paper: str) -> dict[str, Any]:
    """Rows of every figure of a paper."""
    return {
        path.stem: json.loads(path.read_text()) for path in sorted((KEPT / paper).glob("*.json"))
    }


def provenance(paper: str, name: str, saved: dict[str, Any]) -> str:
    """Where the rows of a figure come from."""
    versions = ", ".join(f"{package} {number}" for package, number in saved["versions"].items())
    return (
        f"`tightrope reproduce {paper} --figure {name} --scale {saved['scale']} --seed "
        f"{saved['seed']}`; {versions}."
    )


def anchor(figure: str, key: str) -> str:
    """The name of the place of a claim's first row in a figure."""
    return f"{figure}--{key}"


def chips(stand: list[ClaimStanding], figure: str | None) -> list[str]:
    """The claims that a figure judges, or those that none does, each with where it stands and a
    link: to its rows, or to its words."""
    lines = ['<ul class="chips">']
    for claim, verdict, rows, _ in stand:
        own = {row.figure for row in rows if not row.reading}
        if figure in own or (figure is None and not own):
            place = f"claim--{claim.key}" if figure is None else anchor(figure, claim.key)
            lines.append(
                f'<li><a href="#{place}"><b '
                f'class="{verdict_class(verdict)}">{verdict}</b> '
                f"{html.escape(shortened(claim.words))}</a></li>"
            )
    return [*lines, "</ul>", ""] if len(lines) > 1 else []


def verdict_class(verdict: str) -> str:
    """The class of a verdict's colours in the style sheet."""
    return f"verdict v{STANDINGS.index(verdict)}"


def drawn(paper: str, figure: str) -> list[str]:
    """The pictures of a figure, a panel each, with the names of their curves."""
    file = DRAWN / paper / f"{figure}.json"
    if not file.exists():
        return []
    kept = json.loads(file.read_text())
    lines = ["::::{container} panels"]
    for one in kept["pictures"]:
        for number, panel in enumerate(one["panels"], start=1):
            lines += [
                f"![{figure}, {one['label']}, panel {number} of "
                f"{len(one['panels'])}](figures/{paper}/{panel})",
                "",
            ]
        curves = " ".join(
            f"<span>{sample(entry)}{html.escape(entry['name'])}</span>" for entry in one["entries"]
        )
        said = f"{CAPTIONS[paper, figure]} Drawn at {kept['scale']} scale."
        lines += [f'<p class="curves">{curves} {html.escape(said)}</p>', ""]
    return [*lines, "::::", ""]


def sample(entry: dict[str, str]) -> str:
    """A piece of a curve, or a filled square, for its name."""
    look = {"-": "solid", "--": "dashed", "-.": "dashed", ":": "dotted"}.get(entry["line"])
    colour = theme_colour(entry["colour"])
    shown = f"border-top: 3px {look} {colour}" if look else f"background: {colour}; height: 0.8rem"
    return f'<i style="{shown}"></i>'


def page(paper: str, saved: dict[str, Any]) -> list[str]:
    """The page of a paper."""
    outcomes = outcomes_of(paper, saved)
    stand = claim_standings(paper, outcomes)
    lines = [f"# {find_paper(paper).TITLE}", ""]
    lines += [sentence(counts(stand)) + f" {HOW_CLAIMS_STAND}", ""]
    lines += [(STORIES / f"{paper}.md").read_text(), "## Figures", ""]
    lines += [
        "Beside each figure the claims that it judges, with a link to their rows; a claim that "
        "several figures judge stands at each. Where curves lie on one another, the upper ones "
        "are dashed or dotted and those below show through.",
        "",
    ]
    for name in sorted(
        outcomes, key=lambda one: not (DRAWN / paper / f"{one}.json").exists()
    ):  # pictures first
        if own := chips(stand, name):
            lines += [
                f"### {name}",
                "",
                ":::::{container} figure-with-claims",
                *drawn(paper, name),
                *own,
                ":::::",
                "",
            ]
        elif picture := drawn(paper, name):
            lines += [f"### {name}", "", "Not in the paper; its rows are below.", "", *picture]
    if own := chips(stand, None):
        lines += ["### No figure", "", *own]
    if waiting := [name for name in figures(paper) if name not in saved]:
        lines += [f"Not run yet: {', '.join(waiting)}.", ""]
    if readings := register_of(paper).readings:
        lines += [
            "## Readings",
            "",
            "What the figures take for granted where the paper leaves something open.",
            "",
        ]
        lines += cards(
            "readings",
            ("reading", "what", "figures", "source", "tried"),
            [
                (one.name, one.words, ", ".join(one.figures), one.source, one.tried)
                for one in readings
            ],
        )
    if false := [one for one in stand if one.verdict == CONTRADICTED]:
        lines += [
            "## Contradicted",
            "",
            "Each has a page with the counterexample or the proof, and the repair where there is "
            "one.",
            "",
        ]
        lines += [
            f"- {shown_at(paper, one.claim.key)}: {one.claim.words} ({one.claim.where})"
            for one in false
        ]
        lines.append("")
    lines += ["## Claims", ""]
    more = {
        place: f" [Counterexample]({CONTRADICTIONS}/{page})" for place, page in written_up().items()
    }
    rows = [
        (
            verdict,
            f'<a id="claim--{claim.key}"></a>`{claim.key}`',
            f"{claim.words}{'. Number: ' + claim.number if claim.number else ''} ({claim.where})",
            why + more.get((paper, claim.key), ""),
        )
        for claim, verdict, _, why in stand
    ]
    lines += cards("claims", ("verdict", "claim", "the paper's words", "why"), rows)
    lines += [
        "## What would pass as well",
        "",
        "How wrong the paper could be while a claim is called reproduced: what each of its rows "
        "does not tell from the printed statement.",
        "",
    ]
    powers = [
        (f"`{claim.key}`", row.figure, row.text, what_passes(row))
        for claim, verdict, own, _ in stand
        if verdict in (REPRODUCED, IN_READING)
        for row in own
        if not row.reading
    ]
    lines += cards("powers", ("claim", "figure", "what is compared", "what passes"), powers)
    lines += ["## Rows", ""]
    for name in outcomes:
        lines += [
            f"### Rows of {name}",
            "",
            provenance(paper, name, saved[name]),
            "",
            outcomes[name].notes,
            "",
        ]
        if outcomes[name].rows:
            lines += cards("rows", *rows_of(name, outcomes[name].rows))
    return lines


def rows_of(figure: str, rows: list[Row]) -> tuple[list[str], list[list[str]]]:
    """The table of a figure's rows; the first of each claim has a name to link to."""
    judged, named = rows_table(rows), set()
    cells = []
    for row, one in zip(rows, judged.rows, strict=True):
        first = row.key and not row.reading and row.key not in named
        named.add(row.key if not row.reading else "")
        cells.append(
            [
                one[0],
                (f'<a id="{anchor(figure, row.key)}"></a>' if first else "") + str(one[1]),
                *one[2:],
            ]
        )
    return list(judged.headers), cells


def cards(kind: str, columns: Any, rows: Any) -> list[str]:
    """A table whose rows are cards on narrow screens; kind: names its columns in the style
    sheet."""
    return [f"::::{{container}} cards {kind}", *table(columns, rows), "::::", ""]


def overview(stand: dict[str, list[ClaimStanding]]) -> str:
    """All claims as cells by paper and verdict, full ones judged, with a cross where they are
    contradicted, hollow ones not."""
    width, y, body = CELLS * STEP, 0, list[str]()

    def words(x: float, text: str, weight: str = "normal") -> None:
        body.append(
            f'<text x="{x}" y="{y}" '
            f'font-weight="{weight}" '
            f'fill="{style.INK}">{html.escape(text)}</text>'
        )

    def cell(x: float, top: float, verdict: str, said: str) -> None:
        look = (
            f'fill="{COLOUR_OF[verdict]}"'
            if verdict in JUDGED
            else f'fill="none" stroke="{COLOUR_OF[verdict]}" stroke-width="2"'
        )
        inset = 0 if verdict in JUDGED else 1
        box = (
            f'x="{x + inset}" '
            f'y="{top + inset}" '
            f'width="{CELL - 2 * inset}" '
            f'height="{CELL - 2 * inset}" rx="2"'
        )
        body.append(
            f"<rect {box} {look}>"
            + (f"<title>{html.escape(said)}</title>" if said else "")
            + "</rect>"
        )
        if verdict == CONTRADICTED:
            a, b, c, d = x + 3.5, x + CELL - 3.5, top + 3.5, top + CELL - 3.5
            body.append(
                f'<path d="M {a} {c} L {b} {d} M {b} {c} L '
                f'{a} {d}" '
                f'stroke="#ffffff" '
                f'stroke-width="1.6"/>'
            )

    for paper, claims in stand.items():
        y += 16
        words(0, f"{paper}: {len(claims)} claims", "600")
        y += 6
        ordered = sorted(claims, key=lambda one: STANDINGS.index(one.verdict))
        for number, one in enumerate(ordered):
            cell(
                number % CELLS * STEP,
                y + number // CELLS * STEP,
                one.verdict,
                f"{one.claim.key}: {one.verdict}",
            )
        y += (len(claims) - 1) // CELLS * STEP + STEP + 8
    y += 4
    everything = [one.verdict for claims in stand.values() for one in claims]
    for verdict in STANDINGS:
        if verdict in everything:
            y += STEP + 2
            cell(0, y - CELL + 2, verdict, "")
            words(STEP + 6, f"{everything.count(verdict)} {verdict}")
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 '
        f"{width} "
        f'{y + 8}" '
        f'width="{width}" '
        f'height="{y + 8}"'
    )
    return (
        f'{head} font-family="system-ui, sans-serif" font-size="13" role="img">\n'
        + "\n".join(body)
        + "\n</svg>\n"
    )


def in_numbers(number_of: Mapping[str, int], names_: Iterable[str]) -> str:
    """How many claims stand where, in words."""
    return ", ".join(f"{number_of[name]} {name}" for name in names_ if number_of[name])


def written_up() -> dict[tuple[str, str], str]:
    """The page of every claim, by paper and key, that a page of contradictions names on top."""
    found = {}
    for page in sorted((PAGES / CONTRADICTIONS).glob("*.md")):
        for key, paper in re.findall(r"\[`([\w-]+)`\]\(\.\./claims-(\w+)\.md\)", page.read_text()):
            found[paper, key] = page.name
    return found


def shown_at(paper: str, key: str) -> str:
    """A claim that is contradicted, with a link to its page where it has one."""
    page = written_up().get((paper, key))
    return f"`{key}`" if page is None else f"[`{key}`]({CONTRADICTIONS}/{page})"


def fresh_seeds() -> list[str]:
    """The figures of the readings on other seeds, beside those of the paper and of a check from
    outside."""
    lines = ["## The readings on fresh seeds", ""]
    lines += paragraph(
        "Readings were found on seed 0. Here their figures are played by our engine on three "
        "seeds more, with `--seed 1` to `3`, beside what a check from outside found, which shares "
        "no code with ours. Where a number has no error the row gives a range or a word."
    )
    for one in FRESH_NUMBERS:
        lines += fresh_table(one)
    return lines


def fresh_table(numbers: FreshNumbers) -> list[str]:
    """The numbers of one reading by seed."""
    names = dict.fromkeys(figure for _, figure, *_ in numbers.numbers)
    kept: dict[str, dict[str, Any]] = {}
    for name in names:
        kept.setdefault("0", {})[name] = json.loads(
            (KEPT / numbers.paper / f"{name}.json").read_text()
        )
        for path in sorted((KEPT / FRESH / numbers.paper).glob(f"{name}-*.json")):
            kept.setdefault(path.stem.rpartition("-")[2], {})[name] = json.loads(path.read_text())
    rows = []
    for label, figure, text, printed, outside in numbers.numbers:
        cells = []
        for found in kept.values():
            (row,) = [row for row in found[figure]["rows"] if row["text"].startswith(text)]
            cells.append(
                row["ours"]
                if isinstance(row["ours"], str)
                else with_error(float(row["ours"]), row["se"])
            )
        rows.append([label, printed, outside, *cells])
    first = next(iter(names))
    columns = ["", "paper", "outside check"] + [
        f"seed {seed}, {found[first]['scale']}" for seed, found in kept.items()
    ]
    command = (
        f"`tightrope reproduce {numbers.paper} {' '.join(f'--figure {name}' for name in names)} "
        "--scale laptop --seed 1`"
    )
    return [
        f"### {numbers.title}",
        "",
        *paragraph(f"{numbers.words} {command}."),
        *cards("fresh", columns, rows),
    ]


def prices(now: dict[str, dict[str, ClaimStanding]], saved: dict[str, dict[str, Any]]) -> list[str]:
    """The price of every open claim, and of the figures that stand at laptop scale."""
    open_ = [
        (paper, one.claim)
        for paper, own in now.items()
        for one in own.values()
        if one.verdict == UNDECIDED
    ]
    words = (
        "A difference that is N standard errors from what decides it needs (4 / N)² times the "
        "runs, if it stays what it is; a band needs runs until it is four standard errors wide. "
        "Times are those above or of laptop scale, whichever made the "
        "rows; where only a few of a figure's runs are in doubt, those runs were timed. A "
        "difference that shrinks costs more."
    )
    lines = ["## What the open claims would cost", "", *paragraph(words)]
    rows = [
        (
            paper,
            f"`{one.key}`",
            "not known" if one.core_hours is None else f"{one.core_hours:g} h",
            one.price,
        )
        for paper, one in open_
    ]
    lines += cards("prices", ("paper", "claim", "time of one core", "which runs"), rows)
    took = json.loads(COSTS_FILE.read_text())["core seconds"]["paper"]
    smaller = [
        f"{name} of {paper} ({in_words(took.get(f'{paper} {name}', math.nan))})"
        for paper, figures_ in saved.items()
        for name, one in figures_.items()
        if one["scale"] != "paper"
    ]
    return [
        *lines,
        f"Still at laptop scale, with the core time of paper scale: {', '.join(smaller)}.",
        "",
    ]


FILTERS = """<script>
const filters = document.querySelectorAll(".filters select, .filters input");
function filter() {
  const [paper, verdict, changed, words] = filters;
  let shown = 0;
  for (const row of document.querySelectorAll(".explorer tbody tr")) {
    row.hidden = (paper.value && row.dataset.paper !== paper.value)
      || (verdict.value && row.dataset.verdict !== verdict.value)
      || (changed.checked && !row.dataset.before)
      || !row.textContent.toLowerCase().includes(words.value.toLowerCase());
    shown += !row.hidden;
  }
  document.querySelector(".filters output").textContent = shown + " claims";
}
filters.forEach(one => one.addEventListener("input", filter));
filter();
</script>"""


def explorer(saved: dict[str, dict[str, Any]]) -> list[str]:
    """All claims in one table that is filtered in the browser, and what figures cost and open
    claims would."""
    before = json.loads((KEPT / BEFORE).read_text())
    now = {
        paper: {one.claim.key: one for one in claim_standings(paper, outcomes_of(paper, rows))}
        for paper, rows in saved.items()
    }
    lines = ["# All claims", ""]
    lines += paragraph(
        "Every claim of the papers, where it stands and why. A claim leads to its rows on the page "
        'of its paper, where each row has its test and the command that makes it. "Changed" is '
        "what stood elsewhere before the third reading: until then a right direction with another "
        "size contradicted a claim, and so did a failure where another reading that the text "
        "allows had not been played. What is [contradicted](contradictions/index.md) has a page "
        "of its own."
    )
    lines += [
        '<div class="filters">',
        chosen("paper", now),
        chosen("verdict", STANDINGS),
        '<label><input type="checkbox"> changed</label>',
        '<label>words <input type="search"></label>',
        "<output></output>",
        "</div>",
        "",
        '<table class="explorer">',
        "<thead><tr><th>verdict</th><th>claim</th><th>why</th><th>figures</th></tr></thead>",
        "<tbody>",
    ]
    for paper, own in now.items():
        lines += [
            told(paper, one, before.get(paper, {}).get(one.claim.key)) for one in own.values()
        ]
    lines += ["</tbody>", "</table>", "", *FILTERS.splitlines(), ""]
    return [*lines, *costs(saved), *prices(now, saved), *fresh_seeds()]


def chosen(name: str, values: Iterable[str]) -> str:
    """A list to choose one of some values from, or all."""
    options = "".join(f"<option>{value}</option>" for value in values)
    return f'<label>{name} <select><option value="">all</option>{options}</select></label>'


def told(paper: str, one: ClaimStanding, before: str | None) -> str:
    """A claim as a row of the explorer. before: where it stood at the second reading."""
    claim, verdict, rows, why = one
    before = None if before == verdict else before
    was = f"<small>was {before}</small>" if before else ""
    why = re.sub(r"`([^`]*)`", r"<code>\1</code>", html.escape(why, quote=False))
    cells = (
        f'<b class="{verdict_class(verdict)}">{verdict}</b>{was}',
        f'<a href="claims-{paper}.html#claim--{claim.key}">{paper}: {claim.key}</a><br>'
        f"{html.escape(claim.words, quote=False)}",
        why,
        ", ".join(dict.fromkeys(row.figure for row in rows if not row.reading)),
    )
    data = f'data-paper="{paper}" data-verdict="{verdict}" data-before="{before or ""}"'
    return " ".join(f"<tr {data}>{''.join(f'<td>{cell}</td>' for cell in cells)}</tr>".split())


def outcomes_of(paper: str, saved: dict[str, Any]) -> dict[str, FigureOutcome]:
    """The figures of a paper as they were kept, in order."""
    return {
        name: FigureOutcome([Row(**row) for row in saved[name]["rows"]], notes=saved[name]["notes"])
        for name in figures(paper)
        if name in saved
    }


def costs(saved: dict[str, dict[str, Any]]) -> list[str]:
    """What was run at paper scale and how long every figure takes there, as
    src/tightrope_papers/costs.json has it."""
    took = json.loads(COSTS_FILE.read_text())["core seconds"]["paper"]
    rows = [
        (
            paper,
            name,
            saved[paper][name]["scale"] if name in saved[paper] else "not at all yet",
            in_words(took.get(f"{paper} {name}", math.nan)),
        )
        for paper in names()
        for name in figures(paper)
    ]
    lines = ["## What was run, and how long it took", ""]
    lines += paragraph(
        "`tightrope reproduce PAPER --figure FIGURE --scale paper` makes a figure at the size of "
        "its paper, and says its time first. Claims take a figure's rows from paper scale where it "
        "was run. Times are of one core of an AMD EPYC; runs that figures share count for the "
        f"first of them. All that is known adds up to {in_words(sum(took.values()))} of one core."
    )
    return lines + table(("paper", "figure", "run at scale", "core time of paper scale"), rows)


def overall(saved: dict[str, dict[str, Any]]) -> list[str]:
    """The counts of all claims."""
    totals = {
        paper: counts(claim_standings(paper, outcomes_of(paper, rows)))
        for paper, rows in saved.items()
    }
    whole = {name: sum(total[name] for total in totals.values()) for name in ("all", *COLUMNS)}
    rows = [
        (f"[{paper}](claims-{paper}.md)", total["all"], in_numbers(total, STANDINGS))
        for paper, total in totals.items()
    ]
    rows.append(("all", whole["all"], in_numbers(whole, STANDINGS)))
    lines = [
        "# Claims of the papers, judged",
        "",
        sentence(whole),
        "",
        f"![{ALT}](figures/{OVERVIEW})",
        "",
    ]
    lines += [
        "Each page tells what held, what failed and why, and lists every claim with the rows "
        "that judge it, their tests and commands."
    ]
    lines += ["[All claims](explorer.md) stand in one table, with what each figure cost.", ""]
    return lines + cards("numbers", ("paper", "claims", "where they stand"), rows)


def pages() -> dict[str, str]:
    """Every page of results that is made from the stored rows, by its place below docs. The site's
    build writes them."""
    saved = {paper: known(paper) for paper in names()}
    made = {f"claims-{paper}": page(paper, rows) for paper, rows in saved.items()}
    made |= {"claims": overall(saved), "explorer": explorer(saved)}
    return {f"results/{name}.md": "\n".join(lines).rstrip() + "\n" for name, lines in made.items()}


def main() -> None:
    """Take rows and pictures in, and write the page and the picture that the README shows."""
    taken_in([pathlib.Path(folder) for folder in sys.argv[1:]])
    saved = {paper: known(paper) for paper in names()}
    if nothing := [paper for paper in names() if not saved[paper]]:
        sys.exit(
            f"no rows of {', '.join(nothing)} yet; give a folder of `tightrope reproduce all` as "
            "well."
        )
    (PAGES / "claims.md").write_text(pages()["results/claims.md"])
    DRAWN.mkdir(exist_ok=True)
    (DRAWN / OVERVIEW).write_text(
        overview(
            {
                paper: claim_standings(paper, outcomes_of(paper, rows))
                for paper, rows in saved.items()
            }
        )
    )


if __name__ == "__main__":
    main()
