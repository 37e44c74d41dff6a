// What is said to the server: one request, the plan of a session, and the answers of the outbox, one
// at a time, in order, from one tab at a time.

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

/**
 * `onsettled(record, outcome)` hears what became of each answer, in whichever tab it was sent;
 * outcome is {status, body}.  `onstate({waiting, failing, signedOut})` hears what is still here.
 */
export class Sender {
  constructor(outbox, { onsettled, onstate }) {
    this.outbox = outbox;
    this.onsettled = onsettled;
    this.onstate = onstate;
    this.failures = 0;
    this.signedOut = false;
    this.running = false;
    this.again = false;
    this.notBefore = 0;
    this.wake = () => {};
    this.channel = new BroadcastChannel(`softlabel:${outbox.session}`);
    this.channel.addEventListener("message", ({ data }) => this.#hear(data));
    window.addEventListener("online", () => this.kick(true));
  }

  /** There may be something to send. `now` also ends a pause the server asked for. */
  kick(now = false) {
    if (now || Date.now() >= this.notBefore) this.wake();
    this.channel.postMessage({ kind: "kick" });
    this.#start();
  }

  /** How many answers are still here. */
  async waiting() {
    return (await this.outbox.all()).filter((record) => record.state === "waiting").length;
  }

  #hear(message) {
    if (message.kind === "kick" && Date.now() >= this.notBefore) this.wake();
    if (message.kind === "settled") {
      this.onsettled(message.record, message.outcome);
      this.#tell();
    }
  }

  async #start() {
    this.again = true;
    if (this.running) return;
    this.running = true;
    try {
      while (this.again) {
        this.again = false;
        await alone(`softlabel:${this.outbox.session}`, () => this.#drain());
      }
    } finally {
      this.running = false;
    }
  }

  async #drain() {
    for (let record; (record = await this.outbox.first()) !== null;) {
      await this.#tell();
      const outcome = await this.#post(record);
      if (outcome.status === 401) {
        this.signedOut = true;
        break;
      }
      if (isFinal(outcome)) await this.#settle(record, outcome);
      else await this.#pause(record, outcome.after);
    }
    await this.#tell();
  }

  async #post(record) {
    const delivery = {
      attempt: record.attempts + 1,
      queued_ms: Math.max(0, Date.now() - record.queued),
    };
    const outcome = await call("POST", "/api/answers", { ...record.envelope, delivery });
    // a proxy may say 200 as well; only the server knows the name of the answer
    const foreign = outcome.status === 200 && outcome.body?.acknowledged !== record.uuid;
    return foreign ? { status: 0, body: null, after: 0 } : outcome;
  }

  async #settle(record, outcome) {
    this.failures = 0;
    this.signedOut = false;
    const { status, body } = outcome;
    const held = status === 200 || body?.error === "answered"; // by another tab
    const changes = held ? { state: "sent" } : { state: "aside", refusal: { status, ...body } };
    const settled = await this.outbox.change(record, changes);
    if (body?.error === "revisions") await this.outbox.drop(record); // the one before it stands
    const message = { kind: "settled", record: settled, outcome: { status, body } };
    this.channel.postMessage(message);
    this.onsettled(message.record, message.outcome);
  }

  async #pause(record, after) {
    this.failures += 1;
    await this.outbox.change(record, { attempts: record.attempts + 1 });
    await this.#tell();
    const length = Math.max(after, backoff(this.failures));
    this.notBefore = after > 0 ? Date.now() + after : 0;
    await new Promise((resolve) => {
      const timer = setTimeout(resolve, length);
      this.wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
    this.notBefore = 0;
  }

  async #tell() {
    const waiting = await this.waiting();
    this.onstate({ waiting, failing: this.failures > 0, signedOut: this.signedOut });
  }
}

function isFinal({ status }) {
  const later = status === 0 || status === 408 || status === 429 || status >= 500;
  return !later && status !== 401;
}

/** Run an action while no other tab does; without locks tabs may send twice, which is harmless. */
function alone(name, action) {
  return navigator.locks ? navigator.locks.request(name, action) : action();
}
