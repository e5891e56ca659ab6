// Compare: two runs. Only what differs, differences replicate by replicate, pictures on one scale.
import { useEffect } from "preact/hooks";
import { signal } from "@preact/signals";
import { back, call } from "./server.js";
import { EpsilonOf, html, pm, Problem, Swatch, Wide } from "./parts.js";
import { Chart, farAbove, Legend } from "./chart.js";
import { difference } from "./results.js";
import { Term } from "./terms.js";

const told = signal(null), problem = signal(null), hidden = signal(new Set());
const shown = (value) => (value === null || value === undefined ? html`<span class="quiet">not set</span>` : html`<code>${typeof value === "object" ? JSON.stringify(value) : String(value)}</code>`);
const top = (pictures) => 1.05 * Math.max(0, ...pictures.flat().flatMap(({ mean, half, replicates }) => [...mean.map((m, k) => (m ?? 0) + (half?.[k] ?? 0)), ...replicates.slice(0, 10).map((line) => line.reduce((most, x) => Math.max(most, x ?? 0), 0))]));
const end = (pictures) => Math.max(1, ...pictures.flat().map(({ rounds }) => rounds.at(-1) ?? 0));
const value = ({ mean, half }) => pm(mean, half);
/** The ε of a system in both runs, once where it is the same. */
const promised = ([one, other]) => (JSON.stringify([one?.epsilon, one?.worst]) === JSON.stringify([other?.epsilon, other?.worst]) ? html`<${EpsilonOf} claim=${one} />` : html`<${EpsilonOf} claim=${one} /> → <${EpsilonOf} claim=${other} />`);

export function Compare({ words: [first, second] }) {
  useEffect(() => {
    told.value = problem.value = null;
    hidden.value = new Set();
    call(`/api/compare?first=${encodeURIComponent(first)}&second=${encodeURIComponent(second)}`).then((found) => { told.value = found; }, (error) => { problem.value = error; });
  }, [first, second, back.value]);
  const found = told.value;
  if (!found) return html`<div class="titled"><h1>Two runs</h1></div>${problem.value ? html`<${Problem} error=${problem.value} />` : html`<p class="quiet">…</p>`}`;
  const [one, other] = found.names, same = found.units[0] === found.units[1], order = found.systems.map(({ system }) => system);
  const pictures = found.curves.map((curves) => curves.filter(({ system }) => !hidden.value.has(system)));
  // What is far above all others in both leaves both pictures.
  const far = same ? pictures.map(farAbove) : [], cut = far.length && far.every((one) => one && one.far.system === far[0].far.system);
  const high = cut ? Math.max(...far.map((one) => one.high)) : same ? top(pictures) : null, last = end(pictures);
  const swap = `#compare/${encodeURIComponent(second)}/${encodeURIComponent(first)}`;
  return html`<div class="titled"><h1>${one} and ${other}</h1><a class="button no-print" href=${swap}>Swap</a></div>
    <section class="card" aria-labelledby="differs-title"><h2 id="differs-title">What differs</h2>
      ${found.settings.length === 0 ? html`<p>Nothing: both have the same settings.</p>` : html`<${Wide} label="Settings that differ"><table class="settings"><thead><tr><th scope="col">key</th><th scope="col"><a href=${`#run/${encodeURIComponent(first)}`}>${one}</a></th><th scope="col"><a href=${`#run/${encodeURIComponent(second)}`}>${other}</a></th></tr></thead>
        <tbody>${found.settings.map(({ key, first: a, second: b }) => html`<tr key=${key}><th scope="row"><code>${key}</code></th><td>${shown(a)}</td><td>${shown(b)}</td></tr>`)}</tbody></table></${Wide}>`}</section>
    <section class="card" aria-labelledby="results-title"><h2 id="results-title">What came of it</h2>
      ${!same && html`<p class="warning">They count different things: ${found.units.join("; ")}. Their numbers cannot be compared.</p>`}
      <p class="quiet">${found.are_pairs ? "Both have the same draws: differences are taken replicate by replicate." : "Their draws differ, so there are no pairs: differences have the spread of both."}</p>
      <${Wide} label="Results of both" caption=${same && html`${found.units[0]}: mean ± half of the <${Term} name="95% interval" />, from three replicates on`}><table class="results"><thead><tr><th scope="col">system</th><th scope="col">${one}</th><th scope="col">${other}</th><th scope="col" class="long">${other} − ${one}${same && `, ${found.units[0]}`}</th><th scope="col">n</th><th scope="col"><${Term} name="ε" /></th></tr></thead>
        <tbody>${found.systems.map(({ system, first: a, second: b, difference: apart, claims }) => html`<tr key=${system}><th scope="row"><${Swatch} at=${order.indexOf(system)} />${system}</th><td>${value(a)}</td><td>${value(b)}</td><td>${difference(apart)}</td><td>${apart?.n ?? "–"}</td><td>${promised(claims)}</td></tr>`)}</tbody></table></${Wide}></section>
    <${Legend} order=${order} hidden=${hidden.value} hide=${(next) => { hidden.value = next; }} />
    <div class="columns even">${pictures.map((curves, i) => html`<section class="card" key=${i} aria-labelledby=${`picture-${i}`}><h2 id=${`picture-${i}`}>${found.names[i]}</h2>
      <${Chart} curves=${curves} order=${order} unit=${found.units[i]} name=${found.names[i]} height=${300} high=${high} last=${last} /></section>`)}</div>
    ${same && html`<p class="quiet">Both pictures have the same scales.${cut && html` <b>${far[0].far.system}</b> leaves them.`}</p>`}`;
}
