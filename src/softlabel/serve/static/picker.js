// Labels that are chosen by their numbers: one digit each, or several where there are many.

import { labelKeys } from "./keys.js";

/** Collects digits until they name a label. */
export class LabelPicker {
  constructor(count, onpending = () => {}) {
    this.keys = labelKeys(count);
    this.pending = "";
    this.onpending = onpending;
  }

  /** The place of the label that is now named, or null while digits are missing. */
  press(digit) {
    this.#wait(this.pending + digit);
    const place = this.keys.indexOf(this.pending);
    if (place < 0 && this.keys.some((name) => name.startsWith(this.pending))) return null;
    this.#wait("");
    return place < 0 ? null : place;
  }

  /** Forget half a number; false if there was none. */
  cancel() {
    const waiting = this.pending !== "";
    this.#wait("");
    return waiting;
  }

  #wait(pending) {
    this.pending = pending;
    this.onpending(pending);
  }
}
