// Curves: single replicates thin, their mean thick and dashed, a 95% band from three replicates on.
import { useEffect, useRef, useState } from "preact/hooks";
import { signal } from "@preact/signals";
import { colour, dash, html, num, pm, Swatch } from "./parts.js";

/** More single replicates than this a system are not drawn; the screen says so. */
export const MOST_LINES = 10;
/** Pixels across a printed page. */
const SHEET = 680;
const nothing = (n) => Array(n).fill(null);
const long = (values, n) => (values && values.length === n ? values : values ? [...values, ...nothing(Math.max(0, n - values.length))].slice(0, n) : nothing(n));

/** All systems on the rounds of the longest, as columns for uPlot. */
function columns(curves) {
  const same = curves.every(({ rounds }) => rounds.length === curves[0].rounds.length && rounds.at(-1) === curves[0].rounds.at(-1));
  let tables = curves.map((curve) => {
    const n = curve.rounds.length, mean = long(curve.mean, n), half = curve.half && long(curve.half, n);
    const edge = (sign) => (half ? mean.map((m, k) => (m === null || half[k] === null ? null : m + sign * half[k])) : nothing(n));
    return [curve.rounds, edge(1), edge(-1), ...curve.replicates.slice(0, MOST_LINES).map((line) => long(line, n)), mean];
  });
  return same ? [tables[0][0], ...tables.flatMap((table) => table.slice(1))] : uPlot.join(tables);
}

function lines(curves, order) {
  const series = [{}], bands = [];
  curves.forEach((curve) => {
    const i = order.indexOf(curve.system);
    const clear = { stroke: "transparent", width: 0, points: { show: false } }, from = series.length;
    series.push(clear, clear);
    bands.push({ series: [from, from + 1], fill: colour(i) + "2b" });
    curve.replicates.slice(0, MOST_LINES).forEach(() => series.push({ stroke: colour(i) + (curve.half ? "38" : "8c"), width: 1, points: { show: false } }));
    series.push({ stroke: colour(i), width: 2.5, dash: dash(i), points: { show: false }, label: curve.system });
  });
  return { series, bands };
}
const shape = (curves) => JSON.stringify(curves.map(({ system, replicates, half }) => [system, Math.min(replicates.length, MOST_LINES), Boolean(half)]));

/** As in the pictures of a report: a system that ends so many times as high as all others leaves the picture. */
const FAR = 3, ROOM = 1.25;
const end = ({ mean }) => mean.findLast((value) => value !== null) ?? null;

/** Where the axis ends below a system that is far above all others, and which that is; null if none is. */
export function farAbove(curves) {
  const known = curves.filter((curve) => end(curve) !== null).sort((a, b) => end(b) - end(a)), [far, next] = known;
  if (known.length < 3 || !(end(far) > FAR * end(next) && end(next) > 0)) return null;
  const tops = known.slice(1).flatMap(({ mean, half }) => mean.map((value, k) => (value ?? 0) + (half?.[k] ?? 0)));
  return { far, high: ROOM * Math.max(...tops) };
}

/** Names with their lines, above the picture: pressed ones are drawn. */
export function Legend({ order, hidden, hide }) {
  const flip = (name) => { const next = new Set(hidden); if (!next.delete(name)) next.add(name); hide(next); };
  return html`<div class="legend" role="group" aria-label="Systems that are drawn">${order.map((name, i) => html`<button key=${name} type="button" aria-pressed=${hidden.has(name) ? "false" : "true"} title=${`Click to ${hidden.has(name) ? "show" : "hide"} ${name}`} onClick=${() => flip(name)}><${Swatch} at=${i} />${name}</button>`)}<span class="quiet no-print">Click a name to hide it.</span></div>`;
}

