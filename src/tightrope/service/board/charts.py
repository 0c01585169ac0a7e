"""Charts as SVG, without a library: lines, stacked areas, intervals, bars. Colours come from the style sheet, by class."""

import datetime
import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

from markupsafe import Markup, escape

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
    1, 2, 5, 10, 15, 30, MINUTE, 2 * MINUTE, 5 * MINUTE, 10 * MINUTE, 15 * MINUTE, 30 * MINUTE,
    HOUR, 2 * HOUR, 3 * HOUR, 6 * HOUR, 12 * HOUR, DAY, 2 * DAY, 3 * DAY, 7 * DAY, 14 * DAY,
)  # seconds between ticks  # fmt: skip


def calendar(first: float, last: float, most: int = 5) -> list[tuple[float, str]]:
    """Ticks of a time axis, UTC: microseconds since 1970, with a date or a time of the day."""
    span = max(last - first, SECOND) / SECOND
    step = next((float(one) for one in TIMES if span / one <= most), math.ceil(span / most / (30 * DAY)) * 30 * DAY)
    ticks = [k * step * SECOND for k in range(math.ceil(first / SECOND / step), math.floor(last / SECOND / step) + 1)]
    return [(at, moment(at, step, span)) for at in ticks]


def moment(at: float, step: float, span: float) -> str:
    when = datetime.datetime.fromtimestamp(at / SECOND, datetime.UTC)
    if step >= DAY or (span >= DAY and when.hour == when.minute == 0):
        return f"{when.day} {when:%b}" + (f" {when:%y}" if span > 300 * DAY else "")
    return f"{when:%H:%M}" if step >= 60 else f"{when:%H:%M:%S}"


def time_words(first: float, last: float) -> str:
    """The name of a time axis: the days that it covers."""
    days = [datetime.datetime.fromtimestamp(at / SECOND, datetime.UTC).strftime("%Y-%m-%d") for at in (first, last)]
    return f"time (UTC), {days[0]}" + ("" if days[0] == days[1] else f" to {days[1]}")


class Frame:
    """Axes: from data to places in the picture."""

    def __init__(self, x: tuple[float, float], y: tuple[float, float], left: int = LEFT, height: int = HEIGHT) -> None:
        self.x0, self.x1 = x[0], x[1] if x[1] > x[0] else x[0] + 1.0
        self.y0, self.y1 = y[0], y[1] if y[1] > y[0] else y[0] + 1.0
        self.left, self.right, self.top, self.bottom, self.height = left, WIDTH - RIGHT, TOP, height - BOTTOM, height

    def px(self, x: float) -> float:
        return self.left + (x - self.x0) / (self.x1 - self.x0) * (self.right - self.left)

    def py(self, y: float) -> float:
        return self.bottom - (y - self.y0) / (self.y1 - self.y0) * (self.bottom - self.top)

    def axes(self, y_text: Callable[[float], str] = short, time: bool = True) -> list[str]:
        """Grid, ticks and the name of the x axis. time: it is one; else it counts decisions."""
        out = []
        for value in ticks(self.y0, self.y1, 5):
            y = self.py(value)
            out.append(f'<line class="grid" x1="{self.left}" x2="{self.right}" y1="{y:.1f}" y2="{y:.1f}"/>')
            out.append(f'<text class="tick" x="{self.left - 6}" y="{y + 3.5:.1f}" text-anchor="end">{escape(y_text(value))}</text>')
        along = calendar(self.x0, self.x1) if time else [(value, short(value)) for value in ticks(self.x0, self.x1, 6, True)]
        for value, text in along:
            out.append(f'<text class="tick" x="{self.px(value):.1f}" y="{self.bottom + 14}" text-anchor="middle">{escape(text)}</text>')
        out.append(f'<line class="axis" x1="{self.left}" x2="{self.right}" y1="{self.bottom}" y2="{self.bottom}"/>')
        name = time_words(self.x0, self.x1) if time else "decisions"
        middle = (self.left + self.right) / 2
        out.append(f'<text class="name" x="{middle:.1f}" y="{self.height - 4}" text-anchor="middle">{escape(name)}</text>')
        return out


def svg(body: list[str], words: str, height: int = HEIGHT) -> Markup:
    return Markup(
        f'<svg viewBox="0 0 {WIDTH} {height}" role="img" aria-label="{escape(words)}" preserveAspectRatio="xMidYMid meet">'
        + "".join(body) + "</svg>"
    )  # fmt: skip


def path(frame: Frame, points: Pairs) -> str:
    return "M" + "L".join(f"{frame.px(x):.1f},{frame.py(y):.1f}" for x, y in points)


def lines(
    curves: Sequence[Line], words: str, level: float | None = None, marks: Sequence[tuple[float, str]] = (), time: bool = True
) -> Markup | None:
    """Lines over time, or over decisions. level: a dashed line. marks: dotted lines, with words. None where there is nothing to draw."""
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
        out.append(f'<line class="axis" x1="{frame.left}" x2="{frame.right}" y1="{frame.py(0):.1f}" y2="{frame.py(0):.1f}"/>')
    if level is not None:
        y = frame.py(level)
        out.append(f'<line class="level" x1="{frame.left}" x2="{frame.right}" y1="{y:.1f}" y2="{y:.1f}"/>')
    for x, words in marks:
        at = f"{frame.px(x):.1f}"
        out.append(f'<line class="mark" x1="{at}" x2="{at}" y1="{frame.top}" y2="{frame.bottom}"><title>{escape(words)}</title></line>')
    for line in curves:
        if len(line.points) > 1:
            out.append(f'<path class="line {line.style}" d="{path(frame, line.points)}"/>')
    return svg(out, words)


