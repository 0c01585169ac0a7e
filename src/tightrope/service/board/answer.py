"""The first card: which arm leads, by how much, how sure that is, what it has cost, and when it will be known, in one sentence.

It says no more than the numbers of the page: where they do not support an answer, it says that it cannot be said yet.
"""

import math

from ...core.types import JsonObject
from ..domain import lead
from ..domain.history import ERROR, History
from ..domain.lead import BoundedDifference, Bounds, Forecast
from ..domain.rollout import PLAYED
from .charts import short

SPANS = ((86_400.0, "day"), (3600.0, "hour"), (60.0, "minute"), (1.0, "second"))
SURE = f"at {100 * (1 - ERROR):g} %"


def answer_of(standing: JsonObject, history: History, bounds: Bounds | None) -> str:
    """The sentence. bounds: of the arms' means; None: arms have none that stay."""
    identified = standing.get("identified")
    if identified is not None:
        clauses = recommendation(identified, standing["status"])
    elif bounds is None or not history.comparable or history.telling_masks() is not None:
        clauses = [no_leader(history), against(standing["rollout"]["estimate"])]
    else:
        clauses = [
            *leading(standing, history, bounds),
            cost(history, bounds),
            f"all of it {lead.ASSUMING}" if history.observed.limited else "",
        ]
    text = "; ".join(filter(None, clauses))
    return f"{text[:1].upper()}{text[1:]}."


def no_leader(history: History) -> str:
    if not history.rewards:
        return "it cannot be said yet which arm leads: no reward has come"
    if history.outside:
        return "it cannot be said which arm leads: rewards are outside the declared range"
    if history.spec is not None and history.spec.oracle is not None:
        return "decisions play sets of arms, so no single arm leads"
    contrast = history.telling_masks()
    if contrast is not None:
        return f"the arm {contrast[0]} earns something else where other arms may not be played, so that arms are not compared"
    return "what an arm earns depends on the round, so no single arm leads"


def against(estimate: JsonObject | None) -> str:
    """Policy against baseline, where arms cannot be compared."""
    if estimate is None:
        return ""
    if estimate["difference"] is None:
        return f"of policy and baseline nothing can be said yet ({estimate['verdict'].rstrip('.')})"
    gap = BoundedDifference(estimate["policy"]["value"] - estimate["baseline"]["value"], *estimate["difference"])
    sure = "sure" if estimate["verdict"] in ("better", "worse") else "not sure yet"
    chance = f"{100 * (1 - estimate['error']):.4g} %"
    return f"a decision of the policy earns {more(gap)} than one of the baseline ({between(gap)}); which is better is {sure} at {chance}"


def leading(standing: JsonObject, history: History, bounds: Bounds) -> list[str]:
    """Which arm leads, by how much, how sure that is, and when it will be known."""
    if not history.rewards:
        return ["it cannot be said yet which arm leads: no reward has come"]
    leader = lead.lead_of(history, bounds)
    if leader is None:
        only = next((id for id, arm in lead.played_arms(history).items() if arm.rewards), None)
        mode = standing["rollout"]["mode"]
        serves = "" if mode in PLAYED else f", and mode {mode} serves production only"
        whose = "no arm that is played" if only is None else f"only {only}"
        return [f"it cannot be said yet which arm leads: {whose} has rewards{serves}"]
    arm, baseline = leader.arm, history.spec.baseline if history.spec is not None else None
    gap = lead.against_baseline(history, bounds, arm)
    than = f"the baseline {baseline}"
    if gap is None:
        gap, than = lead.difference(history, bounds, arm, leader.next), f"{leader.next}, which is next"
    assert gap is not None
    mean = short(lead.mean_of(history.arms[arm]))
    if gap.value < 0:
        first = f"no arm earns more than {than}: of those that are played {arm} earns most, {mean} a decision, {more(gap)} ({between(gap)})"
        return [first, *sureness(standing, history, leader)]
    first = f"the {'baseline' if arm == baseline else 'arm'} {arm} leads with {mean} a decision, {more(gap)} than {than} ({between(gap)})"
    return [first, *sureness(standing, history, leader)]


