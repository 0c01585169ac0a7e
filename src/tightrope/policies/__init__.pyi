# Made from the registry by `make stubs`.

from collections.abc import Iterable
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from ..registry import REGISTRY as REGISTRY
from ..registry import Policy, Problem

def examples(problem: Problem | None = None) -> dict[str, Policy]: ...

class BetaThompson(Policy):
    """Thompson sampling with a Beta(a, b) prior for rewards in [0, 1].

    a, b: prior successes and failures, > 0 (at least 1e-100). forget: what a reward's weight is multiplied by each round, in (0, 1],
    where means drift; 1: all count the same for ever.
    """

    a: float
    b: float
    forget: float

    def __init__(
        self,
        *,
        a: float = 1.0,
        b: float = 1.0,
        forget: float = 1.0,
    ) -> None: ...

class C2UCB(Policy):
    """Optimism for sets of arms with linear rewards.

    alpha: width of the interval, or "theory": beta_t(delta) from noise (sub-Gaussian scale of a reward) and theta_bound (bound
    on ||theta||). lam: ridge parameter. ties: equal scores go to the lowest index, or to one at random.
    """

    alpha: float
    lam: float
    delta: float
    noise: float
    theta_bound: float
    ties: int

    def __init__(
        self,
        *,
        alpha: float | Literal["theory"] = 1.0,
        lam: float = 1.0,
        delta: float = 0.1,
        noise: float = 1.0,
        theta_bound: float = 1.0,
        ties: Literal["index", "random"] = "index",
    ) -> None: ...

class CKLUCB(Policy):
    """Optimism by pooled evidence; the least-played arm that may beat the leader is explored.

    lipschitz: L > 0, a bound on |mean difference| / distance. loglog: weight of ln ln n in f(n), or "theory" for 3K + 1. forced:
    play any arm with fewer than ln ln n pulls first. divergence: "bernoulli" (rewards in [0, 1]) or "gaussian" with standard
    deviation sigma.
    """

    lipschitz: float
    loglog: float
    divergence: int
    sigma: float
    forced: bool

    def __init__(
        self,
        *,
        lipschitz: float,
        loglog: float | Literal["theory"] = 0.0,
        divergence: Literal["bernoulli", "gaussian"] = "bernoulli",
        sigma: float = 1.0,
        forced: bool = True,
    ) -> None: ...

class CombGreedy(Policy):
    """The set of largest estimated means; random before the first reward.

    lam: ridge parameter. ties: equal scores go to the lowest index, or to one at random.
    """

    lam: float
    ties: int

    def __init__(
        self,
        *,
        lam: float = 1.0,
        ties: Literal["index", "random"] = "index",
    ) -> None: ...

class CombKLUCB(Policy):
    """Optimism for sets of arms without features: sup{q : pulls I(mean, q) <= ln t + c ln ln t}, for rewards in [0, 1].

    c: weight of ln ln t, >= 0; the proof needs 3. ties: equal scores go to the lowest index, or to one at random.
    """

    c: float
    ties: int

    def __init__(
        self,
        *,
        c: float = 3.0,
        ties: Literal["index", "random"] = "index",
    ) -> None: ...

class CombLinTS(Policy):
    """Thompson sampling for sets with prior N(0, prior_scale^2 I) and noise variance noise^2.

    prior_scale, noise: > 0. ties: "index" or "random".
    """

    prior_scale: float
    noise: float
    ties: int

    def __init__(
        self,
        *,
        prior_scale: float = 1.0,
        noise: float = 1.0,
        ties: Literal["index", "random"] = "index",
    ) -> None: ...

class CombLinUCB(Policy):
    """Optimism for sets with prior N(0, prior_scale^2 I) and noise variance noise^2.

    prior_scale, noise: > 0. c: width of the interval in posterior standard deviations, >= 0. ties: "index" or "random".
    """

    prior_scale: float
    noise: float
    ties: int
    c: float

    def __init__(
        self,
        *,
        prior_scale: float = 1.0,
        noise: float = 1.0,
        ties: Literal["index", "random"] = "index",
        c: float = 1.0,
    ) -> None: ...

class CombTS(Policy):
    """Thompson sampling for sets of arms with linear rewards.

    v: scale of the posterior, or "theory": beta_t(delta / (4 N T)) arm-wise, beta_t(delta / (4 T)) round-wise, which needs a
    horizon. lam: ridge parameter. randomization: "round" (one theta for all arms) or "arm". delta, noise, theta_bound, ties: as
    for C2UCB.
    """

    v: float
    lam: float
    randomization: int
    delta: float
    noise: float
    theta_bound: float
    ties: int

    def __init__(
        self,
        *,
        v: float | Literal["theory"] = 1.0,
        lam: float = 1.0,
        randomization: Literal["round", "arm"] = "round",
        delta: float = 0.1,
        noise: float = 1.0,
        theta_bound: float = 1.0,
        ties: Literal["index", "random"] = "index",
    ) -> None: ...

