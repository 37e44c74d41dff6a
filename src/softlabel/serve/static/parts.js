// What several modes are made of.

import { button, el, fill, key, update } from "./dom.js";
import { letterOf, plain } from "./keys.js";

export const REST = ["ruled_out", "possible", "unsaid"];
const REST_KEYS = { X: "ruled_out", Z: "possible", C: "unsaid" };
const BLANK_ITEMS = 3; // on the first items nothing is suggested, not even the person's own habit

/** States one can go back to. */
export class History {
  constructor(state) {
    this.state = state;
    this.past = [];
  }

  /** Replace parts of the state; the state before can be had back. */
  change(changes) {
    this.past.push(this.state);
    this.state = { ...this.state, ...changes };
  }

  /** Back by one step; false at the beginning. */
  undo() {
    if (this.past.length === 0) return false;
    this.state = this.past.pop();
    return true;
  }
}

/** True for Backspace and Ctrl+Z outside of text. */
export function isUndo(event) {
  if (plain(event)) return event.code === "Backspace" && !event.shiftKey;
  return (event.ctrlKey || event.metaKey) && !event.altKey && letterOf(event) === "Z";
}

/**
 * What is said about the labels that were not named: one decision, and its three buttons are the
 * ones that end the answer.  After the first items the last choice is offered again, visibly,
 * and Enter takes it.
 */
export class RestStrip {
  constructor(context, choose, held = "") {
    this.held = held; // the key held down with the letters, where letters alone write
    this.texts = context.texts.rest;
    this.choose = choose;
    this.memory = context.memory;
    this.offered = context.index >= BLANK_ITEMS ? context.memory.get("rest") : null;
    this.heading = el("h2", { id: "rest-heading" });
    this.buttons = new Map(REST.map((value) => [value, this.#button(value)]));
    this.done = button(
      { class: "button primary wide", "data-rest": "done" },
      () => choose("ruled_out"),
      key("⏎"),
      el("span", { text: context.texts.next }),
    );
    this.row = el("div", { class: "rest-row" }, ...this.buttons.values());
    this.root = el(
      "section",
      { class: "rest", "aria-labelledby": "rest-heading" },
      this.heading,
      this.row,
      this.done,
    );
  }

  /** Draw: how many labels it is about (null: too many to count), what is chosen, and which choices would contradict. */
  show({ others, chosen, refused = [] }) {
    const last = chosen === null && this.offered !== null;
    this.heading.textContent = this.#about(others);
    this.row.hidden = others === 0;
    this.done.hidden = others !== 0;
    for (const [value, made] of this.buttons) {
      const offered = last && value === this.offered && !refused.includes(value);
      update(made, {
        "aria-pressed": value === chosen,
        "aria-disabled": refused.includes(value) ? "true" : null,
        class: `rest-choice${offered ? " offered" : ""}`,
      });
      made.querySelector(".as-last").hidden = !offered;
    }
  }

  #about(others) {
    if (others === null) return this.texts.all;
    return fill(others === 0 ? this.texts.none : this.texts.others, { n: others });
  }

  /** The choice a key stands for, or null. */
  ofKey(event) {
    return plain(event) && !event.shiftKey ? (REST_KEYS[letterOf(event)] ?? null) : null;
  }

  /** What Enter takes: the choice made, or the one offered. */
  standing(chosen, others) {
    if (others === 0) return "ruled_out";
    return chosen ?? this.offered;
  }

  /** Offer this choice on the next items. */
  remember(value) {
    this.memory.set("rest", value);
  }

  #button(value) {
    const sign = Object.keys(REST_KEYS).find((name) => REST_KEYS[name] === value);
    return button(
      {
        class: "rest-choice",
        "data-rest": value,
        "aria-keyshortcuts": `${this.held}${sign}`.replace(" ", "+"),
      },
      () => this.choose(value),
      key(this.held + sign),
      el(
        "span",
        { class: "words-of" },
        el("strong", { text: this.texts[value] }),
        el("small", { text: this.texts[`${value}_why`] }),
      ),
      el("small", { class: "as-last", hidden: true, text: this.texts.as_last }),
    );
  }
}

/** How often `n` out of `whole`, in words and as a share. */
export function outOf(texts, n, whole) {
  return fill(texts.out_of, { n, whole });
}

/** A list of lines of the help: keys and what they do. */
export function helpOf(texts, names) {
  return names.map((name) => texts.help[name]);
}
