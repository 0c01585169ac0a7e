"""Whether the numbers of a saved state are of the kinds that the state declares, so that compiled
kernels, which check no index, can go on with a file from a stranger."""

from typing import Any

import numpy as np

from ..core.fields import Kind, Limit, Record, StateOf, kind_of
from ..core.policy import Policy, is_policy, label
from ..core.types import State
from ..core.verbs import Arms, reward_range

ANY = Kind()
ROUNDING = 1e-9  # relative, of sums of rewards


def policy_of(state: State, name: str, policy: Policy) -> Policy:
    """The policy whose state a field holds: the one inside that it declares, else the one
    around."""
    kind = kind_of(type(state), name)
    if not isinstance(kind, StateOf):
        return policy
    inner = getattr(policy, kind.parameter, None)
    if not is_policy(inner):
        raise ValueError(
            f"{name} is declared as the state of {label(policy)}'s {kind.parameter!r}, which is "
            "no policy inside it."
        )
    return inner


def check_array(
    state: State,
    name: str,
    path: str,
    value: np.ndarray,
    template: np.ndarray,
    policy: Policy,
    arms: Arms,
) -> None:
    kind = kind_of(type(state), name)
    if not value.dtype.names:
        if isinstance(kind, Record):
            raise ValueError(
                f"{path} is declared as a Record, but is {value.dtype} and has no parts."
            )
        _check(path, value, template, kind, policy, arms)
        return
    for part in value.dtype.names:
        own = kind.kinds.get(part) if isinstance(kind, Record) else kind
        _check(f"{path}.{part}", value[part], template[part], own, policy, arms)


def check_rewards(state: State, prefix: str, policy: Policy) -> None:
    """Refuse sums of rewards that so many rewards of the policy's range cannot have."""
    for name in state._fields:
        kind = kind_of(type(state), name)
        if not isinstance(kind, Kind) or not kind.rewards:
            continue
        sums: np.ndarray = getattr(state, name)
        pulls: Any = getattr(state, kind.rewards, None)
        if np.shape(pulls) != np.shape(sums):
            raise ValueError(
                f"{prefix}.{name} is declared as sums of rewards, but no field {kind.rewards} of "
                "its shape counts them."
            )
        low, high = reward_range(policy)
        slack = ROUNDING * (1.0 + pulls)
        least, most = (
            (low - high, high - low) if getattr(state, "intercept", False) else (low, high)
        )  # rewards are kept less the first
        with np.errstate(invalid="ignore"):
            below, above = (
                np.where(pulls > 0, least * pulls, 0.0),
                np.where(pulls > 0, most * pulls, 0.0),
            )
        if not ((sums >= below - slack) & (sums <= above + slack)).all():
            raise ValueError(
                f"{prefix}.{name} is outside what the policy's rewards, from {low:g} to {high:g}, "
                "can add up to."
            )


def _check(
    path: str, value: np.ndarray, template: np.ndarray, declared: object, policy: Policy, arms: Arms
) -> None:
    kind = declared if isinstance(declared, Kind) else ANY
    if (
        value.dtype.kind == "b"
        and value.size
        and np.ascontiguousarray(value).view(np.uint8).max() > 1
    ):
        raise ValueError(f"{path} holds a byte that is neither True nor False.")
    if kind.derived and not np.array_equal(value, template, equal_nan=value.dtype.kind == "f"):
        raise ValueError(f"{path} is not what these arms give.")
    if kind.finite and not np.isfinite(value).all():
        raise ValueError(f"{path} holds a number that is not finite.")
    low, high = _limit(path, kind.least, policy, arms), _limit(path, kind.most, policy, arms)
    if low == 0.0 and high == np.inf and (value < 0).any():
        raise ValueError(f"{path} holds a negative {kind.noun}.")
    if (low > -np.inf or high < np.inf) and not ((value >= low) & (value <= high)).all():
        raise ValueError(f"{path} holds a {kind.noun} outside [{low:g}, {high:g}].")
    if kind.whole and not (value == np.floor(value)).all():
        raise ValueError(f"{path} holds a {kind.noun} that is not whole.")
    if kind.once and not np.array_equal(np.sort(value, axis=None), np.arange(value.size)):
        raise ValueError(f"{path} does not hold every arm once.")


def _limit(path: str, limit: Limit, policy: Policy, arms: Arms) -> float:
    if not callable(limit):
        return limit
    try:
        return float(limit(policy, arms))
    except AttributeError as error:
        raise ValueError(
            f"{path} cannot be checked for {label(policy)}: {error}. The state of a policy inside "
            "another is declared as Annotated[Any, StateOf('inner')], with the name of the "
            "parameter that holds it."
        ) from None
