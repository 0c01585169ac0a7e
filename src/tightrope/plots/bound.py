"""The regret lower bound of a Lipschitz bandit in words and as a picture."""

import math
from dataclasses import dataclass

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import ArrayLike

from ..core import checks
from ..core.types import Arguments
from ..solvers.covering import LowerBound, lipschitz_lower_bound
from . import style


@dataclass(frozen=True)
class BoundReport:
    """text: for a terminal. figure: means and rates. bound: the numbers."""

    text: str
    figure: Figure
    bound: LowerBound


def bound_report(
    means: ArrayLike, *, points: ArrayLike | None = None, distances: ArrayLike | None = None, lipschitz: float,
    divergence: str = "bernoulli", sigma: float = 1.0, horizon: int = 100_000,
) -> BoundReport:  # fmt: skip
    """C(theta), what ignoring the structure would cost, and which arms an optimal algorithm explores how often in T rounds.

    Arguments as in `lipschitz_lower_bound`; horizon: T >= 2. Raises ValueError on bad arguments, means that break L among them.
    """
    T = checks.integer("horizon", horizon, least=2, most=checks.MOST_ROUNDS)
    theta, (_, metric) = checks.vector("means", means), checks.metric(points, distances)
    checks.vector("means", theta, length=metric.shape[0], source="the number of points")
    broken = checks.broken_slope(theta, metric, checks.real("lipschitz", lipschitz, above=0.0))
    if broken is not None:
        raise ValueError(broken)
    options: Arguments = {"points": points, "distances": distances, "divergence": divergence, "sigma": sigma}
    bound = lipschitz_lower_bound(means, lipschitz=lipschitz, **options)
    gaps = metric[metric > 0]
    unrelated = lipschitz_lower_bound(means, lipschitz=float(2 * np.ptp(theta) / gaps.min()) + 1.0 if gaps.size else 1.0, **options)
    log_T = math.log(T)
    lines = [
        f"C(theta) = {bound.value:.6g} (dual {bound.dual.sum():.6g}): no uniformly good algorithm has less regret than C(theta) ln T.",
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
    ax.set_xlabel("point" if line else "arm", color=style.INK)
    ax.set_ylabel("mean", color=style.INK)
    other = ax.twinx()
    other.spines[["top"]].set_visible(False)
    width = 0.6 * float(np.diff(x).min()) if x.size > 1 else 0.6
    other.bar(x, bound.rates, width=width, color=style.colour(3), alpha=0.5, label="rate c_k")
    other.set_ylabel("plays per unit of ln T", color=style.INK)
    if not line:
        style.whole_numbers(ax)
    ax.set_title(f"C(θ) = {bound.value:.4g}", color=style.INK, fontsize=11, loc="left")
    return fig
