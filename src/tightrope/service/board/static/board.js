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

// A new experiment: the form and the spec beside it are kept in agreement by the server, which alone knows how one follows from the other.
const specForm = document.getElementById("spec-form");
if (specForm !== null) {
  const spec = document.getElementById("spec"), was = specForm.elements.was, refused = document.getElementById("refused");
  let waiting = null, asked = 0;

  async function agree(step) {
    const mine = ++asked;
    const sent = new URLSearchParams(new FormData(specForm));
    sent.set("step", step);
    const answer = await fetch(specForm.action, { method: "POST", body: sent, headers: { accept: "application/json" } });
    if (!answer.ok || mine !== asked) return; // more was typed meanwhile
    const told = await answer.json();
    refused.hidden = told.refused === null;
    refused.textContent = told.refused ?? "";
    if (told.refused !== null) return;
    was.value = told.was;
    if (step === "form") spec.value = told.spec;
    else for (const [name, text] of Object.entries(told.fields)) fill(specForm.elements[name], text);
  }

  function fill(field, text) {
    if (field.tagName === "SELECT" && ![...field.options].some((one) => one.value === text)) field.add(new Option(text, text));
    field.value = text;
  }

  specForm.addEventListener("input", (event) => {
    const step = event.target === spec ? "spec" : "form";
    asked++;
    clearTimeout(waiting);
    waiting = setTimeout(() => agree(step).catch(() => {}), 250); // without an answer both are sent as they are
  });
}
