"""Commands of clients to an experiment, run in the writer's thread within a group's transaction.
Every one is safe to repeat."""

import asyncio
import functools
import gc
import itertools
import math
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from typing import Generic, TypeVar

import numpy as np
import sqlalchemy as sa

from tightrope import Session
from tightrope.extend import policy_to_spec

from . import JsonObject, events, transfer
from .certificate import certificate
from .errors import MICROSECONDS, Refused, invalid, timestamp
from .events import OpenDecision
from .experiment import Experiment, decide as draw
from .log import Author, ExperimentJournal, LogEntry, snapshots
from .recovery import Snapshot, write_snapshot
from .requests import MOST_ITEMS, ArmChange, ArmsRequest, DecisionRequest, ModeChange, RewardRequest
from .service import FEW_ARMS, Service, check_growth, common_specs, warm_up
from .spec import ArmSpec, ExperimentSpec
from .writer import UNFINISHED, Transaction, Unfinished

# items of a batch whose ids are looked up together, and decisions that are blanked together
CHUNK = 200
SLACK = MICROSECONDS  # by which a time server may set a clock back

T = TypeVar("T")


# Experiments --------------------------------------------------------------------------------------


def create(transaction: Transaction, spec: ExperimentSpec) -> tuple[bool, JsonObject]:
    if not transaction.experiment.is_of(spec):
        raise Refused(
            409,
            f"experiment = {spec.name!r} exists with another spec; choose another name.",
            "name",
        )
    return any(entry.kind == "created" for entry in transaction.owned.new), describe(transaction)


def describe(transaction: Transaction) -> JsonObject:
    return summary(transaction.owned.journal)


def summary(journal: ExperimentJournal) -> JsonObject:
    experiment = journal.experiment
    return {
        "name": experiment.name,
        "status": experiment.status,
        "mode": experiment.rollout.mode,
        "spec": experiment.began.spec,
        "policy": policy_to_spec(experiment.session.policy),
        "arms": list(experiment.arms()),
        "decisions": experiment.session.decided,
        "rewards": experiment.session.rounds,
        "open": len(experiment.open),
        "seq": experiment.seq,
        "digest": journal.digest.hex(),
    }


STATUS_CHANGES: dict[
    str, tuple[events.Event, str, str]
] = {  # event, the status it leads to, the only status before it ("": any)
    "pause": (events.Paused(), "paused", "running"),
    "resume": (events.Resumed(), "running", "paused"),
    "archive": (events.Archived(), "archived", ""),
}


def change_status(transaction: Transaction, what: str) -> JsonObject:
    if check_status_change(transaction, what):
        transaction.record(STATUS_CHANGES[what][0])
    return describe(transaction)


def check_status_change(transaction: Transaction, what: str) -> bool:
    _, after, before = STATUS_CHANGES[what]
    experiment = transaction.experiment
    if experiment.status != after and before and experiment.status != before:
        raise Refused(
            409,
            f"experiment = {experiment.name!r} is {experiment.status}; {what} it only while it is "
            f"{before}.",
            "experiment",
        )
    return experiment.status != after


def add_arms(transaction: Transaction, request: ArmsRequest) -> JsonObject:
    """Add arms; those that are there already with the same features are left alone, so that a retry
    is safe."""
    transaction.experiment.check_alive()
    numbers = transaction.experiment.numbers
    for arm in request.arms:
        if arm.id in numbers:
            check_same(transaction.experiment, arm)
        elif arm.point is not None and transaction.experiment.session.arms.points is None:
            raise Refused(  # where arms have positions, the session refuses any new arm
                422,
                f"arms has a point for {arm.id!r}, but the arms of experiment "
                f"{transaction.experiment.name!r} have no positions; leave it out.",
                "arms",
            )
    fresh = [arm for arm in request.arms if arm.id not in numbers]
    if fresh and len(fresh) < len(request.arms):
        present = next(arm.id for arm in request.arms if arm.id in numbers)
        raise Refused(409, f"arms has {present!r}, which is there already; leave it out.", "arms")
    if fresh:
        record(transaction, events.ArmsAdded([arm.model_dump(exclude_none=True) for arm in fresh]))
    return {"arms": list(transaction.experiment.arms())}


