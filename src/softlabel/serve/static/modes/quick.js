// The most likely label, how sure, what else it could be, and one word about the rest.

import { preview, QuickAnswer } from "../answers/quick.js";
import { button, el, fill, key, once, update } from "../dom.js";
import { digitOf, LabelPicker, letterOf, plain, typing } from "../keys.js";
import { isUndo, Panel } from "../panel.js";

const LEVEL_KEYS = ["Q", "W", "E", "R", "T"];
const LEVEL_WORDS = [50, 70, 90, 100]; // from which chance on the next word of certainty is used

export function mount(root, context) {
  return new Quick(root, context);
}

class Quick extends Panel {
  constructor(root, context) {
    const said = new QuickAnswer(context.labels, context.rules);
    super(root, context, said, context.texts.quick);
    this.picker = new LabelPicker(said.labels.length, (pending) => this.#dim(pending));
    this.rows = said.labels.map((label, place) => this.#row(label, place));
    this.levels = said.chances.map((chance, i) => this.#level(chance, i + 1));
    this.hint.setAttribute("role", "status");
    const group = (name, heading) => ({ class: name, role: "group", "aria-labelledby": heading });
    root.append(
      el("h1", { id: "question", text: this.words.question }),
      el("div", group("labels", "question"), ...this.rows.map((row) => row.node)),
      el("h2", { id: "certainty-heading", text: this.words.certainty }),
      el("div", group("levels", "certainty-heading"), ...this.levels),
      this.ending,
    );
    this.draw();
  }

  help() {
    const { labels, labels_twice, certainty, rule_out, rest, undo, submit } =
      this.context.texts.help;
    return [labels, labels_twice, certainty, rule_out, rest, undo, submit];
  }

  key(event) {
    if (typing(event)) return false;
    if (isUndo(event)) return this.picker.cancel() || this.undo();
    if (event.code === "Escape") return this.picker.cancel();
    if (!plain(event)) return false;
    const digit = digitOf(event);
    if (digit !== null) return this.#digit(digit, event);
    return this.#levelKey(event) || this.endingKey(event);
  }

  #digit(digit, event) {
    const place = event.repeat ? null : this.picker.press(digit);
    if (place === null) return true;
    const label = this.said.labels[place];
    if (event.shiftKey) this.take("key", event.code, this.said.exclude(label));
    else if (label !== this.said.state.top) this.#choose("key", event.code, label);
    else this.take("key", event.code, this.said.sayCertainty(this.said.certain)); // pressed twice
    return true;
  }

  #levelKey(event) {
    const level = LEVEL_KEYS.indexOf(letterOf(event)) + 1;
    if (event.shiftKey || level < 1 || level > this.levels.length) return false;
    if (!event.repeat) this.take("key", event.code, this.said.sayCertainty(level));
    return true;
  }

  /** A later click takes back, as on any button that stays down; only a key says "certain". */
  #click(label) {
    if (label === this.said.state.top) this.take("click", "", this.said.unchoose());
    else this.#choose("click", "", label);
  }

