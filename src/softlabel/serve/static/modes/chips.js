// A fixed number of chips to lay on the labels, by key, by button, by dragging or by number.

import { ChipsAnswer } from "../answers/chips.js";
import { button, el, fill, key, once, update } from "../dom.js";
import { digitOf, LabelPicker, letterOf, plain, typing } from "../keys.js";
import { isUndo, outOf, Panel } from "../panel.js";
import { makeTrack } from "../track.js";

export function mount(root, context) {
  return new Chips(root, context);
}

class Chips extends Panel {
  constructor(root, context) {
    const said = new ChipsAnswer(context.labels, context.rules);
    super(root, context, said, context.texts.chips);
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
    const { chip, chip_back, chip_out, arrows, all, split, lock, rest, undo, submit } =
      this.context.texts.help;
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
    const title = fill(context.texts.quick.rule_out, { label });
    const exclude = once(() => this.take("click", "", said.exclude(label)));
    const small = (text) => ({ class: "step", "aria-label": fill(text, { label }) });
    const less = press(small(words.less), step(-1), "−");
    const more = press(small(words.more), step(1), "+");
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