def added_arms(experiment: Experiment) -> list[ArmSpec]:
    first, rows = len(experiment.spec.arms or ()), experiment.session.arms.features
    ids = list(experiment.numbers)[first:]
    return [
        ArmSpec(id=id, features=None if rows is None else rows[first + k].tolist())
        for k, id in enumerate(ids)
    ]


def check_same(experiment: Experiment, arm: ArmSpec) -> None:
    k, arms = experiment.number("arms", arm.id), experiment.session.arms
    for what, vector, own in (
        ("features", arm.features, arms.features),
        ("point", arm.point, arms.points),
    ):
        if not np.array_equal(
            np.ravel([] if vector is None else vector), np.ravel([] if own is None else own[k])
        ):
            raise Refused(
                409,
                f"arms has {arm.id!r} with other {what} than it was made with; say the same "
                "again, or give the new arm a new id.",
                "arms",
            )


def change_arm(transaction: Transaction, arm: str, change: ArmChange) -> JsonObject:
    if check_arm_change(transaction, arm, change):
        record(transaction, events.ArmChanged(arm, change.status), 409)
    return {"id": arm, "status": change.status}


def check_arm_change(transaction: Transaction, arm: str, change: ArmChange) -> bool:
    transaction.experiment.check_alive()
    known_arm = next((one for one in transaction.experiment.arms() if one["id"] == arm), None)
    if known_arm is None:
        raise Refused(
            404,
            f"arm = {arm!r} is not an arm of experiment {transaction.experiment.name!r}.",
            "arm",
        )
    baseline = transaction.experiment.spec.baseline
    if change.status != "active" and arm in (
        [baseline] if isinstance(baseline, str) else baseline or ()
    ):
        raise Refused(
            409,
            f"arm = {arm!r} is the baseline, which the experiment falls back to; it must stay.",
            "arm",
        )
    production = transaction.experiment.rollout.spec.production or {}
    if change.status != "active" and arm in production:
        active = {one["id"] for one in transaction.experiment.arms() if one["status"] == "active"}
        if not active & (production.keys() - {arm}):
            raise Refused(
                409,
                f"arm = {arm!r} is the last arm of rollout.production that is played, which the "
                "experiment falls back to; restore another one first.",
                "arm",
            )
    return bool(known_arm["status"] != change.status)


def record(transaction: Transaction, event: events.Event, status: int = 422) -> LogEntry:
    """Make an event happen that the session may refuse, with nothing changed. status: of the
    refusal."""
    try:
        return transaction.record(event)
    except ValueError as error:
        added = (
            [str(arm["id"]) for arm in event.arms] if isinstance(event, events.ArmsAdded) else []
        )
        refused = invalid(error, [*transaction.experiment.numbers, *added])
        refused.status = status
        raise refused from None


# Decisions ----------------------------------------------------------------------------------------


def decide(transaction: Transaction, id: str, request: DecisionRequest) -> JsonObject:
    if request.id is not None:  # ids that the service makes are new
        entry_before = decision_entry(transaction.entries(id))
        if entry_before is not None:
            event = entry_before.event
            assert isinstance(event, events.Decided)
            if entry_before.blanked:
                raise Refused(
                    410,
                    f"id = {id!r} was decided, and the data of its subject was erased since; its "
                    "answer is gone.",
                    "id",
                )
            if event.asked != transaction.experiment.question(request):
                raise Refused(
                    409,
                    f"id = {id!r} was decided for another request; an id belongs to one decision.",
                    "id",
                )
            return decision_answer(event, entry_before.seq)
    sticky_answer = assigned(transaction, request)
    if sticky_answer is not None:
        return sticky_answer
    watched = transaction.experiment.watched
    decided = draw(transaction.experiment, id, request, transaction.now)
    entry = transaction.record(decided)
    if watched or decided.budget is not None:
        follow_rules(transaction)
    return decision_answer(decided, entry.seq)


