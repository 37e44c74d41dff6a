// The preview: mark the page that is shown, and press keys on it where the list says so.

import { later } from "./server.js";

const PATIENCE = 10_000; // milliseconds until the page of the task is ready
const STEP = 50;
const frame = document.querySelector("iframe");
let waiting = ""; // keys to press as soon as the page is there

/** What there is in the framed page, as soon as it is there; null if it does not come. */
async function find(selector, page) {
  for (let waited = 0; waited < PATIENCE; waited += STEP) {
    if (frame.contentDocument !== page) return null; // another page was chosen
    const found = page.querySelector(selector);
    if (found) return found;
    await later(STEP);
  }
  return null;
}

/** Press keys one after the other: the first on the page, the others in the dialog it opens. */
async function press(keys) {
  const page = frame.contentDocument;
  let target = (await find("#task[data-ready]", page)) && page.body;
  for (const key of keys) {
    if (!target) return;
    const code = /\d/.test(key) ? `Digit${key}` : `Key${key.toUpperCase()}`;
    target.dispatchEvent(new KeyboardEvent("keydown", { key, code, bubbles: true }));
    target = await find("dialog[open]", page);
  }
}

for (const link of document.querySelectorAll(".sights a")) {
  link.addEventListener("click", () => {
    waiting = link.dataset.keys;
    document.querySelector(".sights [aria-current]")?.removeAttribute("aria-current");
    link.setAttribute("aria-current", "page");
    document.getElementById("alone").href = link.href;
  });
}

frame.addEventListener("load", () => {
  const keys = waiting;
  waiting = "";
  if (keys) press(keys);
});
