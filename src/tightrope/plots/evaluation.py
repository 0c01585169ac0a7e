"""Figures of what a log says of a policy: bounds over time, weights, support by arm, calibration of the model.

They are functions of numbers: anything with the attributes named here can be drawn.
"""

from collections.abc import Mapping, Sequence
from typing import Protocol

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from . import style
from .digits import interval, with_error

WIDTH, HEIGHT = 5.2, 3.5  # inches: letters can be read on a telephone
PLACE_RATIO = 1.15  # ratio by which estimates stand beside each other on an axis of rounds
SHOWN_FROM = 0.1  # share of the rounds from which bounds must be inside the picture; earlier ones are as wide as the range of rewards
MOST_ARMS = 40  # shown one by one in the picture of the support
FREQUENCY = "share of rounds"
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
    evaluation: Valued, *, title: str = "", log_rounds: bool = True, palette: style.Palette | None = None
) -> Figure:  # fmt: skip
    """The confidence sequence of one policy and its estimate. log_rounds: logarithmic axis of rounds. palette: colours by name."""
    fig, (ax,) = style.figure(width=WIDTH, height=HEIGHT)
    draw_sequences(ax, {policy_label(evaluation): evaluation}, log_rounds=log_rounds, palette=palette)
    if title:
        ax.set_title(title, color=style.INK, fontsize=11, loc="left")
    return fig


def comparison_figure(
    values: Mapping[str, Valued], *, title: str = "", log_rounds: bool = True, palette: style.Palette | None = None
) -> Figure:  # fmt: skip
    """The confidence sequences of several policies, by name. palette: colours by name."""
    fig, (ax,) = style.figure(width=WIDTH, height=HEIGHT)
    draw_sequences(ax, values, log_rounds=log_rounds, palette=palette)
    if title:
        ax.set_title(title, color=style.INK, fontsize=11, loc="left")
    return fig


def draw_sequences(
    ax: Axes, evaluations: Mapping[str, Valued], *, log_rounds: bool = True, palette: style.Palette | None = None
) -> None:  # fmt: skip
    """Bands of the sequences, and each estimate as a point with its interval beside the last round."""
    palette = style.Palette(evaluations) if palette is None else palette
    shade = 0.15 if len(evaluations) == 1 else 0.05
    for number, (name, e) in enumerate(evaluations.items()):
        colour, line = palette.colour(name), palette.line(name)
        if e.sequence is not None:
            draw_band(ax, e.sequence, colour, line, name, shade)
        low, high = e.interval
        offset = PLACE_RATIO ** (number + 1) if log_rounds else 1.0 + 0.1 * (number + 1) * (PLACE_RATIO - 1.0)
        ax.errorbar(
            offset * e.rounds, e.value, yerr=[[max(e.value - low, 0.0)], [max(high - e.value, 0.0)]], fmt="D", color=colour, markersize=5,
            capsize=4, label=name if e.sequence is None else None,
        )  # fmt: skip
        style.hover(ax, [offset * e.rounds], [e.value], [f"{name}: {with_error(e.value, e.se)}, {interval(low, high)}"])
    if log_rounds:
        ax.set_xscale("log")
    _see_late_bounds(ax, [e.sequence for e in evaluations.values() if e.sequence is not None], [e.value for e in evaluations.values()])
    ax.set_xlabel("round", color=style.INK)
    ax.set_ylabel("value per round", color=style.INK)
    style.legend(ax)


def draw_band(ax: Axes, bounds: BoundSequence, colour: str, line: str, name: str, shade: float = 0.15) -> None:
    ax.fill_between(bounds.t, bounds.lower, bounds.upper, color=colour, alpha=shade, linewidth=0, step="post")
    ax.step(bounds.t, bounds.lower, where="post", color=colour, linestyle=line, linewidth=1.2)
    ax.step(bounds.t, bounds.upper, where="post", color=colour, linestyle=line, linewidth=1.2, label=name)
    ends = zip(bounds.t.tolist(), bounds.lower.tolist(), bounds.upper.tolist(), strict=True)
    texts = [f"{name}: {interval(low, high)} after {t:,} rounds" for t, low, high in ends]
    style.hover(ax, bounds.t, bounds.lower, texts)
    style.hover(ax, bounds.t, bounds.upper, texts)


def _see_late_bounds(ax: Axes, sequences: list[BoundSequence], values: list[float]) -> None:
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


def policy_label(value: Valued) -> str:
    return value.policy or "policy"


def colours(name: str, palette: style.Palette | None) -> style.Palette:
    return style.Palette([name, BASELINE]) if palette is None else palette


