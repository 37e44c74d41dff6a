// What surrounds every item: title, progress, tools, and one line each for problems and for status.

import { button, el, fill, key, update } from "./dom.js";

const PATIENCE = 700;
const LONGEST_COMMENT = 2000; // characters that the server accepts

export class Frame {
  constructor(root, texts, title, handlers) {
    this.texts = texts;
    this.root = root;
    this.item = el("section", { class: "item", "aria-label": texts.item });
    this.answer = el("section", { class: "answer", id: "answer", tabindex: "-1" });
    this.problem = el("p", { class: "problem", role: "alert" });
    this.live = el("p", { class: "visually-hidden", role: "status", "aria-live": "polite" });
    this.notice = el("p", { class: "revising", text: texts.revising, hidden: true });
    this.remark = this.#remark(handlers.oncomment);
    const parts = [this.notice, this.answer, this.problem, this.remark];
    this.side = el("div", { class: "answer-side" }, ...parts);
    this.stage = el("div", { class: "stage" }, this.item, this.side);
    this.sizes = new ResizeObserver((all) => all.forEach((one) => this.#measure(one.target)));
    this.answer.addEventListener("focusin", () => this.#ending && this.#measure(this.#ending));
    root.replaceChildren(this.stage, this.live);
    root.removeAttribute("aria-busy");
    root.before(this.#header(title));
    root.after(this.#footer(handlers));
  }

  /** A new item, and room for its answer. */
  show(node) {
    this.item.hidden = false;
    this.item.replaceChildren(node);
    this.answer.replaceChildren();
    this.complain(null);
  }

  /** The answer is drawn: messages stand beside what ends it. */
  settle() {
    const ending = this.#ending;
    (ending?.querySelector(".saving") ?? ending ?? this.side).append(this.keep);
    ending?.append(this.problem);
    this.sizes.disconnect();
    for (const part of [this.item, ending]) if (part) this.sizes.observe(part, { box: "border-box" });
  }

  get #ending() {
    return this.answer.querySelector(".ending");
  }

  /** How much of the window a part covers: no focus hides behind it, nor when it has grown. */
  #measure(part) {
    const name = part === this.item ? "--above" : "--below";
    document.documentElement.style.setProperty(name, `${part.offsetHeight}px`);
    const focused = document.activeElement;
    if (focused === this.answer || !this.answer.contains(focused) || part.contains(focused)) return;
    if (!focused.matches(":focus-visible")) return; // nothing moves under the pointer that pressed it
    if (overlap(focused, part)) focused.scrollIntoView({ block: "nearest", behavior: "instant" });
  }

  /** Where the page is, for tests and tools; without a word about `ready` it is not. */
  mark({ ready, ...where }) {
    Object.assign(this.root.dataset, where);
    if (ready) this.root.dataset.ready = ready;
    else delete this.root.dataset.ready;
  }

  /** How far the person is. */
  progress(done, total, phase) {
    const text = fill(this.texts.progress, { n: Math.min(done + 1, total), whole: total });
    this.count.textContent = text;
    this.bar.setAttribute("aria-valuemax", total);
    this.bar.setAttribute("aria-valuenow", Math.min(done, total));
    this.bar.setAttribute("aria-valuetext", text);
    this.bar.style.setProperty("--done", `${(100 * done) / Math.max(1, total)}%`);
    this.phase.hidden = phase !== "practice";
    this.answer.setAttribute("aria-label", text);
  }

  /** A mistake or a hint, until the answer is changed. */
  complain(text) {
    if (!this.problem.isConnected) this.remark.before(this.problem); // its ending is gone
    this.problem.textContent = text ?? "";
  }

  /** Room for a comment, with what was written so far; null where none is asked for. */
  comment(text) {
    this.remark.hidden = text === null;
    this.remark.open = Boolean(text);
    this.written.value = text ?? "";
  }

  /** The comment as it would be sent: half a character pair is none. */
  get commented() {
    return this.written.value.replace(/\p{Surrogate}/gu, "").trim();
  }

  /** For people who listen to the page. */
  announce(text) {
    this.live.textContent = "";
    this.live.textContent = text;
  }

  /** What became of the answers. What is on its way for a moment only is not worth a word. */
  status({ waiting, failing, signedOut, fleeting }) {
    clearTimeout(this.patience);
    const troubled = waiting > 0 && (failing || signedOut || fleeting);
    const show = () => {
      let text = waiting === 0 ? this.texts.all_saved : fill(this.texts.waiting, { n: waiting });
      if (fleeting && waiting > 0) text = fill(this.texts.fleeting, { n: waiting });
      if (signedOut) text = fill(this.texts.signed_out, { n: waiting });
      if (this.state.textContent !== text) this.state.textContent = text;
      this.state.classList.toggle("warning", troubled);
    };
    if (waiting === 0 || troubled) show();
    else this.patience = setTimeout(show, PATIENCE);
  }

  /** Only the item, nothing to answer: between items, and at the end. */
  message(title, text) {
    this.item.replaceChildren();
    this.item.hidden = true;
    this.comment(null);
    this.answer.replaceChildren(
      el("div", { class: "card wait" }, el("h1", { text: title }), el("p", { text })),
    );
    this.announce(`${title}. ${text}`);
  }

  /** Which tools make sense just now. */
  tools({ previous = false, skip = false, keep = false }) {
    this.previous.hidden = !previous;
    this.skip.hidden = !skip;
    this.keep.hidden = !keep;
    this.notice.hidden = !keep;
  }

  #remark(oncomment) {
    this.written = el("textarea", {
      id: "comment",
      rows: 2,
      maxlength: LONGEST_COMMENT,
      dir: "auto",
      "aria-label": this.texts.comment,
      oninput: oncomment,
    });
    const summary = el("summary", { text: this.texts.comment });
    return el("details", { class: "remark", hidden: true }, summary, this.written);
  }

  #header(title) {
    this.count = el("span", { class: "count-of" });
    this.phase = el("span", { class: "tag", text: this.texts.practice, hidden: true });
    this.bar = el(
      "div",
      {
        class: "meter",
        role: "progressbar",
        "aria-label": this.texts.progress_label,
        "aria-valuemin": 0,
      },
      el("div", { class: "done" }),
    );
    return el(
      "header",
      { class: "task-bar" },
      el("p", { class: "study-title", dir: "auto", title, text: title }),
      el("div", { class: "progress-side" }, this.phase, this.count, this.bar),
    );
  }

  #footer({ onprevious, onskip, onhelp, onkeep, oninstructions, onabout, languages }) {
    const { texts } = this;
    const tool = (sign, text, action) =>
      button({ class: "button quiet" }, action, sign && key(sign), el("span", { text }));
    this.previous = tool("⌫", texts.previous, onprevious);
    // beside what saves a change, while there is one
    const cancel = { class: "button wide cancel" };
    this.keep = button(cancel, onkeep, key("Esc"), el("span", { text: texts.keep }));
    this.skip = tool("S", texts.skip, onskip);
    const help = tool("?", texts.keys, onhelp);
    this.panels = new Map([["instructions", tool("I", texts.instructions, oninstructions)]]);
    if (onabout) this.panels.set("about", tool(null, texts.about, onabout));
    for (const made of this.panels.values()) {
      update(made, { "aria-controls": "side", "aria-expanded": false });
    }
    const turn = { href: "/language", class: "withdraw", text: texts.language };
    this.state = el("p", { class: "state", role: "status", id: "status" });
    return el(
      "footer",
      { class: "task-tools" },
      el("div", { class: "tools" }, this.previous, this.skip, ...this.panels.values(), help),
      this.state,
      languages ? el("a", turn) : null,
      el("a", { href: "/withdraw", class: "withdraw", text: texts.withdraw }),
    );
  }
}

function overlap(...parts) {
  const [one, two] = parts.map((part) => part.getBoundingClientRect());
  const across = one.left < two.right && two.left < one.right;
  return across && one.top < two.bottom && two.top < one.bottom;
}
