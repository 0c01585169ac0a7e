"""What an experiment's page shows: numbers, charts and sentences, computed from the live experiment
and the fold of its log."""

import datetime
import itertools
import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from . import JsonObject, history as lead
from .certificate import charge, contradictions, promised
from .errors import timestamp
from .history import (
    BARS,
    ERROR,
    OPEN_AT_WORST,
    BoundedDifference,
    Bounds,
    Forecast,
    History,
    Point,
    against_baseline,
    note_of,
    promised_bounds,
    segment_report,
    told_by,
)
from .requests import ArmChange, ModeChange
from .rollout import JUDGED, MODES, PLAYED
from .spec import ExperimentSpec

# Charts are data here: board.js draws them.


COLOURS = 8  # classes c0 .. c7
SECOND = 1e6  # microseconds


Line = tuple[Sequence[tuple[float, float]], str]  # points and the style that they are drawn in


def short(value: float, digits: int = 3) -> str:
    if not math.isfinite(value):
        return "∞" if value > 0 else "−∞"
    if value == 0:
        return "0"
    size = abs(value)
    for unit, name in ((1e9, "G"), (1e6, "M"), (1e4, "k")):
        if size >= unit:
            scale = 1e3 if name == "k" else unit
            return f"{value / scale:.{digits}g}{name}".replace("-", "−")
    text = f"{value:,.0f}" if size >= 100 or float(value).is_integer() else f"{value:.{digits}g}"
    return text.replace("-", "−")


def signed(value: float) -> str:
    return ("+" if value > 0 else "") + short(value)


def shown(spec: ExperimentSpec, value: float) -> str:
    return f"{short(spec.factor * value)} {spec.unit.name}" if spec.unit else short(value)


def lines(
    curves: Sequence[Line],
    words: str,
    level: float | None = None,
    marks: Sequence[tuple[float, str]] = (),
    time: bool = True,
) -> JsonObject | None:
    """Lines over time, or over decisions. level: a dashed line. marks: dotted lines, with words.
    None where there is nothing to draw."""
    drawn = [{"points": points, "style": style} for points, style in curves if len(points) > 1]
    if not drawn:
        return None
    return {
        "kind": "lines",
        "words": words,
        "curves": drawn,
        "level": level,
        "marks": marks,
        "time": time,
    }


class Interval(NamedTuple):
    label: str
    low: float
    high: float
    mean: float | None
    style: str
    note: str = ""


def draw_intervals(
    rows: Sequence[Interval], words: str, x_label: str, level: float | None = None
) -> JsonObject | None:
    ends = [v for row in rows for v in (row.low, row.high)] + ([] if level is None else [level])
    if not rows or not any(map(math.isfinite, ends)):
        return None
    finite = [
        {name: value for name, value in row._asdict().items() if value not in (math.inf, -math.inf)}
        | {"title": f"{row.label}: {short(row.low)} to {short(row.high)}{row.note}"}
        for row in rows
    ]
    return {"kind": "intervals", "words": words, "rows": finite, "name": x_label, "level": level}


# The first card: which arm leads, by how much, how sure that is, what it has cost, and when it will
# be known, in one sentence.


SPANS = ((86_400.0, "day"), (3600.0, "hour"), (60.0, "minute"), (1.0, "second"))
SURE = f"at {100 * (1 - ERROR):g} %"
FAR = 3650 * 86_400  # seconds ahead, beyond which no date is said


def answer_of(standing: JsonObject, history: History, bounds: Bounds | None) -> str:
    """The sentence. bounds: of the arms' means; None: arms have none that stay."""
    identified = standing.get("identified")
    if identified is not None:
        clauses = recommendation(history.spec, identified, standing["status"])
    elif bounds is None or not history.comparable or history.telling_masks() is not None:
        clauses = [no_leader(history), against(history.spec, standing["rollout"]["estimate"])]
    else:
        clauses = [
            *leading(standing, history, bounds),
            cost(history, bounds),
            f"all of it {lead.ASSUMING}" if history.observed.limited else "",
        ]
    text = "; ".join(filter(None, clauses))
    return f"{text[:1].upper()}{text[1:]}."


