"""Draws docs/images/policies: every policy beside its peers on the standard world of its family.
`python docs/make_curves.py`, minutes; with `promise` the picture of the README alone, a minute.

Policies that identify are shown by the rounds that they take until they stop, all others by their
regret. policy_pages puts the pictures and what is said of the worlds on the policies' pages; the
site's dark theme recolours them. P1RAGE is not drawn: it samples for as long as its budget lasts,
and the gallery shows how often it is right then.
"""

import argparse
import io
import pathlib
import re
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import matplotlib as mpl
import numpy as np

import tightrope as tr
from tightrope.plots import style
from tightrope_papers.demo import DemoSetting, guarantees

DOCS = pathlib.Path(__file__).resolve().parent
PICTURES = DOCS / "images" / "policies"
INCHES = (7.0, 2.9)


@dataclass(frozen=True)
class World:
    """A family's standard world: its problem, policies by name, and the peers that are drawn on
    every page."""

    words: str
    problem: Callable[[], Any]
    policies: Callable[[], dict[str, Any]]
    peers: tuple[str, ...]
    horizon: int | None  # None: until the policies stop
    runs: int = 40  # replications; fewer where rounds are Python

    def results(self) -> Any:
        """All policies against the same noise."""
        if self.horizon is None:
            return tr.identify(self.problem(), self.policies(), replications=self.runs, seed=0)
        return tr.simulate(
            self.problem(), self.policies(), horizon=self.horizon, replications=self.runs, seed=0
        )


def arms() -> Any:
    """Ten independent arms."""
    return tr.problems.Bernoulli(np.linspace(0.25, 0.75, 10))


def clicks() -> Any:
    """Twenty arms with five features and clicks as rewards."""
    features = np.random.default_rng(0).dirichlet(np.ones(5), size=20)
    return tr.problems.Linear(features, [0.9, 0.7, 0.5, 0.3, 0.1], rewards="bernoulli")


def sets() -> Any:
    """Sets of four of thirty arms with features."""
    features = np.random.default_rng(0).dirichlet(np.ones(5), size=30)
    return tr.problems.SemiBandit(
        features, [0.9, 0.7, 0.5, 0.3, 0.1], tr.oracles.TopK(4), rewards="bernoulli"
    )


def prices() -> Any:
    """Thirty points on a line with a hill of means."""
    points = np.linspace(0.0, 1.0, 30)
    return tr.problems.Lipschitz(
        points, 0.3 + 0.5 * np.maximum(0.0, 1.0 - 2.0 * np.abs(points - 0.6)), lipschitz=1.0
    )


def nearly_parallel() -> Any:
    """Six arms of which two are nearly parallel."""
    features = np.vstack([np.eye(5), [np.cos(0.3), np.sin(0.3), 0, 0, 0]])
    return tr.problems.Linear(features, [1, 0, 0, 0, 0], noise=0.5)


def buttons() -> Any:
    """Five independent arms with clicks."""
    return tr.problems.Bernoulli([0.04, 0.06, 0.05, 0.16, 0.07])


def promised() -> dict[str, Any]:
    """Conservative policies over independent arms, and one that promises nothing."""
    given = {"baseline": 5, "alpha": 0.05, "sigma": 0.5}
    classes = {
        "Conservative": tr.Conservative,
        "CUCB": tr.CUCB,
        "CUCB2": tr.CUCB2,
        "CUCB2T": tr.CUCB2T,
    }
    with_mean = dict(given, baseline_mean=float(np.linspace(0.25, 0.75, 10)[5]))
    late = {"CUCB2T": {"checkpoint": 1000}}
    return {"UCB": tr.UCB(sigma=0.5)} | {
        name: cls(**with_mean, **late.get(name, {})) for name, cls in classes.items()
    }


