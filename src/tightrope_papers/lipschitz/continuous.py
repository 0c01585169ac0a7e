"""Arms in [0, 1]: a grid against HOO and Zooming, with the grid's own share of the regret; and
contexts with similarities."""

from typing import NamedTuple

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from tightrope import Result, discretize, lipschitz_lower_bound, problems

from ..experiment import Run
from ..scoring import OURS, Estimate, Row, below, judged, row_of, within
from .discrete import LOGLOG, P, Shape, join_results, order, panels, shapes, summary

SHIFT = 0.0363  # peaks lie between the points of every grid used
FINE_ARMS = 513  # arms that HOO and Zooming choose among
ON_GRID, RIVALS = ("CKL-UCB", "OSLB"), ("HOO", "Zooming")
REMARK = (
    "The grid's own share is small (29 of OSLB's 3,866 on the triangle); with f(n) as printed "
    "CKL-UCB is level with HOO there."
)


class ShapeCase(NamedTuple):
    """The runs on one shape, those that judge OSLB, and how far the best points of the coarse and
    the fine grid are below the peak."""

    result: Result
    of_oslb: Result
    lost: float
    lost_fine: float


def targets() -> dict[str, Shape]:
    return shapes(SHIFT) | {"waves": lambda x: (np.sin(13 * x) * np.sin(27 * x) + 1) / 2}


def bounds(shape: Shape) -> tuple[float, float]:
    """The peak and the Lipschitz constant of a shape, on 2e6 even points (the constant rounded up
    by 1e-6)."""
    x = np.linspace(0.0, 1.0, 2_000_001)
    y = shape(x)
    return float(y.max()), float(np.abs(np.diff(y)).max() * 2e6 * (1 + 1e-6))


def on_grid(shape: Shape, points: np.ndarray) -> problems.Lipschitz:
    """A problem whose regret is measured against the peak of the shape."""
    peak, L = bounds(shape)
    return problems.Lipschitz(points, shape(points), lipschitz=L, best=peak)


def data(run: Run) -> dict[str, ShapeCase]:
    horizon, runs = run.at(smoke=(1000, 3), laptop=(30_000, 20), paper=(100_000, 50))
    more = run.at(
        smoke={"triangle": 4}, laptop={}, paper={"triangle": 2000}
    )  # runs of OSLB and its rivals where they are close
    grid, fine = discretize(horizon), np.linspace(0.0, 1.0, FINE_ARMS)
    cases = {}
    for name, shape in targets().items():
        coarse, dense = on_grid(shape, grid), on_grid(shape, fine)
        L = coarse.lipschitz
        policies = {
            "CKL-UCB": P.CKLUCB(lipschitz=L, loglog=0.0),
            "OSLB": P.OSLB(lipschitz=L),
            "TrackCKLUCB": P.TrackCKLUCB(lipschitz=L),
            "KL-UCB": P.KLUCB(),
        }
        first = run.simulate(f"grid-{name}", coarse, policies, horizon=horizon, replications=runs)
        rivals = {"HOO": P.HOO(nu=L), "Zooming": P.Zooming(lipschitz=L)}
        second = run.simulate(f"line-{name}", dense, rivals, horizon=horizon, replications=runs)
        result = of_oslb = join_results(first, second)
        if name in more:
            options = {"horizon": horizon, "replications": more[name], "checkpoints": [horizon]}
            oslb = run.simulate(f"grid-more-{name}", coarse, {"OSLB": policies["OSLB"]}, **options)
            of_oslb = join_results(
                oslb, run.simulate(f"line-more-{name}", dense, rivals, **options)
            )
        cases[name] = ShapeCase(
            result, of_oslb, coarse.best - coarse.means.max(), dense.best - dense.means.max()
        )
    return cases


def score(cases: dict[str, ShapeCase]) -> list[Row]:
    return [
        order(
            "continuous",
            name,
            case.of_oslb if better == "OSLB" else case.result,
            better,
            worse,
            remark=REMARK,
        )
        for name, case in cases.items()
        for better in ON_GRID
        for worse in RIVALS
    ]


