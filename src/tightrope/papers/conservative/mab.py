"""Bernoulli arms: Figures 1, 3 (top) and 6."""

from functools import partial
from typing import Any

import numpy as np

from ...engine.results import Result
from ...numerics.statistics import standard_error
from ...reports.curves import regret_figure
from ..experiment import Claim, Outcome, Run
from .measures import even_checkpoints, final, lower, panels, picked, ratio, reduction, safety, summary
from .settings import bernoulli_models, budget_monitor, line_up, named, variant

RANK = 4
SIGMA = 1.0


def models(run: Run) -> int:
    """How many bandits are drawn."""
    return run.at(smoke=2, laptop=20, paper=70)


def play(run: Run) -> Result:
    """All algorithms of Figure 3 (top) on the same models; kept, so that Figures 1 and 6 find them again."""
    count, runs = models(run), run.at(smoke=2, laptop=4, paper=40)
    horizon = run.at(smoke=3000, laptop=10**6, paper=10**6)
    chosen = line_up("CUCB", "CUCB2", RANK, "UCB", sigma=SIGMA)
    literal = partial(variant, "CUCB", RANK, sigma=SIGMA, baseline_index="ucb")
    chosen["CUCB, UCB index"] = named(literal, f"CUCB of rank {RANK} with its own UCB")
    return run.simulate(
        "fig3-mab",
        bernoulli_models(count, run.seed),
        chosen,
        horizon=horizon,
        replications=count * runs,
        checkpoints=even_checkpoints(horizon),
        monitor=budget_monitor(RANK),
    )


def fig1(run: Run) -> Outcome:
    """UCB, CUCB and CUCB with the true condition."""
    result = play(run)
    claims = [
        lower(
            "fig1",
            "CUCB with the exact condition has a much lower regret than CUCB",
            "much lower",
            final(result, "CUCB-Or"),
            final(result, "CUCB"),
        ),
        almost("fig1", "CUCB with the exact condition has almost the regret of UCB", result, "CUCB-Or", "UCB"),
    ]
    return Outcome(claims, {"fig1": result}, {}, {"fig1": regret_figure(result, policies=["UCB", "CUCB", "CUCB-Or"])})


def almost(figure: str, text: str, result: Result, first: str, second: str) -> Claim:
    """Two regrets within 20 % of each other."""
    ours = ratio(final(result, first), final(result, second))
    gap = abs(ours.value - 1)
    verdict = "reproduced" if gap <= 0.2 else "partly" if gap <= 0.5 else "not reproduced"
    reason = "" if verdict == "reproduced" else "UCB here is the same index without the constraint; the paper gives no number."
    return Claim(figure, text, "almost the same", ours.value, ours.se, "ratio within 20 % of 1; partly within 50 %", verdict, reason)


def fig3_mab(run: Run) -> Outcome:
    """Regret of the worst, average and best model, and every ablation."""
    result, count = play(run), models(run)
    chosen = picked(result, "CUCB2", "CUCB", count)
    worst = chosen["worst"]

    def on_worst(name: str) -> Any:
        return ratio(final(result, name, worst, count), final(result, "CUCB", worst, count))

    def over_models(name: str) -> Any:
        return ratio(final(result, name), final(result, "CUCB"))

    few = "The worst of other models, with other runs; the paper gives no width for MAB arms and no noise scale (sigma = 1 here)."
    gains = [1 - ratio(final(result, "CUCB2", m, count), final(result, "CUCB", m, count)).value for m in range(count)]
    claims = [
        reduction("fig3-mab", "the martingale bound alone (CUCB-M) lowers CUCB's regret, worst model", 43, on_worst("CUCB-M"), reason=few),
        reduction("fig3-mab", "constrained selection alone (CUCB-S) lowers CUCB's regret, worst model", 12, on_worst("CUCB-S"), reason=few),
        reduction("fig3-mab", "both (CUCB2) lower CUCB's regret, worst model", 51, on_worst("CUCB2"), reason=few),
        reduction("fig3-mab", "both (CUCB2) lower CUCB's regret, average model", 51, over_models("CUCB2"), reason=few),
        lower("fig3-mab", "CUCB-S is more effective than CUCB-L", "lower", final(result, "CUCB-S"), final(result, "CUCB-L"), reason=few),
        lower("fig3-mab", "CUCB-Or is lower than CUCB2", "lower", final(result, "CUCB-Or"), final(result, "CUCB2"), reason=few),
        Claim(
            "fig3-mab",
            "CUCB2 is better than CUCB on every model",
            "every model",
            f"{np.mean(np.array(gains) > 0):.0%} of models",
            None,
            "mean regret lower on all models",
            "reproduced" if min(gains) > 0 else "partly" if np.mean(gains) > 0 else "not reproduced",
        ),
        *safety("fig3-mab", result, ("UCB",)),
    ]
    notes = (
        f"{count} models, {result.replications // count} runs each, n = {result.rounds[-1]}, K = 10, baseline: 4th best arm, "
        f"alpha 0.05, delta 0.01, sigma {SIGMA:g}. UCB is the same index without the constraint. “CUCB, UCB index” gives the baseline its "
        "own UCB in the two-step argmax, as Kazerouni et al. do; the other variants use its known mean, as Wu et al. do."
    )
    return Outcome(
        claims,
        {"fig3-mab": result},
        {"policies": summary(result, count, "CUCB", chosen)},
        {"regret": panels(result, count, chosen, "regret", title="cumulative pseudo-regret")},
        notes,
    )


def fig6(run: Run) -> Outcome:
    """Budgets of the same runs, whole and at the beginning."""
    result, count = play(run), models(run)
    chosen = picked(result, "CUCB2", "CUCB", count)
    return Outcome(
        budget_claims("fig6", result, "UCB", "CUCB", "CUCB2"),
        {"fig6": result},
        {},
        {
            "budget": panels(result, count, chosen, "budget", title="true budget"),
            "beginning": panels(result, count, chosen, "budget", title="true budget", zoom=max(100, int(result.rounds[-1]) // 50)),
        },
    )


def budget_claims(figure: str, result: Result, free: str, plain: str, improved: str) -> list[Claim]:
    """The better the algorithm the higher its budget; the unconstrained one falls below 0 at first."""
    gain = result.watched[improved]["budget"][:, -1] - result.watched[plain]["budget"][:, -1]
    se = float(standard_error(gain))
    verdict = "reproduced" if gain.mean() > 4 * se else "partly" if gain.mean() > 0 else "not reproduced"
    return [
        Claim(
            figure,
            f"{improved} ends with a higher budget than {plain}",
            "higher",
            float(gain.mean()),
            se,
            "paired difference above 0 by 4 s.e.",
            verdict,
        ),
        *safety(figure, result, (free,)),
    ]
