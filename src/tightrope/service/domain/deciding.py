"""Deciding: a function of an experiment, a request and the clock that returns an event. It draws from
the session, and changes nothing else."""

from typing import NamedTuple

import numpy as np

from ...core.types import JsonObject
from ...session.decisions import Decision
from .errors import Refused, about_one_row, invalid
from .events import Decided, RolloutChoice
from .experiment import Experiment
from .masks import NextRound
from .requests import DecisionRequest
from .rounds import Round, is_one_row, lacks_baseline
from .spec import check_size

ALIKE = "the same row"  # in what the library says of arms that a round does not tell apart


class Prepared(NamedTuple):
    """A decision that the session has drawn and holds open, and the event that says so, which `apply` takes with it."""

    event: Decided
    drawn: Decision


def decide(experiment: Experiment, id: str, request: DecisionRequest, now: int) -> Prepared:
    """Draw an arm for a decision that is not known yet. now: microseconds since 1970. Raises Refused with nothing changed."""
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
            raise Refused(422, about_one_row(str(error), one_row, experiment.name), "context") from None
        raise invalid(error, round.names or list(experiment.numbers)) from None
    deadline, version = experiment.deadline(now), session.rounds
    more = now if now < experiment.time else None, lacks_baseline(question, experiment.spec.baseline, [*map(str, session.retired)])
    arm, name, p, se = decision.arm, decision.name, decision.propensity, decision.propensity_se
    if not isinstance(arm, int):
        arm, name, p, se = arm.tolist(), list(name), np.asarray(p).tolist(), np.asarray(se).tolist()
    return Prepared(Decided(id, arm, name, p, se, why, version, deadline, choice, budget, question, *more, decision.draws), decision)


def noted_budget(experiment: Experiment, watched: bool, question: JsonObject, drawn: Decision) -> float | None:
    """The lower bound of the budget behind a decision that was drawn for a request, where the log notes it: in watched decisions, and
    wherever it is lower than ever before, so that the lowest one in the log is that of all decisions."""
    masks = experiment.masked_budget
    last = None if masks is None else NextRound(masks.mask(question, experiment.numbers), drawn.name == masks.baseline)
    holdings = experiment.holdings(last)
    if holdings is None:
        return None
    bound, lowest = float(holdings["budget_bound"]), experiment.rollout.lowest_budget
    return bound if watched or lowest is None or bound < lowest else None


def check_round_baseline(experiment: Experiment, question: JsonObject) -> None:
    """Refuse a baseline that is not the request's to choose: what a promise is measured against is the experiment's."""
    spec, name = experiment.spec, experiment.name
    field = "baseline" if "baseline" in question else "baseline_mean"
    if spec.baseline is not None:
        message = f"{field} was given, but experiment {name!r} has the baseline {spec.baseline!r} in every round; leave it out."
        raise Refused(422, message, field)
    if spec.rollout is not None and spec.rollout.production is not None:
        raise Refused(422, f"{field} was given, but experiment {name!r} has its baseline in rollout.production; leave it out.", field)
    if not spec.rounds_have_baselines:
        raise Refused(422, f"{field} was given, but nothing in experiment {name!r} is measured against a baseline; leave it out.", field)
    if spec.baseline_mean is not None and "baseline_mean" not in question:
        arm = question["baseline"]
        message = f"baseline_mean is missing: that of experiment {name!r} is not this round's; say what {arm!r} earns on average."
        raise Refused(422, message, "baseline_mean")


def decide_beside(experiment: Experiment, round: Round, id: str) -> tuple[Decision, RolloutChoice, str]:
    """The decision in a mode other than full, what the log notes of the rollout, and why it was made."""
    rollout, session = experiment.rollout, experiment.session
    production = rollout.production(round, experiment.number, experiment.retired_numbers())
    arm, share = rollout.production_arm(production, session.decided), rollout.policy_share
    baseline = dict(zip(production.arms.tolist(), production.chances.tolist(), strict=True))

    def chance(played: int, policy: float) -> float:
        return baseline.get(played, 0.0) if share == 0.0 else share * policy + (1.0 - share) * baseline.get(played, 0.0)

    compared = rollout.mode != "apprentice"
    decision, wanted, policy = session.decide_beside(arm, chance, round.context, round.eligible, id, round.names, compared)
    if not compared:
        why = f"{decision.name}: production's choice; the policy learns from it (mode apprentice)"
        return decision, RolloutChoice(rollout.mode, wanted), why
    reachable = share > 0.0 or wanted in baseline
    choice = RolloutChoice(rollout.mode, wanted, policy, baseline.get(decision.arm, 0.0), reachable, arm is None)
    if arm is None:
        return decision, choice, f"{decision.reason} (mode capped: {share:.3g} of the decisions are the policy's)"
    names = round.names or session.names
    other = wanted if names is None else names[wanted]
    return decision, choice, f"{decision.name}: production's choice (mode {rollout.mode}); the policy would have played {other}"
