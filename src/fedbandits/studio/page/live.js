// Live: a federation on this machine, read only. One red line says what is wrong, and what mends it.
import { useEffect } from "preact/hooks";
import { signal } from "@preact/signals";
import { back, call } from "./server.js";
import { ago, clock, Copy, epsilon, html, num, Problem } from "./parts.js";
import { Term } from "./terms.js";

const told = signal(null), problem = signal(null), opened = signal(null);
const PAUSE = 2000;

async function look() {
  try {
    told.value = await call("/api/live");
    problem.value = null;
  } catch (error) {
    if (!error.message.startsWith("connection lost")) problem.value = error;
  }
}

const word = (party) => (party.problem ? "bad" : !party.running ? "idle" : party.ready ? "good" : "warn");
const says = (party) => (!party.running ? "not running" : party.problem ? "has a problem" : party.ready ? "ready" : "not ready");

function Budget({ party }) {
  const { name, running, epsilon_left: left, epsilon: all, releases, rounds_left: planned } = party;
  if (left === null || left === undefined) return html`<p class="quiet">${running ? "It spends no ε." : "What it has spent is not known."}</p>`;
  return html`<div class="budget"><p>ε left <b>${epsilon(left)}</b>${all ? ` of ${epsilon(all)}` : ""} · <${Term} name="release">releases</${Term}> left <b>${num(planned)}</b>${releases !== null ? `, ${num(releases)} made` : ""}</p>
    ${all && html`<meter min="0" max=${all} value=${left} aria-label=${`ε left of ${name}`}></meter>`}
    ${left <= 0 && planned > 0 && html`<p class="warning">Its budget is spent: it decides, and releases nothing.</p>`}</div>`;
}

/** When a tick is: seconds since 1970, ISO text, or words. */
function tick(at) {
  if (at === "" || at === null || at === undefined) return "–";
  const time = Number.isFinite(Number(at)) ? 1000 * Number(at) : Date.parse(at);
  return Number.isNaN(time) ? at : clock(time, true);
}
const when = (text) => (text ? html`<time datetime=${text} title=${clock(text, true)}>${ago(text)}</time>` : "–");

function Party({ party }) {
  const { name, role, running, problem: wrong, remedy, since, stage, round, rounds, last_release: last, waiting, decisions, refusals, never, peers } = party;
  const facts = [
    [running ? "runs since" : "stopped about", when(since)], [html`<${Term} name="round" />`, `${num(round)}${rounds ? ` of ${num(rounds)}` : ""}`],
    ["next tick", tick(party.clock)], ["last release", when(last)],
    ["stage", stage || "–"], ["decisions", num(decisions)], ["records waiting", num(waiting)],
    ...(never ? [["records that never count", num(never)]] : []), ...(refusals ? [["messages refused", num(refusals)]] : []),
  ];
  return html`<li class=${`card node ${word(party)}`} id=${`party-${name}`}><header><h3>${name}</h3><span class="quiet">${role}</span><span class=${`status ${word(party)}`}>${says(party)}</span></header>
    ${wrong && html`<p class="problem">${wrong}</p>`}${remedy && html`<p class="command"><code>${remedy}</code> <${Copy} text=${remedy} /></p>`}
    <${Budget} party=${party} />
    <dl class="facts">${facts.map(([term, value], i) => html`<div key=${i}><dt>${term}</dt><dd>${value}</dd></div>`)}</dl>
    <details open=${opened.value === name} onToggle=${(event) => { if (event.currentTarget.open) opened.value = name; else if (opened.value === name) opened.value = null; }}><summary>Who it has greeted: ${peers.filter(({ greeted }) => greeted).length} of ${peers.length}</summary>
      <ul class="peers">${peers.map((peer) => html`<li key=${peer.name} class=${peer.greeted ? "" : "away"}>${peer.greeted ? "✓" : "✗"} ${peer.name}${peer.greeted ? "" : " (not yet)"}</li>`)}</ul></details></li>`;
}

function Worst() {
  const { worst, parties } = told.value, ready = parties.filter(({ ready }) => ready).length;
  if (!worst) return html`<p class="all-well" role="status">All is well: ${ready} of ${parties.length} parties are ready.</p>`;
  const jump = (event) => { event.preventDefault(); const there = document.getElementById(`party-${worst.party}`); there.scrollIntoView({ block: "center" }); there.querySelector("summary").focus({ preventScroll: true }); };
  return html`<div class="red" role="alert"><p><a href=${`#party-${worst.party}`} onClick=${jump}>${worst.party}</a> ${worst.problem}</p>${worst.remedy && html`<p class="command"><code>${worst.remedy}</code> <${Copy} text=${worst.remedy} what="Copy the command" /></p>`}</div>`;
}

export function Live() {
  useEffect(() => {
    look();
    const timer = setInterval(() => document.hidden || look(), PAUSE);
    return () => clearInterval(timer);
  }, [back.value]);
  const found = told.value;
  return html`<div class="titled"><h1>Live${found?.federation ? `: ${found.federation}` : ""}</h1><span class="quiet">Read only. Rewards are not shown: parties do not tell them.</span></div>
    <${Problem} error=${problem.value} />
    ${!found ? html`<p class="quiet">…</p>` : !found.parties.length ? html`<section class="card"><p class="empty">No parties in this folder. Start the studio with the folder of a federation to watch it:</p><p class="command"><code>fedbandits studio FOLDER</code></p></section>`
      : html`<${Worst} /><ul class="plain nodes">${found.parties.map((party) => html`<${Party} key=${party.name} party=${party} />`)}</ul>`}`;
}
