"""Which policy fits which arms."""

from .policy import Policy, accepts
from .rounds import Arms
from .verbs import reward_range

LARGEST_REWARD = 1e100  # that a regression takes in, so that squares of sums are numbers; rewards without bounds are no larger
ORDERS = ("on arrival", "in order")  # of decisions: when rewards are learned that come late


def offers(arms: Arms) -> tuple[str, ...]:
    if arms.oracle is not None:
        return ("sets",) if arms.dimension and arms.features is None else ("sets", "sets of lasting arms")
    if arms.distances is not None:
        return ("points", "line", "arms") if arms.points is not None and arms.points.ndim == 1 else ("points", "arms")
    if arms.features is not None:
        return ("features", "arms")
    return ("contexts",) if arms.dimension else ("arms",)


def takes_rewards(policy: Policy, arms: Arms) -> bool:
    """Whether all rewards that these arms pay are in the policy's range."""
    low, high = reward_range(policy)
    return arms.rewards is None or (max(arms.rewards[0], -LARGEST_REWARD) >= low and min(arms.rewards[1], LARGEST_REWARD) <= high)


def check_fit(policy: Policy, arms: Arms) -> None:
    """Refuse a policy on arms it cannot play."""
    if not takes_rewards(policy, arms):
        low, high = reward_range(policy)
        raise ValueError(f"{policy!r} takes rewards in [{low:g}, {high:g}], but this problem pays rewards in {arms.rewards}.")
    fits, kinds = offers(arms), accepts(policy)
    if not set(fits) & set(kinds):
        raise ValueError(f"{type(policy).__name__} plays {' or '.join(kinds)}, but these arms offer {' or '.join(fits)}.")


def check_question(policy: Policy, arms: Arms) -> None:
    """Refuse to look for the best of fewer than two arms."""
    if arms.number < 2:
        name = type(policy).__name__
        raise ValueError(
            f"arms has {arms.number} row, but {name} needs at least 2 to choose from; a single arm is the best without a sample."
        )
