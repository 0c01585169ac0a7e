"""The state of an experiment, and `apply`: how each kind of event changes it. Live and in a replay
it is the same method."""

import heapq
import math
from collections.abc import Iterator
from operator import itemgetter
from typing import NamedTuple

import numpy as np

from tightrope import Decision, Session
from tightrope.extend import Context, flatten, policy_from_spec, policy_to_spec
from tightrope.numerics.states import copied
from tightrope.policies.conservative.holdings import holdings, ledger_of

from . import JsonObject, events
from .errors import MICROSECONDS, Refused, about_one_row, invalid
from .events import (
    EMPTY,
    Decided,
    OpenDecision,
    OpenDecisions,
    RolloutChoice,
    Round,
    arm_number,
    is_one_row,
    lacks_baseline,
    read_round,
)
from .history import Mask, MaskedBudget, NextRound, left_out, segment_values, told_by
from .requests import DecisionRequest
from .rollout import MODES, PLAYED, Rollout
from .spec import (
    GREATEST,
    LEAST,
    MODERATE,
    OTHER,
    REWARD,
    ArmSpec,
    ExperimentSpec,
    FeatureReader,
    PromiseSpec,
    check_size,
    check_spec,
    completed,
    features_of,
    made_policy,
    made_session,
    numbers_of,
)

# Sticky assignment: which decision a subject goes on with, and what has come of those whose rewards
# are summed.


class KeptDecision(NamedTuple):
    """A subject's decision. seq: of the event that made it. until: when the subject is decided for
    anew, microseconds since 1970."""

    decision: str
    seq: int
    arm: str
    until: int


class Assignments(dict[str, KeptDecision]):
    """Assignments by subject. Memory grows with the subjects of the last `lasts` seconds.

    totals: by open decision, where rewards are summed, their sum within the experiment's range, and
    as clients said it.
    """

    def __init__(self) -> None:
        super().__init__()
        self.totals: dict[str, tuple[float, float]] = {}
        self._subjects: dict[int, str] = {}  # by the event that made the decision
        self._ends: list[
            tuple[int, int]
        ] = []  # a heap: when, and that event; also of those that were forgotten

    def begin(self, subject: str, assignment: KeptDecision) -> None:
        self.forget(subject)
        self[subject] = assignment
        self._subjects[assignment.seq] = subject
        heapq.heappush(self._ends, (assignment.until, assignment.seq))

    def current(self, subject: str, now: int) -> KeptDecision | None:
        decision = self.get(subject)
        return decision if decision is not None and now < decision.until else None

    def forget(self, subject: str) -> None:
        decision = self.pop(subject, None)
        if decision is not None:
            del self._subjects[decision.seq]

    def forget_event(self, seq: int) -> None:
        if seq in self._subjects:
            self.forget(self._subjects[seq])

    def forget_all(self) -> None:
        self.clear()
        self._subjects.clear()
        self._ends.clear()

    def drop_old(self, now: int) -> None:
        """Let go of those whose time is over. Which these are depends on no other subject, as one
        of them may be erased."""
        while self._ends and self._ends[0][0] <= now:
            self.forget_event(heapq.heappop(self._ends)[1])

    def pack(self) -> JsonObject:
        return {
            "subjects": [[subject, *one] for subject, one in self.items()],
            "totals": [[id, *both] for id, both in self.totals.items()],
        }

    def unpack(self, packed: JsonObject) -> None:
        for subject, *fields in packed["subjects"]:
            self.begin(subject, KeptDecision(*fields))
        self.totals = {id: (total, said) for id, total, said in packed["totals"]}


# decisions after which the log notes the budget, and the rules of the rollout look, at least
WATCH = 20
WORKED_ON = (
    "features",
    "transposed",
)  # arrays of a state that hold the features of the last round, where each has its own


