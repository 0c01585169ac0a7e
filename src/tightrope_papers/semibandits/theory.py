"""Theorems 1 to 3 and lemmas 5 to 8 as bounds on runs, and the footnote on bandits without
features.

The theorems hide constants; the bounds here are those that the paper's proofs give, written out.
They are far above any regret, so the runs are also asked to grow in T no faster than the bounds do.
"""

import math
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy.linalg import solve_triangular

from tightrope import Result, oracles, policies
from tightrope.extend import Arguments, Policy
from tightrope.numerics.posterior import unit_rows
from tightrope.problems import SemiBandit

from ..experiment import Run, generator, unit_vector
from ..scoring import (
    Estimate,
    Row,
    Rows,
    above,
    at_least,
    below,
    judged,
    never,
    ratio,
    row_of,
    share,
)

ARMS, DIM, SET_SIZE = 30, 3, 3  # small, so that the theory's widths are learned within the rounds
DELTA, NOISE, PERTURBATION = (
    0.1,
    0.1,
    1.0,
)  # the probability of failure, the rewards' noise, PC2UCB's c
HORIZON_RATIO = 4  # regret at T is compared with that at T / TIMES
OPTIMISM_PROBABILITY = 1 / (8 * math.sqrt(math.e * math.pi))  # p / 2 of lemma 8
THEOREMS = {"theorem-1": "arm-wise TS", "theorem-2": "round-wise TS", "theorem-3": "PC2UCB"}


class BoundedRegret(NamedTuple):
    """The regret of one algorithm and its bound, lam = k or lam = 1."""

    name: str
    lam: float
    regret: np.ndarray  # (runs, 2) at T / TIMES and at T
    bound: np.ndarray  # (2,)


class LemmaCases(NamedTuple):
    bounds: list[BoundedRegret]
    widths: pd.DataFrame  # lemmas 5 and 6
    kept: dict[str, tuple[int, int]]  # lemma 7: runs within their ellipsoids, runs
    optimistic: pd.DataFrame  # lemma 8
    without_features: Result


def radius(t: float, delta: float, d: int, k: int, lam: float, noise: float = NOISE) -> float:
    return noise * math.sqrt(d * math.log((1 + k * t / lam) / delta)) + math.sqrt(lam)


def sum_of_widths(T: int, d: int, k: int, lam: float) -> float:
    """The bound of lemmas 5 (lam < k) and 6 on the sum of the widths of all arms chosen in T
    rounds."""
    return math.sqrt(2 * d * k * T * math.log(1 + k * T / d) * (1.0 if lam >= k else k / lam))


def regret_bound(name: str, T: int, N: int, d: int, k: int, lam: float) -> float:
    """The bound of an algorithm's regret that the proof of its theorem gives, with its
    constants."""
    W = sum_of_widths(T, d, k, lam)
    if name == "PC2UCB":
        return (2 + PERTURBATION) * radius(T, DELTA, d, k, lam) * W
    arms = N if name == "arm-wise TS" else 1
    part = DELTA / (4 * T)
    draws = math.sqrt(2 * d * math.log(2 * d * arms / part)) * radius(T, part, d, k, lam)
    largest = k * math.sqrt(max(1.0, k / lam) / k)  # of the widths of a set
    chance = (
        4
        * draws
        / (2 * OPTIMISM_PROBABILITY)
        * (W + largest * math.sqrt(8 * T * math.log(4 / DELTA)))
    )
    return chance + (draws + radius(T, part, d, k, lam)) * W


def world(seed: int) -> SemiBandit:
    rng = generator(seed, 5)
    return SemiBandit(
        unit_rows(rng, ARMS, DIM), unit_vector(rng, DIM), oracles.TopK(SET_SIZE), noise=NOISE
    )


def line_up(lam: float) -> dict[str, Policy]:
    p = policies
    parameters: Arguments = {"lam": lam, "delta": DELTA, "noise": NOISE, "theta_bound": 1.0}
    return {
        "PC2UCB": p.PC2UCB(alpha="theory", c=PERTURBATION, **parameters),
        "round-wise TS": p.CombTS(v="theory", **parameters),
        "arm-wise TS": p.CombTS(v="theory", randomization="arm", **parameters),
    }


