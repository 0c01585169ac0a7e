"""Estimators of a value, their kernels, confidence sequences and reward models."""

import math
from typing import Literal, NamedTuple, TypeAlias, get_args

import numpy as np
from numpy.typing import ArrayLike

from ..compiled.kernels import jit, python_of
from ..core import checks
from ..logs.log import Log, Rows
from ..numerics.counts import boundaries

# Compiled passes over rows: what every estimator sums, the scores of the confidence sequences, the
# regression's sums.


# Places in `sums`.
ROUNDS, ROWS, W, WW, WR, WWR, WWRR, LARGEST, MASS, H, HH, HG, HHG, HHGG, MATCHED, ABOVE, BELOW = (
    range(17)
)
SUMS = 17
# Rows of `moments`, whose columns are the mean and the sum of squared deviations of a score by
# round.
IPS, CLIPPED, DM, DR, SWITCH = range(5)
MOMENTS = 5
# a propensity below it counts as that much: squares of weights stay finite, and one such row is all
# there is to say
LEAST = 1e-60
LARGE_VARIANCE = 1000.0  # V + rho from which the mixture has a closed form to twelve digits


@jit
def score(
    arm,
    reward,
    scaled,
    propensity,
    target,
    logged,
    model,
    bounded,
    least,
    known,
    starts,
    size,
    k,
    clip,
    ends,
    sums,
    moments,
    mass,
    astray,
    lower,
    upper,
    weight,
    square,
):
    """Add rows to the sums of one target, fill the scores of its rounds, and return the number of
    rounds.

    scaled: (m,) rewards in [0, 1]. target, model, bounded, least: (m, K) probabilities of the
    target, predicted rewards, the same in [0, 1], and what the logger's probabilities were at
    least.
    logged: the target is the logger itself; then `target` holds the propensity of the played arm,
    the other three are 0. known: whether `least` is exactly the logger's probabilities. starts:
    (m,) whether a row begins a round. size: arms of the largest set.
    k: lower bound -k of the scores. ends: the lowest and the highest reward that occurs. mass,
    astray: (K,) sums of the target's probabilities, and of those where the logger's were 0.
    lower, upper: (m,) out, phi^L and phi^U of the round over `size`. weight, square: (m,) out, sums
    of w and w^2 in the round.
    """
    m, K = target.shape
    i = rounds = 0
    while i < m:
        expected = total = spread = shift_low = shift_high = 0.0
        for a in range(K):
            p = target[i, a]
            if p > 0.0:
                r, h = bounded[i, a], least[i, a]
                total += p
                if not logged:
                    mass[a] += p
                expected += p * model[i, a]
                shift_low += min(p * r, k * h)
                shift_high += min(p * (1.0 - r), k * h)
                if h > 0.0:
                    spread += p * p / h
                elif known:
                    astray[a] += p
        ips = clipped = correction = switched = 0.0
        low, high, w_sum, w_square = shift_low, shift_high, 0.0, 0.0
        j = i
        while j < m and (j == i or not starts[j]):
            a, R, h = arm[j], reward[j], max(propensity[j], LEAST)
            p, r, floor = target[j, a], model[j, a], min(least[j, a], propensity[j])
            w = p / h
            sums[ABOVE] += w > 0.0 and ends[0] < R
            sums[BELOW] += w > 0.0 and ends[1] > R
            ips += w * R
            clipped += min(w, clip) * R
            correction += w * (R - r)
            if w <= clip:
                switched += w * (R - r)
            R, r = scaled[j], bounded[j, a]
            low += w * R - min(p * r, k * floor) / h
            high += w * (1.0 - R) - min(p * (1.0 - r), k * floor) / h
            w_sum += w
            w_square += w * w
            sums[WR] += w * R
            sums[WWR] += w * w * R
            sums[WWRR] += w * w * R * R
            sums[LARGEST] = max(sums[LARGEST], w)
            sums[MATCHED] += p >= 1.0 - 1e-6
            if logged:
                mass[a] += 1.0
            j += 1
        if logged:
            total, spread = float(j - i), 1.0
        sums[ROWS] += j - i
        sums[ROUNDS] += 1.0
        sums[W] += w_sum
        sums[WW] += w_square
        sums[MASS] += total
        n = sums[ROUNDS]
        add(moments, IPS, ips, n)
        add(moments, CLIPPED, clipped, n)
        add(moments, DM, expected, n)
        add(moments, DR, expected + correction, n)
        add(moments, SWITCH, expected + switched, n)
        if (known or logged) and spread > 0.0:
            g, e = expected + correction, 1.0 / spread
            root = math.sqrt(e)
            sums[H] += root
            sums[HH] += e
            sums[HG] += root * g
            sums[HHG] += e * g
            sums[HHGG] += e * g * g
        lower[rounds] = low / size
        upper[rounds] = high / size + 1.0 - total / size
        weight[rounds], square[rounds] = w_sum, w_square
        rounds += 1
        i = j
    return rounds


