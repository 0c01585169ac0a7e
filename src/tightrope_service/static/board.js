// Keeps the page up to date: every second the server is asked for the parts that have changed, as HTML it has drawn itself.
import { drawCharts } from "./charts.js";

const state = document.getElementById("live");
const { parts, seq } = document.body.dataset;
const shown = {};

function say(text, well) {
  if (state === null) return;
  state.textContent = text;
  state.classList.toggle("off", !well);
}

function replace(changed) {
  for (const [id, html] of Object.entries(changed)) {
    const part = document.getElementById(id);
    if (part === null || html === shown[id] || part.contains(document.activeElement)) continue; // not under somebody's hands
    const open = [...part.querySelectorAll("details")].map((one) => one.open);
    part.innerHTML = shown[id] = html;
    part.querySelectorAll("details").forEach((one, k) => { one.open = open[k] ?? one.open; });
    drawCharts(part);
  }
}

async function follow(at) {
  let next = at;
  try {
    const answer = await fetch(`${parts}?seq=${at}`);
    if ([401, 403, 404].includes(answer.status)) return say("not live: load the page again", false);
    if (answer.status === 200) {
      const page = await answer.json();
      replace(page.parts);
      next = page.seq;
    }
    say(answer.ok ? "live" : "connecting again", answer.ok);
  } catch {
    say("connecting again", false);
  }
  setTimeout(follow, document.hidden ? 10_000 : 1_000, next);
}

drawCharts(document);
if (parts) follow(seq);

const mode = document.querySelector("select[name=mode]");
const share = document.getElementById("share-field");
if (mode !== null && share !== null) {
  const show = () => { share.hidden = mode.value !== "capped"; };
  mode.addEventListener("change", show);
  show();
}

if (matchMedia("(max-width: 640px)").matches) document.querySelector(".charts")?.removeAttribute("open");

const search = document.getElementById("search");
search?.addEventListener("input", () => {
  for (const line of document.querySelectorAll("#experiments tbody tr")) line.hidden = !line.textContent.toLowerCase().includes(search.value.toLowerCase());
});

// The list: who leads is asked for a line at a time, since the first look at a long log takes a while.
for (const cell of document.querySelectorAll("[data-lead]")) {
  const answer = await fetch(cell.dataset.lead).catch(() => null);
  if (answer?.status === 200) cell.innerHTML = await answer.text();
}
