"""(b) Stop: an A/B/n test of variants made of parts, which ends when the winner is known."""

import itertools

import numpy as np
from matplotlib.figure import Figure

from tightrope import policies, problems
from tightrope.numerics.statistics import standard_error
from tightrope.pages.page import Section, Table
from tightrope.plots import style
from tightrope.plots.style import picture
from tightrope.results.results import Identification
from tightrope.simulation.simulate import fixed_size, identify

from .setting import DemoSetting

EPSILON, DELTA = 0.02, 0.05
VARIANTS = tuple(itertools.product(range(3), range(2), range(2)))  # headline, picture, button
FEATURES = np.array([[1.0, h == 1, h == 2, p, b] for h, p, b in VARIANTS])
EFFECTS = np.array([0.10, 0.02, 0.06, 0.05, 0.08])  # click rates; the parts add up
TESTS, LOOKS = 20, 16
NAME = "LinGapE"
NO_PROGRESS = {"progress": None}  # many short runs


def section(setting: DemoSetting) -> Section:
    problem = problems.Linear(FEATURES, EFFECTS, rewards="bernoulli")
    rule = {NAME: policies.LinGapE(epsilon=EPSILON, delta=DELTA, noise=0.5, theta_bound=0.5)}
    tests = setting.of(TESTS, least=4)
    identification = identify(problem, rule, replications=tests, **setting.play("stop", known=False))
    looks = np.unique(
        np.geomspace(500, max(float(identification.rounds[NAME].max()), 1000.0), setting.of(LOOKS, least=4)).round().astype(np.int64)
    )
    gaps = np.stack([
        identify(problem, rule, replications=tests, budget=int(n), **(setting.play(f"stop, {n} visitors") | NO_PROGRESS)).gap_bound[NAME]
        for n in looks
    ])  # fmt: skip
    fixed, textbook = fixed_size(problem.means, EPSILON, DELTA)
    assert textbook is not None  # means near 1/2
    caption = (
        f"Bound B on what the named variant may be worse than the best, mean over {tests} tests (shaded: all of them): the test ends where "
        f"it falls to ε = {EPSILON:g}. Vertical lines: where tests of fixed length end."
    )
    text = (
        "No public log of such a test is at hand, so this world is synthetic: three headlines, two pictures and two buttons make twelve "
        "variants with click rates that add up from their parts, and a visitor of one variant tells something about the others. The "
        f"guarantee: the named variant is within {EPSILON:g} of the best with probability {1 - DELTA:.0%}, whatever the rates are. The "
        "textbook's length rests on the normal approximation with the true variances, and on one look at the end."
    )
    return Section(
        "Stop: an A/B/n test that ends when the winner is known", text,
        [picture(draw(looks, gaps, identification, fixed, textbook, setting.palette), caption)], [table(identification, fixed, textbook)],
        summary=sentence(identification, fixed, textbook),
    )  # fmt: skip


def sentence(identification: Identification, fixed: int, textbook: int) -> str:
    """The number of visitors, beside tests of fixed length."""
    rounds, n = identification.rounds[NAME], identification.replications
    stopped = identification.stopped[NAME]
    right = f"{int((identification.correct[NAME] & stopped).sum())} of {n} tests ended with a variant that is good enough"
    return (
        f"{NAME} knows a winner after {style.mean(rounds)} visitors ({right}); a test of fixed length with the same guarantee needs "
        f"{fixed:,}, {against(rounds, fixed)}, and the textbook's test, whose guarantee is weaker, {textbook:,}, "
        f"{against(rounds, textbook)}."
    )


def against(rounds: np.ndarray, fixed: int) -> str:
    """A fixed length as a multiple of the mean, where they differ by more than chance."""
    error = style.margin(rounds.size, 2) * float(standard_error(rounds))
    if abs(fixed - rounds.mean()) <= error:
        return "no difference shown"
    times = fixed / float(rounds.mean())
    return f"{times:.1f} times as many" if times >= 1.0 else f"fewer: {times:.2f} times as many"


def table(identification: Identification, fixed: int, textbook: int) -> Table:
    rounds = identification.rounds[NAME]
    rows = [
        [NAME, style.mean(rounds), f"{int(rounds.max()):,}", "at any time"],
        ["fixed length, any rates", f"{fixed:,}", f"{fixed:,}", "once, at the end"],
        ["fixed length, textbook", f"{textbook:,}", f"{textbook:,}", "once, at the end"],
    ]
    return Table(["test", "visitors", "longest", "one may look"], rows, "± one standard error.", aligned=False)


def draw(
    looks: np.ndarray, gaps: np.ndarray, identification: Identification, fixed: int, textbook: int, palette: style.Palette
) -> Figure:  # fmt: skip
    fig, (ax,) = style.figure(width=6.4, height=3.6)
    colour, mean = palette.colour(NAME), gaps.mean(axis=1)
    ax.plot(looks, mean, color=colour, marker="o", markersize=3, label=f"{NAME}: bound B")
    ax.fill_between(looks, gaps.min(axis=1), gaps.max(axis=1), color=colour, alpha=0.15, linewidth=0)
    ax.axhline(EPSILON, color=style.INK, linewidth=0.8)
    ax.text(looks[0], EPSILON, f" ε = {EPSILON:g}", va="bottom", fontsize=9, color=style.INK)
    stop = float(identification.rounds[NAME].mean())
    ax.axvline(stop, color=colour, linestyle="--", label=f"{NAME} stops, on average")
    ax.axvline(textbook, color=style.SOFT, linestyle=":", label="fixed length, textbook")
    ax.axvline(fixed, color=style.SOFT, linestyle="-.", label="fixed length, same guarantee")
    ax.set_xscale("log")
    ax.set_yscale("log")
    style.hover(ax, looks, mean, [f"{NAME}: B = {b:.3g} after {n:,} visitors" for n, b in zip(looks, mean, strict=True)])
    middle = float(np.sqrt(mean[0] * EPSILON))
    lines = {f"{NAME} stops": stop, "fixed length, textbook": textbook, "fixed length, same guarantee": fixed}
    style.hover(ax, lines.values(), [middle] * 3, [f"{name}: {n:,.0f} visitors" for name, n in lines.items()])
    ax.set_xlabel("visitors")
    ax.set_ylabel("B, in click rate")
    style.legend(ax)
    style.dress(ax)
    return fig
