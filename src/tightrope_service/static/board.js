// Keeps the page up to date: the server sends the parts that have changed, as HTML it has drawn itself.
const state = document.getElementById("live");
const source = document.body.dataset.stream;

function say(text, well) {
  if (state === null) return;
  state.textContent = text;
  state.classList.toggle("off", !well);
}

function replace(parts) {
  for (const [id, html] of Object.entries(parts)) {
    const part = document.getElementById(id);
    if (part === null || part.contains(document.activeElement)) continue; // not under somebody's hands
    const open = [...part.querySelectorAll("details")].map((one) => one.open);
    part.innerHTML = html;
    part.querySelectorAll("details").forEach((one, k) => { one.open = open[k] ?? one.open; });
  }
}

if (source) {
  const events = new EventSource(source);
  events.onopen = () => say("live", true);
  events.onmessage = (event) => { replace(JSON.parse(event.data)); say("live", true); };
  events.onerror = () => say(events.readyState === EventSource.CLOSED ? "not live: load the page again" : "connecting again", false);
  addEventListener("pagehide", () => events.close());
}

const mode = document.querySelector("select[name=mode]");
const share = document.getElementById("share-field");
if (mode !== null && share !== null) {
  const show = () => { share.hidden = mode.value !== "capped"; };
  mode.addEventListener("change", show);
  show();
}