def assigned(transaction: Transaction, request: DecisionRequest) -> JsonObject | None:
    """The answer of the decision that a request's subject goes on with; None where it is decided
    for anew: the first time, after its time, and where its arm cannot be played."""
    experiment, subject = transaction.experiment, request.subject
    if experiment.spec.sticky is None or subject is None:
        return None
    assignment = experiment.assignments.current(subject, transaction.now)
    if assignment is None:
        return None
    experiment.check_running()
    round, number = (
        experiment.round(experiment.question(request)),
        experiment.numbers[assignment.arm],
    )
    if number in experiment.retired_numbers() or not (
        round.eligible is None or round.eligible[number]
    ):
        return None
    entry, waits = (
        decision_entry(transaction.entries(assignment.decision)),
        experiment.open.get(assignment.decision),
    )
    assert entry is not None and isinstance(entry.event, events.Decided)
    if waits is not None and waits.deferred and not request.deferred:  # now it is shown
        transaction.record(
            events.Activated(assignment.decision, experiment.deadline(transaction.now))
        )
    return decision_answer(entry.event, entry.seq)


class Each(Generic[T]):
    """An act, done in parts: the items of a batch, each done or refused by itself; some were
    refused when they were read.

    items: pairs of an id, under which the log may know the decision (None: it is new), and what
    `do` takes.
    """

    def __init__(
        self,
        items: Sequence[tuple[str | None, T | Refused]],
        do: Callable[[Transaction, T], JsonObject],
    ) -> None:
        self.items, self.do = items, do
        self.results: list[JsonObject] = []
        self.written = 0  # items whose events are on disk

    def __call__(self, transaction: Transaction) -> Unfinished | JsonObject:
        results = self.results
        self.written = len(results)
        while len(results) < len(self.items):
            chunk = self.items[len(results) : len(results) + CHUNK]
            transaction.look_up(
                id for id, _ in chunk if id is not None and id not in transaction.experiment.open
            )
            for _, item in chunk:
                try:
                    if isinstance(item, Refused):
                        raise item
                    results.append({"status": 200, "answer": self.do(transaction, item)})
                except Refused as error:
                    results.append({"status": error.status, **error.body()})
                if transaction.over and len(results) < len(self.items):
                    return UNFINISHED
        return {"results": results}

    def failed(self, refused: Refused) -> JsonObject | Refused:
        if not self.written:
            return refused
        other = {"status": refused.status, **refused.body()}
        left = len(self.items) - self.written
        return {"results": [*self.results[: self.written], *[other] * left]}


def decision_entry(entries: list[LogEntry]) -> LogEntry | None:
    return next((entry for entry in entries if entry.kind == "decided"), None)


def decision_answer(event: events.Decided, seq: int) -> JsonObject:
    return {
        "id": event.decision,
        "arm": event.name,
        "propensity": event.propensity,
        "propensity_se": event.propensity_se,
        "draws": event.draws,
        "reason": event.reason,
        "event": seq,
        "policy_version": event.policy_version,
        "expires_at": timestamp(event.deadline),
    }


def open_decision(transaction: Transaction, id: str) -> OpenDecision | None:
    """The open decision of an id; one whose window has just closed is closed first."""
    decision = transaction.experiment.open.get(id)
    if (
        decision is not None
        and decision.deadline is not None
        and decision.deadline <= transaction.now
    ):
        transaction.record(
            transaction.experiment.close(id)
        )  # those before it may be many: they have their own turn
        decision = None
    return decision


ENDS = ("rewarded", "expired", "cancelled", "closed")


def ending(entries: list[LogEntry]) -> LogEntry:
    """The entry that ended a decision; a late reward may stand behind it."""
    return next(entry for entry in reversed(entries) if entry.kind in ENDS)