def verdict_of(
    standing: JsonObject, history: History, bounds: Bounds | None, contradicted: bool
) -> JsonObject:
    """The band on top: a verdict, a number and a date. state: of promise and certificate."""
    identified, spec, arm, gap = standing.get("identified"), history.spec, None, None
    known, date = False, "when it will be known cannot be said yet"
    if identified is not None:
        arm, known = identified["arm"], identified["status"] == "certified"
        if identified["status"] == "best by the plan":
            date = "the plan's samples are taken; nothing is certified"
        elif identified["samples_remaining"] is not None:
            date = f"known after about {two_digits(identified['samples_remaining'])} more rewards"
    elif bounds is not None and history.comparable and history.telling_masks() is None:
        leader = lead.lead_of(history, bounds)
        if leader is not None:
            arm, known = leader.arm, lead.winner(history, bounds) is not None
            gap = lead.against_baseline(history, bounds, arm)
            date = date if known else date_words(history, leader.arm)
    number = "no comparison yet"
    if gap is not None:
        number = f"{'+' if gap.value > 0 else ''}{shown(spec, gap.value)} a decision"
    elif arm is not None and history.arms[arm].rewards:
        number = f"{shown(spec, lead.mean_of(history.arms[arm]))} a decision"
    if contradicted:
        verdict = "Do not rely on it: the log contradicts an assumption"
    elif known:
        verdict = f"Stop: {arm} is best"
    elif standing["status"] != "running":
        verdict = f"The experiment is {standing['status']}"
    else:
        verdict = f"{arm} is ahead" if gap is not None and gap.low > 0 else "Keep going"
    return {
        "verdict": verdict,
        "arm": arm,
        "number": number,
        "against": None if gap is None else spec.baseline,
        "range": None if gap is None else between(spec, gap),
        "date": "known now" if known else date,
        "state": "broken"
        if contradicted or standing["rollout"]["held"]
        else "kept"
        if standing["holdings"]
        else "none",
    }


def date_words(history: History, arm: str) -> str:
    forecast = lead.forecast(history, lead.bounds_if_alike(history), arm)
    if forecast.seconds is None or forecast.why:
        return "when it will be known cannot be said yet"
    if forecast.seconds > FAR:
        return "not known within ten years"
    at = history.time / SECOND + forecast.seconds
    when = datetime.datetime.fromtimestamp(at, datetime.UTC)
    return f"known about {when.day} {when:%b %Y}, if the lead stays"


def no_leader(history: History) -> str:
    if not history.rewards:
        return "it cannot be said yet which arm leads: no reward has come"
    if history.outside:
        return "it cannot be said which arm leads: rewards are outside the declared range"
    if history.spec.oracle is not None:
        return "decisions play sets of arms, so no single arm leads"
    contrast = history.telling_masks()
    if contrast is not None:
        return (
            f"the arm {contrast[0]} earns something else where other arms may not be played, so "
            "that arms are not compared"
        )
    return "what an arm earns depends on the round, so no single arm leads"


def against(spec: ExperimentSpec, estimate: JsonObject | None) -> str:
    if estimate is None:
        return ""
    if estimate["difference"] is None:
        return f"of policy and baseline nothing can be said yet ({estimate['verdict'].rstrip('.')})"
    gap = BoundedDifference(
        estimate["policy"]["value"] - estimate["baseline"]["value"], *estimate["difference"]
    )
    sure = "sure" if estimate["verdict"] in ("better", "worse") else "not sure yet"
    chance = f"{100 * (1 - estimate['error']):.4g} %"
    return (
        f"a decision of the policy earns {more(spec, gap)} than one of the baseline "
        f"({between(spec, gap)}); "
        f"which is better is {sure} at {chance}"
    )


