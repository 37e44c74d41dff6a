// Which key was meant, on any keyboard layout; and the keys and clicks of the whole page.

import { isOpen } from "./dom.js";
import { enlarge, togglePlay } from "./media.js";

/** The digit of a key event, by place on the keyboard (so that AZERTY works), or null. */
export function digitOf(event) {
  const found = /^(Digit|Numpad)([0-9])$/.exec(event.code);
  if (!found || (found[1] === "Numpad" && !/^[0-9]$/.test(event.key))) return null;
  return Number(found[2]);
}

/** The Latin letter of a key event as printed on the key, by place on other alphabets; or null. */
export function letterOf(event) {
  if (/^[a-z]$/i.test(event.key)) return event.key.toUpperCase();
  if (/^[\x20-\x7f]$/.test(event.key)) return null;
  const found = /^Key([A-Z])$/.exec(event.code);
  return found && event.key.length === 1 ? found[1] : null;
}

/** True if the event belongs to a field in which people write. */
export function typing(event) {
  const target = event.target;
  if (!(target instanceof HTMLElement)) return false;
  if (target.isContentEditable || target.matches("textarea, select")) return true;
  return target.matches("input:not([type=radio]):not([type=checkbox])");
}

/** True if Enter and Space already mean something where the focus is. */
export function pressing(event) {
  return (
    event.target instanceof HTMLElement &&
    event.target.closest("button, a, summary, audio, video") !== null
  );
}

/** True without Ctrl, Alt or Meta; Shift is left to the caller. */
export function plain(event) {
  return !event.ctrlKey && !event.altKey && !event.metaKey;
}

/** What to type for each of `count` labels: one digit up to ten, equally long numbers beyond. */
export function labelKeys(count) {
  const width = count <= 10 ? 1 : String(count).length;
  return Array.from({ length: count }, (_, i) =>
    width === 1 ? String((i + 1) % 10) : String(i + 1).padStart(width, "0"),
  );
}

// the whole page: first the mode, then the page, and slips do nothing ---------------------

const BOUNCE = 200; // within this time the key that sent an answer is not meant for the next item

/** `task` has `busy`, `held`, `shownAt`, `submitted`, `mode` and what the keys of the page do. */
export class PageKeys {
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
    if (task.side?.holds(event)) return;
    const slip = event.code === this.sentBy && performance.now() - task.shownAt < BOUNCE;
    if (task.busy || task.held || slip) {
      if (!typing(event) && event.code !== "Tab" && plain(event)) event.preventDefault();
      return;
    }
    const before = task.submitted;
    if (this.#panelKey(event)) {
      event.preventDefault();
      return;
    }
    if (event.target.id === "comment") return this.#commentKey(event);
    if (task.mode?.key(event) || this.#pageKey(event)) event.preventDefault();
    this.sentBy = task.submitted === before ? null : event.code;
  }

  /** Escape closes what is open; with Alt, I works where people type as well. */
  #panelKey(event) {
    if (event.repeat || event.ctrlKey || event.metaKey) return false;
    if (event.code === "Escape") return this.task.dismiss();
    if (!event.altKey || event.code !== "KeyI") return false;
    this.task.turn("instructions");
    return true;
  }

  /** In a comment, keys write; Ctrl and Enter go on, Escape goes back to the answer. */
  #commentKey(event) {
    const { task } = this;
    if (event.code === "Enter" && (event.ctrlKey || event.metaKey)) task.submit();
    else if (event.code === "Escape") task.mode?.focus();
    else return;
    event.preventDefault();
  }

  #pageKey(event) {
    const { task } = this;
    if (!plain(event) || event.repeat) return false;
    // a number that is being written is left by Escape, not the whole change
    if (event.code === "Escape" && !event.target.matches("input.count")) return task.keep();
    if (typing(event)) return false;
    if (event.key === "?") task.help();
    else if (event.shiftKey) return false;
    else if (event.code === "Backspace") return task.previous();
    else if (letterOf(event) === "S") task.skip();
    else if (letterOf(event) === "I") task.turn("instructions");
    else if (letterOf(event) === "P") return togglePlay(document);
    else if (letterOf(event) === "F") return enlarge(document);
    else return false;
    return true;
  }

  /** The second click of a double click that already sent an answer means nothing here. */
  #click(event) {
    this.sentBy = null;
    const slip = event.detail > 1 && performance.now() - this.task.shownAt < 2 * BOUNCE;
    if (!this.task.busy && !this.task.held && !slip) return;
    event.preventDefault();
    event.stopPropagation();
  }
}
