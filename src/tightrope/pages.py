"""Self-contained HTML pages, and what is on those of simulations, results and evaluations."""

import itertools
import json
import pathlib
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

import jinja2
import markupsafe
import numpy as np
from matplotlib.figure import Figure

from .core import files
from .core.files import interval, with_error
from .evaluation.results import BASELINE, Comparison, Evaluation
from .plots import style
from .plots.figures import (
    References,
    bound_curve,
    bound_left_out,
    calibration_figure,
    colours,
    comparison_figure,
    difference_figure,
    policy_label,
    regret_figure,
    rounds_figure,
    sequence_figure,
    support_figure,
    weights_figure,
)
from .results import Identification, Result, ending, regret_summary, rounds_summary

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Table:
    """A table of ready strings; numbers align right unless `aligned` is False. verdict_column: a
    column to colour by its word.
    stacked: on narrow screens each row is a list of its cells with their headers. A cell may be
    markup (`markupsafe.Markup`).
    """

    headers: Sequence[str]
    rows: Sequence[Sequence[str]]
    caption: str = ""
    verdict_column: int | None = None
    aligned: bool = True
    stacked: bool = False

    @classmethod
    def of(
        cls,
        frame: "pd.DataFrame",
        caption: str = "",
        most_rows: int = 60,
        verdict_column: int | None = None,
    ) -> "Table":
        rows = [
            [f"{value:.4g}" if isinstance(value, float) else str(value) for value in row]
            for row in frame.head(most_rows).itertuples(index=False)
        ]
        more = f" (first {most_rows} of {len(frame)} rows)" if len(frame) > most_rows else ""
        return cls([str(column) for column in frame.columns], rows, caption + more, verdict_column)


class Chip(NamedTuple):
    """A verdict in a word on something in a line; target: the place on the page that says why."""

    verdict: str
    words: str
    target: str


@dataclass(frozen=True)
class Section:
    """A heading, what was found in a sentence, figures with chips beside them, a paragraph and
    tables, in this order."""

    title: str
    text: str = ""
    figures: Sequence[style.Picture] = field(default_factory=list)
    tables: Sequence[Table] = field(default_factory=list)
    summary: str = ""
    chips: Sequence[Chip] = ()


def slug(text: object) -> str:
    return re.sub(r"\W+", "-", str(text)).strip("-").lower()


def theme(colours: Sequence[str], ink: str, soft: str, axis: str, grid: str) -> str:
    named = {"ink": ink, "soft": soft, "axis": axis, "grid": grid}
    named |= {style.THEME[key]: value for key, value in zip(style.COLOURS, colours, strict=True)}
    return " ".join(f"--{name}: {value};" for name, value in named.items())


LIGHT = theme(style.COLOURS, style.INK, "#5d6b78", style.AXIS, style.GRID)
DARK = theme(style.DARK, "#e3e9ee", "#9fb0bd", "#6d7f8d", "#33414c")


