// Pictures, sounds, videos and texts; the next ones are fetched and decoded before they are needed.

import { button, el } from "./dom.js";
import { PARTS } from "./parts.js";

const DECODED_AHEAD = 3;
const TINY = 64; // pictures below this many pixels are enlarged with sharp pixels
const SMALL = 320; // and others up to this many smoothly

/** Holds what was fetched for the showings ahead, so that it is there even without a network. */
export class Media {
  /** `onzoom` is told that a picture is opened in the whole window ("open") or closed ("close"). */
  constructor(texts, look, onzoom) {
    this.texts = texts;
    this.look = look;
    this.onzoom = onzoom;
    this.pictures = new Map();
  }

  /** Fetch for these showings, in order: the next few at once, the others one after another. */
  async prefetch(showings) {
    this.#drop(showings);
    if (showings.some((showing) => showing.image)) PARTS.viewer.soon();
    const near = showings.slice(0, DECODED_AHEAD);
    await Promise.allSettled(near.map((showing) => this.#load(showing)));
    for (const showing of showings.slice(DECODED_AHEAD)) {
      await this.#load(showing).catch(() => {}); // tried again when it is shown
    }
  }

  /** What the person looks at or listens to, and a promise of its being there. */
  show(showing) {
    document.querySelector("dialog.viewer")?.close(); // its picture is gone
    const parts = [];
    const waits = [];
    const pictures = picturesOf(showing).map((picture) => this.#picture(picture));
    if (pictures.length > 1) {
      const { layout } = this.look;
      parts.push(el("div", { class: `pictures ${layout}` }, ...pictures.map(([node]) => node)));
    } else parts.push(...pictures.map(([node]) => node));
    waits.push(...pictures.map(([, ready]) => ready));
    if (showing.video || showing.audio) {
      const [node, ready] = this.#draw("players", ({ players }) => players.show(this, showing));
      parts.push(node);
      waits.push(ready);
    }
    const { text, text_nodes: nodes, texts, note } = showing;
    if (text !== null && text !== undefined && !nodes) parts.push(this.#text(text));
    if (nodes || texts || note) {
      const draw = (words) => [words.drawTexts(showing, this.texts, this.look.layout)];
      const [node, ready] = this.#draw("words", draw);
      parts.push(node);
      waits.push(ready);
    }
    const media = el("div", { class: "media" }, el("div", { class: "parts" }, ...parts));
    return { node: el("div", { class: "rolling" }, media), ready: Promise.all(waits) };
  }

  /** A place for what a part draws: at once if the part is there, otherwise when it is. */
  #draw(name, draw) {
    const place = el("div", { class: "part" });
    const put = (part) => {
      const [nodes, ready] = draw(part);
      place.replaceChildren(...nodes);
      return ready;
    };
    const { here } = PARTS[name];
    return [place, here ? put(here) : PARTS[name].surely().then(put)];
  }

  #picture({ url, alt }) {
    const frame = el("div", { class: "picture" });
    const title = this.texts.enlarge;
    const options = { class: "enlarge", "aria-label": title, title };
    const enlarge = button(options, () => this.#enlarge(frame), el("span", { text: "⤢" }));
    const put = (image) => {
      image.alt = alt || this.texts.picture;
      image.onclick = () => this.#enlarge(frame); // the button does the same for keys
      frame.replaceChildren(image, enlarge);
    };
    const ready = this.#image(url).then(put, () => {
      const again = () => {
        this.pictures.delete(url);
        frame.replaceWith(this.#picture({ url, alt })[0]);
      };
      frame.replaceChildren(this.broken(this.texts.no_picture, again));
      throw new Error("picture not loaded");
    });
    const loaded = this.pictures.get(url)?.element;
    if (loaded?.complete && loaded.naturalWidth > 0) put(loaded); // painted with the page
    return [frame, ready];
  }

  /** Open the picture of this frame in the whole window. */
  async #enlarge(frame) {
    const viewer = await PARTS.viewer.get().catch(() => null); // null: no network yet
    viewer?.enlarge(frame, this.texts, this.onzoom);
  }

  broken(text, retry) {
    const again = button({ class: "button", text: this.texts.try_again }, retry);
    return el("div", { class: "broken", role: "alert" }, el("p", { text }), again);
  }

  #text(text) {
    const words = el("p", { dir: "auto", text });
    const about = { role: "group", "aria-label": this.texts.text, tabindex: "0" };
    return el("div", { class: "rolling" }, el("div", { class: "words", ...about }, words));
  }

  #load(showing) {
    const waits = picturesOf(showing).map(({ url }) => this.#image(url));
    if (showing.audio || showing.video) {
      waits.push(PARTS.players.get().then(({ players }) => players.load(showing)));
    }
    return Promise.all(waits);
  }

  #image(url) {
    const known = this.pictures.get(url);
    if (known) return known.ready;
    const element = new Image();
    element.decoding = "sync"; // decoded before it is put in: no flash of an empty frame
    element.src = url;
    const ready = element.decode().then(() => {
      const size = Math.max(element.naturalWidth, element.naturalHeight);
      const { smoothing } = this.look;
      const sharp = smoothing === "pixelated" || (smoothing === "auto" && size < TINY);
      element.classList.toggle("small", size <= SMALL);
      element.classList.toggle("sharp", sharp);
      return element;
    });
    this.pictures.set(url, { element, ready });
    ready.catch(() => this.pictures.delete(url)); // so that showing it tries again
    return ready;
  }

  #drop(showings) {
    const wanted = new Set(showings.flatMap(picturesOf).map(({ url }) => url));
    for (const url of this.pictures.keys()) if (!wanted.has(url)) this.pictures.delete(url);
    PARTS.players.here?.players.drop(showings);
  }
}

/** The one or two pictures of a showing; the same picture twice is two elements. */
function picturesOf(showing) {
  const { image, alt, image_2: other, alt_2: otherAlt } = showing;
  const pictures = image ? [{ url: image, alt }] : [];
  if (other) pictures.push({ url: other === image ? `${other}#2` : other, alt: otherAlt });
  return pictures;
}

/** Start or stop the sound or the video on the screen; false if there is none. */
export function togglePlay(root) {
  const player = root.querySelector(".player audio, .player video");
  if (!player) return false;
  if (player.paused) player.play().catch(() => {});
  else player.pause();
  return true;
}

/** Open the picture on the screen in the whole window; false if there is none. */
export function enlarge(root) {
  const opener = root.querySelector(".enlarge");
  opener?.click();
  return opener !== null;
}
