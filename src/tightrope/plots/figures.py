"""Figures: curves, rounds, bounds, evaluations, paired differences."""

import io
import math
import pathlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import ArrayLike

from ..core import checks, files
from ..core.files import standard_error
from ..core.types import Arguments, JsonObject
from ..solvers.programs import LowerBound, lipschitz_lower_bound
from . import style

References = Mapping[str, tuple[ArrayLike, ArrayLike]]  # label -> (rounds, values) of a curve


class Curves(Protocol):
    """Regret curves by policy, and how they were made: a simulation's result, or anything like
    it."""

    @property
    def rounds(self) -> np.ndarray: ...  # (n,) checkpoints
    @property
    def regret(self) -> Mapping[str, np.ndarray]: ...  # name -> (replications, n)
    @property
    def settings(self) -> JsonObject: ...
    @property
    def policies(self) -> Sequence[str]: ...


FORMATS = ("svg", "png", "pdf", "pgf")
FLAT_RATIO = 1.5  # times the highest curve
COVERED_SHARE = 0.015  # curves nearer than this share of a panel's height lie on each other
PAIRED_LEGEND = "bands: paired, 2 s.e."


def regret_figure(
    result: Curves,
    *,
    title: str = "",
    log_rounds: bool = False,
    references: References | None = None,
    policies: Sequence[str] | None = None,
    paired: bool = False,
    band: float = 2.0,
    width: float = 7.0,
    height: float = 4.2,
    palette: style.Palette | None = None,
) -> Figure:
    """Mean cumulative regret of every policy with a band of two standard errors, and the problem's
    lower bound if it has one.

    references: label -> (rounds, values), drawn as dashed grey lines too. log_rounds: logarithmic
    axis of rounds. paired: bands of what policies differ by on the same streams (see `draw_bands`).
    band: their half height in standard errors. width, height: inches.
    palette: colours by name; default: of this figure alone.
    """
    fig, (ax,) = style.figure(
        width=checks.real("width", width, above=0.0, most=100.0),
        height=checks.real("height", height, above=0.0, most=100.0),
    )
    draw_regret(
        ax,
        result,
        log_rounds=log_rounds,
        references=references,
        policies=policies,
        paired=paired,
        band=band,
        palette=palette,
    )
    ax.set_title(title, color=style.INK, fontsize=11, loc="left")
    return fig


def draw_regret(
    ax: Axes,
    result: Curves,
    *,
    log_rounds: bool = False,
    references: References | None = None,
    policies: Sequence[str] | None = None,
    legend: bool = True,
    paired: bool = False,
    band: float = 2.0,
    palette: style.Palette | None = None,
) -> None:
    names = chosen_policies(policies, result.policies)
    palette = style.Palette(result.policies) if palette is None else palette
    curves = {name: result.regret[name] for name in names}
    lines = line_styles([curves], palette)
    draw_bands(
        ax,
        result.rounds,
        curves,
        paired=paired,
        lines=lines,
        band=checks.real("band", band, least=0.0),
        palette=palette,
    )
    bound = {} if bound_left_out(result) else bound_curve(result)
    for number, (label, (rounds, values)) in enumerate((bound | dict(references or {})).items()):
        ax.plot(
            rounds,
            values,
            color=style.SOFT,
            linestyle=style.LINES[1 + number % 3],
            linewidth=1.4,
            label=label,
            zorder=5,
        )
    if log_rounds:
        ax.set_xscale("log")
    else:
        ax.set_xlim(left=0)
    ax.set_xlabel("round", color=style.INK)
    ax.set_ylabel("cumulative pseudo-regret", color=style.INK)
    ax.set_ylim(bottom=min(0.0, ax.get_ylim()[0]))
    if legend:
        style.legend(ax, drawn_sentence(curves, lines, palette, band, paired))


def drawn_sentence(
    curves: Mapping[str, np.ndarray],
    lines: Mapping[str, str],
    palette: style.Palette,
    band: float = 2.0,
    paired: bool = False,
) -> str:
    """What a picture of curves shows: of how many runs, what its bands are, and which curves lie on
    others."""
    runs = len(next(iter(curves.values())))
    hidden = ", ".join(name for name in curves if lines[name] != palette.line(name))
    bands = f"; {PAIRED_LEGEND if paired else 'bands: 2 s.e.'}".replace("2", f"{band:g}")
    return (
        f"mean of {runs:,} run{'s' if runs != 1 else ''}"
        + (bands if runs > 1 and band > 0.0 else "")
        + (f"; on another curve: {hidden}" if hidden else "")
    )