class Experiment(events.Fold):
    """One experiment in memory, as it is after event `seq`. Changed by `apply` only, and by
    `decide`, which draws from the session.

    Memory grows with open decisions only. Not thread-safe: one writer at a time.
    """

    def __init__(self, name: str) -> None:
        super().__init__()
        self.name = name
        self.began: events.Created
        self.spec: ExperimentSpec
        self.session: Session
        self.rollout: Rollout
        self.reward_range: tuple[float, float] | None
        self.reader: FeatureReader | None = None  # of values by name, where the spec has features
        self.masked: set[str] = set()
        self.objective: str  # the metric that is learned
        self.by: str | None  # the segment that promises are by, and its values
        self.values: list[str] | None
        self.promised: list[JsonObject] = []  # the metric of each promise, and its clause
        # of each promise, where the baseline is one arm with one mean
        self.masked_budgets: list[MaskedBudget] = []
        self.open = OpenDecisions()
        self.came: dict[str, list[str]] = {}  # of open decisions, the metrics that have come
        self.assignments = Assignments()  # of subjects, where the spec has sticky
        self.disagreements = 0  # decisions of a replay whose arm this machine would not have drawn

    def _on_created(self, event: events.Created, time: int) -> None:
        self.adopt(event, made_session(event.completed, policy_from_spec(event.policy)))

    def adopt(self, event: events.Created, session: Session) -> None:
        spec = event.completed
        self.began, self.spec, self.session, self.reward_range = (
            event,
            spec,
            session,
            spec.reward_range,
        )
        self.reader = spec.reader()
        self.rollout = Rollout(spec)
        self.objective, self.by, self.values = spec.names[0], spec.by, spec.values
        report = holdings(session.policy, copied(session.state))
        if report is None:
            return
        promises = spec.kept or [PromiseSpec(alpha=report["alpha"])]
        self.promised = [
            {"metric": one.metric or self.objective, "clause": one.clause(self.objective)}
            for one in promises
        ]
        if spec.baseline_is_comparable:
            shares = [one.share * (len(spec.values or ()) if one.by else 1) for one in promises]
            self.masked_budgets = [
                MaskedBudget(
                    spec.about(one.metric or self.objective),
                    one.by,
                    told,
                    told["delta"] * share / sum(shares),
                )
                for one, told, share in zip(promises, told_by(report), shares, strict=True)
            ]

    def is_of(self, spec: ExperimentSpec) -> bool:
        """Whether it is the experiment of a spec, with what is taken today for what the spec leaves
        out, or with what was taken then."""
        return (
            spec == self.spec
            or ExperimentSpec.model_validate(completed(spec.said(), self.began.defaults))
            == self.spec
        )

    # Questions ------------------------------------------------------------------------------------

    @property
    def numbers(self) -> dict[str, int]:
        return self.session._numbers

    @property
    def watched(self) -> bool:
        """Whether the next decision notes the bound of the budget in any case; the rules look right
        behind it."""
        return self.session.decided % WATCH == 0

    def holdings(self, drawn: NextRound | None = None) -> JsonObject | None:
        """The lower bound of the budget and what it rests on; None where the policy keeps none.
        drawn: a round that the session has drawn, and `apply` has not taken in."""
        if ledger_of(self.session.state) is None:
            return None
        report = holdings(self.session.policy, copied(self.session.state))
        if report is None:
            return None
        told = [
            one | promised for one, promised in zip(told_by(report), self.promised, strict=True)
        ]
        if self.masked_budgets:
            told = [
                budget.corrected(one, drawn)
                for budget, one in zip(self.masked_budgets, told, strict=True)
            ]
        if "promises" not in report:
            return told[0]
        least, failure = min(told, key=itemgetter("budget_bound")), sum(o["failure"] for o in told)
        return least | {"failure": failure, "open": report["open"], "promises": told}

    def budgets(self, drawn: NextRound | None = None) -> dict[str, float]:
        """By metric, the least bound of a promise about it; {} where the policy keeps none."""
        bounds: dict[str, float] = {}
        for one in told_by(self.holdings(drawn)):
            metric, bound = one["metric"], float(one["budget_bound"])
            bounds[metric] = min(bound, bounds.get(metric, math.inf))
        return bounds

    def check_alive(self) -> None:
        if self.status == "archived":
            raise Refused(
                409, f"experiment = {self.name!r} is archived; it can only be read.", "experiment"
            )

    def check_running(self) -> None:
        if self.status != "running":
            remedy = "resume it first" if self.status == "paused" else "it cannot be resumed"
            raise Refused(
                409, f"experiment = {self.name!r} is {self.status}; {remedy}.", "experiment"
            )

    def deadline(self, now: int) -> int | None:
        """When the window of a decision of now closes, in microseconds since 1970."""
        return None if self.spec.window is None else now + int(self.spec.window * MICROSECONDS)

    def round(self, question: JsonObject) -> Round:
        if "context" in question:
            question = question | {
                "context": numbers_of(self.reader, question["context"], self.name)
            }
        round = (
            read_round(question, self.numbers, self.session.catalogue, self.name)
            if question
            else EMPTY
        )
        if self.by is None or self.values is None:
            return round
        return round._replace(
            context=(Context() if round.context is None else round.context)._replace(
                segment=self.values.index(question["segments"][self.by])
            )
        )

    def mask(self, question: JsonObject) -> Mask:
        value = OTHER if self.by is None else question["segments"][self.by]
        return (value, *left_out(question, self.numbers))

    def within_budget(self, question: JsonObject, round: Round) -> Round | None:
        """The round with the baseline alone, where arms are left out and the budget with this mask
        allows no other; None: it does."""
        baseline = self.numbers.get(str(self.spec.baseline))
        if (
            not self.masked_budgets
            or baseline is None
            or self.rollout.mode not in PLAYED
            or self.rollout.spec.production is not None
        ):
            return None
        playable = (
            round.eligible is None or round.eligible[baseline]
        ) and self.spec.baseline not in self.session.retired
        if not playable:
            return None
        mask = self.mask(question)
        if all(budget.allows(mask) for budget in self.masked_budgets):
            return None
        return round._replace(eligible=np.arange(len(self.numbers)) == baseline)

    def question(self, request: DecisionRequest) -> JsonObject:
        """The fields of a request, as the log keeps them: segments by values that the spec
        knows."""
        question = request.question()
        if self.spec.segments is not None:
            return question | {
                "segments": segment_values(self.spec.segments, request.segments, self.name)
            }
        if "segments" in question:
            raise Refused(
                422,
                f"segments was given, but experiment {self.name!r} has none in its spec; leave it "
                "out.",
                "segments",
            )
        return question

    def number(self, field: str, arm: str) -> int:
        return arm_number(field, arm, self.numbers, self.name)

    def retired_numbers(self) -> set[int]:
        return {self.numbers[str(arm)] for arm in self.session.retired}

    def in_range(self, reward: events.Reward) -> tuple[events.Reward, events.Reward | None]:
        """A reward as it is learned, and as it was given where that is something else: clipped to
        the experiment's range. Refused where it is outside and the experiment does not clip."""
        if not isinstance(reward, dict):
            if self.spec.metrics is not None:
                raise Refused(
                    422,
                    f"value = {reward:g} does not say of which metric; send values by name, such "
                    f"as {{{self.objective!r}: {reward:g}}}.",
                    "value",
                )
            value = self.value_in_range(reward, self.reward_range)
            return value, None if value == reward else reward
        values = {}
        for name, number in reward.items():
            limits = self.reward_range
            if self.spec.metrics is not None:
                if name not in self.spec.metrics:
                    raise Refused(
                        422,
                        f"values has {name!r}, which is not a metric of experiment "
                        f"{self.name!r}; it has {', '.join(self.spec.metrics)}.",
                        "values",
                    )
                limits = self.spec.metrics[name]
            values[name] = self.value_in_range(number, limits)
        return values, None if values == reward else reward

    def value_in_range(self, value: float, limits: tuple[float, float] | None) -> float:
        low, high = limits or (-GREATEST, GREATEST)
        if low <= value <= high or limits is None:
            if value and not LEAST <= abs(value) <= GREATEST:
                raise Refused(
                    422,
                    f"value = {value:.6g} has a size that sums of rewards cannot hold; {MODERATE}.",
                    "value",
                )
            return value
        if self.spec.outside == "refuse":
            where = f"outside rewards = [{low:g}, {high:g}] of experiment {self.name!r}"
            remedy = "send rewards within it, or create the experiment with the range that holds"
            raise Refused(422, f"value = {value:.6g} is {where}; {remedy}.", "value")
        return min(max(value, low), high)

    def closing(self, now: int) -> events.Cancelled | events.Rewarded | events.Expired | None:
        """The event that closes the decision whose window closed first; None where none has."""
        id = self.open.first_due(now)
        return None if id is None else self.close(id)

    def close(self, id: str) -> events.Cancelled | events.Rewarded | events.Expired:
        if self.open[id].deferred:
            return events.Cancelled(id, "it was not activated before its window closed")
        if id in self.assignments.totals:
            total, said = self.assignments.totals[id]
            return events.Rewarded(id, total, None, None if said == total else said)
        default = self.spec.default_reward
        if isinstance(default, dict):
            default = {m: value for m, value in default.items() if m not in self.came.get(id, ())}
        return events.Expired(id, default)

    def arms(self) -> Iterator[JsonObject]:
        retired = set(self.session.retired)
        for name in self.numbers:
            yield {
                "id": name,
                "status": "masked"
                if name in self.masked
                else "retired"
                if name in retired
                else "active",
            }

    # What each event does -------------------------------------------------------------------------

    def apply(self, event: events.Event, seq: int, time: int) -> None:
        """Take in the next event of the log. Raises ValueError, with nothing changed, for what the
        session refuses. A decision that `decide` has just drawn is in the session already; in a
        replay the session follows the event."""
        if isinstance(event, Decided) and self.session.known(event.decision) is None:
            self._follow(event, seq)
        self.step(event, seq, time)

    def _follow(self, event: events.Decided, seq: int) -> None:
        """Let the session make a decision of the log again: it draws as it did then, and the arm of
        the log is taken."""
        if "erased" in event.asked:
            raise ValueError(f"event {seq} was erased; only a snapshot behind it can be replayed.")
        session, round, choice = self.session, self.round(event.asked), event.rollout
        agreed, alone = True, self.within_budget(event.asked, round)
        if alone is not None and event.name == self.spec.baseline:
            round = alone
        elif alone is not None:
            agreed = False  # another machine's bound was another
        if choice is not None:
            rollout = self.rollout
            production = rollout.production(round, self.number, self.retired_numbers())
            arm = rollout.production_arm(production, session.decided)
            agreed = agreed and (
                arm == event.arm
                if arm is not None
                else bool(choice.policy_served) and event.arm == choice.wanted
            )
        p, se = event.propensity, event.propensity_se
        if isinstance(p, list):
            p, se = np.array(p), np.array(se)
        same_draw = session.follow(
            event.arm,
            event.decision,
            round.context,
            round.eligible,
            round.names,
            p,
            se,
            None if choice is None else choice.wanted,
            event.draws,
        )
        self.disagreements += not (same_draw and agreed)

    def _on_decided(self, event: Decided, time: int) -> None:
        seq = self.seq + 1
        self.rollout.open(event)
        self.session.forget_round()
        mask = self.mask(event.asked) if self.masked_budgets else ()
        for budget in self.masked_budgets:
            budget.decide(event.decision, event.name, mask)
        window, within = self.spec.window, self.spec.cancel_within
        clock_time = event.made  # by the clock, not by the log, whose time does not go back
        if clock_time is None:
            clock_time = (
                time
                if event.deadline is None or window is None
                else event.deadline - int(window * MICROSECONDS)
            )
        cancel_until = (
            None if within is None or event.deferred else clock_time + int(within * MICROSECONDS)
        )
        self.open.begin(
            event.decision, OpenDecision(event.deadline, event.deferred, seq, cancel_until)
        )
        sticky = self.spec.sticky
        if sticky is not None:
            self.assignments.drop_old(clock_time)
            if event.subject is not None:
                self.assignments.begin(
                    event.subject,
                    KeptDecision(
                        event.decision,
                        seq,
                        str(event.name),
                        clock_time + int(sticky.lasts * MICROSECONDS),
                    ),
                )

    def _on_arms_added(self, event: events.ArmsAdded, time: int) -> None:
        arms = [ArmSpec.model_validate(arm) for arm in event.arms]
        self.session.add_arms([arm.id for arm in arms], features_of(arms))

    def _on_arm_changed(self, event: events.ArmChanged, time: int) -> None:
        (self.session.restore if event.status == "active" else self.session.retire)(event.arm)
        (self.masked.add if event.status == "masked" else self.masked.discard)(event.arm)

    def _on_activated(self, event: events.Activated, time: int) -> None:
        id, never = event.decision, 0  # it was shown
        self.open.begin(id, OpenDecision(event.deadline, False, self.open[id].seq, never))

    def _on_cancelled(self, event: events.Cancelled, time: int) -> None:
        self.session.cancel(event.decision)
        self.assignments.forget_event(self.open[event.decision].seq)
        for budget in self.masked_budgets:
            budget.end(event.decision, None, cancelled=True)
        self._end(event.decision)

    def _on_added(self, event: events.Added, time: int) -> None:
        totals = self.assignments.totals
        _, said = totals.get(event.decision, (0.0, 0.0))
        totals[event.decision] = (event.total, said + event.value)

    def _on_rewarded(self, event: events.Rewarded, time: int) -> None:
        self.session.reward(event.decision, event.value)
        self._take_in(event.decision, event.value)
        if not self.session.is_open(event.decision):
            self._end(event.decision)
        elif self.spec.metrics is not None and isinstance(event.value, dict):
            self.came.setdefault(event.decision, []).extend(event.value)

    def _on_expired(self, event: events.Expired, time: int) -> None:
        if event.reward is None:
            self.session.close(event.decision)
        else:
            self.session.expire(ids=[event.decision])
            self._take_in(event.decision, event.reward)
        self._end(event.decision)

    def _on_closed(self, event: events.Closed, time: int) -> None:
        self.session.close(event.decision)
        self._end(event.decision)

    def _take_in(self, decision: str, reward: events.Reward) -> None:
        """What came of a decision, for the rollout and the budgets. Of a set of arms it is known
        when all of it is."""
        if self.spec.metrics is None and isinstance(reward, dict):
            return
        values = reward if isinstance(reward, dict) else {REWARD: reward}
        for metric, value in values.items():
            if metric == self.objective:
                self.rollout.end(decision, value)
            for promised, budget in zip(self.promised, self.masked_budgets, strict=False):
                if promised["metric"] == metric:
                    budget.end(decision, value)

    def _end(self, decision: str) -> None:
        """A decision is no longer open; what has not come of it by now is never learned."""
        self.rollout.end(decision, None)
        for budget in self.masked_budgets:
            budget.end(decision, None)
        self.assignments.totals.pop(decision, None)
        self.came.pop(decision, None)
        del self.open[decision]

    def _on_mode_changed(self, event: events.ModeChanged, time: int) -> None:
        if MODES.index(event.mode) < MODES.index(event.before):
            # who went on with the policy's arm goes back to production's
            self.assignments.forget_all()
        self.rollout.change(event)

    def _on_erased(self, event: events.Erased, time: int) -> None:
        """Nothing of a round that was erased stays in the state, and no subject has its decision
        any more. A policy works on a copy of the round's features, which the next round overwrites;
        now there is nothing in it."""
        for seq, _ in event.events:
            self.assignments.forget_event(seq)
        if event.rounds and self.spec.row_length is not None:
            for path, array in flatten(self.session.state).items():
                if path.rpartition(".")[2] in WORKED_ON:
                    array[...] = 0.0


