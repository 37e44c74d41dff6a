// The most likely label, how sure, what else it could be, and one word about the rest.

import { button, el, fill, key, update } from "../dom.js";
import { digitOf, LabelPicker, letterOf, plain, pressing, typing } from "../keys.js";
import { History, isUndo, RestStrip } from "../parts.js";

const LEVEL_KEYS = ["Q", "W", "E", "R", "T"];
const LEVEL_WORDS = [50, 70, 90, 100]; // from which chance on the next word of certainty is used
const BLANK = { top: null, certainty: null, alternatives: [], excluded: [], rest: null };

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

export function mount(root, context) {
  return new Quick(root, context);
}

class Quick {
  constructor(root, context) {
    Object.assign(this, { root, context, labels: context.labels, words: context.texts.quick });
    this.chances = context.rules.certainty;
    this.certain = this.chances.length;
    this.most = context.rules.alternatives;
    this.history = new History(BLANK);
    this.picker = new LabelPicker(this.labels.length, (pending) => this.#dim(pending));
    this.rows = this.labels.map((label, place) => this.#row(label, place));
    this.levels = this.chances.map((chance, i) => this.#level(chance, i + 1));
    this.strip = new RestStrip(context, (value) => this.#rest(value, "click", ""));
    this.hint = el("p", { class: "hint", role: "status" });
    root.append(
      el("h1", { id: "question", text: this.words[context.frame].question }),
      el(
        "div",
        { class: "labels", role: "group", "aria-labelledby": "question" },
        ...this.rows.map((row) => row.node),
      ),
      el("h2", { id: "certainty-heading", text: this.words[context.frame].certainty }),
      el(
        "div",
        { class: "levels", role: "group", "aria-labelledby": "certainty-heading" },
        ...this.levels,
      ),
      this.strip.root,
      this.hint,
    );
    this.#draw();
  }

  get state() {
    return this.history.state;
  }

  answer() {
    const { top, certainty, alternatives, excluded } = this.state;
    return { top, certainty, alternatives, excluded, rest: this.#standingRest() };
  }

  problem() {
    return this.#missing(this.#standingRest());
  }

  draft() {
    return this.state;
  }

  restore(draft) {
    this.history = new History({ ...BLANK, ...draft });
    this.#draw();
  }

  focus() {
    this.root.focus({ preventScroll: true });
  }

  help() {
    const { help } = this.context.texts;
    return [
      help.labels,
      help.labels_twice,
      help.certainty,
      help.rule_out,
      help.rest,
      help.undo,
      help.submit,
    ];
  }

  key(event) {
    if (typing(event)) return false;
    if (isUndo(event)) return this.picker.cancel() || this.#undo();
    if (event.code === "Escape") return this.picker.cancel();
    if (!plain(event)) return false;
    const digit = digitOf(event);
    if (digit !== null) return this.#digit(digit, event);
    if (event.shiftKey) return false;
    return this.#letter(event);
  }

  #letter(event) {
    const level = LEVEL_KEYS.indexOf(letterOf(event)) + 1;
    if (level > 0 && level <= this.levels.length) {
      if (!event.repeat) this.#certainty(level, "key", event.code);
      return true;
    }
    const rest = this.strip.ofKey(event);
    if (rest !== null) {
      if (!event.repeat) this.#rest(rest, "key", event.code);
      return true;
    }
    if (
      (event.code === "Enter" || event.code === "Space" || event.code === "NumpadEnter") &&
      !pressing(event)
    ) {
      if (!event.repeat) this.#enter(event.code);
      return true;
    }
    return false;
  }

  #digit(digit, event) {
    const place = event.repeat ? null : this.picker.press(digit);
    if (place === null) return true;
    const label = this.labels[place];
    if (event.shiftKey) this.#exclude(label, "key", event.code);
    else this.#choose(label, "key", event.code);
    return true;
  }

  // what a person can do -------------------------------------------------------------------

  #choose(label, kind, code) {
    const { top, alternatives } = this.state;
    if (label === top) this.#again(kind, code);
    else if (top === null) this.#name("top", { top: label }, label, kind, code);
    else if (alternatives.includes(label)) {
      this.#name(
        "alternatives",
        { alternatives: alternatives.filter((l) => l !== label) },
        label,
        kind,
        code,
      );
    } else if (alternatives.length === this.most)
      this.#refuse(fill(this.words.most, { n: this.most }));
    else this.#alternative(label, kind, code);
  }

  /** The most likely label once more: a second key press is "certain", a second click takes it back. */
  #again(kind, code) {
    if (kind === "key") this.#certainty(this.certain, kind, code);
    else if (this.state.alternatives.length > 0) this.#refuse(this.words.alternatives_first);
    else this.#name("top", { top: null }, this.state.top, kind, code);
  }