def bound_curve(result: Curves) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """The lower bound C ln T (plus what the arms themselves lose against the best of a continuum)
    that the result carries.

    No policy is below it in the long run. Where it ends above all curves its name says that it is
    asymptotic.
    """
    if result.settings.get("lower_bound") is None:
        return {}
    constant, loss = result.settings["lower_bound"]
    values = constant * np.log(result.rounds) + loss * result.rounds
    label = "C(θ) ln T" + (" + the grid's share" if loss > 0.0 else "")
    if values[-1] > max(float(curve[:, -1].mean()) for curve in result.regret.values()):
        label = f"{label}, asymptotic: it holds in the long run only"
    return {label: (result.rounds, values)}


def bound_left_out(result: Curves) -> bool:
    highest = max(float(curve[:, -1].mean()) for curve in result.regret.values())
    return any(
        float(values[-1]) > FLAT_RATIO * highest for _, values in bound_curve(result).values()
    )


def draw_bands(
    ax: Axes,
    rounds: np.ndarray,
    curves: Mapping[str, np.ndarray],
    *,
    paired: bool = False,
    lines: Mapping[str, str] | None = None,
    band: float = 2.0,
    palette: style.Palette | None = None,
) -> None:
    """Mean curves with bands of `band` standard errors.

    curves: curves[name] is (replications, n). paired: the band is that of the difference to the
    mean of all curves of the same replication, as orders are judged; what replications have in
    common widens it no more.
    lines: line style by name; default from these curves. palette: colours by name; default: of
    these curves.
    """
    palette = style.Palette(curves) if palette is None else palette
    lines = lines or line_styles([curves], palette)
    common = np.mean(list(curves.values()), axis=0) if paired else 0.0
    for name, curve in curves.items():
        mean = curve.mean(axis=0)
        ax.plot(
            rounds,
            mean,
            color=palette.colour(name),
            linestyle=lines[name],
            linewidth=1.8,
            label=name,
        )
        if curve.shape[0] > 1 and band > 0.0:
            error = band * standard_error(curve - common)
            ax.fill_between(
                rounds,
                mean - error,
                mean + error,
                color=palette.colour(name),
                alpha=0.15,
                linewidth=0,
            )


def line_styles(
    panels: Sequence[Mapping[str, np.ndarray]], palette: style.Palette | None = None
) -> dict[str, str]:
    """Line style by name: where a mean curve lies on earlier ones all along a panel, dashes that
    let those be seen."""
    palette = style.Palette(panels[0]) if palette is None else palette
    covered = dict.fromkeys(panels[0], 0)
    for curves in panels:
        means = {name: curve.mean(axis=0) for name, curve in curves.items()}
        height = max(mean.max() for mean in means.values()) - min(
            mean.min() for mean in means.values()
        )
        names = list(means)
        for number, name in enumerate(names):
            below = [
                covered[other]
                for other in names[:number]
                if np.abs(means[name] - means[other]).max() <= COVERED_SHARE * height
            ]
            covered[name] = max(covered[name], 1 + max(below, default=-1))
    return {name: palette.line(name, covers) for name, covers in covered.items()}


def save_figure(fig: Figure, path: pathlib.Path) -> pathlib.Path:
    """Write a figure whole or not at all; the ending decides the format. Equal input gives equal
    bytes."""
    kind = path.suffix.lstrip(".").lower()
    if kind not in FORMATS:
        raise ValueError(
            f"path = {str(path)!r} has no ending among {', '.join('.' + name for name in FORMATS)}."
        )
    metadata: Arguments = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}.get(kind, {})
    import matplotlib as mpl

    buffer = io.BytesIO()
    with mpl.rc_context({"svg.hashsalt": "tightrope", "pdf.fonttype": 42, "ps.fonttype": 42}):
        try:
            fig.savefig(buffer, format=kind, dpi=150, metadata=metadata)
        except (
            FileNotFoundError,
            RuntimeError,
        ) as error:  # of LaTeX, which measures the text of a .pgf file
            if kind != "pgf":
                raise
            said = " ".join(str(error).split())[:120]
            raise ValueError(
                f"path = {str(path)!r} needs LaTeX (xelatex), which did not run here ({said}); "
                "write a .pdf file."
            ) from None
    with files.atomically(path) as file:
        file.write(buffer.getvalue())
    return path


