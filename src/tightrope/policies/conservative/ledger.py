r"""The ledger and the arms of a conservative policy, and the sums that its guarantee is computed
from.

D are the learner's own decisions so far, O those of them whose reward is in, P = D \\ O the open
ones; S^b are the baseline's rounds, which count, and earn their known mean, when they are decided.
Two states keep a ledger: `Independent` with a width per arm, `LinearLedger` with a ridge
regression; each answers the verbs of this file in its own. Equation numbers: Garcelon et al. 2020.

Rewards in [low, high] are counted as y = (r - low) / (high - low) by martingale = "bernoulli".
Since e^(l y) is convex, E e^(l y) <= 1 + mu (e^l - 1), so exp(l S_n - sum ln(1 + mu_i (e^l - 1)))
is a supermartingale for every slope l, whatever chose the arms. By Ville's inequality l S_n - L <=
sum ln(1 + mu_i (e^l - 1)) <= n ln(1 + mean(mu) (e^l - 1)) at all n at once, but with probability
e^-L; solved for n mean(mu), with a union over 32 slopes, that is `sum_bound`.
"""

import math
from typing import Annotated, Any, NamedTuple, TypeAlias

import numpy as np

from ...compiled.kernels import lean, returns_views
from ...core.fields import (
    ArmIndexOrNone,
    Count,
    Derived,
    Extended,
    Finite,
    Kind,
    NonNegative,
    Record,
    Scratch,
)
from ...core.policy import lean_verb, verb
from ...core.registry import LARGEST_REWARD
from ...core.verbs import reward_range, value_or

MARTINGALE, CONFIDENCE, ORACLE = range(3)
CONSTRAINED, TWO_STEP, LARGEST_LOWER = range(3)
CLIP_BOTH, CLIP_PAPER, CLIP_JOINT = range(3)
BERNOULLI, FREEDMAN, SUBGAUSSIAN = range(
    3
)  # -1: BERNOULLI where the range of rewards is known, else FREEDMAN
PROVED, PAPER = range(2)
LINEAR, INDEPENDENT = range(2)
COUNT_NOTHING, LOWER = range(2)
OWN, SAFE_OTHER, BASELINE, UNSAFE = range(4)
ANY_REWARD = (-math.inf, math.inf)
UNSAID = -math.inf  # in a ledger, where NaN would make it another than itself
EVENTS = ("ucb", "safe-other", "baseline", "unsafe")
SLOPES = np.array(
    [0.002 * math.exp(i * math.log(2000.0) / 31.0) for i in range(32)]
)  # .002 to 4, enough for 30 to 10^7 rewards
GROWTHS = np.array([math.expm1(slope) for slope in SLOPES])
FALLS = np.array([-math.expm1(-slope) for slope in SLOPES])
PSI_SHARE = math.pi**2 / 18.0  # of delta, with which psi fails: sum of 1 / (3 m^2)
ZETA_3 = 1.2020569031595942  # of delta, with which widths ln(K s^3 / delta) fail: sum of 1 / s^3

# A record, because compiled code counts references to every array of a state: all these numbers in
# one array cost as much as one.
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
        ("low", "f8"),  # lowest reward
        ("span", "f8"),  # highest less lowest reward
        ("sigma", "f8"),  # sub-Gaussian scale of a reward
        ("level", "f8"),  # L of the sum's bound by "bernoulli"; 0: psi
        ("arm_level", "f8"),  # L of an arm's
        (
            "arm_delta",
            "f8",
        ),  # probability with which the arms' bounds may fail, all of them together
        ("failure", "f8"),  # probability that is proved, with which the promise fails
        ("delta", "f8"),  # of this promise
        ("kappa", "f8"),  # sum mu >= kappa sum mu_b + omega t is promised
        ("omega", "f8"),
        ("share", "f8"),  # 1 - kappa: share mu_b - omega is what a round of the baseline adds
        ("known", "f8"),  # known mean of the baseline; UNSAID: learned, or by round
        ("floor", "f8"),  # of the baseline's mean in rounds to come; UNSAID: by `floor_of`
        ("slope", "f8"),  # position of the best slope of the sum
        (
            "bounded",
            "f8",
            (3,),
        ),  # |D|, S and the sum's bound by "bernoulli", when it was computed last
    ],
    align=True,
)
Checkpoint: TypeAlias = Annotated[
    np.ndarray, Kind(whole=True, least=0, most=lambda policy, arms: policy.checkpoint.size)
]
Event: TypeAlias = Annotated[np.ndarray, Kind(whole=True, least=0, most=UNSAFE)]
Slope: TypeAlias = Annotated[np.ndarray, Kind(whole=True, least=0, most=SLOPES.size - 2)]
Ledger: TypeAlias = Annotated[
    np.ndarray,
    Record(
        rounds=Count,
        explored=Count,
        closed=Count,
        conserved=Count,
        conserved_open=Finite,
        baseline_open=Finite,
        learned=Finite,
        rewards=Finite,
        earned=Finite,
        promised=Finite,
        truth=Finite,
        place=Checkpoint,
        event=Event,
        choice=ArmIndexOrNone,
        stale=ArmIndexOrNone,
        low=Derived,
        span=Derived,
        sigma=Derived,
        level=Derived,
        arm_level=NonNegative,
        arm_delta=NonNegative,
        failure=NonNegative,
        delta=Derived,
        kappa=Derived,
        omega=Derived,
        share=Derived,
        known=Derived,
        floor=Derived,
        slope=Slope,
        bounded=Finite,
    ),
]


