// One label, one press.  To change an answer that was given takes a second one, which saves it.

import { button, el, key, nameOf } from "/static/dom.js";
import { digitOf, plain, pressing, typing } from "/static/keys.js";
import { LabelPicker } from "/static/picker.js";

const SAVING = ["Enter", "NumpadEnter", "Space"];

export function mount(root, context) {
  const { labels, words, texts, revising } = context;
  let chosen = null;
  const picker = new LabelPicker(labels.length, (pending) => dim(pending));
  const buttons = labels.map((label, place) =>
    button(
      { class: "label", "aria-pressed": "false", "aria-keyshortcuts": picker.keys[place] },
      () => choose(place, "click", ""),
      key(picker.keys[place]),
      nameOf(context, label),
    ),
  );
  root.append(
    el("h1", { id: "question", dir: "auto", text: words.question }),
    el("div", { class: "labels", role: "group", "aria-labelledby": "question" }, ...buttons),
    el("p", { class: "hint", text: words.hint }),
  );
  if (revising) root.append(el("div", { class: "ending" }, el("div", { class: "saving" }, save())));

  function save() {
    const text = el("span", { text: texts.next });
    return button({ class: "button primary wide" }, () => context.submit(), key("⏎"), text);
  }

  function dim(pending) {
    buttons.forEach((made, place) =>
      made.classList.toggle("dim", !picker.keys[place].startsWith(pending)),
    );
  }

  function draw() {
    buttons.forEach((made, place) =>
      made.setAttribute("aria-pressed", String(labels[place] === chosen)),
    );
  }

  function choose(place, kind, code) {
    chosen = labels[place];
    context.touched("label");
    context.log(kind, code, chosen);
    draw();
    context.changed();
    if (!revising) context.submit();
  }

  return {
    answer: () => ({ label: chosen }),
    problem: () => (chosen === null ? words.hint : null),
    key(event) {
      const saves = revising && SAVING.includes(event.code) && plain(event);
      if (saves && !pressing(event) && !typing(event)) {
        if (!event.repeat) context.submit();
        return true;
      }
      const digit = digitOf(event);
      if (digit === null || !plain(event) || event.shiftKey || typing(event)) {
        return event.code === "Escape" && picker.cancel();
      }
      const place = event.repeat ? null : picker.press(digit);
      if (place !== null) choose(place, "key", event.code);
      return true;
    },
    restore(draft) {
      chosen = draft.chosen;
      draw();
    },
    draft: () => ({ chosen }),
    focus: () => root.focus({ preventScroll: true }),
    help: () => (revising ? [words.help.change, texts.help.submit] : [words.help.labels]),
  };
}
