"""States of the family, what their places mean, and the sums and bounds that both of them need.

`Independent` keeps pulls and sums, `Linear` a ridge regression; the verbs `assess`, `secure`, `absorb` and `standing` are answered
by each in its own file. Equation numbers: Garcelon et al. 2020.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from ..._jit import lean
from ...verbs import either, verb
from ._budget import amount, martingale_radius

MARTINGALE, CONFIDENCE, ORACLE = range(3)
CONSTRAINED, TWO_STEP, LARGEST_LOWER = range(3)
CLIP_BOTH, CLIP_PAPER = range(2)
FREEDMAN = 0
LINEAR, INDEPENDENT = range(2)
OWN, SAFE_OTHER, BASELINE = range(3)
EVENTS = ("ucb", "safe-other", "baseline")

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


@verb(lean=True)
def assess(state, policy, context, mean):
    """Bring lower and upper up to date for this round's arms."""


@verb(lean=True)
def secure(state, policy, context, baseline, mean, ahead):
    """Fill total with TOT(a), return the slack; `ahead` = rem. Where a linear mean is unknown total holds the sum of both, slack is 0."""


@verb(lean=True)
def absorb(state, policy, context, baseline, mean, arm, reward, explored):
    """Take a reward into the estimates."""


@verb(lean=True)
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
