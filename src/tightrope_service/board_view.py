"""What an experiment's page shows: numbers, charts and sentences, computed from the live experiment
and the fold of its log."""

import datetime
import itertools
import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

from markupsafe import Markup, escape

from . import history as lead
from .certificate import CONTRADICTED, assumptions, charge, promised
from .errors import timestamp
from .extras import JsonObject
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
)
from .requests import ArmChange, ModeChange
from .rollout import JUDGED, MODES, PLAYED

# Charts as SVG, without a library: lines, stacked areas, intervals, bars. Colours come from the
# style sheet, by class.


WIDTH, HEIGHT = 360, 210
LEFT, RIGHT, TOP, BOTTOM = 46, 20, 10, 34  # room for half a number of the x axis at the right end
COLOURS = 8  # classes c0 .. c7

Pairs = Sequence[tuple[float, float]]


class Line(NamedTuple):
    """One line. style: classes of the style sheet."""

    label: str
    points: Pairs
    style: str


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


def ticks(low: float, high: float, most: int = 5, whole: bool = False) -> list[float]:
    """Round numbers between two ends."""
    span = max(high - low, 1e-12)
    raw = span / most
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(m * power for m in (1.0, 2.0, 5.0, 10.0) if m * power >= raw * (1 - 1e-9))
    if whole:
        step = max(1.0, float(math.ceil(step)))
    first = math.ceil(low / step - 1e-9)
    return [k * step for k in range(first, math.floor(high / step + 1e-9) + 1)]


SECOND = 1e6  # microseconds
HOUR, DAY = 3600.0, 86_400.0  # seconds
MINUTE = 60
TIMES = (
    1,
    2,
    5,
    10,
    15,
    30,
    MINUTE,
    2 * MINUTE,
    5 * MINUTE,
    10 * MINUTE,
    15 * MINUTE,
    30 * MINUTE,
    HOUR,
    2 * HOUR,
    3 * HOUR,
    6 * HOUR,
    12 * HOUR,
    DAY,
    2 * DAY,
    3 * DAY,
    7 * DAY,
    14 * DAY,
)  # seconds between ticks


def calendar(first: float, last: float, most: int = 5) -> list[tuple[float, str]]:
    """Ticks of a time axis, UTC: microseconds since 1970, with a date or a time of the day."""
    span = max(last - first, SECOND) / SECOND
    step = next(
        (float(one) for one in TIMES if span / one <= most),
        math.ceil(span / most / (30 * DAY)) * 30 * DAY,
    )
    ticks = [
        k * step * SECOND
        for k in range(math.ceil(first / SECOND / step), math.floor(last / SECOND / step) + 1)
    ]
    return [(at, moment(at, step, span)) for at in ticks]


def moment(at: float, step: float, span: float) -> str:
    when = datetime.datetime.fromtimestamp(at / SECOND, datetime.UTC)
    if step >= DAY or (span >= DAY and when.hour == when.minute == 0):
        return f"{when.day} {when:%b}" + (f" {when:%y}" if span > 300 * DAY else "")
    return f"{when:%H:%M}" if step >= 60 else f"{when:%H:%M:%S}"


def time_words(first: float, last: float) -> str:
    """The name of a time axis: the days that it covers."""
    days = [
        datetime.datetime.fromtimestamp(at / SECOND, datetime.UTC).strftime("%Y-%m-%d")
        for at in (first, last)
    ]
    return f"time (UTC), {days[0]}" + ("" if days[0] == days[1] else f" to {days[1]}")


