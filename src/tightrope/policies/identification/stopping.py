"""Stopping rules and what they leave: the arm named, the bound B on how much better another may be,
whether that is certified.

A bound is only compared with epsilon if every number that went into it is finite; comparisons with
NaN are false and would certify anything. Otherwise the answer is marked as broken: the loop ends,
`recommend` raises, and a session refuses to go on. Kernels that run every round do not raise
themselves: it would keep Numba from leaving out reference counts, up to 0.3 us a round.
"""

import math
from collections.abc import Callable
from typing import Annotated, Any, Literal, NamedTuple, TypeAlias

import numpy as np

from ...compiled.kernels import jit, lean
from ...core.fields import ArmIndex, Given, Record, Stored, choice, flag, real, scale_bound
from ...core.policy import Policy
from ...core.types import Explanation
from ...core.verbs import allowed, update
from ...numerics.counts import (
    DIVERGENCES,
    argmax,
    bernoulli_divergence,
    determinant_radius,
    intervals,
    static_factor,
)
from ...solvers.programs import minimal_combination
from .models import GapRidge, PairRidge, measure_from

SQRT8 = 2.0 * math.sqrt(2.0)  # the constant of the static bound

ANSWER = [
    ("leader", "i8"),  # i, the arm that would be named now
    ("challenger", "i8"),  # j, its most ambiguous rival
    ("radius", "f8"),  # C, what ||x_i - x_j||_{A^-1} is multiplied by
    (
        "bound",
        "f8",
        # B, the most by which another arm may be better than the leader; infinite before there are
        # estimates
    ),
    ("certified", "?"),  # whether the leader is the answer
    ("broken", "?"),  # whether an estimate or width is not finite, so that there is no answer
]
Answer: TypeAlias = Annotated[np.ndarray, Record(leader=ArmIndex, challenger=ArmIndex)]
BROKEN = (
    "an estimated mean or a confidence width is not a finite number of six digits, so no arm can "
    "be named; pass tightrope.scale(X).features instead of features X of very different sizes, "
    "and bring rewards to a common size."
)


class Answering(Policy):
    """The base of policies that write an ANSWER into `state.answer`: when they have stopped, the
    arm they name, when they refuse."""

    @jit
    def stopped(self, state):
        """A broken answer ends the run, too, and `recommend` then raises."""
        answer = state.answer[0]
        return answer["certified"] or answer["broken"]

    @jit
    def recommend(self, state):
        if state.answer[0]["broken"]:
            raise ValueError(BROKEN)
        return state.answer[0]["leader"]

    def tolerance(self):
        return float(getattr(self, "epsilon", 0.0))

    def admit(self, state, context):
        refuse_broken(state)


class Planned(Answering):
    """What is given is a number of samples, and `state.plays` counts the decisions of each arm,
    those that wait for their reward among them."""

    @jit
    def commit(self, state, context, action):
        state.plays[action] += 1.0
        return state

    @jit
    def withdraw(self, state, context, action):
        state.plays[action] -= 1.0
        return state

    @jit
    def inform(self, state, context, action, reward):
        state.plays[action] += 1.0
        return update(self, state, context, action, reward)


class Certifying(Answering):
    """What is asked for: an arm that is at most epsilon worse than the best, and with probability
    at most delta another one."""

    epsilon: float = real(default=0.0, least=0)
    delta: float = real(default=0.05, above=0, below=1)


def refuse_broken(state: Any) -> None:
    if state.answer[0]["broken"]:
        raise ValueError(BROKEN)


def new_answer(leader: int = 0, certified: bool = False, **more: float) -> np.ndarray:
    """(1,) record: an answer without data. more: further numbers that a policy keeps beside it."""
    answer = np.zeros(1, dtype=[(name, "f8") for name in more] + ANSWER)
    answer["leader"], answer["radius"], answer["bound"], answer["certified"] = (
        leader,
        math.inf,
        math.inf,
        certified,
    )
    for name, value in more.items():
        answer[name] = value
    return answer


@lean
def settle(answer, checksum, within):
    """Certify if the bound is within epsilon and a sum of all means and widths that decide is
    finite."""
    answer["broken"] = not math.isfinite(checksum)
    answer["certified"] = within and not answer["broken"]


