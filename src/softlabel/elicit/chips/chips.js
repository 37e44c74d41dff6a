// chips: a fixed number of chips to lay on the labels, by key, by button, by dragging or by number.

import { button, el, fill, key, once, update } from "/static/dom.js";
import { digitOf, LabelPicker, letterOf, plain, typing } from "/static/keys.js";
import { isUndo, no, outOf, Panel, Said, without } from "/static/panel.js";

export function mount(root, context) {
  return new Chips(root, context);
}

class Chips extends Panel {
  constructor(root, context) {
    const said = new ChipsAnswer(context.labels, context.rules);
    super(root, context, said);
    this.active = 0; // the label that arrows and letters are about
    this.picker = new LabelPicker(said.labels.length, (pending) => this.#dim(pending));
    this.rows = said.labels.map((label, place) => this.#row(label, place));
    this.left = el("p", { class: "chips-left", role: "status" });
    const question = fill(this.words.question, { n: said.n });
    root.append(
      el("h1", { id: "question", text: question }),
      this.left,
      el(
        "div",
        { class: "chip-rows", role: "group", "aria-labelledby": "question" },
        ...this.rows.map((row) => row.node),
      ),
      this.ending,
    );
    this.draw();
  }

  draft() {
    return { ...this.said.state, active: this.active };
  }

  restore({ active = 0, ...state }) {
    this.active = active;
    super.restore(state);
  }

  help() {
    const { chip, chip_back, chip_out, arrows, all, split, lock } = this.words.help;
    const { rest, undo, submit } = this.context.texts.help;
    return [chip, chip_back, chip_out, arrows, all, split, lock, rest, undo, submit];
  }

  // keys -----------------------------------------------------------------------------------

  key(event) {
    if (typing(event)) return false;
    if (isUndo(event)) return this.picker.cancel() || this.undo();
    if (event.code === "Escape") return this.picker.cancel();
    const digit = digitOf(event);
    if (digit !== null && !event.ctrlKey && !event.metaKey) return this.#digit(digit, event);
    if (!plain(event)) return false;
    return this.#arrow(event) || this.#letter(event) || this.endingKey(event);
  }

  #digit(digit, event) {
    const place = this.picker.press(digit);
    if (place === null) return true;
    this.#activate(place);
    const label = this.said.labels[place];
    if (!event.altKey) this.#add(label, event.shiftKey ? -1 : 1, "key", event.code);
    else if (!event.repeat) this.take("key", event.code, this.said.exclude(label));
    return true;
  }

  #arrow(event) {
    const label = this.said.labels[this.active];
    const along = getComputedStyle(this.root).direction === "rtl" ? -1 : 1;
    const by = { ArrowRight: along, ArrowLeft: -along }[event.code];
    const jump = { PageUp: 5, PageDown: -5 }[event.code];
    const walk = { ArrowDown: 1, ArrowUp: -1 }[event.code];
    if (by) this.#add(label, by, "key", event.code);
    else if (jump) {
      this.take("key", event.code, this.said.layAtMost(label, this.said.of(label) + jump));
    } else if (walk) {
      const last = this.rows.length - 1;
      this.#activate(Math.max(0, Math.min(last, this.active + walk)), true);
    } else return false;
    return true;
  }

