"""Yahoo! Front Page R6A as a linear problem, for users who have the log (Webscope agreement; it cannot be downloaded here).

A line is "time shown-article click |user 1:a .. 6:f |article 1:a .. 6:f |..": one visit, the article shown at random, whether it was
clicked, and six features of the user and of every candidate. An arm is a pair of a user and an article; its 36 features are the
Kronecker product of the article's and the user's. As in Xu, Honda, Sugiyama 2018, Appendix A: ridge regression of +1 (click) and
-1 (none) on those features gives theta, arms are drawn from the log, rewards are +1 or -1 with mean x'theta.
"""

import gzip
import os
import pathlib
from collections.abc import Iterator

import numpy as np

from ...core import checks
from ...core.registry import recipe
from ..linear import Linear
from .find import DataNotFound, find, folders

NAMES = ("yahoo/ydata-fp-td-clicks-v1_0.20090501.gz", "yahoo/ydata-fp-td-clicks-v1_0.20090501", "yahoo/r6a.gz", "yahoo/r6a.txt")
SIDE = 6
CANDIDATES = 10_000  # visits kept to draw arms from
TRIES = 10_000


@recipe("yahoo")
def yahoo(
    arms: int = 20, *, least_gap: float = 0.01, lam: float = 0.01, seed: int = 0, limit: int | None = None,
    data: str | os.PathLike[str] | None = None,
) -> Linear:  # fmt: skip
    """A `Linear` problem with rewards of +1 and -1 whose arms and theta come from the log of Yahoo's front page.

    Parameters
    ----------
    arms : int >= 2
        K, drawn among the visits until the best arm leads by least_gap and all means lie in [-1, 1]. Default 20.
    least_gap : float >= 0
        Lead of the best arm in units of reward, default 0.01.
    lam : float > 0
        Ridge parameter of the regression, default 0.01.
    seed : int >= 0
        Of the draw of arms, default 0.
    limit : int >= 1
        Read only so many visits; default all.
    data : str or Path
        The log or its folder; then $TIGHTROPE_DATA, ./data and the user's cache.

    Returns
    -------
    Linear

    Raises
    ------
    DataNotFound
        Where there is no log.
    ValueError
        Where no such arms are found.
    """
    count = checks.integer("arms", arms, least=2)
    least = checks.real("least_gap", least_gap, least=0)
    ridge = checks.real("lam", lam, above=0)
    most = None if limit is None else checks.integer("limit", limit, least=1)
    path = find(NAMES, data)
    if path is None:
        searched = ", ".join(str(folder) for folder in folders(data))
        raise DataNotFound(f"Yahoo! R6A is not in {searched}; ask Yahoo! Webscope for it and set TIGHTROPE_DATA to its folder.")
    draw = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(SIDE,)))
    A, b = ridge * np.eye(SIDE * SIDE), np.zeros(SIDE * SIDE)
    kept: list[np.ndarray] = []
    for n, (x, clicked) in enumerate(visits(path)):
        if n == most:
            break
        A += np.outer(x, x)
        b += x if clicked else -x
        if len(kept) < CANDIDATES:
            kept.append(x)
        elif (place := int(draw.integers(0, n + 1))) < CANDIDATES:
            kept[place] = x
    if len(kept) < count:
        raise ValueError(f"{path} has {len(kept)} complete visits, but arms = {count} needs at least as many.")
    theta, candidates = np.linalg.solve(A, b), np.unique(np.array(kept), axis=0)
    for _ in range(TRIES):
        if len(candidates) < count:
            break
        X = candidates[draw.choice(len(candidates), size=count, replace=False)]
        means = np.sort(X @ theta)
        if np.abs(means).max() <= 1.0 and means[-1] - means[-2] >= least:
            return Linear(X, theta, rewards="sign")
    raise ValueError(f"least_gap = {least:g} is wider than what {TRIES} draws of {count} distinct arms from {path} offer; lower it.")


def visits(path: str | os.PathLike[str]) -> Iterator[tuple[np.ndarray, bool]]:
    """(features (36,), clicked) of every visit whose user and shown article have all six features."""
    source = pathlib.Path(path)
    with gzip.open(source, "rt") if source.suffix == ".gz" else source.open() as lines:
        for line in lines:
            head, *parts = line.split("|")
            fields = head.split()
            if len(fields) != 3:
                continue
            described = {tokens[0]: tokens[1:] for part in parts if (tokens := part.split())}
            user, article = _vector(described.get("user")), _vector(described.get(fields[1]))
            if user is not None and article is not None:
                yield np.kron(article, user), fields[2] == "1"


def _vector(tokens: list[str] | None) -> np.ndarray | None:
    if tokens is None or len(tokens) != SIDE:
        return None
    vector = np.zeros(SIDE)
    for token in tokens:
        place, _, value = token.partition(":")
        vector[int(place) - 1] = float(value)
    return vector
