"""CombThompson: posterior sampling for sets of plain arms, with a draw for each arm or one for all.

When to use it: as CombUCB1 and ESCB, with less regret than both on most problems. A draw for each
arm where sets are rigid (paths, matchings, groups) and the rewards of a set independent;
randomization="shared" where arms can be exchanged one by one (the k best of many), or where the
rewards of a set may depend on each other.
Bound: CTSBeta and CTSGaussian O(N (ln m)^2 ln T / gap) for sets of at most m of N arms with
independent rewards, and a term that is exponential in m (Perrault et al. 2020); BGCTS O(sigma^2 N
ln m ln T / gap) and terms polynomial in m that grow as ln ln T (Zhang, Combes 2024); whatever the
gaps CTSG O~(m sqrt(N T)) and CLSG O~(sqrt(m N T)), both tight up to logarithms (Hu, Pan, Huang
2026). Of the defaults, which try all arms first, and of CTS3 with this posterior none is known to
us.
Source: Wang, Chen 2018, Algorithm 1, and Perrault et al. 2020 (CTSBeta, CTSGaussian, from their
code, which has a shared draw too); Zhang, Combes 2024 (BGCTS, from their code); Hu, Pan, Huang 2026
(CTSG, CLSG, from their code); Jin, Zhao, Tan, Gu 2026 (CTS3, from the abstract, which leaves the
posterior open).
Deviations: arms without a reward come first, in the same call of the oracle; unseen="prior" draws
them as the papers do, CTSGaussian from U(0, 1) as in the code of 2020. Rewards inside (0, 1) enter
a beta posterior by their value instead of by a coin flip.
Per round: O(N) and the oracle; an inverse of the beta distribution is some 2 us an arm.
"""

import math
from typing import Literal

import numpy as np
import scipy

from ...core.fields import Given, choice, real
from ...core.policy import policy, preset
from ...core.registry import LARGEST_REWARD
from ...numerics.counts import exploration
from .sets import IndexPolicy, Scoring, best_set, normals_of_rounds, unseen_first

GAUSSIAN, BETA = 0, 1
SHARED = 1
LOG, ROOT = 1, 2
PRIOR = 1  # of `unseen`


@policy(
    "sets of lasting arms",
    paper="Wang, Chen 2018; Perrault et al. 2020; Zhang, Combes 2024; Hu, Pan, Huang 2026; Jin, "
    "Zhao, Tan, Gu 2026",
    compiled=False,
    examples=(
        {},
        {"randomization": "shared", "ties": "random"},
        {"posterior": "beta"},
        {"posterior": "beta", "randomization": "shared", "unseen": "prior"},
        {"boost": "log", "unseen": "prior"},
        {"boost": "root", "randomization": "shared", "unseen": "prior"},
    ),
)
class CombThompson(IndexPolicy):
    """Thompson sampling for sets of arms without features: the set of the largest total of draws
    from the arms' posteriors.

    Parameters
    ----------
    posterior : 'gaussian' or 'beta', default 'gaussian'
        N(mean, sigma^2 / pulls), or Beta(a + sum, b + pulls - sum) for rewards in [0, 1].
    randomization : 'arm' or 'shared', default 'arm'
        A draw for each arm, or the same quantile of all posteriors, drawn once.
    sigma : number in (0, inf), default 0.5
        Scale of the noise, 1/2 for rewards in [0, 1] that are independent within a set; of rewards
        with correlation c in sets of m times sqrt(1 + (m - 1) c).
    boost : 'none' or 'log' or 'root', default 'none'
        What the Gaussian variance is: sigma^2 / pulls; "log", 2 (1 + (m + 2) ln ln t / ln t) times
        that with sets of at most m arms; "root", gamma ln t / (pulls + 1).
    gamma : number in (0, inf), default 0.1
        Of boost="root".
    a : number in [0.01, inf), default 1.0
        Prior successes of each arm.
    b : number in [0.01, inf), default 1.0
        Prior failures of each arm.
    unseen : 'first' or 'prior', default 'first'
        Arms without a reward come first, or are drawn: from Beta(a, b), with boost="root" from
        N(0, gamma ln t), else from U(0, 1).
    ties : 'index' or 'random', default 'index'
        Equal scores go to the lowest index, or to one at random.
    """

    posterior: Given[Literal["gaussian", "beta"], int] = choice(
        "gaussian", "beta", default="gaussian"
    )
    randomization: Given[Literal["arm", "shared"], int] = choice("arm", "shared", default="arm")
    sigma: float = real(default=0.5, above=0)
    boost: Given[Literal["none", "log", "root"], int] = choice(
        "none", "log", "root", default="none"
    )
    gamma: float = real(default=0.1, above=0)
    a: float = real(default=1.0, least=0.01)
    b: float = real(default=1.0, least=0.01)
    unseen: Given[Literal["first", "prior"], int] = choice("first", "prior", default="first")
    ties: Given[Literal["index", "random"], int] = choice("index", "random", default="index")

    def select(self, state, context, rng):
        return best_set(state, context, draws_of_rounds(self, state, 1, rng)[0], self.ties, rng)

    def _scoring(self, state, context, rng):
        mean, width = moments(self, state)
        law, tried = None, state.counts.pulls > 0
        seen = tried.all() if context.eligible is None else tried[context.eligible].all()
        if self.posterior == GAUSSIAN and (seen or (self.boost == ROOT and self.unseen == PRIOR)):
            law = "line" if self.randomization == SHARED else "normal", mean, width
        return Scoring(
            np.where(tried, mean, np.nan),
            np.where(tried, width, np.inf),
            None,
            lambda draws: draws_of_rounds(self, state, draws, rng),
            law,
        )

    def reward_range(self):
        return (0.0, 1.0) if self.posterior == BETA else (-LARGEST_REWARD, LARGEST_REWARD)


