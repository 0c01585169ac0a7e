"""Ids of decisions, what text a file can hold, and how many draws."""

import numpy as np

from ..core import checks

AUTOMATIC = "#"  # how the ids begin that a session makes itself
MOST_ID = 10**18

Id = str | int
LOADED = "s"  # how the part of a branch begins that stands for a seed
MOST_BRANCH = 200  # characters
DIGEST = r"[0-9a-f]{24}"  # of a state
LEAST_DRAWS, MOST_DRAWS = 10, 10**8  # behind a probability
BRANCH = rf"({LOADED}?[0-9]+(\.{LOADED}?[0-9]+)*)?"


def checked_id(value: object) -> Id:
    """Text, or a whole number, that a file can hold."""
    if isinstance(value, str) and value:
        id = str(value)
        if not encodable(id):
            raise ValueError(
                f"id = {checks.show(value)} has characters that are no text (lone surrogates), "
                "which no file can hold."
            )
        return id
    try:
        if isinstance(value, (str, float, np.floating)):
            raise ValueError
        number = checks.integer("id", value)
    except ValueError:
        remedy = "; pass its id, decision.id" if hasattr(value, "propensity") else ""
        raise ValueError(
            f"id = {checks.show(value)} is not text or a whole number{remedy}."
        ) from None
    if abs(number) >= MOST_ID:
        raise ValueError(
            f"id has {len(str(number)) if abs(number) < 10**4000 else 'thousands of'} digits; a "
            "number has at most 18, else give text."
        )
    return number


def encodable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def refuse_automatic(id: Id) -> None:
    if isinstance(id, str) and id.startswith(AUTOMATIC):
        raise ValueError(
            f"id = {checks.show(id)} begins with {AUTOMATIC}, as the ids do that a session makes "
            "itself; choose another."
        )
