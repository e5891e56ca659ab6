// The experiment that is being set up: a text and a table, each of which follows the other.
import { batch, computed, signal } from "@preact/signals";
import { call } from "./server.js";

export const start = signal(null); // what the server told at first: presets, examples, worlds, words
export const text = signal(""); // the TOML as it is written
export const table = signal(null); // the same as a table, which the form changes
export const answer = signal(null); // what the server makes of it: keys, claims, estimates
export const problem = signal(null); // why it makes nothing of it
export const asking = signal(false);

const STORED = "draft";
/** Changes of the form that the server has not taken up yet: they stand in their fields till then. */
const pending = signal(new Map());
let timer = 0, gone = new AbortController();

function ask(pause) {
  clearTimeout(timer);
  gone.abort();
  const mine = (gone = new AbortController()), changes = pending.value;
  asking.value = true;
  timer = setTimeout(async () => {
    const set = [...changes].map(([path, value]) => ({ path, value: value ?? null }));
    try {
      const told = await call("/api/setup", { toml: text.value, ...(set.length && { set: set.length > 1 ? set : set[0] }) }, { signal: mine.signal });
      if (mine.signal.aborted) return;
      batch(() => {
        answer.value = told;
        table.value = told.table;
        text.value = told.toml;
        pending.value = new Map();
        problem.value = null;
        asking.value = false;
      });
      sessionStorage.setItem(STORED, text.value);
    } catch (error) {
      if (mine.signal.aborted) return;
      batch(() => {
        problem.value = error;
        asking.value = false;
      });
    }
  }, pause);
}

/** The text was written: the form follows. */
export function write(toml, pause = 350) {
  batch(() => {
    text.value = toml;
    pending.value = new Map();
  });
  ask(pause);
}

/** Ask again what is known already, as after the server was away. */
export const again = () => (text.value ? ask(0) : restore());

/** What was set up last in this tab; else the first example. */
export function restore() {
  const before = sessionStorage.getItem(STORED) ?? start.value?.examples[0]?.toml;
  if (before && !text.value) write(before, 0);
}

/** The value of a key such as "systems[0].epsilon", if the form or the text sets it. */
export function found(path) {
  if (pending.value.has(path)) return pending.value.get(path);
  const steps = path.replaceAll("[", ".").replaceAll("]", "").split(".");
  return steps.reduce((held, step) => held?.[step], table.value);
}

/** Change keys in the form, `undefined` for the default: the text follows, and keeps its comments. */
export function put(values, pause = 150) {
  pending.value = new Map([...pending.value, ...Object.entries(values)]);
  ask(pause);
}

const HEADER = /^\s*\[(\[?)\s*([\w.-]+)/;

/** The parts of a text: what stands before the first table, then a part for each table or system. */
function parts(toml = text.value) {
  const found = [{ name: "", lines: [] }];
  for (const line of toml.split("\n")) {
    const header = HEADER.exec(line), name = header?.[2];
    const inside = name && name.includes(".") && found.at(-1).name === name.split(".")[0];
    if (header && !inside) {
      // Comments right above a header belong to it.
      const before = found.at(-1).lines, own = [];
      while (before.length && before.at(-1).startsWith("#")) own.unshift(before.pop());
      found.push({ name, lines: [...own, line] });
    } else found.at(-1).lines.push(line);
  }
  return found;
}
const systemsOf = (all) => all.filter(({ name }) => name === "systems");
const joined = (all) => write(all.map(({ lines }) => lines.join("\n").trim()).filter(Boolean).join("\n\n") + "\n", 0);

/** Another world: its table replaces the one in the text, and the rest stays as it is written. */
export function inWorld(toml) {
  const all = parts().filter(({ name }) => name !== "environment");
  all.splice(1, 0, { name: "environment", lines: [toml.trim()] });
  joined(all);
}

/** The world, the name and the rounds of an experiment that was made for a table; the systems stay. */
export function takeTable(toml) {
  const theirs = parts(toml), all = parts().filter(({ name }) => name !== "environment"), [head] = all;
  for (const key of ["rounds", "name"]) {
    const fits = (line) => new RegExp(`^${key}\\s*=`).test(line), line = theirs[0].lines.find(fits), at = head.lines.findIndex(fits);
    if (line) head.lines.splice(at < 0 ? head.lines.length : at, at < 0 ? 0 : 1, line);
  }
  // What stands above the first key told of the experiment before.
  while (head.lines[0]?.startsWith("#") || head.lines[0] === "") head.lines.shift();
  joined([head, theirs.find(({ name }) => name === "environment"), ...all.slice(1)]);
}

export const addSystem = (preset) => joined([...parts(), { name: "systems", lines: ["[[systems]]", `preset = "${preset}"`] }]);

export function removeSystem(at) {
  const all = parts(), out = systemsOf(all)[at];
  joined(all.filter((part) => part !== out));
}

/** The same system once more, under another label. */
export function addVariant(at, label) {
  const all = parts(), like = systemsOf(all)[at];
  const lines = like.lines.filter((line) => !/^\s*(label\s*=|#)/.test(line));
  lines.splice(lines.findIndex((line) => HEADER.test(line)) + 1, 0, `label = ${JSON.stringify(label)}`);
  all.splice(all.indexOf(like) + 1, 0, { name: "systems", lines });
  joined(all);
}

/** An experiment for a preset: the first example in whose world it plays, with it as one more system. */
export function withPreset(preset) {
  const { examples, presets } = start.value;
  const about = presets.find(({ name }) => name === preset);
  const kind = (toml) => /^kind\s*=\s*"([\w-]+)"/m.exec(toml)?.[1];
  const fits = examples.find(({ toml }) => about?.environments.includes(kind(toml))) ?? examples[0];
  const known = fits.toml.includes(`preset = "${preset}"\n`);
  write(known ? fits.toml : `${fits.toml.trimEnd()}\n\n[[systems]]\npreset = "${preset}"\n`, 0);
}

/** The presets that play in the world that is set up. */
export const fitting = computed(() => {
  const kind = answer.value?.world.kind;
  return (start.value?.presets ?? []).filter(({ environments }) => !kind || environments.includes(kind));
});
