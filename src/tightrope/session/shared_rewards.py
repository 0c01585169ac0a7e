"""Rewards that two sessions share, so that merging never counts a reward twice; see `past` for marks."""

from ..core import streams
from ..core.types import State
from ..core.verbs import merge
from ..numerics.states import copied, negative
from .codec import flatten
from .parts import SessionParts
from .past import Base, Past, digest


def mark_of(session: SessionParts) -> str | None:
    """The mark of a session as it is now; None: it has learned nothing that could be counted twice."""
    if not session.rounds:
        return None
    counts = [session.rounds, session.decided, session.played, session.seed, session._past.branch]
    drawn = str(streams.pack(session._agent.rng))
    return digest(counts, drawn, *(item for pair in flatten(session.state).items() for item in pair))


def noted(session: SessionParts) -> Past:
    """The past of a session with the mark that it was written or read with last."""
    return session._past.marked(session._mark)


def past_to_write(session: SessionParts) -> Past:
    """The past as a file has it: the present mark joins it where something was decided or learned since the last one."""
    mark = mark_of(session)
    if mark != session._mark:
        session._past, session._mark = noted(session), mark
    return session._past


def base_of_copies(session: SessionParts) -> Base | None:
    """The state of a session that was just marked, as the base of its copies; None without rewards, or where states are no sums."""
    if session._mark is None or not merge.answers(session.policy):
        return None
    return Base(session._mark, noted(session).marks, session.rounds, copied(session.state))


# Merging -----------------------------------------------------------------------------------------------------------------


def shared(one: SessionParts, other: SessionParts) -> Base | None:
    """The base that both have learned from; None: they share none. ValueError where it is not known, or is all that `other` has."""
    if one is other:
        raise ValueError("other is this session itself, whose rewards would count twice; merge what other sessions have learned.")
    mine, its = noted(one), noted(other)
    common = mine.marks & its.marks
    if not common:
        return None
    bases = [base for base in (mine.base, its.base, one._held, other._held) if base is not None]
    mark = mark_of(one)
    if mark is not None and mark in common:  # it has learned nothing since the other parted from it
        bases.append(Base(mark, mine.marks, one.rounds, copied(one.state)))
    latest = [base for base in bases if base.mark in mine.recent and base.mark in its.recent]
    for base in latest:
        if common <= base.marks and (one.catalogue or same_sizes(base.state, one.state)):
            return base
    if latest:
        raise ValueError(
            "other has rewards that were merged into this session before, or it is one branch with the same seed; they would count twice. "
            "Merge every session once, then fork anew for what comes next; give workers that load one file different seeds."
        )
    raise ValueError(
        f"this session and the other share rewards ({one.rounds:,} and {other.rounds:,} in all), and what they had when they parted is "
        "not known, so that these would count twice. Merge into the session that was forked, or make workers by fork(n) or "
        "load(path, seed=...), which keep what they began with."
    )


def same_sizes(one: State, other: State) -> bool:
    """Whether two states have arrays of the same names and shapes."""
    first, second = flatten(one), flatten(other)
    return first.keys() == second.keys() and all(value.shape == second[name].shape for name, value in first.items())


def sum_of_both(session: SessionParts, other: SessionParts, base: Base | None) -> tuple[State, int]:
    """The state that has learned what both have, what they share once, and how many rewards are new to the session."""
    state, rewards = merge(session.policy, session.state, other.state), other.rounds
    if base is None:
        return state, rewards
    return merge(session.policy, state, negative(base.state)), rewards - base.rounds
