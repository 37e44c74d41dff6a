// chips: a fixed number of chips to lay on the labels, by key, by button, by dragging or by number.

import { button, el, fill, key, nameOf, once, update } from "/static/dom.js";
import { digitOf, letterOf, plain, typing } from "/static/keys.js";
import { isUndo, no, outOf, Panel, Said, without } from "/static/panel.js";
import { LabelPicker } from "/static/picker.js";
import { makeTrack, writeNumber } from "/static/track.js";

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
      el("h1", { id: "question", dir: "auto", text: question }),
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
    if (letterOf(event) === "A") this.take("key", event.code, this.said.layAll(label));
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
    const implied = said.implied();
    if (implied !== null) {
      this.left.textContent = fill(words.implied, { n: said.spare(), label: implied });
    } else {
      this.left.textContent =
        free === 0 ? words.all_laid : fill(words.left, { n: free, whole: said.n });
    }
    this.rows.forEach((row, place) => this.#drawRow(row, place === this.active));
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

  #drawRow(row, active) {
    const { said, words, context } = this;
    const [count, out, locked] = [
      said.of(row.label),
      said.isOut(row.label),
      said.isLocked(row.label),
    ];
    const share = (100 * count) / said.n;
    const spoken = out ? words.ruled_out : outOf(context.texts, count, said.n);
    const beside = count === 0 ? "" : fill(context.texts.percent, { n: Math.round(share) });
    const implied = row.label === said.implied();
    for (const [name, on] of Object.entries({ active, locked, excluded: out, implied })) {
      row.node.classList.toggle(name, on);
    }
    row.node.style.setProperty("--share", `${share}%`);
    update(row.track, {
      "aria-valuenow": count,
      "aria-valuemax": said.most(row.label),
      "aria-valuetext": `${row.label}, ${spoken}${locked ? `, ${words.lock}` : ""}`,
      tabindex: active ? 0 : -1,
    });
    update(row.count, { text: String(count), hidden: out });
    row.beside.textContent = out ? words.ruled_out : locked ? words.lock : beside;
    update(row.out, { "aria-pressed": out });
    update(row.less, { disabled: count === 0 || locked });
    update(row.more, { disabled: count === said.most(row.label) || locked });
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
      nameOf(context, label),
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
    const about = { value: this.said.of(label), label: fill(this.words.type_for, { label }) };
    writeNumber(count, about, (wanted) => {
      if (wanted !== null) this.take("typed", "", this.said.layAtMost(label, wanted));
      this.#activate(place, true);
    });
  }

  #dim(pending) {
    this.rows.forEach(({ node }, place) => {
      node.classList.toggle("dim", !this.picker.keys[place].startsWith(pending));
    });
  }
}

// the answer in the making -----------------------------------------------------------------

const BLANK = { chips: {}, excluded: [], locked: [], rest: null };

export class ChipsAnswer extends Said {
  constructor(labels, { n, allow_unallocated: mayKeepSome }) {
    super(BLANK);
    this.labels = labels;
    this.n = n;
    this.mayKeepSome = mayKeepSome;
    // of two labels, one has what the other leaves, unless chips may stay in the hand
    this.coupled = labels.length === 2 && !mayKeepSome;
  }

  of(label) {
    return label === this.implied() ? this.spare() : this.#laid(label);
  }

  #laid(label) {
    return Object.hasOwn(this.state.chips, label) ? this.state.chips[label] : 0;
  }

  /** The one of two labels that nobody has touched and that gets what the other one leaves. */
  implied() {
    const spare = this.spare();
    if (!this.coupled || spare === 0 || spare === this.n) return null;
    return this.labels.find((label) => this.#laid(label) === 0 && !this.isOut(label)) ?? null;
  }

  /** Chips that nobody has laid by hand. */
  spare() {
    return this.n - Object.values(this.state.chips).reduce((sum, count) => sum + count, 0);
  }

  /** Chips that are still to be laid. */
  free() {
    return this.implied() === null ? this.spare() : 0;
  }

  /** The most that a label can have. */
  most(label) {
    return this.coupled ? this.n : this.of(label) + this.free();
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
    if (wanted > this.most(label)) return no("none_left");
    return this.layAtMost(label, wanted);
  }

  /** The same, but as many as there are if there are too few. */
  layAtMost(label, wanted) {
    const fixed = [label, this.#moves(label)].find((one) => one !== null && this.isLocked(one));
    if (fixed !== undefined) return no("is_locked", { label: fixed });
    const free = this.free();
    const count = Math.max(0, Math.min(wanted, this.most(label)));
    const say = wanted > count ? ["only", { n: free }] : null;
    const other = this.#moves(label);
    const chips = { ...this.state.chips, [label]: count };
    if (other !== null) chips[other] = this.n - count;
    // chips say that a label is possible
    const excluded = without(this.state.excluded, label);
    return this.step("chips", `${label}:${count}`, { chips, excluded }, { say });
  }

  /** All that nobody has laid by hand. */
  layAll(label) {
    return this.lay(label, this.#laid(label) + this.spare());
  }

  /** The other one of two labels if its chips lie there by hand, so that they must move; or null. */
  #moves(label) {
    const other = this.labels.find((one) => one !== label);
    return this.coupled && this.#laid(other) > 0 ? other : null;
  }

  /** Rule a label out, or let it in again; its chips come back. */
  exclude(label) {
    const out = !this.isOut(label);
    const others = without(this.state.excluded, label);
    const chips = { ...this.state.chips, [label]: 0 };
    if (this.coupled && out) chips[this.labels.find((one) => one !== label)] = this.n;
    const changes = {
      excluded: out ? [...others, label] : others,
      chips,
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
