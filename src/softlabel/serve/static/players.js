// Sounds and videos.  Videos are fetched whole before they are needed, and play without a network.

import { el, key } from "./dom.js";

/** Holds what plays, and knows which videos are in the browser's cache. */
class Players {
  constructor() {
    this.held = new Map();
    this.fetches = new Map(); // address -> what stops the fetching of it; null when it is there
  }

  /** The players of a showing, and a promise of their being ready. */
  show(media, showing) {
    const { video, audio } = showing;
    const shown = video ? [this.#showVideo(media, showing)] : [];
    if (audio) {
      const { element, ready } = this.#sound(audio);
      shown.push([makePlayer(element, media.texts.sound, media.texts), ready]);
    }
    return [shown.map(([node]) => node), Promise.all(shown.map(([, ready]) => ready))];
  }

  /** Fetch what a showing will play. */
  load({ video, audio }) {
    const waits = audio ? [this.#sound(audio).ready] : [];
    if (video) waits.push(this.#fetchWhole(video));
    return Promise.all(waits);
  }

  /** Keep only what these showings need. */
  drop(showings) {
    const wanted = new Set(showings.flatMap(({ audio, video }) => [audio, video]));
    for (const url of this.held.keys()) if (!wanted.has(url)) this.held.delete(url);
  }

  /** The player, or a word about it and a way to try again. */
  #showVideo(media, showing) {
    const { video, alt } = showing;
    const { texts } = media;
    this.fetches.get(video)?.abort(); // two requests for one file would wait for each other
    const { element, ready } = this.#hold(video, () => el("video", { playsinline: true }));
    const player = makePlayer(element, alt || texts.video, texts);
    const shown = ready.catch((error) => {
      const again = () => player.replaceWith(this.#showVideo(media, showing)[0]);
      player.replaceChildren(media.broken(texts.no_video, again));
      throw error;
    });
    shown.catch(() => {}); // said on the page
    return [player, shown];
  }

  #sound(url) {
    return this.#hold(url, () => new Audio());
  }

  /** What plays a file, which is made if it is not held already. */
  #hold(url, make) {
    const known = this.held.get(url);
    if (known) return known;
    const element = make();
    element.preload = "auto";
    const ready = new Promise((resolve, reject) => {
      element.addEventListener("canplay", resolve, { once: true });
      const fail = () => reject(new Error("sound or video not loaded"));
      element.addEventListener("error", fail, { once: true });
    });
    ready.catch(() => this.held.delete(url));
    element.src = url;
    const made = { element, ready };
    this.held.set(url, made);
    return made;
  }

  /** Put a whole video into the browser's cache: a player would fetch only its beginning. */
  async #fetchWhole(url) {
    if (this.held.has(url) || this.fetches.has(url)) return;
    const stop = new AbortController();
    this.fetches.set(url, stop);
    try {
      const reply = await fetch(url, { signal: stop.signal, priority: "low" });
      if (!reply.ok) throw new Error("video not loaded");
      await reply.body.pipeTo(new WritableStream(), { signal: stop.signal });
      this.fetches.set(url, null);
    } catch (error) {
      this.fetches.delete(url);
      throw error;
    }
  }
}

function makePlayer(element, label, texts) {
  element.controls = true;
  element.setAttribute("aria-label", label);
  const hint = el("p", { class: "quiet" }, key("P"), ` ${texts.play}`);
  return el("div", { class: "player" }, element, hint);
}

export const players = new Players();
