"""Logs as the dicts of the Open Bandit Pipeline, both ways. That library is not needed: a dict of arrays is all that is exchanged."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import ArrayLike

from ..core import checks
from .frame import from_frame
from .log import Log, whole


def from_obp(feedback: Mapping[str, ArrayLike], *, rewards: tuple[float, float] = (0.0, 1.0), floor: float | None = None) -> Log:
    """A log from the dict of the Open Bandit Pipeline.

    Parameters
    ----------
    feedback : dict
        n_actions, action (n,), reward (n,), pscore (n,), and where they are there position (n,), which becomes the slot, context (n, d),
        the features, pi_b (n, K, positions), of which pi_b[:, :, position] are the logger's probabilities, and eligible (n, K), which
        `to_obp` adds. Of slates (slate_id) pscore must be that of the arm in its slot, as pscore_item_position.
    rewards, floor
        As in `from_frame`.

    Returns
    -------
    Log

    Raises
    ------
    ValueError
        As `from_frame` does, and for what is no such dict.
    """
    if not isinstance(feedback, Mapping):
        raise ValueError(f"feedback = {checks.show(feedback)} is not a dict of arrays with action, reward and pscore, as obp makes it.")
    missing = [name for name in ("action", "reward", "pscore") if feedback.get(name) is None]
    if missing:
        raise ValueError(f"feedback has no {missing[0]!r}; it needs action, reward and pscore.")
    own = feedback.get("pscore_item_position")
    if feedback.get("slate_id") is not None and (own is None or not np.array_equal(np.asarray(feedback["pscore"]), np.asarray(own))):
        remedy = (
            "feedback | {'pscore': feedback['pscore_item_position']}" if own is not None else "it as pscore_item_position and as pscore"
        )
        raise ValueError(
            "feedback has 'slate_id', so its pscore is the probability of a whole slate, but every row needs that of its arm in its slot; "
            f"give {remedy}."
        )
    position = feedback.get("position")
    table: dict[str, ArrayLike] = {"arm": feedback["action"], "reward": feedback["reward"], "propensity": feedback["pscore"]}
    if position is not None:
        table["slot"] = np.asarray(position)
    probabilities = None if feedback.get("pi_b") is None else _of_positions(checks.floats("pi_b", feedback["pi_b"]), position)
    context = feedback.get("context")
    features = None if context is None else checks.floats("context", context)
    K = feedback.get("n_actions", feedback.get("n_unique_action"))
    if K is None and probabilities is None:  # an action is a number from 0, also where some were never played
        K = int(np.max(checks.floats("action", table["arm"]), initial=0.0)) + 1
    slot = "slot" if position is not None else None
    arms = None if K is None else checks.integer("n_actions", K, least=1)
    eligible = None if feedback.get("eligible") is None else checks.floats("eligible", feedback["eligible"])
    return from_frame(
        table, features=features, probabilities=probabilities, eligible=eligible, slot=slot, arms=arms, rewards=rewards, floor=floor
    )


def _of_positions(pi: np.ndarray, position: ArrayLike | None) -> np.ndarray:
    """(n, K) probabilities, of each row's position where they are (n, K, positions)."""
    if pi.ndim != 3:
        return pi
    n = pi.shape[0]
    place = np.zeros(n, dtype=np.int64) if position is None or pi.shape[2] == 1 else np.asarray(position, dtype=np.int64)
    if place.shape != (n,) or (place < 0).any() or (place >= pi.shape[2]).any():
        raise ValueError(f"position must hold one whole number from 0 to {pi.shape[2] - 1} for each of the {n} rows of pi_b.")
    return pi[np.arange(n), :, place]


def to_obp(log: Log) -> dict[str, object]:
    """The log as the dict that the Open Bandit Pipeline reads.

    Parameters
    ----------
    log : Log
        Of single arms. All its rows are held in memory.

    Returns
    -------
    dict
        n_rounds, n_actions, action, reward, pscore, position, context, action_context, pi_b; None for what the log does not have. Where
        not all arms could be played also eligible (n, K), of which that library takes no notice.

    Raises
    ------
    ValueError
        For logs of sets, whose rows it would take for rounds of one arm each.
    """
    if log.size > 1:
        raise ValueError("a log of sets has no form in the dict of the Open Bandit Pipeline; write it as a table.")
    rows = whole(log)
    eligible = {} if rows.eligible is None else {"eligible": rows.eligible}
    position = None if rows.slot is None else rows.slot
    pi = None if rows.probabilities is None else rows.probabilities[:, :, None]
    return {
        "n_rounds": rows.arm.size, "n_actions": log.arms, "action": rows.arm, "reward": rows.reward, "pscore": rows.propensity,
        "position": position, "context": rows.features, "action_context": log.arm_features, "pi_b": pi,
        **eligible,
    }  # fmt: skip