def leading(standing: JsonObject, history: History, bounds: Bounds) -> list[str]:
    if not history.rewards:
        return ["it cannot be said yet which arm leads: no reward has come"]
    leader = lead.lead_of(history, bounds)
    if leader is None:
        only = next((id for id, arm in lead.played_arms(history).items() if arm.rewards), None)
        mode = standing["rollout"]["mode"]
        serves = "" if mode in PLAYED else f", and mode {mode} serves production only"
        whose = "no arm that is played" if only is None else f"only {only}"
        return [f"it cannot be said yet which arm leads: {whose} has rewards{serves}"]
    arm, baseline = leader.arm, history.spec.baseline
    gap = lead.against_baseline(history, bounds, arm)
    than = f"the baseline {baseline}"
    if gap is None:
        gap, than = (
            lead.difference(history, bounds, arm, leader.next),
            f"{leader.next}, which is next",
        )
    assert gap is not None
    spec, mean = history.spec, shown(history.spec, lead.mean_of(history.arms[arm]))
    first = (
        f"no arm earns more than {than}: of those that are played {arm} earns most, {mean} a "
        f"decision, {more(spec, gap)} ({between(spec, gap)})"
        if gap.value < 0
        else f"the {'baseline' if arm == baseline else 'arm'} {arm} leads with {mean} a decision, "
        f"{more(spec, gap)} than {than} ({between(spec, gap)})"
    )
    return [first, *sureness(standing, history, leader)]


def sureness(standing: JsonObject, history: History, leader: lead.Lead) -> list[str]:
    best = (
        "that it is the best of the arms that are played"
        if history.unplayed
        else "that it is the best arm"
    )
    drift, delays = history.observed.drift(), history.observed.telling_delays()
    if drift is not None:
        return [f"how sure that is cannot be said, because the mean of {drift[0]} has changed"]
    waiting = f"{len(history.open):,} open decisions"
    if delays is not None and history.open:
        return [
            f"how sure that is cannot be said: there are {waiting}, and rewards of {delays[0]} "
            "depend on how long they take"
        ]
    if leader.best:
        return [f"{best} is sure {SURE}, and known now"]
    if leader.best_if_alike:
        return [
            f"{best} is sure {SURE} only if the {waiting} are like the others, so wait for them"
        ]
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
        f"{two_digits(forecast.decisions)} more decisions "
        f"({limits(forecast.low, forecast.high)}){time}"
    )


def cost(history: History, bounds: Bounds) -> str:
    gain, n = lead.earned_more(history, bounds), f"{history.rewards:,}"
    if gain is None:
        regret = history.regret()
        if regret is None:
            return ""
        most = f"against the best arm it has cost at most {shown(history.spec, regret)}"
        return (
            f"{most}: no more would the best arm alone have earned in {n} decisions, with "
            "probability 90 %"
        )
    has_mean = history.spec.known_mean is not None
    than = "the baseline's known mean brings" if has_mean else "the baseline alone would have"
    said = (
        f"in {n} decisions it has earned {more(history.spec, gain)} than {than} (without luck "
        f"{between(history.spec, gain)}, with probability 90 %)"
    )
    if gain.low >= 0:
        return f"against the baseline it has cost nothing so far: {said}"
    if gain.high < 0:
        return f"against the baseline it has cost {shown(history.spec, -gain.value)} so far: {said}"
    return f"whether it has cost anything cannot be said yet: {said}"


def recommendation(spec: ExperimentSpec, identified: JsonObject, status: str) -> list[str]:
    arm, gap, left = identified["arm"], identified["gap_bound"], identified["samples_remaining"]
    if identified["status"] == "certified":
        return [
            f"the arm {arm} is the best, as far as the policy was asked to know; its stopping "
            "rule is met, and it is known now"
        ]
    if identified["status"] == "best by the plan":
        return [
            f"the arm {arm} is the best by the plan, whose samples are taken; nothing is certified"
        ]
    behind = (
        ""
        if gap is None
        else f", at most {shown(spec, gap)} behind the best by the policy's bounds"
    )
    said = f"the arm {arm} is the policy's choice so far{behind}, which is not sure yet"
    if status != "running":
        return [said, f"more will not be known while the experiment is {status}"]
    if left is None:
        return [said, "when it will be known cannot be said yet"]
    low, high = identified["samples_range"]
    ends = "" if low is None else f" ({limits(low, math.inf if high is None else high)})"
    return [said, f"about {two_digits(left)} more rewards are needed{ends}"]