@jit
def add(moments, place, value, n):
    """Welford's step: the mean of n values and the sum of their squared deviations."""
    before = value - moments[place, 0]
    moments[place, 0] += before / n
    moments[place, 1] += before * (value - moments[place, 0])


@jit
def advance(scores, first, n, k, state, times, place, out):
    """Add scores first .. n - 1 to a sequence's state (t, sum of xi, V), and copy it to `out` at
    the given times; returns the next place.

    times: (c,) increasing rounds. place: of the first that is still to come. out: (c, 3).
    """
    scale, most = 1.0 / (1.0 + k), 1.0 / (1.0 + k)
    t, total, variance = state[0], state[1], state[2]
    for i in range(first, n):
        xi = scores[i] * scale
        guess = min(total / t, most) if t > 0.0 else 0.0
        variance += (xi - guess) * (xi - guess)
        total += xi
        t += 1.0
        if place < times.shape[0] and t == times[place]:
            out[place, 0], out[place, 1], out[place, 2] = t, total, variance
            place += 1
    state[0], state[1], state[2] = t, total, variance
    return place


@jit
def log_mixture(S, V, rho, constant):
    """ln M of the gamma-exponential mixture as ln 1F1(1; a + 1; a + S) - ln a + constant, a = V +
    rho: a sum of positive terms.

    constant: rho ln rho - rho - ln gamma(rho, rho). Infinite beyond what a float holds. From a =
    LARGE_VARIANCE on by Temme's expansion of the incomplete gamma function (DLMF 8.12.3, two
    terms), with S / a and the signed root of 2 (u - ln(1 + u)) as u and e. O(1).
    """
    a = V + rho
    x = a + S
    if a >= LARGE_VARIANCE:
        u = S / a
        half = S - a * math.log1p(u)
        if abs(u) < 1e-3:  # where the two would cancel
            half = S * u * (1.0 / 2.0 - u * (1.0 / 3.0 - u * (1.0 / 4.0 - u / 5.0)))
        e = math.copysign(math.sqrt(2.0 * half / a), u)
        first = -1.0 / 3.0 + e * (1.0 / 12.0 - e * (2.0 / 135.0 - e * (1.0 / 864.0 + e / 2835.0)))
        second = -1.0 / 540.0 - e * (1.0 / 288.0 - e / 378.0)
        if abs(e) > 0.1:
            first = 1.0 / u - 1.0 / e
            second = 1.0 / (e * e * e) - 1.0 / (u * u * u) - 1.0 / (u * u) - 1.0 / (12.0 * u)
        tail = math.exp(-half) / math.sqrt(2.0 * math.pi * a) * (first + second / a)
        below = 0.5 * math.erfc(-e * math.sqrt(0.5 * a)) - tail
        return (
            half + 0.5 * math.log(2.0 * math.pi / a) + 1.0 / (12.0 * a) + math.log(below) + constant
        )
    term = total = 1.0
    i = 1.0
    while term > 1e-17 * total or a + i <= x:
        term *= x / (a + i)
        total += term
        i += 1.0
        if total > 1e290:
            return math.inf
    return math.log(total) - math.log(a) + constant


