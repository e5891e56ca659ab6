// Every term of the glossary opens what it means: one box for all, by click, Enter or Space.
import { computed, signal } from "@preact/signals";
import { html } from "./parts.js";

export const glossary = signal({});
const open = signal(null);

const escaped = (text) => text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
const finder = computed(() => {
  const names = Object.keys(glossary.value).sort((a, b) => b.length - a.length);
  if (!names.length) return null;
  return new RegExp(`(?<![\\p{L}\\p{N}_\\-\`])(${names.map(escaped).join("|")})(e?s)?(?![\\p{L}\\p{N}_\\-\`])`, "giu");
});
const byLower = computed(() => new Map(Object.keys(glossary.value).map((name) => [name.toLowerCase(), name])));

function show(event, name) {
  const button = event.currentTarget, tip = document.getElementById("tip"), box = button.getBoundingClientRect();
  if (open.value?.button === button && tip.matches(":popover-open")) return tip.hidePopover();
  open.value = { name, button };
  button.setAttribute("aria-expanded", "true");
  button.setAttribute("aria-describedby", "tip");
  const below = box.bottom < innerHeight / 2, left = Math.max(8, Math.min(box.left, innerWidth - 336));
  tip.style.left = `${left}px`;
  tip.style.top = below ? `${box.bottom + 6}px` : "auto";
  tip.style.bottom = below ? "auto" : `${innerHeight - box.top + 6}px`;
  tip.showPopover();
}
function closed(event) {
  if (event.newState !== "closed" || !open.value) return;
  open.value.button.setAttribute("aria-expanded", "false");
  open.value.button.removeAttribute("aria-describedby");
}

/** The box itself, once a page. */
export function Tip() {
  const name = open.value?.name;
  return html`<div id="tip" popover="auto" role="tooltip" onToggle=${closed}><strong>${name}</strong><p>${name && glossary.value[name]}</p></div>`;
}

/** A term as a button; plain text where the glossary does not have it. Tab goes past one that is `passed`. */
export function Term({ name, passed, children }) {
  const found = byLower.value.get(name.toLowerCase());
  const shown = children ?? name;
  return found ? html`<button type="button" class="term" tabindex=${passed ? -1 : null} aria-expanded="false" onClick=${(event) => show(event, found)}>${shown}</button>` : shown;
}

function marked(text, said, passed) {
  const pattern = finder.value, pieces = [];
  if (!pattern) return [text];
  let from = 0;
  for (const match of text.matchAll(pattern)) {
    const name = match[1].toLowerCase();
    if (said.has(name)) continue;
    said.add(name);
    // A bracket or a full stop stays on the line of its term.
    const until = match.index + match[0].length, open = /[(["“×]*$/.exec(text.slice(from, match.index))[0], close = /^[)\],.;:!?”]*/.exec(text.slice(until))[0];
    const term = html`<${Term} name=${match[1]} passed=${passed}>${match[0]}</${Term}>`;
    pieces.push(text.slice(from, match.index - open.length), open || close ? html`<span class="glued">${open}${term}${close}</span>` : term);
    from = until + close.length;
  }
  return [...pieces, text.slice(from)];
}

/** A text in which the first mention of each term can be opened; `code` stands between backticks. */
export function Terms({ text, passed = false }) {
  const said = new Set();
  return (text ?? "").split("`").flatMap((piece, i) => (i % 2 ? html`<code>${piece}</code>` : marked(piece, said, passed)));
}
