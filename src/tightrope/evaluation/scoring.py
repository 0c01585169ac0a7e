"""One pass over a log for any number of targets: their sums, their confidence sequences and,
against a baseline, the round of a verdict."""

import math
from collections.abc import Sequence as Listed
from dataclasses import dataclass

import numpy as np
import scipy
from numpy.typing import ArrayLike

from ..core import checks
from ..logs.log import Log, Rows, check_order
from ..numerics.counts import constant
from . import estimators as kernels
from .estimators import ESTIMATORS, Ridge, Sequence, Sums, ValueEstimate, lower_bounds, shown_times
from .results import Evaluation, Support, fixed_interval
from .targets import Target

LEAST_ESS, LEAST_SHARE = (
    100.0,
    0.01,
    # effective sample size below which an estimate is no basis for a decision, and as a share of
    # rows
)
AVERAGE = 5.0  # standard errors by which the mean weight may miss 1 without being mentioned
FEW_ROWS = 10  # whose reward is an exception, below which normal intervals are too short
MISMATCH = 1e-3  # chance from which arms were not played as often as their propensities say
LEAST_EXPECTED = 5.0  # rows of an arm, for the chi-square test
# share of the target's probability on arms the log never played, above which the same holds
UNSEEN_SHARE = 0.05
WEIGHT_BINS = 60  # of the histogram of weights
WEIGHTS = (1e-3, 1e3)  # its range; what is outside counts in the first and last bin


@dataclass(frozen=True)
class EvaluationOptions:
    estimator: str
    alpha: float
    k: float
    rho: float
    clip: float

    @classmethod
    def checked(
        cls,
        *,
        estimator: str = "dr",
        alpha: float = 0.05,
        k: float = 1.0,
        rho: float = 1.0,
        clip: float = 10.0,
    ) -> "EvaluationOptions":
        if isinstance(estimator, str):  # SWITCH-DR and switch_dr are names of switch-dr
            estimator = estimator.lower().replace("_", "-")
        name = ESTIMATORS[checks.choice("estimator", estimator, ESTIMATORS)]
        return cls(
            name,
            checks.real("alpha", alpha, above=0, below=1),
            checks.real("k", k, least=0),
            checks.real("rho", rho, above=0),
            checks.real("clip", clip, above=0),
        )


def check_log(log: object) -> None:
    if not isinstance(log, Log):
        raise ValueError(
            f"log = {checks.show(log)} is not a log; make one with tr.logs.from_frame or another "
            "function of tr.logs."
        )


class OnePolicy:
    def __init__(self, log: Log, target: Target, times: np.ndarray) -> None:
        self.target = target
        self.sums = Sums(log.arms, log.rewards)
        self.astray = np.zeros(log.arms)
        self.scores = np.empty((2, 0))  # phi^L, phi^U of the chunk's rounds
        self.weight = np.empty((2, 0))  # sums of w and w^2 in each
        self.states = np.zeros((2, 3))
        self.places = [0, 0]
        self.kept = np.zeros((2, times.size, 3))  # the states at the shown times
        self.histogram = np.zeros(WEIGHT_BINS)


class Duel:
    """The difference between a target and a baseline during the pass: who is ahead, and since
    when."""

    def __init__(self, first: OnePolicy, second: OnePolicy, times: np.ndarray) -> None:
        self.pair = (first, second)
        self.places = [0, 0]
        self.kept = np.zeros((2, times.size, 3))  # the states at the shown times
        self.crossing = np.zeros((2, 9))


