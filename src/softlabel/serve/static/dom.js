// Elements without markup strings: nothing here can turn text into HTML.

const DOUBLE_CLICK = 500; // ms, as most systems have it

/**
 * Make an element. Options: `class`, `text`, `onclick` and other listeners, properties such as
 * `hidden`, and attributes. A value of null or false leaves the option out.
 */
export function el(tag, options = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(options)) set(element, name, value);
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

/** Set one option of an element, as `el` does. */
export function set(element, name, value) {
  if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
  else if (name === "class") element.className = value ?? "";
  else if (name === "text") element.textContent = value;
  else if (typeof value === "boolean" && !name.startsWith("aria-"))
    element.toggleAttribute(name, value);
  else if (value === null || value === undefined) element.removeAttribute(name);
  else element.setAttribute(name, String(value));
}

/** Set several options of an element that is already there. */
export function update(element, options) {
  for (const [name, value] of Object.entries(options)) set(element, name, value);
}

/** A text for readers of the screen: `{name}` is filled in; plural forms are chosen by `n`. */
export function fill(text, values = {}, language = document.documentElement.lang || "en") {
  let chosen = text;
  if (typeof text === "object" && text !== null) {
    const form = new Intl.PluralRules(language).select(values.n ?? 0);
    chosen = text[form] ?? text.other;
  }
  return String(chosen).replace(/\{(\w+)\}/g, (whole, name) => String(values[name] ?? whole));
}

/** The sign of a key, drawn like a key. */
export function key(name) {
  return el("kbd", { text: name, "aria-hidden": "true" });
}

/** A button that acts on a press; after a press by pointer the keyboard stays with the page. */
export function button(options, onpress, ...children) {
  const made = el("button", { type: "button", ...options }, ...children);
  made.addEventListener("click", (event) => {
    onpress(event);
    // detail is 0 for Enter, Space and screen readers: their focus must stay where it is
    if (event.detail > 0 && made.isConnected) made.blur();
  });
  return made;
}

/** The action of a button that toggles, done once by a double click. */
export function once(action) {
  let last = -Infinity;
  return (event) => {
    const second = event.detail > 0 && event.timeStamp - last < DOUBLE_CLICK;
    last = event.timeStamp;
    if (!second) action(event);
  };
}

// the names of labels ----------------------------------------------------------------------

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

// the window ---------------------------------------------------------------------------------

/** Wait until what was drawn has been painted. */
export function painted() {
  return new Promise((resolve) => {
    requestAnimationFrame(() => requestAnimationFrame(() => resolve(performance.now())));
  });
}

/** True while a dialog is open and the keys belong to it. */
export function isOpen() {
  return document.querySelector("dialog[open]") !== null;
}
