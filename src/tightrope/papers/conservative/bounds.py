"""The bounds of the theorems with the constants of their proofs (Appendix A).

Symbols as there: n rounds, d the dimension, D bounds features and B the parameter, lam and sigma as in LinUCB, mu_l and mu_h bound the
baseline's mean, G = 4 d (sqrt(lam) B + 2 sigma) + sqrt(2) sigma, D_0 = max(2 D^2 / lam, 3).
"""

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class BoundConstants:
    """The constants of the bounds, besides the number of rounds."""

    d: int
    alpha: float
    delta: float
    sigma: float
    lam: float
    mu_l: float
    mu_h: float = 1.0
    B: float = 1.0
    D: float = 1.0

    @property
    def D_0(self) -> float:
        return max(2 * self.D**2 / self.lam, 3.0)

    @property
    def rate(self) -> float:
        """alpha mu_l, what the constraint grants in a round at least."""
        return self.alpha * self.mu_l

    @property
    def scale(self) -> float:
        """2/3 + sqrt(lam) B + 2 sigma of Lemma 3."""
        return 2 / 3 + math.sqrt(self.lam) * self.B + 2 * self.sigma


def linucb_regret(world: BoundConstants, n: int) -> float:
    """First term of Theorem 1: 4 sqrt(n d g) (sqrt(lam) B + sigma sqrt(2 ln(1/delta) + d g)) with g = ln(1 + n D^2 / (lam d))."""
    growth = math.log(1 + n * world.D**2 / (world.lam * world.d))
    width = math.sqrt(world.lam) * world.B + world.sigma * math.sqrt(2 * math.log(1 / world.delta) + world.d * growth)
    return 4 * math.sqrt(n * world.d * growth) * width


def clucb2_plays(world: BoundConstants) -> float:
    """Lemma 1, Eq 17: how many rounds of CLUCB2 are not the optimistic arm's, for all n."""
    G = 4 * world.d * (math.sqrt(world.lam) * world.B + 2 * world.sigma) + math.sqrt(2) * world.sigma
    inside = 36 / world.rate * math.sqrt(world.D_0 / world.delta) * G
    first = math.sqrt(world.D_0 / (world.rate * world.delta))
    second = 12 * math.sqrt(world.D_0 / world.delta) * (G / world.rate) ** 2 * math.log(inside) ** 2
    L = math.log(first + second) * math.log(inside)
    linear = 4 / (math.sqrt(3) * world.rate**1.5) * G * L
    return 2 * world.mu_h / world.rate + 4 / (3 * world.rate) * L + linear + 2 / world.rate**2 * G**2 * L


def clucb2_regret(world: BoundConstants, n: int) -> float:
    """Theorem 1, Eq 9, with the constants of its proof."""
    return linucb_regret(world, n) + clucb2_plays(world)


def granted_rounds(world: BoundConstants, T: float) -> float:
    """T~ of Theorem 2: how many rounds of exploration a period of T rounds grants at its start."""
    return world.rate / ((1 - world.alpha) * world.mu_h + world.rate) * T


def rounds_from_which_longer_periods_help(world: BoundConstants) -> float:
    """C_b of Theorem 2: from this T~ on longer periods lower the bound."""
    inside = 696 * world.d**2 * world.D_0 / (world.delta * world.rate**2) * world.scale**2
    return 28 * world.d**2 * (world.scale / world.rate) ** 2 * math.log(inside) ** 2


def clucb2t_plays(world: BoundConstants, T: float) -> float:
    """Lemma 3: how many rounds of CLUCB2T with periods of T rounds are not the optimistic arm's."""
    free = granted_rounds(world, T)
    if free >= rounds_from_which_longer_periods_help(world):
        explored = 4 * world.d * world.scale * math.sqrt(free + 1) * math.log(world.D_0 / world.delta * (free + 1))
        return 2 / world.rate * max(-world.rate / 2 * (free + 1) + world.mu_h + explored, 0.0)
    inside = 44 * world.d**2 * math.sqrt(world.D_0) / (math.sqrt(world.delta) * world.rate) * world.scale**2
    return 2 / world.rate * 57 * world.d**2 / world.rate * world.scale**2 * math.log(inside) ** 2


def clucb2t_regret(world: BoundConstants, n: int, T: float, gap: float = 1.0) -> float:
    """Theorem 2 with the constants of its proof; gap: Delta_h, what a round of the baseline costs at most."""
    return linucb_regret(world, n) + gap * clucb2t_plays(world, T)


def allowance(name: str, bound: float, n: int) -> str:
    """A bound in words; one above the horizon says nothing about runs of this length."""
    return f"{name} ({bound:.3g}" + (", vacuous: more than the horizon)" if bound > n else ")")