  #letter(event) {
    const label = this.said.labels[this.active];
    if (letterOf(event) === "A") this.#add(label, this.said.free(), "key", event.code);
    else if (letterOf(event) === "L") this.take("key", event.code, this.said.lock(label));
    else if (event.key === "=") this.take("key", event.code, this.said.split());
    else return false;
    return true;
  }

  #add(label, by, kind, code) {
    this.take(kind, code, this.said.lay(label, this.said.of(label) + by));
  }

  /** Make a label the one that keys are about; a focus that is here already goes with it. */
  #activate(place, focus = false) {
    this.active = place;
    this.draw();
    if (focus || this.root.contains(document.activeElement)) {
      this.rows[place].track.focus({ preventScroll: true });
      this.rows[place].node.scrollIntoView({ block: "nearest" });
    }
  }

  // drawing --------------------------------------------------------------------------------

  draw() {
    const { said, words } = this;
    const free = said.free();
    this.left.textContent =
      free === 0 ? words.all_laid : fill(words.left, { n: free, whole: said.n });
    this.rows.forEach((row, place) => this.#drawRow(row, place === this.active, free));
    const two = said.labels.length === 2;
    this.strip.show({
      others: said.others().length,
      chosen: said.state.rest,
      share: said.mayKeepSome && free > 0 ? Math.round((100 * free) / said.n) : null,
      only: two ? said.rest(null) : null,
      early: !said.isLaid() && (two || said.state.rest === null),
    });
    this.drawHint();
  }

  #drawRow(row, active, free) {
    const { said, words, context } = this;
    const [count, out, locked] = [
      said.of(row.label),
      said.isOut(row.label),
      said.isLocked(row.label),
    ];
    const share = (100 * count) / said.n;
    const spoken = out ? words.ruled_out : outOf(context.texts, count, said.n);
    const beside = count === 0 ? "" : fill(context.texts.percent, { n: Math.round(share) });
    for (const [name, on] of Object.entries({ active, locked, excluded: out })) {
      row.node.classList.toggle(name, on);
    }
    row.node.style.setProperty("--share", `${share}%`);
    update(row.track, {
      "aria-valuenow": count,
      "aria-valuemax": count + free,
      "aria-valuetext": `${row.label}, ${spoken}${locked ? `, ${words.lock}` : ""}`,
      tabindex: active ? 0 : -1,
    });
    update(row.count, { text: String(count), hidden: out });
    row.beside.textContent = out ? words.ruled_out : locked ? words.lock : beside;
    update(row.out, { "aria-pressed": out });
    update(row.less, { disabled: count === 0 || locked });
    update(row.more, { disabled: free === 0 || locked });
  }

  #row(label, place) {
    const { said, words, context } = this;
    // the keyboard does all this from the bar itself, so these are no stops on its way
    const press = (options, action, ...content) =>
      button(
        { tabindex: -1, ...options },
        (event) => this.#press(place, () => action(event)),
        ...content,
      );
    const step = (by) => () => this.#add(label, by, "click", "");
    const name = press(
      { class: "label", title: words.one_more },
      step(1),
      key(this.picker.keys[place]),
      el("span", { class: "name" }, el("bdi", { text: label })),
    );
    const lay = (count) =>
      this.#press(place, () => this.take("drag", "", said.layAtMost(label, count)));
    const track = makeTrack(label, said.n, () => said.of(label), lay);
    track.addEventListener("focus", () => this.active === place || this.#activate(place));
    const type = {
      class: "count",
      title: words.type,
      "aria-label": fill(words.type_for, { label }),
    };
    const count = button({ tabindex: -1, ...type }, () => this.#type(place));
    const title = fill(context.texts.rule_out, { label });
    const exclude = once(() => this.take("click", "", said.exclude(label)));
    const small = (text) => ({ class: "step", "aria-label": fill(text, { label }) });
    const less = press(small(context.texts.less), step(-1), "−");
    const more = press(small(context.texts.more), step(1), "+");
    const out = press({ class: "out", "aria-label": title, title }, exclude, "✕");
    const beside = el("small", { class: "percent" });
    const amount = el("div", { class: "amount" }, count, beside);
    const steps = el("div", { class: "steps" }, less, more, out);
    const node = el("div", { class: "chip-row" }, name, track, amount, steps);
    return { label, node, track, count, beside, less, more, out };
  }

  #press(place, action) {
    this.active = place;
    action();
    this.draw();
  }

  /** Write the number instead. */
  #type(place) {
    const { label, count } = this.rows[place];
    const box = el("input", {
      class: "count",
      inputmode: "numeric",
      size: 3,
      maxlength: 3,
      value: this.said.of(label),
      "aria-label": fill(this.words.type_for, { label }),
    });
    let open = true;
    const close = (keep) => {
      if (!open) return;
      open = false; // taking the box away blurs it, which would come here again
      const text = box.value.trim();
      box.replaceWith(count);
      const wanted = /^\d+$/.test(text) ? Number(text) : null;
      if (keep && wanted !== null) this.take("typed", "", this.said.layAtMost(label, wanted));
      this.#activate(place, true);
    };
    box.addEventListener("blur", () => close(true));
    box.addEventListener("keydown", (event) => {
      if (!["Enter", "NumpadEnter", "Escape"].includes(event.code)) return;
      event.preventDefault();
      event.stopPropagation();
      close(event.code !== "Escape");
    });
    count.replaceWith(box);
    box.focus();
    box.select();
  }

  #dim(pending) {
    this.rows.forEach(({ node }, place) => {
      node.classList.toggle("dim", !this.picker.keys[place].startsWith(pending));
    });
  }
}

// a bar that is set by pressing or dragging along it; keys are left to the panel ------------

const MOST_CELLS = 50; // with more chips than this a line stands for five

/** `count()` says how many chips lie here, `lay(n)` is called with how many are wanted. */
export function makeTrack(label, n, count, lay) {
  const cells = Array.from({ length: n > MOST_CELLS ? n / 5 : n }, () => el("span"));
  const track = el(
    "div",
    { class: "track", role: "spinbutton", "aria-label": label, "aria-valuemin": 0, tabindex: -1 },
    el("div", { class: "bar" }),
    el("div", { class: "cells" }, ...cells),
  );
  const follow = (event) => {
    const wanted = wantedAt(track, n, event.clientX);
    if (wanted !== count()) lay(wanted);
  };
  track.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    track.setPointerCapture(event.pointerId);
    follow(event);
    event.preventDefault();
  });
  track.addEventListener("pointermove", (event) => {
    if (track.hasPointerCapture(event.pointerId)) follow(event);
  });
  return track;
}

