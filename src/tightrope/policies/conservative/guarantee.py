"""The guarantee every policy of this family keeps, whatever chooses its arms.

S and S^b are the rounds so far where a learner's arm and where the baseline was played. Arm a is safe in round t iff

    TOT(a) + slack >= -1e-9,   slack = sum_{S^b} mu_b + alpha rem mu_l - (1 - alpha) sum_{i <= t} mu_{b_i},

TOT(a) a lower bound of the learner's reward including a, by `bound` (Eq 2, 4, 5-7, 12 of Garcelon et al. 2020). The state is one
of two classes, `Independent` (pulls and sums, O(K) a round) and `Linear` (a ridge regression), and the verbs below are answered
by each. Policies bring the parameters: `limits` lists what they must have.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from ..._jit import lean
from ...numerics.budget import (
    TOLERANCE,
    add,
    amount,
    collect,
    ellipsoid_radius,
    martingale_radius,
    project,
    pull_radius,
    remaining,
    sum_size,
)
from ...numerics.ridge import learn, new_ridge, predict
from ...numerics.ties import argmax
from ...parameters import checkpoints, choice, optional_integer, optional_real, real, vector
from ...verbs import allowed, either, lean_verb

MARTINGALE, CONFIDENCE, ORACLE = range(3)
CONSTRAINED, TWO_STEP, LARGEST_LOWER = range(3)
CLIP_BOTH, CLIP_PAPER = range(2)
FREEDMAN = 0
LINEAR, INDEPENDENT = range(2)
OWN, SAFE_OTHER, BASELINE = range(3)
EVENTS = ("ucb", "safe-other", "baseline")
NORM_TOLERANCE = 1e-9


class Limits:
    """Parameters of the guarantee, shared by all policies of the family (see `Conservative`)."""

    baseline: int = optional_integer(least=0, words="every round brings its own")
    baseline_mean: float = optional_real(least=0, most=1, words="learn it")
    alpha: float = real(0.05, above=0, below=1)
    delta: float = real(0.01, above=0, below=1)
    sigma: float = real(1.0, least=0)
    lam: float = real(1.0, above=0)
    theta_bound: float = real(1.0, least=0)
    arm_bound: float = real(1.0, above=0)
    bound: int = choice("martingale", "confidence", "oracle")
    selection: int = choice("constrained", "two-step", "largest-lower")
    checkpoint: np.ndarray = checkpoints(1)
    min_gap: int = optional_integer(least=1, words="checkpoints are known beforehand")
    baseline_floor: float = optional_real(least=0, most=1, words="baseline_mean if that is fixed, else 0")
    clip: int = choice("both", "paper")
    martingale: int = choice("freedman", "subgaussian")
    true_means: np.ndarray = vector(least=0, most=1, words="(K,) true means, for bound='oracle'")
    model: int = choice("linear", "independent")

    @staticmethod
    def settle(stored: dict[str, Any]) -> dict[str, Any]:
        """Refuse checkpoints closer than min_gap."""
        listed, gap = stored["checkpoint"], stored["min_gap"]
        if gap > 0 and listed[0] != -1:
            nearest = int(-listed[0] if listed[0] < 0 else np.diff(listed, prepend=0).min())
            if nearest < gap:
                raise ValueError(f"min_gap = {gap} exceeds {nearest}, the smallest gap of checkpoint; give at most that.")
        return stored


# A state is few arrays, because compiled code counts references to each of them at every call. Places in `book`:
ROUNDS = 0  # t - 1
EXPLORED = 1  # |S|
CONSERVED = 2  # |S^b|
REWARDS = 3  # sum_S r; two places, a compensated sum
EARNED = 5  # sum_{S^b} mu_b
PROMISED = 7  # sum_{i < t} mu_{b_i}
TRUTH = 9  # sum_S mu, for bound = "oracle"
PLACE = 11  # position of the next listed checkpoint
EVENT, CHOICE = 12, 13  # of the last select
SLACK, SECURED, REFERENCE = 14, 15, 16  # of this round: slack, bound of sum_S mu, what a safe arm's bound is compared with
SIZE = 17
LOWER, UPPER, TOTAL, INDEX = range(4)  # rows of `arms`: LCB (independent: clipped at 0), UCB, TOT(a), index
PULLS, SUMS, MEAN = range(3)  # rows of `counts`
PLAYED, OWED, POINT = range(3)  # rows of `sums`: z = sum_S x; sum_{S^b} x_b - (1 - alpha) sum_{i < t} x_b; scratch


class Independent(NamedTuple):
    book: np.ndarray  # (SIZE,)
    arms: np.ndarray  # (4, K)
    counts: np.ndarray  # (3, K)


class Linear(NamedTuple):
    book: np.ndarray  # (SIZE,)
    arms: np.ndarray  # (4, K)
    model: Any  # a ridge
    sums: np.ndarray  # (3, K) or (3, d), as the model's `collect` has it
    cross: np.ndarray  # (K,) scratch
    beta: np.ndarray  # (1,)
    fixed: bool  # the arms do not change


def new_state(policy: Any, arms: Any) -> Any:
    """Empty books, after checking the policy's parameters against the arms."""
    K = arms.number
    if policy.baseline >= K:
        raise ValueError(f"baseline = {policy.baseline} is not an arm; the arms are 0 to {K - 1}.")
    if policy.bound == ORACLE and policy.true_means.size != K:
        raise ValueError(f"true_means has length {policy.true_means.size}, but bound = 'oracle' needs the {K} true means.")
    if policy.bound == ORACLE and arms.dimension and arms.features is None:
        raise ValueError("bound = 'oracle' needs arms whose means do not change; these come with new features every round.")
    book, bounds = np.zeros(SIZE), np.zeros((4, K))
    book[EVENT], book[CHOICE] = BASELINE, -1
    if policy.model == INDEPENDENT or not arms.dimension:
        bounds[UPPER] = np.inf
        return Independent(book, bounds, np.zeros((3, K)))
    if arms.features is not None:
        check_norms(policy, arms.features)
    model = new_ridge(arms, policy.lam)
    return Linear(book, bounds, model, np.zeros((3, sum_size(model))), np.zeros(K), np.zeros(1), arms.features is not None)