class CombUCB1(Policy):
    """Optimism for sets of arms without features: mean + sigma sqrt(alpha ln t / pulls).

    alpha: width of the interval, > 0. sigma: scale of the rewards, 1 for rewards in [0, 1]. ties: equal scores go to the lowest index, or
    to one at random.
    """

    alpha: float
    sigma: float
    ties: int

    def __init__(
        self,
        *,
        alpha: float = 1.5,
        sigma: float = 1.0,
        ties: Literal["index", "random"] = "index",
    ) -> None: ...

class Conservative(Policy):
    """Optimism under the constraint that cumulative mean reward stays >= (1 - alpha) times the baseline's.

    baseline: its arm; None: `Context.baseline` names it every round. baseline_mean: its known mean in [0, 1] (or
    `Context.baseline_mean`); None: learn it (then the baseline must be one arm, or linear). alpha, delta: level of the
    constraint, probability of breaking it. sigma: sub-Gaussian scale of the noise (1/2 suffices for rewards in [0, 1]).
    lam, theta_bound, arm_bound: ridge parameter, bounds of ||theta|| and of all ||x||.
    bound: of the reward earned: "martingale" (Eq 5-7, 12), "confidence" (Eq 4) or "oracle" (true_means, for simulations).
    selection: "constrained" (Eq 8), "two-step" (the UCB arm or the baseline), "largest-lower" (Wu et al.'s remark).
    With bound = "confidence" the literal joint minimum admits arms that point away from all that was played; take clip = "both".
    checkpoint: verify every T rounds, or at these increasing rounds (after the last: at every one). min_gap: checkpoints are not
    known beforehand, but at least so far apart; those in `checkpoint` are known once past. For a random gap take its lower
    delta/2 quantile. baseline_floor: mu_l, what the baseline earns at least in rounds to come.
    baseline_index: the baseline's index in the two-step argmax: its "mean", or its own "ucb" (if optimistic and safe it is
    then explored). clip: mean rewards are >= 0, so lower bounds are clipped at 0: "both" the sum's and the arm's, or as in the
    "paper" (Eq 4, 6: neither; 7: the arm's; 12: both). martingale: "freedman", or "subgaussian" without (2/3) L.
    model: "independent" ignores features.
    open: what a decision has earned while its reward is not in. "nothing" is sound for any delay if rewards are >= 0 (linear models: if
    rewards are taken in by order of decision, or when they arrive does not depend on them). "lower", its arm's lower bound, is less
    cautious and sound only if when a reward arrives does not depend on what it is: a purchase reported at once and a non-purchase after
    a week break it.
    """

    baseline: int
    baseline_mean: float
    alpha: float
    delta: float
    sigma: float
    lam: float
    theta_bound: float
    arm_bound: float
    bound: int
    selection: int
    checkpoint: np.ndarray
    min_gap: int
    baseline_floor: float
    clip: int
    martingale: int
    true_means: np.ndarray
    model: int
    open: int
    baseline_index: int

    def __init__(
        self,
        *,
        baseline: int | None = None,
        baseline_mean: float | None = None,
        alpha: float = 0.05,
        delta: float = 0.01,
        sigma: float = 1.0,
        lam: float = 1.0,
        theta_bound: float = 1.0,
        arm_bound: float = 1.0,
        bound: Literal["martingale", "confidence", "oracle"] = "martingale",
        selection: Literal["constrained", "two-step", "largest-lower"] = "constrained",
        checkpoint: int | Iterable[int] = 1,
        min_gap: int | None = None,
        baseline_floor: float | None = None,
        clip: Literal["both", "paper"] = "both",
        martingale: Literal["freedman", "subgaussian"] = "freedman",
        true_means: ArrayLike | None = None,
        model: Literal["linear", "independent"] = "linear",
        open: Literal["nothing", "lower"] = "nothing",
        baseline_index: Literal["mean", "ucb"] = "mean",
    ) -> None: ...

class ESCB(Policy):
    """Optimism for whole sets of arms without features: sum of means + sigma sqrt(f(t) / 2 sum of 1 / pulls), f(t) = ln t + c k ln ln t.

    c: weight of k ln ln t, >= 0; the proof needs 4. sigma: scale of the rewards, 1 for rewards in [0, 1], which are independent of each
    other within a set.
    """

    c: float
    sigma: float

    def __init__(
        self,
        *,
        c: float = 4.0,
        sigma: float = 1.0,
    ) -> None: ...

class EpsilonGreedy(Policy):
    """Greedy with uniform exploration.

    epsilon: probability of a uniform choice, in [0, 1].
    """

    epsilon: float

    def __init__(
        self,
        *,
        epsilon: float = 0.05,
    ) -> None: ...

