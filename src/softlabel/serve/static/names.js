// The names of labels, as they stand on buttons and in lists.

import { el } from "./dom.js";

/** The name of a label with its mark; `text` is what stands there, `more` comes after it. */
export function nameOf({ about }, label, text = label, ...more) {
  const known = knownOf(about, label);
  const tells = known && (known.describe || known.examples.length > 0);
  const bdi = el("bdi", { text });
  const name = { class: "name", "data-about": tells ? label : null };
  return el("span", name, markOf(known), bdi, ...more);
}

/** One line about a label, for lists in which no tip can open; null if there is nothing to say. */
export function lineOf(about, label) {
  const known = knownOf(about, label);
  return known?.describe ? el("small", { class: "describe", dir: "auto", text: known.describe }) : null;
}

/** The mark in the colour of a label, or null. */
export function markOf(known) {
  if (!known?.colour) return null;
  const mark = el("span", { class: "colour", "aria-hidden": "true" });
  mark.style.setProperty("--colour", known.colour);
  return mark;
}

function knownOf(about, label) {
  return about && Object.hasOwn(about, label) ? about[label] : null;
}
