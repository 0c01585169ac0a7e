"""The guarantee every policy of this family keeps, whatever chooses its arms.

D and S^b are the rounds decided so far where a learner's arm and where the baseline was played. Arm
a is safe in round t iff

    TOT(a) + slack >= -1e-9,   slack = sum_{S^b} mu_b + alpha rem mu_l - (1 - alpha) sum_{i <= t}
    mu_{b_i},

TOT(a) a lower bound of the learner's reward including a, by `bound` and `martingale` (Eq 2, 4, 5-7,
12 of Garcelon et al. 2020, or that of `ledger` for rewards of a known range, which also says what
open decisions count for). A policy inherits its parameters from `Guaranteed`, makes its state by
`new_state`, calls `bound_round` before its choice and answers commit, withdraw, update and inform
by `open_round`, `withdraw_round`, `close_round` and `learn_reward`.

A reward says of which arm it is, not of which decision. So the open rounds that play their baseline
are all of one kind, D or S^b: while anything is open the baseline's index is its known mean, not
its UCB, and while a decision of D for the baseline is open a further round of the baseline counts
to D as well. Either kind keeps the promise, since the baseline's own rounds never break it.
"""

import math
from collections.abc import Iterable
from typing import Any, Literal, TypeAlias, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from ...compiled.kernels import lean
from ...core.fields import Given, Stored, checkpoints, choice, integer, real, reward_ends, vector
from ...core.policy import Policy, is_policy, label
from ...core.types import Arguments, Explanation
from ...core.verbs import Arms, Context, allowed, reward_range
from ...numerics.counts import argmax, intervals, largest, remaining
from ...numerics.ridge import ArmRidge, Ridge, check_context, new_ridge, sum_size
from ...numerics.states import longer_ridge, pad_with_zeros
from .indices import Independent, LinearLedger, TrivialLedger
from .ledger import (
    ANY_REWARD,
    BASELINE,
    BERNOULLI,
    CONFIDENCE,
    CONSTRAINED,
    EVENTS,
    FREEDMAN,
    INDEPENDENT,
    LOWER,
    MARTINGALE,
    ORACLE,
    OWN,
    SAFE_OTHER,
    TWO_STEP,
    UNSAFE,
    UNSAID,
    Bounds,
    Premises,
    Terms,
    add,
    baseline_of,
    bound_arms,
    bound_open,
    bound_totals,
    budget_bound,
    charged_noise,
    close_decision,
    count_decision,
    is_known,
    learn_reward,
    new_bounds,
    new_ledger,
    premises,
    terms,
    usual_sigma,
)

# an arm is safe down to -TOLERANCE: at t = 1/alpha the two sides are equal in exact arithmetic
TOLERANCE = 1e-9
NORM_TOLERANCE = 1e-9