def entries_about(transaction: Transaction, id: str) -> list[LogEntry]:
    entries = transaction.entries(id)
    if decision_entry(entries) is None:
        raise Refused(
            404,
            f"id = {id!r} is not a decision of experiment {transaction.experiment.name!r}.",
            "id",
        )
    return entries


def activate(transaction: Transaction, id: str) -> JsonObject:
    transaction.experiment.check_alive()
    decision = open_decision(transaction, id)
    if decision is None:
        how = ending(entries_about(transaction, id)).kind
        if how == "rewarded":
            return {"id": id, "expires_at": None}
        raise Refused(410, f"id = {id!r} was {how}; it cannot be activated any more.", "id")
    if decision.deferred:
        transaction.record(events.Activated(id, transaction.experiment.deadline(transaction.now)))
    return {"id": id, "expires_at": timestamp(transaction.experiment.open[id].deadline)}


def cancel(transaction: Transaction, id: str) -> JsonObject:
    """It was never shown: the policy is as it was without it, but for its random stream. Later than
    `cancel_within` it counts as shown: who could still take back what did not sell would make every
    promise false."""
    transaction.experiment.check_alive()
    decision = open_decision(transaction, id)
    if decision is None:
        how = ending(entries_about(transaction, id)).kind
        if how != "cancelled":
            raise Refused(
                409, f"id = {id!r} was {how}; only an open decision can be cancelled.", "id"
            )
    elif decision.shown == 0:
        raise Refused(
            409, f"id = {id!r} was activated, so it was shown; report its reward instead.", "id"
        )
    elif decision.shown is not None and counts_as_shown(transaction, decision):
        remedy = "report its reward, or create the experiment with a longer cancel_within"
        raise Refused(
            409,
            f"id = {id!r} could be cancelled until {timestamp(decision.shown)}; {remedy}.",
            "id",
        )
    else:
        record(transaction, events.Cancelled(id), 409)
    return {"id": id, "cancelled": True}


def counts_as_shown(transaction: Transaction, decision: OpenDecision) -> bool:
    """Whether a decision is older than `cancel_within`, or may be: where the clock is behind the
    time at which it was made, it was set back since, and nobody knows how long ago that was."""
    within = transaction.experiment.spec.cancel_within
    assert decision.shown is not None and within is not None
    clock_time = decision.shown - int(within * MICROSECONDS)
    return (
        not clock_time - SLACK <= transaction.now <= decision.shown
        or decision.seq <= transaction.owned.shown
    )


# Rewards ------------------------------------------------------------------------------------------


def reward(transaction: Transaction, request: RewardRequest) -> JsonObject:
    transaction.experiment.check_alive()
    sticky = transaction.experiment.spec.sticky
    if sticky is not None and sticky.reward == "sum":
        return add_reward(transaction, request)
    value, original = transaction.experiment.in_range(request.given)
    id, event = (
        request.decision_id,
        events.Rewarded(request.decision_id, value, request.reward_id, original),
    )
    decision = waiting_for_reward(transaction, id)
    if decision is None or isinstance(event.value, dict):
        entries = entries_about(transaction, id)
        before = equal_reward(entries, event)
        if before is not None:
            return {"decision_id": id, "learned": False, "event": before.seq}
        if decision is None:
            raise too_late(transaction, entries, event)
    return {"decision_id": id, "learned": True, "event": record(transaction, event).seq}


def waiting_for_reward(transaction: Transaction, id: str) -> OpenDecision | None:
    decision = open_decision(transaction, id)
    if decision is not None and decision.deferred:
        raise Refused(
            409,
            f"decision_id = {id!r} is deferred and was not activated; activate it before its "
            "reward.",
            "decision_id",
        )
    return decision


