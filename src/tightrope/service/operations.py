"""What clients can do with an experiment, each done in the writer's thread at one desk. Every one is safe to repeat."""

import functools
import itertools
import math
import random
import secrets
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import numpy as np

from ..serving.session import Session
from .errors import Refused, invalid
from .experiment import MICROSECONDS, STATUSES, Experiment, Waiting
from .log import Event
from .requests import MOST, ArmChange, ArmsRequest, DecisionRequest, ModeChange, RewardRequest
from .spec import ArmSpec, ExperimentSpec
from .writer import Desk

Json = dict[str, Any]


_RANDOM = random.Random(secrets.randbits(256))  # ids are not secret, only distinct


def new_id() -> str:
    """An id that nobody else makes; later ones sort behind earlier ones, which keeps the database's index compact."""
    return f"{time.time_ns() // 1_000_000:012x}{_RANDOM.getrandbits(80):020x}"


def stamp(microseconds: int | None) -> str | None:
    """A time as text."""
    if microseconds is None:
        return None
    whole, part = divmod(microseconds, MICROSECONDS)
    return f"{_second(whole)}.{part:06d}Z"


@functools.lru_cache(maxsize=64)
def _second(whole: int) -> str:
    return f"{datetime.fromtimestamp(whole, UTC):%Y-%m-%dT%H:%M:%S}"


# Experiments ---------------------------------------------------------------------------------------------------------------


def create(desk: Desk, spec: ExperimentSpec) -> tuple[bool, Json]:
    """The experiment of a spec, and whether it is new."""
    if desk.live.spec != spec:
        raise Refused(409, f"experiment = {spec.name!r} exists with another spec; choose another name.", "name")
    new = any(event.kind == "created" for event in desk.held.new)
    return new, describe(desk)


def describe(desk: Desk) -> Json:
    """An experiment with its counts."""
    return desk.live.summary()


CHANGES = {"pause": ("paused", "running"), "resume": ("resumed", "paused"), "archive": ("archived", "")}


def change_status(desk: Desk, what: str) -> Json:
    """Pause, resume or archive."""
    kind, before = CHANGES[what]
    if desk.live.status != STATUSES[kind]:
        if before and desk.live.status != before:
            raise Refused(409, f"experiment = {desk.live.name!r} is {desk.live.status}; {what} it only while it is {before}.", "experiment")
        desk.record(kind, {})
    return describe(desk)


def add_arms(desk: Desk, request: ArmsRequest) -> Json:
    """Add arms; those that are there already with the same features are left alone, so that a retry is safe."""
    desk.live.check_alive()
    known = {arm["id"] for arm in desk.live.arms()}
    for arm in request.arms:
        (check_same if arm.id in known else check_point)(desk.live, arm)
    fresh = [arm for arm in request.arms if arm.id not in known]
    if fresh and len(fresh) < len(request.arms):
        again = next(arm.id for arm in request.arms if arm.id in known)
        raise Refused(409, f"arms has {again!r}, which is there already; leave it out.", "arms")
    if fresh:
        apply(lambda: desk.record("arms added", {"arms": [arm.model_dump(exclude_none=True) for arm in fresh]}))
    return {"arms": list(desk.live.arms())}


def check_same(live: Experiment, arm: ArmSpec) -> None:
    """Refuse an arm that is there already, but not as it is described now."""
    k, arms = live.number("arms", arm.id), live.session.arms
    for what, given, own in (("features", arm.features, arms.features), ("point", arm.point, arms.points)):
        if not np.array_equal(np.ravel([] if given is None else given), np.ravel([] if own is None else own[k])):
            raise Refused(
                409,
                f"arms has {arm.id!r} with other {what} than it was made with; say the same again, or give the new arm a new id.",
                "arms",
            )


def check_point(live: Experiment, arm: ArmSpec) -> None:
    """Refuse a position where arms have none; where they have some, the session refuses any new arm."""
    if arm.point is not None and live.session.arms.points is None:
        raise Refused(
            422, f"arms has a point for {arm.id!r}, but the arms of experiment {live.name!r} have no positions; leave it out.", "arms"
        )


def change_arm(desk: Desk, arm: str, change: ArmChange) -> Json:
    """Retire, mask or restore an arm."""
    desk.live.check_alive()
    found = next((one for one in desk.live.arms() if one["id"] == arm), None)
    if found is None:
        raise Refused(404, f"arm = {arm!r} is not an arm of experiment {desk.live.name!r}.", "arm")
    baseline = desk.live.spec.baseline
    if change.status != "active" and arm in ([baseline] if isinstance(baseline, str) else baseline or ()):
        raise Refused(409, f"arm = {arm!r} is the baseline, which the experiment falls back to; it must stay.", "arm")
    production = desk.live.rollout.spec.production or {}
    if change.status != "active" and arm in production:
        active = {one["id"] for one in desk.live.arms() if one["status"] == "active"}
        if not active & (production.keys() - {arm}):
            raise Refused(
                409, f"arm = {arm!r} is the last arm of rollout.production that is played, which the experiment falls back to; restore "
                "another one first.", "arm",
            )  # fmt: skip
    if found["status"] != change.status:
        apply(lambda: desk.record("arm changed", {"arm": arm, "status": change.status}), 409)
    return {"id": arm, "status": change.status}


