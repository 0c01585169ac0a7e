"""How policies and problems ask any oracle: one form of scores, masks and answers."""

from __future__ import annotations

import inspect

import numpy as np

from ...core.types import Oracle


def set_size(oracle: Oracle | None, number: int) -> int:
    """The most arms a set of this oracle can hold; all of them where it does not say.

    Parameters
    ----------
    oracle : oracle of tr.oracles, or callable
        What chooses.
    number : int >= 1
        K, arms in all.

    Returns
    -------
    int

    Raises
    ------
    ValueError
        For a class in place of an oracle.
    """
    if isinstance(oracle, type):
        raise ValueError(f"oracle = {oracle.__name__} is a class; pass an instance, such as TopK(5).")
    return int(getattr(oracle, "size", number))


def choose(oracle: Oracle, scores: np.ndarray, eligible: np.ndarray | None) -> np.ndarray:
    """The oracle's set as arm numbers.

    An oracle with `blocks` = M > 1 is given (N, M) matrices and answers (row, block) pairs. One that takes no `eligible` is given -inf for
    ineligible arms, and its answer is checked. It is given copies, in which it may write: the usual greedy loop does.

    Parameters
    ----------
    oracle : oracle of tr.oracles, or callable
        What chooses.
    scores : (N M,) array
        In the order row * M + block.
    eligible : (N M,) array of bool
        Arms that may be chosen; None: all.

    Returns
    -------
    (k,) array of int

    Raises
    ------
    ValueError
        On an invalid answer.
    """
    blocks = getattr(oracle, "blocks", 1)
    shape = (scores.size // blocks, blocks) if blocks > 1 else scores.shape
    own = np.array(scores).reshape(shape)
    if eligible is None:
        answer = oracle(own)
    elif takes_mask(oracle):
        answer = oracle(own, eligible=np.array(eligible).reshape(shape))
    else:
        own.reshape(-1)[~eligible] = -np.inf
        answer = oracle(own)
    chosen = np.asarray(answer)
    if hasattr(oracle, "blocks") and chosen.ndim == 2 and chosen.shape[1] == 2:  # pairs of a single promotion, too
        chosen = chosen[:, 0] * blocks + chosen[:, 1]
    if chosen.size == 0:
        return np.zeros(0, dtype=np.int64)
    valid = chosen.ndim == 1 and chosen.dtype.kind in "iu" and chosen.min() >= 0 and chosen.max() < scores.size
    if not valid or np.unique(chosen).size != chosen.size:
        raise ValueError(f"oracle = {oracle!r} did not answer with distinct arms from 0 to {scores.size - 1}.")
    if eligible is not None and not eligible[chosen].all():
        raise ValueError(f"oracle = {oracle!r} chose arm {int(chosen[~eligible[chosen]][0])}, which is not eligible; admit more arms.")
    return chosen.astype(np.int64)


def takes_mask(oracle: Oracle) -> bool:
    try:
        return "eligible" in inspect.signature(oracle).parameters
    except (TypeError, ValueError):
        return False