class Frame:
    """Axes: from data to places in the picture."""

    def __init__(
        self, x: tuple[float, float], y: tuple[float, float], left: int = LEFT, height: int = HEIGHT
    ) -> None:
        self.x0, self.x1 = x[0], x[1] if x[1] > x[0] else x[0] + 1.0
        self.y0, self.y1 = y[0], y[1] if y[1] > y[0] else y[0] + 1.0
        self.left, self.right, self.top, self.bottom, self.height = (
            left,
            WIDTH - RIGHT,
            TOP,
            height - BOTTOM,
            height,
        )

    def px(self, x: float) -> float:
        return self.left + (x - self.x0) / (self.x1 - self.x0) * (self.right - self.left)

    def py(self, y: float) -> float:
        return self.bottom - (y - self.y0) / (self.y1 - self.y0) * (self.bottom - self.top)

    def axes(self, y_text: Callable[[float], str] = short, time: bool = True) -> list[str]:
        """Grid, ticks and the name of the x axis. time: it is one; else it counts decisions."""
        out = []
        for value in ticks(self.y0, self.y1, 5):
            y = self.py(value)
            out.append(
                f'<line class="grid" x1="{self.left}" x2="{self.right}" y1="{y:.1f}" y2="{y:.1f}"/>'
            )
            out.append(
                f'<text class="tick" '
                f'x="{self.left - 6}" '
                f'y="{y + 3.5:.1f}" '
                f'text-anchor="end">{escape(y_text(value))}</text>'
            )
        along = (
            calendar(self.x0, self.x1)
            if time
            else [(value, short(value)) for value in ticks(self.x0, self.x1, 6, True)]
        )
        for value, text in along:
            out.append(
                f'<text class="tick" '
                f'x="{self.px(value):.1f}" '
                f'y="{self.bottom + 14}" '
                f'text-anchor="middle">{escape(text)}</text>'
            )
        out.append(
            f'<line class="axis" x1="{self.left}" '
            f'x2="{self.right}" '
            f'y1="{self.bottom}" '
            f'y2="{self.bottom}"/>'
        )
        name = time_words(self.x0, self.x1) if time else "decisions"
        middle = (self.left + self.right) / 2
        out.append(
            f'<text class="name" '
            f'x="{middle:.1f}" '
            f'y="{self.height - 4}" '
            f'text-anchor="middle">{escape(name)}</text>'
        )
        return out


def svg(body: list[str], words: str, height: int = HEIGHT) -> Markup:
    return Markup(
        f'<svg viewBox="0 0 {WIDTH} {height}" '
        f'role="img" '
        f'aria-label="{escape(words)}" '
        f'preserveAspectRatio="xMidYMid meet">' + "".join(body) + "</svg>"
    )


def path(frame: Frame, points: Pairs) -> str:
    return "M" + "L".join(f"{frame.px(x):.1f},{frame.py(y):.1f}" for x, y in points)


def lines(
    curves: Sequence[Line],
    words: str,
    level: float | None = None,
    marks: Sequence[tuple[float, str]] = (),
    time: bool = True,
) -> Markup | None:
    """Lines over time, or over decisions. level: a dashed line. marks: dotted lines, with words.
    None where there is nothing to draw."""
    points = [point for line in curves for point in line.points]
    if len(points) < 2:
        return None
    values = [0.0, *(y for _, y in points), *(() if level is None else (level,))]
    low, high = min(values), max(values)
    room = (high - low) * 0.06 or 0.5
    along = [x for x, _ in points] + [x for x, _ in marks]
    frame = Frame((min(along) if time else 0.0, max(along)), (low - room * (low < 0), high + room))
    out = frame.axes(time=time)
    if frame.y0 < 0 < frame.y1:
        out.append(
            f'<line class="axis" x1="{frame.left}" '
            f'x2="{frame.right}" '
            f'y1="{frame.py(0):.1f}" '
            f'y2="{frame.py(0):.1f}"/>'
        )
    if level is not None:
        y = frame.py(level)
        out.append(
            f'<line class="level" x1="{frame.left}" x2="{frame.right}" y1="{y:.1f}" y2="{y:.1f}"/>'
        )
    for x, words in marks:
        at = f"{frame.px(x):.1f}"
        out.append(
            f'<line class="mark" x1="{at}" '
            f'x2="{at}" '
            f'y1="{frame.top}" '
            f'y2="{frame.bottom}"><title>{escape(words)}</title></line>'
        )
    for line in curves:
        if len(line.points) > 1:
            out.append(f'<path class="line {line.style}" d="{path(frame, line.points)}"/>')
    return svg(out, words)


