"""`evaluate`: what a policy would have earned on a log, with bounds that hold however often they
are looked at."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Literal, TypeAlias, cast, get_args

import numpy as np
from numpy.typing import ArrayLike

from ..compiled.kernels import python_of
from ..core import checks
from ..core.policy import Policy, Problem, accepts, compiled, is_policy, label
from ..core.registry import check_fit
from ..core.streams import POLICY, stream
from ..core.types import State
from ..core.verbs import Arms, Context, admit, init
from ..logs.log import Log, Rows, RowsInMemory, by_unit, new_log, whole
from ..simulation.loops import Play, Slices, World, prepare, to_horizon
from ..simulation.monitors import NoMonitor
from .estimators import (
    LAM,
    Estimator,
    Model,
    Sequence,
    ValueEstimate,
    advance,
    lower_bounds,
    shown_times,
)
from .results import Comparison, Evaluation, Support, fixed_interval
from .scoring import (
    EvaluationOptions,
    Pass,
    check_log,
    check_support,
    evaluation_of,
    few_exceptions,
    overlap,
)
from .targets import LOGGED_POLICY, Judged, Target, target_name
from .world import LoggedWorld, dimension, replay_rows


def evaluate(
    log: Log,
    policy: Judged,
    *,
    estimator: Estimator = "dr",
    model: Model = "ridge",
    alpha: float = 0.05,
    anytime: bool = True,
    baseline: Judged | None = None,
    clip: float = 10.0,
    k: float = 1.0,
    rho: float = 1.0,
    unit: str | ArrayLike | None = None,
    per: str | ArrayLike | None = None,
) -> Evaluation:
    """Estimate the value of a policy from a log that another policy made.

    Parameters
    ----------
    log : Log
        From a function of `tr.logs`.
    policy : array, arm, dict, function, Session or "logged"
        Probabilities of the arms: (n, K), a row for each row of the table the log was made from,
        (K,) for all rows, {slot: (K,)}, or a function of (context, eligible) that returns (K,). An
        arm, by name or number. A session, as it is. "logged": the logger itself.
    estimator : str
        Of the value; the sequence does not depend on it.
    model : "ridge", None or (n, K) array
        Predicted rewards: fitted on earlier rounds only; none; or given, of other rewards.
    alpha : float in (0, 1)
        Error of the interval and of the verdict.
    anytime : bool
        Bounds that hold at all times at once; False: a normal interval for this number of rounds,
        where the estimator has no bias ("dm" has, and so have "clipped-ips" and "switch-dr" where a
        weight is above clip). With fewer than some 100 effective rows it is too short.
    baseline : as policy
        What the policy would replace; then the verdict says whether to.
    clip : float > 0
        Weights above it are cut by "clipped-ips" and left to the model by "switch-dr".
    k, rho : float
        Of the sequence, see `ConfidenceSequence`. k = 0 makes no use of the model; where rewards
        are rare and weights are known to reach w, k near w gives the tightest upper bound.
    unit : str or (n,) array
        What an arm was drawn for, such as the user, where it has many rows: a column, or an entry
        for each row of the table. Then a unit is a row, whose reward is the sum of its rewards.
    per : str, (n,) array or float
        Of a ratio, such as revenue per session: what its denominator counts in every row. The value
        is the sum of w R over that of w times the denominator, both by unit, with a normal interval
        by the delta method, and without a baseline.

    Returns
    -------
    Evaluation

    Raises
    ------
    ValueError
        Where the log cannot answer: no randomness, a policy that plays what the logger could not.
        With too little overlap the numbers are given and the verdict says so.

    References
    ----------
    "dr": Dudík, Langford, Li 2011. "snips": Swaminathan, Joachims 2015. "switch-dr":
    Wang, Agarwal, Dudík 2017. Intervals at all times: Waudby-Smith, Wu, Ramdas, Karampatziakis,
    Mineiro 2024.

    Examples
    --------
    >>> import tightrope as tr
    >>> rows = {"arm": [0, 1], "reward": [0.0, 1.0], "propensity": [0.5, 0.5]}
    >>> tr.evaluate(tr.logs.from_frame(rows), 1, model=None).value
    1.0
    """
    options = EvaluationOptions.checked(estimator=estimator, alpha=alpha, k=k, rho=rho, clip=clip)
    check_log(log)
    if per is not None:
        if baseline is not None:
            raise ValueError(
                "per gives a ratio, which has no bounds at all times and no verdict; leave "
                "baseline out, and judge each policy."
            )
        return _ratio(log, policy, options, unit, per)
    if unit is not None:
        log, _ = by_unit(log, unit)
    against = None if baseline is None else Target(log, baseline, "baseline")
    read = Pass(log, [Target(log, policy)], against, model, options)
    if read.baseline is not None:
        check_support(log, read.baseline)
    return evaluation_of(
        read,
        read.targets[0],
        read.duels[0] if read.duels else None,
        anytime=checks.flag("anytime", anytime),
        alpha=options.alpha,
        name=target_name(policy),
    )


def _ratio(
    log: Log, policy: Judged, options: EvaluationOptions, unit: object, per: object
) -> Evaluation:
    """Value of rewards over value of the denominator; its error is that of their difference at this
    ratio (delta method)."""
    summed, amounts = by_unit(log, unit, per)
    rows = whole(summed)

    def judge(rewards: np.ndarray) -> Evaluation:
        low, high = float(rewards.min()), float(rewards.max())
        other = new_log(
            RowsInMemory(rows._replace(reward=rewards)),
            summed.arms,
            summed.names,
            rewards=(low, high if high > low else low + 1.0),
            floor=summed.floor,
            arm_features=summed.arm_features,
            left_out=summed.left_out,
        )
        return evaluate(
            replace(other, given=summed.given),
            policy,
            estimator="ips",
            model=None,
            alpha=options.alpha,
            anytime=False,
        )

    top, bottom = judge(rows.reward), judge(amounts).value
    if not bottom > 0.0:
        raise ValueError(
            f"per: the mean of the denominator is {bottom:.3g} where the policy plays, but must "
            "be above 0."
        )
    ratio = top.value / bottom
    one = ValueEstimate(ratio, judge(rows.reward - ratio * amounts).se / bottom)
    interval = (
        (math.nan, math.nan)
        if math.isnan(top.interval[0])
        else fixed_interval(one, options.alpha, top.ess, None)
    )
    return replace(
        top,
        value=ratio,
        se=one.se,
        interval=interval,
        estimator="ratio",
        estimates={"ratio": one},
        few=None,
    )


# `compare`: several policies on one log, which of them may be promoted, and which can be given up.


def compare(
    log: Log,
    policies: Mapping[str, Judged],
    *,
    baseline: Judged = LOGGED_POLICY,
    estimator: Estimator = "dr",
    model: Model = "ridge",
    alpha: float = 0.05,
    clip: float = 10.0,
    k: float = 1.0,
    rho: float = 1.0,
    unit: str | ArrayLike | None = None,
) -> Comparison:
    """Judge several policies on a log at once, against a baseline.

    Parameters
    ----------
    log : Log
        From a function of `tr.logs`.
    policies : dict
        Name -> policy, as in `evaluate`.
    baseline : as a policy
        What they would replace; default: the logger.
    alpha : float in (0, 1)
        Error, which is shared: each of m policies has intervals and a gate at level alpha / m, so
        with probability 1 - alpha nothing that is said of any of them, at any round, is wrong.
    estimator, model, clip, k, rho, unit
        As in `evaluate`.

    Returns
    -------
    Comparison

    Raises
    ------
    ValueError
        As `evaluate` does, naming the policy.

    Examples
    --------
    >>> import tightrope as tr
    >>> rows = {"arm": [0, 1] * 500, "reward": [0.0, 1.0] * 500, "propensity": [0.5] * 1000}
    >>> log = tr.logs.from_frame(rows)
    >>> tr.compare(log, {"first": 0, "second": 1}).winner
    'second'
    """
    options = EvaluationOptions.checked(estimator=estimator, alpha=alpha, k=k, rho=rho, clip=clip)
    check_log(log)
    if unit is not None:
        log, _ = by_unit(log, unit)
    if not isinstance(policies, Mapping) or not policies:
        raise ValueError(
            f"policies = {checks.show(policies)} must be a dict of name -> policy with at least "
            "one entry."
        )
    m = len(policies)
    targets = [Target(log, policy, f"policies[{name!r}]") for name, policy in policies.items()]
    read = Pass(log, targets, Target(log, baseline, "baseline"), model, options, share=m)
    assert read.baseline is not None
    check_support(log, read.baseline)
    evaluations = {
        name: evaluation_of(read, item, duel, anytime=True, alpha=options.alpha / m, name=name)
        for name, item, duel in zip(policies, read.targets, read.duels, strict=True)
    }
    against = evaluation_of(
        read, read.baseline, None, anytime=True, alpha=options.alpha, name="baseline"
    )
    bounds = [each.sequence for each in evaluations.values()]
    best = np.max(
        [np.full(read.times.size, -np.inf), *(each.lower for each in bounds if each is not None)],
        axis=0,
    )
    looked = np.isin(read.times, shown_times(log.rounds + 1))
    alive = tuple(
        name
        for name, each in zip(evaluations, bounds, strict=True)
        if each is None or (each.upper >= best)[looked].all()
    )
    winner = alive[0] if len(alive) == 1 and evaluations[alive[0]].verdict == "promote" else None
    return Comparison(evaluations, against, alive, winner, options.alpha)


# Policies that learn, judged on a log: by replay of its rows, or in worlds that were fitted to it.


FOLDS = 5  # of the cross-fitted regression
# standard errors by which a tenth of the predictions may miss the rewards without being mentioned
MISFIT = 4.0
OPTIMISM = 0.5  # of a standard error: bias of the fitted worlds from which it is named
Method: TypeAlias = Literal["replay", "simulate"]


def evaluate_learner(
    log: Log,
    policy: Policy,
    *,
    method: Method,
    alpha: float = 0.05,
    k: float = 1.0,
    rho: float = 1.0,
    bootstraps: int = 200,
    seed: int = 0,
) -> Evaluation:
    """Estimate what a policy that learns while it plays would have earned in the rounds of a log.

    Parameters
    ----------
    log : Log
        Of single arms, from a function of `tr.logs`.
    policy : Policy
        One that has learned nothing yet, such as LinTS().
    method : "replay" or "simulate"
        "replay" goes through a log whose arms were drawn uniformly and keeps the rounds in which
        the policy would have played what was played: exact, but about one round in K is used.
        "simulate" plays it in worlds fitted to the log, which may be any, and is as good as that
        model.
    alpha : float in (0, 1)
        Error of the interval.
    k, rho : float
        Of the sequence of "replay", see `ConfidenceSequence`.
    bootstraps : int >= 20
        Resampled logs to which "simulate" fits worlds.
    seed : int
        Of the policy's choices and of the worlds.

    Returns
    -------
    Evaluation
        With a sequence for "replay", and the model's calibration for "simulate".

    Raises
    ------
    ValueError
        For "replay" of a log that was not uniform, for logs of sets, and for policies that do not
        learn.

    References
    ----------
    Li, Chu, Langford, Wang 2011, "Unbiased offline evaluation of contextual-bandit-based
    news article recommendation algorithms".

    Examples
    --------
    >>> import tightrope as tr
    >>> rows = {"arm": [0, 1, 1, 0], "reward": [0.0, 1.0, 1.0, 0.0], "propensity": [0.5] * 4}
    >>> log = tr.logs.from_frame({name: 50 * column for name, column in rows.items()})
    >>> tr.evaluate_learner(log, tr.UCB(), method="replay").estimator
    'replay'
    """
    options = EvaluationOptions.checked(alpha=alpha, k=k, rho=rho)
    check_log(log)
    checks.choice("method", method, get_args(Method))
    if not is_policy(policy):
        raise ValueError(
            f"policy = {checks.show(policy)} does not learn; judge it by tr.evaluate, or give a "
            "policy such as LinTS()."
        )
    if log.size > 1:
        raise ValueError(
            "this log has sets, and learners are judged on logs of single arms; judge a policy at "
            "a fixed state instead."
        )
    seed = checks.integer("seed", seed, least=0)
    if method == "replay":
        return replay(log, policy, options, seed)
    return simulate_in_worlds(
        log, policy, options, checks.integer("bootstraps", bootstraps, least=20), seed
    )


# What the policy sees -----------------------------------------------------------------------------


class View:
    """The rows of a log as a policy sees them: features of the arms, of the round (a block for each
    arm), fixed ones, or none."""

    def __init__(self, log: Log, policy: Policy, rows: Rows) -> None:
        kinds, K = accepts(policy), log.arms
        self.features = self.contexts = self.shown = self.fixed = None
        if rows.features is not None and "contexts" in kinds:
            if rows.features.ndim == 3:
                self.features = np.ascontiguousarray(rows.features)
            else:
                self.contexts = np.ascontiguousarray(rows.features)
                self.shown = np.zeros((K, K * rows.features.shape[1]))
        elif log.arm_features is not None and "features" in kinds:
            self.fixed = log.arm_features
        self.eligible = rows.eligible
        self.arms = Arms(K, features=self.fixed, dimension=dimension(self), rewards=log.rewards)
        check_fit(policy, self.arms)

    def arrays(
        self,
    ) -> tuple[np.ndarray | None, np.ndarray | None, np.ndarray | None, np.ndarray | None]:
        return self.features, self.contexts, self.shown, self.eligible

    def admit(self, policy: Policy, state: State) -> None:
        first = self.features[0] if self.features is not None else self.shown
        admit(
            policy,
            state,
            Context(features=first, eligible=None if self.eligible is None else self.eligible[0]),
        )


def _by_slices(play: Play, rounds: int) -> None:
    """Compiled rounds in slices of some milliseconds, between which a Ctrl-C is heard."""
    Slices(lambda: False, lambda played: None).run(play, rounds)


# Replay -------------------------------------------------------------------------------------------


def replay(log: Log, policy: Policy, options: EvaluationOptions, seed: int) -> Evaluation:
    """The rounds of a uniform log in which the policy would have played what was played."""
    if not log.uniform:
        raise ValueError(
            "method = 'replay' needs a log whose arms were drawn uniformly, each with propensity "
            "1 / (number of eligible arms); this one was not. Use method='simulate', or log a "
            "share of the traffic uniformly."
        )
    if not log.as_drawn:
        raise ValueError(
            "method = 'replay' needs the rows in the order in which their arms were drawn, which "
            "this log's are not: its arms come in blocks, or not as often as their propensities "
            "say; give from_frame(..., time=...), or use method='simulate'."
        )
    rng = stream(seed, 0, POLICY)
    run = replay_rows if compiled(policy) else python_of(replay_rows)
    state, played = None, np.zeros(log.arms)
    kept_rewards = []
    for rows in log.chunks():
        view = View(log, policy, rows)
        if state is None:
            state = init(policy, view.arms)
        view.admit(policy, state)
        kept = np.zeros(rows.arm.size, dtype=np.bool_)
        columns = (rows.arm, rows.reward, *view.arrays(), kept)

        def play(first: int, last: int) -> int:
            nonlocal state
            part = (
                item if item is None or item is view.shown else item[first:last]  # noqa: B023
                for item in columns  # noqa: B023
            )
            state = run(policy, state, *part, rng)  # type: ignore[call-arg]
            return last

        _by_slices(play, kept.size)
        kept_rewards.append(rows.reward[kept])
        played += np.bincount(rows.arm[kept], minlength=log.arms)
    rewards = np.concatenate(kept_rewards)
    m = rewards.size
    if m == 0:
        raise ValueError(
            f"{label(policy)} would have played what was played in none of {log.n} rounds; log "
            "more rounds."
        )
    low, high = log.rewards
    times, scaled = shown_times(m), (rewards - low) / (high - low)
    states = np.zeros((2, times.size, 3))
    for side, scores in enumerate((scaled, 1.0 - scaled)):
        advance(scores, 0, m, options.k, np.zeros(3), times, 0, states[side])
    below, above = (
        lower_bounds(each, options.alpha / 2.0, options.k, options.rho) for each in states
    )
    bounds = Sequence(times, low + (high - low) * below, high - (high - low) * above)
    value, se = (
        float(rewards.mean()),
        float(rewards.std(ddof=1) / np.sqrt(m)) if m > 1 else float("nan"),
    )
    return Evaluation(
        value=value,
        se=se,
        interval=(float(bounds.lower[-1]), float(bounds.upper[-1])),
        sequence=bounds,
        ess=float(m),
        max_weight=1.0,
        support=Support(played / m, log.plays, 0.0, log.names),
        verdict=overlap(m, log.n, 0.0) or "enough overlap",
        estimator="replay",
        alpha=options.alpha,
        n=log.n,
        rounds=m,
        estimates={"replay": ValueEstimate(value, se)},
        policy=label(policy),
        rewards=log.rewards,
        few=few_exceptions(
            log, int(min((rewards > rewards.min()).sum(), (rewards < rewards.max()).sum()))
        ),
        notes=(
            f"Replay kept {m:,} of {log.n:,} rows; the value is that of the policy's first {m:,} "
            "rounds.",
        ),
    )


# Simulation ---------------------------------------------------------------------------------------


class Fit:
    """Ridge regression of a log's rewards, as `models.Ridge` but with a weight for each row."""

    def __init__(self, log: Log, rows: Rows) -> None:
        features, m, arm = rows.features, rows.arm.size, rows.arm
        self.arm, self.reward, self.arms = arm, rows.reward, log.arms
        if features is None and log.arm_features is not None:
            features = log.arm_features[None]
        self.shared = features is not None and features.ndim == 3
        if features is None:
            features = np.zeros((m, 0))
        self.all = np.concatenate([np.ones((*features.shape[:-1], 1)), features], axis=-1)
        if self.shared:
            self.own = self.all[np.arange(m) if len(features) > 1 else np.zeros_like(arm), arm]
            self.groups = [np.arange(m)]
        else:
            self.own = self.all
            self.groups = [np.flatnonzero(arm == k) for k in range(log.arms)]

    def theta(self, weights: np.ndarray) -> np.ndarray:
        average = float(weights @ self.reward / max(weights.sum(), 1e-300))
        q = self.own.shape[1]
        coefficients = np.zeros((len(self.groups), q))
        for place, rows in enumerate(self.groups):
            X, w = self.own[rows], weights[rows]
            gram = (X * w[:, None]).T @ X + LAM * np.eye(q)
            coefficients[place] = np.linalg.solve(
                gram, (X * w[:, None]).T @ (self.reward[rows] - average)
            )
        coefficients[:, 0] += average
        return coefficients

    def means(self, theta: np.ndarray) -> np.ndarray:
        if self.shared:
            return np.broadcast_to(self.all @ theta[0], (self.arm.size, self.arms))
        return self.own @ theta.T


