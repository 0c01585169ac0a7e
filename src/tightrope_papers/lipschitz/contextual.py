"""Contextual bandits with similarities: 5 contexts, 9 arms, mean 0.85 - 0.6 |x - y|, pooled or one bandit per context."""

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from tightrope import problems
from tightrope.results.results import Result
from tightrope.solvers.programs import lipschitz_lower_bound

from ..experiment import Run
from ..scoring import OURS, Estimate, Row, below, between, row_of
from .settings import LOGLOG, P, join_results, order, panels, summary

CONTEXTS, ARMS, L = np.linspace(0.0, 1.0, 5), np.linspace(0.0, 1.0, 9), 0.6
APART_CONSTANT = 1e6  # a constant between contexts with which they tell nothing about each other


def problem(between_contexts: float) -> problems.ContextualLipschitz:
    """The problem as told to a policy that trusts this constant between contexts."""
    means = 0.85 - L * np.abs(CONTEXTS[:, None] - ARMS[None, :])
    return problems.ContextualLipschitz(CONTEXTS, ARMS, means, (between_contexts, L))


def constant(between_contexts: float) -> float:
    """C(theta) when contexts inform each other through this constant."""
    p = problem(between_contexts)
    return lipschitz_lower_bound(p.means, distances=p.distances, lipschitz=1.0, contexts=p.contexts).value


def data(run: Run) -> Result:
    """Pooling policies, and the same told that contexts are far apart."""
    horizon, runs = run.at(smoke=(2000, 3), laptop=(100_000, 20), paper=(100_000, 200))
    players = {
        "CKL-UCB": P.CKLUCB(lipschitz=1.0, loglog=LOGLOG), "TrackCKLUCB": P.TrackCKLUCB(lipschitz=1.0, loglog=LOGLOG),
        "OSLB": P.OSLB(lipschitz=1.0, loglog=LOGLOG),
        "KL-UCB per context": P.KLUCB(c=LOGLOG),
    }  # fmt: skip
    first = run.simulate("pooled", problem(L), players, horizon=horizon, replications=runs)
    second = run.simulate(
        "apart",
        problem(APART_CONSTANT),
        {"CKL-UCB per context": P.CKLUCB(lipschitz=1.0, loglog=LOGLOG)},
        horizon=horizon,
        replications=runs,
    )
    return join_results(first, second)


def score(result: Result) -> list[Row]:
    pooled, apart = constant(L), constant(APART_CONSTANT)
    gain = 100 * (1 - pooled / apart)
    text = f"pooling over contexts lowers C(theta), {apart:.4g} apart, {pooled:.4g} pooled (per cent)"
    lower = Estimate(pooled - apart, 0.0)
    return [
        row_of("contextual", f"pooling over contexts lowers C(theta), {apart:.4g} apart (difference)", "below 0", lower, below(lower)),
        order("contextual", "45 pairs", result, "CKL-UCB", "KL-UCB per context"),
        order("contextual", "45 pairs", result, "CKL-UCB", "CKL-UCB per context", remark="Pooling gains little; see C(theta)."),
        row_of(OURS, text, "8-11", gain, between(gain, 5, 15)),
    ]


def tables(result: Result) -> dict[str, pd.DataFrame]:
    pooled, apart = constant(L), constant(APART_CONSTANT)
    bounds = pd.DataFrame([{"contexts": "pooled", "C(theta)": pooled}, {"contexts": "apart", "C(theta)": apart}])
    return {"regret": summary(result, pooled), "bounds": bounds}


def plot(result: Result) -> dict[str, Figure]:
    return {"contextual": panels({"5 contexts, 9 arms": result})}


def notes(result: Result) -> str:
    return f"{result.replications} runs of {result.rounds[-1]} rounds; every round draws one of the contexts."
