// Set up: what is protected, the world, ε, the systems; beside it the same as TOML.
import { useEffect, useState } from "preact/hooks";
import { Act, bytes, html, Problem, seconds, Swatch } from "./parts.js";
import { back, call, upload } from "./server.js";
import { addSystem, addVariant, again, answer, asking, fitting, found, inWorld, problem, removeSystem, restore, start, takeTable, text, write } from "./draft.js";
import { bare, Field, idOf } from "./field.js";
import { Claim, Epsilon, Odds, Unit } from "./privacy.js";
import { Terms } from "./terms.js";

const HEAD = ["rounds", "replicates", "seed"];
const OF_WORLD = /^environment\b/;

// What the command line is told by options is asked for here.
const OPTION = "--missing";
const here = (text) => text.replace(`give them with ${OPTION}`, "name them below").replace(/give --missing (\S+?),/, "name $1 below,");

/** What must be known of a table before it can be used: a column for each role, the first one or another. */
function Asks({ name, asks, choose }) {
  return asks.map(({ role, meaning, allowed, columns }, i) => html`<div class="field" key=${role}><label for=${`role-${role}`}>${i ? `Or, if it is ${role === "target" ? "no log" : "a log of past decisions"}: which column` : `Which column of ${name}`} holds ${meaning}?</label>
    <select id=${`role-${role}`} value="" disabled=${!columns.length} onChange=${(event) => choose(role, event.target.value)}><option value="">${columns.length ? "choose a column" : "none can be it"}</option>${columns.map((column) => html`<option key=${column} value=${column}>${column}</option>`)}</select>
    <span class="quiet">Allowed: ${allowed}.</span></div>`);
}

function Drop() {
  const [told, tell] = useState(null), [over, set] = useState(false);
  const take = async (file, roles = {}, missing = []) => {
    if (!file) return;
    try {
      const shape = await upload(file, roles, missing);
      tell({ shape, file, roles, missing });
      takeTable(shape.toml);
    } catch (error) {
      tell({ error, file, roles, missing });
    }
  };
  const choose = (role, column) => column && take(told.file, { ...told.roles, [role]: column }, told.missing);
  const marks = (event) => take(told.file, told.roles, event.target.value.split(",").map((mark) => mark.trim()).filter(Boolean));
  const asks = told?.error?.asks ?? [], unclear = told?.missing.length > 0 || [told?.error?.message, ...(told?.shape?.told ?? [])].some((line) => line?.includes(OPTION));
  const dropped = (event) => { event.preventDefault(); set(false); take(event.dataTransfer.files[0]); };
  return html`<div class=${"drop" + (over ? " over" : "")} onDragOver=${(event) => { event.preventDefault(); set(true); }} onDragLeave=${() => set(false)} onDrop=${dropped}>
    <label for="file">A table of your own: drop it here, or choose it</label>
    <input id="file" type="file" accept=".csv,.tsv,.parquet,.txt" onChange=${(event) => take(event.target.files[0])} />
    <p class="quiet">It stays on this machine. Only its shape is shown: columns and how many rows.</p>
    ${told?.error && !asks.length && html`<${Problem} error=${{ message: here(told.error.message) }} />`}
    ${asks.length > 0 && html`<${Asks} name=${told.file.name} asks=${asks} choose=${choose} />`}
    ${told?.shape && html`<div role="status"><p><b>${told.file.name}</b>: ${told.shape.rows.toLocaleString("en")} rows; features ${told.shape.columns.join(", ")}</p>${told.shape.told?.map((line) => html`<p class="quiet" key=${line}>${here(line)}</p>`)}</div>`}
    ${unclear && html`<div class="field"><label for="marks">Texts that stand for missing values</label><input id="marks" type="text" value=${told.missing.join(", ")} onChange=${marks} autocomplete="off" spellcheck=${false} /><span class="quiet">Such as −999 or unknown, with commas between them.</span></div>`}</div>`;
}

function More({ keys, title }) {
  if (!keys.length) return null;
  const wrong = keys.some(({ path }) => path === problem.value?.path);
  const [touched, set] = useState(false);
  return html`<details open=${wrong || touched} onToggle=${(event) => set(event.currentTarget.open)}><summary>${title} (${keys.length})</summary>
    ${(touched || wrong) && html`<div class="fields">${keys.map((key) => html`<${Field} key=${key.path} key_=${key} />`)}</div>`}</details>`;
}

function World() {
  const world = answer.value?.world, keys = (answer.value?.keys ?? []).filter(({ path }) => OF_WORLD.test(path) && path !== "environment.kind");
  const about = start.value?.worlds.find(({ kind }) => kind === world?.kind)?.about;
  return html`<div class="field"><label for="world">Kind of world</label><select id="world" value=${world?.kind} onChange=${(event) => inWorld(`[environment]\nkind = "${event.target.value}"`)}>
      ${(start.value?.worlds ?? []).map(({ kind }) => html`<option key=${kind} value=${kind}>${kind}</option>`)}</select>
      <span class="quiet"><${Terms} text=${about ?? ""} /></span></div>
    ${world && html`<dl class="facts">${world.rows.map(([word, value]) => html`<div key=${word}><dt>${word}</dt><dd>${String(value)}</dd></div>`)}</dl>`}
    <${Drop} /><${More} keys=${keys} title="Settings of the world" />`;
}

/** "feducb 2" for the second system of a preset, and so on. */
function nextLabel(preset) {
  const taken = new Set(answer.value.systems.map(({ label }) => label));
  let k = 2;
  while (taken.has(`${preset} ${k}`)) k += 1;
  return `${preset} ${k}`;
}

