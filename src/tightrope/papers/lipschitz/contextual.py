"""Contextual bandits with similarities: 5 contexts, 9 arms, mean 0.85 - 0.6 |x - y|."""

from typing import Any

import numpy as np
import pandas as pd

from ... import problems
from ...solvers.covering import lipschitz_lower_bound
from ..experiment import Claim, Outcome, Run
from .continuous import joined
from .settings import P, order, panels, summary

CONTEXTS, ARMS, L = np.linspace(0.0, 1.0, 5), np.linspace(0.0, 1.0, 9), 0.6
APART = 1e6  # a constant between contexts with which they tell nothing about each other


def problem(between: float) -> Any:
    """The problem as told to a policy that trusts the constant `between` contexts."""
    means = 0.85 - L * np.abs(CONTEXTS[:, None] - ARMS[None, :])
    return problems.ContextualLipschitz(CONTEXTS, ARMS, means, (between, L))


def constant(between: float) -> float:
    """C(theta) when contexts inform each other through the constant `between`."""
    p = problem(between)
    return lipschitz_lower_bound(p.means, distances=p.distances, lipschitz=1.0, contexts=p.contexts).value


def contextual(run: Run) -> Outcome:
    """Pooling over contexts against one bandit per context."""
    horizon, runs = run.at(smoke=2000, laptop=100_000, paper=100_000), run.at(smoke=3, laptop=20, paper=100)
    pooled, apart = constant(L), constant(APART)
    chosen = {
        "CKL-UCB": P.CKLUCB(lipschitz=1.0), "TrackCKLUCB": P.TrackCKLUCB(lipschitz=1.0), "OSLB": P.OSLB(lipschitz=1.0),
        "KL-UCB per context": P.KLUCB(),
    }  # fmt: skip
    first = run.simulate("pooled", problem(L), chosen, horizon=horizon, replications=runs)
    second = run.simulate("apart", problem(APART), {"CKL-UCB per context": P.CKLUCB(lipschitz=1.0)}, horizon=horizon, replications=runs)
    result = joined(first, second)
    gain = 100 * (1 - pooled / apart)
    claims = [
        order("contextual", "45 pairs", result, "CKL-UCB", "KL-UCB per context"),
        order("contextual", "45 pairs", result, "CKL-UCB", "CKL-UCB per context", reason="Pooling gains little; see C(theta)."),
        Claim("contextual", f"pooling over contexts lowers C(theta), {apart:.4g} apart, {pooled:.4g} pooled (per cent)", "8-11", gain, None,
              "between 5 and 15 %; partly if above 0",
              "reproduced" if 5 <= gain <= 15 else "partly" if gain > 0 else "not reproduced"),
    ]  # fmt: skip
    bounds = pd.DataFrame([{"contexts": "pooled", "C(theta)": pooled}, {"contexts": "apart", "C(theta)": apart}])
    plot = panels({"5 contexts, 9 arms": result})
    notes = f"{runs} runs of {horizon} rounds; every round draws one of the contexts."
    return Outcome(claims, {"contextual": result}, {"regret": summary(result, pooled), "bounds": bounds}, {"contextual": plot}, notes)
