// Two small windows: the keys, and the reasons for not answering.

import { button, el, key } from "./dom.js";
import { digitOf } from "./keys.js";

export const SKIPS = ["media_broken", "not_in_list", "cannot_judge"];

/** True while a window is open and the keys belong to it. */
export function isOpen() {
  return document.querySelector("dialog[open]") !== null;
}

/** Show what the keys do; each line is [keys, meaning]. */
export function showKeys(texts, lines) {
  const rows = lines.flatMap(([keys, meaning]) => [
    el("dt", {}, ...keys.split(" ").map((name) => el("kbd", { text: name.replaceAll("_", " ") }))),
    el("dd", { text: meaning }),
  ]);
  return open(texts, texts.keys_title, el("dl", { class: "keys" }, ...rows));
}

/** Ask why this item is skipped, with a warning if there is one; the reason, or null. */
export function askSkip(texts, warning) {
  const reasons = SKIPS.map((reason, i) =>
    button(
      { class: "button wide", value: reason },
      (event) => event.currentTarget.closest("dialog").close(reason),
      key(String(i + 1)),
      el("span", { text: texts.skips[reason] }),
    ),
  );
  return open(
    texts,
    texts.skip_title,
    el("p", { class: "quiet", text: texts.skip_text }),
    ...(warning ? [el("p", { class: "problem", text: warning })] : []),
    el("div", { class: "stack" }, ...reasons),
  );
}

function open(texts, title, ...content) {
  const close = button(
    { class: "button" },
    () => dialog.close(""),
    el("span", { text: texts.close }),
  );
  const dialog = el(
    "dialog",
    { "aria-labelledby": "dialog-title" },
    el("h2", { id: "dialog-title", text: title }),
    ...content,
    close,
  );
  dialog.addEventListener("keydown", (event) => {
    const choice = SKIPS[(digitOf(event) ?? 0) - 1];
    if (choice && dialog.querySelector(`[value=${choice}]`)) dialog.close(choice);
  });
  document.querySelector("dialog")?.remove(); // one that has closed, but not yet heard of it
  document.body.append(dialog);
  dialog.showModal();
  return new Promise((resolve) => {
    dialog.addEventListener("close", () => {
      dialog.remove();
      resolve(dialog.returnValue || null);
    });
  });
}