def plot_regret(
    result: Curves,
    path: str | pathlib.Path | None,
    ax: Axes | None,
    width: float,
    height: float,
    *,
    title: str = "",
    **options: Any,
) -> pathlib.Path | Axes:
    """The curves into a file, into axes, or into new axes of pyplot where neither is given."""
    target = one_target(path, ax, width, height)
    if isinstance(target, Axes):
        draw_regret(target, result, **options)
        if title:
            target.set_title(title, color=style.INK, fontsize=11, loc="left")
        return target
    return save_figure(
        regret_figure(result, title=title, width=width, height=height, **options), target
    )


def one_target(
    path: str | pathlib.Path | None, ax: Axes | None, width: float, height: float
) -> pathlib.Path | Axes:
    """Where to draw. Neither is what is typed in a notebook, which shows the figures that pyplot
    knows."""
    if path is not None and ax is not None:
        raise ValueError("path and ax were both given; give a file to write, or axes to draw in.")
    if path is not None:
        return pathlib.Path(str(path))
    if ax is None:
        from matplotlib import pyplot

        return pyplot.subplots(figsize=(width, height), layout="constrained")[1]
    return ax


def chosen_policies(names: Sequence[str] | None, known: Sequence[str]) -> list[str]:
    for name in names or ():
        checks.choice("policies", name, tuple(known))
    return list(names or known)


# Rounds of identifications: every run, and the mean of each policy.


class StoppedRuns(Protocol):
    """Rounds by policy, and whether the arm that was named is right and certified: an
    identification, or anything like it."""

    @property
    def policies(self) -> Sequence[str]: ...
    @property
    def rounds(self) -> Mapping[str, np.ndarray]: ...  # name -> (replications,)
    @property
    def correct(self) -> Mapping[str, np.ndarray]: ...
    @property
    def stopped(self) -> Mapping[str, np.ndarray]: ...


def rounds_figure(
    result: StoppedRuns,
    *,
    title: str = "",
    width: float = 7.0,
    height: float | None = None,
    band: float = 2.0,
    policies: Sequence[str] | None = None,
    palette: style.Palette | None = None,
) -> Figure:
    """A line of dots per policy, one a run, on a logarithmic axis, with the mean and `band`
    standard errors."""
    names = chosen_policies(policies, result.policies)
    fig, (ax,) = style.figure(
        width=checks.real("width", width, above=0.0, most=100.0),
        height=1.2 + 0.5 * len(names)
        if height is None
        else checks.real("height", height, above=0.0, most=100.0),
    )
    draw_rounds(ax, result, names, band, palette)
    ax.set_title(title, color=style.INK, fontsize=11, loc="left")
    return fig


def draw_rounds(
    ax: Axes,
    result: StoppedRuns,
    names: Sequence[str],
    band: float = 2.0,
    palette: style.Palette | None = None,
) -> None:
    checks.real("band", band, least=0.0)
    palette = style.Palette(result.policies) if palette is None else palette
    for number, name in enumerate(names):
        rounds, colour = result.rounds[name], palette.colour(name)
        fine = result.correct[name] & result.stopped[name]
        height = (
            number
            + 0.25
            * np.linspace(-1.0, 1.0, rounds.size)[
                np.argsort(np.arange(rounds.size) * 7919 % rounds.size)
            ]
        )
        ax.plot(rounds[fine], height[fine], ".", color=colour, alpha=0.5, markersize=4)
        ax.plot(rounds[~fine], height[~fine], "x", color=colour, alpha=0.8, markersize=5)
        error = band * float(standard_error(rounds)) if rounds.size > 1 else 0.0
        ax.errorbar(
            rounds.mean(),
            number,
            xerr=error,
            fmt="D",
            color=style.INK,
            markersize=5,
            capsize=4,
            zorder=5,
        )
    ax.set_xscale("log")
    ax.set_yticks(range(len(names)), names)
    ax.invert_yaxis()
    ax.set_xlabel("rounds", color=style.INK)


