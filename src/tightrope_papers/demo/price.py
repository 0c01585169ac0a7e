"""(e) Price: neighbouring prices earn about the same, and a bound on the slope spares visitors."""

import numpy as np
from matplotlib.figure import Figure

from tightrope import policies, problems
from tightrope.pages.page import Section, result_summary
from tightrope.plots import style
from tightrope.plots.figures import draw_regret
from tightrope.plots.style import picture, shares
from tightrope.results.results import Result
from tightrope.simulation.simulate import simulate
from tightrope.solvers.programs import LowerBound, lipschitz_lower_bound

from .setting import DemoSetting

PRICES = np.linspace(20.0, 100.0, 17)
SLOPE = 0.014  # told: of revenue by price, as shares of the highest price
VISITORS, SHOPS = 20_000, 40


def demand(prices: np.ndarray) -> np.ndarray:
    return np.asarray(1.0 / (1.0 + np.exp((prices - 55.0) / 9.0)))


def section(setting: DemoSetting) -> Section:
    revenue = PRICES * demand(PRICES) / PRICES[-1]
    problem = problems.Lipschitz(points=PRICES, means=revenue, lipschitz=SLOPE)
    players = {"CKL-UCB": policies.CKLUCB(lipschitz=SLOPE), "KL-UCB": policies.KLUCB()}
    horizon = setting.of(VISITORS, least=500)
    result = simulate(problem, players, horizon=horizon, replications=setting.of(SHOPS, least=6), **setting.play("price"))
    bound = lipschitz_lower_bound(revenue, points=PRICES, lipschitz=SLOPE)
    caption = (
        "Left: revenue per visitor (line, right scale) and the share of visitors who see each price (bars). Right: mean regret, bands of 2 "
        "standard errors." + (" The lower bound is for the long run: policies may be below it at early rounds." if bound.value > 0 else "")
    )
    text = (
        "No public log of a price test is at hand, so this shop is synthetic: a product has one of 17 prices, and fewer buy at higher "
        f"ones. CKL-UCB is told that revenue changes by at most {SLOPE:g} of the highest price per unit of price; KL-UCB treats prices as "
        "unrelated."
    )
    return Section(
        "Price: a curve that is not too steep", text, [picture(draw(result, revenue, setting.palette), caption)], [result_summary(result)],
        summary=sentence(result, bound),
    )  # fmt: skip


def sentence(result: Result, bound: LowerBound) -> str:
    """The lowest regret, beside the asymptotic lower bound."""
    visitors = int(result.rounds[-1])
    least = bound.value * float(np.log(visitors))
    lost = result.regret["CKL-UCB"][:, -1]
    side = "above" if lost.mean() > least else "below"
    lowest = style.lowest({name: curve[:, -1] for name, curve in result.regret.items()}, f"regret after {visitors:,} visitors")
    return (
        f"{lowest} In the long run no policy that is good everywhere loses less than {bound.value:.3g} ln T, here "
        f"{least:,.0f}; CKL-UCB is {side} that asymptotic bound after {visitors:,} visitors."
    )


def draw(result: Result, revenue: np.ndarray, palette: style.Palette) -> Figure:
    fig, (left, right) = style.figure(2, width=5.4, height=3.6)
    step = float(PRICES[1] - PRICES[0]) / (len(result.policies) + 1)
    for number, name in enumerate(result.policies):
        part, places = 100.0 * shares(result, name), PRICES + step * (number - 0.5 * (len(result.policies) - 1))
        left.bar(places, part, width=step, color=palette.colour(name), label=name)
        style.hover(left, places, part, [f"{name}: {s:.1f}% see {p:.0f}" for p, s in zip(PRICES, part, strict=True)])
    left.set_xlabel("price")
    left.set_ylabel("% of visitors who see it")
    other = left.twinx()
    other.plot(PRICES, revenue, color=style.INK, marker="o", markersize=3, label="revenue per visitor")
    style.hover(
        other, PRICES, revenue, [f"at {p:.0f} a visitor brings {r:.3f} of the highest price" for p, r in zip(PRICES, revenue, strict=True)]
    )
    other.set_ylabel("revenue per visitor")
    other.set_ylim(bottom=0.0)
    style.dress(other)
    other.grid(False)
    style.legend(other)
    draw_regret(right, result, palette=palette)
    return fig
