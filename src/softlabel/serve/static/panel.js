// What the panels of quick, chips and search have in common: steps, undo, and the rest at the end.

import { el, fill } from "./dom.js";
import { letterOf, plain, pressing } from "./keys.js";
import { RestStrip } from "./rest.js";

const SENDING = ["Enter", "NumpadEnter", "Space"];

/** A panel shows `said`, an answer in the making; `draw()` is called after each of its steps. */
export class Panel {
  constructor(root, context, said, words, held = "") {
    Object.assign(this, { root, context, said, words: { ...words, ...words[context.frame] } });
    this.strip = new RestStrip(context, (value) => this.sayRest(value, "click", ""), held);
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
    if (step.sends) this.send();
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
      this.send();
    }
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