def promised_linear() -> dict[str, Any]:
    """Conservative policies with features, and one that promises nothing."""
    given = {"baseline": 7, "baseline_mean": float(clicks().means[7]), "alpha": 0.05, "sigma": 0.5}
    made = {
        "CLUCB": tr.CLUCB(**given),
        "CLUCB2": tr.CLUCB2(**given),
        "CLUCB2T": tr.CLUCB2T(**given, checkpoint=1000),
    }
    return {"LinUCB": tr.LinUCB()} | made | {"Safe": tr.Safe(tr.LinTS(), **given)}


def over_sets() -> dict[str, Any]:
    """Policies that choose sets."""
    classes = (
        tr.C2UCB,
        tr.PC2UCB,
        tr.CombTS,
        tr.CombLinUCB,
        tr.CombLinTS,
        tr.CombGreedy,
        tr.CombUCB1,
        tr.CombKLUCB,
        tr.ESCB,
        tr.CombThompson,
        tr.CTSBeta,
        tr.BGCTS,
        tr.CTSG,
        tr.CLSG,
        tr.CTS3,
    )
    safe = tr.SafeSets(tr.C2UCB(), baseline=[0, 1, 2, 3], alpha=0.05, sigma=0.5)
    return {cls.__name__: cls() for cls in classes} | {"SafeSets": safe}


def over_features() -> dict[str, Any]:
    """Policies with features, the regression and the learned width among them."""
    classes = (
        tr.LinUCB,
        tr.OFUL,
        tr.LOSAN,
        tr.LinTS,
        tr.LogisticTS,
        tr.LinEpsilonGreedy,
        tr.LinMED,
        tr.SquareCB,
        tr.SoftUCB,
    )
    return {cls.__name__: cls() for cls in classes}


def rules() -> dict[str, Any]:
    """Rules that identify with features."""
    given = {"delta": 0.05, "noise": 0.5}
    classes = (
        tr.LinGapE,
        tr.LinGame,
        tr.FrankWolfeSampling,
        tr.LazyTrackAndStop,
        tr.PEPS,
        tr.XYStatic,
        tr.XYAdaptive,
        tr.RAGE,
        tr.Uniform,
    )
    return {cls.__name__: cls(**given) for cls in classes} | {
        "XYOracle": tr.XYOracle(theta=[1, 0, 0, 0, 0], **given)
    }


def tests() -> dict[str, Any]:
    """Rules that identify among independent arms."""
    given = {"epsilon": 0.02, "delta": 0.05}
    classes = (tr.TopTwoThompson, tr.TopTwoUCB, tr.TrackAndStop)
    return {cls.__name__: cls(**given) for cls in classes} | {"UGapE": tr.UGapE(noise=0.5, **given)}


CLASSIC = (tr.UCB, tr.KLUCB, tr.BetaThompson, tr.GaussianThompson, tr.EpsilonGreedy)
CLASSIC += (tr.GLRRestart, tr.TsallisINF)
METRIC = (tr.OSLB, tr.OSSB, tr.CKLUCB, tr.TrackCKLUCB, tr.Zooming)
WORLDS = {
    "classic": World(
        "ten arms with means from 0.25 to 0.75 and rewards of 0 or 1",
        arms,
        lambda: (
            {cls.__name__: cls() for cls in CLASSIC}
            | {"RobustUCB": tr.RobustUCB(moment=0.25, epsilon=1.0, centre=0.5, width=1.0)}
            | {"Explore": tr.Explore(tr.KLUCB(), floor=0.01)}
        ),
        ("UCB", "KLUCB", "BetaThompson"),
        10_000,
    ),
    "linear": World(
        "twenty arms with five features, and rewards of 0 or 1 whose mean is linear in them",
        clicks,
        over_features,
        ("LinUCB", "LinTS", "SquareCB"),
        5_000,
    ),
    "conservative": World(
        "ten arms with means from 0.25 to 0.75 and rewards of 0 or 1; the baseline has 0.53 and "
        "may not be undercut by more than 5 %",
        arms,
        promised,
        ("UCB", "CUCB", "CUCB2"),
        10_000,
    ),
    "conservative, linear": World(
        "twenty arms with five features and rewards of 0 or 1; the baseline may not be undercut "
        "by more than 5 %",
        clicks,
        promised_linear,
        ("LinUCB", "CLUCB2", "Safe"),
        5_000,
    ),
    "sets": World(
        "sets of four out of thirty arms with five features, and rewards of 0 or 1",
        sets,
        over_sets,
        ("C2UCB", "CombTS", "CombUCB1"),
        500,
        runs=10,
    ),
    "metric": World(
        "thirty points on a line, whose means rise to one hill",
        prices,
        lambda: (
            {cls.__name__: cls(lipschitz=1.0) for cls in METRIC}
            | {"HOO": tr.HOO(nu=1.0, rho=0.5), "KLUCB": tr.KLUCB()}
        ),
        ("OSLB", "CKLUCB", "KLUCB"),
        10_000,
    ),
    "rules": World(
        "six arms with features, two of them nearly parallel",
        nearly_parallel,
        rules,
        ("LinGapE", "RAGE", "Uniform"),
        None,
    ),
    "tests": World(
        "five arms with click rates of 4 to 16 %, epsilon 0.02",
        buttons,
        tests,
        ("TopTwoThompson", "TrackAndStop", "UGapE"),
        None,
    ),
}


