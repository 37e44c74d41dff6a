// search: a few labels or branches out of thousands, found by typing or in a tree, with chips on them.
// They share the chips equally until somebody says otherwise; a single pick is certain.

import { button, el } from "/static/dom.js";
import { digitOf, letterOf } from "/static/keys.js";
import { no, outOf, Panel, restOf, Said, without } from "/static/panel.js";
import { Part } from "/static/parts.js";
import { branchesOf, Combobox, shown } from "./finding.js";

const RECENT = 5;
const MOST_QUERIES = 50;
// not needed before somebody types, picks, or opens the tree
const matching = new Part("modes/matching.js");
const picking = new Part("modes/picks.js", "picks.css");
const browsing = new Part("modes/browsing.js", "tree.css");

export function mount(root, context) {
  return new Search(root, context);
}

class Search extends Panel {
  constructor(root, context) {
    const { words } = context;
    super(root, context, new SearchAnswer(context.rules), "Alt ");
    this.queries = [];
    const find = async (typed) => (await matching.get()).find(context, typed);
    this.box = new Combobox(words, find, {
      onchoose: (option, kind, code) => this.#add(option, kind, code),
      oninput: () => this.#typed(),
      onproblem: (name) => context.refuse(words[name]),
      about: context.about,
    });
    this.picked = el("ul", { class: "picks", "aria-label": words.picks });
    for (const part of [matching, picking]) part.soon();
    this.shelf = el("div", { class: "shelf" });
    this.branches = el("div", { class: "scope", hidden: true });
    root.append(
      el("h1", { id: "question", dir: "auto", text: this.words.question }),
      this.box.root,
      ...this.#browser(),
      this.shelf,
      this.picked,
      this.branches,
      this.ending,
    );
    if (this.browse && context.memory.get("tree")?.shown) this.#withTree((tree) => tree.show(true));
    this.draw();
  }

