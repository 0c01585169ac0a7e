"""What not knowing L costs (our own rule), and OSSB (Combes, Magureanu, Proutiere 2017) beside OSLB
at horizons that are played."""

from typing import NamedTuple

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from tightrope import Result, policies

from ..experiment import Run
from ..lipschitz.discrete import ALIKE_SHARE, constant, growth, instance, panels, shapes, summary
from ..scoring import OURS, Rows, below, judged, paired_mean, row_of

K = 17
TOLD, TWICE, LEARNED = "CKL-UCB, told L", "CKL-UCB, told 2 L", "CKL-UCB, L learned"
PLAIN, OSLB, OSSB = "KL-UCB", "OSLB", "OSSB"


class UnknownRuns(NamedTuple):
    results: dict[str, Result]  # by shape
    constants: dict[str, float]  # C(theta)


def data(run: Run) -> UnknownRuns:
    p = policies
    horizon, number = run.at(smoke=(500, 4), laptop=(5000, 100), paper=(100_000, 400))
    results, constants = {}, {}
    for name in shapes():
        problem = instance(name, K)
        L = problem.lipschitz
        constants[name] = constant(problem)
        results[name] = run.simulate(
            f"unknown-l-{name.replace(' ', '-')}",
            problem,
            {
                TOLD: p.CKLUCB(lipschitz=L),
                TWICE: p.CKLUCB(lipschitz=2 * L),
                LEARNED: p.CKLUCB(lipschitz="learned"),
                PLAIN: p.KLUCB(),
                OSLB: p.OSLB(lipschitz=L),
                OSSB: p.OSSB(lipschitz=L),
            },
            horizon=horizon,
            replications=number,
        )
    return UnknownRuns(results, constants)


def score(runs: UnknownRuns) -> Rows:
    finals = {
        name: {policy: curve[:, -1] for policy, curve in result.regret.items()}
        for name, result in runs.results.items()
    }
    pairs = (
        (OURS, LEARNED, PLAIN),
        (OURS, TOLD, LEARNED),
        (OURS, OSSB, OSLB),
        (OURS, OSSB, PLAIN),
        (OURS, OSSB, TOLD),
    )
    for key, lower, higher in pairs:
        for name, final in finals.items():
            gap = paired_mean(final[lower], final[higher])
            yield row_of(
                key,
                f"{lower} below {higher}: {name}",
                "below",
                f"{final[lower].mean():.0f} against {final[higher].mean():.0f}",
                below(gap),
                se=gap.se,
            )
        first, second = (
            np.sum([final[policy] for final in finals.values()], axis=0)
            for policy in (lower, higher)
        )
        total = paired_mean(first, second)
        yield row_of(
            key,
            f"{lower} below {higher}: the sum over the shapes",
            "below",
            f"{first.mean():.0f} against {second.mean():.0f}",
            below(total),
            se=total.se,
        )
    for name, result in runs.results.items():
        C = runs.constants[name]
        yield judged(
            "ossb-optimal",
            f"{OSSB} does not grow faster than C(theta) ln T between T / 10 and T = "
            f"{result.rounds[-1]:,}, C = {C:.3g} (limit: {1 + ALIKE_SHARE:g} of it): {name}",
            f"at most {C:.3g}",
            growth(result, OSSB),
            below,
            (1 + ALIKE_SHARE) * C,
        )


def tables(runs: UnknownRuns) -> dict[str, pd.DataFrame]:
    return {
        "regret": pd.concat(
            summary(result, runs.constants[name]).assign(shape=name)
            for name, result in runs.results.items()
        )
    }


def plot(runs: UnknownRuns) -> dict[str, Figure]:
    return {"1": panels(runs.results)}


notes = (
    f"Four shapes of the mean on {K} points, rewards of 0 and 1; L is the steepest slope of the "
    "true means. The rule for a learned L is ours and has no proof."
)
