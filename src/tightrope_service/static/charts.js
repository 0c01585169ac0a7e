// Charts, drawn from data: lines, stacked areas, intervals, bars. Colours come from the style sheet, by class.
const WIDTH = 360, LEFT = 46, RIGHT = 20, TOP = 10, BOTTOM = 34; // right: room for half a number of the x axis
const DAY = 86_400;
const STEPS = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10_800, 21_600, 43_200, DAY, 2 * DAY, 3 * DAY, 7 * DAY, 14 * DAY]; // seconds

export function short(value) {
  const size = Math.abs(value);
  const [scale, name] = [[1e9, "G"], [1e6, "M"], [1e4, "k"]].find(([unit]) => size >= unit) ?? [1, ""];
  const scaled = value / (name === "k" ? 1e3 : scale);
  const whole = name === "" && (size >= 100 || Number.isInteger(value));
  const text = whole ? Math.round(scaled).toLocaleString("en") : String(Number(scaled.toPrecision(3)));
  return (text + name).replace("-", "−");
}

// Round numbers between two ends.
function ticks(low, high, most = 5, whole = false) {
  const raw = Math.max(high - low, 1e-12) / most;
  const power = 10 ** Math.floor(Math.log10(raw));
  let step = [1, 2, 5, 10].map((m) => m * power).find((one) => one >= raw * (1 - 1e-9));
  if (whole) step = Math.max(1, Math.ceil(step));
  const found = [];
  for (let k = Math.ceil(low / step - 1e-9); k <= Math.floor(high / step + 1e-9); k++) found.push(k * step || 0); // no -0
  return found;
}

// Ticks of a time axis, UTC: microseconds since 1970, with a date or a time of the day.
export function calendar(first, last, most = 5) {
  const span = Math.max((last - first) / 1e6, 1);
  const step = STEPS.find((one) => span / one <= most) ?? Math.ceil(span / most / (30 * DAY)) * 30 * DAY;
  const found = [];
  for (let k = Math.ceil(first / 1e6 / step); k <= Math.floor(last / 1e6 / step); k++) found.push([k * step * 1e6, moment(k * step, step, span)]);
  return found;
}

function moment(seconds, step, span) {
  const when = new Date(seconds * 1000), clock = when.toISOString().slice(11, 19);
  if (step < DAY && (span < DAY || clock !== "00:00:00")) return step >= 60 ? clock.slice(0, 5) : clock;
  const month = when.toLocaleString("en", { month: "short", timeZone: "UTC" });
  return `${when.getUTCDate()} ${month}${span > 300 * DAY ? ` ${String(when.getUTCFullYear()).slice(2)}` : ""}`;
}

function timeWords(first, last) {
  const [from, to] = [first, last].map((at) => new Date(at / 1000).toISOString().slice(0, 10));
  return `time (UTC), ${from}${from === to ? "" : ` to ${to}`}`;
}

function element(tag, attributes, title = "", text = "") {
  const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, typeof value === "number" ? value.toFixed(1) : value);
  if (text !== "") made.textContent = text;
  if (title !== "") made.append(element("title", {}, "", title));
  return made;
}

// Axes: from data to places in the picture.
class Frame {
  constructor(words, [x0, x1], [y0, y1], left = LEFT, height = 210) {
    Object.assign(this, { x0, x1: x1 > x0 ? x1 : x0 + 1, y0, y1: y1 > y0 ? y1 : y0 + 1, left, right: WIDTH - RIGHT, bottom: height - BOTTOM });
    this.svg = element("svg", { viewBox: `0 0 ${WIDTH} ${height}`, role: "img", "aria-label": words, preserveAspectRatio: "xMidYMid meet" });
  }
  px(x) { return this.left + ((x - this.x0) / (this.x1 - this.x0)) * (this.right - this.left); }
  py(y) { return this.bottom - ((y - this.y0) / (this.y1 - this.y0)) * (this.bottom - TOP); }
  path(points) { return "M" + points.map(([x, y]) => `${this.px(x).toFixed(1)},${this.py(y).toFixed(1)}`).join("L"); }
  add(...made) { this.svg.append(...made); }
  across(style, y) { this.add(element("line", { class: style, x1: this.left, x2: this.right, y1: y, y2: y })); }
  upright(style, x, title) { this.add(element("line", { class: style, x1: x, x2: x, y1: TOP, y2: this.bottom }, title)); }
  label(x, y, text, anchor = "middle", style = "tick") { this.add(element("text", { class: style, x, y, "text-anchor": anchor }, "", text)); }
  name(text) { this.label((this.left + this.right) / 2, this.bottom + BOTTOM - 4, text, "middle", "name"); }
  marked(along) { for (const [x, text] of along) this.label(this.px(x), this.bottom + 14, text); }
  grid(values, text = short) {
    for (const value of values) {
      this.across("grid", this.py(value));
      this.label(this.left - 6, this.py(value) + 3.5, text(value), "end");
    }
    this.across("axis", this.bottom);
  }
  axes(text = short, time = true) {
    this.grid(ticks(this.y0, this.y1), text);
    this.marked(time ? calendar(this.x0, this.x1) : ticks(this.x0, this.x1, 6, true).map((value) => [value, short(value)]));
    this.name(time ? timeWords(this.x0, this.x1) : "decisions");
  }
}