  /** The button that opens the tree, where labels have branches. */
  #browser() {
    if (!this.context.labelsNest) return [];
    browsing.soon();
    this.browse = button(
      { class: "button small browse", "aria-controls": "tree", "aria-expanded": false },
      () => this.#withTree((tree) => tree.toggle()),
      el("span", { text: this.words.browse }),
    );
    return [this.browse];
  }

  /** Do something with the tree, which is made when it is first wanted. */
  async #withTree(action) {
    const part = browsing.here ?? (await browsing.get().catch(() => null));
    if (part === null) return this.context.refuse(this.words.no_network);
    const onchoose = (option, kind, code) => this.#add(option, kind, code, false);
    this.tree ??= new part.LabelTree(this.context, this.browse, onchoose);
    return action(this.tree);
  }

  answer() {
    return { ...super.answer(), queries: this.queries };
  }

  draft() {
    return { ...this.said.state, queries: this.queries, typed: this.box.value };
  }

  restore({ queries = [], typed = "", ...state }) {
    this.queries = queries;
    super.restore(state);
    this.box.type(typed);
  }

  focus() {
    this.box.focus();
  }

  others() {
    return null;
  }

  help() {
    const { help } = this.words;
    const { type, select_pick, chips_on_pick, remove_pick, parent, clear } = help;
    const { browse, tree, undo_empty, rest_alt, submit_empty, save_empty } = help;
    const enter = this.context.revising ? save_empty : submit_empty;
    const about = [type, select_pick, chips_on_pick, remove_pick, parent, clear];
    const nested = this.context.labelsNest ? [browse, tree] : [];
    return [...about, ...nested, undo_empty, rest_alt, enter];
  }

  // keys -----------------------------------------------------------------------------------

  key(event) {
    if (event.altKey && !event.ctrlKey) return this.#altKey(event);
    if (event.ctrlKey || event.metaKey) return this.#ctrlKey(event);
    if (event.target === this.box.input) return this.#boxKey(event);
    if (event.target.matches("input.count")) return false;
    if (this.tree?.root.contains(event.target) && event.code !== "Escape") {
      if (this.tree.key(event)) return true;
    }
    if (this.list?.key(event)) return true;
    if (event.code === "Escape" && this.root.contains(event.target)) {
      if (!this.tree?.root.contains(event.target)) return false;
      this.focus();
      return true;
    }
    if (event.key === "/") {
      this.focus();
      return true;
    }
    const elsewhere = event.target instanceof HTMLElement && event.target.closest("button, a");
    return elsewhere ? false : (this.list?.amountKey(event) ?? false);
  }

  #boxKey(event) {
    if (this.box.key(event)) return true;
    if (this.box.value !== "") return false;
    if (event.code === "Enter" || event.code === "NumpadEnter") {
      if (!event.repeat) this.enter(event.code);
      return true;
    }
    if (event.code === "ArrowDown" && this.context.labelsNest) {
      this.#withTree((tree) => tree.enter());
      return true;
    }
    if (event.code === "Backspace") return this.undo();
    if (event.code === "Delete") return this.#remove(this.said.state.selected, "key", event.code);
    return this.list?.amountKey(event) ?? false;
  }

  #altKey(event) {
    const letter = /^Key([A-Z])$/.exec(event.code)?.[1] ?? letterOf(event);
    const rest = restOf(letter);
    if (rest === null) return this.#pickKey(event);
    if (!event.repeat) this.sayRest(rest, "key", event.code);
    return true;
  }

  #ctrlKey(event) {
    if (event.code === "ArrowUp") return this.#widen(event.code);
    if (letterOf(event) === "Z" && this.box.value === "") return this.undo();
    return this.#pickKey(event);
  }

  #pickKey(event) {
    const place = (digitOf(event) ?? 0) - 1;
    if (place < 0 || place >= this.said.state.picks.length) return false;
    this.#select(place);
    return true;
  }

  // what a person can do -------------------------------------------------------------------

  #typed() {
    this.context.touched("picks");
    this.context.changed();
  }

  /** Choose it; from the tree the focus stays there. */
  #add(option, kind, code, typed = true) {
    const query = this.box.value;
    if (typed && query !== "") this.queries = [...this.queries, query].slice(-MOST_QUERIES);
    if (typed) {
      this.box.clear();
      this.focus();
    }
    this.take(kind, code, this.said.add(option));
  }

  #remove(place, kind, code) {
    if (this.said.state.picks.length === 0) return false;
    this.take(kind, code, this.said.remove(place));
    this.focus();
    return true;
  }

  #select(place) {
    this.said.select(place);
    this.draw();
    const count = outOf(this.context.texts, this.said.counts()[place], this.said.n);
    this.context.announce(`${this.said.state.picks[place].node}, ${count}`);
  }

  /** Up one branch: from the option that is pointed at, or from the pick that is selected. */
  #widen(code) {
    if (this.box.searching) return true;
    const { picks, selected } = this.said.state;
    const option = this.box.pointedAt();
    const from = option?.name ?? picks[selected]?.node ?? "";
    const name = branchesOf(from, this.said.path).at(-1);
    if (name === undefined) this.context.refuse(this.words.no_parent);
    else if (option) this.#add({ name, branch: true }, "key", code);
    else this.take("key", code, this.said.widen(name));
    return true;
  }

  send() {
    const before = this.context.memory.get("recent") ?? [];
    const names = [...this.said.state.picks.map((pick) => pick.node), ...before];
    this.context.memory.set("recent", [...new Set(names)].slice(0, RECENT));
    super.send();
  }

  // drawing --------------------------------------------------------------------------------

  draw() {
    const { picks, scope, rest } = this.said.state;
    if (picks.length > 0 || this.list) this.#drawPicks();
    this.#drawShelf();
    const refused = scope.length > 0 ? ["possible", "unsaid"] : [];
    const early = picks.length === 0 && rest === null;
    this.strip.show({ others: null, chosen: rest, refused, early });
    this.drawHint();
  }

  async #drawPicks() {
    const { PickList } = picking.here ?? (await picking.surely());
    this.list ??= new PickList(this, this.picked, this.branches, {
      onselect: (place) => this.#select(place),
      onremove: (place, kind, code) => this.#remove(place, kind, code),
    });
    this.list.draw();
  }

  /** What was chosen on the last items, to be chosen again by a click. */
  #drawShelf() {
    const chosen = this.said.state.picks.map((pick) => pick.node);
    const recent = this.context.memory.get("recent") ?? [];
    const names = recent.filter((name) => !chosen.includes(name));
    const { labels } = this.context;
    const make = (name) => {
      const option = { name, branch: labels.length > 0 && !labels.includes(name) };
      const { own } = shown(name, this.said.path);
      return button({ class: "button small" }, () => this.#add(option, "click", ""), own);
    };
    this.shelf.hidden = names.length === 0;
    const title = el("span", { class: "quiet", text: this.words.recent });
    this.shelf.replaceChildren(title, ...names.map(make));
  }
}