def plot_rounds(
    result: StoppedRuns,
    path: str | pathlib.Path | None,
    ax: Axes | None,
    width: float,
    height: float | None,
    *,
    band: float,
    policies: Sequence[str] | None,
    title: str = "",
) -> pathlib.Path | Axes:
    """The picture in a file, in axes, or in new axes of pyplot where neither is given."""
    target = one_target(path, ax, width, height or 1.0 + 0.5 * len(result.policies))
    if isinstance(target, Axes):
        draw_rounds(target, result, chosen_policies(policies, result.policies), band)
        if title:
            target.set_title(title, color=style.INK, fontsize=11, loc="left")
        return target
    return save_figure(
        rounds_figure(
            result, title=title, width=width, height=height, band=band, policies=policies
        ),
        target,
    )


# The regret lower bound of a Lipschitz bandit in words and as a picture.


@dataclass(frozen=True)
class BoundReport:
    """text: for a terminal. figure: means and rates. bound: the numbers."""

    text: str
    figure: Figure
    bound: LowerBound


def bound_report(
    means: ArrayLike,
    *,
    points: ArrayLike | None = None,
    distances: ArrayLike | None = None,
    lipschitz: float,
    divergence: str = "bernoulli",
    sigma: float = 1.0,
    horizon: int = 100_000,
) -> BoundReport:
    """C(theta), what ignoring the structure would cost, and which arms an optimal algorithm
    explores how often in T rounds.

    Arguments as in `lipschitz_lower_bound`; horizon: T >= 2. Raises ValueError on bad arguments,
    means that break L among them.
    """
    T = checks.integer("horizon", horizon, least=2, most=checks.MOST_ROUNDS)
    theta, (_, metric) = checks.vector("means", means), checks.metric(points, distances)
    checks.vector("means", theta, length=metric.shape[0], source="the number of points")
    broken = checks.broken_slope(theta, metric, checks.real("lipschitz", lipschitz, above=0.0))
    if broken is not None:
        raise ValueError(broken)
    options: Arguments = {
        "points": points,
        "distances": distances,
        "divergence": divergence,
        "sigma": sigma,
    }
    bound = lipschitz_lower_bound(means, lipschitz=lipschitz, **options)
    gaps = metric[metric > 0]
    unrelated = lipschitz_lower_bound(
        means,
        lipschitz=float(2 * np.ptp(theta) / gaps.min()) + 1.0 if gaps.size else 1.0,
        **options,
    )
    log_T = math.log(T)
    lines = [
        f"C(theta) = {bound.value:.6g} (dual {bound.dual.sum():.6g}): no uniformly good algorithm "
        "has less regret than C(theta) ln T.",
        f"In T = {T} rounds: about {bound.value * log_T:.4g}.",
        f"Without the structure: {unrelated.value:.6g} and about {unrelated.value * log_T:.4g}.",
        "",
        "  arm       mean        gap    c_k  plays in T rounds",
    ]
    for k in range(theta.size):
        gap = theta.max() - theta[k]
        plays = "      the rest" if gap <= 1e-12 else f"{bound.rates[k] * log_T:14.1f}"
        lines.append(f"{k:5d} {theta[k]:10.4f} {gap:10.4f} {bound.rates[k]:6.2f} {plays}")
    return BoundReport("\n".join(lines), _draw(theta, bound, points), bound)


def _draw(theta: np.ndarray, bound: LowerBound, points: ArrayLike | None) -> Figure:
    fig, (ax,) = style.figure()
    line = points is not None and np.ndim(points) == 1
    x = np.asarray(points, dtype=np.float64) if line else np.arange(theta.size)
    ax.plot(x, theta, marker="o", markersize=4, color=style.colour(0), label="mean")
    ax.set(xlabel="point" if line else "arm", ylabel="mean")
    other = ax.twinx()
    other.spines[["top"]].set_visible(False)
    width = 0.6 * float(np.diff(x).min()) if x.size > 1 else 0.6
    other.bar(x, bound.rates, width=width, color=style.colour(3), alpha=0.5, label="rate c_k")
    other.set_ylabel("plays per unit of ln T", color=style.INK)
    if not line:
        style.whole_numbers(ax)
    ax.set_title(f"C(θ) = {bound.value:.4g}", color=style.INK, fontsize=11, loc="left")
    return fig


# Figures of what a log says of a policy: bounds over time, weights, support by arm, calibration of
# the model.


