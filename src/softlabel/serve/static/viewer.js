// A picture in the whole window: zoom, move it, and back to the task.

import { button, el, fill, isOpen, key } from "./dom.js";

const MOST = 16; // times its size in the window
const STEP = 1.5;
const CLOSER = 2.5; // after a double click
const PAN = 80; // pixels by an arrow key
const WHEEL = 0.002; // per pixel of the wheel
const PINCH = 0.01; // the same for two fingers on a touchpad
const ARROWS = {
  ArrowLeft: [PAN, 0],
  ArrowRight: [-PAN, 0],
  ArrowUp: [0, PAN],
  ArrowDown: [0, -PAN],
};

/** Where the picture is: `scale` 1 fits the stage; x and y are from middle to middle, in pixels. */
class View {
  constructor(stage, onchange) {
    this.stage = stage;
    this.onchange = onchange;
    this.reset();
  }

  take(image) {
    this.image = image;
    this.stage.replaceChildren(image);
    this.reset();
  }

  reset() {
    Object.assign(this, { scale: 1, x: 0, y: 0 });
    this.draw();
  }

  /** Zoom around a point, which stays where it is. */
  zoom(factor, x = 0, y = 0) {
    const scale = Math.min(MOST, Math.max(1, this.scale * factor));
    const real = scale / this.scale;
    this.x = x + (this.x - x) * real;
    this.y = y + (this.y - y) * real;
    this.scale = scale;
    this.draw();
  }

  move(x, y) {
    this.x += x;
    this.y += y;
    this.draw();
  }

  /** A point of the window, from the middle of the stage. */
  place({ clientX, clientY }) {
    const { left, top, width, height } = this.stage.getBoundingClientRect();
    return [clientX - left - width / 2, clientY - top - height / 2];
  }

  draw() {
    if (!this.image) return;
    const { clientWidth, clientHeight } = this.stage;
    const { naturalWidth, naturalHeight, style } = this.image;
    const fit = Math.min(clientWidth / naturalWidth, clientHeight / naturalHeight);
    const [width, height] = [naturalWidth * fit, naturalHeight * fit];
    // the edges of the picture come no further in than those of the stage
    const roomX = Math.max(0, (width * this.scale - clientWidth) / 2);
    const roomY = Math.max(0, (height * this.scale - clientHeight) / 2);
    this.x = Math.min(roomX, Math.max(-roomX, this.x));
    this.y = Math.min(roomY, Math.max(-roomY, this.y));
    style.inlineSize = `${width}px`;
    style.blockSize = `${height}px`;
    style.transform = `translate(${this.x}px, ${this.y}px) scale(${this.scale})`;
    this.stage.classList.toggle("near", this.scale > 1);
    this.onchange(this.scale);
  }
}

/** Open the picture of a frame on the page; `onzoom` is told "open" and "close". */
export async function enlarge(frame, texts, onzoom) {
  if (isOpen() || !frame.isConnected) return;
  const all = [...frame.closest(".media").querySelectorAll(".picture img")];
  const by = document.activeElement;
  onzoom("open");
  await openViewer(texts, all, all.indexOf(frame.querySelector("img")));
  if (!frame.isConnected) return; // another item is on the page
  onzoom("close");
  if (by?.isConnected && by.matches(".enlarge")) by.focus();
}

/** Show one of these pictures (elements that are loaded); resolves when it is closed. */
function openViewer(texts, pictures, first) {
  const words = texts.viewer;
  let shown = first;
  const level = el("output", { class: "zoom-level", role: "status" });
  const stage = el("div", { class: "viewer-stage" });
  const view = new View(stage, (scale) => {
    const said = fill(texts.percent, { n: Math.round(100 * scale) });
    if (level.textContent !== said) level.textContent = said;
  });
  const take = (place) => {
    shown = place;
    const image = pictures[place].cloneNode();
    image.draggable = false;
    dialog.setAttribute("aria-label", image.alt);
    view.take(image);
  };
  const tool = (sign, label, action, by = null) =>
    button(
      { class: "button", "aria-label": label, title: label },
      action,
      el("span", { class: "sign", "aria-hidden": "true", text: sign }),
      by === null ? null : key(by),
    );
  const other = () => take((shown + 1) % pictures.length);
  const close = button(
    { class: "button" },
    () => dialog.close(),
    key("Esc"),
    el("span", { text: texts.close }),
  );
  const tools = el(
    "div",
    { class: "viewer-tools" },
    tool("−", words.zoom_out, () => view.zoom(1 / STEP)),
    level,
    tool("+", words.zoom_in, () => view.zoom(STEP)),
    tool("↺", words.whole, () => view.reset(), "0"),
    pictures.length > 1 ? tool("⇄", words.other, other, "N") : null,
    close,
  );
  const dialog = el("dialog", { class: "viewer" }, stage, tools);
  const actions = {
    "+": () => view.zoom(STEP),
    "=": () => view.zoom(STEP),
    "-": () => view.zoom(1 / STEP),
    0: () => view.reset(),
  };
  const once = { KeyF: () => dialog.close(), KeyN: other };
  dialog.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.altKey || event.metaKey) return;
    const arrow = ARROWS[event.key];
    const action = actions[event.key] ?? (event.repeat ? undefined : once[event.code]);
    if (arrow) view.move(...arrow);
    else action?.();
    if (arrow || action) event.preventDefault();
  });
  followPointers(view);
  document.body.append(dialog);
  dialog.showModal();
  const sizes = new ResizeObserver(() => view.draw());
  sizes.observe(stage);
  take(first);
  close.focus();
  return new Promise((resolve) => {
    dialog.addEventListener("close", () => {
      sizes.disconnect();
      dialog.remove();
      resolve();
    });
  });
}

/** The wheel zooms, one pointer moves the picture, two pointers do both. */
function followPointers(view) {
  const { stage } = view;
  const down = new Map();
  const middle = () => {
    const all = [...down.values()];
    const x = all.reduce((sum, [at]) => sum + at, 0) / all.length;
    const y = all.reduce((sum, [, at]) => sum + at, 0) / all.length;
    const [[x0, y0], [x1, y1] = [x0, y0]] = all;
    return { x, y, apart: Math.hypot(x1 - x0, y1 - y0) };
  };
  stage.addEventListener("pointerdown", (event) => {
    stage.setPointerCapture(event.pointerId);
    if (down.size < 2) down.set(event.pointerId, view.place(event));
  });
  stage.addEventListener("pointermove", (event) => {
    if (!down.has(event.pointerId)) return;
    const before = middle();
    down.set(event.pointerId, view.place(event));
    const now = middle();
    if (before.apart > 0) view.zoom(now.apart / before.apart, before.x, before.y);
    view.move(now.x - before.x, now.y - before.y);
  });
  for (const end of ["pointerup", "pointercancel"]) {
    stage.addEventListener(end, (event) => down.delete(event.pointerId));
  }
  stage.addEventListener("dblclick", (event) => {
    if (view.scale > 1) view.reset();
    else view.zoom(CLOSER, ...view.place(event));
  });
  stage.addEventListener(
    "wheel",
    (event) => {
      event.preventDefault();
      const speed = event.ctrlKey ? PINCH : WHEEL;
      view.zoom(Math.exp(-event.deltaY * speed), ...view.place(event));
    },
    { passive: false },
  );
}
