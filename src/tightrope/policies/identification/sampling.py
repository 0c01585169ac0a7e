"""Sampling rules: which arm to pull next, and with what probability where ties are broken at
random."""

import math
from typing import Annotated, Any, NamedTuple, TypeAlias

import numpy as np

from ...compiled.kernels import lean
from ...core.fields import Extended, Kind
from ...core.policy import lean_verb
from ...core.verbs import allowed
from ...numerics.counts import (
    Counts,
    argmax,
    bernoulli_divergence,
    bernoulli_divergence_close,
    first_unpulled,
    intervals,
    means,
    one_hot,
    upper_root,
)
from ...solvers.programs import Tableau, least_l1, new_tableau
from .models import greedy_scores
from .stopping import (
    MOST_STEPS,
    NO_ESTIMATES,
    Chernoff,
    error_estimate,
    error_of_answer,
    meeting_point,
    question_of,
    required,
    transportation_cost,
)

TIE = 1e-12  # relative: what rounding leaves of an exact tie
SUPPORT = 1e-9  # a smaller share of a design counts as zero


@lean
def fewest_pulls(pulls, eligible):
    """The eligible arm pulled least, ties to the lowest index. O(K)."""
    best = -1
    for k in range(pulls.shape[0]):
        if allowed(eligible, k) and (best < 0 or pulls[k] < pulls[best]):
            best = k
    return best


@lean
def furthest_behind(pulls, shares, eligible):
    """argmin pulls_a / shares_a over shares_a > 0; where none of them is eligible, the arm pulled
    least. O(K).

    Equal shares come out of a solver equal up to rounding only, which must not decide.
    """
    best, least, fallback = -1, math.inf, -1
    for a in range(pulls.shape[0]):
        if allowed(eligible, a):
            if fallback < 0 or pulls[a] < pulls[fallback]:
                fallback = a
            if shares[a] > SUPPORT and pulls[a] / shares[a] < least * (1.0 - TIE):
                best, least = a, pulls[a] / shares[a]
    return best if best >= 0 else fallback


@lean
def shrinking_arm(product, squares, among, eligible, rng):
    """argmin_a max_y y'(A + x_a x_a')^-1 y over the differences y of the arms in `among`; ties at
    random. O(K^3) at most.

    product: X A^-1 X'; squares: (K, K) squared widths of the differences. Many arms leave the
    widest difference as it is, and always taking the first of them would pull it for ever.
    """
    K = product.shape[0]
    best, least, ties = -1, math.inf, 0
    for a in range(K):
        if allowed(eligible, a):
            scale = 1.0 + product[a, a]
            worst = 0.0
            for i in range(K):
                if among[i]:
                    for j in range(i):
                        if among[j]:
                            c = product[a, i] - product[a, j]
                            worst = max(worst, squares[i, j] - c * c / scale)
                if worst > least * (1.0 + TIE):
                    break
            if best < 0 or worst < least * (1.0 - TIE):
                best, least, ties = a, worst, 1
            elif worst <= least * (1.0 + TIE):
                ties += 1
                if rng.random() * ties < 1.0:
                    best = a
    return best


@lean
def unpulled_or_shrinking(model, among, eligible, rng):
    """Each arm once, then `shrinking_arm`: the rule of XY-static and, among survivors, of
    XY-adaptive."""
    arm = first_unpulled(model.pulls, eligible) if model.progress[0]["unpulled"] > 0.0 else -1
    if arm < 0:
        arm = shrinking_arm(model.product, model.pair_square, among, eligible, rng)
    return arm


def shrinking_probability(
    model, among: np.ndarray, eligible: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray]:
    """Index and probability of every arm under `unpulled_or_shrinking`: (K,), (K,).

    The index is minus what is left of the widest difference after one pull; while some arms are
    unpulled, minus the pulls.
    """
    if model.progress[0]["unpulled"] > 0.0:
        arm = first_unpulled(model.pulls, eligible)
        open_arms = np.ones(model.pulls.size, dtype=np.bool_) if eligible is None else eligible
        return -model.pulls, one_hot(arm, model.pulls.size) if arm >= 0 else _shared_equally(
            open_arms
        )
    left = _after_one_pull(model.product, model.pair_square, among)
    values = np.where(eligible, left, math.inf) if eligible is not None else left
    return -left, _shared_equally(values <= values.min() * (1.0 + TIE))