def draw(name: str, world: World, result: Any) -> None:
    """One policy in front of its peers."""
    shown = list(dict.fromkeys([*world.peers, name]))
    fig, (ax,) = style.figure(width=INCHES[0], height=INCHES[1])
    for peer in shown:
        place = 0 if peer == name else 1 + [other for other in shown if other != name].index(peer)
        look: dict[str, Any] = {
            "color": style.COLOURS[place],
            "linewidth": 2.6 if peer == name else 1.3,
            "zorder": 2.0 if peer == name else 2.1,  # a thin curve on a thick one is seen
        }
        if world.horizon is not None:
            ax.plot(result.rounds, result.regret[peer].mean(axis=0), label=peer, **look)
            continue
        rounds = result.rounds[peer]
        row = len(shown) - 1 - shown.index(peer)
        ax.plot(
            rounds,
            np.full(rounds.size, row),
            "o",
            color=look["color"],
            alpha=0.25,
            markersize=4,
            markeredgewidth=0,
        )
        ax.plot(
            [rounds.mean()],
            [row],
            "|",
            color=look["color"],
            markersize=18,
            markeredgewidth=look["linewidth"] + 0.5,
        )
    if world.horizon is None:
        ax.set(
            xlabel="rounds until it stops",
            yticks=range(len(shown)),
            yticklabels=shown[::-1],
            ylim=(-0.6, len(shown) - 0.4),
        )
        ax.set_xscale("log")
    else:
        ax.set(xlabel="round", ylabel="regret", xlim=(0, world.horizon), ylim=(0, None))
        with mpl.rc_context({"legend.labelcolor": style.INK}):
            style.legend(ax)
    with mpl.rc_context(
        {"svg.hashsalt": "tightrope", "svg.fonttype": "none", "font.family": "sans-serif"}
    ):
        file = io.StringIO()
        fig.savefig(file, format="svg", transparent=True, metadata={"Date": None})
    tenths = re.sub(
        r"-?\d+\.\d{2,}", lambda number: f"{float(number[0]):.1f}", file.getvalue()
    )  # of a point are enough for a line
    (PICTURES / f"{name}.svg").write_text(tenths)


def place_of(name: str) -> str | None:
    """The world in which a policy is drawn: the first that has it, not counting peers of another
    family."""
    from policy_pages import family, ours

    item = ours()[name]
    of_families = {
        "classic": ("classic",),
        "linear": ("linear",),
        "squarecb": ("linear",),
        "softucb": ("linear",),
        "explore": ("classic",),
        "conservative": ("conservative", "conservative, linear", "sets"),
        "semibandits": ("sets",),
        "lipschitz": ("metric",),
        "identification": ("rules", "tests"),
    }
    return next(
        (place for place in of_families[family(item)] if name in WORLDS[place].policies()), None
    )


