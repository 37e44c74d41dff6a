// The form of Collins et al. 2022: three blocks, in their order, with their questions.
// Unless `strict` is on, it lets people contradict themselves as the published form did.

import { button, el, fill, key, nameOf } from "/static/dom.js";
import { letterOf, plain, typing } from "/static/keys.js";

const BLANK = {
  top: null,
  p1: "",
  second: undefined,
  p2: "",
  impossible: [],
  warned: "",
  asked: false,
};

const LARGEST = 1e6; // beyond this the server takes it for no chance at all

export function mount(root, context) {
  return new Classic(root, context);
}

class Classic {
  constructor(root, context) {
    Object.assign(this, {
      root,
      context,
      labels: context.labels,
      strict: Boolean(context.rules.strict),
    });
    // words of a paper take the place of ours, with their bold type
    this.quoted = context.rules.wording ?? null;
    this.words = { ...context.words, ...this.quoted };
    this.state = { ...BLANK };
    this.tops = this.labels.map((label) => this.#option("radio", "top", label, label));
    this.seconds = [...this.labels, null].map((label) =>
      this.#option("radio", "second", label, label ?? this.words.no_alternative),
    );
    this.outs = this.labels.map((label) => this.#option("checkbox", "impossible", label, label));
    this.p1 = this.#box("p1", this.words.p1);
    this.p2 = this.#box("p2", this.words.p2);
    this.swap = this.#swap();
    root.append(
      this.#heading(),
      this.#block(this.words.top, this.tops, this.p1.node),
      this.#block(this.words.second, this.seconds, this.p2.node),
      this.#block(this.words.impossible, this.outs, this.#tickAll()),
      this.swap,
      el("div", { class: "ending" }, this.#submit()),
    );
    this.#draw();
  }

  answer() {
    const { top, p1, second, p2, impossible } = this.state;
    const chance = p2.trim() === "" || (this.strict && second === null) ? null : p2;
    return { top, p1, second: second ?? null, p2: chance, impossible };
  }

  /** What must still be answered; with `strict` off an unlikely number is asked about once. */
  problem() {
    const { top, p1, second, p2 } = this.state;
    if (top === null) return this.words.say_top;
    if (p1.trim() === "") return this.words.say_p1;
    if (second === undefined) return this.words.say_second;
    return (
      this.#wrong(p1, Number.MIN_VALUE) ??
      (second === null || p2.trim() === "" ? null : this.#wrong(p2)) ??
      this.#doubtful()
    );
  }

  draft() {
    const { second, ...rest } = this.state;
    return { ...rest, second: second === undefined ? { open: true } : second };
  }

  restore(draft) {
    this.state = { ...BLANK, ...draft, second: draft.second?.open ? undefined : draft.second };
    this.p1.input.value = this.state.p1;
    this.p2.input.value = this.state.p2;
    this.#draw();
  }

  focus() {
    this.root.focus({ preventScroll: true });
  }

  help() {
    const { tab, ctrl_enter } = this.context.texts.help;
    const { letter, tick_all } = this.words.help;
    return [tab, letter, tick_all, ctrl_enter];
  }

  key(event) {
    if (
      (event.ctrlKey || event.metaKey) &&
      (event.code === "Enter" || event.code === "NumpadEnter")
    ) {
      if (!event.repeat) this.context.submit();
      return true;
    }
    if (plain(event) && event.shiftKey && letterOf(event) === "X") {
      this.#tickRemaining("key", event.code);
      return true;
    }
    return this.#jump(event);
  }

  /** In a list, a letter goes to the next class that begins with it. */
  #jump(event) {
    const group =
      event.target instanceof HTMLInputElement && event.target.type === "radio"
        ? event.target.name
        : null;
    if (
      group === null ||
      !plain(event) ||
      event.shiftKey ||
      typing(event) ||
      !/^\p{L}$/u.test(event.key)
    )
      return false;
    const options = (group === "top" ? this.tops : this.seconds).filter((o) => !o.input.disabled);
    const from = options.findIndex((option) => option.input === event.target);
    const order = [...options.slice(from + 1), ...options.slice(0, from + 1)];
    const next = order.find((option) =>
      option.text.toLowerCase().startsWith(event.key.toLowerCase()),
    );
    if (!next) return false;
    next.input.focus();
    next.input.click();
    return true;
  }

  // checks ---------------------------------------------------------------------------------

  /** Why this cannot be read as a chance, or null. */
  #wrong(text, least = 0) {
    const chance = number(text);
    if (Number.isNaN(chance) || chance > LARGEST) return fill(this.words.no_number, { text });
    return this.strict && (chance > 100 || chance < least) ? this.words.over : null;
  }

  /** What is asked about once before it is taken as it is. */
  #doubtful() {
    const [p1, p2] = [number(this.state.p1), number(this.state.p2)];
    const named = this.state.second !== null && this.state.p2.trim() !== "";
    const doubts = [];
    if (p1 > 100 || (named && p2 > 100)) doubts.push(this.words.over_sure);
    if (p1 === 0) doubts.push(this.words.zero_sure);
    const text = doubts.join(" ");
    if (text !== "" && this.state.warned !== text) {
      this.state.warned = text;
      return text;
    }
    if (named && p2 > p1 && !this.state.asked) {
      this.state.asked = true;
      this.swap.hidden = false;
      this.swap.querySelector("button").focus();
      return this.words.swap;
    }
    return null;
  }

  // what a person can do -------------------------------------------------------------------

  #choose(field, value, kind, code) {
    this.#change(field, { [field]: value }, kind, code, `${field}:${value ?? "none"}`);
  }

