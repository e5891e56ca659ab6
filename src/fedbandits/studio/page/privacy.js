// What is promised: the unit first, then ε with words at both ends, then what it is worth.
import { computed } from "@preact/signals";
import { epsilon, EpsilonOf, html, num, odds, percent, Swatch, Wide } from "./parts.js";
import { answer, found, put } from "./draft.js";
import { Term, Terms } from "./terms.js";
import { Field } from "./field.js";

// Of systems that promise something finite, and of those whose file sets the key.
const keysOf = (last) => computed(() => (answer.value?.systems ?? []).flatMap(({ keys, claim }) => keys.filter(({ path }) => path.endsWith(`].${last}`) && (claim?.epsilon > 0 || found(path) !== undefined))));
const epsilons = keysOf("epsilon"), units = keysOf("unit"), deltas = keysOf("delta"), counts = keysOf("records_per_person");
const all = (keys, value) => put(Object.fromEntries(keys.map(({ path }) => [path, value])), 80);
const valueOf = (key) => found(key.path) ?? key.value;

export function Unit() {
  if (!answer.value) return html`<p class="quiet">…</p>`;
  if (!units.value.length) return html`<p class="quiet">No system here has a choice: the claims below say what each protects.</p>`;
  const now = new Set(units.value.map(valueOf)), one = now.size === 1 ? [...now][0] : null;
  const choices = [...(units.value[0].choices ?? [])].sort((a) => (a === "person" ? 1 : -1));
  const said = { record: "one visit: one decision and its reward", person: "one person: all visits to one agent, of which the first few count" };
  return html`<fieldset class="choice"><legend>Protect</legend>${choices.map((choice) => html`<label key=${choice}><input type="radio" name="unit" checked=${one === choice} onChange=${() => all(units.value, choice)} /> ${said[choice] ?? choice}</label>`)}</fieldset>
    ${one === "person" && counts.value[0] && html`<${Field} key_=${counts.value[0]} label="Visits that count for each person" />`}
    <p class="quiet"><${Terms} text="A person with many visits has less protection than one visit. Each claim below says both." /></p>`;
}

const LOW = -2, HIGH = 2;

export function Epsilon() {
  const keys = epsilons.value;
  if (!answer.value) return null;
  if (!keys.length) return html`<p class="quiet">No system here has an ε to choose.</p>`;
  const values = keys.map(valueOf).filter((value) => typeof value === "number" && value > 0);
  const same = new Set(values).size === 1, value = values[0] ?? 1;
  const move = (event) => all(keys, Number((10 ** Number(event.target.value)).toPrecision(2)));
  return html`<div class="slider"><label for="epsilon"><span>ε of every private system</span> <output for="epsilon">${same ? epsilon(value) : "they differ"}</output></label>
      <input id="epsilon" type="range" min=${LOW} max=${HIGH} step="0.05" value=${Math.log10(value)} onInput=${move} aria-valuetext=${same ? `epsilon ${epsilon(value)}` : "they differ"} aria-describedby="ends" />
      <span class="ends" id="ends"><span>more protection</span><span>fewer mistakes</span></span></div>
    ${deltas.value[0] && html`<p class="quiet"><${Term} name="δ" /> = ${String(valueOf(deltas.value[0]))}: how often the promise of ε may fail.</p>`}`;
}

/** What each system promises, in numbers: read it before anything runs. */
export function Odds({ systems = answer.value?.systems ?? [] }) {
  if (!systems.length) return null;
  return html`<${Wide} label="What is promised" caption="What whoever looks can find out"><table class="odds"><thead><tr><th scope="col">system</th><th scope="col"><${Term} name="ε" /></th>
      <th scope="col">their odds change by at most</th><th scope="col">a test with 5% <${Term} name="false alarm">false alarms</${Term}> finds</th></tr></thead>
    <tbody>${systems.map(({ label, claim }, i) => html`<tr key=${label}><th scope="row"><${Swatch} at=${i} />${label}</th><td><${EpsilonOf} claim=${claim} /></td>
      <td>${claim ? odds(claim.odds) : "–"}</td><td>${claim?.power === null || !claim ? "–" : percent(claim.power)}</td></tr>`)}</tbody></table></${Wide}>`;
}

const List = ({ title, items }) => items?.length > 0 && html`<h4>${title}</h4><ul>${items.map((item) => html`<li key=${item}><${Terms} text=${item} /></li>`)}</ul>`;

export function Claim({ claim, noise }) {
  if (!claim) return null;
  return html`<p class="claim"><${Terms} text=${claim.headline} /></p>
    ${claim.worst && html`<p class="worst"><b>At worst ε = ${num(claim.worst.epsilon)}</b>, against ${claim.worst.who}.</p>`}
    <details><summary>What is protected, and what is not</summary>
      <dl class="pairs"><dt><${Term} name="unit" /></dt><dd><${Terms} text=${claim.unit} /></dd><dt><${Term} name="from whom" /></dt><dd><${Terms} text=${claim.from_whom} /></dd>
      ${noise > 0 && html`<dt>noise</dt><dd>of the largest release: ${num(noise, 3)} times what one record can change</dd>`}</dl>
      <${List} title="Not protected" items=${claim.not_protected} /><${List} title="Holds only if" items=${claim.conditional_on} /></details>`;
}