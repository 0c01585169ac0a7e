"""How steep measured means are: the least Lipschitz constant that they allow, and what their noise leaves open."""

from statistics import NormalDist
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ..core import checks


class LeastLipschitz(NamedTuple):
    """value: the least constant that holds for the means as given, between arms `pair`. lower, upper: with probability 1 - alpha the
    least constant of the true means is between them; both are `value` where no standard errors were given."""

    value: float
    lower: float
    upper: float
    pair: tuple[int, int]


def least_lipschitz(
    points: ArrayLike, means: ArrayLike, standard_errors: ArrayLike | None = None, *, alpha: float = 0.05
) -> LeastLipschitz:  # fmt: skip
    """The least L with |means[i] - means[j]| <= L |points[i] - points[j]| for all arms, from a past test.

    points: (K,) increasing or (K, p). means: (K,). standard_errors: (K,) of the means, >= 0: noise makes measured means steeper than
    they are, so that `value` is too large on average. alpha: error of the bounds, in (0, 1), shared by all pairs (Bonferroni); they take
    the means as independent and normal. Arms between the points may be steeper; only knowledge of the market says so. O(K^2).
    Raises ValueError on bad arguments and for fewer than two arms.
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
