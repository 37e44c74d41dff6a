// Keys and clicks of the whole page: first to the mode, then to the page, and slips to nobody.

import { isOpen } from "./dialogs.js";
import { letterOf, plain, typing } from "./keys.js";
import { togglePlay } from "./media.js";

const BOUNCE = 200; // within this time the key that sent an answer is not meant for the next item

/** `task` has `busy`, `shownAt`, `submitted`, `mode` and what the keys of the page do. */
export class Hands {
  constructor(task) {
    this.task = task;
    this.sentBy = null; // the key that sent the last answer
    document.addEventListener("keydown", (event) => this.#key(event), true);
    document.addEventListener("click", (event) => this.#click(event), true);
  }

  /** How long a new item is protected from slips. */
  static get patience() {
    return BOUNCE;
  }

  #key(event) {
    if (event.isComposing || isOpen()) return;
    const { task } = this;
    const slip = event.code === this.sentBy && performance.now() - task.shownAt < BOUNCE;
    if (task.busy || slip) {
      if (!typing(event) && event.code !== "Tab" && plain(event)) event.preventDefault();
      return;
    }
    const before = task.submitted;
    if (task.mode?.key(event) || this.#pageKey(event)) event.preventDefault();
    this.sentBy = task.submitted === before ? null : event.code;
  }

  #pageKey(event) {
    const { task } = this;
    if (typing(event) || !plain(event) || event.repeat) return false;
    if (event.key === "?") task.help();
    else if (event.shiftKey) return false;
    else if (event.code === "Backspace") return task.previous();
    else if (event.code === "Escape") return task.keep();
    else if (letterOf(event) === "S") task.skip();
    else if (letterOf(event) === "P") return togglePlay(document);
    else return false;
    return true;
  }

  /** The second click of a double click that already sent an answer means nothing here. */
  #click(event) {
    this.sentBy = null;
    const slip = event.detail > 1 && performance.now() - this.task.shownAt < 2 * BOUNCE;
    if (!this.task.busy && !slip) return;
    event.preventDefault();
    event.stopPropagation();
  }
}
