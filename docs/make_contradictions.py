"""Draws the pictures of docs/results/contradictions into docs/results/figures/contradictions, from
the numbers that contradict a claim.

`make_contradictions.py` draws all of them, which takes a minute or two. Every number comes from a
function of its own, which tests/papers/test_contradictions.py holds against the claim.
"""

import math
import pathlib
import re
from collections.abc import Iterable

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from scipy import special

import tightrope as tr
from tightrope.plots import style
from tightrope.plots.style import svg_text
from tightrope_papers.lingape.settings import LAM, canonical, near_parallel
from tightrope_papers.lingape.theory import program
from tightrope_papers.lipschitz.theory import divergence, printed_level
from tightrope_papers.semibandits.theory import OPTIMISM_PROBABILITY
from tightrope_papers.softucb.theory import POOR_ARMS_PLAYER, poor_arms, regret_bound

PAGES = pathlib.Path(__file__).parent / "results"
DRAWN = PAGES / "figures" / "contradictions"
TWO_ARMS = np.array([0.9, 0.5])  # means of the SoftUCB that can be computed exactly
SHARPNESS, EXACT_ROUNDS = 5.0, 10  # its gamma, and how many rounds it plays
GAPS = (0.1, 0.2, 0.3, 0.4, 0.5)  # of canonical arms
SHORTEST, LONGEST, RATE = 100, 1000, 0.05  # rounds between checkpoints, and alpha


def optimism(k: int, scale: float = 1.0) -> float:
    """Probability that k equal arms with draws of their own are optimistic, theta_hat on the edge;
    scale: v as a multiple of beta."""
    return float(special.ndtr(-math.sqrt(k) / scale))


def two_arms_level(n: int) -> tuple[float, float]:
    """ln n, below which K_e needs the evidence against an arm to be, and f(n), below which the
    index needs it, for K = 2."""
    return math.log(n), printed_level(n, 2)


def exact_softucb(
    beta: float, rounds: int = EXACT_ROUNDS, gamma: float = SHARPNESS
) -> tuple[float, float]:
    """Expected reward per round of SoftUCB on two Bernoulli arms, and Eq 12, both exact: all
    histories are summed.

    Features are the unit vectors, lam = 1 and gamma is a constant, so that a history is its counts
    of plays and successes.
    """
    histories = {(0, 0, 0, 0): 1.0}
    reward = slope = 0.0
    for _ in range(rounds):
        following: dict[tuple[int, ...], float] = {}
        for counts, chance in histories.items():
            plays, wins = np.array(counts[:2]), np.array(counts[2:])
            width = 1 / np.sqrt(1 + plays)
            p = special.softmax(gamma * (wins / (1 + plays) + beta * width))
            reward += chance * float(p @ TWO_ARMS)
            slope += chance * gamma * float((p * TWO_ARMS) @ width - (p @ TWO_ARMS) * (p @ width))
            for arm in (0, 1):
                for won, probability in ((1, TWO_ARMS[arm]), (0, 1 - TWO_ARMS[arm])):
                    after = list(counts)
                    after[arm] += 1
                    after[2 + arm] += won
                    following[tuple(after)] = (
                        following.get(tuple(after), 0.0) + chance * p[arm] * probability
                    )
        histories = following
    return reward / rounds, slope / rounds


def exact_slope(beta: float, step: float = 1e-4) -> float:
    """The slope of the expected reward per round itself."""
    return (exact_softucb(beta + step)[0] - exact_softucb(beta - step)[0]) / (2 * step)


def budget_at(checkpoint: int, told: int) -> float:
    """The budget at a checkpoint where exploration earns nothing and the baseline 1 a round: alpha
    times the rounds less the explored."""
    explored = min(checkpoint, math.floor(RATE * max(told, checkpoint)))
    return RATE * checkpoint - explored


