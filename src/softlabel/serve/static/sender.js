// Carries answers from the outbox to the server: one at a time, in order, from one tab at a time.

import { backoff, call } from "./api.js";

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
