// What the server gives out, and patience until it comes.

import { backoff, call } from "./api.js";

/** Wait; resolves to null. */
export function later(ms) {
  return new Promise((resolve) => setTimeout(() => resolve(null), ms));
}

/**
 * The plan of this session, asked for until it comes; `onwait(true)` while there is no network.
 * Whoever may not have one is sent to the page they belong to.
 */
export async function getPlan(onwait = () => {}) {
  for (let failures = 0; ; failures += 1) {
    const { status, body, after } = await call("GET", "/api/plan");
    if (status === 200) {
      onwait(false);
      return body;
    }
    if (status === 401 || status === 409) {
      location.assign("/");
      await new Promise(() => {}); // the page is leaving
    }
    onwait(true);
    await later(Math.max(after, backoff(failures)));
  }
}

/** Ask to be let through at the end; the address to go to, or the positions that are missing. */
export async function askToFinish(onwait) {
  for (let failures = 0; ; failures += 1) {
    const { status, body, after } = await call("POST", "/api/finish", {});
    if (status === 200) return body.open ? { next: body.next } : { missing: body.missing };
    if (status === 401 || status === 409) return { next: "/" };
    onwait(true);
    await later(Math.max(after, backoff(failures)));
  }
}
