// Videos: they are fetched whole before they are needed, and play without a network.

import { el } from "./dom.js";
import { getPlayer } from "./media.js";

/** Holds the players of videos, and knows what is in the browser's cache. */
export class Videos {
  constructor() {
    this.players = new Map();
    this.fetches = new Map(); // address -> what stops the fetching of it; null when it is there
  }

  /** The player, and a promise of its being ready; or a word about it and a way to try again. */
  show(media, showing) {
    const { video, alt } = showing;
    const { texts } = media;
    this.fetches.get(video)?.abort(); // two requests for one file would wait for each other
    const make = () => el("video", { playsinline: true });
    const { element, ready } = getPlayer(this.players, video, make);
    const player = media.player(element, alt || texts.video);
    const shown = ready.catch((error) => {
      const again = () => player.replaceWith(...this.show(media, showing)[0]);
      player.replaceChildren(media.broken(texts.no_video, again));
      throw error;
    });
    shown.catch(() => {}); // said on the page
    return [[player], shown];
  }

  /** Put a whole video into the browser's cache: a player would fetch only its beginning. */
  async fetchWhole(url) {
    if (this.players.has(url) || this.fetches.has(url)) return;
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
