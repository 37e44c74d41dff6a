// quick: a label, a level of certainty, alternatives in order, what is ruled out, and the rest.

import { no, Said, without } from "./said.js";

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
