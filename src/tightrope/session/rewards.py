"""The answers to decisions of sets, and to decisions that have their answer already."""

from collections.abc import Callable, Mapping
from typing import NoReturn

from ..core import checks
from .decisions import Decision


def rewards_by_arm(
    decision: Decision, value: object, checked: Callable[[str, object], float]
) -> dict[int, float]:
    arms = decision.arm.tolist()
    if not isinstance(value, Mapping):
        values = checks.floats("reward", value).reshape(-1)
        if values.size != len(arms):
            raise ValueError(
                f"reward has {values.size} entries, but decision {decision.id!r} has {len(arms)} "
                "arms; for a part of them give {arm: reward}."
            )
        value = dict(zip(arms, values.tolist(), strict=True))
    by_name = dict(zip(decision.name, arms, strict=True))
    rewards: dict[int, float] = {}
    for key, number in value.items():
        arm = by_name.get(key) if isinstance(key, str) else checks.integer("arm", key)
        if arm is None or arm not in arms:
            raise ValueError(
                f"arm = {checks.show(key)} is not in decision {decision.id!r}, which has "
                f"{checks.show(decision.name)}."
            )
        rewards[arm] = checked(
            f"reward[{key}]" if type(key) is int else f"reward[{checks.show(key)}]", number
        )  # most are numbers
    return rewards


def check_equal(
    decision: Decision, answers: dict[int, float], rewards: dict[int, float], how: str
) -> None:
    """Refuse another reward for an arm that has one, and any for an arm of a decision that was
    closed without it."""
    for arm, value in rewards.items():
        if arm in answers and answers[arm] != value:
            raise ValueError(
                f"decision {decision.id!r} was {how} with {answers[arm]:g} for arm {arm}; a "
                "reward is given once."
            )
        if arm not in answers and how == "closed":
            refuse(decision, None, how)


def refuse(decision: Decision, answer: float | None, how: str) -> NoReturn:
    answer_text = "without a reward" if answer is None else f"with {answer:g}"
    raise ValueError(
        f"decision {decision.id!r} was {how} {answer_text}; a reward is given once, while the "
        "decision is open."
    )
