// Small things that every screen uses: numbers as text, marks of status, buttons that copy.
import { h } from "preact";
import { useState } from "preact/hooks";
import htm from "htm";

export const html = htm.bind(h);

/** Okabe and Ito's colours, for all eyes; with a dash each, for none. The last is the ink itself. */
export const COLOURS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#8c7c00", "#767676"];
export const DASHES = [[], [8, 4], [2, 3], [8, 3, 2, 3], [14, 4], [4, 2], [10, 3, 2, 3, 2, 3], [1, 4]];
export const colour = (i) => COLOURS[i % COLOURS.length];
export const dash = (i) => DASHES[i % DASHES.length];

export const Swatch = ({ at }) => html`<svg class="swatch" width="30" height="8" aria-hidden="true">
  <line x1="0" x2="30" y1="4" y2="4" stroke=${colour(at)} stroke-width="3" stroke-dasharray=${dash(at).join(" ")} /></svg>`;

export function num(x, digits = 4) {
  if (x === null || x === undefined) return "–";
  if (typeof x !== "number") return String(x);
  if (!Number.isFinite(x)) return x > 0 ? "∞" : x < 0 ? "−∞" : "–";
  const short = Number(x.toPrecision(digits));
  const big = Math.abs(short) >= 1e6 || (short && Math.abs(short) < 1e-4);
  return (big ? short.toExponential() : short.toLocaleString("en", { maximumFractionDigits: 8 })).replace("-", "−");
}

/** A mean with half of its 95% interval, with as many digits as the interval allows. */
export function pm(mean, half) {
  if (mean === null || mean === undefined) return "–";
  if (!half) return num(mean, 3);
  const order = Math.floor(Math.log10(half));
  const places = Math.max(0, (half / 10 ** order < 2 ? 1 : 0) - order);
  return `${mean.toFixed(places).replace("-", "−")} ± ${half.toFixed(places)}`;
}

export function seconds(s) {
  if (s === null || s === undefined) return "–";
  if (s < 1) return "less than a second";
  if (s < 90) return `${Math.round(s)} s`;
  if (s < 5400) return `${Math.round(s / 60)} min`;
  return s < 172800 ? `${num(s / 3600, 2)} h` : `${Math.round(s / 86400)} days`;
}
export const bytes = (n) => (n < 1e3 ? `${n} bytes` : n < 1e6 ? `${num(n / 1e3, 3)} kB` : n < 1e9 ? `${num(n / 1e6, 3)} MB` : `${num(n / 1e9, 3)} GB`);
export const percent = (x) => (x === null || x === undefined ? "–" : `${(100 * x).toFixed(1)}%`);
export const odds = (x) => (x === null || x === undefined ? "no limit" : `× ${x >= 1e6 ? x.toExponential(0) : num(x, 3)}`);
export const epsilon = (x) => (x === null || x === undefined ? "∞" : num(x, 3));
/** The ε of a claim, and the ε if the worst of those who could look does. */
export const EpsilonOf = ({ claim }) => html`${claim ? epsilon(claim.epsilon) : "–"}${claim?.worst && html` <span class="quiet" title=${claim.worst.who}>(at worst ${num(claim.worst.epsilon)})</span>`}`;
export const clock = (iso, toTheSecond = false) => (iso ? new Date(iso).toLocaleString(undefined, { dateStyle: "medium", timeStyle: toTheSecond ? "medium" : "short" }) : "");
export function ago(iso) {
  const passed = (Date.now() - new Date(iso)) / 1000;
  return Number.isFinite(passed) ? (passed < 5 ? "just now" : `${seconds(passed)} ago`) : "";
}

const TONES = { complete: "good", running: "busy", queued: "busy", interrupted: "warn", failed: "bad", damaged: "bad" };
export const Status = ({ of }) => html`<span class=${"status " + (TONES[of] ?? "idle")}>${of}</span>`;

export const Problem = ({ error }) => error && html`<p class="problem" role="alert">${error.message}</p>`;

/** A button that does something that takes time, and says why it could not; `meanwhile` is what it says till then. */
export function Act({ act, meanwhile = null, children, ...more }) {
  const [state, set] = useState(null);
  const run = async () => {
    set("busy");
    try {
      await act();
      set(null);
    } catch (error) {
      set(error);
    }
  };
  return html`<button type="button" ...${more} aria-busy=${state === "busy" ? "true" : null} onClick=${() => state !== "busy" && run()}>${(state === "busy" && meanwhile) || children}</button>
    ${state instanceof Error && html`<span class="problem" role="alert">${state.message}</span>`}`;
}

export function Copy({ text, what = "Copy" }) {
  const [done, set] = useState(false);
  const copy = async () => {
    await navigator.clipboard.writeText(text);
    set(true);
    setTimeout(() => set(false), 2000);
  };
  return html`<button type="button" class="small" onClick=${() => copy().catch(() => {})}><span aria-live="polite">${done ? "Copied" : what}</span></button>`;
}

/** A table in a box of its own that scrolls where the window is narrow; its caption stays. */
export const Wide = ({ label, caption, children }) => html`${caption && html`<p class="quiet caption">${caption}</p>`}<div class="wide" tabindex="0" role="region" aria-label=${label}>${children}</div>`;
