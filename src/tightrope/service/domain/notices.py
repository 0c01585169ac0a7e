"""Notices: what webhooks tell of an experiment. Some follow from an event of the log, others from a look at all of it.

A mode that changed and an experiment that stopped are events. A promise is at risk, or a winner known, as long as something holds: that is
told once when it begins, and again only when it has ended in between (a winner: only when it is another arm).
"""

from typing import Literal, NamedTuple, get_args

from ...core.types import JsonObject
from . import events
from .assumptions import CONTRADICTED, assumptions
from .history import History
from .lead import ASSUMING, winner

NoticeKind = Literal["mode.changed", "promise.at_risk", "winner.known", "experiment.stopped"]
NOTICE_KINDS: tuple[str, ...] = get_args(NoticeKind)


class Notice(NamedTuple):
    """Something to tell. seq, time: of the event behind which it is so. what: a sentence. data: the same for programs."""

    kind: NoticeKind
    seq: int
    time: int
    what: str
    data: JsonObject


def of_event(event: object, seq: int, time: int) -> Notice | None:
    if isinstance(event, events.ModeChanged):
        why = event.why.rstrip(".")
        what = f"The mode changed from {event.before} to {event.mode}, by {event.by}{f': {why}' if why else ''}."
        data = {"mode": event.mode, "before": event.before, "share": event.share, "by": event.by, "why": event.why}
        return Notice("mode.changed", seq, time, what, data)
    if isinstance(event, events.Paused):
        what = "It was paused: it decides no more until it is resumed."
        return Notice("experiment.stopped", seq, time, what, {"status": "paused"})
    if isinstance(event, events.Archived):
        what = "It was archived: it has ended for good."
        return Notice("experiment.stopped", seq, time, what, {"status": "archived"})
    return None


def of_bound(bound: float, least: float, seq: int, time: int) -> Notice:
    what = f"The lower bound of the budget, {bound:.4g}, fell below {least:g}."
    data = {"because": "budget", "bound": bound, "least": least}
    return Notice("promise.at_risk", seq, time, what, data)


def contradicted(standing: JsonObject, history: History) -> dict[str, Notice]:
    """The assumptions of the promise that the log contradicts. standing: see `commands.describe_standing`."""
    found: dict[str, Notice] = {}
    if standing["holdings"] is not None:
        for one in assumptions(standing["holdings"], history, standing["rollout"]):
            if one.verdict == CONTRADICTED:
                what = f"The log contradicts what the promise rests on: {one.says} {one.why}"
                data = {"because": "assumption", "assumption": one.says, "why": one.why}
                found[one.says] = Notice("promise.at_risk", history.seq, history.time, what, data)
    return found


def known_winner(standing: JsonObject, history: History) -> dict[str, Notice]:
    """The arm that is known to be the best: by the stopping rule of an identification policy, else by the intervals of the arms."""
    identified, arm = standing["identified"], None
    if identified is not None:
        arm = str(identified["arm"]) if identified["status"] == "certified" else None
    elif (intervals := history.intervals()) is not None:
        arm = winner(history, dict(zip(history.arms, intervals, strict=True)))
    if arm is None:
        return {}
    assuming = f", {ASSUMING}" if history.observed.limited else ""
    what = f"It is known that {arm} is the best arm{assuming}."
    return {arm: Notice("winner.known", history.seq, history.time, what, {"arm": arm})}