def created(spec: ExperimentSpec) -> events.Created:
    """The event that begins an experiment, with every parameter that it will ever use. Raises
    ValueError where there can be none."""
    check_spec(spec)
    return events.Created(spec.plain(), spec.defaults(), policy_to_spec(made_policy(spec)))


# Deciding: a function of an experiment, a request and the clock that returns an event. It draws
# from the session, and changes nothing else.


ALIKE = "the same row"  # in what the library says of arms that a round does not tell apart


def decide(experiment: Experiment, id: str, request: DecisionRequest, now: int) -> Decided:
    """Draw an arm for a decision that is not known yet, which the session then holds open; the
    event that says so is to be applied next. now: microseconds since 1970. Raises Refused with
    nothing changed."""
    experiment.check_running()
    question, session = experiment.question(request), experiment.session
    if "baseline" in question or "baseline_mean" in question:
        check_round_baseline(experiment, question)
    round, watched = experiment.round(question), experiment.watched
    alone = experiment.within_budget(question, round)
    round = round if alone is None else alone
    one_row = round.context is not None and is_one_row(round.context.features)
    try:
        if one_row and not session.arms.common:
            check_size(experiment.spec, session.policy, session.arms.number, one_row=True)
        if experiment.rollout.mode == "full":
            decision = session.decide(round.context, round.eligible, id, round.names)
            choice, why = None, decision.reason
        else:
            decision, choice, why = decide_beside(experiment, round, id)
        if alone is not None:
            why = f"{why}; where these arms are left out the budget allows the baseline alone"
        budget = noted_budget(experiment, watched, question, decision)
    except ValueError as error:
        if ALIKE in str(error):
            raise Refused(
                422, about_one_row(str(error), one_row, experiment.name), "context"
            ) from None
        raise invalid(error, round.names or list(experiment.numbers)) from None
    arm, name, p, se = decision.arm, decision.name, decision.propensity, decision.propensity_se
    if not isinstance(arm, int):
        arm, name, p, se = arm.tolist(), list(name), np.asarray(p).tolist(), np.asarray(se).tolist()
    return Decided(
        id,
        arm,
        name,
        p,
        se,
        why,
        session.rounds,
        experiment.deadline(now),
        choice,
        budget,
        question,
        now if now < experiment.time else None,
        lacks_baseline(question, experiment.spec.baseline, [*map(str, session.retired)]),
        decision.draws,
    )