class Pass:
    """One reading of a log for several targets, each possibly against a baseline. O(rows K) for
    each."""

    def __init__(
        self,
        log: Log,
        targets: Listed[Target],
        baseline: Target | None,
        model: str | ArrayLike | None,
        options: EvaluationOptions,
        share: int = 1,
    ) -> None:
        """share: among how many candidates the error alpha of the gates is divided."""
        self.log, self.options, self.model = log, options, _as_model(log, model)
        if isinstance(self.model, Ridge) and not log.as_drawn:
            self.model = None  # which would learn of one arm before it meets the others
            if options.estimator == "dm":
                raise ValueError(
                    "estimator = 'dm' is the model alone, which is fitted to earlier rows, but "
                    "the rows of this log are not in the order in which they were drawn; give "
                    "them in that order (from_frame(..., time=...)), or use estimator='ips'."
                )
        self.times = shown_times(log.rounds)
        self.targets = [OnePolicy(log, target, self.times) for target in targets]
        self.baseline = None if baseline is None else OnePolicy(log, baseline, self.times)
        self.duels = (
            []
            if self.baseline is None
            else [Duel(item, self.baseline, self.times) for item in self.targets]
        )
        self.alpha = options.alpha / share
        self.run()

    def run(self) -> None:
        log, o = self.log, self.options
        low, high = log.rewards
        fixed, needed = constant(o.rho), math.log(2.0 / self.alpha)
        everyone = [*self.targets, *([] if self.baseline is None else [self.baseline])]
        for rows in log.chunks():
            m = rows.arm.size
            scaled = np.clip((rows.reward - low) / (high - low), 0.0, 1.0)
            starts = np.ones(m, dtype=np.bool_)
            if rows.round is not None:
                starts[1:] = rows.round[1:] != rows.round[:-1]
            predicted, bounded = self._predictions(rows, starts)
            least, known = logger_floor(log, rows)
            nothing = (
                np.zeros((m, log.arms))
                if any(item.target.logged for item in everyone)
                else predicted
            )
            rounds = 0
            for item in everyone:
                item.scores, item.weight = _room(item.scores, m), _room(item.weight, m)
                logged = item.target.logged
                rounds = kernels.score(
                    rows.arm,
                    rows.reward,
                    scaled,
                    rows.propensity,
                    item.target.probabilities(rows),
                    logged,
                    nothing if logged else predicted,
                    nothing if logged else bounded,
                    nothing if logged else least,
                    known and not logged,
                    starts,
                    log.size,
                    o.k,
                    o.clip,
                    log.observed,
                    item.sums.sums,
                    item.sums.moments,
                    item.sums.mass,
                    item.astray,
                    *item.scores,
                    *item.weight,
                )
                for side in (0, 1):
                    item.places[side] = kernels.advance(
                        item.scores[side],
                        0,
                        rounds,
                        o.k,
                        item.states[side],
                        self.times,
                        item.places[side],
                        item.kept[side],
                    )
                item.histogram += _histogram(item.weight[0, :rounds])
            for duel in self.duels:
                a, b = duel.pair
                for side, (x, y) in enumerate(((a, b), (b, a))):
                    scores = 0.5 * (
                        x.scores[0, :rounds] + y.scores[1, :rounds]
                    )  # mean (1 + difference) / 2
                    duel.places[side] = kernels.first_crossing(
                        scores,
                        rounds,
                        o.k,
                        0.5,
                        o.rho,
                        fixed,
                        needed,
                        duel.crossing[side],
                        LEAST_ESS,
                        LEAST_SHARE,
                        a.weight[0],
                        a.weight[1],
                        b.weight[0],
                        b.weight[1],
                        self.times,
                        duel.places[side],
                        duel.kept[side],
                    )

    def _predictions(self, rows: Rows, starts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(m, K) predicted rewards, and the same scaled to [0, 1]; 0 in both where there is no
        model yet."""
        out = np.zeros((rows.arm.size, self.log.arms))
        if self.model is None:
            return out, out
        low, high = self.log.rewards
        unlearned = 0
        if isinstance(self.model, Ridge):
            unlearned = self.model.score(rows, starts, out)
        else:
            out[:] = rows.of(self.model)
        bounded = np.clip((out - low) / (high - low), 0.0, 1.0)
        bounded[:unlearned] = 0.0
        return out, bounded

    def bounds(self, kept: np.ndarray, alpha: float) -> np.ndarray:
        """(2, c) lower and upper bounds in [0, 1] from the states kept at the shown times."""
        o = self.options
        return np.stack(
            [
                lower_bounds(kept[0], alpha / 2.0, o.k, o.rho),
                1.0 - lower_bounds(kept[1], alpha / 2.0, o.k, o.rho),
            ]
        )

    def sequence(self, item: OnePolicy, alpha: float) -> Sequence:
        (low, high), sums = self.log.rewards, item.sums.sums
        origin = low * float(sums[kernels.MASS] / sums[kernels.ROUNDS])
        lower, upper = origin + (high - low) * self.log.size * self.bounds(item.kept, alpha)
        return Sequence(self.times, lower, upper)


def _room(array: np.ndarray, m: int) -> np.ndarray:
    return array if array.shape[1] >= m else np.empty((array.shape[0], m))


def _histogram(weights: np.ndarray) -> np.ndarray:
    low, high = np.log(WEIGHTS[0]), np.log(WEIGHTS[1])
    inside = np.log(np.clip(weights, *WEIGHTS))
    place = np.minimum(
        ((inside - low) * (WEIGHT_BINS / (high - low))).astype(np.int64), WEIGHT_BINS - 1
    )
    return np.bincount(place, minlength=WEIGHT_BINS).astype(np.float64)


def logger_floor(log: Log, rows: Rows) -> tuple[np.ndarray, bool]:
    """(m, K) what the logger's probabilities were at least, and whether they were exactly that."""
    m, K = rows.arm.size, log.arms
    if rows.probabilities is not None:
        return np.ascontiguousarray(rows.probabilities), True
    if log.uniform:
        even = np.repeat(rows.propensity[:, None], K, axis=1)
        return (even if rows.eligible is None else np.where(rows.eligible, even, 0.0)), True
    least = np.full((m, K), 0.0 if log.floor is None else log.floor)
    return (least if rows.eligible is None else np.where(rows.eligible, least, 0.0)), False


def _as_model(log: Log, model: str | ArrayLike | None) -> Ridge | np.ndarray | None:
    if model is None:
        return None
    if isinstance(model, str):
        checks.choice("model", model, ("ridge",))
        return Ridge(log)
    check_order("model", model, list(range(log.arms)) if log.names is None else list(log.names))
    values = checks.floats("model", model)
    if values.shape != (log.given, log.arms):
        shape = (
            f"(n, K) = ({log.given}, {log.arms}) predicted rewards, a row for each row of the table"
        )
        raise ValueError(f"model has shape {values.shape}, but must be 'ridge', None, or {shape}.")
    if not np.isfinite(values).all():
        raise ValueError("model has an entry that is not a finite number.")
    return values


def evaluation_of(
    read: Pass, item: OnePolicy, duel: Duel | None, *, anytime: bool, alpha: float, name: str
) -> Evaluation:
    log, o, sums = read.log, read.options, item.sums
    check_support(log, item)
    estimates: dict[str, ValueEstimate] = {}
    for each in ESTIMATORS:
        if read.model is None and each in ("dm", "switch-dr") and each != o.estimator:
            continue
        value, se = sums.estimate(each)
        if not math.isnan(value) or each == o.estimator:
            estimates[each] = ValueEstimate(value, se)
    chosen = estimates[o.estimator]
    if o.estimator == "aipw" and math.isnan(chosen.value):
        raise ValueError(
            "estimator = 'aipw' weighs rounds by the logger's probabilities of all arms, which "
            "this log does not have; give from_frame(..., probabilities=[...]), or use "
            "estimator='dr' with anytime=True."
        )
    if not anytime and (why := biased(o, sums)):
        raise ValueError(
            f"estimator = {o.estimator!r} {why}, so there is no normal interval; use "
            "estimator='dr', or anytime=True, whose bounds hold whatever the estimator."
        )
    bounds = read.sequence(item, alpha) if anytime and log.as_drawn else None
    unseen = _unseen(log, item)
    verdict, decided, difference = _verdict(read, item, duel, unseen, alpha)
    reason = "" if log.as_drawn else "the rows are not in the order in which they were drawn"
    wrong = _wrong_weights(log, [item] if duel is None else duel.pair)
    if wrong:
        reason = "weights do not average 1"
    elif any(each is not None and (each.lower > each.upper).any() for each in (bounds, difference)):
        reason = "the bounds contradict each other"
        wrong = (
            "A lower bound is above an upper one: propensities, the range of rewards or the order "
            "of the rows are not what they were."
        )
    if reason:
        lacking = verdict.startswith("not enough overlap")
        verdict, decided = verdict if lacking else f"no verdict: {reason}", None
        difference = (
            None
            if duel is None
            else Sequence(read.times[-1:], np.full(1, math.nan), np.full(1, math.nan))
        )
    few = few_exceptions(log, sums.exceptions, float(sums.sums[kernels.MASS]) / sums.rounds)
    interval = (math.nan, math.nan)
    if wrong:
        bounds = None
    elif bounds is not None:
        interval = (float(bounds.lower[-1]), float(bounds.upper[-1]))
    elif not biased(o, sums):
        interval = fixed_interval(chosen, alpha, sums.ess, few)
    return Evaluation(
        value=chosen.value,
        se=chosen.se,
        interval=interval,
        sequence=bounds,
        ess=sums.ess,
        max_weight=sums.largest,
        support=Support(sums.mass / sums.rounds, log.plays, unseen, log.names),
        verdict=verdict,
        estimator=f"clipped-ips at {o.clip:g}" if o.estimator == "clipped-ips" else o.estimator,
        alpha=alpha,
        n=log.n,
        rounds=sums.rounds,
        estimates=estimates,
        decided=decided,
        difference=difference,
        calibration=(
            read.model.calibration() if isinstance(read.model, Ridge) else np.zeros((0, 3))
        ),
        weights=np.stack([np.geomspace(*WEIGHTS, WEIGHT_BINS + 1)[:-1], item.histogram], axis=1),
        notes=_notes(read, item, bounds is not None, wrong),
        policy=name,
        rewards=log.rewards,
        few=few,
    )


def few_exceptions(log: Log, exceptions: int, arms: float = 1.0) -> tuple[float, float] | None:
    """The rewards, times the mean number of arms, of which a value is a mixture, if too few rows
    are exceptions for a normal interval."""
    low, high = (
        log.observed if log.two_valued and log.observed[0] < log.observed[1] else log.rewards
    )
    return (arms * low, arms * high) if exceptions < FEW_ROWS else None


def biased(options: EvaluationOptions, sums: Sums) -> str:
    """Why the estimator has a bias that its standard error does not know; empty where it has
    none."""
    if options.estimator == "dm":
        return "is as good as its model, whose error its standard error does not contain"
    if options.estimator in ("clipped-ips", "switch-dr") and sums.largest > options.clip:
        return (
            f"has cut weights above clip = {options.clip:g} (the largest is {sums.largest:.3g}), "
            "which its standard error does not know"
        )
    return ""


def _unseen(log: Log, item: OnePolicy) -> float:
    return float(item.sums.mass[log.plays == 0].sum() / max(item.sums.mass.sum(), 1e-300))


def _wrong_weights(log: Log, items: Listed[OnePolicy]) -> str:
    """A sentence where weights do not average what they should; empty where they do, or where too
    few rows have one to tell."""
    for item in items:
        sums = item.sums
        mean, se = sums.mean_weight
        expected = float(sums.sums[kernels.MASS] / sums.sums[kernels.ROWS])
        if overlap(sums.ess, log.n, _unseen(log, item)) is None and abs(mean - expected) > max(
            AVERAGE * se, 1e-6
        ):
            return (
                f"Weights average {mean:.3g} ± {se:.2g} where they should average {expected:.3g}: "
                "propensities of this log are not those with which its arms were played, or the "
                "policy plays arms that were not eligible (give eligible=)."
            )
    return ""


def check_support(log: Log, item: OnePolicy) -> None:
    who = item.target.argument
    if (
        log.deterministic
        and not item.target.logged
        and item.sums.sums[kernels.MATCHED] < item.sums.sums[kernels.ROWS]
    ):
        raise ValueError(
            "all propensities are 1, so this log says nothing of what its logger did not play, "
            f"and {who} differs from it. Only the logged policy can be judged (policy='logged'), "
            "or one that learns, by a model (tr.evaluate_learner with method='simulate'); log "
            "with Explore instead."
        )
    astray = float(item.astray.sum())
    if astray > 0.0:
        total = float(item.sums.mass.sum())
        worst = np.argsort(-item.astray, kind="stable")[:5]
        arms = ", ".join(
            str(k if log.names is None else log.names[k])
            for k in worst.tolist()
            if item.astray[k] > 0.0
        )
        raise ValueError(
            f"{who} puts {astray / total:.2%} of its probability on arms that the logger could "
            f"not play (arms {arms}); no weight makes up for that. Log with a propensity floor "
            "(Explore), or leave these arms out of the policy."
        )


def overlap(ess: float, n: int, unseen: float) -> str | None:
    """A sentence where the log has too little to say; None where it has enough."""
    if not ess >= max(LEAST_ESS, LEAST_SHARE * n):
        remedy = "log more rounds" if ess >= n / 2 else "log with a propensity floor (Explore)"
        return f"not enough overlap: effective sample size {ess:,.0f} of {n:,}; {remedy}"
    if unseen > UNSEEN_SHARE:
        return (
            f"not enough overlap: {unseen:.1%} of the policy's probability is on arms that the "
            "log never played; log with a propensity floor (Explore)"
        )
    return None


def _verdict(
    read: Pass, item: OnePolicy, duel: Duel | None, unseen: float, alpha: float
) -> tuple[str, int | None, Sequence | None]:
    lacking = overlap(item.sums.ess, read.log.n, unseen)
    if duel is None:
        return lacking or "enough overlap", None, None
    lacking = lacking or overlap(duel.pair[1].sums.ess, read.log.n, 0.0)
    unit = (read.log.rewards[1] - read.log.rewards[0]) * read.log.size
    lower, upper = unit * (2.0 * read.bounds(duel.kept, alpha) - 1.0)
    difference = Sequence(read.times, lower, upper)
    ahead, behind = (int(side[4]) for side in duel.crossing)
    if ahead or behind:  # what was decided first stays
        first = ahead and (not behind or ahead < behind)
        return ("promote", ahead, difference) if first else ("roll back", behind, difference)
    return lacking or "undecided", None, difference


def mismatch(log: Log) -> float:
    """The p-value of a chi-square test of how often arms were played against their propensities; 1
    where these do not say it."""
    if log.expected is None:
        return 1.0
    large = log.expected >= LEAST_EXPECTED
    cells = np.array(
        [[*played[large].tolist(), played[~large].sum()] for played in (log.plays, log.expected)]
    )
    cells = cells[:, cells[1] >= LEAST_EXPECTED]
    if cells.shape[1] < 2:
        return 1.0
    return float(
        scipy.special.chdtrc(cells.shape[1] - 1, ((cells[0] - cells[1]) ** 2 / cells[1]).sum())
    )


def _notes(read: Pass, item: OnePolicy, anytime: bool, wrong: str) -> tuple[str, ...]:
    log = read.log
    notes: list[str] = [wrong] if wrong else []
    if log.repeated:
        notes.append(
            f"Values of column {log.repeated!r} come in many rows with one arm each. If an arm "
            "was drawn for each of them and not for each row, intervals and verdicts are wrong: "
            f"give unit={log.repeated!r}."
        )
    if (chance := mismatch(log)) < MISMATCH and not wrong:
        counts = ", ".join(f"{played:,.0f}" for played in log.plays[:5])
        assert log.expected is not None
        notes.append(
            f"Sample-ratio mismatch: arms were played {counts}{', ..' if log.arms > 5 else ''} "
            "times where their propensities make "
            f"{', '.join(f'{each:,.0f}' for each in log.expected[:5])} (chi-square, p = "
            f"{chance:.2g}). Rows were lost or added, or propensities are wrong; find out which "
            "before you trust the numbers."
        )
    if log.left_out:
        notes.append(
            "Left out: "
            + ", ".join(f"{count:,} {words}" for words, count in log.left_out.items())
            + "."
        )
    if not log.as_drawn and not wrong:
        notes.append(
            "Arms do not follow each other as draws with these propensities would: the rows are "
            "sorted or joined by arm, or one arm had a larger share at some times, or one draw "
            "stands in many rows. So there are no bounds at all times, no model and no verdict; "
            "give the rows in the order in which arms were drawn (from_frame(..., time=...))."
        )
    if not anytime and not wrong and not log.constant and read.options.estimator != "aipw":
        notes.append(
            "The normal interval is not valid if the logger learned while it logged; use "
            "anytime=True, or estimator='aipw' where the log has probabilities."
        )
    if why := biased(read.options, item.sums):
        outside = (
            "; so it may lie outside the interval, which holds whatever the estimator"
            if anytime
            else ""
        )
        notes.append(f"The value by {read.options.estimator} {why}{outside}.")
    if (
        anytime
        and read.model is not None
        and log.floor is None
        and not log.known
        and not item.target.logged
    ):
        notes.append(
            "The log knows only the propensity of what was played, so the sequence cannot use the "
            "model; give the logger's probabilities of all arms, or a floor that every arm had, "
            "for tighter bounds."
        )
    return tuple(notes)
