// A fixed number of chips to lay on the labels; what is laid stays until the person moves it.

import { button, el, fill, key, update } from "../dom.js";
import { digitOf, LabelPicker, letterOf, plain, pressing, typing } from "../keys.js";
import { History, isUndo, outOf, RestStrip } from "../parts.js";

const BLANK = { chips: {}, excluded: [], locked: [], rest: null };

export function mount(root, context) {
  return new Chips(root, context);
}

class Chips {
  constructor(root, context) {
    Object.assign(this, { root, context, labels: context.labels, words: context.texts.chips });
    this.n = context.rules.n;
    this.history = new History(BLANK);
    this.active = 0;
    this.picker = new LabelPicker(this.labels.length, (pending) => this.#dim(pending));
    this.rows = this.labels.map((label, place) => this.#row(label, place));
    this.strip = new RestStrip(context, (value) => this.#rest(value, "click", ""));
    this.left = el("p", { class: "chips-left", role: "status", "aria-live": "polite" });
    root.append(
      el("h1", { id: "question", text: fill(this.words[context.frame], { n: this.n }) }),
      this.left,
      el(
        "div",
        { class: "chip-rows", role: "group", "aria-labelledby": "question" },
        ...this.rows.map((row) => row.node),
      ),
      this.strip.root,
    );
    this.#draw();
  }

  get state() {
    return this.history.state;
  }

  answer() {
    const chips = Object.fromEntries(
      this.labels.filter((l) => this.#of(l) > 0).map((l) => [l, this.#of(l)]),
    );
    return {
      n: this.n,
      chips,
      unallocated: this.#free(),
      excluded: this.state.excluded,
      rest: this.#standingRest(),
    };
  }

  problem() {
    return this.#missing(this.#standingRest());
  }

  draft() {
    return { ...this.state, active: this.active };
  }

  restore({ active = 0, ...state }) {
    this.history = new History({ ...BLANK, ...state });
    this.active = active;
    this.#draw();
  }

  focus() {
    this.root.focus({ preventScroll: true });
  }

  help() {
    const { help } = this.context.texts;
    return [
      help.chip,
      help.chip_back,
      help.chip_out,
      help.arrows,
      help.all,
      help.split,
      help.lock,
      help.rest,
      help.undo,
      help.submit,
    ];
  }

  key(event) {
    if (typing(event)) return false;
    if (isUndo(event)) return this.picker.cancel() || this.#undo();
    if (event.code === "Escape") return this.picker.cancel();
    const digit = digitOf(event);
    if (digit !== null && !event.ctrlKey && !event.metaKey) return this.#digit(digit, event);
    if (!plain(event)) return false;
    return this.#move(event) || this.#letter(event);
  }

  #digit(digit, event) {
    const place = this.picker.press(digit);
    if (place === null) return true;
    this.#activate(place);
    const label = this.labels[place];
    if (event.altKey) {
      if (!event.repeat) this.#exclude(label, "key", event.code);
    } else this.#set(label, this.#of(label) + (event.shiftKey ? -1 : 1), "key", event.code);
    return true;
  }

  #move(event) {
    const along = getComputedStyle(this.root).direction === "rtl" ? -1 : 1;
    const steps = { ArrowRight: along, ArrowLeft: -along, PageUp: 5, PageDown: -5 };
    if (event.code === "ArrowDown" || event.code === "ArrowUp") {
      const place = this.active + (event.code === "ArrowDown" ? 1 : -1);
      this.#activate(Math.max(0, Math.min(this.labels.length - 1, place)), true);
      return true;
    }
    if (!(event.code in steps)) return false;
    const label = this.labels[this.active];
    this.#set(
      label,
      this.#of(label) + steps[event.code],
      "key",
      event.code,
      Math.abs(steps[event.code]) > 1,
    );
    return true;
  }

  #letter(event) {
    const label = this.labels[this.active];
    const rest = this.strip.ofKey(event);
    if (rest !== null) {
      if (!event.repeat) this.#rest(rest, "key", event.code);
    } else if (letterOf(event) === "A")
      this.#set(label, this.#of(label) + this.#free(), "key", event.code);
    else if (letterOf(event) === "L") this.#lock(label, event.code);
    else if (event.key === "=") this.#split(event.code);
    else if (["Enter", "NumpadEnter", "Space"].includes(event.code) && !pressing(event)) {
      if (!event.repeat) this.#enter(event.code);
    } else return false;
    return true;
  }

  // what a person can do -------------------------------------------------------------------