  /** After the first label comes the certainty: on a phone with many labels it lies further down. */
  #choose(how, code, label) {
    this.take(how, code, this.said.choose(label));
    if (this.said.state.top !== label || this.said.state.certainty !== null) return;
    const show = () => this.levels[0].parentElement.scrollIntoView({ block: "nearest" });
    requestAnimationFrame(() => requestAnimationFrame(show)); // once the hint has its new height
  }

  spoken(name, values) {
    const level = values.chance === undefined ? "" : this.#word(values.chance);
    return super.spoken(name, { ...values, level });
  }

  #word(chance) {
    return this.words.levels[LEVEL_WORDS.filter((from) => chance >= from).length];
  }

  /** Even a guess is as good as chance: with two labels 40 in 100 is read as 50. */
  #least(chance) {
    return Math.max(chance, Math.round(100 / this.said.labels.length));
  }

  // drawing --------------------------------------------------------------------------------

  draw() {
    const { state, certain, chances } = this.said;
    const others = this.said.others();
    const shares = preview({ ...state, rest: this.rest() }, others, chances);
    const left = preview({ ...state, rest: "possible" }, others, chances);
    const ofOthers = others.reduce((sum, label) => sum + (left.get(label) ?? 0), 0);
    for (const row of this.rows) this.#drawRow(row, shares.get(row.label) ?? null);
    this.levels.forEach((made, i) => {
      const contradicts = i + 1 === certain && state.alternatives.length > 0;
      update(made, {
        "aria-pressed": state.certainty === i + 1,
        "aria-disabled": contradicts ? "true" : null,
      });
    });
    const alone = state.top !== null && state.alternatives.length === 0;
    const count = state.top === null ? this.said.labels.length - 1 : others.length;
    this.strip.show({
      others: count,
      chosen: state.rest,
      refused: alone ? ["ruled_out", "unsaid"] : [],
      share: this.said.inDoubt() ? rounded(ofOthers) : null,
      only: this.said.spreads() ? "possible" : null,
      early: !this.said.inDoubt() && state.rest === null,
    });
    this.drawHint();
  }

  /** Beside what is missing: what cannot be seen, that a label can be taken back. */
  drawHint() {
    const { top, certainty, alternatives } = this.said.state;
    if (this.said.spreads()) this.hint.textContent = this.words.or_alternative;
    else super.drawHint();
    if (top === null || certainty !== null || alternatives.length > 0) return;
    this.hint.textContent += ` ${fill(this.words.take_back, { label: top })}`;
  }

  #drawRow(row, share) {
    const { kind, text } = this.#mark(row.label);
    const named = kind === "top" || kind === "alternative";
    row.node.className = `label-row ${kind}`;
    row.node.style.setProperty("--share", `${share ?? 0}%`);
    row.mark.textContent = text;
    row.share.textContent = share === null ? "" : fill(this.words.share, { n: rounded(share) });
    update(row.main, { "aria-pressed": named });
    update(row.out, { "aria-pressed": kind === "excluded", hidden: named });
  }

  #mark(label) {
    const { top, alternatives, excluded } = this.said.state;
    if (label === top) return { kind: "top", text: this.words.first };
    const place = alternatives.indexOf(label);
    if (place >= 0) return { kind: "alternative", text: this.words.places[place] };
    if (excluded.includes(label)) return { kind: "excluded", text: this.words.ruled_out };
    return { kind: "", text: "" };
  }

  #row(label, place) {
    const name = this.picker.keys[place];
    const mark = el("small", { class: "mark" });
    const share = el("span", { class: "share" });
    const main = button(
      { class: "label", "aria-pressed": "false", "aria-keyshortcuts": name },
      once(() => this.#click(label)),
      key(name),
      el("span", { class: "name" }, el("bdi", { text: label })),
      mark,
      share,
    );
    const title = fill(this.words.rule_out, { label });
    const out = button(
      { class: "out", "aria-pressed": "false", "aria-label": title, title },
      once(() => this.take("click", "", this.said.exclude(label))),
      "✕",
    );
    return { label, main, mark, share, out, node: el("div", { class: "label-row" }, main, out) };
  }

  #level(chance, level) {
    const sign = LEVEL_KEYS[level - 1];
    return button(
      {
        class: "level",
        "aria-pressed": "false",
        "data-level": level,
        "aria-keyshortcuts": sign,
      },
      () => this.take("click", "", this.said.sayCertainty(level)),
      key(sign),
      el("strong", { text: this.#word(chance) }),
      el("small", { text: fill(this.words.chance, { n: this.#least(chance) }) }),
    );
  }

  #dim(pending) {
    this.rows.forEach(({ node }, place) => {
      node.classList.toggle("dim", !this.picker.keys[place].startsWith(pending));
    });
  }
}

function rounded(share) {
  return share >= 1 || share === 0 ? Math.round(share) : Math.round(share * 10) / 10;
}