def areas(
    edges: Sequence[float],
    shares: Sequence[Sequence[float]],
    styles: Sequence[str],
    names: Sequence[str],
    words: str,
) -> Markup | None:
    """Shares that add up to 1, as areas over time; shares[i] belongs to the stretch from edges[i]
    to edges[i + 1]."""
    if not shares:
        return None
    frame = Frame((edges[0], edges[-1]), (0.0, 1.0))
    out = []
    base = [0.0] * len(shares)
    for k, style in enumerate(styles):
        top = [b + row[k] for b, row in zip(base, shares, strict=True)]
        upper = [(edges[i + side], y) for i, y in enumerate(top) for side in (0, 1)]
        lower = [(edges[i + side], y) for i, y in enumerate(base) for side in (0, 1)]
        out.append(
            f'<path class="area '
            f'{style}" '
            f'd="{path(frame, upper + lower[::-1])}Z"><title>{escape(names[k])}</title></path>'
        )
        base = top
    return svg([*frame.axes(y_text=lambda v: f"{v:.0%}"), *out], words)


class Interval(NamedTuple):
    """A mean with its bounds."""

    label: str
    low: float
    high: float
    mean: float | None
    style: str
    note: str = ""


def wrapped(label: str, width: int = 13) -> list[str]:
    """A label in at most two lines; more of it is in the picture's words."""
    if len(label) <= width:
        return [label]
    cut = label.rfind(" ", 1, width + 1) if " " in label[1 : width + 1] else width
    rest = label[cut:].strip()
    return [label[:cut], rest if len(rest) <= width else rest[: width - 1] + "…"]


def draw_intervals(
    rows: Sequence[Interval], words: str, x_label: str, level: float | None = None
) -> Markup | None:
    if not rows:
        return None
    finite = [v for row in rows for v in (row.low, row.high) if math.isfinite(v)] + (
        [] if level is None else [level]
    )
    if not finite:
        return None
    height = TOP + 22 * len(rows) + BOTTOM + 12
    frame = Frame((min(finite), max(finite)), (0.0, 1.0), left=92, height=height)
    out = []
    for value in ticks(frame.x0, frame.x1, 4):
        x = frame.px(value)
        out.append(
            f'<line class="grid" x1="{x:.1f}" x2="{x:.1f}" y1="{frame.top}" y2="{frame.bottom}"/>'
        )
        out.append(
            f'<text class="tick" '
            f'x="{x:.1f}" '
            f'y="{frame.bottom + 14}" '
            f'text-anchor="middle">{escape(short(value))}</text>'
        )
    out.append(
        f'<text class="name" '
        f'x="{(frame.left + frame.right) / 2:.1f}" '
        f'y="{height - 4}" '
        f'text-anchor="middle">{escape(x_label)}</text>'
    )
    if level is not None:
        x = frame.px(level)
        out.append(
            f'<line class="level" x1="{x:.1f}" x2="{x:.1f}" y1="{frame.top}" y2="{frame.bottom}"/>'
        )
    for k, row in enumerate(rows):
        y = frame.top + 22 * k + 16
        low, high = (frame.px(min(max(v, frame.x0), frame.x1)) for v in (row.low, row.high))
        parts = wrapped(row.label)
        for n, part in enumerate(parts):
            at = y + 3.5 + 11 * (n - (len(parts) - 1) / 2)
            out.append(
                f'<text class="tick" '
                f'x="{frame.left - 8}" '
                f'y="{at:.1f}" '
                f'text-anchor="end">{escape(part)}</text>'
            )
        words = f"{row.label}: {short(row.low)} to {short(row.high)}{row.note}"
        out.append(f"<g><title>{escape(words)}</title>")
        out.append(
            f'<line class="bar {row.style}" x1="{low:.1f}" '
            f'x2="{max(high, low + 1):.1f}" '
            f'y1="{y}" '
            f'y2="{y}"/>'
        )
        if row.mean is not None and frame.x0 <= row.mean <= frame.x1:
            out.append(
                f'<circle class="dot {row.style}" cx="{frame.px(row.mean):.1f}" cy="{y}" r="4.5"/>'
            )
        out.append("</g>")
    return svg(out, words, height)


