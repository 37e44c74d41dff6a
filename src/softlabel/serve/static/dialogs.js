// What is shown over or instead of the answer: the keys, the reasons for not answering, and the
// feedback after a practice item.

import { button, el, fill, key } from "./dom.js";
import { digitOf } from "./keys.js";
import { later } from "./server.js";

const PATIENCE = 8_000; // ms until the practice goes on without feedback

// the keys and the reasons for not answering -----------------------------------------------

/** Show the keys of the mode and of the page. */
export async function help(task) {
  const { help: said } = task.texts;
  const { image, audio, video } = task.current?.showing ?? {};
  const item = [...(audio || video ? [said.play] : []), ...(image ? [said.enlarge] : [])];
  const page = [...(task.maySkip ? [said.skip] : []), said.instructions, said.help];
  await showKeys(task.texts, [...(task.mode?.help() ?? []), ...item, ...page]);
  task.mode?.focus();
}

/** Skip the item on the screen, for a reason that is asked for. */
export async function skip(task) {
  const { current } = task;
  if (!current?.mode) return; // gone on in another tab
  const reason = await askSkip(task.texts, task.work.plan.skips, skipWarning(task));
  if (reason === null || task.current !== current) {
    task.mode?.focus();
    return;
  }
  await task.submit(reason);
  const warning = task.current && task.current !== current ? skipWarning(task) : null;
  if (warning) task.frame.complain(warning);
}

/** What to say about skipping when hardly any more may be skipped, or null. */
function skipWarning({ current, work, texts }) {
  const { showing, revising } = current;
  const free = showing.phase === "practice" || (revising && work.isSkipped(showing));
  const left = work.skipsLeft();
  if (free || left > 1) return null;
  return left === 1 ? texts.skips_one_left : texts.skips_none_left;
}

/** Show what the keys do; each line is [keys, meaning]. */
function showKeys(texts, lines) {
  const rows = lines.flatMap(([keys, meaning]) => [
    el("dt", {}, ...keys.split(" ").map((name) => el("kbd", { text: name.replaceAll("_", " ") }))),
    el("dd", { text: meaning }),
  ]);
  return open(texts, texts.keys_title, el("dl", { class: "keys" }, ...rows));
}

/**
 * Ask why this item is skipped, with a warning if there is one; the reason, or null. Each of
 * `skips` is [name, words]; without words of the study those of the interface are used.
 */
function askSkip(texts, skips, warning) {
  const reasons = skips.map(([reason, words], i) =>
    button(
      { class: "button wide", value: reason },
      (event) => event.currentTarget.closest("dialog").close(reason),
      key(String(i + 1)),
      el("span", { dir: "auto", text: words || texts.skips[reason] }),
    ),
  );
  return open(
    texts,
    texts.skip_title,
    el("p", { class: "quiet", text: texts.skip_text }),
    ...(warning ? [el("p", { class: "problem", text: warning })] : []),
    el("div", { class: "stack" }, ...reasons),
  );
}

function open(texts, title, ...content) {
  const close = button(
    { class: "button" },
    () => dialog.close(""),
    el("span", { text: texts.close }),
  );
  const dialog = el(
    "dialog",
    { "aria-labelledby": "dialog-title" },
    el("h2", { id: "dialog-title", text: title }),
    ...content,
    close,
  );
  dialog.addEventListener("keydown", (event) => {
    const choice = dialog.querySelectorAll("[value]")[(digitOf(event) ?? 0) - 1];
    if (choice) dialog.close(choice.value);
  });
  document.querySelector("dialog")?.remove(); // one that has closed, but not yet heard of it
  document.body.append(dialog);
  dialog.showModal();
  return new Promise((resolve) => {
    dialog.addEventListener("close", () => {
      dialog.remove();
      resolve(dialog.returnValue || null);
    });
  });
}

// feedback: the answer beside the reference, and a way to change it ------------------------

/** Practice waits for the server's word, because the feedback comes with it. */
export async function practise(task, record, fate) {
  const { current, frame, texts } = task;
  frame.tools({});
  const slow = setTimeout(() => frame.complain(texts.waiting_feedback), 1_000);
  const outcome = await Promise.race([fate, later(PATIENCE)]);
  clearTimeout(slow);
  frame.complain(null);
  const feedback = outcome?.body?.feedback;
  if (!feedback?.text && !feedback?.reference) {
    await task.next();
    return;
  }
  current.clock.stop();
  current.mode = null;
  frame.comment(null);
  const chosen = showFeedback(frame.answer, texts, feedback, task.work.plan.labels);
  task.unlock({ position: record.position, phase: "feedback" });
  const choice = await chosen;
  if (task.current !== current) return; // another tab has gone on
  if (choice === "change") task.revise(task.work.given.get(record.position));
  else await task.next();
}

/** Draw the feedback into `root`; resolves to "change" or "go". */
function showFeedback(root, texts, feedback, labels) {
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
