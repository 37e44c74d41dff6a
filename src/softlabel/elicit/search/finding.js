// Finding labels by their words, among ten thousand of them and their branches: the index, and a box
// to type in with a list of what was found (the combobox of ARIA 1.2).

import { lineOf, nameOf } from "/static/about.js";
import { el, update } from "/static/dom.js";

const MOST_SHOWN = 50;
const SHORTEST = 2; // letters typed from which on words are searched inside
const SLIP = 4; // letters of a word from which on one of them may be wrong
const indexes = new WeakMap(); // one index for all screens of a page

/** A function from typed text to at most fifty `{name, own, above, branch, also}`, best first. */
export function finder({ labels, synonyms, rules, labelsFrom }) {
  if (labelsFrom) return (typed) => ask(labelsFrom, { q: typed, limit: MOST_SHOWN }, rules.path);
  if (!indexes.has(labels)) indexes.set(labels, index(labels, synonyms, rules.path));
  const entries = indexes.get(labels);
  return async (typed) => best(entries, folded(typed));
}

/** A function from the name of a branch ("": outermost) to what lies directly in it, like above. */
export function opener({ labels, rules, labelsFrom }) {
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

async function ask(address, query, path) {
  const response = await fetch(`${address}?${new URLSearchParams(query)}`);
  if (!response.ok) throw new Error(`labels: ${response.status}`);
  const { labels } = await response.json();
  return labels.map(({ name, synonyms, branch = false }) => ({
    name,
    ...shown(name, path),
    branch,
    also: synonyms.join(", "),
  }));
}

function index(labels, synonyms, path) {
  const names = new Map(labels.map((label) => [label, false]));
  const branches = new Set(labels.flatMap((label) => branchesOf(label, path)));
  const all = [...names.keys()].map((name) => ({ name, branch: false }));
  for (const name of branches) all.push({ name, branch: true });
  return all.map(({ name, branch }) => {
    const { own, above } = shown(name, path);
    const also = (synonyms[name] ?? []).join(", ");
    return {
      name,
      own,
      above,
      branch,
      also,
      key: folded(own),
      words: ` ${words(name)}`,
      others: ` ${words(also)}`,
    };
  });
}

// The beginning of a name is best, then that of a word, then that of a synonym, then anything inside
// of words; only if nothing fits, what fits but for one slip.  The server's list is ranked alike.
function best(entries, typed) {
  if (typed === "") return [];
  const inside = ` ${words(typed)}`;
  const each = inside.split(" ").filter(Boolean);
  const ranks = [[], [], [], []];
  for (const entry of entries) {
    const rank = rankOf(entry, typed, inside, each);
    if (rank >= 0) ranks[rank].push(entry);
  }
  ranks[0].sort((a, b) => a.key.length - b.key.length); // the shortest is the nearest
  ranks[3].sort(byLength);
  const found = ranks.flat();
  return (found.length > 0 ? found : near(entries, each).sort(byLength)).slice(0, MOST_SHOWN);
}

function byLength(a, b) {
  return a.name.length - b.name.length;
}

function rankOf(entry, typed, inside, each) {
  if (entry.key.startsWith(typed)) return 0;
  if (each.length === 0) return -1;
  if (entry.words.includes(inside)) return 1;
  if (entry.others.includes(inside)) return 2;
  const holds = typed.length >= SHORTEST && each.every((word) => isIn(entry, word));
  return holds ? 3 : -1;
}

function isIn(entry, word) {
  return entry.words.includes(word) || entry.others.includes(word);
}

/** Entries that hold every word, of which the longer ones may have one slip. */
function near(entries, each) {
  if (!each.some((word) => word.length >= SLIP)) return [];
  const holds = (entry, word) =>
    isIn(entry, word) ||
    (word.length >= SLIP &&
      `${entry.words} ${entry.others}`.split(" ").some((one) => slips(word, one)));
  return entries.filter((entry) => each.every((word) => holds(entry, word)));
}

/** True if a word begins like what was typed, but for one wrong, spare, missing or swapped letter. */
export function slips(typed, word) {
  let at = 0;
  while (at < typed.length && typed[at] === word[at]) at += 1;
  const left = typed.slice(at);
  return (
    word.startsWith(left.slice(1), at) ||
    (at < word.length && word.startsWith(left.slice(1), at + 1)) ||
    (at < word.length && word.startsWith(left, at + 1)) ||
    (left.length > 1 && word.startsWith(left[1] + left[0] + left.slice(2), at))
  );
}

/** Without accents and capitals. */
function folded(text) {
  return text.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase().trim();
}

function words(text) {
  return folded(text)
    .replace(/[^\p{L}\p{N}]+/gu, " ")
    .trim();
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
