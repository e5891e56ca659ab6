// The frame: where one is, the seven screens, and what is said when the server is away.
//
// For benchmarks: mark "shell" is the first drawing of this module, mark "home" the list of runs.
// Measures: "step" from a key to the frame that shows the step, "step script" the script of it,
// "chart script" the script of drawing a chart anew, "event script" that of one event of a run.
import { render } from "preact";
import { useEffect } from "preact/hooks";
import { signal } from "@preact/signals";
import { back, call, lost, refused } from "./server.js";
import { html } from "./parts.js";
import { glossary, Tip } from "./terms.js";
import { start } from "./draft.js";
import { Home } from "./home.js";
import { Setup } from "./setup.js";
import { Run } from "./run.js";
import { Compare } from "./compare.js";
import { Step } from "./step.js";
import { Attack } from "./attack.js";
import { Live } from "./live.js";

const SCREENS = {
  home: [Home, "Home"], setup: [Setup, "Set up"], run: [Run, "Run"], compare: [Compare, "Compare"],
  step: [Step, "Step"], attack: [Attack, "Attack"], live: [Live, "Live"],
};
const IN_MENU = ["home", "setup", "step", "attack", "live"];

function read() {
  const words = location.hash.slice(1).split("/").map(decodeURIComponent);
  const presented = words[0] === "present";
  if (presented) words.shift();
  const name = words[0] in SCREENS ? words.shift() : "home";
  return { name, words, presented };
}
const place = signal(read()), failed = signal("");

async function load() {
  try {
    const told = await call("/api/start");
    start.value = told;
    glossary.value = told.glossary;
    failed.value = "";
  } catch (error) {
    failed.value = error.message;
  }
}

function Menu() {
  const { name } = place.value, shown = IN_MENU.includes(name) ? IN_MENU : ["home", name, ...IN_MENU.slice(1)];
  return html`<header class="top"><a class="skip" href="#main" onClick=${(event) => { event.preventDefault(); document.getElementById("main").focus(); }}>To the content</a>
    <a class="brand" href="#home">fedbandits <b>studio</b></a>
    <nav aria-label="Screens">${shown.map((to) => html`<a key=${to} href=${to === name ? location.hash : `#${to}`} aria-current=${to === name ? "page" : null}>${SCREENS[to][1]}</a>`)}</nav>
    <span class="folder" title="The folder of runs"><bdi dir="ltr">${start.value?.folder}</bdi></span></header>`;
}

function leave() {
  location.hash = location.hash.replace("#present/", "#");
}

function App() {
  const { name, words, presented } = place.value, Screen = SCREENS[name][0];
  useEffect(() => { document.title = `${SCREENS[name][1]} · fedbandits studio`; }, [name]);
  useEffect(() => {
    document.documentElement.classList.toggle("presented", presented);
    const key = (event) => presented && event.key === "Escape" && leave();
    addEventListener("keydown", key);
    return () => removeEventListener("keydown", key);
  }, [presented]);
  return html`${presented ? html`<button type="button" class="leave" onClick=${leave}>Leave (Esc)</button>` : html`<${Menu} />`}
    <div role="status">${refused.value
      ? html`<p class="banner bad">The studio does not know this page. Open the address that it printed last.</p>`
      : lost.value ? html`<p class="banner">connection lost, trying again: is the studio still running in your terminal?</p>`
      : failed.value && html`<p class="banner bad">The studio could not begin: ${failed.value} <button type="button" class="small" onClick=${load}>Try again</button></p>`}</div>
    <main id="main" tabindex="-1"><${Screen} key=${name + words.join("/")} words=${words} presented=${presented} /></main><${Tip} />`;
}

addEventListener("hashchange", () => {
  const before = place.value;
  place.value = read();
  document.getElementById("tip")?.hidePopover();
  if (before.name !== place.value.name) {
    scrollTo(0, 0);
    document.getElementById("main")?.focus({ preventScroll: true });
  }
});
// A printed page is light, whatever the screen is; charts are drawn anew for it.
addEventListener("beforeprint", () => document.documentElement.classList.add("paper"));
addEventListener("afterprint", () => document.documentElement.classList.remove("paper"));

const root = document.getElementById("app");
root.replaceChildren();
render(html`<${App} />`, root);
performance.mark("shell");
load();
back.subscribe((times) => times && load());