class Explore(Policy):
    """An inner policy's choice, or with probability floor times the number of eligible arms a uniform one.

    inner: any policy that plays single arms. floor: the least probability of every eligible arm, in [0, 1]; floor times the
    number of arms must not exceed 1.
    """

    inner: Policy
    floor: float

    def __init__(
        self,
        inner: Policy,
        *,
        floor: float = 0.01,
    ) -> None: ...

class FrankWolfeSampling(Policy):
    """Move the proportions of arms, a step a sample, to where the hardest rivals are excluded fastest; stop as LinGapE.

    epsilon, delta, lam, noise, theta_bound, union: as for LinGapE.
    """

    epsilon: float
    delta: float
    lam: float
    noise: float
    theta_bound: float
    union: bool

    def __init__(
        self,
        *,
        epsilon: float = 0.0,
        delta: float = 0.05,
        lam: float = 1.0,
        noise: float = 1.0,
        theta_bound: float = 1.0,
        union: bool = True,
    ) -> None: ...

class HOO(Policy):
    """Hierarchical optimistic optimisation on points in [0, 1].

    nu, rho: a cell at depth h has means within nu rho^h of each other; for an L-Lipschitz mean nu = L and rho = 1/2.
    """

    nu: float
    rho: float

    def __init__(
        self,
        *,
        nu: float,
        rho: float = 0.5,
    ) -> None: ...

class KLUCB(Policy):
    """Optimism by divergence: sup{q : pulls I(mean, q) <= ln n + c ln ln n}.

    c: weight of ln ln n, >= 0. divergence: "bernoulli" (rewards in [0, 1]) or "gaussian". sigma: standard deviation of Gaussian rewards.
    """

    c: float
    divergence: int
    sigma: float

    def __init__(
        self,
        *,
        c: float = 0.0,
        divergence: Literal["bernoulli", "gaussian"] = "bernoulli",
        sigma: float = 1.0,
    ) -> None: ...

class LinEpsilonGreedy(Policy):
    """Greedy on x'theta_hat with uniform exploration.

    epsilon: probability of a uniform choice, in [0, 1]. lam: ridge parameter. shared: one theta for all arms; False: one for each,
    learned from the arm's own rewards.
    """

    epsilon: float
    lam: float
    shared: bool

    def __init__(
        self,
        *,
        epsilon: float = 0.05,
        lam: float = 1.0,
        shared: bool = True,
    ) -> None: ...

class LinGame(Policy):
    """Learn the mixture of arms that excludes every rival fastest, as a game against the hardest parameter; stop as LinGapE.

    epsilon, delta, lam, noise, theta_bound, union: as for LinGapE.
    """

    epsilon: float
    delta: float
    lam: float
    noise: float
    theta_bound: float
    union: bool

    def __init__(
        self,
        *,
        epsilon: float = 0.0,
        delta: float = 0.05,
        lam: float = 1.0,
        noise: float = 1.0,
        theta_bound: float = 1.0,
        union: bool = True,
    ) -> None: ...

class LinGapE(Policy):
    """Compare the apparent best arm with its most ambiguous rival, sample what tells them apart, stop when nothing is left open.

    epsilon: how much worse than the best the named arm may be. delta: probability of a worse one. lam: ridge parameter. noise:
    sub-Gaussian scale of the rewards. theta_bound: bound on ||theta||. union: the paper's K^2 in the radius (False: 10-15 % fewer
    samples, same guarantee). rule: which arm to sample, Eq 9 or Eq 12. batch_growth: decide again after so much growth; 0 = always.
    """

    epsilon: float
    delta: float
    lam: float
    noise: float
    theta_bound: float
    union: bool
    rule: int
    batch_growth: float

    def __init__(
        self,
        *,
        epsilon: float = 0.0,
        delta: float = 0.05,
        lam: float = 1.0,
        noise: float = 1.0,
        theta_bound: float = 1.0,
        union: bool = True,
        rule: Literal["greedy", "ratio"] = "greedy",
        batch_growth: float = 0.0,
    ) -> None: ...

class LinMED(Policy):
    """Minimum empirical divergence for linear rewards: p_k in proportion to q_k exp(-gap_k^2 / (beta ||x_best - x_k||^2_{V^-1})).

    lam: ridge parameter. noise: sub-Gaussian scale of the rewards. theta_bound: bound on ||theta||. delta: probability that the
    confidence set behind beta fails; None: 1 / (t + 1). best, design: weights in q of the empirically best arm and of the optimal design;
    the rest, at most 1 in all, is uniform.
    """

    lam: float
    noise: float
    theta_bound: float
    delta: float
    best: float
    design: float

    def __init__(
        self,
        *,
        lam: float = 1.0,
        noise: float = 1.0,
        theta_bound: float = 1.0,
        delta: float | None = None,
        best: float = 0.9,
        design: float = 0.05,
    ) -> None: ...

