"""What a log says of a policy, as pictures, a table and a page: the sequence over time, weights, support by arm, calibration."""

import math
import pathlib
from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ..inference.comparison import Comparison
from ..inference.evaluation import WEIGHTS, Estimate, Evaluation, Support
from ..inference.sequences import Sequence
from . import style
from .curves import save_figure
from .digits import interval, measured
from .page import Section, Table, write_page
from .pictures import Picture, picture

WIDTH, HEIGHT = 5.2, 3.5  # inches: letters can be read on a telephone
APART = 1.15  # ratio by which estimates stand beside each other on an axis of rounds
SHOWN_FROM = 0.1  # share of the rounds from which bounds must be inside the picture; earlier ones are as wide as the range of rewards
MOST_ARMS = 40  # shown one by one in the picture of the support
FREQUENCY = "share of rounds"
BASELINE = "(baseline)"


# Pictures ----------------------------------------------------------------------------------------------------------------


def sequence_figure(
    evaluation: Evaluation, *, title: str = "", log_rounds: bool = True, palette: style.Palette | None = None
) -> Figure:  # fmt: skip
    """The confidence sequence of one policy and its estimate. log_rounds: logarithmic axis of rounds. palette: colours by name."""
    fig, (ax,) = style.figure(width=WIDTH, height=HEIGHT)
    draw_sequences(ax, {named(evaluation): evaluation}, log_rounds=log_rounds, palette=palette)
    if title:
        ax.set_title(title, color=style.INK, fontsize=11, loc="left")
    return fig


def comparison_figure(
    comparison: Comparison, *, title: str = "", log_rounds: bool = True, palette: style.Palette | None = None
) -> Figure:  # fmt: skip
    """The confidence sequences of all policies and of the baseline. palette: colours by name."""
    fig, (ax,) = style.figure(width=WIDTH, height=HEIGHT)
    draw_sequences(ax, {**comparison.evaluations, BASELINE: comparison.baseline}, log_rounds=log_rounds, palette=palette)
    if title:
        ax.set_title(title, color=style.INK, fontsize=11, loc="left")
    return fig


def draw_sequences(
    ax: Axes, evaluations: Mapping[str, Evaluation], *, log_rounds: bool = True, palette: style.Palette | None = None
) -> None:  # fmt: skip
    """Bands of the sequences, and each estimate as a point with its interval beside the last round."""
    palette = style.Palette(evaluations) if palette is None else palette
    shade = 0.15 if len(evaluations) == 1 else 0.05
    for number, (name, e) in enumerate(evaluations.items()):
        colour, line = palette.colour(name), palette.line(name)
        if e.sequence is not None:
            draw_band(ax, e.sequence, colour, line, name, shade)
        low, high = e.interval
        beside = APART ** (number + 1) if log_rounds else 1.0 + 0.1 * (number + 1) * (APART - 1.0)
        ax.errorbar(
            beside * e.rounds, e.value, yerr=[[max(e.value - low, 0.0)], [max(high - e.value, 0.0)]], fmt="D", color=colour, markersize=5,
            capsize=4, label=name if e.sequence is None else None,
        )  # fmt: skip
        style.hover(ax, [beside * e.rounds], [e.value], [f"{name}: {measured(e.value, e.se)}, {interval(low, high)}"])
    if log_rounds:
        ax.set_xscale("log")
    _see_late_bounds(ax, [e.sequence for e in evaluations.values() if e.sequence is not None], [e.value for e in evaluations.values()])
    ax.set_xlabel("round", color=style.INK)
    ax.set_ylabel("value per round", color=style.INK)
    style.legend(ax)


def draw_band(ax: Axes, bounds: Sequence, colour: str, line: str, name: str, shade: float = 0.15) -> None:
    """One sequence."""
    ax.fill_between(bounds.t, bounds.lower, bounds.upper, color=colour, alpha=shade, linewidth=0, step="post")
    ax.step(bounds.t, bounds.lower, where="post", color=colour, linestyle=line, linewidth=1.2)
    ax.step(bounds.t, bounds.upper, where="post", color=colour, linestyle=line, linewidth=1.2, label=name)
    ends = zip(bounds.t.tolist(), bounds.lower.tolist(), bounds.upper.tolist(), strict=True)
    texts = [f"{name}: {interval(low, high)} after {t:,} rounds" for t, low, high in ends]
    style.hover(ax, bounds.t, bounds.lower, texts)
    style.hover(ax, bounds.t, bounds.upper, texts)