def bars(labels: Sequence[str], counts: Sequence[int], words: str, x_label: str) -> Markup | None:
    if not sum(counts):
        return None
    frame = Frame((0.0, float(len(counts))), (0.0, max(counts) * 1.05))
    out = []
    for value in ticks(0.0, frame.y1, 4, whole=True):
        y = frame.py(value)
        out.append(
            f'<line class="grid" x1="{frame.left}" x2="{frame.right}" y1="{y:.1f}" y2="{y:.1f}"/>'
        )
        out.append(
            f'<text class="tick" '
            f'x="{frame.left - 6}" '
            f'y="{y + 3.5:.1f}" '
            f'text-anchor="end">{escape(short(value))}</text>'
        )
    for k, (label, count) in enumerate(zip(labels, counts, strict=True)):
        left, right, y = frame.px(k + 0.1), frame.px(k + 0.9), frame.py(count)
        out.append(
            f'<rect class="column" x="{left:.1f}" '
            f'y="{y:.1f}" '
            f'width="{right - left:.1f}" '
            f'height="{frame.bottom - y:.1f}">'
            f"<title>{escape(label)}: {count}</title></rect>"
        )
        out.append(
            f'<text class="tick" '
            f'x="{(left + right) / 2:.1f}" '
            f'y="{frame.bottom + 14}" '
            f'text-anchor="middle">{escape(label)}</text>'
        )
    out.append(
        f'<line class="axis" x1="{frame.left}" '
        f'x2="{frame.right}" '
        f'y1="{frame.bottom}" '
        f'y2="{frame.bottom}"/>'
    )
    out.append(
        f'<text class="name" '
        f'x="{(frame.left + frame.right) / 2:.1f}" '
        f'y="{HEIGHT - 4}" '
        f'text-anchor="middle">{escape(x_label)}</text>'
    )
    return svg(out, words)


# The first card: which arm leads, by how much, how sure that is, what it has cost, and when it will
# be known, in one sentence.


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
    if history.spec.oracle is not None:
        return "decisions play sets of arms, so no single arm leads"
    contrast = history.telling_masks()
    if contrast is not None:
        return (
            f"the arm {contrast[0]} earns something else where other arms may not be played, so "
            "that arms are not compared"
        )
    return "what an arm earns depends on the round, so no single arm leads"