/** The number of chips that reach up to this place; the very beginning is none. */
function wantedAt(track, n, x) {
  const box = track.getBoundingClientRect();
  const rtl = getComputedStyle(track).direction === "rtl";
  const part = (rtl ? box.right - x : x - box.left) / box.width;
  return part <= 0.25 / n ? 0 : Math.min(n, Math.ceil(part * n));
}

// the answer in the making -----------------------------------------------------------------

const BLANK = { chips: {}, excluded: [], locked: [], rest: null };

export class ChipsAnswer extends Said {
  constructor(labels, { n, allow_unallocated: mayKeepSome }) {
    super(BLANK);
    this.labels = labels;
    this.n = n;
    this.mayKeepSome = mayKeepSome;
  }

  of(label) {
    return Object.hasOwn(this.state.chips, label) ? this.state.chips[label] : 0;
  }

  /** Chips that are not laid yet. */
  free() {
    return this.n - Object.values(this.state.chips).reduce((sum, count) => sum + count, 0);
  }

  /** Labels without chips that were not ruled out one by one. */
  others() {
    return this.labels.filter((label) => this.of(label) === 0 && !this.isOut(label));
  }

  isOut(label) {
    return this.state.excluded.includes(label);
  }

  isLocked(label) {
    return this.state.locked.includes(label);
  }

  /** Of two labels nothing is asked: what the chips leave is for the other one. */
  rest(offered) {
    if (this.others().length === 0) return "ruled_out";
    if (this.labels.length === 2) return this.free() > 0 ? "possible" : "ruled_out";
    return this.state.rest ?? offered;
  }

  /** True once the chips are laid, so that only the labels without chips are left to speak of. */
  isLaid() {
    const free = this.free();
    return free === 0 || (this.mayKeepSome && free < this.n);
  }

  payload(rest) {
    const laid = this.labels.filter((label) => this.of(label) > 0);
    const chips = Object.fromEntries(laid.map((label) => [label, this.of(label)]));
    return { n: this.n, chips, unallocated: this.free(), excluded: this.state.excluded, rest };
  }

  missing(rest) {
    const free = this.free();
    if (free === this.n) return no("say_chips");
    if (free > 0 && !this.mayKeepSome) return no("say_more", { n: free });
    if (rest === null) return no("say_rest");
    const open = rest !== "ruled_out" && this.others().length > 0;
    return free > 0 && !open ? no("say_open", { n: free }) : null;
  }

  /** Lay so many on a label: never more than are free, and never any that lie elsewhere. */
  lay(label, wanted) {
    const most = this.of(label) + this.free();
    if (wanted > most) return no("none_left");
    return this.layAtMost(label, wanted);
  }

  /** The same, but as many as there are if there are too few. */
  layAtMost(label, wanted) {
    if (this.isLocked(label)) return no("is_locked", { label });
    const free = this.free();
    const count = Math.max(0, Math.min(wanted, this.of(label) + free));
    const say = wanted > count ? ["only", { n: free }] : null;
    // chips say that a label is possible
    const excluded = without(this.state.excluded, label);
    const chips = { ...this.state.chips, [label]: count };
    return this.step("chips", `${label}:${count}`, { chips, excluded }, { say });
  }

  /** Rule a label out, or let it in again; its chips come back. */
  exclude(label) {
    const out = !this.isOut(label);
    const others = without(this.state.excluded, label);
    const changes = {
      excluded: out ? [...others, label] : others,
      chips: { ...this.state.chips, [label]: 0 },
      locked: without(this.state.locked, label),
    };
    const say = [out ? "out" : "back_in", { label }];
    return this.step("excluded", `${out ? "ruled out" : "possible"}:${label}`, changes, { say });
  }

  lock(label) {
    const on = !this.isLocked(label);
    const others = without(this.state.locked, label);
    const locked = on ? [...others, label] : others;
    const say = [on ? "locked" : "unlocked", { label }];
    return this.step("chips", `${on ? "lock" : "unlock"}:${label}`, { locked }, { say });
  }

  /** The free chips in equal parts; what does not divide stays free, for nobody's advantage. */
  split() {
    const open = this.labels.filter((label) => !this.isOut(label) && !this.isLocked(label));
    const each = open.length === 0 ? 0 : Math.floor(this.free() / open.length);
    if (each === 0) return no("too_few");
    const added = Object.fromEntries(open.map((label) => [label, this.of(label) + each]));
    return this.step("chips", `split:${each}`, { chips: { ...this.state.chips, ...added } });
  }
}