@lean
def gap_radius(policy, log_det, K):
    """C of Xu, Honda, Sugiyama 2018, Eq 3; log_det is that of A / lam."""
    return determinant_radius(
        policy.noise,
        policy.delta / (K * K if policy.union else 1),
        log_det,
        policy.lam,
        policy.theta_bound,
    )


@lean
def static_radius(policy, rounds, K):
    """The factor of Proposition 1 of Soare, Lazaric, Munos 2014 for a sequence of arms fixed in
    advance."""
    return static_factor(policy.constant, policy.noise, rounds, K, policy.delta)


@lean
def compare_with_leader(answer, mean, squares, i, C):
    """Write i, C, j = argmax_{j != i} [mean_j - mean_i + C sqrt(squares_j)] and its value B, -inf
    if there is no other arm. O(K).

    Returns the sum of all numbers that decided.
    """
    j, bound, checksum = i, -math.inf, C
    for k in range(mean.shape[0]):
        if k != i:
            value = mean[k] - mean[i] + C * math.sqrt(squares[k])
            checksum += value
            if value > bound:
                j, bound = k, value
    answer["leader"], answer["challenger"], answer["radius"], answer["bound"] = i, j, C, bound
    return checksum


def error_estimate(
    mean: np.ndarray, squares: np.ndarray, leader: int, epsilon: float, noise: float
) -> float:
    """Estimated probability that the leader is worse than the best arm by more than epsilon.

    A union over the other arms of Gaussian tails, sum_j P(N(gap_j, noise^2 squares_j) < -epsilon),
    at most 1; unlike delta it does not correct for looking at every round. mean: (K,); squares:
    (K,) squared widths of x_leader - x_j.
    """
    total = 0.0
    for j in range(mean.size):
        if j != leader:
            lead = mean[leader] - mean[j] + epsilon
            scale = noise * math.sqrt(squares[j])
            total += (
                0.5 * math.erfc(lead / (scale * math.sqrt(2.0))) if scale > 0 else float(lead < 0)
            )
    return min(total, 1.0)


NO_ESTIMATES = {"gap_bound": math.inf, "error": 1.0, "samples_remaining": math.inf}


def support(
    policy: Any,
    state: Any,
    mean: np.ndarray,
    squares: np.ndarray,
    samples_remaining: Callable[[], float],
) -> dict[str, float]:
    """`evidence` of a policy with epsilon, delta and noise that has estimates.

    samples_remaining: forecast, called only where the answer is not certified."""
    answer = state.answer[0]
    left = 0.0 if answer["certified"] else float(samples_remaining())
    error = error_estimate(mean, squares, int(answer["leader"]), policy.epsilon, policy.noise)
    return {
        "gap_bound": float(answer["bound"]),
        "error": error_of_answer(policy, answer, error),
        "samples_remaining": left,
    }


def error_of_answer(policy: Certifying, answer: Any, estimate: float) -> float:
    """An estimate of the error, but no more than delta where the answer is certified: the proof
    knows better."""
    return min(estimate, policy.delta) if answer["certified"] else estimate


def report(
    mean: np.ndarray,
    radius: float,
    square: np.ndarray,
    index: np.ndarray,
    probability: np.ndarray,
    known: bool,
) -> dict[str, np.ndarray]:
    """The per-arm part of an explanation, of width radius sqrt(square); without estimates the
    intervals are infinite."""
    width = radius * np.sqrt(square) if known else np.full(mean.size, math.inf)
    return intervals(np.where(known, mean, math.nan), width) | {
        "index": index.copy(),
        "probability": probability,
    }


# The stop of policies that sample in phases: after each they drop the arms that are clearly beaten,
# until one is left.


@lean
def eliminate(model, answer, survivors, C, epsilon):
    """Drop every survivor that another beats by more than its width, or that cannot beat the best
    of them by more than epsilon.

    Widths are C ||x_i - x_j||_{A^-1}. Writes the best survivor, C and B, and certifies if it is the
    only one left. O(K^2)
    """
    K = model.mean.shape[0]
    best, bound, beaten, checksum = argmax(model.mean, survivors), -math.inf, model.projection, C
    for j in range(K):
        beaten[j] = -math.inf
        checksum += model.mean[j]
        for i in range(j):
            checksum += model.pair_square[i, j]
        if survivors[j] and j != best:
            lead = model.mean[best] - model.mean[j] - C * math.sqrt(model.pair_square[best, j])
            bound = max(bound, -lead)
            beaten[j] = lead + epsilon
            for i in range(K):
                if survivors[i] and i != j:
                    beaten[j] = max(
                        beaten[j],
                        model.mean[i] - model.mean[j] - C * math.sqrt(model.pair_square[i, j]),
                    )
    left = 0
    for j in range(K):
        survivors[j] = survivors[j] and not beaten[j] > 0.0
        if survivors[j]:
            left += 1
    answer["leader"], answer["radius"], answer["bound"] = best, C, bound
    settle(answer, checksum, left == 1)