# Words --------------------------------------------------------------------------------------------


def more(spec: ExperimentSpec, gap: BoundedDifference) -> str:
    if gap.value == 0:
        return "as much"
    return f"{shown(spec, abs(gap.value))} {'more' if gap.value > 0 else 'less'}"


def between(spec: ExperimentSpec, gap: BoundedDifference) -> str:
    return f"between {shown(spec, gap.low)} and {shown(spec, gap.high)}"


def limits(low: float, high: float) -> str:
    return (
        f"at least {two_digits(low)}, without an upper limit"
        if math.isinf(high)
        else f"between {two_digits(low)} and {two_digits(high)}"
    )


def two_digits(count: float) -> str:
    return f"{float(f'{count:.2g}'):,.0f}"


def span(seconds: float) -> str:
    size, unit = next(((size, unit) for size, unit in SPANS if seconds >= 2 * size), SPANS[-1])
    count = max(round(seconds / size), 1)
    return f"about {count:,} {unit}{'' if count == 1 else 's'}"


# The consequences of a change, in sentences for the page that asks for confirmation.


SERVED = {
    "apprentice": "Production is served; the policy learns from it.",
    "shadow": "Production is served; the log notes what the policy would have played.",
    "capped": "A share of the decisions is the policy's, the others are production's.",
    "full": "The policy decides.",
}
REFUSED = "Requests for decisions are refused (409)"


def open_now(
    number: int,
    what: str = ": their arms and probabilities stay, and their rewards are learned as before.",
) -> str:
    if not number:
        return "No decision is open."
    return (
        f"1 decision is open{what.replace('their', 'its')}"
        if number == 1
        else f"{number:,} decisions are open{what}"
    )


def of_mode(change: ModeChange, standing: JsonObject) -> list[str]:
    rollout, spec, after = standing["rollout"], standing["spec"], change.mode
    before, rule = rollout["mode"], rollout["rules"].get(after)
    share = (
        f"{100 * (change.share or 0.0):.4g} % of the decisions are the policy's, the others are "
        "production's."
    )
    said = [
        share if after == "capped" else SERVED[after],
        open_now(standing["open"]),
        guarantee_in(after, standing),
    ]
    if after in JUDGED:
        said.append("The comparison of policy and baseline begins anew.")
    if rule:
        after_rewards = f" {rule['after']:,} rewards have come" if rule.get("after") else ""
        better = " the policy is surely better than the baseline" if rule.get("better") else ""
        said.append(
            f"A rule goes on to {MODES[MODES.index(after) + 1]} as soon "
            f"as{' and'.join(filter(None, (after_rewards, better)))}."
        )
    if spec.get("sticky") and MODES.index(after) < MODES.index(before):
        said.append("Subjects lose their arms and are decided for anew.")
    return [
        *said,
        f"You can go back to {before} at any time. What is served until then cannot be taken back.",
    ]


def guarantee_in(mode: str, standing: JsonObject) -> str:
    holdings, least = standing["holdings"], standing["rollout"]["least_budget"]
    back = "shadow comes back by itself"
    if holdings is None and mode not in PLAYED:
        return "No promise is kept, and none is needed: only production is served."
    if holdings is None:
        limit = (
            ""
            if mode == "full"
            else f" If the log shows that the policy is worse than the baseline, {back}."
        )
        return (
            "No promise is kept (there is no alpha): nothing bounds what the policy's decisions "
            f"may lose.{limit}"
        )
    levels = least if isinstance(least, dict) else {} if least is None else {"": least}
    limit = "".join(
        f" If that{f' of {metric}' if metric else ''} falls below {level:g}, {back}."
        for metric, level in (levels.items() if mode in PLAYED else ())
    )
    budgets = ", ".join(
        f"{one['metric']} {short(one['budget_bound'])}".strip() for one in told_by(holdings)
    )
    return f"{promised(holdings, standing['spec'])} The budget is at least {budgets} now.{limit}"


