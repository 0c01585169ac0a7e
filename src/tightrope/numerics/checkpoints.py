"""Rounds at which something is verified, as `checks.checkpoints` encodes them: [-T] for every T-th round, or increasing rounds."""

from ..compiled.kernels import lean


@lean
def remaining(checkpoints, min_gap, place, t):
    """How many rounds after round t the next checkpoint comes, at the earliest.

    checkpoints: as `checks.checkpoints` encodes them; place: position of the first listed one >= t; min_gap: 0 if unknown.
    After the last listed checkpoint every round may be one.
    """
    period = -checkpoints[0]
    if min_gap > 0:
        last = 0
        if period > 1:
            last = ((t - 1) // period) * period
        elif period < 0 and place > 0:
            last = checkpoints[place - 1]
        return max(0, last + min_gap - t)
    if period > 0:
        return (period - t % period) % period
    return checkpoints[place] - t if place < checkpoints.shape[0] else 0


@lean
def is_checkpoint(checkpoints, place, t):
    if checkpoints[0] < 0:
        return t % -checkpoints[0] == 0
    return place < checkpoints.shape[0] and checkpoints[place] == t
