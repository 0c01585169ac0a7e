"""XY-oracle allocation: the design of someone who knows theta and only has to prove which arm is
best.

When to use it: never in service, since it needs theta; it shows how many samples the static bound
asks for at the best.
Source: Soare, Lazaric, Munos 2014, section 3; Xu, Honda, Sugiyama 2018, Eq 18.
Every arm is pulled once; then the arm furthest behind the optimal design for the directions (x* -
x_k) / gap_k is next. It stops when Proposition 1's bound on every x* - x_k is below the true gap
(plus epsilon). Rewards play no part.
O(K d + d^2) a round; the design is computed once.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ...compiled.kernels import jit, lean
from ...core import checks
from ...core.fields import Finite, Given, flag, real, scale_bound, vector
from ...core.policy import policy
from ...numerics.counts import first_unpulled, one_hot, static_factor
from ...solvers.programs import GAP, optimal_design
from .models import GapRidge, checked_features, coordinates, learn, new_gap_ridge
from .sampling import furthest_behind
from .stopping import (
    NO_ESTIMATES,
    SQRT8,
    Answer,
    Answering,
    compare_with_leader,
    forecast,
    new_answer,
    report,
    settle,
    support,
)


@policy(
    "features",
    paper="Soare, Lazaric, Munos 2014",
    stops=True,
    examples=lambda problem: (
        ({"theta": problem.theta, "epsilon": 0.2},) if hasattr(problem, "theta") else ()
    ),
)
class XYOracle(Answering):
    """Follow the optimal design for the true gaps; stop when the bound on every gap is below it.

    Parameters
    ----------
    theta : numbers, one for each feature, or None, default None
        (d,), the true parameter; the best arm must be unique.
    epsilon : number in [0, inf), default 0.0
        As for XYStatic.
    delta : number in (0, 1), default 0.05
        As for XYStatic.
    noise : number in (0, inf), default 1.0
        As for XYStatic.
    constant : number in (0, inf), default 2.8284271247461903
        As for XYStatic.
    pairs : True or False, default True
        The bound covers all K^2 pairs of arms, as in Proposition 1; False: only the K with the best
        arm, which the stop compares.
    accuracy : number in (0, inf), default 0.001
        Relative, of the design.
    """

    theta: Given[ArrayLike | None, np.ndarray] = vector(
        default=None, words="numbers, one for each feature"
    )
    epsilon: float = real(default=0.0, least=0)
    delta: float = real(default=0.05, above=0, below=1)
    noise: float = scale_bound(default=1.0, above=0)
    constant: float = real(default=SQRT8, above=0)
    pairs: bool = flag(default=True)
    accuracy: float = real(default=GAP, above=0)

    class State(NamedTuple):
        model: GapRidge  # its leader is the best arm
        design: Finite  # (K,) shares
        behind: Finite  # (K,) true mean minus that of the best arm
        answer: Answer  # (1,)

    def init(self, arms):
        X = checked_features(arms, self.epsilon, "XYOracle")
        means = X @ checks.vector(
            "theta", self.theta, length=X.shape[1], source="the number of columns of arms"
        )
        best = int(np.argmax(means))
        gaps = means[best] - means
        ties = np.flatnonzero(gaps == 0.0)
        if len(ties) > 1:
            raise ValueError(
                f"theta makes arms {ties[0]} and {ties[1]} equally good, but the design needs one "
                "best arm."
            )
        start, others = coordinates(X, 0.0), gaps > 0
        directions = (start.features[best] - start.features[others]) / gaps[others, None]
        shares = (
            optimal_design(start.features, directions, gap=self.accuracy).weights
            if others.any()
            else np.ones(1)
        )
        model = new_gap_ridge(start)
        model.progress["leader"] = best
        return self.State(model, shares, -gaps, new_answer(best))

    @jit
    def select(self, state, context, rng):
        pulls = state.model.pulls
        arm = (
            first_unpulled(pulls, context.eligible)
            if state.model.progress[0]["unpulled"] > 0.0
            else -1
        )
        return arm if arm >= 0 else furthest_behind(pulls, state.design, context.eligible)

    @jit
    def update(self, state, context, action, reward):
        model, answer = state.model, state.answer[0]
        learn(model, action, reward)
        if model.progress[0]["unpulled"] == 0.0:
            C = oracle_radius(self, model.progress[0]["rounds"], model.mean.shape[0])
            checksum = compare_with_leader(
                answer, state.behind, model.gap_square, model.progress[0]["leader"], C
            )
            settle(answer, checksum, answer["bound"] < self.epsilon)
        return state

    def evidence(self, state):
        model, behind = state.model, state.behind
        if model.progress[0]["unpulled"] > 0:
            return NO_ESTIMATES
        return support(
            self,
            state,
            behind,
            model.gap_square,
            lambda: forecast(
                model,
                behind,
                int(state.answer[0]["leader"]),
                self.epsilon,
                lambda log_det, pulls: oracle_radius(self, pulls.sum(), behind.size),
                shares=state.design,
            ),
        )

    def explain(self, state, context, rng):
        model, answer, known = (
            state.model,
            state.answer[0],
            state.model.progress[0]["unpulled"] == 0,
        )
        probability = one_hot(self.select(state, context, rng), state.behind.size)
        return (
            report(model.mean, answer["radius"], model.square, state.design, probability, known)
            | self.evidence(state)
            | {
                "leader": int(answer["leader"]),
                "challenger": int(answer["challenger"]),
                "design": state.design.copy(),
            }
        )


@lean
def oracle_radius(policy, rounds, K):
    """The factor of Proposition 1, for all pairs of arms or for those with the best one."""
    return static_factor(
        policy.constant, policy.noise, rounds, K, policy.delta * (1 if policy.pairs else K)
    )
