// What the texts of an item are in some studies: Markdown, several under their headings, a note.

import { el } from "./dom.js";

// Markdown comes from the server as nodes: a text, or [tag, attributes, ...children].
const TAGS = new Set(
  (
    "p h2 h3 h4 h5 h6 ul ol li blockquote pre code hr em strong a br " +
    "table thead tbody tr th td"
  ).split(" "),
);
const ATTRIBUTES = ["href", "rel", "target", "start"];
const ADDRESS = /^(https?|mailto):/i;
const HEADING = /^h([2-5])$/;

/** The elements of these texts; `layout` is how several of them stand. */
export function drawTexts(showing, texts, layout) {
  const parts = [];
  if (showing.text_nodes) {
    parts.push(drawWords(showing.text, showing.text_nodes, { "aria-label": texts.text }));
  }
  const named = showing.texts ?? [];
  if (named.length > 0) {
    const all = el("div", { class: `texts ${layout}` }, ...named.map(drawNamed));
    all.classList.toggle("several", named.length > 1);
    all.style.setProperty("--texts", named.length);
    parts.push(all);
  }
  if (showing.note) {
    const note = el("div", { class: "item-note", role: "note" });
    fillWith(note, showing.note, showing.note_nodes);
    parts.push(note);
  }
  return parts;
}

function drawNamed({ heading, text, nodes }, place) {
  const id = `text-${place}`;
  return el(
    "div",
    { class: "named" },
    el("h2", { id }, el("bdi", { text: heading })),
    drawWords(text, nodes, { "aria-labelledby": id }, 1),
  );
}

function drawWords(text, nodes, name, below = 0) {
  const words = el("div", { class: "words", role: "group", tabindex: "0", ...name });
  fillWith(words, text, nodes, below);
  return el("div", { class: "rolling" }, words);
}

/** Put in a text as it is, or the nodes that its Markdown became. */
function fillWith(element, text, nodes, below = 0) {
  if (!nodes) element.append(el("p", { dir: "auto", text }));
  else {
    element.classList.add("rich");
    element.dir = "auto";
    element.append(...nodes.map((node) => build(node, below)));
  }
}

/** The element of a node; its headings stand `below` by so many levels. */
function build(node, below) {
  if (typeof node === "string") return document.createTextNode(node);
  const [tag, attributes, ...children] = node;
  if (!TAGS.has(tag)) throw new Error(`no such element in a text: ${tag}`);
  const level = HEADING.exec(tag)?.[1];
  const element = el(level ? `h${Number(level) + below}` : tag);
  for (const name of ATTRIBUTES) {
    const value = attributes[name];
    const safe = value !== undefined && (name !== "href" || ADDRESS.test(value));
    if (safe) element.setAttribute(name, value);
  }
  element.append(...children.map((child) => build(child, below)));
  return element;
}
