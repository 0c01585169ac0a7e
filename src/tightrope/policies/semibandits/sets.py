"""The base of all policies over sets: the state, asking the oracle, breaking ties, the chance of
each arm.

Scores of a round use the data before it; the oracle turns them into the set. Nothing here decides
how scores are made.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, cast

import numpy as np
import scipy

from ...compiled.kernels import jit, lean
from ...core.fields import Given, choice, flag, real
from ...core.policy import Policy
from ...core.registry import LARGEST_REWARD
from ...core.types import Explanation, Oracle, Sampled, draws_of
from ...core.verbs import Arms, Context
from ...numerics.batch_ridge import (
    BatchRidge,
    RidgeSolution,
    batch_scale,
    check_features,
    learn_batch,
    new_batch_ridge,
    predict_settled,
    settle,
)
from ...numerics.counts import Counts, intervals, new_counts
from ...numerics.noise import bounded
from ...numerics.ridge import size_of
from ...numerics.states import longer_counts, merged_batch_ridge, merged_counts
from ...solvers.oracles import (
    Partition,
    Promotions,
    TopK,
    choose,
    count_pairs,
    kth_largest,
    set_size,
)

# How likely each of n random scores is to be in the set: exactly for independent scores and the k
# largest, else counted over draws.


NODES = 10  # Gauss-Legendre nodes between neighbouring breakpoints
CUTS = (
    -8.5,
    -6.5,
    -5.0,
    -4.0,
    -3.0,
    -2.0,
    -1.0,
    0.0,
    1.0,
    2.0,
    3.0,
    4.0,
    5.0,
    6.5,
    8.5,
)  # breakpoints of a normal, in deviations
FEW_PLACES = 16  # places up to which keeping the best so far is quicker than selecting
MOST_WORK = 2e6  # steps up to which the exact integral is taken: about as long as draws take


def exact_inclusion(centre: np.ndarray, spread: np.ndarray, k: int, law: str) -> np.ndarray | None:
    """`top_k_probability`, with scores that are surely in or surely out left out of the integral;
    None where it would still take long."""
    cuts = cuts_of(law)
    lowest, highest = centre + cuts[0] * spread, centre + cuts[-1] * spread
    n, probability = centre.size, np.ones(centre.size)
    if k >= n:
        return probability
    probability[highest < np.partition(lowest, n - k)[n - k]] = 0.0  # k others are surely above
    sure = lowest > np.partition(highest, n - k - 1)[n - k - 1]  # at most k - 1 others can be above
    open_ = ~sure & (probability > 0.0)
    number, places = int(open_.sum()), k - int(sure.sum())
    if number * cuts.size * NODES * number * (places + 10) > MOST_WORK:
        return None
    probability[open_] = top_k_probability(centre[open_], spread[open_], places, law)
    return probability


def cuts_of(law: str) -> np.ndarray:
    return np.array(CUTS if law == "normal" else (0.0, 1.0))


def top_k_probability(centre: np.ndarray, spread: np.ndarray, k: int, law: str) -> np.ndarray:
    """(n,) probability of each score being among the k largest. O(n^2 k) times 150; relative error
    about 1e-9.

    law: "normal" (centre + spread * N(0, 1)) or "uniform" (centre + spread * U(0, 1)); spread > 0
    everywhere.
    """
    n = centre.size
    if k >= n:
        return np.ones(n)
    points = np.unique(centre[:, None] + spread[:, None] * cuts_of(law))
    unit, weight = np.polynomial.legendre.leggauss(NODES)
    half, left = np.diff(points) / 2, points[:-1]
    out = np.zeros(n)
    chunk = max(1, 10**6 // (n * NODES))
    for first in range(0, half.size, chunk):
        h = half[first : first + chunk, None]
        s = (left[first : first + chunk, None] + h + h * unit).reshape(-1, 1)
        z = (s - centre) / spread
        if law == "normal":
            exceed, density = (
                scipy.special.ndtr(-z),
                np.exp(-0.5 * z * z) / (math.sqrt(2 * math.pi) * spread),
            )
        else:
            exceed, density = np.clip(1 - z, 0.0, 1.0), ((z > 0) & (z < 1)) / spread
        room = np.zeros((n + 1, k))
        add_inclusion(
            exceed, density * (h * weight).reshape(-1, 1), np.zeros((n + 1, k)), room, out
        )
    return np.minimum(out, 1.0)


@lean
def add_inclusion(exceed, mass, before, after, out):
    """out[i] += sum over nodes of mass[node, i] * P(at most k - 1 of the others exceed)."""
    n, k = exceed.shape[1], before.shape[1]
    for node in range(exceed.shape[0]):
        for m in range(k):
            before[0, m] = (
                1.0 if m == 0 else 0.0
            )  # distribution of the count among scores 0 .. i - 1
            after[n, m] = 1.0  # P(count among scores i + 1 .. is at most m)
        for i in range(n):
            p = exceed[node, i]
            for m in range(k):
                before[i + 1, m] = before[i, m] * (1.0 - p) + (
                    before[i, m - 1] * p if m > 0 else 0.0
                )
        for i in range(n - 1, -1, -1):
            if mass[node, i] > 0.0:
                total = 0.0
                for m in range(k):
                    total += before[i, m] * after[i + 1, k - 1 - m]
                out[i] += mass[node, i] * total
            p = exceed[node, i]
            for m in range(k):
                after[i, m] = after[i + 1, m] * (1.0 - p) + (
                    after[i + 1, m - 1] * p if m > 0 else 0.0
                )


@lean
def last_of(row, best):
    """The k-th largest of a row's entries, k few; best: (k,) to work in, the largest so far in
    order. O(n), as few of them enter."""
    k = best.shape[0]
    for i in range(k):
        best[i] = -math.inf
    for i in range(row.shape[0]):
        value = row[i]
        if value > best[k - 1]:
            place = k - 1
            while place > 0 and best[place - 1] < value:
                best[place] = best[place - 1]
                place -= 1
            best[place] = value
    return best[k - 1]


@jit
def count_top(scores, spacing, k, hits):
    """hits[i] += how many rows of scores (draws, n) have i among their k largest, equal ones by
    index.

    spacing: (draws,) scores of a row that round to the same multiple of it are equal; 0: only those
    that are. Rounding keeps the order, so that the k-th score of a row says by itself which others
    may be equal to it: only those are divided.
    """
    n = scores.shape[1]
    best = np.empty(min(k, FEW_PLACES))
    for draw in range(scores.shape[0]):
        row, grid, threshold = scores[draw], spacing[draw], -math.inf
        if k < n:
            threshold = last_of(row, best) if k <= FEW_PLACES else kth_largest(row, k)
        bound, reach = (
            threshold - 2.0 * grid,
            0,
        )  # a score below rounds to less, whatever the rounding of the quotients
        for i in range(n):
            reach += row[i] >= bound
        if reach <= k:
            for i in range(n):
                hits[i] += row[i] >= bound
            continue
        level = round_to(threshold, grid)
        left = k  # places for those that just reach it
        for i in range(n):
            if row[i] > bound and round_to(row[i], grid) > level:
                left -= 1
                hits[i] += 1.0
        for i in range(n):
            if left > 0 and row[i] >= bound and round_to(row[i], grid) == level:
                left -= 1
                hits[i] += 1.0


@lean
def round_to(value, grid):
    """The multiple of a grid that is nearest, counted in it; the value itself where the grid is
    0."""
    return np.rint(value / grid) if grid > 0.0 else value


@jit
def mark_top(values, k, best, chosen):
    """chosen[i] <- whether values[i] is among the k largest, equal ones by index; best: room for
    FEW_PLACES of them."""
    n, left, threshold = values.shape[0], k, -math.inf
    if 0 < k < n:
        threshold = last_of(values, best[:k]) if k <= FEW_PLACES else kth_largest(values, k)
    for i in range(n):
        chosen[i] = k > 0 and values[i] > threshold
        left -= chosen[i]
    for i in range(n):
        if left > 0 and values[i] == threshold:
            left -= 1
            chosen[i] = True


@jit
def count_partition(scores, members, first, limits, k, hits):
    """`count_top` with at most limits[g] of each category, which are counted before the k largest
    of what they leave are.

    members: (n,) by category, ascending in each. first: (G + 1,) where each category begins in
    members.
    """
    n, best = scores.shape[1], np.empty(FEW_PLACES)
    kept, chosen = np.empty(n, dtype=np.bool_), np.empty(n, dtype=np.bool_)
    values, arms = np.empty(n), np.empty(n, dtype=np.int64)
    for draw in range(scores.shape[0]):
        row, count = scores[draw], 0
        for g in range(limits.shape[0]):
            begin, size = first[g], first[g + 1] - first[g]
            for i in range(size):
                values[i] = row[members[begin + i]]
            mark_top(values[:size], limits[g], best, chosen)
            for i in range(size):
                kept[members[begin + i]] = chosen[i]
        for i in range(n):
            if kept[i]:
                values[count], arms[count] = row[i], i
                count += 1
        mark_top(values[:count], k, best, chosen)
        for i in range(count):
            hits[arms[i]] += chosen[i]


WIDTH = 2.0  # standard errors
TIE = (
    2.0**-36
    # scores that agree to this part of the largest are tied: what rounding can do to equal means
    # and widths
)
DRAWS, DRAWN_SCORES = (
    500,
    4 * 10**6,
)  # draws of `probability` where counting needs no oracle, but fewer (at least 50) for many arms
ASKED = 100  # draws where each asks the oracle
CHUNK = 2**16  # scores drawn together, which stay in the second cache


class SetPolicy(Policy):
    """The base of policies over sets, which differ in how they score arms: `_scoring(state,
    context, rng)`, with `ties` for how equal scores are told apart."""

    def select(self, state, context, rng):
        """Where scores are certain; a policy that draws them has a `select` of its own."""
        scoring = self._scoring(state, context, rng)
        return best_set(state, context, scoring.score, self.ties, rng, scoring.zero)

    def propensity(self, state, context, action, rng, draws=None):
        return inclusion(
            self, state, context, action, self._scoring(state, context, rng), rng, draws
        )

    def explain(self, state, context, rng, draws=None):
        return report(self, state, context, self._scoring(state, context, rng), rng, draws)


class LinearSetPolicy(SetPolicy):
    def update(self, state, context, action, reward):
        features = features_of(state, context)
        learn_batch(state.model, features, np.atleast_1d(action), np.atleast_1d(reward))
        return state

    def grow(self, state, arms):
        return longer_state(state, arms)

    def merge(self, first, second):
        return RidgeSetState(merged_batch_ridge(first.model, second.model), first.setting)

    def reward_range(self):
        return -LARGEST_REWARD, LARGEST_REWARD

    def admit(self, state, context):
        if context.features is not None:
            check_features("context", context.features, state.model.lam)


class Optimistic(LinearSetPolicy):
    """Parameters of optimism for sets (see `C2UCB`)."""

    alpha: Given[float | Literal["theory"] | None, float] = real(
        default=None, words=("theory",), least=0, none="from width"
    )
    width: float = real(default=WIDTH, least=0)
    lam: float = real(default=1.0, above=0)
    delta: float = real(default=0.1, above=0, below=1)
    noise: Given[float | None, float] = real(default=None, least=0, none="learned")
    theta_bound: float = real(default=1.0, least=0)
    ties: Given[Literal["index", "random"], int] = choice("index", "random", default="index")
    intercept: Given[bool | None, int] = flag(default=None, none="where alpha is")

    def init(self, arms):
        return new_state_by_width(self, arms, self.alpha, "alpha")


class GaussianPrior(LinearSetPolicy):
    """Parameters of the Kalman form (Wen, Kveton, Ashkan 2015): prior N(0, prior_scale^2 I), noise
    variance noise^2.

    Where the noise is learned the prior is in its units, N(0, noise^2 prior_scale^2 I): a
    normal-inverse-gamma model.
    """

    prior_scale: float = real(default=1.0, above=0)
    noise: Given[float | None, float] = real(default=None, above=0, none="learned")
    ties: Given[Literal["index", "random"], int] = choice("index", "random", default="index")
    intercept: Given[bool | None, int] = flag(default=None, none="where the noise is learned")

    def init(self, arms):
        # the ridge parameter is the ratio of noise and prior variance
        noise = 1.0 if math.isnan(self.noise) else self.noise
        intercept = math.isnan(self.noise) if self.intercept < 0 else bool(self.intercept)
        return new_state(arms, (noise / self.prior_scale) ** 2, intercept)


@dataclass(frozen=True)
class Setting:
    """The arms and the oracle as `init` was given them; not part of a saved state."""

    features: np.ndarray | None  # (rows, d); None: new ones every round
    blocks: int
    oracle: Oracle
    size: int  # the most arms a set can hold
    number: int
    horizon: int | None


class RidgeSetState(NamedTuple):
    model: BatchRidge
    setting: Setting


class CountState(NamedTuple):
    counts: Counts
    setting: Setting


def new_setting(arms: Arms) -> Setting:
    """The arms and the oracle as choosing needs them. Refuses an oracle that can never be
    satisfied."""
    size = set_size(arms.oracle, arms.number)
    if size > arms.number:
        raise ValueError(
            f"oracle = {arms.oracle!r} chooses {size} arms, but there are only {arms.number}; "
            "lower k or add arms."
        )
    return Setting(
        arms.features, arms.blocks, cast(Oracle, arms.oracle), size, arms.number, arms.horizon
    )


def new_state(arms: Arms, lam: float, intercept: bool = False) -> RidgeSetState:
    """State without data. Refuses arms without features, and an oracle that can never be
    satisfied."""
    setting = new_setting(arms)
    if arms.dimension < 1:
        raise ValueError(
            "arms = a number without features; pass (N, d) features, or dimension=d with new "
            "features every round."
        )
    if arms.features is not None:
        check_features("arms", arms.features, lam)
    column = 0.0 if arms.features is None else size_of(arms.features)
    return RidgeSetState(
        new_batch_ridge(arms.blocks, arms.dimension, lam, intercept, column if intercept else 0.0),
        setting,
    )


def new_state_by_width(policy: Any, arms: Arms, fixed: float, name: str) -> RidgeSetState:
    """State without data for a width that is `fixed`, the theory's (below 0), or NaN: from the
    data, by default with an intercept."""
    if fixed < 0 and policy.intercept > 0:
        raise ValueError(
            "intercept = True draws a constant to the mean of the rewards, of which the proof of "
            f'{name} = "theory" knows nothing; leave intercept out.'
        )
    return new_state(
        arms, policy.lam, math.isnan(fixed) if policy.intercept < 0 else bool(policy.intercept)
    )


def noise_now(policy: GaussianPrior, state: RidgeSetState, solved: RidgeSolution) -> float:
    return (
        batch_scale(state.model, solved, policy.noise)
        if math.isnan(policy.noise)
        else float(policy.noise)
    )


def longer_state(state: RidgeSetState, arms: Arms) -> RidgeSetState:
    """The same regression over a longer list of arms; the constant column is that of all of
    them."""
    fresh = new_state(arms, state.model.lam, state.model.intercept)
    return RidgeSetState(state.model._replace(column=fresh.model.column), fresh.setting)


def features_of(state: RidgeSetState, context: Context) -> np.ndarray:
    if context.features is not None:
        return np.asarray(context.features)
    if state.setting.features is None:
        raise ValueError("context is missing; pass this round's features.")
    return state.setting.features


def predictions(
    state: RidgeSetState, context: Context
) -> tuple[np.ndarray, np.ndarray, RidgeSolution]:
    """theta'x and ||x||_{V^-1} of every arm, by the data so far, and what `settle` found for them;
    means are less `solved.zero`."""
    features = features_of(state, context)
    solved = settle(state.model, features)
    return *predict_settled(solved, features), solved


def best_set(
    state: RidgeSetState | CountState,
    context: Context,
    scores: np.ndarray,
    ties: int,
    rng: np.random.Generator,
    zero: float = 0.0,
) -> np.ndarray:
    """The oracle's set for these scores, which are less `zero`; ties by index (0), or at random
    (1)."""
    top = np.abs(scores if context.eligible is None else scores[context.eligible]).max()
    grid = TIE * top if top > 0 else 1.0
    rounded = np.rint(scores / grid) * grid
    if ties:
        rounded += 0.5 * grid * rng.random(scores.size)
    return choose(state.setting.oracle, rounded + zero if zero else rounded, context.eligible)


def radius(
    state: RidgeSetState, delta: float, noise: float, theta_bound: float, lam: float
) -> float:
    """beta_t(delta) = noise sqrt(d ln((1 + k t / lam) / delta)) + sqrt(lam) theta_bound (Takemura &
    Ito 2019, section VI).

    k t counts the rewards by the end of this round (those seen and a full set more), which is right
    under delay as well; d is the dimension of all blocks together.
    """
    d, observations = state.model.response.size, state.model.seen[0] + state.setting.size
    return (
        noise * math.sqrt(d * (math.log(1 + observations / lam) - math.log(delta)))
        + math.sqrt(lam) * theta_bound
    )


def width_factor(policy: Optimistic, state: RidgeSetState, solved: RidgeSolution) -> float:
    """alpha, by default width times the noise, or the confidence radius of this round where alpha =
    "theory"."""
    if math.isnan(policy.alpha):
        return float(policy.width * batch_scale(state.model, solved, policy.noise))
    return (
        float(policy.alpha)
        if policy.alpha >= 0
        else radius(state, policy.delta, bounded(policy.noise), policy.theta_bound, policy.lam)
    )


def no_draws(draws: int) -> np.ndarray:
    raise TypeError("these scores are not drawn.")


class Scoring(NamedTuple):
    mean: np.ndarray  # (N,) theta'x
    width: (
        np.ndarray | Callable[[], np.ndarray]
    )  # (N,) half-width shown in the explanation, or what computes it where chances need none
    score: np.ndarray | None  # (N,) the certain scores; None: they are drawn
    draw: Callable[[int], np.ndarray] = no_draws  # (draws, N) scores
    # name, location and spread of independent scores, or ("line") of scores that one normal decides
    law: tuple[str, np.ndarray, np.ndarray] | None = None
    zero: float = 0.0  # what mean, score and law are less of


def chances(
    policy: Any,
    state: RidgeSetState | CountState,
    context: Context,
    scoring: Scoring,
    rng: np.random.Generator,
    draws: int | None = None,
) -> tuple[np.ndarray, np.ndarray] | Sampled:
    """The chance of every arm to be in the set, exact where it is certain or cheap to integrate,
    else by Monte Carlo; standard errors."""
    N, oracle = scoring.mean.size, state.setting.oracle
    exact = None
    if scoring.law is not None and scoring.law[0] == "line":
        exact = _exact_on_lines(policy, state, context, scoring, rng)
    elif scoring.law is not None:
        exact = _exact(state, context, scoring.law)
    if exact is not None:
        return exact, np.zeros(N)
    if scoring.score is not None and not policy.ties:
        probability = np.zeros(N)
        probability[best_set(state, context, scoring.score, policy.ties, rng, scoring.zero)] = 1.0
        return probability, np.zeros(N)
    if draws is None:
        draws = (
            int(min(DRAWS, max(50, DRAWN_SCORES // N)))
            if isinstance(oracle, (TopK, Partition))
            else ASKED
        )
    hits, left = np.zeros(N), draws
    while left:
        number = min(left, max(1, CHUNK // N))
        scores = (
            scoring.draw(number) if scoring.score is None else np.tile(scoring.score, (number, 1))
        )
        hits += hits_of_draws(policy, state, context, scores, rng, scoring.zero)
        left -= number
    probability = hits / draws
    return Sampled(probability, np.sqrt(probability * (1 - probability) / draws), draws)


def hits_of_draws(
    policy: Any,
    state: RidgeSetState | CountState,
    context: Context,
    scores: np.ndarray,
    rng: np.random.Generator,
    zero: float,
) -> np.ndarray:
    """(N,) how many rows of scores (draws, N), which are overwritten, have each arm in what
    `best_set` makes of them."""
    hits, oracle = np.zeros(scores.shape[1]), state.setting.oracle
    arms = np.arange(hits.size) if context.eligible is None else np.flatnonzero(context.eligible)
    values = scores if arms.size == hits.size else np.ascontiguousarray(scores[:, arms])
    top = np.maximum(values.max(axis=1), -values.min(axis=1))
    if not isinstance(oracle, (TopK, Partition, Promotions)) or not np.isfinite(top).all():
        for score in scores:
            hits[best_set(state, context, score, policy.ties, rng, zero)] += 1.0
        return hits
    grid = np.where(top > 0.0, TIE * top, 1.0)
    if isinstance(oracle, Promotions):
        on_grid(scores, grid, policy.ties, rng)
        scores *= grid[:, None]
        scores += zero
        count_pairs(oracle, scores, context.eligible, hits)
        return hits
    if policy.ties or isinstance(oracle, Partition):
        values, grid = on_grid(values, grid, policy.ties, rng), np.zeros(grid.size)
    counted = np.zeros(arms.size)
    if isinstance(oracle, TopK):
        count_top(values, grid, oracle.k, counted)
    else:
        codes, limits = oracle.groups
        codes = codes[arms]
        first = np.concatenate([[0], np.cumsum(np.bincount(codes, minlength=limits.size))])
        count_partition(values, np.argsort(codes, kind="stable"), first, limits, oracle.k, counted)
    hits[arms] = counted
    return hits


def on_grid(
    scores: np.ndarray, grid: np.ndarray, ties: int, rng: np.random.Generator
) -> np.ndarray:
    """Rows of scores, overwritten, in multiples of each one's grid, rounded; equal ones are set
    apart at random where ties are (1)."""
    scores /= grid[:, None]
    np.rint(scores, out=scores)
    if ties:
        scores += 0.5 * rng.random(scores.shape)
    return scores


def inclusion(
    policy: Any,
    state: RidgeSetState | CountState,
    context: Context,
    action: np.ndarray,
    scoring: Scoring,
    rng: np.random.Generator,
    draws: int | None = None,
) -> tuple[np.ndarray, np.ndarray] | Sampled:
    """(k,) chance that each arm of a set is chosen now, and its standard error. draws: as many
    stand behind chances that are not exact."""
    stated = chances(policy, state, context, scoring, rng, draws)
    probability, error = map(np.asarray, stated)
    behind = draws_of(stated)
    return (
        (probability[action], error[action])
        if behind is None
        else Sampled(probability[action], error[action], behind)
    )


def report(
    policy: Any,
    state: RidgeSetState | CountState,
    context: Context,
    scoring: Scoring,
    rng: np.random.Generator,
    draws: int | None = None,
) -> Explanation:
    """The explanation. draws: as many stand behind chances that are not exact."""
    drawn = scoring.draw(1)[0] if scoring.score is None else scoring.score
    chosen = best_set(state, context, drawn, policy.ties, rng, scoring.zero)
    width = scoring.width() if callable(scoring.width) else scoring.width
    mean, score = scoring.mean + scoring.zero, drawn + scoring.zero
    columns = {
        "mean": mean,
        "width": width,
        "lower": mean - width,
        "upper": mean + width,
        "index": score,
        "score": score,
        "oracle_value": float(score[chosen].sum()),
    }
    categories = getattr(state.setting.oracle, "categories", None)
    if categories is not None:
        columns["cluster"] = categories
    probability, error = chances(policy, state, context, scoring, rng, draws)
    return columns | {"probability": probability, "probability_se": error}


def _exact(
    state: RidgeSetState | CountState, context: Context, law: tuple[str, np.ndarray, np.ndarray]
) -> np.ndarray | None:
    """Chances under top-k with independent scores, where the integral is cheap."""
    name, centre, spread = law
    open_ = np.ones(centre.size, dtype=np.bool_) if context.eligible is None else context.eligible
    if not isinstance(state.setting.oracle, TopK) or (spread[open_] <= 0).any():
        return None
    inclusion = exact_inclusion(centre[open_], spread[open_], state.setting.size, name)
    if inclusion is None:
        return None
    probability = np.zeros(centre.size)
    probability[open_] = inclusion
    return probability


MOST_CROSSINGS = 500  # of scores that are lines, between which the oracle is asked


def _exact_on_lines(
    policy: Any,
    state: RidgeSetState | CountState,
    context: Context,
    scoring: Scoring,
    rng: np.random.Generator,
) -> np.ndarray | None:
    """Chances where scores are mean + width z with one normal z for all arms and the set depends on
    their order only, which changes where two lines cross."""
    _, mean, width = scoring.law  # type: ignore[misc]
    first, second = np.triu_indices(mean.size, 1)
    apart = width[second] - width[first]
    crossing = apart != 0.0
    by_order = isinstance(state.setting.oracle, (TopK, Partition)) and not policy.ties
    if not by_order or crossing.sum() > MOST_CROSSINGS:
        return None
    cuts = (mean[first] - mean[second])[crossing] / apart[crossing]
    share = np.concatenate([[0.0], np.sort(scipy.special.ndtr(cuts)), [1.0]])
    middle = scipy.special.ndtri((share[1:] + share[:-1]) / 2)
    probability = np.zeros(mean.size)
    for z, weight in zip(middle, np.diff(share), strict=True):
        if weight > 0.0 and math.isfinite(z):
            scores = mean + width * z
            probability[best_set(state, context, scores, 0, rng, scoring.zero)] += weight
    return np.minimum(probability, 1.0)


def normals_of_rounds(
    draws: int, number: int, shared: bool, rng: np.random.Generator
) -> np.ndarray:
    """(draws, number) normal numbers, or (draws, 1) where a round has one for all arms: then one of
    each of as many equally likely strata, so that a share of them is off by the number of strata in
    which the set changes, over draws, at most."""
    if not shared or draws == 1:
        return rng.standard_normal((draws, 1 if shared else number))
    return scipy.special.ndtri((np.arange(draws) + rng.random(draws)) / draws)[:, None]


# The base of policies that choose sets by counts: the state, arms that were never seen, verbs that
# are the same for all.


def learn_counts(state: CountState, action: np.ndarray, reward: np.ndarray) -> CountState:
    """Take in the rewards of several arms. A log may hold an arm m times, which stands for at least
    m rounds. O(N)."""
    arms, counts = np.atleast_1d(action), state.counts
    times = np.bincount(arms, minlength=counts.pulls.size)
    counts.pulls[:] += times
    counts.sums[:] += np.bincount(arms, weights=np.atleast_1d(reward), minlength=counts.pulls.size)
    counts.rounds[0] += times.max()
    return state


def unseen_first(state: CountState, index: np.ndarray) -> np.ndarray:
    """Scores with which an oracle takes as many arms without a reward as a set can hold, and beside
    them the largest indices.

    index: (.., N), read where an arm has been seen. One unseen arm more outweighs all that the
    other arms of two sets can differ by.
    """
    tried = state.counts.pulls > 0
    largest = np.abs(index[..., tried]).max(axis=-1, initial=0.0, keepdims=True)
    return np.where(tried, index, 1.0 + 2.0 * state.setting.size * largest)


class CountingPolicy(Policy):
    def init(self, arms):
        return CountState(new_counts(arms.number), new_setting(arms))

    def update(self, state, context, action, reward):
        return learn_counts(state, action, reward)

    def grow(self, state, arms):
        return CountState(longer_counts(state.counts, arms.number), new_setting(arms))

    def merge(self, first, second):
        return CountState(merged_counts(first.counts, second.counts), first.setting)


class IndexPolicy(CountingPolicy, SetPolicy):
    """A policy with a parameter `ties` whose set is the oracle's answer to one index for each
    arm."""

    def explain(self, state, context, rng, draws=None):
        known = self._scoring(state, context, rng)
        ranges = intervals(known.mean, known.width)
        return (
            report(self, state, context, known, rng, draws)
            | ranges
            | {"index": ranges["upper"], "pulls": state.counts.pulls.copy()}
        )
