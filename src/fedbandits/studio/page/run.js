// Run: does it pay? The verdict, the curves, the table, the log; stop, resume, take it away.
import { useEffect, useRef } from "preact/hooks";
import { batch, signal } from "@preact/signals";
import { back, call, download, watch } from "./server.js";
import { Act, clock, html, Problem, seconds, Status } from "./parts.js";
import { doing, refresh, runs } from "./home.js";
import { write } from "./draft.js";
import { Chart, Legend, MOST_LINES } from "./chart.js";
import { Results } from "./results.js";
import { Claim } from "./privacy.js";
import { Term, Terms } from "./terms.js";

const state = signal(null), curves = signal([]), problem = signal(null), now = signal(""), look = signal(null), hidden = signal(new Set());
const ALIVE = ["running", "queued"];
const FILES = [["picture.svg", "SVG"], ["summary.csv", "CSV"], ["config.toml", "TOML"], ["report.html", "Report"], ["results.nc", "NetCDF"]];
const at = (id) => `/api/runs/${encodeURIComponent(id)}`;

function hear(told) {
  const began = performance.now();
  batch(() => {
    const { run, lines, how, log, unit } = told;
    look.value = told.phase ? (told.share ?? null) : null;
    state.value = { ...state.value, ...run, ...(lines && { lines }), ...(how && { how }), ...(log && { log }), ...(unit && { unit }) };
    now.value = told.compiling ? `Compiling ${told.compiling}, once on this machine` : (told.phase ?? "");
    if (told.curves?.length) {
      const changed = new Map(told.curves.map((curve) => [curve.system, curve]));
      const kept = curves.value.map((curve) => changed.get(curve.system) ?? curve);
      const known = new Set(kept.map(({ system }) => system)), order = run.systems ?? [];
      curves.value = [...kept, ...told.curves.filter(({ system }) => !known.has(system))].sort((a, b) => order.indexOf(a.system) - order.indexOf(b.system));
    }
  });
  queueMicrotask(() => performance.measure("event script", { start: began, end: performance.now() }));
}

/** Read all of a run, then hear what changes while it is played. */
async function follow(id, gone) {
  try {
    const told = await call(at(id), undefined, { signal: gone });
    batch(() => { state.value = told; curves.value = told.curves ?? []; problem.value = null; now.value = ""; look.value = null; });
    if (!ALIVE.includes(told.status)) return;
    await watch(`${at(id)}/events`, hear, gone);
    if (gone.aborted) return;
    const end = await call(at(id), undefined, { signal: gone });
    batch(() => { state.value = end; curves.value = end.curves ?? []; });
  } catch (error) {
    if (!gone.aborted) problem.value = error;
  }
}

/** The same list again while nothing changes, so that nothing is drawn anew. */
let kept = [];
function shownOf(all, without) {
  const next = without.size ? all.filter(({ system }) => !without.has(system)) : all;
  if (next.length !== kept.length || next.some((curve, i) => curve !== kept[i])) kept = next;
  return kept;
}

function Verdict({ run }) {
  const { lines = [], status, why } = run, alive = ALIVE.includes(status);
  const said = lines[0] ?? (status === "queued" ? "Waiting: another run is being played." : alive ? "Being played: the answer comes at the end."
    : status === "interrupted" ? `${curves.value.length ? "Stopped. What was finished is shown." : "Stopped before any replicate was finished."} Press Resume to go on.` : why || "No answer.");
  // No share is known before the look for the best alone has begun, or the run itself has.
  const share = look.value ?? (run.total ? run.done / run.total : null);
  return html`<p class=${"verdict" + (["failed", "damaged"].includes(status) ? " bad" : "")} role="status"><${Terms} text=${said} /></p>
    ${lines.length > 0 && why && html`<p class="warning">${why}</p>`}
    ${run.how && html`<p class="quiet"><${Terms} text=${run.how} /></p>`}
    ${alive && html`<div class="going"><progress value=${share} max="1" aria-label="Progress"></progress> <span class="quiet">${share !== null && `${Math.floor(100 * share)}%`}${run.elapsed ? `, ${seconds(run.elapsed)}` : ""}${now.value && `${share === null ? "" : ": "}${now.value}`}</span></div>`}`;
}

