"""The asymptotic slope: regret between T/10 and T against C(theta) ln 10 on the steep instance (Theorem 3.1)."""

import pandas as pd
from matplotlib.figure import Figure

from ...engine.results import Result
from ..experiment import Run
from ..scoring import Row, above, judged, near
from .settings import P, constant, growth, instance, order, panels, summary

NAME, ARMS = "steep", 17
SOURCES = {"OSLB": "C", "TrackCKLUCB": "our extension; OSLB's limit", "CKL-UCB": "at most C"}


def data(run: Run) -> Result:
    """The three structured policies and KL-UCB."""
    horizon, runs = run.at(smoke=(3000, 3), laptop=(1_000_000, 100), paper=(1_000_000, 400))
    problem = instance(NAME, ARMS)
    L = problem.lipschitz
    chosen = {
        "CKL-UCB": P.CKLUCB(lipschitz=L), "TrackCKLUCB": P.TrackCKLUCB(lipschitz=L), "OSLB": P.OSLB(lipschitz=L), "KL-UCB": P.KLUCB(),
    }  # fmt: skip
    return run.simulate("slope", problem, chosen, horizon=horizon, replications=runs)


def score(result: Result) -> list[Row]:
    """The structured policies grow like C(theta) ln T, KL-UCB faster."""
    problem, horizon = instance(NAME, ARMS), result.rounds[-1]
    C, unrelated = constant(problem), constant(problem, 1e6)
    slow, claims = "The limit is asymptotic; one decade of rounds is a noisy sample of it.", []
    for name, source in SOURCES.items():
        grown = growth(result, name)
        claims.append(judged(f"{name} grows like C(theta) ln T, C = {C:.3g}", source, grown, near(grown, C, 0.3), remark=slow))
    text, grown = "KL-UCB, blind to the structure, grows faster than C ln T", growth(result, "KL-UCB")
    return [
        *claims,
        judged(f"{text} (its own limit: {unrelated:.3g})", "above C", grown, above(grown, C)),
        order(f"T = {horizon}", result, "TrackCKLUCB", "OSLB", paper="our extension"),
        order(f"T = {horizon}", result, "TrackCKLUCB", "KL-UCB", paper="our extension"),
    ]


def tables(result: Result) -> dict[str, pd.DataFrame]:
    """Regret and growth of every policy."""
    return {"slope": summary(result, constant(instance(NAME, ARMS)))}


def plot(result: Result) -> dict[str, Figure]:
    """Regret against ln T."""
    return {"slope": panels({f"{NAME}, K = {ARMS}": result})}


def notes(result: Result) -> str:
    """Sizes."""
    return f"{result.replications} runs of {result.rounds[-1]} rounds; growth is (R(T) - R(T/10)) / ln 10."