def _see_late_bounds(ax: Axes, sequences: list[Sequence], values: list[float]) -> None:
    """Limits in which the bounds of the last rounds and the estimates are, whatever the first rounds' are, and rounds that show a bound."""
    if not sequences:
        return
    late = [side[bounds.t >= SHOWN_FROM * bounds.t[-1]] for bounds in sequences for side in (bounds.lower, bounds.upper)]
    ends = np.concatenate([*late, np.asarray(values)])
    low, high = float(ends.min()), float(ends.max())
    room = 0.06 * max(high - low, 1e-12)
    ax.set_ylim(low - room, high + room)
    first = float(sequences[0].t[-1])
    for bounds in sequences:  # the widest bounds are those of the first rounds: the range of rewards
        inside = (bounds.lower > max(low - room, bounds.lower.min())) | (bounds.upper < min(high + room, bounds.upper.max()))
        first = min(first, float(bounds.t[np.argmax(inside)]) if inside.any() else first)
    ax.set_xlim(left=max(1.0, 0.5 * first))


def named(evaluation: Evaluation) -> str:
    """What the policy is called where it has no name."""
    return evaluation.policy or "policy"


def colours(evaluation: Evaluation, palette: style.Palette | None) -> style.Palette:
    """The palette, or one for this policy and the baseline alone."""
    return style.Palette([named(evaluation), BASELINE]) if palette is None else palette


def difference_figure(evaluation: Evaluation, palette: style.Palette | None = None) -> Figure:
    """The sequence of the policy's value less the baseline's, and the round in which that was decided."""
    fig, (ax,) = style.figure(width=WIDTH, height=HEIGHT)
    bounds = evaluation.difference
    assert bounds is not None
    name = named(evaluation)
    draw_band(ax, bounds, colours(evaluation, palette).colour(name), style.line(0), f"{name} less baseline")
    ax.axhline(0.0, color=style.INK, linewidth=1.0)
    if evaluation.decided is not None:
        ax.axvline(evaluation.decided, color=style.SOFT, linestyle="--", linewidth=1.2, label=evaluation.verdict)
    ax.set_xscale("log")
    _see_late_bounds(ax, [bounds], [0.0])
    ax.set_xlabel("round", color=style.INK)
    ax.set_ylabel("difference per round", color=style.INK)
    style.legend(ax)
    return fig


def weights_figure(evaluation: Evaluation, palette: style.Palette | None = None) -> Figure:
    """Histogram of the rounds' weights; those below the range, zeros among them, are in the first bar, those above it in the last."""
    fig, (ax,) = style.figure(width=WIDTH, height=HEIGHT)
    edges, rounds = evaluation.weights.T
    ends = np.append(edges[1:], WEIGHTS[1])
    share = rounds / max(rounds.sum(), 1.0)
    ax.bar(edges, share, width=ends - edges, align="edge", color=colours(evaluation, palette).colour(named(evaluation)))
    filled = np.flatnonzero(rounds)
    ax.axvline(1.0, color=style.INK, linewidth=1.0, linestyle=":", label="weight 1: the logger's own probability")
    ax.set_xscale("log")
    ax.set_yscale("log")
    ax.set_xlim(min(float(edges[filled[0]]), 0.5), max(float(ends[filled[-1]]), 2.0))
    ax.set_xlabel("weight of a round" + (f" (first bar: at most {ends[0]:.2g}, also 0)" if filled[0] == 0 else ""), color=style.INK)
    ax.set_ylabel(FREQUENCY, color=style.INK)
    style.legend(ax)
    return fig


def support_figure(evaluation: Evaluation, palette: style.Palette | None = None) -> Figure:
    """Each arm's share of the log beside its share under the policy, the policy's favourites first."""
    target, played = evaluation.support.target, evaluation.support.played
    target, logged = target / max(float(target.sum()), 1e-300), played / played.sum()
    order = np.lexsort((-logged, -target))[:MOST_ARMS]
    fig, (ax,) = style.figure(width=WIDTH, height=HEIGHT)
    palette, name = colours(evaluation, palette), named(evaluation)
    places = np.arange(order.size)
    ax.vlines(places, np.minimum(logged, target)[order], np.maximum(logged, target)[order], color=style.AXIS, linewidth=1.0)
    ax.plot(places, logged[order], "o", color=palette.colour(BASELINE), markersize=5, label="logged")
    ax.plot(places, target[order], "D", color=palette.colour(name), markersize=4.5, label=name)
    names = evaluation.support.names
    labels = [str(k) if names is None else names[k] for k in order.tolist()]
    many = order.size > 16 or max(map(len, labels)) > 4
    ax.set_xticks(places, labels, rotation=90 if many else 0, fontsize=7 if many else 8)
    ax.set_ylim(bottom=0.0)
    ax.set_xlabel("arm" if order.size == target.size else f"arm (the policy's {MOST_ARMS} most played)", color=style.INK)
    ax.set_ylabel("share", color=style.INK)
    style.legend(ax)
    return fig


