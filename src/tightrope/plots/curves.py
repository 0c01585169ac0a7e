"""Regret curves with bands, and reference curves such as a lower bound."""

import io
import pathlib
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import ArrayLike

from ..core import checks, files
from ..core.types import Arguments, JsonObject
from ..numerics.statistics import standard_error
from . import style
from .digits import with_error

References = Mapping[str, tuple[ArrayLike, ArrayLike]]  # label -> (rounds, values) of a curve


class Curves(Protocol):
    """Regret curves by policy, and how they were made: a simulation's result, or anything like it."""

    @property
    def rounds(self) -> np.ndarray: ...  # (n,) checkpoints
    @property
    def regret(self) -> Mapping[str, np.ndarray]: ...  # name -> (replications, n)
    @property
    def settings(self) -> JsonObject: ...
    @property
    def policies(self) -> Sequence[str]: ...


FORMATS = ("svg", "png", "pdf", "pgf")
HOVER_POINTS = 60  # points of a curve that say their values on a page
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
    """Mean cumulative regret of every policy with a band of two standard errors, and the problem's lower bound if it has one.

    references: label -> (rounds, values), drawn as dashed grey lines too. log_rounds: logarithmic axis of rounds. paired: bands of
    what policies differ by on the same streams (see `draw_bands`). band: their half height in standard errors. width, height: inches.
    palette: colours by name; default: of this figure alone.
    """
    fig, (ax,) = style.figure(
        width=checks.real("width", width, above=0.0, most=100.0), height=checks.real("height", height, above=0.0, most=100.0)
    )
    draw_regret(ax, result, log_rounds=log_rounds, references=references, policies=policies, paired=paired, band=band, palette=palette)
    if title:
        ax.set_title(title, color=style.INK, fontsize=11, loc="left")
    return fig


def draw_regret(
    ax: Axes, result: Curves, *, log_rounds: bool = False, references: References | None = None, policies: Sequence[str] | None = None,
    legend: bool = True, paired: bool = False, band: float = 2.0, palette: style.Palette | None = None,
) -> None:  # fmt: skip
    """Draw the curves of `regret_figure` into given axes."""
    names = chosen_policies(policies, result.policies)
    palette = style.Palette(result.policies) if palette is None else palette
    curves = {name: result.regret[name] for name in names}
    draw_bands(ax, result.rounds, curves, paired=paired, band=checks.real("band", band, least=0.0), palette=palette)
    bound = {} if bound_left_out(result) else bound_curve(result)
    for number, (label, (rounds, values)) in enumerate((bound | dict(references or {})).items()):
        ax.plot(rounds, values, color=style.SOFT, linestyle=style.LINES[1 + number % 3], linewidth=1.4, label=label, zorder=5)
    if log_rounds:
        ax.set_xscale("log")
    else:
        ax.set_xlim(left=0)
    ax.set_xlabel("round", color=style.INK)
    ax.set_ylabel("cumulative pseudo-regret", color=style.INK)
    ax.set_ylim(bottom=min(0.0, ax.get_ylim()[0]))
    if legend:
        style.legend(ax, PAIRED_LEGEND.replace("2", f"{band:g}") if paired else "")


