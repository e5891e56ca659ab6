// The table of a run: mean, σ, standard error and n; and differences, replicate by replicate.
import { useState } from "preact/hooks";
import { EpsilonOf, html, num, percent, pm, Swatch, Wide } from "./parts.js";
import { Term } from "./terms.js";

/** Student's t, 97.5%, for n − 1 degrees of freedom (Cornish and Fisher; the first two exact). */
export function quantile(n) {
  const v = n - 1, z = 1.959963984540054;
  if (v < 3) return [NaN, 12.706204736, 4.302652730][v];
  const powers = [(z ** 3 + z) / 4, (5 * z ** 5 + 16 * z ** 3 + 3 * z) / 96, (3 * z ** 7 + 19 * z ** 5 + 17 * z ** 3 - 15 * z) / 384,
    (79 * z ** 9 + 776 * z ** 7 + 1482 * z ** 5 - 1920 * z ** 3 - 945 * z) / 92160];
  return powers.reduce((sum, term, i) => sum + term / v ** (i + 1), z);
}

/** What a run calls the best that one can do alone. */
const FAIR = "alone at its best";

const last = (line, n) => (line.length === n ? line[n - 1] : null);

/** The mean of differences at the end, over the replicates that both have finished. */
export function paired(one, other) {
  const pairs = one.replicates.map((line, k) => [last(line, one.rounds.length), other.replicates[k] ? last(other.replicates[k], other.rounds.length) : null]);
  const apart = pairs.filter(([a, b]) => a !== null && b !== null && a !== undefined && b !== undefined).map(([a, b]) => a - b);
  const n = apart.length, mean = apart.reduce((sum, x) => sum + x, 0) / n;
  if (!n) return null;
  const spread = Math.sqrt(apart.reduce((sum, x) => sum + (x - mean) ** 2, 0) / (n - 1));
  return { mean, n, half: n < 3 ? null : (quantile(n) * spread) / Math.sqrt(n) };
}

export const difference = (found) => (found ? html`<span class=${found.half === null || Math.abs(found.mean) <= found.half ? "" : found.mean < 0 ? "better" : "worse"}>${found.mean > 0 ? "+" : ""}${pm(found.mean, found.half)}</span>` : "–");

/** `pairs`: all replicates are there, so that the k-th of one system belongs to the k-th of another. */
export function Results({ curves, claims = {}, unit, pairs }) {
  const [against, set] = useState(null);
  if (!curves.length) return null;
  const base = curves.find(({ system }) => system === against) ?? curves.find(({ system }) => system === FAIR) ?? curves[0], few = curves.every(({ n }) => n < 3);
  return html`<div class="row"><label for="against">Differences, replicate by replicate, to</label><select id="against" value=${base.system} onChange=${(event) => set(event.target.value)}>
      ${curves.map(({ system }) => html`<option key=${system} value=${system}>${system}</option>`)}</select></div>
    <${Wide} label="Results" caption=${html`${unit}, at the end: mean ± half of the <${Term} name="95% interval" />${few && ", which needs three replicates"}`}><table class="results">
    <thead><tr><th scope="col">system</th><th scope="col">mean</th><th scope="col"><abbr title="standard deviation over replicates">σ</abbr></th><th scope="col"><${Term} name="s.e." /></th><th scope="col"><abbr title="finished replicates">n</abbr></th>
      <th scope="col">to ${base.system}</th><th scope="col"><${Term} name="ε" /></th><th scope="col" class="long">a test with 5% false alarms finds</th></tr></thead>
    <tbody>${curves.map((curve, i) => {
      const claim = claims[curve.system];
      return html`<tr key=${curve.system}><th scope="row"><${Swatch} at=${i} />${curve.system}</th><td>${pm(curve.mean.at(-1), curve.half?.at(-1))}</td><td>${num(curve.deviation, 3)}</td><td>${num(curve.error, 3)}</td><td>${curve.n}</td>
        <td>${curve === base ? "" : pairs ? difference(paired(curve, base)) : "–"}</td><td><${EpsilonOf} claim=${claim} /></td><td>${claim ? percent(claim.power) : "–"}</td></tr>`;
    })}</tbody></table></${Wide}>`;
}
