// Which key was meant, on any keyboard layout.

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
    event.target.closest("button, a, summary, audio") !== null
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
