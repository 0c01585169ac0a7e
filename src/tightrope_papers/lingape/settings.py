"""The problems and settings of the paper's section 7, all methods on one of them, and how sample
numbers are compared."""

import math
from collections.abc import Callable, Mapping
from typing import TypedDict, TypeVar

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from tightrope import RAGE, LinGapE, XYAdaptive, XYOracle
from tightrope.extend import (
    NOISE as NOISE_STREAM,
    POLICY,
    Arguments,
    Policy,
    describe as described,
    init,
    jit,
    stream,
)
from tightrope.numerics.counts import determinant_radius, static_factor
from tightrope.plots import style
from tightrope.policies.identification.models import (
    PairRidge,
    coordinates,
    learn,
    new_pair_ridge,
    refactorise,
)
from tightrope.policies.identification.rage import end_phase as end_rage
from tightrope.policies.identification.sampling import shrinking_arm
from tightrope.policies.identification.stopping import SQRT8
from tightrope.policies.identification.xyadaptive import end_phase as end_adaptive, widest
from tightrope.problems import Linear

from ..experiment import Players, Run, generator, palette
from ..scoring import OURS, Estimate, Row, Rows, above, at_most, estimate, quotient, row_of

GRID = 1.005


@jit
def greedy_rounds(model, among, rounds, rng):
    """XY-static's sequence for the differences of some arms, without rewards."""
    K = model.mean.shape[0]
    for _ in range(rounds):
        arm = int(model.progress[0]["rounds"])
        if arm >= K:
            arm = shrinking_arm(model.product, model.pair_square, among, None, rng)
        learn(model, arm, 0.0)


def static_pulls(X: np.ndarray, exact: int, seed: int) -> Callable[[int], np.ndarray]:
    """Pull counts of XY-static after n rounds, n increasing; after `exact` rounds the shares stay
    as they are."""
    model, everyone, rng = (
        new_pair_ridge(coordinates(X, 0.0)),
        np.ones(len(X), dtype=np.bool_),
        stream(seed, 0, POLICY),
    )

    def pulls(n: int) -> np.ndarray:
        behind = min(n, exact) - int(model.progress[0]["rounds"])
        if behind > 0:
            greedy_rounds(model, everyone, behind, rng)
        return np.asarray(model.pulls * max(n / model.progress[0]["rounds"], 1.0))

    return pulls


def uniform_pulls(K: int) -> Callable[[int], np.ndarray]:
    return lambda n: n // K + (np.arange(K) < n % K).astype(np.float64)


