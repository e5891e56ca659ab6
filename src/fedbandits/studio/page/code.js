// What is beside the graph: the message and what readers make of it, what a party holds, pseudocode, sight.
import { bytes, html, Wide } from "./parts.js";
import { at, before, looked, party, recording, stateOf, step } from "./recording.js";
import { Terms } from "./terms.js";

/** A value as a line of text; long ones by their shape and beginning. */
export function shown(value) {
  if (value === null || value === undefined) return "–";
  if (typeof value === "number") return Number.isInteger(value) ? String(value) : String(Number(value.toPrecision(6)));
  if (typeof value !== "object") return value === "" ? "“”" : String(value);
  if (value.hex !== undefined) return `${value.hex}${value.bytes * 2 > value.hex.length ? "…" : ""} (${bytes(value.bytes)})`;
  if (Array.isArray(value)) return value.length ? value.map(shown).join(", ") : "none";
  if (value.begin) return `${value.shape.join(" × ")}: ${value.begin.map(shown).join(", ")}${value.shape.reduce((a, b) => a * b, 1) > value.begin.length ? ", …" : ""}`;
  const inside = Object.entries(value);
  return inside.length ? inside.map(([key, held]) => `${key}: ${shown(held)}`).join("; ") : "none";
}

const Pairs = ({ of, marked }) => html`<dl class="pairs mono">${Object.entries(of).map(([key, value]) => html`<div key=${key} class=${marked && key in marked ? "new" : ""}><dt>${key}${marked && key in marked ? html`<span class="sr"> (changed)</span>` : ""}</dt><dd>${shown(value)}</dd></div>`)}</dl>`;

export function Message() {
  const one = step.value, message = one?.message ?? one?.sent[0];
  if (!message) return html`<p class="quiet">No message in this step${one?.told !== null && one?.told !== undefined ? html`: it was told <b>${shown(one.told)}</b>` : ""}.</p>`;
  const more = one.message ? one.sent.length : one.sent.length - 1, viewed = party.value;
  return html`<p><b>${message.type}</b> <span class="quiet">${message.from} → ${message.to}, ${bytes(message.size)}${more > 0 && `; ${more} more ${more === 1 ? "leaves" : "leave"}`}</span></p>
    <${Pairs} of=${message.fields} />
    ${one.reads.length > 0 && html`<h3>What can be read of it</h3><dl class="reads">${one.reads.map(({ who, text }) => html`<div key=${who} class=${who === viewed ? "viewed" : ""}><dt>${who}</dt><dd><${Terms} text=${text} /></dd></div>`)}</dl>`}`;
}

/** What a party's arm has brought so far, beside what it brings on average. */
function Chances({ name, state }) {
  const exact = recording.value.exact?.[name], { pulls, rewards } = state;
  if (typeof exact !== "number" && !(pulls > 0)) return null;
  return html`<p class="quiet">Probability of a reward:${pulls > 0 && ` estimated ${shown(rewards / pulls)} from ${rewards} of ${pulls} pulls`}${typeof exact === "number" && `${pulls > 0 ? "," : ""} exact ${shown(exact)}`}.</p>`;
}

export function Holds() {
  const name = party.value, one = step.value;
  return html`<div class="row"><label for="look">Look at</label><select id="look" value=${looked.value ?? ""} onChange=${(event) => { looked.value = event.target.value || null; }}><option value="">whose step it is (${one?.party})</option>
      ${recording.value.parties.map((each) => html`<option key=${each.name} value=${each.name}>${each.name}</option>`)}</select></div><${Chances} name=${name} state=${stateOf(name)} />
    <${Pairs} of=${stateOf(name)} marked=${one?.party === name ? one.changed : null} />`;
}

/** The line that is carried out in this step; one that names what it sends is lit only if that is sent. */
function lit(line, one, role) {
  if (one?.role !== role || !line.at?.includes(one.key)) return false;
  return !line.sends || one.sent.some(({ type }) => type === line.sends);
}

export function Pseudocode() {
  const one = step.value, roles = Object.entries(recording.value.pseudocode);
  if (!roles.length) return null;
  return html`<section class="card" aria-labelledby="code-title"><h2 id="code-title">Pseudocode</h2><div class="tiles">${roles.map(([role, lines]) => html`<figure key=${role} class=${one?.role === role ? "acting" : ""}><figcaption>${role}</figcaption>
    <ol class="code">${lines.map((line, i) => { const here = lit(line, one, role); return html`<li key=${i} class=${here ? "lit" : ""} aria-current=${here ? "step" : null}>${line.text}</li>`; })}</ol></figure>`)}</div></section>`;
}

const tone = (cell) => {
  const word = cell.toLowerCase();
  return /^not seen|^nothing|^–$/.test(word) ? "unseen" : word.startsWith("clear") ? "clear" : /mask|permut|guess/.test(word) ? "partly" : /encrypt|noise|sealed/.test(word) ? "sealed" : "";
};

export function Sight() {
  const { sight, off } = recording.value, was = before.value;
  if (!sight) return null;
  const old = (r, c) => (was && was.rows[r]?.[0] === sight.rows[r][0] && was.rows[r][c] !== sight.rows[r][c] ? was.rows[r][c] : null);
  return html`<section class="card" aria-labelledby="sight-title"><h2 id="sight-title">Who sees what</h2><p class="quiet">Of this recording: every key that a party holds was tried on every message it saw.${off.length > 0 && html` <b>Off: ${off.join(", ")}.</b>`}</p>
    <${Wide} label="Who sees what, as a table"><table class="sight"><thead><tr><td></td>${sight.who.map((who) => html`<th scope="col" key=${who}>${who}</th>`)}</tr></thead>
    <tbody>${sight.rows.map((row, r) => html`<tr key=${row[0]}><th scope="row">${row[0]}</th>${row.slice(1).map((cell, c) => { const other = old(r, c + 1); return html`<td key=${c} class=${tone(cell) + (other ? " turned" : "")}>${cell}${other && html`<small>was ${other}</small>`}</td>`; })}</tr>`)}</tbody></table></${Wide}></section>`;
}
export const where = () => `${at.value + 1} of ${recording.value?.steps.length ?? 0}`;
