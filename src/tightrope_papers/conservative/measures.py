"""The common measures of the figures: regret at the horizon, the models the paper picks, its claims
on safety and budgets, its pictures."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple, TypeVar

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from tightrope import Budget, Result, policies, problems
from tightrope.extend import Arguments, Policy, standard_error
from tightrope.plots import style
from tightrope.plots.figures import PAIRED_LEGEND, draw_bands, line_styles

from ..experiment import generator, palette, unit_vector
from ..scoring import (
    OURS,
    Estimate,
    Row,
    above,
    among_draws,
    at_most,
    below,
    estimate,
    gain,
    in_most_draws,
    judged,
    most,
    near,
    never,
    paired_mean,
    ratio,
    row_of,
)

ALPHA, DELTA = 0.05, 0.01
SIGMA = 1.0  # scale of the intervals of Bernoulli arms
LINEAR = {"sigma": 0.1, "lam": 0.5}
PRINTED_BOUNDS: Arguments = {
    "martingale": "freedman",
    "constants": "paper",
}  # the bounds of the paper, for policies whose defaults are others
T = TypeVar("T")
P = TypeVar("P")
DRAW = "shifted"  # of features, in the primary reading
OTHER_DRAWS = ("spread", "ball")
Instance = problems.Bernoulli | problems.Linear


def ranked_baseline(problem: Instance, rank: int) -> Arguments:
    """The arm of a rank (1 is the best) as baseline, with its mean."""
    arm = int(np.argsort(-problem.means, kind="stable")[rank - 1])
    return {"baseline": arm, "baseline_mean": float(np.clip(problem.means[arm], 0.0, 1.0))}


def variant(
    name: str, rank: int, problem: Instance, /, norms: object = "1", **parameters: object
) -> Policy:
    """A preset told this problem's baseline; bound = "oracle" is told the means as well, norms =
    "own" how long its vectors are."""
    if norms == "own" and isinstance(problem, problems.Linear):
        longest = float(np.linalg.norm(problem.features, axis=1).max())
        parameters |= {"theta_bound": float(np.linalg.norm(problem.theta)), "arm_bound": longest}
    if parameters.get("bound") == "oracle":
        parameters.setdefault("true_means", np.clip(problem.means, 0.0, 1.0))
    return getattr(policies, name)(
        **ranked_baseline(problem, rank),
        delta=DELTA,
        **({"alpha": ALPHA} | PRINTED_BOUNDS | parameters),
    )


def unconstrained(name: str, rank: int, problem: Instance, /, **parameters: object) -> Policy:
    """The same index without the constraint: every arm is safe if all of them are said to have mean
    1."""
    overrides = {
        "bound": "oracle",
        "selection": "two-step",
        "baseline_index": "ucb",
        "true_means": np.ones(problem.means.size),
    }
    return variant(name, rank, problem, **(parameters | overrides))


def told_baseline(
    preset: str, rank: int, make: Callable[..., Policy] = variant, /, **parameters: object
) -> Callable[[Instance], Policy]:
    return with_record(
        partial(make, preset, rank, **parameters),
        f"{make.__name__} {preset} of rank {rank} with {parameters}",
    )


def guard(rank: int, alpha: float, checkpoint: int | list[int], problem: Instance) -> Budget:
    return Budget(
        baseline=ranked_baseline(problem, rank)["baseline"], alpha=alpha, checkpoint=checkpoint
    )


def budget_monitor(
    rank: int, alpha: float = ALPHA, checkpoint: int = 1
) -> Callable[[Instance], Budget]:
    return with_record(
        partial(guard, rank, alpha, checkpoint),
        f"budget of rank {rank}, alpha {alpha}, checkpoint {checkpoint}",
    )


def with_record(choose: Callable[[P], T], label: str) -> Callable[[P], T]:
    """A function of the problem whose record in the results says what it chooses."""

    def chosen(problem: P) -> T:
        return choose(problem)

    chosen.__qualname__ = label
    return chosen


def line_up(
    plain: str, improved: str, rank: int, label: str, **common: object
) -> dict[str, Callable[[Instance], Policy]]:
    """UCB without constraint, the conservative algorithm, its ablations and the improved one
    (paper, Fig 3)."""
    C, C2 = plain.removesuffix("UCB") + "UCB", improved
    parts: dict[str, tuple[Callable[..., Policy], str, dict[str, object]]] = {
        label: (unconstrained, plain, {}),
        f"{C}-Or": (variant, plain, {"bound": "oracle"}),
        C: (variant, plain, {}),
        f"{C}-L": (variant, plain, {"selection": "largest-lower"}),
        f"{C}-M": (variant, plain, {"bound": "martingale"}),
        f"{C}-S": (variant, plain, {"selection": "constrained"}),
        C2: (variant, improved, {}),
    }
    return {
        name: told_baseline(preset, rank, make, **(common | own))
        for name, (make, preset, own) in parts.items()
    }


def bernoulli_models(count: int, seed: int) -> list[problems.Bernoulli]:
    """K = 10 arms with means uniform on [0.25, 0.75]."""
    rng = generator(seed, 1)
    return [problems.Bernoulli(rng.uniform(0.25, 0.75, 10)) for _ in range(count)]


def linear_models(count: int, seed: int, draw: str) -> list[problems.Linear]:
    """K = 30, d = 100, noise 0.1. draw: "shifted", "spread" (unit vectors with means uniform on [0,
    1]) or "ball" (uniform in it)."""
    rng = generator(seed, 2)
    model = {"shifted": shifted_model, "spread": spread_model, "ball": ball_model}[draw]
    return [model(rng, 30, 100) for _ in range(count)]


def shifted_model(rng: np.random.Generator, arms: int, d: int) -> problems.Linear:
    """Gaussian features of positive mean, shortened, then moved and scaled so that means fill [0,
    1]; noise 0.1.

    The worst arm becomes 0 and all others are moved by the same vector, so that arms are correlated
    and much longer than 1.
    """
    theta = unit_vector(rng, d) * rng.uniform(0.5, 1.0)
    X = rng.standard_normal((arms, d))
    while (wrong := X @ theta <= 0).any():
        X[wrong] = rng.standard_normal((int(wrong.sum()), d))
    X *= rng.uniform(0.5, 1.0, (arms, 1)) / np.linalg.norm(X, axis=1).max()
    return shifted(X, theta, LINEAR["sigma"])


def shifted(X: np.ndarray, theta: np.ndarray, noise: float) -> problems.Linear:
    """The problem whose features are moved and scaled so that the worst arm has mean 0 and the best
    1."""
    means = X @ theta
    return problems.Linear(
        (X - X[means.argmin()]) / (means.max() - means.min()), theta, noise=noise
    )


def spread_model(rng: np.random.Generator, arms: int, d: int) -> problems.Linear:
    """Unit vectors with means uniform on [0, 1], noise 0.1."""
    theta = unit_vector(rng, d)
    return problems.Linear(problems.spread_arms(arms, theta, rng), theta, noise=LINEAR["sigma"])


def ball_model(rng: np.random.Generator, arms: int, d: int) -> problems.Linear:
    """The literal reading: uniform points of the ball, given that their means are not negative;
    noise 0.1."""
    theta = unit_vector(rng, d) * rng.random() ** (1 / d)
    X = rng.standard_normal((arms, d))
    X *= (rng.random(arms) ** (1 / d) / np.linalg.norm(X, axis=1))[:, None]
    X *= np.sign(X @ theta)[:, None]
    return problems.Linear(X, theta, noise=LINEAR["sigma"])


EARLY_SHARE = 0.2  # a minimum "at the beginning" lies in this share of the rounds
PARALLEL_SHARE = 0.05  # slopes of budgets that differ by no more than this share are parallel


class ModelRuns(NamedTuple):
    """The runs, how many models they go round, which of them the paper would show, and what the
    bounds depend on.

    shown: at paper scale runs on the worst and the best of the models, many each. pool: there, too,
    the algorithms that are compared on a worst model, on more models, with how many.
    """

    result: Result
    models: int
    picked: dict[str, int]
    shown: Result | None = None
    pool: tuple[Result, int] | None = None
    world: "BoundConstants | None" = None

    def on_extremes(self) -> tuple[Result, dict[str, int], int]:
        return (
            (self.result, self.picked, self.models)
            if self.shown is None
            else (self.shown, {"worst": 0, "best": 1}, 2)
        )

    def on_most_models(self) -> tuple[Result, int]:
        return self.pool or (self.result, self.models)


def final(result: Result, name: str, model: int | None = None, models: int = 1) -> np.ndarray:
    """Regret at the horizon, of all replications or of one model's (replication r plays model r %
    models)."""
    values = result.regret[name][:, -1]
    return values if model is None else values[model::models]


def relative(
    result: Result, name: str, plain: str, model: int | None = None, models: int = 1
) -> Estimate:
    """Regret at the horizon as a multiple of that of `plain`, over all replications or on one
    model."""
    return ratio(final(result, name, model, models), final(result, plain, model, models))


def gains(result: Result, improved: str, plain: str, models: int) -> list[float]:
    """1 - R_improved / R_plain on every model (Eq 31)."""
    return [1 - relative(result, improved, plain, m, models).value for m in range(models)]


def extreme_models(result: Result, improved: str, plain: str, models: int) -> dict[str, int]:
    """Worst and best model: where the gain is smallest and largest."""
    gain_by_model = gains(result, improved, plain, models)
    return {"worst": int(np.argmin(gain_by_model)), "best": int(np.argmax(gain_by_model))}


def by_model(result: Result, improved: str, plain: str, models: int) -> list[Estimate]:
    """R_plain - R_improved on every model, as a share of R_plain."""
    return [
        Estimate(1 - one.value, one.se)
        for one in (relative(result, improved, plain, m, models) for m in range(models))
    ]


def worst_models_of_draws(
    result: Result, improved: str, plain: str, models: int, drawn: int, *, draws: int = 4000
) -> np.ndarray:
    """The worst model of each of so many draws, where the gain of `improved` over `plain` is
    smallest.

    A draw takes `drawn` models, with replacement, of the result's.
    """
    gained = np.array(gains(result, improved, plain, models))
    samples = np.random.default_rng(0).integers(models, size=(draws, drawn))
    return np.asarray(samples[np.arange(draws), gained[samples].argmin(axis=1)])


def most_often(worst: np.ndarray) -> int:
    return int(np.bincount(worst).argmax())


def worst_of_draws(
    result: Result, name: str, plain: str, models: int, worst: np.ndarray
) -> np.ndarray:
    """The reduction of the regret of `plain` by `name` in per cent, on the worst model of each
    draw."""
    return 100 * np.array(gains(result, name, plain, models))[worst]


def reduction(
    key: str, text: str, paper: float, ours: Estimate, *, remark: str = "", tolerance: float = 0.2
) -> Row:
    """A claimed reduction of regret, 1 - ratio, in per cent; tolerance: as a share of the paper's
    number."""
    return judged(
        key,
        text,
        f"{paper:g} %",
        in_per_cent(ours),
        gain,
        paper,
        tolerance * abs(paper),
        remark=remark,
    )


def reduced_by_more(key: str, text: str, least: float, ours: Estimate, *, remark: str = "") -> Row:
    """A claimed reduction of regret of more than `least` per cent; partly: of any size."""
    return judged(
        key,
        text,
        f"more than {least:g} %",
        in_per_cent(ours),
        above,
        least,
        partly=0.0,
        remark=remark,
    )


def in_per_cent(ours: Estimate) -> Estimate:
    return Estimate(100 * (1 - ours.value), 100 * ours.se)


def lower(
    key: str,
    text: str,
    better: np.ndarray,
    worse: np.ndarray,
    *,
    remark: str = "",
    paper: str = "lower",
) -> Row:
    """A claimed order of two regrets: judged by their paired difference, shown as a ratio."""
    return row_of(
        key, text, paper, ratio(better, worse), below(paired_mean(better, worse)), remark=remark
    )


def reduced_in_draws(
    key: str,
    text: str,
    words: str,
    paper: float,
    result: Result,
    name: str,
    plain: str,
    models: int,
    worst: np.ndarray,
    *,
    at_least: bool = False,
) -> Row:
    """A claimed reduction of regret on the worst model of a draw of models, in per cent, beside its
    range over draws."""
    gained = worst_of_draws(result, name, plain, models, worst)
    low, high = np.quantile(gained, (0.05, 0.95))
    noise = in_per_cent(relative(result, name, plain, most_often(worst), models)).se
    return row_of(
        key,
        text,
        words,
        f"{low:.0f} to {high:.0f} %",
        among_draws(gained, paper, noise, at_least=at_least),
    )


def lower_in_draws(
    key: str, text: str, result: Result, better: str, worse: str, models: int, worst: np.ndarray
) -> Row:
    ratios = 1 - worst_of_draws(result, better, worse, models, worst) / 100
    noise = relative(result, better, worse, most_often(worst), models).se
    low, high = np.quantile(ratios, (0.05, 0.95))
    return row_of(
        key, text, "lower", f"{low:.3f} to {high:.3f}", in_most_draws(ratios - 1.0, noise)
    )


def safety(result: Result, free: str, where: str = "") -> list[Row]:
    """No run of the paper's conservative policies breaks the constraint where it is verified; the
    unconstrained `free` does, and first.

    Forms of ours, whose names have a comma, have a row of their own, which does not count.
    """
    broken = {name: result.watched[name]["violations"] > 0 for name in result.policies}
    violating = int(broken[free].sum())
    mean = result.watched[free]["budget"].mean(axis=0)
    key, rows = "unconstrained-violates", []
    for owner, whose in (
        ("conservative-never-violates", "conservative algorithms"),
        (OURS, "our forms of them"),
    ):
        runs = [
            one
            for name, one in broken.items()
            if name != free and (", " in name) == (owner == OURS)
        ]
        unsafe, total = int(sum(one.sum() for one in runs)), sum(one.size for one in runs)
        if runs:
            rows.append(
                row_of(
                    owner,
                    f"{whose} never violate the constraint{where} ({total} runs)",
                    "0 runs",
                    f"{unsafe} runs",
                    never(unsafe, total),
                )
            )
    return [
        *rows,
        row_of(
            key,
            f"{free} violates it{where}",
            "yes",
            f"{violating / broken[free].size:.0%} of runs",
            most(violating, broken[free].size),
        ),
        judged(
            key,
            f"the lowest budget of {free}{where}",
            "far below 0",
            estimate(result.watched[free]["lowest"][:, 0]),
            below,
        ),
        judged(
            key,
            f"{free}'s mean budget is lowest at the beginning{where} (share of the rounds)",
            "early",
            float(result.rounds[int(np.argmin(mean))] / result.rounds[-1]),
            at_most,
            EARLY_SHARE,
        ),
    ]


def parallel(result: Result) -> Row:
    start = int(np.searchsorted(result.rounds, 0.75 * result.rounds[-1]))
    rises = {
        name: watched["budget"][:, -1] - watched["budget"][:, start]
        for name, watched in result.watched.items()
    }
    slowest, fastest = (choose(rises, key=lambda name: rises[name].mean()) for choose in (min, max))
    return judged(
        "parallel-budgets",
        f"budgets are parallel in the end: slope of the last quarter, {slowest} by {fastest}",
        "parallel",
        ratio(rises[slowest], rises[fastest]),
        near,
        1.0,
        PARALLEL_SHARE,
    )


def summary(result: Result, models: int, plain: str, chosen: dict[str, int]) -> pd.DataFrame:
    rows = []
    for name in result.policies:
        of_plain = relative(result, name, plain)
        watched = result.watched[name]
        events = watched["events"][:, -1].mean(axis=0) / result.rounds[-1]
        row = {
            "policy": name,
            "regret": float(final(result, name).mean()),
            "s.e.": float(standard_error(final(result, name))),
            f"ratio to {plain}": of_plain.value,
            "s.e. of ratio": of_plain.se,
        }
        row |= {
            f"{label} model": relative(result, name, plain, model, models).value
            for label, model in chosen.items()
        }
        row |= {
            "runs with violations": int((watched["violations"] > 0).sum()),
            "runs": result.replications,
            "minimum budget": float(watched["minimum"].min()),
            "lowest budget": float(watched["lowest"].min()),
            "own choice": events[0],
            "safe-other": events[1],
            "baseline": events[2],
        }
        rows.append(row)
    return pd.DataFrame(rows)


def panels(
    result: Result,
    models: int,
    chosen: dict[str, int],
    key: str,
    *,
    title: str,
    zoom: int | None = None,
    names: Sequence[str] | None = None,
) -> Figure:
    """Regret or budget of the worst, average and best model side by side; zoom: the last round
    shown; names: default all."""
    panel_models: dict[str, int | None] = {
        "worst": chosen["worst"],
        "average": None,
        "best": chosen["best"],
    }
    fig, axes = style.figure(3, height=3.8)
    columns = (
        slice(None)
        if zoom is None
        else slice(0, max(2, int(np.searchsorted(result.rounds, zoom, side="right"))))
    )
    curves_by_panel = [
        {
            name: _part(result, name, key, model, models)[:, columns]
            for name in names or result.policies
        }
        for model in panel_models.values()
    ]
    looks = palette("conservative")
    lines = line_styles(curves_by_panel, looks)
    for ax, (label, model), curves in zip(axes, panel_models.items(), curves_by_panel, strict=True):
        draw_bands(ax, result.rounds[columns], curves, paired=True, lines=lines, palette=looks)
        ax.set_title(
            f"{label} model" if model is not None else "average over models",
            fontsize=10,
            loc="left",
            color=style.INK,
        )
        ax.set_xlabel("round")
        if key != "regret":
            ax.axhline(0.0, color=style.INK, linewidth=0.8)
    axes[0].set_ylabel(title)
    style.legend(axes[-1], PAIRED_LEGEND)
    return fig


def _part(result: Result, name: str, key: str, model: int | None, models: int) -> np.ndarray:
    """Curves of a policy, (replications, checkpoints): of all models, or of one."""
    values = result.regret[name] if key == "regret" else result.watched[name][key]
    return values if model is None else values[model::models]


def recovery_round(result: Result, free: str) -> int:
    """The round up to which a picture of the beginning goes: twice the round of the lowest mean
    budget of `free`, 100 at least."""
    lowest = int(result.rounds[int(np.argmin(result.watched[free]["budget"].mean(axis=0)))])
    return max(100, 2 * lowest)


def budget_panels(
    result: Result,
    models: int,
    chosen: dict[str, int],
    free: str,
    names: Sequence[str] | None = None,
) -> dict[str, Figure]:
    return {
        label: panels(result, models, chosen, "budget", title="true budget", names=names, zoom=zoom)
        for label, zoom in (("budget", None), ("beginning", recovery_round(result, free)))
    }


def even_checkpoints(horizon: int, count: int = 100) -> list[int]:
    """Rounds evenly spaced, and about as many on a log scale for the beginning."""
    even = np.linspace(horizon / count, horizon, count)
    early = np.geomspace(1, horizon, min(40, horizon))
    return sorted({math.ceil(t) for t in np.concatenate([even, early])})


# The bounds of the theorems with the constants of their proofs (Appendix A).


@dataclass(frozen=True)
class BoundConstants:
    d: int
    alpha: float
    delta: float
    sigma: float
    lam: float
    mu_l: float
    mu_h: float = 1.0
    B: float = 1.0
    D: float = 1.0

    @property
    def D_0(self) -> float:
        return max(2 * self.D**2 / self.lam, 3.0)

    @property
    def rate(self) -> float:
        """alpha mu_l, what the constraint grants in a round at least."""
        return self.alpha * self.mu_l

    @property
    def scale(self) -> float:
        """2/3 + sqrt(lam) B + 2 sigma of Lemma 3."""
        return 2 / 3 + math.sqrt(self.lam) * self.B + 2 * self.sigma


def linucb_regret(world: BoundConstants, n: int) -> float:
    """First term of Theorem 1: 4 sqrt(n d g) (sqrt(lam) B + sigma sqrt(2 ln(1/delta) + d g)) with g
    = ln(1 + n D^2 / (lam d))."""
    growth = math.log(1 + n * world.D**2 / (world.lam * world.d))
    width = math.sqrt(world.lam) * world.B + world.sigma * math.sqrt(
        2 * math.log(1 / world.delta) + world.d * growth
    )
    return 4 * math.sqrt(n * world.d * growth) * width


def clucb2_plays(world: BoundConstants) -> float:
    """Lemma 1, Eq 17: how many rounds of CLUCB2 are not the optimistic arm's, for all n."""
    G = (
        4 * world.d * (math.sqrt(world.lam) * world.B + 2 * world.sigma)
        + math.sqrt(2) * world.sigma
    )
    inside = 36 / world.rate * math.sqrt(world.D_0 / world.delta) * G
    first = math.sqrt(world.D_0 / (world.rate * world.delta))
    second = 12 * math.sqrt(world.D_0 / world.delta) * (G / world.rate) ** 2 * math.log(inside) ** 2
    L = math.log(first + second) * math.log(inside)
    linear = 4 / (math.sqrt(3) * world.rate**1.5) * G * L
    return (
        2 * world.mu_h / world.rate
        + 4 / (3 * world.rate) * L
        + linear
        + 2 / world.rate**2 * G**2 * L
    )


