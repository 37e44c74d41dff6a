// Draws any mode from the list of its fields: what a new mode looks like before it has a page.

import { button, el, key, nameOf } from "/static/dom.js";
import { REST } from "/static/panel.js";

const MANY = 30; // beyond this a list that unfolds is easier to use than buttons

const WIDGETS = { choice, percent, subset, choices, chips, scale, rest };

export function mount(root, context) {
  const fields = context.fields.map((field) => {
    const change = (what) => {
      context.touched(field.name);
      context.log("input", "", `${field.name}:${what}`);
      context.changed();
    };
    return { field, ...(WIDGETS[field.kind] ?? note)(field, context, change) };
  });
  const send = button(
    { class: "button primary wide" },
    () => context.submit(),
    key("Ctrl ⏎"),
    el("span", { text: context.texts.next }),
  );
  root.append(
    context.question === null
      ? el("h1", { class: "visually-hidden", text: context.texts.form.title })
      : el("h1", { dir: "auto", text: context.question }),
    ...fields.map(({ node }) => node),
    el("div", { class: "ending" }, send),
  );

  return {
    answer: () => Object.fromEntries(fields.map(({ field, value }) => [field.name, value()])),
    problem() {
      for (const { field, value, wrong } of fields) {
        const empty = value() === null || (Array.isArray(value()) && value().length === 0);
        if (field.required && empty) return `${field.asks} ${context.texts.form.required}`;
        if (wrong?.()) return `${field.asks} ${wrong()}`;
      }
      return null;
    },
    key(event) {
      const sent =
        (event.ctrlKey || event.metaKey) &&
        (event.code === "Enter" || event.code === "NumpadEnter");
      if (sent && !event.repeat) context.submit();
      return sent;
    },
    restore: (draft) => fields.forEach(({ field, set }) => set(draft[field.name] ?? null)),
    draft: () =>
      Object.fromEntries(fields.map(({ field, raw, value }) => [field.name, (raw ?? value)()])),
    focus: () => root.focus({ preventScroll: true }),
    help: () => [context.texts.help.tab, context.texts.help.ctrl_enter],
  };
}

function block(field, ...content) {
  return el("fieldset", { class: "block" }, el("legend", { text: field.asks }), ...content);
}

function option(type, name, value, text, about) {
  const input = el("input", { type, name });
  return {
    input,
    node: el("label", { class: "option" }, input, nameOf({ about }, value, text)),
  };
}

function options(type, field, entries, change, about = {}) {
  const made = entries.map(([value, text]) => ({
    value,
    ...option(type, field.name, value, text, about),
  }));
  made.forEach(({ input, value }) => input.addEventListener("change", () => change(value)));
  return {
    made,
    node: block(field, el("div", { class: "options" }, ...made.map(({ node }) => node))),
  };
}

function oneOf(field, entries, change, about) {
  const { made, node } = options("radio", field, entries, change, about);
  return {
    node,
    value: () => made.find(({ input }) => input.checked)?.value ?? null,
    set: (value) => made.forEach((entry) => (entry.input.checked = entry.value === value)),
  };
}

function choice(field, { labels, texts, about }, change) {
  const entries = labels.map((label) => [label, label]);
  if (!field.required) entries.push([null, texts.form.none]);
  if (labels.length <= MANY) return oneOf(field, entries, change, about);
  const select = el(
    "select",
    { "aria-label": field.asks },
    ...["", ...labels].map((label) => el("option", { value: label, text: label })),
  );
  select.addEventListener("change", () => change(select.value));
  return {
    node: block(field, select),
    value: () => select.value || null,
    set: (value) => (select.value = value ?? ""),
  };
}

function scale(field, { rules }, change) {
  const given = rules[field.name];
  const steps = Array.isArray(given) ? given : [1, 2, 3, 4, 5];
  return oneOf(
    field,
    steps.map((text, i) => [i + 1, String(text)]),
    change,
  );
}

function rest(field, { texts }, change) {
  return oneOf(
    field,
    REST.map((value) => [value, texts.rest[value]]),
    change,
  );
}

function subset(field, { labels, about }, change) {
  const { made, node } = options(
    "checkbox",
    field,
    labels.map((label) => [label, label]),
    change,
    about,
  );
  return {
    node,
    value: () => made.filter(({ input }) => input.checked).map(({ value }) => value),
    set: (value) =>
      made.forEach((entry) => (entry.input.checked = (value ?? []).includes(entry.value))),
  };
}

/** Labels in the order in which they are pressed. */
function choices(field, { labels, about }, change) {
  let chosen = [];
  const draw = () =>
    made.forEach(({ label, node, mark }) => {
      const place = chosen.indexOf(label);
      node.setAttribute("aria-pressed", String(place >= 0));
      mark.textContent = place >= 0 ? String(place + 1) : "";
    });
  const made = labels.map((label) => {
    const mark = el("small", { class: "mark" });
    const press = () => {
      chosen = chosen.includes(label)
        ? chosen.filter((other) => other !== label)
        : [...chosen, label];
      draw();
      change(label);
    };
    return {
      label,
      mark,
      node: button(
        { class: "label", "aria-pressed": "false" },
        press,
        nameOf({ about }, label),
        mark,
      ),
    };
  });
  const set = (value) => {
    chosen = value ?? [];
    draw();
  };
  return {
    node: block(field, el("div", { class: "labels" }, ...made.map(({ node }) => node))),
    value: () => chosen,
    set,
  };
}

function box(attributes, change) {
  const input = el("input", {
    type: "text",
    autocomplete: "off",
    size: 6,
    maxlength: 20,
    ...attributes,
  });
  input.addEventListener("input", () => change(""));
  return input;
}

function percent(field, { texts }, change) {
  const input = box({ inputmode: "decimal", "aria-label": field.asks }, change);
  const value = () => (input.value.trim() === "" ? null : Number(input.value));
  return {
    node: block(field, el("span", { class: "with-unit" }, input, el("span", { text: "%" }))),
    value,
    raw: () => input.value,
    wrong: () => (value() === null || (value() >= 0 && value() <= 100) ? null : texts.form.percent),
    set: (text) => (input.value = text ?? ""),
  };
}

function chips(field, { labels, texts }, change) {
  const made = labels.map((label) => [label, box({ inputmode: "numeric" }, change)]);
  const rows = made.map(([label, input]) =>
    el("label", { class: "field" }, el("bdi", { text: label }), input),
  );
  const counts = () =>
    made.map(([label, input]) => [label, Number(input.value)]).filter(([, count]) => count !== 0);
  return {
    node: block(field, el("div", { class: "options" }, ...rows)),
    value: () => (counts().length === 0 ? null : Object.fromEntries(counts())),
    wrong: () =>
      counts().every(([, count]) => Number.isInteger(count) && count > 0) ? null : texts.form.whole,
    set: (value) => made.forEach(([label, input]) => (input.value = value?.[label] ?? "")),
  };
}

function note(field, _, change) {
  const area = el("textarea", { rows: 3, maxlength: 5000, "aria-label": field.asks });
  area.addEventListener("input", () => change(""));
  return {
    node: block(field, area),
    value: () => (area.value.trim() === "" ? null : area.value),
    raw: () => area.value,
    set: (text) => (area.value = text ?? ""),
  };
}