class Bounds(NamedTuple):
    lower: Extended  # (K,) LCB (independent: at least the lowest reward)
    upper: Extended  # (K,) UCB
    total: Extended  # (K,) TOT(a)
    index: Scratch  # type: ignore[assignment]  # (K,)
    offer: Scratch  # (K,)


@returns_views
def bounds_in(bounds, row):
    return Bounds(
        bounds.lower[row],
        bounds.upper[row],
        bounds.total[row],
        bounds.index[row],
        bounds.offer[row],
    )


class Premises(NamedTuple):
    """The numbers of a promise that follow from its parameters and what is known of rewards."""

    low: float
    span: float
    sigma: float
    level: float
    arm_level: float
    arm_delta: float
    failure: float


def is_known(rewards: tuple[float, float]) -> bool:
    """Whether a range says which rewards there are: a policy that takes all says so by a very large
    one."""
    return rewards[1] - rewards[0] < LARGEST_REWARD


def usual_sigma(low: float, high: float) -> float:
    return max(1.0, (high - low) / 2.0)


def premises(
    policy: Any, rewards: tuple[float, float] | None, dimension: int, number: int
) -> Premises:
    """rewards: range of those that the arms pay, None: unknown."""
    low, high, sigma = values_of(policy, rewards)
    known = not math.isnan(policy.baseline_mean)
    return premises_of(policy, (low, high), sigma, policy.delta, known, dimension, number)


def values_of(policy: Any, rewards: tuple[float, float] | None) -> tuple[float, float, float]:
    """The lowest and the highest reward, and the scale of the noise; NaN: not said."""
    ranges = (reward_range(policy), rewards or ANY_REWARD)
    low, high = next(filter(is_known, ranges), ANY_REWARD)
    declared = math.isnan(policy.sigma) and policy.rewards != ANY_REWARD
    return low, high, (high - low) / 2.0 if declared else policy.sigma


def premises_of(
    policy: Any,
    values: tuple[float, float],
    sigma: float,
    delta: float,
    known: bool,
    dimension: int,
    number: int,
) -> Premises:
    """How delta is shared, and by which bound.

    policy: with the parameters of a guarantee. values: their range. known: whether the baseline's
    mean is. dimension: of the ellipsoid; 0: each of the `number` arms has a width of its own.
    """
    low, high = values
    bounded = is_known(values)
    if policy.martingale == BERNOULLI and not bounded:
        raise ValueError(
            "martingale = 'bernoulli' needs the range of rewards, which is not known of these "
            "arms; give rewards=(low, high), or take martingale='freedman' with the sub-Gaussian "
            "scale sigma of the noise."
        )
    if not bounded:
        low, high = 0.0, 1.0
    span, summed = high - low, getattr(policy, "bound", MARTINGALE) == MARTINGALE
    if math.isnan(sigma):
        sigma = usual_sigma(low, high)
    # of a learned mean both ends are used
    rows = 1.0 if known or dimension else 1.0 + 1.0 / number
    if policy.martingale == BERNOULLI or (policy.martingale < 0 and bounded):
        share = 0.5 if summed else 1.0
        level, arm_level = (
            math.log(SLOPES.size / (delta * share)),
            math.log(SLOPES.size * number * rows / (delta * share)),
        )
        return Premises(low, span, sigma, level, arm_level, delta * share / rows, delta)
    psi = PSI_SHARE if summed else 0.0
    if dimension:  # Eq 3 fails with probability delta^(d / 2) at most, psi with (2/3) L hardly ever
        share, enough = (
            1.0,
            not summed
            or (dimension >= 2 and policy.martingale != SUBGAUSSIAN)
            or (dimension >= 3 and delta <= 0.1),
        )
    else:  # where one pull proves nothing, the widths fail with probability .202 delta only
        share, enough = (
            ZETA_3 * rows,
            bounded and 2.0 * sigma * sigma * math.log(number / delta) >= span * span,
        )
    if enough:
        return Premises(low, span, sigma, 0.0, 0.0, delta, delta)
    if policy.constants == PROVED:
        return Premises(low, span, sigma, 0.0, 0.0, delta * (1.0 - psi) / share, delta)
    return Premises(low, span, sigma, 0.0, 0.0, delta, delta * (psi + share))


