r"""The ledger and the arms of a conservative policy, and the sums that its guarantee is computed from.

D are the learner's own decisions so far, O those of them whose reward is in, P = D \\ O the open ones; S^b are the baseline's
rounds, which count, and earn their known mean, when they are decided. Two states keep a ledger: `Independent` with a width per arm,
`LinearLedger` with a ridge regression; each answers the verbs of this file in its own. Equation numbers: Garcelon et al. 2020.
"""

import math
from typing import Annotated, NamedTuple, TypeAlias

import numpy as np

from ...compiled.kernels import jit, lean
from ...core.dispatch import lean_verb, verb
from ...core.kinds import ArmIndexOrNone, Count, Extended, Finite, Kind, Record, Scratch
from ...core.verbs import value_or

MARTINGALE, CONFIDENCE, ORACLE = range(3)
CONSTRAINED, TWO_STEP, LARGEST_LOWER = range(3)
CLIP_BOTH, CLIP_PAPER, CLIP_JOINT = range(3)
FREEDMAN = 0
LINEAR, INDEPENDENT = range(2)
COUNT_NOTHING, LOWER = range(2)
OWN, SAFE_OTHER, BASELINE, UNSAFE = range(4)
EVENTS = ("ucb", "safe-other", "baseline", "unsafe")

# A record, because compiled code counts references to every array of a state: all these numbers in one array cost as much as one.
LEDGER = np.dtype(
    [
        ("rounds", "f8"),  # decided, t - 1
        ("explored", "f8"),  # |D|
        ("closed", "f8"),  # |O|
        ("conserved", "f8"),  # |S^b|
        ("conserved_open", "f8"),  # rounds of S^b whose reward is not in
        ("baseline_open", "f8"),  # decisions of P that play their round's baseline
        ("learned", "f8"),  # rewards in the estimates
        ("rewards", "f8", (2,)),  # sum_O r, compensated
        ("earned", "f8", (2,)),  # sum_{S^b} mu_b, compensated
        ("promised", "f8", (2,)),  # sum_{i < t} mu_{b_i}, compensated
        ("truth", "f8", (2,)),  # sum_D mu, compensated, for bound = "oracle"
        ("place", "f8"),  # position of the next listed checkpoint
        ("event", "f8"),  # of the last select
        ("choice", "f8"),  # arm of the last select
        ("slack", "f8"),  # of this round
        ("bound", "f8"),  # lower bound of sum_D mu
        ("reference", "f8"),  # what a safe arm's bound is compared with
        ("beta", "f8"),  # radius of the ellipsoid
        ("arms", "f8"),  # that there were from the start: they share delta
        ("stale", "f8"),  # arm whose bounds a decision has changed, -1: none
    ],
    align=True,
)
Checkpoint: TypeAlias = Annotated[np.ndarray, Kind(whole=True, least=0, most=lambda policy, arms: policy.checkpoint.size)]
Event: TypeAlias = Annotated[np.ndarray, Kind(whole=True, least=0, most=UNSAFE)]
Ledger: TypeAlias = Annotated[np.ndarray, Record(
    rounds=Count, explored=Count, closed=Count, conserved=Count, conserved_open=Finite, baseline_open=Finite, learned=Finite,
    rewards=Finite, earned=Finite, promised=Finite, truth=Finite,
    place=Checkpoint, event=Event, choice=ArmIndexOrNone, stale=ArmIndexOrNone,
)]  # fmt: skip


class Bounds(NamedTuple):
    lower: Extended  # (K,) LCB (independent: clipped at 0)
    upper: Extended  # (K,) UCB
    total: Extended  # (K,) TOT(a)
    index: Scratch  # type: ignore[assignment]  # (K,)
    offer: Scratch  # (K,)


@jit
def bounds_of_segment(bounds, s):
    """Views of the bounds of segment s."""
    return Bounds(bounds.lower[s], bounds.upper[s], bounds.total[s], bounds.index[s], bounds.offer[s])


def new_ledger(number: int) -> np.ndarray:
    """No round decided yet, on so many arms."""
    ledger = np.zeros(1, dtype=LEDGER).view(np.recarray)
    ledger["event"], ledger["choice"], ledger["stale"], ledger["arms"] = BASELINE, -1, -1, number
    return ledger


def new_bounds(number: int) -> Bounds:
    """Nothing known of any arm."""
    return Bounds(*(np.zeros(number) for _ in Bounds._fields))