@jit
def boundary(V, rho, constant, threshold):
    """The S at which ln M = threshold, by Newton's method on a convex function, from above.
    threshold > 0."""
    a = V + rho
    S = math.sqrt(2.0 * a * threshold) + threshold
    for _ in range(60):
        value = log_mixture(S, V, rho, constant)
        if value == math.inf:
            S *= 0.5
            continue
        x = a + S
        slope = S / x + a / x * math.exp(-(value - constant + math.log(a)))
        step = (value - threshold) / slope
        S -= step
        if abs(step) <= 1e-10 * S:
            break
    return S


@jit
def first_crossing(
    scores,
    n,
    k,
    level,
    rho,
    constant,
    threshold,
    state,
    least,
    enough,
    weight,
    square,
    other,
    others,
    times,
    place,
    out,
):
    """Add n scores to a state (t, sum of xi, V, S that cannot be a crossing, round of the crossing
    or 0, sums of w and w^2 of two targets), of which the first three are those of `advance`, as are
    times, place and out; returns the next place.

    A round is a crossing when M(level) >= exp(threshold) there: the value is above `level` at that
    confidence. Only rounds count in which the effective sample size of both targets is at least
    `least` and a share `enough` of the rounds, so never one before both have a weight. O(1) a
    round, and mostly nothing: ln M falls in V and grows in S, so below the last boundary no new one
    is needed.
    """
    scale = 1.0 / (1.0 + k)
    for i in range(n):
        place = advance(scores, i, i + 1, k, state, times, place, out)
        state[5] += weight[i]
        state[6] += square[i]
        state[7] += other[i]
        state[8] += others[i]
        S = state[1] - state[0] * level * scale
        if state[4] > 0.0 or state[3] > S:
            continue
        needed = max(least, enough * state[0])
        enough_first = state[6] > 0.0 and state[5] * state[5] >= needed * state[6]
        if not (enough_first and state[8] > 0.0 and state[7] * state[7] >= needed * state[8]):
            continue
        edge = boundary(state[2], rho, constant, threshold)
        if edge <= S:
            state[4] = state[0]
        else:
            state[3] = edge
    return place


@jit
def add_products(arm, reward, features, grams, products):
    """grams (K, q, q) += x x', products (K, q) += reward x, by arm, with x = (1, features of the
    row)."""
    q = grams.shape[1]
    for i in range(arm.shape[0]):
        a, r = arm[i], reward[i]
        grams[a, 0, 0] += 1.0
        products[a, 0] += r
        for u in range(1, q):
            x = features[i, u - 1]
            products[a, u] += r * x
            for v in range(u + 1):
                grams[a, u, v] += x * (features[i, v - 1] if v > 0 else 1.0)


@jit
def predict_by_arm(features, begin, end, theta, low, high, out):
    """out[i, a] <- theta[a] . (1, features[i]), kept within [low, high]."""
    K, q = theta.shape
    for i in range(begin, end):
        for a in range(K):
            value = theta[a, 0]
            for u in range(1, q):
                value += theta[a, u] * features[i, u - 1]
            out[i, a] = min(max(value, low), high)


@jit
def predict_shared(features, begin, end, theta, low, high, out):
    """out[i, a] <- theta . (1, features[i, a]), kept within [low, high]."""
    K, q = features.shape[1], theta.shape[0]
    for i in range(begin, end):
        for a in range(K):
            value = theta[0]
            for u in range(1, q):
                value += theta[u] * features[i, a, u - 1]
            out[i, a] = min(max(value, low), high)


Estimator: TypeAlias = Literal["ips", "clipped-ips", "snips", "dm", "dr", "switch-dr", "aipw"]
ESTIMATORS: tuple[Estimator, ...] = get_args(Estimator)
PLACES = {"ips": IPS, "clipped-ips": CLIPPED, "dm": DM, "dr": DR, "switch-dr": SWITCH}