class Guaranteed(Policy):
    """Parameters of the guarantee, shared by all policies of the family (see `Conservative`)."""

    baseline: Given[int | None, int] = integer(
        default=None, least=0, none="every round brings its own"
    )
    baseline_mean: Given[float | None, float] = real(default=None, least=0, none="learn it")
    alpha: float = real(default=0.05, above=0, below=1)
    delta: float = real(default=0.01, above=0, below=1)
    sigma: Given[float | None, float] = real(
        default=None, least=0, none="half the range of rewards, else 1"
    )
    lam: float = real(default=1.0, above=0)
    theta_bound: float = real(default=1.0, least=0)
    arm_bound: float = real(default=1.0, above=0)
    bound: Given[Literal["martingale", "confidence", "oracle"], int] = choice(
        "martingale", "confidence", "oracle", default="martingale"
    )
    selection: Given[Literal["constrained", "two-step", "largest-lower"], int] = choice(
        "constrained", "two-step", "largest-lower", default="constrained"
    )
    checkpoint: Given[int | Iterable[int], np.ndarray] = checkpoints(default=1)
    min_gap: Given[int | None, int] = integer(
        default=None, least=1, none="checkpoints are known beforehand"
    )
    baseline_floor: Given[float | None, float] = real(
        default=None, least=0, none="baseline_mean if fixed, else 0"
    )
    clip: Given[Literal["both", "paper", "joint"], int] = choice(
        "both", "paper", "joint", default="both"
    )
    martingale: Given[Literal["bernoulli", "freedman", "subgaussian"] | None, int] = choice(
        "bernoulli", "freedman", "subgaussian", default=None, none="by rewards"
    )
    rewards: Given[tuple[float, float] | None, tuple[float, float]] = reward_ends(
        default=None, words="the inner policy's or the problem's"
    )
    constants: Given[Literal["proved", "paper"], int] = choice("proved", "paper", default="proved")
    martingale_sigma: Given[float | None, float] = real(default=None, least=0, none="sigma")
    true_means: Given[ArrayLike | None, np.ndarray] = vector(
        default=None, least=0, words="(K,) true means, for bound='oracle'"
    )
    model: Given[Literal["linear", "independent"], int] = choice(
        "linear", "independent", default="linear"
    )
    open: Given[Literal["nothing", "lower"], int] = choice("nothing", "lower", default="nothing")

    @staticmethod
    def complete(stored: Stored) -> Stored:
        check_premises(stored)
        check_means(
            stored["rewards"],
            {name: stored[name] for name in ("baseline_mean", "baseline_floor", "true_means")},
        )
        return stored

    def reward_range(self):
        return declared_range(self)

    def with_rewards(self, arms):
        return with_range(self, arms)


def declared_range(policy: Any) -> tuple[float, float]:
    """The rewards that a guarantee can take in: those that are declared, and that its inner policy
    takes."""
    inner = reward_range(policy.inner) if hasattr(policy, "inner") else ANY_REWARD
    return max(policy.rewards[0], inner[0]), min(policy.rewards[1], inner[1])


def with_range(policy: Any, arms: Arms) -> Any:
    """A guarantee for arms that pay such rewards. Where nobody says which, arms without features
    are taken to pay rewards in [0, 1], unless the bound of the policy does not need them
    bounded."""
    if is_known(reward_range(policy)):
        return policy
    if arms.rewards is not None and not is_known(arms.rewards):
        return policy._replace(martingale=FREEDMAN) if policy.martingale < 0 else policy
    if arms.rewards is None and (
        arms.dimension or arms.oracle is not None or policy.martingale > BERNOULLI
    ):
        return policy
    low, high = arms.rewards or (0.0, 1.0)
    return policy._replace(
        rewards=(low, high),
        sigma=usual_sigma(low, high) if math.isnan(policy.sigma) else policy.sigma,
    )


def check_means(rewards: tuple[float, float], means: Stored) -> None:
    low, high = (0.0, 1.0) if rewards == ANY_REWARD else rewards
    for name, values in means.items():
        for mean in np.atleast_1d(values):
            if mean < low or mean > high:
                raise ValueError(
                    f"{name} = {mean:g} is outside [{low:g}, {high:g}], where rewards are; give "
                    "rewards=(lowest, highest) for others."
                )


def check_premises(stored: Stored) -> None:
    """Refuse checkpoints closer than min_gap, policies that forget, and rewards that the inner
    policy refuses."""
    inner, (low, high) = stored.get("inner"), stored["rewards"]
    refuse_forgetting(inner)
    if is_policy(inner) and not max(low, reward_range(inner)[0]) < min(
        high, reward_range(inner)[1]
    ):
        least, most = reward_range(inner)
        raise ValueError(
            f"rewards = ({low:g}, {high:g}), but inner = {label(inner)} takes rewards in "
            f"[{least:g}, {most:g}]; give a part of that."
        )
    listed, gap = stored["checkpoint"], stored["min_gap"]
    if gap > 0 and listed[0] != -1:
        nearest = int(-listed[0] if listed[0] < 0 else np.diff(listed, prepend=0).min())
        if nearest < gap:
            raise ValueError(
                f"min_gap = {gap} exceeds {nearest}, the smallest gap of checkpoint; give at most "
                "that."
            )


