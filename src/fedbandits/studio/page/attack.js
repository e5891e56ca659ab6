// Attack: a coin chooses one of two worlds, the attacker guesses which. The bound comes at the end.
import { useEffect } from "preact/hooks";
import { batch, signal } from "@preact/signals";
import { call, watch } from "./server.js";
import { epsilon, html, percent, Problem } from "./parts.js";
import { start } from "./draft.js";
import { Term, Terms } from "./terms.js";

const form = signal({ preset: "", epsilon: "", trials: "1000", seed: "0" });
const id = signal(null), told = signal(null), problem = signal(null);
let gone = new AbortController();
const number = (text) => (text.trim() === "" ? null : Number.isNaN(Number(text)) ? text : Number(text));

async function begin(event) {
  event.preventDefault();
  gone.abort();
  const mine = (gone = new AbortController()), { preset, epsilon: e, trials, seed } = form.value;
  batch(() => { told.value = null; problem.value = null; id.value = null; });
  try {
    const made = await call("/api/attack", { preset, epsilon: number(e), trials: number(trials), seed: number(seed) ?? 0 });
    id.value = made.id;
    told.value = { status: "running", done: 0, total: Number(trials), right: 0 };
    await watch(`/api/attack/${encodeURIComponent(made.id)}/events`, (event) => { told.value = { ...told.value, ...event }; }, mine.signal);
  } catch (error) {
    if (!mine.signal.aborted) problem.value = error;
  }
}

function Guesses() {
  const { done, right, expected } = told.value, share = done ? right / done : 0.5;
  const x = (value) => 20 + 560 * value;
  return html`<div class="guesses"><p class="tally"><b>${right.toLocaleString("en")}</b> of <b>${done.toLocaleString("en")}</b> guesses were right: <b>${done ? percent(share) : "–"}</b></p>
    <svg viewBox="0 0 600 76" role="img" aria-label=${`${percent(share)} of guesses right; a coin has 50%${expected ? `, the claim allows ${percent(expected)}` : ""}`}>
      <rect class="track" x=${x(0)} y="30" width="560" height="14" rx="7" /><rect class="share" x=${x(0)} y="30" width=${560 * share} height="14" rx="7" />
      <line x1=${x(0.5)} x2=${x(0.5)} y1="22" y2="52" /><text x=${x(0.5)} y="16">a coin: 50%</text>
      ${expected && html`<line class="limit" x1=${x(expected)} x2=${x(expected)} y1="22" y2="56" /><text x=${Math.min(500, Math.max(100, x(expected)))} y="71">allowed by the claim: ${percent(expected)}</text>`}</svg></div>`;
}

function World({ at, word }) {
  const { worlds = [], recent = [] } = told.value, { right = 0, of = 0 } = worlds[at] ?? {};
  const mine = recent.filter(({ truth }) => Number(truth) === at);
  return html`<div class="card world"><h3>${word ?? (at ? "World 1: one record is another" : "World 0: the record as it is")}</h3>
    <p><b>${right.toLocaleString("en")}</b> of <b>${of.toLocaleString("en")}</b> right</p>
    <p class="dots" aria-hidden="true">${mine.map(({ guess, truth }, i) => html`<span key=${i} class=${guess === truth ? "hit" : "miss"}>${guess === truth ? "●" : "○"}</span>`)}</p>
    <p class="quiet">The last ${mine.length} guesses in this world: ● right, ○ wrong.</p></div>`;
}

export function Attack({ words: [preset] }) {
  const offered = start.value?.attackable ?? [];
  useEffect(() => {
    const wanted = preset && offered.includes(preset) ? preset : form.value.preset || offered[0];
    if (wanted && wanted !== form.value.preset) form.value = { ...form.value, preset: wanted };
  }, [preset, offered.length]);
  useEffect(() => () => gone.abort(), []);
  const set = (name) => (event) => { form.value = { ...form.value, [name]: event.target.value }; };
  const alive = told.value && ["running", "queued", "starting"].includes(told.value.status), verdict = told.value?.verdict;
  const field = (name, word, about) => html`<div class="field"><label for=${`attack-${name}`}>${word}</label><input id=${`attack-${name}`} type="text" inputmode="decimal" value=${form.value[name]} onInput=${set(name)} autocomplete="off"
    aria-invalid=${problem.value?.path === name ? "true" : null} aria-describedby=${`attack-${name}-about`} /><span class="quiet" id=${`attack-${name}-about`}>${about}</span></div>`;
  return html`<div class="titled"><h1>Attack</h1></div>
    <div class="columns step"><aside><form class="card" onSubmit=${begin} aria-label="What is attacked">
      <div class="field"><label for="attack-preset">System</label><select id="attack-preset" value=${form.value.preset} onChange=${set("preset")}>${offered.map((name) => html`<option key=${name} value=${name}>${name}</option>`)}</select></div>
      ${field("epsilon", "ε", "Empty: the preset's own.")}${field("trials", "Guesses", "More guesses, a sharper bound.")}${field("seed", "Seed", "The same seed, the same guesses.")}
      <${Problem} error=${problem.value} />
      <div class="row"><button class="primary" disabled=${alive || !form.value.preset}>Attack</button>${alive && id.value && html`<button type="button" onClick=${() => call(`/api/attack/${encodeURIComponent(id.value)}/stop`, undefined, { method: "POST" }).catch((error) => { problem.value = error; })}>Stop</button>`}</div></form></aside>
    <div><section class="card" aria-labelledby="game-title"><h2 id="game-title">Which world is it?</h2>
        <p class="quiet"><${Terms} text="A coin chooses one of two worlds that differ in one record. The attacker sees what is released, knows everything else, and guesses. A claim of ε limits how often anybody can be right." /></p>
        ${told.value ? html`<progress value=${told.value.done} max=${told.value.total || 1} aria-label="Guesses made"></progress><${Guesses} /><div class="columns even">${[0, 1].map((at) => html`<${World} key=${at} at=${at} word=${told.value.words?.[at]} />`)}</div>` : html`<p class="empty">Press Attack: guesses are counted as they are made.</p>`}
        ${told.value?.looks_at && html`<p class="quiet">The attacker looks at ${told.value.looks_at}.</p>`}</section>
      <section class="card" aria-labelledby="bound-title"><h2 id="bound-title">What it shows</h2><div role="status">
        ${verdict ? html`<p class="verdict">${verdict.text}</p><dl class="facts"><div><dt><${Term} name="ε claimed" /></dt><dd>${epsilon(verdict.epsilon_claimed)}</dd></div><div><dt>ε is at least (<${Term} name="ε_low" />)</dt><dd>${verdict.epsilon_at_least === null ? "∞" : epsilon(verdict.epsilon_at_least)}</dd></div></dl>`
          : told.value?.why ? html`<p class="problem">${told.value.why}</p>` : told.value?.status === "interrupted" ? html`<p>Stopped: no bound is computed from an attack that was stopped.</p>`
          : html`<p class="quiet">A bound on ε is computed once, when all guesses are made. One that is looked at while it grows does not hold.</p>`}</div></section></div></div>`;
}
