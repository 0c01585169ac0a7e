"""How steep measured means are: the least Lipschitz constant that they allow, and what their noise leaves open."""

from __future__ import annotations

from statistics import NormalDist
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ..core import checks


class LeastLipschitz(NamedTuple):
    """The answer of `least_lipschitz`.

    Attributes
    ----------
    value : float
        The least constant that holds for the means as given, in units of reward per unit of distance.
    lower, upper : float
        With probability 1 - alpha the least constant of the true means is between them; both are `value` without standard errors.
    pair : (int, int)
        The arms between which the means are steepest.
    """

    value: float
    lower: float
    upper: float
    pair: tuple[int, int]


def least_lipschitz(
    points: ArrayLike, means: ArrayLike, standard_errors: ArrayLike | None = None, *, alpha: float = 0.05
) -> LeastLipschitz:  # fmt: skip
    """The least L with `|means[i] - means[j]| <= L |points[i] - points[j]|` for all arms, from a past test. O(K^2).

    Arms between the points may be steeper; only knowledge of the market says so.

    Parameters
    ----------
    points : (K,) increasing or (K, p) array
        Positions of the arms, K >= 2.
    means : (K,) array
        Their measured means.
    standard_errors : (K,) array >= 0
        Of the means: noise makes measured means steeper than they are, so that `value` is too large on average. Default 0.
    alpha : float in (0, 1)
        Error of the bounds, shared by all pairs (Bonferroni); they take the means as independent and normal.

    Returns
    -------
    LeastLipschitz

    Raises
    ------
    ValueError
        Where an argument is out of its range, two arms are at one place, or there are fewer than two.

    Examples
    --------
    >>> import tightrope as tr
    >>> tr.least_lipschitz([0.0, 0.5, 1.0], [0.25, 0.5, 0.375]).value
    0.5
    """
    metric = checks.metric(points, None)[1]
    K = metric.shape[0]
    theta = checks.vector("means", means, length=K, source="the number of points")
    if K < 2:
        raise ValueError("points has one entry; a slope needs two or more arms.")
    errors = np.zeros(K) if standard_errors is None else checks.vector("standard_errors", standard_errors, length=K, least=0.0)
    level = checks.real("alpha", alpha, above=0.0, below=1.0)
    i, j = np.triu_indices(K, 1)
    rise, length = np.abs(theta[i] - theta[j]), metric[i, j]
    if (length == 0.0).any():
        raise ValueError("points has the same place twice; give every arm its own, or merge them.")
    wide = NormalDist().inv_cdf(1.0 - level / (2 * i.size)) * np.hypot(errors[i], errors[j])
    steepest = int(np.argmax(rise / length))
    lower, upper = float((np.maximum(rise - wide, 0.0) / length).max()), float(((rise + wide) / length).max())
    value = float(rise[steepest] / length[steepest])
    return LeastLipschitz(value, lower, upper, (int(i[steepest]), int(j[steepest])))