def refuse_forgetting(inner: object) -> None:
    """Refuse a policy that forgets, or has one inside it: it is for means that drift, of which the
    bounds here say nothing."""
    if is_policy(inner):
        if getattr(inner, "forget", 1.0) < 1.0:
            raise ValueError(
                f"inner = {label(inner)} forgets because means drift, but the guarantee bounds "
                "what was earned by means that stay as they are and would not hold; take forget=1."
            )
        for item in inner:
            refuse_forgetting(item)


ArmLedger: TypeAlias = Independent | LinearLedger | TrivialLedger
A = TypeVar("A", bound=ArmLedger)


def new_state(
    policy: Guaranteed, arms: Arms, promised: tuple[Premises, Terms] | None = None
) -> Independent | LinearLedger:
    """promised: where that does not follow from the policy's own parameters."""
    K = arms.number
    if policy.baseline >= K:
        raise ValueError(f"baseline = {policy.baseline} is not an arm; the arms are 0 to {K - 1}.")
    if policy.bound == ORACLE and policy.true_means.size != K:
        raise ValueError(
            f"true_means has length {policy.true_means.size}, but bound = 'oracle' needs the {K} "
            "true means."
        )
    if policy.bound == ORACLE and arms.dimension and arms.features is None:
        raise ValueError(
            "bound = 'oracle' needs arms whose means do not change; these come with new features "
            "every round."
        )
    linear = policy.model != INDEPENDENT and arms.dimension
    if promised is None:
        dimension = arms.dimension if linear else 0
        promised = premises(policy, arms.rewards, dimension, K), terms(policy)
    ledger, bounds = new_ledger(K, *promised), new_bounds(K)
    if not linear:
        bounds.upper[:], bounds.lower[:] = np.inf, ledger["low"]
        return Independent._make(
            (ledger, bounds, *(np.zeros(K) for _ in range(5)), np.zeros((2, K), dtype=np.int64))
        )
    if arms.features is not None:
        check_norms(policy, arms.features)
    if arms.common and K > 1:
        raise ValueError(
            "the guarantee rests on one regression for all arms, but a round shows all of them "
            "the same row of features, so that it bounds every arm alike; give each arm a row of "
            "its own, (K, d), as the context in the arm's block and zeros elsewhere."
        )
    model = new_ridge(arms, policy.lam)
    size = sum_size(model)
    return LinearLedger(
        ledger,
        bounds,
        np.zeros(K),
        model,
        np.zeros(size),
        np.zeros(size),
        np.zeros(size),
        np.zeros(size),
        np.zeros(K),
        arms.features is not None,
    )


def longer_state(policy: Guaranteed, state: A, fresh: A, arms: Arms) -> A:
    """The ledger and its estimates with more arms, of which nothing is known but the lowest reward;
    see `Independent` for what that means where each arm has a width of its own. The ledger does not
    care which arm earned what. O(K), or that of a new factorisation.

    fresh: the state of all arms before the first round.
    """
    K, count = state.bounds.lower.size, arms.number
    if policy.bound == CONFIDENCE and isinstance(state, Independent):
        raise ValueError(
            "bound = 'confidence' adds up lower bounds of arms, and those of new arms would stay "
            "at the lowest reward; take bound = 'martingale' to add arms."
        )
    bounds = Bounds(
        *(
            np.concatenate([old, new[K:]])
            for old, new in zip(state.bounds, fresh.bounds, strict=True)
        )
    )
    if isinstance(state, TrivialLedger):
        return state._replace(bounds=bounds, open=pad_with_zeros(state.open, count))
    if isinstance(state, Independent):
        counts: Arguments = {
            name: pad_with_zeros(getattr(state, name), count)
            for name in ("open", "own", "pulls", "sums", "mean")
        }
        return state._replace(
            bounds=bounds, slopes=np.pad(state.slopes, ((0, 0), (0, count - K))), **counts
        )
    model = longer_ridge(state.model, arms, policy.lam)
    weights: Arguments = {
        name: longer_sum(getattr(state, name), state.model, model)
        for name in ("played", "awaited", "owed", "point")
    }
    return state._replace(
        bounds=bounds,
        open=pad_with_zeros(state.open, count),
        model=model,
        cross=np.zeros(count),
        **weights,
    )