def of_status(what: str, standing: JsonObject) -> list[str]:
    if what == "pause":
        return [
            f"{REFUSED} until the experiment is resumed, so callers need an answer of their own.",
            open_now(standing["open"]),
        ]
    if what == "resume":
        return [
            f"Decisions are made again. {SERVED[standing['rollout']['mode']]}",
            open_now(standing["open"]),
        ]
    return [
        f"This cannot be undone: an archived experiment is never resumed. {REFUSED}, and so are "
        "rewards.",
        open_now(standing["open"], ": the rewards are refused from then on."),
        "The log, this page and the certificate can be read for ever.",
    ]


def of_arm(arm: str, change: ArmChange, standing: JsonObject, history: History) -> list[str]:
    waiting = sum(arm in line.arms for line in history.open.values())
    left = sum(one["status"] == "active" and one["id"] != arm for one in standing["arms"])
    if change.status == "active":
        return [f"{arm} is played from the next decision on, with all that was learned of it."]
    return [
        f"{arm} is not played any more, from the next decision on; {left:,} other "
        f"arm{'s are' if left != 1 else ' is'} played.",
        open_now(waiting, " that played it: rewards are still learned.")
        if waiting
        else "None of its decisions is open.",
        "It can be restored at any time, and nothing learned of it is lost.",
    ]


COLOURED_ARMS = COLOURS - 1  # arms with a colour of their own; the others share the last
BEHIND = 1.0  # seconds that a clock may be behind the log before the page says so
SLICES = 48  # of the pictures that count per stretch of decisions


Marks = Sequence[tuple[float, str]]  # times at which the mode changed


def style_of(history: History) -> list[str]:
    """A class for each arm: one colour per arm, the most played first come first served in the
    order of the spec."""
    if len(history.arms) <= COLOURS:
        return [f"c{k}" for k in range(len(history.arms))]
    plays = [arm.plays for arm in history.arms.values()]
    most = sorted(range(len(plays)), key=lambda k: (-plays[k], k))[:COLOURED_ARMS]
    return [
        f"c{sorted(most).index(k)}" if k in most else f"c{COLOURED_ARMS}"
        for k in range(len(history.arms))
    ]


def slices(points: list[Point]) -> list[tuple[Point, Point]]:
    step = max(1, math.ceil(len(points) / SLICES))
    ends = points[step - 1 :: step]
    if points and (not ends or ends[-1] is not points[-1]):
        ends.append(points[-1])
    first = Point(0, 0, 0, 0.0, 0, None, (), None)
    return [
        (before, after)
        for before, after in itertools.pairwise([first, *ends])
        if after.decisions > before.decisions
    ]


def in_units(point: Point, factor: float) -> Point:
    regret, budget = (
        None if value is None else factor * value for value in (point.regret, point.budget)
    )
    return point._replace(total=factor * point.total, regret=regret, budget=budget)


def reward_chart(points: list[Point], marks: Marks) -> JsonObject | None:
    stretches = [
        (float(b.time), (b.total - a.total) / (b.rewards - a.rewards))
        for a, b in slices(points)
        if b.rewards > a.rewards
    ]
    means = [(float(p.time), p.total / p.rewards) for p in points if p.rewards]
    if not means:
        return None
    return lines(
        [(stretches, "soft"), (means, "c0")],
        f"Mean reward over time; all so far {short(means[-1][1])}.",
        marks=marks,
    )


