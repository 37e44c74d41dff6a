// Finding labels: a box to type in with a list of what was found (the combobox of ARIA 1.2), and how
// labels and their branches are shown.

import { el, lineOf, nameOf, update } from "/static/dom.js";

/** The branches above a name, outermost first: "a/b/c" has "a" and "a/b". */
export function branchesOf(name, path) {
  if (!path) return [];
  const found = [];
  for (let at = name.indexOf(path, 1); at > 0; at = name.indexOf(path, at + 1)) {
    if (at + path.length < name.length) found.push(name.slice(0, at));
  }
  return found;
}

/** How a node is shown: its own name, and where it hangs. */
export function shown(name, path) {
  const above = branchesOf(name, path);
  const own = above.length === 0 ? name : name.slice(above.at(-1).length + path.length);
  return {
    own,
    above: above
      .map((node, i) => node.slice(i === 0 ? 0 : above[i - 1].length + path.length))
      .join(" › "),
  };
}

/**
 * `find(text)` promises options {name, own, above, branch, also}.  `onchoose(option, kind, code)`,
 * `oninput()` and `onproblem(name of a text)` hear what happens.
 */
export class Combobox {
  constructor(words, find, { onchoose, oninput, onproblem, about = {} }) {
    Object.assign(this, { words, find, onchoose, oninput, onproblem, about });
    this.options = [];
    this.active = -1;
    this.listed = ""; // the text whose list is shown
    this.asked = 0;
    this.late = null; // the key that wants to choose as soon as it is known from what
    this.input = el("input", {
      id: "search-box",
      type: "text",
      role: "combobox",
      autocomplete: "off",
      autocapitalize: "none",
      spellcheck: "false",
      maxlength: 100,
      placeholder: words.placeholder,
      "aria-autocomplete": "list",
      "aria-expanded": "false",
      "aria-controls": "found",
      "aria-labelledby": "question",
    });
    this.input.addEventListener("input", () => {
      this.oninput();
      this.#search();
    });
    const list = { id: "found", role: "listbox", "aria-label": words.found, hidden: true };
    this.list = el("ul", list);
    this.root = el("div", { class: "combobox" }, this.input, this.list);
  }

  get value() {
    return this.input.value;
  }

  focus() {
    this.input.focus({ preventScroll: true });
  }

  clear() {
    this.input.value = "";
    this.#show([]);
  }

  /** Put text in, as if it had been typed. */
  type(text) {
    this.input.value = text;
    if (text !== "") this.#search();
  }

  /** True while the list is still that of a text typed before. */
  get searching() {
    return this.listed !== this.value.trim();
  }

  /** The option that Enter would choose. */
  pointedAt() {
    return this.searching ? null : (this.options[this.active] ?? null);
  }

  /** True if the key meant the list. */
  key(event) {
    if (event.code === "ArrowDown") return this.#walk(1);
    if (event.code === "ArrowUp") return this.#walk(-1);
    if (this.value === "") return false;
    if (event.code === "Escape") this.clear();
    else if (event.code === "Enter" || event.code === "NumpadEnter") this.#enter(event);
    else return false;
    return true;
  }

  #enter(event) {
    if (event.isComposing || event.repeat) return;
    if (this.searching) this.late = event.code;
    else this.#choose(event.code);
  }

  #choose(code) {
    const option = this.pointedAt();
    if (option) this.onchoose(option, "key", code);
    else this.onproblem("nothing_found");
  }

  async #search() {
    const typed = this.value;
    const number = ++this.asked;
    this.late = null;
    let found = [];
    try {
      found = typed.trim() === "" ? [] : await this.find(typed);
    } catch {
      this.onproblem("no_network");
    }
    // answers may come in another order than they were asked for
    if (number !== this.asked || this.value !== typed) return;
    this.#show(found);
    if (this.late !== null) this.#choose(this.late);
    this.late = null;
  }

  #show(found) {
    this.options = found;
    this.listed = this.value.trim();
    const open = this.value.trim() !== "";
    const none = { class: "quiet", role: "option", "aria-disabled": "true" };
    const rows = found.map((option, place) => this.#row(option, place));
    if (open && rows.length === 0) rows.push(el("li", { ...none, text: this.words.nothing_found }));
    this.list.replaceChildren(...rows);
    this.list.hidden = !open;
    update(this.input, { "aria-expanded": open });
    this.#point(found.length > 0 ? 0 : -1);
  }

  #row({ name, own, above, branch, also }, place) {
    const row = el(
      "li",
      { id: `found-${place}`, role: "option", "aria-selected": "false", "data-name": name },
      nameOf(this, name, own),
      el("small", { text: [above, also].filter(Boolean).join(" · ") }),
      branch ? el("small", { class: "mark", text: this.words.somewhere }) : null,
      lineOf(this.about, name),
    );
    // without this the box would lose the focus before the click arrives
    row.addEventListener("pointerdown", (event) => event.preventDefault());
    row.addEventListener("click", () => this.onchoose(this.options[place], "click", ""));
    return row;
  }

  #walk(by) {
    if (this.options.length === 0) return false;
    this.#point((this.active + by + this.options.length) % this.options.length);
    return true;
  }

  #point(place) {
    this.active = place;
    [...this.list.children].forEach((row, i) => row.setAttribute("aria-selected", i === place));
    update(this.input, { "aria-activedescendant": place >= 0 ? `found-${place}` : null });
    if (place >= 0) this.list.children[place].scrollIntoView({ block: "nearest" });
  }
}
