"""Figure 1 and sections IV-A and V: how many clusters a set is chosen from, and when the best one
is found.

Clusters lie at half the right angle, cluster j has norm 1 - 0.001 j, so that clusters never tie,
and ties inside them go at random.
"""

import math
from typing import Literal, NamedTuple

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from tightrope import Context, Result, oracles, policies
from tightrope.extend import (
    POLICY,
    Arguments,
    Policy,
    describe,
    init,
    play,
    standard_error,
    stream,
    update,
)
from tightrope.numerics.posterior import unit_rows
from tightrope.plots import style
from tightrope.problems import SemiBandit

from ..experiment import Run, generator, palette
from ..scoring import (
    Estimate,
    Row,
    Rows,
    above,
    below,
    estimate,
    every,
    judged,
    never,
    paired_mean,
    row_of,
)
from .settings import ARM_WISE, BASELINES, CLUSTERS, DIMENSION, PAIRS, Clusters, clustered_world

ANGLE = 0.5 * math.pi / 2
ROUNDS, EARLY_ROUNDS = 10, 3
FROM_ONE = tuple(name for name in BASELINES if name != "greedy")
GREEDY_BY_INDEX = "greedy, first round by index"


class ClusterRuns(NamedTuple):
    """Runs on clusters and on scattered arms, the best value of a round there, and the spread of
    scores within clusters by policy."""

    clustered: Result
    scattered: Result
    best: dict[str, np.ndarray]  # "clustered" and "scattered": (trials,)
    spread: dict[str, float]
    ordered: Result  # greedy, and greedy without its random first round
    k: int


def line_up() -> dict[str, Policy]:
    """All algorithms with every parameter 1: no choice is needed to see where sets come from. Ties
    go at random."""
    p = policies
    ties: Literal["random"] = "random"
    return {
        "greedy": p.CombGreedy(ties=ties),
        "CombLinUCB": p.CombLinUCB(noise=1.0, ties=ties),
        "CombLinTS": p.CombLinTS(noise=1.0, ties=ties),
        "C2UCB": p.C2UCB(alpha=1.0, ties=ties),
        "PC2UCB": p.PC2UCB(alpha=1.0, ties=ties),
        "round-wise TS": p.CombTS(v=1.0, ties=ties),
        "arm-wise TS": p.CombTS(v=1.0, randomization="arm", ties=ties),
    }


def scattered_world(seed: int, *, arms: int, k: int) -> SemiBandit:
    """The world of `clustered` with the same theta and arms spread evenly over the unit sphere."""
    features = unit_rows(generator(seed, 4), arms, DIMENSION)
    return SemiBandit(
        features,
        clustered_world(ANGLE, seed=seed, arms=arms, k=k).theta,
        oracles.TopK(k),
        rewards="sign",
    )