def _after_one_pull(product: np.ndarray, squares: np.ndarray, among: np.ndarray) -> np.ndarray:
    """max_y y'(A + x_a x_a')^-1 y for every arm a, as `shrinking_arm` compares them: (K,); 0 where
    no two arms are left."""
    i, j = np.nonzero(np.tril(np.outer(among, among), -1))
    if not i.size:
        return np.zeros(len(among))
    return np.asarray(
        (
            squares[i, j] - (product[:, i] - product[:, j]) ** 2 / (1.0 + np.diag(product)[:, None])
        ).max(axis=1)
    )


def _shared_equally(tied: np.ndarray) -> np.ndarray:
    return tied / tied.sum() if tied.sum() > 1 else one_hot(int(np.argmax(tied)), tied.size)


# In which proportions to sample arms without features, so that the evidence against all rivals of
# the best one grows alike and fast.


PRECISION = 1e-13
TOLERANCE = 1e-11  # relative, of the pulls of a rival per pull of the best arm
SHORTEST, LONGEST = 1e-6, 1e12  # at means 0 and 1 some arms need no pulls


@lean
def apart(x, y):
    """d(x, y) of Bernoulli arms for x <= y, to many digits also where they are near each other."""
    if y >= 1.0:
        return bernoulli_divergence(x, y)
    return bernoulli_divergence_close(x, y) if x < y else 0.0


@lean
def inverse_evidence(p, q, epsilon, y, most):
    """x in [0, most] with g(x) = y of Bernoulli arms: Newton's steps on a concave function, which
    rise to the root from where the tangent at 0 reaches y; a bisection where they leave the
    bracket."""
    low, high, first = 0.0, most, apart(q, p + epsilon)
    x = min(y / first, most) if 0.0 < first < math.inf else most
    for _ in range(MOST_STEPS):
        m = meeting_point(p, 1.0, q, x, epsilon)
        slope = apart(q, m + epsilon)
        excess = apart(1.0 - p, 1.0 - m) + x * slope - y
        if excess > 0.0:
            high = x
        else:
            low = x
        new = x - excess / slope if 0.0 < slope < math.inf else -1.0
        if abs(new - x) <= PRECISION * most:
            break
        x = new if low < new < high else 0.5 * (low + high)
    return x


@lean
def fill_pulls(policy, mean, best, rival, x, shares):
    """Fill shares with pulls of every arm per pull of the best one when the best rival has x;
    returns (their sum over rivals, the sum of d(mu_1, m_a) / d(mu_a, m_a + epsilon))."""
    total, balance, p, epsilon = 0.0, 0.0, mean[best], policy.epsilon
    y = 0.0
    if policy.rewards == 0:
        m = meeting_point(p, 1.0, mean[rival], x, epsilon)
        y = apart(1.0 - p, 1.0 - m) + x * apart(mean[rival], m + epsilon)
    for a in range(mean.shape[0]):
        if a == best:
            shares[a] = 1.0
            continue
        if policy.rewards == 0:
            pulls = x if mean[a] == mean[rival] else inverse_evidence(p, mean[a], epsilon, y, x)
            m = meeting_point(p, 1.0, mean[a], pulls, epsilon)
            slope = apart(mean[a], m + epsilon)
            balance += apart(1.0 - p, 1.0 - m) / slope if slope > 0.0 else math.inf
        else:
            ratio = (p - mean[a] + epsilon) / (p - mean[rival] + epsilon)
            pulls = x / (ratio * ratio * (1.0 + x) - x)
            balance += pulls * pulls
        shares[a] = pulls
        total += pulls
    return total, balance


@lean
def fill_shares(policy, mean, best, share, shares):
    """Fill shares with the optimal proportions, or with the optimal ones among those that give the
    best arm this share > 0.

    Where rivals are as good as the best arm (epsilon = 0), they share all samples with it. O(K) a
    step of about 40 bisections.
    """
    K, rival = mean.shape[0], -1
    for k in range(K):
        if k != best and (rival < 0 or mean[k] > mean[rival]):
            rival = k
    if rival < 0 or mean[best] - mean[rival] + policy.epsilon <= 0.0:
        equals = 0.0
        for k in range(K):
            shares[k] = 1.0 if mean[k] >= mean[best] else 0.0
            equals += shares[k]
        for k in range(K):
            shares[k] /= equals
        return
    low, high = 0.0, 1.0
    while high < LONGEST:
        total, balance = fill_pulls(policy, mean, best, rival, high, shares)
        if (balance >= 1.0) if share == 0.0 else (total * share >= 1.0 - share):
            break
        low, high = high, 2.0 * high
    while high - low > TOLERANCE * max(high, SHORTEST):
        x = 0.5 * (low + high)
        total, balance = fill_pulls(policy, mean, best, rival, x, shares)
        if (balance >= 1.0) if share == 0.0 else (total * share >= 1.0 - share):
            high = x
        else:
            low = x
    total, balance = fill_pulls(policy, mean, best, rival, high, shares)
    for k in range(K):
        shares[k] /= 1.0 + total


