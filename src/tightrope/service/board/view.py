"""The contents of an experiment's page: numbers, pictures and sentences, from the live experiment and the history of its log."""

import itertools
import math

from markupsafe import Markup

from ...core.types import JsonObject
from ..domain.assumptions import CONTRADICTED, assumptions
from ..domain.certificate import charge
from ..domain.history import OPEN_AT_WORST, History, Point
from ..domain.lead import Bounds, against_baseline
from ..domain.observations import BARS
from ..domain.segments import note_of, promised_bounds, segment_report
from ..domain.times import timestamp
from . import charts
from .answer import answer_of
from .charts import Interval, Line, short
from .consequences import SERVED

COLOURED_ARMS = charts.COLOURS - 1  # arms with a colour of their own; the others share the last
BEHIND = 1.0  # seconds that a clock may be behind the log before the page says so
SLICES = 48  # of the pictures that count per stretch of decisions


Marks = list[tuple[float, str]]  # times at which the mode changed


def style_of(history: History) -> list[str]:
    """A class for each arm: one colour per arm, the most played first come first served in the order of the spec."""
    if len(history.arms) <= charts.COLOURS:
        return [f"c{k}" for k in range(len(history.arms))]
    plays = [arm.plays for arm in history.arms.values()]
    most = sorted(range(len(plays)), key=lambda k: (-plays[k], k))[:COLOURED_ARMS]
    return [f"c{sorted(most).index(k)}" if k in most else f"c{COLOURED_ARMS}" for k in range(len(history.arms))]


def slices(points: list[Point]) -> list[tuple[Point, Point]]:
    """Pairs of points between which something is counted."""
    step = max(1, math.ceil(len(points) / SLICES))
    ends = points[step - 1 :: step]
    if points and (not ends or ends[-1] is not points[-1]):
        ends.append(points[-1])
    first = Point(0, 0, 0, 0.0, 0, None, (), None)
    return [(before, after) for before, after in itertools.pairwise([first, *ends]) if after.decisions > before.decisions]


def reward_chart(points: list[Point], marks: Marks) -> Markup | None:
    stretches = [(float(b.time), (b.total - a.total) / (b.rewards - a.rewards)) for a, b in slices(points) if b.rewards > a.rewards]
    means = [(float(p.time), p.total / p.rewards) for p in points if p.rewards]
    if not means:
        return None
    curves = [Line("each stretch", stretches, "soft"), Line("all so far", means, "c0")]
    return charts.lines(curves, f"Mean reward over time; all so far {short(means[-1][1])}.", marks=marks)


def regret_chart(points: list[Point]) -> Markup | None:
    curve = [(float(p.time), p.regret) for p in points if p.regret is not None]
    if len(curve) < 2:
        return None
    return charts.lines([Line("at most", curve, "c1")], f"Regret is at most {short(curve[-1][1])} after {points[-1].decisions} decisions.")


def budget_chart(points: list[Point], least: float | None, marks: Marks) -> Markup | None:
    curve = [(float(p.time), p.budget) for p in points if p.budget is not None]
    if len(curve) < 2:
        return None
    return charts.lines([Line("at least", curve, "c2")], f"The budget is at least {short(curve[-1][1])} rewards.", least, marks)


def share_chart(history: History, points: list[Point], styles: list[str]) -> tuple[Markup | None, list[tuple[str, str]]]:
    """Shares of arms over time, and the legend (class, name)."""
    groups: dict[str, list[int]] = {}
    for k, style in enumerate(styles):
        groups.setdefault(style, []).append(k)
    ids = list(history.arms)
    order = sorted(groups)
    names = [ids[groups[style][0]] if len(groups[style]) == 1 else f"{len(groups[style])} others" for style in order]
    edges, shares = [float(history.first or 0)], []
    for a, b in slices(points):
        counts = [sum((b.plays[k] if k < len(b.plays) else 0) - (a.plays[k] if k < len(a.plays) else 0) for k in groups[style])
                  for style in order]  # fmt: skip
        total = sum(counts)
        if total:
            edges.append(float(b.time))
            shares.append([count / total for count in counts])
    words = "Share of each arm in the last decisions: " + (
        ", ".join(f"{name} {share:.0%}" for name, share in zip(names, shares[-1], strict=True)) if shares else "none yet")  # fmt: skip
    return charts.areas(edges, shares, order, names, words), list(zip(order, names, strict=True))