WIDTH, HEIGHT = 5.2, 3.5  # inches: letters can be read on a telephone
PLACE_RATIO = 1.15  # ratio by which estimates stand beside each other on an axis of rounds
# share of the rounds from which bounds must be inside the picture; earlier ones are as wide as the
# range of rewards
SHOWN_FROM = 0.1
MOST_ARMS = 40  # shown one by one in the picture of the support
BASELINE = "(baseline)"


class BoundSequence(Protocol):
    """Bounds over time."""

    @property
    def t(self) -> np.ndarray:
        """(c,) rounds."""

    @property
    def lower(self) -> np.ndarray:
        """(c,) bounds."""

    @property
    def upper(self) -> np.ndarray:
        """(c,) bounds."""


class Valued(Protocol):
    """A policy's value: an estimate, its interval and its bounds over time."""

    @property
    def policy(self) -> str:
        """The policy's name; may be empty."""

    @property
    def value(self) -> float:
        """The estimate."""

    @property
    def se(self) -> float:
        """The standard error of the value."""

    @property
    def interval(self) -> tuple[float, float]:
        """Of the value."""

    @property
    def rounds(self) -> int:
        """Rounds it is from."""

    @property
    def sequence(self) -> BoundSequence | None:
        """Bounds over time."""


def sequence_figure(
    evaluation: Valued,
    *,
    title: str = "",
    log_rounds: bool = True,
    palette: style.Palette | None = None,
) -> Figure:
    """The confidence sequence of one policy and its estimate. log_rounds: logarithmic axis of
    rounds. palette: colours by name."""
    named = {policy_label(evaluation): evaluation}
    return comparison_figure(named, title=title, log_rounds=log_rounds, palette=palette)


def comparison_figure(
    values: Mapping[str, Valued],
    *,
    title: str = "",
    log_rounds: bool = True,
    palette: style.Palette | None = None,
) -> Figure:
    """The confidence sequences of several policies, by name. palette: colours by name."""
    fig, (ax,) = style.figure(width=WIDTH, height=HEIGHT)
    draw_sequences(ax, values, log_rounds=log_rounds, palette=palette)
    ax.set_title(title, color=style.INK, fontsize=11, loc="left")
    return fig


def draw_sequences(
    ax: Axes,
    evaluations: Mapping[str, Valued],
    *,
    log_rounds: bool = True,
    palette: style.Palette | None = None,
) -> None:
    """Bands of the sequences, and each estimate as a point with its interval beside the last
    round."""
    palette = style.Palette(evaluations) if palette is None else palette
    shade = 0.15 if len(evaluations) == 1 else 0.05
    for number, (name, e) in enumerate(evaluations.items()):
        colour, line = palette.colour(name), palette.line(name)
        if e.sequence is not None:
            draw_band(ax, e.sequence, colour, line, name, shade)
        low, high = e.interval
        offset = (
            PLACE_RATIO ** (number + 1)
            if log_rounds
            else 1.0 + 0.1 * (number + 1) * (PLACE_RATIO - 1.0)
        )
        ax.errorbar(
            offset * e.rounds,
            e.value,
            yerr=[[max(e.value - low, 0.0)], [max(high - e.value, 0.0)]],
            fmt="D",
            color=colour,
            markersize=5,
            capsize=4,
            label=name if e.sequence is None else None,
        )
    if log_rounds:
        ax.set_xscale("log")
    _see_late_bounds(
        ax,
        [e.sequence for e in evaluations.values() if e.sequence is not None],
        [e.value for e in evaluations.values()],
    )
    ax.set(xlabel="round", ylabel="value per round")
    style.legend(ax)


def draw_band(
    ax: Axes, bounds: BoundSequence, colour: str, line: str, name: str, shade: float = 0.15
) -> None:
    ax.fill_between(
        bounds.t, bounds.lower, bounds.upper, color=colour, alpha=shade, linewidth=0, step="post"
    )
    ax.step(bounds.t, bounds.lower, where="post", color=colour, linestyle=line, linewidth=1.2)
    ax.step(
        bounds.t,
        bounds.upper,
        where="post",
        color=colour,
        linestyle=line,
        linewidth=1.2,
        label=name,
    )


