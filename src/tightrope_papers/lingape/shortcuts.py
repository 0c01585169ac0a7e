"""Long runs of policies whose sampling does not look at the rewards, or looks only between phases,
by sufficient statistics.

Between two looks at the data only the sum of each arm's rewards matters, and that can be drawn at
once. `fixed_sequence` takes a sequence that no reward influences, the same for all seeds, and looks
at it on a grid of rounds (each 0.5 % later than the one before, so a stop is seen at most that
late). `by_phase` plays the phases of XY-adaptive and RAGE through the policies' own kernels.
"""

import math
from collections.abc import Callable
from typing import TypedDict

import numpy as np

from tightrope import XYAdaptive
from tightrope.extend import NOISE, POLICY, Policy, describe as described, init, jit, stream
from tightrope.numerics.counts import determinant_radius, static_factor
from tightrope.policies.identification.models import (
    PairRidge,
    coordinates,
    learn,
    new_pair_ridge,
    refactorise,
)
from tightrope.policies.identification.rage import end_phase as end_rage
from tightrope.policies.identification.sampling import shrinking_arm
from tightrope.policies.identification.stopping import SQRT8
from tightrope.policies.identification.xyadaptive import end_phase as end_adaptive, widest
from tightrope.problems import Linear

GRID = 1.005


@jit
def greedy_rounds(model, among, rounds, rng):
    """XY-static's sequence for the differences of some arms, without rewards."""
    K = model.mean.shape[0]
    for _ in range(rounds):
        arm = int(model.progress[0]["rounds"])
        if arm >= K:
            arm = shrinking_arm(model.product, model.pair_square, among, None, rng)
        learn(model, arm, 0.0)


def static_pulls(X: np.ndarray, exact: int, seed: int) -> Callable[[int], np.ndarray]:
    """Pull counts of XY-static after n rounds, n increasing; after `exact` rounds the shares stay
    as they are."""
    model, everyone, rng = (
        new_pair_ridge(coordinates(X, 0.0)),
        np.ones(len(X), dtype=np.bool_),
        stream(seed, 0, POLICY),
    )

    def pulls(n: int) -> np.ndarray:
        behind = min(n, exact) - int(model.progress[0]["rounds"])
        if behind > 0:
            greedy_rounds(model, everyone, behind, rng)
        return np.asarray(model.pulls * max(n / model.progress[0]["rounds"], 1.0))

    return pulls


def uniform_pulls(K: int) -> Callable[[int], np.ndarray]:
    return lambda n: n // K + (np.arange(K) < n % K).astype(np.float64)


