"""The page of what a log says of a policy, or of several: figures, tables and sentences."""

import pathlib
from collections.abc import Mapping

import numpy as np
from matplotlib.figure import Figure

from ..evaluation.results import BASELINE, Comparison, Evaluation
from ..plots import style
from ..plots.digits import interval, with_error
from ..plots.evaluation import (
    calibration_figure,
    colours,
    comparison_figure,
    difference_figure,
    policy_label,
    sequence_figure,
    support_figure,
    weights_figure,
)
from ..plots.pictures import Picture, picture
from .page import Section, Table, write_page


def summary_table(evaluation: Evaluation, caption: str = "") -> Table:
    return Table([policy_label(evaluation), "on this log"], evaluation.summary(), caption, aligned=False)


def support_of(evaluation: Evaluation, palette: style.Palette | None = None) -> Figure:
    support = evaluation.support
    return support_figure(support.target, support.played, policy_label(evaluation), arms=support.names, palette=palette)


def _difference(e: Evaluation, palette: style.Palette, caption: str) -> list[Picture]:
    if e.difference is None or np.isnan(e.difference.lower[-1]):
        return []
    figure = difference_figure(e.difference, policy_label(e), decided=e.decided, verdict=e.verdict, palette=palette)
    return [picture(figure, caption)]


def estimators_table(evaluation: Evaluation) -> Table:
    rows = [
        [name, with_error(value, se), interval(lower, upper)]
        for name, value, se, lower, upper in evaluation.frame().itertuples(index=False)
    ]
    level = f"{1.0 - evaluation.alpha:.4g} interval for this number of rounds"
    return Table(["estimator", "value ± standard error", level], rows, "Every estimator.", aligned=False)


def sentence(e: Evaluation) -> str:
    low, high = e.interval
    surely = f"with probability {1.0 - e.alpha:.4g} between {interval(low, high)[1:-1].replace(', ', ' and ')}"
    if np.isnan(low):
        surely = "and there is no interval, for what the notes say"
    always = ", however often one has looked" if e.sequence is not None else ""
    verdict = f" Verdict: {e.verdict}" + ("." if e.decided is None else f", since round {e.decided:,}.")
    return f"{policy_label(e)} would have earned {with_error(e.value, e.se)} a round, {surely}{always}.{verdict}"


def evaluation_sections(evaluation: Evaluation, palette: style.Palette | None = None) -> list[Section]:
    """Sections on the policy's value, the log's support for it, and the quality of the reward model. palette: colours by name."""
    e, palette = evaluation, colours(policy_label(evaluation), palette)
    figures: list[Picture] = []
    if e.sequence is not None:
        figures.append(picture(
            sequence_figure(e, palette=palette),
            f"Bounds on the mean value of all rounds so far; all of them hold at once with probability {1.0 - e.alpha:.4g}. "
            "Point: the estimate.",
        ))  # fmt: skip
    less = "Bounds on the policy's value less the baseline's. Above 0: promote; below 0: roll back. What is decided stays decided."
    figures += _difference(e, palette, less)
    tables = [summary_table(e), estimators_table(e)]
    earned = Section("What it would have earned", " ".join(e.notes), figures, tables, summary=sentence(e))
    return [earned, _overlap_section(e, palette), _model_section(e)]


def _overlap_section(e: Evaluation, palette: style.Palette, title: str = "What the log can say of it") -> Section:
    figures: list[Picture] = []
    if e.weights.size and e.weights[:, 1].sum() > 0.0:
        figures.append(
            picture(
                weights_figure(e.weights, policy_label(e), palette),
                "How often each weight occurs. Bars far to the right: a few rounds decide.",
            )
        )
    figures.append(picture(support_of(e, palette), "Share of the log and share under the policy, by arm."))
    text = "A log says little of arms that its logger rarely played."
    if not np.isnan(e.ess):
        text = (
            f"The {e.n:,} rows are worth {e.ess:,.0f} rows of the policy's own; the largest weight is {e.max_weight:.4g}. Below 100, or "
            f"below 1% of the rows, no verdict is given. {text}"
        )
    return Section(title, text, figures)


