// Parts of the page that the first item does without.  They are loaded when somebody wants them, or
// else as soon as the first item is to be seen: from then on they are there without a network, too.

import { el } from "./dom.js";
import { backoff, later } from "./server.js";

const FIRST = "softlabel:first";
let begin;
const begun = new Promise((resolve) => (begin = resolve));
const coming = [];

export class Part {
  /** The names of files below /static/. */
  constructor(script, ...styles) {
    Object.assign(this, { script, styles, here: null, loading: null, failures: 0, expected: false });
  }

  /** What the script exports; after a failure it is asked for anew. */
  get() {
    this.loading ??= this.#load();
    return this.loading;
  }

  /** The same, asked for until it comes. */
  async surely() {
    while (this.here === null) {
      await this.get().catch(() => later(backoff(this.failures)));
    }
    return this.here;
  }

  /** Have it here before anybody wants it. */
  soon() {
    if (this.expected) return;
    this.expected = true;
    coming.push(begun.then(() => this.surely()));
  }

  async #load() {
    // browsers remember what they could not import: under another name it is asked for again
    const address = `/static/${this.script}${this.failures > 0 ? `?${this.failures}` : ""}`;
    try {
      const [script] = await Promise.all([import(address), ...this.styles.map(addStyle)]);
      this.here = script;
      return script;
    } catch (error) {
      this.loading = null;
      this.failures += 1;
      throw error;
    }
  }
}

/** The first item is to be seen; resolves when everything is here that was to come soon. */
export async function loadParts() {
  if (performance.getEntriesByName(FIRST).length === 0) performance.mark(FIRST);
  begin();
  await Promise.all(coming);
}

/** Load a style sheet, unless the page has it already. */
function addStyle(name) {
  const href = `/static/${name}`;
  if (document.querySelector(`link[href="${href}"]`)) return Promise.resolve();
  const link = el("link", { rel: "stylesheet", href });
  document.head.append(link);
  return new Promise((resolve, reject) => {
    link.addEventListener("load", resolve);
    link.addEventListener("error", () => {
      link.remove();
      reject(new Error(`style not loaded: ${name}`));
    });
  });
}

export const PARTS = {
  about: new Part("about.js", "side.css"),
  dialogs: new Part("dialogs.js", "dialogs.css"),
  ending: new Part("ending.js"),
  players: new Part("players.js"),
  rolling: new Part("rolling.js", "rolling.css"),
  side: new Part("side.js", "side.css"),
  viewer: new Part("viewer.js", "dialogs.css", "viewer.css"),
  words: new Part("words.js", "words.css"),
};