class LinTS(Policy):
    """Thompson sampling for linear rewards: theta ~ N(theta_hat, v^2 V^-1), one joint draw a round.

    lam: ridge parameter. noise, delta: of v_t = noise sqrt(9 d ln(t / delta)). scale: a fixed v instead.
    shared: one theta for all arms; False: one for each, learned from the arm's own rewards and drawn independently of the others.
    forget: what a reward's weight is multiplied by each round, in (0, 1], where theta drifts; 1: all count the same for ever.
    """

    lam: float
    noise: float
    delta: float
    scale: float
    shared: bool
    forget: float

    def __init__(
        self,
        *,
        lam: float = 1.0,
        noise: float = 1.0,
        delta: float = 0.1,
        scale: float | None = None,
        shared: bool = True,
        forget: float = 1.0,
    ) -> None: ...

class LinUCB(Policy):
    """Optimism for linear rewards: x'theta_hat + beta ||x||_{V^-1}.

    lam: ridge parameter. delta: probability that the confidence set fails. noise: sub-Gaussian scale of the rewards.
    theta_bound: bound on ||theta||. beta: a fixed width instead. radius: where beta comes from otherwise.
    shared: one theta for all arms; False: one for each, learned from the arm's own rewards.
    forget: what a reward's weight is multiplied by each round, in (0, 1], where theta drifts; 1: all count the same for ever.
    """

    lam: float
    delta: float
    noise: float
    theta_bound: float
    beta: float
    radius: int
    shared: bool
    forget: float

    def __init__(
        self,
        *,
        lam: float = 1.0,
        delta: float = 0.1,
        noise: float = 1.0,
        theta_bound: float = 1.0,
        beta: float | None = None,
        radius: Literal["horizon", "determinant"] = "horizon",
        shared: bool = True,
        forget: float = 1.0,
    ) -> None: ...

class OSLB(Policy):
    """Optimal sampling for Lipschitz bandits.

    lipschitz: L > 0, a bound on |mean difference| / distance. epsilon: share of forced exploration of the least-played arm.
    loglog: weight of ln ln n in f(n), or "theory" for 3K + 1. divergence: "bernoulli" (rewards in [0, 1]) or "gaussian" with
    standard deviation sigma.
    """

    lipschitz: float
    loglog: float
    divergence: int
    sigma: float
    epsilon: float

    def __init__(
        self,
        *,
        lipschitz: float,
        loglog: float | Literal["theory"] = 0.0,
        divergence: Literal["bernoulli", "gaussian"] = "bernoulli",
        sigma: float = 1.0,
        epsilon: float = 0.05,
    ) -> None: ...

class P1RAGE(Policy):
    """Draw arms at random, half of the time by the design for gaps as estimated and half by the G-optimal one, until a budget is used up.

    epsilon: how much worse than the best the named arm may be. delta: error of gap_bound. scale: size of the means; phases look at gaps of
    a half, a quarter, .. of it.
    """

    epsilon: float
    delta: float
    scale: float

    def __init__(
        self,
        *,
        epsilon: float = 0.0,
        delta: float = 0.05,
        scale: float = 1.0,
    ) -> None: ...

class PC2UCB(Policy):
    """C2UCB with arm-wise perturbed widths.

    alpha, lam, delta, noise, theta_bound, ties: as for C2UCB. c: largest relative perturbation, >= 0; 0 is C2UCB.
    """

    alpha: float
    lam: float
    delta: float
    noise: float
    theta_bound: float
    ties: int
    c: float

    def __init__(
        self,
        *,
        alpha: float | Literal["theory"] = 1.0,
        lam: float = 1.0,
        delta: float = 0.1,
        noise: float = 1.0,
        theta_bound: float = 1.0,
        ties: Literal["index", "random"] = "index",
        c: float = 1.0,
    ) -> None: ...

class RAGE(Policy):
    """Phase t measures all differences of survivors to accuracy 2^-(t+1) by an optimal design and drops who is clearly beaten.

    epsilon, delta, noise: as for LinGapE. rounding: allowance of the paper's rounding procedure, which enlarges N_t.
    """

    epsilon: float
    delta: float
    noise: float
    rounding: float

    def __init__(
        self,
        *,
        epsilon: float = 0.0,
        delta: float = 0.05,
        noise: float = 1.0,
        rounding: float = 0.1,
    ) -> None: ...