def calibration_figure(evaluation: Evaluation) -> Figure:
    """Mean reward against mean prediction by tenths of the predictions; bars: two standard errors at most, by the range of rewards."""
    fig, (ax,) = style.figure(width=WIDTH, height=HEIGHT)
    rows, predicted, seen = evaluation.calibration.T
    low, high = evaluation.rewards
    error = 2.0 * np.sqrt(np.maximum((seen - low) * (high - seen), 0.0) / rows)
    ends = [min(predicted.min(), (seen - error).min()), max(predicted.max(), (seen + error).max())]
    ax.plot(ends, ends, color=style.INK, linewidth=1.0, linestyle=":", label="prediction = reward")
    ax.errorbar(predicted, seen, yerr=error, fmt="o", color=style.SOFT, markersize=5, capsize=3, label="a tenth of the rows")
    ax.set_xlabel("mean prediction", color=style.INK)
    ax.set_ylabel("mean reward", color=style.INK)
    style.legend(ax)
    return fig


def save_sequence(evaluation: Evaluation, path: pathlib.Path, **options: Any) -> pathlib.Path:
    """`sequence_figure` to a file."""
    return save_figure(sequence_figure(evaluation, **options), path)


def save_comparison(comparison: Comparison, path: pathlib.Path, **options: Any) -> pathlib.Path:
    """`comparison_figure` to a file."""
    return save_figure(comparison_figure(comparison, **options), path)


# The page ----------------------------------------------------------------------------------------------------------------


def summary_table(evaluation: Evaluation, caption: str = "") -> Table:
    """Value, intervals, overlap and verdict, a line each."""
    e = evaluation
    level = f"{1.0 - e.alpha:.4g}"
    rows = [["value", f"{measured(e.value, e.se)} ({e.estimator})"]]
    if e.estimator == "simulate":
        rows.append([f"{level} interval of worlds fitted to resampled logs", interval(*e.interval)])
    else:
        rows.append([f"{level} interval for this number of rounds", interval(*e.normal_interval)])
    if e.sequence is not None:
        rows.append([f"{level} interval at all times", interval(*e.interval)])
    if not np.isnan(e.ess):
        rows.append(["effective sample size", f"{e.ess:,.0f} of {e.n:,}"])
        rows.append(["largest weight", f"{e.max_weight:.4g}"])
    reached = int(np.count_nonzero((e.support.target > 0.0) & (e.support.played > 0.0)))
    of = f"{reached} of {e.support.played.size}"
    rows.append(["support", f"{1.0 - e.support.unseen:.1%} of its probability is on arms that the log played ({of})"])
    if e.difference is not None:
        rows.append(["less the baseline, at all times", interval(float(e.difference.lower[-1]), float(e.difference.upper[-1]))])
    rows.append(["verdict", e.verdict + ("" if e.decided is None else f" (since round {e.decided:,})")])
    return Table([e.policy or "policy", "on this log"], rows, caption, aligned=False)


def estimators_table(evaluation: Evaluation) -> Table:
    """Every estimator's value and interval."""
    rows = [
        [name, measured(value, se), interval(lower, upper)] for name, value, se, lower, upper in evaluation.frame().itertuples(index=False)
    ]
    level = f"{1.0 - evaluation.alpha:.4g} interval for this number of rounds"
    return Table(["estimator", "value ± standard error", level], rows, "Every estimator.", aligned=False)


def found(e: Evaluation) -> str:
    """The evaluation in a sentence."""
    low, high = e.interval
    surely = f"with probability {1.0 - e.alpha:.4g} between {interval(low, high)[1:-1].replace(', ', ' and ')}"
    always = ", however often one has looked" if e.sequence is not None else ""
    verdict = f" Verdict: {e.verdict}" + ("." if e.decided is None else f", since round {e.decided:,}.")
    return f"{named(e)} would have earned {measured(e.value, e.se)} a round, {surely}{always}.{verdict}"


def evaluation_sections(evaluation: Evaluation, palette: style.Palette | None = None) -> list[Section]:
    """What it would have earned, what the log can say of it, and how good the reward model is. palette: colours by name."""
    e, palette = evaluation, colours(evaluation, palette)
    figures: list[Picture] = []
    if e.sequence is not None:
        figures.append(picture(
            sequence_figure(e, palette=palette),
            f"Bounds on the mean value of all rounds so far; all of them hold at once with probability {1.0 - e.alpha:.4g}. "
            "Point: the estimate.",
        ))  # fmt: skip
    if e.difference is not None:
        figures.append(picture(
            difference_figure(e, palette),
            "Bounds on the policy's value less the baseline's. Above 0: promote; below 0: roll back. What is decided stays decided.",
        ))  # fmt: skip
    tables = [summary_table(e), estimators_table(e)]
    earned = Section("What it would have earned", " ".join(e.notes), figures, tables, summary=found(e))
    return [earned, _overlap_section(e, palette), _model_section(e)]