def _see_late_bounds(ax: Axes, sequences: list[BoundSequence], values: list[float]) -> None:
    """Limits in which the bounds of the last rounds and the estimates are, whatever the first
    rounds' are, and rounds that show a bound."""
    if not sequences:
        return
    late = [
        side[bounds.t >= SHOWN_FROM * bounds.t[-1]]
        for bounds in sequences
        for side in (bounds.lower, bounds.upper)
    ]
    ends = np.concatenate([*late, np.asarray(values)])
    low, high = float(ends.min()), float(ends.max())
    room = 0.06 * max(high - low, 1e-12)
    ax.set_ylim(low - room, high + room)
    first = float(sequences[0].t[-1])
    for (
        bounds
    ) in sequences:  # the widest bounds are those of the first rounds: the range of rewards
        inside = (bounds.lower > max(low - room, bounds.lower.min())) | (
            bounds.upper < min(high + room, bounds.upper.max())
        )
        first = min(first, float(bounds.t[np.argmax(inside)]) if inside.any() else first)
    ax.set_xlim(left=max(1.0, 0.5 * first))


def policy_label(value: Valued) -> str:
    return value.policy or "policy"


def colours(name: str, palette: style.Palette | None) -> style.Palette:
    return style.Palette([name, BASELINE]) if palette is None else palette


def difference_figure(
    bounds: BoundSequence,
    name: str = "policy",
    *,
    decided: int | None = None,
    verdict: str = "",
    palette: style.Palette | None = None,
) -> Figure:
    """The sequence of a policy's value less the baseline's. decided: the round of the verdict."""
    fig, (ax,) = style.figure(width=WIDTH, height=HEIGHT)
    draw_band(
        ax, bounds, colours(name, palette).colour(name), style.line(0), f"{name} less baseline"
    )
    ax.axhline(0.0, color=style.INK, linewidth=1.0)
    if decided is not None:
        ax.axvline(decided, color=style.SOFT, linestyle="--", linewidth=1.2, label=verdict)
    ax.set(xscale="log", xlabel="round", ylabel="difference per round")
    _see_late_bounds(ax, [bounds], [0.0])
    style.legend(ax)
    return fig


def weights_figure(
    weights: np.ndarray, name: str = "policy", palette: style.Palette | None = None
) -> Figure:
    """Histogram of the rounds' weights. weights: (bins, 2) lower edges, each the same multiple of
    the last, and numbers of rounds.

    Those below the range, zeros among them, are in the first bar, those above it in the last.
    """
    fig, (ax,) = style.figure(width=WIDTH, height=HEIGHT)
    edges, rounds = weights.T
    ends = np.append(edges[1:], edges[-1] * (edges[1] / edges[0]))
    share = rounds / max(rounds.sum(), 1.0)
    ax.bar(
        edges, share, width=ends - edges, align="edge", color=colours(name, palette).colour(name)
    )
    filled = np.flatnonzero(rounds)
    ax.axvline(
        1.0,
        color=style.INK,
        linewidth=1.0,
        linestyle=":",
        label="weight 1: the logger's own probability",
    )
    also = f" (first bar: at most {ends[0]:.2g}, also 0)" if filled[0] == 0 else ""
    ax.set(xscale="log", yscale="log", xlabel=f"weight of a round{also}", ylabel="share of rounds")
    ax.set_xlim(min(float(edges[filled[0]]), 0.5), max(float(ends[filled[-1]]), 2.0))
    style.legend(ax)
    return fig


def support_figure(
    target: np.ndarray,
    played: np.ndarray,
    name: str = "policy",
    *,
    arms: Sequence[str | int] | None = None,
    palette: style.Palette | None = None,
) -> Figure:
    """Each arm's share of the log beside its share under the policy, the policy's favourites first.

    target: (K,) the policy's probability of each arm. played: (K,) rows of the log. arms: what they
    are called.
    """
    target, logged = target / max(float(target.sum()), 1e-300), played / played.sum()
    order = np.lexsort((-logged, -target))[:MOST_ARMS]
    fig, (ax,) = style.figure(width=WIDTH, height=HEIGHT)
    palette = colours(name, palette)
    places = np.arange(order.size)
    ax.vlines(
        places,
        np.minimum(logged, target)[order],
        np.maximum(logged, target)[order],
        color=style.AXIS,
        linewidth=1.0,
    )
    ax.plot(
        places, logged[order], "o", color=palette.colour(BASELINE), markersize=5, label="logged"
    )
    ax.plot(places, target[order], "D", color=palette.colour(name), markersize=4.5, label=name)
    labels = [str(k if arms is None else arms[k]) for k in order.tolist()]
    many = order.size > 16 or max(map(len, labels)) > 4
    ax.set_xticks(places, labels, rotation=90 if many else 0, fontsize=7 if many else 8)
    ax.set_ylim(bottom=0.0)
    ax.set(
        xlabel="arm"
        if order.size == target.size
        else f"arm (the policy's {MOST_ARMS} most played)",
        ylabel="share",
    )
    style.legend(ax)
    return fig


