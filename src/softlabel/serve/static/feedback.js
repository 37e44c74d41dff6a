// After a practice item: what you said beside the reference, and a way to think again.

import { button, el, fill, key } from "./dom.js";

/** Draw the feedback into `root`; resolves to "change" or "go". */
export function showFeedback(root, texts, feedback, labels) {
  const rows = compared(feedback, labels).map(({ label, yours, reference }) =>
    el(
      "tr",
      {},
      el("th", { scope: "row", dir: "auto", text: label }),
      cell(texts, yours, "yours"),
      cell(texts, reference, "reference"),
    ),
  );
  const head = el(
    "tr",
    {},
    el("td"),
    el("th", { scope: "col", text: texts.feedback.yours }),
    el("th", { scope: "col", text: texts.feedback.reference }),
  );
  return new Promise((resolve) => {
    const change = button(
      { class: "button" },
      () => resolve("change"),
      el("span", { text: texts.feedback.change }),
    );
    const go = button(
      { class: "button primary", id: "go-on" },
      () => resolve("go"),
      key("⏎"),
      el("span", { text: texts.feedback.go }),
    );
    root.replaceChildren(
      el("h1", { text: texts.feedback.title }),
      el("p", { class: "feedback-text", dir: "auto", text: feedback.text ?? texts.feedback.plain }),
      rows.length > 0
        ? el("table", { class: "compare" }, el("thead", {}, head), el("tbody", {}, ...rows))
        : null,
      el("div", { class: "row" }, go, change),
    );
    go.focus();
  });
}

/** The labels that either of the two gives something, the reference's likeliest first. */
function compared({ yours, reference }, labels) {
  const shares = labels.map((label) => ({
    label,
    yours: yours?.[label] ?? 0,
    reference: reference?.[label] ?? 0,
  }));
  const some = shares.filter((row) => row.yours >= 0.005 || row.reference >= 0.005);
  return reference ? some.sort((a, b) => b.reference - a.reference || b.yours - a.yours) : [];
}

function cell(texts, share, kind) {
  const bar = el("div", { class: `bar ${kind}`, hidden: share === 0 });
  bar.style.setProperty("--share", `${100 * share}%`);
  const said = el("span", { text: fill(texts.percent, { n: Math.round(100 * share) }) });
  return el("td", {}, el("div", { class: "pair" }, el("div", {}, bar), said));
}
