"""CUCB, CLUCB and their improvements: optimism that never falls more than a fraction alpha behind a
known baseline.

When to use it: a baseline runs in production, its mean reward is known (or can be learned), and no
loss beyond alpha of what it would have earned may happen while something better is looked for.
Bound: the constraint holds in every round (checkpoint) with probability 1 - delta, regret as UCB /
LinUCB plus
O(K / (alpha mu_b)) resp. O(d^2 / (alpha mu_l)^2) rounds of the baseline, up to logarithms. delta is
shared: with "bernoulli" half for the sum and half for the arms, else pi^2 / 18 = .548 for psi and
.452 for widths ln(2.66 K s^3 / delta), or for the ellipsoid where it needs it.
Source: Garcelon, Ghavamzadeh, Lazaric, Pirotta 2020, Eq 2-12 and Algorithm 1 (CUCB2, CLUCB2,
CLUCB2T); Wu, Shariff, Lattimore, Szepesvari 2016 (CUCB); Kazerouni, Ghavamzadeh, Abbasi-Yadkori,
Van Roy 2017 (CLUCB).
Deviations: rewards of a known range are bounded by the supermartingale in `ledger`, not by Eq 5 and
Wu et al.'s widths. The papers charge the whole delta to psi and to widths ln(K s^3 / delta) alike,
which proves 1 - 1.75 delta; so does constants = "paper". For d = 1 Eq 3 has ln(1 / delta) where 2
ln(1 / delta) is needed, and here it is. r_b in Eq 8 is read as mu_b. Linear lower bounds are
clipped at 0 also in Eq 7's sum unless clip = "paper". Where the baseline is not eligible and no arm
is safe, the eligible arm with the largest TOT is played. Rewards may come late, in any order or
never: `open` says what a decision without its reward has earned (ours, not in the papers).
Per round: O(K), linear O(K^2) or O(K d + d^2) with fixed arms, O(K d^2) with new features.
"""

import math
from typing import Literal

from ...compiled.kernels import jit, lean
from ...core.fields import Given, choice
from ...core.policy import policy, preset
from ...numerics.counts import argmax, largest, one_hot
from .guarantee import (
    Guaranteed,
    bound_round,
    check_round,
    close_round,
    explanation,
    fall_back,
    first_of,
    is_safe,
    longer_state,
    new_state,
    open_round,
    why_instead,
    withdraw_round,
)
from .ledger import (
    CONSTRAINED,
    INDEPENDENT,
    OWN,
    SAFE_OTHER,
    anything_open,
    index_by_rounds,
    learn_reward,
)

MEAN_INDEX, UCB_INDEX = range(2)
INTERVAL_INDEX, ROUNDS_INDEX = range(2)