def leads_over_survivors(model, survivors: np.ndarray, leader: int) -> np.ndarray:
    others = survivors.copy()
    others[leader] = False
    return np.asarray(model.mean[leader] - model.mean[others])


# Chernoff's stop for arms without features: how clearly the data tell two arms apart, and how
# clearly they must.


ROOT_TOLERANCE = 1e-14
MOST_STEPS = 100


class Chernoff(Certifying):
    """Parameters of these policies, and the rewards they take."""

    rewards: Given[Literal["bernoulli", "gaussian"], int] = choice(
        *DIVERGENCES, default="bernoulli"
    )
    noise: float = scale_bound(default=1.0, above=0)
    threshold: Given[Literal["proven", "heuristic"], int] = choice(
        "proven", "heuristic", default="proven"
    )

    @staticmethod
    def complete(stored: Stored) -> Stored:
        """Means of Bernoulli arms are within 1 of each other, so that there is nothing to ask."""
        if stored["rewards"] == 0 and stored["epsilon"] >= 1.0:
            raise ValueError(
                f"epsilon = {stored['epsilon']:g} is no question to Bernoulli arms, whose means "
                "are in [0, 1]: any arm is within 1 of the best. Give epsilon in [0, 1), or "
                "rewards='gaussian' for rewards in another unit."
            )
        return stored

    def reward_range(self):
        return (0.0, 1.0) if self.rewards == 0 else (-math.inf, math.inf)


class ChernoffQuestion(NamedTuple):
    """The same without the policy's class, so that kernels which Python calls are compiled once for
    all of them."""

    epsilon: float
    delta: float
    rewards: int
    noise: float
    threshold: int


def question_of(policy: Chernoff) -> ChernoffQuestion:
    return ChernoffQuestion(
        policy.epsilon, policy.delta, policy.rewards, policy.noise, policy.threshold
    )


def answer_without_data(**more: Any) -> np.ndarray:
    """(1,) ANSWER with the evidence against the challenger (`information`) and what is `required`
    of it. more: numbers of one's own."""
    return new_answer(information=0.0, required=math.inf, **more)


@lean
def meeting_point(p, n, q, m, epsilon):
    """argmin_x n d(p, x) + m d(q, x + epsilon) of Bernoulli arms, p + epsilon > q: the root of a
    cubic, by Newton's steps kept between the ends at which it changes sign."""
    if epsilon == 0.0:
        return (n * p + m * q) / (n + m)
    low, high = max(q - epsilon, 0.0), min(p, 1.0 - epsilon)
    x = min(max((n * p + m * (q - epsilon)) / (n + m), low), high)
    for _ in range(MOST_STEPS):
        y = x + epsilon
        value = n * (x - p) * y * (1.0 - y) + m * (y - q) * x * (1.0 - x)
        slope = n * (y * (1.0 - y) + (x - p) * (1.0 - 2.0 * y)) + m * (
            x * (1.0 - x) + (y - q) * (1.0 - 2.0 * x)
        )
        if value > 0.0:
            high = x
        else:
            low = x
        new = x - value / slope if slope > 0.0 else -1.0
        if abs(new - x) <= ROOT_TOLERANCE:
            break
        x = new if low < new < high else 0.5 * (low + high)
    return x


@lean
def transportation_cost(policy, p, n, q, m, epsilon):
    """Z for an arm of mean p after n pulls and a rival of mean q after m; 0 where the rival looks
    better by epsilon."""
    gap = p - q + epsilon
    if gap <= 0.0:
        return 0.0
    if policy.rewards == 0:
        x = meeting_point(p, n, q, m, epsilon)
        return n * bernoulli_divergence(p, x) + m * bernoulli_divergence(q, x + epsilon)
    return gap * gap * (n / (n + m)) * m / (2.0 * policy.noise * policy.noise)