def against(estimate: JsonObject | None) -> str:
    """Policy against baseline, where arms cannot be compared."""
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
        f"a decision of the policy earns {more(gap)} than one of the baseline ({between(gap)}); "
        f"which is better is {sure} at {chance}"
    )


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
    arm, baseline = leader.arm, history.spec.baseline
    gap = lead.against_baseline(history, bounds, arm)
    than = f"the baseline {baseline}"
    if gap is None:
        gap, than = (
            lead.difference(history, bounds, arm, leader.next),
            f"{leader.next}, which is next",
        )
    assert gap is not None
    mean = short(lead.mean_of(history.arms[arm]))
    if gap.value < 0:
        first = (
            f"no arm earns more than {than}: of those that are played {arm} earns most, {mean} a "
            f"decision, {more(gap)} ({between(gap)})"
        )
        return [first, *sureness(standing, history, leader)]
    first = (
        f"the {'baseline' if arm == baseline else 'arm'} {arm} leads with {mean} a decision, "
        f"{more(gap)} than {than} ({between(gap)})"
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
        most = f"against the best arm it has cost at most {short(regret)}"
        return (
            f"{most}: no more would the best arm alone have earned in {n} decisions, with "
            "probability 90 %"
        )
    has_mean = history.spec.baseline_mean is not None
    than = "the baseline's known mean brings" if has_mean else "the baseline alone would have"
    said = (
        f"in {n} decisions it has earned {more(gain)} than {than} (without luck {between(gain)}, "
        "with probability 90 %)"
    )
    if gain.low >= 0:
        return f"against the baseline it has cost nothing so far: {said}"
    if gain.high < 0:
        return f"against the baseline it has cost {short(-gain.value)} so far: {said}"
    return f"whether it has cost anything cannot be said yet: {said}"


def recommendation(identified: JsonObject, status: str) -> list[str]:
    """An identification policy's answer, by its own stopping rule."""
    arm, gap, left = identified["arm"], identified["gap_bound"], identified["samples_remaining"]
    if identified["status"] == "certified":
        return [
            f"the arm {arm} is the best, as far as the policy was asked to know; its stopping "
            "rule is met, and it is known now"
        ]
    behind = "" if gap is None else f", at most {short(gap)} behind the best by the policy's bounds"
    said = f"the arm {arm} is the policy's choice so far{behind}, which is not sure yet"
    if status != "running":
        return [said, f"more will not be known while the experiment is {status}"]
    if left is None:
        return [said, "when it will be known cannot be said yet"]
    low, high = identified["samples_range"]
    ends = "" if low is None else f" ({limits(low, math.inf if high is None else high)})"
    return [said, f"about {two_digits(left)} more rewards are needed{ends}"]


# Words --------------------------------------------------------------------------------------------


def more(gap: BoundedDifference) -> str:
    return (
        "as much"
        if gap.value == 0
        else f"{short(abs(gap.value))} {'more' if gap.value > 0 else 'less'}"
    )


def between(gap: BoundedDifference) -> str:
    return f"between {short(gap.low)} and {short(gap.high)}"


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
    limit = (
        f" If that falls below {least:g}, {back}." if mode in PLAYED and least is not None else ""
    )
    return (
        f"{promised(holdings, standing['spec'])} The budget is at least "
        f"{short(holdings['budget_bound'])} now.{limit}"
    )


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


Marks = list[tuple[float, str]]  # times at which the mode changed


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
    """Pairs of points between which something is counted."""
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


def reward_chart(points: list[Point], marks: Marks) -> Markup | None:
    stretches = [
        (float(b.time), (b.total - a.total) / (b.rewards - a.rewards))
        for a, b in slices(points)
        if b.rewards > a.rewards
    ]
    means = [(float(p.time), p.total / p.rewards) for p in points if p.rewards]
    if not means:
        return None
    return lines(
        [Line("each stretch", stretches, "soft"), Line("all so far", means, "c0")],
        f"Mean reward over time; all so far {short(means[-1][1])}.",
        marks=marks,
    )


def regret_chart(points: list[Point]) -> Markup | None:
    curve = [(float(p.time), p.regret) for p in points if p.regret is not None]
    if len(curve) < 2:
        return None
    return lines(
        [Line("at most", curve, "c1")],
        f"Regret is at most {short(curve[-1][1])} after {points[-1].decisions} decisions.",
    )


def budget_chart(points: list[Point], least: float | None, marks: Marks) -> Markup | None:
    curve = [(float(p.time), p.budget) for p in points if p.budget is not None]
    if len(curve) < 2:
        return None
    return lines(
        [Line("at least", curve, "c2")],
        f"The budget is at least {short(curve[-1][1])} rewards.",
        least,
        marks,
    )


def share_chart(
    history: History, points: list[Point], styles: list[str]
) -> tuple[Markup | None, list[tuple[str, str]]]:
    """Shares of arms over time, and the legend (class, name)."""
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
    return areas(edges, shares, order, names, words), list(zip(order, names, strict=True))


def arm_rows(
    history: History, statuses: dict[str, str], styles: list[str], bounds: Bounds | None
) -> list[JsonObject]:
    rows, compared = [], history.comparable and history.telling_masks() is None
    for k, (id, arm) in enumerate(history.arms.items()):
        rows.append(
            {
                "id": id,
                "style": styles[k],
                "status": statuses.get(id, ""),
                "plays": arm.plays,
                "rewards": arm.rewards,
                "mean": arm.total / arm.rewards if arm.rewards else None,
                "ess": arm.effective_sample_size,
                "low": bounds[id][0] if bounds else None,
                "high": bounds[id][1] if bounds else None,
                "lift": against_baseline(history, bounds, id) if bounds and compared else None,
            }
        )
    return rows


def interval_chart(rows: list[JsonObject], baseline: float | None) -> Markup | None:
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


def delay_chart(delays: list[int]) -> Markup | None:
    words = ", ".join(
        f"{label} {count}" for label, count in zip(BARS, delays, strict=True) if count
    )
    return bars(BARS, delays, f"How long rewards took: {words}", "from decision to reward")


def difference_chart(estimate: JsonObject | None) -> Markup | None:
    if estimate is None or estimate["difference"] is None:
        return None
    low, high = estimate["difference"]
    gap = estimate["policy"]["value"] - estimate["baseline"]["value"]
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


def page_of(standing: JsonObject, history: History) -> JsonObject:
    """Everything that the templates need. standing: of the live experiment, see
    `commands.describe_standing`."""
    points, styles = history.curve(), style_of(history)
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
    marks = [
        (float(one["time"]), f"mode {one['mode']}")
        for one in history.modes[1:]
        if one["time"] >= (history.first or math.inf)
    ]
    spec = standing["spec"]
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
            "regret": regret_chart(points),
            "shares": shares,
            "intervals": interval_chart(rows, spec.get("baseline_mean")),
            "budget": budget_chart(points, rollout["least_budget"], marks),
            "delays": delay_chart(history.observed.delays),
            "difference": difference_chart(rollout["estimate"]),
        },
        "segments": [*history.segments],
        "segment_rows": segment_report(history)["arms"] if history.segments else [],
        "promises": promised_bounds(standing),
        "segments_note": note_of(history.spec),
        "promise_by": standing["spec"].get("promise_by"),
        "warnings": [
            one for one in assumptions(holdings, history, rollout) if one.verdict == CONTRADICTED
        ],
        "clock_behind": standing["clock_behind"] if standing["clock_behind"] > BEHIND else 0.0,
        "holdings": holdings,
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
    """The baseline's mean reward, known or observed so far."""
    spec = history.spec
    if not isinstance(spec.baseline, str):
        return None
    arm = history.arms.get(spec.baseline)
    mean = arm.total / arm.rewards if arm is not None and arm.rewards else None
    return mean if spec.baseline_mean is None else spec.baseline_mean


