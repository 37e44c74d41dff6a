// Which labels are meant by what was typed, among ten thousand of them and their branches: those that
// came with the page are looked up here, more of them by the server.

import { branchesOf, shown } from "./finding.js";

const MOST_SHOWN = 50; // labels in the list
const SHORTEST = 2; // letters typed from which on words are searched inside
const SLIP = 4; // letters of a word from which on one of them may be wrong
const indexes = new WeakMap(); // one index for all screens of a page

/** At most fifty `{name, own, above, branch, also}` of the labels of a context, best first. */
export async function find({ labels, synonyms, rules, labelsFrom }, typed) {
  if (labelsFrom) return ask(labelsFrom, { q: typed, limit: MOST_SHOWN }, rules.path);
  if (!indexes.has(labels)) indexes.set(labels, index(labels, synonyms, rules.path));
  return best(indexes.get(labels), folded(typed));
}

/** What the server says of its labels: {name, own, above, branch, also}. */
export async function ask(address, query, path) {
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
