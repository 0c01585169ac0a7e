"""`Result.compare` and `Identification.compare`: which policies differ, by how much, and how sure that is.

Replications are paired (all policies meet the same contexts and noise), so what counts are differences within a replication. A p-value is
the larger of two. Of sign flips: of two policies that cost the same either sign of every difference is as likely, so the observed mean
must be among the largest of all signs; that is exact, however few replications and however skewed the costs are, and never below
2^(1 - replications). Of the studentized bootstrap: where only the means agree, differences may be skewed, which sign flips do not know of.
The bootstrap draws replications with replacement, the same ones for all policies; interquartile means have its percentiles. Draws that miss
the one replication which is far from all others have next to no spread of their own, by which a studentized interval would be divided: for
intervals their standard error is at least LEAST_SPREAD times the observed one, and no interval reaches beyond the observed differences.
Source: Fisher 1935, section 21; Efron, Tibshirani 1993, section 12.5 (equation 12.22) and chapter 13; Holm 1979; interquartile means as in
Agarwal, Schwarzer, Castro, Courville, Bellemare 2021; profiles as in Dolan, More 2002.
"""

import itertools
import math
import pathlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np

from ..core import checks, notebook
from ..numerics import special
from ..numerics.statistics import holm, interquartile_weights, standard_error
from .summary import gave_up_sentence

if TYPE_CHECKING:
    import pandas as pd

DRAWS = 10_000
MOST_DRAWS = 10**7
CELLS = 2**22  # numbers of a block of draws: 32 MiB
ROUNDING = 1e-12
LEAST_SPREAD = 0.3
INSIDE = 8  # replications of which all lie on one side of the mean in one case of 128, so that an interval need not reach beyond them


@dataclass(frozen=True)
class Pair:
    """Two policies. difference: mean cost of `first` minus that of `second`, paired; se: its standard error; lower, upper: its interval at
    level 1 - alpha, of the studentized bootstrap and no shorter than Student's, but within the observed differences (with 4 to 7
    replications within as far again on either side, with fewer infinite); p: two-sided, corrected for all pairs; decided: p <= alpha.
    """

    first: str
    second: str
    difference: float
    se: float
    lower: float
    upper: float
    p: float
    decided: bool


@dataclass(frozen=True)
class Level:
    """One policy. mean and se: of its cost; iqm: mean of the middle half of its replications, with a bootstrap interval; certified: "19 of
    20" where runs gave up, so that the cost is at least this, else ""."""

    policy: str
    mean: float
    se: float
    iqm: float
    lower: float
    upper: float
    certified: str = ""