@policy(
    "arms",
    "features",
    "contexts",
    paper="Garcelon, Ghavamzadeh, Lazaric, Pirotta 2020",
    examples=(
        {
            "policy": "CUCB2T",
            "baseline": 0,
            "alpha": 0.3,
            "sigma": 0.2,
            "baseline_mean": 0.4,
            "checkpoint": 7,
        },
        {"policy": "CLUCB", "baseline": 0, "alpha": 0.3, "sigma": 0.2, "baseline_mean": 0.4},
        {
            "policy": "CLUCB2T",
            "baseline": 0,
            "alpha": 0.3,
            "sigma": 0.2,
            "selection": "largest-lower",
            "checkpoint": [5, 11, 30],
        },
    ),
)
class Conservative(Guaranteed):
    """Optimism under the constraint that cumulative mean reward stays >= (1 - alpha) times the
    baseline's.

    Parameters
    ----------
    baseline : whole number from 0, or None (every round brings its own), default None
        Its arm; None: `Context.baseline` names it every round.
    baseline_mean : number in [0, inf), or None (learn it), default None
        Its known mean, at least 0 (or `Context.baseline_mean`); None: learn it (then the baseline
        must be one arm, or linear).
    alpha : number in (0, 1), default 0.05
        Share of the baseline's reward that may be lost.
    delta : number in (0, 1), default 0.01
        Probability that the constraint is broken at any time.
    sigma : number in [0, inf), or None (half the range of rewards, else 1), default None
        Sub-Gaussian scale of the noise, for psi, widths and the ellipsoid; half the range of
        rewards suffices, and is what None stands for where it is declared, at least 1 elsewhere.
    lam : number in (0, inf), default 1.0
        Ridge parameter.
    theta_bound : number in [0, inf), default 1.0
        Bound on ||theta||.
    arm_bound : number in (0, inf), default 1.0
        Bound on the norms of all features.
    bound : 'martingale' or 'confidence' or 'oracle', default 'martingale'
        Of the reward earned: "martingale" (Eq 5-7, 12), "confidence" (Eq 4) or "oracle"
        (true_means, for simulations).
    selection : 'constrained' or 'two-step' or 'largest-lower', default 'constrained'
        "constrained" (Eq 8), "two-step" (the UCB arm or the baseline), "largest-lower" (Wu et al.'s
        remark). With bound = "confidence" the literal joint minimum admits arms that point away
        from all that was played; take clip = "both".
    checkpoint : whole number T from 1 (every T rounds), or increasing rounds, default 1
        Verify every T rounds, or at these increasing rounds (after the last: at every one).
    min_gap : whole number from 1, or None (checkpoints are known beforehand), default None
        Checkpoints are not known beforehand, but at least so far apart; those in `checkpoint` are
        known once past. For a random gap take its lower delta/2 quantile.
    baseline_floor : number in [0, inf), or None (baseline_mean if fixed, else 0), default None
        mu_l, what the baseline earns at least in rounds to come.
    clip : 'both' or 'paper' or 'joint', default 'both'
        Mean rewards are >= 0, so lower bounds are clipped at 0: "both" the sum's and the arm's, or
        as in the "paper" (Eq 4, 6: neither; 7: the arm's; 12: both), or "joint": Eq 4's minimum for
        sum and arm together, else as in the paper.
    martingale : 'bernoulli' or 'freedman' or 'subgaussian', or None (by rewards), default None
        "bernoulli" bounds rewards of a known range, sums and independent arms alike, by how much
        they vary, without sigma; "freedman" is psi, "subgaussian" psi without (2/3) L. None:
        "bernoulli" where the range of rewards is known, else "freedman".
    rewards : (lowest, highest), or None (the inner policy's or the problem's), default None
        The lowest and the highest reward, such as (0, 40) for a price of 40; others are refused.
        Without it a session of arms without features takes rewards in [0, 1]; with features give
        it, else psi is used.
    constants : 'proved' or 'paper', default 'proved'
        "proved", or "paper", see Deviations.
    martingale_sigma : number in [0, inf), or None (sigma), default None
        Scale of psi; None: sigma, that of the intervals.
    true_means : (K,) true means, for bound='oracle', or None, default None
        The arms' true means, for bound="oracle".
    model : 'linear' or 'independent', default 'linear'
        "independent" ignores features.
    open : 'nothing' or 'lower', default 'nothing'
        What a decision has earned while its reward is not in. "nothing", the lowest reward, is
        sound for any delay (linear models: if rewards are taken in by order of decision, or when
        they arrive does not depend on them). "lower", its arm's lower bound, is less cautious and
        sound only if when a reward arrives does not depend on what it is: a purchase reported at
        once and a non-purchase after a week break it.
    baseline_index : 'mean' or 'ucb', default 'mean'
        The baseline's index in the two-step argmax: its "mean", or its own "ucb" (if optimistic and
        safe it is then explored).
    index : 'interval' or 'rounds', default 'interval'
        What is promising: the upper end of an "interval", or "rounds": mean + sqrt(ln t / n) of
        plain UCB, for independent arms and a known baseline. The promise rests on lower bounds
        alone and holds with either.
    """

    baseline_index: Given[Literal["mean", "ucb"], int] = choice("mean", "ucb", default="mean")
    index: Given[Literal["interval", "rounds"], int] = choice(
        "interval", "rounds", default="interval"
    )

    def init(self, arms):
        if self.index == ROUNDS_INDEX and (
            math.isnan(self.baseline_mean) or (self.model != INDEPENDENT and arms.dimension)
        ):
            raise ValueError(
                "index = 'rounds' needs independent arms and a known baseline_mean; give both, or "
                "take index = 'interval' for linear arms or a baseline that is learned."
            )
        return new_state(self, arms)

    @jit
    def select(self, state, context, rng):
        return choose(self, state, context)

    @jit
    def commit(self, state, context, action):
        open_round(self, state, context, action)
        return state

    @jit
    def withdraw(self, state, context, action):
        withdraw_round(self, state, context, action)
        return state

    @jit
    def update(self, state, context, action, reward):
        close_round(self, state, context, action, reward)
        return state

    @jit
    def inform(self, state, context, action, reward):
        learn_reward(state, self, context, action, reward)
        return state

    @jit
    def event(self, state, action):
        return int(state.ledger[0].event)

    def grow(self, state, arms):
        return longer_state(self, state, new_state(self, arms), arms)

    def admit(self, state, context):
        check_round(self, state, context)

    def explain(self, state, context, rng):
        arm = choose(self, state, context)
        index = state.bounds.index.copy()
        report = explanation(
            self, state, context, argmax(index, context.eligible), arm, int(state.ledger[0].event)
        )
        return report | {"index": index, "probability": one_hot(arm, index.size)}


