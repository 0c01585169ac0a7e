"""One round as the session sees it: what a request says of features, candidates, eligible arms and
the round's baseline."""

import math
from collections.abc import Collection, Mapping
from typing import Any, NamedTuple

import numpy as np

from tightrope.extend import Context

from .errors import Refused
from .extras import JsonObject


class Round(NamedTuple):
    """context: features, a row for every arm or one for all, and the round's baseline, if the
    request has any. eligible: (K,) bool; None: all arms. names: ids of candidates, where every
    decision brings its own."""

    context: Context | None
    eligible: np.ndarray | None
    names: list[str] | None


EMPTY = Round(None, None, None)  # of a request that says nothing


def read_round(
    question: JsonObject, arms: Mapping[str, int], catalogue: bool, experiment: str
) -> Round:
    """The round of a request. arms: numbers by id. catalogue: every decision brings its own
    candidates. Raises Refused."""
    features, names, missing = question.get("context"), None, None
    numbers, count = arms, len(arms)
    if catalogue:
        if is_one_row(features):
            raise Refused(
                422,
                f"context is one row, but every decision of experiment {experiment!r} brings its "
                "own candidates; send a row for each of them, by id: {id: [..], ..}.",
                "context",
            )
        if isinstance(features, dict):
            names, features = list(features), list(features.values())
            numbers = {name: k for k, name in enumerate(names)}
        count = 0 if features is None else len(features)
    elif isinstance(features, dict):
        for name in features:
            arm_number("context", name, numbers, experiment)
        missing = np.array([name not in features for name in numbers])
        zeros = [0.0] * len(next(iter(features.values())))
        features = [features.get(name, zeros) for name in numbers]
    eligible = None
    if "eligible" in question:
        eligible = np.zeros(count, dtype=np.bool_)
        eligible[
            [arm_number("eligible", name, numbers, experiment) for name in question["eligible"]]
        ] = True
    for name in question.get("excluded", ()):
        eligible = np.ones(count, dtype=np.bool_) if eligible is None else eligible
        eligible[arm_number("excluded", name, numbers, experiment)] = False
    if missing is not None and missing.any():
        eligible = ~missing if eligible is None else eligible & ~missing
    if eligible is not None and not eligible.any():
        raise Refused(
            422,
            "eligible has no arm left; name one that is neither excluded nor without features.",
            "eligible",
        )
    context = None
    if features is not None or "baseline" in question or "baseline_mean" in question:
        context = Context(
            features,  # type: ignore[arg-type]
            None,
            arm_number("baseline", question["baseline"], numbers, experiment)
            if "baseline" in question
            else None,
            question.get("baseline_mean"),
        )
    return Round(context, eligible, names)


def baselines_of(question: JsonObject, baseline: str | list[str] | None) -> tuple[str, ...]:
    """The arms of a round's baseline: those that it says itself, else the experiment's; none where
    there is none."""
    named = question.get("baseline", baseline)
    return () if named is None else (named,) if isinstance(named, str) else tuple(named)


def lacks_baseline(
    question: JsonObject, baseline: str | list[str] | None, retired: Collection[str]
) -> bool:
    """Whether a part of the round's baseline could not be played. retired: arms that nothing plays
    for now."""
    eligible, excluded = question.get("eligible"), question.get("excluded", ())
    context = question.get("context")
    rows = context if isinstance(context, dict) else {}  # by the id of their arm, or one by name
    by_id = isinstance(next(iter(rows.values()), None), list | dict)
    return any(
        arm in retired
        or arm in excluded
        or (eligible is not None and arm not in eligible)
        or (by_id and arm not in rows)
        for arm in baselines_of(question, baseline)
    )


def longest_row(context: Any) -> float:
    rows = (
        context.values()
        if isinstance(context, dict)
        else [context]
        if is_one_row(context)
        else context
    )
    return max((math.hypot(*row) for row in rows), default=0.0)


def is_one_row(features: object) -> bool:
    return isinstance(features, list) and not isinstance(features[0], list)


def arm_number(field: str, arm: str, numbers: Mapping[str, int], experiment: str) -> int:
    """The number of an arm, or of a decision's candidate. field: of the request, for the sentence
    of the refusal."""
    if arm not in numbers:
        raise Refused(
            422, f"{field} = {arm!r} is not the id of an arm of experiment {experiment!r}.", field
        )
    return numbers[arm]