@lean
def add(pair, value):
    """Add a number to a compensated sum (Neumaier): exact to an ulp over millions of rounds."""
    old = pair[0]
    new = old + value
    if abs(old) >= abs(value):
        pair[1] += (old - new) + value
    else:
        pair[1] += (value - new) + old
    pair[0] = new


@lean
def value_of(pair):
    """Value of a compensated sum."""
    return pair[0] + pair[1]


@lean
def baseline_of(policy, context):
    """This round's baseline arm and its known mean (NaN: unknown). `admit` refuses a round without one."""
    arm = value_or(context.baseline, policy.baseline)
    return arm, value_or(context.baseline_mean, policy.baseline_mean)


@lean
def floor_of(policy, context):
    """mu_l, what the baseline earns at least in each round to come; NaN: its unknown mean."""
    if not math.isnan(policy.baseline_floor):
        return policy.baseline_floor
    changes = value_or(context.baseline_mean, -1.0) >= 0.0
    return 0.0 if changes else policy.baseline_mean


@lean
def clips_sum(policy):
    """Whether the bound of sum_S mu is clipped at 0: with checkpoints (Eq 12), or by choice."""
    return policy.clip == CLIP_BOTH or policy.checkpoint[0] != -1 or policy.min_gap > 0


@lean
def clips_arm(policy):
    """Whether a linear LCB is clipped at 0: Eq 7 and 12, or by choice; not in Eq 6."""
    return clips_sum(policy) or policy.selection == CONSTRAINED


@lean
def martingale_radius(sigma, delta, m, freedman):
    """psi(m) = sigma sqrt(2 m L) + (2/3) L with L = ln(3 max(m, 1)^2 / delta) (Eq 5); freedman = False drops (2/3) L."""
    n = max(m, 1.0)
    L = math.log(3.0 * n * n / delta)
    radius = sigma * math.sqrt(2.0 * m * L)
    return radius + 2.0 / 3.0 * L if freedman else radius


@lean
def noise_radius(policy, ledger):
    """psi of the decisions that the martingale runs over: D where an open one has earned nothing, O where it has its lower bound."""
    m = ledger.closed if policy.open == LOWER else ledger.explored
    sigma = policy.sigma if math.isnan(policy.martingale_sigma) else policy.martingale_sigma
    return martingale_radius(sigma, policy.delta, m, policy.martingale == FREEDMAN)


@lean
def martingale_bound(policy, ledger):
    """sum_O r - psi (Eq 5)."""
    bound = value_of(ledger.rewards) - noise_radius(policy, ledger)
    return max(bound, 0.0) if clips_sum(policy) else bound


@lean
def anything_open(ledger):
    """Whether a reward is still awaited."""
    return ledger.explored > ledger.closed or ledger.conserved_open > 0.0


@lean
def known_slack(policy, context, ledger, mean, ahead):
    """Slack of a round whose baseline mean is known; `ahead` = rem."""
    credit = policy.alpha * ahead * floor_of(policy, context) if ahead > 0 else 0.0
    return value_of(ledger.earned) + credit - (1.0 - policy.alpha) * (value_of(ledger.promised) + mean)


@lean_verb
def bound_arms(state, policy, context):
    """Bring lower and upper up to date for this round's arms."""


@lean_verb
def index_by_rounds(state, t):
    """Make the upper bounds those of plain UCB in round t, mean + sqrt(ln t / n). Call `bound_round` first."""


@lean_verb
def bound_open(state):
    """Lower bound of sum_P mu where open = "lower". Call `bound_arms` first."""


@lean_verb
def bound_totals(state, policy, context, baseline, mean, ahead):
    """Fill total with TOT(a), return the slack; `ahead` = rem. Where a linear mean is unknown total holds the sum of both, slack is 0."""


@lean_verb
def count_decision(state, policy, context, baseline, mean, arm, explored, sign):
    """Enter a decision into what bounds read: sign 1.0; take it out again: sign -1.0."""


@lean_verb
def close_decision(state, policy, context, arm):
    """An open decision of D has its reward: take it out of P. The ledger counts it as closed already."""


@lean_verb
def learn_reward(state, policy, context, arm, reward):
    """Take a reward into the estimates."""


@verb
def in_segment(state, s):
    """The ledger of segment s, where every array of the state has an axis of segments before its own: views of them."""


@lean_verb
def budget_bound(state, policy, context, baseline, mean):
    """Lower bound of the budget sum_D mu + sum_{S^b} mu_b - (1 - alpha) sum mu_b before this round. Call `bound_totals` first."""