def check_norms(policy: Any, features: np.ndarray) -> None:
    """Refuse features longer than the confidence radius assumes."""
    norms = np.linalg.norm(features, axis=1)
    k = int(np.argmax(norms))
    if norms[k] > policy.arm_bound * (1 + NORM_TOLERANCE):
        raise ValueError(
            f"arm {k} has norm {norms[k]:.6g}, but arm_bound = {policy.arm_bound:g} bounds all norms; raise arm_bound or scale the features."
        )


def check_round(policy: Any, state: Any, context: Any) -> None:
    """Refuse a round whose baseline or features break what the guarantee rests on."""
    K = state.arms.shape[1]
    if context.baseline is None and policy.baseline < 0:
        raise ValueError("baseline is missing; give the policy an arm, or every round its baseline in Context(baseline=...).")
    if context.baseline is not None and not 0 <= context.baseline < K:
        raise ValueError(f"baseline = {context.baseline} is not an arm; the arms are 0 to {K - 1}.")
    if context.baseline_mean is not None and not 0 <= context.baseline_mean <= 1:
        raise ValueError(f"baseline_mean = {context.baseline_mean} is not a number in [0, 1].")
    if context.features is not None and isinstance(state, Linear):
        check_norms(policy, context.features)


# This round ---------------------------------------------------------------------------------------------------------------


@lean
def baseline_of(policy, context):
    """This round's baseline arm and its known mean (NaN: unknown)."""
    arm = either(context.baseline, policy.baseline)
    if arm < 0:
        raise ValueError("baseline is missing; give the policy an arm, or every round its baseline.")
    return arm, either(context.baseline_mean, policy.baseline_mean)