def arm_rows(history: History, statuses: dict[str, str], styles: list[str], bounds: Bounds | None) -> list[JsonObject]:
    rows, compared = [], history.comparable and history.telling_masks() is None
    for k, (id, arm) in enumerate(history.arms.items()):
        rows.append({
            "id": id, "style": styles[k], "status": statuses.get(id, ""), "plays": arm.plays, "rewards": arm.rewards,
            "mean": arm.total / arm.rewards if arm.rewards else None, "ess": arm.effective_sample_size,
            "low": bounds[id][0] if bounds else None, "high": bounds[id][1] if bounds else None,
            "lift": against_baseline(history, bounds, id) if bounds and compared else None,
        })  # fmt: skip
    return rows


def interval_chart(rows: list[JsonObject], baseline: float | None) -> Markup | None:
    bounded_rows = [row for row in rows if row["low"] is not None and row["rewards"]]
    if not bounded_rows:
        return None
    intervals = [
        Interval(row["id"], row["low"], row["high"], row["mean"], row["style"], f" from {row['rewards']} rewards")
        for row in bounded_rows[:20]
    ]
    words = "Bounds of the mean reward of each arm: " + "; ".join(f"{d.label} {short(d.low)} to {short(d.high)}" for d in intervals)
    return charts.intervals(intervals, words, "mean reward", baseline)


def delay_chart(delays: list[int]) -> Markup | None:
    words = ", ".join(f"{label} {count}" for label, count in zip(BARS, delays, strict=True) if count)
    return charts.bars(BARS, delays, f"How long rewards took: {words}", "from decision to reward")


def difference_chart(estimate: JsonObject | None) -> Markup | None:
    if estimate is None or estimate["difference"] is None:
        return None
    low, high = estimate["difference"]
    gap = estimate["policy"]["value"] - estimate["baseline"]["value"]
    row = Interval("difference", low, high, gap, "c4")
    return charts.intervals([row], f"Policy minus baseline: {short(low)} to {short(high)}.", "policy minus baseline, per decision", 0.0)


def bounds_of_arms(standing: JsonObject, history: History) -> list[tuple[float, float]] | None:
    """Bounds of the arms' means, in their order; None where they have no one mean."""
    identified = standing.get("identified")
    if identified is None:
        return history.intervals()
    return [(identified["lower"].get(id, -math.inf), identified["upper"].get(id, math.inf)) for id in history.arms]


def sentence_of(standing: JsonObject, history: History) -> str:
    bounds = bounds_of_arms(standing, history)
    return answer_of(standing, history, None if bounds is None else dict(zip(history.arms, bounds, strict=True)))


def page_of(standing: JsonObject, history: History) -> JsonObject:
    """Everything that the templates need. standing: of the live experiment, see `commands.describe_standing`."""
    points, styles = history.curve(), style_of(history)
    statuses = {arm["id"]: arm["status"] for arm in standing["arms"]}
    identified = standing.get("identified")
    bounds = bounds_of_arms(standing, history)
    source = (
        f"They hold at all times and for all arms at once, with probability 95 %; {OPEN_AT_WORST}." if identified is None
        else "These are the bounds of the policy's stopping rule."
    )  # fmt: skip
    by_arm = None if bounds is None else dict(zip(history.arms, bounds, strict=True))
    rows = arm_rows(history, statuses, styles, by_arm)
    shares, legend = share_chart(history, points, styles)
    rollout, holdings = standing["rollout"], standing["holdings"]
    marks = [(float(one["time"]), f"mode {one['mode']}") for one in history.modes[1:] if one["time"] >= (history.first or math.inf)]
    spec = standing["spec"]
    warnings = [one for one in assumptions(holdings, history, rollout) if one.verdict == CONTRADICTED]
    return {
        "name": standing["name"], "status": standing["status"], "spec": spec, "rollout": rollout, "about": SERVED[rollout["mode"]],
        "answer": answer_of(standing, history, by_arm), "tiles": tiles(standing, history), "rows": rows,
        "lifts": any(row["lift"] for row in rows), "base": baseline_level(history),
        "legend": legend, "source": source, "identified": identified,
        "pictures": {
            "reward": reward_chart(points, marks), "regret": regret_chart(points), "shares": shares,
            "intervals": interval_chart(rows, spec.get("baseline_mean")), "budget": budget_chart(points, rollout["least_budget"], marks),
            "delays": delay_chart(history.observed.delays),
            "difference": difference_chart(rollout["estimate"]),
        },
        "segments": segment_groups(history, standing), "segments_note": note_of(history.spec),
        "promise_by": standing["spec"].get("promise_by"),
        "warnings": warnings, "clock_behind": standing["clock_behind"] if standing["clock_behind"] > BEHIND else 0.0,
        "holdings": holdings, "charged": charge(holdings), "open": standing["open"],
        "rewarded": history.rewarded,
        "why_no_bounds": why_no_bounds(history), "expired": history.expired, "late": history.late, "cancelled": history.cancelled,
        "last": [(line, history.outcomes.get(line.id, ""), clock(line.time)) for line in reversed(history.last)],
        "modes": [one | {"time": timestamp(one["time"])} for one in history.modes], "seq": standing["seq"], "digest": standing["digest"],
        "time": timestamp(history.time),
    }  # fmt: skip


