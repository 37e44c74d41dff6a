// One way to speak with the server; a dead network is an outcome, not an exception.

const PATIENCE = 20_000;
const LARGEST_KEPT_ALIVE = 30_000; // bytes: browsers send at most 64 kB for a page that is gone

/** `{status, body, after}`: status 0 is no answer; `after` is how long the server makes us wait. */
export async function call(method, path, content = undefined) {
  const body = content && new TextEncoder().encode(JSON.stringify(content));
  try {
    const response = await fetch(path, {
      method,
      body,
      headers: body ? { "content-type": "application/json" } : {},
      credentials: "same-origin",
      cache: "no-store",
      keepalive: body !== undefined && body.length < LARGEST_KEPT_ALIVE,
      signal: AbortSignal.timeout(PATIENCE),
    });
    const after = Number(response.headers.get("retry-after")) * 1000 || 0;
    return { status: response.status, body: await response.json(), after };
  } catch {
    return { status: 0, body: null, after: 0 }; // also a page that is not JSON: a hotel's log-in
  }
}

/** A pause before the next try: doubles up to half a minute, spread so that nobody is in step. */
export function backoff(failures) {
  const longest = Math.min(30_000, 500 * 2 ** Math.min(failures, 8));
  return longest * (0.5 + Math.random() / 2);
}