def difference_figure(
    bounds: BoundSequence, name: str = "policy", *, decided: int | None = None, verdict: str = "", palette: style.Palette | None = None
) -> Figure:  # fmt: skip
    """The sequence of a policy's value less the baseline's. decided: the round of the verdict."""
    fig, (ax,) = style.figure(width=WIDTH, height=HEIGHT)
    draw_band(ax, bounds, colours(name, palette).colour(name), style.line(0), f"{name} less baseline")
    ax.axhline(0.0, color=style.INK, linewidth=1.0)
    if decided is not None:
        ax.axvline(decided, color=style.SOFT, linestyle="--", linewidth=1.2, label=verdict)
    ax.set_xscale("log")
    _see_late_bounds(ax, [bounds], [0.0])
    ax.set_xlabel("round", color=style.INK)
    ax.set_ylabel("difference per round", color=style.INK)
    style.legend(ax)
    return fig


def weights_figure(weights: np.ndarray, name: str = "policy", palette: style.Palette | None = None) -> Figure:
    """Histogram of the rounds' weights. weights: (bins, 2) lower edges, each the same multiple of the last, and numbers of rounds.

    Those below the range, zeros among them, are in the first bar, those above it in the last.
    """
    fig, (ax,) = style.figure(width=WIDTH, height=HEIGHT)
    edges, rounds = weights.T
    ends = np.append(edges[1:], edges[-1] * (edges[1] / edges[0]))
    share = rounds / max(rounds.sum(), 1.0)
    ax.bar(edges, share, width=ends - edges, align="edge", color=colours(name, palette).colour(name))
    filled = np.flatnonzero(rounds)
    ax.axvline(1.0, color=style.INK, linewidth=1.0, linestyle=":", label="weight 1: the logger's own probability")
    ax.set_xscale("log")
    ax.set_yscale("log")
    ax.set_xlim(min(float(edges[filled[0]]), 0.5), max(float(ends[filled[-1]]), 2.0))
    ax.set_xlabel("weight of a round" + (f" (first bar: at most {ends[0]:.2g}, also 0)" if filled[0] == 0 else ""), color=style.INK)
    ax.set_ylabel(FREQUENCY, color=style.INK)
    style.legend(ax)
    return fig


def support_figure(
    target: np.ndarray, played: np.ndarray, name: str = "policy", *, arms: Sequence[str | int] | None = None,
    palette: style.Palette | None = None,
) -> Figure:  # fmt: skip
    """Each arm's share of the log beside its share under the policy, the policy's favourites first.

    target: (K,) the policy's probability of each arm. played: (K,) rows of the log. arms: what they are called.
    """
    target, logged = target / max(float(target.sum()), 1e-300), played / played.sum()
    order = np.lexsort((-logged, -target))[:MOST_ARMS]
    fig, (ax,) = style.figure(width=WIDTH, height=HEIGHT)
    palette = colours(name, palette)
    places = np.arange(order.size)
    ax.vlines(places, np.minimum(logged, target)[order], np.maximum(logged, target)[order], color=style.AXIS, linewidth=1.0)
    ax.plot(places, logged[order], "o", color=palette.colour(BASELINE), markersize=5, label="logged")
    ax.plot(places, target[order], "D", color=palette.colour(name), markersize=4.5, label=name)
    labels = [str(k if arms is None else arms[k]) for k in order.tolist()]
    many = order.size > 16 or max(map(len, labels)) > 4
    ax.set_xticks(places, labels, rotation=90 if many else 0, fontsize=7 if many else 8)
    ax.set_ylim(bottom=0.0)
    ax.set_xlabel("arm" if order.size == target.size else f"arm (the policy's {MOST_ARMS} most played)", color=style.INK)
    ax.set_ylabel("share", color=style.INK)
    style.legend(ax)
    return fig


def calibration_figure(calibration: np.ndarray, rewards: tuple[float, float] = (0.0, 1.0)) -> Figure:
    """Mean reward against mean prediction by tenths of the predictions; bars: two standard errors at most, by the range of rewards.

    calibration: (c, 3) rows, mean prediction, mean reward. rewards: the lowest and the highest there can be.
    """
    fig, (ax,) = style.figure(width=WIDTH, height=HEIGHT)
    rows, predicted, observed = calibration.T
    low, high = rewards
    error = 2.0 * np.sqrt(np.maximum((observed - low) * (high - observed), 0.0) / rows)
    ends = [min(predicted.min(), (observed - error).min()), max(predicted.max(), (observed + error).max())]
    ax.plot(ends, ends, color=style.INK, linewidth=1.0, linestyle=":", label="prediction = reward")
    ax.errorbar(predicted, observed, yerr=error, fmt="o", color=style.SOFT, markersize=5, capsize=3, label="a tenth of the rows")
    ax.set_xlabel("mean prediction", color=style.INK)
    ax.set_ylabel("mean reward", color=style.INK)
    style.legend(ax)
    return fig