def apply(step: Callable[[], Event], status: int = 422) -> Event:
    """An event that the session may refuse, with nothing changed."""
    try:
        return step()
    except ValueError as error:
        refused = invalid(error)
        refused.status = status
        raise refused from None


# Decisions -----------------------------------------------------------------------------------------------------------------


def decide(desk: Desk, id: str, request: DecisionRequest) -> Json:
    """The decision of an id: made now, or the same answer as before."""
    if request.id is not None:  # ids that the service makes are new
        made = decided(desk.history(id)) if desk.may_know(id) else None
        if made is not None:
            body = made.body
            if body.get("asked", {}) != request.asked():
                raise Refused(409, f"id = {id!r} was decided for another request; an id belongs to one decision.", "id")
            return answer(made, body)
    watched = desk.live.watched
    event = desk.live.decide(id, request, desk.now)
    told = answer(desk.keep(event), desk.live.told)
    if watched:
        follow_rules(desk)
    return told


def decided(history: list[Event]) -> Event | None:
    """The event that made a decision."""
    return next((event for event in history if event.kind == "decided"), None)


def answer(event: Event, body: Json) -> Json:
    """What a client is told of a decision."""
    return {
        "id": event.key,
        "arm": body["name"],
        "propensity": body["propensity"],
        "propensity_se": body["propensity_se"],
        "reason": body["reason"],
        "event": event.seq,
        "policy_version": body["version"],
        "expires_at": stamp(body["deadline"]),
    }


def waiting(desk: Desk, id: str) -> Waiting | None:
    """The open decision of an id; one whose window has just closed is closed first."""
    found = desk.live.open.get(id)
    if found is not None and found.deadline is not None and found.deadline <= max(desk.now, desk.live.time):
        while (event := desk.live.close_due(desk.now)) is not None:
            desk.keep(event)
        found = desk.live.open.get(id)
    return found


ENDS = ("rewarded", "expired", "cancelled", "closed")


def ending(history: list[Event]) -> Event:
    """The event that ended a decision; a late reward may stand behind it."""
    return next(event for event in reversed(history) if event.kind in ENDS)


def known(desk: Desk, id: str) -> list[Event]:
    """All events about a decision; 404 where there is none."""
    history = desk.history(id)
    if decided(history) is None:
        raise Refused(404, f"id = {id!r} is not a decision of experiment {desk.live.name!r}.", "id")
    return history


def activate(desk: Desk, id: str) -> Json:
    """A deferred decision counts from now on, and its window begins."""
    desk.live.check_alive()
    found = waiting(desk, id)
    if found is None:
        how = ending(known(desk, id)).kind
        if how == "rewarded":
            return {"id": id, "expires_at": None}
        raise Refused(410, f"id = {id!r} was {how}; it cannot be activated any more.", "id")
    if found.deferred:
        desk.record("activated", {"deadline": desk.live.deadline(desk.now)}, id)
    return {"id": id, "expires_at": stamp(desk.live.open[id].deadline)}


def cancel(desk: Desk, id: str) -> Json:
    """It was never shown: the policy is as it was without it, but for its random stream."""
    desk.live.check_alive()
    if waiting(desk, id) is None:
        how = ending(known(desk, id)).kind
        if how != "cancelled":
            raise Refused(409, f"id = {id!r} was {how}; only an open decision can be cancelled.", "id")
    else:
        apply(lambda: desk.record("cancelled", {}, id), 409)
    return {"id": id, "cancelled": True}


# Rewards -------------------------------------------------------------------------------------------------------------------


def reward(desk: Desk, request: RewardRequest) -> Json:
    """Learn what came of a decision."""
    desk.live.check_alive()
    id, value = request.decision_id, request.value
    body = {"value": value} if request.reward_id is None else {"value": value, "reward_id": request.reward_id}
    found = waiting(desk, id)
    if found is not None and found.deferred:
        raise Refused(409, f"decision_id = {id!r} is deferred and was not activated; activate it before its reward.", "decision_id")
    if found is None or isinstance(value, dict):
        history = known(desk, id)
        given = repeated(history, body)
        if given is not None:
            return {"decision_id": id, "learned": False, "event": given.seq}
        if found is None:
            raise too_late(desk, id, history, body)
    event = apply(lambda: desk.record("rewarded", body, id))
    return {"decision_id": id, "learned": True, "event": event.seq}


