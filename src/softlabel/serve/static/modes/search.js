// A few labels out of thousands, found by typing, with chips on them.

import { SearchAnswer } from "../answers/search.js";
import { Combobox } from "../combobox.js";
import { button, el, fill, key } from "../dom.js";
import { branchesOf, finder, shown } from "../finding.js";
import { digitOf, letterOf } from "../keys.js";
import { outOf, Panel } from "../panel.js";
import { restOf } from "../rest.js";

const RECENT = 5;
const MOST_QUERIES = 50;
const AMOUNTS = { "+": 1, "-": -1, "−": -1, PageUp: 5, PageDown: -5 };

export function mount(root, context) {
  return new Search(root, context);
}

class Search extends Panel {
  constructor(root, context) {
    const { search: words } = context.texts;
    super(root, context, new SearchAnswer(context.rules), words, "Alt ");
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
    const { help } = this.context.texts;
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
    const [selected, { chips }] = [place === this.said.state.selected, this.context.texts];
    const step = (by, text, title) =>
      button(
        { class: "step", "aria-label": fill(title, { label: own }) },
        () => this.take("click", "", this.said.give(place, by)),
        text,
      );
    const steps = place === 0 ? [] : [step(-1, "−", chips.less), step(1, "+", chips.more)];
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
      el("span", { class: "share", text: outOf(this.context.texts, count, this.said.n) }),
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