def longer_sum(total: np.ndarray, old: Ridge, model: Ridge) -> np.ndarray:
    """A sum of features as another model's `add_features` has it: weights of arms, or a vector."""
    size = sum_size(model)
    if not isinstance(old, ArmRidge):
        return total
    return (
        pad_with_zeros(total, size)
        if isinstance(model, ArmRidge)
        else np.asarray(total @ old.features)
    )


def check_norms(policy: Guaranteed, features: np.ndarray) -> None:
    norms = np.linalg.norm(features, axis=1)
    k = int(np.argmax(norms))
    if norms[k] > policy.arm_bound * (1 + NORM_TOLERANCE):
        raise ValueError(
            f"arm {k} has norm {norms[k]:.6g}, but arm_bound = {policy.arm_bound:g} bounds all "
            "norms; raise it or scale the features."
        )


def check_round(policy: Guaranteed, state: Independent | LinearLedger, context: Context) -> None:
    """Refuse a round whose baseline or features break what the guarantee rests on."""
    K = state.bounds.lower.size
    if context.baseline is None and policy.baseline < 0:
        raise ValueError(
            "baseline is missing; give the policy an arm, or every round its baseline in "
            "Context(baseline=...)."
        )
    if context.baseline is not None and not 0 <= context.baseline < K:
        raise ValueError(f"baseline = {context.baseline} is not an arm; the arms are 0 to {K - 1}.")
    highest = float(state.ledger["low"][0] + state.ledger["span"][0])
    if context.baseline_mean is not None and not 0 <= context.baseline_mean <= highest:
        raise ValueError(
            f"baseline_mean = {context.baseline_mean} is not a number in [0, {highest:g}]."
        )
    if (
        context.baseline is not None
        and context.baseline_mean is None
        and state.ledger["known"][0] == UNSAID
        and isinstance(state, Independent)
    ):
        raise ValueError(
            "baseline_mean is missing; the mean of a baseline that changes can be learned only by "
            "model='linear' on arms with features."
        )
    if context.features is not None and isinstance(state, LinearLedger):
        check_norms(policy, context.features)
        check_context(state.model, context.features)


@lean
def bound_round(policy, state, context):
    """Everything the choice of round t rests on: bounds, TOT, slack, and what a safe arm is
    compared with."""
    ledger = state.ledger[0]
    baseline, mean = baseline_of(policy, context, ledger)
    bound_arms(state, policy, context)
    ahead = remaining(policy.checkpoint, policy.min_gap, int(ledger.place), int(ledger.rounds) + 1)
    ledger.reference = state.bounds.upper[baseline] if math.isnan(mean) else mean
    ledger.slack = bound_totals(state, policy, context, baseline, mean, ahead)
    return baseline, mean


@lean
def is_safe(state, arm):
    """Whether TOT(a) + slack >= 0, up to rounding."""
    return state.bounds.total[arm] + state.ledger[0].slack >= -TOLERANCE