class Safe(Policy):
    """An inner policy whose choice is played when it is safe; else `selection` falls back as in `Conservative`.

    inner: any policy that plays single arms (one that plays sets makes a `SafeSets`); the other parameters are those of
    `Conservative`. With selection = "constrained" an
    unsafe choice gives way to the safe arm of the largest upper bound, with "two-step" to the baseline.
    """

    baseline: int
    baseline_mean: float
    alpha: float
    delta: float
    sigma: float
    lam: float
    theta_bound: float
    arm_bound: float
    bound: int
    selection: int
    checkpoint: np.ndarray
    min_gap: int
    baseline_floor: float
    clip: int
    martingale: int
    true_means: np.ndarray
    model: int
    open: int
    inner: Any

    def __init__(
        self,
        inner: Policy,
        *,
        baseline: int | None = None,
        baseline_mean: float | None = None,
        alpha: float = 0.05,
        delta: float = 0.01,
        sigma: float = 1.0,
        lam: float = 1.0,
        theta_bound: float = 1.0,
        arm_bound: float = 1.0,
        bound: Literal["martingale", "confidence", "oracle"] = "martingale",
        selection: Literal["constrained", "two-step", "largest-lower"] = "constrained",
        checkpoint: int | Iterable[int] = 1,
        min_gap: int | None = None,
        baseline_floor: float | None = None,
        clip: Literal["both", "paper"] = "both",
        martingale: Literal["freedman", "subgaussian"] = "freedman",
        true_means: ArrayLike | None = None,
        model: Literal["linear", "independent"] = "linear",
        open: Literal["nothing", "lower"] = "nothing",
    ) -> None: ...

class SafeSets(Policy):
    """A policy over sets whose set is played when it is safe, else the best safe set by lower bounds, else the baseline set.

    inner: any policy over sets. baseline: the arms of the baseline set. baseline_mean: its known total mean reward, >= 0; None:
    learn it. alpha, delta: level of the constraint, probability of breaking it. sigma: sub-Gaussian scale of one arm's reward, rewards
    of a set being independent given their means. lam, theta_bound, arm_bound: ridge parameter, bounds of ||theta|| and of all ||x||.
    checkpoint, min_gap, martingale: as for `Conservative`. baseline_floor: what the baseline set earns at least in rounds to come.
    Rewards must not be negative. They may come late, in any order or never.
    """

    inner: Any
    baseline: np.ndarray
    baseline_mean: float
    alpha: float
    delta: float
    sigma: float
    lam: float
    theta_bound: float
    arm_bound: float
    checkpoint: np.ndarray
    min_gap: int
    baseline_floor: float
    martingale: int

    def __init__(
        self,
        inner: Policy,
        *,
        baseline: ArrayLike,
        baseline_mean: float | None = None,
        alpha: float = 0.05,
        delta: float = 0.01,
        sigma: float = 1.0,
        lam: float = 1.0,
        theta_bound: float = 1.0,
        arm_bound: float = 1.0,
        checkpoint: int | Iterable[int] = 1,
        min_gap: int | None = None,
        baseline_floor: float | None = None,
        martingale: Literal["freedman", "subgaussian"] = "freedman",
    ) -> None: ...

class SoftUCB(Policy):
    """Softmax over the slack S_i = UCB_i - max_j LCB_j = beta (w_i + w_*) - (mu_* - mu_i), with gamma S as its exponent.

    beta: width; where online, its start. mass: probability that arms with S >= 0 keep (Lemma 2), near 1. timing: gamma of the
    round before ("lagged", Algorithm 1; with new features every round it is fresh too) or of this one ("fresh", as Lemma 2 needs).
    lam: ridge parameter. shared: one theta for all arms; False: one for each, learned from its own rewards. online: move beta by
    the gradient of Eq 15 with weight eta on the widths and step length `step`; the horizon T is needed (here or in the run).
    full_gradient: with gamma's own dependence on beta. beta_min: least beta, a smaller one is raised to it. noise, delta,
    theta_bound: of the beta of Eq 5, twice which counts as diverged.
    """

    beta: float
    online: bool
    eta: float
    step: float
    horizon: int
    mass: float
    timing: int
    lam: float
    full_gradient: bool
    beta_min: float
    noise: float
    delta: float
    theta_bound: float
    shared: bool

    def __init__(
        self,
        *,
        beta: float = 1.0,
        online: bool = False,
        eta: float = 4.0,
        step: float = 0.02,
        horizon: int | None = None,
        mass: float = 0.99,
        timing: Literal["lagged", "fresh"] = "lagged",
        lam: float = 1.0,
        full_gradient: bool = False,
        beta_min: float = 0.001,
        noise: float = 1.0,
        delta: float = 0.1,
        theta_bound: float = 1.0,
        shared: bool = True,
    ) -> None: ...

