// Step: a recording of real parties, message by message. Who sends what, and who can read it.
import { useEffect } from "preact/hooks";
import { html, Problem } from "./parts.js";
import { back, save } from "./server.js";
import { start } from "./draft.js";
import { asked, at, busy, go, has, last, load, playing, problem, recording, seek, speed, step, types } from "./recording.js";
import { Graph } from "./graph.js";
import { Holds, Message, Pseudocode, Sight, where } from "./code.js";
import { Terms } from "./terms.js";

/** What a step is called in which an outcome was observed. */
const OUTCOMES = { samba: "pull", pfcb: "purchase" };
const outcome = () => OUTCOMES[start.value?.presets.find(({ name }) => name === asked.value.preset)?.system] ?? "reward";
const pulls = (one) => one.pulls, releases = (one) => one.releases;

const channel = new MessageChannel();
const frames = [];
channel.port1.onmessage = () => { for (const start of frames.splice(0)) performance.measure("step", { start, end: performance.now() }); };
/** Do something, and measure until the frame that shows it. */
function timed(event, act) {
  const began = performance.now(), start = event?.timeStamp ?? began;
  act();
  queueMicrotask(() => performance.measure("step script", { start: began, end: performance.now() }));
  requestAnimationFrame(() => { frames.push(start); channel.port2.postMessage(null); });
}

const KEYS = {
  ArrowRight: () => go(at.value + 1), ArrowLeft: () => go(at.value - 1), Home: () => go(0), End: () => go(last.value),
  n: () => seek(pulls), N: () => seek(pulls, -1), r: () => seek(releases), R: () => seek(releases, -1), p: () => { playing.value = !playing.value; },
};
function key(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || !recording.value || event.target.matches("input, select, textarea, [role=slider]")) return;
  const act = KEYS[event.key];
  if (!act) return;
  event.preventDefault();
  timed(event, act);
}

function Controls() {
  const to = (event) => { const type = event.target.value; event.target.value = ""; timed(null, () => seek(({ message }) => message?.type === type)); };
  const button = (word, act, more) => html`<button type="button" ...${more} onClick=${(event) => timed(event, act)}>${word}</button>`;
  const first = at.value === 0, end = at.value === last.value;
  return html`<div class="controls" role="group" aria-label="Steps">
    ${button("Reset", () => { playing.value = false; go(0); }, { disabled: first })}${button("Previous", KEYS.ArrowLeft, { disabled: first })}
    ${button(playing.value ? "Pause" : "Play", () => { if (end) go(0); playing.value = !playing.value; }, { class: "primary" })}
    ${button("Next", KEYS.ArrowRight, { disabled: end })}${button("End", () => { playing.value = false; go(last.value); }, { disabled: end })}
    ${has(pulls) && button(`Next ${outcome()}`, KEYS.n, { disabled: end })}${has(releases) && button("Next release", KEYS.r, { disabled: end })}
    <label class="inline">Next <select value="" onChange=${to}><option value="">message of type</option>${types.value.map((type) => html`<option key=${type} value=${type}>${type}</option>`)}</select></label>
    <label class="inline">Round <input type="number" min="1" value=${step.value?.round ?? ""} onChange=${(event) => { const wanted = Number(event.target.value), i = recording.value.steps.findIndex(({ round }) => round >= wanted); timed(null, () => go(i < 0 ? last.value : i)); }} /></label>
    ${button("Save", () => save(new Blob([JSON.stringify(recording.value)], { type: "application/json" }), `steps-${asked.value.preset}.json`), { title: "The recording as JSON" })}
    <label class="inline">Speed <input type="range" min="1" max="30" value=${speed.value} onInput=${(event) => { speed.value = Number(event.target.value); }} aria-valuetext=${`${speed.value} steps a second`} /></label></div>
    <input class="time" type="range" min="0" max=${last.value} value=${at.value} onInput=${(event) => timed(event, () => go(Number(event.target.value)))} aria-label="Step" aria-valuetext=${`${where()}: ${step.value?.sentence}`} />`;
}

const number = (what, low, high, word) => html`<div class="field"><label for=${`step-${what}`}>${word}</label><input id=${`step-${what}`} type="number" min=${low} max=${high} value=${asked.value[what]} aria-invalid=${problem.value?.path === what ? "true" : null} onInput=${(event) => { asked.value = { ...asked.value, [what]: event.target.value }; }} onChange=${(event) => load({ [what]: Number(event.target.value) })} /></div>`;