class ValueEstimate(NamedTuple):
    """A value and its standard error (NaN where a single round gives none, or where the estimator
    does not apply)."""

    value: float
    se: float


class Sums:
    """The running sums of one target. rewards: lowest and highest, between which those of SNIPS are
    scaled to [0, 1]."""

    def __init__(self, arms: int, rewards: tuple[float, float]) -> None:
        self.rewards = rewards
        self.sums = np.zeros(SUMS)
        self.moments = np.zeros((MOMENTS, 2))
        self.mass = np.zeros(arms)  # of the target by arm

    @property
    def rounds(self) -> int:
        return int(self.sums[ROUNDS])

    @property
    def ess(self) -> float:
        """Effective sample size (sum w)^2 / sum w^2 in rows."""
        squares = self.sums[WW]
        return float(self.sums[W] ** 2 / squares) if squares > 0.0 else 0.0

    @property
    def mean_weight(self) -> tuple[float, float]:
        n, total, squares = (float(self.sums[place]) for place in (ROWS, W, WW))
        mean = total / n
        return mean, math.sqrt(max(squares / n - mean * mean, 0.0) / n)

    @property
    def largest(self) -> float:
        return float(self.sums[LARGEST])

    @property
    def exceptions(self) -> int:
        """Rows with a weight whose reward is not the lowest, or not the highest, whichever are
        fewer."""
        return int(min(self.sums[ABOVE], self.sums[BELOW]))

    def estimate(self, name: str) -> ValueEstimate:
        s = self.sums
        if name == "snips":
            return self._snips()
        if name == "aipw":
            return ValueEstimate(*aipw_estimate(s[H], s[HH], s[HG], s[HHG], s[HHGG]))
        checks.choice("estimator", name, ESTIMATORS)
        n, (mean, squares) = self.rounds, self.moments[PLACES[name]].tolist()
        return ValueEstimate(mean, math.sqrt(squares / (n - 1) / n) if n > 1 else math.nan)

    def _snips(self) -> ValueEstimate:
        """Normalised by the weights; of a set, times the mean number of arms that the target
        plays."""
        s = self.sums
        if s[W] <= 0.0:
            return ValueEstimate(math.nan, math.nan)
        value = s[WR] / s[W]
        squares = s[WWRR] - 2.0 * value * s[WWR] + value * value * s[WW]
        arms, (low, high) = s[MASS] / s[ROUNDS], self.rewards
        se = arms * (high - low) * math.sqrt(max(squares, 0.0)) / s[W]
        return ValueEstimate(float(arms * (low + (high - low) * value)), float(se))


def aipw_estimate(
    total: float, squares: float, scores: float, square_scores: float, squared_scores: float
) -> tuple[float, float]:
    """(value, standard error) of AIPW from the sums of h, h^2, h Gamma, h^2 Gamma and h^2 Gamma^2;
    NaN without rounds."""
    if not total > 0.0:
        return math.nan, math.nan
    value = scores / total
    spread = squared_scores - 2.0 * value * square_scores + value * value * squares
    return float(value), math.sqrt(max(spread, 0.0)) / float(total)


# Confidence sequences: bounds on a policy's mean value that hold at all times at once, however
# often they are looked at.


SPACING = 1.05  # ratio of two times that are shown
ROUNDED = -(1.0 + 1e-9)  # times k: the least score, with room for rounding
NO_TIMES, NO_COPIES = (
    np.zeros(0),
    np.zeros((0, 3)),
)  # no times at which a state is copied, and no place for copies
_advance_one = python_of(
    advance
)  # for one round a call, plain Python is quicker than crossing into compiled code


class Sequence(NamedTuple):
    """Bounds over time. t: (c,) rounds. lower, upper: (c,) bounds on the mean value of rounds 1 ..
    t, in units of the reward."""

    t: np.ndarray
    lower: np.ndarray
    upper: np.ndarray


