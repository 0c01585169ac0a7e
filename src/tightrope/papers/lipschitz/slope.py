"""The asymptotic slope: regret between T/10 and T against C(theta) ln 10 on the steep instance."""

from ..experiment import Claim, Outcome, Run, near
from .settings import P, constant, growth, instance, order, panels, summary


def slope(run: Run) -> Outcome:
    """OSLB's growth is C(theta), that of KL-UCB is not."""
    horizon, runs = run.at(smoke=3000, laptop=1_000_000, paper=1_000_000), run.at(smoke=3, laptop=100, paper=400)
    problem = instance("steep", 17)
    L, C, unrelated = problem.lipschitz, constant(problem), constant(problem, 1e6)
    chosen = {
        "CKL-UCB": P.CKLUCB(lipschitz=L), "TrackCKLUCB": P.TrackCKLUCB(lipschitz=L), "OSLB": P.OSLB(lipschitz=L), "KL-UCB": P.KLUCB(),
    }  # fmt: skip
    result = run.simulate("slope", problem, chosen, horizon=horizon, replications=runs)
    claims = []
    for name in ("OSLB", "TrackCKLUCB", "CKL-UCB"):
        grown, se = growth(result, name)
        source = "our extension; OSLB's limit" if name == "TrackCKLUCB" else "at most C" if name == "CKL-UCB" else "C"
        claims.append(Claim(
            "slope", f"{name} grows like C(theta) ln T, C = {C:.3g}", source, grown, se,
            "growth within 30 % of C; partly within 4 s.e. of that", near(grown, se, C, 0.3),
            "" if near(grown, se, C, 0.3) == "reproduced" else "The limit is asymptotic; one decade of rounds is a noisy sample of it.",
        ))  # fmt: skip
    grown, se = growth(result, "KL-UCB")
    claims.append(Claim(
        "slope", f"KL-UCB, blind to the structure, grows faster than C ln T (its own limit: {unrelated:.3g})", "above C", grown, se,
        "above C by 4 s.e.; partly if above", "reproduced" if grown > C + 4 * se else "partly" if grown > C else "not reproduced",
    ))  # fmt: skip
    claims.append(order("slope", f"T = {horizon}", result, "TrackCKLUCB", "OSLB", paper="our extension"))
    claims.append(order("slope", f"T = {horizon}", result, "TrackCKLUCB", "KL-UCB", paper="our extension"))
    plot = panels({"steep, K = 17": result})
    notes = f"{runs} runs of {horizon} rounds; growth is (R(T) - R(T/10)) / ln 10."
    return Outcome(claims, {"slope": result}, {"slope": summary(result, C)}, {"slope": plot}, notes)
