// What says that a box holds more than is to be seen: its edge fades, and a button scrolls on.

import { button, el, update } from "./dom.js";

const SCROLLING = /^(Arrow(Up|Down)|Page(Up|Down)|Home|End)$/;

/**
 * Watch every box of an item; `onscroll` is told by name of a box that its end is out of sight
 * ("more") and that it was seen after all ("end").
 */
export function watch(item, texts, onscroll) {
  for (const frame of item.querySelectorAll(".rolling")) watchOne(frame, texts, onscroll);
}

function watchOne(frame, texts, onscroll) {
  const box = frame.firstElementChild;
  const whole = box.matches(".media");
  const name = whole ? "item" : (box.getAttribute("aria-labelledby") ?? "text");
  const arrow = el("span", { "aria-hidden": "true", text: "↓" });
  const goOn = () => box.scrollBy({ top: 0.75 * box.clientHeight }); // what was at the edge stays
  const more = button({ class: "button small" }, goOn, texts.scroll_on, arrow);
  const below = el("div", { class: "below", hidden: true }, more);
  const end = el("span", { class: "end" });
  const told = new Set();
  const look = (entries) => {
    if (!box.isConnected) return; // its item has gone
    const seen = entries.at(-1).isIntersecting;
    if (seen && document.activeElement === more) box.focus({ preventScroll: true });
    below.hidden = seen;
    if (!seen && whole) update(box, { tabindex: 0, role: "group", "aria-label": texts.item });
    const what = seen ? "end" : "more";
    if (told.has(what) || (seen && told.size === 0)) return; // all of it fits
    told.add(what);
    onscroll(name, what);
  };
  box.append(end);
  frame.append(below);
  new IntersectionObserver(look, { root: box, rootMargin: "4px" }).observe(end);
}

// before the keys of the page, which mean something else elsewhere
window.addEventListener("keydown", (event) => holds(event) && event.stopPropagation(), true);

/** True for keys that scroll the box that has the focus, if there is more in it than fits. */
function holds({ target, code }) {
  const box = target instanceof HTMLElement && target.matches(".rolling > :first-child");
  return box && SCROLLING.test(code) && target.scrollHeight > target.clientHeight;
}