def clucb2_regret(world: BoundConstants, n: int) -> float:
    """Theorem 1, Eq 9, with the constants of its proof."""
    return linucb_regret(world, n) + clucb2_plays(world)


def granted_rounds(world: BoundConstants, T: float) -> float:
    """T~ of Theorem 2: how many rounds of exploration a period of T rounds grants at its start."""
    return world.rate / ((1 - world.alpha) * world.mu_h + world.rate) * T


def rounds_from_which_longer_periods_help(world: BoundConstants) -> float:
    """C_b of Theorem 2: from this T~ on longer periods lower the bound."""
    inside = 696 * world.d**2 * world.D_0 / (world.delta * world.rate**2) * world.scale**2
    return 28 * world.d**2 * (world.scale / world.rate) ** 2 * math.log(inside) ** 2


def clucb2t_plays(world: BoundConstants, T: float) -> float:
    """Lemma 3: how many rounds of CLUCB2T with periods of T rounds are not the optimistic arm's."""
    free = granted_rounds(world, T)
    if free >= rounds_from_which_longer_periods_help(world):
        explored = (
            4
            * world.d
            * world.scale
            * math.sqrt(free + 1)
            * math.log(world.D_0 / world.delta * (free + 1))
        )
        return 2 / world.rate * max(-world.rate / 2 * (free + 1) + world.mu_h + explored, 0.0)
    inside = (
        44
        * world.d**2
        * math.sqrt(world.D_0)
        / (math.sqrt(world.delta) * world.rate)
        * world.scale**2
    )
    return 2 / world.rate * 57 * world.d**2 / world.rate * world.scale**2 * math.log(inside) ** 2


def clucb2t_regret(world: BoundConstants, n: int, T: float, gap: float = 1.0) -> float:
    """Theorem 2 with the constants of its proof; gap: Delta_h, what a round of the baseline costs
    at most."""
    return linucb_regret(world, n) + gap * clucb2t_plays(world, T)


def allowance(name: str, bound: float, n: int) -> str:
    """A bound in words; one above the horizon says nothing about runs of this length."""
    return f"{name} ({bound:.3g}" + (", vacuous: more than the horizon)" if bound > n else ")")
