"""`from_session`: logs from what a session remembers of its decisions."""

from collections.abc import Iterator, Sized
from typing import Any, Protocol

import numpy as np

from ..core import checks
from ..core.rounds import Arms
from .log import Log, Rows, RowsInMemory, new_log


class Remembering(Protocol):
    """The part of a session that its log is read from."""

    @property
    def arms(self) -> Arms:
        """The number of arms, their features and the oracle."""

    @property
    def catalogue(self) -> bool:
        """Whether every call brings new candidates."""

    @property
    def names(self) -> tuple[str, ...] | None:
        """Of the arms."""

    @property
    def measured(self) -> bool:
        """Whether its decisions have propensities."""

    @property
    def decided(self) -> int:
        """Decisions made."""

    @property
    def played(self) -> int:
        """Decisions that are only counted."""

    @property
    def waiting(self) -> int:
        """Decisions that wait for a reward."""

    @property
    def open(self) -> Sized:
        """Decisions without a reward yet."""

    def answered(self) -> Iterator[tuple[Any, float | dict[int, float] | None]]:
        """Decisions that have ended, with their rewards."""


def from_session(session: Remembering, *, rewards: tuple[float, float] = (0.0, 1.0), floor: float | None = None) -> Log:
    """A log of the decisions that a session remembers with their rewards, in the order of its rounds.

    Left out and counted (`Log.left_out`): open decisions, those closed without a reward, those without a propensity, which `select` and a
    session with measured=False ask for none, and those of long ago: a session remembers the last 10,000 closed decisions, and lets
    their features and masks go. A `Journal` keeps all of them, for `from_journal`.

    Parameters
    ----------
    session : Session
        A saved one is read by `Session.load(path)`.
    rewards : (float, float)
        Lowest and highest reward, as in `from_frame`.
    floor : float
        That of Explore, as in `from_frame`.

    Returns
    -------
    Log

    Raises
    ------
    ValueError
        Where nothing is left, and for what is no session.

    Examples
    --------
    >>> import tightrope as tr
    >>> session = tr.Session(tr.EpsilonGreedy(epsilon=0.2), arms=2, seed=0)
    >>> for _ in range(3):
    ...     _ = session.reward(session.decide().id, 1.0)
    >>> tr.logs.from_session(session)
    Log(3 rows, 2 arms, rewards in [0, 1])
    """
    if not hasattr(session, "answered"):
        raise ValueError(f"session = {checks.show(session)} is not a session; a saved one is read by Session.load(path).")
    if session.catalogue:
        raise ValueError("this session's arms are new candidates at every call, so its log has no arms to compare; keep a table.")
    arm: list[int] = []
    reward: list[float] = []
    chance: list[float] = []
    round: list[int] = []
    unnamed = "made by select, without a propensity" if session.measured else "without a propensity, by a session with measured=False"
    waiting = session.waiting
    left = {"open decisions": waiting, "closed without a reward": 0, unnamed: session.played - (waiting - len(session.open))}
    remembered = 0
    sets = session.arms.oracle is not None
    for decision, answers in sorted(session.answered(), key=lambda item: item[0].round):
        remembered += 1
        if np.isnan(decision.propensity).any():
            left[unnamed] += 1
        elif answers is None or (isinstance(answers, dict) and len(answers) < np.size(decision.arm)):
            left["closed without a reward"] += 1
        else:
            arms = np.atleast_1d(decision.arm).tolist()
            arm += arms
            chance += np.atleast_1d(decision.propensity).tolist()
            reward += [answers[k] for k in arms] if isinstance(answers, dict) else [answers]
            round += [decision.round] * len(arms)
    left["cancelled, or closed too long ago to be known"] = session.decided - session.played - remembered - len(session.open)
    left = {words: count for words, count in left.items() if count}
    if not arm:
        there = ", ".join(f"{count} {words}" for words, count in left.items()) or "no decisions"
        raise ValueError(f"this session has no decision with a reward and a propensity ({there}); make them with Session.decide.")
    rounds = np.array(round, dtype=np.int64)
    rows = Rows(
        np.array(arm, dtype=np.int64), np.array(reward), np.array(chance), time=rounds.astype(np.float64), round=rounds if sets else None
    )
    names = session.names
    X = session.arms.features
    return new_log(RowsInMemory(rows), session.arms.number, names, rewards=rewards, floor=floor, arm_features=X, left_out=left)
