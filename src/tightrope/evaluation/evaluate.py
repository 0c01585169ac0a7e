"""`evaluate`: what a policy would have earned on a log, with bounds that hold however often they are looked at."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from ..core import checks
from ..logs.log import Log, RowsInMemory, by_unit, new_log, whole
from .estimators import Estimator, ValueEstimate
from .models import Model
from .results import Evaluation, fixed_interval
from .scoring import EvaluationOptions, Pass, check_log, check_support, evaluation_of
from .targets import Judged, Target, target_name


def evaluate(
    log: Log, policy: Judged, *, estimator: Estimator = "dr", model: Model = "ridge", alpha: float = 0.05, anytime: bool = True,
    baseline: Judged | None = None, clip: float = 10.0, k: float = 1.0, rho: float = 1.0, unit: str | ArrayLike | None = None,
    per: str | ArrayLike | None = None,
) -> Evaluation:  # fmt: skip
    """Estimate the value of a policy from a log that another policy made.

    Parameters
    ----------
    log : Log
        From a function of `tr.logs`.
    policy : array, arm, dict, function, Session or "logged"
        Probabilities of the arms: (n, K), a row for each row of the table the log was made from, (K,) for all rows, {slot: (K,)}, or a
        function of (context, eligible) that returns (K,). An arm by its name or number. A session, at its present state. "logged": the
        logger itself. A policy that learns is judged by `evaluate_learner`.
    estimator : str
        Of the value; the sequence does not depend on it.
    model : "ridge", None or (n, K) array
        Predicted rewards: fitted on earlier rounds only; none; or given, not made from these rewards.
    alpha : float in (0, 1)
        Error of the interval and of the verdict.
    anytime : bool
        Bounds that hold at all times at once; False: a normal interval for this number of rounds, where the estimator has no bias
        ("dm" has, and so have "clipped-ips" and "switch-dr" where a weight is above clip). With fewer than some 100 effective rows it is
        too short.
    baseline : as policy
        What the policy would replace; then the verdict says whether to.
    clip : float > 0
        Weights above it are cut by "clipped-ips" and left to the model by "switch-dr".
    k, rho : float
        Of the sequence, see `ConfidenceSequence`. k = 0 makes no use of the model; where rewards are rare and weights are known to reach
        w, k near w gives the tightest upper bound.

    unit : str or (n,) array
        What an arm was drawn for, such as the user, where it has many rows: a column of the table, or an entry for each of its rows. Then
        the value is that of the sum of rewards of a unit, and the rows of the answer are units.
    per : str, (n,) array or float
        Of a ratio, such as revenue per session: what its denominator counts in every row. The value is the sum of w R over that of w
        times the denominator, both by unit, with a normal interval by the delta method, and without a baseline.

    Returns
    -------
    Evaluation

    Raises
    ------
    ValueError
        Where the log cannot answer: no randomness, a policy that plays what the logger could not. With too little overlap the numbers
        are given and the verdict says so.

    References
    ----------
    "dr": Dudík, Langford, Li 2011. "snips": Swaminathan, Joachims 2015. "switch-dr": Wang, Agarwal, Dudík 2017. Intervals at all times:
    Waudby-Smith, Wu, Ramdas, Karampatziakis, Mineiro 2024.

    Examples
    --------
    >>> import tightrope as tr
    >>> log = tr.logs.from_frame({"arm": [0, 1, 1, 0], "reward": [0.0, 1.0, 1.0, 0.0], "propensity": [0.5] * 4})
    >>> tr.evaluate(log, 1, model=None).value
    1.0
    """
    options = EvaluationOptions.checked(estimator=estimator, alpha=alpha, k=k, rho=rho, clip=clip)
    check_log(log)
    if per is not None:
        if baseline is not None:
            raise ValueError(
                "per gives a ratio, which has no bounds at all times and no verdict; leave baseline out, and judge each policy."
            )
        return _ratio(log, policy, options, unit, per)
    if unit is not None:
        log, _ = by_unit(log, unit)
    against = None if baseline is None else Target(log, baseline, "baseline")
    read = Pass(log, [Target(log, policy)], against, model, options)
    if read.baseline is not None:
        check_support(log, read.baseline)
    duel = read.duels[0] if read.duels else None
    return evaluation_of(
        read, read.targets[0], duel, anytime=checks.flag("anytime", anytime), alpha=options.alpha, name=target_name(policy)
    )


def _ratio(log: Log, policy: Judged, options: EvaluationOptions, unit: object, per: object) -> Evaluation:
    """Value of rewards over value of the denominator; its error is that of their difference at this ratio (delta method)."""
    summed, amounts = by_unit(log, unit, per)
    rows = whole(summed)

    def judge(rewards: np.ndarray) -> Evaluation:
        low, high = float(rewards.min()), float(rewards.max())
        other = new_log(
            RowsInMemory(rows._replace(reward=rewards)), summed.arms, summed.names, rewards=(low, high if high > low else low + 1.0),
            floor=summed.floor, arm_features=summed.arm_features, left_out=summed.left_out,
        )  # fmt: skip
        judged = replace(other, given=summed.given)
        return evaluate(judged, policy, estimator="ips", model=None, alpha=options.alpha, anytime=False)

    top, bottom = judge(rows.reward), judge(amounts).value
    if not bottom > 0.0:
        raise ValueError(f"per: the mean of the denominator is {bottom:.3g} where the policy plays, but must be above 0.")
    ratio = top.value / bottom
    one = ValueEstimate(ratio, judge(rows.reward - ratio * amounts).se / bottom)
    interval = (math.nan, math.nan) if math.isnan(top.interval[0]) else fixed_interval(one, options.alpha, top.ess, None)
    return replace(top, value=ratio, se=one.se, interval=interval, estimator="ratio", estimates={"ratio": one}, few=None)