class Terms(NamedTuple):
    """What is promised: sum mu >= kappa sum mu_b + omega t, with probability 1 - delta."""

    delta: float
    kappa: float
    omega: float
    share: float
    known: float
    floor: float


def terms(policy: Any) -> Terms:
    return Terms(
        policy.delta,
        1.0 - policy.alpha,
        0.0,
        policy.alpha,
        policy.baseline_mean,
        policy.baseline_floor,
    )


def new_ledger(number: int, premises: Premises, promised: Terms) -> np.ndarray:
    ledger = np.zeros(1, dtype=LEDGER).view(np.recarray)
    ledger["event"], ledger["choice"], ledger["stale"], ledger["arms"] = BASELINE, -1, -1, number
    for name, value in (premises._asdict() | promised._asdict()).items():
        ledger[name] = UNSAID if math.isnan(value) else value
    return ledger


def new_bounds(number: int) -> Bounds:
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
    return pair[0] + pair[1]


@lean
def known_mean(ledger):
    return ledger.known if ledger.known > UNSAID else math.nan


@lean
def baseline_of(policy, context, ledger):
    """This round's baseline arm and its known mean (NaN: unknown). `admit` refuses a round without
    one."""
    arm = value_or(context.baseline, policy.baseline)
    return arm, value_or(context.baseline_mean, known_mean(ledger))


@lean
def floor_of(context, ledger):
    """mu_l, what the baseline earns at least in each round to come; NaN: its unknown mean."""
    if ledger.floor > UNSAID:
        return ledger.floor
    changes = not math.isnan(value_or(context.baseline_mean, math.nan))
    return 0.0 if changes else known_mean(ledger)


@lean
def clips_sum(policy):
    """Whether the bound by psi of sum_S mu is clipped at what is certain: with checkpoints (Eq 12),
    or by choice."""
    return policy.clip == CLIP_BOTH or policy.checkpoint[0] != -1 or policy.min_gap > 0


@lean
def clips_arm(policy):
    """Whether a linear LCB is clipped at the lowest reward: Eq 7 and 12, or by choice; not in Eq
    6."""
    return clips_sum(policy) or policy.selection == CONSTRAINED


@lean
def sum_bound(total, m, level, start):
    """Lower bound of the sum of the means of m >= 1 values in [0, 1] that add up to `total`, and a
    position to start from the next time.

    It is the largest of m (exp((l S - L) / m) - 1) / (exp(l) - 1) over the slopes l, which rises as
    long as exp((l S - L) / m) (1 - S / m + S / m exp(-l)) < 1 and then falls; so steps from any
    position lead to the two slopes around its peak.
    """
    if SLOPES[-1] * total <= level:
        return 0.0, start
    i, share, last = start, total / m, SLOPES.shape[0] - 1
    low, high = (
        math.expm1((SLOPES[i] * total - level) / m),
        math.expm1((SLOPES[i + 1] * total - level) / m),
    )
    while i > 0 and (1.0 + low) * (1.0 - share * FALLS[i]) >= 1.0:
        i, high = i - 1, low
        low = math.expm1((SLOPES[i] * total - level) / m)
    while i + 1 < last and (1.0 + high) * (1.0 - share * FALLS[i + 1]) < 1.0:
        i, low = i + 1, high
        high = math.expm1((SLOPES[i + 1] * total - level) / m)
    return min(max(m * max(low / GROWTHS[i], high / GROWTHS[i + 1]), 0.0), m), i