def add_reward(transaction: Transaction, request: RewardRequest) -> JsonObject:
    experiment, id, value, name = (
        transaction.experiment,
        request.decision_id,
        request.given,
        request.reward_id,
    )
    if isinstance(value, dict):
        raise Refused(
            422,
            f"value is of several arms, but decisions of experiment {experiment.name!r} play one; "
            "give a number.",
            "value",
        )
    if name is None:
        raise Refused(
            422,
            f"reward_id is missing: rewards of experiment {experiment.name!r} are summed, and "
            "without it a retry would count twice; send your own id of each, such as that of the "
            "order.",
            "reward_id",
        )
    decision, entries = waiting_for_reward(transaction, id), entries_about(transaction, id)
    for entry in entries:
        before = entry.event
        if isinstance(before, events.Added | events.Late) and before.reward_id == name:
            if (before.value if isinstance(before, events.Added) else before.said) != value:
                raise Refused(
                    409,
                    f"reward_id = {name!r} was given with another value; it belongs to one reward.",
                    "reward_id",
                )
            if isinstance(before, events.Added):
                return {"decision_id": id, "learned": False, "event": entry.seq}
    if decision is None:
        raise too_late(transaction, entries, events.Rewarded(id, value, name))
    _, said = experiment.assignments.totals.get(id, (0.0, 0.0))
    total, _ = experiment.in_range(said + value)
    assert isinstance(total, float)
    return {
        "decision_id": id,
        "learned": True,
        "event": record(transaction, events.Added(id, value, name, total)).seq,
    }


def equal_reward(entries: list[LogEntry], event: events.Rewarded) -> LogEntry | None:
    """The entry that took in the same reward before. Refused with 409 where another one was taken
    in."""
    known_by_arm: dict[str, float] = {}
    value, last = event.said, None
    for entry in entries:
        before = entry.event
        if not isinstance(before, events.Rewarded):
            continue
        last = entry
        if (
            event.reward_id is not None
            and before.reward_id == event.reward_id
            and before.said != value
        ):
            raise Refused(
                409,
                f"reward_id = {event.reward_id!r} was given with another value; it belongs to one "
                "reward.",
                "reward_id",
            )
        if before == event or (
            before.said == value and (event.reward_id is None or before.reward_id is None)
        ):
            return entry
        known_by_arm |= before.said if isinstance(before.said, dict) else {}
    if last is None:
        return None
    if not isinstance(value, dict) or any(
        arm in known_by_arm and known_by_arm[arm] != number for arm, number in value.items()
    ):
        raise Refused(
            409,
            f"decision_id = {event.decision!r} was rewarded otherwise; a decision takes one "
            "reward.",
            "value",
        )
    return last if value.keys() <= known_by_arm.keys() else None


def too_late(
    transaction: Transaction, entries: list[LogEntry], reward_event: events.Rewarded
) -> Refused:
    """Why a closed decision takes no reward; what comes after the window is logged, once."""
    ended, id = ending(entries), reward_event.decision
    event = ended.event
    if isinstance(event, events.Cancelled):
        return Refused(
            409, f"decision_id = {id!r} was cancelled; it takes no reward.", "decision_id"
        )
    if isinstance(event, events.Closed):  # nothing more of this subject goes into the log
        return Refused(
            410,
            f"decision_id = {id!r} was closed: {event.why}; it takes no reward, and none was "
            "logged.",
            "decision_id",
        )
    entry = decision_entry(entries)
    arm = (
        entry.event.name
        if entry is not None
        and isinstance(entry.event, events.Decided)
        and isinstance(entry.event.name, str)
        else None
    )
    late = events.Late(id, reward_event.value, reward_event.reward_id, reward_event.given, arm)
    if all(entry.kind != "late" or entry.event != late for entry in entries):
        transaction.record(late)
    return Refused(
        410,
        f"decision_id = {id!r} waited for its reward until {timestamp(ended.time)}; this one was "
        "logged, not learned.",
        "decision_id",
    )


# Erasure ------------------------------------------------------------------------------------------


