// chips: a fixed number of them on the labels; what is laid stays until the person moves it.

import { no, Said, without } from "./said.js";

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