def repeated(history: list[Event], body: Json) -> Event | None:
    """The event that took in the same reward before. Refused with 409 where another one was taken in."""
    given: dict[str, float] = {}
    value, last = body["value"], None
    for event in history:
        if event.kind != "rewarded":
            continue
        before, last = event.body, event
        if "reward_id" in body and before.get("reward_id") == body["reward_id"] and before["value"] != value:
            raise Refused(409, f"reward_id = {body['reward_id']!r} was given with another value; it belongs to one reward.", "reward_id")
        if before == body or (before["value"] == value and not {"reward_id"} <= before.keys() & body.keys()):
            return event
        given |= before["value"] if isinstance(before["value"], dict) else {}
    if last is None:
        return None
    if not isinstance(value, dict) or any(arm in given and given[arm] != number for arm, number in value.items()):
        raise Refused(409, f"decision_id = {last.key!r} was rewarded otherwise; a decision takes one reward.", "value")
    return last if value.keys() <= given.keys() else None


def too_late(desk: Desk, id: str, history: list[Event], body: Json) -> Refused:
    """Why a closed decision takes no reward; what comes after the window is logged, once."""
    ended = ending(history)
    if ended.kind == "cancelled":
        return Refused(409, f"decision_id = {id!r} was cancelled; it takes no reward.", "decision_id")
    if ended.kind == "closed":  # nothing more of this subject goes into the log
        return Refused(
            410, f"decision_id = {id!r} was closed: {ended.body['why']}; it takes no reward, and none was logged.", "decision_id"
        )
    if not any(event.kind == "late" and event.body == body for event in history):
        desk.record("late", body, id)
    return Refused(
        410, f"decision_id = {id!r} waited for its reward until {stamp(ended.time)}; this one was logged, not learned.", "decision_id"
    )


# Rollout -------------------------------------------------------------------------------------------------------------------


def follow_rules(desk: Desk) -> None:
    """Change the mode where a rule of the rollout says so."""
    rollout = desk.live.rollout
    asked = rollout.due()
    if asked is not None:
        mode, why, held = asked
        desk.record("mode changed", {"mode": mode, "share": rollout.share, "held": held, "by": "rule", "why": why, "before": rollout.mode})


def change_mode(desk: Desk, change: ModeChange) -> Json:
    """Change the mode by command."""
    live, rollout = desk.live, desk.live.rollout
    live.check_alive()
    if live.spec.oracle is not None:
        raise Refused(409, f"experiment = {live.name!r} plays sets of arms; only single arms are rolled out beside a baseline.", "mode")
    if change.mode != "full" and live.spec.arms is not None and live.spec.baseline is None and rollout.spec.production is None:
        raise Refused(409, f"experiment = {live.name!r} has no baseline, which mode {change.mode} serves; create it with one.", "mode")
    share = rollout.share if change.share is None else change.share
    if (change.mode, share) != (rollout.mode, rollout.share) or rollout.held:
        body = {"mode": change.mode, "share": share, "held": False, "by": "command", "why": change.why, "before": rollout.mode}
        desk.record("mode changed", body)
    return describe_rollout(desk)


def reads(act: Callable[[Desk], Any]) -> Callable[[Desk], Any]:
    """An act that changes nothing, so that what the library refuses is its own answer; the other commands of its group go on."""

    @functools.wraps(act)
    def guarded(desk: Desk) -> Any:
        try:
            return act(desk)
        except ValueError as error:
            raise invalid(error) from None

    return guarded


@reads
def describe_rollout(desk: Desk) -> Json:
    """Mode, rules and evidence."""
    held = desk.live.holdings()
    return desk.live.rollout.report() | {"budget_bound": None if held is None else held["budget_bound"]}


@reads
def standing(desk: Desk) -> Json:
    """All that the certificate and the board need of the live experiment, at one event."""
    live = desk.live
    return describe(desk) | {"holdings": live.holdings(), "rollout": live.rollout.report(), "identified": identification(live.session)}


def identification(session: Session) -> Json | None:
    """How far an identification policy is: its bounds by arm and what it says; None for other policies, and where it says nothing."""
    if not type(session.policy).TRAITS.stops or session.names is None:
        return None
    try:
        found, told = session.recommend(), session.explain()
    except ValueError:  # its estimates broke down, or it does not play on without some arm
        return None
    named = {side: dict(zip(session.names, np.asarray(told[side]).tolist(), strict=True)) for side in ("lower", "upper")}
    numbers = {name: float(found.get(name, math.nan)) for name in ("gap_bound", "samples_remaining")}
    known = {name: value if math.isfinite(value) else None for name, value in numbers.items()}
    return known | {"arm": session.names[found["arm"]], "status": found["status"], **named}


# Reading -------------------------------------------------------------------------------------------------------------------


@reads
def glimpse(desk: Desk) -> Session:
    """A view of the session that another thread may ask for explanations."""
    return desk.live.session.view()


def list_open(desk: Desk) -> Json:
    """Open decisions, the first to expire first."""
    first = itertools.islice(desk.live.open.items(), MOST)
    listed = [{"id": id, "expires_at": stamp(each.deadline), "deferred": each.deferred} for id, each in first]
    return {"open": listed, "total": len(desk.live.open)}
