"""Chances of all arms in many rounds at once, as a log is judged by them."""

from typing import TYPE_CHECKING, Any

import numpy as np

from ..compiled.kernels import jit
from ..core import streams
from ..core.policy import compiled
from ..core.verbs import Context, admit, propensity, select
from ..numerics.states import copied

if TYPE_CHECKING:
    from .session import Session

MOST_ENTRIES = 4_000_000  # of the features of rounds that are checked together


def propensities_of_rounds(session: "Session", features: np.ndarray, eligible: np.ndarray | None) -> np.ndarray:
    """(m, K) what `session.propensities` says of m rounds. Changes nothing.

    A policy that draws nothing chooses in all rounds in one compiled call, O(m K d) and more as its choice costs; others are asked
    round by round.

    Parameters
    ----------
    features : (m, K, d) or (m, d) array
        Of every arm, or what all arms are shown; encoded, where the session has an encoder.
    eligible : (m, K) bool array or None
        Which arms may be played.
    """
    m = features.shape[0]
    chances = np.zeros((m, session.arms.number))
    choices = certain_choices(session, features, eligible)
    if choices is not None:
        chances[np.arange(m), choices] = 1.0
        return chances
    for i in range(m):
        chances[i] = session.propensities(features[i], None if eligible is None else eligible[i], encoded=True)
    return chances


def certain_choices(session: "Session", features: np.ndarray, eligible: np.ndarray | None) -> np.ndarray | None:
    """(m,) arms that a policy plays which draws nothing; None where it draws, or a round has to be looked at by itself."""
    policy, m = session.policy, features.shape[0]
    plain = not (propensity.answers(policy) or session.arms.oracle is not None or session.retired or type(policy).TRAITS.stops)
    if m == 0 or features.size > MOST_ENTRIES or not plain or not compiled(policy):
        return None
    shown, _, common = session._checked_round(features[0], None if eligible is None else eligible[0], None, encoded=True)
    state = copied(session._agent_for(shown, common).state)
    assert shown.features is not None
    try:  # a check of the largest entries: where all rows pass at once, each does
        admit(policy, state, shown._replace(features=features.reshape(-1, features.shape[-1]), eligible=None))
    except ValueError:
        return None
    rng = streams.stream(session.seed, session.rounds, streams.AUDIT)
    before = rng.bit_generator.state
    choices = np.empty(m, dtype=np.int64)
    mask = np.ones((m, session.arms.number), dtype=np.bool_) if eligible is None else np.ascontiguousarray(eligible, dtype=np.bool_)
    choose_in_rounds(policy, state, np.ascontiguousarray(features), mask, np.array(shown.features), rng, choices)
    playable = bool(np.all((choices >= 0) & (choices < session.arms.number))) and bool(mask[np.arange(m), choices].all())
    return choices if playable and rng.bit_generator.state == before else None


@jit
def choose_in_rounds(policy: Any, state: Any, features: Any, eligible: Any, row: Any, rng: Any, choices: Any) -> None:
    """choices <- what `select` plays in every round. features: (m, K, d) or (m, d); row: (K, d), rewritten."""
    for i in range(choices.shape[0]):
        for k in range(row.shape[0]):
            for j in range(row.shape[1]):
                row[k, j] = features[i, k, j] if features.ndim == 3 else features[i, j]
        choices[i] = select(policy, state, Context(row, eligible[i], None, None), rng)