@dataclass(frozen=True, eq=False)
class PairedComparison:
    """Policies compared on the same replications; lower cost is better.

    Attributes
    ----------
    cost : str
        What was compared, "final regret" or "rounds".
    replications, problems : int
        How many; replication r plays problem r % problems.
    alpha : float in (0, 1)
        Error of all decisions together, and of each interval by itself. Of policies that cost the same it holds from 2 replications on.
        Where only their means agree and differences are skewed it is reached as replications grow: at alpha = 0.05, of 1,000
        comparisons with exponential differences 36 to 67 were wrong with 6 to 40 replications, with lognormal ones (skewness 6) 72 to 96
        with 6 to 20, and 57 with 40. Intervals of such lognormal differences hold the truth in 89 to 94 of 100 runs, not in 95.
    levels : list of Level
        One for each policy, lowest mean first.
    pairs : list of Pair
        One for every two policies, in that order, so that differences are rarely positive.
    ratios : (n,) array
        Multiples of the lowest mean cost.
    profile : dict of name to (n,) array
        The share of problems on which the policy's mean cost is at most so many times the lowest one.
    """

    cost: str
    replications: int
    problems: int
    alpha: float
    levels: list[Level]
    pairs: list[Pair]
    ratios: np.ndarray
    profile: dict[str, np.ndarray]

    @property
    def undecided(self) -> list[tuple[str, str]]:
        """Pairs whose order these replications do not show."""
        return [(pair.first, pair.second) for pair in self.pairs if not pair.decided]

    @property
    def best(self) -> list[str]:
        """Policies that no other has certainly beaten."""
        beaten = {pair.second if pair.difference < 0.0 else pair.first for pair in self.pairs if pair.decided}
        return [level.policy for level in self.levels if level.policy not in beaten]

    def frame(self) -> "pd.DataFrame":
        """A table of all pairs.

        Returns
        -------
        pandas.DataFrame
            A row for each pair: first, second, difference, se, lower, upper, p and decided.
        """
        import pandas as pd

        return pd.DataFrame([vars(pair) for pair in self.pairs], columns=list(Pair.__dataclass_fields__))

    def plot(self, path: str | pathlib.Path, **options: str) -> pathlib.Path:
        """Draw the differences with their intervals, and the profile where there are several problems.

        Parameters
        ----------
        path : str or Path
            An SVG, PNG, PDF or PGF file.
        **options
            title: str, above the picture.

        Returns
        -------
        Path
        """
        from ..plots.paired_differences import save_comparison

        return save_comparison(self, pathlib.Path(path), **options)

    def __repr__(self) -> str:
        open_ = f"{len(self.undecided)} of {len(self.pairs)} pair{'s' if len(self.pairs) != 1 else ''} undecided"
        return f"<PairedComparison: {self.cost}, {self.replications} replications; best {', '.join(self.best)}; {open_}>"

    def __str__(self) -> str:
        return "\n".join(self._lines())

    def _repr_html_(self) -> str:
        rows = [
            (
                f"{pair.first} - {pair.second}",
                f"{pair.difference:+.5g} ± {pair.se:.2g}",
                f"[{pair.lower:.5g}, {pair.upper:.5g}]",
                f"{pair.p:.2g}",
            )
            for pair in self.pairs
        ]
        return notebook.table(repr(self).strip("<>"), ["pair", "difference ± se", f"{1.0 - self.alpha:.0%} interval", "p"], rows)

    def _lines(self) -> Iterator[str]:
        several = f", {self.problems} problems" if self.problems > 1 else ""
        level = f"{100.0 * (1.0 - self.alpha):.4g} %"
        many = f"{len(self.pairs)} pair{'s' if len(self.pairs) != 1 else ''}"
        yield f"{self.cost}, {self.replications} replications{several}; intervals at {level}, p-values corrected for {many}"
        wide = max(6, *(len(item.policy) for item in self.levels))
        yield f"{'policy':{wide}}  {'mean ± se':>20}  {'interquartile mean':>30}"
        for item in self.levels:
            middle = f"{item.iqm:.5g} [{item.lower:.5g}, {item.upper:.5g}]"
            least = ">= " if item.certified else ""
            yield f"{item.policy:{wide}}  {f'{least}{item.mean:.5g} ± {item.se:.2g}':>20}  {middle:>30}"
        gave_up = gave_up_sentence({item.policy: item.certified for item in self.levels})
        if gave_up:
            yield gave_up.strip()
        if not self.pairs:
            return
        names = [f"{pair.first} - {pair.second}" for pair in self.pairs]
        wide = max(map(len, names))
        yield f"{'pair':{wide}}  {'difference ± se':>20}  {'interval':>26}  {'p':>8}"
        for name, pair in zip(names, self.pairs, strict=True):
            interval = f"[{pair.lower:.5g}, {pair.upper:.5g}]"
            open_ = "" if pair.decided else "  undecided"
            yield f"{name:{wide}}  {f'{pair.difference:+.5g} ± {pair.se:.2g}':>20}  {interval:>26}  {pair.p:8.2g}{open_}"
        needed = 1 + math.ceil(math.log2(len(self.pairs) / self.alpha))
        if self.replications < needed:
            yield f"{self.replications} replications cannot decide between {many} at alpha = {self.alpha:g}; {needed} can."


