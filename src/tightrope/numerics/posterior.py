"""The chance that one arm has the largest of several random scores: what a Thompson policy's propensity is."""

import numpy as np
from scipy.special import ndtr


def chance_of_best(
    mean: np.ndarray, root: np.ndarray, eligible: np.ndarray | None, arm: int, rng: np.random.Generator, draws: int
) -> tuple[float, float]:
    """P(arm is the first largest eligible entry of N(mean, root root')), and its standard error.

    mean: (K,). root: (K, r). Each draw is split into a part along u, the direction in which the arm gains most on the others,
    and the rest. Given the rest the arm wins for an interval of the part along u, whose probability is known; averaging these
    probabilities has a smaller variance than counting wins, also where wins are rare. O(draws K r).
    """
    others = np.arange(mean.size) != arm
    if eligible is not None:
        if not eligible[arm]:
            return 0.0, 0.0
        others &= eligible
    rivals = np.flatnonzero(others)
    lead, gain = mean[arm] - mean[rivals], root[arm] - root[rivals]
    norms = np.sqrt(np.einsum("kr,kr->k", gain, gain))
    size = norms.max(initial=0.0)
    apart = norms > 1e-12 * max(size, 1.0) if size > 0.0 else np.zeros(rivals.size, dtype=np.bool_)
    level = rivals[~apart]  # never separated by a draw: the larger mean wins, ties go to the lowest index
    if ((lead[~apart] < 0.0) | ((lead[~apart] == 0.0) & (level < arm))).any():
        return 0.0, 0.0
    if not apart.any():
        return 1.0, 0.0
    lead, gain = lead[apart], gain[apart]
    near = lead / norms[apart]  # in standard deviations: rivals close behind, or ahead, decide
    direction = np.exp(near.min() - near) @ (gain / norms[apart, None])
    length = np.sqrt(direction @ direction)
    if length <= 1e-9:
        direction, length = gain[0], norms[apart][0]
    direction = direction / length
    slope = gain @ direction  # (m,) what a unit along u adds to the lead over each rival
    normal = rng.standard_normal((draws, root.shape[1]))
    normal -= np.outer(normal @ direction, direction)
    margin = normal @ gain.T
    margin += lead  # (draws, m) lead without the part along u
    rising, falling = slope > 1e-12, slope < -1e-12
    low, high = np.full(draws, -np.inf), np.full(draws, np.inf)
    if rising.any():
        low = (margin[:, rising] / -slope[rising]).max(axis=1)
    if falling.any():
        high = (margin[:, falling] / -slope[falling]).min(axis=1)
    share = np.maximum(ndtr(high) - ndtr(low), 0.0)
    flat = ~(rising | falling)
    if flat.any():
        share *= (margin[:, flat] >= 0.0).all(axis=1)
    p = float(share.mean())
    return p, float(np.sqrt(max(share.var() / (draws - 1), 0.0)))