class SquareCB(Policy):
    """Inverse gap weighting: 1 / (K + gamma (best prediction - the arm's)), the rest for the best arm.

    gamma: how sharply the best arm is preferred; None: by `growth`, which is the "schedule" scale t^power, or from the "horizon"
    sqrt(K T / (Reg + ln(2 / delta))). shared: one regression for all arms; False: one for each, learned from the arm's own rewards.
    lam: ridge parameter. model: None for ridge regression, or a regression of your own, with which rounds are plain Python: an object
    with partial_fit(X, y) and predict(X), as scikit-learn's; with learn_one(x, y) and predict_one(x), as River's; or a function of (n, d)
    rows that returns n predictions and learns elsewhere.
    """

    gamma: float
    growth: int
    scale: float
    power: float
    delta: float
    shared: bool
    lam: float
    model: Any

    def __init__(
        self,
        *,
        gamma: float | None = None,
        growth: Literal["schedule", "horizon"] = "schedule",
        scale: float = 10.0,
        power: float = 0.5,
        delta: float = 0.05,
        shared: bool = True,
        lam: float = 1.0,
        model: Any = None,
    ) -> None: ...

class TopTwoThompson(Policy):
    """Draw the best arm from the posterior, or half of the time another that may be it; stop when the data exclude all rivals.

    epsilon: how much worse than the best the named arm may be. delta: probability of a worse one. rewards: their family. noise: standard
    deviation of Gaussian rewards. threshold: of the stop, proven, or the smaller heuristic of the literature. leader_share: how often the
    first of the two is played. redraws: how often a challenger is drawn before it is computed (0: always computed).
    """

    epsilon: float
    delta: float
    rewards: int
    noise: float
    threshold: int
    leader_share: float
    redraws: int

    def __init__(
        self,
        *,
        epsilon: float = 0.0,
        delta: float = 0.05,
        rewards: Literal["bernoulli", "gaussian"] = "bernoulli",
        noise: float = 1.0,
        threshold: Literal["proven", "heuristic"] = "proven",
        leader_share: float = 0.5,
        redraws: int = 10,
    ) -> None: ...

class TopTwoUCB(Policy):
    """Play the arm of the highest upper bound, and half of the time its hardest rival instead; stop when the data exclude all rivals.

    epsilon: how much worse than the best the named arm may be. delta: probability of a worse one. rewards: their family. noise: standard
    deviation of Gaussian rewards. threshold: of the stop, proven, or the smaller heuristic of the literature. leader_share: how often the
    first of the two is played.
    """

    epsilon: float
    delta: float
    rewards: int
    noise: float
    threshold: int
    leader_share: float

    def __init__(
        self,
        *,
        epsilon: float = 0.0,
        delta: float = 0.05,
        rewards: Literal["bernoulli", "gaussian"] = "bernoulli",
        noise: float = 1.0,
        threshold: Literal["proven", "heuristic"] = "proven",
        leader_share: float = 0.5,
    ) -> None: ...

class TrackAndStop(Policy):
    """Track the proportions of samples that would be optimal if the estimates were the truth; stop when the data exclude all rivals.

    epsilon: how much worse than the best the named arm may be. delta: probability of a worse one. rewards: their family. noise: standard
    deviation of Gaussian rewards. threshold: of the stop, proven, or the smaller heuristic of the literature. plan_growth: compute the
    proportions anew after so much growth of the number of samples; 0 = always.
    """

    epsilon: float
    delta: float
    rewards: int
    noise: float
    threshold: int
    plan_growth: float

    def __init__(
        self,
        *,
        epsilon: float = 0.0,
        delta: float = 0.05,
        rewards: Literal["bernoulli", "gaussian"] = "bernoulli",
        noise: float = 1.0,
        threshold: Literal["proven", "heuristic"] = "proven",
        plan_growth: float = 0.02,
    ) -> None: ...

class TrackCKLUCB(Policy):
    """CKL-UCB whose exploration tracks the rates of the regret lower bound.

    lipschitz: L > 0, a bound on |mean difference| / distance. patience: a rival is played itself until its own evidence exceeds
    patience sqrt(f(n)); large: CKL-UCB. loglog: weight of ln ln n in f(n), or "theory" for 3K + 1. divergence: "bernoulli"
    (rewards in [0, 1]) or "gaussian" with standard deviation sigma.
    """

    lipschitz: float
    loglog: float
    divergence: int
    sigma: float
    patience: float

    def __init__(
        self,
        *,
        lipschitz: float,
        loglog: float | Literal["theory"] = 0.0,
        divergence: Literal["bernoulli", "gaussian"] = "bernoulli",
        sigma: float = 1.0,
        patience: float = 2.0,
    ) -> None: ...

class UCB(Policy):
    """Optimism for independent arms: mean + sigma sqrt(alpha ln n / pulls).

    alpha: width of the interval; 2 is UCB1. sigma: scale of the rewards (1 for rewards in [0, 1] with alpha = 2).
    forget: what a reward's weight is multiplied by each round, in (0, 1]; 1: all count the same for ever.
    """

    alpha: float
    sigma: float
    forget: float

    def __init__(
        self,
        *,
        alpha: float = 2.0,
        sigma: float = 1.0,
        forget: float = 1.0,
    ) -> None: ...

