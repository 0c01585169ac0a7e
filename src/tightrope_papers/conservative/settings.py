"""Models, baselines and line-ups that the figures share."""

from collections.abc import Callable
from functools import partial
from typing import TypeVar

import numpy as np

from tightrope import Budget, policies, problems
from tightrope.extend import Arguments, Policy

from ..experiment import generator, unit_vector

ALPHA, DELTA = 0.05, 0.01
SIGMA = 1.0  # scale of the intervals of Bernoulli arms
LINEAR = {"sigma": 0.1, "lam": 0.5}
PRINTED_BOUNDS: Arguments = {
    "martingale": "freedman",
    "constants": "paper",
}  # the bounds of the paper, for policies whose defaults are others
T = TypeVar("T")
P = TypeVar("P")
DRAW = "shifted"  # of features, in the primary reading
OTHER_DRAWS = ("spread", "ball")
Instance = problems.Bernoulli | problems.Linear


def ranked_baseline(problem: Instance, rank: int) -> Arguments:
    """The arm of a rank (1 is the best) as baseline, with its mean."""
    arm = int(np.argsort(-problem.means, kind="stable")[rank - 1])
    return {"baseline": arm, "baseline_mean": float(np.clip(problem.means[arm], 0.0, 1.0))}


def variant(
    name: str, rank: int, problem: Instance, /, norms: object = "1", **parameters: object
) -> Policy:
    """A preset told this problem's baseline; bound = "oracle" is told the means as well, norms =
    "own" how long its vectors are."""
    if norms == "own" and isinstance(problem, problems.Linear):
        longest = float(np.linalg.norm(problem.features, axis=1).max())
        parameters |= {"theta_bound": float(np.linalg.norm(problem.theta)), "arm_bound": longest}
    if parameters.get("bound") == "oracle":
        parameters.setdefault("true_means", np.clip(problem.means, 0.0, 1.0))
    return getattr(policies, name)(
        **ranked_baseline(problem, rank),
        delta=DELTA,
        **({"alpha": ALPHA} | PRINTED_BOUNDS | parameters),
    )


def unconstrained(name: str, rank: int, problem: Instance, /, **parameters: object) -> Policy:
    """The same index without the constraint: every arm is safe if all of them are said to have mean
    1."""
    overrides = {
        "bound": "oracle",
        "selection": "two-step",
        "baseline_index": "ucb",
        "true_means": np.ones(problem.means.size),
    }
    return variant(name, rank, problem, **(parameters | overrides))


def told_baseline(
    preset: str, rank: int, make: Callable[..., Policy] = variant, /, **parameters: object
) -> Callable[[Instance], Policy]:
    return with_record(
        partial(make, preset, rank, **parameters),
        f"{make.__name__} {preset} of rank {rank} with {parameters}",
    )


def guard(rank: int, alpha: float, checkpoint: int | list[int], problem: Instance) -> Budget:
    return Budget(
        baseline=ranked_baseline(problem, rank)["baseline"], alpha=alpha, checkpoint=checkpoint
    )


def budget_monitor(
    rank: int, alpha: float = ALPHA, checkpoint: int = 1
) -> Callable[[Instance], Budget]:
    return with_record(
        partial(guard, rank, alpha, checkpoint),
        f"budget of rank {rank}, alpha {alpha}, checkpoint {checkpoint}",
    )


def with_record(choose: Callable[[P], T], label: str) -> Callable[[P], T]:
    """A function of the problem whose record in the results says what it chooses."""

    def chosen(problem: P) -> T:
        return choose(problem)

    chosen.__qualname__ = label
    return chosen


def line_up(
    plain: str, improved: str, rank: int, label: str, **common: object
) -> dict[str, Callable[[Instance], Policy]]:
    """UCB without constraint, the conservative algorithm, its ablations and the improved one
    (paper, Fig 3)."""
    C, C2 = plain.removesuffix("UCB") + "UCB", improved
    parts: dict[str, tuple[Callable[..., Policy], str, dict[str, object]]] = {
        label: (unconstrained, plain, {}),
        f"{C}-Or": (variant, plain, {"bound": "oracle"}),
        C: (variant, plain, {}),
        f"{C}-L": (variant, plain, {"selection": "largest-lower"}),
        f"{C}-M": (variant, plain, {"bound": "martingale"}),
        f"{C}-S": (variant, plain, {"selection": "constrained"}),
        C2: (variant, improved, {}),
    }
    return {
        name: told_baseline(preset, rank, make, **(common | own))
        for name, (make, preset, own) in parts.items()
    }


def bernoulli_models(count: int, seed: int) -> list[problems.Bernoulli]:
    """K = 10 arms with means uniform on [0.25, 0.75]."""
    rng = generator(seed, 1)
    return [problems.Bernoulli(rng.uniform(0.25, 0.75, 10)) for _ in range(count)]


def linear_models(count: int, seed: int, draw: str) -> list[problems.Linear]:
    """K = 30, d = 100, noise 0.1. draw: "shifted", "spread" (unit vectors with means uniform on [0,
    1]) or "ball" (uniform in it)."""
    rng = generator(seed, 2)
    model = {"shifted": shifted_model, "spread": spread_model, "ball": ball_model}[draw]
    return [model(rng, 30, 100) for _ in range(count)]


def shifted_model(rng: np.random.Generator, arms: int, d: int) -> problems.Linear:
    """Gaussian features of positive mean, shortened, then moved and scaled so that means fill [0,
    1]; noise 0.1.

    The worst arm becomes 0 and all others are moved by the same vector, so that arms are correlated
    and much longer than 1.
    """
    theta = unit_vector(rng, d) * rng.uniform(0.5, 1.0)
    X = rng.standard_normal((arms, d))
    while (wrong := X @ theta <= 0).any():
        X[wrong] = rng.standard_normal((int(wrong.sum()), d))
    X *= rng.uniform(0.5, 1.0, (arms, 1)) / np.linalg.norm(X, axis=1).max()
    return shifted(X, theta, LINEAR["sigma"])


def shifted(X: np.ndarray, theta: np.ndarray, noise: float) -> problems.Linear:
    """The problem whose features are moved and scaled so that the worst arm has mean 0 and the best
    1."""
    means = X @ theta
    return problems.Linear(
        (X - X[means.argmin()]) / (means.max() - means.min()), theta, noise=noise
    )


def spread_model(rng: np.random.Generator, arms: int, d: int) -> problems.Linear:
    """Unit vectors with means uniform on [0, 1], noise 0.1."""
    theta = unit_vector(rng, d)
    return problems.Linear(problems.spread_arms(arms, theta, rng), theta, noise=LINEAR["sigma"])


def ball_model(rng: np.random.Generator, arms: int, d: int) -> problems.Linear:
    """The literal reading: uniform points of the ball, given that their means are not negative;
    noise 0.1."""
    theta = unit_vector(rng, d) * rng.random() ** (1 / d)
    X = rng.standard_normal((arms, d))
    X *= (rng.random(arms) ** (1 / d) / np.linalg.norm(X, axis=1))[:, None]
    X *= np.sign(X @ theta)[:, None]
    return problems.Linear(X, theta, noise=LINEAR["sigma"])
