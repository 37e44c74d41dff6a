// search: a few labels or branches out of thousands, found by typing, with chips on them.  The first
// one holds the chips that no other has, so a single pick is certain.

import { button, el, fill, key } from "/static/dom.js";
import { digitOf, letterOf } from "/static/keys.js";
import { no, outOf, Panel, restOf, Said, without } from "/static/panel.js";
import { branchesOf, Combobox, finder, shown } from "./finding.js";

const RECENT = 5;
const MOST_QUERIES = 50;
const AMOUNTS = { "+": 1, "-": -1, "−": -1, PageUp: 5, PageDown: -5 };

export function mount(root, context) {
  return new Search(root, context);
}

class Search extends Panel {
  constructor(root, context) {
    const { words } = context;
    super(root, context, new SearchAnswer(context.rules), "Alt ");
    this.queries = [];
    this.box = new Combobox(words, finder(context), {
      onchoose: (option, kind, code) => this.#add(option, kind, code),
      oninput: () => this.#typed(),
      onproblem: (name) => context.refuse(words[name]),
    });
    this.picked = el("ul", { class: "picks", "aria-label": words.picks });
    this.shelf = el("div", { class: "shelf" });
    this.branches = el("div", { class: "scope" });
    root.append(
      el("h1", { id: "question", text: this.words.question }),
      this.box.root,
      this.shelf,
      this.picked,
      this.branches,
      this.ending,
    );
    this.draw();
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
    const { undo_empty, rest_alt, submit_empty } = help;
    const about = [type, select_pick, chips_on_pick, remove_pick, parent, clear];
    return [...about, undo_empty, rest_alt, submit_empty];
  }

  // keys -----------------------------------------------------------------------------------

  key(event) {
    if (event.altKey && !event.ctrlKey) return this.#altKey(event);
    if (event.ctrlKey || event.metaKey) return this.#ctrlKey(event);
    if (event.target === this.box.input) return this.#boxKey(event);
    if (event.key === "/") {
      this.focus();
      return true;
    }
    const elsewhere = event.target instanceof HTMLElement && event.target.closest("button, a");
    return elsewhere ? false : this.#amountKey(event);
  }

  #boxKey(event) {
    if (this.box.key(event)) return true;
    if (this.box.value !== "") return false;
    if (event.code === "Enter" || event.code === "NumpadEnter") {
      if (!event.repeat) this.enter(event.code);
      return true;
    }
    if (event.code === "Backspace") return this.undo();
    if (event.code === "Delete") return this.#remove(this.said.state.selected, "key", event.code);
    return this.#amountKey(event);
  }

  #amountKey(event) {
    const by = AMOUNTS[event.key];
    if (by === undefined || this.said.state.picks.length === 0) return false;
    this.take("key", event.code, this.said.give(this.said.state.selected, by));
    return true;
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

  #add(option, kind, code) {
    const typed = this.box.value;
    if (typed !== "") this.queries = [...this.queries, typed].slice(-MOST_QUERIES);
    this.box.clear();
    this.focus();
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
    const counts = this.said.counts();
    this.picked.replaceChildren(...picks.map((pick, i) => this.#pick(pick, i, counts[i])));
    this.#drawShelf();
    this.#drawBranches();
    const refused = scope.length > 0 ? ["possible", "unsaid"] : [];
    const early = picks.length === 0 && rest === null;
    this.strip.show({ others: null, chosen: rest, refused, early });
    this.drawHint();
  }

  #pick({ node, branch }, place, count) {
    const { own, above } = shown(node, this.said.path);
    const { texts } = this.context;
    const selected = place === this.said.state.selected;
    const step = (by, text, title) =>
      button(
        { class: "step", "aria-label": fill(title, { label: own }) },
        () => this.take("click", "", this.said.give(place, by)),
        text,
      );
    const steps = place === 0 ? [] : [step(-1, "−", texts.less), step(1, "+", texts.more)];
    const out = button(
      { class: "out", "aria-label": fill(this.words.remove, { label: own }) },
      () => this.#remove(place, "click", ""),
      "✕",
    );
    const select = button(
      { class: "label", "aria-pressed": selected },
      () => this.#select(place),
      key(`Ctrl ${place + 1}`),
      el("span", { class: "name" }, el("bdi", { text: own }), el("small", { text: above })),
      el("small", { class: "mark", text: this.#mark(branch, place) }),
      el("span", { class: "share", text: outOf(texts, count, this.said.n) }),
    );
    const name = `label-row pick${selected ? " selected" : ""}`;
    const row = el("li", { class: name }, select, ...steps, out);
    row.style.setProperty("--share", `${(100 * count) / this.said.n}%`);
    return row;
  }

  #mark(branch, place) {
    const { somewhere, takes_rest: takesRest } = this.words;
    const left = place === 0 && this.said.state.picks.length > 1;
    return [branch ? somewhere : "", left ? takesRest : ""].filter(Boolean).join(" · ");
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

  #drawBranches() {
    const nodes = this.said.branches();
    const make = (node) =>
      button(
        { class: "button small", "aria-pressed": this.said.state.scope.includes(node) },
        () => this.take("click", "", this.said.limit(node)),
        shown(node, this.said.path).own,
      );
    this.branches.hidden = nodes.length === 0;
    const title = el("span", { class: "quiet", text: this.words.scope });
    this.branches.replaceChildren(title, ...nodes.map(make));
  }
}

// the answer in the making -----------------------------------------------------------------

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
