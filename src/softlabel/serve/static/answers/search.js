// search: a few labels or branches with chips on them.  The first one holds the chips that no
// other has, so a single pick is certain, and nothing is given away unseen.

import { branchesOf } from "../finding.js";
import { no, Said, without } from "./said.js";

const BLANK = { picks: [], selected: 0, scope: [], rest: null };

export class SearchAnswer extends Said {
  constructor({ n, picks, path }) {
    super(BLANK);
    this.n = n;
    this.most = picks;
    this.path = path;
  }

  /** Chips of each pick. */
  counts() {
    const given = this.state.picks.map((pick) => pick.chips);
    const left = this.n - given.slice(1).reduce((sum, count) => sum + count, 0);
    return given.map((count, place) => (place === 0 ? left : count));
  }

  /** All branches that the picks lie on or are. */
  branches() {
    const nodes = this.state.picks.flatMap(({ node, branch }) => [
      ...branchesOf(node, this.path),
      ...(branch ? [node] : []),
    ]);
    return [...new Set(nodes)];
  }

  rest(offered) {
    return this.state.rest ?? offered;
  }

  payload(rest) {
    const { picks, scope } = this.state;
    const counts = this.counts();
    const entries = picks.map((pick, place) => {
      const entry = { node: pick.node, chips: counts[place] };
      return this.#isWhole(pick) ? { ...entry, stop: true } : entry;
    });
    return { n: this.n, picks: entries, scope, rest };
  }

  missing(rest) {
    const { picks, scope } = this.state;
    if (picks.length === 0) return no("say_pick");
    const counts = this.counts();
    const empty = picks.find((_, place) => counts[place] === 0);
    if (empty) return no("say_chips", { label: empty.node });
    const outside = scope.length > 0 && picks.find(({ node }) => !this.#within(node, scope));
    if (outside) return no("outside", { label: outside.node });
    if (scope.length > 0 && rest !== null && rest !== "ruled_out") return no("scope_rules_out");
    return rest === null ? no("say_rest") : null;
  }

  add({ name, branch }) {
    const { picks } = this.state;
    if (this.#has(name)) return no("twice", { label: name });
    if (picks.length === this.most) return no("most", { n: this.most });
    const chosen = [...picks, { node: name, branch, chips: 0 }];
    return this.#pick(name, { picks: chosen, selected: picks.length });
  }

  remove(place) {
    const { picks, selected } = this.state;
    const left = picks.filter((_, i) => i !== place);
    const changes = { picks: left, selected: Math.max(0, Math.min(selected, left.length - 1)) };
    return this.step("picks", `remove:${picks[place].node}`, changes);
  }

  /** More or fewer chips on a pick; they come from the first one and go back to it. */
  give(place, by) {
    const { picks } = this.state;
    if (picks.length === 1) return no("alone");
    if (place === 0) return no("holds_rest", { label: picks[0].node });
    const counts = this.counts();
    const wanted = Math.max(0, counts[place] + by);
    if (wanted > counts[place] + counts[0] - 1) return no("none_left");
    const given = picks.map((pick, i) => (i === place ? { ...pick, chips: wanted } : pick));
    return this.step("picks", `${picks[place].node}:${wanted}`, { picks: given, selected: place });
  }

  /** Which pick the keys are about: no part of the answer, so nothing to undo. */
  select(place) {
    this.state = { ...this.state, selected: place };
  }

  /** The branch above the selected pick instead of it. */
  widen(node) {
    if (this.#has(node)) return no("twice", { label: node });
    const { picks, selected } = this.state;
    const changed = picks.map((pick, i) =>
      i === selected ? { ...pick, node, branch: true } : pick,
    );
    return this.#pick(node, { picks: changed });
  }

  /** Possible only in this branch, among others so marked. */
  limit(node) {
    const on = !this.state.scope.includes(node);
    const others = without(this.state.scope, node);
    const changes = { scope: on ? [...others, node] : others, rest: null };
    return this.step("scope", `${on ? "only in" : "not only in"}:${node}`, changes);
  }

  #has(node) {
    return this.state.picks.some((pick) => pick.node === node);
  }

  /** A scope that no longer holds all picks is dropped: it was said of others. */
  #pick(node, changes) {
    const fits = changes.picks.every((pick) => this.#within(pick.node, this.state.scope));
    const scope = fits ? this.state.scope : [];
    return this.step("picks", node, { ...changes, scope }, { say: ["added", { label: node }] });
  }

  /** True for a branch as a whole: "somewhere in here". */
  #isWhole({ node, branch }) {
    const inside = (other) => branchesOf(other.node, this.path).includes(node);
    return branch || this.state.picks.some(inside);
  }

  #within(node, scope) {
    return [node, ...branchesOf(node, this.path)].some((one) => scope.includes(one));
  }
}