@lean
def floor_of(policy, context):
    """mu_l, what the baseline earns at least in each round to come; NaN: its unknown mean."""
    if not math.isnan(policy.baseline_floor):
        return policy.baseline_floor
    changes = either(context.baseline_mean, -1.0) >= 0.0
    return 0.0 if changes else policy.baseline_mean


@lean
def clips_sum(policy):
    """Whether the bound of sum_S mu is clipped at 0: with checkpoints (Eq 12), or by choice."""
    return policy.clip == CLIP_BOTH or policy.checkpoint[0] != -1 or policy.min_gap > 0


@lean
def clips_arm(policy):
    """Whether a linear LCB is clipped at 0: Eq 7 and 12, or by choice; not in Eq 6."""
    return clips_sum(policy) or policy.selection == CONSTRAINED


@lean_verb
def assess(state, policy, context, mean):
    """Bring lower and upper up to date for this round's arms."""


@lean_verb
def secure(state, policy, context, baseline, mean, ahead):
    """Fill total with TOT(a), return the slack; `ahead` = rem. Where a linear mean is unknown total holds the sum of both, slack is 0."""


@lean_verb
def absorb(state, policy, context, baseline, mean, arm, reward, explored):
    """Take a reward into the estimates."""


@lean_verb
def standing(state, policy, context, baseline, mean):
    """Lower bound of the budget sum_S mu + sum_{S^b} mu_b - (1 - alpha) sum mu_b before this round. Call `secure` first."""


@lean
def martingale_bound(policy, book):
    """sum_S r - psi(m) (Eq 5)."""
    bound = amount(book, REWARDS) - martingale_radius(policy.sigma, policy.delta, book[EXPLORED], policy.martingale == FREEDMAN)
    return max(bound, 0.0) if clips_sum(policy) else bound


@lean
def known_slack(policy, context, book, mean, ahead):
    credit = policy.alpha * ahead * floor_of(policy, context) if ahead > 0 else 0.0
    return amount(book, EARNED) + credit - (1.0 - policy.alpha) * (amount(book, PROMISED) + mean)


@lean
def weigh(policy, state, context):
    """Everything the choice of round t rests on: bounds, TOT, slack, and what a safe arm is compared with."""
    book = state.book
    baseline, mean = baseline_of(policy, context)
    assess(state, policy, context, mean)
    ahead = remaining(policy.checkpoint, policy.min_gap, int(book[PLACE]), int(book[ROUNDS]) + 1)
    book[SLACK] = secure(state, policy, context, baseline, mean, ahead)
    book[REFERENCE] = state.arms[UPPER, baseline] if math.isnan(mean) else mean
    return baseline, mean


@lean
def is_safe(arms, book, arm):
    """Whether TOT(a) + slack >= 0, up to rounding."""
    return arms[TOTAL, arm] + book[SLACK] >= -TOLERANCE


@lean
def fall_back(policy, state, context, baseline):
    """What to play instead of an arm that is not safe, by `selection`; the baseline if no safe arm promises more."""
    arms, book, eligible = state.arms, state.book, context.eligible
    constrained = policy.selection == CONSTRAINED
    best, top = -1, -math.inf
    if policy.selection != TWO_STEP:
        row = UPPER if constrained else LOWER
        for k in range(arms.shape[1]):
            if k != baseline and allowed(eligible, k) and is_safe(arms, book, k) and (best < 0 or arms[row, k] > top):
                best, top = k, arms[row, k]
        if best >= 0 and (top > book[REFERENCE] or (constrained and top == book[REFERENCE])):
            return best
    if allowed(eligible, baseline):
        return baseline
    return argmax(arms[TOTAL], eligible)  # the baseline cannot be played: the arm that risks least


