// Pictures, sounds and texts; the next ones are fetched and decoded before they are needed.

import { button, el, key } from "./dom.js";

const DECODED_AHEAD = 3;
const TINY = 64; // pictures below this many pixels are enlarged with sharp pixels
const SMALL = 320; // and others up to this many smoothly

/** Holds what was fetched for the showings ahead, so that it is there even without a network. */
export class Media {
  constructor(texts) {
    this.texts = texts;
    this.pictures = new Map();
    this.sounds = new Map();
  }

  /** Fetch for these showings, in order: the next few at once, the others one after another. */
  async prefetch(showings) {
    this.#drop(showings);
    const near = showings.slice(0, DECODED_AHEAD);
    await Promise.allSettled(near.map((showing) => this.#load(showing)));
    for (const showing of showings.slice(DECODED_AHEAD)) {
      await this.#load(showing).catch(() => {}); // tried again when it is shown
    }
  }

  /** What the person looks at or listens to, and a promise of its being there. */
  show(showing) {
    const parts = [];
    const waits = [];
    if (showing.image) {
      const [node, ready] = this.#picture(showing);
      parts.push(node);
      waits.push(ready);
    }
    if (showing.audio) {
      const sound = this.#sound(showing.audio);
      parts.push(this.#player(sound.element));
      waits.push(sound.ready);
    }
    if (showing.text !== null && showing.text !== undefined) parts.push(this.#text(showing.text));
    return { node: el("div", { class: "media" }, ...parts), ready: Promise.all(waits) };
  }

  #picture(showing) {
    const frame = el("div", { class: "picture" });
    const ready = this.#image(showing.image).then(
      (image) => {
        image.alt = showing.alt || this.texts.picture;
        frame.replaceChildren(image);
      },
      () => {
        frame.replaceChildren(this.#broken(showing, frame));
        throw new Error("picture not loaded");
      },
    );
    const loaded = this.pictures.get(showing.image)?.element;
    if (loaded?.complete && loaded.naturalWidth > 0) frame.append(loaded); // painted with the page
    return [frame, ready];
  }

  #broken(showing, frame) {
    const again = button({ class: "button", text: this.texts.try_again }, () => {
      this.pictures.delete(showing.image);
      frame.replaceWith(this.#picture(showing)[0]);
    });
    return el(
      "div",
      { class: "broken", role: "alert" },
      el("p", { text: this.texts.no_picture }),
      again,
    );
  }

  #player(audio) {
    audio.controls = true;
    audio.setAttribute("aria-label", this.texts.sound);
    const hint = el("p", { class: "quiet" }, key("P"), ` ${this.texts.play}`);
    return el("div", { class: "player" }, audio, hint);
  }

  #text(text) {
    const words = el("p", { dir: "auto", text });
    return el(
      "div",
      { class: "words", role: "group", "aria-label": this.texts.text, tabindex: "0" },
      words,
    );
  }

  #load(showing) {
    const waits = [];
    if (showing.image) waits.push(this.#image(showing.image));
    if (showing.audio) waits.push(this.#sound(showing.audio).ready);
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
      element.classList.toggle("small", size <= SMALL);
      element.classList.toggle("tiny", size < TINY);
      return element;
    });
    this.pictures.set(url, { element, ready });
    ready.catch(() => this.pictures.delete(url)); // so that showing it tries again
    return ready;
  }

  #sound(url) {
    const known = this.sounds.get(url);
    if (known) return known;
    const element = new Audio();
    element.preload = "auto";
    const ready = new Promise((resolve, reject) => {
      element.addEventListener("canplay", resolve, { once: true });
      element.addEventListener("error", () => reject(new Error("sound not loaded")), {
        once: true,
      });
    });
    ready.catch(() => this.sounds.delete(url));
    element.src = url;
    const made = { element, ready };
    this.sounds.set(url, made);
    return made;
  }

  #drop(showings) {
    const wanted = new Set(showings.flatMap((showing) => [showing.image, showing.audio]));
    for (const held of [this.pictures, this.sounds]) {
      for (const url of held.keys()) if (!wanted.has(url)) held.delete(url);
    }
  }
}

/** Start or stop the sound on the screen; false if there is none. */
export function togglePlay(root) {
  const audio = root.querySelector("audio");
  if (!audio) return false;
  if (audio.paused) audio.play().catch(() => {});
  else audio.pause();
  return true;
}