class UGapE(Policy):
    """Sample the less certain of the arm with the smallest gap bound and its rival; stop when that bound is at most epsilon.

    epsilon: how much worse than the best the named arm may be. delta: probability of a worse one. noise: sub-Gaussian scale.
    """

    epsilon: float
    delta: float
    noise: float

    def __init__(
        self,
        *,
        epsilon: float = 0.0,
        delta: float = 0.05,
        noise: float = 1.0,
    ) -> None: ...

class Uniform(Policy):
    """Round robin until LinGapE's bound closes.

    epsilon, delta, lam, noise, theta_bound, union: as for LinGapE.
    """

    epsilon: float
    delta: float
    lam: float
    noise: float
    theta_bound: float
    union: bool

    def __init__(
        self,
        *,
        epsilon: float = 0.0,
        delta: float = 0.05,
        lam: float = 1.0,
        noise: float = 1.0,
        theta_bound: float = 1.0,
        union: bool = True,
    ) -> None: ...

class XYAdaptive(Policy):
    """XY-static among the survivors, phase by phase; every phase forgets the data of the phase before.

    alpha: a phase ends when the widest surviving difference has shrunk to this share of its value at the end of the phase before.
    first_width: the squared width that the first phase is measured against; None: the widest after one pull of every arm. epsilon,
    delta, noise, constant: as for XYStatic.
    """

    epsilon: float
    delta: float
    noise: float
    alpha: float
    constant: float
    first_width: float

    def __init__(
        self,
        *,
        epsilon: float = 0.0,
        delta: float = 0.05,
        noise: float = 1.0,
        alpha: float = 0.1,
        constant: float = 2.8284271247461903,
        first_width: float | None = None,
    ) -> None: ...

class XYOracle(Policy):
    """Follow the optimal design for the true gaps; stop when the bound on every gap is below it.

    theta: (d,), the true parameter; the best arm must be unique. epsilon, delta, noise, constant: as for XYStatic. pairs: the bound
    covers all K^2 pairs of arms, as in Proposition 1; False: only the K with the best arm, which the stop compares. accuracy:
    relative, of the design.
    """

    theta: np.ndarray
    epsilon: float
    delta: float
    noise: float
    constant: float
    pairs: bool
    accuracy: float

    def __init__(
        self,
        *,
        theta: ArrayLike | None = None,
        epsilon: float = 0.0,
        delta: float = 0.05,
        noise: float = 1.0,
        constant: float = 2.8284271247461903,
        pairs: bool = True,
        accuracy: float = 0.001,
    ) -> None: ...

class XYStatic(Policy):
    """Sample what most shrinks the widest of all differences; stop when the empirical best beats every other arm by more than the bound.

    epsilon, delta: as for LinGapE. noise: scale of the rewards. constant: of the bound, 2 sqrt(2) or sqrt(2).
    """

    epsilon: float
    delta: float
    noise: float
    constant: float

    def __init__(
        self,
        *,
        epsilon: float = 0.0,
        delta: float = 0.05,
        noise: float = 1.0,
        constant: float = 2.8284271247461903,
    ) -> None: ...

class Zooming(Policy):
    """Zooming algorithm on points in [0, 1], rewards in [0, 1].

    lipschitz: L > 0, a bound on |mean difference| / distance.
    """

    lipschitz: float

    def __init__(
        self,
        *,
        lipschitz: float,
    ) -> None: ...

class CLUCB(Conservative):
    """Conservative LinUCB (Kazerouni et al. 2017)."""

    def __init__(
        self,
        *,
        baseline: int | None = None,
        baseline_mean: float | None = None,
        alpha: float = 0.05,
        delta: float = 0.01,
        sigma: float = 1.0,
        lam: float = 1.0,
        theta_bound: float = 1.0,
        arm_bound: float = 1.0,
        bound: Literal["martingale", "confidence", "oracle"] = "confidence",
        selection: Literal["constrained", "two-step", "largest-lower"] = "two-step",
        checkpoint: int | Iterable[int] = 1,
        min_gap: int | None = None,
        baseline_floor: float | None = None,
        clip: Literal["both", "paper"] = "paper",
        martingale: Literal["freedman", "subgaussian"] = "freedman",
        true_means: ArrayLike | None = None,
        model: Literal["linear", "independent"] = "linear",
        open: Literal["nothing", "lower"] = "nothing",
        baseline_index: Literal["mean", "ucb"] = "ucb",
    ) -> None: ...