// the answer in the making -----------------------------------------------------------------

// `even`: nobody has said yet how the chips are to be shared
const BLANK = { picks: [], selected: 0, scope: [], rest: null, even: true };

export class SearchAnswer extends Said {
  constructor({ n, picks, path }) {
    super(BLANK);
    this.n = n;
    this.most = picks;
    this.path = path;
  }

  /** A draft of an earlier version does not say whether its chips were shared by hand. */
  restore(state) {
    super.restore({ ...state, even: state.even ?? (state.picks ?? []).length < 2 });
  }

  /** Chips of each pick; the first one has what the others leave. */
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
    const { picks, scope, even } = this.state;
    const counts = this.counts();
    const entries = picks.map((pick, place) => {
      const entry = { node: pick.node, chips: counts[place] };
      return this.#isWhole(pick) ? { ...entry, stop: true } : entry;
    });
    const whole = { n: this.n, picks: entries, scope, rest };
    return even && picks.length > 1 ? { ...whole, even } : whole;
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
    const chosen = [...picks, { node: name, branch, chips: this.#some() }];
    const even = this.state.even ? this.#share(chosen) : chosen;
    return this.#pick(name, { picks: even, selected: picks.length });
  }

  remove(place) {
    const { picks, selected } = this.state;
    const left = picks.filter((_, i) => i !== place);
    const even = this.state.even || left.length < 2;
    const changes = {
      picks: even ? this.#share(left) : left,
      selected: Math.max(0, Math.min(selected, left.length - 1)),
      even,
    };
    return this.step("picks", `remove:${picks[place].node}`, changes);
  }

  /** Equal shares; what does not divide goes to those that were picked first. */
  #share(picks) {
    const each = Math.floor(this.n / picks.length);
    const more = this.n % picks.length;
    return picks.map((pick, place) => ({ ...pick, chips: each + (place < more ? 1 : 0) }));
  }

  /** For one more pick once chips were shared by hand: as many as the least has, but never more than
   * half of the first one's. */
  #some() {
    const counts = this.counts();
    return counts.length === 0 ? 0 : Math.min(...counts, Math.floor(counts[0] / 2));
  }

  /** The most that a pick can have: the first one can take all but one of every other. */
  mostOn(place) {
    const counts = this.counts();
    return place === 0 ? this.n - counts.length + 1 : counts[place] + counts[0] - 1;
  }

  /**
   * So many chips on a pick.  They come from the first one and go back to it; those of the first one
   * come from the last ones and go back to the second.
   */
  give(place, wanted) {
    const { picks } = this.state;
    if (picks.length === 1) return no("alone");
    const { node } = picks[place];
    const counts = this.counts();
    const count = Math.max(1, Math.min(wanted, this.mostOn(place)));
    if (count === counts[place] && wanted < count) return no("say_chips", { label: node });
    if (count === counts[place] && wanted > count) return no("none_left");
    let more = place === 0 ? count - counts[0] : 0; // to be taken from the others
    const given = picks.map((pick, i) => ({ ...pick, chips: i === place ? count : counts[i] }));
    for (const pick of given.slice(1).reverse()) {
      const taken = more > 0 ? Math.min(more, pick.chips - 1) : pick === given[1] ? more : 0;
      pick.chips -= taken;
      more -= taken;
    }
    const changes = { picks: given, selected: place, even: false };
    return this.step("picks", `${node}:${count}`, changes);
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