function Side() {
  const { preset, off } = asked.value, offered = start.value?.steppable ?? [], about = offered.find((one) => one.preset === preset);
  const flip = (name) => load({ off: off.includes(name) ? off.filter((one) => one !== name) : [...off, name] });
  const attackable = start.value?.attackable.includes(preset);
  return html`<section class="card" aria-label="What is recorded"><div class="field"><label for="step-preset">System</label><select id="step-preset" value=${preset} onChange=${(event) => load({ preset: event.target.value, off: [] })}>${offered.map((one) => html`<option key=${one.preset} value=${one.preset}>${one.preset}</option>`)}</select>
      <span class="quiet"><${Terms} text=${about?.about ?? ""} /></span></div>
    <div class="fields three">${number("parties", 2, 60, "Parties")}${number("rounds", 1, 300, "Rounds")}${number("seed", 0, 2 ** 31, "Seed")}</div>
    ${about?.protections.length > 0 && html`<fieldset class="choice"><legend>Protections</legend>${about.protections.map(({ name, about: text }) => html`<label key=${name}><input type="checkbox" checked=${!off.includes(name)} onChange=${() => flip(name)} /> <span><b>${name}</b> <span class="quiet">${text}</span></span></label>`)}
      <p class="quiet">Switched off, it is recorded again without it. Such a variant exists on this page alone.</p></fieldset>`}
    <${Problem} error=${problem.value} />
    ${recording.value?.attack && html`<p class="attack-line"><b>Attack on this recording</b> <${Terms} text=${recording.value.attack} /></p>`}
    ${attackable && html`<p><a class="button" href=${`#attack/${preset}`}>Attack it</a></p>`}
    ${recording.value?.cut && html`<p class="warning">This recording is long: only its beginning is here.</p>`}
    <p class="quiet">Keys and noise of a simulation come from the seed. They protect nobody.</p></section>`;
}

/** What happens in this step; the rest of the screen need not be drawn anew for it. */
function Sentence() {
  const one = step.value;
  return html`<p class="sentence" aria-live=${playing.value ? "off" : "polite"}><span class="count">${where()}</span> ${one?.round !== null && one?.round !== undefined ? html`<span class="count">round ${one.round}</span>` : ""} ${one?.sentence ?? "Nothing happens."}</p>`;
}

export function Step({ words: [preset], presented }) {
  useEffect(() => { if (preset && preset !== asked.value.preset) load({ preset, off: [] }); else if (!recording.value || problem.value) load(); }, [preset, back.value]);
  useEffect(() => { addEventListener("keydown", key); return () => { removeEventListener("keydown", key); playing.value = false; }; }, []);
  const runs = playing.value, pace = speed.value;
  useEffect(() => {
    if (!runs) return;
    const timer = setInterval(() => { if (at.value >= last.value) playing.value = false; else timed(null, KEYS.ArrowRight); }, 1000 / pace);
    return () => clearInterval(timer);
  }, [runs, pace]);
  const told = recording.value;
  return html`<div class="titled"><h1>Step</h1>${busy.value && html`<span class="quiet" role="status">recording…</span>`}${!presented && html`<a class="button no-print" href="#present/step">Present</a>`}</div>
    <div class=${presented ? "" : "columns step"}>${!presented && html`<aside><${Side} /></aside>`}
    ${told ? html`<div><section class="card stage" aria-label="The protocol"><${Controls} /><${Sentence} /><${Graph} />
        <p class="quiet keys">Keys: <kbd>←</kbd> <kbd>→</kbd> step, <kbd>n</kbd> next ${outcome()}, <kbd>r</kbd> next release, <kbd>p</kbd> play, <kbd>Home</kbd> <kbd>End</kbd>.</p></section>
      <div class="columns even steady"><section class="card" aria-labelledby="message-title"><h2 id="message-title">The message</h2><${Message} /></section>
        <section class="card" aria-labelledby="holds-title"><h2 id="holds-title">What a party holds</h2><${Holds} /></section></div>
      <${Pseudocode} /><${Sight} /></div>` : html`<p class="quiet">${problem.value ? "Nothing is recorded." : "Recording…"}</p>`}</div>`;
}