def shown_times(rounds: int) -> np.ndarray:
    """Rounds at which bounds are kept: 1, 2, 3, .., about SPACING^j, and the last. A longer log has
    the same ones and more."""
    count = 1 + math.floor(math.log(rounds) / math.log(SPACING))
    grid = np.ceil(SPACING ** np.arange(count + 1)).astype(np.int64)
    return np.unique(np.append(grid[grid < rounds], rounds))


def lower_bounds(states: np.ndarray, alpha: float, k: float = 1.0, rho: float = 1.0) -> np.ndarray:
    """L of states (c, 3), each (t, sum of xi, V), within [0, 1]; 0 before the first round."""
    t, total, V = states.T
    with np.errstate(divide="ignore", invalid="ignore"):
        bound = (total - boundaries(V, alpha, rho)) * (1.0 + k) / t
    return np.clip(np.where(t > 0.0, bound, 0.0), 0.0, 1.0)


class ConfidenceSequence:
    """Bounds on the mean of a value, fed one round at a time, that hold at all times at once. O(1)
    a round, and so is what is kept.

    Parameters
    ----------
    alpha : float in (0, 1)
        Error, alpha / 2 on each side.
    k : float >= 0
        Scores are never below -k.
    rho : float > 0
        Of the mixture: a larger one tightens late bounds and widens early ones.
    state : (2, 3) numbers, optional
        What `state` of an earlier sequence was; the new one goes on from there, to the bit.

    Attributes
    ----------
    state : list of two lists
        (t, sum of xi, V) of the lower and of the upper scores: plain numbers, as JSON takes them.

    Raises
    ------
    ValueError
        For a score below -k, which would break the bound.

    Examples
    --------
    >>> from tightrope.evaluation.estimators import ConfidenceSequence
    >>> sequence = ConfidenceSequence(alpha=0.05, k=0.0)
    >>> for reward in (1.0, 0.0, 1.0, 1.0):
    ...     sequence.add(reward, 1.0 - reward)
    >>> sequence.rounds
    4
    """

    def __init__(
        self,
        alpha: float = 0.05,
        *,
        k: float = 1.0,
        rho: float = 1.0,
        state: ArrayLike | None = None,
    ) -> None:
        self.alpha = checks.real("alpha", alpha, above=0, below=1)
        self.k, self.rho = checks.real("k", k, least=0), checks.real("rho", rho, above=0)
        start = np.zeros((2, 3)) if state is None else checks.matrix("state", state, shape=(2, 3))
        if (start[:, [0, 2]] < 0.0).any() or start[0, 0] != start[1, 0]:
            raise ValueError(
                f"state = {checks.show(start)} is not two rows (t, sum, V) of the same t >= 0 "
                "with V >= 0."
            )
        self.state: list[list[float]] = start.tolist()

    def add(self, lower: float, upper: float) -> None:
        """Take in one round: phi^L and phi^U, which a reward in [0, 1] and the weight of its arm
        give."""
        least = self.k * ROUNDED
        if not (least <= lower < math.inf and least <= upper < math.inf):
            raise self._too_low(lower, upper)
        _advance_one((lower,), 0, 1, self.k, self.state[0], NO_TIMES, 0, NO_COPIES)
        _advance_one((upper,), 0, 1, self.k, self.state[1], NO_TIMES, 0, NO_COPIES)

    def update(self, lower: ArrayLike, upper: ArrayLike) -> None:
        """Take in the scores of several rounds, (n,) each, by compiled code."""
        pair = [
            np.atleast_1d(checks.floats(name, value))
            for name, value in (("lower", lower), ("upper", upper))
        ]
        if pair[0].shape != pair[1].shape or pair[0].ndim != 1:
            raise ValueError(
                f"lower and upper have shapes {pair[0].shape} and {pair[1].shape}, but must have "
                "one score for each round."
            )
        for scores in pair:
            if not (scores >= self.k * ROUNDED).all() or not np.isfinite(scores).all():
                raise self._too_low(*pair)
        states = np.array(self.state)
        for state, scores in zip(states, pair, strict=True):
            advance(
                np.ascontiguousarray(scores), 0, scores.size, self.k, state, NO_TIMES, 0, NO_COPIES
            )
        self.state = states.tolist()

    def _too_low(self, lower: object, upper: object) -> ValueError:
        bounds = f"lower = {checks.show(lower)} and upper = {checks.show(upper)}"
        return ValueError(
            f"{bounds} must be finite and at least -k = {-self.k:g}; scores below it break the "
            "bound."
        )

    @property
    def rounds(self) -> int:
        return int(self.state[0][0])

    @property
    def bounds(self) -> tuple[float, float]:
        """(lower, upper) now, on the mean value of all rounds so far."""
        low, high = lower_bounds(np.array(self.state), self.alpha / 2.0, self.k, self.rho).tolist()
        return low, 1.0 - high


