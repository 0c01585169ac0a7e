"""Sampling rules: which arm to pull next, and with what probability where ties are broken at random."""

import math

import numpy as np

from ...compiled.kernels import lean
from ...core.verbs import allowed
from ...numerics.selection import first_unpulled, one_hot

TIE = 1e-12  # relative: what rounding leaves of an exact tie
SUPPORT = 1e-9  # a smaller share of a design counts as zero


@lean
def fewest_pulls(pulls, eligible):
    """The eligible arm pulled least, ties to the lowest index. O(K)."""
    best = -1
    for k in range(pulls.shape[0]):
        if allowed(eligible, k) and (best < 0 or pulls[k] < pulls[best]):
            best = k
    return best


@lean
def furthest_behind(pulls, shares, eligible):
    """argmin pulls_a / shares_a over shares_a > 0; where none of them is eligible, the arm pulled least. O(K).

    Equal shares come out of a solver equal up to rounding only, which must not decide.
    """
    best, least, fallback = -1, math.inf, -1
    for a in range(pulls.shape[0]):
        if allowed(eligible, a):
            if fallback < 0 or pulls[a] < pulls[fallback]:
                fallback = a
            if shares[a] > SUPPORT and pulls[a] / shares[a] < least * (1.0 - TIE):
                best, least = a, pulls[a] / shares[a]
    return best if best >= 0 else fallback


@lean
def shrinking_arm(product, squares, among, eligible, rng):
    """argmin_a max_y y'(A + x_a x_a')^-1 y over the differences y of the arms in `among`; ties at random. O(K^3) at most.

    product: X A^-1 X'; squares: (K, K) squared widths of the differences. Many arms leave the widest difference as it is, and
    always taking the first of them would pull it for ever.
    """
    K = product.shape[0]
    best, least, ties = -1, math.inf, 0
    for a in range(K):
        if allowed(eligible, a):
            scale = 1.0 + product[a, a]
            worst = 0.0
            for i in range(K):
                if among[i]:
                    for j in range(i):
                        if among[j]:
                            c = product[a, i] - product[a, j]
                            worst = max(worst, squares[i, j] - c * c / scale)
                if worst > least * (1.0 + TIE):
                    break
            if best < 0 or worst < least * (1.0 - TIE):
                best, least, ties = a, worst, 1
            elif worst <= least * (1.0 + TIE):
                ties += 1
                if rng.random() * ties < 1.0:
                    best = a
    return best


@lean
def unpulled_or_shrinking(model, among, eligible, rng):
    """Each arm once, then `shrinking_arm`: the rule of XY-static and, among survivors, of XY-adaptive."""
    arm = first_unpulled(model.pulls, eligible) if model.progress[0]["unpulled"] > 0.0 else -1
    if arm < 0:
        arm = shrinking_arm(model.product, model.pair_square, among, eligible, rng)
    return arm


def shrinking_probability(model, among: np.ndarray, eligible: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
    """Index and probability of every arm under `unpulled_or_shrinking`: (K,), (K,).

    The index is minus what is left of the widest difference after one pull; while some arms are unpulled, minus the pulls.
    """
    if model.progress[0]["unpulled"] > 0.0:
        arm = first_unpulled(model.pulls, eligible)
        open_arms = np.ones(model.pulls.size, dtype=np.bool_) if eligible is None else eligible
        return -model.pulls, one_hot(arm, model.pulls.size) if arm >= 0 else _shared_equally(open_arms)
    left = _after_one_pull(model.product, model.pair_square, among)
    values = np.where(eligible, left, math.inf) if eligible is not None else left
    return -left, _shared_equally(values <= values.min() * (1.0 + TIE))


def _after_one_pull(product: np.ndarray, squares: np.ndarray, among: np.ndarray) -> np.ndarray:
    """max_y y'(A + x_a x_a')^-1 y for every arm a, as `shrinking_arm` compares them: (K,); 0 where no two arms are left."""
    i, j = np.nonzero(np.tril(np.outer(among, among), -1))
    if not i.size:
        return np.zeros(len(among))
    return np.asarray((squares[i, j] - (product[:, i] - product[:, j]) ** 2 / (1.0 + np.diag(product)[:, None])).max(axis=1))


def _shared_equally(tied: np.ndarray) -> np.ndarray:
    return tied / tied.sum() if tied.sum() > 1 else one_hot(int(np.argmax(tied)), tied.size)
