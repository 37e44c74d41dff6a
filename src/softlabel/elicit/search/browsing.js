// A tree to browse where labels have paths (the tree view of ARIA): branches open one by one, and a
// label, or a branch as a whole, is chosen by Enter or by a click.

import { el, update } from "/static/dom.js";
import { branchesOf, shown } from "./finding.js";
import { ask } from "./matching.js";

/**
 * A function from the name of a branch ("": outermost) to a promise of what lies directly in it:
 * {name, own, above, branch}.
 */
function opener({ labels, rules, labelsFrom }) {
  if (labelsFrom) return (name) => ask(labelsFrom, { under: name }, rules.path);
  const under = new Map([["", new Set()]]);
  for (const label of labels) {
    const nodes = ["", ...branchesOf(label, rules.path), label];
    nodes.slice(1).forEach((node, i) => {
      if (!under.has(nodes[i])) under.set(nodes[i], new Set());
      under.get(nodes[i]).add(node);
    });
  }
  const own = new Set(labels);
  return async (name) => {
    const inside = [...(under.get(name) ?? [])];
    const nodes = inside.map((node) => ({ name: node, branch: under.has(node) }));
    if (own.has(name)) nodes.unshift({ name, branch: false }); // a label with the name of its branch
    return nodes.map((node) => ({ ...node, ...shown(node.name, rules.path) }));
  };
}

export class LabelTree {
  /** It stands after the button that shows it; `onchoose(option, kind, code)` hears what was chosen. */
  constructor(context, button, onchoose) {
    const { words, memory } = context;
    Object.assign(this, { context, button, words, memory, onchoose, open: opener(context) });
    this.opened = new Set(this.#noted.opened);
    this.nodes = new WeakMap(); // what an element of the tree stands for
    this.root = el("ul", { class: "tree", id: "tree", role: "tree", "aria-label": words.tree });
    this.root.addEventListener("click", (event) => this.#click(event));
    this.root.addEventListener("focusin", ({ target }) => this.#rove(target));
    this.root.hidden = true;
    button.after(this.root);
  }

  toggle() {
    return this.show(this.root.hidden);
  }

  /** Show it, with the branches open that were so before, or hide it. */
  async show(shown) {
    this.root.hidden = !shown;
    update(this.button, { "aria-expanded": shown });
    this.#note({ shown });
    if (!shown) return;
    if (this.root.childElementCount === 0) await this.#fill(this.root, "");
    const [first] = this.#visible();
    if (first && !this.root.querySelector('[tabindex="0"]')) update(first, { tabindex: 0 });
  }

  /** Show it and go in. */
  async enter() {
    await this.show(true);
    this.root.querySelector('[tabindex="0"]')?.focus();
  }

  /** How it was left on the item before. */
  get #noted() {
    return this.memory.get("tree") ?? { shown: false, opened: [] };
  }

  #note(change) {
    this.memory.set("tree", { ...this.#noted, ...change });
  }

  /** True if the key meant the tree. */
  key(event) {
    const item = event.target.closest("[role=treeitem]");
    if (item === null || event.ctrlKey || event.altKey || event.metaKey) return false;
    const along = getComputedStyle(this.root).direction === "rtl" ? -1 : 1;
    const turn = { ArrowRight: along, ArrowLeft: -along }[event.code];
    const visible = this.#visible();
    const at = visible.indexOf(item);
    if (event.code === "ArrowDown") visible[at + 1]?.focus();
    else if (event.code === "ArrowUp") visible[at - 1]?.focus();
    else if (event.code === "Home") visible[0].focus();
    else if (event.code === "End") visible.at(-1).focus();
    else if (turn === 1) this.#inward(item);
    else if (turn === -1) this.#outward(item);
    else if (["Enter", "NumpadEnter", "Space"].includes(event.code)) {
      if (!event.repeat) this.onchoose(this.nodes.get(item), "key", event.code);
    } else return this.#letter(event, visible, at);
    return true;
  }

  #inward(item) {
    if (item.getAttribute("aria-expanded") === "false") this.#toggle(item);
    else item.querySelector("[role=treeitem]")?.focus();
  }

  #outward(item) {
    if (item.getAttribute("aria-expanded") === "true") this.#toggle(item);
    else item.parentElement.closest("[role=treeitem]")?.focus();
  }

  /** A letter goes to the next name that begins with it. */
  #letter(event, visible, at) {
    if (event.key.length !== 1 || "?/".includes(event.key)) return false;
    const letter = event.key.toLowerCase();
    const after = [...visible.slice(at + 1), ...visible.slice(0, at)];
    after.find((one) => this.nodes.get(one).own.toLowerCase().startsWith(letter))?.focus();
    return true;
  }

  #click(event) {
    const item = event.target.closest("[role=treeitem]");
    if (item === null) return;
    const node = this.nodes.get(item);
    if (node.branch && !event.target.closest(".whole")) this.#toggle(item);
    else this.onchoose(node, "click", "");
  }

  /** Items that can be seen, from top to bottom. */
  #visible() {
    const items = [...this.root.querySelectorAll("[role=treeitem]")];
    return items.filter((item) => item.parentElement.closest("[hidden]") === null);
  }

  /** One item at a time is a stop of the Tab key. */
  #rove(item) {
    const before = this.root.querySelector('[tabindex="0"]');
    if (before) update(before, { tabindex: -1 });
    update(item.closest("[role=treeitem]"), { tabindex: 0 });
  }

  async #toggle(item) {
    const { name } = this.nodes.get(item);
    const on = item.getAttribute("aria-expanded") !== "true";
    if (on) this.opened.add(name);
    else this.opened.delete(name);
    this.#note({ opened: [...this.opened] });
    await this.#expand(item, on);
  }

  async #expand(item, on) {
    const group = item.querySelector("[role=group]");
    update(item, { "aria-expanded": on });
    group.hidden = !on;
    if (on && group.childElementCount === 0) await this.#fill(group, this.nodes.get(item).name);
  }

  async #fill(list, name) {
    let inside = [];
    try {
      inside = await this.open(name);
    } catch {
      this.context.refuse(this.words.no_network);
      const item = list.closest("[role=treeitem]");
      if (item) update(item, { "aria-expanded": false });
      return;
    }
    const items = inside.map((node) => this.#item(node));
    list.replaceChildren(...items);
    const again = items.filter((item) => {
      const { name: own, branch } = this.nodes.get(item);
      return branch && this.opened.has(own);
    });
    await Promise.all(again.map((item) => this.#expand(item, true)));
  }

  #item(node) {
    const { own, branch } = node;
    const text = el("span", { class: "name" }, el("bdi", { text: own }));
    const row = el("div", { class: "node" }, text);
    const item = el("li", { role: "treeitem", tabindex: -1, "aria-label": own }, row);
    item.dataset.name = node.name;
    if (branch) {
      row.prepend(el("span", { class: "twist", "aria-hidden": "true" }));
      row.append(el("small", { class: "whole", text: this.words.choose_branch }));
      update(item, { "aria-expanded": false });
      item.append(el("ul", { role: "group", hidden: true }));
    }
    this.nodes.set(item, node);
    return item;
  }
}