@lean
def martingale_radius(sigma, delta, m, reach):
    """psi(m) = sigma sqrt(2 m L) + (2/3) L with L = ln(3 max(m, 1)^2 / delta) (Eq 5) for rewards of
    range 1; reach: that of a reward, 0.0 drops (2/3) L."""
    n = max(m, 1.0)
    L = math.log(3.0 * n * n / delta)
    radius = sigma * math.sqrt(2.0 * m * L)
    return radius + 2.0 / 3.0 * reach * L if reach > 0.0 else radius


@lean
def noise_radius(policy, ledger):
    """psi of the decisions that the martingale runs over: D where an open one has earned nothing, O
    where it has its lower bound."""
    m = ledger.closed if policy.open == LOWER else ledger.explored
    sigma = ledger.sigma if math.isnan(policy.martingale_sigma) else policy.martingale_sigma
    return martingale_radius(
        sigma, ledger.delta, m, 0.0 if policy.martingale == SUBGAUSSIAN else ledger.span
    )


@lean
def martingale_bound(policy, ledger):
    """Lower bound of sum_D mu by the rewards that are in: by "bernoulli", or sum_O r - psi (Eq
    5)."""
    m = ledger.closed if policy.open == LOWER else ledger.explored
    certain = ledger.low * m
    if ledger.level > 0.0:
        total = (value_of(ledger.rewards) - ledger.low * ledger.closed) / ledger.span
        before = ledger.bounded
        if before[0] != m or before[1] != total:
            bound, slope = sum_bound(total, max(m, 1.0), ledger.level, int(ledger.slope))
            ledger.slope = slope
            before[0], before[1], before[2] = m, total, bound
        return certain + ledger.span * before[2]
    bound = (
        value_of(ledger.rewards) + ledger.low * (m - ledger.closed) - noise_radius(policy, ledger)
    )
    return max(bound, certain) if clips_sum(policy) else bound


@lean
def charged_noise(policy, ledger):
    """By how much the bound of what D earned is below the rewards that are in: psi, or what takes
    its place."""
    if ledger.level > 0.0 and policy.bound == MARTINGALE:
        m = ledger.closed if policy.open == LOWER else ledger.explored
        return (
            value_of(ledger.rewards)
            + ledger.low * (m - ledger.closed)
            - martingale_bound(policy, ledger)
        )
    return noise_radius(policy, ledger)


@lean
def anything_open(ledger):
    return ledger.explored > ledger.closed or ledger.conserved_open > 0.0


@lean
def known_slack(context, ledger, mean, ahead):
    credit = 0.0
    if ahead > 0:
        credit = ledger.share * ahead * floor_of(context, ledger) - ledger.omega * ahead
    owed = ledger.kappa * (value_of(ledger.promised) + mean)
    return value_of(ledger.earned) + credit - owed - ledger.omega * (ledger.rounds + 1.0)


@lean
def known_budget(ledger):
    owed = ledger.kappa * value_of(ledger.promised) + ledger.omega * ledger.rounds
    return ledger.bound + (value_of(ledger.earned) - owed)


@lean_verb
def bound_arms(state, policy, context):
    """Bring lower and upper up to date for this round's arms."""


@lean_verb
def index_by_rounds(state, t):
    """Make the upper bounds those of plain UCB in round t, mean + sqrt(ln t / n). Call
    `bound_round` first."""


@lean_verb
def bound_open(state):
    """Lower bound of sum_P mu where open = "lower". Call `bound_arms` first."""


@lean_verb
def bound_totals(state, policy, context, baseline, mean, ahead):
    """Fill total with TOT(a), return the slack; `ahead` = rem. Where a linear mean is unknown total
    holds the sum of both, slack is 0."""


@lean_verb
def count_decision(state, policy, context, baseline, mean, arm, explored, sign):
    """Enter a decision into what bounds read: sign 1.0; take it out again: sign -1.0."""


@lean_verb
def close_decision(state, policy, context, arm):
    """An open decision of D has its reward: take it out of P. The ledger counts it as closed
    already."""


@lean_verb
def learn_reward(state, policy, context, arm, reward):
    """Take a reward into the estimates."""


@verb
def part(state, i, row):
    """Ledger i with the estimates of a row, where every array of the state has an axis of rows
    before its own: views of them."""


@lean_verb
def budget_bound(state, policy, context, baseline, mean):
    """Lower bound of the budget sum_D mu + sum_{S^b} mu_b - kappa sum mu_b - omega t, t - 1 rounds
    long. Call `bound_totals` first."""