# The grounds of an answer by Chernoff's stop: how much better another arm may be, and what is still
# to be sampled.


MOST_SAMPLES = 2.0**60


@lean
def gap_bound(policy, counts, leader):
    """The least epsilon for which the leader could be named now: how much better another arm may
    be. O(K) roots, by bisection."""
    K, bound = counts.pulls.shape[0], -math.inf
    p, n = counts.sums[leader] / counts.pulls[leader], counts.pulls[leader]
    for j in range(K):
        if j != leader:
            q, m = counts.sums[j] / counts.pulls[j], counts.pulls[j]
            c = required(policy, n, m, counts.rounds[0], K)
            if policy.rewards == 1:
                bound = max(bound, q - p + policy.noise * math.sqrt(2.0 * c * (n + m) / n / m))
                continue
            low, high = q - p, 1.0
            while high - low > 1e-12:
                middle = 0.5 * (low + high)
                if transportation_cost(policy, p, n, q, m, middle) > c:
                    high = middle
                else:
                    low = middle
            bound = max(bound, high)
    return bound


@lean
def certifies(policy, mean, pulls, rounds, leader):
    """Whether so many pulls would certify the leader if these were the means. O(K)."""
    K = mean.shape[0]
    for j in range(K):
        if j != leader:
            cost = transportation_cost(
                policy, mean[leader], pulls[leader], mean[j], pulls[j], policy.epsilon
            )
            if cost <= required(policy, pulls[leader], pulls[j], rounds, K):
                return False
    return True


def samples_remaining(
    policy: Chernoff, counts: Counts, mean: np.ndarray, leader: int, shares: np.ndarray
) -> float:
    """Samples still needed in these shares if the estimated means are the true ones; infinite if a
    rival is as good."""
    rivals = np.delete(mean, leader)
    if rivals.size and rivals.max() >= mean[leader] + policy.epsilon:
        return math.inf

    def pulls_at(total: float) -> np.ndarray:
        return np.maximum(counts.pulls, np.ceil(total * shares))

    def within(total: float) -> bool:
        pulls = pulls_at(total)
        return bool(certifies(question_of(policy), mean, pulls, float(pulls.sum()), leader))

    low, high = float(counts.rounds[0]), 2.0 * float(counts.rounds[0])
    while not within(high):
        low, high = high, 2.0 * high
        if high > MOST_SAMPLES:
            return math.inf
    while high - low > max(1.0, high / 1024.0):
        middle = (low + high) / 2.0
        low, high = (low, middle) if within(middle) else (middle, high)
    return float(pulls_at(high).sum() - counts.pulls.sum())


def chernoff_evidence(policy: Chernoff, state: Any, shares: np.ndarray) -> dict[str, float]:
    """`evidence` under this stop. shares: (K,) in which the policy samples in the long run."""
    counts, answer = state.counts, state.answer[0]
    if not counts.pulls.all():
        return NO_ESTIMATES
    mean, i = means(counts), int(answer["leader"])
    if policy.rewards == 0:  # of a Beta(1, 1) prior, which leaves no arm without a spread
        share = (counts.sums + 1.0) / (counts.pulls + 2.0)
        variance = share * (1.0 - share) / counts.pulls
    else:
        variance = policy.noise**2 / counts.pulls
    return {
        "gap_bound": float(gap_bound(question_of(policy), counts, i)),
        "error": error_of_answer(
            policy, answer, error_estimate(mean, variance + variance[i], i, policy.epsilon, 1.0)
        ),
        "samples_remaining": 0.0
        if answer["certified"]
        else samples_remaining(policy, counts, mean, i, shares),
    }


