// quick: the most likely label, how sure, what else it could be, and one choice about the rest.

import { button, el, fill, key, nameOf, once, update } from "/static/dom.js";
import { digitOf, letterOf, plain, typing } from "/static/keys.js";
import { isUndo, no, Panel, Said, without } from "/static/panel.js";
import { LabelPicker } from "/static/picker.js";

const LEVEL_KEYS = ["Q", "W", "E", "R", "T"];
const LEVEL_WORDS = [50, 70, 90, 100]; // from which chance on the next word of certainty is used

export function mount(root, context) {
  return new Quick(root, context);
}

class Quick extends Panel {
  constructor(root, context) {
    const said = new QuickAnswer(context.labels, context.rules);
    super(root, context, said);
    this.picker = new LabelPicker(said.labels.length, (pending) => this.#dim(pending));
    this.rows = said.labels.map((label, place) => this.#row(label, place));
    this.levels = said.chances.map((chance, i) => this.#level(chance, i + 1));
    this.hint.setAttribute("role", "status");
    const group = (name, heading) => ({ class: name, role: "group", "aria-labelledby": heading });
    root.append(
      el("h1", { id: "question", dir: "auto", text: this.words.question }),
      el("div", group("labels", "question"), ...this.rows.map((row) => row.node)),
      el("h2", { id: "certainty-heading", text: this.words.certainty }),
      el("div", group("levels", "certainty-heading"), ...this.levels),
      this.ending,
    );
    this.draw();
  }

  help() {
    const { labels, labels_twice, certainty, rule_out } = this.words.help;
    const { rest, undo, submit } = this.context.texts.help;
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

  /** After the first label comes the certainty: on a phone with many labels it lies further down.
   *  Who has gone elsewhere by keys meanwhile stays there. */
  #choose(how, code, label) {
    this.take(how, code, this.said.choose(label));
    if (this.said.state.top !== label || this.said.state.certainty !== null) return;
    const focused = document.activeElement;
    const show = () => {
      const now = document.activeElement;
      const moved = now !== focused && now.matches(":focus-visible");
      if (moved || this.said.state.top !== label || this.said.state.certainty !== null) return;
      this.levels[0].parentElement.scrollIntoView({ block: "nearest" });
    };
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
      nameOf(this.context, label),
      mark,
      share,
    );
    const title = fill(this.context.texts.rule_out, { label });
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

// the answer in the making -----------------------------------------------------------------

const BLANK = { top: null, certainty: null, alternatives: [], excluded: [], rest: null };

export class QuickAnswer extends Said {
  constructor(labels, { certainty, alternatives }) {
    super(BLANK);
    this.labels = labels;
    this.chances = certainty;
    this.certain = certainty.length; // the highest level
    this.most = alternatives;
    this.two = labels.length === 2; // then the other label has what the first one leaves
  }

  /** Labels about which nothing was said one by one. */
  others() {
    const { top, alternatives, excluded } = this.state;
    const named = [top, ...alternatives, ...excluded];
    return this.labels.filter((label) => !named.includes(label));
  }

  /** What holds for the rest if nothing more is said; `offered` is what was said last time. */
  rest(offered) {
    if (this.state.certainty === this.certain) return "ruled_out";
    if (this.state.top !== null && this.others().length === 0) return "ruled_out";
    return this.spreads() ? "possible" : (this.state.rest ?? offered);
  }

  /** True if no alternative is named, so that the others share what the first label leaves. */
  spreads() {
    const { alternatives, rest } = this.state;
    const open = alternatives.length === 0 && this.others().length > 0;
    return this.inDoubt() && open && (rest === null || rest === "possible");
  }

  /** True once there is a label and a certainty that leaves something to others. */
  inDoubt() {
    const { top, certainty } = this.state;
    return top !== null && certainty !== null && certainty !== this.certain;
  }

  payload(rest) {
    const { top, certainty, alternatives, excluded } = this.state;
    return { top, certainty, alternatives, excluded, rest };
  }

  /** What has to be said before this can be an answer, or null. */
  missing(rest) {
    const { top, certainty, alternatives } = this.state;
    if (top === null) return no("say_top");
    if (certainty === null) return no("say_certainty");
    if (certainty === this.certain) return null;
    if (alternatives.length === 0 && this.others().length === 0) return no("nothing_left");
    if (alternatives.length === 0 && rest !== "possible") return no("say_alternative");
    return rest === null ? no("say_rest") : null;
  }

  /**
   * Name a label: first the most likely one, then alternatives; an alternative again leaves.
   * Of two labels the second one named replaces the first, whose certainty it does not inherit.
   */
  choose(label) {
    const { top, alternatives } = this.state;
    if (top === null) return this.#name("top", label, { top: label });
    if (this.two) return this.#name("top", label, { top: label, certainty: null, rest: null });
    if (alternatives.includes(label)) {
      return this.#name("alternatives", label, { alternatives: without(alternatives, label) });
    }
    if (alternatives.length === this.most) return no("most", { n: this.most });
    return this.#addAlternative(label);
  }

  /** Take the most likely label back. */
  unchoose() {
    if (this.state.alternatives.length > 0) return no("alternatives_first");
    return this.#name("top", this.state.top, { top: null });
  }

  exclude(label) {
    const { top, alternatives, excluded } = this.state;
    if (label === top || alternatives.includes(label)) return no("named", { label });
    const out = !excluded.includes(label);
    const changes = { excluded: out ? [...excluded, label] : without(excluded, label) };
    const say = [out ? "out" : "back_in", { label }];
    return this.step("excluded", `${out ? "ruled out" : "possible"}:${label}`, changes, { say });
  }

  /** Say how sure; a certain answer is complete, and everything else is ruled out by it. */
  sayCertainty(level) {
    const certain = level === this.certain;
    if (certain && this.state.alternatives.length > 0) return no("certain_alone");
    const before = this.state.certainty === this.certain ? null : this.state.rest;
    const changes = { certainty: level, rest: certain ? "ruled_out" : before };
    const done = this.step("certainty", `certainty:${level}`, changes);
    return { ...done, sends: this.#isComplete() };
  }

  /** True if there is nothing left to ask. */
  #isComplete() {
    const { top, certainty } = this.state;
    return (top !== null && certainty === this.certain) || (this.two && this.spreads());
  }

  /** Who names an alternative is no longer certain. */
  #addAlternative(label) {
    const alternatives = [...this.state.alternatives, label];
    if (this.state.certainty !== this.certain) {
      return this.#name("alternatives", label, { alternatives });
    }
    const certainty = this.certain - 1;
    const say = ["dropped", { chance: this.chances[certainty - 1] }];
    return this.#name("alternatives", label, { alternatives, certainty, rest: null }, { say });
  }

  /** What was ruled out and is now named is no longer ruled out. */
  #name(field, label, changes, more = {}) {
    const excluded = without(this.state.excluded, label);
    const done = this.step(field, label, { ...changes, excluded }, more);
    return { ...done, sends: this.#isComplete() };
  }
}

/**
 * The shares an answer will be read as, by label; empty while there is nothing to show.
 * Alternatives count twice the next; a possible rest counts as one more, last alternative; and no
 * label may overtake the one named first.
 */
export function preview({ top, certainty, alternatives, rest }, others, chances) {
  const shares = new Map();
  if (top === null || certainty === null) return shares;
  const left = rest === "possible" ? others.length : 0;
  const places = alternatives.length + (left > 0 ? 1 : 0);
  const weights = Array.from({ length: places }, (_, i) => 2 ** (places - 1 - i));
  const sum = weights.reduce((a, b) => a + b, 0);
  const rival = Math.max(alternatives.length > 0 ? weights[0] : 0, left > 0 ? 1 / left : 0);
  const first = Math.max(chances[certainty - 1], sum > 0 ? (100 * rival) / (rival + sum) : 0);
  const unit = sum > 0 ? (100 - first) / sum : 0;
  shares.set(top, first);
  alternatives.forEach((label, i) => shares.set(label, unit * weights[i]));
  if (left > 0) others.forEach((label) => shares.set(label, unit / left));
  return shares;
}
