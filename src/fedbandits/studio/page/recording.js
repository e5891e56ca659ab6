// A recording of a protocol, where one is in it, and what each party holds there.
import { batch, computed, signal } from "@preact/signals";
import { call } from "./server.js";

export const recording = signal(null), at = signal(0), playing = signal(false), speed = signal(4), problem = signal(null), busy = signal(false);
/** What is asked for; `off` are the protections that are switched off, for this page alone. */
export const asked = signal({ preset: "samba-ucb", parties: 4, rounds: 12, seed: 0, off: [] });
/** The party that is looked at; null follows the party whose step it is. */
export const looked = signal(null);
/** Who sees what in the recording before this one, to mark what a protection changed. */
export const before = signal(null);

export const step = computed(() => recording.value?.steps[at.value]);
export const party = computed(() => looked.value ?? step.value?.party);
export const last = computed(() => Math.max(0, (recording.value?.steps.length ?? 1) - 1));

let gone = new AbortController();
export async function load(change = {}) {
  asked.value = { ...asked.value, ...change };
  gone.abort();
  const mine = (gone = new AbortController());
  busy.value = true;
  try {
    const told = await call("/api/steps", { ...asked.value, parties: Number(asked.value.parties), rounds: Number(asked.value.rounds), seed: Number(asked.value.seed) }, { signal: mine.signal });
    if (mine.signal.aborted) return;
    batch(() => {
      const same = recording.value?.preset === told.preset;
      before.value = same ? recording.value.sight : null;
      at.value = same ? Math.min(at.value, Math.max(0, told.steps.length - 1)) : 0;
      if (!told.parties.some(({ name }) => name === looked.value)) looked.value = null;
      recording.value = told;
      problem.value = null;
      playing.value = false;
      busy.value = false;
    });
  } catch (error) {
    if (!mine.signal.aborted) batch(() => { problem.value = error; busy.value = false; });
  }
}

/** The states of each party as [step, state]: one pass, so going back costs what going on does. */
const states = computed(() => {
  const found = new Map();
  for (const { name, first } of recording.value?.parties ?? []) found.set(name, [[-1, first]]);
  recording.value?.steps.forEach((one, i) => {
    const own = found.get(one.party);
    if (own && Object.keys(one.changed).length) own.push([i, { ...own.at(-1)[1], ...one.changed }]);
  });
  return found;
});
export function stateOf(name) {
  const own = states.value.get(name);
  if (!own) return {};
  let low = 0, high = own.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (own[middle][0] <= at.value) low = middle;
    else high = middle - 1;
  }
  return own[low][1];
}

export const go = (to) => { at.value = Math.max(0, Math.min(last.value, to)); };

/** The next step that fits, or the one before; the end of the recording if there is none. */
export function seek(fits, way = 1) {
  const { steps } = recording.value;
  for (let i = at.value + way; i >= 0 && i < steps.length; i += way) if (fits(steps[i])) return go(i);
  go(way > 0 ? last.value : 0);
}
export const has = (fits) => recording.value?.steps.some(fits) ?? false;

/** The types of messages, in the order in which they first come. */
export const types = computed(() => [...new Set((recording.value?.steps ?? []).flatMap(({ message }) => (message ? [message.type] : [])))]);
