"""CKL-UCB: explore, least played first, the arms that all rewards together allow to beat the
leader.

When to use it: arms are points with a metric and the slope of the mean is bounded by a known L:
prices, doses, bids, settings. Where L is not known, lipschitz="learned" takes the least that the
rewards so far do not refute.
Bound: finite-time, logarithmic, as the paper's Section 1 announces; its Section 5.3, with the
constant, is missing from the text at hand. None where L is learned: there is no proof.
Source: Magureanu, Combes, Proutiere 2014, Algorithm 2, with the index of Section 4.1.
Deviations: arms never pulled come first (the paper gives them mean 0); f(n) = ln n + loglog ln ln n
with loglog = 0 by default, as KLUCB's c, where the index is printed with 3K + 1, which is five to
ten times worse at horizons that are played (3, as in KL-UCB's theorem, is between: fewer runs with
a wrong leader, more regret in most); the supremum over no q is the arm's mean; b_k > b_leader is
decided by S_k(b_leader) < f(n) - 1e-9, without finding b_k. The learned L is our own: the largest
(|mean_i - mean_j| - margin se_ij) / D(i, j), at least 0.001, where se_ij is the standard error of
the difference; it is computed anew when n has grown by a tenth.
With context-arm pairs as arms and the current context's pairs eligible, the leader, the candidates
and the least played are taken over the eligible arms and S_k sums over all. Usually O(K) a round,
at worst O(K^2).
"""

from typing import Literal

from ...compiled.kernels import jit
from ...core.fields import Given, Stored, flag, real
from ...core.policy import policy
from ...numerics.counts import argmax
from .pooled import (
    Pooled,
    evidence_level,
    explanation,
    index,
    learn,
    learn_slope,
    least_played_above,
    must_play,
    new_pool,
    prove,
    unrivalled,
)


@policy(
    "points",
    paper="Magureanu, Combes, Proutiere 2014, Algorithm 2",
    examples=(
        {"lipschitz": 1.0},
        {"lipschitz": 0.5, "loglog": "theory", "forced": False},
        {"lipschitz": 1.0, "divergence": "gaussian", "sigma": 0.5},
        {"lipschitz": "learned"},
    ),
)
class CKLUCB(Pooled):
    """Optimism by pooled evidence; the least-played arm that may beat the leader is explored.

    Parameters
    ----------
    lipschitz : number in (0, inf), or 'learned'
        L > 0, a bound on |mean difference| / distance; "learned": the least that the rewards so far
        do not refute, which has no proof.
    loglog : number in [0, inf), or 'theory', default 0.0
        Weight of ln ln n in f(n), or "theory" for 3K + 1.
    divergence : 'bernoulli' or 'gaussian', default 'bernoulli'
        Of rewards in [0, 1], or of Gaussian ones.
    sigma : number in (0, inf), default 1.0
        Standard deviation of Gaussian rewards.
    forced : True or False, default True
        Play any arm with fewer than ln ln n pulls first.
    margin : number in [0, inf), default 1.0
        Standard errors of a difference of means that a learned L leaves to the noise.
    """

    lipschitz: Given[float | Literal["learned"], float] = real(above=0, words=("learned",))
    forced: bool = flag(default=True)
    margin: float = real(default=1.0, least=0)

    @staticmethod
    def complete(stored: Stored) -> Stored:
        if stored["lipschitz"] > 0.0 and stored["margin"] != 1.0:
            raise ValueError(
                f"margin = {stored['margin']:g} has no effect on lipschitz = "
                f"{stored['lipschitz']:g}; leave it out, or give lipschitz='learned'."
            )
        return stored

    def init(self, arms):
        return new_pool(arms.distances, self.lipschitz if self.lipschitz > 0.0 else 1.0)

    @jit
    def select(self, state, context, rng):
        arm = must_play(state, self.forced, context.eligible)
        if arm >= 0:
            return arm
        f = evidence_level(self, state)
        leader = argmax(state.mean, context.eligible)
        if context.eligible is None and unrivalled(
            state, self.divergence, self.sigma, leader, f, False
        ):
            return leader
        b = index(state, self.divergence, self.sigma, leader, f)
        arm = least_played_above(state, self.divergence, self.sigma, leader, b, f, context.eligible)
        if arm >= 0:
            return arm
        if context.eligible is None:
            prove(state, self.divergence, self.sigma, leader, f)
        return leader

    @jit
    def update(self, state, context, action, reward):
        learn(state, self.divergence, action, reward)
        if self.lipschitz < 0.0:
            learn_slope(state, self.divergence, self.sigma, self.margin)
        return state

    def explain(self, state, context, rng):
        learned = {"lipschitz": float(state.slope[0])} if self.lipschitz < 0.0 else {}
        return explanation(self, state, state, context, rng) | learned