/** `order` gives each system its colour; `high` and `last` fix the scales, where pictures are compared. */
export function Chart({ curves, order = curves.map(({ system }) => system), unit, name = "Curves", height = 340, high = null, last = null, cuts = false }) {
  const box = useRef(), plot = useRef(), drawn = useRef(""), now = useRef(curves), at = useRef(signal(null));
  now.current = curves;
  const kind = curves.length ? shape(curves) : "";
  const [whole, show] = useState(false), cut = cuts && high === null ? farAbove(curves) : null, top = useRef(null);
  top.current = cut && !whole ? cut.high : null;

  useEffect(() => {
    if (!kind) return;
    const began = performance.now(), element = box.current;
    // The box has ink and paper of the scheme as its own colours, which a canvas can take.
    const ink = () => getComputedStyle(element).color, faint = () => getComputedStyle(element).borderTopColor;
    const axis = (label) => ({ label, stroke: ink, grid: { stroke: faint, width: 1 }, ticks: { stroke: faint, width: 1 }, labelSize: 24, size: 52, font: "12px system-ui, sans-serif", labelFont: "12px system-ui, sans-serif" });
    const made = new uPlot({
      width: element.clientWidth, height, ...lines(now.current, order), legend: { show: false }, cursor: { y: false, points: { show: false }, drag: { x: true, y: false } },
      scales: { x: { time: false, range: last ? [0, last] : undefined }, y: { range: high === null ? (_, low, most) => [Math.min(0, low ?? 0), top.current ?? (most || 1) * 1.04] : [0, high] } },
      axes: [{ ...axis("round"), size: 34 }, axis(unit)],
      hooks: { setCursor: [(u) => { at.current.value = u.cursor.idx ?? null; }] },
    }, columns(now.current), element);
    plot.current = made;
    drawn.current = now.current;
    const resized = new ResizeObserver(() => made.setSize({ width: element.clientWidth, height }));
    resized.observe(element);
    // Ink and paper change with the scheme, and when the page is printed.
    const again = () => made.redraw(false, true), scheme = matchMedia("(prefers-color-scheme: dark)");
    const paper = new MutationObserver(() => {
      const printed = document.documentElement.classList.contains("paper");
      made.setSize(printed ? { width: Math.min(element.clientWidth, SHEET), height: 230 } : { width: element.clientWidth, height });
      again();
    });
    paper.observe(document.documentElement, { attributeFilter: ["class"] });
    scheme.addEventListener("change", again);
    performance.measure("chart script", { start: began, end: performance.now() });
    return () => { resized.disconnect(); paper.disconnect(); scheme.removeEventListener("change", again); made.destroy(); plot.current = null; };
  }, [kind, high, last, height, unit]);
  useEffect(() => { plot.current?.setData(plot.current.data); }, [whole]);

  useEffect(() => {
    if (!plot.current || drawn.current === curves) return;
    drawn.current = curves;
    const asked = requestAnimationFrame(() => {
      const began = performance.now();
      plot.current?.setData(columns(curves));
      performance.measure("chart script", { start: began, end: performance.now() });
    });
    return () => cancelAnimationFrame(asked);
  }, [curves]);

  if (!curves.length) return html`<p class="empty">No curve yet: the first replicate is being played.</p>`;
  const longest = curves.reduce((best, curve) => (curve.rounds.length > best.rounds.length ? curve : best)).rounds;
  const seen = at.current, k = seen.value, round = k === null ? null : longest[k];
  const read = (index) => curves.map((curve) => { const i = curve.rounds.indexOf(longest[index]); return `${curve.system} ${i < 0 ? "–" : pm(curve.mean[i], curve.half?.[i])}`; }).join(", ");
  const keys = (event) => {
    const far = event.shiftKey ? 10 : 1, n = longest.length - 1, from = seen.value ?? n;
    const to = { ArrowLeft: from - far, ArrowRight: from + far, ArrowDown: from - far, ArrowUp: from + far, Home: 0, End: n }[event.key];
    if (to === undefined || !plot.current) return;
    event.preventDefault();
    event.stopPropagation();
    seen.value = Math.max(0, Math.min(n, to));
    plot.current.setCursor({ left: plot.current.valToPos(longest[seen.value], "x"), top: 0 }, false);
  };
  return html`<div class="chart"><div class="canvas" ref=${box} role="slider" tabindex="0" onKeyDown=${keys} aria-label=${`${name}: ${unit}, by round. Arrow keys read it.`}
      aria-valuemin=${longest[0] ?? 0} aria-valuemax=${longest.at(-1) ?? 1} aria-valuenow=${round ?? longest.at(-1) ?? 0} aria-valuetext=${`${round ?? longest.at(-1)}: ${read(k ?? longest.length - 1)}`}></div>
    ${cut && html`<p class="quiet">${whole ? "" : html`<b>${cut.far.system}</b> leaves the picture; it ends at ${pm(end(cut.far), cut.far.half?.at(-1))}. `}<button type="button" class="link no-print" onClick=${() => show(!whole)}>${whole ? `Leave ${cut.far.system} out of the scale` : "Show all of it"}</button></p>`}
    <p class="quiet readout">${k === null ? "Point at the chart, or use its arrow keys, to read it." : `Round ${num(round)}: ${read(k)}`}</p></div>`;
}