function System({ system, at }) {
  const own = `systems[${at}]`, { label, preset, about, keys, claim } = system, many = answer.value.systems.length;
  const name = { path: `${own}.label`, value: label, kind: "text", default: preset, is_default: label === preset, about: "Its name in tables and pictures." };
  const spends = keys.find(({ path }) => path === `${own}.epsilon` && (claim?.epsilon > 0 || found(path) !== undefined));
  return html`<li class="system"><header><h3><${Swatch} at=${at} />${label}</h3>${preset !== label && html`<code>${preset}</code>`}
      ${spends && html`<${Field} key_=${spends} label="ε" about=${false} plain />`}
      <button type="button" class="small" onClick=${() => addVariant(at, nextLabel(preset))} aria-label=${`A variant of ${label}`}>Variant</button>
      <button type="button" class="small" onClick=${() => removeSystem(at)} disabled=${many < 2} aria-label=${`Remove ${label}`}>Remove</button></header>
    <p class="quiet"><${Terms} text=${about} /></p><${Claim} claim=${claim} noise=${system.noise} />
    <${More} keys=${[name, ...keys.filter((key) => key !== spends)]} title="Settings" /></li>`;
}

function Systems() {
  const [chosen, choose] = useState("");
  const add = () => { addSystem(chosen); choose(""); };
  return html`<ul class="plain">${(answer.value?.systems ?? []).map((system, i) => html`<${System} key=${i} system=${system} at=${i} />`)}</ul>
    <div class="row add"><label for="preset">One more system</label><select id="preset" value=${chosen} onChange=${(event) => choose(event.target.value)}><option value="">choose a preset</option>
      ${fitting.value.map(({ name, about }) => html`<option key=${name} value=${name} title=${about}>${name}</option>`)}</select>
    <button type="button" disabled=${!chosen} onClick=${add}>Add</button></div>
    ${chosen && html`<p class="quiet"><${Terms} text=${fitting.value.find(({ name }) => name === chosen)?.about} /></p>`}`;
}

function Toml() {
  const shown = problem.value;
  return html`<section class="card toml" aria-labelledby="toml-title"><h2 id="toml-title"><label for="toml">The same as TOML</label></h2>
    <p class="quiet">The form follows the text, and the text follows the form.</p>
    <textarea id="toml" value=${text.value} spellcheck=${false} rows="28" wrap="off" onInput=${(event) => write(event.target.value)} aria-invalid=${shown ? "true" : null} aria-describedby="toml-wrong"></textarea>
    <div id="toml-wrong">${shown && html`<p class="problem" role="alert">${shown.path && !shown.message.startsWith(shown.path) && html`<code>${shown.path}</code>: `}${shown.message}</p>`}</div></section>`;
}

/** Which value is wrong, beside the button that it stops: it may stand far up. */
function Wrong() {
  const { path } = problem.value, at = /^systems\[(\d+)\]/.exec(path ?? "")?.[1];
  const system = at && answer.value?.systems[at]?.label;
  const go = () => { const there = (path && document.getElementById(idOf(path))) || document.getElementById("toml"); there.scrollIntoView({ block: "center" }); there.focus({ preventScroll: true }); };
  return path ? html`1 value is wrong: <button type="button" class="link" onClick=${go}>${system ? `${bare(path)} of ${system}` : bare(path)}</button>` : html`Not yet: <button type="button" class="link" onClick=${go}>the TOML</button> is not right.`;
}

export function Setup() {
  const told = answer.value, keys = told?.keys ?? [];
  useEffect(() => { if (start.value) restore(); }, [start.value]);
  useEffect(() => { if (back.value && problem.value) again(); }, [back.value]);
  const [alone, best] = useState(true);
  const run = async () => {
    const { id } = await call("/api/runs", { toml: text.value, alone });
    location.hash = `run/${encodeURIComponent(id)}`;
  };
  const head = keys.filter(({ path }) => HEAD.includes(path)), rest = keys.filter(({ path }) => !HEAD.includes(path) && !OF_WORLD.test(path));
  return html`<div class="titled"><h1>Set up</h1></div>
    <div class="columns setup"><div>
      <section class="card" aria-labelledby="s1"><h2 id="s1"><i>1</i> Who is protected</h2><${Unit} /></section>
      <section class="card" aria-labelledby="s2"><h2 id="s2"><i>2</i> The world</h2><${World} /></section>
      <section class="card" aria-labelledby="s3"><h2 id="s3"><i>3</i> How much</h2><${Epsilon} /><${Odds} /></section>
      <section class="card" aria-labelledby="s4"><h2 id="s4"><i>4</i> The systems</h2><${Systems} /></section>
      <section class="card" aria-labelledby="s5"><h2 id="s5"><i>5</i> How long</h2><div class="fields three">${head.map((key) => html`<${Field} key=${key.path} key_=${key} plain />`)}</div>
        <${More} keys=${rest} title="Other settings of the experiment" /></section></div>
    <aside><div class="sticky"><section class="card go" aria-label="Run it">
        <p class="big" role="status">${problem.value ? html`<${Wrong} />` : told ? html`About <b>${seconds(told.estimate.seconds)}</b> to play${alone && ", and more to look for the best alone"}; <b>${bytes(told.estimate.bytes)}</b> of memory` : "…"}${asking.value && html` <span class="quiet">asking…</span>`}</p>
        ${told?.warnings?.map((line) => html`<p class="warning" key=${line}><${Terms} text=${line} /></p>`)}
        <label class="inline alone"><input type="checkbox" checked=${alone} onChange=${(event) => best(event.target.checked)} /> Also look for the best that one can do alone: a fair opponent</label>
        <${Act} class="primary" act=${run} disabled=${Boolean(problem.value) || !told}>Run</${Act}></section>
      <${Toml} /></div></aside></div>`;
}
