// Home: the runs that are there, and what to start from.
import { useEffect } from "preact/hooks";
import { signal } from "@preact/signals";
import { back, call } from "./server.js";
import { Act, ago, epsilon, html, seconds, Status } from "./parts.js";
import { start, withPreset, write } from "./draft.js";
import { Term, Terms } from "./terms.js";

export const runs = signal(null);
const chosen = signal([]), removing = signal(null), wanted = signal("");
const SOME = 25, all = signal(false);

export async function refresh() {
  try {
    runs.value = (await call("/api/runs")).runs;
    const there = new Set(runs.value.map(({ id }) => id));
    chosen.value = chosen.value.filter((id) => there.has(id));
    performance.mark("home");
  } catch {
    runs.value ??= null;
  }
}
const busy = (list) => list?.some(({ status }) => status === "running" || status === "queued");
const at = (id) => `/api/runs/${encodeURIComponent(id)}`;
export const doing = (id, what) => call(`${at(id)}/${what}`, undefined, { method: "POST" });

function Row({ run }) {
  const { id, status, headline, why } = run, picked = chosen.value.includes(id), live = status === "running" || status === "queued";
  const pick = () => { chosen.value = picked ? chosen.value.filter((other) => other !== id) : [...chosen.value, id]; };
  const forget = async () => { await call(at(id), undefined, { method: "DELETE" }); removing.value = null; await refresh(); };
  return html`<li class="run"><input type="checkbox" checked=${picked} disabled=${!picked && chosen.value.length > 1} onChange=${pick} aria-label=${`Compare ${id}`} />
    <div class="what"><a href=${`#run/${encodeURIComponent(id)}`}>${id}</a> <${Status} of=${status} />
      <p>${headline || why || (live ? "The answer comes at the end." : "No answer.")}</p>
      ${status === "running" && html`<progress value=${run.total ? run.done : null} max=${run.total || 1} aria-label="Progress"></progress>`}
      <p class="quiet">${run.systems.length > 0 && `${run.systems.length} system${run.systems.length === 1 ? "" : "s"}`} ${run.rounds > 0 && ` · ${run.rounds.toLocaleString("en")} rounds × ${run.replicates} replicates`}${run.epsilon !== null && ` · ε ${epsilon(run.epsilon)}`}${run.elapsed !== null && ` · ${seconds(run.elapsed)}`}${run.began && ` · ${ago(run.began)}`}</p></div>
    <div class="acts">${live && html`<${Act} class="small" meanwhile="Stopping…" act=${async () => { await doing(id, "stop"); await refresh(); }}>Stop</${Act}>`}
      ${status === "interrupted" && html`<${Act} class="small" act=${async () => { await doing(id, "resume"); await refresh(); }}>Resume</${Act}>`}
      ${!live && (removing.value === id
        ? html`<${Act} class="small danger" act=${forget}>Remove for good</${Act}><button type="button" class="small" onClick=${() => { removing.value = null; }}>Keep</button>`
        : html`<button type="button" class="small" onClick=${() => { removing.value = id; }} aria-label=${`Remove ${id}`}>Remove</button>`)}</div></li>`;
}

function Runs() {
  const list = runs.value;
  if (!list) return html`<p class="quiet">…</p>`;
  if (!list.length) return html`<p class="empty">No runs yet. Start from an example: the quickstart takes about 20 seconds.</p>`;
  const shown = all.value ? list : list.slice(0, SOME), two = chosen.value;
  return html`<ul class="plain runs">${shown.map((run) => html`<${Row} key=${run.id} run=${run} />`)}</ul>
    ${shown.length < list.length && html`<p class="warning">The newest ${SOME} of ${list.length} runs are shown. <button type="button" class="link" onClick=${() => { all.value = true; }}>Show all</button></p>`}
    <p class="compare" role="status">${two.length === 2
      ? html`<a class="button primary" href=${`#compare/${two.map(encodeURIComponent).join("/")}`}>Compare these two</a> <span class="quiet">Two at a time.</span>`
      : html`<span class="quiet">Choose two runs to compare them${two.length ? ": one more" : ""}.</span>`}</p>`;
}

const go = (act) => () => { act(); location.hash = "setup"; };

const Preset = ({ name, about }) => html`<li><button type="button" class="link" onClick=${go(() => withPreset(name))}>${name}</button> <span class="quiet"><${Terms} text=${about} /></span></li>`;

function Presets() {
  const word = wanted.value.trim().toLowerCase(), families = new Map();
  const found = (start.value?.presets ?? []).filter(({ name, about }) => !word || name.includes(word) || about.toLowerCase().includes(word));
  for (const one of found) families.set(one.system, [...(families.get(one.system) ?? []), one]);
  return html`<div class="row"><label for="wanted">Find a preset</label><input id="wanted" type="search" value=${wanted} onInput=${(event) => { wanted.value = event.target.value; }} placeholder="name, or a word" />
      <span class="quiet" role="status">${start.value && (found.length ? `${found.length} presets of ${families.size} systems` : "No preset has this word.")}</span></div>
    <div class="families">${[...families].map(([system, some]) => html`<details key=${system} open=${Boolean(word)}><summary><b>${system}</b> <span class="quiet">${some.length}: ${some.slice(0, 3).map(({ name }) => name).join(", ")}${some.length > 3 ? ", …" : ""}</span></summary>
      <ul class="plain presets">${some.map((one) => html`<${Preset} key=${one.name} ...${one} />`)}</ul></details>`)}</div>`;
}

export function Home() {
  useEffect(() => { refresh(); }, [back.value]);
  const live = busy(runs.value);
  useEffect(() => {
    if (!live) return;
    const timer = setInterval(() => document.hidden || refresh(), 1500);
    return () => clearInterval(timer);
  }, [live]);
  return html`<div class="titled"><h1>Does learning together pay, and what does it give away?</h1></div>
    <div class="columns home"><div><section class="card" aria-labelledby="runs-title"><h2 id="runs-title">Runs</h2><${Runs} /></section>
      <section class="card" aria-labelledby="presets-title"><h2 id="presets-title">Start from a preset</h2><${Presets} /></section></div>
      <aside><section class="card" aria-labelledby="examples-title"><h2 id="examples-title">Start from an example</h2>
        <ul class="plain examples">${!start.value && html`<li class="quiet">…</li>`}${(start.value?.examples ?? []).map(({ name, about, toml }) => html`<li key=${name}><button type="button" class="link" onClick=${go(() => write(toml, 0))}>${name}</button> <span class="quiet"><${Terms} text=${about} /></span></li>`)}</ul></section>
      <section class="card" aria-labelledby="look-title"><h2 id="look-title">Or look inside</h2><ul class="plain">
        <li><a href="#step">Step</a> <span class="quiet">through a protocol, message by message: who sees what.</span></li>
        <li><a href="#attack">Attack</a> <span class="quiet">a <${Term} name="claim" />: guess between two worlds.</span></li>
        ${start.value?.federations !== false && html`<li><a href="#live">Live</a> <span class="quiet">what a <${Term} name="federation" /> of parties is doing now.</span></li>`}</ul></section></aside></div>`;
}