  #alternative(label, kind, code) {
    const drop = this.state.certainty === this.certain;
    const certainty = drop ? this.certain - 1 : this.state.certainty;
    const alternatives = [...this.state.alternatives, label];
    this.#name(
      "alternatives",
      { alternatives, certainty, rest: drop ? null : this.state.rest },
      label,
      kind,
      code,
    );
    if (drop)
      this.context.announce(
        fill(this.words.dropped, { level: this.#word(this.chances[certainty - 1]) }),
      );
  }

  /** Name a label; what was ruled out and is now named is no longer ruled out. */
  #name(field, changes, label, kind, code) {
    const excluded = this.state.excluded.filter((l) => l !== label);
    this.#change(field, { ...changes, excluded }, kind, code, label);
    if (field === "top" && this.state.top !== null && this.state.certainty === this.certain)
      this.#finish("ruled_out");
  }

  #exclude(label, kind, code) {
    const { top, alternatives, excluded } = this.state;
    if (label === top || alternatives.includes(label)) {
      this.#refuse(fill(this.words.named, { label }));
      return;
    }
    const out = excluded.includes(label);
    const now = out ? excluded.filter((l) => l !== label) : [...excluded, label];
    this.#change(
      "excluded",
      { excluded: now },
      kind,
      code,
      `${out ? "possible" : "ruled out"}:${label}`,
    );
    this.context.announce(fill(out ? this.words.back_in : this.words.out, { label }));
  }

  #certainty(level, kind, code) {
    if (level === this.certain && this.state.alternatives.length > 0) {
      this.#refuse(this.words.certain_alone);
      return;
    }
    const unsay = this.state.certainty === this.certain && level !== this.certain;
    this.#change(
      "certainty",
      { certainty: level, rest: unsay ? null : this.state.rest },
      kind,
      code,
      `certainty:${level}`,
    );
    if (level === this.certain && this.state.top !== null) this.#finish("ruled_out");
  }

  #rest(value, kind, code) {
    this.#change("rest", { rest: value }, kind, code, `rest:${value}`);
    const missing = this.#missing(value);
    if (missing !== null) {
      this.#refuse(missing);
      return;
    }
    if (this.#others().length > 0) this.strip.remember(value);
    this.context.submit();
  }

  #enter(code) {
    const rest = this.#standingRest();
    const missing = this.#missing(rest);
    if (missing !== null) this.#refuse(missing);
    else {
      const remembered = this.state.rest === null && this.#others().length > 0;
      if (remembered) this.context.log("remembered", code, `rest:${rest}`);
      this.context.submit();
    }
  }

  /** A certain answer says everything: the rest is ruled out, and it goes. */
  #finish(rest) {
    this.history.state = { ...this.state, rest };
    this.#draw();
    this.context.changed();
    this.context.submit();
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

  #others() {
    const { top, alternatives, excluded } = this.state;
    return this.labels.filter(
      (l) => l !== top && !alternatives.includes(l) && !excluded.includes(l),
    );
  }

  #standingRest() {
    if (this.state.certainty === this.certain) return "ruled_out";
    return this.strip.standing(
      this.state.rest,
      this.state.top === null ? 1 : this.#others().length,
    );
  }

  /** What has to be said before this can be an answer, or null. */
  #missing(rest) {
    const { top, certainty, alternatives } = this.state;
    if (top === null) return this.words.say_top;
    if (certainty === null) return this.words[this.context.frame].say_certainty;
    if (certainty === this.certain) return null;
    const open = this.#others().length > 0;
    if (alternatives.length === 0 && !open) return this.words.nothing_left;
    if (alternatives.length === 0 && rest !== "possible") return this.words.say_alternative;
    return rest === null ? this.words.say_rest : null;
  }

  // drawing --------------------------------------------------------------------------------

  #draw() {
    const { top, certainty, alternatives, rest } = this.state;
    const shares = preview(
      { ...this.state, rest: this.#standingRest() },
      this.#others(),
      this.chances,
    );
    this.rows.forEach((row) => this.#drawRow(row, shares.get(row.label) ?? null));
    this.levels.forEach((made, i) => {
      made.setAttribute("aria-pressed", String(certainty === i + 1));
      update(made, {
        "aria-disabled": i + 1 === this.certain && alternatives.length > 0 ? "true" : null,
      });
    });
    const alone = top !== null && alternatives.length === 0;
    this.strip.root.classList.toggle("early", top === null || certainty === null);
    this.strip.show({
      others: top === null ? this.labels.length - 1 : this.#others().length,
      chosen: rest,
      refused: alone ? ["ruled_out", "unsaid"] : [],
    });
    this.hint.textContent = this.#missing(this.#standingRest()) ?? this.words.ready;
  }

  #drawRow(row, share) {
    const mark = this.#mark(row.label);
    row.node.className = `label-row ${mark.kind}`;
    row.node.style.setProperty("--share", `${share ?? 0}%`);
    row.mark.textContent = mark.text;
    row.share.textContent = share === null ? "" : fill(this.words.share, { n: rounded(share) });
    row.main.setAttribute(
      "aria-pressed",
      String(mark.kind === "top" || mark.kind === "alternative"),
    );
    row.out.setAttribute("aria-pressed", String(mark.kind === "excluded"));
    row.out.hidden = mark.kind === "top" || mark.kind === "alternative";
  }

  #mark(label) {
    const { top, alternatives, excluded } = this.state;
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
      () => this.#choose(label, "click", ""),
      key(name),
      el("span", { class: "name" }, el("bdi", { text: label })),
      mark,
      share,
    );
    const title = fill(this.words.rule_out, { label });
    const out = button(
      { class: "out", "aria-pressed": "false", "aria-label": title, title },
      () => this.#exclude(label, "click", ""),
      "✕",
    );
    return { label, main, mark, share, out, node: el("div", { class: "label-row" }, main, out) };
  }

  #word(chance) {
    return this.words.levels[LEVEL_WORDS.filter((from) => chance >= from).length];
  }

  #level(chance, level) {
    const sign = LEVEL_KEYS[level - 1];
    return button(
      { class: "level", "aria-pressed": "false", "data-level": level, "aria-keyshortcuts": sign },
      () => this.#certainty(level, "click", ""),
      key(sign),
      el("strong", { text: this.#word(chance) }),
      el("small", { text: fill(this.words[this.context.frame].chance, { n: chance }) }),
    );
  }

  #dim(pending) {
    this.rows?.forEach((row, place) =>
      row.node.classList.toggle("dim", !this.picker.keys[place].startsWith(pending)),
    );
  }
}

function rounded(share) {
  return share >= 10 || share === 0 ? Math.round(share) : Math.round(share * 10) / 10;
}