PROMISE = "promise"
LETTERS = 15  # points, in a picture that a telephone shows at 0.8 pixels a point
SHOWN = {guarantees.SAFE: ("with Safe", 0), guarantees.UNCONSTRAINED: ("without", 1)}


def draw_promise() -> None:
    """The idea in one picture, for light and dark paper: a floor, and sales above it, in the shops
    of `tightrope demo`. Its description has the numbers."""
    sys.path.insert(0, str(DOCS / "_extensions"))
    from dark_pictures import darkened

    with tempfile.TemporaryDirectory() as folder:
        setting = DemoSetting(pathlib.Path(folder))
        shops = guarantees.new_shops(guarantees.SHOPS, setting.seed)
        result = guarantees.safe_play(setting, shops, "safe", late=0)
    floor = 100.0 * (1.0 - guarantees.ALPHA)
    known = np.array([np.sort(shop.means)[-guarantees.RANK] for shop in shops])
    fig, (ax,) = style.figure(width=6.4, height=4.0)
    for name, (words, place) in SHOWN.items():
        budget = result.watched[name]["budget"]
        share = floor + 100.0 * budget / (known[:, None] * result.rounds)
        mean, lowest = share.mean(axis=0), share.min(axis=0)
        look: dict[str, Any] = {"color": style.COLOURS[place], "label": words}
        ax.plot(result.rounds, mean, linewidth=3.0, linestyle=style.LINES[place], **look)
        ax.fill_between(
            result.rounds, lowest, mean, color=style.COLOURS[place], alpha=0.15, linewidth=0
        )
    ax.axhline(floor, color=style.INK, linewidth=2.5)
    ax.set(xscale="log", xlim=(50, result.rounds[-1]), ylim=(80.0, 118.0))
    ax.text(
        0.98 * result.rounds[-1],
        floor - 1.0,
        f"the floor: {floor:.0f} %",
        ha="right",
        va="top",
        fontsize=LETTERS,
        color=style.INK,
    )
    ticks = [100, 1_000, 10_000, 100_000]
    ax.set_xticks(ticks, [f"{tick:,}" for tick in ticks])
    ax.set_xlabel("visitor", fontsize=LETTERS)
    ax.set_ylabel("sales, % of today's offer", fontsize=LETTERS)
    ax.tick_params(labelsize=LETTERS - 2)
    ax.legend(frameon=False, fontsize=LETTERS, loc="upper left", labelcolor=style.INK)
    below = {name: int(guarantees.shops_behind(result)[name].sum()) for name in SHOWN}
    said = (
        f"{len(shops)} shops, {int(result.rounds[-1]):,} visitors. Below {floor:.0f} % at some "
        f"time: {', '.join(f'{number} {SHOWN[name][0]}' for name, number in below.items())}."
    )
    svg = style.svg_text(fig)
    end = svg.index(">", svg.index("<svg")) + 1
    light = f"{svg[:end]}\n <desc>{said}</desc>{svg[end:]}"
    for path, text in (("safe.svg", light), ("safe-dark.svg", darkened(light))):
        (DOCS / "images" / path).write_text(text)
    print(said)


def main() -> None:
    """Draw all, or those that are named."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "worlds", nargs="*", choices=[[], *WORLDS, PROMISE], help="some worlds only"
    )
    wanted = parser.parse_args().worlds or [*WORLDS, PROMISE]
    if PROMISE in wanted:
        wanted.remove(PROMISE)
        draw_promise()
    from policy_pages import ours

    PICTURES.mkdir(parents=True, exist_ok=True)
    for place in wanted:
        result = WORLDS[place].results()
        print(result, flush=True)
        for name in ours():
            if place_of(name) == place:
                draw(name, WORLDS[place], result)


if __name__ == "__main__":
    main()
