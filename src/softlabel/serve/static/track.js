// An amount of chips: a bar that is set by pressing or dragging along it, and a number to write
// instead.  Keys are left to the panel.

import { el } from "./dom.js";

const MOST_CELLS = 50; // with more chips than this a line stands for five

/** `count()` says how many chips lie here, `lay(n)` is called with how many are wanted. */
export function makeTrack(label, n, count, lay) {
  const cells = Array.from({ length: n > MOST_CELLS ? n / 5 : n }, () => el("span"));
  const track = el(
    "div",
    { class: "track", role: "spinbutton", "aria-label": label, "aria-valuemin": 0, tabindex: -1 },
    el("div", { class: "bar" }),
    el("div", { class: "cells" }, ...cells),
  );
  const follow = (event) => {
    const wanted = wantedAt(track, n, event.clientX);
    if (wanted !== count()) lay(wanted);
  };
  track.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    track.setPointerCapture(event.pointerId);
    follow(event);
    event.preventDefault();
  });
  track.addEventListener("pointermove", (event) => {
    if (track.hasPointerCapture(event.pointerId)) follow(event);
  });
  // else the finger, lifted, would click on whatever the last chips have brought under it
  track.addEventListener("touchend", (event) => event.cancelable && event.preventDefault());
  return track;
}

/** The number of chips that reach up to this place; the very beginning is none. */
function wantedAt(track, n, x) {
  const box = track.getBoundingClientRect();
  const rtl = getComputedStyle(track).direction === "rtl";
  const part = (rtl ? box.right - x : x - box.left) / box.width;
  return part <= 0.25 / n ? 0 : Math.min(n, Math.ceil(part * n));
}

/** Write the number in the place of a button; `done(number)` hears it, null if it is left as it is. */
export function writeNumber(made, { value, label }, done) {
  const box = el("input", {
    class: "count",
    inputmode: "numeric",
    size: 3,
    maxlength: 3,
    value,
    "aria-label": label,
  });
  let open = true;
  const close = (keep) => {
    if (!open) return;
    open = false; // taking the box away blurs it, which would come here again
    const text = box.value.trim();
    box.replaceWith(made);
    done(keep && /^\d+$/.test(text) ? Number(text) : null);
  };
  box.addEventListener("blur", () => close(true));
  box.addEventListener("keydown", (event) => {
    if (!["Enter", "NumpadEnter", "Escape"].includes(event.code)) return;
    event.preventDefault();
    event.stopPropagation();
    close(event.code !== "Escape");
  });
  made.replaceWith(box);
  box.focus();
  box.select();
}