def _overlap_section(e: Evaluation, palette: style.Palette, title: str = "What the log can say of it") -> Section:
    figures: list[Picture] = []
    if e.weights.size and e.weights[:, 1].sum() > 0.0:
        figures.append(picture(weights_figure(e, palette), "How often each weight occurs. Bars far to the right: a few rounds decide."))
    figures.append(picture(support_figure(e, palette), "Share of the log and share under the policy, by arm."))
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
    return Section(title, text, [picture(calibration_figure(e), "Each tenth of the rows, the lowest predictions first.")], [table])


def write_evaluation(evaluation: Evaluation, path: pathlib.Path, provenance: Mapping[str, object], title: str = "") -> pathlib.Path:
    """One self-contained page."""
    name = evaluation.policy or "policy"
    lead = f"What {name} would have earned on {evaluation.n:,} logged rows, how sure that is, and what the log cannot say."
    return write_page(path, title or f"{name}, judged on a log", lead, evaluation_sections(evaluation), provenance)


def comparison_table(comparison: Comparison, caption: str = "") -> Table:
    """Every policy and the baseline, a line each."""
    rows = []
    for name, e in {**comparison.evaluations, BASELINE: comparison.baseline}.items():
        gap = "" if e.difference is None else interval(float(e.difference.lower[-1]), float(e.difference.upper[-1]))
        verdict = e.verdict + ("" if e.decided is None else f" (since round {e.decided:,})")
        if e is not comparison.baseline and name not in comparison.alive:
            verdict += ", cannot be the best"
        rows.append([name, verdict, measured(e.value, e.se), interval(*e.interval), gap, f"{e.ess:,.0f}", f"{e.max_weight:.4g}"])
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
        comparison_figure(c, palette=palette), "Bounds on each policy's mean value of all rounds so far. Points: the estimates."
    )
    sections = [Section("Which of them", " ".join([shared, *notes]), [together], [comparison_table(c, caption)], summary=c.conclusion)]
    for name, e in c.evaluations.items():
        section = _overlap_section(e, palette, name)
        less = picture(difference_figure(e, palette), "Bounds on its value less the baseline's. Above 0: promote; below 0: roll back.")
        sections.append(Section(name, section.text, [less, *section.figures], summary=found(e)))
    return [*sections, _model_section(next(iter(c.evaluations.values())))]


def write_comparison(
    comparison: Comparison, path: pathlib.Path, provenance: Mapping[str, object], title: str = ""
) -> pathlib.Path:  # fmt: skip
    """One self-contained page."""
    names = list(comparison.evaluations)
    lead = f"{len(names)} policies on {comparison.baseline.n:,} logged rows: which would have earned most, and may any be promoted?"
    return write_page(path, title or f"{', '.join(names)}, judged on a log", lead, comparison_sections(comparison), provenance)


# Saved evaluations -------------------------------------------------------------------------------------------------------


def evaluation_of(record: Mapping[str, Any]) -> Evaluation:
    """The evaluation whose `record` this is, as it comes from JSON."""

    def number(value: float | None) -> float:
        return math.nan if value is None else float(value)

    def bounds(name: str) -> Sequence | None:
        found = record[name]
        return None if found is None else Sequence(np.array(found["t"]), *(_floats(found[side]) for side in ("lower", "upper")))

    support = record["support"]
    names = support["names"]
    low, high = record["interval"]
    return Evaluation(
        **{name: number(record[name]) for name in ("value", "se", "ess", "max_weight", "alpha")},
        **{name: record[name] for name in ("verdict", "estimator", "n", "rounds", "decided", "policy")},
        interval=(number(low), number(high)), sequence=bounds("sequence"), difference=bounds("difference"), notes=tuple(record["notes"]),
        support=Support(
            _floats(support["target"]), _floats(support["played"]), number(support["unseen"]), None if names is None else tuple(names)
        ),
        estimates={name: Estimate(number(each["value"]), number(each["se"])) for name, each in record["estimates"].items()},
        calibration=_floats(record["calibration"]).reshape(-1, 3), weights=_floats(record["weights"]).reshape(-1, 2),
        rewards=(float(record["rewards"][0]), float(record["rewards"][1])),
    )  # fmt: skip


def comparison_of(record: Mapping[str, Any]) -> Comparison:
    """The comparison whose `record` this is, as it comes from JSON."""
    found = {name: evaluation_of(each) for name, each in record["policies"].items()}
    return Comparison(found, evaluation_of(record["baseline"]), tuple(record["alive"]), record["winner"], float(record["alpha"]))


def _floats(values: Any) -> np.ndarray:
    return np.array(values, dtype=np.float64)  # None becomes NaN