// A label in at most two lines; more of it is in the picture's words.
function wrapped(label, width = 13) {
  if (label.length <= width) return [label];
  const space = label.lastIndexOf(" ", width);
  const cut = space > 0 ? space : width;
  const rest = label.slice(cut).trim();
  return [label.slice(0, cut), rest.length <= width ? rest : `${rest.slice(0, width - 1)}…`];
}

const DRAWN = {
  lines({ words, curves, level, marks, time }) {
    const points = curves.flatMap((line) => line.points);
    const values = [0, ...points.map(([, y]) => y), ...(level === null ? [] : [level])];
    const low = Math.min(...values), high = Math.max(...values), room = (high - low) * 0.06 || 0.5;
    const along = [...points, ...marks].map(([x]) => x);
    const frame = new Frame(words, [time ? Math.min(...along) : 0, Math.max(...along)], [low < 0 ? low - room : low, high + room]);
    frame.axes(short, time);
    if (frame.y0 < 0 && frame.y1 > 0) frame.across("axis", frame.py(0));
    if (level !== null) frame.across("level", frame.py(level));
    for (const [x, said] of marks) frame.upright("mark", frame.px(x), said);
    for (const line of curves) frame.add(element("path", { class: `line ${line.style}`, d: frame.path(line.points) }));
    return frame.svg;
  },
  areas({ words, edges, shares, legend }) {
    const frame = new Frame(words, [edges[0], edges.at(-1)], [0, 1]);
    frame.axes((share) => `${Math.round(100 * share)}%`);
    let base = shares.map(() => 0);
    const steps = (heights) => heights.flatMap((y, i) => [[edges[i], y], [edges[i + 1], y]]);
    legend.forEach(([style, name], k) => {
      const top = base.map((y, i) => y + shares[i][k]);
      frame.add(element("path", { class: `area ${style}`, d: `${frame.path([...steps(top), ...steps(base).reverse()])}Z` }, name));
      base = top;
    });
    return frame.svg;
  },
  intervals({ words, rows, name, level }) {
    const finite = rows.flatMap((row) => [row.low, row.high]).concat(level ?? []).filter((end) => end !== undefined);
    const frame = new Frame(words, [Math.min(...finite), Math.max(...finite)], [0, 1], 92, TOP + 22 * rows.length + BOTTOM + 12);
    for (const value of ticks(frame.x0, frame.x1, 4)) {
      frame.upright("grid", frame.px(value));
      frame.marked([[value, short(value)]]);
    }
    frame.name(name);
    if (level !== null) frame.upright("level", frame.px(level));
    rows.forEach((row, k) => {
      const y = TOP + 22 * k + 16, low = frame.px(row.low ?? frame.x0), high = frame.px(row.high ?? frame.x1);
      const parts = wrapped(row.label);
      parts.forEach((part, n) => frame.label(frame.left - 8, y + 3.5 + 11 * (n - (parts.length - 1) / 2), part, "end"));
      const group = element("g", {}, row.title);
      group.append(element("line", { class: `bar ${row.style}`, x1: low, x2: Math.max(high, low + 1), y1: y, y2: y }));
      if (row.mean !== null && frame.x0 <= row.mean && row.mean <= frame.x1) group.append(element("circle", { class: `dot ${row.style}`, cx: frame.px(row.mean), cy: y, r: 4.5 }));
      frame.add(group);
    });
    return frame.svg;
  },
  bars({ words, bars, name }) {
    const frame = new Frame(words, [0, bars.length], [0, 1.05 * Math.max(...bars.map(([, count]) => count))]);
    frame.grid(ticks(0, frame.y1, 4, true));
    bars.forEach(([label, count], k) => {
      const x = frame.px(k + 0.1), y = frame.py(count);
      frame.add(element("rect", { class: "column", x, y, width: frame.px(k + 0.9) - x, height: frame.bottom - y }, `${label}: ${count}`));
      frame.marked([[k + 0.5, label]]);
    });
    frame.name(name);
    return frame.svg;
  },
};

export function drawCharts(part) {
  for (const place of part.querySelectorAll("[data-chart]")) {
    const chart = JSON.parse(place.dataset.chart);
    place.replaceChildren(DRAWN[chart.kind](chart));
  }
}