def reward_sums(problem: Linear, pulls: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Sums of so many rewards of each arm: (K,)."""
    if problem.rewards == 0:
        return np.asarray(
            pulls * problem.means + problem.noise * np.sqrt(pulls) * rng.standard_normal(pulls.size)
        )
    share = problem.means if problem.rewards == 1 else (1.0 + problem.means) / 2.0
    ones = rng.binomial(np.round(pulls).astype(np.int64), np.clip(share, 0.0, 1.0))
    return np.asarray(ones if problem.rewards == 1 else 2.0 * ones - np.round(pulls))


class Stop(TypedDict):
    """A stopping rule. factor: of the widths, from the rounds, the number of arms and log
    det(A)."""

    lam: float
    strict: bool
    epsilon: float
    factor: Callable[[float, int, float], float]


def static_stop(noise: float, delta: float, constant: float = SQRT8, epsilon: float = 0.0) -> Stop:
    return {
        "lam": 0.0,
        "strict": True,
        "epsilon": epsilon,
        "factor": lambda n, K, log_det: static_factor(constant, noise, n, K, delta),
    }


def gap_stop(
    noise: float, delta: float, lam: float, theta_bound: float, epsilon: float = 0.0
) -> Stop:
    return {
        "lam": lam,
        "strict": False,
        "epsilon": epsilon,
        "factor": lambda n, K, log_det: determinant_radius(
            noise, delta / K**2, log_det, lam, theta_bound
        ),
    }


def fixed_sequence(
    problem: Linear,
    pulls_after: Callable[[int], np.ndarray],
    stops: dict[str, Stop],
    replications: int,
    seed: int,
    grid: float = GRID,
) -> dict[str, dict[str, np.ndarray]]:
    """Rounds until each stop, the arm named and its pulls, for every seed along one sequence. grid:
    ratio of rounds with a look."""
    X = coordinates(problem.features, 0.0).features
    K, d = X.shape
    rngs = [stream(seed, r, NOISE) for r in range(replications)]
    sums, before, n = np.zeros((replications, K)), np.zeros(K), K
    runs = {
        name: {
            "rounds": np.zeros(replications),
            "arm": np.full(replications, -1),
            "pulls": np.zeros((replications, K)),
        }
        for name in stops
    }
    while any((item["arm"] < 0).any() for item in runs.values()):
        pulls = pulls_after(n)
        if problem.rewards:
            pulls = np.round(pulls)
        running = np.any([item["arm"] < 0 for item in runs.values()], axis=0)
        for r in np.flatnonzero(running):
            sums[r] += reward_sums(problem, pulls - before, rngs[r])
        before = pulls
        for name, rule in stops.items():
            lam, item = rule["lam"], runs[name]
            A = lam * np.eye(d) + X.T @ (pulls[:, None] * X)
            inverse = np.linalg.inv(A)
            log_det = np.linalg.slogdet(A)[1] - (d * math.log(lam) if lam > 0 else 0.0)
            means = sums @ X @ inverse @ X.T
            factor = rule["factor"](float(n), K, float(log_det))
            leaders = np.where(item["arm"] < 0, means.argmax(axis=1), -1)
            for i in set(leaders[leaders >= 0].tolist()):
                rows = np.flatnonzero(leaders == i)
                Y = np.delete(X[i] - X, i, axis=0)
                width = factor * np.sqrt(np.einsum("ki,ki->k", Y @ inverse, Y))
                bound = (width - (means[rows, i : i + 1] - np.delete(means[rows], i, axis=1))).max(
                    axis=1
                )
                ends = rows[
                    (bound < rule["epsilon"]) | ((bound == rule["epsilon"]) & (not rule["strict"]))
                ]
                item["rounds"][ends], item["arm"][ends], item["pulls"][ends] = n, i, pulls
        n = max(n + 1, int(n * grid))
    return runs


@jit
def greedy_until(model, among, target, most, rng):
    """XY-adaptive's sequence for the survivors until their widest difference is down to target, or
    for `most` rounds; the width then."""
    K = model.mean.shape[0]
    top = math.inf
    while model.progress[0]["rounds"] < K or (top > target and model.progress[0]["rounds"] < most):
        greedy_rounds(model, among, 1, rng)
        if model.progress[0]["unpulled"] == 0.0:
            top = widest(model.pair_square, among)
    return top


def adaptive_by_phase(
    problem: Linear, policy: XYAdaptive, replications: int, seed: int, exact: int = 100_000
) -> dict[str, np.ndarray]:
    """XY-adaptive phase by phase. A phase follows the greedy sequence for at most `exact` rounds;
    then its shares stay.

    Beside rounds and the arm named: fewest, the smallest number of survivors at the start of a
    phase, and survivors and rounds of the last phase.
    """
    cache: dict[tuple[bytes, float], np.ndarray] = {}
    rows = []
    for r in range(replications):
        rng, state, phases = stream(seed, r, NOISE), init(policy, described(problem)), []
        while not state.answer[0]["certified"]:
            target = state.answer[0]["target"]
            if (
                target < 0
            ):  # the first phase is measured against the width after one pull of every arm
                start = new_pair_ridge(coordinates(state.model.features, 0.0))
                target = policy.alpha * greedy_until(
                    start, state.survivors, math.inf, 0, stream(seed, 0, POLICY)
                )
            key = (state.survivors.tobytes(), float(target))
            if key not in cache:
                model = new_pair_ridge(coordinates(state.model.features, 0.0))
                top = greedy_until(model, state.survivors, target, exact, stream(seed, 0, POLICY))
                cache[key] = np.ceil(model.pulls * max(top / target, 1.0))
            _fill(state.model, problem, cache[key], rng)
            phases.append((int(state.survivors.sum()), float(cache[key].sum())))
            end_adaptive(policy, state, widest(state.model.pair_square, state.survivors))
        least = min(survivors for survivors, _ in phases)
        rows.append(
            (sum(pulls for _, pulls in phases), int(state.answer[0]["leader"]), least, *phases[-1])
        )
    names = ("rounds", "arm", "fewest", "last_survivors", "last_rounds")
    return {name: np.array([row[i] for row in rows]) for i, name in enumerate(names)}


def rage_by_phase(
    problem: Linear, policy: Policy, replications: int, seed: int
) -> dict[str, np.ndarray]:
    rows = []
    for r in range(replications):
        rng, state, total = stream(seed, r, NOISE), init(policy, described(problem)), 0.0
        while not state.answer[0]["certified"]:
            pulls = state.plan.copy()
            _fill(state.model, problem, pulls, rng)
            total += pulls.sum()
            end_rage(policy, state)
        rows.append((total, int(state.answer[0]["leader"])))
    return {"rounds": np.array([row[0] for row in rows]), "arm": np.array([row[1] for row in rows])}


def _fill(model: PairRidge, problem: Linear, pulls: np.ndarray, rng: np.random.Generator) -> None:
    model.pulls[:] = pulls
    model.sums[:] = reward_sums(problem, pulls, rng)
    model.progress[0]["rounds"], model.progress[0]["unpulled"] = pulls.sum(), 0.0
    refactorise(model)