def data(run: Run) -> ClusterRuns:
    trials = run.at(smoke=10, laptop=100, paper=500)
    N, k = run.at(smoke=(400, 20), laptop=(2000, 100), paper=(2000, 100))
    tiers = [clustered_world(ANGLE, seed=trial, arms=N, k=k, tiers=True) for trial in range(trials)]
    spread_out = [scattered_world(trial, arms=N, k=k) for trial in range(trials)]
    rounds, monitor = np.arange(1, ROUNDS + 1), Clusters(N // CLUSTERS)
    options: Arguments = {
        "horizon": ROUNDS,
        "replications": trials,
        "checkpoints": rounds,
        "monitor": monitor,
    }
    greedy = {"greedy": policies.CombGreedy(), GREEDY_BY_INDEX: policies.C2UCB(alpha=0.0)}
    return ClusterRuns(
        run.simulate("fig1-clustered", tiers, line_up(), **options),
        run.simulate("fig1-scattered", spread_out, line_up(), **options),
        {
            name: np.array([world.best[0] for world in worlds])
            for name, worlds in (("clustered", tiers), ("scattered", spread_out))
        },
        spreads(tiers[0], run.seed),
        run.simulate("fig1-greedy", tiers, greedy, **options),
        k,
    )


def spreads(world: SemiBandit, seed: int) -> dict[str, float]:
    """Largest difference of two scores within a cluster after one round, by policy; equal features
    have equal means and widths."""
    differences = {}
    players = {
        "C2UCB": policies.C2UCB(alpha=1.0),
        "round-wise TS": policies.CombTS(v=1.0),
        "PC2UCB": policies.PC2UCB(alpha=1.0),
        "arm-wise TS": policies.CombTS(v=1.0, randomization="arm"),
    }
    nothing = Context(None, None, None, None)
    for name, policy in players.items():
        rng = stream(seed, 0, POLICY)
        state = init(policy, describe(world))
        first = np.arange(world.most)
        state = update(policy, state, nothing, first, play(world, nothing, first, rng))
        scoring = policy._scoring(state, nothing, rng)
        score = (scoring.draw(1)[0] if scoring.score is None else scoring.score).reshape(
            CLUSTERS, -1
        )
        differences[name] = float((score.max(axis=1) - score.min(axis=1)).max())
    return differences


def discovery_round(best: np.ndarray) -> np.ndarray:
    """(trials,) first round with an arm of the best cluster; one more than there are rounds where
    there is none. best: (trials, rounds)."""
    return np.where(best.max(axis=1) > 0, np.argmax(best > 0, axis=1) + 1, best.shape[1] + 1)


def score(runs: ClusterRuns) -> Rows:
    watched = runs.clustered.watched
    yield from [from_one_cluster(name, watched[name]["clusters"]) for name in FROM_ONE]
    yield from [from_many_clusters(name, watched[name]["clusters"]) for name in ARM_WISE]
    yield from score_rows(runs.spread)
    yield from [
        earlier_row(name, rival, watched[name]["best"], watched[rival]["best"])
        for name, rival in PAIRS.items()
    ]
    for name in FROM_ONE:
        shares = [
            share_of_best(result, name, runs.best[where])
            for where, result in (("clustered", runs.clustered), ("scattered", runs.scattered))
        ]
        yield slower_row(name, *shares)
    yield from greedy_rows(runs)


def from_one_cluster(name: str, clusters: np.ndarray) -> Row:
    return row_of(
        "clusters-chosen",
        f"{name}: rounds whose set is from more than one cluster",
        "none",
        f"{int((clusters > 1).sum())} of {clusters.size}",
        never(int((clusters > 1).sum()), clusters.size),
    )


def from_many_clusters(name: str, clusters: np.ndarray) -> Row:
    return judged(
        "clusters-chosen",
        f"{name}: clusters in a set, mean over {ROUNDS} rounds",
        "more than 1",
        estimate(clusters.mean(axis=1)),
        above,
        1.0,
    )


def score_rows(spread: dict[str, float]) -> list[Row]:
    holds = [(spread[name] > 1e-9) == (name in ARM_WISE) for name in spread]
    ours = ", ".join(f"{name} {size:.2g}" for name, size in spread.items())
    return [
        row_of(
            "clusters-chosen",
            "scores of arms with equal features differ under arm-wise randomization and under no "
            "other algorithm (largest difference)",
            "as Figure 1",
            ours,
            every(holds),
        )
    ]


def earlier_row(name: str, rival: str, ours: np.ndarray, other: np.ndarray) -> Row:
    return judged(
        "found-earlier",
        f"{name} finds the best cluster before {rival} (difference in rounds)",
        "below 0",
        paired_mean(discovery_round(ours), discovery_round(other)),
        below,
    )


def share_of_best(result: Result, name: str, best: np.ndarray) -> np.ndarray:
    """(trials,) expected reward of the first EARLY_ROUNDS rounds as a share of the mean of the best
    possible one."""
    row = int(np.searchsorted(result.rounds, EARLY_ROUNDS))
    return np.asarray(
        (EARLY_ROUNDS * best - result.regret[name][:, row]) / (EARLY_ROUNDS * best.mean())
    )


def slower_row(name: str, in_clusters: np.ndarray, spread_out: np.ndarray) -> Row:
    return judged(
        "slow-early",
        f"{name}, first {EARLY_ROUNDS} rounds: share of the best reward with clusters less that "
        "with scattered arms",
        "below 0",
        paired_mean(in_clusters, spread_out),
        below,
    )


def greedy_rows(runs: ClusterRuns) -> list[Row]:
    key, first = "artificial-greedy", estimate(runs.clustered.watched["greedy"]["clusters"][:, 0])
    return [
        row_of(key, "greedy: clusters in its first set", "various", first, above(first, 1.0)),
        judged(
            key,
            "greedy has less regret than with a first set by index (difference)",
            "below 0",
            paired_mean(
                runs.ordered.regret["greedy"][:, -1], runs.ordered.regret[GREEDY_BY_INDEX][:, -1]
            ),
            below,
        ),
    ]


def tables(runs: ClusterRuns) -> dict[str, pd.DataFrame]:
    rows = []
    for name in runs.clustered.policies:
        watched = runs.clustered.watched[name]
        first = estimate(discovery_round(watched["best"]))
        shares: dict[str, Estimate] = {
            where: estimate(share_of_best(result, name, runs.best[where]))
            for where, result in (("clustered", runs.clustered), ("scattered", runs.scattered))
        }
        rows.append(
            {
                "algorithm": name,
                "clusters in the first set": watched["clusters"][:, 0].mean(),
                "in any set": watched["clusters"].mean(),
                "best cluster found in round": first.value,
                "s.e.": first.se,
            }
            | {
                f"share of the best in {EARLY_ROUNDS} rounds, {where}": share.value
                for where, share in shares.items()
            }
        )
    spread = pd.DataFrame(
        [
            {"algorithm": name, "spread of scores in a cluster": size}
            for name, size in runs.spread.items()
        ]
    )
    return {"clusters": pd.DataFrame(rows), "scores": spread}


def plot(runs: ClusterRuns) -> dict[str, Figure]:
    figure, axes = style.figure(2)
    rounds = runs.clustered.rounds
    curves = {
        "clusters in the set": ("clusters", 1.0),
        "share of the set from the best cluster": ("best", 1 / runs.k),
    }
    for axis, (label, (field, factor)) in zip(axes, curves.items(), strict=True):
        for number, name in enumerate(runs.clustered.policies):
            curve = factor * runs.clustered.watched[name][field]
            line, colour = (
                style.LINES[number % len(style.LINES)],
                palette("semibandits").colour(name),
            )
            axis.errorbar(
                rounds,
                curve.mean(axis=0),
                2 * standard_error(curve),
                label=name,
                color=colour,
                linestyle=line,
                linewidth=1.6,
            )
        axis.set_title(label, fontsize=10, loc="left", color=style.INK)
        axis.set_xlabel("round")
        axis.set_ylim(bottom=0.0)
    style.legend(axes[-1])
    return {"clusters": figure}


notes = (
    f"{ROUNDS} rounds, {CLUSTERS} clusters; all parameters 1. A scattered world has the same "
    "theta and as many arms, spread evenly over the unit sphere. A reward is counted as its mean."
)