def segment_groups(history: History, standing: JsonObject) -> list[JsonObject]:
    """The tables by segment: a name, its lines, and the bound of each promise where its values have one."""
    if not history.segments:
        return []
    rows = segment_report(history)["arms"]
    promises = promised_bounds(standing)
    return [
        {
            "name": name,
            "rows": [row for row in rows if row["segment"] == name],
            "promises": [one for one in promises if one["segment"] == name],
        }
        for name in history.segments
    ]


def clock(microseconds: int) -> str:
    return str(timestamp(microseconds))[:19].replace("T", " ")


def why_no_bounds(history: History) -> str:
    """Why arms have no bounds on the page; empty where they have."""
    if history.comparable:
        return ""
    why = "rewards are outside the declared range" if history.outside else "what an arm earns depends on the round"
    return f"No bounds of arms are shown, nor regret: {why}."


def baseline_level(history: History) -> float | None:
    """The baseline's mean reward, known or observed so far."""
    spec = history.spec
    if spec is None or not isinstance(spec.baseline, str):
        return None
    arm = history.arms.get(spec.baseline)
    mean = arm.total / arm.rewards if arm is not None and arm.rewards else None
    return mean if spec.baseline_mean is None else spec.baseline_mean


def tiles(standing: JsonObject, history: History) -> list[tuple[str, str, str]]:
    """The numbers on top: name, value, what it is."""
    rewards = history.rewards
    sets = history.spec is not None and history.spec.oracle is not None
    of_what = f"of {rewards:,} rewards of single arms" if sets else f"of {rewards:,} rewards"
    came = f"{history.rewarded:,} rewards came, {history.defaulted:,} are the default"
    numbers = [
        ("Decisions", f"{history.decisions:,}", f"{history.cancelled:,} cancelled, {history.unrewarded:,} ended without a reward"),
        ("Rewarded", f"{history.rewarded + history.defaulted:,}", came),
        ("Open", f"{len(history.open):,}", "wait for a reward"),
        ("Mean reward", short(history.total / rewards) if rewards else "–", of_what),
        ("Baseline", f"{history.baseline_decisions / history.decisions:.0%}" if history.decisions else "–", "of all decisions"),
    ]
    if standing["holdings"] is not None:
        holdings = standing["holdings"]
        by = standing["spec"].get("promise_by")
        where = "rewards in hand" if by is None else f"rewards in hand in the {by} with the least"
        numbers.append(("Budget", "≥ " + short(holdings["budget_bound"]), f"{where}, alpha {holdings['alpha']:g}"))
    if standing.get("identified") is not None:
        left = standing["identified"]["samples_remaining"]
        numbers.append(("Samples left", "–" if left is None else short(left), standing["identified"]["status"]))
    return numbers


def certificate_chart(certificate: JsonObject) -> Markup | None:
    if certificate["budget"] is None or len(certificate["budget"]["over_time"]) < 2:
        return None
    points = [(float(decisions), bound) for decisions, bound in certificate["budget"]["over_time"]]
    words = f"Lower bound of the budget over {points[-1][0]:.0f} decisions, never below {short(certificate['budget']['lowest_bound'])}."
    return charts.lines([Line("at least", points, "c2")], words, 0.0, time=False)