class Erasure:
    """An act, done in parts: blank what the log knows of a subject, features, marks and the subject
    itself of every decision. Safe to repeat."""

    def __init__(self, subject: str) -> None:
        self.subject = subject
        self.transaction: Transaction  # of the part that is under way
        self.parts = self._work()

    def __call__(self, transaction: Transaction) -> Unfinished | JsonObject:
        self.transaction = transaction
        try:
            return next(self.parts)
        except StopIteration as end:
            done: JsonObject = end.value
            return done

    def _work(self) -> Generator[Unfinished, None, JsonObject]:
        blanked: list[tuple[int, str, bool]] = []  # number, digest, whether the round goes
        longest, light = 0.0, self.transaction.owned.light
        for chunk in self._decisions():
            at = self.transaction
            if light and not blanked:
                # before anything is blanked, which cannot be taken back alone
                try:
                    Snapshot.of(at.owned.journal).check(at.experiment.name)
                except ValueError as error:
                    raise self._unsaveable(error) from None
            for entry in transfer.entries_at(at.connection, at.owned.row, chunk):
                one = transfer.without_subject(entry, at.experiment)
                blanked.append((one.seq, one.digest, one.round))
                longest = max(longest, one.longest)
                if entry.decision in at.experiment.open:
                    at.record(events.Closed(str(entry.decision), "its subject was erased"))
            if at.over:
                yield UNFINISHED
        if not blanked:
            return {"erased": 0, "event": None}
        rounds = [seq for seq, _, gone in blanked if gone]
        event = events.Erased([[seq, digest] for seq, digest, _ in blanked], rounds, longest)
        sticky = (
            self.transaction.experiment.spec.sticky is not None
        )  # then snapshots name the subject, also where no round goes
        since = blanked[0][0] if sticky else rounds[0] if rounds else None
        if since is None:
            seq = self.transaction.record(event).seq
        elif light:
            seq = self.transaction.record(event).seq
            self._keep(Snapshot.of(self.transaction.owned.journal), since)
        else:
            at = self.transaction
            at.flush()
            behind = at.experiment.seq
            yield UNFINISHED  # until what was closed is on disk
            copied = at.writer.copies.submit(
                at.writer.copied, at.experiment.name, at.owned.row, behind, event
            )
            yield Unfinished(copied)
            try:
                snapshot = copied.result()
            except ValueError as error:
                raise self._unsaveable(error) from None
            seq = self.transaction.record(event).seq
            self._keep(snapshot, since)
        at = self.transaction
        at.flush()
        if at.writer.database.sqlite:
            transfer.owe(at.connection, at.now)
        for first in range(0, len(blanked), CHUNK):
            at = self.transaction
            chunk = [seq for seq, _, _ in blanked[first : first + CHUNK]]
            entries = transfer.entries_at(at.connection, at.owned.row, chunk)
            transfer.blank(
                at.connection,
                at.owned.row,
                [transfer.without_subject(one, at.experiment) for one in entries],
            )
            if at.over:
                yield UNFINISHED
        return {"erased": len(blanked), "event": seq}

    def _decisions(self) -> Iterator[list[int]]:
        last = 0
        while True:
            at = self.transaction
            at.flush()
            listed = transfer.decisions_of_subject(at.connection, at.owned.row, self.subject, last)
            if not listed:
                return
            last = listed[-1]
            for first in range(0, len(listed), CHUNK):
                yield listed[first : first + CHUNK]

    def _unsaveable(self, error: ValueError) -> Refused:
        return Refused(
            409,
            f"experiment = {self.transaction.experiment.name!r} has a state that cannot be saved: "
            f"{error}. Nothing was erased, because nothing could go on from there; archive the "
            "experiment, and export and delete its log.",
            "experiment",
        )

    def _keep(self, snapshot: Snapshot, first: int) -> None:
        """Let replays begin behind what is blanked. first: the first event that goes."""
        at = self.transaction
        at.flush()
        at.connection.execute(
            sa.delete(snapshots).where(
                snapshots.c.experiment == at.owned.row, snapshots.c.seq >= first
            )
        )
        write_snapshot(at.connection, at.owned.row, snapshot)
        at.owned.saved = snapshot.seq


# Rollout ------------------------------------------------------------------------------------------