function Acts({ run, id, again }) {
  const other = (runs.value ?? []).filter((one) => one.id !== id);
  return html`<div class="acts no-print" role="group" aria-label="With this run">
    ${ALIVE.includes(run.status) && html`<${Act} meanwhile="Stopping…" act=${() => doing(id, "stop")}>Stop</${Act}>`}
    ${run.status === "interrupted" && html`<${Act} class="primary" act=${async () => { await doing(id, "resume"); again(); }}>Resume</${Act}>`}
    <button type="button" onClick=${() => { write(run.toml, 0); location.hash = "setup"; }} disabled=${!run.toml}>Change and run again</button>
    <a class="button" href=${`#present/run/${encodeURIComponent(id)}`}>Present</a>
    <button type="button" onClick=${() => print()}>Print</button>
    ${other.length > 0 && html`<label class="inline">Compare with <select value="" onChange=${(event) => { location.hash = `compare/${encodeURIComponent(id)}/${encodeURIComponent(event.target.value)}`; }}><option value="">a run</option>
      ${other.map((one) => html`<option key=${one.id} value=${one.id}>${one.id}</option>`)}</select></label>`}</div>`;
}

const Files = ({ id, files = [] }) => html`<div class="acts no-print" role="group" aria-label="Take away">${FILES.filter(([file]) => files.includes(file)).map(([file, word]) => html`<${Act} key=${file} class="small" act=${() => download(`${at(id)}/files/${file}`, `${id.replace(/\W+/g, "-")}-${file}`)}>${word}</${Act}>`)}</div>`;

export function Run({ words: [id], presented }) {
  const mine = useRef();
  const again = () => follow(id, (mine.current = new AbortController()).signal);
  useEffect(() => {
    if (state.value?.id !== id) batch(() => { state.value = null; curves.value = []; problem.value = null; hidden.value = new Set(); });
    again();
    refresh();
    return () => mine.current.abort();
  }, [id, back.value]);
  const run = state.value, lost = problem.value;
  if (!run) return html`<div class="titled"><h1>${id}</h1></div>${lost ? html`<${Problem} error=${lost} />` : html`<p class="quiet">…</p>`}`;
  const many = Math.max(0, ...curves.value.map(({ replicates }) => replicates.length)) > MOST_LINES;
  const order = curves.value.map(({ system }) => system), drawn = shownOf(curves.value, hidden.value);
  const claims = run.claims ?? {}, promised = Object.entries(claims);
  return html`<div class="titled"><h1>${id}</h1> <${Status} of=${run.status} /><span class="quiet">${run.rounds > 0 && `${run.rounds.toLocaleString("en")} rounds × ${run.replicates} replicates`}${run.began && ` · ${clock(run.began)}`}${run.elapsed && !ALIVE.includes(run.status) ? ` · took ${seconds(run.elapsed)}` : ""}</span></div>
    ${!presented && html`<${Acts} run=${run} id=${id} again=${again} />`}
    <section class="answer" aria-label="The answer"><${Verdict} run=${run} /></section>
    ${(curves.value.length > 0 || ALIVE.includes(run.status)) && html`<section class="card" aria-labelledby="curves-title"><div class="titled"><h2 id="curves-title">${run.unit}</h2>${!presented && html`<${Files} id=${id} files=${run.files} />`}</div>
      ${order.length > 1 && html`<${Legend} order=${order} hidden=${hidden.value} hide=${(next) => { hidden.value = next; }} />`}
      <${Chart} cuts curves=${drawn} order=${order} unit=${run.unit} height=${presented ? Math.max(320, innerHeight - 420) : 340} />
      ${curves.value.length > 0 && html`<p class="quiet">Thin: single <${Term} name="replicate">replicates</${Term}>${many && html`, <b>the first ${MOST_LINES} of each system</b>`}. Thick: their mean. Band: the <${Term} name="95% interval" />, from three replicates on.</p>`}
      <${Results} curves=${curves.value} claims=${claims} unit=${run.unit} pairs=${curves.value.every(({ n }) => n === run.replicates)} /></section>`}
    ${(run.lines?.length ?? 0) > 1 && html`<section class="card" aria-labelledby="more-title"><h2 id="more-title">What else was found</h2><ul>${run.lines.slice(1).map((line) => html`<li key=${line}><${Terms} text=${line} /></li>`)}</ul></section>`}
    ${!presented && promised.length > 0 && html`<section class="card" aria-labelledby="claims-title"><h2 id="claims-title">What each system promises</h2><div class="tiles">${promised.map(([label, claim]) => html`<div key=${label}><h3>${label}</h3><${Claim} claim=${claim} /></div>`)}</div></section>`}
    ${!presented && run.log?.length > 0 && html`<section class="card no-print" aria-labelledby="log-title"><h2 id="log-title">Log</h2><div class="log" role="log" tabindex="0" aria-label="Log"><ol class="plain">${run.log.map(({ at: when, text }, i) => html`<li key=${i}><time>${typeof when === "number" ? seconds(when) : new Date(when).toLocaleTimeString()}</time> ${text}</li>`)}</ol></div></section>`}`;
}
