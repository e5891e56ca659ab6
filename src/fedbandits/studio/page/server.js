// What the server is asked, and what happens when it cannot be reached.
import { signal } from "@preact/signals";

/** True while the server cannot be reached; `back` counts how often it came back. */
export const lost = signal(false);
export const back = signal(0);
/** True when the token of this page is not, or no longer, the server's. */
export const refused = signal(false);

// The token comes in the fragment, which no request, log or Referer holds. Then it leaves the address.
const given = /^#token=([\w-]+)/.exec(location.hash);
if (given) {
  sessionStorage.setItem("token", given[1]);
  history.replaceState(null, "", location.pathname + "#home");
}
const headers = (more) => ({ authorization: `Bearer ${sessionStorage.getItem("token") ?? ""}`, ...more });

/** A request that the server refused: `path` is the key of the TOML that is wrong, if one is; `asks` are columns that must be named. */
export class Refused extends Error {
  constructor({ message, path = null, given = null, allowed = null, asks = [] }) {
    super(message);
    Object.assign(this, { path, given, allowed, asks });
  }
}

/** The status of a server that ends. */
const ENDING = 503;
const wait = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
let trying = false;
async function tryAgain() {
  lost.value = true;
  if (trying) return;
  trying = true;
  for (let pause = 250; ; pause = Math.min(4000, 2 * pause)) {
    await wait(pause);
    try {
      const answer = await fetch("/api/runs", { headers: headers() });
      refused.value = answer.status === 401;
      if (answer.status !== ENDING) break;
    } catch {
      // still away
    }
  }
  trying = lost.value = false;
  back.value++;
}

async function ask(path, options) {
  let answer;
  try {
    answer = await fetch(path, options);
  } catch (error) {
    if (options.signal?.aborted) throw error;
    tryAgain();
    throw new Refused({ message: "connection lost, trying again" });
  }
  if (answer.status === ENDING) {
    tryAgain();
    throw new Refused({ message: "connection lost, trying again" });
  }
  if (answer.ok) return answer;
  if (answer.status === 401) refused.value = true;
  let error = { message: `${answer.status} ${answer.statusText}` };
  try {
    error = { ...error, ...(await answer.json()).error };
  } catch {
    // no JSON: the status has to do
  }
  throw new Refused(error);
}

/** Ask for JSON, or send some. */
export async function call(path, body, { method = body ? "POST" : "GET", signal } = {}) {
  const answer = await ask(path, {
    method,
    signal,
    headers: headers(body && { "content-type": "application/json" }),
    body: body && JSON.stringify(body),
  });
  return answer.status === 204 ? null : answer.json();
}

/** Send a file as it is; the server looks at its shape. `roles` are columns by their roles, `missing` texts for missing values. */
export async function upload(file, roles = {}, missing = []) {
  const asked = new URLSearchParams([["name", file.name], ...Object.entries(roles), ...missing.map((mark) => ["missing", mark])]);
  const answer = await ask(`/api/files?${asked}`, {
    method: "POST", headers: headers({ "content-type": "application/octet-stream" }), body: file,
  });
  return answer.json();
}

/** Save what the server sends under a name. */
export async function download(path, name) {
  const answer = await ask(path, { headers: headers() });
  save(await answer.blob(), name);
}

export function save(blob, name) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}

/** Read server-sent events by fetch, as EventSource can send no header. Goes on where it was. */
export async function watch(path, hear, signal) {
  let since = 0;
  for (let pause = 250; !signal.aborted; pause = Math.min(4000, 2 * pause)) {
    try {
      const answer = await fetch(`${path}?since=${since}`, { headers: headers(), signal });
      if (answer.status === 401) refused.value = true;
      if (!answer.ok) return;
      const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
      for (let rest = ""; ; ) {
        const { done, value } = await reader.read();
        if (done) return;
        const blocks = (rest + value).split("\n\n");
        rest = blocks.pop();
        for (const block of blocks) {
          const data = [];
          for (const line of block.split("\n")) {
            if (line.startsWith("id:")) since = line.slice(3).trim();
            if (line.startsWith("data:")) data.push(line.slice(5).trimStart());
          }
          if (data.length && !signal.aborted) hear(JSON.parse(data.join("\n")));
          pause = 250;
        }
      }
    } catch (error) {
      if (signal.aborted) return;
      if (!(error instanceof TypeError)) throw error;
      tryAgain();
      await wait(pause);
    }
  }
}