def compared_pairs(
    cost: Mapping[str, np.ndarray], what: str, *, problems: int = 1, alpha: float = 0.05, draws: int = DRAWS, seed: int = 0,
    certified: Mapping[str, str] = MappingProxyType({}),
) -> PairedComparison:  # fmt: skip
    """The comparison of cost[name] (replications,), in units of what, that `Result.compare` and `Identification.compare` return.

    certified: of policies of which runs gave up how many did not, in words.
    """
    alpha = checks.real("alpha", alpha, above=0, below=1)
    draws = checks.integer("draws", draws, least=100, most=MOST_DRAWS)
    seed = checks.seed(seed)
    names = sorted(cost, key=lambda name: float(cost[name].mean()))
    table = np.stack([np.asarray(cost[name], dtype=np.float64) for name in names])
    m, n = table.shape
    if n < 2:
        raise ValueError(f"replications = {n} show no differences between policies; compare needs at least 2, better 20.")
    pairs = list(itertools.combinations(range(m), 2))
    apart = np.array([table[i] - table[j] for i, j in pairs]).reshape(len(pairs), n)
    se = standard_error(apart.T)
    rng = np.random.default_rng(seed)
    middles, drawn, reach = _bootstrap(table, apart, draws, rng)
    chances = np.maximum(_of_signs(apart, draws, rng), _of_bootstrap(apart.mean(axis=1), se, drawn))
    tails = [100.0 * alpha / 2.0, 100.0 - 100.0 * alpha / 2.0]
    identity = np.ones(n)
    levels = []
    for j, name in enumerate(names):
        low, high = np.percentile(middles[j], tails).tolist()
        values = np.sort(table[j])
        levels.append(
            Level(
                name,
                float(values.mean()),
                float(standard_error(table[j])),
                float(interquartile_weights(identity) @ values),
                low,
                high,
                certified.get(name, ""),
            )
        )
    least = float(special.stdtrit(n - 1, 1.0 - alpha / 2.0))  # the bootstrap alone is too short for heavy tails on both sides
    low, high = np.percentile(reach, tails, axis=1, method="closest_observation")
    low, high = np.minimum(low, -least), np.maximum(high, least)
    room = np.ptp(apart, axis=1) * (0.0 if n >= INSIDE else 1.0) if n >= 4 else np.full(len(apart), np.inf)
    comparisons = []
    for k, ((i, j), p) in enumerate(zip(pairs, holm(chances).tolist(), strict=True)):
        difference, error = float(apart[k].mean()), float(se[k])
        ends = difference, difference
        if error > 0.0:
            ends = (
                max(difference - float(high[k]) * error, float(apart[k].min() - room[k])),
                min(difference - float(low[k]) * error, float(apart[k].max() + room[k])),
            )
        comparisons.append(Pair(names[i], names[j], difference, error, *ends, p, decided=p <= alpha))
    ratios, profile = _profile(table, problems)
    return PairedComparison(what, n, min(problems, n), alpha, levels, comparisons, ratios, dict(zip(names, profile, strict=True)))