def tiles(standing: JsonObject, history: History) -> list[tuple[str, str, str]]:
    """The numbers on top: name, value, what it is."""
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
        ("Mean reward", short(history.total / rewards) if rewards else "–", of_what),
        (
            "Baseline",
            f"{history.baseline_decisions / history.decisions:.0%}" if history.decisions else "–",
            "of all decisions",
        ),
    ]
    if standing["holdings"] is not None:
        holdings = standing["holdings"]
        by = standing["spec"].get("promise_by")
        where = "rewards in hand" if by is None else f"rewards in hand in the {by} with the least"
        numbers.append(
            (
                "Budget",
                "≥ " + short(holdings["budget_bound"]),
                f"{where}, alpha {holdings['alpha']:g}",
            )
        )
    if standing.get("identified") is not None:
        left = standing["identified"]["samples_remaining"]
        numbers.append(
            ("Samples left", "–" if left is None else short(left), standing["identified"]["status"])
        )
    return numbers


def certificate_chart(certificate: JsonObject) -> Markup | None:
    if certificate["budget"] is None or len(certificate["budget"]["over_time"]) < 2:
        return None
    points = [(float(decisions), bound) for decisions, bound in certificate["budget"]["over_time"]]
    words = (
        f"Lower bound of the budget over {points[-1][0]:.0f} decisions, never below "
        f"{short(certificate['budget']['lowest_bound'])}."
    )
    return lines([Line("at least", points, "c2")], words, 0.0, time=False)
