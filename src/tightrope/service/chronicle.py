"""What the log tells at a glance: curves, arms, delays, the last decisions. Read from the events, off the writer's path, and kept up to
date by reading only what is new. Memory does not grow with the log but with open decisions."""

from collections import deque
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from ..inference.sequences import lower_bounds
from .experiment import MICROSECONDS, STATUSES
from .gate import advance
from .log import Event
from .spec import ExperimentSpec

POINTS = 240  # of a curve at most; every second is dropped when there are more
LAST = 12  # decisions shown
ERROR = 0.05  # of all intervals of one kind together
DELAYS = (1, 10, 60, 600, 3600, 21_600, 86_400, 604_800)  # seconds, upper ends of the histogram's bars but the last


class Point(NamedTuple):
    """The state of things after so many decisions. total: of all rewards. usual: decisions that were production's or
    played the baseline. plays: by arm."""

    decisions: int
    time: int
    rewards: int
    total: float
    usual: int
    budget: float | None
    plays: tuple[int, ...]
    regret: float | None


class Line(NamedTuple):
    """A decision for people."""

    id: str
    time: int
    arms: tuple[str, ...]
    propensity: float
    reason: str


class Chronicle:
    """The story of one experiment up to event `seq`."""

    def __init__(self) -> None:
        self.seq, self.time, self.began = 0, 0, 0
        self.spec: ExperimentSpec | None = None
        self.status = "running"
        self.arms: dict[str, int] = {}  # id -> place in the lists below; candidates of a catalogue as they come
        self.plays: list[int] = []
        self.rewards: list[int] = []
        self.sums: list[float] = []
        self.weights: list[list[float]] = []  # sums of 1 / propensity and of its square, by arm
        self.below: list[list[float]] = []  # sequences of each arm's rewards (t, sum, V), and of 1 - reward
        self.above: list[list[float]] = []
        self.all = [0.0, 0.0, 0.0]  # the sequence of all rewards
        self.decisions = self.usual = self.closed = self.late = self.cancelled = self.expired = 0
        self.total, self.outside = 0.0, 0
        self.budget: float | None = None
        self.lowest: float | None = None  # budget bound
        self.modes: list[dict[str, Any]] = []
        self.points: list[Point] = []
        self.stride = 1
        self.open: dict[str, tuple[int, tuple[str, ...]]] = {}
        self.delays = [0] * (len(DELAYS) + 1)
        self.last: deque[Line] = deque(maxlen=LAST)
        self.answers: dict[str, str] = {}  # what became of the last decisions

    def read(self, events: Iterable[Event]) -> None:
        """Go on with the next events."""
        for event in events:
            if event.seq != self.seq + 1:
                raise ValueError(f"event {self.seq + 1} is missing; restore the database from a backup.")
            step = getattr(self, "_" + event.kind.replace(" ", "_"), None)
            if step is not None:
                step(event, event.body)
            self.seq, self.time = event.seq, event.time

    # Events ---------------------------------------------------------------------------------------------------------------

    def _created(self, event: Event, body: dict[str, Any]) -> None:
        self.spec = ExperimentSpec.model_validate(body["spec"])
        self.began = event.time
        for arm in self.spec.arms or ():
            self.arm(arm.id)
        mode = "full" if self.spec.rollout is None else self.spec.rollout.mode
        self.modes.append({"event": event.seq, "time": event.time, "decisions": 0, "mode": mode, "by": "spec", "why": ""})

    def _arms_added(self, event: Event, body: dict[str, Any]) -> None:
        for arm in body["arms"]:
            self.arm(arm["id"])

    def _status(self, event: Event, body: dict[str, Any]) -> None:
        self.status = STATUSES[event.kind]

    _paused = _resumed = _archived = _status

    def _mode_changed(self, event: Event, body: dict[str, Any]) -> None:
        told = {"event": event.seq, "time": event.time, "decisions": self.decisions}
        self.modes.append(told | {name: body[name] for name in ("mode", "share", "by", "why", "held")})

    def arm(self, id: str) -> int:
        """The place of an arm."""
        place = self.arms.get(id)
        if place is None:
            place = self.arms[id] = len(self.arms)
            for column in (self.plays, self.rewards):
                column.append(0)
            self.sums.append(0.0)
            self.weights.append([0.0, 0.0])
            self.below.append([0.0, 0.0, 0.0])
            self.above.append([0.0, 0.0, 0.0])
        return place

    def _decided(self, event: Event, body: dict[str, Any]) -> None:
        several = isinstance(body["name"], list)
        names = tuple(str(name) for name in (body["name"] if several else (body["name"],)))
        chances = body["propensity"] if several else (body["propensity"],)
        if self.spec is not None and self.spec.arms is not None:
            for name, chance in zip(names, chances, strict=True):
                place = self.arm(name)
                self.plays[place] += 1
                if chance:
                    self.weights[place][0] += 1.0 / chance
                    self.weights[place][1] += 1.0 / (chance * chance)
        self.decisions += 1
        beside = body.get("rollout")
        baseline = None if self.spec is None else self.spec.baseline
        productions = beside is not None and not beside.get("policys", False)
        self.usual += productions or (isinstance(baseline, str) and names == (baseline,))
        if "budget" in body:
            self.budget = body["budget"]
            self.lowest = self.budget if self.lowest is None or self.budget is None else min(self.lowest, self.budget)
        self.open[str(event.key)] = (event.time, names)
        if len(self.last) == LAST:
            self.answers.pop(self.last[0].id, None)
        self.last.append(Line(str(event.key), event.time, names, min(chances, default=1.0), body["reason"]))
        self.answers[str(event.key)] = "open"
        if self.decisions % self.stride == 0:
            self._keep_point(event.time)

    def _keep_point(self, time: int) -> None:
        self.points.append(self.point(time))
        if len(self.points) > POINTS:
            self.stride *= 2
            self.points = [point for point in self.points if point.decisions % self.stride == 0]

    def point(self, time: int) -> Point:
        """How things stand."""
        return Point(
            self.decisions, time, int(self.all[0]), self.total, self.usual, self.budget, tuple(self.plays), self.regret(),
        )  # fmt: skip

    def _activated(self, event: Event, body: dict[str, Any]) -> None:
        found = self.open.get(str(event.key))
        if found is not None:
            self.open[str(event.key)] = (event.time, found[1])

    def _rewarded(self, event: Event, body: dict[str, Any]) -> None:
        found = self.open.get(str(event.key))
        if found is None:
            return
        began, names = found
        seconds = (event.time - began) / MICROSECONDS
        self.delays[next((k for k, end in enumerate(DELAYS) if seconds < end), len(DELAYS))] += 1
        value = body["value"]
        if isinstance(value, dict):
            for name, number in value.items():
                self._learn(name, number)
            left = tuple(name for name in names if name not in value)
            self.open[str(event.key)] = (began, left)
            if left:
                return
        else:
            self._learn(names[0], value)
        self._end(event, "reward " + (f"{sum(value.values()):g}" if isinstance(value, dict) else f"{value:g}"))

    def _learn(self, name: str, value: float) -> None:
        low, high = (0.0, 1.0) if self.spec is None or self.spec.rollout is None else self.spec.rollout.rewards
        self.total += value
        scaled = (value - low) / (high - low)
        if not 0.0 <= scaled <= 1.0:
            self.outside += 1
            scaled = min(max(scaled, 0.0), 1.0)  # no bound is told any more, and squares of such numbers may have no float
        advance(self.all, scaled)
        if name in self.arms:
            place = self.arms[name]
            self.rewards[place] += 1
            self.sums[place] += value
            advance(self.below[place], scaled)
            advance(self.above[place], 1.0 - scaled)

    def _expired(self, event: Event, body: dict[str, Any]) -> None:
        found = self.open.get(str(event.key))
        if found is None:
            return
        self.expired += 1
        if body["reward"] is not None:
            for name in found[1]:
                self._learn(name, body["reward"])
        self._end(event, "window closed" + ("" if body["reward"] is None else f", {body['reward']:g} taken"))

    def _closed(self, event: Event, body: dict[str, Any]) -> None:
        self._end(event, "closed without a reward")

    def _cancelled(self, event: Event, body: dict[str, Any]) -> None:
        self.cancelled += 1
        self._end(event, "cancelled")

    def _late(self, event: Event, body: dict[str, Any]) -> None:
        self.late += 1

    def _end(self, event: Event, how: str) -> None:
        if self.open.pop(str(event.key), None) is not None:
            self.closed += 1
        if str(event.key) in self.answers:
            self.answers[str(event.key)] = how

    # What follows from it -------------------------------------------------------------------------------------------------

    @property
    def scale(self) -> tuple[float, float]:
        """Lowest and highest reward."""
        return (0.0, 1.0) if self.spec is None or self.spec.rollout is None else self.spec.rollout.rewards

    @property
    def comparable(self) -> bool:
        """Whether the mean reward of an arm is the same in every round, as far as the spec says, so that intervals of arms make sense."""
        spec = self.spec
        return spec is not None and spec.arms is not None and spec.dimension is None and spec.oracle is None and not self.outside

    def intervals(self) -> list[tuple[float, float]] | None:
        """Bounds on each arm's mean that hold at all times and for all arms at once; None where arms have no one mean."""
        if not self.comparable or not self.arms:
            return None
        low, high = self.scale
        each = ERROR / (2.0 * len(self.arms))
        below = low + (high - low) * lower_bounds(np.array(self.below), each, 0.0)
        above = high - (high - low) * lower_bounds(np.array(self.above), each, 0.0)
        return list(zip(below.tolist(), above.tolist(), strict=True))

    def regret(self) -> float | None:
        """An upper bound of what the best single arm would have earned more in the rounds whose reward is in."""
        found = self.intervals()
        if not found or not self.all[0]:
            return None
        low, high = self.scale
        mean = low + (high - low) * float(lower_bounds(np.array([self.all]), ERROR, 0.0)[0])
        return float(self.all[0] * max(max(upper for _, upper in found) - mean, 0.0))

    def shown(self) -> list[Point]:
        """The curve's points, the last one as of now."""
        if self.points and self.points[-1].decisions == self.decisions:
            return [*self.points[:-1], self.point(self.time)]
        return [*self.points, self.point(self.time)] if self.decisions else []
