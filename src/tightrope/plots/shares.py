"""Shares of the arms that were played: a strip for each policy."""

from collections.abc import Mapping, Sequence
from typing import Protocol

import numpy as np
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from . import style

MOST_ARMS = 60  # shown one by one


class Played(Protocol):
    """Pulls by policy, and of how many rounds: a result of any kind."""

    @property
    def policies(self) -> Sequence[str]: ...
    @property
    def pulls(self) -> Mapping[str, np.ndarray]: ...  # name -> (replications, K)
    @property
    def rounds(self) -> np.ndarray | Mapping[str, np.ndarray]: ...  # (n,) checkpoints of all, or name -> (replications,)


def shares(result: Played, name: str) -> np.ndarray:
    """(K,) share of the rounds in which each arm was played, mean over replications; of sets they add up to the size of a set."""
    rounds = result.rounds[name][:, None] if isinstance(result.rounds, Mapping) else float(result.rounds[-1])
    return np.asarray((result.pulls[name] / rounds).mean(axis=0))


def shares_figure(result: Played, palette: style.Palette | None = None, width: float = 7.0) -> Figure:
    """A strip per policy in its colour: the fuller the colour, the more of its rounds had the arm."""
    names = result.policies
    palette = style.Palette(names) if palette is None else palette
    parts = np.stack([shares(result, name) for name in names])
    many = parts.shape[1] > MOST_ARMS
    if many:
        parts = -np.sort(-parts, axis=1)[:, :MOST_ARMS]
    fig, (ax,) = style.figure(width=width, height=0.8 + 0.42 * len(names))
    most = max(float(parts.max()), 1e-12)
    for row, name in enumerate(names):
        for arm, part in enumerate(parts[row].tolist()):
            ax.add_patch(Rectangle((arm - 0.5, row - 0.42), 1.0, 0.84, color=palette.colour(name), alpha=part / most, linewidth=0))
        which = "number {} of the most played arms" if many else "arm {}"
        texts = [f"{name}, {which.format(arm)}: {100 * part:.3g}% of the rounds" for arm, part in enumerate(parts[row].tolist())]
        style.hover(ax, range(parts.shape[1]), [row] * parts.shape[1], texts)
    ax.grid(False)
    ax.set_xlim(-0.5, parts.shape[1] - 0.5)
    ax.set_ylim(len(names) - 0.5, -0.5)
    ax.set_yticks(range(len(names)), names)
    ax.set_xlabel(f"the {MOST_ARMS} most played arms" if many else "arm")
    style.whole_numbers(ax)
    return fig


def shares_caption(result: Played) -> str:
    most = max(float(shares(result, name).max()) for name in result.policies)
    size = max(float(shares(result, name).sum()) for name in result.policies)
    sets = f" A round plays a set of up to {size:.3g} arms." if size > 1.0 + 1e-9 else ""
    said = "Share of rounds in which each arm was played, mean over replications."
    return f"{said} The fullest colour is {100 * most:.3g}% of the rounds.{sets}"
