// Finding labels by the beginning of their words, among ten thousand of them and their branches.

const MOST_SHOWN = 50;
const indexes = new WeakMap(); // one index for all screens of a page

/** A function from typed text to at most fifty `{name, own, above, branch, also}`, best first. */
export function finder({ labels, synonyms, rules, labelsFrom }) {
  if (labelsFrom) return (typed) => ask(labelsFrom, typed, rules.path);
  if (!indexes.has(labels)) indexes.set(labels, index(labels, synonyms, rules.path));
  const entries = indexes.get(labels);
  return async (typed) => best(entries, folded(typed));
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

async function ask(address, typed, path) {
  const response = await fetch(`${address}?q=${encodeURIComponent(typed)}&limit=${MOST_SHOWN}`);
  if (!response.ok) throw new Error(`labels: ${response.status}`);
  const { labels } = await response.json();
  return labels.map(({ name, synonyms }) => ({
    name,
    ...shown(name, path),
    branch: false,
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

function best(entries, typed) {
  if (typed === "") return [];
  const inside = ` ${words(typed)}`;
  const ranks = [[], [], [], []];
  for (const entry of entries) {
    const rank = rankOf(entry, typed, inside);
    if (rank >= 0) ranks[rank].push(entry);
  }
  ranks[0].sort((a, b) => a.key.length - b.key.length); // the shortest is the nearest
  return ranks.flat().slice(0, MOST_SHOWN);
}

function rankOf(entry, typed, inside) {
  if (entry.key.startsWith(typed)) return 0;
  if (entry.words.includes(inside)) return 1;
  if (entry.others.includes(inside)) return 2;
  return entry.key.includes(typed) ? 3 : -1;
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
