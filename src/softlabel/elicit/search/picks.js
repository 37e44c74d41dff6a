// What was picked: each label or branch with a bar of chips, their number, and a way to take it out.

import { button, el, fill, key, nameOf, update } from "/static/dom.js";
import { outOf } from "/static/panel.js";
import { makeTrack, writeNumber } from "/static/track.js";
import { shown } from "./finding.js";

const AMOUNTS = { "+": 1, "-": -1, "−": -1, PageUp: 5, PageDown: -5 };

export class PickList {
  /**
   * Draws into `root` what the panel holds, and into `scope` the branches outside of which everything
   * may be ruled out.  `onselect(place)` and `onremove(place, kind, code)` hear what is wanted.
   */
  constructor(panel, root, scope, { onselect, onremove }) {
    const { said, context, words } = panel;
    Object.assign(this, { panel, said, context, words, root, scope, onselect, onremove });
    this.rows = [];
  }

  draw() {
    const { picks } = this.said.state;
    const [names, drawn] = [picks, this.rows].map((all) => all.map(({ node }) => node).join("\n"));
    if (names !== drawn) {
      this.rows = picks.map((pick, place) => this.#row(pick, place));
      this.root.replaceChildren(...this.rows.map(({ row }) => row));
    }
    const counts = this.said.counts();
    this.rows.forEach((made, place) => this.#drawRow(made, place, counts[place]));
    this.#drawScope();
  }

  /** A key while a bar has the focus. */
  key(event) {
    const place = this.rows.findIndex(({ track }) => track === event.target);
    if (place < 0) return false;
    const along = getComputedStyle(this.root).direction === "rtl" ? -1 : 1;
    const steps = { ArrowRight: along, ArrowLeft: -along, ArrowUp: 1, ArrowDown: -1 };
    const by = steps[event.code] ?? AMOUNTS[event.key];
    const ends = { Home: 1, End: this.said.n };
    const wanted = by === undefined ? ends[event.code] : this.said.counts()[place] + by;
    if (event.code === "Delete") return this.onremove(place, "key", event.code);
    if (event.code === "Enter" && !event.repeat) this.panel.enter(event.code);
    if (wanted === undefined) return event.code === "Enter";
    this.panel.take("key", event.code, this.said.give(place, wanted));
    return true;
  }

  /** A key that means more or fewer chips on the pick that is selected. */
  amountKey(event) {
    const by = AMOUNTS[event.key];
    const { picks, selected } = this.said.state;
    if (by === undefined || picks.length === 0) return false;
    const wanted = this.said.counts()[selected] + by;
    this.panel.take("key", event.code, this.said.give(selected, wanted));
    return true;
  }

  #drawScope() {
    const nodes = this.said.branches();
    const make = (node) =>
      button(
        { class: "button small", "aria-pressed": this.said.state.scope.includes(node) },
        () => this.panel.take("click", "", this.said.limit(node)),
        shown(node, this.said.path).own,
      );
    this.scope.hidden = nodes.length === 0;
    const title = el("span", { class: "quiet", text: this.words.scope });
    this.scope.replaceChildren(title, ...nodes.map(make));
  }

  #drawRow({ row, select, mark, share, track, count, node }, place, chips) {
    const { picks, selected } = this.said.state;
    const { n } = this.said;
    const text = outOf(this.context.texts, chips, n);
    row.classList.toggle("selected", place === selected);
    row.classList.toggle("alone", picks.length === 1);
    row.style.setProperty("--share", `${(100 * chips) / n}%`);
    update(select, { "aria-pressed": place === selected });
    mark.textContent = this.#mark(picks[place].branch);
    const part = fill(this.context.texts.percent, { n: Math.round((100 * chips) / n) });
    share.textContent = picks.length === 1 ? text : part;
    update(count, { text: String(chips) });
    update(track, {
      "aria-valuenow": chips,
      "aria-valuemin": 1,
      "aria-valuemax": n - picks.length + 1,
      "aria-valuetext": `${shown(node, this.said.path).own}, ${text}`,
    });
  }

  #row({ node }, place) {
    const { own, above } = shown(node, this.said.path);
    const { words } = this;
    const mark = el("small", { class: "mark" });
    const share = el("span", { class: "share" });
    const select = button(
      { class: "label", "aria-pressed": "false" },
      () => this.onselect(place),
      key(`Ctrl ${place + 1}`),
      nameOf(this.context, node, own, el("small", { text: above }), mark),
    );
    const lay = (wanted) => {
      const most = Math.max(1, Math.min(wanted, this.said.mostOn(place)));
      if (most === this.said.counts()[place]) return;
      this.panel.take("drag", "", this.said.give(place, most));
    };
    const track = makeTrack(own, this.said.n, () => this.said.counts()[place], lay);
    update(track, { tabindex: 0 });
    const about = { title: words.type, "aria-label": fill(words.type_for, { label: own }) };
    const count = button({ class: "count", ...about }, () => this.#write(place));
    const out = button(
      { class: "out", "aria-label": fill(words.remove, { label: own }) },
      () => this.onremove(place, "click", ""),
      "✕",
    );
    const amount = el("div", { class: "amount" }, count, share);
    const row = el("li", { class: "label-row pick" }, select, track, amount, out);
    return { node, row, select, mark, share, track, count };
  }

  /** Write the number instead. */
  #write(place) {
    const { count, node, track } = this.rows[place];
    const { own } = shown(node, this.said.path);
    const label = fill(this.words.type_for, { label: own });
    writeNumber(count, { value: this.said.counts()[place], label }, (wanted) => {
      if (wanted !== null) this.panel.take("typed", "", this.said.give(place, wanted));
      track.focus({ preventScroll: true });
    });
  }

  #mark(branch) {
    const { even, picks } = this.said.state;
    const { somewhere, equal } = this.words;
    return [branch ? somewhere : "", even && picks.length > 1 ? equal : ""]
      .filter(Boolean)
      .join(" · ");
  }
}