def areas(
    edges: Sequence[float], shares: Sequence[Sequence[float]], styles: Sequence[str], names: Sequence[str], words: str
) -> Markup | None:
    """Shares that add up to 1, as areas over time; shares[i] belongs to the stretch from edges[i] to edges[i + 1]."""
    if not shares:
        return None
    frame = Frame((edges[0], edges[-1]), (0.0, 1.0))
    out = []
    base = [0.0] * len(shares)
    for k, style in enumerate(styles):
        top = [b + row[k] for b, row in zip(base, shares, strict=True)]
        upper = [(edges[i + side], y) for i, y in enumerate(top) for side in (0, 1)]
        lower = [(edges[i + side], y) for i, y in enumerate(base) for side in (0, 1)]
        out.append(f'<path class="area {style}" d="{path(frame, upper + lower[::-1])}Z"><title>{escape(names[k])}</title></path>')
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


def intervals(rows: Sequence[Interval], words: str, x_label: str, level: float | None = None) -> Markup | None:
    if not rows:
        return None
    finite = [v for row in rows for v in (row.low, row.high) if math.isfinite(v)] + ([] if level is None else [level])
    if not finite:
        return None
    height = TOP + 22 * len(rows) + BOTTOM + 12
    frame = Frame((min(finite), max(finite)), (0.0, 1.0), left=92, height=height)
    out = []
    for value in ticks(frame.x0, frame.x1, 4):
        x = frame.px(value)
        out.append(f'<line class="grid" x1="{x:.1f}" x2="{x:.1f}" y1="{frame.top}" y2="{frame.bottom}"/>')
        out.append(f'<text class="tick" x="{x:.1f}" y="{frame.bottom + 14}" text-anchor="middle">{escape(short(value))}</text>')
    out.append(
        f'<text class="name" x="{(frame.left + frame.right) / 2:.1f}" y="{height - 4}" text-anchor="middle">{escape(x_label)}</text>'
    )
    if level is not None:
        x = frame.px(level)
        out.append(f'<line class="level" x1="{x:.1f}" x2="{x:.1f}" y1="{frame.top}" y2="{frame.bottom}"/>')
    for k, row in enumerate(rows):
        y = frame.top + 22 * k + 16
        low, high = (frame.px(min(max(v, frame.x0), frame.x1)) for v in (row.low, row.high))
        parts = wrapped(row.label)
        for n, part in enumerate(parts):
            at = y + 3.5 + 11 * (n - (len(parts) - 1) / 2)
            out.append(f'<text class="tick" x="{frame.left - 8}" y="{at:.1f}" text-anchor="end">{escape(part)}</text>')
        words = f"{row.label}: {short(row.low)} to {short(row.high)}{row.note}"
        out.append(f"<g><title>{escape(words)}</title>")
        out.append(f'<line class="bar {row.style}" x1="{low:.1f}" x2="{max(high, low + 1):.1f}" y1="{y}" y2="{y}"/>')
        if row.mean is not None and frame.x0 <= row.mean <= frame.x1:
            out.append(f'<circle class="dot {row.style}" cx="{frame.px(row.mean):.1f}" cy="{y}" r="4.5"/>')
        out.append("</g>")
    return svg(out, words, height)


def bars(labels: Sequence[str], counts: Sequence[int], words: str, x_label: str) -> Markup | None:
    if not sum(counts):
        return None
    frame = Frame((0.0, float(len(counts))), (0.0, max(counts) * 1.05))
    out = []
    for value in ticks(0.0, frame.y1, 4, whole=True):
        y = frame.py(value)
        out.append(f'<line class="grid" x1="{frame.left}" x2="{frame.right}" y1="{y:.1f}" y2="{y:.1f}"/>')
        out.append(f'<text class="tick" x="{frame.left - 6}" y="{y + 3.5:.1f}" text-anchor="end">{escape(short(value))}</text>')
    for k, (label, count) in enumerate(zip(labels, counts, strict=True)):
        left, right, y = frame.px(k + 0.1), frame.px(k + 0.9), frame.py(count)
        out.append(f'<rect class="column" x="{left:.1f}" y="{y:.1f}" width="{right - left:.1f}" height="{frame.bottom - y:.1f}">'
                   f"<title>{escape(label)}: {count}</title></rect>")  # fmt: skip
        out.append(f'<text class="tick" x="{(left + right) / 2:.1f}" y="{frame.bottom + 14}" text-anchor="middle">{escape(label)}</text>')
    out.append(f'<line class="axis" x1="{frame.left}" x2="{frame.right}" y1="{frame.bottom}" y2="{frame.bottom}"/>')
    out.append(
        f'<text class="name" x="{(frame.left + frame.right) / 2:.1f}" y="{HEIGHT - 4}" text-anchor="middle">{escape(x_label)}</text>'
    )
    return svg(out, words)