def follow_rules(transaction: Transaction) -> None:
    rollout = transaction.experiment.rollout
    rule = rollout.rule_due()
    if rule is not None:
        transaction.record(
            events.ModeChanged(
                rule.mode, rollout.share, rule.sent_back, "rule", rule.why, rollout.mode
            )
        )


def change_mode(
    transaction: Transaction, change: ModeChange, expected: str | None = None
) -> JsonObject:
    """Change the mode by command. expected: the mode that the client takes to be in force; None:
    any."""
    rollout = transaction.experiment.rollout
    if expected is not None and expected != rollout.mode:
        raise Refused(
            409,
            f"mode was {expected!r} when you were asked, and is {rollout.mode!r} now; look again, "
            "then decide.",
            "mode",
        )
    if check_mode_change(transaction, change):
        share = rollout.share if change.share is None else change.share
        transaction.record(
            events.ModeChanged(change.mode, share, False, "command", change.why, rollout.mode)
        )
    return describe_rollout(transaction)


def check_mode_change(transaction: Transaction, change: ModeChange) -> bool:
    experiment, rollout = transaction.experiment, transaction.experiment.rollout
    experiment.check_alive()
    if experiment.spec.oracle is not None:
        raise Refused(
            409,
            f"experiment = {experiment.name!r} plays sets of arms; only single arms are rolled "
            "out beside a baseline.",
            "mode",
        )
    if (
        change.mode != "full"
        and experiment.spec.arms is not None
        and experiment.spec.baseline is None
        and rollout.spec.production is None
    ):
        raise Refused(
            409,
            f"experiment = {experiment.name!r} has no baseline, which mode {change.mode} serves; "
            "create it with one.",
            "mode",
        )
    share = rollout.share if change.share is None else change.share
    return (change.mode, share) != (rollout.mode, rollout.share) or rollout.sent_back


def reads(act: Callable[[Transaction], T]) -> Callable[[Transaction], T]:
    """An act that changes nothing, so that what the library refuses is its own answer; the other
    commands of its group go on."""

    @functools.wraps(act)
    def guarded(transaction: Transaction) -> T:
        try:
            return act(transaction)
        except ValueError as error:
            raise invalid(error) from None

    return guarded


@reads
def segment_of_promises(transaction: Transaction) -> str | None:
    return transaction.experiment.by


@reads
def describe_rollout(transaction: Transaction) -> JsonObject:
    experiment = transaction.experiment
    bounds = experiment.budgets()
    several = experiment.spec.metrics is not None
    bound = bounds if several else min(bounds.values(), default=None)
    return experiment.rollout.report() | {"budget_bound": bound}


@reads
def describe_standing(transaction: Transaction) -> JsonObject:
    """All that the certificate and the board need of the live experiment, at one event."""
    experiment = transaction.experiment
    return describe(transaction) | {
        "holdings": experiment.holdings(),
        "rollout": experiment.rollout.report(),
        "share": experiment.rollout.share,
        "clock_behind": max(experiment.time - transaction.now, 0) / MICROSECONDS,
        "identified": identification(experiment.session),
    }


def identification(session: Session) -> JsonObject | None:
    """How far an identification policy is: its bounds by arm and what it says; None for other
    policies, and where it says nothing."""
    if not type(session.policy).TRAITS.stops or session.names is None:
        return None
    try:
        recommended, explained = session.recommend(), session.explain()
    except ValueError:  # its estimates broke down, or it does not play on without some arm
        return None
    bounds = {
        side: dict(zip(session.names, np.asarray(explained[side]).tolist(), strict=True))
        for side in ("lower", "upper")
    }
    gap, left, *ends = (
        float(value) if math.isfinite(value) else None
        for value in (
            recommended.get("gap_bound", math.nan),
            recommended.get("samples_remaining", math.nan),
            *recommended.get("samples_range", (math.nan, math.nan)),
        )
    )
    return bounds | {
        "arm": session.names[recommended["arm"]],
        "status": recommended["status"],
        "gap_bound": gap,
        "samples_remaining": left,
        "samples_range": ends,
    }