@lean
def choose(policy, state, context):
    baseline, mean = bound_round(policy, state, context)
    if policy.index == ROUNDS_INDEX:
        index_by_rounds(state, state.ledger[0].rounds + 1.0)
    ledger, index, upper = state.ledger[0], state.bounds.index, state.bounds.upper
    for k in range(index.shape[0]):
        index[k] = upper[k]
    constrained = policy.selection == CONSTRAINED
    if constrained:
        index[baseline] = ledger.reference  # Eq 8 compares the other arms with it
    elif not math.isnan(mean) and (policy.baseline_index == MEAN_INDEX or anything_open(ledger)):
        index[baseline] = mean
    top = largest(index, context.eligible)
    arm, why = first_of(index, top, context.eligible), OWN
    if (
        arm < 0
        or not is_safe(state, arm)
        or (arm == baseline and (constrained or not may_explore(policy, ledger, mean)))
    ):
        arm = fall_back(policy, state, context, baseline)
        why = why_instead(state, arm, baseline)
        if constrained and why == SAFE_OTHER and index[arm] >= top:
            why = OWN
    ledger.event, ledger.choice = why, arm
    return arm


@lean
def may_explore(policy, ledger, mean):
    return policy.baseline_index == UCB_INDEX and not math.isnan(mean) and not anything_open(ledger)


_INDEPENDENT = {"model": "independent", "baseline_index": "mean", "clip": "paper"}
_LINEAR = {"model": "linear", "baseline_index": "ucb"}


@preset("arms", bound="confidence", selection="two-step", **_INDEPENDENT)
class CUCB(Conservative):
    """Conservative UCB (Wu et al. 2016).

    The arm with the largest upper bound is played if it is safe, with every earlier decision
    counted at its arm's lower bound; otherwise the baseline. CUCB2 keeps the same promise with a
    bound that does not grow with the number of arms.
    """


@preset("arms", **_INDEPENDENT)
class CUCB2(Conservative):
    """CUCB with the martingale bound and constrained selection.

    What was earned is counted by the rewards themselves less what luck can have added, which does
    not know how many arms there are, and of all safe arms the most promising is played if it
    promises at least what the baseline earns.
    """


@preset("arms", **_INDEPENDENT)
class CUCB2T(Conservative):
    """CUCB2 verified at checkpoints only; give `checkpoint`.

    Until the next checkpoint the baseline's rounds to come may be spent before they are played,
    each at least baseline_floor. The budget is not negative at checkpoints; between two of them it
    may be.
    """

    NEEDED = ("checkpoint", "min_gap")


@preset(bound="confidence", selection="two-step", clip="paper", **_LINEAR)
class CLUCB(Conservative):
    """Conservative LinUCB (Kazerouni et al. 2017).

    CUCB for arms with features: the worst case of all that was earned, and of the arm about to be
    played, is taken over one ellipsoid.
    """


@preset(**_LINEAR)
class CLUCB2(Conservative):
    """CLUCB with the martingale bound and constrained selection.

    Rewards are counted as they came in, and only the arm about to be played needs a lower bound.
    With low noise the range term of psi is most of it: martingale="subgaussian" drops it and is
    right for sub-Gaussian noise.
    """


@preset(**_LINEAR)
class CLUCB2T(Conservative):
    """CLUCB2 verified at checkpoints only; give `checkpoint`.

    As CUCB2T for arms with features: the budget is not negative at checkpoints; between two of them
    it may be.
    """

    NEEDED = CUCB2T.NEEDED
