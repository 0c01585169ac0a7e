"""How many replications? `Ranking` adds them until the order of the policies is certain.

For every two policies and either order, X_r is the paired difference of regret in replication r,
over the rounds and the largest regret of a round, so within [-1, 1]. If its mean is not above 0,
exp of the mixture of S = sum X and V = sum (X - xihat)^2 is a supermartingale (`numerics.mixture`;
xihat: the mean so far, at most 0). One over its largest value is a p-value that holds at all looks
at once, and Holm's steps over both orders of all pairs keep the error of all decisions together at
alpha, whenever the run ends. (Steps over pairs alone would not: of a pair whose means are all but
equal one order is wrong although the means are not the same.) Where replications go round a list of
problems, looks are after whole rounds of the list, and the order is that of means over the list.
"""

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ..core import checks
from ..core.policy import Problem
from ..core.types import JsonObject
from ..core.verbs import describe
from ..numerics.counts import log_mixture
from ..results import holm, ranking_sentence as sentence
from ..solvers.oracles import set_size

__all__ = ["Ranking", "sentence"]
RHO = 0.1  # of the mixture: differences vary far less than their range allows, so V stays small
GROWTH = 1.5  # of the number of replications between two looks
ROUNDING = 1e-9  # by how much rounding may carry a difference out of its range


def __dir__() -> list[str]:
    return __all__


@dataclass(frozen=True)
class Ranking:
    """Replications until the order of the policies by mean regret, at the last checkpoint, is
    certain.

    A difference of regret per round that is a share s of the largest needs about 2 ln(pairs /
    alpha) / s replications, however steady it is, since without assumptions a rare large regret
    could hide.

    Parameters
    ----------
    alpha : float in (0, 1)
        The chance that any decision is wrong.
    least, most : int >= 1
        Replications.
    largest_regret : float > 0
        The largest pseudo-regret that a round can have; default: from the problem (its means, or
        the range of its rewards).

    Raises
    ------
    ValueError
        Where an argument is out of its range.

    References
    ----------
    Howard, Ramdas, McAuliffe, Sekhon 2021 (mixtures that hold at all looks); Holm 1979 (all pairs
    together).

    Examples
    --------
    >>> import tightrope as tr
    >>> tr.stopping.Ranking(alpha=0.1, most=100).least
    10
    """

    alpha: float = 0.05
    least: int = 10
    most: int = 1000
    largest_regret: float | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "alpha", checks.real("alpha", self.alpha, above=0, below=1))
        object.__setattr__(self, "least", checks.integer("least", self.least, least=1))
        object.__setattr__(self, "most", checks.integer("most", self.most, least=self.least))
        if self.largest_regret is not None:
            object.__setattr__(
                self, "largest_regret", checks.real("largest_regret", self.largest_regret, above=0)
            )

    def looks(self, problems: int) -> Iterator[int]:
        """Numbers of replications after which the order is judged: whole rounds of the list of
        problems, each GROWTH times the last.

        Parameters
        ----------
        problems : int >= 1
            How many problems the replications take in turn.

        Yields
        ------
        int
        """
        if problems > self.most:
            raise ValueError(
                f"until: most = {self.most} is less than the {problems} problems; every problem "
                "is needed once, raise most."
            )
        last = self.most // problems * problems
        now = min(last, math.ceil(self.least / problems) * problems)
        yield now
        while now < last:
            now = min(last, math.ceil(GROWTH * now / problems) * problems)
            yield now

    def scale(self, problems: Sequence[Problem], rounds: int) -> float:
        """The largest regret that so many rounds can have.

        Parameters
        ----------
        problems : sequence of Problem
            Those of the simulation.
        rounds : int >= 1
            Up to the last checkpoint.

        Returns
        -------
        float
        """
        return rounds * (
            _largest_regret(problems) if self.largest_regret is None else self.largest_regret
        )


@dataclass(frozen=True)
class Judged:
    """The order of policies as far as it is certain.

    decided: (policy of lower regret, policy of higher regret, after how many replications), in the
    order in which it was; undecided: pairs.
    """

    decided: list[tuple[str, str, int]]
    undecided: list[tuple[str, str]]