def growth_of_determinant(t: float) -> float:
    """The exponent of t in det(A_t) at t pulls in the ratio that LinGapE tends to, near-parallel
    arms, d = 5."""
    X = near_parallel(5).features
    shares = program(X, X[0] - X[-1])[0]

    def log_det(t: float) -> float:
        return float(np.linalg.slogdet(LAM * np.eye(5) + X.T @ ((t * shares)[:, None] * X))[1])

    return (log_det(1.001 * t) - log_det(t)) / math.log(1.001)


def adaptive_over_static(gap: float, runs: int = 20) -> tuple[float, float]:
    """Samples of XY-adaptive over those of XY-static on canonical arms, and the standard error."""
    players = {"adaptive": tr.XYAdaptive(first_width=1.0), "static": tr.XYStatic()}
    found = tr.identify(canonical(gap), players, replications=runs, max_rounds=10**7, seed=3)
    a, s = (found.rounds[name].astype(float) for name in players)
    ratio = a.mean() / s.mean()
    return float(ratio), float((a - ratio * s).std(ddof=1) / math.sqrt(runs) / s.mean())


# Pictures -----------------------------------------------------------------------------------------


def panel(x: str, y: str) -> tuple[Figure, Axes]:
    """Axes of the size of these pictures."""
    fig, (ax,) = style.figure(width=6.4, height=2.6)
    ax.set_xlabel(x)
    ax.set_ylabel(y)
    return fig, ax


def curve(
    ax: Axes, x: Iterable[float], y: Iterable[float], number: int, label: str, **look: object
) -> None:
    """A curve in the number-th colour."""
    ax.plot(
        list(x),
        list(y),
        color=style.colour(number),
        label=label,
        **look,  # type: ignore[arg-type]
    )


def mark(ax: Axes, y: float, label: str) -> None:
    """A level that the paper names."""
    ax.axhline(y, color=style.INK, linewidth=1.2, linestyle="--", label=label)


def draw_lemma_8() -> Figure:
    """Probability of optimism by the size of the set."""
    fig, ax = panel("arms k in the set", "probability")
    ks = range(1, 26)
    curve(ax, ks, map(optimism, ks), 1, "a draw for each arm", marker="o", markersize=3)
    curve(ax, ks, [optimism(1)] * len(ks), 0, "one draw for all, or v = √k β")
    mark(ax, OPTIMISM_PROBABILITY, "p/2, as claimed")
    ax.set_ylim(bottom=0)
    style.legend(ax)
    return fig


def draw_index_defined() -> Figure:
    """f(n) in the first rounds."""
    fig, ax = panel("round n", "f(n)")
    ns = range(2, 9)
    for number, K in enumerate((2, 17, 46)):
        curve(
            ax, ns, [printed_level(n, K) for n in ns], number, f"K = {K}", marker="o", markersize=3
        )
    mark(ax, 0, "least value of the sum")
    style.legend(ax)
    return fig


def draw_always_an_arm() -> Figure:
    """The evidence at which K_e is empty and an index too high."""
    fig, ax = panel("round n", "evidence against arm 2")
    ns = np.unique(np.geomspace(10, 10_000, 200).astype(int))
    low, high = zip(*map(two_arms_level, ns), strict=True)
    curve(ax, ns, high, 0, "f(n): below it the index exceeds the leader's mean")
    curve(ax, ns, low, 2, "ln n: below it arm 2 is in K_e")
    ax.fill_between(
        ns, low, high, color=style.colour(1), alpha=0.25, label="index too high and K_e empty"
    )
    ax.plot(
        [100],
        [60 * divergence(np.array(0.25), np.array(0.5))],
        "o",
        color=style.INK,
        label="the example",
    )
    ax.set_xscale("log")
    ax.set_ylim(0, 32)
    style.legend(ax)
    return fig


