"""Notices: what webhooks tell of an experiment. Some follow from an event of the log, others from a look at all of it.

A mode that changed and an experiment that stopped are events. A promise is at risk, or a winner known, as long as something holds: that is
told once when it begins, and again only when it has ended in between (a winner: only when it is another arm).
"""

import json
import math
from typing import Literal, NamedTuple, Self, get_args

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


class Watch:
    """The notices of an experiment so far, so that none is sent twice. least_budget: the bound of the budget below which the
    promise is at risk; -inf: none is."""

    def __init__(self, least_budget: float) -> None:
        self.least_budget = least_budget
        self.below = False  # whether the bound of the budget is below its least
        self.contradicted: list[str] = []  # assumptions
        self.winner: str | None = None  # the last one that was told

    @classmethod
    def read(cls, text: str, least_budget: float) -> Self:
        """The watch that `written` wrote; of an empty text a new one."""
        watch = cls(least_budget)
        if text:
            state = json.loads(text)
            watch.below, watch.contradicted, watch.winner = state["below"], state["contradicted"], state["winner"]
        return watch

    def written(self) -> str:
        return json.dumps({"below": self.below, "contradicted": self.contradicted, "winner": self.winner})

    def take(self, event: events.Event, seq: int, time: int) -> Notice | None:
        if isinstance(event, events.ModeChanged):
            why = event.why.rstrip(".")
            what = f"The mode changed from {event.before} to {event.mode}, by {event.by}{f': {why}' if why else ''}."
            data = {"mode": event.mode, "before": event.before, "share": event.share, "by": event.by, "why": event.why}
            return Notice("mode.changed", seq, time, what, data)
        if isinstance(event, events.Paused):
            return Notice("experiment.stopped", seq, time, "It was paused: it decides no more until it is resumed.", {"status": "paused"})
        if isinstance(event, events.Archived):
            return Notice("experiment.stopped", seq, time, "It was archived: it has ended for good.", {"status": "archived"})
        bound = event.budget if isinstance(event, events.Decided) else None
        return None if bound is None else self._budget(bound, seq, time)

    def _budget(self, bound: float, seq: int, time: int) -> Notice | None:
        if self.below:
            self.below = bound < max(self.least_budget, 0.0)
            return None
        self.below = bound < self.least_budget
        if not self.below:
            return None
        what = f"The lower bound of the budget, {bound:.4g}, fell below {self.least_budget:g}."
        return Notice("promise.at_risk", seq, time, what, {"because": "budget", "bound": bound, "least": self.least_budget})

    def look(self, standing: JsonObject, history: History) -> list[Notice]:
        """New notices about the present state. standing: of the live experiment, see `commands.describe_standing`."""
        notices = []
        if standing["holdings"] is not None:
            every = assumptions(standing["holdings"], history, standing["rollout"])
            against = {one.says: one for one in every if one.verdict == CONTRADICTED}
            for says, one in against.items():
                if says not in self.contradicted:
                    what = f"The log contradicts what the promise rests on: {says} {one.why}"
                    data = {"because": "assumption", "assumption": says, "why": one.why}
                    notices.append(Notice("promise.at_risk", history.seq, history.time, what, data))
            self.contradicted = list(against)
        arm = known_winner(standing, history)
        if arm is not None and arm != self.winner:
            self.winner = arm
            assuming = f", {ASSUMING}" if history.observed.limited else ""
            what = f"It is known that {arm} is the best arm{assuming}."
            notices.append(Notice("winner.known", history.seq, history.time, what, {"arm": arm}))
        return notices


def known_winner(standing: JsonObject, history: History) -> str | None:
    """The arm that is known to be the best: by the stopping rule of an identification policy, else by the intervals of the arms."""
    identified = standing["identified"]
    if identified is not None:
        return str(identified["arm"]) if identified["status"] == "certified" else None
    intervals = history.intervals()
    return None if intervals is None else winner(history, dict(zip(history.arms, intervals, strict=True)))


def asks_for_log(kind: str, text: bytes, least_budget: float) -> bool:
    """Whether an entry of the log may be a notice: bodies of the others need not be read."""
    if kind == "decided":
        return least_budget > -math.inf and b'"budget"' in text
    return kind in ("mode changed", "paused", "archived")