def bound_chart(
    bounds: Iterable[tuple[int, float | None]],
    style: str,
    words: str,
    level: float | None = None,
    marks: Marks = (),
) -> JsonObject | None:
    """A bound over time, as far as there is one. words: with a place for its last value."""
    curve = [(float(time), bound) for time, bound in bounds if bound is not None]
    return (
        lines([(curve, style)], words.format(short(curve[-1][1])), level, marks) if curve else None
    )


def share_chart(
    history: History, points: list[Point], styles: list[str]
) -> tuple[JsonObject | None, list[tuple[str, str]]]:
    groups: dict[str, list[int]] = {}
    for k, style in enumerate(styles):
        groups.setdefault(style, []).append(k)
    ids = list(history.arms)
    order = sorted(groups)
    names = [
        ids[groups[style][0]] if len(groups[style]) == 1 else f"{len(groups[style])} others"
        for style in order
    ]
    edges, shares = [float(history.first or 0)], []
    for a, b in slices(points):
        counts = [
            sum(
                (b.plays[k] if k < len(b.plays) else 0) - (a.plays[k] if k < len(a.plays) else 0)
                for k in groups[style]
            )
            for style in order
        ]
        total = sum(counts)
        if total:
            edges.append(float(b.time))
            shares.append([count / total for count in counts])
    words = "Share of each arm in the last decisions: " + (
        ", ".join(f"{name} {share:.0%}" for name, share in zip(names, shares[-1], strict=True))
        if shares
        else "none yet"
    )
    legend = list(zip(order, names, strict=True))
    chart = {"kind": "areas", "words": words, "edges": edges, "shares": shares, "legend": legend}
    return chart if shares else None, legend


def arm_rows(
    history: History, statuses: dict[str, str], styles: list[str], bounds: Bounds | None
) -> list[JsonObject]:
    rows, compared = [], history.comparable and history.telling_masks() is None
    factor = history.spec.factor
    for k, (id, arm) in enumerate(history.arms.items()):
        lift = against_baseline(history, bounds, id) if bounds and compared else None
        rows.append(
            {
                "id": id,
                "style": styles[k],
                "status": statuses.get(id, ""),
                "plays": arm.plays,
                "rewards": arm.rewards,
                "mean": factor * arm.total / arm.rewards if arm.rewards else None,
                "ess": arm.effective_sample_size,
                "low": factor * bounds[id][0] if bounds else None,
                "high": factor * bounds[id][1] if bounds else None,
                "lift": lift and BoundedDifference(*(factor * value for value in lift)),
            }
        )
    return rows


def interval_chart(rows: list[JsonObject], baseline: float | None) -> JsonObject | None:
    bounded_rows = [row for row in rows if row["low"] is not None and row["rewards"]]
    if not bounded_rows:
        return None
    intervals = [
        Interval(
            row["id"],
            row["low"],
            row["high"],
            row["mean"],
            row["style"],
            f" from {row['rewards']} rewards",
        )
        for row in bounded_rows[:20]
    ]
    words = "Bounds of the mean reward of each arm: " + "; ".join(
        f"{d.label} {short(d.low)} to {short(d.high)}" for d in intervals
    )
    return draw_intervals(intervals, words, "mean reward", baseline)


def delay_chart(delays: list[int]) -> JsonObject | None:
    if not sum(delays):
        return None
    counts = list(zip(BARS, delays, strict=True))
    return {
        "kind": "bars",
        "words": "How long rewards took: "
        + ", ".join(f"{label} {count}" for label, count in counts if count),
        "bars": counts,
        "name": "from decision to reward",
    }


def difference_chart(estimate: JsonObject | None, factor: float) -> JsonObject | None:
    if estimate is None or estimate["difference"] is None:
        return None
    low, high = (factor * end for end in estimate["difference"])
    gap = factor * (estimate["policy"]["value"] - estimate["baseline"]["value"])
    return draw_intervals(
        [Interval("difference", low, high, gap, "c4")],
        f"Policy minus baseline: {short(low)} to {short(high)}.",
        "policy minus baseline, per decision",
        0.0,
    )


