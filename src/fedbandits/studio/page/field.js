// One key of the configuration as a field. What is wrong with it is said where it stands.
import { html, num } from "./parts.js";
import { found, problem, put } from "./draft.js";
import { Terms } from "./terms.js";

/** The id of the input of a key. */
export const idOf = (path) => "key-" + path.replace(/\W+/g, "-");

function meant(kind, written) {
  const bare = written.trim();
  if (bare === "") return undefined;
  if (kind === "choice" || kind === "part") return written;
  if (/^[[{]/.test(bare)) {
    try {
      return JSON.parse(bare);
    } catch {
      return bare;
    }
  }
  if (kind === "text" && Number.isNaN(Number(bare))) return written;
  const number = Number(bare.replace("−", "-"));
  return Number.isNaN(number) ? bare : number;
}
const shown = (value) => (value === null || value === undefined ? "" : typeof value === "object" ? JSON.stringify(value) : String(value));

/** Tab goes from field to field; F1 opens the first term of a field's help. */
function explain(event) {
  const term = event.key === "F1" && event.currentTarget.querySelector(".term");
  if (!term) return;
  event.preventDefault();
  term.click();
}

/** The name of a key as it stands in the file: its last word. */
export const bare = (path) => path.split(".").at(-1);

export function Field({ key_: key, label = bare(key.path), about = true, plain = false }) {
  const { path, kind, choices, low, high } = key, name = idOf(path);
  const set = found(path), value = set === undefined ? key.value : set;
  const wrong = problem.value?.path === path ? problem.value : null;
  const described = [about && key.about && `${name}-about`, wrong && `${name}-wrong`].filter(Boolean).join(" ") || null;
  const more = { id: name, "aria-describedby": described, "aria-invalid": wrong ? "true" : null };
  const change = (event) => put({ [path]: meant(kind, event.target.value) }, 250);
  const small = (x) => x !== null && x !== undefined && Math.abs(x) < 1e7;
  const limits = [small(low) && `from ${num(low)}`, small(high) && `to ${num(high)}`].filter(Boolean).join(" ");
  let input;
  if (kind === "boolean") input = html`<input ...${more} type="checkbox" checked=${value === true} onChange=${(event) => put({ [path]: event.target.checked })} />`;
  else if (kind === "choice" && choices?.length) {
    const all = choices.map(String), here = shown(value);
    input = html`<select ...${more} value=${here} onChange=${change}>${(all.includes(here) ? all : [here, ...all]).map((choice) => html`<option key=${choice} value=${choice}>${choice}</option>`)}</select>`;
  } else if (kind === "table") input = html`<output ...${more} class="quiet"><code>${shown(value) || "–"}</code></output>`;
  else input = html`<input ...${more} type="text" inputmode=${["number", "integer"].includes(kind) ? "decimal" : null} value=${shown(value)} onInput=${change} autocomplete="off" spellcheck=${false} />`;
  const mine = set !== undefined && !key.is_default && key.default !== undefined && key.default !== null && shown(key.default) !== shown(value);
  return html`<div class=${"field " + kind} onKeyDown=${explain}>
    <label for=${name}>${label}</label>${input}
    ${mine && !plain && kind !== "table" && html`<button type="button" class="link" onClick=${() => put({ [path]: undefined }, 0)}>back to ${path.startsWith("systems[") ? "the preset's" : shown(key.default)}</button>`}
    ${about && key.about && html`<span class="quiet" id=${`${name}-about`}><${Terms} text=${key.about} passed />${limits && ` (${limits})`}${kind === "part" && choices && html` One of ${choices.map((choice, i) => html`${i > 0 && ", "}<code>${choice}</code>`)}.`}</span>`}
    ${wrong && html`<span class="problem" role="alert" id=${`${name}-wrong`}>${wrong.message}</span>`}</div>`;
}
