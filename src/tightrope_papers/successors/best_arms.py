"""The best arm with features: lazy tracking against LinGapE and its peers, draws of the posterior
as a sampling rule, and a number of samples that is given."""

import math
from typing import NamedTuple

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from tightrope import Identification, policies
from tightrope.extend import Policy, standard_error
from tightrope.plots import style
from tightrope.problems import Linear

from ..experiment import Run, generator, unit_vector
from ..scoring import (
    OURS,
    Estimate,
    Rows,
    above,
    below,
    estimate,
    paired_mean,
    rare,
    ratio,
    row_of,
)

p = policies
TRACKING, GAPS, DRAWS = "LazyTrackAndStop", "LinGapE", "PEPS"
FRANK_WOLFE, ELIMINATION, SPLIT = "FrankWolfeSampling", "RAGE", "equal split"
PRINTED, POOLED = "ODLinBAI, as printed", "ODLinBAI, pooled"
PEERS = {GAPS, FRANK_WOLFE, "LinGame", ELIMINATION}
ALIKE, RARER = 1.1, 0.05  # what is as well: in samples, and in the share of right answers
DELTA = 0.1  # of the runs that errors are counted in


def many_arms(n: int, rng: np.random.Generator) -> Linear:
    angle = 0.78 + 0.1 * rng.random(n - 2)
    crowd = np.column_stack([np.cos(angle), np.sin(angle)])
    return Linear(np.vstack([crowd, [[1.0, 0.0], [-0.707, 0.707]]]), [1.0, 0.0], noise=1.0)


def soare(d: int, angle: float, size: float) -> Linear:
    arm = np.zeros(d)
    arm[:2] = math.cos(angle), math.sin(angle)
    return Linear(np.vstack([np.eye(d), arm]), size * np.eye(d)[0], noise=1.0)


def sphere(K: int, d: int, rng: np.random.Generator) -> Linear:
    """theta near the better of the two arms that are closest to each other."""
    X = np.array([unit_vector(rng, d) for _ in range(K)])
    i, j = divmod(int(np.argmax(X @ X.T - 3.0 * np.eye(K))), K)
    return Linear(X, X[i] + 0.01 * (X[j] - X[i]), noise=1.0)


def around_45_degrees(K: int, rng: np.random.Generator) -> Linear:
    angle = np.r_[0.0, 0.75 * math.pi, 0.25 * math.pi + 0.3 * rng.standard_normal(K - 2)]
    return Linear(np.column_stack([np.cos(angle), np.sin(angle)]), [1.0, 0.0], noise=1.0)


def line_up(delta: float, size: float, *, pairs: bool) -> dict[str, Policy]:
    """pairs: with those whose round or design looks at all pairs of arms, instead of other forms of
    tracking."""
    told = {"delta": delta, "theta_bound": size, "union": False}
    own: dict[str, Policy] = {
        "tracking the last": p.LazyTrackAndStop(delta=delta, tracking="last"),
        "heuristic threshold": p.LazyTrackAndStop(delta=delta, threshold="heuristic"),
    }
    few: dict[str, Policy] = {
        FRANK_WOLFE: p.FrankWolfeSampling(**told),
        "LinGame": p.LinGame(**told),
        ELIMINATION: p.RAGE(delta=delta),
    }
    return {
        TRACKING: p.LazyTrackAndStop(delta=delta),
        DRAWS: p.PEPS(delta=delta, theta_bound=size),
        GAPS: p.LinGapE(**told),
    } | (few if pairs else own)


def with_samples(budget: int) -> dict[str, Policy]:
    return {
        PRINTED: p.ODLinBAI(budget=budget, pool=False),
        POOLED: p.ODLinBAI(budget=budget),
        SPLIT: p.Uniform(lam=1e-3),
    }


class BestArmRuns(NamedTuple):
    tracking: dict[str, Identification]  # by problem
    draws: dict[str, Identification]
    right: dict[int, Identification]  # by number of samples
    budget: dict[tuple[str, int], Identification]  # by instance and number of samples
    errors: Identification


