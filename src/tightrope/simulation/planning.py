"""`plan`: how many samples a test will take, by simulation, beside tests of fixed size; and which of them to choose."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
from numpy.typing import ArrayLike

from ..core import checks, notebook
from ..core.policy import Policy
from ..core.problem import Problem
from ..numerics.statistics import standard_error
from ..policies import LinGapE, UGapE
from ..problems import Bernoulli, Linear
from ..results.results import Identification
from .identify import identify

LEAST_VARIANCE = 5.0  # of an arm's number of successes, from which it is taken as normal
NO_TEXTBOOK = "none: n p (1 - p) is below 5"
LINEAR = 1e-9  # how far means may be from a linear function of the features


@dataclass(frozen=True, repr=False)
class Plan:
    """The cost of a test in samples of all arms together.

    Attributes
    ----------
    samples, se : dict of name to float
        Mean over simulated tests, in samples, and its standard error, by policy.
    most : dict of name to int
        The largest number of samples of a simulated test.
    certified : dict of name to float
        Share of the tests that ended with their certificate, in [0, 1].
    fixed : int
        Samples of a test of fixed size whose answer is worse than the best by more than epsilon with probability at most delta, whatever
        the means are (Hoeffding), as the policies promise.
    textbook : int or None
        The same by the normal approximation with the variances of the planned means; None where it would not hold: where n p (1 - p) is
        below 5 for an arm of mean p with n samples.
    advice : str
        What to do, in sentences.
    simulated : Identification
        The simulated tests.
    """

    samples: dict[str, float]
    se: dict[str, float]
    most: dict[str, int]
    certified: dict[str, float]
    fixed: int
    textbook: int | None
    advice: str
    simulated: Identification

    def _rows(self) -> list[list[object]]:
        simulated: list[list[object]] = [
            [name, f"{self.samples[name]:,.0f} ± {self.se[name]:,.0f}", f"{self.most[name]:,}", f"{self.certified[name]:.0%}"]
            for name in self.samples
        ]
        textbook = NO_TEXTBOOK if self.textbook is None else f"{self.textbook:,}"
        return [*simulated, ["fixed size, any means", f"{self.fixed:,}", "", ""], ["fixed size, textbook", textbook, "", ""]]

    def __repr__(self) -> str:
        return f"<Plan: {'; '.join(f'{row[0]} {row[1]}' for row in self._rows())}>"

    def _repr_html_(self) -> str:
        return notebook.table("Samples of a test", ["test", "samples", "largest", "certified"], self._rows(), self.advice)


def plan(
    means: ArrayLike,
    *,
    epsilon: float,
    delta: float = 0.05,
    arms: ArrayLike | None = None,
    policies: Mapping[str, Policy] | None = None,
    replications: int = 20,
    seed: int = 0,
    max_rounds: int = 10**6,
    workers: int | None = None,
) -> Plan:
    """How many samples tests take that stop when they know the best arm, beside tests of fixed size, if the means are as supposed.

    Plan with means that are close as well: tests that stop gain where arms differ by much more than epsilon and lose where all are near
    each other.

    Parameters
    ----------
    means : (K,) array in [0, 1], K >= 2
        Supposed means of rewards 0 or 1.
    epsilon : float in (0, 1)
        How much worse than the best the named arm may be, in units of reward.
    delta : float in (0, 1)
        Probability with which it may be worse than that.
    arms : (K, d) array
        Features of which the means are a linear function.
    policies : dict of name to Policy
        That stop; default UGapE, with features LinGapE.
    replications, seed, max_rounds, workers : int
        As for `identify`.

    Returns
    -------
    Plan

    Raises
    ------
    ValueError
        Where an argument is out of its range, or the means are no linear function of the arms.

    Examples
    --------
    >>> import tightrope as tr
    >>> plan = tr.plan([0.1, 0.9], epsilon=0.3, replications=2)
    >>> plan.samples["UGapE"] < plan.fixed
    True
    """
    supposed = checks.vector("means", means, least=0.0, most=1.0)
    if supposed.size < 2:
        raise ValueError("means has one entry; a test compares two or more arms.")
    epsilon = checks.real("epsilon", epsilon, above=0.0, below=1.0)
    delta = checks.real("delta", delta, above=0.0, below=1.0)
    problem: Problem = Bernoulli(supposed)
    usual: dict[str, Policy] = {"UGapE": UGapE(epsilon=epsilon, delta=delta, noise=0.5)}
    if arms is not None:
        theta, problem = _linear(arms, supposed)
        bound = float(np.linalg.norm(theta)) or 1.0
        usual = {"LinGapE": LinGapE(epsilon=epsilon, delta=delta, noise=0.5, theta_bound=bound)}
    chosen = dict(policies) if policies is not None else usual
    simulated = identify(problem, chosen, replications=replications, seed=seed, max_rounds=max_rounds, workers=workers)
    samples = {name: float(rounds.mean()) for name, rounds in simulated.rounds.items()}
    fixed, textbook = fixed_size(supposed, epsilon, delta)
    certified = {name: float(simulated.stopped[name].mean()) for name in samples}
    return Plan(
        samples,
        {name: float(standard_error(rounds)) if rounds.size > 1 else math.nan for name, rounds in simulated.rounds.items()},
        {name: int(rounds.max()) for name, rounds in simulated.rounds.items()},
        certified, fixed, textbook, _advice(samples, certified, fixed, textbook), simulated,
    )  # fmt: skip


def fixed_size(means: np.ndarray, epsilon: float, delta: float) -> tuple[int, int | None]:
    """Samples of all arms together after which the arm of the highest sample mean is within epsilon of the best, but for delta.

    A union over the K - 1 arms that might look better: by Hoeffding's inequality for rewards in [0, 1], and by the normal approximation
    with the variances of the means; None where these are too small for it.
    """
    K = means.size
    hoeffding = math.ceil(math.log((K - 1) / delta) / epsilon**2)
    spread = np.sort(means * (1.0 - means))[-2:].sum()  # variance of a difference, at most
    z = NormalDist().inv_cdf(1.0 - min(delta / (K - 1), 0.5))
    normal = math.ceil(z * z * float(spread) / epsilon**2)
    holds = normal * float((means * (1.0 - means)).min()) >= LEAST_VARIANCE
    return K * hoeffding, K * normal if holds else None


def _linear(arms: ArrayLike, means: np.ndarray) -> tuple[np.ndarray, Problem]:
    X = checks.matrix("arms", arms, shape=(means.size, None))
    theta = np.linalg.lstsq(X, means)[0]
    off = float(np.abs(X @ theta - means).max())
    if off > LINEAR:
        raise ValueError(
            f"means are not a linear function of arms: the nearest one misses them by up to {off:.3g}; leave arms out, or add features."
        )
    return theta, Linear(arms=X, theta=theta, rewards="bernoulli")


def _advice(samples: dict[str, float], certified: dict[str, float], fixed: int, textbook: int | None) -> str:
    best = min(samples, key=lambda name: (certified[name] < 1.0, samples[name]))
    normal = "none by the normal approximation, which does not hold for so rare an outcome: n p (1 - p) is below 5"
    if textbook is not None:
        normal = f"{textbook:,} by the normal approximation"
    cost = f"{best} takes {samples[best]:,.0f} samples on average"
    if certified[best] < 1.0:
        return (
            f"{cost} and is not certified by max_rounds in {1 - certified[best]:.0%} of the tests. Choose a test of fixed size "
            f"({fixed:,} samples for any means; {normal}), or a larger epsilon."
        )
    if samples[best] <= (fixed if textbook is None else textbook):
        return f"{cost}, fewer than a test of fixed size ({fixed:,} for any means; {normal}): choose {best}."
    if textbook is not None and samples[best] <= fixed:
        return (
            f"{cost}, fewer than a test of fixed size with the same promise for any means ({fixed:,}), but more than the textbook's "
            f"{textbook:,}, which rely on the normal approximation and on one look at the end. If that is enough, the textbook's test is "
            f"the better choice; choose {best} to look at any time, or to be certain of the error."
        )
    return (
        f"{cost}; a test of fixed size needs {fixed:,} with the same error for any means ({normal}), with "
        f"one look at the end. It is the better choice, unless you must look earlier or other means are likely, with larger differences."
    )