def data(run: Run) -> LemmaCases:
    rounds, runs = run.at(smoke=(80, 4), laptop=(2000, 20), paper=(8000, 100))
    worlds = [world(seed) for seed in range(runs)]
    regrets = []
    for lam in (float(SET_SIZE), 1.0):
        options = {
            "horizon": rounds,
            "replications": runs,
            "checkpoints": [rounds // HORIZON_RATIO, rounds],
        }
        result = run.simulate(f"theory-{lam:g}", worlds, line_up(lam), **options)
        for name in result.policies:
            bound = np.array(
                [regret_bound(name, int(T), ARMS, DIM, SET_SIZE, lam) for T in result.rounds]
            )
            regrets.append(BoundedRegret(name, lam, result.regret[name], bound))
    rng = generator(run.seed, 6)
    tried, draws = run.at(smoke=(20, 2000), laptop=(500, 100_000), paper=(2000, 1_000_000))
    unit = SemiBandit(np.eye(10), np.linspace(-0.5, 0.5, 10), oracles.TopK(3), noise=NOISE)
    alike: dict[str, Policy] = {
        "round": policies.CombTS(v=0.5),
        "arm": policies.CombTS(v=0.5, randomization="arm"),
    }
    equal = run.simulate(
        "theory-without-features",
        unit,
        alike,
        horizon=run.at(smoke=20, laptop=200, paper=1000),
        replications=20,
    )
    return LemmaCases(
        regrets,
        widths(rng, run.at(smoke=5, laptop=50, paper=500)),
        kept_within(rng, tried),
        optimistic(rng, draws),
        equal,
    )


def widths(rng: np.random.Generator, sequences: int, T: int = 30) -> pd.DataFrame:
    """Sums of squared widths of lemmas 5 and 6, under random sets and under the sets of the widest
    arms, as shares of the bounds."""
    rows = []
    for d, k, N in ((3, 5, 40), (11, 20, 100)):
        for factor in (0.01, 0.1, 0.5, 1.0, 2.0):
            lam = factor * k
            for rule in ("random sets", "widest arms"):
                largest = 0.0
                for _ in range(sequences):
                    X = unit_rows(rng, N, d)
                    design, total = lam * np.eye(d), 0.0
                    scale = (
                        1.0 if lam >= k else lam / k
                    )  # lemma 5's design weighs the rewards by lam / k
                    for _ in range(T):
                        squares = (
                            solve_triangular(np.linalg.cholesky(design), X.T, lower=True) ** 2
                        ).sum(axis=0)
                        arms = (
                            rng.choice(N, k, replace=False)
                            if rule == "random sets"
                            else np.argpartition(-squares, k)[:k]
                        )
                        total += float(squares[arms].sum())
                        design += scale * X[arms].T @ X[arms]
                    largest = max(largest, total)
                bound = 2 * d * math.log(1 + k * T / d) * (1.0 if lam >= k else k / lam)
                rows.append(
                    {
                        "d": d,
                        "k": k,
                        "lam": lam,
                        "rule": rule,
                        "largest sum": largest,
                        "bound": bound,
                        "share": largest / bound,
                    }
                )
    return pd.DataFrame(rows)


def kept_within(rng: np.random.Generator, runs: int, T: int = 20) -> dict[str, tuple[int, int]]:
    """The runs of arm-wise Thompson sampling that keep lemma 7: theta and every arm's draw in their
    ellipsoids in all rounds."""
    counts = {}
    for lam in (float(SET_SIZE), 1.0):
        part, kept = DELTA / (4 * T), 0
        for seed in range(runs):
            problem = world(seed)
            X, theta = problem.features, problem.theta
            V, b, inside = lam * np.eye(DIM), np.zeros(DIM), True
            for t in range(1, T + 1):
                estimated, root = np.linalg.solve(V, b), np.linalg.cholesky(V)
                beta = radius(t, part, DIM, SET_SIZE, lam)
                normal = rng.standard_normal((ARMS, DIM))
                draws = estimated + beta * solve_triangular(root, normal.T, lower=True, trans="T").T
                off = theta - estimated
                limit = math.sqrt(2 * DIM * math.log(2 * DIM * ARMS / part)) * beta
                inside &= math.sqrt(off @ V @ off) <= beta and bool(
                    (np.linalg.norm((draws - estimated) @ root, axis=1) <= limit).all()
                )
                arms = np.argpartition(-(X * draws).sum(axis=1), SET_SIZE)[:SET_SIZE]
                V, b = (
                    V + X[arms].T @ X[arms],
                    b + X[arms].T @ (X[arms] @ theta + NOISE * rng.standard_normal(SET_SIZE)),
                )
            kept += inside
        counts[f"lam = {lam:g}"] = kept, runs
    return counts


def optimistic(rng: np.random.Generator, draws: int) -> pd.DataFrame:
    """Lemma 8's probability where theta_hat is as far off as its ellipsoid allows: equal arms of
    width w, theta_hat'x too low by beta w.

    A round-wise draw lifts all arms together. Arm-wise draws are independent: the best k of N must
    make up for k beta w.
    """
    rows = []
    for k, N in ((1, 1), (4, 4), (9, 9), (25, 25), (9, 18), (100, 200), (100, 2000)):
        low = rng.standard_normal(draws)
        few = max(50, draws // max(1, N // 4))
        sets = np.concatenate(
            [
                np.sort(rng.standard_normal((min(2000, few - first), N)), axis=1)[:, -k:].sum(
                    axis=1
                )
                for first in range(0, few, 2000)
            ]
        )
        for name, hits, total in (
            ("round-wise", int((low >= 1).sum()), draws),
            ("arm-wise", int((sets >= k).sum()), few),
        ):
            value, se = share(hits, total)
            rows.append(
                {
                    "draws": name,
                    "k": k,
                    "N": N,
                    "probability": value,
                    "se": max(se, 1 / total),
                    "p / 2": OPTIMISM_PROBABILITY,
                }
            )
    return pd.DataFrame(rows)


def score(cases: LemmaCases) -> Rows:
    for key, name in THEOREMS.items():
        yield from [row for one in cases.bounds if one.name == name for row in bound_rows(key, one)]
    yield from width_rows(cases.widths)
    for where, (kept, runs) in cases.kept.items():
        text = (
            f"{where}: share of runs with theta and all arms' draws in their ellipsoids in every "
            "round"
        )
        yield row_of(
            "lemma-7", text, 1 - DELTA / 2, share(kept, runs), at_least(kept / runs, 1 - DELTA / 2)
        )
    yield from optimism_rows(cases.optimistic)
    first, second = (cases.without_features.pulls[name] for name in ("round", "arm"))
    differ = int((first != second).any(axis=1).sum())
    text = "without features round-wise and arm-wise draws from one stream choose other sets (runs)"
    yield row_of(
        "same-without-features",
        text,
        "none",
        f"{differ} of {first.shape[0]}",
        never(differ, first.shape[0]),
    )


def bound_rows(key: str, one: BoundedRegret) -> list[Row]:
    where = f"{one.name}, lam = {one.lam:g}{', which is k' if one.lam == SET_SIZE else ''}"
    below_bound = float((one.regret[:, 1] <= one.bound[1]).mean())
    grown, allowed = ratio(one.regret[:, 1], one.regret[:, 0]), float(one.bound[1] / one.bound[0])
    return [
        row_of(
            key,
            f"{where}: share of runs within the proof's bound",
            f"at least {1 - DELTA:.0%}",
            f"{below_bound:.0%} of the runs; the bound is "
            f"{one.bound[1] / one.regret[:, 1].mean():.0f} times their regret",
            at_least(below_bound, 1 - DELTA),
        ),
        row_of(
            key,
            f"{where}: regret after {HORIZON_RATIO} times the rounds as a multiple (limit: the "
            f"bound's, {allowed:.3g})",
            f"at most {allowed:.3g}",
            grown,
            below(grown, allowed),
        ),
    ]


def width_rows(table: pd.DataFrame) -> Rows:
    for lemma, part in (
        ("lemma 6, lam >= k", table[table["lam"] >= table["k"]]),
        ("lemma 5, lam < k", table[table["lam"] < table["k"]]),
    ):
        broken = int((part["share"] > 1).sum())
        yield row_of(
            "lemmas-5-6",
            f"{lemma}: kinds of sequences with a sum of squared widths above the bound",
            "none",
            f"{broken} of {len(part)}, largest share of the bound {part['share'].max():.2f}",
            never(broken, len(part)),
        )


def optimism_rows(table: pd.DataFrame) -> Rows:
    for name, part in table.groupby("draws", sort=False):
        worst = part.iloc[int(np.argmin(part["probability"]))]
        yield judged(
            "lemma-8",
            f"{name} draws, theta_hat on the edge of its ellipsoid: least probability of optimism",
            f"at least {OPTIMISM_PROBABILITY:.3g}",
            Estimate(float(worst["probability"]), float(worst["se"])),
            above,
            OPTIMISM_PROBABILITY,
            remark=f"It is least at k = {worst['k']} of N = {worst['N']} arms; independent draws "
            "average out over a set.",
        )


def tables(cases: LemmaCases) -> dict[str, pd.DataFrame]:
    rows = [
        {
            "algorithm": one.name,
            "lam": one.lam,
            "regret": one.regret[:, 1].mean(),
            "bound": one.bound[1],
            "growth": one.regret[:, 1].mean() / one.regret[:, 0].mean(),
            "growth of the bound": one.bound[1] / one.bound[0],
        }
        for one in cases.bounds
    ]
    return {
        "theorems": pd.DataFrame(rows),
        "lemmas 5 and 6": cases.widths,
        "lemma 8": cases.optimistic,
    }


notes = (
    f"Theorems: {ARMS} random unit vectors in {DIM} dimensions, sets of {SET_SIZE}, Gaussian "
    f"noise {NOISE}, delta = {DELTA}, the parameters of the theorems. Lemma 8: equal arms, "
    "theta_hat as far below theta as the event of the lemma allows."
)