def sureness(standing: JsonObject, history: History, leader: lead.Lead) -> list[str]:
    best = "that it is the best of the arms that are played" if history.unplayed else "that it is the best arm"
    drift, delays = history.observed.drift(), history.observed.telling_delays()
    if drift is not None:
        return [f"how sure that is cannot be said, because the mean of {drift[0]} has changed"]
    waiting = f"{len(history.open):,} open decisions"
    if delays is not None and history.open:
        return [f"how sure that is cannot be said: there are {waiting}, and rewards of {delays[0]} depend on how long they take"]
    if leader.best:
        return [f"{best} is sure {SURE}, and known now"]
    if leader.best_if_alike:
        return [f"{best} is sure {SURE} only if the {waiting} are like the others, so wait for them"]
    sure = f"{best} is not sure yet {SURE}"
    if standing["status"] != "running":
        return [sure, f"more will not be known while the experiment is {standing['status']}"]
    return [sure, when(lead.forecast(history, lead.bounds_if_alike(history), leader.arm))]


def when(forecast: Forecast) -> str:
    if forecast.why:
        return f"when it will be known cannot be said yet: {forecast.why}"
    time = "" if forecast.seconds is None else f", {span(forecast.seconds)} at the rate of late"
    return (
        "if the lead stays as it is and arms are played as lately, it will be known after about "
        f"{two_digits(forecast.decisions)} more decisions ({limits(forecast.low, forecast.high)}){time}"
    )


def cost(history: History, bounds: Bounds) -> str:
    gain, n = lead.earned_more(history, bounds), f"{history.rewards:,}"
    if gain is None:
        regret = history.regret()
        if regret is None:
            return ""
        most = f"against the best arm it has cost at most {short(regret)}"
        return f"{most}: no more would the best arm alone have earned in {n} decisions, with probability 90 %"
    has_mean = history.spec is not None and history.spec.baseline_mean is not None
    than = "the baseline's known mean brings" if has_mean else "the baseline alone would have"
    said = f"in {n} decisions it has earned {more(gain)} than {than} (without luck {between(gain)}, with probability 90 %)"
    if gain.low >= 0:
        return f"against the baseline it has cost nothing so far: {said}"
    if gain.high < 0:
        return f"against the baseline it has cost {short(-gain.value)} so far: {said}"
    return f"whether it has cost anything cannot be said yet: {said}"


def recommendation(identified: JsonObject, status: str) -> list[str]:
    """An identification policy's answer, by its own stopping rule."""
    arm, gap, left = identified["arm"], identified["gap_bound"], identified["samples_remaining"]
    if identified["status"] == "certified":
        return [f"the arm {arm} is the best, as far as the policy was asked to know; its stopping rule is met, and it is known now"]
    behind = "" if gap is None else f", at most {short(gap)} behind the best by the policy's bounds"
    said = f"the arm {arm} is the policy's choice so far{behind}, which is not sure yet"
    if status != "running":
        return [said, f"more will not be known while the experiment is {status}"]
    if left is None:
        return [said, "when it will be known cannot be said yet"]
    low, high = identified["samples_range"]
    ends = "" if low is None else f" ({limits(low, math.inf if high is None else high)})"
    return [said, f"about {two_digits(left)} more rewards are needed{ends}"]


# Words ---------------------------------------------------------------------------------------------------------------------


def more(gap: BoundedDifference) -> str:
    return "as much" if gap.value == 0 else f"{short(abs(gap.value))} {'more' if gap.value > 0 else 'less'}"


def between(gap: BoundedDifference) -> str:
    return f"between {short(gap.low)} and {short(gap.high)}"


def limits(low: float, high: float) -> str:
    return (
        f"at least {two_digits(low)}, without an upper limit" if math.isinf(high) else f"between {two_digits(low)} and {two_digits(high)}"
    )


def two_digits(count: float) -> str:
    return f"{float(f'{count:.2g}'):,.0f}"


def span(seconds: float) -> str:
    size, unit = next(((size, unit) for size, unit in SPANS if seconds >= 2 * size), SPANS[-1])
    count = max(round(seconds / size), 1)
    return f"about {count:,} {unit}{'' if count == 1 else 's'}"