def bounds_of(sequences: list[ConfidenceSequence], alpha: float) -> list[tuple[float, float]]:
    """(lower, upper) of several sequences with the same k and rho, each with error alpha: computed
    together, which is quicker."""
    if not sequences:
        return []
    states = np.concatenate([each.state for each in sequences])
    pairs = (
        lower_bounds(states, alpha / 2.0, sequences[0].k, sequences[0].rho).reshape(-1, 2).tolist()
    )
    return [(low, 1.0 - high) for low, high in pairs]


# Reward models that are fitted while a log is read: what they predict for a round was learned from
# earlier rounds only.


Model: TypeAlias = Literal["ridge"] | ArrayLike | None
GROWTH = 1.1  # factor by which the number of rows grows between two fits
LAM = 1.0  # ridge parameter, in units of one row
MOST_PRODUCTS = 10**8  # of numbers in one compiled loop
BINS = 1000  # of the predictions' logit, from which deciles are made
EDGE = 1e-6  # predictions closer to 0 or 1 than this share a bin


class Ridge:
    """Ridge regression of rewards, refitted after 1, 2, 3, .., about GROWTH^j rows.

    Without features: the mean of every arm, drawn towards that of all arms as if by LAM rows. With
    features of the round (n, d): one regression for every arm. With features of every arm (n, K,
    d), or (K, d) that never change: one regression for all arms. Each has an intercept, drawn
    towards the mean of all rewards; the other coefficients are drawn towards 0. Predictions are
    kept within the rewards learned so far, whatever range is declared, and are 0 before the first.
    O(d^2) a row, O(K d^3) a fit, O(K d) a prediction.
    """

    def __init__(self, log: Log) -> None:
        self.log = log
        self.fixed = log.arm_features
        self.shared = False
        self.rows, self.next_fit = 0, 1
        self.total = 0.0  # of the rewards
        self.least, self.most = math.inf, -math.inf  # of the rewards
        self.weights = np.zeros((3, BINS))  # rows, predictions, rewards by bin of the prediction

    def _start(self, rows: Rows) -> None:
        K = self.log.arms
        features = rows.features
        self.shared = self.fixed is not None or (features is not None and features.ndim == 3)
        shown = self.fixed if features is None else features
        d = 0 if shown is None else shown.shape[-1]
        count = 1 if self.shared else K
        checks.fits_in_memory("arms", count, 8 * (d + 1) ** 2)
        self.grams, self.products = np.zeros((count, d + 1, d + 1)), np.zeros((count, d + 1))
        self.theta = np.zeros((count, d + 1))

    def score(self, rows: Rows, starts: np.ndarray, out: np.ndarray) -> int:
        """Fill out (m, K) with predictions for these rows, each from earlier rounds, and learn
        their rewards.

        starts: (m,) whether a row begins a round; a fit falls between two rounds. Returns the
        number of rows before which nothing was learned.
        """
        if self.rows == 0:
            self._start(rows)
        m, begin, unlearned = rows.arm.size, 0, 0
        q = self.grams.shape[1]
        piece = max(
            1, MOST_PRODUCTS // (q * (q + self.log.arms))
        )  # so that no compiled loop outlasts a Ctrl-C
        while begin < m:
            end = min(m, begin + max(self.next_fit - self.rows, 1), begin + piece)
            while end < m and not starts[end]:
                end += 1
            self.predict(rows, begin, end, out)
            unlearned = end if self.rows == 0 else unlearned
            self._note(out[np.arange(begin, end), rows.arm[begin:end]], rows.reward[begin:end])
            self._learn(rows, rows.reward, begin, end)
            begin = end
        return unlearned

    def predict(self, rows: Rows, begin: int, end: int, out: np.ndarray) -> None:
        m, low, high = rows.arm.size, self.least, self.most
        if self.rows == 0:
            out[begin:end] = 0.0
        elif self.shared:
            features = rows.features
            if features is None or features.ndim == 2:
                assert self.fixed is not None
                one = np.empty((1, self.log.arms))
                predict_shared(self.fixed[None], 0, 1, self.theta[0], low, high, one)
                out[begin:end] = one
            else:
                predict_shared(features, begin, end, self.theta[0], low, high, out)
        elif self.theta.shape[1] == 1:
            out[begin:end] = np.clip(self.theta[:, 0], low, high)
        else:
            predict_by_arm(
                _features_or_none(rows.features, m), begin, end, self.theta, low, high, out
            )

    def _learn(self, rows: Rows, reward: np.ndarray, begin: int, end: int) -> None:
        arm, shown = rows.arm[begin:end], _features_or_none(rows.features, rows.arm.size)
        if not self.shared:
            shown = shown[begin:end]
        elif shown.ndim == 3:
            shown = np.ascontiguousarray(shown[np.arange(begin, end), arm])
        else:
            assert self.fixed is not None
            shown = self.fixed[arm]
        regression = np.zeros_like(arm) if self.shared else arm
        add_products(regression, reward[begin:end], shown, self.grams, self.products)
        self.total += float(reward[begin:end].sum())
        self.least, self.most = (
            min(self.least, float(reward[begin:end].min())),
            max(self.most, float(reward[begin:end].max())),
        )
        self.rows += end - begin
        if self.rows >= self.next_fit:
            self.fit()
            self.next_fit = max(self.rows + 1, math.ceil(self.rows * GROWTH))

    def fit(self) -> None:
        """The coefficients from the sums; only the lower triangles of the grams are read."""
        mean, d = self.total / self.rows, self.grams.shape[1]
        whole = np.tril(self.grams) + np.transpose(np.tril(self.grams, -1), (0, 2, 1))
        rest = self.products - mean * whole[:, :, 0]
        self.theta = np.ascontiguousarray(
            np.linalg.solve(whole + LAM * np.eye(d), rest[:, :, None])[:, :, 0]
        )
        self.theta[:, 0] += mean

    def _note(self, predicted: np.ndarray, reward: np.ndarray) -> None:
        low, high = self.log.rewards
        inside = np.clip((predicted - low) / (high - low), EDGE, 1.0 - EDGE)
        span = math.log((1.0 - EDGE) / EDGE)
        place = np.minimum(
            ((np.log(inside / (1.0 - inside)) + span) * (BINS / (2.0 * span))).astype(np.int64),
            BINS - 1,
        )
        for row, weights in enumerate((None, predicted, reward)):
            self.weights[row] += np.bincount(place, weights=weights, minlength=BINS)

    def calibration(self) -> np.ndarray:
        """(c, 3) rows, mean prediction and mean reward by tenths of the played arms' predictions,
        the lowest first; c <= 10."""
        counts = self.weights[0]
        if not counts.any():
            return np.zeros((0, 3))
        middle = np.cumsum(counts) - counts / 2.0
        tenth = np.minimum((10.0 * middle / counts.sum()).astype(np.int64), 9)
        joined = np.stack([np.bincount(tenth, weights=row, minlength=10) for row in self.weights])
        joined = joined[:, joined[0] > 0.0]
        return np.stack([joined[0], joined[1] / joined[0], joined[2] / joined[0]], axis=1)


def _features_or_none(features: np.ndarray | None, m: int) -> np.ndarray:
    return np.zeros((m, 0)) if features is None else features
