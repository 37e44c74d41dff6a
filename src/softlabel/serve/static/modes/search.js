// A few labels out of thousands, found by typing, with chips on them.  The first one found holds
// the chips that no other has: a single pick is certain, and nothing is given away unseen.

import { button, el, fill, key, update } from "../dom.js";
import { branchesOf, finder, shown } from "../finding.js";
import { digitOf, letterOf } from "../keys.js";
import { History, outOf, RestStrip } from "../parts.js";

const BLANK = { picks: [], selected: 0, scope: [], rest: null };
const RECENT = 5;

export function mount(root, context) {
  return new Search(root, context);
}

class Search {
  constructor(root, context) {
    Object.assign(this, { root, context, words: context.texts.search });
    ({ n: this.n, picks: this.most, path: this.path } = context.rules);
    this.find = finder(context);
    this.history = new History(BLANK);
    this.queries = [];
    this.options = [];
    this.active = -1;
    this.asked = 0;
    this.#build();
    this.#draw();
  }

  get state() {
    return this.history.state;
  }

  answer() {
    const { picks, scope } = this.state;
    const counts = this.#counts();
    const stops = (pick) =>
      pick.branch || picks.some((other) => branchesOf(other.node, this.path).includes(pick.node));
    return {
      n: this.n,
      picks: picks.map((pick, i) => ({
        node: pick.node,
        chips: counts[i],
        ...(stops(pick) ? { stop: true } : {}),
      })),
      scope,
      rest: this.strip.standing(this.state.rest, null),
      queries: this.queries,
    };
  }

  problem() {
    return this.#missing(this.strip.standing(this.state.rest, null));
  }

  draft() {
    return { ...this.state, queries: this.queries, typed: this.box.value };
  }

  restore({ queries = [], typed = "", ...state }) {
    this.history = new History({ ...BLANK, ...state });
    this.queries = queries;
    this.box.value = typed;
    this.#draw();
    if (typed !== "") this.#search();
  }

  focus() {
    this.box.focus({ preventScroll: true });
  }

  help() {
    const { help } = this.context.texts;
    return [
      help.type,
      help.select_pick,
      help.chips_on_pick,
      help.remove_pick,
      help.parent,
      help.clear,
      help.undo_empty,
      help.rest_alt,
      help.submit_empty,
    ];
  }

  key(event) {
    const empty = this.box.value === "";
    if (event.altKey && !event.ctrlKey) return this.#withAlt(event);
    if ((event.ctrlKey || event.metaKey) && !event.altKey) return this.#withCtrl(event);
    if (event.target !== this.box) return this.#outside(event);
    if (event.code === "ArrowDown" || event.code === "ArrowUp")
      return this.#walk(event.code === "ArrowDown" ? 1 : -1);
    if (event.code === "Enter" || event.code === "NumpadEnter") return this.#enter(event);
    if (event.code === "Escape") return this.#clear();
    if (!empty) return false;
    if (event.code === "Backspace") return this.#undo();
    if (event.code === "Delete" && this.state.picks.length > 0)
      return this.#remove(this.state.selected, "key");
    return this.#amount(event);
  }

