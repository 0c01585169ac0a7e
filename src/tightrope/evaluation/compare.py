"""`compare`: several policies on one log, which of them may be promoted, and which can be given up."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import ArrayLike

from ..core import checks
from ..logs.log import Log, by_unit
from .estimators import Estimator
from .models import Model
from .results import Comparison
from .scoring import EvaluationOptions, Pass, check_log, check_support, evaluation_of
from .sequences import shown_times
from .targets import LOGGED_POLICY, Judged, Target


def compare(
    log: Log, policies: Mapping[str, Judged], *, baseline: Judged = LOGGED_POLICY, estimator: Estimator = "dr", model: Model = "ridge",
    alpha: float = 0.05, clip: float = 10.0, k: float = 1.0, rho: float = 1.0, unit: str | ArrayLike | None = None,
) -> Comparison:  # fmt: skip
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
        Error, which is shared: each of m policies has intervals and a gate at level alpha / m, so with probability 1 - alpha nothing
        that is said of any of them, at any round, is wrong.
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
    >>> log = tr.logs.from_frame({"arm": [0, 1] * 500, "reward": [0.0, 1.0] * 500, "propensity": [0.5] * 1000})
    >>> tr.compare(log, {"first": 0, "second": 1}).winner
    'second'
    """
    options = EvaluationOptions.checked(estimator=estimator, alpha=alpha, k=k, rho=rho, clip=clip)
    check_log(log)
    if unit is not None:
        log, _ = by_unit(log, unit)
    if not isinstance(policies, Mapping) or not policies:
        raise ValueError(f"policies = {checks.show(policies)} must be a dict of name -> policy with at least one entry.")
    m = len(policies)
    targets = [Target(log, policy, f"policies[{name!r}]") for name, policy in policies.items()]
    read = Pass(log, targets, Target(log, baseline, "baseline"), model, options, share=m)
    assert read.baseline is not None
    check_support(log, read.baseline)
    evaluations = {
        name: evaluation_of(read, item, duel, anytime=True, alpha=options.alpha / m, name=name)
        for name, item, duel in zip(policies, read.targets, read.duels, strict=True)
    }
    against = evaluation_of(read, read.baseline, None, anytime=True, alpha=options.alpha, name="baseline")
    bounds = [each.sequence for each in evaluations.values()]
    best = np.max([np.full(read.times.size, -np.inf), *(each.lower for each in bounds if each is not None)], axis=0)
    looked = np.isin(read.times, shown_times(log.rounds + 1))
    alive = tuple(name for name, each in zip(evaluations, bounds, strict=True) if each is None or (each.upper >= best)[looked].all())
    winner = alive[0] if len(alive) == 1 and evaluations[alive[0]].verdict == "promote" else None
    return Comparison(evaluations, against, alive, winner, options.alpha)
