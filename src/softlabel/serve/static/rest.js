// What is said about the labels that were not named: one decision, one key.

import { button, el, fill, key, update } from "./dom.js";
import { letterOf, plain } from "./keys.js";

export const REST = ["ruled_out", "possible", "unsaid"];
const KEYS = { ruled_out: "X", possible: "Z", unsaid: "C" };
const JUST_NOW = 400; // ms
const BLANK_ITEMS = 3; // on the first items nothing is offered, not even the person's own habit

/** The choice that a letter stands for, or null. */
export function restOf(letter) {
  return REST.find((value) => KEYS[value] === letter) ?? null;
}

/**
 * The three choices; they are the buttons that end the answer.  In a study with `repeat_rest` the
 * last choice is offered again after the first items, visibly, and Enter takes it.
 */
export class RestStrip {
  constructor(context, choose, held = "") {
    this.held = held; // the key held down with the letters, where letters alone write
    this.texts = context.texts.rest;
    this.choose = choose;
    this.memory = context.memory;
    const offers = context.repeatRest && context.index >= BLANK_ITEMS;
    this.offered = offers ? context.memory.get("rest") : null;
    this.heading = el("h2", { id: "rest-heading" });
    this.buttons = new Map(REST.map((value) => [value, this.#button(value)]));
    this.row = el("div", { class: "rest-row" }, ...this.buttons.values());
    this.done = button(
      { class: "button primary wide", "data-rest": "done" },
      (event) => this.#press(event, this.only),
      key("⏎"),
      el("span", { text: context.texts.next }),
    );
    const options = { class: "rest", "aria-labelledby": "rest-heading" };
    this.root = el("section", options, this.heading, this.row, this.done);
  }

  /**
   * Draw: about how many labels (null: too many to count), what is chosen, what is refused, their
   * `share` in percent if possible, the `only` choice, and whether it is too `early` to choose.
   */
  show({ others, chosen, refused = [], share = null, only = null, early = false }) {
    if (this.root.hidden && !early) this.shownAt = performance.now();
    this.root.hidden = early;
    this.only = only ?? "ruled_out";
    const choice = others !== 0 && only === null;
    this.heading.textContent = this.#about(only === "ruled_out" ? 0 : others, only, share);
    this.row.hidden = !choice;
    this.done.hidden = choice;
    const { possible_why: why, possible_share: shared } = this.texts;
    update(this.buttons.get("possible").querySelector(".words-of small"), {
      text: share === null ? why : fill(shared, { share }),
      class: share === null ? null : "share-of",
    });
    for (const [value, made] of this.buttons) {
      const no = refused.includes(value);
      const offered = chosen === null && value === this.offered && !no;
      update(made, {
        "aria-pressed": value === chosen,
        "aria-disabled": no ? "true" : null,
        class: `rest-choice${offered ? " offered" : ""}`,
      });
      made.querySelector(".as-last").hidden = !offered;
    }
  }

  /** The choice a key stands for, or null. */
  ofKey(event) {
    return plain(event) && !event.shiftKey ? restOf(letterOf(event)) : null;
  }

  /** Offer this choice on the next items. */
  remember(value) {
    this.memory.set("rest", value);
  }

  /** Not for the second half of a double click on what was here before. */
  #press(event, value) {
    const slip = event.detail > 1 && event.timeStamp - this.shownAt < JUST_NOW;
    if (!slip) this.choose(value);
  }

  #about(others, only, share) {
    if (others === null) return this.texts.all;
    if (only === "possible") return fill(this.texts.spread, { n: others, share });
    return fill(others === 0 ? this.texts.none : this.texts.others, { n: others });
  }

  #button(value) {
    const sign = this.held + KEYS[value];
    const strong = el("strong", { text: this.texts[value] });
    const small = el("small", { text: this.texts[`${value}_why`] });
    return button(
      {
        class: "rest-choice",
        "data-rest": value,
        "aria-keyshortcuts": sign.replace(" ", "+"),
      },
      (event) => this.#press(event, value),
      key(sign),
      el("span", { class: "words-of" }, strong, small),
      el("small", { class: "as-last", hidden: true, text: this.texts.as_last }),
    );
  }
}