def noted_budget(
    experiment: Experiment, watched: bool, question: JsonObject, drawn: Decision
) -> float | dict[str, float] | None:
    """The lower bound of the budget behind a decision that was drawn for a request, by metric where
    there are several, where the log notes it: in watched decisions, and wherever one is lower than
    ever before, so that the lowest one in the log is that of all decisions."""
    last = None
    if experiment.masked_budgets:
        baseline = drawn.name == experiment.spec.baseline
        last = NextRound(experiment.mask(question), baseline)
    bounds, lowest = experiment.budgets(last), experiment.rollout.lowest_budgets
    if not watched and all(bound >= lowest.get(name, math.inf) for name, bound in bounds.items()):
        return None
    return bounds if experiment.spec.metrics is not None else bounds.get(REWARD)


def check_round_baseline(experiment: Experiment, question: JsonObject) -> None:
    """Refuse a baseline that is not the request's to choose: what a promise is measured against is
    the experiment's."""
    spec, name = experiment.spec, experiment.name
    field = "baseline" if "baseline" in question else "baseline_mean"
    if spec.baseline is not None:
        raise Refused(
            422,
            f"{field} was given, but experiment {name!r} has the baseline {spec.baseline!r} in "
            "every round; leave it out.",
            field,
        )
    if spec.rollout is not None and spec.rollout.production is not None:
        raise Refused(
            422,
            f"{field} was given, but experiment {name!r} has its baseline in rollout.production; "
            "leave it out.",
            field,
        )
    if not spec.rounds_have_baselines:
        raise Refused(
            422,
            f"{field} was given, but nothing in experiment {name!r} is measured against a "
            "baseline; leave it out.",
            field,
        )
    if spec.baseline_mean is not None and "baseline_mean" not in question:
        arm = question["baseline"]
        raise Refused(
            422,
            f"baseline_mean is missing: that of experiment {name!r} is not this round's; say what "
            f"{arm!r} earns on average.",
            "baseline_mean",
        )