def bound_curve(result: Curves) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """The lower bound C ln T (plus what the arms themselves lose against the best of a continuum) that the result carries.

    No policy is below it in the long run. Where it ends above all curves its name says that it is asymptotic.
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
    """Whether the lower bound ends so far above all curves that drawing it would press them flat."""
    highest = max(float(curve[:, -1].mean()) for curve in result.regret.values())
    return any(float(values[-1]) > FLAT_RATIO * highest for _, values in bound_curve(result).values())


def draw_bands(
    ax: Axes, rounds: np.ndarray, curves: Mapping[str, np.ndarray], *, paired: bool = False,
    lines: Mapping[str, str] | None = None, band: float = 2.0, palette: style.Palette | None = None,
) -> None:  # fmt: skip
    """Mean curves with bands of `band` standard errors.

    curves: curves[name] is (replications, n). paired: the band is that of the difference
    to the mean of all curves of the same replication, as orders are judged; what replications have in common widens it no more.
    lines: line style by name; default from these curves. palette: colours by name; default: of these curves.
    """
    palette = style.Palette(curves) if palette is None else palette
    lines = lines or line_styles([curves], palette)
    common = np.mean(list(curves.values()), axis=0) if paired else 0.0
    for name, curve in curves.items():
        mean = curve.mean(axis=0)
        ax.plot(rounds, mean, color=palette.colour(name), linestyle=lines[name], linewidth=1.8, label=name)
        if curve.shape[0] > 1 and band > 0.0:
            error = band * standard_error(curve - common)
            ax.fill_between(rounds, mean - error, mean + error, color=palette.colour(name), alpha=0.15, linewidth=0)
        shown = np.unique(np.linspace(0, len(rounds) - 1, min(HOVER_POINTS, len(rounds))).round().astype(np.int64))
        error = standard_error(curve)
        texts = [f"{name}: {with_error(mean[i], error[i])} at {rounds[i]:,}" for i in shown]
        style.hover(ax, np.asarray(rounds)[shown], mean[shown], texts)


def line_styles(panels: Sequence[Mapping[str, np.ndarray]], palette: style.Palette | None = None) -> dict[str, str]:
    """Line style by name: where a mean curve lies on earlier ones all along a panel, dashes that let those be seen."""
    palette = style.Palette(panels[0]) if palette is None else palette
    styles: dict[str, str] = {}
    covered = dict.fromkeys(panels[0], 0)
    for curves in panels:
        means = {name: curve.mean(axis=0) for name, curve in curves.items()}
        height = max(mean.max() for mean in means.values()) - min(mean.min() for mean in means.values())
        names = list(means)
        for number, name in enumerate(names):
            below = [covered[other] for other in names[:number] if np.abs(means[name] - means[other]).max() <= COVERED_SHARE * height]
            covered[name] = max(covered[name], 1 + max(below, default=-1))
    for name in panels[0]:
        styles[name] = palette.line(name, covered[name])
    return styles


def save_figure(fig: Figure, path: pathlib.Path) -> pathlib.Path:
    """Write a figure whole or not at all; the ending decides the format. Equal input gives equal bytes."""
    kind = path.suffix.lstrip(".").lower()
    if kind not in FORMATS:
        raise ValueError(f"path = {str(path)!r} has no ending among {', '.join('.' + name for name in FORMATS)}.")
    metadata: Arguments = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}.get(kind, {})
    import matplotlib as mpl

    buffer = io.BytesIO()
    with mpl.rc_context({"svg.hashsalt": "tightrope", "pdf.fonttype": 42, "ps.fonttype": 42}):
        try:
            fig.savefig(buffer, format=kind, dpi=150, metadata=metadata)
        except (FileNotFoundError, RuntimeError) as error:  # of LaTeX, which measures the text of a .pgf file
            if kind != "pgf":
                raise
            said = " ".join(str(error).split())[:120]
            raise ValueError(f"path = {str(path)!r} needs LaTeX (xelatex), which did not run here ({said}); write a .pdf file.") from None
    with files.atomically(path) as file:
        file.write(buffer.getvalue())
    return path


def plot_regret(
    result: Curves, path: str | pathlib.Path | None, ax: Axes | None, width: float, height: float, *, title: str = "", **options: Any
) -> pathlib.Path | Axes:
    """The curves into a file, into axes, or into new axes of pyplot where neither is given."""
    target = one_target(path, ax, width, height)
    if isinstance(target, Axes):
        draw_regret(target, result, **options)
        if title:
            target.set_title(title, color=style.INK, fontsize=11, loc="left")
        return target
    return save_figure(regret_figure(result, title=title, width=width, height=height, **options), target)


def one_target(path: str | pathlib.Path | None, ax: Axes | None, width: float, height: float) -> pathlib.Path | Axes:
    """Where to draw. Neither is what is typed in a notebook, which shows the figures that pyplot knows."""
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