def calibration_figure(
    calibration: np.ndarray, rewards: tuple[float, float] = (0.0, 1.0)
) -> Figure:
    """Mean reward against mean prediction by tenths of the predictions; bars: two standard errors
    at most, by the range of rewards.

    calibration: (c, 3) rows, mean prediction, mean reward. rewards: the lowest and the highest
    there can be.
    """
    fig, (ax,) = style.figure(width=WIDTH, height=HEIGHT)
    rows, predicted, observed = calibration.T
    low, high = rewards
    error = 2.0 * np.sqrt(np.maximum((observed - low) * (high - observed), 0.0) / rows)
    ends = [
        min(predicted.min(), (observed - error).min()),
        max(predicted.max(), (observed + error).max()),
    ]
    ax.plot(ends, ends, color=style.INK, linewidth=1.0, linestyle=":", label="prediction = reward")
    ax.errorbar(
        predicted,
        observed,
        yerr=error,
        fmt="o",
        color=style.SOFT,
        markersize=5,
        capsize=3,
        label="a tenth of the rows",
    )
    ax.set(xlabel="mean prediction", ylabel="mean reward")
    style.legend(ax)
    return fig


# Pictures of paired comparisons: the differences with their intervals, and the performance profile.


class Differences(Protocol):
    """Paired differences, and on several problems the performance profile."""

    @property
    def pairs(self) -> Sequence[Any]: ...  # `results.Pair`
    @property
    def problems(self) -> int: ...
    @property
    def cost(self) -> str: ...
    @property
    def profile(self) -> Mapping[str, np.ndarray]: ...
    @property
    def ratios(self) -> np.ndarray: ...


def paired_comparison_figure(
    comparison: Differences, *, title: str = "", palette: style.Palette | None = None
) -> Figure:
    """A line per pair with its interval, grey where it is undecided; beside it the profile where
    there are several problems."""
    fig, axes = style.figure(
        2 if comparison.problems > 1 else 1, height=1.3 + 0.36 * max(len(comparison.pairs), 4)
    )
    ax = axes[0]
    for number, pair in enumerate(comparison.pairs):
        colour = style.COLOURS[0] if pair.decided else style.SOFT
        if np.isfinite([pair.lower, pair.upper]).all():
            ax.plot([pair.lower, pair.upper], [number, number], color=colour, linewidth=2)
        else:  # too few replications: anything is possible
            ax.axhline(number, color=colour, linewidth=2)
        ax.plot([pair.difference], [number], "D", color=colour, markersize=5)
    ax.axvline(0.0, color=style.INK, linewidth=0.8)
    ax.set_yticks(
        range(len(comparison.pairs)), [f"{pair.first} - {pair.second}" for pair in comparison.pairs]
    )
    ax.invert_yaxis()
    ax.set_xlabel(f"difference of {comparison.cost}")
    if comparison.problems > 1:
        palette = style.Palette(comparison.profile) if palette is None else palette
        for name, share in comparison.profile.items():
            end = [*comparison.ratios, 1.05 * comparison.ratios[-1]]
            axes[1].step(
                end,
                [*share, share[-1]],
                where="post",
                color=palette.colour(name),
                linestyle=palette.line(name),
                label=name,
            )
        axes[1].set(
            xlabel=f"times the lowest {comparison.cost} of the problem",
            ylabel="share of problems",
            ylim=(0.0, 1.02),
        )
        style.legend(axes[1])
    ax.set_title(title, color=style.INK, fontsize=11, loc="left")
    return fig


def save_comparison(
    comparison: Differences, path: pathlib.Path, *, title: str = ""
) -> pathlib.Path:
    return save_figure(paired_comparison_figure(comparison, title=title), path)
