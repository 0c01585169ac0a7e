"""`evaluate`: what a policy would have earned on a log, with bounds that hold however often they are looked at."""

from __future__ import annotations

from ..core import checks
from ..logs.log import Log
from .estimators import Estimator
from .models import Model
from .results import Evaluation
from .scoring import EvaluationOptions, Pass, check_log, check_support, evaluation_of
from .targets import Judged, Target, target_name


def evaluate(
    log: Log, policy: Judged, *, estimator: Estimator = "dr", model: Model = "ridge", alpha: float = 0.05, anytime: bool = True,
    baseline: Judged | None = None, clip: float = 10.0, k: float = 1.0, rho: float = 1.0,
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
    against = None if baseline is None else Target(log, baseline, "baseline")
    read = Pass(log, [Target(log, policy)], against, model, options)
    if read.baseline is not None:
        check_support(log, read.baseline)
    duel = read.duels[0] if read.duels else None
    return evaluation_of(
        read, read.targets[0], duel, anytime=checks.flag("anytime", anytime), alpha=options.alpha, name=target_name(policy)
    )