def bounds_of_arms(standing: JsonObject, history: History) -> Bounds | None:
    """Bounds of the arms' means; None where they have no one mean."""
    identified = standing.get("identified")
    if identified is None:
        intervals = history.intervals()
        return None if intervals is None else dict(zip(history.arms, intervals, strict=True))
    return {
        id: (identified["lower"].get(id, -math.inf), identified["upper"].get(id, math.inf))
        for id in history.arms
    }


def sentence_of(standing: JsonObject, history: History) -> str:
    return answer_of(standing, history, bounds_of_arms(standing, history))


def verdict_alone(standing: JsonObject, history: History) -> JsonObject:
    return verdict_of(
        standing,
        history,
        bounds_of_arms(standing, history),
        bool(contradictions(standing, history)),
    )


def page_of(standing: JsonObject, history: History) -> JsonObject:
    """Everything that the templates need. standing: of the live experiment, see
    `commands.describe_standing`."""
    factor, styles = history.spec.factor, style_of(history)
    points = [in_units(point, factor) for point in history.curve()]
    statuses = {arm["id"]: arm["status"] for arm in standing["arms"]}
    identified = standing.get("identified")
    bounds = bounds_of_arms(standing, history)
    source = (
        f"They hold at all times and for all arms at once, with probability 95 %; {OPEN_AT_WORST}."
        if identified is None
        else "These are the bounds of the policy's stopping rule."
    )
    rows = arm_rows(history, statuses, styles, bounds)
    shares, legend = share_chart(history, points, styles)
    rollout, holdings = standing["rollout"], standing["holdings"]
    warnings = contradictions(standing, history)
    marks = [
        (float(one["time"]), f"mode {one['mode']}")
        for one in history.modes[1:]
        if one["time"] >= (history.first or math.inf)
    ]
    spec, least = standing["spec"], rollout["least_budget"]
    least = least.get(history.metric) if isinstance(least, dict) else least
    told, unit = history.spec.known_mean, history.spec.unit.name if history.spec.unit else ""
    return {
        "name": standing["name"],
        "status": standing["status"],
        "spec": spec,
        "rollout": rollout,
        "about": SERVED[rollout["mode"]],
        "answer": answer_of(standing, history, bounds),
        "tiles": tiles(standing, history),
        "rows": rows,
        "lifts": any(row["lift"] for row in rows),
        "base": baseline_level(history),
        "legend": legend,
        "source": source,
        "identified": identified,
        "pictures": {
            "reward": reward_chart(points, marks),
            "regret": bound_chart(
                ((point.time, point.regret) for point in points),
                "c1",
                f"Regret is at most {{}} after {history.decisions} decisions.",
            ),
            "shares": shares,
            "intervals": interval_chart(rows, told and factor * told),
            "budget": bound_chart(
                ((point.time, point.budget) for point in points),
                "c2",
                "The budget is at least {} rewards.",
                least and factor * least,
                marks,
            ),
            "delays": delay_chart(history.observed.delays),
            "difference": difference_chart(rollout["estimate"], factor),
        },
        "segments": [*history.segments],
        "segment_rows": segment_report(history)["arms"] if history.segments else [],
        "promises": promised_bounds(standing, history),
        "budgets": budget_lines(standing, history),
        "segments_note": note_of(history.spec),
        "promise_by": history.spec.by,
        "warnings": warnings,
        "verdict": verdict_of(standing, history, bounds, bool(warnings)),
        "unit": unit,
        "in_unit": unit and f" in {unit}",
        "factor": factor,
        "clock_behind": standing["clock_behind"] if standing["clock_behind"] > BEHIND else 0.0,
        "in_hand": in_hand(standing, history),
        "charged": charge(holdings),
        "open": standing["open"],
        "rewarded": history.rewarded,
        "comparable": history.comparable,
        "outside": history.outside,
        "expired": history.expired,
        "late": history.late,
        "cancelled": history.cancelled,
        "last": [
            (line, history.outcomes.get(line.id, ""), timestamp(line.time))
            for line in reversed(history.last)
        ],
        "modes": [one | {"time": timestamp(one["time"])} for one in history.modes],
        "seq": standing["seq"],
        "digest": standing["digest"],
        "time": timestamp(history.time),
    }