  /** Lay so many chips on a label; never more than are free, never fewer than none. */
  #set(label, wanted, kind, code, cap = kind === "drag" || kind === "typed") {
    const held = this.#of(label);
    const most = held + this.#free();
    if (this.state.locked.includes(label))
      return this.#refuse(fill(this.words.is_locked, { label }));
    if (wanted > most && !cap) return this.#refuse(this.words.none_left);
    const count = Math.max(0, Math.min(wanted, most));
    if (wanted > most) this.context.announce(fill(this.words.only, { n: this.#free() }));
    if (count === held) return undefined;
    // chips say that a label is possible
    const excluded = this.state.excluded.filter((other) => other !== label);
    const chips = { ...this.state.chips, [label]: count };
    return this.#change("chips", { chips, excluded }, kind, code, `${label}:${count}`);
  }

  #exclude(label, kind, code) {
    const out = this.state.excluded.includes(label);
    const excluded = out
      ? this.state.excluded.filter((l) => l !== label)
      : [...this.state.excluded, label];
    const locked = this.state.locked.filter((l) => l !== label);
    const chips = { ...this.state.chips, [label]: 0 };
    this.#change(
      "excluded",
      { excluded, chips, locked },
      kind,
      code,
      `${out ? "possible" : "ruled out"}:${label}`,
    );
    this.context.announce(fill(out ? this.words.back_in : this.words.out, { label }));
  }