@lean
def fall_back(policy, state, context, baseline):
    """The arm that is played instead of one that is not safe, by `selection`; the baseline if no
    safe arm promises more."""
    bounds, eligible, slack = state.bounds, context.eligible, state.ledger[0].slack
    if policy.selection != TWO_STEP:
        constrained = policy.selection == CONSTRAINED
        offer, total, promised = (
            bounds.offer,
            bounds.total,
            bounds.upper if constrained else bounds.lower,
        )
        for k in range(
            offer.shape[0]
            # a pass of its own: a running maximum under two conditions compiles to a chain three
            # times as long
        ):
            offer[k] = promised[k] if total[k] + slack >= -TOLERANCE else -math.inf
        offer[baseline] = -math.inf
        top, reference = largest(offer, eligible), state.ledger[0].reference
        promising = top > reference or (constrained and top == reference)
        if top > -math.inf and (promising or not allowed(eligible, baseline)):
            return first_of(offer, top, eligible)
    if allowed(eligible, baseline):
        return baseline
    return argmax(bounds.total, eligible)  # the baseline cannot be played: the arm that risks least


@lean
def first_of(values, top, eligible):
    for k in range(values.shape[0]):
        if values[k] == top and allowed(eligible, k):
            return k
    return -1


@lean
def why_instead(state, arm, baseline):
    if arm == baseline:
        return BASELINE
    return SAFE_OTHER if is_safe(state, arm) else UNSAFE


@lean
def open_round(policy, state, context, arm):
    """Decide round t: the ledger counts it, its reward is awaited. Right after the choice."""
    ledger = state.ledger[0]
    baseline, mean = baseline_of(policy, context, ledger)
    explored = (
        arm != baseline
        or ledger.baseline_open > 0.0
        or (ledger.event == OWN and ledger.choice == arm)
    )
    enter_decision(policy, state, context, baseline, mean, arm, explored, 1.0)
    listed, place = policy.checkpoint, int(ledger.place)
    if place < listed.shape[0] and listed[place] == ledger.rounds:
        ledger.place += 1.0


@lean
def withdraw_round(policy, state, context, arm):
    ledger = state.ledger[0]
    baseline, mean = baseline_of(policy, context, ledger)
    if not is_open(state, baseline, arm):
        raise ValueError("no decision of this arm is open; only an open decision can be withdrawn.")
    explored = arm != baseline or ledger.baseline_open > 0.0
    enter_decision(policy, state, context, baseline, mean, arm, explored, -1.0)
    place = int(ledger.place)
    if place > 0 and policy.checkpoint[place - 1] > ledger.rounds:
        ledger.place -= 1.0


@lean
def enter_decision(policy, state, context, baseline, mean, arm, explored, sign):
    """Add a decision to the ledger: sign 1.0; take it out again: sign -1.0."""
    ledger = state.ledger[0]
    if explored:
        ledger.explored += sign
        if arm == baseline:
            ledger.baseline_open += sign
        if policy.bound == ORACLE:
            add(ledger.truth, sign * policy.true_means[arm])
    else:
        ledger.conserved += sign
        ledger.conserved_open += sign
    if not math.isnan(mean):
        add(ledger.promised, sign * mean)
        if not explored:
            add(ledger.earned, sign * mean)
    ledger.rounds += sign
    count_decision(state, policy, context, baseline, mean, arm, explored, sign)


@lean
def is_open(state, baseline, arm):
    ledger = state.ledger[0]
    if arm == baseline:
        return ledger.baseline_open > 0.0 or ledger.conserved_open > 0.0
    return state.open[arm] > 0.0


@lean
def close_round(policy, state, context, arm, reward):
    """Take in the reward of an open decision; where none of the arm is open it is data from
    elsewhere."""
    ledger = state.ledger[0]
    baseline, mean = baseline_of(policy, context, ledger)
    if not is_open(state, baseline, arm):
        learn_reward(state, policy, context, arm, reward)
    elif arm != baseline or ledger.baseline_open > 0.0:
        ledger.closed += 1.0
        if arm == baseline:
            ledger.baseline_open -= 1.0
        add(ledger.rewards, reward)
        close_decision(state, policy, context, arm)
        learn_reward(state, policy, context, arm, reward)
    else:
        ledger.conserved_open -= 1.0
        if math.isnan(mean):
            learn_reward(state, policy, context, arm, reward)