@lean
def settle(policy, state, context, arm, reward, own):
    """Close round t: books, estimates, the next checkpoint. own: the baseline counts as a learner's arm if `select` chose it as one."""
    book = state.book
    baseline, mean = baseline_of(policy, context)
    explored = arm != baseline or (own and book[EVENT] == OWN and book[CHOICE] == arm)
    absorb(state, policy, context, baseline, mean, arm, reward, explored)
    if explored:
        book[EXPLORED] += 1.0
        add(book, REWARDS, reward)
        if policy.bound == ORACLE:
            add(book, TRUTH, policy.true_means[arm])
    else:
        book[CONSERVED] += 1.0
    if not math.isnan(mean):
        add(book, PROMISED, mean)
        if not explored:
            add(book, EARNED, mean)
    book[ROUNDS] += 1.0
    listed = policy.checkpoint
    place = int(book[PLACE])
    if place < listed.shape[0] and listed[place] == book[ROUNDS]:
        book[PLACE] += 1.0


# Independent arms -----------------------------------------------------------------------------------------------------------


@assess.register(Independent)
@lean
def _(state, policy, context, mean):
    pass  # absorb keeps lower and upper


@lean
def worst_baseline(policy, state, weight, baseline):
    """Smallest weight mu_b over [LCB_b, min(UCB_b, 1)]."""
    return weight * (state.arms[LOWER, baseline] if weight >= 0.0 else min(state.arms[UPPER, baseline], 1.0))


@secure.register(Independent)
@lean
def _(state, policy, context, baseline, mean, ahead):
    book = state.book
    if policy.bound == CONFIDENCE:
        bound = book[SECURED]
    elif policy.bound == MARTINGALE:
        bound = martingale_bound(policy, book)
    else:
        bound = amount(book, TRUTH)
    book[SECURED] = bound
    arms, expected = state.arms, (policy.true_means if policy.bound == ORACLE else state.arms[LOWER])
    for k in range(arms.shape[1]):
        arms[TOTAL, k] = bound + expected[k]
    if not math.isnan(mean):
        return known_slack(policy, context, book, mean, ahead)
    weight, credit, floor = book[CONSERVED] - (1.0 - policy.alpha) * (book[ROUNDS] + 1), 0.0, floor_of(policy, context)
    if math.isnan(floor):
        weight += policy.alpha * ahead
    else:
        credit = policy.alpha * ahead * floor
    return worst_baseline(policy, state, weight, baseline) + credit


@absorb.register(Independent)
@lean
def _(state, policy, context, baseline, mean, arm, reward, explored):
    unknown = math.isnan(mean)
    if not (explored or unknown):
        return
    arms, counts, K = state.arms, state.counts, state.arms.shape[1]
    counts[PULLS, arm] += 1.0
    counts[SUMS, arm] += reward
    counts[MEAN, arm] = counts[SUMS, arm] / counts[PULLS, arm]
    width = pull_radius(policy.sigma, policy.delta, K, counts[PULLS, arm])
    arms[LOWER, arm] = max(counts[MEAN, arm] - width, 0.0)
    arms[UPPER, arm] = counts[MEAN, arm] + width
    if policy.bound == CONFIDENCE:
        secured = 0.0
        for k in range(K):
            if not (unknown and k == baseline):
                secured += counts[PULLS, k] * arms[LOWER, k]
        state.book[SECURED] = secured


@standing.register(Independent)
@lean
def _(state, policy, context, baseline, mean):
    book = state.book
    if math.isnan(mean):
        owed = worst_baseline(policy, state, book[CONSERVED] - (1.0 - policy.alpha) * book[ROUNDS], baseline)
    else:
        owed = amount(book, EARNED) - (1.0 - policy.alpha) * amount(book, PROMISED)
    return book[SECURED] + owed


# Linear rewards -------------------------------------------------------------------------------------------------------------


@assess.register(Linear)
@lean
def _(state, policy, context, mean):
    predict(state.model, context)
    m = state.book[EXPLORED]
    if math.isnan(mean):
        m += state.book[CONSERVED]  # baseline rounds are data too
    d = state.model.features.shape[1]
    beta = ellipsoid_radius(policy.sigma, policy.delta, d, m, policy.lam, policy.arm_bound, policy.theta_bound)
    state.beta[0] = beta
    arms, estimate, square = state.arms, state.model.mean, state.model.square
    for k in range(arms.shape[1]):
        width = beta * math.sqrt(square[k])
        arms[LOWER, k] = estimate[k] - width
        arms[UPPER, k] = estimate[k] + width


