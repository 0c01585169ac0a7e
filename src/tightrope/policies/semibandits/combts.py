"""CombTS: Thompson sampling for sets, with one parameter drawn per round or one per arm, or
with one normal number for all arms.

When to use it: as C2UCB and PC2UCB; randomization="arm" where arms form large clusters, "round" is
the textbook posterior draw, "shared" is C2UCB with a width that is drawn.
Bound: O~(max(d, sqrt(d lam)) sqrt(d k T)) regret for lam >= k and v = "theory" (Takemura & Ito
2019, Theorems 1 and 2); none is known here for "shared".
Source: Takemura & Ito 2019, Algorithm 2. Arm-wise, the score x'theta_i with theta_i ~ N(theta, v^2
V^-1) is drawn as the one normal N(theta'x, v^2 ||x||^2_{V^-1}) that it is. "shared" draws one z for
all of them, as Hu, Pan, Huang 2026 do for arms without features.
Deviations: by default v is `width` times the learned noise and the regression has a constant
column; as printed with v a number or "theory".
Per round: O(N d) round-wise, O(N d^2 / 2) else, and the oracle.
"""

import math
from typing import Literal

import numpy as np

from ...core.fields import Given, choice, flag, real
from ...core.policy import policy
from ...numerics.batch_ridge import (
    batch_scale,
    drawn_scores,
    predict_settled,
    settle,
    settled_scores,
)
from ...numerics.noise import bounded
from .sets import (
    LinearSetPolicy,
    Scoring,
    best_set,
    features_of,
    new_state_by_width,
    normals_of_rounds,
    predictions,
    radius,
)

ROUND, ARM, SHARED = 0, 1, 2
WIDTH = 0.7  # standard deviations of the posterior


@policy(
    "sets",
    paper="Takemura & Ito 2019, Algorithm 2",
    compiled=False,
    examples=(
        {},
        {"randomization": "arm"},
        {"v": 1.0},
        {"v": 1.0, "randomization": "arm"},
        {"v": "theory", "randomization": "arm"},
        {"randomization": "shared"},
    ),
)
class CombTS(LinearSetPolicy):
    """Thompson sampling for sets of arms with linear rewards.

    Parameters
    ----------
    v : number in [0, inf), or 'theory', or None (from width), default None
        Scale of the posterior; None: `width` times the noise; or "theory": beta_t(delta / (4 N T))
        arm-wise, beta_t(delta / (4 T)) round-wise, which needs a horizon and is not for "shared".
    width : number in [0, inf), default 0.7
        Of the draw in units of the noise, where v is None.
    lam : number in (0, inf), default 1.0
        Ridge parameter.
    randomization : 'round' or 'arm' or 'shared', default 'round'
        "round" (one theta for all arms), "arm" (one for each), or "shared" (one normal number z for
        all arms, in theta'x + v ||x||_{V^-1} z).
    delta : number in (0, 1), default 0.1
        As for C2UCB.
    noise : number in [0, inf), or None (learned), default None
        Scale of the rewards' noise; None: learned from the residuals, with v="theory" 1.
    theta_bound : number in [0, inf), default 1.0
        As for C2UCB.
    ties : 'index' or 'random', default 'index'
        As for C2UCB.
    intercept : True, False, or None (where v is), default None
        Whether every regression has a constant column, drawn to the mean of the rewards so far;
        None: where v is.
    """

    v: Given[float | Literal["theory"] | None, float] = real(
        default=None, words=("theory",), least=0, none="from width"
    )
    width: float = real(default=WIDTH, least=0)
    lam: float = real(default=1.0, above=0)
    randomization: Given[Literal["round", "arm", "shared"], int] = choice(
        "round", "arm", "shared", default="round"
    )
    delta: float = real(default=0.1, above=0, below=1)
    noise: Given[float | None, float] = real(default=None, least=0, none="learned")
    theta_bound: float = real(default=1.0, least=0)
    ties: Given[Literal["index", "random"], int] = choice("index", "random", default="index")
    intercept: Given[bool | None, int] = flag(default=None, none="where v is")

    def init(self, arms):
        if self.v < 0 and self.randomization == SHARED:
            raise ValueError(
                'v = "theory" has no theorem for randomization = "shared"; pass a number for v, or '
                "leave it out."
            )
        if self.v < 0 and arms.horizon is None:
            raise ValueError(
                "v = 'theory' needs the number of rounds; pass horizon=T, or a number for v."
            )
        return new_state_by_width(self, arms, self.v, "v")

    def select(self, state, context, rng):
        if self.randomization == ROUND:
            solved = settle(state.model, features_of(state, context))
            scores = round_scores(
                solved, features_of(state, context), v_now(self, state, solved), rng
            )
        else:
            mean, width, solved = predictions(state, context)
            z = rng.standard_normal(mean.size if self.randomization == ARM else 1)
            scores = mean + v_now(self, state, solved) * width * z
        return best_set(state, context, scores, self.ties, rng, solved.zero)

    def _scoring(self, state, context, rng):
        if self.randomization == ROUND:
            return round_scoring(state, context, rng, lambda solved: v_now(self, state, solved))
        mean, width, solved = predictions(state, context)
        width *= v_now(self, state, solved)
        shared = self.randomization == SHARED
        law = "line" if shared else "normal", mean, width

        def draw(draws):
            return mean + width * normals_of_rounds(draws, mean.size, shared, rng)

        return Scoring(mean, width, None, draw, law, solved.zero)


def v_now(policy, state, solved):
    if math.isnan(policy.v):
        return policy.width * batch_scale(state.model, solved, policy.noise)
    if policy.v >= 0:
        return policy.v
    shares = (
        4 * state.setting.horizon * (state.setting.number if policy.randomization == ARM else 1)
    )
    return radius(
        state, policy.delta / shares, bounded(policy.noise), policy.theta_bound, policy.lam
    )


def round_scores(solved, features, v, rng):
    """x'theta for one theta ~ N(theta_hat, v^2 V^-1), drawn independently in every block."""
    from scipy.linalg import solve_triangular  # here, because its import takes long and few need it

    normal = rng.standard_normal(solved.theta.shape)
    drawn = [
        solve_triangular(L, z, trans="T", lower=True)
        for L, z in zip(solved.factor, normal, strict=True)
    ]
    scores = settled_scores(solved, solved.theta + v * np.stack(drawn), features)
    if solved.own.any():  # the constant column's own part, which all arms of a block share
        by_row = scores.reshape(features.shape[0], -1)
        by_row += v * np.sqrt(solved.own) * rng.standard_normal(solved.own.size)
    return scores


def round_scoring(state, context, rng, scale):
    """A round's scores by the law of `round_scores`. scale: of what `settle` found. The widths are
    left until they are asked for: a chance needs none, and they take longer than the means of a
    hundred draws."""
    features = features_of(state, context)
    solved = settle(state.model, features)
    v = scale(solved)
    return Scoring(
        settled_scores(solved, solved.theta, features),
        lambda: v * predict_settled(solved, features)[1],
        None,
        lambda draws: drawn_scores(solved, features, v, rng, draws),
        zero=solved.zero,
    )
