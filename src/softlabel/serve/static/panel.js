// What the pages of quick, chips and search share: an answer made in steps, undo, and the rest (what
// is said about the labels that were not named) as the last decision.

import { button, el, fill, key, update } from "./dom.js";
import { letterOf, plain, pressing } from "./keys.js";

// an answer in the making, apart from how it is drawn --------------------------------------

// What somebody does either changes it, and says which field and how it is logged, or is refused,
// and says which text tells why.

/** A half-made answer whose every step can be taken back. */
export class Said {
  constructor(blank) {
    this.blank = blank;
    this.state = blank;
    this.past = [];
  }

  /** Replace parts of the state. */
  step(field, what, changes, more = {}) {
    this.past.push(this.state);
    this.state = { ...this.state, ...changes };
    return { field, what, ...more };
  }

  /** Back by one step; false at the beginning. */
  undo() {
    if (this.past.length === 0) return false;
    this.state = this.past.pop();
    return true;
  }

  /** Go on from what was noted; there is nothing before it to go back to. */
  restore(state) {
    this.past = [];
    this.state = { ...this.blank, ...state };
  }

  /** One word about everything that was not named. */
  sayRest(value) {
    return this.step("rest", `rest:${value}`, { rest: value });
  }
}

/** A step that is not taken; `name` is the text that tells why. */
export function no(name, values = {}) {
  return { refused: name, values };
}

/** The list without the entry, or with it. */
export function without(list, entry) {
  return list.filter((other) => other !== entry);
}

// the rest: one decision, one key ----------------------------------------------------------

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
  constructor(context, choose, save, held = "") {
    this.held = held; // the key held down with the letters, where letters alone write
    this.saves = context.revising; // an answer that is there already can be saved as it is
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
      (event) => (this.saves ? save() : this.#press(event, this.only)),
      key("⏎"),
      el("span", { text: context.texts.next }),
    );
    const options = { class: "rest", "aria-labelledby": "rest-heading" };
    const saving = el("div", { class: "saving" }, this.done);
    this.root = el("section", options, this.heading, this.row, saving);
  }

  /**
   * Draw: about how many labels (null: too many to count), what is chosen, what is refused, their
   * `share` in percent if possible, the `only` choice, and whether it is too `early` to choose.
   */
  show({ others, chosen, refused = [], share = null, only = null, early = false }) {
    if (this.root.hidden && !early) this.shownAt = performance.now();
    this.root.hidden = early && !this.saves;
    this.heading.hidden = early;
    this.only = only ?? "ruled_out";
    const choice = others !== 0 && only === null;
    this.heading.textContent = this.#about(only === "ruled_out" ? 0 : others, only, share);
    this.row.hidden = !choice || early;
    this.done.hidden = choice && !this.saves;
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

// the panel --------------------------------------------------------------------------------

const SENDING = ["Enter", "NumpadEnter", "Space"];

/** A panel shows `said`, an answer in the making; `draw()` is called after each of its steps. */
export class Panel {
  constructor(root, context, said, held = "") {
    Object.assign(this, { root, context, said, words: context.words });
    const choose = (value) => this.sayRest(value, "click", "");
    this.strip = new RestStrip(context, choose, () => this.enter(""), held);
    this.hint = el("p", { class: "hint" });
    this.ending = el("div", { class: "ending" }, this.strip.root, this.hint);
  }

  answer() {
    const payload = this.said.payload(this.rest());
    return this.repeats() ? { ...payload, repeated: true } : payload;
  }

  /** True if what holds for the rest is only what was said on the item before. */
  repeats() {
    return this.said.rest(null) === null && this.rest() !== null;
  }

  /** Say what is missing, or how to go on. */
  drawHint() {
    this.hint.textContent = this.problem() ?? this.context.texts.rest.ready;
  }

  problem() {
    return this.tell(this.said.missing(this.rest()));
  }

  draft() {
    return this.said.state;
  }

  restore(draft) {
    this.said.restore(draft);
    this.draw();
  }

  focus() {
    this.root.focus({ preventScroll: true });
  }

  /** What holds for the rest: what was said, or what is offered. */
  rest() {
    return this.said.rest(this.strip.offered);
  }

  /** The text of a refusal; null for none. */
  tell(refusal) {
    return refusal === null ? null : fill(this.words[refusal.refused], refusal.values);
  }

  /** Take a step of the answer, or say why not. */
  take(kind, code, step) {
    if (step.refused) {
      this.context.refuse(this.tell(step));
      return;
    }
    this.context.touched(step.field);
    this.context.log(kind, code, step.what);
    this.draw();
    this.context.changed();
    if (step.say) this.context.announce(this.spoken(...step.say));
    if (step.sends) this.#end();
  }

  spoken(name, values) {
    return fill(this.words[name], values);
  }

  /** The rest is the last thing said: if nothing else is missing, the answer goes. */
  sayRest(value, kind, code) {
    this.take(kind, code, this.said.sayRest(value));
    const missing = this.said.missing(value);
    if (missing !== null) this.context.refuse(this.tell(missing));
    else {
      if (this.others() !== 0) this.strip.remember(value);
      this.#end();
    }
  }

  /** Nothing is missing: the answer goes, unless it would replace another, which waits for Save. */
  #end() {
    if (!this.context.revising) this.send();
  }

  /** How many labels the rest is about; null if nobody counts. */
  others() {
    return this.said.others().length;
  }

  /** Enter: send what is there, with the rest as it is offered. */
  enter(code) {
    const missing = this.said.missing(this.rest());
    if (missing !== null) {
      this.context.refuse(this.tell(missing));
      return;
    }
    if (this.repeats()) this.context.log("remembered", code, `rest:${this.rest()}`);
    this.send();
  }

  send() {
    this.context.submit();
  }

  undo() {
    if (!this.said.undo()) return false;
    this.context.log("undo", "", "");
    this.draw();
    this.context.changed();
    return true;
  }

  /** The keys that end an answer: one about the rest, or Enter and Space where they are free. */
  endingKey(event) {
    const rest = this.strip.ofKey(event);
    const enters = plain(event) && SENDING.includes(event.code) && !pressing(event);
    if (rest === null && !enters) return false;
    if (!event.repeat && rest !== null) this.sayRest(rest, "key", event.code);
    else if (!event.repeat) this.enter(event.code);
    return true;
  }
}

/** True for Backspace and Ctrl+Z outside of text. */
export function isUndo(event) {
  if (plain(event)) return event.code === "Backspace" && !event.shiftKey;
  return (event.ctrlKey || event.metaKey) && !event.altKey && letterOf(event) === "Z";
}

/** "14 of 20", in words. */
export function outOf(texts, n, whole) {
  return fill(texts.out_of, { n, whole });
}