@secure.register(Linear)
@lean
def _(state, policy, context, baseline, mean, ahead):
    book = state.book
    if math.isnan(mean):
        return joint_minimum(state, policy, context, baseline, ahead)
    arms, K = state.arms, state.arms.shape[1]
    if policy.bound == CONFIDENCE:
        inner, square = project(state.model, state.sums[PLAYED], state.cross)
        bound = inner - state.beta[0] * math.sqrt(square)
        if policy.clip == CLIP_PAPER:  # Eq 4: one theta for the sum and the arm
            joint_totals(arms, state.model, state.cross, state.beta[0], inner, square)
            book[SECURED] = bound
            return known_slack(policy, context, book, mean, ahead)
        bound = max(bound, 0.0)
    elif policy.bound == MARTINGALE:
        bound = martingale_bound(policy, book)
    else:
        bound = amount(book, TRUTH)
    book[SECURED] = bound
    expected, clips = (policy.true_means if policy.bound == ORACLE else state.arms[LOWER]), clips_arm(policy)
    for k in range(K):
        arms[TOTAL, k] = bound + (max(expected[k], 0.0) if clips else expected[k])
    return known_slack(policy, context, book, mean, ahead)


@lean
def joint_totals(arms, model, cross, beta, inner, square):
    """TOT(a) = <theta, z + x_a> - beta ||z + x_a||_{V^-1} for every arm, from <theta, z> = inner and z'V^-1 z = square."""
    mean, own = model.mean, model.square
    for k in range(arms.shape[1]):
        arms[TOTAL, k] = inner + mean[k] - beta * math.sqrt(max(square + 2.0 * cross[k] + own[k], 0.0))


@lean
def joint_minimum(state, policy, context, baseline, ahead):
    """One ellipsoid for the learner's arms, this arm and the baseline: min <theta, z + x_a + (nb - (1-alpha) t + alpha rem) x_b>."""
    floor = floor_of(policy, context)
    base = bring_together(state, policy)
    collect(state.model, context, state.sums[POINT], baseline, policy.alpha - 1.0)
    if math.isnan(floor) and state.fixed:
        collect(state.model, context, state.sums[POINT], baseline, policy.alpha * ahead)
    elif not math.isnan(floor):
        base += policy.alpha * ahead * floor
    inner, square = project(state.model, state.sums[POINT], state.cross)
    joint_totals(state.arms, state.model, state.cross, state.beta[0], base + inner, square)
    return 0.0


@lean
def bring_together(state, policy):
    """point <- features whose worst case counts, before this round; returns the part of the sum that has a bound of its own."""
    base = 0.0 if policy.bound == CONFIDENCE else martingale_bound(policy, state.book)
    for i in range(state.sums.shape[1]):
        state.sums[POINT, i] = state.sums[OWED, i] + (state.sums[PLAYED, i] if policy.bound == CONFIDENCE else 0.0)
    return base


@absorb.register(Linear)
@lean
def _(state, policy, context, baseline, mean, arm, reward, explored):
    unknown = math.isnan(mean)
    if explored or unknown:
        learn(state.model, context, arm, reward)
    if explored:
        collect(state.model, context, state.sums[PLAYED], arm, 1.0)
    if unknown:
        collect(state.model, context, state.sums[OWED], baseline, policy.alpha - 1.0)
        if not explored:
            collect(state.model, context, state.sums[OWED], baseline, 1.0)


@standing.register(Linear)
@lean
def _(state, policy, context, baseline, mean):
    book = state.book
    if not math.isnan(mean):
        return book[SECURED] + amount(book, EARNED) - (1.0 - policy.alpha) * amount(book, PROMISED)
    base = bring_together(state, policy)
    inner, square = project(state.model, state.sums[POINT], state.cross)
    return base + inner - state.beta[0] * math.sqrt(square)