def data(run: Run) -> BestArmRuns:
    n, runs, dimensions = run.at(
        smoke=(60, 3, (2,)), laptop=(1_000, 20, (6,)), paper=(1_000, 200, (2, 4, 6, 8, 10))
    )
    rng = generator(run.seed, 51)
    worlds = [many_arms(n, rng) for _ in range(runs)]
    tracking = {
        f"{n:,} arms": run.identify(
            "many", worlds, line_up(0.05, 1.0, pairs=False), replications=runs
        )
    }
    for d in dimensions:
        tracking[f"Soare, d = {d}"] = run.identify(
            f"soare-{d}",
            soare(d, 0.1, 2.0),
            line_up(0.01, 2.0, pairs=True),
            replications=run.at(smoke=2, laptop=10, paper=400),
        )
    runs = run.at(smoke=3, laptop=60, paper=2_000)
    draws = {
        "Soare, angle .5": run.identify(
            "draws-soare", soare(2, 0.5, 1.0), line_up(0.05, 1.0, pairs=True), replications=runs
        ),
        "sphere": run.identify(
            "draws-sphere",
            [sphere(20, 6, rng) for _ in range(runs)],
            line_up(0.05, 1.0, pairs=True),
            replications=runs,
            max_rounds=run.at(smoke=10**4, laptop=10**6, paper=10**7),
        ),
    }
    same = line_up(0.05, 1.0, pairs=True) | {"uniform": p.Uniform()}
    same = {name: same[name] for name in (DRAWS, GAPS, FRANK_WOLFE, "LinGame", "uniform")}
    right = {
        rounds: run.identify(
            f"right-{rounds}",
            soare(2, 0.1, 1.0),
            same,
            replications=run.at(smoke=4, laptop=400, paper=4_000),
            budget=rounds,
        )
        for rounds in run.at(
            smoke=(50, 100), laptop=(200, 1_000), paper=(200, 500, 1_000, 2_000, 5_000)
        )
    }
    runs = run.at(smoke=4, laptop=200, paper=10_000)
    budget = {}
    for K, numbers in ((20, (50, 100)), (100, (150, 400))):
        for number in numbers:
            made = [around_45_degrees(K, rng) for _ in range(runs)]
            budget[f"{K} arms around 45 degrees", number] = run.identify(
                f"plane-{K}-{number}", made, with_samples(number), replications=runs, budget=number
            )
    budget["Soare, d = 8", 400] = run.identify(
        "plane-soare", soare(8, 0.3, 2.0), with_samples(400), replications=runs, budget=400
    )
    count = run.at(smoke=20, laptop=1_000, paper=20_000)
    sound = {
        TRACKING: p.LazyTrackAndStop(delta=DELTA),
        "heuristic threshold": p.LazyTrackAndStop(delta=DELTA, threshold="heuristic"),
        DRAWS: p.PEPS(delta=DELTA, theta_bound=2.0),
    }
    errors = run.identify("errors", soare(4, 0.3, 2.0), sound, replications=count)
    return BestArmRuns(tracking, draws, right, budget, errors)


def score(runs: BestArmRuns) -> Rows:
    for problem, found in runs.tracking.items():
        for other in [name for name in found.rounds if name in PEERS]:
            yield row_of(
                "tracking-outperforms",
                f"{problem}: samples of {TRACKING} over those of {other}",
                "significantly outperforms",
                quotient := ratio(found.rounds[TRACKING], found.rounds[other]),
                below(quotient, 1.0),
            )
    for name, wrong in runs.errors.correct.items():
        count, total = int((~wrong).sum()), wrong.size
        yield row_of(
            "tracking-sound" if name == TRACKING else OURS,
            f"{name}: share of runs that name a wrong arm, delta {DELTA:g}",
            f"at most {DELTA:g}",
            count / total,
            rare(count, total, DELTA),
        )
    for problem, found in runs.draws.items():
        yield from as_many_samples(problem, found)
    for rounds, found in runs.right.items():
        for other in (FRANK_WOLFE, "LinGame", GAPS, "uniform"):
            difference = paired_mean(1.0 * found.correct[DRAWS], 1.0 * found.correct[other])
            yield row_of(
                OURS if other in (GAPS, "uniform") else "draws-as-well",
                f"after {rounds:,} samples, share of runs that would name the best: {DRAWS} less "
                f"{other}",
                "as well",
                difference,
                above(difference, -RARER if other != "uniform" else 0.0),
            )
    for (instance, number), found in runs.budget.items():
        missed = {name: 1.0 - correct for name, correct in found.correct.items()}
        for name in (PRINTED, POOLED):
            fewer = paired_mean(missed[name], missed[SPLIT])
            yield row_of(
                "budget-improves" if name == PRINTED else OURS,
                f"{instance}, {number} samples: share of errors, {name} less {SPLIT}",
                "considerable improvements",
                fewer,
                below(fewer),
            )