@lean
def required(policy, n, m, rounds, K):
    """The least Z after n and m pulls of `rounds`. Proven as above; the heuristic is that of
    Garivier, Kaufmann 2016, section 6."""
    if policy.threshold == 1:
        return math.log(1.0 + math.log(rounds)) - math.log(policy.delta)
    error = math.log(K - 1) - math.log(policy.delta)
    if policy.rewards == 0:
        return error + 0.5 * math.log(16.0 * n * m)
    return (1.0 + 1.0 / min(n, m)) * (error + 0.5 * math.log((1.0 + n) * (1.0 + m)))


@lean
def decide_by_chernoff(policy, state):
    """Name the arm of the largest mean; certified once Z exceeds what is required of it for every
    rival. O(K)."""
    counts, answer = state.counts, state.answer[0]
    K, mean = counts.pulls.shape[0], counts.scores
    for k in range(K):
        mean[k] = counts.sums[k] / counts.pulls[k]
    i = argmax(mean, None)
    challenger, least, checksum = i, math.inf, mean[i]
    answer["information"], answer["required"] = math.inf, 0.0
    for j in range(K):
        if j != i:
            cost = transportation_cost(
                policy, mean[i], counts.pulls[i], mean[j], counts.pulls[j], policy.epsilon
            )
            wanted = required(policy, counts.pulls[i], counts.pulls[j], counts.rounds[0], K)
            checksum += mean[j] + cost
            if cost - wanted < least:
                challenger, least = j, cost - wanted
                answer["information"], answer["required"] = cost, wanted
    answer["leader"], answer["challenger"] = i, challenger
    settle(answer, checksum, least > 0.0)


@lean
def hardest_rival(policy, counts, leader, eligible):
    """argmin_j Z_leader,j, the eligible rival that is hardest to tell from an arm; -1 if there is
    none. O(K).

    Rivals that look better by epsilon all have Z = 0: of them the one that looks best.
    """
    best, least = -1, math.inf
    p, n = counts.sums[leader] / counts.pulls[leader], counts.pulls[leader]
    for j in range(counts.pulls.shape[0]):
        if j != leader and allowed(eligible, j):
            q = counts.sums[j] / counts.pulls[j]
            cost = p - q + policy.epsilon
            if cost > 0.0:
                cost = transportation_cost(policy, p, n, q, counts.pulls[j], policy.epsilon)
            if cost < least or best < 0:
                best, least = j, cost
    return best


# How many samples a policy still needs if the gaps it estimates are the true ones.


MOST_CONTENDERS = 32  # arms whose comparison the forecast plans for
STEPS = 6
MOST_SAMPLES = 2.0**46  # beyond it nobody waits, and designs are singular to rounding


def forecast(
    model: GapRidge | PairRidge,
    mean: np.ndarray,
    leader: int,
    epsilon: float,
    radius: Callable[[float, np.ndarray], float],
    shares: np.ndarray | None = None,
) -> float:
    """Samples still needed if the estimated gaps are the true ones; infinite if a gap is not
    positive, or needs more than MOST_SAMPLES.

    Telling arm j from the leader asks for radius * ||x_leader - x_j||_{A^-1} <= gap_j + epsilon;
    radius(log det(A / R), pulls) is taken where the forecast ends. model: a GapRidge or PairRidge.
    mean: (K,). shares: (K,) if the policy samples in fixed shares. Otherwise samples in the optimal
    ratio w of a difference (Xu, Honda, Sugiyama 2018, Eqs 10-11) add 1 / |w|_1^2 each to its
    inverse square width, and the samples for different j are shared arm by arm. O(K) linear
    programs, at most MOST_CONTENDERS.
    """
    features, pulls = model.features, model.pulls
    lead = mean[leader] - mean + epsilon
    contenders = [int(j) for j in np.argsort(lead) if j != leader][:MOST_CONTENDERS]
    if not contenders:
        return 0.0
    if lead[contenders[0]] <= 0.0:
        return math.inf
    differences, lead = features[leader] - features[contenders], lead[contenders]

    def after(extra: np.ndarray) -> tuple[np.ndarray, float]:
        A = np.diag(model.ridge) + features.T @ ((pulls + extra)[:, None] * features)
        log_det = float(np.linalg.slogdet(A)[1]) - model.ridge_log_det
        return np.einsum("ij,ji->i", differences, np.linalg.solve(A, differences.T)), radius(
            log_det, pulls + extra
        )

    if shares is None:
        return _in_optimal_ratios(features, differences, lead, pulls.size, after)

    def enough(samples: float) -> bool:
        squares, C = after(samples * shares)
        return bool((C * np.sqrt(squares) <= lead).all())

    low, high = 0.0, 1.0
    while high < MOST_SAMPLES and not enough(
        high
    ):  # the first power of two that is enough, then bisection to a thousandth
        low, high = high, 2.0 * high
    if high >= MOST_SAMPLES:
        return math.inf
    while high - low > max(1.0, high / 1024.0):
        middle = (low + high) / 2.0
        low, high = (low, middle) if enough(middle) else (middle, high)
    return math.ceil(high)