# An explanation in this family: the numbers of the round's decision, and one sentence.


def explanation(
    policy: Guaranteed, state: ArmLedger, context: Context, first: int, arm: int, event: int
) -> Explanation:
    """Report on a state whose `bound_round` has just run: `first` is what the learner wanted, `arm`
    what is played, `event` why."""
    ledger, bounds = state.ledger[0], state.bounds
    baseline, mean = (
        number.item() if isinstance(number, np.generic) else number
        for number in baseline_of(policy, context, ledger)
    )
    total, slack, reference = bounds.total.copy(), float(ledger.slack), float(ledger.reference)
    budget = float(budget_bound(state, policy, context, baseline, mean))
    if isinstance(state, LinearLedger):
        estimate, width, beta = (
            state.model.mean.copy(),
            bounds.upper - state.model.mean,
            float(ledger.beta),
        )
    elif isinstance(state, Independent):
        estimate, width, beta = (
            np.where(state.pulls > 0, state.mean, np.nan),
            bounds.upper - state.mean,
            math.nan,
        )
    else:
        estimate, width, beta = np.full(total.size, np.nan), bounds.upper.copy(), math.nan
    report = intervals(estimate, width)
    report["lower"], report["upper"] = bounds.lower.copy(), bounds.upper.copy()
    ahead = remaining(policy.checkpoint, policy.min_gap, int(ledger.place), int(ledger.rounds) + 1)
    needed = budget - total - slack  # what playing each arm would take off the bound at worst
    return report | {
        "safe": total + slack >= -TOLERANCE,
        "slack": slack,
        "total": total,
        "budget_bound": budget,
        "psi": float(charged_noise(policy, ledger)),
        "beta": beta,
        "event": EVENTS[event],
        "checkpoint_in": int(ahead),
        "open": open_decisions(policy, state),
        "reason": sentence(first, arm, event, baseline, budget, needed, report["upper"], reference),
    }


def open_decisions(policy: Guaranteed, state: ArmLedger) -> Explanation:
    """How many rounds await their reward, and what they count for.

    `decisions` of the learner, rounds of the `baseline`; what the learner's are `charged` at is
    their part of the lower bound of what was earned, NaN where they are bounded together with all
    others.
    """
    ledger, charged = state.ledger[0], math.nan
    if policy.bound == MARTINGALE:
        charged = float(bound_open(state)) if policy.open == LOWER else 0.0
    return {
        "decisions": int(ledger.explored - ledger.closed),
        "baseline": int(ledger.conserved_open),
        "charged": charged,
    }


def sentence(
    first: int,
    arm: int,
    event: int,
    baseline: int,
    budget: float,
    needed: np.ndarray,
    upper: np.ndarray,
    reference: float,
) -> str:
    short = f"budget {budget:.3g} short of {needed[first]:.3g} needed for arm {first}"
    if event == UNSAFE:
        return (
            f"arm {arm}: no arm is safe and baseline {baseline} is not eligible; of the eligible "
            f"arms this one risks least, but budget {budget:.3g} does not cover the "
            f"{needed[arm]:.3g} it needs: the promise does not hold in this round"
        )
    if event == OWN:
        return (
            f"arm {arm}: the learner's first choice, and budget {budget:.3g} covers the "
            f"{needed[arm]:.3g} it needs"
        )
    if event == BASELINE:
        if first == baseline:
            return f"baseline: no arm promises more than its {reference:.3g}"
        if budget >= needed[first] - TOLERANCE:
            return (
                f"baseline: the safe arms promise at most {upper[first]:.3g}, less than its "
                f"{reference:.3g}"
            )
        return f"baseline: {short}"
    return f"arm {arm}: {short}, but arm {arm} is safe"