def as_many_samples(problem: str, found: Identification) -> Rows:
    for other in (FRANK_WOLFE, "LinGame", GAPS):
        quotient = ratio(found.rounds[DRAWS], found.rounds[other])
        yield row_of(
            OURS if other == GAPS else "draws-as-well",
            f"{problem}: samples of {DRAWS} over those of {other}",
            "as well",
            quotient,
            below(quotient, ALIKE),
        )


def tables(runs: BestArmRuns) -> dict[str, pd.DataFrame]:
    samples = [
        {"problem": problem, "policy": name}
        | number("samples", estimate(rounds))
        | {"right": float(found.correct[name].mean())}
        for problem, found in (runs.tracking | runs.draws).items()
        for name, rounds in found.rounds.items()
    ]
    missed = [
        {"problem": instance, "samples": count, "policy": name}
        | number("share of errors", estimate(1.0 - correct))
        for (instance, count), found in (
            {("Soare, angle .1", rounds): one for rounds, one in runs.right.items()} | runs.budget
        ).items()
        for name, correct in found.correct.items()
    ]
    return {"samples": pd.DataFrame(samples), "errors": pd.DataFrame(missed)}


def number(name: str, value: Estimate) -> dict[str, float]:
    return {name: value.value, "s.e.": value.se}


def plot(runs: BestArmRuns) -> dict[str, Figure]:
    samples, axes = style.figure(len(runs.tracking | runs.draws), width=4.4, height=3.0)
    for axis, (problem, found) in zip(axes, (runs.tracking | runs.draws).items(), strict=True):
        bars(axis, found.rounds)
        axis.set_title(problem, fontsize=10, loc="left", color=style.INK)
        axis.set_xlabel("samples until the stop")
    errors, (over, given) = style.figure(2)
    for place, name in enumerate(next(iter(runs.right.values())).correct):
        shares = [1.0 - found.correct[name] for found in runs.right.values()]
        over.errorbar(
            list(runs.right),
            [share.mean() for share in shares],
            [2.0 * standard_error(share) for share in shares],
            label=name,
            color=style.COLOURS[place],
        )
    over.set(xscale="log", xlabel="samples", ylim=(0.0, None))
    over.set_title("share of errors, Soare's arms", fontsize=10, loc="left", color=style.INK)
    for place, name in enumerate((PRINTED, POOLED, SPLIT)):
        shares = [1.0 - found.correct[name] for found in runs.budget.values()]
        given.errorbar(
            [share.mean() for share in shares],
            np.arange(len(shares)) + 0.15 * (place - 1),
            xerr=[2.0 * standard_error(share) for share in shares],
            label=name,
            color=style.COLOURS[place],
            fmt="o",
        )
    given.set_yticks(range(len(runs.budget)), [f"{key[0]}, {key[1]}" for key in runs.budget])
    given.set_xlim(left=0.0)
    given.set_title("share of errors, samples given", fontsize=10, loc="left", color=style.INK)
    for axis in (over, given):
        style.legend(axis)
    return {"samples": samples, "errors": errors}


def bars(axis: Axes, rounds: dict[str, np.ndarray]) -> None:
    for place, values in enumerate(rounds.values()):
        axis.barh(place, values.mean(), xerr=2.0 * standard_error(values), color=style.COLOURS[0])
    axis.set_yticks(range(len(rounds)), list(rounds))
    axis.invert_yaxis()


notes = (
    "All policies of a problem meet the same noise. LinGapE, PEPS and the games are told the norm "
    "of theta; LazyTrackAndStop and RAGE need no bound. The tracking paper compared with RAGE and "
    "its forerunners; LinGapE and the games are what its claim is held against here."
)