def _in_optimal_ratios(
    features: np.ndarray,
    differences: np.ndarray,
    lead: np.ndarray,
    K: int,
    after: Callable[[np.ndarray], tuple[np.ndarray, float]],
) -> float:
    designs = [minimal_combination(features, y) for y in differences]
    extra = np.zeros(K)
    squares, C = after(extra)
    for _ in range(STEPS):
        wanted = np.zeros(K)
        for need, square, design in zip(lead, squares, designs, strict=True):
            if square > 0.0:
                gain = max(
                    (C / need) ** 2 - 1.0 / square, 0.0
                )  # of the inverse square; costs |w|_1^2 samples, |w| / |w|_1 of each arm
                np.maximum(wanted, gain * design.value * np.abs(design.weights), out=wanted)
        extra = wanted
        if extra.sum() > MOST_SAMPLES:
            return math.inf
        C = after(extra)[1]
    return float(np.ceil(extra).sum())


def least_squares_means(model: GapRidge | PairRidge) -> np.ndarray:
    """Means without the ridge parameter, which early on hides gaps from a forecast: (K,)."""
    roots = np.sqrt(model.pulls)
    means = np.divide(model.sums, roots, out=np.zeros_like(model.sums), where=model.pulls > 0)
    return np.asarray(model.features @ np.linalg.lstsq(roots[:, None] * model.features, means)[0])


# The stop of Algorithm 2 of Xu, Honda, Sugiyama 2018, which fits every sampling rule: LinGapE,
# Uniform and the linear games share it.


class GapStop(Certifying):
    lam: float = real(default=1.0, above=0)
    noise: float = scale_bound(default=1.0, above=0)
    theta_bound: float = real(default=1.0, least=0)
    union: bool = flag(default=True)

    def evidence(self, state):
        return gap_evidence(self, state)


@lean
def decide_by_gaps(policy, state):
    """Leader i, challenger j, C and B (Eqs 3 and 8); certified once B <= epsilon. O(K), or O(K d^2)
    for a new leader."""
    model, answer = state.model, state.answer[0]
    i = argmax(model.mean, None)
    measure_from(model, i)
    C = gap_radius(policy, model.progress[0]["log_det"], model.mean.shape[0])
    checksum = compare_with_leader(answer, model.mean, model.gap_square, i, C)
    settle(answer, checksum, answer["bound"] <= policy.epsilon)


def gap_evidence(policy: GapStop, state: Any, shares: np.ndarray | None = None) -> dict[str, float]:
    """`evidence` under this stop. shares: (K,) if the policy samples in fixed shares."""
    model = state.model
    if model.progress[0]["unpulled"] > 0:
        return NO_ESTIMATES

    def left() -> float:
        mean = least_squares_means(model)
        return forecast(
            model,
            mean,
            int(np.argmax(mean)),
            policy.epsilon,
            lambda log_det, pulls: gap_radius(policy, log_det, mean.size),
            shares,
        )

    return support(policy, state, model.mean, model.gap_square, left)


def gap_report(
    policy: GapStop, state: Any, index: np.ndarray, probability: np.ndarray
) -> Explanation:
    """`explain` under this stop. index: (K,) what the sampling rule compares; probability: (K,) of
    every arm to be sampled now."""
    model, answer = state.model, state.answer[0]
    known = model.progress[0]["unpulled"] == 0
    return (
        report(model.mean, answer["radius"], model.square, index, probability, known)
        | policy.evidence(state)
        | {
            "leader": int(answer["leader"]),
            "challenger": int(answer["challenger"]),
            "radius": float(answer["radius"]),
        }
    )
