"""Theorems and definitions, tested without long runs: the most confusing means, C(theta) with and
without structure, the index and Algorithm 1 as printed, programs solved and time, uniqueness of the
program's solution, Theorem 5.1's inequality."""

import math
import time
import warnings
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy.optimize import linprog
from scipy.special import rel_entr

from tightrope import lipschitz_lower_bound, problems
from tightrope.extend import NoMonitor, Policy, World, prepare, to_horizon
from tightrope.policies.lipschitz.pooled import SLACK
from tightrope.solvers.programs import confusing_information

from ..experiment import Run, generator
from ..scoring import OURS, Row, Rows, above, estimate, every, judged, never, row_of
from .discrete import UNRELATED_CONSTANT, P, constant, instance, shapes

SIZES = (17, 46)
ROUNDING = 1e-9
NUDGE_SIZE = 1e-3  # how far a parameter is moved to find one with a single solution
LEVELS = range(60)  # delta = K + 1 + level
TIMED_ROUNDS = 10_000  # rounds from which a run is long enough to be timed
RESOLVED_RUNS = 10  # a share is compared with bounds that stand for at least so many runs
PRINTED_READING, CONSISTENT_READING = (
    "K_e with ln n, the index with f(n), as printed",
    "K_e with f(n) too",
)


class Programs(NamedTuple):
    solved: np.ndarray  # (runs,) linear programs of OSLB
    seconds: dict[str, np.ndarray]  # by policy (runs,) of processor time
    rounds: int


class TheoremCases(NamedTuple):
    """Counts are (cases where it fails, cases)."""

    confusing: dict[str, tuple[int, int]]
    constants: dict[str, tuple[float, float]]  # C(theta) with and without the structure
    undefined: dict[str, tuple[int, int]]
    no_arm: dict[str, tuple[int, int]]
    programs: dict[str, Programs]
    unique: dict[str, list[bool]]
    concentration: pd.DataFrame  # Theorem 5.1: rule, K, delta, share, se, bound


def data(run: Run) -> TheoremCases:
    sizes = run.at(smoke=SIZES[:1], laptop=SIZES, paper=SIZES)
    cases = {
        f"{name}, K = {K}": instance(name, K)
        for K in sizes
        for name in run.at(smoke=("steep",), laptop=tuple(shapes()), paper=tuple(shapes()))
    }
    rng = generator(run.seed, 3)
    rivals, near = run.at(smoke=(10, 3), laptop=(200, 10), paper=(1000, 50))
    confusing = {
        name: confusions(problem, rivals, rng)
        for name, problem in cases.items()
        if problem.means.size == SIZES[0]
    }
    constants = {
        name: (constant(problem), constant(problem, UNRELATED_CONSTANT))
        for name, problem in cases.items()
    }
    undefined, no_arm = printed_runs(
        cases, *run.at(smoke=(1, 60), laptop=(10, 300), paper=(100, 300)), rng
    )
    rounds, clocked = run.at(smoke=(1000, 3), laptop=(100_000, 10), paper=(100_000, 50))
    programs = {
        name: programs_and_time(problem, rounds, clocked, run.seed)
        for name, problem in cases.items()
    }
    unique = {
        name: [single_solution(nearby_means(problem, rng), problem, rng) for _ in range(near)]
        for name, problem in cases.items()
    }
    sampled = concentration(
        *run.at(smoke=(500, 100), laptop=(20_000, 1000), paper=(100_000, 1000)), rng
    )
    return TheoremCases(confusing, constants, undefined, no_arm, programs, unique, sampled)


def confusions(
    problem: problems.Lipschitz, rivals: int, rng: np.random.Generator
) -> tuple[int, int]:
    """Cases in which lambda^k is no Lipschitz vector that makes k best, or tells theta from it
    better than another such vector does.

    The others are drawn at random among the Lipschitz vectors in which k is best and the best arms
    keep their mean: one that differs there is told apart by the plays of the best arms, which cost
    nothing.
    """
    theta, reach = problem.means, problem.lipschitz * problem.distances
    top, best = theta.max(), int(theta.argmax())
    wrong = total = 0
    for k in np.flatnonzero(theta < top - ROUNDING):
        confusing = np.maximum(theta, top - reach[k])
        fits = (np.abs(confusing[:, None] - confusing) <= reach + ROUNDING).all() and confusing[
            k
        ] >= confusing.max() - ROUNDING
        wrong, total = wrong + (not fits or confusing[best] > top + ROUNDING), total + 1
        least = divergence(theta, confusing)
        for _ in range(rivals):
            anything = np.minimum(
                (rng.random(theta.size) + reach).min(axis=1), top
            )  # Lipschitz, nowhere above the best mean
            other = np.maximum(np.maximum(anything, top - reach[k]), top - reach[best])
            wrong, total = (
                wrong + bool((divergence(theta, other) < least - ROUNDING).any()),
                total + 1,
            )
    return wrong, total