def chernoff_report(
    policy: Chernoff, state: Any, index: np.ndarray, probability: np.ndarray
) -> dict[str, np.ndarray | float]:
    """The per-arm part of an explanation. All intervals hold together and at all times with
    probability 1 - delta where the threshold is proven: they are those of one arm's mean, by the
    same mixtures."""
    counts, answer = state.counts, state.answer[0]
    mean, K = means(counts), counts.pulls.size
    lower, upper = np.full(K, -math.inf), np.full(K, math.inf)
    for k in np.flatnonzero(counts.pulls):
        n = float(counts.pulls[k])
        if policy.threshold == 1:
            level = math.log(1.0 + math.log(counts.rounds[0])) - math.log(policy.delta)
        elif policy.rewards == 0:
            level = math.log(2.0 * K * math.sqrt(n)) - math.log(policy.delta)
        else:
            level = (1.0 + 1.0 / n) * (
                math.log(K) - math.log(policy.delta) + 0.5 * math.log(1.0 + n)
            )
        upper[k] = upper_root(policy.rewards, mean[k], level / n, policy.noise)
        mirrored = upper_root(
            policy.rewards, (1.0 if policy.rewards == 0 else 0.0) - mean[k], level / n, policy.noise
        )
        lower[k] = (1.0 if policy.rewards == 0 else 0.0) - mirrored
    return {
        **intervals(mean, np.where(counts.pulls > 0, upper - mean, math.inf)),
        "lower": lower,
        "upper": upper,
        "index": index,
        "probability": probability,
        "leader": int(answer["leader"]),
        "challenger": int(answer["challenger"]),
        "information": float(answer["information"]),
        "required": float(answer["required"]),
    }


# LinGapE's two sampling rules: which arm tells a leader i and a challenger j apart.


MOST_PAIRS = 1024  # optimal ratios kept; a pair that lost its place is solved again


PairOrNone: TypeAlias = Annotated[
    np.ndarray,
    Kind(whole=True, least=-1, most=lambda policy, arms: arms.number * (arms.number - 1) // 2),
]


class Greedy(NamedTuple):
    """Eq 9: pull what takes most off the squared width."""

    scores: Extended  # (K,) what one more pull takes off it

    @lean
    def compare(self, model, i, j):
        greedy_scores(model, i, j, self.scores)

    @lean
    def next_arm(self, model, eligible):
        return argmax(self.scores, eligible)


class Ratio(NamedTuple):
    """Eq 12: pull what is furthest behind the optimal ratio of the pair."""

    scores: Extended  # (K,) the optimal ratio p of the pair in question
    pairs: PairOrNone  # (slots,) which pair's ratio a slot holds, -1: none
    ratios: Extended  # (slots, K)
    tableau: Tableau

    @lean
    def compare(self, model, i, j):
        """p of Eq 10, the same for y and -y, from the LP of Eq 11."""
        low, high = min(i, j), max(i, j)
        pair = high * (high - 1) // 2 + low
        slot = pair % self.pairs.shape[0]
        ratio = self.ratios[slot]
        if i != j and self.pairs[slot] != pair:
            y = model.direction
            for p in range(y.shape[0]):
                y[p] = model.features[low, p] - model.features[high, p]
            least_l1(model.features, y, self.tableau, ratio)
            total = 0.0
            for a in range(ratio.shape[0]):
                total += abs(ratio[a])
            for a in range(ratio.shape[0]):
                ratio[a] = abs(ratio[a]) / total
            self.pairs[slot] = pair
        for a in range(ratio.shape[0]):
            self.scores[a] = ratio[a]

    @lean
    def next_arm(self, model, eligible):
        return furthest_behind(model.pulls, self.scores, eligible)


def new_rule(features: np.ndarray, ratio: bool) -> Greedy | Ratio:
    """The rule for (K, d) features; until every arm was pulled the scores are 1 for those that were
    not."""
    K, d = features.shape
    if not ratio:
        return Greedy(np.ones(K))
    slots = max(min(K * (K - 1) // 2, MOST_PAIRS), 1)
    return Ratio(
        np.ones(K), np.full(slots, -1, dtype=np.int64), np.zeros((slots, K)), new_tableau(K, d)
    )


@lean_verb
def compare(rule, model, i, j):
    """Prepare to sample what tells arms i and j apart."""


@lean_verb
def next_arm(rule, model, eligible):
    """The arm to pull now."""