def _of_signs(apart: np.ndarray, draws: int, rng: np.random.Generator) -> np.ndarray:
    """Two-sided p-values (pairs,): the share of signs of the differences (pairs, n) under which their sum is at least as far from 0.

    Of all signs where these are at most `draws`, of drawn ones and the observed ones otherwise. The observed mean against its standard
    error would give the same order. O(pairs draws n).
    """
    n = apart.shape[1]
    least = np.abs(apart.sum(axis=1)) - ROUNDING * np.abs(apart).sum(axis=1)
    every = 2 ** (n - 1) <= draws  # the first sign may stay: all others turned is the same distance
    count, size = 2 ** (n - 1) if every else draws, max(1, CELLS // n)
    as_far = np.zeros(len(apart), dtype=np.int64)
    for first in range(0, count, size):
        last = min(first + size, count)
        turned = np.arange(first, last)[:, None] >> np.arange(n) & 1 if every else rng.integers(0, 2, size=(last - first, n))
        as_far += (np.abs(apart @ (1.0 - 2.0 * turned).T) >= least[:, None]).sum(axis=1)
    return as_far / count if every else (as_far + 1) / (count + 1)


def _of_bootstrap(means: np.ndarray, se: np.ndarray, drawn: np.ndarray) -> np.ndarray:
    """Two-sided p-values (pairs,): twice the rarer side of the means over their standard errors among those that were drawn."""
    with np.errstate(divide="ignore", invalid="ignore"):
        statistic = np.where(se > 0.0, means / se, np.where(means == 0.0, 0.0, np.copysign(np.inf, means)))[:, None]
    above, below = (drawn >= statistic).sum(axis=1), (drawn <= statistic).sum(axis=1)
    return np.minimum(2.0 * (1 + np.minimum(above, below)) / (drawn.shape[1] + 1), 1.0)


def _bootstrap(table: np.ndarray, apart: np.ndarray, draws: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Replications drawn with replacement, the same for all policies: interquartile means of the costs (m, n), as (m, draws), and how many
    of its standard errors the mean of the differences (pairs, n) is from the observed mean, as (pairs, draws); and that of errors which are
    no less than LEAST_SPREAD times the observed one."""
    m, n = table.shape
    order = np.argsort(table, axis=1, kind="stable")
    rising = np.take_along_axis(table, order, axis=1)
    middles, distances, reach = np.empty((m, draws)), np.empty((len(apart), draws)), np.empty((len(apart), draws))
    centred = apart - apart.mean(axis=1, keepdims=True)
    nothing = ROUNDING * np.square(centred).mean(axis=1, keepdims=True)  # a variance that is rounding: one replication was drawn n times
    size = max(1, CELLS // n)
    for first in range(0, draws, size):
        last = min(first + size, draws)
        drawn = rng.integers(0, n, size=(last - first, n)) + n * np.arange(last - first)[:, None]
        counts = np.bincount(drawn.reshape(-1), minlength=(last - first) * n).reshape(-1, n)
        for j in range(m):
            middles[j, first:last] = interquartile_weights(counts[:, order[j]]) @ rising[j]
        mean, square = centred @ (counts.T / n), np.square(centred) @ (counts.T / n)
        variance = square - mean**2
        variance[variance <= nothing] = 0.0
        with np.errstate(divide="ignore", invalid="ignore"):
            distances[:, first:last] = np.nan_to_num(mean / np.sqrt(variance / (n - 1)), nan=0.0, posinf=np.inf, neginf=-np.inf)
            spread = np.maximum(variance, LEAST_SPREAD**2 * np.square(centred).mean(axis=1, keepdims=True) if n >= 4 else 0.0)
            reach[:, first:last] = np.nan_to_num(mean / np.sqrt(spread / (n - 1)), nan=0.0, posinf=np.inf, neginf=-np.inf)
    return middles, distances, reach


def _profile(table: np.ndarray, problems: int) -> tuple[np.ndarray, np.ndarray]:
    """Ratios of mean cost to the lowest on a problem at which shares change, and (m, ratios) shares of problems within them."""
    m, n = table.shape
    by_problem = np.stack([table[:, place::problems].mean(axis=1) for place in range(min(problems, n))], axis=1)
    least = by_problem.min(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.where(by_problem == least, 1.0, by_problem / least)
    ratio[(by_problem > least) & (least <= 0.0)] = np.inf
    ratios = np.unique(np.append(ratio[np.isfinite(ratio)], 1.0))
    return ratios, (ratio[:, :, None] <= ratios).mean(axis=1).reshape(m, -1)