def draw_gradient() -> Figure:
    """The slope of the reward and Eq 12."""
    fig, ax = panel("β", "slope of the reward per round")
    betas = np.linspace(0.05, 2, 40)
    curve(ax, betas, map(exact_slope, betas), 0, "the slope itself")
    curve(ax, betas, [exact_softucb(beta)[1] for beta in betas], 1, "Eq 12")
    mark(ax, 0, "0")
    style.legend(ax)
    return fig


def draw_theorem_1() -> Figure:
    """Regret among many poor arms, and the bound."""
    fig, ax = panel("rounds T", "regret")
    rounds = np.arange(50, 3001, 50)
    for number, K in ((1, 5000), (2, 1000), (0, 50)):
        found = tr.simulate(
            poor_arms(K),
            POOR_ARMS_PLAYER,
            horizon=3000,
            replications=8,
            checkpoints=rounds,
        )
        mean = found.regret["SoftUCB"].mean(axis=0)
        curve(ax, rounds, mean, number, f"K = {K:,}, mean of 8 runs")
    bound = [regret_bound(1.0, int(T), d=2, mass=1.0) for T in rounds]
    ax.plot(rounds, bound, color=style.INK, linestyle="--", label="Theorem 1")
    ax.set_ylim(bottom=0)
    style.legend(ax)
    return fig


def draw_random_gap() -> Figure:
    """The budget at the checkpoint by what the policy was told."""
    fig, ax = panel("rounds until the checkpoint", "budget")
    rounds = range(SHORTEST, LONGEST + 1, 5)
    curve(ax, rounds, [budget_at(n, 995) for n in rounds], 1, "told 995, the 1 - δ/2 quantile")
    curve(ax, rounds, [budget_at(n, 105) for n in rounds], 0, "told 105, the δ/2 quantile")
    mark(ax, 0, "what the constraint asks")
    style.legend(ax)
    return fig


def draw_determinant() -> Figure:
    """Exponent of the determinant by pulls."""
    fig, ax = panel("pulls t", "exponent of t in det(A_t)")
    ts = np.geomspace(10, 1e6, 60)
    curve(ax, ts, map(growth_of_determinant, ts), 1, "LinGapE's ratio, d = 5")
    mark(ax, 1, "as claimed")
    ax.set_xscale("log")
    ax.set_ylim(0, 2.2)
    style.legend(ax)
    return fig


def draw_adaptive() -> Figure:
    """XY-adaptive as a multiple of XY-static by gap."""
    fig, ax = panel("gap of the canonical arms", "samples, as a multiple")
    found = [adaptive_over_static(gap) for gap in GAPS]
    label = "XY-adaptive over XY-static, 2 s.e."
    ax.errorbar(
        GAPS,
        [value for value, _ in found],
        [2 * se for _, se in found],
        color=style.colour(1),
        marker="o",
        label=label,
    )
    mark(ax, 5, "as claimed, at least")
    ax.set_ylim(bottom=0)
    style.legend(ax)
    return fig


PICTURES = {
    "adaptive-worse": draw_adaptive,
    "always-an-arm": draw_always_an_arm,
    "gradient": draw_gradient,
    "index-defined": draw_index_defined,
    "lemma-8": draw_lemma_8,
    "random-gap": draw_random_gap,
    "theorem-1": draw_theorem_1,
    "det-linear": draw_determinant,
}


def svg_of(fig: Figure) -> str:
    """A figure as a file of its own, numbers to a hundredth of a point, scales of letters to
    more."""
    text = re.sub(r"<metadata>.*?</metadata>", "", svg_text(fig), flags=re.DOTALL)
    return re.sub(
        r"-?\d+\.\d{3,}(?!\d*[eE])",
        lambda match: f"{float(match[0]):.{2 if abs(float(match[0])) >= 1 else 5}f}",
        text,
    )


def main() -> None:
    """Draw everything."""
    DRAWN.mkdir(parents=True, exist_ok=True)
    for name, draw in PICTURES.items():
        (DRAWN / f"{name}.svg").write_text(svg_of(draw()))


if __name__ == "__main__":
    main()
