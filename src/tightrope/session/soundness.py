"""What the numbers of a saved state may be, so that compiled kernels, which check no index, can go on with a file from a stranger.

Every whole number of a state is, or may be used as, a place in an array: PLACES says for each in which range it lies, by class and
field. Learned sums must be finite, counts not negative, and what `init` derives from the arms alone as it derives it.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from ..core.policy import Policy
from ..core.verbs import Arms, reward_range

FINITE = {
    "features", "transposed", "columns", "points", "pulls", "sums", "rounds", "seen", "response", "theta", "updates", "solves", "log_det",
    "arm_pulls", "arm_sums", "reach", "entropy", "own", "open", "played", "owed", "awaited", "explored", "conserved", "closed",
}  # fmt: skip
COUNTS = {"pulls", "rounds", "seen", "updates", "solves", "arm_pulls", "reach", "own", "open", "explored", "conserved", "closed"}
ESTIMATES = {"mean", "square", "inverse", "product", "design", "factor"}  # finite where kernels raise otherwise:
CERTAIN = {"ArmRidge", "FeatureRidge", "ContextRidge", "DisjointRidge", "FadingRidge", "BatchRidge", "Pool"}
ROUNDING = 1e-9  # relative, of sums of rewards
DERIVED = {"ArmRidge.features", "FeatureRidge.features", "FeatureRidge.transposed", "Pool.near", "Pool.level", "State.points",
           "State.first", "State.last", "State.depth"}  # fmt: skip

Range = Callable[[Policy, Arms], tuple[float, float]]


def _arm(policy: Policy, arms: Arms) -> tuple[float, float]:
    return 0, arms.number - 1


def _arm_or_none(policy: Policy, arms: Arms) -> tuple[float, float]:
    return -1, arms.number - 1


def _pair_or_none(policy: Policy, arms: Arms) -> tuple[float, float]:
    return -1, arms.number * (arms.number - 1) // 2


def _row_or_none(policy: Policy, arms: Arms) -> tuple[float, float]:
    return -1, arms.number + arms.dimension


def _row(policy: Policy, arms: Arms) -> tuple[float, float]:
    return 0, 2 * arms.number + 2


def _clock(policy: Policy, arms: Arms) -> tuple[float, float]:
    return 0, 2**62


def _checkpoint(policy: Any, arms: Arms) -> tuple[float, float]:
    return 0, policy.checkpoint.size


def _event(policy: Policy, arms: Arms) -> tuple[float, float]:
    return 0, 3


PLACES: dict[str, Range] = {
    "Pool.order": _arm, "Pool.place": _arm, "Pool.witness": _arm, "Pool.proved": _arm_or_none, "Pool.stamp": _clock, "Pool.clock": _clock,
    "Pool.near": _arm, "Pool.level": _clock, "State.first": _arm, "State.last": _row, "State.depth": _clock,
    "Work.arms": _arm, "Work.rows": _row, "Work.columns": _row,
    "GapRidge.progress.leader": _arm, "PairRidge.progress.leader": _arm, "State.answer.leader": _arm, "State.answer.challenger": _arm,
    "Ratio.pairs": _pair_or_none, "Tableau.basis": _row_or_none, "MatrixGame.rows": _row, "MatrixGame.columns": _row,
}  # fmt: skip
for _state in ("Independent", "Linear"):
    PLACES |= {
        f"{_state}.ledger.place": _checkpoint, f"{_state}.ledger.choice": _arm_or_none,
        f"{_state}.ledger.stale": _arm_or_none, f"{_state}.ledger.event": _event,
    }  # fmt: skip


def check_rewards(path: str, pulls: np.ndarray, sums: np.ndarray, policy: Policy) -> None:
    """Refuse sums of rewards that so many rewards of the policy's range cannot have."""
    low, high = reward_range(policy)
    slack = ROUNDING * (1.0 + pulls)
    with np.errstate(invalid="ignore"):
        below, above = np.where(pulls > 0, low * pulls, 0.0), np.where(pulls > 0, high * pulls, 0.0)
    if not ((sums >= below - slack) & (sums <= above + slack)).all():
        raise ValueError(f"{path} is outside what the policy's rewards, from {low:g} to {high:g}, can add up to.")


def check_array(owner: str, name: str, path: str, value: np.ndarray, template: np.ndarray, policy: Policy, arms: Arms) -> None:
    """Refuse an array of a state with a number that its kernels do not write."""
    if value.dtype.names:
        for part in value.dtype.names:
            _check(f"{owner}.{name}.{part}", part, f"{path}.{part}", value[part], template[part], owner, policy, arms)
    else:
        _check(f"{owner}.{name}", name, path, value, template, owner, policy, arms)
    if f"{owner}.{name}" == "Pool.order" and not np.array_equal(np.sort(value), np.arange(value.size)):
        raise ValueError(f"{path} does not hold every arm once.")


def _check(
    key: str, name: str, path: str, value: np.ndarray, template: np.ndarray, owner: str, policy: Policy, arms: Arms
) -> None:  # fmt: skip
    if value.dtype.kind == "b" and value.size and np.ascontiguousarray(value).view(np.uint8).max() > 1:
        raise ValueError(f"{path} holds a byte that is neither True nor False.")
    if key in DERIVED and not np.array_equal(value, template):
        raise ValueError(f"{path} is not what these arms give.")
    if key in PLACES:
        _check_range(path, value, PLACES[key](_guarded(policy), arms))
    if value.dtype.kind == "f":
        if (name in FINITE or (name in ESTIMATES and owner in CERTAIN)) and not np.isfinite(value).all():
            raise ValueError(f"{path} holds a number that is not finite.")
        if name in COUNTS and (value < 0).any():
            raise ValueError(f"{path} holds a negative count.")


def _guarded(policy: Any) -> Any:
    """The policy whose checkpoints a ledger counts; that of an inner policy where one stands around it."""
    while not hasattr(policy, "checkpoint") and hasattr(policy, "inner"):
        policy = policy.inner
    return policy


def _check_range(path: str, value: np.ndarray, span: tuple[float, float]) -> None:
    low, high = span
    if not ((value >= low) & (value <= high)).all():
        raise ValueError(f"{path} holds a number outside [{low:g}, {high:g}].")