  #lock(label, code) {
    const on = !this.state.locked.includes(label);
    const locked = on
      ? [...this.state.locked, label]
      : this.state.locked.filter((l) => l !== label);
    this.#change("chips", { locked }, "key", code, `${on ? "lock" : "unlock"}:${label}`);
    this.context.announce(fill(on ? this.words.locked : this.words.unlocked, { label }));
  }

  /** The free chips in equal parts; what does not divide stays free, for nobody's advantage. */
  #split(code) {
    const open = this.labels.filter(
      (l) => !this.state.excluded.includes(l) && !this.state.locked.includes(l),
    );
    const each = open.length === 0 ? 0 : Math.floor(this.#free() / open.length);
    if (each === 0) return this.#refuse(this.words.too_few);
    const added = Object.fromEntries(open.map((label) => [label, this.#of(label) + each]));
    return this.#change(
      "chips",
      { chips: { ...this.state.chips, ...added } },
      "key",
      code,
      `split:${each}`,
    );
  }

  #rest(value, kind, code) {
    this.#change("rest", { rest: value }, kind, code, `rest:${value}`);
    const missing = this.#missing(value);
    if (missing !== null) return this.#refuse(missing);
    if (this.#others().length > 0) this.strip.remember(value);
    return this.context.submit();
  }

  #enter(code) {
    const rest = this.#standingRest();
    const missing = this.#missing(rest);
    if (missing !== null) return this.#refuse(missing);
    if (this.state.rest === null && this.#others().length > 0)
      this.context.log("remembered", code, `rest:${rest}`);
    return this.context.submit();
  }

  #undo() {
    if (!this.history.undo()) return false;
    this.context.log("undo", "", "");
    this.#draw();
    this.context.changed();
    return true;
  }

  #change(field, changes, kind, code, what) {
    this.history.change(changes);
    this.context.touched(field);
    this.context.log(kind, code, what);
    this.#draw();
    this.context.changed();
  }

  #refuse(text) {
    this.context.refuse(text);
  }

  // what follows from it -------------------------------------------------------------------

  #of(label) {
    return this.state.chips[label] ?? 0;
  }

  #free() {
    return this.n - Object.values(this.state.chips).reduce((sum, count) => sum + count, 0);
  }

  #others() {
    return this.labels.filter(
      (label) => this.#of(label) === 0 && !this.state.excluded.includes(label),
    );
  }

  #standingRest() {
    return this.strip.standing(this.state.rest, this.#others().length);
  }

  #missing(rest) {
    const free = this.#free();
    if (free === this.n) return this.words.say_chips;
    if (free > 0 && !this.context.rules.allow_unallocated)
      return fill(this.words.say_more, { n: free });
    if (rest === null) return this.words.say_rest;
    const open = rest !== "ruled_out" && this.#others().length > 0;
    return free > 0 && !open ? fill(this.words.say_open, { n: free }) : null;
  }

  // drawing --------------------------------------------------------------------------------

  #draw() {
    const free = this.#free();
    this.left.textContent =
      free === 0 ? this.words.all_laid : fill(this.words.left, { n: free, whole: this.n });
    this.rows.forEach((row, place) => this.#drawRow(row, place, free));
    this.strip.root.classList.toggle("early", free > 0);
    this.strip.show({ others: this.#others().length, chosen: this.state.rest });
  }

  #drawRow(row, place, free) {
    const count = this.#of(row.label);
    const out = this.state.excluded.includes(row.label);
    const locked = this.state.locked.includes(row.label);
    row.node.className = `chip-row${out ? " excluded" : ""}${locked ? " locked" : ""}${place === this.active ? " active" : ""}`;
    row.node.style.setProperty("--share", `${(100 * count) / this.n}%`);
    const said = out ? this.words.ruled_out : outOf(this.context.texts, count, this.n);
    update(row.track, {
      "aria-valuenow": count,
      "aria-valuemax": count + free,
      "aria-valuetext": `${row.label}, ${said}${locked ? `, ${this.words.lock}` : ""}`,
      tabindex: place === this.active ? 0 : -1,
    });
    row.count.textContent = String(count);
    row.count.hidden = out;
    const share =
      count === 0
        ? ""
        : fill(this.context.texts.percent, { n: Math.round((100 * count) / this.n) });
    row.percent.textContent = out ? this.words.ruled_out : locked ? this.words.lock : share;
    row.out.setAttribute("aria-pressed", String(out));
    row.less.disabled = count === 0 || locked;
    row.more.disabled = free === 0 || locked;
  }

  #activate(place, focus = false) {
    this.active = place;
    this.#draw();
    if (focus || this.root.contains(document.activeElement))
      this.rows[place].track.focus({ preventScroll: !focus });
  }

  #row(label, place) {
    const { words } = this;
    const small = { tabindex: -1 }; // the keyboard does all this from the bar itself
    const step = (by) => () =>
      this.#touch(place, () => this.#set(label, this.#of(label) + by, "click", ""));
    const name = button(
      { class: "label", ...small, title: words.one_more },
      step(1),
      key(this.picker.keys[place]),
      el("span", { class: "name" }, el("bdi", { text: label })),
    );
    const track = el(
      "div",
      { class: "track", role: "spinbutton", "aria-label": label, "aria-valuemin": 0, tabindex: -1 },
      el("div", { class: "bar" }),
      this.#cells(),
    );
    const count = button(
      {
        class: "count",
        ...small,
        title: words.type,
        "aria-label": fill(words.type_for, { label }),
      },
      () => this.#type(place),
    );
    const percent = el("small", { class: "percent" });
    const less = button(
      { class: "step", ...small, "aria-label": fill(words.less, { label }) },
      step(-1),
      "−",
    );
    const more = button(
      { class: "step", ...small, "aria-label": fill(words.more, { label }) },
      step(1),
      "+",
    );
    const outTitle = fill(this.context.texts.quick.rule_out, { label });
    const out = button(
      { class: "out", ...small, "aria-label": outTitle, title: outTitle },
      () => this.#touch(place, () => this.#exclude(label, "click", "")),
      "✕",
    );
    const node = el(
      "div",
      { class: "chip-row" },
      name,
      track,
      el("div", { class: "amount" }, count, percent),
      el("div", { class: "steps" }, less, more, out),
    );
    this.#drag(track, label, place);
    track.addEventListener("focus", () => this.active === place || this.#activate(place));
    return { label, node, track, count, percent, less, more, out };
  }

  /** Lines between the chips; between every five where there are too many to see. */
  #cells() {
    const count = this.n > 50 ? this.n / 5 : this.n;
    return el("div", { class: "cells" }, ...Array.from({ length: count }, () => el("span")));
  }

  #touch(place, action) {
    this.active = place;
    action();
    this.#draw();
  }

  /** Press or drag along the bar to set it. */
  #drag(track, label, place) {
    const at = (event) => {
      const box = track.getBoundingClientRect();
      const rtl = getComputedStyle(track).direction === "rtl";
      const part = (rtl ? box.right - event.clientX : event.clientX - box.left) / box.width;
      return Math.max(0, Math.min(this.n, part <= 0.25 / this.n ? 0 : Math.ceil(part * this.n)));
    };
    track.addEventListener("pointerdown", (event) => {
      if (event.button !== 0) return;
      track.setPointerCapture(event.pointerId);
      this.#touch(place, () => this.#set(label, at(event), "drag", ""));
      event.preventDefault();
    });
    track.addEventListener("pointermove", (event) => {
      if (track.hasPointerCapture(event.pointerId)) this.#set(label, at(event), "drag", "");
    });
  }

  /** Write the number instead. */
  #type(place) {
    const row = this.rows[place];
    const box = el("input", {
      class: "count",
      inputmode: "numeric",
      size: 3,
      maxlength: 3,
      value: this.#of(row.label),
      "aria-label": fill(this.words.type_for, { label: row.label }),
    });
    let open = true;
    const close = (keep) => {
      if (!open) return;
      open = false;
      const wanted = Number(box.value.trim());
      box.replaceWith(row.count);
      if (keep && box.value.trim() !== "" && Number.isInteger(wanted))
        this.#set(row.label, wanted, "typed", "");
      this.#activate(place, true);
    };
    box.addEventListener("blur", () => close(true));
    box.addEventListener("keydown", (event) => {
      if (event.code === "Enter" || event.code === "NumpadEnter" || event.code === "Escape") {
        event.preventDefault();
        event.stopPropagation();
        close(event.code !== "Escape");
      }
    });
    row.count.replaceWith(box);
    box.select();
    box.focus();
  }

  #dim(pending) {
    this.rows?.forEach((row, place) =>
      row.node.classList.toggle("dim", !this.picker.keys[place].startsWith(pending)),
    );
  }
}