def simulate_in_worlds(
    log: Log, policy: Policy, options: EvaluationOptions, bootstraps: int, seed: int
) -> Evaluation:
    """The policy in the fitted world, and in one for every bootstrap sample of the log's rows, all
    of them in memory.

    The interval holds the mean reward of one run: the fit's error and the run's own chance.
    O(bootstraps rows) rounds of the engine.
    """
    rows = whole(log)
    view, fit = View(log, policy, rows), Fit(log, rows)
    low, high = log.rewards
    m = rows.arm.size
    crossed = np.zeros(m)
    for fold in range(FOLDS):
        out = np.arange(m) % FOLDS == fold
        theta = fit.theta(np.where(out, 0.0, 1.0))
        crossed[out] = (fit.own * theta[0 if fit.shared else rows.arm]).sum(axis=1)[out]
    crossed = np.clip(crossed, low, high)
    binary = bool(((rows.reward == low) | (rows.reward == high)).all())
    residuals = np.zeros(0) if binary else rows.reward - crossed

    def run(theta: np.ndarray, replication: int) -> tuple[float, np.ndarray]:
        means = np.ascontiguousarray(np.clip(fit.means(theta), low, high))
        best = (means if rows.eligible is None else np.where(rows.eligible, means, -np.inf)).max(
            axis=1
        )
        features, contexts, shown, eligible = view.arrays()
        world = LoggedWorld(
            means,
            best,
            residuals,
            low,
            high,
            np.zeros(1, dtype=np.int64),
            features,
            contexts,
            shown,
            view.fixed,
            eligible,
        )
        started = prepare(policy, World(cast(Problem, world)), seed, replication, m)
        record, _, play = to_horizon(started, NoMonitor(), np.array([m]))
        _by_slices(play, m)
        return float(best.mean() - record.regret[-1] / m), record.pulls

    central = fit.theta(np.ones(m))
    draw = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(bootstraps, m)))
    middle, spread, pulls = np.empty(bootstraps), np.empty(bootstraps), np.zeros(log.arms)
    for b in range(bootstraps):
        middle[b], played = run(central, b)
        pulls += played / (m * bootstraps)
        weights = np.bincount(draw.integers(0, m, size=m), minlength=m).astype(np.float64)
        spread[b], _ = run(fit.theta(weights), b)
    value, se = float(middle.mean()), float(spread.std(ddof=1))
    interval = tuple(np.quantile(spread, [options.alpha / 2.0, 1.0 - options.alpha / 2.0]).tolist())
    unseen = float(pulls[log.plays == 0].sum())
    optimism = float(spread.mean()) - value
    order = np.array_split(np.argsort(crossed, kind="stable"), 10)
    calibration = np.array(
        [[part.size, crossed[part].mean(), rows.reward[part].mean()] for part in order if part.size]
    )
    apart = np.abs(calibration[:, 1] - calibration[:, 2])
    worst = float(apart.max())
    errors = np.array(
        [(rows.reward - crossed)[part].std() for part in order if part.size]
    ) / np.sqrt(calibration[:, 0])
    model = (
        "one ridge regression for all arms"
        if fit.shared
        else f"a ridge regression for each of {log.arms} arms"
    )
    notes = [
        f"Simulated with {model}, "
        f"{'rewards of two values' if binary else 'resampled residuals as noise'}, {bootstraps} "
        "bootstrap fits; the answer is as good as this model. By tenths of its predictions the "
        f"mean reward differs by at most {worst:.3g}."
    ]
    if (apart > MISFIT * errors + 1e-9).any():
        notes.append(
            f"In a tenth of its predictions it is wrong by more than {MISFIT:g} standard errors: "
            "the model does not fit this log, and the value should not be trusted. Give features "
            "that tell the arms and contexts apart."
        )
    if optimism > OPTIMISM * se:
        notes.append(
            f"Worlds fitted to resampled logs promise {optimism:.3g} more than the one fitted to "
            "the log: the policy finds what a fit overstates. The value is probably too high by "
            "as much; a longer log, or fewer coefficients, helps."
        )
    verdict = (
        f"not enough overlap: {unseen:.1%} of its plays are on arms that the log never played; "
        "log with Explore"
        if unseen > 0.05
        else "simulated: as good as its model"
    )
    return Evaluation(
        value=value,
        se=se,
        interval=interval,
        sequence=None,
        ess=float("nan"),
        max_weight=float("nan"),
        support=Support(pulls, log.plays, unseen, log.names),
        verdict=verdict,
        estimator="simulate",
        alpha=options.alpha,
        n=log.n,
        rounds=m,
        estimates={"simulate": ValueEstimate(value, se)},
        calibration=calibration,
        policy=label(policy),
        rewards=log.rewards,
        notes=tuple(notes),
    )