class CLUCB2(Conservative):
    """CLUCB with the martingale bound and constrained selection."""

    def __init__(
        self,
        *,
        baseline: int | None = None,
        baseline_mean: float | None = None,
        alpha: float = 0.05,
        delta: float = 0.01,
        sigma: float = 1.0,
        lam: float = 1.0,
        theta_bound: float = 1.0,
        arm_bound: float = 1.0,
        bound: Literal["martingale", "confidence", "oracle"] = "martingale",
        selection: Literal["constrained", "two-step", "largest-lower"] = "constrained",
        checkpoint: int | Iterable[int] = 1,
        min_gap: int | None = None,
        baseline_floor: float | None = None,
        clip: Literal["both", "paper"] = "both",
        martingale: Literal["freedman", "subgaussian"] = "freedman",
        true_means: ArrayLike | None = None,
        model: Literal["linear", "independent"] = "linear",
        open: Literal["nothing", "lower"] = "nothing",
        baseline_index: Literal["mean", "ucb"] = "ucb",
    ) -> None: ...

class CLUCB2T(Conservative):
    """CLUCB2 verified at checkpoints only; give `checkpoint`."""

    def __init__(
        self,
        *,
        baseline: int | None = None,
        baseline_mean: float | None = None,
        alpha: float = 0.05,
        delta: float = 0.01,
        sigma: float = 1.0,
        lam: float = 1.0,
        theta_bound: float = 1.0,
        arm_bound: float = 1.0,
        bound: Literal["martingale", "confidence", "oracle"] = "martingale",
        selection: Literal["constrained", "two-step", "largest-lower"] = "constrained",
        checkpoint: int | Iterable[int] = 1,
        min_gap: int | None = None,
        baseline_floor: float | None = None,
        clip: Literal["both", "paper"] = "both",
        martingale: Literal["freedman", "subgaussian"] = "freedman",
        true_means: ArrayLike | None = None,
        model: Literal["linear", "independent"] = "linear",
        open: Literal["nothing", "lower"] = "nothing",
        baseline_index: Literal["mean", "ucb"] = "ucb",
    ) -> None: ...

class CUCB(Conservative):
    """Conservative UCB (Wu et al. 2016)."""

    def __init__(
        self,
        *,
        baseline: int | None = None,
        baseline_mean: float | None = None,
        alpha: float = 0.05,
        delta: float = 0.01,
        sigma: float = 1.0,
        lam: float = 1.0,
        theta_bound: float = 1.0,
        arm_bound: float = 1.0,
        bound: Literal["martingale", "confidence", "oracle"] = "confidence",
        selection: Literal["constrained", "two-step", "largest-lower"] = "two-step",
        checkpoint: int | Iterable[int] = 1,
        min_gap: int | None = None,
        baseline_floor: float | None = None,
        clip: Literal["both", "paper"] = "paper",
        martingale: Literal["freedman", "subgaussian"] = "freedman",
        true_means: ArrayLike | None = None,
        model: Literal["linear", "independent"] = "independent",
        open: Literal["nothing", "lower"] = "nothing",
        baseline_index: Literal["mean", "ucb"] = "mean",
    ) -> None: ...

class CUCB2(Conservative):
    """CUCB with the martingale bound and constrained selection."""

    def __init__(
        self,
        *,
        baseline: int | None = None,
        baseline_mean: float | None = None,
        alpha: float = 0.05,
        delta: float = 0.01,
        sigma: float = 1.0,
        lam: float = 1.0,
        theta_bound: float = 1.0,
        arm_bound: float = 1.0,
        bound: Literal["martingale", "confidence", "oracle"] = "martingale",
        selection: Literal["constrained", "two-step", "largest-lower"] = "constrained",
        checkpoint: int | Iterable[int] = 1,
        min_gap: int | None = None,
        baseline_floor: float | None = None,
        clip: Literal["both", "paper"] = "paper",
        martingale: Literal["freedman", "subgaussian"] = "freedman",
        true_means: ArrayLike | None = None,
        model: Literal["linear", "independent"] = "independent",
        open: Literal["nothing", "lower"] = "nothing",
        baseline_index: Literal["mean", "ucb"] = "mean",
    ) -> None: ...

class CUCB2T(Conservative):
    """CUCB2 verified at checkpoints only; give `checkpoint`."""

    def __init__(
        self,
        *,
        baseline: int | None = None,
        baseline_mean: float | None = None,
        alpha: float = 0.05,
        delta: float = 0.01,
        sigma: float = 1.0,
        lam: float = 1.0,
        theta_bound: float = 1.0,
        arm_bound: float = 1.0,
        bound: Literal["martingale", "confidence", "oracle"] = "martingale",
        selection: Literal["constrained", "two-step", "largest-lower"] = "constrained",
        checkpoint: int | Iterable[int] = 1,
        min_gap: int | None = None,
        baseline_floor: float | None = None,
        clip: Literal["both", "paper"] = "paper",
        martingale: Literal["freedman", "subgaussian"] = "freedman",
        true_means: ArrayLike | None = None,
        model: Literal["linear", "independent"] = "independent",
        open: Literal["nothing", "lower"] = "nothing",
        baseline_index: Literal["mean", "ucb"] = "mean",
    ) -> None: ...