  #tick(label, on, kind, code) {
    const others = this.state.impossible.filter((l) => l !== label);
    const impossible = on ? [...others, label] : others;
    this.#change("impossible", { impossible }, kind, code, `${on ? "tick" : "untick"}:${label}`);
  }

  /** Tick every class that was not named. */
  #tickRemaining(kind, code) {
    const named = [this.state.top, this.state.second];
    const free = this.labels.filter(
      (l) => !named.includes(l) && !this.state.impossible.includes(l),
    );
    this.#change(
      "impossible",
      { impossible: [...this.state.impossible, ...free] },
      kind,
      code,
      `tick:${free.length}`,
    );
    this.context.announce(fill(this.words.ticked, { n: free.length }));
  }

  #exchange() {
    const { top, p1, second, p2 } = this.state;
    this.#change("p2", { top: second, p1: p2, second: top, p2: p1 }, "click", "", "swap");
    this.p1.input.value = this.state.p1;
    this.p2.input.value = this.state.p2;
    this.#settled();
  }

  #settled() {
    this.swap.hidden = true;
    this.submitButton.focus();
  }

  #change(field, changes, kind, code, what) {
    Object.assign(this.state, changes);
    this.context.touched(field);
    this.context.log(kind, code, what);
    this.#draw();
    this.context.changed();
  }

  // drawing --------------------------------------------------------------------------------

  #draw() {
    const { top, second, impossible } = this.state;
    for (const { input, value } of this.tops) {
      input.checked = value === top;
      this.#bar(input, value === second || impossible.includes(value));
    }
    for (const { input, value } of this.seconds) {
      input.checked = second !== undefined && value === second;
      this.#bar(input, value !== null && (value === top || impossible.includes(value)));
    }
    for (const { input, value } of this.outs) {
      input.checked = impossible.includes(value);
      this.#bar(input, value === top || value === second);
    }
    this.#bar(this.p2.input, second === null);
  }

  /** Strict: what would contradict cannot be entered. */
  #bar(input, contradicts) {
    input.disabled = this.strict && contradicts;
    input.closest("label, .field").classList.toggle("barred", input.disabled);
  }

  /** The study's own question; the blocks have theirs. */
  #heading() {
    const { question } = this.context;
    if (question !== null) return el("h1", { dir: "auto", text: question });
    if (this.quoted !== null) return el("h1", { class: "quoted" }, ...this.#say(this.quoted.heading));
    return el("h1", { class: "visually-hidden", text: this.words.title });
  }

  #block(legend, options, last) {
    const list = el("div", { class: "options" }, ...options.map((option) => option.node));
    return el("fieldset", { class: "block" }, el("legend", { class: this.quoted && "quoted" }, ...this.#say(legend)), list, last);
  }

  /** A sentence; of quoted words, what stands between ** is bold. */
  #say(text) {
    if (this.quoted === null) return [text];
    return text.split("**").map((part, place) => (place % 2 ? el("strong", { text: part }) : part));
  }

  #option(type, field, value, text) {
    const input = el("input", { type, name: field });
    input.addEventListener("change", () => {
      if (type === "radio") this.#choose(field, value, "input", "");
      else this.#tick(value, input.checked, "input", "");
    });
    return {
      input,
      value,
      text,
      node: el("label", { class: "option" }, input, nameOf(this.context, value, text)),
    };
  }

  #box(field, text) {
    const input = el("input", {
      type: "text",
      inputmode: "decimal",
      autocomplete: "off",
      size: 6,
      maxlength: 20,
      "data-field": field,
    });
    input.addEventListener("input", () =>
      this.#change(field, { [field]: input.value }, "input", "", field),
    );
    const node = el(
      "label",
      { class: "field percent" },
      el("span", {}, ...this.#say(text)),
      el("span", { class: "with-unit" }, input, el("span", { text: "%" })),
    );
    return { input, node };
  }

  #tickAll() {
    return button(
      { class: "button quiet" },
      () => this.#tickRemaining("click", ""),
      key("⇧X"),
      el("span", { text: this.words.tick_all }),
    );
  }

  #swap() {
    return el(
      "div",
      { class: "note ask", role: "alertdialog", "aria-label": this.words.swap, hidden: true },
      el("p", { text: this.words.swap }),
      button({ class: "button" }, () => this.#exchange(), this.words.swap_yes),
      button({ class: "button" }, () => this.#settled(), this.words.swap_no),
    );
  }

  #submit() {
    const made = button(
      { class: "button primary wide" },
      () => this.context.submit(),
      key("Ctrl ⏎"),
      el("span", { text: this.context.texts.next }),
    );
    this.submitButton = made;
    return made;
  }
}

/** What was written as a number, in Western or Arabic digits; NaN if it is none. */
function number(text) {
  const digits = text.trim().replace(/[٠-٩۰-۹]/g, (digit) => String(digit.charCodeAt(0) & 15));
  return /^(\d+\.?\d*|\.\d+)$/.test(digits) ? Number(digits) : NaN;
}
