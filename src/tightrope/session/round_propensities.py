"""Chances of all arms in many rounds at once, as a log is judged by them."""

from typing import TYPE_CHECKING, Any

import numpy as np

from ..compiled.kernels import jit, lean
from ..core import streams
from ..core.policy import compiled
from ..core.verbs import Context, admit, chances, propensity, select
from ..numerics.states import copied

if TYPE_CHECKING:
    from .session import Session

MOST_ENTRIES = 4_000_000  # of the features of rounds that are checked together


def propensities_of_rounds(
    session: "Session", features: np.ndarray, eligible: np.ndarray | None
) -> np.ndarray:
    """(m, K) what `session.propensities` says of m rounds. Changes nothing.

    A policy that draws nothing, or whose kernels compute its chances, answers for all rounds in one
    compiled call; others, and rounds in which chances have to be drawn, are asked one by one.

    Parameters
    ----------
    features : (m, K, d) or (m, d) array
        Of every arm, or what all arms are shown; encoded, where the session has an encoder.
    eligible : (m, K) bool array or None
        Which arms may be played.
    """
    m = features.shape[0]
    out, known = np.zeros((m, session.arms.number)), np.zeros(m, dtype=np.bool_)
    answered_at_once(session, features, eligible, out, known)
    for i in np.flatnonzero(~known):
        out[i] = session.propensities(
            features[i], None if eligible is None else eligible[i], encoded=True
        )
    return out


def answered_at_once(
    session: "Session",
    features: np.ndarray,
    eligible: np.ndarray | None,
    out: np.ndarray,
    known: np.ndarray,
) -> None:
    """Fill what kernels can say of the rounds into out (m, K), and known (m,) where they did;
    neither where a round needs a look."""
    policy, m = session.policy, features.shape[0]
    plain = not (session.arms.oracle is not None or session.retired or type(policy).TRAITS.stops)
    if m == 0 or features.size > MOST_ENTRIES or not plain or not compiled(policy):
        return
    shown, _, common = session._checked_round(
        features[0], None if eligible is None else eligible[0], None, encoded=True
    )
    state = copied(session._agent_for(shown, common).state)
    assert shown.features is not None
    try:  # a check of the largest entries: where all rows pass at once, each does
        admit(
            policy,
            state,
            shown._replace(features=features.reshape(-1, features.shape[-1]), eligible=None),
        )
    except ValueError:
        return
    features, row = np.ascontiguousarray(features), np.array(shown.features)
    mask = (
        np.ones(out.shape, dtype=np.bool_)
        if eligible is None
        else np.ascontiguousarray(eligible, dtype=np.bool_)
    )
    if chances.answers(policy):
        fill_chances(policy, state, features, mask, row, out, known)
        total = out.sum(axis=1)
        np.divide(out, total[:, None], out=out, where=(known & (total > 0.0))[:, None])
    elif not propensity.answers(policy):
        rng = streams.stream(session.seed, session.rounds, streams.AUDIT)
        before, choices = rng.bit_generator.state, np.empty(m, dtype=np.int64)
        choose_in_rounds(policy, state, features, mask, row, rng, choices)
        playable = bool(np.all((choices >= 0) & (choices < out.shape[1]))) and bool(
            mask[np.arange(m), choices].all()
        )
        if playable and rng.bit_generator.state == before:
            out[np.arange(m), choices] = 1.0
            known[:] = True


@jit
def fill_chances(
    policy: Any, state: Any, features: Any, eligible: Any, row: Any, out: Any, known: Any
) -> None:
    """out <- what `chances` says of every round, and known <- whether it did. features: (m, K, d)
    or (m, d); row: (K, d), rewritten."""
    for i in range(out.shape[0]):
        show_round(features, i, row)
        known[i] = chances(policy, state, Context(row, eligible[i], None, None), out[i])


@jit
def choose_in_rounds(
    policy: Any, state: Any, features: Any, eligible: Any, row: Any, rng: Any, choices: Any
) -> None:
    """choices <- what `select` plays in every round. features: (m, K, d) or (m, d); row: (K, d),
    rewritten."""
    for i in range(choices.shape[0]):
        show_round(features, i, row)
        choices[i] = select(policy, state, Context(row, eligible[i], None, None), rng)


@lean
def show_round(features: Any, i: Any, row: Any) -> None:
    for k in range(row.shape[0]):
        for j in range(row.shape[1]):
            row[k, j] = features[i, k, j] if features.ndim == 3 else features[i, j]