# Reading ------------------------------------------------------------------------------------------


@reads
def session_view(transaction: Transaction) -> Session:
    return transaction.experiment.session.view()


def list_open(transaction: Transaction) -> JsonObject:
    waiting = transaction.experiment.open
    first = itertools.islice(waiting.items(), MOST_ITEMS)
    return {
        "open": [
            {"id": id, "expires_at": timestamp(each.deadline), "deferred": each.deferred}
            for id, each in first
        ],
        "total": len(waiting),
    }


# Changes that are tried beside the writer before they are made: a new experiment, and arms that
# come later.


SOON = 3.0  # seconds that whoever creates an experiment waits in silence


async def compile_common(service: Service) -> None:
    """Compile what experiments of the common kinds need, in a thread for which no new experiment
    waits, and say when that is done."""
    began = said = time.monotonic()
    for spec in common_specs():
        work = asyncio.ensure_future(service.in_thread("start", warm_up, spec))
        while not (await asyncio.wait([work], timeout=max(0.0, said + SOON - time.monotonic())))[0]:
            said = time.monotonic()  # several kinds may be fast, and none of them say anything
            print(
                f"Compiling {spec.described_policy['policy']}, once on a machine: "
                f"{said - began:.0f} s",
                flush=True,
            )
        await work
    print(f"Ready after {time.monotonic() - began:.0f} s", flush=True)
    gc.collect()
    gc.freeze()  # what is loaded stays, and a look through all of it would halt every answer


async def create_soon(
    service: Service, spec: ExperimentSpec, author: Author
) -> tuple[bool, JsonObject] | None:
    """The same as `create_experiment`; None where the policy has yet to be compiled. The experiment
    then begins without the caller."""
    text = spec.model_dump_json()
    work = service.creating.get(text)
    if work is None:
        work = service.creating[text] = asyncio.ensure_future(
            create_experiment(service, spec, author)
        )
        work.add_done_callback(
            lambda done: (service.creating.pop(text), done.cancelled() or done.exception())
        )
    await asyncio.wait([work], timeout=SOON if service.settings.own_process else None)
    return work.result() if work.done() else None


async def create_experiment(
    service: Service, spec: ExperimentSpec, author: Author
) -> tuple[bool, JsonObject]:
    """The experiment of a spec, compiled before it begins, and whether it is new. Raises
    Refused."""
    try:
        await service.in_thread("warm-up", warm_up, spec)
    except ValueError as error:
        raise invalid(error, [arm.id for arm in spec.arms or ()]) from None
    answer: tuple[bool, JsonObject] = await service.ask(
        spec.name, lambda transaction: create(transaction, spec), spec=spec, author=author
    )
    return answer


async def add_arms_in_time(
    service: Service, name: str, request: ArmsRequest, author: Author
) -> JsonObject:
    """All arms, also the new ones. Raises Refused where they are too many to decide in time."""
    spec, more = await service.ask(name, lambda at: (at.experiment.spec, added_arms(at.experiment)))
    ids = {arm.id for arm in (*(spec.arms or ()), *more)}
    more += [arm for arm in request.arms if arm.id not in ids]
    try:
        if (
            len(spec.arms or ()) + len(more) >= FEW_ARMS
        ):  # a few arms need not wait for what is being compiled
            await service.in_thread("warm-up", check_growth, spec, more)
    except ValueError as error:
        raise invalid(error, [arm.id for arm in (*(spec.arms or ()), *more)]) from None
    arms: JsonObject = await service.ask(
        name, lambda transaction: add_arms(transaction, request), author=author
    )
    return arms


# Issuing certificates: the writer says how the experiment stands, the log tells its history up to
# that event.


async def issue(service: Service, name: str) -> JsonObject:
    standing = await service.ask(name, describe_standing)
    key, now = service.private_key, service.settings.clock
    return await service.read_history(
        name,
        standing["seq"],
        lambda history: certificate(standing, history, key, now()),
        exactly=True,
    )