def judged(cost: Mapping[str, np.ndarray], scale: float, alpha: float, problems: int) -> Judged:
    """The order of cost[name] (replications,), of which two differ by at most scale, as of the
    whole rounds of the list of problems."""
    pairs = list(itertools.combinations(cost, 2))
    apart = np.array([cost[first] - cost[second] for first, second in pairs]) / scale
    if np.abs(apart).max() > 1.0 + ROUNDING:
        k = int(np.argmax(np.abs(apart).max(axis=1)))
        raise ValueError(
            f"until: regret of {pairs[k][0]!r} and {pairs[k][1]!r} differs by "
            f"{np.abs(apart[k]).max():.4g} times the largest that was assumed; pass "
            "Ranking(largest_regret=...), the largest regret that a round can have."
        )
    evidence = np.stack([_evidence(-apart), _evidence(apart)])[
        :, :, problems - 1 :: problems
    ]  # the first's regret is lower, or higher
    p = np.minimum(np.exp(-np.maximum.accumulate(evidence, axis=2)), 1.0)
    sure = np.stack(
        [holm(look.ravel()).reshape(look.shape) <= alpha for look in np.moveaxis(p, 2, 0)], axis=2
    )
    decided, undecided = [], []
    for k, (first, second) in enumerate(pairs):
        if not sure[:, k].any():
            undecided.append((first, second))
            continue
        look = int(np.argmax(sure[:, k].any(axis=0)))
        order = (first, second) if sure[0, k, look] else (second, first)
        decided.append((*order, (look + 1) * problems))
    return Judged(sorted(decided, key=lambda item: item[2]), undecided)


def _evidence(x: np.ndarray) -> np.ndarray:
    """ln M after each of the differences x (pairs, n), against a mean that is not above 0."""
    n = x.shape[1]
    before = np.concatenate(
        [np.zeros((len(x), 1)), np.cumsum(x, axis=1)[:, :-1] / np.arange(1, n)], axis=1
    )
    V = np.cumsum((x - np.minimum(before, 0.0)) ** 2, axis=1)
    return log_mixture(
        np.maximum(np.cumsum(x, axis=1), -0.5 * (V + RHO)), V, RHO
    )  # far below 0 it has no evidence to give


def record(rule: Ranking, scale: float, replications: int, ranking: Judged) -> JsonObject:
    return {
        "rule": "Ranking",
        "alpha": rule.alpha,
        "least": rule.least,
        "most": rule.most,
        "largest_regret_of_a_replication": scale,
        "replications": replications,
        "certain": not ranking.undecided,
        "decided": [
            {"lower": lower, "higher": higher, "after": after}
            for lower, higher, after in ranking.decided
        ],
        "undecided": [list(pair) for pair in ranking.undecided],
    }


def _largest_regret(problems: Sequence[Problem]) -> float:
    """The largest regret of a round on any of the problems, from means that stay as they are, or
    from the range of rewards."""
    largest = []
    for problem in problems:
        description = describe(problem)
        bounds = []
        best, means = getattr(problem, "best", None), getattr(problem, "means", None)
        if isinstance(best, float) and isinstance(means, np.ndarray) and description.oracle is None:
            bounds.append(best - float(means.min()))
        if description.rewards is not None and math.isfinite(
            description.rewards[1] - description.rewards[0]
        ):
            low, high = description.rewards
            each = (
                high - low if description.oracle is None else max(high, 0.0) - min(low, 0.0)
            )  # a set may hold fewer arms than the best one
            bounds.append(
                each
                * (
                    1
                    if description.oracle is None
                    else set_size(description.oracle, description.number)
                )
            )
        if not bounds:
            raise ValueError(
                "until needs the largest regret that a round can have, which "
                f"{type(problem).__name__} does not say; pass Ranking(largest_regret=...)."
            )
        largest.append(min(bounds))
    return max(largest) or 1.0  # 0 where all arms are the best: all differences are 0 then
