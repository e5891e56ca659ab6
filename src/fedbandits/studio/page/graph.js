// The parties as a graph; a role with many of them is folded into a grid. A click opens what one holds.
import { useEffect, useRef, useState } from "preact/hooks";
import { computed } from "@preact/signals";
import { html } from "./parts.js";
import { looked, party, recording, stateOf, step } from "./recording.js";

const FOLD = 12; // more parties of one role than this are a grid
const TOP = ["customer", "dealer"];
const R = 24, CELL = 22;

/** Where each party stands in a drawing of this width. */
function layout(parties, width) {
  const roles = new Map();
  for (const one of parties) roles.set(one.role, [...(roles.get(one.role) ?? []), one]);
  const most = [...roles.entries()].sort((a, b) => b[1].length - a[1].length)[0]?.[0];
  const rank = (role) => (role === most && roles.size > 1 ? 2 : TOP.includes(role) ? 0 : 1);
  const places = new Map(), add = (one, x, y, size) => places.set(one.name, { ...one, x, y, size });
  if (roles.size === 1 && parties.length > 2 && parties.length <= FOLD) {
    const radius = Math.min(130, width / 2 - 60);
    parties.forEach((one, i) => {
      const turn = (2 * Math.PI * i) / parties.length - Math.PI / 2;
      add(one, width / 2 + 1.4 * radius * Math.cos(turn), radius + 45 + radius * Math.sin(turn), R);
    });
    return { places, height: 2 * radius + 110 };
  }
  let y = 40;
  for (const level of [0, 1, 2]) {
    const row = parties.filter(({ role }) => rank(role) === level);
    if (!row.length) continue;
    if (row.length <= FOLD) {
      const some = Math.max(1, Math.min(row.length, Math.floor(width / 86)));
      row.forEach((one, i) => {
        const line = Math.floor(i / some), here = Math.min(some, row.length - line * some);
        add(one, (width * ((i % some) + 1)) / (here + 1), y + 105 * line, R);
      });
      y += 105 * (Math.ceil(row.length / some) - 1) + 115;
    } else {
      const pitch = CELL + 8, across = Math.max(1, Math.min(Math.floor((width - 30) / pitch), Math.ceil(Math.sqrt(row.length * 6))));
      row.forEach((one, i) => add(one, (width - pitch * (across - 1)) / 2 + pitch * (i % across), y - 10 + pitch * Math.floor(i / across), CELL / 2));
      y += pitch * Math.ceil(row.length / across) + 30;
    }
  }
  return { places, height: y - 25 };
}

const width = { now: 720 };
const placed = computed(() => layout(recording.value?.parties ?? [], width.now));
const roles = computed(() => [...new Set((recording.value?.parties ?? []).map(({ role }) => role))]);

function Arrow({ from, to, kind, label }) {
  const dx = to.x - from.x, dy = to.y - from.y, far = Math.hypot(dx, dy) || 1;
  // A little to its own left, so that what comes and what leaves lie side by side.
  const [ux, uy] = [dx / far, dy / far], [sx, sy] = [6 * uy, -6 * ux];
  const x1 = from.x + ux * (from.size + 3) + sx, y1 = from.y + uy * (from.size + 3) + sy;
  const x2 = to.x - ux * (to.size + 5) + sx, y2 = to.y - uy * (to.size + 5) + sy, middle = [(x1 + x2) / 2 + 2 * sx, (y1 + y2) / 2 + 2 * sy + 4];
  return html`<g class=${kind}><line x1=${x1} y1=${y1} x2=${x2} y2=${y2} marker-end=${`url(#${kind})`} />${label && html`<text x=${middle[0]} y=${middle[1]} text-anchor=${sx > 3 ? "start" : sx < -3 ? "end" : "middle"}>${label}</text>`}</g>`;
}

const note = (state) => (state.pulls !== undefined && typeof state.pulls !== "object" ? `${state.rewards ?? "?"}/${state.pulls}` : "");

function Node({ name, x, y, size, role, now, picked, stage, inside, talks }) {
  const choose = () => { looked.value = looked.peek() === name ? null : name; };
  const key = (event) => { if (event.key === "Enter" || event.key === " ") { event.preventDefault(); event.stopPropagation(); choose(); } };
  const small = size < R, hue = `hue${roles.value.indexOf(role) % 6}`;
  return html`<g class=${`party ${hue}${now ? " now" : ""}${picked ? " picked" : ""}${talks ? " talks" : ""}`} role="button" tabindex=${small && !picked && !now ? "-1" : "0"} aria-pressed=${picked ? "true" : "false"} aria-label=${small ? `${name} ${stage}` : null} onClick=${choose} onKeyDown=${key}>
    ${small ? html`<rect x=${x - size} y=${y - size} width=${2 * size} height=${2 * size} rx="4"><title>${name}: ${stage}</title></rect>`
      : html`<circle cx=${x} cy=${y} r=${size} /><text x=${x} y=${y + 4}>${inside}</text><text class="name" x=${x} y=${y + size + 17}>${name}</text><text class="stage" x=${x} y=${y + size + 32}>${stage}</text>`}</g>`;
}

export function Graph() {
  const box = useRef(), [wide, set] = useState(width.now), one = step.value;
  useEffect(() => {
    const resized = new ResizeObserver(([{ contentRect }]) => set(Math.round(contentRect.width)));
    resized.observe(box.current);
    return () => resized.disconnect();
  }, []);
  const { places, height } = wide === width.now ? placed.value : layout(recording.value?.parties ?? [], wide);
  const arrows = [];
  if (one?.message) arrows.push({ ...one.message, kind: "came" });
  one?.sent.forEach((message) => arrows.push({ ...message, kind: "leaves" }));
  const shown = arrows.filter((each) => places.has(each.from) && places.has(each.to) && each.from !== each.to);
  const said = new Set(), talking = new Set(shown.flatMap(({ from, to }) => [from, to])), viewed = party.value;
  const fold = [...places.values()].some(({ size }) => size < R);
  return html`<div class="graph" ref=${box}><svg width=${wide} height=${height} viewBox=${`0 0 ${wide} ${height}`} role="group" aria-label="The parties as a graph">
    <defs>${["came", "leaves"].map((kind) => html`<marker key=${kind} id=${kind} viewBox="0 0 10 10" refX="8" refY="5" markerWidth="6" markerHeight="6" orient="auto"><path d="M0 0L10 5L0 10z" /></marker>`)}</defs>
    ${shown.map((each, i) => { const name = each.kind + each.type, label = said.has(name) ? "" : each.type; said.add(name); return html`<${Arrow} key=${i} from=${places.get(each.from)} to=${places.get(each.to)} kind=${each.kind} label=${label} />`; })}
    ${[...places.values()].map((place) => { const state = stateOf(place.name); return html`<${Node} key=${place.name} ...${place} now=${one?.party === place.name} picked=${looked.value === place.name} talks=${talking.has(place.name) || viewed === place.name} stage=${state.stage ?? ""} inside=${note(state)} />`; })}
  </svg>${fold && html`<p class="quiet">Each square is a party: point at it for its name, click to look inside.</p>`}</div>`;
}