def decide_beside(
    experiment: Experiment, round: Round, id: str
) -> tuple[Decision, RolloutChoice, str]:
    """The decision in a mode other than full, what the log notes of the rollout, and why it was
    made."""
    rollout, session = experiment.rollout, experiment.session
    production = rollout.production(round, experiment.number, experiment.retired_numbers())
    arm, share = rollout.production_arm(production, session.decided), rollout.policy_share
    baseline = dict(zip(production.arms.tolist(), production.chances.tolist(), strict=True))

    def chance(played: int, policy: float) -> float:
        return (
            baseline.get(played, 0.0)
            if share == 0.0
            else share * policy + (1.0 - share) * baseline.get(played, 0.0)
        )

    compared = rollout.mode != "apprentice"
    decision, wanted, policy = session.decide_beside(
        arm, chance, round.context, round.eligible, id, round.names, compared
    )
    if not compared:
        why = f"{decision.name}: production's choice; the policy learns from it (mode apprentice)"
        return decision, RolloutChoice(rollout.mode, wanted), why
    reachable = share > 0.0 or wanted in baseline
    choice = RolloutChoice(
        rollout.mode, wanted, policy, baseline.get(decision.arm, 0.0), reachable, arm is None
    )
    if arm is None:
        return (
            decision,
            choice,
            f"{decision.reason} (mode capped: {share:.3g} of the decisions are the policy's)",
        )
    names = round.names or session.names
    other = wanted if names is None else names[wanted]
    return (
        decision,
        choice,
        f"{decision.name}: production's choice (mode {rollout.mode}); the policy would have "
        f"played {other}",
    )
