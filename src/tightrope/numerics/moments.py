"""Number, mean and spread of every arm's rewards, for policies that learn each arm's noise.

Means are kept less the first reward of all, and spreads as roots of sums of squares that are added up without being squared: nothing
cancels where rewards are large beside their noise, and nothing overflows or vanishes whatever their unit.
"""

import math
from typing import NamedTuple

import numpy as np

from ..compiled.kernels import lean
from ..core.kinds import Count, Finite, NonNegative


class Moments(NamedTuple):
    pulls: Count  # (K,) rewards, by their weights
    mean: Finite  # (K,) less the origin
    spread: NonNegative  # (K,) root of the sum of squared deviations from the mean, by their weights
    taken: Count  # (K,) rewards, however old
    origin: Finite  # (1,) the first reward of all


def new_moments(count: int) -> Moments:
    return Moments(np.zeros(count), np.zeros(count), np.zeros(count), np.zeros(count), np.zeros(1))


@lean
def hypotenuse(a, b):
    """sqrt(a^2 + b^2) for a, b >= 0, without squares of large or small numbers, and the same in compiled code and outside."""
    longer, shorter = (a, b) if a > b else (b, a)
    if shorter == 0.0:
        return longer
    share = shorter / longer
    return longer * math.sqrt(1.0 + share * share)


@lean
def note_reward(moments, arm, reward, forget):
    """Count a reward of an arm; what all arms had so far counts `forget` times as much. O(1), or O(K) where it forgets."""
    pulls, spread, K = moments.pulls, moments.spread, moments.pulls.shape[0]
    first = True
    for k in range(K):
        if moments.taken[k] > 0.0:
            first = False
            break
    if first:
        moments.origin[0] = reward
    if forget < 1.0:
        root = math.sqrt(forget)
        for k in range(K):
            pulls[k] *= forget
            spread[k] *= root
    before = pulls[arm]
    pulls[arm] = before + 1.0
    moments.taken[arm] += 1.0
    away = reward - moments.origin[0] - moments.mean[arm]
    if before == 0.0:
        moments.mean[arm] += away
    else:
        moments.mean[arm] += away / pulls[arm]
        spread[arm] = hypotenuse(spread[arm], abs(away) * math.sqrt(before / pulls[arm]))


@lean
def common_deviation(moments):
    """The standard deviation of a reward of an arm at random; 1 while all are equal, since every scale gives the same decisions. O(K).

    Arms count the same, however often they are played, so that it does not fade while one of them is.
    """
    arms, centre, root = 0.0, 0.0, 0.0
    for k in range(moments.pulls.shape[0]):
        if moments.pulls[k] > 0.0:
            arms += 1.0
            centre += (moments.mean[k] - centre) / arms
    for k in range(moments.pulls.shape[0]):
        if moments.pulls[k] > 0.0:
            root = hypotenuse(root, moments.spread[k] / math.sqrt(moments.pulls[k]))
            root = hypotenuse(root, abs(moments.mean[k] - centre))
    return root / math.sqrt(arms) if root > 0.0 else 1.0