@preset(posterior="beta")
class CTSBeta(CombThompson):
    """Combinatorial Thompson sampling with beta posteriors (Wang, Chen 2018).

    For independent rewards in [0, 1]. In the paper arms without a reward are drawn from the prior
    (unseen="prior"), with which its regret can be exponential in the size of a set.
    """


@preset()
class CTSGaussian(CombThompson):
    """Combinatorial Thompson sampling with Gaussian posteriors (Perrault et al. 2020).

    The mean of an arm is drawn with the standard deviation sigma / sqrt(pulls).
    """


@preset(boost="log")
class BGCTS(CombThompson):
    """Boosted Gaussian combinatorial Thompson sampling (Zhang, Combes 2024).

    CTSGaussian with a variance that is larger by a factor that tends to 2, for which the regret is
    polynomial in the size of a set.
    """


@preset(boost="root")
class CTSG(CombThompson):
    """Combinatorial Thompson sampling with Gaussian draws of variance gamma ln t / (pulls + 1) (Hu,
    Pan, Huang 2026).

    Its regret is bounded whatever the gaps, also where arms are not always there.
    """


@preset(boost="root", randomization="shared")
class CLSG(CombThompson):
    """CTSG with one draw for all arms (Hu, Pan, Huang 2026).

    The bound whatever the gaps is smaller by the root of the size of a set.
    """


@preset(posterior="beta", randomization="shared")
class CTS3(CombThompson):
    """Combinatorial Thompson sampling with a single seed (Jin, Zhao, Tan, Gu 2026).

    The same quantile, drawn once a round, of the beta posteriors of all arms.
    """


def moments(policy, state):
    """Mean and standard deviation of the posteriors, (N,); of a Gaussian one without a reward those
    of one reward of 0, or of none where that has a variance."""
    counts, m = state.counts, state.setting.size
    if policy.posterior == BETA:
        a, b = beta_parameters(policy, counts)
        return a / (a + b), np.sqrt(a * b / (a + b + 1.0)) / (a + b)
    seen = np.maximum(counts.pulls, 1.0)
    if policy.boost == ROOT:
        width = np.sqrt(policy.gamma * math.log(counts.rounds[0] + 1.0) / (counts.pulls + 1.0))
        return counts.sums / seen, width
    factor, t = 1.0, max(counts.rounds[0] + 1.0, math.e)
    if policy.boost == LOG:
        factor = 2.0 * exploration(t, m + 2.0) / math.log(t)
    return counts.sums / seen, policy.sigma * np.sqrt(factor / seen)


def beta_parameters(policy, counts):
    return policy.a + counts.sums, policy.b + (counts.pulls - counts.sums)


def draws_of_rounds(policy, state, draws, rng):
    """(draws, N) scores, each row as a round draws them."""
    counts, shared = state.counts, policy.randomization == SHARED
    shape = draws, counts.pulls.size
    if policy.posterior == BETA and not shared:
        theta = rng.beta(*beta_parameters(policy, counts), shape)
    else:
        z = normals_of_rounds(*shape, shared, rng)
        if policy.posterior == BETA:
            theta = scipy.special.betaincinv(
                *beta_parameters(policy, counts), scipy.special.ndtr(z)
            )
        else:
            mean, width = moments(policy, state)
            theta = mean + width * z
            if policy.unseen == PRIOR and policy.boost != ROOT:
                theta = np.where(counts.pulls > 0, theta, scipy.special.ndtr(z))
    known = policy.unseen == PRIOR or (counts.pulls > 0).all()
    return theta if known else unseen_first(state, theta)