def _model_section(e: Evaluation) -> Section:
    title = "The reward model"
    if not e.calibration.size:
        return Section(title, "No model was fitted here, so there is no calibration to show.")
    apart = np.abs(e.calibration[:, 1] - e.calibration[:, 2])
    means = "The value is as good as this model."
    if e.estimator != "simulate":
        means = "DM and SWITCH-DR are as wrong as the model is; DR and the sequence are right with any model, and tighter with a good one."
    text = f"By tenths of its predictions the mean reward differs from the mean prediction by at most {apart.max():.3g}. {means}"
    table = Table(["rows", "mean prediction", "mean reward"], [[f"{int(n):,}", f"{p:.4g}", f"{r:.4g}"] for n, p, r in e.calibration])
    return Section(
        title,
        text,
        [picture(calibration_figure(e.calibration, e.rewards), "Each tenth of the rows, the lowest predictions first.")],
        [table],
    )


def write_evaluation(evaluation: Evaluation, path: pathlib.Path, provenance: Mapping[str, object], title: str = "") -> pathlib.Path:
    name = evaluation.policy or "policy"
    lead = f"What {name} would have earned on {evaluation.n:,} logged rows, how sure that is, and what the log cannot say."
    return write_page(path, title or f"{name}, judged on a log", lead, evaluation_sections(evaluation), provenance)


def comparison_table(comparison: Comparison, caption: str = "") -> Table:
    rows = []
    for name, e in {**comparison.evaluations, BASELINE: comparison.baseline}.items():
        gap = "" if e.difference is None else interval(float(e.difference.lower[-1]), float(e.difference.upper[-1]))
        verdict = e.verdict + ("" if e.decided is None else f" (since round {e.decided:,})")
        if e is not comparison.baseline and name not in comparison.alive:
            verdict += ", cannot be the best"
        rows.append([name, verdict, with_error(e.value, e.se), interval(*e.interval), gap, f"{e.ess:,.0f}", f"{e.max_weight:.4g}"])
    headers = ["policy", "verdict", "value", "at all times", "less the baseline", "effective rows", "largest weight"]
    return Table(headers, rows, caption, aligned=False)


def comparison_sections(comparison: Comparison) -> list[Section]:
    """All policies side by side, then each one's difference from the baseline and overlap, then the reward model they share."""
    c, m = comparison, len(comparison.evaluations)
    palette = style.Palette([*c.evaluations, BASELINE])
    shared = (
        f"The error {c.alpha:g} is shared among {m} policies: what is said of them holds together with probability {1.0 - c.alpha:.4g}."
    )
    caption = f"Values: {next(iter(c.evaluations.values())).estimator} ± one standard error."
    notes = list(dict.fromkeys(note for e in c.evaluations.values() for note in e.notes))
    together = picture(
        comparison_figure({**c.evaluations, BASELINE: c.baseline}, palette=palette),
        "Bounds on each policy's mean value of all rounds so far. Points: the estimates.",
    )
    sections = [Section("Which of them", " ".join([shared, *notes]), [together], [comparison_table(c, caption)], summary=c.conclusion)]
    for name, e in c.evaluations.items():
        section = _overlap_section(e, palette, name)
        less = _difference(e, palette, "Bounds on its value less the baseline's. Above 0: promote; below 0: roll back.")
        sections.append(Section(name, section.text, [*less, *section.figures], summary=sentence(e)))
    return [*sections, _model_section(next(iter(c.evaluations.values())))]


def write_comparison(
    comparison: Comparison, path: pathlib.Path, provenance: Mapping[str, object], title: str = ""
) -> pathlib.Path:  # fmt: skip
    names = list(comparison.evaluations)
    lead = f"{len(names)} policies on {comparison.baseline.n:,} logged rows: which would have earned most, and may any be promoted?"
    return write_page(path, title or f"{', '.join(names)}, judged on a log", lead, comparison_sections(comparison), provenance)