def render_page(
    title: str, lead: str, sections: Sequence[Section], provenance: Mapping[str, object]
) -> str:
    """The page as text. The sentences of its sections stand on top of it, linked, where there are
    several, and else their names."""
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("tightrope"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    numbers = itertools.count(1)
    environment.filters |= {
        "numeric": lambda text: bool(re.match(r"^[-+−±]?[\d.,]+", str(text))),
        "slug": slug,
        "with_unique_ids": lambda svg: markupsafe.Markup(style.unique_ids(svg, next(numbers))),
        "theme_colour": style.theme_colour,
        "dashes": lambda line: style.DASHES.get(line, ""),
    }
    return environment.get_template("page.html.j2").render(
        title=title,
        lead=lead,
        sections=sections,
        provenance=provenance,
        light=LIGHT,
        dark=DARK,
    )


def write_page(
    path: pathlib.Path,
    title: str,
    lead: str,
    sections: Sequence[Section],
    provenance: Mapping[str, object],
) -> pathlib.Path:
    files.write_text(path, render_page(title, lead, sections, provenance))
    return path


# The sections of a simulation and of an identification in a report: pictures, pull shares, paired
# differences, sentences.


WIDTH, HEIGHT = 4.4, 3.2  # inches: letters can be read on a telephone
FAR_RATIO = 5.0  # times the second lowest regret: a policy above it presses the others flat


def simulation_section(
    title: str,
    result: Result,
    *,
    text: str = "",
    log_rounds: bool = False,
    references: References | None = None,
    palette: style.Palette | None = None,
) -> Section:
    """Summary, curves, pull shares and the table of one result. palette: colours by name; default:
    of this section alone."""
    palette = style.Palette(result.policies) if palette is None else palette
    caption = "Mean cumulative pseudo-regret"
    caption += (
        f"; bands are ± 2 standard errors of {result.replications:,} replications."
        if result.replications > 1
        else "."
    )
    for label, (_, values) in bound_curve(result).items():
        if bound_left_out(result):
            caption += (
                f" Not drawn, because it is far above all curves here: {label}; it is "
                f"{values[-1]:,.0f} in the last round."
            )
        else:
            caption += (
                " Dashed grey: what no uniformly good policy falls below in the long run; at "
                "early rounds policies may."
            )
    near, far = near_and_far(result)
    curves = [(None, caption)] + ([(near, f"The same without {', '.join(far)}.")] if far else [])
    figures = [
        style.picture(
            regret_figure(
                result,
                log_rounds=log_rounds,
                references=references,
                policies=names,
                palette=palette,
                width=WIDTH,
                height=HEIGHT,
            ),
            words,
        )
        for names, words in curves
    ]
    figures.append(
        style.picture(
            style.shares_figure(result, palette, width=WIDTH), style.shares_caption(result)
        )
    )
    return Section(title, text, figures, [result_summary(result)], summary=summary_sentence(result))


def near_and_far(result: Result) -> tuple[list[str], list[str]]:
    """Policies whose curves can be told apart in one picture, and those so far above that they
    would press these flat."""
    ends = {name: float(curve[:, -1].mean()) for name, curve in result.regret.items()}
    lowest = sorted(ends.values())[:2]
    far = [name for name, end in ends.items() if end > FAR_RATIO * lowest[-1]]
    return [name for name in ends if name not in far], far


def summary_sentence(result: Result) -> str:
    return style.lowest(
        {name: curve[:, -1] for name, curve in result.regret.items()},
        f"regret after {int(result.rounds[-1]):,} rounds",
    )


def result_summary(result: Result) -> Table:
    return Table(*regret_summary(result))


def identification_section(
    title: str, result: Identification, *, text: str = "", palette: style.Palette | None = None
) -> Section:
    """Summary, rounds, pull shares and the table of one result. palette: colours by name; default:
    of this section alone."""
    palette = style.Palette(result.policies) if palette is None else palette
    figures = [
        style.picture(
            rounds_figure(result, palette=palette, width=WIDTH),
            "Rounds of every run, mean ± 2 standard errors; crosses: a wrong arm or none "
            "certified.",
        ),
        style.picture(
            style.shares_figure(result, palette, width=WIDTH), style.shares_caption(result)
        ),
    ]
    return Section(
        title,
        text,
        figures,
        [identification_table(result)],
        summary=identification_sentence(result),
    )


def identification_sentence(result: Identification) -> str:
    n = result.replications
    answers = [
        f"{name} named a right arm in {int(result.correct[name].sum())} and "
        f"{'certified it' if ending(result, name) == 'certified' else 'ended its plan'} in "
        f"{int(result.stopped[name].sum())}"
        for name in result.policies
    ]
    return (
        f"{style.lowest(result.rounds, 'mean number of rounds')} Of {n} "
        f"run{'s' if n != 1 else ''}, {style.listed_words(answers)}."
    )


def identification_table(result: Identification) -> Table:
    return Table(*rounds_summary(result))


# A page for saved results of any kind.


SECTIONS: dict[str, Callable[..., Section]] = {
    "simulation": simulation_section,
    "identification": identification_section,
}
TABLES: dict[str, Callable[..., Table]] = {
    "simulation": result_summary,
    "identification": identification_table,
}


def provenance_of(result: Result | Identification) -> dict[str, object]:
    settings = result.settings
    run = {
        key: settings[key]
        for key in ("command", "seed", "horizon", "max_rounds", "budget", "replications")
        if key in settings
    }
    return (
        run
        | {f"policy {name}": _short(item) for name, item in settings.get("policies", {}).items()}
        | settings.get("versions", {})
    )


def _short(record: Mapping[str, object]) -> str:
    inside = ", ".join(f"{key}={value}" for key, value in record.items() if key != "policy")
    return f"{record.get('policy')}({inside})"


def write_report(
    results: Mapping[str, Result | Identification],
    path: pathlib.Path,
    *,
    title: str = "tightrope report",
    lead: str = "",
    texts: Mapping[str, str] | None = None,
) -> pathlib.Path:
    """One self-contained page for several results. A policy's name has one colour in all of
    them."""
    palette = style.Palette(name for result in results.values() for name in result.policies)
    headings = {
        name: "Result" if len(results) == 1 and name == title else name for name in results
    }  # no title twice
    sections = [
        SECTIONS[result.kind](
            headings[name], result, text=(texts or {}).get(name, ""), palette=palette
        )
        for name, result in results.items()
    ]
    provenance: dict[str, object] = {}
    for name, result in results.items():
        of_result = provenance_of(result)
        provenance |= {
            key
            if len(results) == 1 or key in result.settings.get("versions", {}) or key == "command"
            else f"{name}: {key}": value
            for key, value in of_result.items()
        }
    return write_page(path, title, lead, sections, provenance)


def join_same_questions(
    results: Mapping[str, Result | Identification],
) -> dict[str, Result | Identification]:
    """Simulations of the same question as one result, by a name for it; policies that differ under
    one name are told apart by their folder.

    The same question: problems, rounds, seed and delay. Such replications are paired. Questions
    that stand alone are left out.
    """
    groups: dict[str, dict[str, Result]] = {}
    for label, result in results.items():
        if isinstance(result, Result):
            question = {
                key: result.settings.get(key)
                for key in ("problem", "rounds", "seed", "delay", "apply")
            }
            groups.setdefault(json.dumps(question, sort_keys=True, default=str), {})[label] = result
    comparisons: dict[str, Result | Identification] = {}
    for group in groups.values():
        if len(group) > 1:
            comparisons[f"Compared: {', '.join(group)}"] = join_runs(group)
    return comparisons


def join_runs(group: Mapping[str, Result]) -> Result:
    least = min(result.replications for result in group.values())
    described: dict[str, list[object]] = {}
    for result in group.values():
        for name in result.policies:
            described.setdefault(name, []).append(result.settings.get("policies", {}).get(name))
    regret, pulls, policies = {}, {}, {}
    for label, result in group.items():
        for name in result.policies:
            same = all(one == described[name][0] for one in described[name])
            shown = name if same else f"{name} ({label})"
            regret[shown], pulls[shown] = result.regret[name][:least], result.pulls[name][:least]
            policies[shown] = result.settings.get("policies", {}).get(name, {})
    first = next(iter(group.values()))
    return Result(
        first.rounds,
        regret,
        pulls,
        {},
        first.settings | {"policies": policies, "replications": least, "until": None},
    )


# The page of what a log says of a policy, or of several: figures, tables and sentences.


def evaluation_summary(evaluation: Evaluation, caption: str = "") -> Table:
    return Table(
        [policy_label(evaluation), "on this log"], evaluation.summary(), caption, aligned=False
    )


def support_of(evaluation: Evaluation, palette: style.Palette | None = None) -> Figure:
    support = evaluation.support
    return support_figure(
        support.target,
        support.played,
        policy_label(evaluation),
        arms=support.names,
        palette=palette,
    )


def _difference(e: Evaluation, palette: style.Palette, caption: str) -> list[style.Picture]:
    if e.difference is None or np.isnan(e.difference.lower[-1]):
        return []
    figure = difference_figure(
        e.difference, policy_label(e), decided=e.decided, verdict=e.verdict, palette=palette
    )
    return [style.picture(figure, caption)]


def estimators_table(evaluation: Evaluation) -> Table:
    rows = [
        [name, with_error(value, se), interval(lower, upper)]
        for name, value, se, lower, upper in evaluation.frame().itertuples(index=False)
    ]
    level = f"{1.0 - evaluation.alpha:.4g} interval for this number of rounds"
    return Table(
        ["estimator", "value ± standard error", level], rows, "Every estimator.", aligned=False
    )


def sentence(e: Evaluation) -> str:
    low, high = e.interval
    surely = (
        f"with probability {1.0 - e.alpha:.4g} between "
        f"{interval(low, high)[1:-1].replace(', ', ' and ')}"
    )
    if np.isnan(low):
        surely = "and there is no interval, for what the notes say"
    always = ", however often one has looked" if e.sequence is not None else ""
    verdict = f" Verdict: {e.verdict}" + (
        "." if e.decided is None else f", since round {e.decided:,}."
    )
    return (
        f"{policy_label(e)} would have earned {with_error(e.value, e.se)} a round, "
        f"{surely}{always}.{verdict}"
    )


def evaluation_sections(
    evaluation: Evaluation, palette: style.Palette | None = None
) -> list[Section]:
    """Sections on the policy's value, the log's support for it, and the quality of the reward
    model. palette: colours by name."""
    e, palette = evaluation, colours(policy_label(evaluation), palette)
    figures: list[style.Picture] = []
    if e.sequence is not None:
        figures.append(
            style.picture(
                sequence_figure(e, palette=palette),
                "Bounds on the mean value of all rounds so far; all of them hold at once with "
                f"probability {1.0 - e.alpha:.4g}. Point: the estimate.",
            )
        )
    less = (
        "Bounds on the policy's value less the baseline's. Above 0: promote; below 0: roll back. "
        "What is decided stays decided."
    )
    figures += _difference(e, palette, less)
    tables = [evaluation_summary(e), estimators_table(e)]
    earned = Section(
        "What it would have earned", " ".join(e.notes), figures, tables, summary=sentence(e)
    )
    return [earned, _overlap_section(e, palette), _model_section(e)]


def _overlap_section(
    e: Evaluation, palette: style.Palette, title: str = "What the log can say of it"
) -> Section:
    figures: list[style.Picture] = []
    if e.weights.size and e.weights[:, 1].sum() > 0.0:
        figures.append(
            style.picture(
                weights_figure(e.weights, policy_label(e), palette),
                "How often each weight occurs. Bars far to the right: a few rounds decide.",
            )
        )
    figures.append(
        style.picture(
            support_of(e, palette), "Share of the log and share under the policy, by arm."
        )
    )
    text = "A log says little of arms that its logger rarely played."
    if not np.isnan(e.ess):
        text = (
            f"The {e.n:,} rows are worth {e.ess:,.0f} rows of the policy's own; the largest "
            f"weight is {e.max_weight:.4g}. Below 100, or below 1% of the rows, no verdict is "
            f"given. {text}"
        )
    return Section(title, text, figures)


def _model_section(e: Evaluation) -> Section:
    title = "The reward model"
    if not e.calibration.size:
        return Section(title, "No model was fitted here, so there is no calibration to show.")
    apart = np.abs(e.calibration[:, 1] - e.calibration[:, 2])
    means = "The value is as good as this model."
    if e.estimator != "simulate":
        means = (
            "DM and SWITCH-DR are as wrong as the model is; DR and the sequence are right with "
            "any model, and tighter with a good one."
        )
    table = Table(
        ["rows", "mean prediction", "mean reward"],
        [[f"{int(n):,}", f"{p:.4g}", f"{r:.4g}"] for n, p, r in e.calibration],
    )
    return Section(
        title,
        "By tenths of its predictions the mean reward differs from the mean prediction by at most "
        f"{apart.max():.3g}. {means}",
        [
            style.picture(
                calibration_figure(e.calibration, e.rewards),
                "Each tenth of the rows, the lowest predictions first.",
            )
        ],
        [table],
    )


def write_evaluation(
    evaluation: Evaluation, path: pathlib.Path, provenance: Mapping[str, object], title: str = ""
) -> pathlib.Path:
    name = evaluation.policy or "policy"
    return write_page(
        path,
        title or f"{name}, judged on a log",
        f"What {name} would have earned on {evaluation.n:,} logged rows, how sure that is, and "
        "what the log cannot say.",
        evaluation_sections(evaluation),
        provenance,
    )


def comparison_table(comparison: Comparison, caption: str = "") -> Table:
    rows = []
    for name, e in {**comparison.evaluations, BASELINE: comparison.baseline}.items():
        gap = (
            ""
            if e.difference is None
            else interval(float(e.difference.lower[-1]), float(e.difference.upper[-1]))
        )
        verdict = e.verdict + ("" if e.decided is None else f" (since round {e.decided:,})")
        if e is not comparison.baseline and name not in comparison.alive:
            verdict += ", cannot be the best"
        rows.append(
            [
                name,
                verdict,
                with_error(e.value, e.se),
                interval(*e.interval),
                gap,
                f"{e.ess:,.0f}",
                f"{e.max_weight:.4g}",
            ]
        )
    headers = [
        "policy",
        "verdict",
        "value",
        "at all times",
        "less the baseline",
        "effective rows",
        "largest weight",
    ]
    return Table(headers, rows, caption, aligned=False)


def comparison_sections(comparison: Comparison) -> list[Section]:
    """All policies side by side, then each one's difference from the baseline and overlap, then the
    reward model they share."""
    c, m = comparison, len(comparison.evaluations)
    palette = style.Palette([*c.evaluations, BASELINE])
    shared = (
        f"The error {c.alpha:g} is shared among {m} policies: what is said of them holds together "
        f"with probability {1.0 - c.alpha:.4g}."
    )
    notes = list(dict.fromkeys(note for e in c.evaluations.values() for note in e.notes))
    together = style.picture(
        comparison_figure({**c.evaluations, BASELINE: c.baseline}, palette=palette),
        "Bounds on each policy's mean value of all rounds so far. Points: the estimates.",
    )
    sections = [
        Section(
            "Which of them",
            " ".join([shared, *notes]),
            [together],
            [
                comparison_table(
                    c,
                    f"Values: {next(iter(c.evaluations.values())).estimator} ± one standard error.",
                )
            ],
            summary=c.conclusion,
        )
    ]
    for name, e in c.evaluations.items():
        section = _overlap_section(e, palette, name)
        less = _difference(
            e,
            palette,
            "Bounds on its value less the baseline's. Above 0: promote; below 0: roll back.",
        )
        sections.append(Section(name, section.text, [*less, *section.figures], summary=sentence(e)))
    return [*sections, _model_section(next(iter(c.evaluations.values())))]


def write_comparison(
    comparison: Comparison, path: pathlib.Path, provenance: Mapping[str, object], title: str = ""
) -> pathlib.Path:
    names = list(comparison.evaluations)
    return write_page(
        path,
        title or f"{', '.join(names)}, judged on a log",
        f"{len(names)} policies on {comparison.baseline.n:,} logged rows: which would have earned "
        "most, and may any be promoted?",
        comparison_sections(comparison),
        provenance,
    )