  #outside(event) {
    if (event.key === "/") {
      this.focus();
      return true;
    }
    return event.target instanceof HTMLElement && event.target.closest("button, input")
      ? false
      : this.#amount(event);
  }

  #amount(event) {
    const by = { "+": 1, "-": -1, "−": -1, PageUp: 5, PageDown: -5 }[event.key];
    if (by === undefined || this.state.picks.length === 0) return false;
    this.#give(this.state.selected, by, "key", event.code);
    return true;
  }

  #withAlt(event) {
    const rest = { X: "ruled_out", Z: "possible", C: "unsaid" }[
      /^Key([XZC])$/.exec(event.code)?.[1] ?? letterOf(event)
    ];
    if (rest === undefined) return this.#pickOf(event);
    if (!event.repeat) this.#rest(rest, "key", event.code);
    return true;
  }

  #withCtrl(event) {
    if (event.code === "ArrowUp") return this.#parent(event.code);
    if (letterOf(event) === "Z" && this.box.value === "") return this.#undo();
    return this.#pickOf(event);
  }

  #pickOf(event) {
    const digit = digitOf(event);
    if (digit === null || digit < 1 || digit > this.state.picks.length) return false;
    this.#select(digit - 1);
    return true;
  }

  // what a person can do -------------------------------------------------------------------

  #enter(event) {
    if (event.isComposing || event.repeat) return true;
    if (this.box.value !== "") {
      if (this.active >= 0) this.#add(this.options[this.active], "key", event.code);
      else this.context.refuse(this.words.nothing_found);
      return true;
    }
    const rest = this.strip.standing(this.state.rest, null);
    const missing = this.#missing(rest);
    if (missing !== null) this.context.refuse(missing);
    else {
      if (this.state.rest === null) this.context.log("remembered", event.code, `rest:${rest}`);
      this.#send();
    }
    return true;
  }

  #add({ name, branch }, kind, code) {
    const { picks } = this.state;
    if (this.box.value !== "") this.queries = [...this.queries, this.box.value].slice(-50);
    this.#clear();
    this.focus();
    if (picks.some((pick) => pick.node === name))
      return this.context.refuse(fill(this.words.twice, { label: name }));
    if (picks.length === this.most)
      return this.context.refuse(fill(this.words.most, { n: this.most }));
    const chosen = [...picks, { node: name, branch, chips: 0 }];
    this.#change(
      "picks",
      { picks: chosen, selected: chosen.length - 1, scope: this.#fitting(chosen) },
      kind,
      code,
      name,
    );
    return this.context.announce(fill(this.words.added, { label: name }));
  }

  #remove(place, kind) {
    const picks = this.state.picks.filter((_, i) => i !== place);
    const selected = Math.max(0, Math.min(this.state.selected, picks.length - 1));
    this.#change("picks", { picks, selected }, kind, "", `remove:${this.state.picks[place].node}`);
    this.focus();
    return true;
  }

  #give(place, by, kind, code) {
    if (this.state.picks.length === 1) return this.context.refuse(this.words.alone);
    if (place === 0)
      return this.context.refuse(fill(this.words.holds_rest, { label: this.state.picks[0].node }));
    const counts = this.#counts();
    const wanted = Math.max(0, counts[place] + by);
    if (wanted > counts[place] + counts[0] - 1) return this.context.refuse(this.words.none_left);
    const picks = this.state.picks.map((pick, i) =>
      i === place ? { ...pick, chips: wanted } : pick,
    );
    return this.#change(
      "picks",
      { picks, selected: place },
      kind,
      code,
      `${picks[place].node}:${wanted}`,
    );
  }

  #select(place) {
    this.history.state = { ...this.state, selected: place };
    this.#draw();
    const { node } = this.state.picks[place];
    this.context.announce(`${node}, ${outOf(this.context.texts, this.#counts()[place], this.n)}`);
  }

  /** Up one branch: with the option that is shown, or with the pick that is selected. */
  #parent(code) {
    const option = this.active >= 0 ? this.options[this.active] : null;
    const from = option?.name ?? this.state.picks[this.state.selected]?.node;
    const parent = from === undefined ? undefined : branchesOf(from, this.path).at(-1);
    if (parent === undefined) {
      this.context.refuse(this.words.no_parent);
    } else if (option) this.#add({ name: parent, branch: true }, "key", code);
    else this.#replace(parent, code);
    return true;
  }

  #replace(node, code) {
    const { picks, selected } = this.state;
    if (picks.some((pick) => pick.node === node))
      return this.context.refuse(fill(this.words.twice, { label: node }));
    const changed = picks.map((pick, i) =>
      i === selected ? { ...pick, node, branch: true } : pick,
    );
    this.#change("picks", { picks: changed, scope: this.#fitting(changed) }, "key", code, node);
    return this.context.announce(fill(this.words.added, { label: node }));
  }

  #scope(node) {
    const on = !this.state.scope.includes(node);
    const scope = on
      ? [...this.state.scope, node]
      : this.state.scope.filter((other) => other !== node);
    this.#change(
      "scope",
      { scope, rest: null },
      "click",
      "",
      `${on ? "only in" : "not only in"}:${node}`,
    );
  }

  #rest(value, kind, code) {
    this.#change("rest", { rest: value }, kind, code, `rest:${value}`);
    const missing = this.#missing(value);
    if (missing !== null) return this.context.refuse(missing);
    this.strip.remember(value);
    return this.#send();
  }

  #send() {
    const before = this.context.memory.get("recent") ?? [];
    const names = [...this.state.picks.map((pick) => pick.node), ...before];
    this.context.memory.set("recent", [...new Set(names)].slice(0, RECENT));
    return this.context.submit();
  }

  #undo() {
    if (!this.history.undo()) return false;
    this.context.log("undo", "", "");
    this.#draw();
    this.context.changed();
    return true;
  }

  #clear() {
    const typed = this.box.value !== "";
    this.box.value = "";
    this.#list([]);
    return typed;
  }

  #change(field, changes, kind, code, what) {
    this.history.change(changes);
    this.context.touched(field);
    this.context.log(kind, code, what);
    this.#draw();
    this.context.changed();
  }

  // what follows from it -------------------------------------------------------------------

  /** Chips of each pick; the first holds what the others do not. */
  #counts() {
    const given = this.state.picks.map((pick) => pick.chips);
    const rest = this.n - given.slice(1).reduce((sum, count) => sum + count, 0);
    return given.map((count, i) => (i === 0 ? rest : count));
  }

  /** Branches that still hold every pick between them; a scope that no longer does is dropped. */
  #fitting(picks) {
    const { scope } = this.state;
    return picks.every((pick) => this.#within(pick.node, scope)) ? scope : [];
  }

  #within(node, scope) {
    return (
      scope.includes(node) || branchesOf(node, this.path).some((branch) => scope.includes(branch))
    );
  }

  #missing(rest) {
    const { picks, scope } = this.state;
    if (picks.length === 0) return this.words.say_pick;
    const empty = picks.find((_, i) => this.#counts()[i] === 0);
    if (empty) return fill(this.words.say_chips, { label: empty.node });
    const outside = scope.length > 0 && picks.find((pick) => !this.#within(pick.node, scope));
    if (outside) return fill(this.words.outside, { label: outside.node });
    if (scope.length > 0 && rest !== null && rest !== "ruled_out")
      return this.words.scope_rules_out;
    return rest === null ? this.words.say_rest : null;
  }

  // drawing --------------------------------------------------------------------------------

  #build() {
    const { words, context } = this;
    this.box = el("input", {
      id: "search-box",
      type: "text",
      role: "combobox",
      autocomplete: "off",
      autocapitalize: "none",
      spellcheck: "false",
      placeholder: words.placeholder,
      "aria-autocomplete": "list",
      "aria-expanded": "false",
      "aria-controls": "found",
      "aria-labelledby": "question",
    });
    this.box.addEventListener("input", () => this.#search());
    this.found = el("ul", {
      id: "found",
      role: "listbox",
      "aria-label": words.found,
      hidden: true,
    });
    this.picked = el("ul", { class: "picks", "aria-label": words.picks });
    this.shelf = el("div", { class: "shelf" });
    this.branches = el("div", { class: "scope" });
    this.strip = new RestStrip(context, (value) => this.#rest(value, "click", ""), "Alt ");
    this.root.append(
      el("h1", { id: "question", text: words[context.frame] }),
      el("div", { class: "combobox" }, this.box, this.found),
      this.shelf,
      this.picked,
      this.branches,
      this.strip.root,
    );
  }

  #draw() {
    const { picks, scope, rest } = this.state;
    const counts = this.#counts();
    this.picked.replaceChildren(...picks.map((pick, i) => this.#pick(pick, i, counts[i])));
    this.#drawShelf();
    this.#drawBranches();
    this.strip.root.classList.toggle("early", picks.length === 0);
    this.strip.show({
      others: null,
      chosen: rest,
      refused: scope.length > 0 ? ["possible", "unsaid"] : [],
    });
  }

  #pick({ node, branch }, place, count) {
    const { own, above } = shown(node, this.path);
    const said = outOf(this.context.texts, count, this.n);
    const select = button(
      { class: "label", "aria-pressed": place === this.state.selected },
      () => this.#select(place),
      key(`Ctrl ${place + 1}`),
      el("span", { class: "name" }, el("bdi", { text: own }), el("small", { text: above })),
      el("small", { class: "mark", text: branch ? this.words.somewhere : "" }),
      el("small", {
        class: "mark",
        text: place === 0 && this.state.picks.length > 1 ? this.words.takes_rest : "",
      }),
      el("span", { class: "share", text: said }),
    );
    const step = (by, text, title) =>
      button(
        { class: "step", "aria-label": fill(title, { label: own }) },
        () => this.#give(place, by, "click", ""),
        text,
      );
    const chips = this.context.texts.chips;
    const steps = place === 0 ? [] : [step(-1, "−", chips.less), step(1, "+", chips.more)];
    const out = button(
      { class: "out", "aria-label": fill(this.words.remove, { label: own }) },
      () => this.#remove(place, "click"),
      "✕",
    );
    const row = el(
      "li",
      { class: `label-row pick${place === this.state.selected ? " selected" : ""}` },
      select,
      ...steps,
      out,
    );
    row.style.setProperty("--share", `${(100 * count) / this.n}%`);
    return row;
  }

  #drawShelf() {
    const names = (this.context.memory.get("recent") ?? []).filter(
      (name) => !this.state.picks.some((pick) => pick.node === name),
    );
    const make = (name) => {
      const branch = this.context.labels.length > 0 && !this.context.labels.includes(name);
      return button(
        { class: "button small" },
        () => this.#add({ name, branch }, "click", ""),
        shown(name, this.path).own,
      );
    };
    this.shelf.hidden = names.length === 0;
    this.shelf.replaceChildren(
      el("span", { class: "quiet", text: this.words.recent }),
      ...names.map(make),
    );
  }

  #drawBranches() {
    const nodes = [
      ...new Set(
        this.state.picks.flatMap((pick) => [
          ...branchesOf(pick.node, this.path),
          ...(pick.branch ? [pick.node] : []),
        ]),
      ),
    ];
    const make = (node) =>
      button(
        { class: "button small", "aria-pressed": this.state.scope.includes(node) },
        () => this.#scope(node),
        shown(node, this.path).own,
      );
    this.branches.hidden = nodes.length === 0;
    this.branches.replaceChildren(
      el("span", { class: "quiet", text: this.words.scope }),
      ...nodes.map(make),
    );
  }

  // the list under the box -----------------------------------------------------------------

  async #search() {
    const typed = this.box.value;
    this.context.touched("picks");
    this.context.changed();
    const number = ++this.asked;
    let found = [];
    try {
      found = typed.trim() === "" ? [] : await this.find(typed);
    } catch {
      this.context.refuse(this.words.no_network);
    }
    if (number === this.asked && this.box.value === typed) this.#list(found);
  }

  #list(found) {
    this.options = found;
    const open = this.box.value.trim() !== "";
    const rows = found.map((option, i) => this.#option(option, i));
    const none = open && found.length === 0;
    this.found.replaceChildren(
      ...(none
        ? [
            el("li", {
              class: "quiet",
              role: "option",
              "aria-disabled": "true",
              text: this.words.nothing_found,
            }),
          ]
        : rows),
    );
    this.found.hidden = !open;
    update(this.box, { "aria-expanded": open });
    this.#point(found.length > 0 ? 0 : -1);
  }

  #option({ name, own, above, branch, also }, place) {
    const row = el(
      "li",
      { id: `found-${place}`, role: "option", "aria-selected": "false", "data-name": name },
      el("span", { class: "name" }, el("bdi", { text: own })),
      el("small", { text: [above, also].filter(Boolean).join(" · ") }),
      branch ? el("small", { class: "mark", text: this.words.somewhere }) : null,
    );
    row.addEventListener("pointerdown", (event) => event.preventDefault()); // the box keeps the focus
    row.addEventListener("click", () => this.#add(this.options[place], "click", ""));
    return row;
  }

  #walk(by) {
    if (this.options.length === 0) return false;
    this.#point((this.active + by + this.options.length) % this.options.length);
    return true;
  }

  #point(place) {
    this.active = place;
    [...this.found.children].forEach((row, i) =>
      row.setAttribute("aria-selected", String(i === place)),
    );
    update(this.box, { "aria-activedescendant": place >= 0 ? `found-${place}` : null });
    if (place >= 0) this.found.children[place].scrollIntoView({ block: "nearest" });
  }
}