def baseline_level(history: History) -> float | None:
    spec = history.spec
    if not isinstance(spec.baseline, str):
        return None
    arm = history.arms.get(spec.baseline)
    mean = arm.total / arm.rewards if arm is not None and arm.rewards else None
    mean = mean if spec.known_mean is None else spec.known_mean
    return mean and spec.factor * mean


def tiles(standing: JsonObject, history: History) -> list[tuple[str, str, str]]:
    rewards = history.rewards
    sets = history.spec.oracle is not None
    of_what = f"of {rewards:,} rewards of single arms" if sets else f"of {rewards:,} rewards"
    came = f"{history.rewarded:,} rewards came, {history.defaulted:,} are the default"
    numbers = [
        (
            "Decisions",
            f"{history.decisions:,}",
            f"{history.cancelled:,} cancelled, {history.unrewarded:,} ended without a reward",
        ),
        ("Rewarded", f"{history.rewarded + history.defaulted:,}", came),
        ("Open", f"{len(history.open):,}", "wait for a reward"),
        ("Mean reward", shown(history.spec, history.total / rewards) if rewards else "–", of_what),
        (
            "Baseline",
            f"{history.baseline_decisions / history.decisions:.0%}" if history.decisions else "–",
            "of all decisions",
        ),
    ]
    if standing["holdings"] is not None:
        holdings = standing["holdings"]
        told, by, alpha = told_by(holdings), history.spec.by, holdings["alpha"]
        promised = told[0]["clause"].removeprefix("the ") if alpha is None else f"alpha {alpha:g}"
        where = "rewards in hand" if by is None else f"rewards in hand in the {by} with the least"
        what = f"{holdings['metric']} in hand" if holdings["metric"] else where
        spec = history.about(holdings["metric"]).spec
        numbers.append(
            (
                "Budget",
                "≥ " + shown(spec, holdings["budget_bound"]),
                f"{what}, of {len(told)} promises the least"
                if len(told) > 1
                else f"{what}, {promised}",
            )
        )
    if standing.get("identified") is not None:
        left = standing["identified"]["samples_remaining"]
        numbers.append(
            ("Samples left", "–" if left is None else short(left), standing["identified"]["status"])
        )
    return numbers


def in_hand(standing: JsonObject, history: History) -> str:
    told, by = told_by(standing["holdings"]), history.spec.by
    if len(told) != 1 or not told[0]["alpha"] or told[0]["sense"] < 0:
        return f"of the promises about {history.metric or 'the reward'} the one that has least"
    where = "" if by is None else f", in the {by} that has least"
    left = f"{100 * (1 - told[0]['alpha']):g} % of what the baseline alone would have earned"
    return f"earned so far, less {left}{where}"


def budget_lines(standing: JsonObject, history: History) -> list[tuple[str, str]]:
    told = told_by(standing["holdings"])
    return [
        (
            one["clause"].removeprefix("the "),
            f"≥ {shown(history.about(one['metric']).spec, one['budget_bound'])}",
        )
        for one in (told if len(told) > 1 else ())
    ]


def certificate_chart(certificate: JsonObject) -> JsonObject | None:
    if certificate["budget"] is None or len(certificate["budget"]["over_time"]) < 2:
        return None
    points = [(float(decisions), bound) for decisions, bound in certificate["budget"]["over_time"]]
    words = (
        f"Lower bound of the budget over {points[-1][0]:.0f} decisions, never below "
        f"{short(certificate['budget']['lowest_bound'])}."
    )
    return lines([(points, "c2")], words, 0.0, time=False)
