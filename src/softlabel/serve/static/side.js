// A panel beside the task, or a sheet below it on a phone: the instructions, or what is known about
// the labels.  It is not modal: the half-made answer stays, and its keys go on working.

import { button, el } from "./dom.js";
import { PARTS } from "./parts.js";

const NATIVE = /^(Space|Enter|NumpadEnter|Tab|Home|End|PageUp|PageDown|Arrow\w+)$/;

/** The panel of the task; `onturn(name, open)` hears of every change. */
export function makeSide(frame, { about, labels }, onturn) {
  const { root, texts, panels } = frame;
  const text = document.getElementById("instructions-text");
  const contents = {
    instructions: { title: texts.instructions, make: () => text.content.cloneNode(true) },
    about: { title: texts.about, make: () => PARTS.about.here.listAbout(about, labels, texts) },
  };
  return new Side(root, texts, contents, panels, onturn);
}

class Side {
  /** `contents` maps a name to {title, make}, `buttons` to what opens it. */
  constructor(after, texts, contents, buttons, onturn) {
    Object.assign(this, { contents, onturn, open: null, buttons });
    this.title = el("h2", { id: "side-title" });
    this.body = el("div", { class: "side-body" });
    const close = button(
      { class: "button quiet", "aria-label": texts.close, title: texts.close },
      () => this.close(),
      "✕",
    );
    this.node = el(
      "aside",
      { class: "side", id: "side", "aria-labelledby": "side-title", tabindex: "-1", hidden: true },
      el("div", { class: "side-head" }, this.title, close),
      this.body,
    );
    after.after(this.node);
  }

  toggle(name) {
    if (this.open === name) this.close();
    else this.#show(name);
  }

  /** Close the panel; false if none is open. */
  close() {
    const name = this.open;
    if (name === null) return false;
    this.open = null;
    this.node.hidden = true;
    document.body.classList.remove("with-side");
    this.#tell();
    this.onturn(name, false);
    return true;
  }

  /** True for keys that scroll or leave the panel while the focus is in it. */
  holds(event) {
    const inside = event.target instanceof Node && this.node.contains(event.target);
    return inside && NATIVE.test(event.code);
  }

  #show(name) {
    this.close();
    const { title, make } = this.contents[name];
    this.open = name;
    this.title.textContent = title;
    this.body.replaceChildren(make());
    this.node.hidden = false;
    document.body.classList.add("with-side");
    this.#tell();
    this.node.scrollTop = 0;
    this.node.focus({ preventScroll: true });
    this.onturn(name, true);
  }

  #tell() {
    for (const [name, made] of this.buttons) made.setAttribute("aria-expanded", name === this.open);
  }
}