def reward_sums(problem: Linear, pulls: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Sums of so many rewards of each arm: (K,)."""
    if problem.rewards == 0:
        return np.asarray(
            pulls * problem.means + problem.noise * np.sqrt(pulls) * rng.standard_normal(pulls.size)
        )
    share = problem.means if problem.rewards == 1 else (1.0 + problem.means) / 2.0
    ones = rng.binomial(np.round(pulls).astype(np.int64), np.clip(share, 0.0, 1.0))
    return np.asarray(ones if problem.rewards == 1 else 2.0 * ones - np.round(pulls))


class Stop(TypedDict):
    """A stopping rule. factor: of the widths, from the rounds, the number of arms and log
    det(A)."""

    lam: float
    strict: bool
    epsilon: float
    factor: Callable[[float, int, float], float]


def static_stop(noise: float, delta: float, constant: float = SQRT8, epsilon: float = 0.0) -> Stop:
    return {
        "lam": 0.0,
        "strict": True,
        "epsilon": epsilon,
        "factor": lambda n, K, log_det: static_factor(constant, noise, n, K, delta),
    }


def gap_stop(
    noise: float, delta: float, lam: float, theta_bound: float, epsilon: float = 0.0
) -> Stop:
    return {
        "lam": lam,
        "strict": False,
        "epsilon": epsilon,
        "factor": lambda n, K, log_det: determinant_radius(
            noise, delta / K**2, log_det, lam, theta_bound
        ),
    }


def fixed_sequence(
    problem: Linear,
    pulls_after: Callable[[int], np.ndarray],
    stops: dict[str, Stop],
    replications: int,
    seed: int,
    grid: float = GRID,
) -> dict[str, dict[str, np.ndarray]]:
    """Rounds until each stop, the arm named and its pulls, for every seed along one sequence. grid:
    ratio of rounds with a look."""
    X = coordinates(problem.features, 0.0).features
    K, d = X.shape
    rngs = [stream(seed, r, NOISE_STREAM) for r in range(replications)]
    sums, before, n = np.zeros((replications, K)), np.zeros(K), K
    runs = {
        name: {
            "rounds": np.zeros(replications),
            "arm": np.full(replications, -1),
            "pulls": np.zeros((replications, K)),
        }
        for name in stops
    }
    while any((item["arm"] < 0).any() for item in runs.values()):
        pulls = pulls_after(n)
        if problem.rewards:
            pulls = np.round(pulls)
        running = np.any([item["arm"] < 0 for item in runs.values()], axis=0)
        for r in np.flatnonzero(running):
            sums[r] += reward_sums(problem, pulls - before, rngs[r])
        before = pulls
        for name, rule in stops.items():
            lam, item = rule["lam"], runs[name]
            A = lam * np.eye(d) + X.T @ (pulls[:, None] * X)
            inverse = np.linalg.inv(A)
            log_det = np.linalg.slogdet(A)[1] - (d * math.log(lam) if lam > 0 else 0.0)
            means = sums @ X @ inverse @ X.T
            factor = rule["factor"](float(n), K, float(log_det))
            leaders = np.where(item["arm"] < 0, means.argmax(axis=1), -1)
            for i in set(leaders[leaders >= 0].tolist()):
                rows = np.flatnonzero(leaders == i)
                Y = np.delete(X[i] - X, i, axis=0)
                width = factor * np.sqrt(np.einsum("ki,ki->k", Y @ inverse, Y))
                bound = (width - (means[rows, i : i + 1] - np.delete(means[rows], i, axis=1))).max(
                    axis=1
                )
                ends = rows[
                    (bound < rule["epsilon"]) | ((bound == rule["epsilon"]) & (not rule["strict"]))
                ]
                item["rounds"][ends], item["arm"][ends], item["pulls"][ends] = n, i, pulls
        n = max(n + 1, int(n * grid))
    return runs


@jit
def greedy_until(model, among, target, most, rng):
    """XY-adaptive's sequence for the survivors until their widest difference is down to target, or
    for `most` rounds; the width then."""
    K = model.mean.shape[0]
    top = math.inf
    while model.progress[0]["rounds"] < K or (top > target and model.progress[0]["rounds"] < most):
        greedy_rounds(model, among, 1, rng)
        if model.progress[0]["unpulled"] == 0.0:
            top = widest(model.pair_square, among)
    return top


def adaptive_by_phase(
    problem: Linear, policy: XYAdaptive, replications: int, seed: int, exact: int = 100_000
) -> dict[str, np.ndarray]:
    """XY-adaptive phase by phase. A phase follows the greedy sequence for at most `exact` rounds;
    then its shares stay.

    Beside rounds and the arm named: fewest, the smallest number of survivors at the start of a
    phase, and survivors and rounds of the last phase.
    """
    cache: dict[tuple[bytes, float], np.ndarray] = {}
    rows = []
    for r in range(replications):
        rng, state, phases = stream(seed, r, NOISE_STREAM), init(policy, described(problem)), []
        while not state.answer[0]["certified"]:
            target = state.answer[0]["target"]
            if (
                target < 0
            ):  # the first phase is measured against the width after one pull of every arm
                start = new_pair_ridge(coordinates(state.model.features, 0.0))
                target = policy.alpha * greedy_until(
                    start, state.survivors, math.inf, 0, stream(seed, 0, POLICY)
                )
            key = (state.survivors.tobytes(), float(target))
            if key not in cache:
                model = new_pair_ridge(coordinates(state.model.features, 0.0))
                top = greedy_until(model, state.survivors, target, exact, stream(seed, 0, POLICY))
                cache[key] = np.ceil(model.pulls * max(top / target, 1.0))
            _fill(state.model, problem, cache[key], rng)
            phases.append((int(state.survivors.sum()), float(cache[key].sum())))
            end_adaptive(policy, state, widest(state.model.pair_square, state.survivors))
        least = min(survivors for survivors, _ in phases)
        rows.append(
            (sum(pulls for _, pulls in phases), int(state.answer[0]["leader"]), least, *phases[-1])
        )
    names = ("rounds", "arm", "fewest", "last_survivors", "last_rounds")
    return {name: np.array([row[i] for row in rows]) for i, name in enumerate(names)}


def rage_by_phase(
    problem: Linear, policy: Policy, replications: int, seed: int
) -> dict[str, np.ndarray]:
    rows = []
    for r in range(replications):
        rng, state, total = stream(seed, r, NOISE_STREAM), init(policy, described(problem)), 0.0
        while not state.answer[0]["certified"]:
            pulls = state.plan.copy()
            _fill(state.model, problem, pulls, rng)
            total += pulls.sum()
            end_rage(policy, state)
        rows.append((total, int(state.answer[0]["leader"])))
    return {"rounds": np.array([row[0] for row in rows]), "arm": np.array([row[1] for row in rows])}


def _fill(model: PairRidge, problem: Linear, pulls: np.ndarray, rng: np.random.Generator) -> None:
    model.pulls[:] = pulls
    model.sums[:] = reward_sums(problem, pulls, rng)
    model.progress[0]["rounds"], model.progress[0]["unpulled"] = pulls.sum(), 0.0
    refactorise(model)


DELTA, LAM, NOISE, THETA_BOUND = 0.05, 1.0, 1.0, 2.0
ANGLE = 0.01
GAP = 2.0 * (1.0 - math.cos(ANGLE))  # Figure 1's smallest gap, 1.0e-4
SETTINGS: Arguments = {"delta": DELTA, "lam": LAM, "noise": NOISE}


def near_parallel(d: int) -> Linear:
    """Figure 1: the canonical vectors and (cos .01, sin .01, 0, ..), theta = (2, 0, ..), N(0, 1)
    noise."""
    arm = np.zeros(d)
    arm[0], arm[1] = math.cos(ANGLE), math.sin(ANGLE)
    return Linear(np.vstack([np.eye(d), arm]), 2.0 * np.eye(d)[0], noise=NOISE)


def canonical(gap: float) -> Linear:
    """Figure 2: five canonical vectors, theta = (gap, 0, ..)."""
    return Linear(np.eye(5), gap * np.eye(5)[0], noise=NOISE)


def user_article(K: int, seed: int, least_gap: float = 0.05) -> Linear:
    """Figure 3's stand-in: 36 features, Kronecker products of six user and six article features,
    +1/-1 rewards.

    As in the log, each side is a constant 1 and five memberships that add up to 1. theta is
    Gaussian, scaled so that the largest mean of the arms is 1/2 in size; drawn again until the best
    arm leads by least_gap.
    """
    rng = generator(seed, K, 36)
    while True:
        sides = [
            np.hstack([np.ones((K, 1)), rng.dirichlet(np.full(5, 0.5), size=K)]) for _ in range(2)
        ]
        X = np.stack([np.kron(article, user) for article, user in zip(*sides, strict=True)])
        theta = rng.standard_normal(36)
        theta *= 0.5 / np.abs(X @ theta).max()
        means = np.sort(X @ theta)
        if means[-1] - means[-2] >= least_gap:
            return Linear(X, theta, rewards="sign")


# All methods on one problem, and how their sample numbers are compared.


ZERO, HALF, RATIO = "LinGapE, ε = 0", "LinGapE, ε = gap/2", "LinGapE, ε = gap/2, by ratio"
STATIC, SQRT2 = "XY-static", "XY-static, √2"
UNIFORM, ELIMINATION = "uniform, LinGapE's stop", "RAGE"
ORACLE, ORACLE_K = "XY-oracle", "XY-oracle, K in its bound"
ADAPTIVE, ADAPTIVE_ONE = "XY-adaptive", "XY-adaptive, first width 1"
BY_RATIO: Arguments = {"rule": "ratio"}
FINE_ACCURACY = (
    1e-6  # accuracy of XY-oracle's design: its shares decide the small numbers of Table 1
)
Case = TypeVar("Case", int, float)  # a dimension, a gap, a number of arms
Runs = dict[str, dict[str, np.ndarray]]  # method -> rounds, arm (and pulls) of every replication


def all_methods(run: Run, label: str, problem: Linear, gap: float, exact: int) -> Runs:
    """All methods on one problem whose smallest gap is `gap`. The paper repeats ten times, too few
    for errors worth stating."""
    return told_a_bound(run, label, problem, gap, THETA_BOUND) | not_told(
        run, label, problem, exact
    )


REPLICATIONS = {"smoke": 3, "laptop": 20, "paper": 100}
MOST_ROUNDS = {"smoke": 10**5, "laptop": 10**8, "paper": 10**8}
# Up to where XY-static's greedy sequence is followed to the letter; then its shares stay.
EXACT_ROUNDS = {"smoke": 10_000, "laptop": 300_000, "paper": 10**9}


def stopped_runs(run: Run, label: str, problem: Linear, rules: Players, **options: int) -> Runs:
    found = run.identify(label, problem, rules, max_rounds=run.at(**MOST_ROUNDS), **options)
    return {
        name: {key: getattr(found, key)[name] for key in ("rounds", "arm", "pulls")}
        for name in rules
    }


def told_a_bound(
    run: Run, label: str, problem: Linear, gap: float, theta_bound: float, times: int = 1
) -> Runs:
    """LinGapE and uniform sampling with its stop, which know a bound on theta. times: how many
    times as many runs of LinGapE."""
    own: Arguments = {
        "lam": LAM,
        "theta_bound": theta_bound,
        "delta": DELTA,
        "noise": problem.noise,
    }
    three = {
        ZERO: LinGapE(**own),
        HALF: LinGapE(epsilon=gap / 2, **own),
        RATIO: LinGapE(epsilon=gap / 2, **own, **BY_RATIO),
    }
    count = run.at(**REPLICATIONS)
    runs = stopped_runs(run, label, problem, three, replications=times * count)
    return runs | uniform(run, problem, problem.noise, theta_bound, count)


def not_told(run: Run, label: str, problem: Linear, exact: int) -> Runs:
    count = run.at(**REPLICATIONS)
    common: Arguments = {"delta": DELTA, "noise": problem.noise}
    oracles = {
        ORACLE: XYOracle(theta=problem.theta, accuracy=FINE_ACCURACY, **common),
        ORACLE_K: XYOracle(theta=problem.theta, accuracy=FINE_ACCURACY, pairs=False, **common),
    }
    runs = stopped_runs(run, f"{label}-oracle", problem, oracles)
    runs |= static(run, problem, problem.noise, exact, count)
    for name, policy in (
        (ADAPTIVE, XYAdaptive(**common)),
        (ADAPTIVE_ONE, XYAdaptive(first_width=1.0, **common)),
    ):
        runs[name] = adaptive_by_phase(problem, policy, count, run.seed, min(exact, 20_000))
    runs[ELIMINATION] = rage_by_phase(problem, RAGE(**common), count, run.seed)
    return runs


def static(
    run: Run, problem: Linear, noise: float, exact: int, count: int, grid: float = GRID
) -> Runs:
    stops = {STATIC: static_stop(noise, DELTA), SQRT2: static_stop(noise, DELTA, math.sqrt(2.0))}
    return fixed_sequence(
        problem, static_pulls(problem.features, exact, run.seed), stops, count, run.seed, grid
    )


def uniform(
    run: Run, problem: Linear, noise: float, theta_bound: float, count: int, grid: float = GRID
) -> Runs:
    stop = {UNIFORM: gap_stop(noise, DELTA, LAM, theta_bound)}
    return fixed_sequence(problem, uniform_pulls(problem.means.size), stop, count, run.seed, grid)


def samples(values: np.ndarray) -> Estimate:
    """Mean and standard error; 0 for the one run of a method that no reward can change."""
    return estimate(values) if values.size > 1 else Estimate(float(values.mean()), 0.0)


def factor(runs: Runs, more: str, fewer: str) -> Estimate:
    return quotient(samples(runs[more]["rounds"]), samples(runs[fewer]["rounds"]))


def lead(runs: Runs, more: str, fewer: str) -> Estimate:
    first, second = samples(runs[more]["rounds"]), samples(runs[fewer]["rounds"])
    return Estimate(first.value - second.value, math.hypot(first.se, second.se))


def lowest(estimates: Mapping[Case, Estimate]) -> tuple[Case, Estimate]:
    where = min(estimates, key=lambda case: estimates[case].value)
    return where, estimates[where]


def at_least_times(
    key: str, text: str, paper: str, ours: Estimate, least: float, where: str = "", remark: str = ""
) -> Row:
    """A claimed factor between mean sample numbers: above `least`. where: the case it comes
    from."""
    words = f"{ours.value:.3g} times, {where}" if where else f"{ours.value:.3g} times"
    return row_of(
        key,
        text,
        paper,
        words,
        above(ours, least),
        se=ours.se,
        remark=remark,
    )


def no_errors(runs: list[tuple[Runs, int]]) -> Row:
    wrong, total = errors(runs, lingape=True)
    return row_of(
        "theorem-1",
        f"LinGapE names the best arm with probability ≥ 1 − δ, {total} runs with ε = 0 and ε = "
        "gap/2",
        "error ≤ 0.05",
        wrong / total,
        at_most(wrong / total, DELTA),
    )


def others_err(runs: list[tuple[Runs, int]]) -> Row:
    wrong, total = errors(runs, lingape=False)
    return row_of(
        OURS,
        f"the other methods name the best arm with probability ≥ 1 − δ, {total} runs",
        "–",
        wrong / total,
        at_most(wrong / total, DELTA),
    )


def errors(runs: list[tuple[Runs, int]], *, lingape: bool) -> tuple[int, int]:
    named = [
        (item["arm"], best)
        for methods, best in runs
        for name, item in methods.items()
        if (name in (ZERO, HALF, RATIO)) == lingape
    ]
    return sum(int((arm != best).sum()) for arm, best in named), sum(arm.size for arm, _ in named)


def adaptive(cases: Mapping[Case, Runs], arms: str, unit: str, symbol: str) -> Rows:
    for key, name in (("adaptive-worse", ADAPTIVE_ONE), (OURS, ADAPTIVE)):
        case, least = lowest({case: factor(runs, name, STATIC) for case, runs in cases.items()})
        yield at_least_times(
            key,
            f"{arms} arms: {name} / XY-static, least over {unit}",
            "at least 5" if key != OURS else "–",
            least,
            5.0,
            f"{symbol}{case:g}",
        )


def table(
    cases: Mapping[Case, Runs], key: str, best: Mapping[Case, int] | None = None
) -> pd.DataFrame:
    """Mean rounds with standard error and wrong answers of every method in every case; best: the
    best arms, default 0."""
    rows = []
    for case, runs in cases.items():
        right = best[case] if best is not None else 0
        for name, item in runs.items():
            mean, se = samples(item["rounds"])
            rows.append(
                {
                    key: case,
                    "method": name,
                    "samples": mean,
                    "s.e.": se,
                    "wrong": int((item["arm"] != right).sum()),
                    "runs": item["rounds"].size,
                }
            )
    return pd.DataFrame(rows)


def lines(rows: pd.DataFrame, x: str, label: str) -> Figure:
    """Samples against x on a log scale, one line a method; XY-oracle once, there are ten
    colours."""
    plot, (axes,) = style.figure()
    looks = palette("lingape")
    for name, part in rows[rows["method"] != ORACLE].groupby("method", sort=False):
        dashes = {ZERO: "-", HALF: "-", RATIO: ":"}.get(str(name), "--")
        axes.errorbar(
            part[x],
            part["samples"],
            yerr=part["s.e."],
            label=name,
            color=looks.colour(str(name)),
            marker="o",
            ms=3,
            lw=1.2,
            ls=dashes,
        )
    axes.set(yscale="log", xlabel=label, ylabel="samples until the stop")
    style.legend(axes)
    return plot
