// What people are told about the labels: a tip with the description and examples of each (on hover,
// on focus and after a long touch), and a list of all of them.

import { el, fill, markOf } from "./dom.js";

const ROWS = ".label-row, .chip-row, .option, .label, #found li"; // what a label stands in
const HOVER = 350; // ms before a tip opens, and
const LEAVE = 200; // ms before it closes: time to move into it
const LONG = 500; // ms of a long touch
const SLIP = 10; // px that a finger may move meanwhile

function pictures({ examples }, label, texts) {
  const alt = fill(texts.example, { label });
  return examples.map((src) => el("img", { src, alt, loading: "lazy" }));
}

/** All labels that something is known about, in the order given; a definition list. */
export function listAbout(about, labels, texts) {
  const named = labels.filter((label) => Object.hasOwn(about, label));
  const others = Object.keys(about).filter((label) => !named.includes(label));
  const rows = [...named, ...others].flatMap((label) => [
    el("dt", {}, markOf(about[label]), el("bdi", { text: label })),
    el(
      "dd",
      {},
      el("p", { dir: "auto", text: about[label].describe }),
      el("div", { class: "examples" }, ...pictures(about[label], label, texts)),
    ),
  ]);
  return el("dl", { class: "about" }, ...rows);
}

/** The tips of the labels in `root`; they are drawn into `home`. */
export class Tips {
  constructor(root, home, about, texts) {
    Object.assign(this, { root, about, texts, row: null, timer: 0, touch: null, held: false });
    this.tip = el("div", { class: "tip", role: "tooltip", hidden: true });
    this.spoken = el("div", { hidden: true });
    home.append(this.tip, this.spoken);
    root.addEventListener("pointerover", (event) => this.#over(event));
    root.addEventListener("pointerout", (event) => event.pointerType === "mouse" && this.#leave());
    this.tip.addEventListener("pointerenter", () => clearTimeout(this.timer));
    this.tip.addEventListener("pointerleave", () => this.#leave());
    root.addEventListener("focusin", ({ target }) => target.matches(":focus-visible") && this.#show(target));
    root.addEventListener("focusout", () => this.hide());
    root.addEventListener("pointerdown", (event) => this.#down(event));
    for (const end of ["pointerup", "pointercancel"]) {
      root.addEventListener(end, () => clearTimeout(this.touch?.timer));
    }
    root.addEventListener("pointermove", (event) => this.#moved(event));
    root.addEventListener("contextmenu", (event) => this.touch && event.preventDefault());
    root.addEventListener("click", (event) => this.#click(event), true);
    window.addEventListener("scroll", () => this.hide(), { passive: true });
  }

  /** Tie the descriptions to what takes the focus, for people who listen to the page. */
  describe() {
    this.hide();
    this.spoken.replaceChildren();
    for (const name of this.root.querySelectorAll("[data-about]")) {
      const { describe } = this.about[name.dataset.about];
      const id = `about-${this.spoken.childElementCount}`;
      if (!describe) continue;
      this.spoken.append(el("p", { id, text: describe }));
      const track = name.closest(".chip-row")?.querySelector("[role=spinbutton]");
      const input = name.closest(".option")?.querySelector("input");
      for (const control of [name.closest("button"), track, input]) {
        control?.setAttribute("aria-describedby", id);
      }
    }
  }

  /** Close the tip; false if there is none. */
  hide() {
    clearTimeout(this.timer);
    const open = !this.tip.hidden;
    this.tip.hidden = true;
    this.row = null;
    return open;
  }

  #show(target) {
    const row = target.closest(ROWS);
    const name = row?.querySelector("[data-about]");
    if (!name || row === this.row) return;
    this.hide();
    this.row = row;
    const label = name.dataset.about;
    const known = this.about[label];
    this.tip.replaceChildren(
      el("p", { dir: "auto", text: known.describe, hidden: !known.describe }),
      el("div", { class: "examples" }, ...pictures(known, label, this.texts)),
    );
    this.tip.hidden = false;
    this.#place(row.getBoundingClientRect());
  }

  /** Under the label, or above it where there is no room. */
  #place(box) {
    const { width, height } = this.tip.getBoundingClientRect();
    const rtl = getComputedStyle(this.root).direction === "rtl";
    const start = rtl ? innerWidth - box.right : box.left;
    const under = box.bottom + height + 8 < innerHeight;
    const top = under ? box.bottom + 4 : Math.max(4, box.top - height - 4);
    this.tip.style.setProperty("--top", `${top}px`);
    this.tip.style.setProperty("--start", `${Math.max(4, Math.min(start, innerWidth - width - 4))}px`);
  }

  #over({ target, pointerType }) {
    if (pointerType !== "mouse") return;
    const row = target.closest(ROWS);
    clearTimeout(this.timer);
    if (row && row !== this.row) this.timer = setTimeout(() => this.#show(target), HOVER);
  }

  #leave() {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.hide(), LEAVE);
  }

  #down(event) {
    this.hide();
    clearTimeout(this.touch?.timer);
    this.held = false;
    this.touch = null;
    if (event.pointerType === "mouse" || event.target.closest(".track")) return;
    const timer = setTimeout(() => {
      this.#show(event.target);
      this.held = !this.tip.hidden;
    }, LONG);
    this.touch = { timer, x: event.clientX, y: event.clientY };
  }

  #moved({ clientX, clientY }) {
    if (!this.touch) return;
    const { timer, x, y } = this.touch;
    if (Math.hypot(clientX - x, clientY - y) > SLIP) clearTimeout(timer);
  }

  /** A long touch asks about a label; it does not choose it. */
  #click(event) {
    if (!this.held) return;
    this.held = false;
    event.preventDefault();
    event.stopPropagation();
  }
}