def divergence(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """I(x, y) between Bernoulli distributions, elementwise."""
    return np.asarray(rel_entr(x, y) + rel_entr(1 - x, 1 - y))


def evidence(pulls: np.ndarray, mean: np.ndarray, q: np.ndarray, reach: np.ndarray) -> np.ndarray:
    """S_k(q_k) of every arm k: sum_i t_i I+(mean_i, q_k - L D(k, i))."""
    y = q[:, None] - reach
    over = np.where(
        y > mean, divergence(np.broadcast_to(mean, y.shape), np.where(y > mean, y, 0.5)), 0.0
    )
    return np.asarray(
        (np.where(pulls > 0, pulls, 0.0) * np.where(pulls > 0, over, 0.0)).sum(axis=1)
    )


def printed_level(n: int, K: int) -> float:
    """f(n) = ln n + (3K + 1) ln ln n, as printed."""
    return math.log(n) + (3 * K + 1) * math.log(math.log(n)) if n > 1 else -math.inf


def printed_runs(
    cases: dict[str, problems.Lipschitz], runs: int, rounds: int, rng: np.random.Generator
) -> tuple[dict[str, tuple[int, int]], dict[str, tuple[int, int]]]:
    """Along runs of Algorithm 1: indices that no q satisfies, by f(n), and rounds of exploration
    whose K_e is empty, by reading."""
    early, late, usual = "n = 1 and 2, f(n) as printed", "n >= 3, f(n) as printed", "f(n) = ln n"
    undefined = {name: np.zeros(2, dtype=np.int64) for name in (early, late, usual)}
    no_arm = {name: np.zeros(2, dtype=np.int64) for name in (PRINTED_READING, CONSISTENT_READING)}
    for problem in cases.values():
        for _ in range(runs):
            for n, f, at_mean, exploring, empty in printed_run(problem, rounds, rng):
                undefined[early if n < 3 else late] += (at_mean > f).sum(), at_mean.size
                undefined[usual] += (at_mean > math.log(n) + ROUNDING).sum(), at_mean.size
                for name, nobody in zip((PRINTED_READING, CONSISTENT_READING), empty, strict=True):
                    no_arm[name] += exploring and nobody, exploring
    return {name: (int(a), int(b)) for name, (a, b) in undefined.items()}, {
        name: (int(a), int(b)) for name, (a, b) in no_arm.items()
    }


def printed_run(
    problem: problems.Lipschitz, rounds: int, rng: np.random.Generator, epsilon: float = 0.05
) -> Iterator[tuple[int, float, np.ndarray, bool, tuple[bool, bool]]]:
    """Algorithm 1 as printed, round by round: n, f(n), S_k(mean_k), whether it explores, and
    whether K_e is empty by both readings.

    Where K_e is empty the least-played arm is played, which the paper does not say.
    """
    K, reach = problem.means.size, problem.lipschitz * problem.distances
    pulls, sums = np.zeros(K), np.zeros(K)
    for n in range(1, rounds + 1):
        f, mean = printed_level(n, K), np.divide(sums, pulls, out=np.zeros(K), where=pulls > 0)
        leader, least = int(mean.argmax()), int(pulls.argmin())
        higher = evidence(pulls, mean, np.full(K, mean[leader]), reach) < f - SLACK
        higher[leader] = False
        higher &= mean[leader] < 1.0  # no index exceeds 1
        exploring, empty, arm = (
            bool(higher.any()) and bool((mean < mean[leader]).any()),
            (False, False),
            leader,
        )
        if exploring:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # empirical means need not be Lipschitz
                rates = lipschitz_lower_bound(
                    mean, distances=problem.distances, lipschitz=problem.lipschitz
                ).rates
            worse = mean < mean[leader]
            explored = worse & (pulls <= rates * math.log(n))
            empty = not explored.any(), not (worse & (pulls <= rates * f)).any()
            chosen = least if empty[0] else int(np.where(explored, pulls, np.inf).argmin())
            arm = least if pulls[least] < epsilon / K * pulls[chosen] else chosen
        elif higher.any():
            arm = least  # all means are equal: no program
        yield n, f, evidence(pulls, mean, mean, reach), exploring, empty
        pulls[arm] += 1
        sums[arm] += rng.random() < problem.means[arm]


def programs_and_time(problem: problems.Lipschitz, rounds: int, runs: int, seed: int) -> Programs:
    both: dict[str, Policy] = {
        "OSLB": P.OSLB(lipschitz=problem.lipschitz),
        "CKL-UCB": P.CKLUCB(lipschitz=problem.lipschitz, loglog=0.0),
    }
    solved, seconds = [], {name: np.zeros(runs) for name in both}
    for name, policy in both.items():
        play_one(policy, problem, seed, 0, 10)  # compiles
        for r in range(runs):
            seconds[name][r], state = play_one(policy, problem, seed, r, rounds)
            if name == "OSLB":
                solved.append(state.rates.solves[0])
    return Programs(np.array(solved), seconds, rounds)


def play_one(  # type: ignore[no-untyped-def]
    policy: Policy, problem: problems.Lipschitz, seed: int, replication: int, rounds: int
):
    run = prepare(policy, World(problem), seed, replication, rounds)
    play = to_horizon(run, NoMonitor(), np.array([rounds]))[2]
    started = time.thread_time()
    play(0, rounds)
    return time.thread_time() - started, run.state


def nearby_means(problem: problems.Lipschitz, rng: np.random.Generator) -> np.ndarray:
    other = (rng.random(problem.means.size) + problem.lipschitz * problem.distances).min(axis=1)
    return np.asarray((1 - NUDGE_SIZE) * problem.means + NUDGE_SIZE * np.minimum(other, 1.0))


def single_solution(
    theta: np.ndarray, problem: problems.Lipschitz, rng: np.random.Generator
) -> bool:
    gaps = theta.max() - theta
    worse = gaps > ROUNDING
    information = confusing_information(
        theta, np.full(theta.size, theta.max()), problem.lipschitz * problem.distances, 0, 1.0
    )
    return one_cover(information[np.ix_(worse, worse)], gaps[worse], rng)


def one_cover(information: np.ndarray, gaps: np.ndarray, rng: np.random.Generator) -> bool:
    """Whether min gaps'c subject to information c >= 1, c >= 0 has one solution: costs changed a
    little to either side have the same."""
    A = information / gaps  # in z = c gap, where all costs are 1
    scale = A.max(axis=1)
    need = 1 / scale
    tilt = 1e-5 * rng.standard_normal(gaps.size)
    first, second = (
        linprog(
            1 + side * tilt,
            A_ub=-A / scale[:, None],
            b_ub=-need / need.max(),
            bounds=(0, None),
            method="highs",
        ).x
        for side in (1, -1)
    )
    return bool(np.abs(first - second).max() <= 1e-7 * first.max())


def concentration(runs: int, rounds: int, rng: np.random.Generator) -> pd.DataFrame:
    """How often the weighted sum of divergences reaches delta by round n, under two predictable
    rules of sampling, and Theorem 5.1's bound.

    "until it is reached": all arms are sampled until the sum has reached delta, and none
    afterwards, so that it stays there: the share of runs whose largest sum is at least delta. "in
    turn": one arm a round.
    """
    rows = []
    for K in (1, 2, 4):
        theta = np.linspace(0.3, 0.7, K) if K > 1 else np.array([0.5])
        for rule, largest in (
            ("until it is reached", largest_sum(theta, runs, rounds, rng)),
            ("in turn", last_sum(theta, runs, rounds, rng)),
        ):
            for level in LEVELS:
                delta = K + 1.0 + level
                count = int((largest >= delta).sum())
                bound = (
                    math.exp(-delta + K + 1)
                    * (math.ceil(delta * math.log(rounds)) * delta / K) ** K
                )
                se = (
                    math.sqrt(max(count, 1) * max(1 - count / runs, 1 / runs)) / runs
                )  # of no event at all as of one
                rows.append(
                    {
                        "rule": rule,
                        "K": K,
                        "delta": delta,
                        "share": count / runs,
                        "se": se,
                        "bound": bound,
                        "one run": 1 / runs,
                    }
                )
    return pd.DataFrame(rows)


def sums_of_divergences(successes: np.ndarray, pulls: np.ndarray, theta: np.ndarray) -> np.ndarray:
    """sum_k t_k I+(mean_k, theta_k) of every run."""
    mean = successes / np.maximum(pulls, 1)
    return np.asarray(
        (pulls * np.where(mean < theta, divergence(np.minimum(mean, theta), theta), 0.0)).sum(
            axis=-1
        )
    )


def largest_sum(theta: np.ndarray, runs: int, rounds: int, rng: np.random.Generator) -> np.ndarray:
    """(runs,) largest sum up to the last round when every arm is sampled in every round."""
    successes, largest = np.zeros((runs, theta.size)), np.zeros(runs)
    for n in range(1, rounds):
        successes += rng.random(successes.shape) < theta
        np.maximum(
            largest,
            sums_of_divergences(successes, np.full(theta.size, float(n)), theta),
            out=largest,
        )
    return largest


def last_sum(theta: np.ndarray, runs: int, rounds: int, rng: np.random.Generator) -> np.ndarray:
    """(runs,) sum at the last round when the arms are sampled in turn."""
    pulls = np.array([len(range(k, rounds - 1, theta.size)) for k in range(theta.size)])
    return sums_of_divergences(rng.binomial(pulls, theta, size=(runs, theta.size)), pulls, theta)


def score(cases: TheoremCases) -> list[Row]:
    rows = [
        row_of(
            "most-confusing",
            f"{name}: lambda^k breaks a condition, or another vector is harder to tell from theta",
            "never",
            f"{wrong} of {total}",
            never(wrong, total),
        )
        for name, (wrong, total) in cases.confusing.items()
    ]
    less = [structured < unrelated for structured, unrelated in cases.constants.values()]
    rows.append(
        row_of(
            "gain-of-structure",
            "C(theta) is smaller than without the structure, on every instance",
            "smaller",
            f"{sum(less)} of {len(less)}",
            every(less),
        )
    )
    return [
        *rows,
        *index_rows(cases.undefined),
        *exploration_rows(cases.no_arm),
        *program_rows(cases.programs),
        row_of(
            "unique-solution",
            f"a parameter within {NUDGE_SIZE:g} of each instance's has one solution",
            "dense",
            f"{sum(map(sum, cases.unique.values()))} of {sum(map(len, cases.unique.values()))}",
            every([any(solutions) for solutions in cases.unique.values()]),
        ),
        *concentration_rows(cases.concentration),
    ]


def index_rows(undefined: dict[str, tuple[int, int]]) -> list[Row]:
    why = (
        "f(1) is minus infinity and f(2) negative, because of ln ln n, and the sum is never "
        "negative."
    )
    return [
        row_of(
            OURS if name == "f(n) = ln n" else "index-defined",
            f"{name}: indices b_k(n) that no q from mean_k to 1 defines",
            "none",
            f"{empty} of {total}",
            never(empty, total),
            remark=why,
        )
        for name, (empty, total) in undefined.items()
        if total
    ]


def exploration_rows(no_arm: dict[str, tuple[int, int]]) -> list[Row]:
    why = (
        "With f(n) > ln n an index can exceed the leader's mean although every arm has its c_k ln "
        "n plays."
    )
    return [
        row_of(
            "always-an-arm" if name == PRINTED_READING else OURS,
            f"{name}: rounds of exploration in which K_e is empty",
            "none",
            f"{empty} of {total}",
            never(empty, total),
            remark=why,
        )
        for name, (empty, total) in no_arm.items()
        if total
    ]


def program_rows(programs: dict[str, Programs]) -> Rows:
    for name, (solved, seconds, rounds) in programs.items():
        without = int((solved == 0).sum())
        where = f"{name}, {rounds} rounds"
        text = f"{where}: runs in which OSLB solves no linear program, as CKL-UCB does"
        yield row_of(
            OURS,
            text,
            "none",
            f"{without} of {solved.size}, {solved.mean():.0f} programs on average",
            never(without, solved.size),
        )
        if rounds < TIMED_ROUNDS:
            continue
        text = f"{where}: logarithm of OSLB's processor time as a multiple of CKL-UCB's"
        yield judged(
            "ckl-light",
            text,
            "above 0",
            estimate(np.log(seconds["OSLB"] / seconds["CKL-UCB"])),
            above,
        )


def concentration_rows(table: pd.DataFrame) -> Rows:
    cases = table[(table["bound"] < 1) & (table["bound"] >= RESOLVED_RUNS * table["one run"])]
    for (rule, K), part in cases.groupby(["rule", "K"], sort=False):
        holds = (part["share"] + 4 * part["se"] <= part["bound"]).tolist()
        nearest = part.iloc[int(np.argmax(part["share"] / part["bound"]))]
        yield row_of(
            "theorem-5-1",
            f"K = {K}, sampled {rule}: the share of runs plus 4 standard errors is below every "
            "bound under 1",
            "below the bound",
            f"nearest at delta = {nearest['delta']:g}: {nearest['share']:.2g} against "
            f"{nearest['bound']:.2g}",
            every(holds),
        )


def tables(cases: TheoremCases) -> dict[str, pd.DataFrame]:
    constants = [
        {"instance": name, "C(theta)": C, "without structure": unrelated}
        for name, (C, unrelated) in cases.constants.items()
    ]
    programs = [
        {"instance": name, "rounds": one.rounds, "programs of OSLB": one.solved.mean()}
        | {
            f"us a round, {policy}": 1e6 * seconds.mean() / one.rounds
            for policy, seconds in one.seconds.items()
        }
        for name, one in cases.programs.items()
    ]
    return {
        "constants": pd.DataFrame(constants),
        "programs": pd.DataFrame(programs),
        "theorem 5.1": cases.concentration,
    }


notes = (
    "Algorithm 1 as printed is a plain loop of its own: f(n) = ln n + (3K + 1) ln ln n in the "
    "index, ln n in K_e, arms never played have mean 0. Theorem 5.1 is tried under the sampling "
    "that is hardest for it: stop as soon as the sum has reached delta."
)