def tables(cases: dict[str, ShapeCase]) -> dict[str, pd.DataFrame]:
    rows = []
    for name, case in cases.items():
        horizon, table = int(case.result.rounds[-1]), summary(case.result)
        table.insert(0, "shape", name)
        table["of which the grid's share"] = [
            horizon * (case.lost_fine if policy in RIVALS else case.lost)
            for policy in case.result.policies
        ]
        rows.append(table)
    return {"regret against the peak": pd.concat(rows, ignore_index=True)}


def plot(cases: dict[str, ShapeCase]) -> dict[str, Figure]:
    return {"continuous": panels({name: case.result for name, case in cases.items()})}


notes = (
    f"The grid is that of discretize; HOO and Zooming choose among {FINE_ARMS} points. Runs are "
    "paired by their noise; at paper scale OSLB and its rivals have more where they are close. "
    "Most of the gain comes from the grid itself: see KL-UCB on it."
)


# Contextual bandits with similarities: 5 contexts, 9 arms, mean 0.85 - 0.6 |x - y|, pooled or one
# bandit per context.


CONTEXTS, ARMS, L = np.linspace(0.0, 1.0, 5), np.linspace(0.0, 1.0, 9), 0.6
APART_CONSTANT = 1e6  # a constant between contexts with which they tell nothing about each other


def problem(between_contexts: float) -> problems.ContextualLipschitz:
    means = 0.85 - L * np.abs(CONTEXTS[:, None] - ARMS[None, :])
    return problems.ContextualLipschitz(CONTEXTS, ARMS, means, (between_contexts, L))


def constant(between_contexts: float) -> float:
    p = problem(between_contexts)
    return lipschitz_lower_bound(
        p.means, distances=p.distances, lipschitz=1.0, contexts=p.contexts
    ).value


def contextual_data(run: Run) -> Result:
    horizon, runs = run.at(smoke=(2000, 3), laptop=(100_000, 20), paper=(100_000, 200))
    players = {
        "CKL-UCB": P.CKLUCB(lipschitz=1.0, loglog=LOGLOG),
        "TrackCKLUCB": P.TrackCKLUCB(lipschitz=1.0, loglog=LOGLOG),
        "OSLB": P.OSLB(lipschitz=1.0, loglog=LOGLOG),
        "KL-UCB per context": P.KLUCB(c=LOGLOG),
    }
    first = run.simulate("pooled", problem(L), players, horizon=horizon, replications=runs)
    second = run.simulate(
        "apart",
        problem(APART_CONSTANT),
        {"CKL-UCB per context": P.CKLUCB(lipschitz=1.0, loglog=LOGLOG)},
        horizon=horizon,
        replications=runs,
    )
    return join_results(first, second)


def contextual_score(result: Result) -> list[Row]:
    pooled, apart = constant(L), constant(APART_CONSTANT)
    gain = 100 * (1 - pooled / apart)
    return [
        judged(
            "contextual",
            f"pooling over contexts lowers C(theta), {apart:.4g} apart (difference)",
            "below 0",
            Estimate(pooled - apart, 0.0),
            below,
        ),
        order("contextual", "45 pairs", result, "CKL-UCB", "KL-UCB per context"),
        order(
            "contextual",
            "45 pairs",
            result,
            "CKL-UCB",
            "CKL-UCB per context",
            remark="Pooling gains little; see C(theta).",
        ),
        row_of(
            OURS,
            f"pooling over contexts lowers C(theta), {apart:.4g} apart, {pooled:.4g} pooled (per "
            "cent)",
            "8-11",
            gain,
            within(Estimate(gain, 0.0), 10.0, 5.0, partly=gain > 0, words="above 0"),
        ),
    ]


def contextual_tables(result: Result) -> dict[str, pd.DataFrame]:
    pooled, apart = constant(L), constant(APART_CONSTANT)
    bounds = pd.DataFrame(
        [{"contexts": "pooled", "C(theta)": pooled}, {"contexts": "apart", "C(theta)": apart}]
    )
    return {"regret": summary(result, pooled), "bounds": bounds}


def contextual_plot(result: Result) -> dict[str, Figure]:
    return {"contextual": panels({"5 contexts, 9 arms": result})}


contextual_notes = "Every round draws one of the contexts."
